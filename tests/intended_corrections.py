"""The intended differences in corrections, voids and settlements, and in the refusal of bets."""

from shoed.model.commands import AnyCommand, CorrectCard, OpenBets, ReportIrregularity, VoidRound
from shoed.model.step import Commanded
from tests.intended import Difference, Verdict
from tests.oracle_engines import value


def command(found: Difference) -> AnyCommand | None:
    incoming = found.taken.input
    return incoming.command if isinstance(incoming, Commanded) and "raised" not in found.parts else None


def accepted(found: Difference) -> tuple[bool, bool]:
    """Whether each engine accepted the command: the engine of shoed, then the oracle."""
    (ours,), (oracle,) = found.both("answers")
    return ours["accepted"], oracle["accepted"]


def refusal_names_the_question(found: Difference) -> Verdict | None:
    """While a question of the round is open, `open-bets` is refused with its number; the oracle starts a round."""
    if not isinstance(command(found), OpenBets):
        return None
    match accepted(found):
        case (False, False):
            return Verdict.PASSES if found.parts == ("answers",) else None
        case (False, True):
            return Verdict.ENDS if "answer question" in found.both("answers")[0][0]["detail"] else None
        case _:
            return None


def late_void_acts_or_is_refused(found: Difference) -> Verdict | None:
    """A late void publishes `round/voided`, or is refused; the oracle records the command without an effect."""
    if not isinstance(command(found), VoidRound):
        return None
    ours, oracle = found.events()
    match accepted(found):
        case (False, False):
            return Verdict.PASSES if found.parts == ("answers",) else None
        case (False, True):
            recorded = [data["kind"] for kind, data in oracle if kind == "irregularity.noticed"] == ["correction"]
            return Verdict.ENDS if recorded and not ours else None
        case _:
            return Verdict.ENDS if any(kind == "round.voided" for kind, _ in ours) else None


def matter_was_noticed_in_time(found: Difference) -> Verdict | None:
    """A matter counts in a round that is over if a person states that it was noticed in time."""
    given = command(found)
    return Verdict.ENDS if isinstance(given, ReportIrregularity) and given.in_time else None


def waiting_card_is_corrected(found: Difference) -> Verdict | None:
    """A waiting card can be corrected by its index."""
    if not isinstance(command(found), CorrectCard):
        return None
    match accepted(found):
        case (True, False):
            return Verdict.ENDS
        case (False, False):
            return Verdict.PASSES if found.parts == ("answers",) else None
        case _:
            return None


def settlement_is_published_again(found: Difference) -> Verdict | None:
    """A correction of a paid round publishes the settlement again in the same step."""
    after = value(found.ours, "state")
    ours, oracle = found.events()
    again = [kind for kind, _ in ours if kind == "round.settled"] and not any(k == "round.settled" for k, _ in oracle)
    return Verdict.ENDS if again and after["phase"] == "settled" else None


PREDICATES = (
    refusal_names_the_question,
    late_void_acts_or_is_refused,
    matter_was_noticed_in_time,
    waiting_card_is_corrected,
    settlement_is_published_again,
)
