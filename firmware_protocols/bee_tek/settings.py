"""What differs between Bee-Tek shoes or is not known for certain, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass
from enum import Enum

from firmware_protocols.family import Mark, Settings, setting


class ManualBurn(Enum):
    """What becomes of the cards that the shoe reports in its mode of manual burn cards."""

    BURNT = "burnt"
    DEALT = "dealt"


@dataclass(frozen=True, slots=True)
class BeeTekSettings(Settings):
    copies: int = setting(
        2,
        within=(1, 9),
        reason="in game mode some shoes send the card text again after the first line; "
        "1 where the shoe does not, so that no card can be taken for one told again",
        mark=Mark.ASSUMED,
    )
    repeat_window_ms: int = setting(
        200,
        within=(20, 1000),
        unit="ms",
        reason="a dealer does not draw two cards less than about 250 ms apart on purpose, so the same line sooner "
        "than that is the same card; a line of a card takes 18 ms, and when the shoe says it again is not known",
        mark=Mark.ASSUMED,
    )
    manual_burn: ManualBurn = setting(
        ManualBurn.BURNT,
        reason="the words of the mode say that its cards are burnt, so they are in no hand; "
        "the guide of a public program deals from the shoe in this mode, and such a site sets dealt",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="silence inside a line after which what came of it is given up: the longest line known takes 34 ms, "
        "and a device server may hold bytes back to pack them",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="an idle shoe is not known to say anything, and a cut RS-232 cable sounds the same",
        mark=Mark.ASSUMED,
    )
