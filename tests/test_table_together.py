"""Cards that the watch found to be drawn together: in order or not, beside an unread one, across two rounds."""

import pytest

from shoed.cards import Card
from shoed.commands import CorrectCard, OpenBets
from shoed.events import (
    CardDrawn,
    CardSetAside,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAsked,
    RoundSuspended,
    RoundVoided,
)
from tests.observed import (
    NATURAL,
    UNREAD_FAULT,
    Sitting,
    after,
    card,
    cards,
    fault,
    kinds,
    left_over,
    together,
)


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


def behind_a_natural(*, order_known: bool, game: str) -> Sitting:
    """The first card of a round came with the last one of the round before."""
    table = after(*NATURAL, game=game)
    table.step(card("P1", "4S"), found=[together("4H 4S", order_known=order_known)])
    assert (table.shown.round, table.lies) == (2, "4S /")
    return table


@pytest.mark.parametrize(
    ("game", "order", "asked"),
    [
        ("commission", "known", ("option", "5.10.1")),
        ("commission", "unknown", ("ruling", "5.17")),
        ("fortune-six", "unknown", ("ruling", None)),
    ],
)
def test_a_first_card_that_came_with_the_last_one_of_the_round_before_is_a_matter_of_its_round(
    game: str, order: str, asked: tuple[str, str | None]
) -> None:
    """C 5.10.1 in a known order; an order through two rounds nobody can be asked for, and a person rules."""
    table = behind_a_natural(order_known=order == "known", game=game)
    assert (table.question.question, table.question.clause) == asked
    assert "of the round before" in table.question.evidence[0]


def test_a_first_card_in_a_known_order_changes_nothing_where_the_book_says_so() -> None:
    """F: the round goes on."""
    assert behind_a_natural(order_known=True, game="fortune-six").phase == "dealing"


def test_a_card_burnt_with_a_card_of_the_round_is_put_in_order_if_it_is_of_the_round() -> None:
    """Put away, it is in no order: that it was drawn together with another is published, and no card is doubted."""
    for answer, asked in (("put-away", "reconstructable"), ("due", "card-order")):
        table = after(*NATURAL[:2])
        told = [event.data for event in table.step(card("burn", "4S"), found=[together("3H 4S")])]
        assert kinds(told) == [CardSetAside, IrregularityNoticed, RoundSuspended, QuestionAsked]
        table.answer(answer)
        assert table.question.question == asked


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


def test_a_card_behind_one_without_a_face_came_with_one_that_nobody_could_read() -> None:
    """The face that is asked for is that of an earlier card: the one that came together was not reported."""
    table = after(*cards("P1 ?, B1 3H"))
    table.step(card("P2", "KS"), found=[together("? KS")])
    table.answer("8S")
    assert (table.question.question, table.question.kind, table.question.index) == ("confirm", "drawn-together", 3)


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
    table.answer("continue")  # it came with the last card of the round before
    assert table.lies.startswith("5D / 6C")


def test_a_card_in_no_place_beside_one_that_nobody_could_read_came_together_with_the_missed_one() -> None:
    """A fault came close before it: if the card that was due was missed, their order is asked as well."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("B2", "5S"), found=[together("? 9H")])
    table.answer("missed")
    table.answer("4S")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))


def test_a_fault_close_before_a_card_is_asked_about() -> None:
    """It may be the same card, read at last, or one that passed unread with it: then its face and their order."""
    table = after(*cards("P1 2S, B1 3S"))
    told = [event.data for event in table.step(card("P2", "4S"), found=[together("? 4S")])]
    assert kinds(told) == [CardDrawn, RoundSuspended, IrregularityNoticed, QuestionAsked]
    assert (table.question.question, table.question.kind) == ("confirm", "drawn-together")
    before = table.state
    table.answer("no")
    assert (table.phase, table.lies) == ("dealing", "2S 4S / 3S")
    table.state = before
    table.answer("yes")
    table.answer("5S")
    assert (table.question.question, table.question.choices) == ("card-order", ("4S", "5S"))


def test_the_watch_voids_no_round_by_itself() -> None:
    """F 5.3: what it infers of an initial deal is confirmed by a person first."""
    table = after(*cards("P1 2S, B1 3S"), game="fortune-six")
    table.step(card("P2", "4S"), found=[together("3S 4S")])
    assert (table.phase, table.question.question, table.question.role) == ("suspended", "confirm", "pit-supervisor")
    before = table.state
    table.answer("no")
    assert table.phase == "dealing"
    table.state = before
    (void,) = (each for each in table.answer("yes") if isinstance(each, RoundVoided))
    assert (void.clause, void.role) == ("5.3", "pit-supervisor")


def test_a_third_card_beside_cards_whose_players_choose_is_told_at_once() -> None:
    """All three were drawn in a known order: the record is not doubted, and the book rules of them together."""
    table = after(*cards("P1 2S, B1 3S"))
    table.step(card("P2", "4S"), found=[together("3S 4S", order_known=True)])
    told = [event.data for event in table.step(card("B2", "5S"), found=[together("3S 4S 5S", order_known=True)])]
    (noticed,) = (each for each in told if isinstance(each, IrregularityNoticed))
    assert (noticed.number, noticed.at, noticed.count) == (2, 2, 3)


def test_the_first_card_of_a_shoe_and_a_burnt_card_in_an_unknown_order_are_ruled() -> None:
    """C 5.10: which of them says how many cards are burnt is for a person; the next round waits."""
    for one, other in (("first-card", "burn"), ("burn", "first-card")):
        table = after(card(one, "3H"))
        told = [event.data for event in table.step(card(other, "4S"), found=[together("3H 4S")])]
        assert kinds(told) == [CardSetAside, IrregularityNoticed, IrregularityRuled, QuestionAsked]
        assert (table.question.question, table.question.kind) == ("next-round", "drawn-together")


def test_a_first_card_after_a_round_is_not_of_the_start_of_the_shoe() -> None:
    """No burn cards hang on it: that it came together with another one is told, and nothing is asked."""
    table = after(*NATURAL)
    told = [event.data for event in table.step(card("first-card", "4S"), found=[together("4H 4S")])]
    assert kinds(told) == [CardSetAside, IrregularityNoticed]
    assert not table.state.asked


def test_cards_stay_in_their_order_when_the_face_of_one_is_corrected() -> None:
    """Which of them came first does not depend on its face; nobody is asked for the order again."""
    table = after(*cards("P1 2S, B1 3S, P2 4S"))
    table.step(card("B2", "5S"), found=[together("4S 5S")])
    table.answer(("5S", "4S"))
    table.answer("continue")
    table.tell(CorrectCard(index=3, card=Card.C9))
    assert (table.lies, table.question.question) == ("2S 5S / 3S 9C", "set-replaced")


def test_which_of_two_like_cards_came_first_is_asked_once_one_has_another_face() -> None:
    """C 5.10: nobody has said it before."""
    table = after(*cards("P1 2S, B1 3S, P2 4S"))
    table.step(card("B2", "4S"), found=[together("4S 4S")])
    table.answer(("4S", "4S"))
    table.answer("continue")
    table.tell(CorrectCard(index=3, card=Card.C9))
    assert (table.question.question, table.question.choices) == ("card-order", ("9C", "4S"))


def test_cards_lie_as_they_were_put_in_order_whatever_else_is_asked() -> None:
    """C 5.10: whether the set is replaced is still open, and holds nothing."""
    table = after(*cards("P1 2S, B1 3S, P2 2C"))
    table.step(card("B2", "2H"), found=[together("2C 2H")])
    table.answer(("2H", "2C"))
    table.answer("continue")
    table.hear(card("B2", "6S"))
    table.answer("excess")
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    assert table.lies == "2S 2H / 3S 2C"


def test_burnt_cards_drawn_together_change_nothing() -> None:
    """Nor does the first card in a known order."""
    for place, known in (("burn", False), ("first-card", True)):
        table = after(card("burn", "3H"))
        told = [event.data for event in table.step(card(place, "4S"), found=[together("3H 4S", order_known=known)])]
        assert kinds(told) == [CardSetAside, IrregularityNoticed]
        assert not table.state.asked


def test_two_burnt_cards_behind_the_first_card_change_nothing() -> None:
    """The first card, which says how many are burnt, is not one of the two."""
    table = after(card("first-card", "KS"), card("burn", "3H"))
    told = [event.data for event in table.step(card("burn", "4S"), found=[together("3H 4S")])]
    assert kinds(told) == [CardSetAside, IrregularityNoticed]
    assert not table.state.asked


def test_a_card_in_error_while_bets_are_open_is_published_with_what_came_beside_it() -> None:
    """No card is due before the close: neither card of the draw is on the record of the round."""
    table = Sitting()
    table.tell(OpenBets())
    table.step(card("error", "4S"), found=[together("? 4S")])
    noticed = [each.data for each in table.told if isinstance(each.data, IrregularityNoticed)]
    assert [(each.kind, each.number) for each in noticed] == [("drawn-together", None), ("order-altered", None)]
    assert (table.phase, table.question.question, table.question.kind) == ("suspended", "confirm", "order-altered")
    table.answer("no")
    assert (table.phase, table.lies) == ("betting", "/")
