"""What the watch holds the observations against; each limit stands beside its reason."""

import msgspec


class WatchSettings(msgspec.Struct, frozen=True):
    min_draw_gap_ms: int  # from report to report, as close as a dealer draws on purpose; 0: spacing is no evidence
    decks: int = 8
    # Of the line that a report came by. Two that come faster than the line can carry them were held back somewhere.
    byte_us: float = 0
    # From the end of one card to the beginning of the next at the window. A hand has to come back for the next
    # card; what a card drags along follows it sooner.
    min_edge_gap_ms: int = 60
    # Leading edges closer than this do not tell which card came first: the jitter of a sensor and its clock.
    edge_resolution_us: int = 2000
