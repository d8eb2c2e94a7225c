"""The intended differences after lost reports, and in the readings of a report."""

from typing import Any, Final

from shoed.model.commands import Decide
from shoed.model.observations import Resumed, SequenceJumped
from shoed.model.step import Commanded
from tests.intended import QUESTIONS, Difference, Verdict

NONE: Final = "none-of-these"


def a_person_is_asked_after_a_gap(found: Difference) -> Verdict | None:
    """The first card after lost reports waits: a person states whether the shown cards are those on the table."""
    if "raised" in found.parts:
        return None
    ours, _ = found.events()
    asked = any(kind == "question.asked" and data["question"] == "gap" for kind, data in ours)
    question, _ = found.both("question")
    then = [] if question is None else [each["then_asks"] for each in question["consequences"]]
    is_open = question is not None and question["question"] == "gap"
    return Verdict.ENDS if asked or is_open or "gap" in then else None


def each_reading_has_an_alternative(found: Difference) -> Verdict | None:
    """A question about readings has the choices of the oracle, with the same consequences, and `none-of-these`."""
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
    """With `after_gap = "abandon"` the first report after a loss abandons the round; the oracle draws the card."""
    if "raised" in found.parts:
        return None
    if not any(isinstance(each, Resumed | SequenceJumped) for each in found.taken.seen):
        return None
    ours, oracle = found.events()
    ended = [kind for kind, _ in ours][:2] == ["round.abandoned", "card.set-aside"]
    return Verdict.ENDS if ended and oracle and ours[1][1]["reason"] == "no-round" else None


def a_new_reading_was_chosen(found: Difference) -> Verdict | None:
    """The oracle refuses the readings that it does not offer."""
    incoming = found.taken.input
    if not isinstance(incoming, Commanded) or not isinstance(incoming.command, Decide):
        return None
    (ours,), (oracle,) = found.both("answers")
    return Verdict.ENDS if ours["accepted"] and not oracle["accepted"] else None


def a_loss_between_rounds_makes_the_shoe_partial(found: Difference) -> Verdict | None:
    """After a loss between two rounds the shoe is partial; the oracle keeps it complete."""
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
    """The document without the integrity of the shoe."""
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
