"""Open Shoe, host and device on bad lines: each card once and in order, or a recorded loss."""

import pytest

from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    CardOrder,
    Delivered,
    Inventory,
    OpenShoeFace,
    Recognised,
    ReportBody,
    Shuffled,
    Shuffling,
)
from shoed.model.observations import (
    CardSeen,
    Continuity,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    Resumed,
    SetDeliverySeen,
    ShuffleEnded,
)
from shoed.model.step import LinkUp
from shoed.session.open_shoe_observations import CARDS as OURS
from shoed.session.open_shoe_stream import Intake
from tests.open_shoe_line import (
    LISTENING,
    PORT,
    A,
    Clock,
    Device,
    Host,
    Table,
    Worn,
    losses_on_record,
    number_of,
    numbered,
    unproven,
)

CARDS = 150


def table(seed: str, every: float, *, version: int = 1, first: int = 1, room: int = 1024) -> Table:
    clock = Clock()
    device = Device(clock, version=version, first=first, room=room)
    return Table(seed, every, device, Host(clock, intake=Intake(A, first)))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("first", [1, 65_450], ids=["from 1", "wrapping"])
@pytest.mark.parametrize("every", [40, 100, 400, 3000])
def test_each_card_is_recorded_once_and_in_order(
    every: int, first: int, version: int, request: pytest.FixtureRequest
) -> None:
    """Lost, doubled, flipped and swapped bytes, pulled cables and a killed host do not change the accepted cards."""
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
    """Meanwhile, a whole shoe is dealt. Its cards arrive in order, and the first frame proves that none is missing."""
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
def test_a_kill_at_any_point_of_a_step_records_each_card_once(at: int, committed: bool) -> None:  # noqa: FBT001 -- a column
    """The kill is between commit and acknowledgement, or before the commit; the device repeats the other reports."""
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
def test_a_full_memory_is_recorded_at_the_position_of_the_missing_cards(seed: int, every: int) -> None:
    """The kept reports arrive; then continuity is not known, the device reports fault 8, and continues."""
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
    for _ in range(800):
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
    later = [each for each in play.host.seen[play.host.seen.index(lost) :] if not isinstance(each, FrameRejected)]
    raised, cleared = [each for each in later if isinstance(each, FaultRaised | FaultCleared)]
    assert (raised.name, cleared.name) == ("memory-full", "memory-full")
    assert later.index(raised) < next(at for at, each in enumerate(later) if isinstance(each, CardSeen))


@pytest.mark.parametrize("seed", range(30))
def test_no_card_is_invented_and_every_loss_is_recorded(seed: int) -> None:
    """Damaged bytes, pulled cables, kills, losses of power and a small memory, all at the same time."""
    play = table(f"all {seed}", 200, version=1 + seed % 3, room=48)
    dice = play.dice
    for number in range(CARDS):
        play.say(numbered(number))
        match dice.randrange(40):
            case 0 | 1:
                play.pull(seen=dice.random() < 0.5)
            case 2 | 3 | 4 | 5:
                play.plug()
            case 6:
                play.device.lose_power(dice.getrandbits(32), boot=dice.getrandbits(16))
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


@pytest.mark.parametrize("clock_too", [True, False], ids=["clock restarts", "clock continues"])
@pytest.mark.parametrize("hello", ["heard", "lost", "cable noticed", "cable unnoticed"])
@pytest.mark.parametrize("before", [1, 3, 40, 100])
@pytest.mark.parametrize("meanwhile", [0, 1, 3, 30, 90, 120])
def test_reused_numbers_lose_no_card(before: int, meanwhile: int, hello: str, clock_too: bool) -> None:  # noqa: FBT001 -- a column
    """The stream id stays the same: each card is recorded once and in order, and one observation names the restart."""
    play = table("again", 0)
    for number in range(before):
        play.say(numbered(number))
        play.tick(200)
    play.settle(50)
    assert play.cards == [*range(before)]
    if hello.startswith("cable"):
        play.pull(seen=hello == "cable noticed")
    play.device.lose_power(A, clock_too=clock_too)
    out = play.device.open()
    play.up = out if hello == "heard" else b""
    for number in range(before, before + meanwhile):
        play.say(numbered(number))
        play.tick(200)
    play.plug()
    play.settle(200)
    for number in range(before + meanwhile, before + meanwhile + 20):
        play.say(numbered(number))
        play.tick(200)
    play.settle(200)
    assert play.cards == [*range(before + meanwhile + 20)]
    (lost,) = unproven(play.host.seen)
    assert isinstance(lost, Resumed)
    assert (lost.continuity, lost.expected, lost.frame.sequence) == (Continuity.UNKNOWN, str(before + 1), "1")
    later = [each for each in play.host.seen[play.host.seen.index(lost) :] if isinstance(each, CardSeen)]
    assert number_of(later[0]) == before
    assert play.device.state.store.kept == ()


@pytest.mark.parametrize("every", [60, 200, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_reused_numbers_on_a_bad_line_lose_no_card(seed: int, every: int) -> None:
    """HELLO, reports and acknowledgements of the new numbering are lost, and the host is killed."""
    play = table(f"again {seed} {every}", every, version=1 + seed % 2)
    dice, cards = play.dice, 0
    for _ in range(4):
        for _ in range(dice.randrange(5, 40)):
            play.say(numbered(cards))
            cards += 1
            if dice.random() < 0.03:
                play.kill = dice.random() < 0.5
            play.tick(dice.choice((5, 50, 700)))
        play.settle(400)
        assert play.cards == [*range(cards)]
        play.line.every = every
        play.device.lose_power(A, clock_too=True)
        play.up = play.device.open()
    play.settle(400)
    assert len(unproven(play.host.seen)) >= 3
    assert losses_on_record(play.host.seen)


def test_a_restored_memory_is_compared_report_by_report() -> None:
    """The memory of a device is reset to an older state: equal reports are copies, the first difference is new."""
    play = table("restored", 0)
    play.settle(5)
    play.pull(seen=False)
    for number in range(3):
        play.say(numbered(number))
    older = play.device.state
    play.plug()
    play.settle(100)
    for number in range(3, 6):
        play.say(numbered(number))
        play.tick(200)
    play.pull(seen=True)
    play.device.state = older
    for number in range(6, 12):
        play.tick(200)
        play.say(numbered(number))
    play.plug()
    play.settle(200)
    assert play.cards == [*range(12)]
    (lost,) = unproven(play.host.seen)
    assert isinstance(lost, Resumed)
    assert (lost.expected, lost.frame.sequence) == ("7", "4")


@pytest.mark.parametrize("every", [60, 300, 1000])
@pytest.mark.parametrize("seed", range(6))
def test_a_set_of_a_shuffler_arrives_completely(seed: int, every: int) -> None:
    """Its long messages are torn more often than cards; the order of each set is still joined."""
    clock = Clock()
    device = Device(clock, role="shuffler", version=2)
    play = Table(f"sets {seed} {every}", every, device, Host(clock, role="shuffler", intake=Intake(A)))
    orders = [play.dice.sample(FACES * 8, 416) for _ in range(4)]
    for number, order in enumerate(orders):
        for body in shuffled(f"set {number}", order):
            play.say(body)
            if play.dice.random() < 0.1:
                play.kill = play.dice.random() < 0.5
            play.tick(play.dice.choice((5, 50, 700)))
    play.settle()
    sets = [each for each in play.host.seen if isinstance(each, SetDeliverySeen)]
    assert [each.set_id for each in sets] == [f"set {number}" for number in range(4)]
    assert [each.order for each in sets] == [tuple(OURS[face] for face in order) for order in orders]
    assert all(set(each.counts.values()) == {8} for each in sets)
    assert [type(each) for each in play.host.seen].count(ShuffleEnded) == 4
    assert unproven(play.host.seen) == []


def shuffled(name: str, order: list[OpenShoeFace]) -> list[ReportBody]:
    counts = tuple(order.count(face) for face in FACES)
    parts = [CardOrder(name, at + 1, tuple(order[at : at + 100])) for at in range(0, len(order), 100)]
    return [Recognised(name), Shuffling(), Shuffled(), Inventory(name, counts, 0), *parts, Delivered(name)]


@pytest.mark.parametrize("seed", range(12))
def test_a_second_host_that_only_listens_records_its_losses(seed: int) -> None:
    """It listens to the same device on its own line, sends no requests, and records no card twice."""
    play = table(f"listener {seed}", 400)
    worn, listener = Worn(play.dice, 300), Host(play.clock, LISTENING)
    listener.take(LinkUp(PORT))
    for number in range(CARDS):
        play.say(numbered(number))
        for part in worn.carry(play.up):
            assert listener.hear(part) == b""
        play.tick(play.dice.choice((5, 50, 700)))
    heard = [number_of(each) for each in listener.seen if isinstance(each, CardSeen)]
    assert len(heard) > CARDS // 2
    assert heard != play.cards
    assert losses_on_record(listener.seen[listener.seen.index(first_card(listener)) :], heard[0] - 1)


def first_card(host: Host) -> CardSeen:
    return next(each for each in host.seen if isinstance(each, CardSeen))
