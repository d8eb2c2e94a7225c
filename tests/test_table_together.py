"""Cards drawn together: in a known or unknown order, with an unread card, and across two rounds."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import CorrectCard, OpenBets, ReportIrregularity
from shoed.model.events import (
    CardDrawn,
    CardSetAside,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAsked,
    RoundSuspended,
    RoundVoided,
)
from shoed.model.findings import NotShuffled
from shoed.model.irregularities import IrregularityKind, Role
from tests.observed import (
    CUT,
    NATURAL,
    START,
    STARTED,
    UNREAD_FAULT,
    TableRun,
    after,
    card,
    cards,
    fault,
    kinds,
    left_over,
    together,
)


def test_a_person_decides_an_unknown_order() -> None:
    """C 5.10: the question shows the consequence of each order, and then each player has the options."""
    table = after(*cards("P1 2S, B1 3S"))
    table.hear(card("P2", "4S"))
    table.step(card("B2", "5S"), found=[together("4S 5S")])
    asked = table.question
    assert (asked.question, asked.clause, asked.role) == ("card-order", "5.10", "pit-supervisor")
    assert [(each.choice, each.player.points) for each in asked.consequences] == [(("4S", "5S"), 6), (("5S", "4S"), 7)]
    assert table.hands == "2S / 3S"
    table.answer(("5S", "4S"))
    assert table.question.question == "option"
    assert table.hands == "2S 5S / 3S 4S"


def test_cards_in_a_known_order_are_a_dealing_error() -> None:
    """C 5.10.1: each player has the options; F lets the round continue."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    assert (table.question.question, table.question.clause) == ("option", "5.10.1")
    table = after(*cards("P1 2S, B1 3S"), game="fortune-six")
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    assert table.phase == "dealing"


def first_card_with_the_previous_card(*, order_known: bool, game: str) -> TableRun:
    """The first card of a round is drawn together with the last card of the previous round."""
    table = after(*NATURAL, game=game)
    table.step(card("P1", "4S"), found=[together("4H 4S", order_known=order_known)])
    assert (table.shown.round, table.hands) == (2, "4S /")
    return table


@pytest.mark.parametrize(
    ("game", "order", "asked"),
    [
        ("commission", "known", ("option", "5.10.1")),
        ("commission", "unknown", ("ruling", "5.17")),
        ("fortune-six", "unknown", ("ruling", None)),
    ],
)
def test_a_first_card_drawn_with_the_last_card_of_the_previous_round_is_a_matter_of_its_round(
    game: str, order: str, asked: tuple[str, str | None]
) -> None:
    """C 5.10.1 in a known order; an unknown order through two rounds needs a ruling."""
    table = first_card_with_the_previous_card(order_known=order == "known", game=game)
    assert (table.question.question, table.question.clause) == asked
    assert "a card of the previous round" in table.question.evidence[0]


def test_a_first_card_in_a_known_order_needs_no_decision_in_fortune_six() -> None:
    """F: the round continues."""
    assert first_card_with_the_previous_card(order_known=True, game="fortune-six").phase == "dealing"


def test_a_burnt_card_drawn_with_a_card_of_the_round_is_ordered_only_if_it_is_due() -> None:
    """A card that is put away has no order; the finding is published without a doubt about a card."""
    for answer, asked in (("put-away", "reconstructable"), ("due", "card-order")):
        table = after(*NATURAL[:2])
        published = [event.data for event in table.step(card("burn", "4S"), found=[together("3H 4S")])]
        assert kinds(published) == [CardSetAside, IrregularityNoticed, RoundSuspended, QuestionAsked]
        table.answer(answer)
        assert table.question.question == asked


def test_waiting_cards_are_put_in_order_after_they_have_a_place() -> None:
    """Both are in slots that are not due, and their reading is asked first."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.step(card("P3", "5S"), found=[together("4S 5S")])
    table.answer("missed")
    table.answer("KS")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))
    table.answer(("4S", "5S"))
    assert table.question.question == "option"


def test_a_repeated_report_is_not_a_card_drawn_together() -> None:
    """The finding is dropped with the report."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("B1", "3S"), found=[together("3S 3S")])
    table.answer("same-card")
    assert table.phase == "dealing"
    assert kinds(table.hear(card("P2", "4S"))) == [CardDrawn]


def test_a_card_after_an_unread_report_may_be_drawn_with_an_unreported_card() -> None:
    """The face in question belongs to an earlier card; the card drawn together was not reported."""
    table = after(*cards("P1 ?, B1 3H"))
    table.step(card("P2", "KS"), found=[together("? KS")])
    table.answer("8S")
    assert (table.question.question, table.question.kind, table.question.index) == ("confirm", "drawn-together", 3)


def test_an_unread_card_drawn_with_another_is_a_card_of_the_round() -> None:
    """A fault follows a card closely: its face is asked, and then the order."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(fault(), found=[together("3S ?"), UNREAD_FAULT])
    assert (table.question.question, table.question.index) == ("face", 3)
    table.answer("4S")
    assert (table.question.question, table.question.choices) == ("card-order", ("3S", "4S"))


def test_an_unread_card_follows_the_carried_card() -> None:
    """The carried card opens the round."""
    table = left_over()
    table.tell(OpenBets())
    table.step(fault(), found=[together("4H ?"), UNREAD_FAULT])
    table.answer("6C")
    table.answer("continue")  # 6C is drawn together with the last card of the previous round
    assert table.hands.startswith("5D / 6C")


def test_a_card_without_a_place_after_a_fault_is_drawn_with_the_missed_card() -> None:
    """If the due card was missed, the order of both is asked."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("B2", "5S"), found=[together("? 9H")])
    table.answer("missed")
    table.answer("4S")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))


def test_a_fault_close_before_a_card_asks_for_confirmation() -> None:
    """It is the same card at the second try, or an unread card whose face and order are asked."""
    table = after(*cards("P1 2S, B1 3S"))
    published = [event.data for event in table.step(card("P2", "4S"), found=[together("? 4S")])]
    assert kinds(published) == [CardDrawn, RoundSuspended, IrregularityNoticed, QuestionAsked]
    assert (table.question.question, table.question.kind) == ("confirm", "drawn-together")
    before = table.state
    table.answer("no")
    assert (table.phase, table.hands) == ("dealing", "2S 4S / 3S")
    table.state = before
    table.answer("yes")
    table.answer("5S")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))


def test_an_order_with_two_equal_faces_concerns_the_cards_drawn_together() -> None:
    """The unread card is 2S, as Player's first card is. The order is of the unread card and of the card after it."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("? 4S")])
    table.answer("yes")
    table.answer("2S")
    table.answer(("2S", "4S"))
    table.answer("continue")
    assert table.hands == "2S 2S / 3S 4S"
    table.tell(CorrectCard(index=1, card=Card.C9))
    assert table.hands == "9C 2S / 3S 4S"


def test_the_count_of_a_notice_of_another_kind_adds_no_card() -> None:
    """Only a card drawn together can have an unread card. The void round keeps its two cards."""
    table = after(*cards("P1 2S, B1 3S"))
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=2, count=1), Role.DEALER)
    table.answer("yes")
    assert (table.phase, len(table.state.record.cards)) == ("voided", 2)


def test_a_finding_alone_voids_no_round() -> None:
    """F 5.3: a person confirms a finding about the initial deal first."""
    table = after(*cards("P1 2S, B1 3S"), game="fortune-six")
    table.step(card("P2", "4S"), found=[together("3S 4S")])
    assert (table.phase, table.question.question, table.question.role) == ("suspended", "confirm", "pit-supervisor")
    before = table.state
    table.answer("no")
    assert table.phase == "dealing"
    table.state = before
    (void,) = (each for each in table.answer("yes") if isinstance(each, RoundVoided))
    assert (void.clause, void.role) == ("5.3", "pit-supervisor")


def test_a_third_card_drawn_together_during_options_is_published_at_once() -> None:
    """The order of all three cards is known, and the book rules on them together."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    published = [event.data for event in table.step(card("B2", "5S"), found=[together("3S 4S 5S", order_known=True)])]
    (noticed,) = (each for each in published if isinstance(each, IrregularityNoticed))
    assert (noticed.number, noticed.at, noticed.count) == (2, 2, 3)


def test_the_first_card_of_a_shoe_and_a_burn_card_in_an_unknown_order_make_the_next_round_wait() -> None:
    """C 5.10: a person decides which of them counts the burn cards."""
    for one, other in (("first-card", "burn"), ("burn", "first-card")):
        table = after(card(one, "3H"))
        published = [event.data for event in table.step(card(other, "4S"), found=[together("3H 4S")])]
        assert kinds(published) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
        assert (table.question.question, table.question.kind) == ("next-round", "drawn-together")


def test_a_first_card_report_after_a_round_asks_no_question() -> None:
    """It counts no burn cards, and the finding is published."""
    table = after(*NATURAL)
    published = [event.data for event in table.step(card("first-card", "4S"), found=[together("4H 4S")])]
    assert kinds(published) == [CardSetAside, IrregularityNoticed]
    assert not table.state.asked


def test_another_finding_about_the_first_card_of_a_shoe_asks_for_no_order() -> None:
    """The cards of the set are in question, and not the order of the first card."""
    table = after(CUT, STARTED)
    published = [
        event.data
        for event in table.step(card("first-card", "3H"), found=[NotShuffled(at=START, cards=60, evidence="in suits")])
    ]
    noticed = [each.kind for each in published if isinstance(each, IrregularityNoticed)]
    assert noticed == ["not-shuffled"]


def test_a_corrected_face_keeps_the_decided_order() -> None:
    """The order does not depend on the face and is not asked again."""
    table = after(*cards("P1 2S, B1 3S, P2 4S"))
    table.step(card("B2", "5S"), found=[together("4S 5S")])
    table.answer(("5S", "4S"))
    table.answer("continue")
    table.tell(CorrectCard(index=3, card=Card.C9))
    assert (table.hands, table.question.question) == ("2S 5S / 3S 9C", "set-replaced")


def test_the_order_of_two_equal_cards_is_asked_after_a_correction() -> None:
    """C 5.10: no person has decided it before."""
    table = after(*cards("P1 2S, B1 3S, P2 4S"))
    table.step(card("B2", "4S"), found=[together("4S 4S")])
    table.answer(("4S", "4S"))
    table.answer("continue")
    table.tell(CorrectCard(index=3, card=Card.C9))
    assert (table.question.question, table.question.choices) == ("card-order", ("9C", "4S"))


def test_the_decided_order_stays_during_another_question() -> None:
    """C 5.10: the question about the set is still open and holds no card."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    table.answer(("2H", "2C"))
    table.answer("continue")
    table.hear(card("B2", "6S"))
    table.answer("excess")
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    assert table.hands == "2S 2H / 3S 2C"


def test_burn_cards_drawn_together_ask_no_question() -> None:
    """The same holds for the first card in a known order."""
    for place, known in (("burn", False), ("first-card", True)):
        table = after(card("burn", "3H"))
        published = [
            event.data for event in table.step(card(place, "4S"), found=[together("3H 4S", order_known=known)])
        ]
        assert kinds(published) == [CardSetAside, IrregularityNoticed]
        assert not table.state.asked


def test_two_burn_cards_after_the_first_card_ask_no_question() -> None:
    """The first card, which counts the burn cards, is not one of the two."""
    table = after(card("first-card", "KS"), card("burn", "3H"))
    published = [event.data for event in table.step(card("burn", "4S"), found=[together("3H 4S")])]
    assert kinds(published) == [CardSetAside, IrregularityNoticed]
    assert not table.state.asked


def test_a_card_in_the_error_state_while_bets_are_open_is_published_with_its_finding() -> None:
    """No card is due before the close, and neither card is recorded in the round."""
    table = TableRun()
    table.tell(OpenBets())
    table.step(card("error", "4S"), found=[together("? 4S")])
    noticed = [each.data for each in table.events if isinstance(each.data, IrregularityNoticed)]
    assert [(each.kind, each.number) for each in noticed] == [("drawn-together", None), ("order-altered", None)]
    assert (table.phase, table.question.question, table.question.kind) == ("suspended", "confirm", "order-altered")
    table.answer("no")
    assert (table.phase, table.hands) == ("betting", "/")
