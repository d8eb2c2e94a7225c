"""The record of a round: its cards and matters, append-only, each with an id that never changes.

The id of a card is its position on the record, from 1. The field `where` of a card is its present place (waiting,
placed, deferred, withdrawn). No entry is moved or removed. `Record.order` lists the placed cards in the order in which
they left the shoe. Rules and people use positions in that order; references use ids.
"""

from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author
from shoed.model.events import Measured, RoundResult, Seen
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.irregular import ABOUT_A_CARD, Irregularity, Ruling
from shoed.rules.questions import Ask
from shoed.table.continuity import PROVEN, RoundContinuity
from shoed.table.lazy import Lazy
from shoed.table.matters import IN_A_ROUND, Matter, Status, moved
from shoed.table.phase import Phase

MOST_WAITING: Final = 16  # cards, more than a round has; a further card is in the journal only
TOGETHER: Final = 2  # the least number of cards that are drawn together


class Where(Enum):
    WAITING = "waiting"  # until the rules or a person decide its place
    PLACED = "placed"  # in the order of the round
    DEFERRED = "put-by"  # an overdraw: decided once the round has its cards
    LEFT_OVER = "lying"  # left over before this round; placed when the first card of this round is drawn
    NEXT_ROUND = "next-round"  # a card of the next round
    AFTER_ROUND = "kept"  # left the shoe after the bets were paid; serves if a correction makes a card due
    PUT_AWAY = "put-away"  # left the shoe and serves in no round
    WITHDRAWN = "withdrawn"  # no such card left the shoe


class Source(Enum):
    """How the record knows that the card left the shoe."""

    DEVICE = "device"  # a report of the device
    PERSON = "person"  # a command or an answer of a person
    CARRIED = "carried"  # left over from the previous round


class ReportedPlace(Enum):
    """The place that the device reported for the card."""

    SLOT = "slot"  # its hand and position
    UNNAMED = "unnamed"  # a device that never names a hand: the card is the due card
    OVERDRAWN = "overdrawn"  # the card of an overdraw
    BURNT = "burnt"  # in no hand
    LOCKED = "locked"  # in no hand, while the shoe was locked
    IN_ERROR = "in-error"  # in no hand, while the shoe was in error
    UNKNOWN = "unknown"  # in no hand, with a value that is not in the protocol document
    NONE = "none"


IN_NO_HAND: Final = frozenset(
    {ReportedPlace.BURNT, ReportedPlace.LOCKED, ReportedPlace.IN_ERROR, ReportedPlace.UNKNOWN}
)


def reported_as(report: ReportedPlace, seen: Seen) -> str:
    """Words for the report of a card that has no slot."""
    if report is ReportedPlace.UNKNOWN:
        return f"with the unknown {seen.unknown or 'place'}"
    return f"as {report.value} for {seen.target}" if seen.target else f"as {report.value}"


class CardEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    face: Card | None  # None: unknown
    where: Where
    id: int = 0  # 0: not on the record yet
    source: Source = Source.DEVICE
    report: ReportedPlace = ReportedPlace.NONE
    place: int = 0  # increases in the order in which the cards left the shoe; 0: none yet
    seen: Seen = Seen()  # the card as the device reported it
    utc_us: int = 0
    row: int = 0  # the journal row with the bytes of the card
    sequence: int = 0  # of the event that published the card
    after_loss: bool = False  # reports may be missing directly before this card
    repeated: bool = False  # reported without a slot, with the face of the previous card
    published: bool = False  # the place of the card was published
    measured: Measured | None = None

    @property
    def left_at(self) -> tuple[int, int]:
        return left_at(self)

    @property
    def in_no_slot(self) -> bool:
        """Whether the device reported an unread card without its slot, so that perhaps no card left the shoe."""
        return self.report is ReportedPlace.UNNAMED or (
            self.row > 0 and self.seen.card is None and self.seen.hand is None
        )


def left_at(card: CardEntry) -> tuple[int, int]:
    """Sort key: the order in which the cards left the shoe."""
    if not card.place:
        return 2, card.id
    return int(card.source is not Source.CARRIED), card.place


class RuleAnswer(msgspec.Struct, frozen=True):
    """The answer to a question of the rule book."""

    ask: Ask
    choice: str | tuple[int, ...]  # a word, or the ids of cards in order
    by: Author
    matter: int  # 0: a void of the round without a matter
    bettor: str | None = None
    bet: str | None = None


class EarlyResult(msgspec.Struct, frozen=True):
    """A result that the device reported before the last card due."""

    result: RoundResult
    after: int  # the id of the last card on the record


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts of the round that were published."""

    complete: bool = False  # every card due was drawn
    settled: int = 0  # the sequence of the last `round/settled`; 0: none
    voided: Ruling | None = None  # a void is final
    accounted: int = 0  # the sequence of the last `round/corrected` of a round that is not complete; 0: none
    theirs: RoundResult | None = None  # the device's result, kept while a correction reopens the round


class Record(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    shoe: int = 0
    number: int = 0  # in its shoe, from 1; 0: none yet
    game: str = ""  # its rule book; a later change of the settings does not apply to it
    announced: bool = False
    play: Phase = Phase.IDLE  # betting, closed, dealing; a suspended round keeps its value
    cards: tuple[CardEntry, ...] = ()
    matters: tuple[Matter, ...] = ()
    earlier_matters: int = msgspec.field(default=0, name="given")  # the last id of a matter before this round
    decisions: tuple[RuleAnswer, ...] = ()
    early: EarlyResult | None = None
    shift: int = 0  # the number of left-over cards that the device counts in the previous round
    squeeze: bool = False
    overtaken: bool = False  # the next round has begun: the bets of players without an answer stay in play
    continuity: RoundContinuity = PROVEN
    published: Published = Published()

    def at(self, *where: Where) -> tuple[CardEntry, ...]:
        return tuple([each for each in self.cards if each.where in where])

    @Lazy
    def order(self) -> tuple[CardEntry, ...]:
        placed = [each for each in self.cards if each.where is Where.PLACED]
        if len(placed) > 1:
            placed.sort(key=left_at)
        return tuple(placed)

    @Lazy
    def waiting(self) -> tuple[CardEntry, ...]:
        return self.at(Where.WAITING)

    @property
    def drawn(self) -> tuple[CardEntry, ...]:
        """All cards that left the shoe for the round, as a question lists them; waiting cards are the last ones."""
        return (*self.order, *self.waiting)

    @property
    def left_over(self) -> tuple[CardEntry, ...]:
        left = [each for each in self.at(Where.LEFT_OVER) if each.id not in self.foreign]
        return tuple([each for each in left if each.face is not None])

    @property
    def foreign(self) -> frozenset[int]:
        """The ids of the cards that a person reported as foreign. A foreign card serves in no round (C 5.5.1)."""
        named = [
            each for each in self.matters if each.kind is Kind.FOREIGN_CARD and each.status is not Status.WITHDRAWN
        ]
        return frozenset([card for each in named for card in each.cards])

    @property
    def carried(self) -> int:
        """The number of cards in the order that were left over from the previous round."""
        return sum(each.where is Where.PLACED and each.source is Source.CARRIED for each in self.cards)

    @property
    def last_id(self) -> int:
        return len(self.cards)

    @property
    def last_place(self) -> int:
        return max((each.place for each in self.cards), default=0)

    @property
    def last_matter(self) -> int:
        return max((each.id for each in self.matters), default=self.earlier_matters)

    @property
    def last_drawn(self) -> int:
        """The id of the last card that left the shoe for this round; 0: none."""
        return max(((each.left_at, each.id) for each in self.at(Where.PLACED, Where.WAITING)), default=(0, 0))[1]

    @property
    def last_placed(self) -> int:
        return max(((each.left_at, each.id) for each in self.at(Where.PLACED)), default=(0, 0))[1]

    @property
    def voided_by(self) -> Author | None:
        """The person who voided the round by command."""
        return next((each.by for each in self.decisions if not each.matter), None)

    @property
    def result_is_early(self) -> bool:
        """Whether a result was reported before the last card due, and no earlier report waits."""
        return self.early is not None and all(each.id > self.early.after for each in self.waiting)

    def card(self, card_id: int) -> CardEntry:
        return self.cards[card_id - 1]

    def ordinal(self, card_id: int) -> int:
        """The position of the card in the order in which the cards of the round left the shoe."""
        if not card_id:
            return 0
        here = self.card(card_id).left_at
        return sum(each.left_at <= here for each in self.at(Where.PLACED, Where.WAITING))

    @property
    def published_away(self) -> tuple[CardEntry, ...]:
        """The published cards that were withdrawn from the round. Their indices are not used again."""
        return tuple([each for each in self.at(Where.WITHDRAWN) if each.published])

    def index(self, card_id: int) -> int:
        """The published index of the card, unique in the round."""
        here = self.card(card_id).left_at
        return self.ordinal(card_id) + sum(each.left_at < here for each in self.published_away)

    def matter(self, matter_id: int) -> Matter:
        return next(each for each in self.matters if each.id == matter_id)

    def having(self, *status: Status) -> tuple[Matter, ...]:
        return tuple([each for each in self.matters if each.status in status])

    @property
    def counted(self) -> tuple[Matter, ...]:
        """The matters of the round by number. Withdrawn matters keep their numbers; new matters have none yet."""
        if not self.matters:  # most rounds
            return ()
        certain = [each for each in self.matters if each.status is not Status.SUSPECTED]
        counted = [each for each in certain if each.number or each.status in IN_A_ROUND]
        counted.sort(key=lambda each: (each.number or len(self.matters) + 1, each.id))
        return tuple(counted)

    def faces(self, *, carried: bool) -> tuple[Card | None, ...]:
        """The faces of all cards that left the shoe for the round; `carried`: include the left-over cards."""
        drawn = self.at(Where.PLACED, Where.WAITING, Where.DEFERRED, Where.AFTER_ROUND, Where.PUT_AWAY)
        return tuple([each.face for each in drawn if carried or each.source is not Source.CARRIED])


# --- entries


def with_card(record: Record, card: CardEntry) -> Record:
    """The record with one more card. Beyond `MOST_WAITING`, a further card is in the journal only."""
    bounded = card.where in (Where.WAITING, Where.DEFERRED, Where.AFTER_ROUND)
    if bounded and len(record.at(card.where)) >= MOST_WAITING:
        return record
    place = record.last_place + 1 if card.where is Where.PLACED else 0
    return replace(record, cards=(*record.cards, replace(card, id=record.last_id + 1, place=place)))


def changed(record: Record, card: CardEntry) -> Record:
    return replace(record, cards=(*record.cards[: card.id - 1], card, *record.cards[card.id :]))


def carried_in(record: Record, card: CardEntry, where: Where) -> Record:
    """Add a card that was left over before this round."""
    carried = CardEntry(
        card.face,
        where,
        source=Source.CARRIED,
        utc_us=card.utc_us,
        row=card.row,
        sequence=card.sequence,
        measured=card.measured,
    )
    return with_card(record, carried)


def with_unseen_card(record: Record) -> Record:
    """Add a card that left the shoe before the waiting cards and was not reported."""
    return with_card(record, CardEntry(None, Where.PLACED, source=Source.PERSON))


def positioned(record: Record, card_id: int, where: Where = Where.PLACED) -> Record:
    return changed(record, replace(record.card(card_id), where=where, place=record.last_place + 1))


def placed(record: Record, card_id: int) -> Record:
    """Place the card at the end of the order. A latent matter about the card counts from now on."""
    after = positioned(record, card_id)
    for each in after.having(Status.LATENT):
        if each.by is None and each.cards == (card_id,):
            after = drawn_with(after, each, card_id)
        elif card_id in each.cards and all(after.card(one).where is not Where.WAITING for one in each.cards):
            after = with_status(after, Status.OPEN, each)
    return after


def with_matter(record: Record, *matters: Matter) -> Record:
    """The record with more matters, each under a new id."""
    if not matters:
        return record
    added = [replace(each, id=number) for number, each in enumerate(matters, 1 + record.last_matter)]
    return replace(record, matters=(*record.matters, *added))


def with_changed(record: Record, *matters: Matter) -> Record:
    if not matters:
        return record
    after = {each.id: each for each in matters}
    return replace(record, matters=tuple([after.get(each.id, each) for each in record.matters]))


def with_status(record: Record, status: Status, *matters: Matter) -> Record:
    return with_changed(record, *(moved(each, status) for each in matters))


def drawn_with(record: Record, matter: Matter, last: int) -> Record:
    """Open a matter: the card `last` was drawn together with the cards before it, as far as they are of this round.

    No question of this round is about the order of its first card and the last card of the previous round.
    """
    at, drawn = record.ordinal(last), record.drawn
    first = max(record.carried + 1, at - matter.irregularity.count + 1)
    if matter.irregularity.count < TOGETHER:  # an unread card was drawn with this card, or is this card
        return with_status(record, Status.SUSPECTED, replace(matter, cards=(last,), noticed_after=last))
    irregularity = replace(matter.irregularity, count=at - first + 1)
    matter = replace(
        matter, irregularity=irregularity, cards=tuple([each.id for each in drawn[first - 1 : at]]), noticed_after=last
    )
    if first == at:
        kind = Kind.DRAWN_TOGETHER if irregularity.order_known else Kind.OTHER
        origin = "no round" if record.number == 1 else "the previous round"
        evidence = f"{matter.evidence}; the card before it is a card of {origin}"
        matter = replace(matter, irregularity=replace(irregularity, kind=kind), evidence=evidence)
    return with_status(record, Status.OPEN, matter)


def with_decision(record: Record, decided: RuleAnswer) -> Record:
    return replace(record, decisions=(*record.decisions, decided))


def excess(record: Record, card_id: int, *, back: bool | None = None) -> Record:
    """Open a matter: the card was drawn in excess. `back`: a person decided whether it serves in this round."""
    at = record.ordinal(card_id)
    report = record.card(card_id).report
    why = "no card was due in its reported place"
    if report is ReportedPlace.OVERDRAWN:
        why = "the shoe reported the card as an overdraw"
    elif report in IN_NO_HAND:
        why = f"the shoe reported the card {reported_as(report, record.card(card_id).seen)}"
    irregularity = Irregularity(Kind.CARD_IN_EXCESS, reconstructable=back)
    evidence, last = f"card {at}: {why}", record.last_placed
    matter = Matter(irregularity, Status.OPEN, evidence, cards=(card_id,), noticed_after=last)
    return with_matter(record, matter)


def corrected(record: Record, card_id: int, face: Card) -> Record:
    """Correct the face of a card.

    An answer about the order of the cards counts no longer if it named the card and another card of the same face.
    """
    before = record.card(card_id).face
    alike = {each.id for each in record.cards if each.face is before}
    decisions = [
        each
        for each in record.decisions
        if isinstance(each.choice, str) or card_id not in each.choice or len(alike & set(each.choice)) == 1
    ]
    record = replace(changed(record, replace(record.card(card_id), face=face)), decisions=tuple(decisions))
    about = [each for each in record.having(Status.SUSPECTED) if each.face is not None and each.face is before]
    carried = [each for each in record.having(Status.CARRIED_OVER) if each.cards == (card_id,) and each.face is before]
    record = with_changed(record, *(replace(each, face=face) for each in carried))
    return with_status(record, Status.WITHDRAWN, *about)


def withdrawn(record: Record, card_id: int) -> Record:
    """Withdraw the card: no such card left the shoe for this round."""
    if record.card(card_id).place:
        record = changed(record, replace(record.card(card_id), where=Where.WITHDRAWN))
    else:
        record = positioned(record, card_id, Where.WITHDRAWN)
    about = [each for each in record.having(Status.SUSPECTED) if facts(record, each).withdrawn]
    return with_status(record, Status.WITHDRAWN, *about)


def facts(record: Record, matter: Matter) -> Irregularity:
    """The irregularity of the matter, with positions for the rules. A matter whose cards are withdrawn is withdrawn."""
    live = [each for each in matter.cards if record.card(each).where is not Where.WITHDRAWN]
    of_a_card, together = matter.kind in ABOUT_A_CARD, matter.kind is Kind.DRAWN_TOGETHER
    needed = min(TOGETHER, len(matter.cards)) if together else 1
    cards_withdrawn = of_a_card and matter.cards != () and len(live) < needed
    first = live if of_a_card else matter.cards
    meant = [record.card(each).face for each in matter.meant if each in live]
    return replace(
        matter.irregularity,
        at=record.ordinal(first[0]) if first else matter.irregularity.at,
        noticed_at=record.ordinal(matter.noticed_after) or matter.irregularity.noticed_at,
        count=len(live) if together and len(matter.cards) > 1 else matter.irregularity.count,
        order=tuple([face for face in meant if face is not None]),
        other=record.ordinal(live[1]) if matter.kind is Kind.WRONG_SIDE and len(live) > 1 else 0,
        withdrawn=cards_withdrawn or matter.status is Status.WITHDRAWN,
    )
