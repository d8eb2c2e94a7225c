"""Rejected bytes of a line: the first rejections are observed one by one, further ones are counted by their reason.

Theory of operation: a window begins with a rejection. The first few in it are observed at once, and so is the first for
each reason. Those after them are counted, and at the end of the window each reason has one observation: the last
rejection for it, and how many there were. While rejections go on, the next windows only count; a window without any
ends that. So a noisy line makes a bounded number of observations, however its bytes are cut.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.now import Now
from shoed.observations import FrameRejected

OBSERVED: Final = 16  # in a window, one by one: a damaged report and its copies make some six
WINDOW_NS: Final = 10_000_000_000  # contract: what is counted is told every 10 s


class Counted(msgspec.Struct, frozen=True):
    """Rejections for one reason, of which this is the last."""

    last: FrameRejected
    count: int
    size: int  # bytes of all of them


class Rejections(msgspec.Struct, frozen=True):
    until: int  # monotonic ns
    observed: int
    counted: tuple[Counted, ...] = ()
    reasons: tuple[str, ...] = ()  # of all since rejections began

    @property
    def due(self) -> int | None:
        """When the counts are to be observed, on the monotonic clock."""
        return self.until if self.counted else None


def reject(state: Rejections | None, rejected: FrameRejected) -> tuple[Rejections, FrameRejected | None]:
    """The rejection, if it is observed at once."""
    at_ns = rejected.at.mono_ns
    if state is None or (not state.counted and not state.until - WINDOW_NS <= at_ns < state.until):
        state = Rejections(at_ns + WINDOW_NS, 0)  # also where the clock is that of another boot
    if rejected.reason not in state.reasons:
        return replace(state, observed=state.observed + 1, reasons=(*state.reasons, rejected.reason)), rejected
    if state.observed < OBSERVED:
        return replace(state, observed=state.observed + 1), rejected
    before = next((each for each in state.counted if each.last.reason == rejected.reason), Counted(rejected, 0, 0))
    now = Counted(rejected, before.count + 1, before.size + rejected.size)
    others = tuple([each for each in state.counted if each is not before])
    return replace(state, counted=(*others, now)), None


def counts(state: Rejections, now: Now) -> tuple[Rejections, tuple[FrameRejected, ...]]:
    """What was counted, as observations of this moment, one for each reason; the next window only counts."""
    observed = [
        replace(each.last, at=now, heard=each.last.last_byte, count=each.count, earlier=each.size - each.last.size)
        for each in state.counted
    ]
    return Rejections(now.mono_ns + WINDOW_NS, OBSERVED, reasons=state.reasons), tuple(observed)
