"""Cards in excess: what the shoe calls an overdraw, cards that nobody needs, and what they open."""

from typing import Final

import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import AnyCommand, CorrectCard, Notice, OpenBets, SettleRound, VoidRound
from shoed.events import (
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
from shoed.findings import OrderAltered, Unread
from shoed.observations import AnyObservation, FaultMeaning
from shoed.table.record import MOST_WAITING, Where
from shoed.words import Event
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
    left_lying,
    result,
    together,
)

FOUND: Final = OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card behind")


# --- the card of an overdraw


def test_the_slot_that_the_shoe_names_for_an_overdraw_is_published() -> None:
    """As evidence: the maker's document gives the card to the next round."""
    table = after(*NATURAL[:3])
    (aside, *_) = table.hear(replace(card("overdraw", "4H"), target="player 1"))
    assert isinstance(aside, CardSetAside)
    assert aside.reported.target == "player 1"
    assert table.question is not None
    assert "as overdrawn for player 1" in table.question.text


def test_an_overdrawn_card_while_one_is_due_is_asked_about_at_once() -> None:
    """C 5.7: it serves the round as the card that is due, and whoever said so need not be asked whether it can."""
    table = after(*NATURAL[:3])
    assert kinds(table.hear(card("overdraw", "4H"))) == [CardSetAside, RoundSuspended]
    assert table.asks("reading", "due", "excess", "missed")
    assert (table.question.clause, table.question.proposed, table.lies) == ("5.7", "due", "8S KS / 3H")
    told = table.answer("due")
    assert [(each.kind, each.clause) for each in told if isinstance(each, IrregularityRuled)] == [
        ("card-in-excess", "5.7")
    ]
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")


def test_an_overdrawn_card_that_is_not_due_waits_until_the_round_has_its_cards() -> None:
    """The round goes on; then the House says whether the next one opens with it (C 5.7)."""
    table = after(*NATURAL[:3], card("overdraw", "9C"))
    assert kinds(table.answer("excess"))[-1] is RoundResumed
    assert kinds(table.hear(NATURAL[3])) == [CardDrawn, RoundCompleted, RoundSuspended]
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    told = table.answer("yes")
    (resumed,) = (each for each in told if isinstance(each, RoundResumed))
    assert resumed.carried == (Card.C9,)


def test_an_overdrawn_card_is_asked_about_before_a_result_that_came_behind_it() -> None:
    """The shoe reckons with the card; what came first is asked first."""
    table = after(*NATURAL[:3], card("overdraw", "9C"), result("banker"))
    assert table.asks("reading", "due", "excess", "missed")
    table.answer("excess")
    assert table.asks("reading", "missed", "not-so")
    assert table.question.clause is None
    table = after(*NATURAL[:3], result("banker"), card("overdraw", "9C"))
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    assert table.asks("reading", "due", "excess", "missed")
    table = after(*NATURAL[:3], result("banker"), card("overdraw", "KS"))  # perhaps the card before it
    assert table.asks("reading", "missed", "not-so")
    table.answer("not-so")
    assert table.asks("reading", "same-card", "due", "excess", "missed")


def test_two_overdrawn_cards_are_asked_about_one_by_one() -> None:
    """Behind a face that is asked for; once the round is told complete, each opens the next round or voids this one."""
    table = after(*NATURAL[:3], card("B2", "?"), card("overdraw", "9C"), card("overdraw", "2D"))
    told = table.answer("4H")
    assert kinds(told)[-2:] == [IrregularityNoticed, QuestionAsked]
    assert RoundCompleted in kinds(told)
    assert kinds(table.answer("yes"))[-3:] == [IrregularityNoticed, IrregularityRuled, QuestionAsked]
    told = table.answer("yes")
    assert [each.carried for each in told if isinstance(each, RoundResumed)] == [(Card.C9, Card.D2)]


def test_an_overdrawn_card_after_the_last_one_is_asked_about_at_once() -> None:
    """A result that was told stays told meanwhile."""
    table = after(*NATURAL, result("player"))
    assert kinds(table.hear(card("overdraw", "9C"))) == [CardSetAside, RoundSuspended]
    assert table.answer("no")[-1].__class__ is RoundVoided


def test_an_overdrawn_card_without_a_face_is_told_by_a_person_first() -> None:
    """Then it is one in excess."""
    table = after(*NATURAL, card("overdraw", "?"))
    assert (table.question.question, table.question.index) == ("face", 5)
    table.answer("9C")
    assert table.question.kind == "card-in-excess"


def test_a_card_too_many_told_again_once_its_error_is_cleared_is_no_further_one() -> None:
    """It is in excess: the event goes out, and nothing follows."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD, P3 4D"))
    asked = table.question
    assert [event.type for event in table.step(card("overdraw", "4D"))] == ["card.set-aside"]
    assert table.question == asked


@pytest.mark.parametrize(
    ("before", "answers"),
    [
        (cards("P1 8S, B1 ?, P2 4D"), ["2C"]),  # it waits, and may be due
        ([*NATURAL[:3], card("overdraw", "4D")], ["excess"]),
        ([*NATURAL, card("overdraw", "4D")], ["yes"]),
    ],
)
def test_an_overdrawn_card_with_the_face_of_one_that_waits_or_was_overdrawn_is_asked_about(
    before: list[AnyObservation], answers: list[str]
) -> None:
    """It may be the same, told again, or one more of its face."""
    table = after(*before, card("overdraw", "4D"))
    for each in answers:
        table.answer(each)
    assert table.asks("reading", "same-card", *table.question.choices[1:-1])


def test_a_card_that_was_due_and_then_told_as_an_overdraw_is_asked_about() -> None:
    """The same card, the one that is due, or one more; the round goes on as it was if it is the same."""
    table = after(*NATURAL[:3], card("overdraw", "KS"))
    assert table.asks("reading", "same-card", "due", "excess", "missed")
    assert kinds(table.answer("same-card")) == [QuestionAnswered, RoundResumed]
    assert kinds(table.hear(NATURAL[3])) == [CardDrawn, RoundCompleted]
    assert not table.state.asked


def test_that_it_may_be_told_again_is_asked_once_the_round_has_its_result() -> None:
    """While something else is asked it waits, and the result is told before."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[FOUND])
    table.hear(card("overdraw", "4H"))
    told = table.answer("no")
    assert kinds(told)[-3:] == [RoundCompleted, RoundSuspended, QuestionAsked]
    assert table.asks("reading", "same-card", "excess")


@pytest.mark.parametrize("then", [card("overdraw", "5D"), card("overdraw", "?")])
@pytest.mark.parametrize("between", [(), (card("set-up", "5D"),)])
def test_an_overdrawn_card_of_another_face_is_another_card(
    then: AnyObservation, between: tuple[AnyObservation, ...]
) -> None:
    """So is one behind other cards."""
    table = after(*NATURAL[:3], *between, then)
    assert table.asks("reading", "due", "excess", "missed")


def test_where_reports_were_missed_no_card_is_known_to_be_told_again() -> None:
    """Another may have come in between, and so may the one that is due."""
    for face in ("KS", "5D", "?"):
        table = after(*NATURAL[:3], UNPROVEN, card("overdraw", face))
        assert table.asks("gap", "missed", "cards-shown", "next-round")
        table.answer("cards-shown")
        assert table.asks("reading", "due", "excess", "missed")


def test_overdrawn_cards_are_bounded_and_go_with_their_round() -> None:
    """A shoe gone mad does not fill the state; a round that is given up takes them along."""
    table = after(*NATURAL[:2], *[card("overdraw", face) for face in ("9C", "9D") * 25])
    for _ in range(MOST_WAITING):
        table.answer("excess")
    assert (table.phase, len(table.state.record.at(Where.PUT_BY))) == ("dealing", MOST_WAITING)
    table.hear(card("overdraw", "9C"))
    table.answer("excess")
    assert len(table.state.record.at(Where.PUT_BY)) == MOST_WAITING
    assert kinds(table.hear(card("P1", "2C"))) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert table.state.record.at(Where.PUT_BY) == ()


# --- a card too many


def test_a_card_too_many_that_cannot_be_put_back_voids_the_round() -> None:
    """C 5.5.3, before the next round; in F 5.2."""
    for game, clause in (
        ("commission", "5.5.3"),
        ("fortune-six", "5.2"),
        ("easy-six", "5.1.2"),
        ("tournament", "5.1.2"),
    ):
        table = after(*NATURAL, card("B3", "5D"), game=game)
        (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
        assert (void.kind, void.clause) == ("card-in-excess", clause)


def test_a_card_too_many_is_overtaken_by_the_next_round() -> None:
    """Nobody answered: the round has its result, and the card opens nothing."""
    table = after(*NATURAL, card("B3", "5D"), result("player"))
    told = table.hear(card("P1", "2C"))
    assert kinds(told) == [RoundStarted, CardDrawn]
    assert table.lies == "2C /"


def test_after_a_settled_round_a_card_too_many_holds_the_next() -> None:
    """Its bets are paid; it opens nothing by itself."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    told = [event.data for event in table.step(card("B3", "5D"))]
    assert kinds(told) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
    table.answer("go-on")
    assert kinds(table.tell(OpenBets()))[-1] is RoundStarted
    assert table.phase == "betting"


def test_two_cards_too_many_open_the_next_round_together() -> None:
    """In the order in which they came."""
    table = after(*NATURAL, card("B3", "5D"), card("B3", "6D"))
    for _ in range(2):
        table.answer("yes")
    assert not table.state.asked
    table.tell(OpenBets())
    table.hear(card("P2", "2C"))
    assert table.lies == "5D 2C / 6D"


# --- a card too many between two rounds


def test_every_card_after_the_round_is_asked_about_up_to_a_bound() -> None:
    """A shoe gone mad does not fill the state; every card is told all the same."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear_each([card("B3", "5D")] * 50)
    for _ in range(MOST_WAITING):
        table.answer("go-on")
    assert not table.state.asked


def test_cards_left_over_and_kept_open_the_next_round_in_their_order() -> None:
    """What the round left over comes first; what came after it stays, whatever becomes of that round."""
    table = after(*NATURAL, card("B3", "5D"))
    table.answer("yes")
    table.tell(SettleRound())
    table.hear(card("B3", "6D"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("P2", "2C"))
    assert table.lies == "5D 2C / 6D"
    table.tell(VoidRound())
    table.hear(card("B2", "7D"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.lies == "7D / 9C"


def test_a_card_without_a_face_opens_nothing_by_itself() -> None:
    """What lies there has a face; whoever sees it goes on with the next round."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "?"))
    assert table.asks("next-round", "go-on")


def test_a_card_without_a_face_is_asked_about_beside_another_one() -> None:
    """Each card that follows a void round is asked about: one with a face and one without."""
    table = after(*NATURAL[:2])
    table.tell(VoidRound())
    table.hear_each(cards("P2 5H, B2 ?"))
    for said in ("5H", "a card without a face"):
        (evidence,) = table.question.evidence
        assert evidence == f"{said} after the round was over"
        table.answer("go-on")
    assert not table.state.asked


def test_a_card_of_the_shoe_before_opens_no_round_of_the_next() -> None:
    """That it came is asked on; one that was kept went with its shoe."""
    table = after(*NATURAL, result("player"))
    table.tell(SettleRound())
    table.hear_each(cards("B3 5D, B3 6D"))
    table.answer("carried")
    assert table.asks("next-round", "carried", "go-on")
    table.hear_each([CUT, STARTED])
    assert table.asks("next-round", "go-on")
    table.answer("go-on")
    table.hear(card("P1", "2C"))
    assert table.lies == "2C /"


def test_a_card_that_nobody_answered_for_is_asked_of_on_without_a_place() -> None:
    """The next round waited for it and was overtaken: play does not wait for the answer any more."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear_each(cards("B3 5D, P1 2C"))
    assert table.asks("next-round", "carried", "go-on")
    table.hear(card("P1", "3C"))
    assert (table.phase, table.question.optional, table.question.round) == ("dealing", True, 2)
    assert table.asks("next-round", "carried", "go-on")


def test_a_card_that_passed_unread_waits_behind_one_that_may_open_the_round() -> None:
    """What came together with it is told, and is in no hand."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(OpenBets())
    unread = Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="the device said fault 1")
    table.step(STOOD_BY, found=[unread, together("? 8S")])
    assert (table.phase, table.state.record.order) == ("betting", ())
    assert table.asks("next-round", "carried", "go-on")


@pytest.mark.parametrize("before", [[], [CUT, STARTED], [*NATURAL, CUT, STARTED, card("burn", "QC")]])
def test_an_overdrawn_card_before_the_first_round_of_a_shoe_is_asked_about(before: list[AnyObservation]) -> None:
    """A person decides whether it opens that round; reported again, it is the same card."""
    table = after(*before, card("overdraw", "5D"), card("overdraw", "5D"))
    assert len(table.state.asked) == 1
    assert table.asks("next-round", "carried", "go-on")
    assert (table.question.kind, table.question.proposed, table.phase) == ("card-in-excess", "carried", "idle")
    table.hear(card("P1", "9H"))
    assert table.question.text.endswith("5D was drawn in excess. Does 5D open this round?")
    table.answer("go-on")
    assert table.lies == "9H /"


def test_an_overdrawn_card_while_bets_are_open_opens_the_round_that_is_open() -> None:
    """The question and the effects of its answers name that round."""
    table = after(*NATURAL)
    table.tell(OpenBets())
    table.hear(card("overdraw", "5D"))
    assert table.question.text == "Before round 2: 5D was drawn in excess. Does 5D open this round?"
    assert [each.effect for each in table.question.consequences] == [
        "5D opens this round. This round may begin.",
        "The card is put away. This round may begin.",
    ]


# --- a card behind a complete round, where reports were missed


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
def test_where_reports_were_missed_the_next_round_may_have_begun(
    missed: AnyObservation, place: str, choices: tuple[str, ...]
) -> None:
    """A card of a first deal is the next round's rather than one in excess; a person says which."""
    table = after(*NATURAL, missed, card(place, "4D"))
    assert table.asks("reading", *choices)
    assert (table.question.proposed, table.question.index) == (choices[0], 5)


@pytest.mark.parametrize("place", ["B0", "B15"])
def test_a_slot_that_is_none_is_of_no_next_round(place: str) -> None:
    """It is a card too many, as it would be without a gap."""
    table = after(*NATURAL, UNPROVEN, card(place, "4D"))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


def test_a_round_that_began_unheard_goes_on_behind_the_card_that_was_missed() -> None:
    """The one before is settled as it was; further cards that were missed are asked for in their turn."""
    table = after(*NATURAL, result("player"), UNPROVEN, *cards("P2 4D, B2 5D"))
    told = table.answer("next-round")
    assert kinds(told) == [QuestionAnswered, RoundOvertaken, RoundStarted, RoundSuspended, QuestionAsked]
    table.answer("2C")
    assert table.asks("reading", "missed", "wrong-side")
    table.answer("missed")
    table.answer("3C")
    assert (table.phase, table.lies) == ("complete", "2C 4D / 3C 5D")
    last = table.shown.last_round
    assert last is not None
    assert (last.integrity, last.answer.value) == ("partial", "awaited")


def test_a_card_that_was_kept_opens_the_round_that_began_unheard() -> None:
    """It is the first card, so that none of that round was missed for certain."""
    table = after(*NATURAL, card("overdraw", "5D"))
    table.answer("yes")
    table.hear_each([UNPROVEN, card("P2", "4D")])
    (asked,) = (each for each in table.question.consequences if each.choice == ("next-round",))
    assert (asked.player.cards, asked.then_asks) == ((Card.D5,), "reading")
    table.answer("next-round")
    assert (table.phase, table.lies, table.question.question) == ("suspended", "/", "reading")


def test_a_card_behind_a_round_that_is_opened_again_is_asked_of_that_round() -> None:
    """While it is asked whether it is the next one's, the one before it becomes the last card of this one."""
    table = after(*NATURAL, UNPROVEN, *cards("B3 5D, B3 6D"))
    table.answer("excess")
    table.answer("yes")
    assert table.asks("reading", "excess", "next-round")
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.asks("reading", "next-round", "excess", "same-card", "read-again")
    assert table.lies == "2S KS 5D / 3H 4H"
    table.answer("excess")
    told = table.answer("yes")
    assert [(each.player.cards, each.carried) for each in told if isinstance(each, RoundResumed)] == [
        ((Card.S2, Card.SK, Card.D5), (Card.D6,))
    ]


def test_a_round_that_began_unheard_waits_for_a_new_set_that_is_wanted() -> None:
    """The question says so beforehand."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    for choice in (("2C", "2H"), "continue", "yes"):
        table.answer(choice)
    table.hear_each([card("P3", "KD"), UNPROVEN, card("B1", "9C")])
    (asked,) = (each for each in table.question.consequences if each.choice == ("next-round",))
    assert asked.then_asks == "next-round"
    table.answer("next-round")
    assert (table.question.question, table.question.kind) == ("next-round", "set-replaced")


# --- the shoe counts a card that was left over


@pytest.mark.parametrize("then", [(), (SettleRound(),), (SettleRound(), VoidRound())])
def test_the_slot_behind_the_cards_left_over_opens_the_next_round(then: tuple[AnyCommand, ...]) -> None:
    """As Player's first does; once they are void with their round the shoe is asked about like any other."""
    table = after(*NATURAL, card("B3", "5D"), card("B3", "6D"))
    for _ in range(2):
        table.answer("yes")
    for command in then:
        table.tell(command)
    told = table.hear(card("P2", "2C"))
    assert (RoundStarted in kinds(told)) is (VoidRound() not in then)
    assert table.lies == ("5D 2C / 6D" if VoidRound() not in then else "8S KS / 3H 4H")


def test_of_two_like_cards_left_over_the_foreign_one_opens_nothing() -> None:
    """C 5.5.1: the round is void, and it is asked whether the other one opens the next."""
    table = after(*NATURAL, *cards("B3 5D, P3 5D"))
    for _ in range(2):
        table.answer("yes")
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=5))
    assert table.asks("next-round", "carried", "go-on")
    table.answer("carried")
    assert left_lying(table) == (Card.D5,)


def test_an_overdrawn_card_after_the_round_with_the_face_of_its_last_card_is_one_more() -> None:
    """The last card was due: it was not told before as one too many."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("overdraw", "4H"))
    assert table.asks("next-round", "carried", "go-on")


def test_a_kept_card_stays_kept_where_a_correction_makes_none_due() -> None:
    """C 5.7: it is asked on whether it opens the next round."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(CorrectCard(index=1, card=Card.H8))
    assert (table.phase, table.lies) == ("settled", "8H KS / 3H 4H")
    assert table.asks("next-round", "carried", "go-on")


def test_a_kept_card_that_was_reported_elsewhere_than_is_due_now_is_asked_about() -> None:
    """C 5.7: by a corrected face Player draws, and the card was reported as Banker's third."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.asks("reading", "due", "excess", "missed", "same-card")
    assert table.lies == "2S KS / 3H 4H"


def test_a_card_kept_after_the_round_opens_the_next_one_so_too() -> None:
    """Nobody announces it."""
    table = after(*NATURAL, result("player"))
    table.tell(SettleRound())
    table.hear(card("B3", "5D"))
    (aside,) = (each for each in table.told if each.type == "card.set-aside")
    table.answer("carried")
    started, first, second = table.hear(card("B1", "9C"))
    assert isinstance(started, RoundStarted)
    assert isinstance(first, CardDrawn)
    assert isinstance(second, CardDrawn)
    assert (first.set_aside, second.set_aside) == (f"word-bac-901-{aside.sequence}", None)
    assert table.lies == "5D / 9C"


def test_more_cards_left_over_than_a_first_deal_has_open_nothing_by_a_slot() -> None:
    """What the shoe makes of them nobody knows; Player's first opens the round."""
    table = after(*NATURAL, *cards("B3 5D, B3 6D, B3 7D, B3 2D"))
    for _ in range(4):
        table.answer("yes")
    told = table.hear(card("P3", "9C"))
    assert kinds(told) == [CardSetAside, RoundSuspended]


@pytest.mark.parametrize(("banker", "account"), [("KH AD 7C", "KH AD AH"), ("KH 7D", "KH 7D"), ("KH 4D", "KH 4D AH")])
def test_a_corrected_round_is_accounted_when_the_next_begins(banker: str, account: str) -> None:
    """By a corrected face Player stands, and the next round begins first: Banker has the third card if it is due."""
    table = after(*dealt("4S AC AH", banker))
    table.tell(CorrectCard(index=1, card=Card.S6))
    corrected = [each for each in table.hear(card("P1", "9C")) if isinstance(each, RoundCorrected)]
    assert [" ".join(map(str, each.banker.cards)) for each in corrected] == [account]
