"""While a round waits for a person: what else is said, decided, mended or changed in the meantime."""

import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import CorrectCard, Decide, GrantSqueeze, Notice, OpenBets, SettleRound, StartShoe, VoidRound
from shoed.events import (
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
from shoed.observations import Outcome, Pair
from shoed.rules.load import GAMES
from shoed.step import Configured
from shoed.words import Event, Role, Stage
from tests.observed import NATURAL, Sitting, after, card, cards, kinds, left_lying, left_over, together

CONFIGURED = Configured("{}", 3, "1")
NOT_INSURED = Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD)


def settled(game: str = "commission") -> Sitting:
    table = after(*NATURAL, game=game)
    table.tell(SettleRound())
    return table


# --- two doubts at once


def test_what_reopens_a_settled_round_is_asked_before_what_holds_the_next() -> None:
    """C 5.5.2 and 5.5.3: both are asked in turn."""
    table = settled()
    table.tell(Notice(kind=Event.DECK_COUNT))
    assert kinds(table.tell(Notice(kind=Event.WRONG_COUNT))) == [
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


@pytest.mark.parametrize("mending", [CorrectCard(index=3, card=Card.DK), VoidRound()])
def test_what_holds_the_next_round_is_asked_on_when_this_one_is_mended(mending: CorrectCard | VoidRound) -> None:
    """Under the same id: it hangs on no card of it."""
    table = settled()
    table.tell(Notice(kind=Event.DECK_COUNT))
    asked = table.question
    assert QuestionLapsed not in kinds(table.tell(mending))
    assert (table.question.id, table.question.evidence) == (asked.id, asked.evidence)


# --- the account changes while it waits


def test_an_order_that_was_decided_is_the_account_at_once() -> None:
    """C 5.10: the bets are paid by it, also where the next round begins before the players have chosen."""
    table = after(*cards("P1 8D, B1 2S, P2 KH, B2 AC"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    told = table.answer(("2S", "8D"))
    assert kinds(told) == [QuestionAnswered, RoundCorrected, QuestionAsked]
    assert isinstance(told[0], QuestionAnswered)
    assert told[0].choice == ("2S", "8D")
    (right,) = (each for each in told if isinstance(each, RoundCorrected))
    assert (right.outcome, right.player.points, right.banker.points) == (Outcome.BANKER, 2, 9)
    assert table.phase == "suspended"
    table.answer("return", bettor="ann")
    told = [event.data for event in table.step(card("P1", "3D"))]
    (paid,) = (each for each in told if isinstance(each, RoundSettled))
    assert (paid.outcome, paid.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


@pytest.mark.parametrize(
    "doubt",
    [
        Notice(kind=Event.DEALING_ERROR, reconstructable=False),
        Notice(kind=Event.WRONG_COUNT),
    ],
)
def test_a_card_that_is_mended_while_a_complete_round_waits_is_in_the_account_at_once(doubt: Notice) -> None:
    """Whatever is still asked of it."""
    table = after(*cards("P1 8D, B1 2S, P2 KH, B2 5C"))
    table.tell(doubt)
    told = table.tell(CorrectCard(index=4, card=Card.C7))
    (right,) = (each for each in told if isinstance(each, RoundCorrected))
    assert (right.outcome, table.phase) == (Outcome.BANKER, "suspended")
    assert table.shown.last_round is not None
    assert table.shown.last_round.result.outcome is Outcome.BANKER


def test_a_mended_card_may_make_a_card_due_while_the_round_waits() -> None:
    """It is not complete any more: the next round abandons it, and nothing is paid."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    (right,) = (each for each in table.tell(CorrectCard(index=1, card=Card.D2)) if isinstance(each, RoundCorrected))
    assert (right.outcome, right.due is not None, table.phase) == (None, True, "suspended")
    assert [event.type for event in table.step(card("P1", "3D"))][:2] == ["round.abandoned", "round.started"]


def test_cards_whose_order_is_asked_change_no_account_before_the_answer() -> None:
    """Who overtakes the question leaves the cards as they came."""
    table = after(*NATURAL)
    assert RoundCorrected not in kinds(table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1)))
    assert table.lies == "/"


def test_a_card_in_doubt_leaves_the_others_as_they_were_decided() -> None:
    """What is shown, and what a void round shows, are the hands by every answer so far."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    table.answer(("2S", "QS"))
    table.answer("continue")
    assert table.lies == "2S 5H / QS AC"
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=4))
    assert table.lies == "2S 5H / QS AC"
    (void,) = (each for each in table.tell(VoidRound()) if isinstance(each, RoundVoided))
    assert (void.player.cards, void.banker.cards) == ((Card.S2, Card.H5), (Card.SQ, Card.CA))


# --- the settings change


def test_a_question_that_the_settings_in_force_do_not_ask_lapses() -> None:
    """Insurance is switched off, and the daemon begins anew."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC, P3 AS, B3 4D"), game="super-six-plus")
    table.tell(NOT_INSURED)
    assert table.question.question == "intended"
    table.settings = replace(table.settings, insurance=False)
    assert kinds([event.data for event in table.step(came=CONFIGURED)]) == [QuestionLapsed]
    assert not table.state.asked


def test_a_round_that_waits_is_ruled_by_the_settings_in_force() -> None:
    """Insurance is switched off while a card is asked about: what was neglected has another ruling at once."""
    table = after(*cards("P1 QS, B1 2S, P2 5H, B2 AC, P3 AS, B3 4D"), game="super-six-plus")
    table.tell(NOT_INSURED)
    table.hear(card("B3", "5D"))
    assert (table.phase, table.question.question) == ("suspended", "reading")
    table.settings = replace(table.settings, insurance=False)
    ruled, lapsed = [event.data for event in table.step(came=CONFIGURED)]
    assert isinstance(ruled, IrregularityRuled)
    assert isinstance(lapsed, QuestionLapsed)
    assert (ruled.kind, ruled.then, lapsed.question) == ("insurance-neglected", "stands", "intended")


def test_a_round_is_played_and_paid_by_the_book_under_which_it_opened() -> None:
    """The table is set to another game while it waits: that is for the next one."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    asked = table.question
    table.settings = replace(table.settings, game="super-six-plus")
    assert table.step(came=CONFIGURED) == ()
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
def test_a_void_round_stays_void_whatever_is_said_after_it(game: str) -> None:
    """That it is void was told: nothing is asked of it any more."""
    table = after(*NATURAL, game="easy-six")
    table.tell(Notice(kind=Event.CARD_IN_EXCESS))
    table.answer("no")
    table.settings = replace(table.settings, game=game)
    table.step(came=CONFIGURED)
    table.hear(card("B2", "4D"))
    assert (table.phase, table.question.question) == ("voided", "next-round")
    table.answer("go-on")
    assert (table.phase, table.state.asked) == ("voided", ())


def test_the_same_settings_change_nothing() -> None:
    """The daemon was only started anew."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    asked = table.question
    assert table.step(came=CONFIGURED) == ()
    assert table.question == asked
    assert after(*NATURAL[:3]).step(came=CONFIGURED) == ()


# --- each bettor


def test_what_others_chose_holds_for_whoever_is_named_later() -> None:
    """Nobody chooses twice, and what went back stays back (C 5.12.3)."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    table.answer("continue")
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    told = table.answer("return", bettor="ann")
    assert kinds(told) == [QuestionAnswered]
    assert (table.question.bettor, table.question.kind) == ("others", "dealing-error")
    table.answer("continue")
    assert table.phase == "complete"


def test_who_took_the_bets_back_with_the_others_is_not_asked_again() -> None:
    """The question is that of whoever goes on."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    table.answer("continue", bettor="bob")
    table.answer("return")
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    decision = Decide(question=table.question.id, choice="continue", bettor="ann")
    assert table.refuses(decision, None) == "this is asked of bob"
    table.answer("continue")
    (paid,) = (each for each in table.tell(SettleRound()) if isinstance(each, RoundSettled))
    assert [each.bettor for each in paid.returned] == ["others"]


# --- another shoe


def test_a_round_of_a_shoe_that_is_gone_is_mended_on_record_only() -> None:
    """The record names its shoe and its round; which one is told, and none is guessed."""
    table = after(*NATURAL)
    table.tell(StartShoe())
    (noticed,) = table.tell(CorrectCard(index=3, card=Card.H6, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.shoe, noticed.round, noticed.late, noticed.kind) == (1, 1, True, "correction")
    assert "clause 5.11" in table.refuses(VoidRound(round=1))
    assert table.refuses(VoidRound(round=2)) == "the shoe before had no round 2"
    assert table.refuses(VoidRound()) == "this shoe has no round yet"


def test_a_round_without_a_result_is_the_last_of_its_shoe_as_well() -> None:
    """It was announced, and a new shoe began."""
    table = after(*NATURAL)
    table.tell(OpenBets())
    table.tell(StartShoe())
    (voided,) = table.tell(VoidRound(round=2))
    assert isinstance(voided, RoundVoided)
    assert (voided.shoe, voided.round) == (1, 2)
    assert table.refuses(VoidRound(round=2)) == "round 2 is void already"


def test_what_is_noticed_of_the_last_shoe_is_late() -> None:
    """C 5.11: it is ruled to stand."""
    table = after(*NATURAL)
    table.tell(StartShoe())
    noticed, ruled = table.tell(Notice(kind=Event.WRONG_COUNT, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert isinstance(ruled, IrregularityRuled)
    assert (noticed.shoe, noticed.round, ruled.shoe, ruled.round, ruled.clause) == (1, 1, 1, 1, "5.11")


# --- who decides


def test_a_round_that_an_answer_voids_names_who_gave_it() -> None:
    """Not who told what went wrong."""
    table = after(*NATURAL, card("B3", "5D"))
    (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
    assert (void.author, void.role) == ("ann", Role.PIT_SUPERVISOR.value)


def test_a_round_that_is_void_by_something_else_names_who_told_that() -> None:
    """Whoever answered a question about another irregularity voided nothing."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.OTHER))
    table.answer("continue")
    told = table.tell(Notice(kind=Event.FOREIGN_CARD), Role.PIT_MANAGER)
    (void,) = (each for each in told if isinstance(each, RoundVoided))
    assert void.role == "pit-manager"


def test_a_round_that_waits_over_a_drawn_card_says_what_is_due_after_it() -> None:
    """The card is in its hand; the doubt is about something else."""
    table = after(*NATURAL[:2])
    told = [event.data for event in table.step(NATURAL[2], found=[together("3H KS")])]
    (waits,) = (each for each in told if isinstance(each, RoundSuspended))
    assert waits.due == Slot(Pair.BANKER, 2, 4)


def test_a_squeeze_waives_nothing_where_insurance_is_switched_off() -> None:
    """There is none to waive (I 4.2.2)."""
    table = after(*NATURAL[:2], game="super-six-plus")
    table.settings = replace(table.settings, insurance=False)
    assert "switched off" in table.refuses(GrantSqueeze())


# --- what a settlement left over


def test_a_card_left_over_that_was_misread_is_settled_anew() -> None:
    """The next round opens with the card as it is."""
    table = left_over()
    table.tell(SettleRound())
    (paid,) = (each for each in table.tell(CorrectCard(index=5, card=Card.D6)) if isinstance(each, RoundSettled))
    assert paid.carried == (Card.D6,)
    table.tell(OpenBets())
    table.hear(card("B1", "2C"))
    assert table.lies == "6D / 2C"


@pytest.mark.parametrize(("answer", "then"), [("yes", "continue"), ("no", "carried"), ("no", "go-on")])
def test_a_settled_round_that_waits_has_nothing_left_over_until_it_is_settled_again(answer: str, then: str) -> None:
    """Void, it leaves to the next what a person says."""
    table = left_over()
    table.tell(SettleRound())
    table.tell(Notice(kind=Event.WRONG_COUNT))
    assert left_lying(table) == ()
    table.answer(answer)
    while table.state.asked:
        table.answer(then)
    table.tell(OpenBets())
    assert left_lying(table) == {"continue": (Card.D5,), "carried": (Card.D5,), "go-on": ()}[then]


def test_a_doubt_about_insurance_outlives_the_round_that_it_was_about() -> None:
    """I 5.13: nobody has found yet whether it was meant, and the next round begins."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED))
    assert table.question.question == "intended"
    table.hear(card("P1", "3D"))
    assert (table.question.question, table.question.kind, table.phase) == (
        "intended",
        "insurance-neglected",
        "dealing",
    )
