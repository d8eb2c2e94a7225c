"""A barcode scanner at the table, as a USB keyboard. What is known of it, and how well, is in PROTOCOL.md."""

from typing import Final, get_args

from firmware_protocols.family import Family
from firmware_protocols.scanner.codec import build, orders, reports
from firmware_protocols.scanner.layout import ENTER, ENTERS, FAILURES, LONGEST_CODE, PLAIN, SHIFTED
from firmware_protocols.scanner.messages import Failed, Failure, Held, Report
from firmware_protocols.scanner.settings import ScannerSettings

__all__ = [
    "ENTER",
    "ENTERS",
    "FAILURES",
    "FAMILY",
    "LONGEST_CODE",
    "PLAIN",
    "SHIFTED",
    "Failed",
    "Failure",
    "Held",
    "Report",
    "ScannerSettings",
    "build",
    "orders",
    "reports",
]

FAMILY: Final = Family(
    name="scanner",
    title="Barcode scanner",
    firmware=("any",),  # the reports are those of every keyboard
    line=None,
    usb_ids=(),  # any maker's: the address names the device
    settings=ScannerSettings,
    reports=reports,
    orders=orders,
    messages=get_args(Report),
)
