"""Reports that may have been lost: two rounds are never joined into one."""

import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import CloseBets, CorrectCard, Notice, OpenBets, SettleRound, StartShoe, VoidRound
from shoed.events import CardSetAside, RoundAbandoned, RoundCompleted, RoundStarted
from shoed.observations import AnyObservation
from shoed.table import AfterGap, Custom
from shoed.words import Event
from tests.observed import (
    CUT,
    JUMPED,
    LOADED,
    NATURAL,
    OPENED,
    PROVEN,
    STARTED,
    UNPROVEN,
    UNREAD_FAULT,
    Sitting,
    card,
    cards,
    closed,
    kinds,
    lock,
    result,
    together,
)


def table_of(after_gap: AfterGap, *seen: AnyObservation) -> Sitting:
    table = Sitting()
    table.settings = replace(table.settings, after_gap=after_gap)
    table.hear_each(seen)
    return table


def waiting(*seen: AnyObservation) -> Sitting:
    """A hand of two cards, a loss, and the card that is due."""
    return table_of(AfterGap.ASK, *NATURAL[:2], UNPROVEN, *seen or NATURAL[2:3])


# --- a person is asked


@pytest.mark.parametrize("loss", [JUMPED, UNPROVEN])
def test_the_first_card_after_a_loss_waits_though_it_is_in_the_due_slot(loss: AnyObservation) -> None:
    """A person states that the cards shown are those on the table; the round is then partial."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], loss, NATURAL[2])
    assert (table.phase, table.lies) == ("suspended", "8S / 3H")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    assert (table.question.proposed, table.question.role, table.question.clause) == (
        "cards-shown",
        "pit-supervisor",
        None,
    )
    assert table.question.evidence == ("reports may be missing between the cards shown and KS",)
    table.answer("cards-shown")
    assert (table.phase, table.lies) == ("dealing", "8S KS / 3H")
    (completed,) = (each for each in table.hear(NATURAL[3]) if isinstance(each, RoundCompleted))
    assert completed.integrity == "partial"


def test_a_proven_absence_changes_nothing() -> None:
    """Play continues without a question."""
    assert table_of(AfterGap.ASK, *NATURAL[:2], closed(), OPENED, PROVEN, NATURAL[2]).phase == "dealing"


def test_each_loss_is_asked_about_at_its_own_card() -> None:
    """The second loss while the first is asked; every card after it is read in its turn."""
    table = waiting(NATURAL[2], JUMPED, NATURAL[3])
    table.answer("cards-shown")
    assert (table.question.question, table.question.index) == ("gap", 4)
    table.answer("cards-shown")
    assert table.phase == "complete"


def test_a_lock_does_not_answer_for_a_card() -> None:
    """It says nothing about the hand; the next card is asked about."""
    table = waiting(lock(locked=True))
    assert (table.phase, table.state.asked) == ("dealing", ())
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


def test_a_result_after_a_loss_leaves_the_loss_to_the_next_card() -> None:
    """The result is not so; the card after it is the first one after the loss."""
    table = waiting(result("player"))
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


def test_an_overdraw_after_a_loss_is_asked_about_first() -> None:
    """Then it is read as usual, with the card that may have been missed."""
    table = waiting(card("overdraw", "KS"))
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("cards-shown")
    assert table.asks("reading", "due", "excess", "missed")


def test_an_overdraw_may_follow_a_missed_card_without_a_jump() -> None:
    """The numbers of some devices prove nothing."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], card("overdraw", "4H"))
    assert table.asks("reading", "due", "excess", "missed")
    table.answer("missed")
    table.answer("KS")
    table.answer("due")
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")


def test_a_missed_card_is_followed_by_the_card_in_its_slot() -> None:
    """The device names slots: no further question is needed."""
    table = waiting(NATURAL[3])
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("missed")
    table.answer("KS")
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")


def test_a_card_that_passed_unread_after_a_loss_is_not_placed() -> None:
    """It may be of another round; the next card is asked about."""
    table = waiting(lock(locked=True))
    table.step(lock(locked=False), found=[UNREAD_FAULT, together("3H ?")])
    assert (table.lies, table.state.asked) == ("8S / 3H", ())
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


# --- none of these


def test_none_of_these_abandons_the_round() -> None:
    """Its cards join no other: the rest of that round is of no round, and the shoe is partial."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    told = table.answer("none-of-these")
    assert RoundAbandoned in kinds(told)
    assert (table.phase, table.lies, table.state.asked) == ("abandoned", "/", ())
    (aside,) = (each for each in table.hear(NATURAL[3]) if isinstance(each, CardSetAside))
    assert aside.reason == "no-round"
    assert table.hear(result("player")) == []
    (started, _) = table.hear(card("P1", "9H"))
    assert isinstance(started, RoundStarted)
    assert (started.round, started.shoe_integrity) == (2, "partial")


def test_an_abandoned_round_keeps_what_outlives_it() -> None:
    """A doubt that is open stays open; no other question is."""
    table = waiting()
    table.tell(Notice(kind=Event.OTHER, at=2))
    table.answer("none-of-these" if table.question.question == "gap" else "continue")
    if table.phase == "suspended":
        table.answer("none-of-these")
    assert table.phase == "abandoned"
    assert "no round is complete" in table.refuses(SettleRound())
    table.tell(VoidRound())  # recorded: it was noticed too late
    assert table.phase == "abandoned"
    table.tell(OpenBets())
    assert (table.shown.round, table.phase) == (2, "betting")


def test_a_new_shoe_may_follow_an_abandoned_round() -> None:
    """The next shoe is whole."""
    table = waiting()
    table.answer("none-of-these")
    table.tell(StartShoe())
    assert (table.phase, table.shown.shoe, table.shown.shoe_integrity) == ("idle", 2, "complete")


def test_none_of_these_of_a_reading_is_decided_by_the_document() -> None:
    """The report is left out, and the round goes on or is void (C 5.17)."""
    for then, phase in (("continue", "dealing"), ("void", "voided")):
        table = table_of(AfterGap.ASK, *NATURAL[:2], card("B2", "4H"))
        table.answer("none-of-these")
        assert table.asks("ruling", "continue", "void")
        assert table.question.role == "shift-manager"
        table.answer(then)
        assert table.phase == phase


def test_none_of_these_of_a_result_leaves_it_out() -> None:
    """The cards after it end the round."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], result("tie"))
    table.answer("none-of-these")
    table.answer("continue")
    table.hear_each(NATURAL[2:])
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")


# --- the next round


def test_the_waiting_card_may_be_of_the_next_round() -> None:
    """Its first card was missed; the shoe is partial, because rounds may be. That the line was away is shown on."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], closed(), OPENED, UNPROVEN, card("B1", "4D"))
    told = table.answer("next-round")
    assert [each for each in kinds(told) if each in (RoundAbandoned, RoundStarted)] == [RoundAbandoned, RoundStarted]
    assert (table.question.question, table.question.gap) == ("face", True)
    table.answer("2C")
    assert (table.shown.round, table.lies) == (2, "2C / 4D")


def test_the_next_round_that_began_unheard_is_asked_about_by_the_house_rules() -> None:
    """A command closes the bets at this table, and none was heard for that round."""
    table = Sitting(custom=Custom(bets_close_by_command=True))
    for command in (OpenBets(), CloseBets()):
        table.tell(command)
    table.hear_each([*NATURAL[:2], UNPROVEN, card("B1", "4D")])
    table.answer("next-round")
    table.answer("2C")
    assert (table.question.question, table.question.kind, table.question.round) == ("confirm", "dealing-error", 2)


def test_what_came_together_with_a_card_goes_with_it_to_the_next_round() -> None:
    """C 5.10: it is put in order with the card that was missed before it."""
    table = table_of(AfterGap.ASK, *NATURAL, UNPROVEN)
    table.step(card("B1", "4D"), found=[together("4H 4D")])
    table.answer("next-round")
    table.answer("2C")
    assert (table.question.question, table.question.round, table.question.choices) == ("card-order", 2, ("2C", "4D"))


def test_an_overdraw_may_be_of_the_next_round() -> None:
    """The first card of that round was missed, and its own meaning is asked next."""
    table = waiting(card("overdraw", "4D"))
    table.answer("next-round")
    table.answer("2C")
    assert table.asks("reading", "due", "excess", "missed")


def test_a_first_player_card_needs_no_question() -> None:
    """The hand before it is abandoned; rounds may have been missed."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN)
    abandoned, started, _ = table.hear(card("P1", "9H"))
    assert isinstance(abandoned, RoundAbandoned)
    assert isinstance(started, RoundStarted)
    assert started.shoe_integrity == "partial"


def test_a_device_that_names_no_hand_is_asked_about_once_for_each_absence() -> None:
    """Also of the first card of a round; it opens the round that follows an abandoned one."""
    table = table_of(AfterGap.ASK, *[card("dealt", face) for face in ("8S", "3H")], UNPROVEN, card("dealt", "4H"))
    table.answer("none-of-these")
    table.hear(card("dealt", "9H"))
    assert (table.shown.round, table.asks("gap", "cards-shown", "missed")) == (2, True)
    table.answer("cards-shown")
    table.hear(card("dealt", "2H"))
    assert (table.phase, table.lies) == ("dealing", "9H / 2H")


# --- the settings


def test_a_house_may_abandon_the_round() -> None:
    """With the report that shows the loss, whatever it reports."""
    table = table_of(AfterGap.ABANDON, *NATURAL[:2])
    assert kinds(table.hear(UNPROVEN, lock(locked=True)))[0] is RoundAbandoned
    assert table.phase == "abandoned"


@pytest.mark.parametrize("face", ["P1", "dealt"])
def test_without_a_card_nothing_is_abandoned(face: str) -> None:
    """The round that was announced goes on."""
    table = table_of(AfterGap.ABANDON)
    table.tell(OpenBets())
    table.hear_each([UNPROVEN, card(face, "8S")])
    assert (table.shown.round, table.lies) == (1, "8S /")


def test_a_suspended_round_is_abandoned_too() -> None:
    """Its question lapses."""
    table = table_of(AfterGap.ABANDON, *NATURAL[:2], card("B2", "4H"))
    assert table.question.question == "reading"
    table.hear(UNPROVEN)
    assert (table.phase, table.state.asked) == ("abandoned", ())


@pytest.mark.parametrize("place", ["slot", "dealt"])
def test_a_bench_plays_on_where_no_loss_is_proven(place: str) -> None:
    """The round is partial. A proven loss is asked about."""
    four = NATURAL if place == "slot" else [card("dealt", face) for face in ("8S", "3H", "KS", "4H")]
    table = table_of(AfterGap.PARTIAL, *four[:2], UNPROVEN, *four[2:])
    last = table.shown.last_round
    assert last is not None
    assert (table.phase, last.integrity) == ("complete", "partial")
    table = table_of(AfterGap.PARTIAL, *four[:2], UNPROVEN, JUMPED, *four[2:])
    assert table.question.question == "gap"


def test_a_bench_plays_on_behind_a_loss_between_two_rounds() -> None:
    """A device that names no hand may have missed the first card: the round is partial, and nobody is asked."""
    four = [card("dealt", face) for face in ("8S", "3H", "KS", "4H")]
    table = table_of(AfterGap.PARTIAL, *four, UNPROVEN, *four)
    last = table.shown.last_round
    assert last is not None
    assert (last.round, last.integrity, table.state.asked) == (2, "partial", ())


# --- between rounds


@pytest.mark.parametrize("loss", [JUMPED, UNPROVEN])
def test_a_loss_between_rounds_makes_the_shoe_partial(loss: AnyObservation) -> None:
    """The next round takes the next number, and its own integrity is complete; the next shoe is whole."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL, loss)
    assert table.shown.shoe_integrity == "complete"
    table.hear_each(cards("P1 8S, B1 3H, P2 KS, B2 4H"))
    last = table.shown.last_round
    assert last is not None
    assert (table.shown.shoe_integrity, table.shown.round, last.integrity) == ("partial", 2, "complete")
    table.hear_each([CUT, STARTED])
    assert table.shown.shoe == 2


def test_a_confirmed_hand_leaves_the_shoe_whole() -> None:
    """No card of the shoe is missing."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    table.answer("cards-shown")
    table.hear_each([NATURAL[3], card("P1", "8S")])
    assert table.shown.shoe_integrity == "complete"


@pytest.mark.parametrize(("after_gap", "integrity"), [(AfterGap.ASK, "complete"), (AfterGap.PARTIAL, "partial")])
def test_an_abandoned_hand_leaves_the_shoe_whole_if_a_person_has_confirmed_it(
    after_gap: AfterGap, integrity: str
) -> None:
    """Where nobody is asked, cards of the shoe may be missing."""
    table = table_of(after_gap, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    if table.state.asked:
        table.answer("cards-shown")
    table.hear(card("P1", "9H"))
    assert (table.shown.round, table.shown.shoe_integrity) == (2, integrity)


def test_a_correction_while_the_loss_is_asked_about_keeps_the_question() -> None:
    """The hand that is shown changes."""
    table = waiting()
    table.tell(CorrectCard(index=1, card=Card.H9))
    assert (table.question.question, table.lies) == ("gap", "9H / 3H")
