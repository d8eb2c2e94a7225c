"""What a table knows between two Steps, and every legal move of its round."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.commands import Author
from tests.oracle.engine_5.device_events import LineRejected
from tests.oracle.engine_5.events import Result, RoundCompleted, RoundSuspended, Seen
from tests.oracle.engine_5.observations import Evidence
from tests.oracle.engine_5.rules.irregular import Happened, Ruling
from tests.oracle.engine_5.rules.questions import Ask
from tests.oracle.engine_5.words import Event as Mishap


class Phase(Enum):
    IDLE = "idle"  # no round in this shoe yet
    BETTING = "betting"  # "Place your bets"
    CLOSED = "closed"  # "No more bets", and no card yet
    DEALING = "dealing"
    SUSPENDED = "suspended"  # waits for a person
    COMPLETE = "complete"  # every card due is drawn
    CORRECTED = "corrected"  # and the first account of it was wrong
    SETTLED = "settled"
    VOIDED = "voided"
    ABANDONED = "abandoned"  # it ends without a result


class Move(Enum):
    ANNOUNCED = "announced"  # bets were opened
    BETS_CLOSED = "bets-closed"
    OPENING_CARD = "opening-card"  # the first card of the round
    DUE_CARD = "due-card"
    LAST_CARD = "last-card"  # the due one that completes the round
    DOUBT = "doubt"  # something that only a person can decide
    RESUMED = "resumed"  # it was decided, and a card is due
    STILL_BETTING = "still-betting"  # it was decided before the bets were closed
    STILL_CLOSED = "still-closed"  # and after, but before the first card
    COMPLETED = "completed"  # it was decided, and none is due
    VOID = "void"
    CORRECTION = "correction"
    SETTLEMENT = "settlement"
    GIVEN_UP = "given-up"  # a new round or a new shoe began over it
    REOPENED = "reopened"  # by a correction: a card is due after all
    NEXT = "next"  # a new round or a new shoe begins


OPEN: Final = (Phase.BETTING, Phase.CLOSED, Phase.DEALING, Phase.SUSPENDED)
DRAWN: Final = (Phase.COMPLETE, Phase.CORRECTED)
OVER: Final = (Phase.SETTLED, Phase.VOIDED, Phase.ABANDONED)
AT_A_TABLE: Final = (*OPEN, *DRAWN)  # a round is there to be doubted

MOST_WAITING: Final = 16  # more cards than any round has: what comes after is on record, and in no hand
MENDABLE: Final = (*OPEN, *DRAWN, Phase.SETTLED)  # until the next round begins

# Every legal move is here, and what it leads to. What is absent cannot follow from anything that
# is seen or said; the machine fails on it rather than guess.
MOVES: Final[Mapping[tuple[Phase, Move], Phase]] = {
    (Phase.IDLE, Move.ANNOUNCED): Phase.BETTING,
    (Phase.IDLE, Move.OPENING_CARD): Phase.DEALING,
    (Phase.BETTING, Move.BETS_CLOSED): Phase.CLOSED,
    (Phase.SUSPENDED, Move.BETS_CLOSED): Phase.SUSPENDED,
    (Phase.CLOSED, Move.OPENING_CARD): Phase.DEALING,
    (Phase.DEALING, Move.DUE_CARD): Phase.DEALING,
    (Phase.DEALING, Move.LAST_CARD): Phase.COMPLETE,
    **{(phase, Move.DOUBT): Phase.SUSPENDED for phase in MENDABLE if phase is not Phase.SUSPENDED},
    (Phase.SUSPENDED, Move.RESUMED): Phase.DEALING,
    (Phase.SUSPENDED, Move.STILL_BETTING): Phase.BETTING,
    (Phase.SUSPENDED, Move.STILL_CLOSED): Phase.CLOSED,
    (Phase.SUSPENDED, Move.COMPLETED): Phase.COMPLETE,
    **{(phase, Move.VOID): Phase.VOIDED for phase in MENDABLE},
    **{(phase, Move.CORRECTION): Phase.CORRECTED for phase in (*DRAWN, Phase.SUSPENDED, Phase.SETTLED)},
    **{(phase, Move.REOPENED): Phase.DEALING for phase in (*DRAWN, Phase.SUSPENDED, Phase.SETTLED)},
    **{(phase, Move.SETTLEMENT): Phase.SETTLED for phase in (*DRAWN, Phase.SUSPENDED)},
    **{(phase, Move.GIVEN_UP): Phase.ABANDONED for phase in OPEN},
    **{(phase, Move.NEXT): Phase.IDLE for phase in (Phase.IDLE, *OVER)},
}


class Link(Enum):
    ONLINE = "online"
    QUIET = "quiet"
    OFFLINE = "offline"


class Comparison(Enum):
    """What the shoe's result made of a completed round."""

    AWAITED = "awaited"
    CONFIRMED = "confirmed"
    DISPUTED = "disputed"
    UNCONFIRMED = "unconfirmed"


class Fault(msgspec.Struct, frozen=True):
    code: int
    name: str
    blocking: bool


class Rejections(msgspec.Struct, frozen=True):
    """Rejected frames after the first are counted until a moment, then told."""

    until: int  # monotonic ns
    counted: LineRejected | None = None


class Condition(msgspec.Struct, frozen=True):
    """How a device is, and its line."""

    link: Link | None = None  # None: nothing is known yet
    reason: str = ""  # of an offline link
    heard_utc_us: int | None = None
    fault: Fault | None = None
    locked: bool = False
    rejections: Rejections | None = None


class Noticed(msgspec.Struct, frozen=True):
    """Something that went wrong, and how it came to be known."""

    what: Happened
    evidence: str
    by: Author | None = None  # None: the watch
    card: Card | None = None  # that it is about: one that came too many between two rounds may open the next


def after_round(card: Card | None, told: str) -> Noticed:
    """C 5.7: a card behind a round that is over: where it goes, a person says."""
    what = Happened(Mishap.CARD_IN_EXCESS, 0, 0, between_rounds=True)
    return Noticed(what, f"{card or 'a card without a face'} {told}", card=card)


class Last(msgspec.Struct, frozen=True):
    """The card that was told last, whatever it was."""

    card: Card | None
    sequence: int  # of the event that told it
    aside: bool  # it was set aside, as one that was not due


class Taken(msgspec.Struct, frozen=True, omit_defaults=True):
    """A card of the round, in the order in which it left the shoe."""

    card: Card | None  # None: nobody has told its face
    seen: Seen = Seen()  # as the device reported it; nothing where it saw none
    utc_us: int = 0
    row: int = 0  # where its bytes are
    sequence: int = 0  # of the event that told it
    excess: bool = False  # the device itself says that it is the card of an overdraw
    dealt: bool = False  # the device names no hand: the card is the one that is due
    behind_loss: bool = False  # reports were lost before it: it may be a later one than the one that is due
    again: bool = False  # and it has the face of the one before it, which was due
    drawn: bool = False  # where it lies was told
    together: Noticed | None = None  # with cards before it (1: nobody could read it); counts once this one has a place

    @property
    def in_no_slot(self) -> bool:
        """The device told of a card, and not of its slot: there may have been none."""
        return self.dealt or (self.row > 0 and self.seen == Seen())


class Decided(msgspec.Struct, frozen=True):
    """The answer to a question that the rules asked."""

    ask: Ask
    choice: str | tuple[str, ...]
    by: Author
    irregularity: int
    bettor: str | None = None
    bet: str | None = None


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    shoe: int = 0
    number: int = 0  # in its shoe, from 1; 0: none yet
    cards: tuple[Taken, ...] = ()  # that have a place in the order
    waiting: tuple[Taken, ...] = ()  # that came while a question was open, or are one
    over: tuple[Taken, ...] = ()  # drawn in excess, for all that is known: looked at once the round has its cards
    result: Result | None = None  # that the device gave before the last card due
    theirs: Result | None = None  # that it gave before a correction took the end of the round away
    ruled: tuple[Ruling, ...] = ()  # what was told of the irregularities, the last of each
    accounted: int = 0  # the last event that told how the hands lie otherwise than by their cards
    early: bool = False  # and no card waits that came before it
    happened: tuple[Noticed, ...] = ()
    suspected: tuple[Noticed, ...] = ()  # that a person has to confirm
    decisions: tuple[Decided, ...] = ()
    carried: int = 0  # the first so many cards were left over from the round before
    shift: int = 0  # and so many the device counts to that one
    left: int = 0  # so many were left over when nobody had to be asked last
    looked_at: int = 0  # and so much had happened: what is left over since has another ground, or none
    hold: tuple[Noticed, ...] = ()  # found between two rounds: this one waits for a person
    unanswered: tuple[Noticed, ...] = ()  # doubts that rounds before it left open: asked, and nothing waits for them
    play: Phase = Phase.IDLE  # betting, closed, then dealing: how far it is, also while it waits
    squeeze: bool = False
    overtaken: bool = False  # the next one has begun: who has not chosen plays on
    empty: Noticed | None = None  # no card is left in the shoe: what that is once one is due
    void: Author | None = None  # who voided it, with no other ground
    voided: Ruling | None = None  # it was told that it is void: nothing makes it another round any more
    announced: bool = False  # bets were announced, and did not begin with its first card
    game: str = ""  # by whose book it is played, whatever the table is set to meanwhile
    away: bool = False  # the line was away since it opened
    partial: bool = False  # and nothing proves that no report was missed
    lost: bool = False  # since the last card: where no hand is named, nobody knows whether the next one is due
    paid: bool = False  # it was told that the bets are paid
    complete: bool = False  # every card due was drawn, whatever came after it
    unsure: bool = False  # reports were missed since: a result may be another round's

    def faces(self, *, carried: bool) -> tuple[Card | None, ...]:
        """Of all that left the shoe for it; `carried`: and of those that the round before left over."""
        return tuple(each.card for each in (*self.cards[0 if carried else self.carried :], *self.over, *self.waiting))


class Completed(msgspec.Struct, frozen=True):
    """The last round that was completed, also when a new shoe began since."""

    told: RoundCompleted
    sequence: int = 0  # of the event that told it
    void: bool = False
    answer: Comparison = Comparison.AWAITED
    theirs: Result | None = None  # the last result that the shoe gave for it

    @property
    def ours(self) -> Result:
        return Result(self.told.outcome, self.told.pairs)


class Open(msgspec.Struct, frozen=True):
    """The question that is asked."""

    id: str
    key: str  # what it is about: the same key, the same question
    utc_us: int


class TableState(msgspec.Struct, frozen=True):
    sequence: int = 0  # of the last event
    phase: Phase = Phase.IDLE
    shoe: int = 0  # 0: no shoe has been numbered
    shoe_whole: bool = False  # seen from its start
    cut: bool = False  # the cutting card came out of this shoe
    cut_in: int = 0  # in or before this round
    burnt: int = 0  # cards of this shoe, before its first round
    first_card: Card | None = None  # the one that says how many
    told: Last | None = None  # None: reports were missed since
    missed: Evidence | None = None  # the report that showed that others were missed since then
    round: Round = Round()
    last: Completed | None = None
    suspended: RoundSuspended | None = None  # why the round waits
    hold: tuple[Noticed, ...] = ()  # found between two rounds: the next one waits for a person
    coming: tuple[Noticed, ...] = ()  # found in the set that the next shoe deals: asked before its first round
    left_over: tuple[Card, ...] = ()  # cards of the round before that open the next
    kept: tuple[Card, ...] = ()  # and those that came after it
    past: tuple[int, int] | None = None  # the last round of the shoe before, as long as this one has none
    asked: Open | None = None
    questions: int = 0  # that were ever asked
    device: Condition = Condition()  # the shoe's
    shuffler: Condition | None = None  # None: the table has none, or nothing is known yet

    @property
    def shoe_integrity(self) -> str:
        return "complete" if self.shoe_whole else "partial"
