"""The continuity of a round: which reports may be missing, as one value."""

import msgspec
from msgspec.structs import replace


class RoundContinuity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Each field is the id of the last card on the record at that moment (0: no card yet), or None: it did not happen.

    `away`: the line was away. `gap`: reports may be missing from the open round. `beyond`: reports may be missing from
    the time in which the round waited or was over, so that a result may be of another round. `unasked`: reports may be
    missing directly before the next card, and a person has to be asked. `restarted`: the shoe started after its cut
    card, and may be this shoe or a new one.
    """

    away: int | None = None
    gap: int | None = None
    beyond: int | None = None
    unasked: int | None = None
    restarted: int | None = None

    @property
    def partial(self) -> bool:
        return self.gap is not None


PROVEN = RoundContinuity()


def with_gap(before: RoundContinuity, last: int, *, is_open: bool, waits: bool, asks: bool) -> RoundContinuity:
    after = replace(before, gap=last, unasked=last if asks else before.unasked) if is_open else before
    return replace(after, beyond=last) if waits or not is_open else after
