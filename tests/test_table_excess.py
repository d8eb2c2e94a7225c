"""Cards in excess: overdrawn cards, cards after the last card, and carried cards that open the next round."""

from typing import Final

import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import AnyCommand, CorrectCard, OpenBets, ReportIrregularity, SettleRound, VoidRound
from shoed.model.events import (
    CardDrawn,
    CardSetAside,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    QuestionAsked,
    RoundAbandoned,
    RoundCompleted,
    RoundCorrected,
    RoundOvertaken,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
)
from shoed.model.findings import OrderAltered, Unread
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import AnyObservation, FaultMeaning
from shoed.table.record import MOST_WAITING, Where
from tests.observed import (
    CUT,
    JUMPED,
    NATURAL,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    after,
    card,
    cards,
    dealt,
    kinds,
    opening_cards,
    result,
    together,
)

FOUND: Final = OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card late")


# --- overdrawn cards


def test_the_target_of_an_overdraw_is_published() -> None:
    """The maker's document assigns the card to the next round; the target is evidence only."""
    table = after(*NATURAL[:3])
    (set_aside, *_) = table.hear(replace(card("overdraw", "4H"), target="player 1"))
    assert isinstance(set_aside, CardSetAside)
    assert set_aside.reported.target == "player 1"
    assert table.question is not None
    assert "as overdrawn for player 1" in table.question.text


def test_an_overdrawn_card_while_a_card_is_due_is_in_question_at_once() -> None:
    """C 5.7: the answer `due` draws the card and needs no second question."""
    table = after(*NATURAL[:3])
    assert kinds(table.hear(card("overdraw", "4H"))) == [CardSetAside, RoundSuspended]
    assert table.asks("reading", "due", "excess", "missed")
    assert (table.question.clause, table.question.proposed, table.hands) == ("5.7", "due", "8S KS / 3H")
    published = table.answer("due")
    assert [(each.kind, each.clause) for each in published if isinstance(each, IrregularityRuled)] == [
        ("card-in-excess", "5.7")
    ]
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")


def test_an_overdrawn_card_in_excess_waits_for_the_end_of_the_round() -> None:
    """C 5.7: after the last card a pit supervisor decides whether the card opens the next round."""
    table = after(*NATURAL[:3], card("overdraw", "9C"))
    assert kinds(table.answer("excess"))[-1] is RoundResumed
    assert kinds(table.hear(NATURAL[3])) == [CardDrawn, RoundCompleted, RoundSuspended]
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    published = table.answer("yes")
    (resumed,) = (each for each in published if isinstance(each, RoundResumed))
    assert resumed.carried == (Card.C9,)


def test_an_overdrawn_card_and_an_early_result_are_in_question_in_their_order() -> None:
    """The shoe computes its result with the card; the first report has the first question."""
    table = after(*NATURAL[:3], card("overdraw", "9C"), result("banker"))
    assert table.asks("reading", "due", "excess", "missed")
    table.answer("excess")
    assert table.asks("reading", "missed", "not-so")
    assert table.question.clause is None
    table = after(*NATURAL[:3], result("banker"), card("overdraw", "9C"))
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    assert table.asks("reading", "due", "excess", "missed")
    table = after(*NATURAL[:3], result("banker"), card("overdraw", "KS"))  # possibly the same card
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    assert table.asks("reading", "same-card", "due", "excess", "missed")


def test_two_overdrawn_cards_are_asked_about_one_by_one() -> None:
    """The face is asked first; after completion each card is carried or voids the round."""
    table = after(*NATURAL[:3], card("B2", "?"), card("overdraw", "9C"), card("overdraw", "2D"))
    published = table.answer("4H")
    assert kinds(published)[-2:] == [IrregularityNoticed, QuestionAsked]
    assert RoundCompleted in kinds(published)
    assert kinds(table.answer("yes"))[-3:] == [IrregularityNoticed, IrregularityRuled, QuestionAsked]
    published = table.answer("yes")
    assert [each.carried for each in published if isinstance(each, RoundResumed)] == [(Card.C9, Card.D2)]


def test_an_overdrawn_card_after_the_last_card_is_in_question_at_once() -> None:
    """The published result stays during the question."""
    table = after(*NATURAL, result("player"))
    assert kinds(table.hear(card("overdraw", "9C"))) == [CardSetAside, RoundSuspended]
    assert table.answer("no")[-1].__class__ is RoundVoided


def test_a_person_names_the_face_of_an_overdrawn_card_first() -> None:
    """The next question is about the card in excess."""
    table = after(*NATURAL, card("overdraw", "?"))
    assert (table.question.question, table.question.index) == ("face", 5)
    table.answer("9C")
    assert table.question.kind == "card-in-excess"


def test_a_card_in_excess_reported_again_as_an_overdraw_is_one_card() -> None:
    """The event is published, and the question stays the same."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD, P3 4D"))
    asked = table.question
    assert [event.type for event in table.step(card("overdraw", "4D"))] == ["card.set-aside"]
    assert table.question == asked


@pytest.mark.parametrize(
    ("before", "answers"),
    [
        (cards("P1 8S, B1 ?, P2 4D"), ["2C"]),  # 4D waits and may be due
        ([*NATURAL[:3], card("overdraw", "4D")], ["excess"]),
        ([*NATURAL, card("overdraw", "4D")], ["yes"]),
    ],
)
def test_an_overdrawn_card_with_the_face_of_a_waiting_or_overdrawn_card_may_be_the_same(
    before: list[AnyObservation], answers: list[str]
) -> None:
    """A person decides whether it is the same card."""
    table = after(*before, card("overdraw", "4D"))
    for each in answers:
        table.answer(each)
    assert table.asks("reading", "same-card", *table.question.choices[1:-1])


def test_a_drawn_card_reported_again_as_an_overdraw_may_be_the_same() -> None:
    """The answer `same-card` resumes the round unchanged."""
    table = after(*NATURAL[:3], card("overdraw", "KS"))
    assert table.asks("reading", "same-card", "due", "excess", "missed")
    assert kinds(table.answer("same-card")) == [QuestionAnswered, RoundResumed]
    assert kinds(table.hear(NATURAL[3])) == [CardDrawn, RoundCompleted]
    assert not table.state.asked


def test_a_repeated_overdraw_is_in_question_after_the_result() -> None:
    """It waits during another question, and the completion is published first."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[FOUND])
    table.hear(card("overdraw", "4H"))
    published = table.answer("no")
    assert kinds(published)[-3:] == [RoundCompleted, RoundSuspended, QuestionAsked]
    assert table.asks("reading", "same-card", "excess")


@pytest.mark.parametrize("then", [card("overdraw", "5D"), card("overdraw", "?")])
@pytest.mark.parametrize("between", [(), (card("set-up", "5D"),)])
def test_an_overdrawn_card_with_another_face_is_another_card(
    then: AnyObservation, between: tuple[AnyObservation, ...]
) -> None:
    """A set-up card between the reports makes no difference."""
    table = after(*NATURAL[:3], *between, then)
    assert table.asks("reading", "due", "excess", "missed")


def test_after_a_loss_an_overdraw_is_never_offered_as_a_repeated_report() -> None:
    """The lost reports may include another card or the due card."""
    for face in ("KS", "5D", "?"):
        table = after(*NATURAL[:3], UNPROVEN, card("overdraw", face))
        assert table.asks("gap", "missed", "cards-shown", "next-round")
        table.answer("cards-shown")
        assert table.asks("reading", "due", "excess", "missed")


def test_overdrawn_cards_are_bounded_and_end_with_their_round() -> None:
    """A faulty shoe cannot grow the state, and an abandoned round drops its overdrawn cards."""
    table = after(*NATURAL[:2], *[card("overdraw", face) for face in ("9C", "9D") * 25])
    for _ in range(MOST_WAITING):
        table.answer("excess")
    assert (table.phase, len(table.state.record.at(Where.DEFERRED))) == ("dealing", MOST_WAITING)
    table.hear(card("overdraw", "9C"))
    table.answer("excess")
    assert len(table.state.record.at(Where.DEFERRED)) == MOST_WAITING
    assert kinds(table.hear(card("P1", "2C"))) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert table.state.record.at(Where.DEFERRED) == ()


# --- a card in excess in a round


def test_a_card_in_excess_that_cannot_be_put_back_voids_the_round() -> None:
    """C 5.5.3, F 5.2, E and T 5.1.2."""
    for game, clause in (
        ("commission", "5.5.3"),
        ("fortune-six", "5.2"),
        ("easy-six", "5.1.2"),
        ("tournament", "5.1.2"),
    ):
        table = after(*NATURAL, card("B3", "5D"), game=game)
        (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
        assert (void.kind, void.clause) == ("card-in-excess", clause)


def test_the_next_round_overtakes_a_card_in_excess() -> None:
    """Without an answer the round keeps its result, and the card opens no round."""
    table = after(*NATURAL, card("B3", "5D"), result("player"))
    published = table.hear(card("P1", "2C"))
    assert kinds(published) == [RoundStarted, CardDrawn]
    assert table.hands == "2C /"


def test_a_card_after_a_settled_round_makes_the_next_round_wait() -> None:
    """The bets are paid, and the card opens no round without an answer."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    published = [event.data for event in table.step(card("B3", "5D"))]
    assert kinds(published) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
    table.answer("go-on")
    assert kinds(table.tell(OpenBets()))[-1] is RoundStarted
    assert table.phase == "betting"


def test_two_cards_in_excess_open_the_next_round_together() -> None:
    """Their order is the order of their reports."""
    table = after(*NATURAL, card("B3", "5D"), card("B3", "6D"))
    for _ in range(2):
        table.answer("yes")
    assert not table.state.asked
    table.tell(OpenBets())
    table.hear(card("P2", "2C"))
    assert table.hands == "5D 2C / 6D"


# --- a card in excess between two rounds


def test_the_number_of_questions_about_cards_after_the_round_is_bounded() -> None:
    """A faulty shoe cannot grow the state, and each card is published."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear_each([card("B3", "5D")] * 50)
    for _ in range(MOST_WAITING):
        table.answer("go-on")
    assert not table.state.asked


def test_cards_left_over_and_cards_kept_open_the_next_round_in_their_order() -> None:
    """Cards left over by the round precede cards drawn after it; kept cards also survive a void."""
    table = after(*NATURAL, card("B3", "5D"))
    table.answer("yes")
    table.tell(SettleRound())
    table.hear(card("B3", "6D"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("P2", "2C"))
    assert table.hands == "5D 2C / 6D"
    table.tell(VoidRound())
    table.hear(card("B2", "7D"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.hands == "7D / 9C"


def test_a_card_without_a_face_opens_no_round() -> None:
    """A person sees the face and only lets the next round begin."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "?"))
    assert table.asks("next-round", "go-on")


def test_each_card_after_a_void_round_has_its_own_question() -> None:
    """One card has a face, and one has none."""
    table = after(*NATURAL[:2])
    table.tell(VoidRound())
    table.hear_each(cards("P2 5H, B2 ?"))
    for card_text in ("5H", "a card without a face"):
        (evidence,) = table.question.evidence
        assert evidence == f"{card_text} left the shoe after the round was over"
        table.answer("go-on")
    assert not table.state.asked


def test_a_card_of_the_previous_shoe_opens_no_round_of_the_next() -> None:
    """The question about the card stays open, and a kept card is dropped with its shoe."""
    table = after(*NATURAL, result("player"))
    table.tell(SettleRound())
    table.hear_each(cards("B3 5D, B3 6D"))
    table.answer("carried")
    assert table.asks("next-round", "carried", "go-on")
    table.hear_each([CUT, STARTED])
    assert table.asks("next-round", "go-on")
    table.answer("go-on")
    table.hear(card("P1", "2C"))
    assert table.hands == "2C /"


def test_a_card_without_an_answer_stays_in_question_and_does_not_suspend_play() -> None:
    """The next round waited for the answer and was overtaken."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear_each(cards("B3 5D, P1 2C"))
    assert table.asks("next-round", "carried", "go-on")
    table.hear(card("P1", "3C"))
    assert (table.phase, table.question.optional, table.question.round) == ("dealing", True, 2)
    assert table.asks("next-round", "carried", "go-on")


def test_an_unread_card_while_bets_are_open_is_in_no_hand() -> None:
    """It was drawn together with a card while a kept card was in question."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(OpenBets())
    unread = Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="the device reported fault 1")
    table.step(STOOD_BY, found=[unread, together("? 8S")])
    assert (table.phase, table.state.record.order) == ("betting", ())
    assert table.asks("next-round", "carried", "go-on")


@pytest.mark.parametrize("before", [[], [CUT, STARTED], [*NATURAL, CUT, STARTED, card("burn", "QC")]])
def test_an_overdrawn_card_before_the_first_round_of_a_shoe_is_in_question(before: list[AnyObservation]) -> None:
    """A person decides whether it opens that round; a second report is the same card."""
    table = after(*before, card("overdraw", "5D"), card("overdraw", "5D"))
    assert len(table.state.asked) == 1
    assert table.asks("next-round", "carried", "go-on")
    assert (table.question.kind, table.question.proposed, table.phase) == ("card-in-excess", "carried", "idle")
    table.hear(card("P1", "9H"))
    assert table.question.text.endswith("5D was drawn in excess. Does 5D open this round?")
    table.answer("go-on")
    assert table.hands == "9H /"


def test_an_overdrawn_card_while_bets_are_open_may_open_the_current_round() -> None:
    """The question and its consequences name this round."""
    table = after(*NATURAL)
    table.tell(OpenBets())
    table.hear(card("overdraw", "5D"))
    assert table.question.text == "Before round 2: 5D was drawn in excess. Does 5D open this round?"
    assert [each.effect for each in table.question.consequences] == [
        "5D opens this round. This round may begin.",
        "The card is put away. This round may begin.",
    ]


# --- a card after a complete round and a loss


@pytest.mark.parametrize("missed", [JUMPED, UNPROVEN])
@pytest.mark.parametrize(
    ("place", "choices"),
    [
        ("B1", ("next-round", "excess", "same-card", "read-again")),
        ("P2", ("next-round", "excess", "same-card", "read-again")),
        ("B2", ("next-round", "excess", "same-card", "read-again")),
        ("P3", ("excess", "next-round")),
        ("B3", ("excess", "next-round")),
    ],
)
def test_after_a_loss_the_next_round_may_have_begun(
    missed: AnyObservation, place: str, choices: tuple[str, ...]
) -> None:
    """A card of the first four belongs more likely to the next round, a third card more likely to this round."""
    table = after(*NATURAL, missed, card(place, "4D"))
    assert table.asks("reading", *choices)
    assert (table.question.proposed, table.question.index) == (choices[0], 5)


@pytest.mark.parametrize("place", ["B0", "B15"])
def test_an_impossible_slot_after_a_loss_is_in_excess(place: str) -> None:
    """The same holds without a gap."""
    table = after(*NATURAL, UNPROVEN, card(place, "4D"))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


def test_a_round_that_began_in_a_gap_continues_after_its_missed_card() -> None:
    """The previous round is settled as it was, and each missed card has its own question."""
    table = after(*NATURAL, result("player"), UNPROVEN, *cards("P2 4D, B2 5D"))
    published = table.answer("next-round")
    assert kinds(published) == [QuestionAnswered, RoundOvertaken, RoundStarted, RoundSuspended, QuestionAsked]
    table.answer("2C")
    assert table.asks("reading", "missed", "wrong-side")
    table.answer("missed")
    table.answer("3C")
    assert (table.phase, table.hands) == ("complete", "2C 4D / 3C 5D")
    last = table.shown.last_round
    assert last is not None
    assert (last.integrity, last.answer.value) == ("partial", "awaited")


def test_a_carried_card_opens_the_round_that_began_in_a_gap() -> None:
    """It is the first card, and the next report is in question again."""
    table = after(*NATURAL, card("overdraw", "5D"))
    table.answer("yes")
    table.hear_each([UNPROVEN, card("P2", "4D")])
    (asked,) = (each for each in table.question.consequences if each.choice == ("next-round",))
    assert (asked.player.cards, asked.then_asks) == ((Card.D5,), "reading")
    table.answer("next-round")
    assert (table.phase, table.hands, table.question.question) == ("suspended", "/", "reading")


def test_a_card_after_a_reopened_round_is_in_question_in_that_round() -> None:
    """A correction makes the carried card the last card of the round, and the next card has new readings."""
    table = after(*NATURAL, UNPROVEN, *cards("B3 5D, B3 6D"))
    table.answer("excess")
    table.answer("yes")
    assert table.asks("reading", "excess", "next-round")
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.asks("reading", "next-round", "excess", "same-card", "read-again")
    assert table.hands == "2S KS 5D / 3H 4H"
    table.answer("excess")
    published = table.answer("yes")
    assert [(each.player.cards, each.carried) for each in published if isinstance(each, RoundResumed)] == [
        ((Card.S2, Card.SK, Card.D5), (Card.D6,))
    ]


def test_a_round_that_began_in_a_gap_waits_for_the_ordered_set() -> None:
    """The consequence of the answer names this question."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    for choice in (("2C", "2H"), "continue", "yes"):
        table.answer(choice)
    table.hear_each([card("P3", "KD"), UNPROVEN, card("B1", "9C")])
    (asked,) = (each for each in table.question.consequences if each.choice == ("next-round",))
    assert asked.then_asks == "next-round"
    table.answer("next-round")
    assert (table.question.question, table.question.kind) == ("next-round", "set-replaced")


# --- the shoe counts a card left over


@pytest.mark.parametrize("then", [(), (SettleRound(),), (SettleRound(), VoidRound())])
def test_the_slot_after_the_carried_cards_starts_the_next_round(then: tuple[AnyCommand, ...]) -> None:
    """After a void the cards are not carried, and the report is in question."""
    table = after(*NATURAL, card("B3", "5D"), card("B3", "6D"))
    for _ in range(2):
        table.answer("yes")
    for command in then:
        table.tell(command)
    published = table.hear(card("P2", "2C"))
    assert (RoundStarted in kinds(published)) is (VoidRound() not in then)
    assert table.hands == ("5D 2C / 6D" if VoidRound() not in then else "8S KS / 3H 4H")


def test_of_two_equal_cards_left_over_the_foreign_one_opens_no_round() -> None:
    """C 5.5.1: the round is void, and a person decides on the other card."""
    table = after(*NATURAL, *cards("B3 5D, P3 5D"))
    for _ in range(2):
        table.answer("yes")
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=5))
    assert table.asks("next-round", "carried", "go-on")
    table.answer("carried")
    assert opening_cards(table) == (Card.D5,)


def test_an_overdrawn_card_after_the_round_with_the_face_of_the_last_card_is_another_card() -> None:
    """The last card was due and was not reported as a card in excess."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("overdraw", "4H"))
    assert table.asks("next-round", "carried", "go-on")


def test_a_kept_card_stays_kept_after_a_correction_that_makes_no_card_due() -> None:
    """C 5.7: the question about the next round stays open."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(CorrectCard(index=1, card=Card.H8))
    assert (table.phase, table.hands) == ("settled", "8H KS / 3H 4H")
    assert table.asks("next-round", "carried", "go-on")


def test_a_kept_card_with_another_slot_than_the_due_slot_is_in_question() -> None:
    """C 5.7: with the corrected face Player draws, and the shoe reported the card as Banker's third."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    assert table.hands == "2S KS / 3H 4H"


def test_a_card_kept_after_the_round_opens_the_next_round_without_an_announcement() -> None:
    """The slot after it starts the round."""
    table = after(*NATURAL, result("player"))
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    (set_aside,) = (each for each in table.events if each.type == "card.set-aside")
    table.answer("carried")
    started, first, second = table.hear(card("B1", "9C"))
    assert isinstance(started, RoundStarted)
    assert isinstance(first, CardDrawn)
    assert isinstance(second, CardDrawn)
    assert (first.set_aside, second.set_aside) == (f"word-bac-901-{set_aside.sequence}", None)
    assert table.hands == "5D / 9C"


def test_after_four_carried_cards_no_slot_starts_the_next_round() -> None:
    """The shoe's count is unknown; only Player's first card starts the round."""
    table = after(*NATURAL, *cards("B3 5D, B3 6D, B3 7D, B3 2D"))
    for _ in range(4):
        table.answer("yes")
    published = table.hear(card("P3", "9C"))
    assert kinds(published) == [CardSetAside, RoundSuspended]


@pytest.mark.parametrize(("banker", "account"), [("KH AD 7C", "KH AD AH"), ("KH 7D", "KH 7D"), ("KH 4D", "KH 4D AH")])
def test_an_overtaken_correction_publishes_its_result(banker: str, account: str) -> None:
    """With the corrected face Player stands, and Banker has the third card if it is due."""
    table = after(*dealt("4S AC AH", banker))
    table.tell(CorrectCard(index=1, card=Card.S6))
    corrected = [each for each in table.hear(card("P1", "9C")) if isinstance(each, RoundCorrected)]
    assert [" ".join(map(str, each.banker.cards)) for each in corrected] == [account]
