"""Whole Bee-Tek lines to messages. The line has no check: what is not exactly a known form says nothing."""

from typing import Final

from firmware_protocols.bee_tek.layout import CR, FORMS, LF, LINES, PRINTABLE
from firmware_protocols.bee_tek.messages import Report
from firmware_protocols.bee_tek.settings import BeeTekSettings
from firmware_protocols.family import Direction, Malformed, Reason

CRLF: Final = bytes((CR, LF))


def reports(settings: BeeTekSettings) -> Direction[Report]:
    """What the shoe says."""
    return Direction(LINES, settings.torn_after_ms, _read_report)


def orders(settings: BeeTekSettings) -> Direction[object]:
    """What a host says: no order to the shoe is known."""
    return Direction(LINES, settings.torn_after_ms, _read_order)


def _read_report(raw: bytes) -> Report | Malformed:
    text = _text(raw)
    if isinstance(text, Malformed):
        return text
    for form in FORMS:
        if found := form.pattern.fullmatch(text):
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
