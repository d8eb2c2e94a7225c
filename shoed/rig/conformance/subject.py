"""What the laws are tried on: a driver, its captures, and what they hold.

Everything that a law gives to somebody else's code is noted in `given` first, so that whatever comes of
it, an exception too, can be told with what caused it.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from random import Random
from typing import Final, NamedTuple

import msgspec

from firmware_protocols.family import Direction, Settings
from shoed import wire
from shoed.now import Chunk, Now
from shoed.observations import AnyObservation
from shoed.ports import capture
from shoed.ports.capture import Capture
from shoed.rig import golden
from shoed.session import Heard, Session, SessionState
from shoed.session.families import AnyDriver
from shoed.step import AnyInput, Configured, Received, Woken
from shoed.wire import Frame, LineState, Rejected

SEED: Final = 20
CONFIGURED: Final = Configured("{}", 1, "conformance")
MOST_SPECIMENS: Final = 3  # frames of each message
MOST_WAKINGS: Final = 10_000  # between two inputs
LONGEST_SHOWN: Final = 300  # characters of what was given
SETTLED_NS: Final = 3_600_000_000_000  # after such a silence nothing of the line is left

Result = Frame[object] | Rejected


class BrokenLaw(AssertionError):
    """Which law, what was given, and what came of it that must not."""

    def __init__(self, law: str, given: str, came: str) -> None:
        shown = given if len(given) <= LONGEST_SHOWN else f"{given[:LONGEST_SHOWN]}..."
        super().__init__(f"{law}: given {shown}: {came}")
        self.given = given
        self.came = came


class Specimen(NamedTuple):
    """A good frame of a capture, and how it is read."""

    raw: bytes
    message: object
    reports: Direction[object]


class Input(NamedTuple):
    came: AnyInput
    at: Now


class Played(NamedTuple):
    """One capture: what it is called, under which settings it was made, and what entered the session."""

    name: str
    settings: Settings
    capture: Capture

    @property
    def inputs(self) -> list[Input]:
        script = (Input(came, moment(at_us)) for at_us, came in golden.script(self.capture))
        return [Input(CONFIGURED, moment(0)), *script]


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

    def broken(self, came: str) -> BrokenLaw:
        return BrokenLaw(self.law, self.given, came)

    def session(self, settings: Settings, *, allow_orders: bool = False) -> Session[SessionState]:
        return self.driver.session(settings, allow_orders=allow_orders)

    # --- captures

    @cached_property
    def folder(self) -> Traversable:
        """`captures`, in the package that declares the settings."""
        return files(sys.modules[self.family.settings.__module__].__package__ or "shoed") / "captures"

    @cached_property
    def files(self) -> list[Traversable]:
        if not self.folder.is_dir():
            return []
        return sorted(
            (each for each in self.folder.iterdir() if each.name.endswith(".capture")), key=lambda it: it.name
        )

    def load(self, file: Traversable) -> Played:
        self.given = file.name
        read = capture.parse(file.read_text(encoding="utf-8"), file.name)
        return Played(file.name, golden.settings_of(read.header, self.family), read)

    @cached_property
    def played(self) -> list[Played]:
        self.given = str(self.folder)
        if not self.files:
            raise self.broken("there is no capture to try this with; write one first")
        return [self.load(file) for file in self.files]

    @cached_property
    def specimens(self) -> list[Specimen]:
        """A few frames of each message that the captures show, in their order."""
        found: dict[type, dict[bytes, Specimen]] = {}
        for played in self.played:
            reports = self.family.reports(played.settings)
            for frame in self.frames(reports, [each.data for each in received(played.inputs)]):
                of_its_kind = found.setdefault(type(frame.message), {})
                if len(of_its_kind) < MOST_SPECIMENS:
                    of_its_kind.setdefault(frame.raw, Specimen(frame.raw, frame.message, reports))
        if not found:
            self.given = str(self.folder)
            raise self.broken("no capture has a frame that can be read")
        return [each for of_its_kind in found.values() for each in of_its_kind.values()]

    # --- the line

    def hear(self, reports: Direction[object], pieces: Sequence[bytes], gap_us: int = 0) -> list[Result]:
        """What comes of these pieces, with such gaps between them, and of a long silence behind them."""

        def read(raw: bytes) -> object:
            self.given = raw.hex(" ")  # if it raises, by this frame
            return reports.read(raw)

        state, results, at = LineState(), list[Result](), moment(0)
        for piece in pieces:
            state, found = wire.receive(reports._replace(read=read), state, Chunk(piece, at))
            results += found
            at = shifted(at, gap_us)
        results += wire.expire(reports, state, Now(at.utc_us, at.mono_ns + SETTLED_NS))[1]
        self.given = b"".join(pieces).hex(" ")
        return results

    def frames(self, reports: Direction[object], pieces: Sequence[bytes], gap_us: int = 0) -> list[Frame[object]]:
        return [each for each in self.hear(reports, pieces, gap_us) if isinstance(each, Frame)]

    # --- the session

    def step(
        self, session: Session[SessionState], state: SessionState, came: AnyInput, at: Now
    ) -> tuple[SessionState, Heard]:
        self.given = shown(Input(came, at))
        return session.step(state, came, at)

    def play(
        self,
        session: Session[SessionState],
        inputs: Sequence[Input],
        state: SessionState | None = None,
        *,
        restored: bool = False,
    ) -> Iterator[tuple[SessionState, Input, Heard]]:
        """Each input, and every waking that is due before it; with the state that it leaves."""
        state = session.begin() if state is None else state
        for each in inputs:
            for woken in range(MOST_WAKINGS + 1):
                due = session.wake_at(state)
                if due is None or due > each.at.mono_ns:
                    break
                if woken == MOST_WAKINGS:
                    raise self.broken(f"it wanted to be woken {MOST_WAKINGS} times before the next input")
                at = Now(each.at.utc_us - (each.at.mono_ns - due) // 1000, due)
                state, heard = self.step(session, state, Woken(), at)
                yield state, Input(Woken(), at), heard
            if restored:
                state = self.restored(session, state)
            state, heard = self.step(session, state, *each)
            yield state, each, heard

    def restored(self, session: Session[SessionState], state: SessionState) -> SessionState:
        """As a restart finds it."""
        encoded = msgspec.json.encode(state)
        self.given = encoded.decode()
        back: SessionState = msgspec.json.decode(encoded, type=session.state_type)
        if back != state:
            raise self.broken(f"the state was {state}, and came back as {back}")
        return back

    def observed_in(self, played: Played) -> list[AnyObservation]:
        return self.observed(self.session(played.settings), played.inputs)

    def observed(self, session: Session[SessionState], inputs: Sequence[Input]) -> list[AnyObservation]:
        return [seen for _, _, heard in self.play(session, inputs) for seen in heard.observations]


def received(inputs: Sequence[Input]) -> Iterator[Received]:
    return (each.came for each in inputs if isinstance(each.came, Received))


def told(results: Sequence[Result]) -> str:
    """What came of bytes, for people."""
    return "; ".join(
        f"{each.raw.hex(' ')} {each.message if isinstance(each, Frame) else f'{each.reason.value}: {each.detail}'}"
        for each in results
    )


def shown(given: Input) -> str:
    came = given.came
    return f"{came.data.hex(' ') if isinstance(came, Received) else type(came).__name__} at {given.at.utc_us} us"
