"""The order that a shuffler delivered, against the cards as they come; and cards that ran backwards."""

from random import Random

import pytest

from shoed.cards import Card
from shoed.findings import AnyFinding, OrderAltered
from shoed.observations import AnyObservation, FaultMeaning
from shoed.watch import WatchSettings, new_shoe
from shoed.watch.order import SURE
from tests.observed import CUT, JUMPED, STARTED, card
from tests.watching import LIMIT_MS, REVERSED, UNREAD, Watching, burnt, delivery, failing

DECK = tuple(Random(4).sample(list(Card), len(Card)))
NEXT = tuple(Random(5).sample(list(Card), len(Card)))


def coming(*cards: Card, before: int = 0) -> list[AnyFinding]:
    """What is found when these come out of the shoe that DECK was delivered to, after so many of it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:before]))
    return [each for each in watching.hear(*map(burnt, cards)) if isinstance(each, OrderAltered)]


def test_cards_that_come_as_they_were_delivered() -> None:
    """From the first to the last; what comes after them is no matter of order."""
    assert coming(*DECK, DECK[0]) == []


def test_a_set_without_a_told_order_has_none() -> None:
    """Counts alone say nothing of what comes first."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(delivery(*DECK, ordered=False), *map(burnt, NEXT[:9])) == []


@pytest.mark.parametrize(
    ("altered", "expected"),
    [
        ((*DECK[:10], *DECK[11:]), DECK[10]),  # one is gone
        ((*DECK[:10], NEXT[0], *DECK[10:]), DECK[10]),  # one came in between
        ((*DECK[:10], DECK[11], DECK[10], *DECK[12:]), DECK[10]),  # two changed places
        ((*DECK[:10], *DECK[20:], *DECK[10:20]), DECK[10]),  # cut
    ],
)
def test_an_altered_order_is_told_once(altered: tuple[Card, ...], expected: Card) -> None:
    """Where it begins; what follows shows where in the order we are, and a second change is told again."""
    found = coming(*altered[:30])
    assert [(each.card, each.expected) for each in found if isinstance(each, OrderAltered)] == [(altered[10], expected)]
    again = coming(*altered[:30], *altered[31:])
    assert len(again) == 2
    assert str(found[0]) == (
        f"the order of the cards was altered: card 11 of the order that the shuffler delivered is {expected},"
        f" not {altered[10]}"
    )


def test_another_set_is_told_once() -> None:
    """No place in the order is ever found by chance, in the longest shoe either."""
    assert len(coming(*NEXT)) == 1
    long, other = [*Card] * 10, [*Card] * 10
    Random(1).shuffle(long)
    Random(2).shuffle(other)
    watching = Watching(WatchSettings(LIMIT_MS, decks=10))
    assert len(watching.hear(delivery(*long), *map(burnt, other))) == 1


def test_the_place_is_found_again_by_cards_that_can_be_read() -> None:
    """A card without a face is as good as the right one where the place is known, and no help where it is not."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), burnt(DECK[0]), card("P1", "?"))
    assert watching.hear(*map(burnt, DECK[2:10])) == []
    assert len(watching.hear(*map(burnt, DECK[11 : 10 + SURE]))) == 1
    watching.hear(card("P1", "?"), *map(burnt, DECK[11 + SURE : 10 + 2 * SURE]))
    assert watching.state.order.lost
    watching.hear(burnt(DECK[10 + 2 * SURE]))
    assert (watching.state.order.lost, watching.state.order.next) == (False, 11 + 2 * SURE)


def test_the_place_is_found_again_after_as_many_cards_as_the_set_has() -> None:
    """Cards that came before come once more: from the sixth of them on each is held against the order again."""
    found = coming(*DECK[:50], *DECK[20:26], DECK[40])
    told = [(each.card, each.expected) for each in found if isinstance(each, OrderAltered)]
    assert told == [(DECK[20], DECK[50]), (DECK[40], DECK[26])]


def test_the_nearest_of_two_places_is_the_one() -> None:
    """The same cards in a row may be in several decks."""
    row, one, two, three = DECK[:SURE], DECK[10:20], DECK[20:30], DECK[30:50]
    watching = Watching(WatchSettings(0, decks=8))
    watching.hear(delivery(*row, *one, *two, *row, *three), *map(burnt, (*row, *one, *two[:-1], *row)))
    assert watching.state.order.next == len(row) * 2 + len(one) + len(two)


def test_what_was_missed_is_nobody_s_alteration() -> None:
    """Reports were lost: the place is looked for again, and from then on the order counts."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), JUMPED)
    assert watching.hear(*map(burnt, DECK[7 : 7 + SURE])) == []
    assert len(watching.hear(burnt(NEXT[0]))) == 1


def test_the_card_of_an_overdraw_is_told_late_and_alters_nothing() -> None:
    """Others may have been told before it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]))
    assert watching.hear(card("overdraw", str(DECK[6])), *map(burnt, DECK[7:12])) == []


def test_a_set_that_is_delivered_while_another_is_dealt_is_the_next_shoe_s() -> None:
    """Two sets take turns: one is dealt while the other is shuffled."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), delivery(*NEXT), *map(burnt, DECK[5:9]), CUT) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, NEXT[:9])) == []
    assert len(watching.hear(burnt(NEXT[20]))) == 1


def test_a_set_that_is_delivered_to_an_empty_shoe_is_dealt_at_once() -> None:
    """Whatever start of communication follows: none of its cards has come yet."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), CUT, STARTED)
    assert len(watching.hear(burnt(NEXT[0]))) == 1


def test_cards_that_came_behind_the_start_of_the_shoe_are_in_its_order() -> None:
    """The Step that began it had them already."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), delivery(*NEXT), CUT, STARTED)
    assert watching.hear(*map(burnt, NEXT[:2])) == []
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert watching.hear(*map(burnt, NEXT[2:])) == []
    assert watching.state.order.next == len(NEXT)


def test_an_order_is_of_one_shoe() -> None:
    """The next shoe has none, unless its own was told."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]))
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, NEXT[:9])) == []


@pytest.mark.parametrize("fault", [REVERSED, failing(5, "reverse-midway", FaultMeaning.REVERSED)])
def test_a_card_that_ran_backwards_alters_the_order(fault: AnyObservation) -> None:
    """Nobody knows which one it was."""
    (found,) = Watching().hear(fault)
    assert isinstance(found, OrderAltered)
    assert (found.card, found.expected) == (None, None)
    assert str(found).endswith("a card ran backwards")


def test_a_card_that_passed_unread_loses_the_place() -> None:
    """The fault stands for a card that the order has: the next one is not another."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), UNREAD)
    assert [each for each in watching.hear(*map(burnt, DECK[6:20])) if isinstance(each, OrderAltered)] == []


def test_a_set_that_is_delivered_where_reports_were_missed_is_the_next_shoe_s() -> None:
    """Nobody knows how far the present one is."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(JUMPED, delivery(*DECK), *map(burnt, NEXT[:9])) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert len(watching.hear(*map(burnt, NEXT[:3]))) == 1
