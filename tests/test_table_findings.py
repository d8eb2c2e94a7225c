"""Findings of the watch: in a round, between two rounds, and deviations from the house rules."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import (
    Decide,
    EmptyShoe,
    OpenBets,
    ReportIrregularity,
    SettleRound,
    StartShoe,
    VoidRound,
    Withdraw,
)
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
    RoundCompleted,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
)
from shoed.model.findings import AnyFinding, NotShuffled, OrderAltered, SetWrong, ShuffleFailed, TooMany, TooOften
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.observations import AnyObservation
from shoed.table import BY_FIRST_CARD, Custom
from shoed.table.rounds import MOST_PAST
from tests.observed import (
    CUT,
    LOADED,
    NATURAL,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    UNREAD_FAULT,
    TableRun,
    after,
    card,
    cards,
    fault,
    kinds,
    together,
)

# --- findings in a round

NOT_SHUFFLED = NotShuffled(at=START, cards=60, evidence="in suits")
TOO_OFTEN = TooOften(at=START, card=Card.S8, times=9, decks=8)
TOO_MANY = TooMany(at=START, cards=417, whole=416)
SET_WRONG = SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416 cards")
ALTERED = OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="another one is next")


@pytest.mark.parametrize(
    ("found", "kind", "clause"),
    [
        (NOT_SHUFFLED, "not-shuffled", "5.5.5"),
        (SET_WRONG, "deck-count", "5.5.2"),
        (TOO_OFTEN, "deck-count", "5.5.2"),
        (TOO_MANY, "deck-count", "5.5.2"),
    ],
)
def test_a_finding_needs_confirmation_by_a_person(found: AnyFinding, kind: str, clause: str) -> None:
    """The answer `yes` voids the round by the book, and the answer `no` resumes it."""
    table = after(CUT, STARTED, *NATURAL[:2])
    published = [event.data for event in table.step(NATURAL[2], found=[found])]
    assert kinds(published) == [CardDrawn, RoundSuspended, IrregularityNoticed, QuestionAsked]
    asked = table.question
    assert (asked.question, asked.kind, asked.choices, asked.role) == ("confirm", kind, ("yes", "no"), "pit-supervisor")
    assert str(found) in asked.evidence
    denied = table.state
    (void,) = (each for each in table.answer("yes") if isinstance(each, RoundVoided))
    assert (void.kind, void.clause) == (kind, clause)
    table.state = denied
    assert kinds(table.answer("no")) == [QuestionAnswered, RoundResumed]
    assert table.hands == "8S KS / 3H"


def test_a_second_finding_of_an_open_kind_asks_no_question() -> None:
    """The second finding is recorded without an event."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(NATURAL[2], found=[TOO_OFTEN])
    assert [event.type for event in table.step(STOOD_BY, found=[TOO_MANY])] == []


@pytest.mark.parametrize("found", [TOO_OFTEN, TOO_MANY])
def test_a_high_count_in_a_partial_shoe_asks_no_question(found: AnyFinding) -> None:
    """The cards may belong to two sets."""
    table = after(*NATURAL[:2])
    assert [event.type for event in table.step(NATURAL[2], found=[found])] == ["card.drawn"]
    assert table.step(STOOD_BY, found=[found]) == ()


def test_a_confirmed_altered_order_is_ruled_by_the_book() -> None:
    """C 5.12: the next question is whether the cards can be put back."""
    table = after(*NATURAL[:3])
    table.step(STOOD_BY, found=[ALTERED])
    assert table.question.kind == "order-altered"
    table.answer("yes")
    assert table.question.question == "reconstructable"


def test_a_confirmed_suspicion_cannot_be_withdrawn() -> None:
    """The decision of a person is final."""
    table = after(*NATURAL[:2])
    table.step(NATURAL[2], found=[ALTERED])
    table.answer("yes")
    assert table.refuses(Withdraw(number=1)) == "a person has decided on order-altered, and the decision is final"


@pytest.mark.parametrize("place", ["P1", "burn", "overdraw"])
def test_a_finding_about_a_card_in_any_place_asks_for_confirmation(place: str) -> None:
    """The card is drawn, burnt or overdrawn."""
    table = after(CUT, STARTED, *NATURAL[:2]) if place != "P1" else after(CUT, STARTED)
    table.step(card(place, "8S"), found=[TOO_OFTEN])
    assert table.question.question == "confirm"


def test_a_finding_suspends_a_complete_round() -> None:
    """The round is complete again or void after the answer."""
    table = after(CUT, STARTED, *NATURAL)
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    assert table.phase == "suspended"
    published = table.answer("no")
    assert (kinds(published), table.phase) == ([QuestionAnswered, RoundResumed], "complete")


def test_a_round_suspended_before_its_first_card_continues_after_the_answer() -> None:
    """Bets were open, and the first card is due."""
    table = after(CUT, STARTED)
    table.tell(OpenBets())
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    assert (table.phase, table.question.index) == ("suspended", None)
    table.answer("no")
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


# --- findings between two rounds


def with_finding_before_the_first_round(found: AnyFinding = SET_WRONG) -> TableRun:
    """A shoe with a finding before its first round."""
    table = after(CUT, STARTED)
    table.step(STOOD_BY, found=[found])
    return table


def test_a_finding_between_two_rounds_makes_the_next_round_wait() -> None:
    """No round is open to void; each role of the house may answer, a player may not."""
    table = with_finding_before_the_first_round()
    assert [event.type for event in table.events[-3:]] == [
        "irregularity.noticed",
        "irregularity.ruled",
        "question.asked",
    ]
    asked = table.question
    assert (asked.question, asked.clause, asked.role, asked.kind) == ("next-round", "5.5.2", None, "deck-count")
    decision = Decide(question=asked.id, choice="go-on")
    assert "a player may not answer this question" in table.refuses(decision, None)
    table.tell(decision, Role.DEALER)
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


def test_a_round_that_a_card_starts_waits_for_the_answer() -> None:
    """The first card is set aside and is drawn after the answer."""
    table = with_finding_before_the_first_round()
    published = [event.data for event in table.step(card("P1", "8S"))]
    assert kinds(published) == [RoundStarted, CardSetAside, RoundSuspended, QuestionRevised]
    assert table.asks("next-round", "go-on")
    table.answer("go-on")
    assert (table.phase, table.hands) == ("dealing", "8S /")


def test_an_announced_round_waits_for_the_answer_at_once() -> None:
    """The round is suspended before its first card."""
    table = with_finding_before_the_first_round()
    assert kinds(table.tell(OpenBets())) == [RoundStarted, RoundSuspended]
    table.answer("go-on")
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


def test_a_card_after_a_void_round_makes_the_next_round_wait() -> None:
    """The card belongs to no hand of the void round."""
    table = after(*NATURAL[:2])
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD))
    published = [event.data for event in table.step(card("P2", "KS"))]
    assert kinds(published) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
    assert table.question.question == "next-round"


def test_an_unread_card_between_two_rounds_asks_no_question() -> None:
    """The fault and the cards drawn together are published."""
    table = after(CUT, STARTED)
    published = table.step(fault(), found=[together("8S ?"), UNREAD_FAULT])
    assert [event.type for event in published] == ["device.fault", "irregularity.noticed"]


def test_a_matter_of_the_next_set_does_not_concern_a_waiting_card() -> None:
    """The card has its place, and the set is in question when it is in the shoe."""
    table = after(card("P1", "8S"))
    table.step(STOOD_BY, found=[ShuffleFailed(at=START, reason="a card jammed")])
    table.hear(card("B1", "?"))
    assert kinds(table.answer("3H")) == [QuestionAnswered, CardDrawn, RoundResumed]
    assert not table.state.asked


def test_a_finding_before_the_first_shoe_makes_the_announced_round_wait() -> None:
    """The announcement numbers the shoe, and the finding belongs to this shoe."""
    table = after()
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    table.tell(OpenBets())
    assert (table.phase, table.question.kind, table.question.shoe) == ("suspended", "not-shuffled", 1)
    table = after()
    table.tell(EmptyShoe())
    published = table.tell(OpenBets())
    assert [(each.kind, each.shoe) for each in published if isinstance(each, IrregularityNoticed)] == [
        ("too-few-cards", 1)
    ]


def test_a_matter_of_the_next_set_survives_an_abandoned_round() -> None:
    """The question is asked when the set is in the shoe."""
    table = after(*NATURAL[:2])
    table.step(STOOD_BY, found=[ShuffleFailed(at=START, reason="a card jammed")])
    table.hear_each([UNPROVEN, NATURAL[2]])
    table.answer("none-of-these")
    assert (table.phase, table.state.asked) == ("abandoned", ())
    table.hear(LOADED)
    assert (table.question.question, table.question.kind) == ("next-round", "not-shuffled")


def test_a_report_between_two_rounds_can_be_withdrawn_while_the_next_round_waits() -> None:
    """The waiting card is drawn, and the round resumes."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT), Role.DEALER)
    table.hear(card("P1", "9H"))
    assert (table.phase, table.question.question) == ("suspended", "next-round")
    published = table.tell(Withdraw(), Role.DEALER)
    assert kinds(published) == [IrregularityRuled, CardDrawn, RoundResumed, QuestionLapsed]


# --- questions without an answer


def with_overtaken_question() -> TableRun:
    """A round with an open question that the next round overtook."""
    table = with_finding_before_the_first_round()
    table.hear_each([card("P1", "8S"), card("P1", "9S")])
    return table


def test_an_overtaken_question_stays_open_and_does_not_suspend_play() -> None:
    """An overtaken question keeps its id over rounds and shoes until the answer."""
    table = with_overtaken_question()
    asked = table.question
    assert (asked.question, asked.kind, asked.optional, table.phase) == ("next-round", "deck-count", True, "dealing")
    assert str(SET_WRONG) in asked.evidence
    table.hear_each([*cards("B1 2D, P2 KS, B2 3D"), *NATURAL, CUT, STARTED, *NATURAL])
    assert (table.question.id, table.phase) == (asked.id, "complete")
    table.answer("go-on")
    assert table.refuses(Decide(question=asked.id, choice="go-on")).endswith("no question is open")


@pytest.mark.parametrize("found", [TOO_OFTEN, NOT_SHUFFLED])
def test_an_unanswered_suspicion_outlives_its_round(found: AnyFinding) -> None:
    """The next round is dealt from the same set."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[found])
    assert kinds(table.hear(card("P1", "8S")))[-1] is CardDrawn
    assert (table.question.question, table.question.round, table.question.optional) == ("confirm", 1, True)
    assert table.question.evidence == (str(found),)


def test_questions_of_the_current_round_precede_an_overtaken_question() -> None:
    """The overtaken question is asked again after the questions of the round are answered."""
    table = with_overtaken_question()
    table.hear_each(cards("B1 2D, P2 ?"))
    assert table.question.question == "face"
    table.answer("KS")
    assert (table.question.question, table.phase) == ("next-round", "dealing")


def test_each_overtaken_question_keeps_its_own_round() -> None:
    """The oldest question is asked first."""
    table = after(CUT, STARTED)
    table.step(card("P1", "8S"), found=[TOO_OFTEN])
    table.step(card("P1", "7S"), found=[TOO_MANY])
    table.step(card("P1", "6S"), found=[NOT_SHUFFLED])
    table.hear(card("P1", "9S"))
    for number, evidence in enumerate(map(str, (TOO_OFTEN, TOO_MANY, NOT_SHUFFLED)), 1):
        assert (table.question.round, table.question.evidence) == (number, (evidence,))
        table.answer("no")
    assert table.shown.phase.value == "dealing"
    assert "no question is open" in table.refuses(Decide(question="1", choice="no"))


def test_the_oldest_overtaken_questions_lapse_at_the_limit() -> None:
    """An event publishes each lapse."""
    table = after(CUT, STARTED)
    for number in range(MOST_PAST + 2):
        table.step(card("P1", ("8S", "7S")[number % 2]), found=[TOO_OFTEN])
    lapsed = [each.data for each in table.events if isinstance(each.data, QuestionLapsed)]
    assert [(each.round, each.question) for each in lapsed] == [(1, "confirm")]


def test_a_void_leaves_the_question_about_the_set_open() -> None:
    """The question is optional, and the next round begins after the answer."""
    table = with_finding_before_the_first_round()
    table.hear(card("P1", "8S"))
    table.tell(VoidRound())
    assert (table.phase, table.question.question, table.question.optional) == ("voided", "next-round", True)
    table.answer("go-on")
    assert kinds(table.hear(card("P1", "8S"))) == [RoundStarted, CardDrawn]


def test_an_unread_card_closes_the_bets() -> None:
    """The unread card was drawn and is the first card of the round."""
    table = TableRun(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    published = [event.data for event in table.step(fault(), found=[together("8S ?"), UNREAD_FAULT])]
    assert BetsClosed(shoe=1, round=1, closed_by="card") in published
    assert "dealing-error" in [each.kind for each in published if isinstance(each, IrregularityNoticed)]
    assert table.question.question == "face"


@pytest.mark.parametrize(("choice", "phase"), [("yes", "suspended"), ("no", "dealing")])
def test_an_ordered_set_that_is_not_loaded_makes_the_next_round_wait(choice: str, phase: str) -> None:
    """C 5.10.2: a pit supervisor orders the set after the order of the cards is decided."""
    table = decided_on_a_new_set(choice)
    table.hear(card("P1", "8S"))
    assert table.phase == phase
    if choice == "yes":
        assert (table.question.question, table.question.clause) == ("next-round", "5.10.2")


def test_a_new_set_may_be_ordered_after_the_next_round_has_begun() -> None:
    """C 5.10.2: the open round is played, and the round after it waits."""
    table = last_cards_together()
    table.hear(card("P1", "8S"))
    published = table.answer("yes")
    assert [each.kind for each in published if isinstance(each, IrregularityNoticed)] == ["set-replaced"]
    assert (table.question.question, table.question.clause, table.phase) == ("next-round", "5.10.2", "dealing")


def test_a_new_shoe_satisfies_the_order_of_a_new_set() -> None:
    """The first round of the new shoe does not wait."""
    table = decided_on_a_new_set("yes")
    table.tell(StartShoe())
    assert kinds(table.hear(card("P1", "8S")))[-2:] == [RoundStarted, CardDrawn]


def last_cards_together() -> TableRun:
    """The last two cards of a round are drawn together, and the replacement of the set is in question."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[together("KS 4H")])
    table.answer(("KS", "4H"))
    table.answer("continue")
    assert table.question.question == "set-replaced"
    return table


def decided_on_a_new_set(choice: str) -> TableRun:
    table = last_cards_together()
    would = {each.choice[0]: each.new_shoe for each in table.question.consequences}
    assert would == {"yes": True, "no": False}
    table.answer(choice)
    return table


# --- house rules


def after_burn_cards(custom: Custom, *burn_cards: AnyObservation) -> TableRun:
    """A new shoe, its burn cards, and the first card of its first round."""
    table = TableRun(custom=custom)
    table.hear_each([CUT, STARTED, *burn_cards, card("P1", "2S")])
    return table


@pytest.mark.parametrize(
    ("custom", "right"),
    [
        (Custom(burn_cards=2), ["burn 3D", "burn 4D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card 2D", "burn 3D", "burn 4D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card QD", *["burn 3D"] * 10]),
        (Custom(), ["burn 3D"]),
    ],
)
def test_burn_cards_by_the_house_rules_ask_no_question(custom: Custom, right: list[str]) -> None:
    """The house rules fix the number, or the value of the first card is the number and a picture counts ten."""
    assert after_burn_cards(custom, *(card(*each.split()) for each in right)).phase == "dealing"


@pytest.mark.parametrize(
    ("custom", "wrong"),
    [
        (Custom(burn_cards=2), ["burn 3D"]),
        (Custom(burn_cards=0), ["burn 3D"]),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card 3D", "burn 3D"]),
        (Custom(burn_cards=BY_FIRST_CARD), []),
        (Custom(burn_cards=BY_FIRST_CARD), ["first-card ?", "burn 3D"]),
    ],
)
def test_burn_cards_against_the_house_rules_ask_for_confirmation(custom: Custom, wrong: list[str]) -> None:
    """The question is asked in the first round and states both numbers."""
    table = after_burn_cards(custom, *(card(*each.split()) for each in wrong))
    assert (table.question.question, table.question.kind) == ("confirm", "other")
    assert f"cards burnt at the start of this shoe is {len(wrong)}," in table.question.evidence[0]
    table.answer("no")
    assert table.hands == "2S /"


def test_cards_may_be_burnt_after_bets_are_opened() -> None:
    """Burn cards before the first card of the first round are not cards in excess."""
    table = TableRun()
    table.tell(OpenBets())
    assert kinds(table.hear_each([card("first-card", "2H"), card("burn", "4S")])) == [CardSetAside, CardSetAside]
    assert (table.phase, table.state.asked) == ("betting", ())


def test_burn_cards_are_counted_only_in_the_first_round_of_a_complete_shoe() -> None:
    """A partial shoe hides its burn cards, and later cards are burnt for other reasons."""
    table = TableRun(custom=Custom(burn_cards=2))
    table.hear(card("P1", "2S"))
    assert table.phase == "dealing"
    table = after_burn_cards(Custom(burn_cards=1), card("burn", "3D"))
    table.hear_each([*cards("B1 3H, P2 6S, B2 4H"), card("burn", "3D"), card("burn", "3D")])
    assert kinds(table.hear(card("P1", "2S")))[-1] is CardDrawn


def test_rounds_after_the_cut_card_are_counted() -> None:
    """The house deals one round after the round with the cut card, and the second asks for confirmation."""
    table = TableRun(custom=Custom(rounds_after_cut=1))
    table.hear_each([CUT, STARTED, *NATURAL, CUT, *NATURAL])
    assert table.phase == "complete"
    table.hear(NATURAL[0])
    assert (table.question.question, table.question.kind) == ("confirm", "other")
    assert table.question.evidence == ("the cut card left the shoe in round 1; rounds after it by the house rule: 1",)


def test_a_first_card_before_the_close_by_command_asks_for_confirmation() -> None:
    """Without this setting the first card closes the bets and asks no question."""
    table = TableRun(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    published = [event.data for event in table.step(card("P1", "8S"))]
    assert BetsClosed(shoe=1, round=1, closed_by="card") in published
    assert (table.question.question, table.question.kind) == ("confirm", "dealing-error")
    table.answer("no")
    assert table.hands == "8S /"


def test_a_first_card_without_an_announcement_asks_for_confirmation_if_a_command_closes_bets() -> None:
    """No command can have closed the bets."""
    table = TableRun(custom=Custom(bets_close_by_command=True))
    table.hear(card("P1", "8S"))
    assert (table.question.question, table.question.kind) == ("confirm", "dealing-error")
