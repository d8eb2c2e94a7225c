"""The output of `shoed rules table`: a settled round as JSON. `docs/rules-table.md` documents every field and word."""

from collections.abc import Iterable, Sequence

import msgspec

from shoed.model.cards import Card
from shoed.model.irregularities import IrregularityKind, Role
from shoed.rules.bets import BetNote, BetRefusal
from shoed.rules.book import Rule, RuleBook
from shoed.rules.drawing import points, winner
from shoed.rules.irregular import Course, Ruling
from shoed.rules.money import SettledBet, house_winnings
from shoed.rules.neglected_insurance import NeglectResult
from shoed.rules.questions import Inquiry, Question


class RoundAnswer(msgspec.Struct, frozen=True):
    """The values of one settled round."""

    book: RuleBook
    kinds: tuple[tuple[int, IrregularityKind], ...]  # of the irregularities of cards, with their positions in the input
    course: Course
    neglect: NeglectResult
    lines: Sequence[SettledBet]
    refused: Sequence[BetRefusal]
    notes: Sequence[BetNote]
    inquiry: Inquiry

    def answer(self) -> dict[str, object]:
        course, neglect, lines, inquiry = self.course, self.neglect, self.lines, self.inquiry
        over = course.due is None and course.void is None and not course.suspended
        answer: dict[str, object] = {
            "outcome": winner(self.book, course.hands).value if over else None,
            "settlement": [row_json(line) for line in lines],
            "refused": [refusal_json(each) for each in sorted(self.refused, key=lambda each: each.bet)],
            "house": house_winnings(lines),
            "void": self._void(course.void),
            "questions": [self._question(each) for each in inquiry.open],
        }
        if self.notes:
            notes = sorted(self.notes, key=lambda note: note.bet)
            answer["notes"] = [note_json(each) for each in notes]
        if self.kinds:
            answer["player"] = hand_json(self.book, course.hands.player)
            answer["banker"] = hand_json(self.book, course.hands.banker)
            answer["due"] = course.due.value if course.due else None
            answer["carried"] = [card.value for card in course.carried]
            rulings = sorted((*course.rulings, *neglect.rulings), key=lambda ruling: ruling.irregularity)
            answer["rulings"] = [self._ruling(each) for each in rulings]
            answer["bettors"] = bettors_json(lines, course)
        if unheard := inquiry.unheard():
            answer["unheard"] = [{"decision": position, "code": why.value} for position, why in unheard]
        return answer

    def _position(self, of: int) -> int:
        return self.kinds[of][0]

    def _void(self, ruling: Ruling | None) -> dict[str, object] | None:
        if ruling is None:
            return None
        return {**self._ruling(ruling), "returns": self.book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or None}

    def _ruling(self, ruling: Ruling) -> dict[str, object]:
        answer: dict[str, object] = {
            "irregularity": self._position(ruling.irregularity),
            "kind": self.kinds[ruling.irregularity][1].value,
            "then": ruling.then.value,
            "clause": ruling.clause or None,
            "decides": ruling.decides.value if ruling.decides else None,
            "silent": ruling.silent,
        }
        if ruling.reading:
            answer["reading"] = ruling.reading
        return answer

    def _question(self, question: Question) -> dict[str, object]:
        answer: dict[str, object] = {
            "question": question.ask.value,
            "irregularity": self._position(question.irregularity),
            "choices": [choice.value for choice in question.choices],
            "role": question.role.value if isinstance(question.role, Role) else question.role,
            "clause": question.clause or None,
        }
        if question.clauses:
            answer["clauses"] = [clause or None for clause in question.clauses]
        if question.cards:
            answer["cards"] = [card.value for card in question.cards]
        if question.bettor is not None:
            answer["bettor"] = question.bettor
        if question.proposed is not None:
            answer["proposed"] = question.proposed.value
        if question.optional:
            answer["optional"] = True
        return answer


def hand_json(book: RuleBook, cards: Sequence[Card]) -> dict[str, object]:
    return {"cards": [card.value for card in cards], "points": points(book, cards)}


def row_json(line: SettledBet) -> dict[str, object]:
    placed = line.placed
    answer: dict[str, object] = {"seat": placed.seat, "bettor": placed.bettor, "bet": placed.bet}
    if placed.stage is not None:
        answer["stage"] = placed.stage.value
    return answer | {
        "stake": placed.stake,
        "effective": str(line.effective),
        "pays": line.pays.text if line.pays else None,
        "winnings": line.winnings,
        "returned": line.returned,
        "remainder": str(line.remainder),
        "clause": line.clause,
    }


def refusal_json(refusal: BetRefusal) -> dict[str, object]:
    answer: dict[str, object] = {
        "bet": refusal.bet,
        "code": refusal.code.value,
        "clause": refusal.clause or None,
        "message": refusal.message,
    }
    return answer if refusal.largest is None else answer | {"largest": refusal.largest}


def note_json(note: BetNote) -> dict[str, object]:
    return {"bet": note.bet, "remark": note.remark.value, "clause": note.clause or None}


def bettors_json(lines: Iterable[SettledBet], course: Course) -> list[dict[str, object]]:
    """The sums of each bettor."""
    sums: dict[str, tuple[int, int]] = {}
    for line in lines:
        winnings, returned = sums.get(line.placed.bettor, (0, 0))
        sums[line.placed.bettor] = winnings + line.winnings, returned + line.returned
    return [
        {
            "bettor": bettor,
            "winnings": winnings,
            "returned": returned,
            "took_back": bettor in course.returned,
            "undecided": bettor in course.undecided,
        }
        for bettor, (winnings, returned) in sums.items()
    ]
