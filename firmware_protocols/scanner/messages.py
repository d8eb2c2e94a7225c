"""What a barcode scanner says as the keyboard that it takes itself for."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Held:
    """The keys that are down, in no order that means anything."""

    keys: tuple[int, ...] = ()
    shift: bool = False
    command: bool = False  # Ctrl, Alt or the logo key: then a key makes no character


class Failure(Enum):
    ROLL_OVER = "roll-over"
    POST = "self-test-failed"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Failed:
    """Which keys are down is not known."""

    failure: Failure


Report: TypeAlias = Held | Failed
