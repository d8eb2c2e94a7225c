"""From an answer to the next record, and the questions and matters that remain after the end of a round."""

from collections.abc import Iterable
from typing import Final, NamedTuple, assert_never

from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.book import Then
from shoed.rules.irregular import Irregularity
from shoed.rules.questions import Ask, Choice
from shoed.table.asking import FOREIGN, NO_CARD, OUTLIVES, RecordAsk, RoundQuestion, Topic, next_round_question, topic
from shoed.table.assess import House, Standing, house_of, judge
from shoed.table.matters import Aside, Confirmation, Matter, Status
from shoed.table.readings import Reading, read, with_missed_card, with_unread
from shoed.table.record import (
    CardEntry,
    Record,
    ReportedPlace,
    RuleAnswer,
    Where,
    carried_in,
    changed,
    corrected,
    facts,
    with_card,
    with_decision,
    with_matter,
    with_status,
    with_unseen_card,
    withdrawn,
)
from shoed.table.state import Past, TableState

OF_A_NEW_SET: Final = (Kind.SET_REPLACED, Kind.TOO_FEW_CARDS)  # these wait for a new set of cards


class Listed(NamedTuple):
    """An open question, with the standing of its round."""

    asked: RoundQuestion
    found: Standing
    past: Past | None = None

    @property
    def topic(self) -> Topic:
        return topic(self.asked, self.found.record)

    @property
    def matter(self) -> Matter | None:
        return None if self.asked.matter is None else self.found.record.matter(self.asked.matter)

    @property
    def holds_the_next(self) -> bool:
        """Whether the question is about a matter that holds the next round, not the open round."""
        return self.matter is not None and self.matter.status is Status.CARRIED_OVER


def open_questions(game: str, state: TableState, found: Standing, *, insurance: bool) -> list[Listed]:
    """All open questions: those that hold the open round, those that hold the next round, then all others."""
    listed = [Listed(each, found) for each in found.questions if each.holds]
    house = house_of(game, found.record, insurance=insurance)
    carried = found.record.having(Status.CARRIED_OVER)
    listed += [Listed(next_round_question(house.book, found.record, each), found) for each in carried]
    for past in state.past:
        if past.topics:
            listed += still_open(house_of(game, past.record, insurance=insurance), past)
    return listed + [Listed(each, found) for each in found.questions if not each.holds]


def still_open(house: House, past: Past) -> list[Listed]:
    return [each for each in outliving(house, past) if each.topic in past.topics]


def outliving(house: House, past: Past) -> list[Listed]:
    """The questions that stay open after the end of a round. Play does not wait for their answers."""
    found = judge(house, replace(past.record, overtaken=False))
    # In a paid round the bets of players without an answer stayed in play.
    open_on = OUTLIVES if past.completed is None else OUTLIVES - {Ask.OPTION}
    return [Listed(replace(each, optional=True), found, past) for each in found.questions if each.ask in open_on]


def choose(
    record: Record, asked: RoundQuestion, choice: str | tuple[str, ...], by: Author, bettor: str | None
) -> Record:
    """The record with an answer that is valid for the question."""
    match asked.ask:
        case RecordAsk.FACE:
            return with_face(record, asked, choice, by)
        case RecordAsk.CONFIRM:
            return with_confirmation(record, record.matter(asked.matter or 0), by, yes=choice == Choice.YES.value)
        case RecordAsk.READING | RecordAsk.GAP:
            return read(record, Reading(choice))
        case RecordAsk.RESTART:  # the shoe is the cut shoe
            return replace(record, continuity=replace(record.continuity, restarted=None))
        case Ask.NEXT_ROUND:
            return close_matter(record, asked, choice)
        case Ask():
            given = choice if isinstance(choice, str) else as_ids(record, asked, choice)
            decided = RuleAnswer(asked.ask, given, by, asked.matter or 0, bettor or asked.bettor, asked.bet)
            return with_decision(record, decided)
        case _:
            assert_never(asked.ask)


def as_ids(record: Record, asked: RoundQuestion, faces: Iterable[str]) -> tuple[int, ...]:
    """The ids of the cards in the order of these faces. Of two cards with one face, a card of the matter is first."""
    cards = [*(record.card(each) for each in record.matter(asked.matter or 0).cards), *record.order]
    ids: list[int] = []
    for face in faces:
        ids.append(next(each.id for each in cards if str(each.face) == face and each.id not in ids))
    return tuple(ids)


def with_face(record: Record, asked: RoundQuestion, choice: str | tuple[str, ...], by: Author) -> Record:
    card, index = record.card(asked.card or 0), asked.index
    if choice == NO_CARD:
        return withdrawn(record, card.id)
    if choice == FOREIGN:
        irregularity = Irregularity(Kind.FOREIGN_CARD)
        evidence = f"card {index} does not belong to the set"
        return with_matter(
            record, Matter(irregularity, Status.OPEN, evidence, by, cards=(card.id,), noticed_after=record.last_placed)
        )
    return corrected(record, card.id, Card.parse(str(choice)))


def with_confirmation(record: Record, matter: Matter, by: Author, *, yes: bool) -> Record:
    if not yes:
        return with_status(record, Status.WITHDRAWN, replace(matter, confirmation=Confirmation.DENIED))
    if matter.kind is Kind.DRAWN_TOGETHER and matter.irregularity.count == 1:  # drawn together with an unread card
        record = with_unseen_card(record)
        matter = with_unread(record, matter)
    return with_status(record, Status.OPEN, replace(matter, by=by, confirmation=Confirmation.GIVEN))


def close_matter(record: Record, asked: RoundQuestion, choice: str | tuple[str, ...]) -> Record:
    """The record after the decision on a matter that was found between two rounds."""
    matter = record.matter(asked.matter or 0)
    record = with_status(record, Status.DECIDED, matter)
    if choice != Reading.CARRIED.value:
        return record
    aside = matter.aside or Aside(0, 0)
    card = CardEntry(matter.face, Where.LEFT_OVER, row=aside.row, sequence=aside.sequence, measured=aside.measured)
    return carried_in(record, card, Where.PLACED if matter.status is Status.HOLDING else Where.LEFT_OVER)


def with_late_card(house: House, record: Record) -> Record:
    """C 5.7: the record in which a card drawn after the payment serves, if a correction makes a card due."""
    if judge(house, record).course.due is None:
        return record
    for each in record.at(Where.AFTER_ROUND):
        matter = next((found for found in record.matters if found.cards == (each.id,)), None)
        opens = next((card for card in record.at(Where.LEFT_OVER) if card.face is each.face), None)
        if matter is not None and matter.status is Status.CARRIED_OVER:
            record = with_status(record, Status.WITHDRAWN, matter)
        elif opens is not None:  # a person decided that the card opens the next round
            record = withdrawn(record, opens.id)
        else:
            continue
        record = changed(record, replace(each, where=Where.WAITING))
    return record


# --- the end of a round


def after_round(card: CardEntry, evidence: str) -> Matter:
    """C 5.7: the matter of a card that left the shoe after the end of a round. A person decides its round."""
    irregularity = Irregularity(Kind.CARD_IN_EXCESS, between_rounds=True)
    evidence = f"{card.face or 'a card without a face'} {evidence}"
    cards = (card.id,) if card.id else ()
    aside = Aside(card.sequence, card.row, card.measured)
    return Matter(irregularity, Status.CARRIED_OVER, evidence, cards=cards, face=card.face, aside=aside)


def left_by_void(record: Record, found: Standing) -> tuple[Matter, ...]:
    """The matters of the cards left over by a void round. A person decides whether each card opens the next round."""
    ruling, complete = found.course.void, record.published.complete
    if ruling is None or record.published.voided is not None:
        return ()
    left = [*record.at(Where.DEFERRED), *(record.waiting if complete else ())]
    if any(each.then is Then.RECONSTRUCT_OR_CARRY for each in found.rulings):
        left = [*found.carried, *left]
    elif complete:
        known = {ruling.irregularity, *(each.matter for each in record.decisions)}
        in_excess = [
            record.card(each.cards[0])
            for each in record.counted
            if each.kind is Kind.CARD_IN_EXCESS and each.id not in known and not facts(record, each).withdrawn
        ]
        left = [*in_excess, *left]
    evidence = f"was left over by round {record.number}, which is void"
    return tuple([after_round(each, evidence) for each in left if each.id not in record.foreign])


def renewed(record: Record) -> bool:
    """C 5.10.2: whether a person decided that the shoe gets a new set of cards."""
    return any(each.ask is Ask.SET_REPLACED and each.choice == Choice.YES.value for each in record.decisions)


def renewal(record: Record) -> tuple[Matter, ...]:
    """The matter that holds the next round until the new set is in the shoe."""
    evidence = f"a new set was due after round {record.number}, and no new shoe was announced"
    irregularity = Irregularity(Kind.SET_REPLACED, between_rounds=True)
    return (Matter(irregularity, Status.CARRIED_OVER, evidence),) if renewed(record) else ()


def begun(found: Standing, against: Iterable[Matter], *, new_shoe: bool = False) -> Record:
    """The next round with the waiting cards. Its first card was missed, unless cards were left over."""
    record = found.record
    left = () if new_shoe else (*found.carried, *record.left_over)
    held_by = over_a_new_shoe(record) if new_shoe else (*record.having(Status.CARRIED_OVER), *renewal(record))
    holding = [replace(each, status=Status.HOLDING) for each in held_by]
    after = Record(number=1 if new_shoe else record.number + 1)
    for each in left:
        after = carried_in(after, each, Where.PLACED)
    if not left:
        after = with_missed_card(after, record.waiting[0], holding)
    return with_matter(with_waiting(after, record), *holding, *against)


def over_a_new_shoe(record: Record) -> tuple[Matter, ...]:
    """The matters that hold the first round of a new shoe. A new set decides some matters and adds its own."""
    carried = [replace(each, face=None) for each in record.having(Status.CARRIED_OVER) if each.kind not in OF_A_NEW_SET]
    of_the_set = [each for each in record.having(Status.LATENT) if each.irregularity.between_rounds]
    return (*carried, *(replace(each, status=Status.CARRIED_OVER) for each in of_the_set))


def with_waiting(after: Record, before: Record) -> Record:
    """The waiting cards of the earlier round wait in this round, with their latent matters."""
    for card in before.waiting:
        of_this_round = card is before.waiting[0] and card.report is not ReportedPlace.UNNAMED
        after = with_card(after, replace(card, after_loss=card.after_loss and not of_this_round))
        for each in before.having(Status.LATENT):
            if each.cards == (card.id,):
                after = with_matter(after, replace(each, cards=(after.last_id,), noticed_after=after.last_id))
    return after
