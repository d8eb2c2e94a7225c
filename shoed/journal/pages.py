"""The records of a damaged SQLite file, read page by page.

Theory of operation: SQLite reaches a page through the pages above it in a tree. Damage of one of these hides all pages
below it. This module reads each page by itself, from the file and from the write-ahead log, and returns every record of
it that can be decoded. The reader of the records decides which of them to trust: the same record may occur several
times, and a free page has old records. The format is described in https://www.sqlite.org/fileformat2.html.
"""

import struct
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

SqlValue = int | str | bytes | None
Pages = Callable[[int], bytes | None]  # the content of a page by its number, from 1

HEADER: Final = 100  # bytes of the file's header, on the first page
WAL_HEADER, FRAME_HEADER = 32, 24
MAGIC: Final = 0x377F0682  # of a log with little-endian checksums; the last bit is set for big-endian ones
SIZES: Final = frozenset(1 << power for power in range(9, 16))
PAGE_SIZE: Final = 4096  # of a journal, if the header of the file is damaged
INDEX_INTERIOR, INDEX_LEAF, TABLE_LEAF = 2, 10, 13
LONGEST: Final = 1 << 24  # bytes of a record; shoed writes none that is longer
INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # by the serial type: the number of bytes
CONSTANTS: Final[dict[int, int | None]] = {0: None, 8: 0, 9: 1}


def page_size_of(path: Path) -> int:
    """The size of the file's pages, from its header or from the header of the log."""
    for file, place, width in ((path, 16, 2), (log_of(path), 8, 4)):
        if (size := int.from_bytes(_part(file, place, width))) in SIZES:
            return size
    return PAGE_SIZE


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _part(file: Path, place: int, width: int) -> bytes:
    try:
        with file.open("rb") as stream:
            stream.seek(place)
            return stream.read(width)
    except OSError:
        return b""


def frames_of(log: Path, size: int, unread: list[int]) -> dict[int, int]:
    """The pages of a log, by number: the place of the last committed content in the log.

    Damage costs one frame only: each checksum continues that of the frame before. `unread` gets a 0 for each frame that
    the disk cannot read, and for a log without a readable header.
    """
    places: dict[int, int] = {}
    waiting: dict[int, int] = {}  # the frames of a transaction whose last frame has not been read
    if not log.exists():
        return places
    with log.open("rb", buffering=0) as stream:
        header = _bytes(stream, 0, WAL_HEADER)
        if header is None:
            unread.append(0)
        if header is None or len(header) < WAL_HEADER:
            return places
        order = ">" if int.from_bytes(header[:4]) & 1 else "<"
        salts, before = header[16:24], struct.unpack(">II", header[24:32])
        for place in range(WAL_HEADER, log.stat().st_size - FRAME_HEADER - size + 1, FRAME_HEADER + size):
            frame = _bytes(stream, place, FRAME_HEADER + size)
            if frame is None or len(frame) < FRAME_HEADER + size:
                unread.append(0)
                continue
            number, pages = struct.unpack(">II", frame[:8])
            now = struct.unpack(">II", frame[16:24])
            if frame[8:16] == salts:  # otherwise a frame of an earlier use of the log
                if now == checksum(order, before, frame[:8] + frame[FRAME_HEADER:]):
                    waiting[number] = place + FRAME_HEADER
                if pages:
                    places |= waiting
                    waiting = {}
            before = now
    return places


def checksum(order: str, before: tuple[int, ...], data: bytes) -> tuple[int, int]:
    one, two = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def records(path: Path, unread: list[int]) -> Iterator[tuple[SqlValue, ...]]:
    """Every record of the file and of its log. `unread` gets the number of each page that the disk cannot read."""
    size = page_size_of(path)
    frames = frames_of(log_of(path), size, unread)
    with path.open("rb") as file, (log_of(path) if frames else path).open("rb") as log:
        pages = max(-(-path.stat().st_size // size), max(frames, default=0))

        def in_file(number: int) -> bytes | None:
            return _page(file, (number - 1) * size, size)

        def newest(number: int) -> bytes | None:
            place = frames.get(number)
            return in_file(number) if place is None else _page(log, place, size)

        free = free_pages(newest, pages)
        for number in range(1, pages + 1):
            if number in free:
                continue
            if newest(number) is None:
                unread.append(number)
            for way in (newest, in_file) if number in frames else (newest,):
                if page := way(number):
                    yield from of_page(page, HEADER if number == 1 else 0, way)


def free_pages(pages: Pages, count: int) -> set[int]:
    """The pages with deleted records. Empty if the list of these pages is damaged."""
    header = pages(1) or b""
    if len(header) < HEADER:
        return set()
    trunk, expected = struct.unpack_from(">II", header, 32)
    free: set[int] = set()
    while trunk:
        page = pages(trunk) if trunk <= count and trunk not in free else None
        if page is None:
            return set()
        free.add(trunk)
        trunk, leaves = struct.unpack_from(">II", page)
        if leaves > len(page) // 4 - 2:
            return set()
        free |= set(struct.unpack_from(f">{leaves}I", page, 8))
    return free if len(free) == expected and max(free, default=0) <= count else set()


def _page(stream: BinaryIO, place: int, size: int) -> bytes | None:
    """A page; the end of a truncated file is filled with zeros. None: the disk cannot read it, or it is not there."""
    data = _bytes(stream, place, size)
    return data.ljust(size, b"\0") if data else None


def _bytes(stream: BinaryIO | FileIO, place: int, size: int) -> bytes | None:
    """None: the disk cannot read them."""
    try:
        stream.seek(place)
        return stream.read(size)
    except OSError:
        return None


def of_page(page: bytes, start: int, pages: Pages) -> Iterator[tuple[SqlValue, ...]]:
    """The records of one page of a tree. A cell that cannot be decoded is skipped."""
    kind = page[start]
    if kind not in {INDEX_INTERIOR, INDEX_LEAF, TABLE_LEAF}:
        return
    (count,) = struct.unpack_from(">H", page, start + 3)
    first = start + (12 if kind == INDEX_INTERIOR else 8)
    for pointer in range(first, min(first + 2 * count, len(page) - 1), 2):
        (cell,) = struct.unpack_from(">H", page, pointer)
        try:
            yield _cell(page, cell, kind, pages)
        except (ValueError, IndexError, struct.error, UnicodeDecodeError):
            continue


def _cell(page: bytes, cell: int, kind: int, pages: Pages) -> tuple[SqlValue, ...]:
    size, place = _varint(page, cell + 4 if kind == INDEX_INTERIOR else cell)
    rowid = 0
    if kind == TABLE_LEAF:
        rowid, place = _varint(page, place)
    if not 0 < size <= LONGEST:
        raise ValueError(size)
    usable = len(page)
    most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if size <= most:
        payload = page[place : place + size]
    else:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        payload = page[place : place + local]
        (following,) = struct.unpack_from(">I", page, place + local)
        while len(payload) < size:
            more = pages(following) if following else None
            if more is None:
                raise ValueError(following)
            payload += more[4 : 4 + size - len(payload)]
            (following,) = struct.unpack_from(">I", more)
    if len(payload) < size:
        raise ValueError(size)
    values = _values(payload)
    # A table with an INTEGER PRIMARY KEY has NULL in its place: the key is the number of the row.
    return (rowid, *values[1:]) if kind == TABLE_LEAF and values and values[0] is None else values


def _values(payload: bytes) -> tuple[SqlValue, ...]:
    end, place = _varint(payload, 0)
    data = end
    values: list[SqlValue] = []
    while place < end:
        kind, place = _varint(payload, place)
        if kind in CONSTANTS:
            values.append(CONSTANTS[kind])
            continue
        width = INTEGERS.get(kind) or (kind - 12) // 2
        part = payload[data : data + width]
        if len(part) < width or kind in {7, 10, 11}:
            raise ValueError(kind)
        data += width
        values.append(
            int.from_bytes(part, signed=True) if kind in INTEGERS else part if kind % 2 == 0 else part.decode()
        )
    if place != end or data != len(payload):
        raise ValueError(place)
    return tuple(values)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for each in range(8):
        byte = data[place + each]
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, place + each + 1
    return value << 8 | data[place + 8], place + 9
