"""What is known about missed reports in a round, as one value."""

import msgspec
from msgspec.structs import replace


class Continuity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Each field is the id of the last card on the record when it happened (0: no card yet), or None: it did not."""

    away: int | None = None  # the line was away
    gap: int | None = None  # reports may be missing while the round was open
    beyond: int | None = None  # the same while the round waited or was over: a result may be another round's

    @property
    def partial(self) -> bool:
        return self.gap is not None

    def after_gap(self, last: int) -> bool:
        """Whether reports may be missing since the last card that the device reported, which has this id."""
        return self.gap is not None and self.gap >= last


PROVEN = Continuity()


def with_gap(before: Continuity, last: int, *, is_open: bool, waits: bool) -> Continuity:
    after = replace(before, gap=last) if is_open else before
    return replace(after, beyond=last) if waits or not is_open else after
