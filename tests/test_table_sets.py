"""Reports of a shuffler about sets and about itself: they are published, and the round continues."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.engine import ENGINE
from shoed.model.cards import Card
from shoed.model.commands import StartShoe
from shoed.model.device_events import (
    DeviceChanged,
    DeviceCleared,
    DeviceEvent,
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
    SetDelivered,
    SetFailed,
    SetRecognised,
    SetShuffled,
    SetShuffling,
)
from shoed.model.events import CardDrawn, IrregularityNoticed, RoundStarted, RoundSuspended, ShoeStarted
from shoed.model.findings import OtherSet, SetWrong, ShuffleFailed
from shoed.model.observations import AnyObservation, Device, Identified, ShuffleEnded, ShuffleStarted
from shoed.model.observations import SetDeliverySeen as Delivered
from shoed.model.observations import SetRecognitionSeen as Recognised
from shoed.model.step import Configured
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
    TableRun,
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
SHORT: Final = SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416", of_next_shoe=True)


def by_shuffler(seen: AnyObservation) -> AnyObservation:
    return replace(seen, device=Device.SHUFFLER)


def all_by_shuffler(*seen: AnyObservation) -> list[AnyObservation]:
    return [by_shuffler(each) for each in seen]


@pytest.mark.parametrize(
    ("seen", "published"),
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
def test_each_report_of_a_shuffler_about_a_set_is_published(seen: AnyObservation, published: object) -> None:
    """A missing id is null."""
    assert TableRun().hear(by_shuffler(seen)) == [published]


def test_a_set_is_compared_with_the_decks_of_the_table() -> None:
    """The table has six decks."""
    table = TableRun()
    table.settings = msgspec.structs.replace(table.settings, decks=6)
    (published,) = table.hear(by_shuffler(replace(DELIVERED, counts=dict.fromkeys(Card, 6))))
    assert published == SetDelivered(set_id="A7", cards=312, missing={}, extra={}, unread=0)


def test_both_devices_are_published_and_shown() -> None:
    """Each has its own name, port and state; the shuffler is shown after its first report."""
    table = TableRun()
    assert table.hear(OPENED) == [DeviceOnline(port=PORT)]
    assert table.shown.shuffler is None
    table.hear_each(all_by_shuffler(OPENED, QUIET, AGAIN))
    assert [event.data for event in table.events[1:]] == [
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


def test_the_line_events_of_the_shuffler_name_the_shuffler() -> None:
    """The rare events are covered as well."""
    table = TableRun()
    rare: list[AnyObservation] = [CLASHED, CLEARED, PRESET, lock(locked=False), rejected(), rejected()]
    published = [*table.hear_each(all_by_shuffler(*rare)), *table.hear(after_s=11)]
    assert kinds(published) == [LineClashed, DeviceCleared, DeviceChanged, DeviceUnlocked, LineRejected, LineRejected]
    assert {each.device for each in published if isinstance(each, DeviceEvent)} == {Device.SHUFFLER}


def test_a_table_without_a_shuffler_shows_no_shuffler() -> None:
    """The new configuration removes it."""
    table = TableRun()
    table.hear(by_shuffler(OPENED))
    table.step(incoming=Configured("{}", ENGINE, "1"))
    assert table.shown.shuffler is not None
    table.settings = msgspec.structs.replace(table.settings, shuffler_port=None)
    table.step(incoming=Configured("{}", ENGINE, "1"))
    assert table.shown.shuffler is None


def test_reports_of_a_shoe_are_ignored_from_a_shuffler() -> None:
    """No card, result, cut or shoe is published, and the round continues."""
    table = TableRun()
    table.hear(*cards("P1 8S, B1 3H"))
    of_a_shoe: list[AnyObservation] = [card("P2", "KS"), result("player"), CUT, STARTED, LOADED, EMPTIED]
    assert table.hear_each(all_by_shuffler(*of_a_shoe)) == []
    assert kinds(table.hear(*cards("P2 KS"))) == [CardDrawn]


def test_missed_reports_of_a_shuffler_leave_the_round_complete() -> None:
    """The shuffler has its own line."""
    table = TableRun()
    table.hear(*dealt("8S KS", "3H 4H")[:2])
    table.hear_each(all_by_shuffler(closed(), OPENED, UNPROVEN, JUMPED))
    table.hear(*dealt("8S KS", "3H 4H")[2:])
    assert table.shown.last_round is not None
    assert table.shown.last_round.integrity == "complete"


def noticed_in_the_next_shoe(table: TableRun) -> list[str]:
    """The kinds of the irregularities that are noticed when the next shoe begins."""
    published = table.hear(LOADED)
    assert kinds(published) == [ShoeStarted]
    noticed = [event.data for event in table.events if isinstance(event.data, IrregularityNoticed)]
    return [each.kind for each in noticed if each.shoe == 2]


def after_one_round() -> TableRun:
    """A table after the first round of its first shoe."""
    table = TableRun()
    table.hear(*dealt("8S KS", "3H 4H"), result("player"))
    return table


def test_a_failed_shuffle_makes_the_first_round_of_the_next_shoe_wait() -> None:
    """The current shoe continues."""
    table = after_one_round()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    assert kinds(table.hear(*cards("P1 8S"))) == [RoundStarted, CardDrawn]
    table.hear(*dealt("8S KS", "3H 4H")[1:])
    assert noticed_in_the_next_shoe(table) == ["not-shuffled"]
    assert table.asks("next-round", "go-on")
    assert kinds(table.hear(*cards("P1 2D")))[-1] is RoundSuspended
    table.answer("go-on")
    assert table.hands == "2D /"


def test_a_later_successful_shuffle_ends_the_matter() -> None:
    """The last report of the shuffler is valid."""
    table = after_one_round()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    table.step(by_shuffler(DELIVERED), found=[SHORT])
    table.step(by_shuffler(SHUFFLED))
    assert noticed_in_the_next_shoe(table) == ["deck-count"]


def test_a_later_correct_inventory_ends_the_matter() -> None:
    """The failed shuffle remains a matter."""
    table = after_one_round()
    table.step(by_shuffler(FAILED), found=[JAMMED])
    table.step(by_shuffler(DELIVERED), found=[SHORT])
    table.step(by_shuffler(DELIVERED))
    assert noticed_in_the_next_shoe(table) == ["not-shuffled"]


def test_each_matter_of_a_set_is_asked_once() -> None:
    """The order is the order of the last reports, and the next shoe does not repeat them."""
    table = after_one_round()
    for seen, found in ((FAILED, JAMMED), (DELIVERED, SHORT), (FAILED, replace(JAMMED, reason="once more"))):
        table.step(by_shuffler(seen), found=[found])
    assert noticed_in_the_next_shoe(table) == ["deck-count", "not-shuffled"]
    table.answer("go-on")
    assert table.question.evidence == ("the shuffler did not shuffle the set: once more",)
    table.answer("go-on")
    assert kinds(table.tell(StartShoe())) == [ShoeStarted]


def test_a_wrong_set_in_the_shoe_suspends_the_round() -> None:
    """The count is reported late, or the set is not the delivered one; a person confirms it."""
    for found in (replace(SHORT, of_next_shoe=False), OtherSet(at=START, delivered="A7", loaded="B2")):
        table = TableRun()
        table.hear(*cards("P1 8S, B1 3H"))
        table.step(by_shuffler(DELIVERED), found=[found])
        assert table.phase == "suspended"
        assert table.asks("confirm", "yes", "no")


# --- a shuffler with two chambers


def failed_in(table: TableRun, *names: str) -> None:
    for name in names:
        table.step(by_shuffler(replace(FAILED, set_id=name)), found=[replace(JAMMED, set_id=name)])


def loaded_with(table: TableRun, name: str) -> list[str]:
    """The kinds of the irregularities that are noticed in this shoe."""
    before = len(table.events)
    table.hear(replace(LOADED, set_id=name))
    return [event.data.kind for event in table.events[before:] if isinstance(event.data, IrregularityNoticed)]


def test_a_shuffled_set_does_not_affect_the_other_set() -> None:
    """A fails and B succeeds: the question names A."""
    table = after_one_round()
    failed_in(table, "A")
    table.step(by_shuffler(replace(SHUFFLED, set_id="B")))
    assert loaded_with(table, "A") == ["not-shuffled"]
    assert table.question.evidence == ("the shuffler did not shuffle the set A: a card jammed",)


def test_a_set_that_fails_and_then_succeeds_asks_no_question() -> None:
    """The other failed set waits for its own shoe."""
    table = after_one_round()
    failed_in(table, "A", "B")
    table.step(by_shuffler(replace(SHUFFLED, set_id="A")))
    assert loaded_with(table, "A") == []
    assert loaded_with(table, "B") == ["not-shuffled"]


def test_a_failed_set_suspends_only_the_shoe_that_deals_it() -> None:
    """The matter waits over rounds and shoes, and is asked once."""
    table = after_one_round()
    failed_in(table, "A")
    assert loaded_with(table, "B") == []
    table.hear(*dealt("8S KS", "3H 4H"), result("player"))
    assert loaded_with(table, "C") == []
    assert loaded_with(table, "A") == ["not-shuffled"]
    table.answer("go-on")
    assert loaded_with(table, "A") == []


@pytest.mark.parametrize("loaded", ["", "A"])
@pytest.mark.parametrize("failed", ["", "A"])
def test_a_set_without_an_id_may_be_the_failed_set(failed: str, loaded: str) -> None:
    """A person decides."""
    table = after_one_round()
    failed_in(table, failed)
    assert loaded_with(table, loaded) == ["not-shuffled"]


def test_the_number_of_failed_sets_is_bounded() -> None:
    """Only the last sets wait."""
    table = after_one_round()
    names = [f"set {number}" for number in range(3 * MOST_SETS)]
    failed_in(table, *names)
    found = [each.set_id for each in table.state.record.having(Status.LATENT)]
    assert found == names[-MOST_SETS:]
