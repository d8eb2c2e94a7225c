"""The intended difference for a start of communication after the cut card."""

from typing import Final

from tests.intended import Difference, Verdict


def a_start_after_the_cut_is_asked_about(found: Difference) -> Verdict | None:
    """If a round is open, a person decides whether the shoe is a new one.

    The oracle assumes a reconnection; before the first card of the round it starts a new shoe.
    """
    if "raised" in found.parts:
        return None
    ours, oracle = found.events()
    asked = any(kind == "question.asked" and data["question"] == "restart" for kind, data in ours)
    question, _ = found.both("question")
    shown = (
        [] if question is None else [question["question"], *(each["then_asks"] for each in question["consequences"])]
    )
    began = any(kind == "shoe.started" for kind, _ in (*ours, *oracle))
    return Verdict.ENDS if asked or began or "restart" in shown else None


PREDICATES: Final = (a_start_after_the_cut_is_asked_about,)
