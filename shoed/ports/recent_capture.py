"""The recorded traffic of a device's line as the text of a capture, for `shoed capture save`.

The daemon runs `capture_text` in a thread, so a full ring does not block the event loop.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from msgspec import Struct

from firmware_protocols.family import Line, Settings, declared
from shoed.model.moments import Now
from shoed.ports.capture import CaptureRecord, Direction, Header, header_text, record_text
from shoed.ports.recorder import HALF_US, HEAD, REMARK

DIRECTIONS: Final = (Direction.FROM_DEVICE, Direction.TO_DEVICE)  # by the kind of the record


class LinkRemark(Struct, frozen=True):
    """A change of the link, written as a comment of the capture."""

    at_us: int
    text: str


class CapturedDevice(Struct, frozen=True):
    family: str
    firmware: str
    line: Line | None
    settings: Settings


def capture_text(kept: bytes, device: CapturedDevice, note: str, at: Now) -> str:
    """The capture of the last hour, or of the time that the ring holds."""
    now_us = at.mono_ns // 1000
    # The ring records sent bytes immediately, but received bytes when the table reads them. So sort by time.
    records = sorted((each for each in unpacked(kept) if each.at_us >= now_us - 2 * HALF_US), key=moment)
    first_us = records[0].at_us if records else now_us
    started = datetime.fromtimestamp((at.utc_us - now_us + first_us) / 1_000_000, UTC)
    setting_words = settings_text(device.settings)
    others = (("settings", setting_words),) if setting_words else ()
    header = Header(device.family, device.firmware, device.line, started, note, others)
    return header_text(header) + "".join(shown(each, each.at_us - first_us) for each in records)


def settings_text(settings: Settings) -> str:
    """The settings that differ from the family's defaults, for the header. A setting that is a table is left out."""
    values = {name: (getattr(settings, name), it.default) for name, it in declared(type(settings)).items()}
    changed = {name: value for name, (value, default) in values.items() if value != default}
    return " ".join(
        f"{name}={value.value if isinstance(value, Enum) else value}"
        for name, value in changed.items()
        if isinstance(value, int | Enum)
    )


def unpacked(kept: bytes) -> Iterator[CaptureRecord | LinkRemark]:
    place = 0
    while place < len(kept):
        at_us, kind, size = HEAD.unpack_from(kept, place)
        place += HEAD.size + size
        data = kept[place - size : place]
        yield LinkRemark(at_us, data.decode()) if kind == REMARK else CaptureRecord(at_us, DIRECTIONS[kind], data)


def moment(each: CaptureRecord | LinkRemark) -> int:
    return each.at_us


def shown(each: CaptureRecord | LinkRemark, at_us: int) -> str:
    if isinstance(each, LinkRemark):
        return f"# {at_us // 1_000_000}.{at_us % 1_000_000:06} {each.text}\n"
    return record_text(CaptureRecord(at_us, each.direction, each.data))
