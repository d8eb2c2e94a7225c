"""The layout of every Bee-Tek message: one line of text each, declared once as a pattern over the whole line."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from firmware_protocols.bee_tek.messages import (
    Alarm,
    Alarms,
    BeeTekFace,
    BeeTekNoFace,
    BeeTekReport,
    BeeTekSuit,
    BurnCard,
    CardText,
    Caution,
    FailedRead,
    GameCard,
    Mode,
)
from firmware_protocols.family import Code, FrameKind, Framing, Mark

CR: Final = 0x0D
LF: Final = 0x0A
BLANK: Final = " "
PRINTABLE: Final = range(0x20, 0x7F)

# The longest known line has 31 characters. Four times this length keeps a longer unknown line in one piece.
LONGEST_LINE: Final = 124
# Every printable character may begin a line, so that an unknown line stays in one piece.
LINES: Final = Framing(
    tuple(FrameKind("line", start, end=LF, body_max=LONGEST_LINE) for start in PRINTABLE),
    never_inside=bytes(set(range(0x20)) - {CR}),
)

RANKS: Final = {text: rank for rank, text in enumerate(["A", *"23456789", "10", *"JQK"], start=1)} | {"T": 10}


class SuitLetter(NamedTuple):
    letter: str
    suit: BeeTekSuit
    mark: Mark


SUITS: Final = (
    SuitLetter("S", BeeTekSuit.SPADES, Mark.DOCUMENTED),
    SuitLetter("H", BeeTekSuit.HEARTS, Mark.ASSUMED),
    SuitLetter("D", BeeTekSuit.DIAMONDS, Mark.ASSUMED),
    SuitLetter("C", BeeTekSuit.CLUBS, Mark.ASSUMED),
)
FACES: Final = {rank + it.letter: BeeTekFace(RANKS[rank], it.suit) for rank in RANKS for it in SUITS}

ALARMS: Final = (Code(3, Alarms.NOT_READ, "a card was not read", Mark.DOCUMENTED),)
NOT_READ: Final = ALARMS[0].number


class LineForm(NamedTuple):
    """One line: its form in the protocol page, its meaning, and its pattern, whose group is the variable part."""

    shown: str
    meaning: str
    pattern: re.Pattern[str]
    read: Callable[[str], BeeTekReport]
    mark: Mark


def _card(text: str) -> CardText:
    return FACES.get(text) or BeeTekNoFace(text)


def _alarm(text: str, mode: Mode = Mode.GAME) -> Alarm:
    numbered = re.match(r"E(\d{1,4})(?: |$)", text)
    return Alarm(text, None if numbered is None else int(numbered[1]), mode)


FORMS: Final = (
    LineForm(
        "[Game]<Card:4S>",
        "a card left the shoe in the game",
        re.compile(r"\[Game\]<Card:([^<>]+)>"),
        lambda text: GameCard(_card(text)),
        Mark.DOCUMENTED,
    ),
    LineForm(
        "[Manual Burn Cards]<Card:4S>",
        "a card left the shoe in the mode of manual burn cards: the setting `manual_burn` decides its meaning",
        re.compile(r"\[Manual Burn Cards\]<Card:([^<>]+)>"),
        lambda text: BurnCard(_card(text)),
        Mark.DOCUMENTED,
    ),
    LineForm("[Game]<Game>", "a failed read", re.compile(r"\[Game\](<Game>)"), lambda _: FailedRead(), Mark.DOCUMENTED),
    LineForm(
        "[Game]<Alarm:E3 Card Not Read>",
        "an alarm in the game",
        re.compile(r"\[Game\]<Alarm:([^<>]+)>"),
        _alarm,
        Mark.DOCUMENTED,
    ),
    LineForm(
        "[Manual Burn Cards]<Game>",
        "a failed read in that mode",
        re.compile(r"\[Manual Burn Cards\](<Game>)"),
        lambda _: FailedRead(Mode.MANUAL_BURN),
        Mark.DOCUMENTED,
    ),
    LineForm(
        "[Manual Burn Cards]<Alarm:...>",
        "an alarm in that mode",
        re.compile(r"\[Manual Burn Cards\]<Alarm:([^<>]+)>"),
        lambda text: _alarm(text, Mode.MANUAL_BURN),
        Mark.DOCUMENTED,
    ),
    LineForm(
        "[GameAlarm]<Alarm:...>",
        "an alarm",
        re.compile(r"\[GameAlarm\]<Alarm:([^<>]+)>"),
        _alarm,
        Mark.DOCUMENTED,
    ),
    LineForm(
        "<W0x01>",
        "a warning, by its number in hex",
        re.compile(r"<W0x([0-9A-Fa-f]{2})>"),
        lambda digits: Caution(int(digits, 16)),
        Mark.DOCUMENTED,
    ),
)
