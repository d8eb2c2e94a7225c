"""The set that a shuffler delivered, and the shoe that deals it."""

from random import Random
from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding, OrderAltered, OtherSet, SetWrong, ShuffleFailed, TooMany, TooOften
from shoed.model.observations import AnyObservation, Device, SetDeliverySeen, ShuffleEnded
from shoed.watch import WatchSettings, new_shoe
from tests.observed import CUT, EMPTIED, FRAME, JUMPED, LOADED, START, STARTED, card, closed, fault
from tests.watching import LIMIT_MS, UNREAD, Watching, burnt, delivery

DECK: Final = tuple(Random(4).sample(list(Card), len(Card)))
NEXT: Final = tuple(Random(5).sample(list(Card), len(Card)))
SHORT: Final = DECK[1:]


def of(set_id: str, seen: SetDeliverySeen, unread: int = 0) -> SetDeliverySeen:
    return replace(seen, set_id=set_id, unread=unread, device=Device.SHUFFLER)


def loaded(set_id: str) -> AnyObservation:
    return replace(LOADED, set_id=set_id)


def begin(watching: Watching, *, announced: bool = False, whole: bool = True) -> None:
    """The table starts a shoe, by a command or by the last observation."""
    watching.state = new_shoe(watching.state, announced=announced, whole=whole)


def watching_one_deck() -> Watching:
    return Watching(WatchSettings(LIMIT_MS, decks=1))


def dealing(*delivered: AnyObservation) -> Watching:
    """Return a shoe that began with these observations."""
    watching = watching_one_deck()
    watching.hear(*delivered, loaded("A7"))
    begin(watching)
    return watching


# --- counts


def test_a_card_that_the_shuffler_counted_less_often_comes_too_often() -> None:
    """The decks have one such card, the set has none."""
    watching = dealing(of("A7", delivery(*SHORT, ordered=False)))
    (found,) = watching.hear(burnt(DECK[0]))
    assert isinstance(found, TooOften)
    assert (found.times, found.decks, found.delivered) == (1, 1, 0)
    assert str(found).startswith(f"{DECK[0]} was reported 1 times from a set with 0 by the shuffler's count")


def test_a_card_that_the_shuffler_counted_more_often_is_compared_with_the_decks() -> None:
    """The delivery already made a finding about the set; the decks still have one such card."""
    watching = dealing(of("A7", delivery(*DECK, Card.S8, ordered=False)))
    (found,) = watching.hear(burnt(Card.S8), burnt(Card.S8))
    assert isinstance(found, TooOften)
    assert found.delivered is None


def test_a_set_has_no_more_cards_than_were_delivered() -> None:
    """Cards that could not be recognised are included."""
    watching = dealing(of("A7", delivery(*SHORT[1:], ordered=False), unread=1))
    found = watching.hear(*map(burnt, DECK[:51]), card("P1", "?"))
    assert [each.whole for each in found if isinstance(each, TooMany)] == [51]


def test_an_unrecognised_card_may_have_any_face() -> None:
    """The shuffler did not count two cards: the unrecognised card may be either."""
    watching = dealing(of("A7", delivery(*DECK[2:], ordered=False), unread=1))
    assert watching.hear(*map(burnt, DECK[:2])) == []


@pytest.mark.parametrize(
    ("incoming", "wrong"),
    [
        (SHORT, None),
        (
            SHORT[:-1],
            "cards missing from the set: 1 {}; cards in excess: none; 50 cards of 51 that the shuffler delivered",
        ),
    ],
)
def test_an_empty_shoe_is_compared_with_the_delivered_set(incoming: tuple[Card, ...], wrong: str | None) -> None:
    """A card that the set never had is not missing from the shoe."""
    watching = dealing(of("A7", delivery(*SHORT, ordered=False)))
    found = watching.hear(*map(burnt, incoming), EMPTIED)
    assert [str(each).partition(" were drawn")[0] for each in found] == ([wrong.format(SHORT[-1])] if wrong else [])


def test_an_unrecognised_card_explains_an_extra_card_at_the_end() -> None:
    """One extra card may be the unrecognised card; a second one is too many."""
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
def test_unrecognised_cards_may_be_the_missing_cards(
    counted: tuple[Card, ...], unread: int, evidence: str | None
) -> None:
    """Exactly as many cards may be missing."""
    found = watching_one_deck().hear(of("A7", delivery(*counted, ordered=False), unread))
    assert [each.evidence for each in found if isinstance(each, SetWrong)] == ([evidence] if evidence else [])


# --- the identity of a set


def test_a_set_belongs_to_the_next_shoe_while_another_is_dealt() -> None:
    """A wrong set makes a finding at once. The present shoe is not compared with it, the next shoe is."""
    watching = dealing(of("A7", delivery(*DECK)))
    watching.hear(*map(burnt, DECK[:5]))
    (wrong,) = watching.hear(of("B2", delivery(*NEXT[1:])))
    assert isinstance(wrong, SetWrong)
    assert wrong.of_next_shoe
    assert watching.hear(*map(burnt, DECK[5:]), loaded("B2")) == []
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(NEXT[0]))] == [TooOften, OrderAltered]


@pytest.mark.parametrize("began", [[CUT, STARTED], [loaded("")], []])
def test_a_shoe_without_an_id_deals_the_delivered_set(began: list[AnyObservation]) -> None:
    """It begins with a start of communication, a set without an id, or only a command."""
    watching = dealing(of("A7", delivery(*DECK)))
    watching.hear(*map(burnt, DECK[:5]), of("B2", delivery(*NEXT)), *began)
    begin(watching, announced=not began)
    assert watching.hear(*map(burnt, NEXT[:9])) == []
    assert [type(each) for each in watching.hear(burnt(NEXT[20]))] == [OrderAltered]


def other(found: list[AnyFinding]) -> list[tuple[str, str]]:
    return [(each.delivered, each.loaded) for each in found if isinstance(each, OtherSet)]


def test_another_set_than_was_delivered_is_reported_with_both_ids() -> None:
    """It has no count: its cards are compared with the decks alone, and its order is unknown."""
    watching = watching_one_deck()
    found = watching.hear(of("A7", delivery(*SHORT)), loaded("B2"))
    assert other(found) == [("A7", "B2")]
    begin(watching)
    assert watching.hear(*map(burnt, NEXT)) == []


def test_another_set_than_the_coming_one_is_reported_too() -> None:
    """It may be the set that was dealt before."""
    watching = dealing(of("A7", delivery(*DECK)))
    assert other(watching.hear(*map(burnt, DECK[:5]), of("B2", delivery(*NEXT)), loaded("A7"))) == [("B2", "A7")]


@pytest.mark.parametrize(("cards", "coming"), [(0, False), (1, True), (2, True)])
def test_a_set_that_is_delivered_after_a_drawn_card_belongs_to_the_next_shoe(cards: int, coming: bool) -> None:  # noqa: FBT001
    """One card is enough: a shoe is not refilled before it is empty."""
    watching = watching_one_deck()
    watching.hear(*map(burnt, DECK[:cards]))
    (wrong,) = watching.hear(of("B2", delivery(*SHORT)))
    assert isinstance(wrong, SetWrong)
    assert wrong.of_next_shoe is coming


@pytest.mark.parametrize(("delivered", "loaded_id"), [("", "B2"), ("A7", ""), ("", "")])
def test_a_missing_id_differs_from_no_id(delivered: str, loaded_id: str) -> None:
    """There is nothing to compare."""
    watching = watching_one_deck()
    assert watching.hear(of(delivered, delivery(*DECK)), loaded(loaded_id)) == []
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(DECK[1]))] == [OrderAltered]


def test_a_set_that_is_loaded_again_keeps_its_count() -> None:
    """It does not keep its order: a person handled the cards."""
    watching = dealing(of("A7", delivery(*SHORT)))
    assert watching.hear(*map(burnt, SHORT[:5]), loaded("A7")) == []
    begin(watching)
    assert [type(each) for each in watching.hear(*map(burnt, SHORT[9:20]), burnt(DECK[0]))] == [TooOften]


def test_a_set_that_was_not_delivered_is_compared_with_the_decks() -> None:
    """The previous set has left the shoe and no longer counts."""
    watching = dealing(of("A7", delivery(*SHORT)))
    assert watching.hear(*map(burnt, SHORT), loaded("B2")) == []
    begin(watching)
    assert watching.hear(*map(burnt, DECK)) == []


def test_a_late_report_of_a_shuffler_belongs_to_the_shoe_that_deals_the_set() -> None:
    """The shuffler was absent when the set was loaded; from then on its cards are compared with the set."""
    watching = dealing()
    assert watching.hear(*map(burnt, DECK[1:4]), of("A7", delivery(*DECK))) == []
    assert watching.hear(*map(burnt, DECK[4:10])) == []
    assert [type(each) for each in watching.hear(burnt(NEXT[0]))] == [OrderAltered]


@pytest.mark.parametrize("seen", [[CUT], [of("A7", delivery(*DECK))]])
def test_the_same_set_delivered_again_belongs_to_the_next_shoe(seen: list[AnyObservation]) -> None:
    """It is delivered after the cut card, or it was delivered before: a set keeps its id from shuffle to shuffle."""
    watching = dealing(*(each for each in seen if each is not CUT))
    watching.hear(*map(burnt, DECK[:5]), *(each for each in seen if each is CUT), of("A7", delivery(*NEXT)))
    assert watching.state.sets.coming is not None
    assert watching.hear(loaded("A7")) == []
    begin(watching)
    assert watching.hear(*map(burnt, NEXT[:9])) == []


def test_after_missed_reports_a_set_is_not_known_to_be_the_delivered_one() -> None:
    """Only its id proves it."""
    watching = watching_one_deck()
    watching.hear(of("A7", delivery(*SHORT)), JUMPED, CUT, STARTED)
    assert watching.state.sets.dealt is None
    watching = watching_one_deck()
    watching.hear(of("A7", delivery(*SHORT)), JUMPED, loaded("A7"))
    begin(watching)
    assert [type(each) for each in watching.hear(burnt(DECK[0]))] == [TooOften]


# --- the shuffler itself


def test_a_failed_shuffle_is_a_finding_with_its_reason() -> None:
    """A successful shuffle is not a finding."""
    done = ShuffleEnded(at=START, frame=FRAME, device=Device.SHUFFLER)
    (found,) = Watching().hear(done, replace(done, failed="a card jammed"))
    assert isinstance(found, ShuffleFailed)
    assert str(found) == "the shuffler did not shuffle the set: a card jammed"


def test_the_line_and_the_faults_of_a_shuffler_do_not_concern_the_shoe() -> None:
    """None of its reports makes a card unread, a count doubtful or a burst of reports."""
    reports: list[AnyObservation] = [closed(), JUMPED, UNREAD, CUT, EMPTIED, LOADED, STARTED, fault(), card("P1", "8S")]
    watching = dealing(of("A7", delivery(*DECK)))
    before = watching.state
    assert watching.hear(*(replace(each, device=Device.SHUFFLER) for each in reports)) == []
    assert watching.state == before


def test_the_order_of_a_set_is_in_the_state_once() -> None:
    """Every commit writes the state."""
    shoe = [*Card] * 8
    watching = Watching(WatchSettings(LIMIT_MS))
    watching.hear(of("A7", delivery(*shoe)), loaded("A7"), of("B2", delivery(*shoe)))
    begin(watching)
    assert len(msgspec.json.encode(watching.state)) < len(shoe) + 500
