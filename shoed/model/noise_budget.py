"""The limit of the rejected bytes that the journal keeps, for each device and 60 minutes. Further bytes are counted.

Theory of operation: each device has a budget. Rejected bytes and their rows are charged; bytes of accepted frames are
not. A budget covers at most 60 minutes from its first charge, and is full when more than the limit is charged.
Until the end of the 60 minutes of a full budget:
- The journal keeps no rejected bytes of the device.
- The observation of an accepted frame still has the bytes of the frame.
- The observation of a rejection has the number of bytes that are not kept.
- A Step that has only rejected bytes has no row in the journal.
- Each row has the state of the session after the Step, so that replay can continue from this state.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, FrameRejected

LIMIT_BYTES: Final = 1 << 20  # bytes; an hour of noise at 4800 baud is 1.7 MB in about 3,000 rows of a device server
ROW_BYTES: Final = 100  # bytes of a row without the bytes of the line
HOUR_NS: Final = 3600 * 1_000_000_000


class NoiseBudget(msgspec.Struct, frozen=True, omit_defaults=True):
    since_ns: int = 0  # monotonic
    spent: int = 0
    rows: int = 0  # rows with bytes that are neither accepted nor rejected yet
    full: bool = False
    unkept: tuple[tuple[str, int], ...] = ()  # bytes by the reason of their rejection, not in an observation yet

    @property
    def over_at(self) -> int | None:
        """The end of the hour of a full budget, on the monotonic clock."""
        return self.since_ns + HOUR_NS if self.full else None


def is_over(budget: NoiseBudget, now: Now) -> bool:
    return (
        not budget.since_ns <= now.mono_ns < budget.since_ns + HOUR_NS
    )  # an earlier `now`: the clock restarted at a boot


def renewed(budget: NoiseBudget, now: Now) -> NoiseBudget:
    """Renew a full budget when its hour is over. Only an input without bytes renews a budget."""
    return NoiseBudget(now.mono_ns, unkept=budget.unkept) if budget.full and is_over(budget, now) else budget


def charged(budget: NoiseBudget, seen: Iterable[AnyObservation], counted: Mapping[str, int], now: Now) -> NoiseBudget:
    """Charge the rejected bytes of an input and of its observations. A full budget counts `counted` by reason."""
    if budget.full:
        unkept = dict(budget.unkept)
        for reason, size in counted.items():
            unkept[reason] = unkept.get(reason, 0) + size
        return replace(budget, unkept=tuple(unkept.items()))
    rejected = [each for each in seen if isinstance(each, FrameRejected)]
    size = sum(counted.values()) + sum(each.size for each in rejected if each.count == 1)
    if not size:
        return replace(budget, rows=0 if any(True for _ in seen) else budget.rows + 1)
    if is_over(budget, now):
        budget = replace(budget, since_ns=now.mono_ns, spent=0)
    spent = budget.spent + size + ROW_BYTES * (budget.rows + 1)
    return replace(budget, spent=spent, rows=0, full=spent > LIMIT_BYTES)


def with_unkept(
    budget: NoiseBudget, seen: tuple[AnyObservation, ...]
) -> tuple[NoiseBudget, tuple[AnyObservation, ...]]:
    """Move the numbers of unkept bytes from the budget to the observations of the rejections."""
    if not budget.unkept:
        return budget, seen
    unkept, observed = dict(budget.unkept), []
    for each in seen:
        if isinstance(each, FrameRejected) and each.reason in unkept:
            each = replace(each, unkept=unkept.pop(each.reason))  # noqa: PLW2901 -- the same observation
        observed.append(each)
    return replace(budget, unkept=tuple(unkept.items())), tuple(observed)
