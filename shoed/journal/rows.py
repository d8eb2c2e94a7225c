"""One row of the journal: a Step as columns, the columns as a StoredStep, and the hash that binds the rows of a table.

Theory of operation: the hash of a row is SHA-256 over the hash of the previous row of its table, and over the columns
of the row and of its events as msgpack. `body` is one JSON document, compressed with the dictionary that the journal
stores. `docs/journal.md` has the format. The compressor also gets the moment and the bytes of the row, because the
observations repeat them.
"""

import zlib
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed.errors import JournalUnusable
from shoed.model.commands import Answer
from shoed.model.events import Event
from shoed.model.findings import AnyFinding
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Device, FrameRejected
from shoed.model.step import AnyInput, DeviceOrder, QuietInput, Received, SessionAfterNoise, Step
from shoed.typed_json import decoder

DICTIONARY: Final = 1  # the number of the dictionary of new rows
DICTIONARY_SHA256: Final = bytes.fromhex("861e960fa5d7b905678ce7f42c1078d196b84b28faaea675369c2651204004d3")
WINDOW: Final = -12  # raw deflate with a window of 4 KB
LEVEL: Final = 6
MEMORY: Final = 5  # zlib's memLevel
REPEATED_BYTES: Final = 128  # the compressor gets these first bytes of a row
PACKED_FROM: Final = 64  # bytes of one row; shorter data are not compressed
RUN: Final = 1024  # rows of schemas 1 to 4 with one hash

STEP: Final = "table_name, row, utc_us, mono_ns, kind, command, bytes, body, state, hash"
STEP_4: Final = (
    "table_name, row, utc_us, mono_ns, input, bytes, observations, findings, orders, sent,"
    " answers, sent_to_shuffler, packed, left_behind"
)

encoder: Final = msgspec.json.Encoder()
packer: Final = msgspec.msgpack.Encoder()

EventColumns = tuple[int, str, int, str]  # sequence, type, utc_us, data
QuietPart = list[int | str]  # size, ns, us, late_ns, unkept, device: without the zeros at its end


class Columns(NamedTuple):
    """A row of the table `step`."""

    table: str
    row: int
    utc_us: int
    mono_ns: int
    kind: str
    command: str | None
    data: bytes | None  # the column `bytes`
    body: bytes
    state: bytes | None
    hash: bytes


class RowBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The JSON document of a row. The bytes of the input and of the quiet inputs are in the column `bytes`."""

    input: AnyInput
    quiet: tuple[QuietPart, ...] = ()
    observations: tuple[AnyObservation, ...] = ()
    findings: tuple[AnyFinding, ...] = ()
    orders: tuple[DeviceOrder, ...] = ()
    sends: tuple[tuple[Device, bytes], ...] = ()
    answers: tuple[Answer, ...] = ()
    after_noise: dict[str, SessionAfterNoise] = {}
    packed: bool = False  # the column `bytes` is compressed by zlib


ZEROS: Final = (0, 0, 0, 0, 0)  # of a QuietPart without a device
EMPTY: Final = msgspec.Raw(b"[]")


class StoredBody(msgspec.Struct, frozen=True):
    """A RowBody whose values are not decoded."""

    input: msgspec.Raw
    quiet: tuple[QuietPart, ...] = ()
    observations: msgspec.Raw = EMPTY
    findings: msgspec.Raw = EMPTY
    orders: msgspec.Raw = EMPTY
    sends: tuple[tuple[Device, bytes], ...] = ()
    answers: msgspec.Raw = EMPTY
    after_noise: msgspec.Raw = msgspec.Raw(b"{}")
    packed: bool = False


body_decoder: Final = decoder(StoredBody)


class StoredStep(msgspec.Struct, frozen=True):
    """One recorded row. Every `str` field is JSON."""

    row: int
    utc_us: int
    mono_ns: int
    input: str
    received: bytes | None  # the bytes of the input
    observations: str
    findings: str
    orders: str
    sent: bytes
    sent_to_shuffler: bytes
    answers: str
    after_noise: str
    quiet: tuple[QuietInput, ...] = ()

    @property
    def now(self) -> Now:
        return Now(self.utc_us, self.mono_ns)

    @property
    def arrived(self) -> bytes | None:
        """All bytes of the row: those of the quiet inputs and of the input. None without bytes."""
        parts = [each.input.data for each in self.quiet] + ([] if self.received is None else [self.received])
        return b"".join(parts) if parts else None


class StoredEvent(msgspec.Struct, frozen=True):
    sequence: int
    type: str
    utc_us: int
    data: str  # JSON


def text(value: object) -> str:
    return encoder.encode(value).decode()


# --- the chain


def genesis(word: str, table: str) -> bytes:
    """The hash before the first row of a table. `word` is the first word of the journal."""
    return sha256(f"shoed journal {word} table {table}".encode()).digest()


def row_hash(previous: bytes, columns: Sequence[object], events: Sequence[Sequence[object]]) -> bytes:
    """The hash of a row. `columns`: all of them before the hash. `events`: sequence, type, utc_us and data of each."""
    return sha256(previous + packer.encode((*columns, events))).digest()


def seal_hash(previous: bytes, steps: Sequence[Sequence[object]], events: Sequence[Sequence[object]]) -> bytes:
    """The hash of a run of rows of earlier versions, with the columns in the order of their tables."""
    return sha256(previous + packer.encode((steps, events))).digest()


def sealed_hash(previous: bytes, *columns: object) -> bytes:
    """The hash of the anchor of sealed rows. `columns`: table, row, sequence, state, utc_us."""
    return sha256(previous + packer.encode(columns)).digest()


class Checkpoint(msgspec.Struct, frozen=True):
    """The state of a table's engine after a row, as JSON."""

    table: str
    row: int
    engine: int
    sequence: int
    kept: int
    seed: str
    state: str

    @property
    def digest(self) -> bytes:
        """The digest that the row has in its column `state`."""
        return sha256(packer.encode(msgspec.structs.astuple(self))).digest()


# --- writing


def step_columns(table: str, step: Step, dictionary: bytes) -> tuple[object, ...]:
    """The columns of a Step from `table_name` to `body`."""
    data, is_packed = received_bytes(step)
    body = RowBody(
        replace(step.input, data=b"") if isinstance(step.input, Received) else step.input,
        quiet_parts(step),
        step.observations,
        step.findings,
        step.orders,
        tuple([(send.device, send.data) for send in step.sends]),
        step.answers,
        dict(step.after_noise),
        is_packed,
    )
    return (
        table,
        step.row,
        step.now.utc_us,
        step.now.mono_ns,
        step.input.__struct_config__.tag,
        step.answers[0].id if step.answers else None,
        data,
        pack(encoder.encode(body), dictionary, step.now.utc_us, step.now.mono_ns, data),
    )


def event_columns(event: Event) -> EventColumns:
    return event.sequence, event.type, event.utc_us, text(event.data)


def received_bytes(step: Step) -> tuple[bytes | None, bool]:
    """The bytes of the quiet inputs and of the input, and whether they are compressed."""
    last = step.input.data if isinstance(step.input, Received) else None
    if last is None and not step.quiet:
        return None, False
    data = b"".join([*(each.input.data for each in step.quiet), last or b""])
    if len(data) < PACKED_FROM or not all(isinstance(seen, FrameRejected) for seen in step.observations):
        return data, False  # an auditor reads the bytes of a card as they are
    packed = zlib.compress(data)
    return (packed, True) if len(packed) < len(data) else (data, False)


def quiet_parts(step: Step) -> tuple[QuietPart, ...]:
    moments = pairwise([*(each.now for each in step.quiet), step.now])
    return tuple([quiet_part(each.input, *pair) for each, pair in zip(step.quiet, moments, strict=True)])


def quiet_part(incoming: Received, now: Now, following: Now) -> QuietPart:
    """The size, and the time to the next input on both clocks; then values that are usually 0."""
    ns = following.mono_ns - now.mono_ns
    part: QuietPart = [len(incoming.data), ns, following.utc_us - now.utc_us - ns // 1000]
    part += [incoming.late_ns, incoming.unkept, 0 if incoming.device is Device.SHOE else incoming.device.value]
    while part and not part[-1]:
        part.pop()
    return part


def pack(body: bytes, dictionary: bytes, utc_us: int, mono_ns: int, data: bytes | None) -> bytes:
    context = preset(dictionary, utc_us, mono_ns, data)
    packing = zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_DEFAULT_STRATEGY, context)
    return bytes((DICTIONARY,)) + packing.compress(body) + packing.flush()


def preset(dictionary: bytes, utc_us: int, mono_ns: int, data: bytes | None) -> bytes:
    """The dictionary, and the values of the row that its observations repeat."""
    return dictionary + f"[{utc_us},{mono_ns}]{(data or b'')[:REPEATED_BYTES].hex(' ')}".encode()


# --- reading


def unpack(columns: Columns, dictionary: bytes) -> bytes:
    if columns.body[:1] != bytes((DICTIONARY,)):
        raise ValueError(f"the dictionary of the body has the number {columns.body[:1].hex()}")
    context = preset(dictionary, columns.utc_us, columns.mono_ns, columns.data)
    unpacking = zlib.decompressobj(WINDOW, context)
    return unpacking.decompress(columns.body[1:]) + unpacking.flush()


def stored_step(columns: Columns, dictionary: bytes) -> StoredStep:
    try:
        body = body_decoder.decode(unpack(columns, dictionary))
        data = zlib.decompress(columns.data) if body.packed and columns.data is not None else columns.data
        quiet = quiet_inputs(columns, body, data or b"")
    except (ValueError, IndexError, zlib.error) as error:
        raise unreadable(columns.table, columns.row, error) from error
    return StoredStep(
        columns.row,
        columns.utc_us,
        columns.mono_ns,
        bytes(body.input).decode(),
        None if columns.kind != Received.__struct_config__.tag else (data or b"")[sum(map(size, body.quiet)) :],
        bytes(body.observations).decode(),
        bytes(body.findings).decode(),
        bytes(body.orders).decode(),
        sent(body, Device.SHOE),
        sent(body, Device.SHUFFLER),
        bytes(body.answers).decode(),
        bytes(body.after_noise).decode(),
        quiet,
    )


def stored_step_4(columns: tuple[Any, ...]) -> StoredStep:
    """A row of schemas 1 to 4, in the order of STEP_4."""
    table, row, utc_us, mono_ns, incoming, data, observations, findings, orders, sent_to_shoe = columns[:10]
    answers, sent_to_shuffler, packed, after_noise = columns[10:]
    try:
        received = zlib.decompress(data) if packed and data is not None else data
    except zlib.error as error:
        raise unreadable(table, row, error) from error
    return StoredStep(
        *(row, utc_us, mono_ns, incoming, received, observations, findings, orders),
        *(sent_to_shoe, sent_to_shuffler, answers, after_noise),
    )


def quiet_inputs(columns: Columns, body: StoredBody, data: bytes) -> tuple[QuietInput, ...]:
    """The quiet inputs in the order of their arrival. Each part has the time to the next one."""
    now, end, found = Now(columns.utc_us, columns.mono_ns), sum(map(size, body.quiet)), []
    for part in reversed(body.quiet):
        length, ns, us, late_ns, unkept = [int(each) for each in (*part, *ZEROS)[: len(ZEROS)]]
        device = Device(part[len(ZEROS)]) if len(part) > len(ZEROS) else Device.SHOE
        now = Now(now.utc_us - ns // 1000 - us, now.mono_ns - ns)
        found.append(QuietInput(Received(data[end - length : end], late_ns, unkept, device=device), now))
        end -= length
    return tuple(reversed(found))


def size(part: QuietPart) -> int:
    return int(part[0]) if part else 0


def sent(body: StoredBody, device: Device) -> bytes:
    return b"".join([data for each, data in body.sends if each is device])


def unreadable(table: str, row: int, error: Exception) -> JournalUnusable:
    return JournalUnusable(
        f"{table}: row {row} cannot be read: {error}; run: shoed journal verify; if it finds no change, use the"
        " version of shoed that wrote the journal"
    )
