"""The set that a shuffler delivered, and the shoe that is to deal it."""

from random import Random
from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import AnyFinding, OrderAltered, OtherSet, SetWrong, ShuffleFailed, TooMany, TooOften
from shoed.observations import AnyObservation, Device, SetDelivered, ShuffleEnded
from shoed.watch import WatchSettings, new_shoe
from tests.observed import CUT, EMPTIED, FRAME, JUMPED, LOADED, START, STARTED, card, closed, fault
from tests.watching import LIMIT_MS, UNREAD, Watching, burnt, delivery

DECK: Final = tuple(Random(4).sample(list(Card), len(Card)))
NEXT: Final = tuple(Random(5).sample(list(Card), len(Card)))
SHORT: Final = DECK[1:]


def of(set_id: str, seen: SetDelivered, unread: int = 0) -> SetDelivered:
    return replace(seen, set_id=set_id, unread=unread, device=Device.SHUFFLER)


def loaded(set_id: str) -> AnyObservation:
    return replace(LOADED, set_id=set_id)


def begin(watching: Watching, *, announced: bool = False, whole: bool = True) -> None:
    """The table started a shoe, by a command or by what was heard last."""
    watching.state = new_shoe(watching.state, announced=announced, whole=whole)


def watching_one_deck() -> Watching:
    return Watching(WatchSettings(LIMIT_MS, decks=1))


def dealing(*delivered: AnyObservation) -> Watching:
    """A shoe that was begun with this."""
    watching = watching_one_deck()
    watching.hear(*delivered, loaded("A7"))
    begin(watching)
    return watching


# --- counts


def test_a_card_that_the_shuffler_counted_less_often_comes_too_often() -> None:
    """The decks have one of it, the set has none."""
    watching = dealing(of("A7", delivery(*SHORT, ordered=False)))
    (found,) = watching.hear(burnt(DECK[0]))
    assert isinstance(found, TooOften)
    assert (found.times, found.decks, found.delivered) == (1, 1, 0)
    assert str(found).startswith(f"{DECK[0]} came 1 times from a set with 0 by the shuffler's count")


def test_a_card_that_the_shuffler_counted_more_often_is_held_against_the_decks() -> None:
    """What is wrong with the set was told when it was delivered; the decks have one of it all the same."""
    watching = dealing(of("A7", delivery(*DECK, Card.S8, ordered=False)))
    (found,) = watching.hear(burnt(Card.S8), burnt(Card.S8))
    assert isinstance(found, TooOften)
    assert found.delivered is None


def test_a_set_has_no_more_cards_than_were_delivered() -> None:
    """Those that could not be recognised among them."""
    watching = dealing(of("A7", delivery(*SHORT[1:], ordered=False), unread=1))
    found = watching.hear(*map(burnt, DECK[:51]), card("P1", "?"))
    assert [each.whole for each in found if isinstance(each, TooMany)] == [51]


def test_a_card_that_was_not_recognised_may_be_any() -> None:
    """Of two that the shuffler did not count, either may be it."""
    watching = dealing(of("A7", delivery(*DECK[2:], ordered=False), unread=1))
    assert watching.hear(*map(burnt, DECK[:2])) == []


@pytest.mark.parametrize(
    ("came", "wrong"),
    [
        (SHORT, None),
        (SHORT[:-1], "the set lacks 1 {} and has nothing too many: 50 cards of 51 that the shuffler delivered"),
    ],
)
def test_an_empty_shoe_is_held_against_what_was_delivered(came: tuple[Card, ...], wrong: str | None) -> None:
    """The card that the set never had is not missing from the shoe."""
    watching = dealing(of("A7", delivery(*SHORT, ordered=False)))
    found = watching.hear(*map(burnt, came), EMPTIED)
    assert [str(each).partition(" came out")[0] for each in found] == ([wrong.format(SHORT[-1])] if wrong else [])


def test_what_was_not_recognised_explains_a_card_too_many_at_the_end() -> None:
    """It was one of them; two are one too many."""
    watching = dealing(of("A7", delivery(*SHORT, ordered=False), unread=1))
    assert watching.hear(*map(burnt, DECK), EMPTIED) == []
    watching = dealing(of("A7", delivery(*DECK[2:], ordered=False), unread=1))
    (found,) = [each for each in watching.hear(*map(burnt, DECK), EMPTIED) if isinstance(each, SetWrong)]
    assert sum(found.extra.values()) == 2


@pytest.mark.parametrize(
    ("counted", "unread", "evidence"),
    [
        (SHORT, 1, None),
        (SHORT, 2, "the shuffler counted 51 cards of 52, and 2 that it could not recognise"),
        (SHORT[1:], 1, "the shuffler counted 50 cards of 52, and 1 that it could not recognise"),
        ((*SHORT, SHORT[0]), 1, "the shuffler counted 52 cards of 52, and 1 that it could not recognise"),
    ],
)
def test_cards_that_were_not_recognised_may_be_those_that_are_missing(
    counted: tuple[Card, ...], unread: int, evidence: str | None
) -> None:
    """As many as there are, and no more."""
    found = watching_one_deck().hear(of("A7", delivery(*counted, ordered=False), unread))
    assert [each.evidence for each in found if isinstance(each, SetWrong)] == ([evidence] if evidence else [])


# --- which set it is


def test_a_set_is_the_next_shoe_s_while_another_is_dealt() -> None:
    """What is wrong with it is said so; the present shoe is not held against it, the next one is."""
    watching = dealing(of("A7", delivery(*DECK)))
    watching.hear(*map(burnt, DECK[:5]))
    (wrong,) = watching.hear(of("B2", delivery(*NEXT[1:])))
    assert isinstance(wrong, SetWrong)
    assert wrong.coming
    assert watching.hear(*map(burnt, DECK[5:]), loaded("B2")) == []
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(NEXT[0]))] == [TooOften, OrderAltered]


@pytest.mark.parametrize("began", [[CUT, STARTED], [loaded("")], []])
def test_a_shoe_that_tells_no_id_deals_the_set_that_was_delivered(began: list[AnyObservation]) -> None:
    """By a start of communication, a set without a name, or a command alone."""
    watching = dealing(of("A7", delivery(*DECK)))
    watching.hear(*map(burnt, DECK[:5]), of("B2", delivery(*NEXT)), *began)
    begin(watching, announced=not began)
    assert watching.hear(*map(burnt, NEXT[:9])) == []
    assert [type(each) for each in watching.hear(burnt(NEXT[20]))] == [OrderAltered]


def other(found: list[AnyFinding]) -> list[tuple[str, str]]:
    return [(each.delivered, each.loaded) for each in found if isinstance(each, OtherSet)]


def test_another_set_than_was_delivered_is_told_with_both_ids() -> None:
    """Nobody counted it: its cards are held against the decks alone, and no order is known of it."""
    watching = watching_one_deck()
    found = watching.hear(of("A7", delivery(*SHORT)), loaded("B2"))
    assert other(found) == [("A7", "B2")]
    begin(watching)
    assert watching.hear(*map(burnt, NEXT)) == []


def test_another_set_than_the_one_that_was_coming_is_told_too() -> None:
    """Also where it is the one that was dealt before, put in again."""
    watching = dealing(of("A7", delivery(*DECK)))
    assert other(watching.hear(*map(burnt, DECK[:5]), of("B2", delivery(*NEXT)), loaded("A7"))) == [("B2", "A7")]


@pytest.mark.parametrize(("cards", "coming"), [(0, False), (1, True), (2, True)])
def test_a_set_that_is_delivered_once_a_card_came_is_of_the_next_shoe(cards: int, coming: bool) -> None:  # noqa: FBT001
    """One card is enough: the shoe is not filled again in the middle of it."""
    watching = watching_one_deck()
    watching.hear(*map(burnt, DECK[:cards]))
    (wrong,) = watching.hear(of("B2", delivery(*SHORT)))
    assert isinstance(wrong, SetWrong)
    assert wrong.coming is coming


@pytest.mark.parametrize(("delivered", "told"), [("", "B2"), ("A7", ""), ("", "")])
def test_an_id_that_nobody_told_differs_from_none(delivered: str, told: str) -> None:
    """There is nothing to compare."""
    watching = watching_one_deck()
    assert watching.hear(of(delivered, delivery(*DECK)), loaded(told)) == []
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(DECK[1]))] == [OrderAltered]


def test_a_set_that_is_put_in_again_is_still_the_one_that_was_counted() -> None:
    """Its order is not: somebody had it in his hands."""
    watching = dealing(of("A7", delivery(*SHORT)))
    assert watching.hear(*map(burnt, SHORT[:5]), loaded("A7")) == []
    begin(watching)
    assert [type(each) for each in watching.hear(*map(burnt, SHORT[9:20]), burnt(DECK[0]))] == [TooOften]


def test_a_set_that_nobody_delivered_is_held_against_the_decks() -> None:
    """The one before it is out of the shoe, and says nothing of it."""
    watching = dealing(of("A7", delivery(*SHORT)))
    assert watching.hear(*map(burnt, SHORT), loaded("B2")) == []
    begin(watching)
    assert watching.hear(*map(burnt, DECK)) == []


def test_what_a_shuffler_tells_late_is_of_the_shoe_that_deals_it() -> None:
    """It was away when the set was loaded; from then on its cards are held against it."""
    watching = dealing()
    assert watching.hear(*map(burnt, DECK[1:4]), of("A7", delivery(*DECK))) == []
    assert watching.hear(*map(burnt, DECK[4:10])) == []
    assert [type(each) for each in watching.hear(burnt(NEXT[0]))] == [OrderAltered]


@pytest.mark.parametrize("seen", [[CUT], [of("A7", delivery(*DECK))]])
def test_the_same_set_delivered_once_more_is_the_next_shoe_s(seen: list[AnyObservation]) -> None:
    """Behind the cutting card, or where it was delivered already: a set keeps its id from shuffle to shuffle."""
    watching = dealing(*(each for each in seen if each is not CUT))
    watching.hear(*map(burnt, DECK[:5]), *(each for each in seen if each is CUT), of("A7", delivery(*NEXT)))
    assert watching.state.sets.coming is not None
    assert watching.hear(loaded("A7")) == []
    begin(watching)
    assert watching.hear(*map(burnt, NEXT[:9])) == []


def test_where_reports_were_missed_a_set_is_not_known_to_be_the_one_delivered() -> None:
    """Unless its id is told."""
    watching = watching_one_deck()
    watching.hear(of("A7", delivery(*SHORT)), JUMPED, CUT, STARTED)
    assert watching.state.sets.dealt is None
    watching = watching_one_deck()
    watching.hear(of("A7", delivery(*SHORT)), JUMPED, loaded("A7"))
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(DECK[0]))] == [TooOften]


# --- the shuffler itself


def test_a_shuffle_that_failed_is_a_finding_with_its_reason() -> None:
    """One that is done is none."""
    done = ShuffleEnded(at=START, frame=FRAME, device=Device.SHUFFLER)
    (found,) = Watching().hear(done, replace(done, failed="a card jammed"))
    assert isinstance(found, ShuffleFailed)
    assert str(found) == "the shuffler did not shuffle the set: a card jammed"


def test_the_shuffler_s_line_and_faults_are_no_matter_of_the_shoe() -> None:
    """Nothing that it says makes a card unread, a count doubtful or a heap of reports."""
    said: list[AnyObservation] = [closed(), JUMPED, UNREAD, CUT, EMPTIED, LOADED, STARTED, fault(), card("P1", "8S")]
    watching = dealing(of("A7", delivery(*DECK)))
    before = watching.state
    assert watching.hear(*(replace(each, device=Device.SHUFFLER) for each in said)) == []
    assert watching.state == before


def test_a_set_s_order_is_in_the_state_once() -> None:
    """It is written with every commit."""
    shoe = [*Card] * 8
    watching = Watching(WatchSettings(LIMIT_MS))
    watching.hear(of("A7", delivery(*shoe)), loaded("A7"), of("B2", delivery(*shoe)))
    begin(watching)
    assert len(msgspec.json.encode(watching.state)) < len(shoe) + 500
