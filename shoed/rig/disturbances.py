"""Disturbances of a line, applied to a script. They are pure functions of a seed.

Each function receives the script of a capture and returns the script of a worse line. It removes, repeats, moves or
damages one record or a few records. The dice choose the records.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from msgspec.structs import replace

from shoed.model.step import AnyInput, LinkDown, Received
from shoed.rig.golden import Script, ScriptedInput

AWAY_US: Final = 3_000_000
MOST_LOST: Final = 4
LATE: Final = 3  # the most records by which a record may be late

Disturbance = Callable[[Script, Random], Script]


def received_in(script: Script) -> list[tuple[int, int, Received]]:
    """Return each record: its index in the script, its moment, its bytes."""
    return [(at, each.at_us, each.input) for at, each in enumerate(script) if isinstance(each.input, Received)]


def drop(script: Script, dice: Random) -> Script:
    """Lose a few consecutive records."""
    first, _, _ = dice.choice(received_in(script))
    lost = {at for at, _, _ in received_in(script) if first <= at < first + dice.randint(1, MOST_LOST)}
    return tuple(each for at, each in enumerate(script) if at not in lost)


def duplicate(script: Script, dice: Random) -> Script:
    """Repeat a record."""
    at, _, _ = dice.choice(received_in(script))
    return (*script[: at + 1], script[at], *script[at + 1 :])


def flip(script: Script, dice: Random) -> Script:
    """Flip one bit."""
    at, at_us, record = dice.choice(received_in(script))
    bit = dice.randrange(len(record.data) * 8)
    damaged = bytearray(record.data)
    damaged[bit // 8] ^= 1 << bit % 8
    return (*script[:at], ScriptedInput(at_us, replace(record, data=bytes(damaged))), *script[at + 1 :])


def split(script: Script, _: Random) -> Script:
    """Deliver each byte alone."""
    return tuple(ScriptedInput(each.at_us, part) for each in script for part in parts(each.input))


def parts(entry: AnyInput) -> list[AnyInput]:
    return [replace(entry, data=bytes((byte,))) for byte in entry.data] if isinstance(entry, Received) else [entry]


def reorder(script: Script, dice: Random) -> Script:
    """Move a record after one to three of the records that followed it."""
    records = received_in(script)
    place = dice.randrange(len(records))
    first = records[place][0]
    last = records[min(place + dice.randint(1, LATE), len(records) - 1)]
    moved = ScriptedInput(last[1], script[first].input)
    return (*script[:first], *script[first + 1 : last[0] + 1], moved, *script[last[0] + 1 :])


def unplug(script: Script, dice: Random) -> Script:
    """Disconnect the cable for three seconds; everything that the device sends meanwhile is lost."""
    out_us = dice.randrange(script[-1].at_us + 1)
    back_us = out_us + AWAY_US
    before = [each for each in script[:-1] if each.at_us < out_us]
    after = [each for each in script[:-1] if each.at_us >= back_us]
    end_us, end = script[-1]
    out = replace(end, reason="the cable is disconnected") if isinstance(end, LinkDown) else end
    away = [ScriptedInput(out_us, out), ScriptedInput(back_us, script[0].input)]
    return (*before, *away, *after, ScriptedInput(max(back_us, end_us), end))


EVERY: Final[Mapping[str, Disturbance]] = {
    each.__name__: each for each in (drop, duplicate, flip, split, reorder, unplug)
}
