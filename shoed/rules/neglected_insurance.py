"""Insurance that the dealer did not offer (I 5.13): the Original Bets that are returned.

An Original Bet is returned if its insurance would have won, if the bettor could have placed the insurance, and if a Pit
Manager or above decides that the bettor intended to. One winning insurance is sufficient.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from shoed.model.irregularities import IrregularityKind, Stage
from shoed.rules.book import Fact, IrregularityRow, RuleBook, Then
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.irregular import Course, Irregularity, Ruling, row_of, ruling_by
from shoed.rules.questions import YES_NO, Ask, Choice, Inquiry, Question

NOT_DUE: Final = "no bettor missed an offer that would have won"
NOT_KNOWN_YET: Final = "the next cards decide whether the insurance would have won"

BettorOffer = tuple[str, Stage, str]  # bettor, stage and insurance bet


class NeglectResult(msgspec.Struct, frozen=True):
    """The rulings on insurance that the dealer did not offer."""

    rulings: tuple[Ruling, ...]
    returned: Mapping[tuple[str, str], str]  # (bettor, Original Bet) -> the clause that returns it
    undecided: frozenset[tuple[str, str]]


class InsuranceState(msgspec.Struct, frozen=True):
    """The insurance of a round, as far as neglect depends on it."""

    on: bool  # at this table
    passed: Sequence[BettorOffer]  # offers that bettors could accept and did not
    waived: Mapping[Stage, str]  # stages without insurance, each with the clause


def neglected(
    book: RuleBook, course: Course, irregularities: Sequence[Irregularity], insurance: InsuranceState, inquiry: Inquiry
) -> NeglectResult:
    rulings: list[Ruling] = []
    answers: dict[tuple[str, str], Choice | None] = {}
    clauses: dict[tuple[str, str], str] = {}
    for position, each in enumerate(irregularities):
        if each.kind is not IrregularityKind.INSURANCE_NEGLECTED or each.noticed_late:
            continue
        row, returnable = _row_and_returnable(book, course, each.stage, insurance)
        rulings.append(_ruling(position, course, row, returnable, insurance.waived.get(each.stage)))
        if row is None or rulings[-1].then is not Then.RETURN_ORIGINAL:
            continue
        for original in returnable:
            bettor, bet = original
            question = Question(Ask.INTENDED, position, row.decides, row.clause, YES_NO, bettor=bettor, bet=bet)
            answer = inquiry.choice(question)
            if answers.get(original) is not Choice.YES:
                answers[original], clauses[original] = answer, row.clause
    return NeglectResult(
        tuple(rulings),
        {original: clauses[original] for original, answer in answers.items() if answer is Choice.YES},
        frozenset(original for original, answer in answers.items() if answer is None),
    )


def _row_and_returnable(
    book: RuleBook, course: Course, stage: Stage, insurance: InsuranceState
) -> tuple[IrregularityRow | None, list[tuple[str, str]]]:
    """The book's row for this stage, and the Original Bets that may be returned: those with a winning insurance."""
    names = {bet.side: bet.name for bet in book.bets if bet.side is not None}
    wins = {
        offer.bet: names[offer.side]
        for offer in offers(book, course.hands).get(stage) or ()
        if (pays := settle_offer(book, offer, course.hands)) is not None and pays.odds is not None
    }
    may_win = bool(wins) or course.due is not None
    row = row_of(
        book, IrregularityKind.INSURANCE_NEGLECTED, {Fact.INSURANCE_ON: insurance.on, Fact.WOULD_HAVE_WON: may_win}
    )
    return row, [
        (bettor, wins[bet])
        for bettor, at, bet in insurance.passed
        if at is stage and bet in wins and bettor not in course.returned
    ]


def _ruling(
    position: int,
    course: Course,
    row: IrregularityRow | None,
    returnable: Sequence[tuple[str, str]],
    waived: str | None,
) -> Ruling:
    if waived is not None:
        return Ruling(position, Then.STANDS, waived, reading=NOT_DUE)
    if row is None:
        return Ruling(position, Then.STANDS, "", silent=True)
    if row.then is not Then.RETURN_ORIGINAL or returnable:
        return ruling_by(position, row)
    if course.due is not None:
        return Ruling(position, Then.ASK, row.clause, row.decides, reading=NOT_KNOWN_YET)
    return Ruling(position, Then.STANDS, row.clause, reading=NOT_DUE)
