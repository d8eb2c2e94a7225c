"""The moments at which cards of an Open Shoe were drawn: with clock drift, delays, absences and restarts."""

from itertools import pairwise
from random import Random
from typing import Final

import msgspec
import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build, orders
from firmware_protocols.open_shoe.messages import (
    Alive,
    Hello,
    Identify,
    Inquire,
    Lock,
    OpenShoeAcknowledge,
    OpenShoeNotice,
    OpenShoeReport,
    OpenShoeRole,
    OpenShoeStatus,
    ReportBody,
    Resend,
)
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.model.observations import CardSeen, DrawTime
from shoed.model.step import Configured, LinkDown, LinkUp, Received, Woken
from shoed.session.open_shoe_clock import ANCHORS, Anchor, Arrival, of_alive, of_hello, of_report
from shoed.wire import Frame, LineState
from tests.open_shoe_line import PORT, START, A, Clock, Host, number_of, numbered

SECOND: Final = 1_000_000
BYTE_US: Final = 87
ALIVE_US: Final = 10 * SECOND
REPEAT_US: Final = SECOND // 2


class World:
    """A device with a wrong clock, and a host with a right clock. All moments are in microseconds of the host."""

    def __init__(self, seed: str, version: int) -> None:
        self.dice = Random(seed)
        self.version = version
        self.known_ppm = self.dice.choice([None, 10, 50, 150]) if version > 2 else None
        limit = 100 + (200 if self.known_ppm is None else self.known_ppm)
        self.rate = 1 + self.dice.uniform(-limit, limit) / 1e6 * 0.99
        self.host = Host(Clock())
        self.at = 0
        self.clock_began = -self.dice.randrange(3600 * SECOND)  # the moment at which the clock showed 0
        self.boot = self.dice.randrange(0x10000) if version > 2 else 0
        self.stream = A
        self.next = 1
        self.kept: list[OpenShoeReport] = []
        self.clock_us = 0  # of the last report
        self.plugged = self.open = False
        self.stalled_us = 0
        self.turned = True  # whether the key of the exit is turned now and then
        self.arrived = self.read = 0
        self.sent_at = 0
        self.truth: list[int] = []
        self.absent: set[int] = set()  # cards drawn during an absence

    def shows(self, at: int) -> int:
        return round((at - self.clock_began) * self.rate)

    # --- the line

    def carry(self, message: OpenShoeReport | OpenShoeNotice) -> None:
        self.sent_at = self.at
        if not self.plugged:
            return
        data = build(message)
        self.arrived = max(self.arrived, self.at + len(data) * BYTE_US + self.dice.randrange(15_000))
        self.read = max(self.read, self.arrived + self.dice.randrange(1000))
        if self.stalled_us:
            self.read += self.dice.randrange(self.stalled_us)
        late = self.read - self.arrived
        self.take(self.read, Received(data, late * 1000 if late > 50_000 else 0))

    def take(self, at: int, incoming: Received | LinkUp | LinkDown | Woken) -> None:
        self.host.clock.ms = at / 1000
        answer = self.host.take(incoming)
        _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(answer, START))
        for each in found:
            if self.plugged and isinstance(each, Frame):
                self.at = max(self.at, at)
                self.answer(each.message.body)

    def answer(self, request: object) -> None:
        match request:
            case Identify():
                self.hello()
            case OpenShoeAcknowledge(upto=upto):
                self.kept = [each for each in self.kept if (each.sequence - upto) % 65535 in range(1, 32768)]
            case Resend(start=start):
                for each in [each for each in self.kept if each.sequence >= start][:32]:
                    self.carry(each)
            case Inquire():
                self.report(OpenShoeStatus(locked=False, set_id="", faults=()), self.shows(self.at))
            case _:
                raise AssertionError(request)

    def hello(self) -> None:
        oldest = self.kept[0].sequence if self.kept else self.next
        clock_us, drift = (self.shows(self.at), self.known_ppm) if self.version > 2 else (0, None)
        names = ("Acme", "S1", "0042", "1.0")
        self.carry(
            OpenShoeNotice(
                self.version,
                Hello(self.stream, OpenShoeRole.SHOE, self.next, oldest, *names, self.boot, clock_us, drift),
            )
        )

    def plug(self) -> None:
        self.plugged = True
        if not self.open:
            self.open = True
            self.take(max(self.at, self.read), LinkUp(PORT))
        else:  # the cut was not detected: the device repeats the window
            self.wait(self.dice.randrange(REPEAT_US))
            for each in self.kept[:32]:
                self.carry(each)

    def pull(self, *, seen: bool) -> None:
        self.plugged = False
        if seen:
            self.open = False
            self.take(max(self.at, self.read), LinkDown("the cable was pulled"))

    def wait(self, duration: int) -> None:
        """Send ALIVE and wake the host, when they are due."""
        end = self.at + duration
        while True:
            due_ns = self.host.session.wake_at(self.host.state)
            woken = end if due_ns is None else max(self.at, self.read, (due_ns - START.mono_ns) // 1000 + 1)
            at = min(end, woken, max(self.at, self.sent_at + ALIVE_US))
            self.at = at
            if at >= end:
                return
            if at >= self.sent_at + ALIVE_US:
                clock_us = self.shows(at) if self.version > 2 else 0
                self.carry(OpenShoeNotice(self.version, Alive(self.stream, self.next, self.boot, clock_us)))
            else:
                self.take(at, Woken())

    # --- the device

    def report(self, body: ReportBody, clock_us: int) -> None:
        self.clock_us = max(clock_us, self.clock_us)
        report = OpenShoeReport(self.version, self.next, self.stream, self.clock_us, body, self.boot)
        self.next += 1
        self.kept.append(report)
        self.carry(report)

    def draw(self) -> None:
        card = numbered(len(self.truth))
        self.truth.append(self.at)
        if not self.plugged:
            self.absent.add(len(self.truth) - 1)
        clock_us = self.shows(self.at)
        if self.turned and not self.dice.randrange(8):  # the key is turned while the card is in the window
            self.at += self.dice.randrange(card.passage_us)
            self.report(Lock(locked=bool(self.dice.randrange(2))), self.shows(self.at))
        self.at = max(self.at, self.truth[-1] + card.passage_us)
        self.report(card, clock_us)

    def restart(self) -> None:
        """The memory survives; the clock of versions 1 and 2 continues at its last value."""
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
    world.wait(0 if seen or world.version > 2 else 12 * SECOND)  # versions 1 and 2 do not detect a shorter cut
    for _ in range(dice.randrange(8)):
        world.wait(dice.choice([dice.randrange(SECOND // 4, 4 * SECOND), dice.randrange(100 * SECOND)]))
        world.draw()
        if seen and not dice.randrange(6):
            world.restart()
    world.plug()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_true_moment_of_a_card_is_within_the_bound(version: int, seed: int) -> None:
    """The clock, the line and the host have no effect on this; the moment is never later than the arrival."""
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


def absent(version: int, *, cards: int = 10, ppm: int | None = None) -> tuple[World, list[DrawTime | None]]:
    """Two cards on an open line, and others while the cable is out: the observations of the host."""
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
    """All cards arrive ten minutes later at the same time, with the intervals at which they were drawn."""
    world, found = absent(version)
    moments = [each.utc_us for each in found if each is not None]
    arrivals = {world.cards[number].at.utc_us // SECOND for number in world.absent}
    assert len(moments) == len(found) == 10
    assert len(arrivals) <= 2
    drawn = [world.truth[number] for number in sorted(world.absent)]
    for (a, b), (true_a, true_b) in zip(pairwise(moments), pairwise(drawn), strict=True):
        assert abs((b - a) - (true_b - true_a)) < 5_000


def test_a_known_clock_bounds_a_card_that_waited() -> None:
    """The drift counts from the nearer end of the absence; versions 1 and 2 may have lost their power during it."""
    _, exact = absent(3, ppm=10)
    _, unknown = absent(3)
    _, old = absent(2)
    assert max(each.within_us for each in exact if each) < 80_000
    assert max(each.within_us for each in unknown if each) < 90_000
    assert min(each.within_us for each in old if each) > 600 * SECOND


# --- single rules


NAMES: Final = ("Acme", "S1", "0042", "1.0")
CARD: Final = numbered(7)
PASSED: Final = CARD.passage_us


def hello_anchor(
    at: int, clock_us: int, ppm: int | None = 50, *, boot: int = 7, late_ns: int = 0
) -> tuple[Anchor, ...]:
    hello = Hello(A, OpenShoeRole.SHOE, 1, 1, *NAMES, boot, clock_us, ppm)
    return of_hello((), hello, 3, Arrival(moment_of(at), 10, late_ns))


def moment_of(at: int) -> Now:
    return Now(START.utc_us + at, START.mono_ns + at * 1000)


def alive(anchors: tuple[Anchor, ...], at: int, clock_us: int) -> tuple[Anchor, ...]:
    return of_alive(anchors, Alive(A, 1, 7, clock_us), 3, Arrival(moment_of(at), 10))


def drawn(anchors: tuple[Anchor, ...], at: int, clock_us: int, *, boot: int = 7, before_us: int = 0) -> DrawTime | None:
    report = OpenShoeReport(3, 1, A, clock_us, CARD, boot)
    return of_report(anchors, report, before_us, Arrival(moment_of(at), 10), prompt=True)[1]


SOON: Final = 10 * 87 + 70_000 + 1  # the maximum delay of a frame of ten bytes


def test_hello_shows_the_clock() -> None:
    """The bound is the delay of HELLO, and the drift of both clocks."""
    found = drawn(hello_anchor(0, 0), 20 * SECOND, 10 * SECOND)
    assert found == DrawTime(START.utc_us + 10 * SECOND, SOON + 10 * 150 + 2)
    found = drawn(hello_anchor(0, 0, None), 20 * SECOND, 10 * SECOND)
    assert found == DrawTime(START.utc_us + 10 * SECOND, SOON + 10 * 300 + 2)
    found = drawn(hello_anchor(0, 0, late_ns=400_000_000), 20 * SECOND, 10 * SECOND)
    assert found == DrawTime(START.utc_us + 10 * SECOND, SOON + 400_000 + 10 * 150 + 2)


def test_nothing_is_known_of_another_power_up() -> None:
    """Each power-up has its own clock; the last few are stored, because the device may still keep their reports."""
    anchors = hello_anchor(0, 0)
    assert drawn(anchors, 20 * SECOND, 10 * SECOND, boot=8) is None
    assert drawn((), 20 * SECOND, 10 * SECOND) is None
    for boot in range(8, 7 + ANCHORS):
        hello = Hello(A, OpenShoeRole.SHOE, 1, 1, *NAMES, boot, 0, 50)
        anchors = of_hello(anchors, hello, 3, Arrival(moment_of(boot * SECOND), 10))
    assert drawn(anchors, 90 * SECOND, 10 * SECOND) is not None
    anchors = of_hello(anchors, Hello(A, OpenShoeRole.SHOE, 1, 1, *NAMES, 99, 0, 50), 3, Arrival(moment_of(0), 10))
    assert len(anchors) == ANCHORS
    assert drawn(anchors, 90 * SECOND, 10 * SECOND) is None


def test_the_smallest_delay_is_the_best_and_the_anchor_is_renewed() -> None:
    """A later frame with a smaller delay corrects the anchor; a frame with a larger delay does not."""
    anchors = alive(hello_anchor(60_000, 0), 10 * SECOND, 10 * SECOND)
    found = drawn(anchors, 20 * SECOND, 11 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 11 * SECOND
    anchors = alive(anchors, 20 * SECOND + 60_000, 20 * SECOND)
    found = drawn(anchors, 30 * SECOND, 20 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 20 * SECOND + 1501


def test_a_delayed_frame_moves_no_anchor_until_all_frames_are_delayed() -> None:
    """After 30 s of delayed frames, the clock counts as another one."""
    anchors = hello_anchor(0, 0)
    for at in range(10, 40, 10):
        anchors = alive(anchors, (at + 5) * SECOND, at * SECOND)
        found = drawn(anchors, 90 * SECOND, at * SECOND)
        assert found is not None
        assert found.utc_us == START.utc_us + at * SECOND
    found = drawn(alive(anchors, 45 * SECOND, 40 * SECOND), 90 * SECOND, 40 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 45 * SECOND


def test_a_frame_that_arrives_before_it_can_have_been_made_proves_the_anchor_wrong() -> None:
    """A notice gives a new anchor; after a report there is no anchor."""
    anchors = hello_anchor(60 * SECOND, 0)
    found = drawn(alive(anchors, 61 * SECOND, 10 * SECOND), 90 * SECOND, 20 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 71 * SECOND
    assert drawn(anchors, 61 * SECOND, 10 * SECOND) is None


def test_a_clock_that_goes_back_is_another_clock() -> None:
    """A notice may overtake a report, but not by more than a second."""
    anchors = alive(hello_anchor(0, 100 * SECOND), SECOND, 50 * SECOND)
    found = drawn(anchors, 9 * SECOND, 51 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 2 * SECOND
    anchors = hello_anchor(0, 100 * SECOND)
    assert alive(anchors, SECOND, 99_500_000) == anchors


def test_the_passage_of_a_card_ends_before_its_arrival() -> None:
    """The anchor has no effect on this."""
    found = drawn(hello_anchor(60_000, 0), 10 * SECOND + PASSED, 10 * SECOND)
    assert found is not None
    assert found.utc_us == START.utc_us + 10 * SECOND


def test_a_card_with_the_clock_of_the_previous_report_may_be_earlier() -> None:
    """The difference is its passage at most."""
    sure = drawn(hello_anchor(0, 0), 20 * SECOND, 10 * SECOND)
    found = drawn(hello_anchor(0, 0), 20 * SECOND, 10 * SECOND, before_us=10 * SECOND)
    assert sure is not None
    assert found == DrawTime(sure.utc_us, sure.within_us + PASSED)


@pytest.mark.parametrize("clock_us", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_no_clock_is_too_large(clock_us: int) -> None:
    """The state can be written, and the drift of a year gives no moment."""
    anchors = hello_anchor(0, clock_us)
    for other in (0, 1 << 62, (1 << 64) - 1):
        found = drawn(alive(anchors, SECOND, other), 2 * SECOND, clock_us)
        assert found is None or found.within_us <= 86_400 * SECOND
    assert msgspec.json.decode(msgspec.json.encode(anchors), type=tuple[Anchor, ...]) == anchors
    assert drawn(hello_anchor(0, 0), SECOND, 1 << 60) is None


def test_a_restarted_host_has_no_valid_anchor() -> None:
    """Its monotonic clock restarted, so that the difference to UTC has changed."""
    for since_ns, known in ((60_000_000_000, True), (-5_000_000_000, False)):
        host, clock = known_host()
        at = clock.now
        later = Now(at.utc_us + 60 * SECOND, at.mono_ns + since_ns)
        state, _ = host.session.step(host.state, Configured("{}", 8, "1"), later)
        assert bool(state.anchors) is known


def known_host() -> tuple[Host, Clock]:
    clock = Clock()
    host = Host(clock)
    host.take(LinkUp(PORT))
    host.hear(build(OpenShoeNotice(3, Hello(A, OpenShoeRole.SHOE, 1, 1, *NAMES, 7, 0))))
    return host, clock


def test_a_clock_that_jumps_gives_no_moment() -> None:
    """The rule applies while the doubt is active; then HELLO or ALIVE gives a new anchor."""
    host, clock = known_host()
    seen = []
    for number, clock_s in enumerate((5, 500, 501), start=1):
        clock.ms = number * 1000.0
        seen += host.hears(build(OpenShoeReport(3, number, A, clock_s * SECOND, CARD, 7)))
    found = [each.drawn for each in seen if isinstance(each, CardSeen)]
    assert found[1:] == [None, None]
    clock.ms += 1000
    host.hear(build(OpenShoeNotice(3, Alive(A, 4, 7, 502 * SECOND))))
    clock.ms += 1000
    (card,) = host.hears(build(OpenShoeReport(3, 4, A, 503 * SECOND - PASSED, CARD, 7)))
    assert isinstance(card, CardSeen)
    assert card.drawn is not None
