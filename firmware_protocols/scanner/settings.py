"""What differs between scanners and tables, each with its default and its reason."""

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_protocols.family import Mark, Settings, card_codes, setting
from firmware_protocols.scanner.layout import CODE, LONGEST_CODE


@dataclass(frozen=True, slots=True)
class ScannerSettings(Settings):
    cards: Mapping[str, str] = card_codes(
        CODE,
        unit=f"1 to {LONGEST_CODE} printable ASCII characters",
        reason="each maker of cards has codes of its own; without a table a code is the card's own text, as 8S or 10H",
        mark=Mark.ASSUMED,
    )
    repeat_window_ms: int = setting(
        200,
        within=(0, 1000),
        unit="ms",
        reason="a dealer does not draw two cards less than about 250 ms apart on purpose, so the same code sooner than "
        "that is the same card, read twice; 0 where the scanner itself sees to that",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        150,
        within=(20, 2000),
        unit="ms",
        reason="silence inside a code, or inside a report, after which it is given up: longer than scanners wait "
        "between two keys, and shorter than the way from one card to the next",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="a scanner says nothing between two cards",
        mark=Mark.ASSUMED,
    )
