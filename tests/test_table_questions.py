"""The questions of a table: the reading of an unexpected report, the face of a card, and confirmations."""

import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import CloseBets, CorrectCard, Decide, OpenBets, ReportIrregularity, VoidRound
from shoed.model.events import (
    BetsClosed,
    CardDrawn,
    CardSetAside,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    QuestionAsked,
    QuestionLapsed,
    QuestionRevised,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundDisputed,
    RoundResumed,
    RoundSettled,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
)
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import AnyObservation, Outcome
from shoed.table.record import MOST_WAITING
from tests.observed import (
    CUT,
    JUMPED,
    NATURAL,
    OPENED,
    STARTED,
    UNPROVEN,
    TableRun,
    after,
    card,
    cards,
    closed,
    kinds,
    left_over,
    result,
    together,
)

# --- readings


@pytest.mark.parametrize(
    ("before", "report", "choices"),
    [
        ("P1 2S, B1 3S", "B2 4S", ("missed", "wrong-side")),
        ("P1 2S", "P2 4S", ("missed", "wrong-side")),
        ("P1 2S, B1 3S", "P3 4S", ("missed", "excess")),
        ("P1 2S, B1 3S", "B3 4S", ("missed", "excess")),
        ("P1 2S, B1 3S", "B1 4S", ("same-card", "read-again", "excess", "missed")),
        ("P1 2S, B1 3S", "P1 2S", ("same-card", "next-round", "excess", "missed")),
        ("P1 2S, B1 3S, P2 KS", "P3 4S", ("missed", "wrong-side")),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "P3 4S", ("same-card", "read-again", "excess", "missed")),
        ("P1 2S, B1 3S, P2 KS, B2 KH", "B3 4S", ("missed", "wrong-side")),
        ("P1 2S", "B0 4S", ("missed", "excess")),
        ("P1 2S", "B15 4S", ("missed", "excess")),
    ],
)
def test_a_card_that_is_not_due_asks_for_a_reading(before: str, report: str, choices: tuple[str, ...]) -> None:
    """The reported slot and the filled slots decide the readings; the likeliest is the first and is proposed."""
    table = after(*cards(before), *cards(report))
    asked = table.question
    assert table.asks("reading", *choices)
    assert asked.proposed == choices[0]
    assert (asked.role, asked.clause, asked.index) == ("pit-supervisor", None, len(cards(before)) + 1)


@pytest.mark.parametrize("report", [card("B2", "4S"), result("player")])
def test_after_a_gap_an_interruption_is_among_the_readings(report: AnyObservation) -> None:
    """C 5.4.2: the book voids a round without an outcome, and no further question is asked."""
    table = after(*cards("P1 2S, B1 3S"), closed(), OPENED, UNPROVEN, report)
    assert "interruption" in table.question.choices
    published = table.answer("interruption")
    assert [(each.then, each.clause) for each in published if isinstance(each, IrregularityRuled)] == [
        ("void", "5.4.2")
    ]
    assert table.phase == "voided"


def test_a_decided_interruption_is_not_offered_again() -> None:
    """F has no provision: a person lets the round continue, and the reading is still in question."""
    table = after(*cards("P1 2S, B1 3S"), result("forced-end"), game="fortune-six")
    assert table.asks("reading", "missed", "not-so", "interruption")
    table.answer("interruption")
    assert table.asks("ruling", "continue", "void")
    table.answer("continue")
    assert table.asks("reading", "missed", "not-so")


def test_a_person_names_the_face_of_a_missed_card() -> None:
    """The named card precedes the reported card, and the round is partial."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert kinds(table.answer("missed")) == [QuestionAnswered, QuestionAsked]
    assert (table.question.question, table.question.role, table.question.index) == ("face", "pit-supervisor", 3)
    assert kinds(table.answer("KH")) == [QuestionAnswered, CardDrawn, CardDrawn, RoundResumed]
    assert table.hands == "2S KH / 3S 4S"
    table.hear(card("P3", "5D"))
    last = table.shown.last_round
    assert last is not None
    assert last.integrity == "partial"


def test_a_card_on_the_wrong_side_is_the_due_card() -> None:
    """C 5.8: the card is drawn by the Table of Play."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    published = table.answer("wrong-side")
    assert kinds(published) == [QuestionAnswered, IrregularityNoticed, IrregularityRuled, CardDrawn, RoundResumed]
    (ruled,) = (each for each in published if isinstance(each, IrregularityRuled))
    assert (ruled.kind, ruled.then, ruled.clause) == ("wrong-side", "reconstruct", "5.8")
    assert table.hands == "2S 4S / 3S"


def test_a_card_reported_twice_is_one_card() -> None:
    """The round resumes unchanged."""
    table = after(*cards("P1 2S, B1 3S, B1 3S"))
    assert kinds(table.answer("same-card")) == [QuestionAnswered, RoundResumed]
    assert (table.phase, table.hands) == ("dealing", "2S / 3S")
    assert kinds(table.hear(card("P2", "4S"))) == [CardDrawn]


def test_a_card_read_again_has_the_later_face() -> None:
    """Both reports name the same slot."""
    table = after(*cards("P1 2S, B1 3S, B1 4H"))
    assert kinds(table.answer("read-again")) == [QuestionAnswered, RoundResumed]
    assert table.hands == "2S / 4H"


def test_a_card_read_again_without_a_face_keeps_its_face() -> None:
    """The first reading stands."""
    table = after(*cards("P1 2S, B1 3S, B1 ?"))
    table.answer("read-again")
    assert (table.phase, table.hands) == ("dealing", "2S / 3S")


def test_a_card_in_excess_is_drawn_where_the_table_of_play_needs_it() -> None:
    """C 5.7: a pit supervisor confirms it."""
    table = after(*cards("P1 2S, B1 3S, B1 4H"))
    published = table.answer("excess")
    assert kinds(published) == [QuestionAnswered, IrregularityNoticed, QuestionAsked]
    assert (table.question.kind, table.question.clause) == ("card-in-excess", "5.7")
    table.answer("yes")
    assert (table.phase, table.hands) == ("dealing", "2S 4H / 3S")


def test_a_third_card_for_a_standing_hand_is_in_excess() -> None:
    """It has no other reading; Banker must draw, and the card becomes Banker's third card."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD, P3 4D"))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    assert kinds(table.answer("yes"))[-2:] == [RoundResumed, RoundCompleted]
    assert table.hands == "6S KS / 3S KD 4D"


def test_an_early_result_that_is_wrong_is_dropped() -> None:
    """The round continues and awaits its result."""
    table = after(*cards("P1 8S, B1 3H"), result("forced-end"))
    assert table.asks("reading", "missed", "not-so", "interruption")
    table.answer("not-so")
    table.hear_each(cards("P2 KS, B2 4H"))
    assert (table.phase, table.hear(result("player"))[0].__class__) == ("complete", RoundConfirmed)


@pytest.mark.parametrize(("outcome", "answer"), [("player", RoundConfirmed), ("tie", RoundDisputed)])
def test_an_early_result_is_compared_after_the_missed_card_is_named(outcome: str, answer: type) -> None:
    """The last card was missed, and the shoe does not report its result again."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 KD, P3 6D"), result(outcome))
    table.answer("missed")
    assert kinds(table.answer("4D")) == [QuestionAnswered, CardDrawn, RoundResumed, RoundCompleted, answer]


def test_a_result_during_a_question_is_compared_after_the_last_card() -> None:
    """The result follows a card whose face is in question."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"), result("player"))
    published = table.answer("4C")
    assert kinds(published) == [QuestionAnswered, CardDrawn, RoundResumed, RoundCompleted, RoundConfirmed]


# --- the device counts other hands


def with_exposed_third_card() -> TableRun:
    """Player's third card is exposed and kept for the next round, and the shoe counts it."""
    table = after(*cards("P1 2D, B1 KC, P2 3S, B2 KH, P3 4C"))
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=5))
    table.answer("no")
    return table


def test_a_card_that_the_shoe_counts_differently_is_the_due_card() -> None:
    """The answer `due` opens no matter; the answer `excess` is offered."""
    table = with_exposed_third_card()
    table.hear(card("B3", "JH"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    assert (table.question.proposed, table.question.clause) == ("due", None)
    assert kinds(table.answer("due")) == [QuestionAnswered, CardDrawn, RoundResumed]
    assert table.hands == "2D 3S JH / KC KH"


def test_the_due_slot_may_be_a_slot_that_the_shoe_reported_before() -> None:
    """The shoe did not count the exposed card, or it reports the card again."""
    table = with_exposed_third_card()
    table.hear(card("P3", "JH"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    (evidence,) = table.question.evidence
    assert evidence.startswith("JH was reported as player 3, and that slot is due, but the shoe may count other cards")
    table.answer("same-card")
    assert table.hands == "2D 3S / KC KH"


def test_a_gap_in_the_shoes_own_count_offers_a_missed_card() -> None:
    """The shoe skips one of its own slots."""
    table = after(*cards("P1 8S, B1 3H"))
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=2))
    table.answer("no")
    table.answer("continue")
    table.hear(card("P3", "4C"))
    assert table.asks("reading", "missed", "excess")


def test_a_shoe_that_read_another_face_draws_by_that_face() -> None:
    """By the corrected face Player stands, and by the shoe's face Player draws."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 KD"))
    table.tell(CorrectCard(index=1, card=Card.S6))
    table.hear(card("P3", "4D"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert table.hands == "6S KS / 3S KD 4D"


def test_after_a_card_on_the_wrong_side_the_shoe_counts_differently() -> None:
    """The shoe's slot P2 is Banker's due card; the line was down."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.answer("wrong-side")
    table.hear_each([closed(), OPENED, card("P2", "5S")])
    assert table.asks("reading", "due", "excess", "missed", "same-card", "interruption")
    table.answer("due")
    assert table.hands == "2S 4S / 3S 5S"


def test_a_third_card_of_a_shoe_that_ignores_the_card_left_over_is_the_due_card() -> None:
    """The shoe's count is one card late, and its fourth card is still to be reported."""
    table = left_over()
    table.hear(card("P1", "3C"))
    table.answer("carried")
    table.hear_each(cards("B1 KC, P2 2H, B2 9H"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert (table.phase, table.hands) == ("complete", "5D KC 9H / 3C 2H")


@pytest.mark.parametrize(
    ("before", "report", "missed", "hands"),
    [
        # The shoe read another face, and Player's third card is among the lost reports.
        ("P1 KC, B1 9C, P2 3D, B2 4H", "B3 10S", "5C", "KC 3D 5C / 9C 6S 10S"),
        # The shoe does not count the card left over: its slot P2 is Player's second card.
        (None, "P2 9S", "8C", "3C 8C / 9H 9S"),
    ],
)
def test_after_a_loss_with_a_different_count_of_the_shoe_a_missed_card_is_proposed(
    before: str | None, report: str, missed: str, hands: str
) -> None:
    """The table does not place the card into the due slot by itself."""
    if before is not None:
        table = after(*cards(before))
        table.tell(CorrectCard(index=4, card=Card.S6))
    else:
        table = left_over("3C")
        table.hear(card("P1", "9H"))
        table.answer("carried")
    table.hear_each([JUMPED, *cards(report)])
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    assert table.question.proposed == "missed"
    table.answer("missed")
    table.answer(missed)
    assert table.hands == hands


def test_a_third_card_before_the_first_card_may_be_the_first_card() -> None:
    """A correction ended the previous round with other cards than the shoe counts, and bets are open."""
    table = after(*cards("P1 2H, B1 3H, P2 KS, B2 4H"))
    table.tell(CorrectCard(index=1, card=Card.H9))
    table.tell(OpenBets())
    table.hear(card("P3", "5D"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert table.hands == "5D /"


# --- a card left over


def test_a_carried_card_opens_the_next_round() -> None:
    """C 5.7: the settlement names it, and the first card of the next round follows it."""
    table = left_over()
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")
    (settled,) = (each for each in table.tell(OpenBets()) if isinstance(each, RoundSettled))
    assert settled.carried == (Card.D5,)
    table.tell(CloseBets())
    drawn = [each for each in table.hear(card("B1", "9C")) if isinstance(each, CardDrawn)]
    assert [(each.index, each.set_aside is not None) for each in drawn] == [(1, True), (2, False)]
    assert table.hands == "5D / 9C"
    table.hear_each(cards("P2 2C, B2 KD"))
    last = table.shown.last_round
    assert last is not None
    assert (table.hands, last.integrity) == ("5D 2C / 9C KD", "complete")


def test_a_shoe_that_ignores_the_card_left_over_counts_one_card_late() -> None:
    """The table asks once whether the card was dealt, and then shifts the slots until the third cards."""
    table = left_over()
    published = [event.data for event in table.step(card("P1", "3C"))]
    assert kinds(published)[-3:] == [CardSetAside, RoundSuspended, QuestionAsked]
    assert table.asks("reading", "carried", "not-carried")
    assert table.hands == "/"
    table.answer("carried")
    assert table.hands == "5D / 3C"
    assert kinds(table.hear_each(cards("B1 KC, P2 2H"))) == [CardDrawn, CardDrawn]
    assert table.hands == "5D KC / 3C 2H"
    table.hear(card("B2", "9H"))
    assert (table.phase, table.question.question) == ("suspended", "reading")


def test_a_carried_card_that_was_put_away_is_in_no_round() -> None:
    """The shoe's first card is the first card of the round."""
    table = left_over()
    table.hear(card("P1", "3C"))
    table.answer("not-carried")
    assert table.hands == "3C /"
    before = table.state
    assert kinds(table.hear_each(cards("B1 KC, P2 2H"))) == [CardDrawn, CardDrawn]
    table.state = before
    table.hear(card("P2", "2H"))
    assert table.asks("reading", "missed", "wrong-side")  # the question about the card left over is not repeated


def test_the_next_shoe_begins_without_a_carried_card() -> None:
    """A carried card is dropped with its shoe."""
    table = left_over()
    table.hear_each([CUT, STARTED, *NATURAL])
    assert table.hands == "8S KS / 3H 4H"


def test_a_question_before_the_first_card_is_revised_by_the_carried_card() -> None:
    """The hands of the question contain the carried card."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=True))
    assert (table.question.question, table.hands) == ("option", "/")
    assert kinds([event.data for event in table.step(card("P1", "3C"))]) == [
        BetsClosed,
        CardSetAside,
        CardDrawn,
        QuestionRevised,
    ]
    assert (table.question.question, table.hands) == ("option", "5D /")


def test_a_carried_card_stays_carried_after_a_void_without_cards() -> None:
    """A round that is void before its first card does not draw it."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD))
    assert table.phase == "voided"
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.hands == "5D / 9C"


# --- faces


@pytest.mark.parametrize(("before", "place", "hands"), [([], "P1", "9C /"), (cards("P1 2S"), "B1", "2S / 9C")])
def test_an_unread_card_waits_for_its_face(before: list[AnyObservation], place: str, hands: str) -> None:
    """A pit supervisor names the face, and until then the card is in no hand."""
    table = after(*before, card(place, "?"))
    assert (table.question.question, table.question.role) == ("face", "pit-supervisor")
    assert "9C" not in table.hands
    table.answer("9C")
    assert (table.phase, table.hands) == ("dealing", hands)


def test_an_unread_card_may_be_foreign() -> None:
    """C 5.5.1: the round is void."""
    table = after(*cards("P1 2S, B1 ?"))
    published = table.answer("foreign-card")
    (void,) = (each for each in published if isinstance(each, RoundVoided))
    assert (void.kind, void.clause, void.returns) == ("foreign-card", "5.5.1", "5.15")
    assert table.phase == "voided"


def test_each_rank_is_shown_with_its_consequence() -> None:
    """Suits make no difference: there are thirteen ranks and a foreign card."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"))
    shown = {each.choice[0]: each for each in table.question.consequences}
    assert len(shown) == 14
    assert (shown["any 4"].outcome, shown["any 4"].due) == (Outcome.PLAYER, None)
    assert shown["any 6"].outcome is Outcome.BANKER
    assert shown["any 3"].pays is not None
    assert shown["any 3"].pays["banker-pair"] == "11:1"
    assert (shown["foreign-card"].void, shown["foreign-card"].outcome) == ("5.5.1", None)


def test_cards_during_a_question_wait_and_are_drawn_in_their_order() -> None:
    """Each card is set aside, and none is lost."""
    table = after(*cards("P1 2S, B1 ?, P2 KS, B2 KH, P3 6D"))
    published = [event.type for event in table.events if event.type != "question.revised"]
    assert published[-3:] == ["card.set-aside"] * 3
    table.answer("3S")
    assert (table.phase, table.hands) == ("dealing", "2S KS 6D / 3S KH")


def test_the_number_of_waiting_cards_is_bounded() -> None:
    """A faulty shoe cannot grow the state, and each card is published."""
    table = after(*cards("P1 2S, B1 ?"))
    published = table.hear_each([card("B3", "4S")] * 100)
    assert kinds(published) == [CardSetAside] * 100
    assert len(table.state.record.waiting) == MOST_WAITING


# --- one question at a time


def test_each_event_of_a_question_names_its_shoe_and_its_round() -> None:
    """The events are asked, revised, answered and lapsed."""
    table = after(*NATURAL, *cards("P1 8S, B1 3H, B1 4D, B1 5D"))
    table.tell(CorrectCard(index=1, card=Card.H9))
    table.answer("excess")
    table.tell(VoidRound())
    of_questions = QuestionAsked | QuestionRevised | QuestionAnswered | QuestionLapsed
    published = [each.data for each in table.events if isinstance(each.data, of_questions)]
    assert {type(each) for each in published} == {QuestionAsked, QuestionRevised, QuestionAnswered, QuestionLapsed}
    assert {(each.shoe, each.round) for each in published} == {(1, 2)}


def test_a_question_outlives_its_round() -> None:
    """The next round begins, and the answer is recorded as a ruling."""
    table = after(*cards("P1 2S, B1 ?"))
    asked = table.question
    published = [event.data for event in table.step(card("P1", "2C"))]
    assert kinds(published) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert kinds(table.tell(Decide(question=asked.id, choice="9C"))) == [QuestionAnswered, IrregularityRuled]
    assert table.hands == "2C /"


def test_an_answer_to_a_revision_whose_consequence_has_changed_is_refused() -> None:
    """The question keeps its id, and a correction changes its consequences."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    old = table.question
    published = table.tell(CorrectCard(index=1, card=Card.S9))
    assert kinds(published) == [IrregularityNoticed]
    assert (table.question.id, table.question.revision) == (old.id, old.revision + 1)
    decision = Decide(question=old.id, choice="missed", revision=old.revision)
    assert "has changed since revision 1; read revision 2" in table.refuses(decision)
    assert "no revision 7" in table.refuses(replace(decision, revision=7))
    table.tell(replace(decision, revision=2))


def test_a_question_between_two_rounds_moves_to_the_round_that_it_holds() -> None:
    """Its events, the state and the retained question name the same round."""
    table = TableRun()
    table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION))
    (asked,) = (each.data for each in table.events if isinstance(each.data, QuestionAsked))
    assert (asked.shoe, asked.round) == (None, None)
    table.hear(card("P1", "2S"))
    *_, revised = (each.data for each in table.events if isinstance(each.data, QuestionRevised))
    (listed,) = table.shown.questions
    shown = table.question
    for each in (revised, listed, shown):
        assert (each.id, each.shoe, each.round, each.revision) == (asked.id, 1, 1, 3)


def test_a_question_before_the_first_card_moves_to_the_numbered_shoe() -> None:
    """A burn card numbers the shoe as well."""
    table = TableRun()
    table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION))
    table.hear(card("burn", "2S"))
    (revised,) = (each.data for each in table.events if isinstance(each.data, QuestionRevised))
    (listed,) = table.shown.questions
    assert [(each.shoe, each.round, each.revision) for each in (revised, listed)] == [(1, None, 2)] * 2


def test_questions_of_two_rounds_with_equal_matter_numbers_are_separate() -> None:
    """One matter follows from a late answer, and the other is the first matter of the present round."""
    table = after(*cards("P1 AC, B1 7H, P2 6C"), result("forced-end"), game="easy-six")
    asked = table.question
    table.hear_each(cards("P1 JH, B1 QD"))
    table.tell(Decide(question=asked.id, choice="none-of-these"))
    (before,) = table.shown.questions
    assert (before.round, before.question) == (1, "ruling")
    table.tell(ReportIrregularity(kind=IrregularityKind.NOT_SHUFFLED))
    assert [(each.round, each.question) for each in table.shown.questions] == [(2, "ruling"), (1, "ruling")]
    assert table.shown.questions[1] == before
    assert table.question.id != before.id
    table.tell(Decide(question=before.id, choice="continue"))
    assert [each.round for each in table.shown.questions] == [2]


def test_a_question_about_a_result_does_not_cite_the_clause_of_a_later_card() -> None:
    """C 5.7 is cited only by the question about the overdrawn card."""
    table = after(*cards("P1 7H, B1 JD, P2 4H, B2 3S"), result("banker"))
    asked = table.question
    table.hear(card("overdraw", "2C"))
    assert (table.question.id, table.question.clause) == (asked.id, None)
    table.answer("not-so")
    assert (table.question.question, table.question.clause) == ("reading", "5.7")


def test_an_optional_question_is_answered_while_the_round_continues() -> None:
    """C 5.10.2: the question about a new set does not hold the round."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    table.answer(("2C", "2H"))
    table.answer("continue")
    assert (table.phase, table.question.question, table.question.optional) == ("dealing", "set-replaced", True)
    table.hear(card("P3", "KD"))
    assert table.question.question == "set-replaced"
    table.answer("no")
    assert not table.state.asked


# --- each player's own choice


def test_each_player_chooses_and_others_choose_together() -> None:
    """The question stays open until `others` have chosen; the settlement names the returned bets."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    table.answer("return", "bob")
    table.answer("continue", "eve")
    assert (table.phase, table.question.bettor) == ("suspended", "others")
    assert table.refuses(Decide(question=table.question.id, choice="continue", bettor="bob"), None) == (
        "bob has chosen already"
    )
    assert "the required role is player" in table.refuses(Decide(question=table.question.id, choice="continue"))
    table.answer("continue")
    assert table.phase == "dealing"
    table.hear(card("B2", "5S"))
    (settled,) = (each for each in table.tell(OpenBets()) if isinstance(each, RoundSettled))
    assert [(each.bettor, each.clause) for each in settled.returned] == [("bob", "5.12.3")]
