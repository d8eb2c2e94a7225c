"""The intended differences in the events, numbers and display of cards, and in the role that decides."""

from typing import Any, Final

from shoed.model.commands import Decide, ReportIrregularity
from shoed.model.observations import CardSeen, Place
from shoed.model.step import Commanded
from tests.intended import QUESTIONS, Difference, Verdict
from tests.oracle_engines import value

OF_NO_ROUND: Final = "the one before it was of no round"
NOT_DECIDED: Final = "may not decide this"


def bare(found: Any, *keys: str) -> Any:  # noqa: ANN401  # JSON
    """The document without these keys, at any depth."""
    match found:
        case dict():
            return {key: bare(each, *keys) for key, each in found.items() if key not in keys}
        case list():
            return [bare(each, *keys) for each in found]
        case _:
            return found


def equal(found: Difference, *keys: str) -> bool:
    """Whether all parts are equal without these keys."""
    return "raised" not in found.parts and all(
        bare(ours, *keys) == bare(oracle, *keys) for ours, oracle in map(found.both, found.parts)
    )


def supervisor_decides(found: Difference) -> Verdict | None:
    """If the document is silent, or a supervisor reported the matter, a ruling requires at least a pit supervisor."""
    entry = found.taken.input
    if "raised" not in found.parts and isinstance(entry, Commanded) and isinstance(entry.command, Decide):
        (ours,), (oracle,) = found.both("answers")
        if oracle["accepted"] and NOT_DECIDED in ours["detail"]:
            return Verdict.ENDS
    question, oracle_question = found.both("question")
    roles = [each and each["role"] for each in (question, oracle_question)]
    asked = [data["role"] for kind, data in found.events()[0] if kind == "question.asked"]
    if "pit-supervisor" in (roles[0], *asked) or (roles[0] and not roles[1]):
        return Verdict.PASSES if equal(found, "role", "then_asks", "void", "due", "outcome", "pays") else None
    return None


def index_counts_every_card(found: Difference) -> Verdict | None:
    """The index of a slot or a card counts every card that left the shoe for the round."""
    return Verdict.PASSES if equal(found, "index") else None


def card_is_shown_when_it_is_drawn(found: Difference) -> Verdict | None:
    """A card left over is in no hand until its `card/drawn` is published; the record keeps its bytes."""
    return Verdict.PASSES if equal(found, "hands", "player", "banker", "time", "provenance", "index") else None


def first_card_drawn_with_another_is_ruled(found: Difference) -> Verdict | None:
    """The first card of a shoe, drawn together with a card of no round, is a matter with a ruling."""
    ours, _ = found.events()
    noticed = [data["evidence"] for kind, data in ours if kind == "irregularity.noticed"]
    return Verdict.ENDS if any(OF_NO_ROUND in each for each in noticed) else None


def repeated_first_card_is_asked(found: Difference) -> Verdict | None:
    """Player's first card, reported again, leads to a question; the oracle starts a round with it."""
    firsts = [each for each in found.taken.seen if isinstance(each, CardSeen)]
    is_first = any(each.place is Place.PLAYER and each.position == 1 for each in firsts)
    ours, oracle = ([kind for kind, _ in of] for of in found.events())
    opened = oracle.count("round.started") > ours.count("round.started")
    return Verdict.ENDS if is_first and opened and "card.set-aside" in ours else None


def last_round_is_kept(found: Difference) -> Verdict | None:
    """While a corrected round needs a card, `last_round` is the completed round before it."""
    ours, oracle = (value(each, "state") for each in (found.ours, found.oracle))
    kept = ours and oracle and ours["last_round"] is not None and oracle["last_round"] is None
    return Verdict.PASSES if kept and equal(found, "last_round") else None


# The keys that the predicates above may change, in events and in the question.
OF_EVENTS: Final = ("sequence", "id", "role", "index", "player", "banker", "reason", "supersedes")
OF_QUESTIONS: Final = (
    "id",
    "asked_at",
    "role",
    "index",
    "time",
    "provenance",
    "consequences",
    "shoe",
    "round",
    "evidence",
)


def differences_meet(found: Difference) -> Verdict | None:
    """Several of the differences above in one step: numbers, roles, indices, and cards that are drawn later."""
    if "raised" in found.parts or "findings" in found.parts:
        return None
    events = [[each for each in of if each["type"] not in QUESTIONS] for of in found.both("events")]
    ours, oracle = (bare(each, *OF_EVENTS) for each in events)
    state = [bare(each, "hands", "last_round", "sequence") for each in found.both("state")]
    answers = [[each["accepted"] for each in of or ()] for of in found.both("answers")]
    asked = [bare(each, *OF_QUESTIONS) for each in found.both("question")]
    same = (ours == oracle, state[0] == state[1], answers[0] == answers[1], asked[0] == asked[1])
    return Verdict.PASSES if all(same) else None


def one_card_is_not_drawn_together(found: Difference) -> Verdict | None:
    """A notice `drawn-together` with the count 1 is refused, also between two rounds."""
    entry = found.taken.input
    if "raised" in found.parts or not isinstance(entry, Commanded) or not isinstance(entry.command, ReportIrregularity):
        return None
    return Verdict.ENDS if any("one card is not" in each["detail"] for each in found.both("answers")[0]) else None


PREDICATES: Final = (
    one_card_is_not_drawn_together,
    supervisor_decides,
    index_counts_every_card,
    first_card_drawn_with_another_is_ruled,
    repeated_first_card_is_asked,
    last_round_is_kept,
    card_is_shown_when_it_is_drawn,
)
LAST: Final = (differences_meet,)
