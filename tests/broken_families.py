"""Drivers that each break a law. Each is the driver of the Example shoe with one defect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from example_shoe import DRIVER
from example_shoe.protocol import FAMILY, LINES, MESSAGES, ExampleSettings, Report, read
from example_shoe.session import ExampleSession
from firmware_protocols.family import Codec, Framing, Malformed, Reason
from shoed.model.moments import Now
from shoed.model.observations import AnsweredBy, CardSeen, LinkOpened, OrderAnswered, Place
from shoed.model.step import AnyInput, LinkDown, LinkUp, Ordered, Received
from shoed.session import SessionOutput
from shoed.session.families import Driver
from shoed.session.link import LinkState
from shoed.wire import LineState

# What cannot be tried without a frame, without captures, or with a session that never comes to rest.
WITH_FRAMES: Final = {
    f"codec.{law}" for law in ("whole", "bytewise", "split", "paced", "junk", "recovers", "flip", "arbitrary")
}
PLAYING: Final = {
    "capture.expected",
    *(f"session.{law}" for law in ("fold", "restored", "cutting", "anytime", "waking", "evidence")),
    *(f"session.{law}" for law in ("silent", "sending", "bounded")),
}
WITH_CAPTURES: Final = {"family.framing", "capture.readable", "capture.coverage", *WITH_FRAMES, *PLAYING}


class BrokenFamily(NamedTuple):
    driver: Driver[Any, Any]
    laws: set[str]


def reading(
    read: Callable[[bytes], Report | Malformed] = read, framing: Framing = LINES, torn_after_ms: int = 500
) -> Driver[Any, Any]:
    direction = Codec(framing, torn_after_ms, read)
    return replace(DRIVER, family=FAMILY._replace(reports=lambda _: direction))


def speaking(session: type[ExampleSession]) -> Driver[Any, Any]:
    return replace(DRIVER, session=session)


# --- the data


@dataclass(frozen=True, slots=True)
class SettingsElsewhere(ExampleSettings):
    """A module without captures beside it."""


class Unheard:
    """A message that is in no capture."""


def unchecked(raw: bytes) -> Report | Malformed:
    return MESSAGES.get(raw[1:-1].partition(b"*")[0]) or Malformed(Reason.UNKNOWN_COMMAND, "not known")


def raising(raw: bytes) -> Report | Malformed:
    result = read(raw)
    return result if not isinstance(result, Malformed) else MESSAGES[raw]


def speechless(raw: bytes) -> Report | Malformed:
    result = read(raw)
    return result if not isinstance(result, Malformed) else Malformed(result.reason, "")


def each_line_once(_: ExampleSettings) -> Codec[Report]:
    known = set()

    def read_new(raw: bytes) -> Report | Malformed:
        if raw in known:
            return Malformed(Reason.MALFORMED, "a copy")
        known.add(raw)
        return read(raw)

    return Codec(LINES, 500, read_new)


# --- the session


class Counting(ExampleSession):
    """Stores data outside its state."""

    heard = 0

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        self.heard += 1
        after, heard = super().step(state, incoming, now)
        return after, heard if self.heard % 20 else SessionOutput()


class Remembering(LinkState, frozen=True):
    raw: object = None


class Forgetful(ExampleSession):
    """Has a state that JSON changes."""

    state_type = Remembering

    def begin(self) -> LinkState:
        return Remembering()

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = super().step(state, incoming, now)
        return replace(after, raw=incoming.data) if isinstance(incoming, Received) else after, heard


class Hoarding(Forgetful):
    """Stores all bytes that it ever received."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = ExampleSession.step(self, state, incoming, now)
        before = state.raw if isinstance(state, Remembering) and isinstance(state.raw, str) else ""
        return replace(after, raw=before + incoming.data.hex()) if isinstance(incoming, Received) else after, heard


class ChunkIsFrame(ExampleSession):
    """Treats a chunk as one line."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        if isinstance(incoming, Received) and state.line is not None:
            state = replace(state, line=LineState(offset=state.line.offset + len(state.line.pending)))
        return super().step(state, incoming, now)


class OnceOpen(ExampleSession):
    """Accepts the closing of a link only if it is open."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        if isinstance(incoming, LinkDown) and state.line is None:
            raise ValueError("the link is closed")
        return super().step(state, incoming, now)


class Mute(ExampleSession):
    """Does not observe its link."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = super().step(state, incoming, now)
        return after, SessionOutput(tuple(seen for seen in heard.observations if not isinstance(seen, LinkOpened)))


class Restless(ExampleSession):
    """Names a moment without a reason."""

    def wake_at(self, state: LinkState) -> int | None:
        return None if state.heard is None else state.heard.mono_ns + 1_000_000


class Unplaced(ExampleSession):
    """Counts the bytes wrongly."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        if isinstance(incoming, Received) and state.line is not None and not state.line.pending:
            state = replace(state, line=LineState())
        return super().step(state, incoming, now)


class Chatty(ExampleSession):
    """Sends a greeting to the device, which may belong to another host."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = super().step(state, incoming, now)
        return after, replace(heard, sends=(b"!HELLO\n",)) if isinstance(incoming, LinkUp) else heard


class Obedient(ExampleSession):
    """Sends bytes that are not orders, and never answers."""

    def __init__(self, settings: ExampleSettings, *, allow_orders: bool) -> None:
        super().__init__(settings, allow_orders=allow_orders)
        self.allow_orders = allow_orders

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        if isinstance(incoming, Ordered) and self.allow_orders:
            return state, SessionOutput(sends=(b"!LOCK\n",))
        return super().step(state, incoming, now)


class Pretending(ExampleSession):
    """Reports its own refusal of an order as the device's answer."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = super().step(state, incoming, now)
        answers = (
            replace(seen, answered_by=AnsweredBy.DEVICE) if isinstance(seen, OrderAnswered) else seen
            for seen in heard.observations
        )
        return after, SessionOutput(tuple(answers))


class Guessing(ExampleSession):
    """Names a hand that the line does not report."""

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        after, heard = super().step(state, incoming, now)
        guessed = (
            replace(seen, place=Place.PLAYER, position=1) if isinstance(seen, CardSeen) else seen
            for seen in heard.observations
        )
        return after, SessionOutput(tuple(guessed))


BROKEN: Final = {
    "an unknown role": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(roles=("dealer",))), {"family.declarations"}
    ),
    "an end byte inside a body": BrokenFamily(reading(framing=Framing(LINES.kinds, b"!")), {"family.framing"}),
    "no captures": BrokenFamily(replace(DRIVER, family=FAMILY._replace(settings=SettingsElsewhere)), WITH_CAPTURES),
    "a message that no capture shows": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(messages=(*FAMILY.messages, Unheard))), {"capture.coverage"}
    ),
    "a hand that the line does not report": BrokenFamily(speaking(Guessing), {"capture.expected"}),
    "a check that is not compared": BrokenFamily(reading(unchecked), {"codec.flip"}),
    "an exception for unknown bytes": BrokenFamily(reading(raising), {"codec.flip", "codec.arbitrary"}),
    "a rejection without a reason": BrokenFamily(reading(speechless), {"codec.arbitrary"}),
    "copies dropped by the codec": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(reports=each_line_once)), WITH_FRAMES - {"codec.flip", "codec.arbitrary"}
    ),
    "a silence shorter than a byte": BrokenFamily(reading(torn_after_ms=1), {"codec.paced"}),
    "lines without end": BrokenFamily(
        reading(framing=Framing((LINES.kinds[0]._replace(body_max=1_000_000),), LINES.never_inside)), {"codec.bounded"}
    ),
    "data outside the state": BrokenFamily(
        speaking(Counting), {f"session.{law}" for law in ("fold", "cutting", "anytime", "silent", "sending")}
    ),
    "a state that JSON changes": BrokenFamily(speaking(Forgetful), {"session.restored", "session.anytime"}),
    "a state without bounds": BrokenFamily(speaking(Hoarding), {"session.bounded"}),
    "a chunk taken for a frame": BrokenFamily(speaking(ChunkIsFrame), {"session.cutting"}),
    "a link that closes only once": BrokenFamily(speaking(OnceOpen), {"session.anytime"}),
    "an opening of the link that is not observed": BrokenFamily(
        speaking(Mute), {"capture.expected", "session.anytime"}
    ),
    "a waking without a reason": BrokenFamily(speaking(Restless), PLAYING),
    "bytes at the wrong offset": BrokenFamily(speaking(Unplaced), {"capture.expected", "session.evidence"}),
    "a greeting of a host that only listens": BrokenFamily(speaking(Chatty), {"session.silent", "session.sending"}),
    "bytes that are not an order": BrokenFamily(speaking(Obedient), {"session.sending"}),
    "a refusal in the device's name": BrokenFamily(speaking(Pretending), {"session.silent", "session.sending"}),
}
