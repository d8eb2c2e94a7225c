"""Insurance that the dealer did not offer (I 5.13): who may get the Original Bet back.

It goes back if the insurance would have won and the player had meant to take it, as a Pit Manager or above finds; and
only to who could have taken it then. One that would have won is enough.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tests.oracle.engine_5.rules.book import Fact, Irregularity, RuleBook, Then
from tests.oracle.engine_5.rules.insurance import offers, settle_offer
from tests.oracle.engine_5.rules.irregular import Course, Happened, Ruling, row_of, ruling_by
from tests.oracle.engine_5.rules.questions import YES_NO, Ask, Choice, Inquiry, Question
from tests.oracle.engine_5.words import Event, Stage

NOT_DUE: Final = "nothing was due to be offered to anybody who did not take it"
NOT_KNOWN_YET: Final = "the cards to come will say whether it would have won"

Policy = tuple[str, Stage, str]  # bettor, stage and insurance bet


class Neglect(msgspec.Struct, frozen=True):
    """What becomes of insurance that the dealer did not offer."""

    rulings: tuple[Ruling, ...]
    returned: Mapping[tuple[str, str], str]  # (bettor, Original Bet) -> the clause that gives it back
    undecided: frozenset[tuple[str, str]]


class Cover(msgspec.Struct, frozen=True):
    """What of the insurance matters here."""

    on: bool  # at this table
    passed: Sequence[Policy]  # what bettors could have taken and did not
    waived: Mapping[Stage, str]  # stages at which nobody could, and the clause


def neglected(book: RuleBook, course: Course, happened: Sequence[Happened], cover: Cover, inquiry: Inquiry) -> Neglect:
    rulings: list[Ruling] = []
    answers: dict[tuple[str, str], Choice | None] = {}
    clauses: dict[tuple[str, str], str] = {}
    for position, each in enumerate(happened):
        if each.event is not Event.INSURANCE_NEGLECTED or each.noticed_late:
            continue
        row, entitled = _entitled(book, course, each.stage, cover)
        rulings.append(_ruled(position, course, row, entitled, cover.waived.get(each.stage)))
        if row is None or rulings[-1].then is not Then.RETURN_ORIGINAL:
            continue
        for original in entitled:
            bettor, bet = original
            question = Question(Ask.INTENDED, position, row.decides, row.clause, YES_NO, bettor=bettor, bet=bet)
            answer = inquiry.choice(question)
            if answers.get(original) is not Choice.YES:
                answers[original], clauses[original] = answer, row.clause
    return Neglect(
        tuple(rulings),
        {original: clauses[original] for original, answer in answers.items() if answer is Choice.YES},
        frozenset(original for original, answer in answers.items() if answer is None),
    )


def _entitled(
    book: RuleBook, course: Course, stage: Stage, cover: Cover
) -> tuple[Irregularity | None, list[tuple[str, str]]]:
    """What the book says of this stage, and the Original Bets that may go back: those whose insurance wins."""
    names = {bet.hand: bet.name for bet in book.bets if bet.hand is not None}
    wins = {
        offer.bet: names[offer.hand]
        for offer in offers(book, course.hands).get(stage) or ()
        if (pays := settle_offer(book, offer, course.hands)) is not None and pays.odds is not None
    }
    may_win = bool(wins) or course.due is not None
    row = row_of(book, Event.INSURANCE_NEGLECTED, {Fact.INSURANCE_ON: cover.on, Fact.WOULD_HAVE_WON: may_win})
    return row, [
        (bettor, wins[bet])
        for bettor, at, bet in cover.passed
        if at is stage and bet in wins and bettor not in course.returned
    ]


def _ruled(
    position: int,
    course: Course,
    row: Irregularity | None,
    entitled: Sequence[tuple[str, str]],
    waived: str | None,
) -> Ruling:
    if waived is not None:
        return Ruling(position, Then.STANDS, waived, reading=NOT_DUE)
    if row is None:
        return Ruling(position, Then.STANDS, "", silent=True)
    if row.then is not Then.RETURN_ORIGINAL or entitled:
        return ruling_by(position, row)
    if course.due is not None:
        return Ruling(position, Then.ASK, row.clause, row.decides, reading=NOT_KNOWN_YET)
    return Ruling(position, Then.STANDS, row.clause, reading=NOT_DUE)
