"""From an answer to the next record, and what a round leaves behind when it ends."""

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Author
from shoed.rules.book import Then
from shoed.rules.irregular import Happened
from shoed.rules.questions import Ask, Choice
from shoed.table.asking import FOREIGN, NO_CARD, OUTLIVES, Asked, Doubt, goes_on
from shoed.table.assess import House, Standing
from shoed.table.matters import Matter, Status
from shoed.table.phase import Phase
from shoed.table.readings import Reading, read, unheard, with_unread
from shoed.table.record import (
    CardEntry,
    Decided,
    Record,
    Source,
    Where,
    carried_in,
    corrected,
    facts,
    positioned,
    with_card,
    with_matter,
    with_status,
    withdrawn,
)
from shoed.words import Event as Kind


def open_questions(house: House, found: Standing) -> tuple[Asked, ...]:
    """All open questions: those that hold the round go first, then the one that holds the next round."""
    between = [goes_on(house.book, each) for each in found.record.having(Status.CARRIED_OVER)[:1]]
    holding = [each for each in found.questions if each.holds]
    return (*holding, *between, *(each for each in found.questions if not each.holds))


def choose(record: Record, asked: Asked, choice: str | tuple[str, ...], by: Author, bettor: str | None) -> Record:
    """The record with an answer that fits the question."""
    match asked.ask:
        case Doubt.FACE:
            return faced(record, asked, choice, by)
        case Doubt.CONFIRM:
            return confirmed(record, record.having(Status.SUSPECTED)[0], by, yes=choice == Choice.YES.value)
        case Doubt.READING:
            return read(record, Reading(choice))
        case Ask.NEXT_ROUND:
            return gone_on(record, asked, choice)
        case Ask():
            given = choice if isinstance(choice, str) else as_ids(record, asked, choice)
            decided = Decided(asked.ask, given, by, asked.matter or 0, bettor or asked.bettor, asked.bet)
            return replace(record, decisions=(*record.decisions, decided))
        case _:
            assert_never(asked.ask)


def as_ids(record: Record, asked: Asked, faces: Iterable[str]) -> tuple[int, ...]:
    """The cards in the order of these faces."""
    cards = [record.card(each) for each in record.matter(asked.matter or 0).cards]
    ids: list[int] = []
    for face in faces:
        ids.append(next(each.id for each in cards if str(each.face) == face and each.id not in ids))
    return tuple(ids)


def faced(record: Record, asked: Asked, choice: str | tuple[str, ...], by: Author) -> Record:
    index = asked.index or 0
    card = record.order[index - 1]
    if choice == NO_CARD:
        return withdrawn(record, card.id)
    if choice == FOREIGN:
        what = Happened(Kind.FOREIGN_CARD, 0, 0)
        evidence = f"card {index} is none of the set"
        return with_matter(record, Matter(0, what, Status.OPEN, evidence, by, 0, (card.id,), record.last_placed))
    return corrected(record, card.id, Card.parse(str(choice)))


def confirmed(record: Record, matter: Matter, by: Author, *, yes: bool) -> Record:
    if not yes:
        return with_status(record, matter, Status.WITHDRAWN)
    if matter.kind is Kind.DRAWN_TOGETHER and matter.what.count == 1:  # with a card that passed unread
        record = with_card(record, CardEntry(0, None, Where.LYING, Source.PERSON))
        record = positioned(record, record.last_id)
        matter = with_unread(record, matter)
    return with_status(record, replace(matter, by=by), Status.OPEN)


def gone_on(record: Record, asked: Asked, choice: str | tuple[str, ...]) -> Record:
    """What was found between two rounds, or outlived its round, is decided."""
    matter = record.matter(asked.matter or 0)
    record = with_status(record, matter, Status.DECIDED)
    if choice != Reading.CARRIED.value:
        return record
    return carried_in(record, matter.face, Where.PLACED if matter.status is Status.HOLDING else Where.LYING)


# --- the end of a round


def linger(record: Record, undecided: Iterable[Matter]) -> Record:
    """The doubts that are still open outlive the round, one of each kind."""
    doubts = (*open_doubts(record), *undecided)
    first: dict[Kind, Matter] = {}
    for each in doubts:
        first.setdefault(each.kind, each)
    for each in doubts:
        if first[each.kind] is not each:
            record = with_status(record, each, Status.WITHDRAWN)
        elif each.status is not Status.LINGERING:
            record = with_status(record, each, Status.LINGERING)
    return record


def open_doubts(record: Record) -> tuple[Matter, ...]:
    return (*record.having(Status.LINGERING), *record.having(Status.HOLDING), *record.having(Status.SUSPECTED))


def outliving(found: Standing) -> tuple[Matter, ...]:
    """What a round that is over leaves open."""
    record = found.record
    open_now = {each.matter for each in found.questions if each.ask in OUTLIVES} if record.published.complete else ()
    undecided = [each for each in record.counted if each.id in open_now]
    after = linger(record, undecided)
    doubts = [after.matter(each.id) for each in (*open_doubts(record), *undecided)]
    return tuple([each for each in doubts if each.status is Status.LINGERING])


def after_round(face: Card | None, evidence: str) -> Matter:
    """C 5.7: a card that follows a round which is over: a person decides where it serves."""
    what = Happened(Kind.CARD_IN_EXCESS, 0, 0, between_rounds=True)
    return Matter(0, what, Status.CARRIED_OVER, f"{face or 'a card without a face'} {evidence}", face=face)


def not_placed(found: Standing) -> tuple[Matter, ...]:
    """Cards after a complete round whose place is not decided."""
    record = found.record
    if not record.published.complete or found.course.void is not None:
        return ()
    asked = {each.matter for each in found.questions if each.ask is Ask.RECONSTRUCTABLE}
    in_excess = [
        record.card(each.cards[0]) for each in record.counted if each.id in asked and each.kind is Kind.CARD_IN_EXCESS
    ]
    evidence = f"came behind round {record.number}"
    left = (*in_excess, *record.at(Where.PUT_BY), *record.waiting)
    return tuple(after_round(each.face, evidence) for each in left)


def left_by_void(record: Record, found: Standing) -> tuple[Matter, ...]:
    """Cards that were to open the next round, or whose place was not decided: a person decides whether they do."""
    ruling, complete = found.course.void, record.published.complete
    if ruling is None or record.published.voided is not None:
        return ()
    left = [each.face for each in (*record.at(Where.PUT_BY), *(record.waiting if complete else ()))]
    if any(each.then is Then.RECONSTRUCT_OR_CARRY for each in found.rulings):
        left = [*found.course.carried, *left]
    elif complete:
        known = {ruling.irregularity, *(each.matter for each in record.decisions)}
        in_excess = [
            record.card(each.cards[0]).face
            for each in record.counted
            if each.kind is Kind.CARD_IN_EXCESS and each.id not in known and not facts(record, each).withdrawn
        ]
        left = [*in_excess, *left]
    return tuple(after_round(face, f"was left over by round {record.number}, which is void") for face in left)


def renewed(record: Record) -> bool:
    """C 5.10.2: whether a person decided that the shoe gets a new set of cards."""
    return any(each.ask is Ask.SET_REPLACED and each.choice == Choice.YES.value for each in record.decisions)


def renewal(record: Record) -> tuple[Matter, ...]:
    """What then holds the next round, as long as no new set is in the shoe."""
    evidence = f"a new set was to come after round {record.number}, and none is told"
    what = Happened(Kind.SET_REPLACED, 0, 0, between_rounds=True)
    return (Matter(0, what, Status.CARRIED_OVER, evidence),) if renewed(record) else ()


def begun(found: Standing) -> Record:
    """The next round, if the cards that wait are of that one: its first card was missed, unless some were left over."""
    record = found.record
    left = (*found.course.carried, *record.lying)
    after = Record(record.shoe, record.number + 1, play=Phase.DEALING)
    for face in left:
        after = carried_in(after, face, Where.PLACED)
    if not left:
        after = unheard(after, record.waiting[0])
    after = with_waiting(after, record)
    for each in (*record.having(Status.CARRIED_OVER), *renewal(record)):
        after = with_matter(after, replace(each, status=Status.HOLDING))
    return after


def with_waiting(after: Record, before: Record) -> Record:
    """The cards that waited in another round wait in this one, with what was noticed of them."""
    for card in before.waiting:
        after = with_card(after, card)
        for each in before.having(Status.LATENT):
            if each.cards == (card.id,):
                after = with_matter(after, replace(each, cards=(after.last_id,)))
    return after
