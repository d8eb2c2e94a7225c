"""The counters of a table, from the start of its desk.

Theory of operation: pure rooms count nothing. The desk passes each Step to its Counters, once when the engine has made
it and once after its commit. `shoed.service.metrics` reads the counters when a client requests them.
"""

from bisect import bisect_left
from collections import Counter, deque
from time import monotonic
from typing import Final

from shoed.model.findings import Finding
from shoed.model.observations import Device, FrameRejected, Observation, Replied, Reported
from shoed.model.step import Received, Step

# Seconds. A commit takes 0.1 ms on a fast disk; the watchdog reports a standstill after 30 s.
BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)

# Committed Steps that await their acknowledgement. With more, as while the broker is down, the oldest has no time.
MOST_AWAITED: Final = 1000


class Histogram:
    """Durations in seconds, counted by size."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)  # the last: longer than every bound
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total_s += seconds


class Counters:
    """The counters of one table. They outlive its desk: a counter does not decrease within a process."""

    def __init__(self) -> None:
        self.bytes: Counter[Device] = Counter()
        self.frames: Counter[Device] = Counter()
        self.observations: Counter[tuple[Device, type[Observation]]] = Counter()
        self.rejections: Counter[tuple[Device, str]] = Counter()  # by the reason
        self.rejected_bytes: Counter[tuple[Device, str]] = Counter()
        self.findings: Counter[type[Finding]] = Counter()
        self.events: Counter[str] = Counter()  # by type
        self.events_published = 0  # with repetitions
        self.events_acknowledged = 0
        self.byte_to_commit = Histogram()
        self.commit_to_acknowledgement = Histogram()
        # The last event of each Step, and the moment of its commit.
        self.awaited: deque[tuple[int, float]] = deque(maxlen=MOST_AWAITED)

    def made(self, step: Step) -> None:
        """Count the observations of a Step. Consecutive observations of one frame count one frame."""
        offset = None
        for seen in step.observations:
            self.observations[seen.device, type(seen)] += 1
            if isinstance(seen, Reported | Replied):
                if seen.frame.offset != offset:
                    offset = seen.frame.offset
                    self.frames[seen.device] += 1
            elif isinstance(seen, FrameRejected):
                self.rejections[seen.device, seen.reason] += seen.count
                self.rejected_bytes[seen.device, seen.reason] += seen.size

    def committed(self, step: Step) -> None:
        """Count the results of a committed Step."""
        moment = monotonic()
        if isinstance(step.input, Received):
            self.byte_to_commit.add(moment - step.now.mono_ns / 1e9)
        for finding in step.findings:
            self.findings[type(finding)] += 1
        for event in step.events:
            self.events[event.type] += 1
        if step.events:
            self.awaited.append((step.events[-1].sequence, moment))

    def published(self) -> None:
        """One event was sent; a repetition counts again."""
        self.events_published += 1

    def acknowledged(self, sequence: int, count: int) -> None:
        """The broker has acknowledged every event up to this sequence number; `count` of them are new."""
        self.events_acknowledged += count
        moment = monotonic()
        while self.awaited and self.awaited[0][0] <= sequence:
            self.commit_to_acknowledgement.add(moment - self.awaited.popleft()[1])
