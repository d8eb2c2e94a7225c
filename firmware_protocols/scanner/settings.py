"""The properties of scanners and tables that differ, each with its default and its reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_protocols.family import Mark, Settings, card_codes, setting
from firmware_protocols.scanner.layout import CODE, LONGEST_CODE


@dataclass(frozen=True, slots=True)
class ScannerSettings(Settings):
    cards: Mapping[str, str] = card_codes(
        CODE,
        unit=f"1 to {LONGEST_CODE} printable ASCII characters",
        reason="each card maker has its own codes; without a table a code is the card's own text, such as 8S or 10H",
        mark=Mark.ASSUMED,
    )
    repeat_window_ms: int = setting(
        200,
        within=(0, 1000),
        unit="ms",
        reason="a dealer does not draw two cards less than about 250 ms apart on purpose, so the same code within a "
        "shorter time is the same card, read twice; 0 if the scanner itself suppresses repetitions",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        150,
        within=(20, 2000),
        unit="ms",
        reason="after this silence an incomplete code or report is given up: longer than a scanner waits between two "
        "keys, and shorter than the time from one card to the next",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="a scanner sends nothing between two cards",
        mark=Mark.ASSUMED,
    )
