"""Converts complete scanner reports to messages, and back. Reports have no check: impossible reports are rejected."""

from firmware_protocols.family import Codec, Malformed, Reason
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
from firmware_protocols.scanner.messages import HeldKeys, ScannerFailed, ScannerReport
from firmware_protocols.scanner.settings import ScannerSettings

FAILED = {code.number: ScannerFailed(code.name) for code in FAILURES}
NUMBERS = {code.name: code.number for code in FAILURES}
NOTHING = HeldKeys()


def reports(settings: ScannerSettings) -> Codec[ScannerReport]:
    """The codec for the reports of a scanner."""
    return Codec(REPORTS, settings.torn_after_ms, _read_report)


def orders(settings: ScannerSettings) -> Codec[object]:
    """The codec for the reports of a host. A scanner does not use the lights, and no order is known."""
    return Codec(REPORTS, settings.torn_after_ms, _read_order)


def build(report: ScannerReport) -> bytes:
    if isinstance(report, ScannerFailed):
        return bytes((0, 0)) + bytes((NUMBERS[report.failure],)) * PLACES
    modifiers = (LEFT_SHIFT if report.shift else 0) | (0x01 if report.command else 0)  # Ctrl, for every command key
    return bytes((modifiers, 0, *report.keys)).ljust(2 + PLACES, bytes((NO_KEY,)))


def _read_report(raw: bytes) -> ScannerReport | Malformed:
    if not any(raw):
        return NOTHING
    if raw[RESERVED]:
        detail = f"the second byte is {raw[RESERVED]:02X}, but must be 00: bytes were lost or added before it"
        return Malformed(Reason.MALFORMED, detail)
    places = raw[KEYS]
    keys = tuple(key for key in places if key != NO_KEY)
    if FAILED.keys() & keys:
        if len(set(places)) == 1:
            return FAILED[places[0]]
        return Malformed(Reason.MALFORMED, "an error must occupy all six places for keys")
    if len(set(keys)) < len(keys):
        return Malformed(Reason.MALFORMED, "a key must not occupy two places")
    return HeldKeys(keys, shift=bool(raw[MODIFIERS] & SHIFTS), command=bool(raw[MODIFIERS] & ~SHIFTS))


def _read_order(raw: bytes) -> Malformed:
    return Malformed(Reason.UNKNOWN_COMMAND, f"{raw.hex(' ')}: no order to a scanner is known")
