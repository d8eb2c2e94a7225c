"""Intended differences: after its cut card a shoe starts while a round needs cards, and it may be a new one."""

from typing import Final

from tests.intended import Difference, Verdict


def a_start_after_the_cut_is_asked_about(found: Difference) -> Verdict | None:
    """The oracle takes every such start for a reconnection, and calls the next shoe partial if the round waited.

    Before the first card of a round, the oracle begins a new shoe at once.
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
