"""The intended differences between the engine of shoed and its oracle: one named predicate for each.

A predicate gets a step after which the outputs of the engines differ. It decides whether its behaviour explains the
difference.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final

import msgspec

from tests.oracle_engines import Output, Taken, value, without_added


class Verdict(Enum):
    """The effect of a predicate that explains a difference."""

    PASSES = auto()  # the comparison continues
    ENDS = auto()  # the session ends: its rest cannot be compared


class Difference(msgspec.Struct, frozen=True):
    """A step after which the outputs of the two engines differ."""

    number: int  # of the step, from 1
    taken: Taken
    parts: tuple[str, ...]  # the parts that differ
    ours: Output
    oracle: Output
    before: Output  # of the engine of shoed, one step earlier

    def both(self, part: str) -> tuple[Any, Any]:
        """A part as JSON: from the engine of shoed, then from the oracle."""
        return without_added(value(self.ours, part)), value(self.oracle, part)

    def events(self) -> tuple[list[Any], list[Any]]:
        """The events of one engine only, as type and data: from the engine of shoed, then from the oracle."""
        ours, oracle = ([(each["type"], each["data"]) for each in events or ()] for events in self.both("events"))
        return [each for each in ours if each not in oracle], [each for each in oracle if each not in ours]


Predicate = Callable[[Difference], Verdict | None]


def only_question(found: Difference) -> tuple[Any, Any] | None:
    """Both questions, if no other part differs."""
    return found.both("question") if all(each.startswith("question") for each in found.parts) else None


def early_result_waits_for_its_cards(found: Difference) -> Verdict | None:
    """A result is compared once every card reported before it has its place. Later reports do not delay it."""
    both = only_question(found)
    if both is not None and None not in both:
        asks = [[each["then_asks"] for each in question["consequences"]] for question in both]
        if asks[0] != asks[1] and "reading" in asks[0]:
            return Verdict.ENDS
        drawn = [
            [len(each["player"]["cards"] + each["banker"]["cards"]) for each in one["consequences"]] for one in both
        ]
        if (
            len(drawn[0]) == len(drawn[1])
            and all(one <= other for one, other in zip(*drawn, strict=True))
            and drawn[0] != drawn[1]
        ):  # the question is asked before more cards are placed
            return Verdict.ENDS
    questions = [each for each in found.both("question") if each]
    early = [each["evidence"] == ["the shoe told a result, and a card is still due"] for each in questions]
    return Verdict.ENDS if sorted(early) == [False, True] else None


def positions_follow_their_cards(found: Difference) -> Verdict | None:
    """A matter refers to a card by its id, so its position changes if a card is inserted before that card."""
    ours, oracle = found.events()
    if [(kind, {**data, "at": 0}) for kind, data in ours] != [(kind, {**data, "at": 0}) for kind, data in oracle]:
        return None
    one, other = found.both("question")
    if not set(found.parts) <= {"events", "question"} or not (ours or one != other):
        return None
    return Verdict.PASSES if {**(one or {}), "index": 0} == {**(other or {}), "index": 0} else None


def left_over_card_is_one_matter(found: Difference) -> Verdict | None:
    """Consecutive cards left over are one matter with one question; a later card left over has its own question."""
    ours, oracle = found.events()
    kinds = [data.get("kind") for _, data in (*ours, *oracle)]
    questions = [each for each in found.both("question") if each]
    asked = [each["kind"] for each in questions]
    then = [[each["then_asks"] for each in one["consequences"]] for one in questions]
    if then[1:] and then[0] != then[1] and "reconstructable" in (*then[0], *then[1]):
        return Verdict.ENDS
    carried = [[each["carried"] for each in one["consequences"]] for one in questions]
    if carried[1:] and carried[0] != carried[1]:
        return Verdict.ENDS
    return Verdict.ENDS if "card-in-excess" in (*kinds, *asked) else None


def drawn_together_needs_two_cards(found: Difference) -> Verdict | None:
    """A matter of two cards drawn together ends if one of them was not a card."""
    ours, oracle = found.events()
    stands = [data["then"] for kind, data in ours if kind == "irregularity.ruled" and data["kind"] == "drawn-together"]
    return Verdict.PASSES if stands == ["stands"] and not oracle else None


NUMBERS: Final = re.compile(r"\d+(, \d+)*")
STALE: Final = re.compile(r"question \d+ was answered, or has lapsed|there is no question \d+")
QUESTIONS: Final = ("question.asked", "question.lapsed", "question.revised", "round.overtaken")


def without(question: Any, *keys: str) -> Any:  # noqa: ANN401  # JSON
    return question and {key: each for key, each in question.items() if key not in keys}


def question_outlives_its_round(found: Difference) -> Verdict | None:
    """A question stays open after the end of its round, with its own number, clause, role and round."""
    ours, oracle = found.both("question")
    shown = value(found.ours, "state")
    outlived = ours is not None and (ours["shoe"], ours["round"]) != (shown["shoe"], shown["round"])
    lingered = oracle is not None and oracle["question"] == "next-round" and oracle["optional"]
    _, events = found.events()
    asked = [data for kind, data in events if kind == "question.asked"]
    lingers = any(each["question"] == "next-round" and each["optional"] for each in asked)
    return Verdict.ENDS if outlived or lingered or lingers else None


def question_keeps_its_number(found: Difference) -> Verdict | None:
    """A question keeps its number while its matter is the same: it is revised, and does not lapse."""
    ours, oracle = found.events()
    others = [each for each in (*ours, *oracle) if each[0] not in (*QUESTIONS, "question.answered")]
    answered = [[without(data, "id") for kind, data in of if kind == "question.answered"] for of in (ours, oracle)]
    details = [[NUMBERS.sub("", STALE.sub("", each["detail"])) for each in of or ()] for of in found.both("answers")]
    if answered[0] != answered[1] or details[0] != details[1]:
        return None
    if not (ours or oracle) and not {"question", "answers"} & set(found.parts):
        return None
    one, other = (without(each, "id", "asked_at") for each in found.both("question"))
    rest = [each for each in found.parts if each not in ("events", "question", "state", "answers")]
    state, before = (without(each, "sequence") for each in found.both("state"))
    return Verdict.PASSES if not others and one == other and not rest and state == before else None


from tests.intended_corrections import PREDICATES as OF_CORRECTIONS  # noqa: E402  # it imports the types above
from tests.intended_drawn import LAST  # noqa: E402  # it imports the types above
from tests.intended_drawn import PREDICATES as OF_DRAWN  # noqa: E402  # it imports the types above
from tests.intended_gaps import PREDICATES as OF_GAPS  # noqa: E402  # it imports the types above
from tests.intended_line import PREDICATES as OF_LINES  # noqa: E402  # it imports the types above
from tests.intended_notices import PREDICATES as OF_NOTICES  # noqa: E402  # it imports the types above
from tests.intended_outside import PREDICATES as OF_CARDS_IN_NO_HAND  # noqa: E402  # it imports the types above
from tests.intended_shoes import PREDICATES as OF_SHOES  # noqa: E402  # it imports the types above

# The first predicate that applies decides.
PREDICATES: Final[Mapping[str, Predicate]] = {
    each.__name__: each
    for each in (
        *OF_CARDS_IN_NO_HAND,
        *OF_GAPS,
        *OF_SHOES,
        *OF_LINES,
        *OF_NOTICES,
        *OF_CORRECTIONS,
        *OF_DRAWN,
        question_outlives_its_round,
        question_keeps_its_number,
        early_result_waits_for_its_cards,
        positions_follow_their_cards,
        drawn_together_needs_two_cards,
        left_over_card_is_one_matter,
        *LAST,
    )
}
