"""How much of what a line rejects is kept: a bound for each device and hour. What is beyond it is counted.

Theory of operation: a ledger of each device. Rejected bytes are charged, with the rows in which they came; bytes of
accepted frames are not. Once the bound is spent, no bytes of the device are written until the hour is over: frames that
are accepted are on record with their own bytes, and a rejection says how many bytes of it were not kept. A Step whose
bytes are all rejected then leaves no row. Each row that there is meanwhile holds the state that the session was left
in, so that replay goes on behind it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.now import Now
from shoed.observations import AnyObservation, FrameRejected

BOUND: Final = 1 << 20  # an hour of noise at 4800 baud is 1.7 MB in some 3,000 rows of a device server
ROW: Final = 100  # bytes that a row takes beside the bytes of the line
HOUR_NS: Final = 3600 * 1_000_000_000


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    since_ns: int = 0  # monotonic
    spent: int = 0
    rows: int = 0  # with bytes of which nothing is known yet
    full: bool = False
    unkept: tuple[tuple[str, int], ...] = ()  # bytes by their reason, not told yet

    @property
    def over_at(self) -> int | None:
        """When a full hour is over, on the monotonic clock."""
        return self.since_ns + HOUR_NS if self.full else None


def is_over(kept: Kept, now: Now) -> bool:
    return not kept.since_ns <= now.mono_ns < kept.since_ns + HOUR_NS  # less: the clock of another boot


def opened(kept: Kept, now: Now) -> Kept:
    """The next hour, if a full one is over; only an input without bytes opens it."""
    return Kept(now.mono_ns, unkept=kept.unkept) if kept.full and is_over(kept, now) else kept


def charged(kept: Kept, seen: Iterable[AnyObservation], counted: Mapping[str, int], now: Now) -> Kept:
    """After bytes of the line, and what was made of them."""
    if kept.full:
        unkept = dict(kept.unkept)
        for reason, size in counted.items():
            unkept[reason] = unkept.get(reason, 0) + size
        return replace(kept, unkept=tuple(unkept.items()))
    rejected = [each for each in seen if isinstance(each, FrameRejected)]
    size = sum(counted.values()) + sum(each.size for each in rejected if each.count == 1)
    if not size:
        return replace(kept, rows=0 if any(True for _ in seen) else kept.rows + 1)
    if is_over(kept, now):
        kept = replace(kept, since_ns=now.mono_ns, spent=0)
    spent = kept.spent + size + ROW * (kept.rows + 1)
    return replace(kept, spent=spent, rows=0, full=spent > BOUND)


def told(kept: Kept, seen: tuple[AnyObservation, ...]) -> tuple[Kept, tuple[AnyObservation, ...]]:
    """The observations, and in those of counted rejections how many bytes were not kept."""
    if not kept.unkept:
        return kept, seen
    unkept, observed = dict(kept.unkept), []
    for each in seen:
        if isinstance(each, FrameRejected) and each.reason in unkept:
            each = replace(each, unkept=unkept.pop(each.reason))  # noqa: PLW2901 -- the same, with its number
        observed.append(each)
    return replace(kept, unkept=tuple(unkept.items())), tuple(observed)
