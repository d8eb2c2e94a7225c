"""A suspended round: reports, decisions, corrections and configuration changes before its answer."""

import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import (
    CorrectCard,
    Decide,
    GrantSqueeze,
    OpenBets,
    ReportIrregularity,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.model.events import (
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    QuestionAsked,
    QuestionLapsed,
    RoundCorrected,
    RoundSettled,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
    Slot,
)
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import Outcome, Side
from shoed.model.step import Configured
from shoed.rules.load import GAMES
from shoed.table.public_state import unfinished
from tests.observed import NATURAL, TableRun, after, card, cards, kinds, left_over, opening_cards, together

CONFIGURED = Configured("{}", 3, "1")
NOT_INSURED = ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD)


def settled_table(game: str = "commission") -> TableRun:
    table = after(*NATURAL, game=game)
    table.tell(SettleRound())
    return table


# --- two matters at once


def test_a_matter_that_reopens_a_settled_round_precedes_a_matter_of_the_next() -> None:
    """C 5.5.2 and 5.5.3: both are asked in turn."""
    table = settled_table()
    table.tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT))
    assert kinds(table.tell(ReportIrregularity(kind=IrregularityKind.WRONG_COUNT))) == [
        RoundSuspended,
        IrregularityNoticed,
        QuestionAsked,
    ]
    assert table.question.question == "reconstructable"
    assert kinds(table.answer("yes"))[-1] is QuestionAsked
    while table.question.question == "option":
        table.answer("continue")
    assert (table.question.question, table.question.kind, table.phase) == ("next-round", "deck-count", "complete")
    table.answer("go-on")
    assert not table.state.asked


@pytest.mark.parametrize("correction", [CorrectCard(index=3, card=Card.DK), VoidRound()])
def test_a_matter_of_the_next_round_stays_open_after_a_correction(correction: CorrectCard | VoidRound) -> None:
    """The question keeps its id and depends on no card of the settled round."""
    table = settled_table()
    table.tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT))
    asked = table.question
    assert QuestionLapsed not in kinds(table.tell(correction))
    assert (table.question.id, table.question.evidence) == (asked.id, asked.evidence)


# --- between two rounds


def test_a_table_is_between_rounds_unless_a_round_or_a_question_holds_play() -> None:
    """Bets, an unfinished hand and a question about the next round hold play. An optional question does not."""
    table = after()
    assert unfinished("commission", table.state) is None
    table.tell(OpenBets())
    assert unfinished("commission", table.state) == "the end of round 1.1"
    table.hear_each(NATURAL)
    assert unfinished("commission", table.state) is None
    table.tell(SettleRound())
    table.tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT))
    assert unfinished("commission", table.state) == f"an answer to question {table.question.id}"
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR))
    table.hear(card("B3", "4D"))
    assert (table.question.question, table.question.optional) == ("intended", True)
    assert unfinished("super-six-plus", table.state) is None


# --- the result changes during a question


def test_a_decided_order_changes_the_result_at_once() -> None:
    """C 5.10: it is paid, even if the next round begins before the players choose."""
    table = after(*cards("P1 8D, B1 2S, P2 KH, B2 AC"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1))
    published = table.answer(("2S", "8D"))
    assert kinds(published) == [QuestionAnswered, RoundCorrected, QuestionAsked]
    assert isinstance(published[0], QuestionAnswered)
    assert published[0].choice == ("2S", "8D")
    (right,) = (each for each in published if isinstance(each, RoundCorrected))
    assert (right.outcome, right.player.points, right.banker.points) == (Outcome.BANKER, 2, 9)
    assert table.phase == "suspended"
    table.answer("return", bettor="ann")
    published = [event.data for event in table.step(card("P1", "3D"))]
    (paid,) = (each for each in published if isinstance(each, RoundSettled))
    assert (paid.outcome, paid.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


@pytest.mark.parametrize(
    "doubt",
    [
        ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False),
        ReportIrregularity(kind=IrregularityKind.WRONG_COUNT),
    ],
)
def test_a_correction_during_a_question_changes_the_result_at_once(
    doubt: ReportIrregularity,
) -> None:
    """The open question makes no difference."""
    table = after(*cards("P1 8D, B1 2S, P2 KH, B2 5C"))
    table.tell(doubt)
    published = table.tell(CorrectCard(index=4, card=Card.C7))
    (right,) = (each for each in published if isinstance(each, RoundCorrected))
    assert (right.outcome, table.phase) == (Outcome.BANKER, "suspended")
    assert table.shown.last_round is not None
    assert table.shown.last_round.result.outcome is Outcome.BANKER


def test_a_correction_during_a_question_may_make_a_card_due() -> None:
    """The round is incomplete again, and the next round abandons it without a settlement."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    (right,) = (each for each in table.tell(CorrectCard(index=1, card=Card.D2)) if isinstance(each, RoundCorrected))
    assert (right.outcome, right.due is not None, table.phase) == (None, True, "suspended")
    assert [event.type for event in table.step(card("P1", "3D"))][:2] == ["round.abandoned", "round.started"]


def test_an_open_question_about_an_order_leaves_the_result_unchanged() -> None:
    """Without an answer the order is the order of the reports."""
    table = after(*NATURAL)
    assert RoundCorrected not in kinds(table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1)))
    assert table.hands == "/"


def test_a_second_matter_keeps_the_decided_order() -> None:
    """The shown hands and the hands of a void follow every earlier answer."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1))
    table.answer(("2S", "QS"))
    table.answer("continue")
    assert table.hands == "2S 5H / QS AC"
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=4))
    assert table.hands == "2S 5H / QS AC"
    (void,) = (each for each in table.tell(VoidRound()) if isinstance(each, RoundVoided))
    assert (void.player.cards, void.banker.cards) == ((Card.S2, Card.H5), (Card.SQ, Card.CA))


# --- the configuration changes


def test_a_question_lapses_if_the_new_configuration_does_not_ask_it() -> None:
    """Insurance is switched off, and the daemon restarts."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC, P3 AS, B3 4D"), game="super-six-plus")
    table.tell(NOT_INSURED)
    assert table.question.question == "intended"
    table.settings = replace(table.settings, insurance=False)
    assert kinds([event.data for event in table.step(incoming=CONFIGURED)]) == [QuestionLapsed]
    assert not table.state.asked


def test_a_suspended_round_is_ruled_by_the_new_configuration() -> None:
    """Insurance is switched off during a question, and the neglected insurance has a new ruling at once."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC, P3 AS, B3 4D"), game="super-six-plus")
    table.tell(NOT_INSURED)
    table.hear(card("B3", "5D"))
    assert (table.phase, table.question.question) == ("suspended", "reading")
    table.settings = replace(table.settings, insurance=False)
    ruled, lapsed = [event.data for event in table.step(incoming=CONFIGURED)]
    assert isinstance(ruled, IrregularityRuled)
    assert isinstance(lapsed, QuestionLapsed)
    assert (ruled.kind, ruled.then, lapsed.question) == ("insurance-neglected", "stands", "intended")


def test_a_round_is_played_and_paid_by_the_book_of_its_start() -> None:
    """A new game in the configuration starts with the next round."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1))
    asked = table.question
    table.settings = replace(table.settings, game="super-six-plus")
    assert table.step(incoming=CONFIGURED) == ()
    assert table.question == asked
    table.answer(("8S", "3H"))
    table.answer("continue")
    (paid,) = (each for each in table.tell(SettleRound()) if isinstance(each, RoundSettled))
    assert "super-six-plus" not in paid.pays
    assert table.shown.last_round is not None
    assert table.shown.last_round.pays == paid.pays
    (started,) = (each for each in table.hear(card("P1", "8S")) if isinstance(each, RoundStarted))
    assert started.game == "super-six-plus"


@pytest.mark.parametrize("game", GAMES)
def test_a_void_round_stays_void_after_later_inputs(game: str) -> None:
    """The void is published, and its matters are closed."""
    table = after(*NATURAL, game="easy-six")
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_IN_EXCESS))
    table.answer("no")
    table.settings = replace(table.settings, game=game)
    table.step(incoming=CONFIGURED)
    table.hear(card("B2", "4D"))
    assert (table.phase, table.question.question) == ("voided", "next-round")
    table.answer("go-on")
    assert (table.phase, table.state.asked) == ("voided", ())


def test_a_restart_with_the_same_configuration_publishes_no_event() -> None:
    """The open question is unchanged."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1))
    asked = table.question
    assert table.step(incoming=CONFIGURED) == ()
    assert table.question == asked
    assert after(*NATURAL[:3]).step(incoming=CONFIGURED) == ()


# --- the choices of bettors


def test_a_bettor_with_a_choice_among_others_may_choose_in_a_later_question() -> None:
    """C 5.12.3: no player chooses twice in a question, and returned bets stay returned."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    table.answer("continue")
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    published = table.answer("return", bettor="ann")
    assert kinds(published) == [QuestionAnswered]
    assert (table.question.bettor, table.question.kind) == ("others", "dealing-error")
    table.answer("continue")
    assert table.phase == "complete"


def test_bettors_who_took_their_bets_back_are_not_asked_again() -> None:
    """Only the bettors who continue have the next option."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    table.answer("continue", bettor="bob")
    table.answer("return")
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    decision = Decide(question=table.question.id, choice="continue", bettor="ann")
    assert table.refuses(decision, None) == "the question is for bob, not for ann"
    table.answer("continue")
    (paid,) = (each for each in table.tell(SettleRound()) if isinstance(each, RoundSettled))
    assert [each.bettor for each in paid.returned] == ["others"]


# --- the previous shoe


def test_a_correction_of_the_previous_shoe_is_recorded_only() -> None:
    """The event names the shoe and the round."""
    table = after(*NATURAL)
    table.tell(StartShoe())
    (noticed,) = table.tell(CorrectCard(index=3, card=Card.H6, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.shoe, noticed.round, noticed.late, noticed.kind) == (1, 1, True, "correction")
    assert "clause 5.11" in table.refuses(VoidRound(round=1))
    assert table.refuses(VoidRound(round=2)) == "the previous shoe had no round 2"
    assert table.refuses(VoidRound()) == "this shoe has no round yet"


def test_an_announced_round_may_be_the_last_of_its_shoe() -> None:
    """A new shoe ended it before its first card, and it can be voided once."""
    table = after(*NATURAL)
    table.tell(OpenBets())
    table.tell(StartShoe())
    (voided,) = table.tell(VoidRound(round=2))
    assert isinstance(voided, RoundVoided)
    assert (voided.shoe, voided.round) == (1, 2)
    assert table.refuses(VoidRound(round=2)) == "round 2 is void already"


def test_a_report_about_the_previous_shoe_is_late() -> None:
    """C 5.11: the round stands."""
    table = after(*NATURAL)
    table.tell(StartShoe())
    noticed, ruled = table.tell(ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert isinstance(ruled, IrregularityRuled)
    assert (noticed.shoe, noticed.round, ruled.shoe, ruled.round, ruled.clause) == (1, 1, 1, 1, "5.11")


# --- authors and roles


def test_a_void_by_an_answer_names_the_author_of_the_answer() -> None:
    """The author of the report is not named."""
    table = after(*NATURAL, card("B3", "5D"))
    (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
    assert (void.author, void.role) == ("ann", Role.PIT_SUPERVISOR.value)


def test_a_void_by_a_report_names_the_author_of_the_report() -> None:
    """The author of an earlier answer is not named."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.OTHER))
    table.answer("continue")
    published = table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD), Role.PIT_MANAGER)
    (void,) = (each for each in published if isinstance(each, RoundVoided))
    assert void.role == "pit-manager"


def test_a_suspension_after_a_drawn_card_names_the_next_due_slot() -> None:
    """The card is in its hand, and the doubt concerns its order."""
    table = after(*NATURAL[:2])
    published = [event.data for event in table.step(NATURAL[2], found=[together("3H KS")])]
    (waits,) = (each for each in published if isinstance(each, RoundSuspended))
    assert waits.due == Slot(Side.BANKER, 2, 4)


def test_a_squeeze_is_refused_if_insurance_is_switched_off() -> None:
    """I 4.2.2: there is no insurance to waive."""
    table = after(*NATURAL[:2], game="super-six-plus")
    table.settings = replace(table.settings, insurance=False)
    assert "switched off" in table.refuses(GrantSqueeze())


# --- cards left over by a settlement


def test_a_correction_of_a_carried_card_settles_the_round_again() -> None:
    """The next round opens with the corrected card."""
    table = left_over()
    table.tell(SettleRound())
    (paid,) = (each for each in table.tell(CorrectCard(index=5, card=Card.D6)) if isinstance(each, RoundSettled))
    assert paid.carried == (Card.D6,)
    table.tell(OpenBets())
    table.hear(card("B1", "2C"))
    assert table.hands == "6D / 2C"


@pytest.mark.parametrize(("answer", "then"), [("yes", "continue"), ("no", "carried"), ("no", "go-on")])
def test_a_reopened_round_carries_no_card_until_it_is_settled_again(answer: str, then: str) -> None:
    """After a void a person decides whether the card is carried."""
    table = left_over()
    table.tell(SettleRound())
    table.tell(ReportIrregularity(kind=IrregularityKind.WRONG_COUNT))
    assert opening_cards(table) == ()
    table.answer(answer)
    while table.state.asked:
        table.answer(then)
    table.tell(OpenBets())
    assert opening_cards(table) == {"continue": (Card.D5,), "carried": (Card.D5,), "go-on": ()}[then]


def test_a_question_about_insurance_outlives_its_round() -> None:
    """I 5.13: the next round begins before the answer."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED))
    assert table.question.question == "intended"
    table.hear(card("P1", "3D"))
    assert (table.question.question, table.question.kind, table.phase) == (
        "intended",
        "insurance-neglected",
        "dealing",
    )
