"""Matters whose cause changes: corrected faces, cards in question, and rounds that are overtaken."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    CloseBets,
    CorrectCard,
    EmptyShoe,
    GrantSqueeze,
    OpenBets,
    ReportIrregularity,
    SettleRound,
    VoidRound,
)
from shoed.model.events import (
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
from shoed.model.findings import NotShuffled, OrderAltered, TooMany, TooOften
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import Outcome
from shoed.table import Custom
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
    TableRun,
    after,
    card,
    cards,
    completed,
    dealt,
    fault,
    kinds,
    left_over,
    opening_cards,
    result,
    together,
)

# --- rulings that depend on a card in question


@pytest.mark.parametrize("unread", ["P1 8S, B1 3H, P2 ?", "P1 2S, B1 3H, P2 ?, B2 KH, P3 6S, B3 4H"])
def test_the_ruling_on_an_interruption_waits_for_an_unread_face(unread: str) -> None:
    """C 5.4: each drawn card, read or unread, decides whether an outcome is established."""
    table = after(*cards(unread))
    published = table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION))
    assert RoundVoided not in kinds(published)
    ruled = [each for each in table.answer("KD") if isinstance(each, IrregularityRuled)]
    assert [(each.then, each.clause) for each in ruled] == [("continue", "5.4.1")]


def test_the_ruling_on_an_interruption_waits_for_the_place_of_a_card() -> None:
    """A card was missed before the reported one: three cards were drawn, and an outcome is established."""
    table = after(*cards("P1 8S, B1 3H, B2 4H"))
    assert RoundVoided not in kinds(table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION)))
    table.answer("missed")
    published = table.answer("KD")
    assert ("continue", "5.4.1") in [
        (each.then, each.clause) for each in published if isinstance(each, IrregularityRuled)
    ]


def test_a_card_reported_twice_establishes_no_outcome() -> None:
    """C 5.4.2: two cards were drawn before the interruption."""
    table = after(*cards("P1 8S, B1 3H, B1 3H"))
    table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION))
    assert [each.clause for each in table.answer("same-card") if isinstance(each, RoundVoided)] == ["5.4.2"]


def test_the_ruling_on_too_few_cards_waits_for_an_unread_face() -> None:
    """C 5.5.4: a natural on the last four cards stands."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 ?"))
    assert RoundVoided not in kinds(table.tell(ReportIrregularity(kind=IrregularityKind.TOO_FEW_CARDS)))
    assert RoundCompleted in kinds(table.answer("4H"))


def test_a_card_after_a_report_of_an_empty_shoe_ends_that_matter() -> None:
    """C 5.5.4: the shoe was not empty, and the round continues."""
    table = after(*cards("P1 8S, B1 ?"))
    table.tell(EmptyShoe())
    table.hear(card("P2", "KS"))
    table.answer("3H")
    assert (table.phase, table.hands) == ("dealing", "8S KS / 3H")


def test_a_second_report_by_a_supervisor_confirms_the_empty_shoe() -> None:
    """C 5.5.4: the dealer reported the empty shoe before, during a question. No confirmation is asked."""
    table = after(*cards("P1 8S, B1 ?"))
    table.tell(EmptyShoe(), Role.DEALER)
    table.tell(EmptyShoe())
    assert [each.clause for each in table.answer("3H") if isinstance(each, RoundVoided)] == ["5.5.4"]


@pytest.mark.parametrize("at", [1, 3, None])
def test_too_few_cards_in_a_complete_round_has_no_effect(at: int | None) -> None:
    """The index in the report makes no difference."""
    table = after(*NATURAL)
    (ruled,) = (
        each
        for each in table.tell(ReportIrregularity(kind=IrregularityKind.TOO_FEW_CARDS, at=at))
        if isinstance(each, IrregularityRuled)
    )
    assert (ruled.then, table.phase) == ("stands", "complete")


# --- matters that depend on a wrong face


@pytest.mark.parametrize("game", ["commission", "super-six-plus", "fortune-six", "easy-six", "tournament"])
def test_a_correction_may_end_a_card_in_excess(game: str) -> None:
    """With the corrected face both third cards were due, and the question lapses."""
    table = after(*cards("P1 8S, B1 3H, P2 JD, B2 KD, P3 4D, B3 5C"), game=game)
    assert table.question.kind == "card-in-excess"
    published = table.tell(CorrectCard(index=1, card=Card.S2))
    assert (table.state.asked, table.phase, table.hands) == ((), "corrected", "2S JD 4D / 3H KD 5C")
    assert QuestionLapsed in kinds(published)
    assert {each.then for each in published if isinstance(each, IrregularityRuled)} == {"stands"}


def test_a_reversed_correction_ends_its_card_in_excess() -> None:
    """The wrong face left the last two of six lawful cards over."""
    table = after(*cards("P1 2S, B1 3H, P2 JD, B2 KD, P3 4D, B3 5C"))
    table.tell(CorrectCard(index=1, card=Card.S8))
    assert table.question.kind == "card-in-excess"
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert (table.state.asked, table.hands) == ((), "2S JD 4D / 3H KD 5C")


def test_a_correction_leaves_an_overdrawn_card_in_excess() -> None:
    """The faces do not affect the report of an overdraw."""
    table = after(*NATURAL, card("overdraw", "5D"))
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.question.kind == "card-in-excess"


def test_a_correction_ends_the_doubt_about_a_frequent_face() -> None:
    """A total above the size of the set does not depend on the faces and stays in doubt."""
    too_often = TooOften(at=START, card=Card.S4, times=5, decks=4)
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(card("P2", "4S"), found=[too_often])
    table.tell(CorrectCard(index=3, card=Card.H4))
    assert (table.state.asked, table.phase) == ((), "dealing")
    table.step(card("B2", "9S"), found=[TooMany(at=START, cards=417, whole=416)])
    table.tell(CorrectCard(index=4, card=Card.H9))
    assert table.question.kind == "deck-count"


def test_a_correction_of_another_card_keeps_the_doubt_about_a_frequent_face() -> None:
    """The number of cards with the doubted face is unchanged."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(card("P2", "4S"), found=[TooOften(at=START, card=Card.S4, times=5, decks=4)])
    table.tell(CorrectCard(index=1, card=Card.H8))
    assert (table.question.question, table.question.kind) == ("confirm", "deck-count")


def test_a_reported_wrong_count_explains_a_card_left_over_by_a_correction() -> None:
    """C 5.5.3: the extra card is part of the reported matter, and no new matter opens."""
    table = after(*dealt("2S 2C KD", "3S 4C"))
    table.tell(ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, at=1, reconstructable=True))
    table.answer("continue")
    table.tell(CorrectCard(index=1, card=Card.S6))
    assert (table.phase, table.hands, table.state.asked) == ("corrected", "6S 2C / 3S 4C", ())


def test_new_cards_left_over_by_a_correction_are_in_question() -> None:
    """READINGS, irregularities 9: the answer about an exposed card does not cover the new left-over cards."""
    table = after(*cards("P1 2S"))
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=1))
    table.answer("yes")
    table.answer("continue")
    table.hear_each(cards("B1 3H, P2 KS, B2 KH, P3 6S, B3 4H"))
    table.tell(CorrectCard(index=1, card=Card.S9))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    (kept,) = (each.carried for each in table.question.consequences if each.choice == ("yes",))
    assert kept == (Card.S6, Card.H4)


def test_a_card_left_over_by_a_correction_waits_for_the_answer_to_a_suspicion() -> None:
    """The suspected order is asked about before the card in excess."""
    table = after(*dealt("2S 2C KD", "3S 4C"))
    table.step(STOOD_BY, found=[OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card late")])
    table.tell(CorrectCard(index=1, card=Card.S6))
    assert (table.question.question, table.question.kind, table.hands) == ("confirm", "order-altered", "6S 2C / 3S 4C")
    table.answer("no")
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


def test_a_further_card_left_over_by_a_correction_is_in_question() -> None:
    """The sixth card is carried; the correction leaves the fifth card over too."""
    table = after(*cards("P1 2S, B1 6H, P2 KS, B2 KH, P3 5S, B3 4H"))
    table.answer("yes")
    assert not table.state.asked
    table.tell(CorrectCard(index=1, card=Card.S9))
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")


# --- the last card, reported twice


def test_a_second_report_of_the_last_card_may_be_the_same_card() -> None:
    """No card is carried, and the round is not void."""
    table = after(*NATURAL, card("B2", "4H"))
    assert table.asks("reading", "same-card", "read-again", "excess")
    table.answer("same-card")
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")
    table.hear(card("B2", "5H"))
    table.answer("read-again")
    assert (table.phase, table.hands) == ("corrected", "8S KS / 3H 5H")


# --- rounds that are overtaken


def test_a_round_that_waits_only_for_options_is_completed_when_it_is_overtaken() -> None:
    """C 5.10.1: no card is in doubt; players without a choice continue, and the result is compared."""
    table = after(*cards("P1 2S, B1 3H, P2 9D"))
    table.step(card("B2", "4D"), found=[together("9D 4D", order_known=True)])
    table.hear_each([card("P3", "KC"), result("banker")])
    published = table.hear(card("P1", "8S"))
    assert kinds(published) == [
        CardDrawn,
        RoundResumed,
        RoundCompleted,
        RoundConfirmed,
        RoundStarted,
        *kinds(published)[5:],
    ]
    assert RoundAbandoned not in kinds(published)
    (completed,) = (each for each in published if isinstance(each, RoundCompleted))
    assert (completed.player.cards, completed.banker.cards) == (
        (Card.S2, Card.D9, Card.CK),
        (Card.H3, Card.D4),
    )


def test_a_round_that_needs_cards_is_abandoned_when_it_is_overtaken() -> None:
    """The choices of the players make no difference."""
    table = after(*cards("P1 2S, B1 3H"))
    table.step(card("P2", "4S"), found=[together("3H 4S", order_known=True)])
    assert kinds(table.hear(card("P1", "8S")))[0] is RoundAbandoned


def test_an_open_question_about_a_new_set_does_not_prevent_the_bets() -> None:
    """C 5.10.2: a pit supervisor may decide later, and the round is paid."""
    table = after(*cards("P1 2S, B1 3H, P2 9D"))
    table.step(card("B2", "4D"), found=[together("9D 4D")])
    table.answer(("9D", "4D"))
    table.hear(card("P3", "KC"))
    last = completed(table.tell(OpenBets()))
    assert (last.player.points, last.banker.points, last.outcome) == (1, 7, Outcome.BANKER)
    assert (table.phase, table.question.question, table.question.optional) == ("betting", "set-replaced", True)


def test_the_first_card_of_the_next_round_disproves_an_empty_shoe() -> None:
    """C 5.5.4: no round is void for a missing card; a suspicion is open, and two cards were drawn."""
    table = after(CUT, STARTED, card("P1", "2S"))
    table.step(card("B1", "3H"), found=[NotShuffled(at=START, cards=60, evidence="in suits")])
    table.hear(EMPTIED)
    assert kinds(table.hear(card("P1", "6S"))) == [RoundAbandoned, RoundStarted, CardDrawn]


def test_bets_cannot_open_while_a_card_has_no_place() -> None:
    """C 5.7: a suspicion and a fifth card after a natural each have a question. Both questions suspend the round."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[NotShuffled(at=START, cards=60, evidence="in suits")])
    table.hear(card("B3", "5D"))
    assert table.refuses(OpenBets()) == "round 1 is suspended; answer question 1 first, or void the round"
    assert completed(table.answer("no")).outcome is Outcome.PLAYER
    assert table.asks("reconstructable", "yes", "no")


def test_a_card_left_over_by_an_altered_order_opens_the_next_round() -> None:
    """C 5.12: the card has its place, players have options, and the round is paid when bets open."""
    table = after(*cards("P1 3H, B1 JS, P2 7C, B2 QH"), card("dealt", "9D"))
    table.tell(ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=4, order=(Card.D9, Card.HQ)))
    table.answer("yes")
    assert table.question.question == "option"
    last = completed(table.tell(OpenBets()))
    assert (last.player.points, last.banker.points, last.outcome) == (0, 9, Outcome.BANKER)
    table.hear(card("B1", "6C"))
    assert table.hands == "QH / 6C"


def test_third_cards_of_unknown_order_leave_the_result_of_an_overtaken_round() -> None:
    """C 5.10: without an answer the published result stays."""
    table = after(*dealt("2S KS 2D", "3H KH 4H"))  # Player 4, Banker 7
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=5))
    assert table.question.question == "card-order"
    assert RoundCorrected not in kinds(table.hear(card("P1", "6S")))
    last = table.shown.last_round
    assert last is not None
    assert (last.round, last.hands.player.points, last.hands.banker.points) == (1, 4, 7)


def test_a_corrected_natural_is_paid_while_the_order_of_third_cards_is_in_question() -> None:
    """C 5.10: with the corrected face no third card was due."""
    table = after(*SIX_CARDS)  # Player 8, Banker 7
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=5))
    table.tell(CorrectCard(index=2, card=Card.H9))
    published = table.hear(card("P1", "6S"))
    (corrected,) = (each for each in published if isinstance(each, RoundCorrected))
    assert (corrected.player.points, corrected.banker.points, corrected.outcome) == (2, 9, Outcome.BANKER)
    last = table.shown.last_round
    assert last is not None
    assert (last.pays["player"].pays, last.pays["banker"].pays) == ("lose", "0.95:1")


def test_a_card_in_excess_is_decided_before_bets_are_opened() -> None:
    """C 5.7: the table refuses bets until the place of the card is decided."""
    table = after(*NATURAL, card("P3", "5D"))
    assert table.refuses(OpenBets()) == "round 1 is suspended; answer question 1 first, or void the round"
    table.answer("yes")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.hands == "5D / 9C"


def test_the_question_about_a_card_after_a_round_stays_open_in_the_next_round() -> None:
    """The question keeps its id and its round."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    asked = table.question
    assert (asked.question, asked.round, asked.optional) == ("reading", 1, True)
    assert "5D" in asked.evidence[0]


# --- cards left over


def settled_with_a_card_left_over() -> TableRun:
    table = left_over("9S")
    table.tell(SettleRound())
    return table


@pytest.mark.parametrize("commands", [(), (OpenBets(),)])
def test_after_a_loss_a_person_decides_whether_the_shoe_counts_the_card_left_over(
    commands: tuple[AnyCommand, ...],
) -> None:
    """Banker's first card may follow the carried card or a lost Player's first card; the round is partial."""
    table = settled_with_a_card_left_over()
    for command in commands:
        table.tell(command)
    table.hear_each([JUMPED, card("B1", "8C")])
    assert table.asks("reading", "due", "carried", "not-carried")
    before = table.state
    table.answer("due")
    table.hear_each(cards("P2 7H, B2 JS"))
    assert table.hands == "9S 7H / 8C JS"
    last = table.shown.last_round
    assert last is not None
    assert last.integrity == "partial"
    table.state = before
    table.answer("carried")
    assert table.asks("reading", "missed", "excess")
    table.answer("missed")
    table.answer("4C")
    assert table.hands == "9S 8C / 4C"


def test_two_overdrawn_cards_open_the_next_round_in_the_order_of_their_reports() -> None:
    """The first overdrawn card has the face of the previous card. A person decides that the two cards are different."""
    table = after(*cards("P1 KD, B1 8H, P2 10C, B2 10H"), card("overdraw", "10H"), card("overdraw", "AC"))
    for each in ("excess", "yes", "yes"):
        table.answer(each)
    table.tell(SettleRound())
    assert opening_cards(table) == (Card.H10, Card.CA)


def test_a_carried_card_is_in_question_again_when_its_round_is_void() -> None:
    """A person decides whether the carried card opens the next round."""
    table = left_over()
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=2))
    assert (table.phase, table.question.choices) == ("voided", ("carried", "go-on"))
    table.answer("carried")
    table.tell(OpenBets())
    table.hear(card("B1", "9C"))
    assert table.hands == "5D / 9C"


# --- a loaded set, a squeeze, a report without a place


def test_a_set_loaded_before_the_first_card_of_a_round_starts_a_shoe() -> None:
    """Bets are open, and the round needs no card of the old shoe."""
    table = after(CUT, STARTED, *NATURAL, EMPTIED)
    table.tell(SettleRound())
    table.tell(OpenBets())
    assert kinds(table.hear(LOADED))[-1] is ShoeStarted


def test_a_squeeze_does_not_waive_neglected_insurance() -> None:
    """I 3.14: a squeeze affects only insurance after Player's third card."""
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 3D"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR))
    assert kinds(table.tell(GrantSqueeze()))[0] is InsuranceWaived
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 3D"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD))
    assert "waives nothing" in table.refuses(GrantSqueeze())


def test_cards_drawn_together_without_an_index_are_the_last_cards() -> None:
    """The default index is the same as in other reports."""
    table = after(*cards("P1 2S, B1 3H, P2 KS"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER))
    assert table.question.choices == ("3H", "KS")


# --- cards after the last card during a question


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("P1 8S, B1 3H, P2 ?, B2 4H, B2 4H", "KS"),  # the face of another card is in question
        ("P1 8S, B1 3H, P2 KS, B2 ?, B2 4H", "4H"),  # the shoe read the card at the second try
    ],
)
def test_a_second_report_of_the_last_card_during_a_question_may_be_the_same_card(before: str, answer: str) -> None:
    """The completion of the round is published before the question about the second report."""
    table = after(*cards(before))
    assert RoundCompleted in kinds(table.answer(answer))
    assert table.asks("reading", "same-card", "read-again", "excess")
    table.answer("same-card")
    assert (table.phase, table.hands) == ("complete", "8S KS / 3H 4H")


def test_the_next_round_may_have_begun_during_a_question() -> None:
    """Reports were lost after the last card."""
    table = after(*cards("P1 8S, B1 3H, P2 ?, B2 4H"), JUMPED, card("B1", "5C"))
    table.answer("KS")
    assert "next-round" in table.question.choices


# --- a correction and the next round


def test_a_correction_is_published_although_the_next_round_overtakes_its_question() -> None:
    """By the Table of Play, Banker's nine wins with each place of the next two cards."""
    table = after(*cards("P1 2S, B1 3H, P2 KS, B2 KH, P3 6S, B3 4H"))
    table.tell(SettleRound())
    table.tell(CorrectCard(index=2, card=Card.H9))
    assert table.question.question == "reconstructable"
    published = table.hear(card("P1", "5C"))
    (corrected,) = (each for each in published if isinstance(each, RoundCorrected))
    assert (corrected.outcome, corrected.banker.cards) == (Outcome.BANKER, (Card.H9, Card.HK))
    last = table.shown.last_round
    assert last is not None
    assert (last.result.outcome, last.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


def test_a_repeated_correction_opens_its_question_again() -> None:
    """The card is in excess, then due, then in excess again."""
    table = after(*cards("P1 7S, B1 3H, P2 KS, B2 KH, P3 5D"))
    table.tell(CorrectCard(index=3, card=Card.D8))
    assert not table.state.asked
    table.tell(CorrectCard(index=3, card=Card.SK))
    assert table.question.kind == "card-in-excess"


def test_a_complete_round_is_not_abandoned_during_a_suspicion() -> None:
    """No card of the round is in doubt, and the question stays open."""
    table = after(CUT, STARTED, *NATURAL[:3])
    table.step(NATURAL[3], found=[TooOften(at=START, card=Card.H4, times=9, decks=8)])
    published = table.hear(card("P1", "5C"))
    assert RoundCompleted in kinds(published)
    assert RoundAbandoned not in kinds(published)
    assert (table.question.kind, table.question.optional) == ("deck-count", True)


# --- the answer "no card"


def natural_and_an_unread_card() -> TableRun:
    """A device without hands reports an unread card after the last card; the house announces its rounds."""
    table = TableRun("commission", Custom(bets_close_by_command=True))
    table.tell(OpenBets())
    table.tell(CloseBets())
    table.hear_each([card("dealt", face) for face in ("8S", "3H", "KS", "4H", "?")])
    return table


def test_the_answer_no_card_after_the_last_card_leaves_the_round_unchanged() -> None:
    """No card is in excess, and the round is not void."""
    table = natural_and_an_unread_card()
    assert table.question.question == "face"
    table.answer("no-card")
    assert (table.state.asked, table.phase, table.hands) == ((), "complete", "8S KS / 3H 4H")


def test_the_answer_no_card_removes_the_matters_of_that_card() -> None:
    """No order is asked, no bet goes back, and the set stays."""
    table = after(*[card("dealt", face) for face in ("4S", "KD", "5S")])
    table.step(card("dealt", "5D"))
    table.step(fault(), found=[together("5D ?"), UNREAD_FAULT])
    assert table.question.question == "face"
    table.answer("no-card")
    assert (table.state.asked, table.hands) == ((), "4S 5S / KD 5D")


def test_the_answer_no_card_moves_a_dealing_error_to_the_previous_card() -> None:
    """The error occurred, although the card did not exist."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, at=3))
    table.answer("no-card")
    assert table.question.text.startswith("Round 1: a dealing error occurred at card 2 (3H).")


def test_the_answer_no_card_keeps_the_matter_of_the_next_card() -> None:
    """The index of the card decreases by one."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.step(
        card("dealt", "KS"), found=[OrderAltered(at=START, card=Card.SK, expected=Card.H9, evidence="one card late")]
    )
    table.answer("no-card")
    assert (table.question.question, table.question.index) == ("confirm", 3)
    table.answer("no")
    assert table.hands == "8S KS / 3H"


def test_the_ruling_on_an_interruption_counts_the_cards_that_existed() -> None:
    """C 5.4.2: two cards were drawn, and the third did not exist."""
    table = after(*[card("dealt", face) for face in ("8S", "3H", "?")])
    table.tell(ReportIrregularity(kind=IrregularityKind.INTERRUPTION))
    table.hear_each([card("dealt", face) for face in ("KS", "4H")])
    assert [each.clause for each in table.answer("no-card") if isinstance(each, RoundVoided)] == ["5.4.2"]


# --- an unread card drawn together with another


def test_an_unread_card_and_the_card_drawn_with_it_are_put_in_order() -> None:
    """C 5.10: the face is asked first, and then the order."""
    table = after(*cards("P1 4S, B1 3H, P2 ?"))
    table.step(card("B2", "4H"), found=[together("? 4H")])
    table.answer("9S")
    assert (table.question.question, table.question.choices) == ("card-order", ("9S", "4H"))


def test_a_finding_voids_no_round_without_confirmation() -> None:
    """F 5.3: the card in excess is reported in the same Step as the finding."""
    table = after(*cards("P1 4S, B1 KD, P2 5S, B2 5D"), game="fortune-six")
    table.step(card("P3", "3D"), found=[together("5D 3D")])
    assert table.phase == "suspended"
    answers = [table.question.question]
    while table.state.asked and table.question.question != "confirm":
        table.answer(table.question.choices[0])
        answers.append(table.question.question)
    assert answers[-1] == "confirm"


# --- a void round and the cards after it


def test_a_card_in_excess_without_an_answer_outlives_a_void() -> None:
    """C 5.7: the card may open the next round."""
    for before in ([card("overdraw", "5D")], [card("B3", "5D")]):
        table = after(*NATURAL, *before)
        table.tell(VoidRound())
        assert table.asks("next-round", "carried", "go-on")


# --- carried cards


def test_a_card_may_be_missed_after_carried_cards() -> None:
    """The shoe does not count the carried cards, and its second report is lost."""
    table = after(*NATURAL, card("overdraw", "3C"), card("overdraw", "2D"))
    table.answer("yes")
    table.answer("yes")
    table.hear(card("P1", "JH"))
    table.answer("carried")
    table.hear_each([JUMPED, card("P2", "QH")])
    assert "missed" in table.question.choices


def test_the_consequence_of_a_carried_card_shows_all_carried_cards() -> None:
    """One card is left over by the round, and one card was drawn after it."""
    table = left_over("7S")
    table.tell(OpenBets())
    table.hear(card("overdraw", "3D"))
    carried = {each.choice[0]: each.carried for each in table.question.consequences}
    assert carried == {"carried": (Card.S7, Card.D3), "go-on": (Card.S7,)}


def test_a_card_in_excess_reported_twice_may_be_one_card() -> None:
    """Both reports have the same slot and the same face."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 4H, B3 JS, B3 JS"))
    table.answer("yes")
    assert table.asks("reading", "same-card", "read-again", "excess")


def test_a_repeated_report_is_in_question_even_if_its_slot_is_due() -> None:
    """A correction makes the card in excess a third card; the same slot and face may be the same card."""
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
        assert "QC QC" not in table.hands


def test_after_a_loss_bankers_third_card_may_be_missing() -> None:
    """The shoe reports Player's third card, and Player stands."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD"), JUMPED, card("P3", "4D"))
    assert table.asks("gap", "missed", "cards-shown", "next-round")
    table.answer("cards-shown")
    assert table.asks("reading", "missed", "excess")
