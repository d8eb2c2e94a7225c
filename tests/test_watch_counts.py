"""Counts of a shoe: a card too often, too many cards, what is missing at the end; and when a count begins anew."""

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import AnyFinding, SetWrong, TooMany, TooOften, Unread
from shoed.observations import AnyObservation
from shoed.watch import FacesKnown, WatchSettings, emptied, new_shoe, watch
from tests.observed import CUT, EMPTIED, JUMPED, LOADED, OPENED, PROVEN, STARTED, UNPROVEN, card, closed
from tests.watching import LIMIT_MS, OVERDRAWN, REVERSED, UNREAD, Watching, at, burnt, delivery

ONE_DECK = WatchSettings(LIMIT_MS, decks=1)
DECK = tuple(Random(4).sample(list(Card), len(Card)))


def begun(whole: bool = True) -> Watching:  # noqa: FBT001, FBT002 -- what a test is about
    """A watch of one deck, at the beginning of a shoe."""
    watching = Watching(ONE_DECK)
    watching.state = new_shoe(watching.state, announced=True, whole=whole)
    return watching


def end(watching: Watching) -> list[AnyFinding]:
    return list(emptied(watching.settings, watching.state, at(watching.ms)))


def test_a_card_more_often_than_the_decks_hold_it() -> None:
    """With how often; each of them may be the one, whatever was made of those before it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=2))
    assert watching.hear(card("P1", "8S"), card("burn", "8S"), card("P1", "3H")) == []
    (found,) = watching.hear(card("locked", "8S"))
    assert found == TooOften(at=at(4000), card=Card.S8, times=3, decks=2)
    assert str(found) == "8S came 3 times from 2 decks: foreign, misread, or another set?"
    (again,) = watching.hear(card("B1", "8S"))
    assert isinstance(again, TooOften)
    assert again.times == 4


def test_a_card_with_an_unknown_place_is_counted() -> None:
    """The card left the shoe; the same card once more is one more, because no position tells that it is a repeat."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=2))
    assert watching.hear(card("P1", "8S"), card("unknown", "8S")) == []
    (found,) = watching.hear(card("unknown", "8S"))
    assert found == TooOften(at=at(3000), card=Card.S8, times=3, decks=2)


def test_more_cards_than_the_set() -> None:
    """Wherever they went, and whether they could be read or not; the first too many is told, and no other."""
    watching = begun()
    assert watching.hear(*map(burnt, DECK)) == []
    unread, too_many = watching.hear(card("P1", "?"))
    assert [type(each) for each in watching.hear(card("B1", "?"))] == [Unread]
    assert too_many == TooMany(at=at(53_000), cards=53, whole=52)
    assert str(unread) == "a card could not be read: the shoe reported a card with the code 00, which is no card's"
    assert str(too_many) == "card 53 of a set of 52"


def test_a_whole_shoe_lacks_nothing() -> None:
    """All that came out is the set, nothing more and nothing less."""
    watching = begun()
    watching.hear(*map(burnt, DECK))
    assert end(watching) == []


def test_an_empty_shoe_tells_which_cards_are_missing() -> None:
    """And which there were too many of."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), burnt(DECK[5]))
    (found,) = end(watching)
    assert isinstance(found, SetWrong)
    assert found.missing == {each: 1 for each in Card if each in DECK[:2]}
    assert found.extra == {DECK[5]: 1}
    assert found.evidence == "51 cards of 52 came out of the shoe, and 0 could not be read"


@pytest.mark.parametrize("unread", [card("P1", "?"), UNREAD])
def test_a_card_that_nobody_could_read_is_not_missing(unread: AnyObservation) -> None:
    """As many may be missing as passed without a face; one more is a finding."""
    watching = begun()
    watching.hear(*map(burnt, DECK[1:]), unread)
    assert end(watching) == []
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), unread)
    assert len(end(watching)) == 1


def test_a_face_that_a_person_tells_leaves_the_other_unread_card_in_doubt() -> None:
    """One was reported without a face, and one was a fault: the face of the first says nothing of the other."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), card("P1", "?"), UNREAD)
    told = FacesKnown(at(watching.ms), before=(None,), after=(DECK[0],))
    watching.state, found = watch(ONE_DECK, watching.state, told)
    assert (found, end(watching)) == ((), [])


def test_a_shoe_that_was_not_seen_whole_lacks_nothing_that_we_know_of() -> None:
    """Joined midway, or begun unseen."""
    for watching in (Watching(ONE_DECK), begun(whole=False)):
        watching.hear(*map(burnt, DECK[2:]))
        assert end(watching) == []


# --- the card of an overdraw


@pytest.mark.parametrize(
    "told",
    [
        [card("P3", "8S"), OVERDRAWN, card("overdraw", "8S")],
        [OVERDRAWN, card("error", "8S"), card("overdraw", "8S")],
        [OVERDRAWN, card("overdraw", "8S")],
    ],
)
def test_the_card_of_an_overdraw_is_one_card(told: list[AnyObservation]) -> None:
    """Told before its error, in it, or only after it."""
    watching = begun()
    assert watching.hear(*told, *(burnt(each) for each in DECK if each is not Card.S8)) == []
    assert end(watching) == []


def test_the_card_of_an_overdraw_counts_where_it_was_not_told_before() -> None:
    """It left the shoe like any other."""
    watching = begun()
    found = watching.hear(card("P1", "8S"), card("B1", "3H"), OVERDRAWN, card("overdraw", "8S"))
    assert found == [TooOften(at=at(4000), card=Card.S8, times=2, decks=1)]


def test_an_overdraw_without_a_face_is_a_card() -> None:
    """It is counted, and nothing is held against the card before."""
    watching = begun()
    watching.hear(card("P1", "?"), card("overdraw", "?"))
    assert watching.state.counts.cards == 2


# --- where another shoe may have begun, a count begins anew

TWICE: list[AnyObservation] = [burnt(Card.S8)]


@pytest.mark.parametrize(
    "between",
    [
        [CUT, STARTED],
        [JUMPED],
        [UNPROVEN],
        [closed(), OPENED],
        [closed(), OPENED, UNPROVEN],
    ],
)
def test_a_card_of_what_may_be_another_shoe_is_not_one_too_many(between: list[AnyObservation]) -> None:
    """Nothing proves that it is the same set: no alarm, and no account of what is missing."""
    watching = begun()
    assert watching.hear(card("P1", "3H"), *TWICE, *between, *TWICE) == []
    assert not watching.state.counts.whole
    assert (watching.state.counts.cards, watching.state.shuffle.pairs) == (1, 0)
    assert [type(each) for each in watching.hear(*TWICE)] == [TooOften]


@pytest.mark.parametrize("between", [[], [STARTED], [CUT], [closed(), OPENED, PROVEN], [closed(), PROVEN, STARTED]])
def test_a_card_of_the_same_shoe_is_one_too_many(between: list[AnyObservation]) -> None:
    """A cutting card, a reconnection, a line that was away and missed nothing: the shoe is the same."""
    watching = begun()
    watching.hear(CUT, STARTED)
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert [type(each) for each in watching.hear(*TWICE, *between, *TWICE)] == [TooOften]
    assert watching.state.counts.whole


def test_a_new_shoe_is_counted_from_its_start() -> None:
    """What came behind the start in the same Step is its own; a shoe begun by command begins there."""
    watching = begun()
    watching.hear(*map(burnt, DECK), CUT, STARTED)
    watching.hear(*map(burnt, DECK[:3]))
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert (watching.state.counts.cards, watching.state.counts.whole) == (3, True)
    assert watching.hear(*map(burnt, DECK[3:])) == []
    assert end(watching) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, DECK)) == []


def test_a_start_that_began_no_shoe_is_not_the_next_one_s() -> None:
    """A round was open: the shoe goes on, and a command later begins the next one from nothing."""
    watching = begun()
    watching.hear(CUT, STARTED, *map(burnt, DECK[:3]))
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.state.counts.cards == 0


def test_an_account_is_not_given_while_the_line_is_away() -> None:
    """Nobody knows what came meanwhile."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), closed())
    assert end(watching) == []


# --- a shuffler's inventory


def test_a_set_that_the_shuffler_counts_otherwise_is_wrong() -> None:
    """At once, card by card."""
    watching = Watching(ONE_DECK)
    assert watching.hear(delivery(*DECK, ordered=False)) == []
    (found,) = watching.hear(delivery(*(each for each in DECK if each is not Card.DK), Card.S8, ordered=False))
    assert str(found) == ("the set lacks 1 KD and has 1 8S too many: the shuffler counted 52 cards of 52")
    (found,) = watching.hear(delivery(*DECK, Card.S8, ordered=False))
    assert str(found) == "the set lacks nothing and has 1 8S too many: the shuffler counted 53 cards of 52"


def test_a_set_that_lacks_cards_has_nothing_too_many() -> None:
    """The sentence says so."""
    (found,) = Watching(ONE_DECK).hear(delivery(*DECK[1:], ordered=False))
    assert str(found) == f"the set lacks 1 {DECK[0]} and has nothing too many: the shuffler counted 51 cards of 52"


# --- the state


@pytest.mark.parametrize("decks", [4, 10])
def test_the_state_stays_small(decks: int) -> None:
    """It is written with every commit: no list of the shoe's cards is in it."""
    watching = Watching(WatchSettings(LIMIT_MS, decks))
    shoe = [*Card] * decks
    Random(1).shuffle(shoe)
    watching.hear(OPENED, *(replace(burnt(each)) for each in shoe), UNREAD, REVERSED)
    assert len(msgspec.json.encode(watching.state)) < 500


# --- told again, or not of the game


def test_a_card_that_is_told_again_in_its_slot_is_not_counted_twice() -> None:
    """A person says whether it is one more: the count is never too high, and nothing is called missing for it."""
    watching = begun()
    told = [card("P1", str(DECK[0])), card("B1", str(DECK[1])), card("B1", str(DECK[1]))]
    assert watching.hear(*told, *map(burnt, DECK[2:])) == []
    assert end(watching) == []


def test_the_same_face_in_another_slot_is_another_card() -> None:
    """Of one deck that is one too many."""
    assert [type(each) for each in begun().hear(card("P1", "8S"), card("B1", "8S"))] == [TooOften]


def test_cards_in_set_up_are_no_cards_of_the_shoe() -> None:
    """They try the reader: neither counted nor held to be shuffled."""
    watching = begun()
    assert watching.hear(*(card("set-up", "8S") for _ in range(9))) == []
    assert watching.hear(*(card("set-up", str(each)) for each in Card)) == []
    assert (watching.state.counts.cards, watching.state.shuffle.pairs) == (0, 0)


def test_an_overdraw_of_the_same_face_calls_no_card_missing() -> None:
    """It may have been another card: one is in doubt."""
    watching = begun()
    watching.hear(
        card("P3", "8S"), OVERDRAWN, card("overdraw", "8S"), *(burnt(each) for each in DECK[1:] if each is not Card.S8)
    )
    assert end(watching) == []


# --- what the shoe says of its set


def test_an_empty_shoe_that_says_so_is_held_against_its_set() -> None:
    """As when a person says it."""
    watching = begun()
    (found,) = watching.hear(*map(burnt, DECK[1:]), EMPTIED)
    assert isinstance(found, SetWrong)
    assert found.missing == {DECK[0]: 1}


def test_a_set_that_is_loaded_is_counted_from_then_on() -> None:
    """The cards before it are of another."""
    watching = begun()
    assert watching.hear(*map(burnt, DECK), LOADED, *map(burnt, DECK)) == []
