"""The limits of the watch. Each limit has its reason beside it."""

import msgspec


class WatchSettings(msgspec.Struct, frozen=True):
    min_draw_gap_ms: int  # the shortest time between two reports of a normal draw; 0: spacing is not evidence
    decks: int = 8
    # The time of one byte on the line. Two reports that arrive faster than the line transmits them were buffered.
    byte_us: float = 0
    # From the trailing edge of one card to the leading edge of the next card at the window. A hand has to return for
    # the next card; a card that is dragged along follows sooner.
    min_edge_gap_ms: int = 60
    # Leading edges closer than this do not prove which card was first: the sensor and its clock have jitter.
    edge_resolution_us: int = 2000
