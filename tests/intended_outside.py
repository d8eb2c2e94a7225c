"""The intended differences of cards that leave the shoe in no hand, and of what follows between two rounds."""

from typing import Any, Final

from shoed.commands import CorrectCard, Decide, Notice
from shoed.observations import CardSeen, Place
from shoed.step import Told
from shoed.words import Event as Kind
from tests.intended import Difference, Verdict
from tests.oracle_sides import value

IN_NO_HAND: Final = (Place.BURN, Place.FIRST_CARD, Place.LOCKED, Place.ERROR, Place.UNKNOWN)
NO_NEW_SHOE: Final = "the shoe is empty, no new shoe was announced"
FIRST_THIRD: Final = 5  # the index of the first third card
INTEGRITY: Final = "shoe_integrity"


def card_in_no_hand_is_asked(found: Difference) -> Verdict | None:
    """A card that leaves the shoe in the middle of a round in no hand waits for a person."""
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
    """A card with an unknown place is set aside for a reason of its own; the oracle gets the card as `locked`."""
    ours, oracle = found.events()
    as_locked = [(kind, {**data, "reason": "locked"}) for kind, data in ours if data.get("reason") == "unknown"]
    return Verdict.PASSES if as_locked and found.parts == ("events",) and as_locked == oracle else None


def card_before_the_first_round_is_asked(found: Difference) -> Verdict | None:
    """Before a shoe's first round, a card of a hand, an overdraw or a card with an unknown place is asked about."""
    ours, _ = found.events()
    asked = [data for kind, data in ours if kind == "question.asked" and data["round"] is None]
    return Verdict.ENDS if any(each["question"] in ("reading", "next-round") for each in asked) else None


def foreign_card_serves_in_no_round(found: Difference) -> Verdict | None:
    """A card that was named foreign is not kept for the next round, and a notice between two rounds may name it."""
    came = found.taken.came
    command = came.command if isinstance(came, Told) else None
    question, other = found.both("question") if "raised" not in found.parts else (None, None)
    if question is None and other is not None and "not-carried" in other["choices"]:
        return Verdict.ENDS  # the card was named in the step before, and opens no round
    is_notice = isinstance(command, Notice) and command.kind is Kind.FOREIGN_CARD
    if not is_notice and not (isinstance(command, Decide) and command.choice == "foreign-card"):
        return None
    ours, oracle = found.events()
    kept = [data for kind, data in oracle if kind == "irregularity.noticed" and data["kind"] == "card-in-excess"]
    settled = any(kind == "round.settled" for kind, _ in ours)
    named = [data["at"] for kind, data in ours if kind == "irregularity.noticed" and data["kind"] == "foreign-card"]
    refused = "answers" in found.parts and not ours
    return Verdict.ENDS if kept or settled or any(named) or refused else None


def next_round_waits_for_a_new_shoe(found: Difference) -> Verdict | None:
    """Bets that are opened, or a card, over an empty shoe are a matter that holds the next round."""
    ours, _ = found.events()
    noticed = [data["evidence"] for kind, data in ours if kind == "irregularity.noticed"]
    question = found.both("question")[1]
    if question is not None and question["kind"] == "too-few-cards" and question["round"] is None:
        return Verdict.ENDS  # a new shoe is there
    return Verdict.ENDS if any(each.startswith(NO_NEW_SHOE) for each in noticed) else None


def first_card_in_doubt_is_ruled(found: Difference) -> Verdict | None:
    """The first card of a shoe and a burnt card drawn together in an unknown order are ruled before the first round."""
    start = any(
        isinstance(each, CardSeen) and each.place in (Place.BURN, Place.FIRST_CARD) for each in found.taken.seen
    )
    ruled = [data["kind"] for kind, data in found.events()[0] if kind == "irregularity.ruled"]
    return Verdict.ENDS if start and "drawn-together" in ruled else None


def correction_is_counted_at_once(found: Difference) -> Verdict | None:
    """A face that a person named, and that the shoe then holds too often, is found in the same step."""
    came = found.taken.came
    ours, oracle = found.both("findings")
    named = isinstance(came, Told) and isinstance(came.command, CorrectCard | Decide)
    more = [each for each in ours or () if each not in oracle]
    return Verdict.ENDS if named and more and all(each["found"] == "TooOften" for each in more) else None


def moved_third_card_is_asked(found: Difference) -> Verdict | None:
    """After a correction by which Player stands, a person decides whether Player's third card is Banker's."""
    came = found.taken.came
    if not (isinstance(came, Told) and isinstance(came.command, CorrectCard)):
        return None
    ours, _ = found.events()
    asked = [data["at"] for kind, data in ours if kind == "irregularity.noticed" and data["kind"] == "card-in-excess"]
    return Verdict.ENDS if FIRST_THIRD in asked else None


def kept_card_serves(found: Difference) -> Verdict | None:
    """A card that followed a paid round is the due one, or waits, once a correction makes a card due."""
    came, before = found.taken.came, value(found.before, "state")
    if not (isinstance(came, Told) and isinstance(came.command, CorrectCard)) or before["phase"] != "settled":
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
