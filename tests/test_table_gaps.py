"""Reports that may be lost: the table never joins two rounds into one."""

import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import (
    CloseBets,
    CorrectCard,
    OpenBets,
    ReplaceSet,
    ReportIrregularity,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.model.events import CardSetAside, RoundAbandoned, RoundCompleted, RoundStarted
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import AnyObservation
from shoed.table import AfterGap, Custom
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
    TableRun,
    after,
    card,
    cards,
    closed,
    kinds,
    lock,
    result,
    together,
)


def table_of(after_gap: AfterGap, *seen: AnyObservation) -> TableRun:
    table = TableRun()
    table.settings = replace(table.settings, after_gap=after_gap)
    table.hear_each(seen)
    return table


def waiting_after_a_loss(*seen: AnyObservation) -> TableRun:
    """A hand of two cards, a loss, and the card that is due."""
    return table_of(AfterGap.ASK, *NATURAL[:2], UNPROVEN, *seen or NATURAL[2:3])


# --- the question about a gap


@pytest.mark.parametrize("loss", [JUMPED, UNPROVEN])
def test_the_first_card_after_a_loss_waits_in_the_due_slot_too(loss: AnyObservation) -> None:
    """A person states that the cards shown are the cards on the table, and the round is partial."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], loss, NATURAL[2])
    assert (table.phase, table.hands) == ("suspended", "8S / 3H")
    assert table.asks("gap", "cards-shown", "missed", "next-round")
    assert (table.question.proposed, table.question.role, table.question.clause) == (
        "cards-shown",
        "pit-supervisor",
        None,
    )
    assert table.question.evidence == ("reports may be missing between the cards shown and KS",)
    table.answer("cards-shown")
    assert (table.phase, table.hands) == ("dealing", "8S KS / 3H")
    (completed,) = (each for each in table.hear(NATURAL[3]) if isinstance(each, RoundCompleted))
    assert completed.integrity == "partial"


def test_a_proven_absence_asks_no_question() -> None:
    """The round continues."""
    assert table_of(AfterGap.ASK, *NATURAL[:2], closed(), OPENED, PROVEN, NATURAL[2]).phase == "dealing"


def test_each_loss_has_its_own_question_at_its_next_card() -> None:
    """A second loss during the first question is asked about after it."""
    table = waiting_after_a_loss(NATURAL[2], JUMPED, NATURAL[3])
    table.answer("cards-shown")
    assert (table.question.question, table.question.index) == ("gap", 4)
    table.answer("cards-shown")
    assert table.phase == "complete"


def test_a_lock_report_after_a_loss_asks_no_question() -> None:
    """It does not concern the hands; the next card is in question."""
    table = waiting_after_a_loss(lock(locked=True))
    assert (table.phase, table.state.asked) == ("dealing", ())
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


def test_a_result_after_a_loss_leaves_the_loss_in_question() -> None:
    """The result is wrong, and the next card is the first card after the loss."""
    table = waiting_after_a_loss(result("player"))
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


def test_an_overdraw_after_a_loss_is_in_question_as_a_gap_first() -> None:
    """The usual readings follow, with the missed card among them."""
    table = waiting_after_a_loss(card("overdraw", "KS"))
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("cards-shown")
    assert table.asks("reading", "due", "excess", "missed")


def test_an_overdraw_may_follow_a_missed_card_without_a_sequence_jump() -> None:
    """The sequence numbers of some devices prove nothing."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], card("overdraw", "4H"))
    assert table.asks("reading", "due", "excess", "missed")
    table.answer("missed")
    table.answer("KS")
    table.answer("due")
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")


def test_the_card_after_a_missed_card_needs_no_question() -> None:
    """The device names the slot."""
    table = waiting_after_a_loss(NATURAL[3])
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("missed")
    table.answer("KS")
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")


def test_an_unread_card_after_a_loss_has_no_place() -> None:
    """It may belong to another round, and the next card is in question."""
    table = waiting_after_a_loss(lock(locked=True))
    table.step(lock(locked=False), found=[UNREAD_FAULT, together("3H ?")])
    assert (table.hands, table.state.asked) == ("8S / 3H", ())
    table.hear(NATURAL[2])
    assert table.question.question == "gap"


# --- the answer "none of these"


def test_none_of_these_abandons_the_round() -> None:
    """The remaining cards of that round belong to no round, and the shoe is partial."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    published = table.answer("none-of-these")
    assert RoundAbandoned in kinds(published)
    assert (table.phase, table.hands, table.state.asked) == ("abandoned", "/", ())
    (set_aside,) = (each for each in table.hear(NATURAL[3]) if isinstance(each, CardSetAside))
    assert set_aside.reason == "no-round"
    assert table.hear(result("player")) == []
    (started, _) = table.hear(card("P1", "9H"))
    assert isinstance(started, RoundStarted)
    assert (started.round, started.shoe_integrity) == (2, "partial")


def test_an_abandoned_round_drops_the_questions_about_its_cards() -> None:
    """A settlement is refused, a void is recorded only, and the next bets are opened."""
    table = waiting_after_a_loss()
    table.tell(ReportIrregularity(kind=IrregularityKind.OTHER, at=2))
    table.answer("none-of-these" if table.question.question == "gap" else "continue")
    if table.phase == "suspended":
        table.answer("none-of-these")
    assert table.phase == "abandoned"
    assert "no round is complete" in table.refuses(SettleRound())
    table.tell(VoidRound())  # recorded only: too late for a void
    assert table.phase == "abandoned"
    table.tell(OpenBets())
    assert (table.shown.round, table.phase) == (2, "betting")


def test_a_new_shoe_may_follow_an_abandoned_round() -> None:
    """The integrity of the new shoe is complete."""
    table = waiting_after_a_loss()
    table.answer("none-of-these")
    table.tell(StartShoe())
    assert (table.phase, table.shown.shoe, table.shown.shoe_integrity) == ("idle", 2, "complete")


def test_none_of_these_as_a_reading_asks_for_a_ruling() -> None:
    """C 5.17: the report is dropped, and the round continues or is void."""
    for then, phase in (("continue", "dealing"), ("void", "voided")):
        table = table_of(AfterGap.ASK, *NATURAL[:2], card("B2", "4H"))
        table.answer("none-of-these")
        assert table.asks("ruling", "continue", "void")
        assert table.question.role == "shift-manager"
        table.answer(then)
        assert table.phase == phase


def test_none_of_these_as_the_reading_of_a_result_drops_the_result() -> None:
    """The next cards complete the round."""
    table = table_of(AfterGap.ASK, *NATURAL[:2], result("tie"))
    table.answer("none-of-these")
    table.answer("continue")
    table.hear_each(NATURAL[2:])
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")


# --- the next round


def test_the_waiting_card_may_belong_to_the_next_round() -> None:
    """Its first card is missed, and the shoe is partial; the question still shows the gap."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], closed(), OPENED, UNPROVEN, card("B1", "4D"))
    published = table.answer("next-round")
    assert [each for each in kinds(published) if each in (RoundAbandoned, RoundStarted)] == [
        RoundAbandoned,
        RoundStarted,
    ]
    assert (table.question.question, table.question.gap) == ("face", True)
    table.answer("2C")
    assert (table.shown.round, table.hands) == (2, "2C / 4D")


def test_a_question_after_the_round_shows_no_gap() -> None:
    """The gap was answered in the round; the question about the set concerns the next round."""
    table = after(*NATURAL[:3], closed(), OPENED, UNPROVEN, NATURAL[3])
    assert table.question.gap
    table.answer("cards-shown")
    table.tell(ReplaceSet())
    assert (table.question.question, table.question.gap) == ("next-round", False)


def test_the_house_rules_apply_to_a_round_that_began_in_a_gap() -> None:
    """A command closes the bets at this table, and no such command exists for that round."""
    table = TableRun(custom=Custom(bets_close_by_command=True))
    for command in (OpenBets(), CloseBets()):
        table.tell(command)
    table.hear_each([*NATURAL[:2], UNPROVEN, card("B1", "4D")])
    table.answer("next-round")
    table.answer("2C")
    assert (table.question.question, table.question.kind, table.question.round) == ("confirm", "dealing-error", 2)


def test_cards_drawn_together_move_to_the_next_round() -> None:
    """C 5.10: the card is put in order with the missed card before it."""
    table = table_of(AfterGap.ASK, *NATURAL, UNPROVEN)
    table.step(card("B1", "4D"), found=[together("4H 4D")])
    table.answer("next-round")
    table.answer("2C")
    assert (table.question.question, table.question.round, table.question.choices) == ("card-order", 2, ("2C", "4D"))


def test_an_overdraw_may_belong_to_the_next_round() -> None:
    """The first card of that round is missed, and the reading of the overdraw is the next question."""
    table = waiting_after_a_loss(card("overdraw", "4D"))
    table.answer("next-round")
    table.answer("2C")
    assert table.asks("reading", "due", "excess", "missed")


def test_players_first_card_after_a_loss_needs_no_question() -> None:
    """The previous hand is abandoned, and rounds may be missing."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN)
    abandoned, started, _ = table.hear(card("P1", "9H"))
    assert isinstance(abandoned, RoundAbandoned)
    assert isinstance(started, RoundStarted)
    assert started.shoe_integrity == "partial"


def test_a_device_without_hands_asks_once_for_each_absence() -> None:
    """The first card of a round is in question too, and it opens the round after an abandoned one."""
    table = table_of(AfterGap.ASK, *[card("dealt", face) for face in ("8S", "3H")], UNPROVEN, card("dealt", "4H"))
    table.answer("none-of-these")
    table.hear(card("dealt", "9H"))
    assert (table.shown.round, table.asks("gap", "cards-shown", "missed")) == (2, True)
    table.answer("cards-shown")
    table.hear(card("dealt", "2H"))
    assert (table.phase, table.hands) == ("dealing", "9H / 2H")


# --- the setting after_gap


def test_the_setting_abandon_abandons_the_round() -> None:
    """The first report after the loss abandons it, also a lock report."""
    table = table_of(AfterGap.ABANDON, *NATURAL[:2])
    assert kinds(table.hear(UNPROVEN, lock(locked=True)))[0] is RoundAbandoned
    assert table.phase == "abandoned"


@pytest.mark.parametrize("face", ["P1", "dealt"])
def test_the_setting_abandon_keeps_a_round_without_cards(face: str) -> None:
    """The announced round continues."""
    table = table_of(AfterGap.ABANDON)
    table.tell(OpenBets())
    table.hear_each([UNPROVEN, card(face, "8S")])
    assert (table.shown.round, table.hands) == (1, "8S /")


def test_the_setting_abandon_abandons_a_suspended_round() -> None:
    """Its question lapses."""
    table = table_of(AfterGap.ABANDON, *NATURAL[:2], card("B2", "4H"))
    assert table.question.question == "reading"
    table.hear(UNPROVEN)
    assert (table.phase, table.state.asked) == ("abandoned", ())


@pytest.mark.parametrize("place", ["slot", "dealt"])
def test_the_setting_partial_continues_without_a_proven_loss(place: str) -> None:
    """The round is partial; a proven loss is in question."""
    four = NATURAL if place == "slot" else [card("dealt", face) for face in ("8S", "3H", "KS", "4H")]
    table = table_of(AfterGap.PARTIAL, *four[:2], UNPROVEN, *four[2:])
    last = table.shown.last_round
    assert last is not None
    assert (table.phase, last.integrity) == ("complete", "partial")
    table = table_of(AfterGap.PARTIAL, *four[:2], UNPROVEN, JUMPED, *four[2:])
    assert table.question.question == "gap"


def test_the_setting_partial_continues_after_a_loss_between_two_rounds() -> None:
    """A device without hands may miss the first card: the round is partial, and no question is asked."""
    four = [card("dealt", face) for face in ("8S", "3H", "KS", "4H")]
    table = table_of(AfterGap.PARTIAL, *four, UNPROVEN, *four)
    last = table.shown.last_round
    assert last is not None
    assert (last.round, last.integrity, table.state.asked) == (2, "partial", ())


# --- between rounds


@pytest.mark.parametrize("loss", [JUMPED, UNPROVEN])
def test_a_loss_between_rounds_makes_the_shoe_partial(loss: AnyObservation) -> None:
    """The next round has the next number and is complete."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL, loss)
    assert table.shown.shoe_integrity == "complete"
    table.hear_each(cards("P1 8S, B1 3H, P2 KS, B2 4H"))
    last = table.shown.last_round
    assert last is not None
    assert (table.shown.shoe_integrity, table.shown.round, last.integrity) == ("partial", 2, "complete")
    table.hear_each([CUT, STARTED])
    assert table.shown.shoe == 2


def test_a_confirmed_hand_leaves_the_shoe_complete() -> None:
    """No card of the shoe is missing."""
    table = table_of(AfterGap.ASK, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    table.answer("cards-shown")
    table.hear_each([NATURAL[3], card("P1", "8S")])
    assert table.shown.shoe_integrity == "complete"


@pytest.mark.parametrize(("after_gap", "integrity"), [(AfterGap.ASK, "complete"), (AfterGap.PARTIAL, "partial")])
def test_an_abandoned_hand_leaves_the_shoe_complete_after_a_confirmation(after_gap: AfterGap, integrity: str) -> None:
    """Without a confirmation cards of the shoe may be missing."""
    table = table_of(after_gap, LOADED, *NATURAL[:2], UNPROVEN, NATURAL[2])
    if table.state.asked:
        table.answer("cards-shown")
    table.hear(card("P1", "9H"))
    assert (table.shown.round, table.shown.shoe_integrity) == (2, integrity)


def test_a_correction_during_the_question_about_a_gap_keeps_the_question() -> None:
    """The hands in the question change."""
    table = waiting_after_a_loss()
    table.tell(CorrectCard(index=1, card=Card.H9))
    assert (table.question.question, table.hands) == ("gap", "9H / 3H")
