"""The layout of a scanner's reports, and the characters of the keys of a US keyboard."""

from string import ascii_lowercase
from typing import Final, NamedTuple

from firmware_protocols.family import Code, FrameKind, Framing, Mark
from firmware_protocols.scanner.messages import ScannerFailure

REPORT_BYTES: Final = 8
MODIFIERS, RESERVED, KEYS = 0, 1, slice(2, REPORT_BYTES)  # their positions in a report
PLACES: Final = 6  # for keys
NO_KEY: Final = 0

# A report has no start byte, only a length. Therefore every byte may begin a report.
REPORTS: Final = Framing(
    tuple(FrameKind("report", start, end=None, body_max=REPORT_BYTES - 1) for start in range(0x100)), never_inside=b""
)

LEFT_SHIFT: Final = 0x02
SHIFTS: Final = LEFT_SHIFT | 0x20

FAILURES: Final = (
    Code(1, ScannerFailure.ROLL_OVER, "more keys are down than a report can hold (the phantom state)", Mark.DOCUMENTED),
    Code(2, ScannerFailure.POST, "the keyboard's self-test has failed", Mark.DOCUMENTED),
    Code(3, ScannerFailure.UNDEFINED, "any other error", Mark.DOCUMENTED),
)


class Key(NamedTuple):
    """One key: its usage on page 07 of the HID usage tables, and its characters on a US keyboard."""

    usage: int
    plain: str
    shifted: str


MAIN_KEYS: Final = (
    *(Key(usage, letter, letter.upper()) for usage, letter in enumerate(ascii_lowercase, start=0x04)),
    *(Key(usage, *both) for usage, both in enumerate(zip("1234567890", "!@#$%^&*()", strict=True), start=0x1E)),
    *(Key(usage, *both) for usage, both in enumerate(("  ", "-_", "=+", "[{", "]}", "\\|"), start=0x2C)),
    *(Key(usage, *both) for usage, both in enumerate((";:", "'\"", "`~", ",<", ".>", "/?"), start=0x33)),
)
KEYPAD: Final = (
    *(Key(usage, each, each) for usage, each in enumerate("/*-+", start=0x54)),
    *(Key(usage, each, each) for usage, each in enumerate("1234567890.", start=0x59)),
)
ENTER: Final = 0x28
ENTERS: Final = frozenset({ENTER, 0x58})  # the second key is on the keypad

PLAIN: Final = {key.usage: key.plain for key in (*MAIN_KEYS, *KEYPAD)}
SHIFTED: Final = {key.usage: key.shifted for key in (*MAIN_KEYS, *KEYPAD)}

LONGEST_CODE: Final = 64
CODE: Final = rf"[ -~]{{1,{LONGEST_CODE}}}"  # the characters of a US keyboard
