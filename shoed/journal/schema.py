"""The schemas of the journal: their numbers, the migration, and the errors of a file that cannot be used."""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import Final

from shoed.errors import JournalDamaged, JournalUnusable

APPLICATION_ID: Final = 0x53484F45  # "SHOE", set by the first schema: identifies a journal of shoed
SQLITE_VERSION: Final = sqlite3.sqlite_version
SCHEMA_FILES: Final = Path(__file__).with_name("schemas")
SCHEMAS: Final = ("v1.sql", "v2.sql", "v3.sql", "v4.sql", "v5.sql")
NO_TABLE: Final = "no such table"  # SQLite has no code for it
NO_TEXT: Final = "Could not decode"  # Python reports a text with damaged bytes, without a code
TABLES: Final = {
    *("journal", "step", "step_4", "event", "checkpoint", "cursor", "dictionary", "anchor", "seal", "head", "key"),
    *("incarnation", "incarnation_table", "loss"),
}
INDEXES: Final = {"answered", "step_command", "step_configured"}
CHAINED: Final = 5  # the first schema with hashes
OF_CHAINED: Final = "dictionary"  # a table of this schema


class Use(Enum):
    """Who uses a file: the remedy depends on it."""

    DAEMON = auto()  # its journal, to write
    READ = auto()  # by a command, or by the daemon
    WRITTEN = auto()  # the destination of a command


OTHER: Final[Mapping[Use, str]] = {
    Use.DAEMON: "set another site.state_dir",
    Use.READ: "name another file",
    Use.WRITTEN: "name another directory",
}
DAMAGED: Final[Mapping[Use, str]] = {
    Use.DAEMON: "keep the file as evidence: the daemon sets it aside, and begins a new journal",
    Use.READ: 'keep the file as evidence, and follow "A damaged journal" in docs/backup.md',
    Use.WRITTEN: "keep the file, and name another directory",
}


UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)  # a damaged text also spoils the message of SQLite


def unusable(path: Path, error: Exception, use: Use) -> JournalUnusable:
    return (JournalDamaged if is_damage(error) else JournalUnusable)(f"{path}: {error}; {remedy_of(path, error, use)}")


def is_damage(error: Exception) -> bool:
    """Whether the contents of the file are wrong. The disk may work."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        without_code = isinstance(error, sqlite3.OperationalError) and NO_TEXT in str(error)
        return without_code or isinstance(error, UnicodeDecodeError)
    return code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def remedy_of(path: Path, error: Exception, use: Use = Use.DAEMON) -> str:
    if is_damage(error):
        return DAMAGED[use]
    if NO_TABLE in str(error):
        if use is Use.WRITTEN:
            return f"the file is not a journal of shoed: {DAMAGED[use]}"
        return "the table was removed, or the file is empty: keep the file as evidence, and restore a backup"
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return f"free space on the disk of {path.parent}, or {OTHER[use]}"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "stop the other program that locks the file"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return f"allow this user to read and write the files in {path.parent}, or run as the user of the daemon"
        case _:
            return f"check the disk of {path.parent}: its free space, its permissions and the kernel's log"


ABSENT: Final = (
    "give the configuration of the daemon with --config, or its state directory with --state-dir; the first start of"
    " the daemon makes the journal"
)


def absent(path: Path, remedy: str = ABSENT) -> JournalUnusable:
    if path.with_name("lock").exists():
        return JournalUnusable(
            f"there is no journal at {path}: it was moved or deleted, or its first backup, salvage or start did not"
            " end; move it back, or repeat the command"
        )
    return JournalUnusable(f"there is no journal at {path}; {remedy}")


def require_file(path: Path) -> None:
    """Refuse a directory, a pipe or a device: SQLite would wait for the other end of a pipe."""
    if path.exists() and not path.is_file():
        raise JournalUnusable(f"{path}: this is not a file; name a journal, or move it and restore a backup")


def schema_of(connection: sqlite3.Connection, path: Path, use: Use) -> int:
    """The schema of the file. Refuse a file of another program, and a newer schema."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    objects = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if objects and application != APPLICATION_ID:
        raise JournalUnusable(f"{path}: the file is not a journal of shoed; {OTHER[use]}")
    if version > len(SCHEMAS):
        raise JournalUnusable(
            f"{path}: a newer shoed wrote the journal (schema {version}, and the newest schema of this shoed is"
            f" {len(SCHEMAS)}); install the newer shoed"
        )
    if version < CHAINED and OF_CHAINED in objects:
        raise JournalDamaged(
            f"{path}: the number of the schema was changed to {version}, and the file has tables of a later one;"
            f" {DAMAGED[use]}"
        )
    removed = (TABLES | INDEXES) - objects
    if version == len(SCHEMAS) and removed:
        raise JournalDamaged(f"{path}: {', '.join(sorted(removed))} was removed from the file; {DAMAGED[use]}")
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path, use: Use) -> None:
    """Apply the missing schemas in order, and seal the rows of schemas without hashes: all in one transaction."""
    version = schema_of(connection, path, use)
    if version == len(SCHEMAS):
        return
    scripts = [(SCHEMA_FILES / name).read_text() for name in SCHEMAS[version:]]
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {''.join(scripts)} PRAGMA user_version = {len(SCHEMAS)};")
        if 0 < version < CHAINED:
            from shoed.journal.seal import seal  # noqa: PLC0415 -- start-up time: once in the life of a journal

            seal(connection)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the transaction may be over
            connection.execute("ROLLBACK")
        raise


DEFINITIONS: Final = "SELECT name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'"


def definitions(objects: Iterable[Sequence[str | None]]) -> Mapping[str | None, str]:
    """The SQL text of each object of the schema, without comments, quotation marks and white space."""
    return {name: re.sub(r'--[^\n]*|["\s]', "", sql or "") for name, sql in objects}


@cache
def expected_definitions() -> Mapping[str | None, str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, Path(":memory:"), Use.READ)
        return definitions(connection.execute(DEFINITIONS))
