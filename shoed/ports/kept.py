"""What a ring kept, as a capture: for whoever asks the daemon for it, in a thread of its own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from msgspec import Struct

from firmware_protocols.family import Line, Settings, declared
from shoed.now import Now
from shoed.ports.capture import Direction, Header, Record, header_text, record_text
from shoed.ports.tap import HALF_US, HEAD, REMARK

DIRECTIONS: Final = (Direction.FROM_DEVICE, Direction.TO_DEVICE)  # by their kinds


class Remark(Struct, frozen=True):
    """What became of the link: a comment of the capture."""

    at_us: int
    text: str


class Device(Struct, frozen=True):
    family: str
    firmware: str
    line: Line | None
    settings: Settings


def text(kept: bytes, device: Device, note: str, at: Now) -> str:
    """The capture, as far back as a ring gives away."""
    now_us = at.mono_ns // 1000
    # What was sent is kept at once, and what came when it is taken: only the clock puts both in their order.
    records = sorted((each for each in unpacked(kept) if each.at_us >= now_us - 2 * HALF_US), key=moment)
    first_us = records[0].at_us if records else now_us
    started = datetime.fromtimestamp((at.utc_us - now_us + first_us) / 1_000_000, UTC)
    spelt = spelt_out(device.settings)
    others = (("settings", spelt),) if spelt else ()
    header = Header(device.family, device.firmware, device.line, started, note, others)
    return header_text(header) + "".join(shown(each, each.at_us - first_us) for each in records)


def spelt_out(settings: Settings) -> str:
    """Those that are not as the family has them, as a capture's header says them; a table has no place there."""
    values = {name: (getattr(settings, name), it.default) for name, it in declared(type(settings)).items()}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return " ".join(
        f"{name}={value.value if isinstance(value, Enum) else value}"
        for name, value in changed.items()
        if isinstance(value, int | Enum)
    )


def unpacked(kept: bytes) -> Iterator[Record | Remark]:
    place = 0
    while place < len(kept):
        at_us, kind, size = HEAD.unpack_from(kept, place)
        place += HEAD.size + size
        data = kept[place - size : place]
        yield Remark(at_us, data.decode()) if kind == REMARK else Record(at_us, DIRECTIONS[kind], data)


def moment(each: Record | Remark) -> int:
    return each.at_us


def shown(each: Record | Remark, at_us: int) -> str:
    if isinstance(each, Remark):
        return f"# {at_us // 1_000_000}.{at_us % 1_000_000:06} {each.text}\n"
    return record_text(Record(at_us, each.direction, each.data))
