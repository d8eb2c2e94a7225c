"""Doubts whose ground went away or grew: faces that were corrected, cards that are still asked, rounds overtaken."""

import pytest

from shoed.cards import Card
from shoed.commands import (
    AnyCommand,
    CloseBets,
    CorrectCard,
    EmptyShoe,
    GrantSqueeze,
    Notice,
    OpenBets,
    SettleRound,
    VoidRound,
)
from shoed.events import (
    CardDrawn,
    InsuranceWaived,
    IrregularityRuled,
    QuestionLapsed,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundCorrected,
    RoundResumed,
    RoundStarted,
    RoundVoided,
    ShoeStarted,
)
from shoed.findings import NotShuffled, OrderAltered, TooMany, TooOften
from shoed.observations import Outcome
from shoed.table import Custom
from shoed.words import Event, Role, Stage
from tests.observed import (
    CUT,
    EMPTIED,
    JUMPED,
    LOADED,
    NATURAL,
    SIX_CARDS,
    START,
    STARTED,
    STOOD_BY,
    UNREAD_FAULT,
    Sitting,
    after,
    card,
    cards,
    completed,
    dealt,
    fault,
    kinds,
    left_lying,
    left_over,
    result,
    together,
)

# --- what hangs on a card that nobody has told yet


@pytest.mark.parametrize("unread", ["P1 8S, B1 3H, P2 ?", "P1 2S, B1 3H, P2 ?, B2 KH, P3 6S, B3 4H"])
def test_an_interruption_waits_for_the_face_of_a_card_that_was_drawn(unread: str) -> None:
    """C 5.4: whether an outcome is established hangs on every card drawn, read or not."""
    table = after(*cards(unread))
    told = table.tell(Notice(kind=Event.INTERRUPTION))
    assert RoundVoided not in kinds(told)
    ruled = [each for each in table.answer("KD") if isinstance(each, IrregularityRuled)]
    assert [(each.then, each.clause) for each in ruled] == [("continue", "5.4.1")]


def test_an_interruption_waits_for_the_place_of_a_card_that_was_reported() -> None:
    """One was missed before it: three were drawn, and an outcome is established."""
    table = after(*cards("P1 8S, B1 3H, B2 4H"))
    assert RoundVoided not in kinds(table.tell(Notice(kind=Event.INTERRUPTION)))
    table.answer("missed")
    told = table.answer("KD")
    assert ("continue", "5.4.1") in [(each.then, each.clause) for each in told if isinstance(each, IrregularityRuled)]


def test_a_card_told_twice_establishes_nothing() -> None:
    """Two were drawn when the game was interrupted, whatever was reported: C 5.4.2."""
    table = after(*cards("P1 8S, B1 3H, B1 3H"))
    table.tell(Notice(kind=Event.INTERRUPTION))
    assert [each.clause for each in table.answer("same-card") if isinstance(each, RoundVoided)] == ["5.4.2"]


def test_too_few_cards_waits_for_the_face_of_a_card_that_was_drawn() -> None:
    """C 5.5.4: a natural on the last four stands."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"))
    assert RoundVoided not in kinds(table.tell(Notice(kind=Event.TOO_FEW_CARDS)))
    assert RoundCompleted in kinds(table.answer("4H"))


def test_a_shoe_that_was_told_empty_while_a_face_is_asked_was_not_if_a_card_follows() -> None:
    """C 5.5.4: the next card is not awaited from an empty shoe any more."""
    table = after(*cards("P1 8S, B1 ?"))
    table.tell(EmptyShoe())
    table.hear(card("P2", "KS"))
    table.answer("3H")
    assert (table.phase, table.lies) == ("dealing", "8S KS / 3H")


def test_a_supervisor_who_tells_it_too_confirms_that_the_shoe_is_empty() -> None:
    """C 5.5.4: the dealer told it first, while a face was asked; nobody is asked whether it is so."""
    table = after(*cards("P1 8S, B1 ?"))
    table.tell(EmptyShoe(), Role.DEALER)
    table.tell(EmptyShoe())
    assert [each.clause for each in table.answer("3H") if isinstance(each, RoundVoided)] == ["5.5.4"]


@pytest.mark.parametrize("at", [1, 3, None])
def test_too_few_cards_of_a_round_that_has_all_its_cards_changes_nothing(at: int | None) -> None:
    """Whatever card is named."""
    table = after(*NATURAL)
    (ruled,) = (
        each for each in table.tell(Notice(kind=Event.TOO_FEW_CARDS, at=at)) if isinstance(each, IrregularityRuled)
    )
    assert (ruled.then, table.phase) == ("stands", "complete")


# --- what was inferred from a face that was wrong


@pytest.mark.parametrize("game", ["commission", "super-six-plus", "fortune-six", "easy-six", "tournament"])
def test_a_card_in_excess_by_a_misread_one_is_none_once_that_is_corrected(game: str) -> None:
    """By 8S and JD nobody drew; by 2S both third cards were due where the shoe said: nobody can void the round."""
    table = after(*cards("P1 8S, B1 3H, P2 JD, B2 KD, P3 4D, B3 5C"), game=game)
    assert table.question.kind == "card-in-excess"
    told = table.tell(CorrectCard(index=1, card=Card.S2))
    assert (table.state.asked, table.phase, table.lies) == ((), "corrected", "2S JD 4D / 3H KD 5C")
    assert QuestionLapsed in kinds(told)
    assert {each.then for each in told if isinstance(each, IrregularityRuled)} == {"stands"}


def test_a_correction_that_is_taken_back_takes_its_doubt_with_it() -> None:
    """Six lawful cards; by a wrong face the last two were too many."""
    table = after(*cards("P1 2S, B1 3H, P2 JD, B2 KD, P3 4D, B3 5C"))
    table.tell(CorrectCard(index=1, card=Card.S8))
    assert table.question.kind == "card-in-excess"
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert (table.state.asked, table.lies) == ((), "2S JD 4D / 3H KD 5C")


def test_a_card_that_the_device_calls_overdrawn_stays_one_in_excess() -> None:
    """The faces say nothing of that."""
    table = after(*NATURAL, card("overdraw", "5D"))
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.question.kind == "card-in-excess"


def test_a_face_too_often_is_doubted_no_more_once_the_card_is_corrected() -> None:
    """More cards than the set are more whatever their faces."""
    too_often = TooOften(at=START, card=Card.S4, times=5, decks=4)
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(card("P2", "4S"), found=[too_often])
    table.tell(CorrectCard(index=3, card=Card.H4))
    assert (table.state.asked, table.phase) == ((), "dealing")
    table.step(card("B2", "9S"), found=[TooMany(at=START, cards=417, whole=416)])
    table.tell(CorrectCard(index=4, card=Card.H9))
    assert table.question.kind == "deck-count"


def test_a_face_too_often_is_doubted_on_when_another_card_is_corrected() -> None:
    """The card that is corrected has another face: as many cards of the doubted face were told as before."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(card("P2", "4S"), found=[TooOften(at=START, card=Card.S4, times=5, decks=4)])
    table.tell(CorrectCard(index=1, card=Card.H8))
    assert (table.question.question, table.question.kind) == ("confirm", "deck-count")


def test_a_card_left_over_by_a_correction_is_explained_by_the_wrong_count_that_was_noticed() -> None:
    """C 5.5.3: the hand had a card too many, which was said before: it is no further matter."""
    table = after(*dealt("2S 2C KD", "3S 4C"))
    table.tell(Notice(kind=Event.WRONG_COUNT, at=1, reconstructable=True))
    table.answer("continue")
    table.tell(CorrectCard(index=1, card=Card.S6))
    assert (table.phase, table.lies, table.state.asked) == ("corrected", "6S 2C / 3S 4C", ())


def test_cards_left_over_since_by_a_correction_are_asked_about() -> None:
    """READINGS, irregularities 9: what was said of an exposed card before says nothing of them."""
    table = after(*cards("P1 2S"))
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=1))
    table.answer("yes")
    table.answer("continue")
    table.hear_each(cards("B1 3H, P2 KS, B2 KH, P3 6S, B3 4H"))
    table.tell(CorrectCard(index=1, card=Card.S9))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    (kept,) = (each.carried for each in table.question.consequences if each.choice == ("yes",))
    assert kept == (Card.S6, Card.H4)


def test_a_card_left_over_by_a_correction_waits_until_a_suspicion_is_answered() -> None:
    """By the corrected face Player has a natural; whether the order was altered is asked first."""
    table = after(*dealt("2S 2C KD", "3S 4C"))
    table.step(STOOD_BY, found=[OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card behind")])
    table.tell(CorrectCard(index=1, card=Card.S6))
    assert (table.question.question, table.question.kind, table.lies) == ("confirm", "order-altered", "6S 2C / 3S 4C")
    table.answer("no")
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


def test_one_more_card_left_over_by_a_correction_is_asked_about() -> None:
    """The sixth card was said to open the next round; then Player has a natural, and the fifth goes there too."""
    table = after(*cards("P1 2S, B1 6H, P2 KS, B2 KH, P3 5S, B3 4H"))
    table.answer("yes")
    assert not table.state.asked
    table.tell(CorrectCard(index=1, card=Card.S9))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


# --- the last card, told again


def test_the_last_card_told_again_may_be_the_same() -> None:
    """No card is put in front of the next round, and the round is not void."""
    table = after(*NATURAL, card("B2", "4H"))
    assert table.asks("reading", "same-card", "read-again", "excess")
    table.answer("same-card")
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")
    table.hear(card("B2", "5H"))
    table.answer("read-again")
    assert (table.phase, table.lies) == ("corrected", "8S KS / 3H 5H")


# --- rounds that are overtaken


def test_a_round_that_waits_only_for_what_players_choose_is_played_on_when_it_is_overtaken() -> None:
    """C 5.10.1 puts no card in doubt: whoever did not choose plays on, and the result is told and compared."""
    table = after(*cards("P1 2S, B1 3H, P2 9D"))
    table.step(card("B2", "4D"), found=[together("9D 4D", order_known=True)])
    table.hear_each([card("P3", "KC"), result("banker")])
    told = table.hear(card("P1", "8S"))
    assert kinds(told) == [CardDrawn, RoundResumed, RoundCompleted, RoundConfirmed, RoundStarted, *kinds(told)[5:]]
    assert RoundAbandoned not in kinds(told)
    (completed,) = (each for each in told if isinstance(each, RoundCompleted))
    assert (completed.player.cards, completed.banker.cards) == (
        (Card.S2, Card.D9, Card.CK),
        (Card.H3, Card.D4),
    )


def test_a_round_that_lacks_cards_is_abandoned_when_it_is_overtaken() -> None:
    """Whoever chose or not: nobody knows its end."""
    table = after(*cards("P1 2S, B1 3H"))
    table.step(card("P2", "4S"), found=[together("3H 4S", order_known=True)])
    assert kinds(table.hear(card("P1", "8S")))[0] is RoundAbandoned


def test_a_new_set_that_is_not_decided_yet_does_not_hold_the_bets() -> None:
    """C 5.10.2: the supervisor may decide later. The round waits for the choices of players only, and is paid."""
    table = after(*cards("P1 2S, B1 3H, P2 9D"))
    table.step(card("B2", "4D"), found=[together("9D 4D")])
    table.answer(("9D", "4D"))
    table.hear(card("P3", "KC"))
    last = completed(table.tell(OpenBets()))
    assert (last.player.points, last.banker.points, last.outcome) == (1, 7, Outcome.BANKER)
    assert (table.phase, table.question.question, table.question.optional) == ("betting", "set-replaced", True)


def test_the_first_card_of_the_next_round_proves_that_the_shoe_was_not_empty() -> None:
    """C 5.5.4: no round is void for a card that was missing. A suspicion is open, and two cards were drawn."""
    table = after(CUT, STARTED, card("P1", "2S"))
    table.step(card("B1", "3H"), found=[NotShuffled(at=START, cards=60, evidence="in suits")])
    table.hear(EMPTIED)
    assert kinds(table.hear(card("P1", "6S"))) == [RoundAbandoned, RoundStarted, CardDrawn]


def test_a_card_of_unknown_place_holds_the_bets_though_a_suspicion_does_not() -> None:
    """C 5.7: a fifth card follows a natural while a suspicion is open. Both questions are answered before the bets."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[NotShuffled(at=START, cards=60, evidence="in suits")])
    table.hear(card("B3", "5D"))
    assert table.refuses(OpenBets()) == "round 1 is suspended: answer question 1 first, or void the round"
    assert completed(table.answer("no")).outcome is Outcome.PLAYER
    assert table.asks("reconstructable", "yes", "no")


def test_a_card_left_over_by_an_altered_order_opens_the_next_round() -> None:
    """C 5.12: the card has its place, and players have not chosen. The round is paid, and bets may be opened."""
    table = after(*cards("P1 3H, B1 JS, P2 7C, B2 QH"), card("dealt", "9D"))
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=4, order=(Card.D9, Card.HQ)))
    table.answer("yes")
    assert table.question.question == "option"
    last = completed(table.tell(OpenBets()))
    assert (last.player.points, last.banker.points, last.outcome) == (0, 9, Outcome.BANKER)
    table.hear(card("B1", "6C"))
    assert table.lies == "QH / 6C"


def test_third_cards_of_unknown_order_leave_the_account_of_a_round_that_is_overtaken() -> None:
    """C 5.10: without the answer no other hands are known, and the result is not that of the first four cards."""
    table = after(*dealt("2S KS 2D", "3H KH 4H"))  # Player 4, Banker 7
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=5))
    assert table.question.question == "card-order"
    assert RoundCorrected not in kinds(table.hear(card("P1", "6S")))
    last = table.shown.last_round
    assert last is not None
    assert (last.round, last.hands.player.points, last.hands.banker.points) == (1, 4, 7)


def test_a_corrected_natural_is_paid_whatever_the_order_of_the_cards_after_it() -> None:
    """C 5.10: the order of third cards is in question, and by a misread card no third card was due."""
    table = after(*SIX_CARDS)  # Player 8, Banker 7
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=5))
    table.tell(CorrectCard(index=2, card=Card.H9))
    told = table.hear(card("P1", "6S"))
    (corrected,) = (each for each in told if isinstance(each, RoundCorrected))
    assert (corrected.player.points, corrected.banker.points, corrected.outcome) == (2, 9, Outcome.BANKER)
    last = table.shown.last_round
    assert last is not None
    assert (last.pays["player"].pays, last.pays["banker"].pays) == ("lose", "0.95:1")


def test_a_card_too_many_is_placed_before_bets_are_opened() -> None:
    """C 5.7: the bets of the next round are refused until the place of the card is decided."""
    table = after(*NATURAL, card("P3", "5D"))
    assert table.refuses(OpenBets()) == "round 1 is suspended: answer question 1 first, or void the round"
    table.answer("yes")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.lies == "5D / 9C"


def test_a_card_that_waited_behind_a_round_is_asked_on_when_another_begins() -> None:
    """The question of what it was stays open, under its number and its round."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    asked = table.question
    assert (asked.question, asked.round, asked.optional) == ("reading", 1, True)
    assert "5D" in asked.evidence[0]


# --- cards left over


def behind_left_over() -> Sitting:
    table = left_over("9S")
    table.tell(SettleRound())
    return table


@pytest.mark.parametrize("told", [(), (OpenBets(),)])
def test_where_reports_were_missed_it_is_asked_whether_the_shoe_counts_the_card_left_over(
    told: tuple[AnyCommand, ...],
) -> None:
    """Banker's first may be behind it, or behind a Player's first that was lost; the record is never whole."""
    table = behind_left_over()
    for command in told:
        table.tell(command)
    table.hear_each([JUMPED, card("B1", "8C")])
    assert table.asks("reading", "due", "carried", "not-carried")
    before = table.state
    table.answer("due")
    table.hear_each(cards("P2 7H, B2 JS"))
    assert table.lies == "9S 7H / 8C JS"
    last = table.shown.last_round
    assert last is not None
    assert last.integrity == "partial"
    table.state = before
    table.answer("carried")
    assert table.asks("reading", "missed", "excess")
    table.answer("missed")
    table.answer("4C")
    assert table.lies == "9S 8C / 4C"


def test_two_overdrawn_cards_open_the_next_round_in_the_order_in_which_they_came() -> None:
    """The first has the face of the card before it, so that it is asked whether it is the same."""
    table = after(*cards("P1 KD, B1 8H, P2 10C, B2 10H"), card("overdraw", "10H"), card("overdraw", "AC"))
    for each in ("excess", "yes", "yes"):
        table.answer(each)
    table.tell(SettleRound())
    assert left_lying(table) == (Card.H10, Card.CA)


def test_a_card_that_was_to_open_the_next_round_is_asked_about_when_its_own_is_void() -> None:
    """It was put there before; nobody else decides that it goes."""
    table = left_over()
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=2))
    assert (table.phase, table.question.choices) == ("voided", ("carried", "go-on"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.lies == "5D / 9C"


# --- further


def test_a_set_that_is_loaded_before_the_first_card_of_a_round_begins_a_shoe() -> None:
    """Bets were announced, and no card of the old one is needed."""
    table = after(CUT, STARTED, *NATURAL, EMPTIED)
    table.tell(SettleRound())
    table.tell(OpenBets())
    assert kinds(table.hear(LOADED))[-1] is ShoeStarted


def test_a_squeeze_waives_what_was_not_neglected() -> None:
    """I 3.14: of the insurance after the initial deal it says nothing."""
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 3D"), game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR))
    assert kinds(table.tell(GrantSqueeze()))[0] is InsuranceWaived
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 3D"), game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD))
    assert "waives nothing" in table.refuses(GrantSqueeze())


def test_cards_drawn_together_without_a_place_are_the_last_ones() -> None:
    """As for every other notice."""
    table = after(*cards("P1 2S, B1 3H, P2 KS"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER))
    assert table.question.choices == ("3H", "KS")


# --- cards behind the last one, while something is asked


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("P1 8S, B1 3H, P2 ?, B2 4H, B2 4H", "KS"),  # another card's face is asked
        ("P1 8S, B1 3H, P2 KS, B2 ?, B2 4H", "4H"),  # it was read at the second try
    ],
)
def test_the_last_card_told_again_while_a_face_is_asked_may_be_the_same(before: str, answer: str) -> None:
    """The end of the round is told first; then what is behind it is asked like any card behind a round."""
    table = after(*cards(before))
    assert RoundCompleted in kinds(table.answer(answer))
    assert table.asks("reading", "same-card", "read-again", "excess")
    table.answer("same-card")
    assert (table.phase, table.lies) == ("complete", "8S KS / 3H 4H")


def test_the_next_round_may_have_begun_while_a_face_is_asked() -> None:
    """Reports were lost behind the last card."""
    table = after(*cards("P1 8S, B1 3H, P2 ?, B2 4H"), JUMPED, card("B1", "5C"))
    table.answer("KS")
    assert "next-round" in table.question.choices


# --- a correction, and the next round


def test_a_correction_is_told_though_the_next_round_begins_before_its_question_is_answered() -> None:
    """By the Table of Play Banker's nine wins, wherever the two cards behind it go: it is paid so."""
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 KH, P3 6S, B3 4H"))
    table.tell(SettleRound())
    table.tell(CorrectCard(index=2, card=Card.H9))
    assert table.question.question == "reconstructable"
    told = table.hear(card("P1", "5C"))
    (corrected,) = (each for each in told if isinstance(each, RoundCorrected))
    assert (corrected.outcome, corrected.banker.cards) == (Outcome.BANKER, (Card.H9, Card.HK))
    last = table.shown.last_round
    assert last is not None
    assert (last.result.outcome, last.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


def test_a_correction_taken_back_and_made_again_asks_again() -> None:
    """It was in excess, then it was not, and then it is once more."""
    table = after(*cards("P1 7S, B1 3H, P2 KS, B2 KH, P3 5D"))
    table.tell(CorrectCard(index=3, card=Card.D8))
    assert not table.state.asked
    table.tell(CorrectCard(index=3, card=Card.SK))
    assert table.question.kind == "card-in-excess"


def test_a_round_with_all_its_cards_is_not_abandoned_for_a_suspicion() -> None:
    """No card was in doubt; the suspicion is asked on."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[TooOften(at=START, card=Card.H4, times=9, decks=8)])
    told = table.hear(card("P1", "5C"))
    assert RoundCompleted in kinds(told)
    assert RoundAbandoned not in kinds(told)
    assert (table.question.kind, table.question.optional) == ("deck-count", True)


# --- a card that was none


def behind_a_dealt_natural() -> Sitting:
    """A device that names no hand calls a card unread behind the last one; the house announces its rounds."""
    table = Sitting("commission", Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    table.tell(CloseBets())
    table.hear_each([card("dealt", face) for face in ("8S", "3H", "KS", "4H", "?")])
    return table


def test_a_card_behind_the_last_one_that_was_none_leaves_the_round_as_it_was() -> None:
    """Nothing is in excess, and nothing is void."""
    table = behind_a_dealt_natural()
    assert table.question.question == "face"
    table.answer("no-card")
    assert (table.state.asked, table.phase, table.lies) == ((), "complete", "8S KS / 3H 4H")


def test_what_was_said_of_a_card_that_was_none_did_not_happen() -> None:
    """No order of one card is asked, nobody gets a bet back, and the set stays."""
    table = after(*[card("dealt", face) for face in ("4S", "KD", "5S")])
    table.step(card("dealt", "5D"))
    table.step(fault(), found=[together("5D ?"), UNREAD_FAULT])
    assert table.question.question == "face"
    table.answer("no-card")
    assert (table.state.asked, table.lies) == ((), "4S 5S / KD 5D")


def test_an_error_of_the_dealing_at_a_card_that_was_none_is_one_at_the_card_before() -> None:
    """It is not said of the card alone: it happened."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.tell(Notice(kind=Event.DEALING_ERROR, at=3))
    table.answer("no-card")
    assert table.question.text.startswith("Round 1: a dealing error occurred at card 2 (3H).")


def test_what_was_said_of_a_card_behind_one_that_was_none_is_said_of_the_same_card() -> None:
    """It is one earlier."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.step(
        card("dealt", "KS"), found=[OrderAltered(at=START, card=Card.SK, expected=Card.H9, evidence="one card behind")]
    )
    table.answer("no-card")
    assert (table.question.question, table.question.index) == ("confirm", 3)
    table.answer("no")
    assert table.lies == "8S KS / 3H"


def test_an_interruption_is_ruled_by_the_cards_that_there_were() -> None:
    """C 5.4.2: two had been drawn, and the third was none."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.tell(Notice(kind=Event.INTERRUPTION))
    table.hear_each([card("dealt", face) for face in ("KS", "4H")])
    assert [each.clause for each in table.answer("no-card") if isinstance(each, RoundVoided)] == ["5.4.2"]


# --- drawn together with a card that nobody could read


def test_an_unread_card_and_the_one_that_came_with_it_are_put_in_order() -> None:
    """C 5.10: its face is asked first, and then their order, as where the later one is unread."""
    table = after(*cards("P1 4S, B1 3H, P2 ?"))
    table.step(card("B2", "4H"), found=[together("? 4H")])
    table.answer("9S")
    assert (table.question.question, table.question.choices) == ("card-order", ("9S", "4H"))


def test_the_watch_voids_no_round_with_a_card_behind_it_either() -> None:
    """F 5.3: the card in excess comes with the finding."""
    table = after(*cards("P1 4S, B1 KD, P2 5S, B2 5D"), game="fortune-six")
    table.step(card("P3", "3D"), found=[together("5D 3D")])
    assert table.phase == "suspended"
    answers = [table.question.question]
    while table.state.asked and table.question.question != "confirm":
        table.answer(table.question.choices[0])
        answers.append(table.question.question)
    assert answers[-1] == "confirm"


# --- void, with cards behind it


def test_a_card_too_many_of_which_nobody_had_said_anything_outlives_a_void() -> None:
    """C 5.7: it may still open the next round."""
    for before in ([card("overdraw", "5D")], [card("B3", "5D")]):
        table = after(*NATURAL, *before)
        table.tell(VoidRound())
        assert table.asks("next-round", "carried", "go-on")


# --- cards carried


def test_behind_cards_that_were_carried_a_card_may_have_been_missed() -> None:
    """The shoe does not count them, and lost its second report."""
    table = after(*NATURAL, card("overdraw", "3C"), card("overdraw", "2D"))
    table.answer("yes")
    table.answer("yes")
    table.hear(card("P1", "JH"))
    table.answer("carried")
    table.hear_each([JUMPED, card("P2", "QH")])
    assert "missed" in table.question.choices


def test_what_a_kept_card_opens_with_is_shown_whole() -> None:
    """One was left over by the round, and one came after it."""
    table = left_over("7S")
    table.tell(OpenBets())
    table.hear(card("overdraw", "3D"))
    carried = {each.choice[0]: each.carried for each in table.question.consequences}
    assert carried == {"carried": (Card.S7, Card.D3), "go-on": (Card.S7,)}


def test_a_card_in_excess_told_twice_may_be_one() -> None:
    """In the same slot, with the same face."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 4H, B3 JS, B3 JS"))
    table.answer("yes")
    assert table.asks("reading", "same-card", "read-again", "excess")


def test_a_report_that_was_told_before_is_asked_about_though_its_slot_is_due_now() -> None:
    """A correction made the card in excess a third one: the same slot and face again may be the same card."""
    report = card("B3", "QC")
    before = cards("P1 10S, B1 10C, P2 7C, B2 3S, B3 QC")
    for repeated_first in (True, False):
        table = after(*before, *([report] if repeated_first else []))
        table.tell(CorrectCard(index=1, card=Card.H8))
        table.hear_each([] if repeated_first else [report])
        while table.question.question != "reading":
            table.answer("yes")
        assert "same-card" in table.question.choices
        table.answer("same-card")
        assert "QC QC" not in table.lies


def test_where_reports_were_lost_bankers_third_card_may_have_been_one() -> None:
    """The shoe names Player's third, which stands: it may be the first of what came behind."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD"), JUMPED, card("P3", "4D"))
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("cards-shown")
    assert table.asks("reading", "missed", "excess")
