"""The messages of a barcode scanner that acts as a keyboard."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """The keys that are down; their order has no meaning."""

    keys: tuple[int, ...] = ()
    shift: bool = False
    command: bool = False  # Ctrl, Alt or the logo key: a key then makes no character


class ScannerFailure(Enum):
    ROLL_OVER = "roll-over"
    POST = "self-test-failed"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class ScannerFailed:
    """The keys that are down are unknown."""

    failure: ScannerFailure


ScannerReport: TypeAlias = HeldKeys | ScannerFailed
