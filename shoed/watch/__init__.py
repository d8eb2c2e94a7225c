"""The watch: what went wrong, noticed in the observations alone, with its evidence.

Theory of operation: a fold over observations. Nothing here decides what a finding means for
the round; it goes on record with the Step that found it.
"""

from collections.abc import Sequence

import msgspec

from shoed.cards import Card
from shoed.findings import AnyFinding, DrawnTogether
from shoed.observations import AnyObservation, CardSeen, LinkClosed, Place


class WatchSettings(msgspec.Struct, frozen=True):
    min_draw_gap_ms: int


class WatchState(msgspec.Struct, frozen=True):
    last_card: Card | None = None
    last_at: int | None = None  # monotonic ns; None: spacing says nothing


def watch(
    settings: WatchSettings, state: WatchState, observations: Sequence[AnyObservation]
) -> tuple[WatchState, tuple[AnyFinding, ...]]:
    findings: list[AnyFinding] = []
    for seen in observations:
        if isinstance(seen, LinkClosed):
            state = WatchState()  # what a line held back arrives in a heap: its spacing is no evidence
        elif isinstance(seen, CardSeen) and seen.place is Place.OVERDRAW:
            state = WatchState()  # told when its error was cleared, not when it was drawn
        elif isinstance(seen, CardSeen):
            if state.last_at is not None:
                gap_ms = (seen.at.mono_ns - state.last_at) / 1e6
                if gap_ms < settings.min_draw_gap_ms:
                    findings.append(
                        DrawnTogether(
                            at=seen.at,
                            cards=(state.last_card, seen.card),
                            gap_ms=gap_ms,
                            limit_ms=settings.min_draw_gap_ms,
                        )
                    )
            state = WatchState(seen.card, seen.at.mono_ns)
    return state, tuple(findings)
