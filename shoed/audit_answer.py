"""What `shoed rules table` answers: the values of a round as JSON. `docs/rules-table.md` has every field and word."""

from collections.abc import Iterable, Sequence

import msgspec

from shoed.cards import Card
from shoed.rules.bets import Note, Refusal
from shoed.rules.book import Rule, RuleBook
from shoed.rules.drawing import points, winner
from shoed.rules.irregular import Course, Ruling
from shoed.rules.money import Line, house
from shoed.rules.neglect import Neglect
from shoed.rules.questions import Inquiry, Question
from shoed.words import Event, Role


class Answer(msgspec.Struct, frozen=True):
    """All that there is to tell of one round."""

    book: RuleBook
    kinds: tuple[tuple[int, Event], ...]  # the irregularities of the cards, with their positions as given
    found: Course
    neglect: Neglect
    lines: Sequence[Line]
    refused: Sequence[Refusal]
    notes: Sequence[Note]
    inquiry: Inquiry

    def told(self) -> dict[str, object]:
        found, neglect, lines, inquiry = self.found, self.neglect, self.lines, self.inquiry
        over = found.due is None and found.void is None and not found.suspended
        told: dict[str, object] = {
            "outcome": winner(self.book, found.hands).value if over else None,
            "settlement": [tell_line(line) for line in lines],
            "refused": [tell_refusal(each) for each in sorted(self.refused, key=lambda each: each.bet)],
            "house": house(lines),
            "void": self._void(found.void),
            "questions": [self._question(each) for each in inquiry.open],
        }
        if self.notes:
            notes = sorted(self.notes, key=lambda note: note.bet)
            told["notes"] = [tell_note(each) for each in notes]
        if self.kinds:
            told["player"] = tell_hand(self.book, found.hands.player)
            told["banker"] = tell_hand(self.book, found.hands.banker)
            told["due"] = found.due.value if found.due else None
            told["carried"] = [card.value for card in found.carried]
            rulings = sorted((*found.rulings, *neglect.rulings), key=lambda ruling: ruling.irregularity)
            told["rulings"] = [self._ruling(each) for each in rulings]
            told["bettors"] = tell_bettors(lines, found)
        if unheard := inquiry.unheard():
            told["unheard"] = [{"decision": position, "code": why.value} for position, why in unheard]
        return told

    def _position(self, of: int) -> int:
        return self.kinds[of][0]

    def _void(self, ruling: Ruling | None) -> dict[str, object] | None:
        if ruling is None:
            return None
        return {**self._ruling(ruling), "returns": self.book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or None}

    def _ruling(self, ruling: Ruling) -> dict[str, object]:
        told: dict[str, object] = {
            "irregularity": self._position(ruling.irregularity),
            "kind": self.kinds[ruling.irregularity][1].value,
            "then": ruling.then.value,
            "clause": ruling.clause or None,
            "decides": ruling.decides.value if ruling.decides else None,
            "silent": ruling.silent,
        }
        if ruling.reading:
            told["reading"] = ruling.reading
        return told

    def _question(self, question: Question) -> dict[str, object]:
        told: dict[str, object] = {
            "question": question.ask.value,
            "irregularity": self._position(question.irregularity),
            "choices": [choice.value for choice in question.choices],
            "role": question.role.value if isinstance(question.role, Role) else question.role,
            "clause": question.clause or None,
        }
        if question.clauses:
            told["clauses"] = [clause or None for clause in question.clauses]
        if question.cards:
            told["cards"] = [card.value for card in question.cards]
        if question.bettor is not None:
            told["bettor"] = question.bettor
        if question.proposed is not None:
            told["proposed"] = question.proposed.value
        if question.optional:
            told["optional"] = True
        return told


def tell_hand(book: RuleBook, cards: Sequence[Card]) -> dict[str, object]:
    return {"cards": [card.value for card in cards], "points": points(book, cards)}


def tell_line(line: Line) -> dict[str, object]:
    placed = line.placed
    told: dict[str, object] = {"seat": placed.seat, "bettor": placed.bettor, "bet": placed.bet}
    if placed.stage is not None:
        told["stage"] = placed.stage.value
    return told | {
        "stake": placed.stake,
        "effective": str(line.effective),
        "pays": line.pays.text if line.pays else None,
        "winnings": line.winnings,
        "returned": line.returned,
        "remainder": str(line.remainder),
        "clause": line.clause,
    }


def tell_refusal(refusal: Refusal) -> dict[str, object]:
    told: dict[str, object] = {
        "bet": refusal.bet,
        "code": refusal.code.value,
        "clause": refusal.clause or None,
        "message": refusal.message,
    }
    return told if refusal.largest is None else told | {"largest": refusal.largest}


def tell_note(note: Note) -> dict[str, object]:
    return {"bet": note.bet, "remark": note.remark.value, "clause": note.clause or None}


def tell_bettors(lines: Iterable[Line], found: Course) -> list[dict[str, object]]:
    """What each of them gets in all."""
    sums: dict[str, tuple[int, int]] = {}
    for line in lines:
        winnings, returned = sums.get(line.placed.bettor, (0, 0))
        sums[line.placed.bettor] = winnings + line.winnings, returned + line.returned
    return [
        {
            "bettor": bettor,
            "winnings": winnings,
            "returned": returned,
            "took_back": bettor in found.returned,
            "undecided": bettor in found.undecided,
        }
        for bettor, (winnings, returned) in sums.items()
    ]
