"""What a table makes of what the watch found: in a round, between two, and against the customs of a house."""

import pytest

from shoed.cards import Card
from shoed.commands import Decide, EmptyShoe, Notice, OpenBets, SettleRound, StartShoe, VoidRound, Withdraw
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
    RoundCompleted,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
)
from shoed.findings import AnyFinding, NotShuffled, OrderAltered, SetWrong, ShuffleFailed, TooMany, TooOften
from shoed.observations import AnyObservation
from shoed.table import BY_FIRST_CARD, Custom
from shoed.table.rounds import MOST_PAST
from shoed.words import Event, Role
from tests.observed import (
    CUT,
    LOADED,
    NATURAL,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    UNREAD_FAULT,
    Sitting,
    after,
    card,
    cards,
    fault,
    kinds,
    together,
)

# --- what the watch found

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


def test_a_suspicion_that_was_confirmed_is_not_withdrawn() -> None:
    """A person has decided that it is so."""
    table = after(*NATURAL[:2])
    table.step(NATURAL[2], found=[ALTERED])
    table.answer("yes")
    assert table.refuses(Withdraw(number=1)) == "a person has decided on order-altered, which is final"


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
    assert (table.phase, table.question.index) == ("suspended", None)
    table.answer("no")
    assert kinds(table.hear_each(NATURAL))[-1] is RoundCompleted


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
    assert kinds(told) == [RoundStarted, CardSetAside, RoundSuspended, QuestionRevised]
    assert table.asks("next-round", "go-on")
    table.answer("go-on")
    assert (table.phase, table.lies) == ("dealing", "8S /")


def test_a_round_that_is_announced_over_it_waits_at_once() -> None:
    """Nobody needs to draw a card to be asked."""
    table = between()
    assert kinds(table.tell(OpenBets())) == [RoundStarted, RoundSuspended]
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


def test_what_is_wrong_with_the_coming_set_is_no_matter_of_a_card_that_waited() -> None:
    """The card gets its place, and the set is asked about once it is in the shoe."""
    table = after(card("P1", "8S"))
    table.step(STOOD_BY, found=[ShuffleFailed(at=START, reason="a card jammed")])
    table.hear(card("B1", "?"))
    assert kinds(table.answer("3H")) == [QuestionAnswered, CardDrawn, RoundResumed]
    assert not table.state.asked


def test_what_is_found_before_the_first_shoe_holds_the_round_that_is_announced() -> None:
    """The announcement numbers the shoe; what was found is of this one."""
    table = after()
    table.step(STOOD_BY, found=[NOT_SHUFFLED])
    table.tell(OpenBets())
    assert (table.phase, table.question.kind, table.question.shoe) == ("suspended", "not-shuffled", 1)
    table = after()
    table.tell(EmptyShoe())
    told = table.tell(OpenBets())
    assert [(each.kind, each.shoe) for each in told if isinstance(each, IrregularityNoticed)] == [("too-few-cards", 1)]


def test_what_is_wrong_with_the_coming_set_is_asked_though_a_round_is_abandoned() -> None:
    """Once the set is in the shoe."""
    table = after(*NATURAL[:2])
    table.step(STOOD_BY, found=[ShuffleFailed(at=START, reason="a card jammed")])
    table.hear_each([UNPROVEN, NATURAL[2]])
    table.answer("none-of-these")
    assert (table.phase, table.state.asked) == ("abandoned", ())
    table.hear(LOADED)
    assert (table.question.question, table.question.kind) == ("next-round", "not-shuffled")


def test_a_notice_between_two_rounds_is_withdrawn_once_it_holds_the_next() -> None:
    """The card that waited is drawn, and the round goes on."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.tell(Notice(kind=Event.DECK_COUNT), Role.DEALER)
    table.hear(card("P1", "9H"))
    assert (table.phase, table.question.question) == ("suspended", "next-round")
    told = table.tell(Withdraw(), Role.DEALER)
    assert kinds(told) == [IrregularityRuled, CardDrawn, RoundResumed, QuestionLapsed]


# --- doubts that nobody answers


def unanswered() -> Sitting:
    """A round that waited for a person, and was dealt over."""
    table = between()
    table.hear_each([card("P1", "8S"), card("P1", "9S")])
    return table


def test_a_doubt_that_was_overtaken_is_asked_until_it_is_answered_and_nothing_waits_for_it() -> None:
    """Under one id, over rounds and shoes."""
    table = unanswered()
    asked = table.question
    assert (asked.question, asked.kind, asked.optional, table.phase) == ("next-round", "deck-count", True, "dealing")
    assert str(SET_WRONG) in asked.evidence
    table.hear_each([*cards("B1 2D, P2 KS, B2 3D"), *NATURAL, CUT, STARTED, *NATURAL])
    assert (table.question.id, table.phase) == (asked.id, "complete")
    table.answer("go-on")
    assert table.refuses(Decide(question=asked.id, choice="go-on")).endswith("none is open")


@pytest.mark.parametrize("found", [TOO_OFTEN, NOT_SHUFFLED])
def test_a_suspicion_that_nobody_confirmed_outlives_its_round(found: AnyFinding) -> None:
    """The set is the same in the next one."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[found])
    assert kinds(table.hear(card("P1", "8S")))[-1] is CardDrawn
    assert (table.question.question, table.question.round, table.question.optional) == ("confirm", 1, True)
    assert table.question.evidence == (str(found),)


def test_other_questions_go_before_a_doubt_that_was_overtaken() -> None:
    """It is asked again once they are answered."""
    table = unanswered()
    table.hear_each(cards("B1 2D, P2 ?"))
    assert table.question.question == "face"
    table.answer("KS")
    assert (table.question.question, table.phase) == ("next-round", "dealing")


def test_each_doubt_is_asked_under_its_own_round() -> None:
    """However many rounds are dealt over it: the oldest is asked first."""
    table = after(CUT, STARTED)
    table.step(card("P1", "8S"), found=[TOO_OFTEN])
    table.step(card("P1", "7S"), found=[TOO_MANY])
    table.step(card("P1", "6S"), found=[NOT_SHUFFLED])
    table.hear(card("P1", "9S"))
    for number, evidence in enumerate(map(str, (TOO_OFTEN, TOO_MANY, NOT_SHUFFLED)), 1):
        assert (table.question.round, table.question.evidence) == (number, (evidence,))
        table.answer("no")
    assert table.shown.phase.value == "dealing"
    assert "none is open" in table.refuses(Decide(question="1", choice="no"))


def test_questions_of_more_rounds_than_are_kept_lapse() -> None:
    """The oldest go first, and an event says so."""
    table = after(CUT, STARTED)
    for number in range(MOST_PAST + 2):
        table.step(card("P1", ("8S", "7S")[number % 2]), found=[TOO_OFTEN])
    lapsed = [each.data for each in table.told if isinstance(each.data, QuestionLapsed)]
    assert [(each.round, each.question) for each in lapsed] == [(1, "confirm")]


def test_voiding_a_round_leaves_its_doubt_open() -> None:
    """Nothing waits for it; what holds a void round is asked on."""
    table = between()
    table.hear(card("P1", "8S"))
    table.tell(VoidRound())
    assert (table.phase, table.question.question, table.question.optional) == ("voided", "next-round", True)
    table.answer("go-on")
    assert kinds(table.hear(card("P1", "8S"))) == [RoundStarted, CardDrawn]


def test_a_card_that_nobody_could_read_closes_the_bets_too() -> None:
    """It was drawn, and is the first of the round."""
    table = Sitting(custom=Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    told = [event.data for event in table.step(fault(), found=[together("8S ?"), UNREAD_FAULT])]
    assert BetsClosed(shoe=1, round=1, closed_by="card") in told
    assert "dealing-error" in [each.kind for each in told if isinstance(each, IrregularityNoticed)]
    assert table.question.question == "face"


@pytest.mark.parametrize(("choice", "phase"), [("yes", "suspended"), ("no", "dealing")])
def test_a_new_set_that_was_wanted_and_did_not_come_holds_the_next_round(choice: str, phase: str) -> None:
    """C 5.10.2: who wants one says so once the cards that came together are in order."""
    table = wants_a_new_set(choice)
    table.hear(card("P1", "8S"))
    assert table.phase == phase
    if choice == "yes":
        assert (table.question.question, table.question.clause) == ("next-round", "5.10.2")


def test_a_new_set_may_be_wanted_once_the_next_round_has_begun() -> None:
    """C 5.10.2: the round that is open is played on, and the one after it waits."""
    table = came_together()
    table.hear(card("P1", "8S"))
    told = table.answer("yes")
    assert [each.kind for each in told if isinstance(each, IrregularityNoticed)] == ["set-replaced"]
    assert (table.question.question, table.question.clause, table.phase) == ("next-round", "5.10.2", "dealing")


def test_a_new_shoe_is_the_new_set_that_was_wanted() -> None:
    """Its first round waits for nobody."""
    table = wants_a_new_set("yes")
    table.tell(StartShoe())
    assert kinds(table.hear(card("P1", "8S")))[-2:] == [RoundStarted, CardDrawn]


def came_together() -> Sitting:
    """The last two cards of a round came together, and it is asked whether the set is replaced."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[together("KS 4H")])
    table.answer(("KS", "4H"))
    table.answer("continue")
    assert table.question.question == "set-replaced"
    return table


def wants_a_new_set(choice: str) -> Sitting:
    table = came_together()
    would = {each.choice[0]: each.new_shoe for each in table.question.consequences}
    assert would == {"yes": True, "no": False}
    table.answer(choice)
    return table


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
        (Custom(), ["burn 3D"]),
    ],
)
def test_a_shoe_that_was_burnt_as_the_house_has_it_asks_nothing(custom: Custom, right: list[str]) -> None:
    """So many cards, or as many as the first one counts, a picture ten."""
    assert burnt(custom, *(card(*each.split()) for each in right)).phase == "dealing"


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
def test_a_shoe_that_was_burnt_otherwise_is_asked_about(custom: Custom, wrong: list[str]) -> None:
    """In its first round, with both figures; a person says whether it is so."""
    table = burnt(custom, *(card(*each.split()) for each in wrong))
    assert (table.question.question, table.question.kind) == ("confirm", "other")
    assert f"{len(wrong)} cards were burnt" in table.question.evidence[0]
    table.answer("no")
    assert table.lies == "2S /"


def test_cards_may_be_burnt_after_bets_were_opened() -> None:
    """Before the first card of the first round they are no cards in excess."""
    table = Sitting()
    table.tell(OpenBets())
    assert kinds(table.hear_each([card("first-card", "2H"), card("burn", "4S")])) == [CardSetAside, CardSetAside]
    assert (table.phase, table.state.asked) == ("betting", ())


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


def test_a_first_card_that_nobody_announced_is_asked_about_where_a_command_closes_the_bets() -> None:
    """Nobody can have closed them."""
    table = Sitting(custom=Custom(bets_close_by_command=True))
    table.hear(card("P1", "8S"))
    assert (table.question.question, table.question.kind) == ("confirm", "dealing-error")
