"""The host's session of a barcode scanner.

Theory of operation: a scanner types a code and Enter. A key counts when it goes down. The keys since the last Enter
are the code, and all their reports are its evidence. The settings map codes to cards. A code that is not in the
settings is a card without a face. A code is broken if a part of it was rejected or if no Enter follows. A broken
code is an unread card: the rest of the code never names a card. The session never writes to the scanner.
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
    ScannerFailure,
    ScannerReport,
    ScannerSettings,
)
from shoed.model.cards import RANK_NAMED, Card, Suit
from shoed.model.moments import Now, ReadAt
from shoed.model.observations import CardSeen, CopyHeard, Evidence, FaultCleared, FaultRaised, Place, Resumed
from shoed.model.step import AnyInput, DeviceOrder
from shoed.session import SessionOutput, link
from shoed.session.device_orders import not_sent
from shoed.session.link import LinkState, SessionStep, is_soon
from shoed.wire import Frame, Rejected

OWN_TEXTS: Final[Mapping[str, Card]] = {
    rank + suit.value: Card.of(RANK_NAMED[rank], suit) for suit in Suit for rank in RANK_NAMED
}
NUMBERS: Final = {failure.name: failure.number for failure in FAILURES}
NO_CHARACTER: Final = "?"
EVIDENCE_BYTES: Final = LONGEST_CODE * 4 * 8  # Shift down, a key down, the key up, Shift up


class ScannedCode(msgspec.Struct, frozen=True):
    """The keys since the last Enter."""

    text: str = ""
    raw: bytes = b""
    offset: int = 0
    broken: bool = False


class AcceptedCode(msgspec.Struct, frozen=True):
    """The last code that was reported as a card; no text: the code was broken."""

    text: str
    at: Now
    late_ns: int = 0  # the code arrived at most this long before `at`


class ScannerState(LinkState, frozen=True):
    held: tuple[int, ...] = ()
    code: ScannedCode | None = None
    last: AcceptedCode | None = None
    failed: ScannerFailure | None = None  # while the scanner cannot report its keys


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

    def step(self, state: ScannerState, incoming: AnyInput, now: Now) -> tuple[ScannerState, SessionOutput]:
        step = ScannerStep(self, state)
        step.take(incoming, now)
        return step.state, step.outcome()


def code_ends(settings: ScannerSettings, state: ScannerState) -> int | None:
    """When a code without Enter is given up, on the monotonic clock."""
    if state.code is None or state.heard is None:
        return None
    return state.heard.mono_ns + settings.torn_after_ms * 1_000_000


class ScannerStep(SessionStep[ScannerState, ScannerReport]):
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

    def frames(self, found: Sequence[Frame[ScannerReport] | Rejected]) -> None:
        for each in found:
            super().frames((each,))
            if isinstance(each, Rejected):
                self.spoil(each.offset)

    def handle(self, frame: Frame[ScannerReport]) -> None:
        match frame.message:
            case theirs.ScannerFailed(failure=failure):
                self.spoil(frame.offset)
                self.failing(frame, failure)
            case held:
                self.failing(frame, None)
                self.keys(frame, held)

    def failing(self, frame: Frame[ScannerReport], failure: ScannerFailure | None) -> None:
        """Observe a change of the scanner's own error state."""
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

    def keys(self, frame: Frame[ScannerReport], held: theirs.HeldKeys) -> None:
        pressed = [key for key in held.keys if key not in self.state.held]
        code, ended = self.state.code, not ENTERS.isdisjoint(pressed)
        if code is not None or pressed:  # otherwise the keys of the last code go up
            code = typed(code or ScannedCode(offset=frame.offset), frame.raw, pressed, held)
        self.state = replace(self.state, held=held.keys, code=None if ended else code)
        if code is not None and ended:
            self.ended(code, frame.at)

    def spoil(self, offset: int) -> None:
        self.state = replace(self.state, code=replace(self.state.code or ScannedCode(offset=offset), broken=True))

    def break_off(self) -> None:
        """Give up the code, because no Enter follows. If it has text, it is an unread card."""
        code, heard = self.state.code, self.state.heard
        self.state = replace(self.state, code=None)
        if code is not None and heard is not None and code.text:
            self.ended(replace(code, broken=True), heard)

    def ended(self, code: ScannedCode, at: Now) -> None:
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
        self.state = replace(
            self.state, last=AcceptedCode("" if code.broken else code.text, at, self.late_ns), away=False
        )
        card = (
            None if code.broken or soon is None else self.cards.get(code.text)
        )  # None: a person names the card, or that there is none
        name = code.text if card is None else ""
        self.saw(CardSeen(at=at, frame=evidence, place=Place.DEALT, position=0, card=card, code=name))


def typed(code: ScannedCode, raw: bytes, pressed: Sequence[int], held: theirs.HeldKeys) -> ScannedCode:
    """Append one report to a code. Keys that have no clear order or no character break the code."""
    written = SHIFTED if held.shift else PLAIN
    characters = [None if held.command else written.get(key) for key in pressed if key not in ENTERS]
    text = code.text + "".join(each or NO_CHARACTER for each in characters)
    raw = code.raw + raw
    unclear = len(pressed) > 1 or None in characters or len(text) > LONGEST_CODE or len(raw) > EVIDENCE_BYTES
    return ScannedCode(text[:LONGEST_CODE], raw[:EVIDENCE_BYTES], code.offset, code.broken or unclear)
