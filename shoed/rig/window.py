"""A physical model of the shoe's window and the dealer's hand: the times of cards, and the reports of a reader.

Theory of operation: a card lies in the shoe, before the window. A hand pulls it. The stroke begins and ends at rest
and has minimum jerk. Two cards that are drawn together move in one stroke, the second some millimetres after the
first. A card that the stroke leaves in the window moves with the next stroke. One reader measures the edges of cards;
the other one reports only cards and faults, over a serial line. The model is seeded.

All quantities are in millimetres and seconds, and none is taken from the detector. The length of a card, 88.9 mm,
and the time of a byte on the line are documented; all other values are assumed.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from shoed.model.observations import FaultMeaning


@dataclass(frozen=True, slots=True)
class Physics:
    card_mm: float = 88.9  # the length of a card in the direction of the draw
    exit_mm: float = 20.0  # from the resting card to the window
    stroke_mm: float = 250.0  # the length of a stroke
    stroke_s: float = 0.40
    stroke_spread: float = 0.20  # the standard deviation of its logarithm
    return_s: float = 0.35  # the time before the next stroke
    return_spread: float = 0.30
    pause_share: float = 0.20  # the share of strokes with a pause before them
    pause_s: float = 1.5  # on average
    stop_share: float = 0.01  # the share of strokes that stop on their way
    stop_s: float = 0.5  # on average
    lag_mm: float = 25.0  # the distance of the second of two cards: the scale of a half-normal distribution
    step_mm: float = 0.5  # a second leading edge closer than this to the first is not detected
    jitter_s: float = 0.0003  # the jitter of an edge
    tick_s: float = 0.0001  # the resolution of the device's clock
    thickness_error_share: float = (
        0.00001  # the share of doubles that are missed, and of single cards that count as double
    )
    unread_share: float = 0.0005  # the share of single cards in the window that are not read
    code_mm: float = 15.0  # the part of a card that must be uncovered for reading
    read_s: float = 0.02  # from the trailing edge to the report
    slow_s: float = 1.0  # a card that is longer in the window makes the shoe report a draw that timed out
    silent_share: float = 0.2  # the share of covered cards that the shoe does not report
    byte_s: float = 0.00208  # 4800 8N1


REPORT_BYTES: Final = 8
BYTES_OF_ALL_COPIES: Final = 3 * REPORT_BYTES
# The reports of a covered card, if there is one, with their weights.
SAYS: Final = {FaultMeaning.UNREAD: 5, FaultMeaning.BAD_CODE: 2, FaultMeaning.SLOW: 1}

# The position of a stroke at each thousandth of its time: 10 t^3 - 15 t^4 + 6 t^5.
STEPS: Final = 1000
WAY: Final = [10 * t**3 - 15 * t**4 + 6 * t**5 for t in (step / STEPS for step in range(STEPS + 1))]


class CardPassage(NamedTuple):
    """The times of one card at the window."""

    leading_s: float
    trailing_s: float


class Draw(NamedTuple):
    passages: tuple[CardPassage, ...]  # one card, or two together
    lag_mm: float = 0.0


class ReaderReport(NamedTuple):
    """One report, and the time at which the host receives it."""

    at_s: float
    draw: int
    card: int | None = None  # the index in the draw, 0 or 1; None: no face
    fault: FaultMeaning | None = None  # the report is a fault, not a card
    edges: CardPassage | None = None
    double: bool = False


class Stroke(NamedTuple):
    begins_s: float
    lasts_s: float
    returns_s: float
    stops_mm: float
    stops_s: float


class DealerHand:
    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice
        self.free_s = 0.0  # when the hand is free again

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
        lags_mm = (0.0, lag_mm) if together else (0.0,)
        ends_mm = physics.exit_mm + physics.card_mm
        passages = tuple(
            CardPassage(self.at(stroke, physics.exit_mm + lag), self.at(stroke, ends_mm + lag)) for lag in lags_mm
        )
        strokes = 2 if ends_mm + lag_mm > physics.stroke_mm else 1
        self.free_s = begins_s + stroke.stops_s + strokes * (stroke.lasts_s + stroke.returns_s)
        return Draw(passages, lag_mm)

    def at(self, stroke: Stroke, way_mm: float) -> float:
        """When a card has moved this far."""
        share = way_mm / self.physics.stroke_mm
        at_s = stroke.begins_s + (stroke.stops_s if way_mm > stroke.stops_mm else 0.0)
        if share <= 1:
            return at_s + moved(share) * stroke.lasts_s
        # A card that is still in the window moves with the next stroke.
        return at_s + stroke.lasts_s + stroke.returns_s + moved(min(share - 1, 1)) * stroke.lasts_s


def moved(share: float) -> float:
    """Return the part of the stroke's time after which it has moved this share of its way."""
    step = min(bisect(WAY, share), STEPS)
    before, after = WAY[step - 1], WAY[step]
    return (step - 1 + (share - before) / (after - before)) / STEPS


class EdgeReader:
    """A reader that measures both edges of each card with its own clock, and the thickness of the card."""

    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice

    def reports(self, draws: Sequence[Draw]) -> list[ReaderReport]:
        return [report for number, draw in enumerate(draws) for report in self.reports_of_draw(number, draw)]

    def reports_of_draw(self, number: int, draw: Draw) -> list[ReaderReport]:
        physics, dice = self.physics, self.dice
        mistaken = dice.random() < physics.thickness_error_share
        first, last = draw.passages[0], draw.passages[-1]
        if len(draw.passages) == 1:
            return [self.card(number, 0, first, double=mistaken)]
        if draw.lag_mm < physics.step_mm:  # one passage; the face is the face of either card
            both = CardPassage(first.leading_s, last.trailing_s)
            return [self.card(number, dice.randrange(2), both, double=not mistaken)]
        return [
            self.card(number, 0, first),
            self.card(number, None if draw.lag_mm < physics.code_mm else 1, last),
        ]

    def card(self, draw: int, card: int | None, passage: CardPassage, *, double: bool = False) -> ReaderReport:
        read = card if self.dice.random() >= self.physics.unread_share else None
        edges = CardPassage(self.timed(passage.leading_s), self.timed(passage.trailing_s))
        return ReaderReport(passage.trailing_s + self.physics.read_s, draw, read, edges=edges, double=double)

    def timed(self, at_s: float) -> float:
        return round((at_s + self.dice.gauss(0, self.physics.jitter_s)) / self.physics.tick_s) * self.physics.tick_s


class SerialReader:
    """A reader that reports one card after the other over a slow line, each report in several copies, and no edges."""

    def __init__(self, physics: Physics, dice: Random) -> None:
        self.physics = physics
        self.dice = dice

    def reports(self, draws: Sequence[Draw]) -> list[ReaderReport]:
        ready = sorted(
            (report for number, draw in enumerate(draws) for report in self.ready(number, draw)),
            key=lambda report: report.at_s,
        )
        heard, free_s = [], 0.0
        for report in ready:
            begins_s = max(report.at_s, free_s)
            free_s = begins_s + BYTES_OF_ALL_COPIES * self.physics.byte_s
            heard.append(report._replace(at_s=begins_s + REPORT_BYTES * self.physics.byte_s))
        return heard

    def ready(self, number: int, draw: Draw) -> Iterator[ReaderReport]:
        """Return the reports of a draw, each with the time at which the reader has it."""
        for card, passage in enumerate(draw.passages):
            slow_s, ready_s = passage.leading_s + self.physics.slow_s, passage.trailing_s + self.physics.read_s
            if passage.trailing_s > slow_s:
                yield ReaderReport(slow_s, number, fault=FaultMeaning.SLOW)
            covered = card > 0 and draw.lag_mm < self.physics.code_mm
            if not covered and self.dice.random() >= self.physics.unread_share:
                yield ReaderReport(ready_s, number, card)
            elif not covered:
                yield ReaderReport(ready_s, number, fault=FaultMeaning.UNREAD)
            elif self.dice.random() >= self.physics.silent_share:
                (fault,) = self.dice.choices(list(SAYS), list(SAYS.values()))
                yield ReaderReport(slow_s if fault is FaultMeaning.SLOW else ready_s, number, fault=fault)


def deal(physics: Physics, dice: Random, draws: int, together_share: float) -> Sequence[Draw]:
    """Return a number of draws; in this share of them two cards are drawn together."""
    hand = DealerHand(physics, dice)
    return [hand.draw(together=dice.random() < together_share) for _ in range(draws)]
