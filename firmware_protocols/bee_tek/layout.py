"""How every Bee-Tek message lies on the line: one line of text each, declared once as a pattern over the whole line."""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from firmware_protocols.bee_tek.messages import (
    Alarm,
    Alarms,
    BurnCard,
    CardText,
    Caution,
    Face,
    FailedRead,
    GameCard,
    Mode,
    NoFace,
    Report,
    Suit,
)
from firmware_protocols.family import Code, FrameKind, Framing, Mark

CR: Final = 0x0D
LF: Final = 0x0A
BLANK: Final = " "
PRINTABLE: Final = range(0x20, 0x7F)

# The longest line known has 31 characters; four times that keeps an unknown longer one in one piece.
LONGEST_LINE: Final = 124
# Whatever is printable may begin a line, so that one which is not known comes out whole.
LINES: Final = Framing(
    tuple(FrameKind("line", start, end=LF, body_max=LONGEST_LINE) for start in PRINTABLE),
    never_inside=bytes(set(range(0x20)) - {CR}),
)

RANKS: Final = {text: rank for rank, text in enumerate(["A", *"23456789", "10", *"JQK"], start=1)} | {"T": 10}


class SuitLetter(NamedTuple):
    letter: str
    suit: Suit
    mark: Mark


SUITS: Final = (
    SuitLetter("S", Suit.SPADES, Mark.DOCUMENTED),
    SuitLetter("H", Suit.HEARTS, Mark.ASSUMED),
    SuitLetter("D", Suit.DIAMONDS, Mark.ASSUMED),
    SuitLetter("C", Suit.CLUBS, Mark.ASSUMED),
)
FACES: Final = {rank + it.letter: Face(RANKS[rank], it.suit) for rank in RANKS for it in SUITS}

ALARMS: Final = (Code(3, Alarms.NOT_READ, "a card was not read", Mark.DOCUMENTED),)
NOT_READ: Final = ALARMS[0].number


class Form(NamedTuple):
    """One line: how the page writes it, what it says, and its pattern, whose one group is what differs."""

    shown: str
    meaning: str
    pattern: re.Pattern[str]
    read: Callable[[str], Report]
    mark: Mark


def _card(text: str) -> CardText:
    return FACES.get(text) or NoFace(text)


def _alarm(text: str, mode: Mode = Mode.GAME) -> Alarm:
    numbered = re.match(r"E(\d{1,4})(?: |$)", text)
    return Alarm(text, None if numbered is None else int(numbered[1]), mode)


FORMS: Final = (
    Form(
        "[Game]<Card:4S>",
        "a card left the shoe in the game",
        re.compile(r"\[Game\]<Card:([^<>]+)>"),
        lambda text: GameCard(_card(text)),
        Mark.DOCUMENTED,
    ),
    Form(
        "[Manual Burn Cards]<Card:4S>",
        "a card left the shoe in the mode of manual burn cards: the setting `manual_burn` says what it is",
        re.compile(r"\[Manual Burn Cards\]<Card:([^<>]+)>"),
        lambda text: BurnCard(_card(text)),
        Mark.DOCUMENTED,
    ),
    Form("[Game]<Game>", "a failed read", re.compile(r"\[Game\](<Game>)"), lambda _: FailedRead(), Mark.DOCUMENTED),
    Form(
        "[Game]<Alarm:E3 Card Not Read>",
        "an alarm in the game",
        re.compile(r"\[Game\]<Alarm:([^<>]+)>"),
        _alarm,
        Mark.DOCUMENTED,
    ),
    Form(
        "[Manual Burn Cards]<Game>",
        "a failed read in that mode",
        re.compile(r"\[Manual Burn Cards\](<Game>)"),
        lambda _: FailedRead(Mode.MANUAL_BURN),
        Mark.DOCUMENTED,
    ),
    Form(
        "[Manual Burn Cards]<Alarm:...>",
        "an alarm in that mode",
        re.compile(r"\[Manual Burn Cards\]<Alarm:([^<>]+)>"),
        lambda text: _alarm(text, Mode.MANUAL_BURN),
        Mark.DOCUMENTED,
    ),
    Form(
        "[GameAlarm]<Alarm:...>",
        "an alarm",
        re.compile(r"\[GameAlarm\]<Alarm:([^<>]+)>"),
        _alarm,
        Mark.DOCUMENTED,
    ),
    Form(
        "<W0x01>",
        "a warning, by its number in hex",
        re.compile(r"<W0x([0-9A-Fa-f]{2})>"),
        lambda digits: Caution(int(digits, 16)),
        Mark.DOCUMENTED,
    ),
)
