"""Moments and days as people write them: UTC, or another zone if the text names it."""

import re
from argparse import Namespace
from contextlib import suppress
from datetime import date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from shoed.cli.parser import Parser
from shoed.errors import UsageError
from shoed.model.moments import EPOCH
from shoed.settings import shown

RIGHT: Final = (
    "write a date or a moment in UTC, as 2026-11-19 or 2026-11-19T22:05:00, or with a zone, as 2026-11-19T22:05+08:00;"
    ' "2026-11-19T22:05 local" is in the zone of this machine'
)
ZONE: Final = r"Z|UTC|local|[+-](?:[01]\d|2[0-3]):[0-5]\d"
MOMENT: Final = re.compile(
    rf"(?P<day>\d{{4}}-\d\d-\d\d)([T ](?P<time>\d\d:\d\d(:\d\d(\.\d{{1,6}})?)?))?\s*(?P<zone>{ZONE})?",
    re.ASCII,
)
MICROSECOND: Final = timedelta(microseconds=1)


class Period(NamedTuple):
    """A part of time in microseconds of UTC: `first` is in it, `end` is not."""

    first: int
    end: int


ALL_TIMES: Final = Period(-(2**63), 2**63 - 1)  # of SQLite


def period_between(first: str | None, last: str | None) -> Period:
    """From the beginning of the time of `--from` to the end of the time of `--to`."""
    begin = ALL_TIMES if first is None else period_of("--from", first)
    end = ALL_TIMES if last is None else period_of("--to", last)
    if begin.first >= end.end:
        raise UsageError(
            f"--from {first} --to {last}: the end is before the beginning; write --from {last} --to {first}"
        )
    return Period(begin.first, end.end)


def period_of(option: str, text: str) -> Period:
    """The day, the minute, the second or the microsecond that the text names."""
    found = MOMENT.fullmatch(text.strip())
    if found is None:
        raise wrong(option, text)
    try:
        zone = found["zone"] or "Z"
        if found["time"] is None:
            return whole_day(found["day"], zone)
        began = microseconds(moment(f"{found['day']}T{found['time']}", zone))
    except (ValueError, OverflowError, OSError):
        raise wrong(option, text) from None
    return Period(began, began + 1)


def whole_day(text: str, zone: str) -> Period:
    day = date.fromisoformat(text)
    began = microseconds(moment(f"{day}T00:00", zone))
    if day == date.max:
        return Period(began, ALL_TIMES.end)
    return Period(began, microseconds(moment(f"{day + timedelta(days=1)}T00:00", zone)))


def wrong(option: str, text: str) -> UsageError:
    return UsageError(f"{option}: {shown(text)} is not a moment; {RIGHT}")


def moment(text: str, zone: str) -> datetime:
    if zone == "local":
        return datetime.fromisoformat(text).astimezone()
    offset = "+00:00" if zone in ("Z", "UTC") else zone
    return datetime.fromisoformat(f"{text}{offset}")


def microseconds(when: datetime) -> int:
    return (when - EPOCH) // MICROSECOND


def day_of(option: str, text: str, zone: str) -> Period:
    """A day in the zone of `--zone`."""
    zone_of(zone)
    with suppress(ValueError, OverflowError, OSError):
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return whole_day(text, zone)
    raise UsageError(f"{option}: {shown(text)} is not a date; write a date, as 2026-11-19")


def add_zone(parser: Parser) -> None:
    parser.add_argument(
        "--zone", metavar="ZONE", help="the zone of days: an offset such as +08:00, or local (default: UTC)"
    )


def zone_for(days: str, arguments: Namespace, *, has_days: bool) -> str:
    """The zone of the days that this option selects."""
    if arguments.zone is not None and not has_days:
        raise UsageError(f"--zone {arguments.zone}: it is the zone of days; add {days}")
    return "UTC" if arguments.zone is None else str(arguments.zone)


def zone_of(text: str) -> tzinfo | None:
    """The zone; None: the zone of this machine."""
    if not re.fullmatch(ZONE, text, re.ASCII):
        raise UsageError(f"--zone: {shown(text)} is not a zone; write UTC, local, or an offset such as +08:00")
    return None if text == "local" else moment("2000-01-01T00:00", text).tzinfo
