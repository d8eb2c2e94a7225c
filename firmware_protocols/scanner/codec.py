"""Whole reports to messages, and back. There is no check: what cannot be is rejected, and no more can be told."""

from firmware_protocols.family import Direction, Malformed, Reason
from firmware_protocols.scanner.layout import (
    FAILURES,
    KEYS,
    LEFT_SHIFT,
    MODIFIERS,
    NO_KEY,
    PLACES,
    REPORTS,
    RESERVED,
    SHIFTS,
)
from firmware_protocols.scanner.messages import Failed, Held, Report
from firmware_protocols.scanner.settings import ScannerSettings

FAILED = {code.number: Failed(code.name) for code in FAILURES}
NUMBERS = {code.name: code.number for code in FAILURES}
NOTHING = Held()


def reports(settings: ScannerSettings) -> Direction[Report]:
    """What the scanner types."""
    return Direction(REPORTS, settings.torn_after_ms, _read_report)


def orders(settings: ScannerSettings) -> Direction[object]:
    """What a host says: its lights are of no use to a scanner, and no order is known."""
    return Direction(REPORTS, settings.torn_after_ms, _read_order)


def build(report: Report) -> bytes:
    if isinstance(report, Failed):
        return bytes((0, 0)) + bytes((NUMBERS[report.failure],)) * PLACES
    modifiers = (LEFT_SHIFT if report.shift else 0) | (0x01 if report.command else 0)  # Ctrl, for all of its kind
    return bytes((modifiers, 0, *report.keys)).ljust(2 + PLACES, bytes((NO_KEY,)))


def _read_report(raw: bytes) -> Report | Malformed:
    if not any(raw):
        return NOTHING
    if raw[RESERVED]:
        detail = f"the second byte is {raw[RESERVED]:02X}, and is always 00: bytes were lost or added before it"
        return Malformed(Reason.MALFORMED, detail)
    places = raw[KEYS]
    keys = tuple(key for key in places if key != NO_KEY)
    if FAILED.keys() & keys:
        if len(set(places)) == 1:
            return FAILED[places[0]]
        return Malformed(Reason.MALFORMED, "an error stands in all six places for keys, or in none")
    if len(set(keys)) < len(keys):
        return Malformed(Reason.MALFORMED, "a key is down once, and stands in one place")
    return Held(keys, shift=bool(raw[MODIFIERS] & SHIFTS), command=bool(raw[MODIFIERS] & ~SHIFTS))


def _read_order(raw: bytes) -> Malformed:
    return Malformed(Reason.UNKNOWN_COMMAND, f"{raw.hex(' ')}: no order to a scanner is known")
