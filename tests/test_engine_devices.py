"""A table with a shoe and a shuffler: one engine, and a session for each."""

from collections.abc import Iterable
from random import Random
from typing import Final

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE, Engine, EngineState
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Device
from shoed.model.step import (
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
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from tests import shuffler
from tests.angel_eye_line import CONFIGURED, Inputs, Reporter, at, card_report
from tests.angel_eye_line import PORT as SHOE_PORT
from tests.listener import Listener, state_without_rules
from tests.observed import CLEARED, CUT, LOADED, card, fault, lock, rejected, result
from tests.shuffler import ALIVE_NS, DOWN, PORT, UP, says

LOCK: Final = DeviceOrder(DeviceOrderKind.LOCK)
FAULT: Final = fault(2, "jam")
OBSERVED: Final[tuple[AnyObservation, ...]] = (
    *(FAULT, CLEARED, lock(locked=True), lock(locked=False), rejected(), rejected(offset=9)),
    *(card("P1", "8S"), result("player"), CUT, LOADED),  # a shuffler reports none of these
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


def run(incoming: Iterable[tuple[AnyInput, Now]]) -> tuple[EngineState[SessionState], list[Step]]:
    """Encode and decode the state between two inputs, as a checkpoint."""
    joined = engine()
    state, steps = joined.begin(), list[Step]()
    for each, now in incoming:
        state = joined.restore(msgspec.json.encode(state).decode())
        state, step = joined.step(state, each, now)
        steps += [] if step is None else [step]
    return state, steps


def traffic(seed: int) -> Inputs:
    """Rounds of an Angel Eye shoe, and random observations of a shuffler; either link closes at times."""
    dice, shoe = Random(seed), Reporter()
    incoming: list[AnyInput] = [CONFIGURED, LinkUp(SHOE_PORT), UP]
    for _ in range(4):
        for data in shoe.round(dice):
            incoming.append(Received(data))
            if dice.random() < 0.4:
                incoming.append(says(dice.choice(OBSERVED)))
            if dice.random() < 0.1:
                incoming += dice.choice(AWAY)
    return [(each, at(1000 * n)) for n, each in enumerate(incoming)]


def test_the_bytes_of_a_device_are_for_its_own_session() -> None:
    """The bytes of the shuffler are observations of the shuffler, and a frame of the shoe is a card."""
    incoming: Inputs = [
        (LinkUp(SHOE_PORT), at(0)),
        (UP, at(1)),
        (says(FAULT), at(2)),
        (Received(card_report("1", "P1", "8S")), at(3)),
    ]
    _, steps = run(incoming)
    assert [[seen.device for seen in step.observations] for step in steps] == [
        *([Device.SHOE], [Device.SHUFFLER], [Device.SHUFFLER]),
        [Device.SHOE],
    ]
    events = [(event.type, getattr(event.data, "device", None)) for step in steps for event in step.events]
    assert events == [
        ("device.online", Device.SHOE),
        ("device.online", Device.SHUFFLER),
        ("device.fault", Device.SHUFFLER),
        ("round.started", None),
        ("card.drawn", None),
    ]


def test_sent_bytes_have_their_device() -> None:
    """An order is for one device; a waking and a new configuration are for both."""
    incoming: Inputs = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1)), (Ordered(LOCK), at(2))]
    incoming += [(Ordered(LOCK, device=Device.SHUFFLER), at(3)), (says(FAULT), at(4)), (Woken(), at(5004))]
    incoming += [(CONFIGURED, at(6000))]
    _, steps = run(incoming)
    assert steps[2].sends == (Send(Device.SHOE, bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")),)
    assert [step.sends for step in steps[3:6]] == [
        (Send(Device.SHUFFLER, b"lock"),),
        (Send(Device.SHUFFLER, b"heard 1"),),
        (Send(Device.SHUFFLER, b"there?"),),
    ]
    assert [(type(seen).__name__, seen.device) for seen in steps[5].observations] == [("OrderAnswered", Device.SHOE)]
    assert [event.type for event in steps[6].events] == ["device.offline", "device.offline"]


def test_the_next_waking_is_of_the_device_with_the_earliest_moment() -> None:
    """First it is of the quiet line of the shoe, then of the shuffler."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(SHOE_PORT), at(0))
    assert joined.wake_at(state) == at(300_000).mono_ns
    state, _ = joined.step(state, UP, at(1))
    state, _ = joined.step(state, says(FAULT), at(2))
    assert joined.wake_at(state) == at(2).mono_ns + ALIVE_NS


def test_rejected_bytes_are_counted_for_each_line() -> None:
    """The rejected bytes of one line do not count for the other line."""
    incoming: Inputs = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1)), (says(rejected()), at(2)), (Received(b"junk"), at(3))]
    incoming += [(Woken(), at(600)), (says(rejected(offset=9)), at(1000)), (Woken(), at(10_002)), (Woken(), at(10_600))]
    state, steps = run(incoming)
    events = [(step.now, event.data) for step in steps for event in step.events if event.type == "line.rejected"]
    assert [(now, data.device, data.offset, data.count) for now, data in events] == [  # type: ignore[attr-defined]
        (at(2), Device.SHUFFLER, 7, 1),
        (at(600), Device.SHOE, 0, 1),
        (at(10_002), Device.SHUFFLER, 9, 1),
    ]
    assert state.table.device.rejections == ()
    assert state.table.shuffler is not None
    assert state.table.shuffler.rejections != ()


def test_a_closed_link_of_the_shuffler_does_not_affect_the_round() -> None:
    """No report of the shoe is missed: the round is complete."""
    shoe = Reporter()
    incoming: Inputs = [(LinkUp(SHOE_PORT), at(0)), (UP, at(1))]
    for n, data in enumerate(shoe.round(Random(1)), 1):
        incoming += [(DOWN, at(1000 * n)), (UP, at(1000 * n + 1)), (Received(data), at(1000 * n + 500))]
    _, steps = run(incoming)
    completed = [event.data for step in steps for event in step.events if event.type == "round.completed"]
    assert [each.integrity for each in completed] == ["complete"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(8))
def test_both_devices_can_be_drawn_from_the_events(seed: int) -> None:
    """The events have the links, faults and locks of shoe and shuffler, and no card of the shuffler."""
    state, steps = run(traffic(seed))
    listener, events = Listener(), [event for step in steps for event in step.events]
    for event in events:
        listener.hear(event.data)
    message = public_state("commission", state.table)
    assert message.shuffler is not None
    assert state_without_rules(message) == listener.drawn(
        len(events), message.device.heard_at, message.shuffler.heard_at
    )


def test_the_session_of_another_device_begins_again() -> None:
    """A table gets a shuffler, loses it, or gets devices of other families; the rest of its state remains."""
    alone, both = engine(shuffled=False), engine()
    state, _ = alone.step(alone.begin(), LinkUp(SHOE_PORT), at(0))
    assert state.shuffler is None
    stored = msgspec.json.encode(state).decode()
    assert both.restore(stored) == EngineState(1, state.session, state.watch, state.table, shuffler.State())
    state, _ = both.step(both.restore(stored), UP, at(1))
    assert state.shuffler == shuffler.State(open=True)
    assert alone.restore(msgspec.json.encode(state).decode()).shuffler is None
    others = both.fitted(msgspec.structs.replace(state, session=shuffler.State(), shuffler=state.session))
    assert (others.session, others.shuffler) == (both.begin().session, shuffler.State())
    assert both.fitted(state) == state
    configured = Configured("{}", ENGINE, "0")
    gone, _ = alone.step(alone.fitted(state), configured, at(2))
    assert public_state("commission", gone.table).shuffler is None
    stays, _ = both.step(state, configured, at(2))
    assert public_state("commission", stays.table).shuffler is not None
