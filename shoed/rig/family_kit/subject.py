"""The subject of the laws: a driver, its captures and their contents.

Before a law gives an input to the driver, it stores the input in `given`. Every failure, also an exception, can then
be reported with its cause.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from random import Random
from typing import Final, NamedTuple

import msgspec

from firmware_protocols.family import Codec, Settings
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.model.observations import AnyObservation
from shoed.model.step import AnyInput, Configured, Received, Woken
from shoed.ports import capture
from shoed.ports.capture import Capture
from shoed.rig import golden
from shoed.session import Session, SessionOutput, SessionState
from shoed.session.families import AnyDriver
from shoed.typed_json import decoder
from shoed.wire import Frame, LineState, Rejected

SEED: Final = 20
CONFIGURED: Final = Configured("{}", 1, "conformance")
MOST_SPECIMENS: Final = 3  # the most frames of each message
MOST_WAKINGS: Final = 10_000  # the most wakings between two inputs
LONGEST_SHOWN: Final = 300  # characters of the input in a message
SETTLED_NS: Final = 3_600_000_000_000  # after this silence nothing is pending on the line

FrameOrRejection = Frame[object] | Rejected


class BrokenLaw(AssertionError):
    """The law, the input, and the forbidden result."""

    def __init__(self, law: str, given: str, result: str) -> None:
        shown = given if len(given) <= LONGEST_SHOWN else f"{given[:LONGEST_SHOWN]}..."
        super().__init__(f"{law}: given {shown}: {result}")
        self.given = given
        self.result = result


class Specimen(NamedTuple):
    """A good frame of a capture, and its codec."""

    raw: bytes
    message: object
    reports: Codec[object]


class TimedInput(NamedTuple):
    input: AnyInput
    at: Now


class CaptureRun(NamedTuple):
    """One capture: its name, its settings, and the inputs of the session."""

    name: str
    settings: Settings
    capture: Capture

    @property
    def inputs(self) -> list[TimedInput]:
        script = (TimedInput(entry, moment(at_us)) for at_us, entry in golden.script(self.capture))
        return [TimedInput(CONFIGURED, moment(0)), *script]


def moment(at_us: int) -> Now:
    return Now(at_us, at_us * 1000)


def shifted(at: Now, by_us: int) -> Now:
    return Now(at.utc_us + by_us, at.mono_ns + by_us * 1000)


class Subject:
    def __init__(self, driver: AnyDriver) -> None:
        self.driver = driver
        self.family = driver.family
        self.law = ""
        self.given = "the driver"

    def random(self) -> Random:
        return Random(SEED)

    def broken(self, result: str) -> BrokenLaw:
        return BrokenLaw(self.law, self.given, result)

    def session(self, settings: Settings, *, allow_orders: bool = False) -> Session[SessionState]:
        return self.driver.session(settings, allow_orders=allow_orders)

    # --- captures

    @cached_property
    def folder(self) -> Traversable:
        """The folder `captures` in the package that declares the settings."""
        return files(sys.modules[self.family.settings.__module__].__package__ or "shoed") / "captures"

    @cached_property
    def files(self) -> list[Traversable]:
        if not self.folder.is_dir():
            return []
        return sorted(
            (each for each in self.folder.iterdir() if each.name.endswith(".capture")), key=lambda it: it.name
        )

    def load(self, file: Traversable) -> CaptureRun:
        self.given = file.name
        read = capture.parse(file.read_text(encoding="utf-8"), file.name)
        return CaptureRun(file.name, golden.settings_of(read.header, self.family), read)

    @cached_property
    def played(self) -> list[CaptureRun]:
        self.given = str(self.folder)
        if not self.files:
            raise self.broken("the family has no capture; write one first")
        return [self.load(file) for file in self.files]

    @cached_property
    def specimens(self) -> list[Specimen]:
        """A few frames of each message in the captures, in their order."""
        found: dict[type, dict[bytes, Specimen]] = {}
        for played in self.played:
            reports = self.family.reports(played.settings)
            for frame in self.frames(reports, [each.data for each in received(played.inputs)]):
                of_its_kind = found.setdefault(type(frame.message), {})
                if len(of_its_kind) < MOST_SPECIMENS:
                    of_its_kind.setdefault(frame.raw, Specimen(frame.raw, frame.message, reports))
        if not found:
            self.given = str(self.folder)
            raise self.broken("no capture has a readable frame")
        return [each for of_its_kind in found.values() for each in of_its_kind.values()]

    # --- the line

    def hear(self, reports: Codec[object], pieces: Sequence[bytes], gap_us: int = 0) -> list[FrameOrRejection]:
        """Return the results of these pieces, with gaps between them and a long silence after them."""

        def read(raw: bytes) -> object:
            self.given = raw.hex(" ")  # if `read` raises, this frame is the cause
            return reports.read(raw)

        state, results, at = LineState(), list[FrameOrRejection](), moment(0)
        for piece in pieces:
            state, found = wire.receive(reports._replace(read=read), state, Chunk(piece, at))
            results += found
            at = shifted(at, gap_us)
        results += wire.expire(reports, state, Now(at.utc_us, at.mono_ns + SETTLED_NS))[1]
        self.given = b"".join(pieces).hex(" ")
        return results

    def frames(self, reports: Codec[object], pieces: Sequence[bytes], gap_us: int = 0) -> list[Frame[object]]:
        return [each for each in self.hear(reports, pieces, gap_us) if isinstance(each, Frame)]

    # --- the session

    def step(
        self, session: Session[SessionState], state: SessionState, entry: AnyInput, at: Now
    ) -> tuple[SessionState, SessionOutput]:
        self.given = shown(TimedInput(entry, at))
        return session.step(state, entry, at)

    def play(
        self,
        session: Session[SessionState],
        inputs: Sequence[TimedInput],
        state: SessionState | None = None,
        *,
        restored: bool = False,
    ) -> Iterator[tuple[SessionState, TimedInput, SessionOutput]]:
        """Play each input, and every waking that is due before it; yield the state after each."""
        state = session.begin() if state is None else state
        for each in inputs:
            for woken in range(MOST_WAKINGS + 1):
                due = session.wake_at(state)
                if due is None or due > each.at.mono_ns:
                    break
                if woken == MOST_WAKINGS:
                    raise self.broken(f"the session named {MOST_WAKINGS} wakings before the next input")
                at = Now(each.at.utc_us - (each.at.mono_ns - due) // 1000, due)
                state, heard = self.step(session, state, Woken(), at)
                yield state, TimedInput(Woken(), at), heard
            if restored:
                state = self.restored(session, state)
            state, heard = self.step(session, state, *each)
            yield state, each, heard

    def restored(self, session: Session[SessionState], state: SessionState) -> SessionState:
        """Return the state as a restart restores it."""
        encoded = msgspec.json.encode(state)
        self.given = encoded.decode()
        back: SessionState = decoder(session.state_type).decode(encoded)
        if back != state:
            raise self.broken(f"the state was {state}, and was restored as {back}")
        return back

    def observed_in(self, played: CaptureRun) -> list[AnyObservation]:
        return self.observed(self.session(played.settings), played.inputs)

    def observed(self, session: Session[SessionState], inputs: Sequence[TimedInput]) -> list[AnyObservation]:
        return [seen for _, _, heard in self.play(session, inputs) for seen in heard.observations]


def received(inputs: Sequence[TimedInput]) -> Iterator[Received]:
    return (each.input for each in inputs if isinstance(each.input, Received))


def described(results: Sequence[FrameOrRejection]) -> str:
    """Describe the results of bytes for people."""
    return "; ".join(
        f"{each.raw.hex(' ')} {each.message if isinstance(each, Frame) else f'{each.reason.value}: {each.detail}'}"
        for each in results
    )


def shown(given: TimedInput) -> str:
    entry = given.input
    return f"{entry.data.hex(' ') if isinstance(entry, Received) else type(entry).__name__} at {given.at.utc_us} us"
