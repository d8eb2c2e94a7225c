"""An Open Shoe of version 3 that restarts, on bad lines: each card once, and the true state of the device.

The host knows the state from the reports and from each STATUS, in their order. No report contains a change during a
loss of power: only STATUS shows it.
"""

from typing import Final

import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import FaultChanged, Lock, ReportBody
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    DeviceStatus,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    Identified,
    LockChanged,
    Resumed,
)
from shoed.session.open_shoe_stream import Intake
from tests.open_shoe_line import A, Clock, Device, Host, Table, losses_on_record, numbered, unproven
from tests.test_session_open_shoe_doubts import doubts

BOOT: Final = 65_530  # the count of power-ups wraps


def table(seed: str, every: float = 0, *, room: int = 1024) -> Table:
    clock = Clock()
    device = Device(clock, version=3, room=room)
    device.restart(BOOT)
    return Table(seed, every, device, Host(clock, intake=Intake(A)))


def known(seen: list[AnyObservation]) -> tuple[bool, set[int]]:
    """Whether the exit is locked, and the active faults, as the host knows them."""
    locked, faults = False, set[int]()
    for each in seen:
        match each:
            case LockChanged():
                locked = each.locked
            case FaultRaised(code=code):
                faults.add(code)
            case FaultCleared(code=code):
                faults.discard(code)
            case DeviceStatus():
                locked, faults = bool(each.locked), {fault.code for fault in each.faults}
            case _:
                pass
    return locked, faults


def true(play: Table) -> tuple[bool, set[int]]:
    state = play.device.state
    return state.locked, {each.code for each in state.faults}


def something(play: Table, number: int) -> ReportBody:
    """A card, or a change of the device."""
    dice = play.dice
    match dice.randrange(10):
        case 0:
            return Lock(not play.device.state.locked)
        case 1:
            return FaultChanged(dice.randrange(1, 4), raised=dice.random() < 0.6, blocking=False)
        case _:
            return numbered(number)


def changed_without_power(play: Table) -> None:
    """A person turns the key, and a fault ends, while the device cannot report it."""
    state = play.device.state
    play.device.state = replace(state, locked=not state.locked, faults=state.faults[1:])


@pytest.mark.parametrize("hello", ["heard", "lost", "cable noticed", "cable unnoticed"])
@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("meanwhile", [0, 1, 40])
def test_a_restart_with_a_memory_loses_no_card_and_shows_the_state(before: int, meanwhile: int, hello: str) -> None:
    """No report is missed, the clocks of two power-ups raise no doubt, and the device is identified."""
    play = table("restart")
    play.settle(10)
    for number in range(before):
        play.say(numbered(number))
        play.tick(50)
    play.settle(20)
    play.host.seen.clear()
    if hello.startswith("cable"):
        play.pull(seen=hello == "cable noticed")
    changed_without_power(play)
    play.device.restart()
    out = play.device.open()
    play.up = out if hello == "heard" else b""
    for number in range(before, before + meanwhile):
        play.say(numbered(number))
        play.tick(50)
    play.plug()
    play.settle(1000)
    assert play.cards == [*range(before, before + meanwhile)]
    assert unproven(play.host.seen) == []
    assert known(play.host.seen) == true(play) == (True, set())
    assert len([each for each in play.host.seen if isinstance(each, Identified)]) == 1
    assert play.device.state.store.kept == ()
    assert not [each for each in play.host.seen if isinstance(each, FrameRejected)]


@pytest.mark.parametrize("every", [60, 300, 2000])
@pytest.mark.parametrize("seed", range(12))
def test_cards_and_state_of_a_device_with_a_memory_always_arrive(seed: int, every: int) -> None:
    """Restarts, damaged bytes, pulled cables and kills: no card is lost or doubtful, and the last state is true."""
    play = table(f"memory {seed} {every}", every)
    dice, cards = play.dice, 0
    for _ in range(120):
        body = something(play, cards)
        cards += body == numbered(cards)
        play.say(body)
        match dice.randrange(20):
            case 0:
                changed_without_power(play)
                play.device.restart()
                play.up = play.device.open() if dice.random() < 0.7 else b""
            case 1:
                play.pull(seen=dice.random() < 0.5)
            case 2 | 3 | 4:
                play.plug()
            case 5:
                play.kill = dice.random() < 0.5
            case _:
                pass
        for _ in range(dice.randrange(4)):
            play.tick(dice.choice((5, 50, 700)))
    play.settle()
    assert play.cards == [*range(cards)]
    assert unproven(play.host.seen) == []
    assert known(play.host.seen) == true(play)


@pytest.mark.parametrize("every", [0, 200, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_a_device_without_a_memory_reports_its_state_after_the_loss(seed: int, every: int) -> None:
    """It draws a stream and a power-up; the loss is recorded, and the state is true."""
    play = table(f"forgetful {seed} {every}", every)
    dice, cards = play.dice, 0
    for _ in range(80):
        body = something(play, cards)
        cards += body == numbered(cards)
        play.say(body)
        if dice.random() < 0.05:
            play.device.lose_power(dice.getrandbits(32), boot=dice.getrandbits(16))
            play.device.state = replace(play.device.state, locked=dice.random() < 0.5)
            play.up = play.device.open() if dice.random() < 0.5 else b""
        for _ in range(dice.randrange(4)):
            play.tick(dice.choice((5, 50, 700)))
    play.settle()
    assert losses_on_record(play.host.seen)
    assert "+ clock-jumps" not in doubts(play.host.seen)
    assert known(play.host.seen) == true(play)
    assert play.device.state.store.kept == ()


@pytest.mark.parametrize("boot", [BOOT - 1, BOOT - 30_000, BOOT, BOOT + 5, 3])
@pytest.mark.parametrize("hello", [True, False])
def test_a_wrong_count_of_power_ups_loses_no_card(boot: int, hello: bool) -> None:  # noqa: FBT001 -- a column
    """The count goes back, does not change, or jumps: HELLO decides, and each card arrives."""
    play = table("count")
    play.settle(10)
    for number in range(40):
        play.say(numbered(number))
        play.tick(50)
        if number == 20:
            play.device.restart(boot)
            out = play.device.open()
            play.up = out if hello else b""
    play.settle(1000)
    assert play.cards == [*range(40)]
    assert play.device.state.store.kept == ()
    play.say(Lock(locked=True))
    play.settle(100)
    assert known(play.host.seen) == true(play)


@pytest.mark.parametrize("every", [0, 60, 400])
@pytest.mark.parametrize("seed", range(6))
def test_the_state_follows_a_full_memory(seed: int, every: int) -> None:
    """STATUS contains the changes during the loss; no LOCK and no FAULT reports them."""
    play = table(f"full {seed} {every}", room=16)
    play.settle(10)
    play.line.every = every
    play.pull(seen=bool(seed % 2))
    for number in range(40):
        play.say(numbered(number))
    for body in (Lock(locked=True), FaultChanged(2, raised=True, blocking=True)):
        play.say(body)
    for _ in range(seed):
        play.tick(100)
    play.plug()
    for _ in range(400):
        play.tick()
    play.settle()
    assert play.cards == [*range(16)]
    (lost,) = unproven(play.host.seen)
    later = [each for each in play.host.seen[play.host.seen.index(lost) :] if not isinstance(each, FrameRejected)]
    states = [each for each in later if isinstance(each, LockChanged | FaultRaised | FaultCleared | DeviceStatus)]
    assert [type(each) for each in states[:3]] == [FaultRaised, FaultCleared, DeviceStatus]
    assert not [each for each in states if isinstance(each, LockChanged)]
    assert known(play.host.seen) == true(play) == (True, {2})
    assert not [each for each in later if isinstance(each, CardSeen)]


def test_a_lost_state_is_repeated() -> None:
    """The device keeps it like any report, and the host sends no request after it is accepted."""
    play = table("lost")
    play.tick()
    assert play.down
    for _ in range(10):  # all frames of the device are lost, and INQUIRE, too
        play.tick(100)
        play.up = b""
    play.settle(200)
    assert [type(each) for each in play.host.seen].count(DeviceStatus) == 1
    assert play.host.state.inquired_ns is None
    assert not [each for each in play.host.seen if isinstance(each, Resumed) and not each.proven]
