"""One row of the journal: a Step as columns."""

import zlib
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.events import Event
from shoed.model.observations import Device, FrameRejected
from shoed.model.step import Received, Step

PACKED_FROM: Final = 64  # bytes of one row; shorter data are not compressed

encoder: Final = msgspec.json.Encoder()


def text(value: object) -> str:
    return encoder.encode(value).decode()


def step_row(table: str, step: Step) -> tuple[object, ...]:
    received = step.input if isinstance(step.input, Received) else None
    data, packed = (None, 0) if received is None else (received.data, 0)
    if data is not None and all(isinstance(seen, FrameRejected) for seen in step.observations):
        data, packed = packed_if_shorter(data)  # rejected bytes only: an auditor reads the bytes of a card as they are
    return (
        table,
        step.row,
        step.now.utc_us,
        step.now.mono_ns,
        text(step.input if received is None else replace(received, data=b"")),
        data,
        text(step.observations),
        text(step.findings),
        text(step.orders),
        sent(step, Device.SHOE),
        text(step.answers),
        sent(step, Device.SHUFFLER),
        packed,
        text(step.after_noise),
    )


def packed_if_shorter(data: bytes) -> tuple[bytes, int]:
    """The bytes, and 1 if they are compressed."""
    if len(data) < PACKED_FROM:
        return data, 0
    packed = zlib.compress(data)
    return (packed, 1) if len(packed) < len(data) else (data, 0)


def sent(step: Step, device: Device) -> bytes:
    return b"".join([each.data for each in step.sends if each.device is device])


def event_row(table: str, step: Step, event: Event) -> tuple[object, ...]:
    return table, event.sequence, step.row, event.type, event.utc_us, text(event.data)


def unpacked(data: bytes | None, packed: int) -> bytes | None:
    return zlib.decompress(data) if packed and data is not None else data
