"""The delivered order compared with the drawn cards, and cards that ran backwards."""

from random import Random

import pytest

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding, OrderAltered
from shoed.model.observations import AnyObservation, FaultMeaning
from shoed.watch import WatchSettings, new_shoe
from shoed.watch.order import SURE
from tests.observed import CUT, JUMPED, STARTED, card
from tests.watching import LIMIT_MS, REVERSED, UNREAD, Watching, burnt, delivery, failing

DECK = tuple(Random(4).sample(list(Card), len(Card)))
NEXT = tuple(Random(5).sample(list(Card), len(Card)))


def coming(*cards: Card, before: int = 0) -> list[AnyFinding]:
    """Return the findings when these cards are drawn from the shoe of DECK, after the first cards of it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:before]))
    return [each for each in watching.hear(*map(burnt, cards)) if isinstance(each, OrderAltered)]


def test_cards_in_the_delivered_order_make_no_finding() -> None:
    """Cards after the last card of the order do not concern the order."""
    assert coming(*DECK, DECK[0]) == []


def test_a_set_without_a_reported_order_has_none() -> None:
    """Counts alone do not define an order."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(delivery(*DECK, ordered=False), *map(burnt, NEXT[:9])) == []


@pytest.mark.parametrize(
    ("altered", "expected"),
    [
        ((*DECK[:10], *DECK[11:]), DECK[10]),  # one card is missing
        ((*DECK[:10], NEXT[0], *DECK[10:]), DECK[10]),  # one card is inserted
        ((*DECK[:10], DECK[11], DECK[10], *DECK[12:]), DECK[10]),  # two cards are exchanged
        ((*DECK[:10], *DECK[20:], *DECK[10:20]), DECK[10]),  # the set is cut
    ],
)
def test_an_altered_order_is_one_finding(altered: tuple[Card, ...], expected: Card) -> None:
    """It is found at its beginning. The next cards find the place again, and a second change is a second finding."""
    found = coming(*altered[:30])
    assert [(each.card, each.expected) for each in found if isinstance(each, OrderAltered)] == [(altered[10], expected)]
    again = coming(*altered[:30], *altered[31:])
    assert len(again) == 2
    assert str(found[0]) == (
        f"the order of the cards was altered: card 11 of the order that the shuffler delivered is {expected},"
        f" not {altered[10]}"
    )


def test_another_set_is_one_finding() -> None:
    """A place in the order is never found by chance, not even in the longest shoe."""
    assert len(coming(*NEXT)) == 1
    long, other = [*Card] * 10, [*Card] * 10
    Random(1).shuffle(long)
    Random(2).shuffle(other)
    watching = Watching(WatchSettings(LIMIT_MS, decks=10))
    assert len(watching.hear(delivery(*long), *map(burnt, other))) == 1


def test_the_place_is_found_again_by_read_cards() -> None:
    """A card without a face matches while the place is known, and does not help to find the place."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), burnt(DECK[0]), card("P1", "?"))
    assert watching.hear(*map(burnt, DECK[2:10])) == []
    assert len(watching.hear(*map(burnt, DECK[11 : 10 + SURE]))) == 1
    watching.hear(card("P1", "?"), *map(burnt, DECK[11 + SURE : 10 + 2 * SURE]))
    assert watching.state.order.lost
    watching.hear(burnt(DECK[10 + 2 * SURE]))
    assert (watching.state.order.lost, watching.state.order.next) == (False, 11 + 2 * SURE)


def test_the_place_is_found_again_after_more_cards_than_the_set_has() -> None:
    """The same cards are drawn again: from the sixth of them on, each is compared with the order again."""
    found = coming(*DECK[:50], *DECK[20:26], DECK[40])
    altered = [(each.card, each.expected) for each in found if isinstance(each, OrderAltered)]
    assert altered == [(DECK[20], DECK[50]), (DECK[40], DECK[26])]


def test_the_nearest_of_two_places_is_chosen() -> None:
    """Several decks may have the same run of cards."""
    row, one, two, three = DECK[:SURE], DECK[10:20], DECK[20:30], DECK[30:50]
    watching = Watching(WatchSettings(0, decks=8))
    watching.hear(delivery(*row, *one, *two, *row, *three), *map(burnt, (*row, *one, *two[:-1], *row)))
    assert watching.state.order.next == len(row) * 2 + len(one) + len(two)


def test_missed_cards_do_not_alter_the_order() -> None:
    """Reports were lost: the place is searched again, and from then on the order is compared."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), JUMPED)
    assert watching.hear(*map(burnt, DECK[7 : 7 + SURE])) == []
    assert len(watching.hear(burnt(NEXT[0]))) == 1


def test_the_card_of_an_overdraw_is_reported_late_and_alters_nothing() -> None:
    """Other cards may have been reported before it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]))
    assert watching.hear(card("overdraw", str(DECK[6])), *map(burnt, DECK[7:12])) == []


def test_a_set_that_is_delivered_while_another_is_dealt_belongs_to_the_next_shoe() -> None:
    """Two sets alternate: one is dealt while the other is shuffled."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), delivery(*NEXT), *map(burnt, DECK[5:9]), CUT) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, NEXT[:9])) == []
    assert len(watching.hear(burnt(NEXT[20]))) == 1


def test_a_set_that_is_delivered_to_an_empty_shoe_is_dealt_at_once() -> None:
    """A start of communication may follow: none of the set's cards was drawn yet."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), CUT, STARTED)
    assert len(watching.hear(burnt(NEXT[0]))) == 1


def test_cards_after_the_start_of_the_shoe_are_in_its_order() -> None:
    """The Step that began the shoe already had them."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), delivery(*NEXT), CUT, STARTED)
    assert watching.hear(*map(burnt, NEXT[:2])) == []
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert watching.hear(*map(burnt, NEXT[2:])) == []
    assert watching.state.order.next == len(NEXT)


def test_an_order_belongs_to_one_shoe() -> None:
    """The next shoe has no order unless its own order was reported."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]))
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, NEXT[:9])) == []


@pytest.mark.parametrize("fault", [REVERSED, failing(5, "reverse-midway", FaultMeaning.REVERSED)])
def test_a_card_that_ran_backwards_alters_the_order(fault: AnyObservation) -> None:
    """It is unknown which card it was."""
    (found,) = Watching().hear(fault)
    assert isinstance(found, OrderAltered)
    assert (found.card, found.expected) == (None, None)
    assert str(found).endswith("a card ran backwards")


def test_an_unread_card_makes_the_place_unknown() -> None:
    """The fault stands for a card of the order, so the next card is not a difference."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    watching.hear(delivery(*DECK), *map(burnt, DECK[:5]), UNREAD)
    assert [each for each in watching.hear(*map(burnt, DECK[6:20])) if isinstance(each, OrderAltered)] == []


def test_after_missed_reports_a_delivered_set_belongs_to_the_next_shoe() -> None:
    """The number of cards drawn from the present shoe is unknown."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    assert watching.hear(JUMPED, delivery(*DECK), *map(burnt, NEXT[:9])) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert len(watching.hear(*map(burnt, NEXT[:3]))) == 1
