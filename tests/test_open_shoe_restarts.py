"""An Open Shoe of version 3 that restarts, over bad lines: each card once, and the state of the device as it is.

The state that the host knows is that of the reports and of each STATUS, in their order. No report says what changed
without power: STATUS alone shows it.
"""

from typing import Final

import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import FaultChanged, Lock, Reported
from shoed.observations import (
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
    """Whether the exit is locked and which faults stand, as the host has it."""
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


def something(play: Table, number: int) -> Reported:
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
    """Somebody turns the key, and a fault goes, while nothing can report it."""
    state = play.device.state
    play.device.state = replace(state, locked=not state.locked, faults=state.faults[1:])


@pytest.mark.parametrize("hello", ["heard", "lost", "cable noticed", "cable unnoticed"])
@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("meanwhile", [0, 1, 40])
def test_a_restart_with_a_memory_loses_no_card_and_shows_the_state(before: int, meanwhile: int, hello: str) -> None:
    """However it is noticed: nothing is missed, the clocks of two power-ups raise no doubt, and the device is named."""
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
def test_whatever_happens_to_a_device_with_a_memory_its_cards_and_its_state_arrive(seed: int, every: int) -> None:
    """Restarts, worn bytes, cables and kills: no card is lost, none is doubted, and at last the state is true."""
    play = table(f"memory {seed} {every}", every)
    dice, cards = play.dice, 0
    for _ in range(120):
        said = something(play, cards)
        cards += said == numbered(cards)
        play.say(said)
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
def test_a_device_without_a_memory_shows_its_state_behind_the_loss(seed: int, every: int) -> None:
    """It draws a stream and a power-up; the loss is on record, and the state is true."""
    play = table(f"forgetful {seed} {every}", every)
    dice, cards = play.dice, 0
    for _ in range(80):
        said = something(play, cards)
        cards += said == numbered(cards)
        play.say(said)
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
def test_a_count_of_power_ups_that_is_wrong_loses_no_card(boot: int, hello: bool) -> None:  # noqa: FBT001 -- a column
    """It goes back, stands still or jumps: HELLO decides, and each card comes out."""
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
def test_a_full_memory_is_followed_by_the_state(seed: int, every: int) -> None:
    """What changed while reports were lost is in STATUS; LOCK and FAULT of it never come."""
    play = table(f"full {seed} {every}", room=16)
    play.settle(10)
    play.line.every = every
    play.pull(seen=bool(seed % 2))
    for number in range(40):
        play.say(numbered(number))
    for said in (Lock(locked=True), FaultChanged(2, raised=True, blocking=True)):
        play.say(said)
    for _ in range(seed):
        play.tick(100)
    play.plug()
    for _ in range(400):
        play.tick()
    play.settle()
    assert play.cards == [*range(16)]
    (lost,) = unproven(play.host.seen)
    behind = [each for each in play.host.seen[play.host.seen.index(lost) :] if not isinstance(each, FrameRejected)]
    told = [each for each in behind if isinstance(each, LockChanged | FaultRaised | FaultCleared | DeviceStatus)]
    assert [type(each) for each in told[:3]] == [FaultRaised, FaultCleared, DeviceStatus]
    assert not [each for each in told if isinstance(each, LockChanged)]
    assert known(play.host.seen) == true(play) == (True, {2})
    assert not [each for each in behind if isinstance(each, CardSeen)]


def test_a_state_that_is_lost_on_the_way_is_said_again() -> None:
    """As any report: the device keeps it, and the host asks no more once it is taken."""
    play = table("lost")
    play.tick()
    assert play.down
    for _ in range(10):  # all that the device says is lost, and INQUIRE with it
        play.tick(100)
        play.up = b""
    play.settle(200)
    assert [type(each) for each in play.host.seen].count(DeviceStatus) == 1
    assert play.host.state.inquired_ns is None
    assert not [each for each in play.host.seen if isinstance(each, Resumed) and not each.proven]
