"""What a shuffler tells of sets and of itself: the world hears it, and the round at the table goes on."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import StartShoe
from shoed.device_events import (
    DeviceChanged,
    DeviceCleared,
    DeviceFault,
    DeviceIdentified,
    DeviceLocked,
    DeviceOffline,
    DeviceOnline,
    DeviceQuiet,
    DeviceUnlocked,
    LineClashed,
    LineMissed,
    LineRejected,
    OfDevice,
    SetDelivered,
    SetFailed,
    SetRecognised,
    SetShuffled,
    SetShuffling,
)
from shoed.engine import ENGINE
from shoed.events import CardDrawn, IrregularityNoticed, RoundStarted, RoundSuspended, ShoeStarted
from shoed.findings import OtherSet, SetWrong, ShuffleFailed
from shoed.observations import AnyObservation, Device, Identified, ShuffleEnded, ShuffleStarted
from shoed.observations import SetDelivered as Delivered
from shoed.observations import SetRecognised as Recognised
from shoed.step import Configured
from shoed.table.matters import Status
from shoed.table.sets import MOST_SETS
from tests.observed import (
    AGAIN,
    CLASHED,
    CLEARED,
    CUT,
    EMPTIED,
    FRAME,
    JUMPED,
    LOADED,
    OPENED,
    PORT,
    PRESET,
    QUIET,
    SHUFFLER_PORT,
    START,
    STARTED,
    UNPROVEN,
    Sitting,
    card,
    cards,
    closed,
    dealt,
    fault,
    kinds,
    lock,
    rejected,
    result,
)

WHOLE: Final = dict.fromkeys(Card, 8)
FAILED: Final = ShuffleEnded(at=START, frame=FRAME, failed="a card jammed")
SHUFFLED: Final = ShuffleEnded(at=START, frame=FRAME)
DELIVERED: Final = Delivered(at=START, frame=FRAME, counts=WHOLE, set_id="A7")
JAMMED: Final = ShuffleFailed(at=START, reason="a card jammed")
SHORT: Final = SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416", coming=True)


def by_shuffler(seen: AnyObservation) -> AnyObservation:
    return replace(seen, device=Device.SHUFFLER)


def all_by_shuffler(*seen: AnyObservation) -> list[AnyObservation]:
    return [by_shuffler(each) for each in seen]


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (Recognised(at=START, frame=FRAME, set_id="A7"), SetRecognised(set_id="A7")),
        (Recognised(at=START, frame=FRAME, set_id=""), SetRecognised(set_id=None)),
        (ShuffleStarted(at=START, frame=FRAME), SetShuffling()),
        (SHUFFLED, SetShuffled()),
        (FAILED, SetFailed(reason="a card jammed")),
        (replace(FAILED, set_id="A"), SetFailed(reason="a card jammed", set_id="A")),
        (ShuffleStarted(at=START, frame=FRAME, set_id="A"), SetShuffling(set_id="A")),
        (replace(SHUFFLED, set_id="A"), SetShuffled(set_id="A")),
        (DELIVERED, SetDelivered(set_id="A7", cards=416, missing={}, extra={}, unread=0)),
        (
            replace(DELIVERED, set_id="", counts=WHOLE | {Card.S8: 6, Card.H2: 9}, unread=1),
            SetDelivered(set_id=None, cards=416, missing={Card.S8: 2}, extra={Card.H2: 1}, unread=1),
        ),
    ],
)
def test_what_a_shuffler_says_of_a_set_is_told(seen: AnyObservation, told: object) -> None:
    """An id that it does not tell is null."""
    assert Sitting().hear(by_shuffler(seen)) == [told]


def test_a_set_is_held_against_the_decks_of_the_table() -> None:
    """Six, where it has six."""
    table = Sitting()
    table.settings = msgspec.structs.replace(table.settings, decks=6)
    (told,) = table.hear(by_shuffler(replace(DELIVERED, counts=dict.fromkeys(Card, 6))))
    assert told == SetDelivered(set_id="A7", cards=312, missing={}, extra={}, unread=0)


def test_both_devices_are_told_of_and_shown() -> None:
    """Each by its own name, port and state; the shuffler only once something was heard of it."""
    table = Sitting()
    assert table.hear(OPENED) == [DeviceOnline(port=PORT)]
    assert table.shown.shuffler is None
    table.hear_each(all_by_shuffler(OPENED, QUIET, AGAIN))
    assert [event.data for event in table.told[1:]] == [
        DeviceOnline(device=Device.SHUFFLER, port=SHUFFLER_PORT),
        DeviceQuiet(device=Device.SHUFFLER, port=SHUFFLER_PORT, since="2023-11-14T22:13:20.000000Z"),
        DeviceOnline(device=Device.SHUFFLER, port=SHUFFLER_PORT),
    ]
    who = Identified(at=START, frame=FRAME, vendor="V", model="M", serial="1", firmware="2.0", protocol="2")
    assert table.hear_each(all_by_shuffler(who, fault(5, "door-open"), lock(locked=True), JUMPED)) == [
        DeviceIdentified(device=Device.SHUFFLER, vendor="V", model="M", serial="1", firmware="2.0", protocol="2"),
        DeviceFault(device=Device.SHUFFLER, code=5, name="door-open", blocking=True),
        DeviceLocked(device=Device.SHUFFLER),
        LineMissed(device=Device.SHUFFLER, expected="2", seen="4"),
    ]
    assert table.hear(who) == [
        DeviceIdentified(vendor="V", model="M", serial="1", firmware="2.0", protocol="2"),
    ]
    shown = table.shown
    assert (shown.device.link.value, shown.device.fault, shown.device.locked) == ("online", None, False)
    assert shown.shuffler is not None
    assert shown.shuffler.fault is not None
    assert (shown.shuffler.link.value, shown.shuffler.fault.name, shown.shuffler.locked) == (
        "online",
        "door-open",
        True,
    )
    assert table.hear(by_shuffler(closed())) == [
        DeviceOffline(device=Device.SHUFFLER, port=SHUFFLER_PORT, reason="the cable is out")
    ]
    assert table.shown.device == shown.device


def test_what_is_told_of_the_line_of_the_shuffler_names_it() -> None:
    """Also what seldom happens."""
    table = Sitting()
    seldom: list[AnyObservation] = [CLASHED, CLEARED, PRESET, lock(locked=False), rejected(), rejected()]
    told = [*table.hear_each(all_by_shuffler(*seldom)), *table.hear(after_s=11)]
    assert kinds(told) == [LineClashed, DeviceCleared, DeviceChanged, DeviceUnlocked, LineRejected, LineRejected]
    assert {each.device for each in told if isinstance(each, OfDevice)} == {Device.SHUFFLER}


def test_a_table_that_has_no_shuffler_any_more_shows_none() -> None:
    """From the new configuration on; until then it is shown as it was."""
    table = Sitting()
    table.hear(by_shuffler(OPENED))
    table.step(came=Configured("{}", ENGINE, "1"))
    assert table.shown.shuffler is not None
    table.settings = msgspec.structs.replace(table.settings, shuffler_port=None)
    table.step(came=Configured("{}", ENGINE, "1"))
    assert table.shown.shuffler is None


def test_what_only_a_shoe_can_say_is_nothing_from_a_shuffler() -> None:
    """No card, result, cut or shoe of it is told, and the round goes on."""
    table = Sitting()
    table.hear(*cards("P1 8S, B1 3H"))
    said: list[AnyObservation] = [card("P2", "KS"), result("player"), CUT, STARTED, LOADED, EMPTIED]
    assert table.hear_each(all_by_shuffler(*said)) == []
    assert kinds(table.hear(*cards("P2 KS"))) == [CardDrawn]


def test_a_shuffler_whose_reports_were_missed_makes_no_round_partial() -> None:
    """Its line is not the shoe's."""
    table = Sitting()
    table.hear(*dealt("8S KS", "3H 4H")[:2])
    table.hear_each(all_by_shuffler(closed(), OPENED, UNPROVEN, JUMPED))
    table.hear(*dealt("8S KS", "3H 4H")[2:])
    assert table.shown.last_round is not None
    assert table.shown.last_round.integrity == "complete"


def shoe_two(table: Sitting) -> list[str]:
    """The kinds of what is noticed when the next shoe begins, and what its first question is about."""
    told = table.hear(LOADED)
    assert kinds(told) == [ShoeStarted]
    noticed = [event.data for event in table.told if isinstance(event.data, IrregularityNoticed)]
    return [each.kind for each in noticed if each.shoe == 2]


def playing() -> Sitting:
    """A table whose first shoe has had a round."""
    table = Sitting()
    table.hear(*dealt("8S KS", "3H 4H"), result("player"))
    return table


def test_a_failed_shuffle_waits_for_the_next_shoe() -> None:
    """The present one goes on; the next has no round before somebody said so."""
    table = playing()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    assert kinds(table.hear(*cards("P1 8S"))) == [RoundStarted, CardDrawn]
    table.hear(*dealt("8S KS", "3H 4H")[1:])
    assert shoe_two(table) == ["not-shuffled"]
    assert table.asks("next-round", "go-on")
    assert kinds(table.hear(*cards("P1 2D")))[-1] is RoundSuspended
    table.answer("go-on")
    assert table.lies == "2D /"


def test_a_shuffle_that_is_done_after_all_is_asked_nothing() -> None:
    """What the shuffler says last of it stands."""
    table = playing()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    table.step(by_shuffler(DELIVERED), found=[SHORT])
    table.step(by_shuffler(SHUFFLED))
    assert shoe_two(table) == ["deck-count"]


def test_an_inventory_that_is_right_after_all_is_asked_nothing() -> None:
    """Nor is the shuffle that failed forgotten for it."""
    table = playing()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    table.step(by_shuffler(DELIVERED), found=[SHORT])
    table.step(by_shuffler(DELIVERED))
    assert shoe_two(table) == ["not-shuffled"]


def test_all_that_is_wrong_with_a_set_is_asked_once_each() -> None:
    """In the order in which it was told last; and not again of the shoe behind it."""
    table = playing()
    for seen, found in ((FAILED, JAMMED), (DELIVERED, SHORT), (FAILED, replace(JAMMED, reason="once more"))):
        table.step(by_shuffler(seen), found=[found])
    assert shoe_two(table) == ["deck-count", "not-shuffled"]
    table.answer("go-on")
    assert table.question.evidence == ("the shuffler did not shuffle the set: once more",)
    table.answer("go-on")
    assert kinds(table.tell(StartShoe())) == [ShoeStarted]


def test_a_wrong_set_that_is_in_the_shoe_already_suspends_the_round() -> None:
    """Its count came late, or it is another set than was delivered: a person confirms it."""
    for found in (replace(SHORT, coming=False), OtherSet(at=START, delivered="A7", loaded="B2")):
        table = Sitting()
        table.hear(*cards("P1 8S, B1 3H"))
        table.step(by_shuffler(DELIVERED), found=[found])
        assert table.phase == "suspended"
        assert table.asks("confirm", "yes", "no")


# --- a shuffler with two chambers


def failed_in(table: Sitting, *names: str) -> None:
    for name in names:
        table.step(by_shuffler(replace(FAILED, set_id=name)), found=[replace(JAMMED, set_id=name)])


def loaded_with(table: Sitting, name: str) -> list[str]:
    """The kinds of what is noticed about this shoe."""
    before = len(table.told)
    table.hear(replace(LOADED, set_id=name))
    return [event.data.kind for event in table.told[before:] if isinstance(event.data, IrregularityNoticed)]


def test_a_set_that_is_shuffled_says_nothing_of_the_other() -> None:
    """A fails and B does not: A is asked about all the same, with its name."""
    table = playing()
    failed_in(table, "A")
    table.step(by_shuffler(replace(SHUFFLED, set_id="B")))
    assert loaded_with(table, "A") == ["not-shuffled"]
    assert table.question.evidence == ("the shuffler did not shuffle the set A: a card jammed",)


def test_a_set_that_failed_and_succeeds_is_asked_nothing() -> None:
    """By its own name; the other one, which failed, waits for its own shoe."""
    table = playing()
    failed_in(table, "A", "B")
    table.step(by_shuffler(replace(SHUFFLED, set_id="A")))
    assert loaded_with(table, "A") == []
    assert loaded_with(table, "B") == ["not-shuffled"]


def test_a_set_that_failed_holds_the_shoe_that_deals_it_and_no_other() -> None:
    """It waits over rounds and shoes, and is asked about once."""
    table = playing()
    failed_in(table, "A")
    assert loaded_with(table, "B") == []
    table.hear(*dealt("8S KS", "3H 4H"), result("player"))
    assert loaded_with(table, "C") == []
    assert loaded_with(table, "A") == ["not-shuffled"]
    table.answer("go-on")
    assert loaded_with(table, "A") == []


@pytest.mark.parametrize("loaded", ["", "A"])
@pytest.mark.parametrize("failed", ["", "A"])
def test_a_set_without_a_name_may_be_the_one_that_failed(failed: str, loaded: str) -> None:
    """A person says so."""
    table = playing()
    failed_in(table, failed)
    assert loaded_with(table, loaded) == ["not-shuffled"]


def test_sets_that_fail_and_never_come_do_not_grow_the_state() -> None:
    """The last few wait."""
    table = playing()
    names = [f"set {number}" for number in range(3 * MOST_SETS)]
    failed_in(table, *names)
    found = [each.set_id for each in table.state.record.having(Status.LATENT)]
    assert found == names[-MOST_SETS:]
