"""What a table asks of people: what a report that is not due may mean, which card it was, whether it is so."""

import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import CloseBets, CorrectCard, Decide, Notice, OpenBets, VoidRound
from shoed.events import (
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
from shoed.observations import AnyObservation, Outcome
from shoed.table.record import MOST_WAITING
from shoed.words import Event
from tests.observed import (
    CUT,
    JUMPED,
    NATURAL,
    OPENED,
    STARTED,
    UNPROVEN,
    Sitting,
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
def test_a_card_that_is_not_due_has_readings(before: str, report: str, choices: tuple[str, ...]) -> None:
    """By the slot that was reported and those that are taken; the likeliest first, and it is the one proposed."""
    table = after(*cards(before), *cards(report))
    asked = table.question
    assert table.asks("reading", *choices)
    assert asked.proposed == choices[0]
    assert (asked.role, asked.clause, asked.index) == ("pit-supervisor", None, len(cards(before)) + 1)


@pytest.mark.parametrize("report", [card("B2", "4S"), result("player")])
def test_where_the_line_was_away_the_game_itself_may_have_been_interrupted(report: AnyObservation) -> None:
    """Then the book decides, and it is not asked again: C 5.4.2 voids a round without an outcome."""
    table = after(*cards("P1 2S, B1 3S"), closed(), OPENED, UNPROVEN, report)
    assert "interruption" in table.question.choices
    told = table.answer("interruption")
    assert [(each.then, each.clause) for each in told if isinstance(each, IrregularityRuled)] == [("void", "5.4.2")]
    assert table.phase == "voided"


def test_an_interruption_that_was_decided_is_not_offered_again() -> None:
    """F has no provision: a person lets it go on, and what the report means is still open."""
    table = after(*cards("P1 2S, B1 3S"), result("forced-end"), game="fortune-six")
    assert table.asks("reading", "missed", "not-so", "interruption")
    table.answer("interruption")
    assert table.asks("ruling", "continue", "void")
    table.answer("continue")
    assert table.asks("reading", "missed", "not-so")


def test_a_missed_card_is_told_by_a_person() -> None:
    """Its face is asked next; then it lies before the one that was reported, and the record is partial."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert kinds(table.answer("missed")) == [QuestionAnswered, QuestionAsked]
    assert (table.question.question, table.question.role, table.question.index) == ("face", "pit-supervisor", 3)
    assert kinds(table.answer("KH")) == [QuestionAnswered, CardDrawn, CardDrawn, RoundResumed]
    assert table.lies == "2S KH / 3S 4S"
    table.hear(card("P3", "5D"))
    last = table.shown.last_round
    assert last is not None
    assert last.integrity == "partial"


def test_a_card_in_the_other_hand_is_the_one_that_is_due() -> None:
    """It is dealt to the wrong side, and played by the Table of Play (C 5.8)."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    told = table.answer("wrong-side")
    assert kinds(told) == [QuestionAnswered, IrregularityNoticed, IrregularityRuled, CardDrawn, RoundResumed]
    (ruled,) = (each for each in told if isinstance(each, IrregularityRuled))
    assert (ruled.kind, ruled.then, ruled.clause) == ("wrong-side", "reconstruct", "5.8")
    assert table.lies == "2S 4S / 3S"


def test_a_card_that_was_told_again_is_no_further_one() -> None:
    """The round goes on as it was."""
    table = after(*cards("P1 2S, B1 3S, B1 3S"))
    assert kinds(table.answer("same-card")) == [QuestionAnswered, RoundResumed]
    assert (table.phase, table.lies) == ("dealing", "2S / 3S")
    assert kinds(table.hear(card("P2", "4S"))) == [CardDrawn]


def test_a_card_that_is_read_again_has_the_later_face() -> None:
    """In the slot that both reports name."""
    table = after(*cards("P1 2S, B1 3S, B1 4H"))
    assert kinds(table.answer("read-again")) == [QuestionAnswered, RoundResumed]
    assert table.lies == "2S / 4H"


def test_a_card_that_is_read_again_without_a_face_changes_nothing() -> None:
    """What was read before stands."""
    table = after(*cards("P1 2S, B1 3S, B1 ?"))
    table.answer("read-again")
    assert (table.phase, table.lies) == ("dealing", "2S / 3S")


def test_a_card_in_excess_goes_where_the_table_of_play_needs_it() -> None:
    """C 5.7: the House confirms it."""
    table = after(*cards("P1 2S, B1 3S, B1 4H"))
    told = table.answer("excess")
    assert kinds(told) == [QuestionAnswered, IrregularityNoticed, QuestionAsked]
    assert (table.question.kind, table.question.clause) == ("card-in-excess", "5.7")
    table.answer("yes")
    assert (table.phase, table.lies) == ("dealing", "2S 4H / 3S")


def test_a_third_card_that_the_shoe_gives_to_a_hand_that_stands_is_one_in_excess() -> None:
    """It has no other reading; Banker must draw, and it serves as that card."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD, P3 4D"))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    assert kinds(table.answer("yes"))[-2:] == [RoundResumed, RoundCompleted]
    assert table.lies == "6S KS / 3S KD 4D"


def test_a_result_that_came_early_and_is_not_so_is_forgotten() -> None:
    """The round goes on, and waits for its result like any other."""
    table = after(*cards("P1 8S, B1 3H"), result("forced-end"))
    assert table.asks("reading", "missed", "not-so", "interruption")
    table.answer("not-so")
    table.hear_each(cards("P2 KS, B2 4H"))
    assert (table.phase, table.hear(result("player"))[0].__class__) == ("complete", RoundConfirmed)


@pytest.mark.parametrize(("outcome", "answer"), [("player", RoundConfirmed), ("tie", RoundDisputed)])
def test_a_result_that_came_early_answers_the_round_once_its_cards_are_told(outcome: str, answer: type) -> None:
    """The last card was missed; nobody needs to send the result again."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 KD, P3 6D"), result(outcome))
    table.answer("missed")
    assert kinds(table.answer("4D")) == [QuestionAnswered, CardDrawn, RoundResumed, RoundCompleted, answer]


def test_a_result_is_kept_while_the_round_waits_and_compared_at_its_end() -> None:
    """It came behind a card whose face is asked."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"), result("player"))
    told = table.answer("4C")
    assert kinds(told) == [QuestionAnswered, CardDrawn, RoundResumed, RoundCompleted, RoundConfirmed]


# --- the device reckons from other hands


def exposed() -> Sitting:
    """Player's third card was exposed and is kept for the next round: the shoe counts it."""
    table = after(*cards("P1 2D, B1 KC, P2 3S, B2 KH, P3 4C"))
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=5))
    table.answer("no")
    return table


def test_a_card_that_the_shoe_counts_otherwise_is_the_one_that_is_due() -> None:
    """No irregularity follows; whoever holds that it was one too many may say so."""
    table = exposed()
    table.hear(card("B3", "JH"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    assert (table.question.proposed, table.question.clause) == ("due", None)
    assert kinds(table.answer("due")) == [QuestionAnswered, CardDrawn, RoundResumed]
    assert table.lies == "2D 3S JH / KC KH"


def test_the_slot_that_is_due_may_be_one_that_the_shoe_told_before() -> None:
    """It did not count the exposed card, or tells it again."""
    table = exposed()
    table.hear(card("P3", "JH"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("same-card")
    assert table.lies == "2D 3S / KC KH"


def test_a_card_that_the_shoe_missed_by_its_own_count_may_be_missed() -> None:
    """It skips a slot of its own."""
    table = after(*cards("P1 8S, B1 3H"))
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=2))
    table.answer("no")
    table.answer("continue")
    table.hear(card("P3", "4C"))
    assert table.asks("reading", "missed", "excess")


def test_a_shoe_that_read_another_face_draws_by_it() -> None:
    """The card was corrected: Player stands by what it is, and draws by what the shoe read."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 KD"))
    table.tell(CorrectCard(index=1, card=Card.S6))
    table.hear(card("P3", "4D"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert table.lies == "6S KS / 3S KD 4D"


def test_behind_a_card_on_the_wrong_side_the_shoe_counts_otherwise() -> None:
    """What it calls Player's second is the card behind it, which Banker is due; the line was away."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.answer("wrong-side")
    table.hear_each([closed(), OPENED, card("P2", "5S")])
    assert table.asks("reading", "due", "excess", "missed", "same-card", "interruption")
    table.answer("due")
    assert table.lies == "2S 4S / 3S 5S"


def test_a_third_card_of_a_shoe_that_does_not_count_the_card_left_over_is_the_one_that_is_due() -> None:
    """Its slots are one behind; by its own count it has yet to tell the fourth card."""
    table = left_over()
    table.hear(card("P1", "3C"))
    table.answer("carried")
    table.hear_each(cards("B1 KC, P2 2H, B2 9H"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert (table.phase, table.lies) == ("complete", "5D KC 9H / 3C 2H")


@pytest.mark.parametrize(
    ("before", "report", "missed", "lies"),
    [
        # The shoe read another face, and reports were lost: Player's third card was among them.
        ("P1 KC, B1 9C, P2 3D, B2 4H", "B3 10S", "5C", "KC 3D 5C / 9C 6S 10S"),
        # It is one behind, by the card left over, and says so: what it calls Player's second is Player's.
        (None, "P2 9S", "8C", "3C 8C / 9H 9S"),
    ],
)
def test_where_the_count_of_the_shoe_is_another_a_card_may_have_been_missed(
    before: str | None, report: str, missed: str, lies: str
) -> None:
    """It is proposed where reports were lost: to lay the card where one is due would be to invent its place."""
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
    assert table.lies == lies


def test_a_third_card_before_any_other_is_the_first_of_a_shoe_that_is_still_at_the_round_before() -> None:
    """A correction ended the round by other cards than the shoe reckons with, and bets were announced."""
    table = after(*cards("P1 2H, B1 3H, P2 KS, B2 4H"))
    table.tell(CorrectCard(index=1, card=Card.H9))
    table.tell(OpenBets())
    table.hear(card("P3", "5D"))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    table.answer("due")
    assert table.lies == "5D /"


# --- what was left over


def test_a_card_that_nobody_needs_opens_the_next_round() -> None:
    """C 5.7: it is told with what the round was settled, and lies there with the first card that comes."""
    table = left_over()
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")
    (settled,) = (each for each in table.tell(OpenBets()) if isinstance(each, RoundSettled))
    assert settled.carried == (Card.D5,)
    table.tell(CloseBets())
    drawn = [each for each in table.hear(card("B1", "9C")) if isinstance(each, CardDrawn)]
    assert [(each.index, each.set_aside is not None) for each in drawn] == [(1, True), (2, False)]
    assert table.lies == "5D / 9C"
    table.hear_each(cards("P2 2C, B2 KD"))
    last = table.shown.last_round
    assert last is not None
    assert (table.lies, last.integrity) == ("5D 2C / 9C KD", "complete")


def test_a_shoe_that_does_not_count_the_card_left_over_is_one_behind() -> None:
    """Whether it was dealt at all is asked once; then its slots are shifted, until third cards are due."""
    table = left_over()
    told = [event.data for event in table.step(card("P1", "3C"))]
    assert kinds(told)[-3:] == [CardSetAside, RoundSuspended, QuestionAsked]
    assert table.asks("reading", "carried", "not-carried")
    assert table.lies == "/"
    table.answer("carried")
    assert table.lies == "5D / 3C"
    assert kinds(table.hear_each(cards("B1 KC, P2 2H"))) == [CardDrawn, CardDrawn]
    assert table.lies == "5D KC / 3C 2H"
    table.hear(card("B2", "9H"))
    assert (table.phase, table.question.question) == ("suspended", "reading")


def test_a_card_left_over_that_was_put_away_is_in_no_round() -> None:
    """The shoe's first card is the first."""
    table = left_over()
    table.hear(card("P1", "3C"))
    table.answer("not-carried")
    assert table.lies == "3C /"
    before = table.state
    assert kinds(table.hear_each(cards("B1 KC, P2 2H"))) == [CardDrawn, CardDrawn]
    table.state = before
    table.hear(card("P2", "2H"))
    assert table.asks("reading", "missed", "wrong-side")  # it is not asked again


def test_the_next_shoe_begins_with_nothing_left_over() -> None:
    """The card went with the old one."""
    table = left_over()
    table.hear_each([CUT, STARTED, *NATURAL])
    assert table.lies == "8S KS / 3H 4H"


def test_what_is_asked_before_the_first_card_is_asked_anew_of_the_one_left_over() -> None:
    """It lies there from now on; whoever hears the events learns it with the question."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=True))
    assert (table.question.question, table.lies) == ("option", "/")
    assert kinds([event.data for event in table.step(card("P1", "3C"))]) == [
        BetsClosed,
        CardSetAside,
        CardDrawn,
        QuestionRevised,
    ]
    assert (table.question.question, table.lies) == ("option", "5D /")


def test_a_card_stays_left_over_until_a_round_has_cards() -> None:
    """A round that was called off before its first one has not used it."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(Notice(kind=Event.FOREIGN_CARD))
    assert table.phase == "voided"
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.lies == "5D / 9C"


# --- faces


@pytest.mark.parametrize(("before", "place", "lies"), [([], "P1", "9C /"), (cards("P1 2S"), "B1", "2S / 9C")])
def test_an_unread_card_waits_for_its_face(before: list[AnyObservation], place: str, lies: str) -> None:
    """Whoever may mend the record reads it; meanwhile it lies nowhere."""
    table = after(*before, card(place, "?"))
    assert (table.question.question, table.question.role) == ("face", "pit-supervisor")
    assert "9C" not in table.lies
    table.answer("9C")
    assert (table.phase, table.lies) == ("dealing", lies)


def test_an_unread_card_may_be_none_of_the_set() -> None:
    """C 5.5.1: the round is void."""
    table = after(*cards("P1 2S, B1 ?"))
    told = table.answer("foreign-card")
    (void,) = (each for each in told if isinstance(each, RoundVoided))
    assert (void.kind, void.clause, void.returns) == ("foreign-card", "5.5.1", "5.15")
    assert table.phase == "voided"


def test_every_rank_is_shown_with_what_it_would_make_of_the_round() -> None:
    """Suits change nothing but nothing is left out: thirteen ranks and a foreign card."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"))
    shown = {each.choice[0]: each for each in table.question.consequences}
    assert len(shown) == 14
    assert (shown["any 4"].outcome, shown["any 4"].due) == (Outcome.PLAYER, None)
    assert shown["any 6"].outcome is Outcome.BANKER
    assert shown["any 3"].pays is not None
    assert shown["any 3"].pays["banker-pair"] == "11:1"
    assert (shown["foreign-card"].void, shown["foreign-card"].outcome) == ("5.5.1", None)


def test_cards_that_come_meanwhile_wait_and_are_then_taken_in_their_order() -> None:
    """Each was set aside; none is lost."""
    table = after(*cards("P1 2S, B1 ?, P2 KS, B2 KH, P3 6D"))
    told = [event.type for event in table.told if event.type != "question.revised"]
    assert told[-3:] == ["card.set-aside"] * 3
    table.answer("3S")
    assert (table.phase, table.lies) == ("dealing", "2S KS 6D / 3S KH")


def test_what_waits_is_bounded() -> None:
    """A shoe gone mad does not fill the state; every card is told all the same."""
    table = after(*cards("P1 2S, B1 ?"))
    told = table.hear_each([card("B3", "4S")] * 100)
    assert kinds(told) == [CardSetAside] * 100
    assert len(table.state.record.waiting) == MOST_WAITING


# --- one question at a time


def test_each_event_of_a_question_names_its_shoe_and_its_round() -> None:
    """When it is asked, revised and answered, and when nothing is left to decide."""
    table = after(*NATURAL, *cards("P1 8S, B1 3H, B1 4D, B1 5D"))
    table.tell(CorrectCard(index=1, card=Card.H9))
    table.answer("excess")
    table.tell(VoidRound())
    of_questions = QuestionAsked | QuestionRevised | QuestionAnswered | QuestionLapsed
    told = [each.data for each in table.told if isinstance(each.data, of_questions)]
    assert {type(each) for each in told} == {QuestionAsked, QuestionRevised, QuestionAnswered, QuestionLapsed}
    assert {(each.shoe, each.round) for each in told} == {(1, 2)}


def test_a_question_outlives_its_round() -> None:
    """The next one opens; the answer is recorded as a ruling."""
    table = after(*cards("P1 2S, B1 ?"))
    asked = table.question
    told = [event.data for event in table.step(card("P1", "2C"))]
    assert kinds(told) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert kinds(table.tell(Decide(question=asked.id, choice="9C"))) == [QuestionAnswered, IrregularityRuled]
    assert table.lies == "2C /"


def test_an_answer_to_a_revision_whose_consequence_has_changed_is_refused() -> None:
    """The question keeps its number; its consequences are others after a correction."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    old = table.question
    told = table.tell(CorrectCard(index=1, card=Card.S9))
    assert kinds(told) == [IrregularityNoticed]
    assert (table.question.id, table.question.revision) == (old.id, old.revision + 1)
    decision = Decide(question=old.id, choice="missed", revision=old.revision)
    assert "has changed since revision 1: read revision 2" in table.refuses(decision)
    assert "no revision 7" in table.refuses(replace(decision, revision=7))
    table.tell(replace(decision, revision=2))


def test_a_question_between_two_rounds_is_revised_as_one_of_the_round_that_it_holds() -> None:
    """Its events, the state and the retained question name the same round."""
    table = Sitting()
    table.tell(Notice(kind=Event.INTERRUPTION))
    (asked,) = (each.data for each in table.told if isinstance(each.data, QuestionAsked))
    assert (asked.shoe, asked.round) == (None, None)
    table.hear(card("P1", "2S"))
    *_, revised = (each.data for each in table.told if isinstance(each.data, QuestionRevised))
    (listed,) = table.shown.questions
    shown = table.question
    for each in (revised, listed, shown):
        assert (each.id, each.shoe, each.round, each.revision) == (asked.id, 1, 1, 3)


def test_a_question_before_the_first_card_is_revised_as_one_of_the_shoe_that_it_numbers() -> None:
    """Also by a card of no round."""
    table = Sitting()
    table.tell(Notice(kind=Event.INTERRUPTION))
    table.hear(card("burn", "2S"))
    (revised,) = (each.data for each in table.told if isinstance(each.data, QuestionRevised))
    (listed,) = table.shown.questions
    assert [(each.shoe, each.round, each.revision) for each in (revised, listed)] == [(1, None, 2)] * 2


def test_two_rounds_have_two_questions_even_if_their_matters_have_one_number() -> None:
    """The matter that follows from an answer about the round before, and the first matter of the present round."""
    table = after(*cards("P1 AC, B1 7H, P2 6C"), result("forced-end"), game="easy-six")
    asked = table.question
    table.hear_each(cards("P1 JH, B1 QD"))
    table.tell(Decide(question=asked.id, choice="none-of-these"))
    (before,) = table.shown.questions
    assert (before.round, before.question) == (1, "ruling")
    table.tell(Notice(kind=Event.NOT_SHUFFLED))
    assert [(each.round, each.question) for each in table.shown.questions] == [(2, "ruling"), (1, "ruling")]
    assert table.shown.questions[1] == before
    assert table.question.id != before.id
    table.tell(Decide(question=before.id, choice="continue"))
    assert [each.round for each in table.shown.questions] == [2]


def test_a_question_about_a_result_has_no_clause_of_a_card_that_waits_behind_it() -> None:
    """C 5.7 is about the card of an overdraw, and is named once that card is asked about."""
    table = after(*cards("P1 7H, B1 JD, P2 4H, B2 3S"), result("banker"))
    asked = table.question
    table.hear(card("overdraw", "2C"))
    assert (table.question.id, table.question.clause) == (asked.id, None)
    table.answer("not-so")
    assert (table.question.question, table.question.clause) == ("reading", "5.7")


def test_who_need_not_be_asked_may_answer_while_the_round_goes_on() -> None:
    """C 5.10.2: whether the set is replaced holds nothing up, and lapses with the next round."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    table.answer(("2C", "2H"))
    table.answer("continue")
    assert (table.phase, table.question.question, table.question.optional) == ("dealing", "set-replaced", True)
    table.hear(card("P3", "KD"))
    assert table.question.question == "set-replaced"
    table.answer("no")
    assert not table.state.asked


# --- every player for themselves


def test_each_player_chooses_for_themselves_and_others_for_all_who_were_not_named() -> None:
    """It stays open until `others` have chosen; who took their bets back is told when the round is settled."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    table.answer("return", "bob")
    table.answer("continue", "eve")
    assert (table.phase, table.question.bettor) == ("suspended", "others")
    assert table.refuses(Decide(question=table.question.id, choice="continue", bettor="bob"), None) == (
        "bob has chosen already"
    )
    assert "it takes player" in table.refuses(Decide(question=table.question.id, choice="continue"))
    table.answer("continue")
    assert table.phase == "dealing"
    table.hear(card("B2", "5S"))
    (settled,) = (each for each in table.tell(OpenBets()) if isinstance(each, RoundSettled))
    assert [(each.bettor, each.clause) for each in settled.returned] == [("bob", "5.12.3")]
