"""The files of a directory after a power cut, from the log of `shim.c`.

Theory of operation. `Snapshot` keeps the files at the start of a process; they count as durable. The log has every
later write, truncation, sync, creation, removal and renaming, in order. A sync makes the earlier writes of its file
durable. Each later write may reach the disk or not, independently, and in sectors of 512 bytes. The names follow the
journal of a file system: they reach the disk in their order. A sync of the directory, or of a created file, makes all
earlier changes of names durable. `-shm` files do not survive.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.crash.disk import Call

HEADER: Final = struct.Struct("=IIQqIIII")
MAGIC: Final = 0x464C4F47
SECTOR: Final = 512


class Change(NamedTuple):
    """One record of the log."""

    call: Call
    file: int  # the inode
    at: int
    path: str
    data: bytes
    lied: bool
    created: bool


def changes(log: bytes) -> Iterator[Change]:
    """The records; the last one may be incomplete."""
    place = 0
    while place + HEADER.size <= len(log):
        magic, call, file, at, path, size, lied, created = HEADER.unpack_from(log, place)
        assert magic == MAGIC, f"the log is damaged at byte {place}"
        place += HEADER.size
        if place + path + size > len(log):
            return
        name, data = log[place : place + path].decode(), log[place + path : place + path + size]
        yield Change(Call(call), file, at, name, data, bool(lied), bool(created))
        place += path + size


@dataclass
class Content:
    """A file: its durable bytes, and the writes (offset, bytes) and truncations (length, None) after its last sync."""

    durable: bytearray
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for at, data in self.pending:
            apply(self.durable, at, data)
        self.pending.clear()

    def after_cut(self, dice: Random, share: float) -> bytes:
        """The bytes on the disk: of each pending sector, this share."""
        content = bytearray(self.durable)
        for at, data in self.pending:
            for start, piece in sectors(at, data):
                if dice.random() < share:
                    apply(content, start, piece)
        return bytes(content)


def sectors(at: int, data: bytes | None) -> Iterator[tuple[int, bytes | None]]:
    if data is None:
        yield at, None
        return
    place = 0
    while place < len(data):
        end = min(len(data), place + SECTOR - (at + place) % SECTOR)
        yield at + place, data[place:end]
        place = end


def apply(content: bytearray, at: int, data: bytes | None) -> None:
    """Write the bytes; without bytes, set the length."""
    end = at if data is None else at + len(data)
    if data is None:
        del content[at:]
    content.extend(bytes(max(0, end - len(content))))
    if data is not None:
        content[at:end] = data


class Disk:
    """The files while the log is read."""

    def __init__(self, files: Mapping[str, tuple[int, bytes]]) -> None:
        self.live = {file: Content(bytearray(data)) for file, data in files.values()}  # by inode
        self.names = {path: self.live[file] for path, (file, _) in files.items()}
        self.durable = dict(self.names)
        self.unsure: list[tuple[Change, Content | None]] = []  # changes of names without a sync

    def change(self, change: Change) -> None:
        match change.call:
            case Call.OPEN if change.created:
                self.live[change.file] = self.names[change.path] = Content(bytearray())
                self.unsure.append((change, self.live[change.file]))
            case Call.OPEN if change.at == 0 and change.file in self.live:
                self.live[change.file].pending.append((0, None))
            case Call.WRITE:
                self.live[change.file].pending.append((change.at, change.data))
            case Call.TRUNCATE:
                self.live[change.file].pending.append((change.at, None))
            case Call.SYNC if not change.lied:
                self.sync(self.live.get(change.file))
            case Call.REMOVE | Call.RENAME:
                rename(self.names, change)
                self.unsure.append((change, None))
            case _:
                pass

    def sync(self, content: Content | None) -> None:
        """A sync of this file; None: of the directory."""
        if content is not None:
            content.sync()
        if content is None or any(made is content for _, made in self.unsure):
            self.durable, self.unsure = dict(self.names), []

    def cut(self, dice: Random, share: float) -> dict[Path, bytes]:
        for change, made in self.unsure[: round(len(self.unsure) * dice.random())]:
            if made is not None:
                self.durable[change.path] = made
            else:
                rename(self.durable, change)
        return {Path(name): content.after_cut(dice, share) for name, content in self.durable.items()}


class Snapshot:
    """The files of a directory at one moment."""

    def __init__(self, directory: Path) -> None:
        self.files = {str(path): (path.stat().st_ino, path.read_bytes()) for path in present(directory)}

    def cut(self, log: bytes, dice: Random, share: float) -> dict[Path, bytes]:
        """The files after the changes of the log and a power cut. `share` of the writes without a sync survives."""
        disk = Disk(self.files)
        for change in changes(log):
            disk.change(change)
        return disk.cut(dice, share)


def rename(names: dict[str, Content], change: Change) -> None:
    """Remove or rename a file."""
    content = names.pop(change.path, None)
    if change.call is Call.RENAME and content is not None:
        names[change.data.decode()] = content


def present(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.rglob("*")) if path.is_file() and not path.name.endswith("-shm")]


def restore(directory: Path, files: dict[Path, bytes]) -> None:
    """Replace the files of the directory. Their modes are those of the present files."""
    modes = {path: path.stat().st_mode for path in directory.rglob("*") if path.is_file()}
    for path in modes:
        path.unlink()
    for path, data in files.items():
        path.touch(mode=0o600)
        path.write_bytes(data)
        path.chmod(modes.get(path, 0o600))
