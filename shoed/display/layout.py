"""The adaptation of a screen to its terminal: the height, the colours, the characters.

Theory of operation: a screen is made for a terminal with enough rows, colours and Unicode. With fewer rows, the least
important lines are omitted. Without colours, the colour codes are removed. Without Unicode, one ASCII character
replaces each other character, so no column moves.
"""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum, auto
from typing import Final, NamedTuple

SGR: Final = re.compile(r"\x1b\[[0-9;]*m")
PICTURES: Final = "♠♥♦♣●─·"
LETTERS: Final = "SHDC*-|"
ASCII_LOCALES: Final = ("C", "POSIX")
COERCED: Final = "C.UTF-8"  # Python sets LC_CTYPE to this value if the locale is C


class Importance(IntEnum):
    """The least important lines of a screen are omitted first."""

    SPACE = auto()  # empty lines and rules
    HISTORY = auto()  # earlier rounds
    HEAD = auto()  # the topics of the demo
    REMARK = auto()  # the last event that no other line shows
    CARD_EDGE = auto()  # the lower edge of the cards, which repeats their ranks
    QUESTION = auto()
    HEALTH = auto()  # devices, daemon, broker
    ROUND = auto()
    HANDS = auto()


class ScreenLine(NamedTuple):
    importance: Importance
    text: str


def screen_lines(importance: Importance, *texts: str) -> list[ScreenLine]:
    return [ScreenLine(importance, text) for text in texts]


def fitted(lines: Sequence[ScreenLine], rows: int) -> list[str]:
    """The text of the lines for which a terminal has rows. Of equal lines, the last one is omitted first."""
    by_importance = sorted(range(len(lines)), key=lambda number: (-lines[number].importance, number))
    return [lines[number].text for number in sorted(by_importance[:rows])]


class Look(NamedTuple):
    """What a terminal can show."""

    colours: bool
    unicode: bool

    def of(self, text: str) -> str:
        if not self.colours:
            text = SGR.sub("", text)
        return text if self.unicode else text.translate(str.maketrans(PICTURES, LETTERS))


def look(environment: Mapping[str, str], encoding: str) -> Look:
    """The user's wish for colours (https://no-color.org), and the characters of the locale and of the output."""
    try:
        PICTURES.encode(encoding)
    except UnicodeEncodeError:
        unicode = False
    else:
        unicode = locale(environment) not in ASCII_LOCALES
    return Look(colours=not environment.get("NO_COLOR"), unicode=unicode)


def locale(environment: Mapping[str, str]) -> str | None:
    """The locale of characters that the user set; None if there is none, as in a container."""
    category = environment.get("LC_CTYPE")
    return environment.get("LC_ALL") or (category if category != COERCED else None) or environment.get("LANG")
