"""The values of options that several tasks read: a round, a shoe, rows."""

import re
from typing import Final

from shoed.errors import UsageError
from shoed.settings import shown

DIGITS: Final = 18  # below 2**63, the limit of SQLite
ROWS: Final = "rows A-B, or a row A, from 1"
ROUND: Final = "a round as SHOE.ROUND, as in 2.17"


def row_pair(text: str) -> tuple[int, int]:
    first, last = pair(text, "-", "--rows", ROWS)
    if not first:
        raise UsageError(f"--rows {text}: there is no row 0; write {ROWS}")
    if first > last:
        raise UsageError(f"--rows {text}: the first row is after the last row; write {last}-{first}")
    return first, last


def number(text: str, option: str) -> int:
    return checked(text, option, text, "a number, as in 2")


def pair(text: str, sign: str, option: str, right: str) -> tuple[int, int]:
    first, sign, last = text.partition(sign)
    if not sign and right is ROWS:
        last = first
    return checked(first, option, text, right), checked(last, option, text, right)


def checked(digits: str, option: str, text: str, right: str) -> int:
    if not re.fullmatch(f"[0-9]{{1,{DIGITS}}}", digits):
        many = f"; a number has at most {DIGITS} digits" if len(digits) > DIGITS else ""
        raise UsageError(f"{option}: {shown(text)} is not allowed; write {right}{many}")
    return int(digits)
