"""The intended differences in the reports, confirmations and withdrawals of the staff."""

from typing import Any, Final

from shoed.model.commands import ReplaceSet, ReportIrregularity, Withdraw
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.step import Commanded
from shoed.table.asking import OTHERS
from tests.intended import Difference, Verdict, only_question
from tests.oracle_engines import value


def notice_is_withdrawn(found: Difference) -> Verdict | None:
    """The oracle has no commands `withdraw` and `replace-set`."""
    entry = found.taken.input
    return Verdict.ENDS if isinstance(entry, Commanded) and isinstance(entry.command, Withdraw | ReplaceSet) else None


def card_is_seen_before_it_is_drawn(found: Difference) -> Verdict | None:
    """An exposed card is entered before it is drawn; for the oracle, the notice is about the last drawn card."""
    entry = found.taken.input
    if not isinstance(entry, Commanded) or not isinstance(entry.command, ReportIrregularity):
        return None
    return Verdict.ENDS if entry.command.card is not None else None


def void_waits_for_confirmation(found: Difference) -> Verdict | None:
    """A dealer's notice voids the round only after a confirmation; consequences name the question `confirm`."""
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


def second_report_is_not_a_new_matter(found: Difference) -> Verdict | None:
    """A second report of the same irregularity is accepted; its answer names the first report."""
    entry = found.taken.input
    if "raised" in found.parts or not isinstance(entry, Commanded) or not isinstance(entry.command, ReportIrregularity):
        return None
    accepted = [each["accepted"] and "no new matter" in each["detail"] for each in found.both("answers")[0]]
    return Verdict.ENDS if accepted == [True] else None


def exchange_is_one_matter(found: Difference) -> Verdict | None:
    """An exchange of two cards is one matter with both cards."""
    entry = found.taken.input
    if "raised" in found.parts or not isinstance(entry, Commanded) or not isinstance(entry.command, ReportIrregularity):
        return None
    numbers = [
        [data["number"] for kind, data in events if (kind, data.get("kind")) == NOTICED_WRONG_SIDE]
        for events in ([(each["type"], each["data"]) for each in both] for both in found.both("events"))
    ]
    return Verdict.ENDS if entry.command.other and [len(each) for each in numbers] == [1, 2] else None


NOTICED_WRONG_SIDE: Final = ("irregularity.noticed", Kind.WRONG_SIDE.value)


def card_order_is_asked_first(found: Difference) -> Verdict | None:
    """The question `card-order` precedes every question that depends on the order."""
    if "raised" in found.parts:
        return None
    asked = [each and each["question"] for each in found.both("question")]
    return Verdict.ENDS if asked[0] == "card-order" and asked[1] not in (None, "card-order") else None


def others_are_asked_before_one(found: Difference) -> Verdict | None:
    """An answer for all other bettors includes a bettor who answered an earlier question by name."""
    if "raised" in found.parts:
        return None
    one, other = found.both("question")
    if not one or not other or one["bettor"] != OTHERS or other["bettor"] in (None, OTHERS):
        return None
    return Verdict.ENDS if one["question"] == other["question"] else None


def reconstructed_hand_is_played(found: Difference) -> Verdict | None:
    """F 5.4: if the altered order is known, the ruling `continue` plays the reconstructed hand."""
    if "raised" in found.parts:
        return None
    one, other = value(found.ours, "question"), value(found.oracle, "question")
    if not one or not other or (one["question"], one["kind"]) != ("ruling", Kind.ORDER_ALTERED.value):
        return None
    ours, theirs = ({tuple(each["choice"]): each for each in asked["consequences"]} for asked in (one, other))
    continued, before = ours.get(("continue",)), theirs.get(("continue",))
    if continued is None or before is None:
        return None
    return Verdict.ENDS if continued["as_dealt"] == {hand: before[hand] for hand in ("player", "banker")} else None


def notice_of_a_waiting_card_is_accepted(found: Difference) -> Verdict | None:
    """A notice about a waiting card is accepted. It takes effect when the card has its place."""
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
    second_report_is_not_a_new_matter,
    exchange_is_one_matter,
    card_order_is_asked_first,
    others_are_asked_before_one,
    reconstructed_hand_is_played,
    notice_of_a_waiting_card_is_accepted,
)
