"""A device that names no hand, but tells when a set is in the shoe and when none is left."""

import pytest

from shoed.cards import Card
from shoed.commands import CloseBets, CorrectCard, Decide, Notice, OpenBets, SettleRound
from shoed.events import (
    CardDrawn,
    CardSetAside,
    RoundAbandoned,
    RoundCompleted,
    RoundCorrected,
    RoundOvertaken,
    RoundStarted,
    RoundVoided,
    ShoeEmptied,
    ShoeStarted,
)
from shoed.observations import AnyObservation
from shoed.table import Custom
from shoed.words import Event
from tests.observed import CUT, EMPTIED, JUMPED, LOADED, NATURAL, UNPROVEN, Sitting, after, card, kinds


def test_cards_are_drawn_into_the_slots_that_are_due() -> None:
    """Third cards by the Table of Play, and the next round opens by its first card."""
    table = Sitting()
    told = [event for face in ("2S", "3H", "KS", "KH", "6S", "4H") for event in table.hear(card("dealt", face))]
    assert kinds(told) == [RoundStarted, *[CardDrawn] * 6, RoundCompleted]
    assert table.lies == "2S KS 6S / 3H KH 4H"
    table.hear(card("dealt", "9C"))
    assert (table.shown.round, table.lies) == (2, "9C /")


def test_an_announced_round_takes_them_in() -> None:
    """The announcement opened it; the first card opens no other."""
    table = Sitting()
    table.tell(OpenBets())
    table.hear(card("dealt", "8S"))
    table.hear(card("dealt", "3H"))
    assert (table.shown.round, table.lies) == (1, "8S / 3H")


def test_a_card_without_a_face_is_told_by_a_person() -> None:
    """It is the one that was due; those behind it wait."""
    table = Sitting()
    for face in ("8S", "?", "JD", "4C"):
        table.hear(card("dealt", face))
    assert (table.question.question, table.question.index) == ("face", 2)
    table.answer("3H")
    assert (table.phase, table.lies) == ("complete", "8S JD / 3H 4C")


def test_a_card_that_was_called_unread_may_have_been_none() -> None:
    """The device tells no slot: a person says that no card had left the shoe, and those behind it move up."""
    table = Sitting()
    for face in ("8S", "?", "3H", "JD"):
        table.hear(card("dealt", face))
    would = {each.choice: each.banker.cards for each in table.question.consequences}
    assert would["no-card",] == (Card.H3,)
    assert "no-card" in table.refuses(Decide(question=table.question.id, choice="nothing"))
    table.answer("no-card")
    assert (table.phase, table.lies) == ("dealing", "8S JD / 3H")


def test_a_card_that_was_told_in_a_slot_has_left_the_shoe() -> None:
    """It can be foreign, and not nothing."""
    table = after(card("P1", "?"))
    decision = Decide(question=table.question.id, choice="no-card")
    assert table.refuses(decision) == "no-card is no answer; write a card, as in 8S or 10H, or foreign-card"


@pytest.mark.parametrize("settled", [False, True])
def test_where_every_round_is_announced_a_card_behind_one_is_too_many(settled: bool) -> None:  # noqa: FBT001 -- a table
    """C 5.7: a person says whether it opens the next."""
    table = Sitting(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    table.tell(CloseBets())
    for face in ("8S", "3H", "JD", "4C"):
        table.hear(card("dealt", face))
    if settled:
        table.tell(SettleRound())
    assert CardSetAside in kinds(table.hear(card("dealt", "5D")))
    assert table.question.kind == "card-in-excess"


# --- the set in the shoe


def test_a_set_that_is_loaded_begins_a_shoe() -> None:
    """It was seen from its start; a complete round is settled by it."""
    table = after(*NATURAL)
    assert kinds(table.hear(LOADED))[-1] is ShoeStarted
    assert (table.shown.shoe, table.shown.shoe_integrity, table.phase) == (2, "complete", "idle")


def test_a_set_that_is_loaded_into_a_round_begins_a_shoe() -> None:
    """The device says so: no card of the old one comes any more, and the round is given up for all to see."""
    table = after(*NATURAL[:3])
    assert kinds(table.hear(LOADED)) == [RoundAbandoned, ShoeStarted]
    assert table.shown.shoe_integrity == "complete"


def test_a_set_that_is_loaded_is_whole_whatever_was_missed_before_it() -> None:
    """The loss was of the shoe before."""
    table = after(*NATURAL, JUMPED, LOADED)
    assert table.shown.shoe_integrity == "complete"


def test_a_shoe_that_says_that_it_is_empty_ends_a_round_that_needs_a_card() -> None:
    """C 5.5.4; nobody said it but the shoe."""
    told = [event.data for event in after(*NATURAL[:3]).step(EMPTIED)]
    (emptied,) = (each for each in told if isinstance(each, ShoeEmptied))
    (void,) = (each for each in told if isinstance(each, RoundVoided))
    assert (emptied.author, void.clause, void.author) == (None, "5.5.4", None)
    assert [event.type for event in after(*NATURAL).step(EMPTIED)] == ["shoe.emptied"]


# --- reports that were lost


@pytest.mark.parametrize("missed", [JUMPED, UNPROVEN])
def test_behind_a_loss_a_person_says_whether_the_next_card_is_the_one_that_is_due(missed: AnyObservation) -> None:
    """No slot tells: it is asked of the first card alone, and as often as one was missed."""
    table = after(*[card("dealt", face) for face in ("2S", "3H")], missed, card("dealt", "4H"))
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("missed")
    table.answer("9S")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("cards-shown")
    table.hear(card("dealt", "6S"))
    assert (table.phase, table.lies) == ("complete", "2S 9S 6S / 3H 4H")


def test_behind_a_loss_between_two_rounds_the_first_card_may_have_been_missed() -> None:
    """The record of that round is not whole, whatever is said."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "KS", "4H")], JUMPED, card("dealt", "9D"))
    assert (table.shown.round, table.phase) == (2, "suspended")
    assert table.asks("gap", "cards-shown", "missed")
    table.answer("cards-shown")
    table.hear_each([card("dealt", face) for face in ("KH", "KD", "9S")])
    last = table.shown.last_round
    assert last is not None
    assert (table.lies, last.integrity) == ("9D KD / KH 9S", "partial")


# --- rounds dealt while players choose


def test_the_next_round_begins_though_a_player_has_not_chosen() -> None:
    """Whoever does not choose plays on: the cards that wait end the round, and the next card is of another."""
    table = after(*[card("dealt", face) for face in ("8S", "3H")])
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1, order_known=True))
    assert table.question.question == "option"
    told = table.hear_each([card("dealt", face) for face in ("KS", "4H", "9D", "2D")])
    assert [type(each) for each in told if isinstance(each, RoundCompleted | RoundStarted)] == [
        RoundCompleted,
        RoundStarted,
    ]
    assert (table.shown.round, table.lies) == (2, "9D / 2D")


def test_bets_may_be_announced_though_a_player_has_not_chosen() -> None:
    """The round has all its cards."""
    table = after(*[card("dealt", face) for face in ("8S", "3H")])
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1, order_known=True))
    assert "answer question 1 first" in table.refuses(OpenBets())
    table.hear_each([card("dealt", face) for face in ("KS", "4H")])
    assert RoundCompleted in kinds(table.tell(OpenBets()))


def test_the_next_round_begins_behind_a_complete_one_of_which_a_player_has_not_chosen() -> None:
    """The error was told once the round had its cards."""
    table = after(*[card("dealt", face) for face in ("2S", "3H", "KS", "KH", "6S", "4H")])
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1, order_known=True))
    assert table.question.question == "option"
    table.hear(card("dealt", "9D"))
    assert (table.shown.round, table.lies) == (2, "9D /")


def test_each_loss_is_asked_of_the_card_behind_it() -> None:
    """A second one while the first is asked takes no doubt away."""
    table = after(card("dealt", "8D"), JUMPED, card("dealt", "9H"), UNPROVEN)
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.hear(card("dealt", "6D"))
    table.answer("missed")
    table.answer("2C")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("cards-shown")
    assert table.question.index == 4
    table.answer("cards-shown")
    assert table.lies == "8D 9H / 2C 6D"


def test_a_card_that_was_none_takes_no_doubt_of_the_one_behind_it() -> None:
    """The loss was before that one."""
    table = after(*[card("dealt", face) for face in ("8D", "?")], JUMPED, card("dealt", "9H"))
    table.answer("no-card")
    assert table.asks("gap", "cards-shown", "missed", "next-round")


def test_behind_a_loss_the_next_round_may_have_begun() -> None:
    """The last card of this one was lost, and perhaps the first of that."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS")], JUMPED, card("dealt", "AH"))
    table.answer("missed")
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")
    table.answer("next-round")
    assert table.asks("gap", "cards-shown", "missed")
    table.answer("missed")
    table.answer("9S")
    table.answer("cards-shown")
    assert (table.shown.round, table.lies) == (2, "9S / AH")


def test_a_round_that_began_after_a_loss_is_partial_though_a_person_confirmed_its_cards() -> None:
    """The first card that waits follows the loss. Its answer places the card, and proves no report."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS")], JUMPED, card("dealt", "AH"))
    for choice in ("missed", "4H", "next-round", "cards-shown"):
        table.answer(choice)
    table.hear_each([card("dealt", face) for face in ("8C", "7D", "AC")])
    last = table.shown.last_round
    assert last is not None
    assert (table.lies, last.round, last.integrity) == ("AH 7D / 8C AC", 2, "partial")


def test_a_round_is_partial_if_reports_were_lost_between_the_cards_that_waited_for_it() -> None:
    """The first card that waits precedes the loss, and the second one follows it. Without a loss it is complete."""
    for lost in (True, False):
        table = after(*[card("dealt", face) for face in ("8S", "3H", "KS", "?", "5D")])
        table.hear_each([JUMPED, card("dealt", "6D")] if lost else [card("dealt", "6D")])
        for choice in ("4H", "next-round", *(["cards-shown"] if lost else [])):
            table.answer(choice)
        table.hear_each([card("dealt", face) for face in ("3D", "KD")])
        last = table.shown.last_round
        assert last is not None
        assert (table.lies, last.round) == ("5D 3D / 6D KD", 2)
        assert last.integrity == ("partial" if lost else "complete")


def test_a_card_that_waited_begins_no_round_after_the_cut_card_without_a_question() -> None:
    """The house deals no round after the one with the cut card. The next round began with a card that waited."""
    table = Sitting(custom=Custom(rounds_after_cut=0))
    table.hear_each([CUT, *[card("dealt", face) for face in ("8S", "3H", "KS", "?", "5D")]])
    table.answer("4H")
    table.answer("next-round")
    assert (table.shown.round, table.question.question, table.question.kind) == (2, "confirm", "other")


def test_a_card_that_waits_behind_the_end_of_a_round_may_be_of_the_next() -> None:
    """It came while a face was asked; a house that announces its rounds takes it for one too many."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS", "?", "AH")])
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")


def test_a_card_behind_a_loss_at_the_end_of_a_round_may_be_of_the_next() -> None:
    """Also where bets were announced: the announcement of the next round may have been missed."""
    table = Sitting()
    table.tell(OpenBets())
    table.hear_each([card("dealt", face) for face in ("8S", "3H", "KS", "?")])
    table.hear_each([UNPROVEN, card("dealt", "5D")])
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")
    assert table.lies == "8S KS / 3H 4H"


def test_a_round_whose_result_is_corrected_at_its_end_waits_no_longer() -> None:
    """The card that waited begins the next round: `round/overtaken` is published as for any round that waited."""
    table = Sitting()
    for face in ("2D", "7S", "9S", "JS", "2C"):
        table.hear(card("dealt", face))
    table.tell(CorrectCard(index=3, card=Card.H7))
    table.hear(card("dealt", "5H"))
    table.answer("yes")
    told = kinds(table.answer("next-round"))
    assert [each for each in told if each in (RoundCorrected, RoundOvertaken, RoundStarted)] == [
        RoundCorrected,
        RoundOvertaken,
        RoundStarted,
    ]
