"""The standing of a round: a pure function of the rule book and the record.

Theory of operation: `assess` places waiting cards until a person has to decide. It infers matters from the cards, asks
the rules, and lists the open questions. The result is a Standing with the changed record. A second assessment of that
record changes nothing.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.events import ReturnedBets, Slot
from shoed.model.irregularities import PLAYER, Stage
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.book import RuleBook, Then
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, Hands
from shoed.rules.drawing import due as due_of
from shoed.rules.insurance import waived
from shoed.rules.irregular import Course, Irregularity, RoundBets, Ruling, course, deal
from shoed.rules.load import book
from shoed.rules.neglected_insurance import InsuranceState, neglected
from shoed.rules.questions import Ask, Choice, Decision, Inquiry
from shoed.table.asking import OTHERS, RECORD, RoundQuestion, of_the_record, of_the_rules
from shoed.table.matters import IN_A_ROUND, Confirmation, Matter, Status
from shoed.table.readings import due_slot, fits, slot
from shoed.table.record import (
    CardEntry,
    Record,
    ReportedPlace,
    RuleAnswer,
    Where,
    changed,
    excess,
    facts,
    placed,
    with_status,
)

# A matter of one of these kinds explains a card that is left over.
LEFT_OVER: Final = frozenset({Kind.CARD_IN_EXCESS, Kind.CARD_EXPOSED, Kind.ORDER_ALTERED, Kind.WRONG_COUNT})


class House(msgspec.Struct, frozen=True):
    """The settings of the table that a standing depends on."""

    book: RuleBook
    insurance: bool = True


class Standing(msgspec.Struct, frozen=True):
    record: Record
    course: Course
    rulings: tuple[Ruling, ...]  # each with the id of its matter
    questions: tuple[RoundQuestion, ...]  # in the order of asking
    due: Slot | None
    returned: tuple[ReturnedBets, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the round waits for a person."""
        return any(each.holds for each in self.questions)

    @property
    def places_known(self) -> bool:
        """Whether no open question is about the place of a card."""
        return all(each.ask is Ask.OPTION for each in self.questions if each.holds)

    @property
    def left_over(self) -> tuple[Card, ...]:
        return () if self.held else tuple([each.face for each in self.carried if each.face is not None])

    @property
    def carried(self) -> tuple[CardEntry, ...]:
        """The cards that may open the next round. A card of an altered order has its face and no id."""
        order, foreign = self.record.order, [self.record.card(each) for each in self.record.foreign]
        left: list[CardEntry] = []
        for face, at in zip(self.course.carried, self.course.carried_at, strict=True):
            card = order[at - 1]
            if (card in foreign) if card.face is face else any(each.face is face for each in foreign):
                continue
            left.append(card if card.face is face else CardEntry(face, Where.LEFT_OVER))
        return tuple(left)


def house_of(game: str, record: Record, *, insurance: bool) -> House:
    """The rule book of a round is the book of the game under which the round opened."""
    return House(book(record.game or game), insurance)


def assess(house: House, record: Record, known: Standing | None = None) -> Standing:
    """`known`: a standing of this house. If it is of the same record, the record is not judged again."""
    while True:
        record = revised(house, returned_to_the_queue(record))
        found = known if known is not None and known.record is record else judge(house, record)
        after = inferred(record, found)
        if after is not record:
            record = after
            continue
        has_its_cards = bool(record.order) and found.course.due is None
        waiting = record.waiting
        # The end of a round is published before the later cards are assessed.
        if found.held or found.course.void is not None or not waiting:
            return found
        if has_its_cards and not record.published.complete:
            return found
        first = waiting[0]
        is_due = fits(record, slot(found.course.hands, found.course.due), first, found.course)
        record = placed(record, first.id)
        if not is_due:  # excess is the only reading; with several readings, `judge` asks
            record = excess(record, first.id)


def foreseen(house: House, record: Record) -> Standing:
    """The standing of the round after its end is published."""
    found = assess(house, record)
    if found.held or found.course.void is not None or found.course.due is not None:
        return found
    return assess(house, replace(found.record, published=replace(found.record.published, complete=True)))


# --- consequences without a person


def returned_to_the_queue(record: Record) -> Record:
    """The record in which deferred overdraws wait again, once the round is complete."""
    for each in record.at(Where.DEFERRED) if record.published.complete else ():
        record = changed(record, replace(each, where=Where.WAITING))
    return record


def revised(house: House, record: Record) -> Record:
    """After a correction of faces, withdraw each inferred card in excess that was due. Open the others again."""
    for each in record.counted:
        inferred_by_us = each.by is None and each.kind is Kind.CARD_IN_EXCESS
        if not inferred_by_us or record.card(each.cards[0]).where is Where.WITHDRAWN:
            continue
        was_due = is_false(house, record, each)
        if was_due is not None and was_due is not (each.status is Status.WITHDRAWN):
            record = with_status(record, Status.WITHDRAWN if was_due else Status.OPEN, each)
    return record


def is_false(house: House, record: Record, excess_matter: Matter) -> bool | None:
    """Whether this card was due at the moment of its draw. None: an earlier decision is open."""
    card = record.card(excess_matter.cards[0])
    at = record.ordinal(card.id)
    before, later = record, {each.id for each in (*record.order[at - 1 :], *record.waiting)}
    for card_id in later:
        before = changed(before, replace(before.card(card_id), where=Where.LEFT_OVER))
    others = [
        each
        if each.status not in IN_A_ROUND or (facts(record, each).at < at and later.isdisjoint(each.meant))
        else replace(each, status=Status.WITHDRAWN)
        for each in record.matters
    ]
    found = judge(house, replace(before, matters=tuple(others)))
    if found.held:
        return None
    return fits(before, slot(found.course.hands, found.course.due), card, found.course)


def inferred(record: Record, found: Standing) -> Record:
    """Return the record with the next matter that follows from the cards, or the same record without such a matter."""
    if (suspected := unconfirmed(record, found)) is not record:
        return suspected
    if found.course.void is None and not found.held:
        for at in found.course.carried_at:
            if at - 1 not in found.course.carried_at and not explained(record, at):
                return excess(record, record.order[at - 1].id)
    return ran_out(record, found)


def with_disputed_third_card(house: House, before: Standing, record: Record) -> Record:
    """Add a card in excess if Player stands after a correction, and both hands had a third card before it.

    The card of Player's third slot may be Banker's third card (READINGS, irregularities 9): a person decides.
    """
    hands = judge(house, record).course.hands
    moved = len(before.course.hands.player) == FULL_HAND > len(hands.player) and len(hands.banker) == FULL_HAND
    third = record.order[INITIAL_CARDS] if moved else None
    if third is None or third.report is not ReportedPlace.SLOT or explained(record, INITIAL_CARDS + 1):
        return record
    return excess(record, third.id)


def explained(record: Record, at: int) -> bool:
    """Whether a matter explains why this card is left over. A withdrawn card in excess counts, too."""
    card_id = record.order[at - 1].id
    for each in record.counted:
        if each.kind in LEFT_OVER and (each.status in IN_A_ROUND or each.kind is Kind.CARD_IN_EXCESS):
            of_all = each.kind in (Kind.ORDER_ALTERED, Kind.WRONG_COUNT)
            if card_id in each.cards or (of_all and facts(record, each).noticed_at >= at):
                return True
    return False


def unconfirmed(record: Record, found: Standing) -> Record:
    """The record in which an unconfirmed ground of a void is a suspicion.

    Neither the watch nor a dealer alone voids a round: a person confirms the ground first.
    """
    ruling = found.course.void
    ground = next((each for each in record.counted if ruling is not None and each.id == ruling.irregularity), None)
    if ground is None or ruling is record.published.voided:
        return record
    if ground.confirmation is Confirmation.NEEDED and not any(confirms(each, ground) for each in record.decisions):
        return with_status(record, Status.SUSPECTED, ground)
    if ground.by is not None or ground.kind is not Kind.DRAWN_TOGETHER:
        return record
    decided = {each.matter for each in record.decisions}
    if any(each.ruling is not None or each.id in decided for each in record.counted[record.counted.index(ground) :]):
        return record
    return with_status(record, Status.SUSPECTED, replace(ground, number=0))


def confirms(decided: RuleAnswer, ground: Matter) -> bool:
    """Whether this answer confirms the ground: its author has the role that confirms."""
    of_the_house = decided.matter == ground.id and decided.bettor is None
    return of_the_house and decided.by.role is not None and decided.by.role.may_decide_for(RECORD)


def ran_out(record: Record, found: Standing) -> Record:
    """C 5.5.4: a card is due, and the shoe is empty."""
    empty = next((each for each in record.having(Status.LATENT) if each.kind is Kind.TOO_FEW_CARDS), None)
    known = any(each.kind is Kind.TOO_FEW_CARDS for each in record.counted)
    lacks = record.number and found.course.due is not None and found.places_known and not record.waiting
    if empty is None or known or not lacks:
        return record
    last = record.last_placed
    return with_status(record, Status.OPEN, replace(empty, cards=(last,) if last else (), noticed_after=last))


# --- by the rules


def judge(house: House, record: Record) -> Standing:
    """The standing of the record by the rules, without changes to the record."""
    faces, counted = known(record), record.counted
    ruled_on = counted or record.decisions or record.squeeze
    if not ruled_on:  # most rounds
        hands, carried = deal(house.book, faces)
        at = tuple(range(len(hands) + 1, len(faces) + 1))
        plain = Course(hands, carried, due_of(house.book, hands), (), None, False, {}, frozenset(), at)  # noqa: FBT003
        return standing(record, plain, (), of_the_record(house.book, record, plain, []))
    inquiry = Inquiry(decisions(record, counted))
    bettors = (*named(record), OTHERS)
    irregularities = [facts(record, each) for each in counted]
    found = course(house.book, faces, irregularities, inquiry, RoundBets(bettors))
    rulings, returned = list(found.rulings), [ReturnedBets(*each) for each in found.returned.items()]
    by_rules = found.void and replace(found.void, irregularity=counted[found.void.irregularity].id)
    ground = record.published.voided or by_rules
    if ground is None and record.voided_by is not None:
        ground = Ruling(0, Then.VOID, "", None, silent=True, reading="a person of the house voided the round")
    if ground is not by_rules:
        found = replace(found, due=None, suspended=False)
        inquiry.open[:] = [each for each in inquiry.open if each.ask is Ask.SET_REPLACED]
    found = replace(found, void=ground)
    if found.void is None and found.due is None and not found.suspended:
        passed = [(bettor, stage, bet) for bettor in bettors for stage in Stage for bet in house.book.insurances]
        cover = InsuranceState(house.insurance, passed, waived(house.book, squeeze=record.squeeze and house.insurance))
        neglect = neglected(house.book, found, irregularities, cover, inquiry)
        rulings += neglect.rulings
        returned += [ReturnedBets(bettor, clause, bet) for (bettor, bet), clause in neglect.returned.items()]
    asked = [
        of_the_rules(each, counted[each.irregularity].id)
        for each in inquiry.open
        if not (record.overtaken and each.ask is Ask.OPTION)
    ]
    of_all = {(each.ask, each.matter, each.bet) for each in asked if each.bettor == OTHERS}
    # A question for all other bettors replaces the same question for one bettor.
    asked = [each for each in asked if each.bettor == OTHERS or (each.ask, each.matter, each.bet) not in of_all]
    rulings.sort(key=lambda each: each.irregularity)
    by_id = [of_the_matter(each, counted[each.irregularity]) for each in rulings]
    return standing(record, found, by_id, of_the_record(house.book, record, found, asked), tuple(returned))


def of_the_matter(ruling: Ruling, matter: Matter) -> Ruling:
    if matter.by is None or matter.status is not Status.WITHDRAWN:
        return replace(ruling, irregularity=matter.id)
    return replace(ruling, irregularity=matter.id, reading=withdrawal(matter))


def withdrawal(matter: Matter) -> str:
    """The reason why a notice has no consequence."""
    return "a person denied the notice" if matter.confirmation is Confirmation.DENIED else "the notice was withdrawn"


def standing(
    record: Record,
    found: Course,
    rulings: Sequence[Ruling],
    questions: Sequence[RoundQuestion],
    returned: tuple[ReturnedBets, ...] = (),
) -> Standing:
    held = any(each.holds for each in questions)
    due = None if held else due_slot(record, found)
    return Standing(record, found, tuple(rulings), tuple(questions), due, returned)


def known(record: Record) -> list[Card]:
    """The faces up to the first unknown face."""
    faces: list[Card] = []
    for each in record.order:
        if each.face is None:
            break
        faces.append(each.face)
    return faces


def named(record: Record) -> list[str]:
    """The bettors whom an answer names."""
    return [name for name in dict.fromkeys(each.bettor for each in record.decisions) if name not in (None, OTHERS)]


def decisions(record: Record, counted: Sequence[Matter]) -> list[Decision]:
    """The answers, for the rules. An answer for all other bettors holds for a bettor who is named later."""
    positions = {each.id: position for position, each in enumerate(counted)}
    given = [each for each in record.decisions if each.matter in positions]
    own = {(each.ask, each.matter, each.bettor, each.bet) for each in given}
    for each in record.decisions:
        if each.bettor == OTHERS and each.matter in positions:
            later = [name for name in named(record) if (each.ask, each.matter, name, each.bet) not in own]
            given += [replace(each, bettor=name) for name in later]
    return [
        Decision(
            each.ask,
            Choice(each.choice)
            if isinstance(each.choice, str)
            else tuple([face for card in each.choice if (face := record.card(card).face) is not None]),
            each.by.role or PLAYER,
            positions[each.matter],
            each.bettor,
            each.bet,
        )
        for each in given
    ]


def shown(house: House, found: Standing) -> Hands:
    """The hands for subscribers: without cards whose place is in question."""
    record = found.record
    if found.places_known and found.course.void is None and all(each.published for each in record.order):
        return found.course.hands
    asked, counted = {each.matter for each in found.questions if each.holds}, record.counted
    ground = found.course.void.irregularity if found.course.void is not None else None
    in_excess = [each for each in counted if each.kind is Kind.CARD_IN_EXCESS and each.id in (*asked, ground)]
    in_question = {card for each in in_excess for card in each.cards}
    visible = [replace(each, published=False) if each.id in in_question else each for each in record.order]
    drawn = list(takewhile(lambda each: each.published and each.face is not None, visible))
    irregularities: list[Irregularity] = []
    for each in counted:
        irregularity = facts(record, each)  # a matter that is in question, or of a later card, changes nothing yet
        last = irregularity.at + max(1, len(irregularity.order)) - 1
        irregularities.append(replace(irregularity, noticed_late=each.id in asked or last > len(drawn)))
    faces = [each.face for each in drawn if each.face is not None]
    published = course(house.book, faces, irregularities, Inquiry(decisions(record, counted)))
    return min(found.course.hands, published.hands, key=len)
