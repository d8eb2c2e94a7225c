"""Doubts whose ground went away or grew: faces that were corrected, cards that are still asked, rounds overtaken."""

import pytest

from shoed.cards import Card
from shoed.commands import AnyCommand, CorrectCard, GrantSqueeze, Notice, OpenBets, SettleRound
from shoed.events import (
    InsuranceWaived,
    IrregularityRuled,
    QuestionLapsed,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundResumed,
    RoundStarted,
    RoundVoided,
    ShoeStarted,
)
from shoed.findings import TooMany, TooOften
from shoed.words import Event, Stage
from tests.observed import (
    CUT,
    EMPTIED,
    JUMPED,
    LOADED,
    NATURAL,
    START,
    STARTED,
    Sitting,
    after,
    card,
    cards,
    kinds,
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
    assert (table.state.asked, table.phase, table.lies) == (None, "corrected", "2S JD 4D / 3H KD 5C")
    assert QuestionLapsed in kinds(told)
    assert {each.then for each in told if isinstance(each, IrregularityRuled)} == {"stands"}


def test_a_correction_that_is_taken_back_takes_its_doubt_with_it() -> None:
    """Six lawful cards; by a wrong face the last two were too many."""
    table = after(*cards("P1 2S, B1 3H, P2 JD, B2 KD, P3 4D, B3 5C"))
    table.tell(CorrectCard(index=1, card=Card.S8))
    assert table.question.kind == "card-in-excess"
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert (table.state.asked, table.lies) == (None, "2S JD 4D / 3H KD 5C")


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
    assert (table.state.asked, table.phase) == (None, "dealing")
    table.step(card("B2", "9S"), found=[TooMany(at=START, cards=417, whole=416)])
    table.tell(CorrectCard(index=4, card=Card.H9))
    assert table.question.kind == "deck-count"


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


def test_one_more_card_left_over_by_a_correction_is_asked_about() -> None:
    """The sixth card was said to open the next round; then Player has a natural, and the fifth goes there too."""
    table = after(*cards("P1 2S, B1 6H, P2 KS, B2 KH, P3 5S, B3 4H"))
    table.answer("yes")
    assert table.state.asked is None
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
    assert kinds(told) == [RoundResumed, RoundCompleted, RoundConfirmed, RoundStarted, *kinds(told)[4:]]
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


def test_a_card_too_many_that_nobody_placed_may_still_be_laid_before_an_announced_round() -> None:
    """C 5.7: bets are open, and no card lies there yet."""
    table = after(*NATURAL, card("P3", "5D"))
    table.tell(OpenBets())
    assert table.asks("next-round", "carried", "go-on")
    table.answer("carried")
    table.hear(card("B1", "9C"))
    assert table.lies == "5D / 9C"


def test_a_card_that_waited_behind_a_round_is_asked_on_when_another_begins() -> None:
    """Nobody said what it was: it can be laid nowhere any more."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    assert (table.question.question, table.question.kind, table.question.optional) == (
        "next-round",
        "card-in-excess",
        True,
    )
    assert "5D" in table.question.evidence[0]


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
    assert table.state.left_over == (Card.H10, Card.CA)


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
