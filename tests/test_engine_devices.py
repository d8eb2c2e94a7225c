"""A table with a shoe and a shuffler: one engine, and a session for each."""

from collections.abc import Iterable
from random import Random
from typing import Final

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE, Engine, EngineState
from shoed.now import Now
from shoed.observations import AnyObservation, Device
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.step import (
    AnyInput,
    Configured,
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
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from tests import shuffler
from tests.angel_eye_line import CONFIGURED, Came, Reporter, at, card_report
from tests.angel_eye_line import PORT as SHOE_PORT
from tests.listener import Listener, shown_to_all
from tests.observed import CLEARED, CUT, LOADED, card, fault, lock, rejected, result
from tests.shuffler import ALIVE_NS, DOWN, PORT, UP, says

LOCK: Final = DeviceOrder(DeviceOrderKind.LOCK)
FAULT: Final = fault(2, "jam")
SAID: Final[tuple[AnyObservation, ...]] = (
    *(FAULT, CLEARED, lock(locked=True), lock(locked=False), rejected(), rejected(offset=9)),
    *(card("P1", "8S"), result("player"), CUT, LOADED),  # no shuffler says so
)
AWAY: Final[tuple[list[AnyInput], ...]] = (
    [DOWN, UP],
    [LinkDown("lost"), LinkUp(SHOE_PORT)],
    [CONFIGURED, UP, LinkUp(SHOE_PORT), Woken()],
)


def engine(*, shuffled: bool = True) -> Engine[SessionState]:
    shoe = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    table = TableSettings("commission", SHOE_PORT, shuffler_port=PORT if shuffled else None)
    return Engine(shoe, WatchSettings(250), table, shuffler.shuffler() if shuffled else None)


def run(came: Iterable[tuple[AnyInput, Now]]) -> tuple[EngineState[SessionState], list[Step]]:
    """Between any two inputs the state goes through JSON, as a checkpoint does."""
    joined = engine()
    state, steps = joined.begin(), list[Step]()
    for each, now in came:
        state = joined.restore(msgspec.json.encode(state).decode())
        state, step = joined.step(state, each, now)
        steps += [] if step is None else [step]
    return state, steps


def traffic(seed: int) -> Came:
    """Rounds of an Angel Eye shoe, and whatever a shuffler says in between; either line is away now and then."""
    dice, shoe = Random(seed), Reporter()
    came: list[AnyInput] = [CONFIGURED, LinkUp(SHOE_PORT), UP]
    for _ in range(4):
        for data in shoe.round(dice):
            came.append(Received(data))
            if dice.random() < 0.4:
                came.append(says(dice.choice(SAID)))
            if dice.random() < 0.1:
                came += dice.choice(AWAY)
    return [(each, at(1000 * n)) for n, each in enumerate(came)]


def test_what_a_device_says_is_for_its_own_session() -> None:
    """The same frame of a card: from the shoe's line it is one, and the shuffler's knows nothing of it."""
    came: Came = [
        (LinkUp(SHOE_PORT), at(0)),
        (UP, at(1)),
        (says(FAULT), at(2)),
        (Received(card_report("1", "P1", "8S")), at(3)),
    ]
    _, steps = run(came)
    assert [[seen.device for seen in step.observations] for step in steps] == [
        *([Device.SHOE], [Device.SHUFFLER], [Device.SHUFFLER]),
        [Device.SHOE],
    ]
    told = [(event.type, getattr(event.data, "device", None)) for step in steps for event in step.events]
    assert told == [
        ("device.online", Device.SHOE),
        ("device.online", Device.SHUFFLER),
        ("device.fault", Device.SHUFFLER),
        ("round.started", None),
        ("card.drawn", None),
    ]


def test_what_is_sent_names_its_device() -> None:
    """An order goes to the one that it is for; a waking and a new configuration are for both."""
    came: Came = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1)), (Ordered(LOCK), at(2))]
    came += [(Ordered(LOCK, device=Device.SHUFFLER), at(3)), (says(FAULT), at(4)), (Woken(), at(5004))]
    came += [(CONFIGURED, at(6000))]
    _, steps = run(came)
    assert steps[2].sends == (Send(Device.SHOE, bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")),)
    assert [step.sends for step in steps[3:6]] == [
        (Send(Device.SHUFFLER, b"lock"),),
        (Send(Device.SHUFFLER, b"heard 1"),),
        (Send(Device.SHUFFLER, b"there?"),),
    ]
    assert [(type(seen).__name__, seen.device) for seen in steps[5].observations] == [("OrderAnswered", Device.SHOE)]
    assert [event.type for event in steps[6].events] == ["device.offline", "device.offline"]


def test_it_is_woken_for_the_device_that_is_due_first() -> None:
    """The shuffler's moment, then the shoe's quiet line."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(SHOE_PORT), at(0))
    assert joined.wake_at(state) == at(300_000).mono_ns
    state, _ = joined.step(state, UP, at(1))
    state, _ = joined.step(state, says(FAULT), at(2))
    assert joined.wake_at(state) == at(2).mono_ns + ALIVE_NS


def test_rejected_bytes_are_counted_for_each_line() -> None:
    """One that is full of junk does not make the other's first junk a later one."""
    came: Came = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1)), (says(rejected()), at(2)), (Received(b"junk"), at(3))]
    came += [(Woken(), at(600)), (says(rejected(offset=9)), at(1000)), (Woken(), at(10_002)), (Woken(), at(10_600))]
    state, steps = run(came)
    told = [(step.now, event.data) for step in steps for event in step.events if event.type == "line.rejected"]
    assert [(now, data.device, data.offset, data.count) for now, data in told] == [  # type: ignore[attr-defined]
        (at(2), Device.SHUFFLER, 7, 1),
        (at(600), Device.SHOE, 0, 1),
        (at(10_002), Device.SHUFFLER, 9, 1),
    ]
    assert state.table.device.rejections == ()
    assert state.table.shuffler is not None
    assert state.table.shuffler.rejections != ()


def test_a_shuffler_that_goes_away_leaves_the_round_alone() -> None:
    """Nothing of the shoe's was missed: the round is complete, not partial, and its line was never away."""
    shoe = Reporter()
    came: Came = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1))]
    for n, data in enumerate(shoe.round(Random(1)), 1):
        came += [(DOWN, at(1000 * n)), (UP, at(1000 * n + 1)), (Received(data), at(1000 * n + 500))]
    _, steps = run(came)
    completed = [event.data for step in steps for event in step.events if event.type == "round.completed"]
    assert [each.integrity for each in completed] == ["complete"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(8))
def test_whoever_hears_the_events_alone_draws_both_devices(seed: int) -> None:
    """Links, faults and locks of shoe and shuffler, and no card that the shuffler told."""
    state, steps = run(traffic(seed))
    listener, told = Listener(), [event for step in steps for event in step.events]
    for event in told:
        listener.hear(event.data)
    message = public_state("commission", state.table)
    assert message.shuffler is not None
    assert shown_to_all(message) == listener.drawn(len(told), message.device.heard_at, message.shuffler.heard_at)


def test_devices_that_are_others_than_before_begin_anew() -> None:
    """A table gets a shuffler, loses it, or has one of another family: the rest of it goes on."""
    alone, both = engine(shuffled=False), engine()
    state, _ = alone.step(alone.begin(), LinkUp(SHOE_PORT), at(0))
    assert state.shuffler is None
    stored = msgspec.json.encode(state).decode()
    assert both.restore(stored) == EngineState(1, state.session, state.watch, state.table, shuffler.State())
    state, _ = both.step(both.restore(stored), UP, at(1))
    assert state.shuffler == shuffler.State(open=True)
    assert alone.restore(msgspec.json.encode(state).decode()).shuffler is None
    others = both.suited(msgspec.structs.replace(state, session=shuffler.State(), shuffler=state.session))
    assert (others.session, others.shuffler) == (both.begin().session, shuffler.State())
    assert both.suited(state) == state
    configured = Configured("{}", ENGINE, "0")
    gone, _ = alone.step(alone.suited(state), configured, at(2))
    assert public_state("commission", gone.table).shuffler is None
    stays, _ = both.step(state, configured, at(2))
    assert public_state("commission", stays.table).shuffler is not None
