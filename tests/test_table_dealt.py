"""A device that reports cards without a hand, the loading of a set and the empty shoe."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import CloseBets, CorrectCard, Decide, OpenBets, ReportIrregularity, SettleRound
from shoed.model.events import (
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
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import AnyObservation
from shoed.table import Custom
from tests.observed import CUT, EMPTIED, JUMPED, LOADED, NATURAL, UNPROVEN, TableRun, after, card, kinds


def test_cards_are_drawn_into_the_due_slots() -> None:
    """The Table of Play decides the third cards, and the next card starts the next round."""
    table = TableRun()
    published = [event for face in ("2S", "3H", "KS", "KH", "6S", "4H") for event in table.hear(card("dealt", face))]
    assert kinds(published) == [RoundStarted, *[CardDrawn] * 6, RoundCompleted]
    assert table.hands == "2S KS 6S / 3H KH 4H"
    table.hear(card("dealt", "9C"))
    assert (table.shown.round, table.hands) == (2, "9C /")


def test_the_cards_of_an_announced_round_start_no_other_round() -> None:
    """The announcement starts the round."""
    table = TableRun()
    table.tell(OpenBets())
    table.hear(card("dealt", "8S"))
    table.hear(card("dealt", "3H"))
    assert (table.shown.round, table.hands) == (1, "8S / 3H")


def test_a_person_names_the_face_of_an_unread_card() -> None:
    """The unread card was due, and the cards after it wait."""
    table = TableRun()
    for face in ("8S", "?", "JD", "4C"):
        table.hear(card("dealt", face))
    assert (table.question.question, table.question.index) == ("face", 2)
    table.answer("3H")
    assert (table.phase, table.hands) == ("complete", "8S JD / 3H 4C")


def test_the_answer_no_card_removes_an_unread_card() -> None:
    """The device names no slot, and the cards after the unread one move up."""
    table = TableRun()
    for face in ("8S", "?", "3H", "JD"):
        table.hear(card("dealt", face))
    would = {each.choice: each.banker.cards for each in table.question.consequences}
    assert would["no-card",] == (Card.H3,)
    assert "no-card" in table.refuses(Decide(question=table.question.id, choice="nothing"))
    table.answer("no-card")
    assert (table.phase, table.hands) == ("dealing", "8S JD / 3H")


def test_the_answer_no_card_is_refused_for_a_card_with_a_slot() -> None:
    """A card in a slot has left the shoe, and it can be foreign."""
    table = after(card("P1", "?"))
    decision = Decide(question=table.question.id, choice="no-card")
    assert (
        table.refuses(decision)
        == "no-card is not an answer to this question; write a card, as in 8S or 10H, or foreign-card"
    )


@pytest.mark.parametrize("settled", [False, True])
def test_a_card_after_an_announced_round_is_in_excess(settled: bool) -> None:  # noqa: FBT001 -- a table
    """C 5.7: a pit supervisor decides whether the card opens the next round."""
    table = TableRun(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    table.tell(CloseBets())
    for face in ("8S", "3H", "JD", "4C"):
        table.hear(card("dealt", face))
    if settled:
        table.tell(SettleRound())
    assert CardSetAside in kinds(table.hear(card("dealt", "5D")))
    assert table.question.kind == "card-in-excess"


# --- the set in the shoe


def test_a_loaded_set_starts_a_shoe() -> None:
    """The table observes this shoe from its start; the complete round is settled."""
    table = after(*NATURAL)
    assert kinds(table.hear(LOADED))[-1] is ShoeStarted
    assert (table.shown.shoe, table.shown.shoe_integrity, table.phase) == (2, "complete", "idle")


def test_a_set_loaded_during_a_round_starts_a_shoe() -> None:
    """No card of the old shoe can follow, and the round is abandoned."""
    table = after(*NATURAL[:3])
    assert kinds(table.hear(LOADED)) == [RoundAbandoned, ShoeStarted]
    assert table.shown.shoe_integrity == "complete"


def test_a_loaded_set_is_complete_after_a_loss() -> None:
    """The lost reports belong to the previous shoe."""
    table = after(*NATURAL, JUMPED, LOADED)
    assert table.shown.shoe_integrity == "complete"


def test_an_empty_shoe_reported_by_the_device_voids_a_round_that_needs_a_card() -> None:
    """C 5.5.4: the events have no author."""
    published = [event.data for event in after(*NATURAL[:3]).step(EMPTIED)]
    (emptied,) = (each for each in published if isinstance(each, ShoeEmptied))
    (void,) = (each for each in published if isinstance(each, RoundVoided))
    assert (emptied.author, void.clause, void.author) == (None, "5.5.4", None)
    assert [event.type for event in after(*NATURAL).step(EMPTIED)] == ["shoe.emptied"]


# --- lost reports


@pytest.mark.parametrize("missed", [JUMPED, UNPROVEN])
def test_after_a_loss_a_person_decides_whether_the_next_card_is_due(missed: AnyObservation) -> None:
    """The device names no slot: each missed card needs one more question about the first card."""
    table = after(*[card("dealt", face) for face in ("2S", "3H")], missed, card("dealt", "4H"))
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("missed")
    table.answer("9S")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("cards-shown")
    table.hear(card("dealt", "6S"))
    assert (table.phase, table.hands) == ("complete", "2S 9S 6S / 3H 4H")


def test_after_a_loss_between_two_rounds_the_first_card_may_be_missing() -> None:
    """The integrity of the round is partial after each answer."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "KS", "4H")], JUMPED, card("dealt", "9D"))
    assert (table.shown.round, table.phase) == (2, "suspended")
    assert table.asks("gap", "cards-shown", "missed")
    table.answer("cards-shown")
    table.hear_each([card("dealt", face) for face in ("KH", "KD", "9S")])
    last = table.shown.last_round
    assert last is not None
    assert (table.hands, last.integrity) == ("9D KD / KH 9S", "partial")


# --- rounds dealt while players have options


def test_the_next_round_begins_before_a_player_chooses() -> None:
    """A player without a choice continues: the waiting cards complete the round."""
    table = after(*[card("dealt", face) for face in ("8S", "3H")])
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1, order_known=True))
    assert table.question.question == "option"
    published = table.hear_each([card("dealt", face) for face in ("KS", "4H", "9D", "2D")])
    assert [type(each) for each in published if isinstance(each, RoundCompleted | RoundStarted)] == [
        RoundCompleted,
        RoundStarted,
    ]
    assert (table.shown.round, table.hands) == (2, "9D / 2D")


def test_bets_are_opened_before_a_player_chooses_if_the_round_has_all_cards() -> None:
    """The table refuses bets while the round needs a card."""
    table = after(*[card("dealt", face) for face in ("8S", "3H")])
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1, order_known=True))
    assert "answer question 1 first" in table.refuses(OpenBets())
    table.hear_each([card("dealt", face) for face in ("KS", "4H")])
    assert RoundCompleted in kinds(table.tell(OpenBets()))


def test_the_next_round_begins_after_a_complete_round_with_an_open_option() -> None:
    """The error is reported after the last card."""
    table = after(*[card("dealt", face) for face in ("2S", "3H", "KS", "KH", "6S", "4H")])
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1, order_known=True))
    assert table.question.question == "option"
    table.hear(card("dealt", "9D"))
    assert (table.shown.round, table.hands) == (2, "9D /")


def test_each_loss_has_its_own_question_at_its_next_card() -> None:
    """A second loss during the first question has its own question."""
    table = after(card("dealt", "8D"), JUMPED, card("dealt", "9H"), UNPROVEN)
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.hear(card("dealt", "6D"))
    table.answer("missed")
    table.answer("2C")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    table.answer("cards-shown")
    assert table.question.index == 4
    table.answer("cards-shown")
    assert table.hands == "8D 9H / 2C 6D"


def test_the_answer_no_card_leaves_a_later_loss_in_question() -> None:
    """The loss precedes the next card."""
    table = after(*[card("dealt", face) for face in ("8D", "?")], JUMPED, card("dealt", "9H"))
    table.answer("no-card")
    assert table.asks("gap", "cards-shown", "missed", "next-round")


def test_after_a_loss_the_next_round_may_have_begun() -> None:
    """The last card of this round and the first card of the next may be lost."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS")], JUMPED, card("dealt", "AH"))
    table.answer("missed")
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")
    table.answer("next-round")
    assert table.asks("gap", "cards-shown", "missed")
    table.answer("missed")
    table.answer("9S")
    table.answer("cards-shown")
    assert (table.shown.round, table.hands) == (2, "9S / AH")


def test_a_round_that_began_after_a_loss_is_partial_after_an_answer() -> None:
    """An answer places the card and proves no report."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS")], JUMPED, card("dealt", "AH"))
    for choice in ("missed", "4H", "next-round", "cards-shown"):
        table.answer(choice)
    table.hear_each([card("dealt", face) for face in ("8C", "7D", "AC")])
    last = table.shown.last_round
    assert last is not None
    assert (table.hands, last.round, last.integrity) == ("AH 7D / 8C AC", 2, "partial")


def test_a_round_is_partial_after_a_loss_between_its_waiting_cards() -> None:
    """The first waiting card precedes the loss, and the second card follows it."""
    for lost in (True, False):
        table = after(*[card("dealt", face) for face in ("8S", "3H", "KS", "?", "5D")])
        table.hear_each([JUMPED, card("dealt", "6D")] if lost else [card("dealt", "6D")])
        for choice in ("4H", "next-round", *(["cards-shown"] if lost else [])):
            table.answer(choice)
        table.hear_each([card("dealt", face) for face in ("3D", "KD")])
        last = table.shown.last_round
        assert last is not None
        assert (table.hands, last.round) == ("5D 3D / 6D KD", 2)
        assert last.integrity == ("partial" if lost else "complete")


def test_a_waiting_card_that_begins_a_round_after_the_cut_card_is_in_question() -> None:
    """The house deals no round after the round with the cut card."""
    table = TableRun(custom=Custom(rounds_after_cut=0))
    table.hear_each([CUT, *[card("dealt", face) for face in ("8S", "3H", "KS", "?", "5D")]])
    table.answer("4H")
    table.answer("next-round")
    assert (table.shown.round, table.question.question, table.question.kind) == (2, "confirm", "other")


def test_a_card_that_waits_after_the_last_card_may_belong_to_the_next_round() -> None:
    """The card was reported while a face was in question."""
    table = after(*[card("dealt", face) for face in ("8D", "3H", "KS", "?", "AH")])
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")


def test_a_card_after_a_loss_at_the_end_of_a_round_may_belong_to_the_next_round() -> None:
    """The announcement of the next round may be missing too."""
    table = TableRun()
    table.tell(OpenBets())
    table.hear_each([card("dealt", face) for face in ("8S", "3H", "KS", "?")])
    table.hear_each([UNPROVEN, card("dealt", "5D")])
    table.answer("4H")
    assert table.asks("reading", "next-round", "excess")
    assert table.hands == "8S KS / 3H 4H"


def test_a_corrected_round_is_overtaken_by_a_waiting_card() -> None:
    """The card that waited begins the next round, and `round/overtaken` is published."""
    table = TableRun()
    for face in ("2D", "7S", "9S", "JS", "2C"):
        table.hear(card("dealt", face))
    table.tell(CorrectCard(index=3, card=Card.H7))
    table.hear(card("dealt", "5H"))
    table.answer("yes")
    published = kinds(table.answer("next-round"))
    assert [each for each in published if each in (RoundCorrected, RoundOvertaken, RoundStarted)] == [
        RoundCorrected,
        RoundOvertaken,
        RoundStarted,
    ]
