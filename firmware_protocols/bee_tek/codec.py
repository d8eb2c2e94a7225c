"""Converts complete Bee-Tek lines to messages, and back. Lines have no check: only exactly known forms are accepted."""

from typing import Final, assert_never

from firmware_protocols.bee_tek.layout import BLANK, CR, FACES, FORMS, LF, LINES, PRINTABLE
from firmware_protocols.bee_tek.messages import (
    Alarm,
    BeeTekNoFace,
    BeeTekReport,
    BurnCard,
    CardText,
    Caution,
    FailedRead,
    GameCard,
    Mode,
)
from firmware_protocols.bee_tek.settings import BeeTekSettings
from firmware_protocols.family import Codec, Malformed, Reason

CRLF: Final = bytes((CR, LF))
MODES: Final = {Mode.GAME: "[Game]", Mode.MANUAL_BURN: "[Manual Burn Cards]"}
TEXTS: Final = {face: text for text, face in reversed(FACES.items())}  # of the two texts of the ten: 10, the first


def reports(settings: BeeTekSettings) -> Codec[BeeTekReport]:
    """The codec for the lines of a shoe."""
    return Codec(LINES, settings.torn_after_ms, _read_report)


def orders(settings: BeeTekSettings) -> Codec[object]:
    """The codec for the lines of a host. No order to the shoe is known."""
    return Codec(LINES, settings.torn_after_ms, _read_order)


def build(report: BeeTekReport) -> bytes:
    """Return the line of a message, without blanks around it; an alarm in the game has the form of `[Game]`."""
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
    return card.text if isinstance(card, BeeTekNoFace) else TEXTS[card]


def _read_report(raw: bytes) -> BeeTekReport | Malformed:
    text = _text(raw)
    if isinstance(text, Malformed):
        return text
    for form in FORMS:
        if found := form.pattern.fullmatch(text.strip(BLANK)):
            return form.read(found[1])
    return Malformed(
        Reason.UNKNOWN_COMMAND, f"the line {text!r} is unknown; declare it in bee_tek/layout.py if its meaning is known"
    )


def _read_order(raw: bytes) -> Malformed:
    return Malformed(Reason.UNKNOWN_COMMAND, f"{raw!r}: no order to a Bee-Tek shoe is known")


def _text(raw: bytes) -> str | Malformed:
    body = raw.removesuffix(CRLF)
    if body == raw:
        return Malformed(Reason.MALFORMED, "a line ends with CR and LF; this line has only LF")
    strange = next((byte for byte in body if byte not in PRINTABLE), None)
    if strange is not None:
        return Malformed(Reason.MALFORMED, f"a line contains only printable ASCII; this line contains {strange:02X}")
    return body.decode("ascii")
