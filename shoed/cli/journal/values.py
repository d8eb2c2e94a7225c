"""The values of options that several tasks read: a round, a shoe, rows."""

from typing import Final

from shoed.errors import UsageError
from shoed.settings import shown

LAST_ROW: Final = 2**63 - 1  # of SQLite
LONGEST_PAIR: Final = 30
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
    if not (text.isdecimal() and len(text) <= LONGEST_PAIR):
        raise UsageError(f"{option}: {shown(text)} is not allowed; write a number, as in 2")
    return min(int(text), LAST_ROW)


def pair(text: str, sign: str, option: str, right: str) -> tuple[int, int]:
    first, sign, last = text.partition(sign)
    if not sign and right is ROWS:
        last = first
    if not (first.isdecimal() and last.isdecimal() and len(text) <= LONGEST_PAIR):
        raise UsageError(f"{option}: {shown(text)} is not allowed; write {right}")
    return min(int(first), LAST_ROW), min(int(last), LAST_ROW)
