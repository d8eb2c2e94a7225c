"""The record of a round: its cards and matters, append-only, each with an id that never changes.

A card has the id of its position on the record, from 1. Where a card is (waiting, placed, put by, withdrawn) is a field
of the card, and nothing is moved or removed. `Record.order` is the order in which the placed cards left the shoe; a
position in it is for rules and people, never a reference.
"""

from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Author
from shoed.events import Measured, Result, Seen
from shoed.rules.irregular import OF_A_CARD, Happened, Ruling
from shoed.rules.questions import Ask
from shoed.table.continuity import PROVEN, Continuity
from shoed.table.matters import IN_A_ROUND, Matter, Status, moved
from shoed.table.phase import Phase
from shoed.words import Event as Kind

MOST_WAITING: Final = 16  # more cards than a round has: a further one is in the journal only
TOGETHER: Final = 2  # cards, at least


class Where(Enum):
    WAITING = "waiting"  # until the rules or a person decide what it is
    PLACED = "placed"  # it has its place in the order
    PUT_BY = "put-by"  # an overdraw: decided once the round has its cards
    LYING = "lying"  # left over before this round: placed with its first card
    NEXT_ROUND = "next-round"  # it was of the next round
    KEPT = "kept"  # it left the shoe after the bets were paid: it may serve if a correction makes a card due
    PUT_AWAY = "put-away"  # it left the shoe, and serves no round
    WITHDRAWN = "withdrawn"  # there was no such card


class Source(Enum):
    """Who says that the card left the shoe."""

    DEVICE = "device"
    PERSON = "person"
    CARRIED = "carried"  # left over from the round before


class Report(Enum):
    """What the device reported of the card."""

    SLOT = "slot"  # its hand and position
    UNNAMED = "unnamed"  # the device names no hand: the card is the one that is due
    OVERDRAWN = "overdrawn"  # the device says that it is the card of an overdraw
    BURNT = "burnt"  # in no hand
    LOCKED = "locked"  # in no hand, while the shoe was locked
    IN_ERROR = "in-error"  # in no hand, while the shoe was in error
    UNKNOWN = "unknown"  # in no hand, with a value that names no place
    NONE = "none"


IN_NO_HAND: Final = frozenset({Report.BURNT, Report.LOCKED, Report.IN_ERROR, Report.UNKNOWN})


def reported_as(report: Report, seen: Seen) -> str:
    """How the device reported a card that has no slot."""
    if report is Report.UNKNOWN:
        return f"with the unknown {seen.unknown or 'place'}"
    return f"as {report.value} for {seen.target}" if seen.target else f"as {report.value}"


class CardEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    face: Card | None  # None: not known yet
    where: Where
    id: int = 0  # 0: not on the record yet
    source: Source = Source.DEVICE
    report: Report = Report.NONE
    place: int = 0  # grows in the order in which the cards left the shoe; 0: none yet
    seen: Seen = Seen()  # as the device reported it
    utc_us: int = 0
    row: int = 0  # of the journal, with its bytes
    sequence: int = 0  # of the event that published it
    after_loss: bool = False  # reports were lost directly before it
    repeated: bool = False  # an overdraw with the face of the card before it, which was due
    published: bool = False  # its place was published
    measured: Measured | None = None

    @property
    def left_at(self) -> tuple[int, int]:
        """Sorts the cards in the order in which they left the shoe."""
        if not self.place:
            return 2, self.id
        return int(self.source is not Source.CARRIED), self.place

    @property
    def in_no_slot(self) -> bool:
        """The device reported a card without its slot: there may have been none."""
        return self.report is Report.UNNAMED or (self.row > 0 and self.seen.card is None and self.seen.hand is None)


class Decided(msgspec.Struct, frozen=True):
    """The answer to a question of the rules."""

    ask: Ask
    choice: str | tuple[int, ...]  # a word, or the ids of cards in order
    by: Author
    matter: int  # 0: a void of the round without a matter
    bettor: str | None = None
    bet: str | None = None


class EarlyResult(msgspec.Struct, frozen=True):
    """A result that the device gave before the last card due."""

    result: Result
    after: int  # the id of the last card on the record


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """What subscribers know of the round."""

    complete: bool = False  # every card due was drawn, whatever followed
    settled: int = 0  # the event that published how its bets are paid
    voided: Ruling | None = None  # nothing makes it another round any more
    accounted: int = 0  # the last event that published hands which differ from their cards
    theirs: Result | None = None  # the device's result, before a correction took the end of the round away


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    shoe: int = 0
    number: int = 0  # in its shoe, from 1; 0: none yet
    game: str = ""  # the book by which it is played, whatever the table is set to meanwhile
    announced: bool = False
    play: Phase = Phase.IDLE  # betting, closed, then dealing; also while the round waits
    cards: tuple[CardEntry, ...] = ()
    matters: tuple[Matter, ...] = ()
    given: int = 0  # ids of matters before this round
    decisions: tuple[Decided, ...] = ()
    early: EarlyResult | None = None
    shift: int = 0  # so many cards left over from the round before are counted by the device to that round
    squeeze: bool = False
    overtaken: bool = False  # the next round has begun: players who have not chosen play on
    continuity: Continuity = PROVEN
    published: Published = Published()

    def at(self, *where: Where) -> tuple[CardEntry, ...]:
        return tuple([each for each in self.cards if each.where in where])

    @property
    def order(self) -> tuple[CardEntry, ...]:
        placed = [each for each in self.cards if each.where is Where.PLACED]
        placed.sort(key=lambda each: each.left_at)
        return tuple(placed)

    @property
    def waiting(self) -> tuple[CardEntry, ...]:
        return self.at(Where.WAITING)

    @property
    def drawn(self) -> tuple[CardEntry, ...]:
        """All cards that left the shoe for it, as a question lists them: those that wait have no place yet."""
        return (*self.order, *self.waiting)

    @property
    def lying(self) -> tuple[CardEntry, ...]:
        there = [each for each in self.at(Where.LYING) if each.id not in self.foreign]
        return tuple([each for each in there if each.face is not None])

    @property
    def foreign(self) -> frozenset[int]:
        """The ids of the cards that a person named foreign: none of them serves in a round (C 5.5.1)."""
        named = [
            each for each in self.matters if each.kind is Kind.FOREIGN_CARD and each.status is not Status.WITHDRAWN
        ]
        return frozenset([card for each in named for card in each.cards])

    @property
    def carried(self) -> int:
        """So many cards of the order were left over from the round before."""
        return sum(each.where is Where.PLACED and each.source is Source.CARRIED for each in self.cards)

    @property
    def last_id(self) -> int:
        return len(self.cards)

    @property
    def last_place(self) -> int:
        return max((each.place for each in self.cards), default=0)

    @property
    def last_matter(self) -> int:
        return max((each.id for each in self.matters), default=self.given)

    @property
    def last_drawn(self) -> int:
        """The id of the last card that left the shoe for this round; 0: none."""
        return max(((each.left_at, each.id) for each in self.at(Where.PLACED, Where.WAITING)), default=(0, 0))[1]

    @property
    def last_placed(self) -> int:
        return max(((each.left_at, each.id) for each in self.at(Where.PLACED)), default=(0, 0))[1]

    @property
    def voided_by(self) -> Author | None:
        """A person voided it, with no other ground."""
        return next((each.by for each in self.decisions if not each.matter), None)

    @property
    def result_is_early(self) -> bool:
        """A result came before the last card due, and no card waits that was reported before it."""
        return self.early is not None and all(each.id > self.early.after for each in self.waiting)

    def card(self, card_id: int) -> CardEntry:
        return self.cards[card_id - 1]

    def ordinal(self, card_id: int) -> int:
        """How many cards had left the shoe with this one."""
        if not card_id:
            return 0
        here = self.card(card_id).left_at
        return sum(each.left_at <= here for each in self.at(Where.PLACED, Where.WAITING))

    @property
    def published_away(self) -> tuple[CardEntry, ...]:
        """The cards that were published and are not cards of the round: their indices are not used again."""
        return tuple([each for each in self.at(Where.WITHDRAWN) if each.published])

    def index(self, card_id: int) -> int:
        """Unique in the round, under which the card is published."""
        here = self.card(card_id).left_at
        return self.ordinal(card_id) + sum(each.left_at < here for each in self.published_away)

    def matter(self, matter_id: int) -> Matter:
        return next(each for each in self.matters if each.id == matter_id)

    def having(self, *status: Status) -> tuple[Matter, ...]:
        return tuple([each for each in self.matters if each.status in status])

    @property
    def counted(self) -> tuple[Matter, ...]:
        """The matters of the round, by their numbers; withdrawn ones keep theirs, new ones have none yet."""
        there = [each for each in self.matters if each.status is not Status.SUSPECTED]
        counted = [each for each in there if each.number or each.status in IN_A_ROUND]
        counted.sort(key=lambda each: (each.number or len(self.matters) + 1, each.id))
        return tuple(counted)

    def faces(self, *, carried: bool) -> tuple[Card | None, ...]:
        """The faces of all cards that left the shoe for it; `carried`: and of those that the round before left over."""
        there = self.at(Where.PLACED, Where.WAITING, Where.PUT_BY, Where.KEPT, Where.PUT_AWAY)
        return tuple([each.face for each in there if carried or each.source is not Source.CARRIED])


# --- entries


def with_card(record: Record, card: CardEntry) -> Record:
    """The record with one more card; of too many that wait, a further one is in the journal only."""
    bounded = card.where in (Where.WAITING, Where.PUT_BY, Where.KEPT)
    if bounded and len(record.at(card.where)) >= MOST_WAITING:
        return record
    place = record.last_place + 1 if card.where is Where.PLACED else 0
    return replace(record, cards=(*record.cards, replace(card, id=record.last_id + 1, place=place)))


def changed(record: Record, card: CardEntry) -> Record:
    return replace(record, cards=(*record.cards[: card.id - 1], card, *record.cards[card.id :]))


def carried_in(record: Record, card: CardEntry, where: Where) -> Record:
    """A card that was left over before this round."""
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


def unseen(record: Record) -> Record:
    """A card that left the shoe before those that wait, and that was not reported."""
    return with_card(record, CardEntry(None, Where.PLACED, source=Source.PERSON))


def positioned(record: Record, card_id: int, where: Where = Where.PLACED) -> Record:
    return changed(record, replace(record.card(card_id), where=where, place=record.last_place + 1))


def placed(record: Record, card_id: int) -> Record:
    """The next card in the order is this one. A matter that waited for its place counts from now on."""
    after = positioned(record, card_id)
    for each in after.having(Status.LATENT):
        if each.by is None and each.cards == (card_id,):
            after = drawn_with(after, each, card_id)
        elif card_id in each.cards and all(after.card(one).where is not Where.WAITING for one in each.cards):
            after = with_status(after, Status.OPEN, each)
    return after


def with_matter(record: Record, *matters: Matter) -> Record:
    """The record with more matters, each under an id of its own."""
    added = [replace(each, id=given) for given, each in enumerate(matters, 1 + record.last_matter)]
    return replace(record, matters=(*record.matters, *added))


def with_changed(record: Record, *matters: Matter) -> Record:
    after = {each.id: each for each in matters}
    return replace(record, matters=tuple([after.get(each.id, each) for each in record.matters]))


def with_status(record: Record, status: Status, *matters: Matter) -> Record:
    return with_changed(record, *(moved(each, status) for each in matters))


def drawn_with(record: Record, matter: Matter, last: int) -> Record:
    """The card with the id `last` was drawn together with those before it, as far as they are of this round.

    The order of a card and the last card of the round before is in no question of this round.
    """
    at, drawn = record.ordinal(last), record.drawn
    first = max(record.carried + 1, at - matter.what.count + 1)
    if matter.what.count < TOGETHER:  # with a card that could not be read, or it is that card
        return with_status(record, Status.SUSPECTED, replace(matter, cards=(last,), noticed_after=last))
    what = replace(matter.what, count=at - first + 1)
    matter = replace(matter, what=what, cards=tuple([each.id for each in drawn[first - 1 : at]]), noticed_after=last)
    if first == at:
        kind = Kind.DRAWN_TOGETHER if what.order_known else Kind.OTHER
        of = "of no round" if record.number == 1 else "of the round before"
        evidence = f"{matter.evidence}; the one before it was {of}"
        matter = replace(matter, what=replace(what, event=kind), evidence=evidence)
    return with_status(record, Status.OPEN, matter)


def with_decision(record: Record, decided: Decided) -> Record:
    return replace(record, decisions=(*record.decisions, decided))


def excess(record: Record, card_id: int, *, back: bool | None = None) -> Record:
    """The card was drawn in excess; `back`: a person says whether it serves this round."""
    at = record.ordinal(card_id)
    report = record.card(card_id).report
    why = "no card was due where it was reported"
    if report is Report.OVERDRAWN:
        why = "the shoe says that it was overdrawn"
    elif report in IN_NO_HAND:
        why = f"the shoe reported it {reported_as(report, record.card(card_id).seen)}"
    what = Happened(Kind.CARD_IN_EXCESS, reconstructable=back)
    evidence, last = f"card {at}: {why}", record.last_placed
    matter = Matter(what, Status.OPEN, evidence, cards=(card_id,), noticed_after=last)
    return with_matter(record, matter)


def corrected(record: Record, card_id: int, face: Card) -> Record:
    """The face of a card is another one. Which of two like cards was put first is then not known any more."""
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
    """There was no such card in this round."""
    if record.card(card_id).place:
        record = changed(record, replace(record.card(card_id), where=Where.WITHDRAWN))
    else:
        record = positioned(record, card_id, Where.WITHDRAWN)
    about = [each for each in record.having(Status.SUSPECTED) if facts(record, each).withdrawn]
    return with_status(record, Status.WITHDRAWN, *about)


def facts(record: Record, matter: Matter) -> Happened:
    """The matter with its positions, as the rules have it. Without its cards, what was said of them did not happen."""
    live = [each for each in matter.cards if record.card(each).where is not Where.WITHDRAWN]
    of_a_card, together = matter.kind in OF_A_CARD, matter.kind is Kind.DRAWN_TOGETHER
    needed = min(TOGETHER, len(matter.cards)) if together else 1
    gone = of_a_card and matter.cards != () and len(live) < needed
    first = live if of_a_card else matter.cards
    meant = [record.card(each).face for each in matter.meant if each in live]
    return replace(
        matter.what,
        at=record.ordinal(first[0]) if first else matter.what.at,
        noticed_at=record.ordinal(matter.noticed_after) or matter.what.noticed_at,
        count=len(live) if together and len(matter.cards) > 1 else matter.what.count,
        order=tuple([face for face in meant if face is not None]),
        other=record.ordinal(live[1]) if matter.kind is Kind.WRONG_SIDE and len(live) > 1 else 0,
        withdrawn=gone or matter.status is Status.WITHDRAWN,
    )
