"""The host's session of a Bee-Tek shoe.

Theory of operation: the session accepts each line when it arrives. Lines have no numbers, so only time distinguishes
a repeated transmission from a second card of the same face. An equal line directly after the first line, sooner
than a dealer can draw two cards, is a copy. Losses during an absence of the link or the daemon are never
detected. The shoe does not report the hand of a card, and the session never writes to it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols import bee_tek as theirs
from firmware_protocols.bee_tek import BeeTekReport, BeeTekSettings, ManualBurn, Mode
from shoed.model.cards import Card, Rank, Suit
from shoed.model.moments import Now, ReadAt
from shoed.model.observations import CardSeen, CopyHeard, Evidence, FaultRaised, Place, Resumed
from shoed.model.step import AnyInput, DeviceOrder
from shoed.session import SessionOutput, link
from shoed.session.device_orders import not_sent
from shoed.session.link import LinkState, SessionStep, is_soon
from shoed.wire import Frame

SUITS: Final[Mapping[theirs.BeeTekSuit, Suit]] = {
    theirs.BeeTekSuit.SPADES: Suit.SPADES,
    theirs.BeeTekSuit.HEARTS: Suit.HEARTS,
    theirs.BeeTekSuit.DIAMONDS: Suit.DIAMONDS,
    theirs.BeeTekSuit.CLUBS: Suit.CLUBS,
}
WHITE: Final = b" \r\n"  # around a line; without meaning
UNNUMBERED: Final = 0  # the code of a fault for which the shoe reports no number


class AcceptedLine(msgspec.Struct, frozen=True):
    """The last line that is not a copy."""

    raw: bytes
    at: Now
    copies: int = 1
    late_ns: int = 0  # the line arrived at most this long before `at`


class BeeTekState(LinkState, frozen=True):
    last: AcceptedLine | None = None
    unread: ReadAt | None = None  # when the shoe last reported an unread card


class BeeTekSession:
    state_type = BeeTekState

    def __init__(self, settings: BeeTekSettings, *, allow_orders: bool) -> None:  # noqa: ARG002 -- no order is known
        self.settings = settings
        self.reports = theirs.reports(settings)

    def begin(self) -> BeeTekState:
        return BeeTekState()

    def wake_at(self, state: BeeTekState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s)

    def step(self, state: BeeTekState, incoming: AnyInput, now: Now) -> tuple[BeeTekState, SessionOutput]:
        step = BeeTekStep(self, state)
        step.take(incoming, now)
        return step.state, step.outcome()


class BeeTekStep(SessionStep[BeeTekState, BeeTekReport]):
    def __init__(self, session: BeeTekSession, state: BeeTekState) -> None:
        super().__init__(session.reports, session.settings.quiet_after_s, state)
        self.settings = session.settings

    def order(self, order: DeviceOrder, now: Now) -> None:
        self.saw(not_sent(str(order), "a Bee-Tek shoe executes no orders; operate it by hand", now))

    def handle(self, frame: Frame[BeeTekReport]) -> None:
        message = frame.message
        last, evidence = self.state.last, Evidence(frame.raw.hex(" "), frame.offset, "")
        dealt = isinstance(message, theirs.GameCard)
        if isinstance(message, theirs.BurnCard):
            dealt = self.place(Mode.MANUAL_BURN) is Place.DEALT
        soon = dealt and last is not None and self.is_copy(last, frame)
        if soon and last is not None:
            self.state = replace(self.state, last=replace(last, copies=last.copies + 1))
            self.saw(CopyHeard(at=frame.at, frame=evidence))
            return
        if self.state.away and last is not None:
            self.saw(Resumed(at=frame.at, frame=evidence))
        self.state = replace(self.state, last=AcceptedLine(frame.raw, frame.at, late_ns=self.late_ns), away=False)
        if (raised := fault(message, frame.at, evidence)) is not None:
            self.saw(raised)
        if (card := self.card(message, frame.at, evidence)) is not None:
            self.saw(
                replace(card, card=None) if soon is None else card
            )  # None: a person names the card, or that there is none

    def place(self, mode: Mode) -> Place:
        burnt = mode is Mode.MANUAL_BURN and self.settings.manual_burn is ManualBurn.BURNT
        return Place.BURN if burnt else Place.DEALT

    def card(self, message: BeeTekReport, at: Now, evidence: Evidence) -> CardSeen | None:
        match message:
            case theirs.GameCard(card=card):
                return card_seen(at, evidence, Place.DEALT, card)
            case theirs.BurnCard(card=card):
                return card_seen(at, evidence, self.place(Mode.MANUAL_BURN), card)
            case theirs.FailedRead(mode=mode) | theirs.Alarm(number=theirs.NOT_READ, mode=mode):
                last, now = self.state.unread, ReadAt(at, self.late_ns)
                self.state = replace(self.state, unread=now)
                if last is not None and is_soon(self.settings.repeat_window_ms, last, now):
                    return None  # assumed: both reports are about one card
                return CardSeen(at=at, frame=evidence, place=self.place(mode), position=0, card=None)
            case _:
                return None

    def is_copy(self, last: AcceptedLine, frame: Frame[BeeTekReport]) -> bool | None:
        """Whether a card line repeats the last line; None: unknown, because the line was read too late.

        The shoe may have dealt during an absence, so only the clock decides: a buffered line is a new card.
        """
        if frame.raw.strip(WHITE) != last.raw.strip(WHITE) or last.copies >= self.settings.copies:
            return False
        read = ReadAt(frame.at, self.late_ns)
        return is_soon(self.settings.repeat_window_ms, ReadAt(last.at, last.late_ns), read)


def card_seen(at: Now, evidence: Evidence, place: Place, text: theirs.CardText) -> CardSeen:
    if isinstance(text, theirs.BeeTekNoFace):
        return CardSeen(at=at, frame=evidence, place=place, position=0, card=None, code=text.text)
    card = Card.of(Rank(text.rank), SUITS[text.suit])
    return CardSeen(at=at, frame=evidence, place=place, position=0, card=card)


def fault(message: BeeTekReport, at: Now, evidence: Evidence) -> FaultRaised | None:
    """Return the fault of a report. `card` returns the unread card that the same report may also mean."""
    match message:
        case theirs.Alarm(text=name, number=number):
            code = UNNUMBERED if number is None else number
        case theirs.Caution(number=code):
            name = f"W0x{code:02X}"
        case theirs.FailedRead():
            code, name = UNNUMBERED, "failed read"
        case _:
            return None
    return FaultRaised(at=at, frame=evidence, code=code, name=name, blocking=False)
