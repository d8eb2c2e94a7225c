"""When cards of an Open Shoe were drawn: by a clock that drifts, on a line that delays, over absences and restarts."""

from itertools import pairwise
from random import Random
from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build, orders
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Hello,
    Identify,
    Inquire,
    Lock,
    Notice,
    Report,
    Reported,
    Resend,
    Role,
    Status,
)
from shoed import wire
from shoed.now import Chunk
from shoed.observations import CardSeen, Drawn
from shoed.step import LinkDown, LinkUp, Received, Woken
from shoed.wire import Frame, LineState
from tests.open_shoe_line import PORT, START, A, Clock, Host, number_of, numbered

SECOND: Final = 1_000_000
BYTE_US: Final = 87
ALIVE_US: Final = 10 * SECOND
REPEAT_US: Final = SECOND // 2


class World:
    """A device whose clock runs wrong, and a host with a true one. All moments are in microseconds of the host."""

    def __init__(self, seed: str, version: int) -> None:
        self.dice = Random(seed)
        self.version = version
        self.known_ppm = self.dice.choice([None, 10, 50, 150]) if version > 2 else None
        limit = 100 + (200 if self.known_ppm is None else self.known_ppm)
        self.rate = 1 + self.dice.uniform(-limit, limit) / 1e6 * 0.99
        self.host = Host(Clock())
        self.at = 0
        self.clock_began = -self.dice.randrange(3600 * SECOND)  # when the clock showed nothing
        self.boot = self.dice.randrange(0x10000) if version > 2 else 0
        self.stream = A
        self.next = 1
        self.kept: list[Report] = []
        self.clock_us = 0  # of the last report
        self.plugged = self.open = False
        self.stalled_us = 0
        self.turned = True  # now and then its key is
        self.arrived = self.read = 0
        self.said = 0
        self.truth: list[int] = []
        self.absent: set[int] = set()  # cards of an absence

    def shows(self, at: int) -> int:
        return round((at - self.clock_began) * self.rate)

    # --- the line

    def carry(self, said: Report | Notice) -> None:
        self.said = self.at
        if not self.plugged:
            return
        data = build(said)
        self.arrived = max(self.arrived, self.at + len(data) * BYTE_US + self.dice.randrange(15_000))
        self.read = max(self.read, self.arrived + self.dice.randrange(1000))
        if self.stalled_us:
            self.read += self.dice.randrange(self.stalled_us)
        late = self.read - self.arrived
        self.take(self.read, Received(data, late * 1000 if late > 50_000 else 0))

    def take(self, at: int, came: Received | LinkUp | LinkDown | Woken) -> None:
        self.host.clock.ms = at / 1000
        answer = self.host.take(came)
        _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(answer, START))
        for each in found:
            if self.plugged and isinstance(each, Frame):
                self.at = max(self.at, at)
                self.answer(each.message.said)

    def answer(self, said: object) -> None:
        match said:
            case Identify():
                self.hello()
            case Acknowledge(upto=upto):
                self.kept = [each for each in self.kept if (each.sequence - upto) % 65535 in range(1, 32768)]
            case Resend(start=start):
                for each in [each for each in self.kept if each.sequence >= start][:32]:
                    self.carry(each)
            case Inquire():
                self.report(Status(locked=False, set_id="", faults=()), self.shows(self.at))
            case _:
                raise AssertionError(said)

    def hello(self) -> None:
        oldest = self.kept[0].sequence if self.kept else self.next
        clock_us, drift = (self.shows(self.at), self.known_ppm) if self.version > 2 else (0, None)
        names = ("Acme", "S1", "0042", "1.0")
        self.carry(
            Notice(self.version, Hello(self.stream, Role.SHOE, self.next, oldest, *names, self.boot, clock_us, drift))
        )

    def plug(self) -> None:
        self.plugged = True
        if not self.open:
            self.open = True
            self.take(max(self.at, self.read), LinkUp(PORT))
        else:  # the cable was cut unseen: the window is repeated
            self.wait(self.dice.randrange(REPEAT_US))
            for each in self.kept[:32]:
                self.carry(each)

    def pull(self, *, seen: bool) -> None:
        self.plugged = False
        if seen:
            self.open = False
            self.take(max(self.at, self.read), LinkDown("the cable was pulled"))

    def wait(self, duration: int) -> None:
        """ALIVE is said, and the host is woken, when they are due."""
        end = self.at + duration
        while True:
            due_ns = self.host.session.wake_at(self.host.state)
            woken = end if due_ns is None else max(self.at, self.read, (due_ns - START.mono_ns) // 1000 + 1)
            at = min(end, woken, max(self.at, self.said + ALIVE_US))
            self.at = at
            if at >= end:
                return
            if at >= self.said + ALIVE_US:
                clock_us = self.shows(at) if self.version > 2 else 0
                self.carry(Notice(self.version, Alive(self.stream, self.next, self.boot, clock_us)))
            else:
                self.take(at, Woken())

    # --- the device

    def report(self, said: Reported, clock_us: int) -> None:
        self.clock_us = max(clock_us, self.clock_us)
        report = Report(self.version, self.next, self.stream, self.clock_us, said, self.boot)
        self.next += 1
        self.kept.append(report)
        self.carry(report)

    def draw(self) -> None:
        card = numbered(len(self.truth))
        self.truth.append(self.at)
        if not self.plugged:
            self.absent.add(len(self.truth) - 1)
        clock_us = self.shows(self.at)
        if self.turned and not self.dice.randrange(8):  # while it is in the window, the key is turned
            self.at += self.dice.randrange(card.passage_us)
            self.report(Lock(locked=bool(self.dice.randrange(2))), self.shows(self.at))
        self.at = max(self.at, self.truth[-1] + card.passage_us)
        self.report(card, clock_us)

    def restart(self) -> None:
        """Its memory survives; the clock of versions 1 and 2 goes on where it stood."""
        stood = self.shows(self.at) if self.version < 3 else 0
        self.wait_dark(self.dice.randrange(SECOND, 100 * SECOND))
        self.clock_began = self.at - round(stood / self.rate)
        if self.version > 2:
            self.boot = (self.boot + 1) % 0x10000
            self.clock_us = 0
        self.hello()

    def wait_dark(self, duration: int) -> None:
        self.at += duration

    @property
    def cards(self) -> dict[int, CardSeen]:
        return {number_of(each): each for each in self.host.seen if isinstance(each, CardSeen)}


def live(seed: str, version: int, steps: int = 150) -> World:
    world = World(seed, version)
    dice = world.dice
    world.plug()
    for _ in range(3):
        world.wait(dice.randrange(SECOND, 8 * SECOND))
        world.draw()
    for _ in range(steps):
        world.wait(dice.choice([dice.randrange(SECOND // 4, SECOND), dice.randrange(12 * SECOND), 700 * SECOND]))
        world.stalled_us = dice.choice([0, 0, 0, 60_000, 3 * SECOND])
        match dice.randrange(12):
            case 0:
                world.restart()
            case 1 | 2:
                away(world)
            case _:
                world.draw()
    world.stalled_us = 0
    return world


def away(world: World) -> None:
    dice, seen = world.dice, bool(world.dice.randrange(2))
    world.pull(seen=seen)
    world.wait(0 if seen or world.version > 2 else 12 * SECOND)  # a shorter cut is not seen by versions 1 and 2
    for _ in range(dice.randrange(8)):
        world.wait(dice.choice([dice.randrange(SECOND // 4, 4 * SECOND), dice.randrange(100 * SECOND)]))
        world.draw()
        if seen and not dice.randrange(6):
            world.restart()
    world.plug()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_true_moment_of_a_card_is_within_the_bound(version: int, seed: int) -> None:
    """Whatever the clock, the line and the host do; and it is never later than the arrival."""
    world = live(f"{version} {seed}", version)
    cards, known = world.cards, 0
    assert len(cards) == len(world.truth)
    for number, true_us in enumerate(world.truth):
        drawn = cards[number].drawn
        if drawn is not None:
            known += 1
            assert drawn.utc_us <= cards[number].at.utc_us
            assert abs(drawn.utc_us - START.utc_us - true_us) <= drawn.within_us, number
    assert known > len(world.truth) * 0.6


def absent(version: int, *, cards: int = 10, ppm: int | None = None) -> tuple[World, list[Drawn | None]]:
    """Two cards on an open line, and others while the cable is out: what the host makes of these."""
    world = World("absent", version)
    world.known_ppm, world.turned = ppm, False
    world.plug()
    for _ in range(2):
        world.wait(5 * SECOND)
        world.draw()
    world.wait(SECOND)
    world.pull(seen=True)
    for _ in range(cards):
        world.wait(2 * SECOND)
        world.draw()
    world.wait(600 * SECOND)
    world.plug()
    return world, [world.cards[number].drawn for number in sorted(world.absent)]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_cards_that_waited_have_their_own_moments(version: int) -> None:
    """All arrive at once, ten minutes later, and are as far from each other as they were drawn."""
    world, found = absent(version)
    moments = [each.utc_us for each in found if each is not None]
    arrivals = {world.cards[number].at.utc_us // SECOND for number in world.absent}
    assert len(moments) == len(found) == 10
    assert len(arrivals) <= 2
    drawn = [world.truth[number] for number in sorted(world.absent)]
    for (a, b), (true_a, true_b) in zip(pairwise(moments), pairwise(drawn), strict=True):
        assert abs((b - a) - (true_b - true_a)) < 5_000


def test_a_clock_that_is_known_bounds_a_card_that_waited() -> None:
    """By its drift from the nearer end of the absence; versions 1 and 2 may have been without power in it."""
    _, exact = absent(3, ppm=10)
    _, unknown = absent(3)
    _, old = absent(2)
    assert max(each.within_us for each in exact if each) < 80_000
    assert max(each.within_us for each in unknown if each) < 90_000
    assert min(each.within_us for each in old if each) > 600 * SECOND
