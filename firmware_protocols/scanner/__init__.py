"""A barcode scanner at the table, as a USB keyboard. PROTOCOL.md holds all known facts, and how they are known."""

from typing import Final, get_args

from firmware_protocols.family import Family, Mark, UsbId
from firmware_protocols.scanner.codec import build, orders, reports
from firmware_protocols.scanner.layout import ENTER, ENTERS, FAILURES, LONGEST_CODE, PLAIN, SHIFTED
from firmware_protocols.scanner.messages import HeldKeys, ScannerFailed, ScannerFailure, ScannerReport
from firmware_protocols.scanner.settings import ScannerSettings

__all__ = [
    "ENTER",
    "ENTERS",
    "FAILURES",
    "FAMILY",
    "LONGEST_CODE",
    "PLAIN",
    "SHIFTED",
    "HeldKeys",
    "ScannerFailed",
    "ScannerFailure",
    "ScannerReport",
    "ScannerSettings",
    "build",
    "orders",
    "reports",
]

# The public list of USB ids (usb.ids) names each of them as a barcode scanner, and for some it also names the mode.
IN_THIS_MODE: Final = "the list names the keyboard mode"
IN_SOME_MODE: Final = "the list names a scanner; that these are the ids of its keyboard mode is assumed"

FAMILY: Final = Family(
    name="scanner",
    title="Barcode scanner",
    firmware=("any",),  # every keyboard has the same reports
    line=None,
    usb_ids=(
        UsbId(0x05E0, 0x1200, "Symbol Bar Code Scanner", Mark.ASSUMED, IN_SOME_MODE, raw=True),
        UsbId(0x05F9, 0x2206, "Datalogic Gryphon", Mark.DOCUMENTED, IN_THIS_MODE, raw=True),
        UsbId(0x065A, 0x0001, "Opticon OPR-2001, NLV-1001", Mark.DOCUMENTED, IN_THIS_MODE, raw=True),
        UsbId(0x067E, 0x0801, "Intermec scanner", Mark.DOCUMENTED, IN_THIS_MODE, raw=True),
        UsbId(0x0C2E, 0x0200, "Metrologic MS7120", Mark.ASSUMED, IN_SOME_MODE, raw=True),
        UsbId(0x0C2E, 0x0204, "Metrologic MS7120", Mark.DOCUMENTED, IN_THIS_MODE, raw=True),
        UsbId(0x0C2E, 0x0B61, "Honeywell Vuquest 3310g", Mark.ASSUMED, IN_SOME_MODE, raw=True),
        UsbId(0x0C2E, 0x0B81, "Honeywell Voyager 1400g", Mark.ASSUMED, IN_SOME_MODE, raw=True),
        UsbId(0x0DB5, 0x013A, "Access IS Barcode Module", Mark.DOCUMENTED, IN_THIS_MODE, raw=True),
    ),
    settings=ScannerSettings,
    reports=reports,
    orders=orders,
    messages=get_args(ScannerReport),
)
