"""Open Shoe, host and device against each other over bad lines: each card once and in order, or the loss on record."""

import pytest

from shoed.observations import CardSeen, FaultCleared, FaultRaised, FrameRejected, Resumed
from shoed.session.open_shoe_stream import Intake
from tests.open_shoe_line import A, Clock, Device, Host, Table, losses_on_record, numbered, unproven

CARDS = 150


def table(seed: str, every: float, *, version: int = 1, first: int = 1, room: int = 1024) -> Table:
    clock = Clock()
    device = Device(clock, version=version, first=first, room=room)
    return Table(seed, every, device, Host(clock, intake=Intake(A, first)))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("first", [1, 65_450], ids=["from 1", "wrapping"])
@pytest.mark.parametrize("every", [40, 100, 400, 3000])
def test_each_card_comes_out_once_and_in_order(
    every: int, first: int, version: int, request: pytest.FixtureRequest
) -> None:
    """Lost, doubled, flipped and swapped bytes, pulled cables and a killed host leave no trace in what is taken."""
    play = table(request.node.name, every, version=version, first=first)
    dice = play.dice
    for number in range(CARDS):
        play.say(numbered(number))
        if dice.random() < 0.05:
            play.pull(seen=dice.random() < 0.5)
        elif dice.random() < 0.3:
            play.plug()
        if dice.random() < 0.1:
            play.kill = dice.random() < 0.5
        for _ in range(dice.randrange(4)):
            play.tick(dice.choice((5, 50, 300)))
    play.settle()
    assert play.cards == [*range(CARDS)]
    assert unproven(play.host.seen) == []
    assert play.device.state.store.kept == ()
    assert any(isinstance(each, FrameRejected) for each in play.host.seen)


@pytest.mark.parametrize("seen", [True, False], ids=["noticed", "unnoticed"])
@pytest.mark.parametrize("out_ms", [100, 3_000, 60_000, 86_400_000])
def test_a_pulled_cable_loses_nothing_however_long(out_ms: int, seen: bool) -> None:  # noqa: FBT001 -- a column
    """A whole shoe is dealt meanwhile; it comes in order, and the first thing said proves that it is whole."""
    play = table("cable", 0)
    for number in range(10):
        play.say(numbered(number))
        play.tick()
    play.settle(10)
    play.pull(seen=seen)
    for number in range(10, 416):
        play.say(numbered(number))
        play.tick(out_ms / 406)
    play.settle()
    assert play.cards == [*range(416)]
    assert [each.proven for each in play.host.seen if isinstance(each, Resumed)] == [True] * seen


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("at", range(40))
def test_a_kill_anywhere_in_a_step_takes_each_card_once(at: int, committed: bool) -> None:  # noqa: FBT001 -- a column
    """Between commit and acknowledgement, or before the commit; the device is asked and says the rest again."""
    play = table(f"kill {at}", 0)
    play.settle(5)
    for number in range(20):
        play.say(numbered(number))
        if number == at // 2:
            play.kill = committed
        play.tick(7 if at % 2 else 700)
    play.settle(200)
    assert play.cards == [*range(20)]
    assert [each.proven for each in play.host.seen if isinstance(each, Resumed)] == [True]


@pytest.mark.parametrize("every", [0, 60, 400])
@pytest.mark.parametrize("seed", range(8))
def test_a_full_memory_is_on_record_where_the_cards_are_missing(seed: int, every: int) -> None:
    """What was kept comes out; then nothing is proven any more, the device says why, and goes on."""
    play = table(f"memory {seed} {every}", every, room=16)
    play.settle(5)
    play.line.every = every
    for number in range(8):
        play.say(numbered(number))
        play.tick(100)
    play.pull(seen=bool(seed % 2))
    for number in range(8, 60):
        play.say(numbered(number))
    for _ in range(seed):
        play.tick(100)
    play.plug()
    for _ in range(400):
        play.tick()
    for number in range(60, 70):
        play.say(numbered(number))
        play.tick(100)
    play.settle()
    assert play.cards[-10:] == [*range(60, 70)]
    assert play.cards[:16] == [*range(16)]
    assert len(play.cards) < 70
    assert losses_on_record(play.host.seen)
    (lost,) = unproven(play.host.seen)
    behind = [each for each in play.host.seen[play.host.seen.index(lost) :] if not isinstance(each, FrameRejected)]
    raised, cleared = [each for each in behind if isinstance(each, FaultRaised | FaultCleared)]
    assert (raised.name, cleared.name) == ("memory-full", "memory-full")
    assert behind.index(raised) < next(at for at, each in enumerate(behind) if isinstance(each, CardSeen))


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_no_card_is_invented_and_no_loss_unnoticed(seed: int) -> None:
    """Worn bytes, cables, kills, a device that loses its power, a small memory: all of them at once."""
    play = table(f"all {seed}", 200, version=1 + seed % 2, room=48)
    dice = play.dice
    for number in range(CARDS):
        play.say(numbered(number))
        match dice.randrange(40):
            case 0 | 1:
                play.pull(seen=dice.random() < 0.5)
            case 2 | 3 | 4 | 5:
                play.plug()
            case 6:
                play.device.lose_power(dice.getrandbits(32))
                play.up = play.device.open()
            case 7 | 8:
                play.kill = dice.random() < 0.5
            case _:
                pass
        for _ in range(dice.randrange(4)):
            play.tick(dice.choice((5, 50, 700)))
    play.settle()
    assert losses_on_record(play.host.seen)
    assert play.device.state.store.kept == ()
    play.say(numbered(CARDS))
    play.settle(100)
    assert play.cards[-1] == CARDS
