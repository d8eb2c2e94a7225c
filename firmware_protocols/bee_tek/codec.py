"""Whole Bee-Tek lines to messages, and back. There is no check: what is not exactly a known form says nothing."""

from typing import Final, assert_never

from firmware_protocols.bee_tek.layout import BLANK, CR, FACES, FORMS, LF, LINES, PRINTABLE
from firmware_protocols.bee_tek.messages import (
    Alarm,
    BurnCard,
    CardText,
    Caution,
    FailedRead,
    GameCard,
    Mode,
    NoFace,
    Report,
)
from firmware_protocols.bee_tek.settings import BeeTekSettings
from firmware_protocols.family import Direction, Malformed, Reason

CRLF: Final = bytes((CR, LF))
MODES: Final = {Mode.GAME: "[Game]", Mode.MANUAL_BURN: "[Manual Burn Cards]"}
TEXTS: Final = {face: text for text, face in reversed(FACES.items())}  # of the ten's two: 10, which comes first


def reports(settings: BeeTekSettings) -> Direction[Report]:
    """What the shoe says."""
    return Direction(LINES, settings.torn_after_ms, _read_report)


def orders(settings: BeeTekSettings) -> Direction[object]:
    """What a host says: no order to the shoe is known."""
    return Direction(LINES, settings.torn_after_ms, _read_order)


def build(report: Report) -> bytes:
    """Its line without blanks around it; of an alarm's two forms in the game that of `[Game]`."""
    match report:
        case GameCard(card=card):
            text = f"[Game]<Card:{_shown(card)}>"
        case BurnCard(card=card):
            text = f"[Manual Burn Cards]<Card:{_shown(card)}>"
        case FailedRead(mode=mode):
            text = f"{MODES[mode]}<Game>"
        case Alarm(text=alarm, mode=mode):
            text = f"{MODES[mode]}<Alarm:{alarm}>"
        case Caution(number=number):
            text = f"<W0x{number:02X}>"
        case _:
            assert_never(report)
    return text.encode("ascii") + CRLF


def _shown(card: CardText) -> str:
    return card.text if isinstance(card, NoFace) else TEXTS[card]


def _read_report(raw: bytes) -> Report | Malformed:
    text = _text(raw)
    if isinstance(text, Malformed):
        return text
    for form in FORMS:
        if found := form.pattern.fullmatch(text.strip(BLANK)):
            return form.read(found[1])
    return Malformed(
        Reason.UNKNOWN_COMMAND, f"the line {text!r} is not known; what it means belongs in bee_tek/layout.py"
    )


def _read_order(raw: bytes) -> Malformed:
    return Malformed(Reason.UNKNOWN_COMMAND, f"{raw!r}: no order to a Bee-Tek shoe is known")


def _text(raw: bytes) -> str | Malformed:
    body = raw.removesuffix(CRLF)
    if body == raw:
        return Malformed(Reason.MALFORMED, "a line ends with CR and LF; this one has LF alone")
    strange = next((byte for byte in body if byte not in PRINTABLE), None)
    if strange is not None:
        return Malformed(Reason.MALFORMED, f"a line holds printable ASCII only; this one has {strange:02X} inside")
    return body.decode("ascii")
