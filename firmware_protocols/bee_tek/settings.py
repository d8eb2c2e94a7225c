"""The properties of Bee-Tek shoes that differ or are uncertain, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass
from enum import Enum

from firmware_protocols.family import Mark, Settings, setting


class ManualBurn(Enum):
    """The meaning of the cards that the shoe reports in its mode of manual burn cards."""

    BURNT = "burnt"
    DEALT = "dealt"


@dataclass(frozen=True, slots=True)
class BeeTekSettings(Settings):
    copies: int = setting(
        2,
        within=(1, 9),
        reason="in game mode some shoes send the card text again after the first line; "
        "1 if the shoe does not, so that no second card counts as a repetition",
        mark=Mark.ASSUMED,
    )
    repeat_window_ms: int = setting(
        200,
        within=(20, 1000),
        unit="ms",
        reason="a dealer does not draw two cards less than about 250 ms apart on purpose, so the same line within a "
        "shorter time is the same card; a line of a card takes 18 ms, and the time of the repetition is unknown",
        mark=Mark.ASSUMED,
    )
    manual_burn: ManualBurn = setting(
        ManualBurn.BURNT,
        reason="by the name of the mode its cards are burnt, so they are in no hand; "
        "the guide of a public program deals from the shoe in this mode, and such a site sets dealt",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="after this silence an incomplete line is rejected: the longest known line takes 34 ms, "
        "and a device server may delay bytes to pack them",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="an idle shoe is not known to send anything, and a cut RS-232 cable cannot be distinguished from it",
        mark=Mark.ASSUMED,
    )
