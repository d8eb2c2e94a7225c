"""A barcode scanner, seen from the host.

Theory of operation: a scanner types a code and Enter. A key counts when it goes down, and what was
typed since the last Enter is the code, with all its reports as evidence. A code is a card if the
settings say so, and a card without a face if they do not. A code in which anything was rejected or
left open is broken: it stands for a card that nobody has read, never for what is left of it.
Nothing is ever written to the scanner.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols import scanner as theirs
from firmware_protocols.scanner import (
    ENTERS,
    FAILURES,
    LONGEST_CODE,
    PLAIN,
    SHIFTED,
    Failure,
    Report,
    ScannerSettings,
)
from shoed.cards import RANK_NAMED, Card, Suit
from shoed.now import Now, ReadAt
from shoed.observations import CardSeen, CopyHeard, Evidence, FaultCleared, FaultRaised, Place, Resumed
from shoed.session import Heard, link
from shoed.session.asking import not_sent
from shoed.session.link import Hearing, LinkState, is_soon
from shoed.step import AnyInput, DeviceOrder
from shoed.wire import Frame, Rejected

OWN_TEXTS: Final[Mapping[str, Card]] = {
    rank + suit.value: Card.of(RANK_NAMED[rank], suit) for suit in Suit for rank in RANK_NAMED
}
NUMBERS: Final = {failure.name: failure.number for failure in FAILURES}
NO_CHARACTER: Final = "?"
EVIDENCE_BYTES: Final = LONGEST_CODE * 4 * 8  # Shift down, a key down, the key up, Shift up


class Code(msgspec.Struct, frozen=True):
    """What came since the last Enter."""

    text: str = ""
    raw: bytes = b""
    offset: int = 0
    broken: bool = False


class Taken(msgspec.Struct, frozen=True):
    """The last code that stood for a card; no text: it was broken."""

    text: str
    at: Now
    late_ns: int = 0  # how long before it may have come


class ScannerState(LinkState, frozen=True):
    held: tuple[int, ...] = ()
    code: Code | None = None
    last: Taken | None = None
    failed: Failure | None = None  # while the scanner cannot tell its keys


class ScannerSession:
    state_type = ScannerState

    def __init__(self, settings: ScannerSettings, *, allow_orders: bool) -> None:  # noqa: ARG002 -- no order is known
        self.settings = settings
        self.reports = theirs.reports(settings)
        self.cards = {code: Card(text) for code, text in settings.cards.items()} or OWN_TEXTS

    def begin(self) -> ScannerState:
        return ScannerState()

    def wake_at(self, state: ScannerState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s, code_ends(self.settings, state))

    def step(self, state: ScannerState, came: AnyInput, now: Now) -> tuple[ScannerState, Heard]:
        hearing = ScannerHearing(self, state)
        hearing.take(came, now)
        return hearing.state, hearing.outcome()


def code_ends(settings: ScannerSettings, state: ScannerState) -> int | None:
    """When a code that nothing follows is given up, on the monotonic clock."""
    if state.code is None or state.heard is None:
        return None
    return state.heard.mono_ns + settings.torn_after_ms * 1_000_000


class ScannerHearing(Hearing[ScannerState, Report]):
    def __init__(self, session: ScannerSession, state: ScannerState) -> None:
        super().__init__(session.reports, session.settings.quiet_after_s, state)
        self.settings = session.settings
        self.cards = session.cards

    def order(self, order: DeviceOrder, now: Now) -> None:
        self.saw(not_sent(str(order), "a scanner executes no orders; operate it by hand", now))

    def give_up(self, now: Now) -> None:
        super().give_up(now)
        self.break_off()
        self.state = replace(self.state, held=())

    def expire(self, now: Now) -> None:
        super().expire(now)
        due = code_ends(self.settings, self.state)
        if due is not None and now.mono_ns >= due:
            self.break_off()

    def frames(self, found: Sequence[Frame[Report] | Rejected]) -> None:
        for each in found:
            super().frames((each,))
            if isinstance(each, Rejected):
                self.spoil(each.offset)

    def said(self, frame: Frame[Report]) -> None:
        match frame.message:
            case theirs.Failed(failure=failure):
                self.spoil(frame.offset)
                self.failing(frame, failure)
            case held:
                self.failing(frame, None)
                self.keys(frame, held)

    def failing(self, frame: Frame[Report], failure: Failure | None) -> None:
        """What the scanner says of its keys, told when it is another than before."""
        before = self.state.failed
        if failure is before:
            return
        evidence = Evidence(frame.raw.hex(" "), frame.offset, "")
        self.state = replace(self.state, failed=failure)
        if before is not None:
            self.saw(FaultCleared(at=frame.at, frame=evidence, code=NUMBERS[before], name=before.value))
        if failure is not None:
            code, name = NUMBERS[failure], failure.value
            self.saw(FaultRaised(at=frame.at, frame=evidence, code=code, name=name, blocking=False))

    def keys(self, frame: Frame[Report], held: theirs.Held) -> None:
        pressed = [key for key in held.keys if key not in self.state.held]
        code, ended = self.state.code, not ENTERS.isdisjoint(pressed)
        if code is not None or pressed:  # else the keys of the last code go up
            code = typed(code or Code(offset=frame.offset), frame.raw, pressed, held)
        self.state = replace(self.state, held=held.keys, code=None if ended else code)
        if code is not None and ended:
            self.ended(code, frame.at)

    def spoil(self, offset: int) -> None:
        self.state = replace(self.state, code=replace(self.state.code or Code(offset=offset), broken=True))

    def break_off(self) -> None:
        """No Enter comes any more: if anything was typed, something was read."""
        code, heard = self.state.code, self.state.heard
        self.state = replace(self.state, code=None)
        if code is not None and heard is not None and code.text:
            self.ended(replace(code, broken=True), heard)

    def ended(self, code: Code, at: Now) -> None:
        if not code.text and not code.broken:
            return  # an Enter alone
        last, evidence = self.state.last, Evidence(code.raw.hex(" "), code.offset, "")
        again = None if last is None or code.broken or code.text != last.text else last
        window_ms = self.settings.repeat_window_ms
        soon = again is not None and is_soon(window_ms, ReadAt(again.at, again.late_ns), ReadAt(at, self.late_ns))
        if soon:
            self.saw(CopyHeard(at=at, frame=evidence))
            return
        if self.state.away and last is not None:
            self.saw(Resumed(at=at, frame=evidence))
        self.state = replace(self.state, last=Taken("" if code.broken else code.text, at, self.late_ns), away=False)
        card = None if code.broken or soon is None else self.cards.get(code.text)  # None: a person says which, or none
        name = code.text if card is None else ""
        self.saw(CardSeen(at=at, frame=evidence, place=Place.DEALT, position=0, card=card, code=name))


def typed(code: Code, raw: bytes, pressed: Sequence[int], held: theirs.Held) -> Code:
    """A code with one report more; what cannot be told of its keys breaks it."""
    written = SHIFTED if held.shift else PLAIN
    characters = [None if held.command else written.get(key) for key in pressed if key not in ENTERS]
    text = code.text + "".join(each or NO_CHARACTER for each in characters)
    raw = code.raw + raw
    unclear = len(pressed) > 1 or None in characters or len(text) > LONGEST_CODE or len(raw) > EVIDENCE_BYTES
    return Code(text[:LONGEST_CODE], raw[:EVIDENCE_BYTES], code.offset, code.broken or unclear)
