"""Rejected bytes of a line: one observation for each of the first rejections, then a count for each reason.

Theory of operation: a rejection begins a window of 10 s. Up to 16 rejections of the first window become observations at
once. The first rejection for each reason becomes an observation at once in every window. All other rejections are
counted. At the end of the window each counted reason has one observation, with the last rejection and the count. While
rejections are counted, a further window follows. A window without counted rejections ends the series. A noisy line
therefore makes a bounded number of observations, and the division of the bytes into chunks has no influence.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.moments import Now
from shoed.model.observations import FrameRejected

OBSERVED: Final = 16  # in one window; a damaged report and its copies make about six
WINDOW_NS: Final = 10_000_000_000  # contract: counts are published every 10 s


class CountedRejections(msgspec.Struct, frozen=True):
    """The rejections for one reason."""

    last: FrameRejected
    count: int
    size: int  # bytes of all these rejections


class RejectionWindow(msgspec.Struct, frozen=True):
    until: int  # monotonic ns
    observed: int
    counted: tuple[CountedRejections, ...] = ()
    reasons: tuple[str, ...] = ()  # all reasons since the series began

    @property
    def due(self) -> int | None:
        """When the counts are observed, on the monotonic clock."""
        return self.until if self.counted else None


def reject(state: RejectionWindow | None, rejected: FrameRejected) -> tuple[RejectionWindow, FrameRejected | None]:
    """Add a rejection. The second value is the observation, or None for a counted rejection."""
    at_ns = rejected.at.mono_ns
    if state is None or (not state.counted and not state.until - WINDOW_NS <= at_ns < state.until):
        # A boot restarts the monotonic clock, so `until` may be far in the future.
        state = RejectionWindow(at_ns + WINDOW_NS, 0)
    if rejected.reason not in state.reasons:
        return replace(state, observed=state.observed + 1, reasons=(*state.reasons, rejected.reason)), rejected
    if state.observed < OBSERVED:
        return replace(state, observed=state.observed + 1), rejected
    before = next(
        (each for each in state.counted if each.last.reason == rejected.reason), CountedRejections(rejected, 0, 0)
    )
    now = CountedRejections(rejected, before.count + 1, before.size + rejected.size)
    others = tuple([each for each in state.counted if each is not before])
    return replace(state, counted=(*others, now)), None


def counts(state: RejectionWindow, now: Now) -> tuple[RejectionWindow, tuple[FrameRejected, ...]]:
    """Return one observation for each counted reason, and the next window."""
    observed = [
        replace(each.last, at=now, heard=each.last.last_byte, count=each.count, earlier=each.size - each.last.size)
        for each in state.counted
    ]
    return RejectionWindow(now.mono_ns + WINDOW_NS, OBSERVED, reasons=state.reasons), tuple(observed)
