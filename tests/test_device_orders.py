"""Device orders through the whole engine: a command becomes an order, and the answer of the device an event."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest

from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.family import Settings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.scanner import ScannerSettings
from shoed.commands import Answer, AnyCommand, Author, ClearFault, LockDevice, UnlockDevice
from shoed.device_events import DeviceOrderAnswered, OrderResult
from shoed.engine import Engine, EngineState
from shoed.events import Event
from shoed.observations import AnyObservation, Device
from shoed.session import SessionState
from shoed.session.asking import NOT_ALLOWED
from shoed.session.families import DRIVERS
from shoed.step import (
    AnyInput,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Send,
    Step,
    Told,
    Woken,
)
from shoed.table import TableSettings
from shoed.watch import WatchSettings
from shoed.words import OverdrawnCard, Role
from tests import shuffler
from tests.angel_eye_line import ACK, CONFIGURED, PORT, at, report

LOCK_FRAME: Final = bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")
NAK: Final = b"\x1521"
PRESET: Final = bytes.fromhex("05 31 4D 30 31 30 30 30 35 03 37 42")
LOCKED: Final = report("1", "L", 0x01)
UNLOCKED: Final = report("2", "L", 0x00)
UNREAD, OVERDRAW = (report("1", "E", 0x40 | code) for code in (1, 2))
UNREAD_CLEARED, OVERDRAW_CLEARED = (report("2", "e", code) for code in (1, 2))
DEALER, SUPERVISOR = Author("ann", Role.DEALER), Author("bob", Role.PIT_SUPERVISOR)
USE: Final = ClearFault(card=OverdrawnCard.USE)


class Desk:
    """One table and its clock; between any two inputs the state goes through JSON, as a checkpoint does."""

    def __init__(
        self,
        family: str = "angel-eye",
        settings: Settings | None = None,
        *,
        allow_orders: bool = True,
        shuffled: bool = False,
    ) -> None:
        driver = DRIVERS[family]
        session = driver.session(settings or driver.family.settings(), allow_orders=allow_orders)
        table = TableSettings("commission", PORT, shuffler_port=shuffler.PORT if shuffled else None)
        self.engine = Engine(session, WatchSettings(250), table, shuffler.shuffler() if shuffled else None)
        self.state: EngineState[SessionState] = self.engine.begin()
        self.steps: list[Step] = []
        self.ms = 0.0
        self.take(CONFIGURED, LinkUp(PORT))

    def take(self, *several: AnyInput, ms: float | None = None) -> list[Event]:
        self.ms = self.ms + 10 if ms is None else ms
        told = []
        for came in several:
            self.state = self.engine.restore(msgspec.json.encode(self.state).decode())
            self.state, step = self.engine.step(self.state, came, at(self.ms))
            self.steps += [] if step is None else [step]
            told += [] if step is None else list(step.events)
        return told

    def tell(self, command: AnyCommand, by: Author = DEALER, ms: float | None = None) -> Answer:
        self.take(Told(command, by, str(len(self.steps))), ms=ms)
        (answer,) = self.steps[-1].answers
        return answer

    def hear(self, data: bytes, ms: float | None = None) -> list[tuple[str, str, str]]:
        return results(self.take(Received(data), ms=ms))

    @property
    def sent(self) -> tuple[Send, ...]:
        return self.steps[-1].sends


def results(told: Sequence[Event]) -> list[tuple[str, str, str]]:
    """Order, result and detail of each answer among these events."""
    answers = [event.data for event in told if isinstance(event.data, DeviceOrderAnswered)]
    return [(each.order, each.result.value, each.detail) for each in answers]


def asked(command: AnyCommand | None = None) -> Desk:
    desk = Desk()
    assert desk.tell(command or LockDevice()).accepted
    return desk


# --- the direct answer, and the report


def test_an_accepted_command_sends_its_order_in_the_same_step() -> None:
    """The answer says only that the order was sent; no event precedes the answer of the device."""
    step = asked().steps[-1]
    assert step.sends == (Send(Device.SHOE, LOCK_FRAME),)
    assert step.orders == (DeviceOrder(DeviceOrderKind.LOCK),)
    assert step.answers == (Answer(step.answers[0].id, accepted=True),)
    assert (step.observations, step.events, step.urgent) == ((), (), True)


def test_the_event_names_the_author_of_the_command() -> None:
    """With device, order, result and role."""
    (event,) = asked().take(Received(ACK))
    assert event.type == "device.order-answered"
    assert msgspec.to_builtins(event.data) == {
        "device": "shoe",
        "order": "lock",
        "card": None,
        "result": "acknowledged",
        "detail": "",
        "author": "ann",
        "role": "dealer",
    }


def test_a_report_that_shows_the_effect_follows_the_direct_answer() -> None:
    """Once, behind the event of the report itself."""
    desk = asked()
    assert desk.hear(ACK) == [("lock", "acknowledged", "")]
    told = desk.take(Received(LOCKED))
    assert [event.type for event in told] == ["device.locked", "device.order-answered"]
    assert results(told) == [("lock", "reported", "")]
    assert desk.hear(UNLOCKED + report("3", "L", 0x01)) == []


def test_the_report_may_precede_the_direct_answer() -> None:
    """Each is one event, in the sequence of their arrival."""
    desk = asked()
    assert desk.hear(LOCKED) == [("lock", "reported", "")]
    assert desk.hear(UNLOCKED + report("3", "L", 0x01)) == []
    assert desk.hear(ACK) == [("lock", "acknowledged", "")]
    assert desk.hear(report("4", "L", 0x01)) == []


def test_a_report_of_something_else_is_not_the_effect() -> None:
    """Unlocked after lock, locked after unlock, the clearing of another fault, and a changed preset."""
    assert asked().hear(ACK + PRESET) == [("lock", "acknowledged", "")]
    assert asked().hear(ACK + report("1", "L", 0x00)) == [("lock", "acknowledged", "")]
    assert asked(UnlockDevice()).hear(ACK + LOCKED) == [("unlock", "acknowledged", "")]
    desk = Desk()
    desk.hear(UNREAD)
    desk.tell(ClearFault())
    assert desk.hear(ACK + OVERDRAW_CLEARED) == [("clear-fault", "acknowledged", "")]


def test_a_refusal_has_the_code_in_words_and_ends_the_order() -> None:
    """A lock by the key after it is the work of a person."""
    desk = asked()
    assert desk.hear(NAK) == [("lock", "refused", "21: busy")]
    assert desk.hear(LOCKED) == []


@pytest.mark.parametrize(("later_ms", "reported"), [(10_000, True), (10_001, False)])
def test_a_silent_device_may_report_the_effect_for_ten_seconds(later_ms: int, reported: bool) -> None:  # noqa: FBT001
    """Its answer may be lost; a report after that time is the work of a person."""
    desk = asked()
    silent_ms = desk.ms + 3000
    told = desk.take(Woken(), ms=silent_ms)
    assert results(told) == [("lock", "silent", "no answer in time")]
    expected = [("lock", "reported", "")] if reported else []
    assert desk.hear(LOCKED, silent_ms + later_ms) == expected


@pytest.mark.parametrize("end", [LinkDown("lost"), CONFIGURED])
def test_a_link_that_closes_leaves_the_order_silent(end: AnyInput) -> None:
    """Also if the daemon was restarted; the report after it still counts."""
    desk = asked()
    assert results(desk.take(end)) == [("lock", "silent", "the link closed")]
    desk.take(LinkUp(PORT))
    assert desk.hear(LOCKED) == [("lock", "reported", "")]


def test_an_order_is_lost_with_the_device_that_was_replaced() -> None:
    """Another family has another session, which knows nothing of the order."""
    desk, other = asked(), Desk("bee-tek")
    other.state = other.engine.suited(desk.state)
    told = other.take(CONFIGURED, LinkUp(PORT))
    assert results(told) == [("lock", "silent", "the device was replaced")]
    assert results(other.take(LinkDown("lost"), LinkUp(PORT))) == []


def test_answers_to_another_host_are_not_published() -> None:
    """They are on record: before an order, and after its answer."""
    desk = Desk()
    assert desk.hear(ACK) == []
    desk.tell(LockDevice())
    assert desk.hear(ACK + NAK + ACK) == [("lock", "acknowledged", "")]


# --- clear-fault


@pytest.mark.parametrize(
    ("raised", "command", "number", "cleared"),
    [
        (b"", ClearFault(), "30 30 03 31 38", UNREAD_CLEARED),
        (UNREAD, ClearFault(), "30 30 03 31 38", UNREAD_CLEARED),
        (OVERDRAW, USE, "30 31 03 31 39", OVERDRAW_CLEARED),
        (OVERDRAW, ClearFault(card=OverdrawnCard.DISCARD), "30 32 03 31 41", OVERDRAW_CLEARED),
    ],
)
def test_a_fault_is_cleared_by_the_number_of_its_kind(
    raised: bytes, command: ClearFault, number: str, cleared: bytes
) -> None:
    """00 for an unknown fault too; the decision about the card of an overdraw is in the event."""
    desk = Desk()
    desk.hear(raised)
    assert desk.tell(command, SUPERVISOR).accepted
    assert desk.sent == (Send(Device.SHOE, bytes.fromhex("02 4F 50 45 43" + number)),)
    told = desk.take(Received(ACK + cleared))
    assert results(told) == [("clear-fault", "acknowledged", ""), ("clear-fault", "reported", "")]
    assert {event.data.card for event in told if isinstance(event.data, DeviceOrderAnswered)} == {command.card}


@pytest.mark.parametrize(
    ("raised", "command", "by", "refusal"),
    [
        (
            OVERDRAW,
            ClearFault(),
            SUPERVISOR,
            "shoe: the fault is an overdraw, and its card is undecided; add card=use or card=discard",
        ),
        (
            UNREAD,
            USE,
            SUPERVISOR,
            "shoe: the fault is cannot-read, and only the card of an overdraw is used or discarded; leave card out",
        ),
        (
            b"",
            USE,
            SUPERVISOR,
            "shoe: no fault is known, and only the card of an overdraw is used or discarded; leave card out",
        ),
        (
            OVERDRAW + OVERDRAW_CLEARED,
            USE,
            SUPERVISOR,
            "shoe: no fault is known, and only the card of an overdraw is used or discarded; leave card out",
        ),
        (
            OVERDRAW,
            USE,
            DEALER,
            "shoe: dealer may not decide about the card of an overdraw; a pit-supervisor or above may",
        ),
        (b"", LockDevice(device=Device.SHUFFLER), DEALER, "shuffler: this table has none; leave device out, or write"),
        (b"", LockDevice(), Author("sue", None), "a player tells the house"),
    ],
)
def test_a_command_that_is_not_an_order_is_refused(
    raised: bytes, command: AnyCommand, by: Author, refusal: str
) -> None:
    """Nothing is sent, nothing is published, and the next order is free."""
    desk = Desk()
    desk.hear(raised)
    answer = desk.tell(command, by)
    assert not answer.accepted
    assert answer.detail.startswith(refusal)
    step = desk.steps[-1]
    assert (step.sends, step.orders, step.observations, step.events) == ((), (), (), ())
    assert desk.tell(LockDevice()).accepted


# --- what the session refuses


def test_without_allow_orders_nothing_is_sent() -> None:
    """The message says what to change."""
    desk = Desk(allow_orders=False)
    answer = desk.tell(LockDevice())
    assert (answer.accepted, answer.detail, desk.sent) == (False, f"shoe: {NOT_ALLOWED}", ())
    assert "set allow_orders = true" in answer.detail
    assert desk.hear(ACK) == []


def test_a_closed_link_refuses_orders() -> None:
    """Until it is open again."""
    desk = Desk()
    desk.take(LinkDown("lost"))
    answer = desk.tell(LockDevice())
    assert answer.detail == "shoe: the link is closed; connect the device, then repeat the order"
    desk.take(LinkUp(PORT))
    assert desk.tell(LockDevice()).accepted


def test_one_order_at_a_time() -> None:
    """A second order is refused while the first waits, and does not take its answer."""
    desk = asked()
    answer = desk.tell(UnlockDevice(), SUPERVISOR)
    assert answer.detail == "shoe: the order lock still waits for its answer; repeat this order after it"
    assert desk.hear(ACK) == [("lock", "acknowledged", "")]
    assert desk.tell(UnlockDevice()).accepted


def test_an_order_that_is_given_twice_is_answered_once() -> None:
    """The second one is refused before it is sent, and the first one waits on."""
    desk = asked()
    assert desk.tell(LockDevice()).detail.startswith("shoe: the order lock still waits for its answer")
    assert desk.steps[-1].events == ()
    assert desk.hear(ACK) == [("lock", "acknowledged", "")]


@pytest.mark.parametrize(
    ("family", "settings", "detail"),
    [
        ("bee-tek", BeeTekSettings(), "shoe: a Bee-Tek shoe executes no orders; operate it by hand"),
        ("scanner", ScannerSettings(), "shoe: a scanner executes no orders; operate it by hand"),
        (
            "open-shoe",
            OpenShoeSettings(),
            "shoe: the device has not identified itself yet; wait for device/identified, then repeat the order",
        ),
    ],
)
def test_a_family_without_the_order_says_so(family: str, settings: Settings, detail: str) -> None:
    """In the answer to the command."""
    desk = Desk(family, settings)
    answer = desk.tell(LockDevice())
    assert (answer.accepted, answer.detail, desk.sent) == (False, detail, ())


def test_an_order_to_the_shuffler_is_the_shufflers_alone() -> None:
    """Each device has its own order at a time."""
    desk = Desk(shuffled=True)
    desk.take(shuffler.UP)
    assert desk.tell(LockDevice(device=Device.SHUFFLER)).accepted
    assert desk.sent == (Send(Device.SHUFFLER, b"lock"),)
    assert desk.tell(LockDevice()).accepted
    assert desk.sent == (Send(Device.SHOE, LOCK_FRAME),)
    assert desk.hear(ACK) == [("lock", "acknowledged", "")]


def test_the_answer_names_the_device_of_the_order() -> None:
    """The event of a shuffler's order is the shuffler's, although most orders are for the shoe."""
    desk = Desk(shuffled=True)
    desk.take(shuffler.UP)
    assert desk.tell(LockDevice(device=Device.SHUFFLER)).accepted
    told = desk.take(shuffler.UP)  # another device on the same port
    (answered,) = [each.data for each in told if isinstance(each.data, DeviceOrderAnswered)]
    assert (answered.device, answered.result, answered.detail) == (
        Device.SHUFFLER,
        OrderResult.SILENT,
        "the device was replaced",
    )


# --- the record


def on_record(value: object, kind: Any) -> Any:  # noqa: ANN401  # what goes in comes out
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


@pytest.mark.parametrize("allow_orders", [True, False])
def test_the_recorded_observations_give_the_same_again(allow_orders: bool) -> None:  # noqa: FBT001
    """Without a session: events, answers and state, of accepted and of refused orders."""
    desk = Desk(allow_orders=allow_orders)
    desk.tell(LockDevice())
    desk.tell(UnlockDevice())
    desk.hear(ACK + LOCKED)
    desk.hear(report("2", "E", 0x42))
    desk.tell(USE, SUPERVISOR)
    desk.take(Woken(), ms=desk.ms + 3000)
    desk.take(LinkDown("lost"))
    desk.tell(LockDevice())
    state = desk.engine.begin()
    for step in desk.steps:
        observations = on_record(step.observations, tuple[AnyObservation, ...])
        again = desk.engine.conclude(state, on_record(step.input, AnyInput), observations, step.now, step.row)
        assert (again.events, again.answers) == (step.events, step.answers)
        state = msgspec.structs.replace(state, row=step.row, watch=again.watch, table=again.table)
    assert state.table == desk.state.table


def test_rows_of_earlier_versions_still_decode() -> None:
    """They have another word for an order to clear a fault, and a number in place of the fault."""
    row = b'{"came":"Ordered","order":{"kind":"clear-error","number":7}}'
    assert msgspec.json.decode(row, type=AnyInput) == Ordered(DeviceOrder(DeviceOrderKind.CLEAR_FAULT))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(row.replace(b"clear-error", b"explode"), type=AnyInput)
