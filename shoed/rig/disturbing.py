"""What happens to a line, done to a script: seeded, and pure.

Each of these takes what a capture's device said and gives what came of it on a worse line. What they take
away, give twice or damage is one record, or a few of them, drawn by the dice that are given.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from msgspec.structs import replace

from shoed.rig.golden import Moment, Script
from shoed.step import AnyInput, LinkDown, Received

AWAY_US: Final = 3_000_000
MOST_LOST: Final = 4
LATE: Final = 3  # records that one of them may be late

Disturbance = Callable[[Script, Random], Script]


def said(script: Script) -> list[tuple[int, int, Received]]:
    """Each record: its place in the script, its moment, its bytes."""
    return [(at, each.at_us, each.came) for at, each in enumerate(script) if isinstance(each.came, Received)]


def drop(script: Script, dice: Random) -> Script:
    """A few records in a row are lost."""
    first, _, _ = dice.choice(said(script))
    lost = {at for at, _, _ in said(script) if first <= at < first + dice.randint(1, MOST_LOST)}
    return tuple(each for at, each in enumerate(script) if at not in lost)


def duplicate(script: Script, dice: Random) -> Script:
    """A record comes twice."""
    at, _, _ = dice.choice(said(script))
    return (*script[: at + 1], script[at], *script[at + 1 :])


def flip(script: Script, dice: Random) -> Script:
    """One bit is another one."""
    at, at_us, record = dice.choice(said(script))
    bit = dice.randrange(len(record.data) * 8)
    damaged = bytearray(record.data)
    damaged[bit // 8] ^= 1 << bit % 8
    return (*script[:at], Moment(at_us, replace(record, data=bytes(damaged))), *script[at + 1 :])


def split(script: Script, _: Random) -> Script:
    """Each byte comes alone."""
    return tuple(Moment(each.at_us, part) for each in script for part in parts(each.came))


def parts(came: AnyInput) -> list[AnyInput]:
    return [replace(came, data=bytes((byte,))) for byte in came.data] if isinstance(came, Received) else [came]


def reorder(script: Script, dice: Random) -> Script:
    """A record comes behind one to three that followed it."""
    records = said(script)
    place = dice.randrange(len(records))
    first = records[place][0]
    behind = records[min(place + dice.randint(1, LATE), len(records) - 1)]
    moved = Moment(behind[1], script[first].came)
    return (*script[:first], *script[first + 1 : behind[0] + 1], moved, *script[behind[0] + 1 :])


def unplug(script: Script, dice: Random) -> Script:
    """The cable is out for three seconds; what the device says meanwhile is lost."""
    out_us = dice.randrange(script[-1].at_us + 1)
    back_us = out_us + AWAY_US
    before = [each for each in script[:-1] if each.at_us < out_us]
    behind = [each for each in script[:-1] if each.at_us >= back_us]
    end_us, end = script[-1]
    out = replace(end, reason="the cable is out") if isinstance(end, LinkDown) else end
    away = [Moment(out_us, out), Moment(back_us, script[0].came)]
    return (*before, *away, *behind, Moment(max(back_us, end_us), end))


EVERY: Final[Mapping[str, Disturbance]] = {
    each.__name__: each for each in (drop, duplicate, flip, split, reorder, unplug)
}
