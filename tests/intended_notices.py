"""The intended differences in what people may report, confirm and withdraw."""

from typing import Any, Final

from shoed.commands import Notice, ReplaceSet, Withdraw
from shoed.step import Told
from shoed.table.asking import OTHERS
from shoed.words import Event as Kind
from tests.intended import Difference, Verdict, only_question
from tests.oracle_sides import value


def notice_is_withdrawn(found: Difference) -> Verdict | None:
    """A person may withdraw a notice, or have the set replaced; the oracle has no such commands."""
    came = found.taken.came
    return Verdict.ENDS if isinstance(came, Told) and isinstance(came.command, Withdraw | ReplaceSet) else None


def card_is_seen_before_it_is_drawn(found: Difference) -> Verdict | None:
    """The exposed card that was not drawn yet is entered; the oracle takes the notice as one of the last card."""
    came = found.taken.came
    if not isinstance(came, Told) or not isinstance(came.command, Notice):
        return None
    return Verdict.ENDS if came.command.card is not None else None


def void_waits_for_confirmation(found: Difference) -> Verdict | None:
    """A dealer's notice voids the round only after a person confirms it: the question is asked, and is foreseen."""
    if "raised" in found.parts:
        return None
    both = only_question(found)
    if both is not None and None not in both:
        one, other = ([consequence(each) for each in asked.pop("consequences")] for asked in both)
        pairs = [(ours, theirs) for ours, theirs in zip(one, other, strict=False) if ours != theirs]
        waits = all(ours[0] == "confirm" and theirs[1] is not None for ours, theirs in pairs)
        return Verdict.PASSES if both[0] == both[1] and len(one) == len(other) and pairs and waits else None
    ours, oracle = found.events()
    asks = any(kind == "question.asked" and data["question"] == "confirm" for kind, data in ours)
    voids = [data for kind, data in oracle if kind == "round.voided" and data["kind"] != "void"]
    return Verdict.ENDS if asks and voids and not any(kind == "round.voided" for kind, _ in ours) else None


def consequence(shown: Any) -> tuple[Any, Any]:  # noqa: ANN401  # JSON
    return shown["then_asks"], shown["void"]


def second_report_is_no_matter(found: Difference) -> Verdict | None:
    """The second report of one thing is accepted, and its answer names the first."""
    came = found.taken.came
    if "raised" in found.parts or not isinstance(came, Told) or not isinstance(came.command, Notice):
        return None
    accepted = [each["accepted"] and "no new matter" in each["detail"] for each in found.both("answers")[0]]
    return Verdict.ENDS if accepted == [True] else None


def exchange_is_one_matter(found: Difference) -> Verdict | None:
    """Two cards that changed places are one matter with both cards."""
    came = found.taken.came
    if "raised" in found.parts or not isinstance(came, Told) or not isinstance(came.command, Notice):
        return None
    numbers = [
        [data["number"] for kind, data in events if (kind, data.get("kind")) == NOTICED_WRONG_SIDE]
        for events in ([(each["type"], each["data"]) for each in both] for both in found.both("events"))
    ]
    return Verdict.ENDS if came.command.other and [len(each) for each in numbers] == [1, 2] else None


NOTICED_WRONG_SIDE: Final = ("irregularity.noticed", Kind.WRONG_SIDE.value)


def card_order_is_asked_first(found: Difference) -> Verdict | None:
    """The order of cards is asked before anything that depends on it."""
    if "raised" in found.parts:
        return None
    asked = [each and each["question"] for each in found.both("question")]
    return Verdict.ENDS if asked[0] == "card-order" and asked[1] not in (None, "card-order") else None


def others_are_asked_before_one(found: Difference) -> Verdict | None:
    """An answer of all others is that of a bettor who answered an earlier question, too: they are asked together."""
    if "raised" in found.parts:
        return None
    one, other = found.both("question")
    if not one or not other or one["bettor"] != OTHERS or other["bettor"] in (None, OTHERS):
        return None
    return Verdict.ENDS if one["question"] == other["question"] else None


def reconstructed_hand_is_played(found: Difference) -> Verdict | None:
    """F 5.4: who lets a round go on whose order was altered and is known plays the reconstructed hand."""
    if "raised" in found.parts:
        return None
    one, other = value(found.ours, "question"), value(found.oracle, "question")
    if not one or not other or (one["question"], one["kind"]) != ("ruling", Kind.ORDER_ALTERED.value):
        return None
    ours, theirs = ({tuple(each["choice"]): each for each in asked["consequences"]} for asked in (one, other))
    goes_on, was = ours.get(("continue",)), theirs.get(("continue",))
    if goes_on is None or was is None:
        return None
    return Verdict.ENDS if goes_on["as_dealt"] == {hand: was[hand] for hand in ("player", "banker")} else None


def notice_of_a_waiting_card_is_taken(found: Difference) -> Verdict | None:
    """A notice about a card that waits is accepted, and counts once the card has its place."""
    if "raised" in found.parts:
        return None
    ours, oracle = found.both("answers")
    refused = [each["detail"] for each in oracle if not each["accepted"]]
    accepted = [each["accepted"] for each in ours] == [True]
    return Verdict.ENDS if accepted and any("has no place in the round yet" in each for each in refused) else None


PREDICATES: Final = (
    notice_is_withdrawn,
    card_is_seen_before_it_is_drawn,
    void_waits_for_confirmation,
    second_report_is_no_matter,
    exchange_is_one_matter,
    card_order_is_asked_first,
    others_are_asked_before_one,
    reconstructed_hand_is_played,
    notice_of_a_waiting_card_is_taken,
)
