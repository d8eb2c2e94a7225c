"""The intended differences for cards that are in no hand, and for reports and notices between two rounds."""

from typing import Any, Final

from shoed.model.commands import CorrectCard, Decide, ReportIrregularity
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.observations import CardSeen, Place
from shoed.model.step import Commanded
from tests.intended import Difference, Verdict
from tests.oracle_engines import value

IN_NO_HAND: Final = (Place.BURN, Place.FIRST_CARD, Place.LOCKED, Place.ERROR, Place.UNKNOWN)
NO_NEW_SHOE: Final = "the shoe is empty, no new shoe was announced"
FIRST_THIRD: Final = 5  # the index of the first third card
INTEGRITY: Final = "shoe_integrity"


def card_in_no_hand_is_asked(found: Difference) -> Verdict | None:
    """A card that is reported in no hand during a round waits for the decision of a person."""
    seen = [each for each in found.taken.seen if isinstance(each, CardSeen) and each.place in IN_NO_HAND]
    ours, oracle = found.both("question")
    faces = [each.card.value if each.card else None for each in seen]
    slots = [{"card": face, "hand": None, "position": None, "result": None} for face in faces]
    added = found.events()[0]
    if any(kind == "round.suspended" and data["seen"] in slots for kind, data in added):
        return Verdict.ENDS
    if not seen or ours is None:
        return None
    waits = any(each["reported"] in slots for each in ours["cards"])
    bets_are_open = any("bets are open" in line for line in ours["evidence"])
    before = [] if oracle is None else oracle["cards"]
    return Verdict.ENDS if bets_are_open or (waits and ours["cards"] != before) else None


def unknown_place_is_named(found: Difference) -> Verdict | None:
    """A card with an unknown place is set aside with the reason `unknown`; the oracle gets it as `locked`."""
    ours, oracle = found.events()
    as_locked = [(kind, {**data, "reason": "locked"}) for kind, data in ours if data.get("reason") == "unknown"]
    return Verdict.PASSES if as_locked and found.parts == ("events",) and as_locked == oracle else None


def card_before_the_first_round_is_asked(found: Difference) -> Verdict | None:
    """Before the first round of a shoe, a card of a hand, of an overdraw or at an unknown place leads to a question."""
    ours, _ = found.events()
    asked = [data for kind, data in ours if kind == "question.asked" and data["round"] is None]
    return Verdict.ENDS if any(each["question"] in ("reading", "next-round") for each in asked) else None


def foreign_card_serves_in_no_round(found: Difference) -> Verdict | None:
    """A foreign card is not kept for the next round; a notice between two rounds may name a card as foreign."""
    entry = found.taken.input
    command = entry.command if isinstance(entry, Commanded) else None
    question, other = found.both("question") if "raised" not in found.parts else (None, None)
    if question is None and other is not None and "not-carried" in other["choices"]:
        return Verdict.ENDS  # the step before named the card as foreign, so it cannot start a round
    is_notice = isinstance(command, ReportIrregularity) and command.kind is Kind.FOREIGN_CARD
    if not is_notice and not (isinstance(command, Decide) and command.choice == "foreign-card"):
        return None
    ours, oracle = found.events()
    kept = [data for kind, data in oracle if kind == "irregularity.noticed" and data["kind"] == "card-in-excess"]
    settled = any(kind == "round.settled" for kind, _ in ours)
    named = [data["at"] for kind, data in ours if kind == "irregularity.noticed" and data["kind"] == "foreign-card"]
    refused = "answers" in found.parts and not ours
    return Verdict.ENDS if kept or settled or any(named) or refused else None


def next_round_waits_for_a_new_shoe(found: Difference) -> Verdict | None:
    """If the shoe is empty, opened bets or a further card are a matter that delays the next round."""
    ours, _ = found.events()
    noticed = [data["evidence"] for kind, data in ours if kind == "irregularity.noticed"]
    question = found.both("question")[1]
    if question is not None and question["kind"] == "too-few-cards" and question["round"] is None:
        return Verdict.ENDS  # a new shoe was started
    return Verdict.ENDS if any(each.startswith(NO_NEW_SHOE) for each in noticed) else None


def first_card_in_doubt_is_ruled(found: Difference) -> Verdict | None:
    """If first card and burnt card are drawn together in an unknown order, a ruling precedes the first round."""
    start = any(
        isinstance(each, CardSeen) and each.place in (Place.BURN, Place.FIRST_CARD) for each in found.taken.seen
    )
    ruled = [data["kind"] for kind, data in found.events()[0] if kind == "irregularity.ruled"]
    return Verdict.ENDS if start and "drawn-together" in ruled else None


def correction_is_counted_at_once(found: Difference) -> Verdict | None:
    """If the face that a person names is then too often in the shoe, the finding is in the same step."""
    entry = found.taken.input
    ours, oracle = found.both("findings")
    named = isinstance(entry, Commanded) and isinstance(entry.command, CorrectCard | Decide)
    more = [each for each in ours or () if each not in oracle]
    return Verdict.ENDS if named and more and all(each["found"] == "TooOften" for each in more) else None


def moved_third_card_is_asked(found: Difference) -> Verdict | None:
    """If Player stands after a correction, a person decides whether Player's third card is Banker's."""
    entry = found.taken.input
    if not (isinstance(entry, Commanded) and isinstance(entry.command, CorrectCard)):
        return None
    ours, _ = found.events()
    asked = [data["at"] for kind, data in ours if kind == "irregularity.noticed" and data["kind"] == "card-in-excess"]
    return Verdict.ENDS if FIRST_THIRD in asked else None


def kept_card_serves(found: Difference) -> Verdict | None:
    """If a correction of a paid round makes a card due, the card after that round is the due card, or it waits."""
    entry, before = found.taken.input, value(found.before, "state")
    if not (isinstance(entry, Commanded) and isinstance(entry.command, CorrectCard)) or before["phase"] != "settled":
        return None
    _, oracle = found.events()
    reopened = [data["due"] for kind, data in oracle if kind == "round.corrected"]
    asked = [each for each in found.both("question") if each]
    kept = any(each["kind"] == "card-in-excess" and each["question"] == "next-round" for each in asked[-1:])
    return Verdict.ENDS if any(reopened) or kept else None


def without_integrity(data: Any) -> Any:  # noqa: ANN401  # JSON
    return {key: each for key, each in data.items() if key != INTEGRITY}


PREDICATES: Final = (
    card_in_no_hand_is_asked,
    unknown_place_is_named,
    foreign_card_serves_in_no_round,
    next_round_waits_for_a_new_shoe,
    first_card_in_doubt_is_ruled,
    correction_is_counted_at_once,
    moved_third_card_is_asked,
    kept_card_serves,
    card_before_the_first_round_is_asked,
)
