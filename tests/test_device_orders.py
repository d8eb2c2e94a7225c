"""Device orders through the whole engine: a command becomes an order, and each answer of a device becomes an event."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pytest

from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.family import Settings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.scanner import ScannerSettings
from shoed.engine import Engine, EngineState
from shoed.model.commands import Answer, AnyCommand, Author, ClearFault, LockDevice, UnlockDevice
from shoed.model.device_events import DeviceOrderAnswered, OrderResult
from shoed.model.events import Event
from shoed.model.irregularities import OverdrawnCard, Role
from shoed.model.observations import AnyObservation, Device
from shoed.model.step import (
    AnyInput,
    Commanded,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Send,
    Step,
    Woken,
)
from shoed.session import SessionState
from shoed.session.device_orders import NOT_ALLOWED
from shoed.session.families import DRIVERS
from shoed.table import TableSettings
from shoed.watch import WatchSettings
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
    """One table and its clock. The state is encoded and decoded between two inputs, as a checkpoint."""

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
        events = []
        for incoming in several:
            self.state = self.engine.restore(msgspec.json.encode(self.state).decode())
            self.state, step = self.engine.step(self.state, incoming, at(self.ms))
            self.steps += [] if step is None else [step]
            events += [] if step is None else list(step.events)
        return events

    def command(self, given: AnyCommand, by: Author = DEALER, ms: float | None = None) -> Answer:
        self.take(Commanded(given, by, str(len(self.steps))), ms=ms)
        (answer,) = self.steps[-1].answers
        return answer

    def receive(self, data: bytes, ms: float | None = None) -> list[tuple[str, str, str]]:
        return results(self.take(Received(data), ms=ms))

    @property
    def sent(self) -> tuple[Send, ...]:
        return self.steps[-1].sends


def results(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    """Order, result and detail of each answer among these events."""
    answers = [event.data for event in events if isinstance(event.data, DeviceOrderAnswered)]
    return [(each.order, each.result.value, each.detail) for each in answers]


def asked(command: AnyCommand | None = None) -> Desk:
    desk = Desk()
    assert desk.command(command or LockDevice()).accepted
    return desk


# --- the direct answer, and the report


def test_an_accepted_command_sends_its_order_in_the_same_step() -> None:
    """The answer states only that the order was sent; no event precedes the answer of the device."""
    step = asked().steps[-1]
    assert step.sends == (Send(Device.SHOE, LOCK_FRAME),)
    assert step.orders == (DeviceOrder(DeviceOrderKind.LOCK),)
    assert step.answers == (Answer(step.answers[0].id, accepted=True),)
    assert (step.observations, step.events) == ((), ())


def test_the_event_names_the_author_of_the_command() -> None:
    """The event has also device, order, result and role."""
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
    """It follows once, after the event of the report."""
    desk = asked()
    assert desk.receive(ACK) == [("lock", "acknowledged", "")]
    events = desk.take(Received(LOCKED))
    assert [event.type for event in events] == ["device.locked", "device.order-answered"]
    assert results(events) == [("lock", "reported", "")]
    assert desk.receive(UNLOCKED + report("3", "L", 0x01)) == []


def test_the_report_may_precede_the_direct_answer() -> None:
    """Each is one event, in the order of arrival."""
    desk = asked()
    assert desk.receive(LOCKED) == [("lock", "reported", "")]
    assert desk.receive(UNLOCKED + report("3", "L", 0x01)) == []
    assert desk.receive(ACK) == [("lock", "acknowledged", "")]
    assert desk.receive(report("4", "L", 0x01)) == []


def test_another_report_is_not_the_effect() -> None:
    """Such reports are unlocked after lock, locked after unlock, another cleared fault, and a changed preset."""
    assert asked().receive(ACK + PRESET) == [("lock", "acknowledged", "")]
    assert asked().receive(ACK + report("1", "L", 0x00)) == [("lock", "acknowledged", "")]
    assert asked(UnlockDevice()).receive(ACK + LOCKED) == [("unlock", "acknowledged", "")]
    desk = Desk()
    desk.receive(UNREAD)
    desk.command(ClearFault())
    assert desk.receive(ACK + OVERDRAW_CLEARED) == [("clear-fault", "acknowledged", "")]


def test_a_refusal_has_the_code_in_words_and_ends_the_order() -> None:
    """A person with the key may lock the shoe after the refusal."""
    desk = asked()
    assert desk.receive(NAK) == [("lock", "refused", "21: busy")]
    assert desk.receive(LOCKED) == []


@pytest.mark.parametrize(("later_ms", "reported"), [(10_000, True), (10_001, False)])
def test_a_silent_device_may_report_the_effect_for_ten_seconds(later_ms: int, reported: bool) -> None:  # noqa: FBT001
    """The answer may be lost. After this time, a person may have locked the shoe."""
    desk = asked()
    silent_ms = desk.ms + 3000
    events = desk.take(Woken(), ms=silent_ms)
    assert results(events) == [("lock", "silent", "no answer in time")]
    expected = [("lock", "reported", "")] if reported else []
    assert desk.receive(LOCKED, silent_ms + later_ms) == expected


@pytest.mark.parametrize("end", [LinkDown("lost"), CONFIGURED])
def test_an_order_on_a_closed_link_is_silent(end: AnyInput) -> None:
    """A restart of the daemon has the same effect; a later report still shows the effect of the order."""
    desk = asked()
    assert results(desk.take(end)) == [("lock", "silent", "the link closed")]
    desk.take(LinkUp(PORT))
    assert desk.receive(LOCKED) == [("lock", "reported", "")]


def test_an_order_is_silent_if_the_device_is_replaced() -> None:
    """The session of another family does not have the order."""
    desk, other = asked(), Desk("bee-tek")
    other.state = other.engine.fitted(desk.state)
    events = other.take(CONFIGURED, LinkUp(PORT))
    assert results(events) == [("lock", "silent", "the device was replaced")]
    assert results(other.take(LinkDown("lost"), LinkUp(PORT))) == []


def test_answers_to_another_host_are_not_published() -> None:
    """They are recorded only, before an order and after its answer."""
    desk = Desk()
    assert desk.receive(ACK) == []
    desk.command(LockDevice())
    assert desk.receive(ACK + NAK + ACK) == [("lock", "acknowledged", "")]


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
    """The number is 00 for an unknown fault, too. The event has the decision about the card of an overdraw."""
    desk = Desk()
    desk.receive(raised)
    assert desk.command(command, SUPERVISOR).accepted
    assert desk.sent == (Send(Device.SHOE, bytes.fromhex("02 4F 50 45 43" + number)),)
    events = desk.take(Received(ACK + cleared))
    assert results(events) == [("clear-fault", "acknowledged", ""), ("clear-fault", "reported", "")]
    assert {event.data.card for event in events if isinstance(event.data, DeviceOrderAnswered)} == {command.card}


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
        (b"", LockDevice(device=Device.SHUFFLER), DEALER, "shuffler: this table has no shuffler; leave device out"),
        (b"", LockDevice(), Author("sue", None), "a player gives no commands except answers"),
    ],
)
def test_a_command_that_is_not_an_order_is_refused(
    raised: bytes, command: AnyCommand, by: Author, refusal: str
) -> None:
    """Nothing is sent or published, and the next order is accepted."""
    desk = Desk()
    desk.receive(raised)
    answer = desk.command(command, by)
    assert not answer.accepted
    assert answer.detail.startswith(refusal)
    step = desk.steps[-1]
    assert (step.sends, step.orders, step.observations, step.events) == ((), (), (), ())
    assert desk.command(LockDevice()).accepted


# --- refusals of the session


def test_without_allow_orders_nothing_is_sent() -> None:
    """The message has the remedy."""
    desk = Desk(allow_orders=False)
    answer = desk.command(LockDevice())
    assert (answer.accepted, answer.detail, desk.sent) == (False, f"shoe: {NOT_ALLOWED}", ())
    assert "set allow_orders = true" in answer.detail
    assert desk.receive(ACK) == []


def test_a_closed_link_refuses_orders() -> None:
    """An open link accepts orders again."""
    desk = Desk()
    desk.take(LinkDown("lost"))
    answer = desk.command(LockDevice())
    assert answer.detail == "shoe: the link is closed; connect the device, then repeat the order"
    desk.take(LinkUp(PORT))
    assert desk.command(LockDevice()).accepted


def test_one_order_at_a_time() -> None:
    """A second order is refused while the first waits for its answer."""
    desk = asked()
    answer = desk.command(UnlockDevice(), SUPERVISOR)
    assert answer.detail == "shoe: the order lock still waits for its answer; repeat this order after it"
    assert desk.receive(ACK) == [("lock", "acknowledged", "")]
    assert desk.command(UnlockDevice()).accepted


def test_a_repeated_order_is_answered_once() -> None:
    """The second order is refused and not sent; the first order still waits."""
    desk = asked()
    assert desk.command(LockDevice()).detail.startswith("shoe: the order lock still waits for its answer")
    assert desk.steps[-1].events == ()
    assert desk.receive(ACK) == [("lock", "acknowledged", "")]


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
def test_a_family_without_the_order_refuses_it(family: str, settings: Settings, detail: str) -> None:
    """The answer to the command has the reason."""
    desk = Desk(family, settings)
    answer = desk.command(LockDevice())
    assert (answer.accepted, answer.detail, desk.sent) == (False, detail, ())


def test_an_order_for_the_shuffler_does_not_affect_the_shoe() -> None:
    """Each device can have one order at a time."""
    desk = Desk(shuffled=True)
    desk.take(shuffler.UP)
    assert desk.command(LockDevice(device=Device.SHUFFLER)).accepted
    assert desk.sent == (Send(Device.SHUFFLER, b"lock"),)
    assert desk.command(LockDevice()).accepted
    assert desk.sent == (Send(Device.SHOE, LOCK_FRAME),)
    assert desk.receive(ACK) == [("lock", "acknowledged", "")]


def test_the_answer_names_the_device_of_the_order() -> None:
    """The event of an order for the shuffler names the shuffler."""
    desk = Desk(shuffled=True)
    desk.take(shuffler.UP)
    assert desk.command(LockDevice(device=Device.SHUFFLER)).accepted
    events = desk.take(shuffler.UP)  # the link opens again, so the pending order is lost
    (answered,) = [each.data for each in events if isinstance(each.data, DeviceOrderAnswered)]
    assert (answered.device, answered.result, answered.detail) == (
        Device.SHUFFLER,
        OrderResult.SILENT,
        "the device was replaced",
    )


# --- the record


def on_record(value: object, kind: Any) -> Any:  # noqa: ANN401  # the type is an argument
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


@pytest.mark.parametrize("allow_orders", [True, False])
def test_a_replay_gives_the_same_events_answers_and_state(allow_orders: bool) -> None:  # noqa: FBT001
    """The replay has no session: it uses the recorded observations, of accepted and of refused orders."""
    desk = Desk(allow_orders=allow_orders)
    desk.command(LockDevice())
    desk.command(UnlockDevice())
    desk.receive(ACK + LOCKED)
    desk.receive(report("2", "E", 0x42))
    desk.command(USE, SUPERVISOR)
    desk.take(Woken(), ms=desk.ms + 3000)
    desk.take(LinkDown("lost"))
    desk.command(LockDevice())
    state = desk.engine.begin()
    for step in desk.steps:
        observations = on_record(step.observations, tuple[AnyObservation, ...])
        again = desk.engine.conclude(state, on_record(step.input, AnyInput), observations, step.now, step.row)
        assert (again.events, again.answers) == (step.events, step.answers)
        state = msgspec.structs.replace(state, row=step.row, watch=again.watch, table=again.table)
    assert state.table == desk.state.table


def test_rows_of_earlier_versions_still_decode() -> None:
    """They have the word clear-error, and a number in place of the fault."""
    row = b'{"came":"Ordered","order":{"kind":"clear-error","number":7}}'
    assert msgspec.json.decode(row, type=AnyInput) == Ordered(DeviceOrder(DeviceOrderKind.CLEAR_FAULT))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(row.replace(b"clear-error", b"explode"), type=AnyInput)
