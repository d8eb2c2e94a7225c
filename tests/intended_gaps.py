"""Intended differences: a person is asked after lost reports, and each reading has an alternative."""

from typing import Any, Final

from shoed.commands import Decide
from shoed.observations import Resumed, SequenceJumped
from shoed.step import Told
from tests.intended import QUESTIONS, Difference, Verdict

NONE: Final = "none-of-these"


def a_person_is_asked_after_a_gap(found: Difference) -> Verdict | None:
    """The first card after lost reports waits for the answer whether the cards shown are those on the table."""
    if "raised" in found.parts:
        return None
    ours, _ = found.events()
    asked = any(kind == "question.asked" and data["question"] == "gap" for kind, data in ours)
    question, _ = found.both("question")
    then = [] if question is None else [each["then_asks"] for each in question["consequences"]]
    is_open = question is not None and question["question"] == "gap"
    return Verdict.ENDS if asked or is_open or "gap" in then else None


def each_reading_has_an_alternative(found: Difference) -> Verdict | None:
    """A question that names readings offers what the oracle offers, with the same consequences, and none-of-these."""
    ours, oracle = found.both("question")
    if ours is None or oracle is None or any(not each.startswith("question") for each in found.parts):
        return None
    if (
        ours["question"] != "reading"
        or ours["choices"][-1] != NONE
        or not set(ours["choices"]) > set(oracle["choices"])
    ):
        return None
    same = {**ours, "choices": None, "consequences": None, "proposed": None, "clause": None}
    others = {**oracle, "choices": None, "consequences": None, "proposed": None, "clause": None}
    unequal = [each for each in oracle["consequences"] if each not in ours["consequences"]]
    return Verdict.PASSES if same == others and not unequal else None


def a_setting_abandons_the_round(found: Difference) -> Verdict | None:
    """With `after_gap = "abandon"` the first report after a loss ends the round; the oracle draws its card."""
    if "raised" in found.parts:
        return None
    if not any(isinstance(each, Resumed | SequenceJumped) for each in found.taken.seen):
        return None
    ours, oracle = found.events()
    ended = [kind for kind, _ in ours][:2] == ["round.abandoned", "card.set-aside"]
    return Verdict.ENDS if ended and oracle and ours[1][1]["reason"] == "no-round" else None


def a_new_reading_was_chosen(found: Difference) -> Verdict | None:
    """The oracle refuses a reading that it does not offer."""
    came = found.taken.came
    if not isinstance(came, Told) or not isinstance(came.command, Decide):
        return None
    (ours,), (oracle,) = found.both("answers")
    return Verdict.ENDS if ours["accepted"] and not oracle["accepted"] else None


def a_loss_between_rounds_makes_the_shoe_partial(found: Difference) -> Verdict | None:
    """Where the oracle knows the whole shoe: rounds may have been missed between two rounds."""
    ours, oracle = found.both("state")
    if "raised" in found.parts or (ours["shoe_integrity"], oracle["shoe_integrity"]) != ("partial", "complete"):
        return None
    pairs = [[whole(each) for each in found.both(part)] for part in found.parts]
    if all(one == other for one, other in pairs):
        return Verdict.PASSES
    added, theirs = found.events()
    others = [[(kind, whole(data)) for kind, data in of if kind not in QUESTIONS] for of in (added, theirs)]
    if others[0] == others[1]:
        return Verdict.ENDS
    kinds = {data.get("kind") for _, data in theirs}
    burnt = any("at the start of this shoe" in (data.get("evidence") or "") for _, data in theirs)
    return Verdict.ENDS if "deck-count" in kinds or burnt else None


def whole(found: Any) -> Any:  # noqa: ANN401  # JSON
    """The same of a shoe whose integrity is not compared."""
    match found:
        case dict():
            return {key: whole(each) for key, each in found.items() if key != "shoe_integrity"}
        case list():
            return [whole(each) for each in found]
        case _:
            return found


PREDICATES: Final = (
    a_person_is_asked_after_a_gap,
    a_setting_abandons_the_round,
    a_new_reading_was_chosen,
    each_reading_has_an_alternative,
    a_loss_between_rounds_makes_the_shoe_partial,
)
