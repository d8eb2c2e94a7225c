"""What a table asks of people: what a report that is not due may mean, which card it was, whether it is so."""

import pytest

from shoed.cards import Card
from shoed.commands import CloseBets, CorrectCard, Decide, Notice, OpenBets
from shoed.events import (
    BetsClosed,
    CardDrawn,
    CardSetAside,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    QuestionAsked,
    QuestionLapsed,
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
from shoed.findings import AnyFinding, NotShuffled, OrderAltered, SetWrong, TooMany, TooOften, Unread
from shoed.observations import AnyObservation, FaultMeaning, Outcome
from shoed.table import BY_FIRST_CARD, Custom
from shoed.table.judging import MOST_WAITING
from shoed.words import Event, Role
from tests.observed import (
    CUT,
    NATURAL,
    OPENED,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    Sitting,
    after,
    card,
    cards,
    closed,
    fault,
    kinds,
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
        ("P1 2S, B1 3S", "B1 4S", ("same-card", "read-again", "excess")),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "P3 4S", ("same-card", "read-again", "excess")),
        ("P1 2S, B1 3S, P2 KS, B2 KH", "B3 4S", ("missed", "wrong-side")),
        ("P1 2S", "B0 4S", ("excess", "same-card")),
        ("P1 2S", "B15 4S", ("excess", "same-card")),
    ],
)
def test_a_card_that_is_not_due_has_readings(before: str, report: str, choices: tuple[str, ...]) -> None:
    """By the slot that was reported and those that are taken; the likeliest first, and it is the one proposed."""
    table = after(*cards(before), *cards(report))
    asked = table.question
    assert (asked.question, asked.choices, asked.proposed) == ("reading", choices, choices[0])
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
    assert kinds(table.answer("KH")) == [QuestionAnswered, RoundResumed]
    assert table.lies == "2S KH / 3S 4S"
    table.hear(card("P3", "5D"))
    last = table.shown.last_round
    assert last is not None
    assert last.integrity == "partial"


def test_a_card_in_the_other_hand_is_the_one_that_is_due() -> None:
    """It is dealt to the wrong side, and played by the Table of Play (C 5.8)."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    told = table.answer("wrong-side")
    assert kinds(told) == [QuestionAnswered, IrregularityNoticed, IrregularityRuled, RoundResumed]
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
    assert kinds(table.answer("4D")) == [QuestionAnswered, RoundResumed, RoundCompleted, answer]


def test_a_result_is_kept_while_the_round_waits_and_compared_at_its_end() -> None:
    """It came behind a card whose face is asked."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"), result("player"))
    told = table.answer("4C")
    assert kinds(told) == [QuestionAnswered, RoundResumed, RoundCompleted, RoundConfirmed]


# --- what was left over


def left_over() -> Sitting:
    """A round in which one card too many was drawn: it opens the next."""
    table = after(*NATURAL, card("B3", "5D"))
    table.answer("yes")
    return table


def test_a_card_that_nobody_needs_opens_the_next_round() -> None:
    """C 5.7: it is told with what the round was settled, and lies there with the first card that comes."""
    table = left_over()
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")
    (settled,) = (each for each in table.tell(OpenBets()) if isinstance(each, RoundSettled))
    assert settled.carried == (Card.D5,)
    table.tell(CloseBets())
    (drawn,) = table.hear(card("B1", "9C"))
    assert isinstance(drawn, CardDrawn)
    assert (drawn.index, table.lies) == (2, "5D / 9C")
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
    assert table.lies == "5D /"
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
    assert kinds(table.hear_each(cards("B1 KC, P2 2H"))) == [CardDrawn, CardDrawn]


def test_cards_left_over_of_which_something_was_said_are_not_put_away() -> None:
    """Somebody put them in order as cards of this round: only the shoe can be behind."""
    table = after(*NATURAL, card("B3", "5D"), card("B3", "6D"))
    for _ in range(2):
        table.answer("yes")
    table.tell(OpenBets())
    table.tell(Notice(kind=Event.OTHER))
    table.hear(card("P1", "3C"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    table.answer("continue")
    table.answer(("6D", "5D"))
    table.answer("continue")
    assert table.asks("reading", "carried")
    table.answer("carried")
    assert table.lies == "6D 3C / 5D"


def test_the_next_shoe_begins_with_nothing_left_over() -> None:
    """The card went with the old one."""
    table = left_over()
    table.hear_each([CUT, STARTED, *NATURAL])
    assert table.lies == "8S KS / 3H 4H"


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
    assert [event.type for event in table.told[-3:]] == ["card.set-aside"] * 3
    table.answer("3S")
    assert (table.phase, table.lies) == ("dealing", "2S KS 6D / 3S KH")


def test_what_waits_is_bounded() -> None:
    """A shoe gone mad does not fill the state; every card is told all the same."""
    table = after(*cards("P1 2S, B1 ?"))
    told = table.hear_each([card("B3", "4S")] * 100)
    assert kinds(told) == [CardSetAside] * 100
    assert len(table.state.round.waiting) == MOST_WAITING


# --- what the watch found

NOT_SHUFFLED = NotShuffled(at=START, cards=60, evidence="in suits")
TOO_OFTEN = TooOften(at=START, card=Card.S8, times=9, decks=8)
TOO_MANY = TooMany(at=START, cards=417, whole=416)
SET_WRONG = SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416 cards")
ALTERED = OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="another one is next")
UNREAD_FAULT = Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="fault 1")


@pytest.mark.parametrize(
    ("found", "kind", "clause"),
    [
        (NOT_SHUFFLED, "not-shuffled", "5.5.5"),
        (SET_WRONG, "deck-count", "5.5.2"),
        (TOO_OFTEN, "deck-count", "5.5.2"),
        (TOO_MANY, "deck-count", "5.5.2"),
    ],
)
def test_what_the_watch_infers_is_confirmed_by_a_person_before_anything_follows(
    found: AnyFinding, kind: str, clause: str
) -> None:
    """Yes: the book voids the round. No: it goes on."""
    table = after(CUT, STARTED, *NATURAL[:2])
    told = [event.data for event in table.step(NATURAL[2], found=[found])]
    assert kinds(told) == [CardDrawn, RoundSuspended, IrregularityNoticed, QuestionAsked]
    asked = table.question
    assert (asked.question, asked.kind, asked.choices, asked.role) == ("confirm", kind, ("yes", "no"), "pit-supervisor")
    assert str(found) in asked.evidence
    denied = table.state
    (void,) = (each for each in table.answer("yes") if isinstance(each, RoundVoided))
    assert (void.kind, void.clause) == (kind, clause)
    table.state = denied
    assert kinds(table.answer("no")) == [QuestionAnswered, RoundResumed]
    assert table.lies == "8S KS / 3H"


def test_the_same_suspicion_is_asked_about_once_in_a_round() -> None:
    """Denied or confirmed, a further finding of its kind is on record and asks nothing while it is open."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(NATURAL[2], found=[TOO_OFTEN])
    assert [event.type for event in table.step(STOOD_BY, found=[TOO_MANY])] == []


@pytest.mark.parametrize("found", [TOO_OFTEN, TOO_MANY])
def test_a_count_too_high_proves_nothing_of_a_shoe_that_was_not_seen_whole(found: AnyFinding) -> None:
    """The cards may be those of two sets."""
    table = after(*NATURAL[:2])
    assert [event.type for event in table.step(NATURAL[2], found=[found])] == ["card.drawn"]
    assert table.step(STOOD_BY, found=[found]) == ()


def test_an_order_that_was_altered_is_confirmed_and_then_ruled() -> None:
    """C 5.12 asks whether the cards can be put back."""
    table = after(*NATURAL[:3])
    table.step(STOOD_BY, found=[ALTERED])
    assert table.question.kind == "order-altered"
    table.answer("yes")
    assert table.question.question == "reconstructable"


@pytest.mark.parametrize("place", ["P1", "burn", "overdraw"])
def test_what_is_found_in_any_card_is_asked_about(place: str) -> None:
    """Drawn, burnt or overdrawn."""
    table = after(CUT, STARTED, *NATURAL[:2]) if place != "P1" else after(CUT, STARTED)
    table.step(card(place, "8S"), found=[TOO_OFTEN])
    assert table.question.question == "confirm"


def test_a_complete_round_is_doubted_too() -> None:
    """Until the next one opens: it waits, and is complete again or void."""
    table = after(CUT, STARTED, *NATURAL)
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    assert table.phase == "suspended"
    told = table.answer("no")
    assert (kinds(told), table.phase) == ([QuestionAnswered, RoundResumed], "complete")


def test_a_round_that_is_doubted_before_its_first_card_goes_on_with_it() -> None:
    """Bets were open; the card is due like any first one."""
    table = after(CUT, STARTED)
    table.tell(OpenBets())
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    assert table.phase == "suspended"
    table.answer("no")
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


# --- cards drawn together


def test_cards_in_no_known_order_are_put_in_order_by_a_person() -> None:
    """C 5.10: what each order would make of the round is shown; then every player chooses."""
    table = after(*cards("P1 2S, B1 3S"))
    table.hear(card("P2", "4S"))
    table.step(card("B2", "5S"), found=[together("4S 5S")])
    asked = table.question
    assert (asked.question, asked.clause, asked.role) == ("card-order", "5.10", "pit-supervisor")
    assert [(each.choice, each.player.points) for each in asked.consequences] == [(("4S", "5S"), 6), (("5S", "4S"), 7)]
    assert table.lies == "2S / 3S"
    table.answer(("5S", "4S"))
    assert table.question.question == "option"
    assert table.lies == "2S 5S / 3S 4S"


def test_cards_in_a_known_order_are_a_dealing_error() -> None:
    """C 5.10.1: every player chooses; F lets the round go on."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    assert (table.question.question, table.question.clause) == ("option", "5.10.1")
    table = after(*cards("P1 2S, B1 3S"), game="fortune-six")
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    assert table.phase == "dealing"


def test_a_card_of_the_round_before_is_put_in_no_order() -> None:
    """The first card came together with the last one of the round before: it is told, and nothing follows."""
    table = after(*NATURAL)
    told = table.step(card("P1", "4S"), found=[together("4H 4S")])
    (found,) = (event.data for event in told if isinstance(event.data, IrregularityNoticed))
    assert (found.number, found.count) == (None, 2)
    assert table.phase == "dealing"


@pytest.mark.parametrize("before", [[], NATURAL[:2]])
def test_a_card_outside_the_hands_is_put_in_no_order(before: list[AnyObservation]) -> None:
    """It is set aside: that it came together with another is told, and no card of the round is doubted."""
    table = after(*before)
    told = [event.data for event in table.step(card("burn", "4S"), found=[together("3H 4S")])]
    assert kinds(told) == [CardSetAside, IrregularityNoticed]
    assert table.phase in ("idle", "dealing")


def test_cards_that_wait_are_put_in_order_once_they_have_a_place() -> None:
    """Both were reported where no card is due: what they mean is asked first."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.step(card("P3", "5S"), found=[together("4S 5S")])
    table.answer("missed")
    table.answer("KS")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))
    table.answer(("4S", "5S"))
    assert table.question.question == "option"


def test_a_card_that_was_only_told_again_came_together_with_nothing() -> None:
    """The finding goes with the report."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("B1", "3S"), found=[together("3S 3S")])
    table.answer("same-card")
    assert table.phase == "dealing"
    assert kinds(table.hear(card("P2", "4S"))) == [CardDrawn]


def test_a_card_that_nobody_could_read_beside_another_is_a_card_of_the_round() -> None:
    """The shoe told a fault close behind a card: its face is asked, and then their order."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(fault(), found=[together("3S ?"), UNREAD_FAULT])
    assert (table.question.question, table.question.index) == ("face", 3)
    table.answer("4S")
    assert (table.question.question, table.question.choices) == ("card-order", ("3S", "4S"))


def test_a_card_that_nobody_could_read_follows_the_one_left_over() -> None:
    """The card that was carried opens the round all the same."""
    table = left_over()
    table.tell(OpenBets())
    table.step(fault(), found=[together("4H ?"), UNREAD_FAULT])
    table.answer("6C")
    assert table.lies.startswith("5D / 6C")


@pytest.mark.parametrize(
    ("read", "then", "asked"),
    [
        ("P1 2S, B1 3S, B2 5S", "", ("4S", "5S")),  # the unread one before the one that was read
        ("P1 2S, B1 3S", "B2 5S", ("3S", "4S")),  # and after it
    ],
)
def test_a_card_beside_one_that_nobody_could_read_came_together_with_a_missed_one(
    read: str, then: str, asked: tuple[str, ...]
) -> None:
    """A fault came close before a card: if one was missed beside it, their order is asked as well."""
    *before, last = cards(read)
    table = after(*before)
    table.step(last, found=[together("? 9H")])
    table.hear_each(cards(then) if then else [])
    table.answer("missed")
    table.answer("4S")
    assert (table.question.question, table.question.choices) == ("card-order", asked)


def test_a_card_that_was_read_at_last_came_together_with_nothing() -> None:
    """The fault was about that very card: it is told, and the round goes on."""
    table = after(*cards("P1 2S, B1 3S"))
    told = [event.data for event in table.step(card("P2", "4S"), found=[together("? 4S")])]
    assert kinds(told) == [CardDrawn, IrregularityNoticed]
    assert table.phase == "dealing"


def test_a_third_card_beside_cards_whose_players_choose_is_told_at_once() -> None:
    """All three were drawn in a known order: the record is not doubted, and the book rules of them together."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    told = [event.data for event in table.step(card("B2", "5S"), found=[together("3S 4S 5S", order_known=True)])]
    (noticed,) = (each for each in told if isinstance(each, IrregularityNoticed))
    assert (noticed.number, noticed.at, noticed.count) == (2, 2, 3)


# --- between two rounds


def between(found: AnyFinding = SET_WRONG) -> Sitting:
    """A shoe of which something is known before its first round."""
    table = after(CUT, STARTED)
    table.step(STOOD_BY, found=[found])
    return table


def test_what_is_found_between_two_rounds_asks_whether_the_next_may_go_on() -> None:
    """There is nothing to void; anybody of the house may let it go on, and no player."""
    table = between()
    assert [event.type for event in table.told[-3:]] == [
        "irregularity.noticed",
        "irregularity.ruled",
        "question.asked",
    ]
    asked = table.question
    assert (asked.question, asked.clause, asked.role, asked.kind) == ("next-round", "5.5.2", None, "deck-count")
    decision = Decide(question=asked.id, choice="go-on")
    assert "a player may not decide this" in table.refuses(decision, None)
    table.tell(decision, Role.DEALER)
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


def test_a_round_that_opens_over_it_waits() -> None:
    """Its first card is set aside, and taken in once somebody lets it go on."""
    table = between()
    told = [event.data for event in table.step(card("P1", "8S"))]
    assert kinds(told) == [QuestionLapsed, RoundStarted, CardSetAside, RoundSuspended, QuestionAsked]
    assert table.asks("next-round", "go-on")
    table.answer("go-on")
    assert (table.phase, table.lies) == ("dealing", "8S /")


def test_a_round_that_is_announced_over_it_waits_at_once() -> None:
    """Nobody needs to draw a card to be asked."""
    table = between()
    assert kinds(table.tell(OpenBets())) == [QuestionLapsed, RoundStarted, RoundSuspended, QuestionAsked]
    table.answer("go-on")
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


def test_a_card_after_the_round_was_over_holds_the_next() -> None:
    """Its bets are paid: the card can serve no hand of it."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.FOREIGN_CARD))
    told = [event.data for event in table.step(card("P2", "KS"))]
    assert kinds(told) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
    assert table.question.question == "next-round"


def test_what_was_not_read_between_two_rounds_asks_nothing() -> None:
    """The fault has told it; cards that came together there are told as well."""
    table = after(CUT, STARTED)
    told = table.step(fault(), found=[together("8S ?"), UNREAD_FAULT])
    assert [event.type for event in told] == ["device.fault", "irregularity.noticed"]


# --- one question at a time


def test_a_question_lapses_with_the_round() -> None:
    """The next one opens, and nobody can answer it any more."""
    table = after(*cards("P1 2S, B1 ?"))
    asked = table.question
    told = [event.data for event in table.step(card("P1", "2C"))]
    assert kinds(told) == [RoundAbandoned, QuestionLapsed, RoundStarted, CardDrawn]
    assert "has lapsed" in table.refuses(Decide(question=asked.id, choice="9C"))


def test_a_question_that_hangs_on_a_mended_card_is_asked_anew() -> None:
    """Its consequences are others: an answer to the old one is refused."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    old = table.question
    told = table.tell(CorrectCard(index=1, card=Card.S9))
    assert kinds(told) == [IrregularityNoticed, QuestionLapsed, QuestionAsked]
    assert (table.question.question, table.question.id == old.id) == ("reading", False)
    assert "has lapsed" in table.refuses(Decide(question=old.id, choice="missed"))


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
    assert table.state.asked is None


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


# --- customs of a house


def burnt(custom: Custom, *burnt: AnyObservation) -> Sitting:
    """A new shoe, the cards that are burnt, and the first of its first round."""
    table = Sitting(custom=custom)
    table.hear_each([CUT, STARTED, *burnt, card("P1", "2S")])
    return table


@pytest.mark.parametrize(
    ("custom", "right"),
    [
        (Custom(burn_cards=2), ["burn 3D", "burn 4D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card 2D", "burn 3D", "burn 4D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card QD", *["burn 3D"] * 10]),
        (Custom(burn_cards=BY_FIRST_CARD), []),
        (Custom(), ["burn 3D"]),
    ],
)
def test_a_shoe_that_was_burnt_as_the_house_has_it_asks_nothing(custom: Custom, right: list[str]) -> None:
    """So many cards, or as many as the first one counts, a picture ten; what nobody saw is not asked about."""
    assert burnt(custom, *(card(*each.split()) for each in right)).phase == "dealing"


@pytest.mark.parametrize(
    ("custom", "wrong"),
    [
        (Custom(burn_cards=2), ["burn 3D"]),
        (Custom(burn_cards=0), ["burn 3D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card 3D", "burn 3D"]),
    ],
)
def test_a_shoe_that_was_burnt_otherwise_is_asked_about(custom: Custom, wrong: list[str]) -> None:
    """In its first round, with both figures; a person says whether it is so."""
    table = burnt(custom, *(card(*each.split()) for each in wrong))
    assert (table.question.question, table.question.kind) == ("confirm", "other")
    assert f"{len(wrong)} cards were burnt" in table.question.evidence[0]
    table.answer("no")
    assert table.lies == "2S /"


def test_cards_burnt_are_asked_of_a_whole_shoe_and_its_first_round_alone() -> None:
    """Joined midway nobody knows; later cards are burnt for other reasons."""
    table = Sitting(custom=Custom(burn_cards=2))
    table.hear(card("P1", "2S"))
    assert table.phase == "dealing"
    table = burnt(Custom(burn_cards=1), card("burn", "3D"))
    table.hear_each([*cards("B1 3H, P2 6S, B2 4H"), card("burn", "3D"), card("burn", "3D")])
    assert kinds(table.hear(card("P1", "2S")))[-1] is CardDrawn


def test_rounds_after_the_cutting_card_are_counted() -> None:
    """One more round behind the one in which it comes: the second is asked about."""
    table = Sitting(custom=Custom(rounds_after_cut=1))
    table.hear_each([CUT, STARTED, *NATURAL, CUT, *NATURAL])
    assert table.phase == "complete"
    table.hear(NATURAL[0])
    assert (table.question.question, table.question.kind) == ("confirm", "other")
    assert table.question.evidence == ("the cutting card came in round 1, and 1 are dealt after it",)


def test_a_first_card_before_the_bets_were_closed_is_asked_about_where_a_command_closes_them() -> None:
    """Where nobody says it the first card closes them, and nothing is wrong."""
    table = Sitting(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    told = [event.data for event in table.step(card("P1", "8S"))]
    assert BetsClosed(shoe=1, round=1, closed_by="card") in told
    assert (table.question.question, table.question.kind) == ("confirm", "dealing-error")
    table.answer("no")
    assert table.lies == "8S /"
