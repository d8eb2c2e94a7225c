"""The published events: one type for each event, named `<noun>.<verb>`.

`docs/events.md` is generated from these definitions. Later versions may add fields and never change
a field. The struct is the `data` of the event; `shoed.bus` adds the envelope.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from shoed.model import device_events
from shoed.model.cards import Card
from shoed.model.device_events import EventData
from shoed.model.incarnations import JournalContinued
from shoed.model.observations import Outcome, Pair, Side


class Hand(msgspec.Struct, frozen=True):
    cards: tuple[Card, ...]
    points: int


class Points(msgspec.Struct, frozen=True):
    player: int
    banker: int


class Slot(msgspec.Struct, frozen=True):
    """A place on the table: `position` of the card in the hand (1 to 3), `index` of the card in the round."""

    hand: Side
    position: int
    index: int


class RoundResult(msgspec.Struct, frozen=True):
    """A result. `forced-end`: the shoe ended the round; shoed never computes this outcome."""

    outcome: Outcome
    pairs: tuple[Pair, ...]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A card with its place, or a result, as the device reported it. `hand` and `position` are null outside the hands.

    `unknown`: the reported target or situation, if shoed does not know its meaning. `target`: the text of the slot that
    the device names for the card of an overdraw.
    """

    card: Card | None = None
    hand: str | None = None
    position: int | None = None
    result: RoundResult | None = None
    unknown: str | msgspec.UnsetType = msgspec.UNSET
    target: str | msgspec.UnsetType = msgspec.UNSET


class Measured(msgspec.Struct, frozen=True):
    """The measurements of a card by the device. A value is null if the device did not measure it.

    `drawn_at`: the time of the draw by the clock of the device, in UTC, never later than the arrival of the report. The
    maximum error is `within_ms`. Both are null if the offset of the device's clock is unknown. `quality`: the quality
    of the reading, in percent. `code`: the text of an unreadable or foreign card, as the device sent it. `passage_us`:
    the time between the leading edge and the trailing edge of the card.
    """

    drawn_at: str | None = None
    within_ms: int | None = None
    quality: int | None = None
    code: str | None = None
    passage_us: int | None = None


class ShoeStarted(EventData, frozen=True, kw_only=True):
    """A new shoe began, by a command, by a report of the device, or by a start of communication after the cut card."""

    shoe: int
    shoe_integrity: str


class ShoeEmptied(EventData, frozen=True, kw_only=True):
    """No card is left in the shoe, by a report of the shoe or by a command."""

    shoe: int | None
    round: int | None
    author: str | None
    role: str | None


class ShoeCut(EventData, frozen=True, kw_only=True):
    """The cut card left the shoe. `shoe` and `round` are null before the first card."""

    shoe: int | None
    round: int | None
    shoe_integrity: str = "partial"


class RoundStarted(EventData, frozen=True, kw_only=True):
    """A round began, by the announcement of the dealer or by the first received card of the round."""

    shoe: int
    round: int
    game: str
    opened_by: str
    shoe_integrity: str


class CardDrawn(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The due card was drawn. `hand` is the hand of this card.

    `set_aside`: the id of the event that published the same card before, in this round or in the previous round.
    `source`: `person` for a card that the shoe did not report; absent for any other card. `provenance`: the journal row
    of the report. If `source` is `person`: the journal row of the command or of the answer. `measured`: absent if the
    device did not measure the card.
    """

    shoe: int
    round: int
    index: int
    hand: Side
    card: Card
    points: Points
    provenance: int
    set_aside: str | None = None
    source: str = "device"
    measured: Measured | msgspec.UnsetType = msgspec.UNSET


class CardSetAside(EventData, frozen=True, kw_only=True):
    """The shoe reported a card that is in no hand. `card` is null if the card could not be read.

    `count`: absent for an event of one card. After 40 such cards within 10 s, shoed counts the further cards: every
    10 s, one event has the last counted card, and `count` is the number of counted cards. `measured`: absent if the
    device did not measure the card.
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
    """The last card due was drawn. The result follows from the cards by the Table of Play."""

    shoe: int
    round: int
    game: str
    player: Hand
    banker: Hand
    outcome: Outcome
    pairs: tuple[Pair, ...]
    integrity: str


class RoundConfirmed(EventData, frozen=True, kw_only=True):
    """The result that the shoe reported (`theirs`) is equal to the result that shoed computed (`ours`)."""

    shoe: int
    round: int
    ours: RoundResult
    theirs: RoundResult


class RoundDisputed(EventData, frozen=True, kw_only=True):
    """The result that the shoe reported (`theirs`) differs from the result that shoed computed (`ours`)."""

    shoe: int
    round: int
    ours: RoundResult
    theirs: RoundResult


class RoundUnconfirmed(EventData, frozen=True, kw_only=True):
    """The next round began, and the result of this round was not compared with a result of the shoe.

    Either the shoe reported no result, or reports may have been lost: the reported result may then be of another round.
    """

    shoe: int
    round: int


class RoundSuspended(EventData, frozen=True, kw_only=True):
    """The round waits for a person.

    `seen`: the report that caused the suspension; without such a report, its values are null. `gap`: the link was
    closed during the round.
    """

    shoe: int
    round: int
    due: Slot | None
    seen: Seen
    gap: bool


class RoundResumed(EventData, frozen=True, kw_only=True):
    """The suspension of the round ended. `carried`: the cards that become the first cards of the next round."""

    shoe: int
    round: int
    player: Hand
    banker: Hand
    due: Slot | None
    carried: tuple[Card, ...]
    phase: str


class RoundVoided(EventData, frozen=True, kw_only=True):
    """The round is void: it has no result, and every stake is returned.

    `kind`: the irregularity that voids the round. `clause`: the clause that voids the round. `returns`: the clause that
    returns the stakes. `supersedes`: the id of the event with the earlier result; null if the round had no result.
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
    """The published cards or result of the round were wrong. This event replaces them.

    `supersedes`: the id of the replaced event. `outcome` is null if a further card is due.
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
    """The pay of a bet. `pays`: `lose`, `push` or the odds, such as `1:1`."""

    pays: str
    clause: str


class ReturnedBets(msgspec.Struct, frozen=True):
    """A bettor whose bets of the round are returned, and the clause.

    `bettor`: a name, or `others`: all bettors that no answer names. `bet`: the only returned bet; null if all bets of
    the bettor are returned.
    """

    bettor: str
    clause: str
    bet: str | None = None


class RoundSettled(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The round is settled. shoed knows the odds of each bet; shoed does not know the stakes.

    shoed publishes this event in four cases: after the command `settle`; if bets are returned; if cards are carried
    into the next round; if an earlier settlement changes. Any other round is settled without this event when the next
    round begins. `returned`: the returned bets. `carried`: the cards that become the first cards of the next round.
    `supersedes`: the id of the settlement that this event replaces.
    """

    shoe: int
    round: int
    outcome: Outcome
    pays: Mapping[str, Paid]
    returned: tuple[ReturnedBets, ...]
    carried: tuple[Card, ...]
    supersedes: str | None = None


class RoundOvertaken(EventData, frozen=True, kw_only=True):
    """The next round or shoe began while this complete round waited for a person. The round no longer waits.

    The open questions of the round stay open.
    """

    shoe: int
    round: int
    reason: str = ""


class RoundAbandoned(EventData, frozen=True, kw_only=True):
    """An unfinished round ended without a result.

    The rule documents have no rule about the stakes of such a round; the house decides.
    """

    shoe: int
    round: int
    player: Hand
    banker: Hand
    reason: str = ""


class BetsClosed(EventData, frozen=True, kw_only=True):
    """Bets are closed."""

    shoe: int
    round: int
    closed_by: str


class BetsLate(EventData, frozen=True, kw_only=True):
    """A bet was placed, raised or withdrawn after the bets were closed. `then`: the rule of the rule document."""

    shoe: int
    round: int
    act: str
    then: str
    clause: str
    author: str | None
    role: str | None


class InsuranceWaived(EventData, frozen=True, kw_only=True):
    """A squeeze was granted: insurance is not offered after Player's third card."""

    shoe: int
    round: int
    clause: str
    author: str | None
    role: str | None


class IrregularityNoticed(EventData, frozen=True, kw_only=True):
    """A person reported an irregularity, or shoed found or suspects one. This event begins a matter.

    A matter is an irregularity or a suspicion on record. `number`: the number of the matter in the round. `number` is
    null for a suspicion, for a matter between two rounds, and for a matter of a past round. If a matter gets its number
    later, shoed publishes this event again. `at`: the [position](#cards) of the first card concerned. `count`: the
    number of cards that were drawn together. `other`: with `wrong-side`, the position of the card that was exchanged
    with the card `at`. `late`: the matter was noticed after the next round or shoe began.
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
    """The ruling on a matter: the consequence (`then`) and the clause.

    `number`: as in `irregularity/noticed`. `decides`: the lowest role that decides. `silent`: the rule document has no
    rule for this consequence. `reading`: the rule or the explanation that the project uses, in words.
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
    """A person has to decide, or may decide. The retained `question` has all fields. The hands are the present hands.

    `role`: the lowest role that decides; null: any role of the house. `optional`: play does not wait for the answer.
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
    """A question was answered.

    `bettor`: the bettor of this answer, or `others`; null if the question is not about a bettor. `carried`: the cards
    drawn between two rounds that become the first cards of the next round because of this answer. `revision`: the
    revision of the answered question.
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
    """The round, the hands or the consequences of an open question changed. The retained `question` has all fields."""

    shoe: int | None
    round: int | None
    id: str
    question: str
    revision: int
    player: Hand
    banker: Hand


class QuestionLapsed(EventData, frozen=True, kw_only=True):
    """A question was closed without an answer."""

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
    JournalContinued: "journal.continued",
    **device_events.TYPES,
}


class Event(msgspec.Struct, frozen=True):
    """One event of a table. `sequence` counts from 1 without a gap."""

    sequence: int
    utc_us: int
    data: EventData

    @property
    def type(self) -> str:
        return TYPES[type(self.data)]
