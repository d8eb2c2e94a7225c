"""The Ed25519 key of the daemon, which signs the heads of the journal (`heads.py`).

Theory of operation: the private key is a PEM file (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it. The
first start makes `journal.key` in the state directory, unless the configuration names a file. A private key of Ed25519
is 32 random bytes, and both PEM files of a key have a fixed beginning. So the start reads or makes the file without the
library. `prepare` imports the library, which costs 32 ms and 8 MB, and writes the public key beside the journal. The
daemon calls it in a thread after READY; a head that is due earlier imports the library, too.

A file that is absent or damaged does not stop the tables: a new key is made, and the record has the reason. A file that
this user cannot read, or that other users can read, is an error with its remedy. The first head of a new key writes the
key into the table `key`. If the previous private key can still be read, it signs the new public key.
"""

import base64
import logging
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from time import gmtime, strftime
from typing import Final

from shoed.errors import JournalUnusable
from shoed.journal.reader import Reader

LOG: Final = logging.getLogger("shoed.journal")

KEY_FILE: Final = "journal.key"
PUBLIC_FILE: Final = "journal.pub"
PREVIOUS_FILE: Final = "journal.key.old"  # the operator renames the key so that the daemon makes another one
KEY_BYTES: Final = 32
PRIVATE: Final = bytes.fromhex("302e020100300506032b657004220420")  # the DER before a private key
PUBLIC: Final = bytes.fromhex("302a300506032b6570032100")  # the DER before a public key
PEM: Final = re.compile(rb"\s*-----BEGIN ([A-Z ]+)-----\s*([A-Za-z0-9+/=\s]+?)\s*-----END \1-----\s*")
LONGEST: Final = 4096  # a larger file is not a key
TOO_OPEN: Final = stat.S_IWGRP | stat.S_IRWXO
MAKE: Final = "`openssl genpkey -algorithm ed25519` prints a new key"

ANNOUNCEMENT: Final = """\
shoed key 1
journal {journal}
previous {previous}
next {following}
"""


class NotKey(ValueError):
    """A file that does not contain a key."""


class NoKeyFile(ValueError):
    """A file that does not exist."""


def pem(kind: str, der: bytes) -> bytes:
    return f"-----BEGIN {kind}-----\n{base64.b64encode(der).decode()}\n-----END {kind}-----\n".encode()


def unpacked_pem(data: bytes, kind: str, beginning: bytes) -> bytes | None:
    """The key in a PEM file of Ed25519; None for other content."""
    found = PEM.fullmatch(data)
    if found is None or found[1].decode() != kind:
        return None
    try:
        der = base64.b64decode(b"".join(found[2].split()), validate=True)
    except ValueError:
        return None
    key = der.removeprefix(beginning)
    return key if der.startswith(beginning) and len(key) == KEY_BYTES else None


def read_private(path: Path) -> bytes:
    """The private key. A ValueError has the problem and the remedy."""
    try:
        with path.open("rb") as file:
            mode, data = os.fstat(file.fileno()).st_mode, file.read(LONGEST)
    except FileNotFoundError as error:
        raise NoKeyFile(f"{path} does not exist", f"write the key of the journal into it; {MAKE}") from error
    except PermissionError as error:
        problem = f"{path} cannot be read: {error.strerror}"
        raise ValueError(problem, "run shoed as the user of the daemon, and give the file to that user") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}", f"use a file with a key; {MAKE}") from error
    if mode & TOO_OPEN:
        problem = f"{path} has the mode {stat.S_IMODE(mode):04o}, so that other users can read or change the key"
        raise ValueError(problem, f"run: chmod 0600 {path}; if another user read it, use a new key")
    key = unpacked_pem(data, "PRIVATE KEY", PRIVATE)
    if key is None:
        raise NotKey(f"{path} does not contain a private key of Ed25519", f"write a PEM file; {MAKE}")
    return key


def read_public(path: Path) -> bytes:
    """The public key of a PEM file; a ValueError has the problem and the remedy."""
    try:
        key = unpacked_pem(path.read_bytes()[:LONGEST], "PUBLIC KEY", PUBLIC)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}", f"name a copy of {PUBLIC_FILE}") from error
    if key is None:
        raise ValueError(f"{path} does not contain a public key of Ed25519", f"name a copy of {PUBLIC_FILE}")
    return key


def write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a complete and durable file, or none."""
    trial = path.with_name(f"{path.name}.new")
    trial.unlink(missing_ok=True)  # of a start that ended within this function
    descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    with open(descriptor, "wb") as file:  # noqa: PTH123 -- a descriptor
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    trial.rename(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SigningKey:
    """The private key of the daemon. `reason`: why the record may have another key before."""

    def __init__(
        self, private: bytes, reason: str, earlier: Iterable[bytes] = (), recorded: bytes | None = None
    ) -> None:
        self.private = private
        self.reason = reason
        self.recorded = recorded  # the newest public key of the journal
        self.note = ""  # about another key than before, for the status
        self.earlier = tuple(earlier)  # private keys that can still be read: one may announce this key
        self.lock = Lock()
        self.loaded: tuple[bytes, Callable[[bytes], bytes]] | None = None  # the public key, and the function that signs

    def load(self) -> tuple[bytes, Callable[[bytes], bytes]]:
        """Import the library. Any thread may call it."""
        with self.lock:
            if self.loaded is None:
                from shoed.journal.ed25519 import loaded  # noqa: PLC0415 -- start-up time and memory: see above

                self.loaded = loaded(self.private)
            return self.loaded

    @property
    def public(self) -> bytes:
        return (self.loaded or self.load())[0]

    def sign(self, text: bytes) -> bytes:
        return (self.loaded or self.load())[1](text)

    def prepare_in_thread(self, state_dir: Path) -> None:
        """Call `prepare` in a thread: neither the library nor a disk that hangs delays the event loop."""
        Thread(target=self.prepare, args=(state_dir,), name="journal-key", daemon=True).start()

    def prepare(self, state_dir: Path) -> None:
        """Import the library, and write the public key. Another key than in the file or in the journal is logged."""
        path = state_dir / PUBLIC_FILE
        try:
            before = read_public(path)
        except ValueError:
            before = None
        if {before, self.recorded} - {None, self.public}:
            self.note = f"the key of the journal has changed: {self.reason}"
            LOG.warning(
                "%s: %s; give each reader of the signed heads the new file and the earlier ones", path, self.note
            )
        if before == self.public:
            return
        try:
            write_new(path, pem("PUBLIC KEY", PUBLIC + self.public), 0o644)
        except OSError as error:
            LOG.warning("%s: the public key cannot be written: %s; the next start writes it", path, error.strerror)

    def enroll(self, connection: sqlite3.Connection, journal: str, utc_us: int) -> int:
        """The number of this key in the table `key`. A new key is written in the present transaction."""
        newest = connection.execute("SELECT number, public FROM key ORDER BY number DESC LIMIT 1").fetchone()
        if newest is not None and newest[1] == self.public:
            return int(newest[0])
        number = 1 if newest is None else int(newest[0]) + 1
        reason = "the first key of the journal" if newest is None else self.reason
        announced = None if newest is None else self.announcement(journal, newest[1])
        connection.execute("INSERT INTO key VALUES (?, ?, ?, ?, ?)", (number, self.public, utc_us, reason, announced))
        return number

    def announcement(self, journal: str, previous: bytes) -> bytes | None:
        """The signature of this key by the previous key, if the previous private key can still be read."""
        for private in self.earlier:
            key = SigningKey(private, "")
            if key.public == previous:
                return key.sign(announcement_text(journal, previous, self.public))
        return None


def announcement_text(journal: str, previous: bytes, following: bytes) -> bytes:
    """The signed bytes of a change of the key."""
    return ANNOUNCEMENT.format(
        journal=journal,
        previous=base64.b64encode(previous).decode(),
        following=base64.b64encode(following).decode(),
    ).encode()


def is_announced(journal: str, previous: bytes, following: bytes, signature: bytes) -> bool:
    """Whether the previous key announced the following one."""
    from shoed.journal.ed25519 import is_signed  # noqa: PLC0415 -- start-up time and memory: see above

    return is_signed(previous, signature, announcement_text(journal, previous, following))


def daemon_key(state_dir: Path, key_file: str | None, recorded: bytes | None = None) -> SigningKey:
    """The key that the configuration names, or the key in the state directory, which the first start makes.

    `recorded`: the newest public key of the journal.
    """
    own, remedy = state_dir / KEY_FILE, "restore the file from a copy, or give the new public key to each reader"
    earlier = readable_keys(own, state_dir / PREVIOUS_FILE)
    try:
        path = own if key_file is None else Path(key_file)
        return SigningKey(read_private(path), f"{path} has another key", earlier, recorded)
    except ValueError as error:
        if key_file is None and isinstance(error, NoKeyFile) and recorded in [public_of(each) for each in earlier]:
            reason = f"{own} was renamed to {PREVIOUS_FILE}, and shoed made a new key, which the old key announces"
            remedy = f"give the new public key to each reader, and delete {PREVIOUS_FILE} after the next round"
        elif key_file is None and isinstance(error, NoKeyFile):
            reason = f"{own} did not exist, and shoed made a new key"
        elif key_file is None and isinstance(error, NotKey):
            reason = f"{error.args[0]}; it is now {set_aside(own)}, and shoed made a new key"
        else:
            raise JournalUnusable(f"the key of the journal: {error.args[0]}; {error.args[1]}") from error
    if recorded is not None or (state_dir / PUBLIC_FILE).exists():
        LOG.warning("%s; %s", reason, remedy)
    else:
        LOG.info("%s: the first one of this journal; keep a copy in a safe place", reason)
    private = os.urandom(KEY_BYTES)
    try:
        write_new(own, pem("PRIVATE KEY", PRIVATE + private), 0o600)
    except OSError as fault:
        raise unwritable_key(own, fault) from fault
    return SigningKey(private, reason, earlier, recorded)


def public_of(private: bytes) -> bytes:
    return SigningKey(private, "").public


def recorded_key(reader: Reader) -> bytes | None:
    """The newest public key of the journal."""
    return next((public for (public,) in reader.rows("SELECT public FROM key ORDER BY number DESC LIMIT 1")), None)


def set_aside(path: Path) -> str:
    aside = path.with_name(f"{path.name}.damaged-{strftime('%Y%m%dT%H%M%SZ', gmtime())}")
    try:
        path.rename(aside)
    except OSError as fault:
        raise unwritable_key(path, fault) from fault
    return aside.name


def unwritable_key(path: Path, error: OSError) -> JournalUnusable:
    return JournalUnusable(
        f"{path}: the key of the journal cannot be written: {error.strerror}; free space on the disk, and allow this"
        " user to write the state directory"
    )


def readable_keys(*paths: Path) -> list[bytes]:
    found = []
    for path in paths:
        with suppress(ValueError):
            found.append(read_private(path))
    return found
