"""Counts of a shoe: a card too often, too many cards, missing cards at the end; and the restart of a count."""

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding, SetWrong, TooMany, TooOften, Unread
from shoed.model.observations import AnyObservation
from shoed.watch import FacesKnown, WatchSettings, emptied, new_shoe, watch
from tests.observed import CUT, EMPTIED, JUMPED, LOADED, OPENED, PROVEN, STARTED, UNPROVEN, card, closed
from tests.watching import LIMIT_MS, OVERDRAWN, REVERSED, UNREAD, Watching, at, burnt, delivery

ONE_DECK = WatchSettings(LIMIT_MS, decks=1)
DECK = tuple(Random(4).sample(list(Card), len(Card)))


def begun(whole: bool = True) -> Watching:  # noqa: FBT001, FBT002 -- the subject of a test
    """Return a watch of one deck, at the beginning of a shoe."""
    watching = Watching(ONE_DECK)
    watching.state = new_shoe(watching.state, announced=True, whole=whole)
    return watching


def end(watching: Watching) -> list[AnyFinding]:
    return list(emptied(watching.settings, watching.state, at(watching.ms)))


def test_a_card_is_more_often_in_the_shoe_than_in_the_decks() -> None:
    """The finding has the count. Each of the cards may be the wrong one, also after earlier findings."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=2))
    assert watching.hear(card("P1", "8S"), card("burn", "8S"), card("P1", "3H")) == []
    (found,) = watching.hear(card("locked", "8S"))
    assert found == TooOften(at=at(4000), card=Card.S8, times=3, decks=2)
    assert str(found) == "8S was reported 3 times from 2 decks: foreign, misread, or of another set"
    (again,) = watching.hear(card("B1", "8S"))
    assert isinstance(again, TooOften)
    assert again.times == 4


def test_a_card_with_an_unknown_place_is_counted() -> None:
    """The card left the shoe. The same card again counts again, because no position shows that it is a repetition."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=2))
    assert watching.hear(card("P1", "8S"), card("unknown", "8S")) == []
    (found,) = watching.hear(card("unknown", "8S"))
    assert found == TooOften(at=at(3000), card=Card.S8, times=3, decks=2)


def test_more_cards_than_the_set() -> None:
    """The place of the cards and their faces make no difference. Only the first excess card makes a finding."""
    watching = begun()
    assert watching.hear(*map(burnt, DECK)) == []
    unread, too_many = watching.hear(card("P1", "?"))
    assert [type(each) for each in watching.hear(card("B1", "?"))] == [Unread]
    assert too_many == TooMany(at=at(53_000), cards=53, whole=52)
    assert (
        str(unread)
        == "a card could not be read: the shoe reported a card with the code 00, which is not the code of a card"
    )
    assert str(too_many) == "card 53 was reported from a set of 52 cards"


def test_a_whole_shoe_lacks_nothing() -> None:
    """The drawn cards are exactly the set."""
    watching = begun()
    watching.hear(*map(burnt, DECK))
    assert end(watching) == []


def test_an_empty_shoe_reveals_the_missing_cards() -> None:
    """The finding also has the extra cards."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), burnt(DECK[5]))
    (found,) = end(watching)
    assert isinstance(found, SetWrong)
    assert found.missing == {each: 1 for each in Card if each in DECK[:2]}
    assert found.extra == {DECK[5]: 1}
    assert found.evidence == "51 cards of 52 were drawn from the shoe, and 0 could not be read"


@pytest.mark.parametrize("unread", [card("P1", "?"), UNREAD])
def test_an_unread_card_is_not_missing(unread: AnyObservation) -> None:
    """As many cards may be missing as passed without a face; one more makes a finding."""
    watching = begun()
    watching.hear(*map(burnt, DECK[1:]), unread)
    assert end(watching) == []
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), unread)
    assert len(end(watching)) == 1


def test_a_face_that_a_person_names_leaves_the_other_unread_card_in_doubt() -> None:
    """One card was reported without a face, and one as a fault: the face of the first does not concern the second."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), card("P1", "?"), UNREAD)
    named = FacesKnown(at(watching.ms), before=(None,), after=(DECK[0],))
    watching.state, found = watch(ONE_DECK, watching.state, named)
    assert (found, end(watching)) == ((), [])


def test_a_shoe_with_missed_reports_has_no_missing_cards() -> None:
    """The watch began in the middle of the shoe, or its beginning was missed."""
    for watching in (Watching(ONE_DECK), begun(whole=False)):
        watching.hear(*map(burnt, DECK[2:]))
        assert end(watching) == []


# --- the card of an overdraw


@pytest.mark.parametrize(
    "reported",
    [
        [card("P3", "8S"), OVERDRAWN, card("overdraw", "8S")],
        [OVERDRAWN, card("error", "8S"), card("overdraw", "8S")],
        [OVERDRAWN, card("overdraw", "8S")],
    ],
)
def test_the_card_of_an_overdraw_is_one_card(reported: list[AnyObservation]) -> None:
    """It is reported before its error, during the error, or only after it."""
    watching = begun()
    assert watching.hear(*reported, *(burnt(each) for each in DECK if each is not Card.S8)) == []
    assert end(watching) == []


def test_the_card_of_an_overdraw_counts_if_it_was_not_reported_before() -> None:
    """It left the shoe like any other card."""
    watching = begun()
    found = watching.hear(card("P1", "8S"), card("B1", "3H"), OVERDRAWN, card("overdraw", "8S"))
    assert found == [TooOften(at=at(4000), card=Card.S8, times=2, decks=1)]


def test_an_overdraw_without_a_face_is_a_card() -> None:
    """It is counted, and the previous card raises no doubt."""
    watching = begun()
    watching.hear(card("P1", "?"), card("overdraw", "?"))
    assert watching.state.counts.cards == 2


# --- a count restarts where a change of shoe may have been missed

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
def test_a_card_of_a_possibly_different_shoe_is_not_too_many(between: list[AnyObservation]) -> None:
    """Nothing proves that it is the same set: there is no alarm, and missing cards are not reported."""
    watching = begun()
    assert watching.hear(card("P1", "3H"), *TWICE, *between, *TWICE) == []
    assert not watching.state.counts.whole
    assert (watching.state.counts.cards, watching.state.shuffle.pairs) == (1, 0)
    assert [type(each) for each in watching.hear(*TWICE)] == [TooOften]


@pytest.mark.parametrize("between", [[], [STARTED], [CUT], [closed(), OPENED, PROVEN], [closed(), PROVEN, STARTED]])
def test_a_card_of_the_same_shoe_is_one_too_many(between: list[AnyObservation]) -> None:
    """After a cut card, a reconnection, or an absence without losses the shoe is the same."""
    watching = begun()
    watching.hear(CUT, STARTED)
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert [type(each) for each in watching.hear(*TWICE, *between, *TWICE)] == [TooOften]
    assert watching.state.counts.whole


def test_a_new_shoe_is_counted_from_its_start() -> None:
    """Cards after the start in the same Step belong to the new shoe; a shoe begins at its command."""
    watching = begun()
    watching.hear(*map(burnt, DECK), CUT, STARTED)
    watching.hear(*map(burnt, DECK[:3]))
    watching.state = new_shoe(watching.state, announced=False, whole=True)
    assert (watching.state.counts.cards, watching.state.counts.whole) == (3, True)
    assert watching.hear(*map(burnt, DECK[3:])) == []
    assert end(watching) == []
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.hear(*map(burnt, DECK)) == []


def test_a_start_within_a_round_does_not_begin_a_shoe() -> None:
    """A round was open: the shoe continues, and a later command begins the next shoe with an empty count."""
    watching = begun()
    watching.hear(CUT, STARTED, *map(burnt, DECK[:3]))
    watching.state = new_shoe(watching.state, announced=True, whole=True)
    assert watching.state.counts.cards == 0


def test_an_empty_shoe_is_not_compared_while_the_line_is_away() -> None:
    """The cards of that time are unknown."""
    watching = begun()
    watching.hear(*map(burnt, DECK[2:]), closed())
    assert end(watching) == []


# --- a shuffler's inventory


def test_a_set_with_a_different_count_of_the_shuffler_is_wrong() -> None:
    """The finding is made at once, with each card."""
    watching = Watching(ONE_DECK)
    assert watching.hear(delivery(*DECK, ordered=False)) == []
    (found,) = watching.hear(delivery(*(each for each in DECK if each is not Card.DK), Card.S8, ordered=False))
    assert str(found) == (
        "cards missing from the set: 1 KD; cards in excess: 1 8S; the shuffler counted 52 cards of 52"
    )
    (found,) = watching.hear(delivery(*DECK, Card.S8, ordered=False))
    assert str(found) == "cards missing from the set: none; cards in excess: 1 8S; the shuffler counted 53 cards of 52"


def test_a_set_with_missing_cards_may_have_no_extra_cards() -> None:
    """The sentence states both."""
    (found,) = Watching(ONE_DECK).hear(delivery(*DECK[1:], ordered=False))
    assert (
        str(found)
        == f"cards missing from the set: 1 {DECK[0]}; cards in excess: none; the shuffler counted 51 cards of 52"
    )


# --- the state


@pytest.mark.parametrize("decks", [4, 10])
def test_the_state_stays_small(decks: int) -> None:
    """Every commit writes it: it has no list of the shoe's cards."""
    watching = Watching(WatchSettings(LIMIT_MS, decks))
    shoe = [*Card] * decks
    Random(1).shuffle(shoe)
    watching.hear(OPENED, *(replace(burnt(each)) for each in shoe), UNREAD, REVERSED)
    assert len(msgspec.json.encode(watching.state)) < 500


# --- repeated cards, and cards outside the game


def test_a_card_that_is_reported_again_in_its_slot_is_not_counted_twice() -> None:
    """A person decides whether it is another card: the count is never too high, and no card counts as missing."""
    watching = begun()
    reported = [card("P1", str(DECK[0])), card("B1", str(DECK[1])), card("B1", str(DECK[1]))]
    assert watching.hear(*reported, *map(burnt, DECK[2:])) == []
    assert end(watching) == []


def test_the_same_face_in_another_slot_is_another_card() -> None:
    """In one deck it is one too many."""
    assert [type(each) for each in begun().hear(card("P1", "8S"), card("B1", "8S"))] == [TooOften]


def test_cards_in_set_up_do_not_belong_to_the_shoe() -> None:
    """They are test cards: they are not counted, and the watch does not judge their shuffling."""
    watching = begun()
    assert watching.hear(*(card("set-up", "8S") for _ in range(9))) == []
    assert watching.hear(*(card("set-up", str(each)) for each in Card)) == []
    assert (watching.state.counts.cards, watching.state.shuffle.pairs) == (0, 0)


def test_after_an_overdraw_of_the_same_face_no_card_is_missing() -> None:
    """It may have been another card: one card is in doubt."""
    watching = begun()
    watching.hear(
        card("P3", "8S"), OVERDRAWN, card("overdraw", "8S"), *(burnt(each) for each in DECK[1:] if each is not Card.S8)
    )
    assert end(watching) == []


# --- reports of the shoe about its set


def test_an_empty_shoe_is_compared_with_its_set() -> None:
    """A report of the shoe and a person's command have the same effect."""
    watching = begun()
    (found,) = watching.hear(*map(burnt, DECK[1:]), EMPTIED)
    assert isinstance(found, SetWrong)
    assert found.missing == {DECK[0]: 1}


def test_a_loaded_set_restarts_the_count() -> None:
    """The earlier cards belong to another set."""
    watching = begun()
    assert watching.hear(*map(burnt, DECK), LOADED, *map(burnt, DECK)) == []
