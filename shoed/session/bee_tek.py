"""A Bee-Tek shoe, seen from the host.

Theory of operation: every line is taken as it comes. Lines are not numbered, so time alone tells a
card that the shoe tells again from a second card of the same face: the same line directly after the
first, sooner than anybody draws two cards, is a copy of it. What was missed while the link or the
daemon was away is never known. The shoe names no hand, and nothing is ever written to it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols import bee_tek as theirs
from firmware_protocols.bee_tek import BeeTekSettings, ManualBurn, Mode, Report
from shoed.cards import Card, Rank, Suit
from shoed.now import Now, ReadAt
from shoed.observations import (
    CardSeen,
    CopyHeard,
    Evidence,
    FaultRaised,
    Place,
    Resumed,
)
from shoed.session import Heard, link
from shoed.session.asking import not_sent
from shoed.session.link import Hearing, LinkState, is_soon
from shoed.step import AnyInput, DeviceOrder
from shoed.wire import Frame

SUITS: Final[Mapping[theirs.Suit, Suit]] = {
    theirs.Suit.SPADES: Suit.SPADES,
    theirs.Suit.HEARTS: Suit.HEARTS,
    theirs.Suit.DIAMONDS: Suit.DIAMONDS,
    theirs.Suit.CLUBS: Suit.CLUBS,
}
WHITE: Final = b" \r\n"  # around a line: it means nothing
UNNUMBERED: Final = 0  # the code of a fault to which the shoe gives no number


class Taken(msgspec.Struct, frozen=True):
    """The last line that said something new."""

    raw: bytes
    at: Now
    copies: int = 1
    late_ns: int = 0  # how long before it may have come


class BeeTekState(LinkState, frozen=True):
    last: Taken | None = None
    unread: ReadAt | None = None  # when a card was last said to have passed unread


class BeeTekSession:
    state_type = BeeTekState

    def __init__(self, settings: BeeTekSettings, *, allow_orders: bool) -> None:  # noqa: ARG002 -- no order is known
        self.settings = settings
        self.reports = theirs.reports(settings)

    def begin(self) -> BeeTekState:
        return BeeTekState()

    def wake_at(self, state: BeeTekState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s)

    def step(self, state: BeeTekState, came: AnyInput, now: Now) -> tuple[BeeTekState, Heard]:
        hearing = BeeTekHearing(self, state)
        hearing.take(came, now)
        return hearing.state, hearing.outcome()


class BeeTekHearing(Hearing[BeeTekState, Report]):
    def __init__(self, session: BeeTekSession, state: BeeTekState) -> None:
        super().__init__(session.reports, session.settings.quiet_after_s, state)
        self.settings = session.settings

    def order(self, order: DeviceOrder, now: Now) -> None:
        self.saw(not_sent(str(order), "a Bee-Tek shoe executes no orders; operate it by hand", now))

    def said(self, frame: Frame[Report]) -> None:
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
        self.state = replace(self.state, last=Taken(frame.raw, frame.at, late_ns=self.late_ns), away=False)
        if (said := fault(message, frame.at, evidence)) is not None:
            self.saw(said)
        if (card := self.card(message, frame.at, evidence)) is not None:
            self.saw(replace(card, card=None) if soon is None else card)  # None: a person says which, or none

    def place(self, mode: Mode) -> Place:
        burnt = mode is Mode.MANUAL_BURN and self.settings.manual_burn is ManualBurn.BURNT
        return Place.BURN if burnt else Place.DEALT

    def card(self, message: Report, at: Now, evidence: Evidence) -> CardSeen | None:
        match message:
            case theirs.GameCard(card=card):
                return card_seen(at, evidence, Place.DEALT, card)
            case theirs.BurnCard(card=card):
                return card_seen(at, evidence, self.place(Mode.MANUAL_BURN), card)
            case theirs.FailedRead(mode=mode) | theirs.Alarm(number=theirs.NOT_READ, mode=mode):
                last, now = self.state.unread, ReadAt(at, self.late_ns)
                self.state = replace(self.state, unread=now)
                if last is not None and is_soon(self.settings.repeat_window_ms, last, now):
                    return None  # assumed: both are said of one card
                return CardSeen(at=at, frame=evidence, place=self.place(mode), position=0, card=None)
            case _:
                return None

    def is_copy(self, last: Taken, frame: Frame[Report]) -> bool | None:
        """Whether a card in the game is the last one told again; None: it was read so late that it is not known.

        While we were away the shoe may have dealt, so only the clock is asked: what a line held back is a new card.
        """
        if frame.raw.strip(WHITE) != last.raw.strip(WHITE) or last.copies >= self.settings.copies:
            return False
        read = ReadAt(frame.at, self.late_ns)
        return is_soon(self.settings.repeat_window_ms, ReadAt(last.at, last.late_ns), read)


def card_seen(at: Now, evidence: Evidence, place: Place, told: theirs.CardText) -> CardSeen:
    if isinstance(told, theirs.NoFace):
        return CardSeen(at=at, frame=evidence, place=place, position=0, card=None, code=told.text)
    card = Card.of(Rank(told.rank), SUITS[told.suit])
    return CardSeen(at=at, frame=evidence, place=place, position=0, card=card)


def fault(message: Report, at: Now, evidence: Evidence) -> FaultRaised | None:
    """What it says of a card is the card's: a card without a face, in the slot that is due."""
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
