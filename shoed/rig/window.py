"""The window of a shoe and the hand before it, as physics: when cards pass, and what a reader tells of them.

Theory of operation: a card lies behind the window and is pulled by a hand whose stroke begins and ends at rest
and is as smooth as it can be (minimum jerk). Two cards that are drawn together move in one stroke, the second
some millimetres behind the first; what the stroke leaves in the window goes with the next one. One reader
times the edges; the other tells nothing but cards and faults, over a serial line. All from a seed.

Everything here is in millimetres and seconds, and nothing of the detector's. That a card is 88.9 mm long and what
the line takes for a byte is documented; all the rest is assumed.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from shoed.observations import FaultMeaning


@dataclass(frozen=True, slots=True)
class Physics:
    card_mm: float = 88.9  # drawn the long way
    exit_mm: float = 20.0  # from where a card rests to the window
    stroke_mm: float = 250.0  # how far a hand pulls
    stroke_s: float = 0.40
    stroke_spread: float = 0.20  # of its logarithm
    return_s: float = 0.35  # until the hand begins the next stroke
    return_spread: float = 0.30
    pause_share: float = 0.20  # strokes before which the hand does something else
    pause_s: float = 1.5  # on average
    stop_share: float = 0.01  # strokes that stop on their way
    stop_s: float = 0.5  # on average
    lag_mm: float = 25.0  # of the second of two cards: the scale of a half-normal distribution
    step_mm: float = 0.5  # a second leading edge nearer to the first is not seen as one
    jitter_s: float = 0.0003  # of an edge
    tick_s: float = 0.0001  # of the device's clock
    thickness_error_share: float = 0.00001  # doubles that are missed, and single cards that are called double
    unread_share: float = 0.0005  # cards that lie alone in the window and are not read
    code_mm: float = 15.0  # of a card has to be uncovered to be read
    read_s: float = 0.02  # from the trailing edge to the report
    slow_s: float = 1.0  # in the window, and the shoe says that the draw timed out
    silent_share: float = 0.2  # covered cards of which the shoe says nothing at all
    byte_s: float = 0.00208  # 4800 8N1


REPORT_BYTES: Final = 8
BYTES_OF_ALL_COPIES: Final = 3 * REPORT_BYTES
# What a shoe says of a covered card, if it says something: so often each.
SAYS: Final = {FaultMeaning.UNREAD: 5, FaultMeaning.BAD_CODE: 2, FaultMeaning.SLOW: 1}

# How far a stroke has come at each thousandth of its time: 10 t^3 - 15 t^4 + 6 t^5.
STEPS: Final = 1000
WAY: Final = [10 * t**3 - 15 * t**4 + 6 * t**5 for t in (step / STEPS for step in range(STEPS + 1))]


class Passage(NamedTuple):
    """One card at the window."""

    leading_s: float
    trailing_s: float


class Draw(NamedTuple):
    passages: tuple[Passage, ...]  # one card, or two together
    lag_mm: float = 0.0


class Told(NamedTuple):
    """What a reader says, and when the host hears it."""

    at_s: float
    draw: int
    card: int | None = None  # of the draw: 0 the first, 1 the second; None: no face
    fault: FaultMeaning | None = None  # it is no card, but a fault
    edges: Passage | None = None
    double: bool = False


class Stroke(NamedTuple):
    begins_s: float
    lasts_s: float
    returns_s: float
    stops_mm: float
    stops_s: float


class Hand:
    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice
        self.free_s = 0.0  # the hand is back

    def draw(self, *, together: bool) -> Draw:
        physics, dice = self.physics, self.dice
        begins_s = self.free_s
        if dice.random() < physics.pause_share:
            begins_s += dice.expovariate(1 / physics.pause_s)
        stroke = Stroke(
            begins_s,
            physics.stroke_s * dice.lognormvariate(0, physics.stroke_spread),
            physics.return_s * dice.lognormvariate(0, physics.return_spread),
            dice.uniform(0, physics.stroke_mm),
            dice.expovariate(1 / physics.stop_s) if dice.random() < physics.stop_share else 0.0,
        )
        lag_mm = abs(dice.gauss(0, physics.lag_mm)) if together else 0.0
        behind = (0.0, lag_mm) if together else (0.0,)
        ends_mm = physics.exit_mm + physics.card_mm
        passages = tuple(
            Passage(self.at(stroke, physics.exit_mm + lag), self.at(stroke, ends_mm + lag)) for lag in behind
        )
        strokes = 2 if ends_mm + lag_mm > physics.stroke_mm else 1
        self.free_s = begins_s + stroke.stops_s + strokes * (stroke.lasts_s + stroke.returns_s)
        return Draw(passages, lag_mm)

    def at(self, stroke: Stroke, way_mm: float) -> float:
        """When a card has come so far."""
        share = way_mm / self.physics.stroke_mm
        at_s = stroke.begins_s + (stroke.stops_s if way_mm > stroke.stops_mm else 0.0)
        if share <= 1:
            return at_s + moved(share) * stroke.lasts_s
        # What is still in the window goes with the next stroke.
        return at_s + stroke.lasts_s + stroke.returns_s + moved(min(share - 1, 1)) * stroke.lasts_s


def moved(share: float) -> float:
    """At which part of its time a stroke has come so far."""
    step = min(bisect(WAY, share), STEPS)
    before, after = WAY[step - 1], WAY[step]
    return (step - 1 + (share - before) / (after - before)) / STEPS


class EdgeReader:
    """A reader that times both edges of each card on its own clock, and measures the thickness."""

    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice

    def tell(self, draws: Sequence[Draw]) -> list[Told]:
        return [told for number, draw in enumerate(draws) for told in self.tell_one(number, draw)]

    def tell_one(self, number: int, draw: Draw) -> list[Told]:
        physics, dice = self.physics, self.dice
        mistaken = dice.random() < physics.thickness_error_share
        first, last = draw.passages[0], draw.passages[-1]
        if len(draw.passages) == 1:
            return [self.card(number, 0, first, double=mistaken)]
        if draw.lag_mm < physics.step_mm:  # one passage; the face is that of either
            both = Passage(first.leading_s, last.trailing_s)
            return [self.card(number, dice.randrange(2), both, double=not mistaken)]
        return [
            self.card(number, 0, first),
            self.card(number, None if draw.lag_mm < physics.code_mm else 1, last),
        ]

    def card(self, draw: int, card: int | None, passage: Passage, *, double: bool = False) -> Told:
        read = card if self.dice.random() >= self.physics.unread_share else None
        edges = Passage(self.timed(passage.leading_s), self.timed(passage.trailing_s))
        return Told(passage.trailing_s + self.physics.read_s, draw, read, edges=edges, double=double)

    def timed(self, at_s: float) -> float:
        return round((at_s + self.dice.gauss(0, self.physics.jitter_s)) / self.physics.tick_s) * self.physics.tick_s


class SerialReader:
    """A reader that tells one card after the other over a slow line, each report so many times, and no edges."""

    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice

    def tell(self, draws: Sequence[Draw]) -> list[Told]:
        ready = sorted(
            (told for number, draw in enumerate(draws) for told in self.ready(number, draw)), key=lambda told: told.at_s
        )
        heard, free_s = [], 0.0
        for told in ready:
            begins_s = max(told.at_s, free_s)
            free_s = begins_s + BYTES_OF_ALL_COPIES * self.physics.byte_s
            heard.append(told._replace(at_s=begins_s + REPORT_BYTES * self.physics.byte_s))
        return heard

    def ready(self, number: int, draw: Draw) -> Iterator[Told]:
        """What the reader has to say of a draw, and from when on."""
        for card, passage in enumerate(draw.passages):
            slow_s, ready_s = passage.leading_s + self.physics.slow_s, passage.trailing_s + self.physics.read_s
            if passage.trailing_s > slow_s:
                yield Told(slow_s, number, fault=FaultMeaning.SLOW)
            covered = card > 0 and draw.lag_mm < self.physics.code_mm
            if not covered and self.dice.random() >= self.physics.unread_share:
                yield Told(ready_s, number, card)
            elif not covered:
                yield Told(ready_s, number, fault=FaultMeaning.UNREAD)
            elif self.dice.random() >= self.physics.silent_share:
                (fault,) = self.dice.choices(list(SAYS), list(SAYS.values()))
                yield Told(slow_s if fault is FaultMeaning.SLOW else ready_s, number, fault=fault)


def deal(physics: Physics, dice: Random, draws: int, together_share: float) -> Sequence[Draw]:
    """So many draws; of which share two cards come together."""
    hand = Hand(physics, dice)
    return [hand.draw(together=dice.random() < together_share) for _ in range(draws)]
