"""What we publish: the contract's events, one type each, named `<noun>.<verb>`.

`docs/events.md` is generated from these definitions. Fields are added, never changed.
An event's `data` is the struct; its envelope is made where it leaves the house.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from shoed import device_events
from shoed.cards import Card
from shoed.device_events import EventData
from shoed.observations import Outcome, Pair


class Hand(msgspec.Struct, frozen=True):
    cards: tuple[Card, ...]
    points: int


class Points(msgspec.Struct, frozen=True):
    player: int
    banker: int


class Slot(msgspec.Struct, frozen=True):
    """A place on the table: `position` in its hand (1-3), `index` in its round (1-6)."""

    hand: Pair
    position: int
    index: int


class Result(msgspec.Struct, frozen=True):
    outcome: Outcome
    pairs: tuple[Pair, ...]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A card with its place, or a result, as the device reported it.

    `unknown` is absent if the place is known. `target` is the slot that the device names for the card of an overdraw,
    and else absent.
    """

    card: Card | None = None
    hand: str | None = None
    position: int | None = None
    result: Result | None = None
    unknown: str | msgspec.UnsetType = msgspec.UNSET
    target: str | msgspec.UnsetType = msgspec.UNSET


class Measured(msgspec.Struct, frozen=True):
    """What the device measured of a card; null: it does not measure this, or did not measure this card.

    `drawn_at`: when the card was drawn, by the clock of the device, in UTC; it is never later than the arrival of the
    report. The true moment is at most `within_ms` from it. Both are null if it is not known what the clock showed when.
    `quality`: how well the card was read, in percent. `code`: the text of a card that could not be read or is foreign,
    as the device gave it. `passage_us`: from the leading edge of the card to its trailing edge.
    """

    drawn_at: str | None = None
    within_ms: int | None = None
    quality: int | None = None
    code: str | None = None
    passage_us: int | None = None


class ShoeStarted(EventData, frozen=True, kw_only=True):
    """A new shoe: a person or the device said so, or it began to talk after a cutting card, with no round open."""

    shoe: int
    shoe_integrity: str


class ShoeEmptied(EventData, frozen=True, kw_only=True):
    """No card is left in the shoe: somebody says so, or, with a null author, the shoe itself."""

    shoe: int | None
    round: int | None
    author: str | None
    role: str | None


class ShoeCut(EventData, frozen=True, kw_only=True):
    """The cutting card came out; shoe and round are null before the first card."""

    shoe: int | None
    round: int | None
    shoe_integrity: str = "partial"


class RoundStarted(EventData, frozen=True, kw_only=True):
    """A round opened, with its announcement or with the first Player card."""

    shoe: int
    round: int
    game: str
    opened_by: str
    shoe_integrity: str


class CardDrawn(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The card that was due, taken into its hand; `index` is its ordinal in the round.

    `set_aside`: the id of the event that published the same card before, in this round or in the round before it;
    absent if there is none. `source` is `person`, and else absent, for a card that the shoe did not report: its
    provenance is the row of the command or answer. `measured` is absent if the device measured nothing of the card.
    """

    shoe: int
    round: int
    index: int
    hand: Pair
    card: Card
    points: Points
    provenance: int
    set_aside: str | None = None
    source: str = "device"
    measured: Measured | msgspec.UnsetType = msgspec.UNSET


class CardSetAside(EventData, frozen=True, kw_only=True):
    """A card that the shoe reported and that is in no hand, with the reason; a null card could not be read.

    Cards faster than any hand draws them are not published one by one: this is the last of `count` cards. It is absent
    for one card. `measured` is absent if the device measured nothing of the card.
    """

    shoe: int
    round: int | None
    card: Card | None
    reason: str
    reported: Seen
    provenance: int
    count: int | msgspec.UnsetType = msgspec.UNSET
    measured: Measured | msgspec.UnsetType = msgspec.UNSET


class RoundCompleted(EventData, frozen=True, kw_only=True):
    """The last card due is drawn: the result by the Table of Play, from the cards alone."""

    shoe: int
    round: int
    game: str
    player: Hand
    banker: Hand
    outcome: Outcome
    pairs: tuple[Pair, ...]
    integrity: str


class RoundConfirmed(EventData, frozen=True, kw_only=True):
    """The shoe's result is ours."""

    shoe: int
    round: int
    ours: Result
    theirs: Result


class RoundDisputed(EventData, frozen=True, kw_only=True):
    """The shoe's result is not ours."""

    shoe: int
    round: int
    ours: Result
    theirs: Result


class RoundUnconfirmed(EventData, frozen=True, kw_only=True):
    """The next round opened, and no result of the shoe is known to be of this round.

    The shoe gave none, or it gave one after reports may have been missed, when it cannot be known to be of this round.
    """

    shoe: int
    round: int


class RoundSuspended(EventData, frozen=True, kw_only=True):
    """The round waits for a person. `seen`: the report that came, if one did; `gap`: the line was away during it."""

    shoe: int
    round: int
    due: Slot | None
    seen: Seen
    gap: bool


class RoundResumed(EventData, frozen=True, kw_only=True):
    """What held the round is decided: how the cards lie, the slot of the next one, and what is left over."""

    shoe: int
    round: int
    player: Hand
    banker: Hand
    due: Slot | None
    carried: tuple[Card, ...]
    phase: str


class RoundVoided(EventData, frozen=True, kw_only=True):
    """The round has no result, and every stake of it goes back.

    `kind` says why, `clause` which clause voids it, `returns` which one returns stakes; null where the document is
    silent. `supersedes`: the id of the event that told a result.
    """

    shoe: int
    round: int
    kind: str
    clause: str | None
    returns: str | None
    reading: str | None
    player: Hand
    banker: Hand
    supersedes: str | None
    author: str | None
    role: str | None


class RoundCorrected(EventData, frozen=True, kw_only=True):
    """The account of the round was wrong: this one stands in its place.

    `supersedes` is the id of the event that told the other; a null outcome: a card is due after all.
    """

    shoe: int
    round: int
    game: str
    player: Hand
    banker: Hand
    outcome: Outcome | None
    pairs: tuple[Pair, ...]
    integrity: str
    due: Slot | None
    supersedes: str


class Paid(msgspec.Struct, frozen=True):
    """What a bet gets: `lose`, `push` or odds, and the clause that says so."""

    pays: str
    clause: str


class TookBack(msgspec.Struct, frozen=True):
    """A bettor whose bets of the round go back, and the clause; `others` are all who were not named.

    `bet`: the only one that goes back, where it is not all of them.
    """

    bettor: str
    clause: str
    bet: str | None = None


class RoundSettled(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The bets are paid, as somebody said, or with more to it than the result.

    What each bet of the game got, who had bets back, and the cards that open the next round. Without bets a round that
    has nothing of this is settled by the start of the next one, and no event says so. `supersedes`: the id of the
    settlement that this one replaces, after a correction or a later decision; absent if it is the first one.
    """

    shoe: int
    round: int
    outcome: Outcome
    pays: Mapping[str, Paid]
    returned: tuple[TookBack, ...]
    carried: tuple[Card, ...]
    supersedes: str | None = None


class RoundOvertaken(EventData, frozen=True, kw_only=True):
    """The next round or shoe began over a complete round that waited for a person: it waits no longer.

    Its open questions stay open.
    """

    shoe: int
    round: int
    reason: str = ""


class RoundAbandoned(EventData, frozen=True, kw_only=True):
    """A new round or shoe began over an unfinished one, which ends without a result.

    No document says what becomes of its stakes: the house does.
    """

    shoe: int
    round: int
    player: Hand
    banker: Hand
    reason: str = ""


class BetsClosed(EventData, frozen=True, kw_only=True):
    """No more bets: the dealer said so, or the first card came."""

    shoe: int
    round: int
    closed_by: str


class BetsLate(EventData, frozen=True, kw_only=True):
    """A bet was placed, raised or withdrawn after the close, and what the document says of it."""

    shoe: int
    round: int
    act: str
    then: str
    clause: str
    author: str | None
    role: str | None


class InsuranceWaived(EventData, frozen=True, kw_only=True):
    """A squeeze was granted: there is no insurance after Player's third card."""

    shoe: int
    round: int
    clause: str
    author: str | None
    role: str | None


class IrregularityNoticed(EventData, frozen=True, kw_only=True):
    """Something went wrong, or may have.

    `number` counts in the round, null where nothing follows in it, or not yet: what is confirmed then, or gets a place
    in the round, is told again with its number. `author` is null if the watch noticed it; `late`: the next round, or
    shoe, had begun. `other`: the card that changed places with the one at `at`.
    """

    shoe: int | None
    round: int | None
    number: int | None
    kind: str
    at: int | None
    count: int | None
    evidence: str
    author: str | None
    role: str | None
    late: bool
    other: int | None = None


class IrregularityRuled(EventData, frozen=True, kw_only=True):
    """What follows from an irregularity, and by which clause. `silent`: the document says nothing of it.

    `number` is that of the irregularity in its round; null between two rounds, and of a round that is past.
    """

    shoe: int | None
    round: int | None
    number: int | None
    kind: str
    then: str
    clause: str | None
    decides: str | None
    silent: bool
    reading: str | None


class QuestionAsked(EventData, frozen=True, kw_only=True):
    """What a person has to say, or may; the retained `question` has it whole. The hands are as they lie.

    `role`: this one or above; null: anybody of the house.
    """

    shoe: int | None
    round: int | None
    id: str
    question: str
    clause: str | None
    role: str | None
    optional: bool
    player: Hand
    banker: Hand


class QuestionAnswered(EventData, frozen=True, kw_only=True):
    """A question was answered: by whom, in which role (null: a player), and how.

    `carried`: the card that came between two rounds, and opens the next one by this answer.
    """

    shoe: int | None
    round: int | None
    id: str
    question: str
    choice: tuple[str, ...]
    bettor: str | None
    author: str | None
    role: str | None
    carried: tuple[Card, ...]
    revision: int


class QuestionRevised(EventData, frozen=True, kw_only=True):
    """The round of an open question, its hands or its consequences have changed; the retained question has it whole."""

    shoe: int | None
    round: int | None
    id: str
    question: str
    revision: int
    player: Hand
    banker: Hand


class QuestionLapsed(EventData, frozen=True, kw_only=True):
    """A question is closed without an answer, for this reason."""

    shoe: int | None
    round: int | None
    id: str
    question: str
    reason: str


TYPES: Final[Mapping[type[EventData], str]] = {
    ShoeStarted: "shoe.started",
    ShoeCut: "shoe.cut",
    ShoeEmptied: "shoe.emptied",
    RoundStarted: "round.started",
    CardDrawn: "card.drawn",
    CardSetAside: "card.set-aside",
    RoundCompleted: "round.completed",
    RoundConfirmed: "round.confirmed",
    RoundDisputed: "round.disputed",
    RoundUnconfirmed: "round.unconfirmed",
    RoundSuspended: "round.suspended",
    RoundAbandoned: "round.abandoned",
    RoundOvertaken: "round.overtaken",
    RoundResumed: "round.resumed",
    RoundVoided: "round.voided",
    RoundCorrected: "round.corrected",
    RoundSettled: "round.settled",
    BetsClosed: "bets.closed",
    BetsLate: "bets.late",
    InsuranceWaived: "insurance.waived",
    IrregularityNoticed: "irregularity.noticed",
    IrregularityRuled: "irregularity.ruled",
    QuestionAsked: "question.asked",
    QuestionAnswered: "question.answered",
    QuestionRevised: "question.revised",
    QuestionLapsed: "question.lapsed",
    **device_events.TYPES,
}


class Event(msgspec.Struct, frozen=True):
    """One event of a table: `sequence` counts from 1 without a gap, for ever."""

    sequence: int
    utc_us: int
    data: EventData

    @property
    def type(self) -> str:
        return TYPES[type(self.data)]
