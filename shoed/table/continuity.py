"""What is known about missed reports in a round, as one value."""

import msgspec
from msgspec.structs import replace


class Continuity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Each field is the id of the last card on the record when it happened (0: no card yet), or None: it did not."""

    away: int | None = None  # the line was away
    gap: int | None = None  # reports may be missing while the round was open
    beyond: int | None = None  # the same while the round waited or was over: a result may be another round's
    unasked: int | None = None  # the same, and the next card is the first one after it: a person is asked

    restarted: int | None = None  # the shoe started after its cut card: this shoe again, or a new one

    @property
    def partial(self) -> bool:
        return self.gap is not None


PROVEN = Continuity()


def with_gap(before: Continuity, last: int, *, is_open: bool, waits: bool, asks: bool) -> Continuity:
    after = replace(before, gap=last, unasked=last if asks else before.unasked) if is_open else before
    return replace(after, beyond=last) if waits or not is_open else after
