"""Drivers that each break a law: the Example shoe's, less one care that a family has to take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from example_shoe import DRIVER
from example_shoe.protocol import FAMILY, LINES, SAID, ExampleSettings, Report, read
from example_shoe.session import ExampleSession
from firmware_protocols.family import Direction, Framing, Malformed, Reason
from shoed.now import Now
from shoed.observations import AnsweredBy, CardSeen, LinkOpened, OrderAnswered, Place
from shoed.session import Heard
from shoed.session.families import Driver
from shoed.session.link import LinkState
from shoed.step import AnyInput, LinkDown, LinkUp, Ordered, Received
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
    direction = Direction(framing, torn_after_ms, read)
    return replace(DRIVER, family=FAMILY._replace(reports=lambda _: direction))


def speaking(session: type[ExampleSession]) -> Driver[Any, Any]:
    return replace(DRIVER, session=session)


# --- the data


@dataclass(frozen=True, slots=True)
class SettingsElsewhere(ExampleSettings):
    """No captures lie beside this file."""


class Unheard:
    """A message that no capture shows."""


def unchecked(raw: bytes) -> Report | Malformed:
    return SAID.get(raw[1:-1].partition(b"*")[0]) or Malformed(Reason.UNKNOWN_COMMAND, "not known")


def raising(raw: bytes) -> Report | Malformed:
    said = read(raw)
    return said if not isinstance(said, Malformed) else SAID[raw]


def speechless(raw: bytes) -> Report | Malformed:
    said = read(raw)
    return said if not isinstance(said, Malformed) else Malformed(said.reason, "")


def each_line_once(_: ExampleSettings) -> Direction[Report]:
    known = set()

    def read_new(raw: bytes) -> Report | Malformed:
        if raw in known:
            return Malformed(Reason.MALFORMED, "a copy")
        known.add(raw)
        return read(raw)

    return Direction(LINES, 500, read_new)


# --- the session


class Counting(ExampleSession):
    """Keeps a state beside the state."""

    heard = 0

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        self.heard += 1
        after, heard = super().step(state, came, now)
        return after, heard if self.heard % 20 else Heard()


class Remembering(LinkState, frozen=True):
    raw: object = None


class Forgetful(ExampleSession):
    """What it remembers comes back from JSON as something else."""

    state_type = Remembering

    def begin(self) -> LinkState:
        return Remembering()

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = super().step(state, came, now)
        return replace(after, raw=came.data) if isinstance(came, Received) else after, heard


class Hoarding(Forgetful):
    """Remembers all that it ever heard."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = ExampleSession.step(self, state, came, now)
        before = state.raw if isinstance(state, Remembering) and isinstance(state.raw, str) else ""
        return replace(after, raw=before + came.data.hex()) if isinstance(came, Received) else after, heard


class ChunkIsFrame(ExampleSession):
    """Believes that what came at once is one line."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        if isinstance(came, Received) and state.line is not None:
            state = replace(state, line=LineState(offset=state.line.offset + len(state.line.pending)))
        return super().step(state, came, now)


class OnceOpen(ExampleSession):
    """Believes that only an open link closes."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        if isinstance(came, LinkDown) and state.line is None:
            raise ValueError("it is closed")
        return super().step(state, came, now)


class Mute(ExampleSession):
    """Says nothing of its link."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = super().step(state, came, now)
        return after, Heard(tuple(seen for seen in heard.observations if not isinstance(seen, LinkOpened)))


class Restless(ExampleSession):
    """Wants to be woken for nothing."""

    def wake_at(self, state: LinkState) -> int | None:
        return None if state.heard is None else state.heard.mono_ns + 1_000_000


class Unplaced(ExampleSession):
    """Loses count of the bytes."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        if isinstance(came, Received) and state.line is not None and not state.line.pending:
            state = replace(state, line=LineState())
        return super().step(state, came, now)


class Chatty(ExampleSession):
    """Greets the device, which may be somebody else's."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = super().step(state, came, now)
        return after, replace(heard, sends=(b"!HELLO\n",)) if isinstance(came, LinkUp) else heard


class Obedient(ExampleSession):
    """Sends orders that are none, and answers nobody."""

    def __init__(self, settings: ExampleSettings, *, allow_orders: bool) -> None:
        super().__init__(settings, allow_orders=allow_orders)
        self.allow_orders = allow_orders

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        if isinstance(came, Ordered) and self.allow_orders:
            return state, Heard(sends=(b"!LOCK\n",))
        return super().step(state, came, now)


class Pretending(ExampleSession):
    """Gives its own refusal of an order as the device's."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = super().step(state, came, now)
        theirs = (
            replace(seen, answered_by=AnsweredBy.DEVICE) if isinstance(seen, OrderAnswered) else seen
            for seen in heard.observations
        )
        return after, Heard(tuple(theirs))


class Guessing(ExampleSession):
    """Names a hand that the line does not."""

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        after, heard = super().step(state, came, now)
        guessed = (
            replace(seen, place=Place.PLAYER, position=1) if isinstance(seen, CardSeen) else seen
            for seen in heard.observations
        )
        return after, Heard(tuple(guessed))


BROKEN: Final = {
    "a role that no table has": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(roles=("dealer",))), {"family.declarations"}
    ),
    "an end that may lie in a body": BrokenFamily(reading(framing=Framing(LINES.kinds, b"!")), {"family.framing"}),
    "no captures": BrokenFamily(replace(DRIVER, family=FAMILY._replace(settings=SettingsElsewhere)), WITH_CAPTURES),
    "a message that no capture shows": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(messages=(*FAMILY.messages, Unheard))), {"capture.coverage"}
    ),
    "a hand that nobody named": BrokenFamily(speaking(Guessing), {"capture.expected"}),
    "a check that is not compared": BrokenFamily(reading(unchecked), {"codec.flip"}),
    "an exception for what is not known": BrokenFamily(reading(raising), {"codec.flip", "codec.arbitrary"}),
    "no reason for what is rejected": BrokenFamily(reading(speechless), {"codec.arbitrary"}),
    "copies dropped by the codec": BrokenFamily(
        replace(DRIVER, family=FAMILY._replace(reports=each_line_once)), WITH_FRAMES - {"codec.flip", "codec.arbitrary"}
    ),
    "a silence shorter than a byte": BrokenFamily(reading(torn_after_ms=1), {"codec.paced"}),
    "lines without end": BrokenFamily(
        reading(framing=Framing((LINES.kinds[0]._replace(body_max=1_000_000),), LINES.never_inside)), {"codec.bounded"}
    ),
    "a state beside the state": BrokenFamily(
        speaking(Counting), {f"session.{law}" for law in ("fold", "cutting", "anytime", "silent", "sending")}
    ),
    "a state that JSON changes": BrokenFamily(speaking(Forgetful), {"session.restored", "session.anytime"}),
    "a state without bounds": BrokenFamily(speaking(Hoarding), {"session.bounded"}),
    "a chunk taken for a frame": BrokenFamily(speaking(ChunkIsFrame), {"session.cutting"}),
    "a link that closes once only": BrokenFamily(speaking(OnceOpen), {"session.anytime"}),
    "a link that opens unsaid": BrokenFamily(speaking(Mute), {"capture.expected", "session.anytime"}),
    "a waking for nothing": BrokenFamily(speaking(Restless), PLAYING),
    "bytes at the wrong offset": BrokenFamily(speaking(Unplaced), {"capture.expected", "session.evidence"}),
    "a greeting where nothing may be sent": BrokenFamily(speaking(Chatty), {"session.silent", "session.sending"}),
    "an order that is none": BrokenFamily(speaking(Obedient), {"session.sending"}),
    "a refusal in the device's name": BrokenFamily(speaking(Pretending), {"session.silent", "session.sending"}),
}
