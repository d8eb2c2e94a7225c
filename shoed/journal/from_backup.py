"""The restore of a backup into the state directory of a daemon that does not run.

Theory of operation: the backup is verified and copied to a new file beside the journal. The copy has a pending
incarnation, so that the daemon never repeats an event id (`incarnations.py`). The present journal is brought into one
file without a log, and gets a second name. Then the copy replaces it under its first name. So the directory has a
journal at every moment. A journal that needs its log, and one on a file system without second names, is renamed.
"""

import errno
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from time import time_ns
from typing import Final, NamedTuple

from shoed.errors import JournalError, JournalUnusable
from shoed.journal.backup import last_round
from shoed.journal.damaged import free_name, last_known, of_heads, renamed
from shoed.journal.files import remove_unfinished
from shoed.journal.heads import newest_head
from shoed.journal.incarnations import NAMING, NOTHING, Outside, begin, pending, with_last_round
from shoed.journal.keys import sync_directory
from shoed.journal.losses import REASONS, known_tables
from shoed.journal.reader import Reader
from shoed.journal.schema import Use, absent, is_damage, require_file, unusable
from shoed.journal.store import JOURNAL, hold, unwritable
from shoed.journal.verify import AlterationKind, Verification
from shoed.journal.verify_file import file_findings
from shoed.model.incarnations import Because

PREFIX: Final = "journal-replaced-"
NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}


class RestoredBackup(NamedTuple):
    tables: list[tuple[str, int, str]]  # name, last row, last round
    lost: Mapping[str, Outside]  # tables that begin again: the last known event
    set_aside: Path | None  # the previous journal


def restore(backup: Path, state_dir: Path) -> RestoredBackup:
    """Replace the journal of a state directory by a verified copy of a backup."""
    target = state_dir / JOURNAL
    require_file(target)
    new = target.with_name(f"{JOURNAL}.restoring")
    if target.exists() and backup.exists() and target.samefile(backup):
        raise JournalError(f"{backup} is the journal of this state directory; name a backup")
    with closing(opened(backup)) as reader, hold(state_dir, Use.WRITTEN):
        verify(reader)
        require_room(backup, state_dir)
        try:
            lost = lost_tables(reader)
            known = last_known(of_heads(state_dir), target if target.exists() else None)
            known = lost | {name: with_last_round(each, [lost.get(name, each)]) for name, each in known.items()}
            copy(reader, new, list(lost), known)
            aside = set_aside(target)
            new.rename(target)
            sync_directory(state_dir)
        except OSError as error:
            raise unwritable(state_dir, error) from error
        finally:
            with suppress(OSError):  # the next restore removes it
                remove_unfinished(new)
        return RestoredBackup(
            [(name, reader.last_row(name), last_round(reader, name)) for name in reader.tables],
            {name: known[name] for name in lost},
            aside,
        )


def opened(backup: Path) -> Reader:
    if not backup.exists():
        raise absent(backup, "name the directory of a backup, or its file")
    reader = Reader(backup)
    try:
        reader.verified_schema()
    except BaseException:
        reader.close()
        raise
    return reader


def verify(reader: Reader) -> None:
    for finding in (each for each in file_findings(reader) if each.kind is not AlterationKind.LOST):
        raise JournalUnusable(f"{reader.path}: {finding}; nothing was restored; use another backup")
    for table in reader.tables:
        verification = Verification(reader, table)
        for finding in verification.findings():
            if finding.kind is not AlterationKind.LOST:
                raise JournalUnusable(f"{reader.path}: {finding}; nothing was restored; use another backup")
        last = max((checkpoint.row for checkpoint in reader.checkpoints(table)), default=0)
        for loss in verification.losses.all:
            if loss.last_row > last:
                raise JournalUnusable(
                    f"{reader.path}: {table}: {loss}: {REASONS[loss.kind]}; no table can continue after this gap; read"
                    " this journal with --state-dir, and restore a backup"
                )


def lost_tables(reader: Reader) -> dict[str, Outside]:
    """The tables of which a salvage found no row: the event of the last signed head."""
    heads = {table: newest_head(reader, table) for table in set(known_tables(reader)) - set(reader.tables)}
    return {table: NOTHING if head is None else head.outside for table, head in heads.items()}


def require_room(backup: Path, state_dir: Path) -> None:
    size, free = backup.stat().st_size, shutil.disk_usage(state_dir).free
    if size > free:
        raise JournalError(
            f"{state_dir}: the backup needs {size / 1e6:.0f} MB, and {free / 1e6:.0f} MB are free; free space on the"
            " disk, then repeat the command"
        )


def copy(reader: Reader, new: Path, lost: Sequence[str], known: Mapping[str, Outside]) -> None:
    """A durable copy with a pending incarnation. A lost table begins again with row 1: nothing may name later rows.

    `known`: the last known event of each table, also beside the backup.
    """
    remove_unfinished(new)
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            reader.connection.backup(connection)
            connection.execute("PRAGMA journal_mode = DELETE")  # one file, which can be renamed
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN")
            for table, source in product(lost, NAMING):
                connection.execute(f"DELETE FROM {source} WHERE table_name = ?", (table,))  # noqa: S608 -- ours
            begin(connection, *reason_of(reader, lost), time_ns() // 1000, known)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise unusable(new, error, Use.WRITTEN) from error


def reason_of(reader: Reader, lost: Sequence[str]) -> tuple[Because, str]:
    """The reason of the incarnation, and its detail. A salvage that no daemon has used remains the reason."""
    for each in (pending(reader, table) for table in (*reader.tables, *lost)):
        if each is not None and each.reason is Because.SALVAGED:
            return Because.SALVAGED, f"{each.detail}, by {reader.path}"
    return Because.RESTORED, f"the backup {reader.path}"


def set_aside(path: Path) -> Path | None:
    """Keep the present journal under another name. Return this name."""
    utc_us, log = time_ns() // 1000, path.with_name(f"{path.name}-wal")
    if not path.exists():  # SQLite must not read its log with the restored file
        return renamed(path, PREFIX, utc_us) if log.exists() else None
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        if not is_damage(error):
            raise unusable(path, error, Use.WRITTEN) from error
    if log.exists() and log.stat().st_size:  # the journal is damaged, or another program reads it
        return renamed(path, PREFIX, utc_us)
    for part in ("-wal", "-shm"):  # empty: SQLite must not use them with the restored file
        path.with_name(f"{path.name}{part}").unlink(missing_ok=True)
    for earlier in path.parent.glob(f"{PREFIX}*.db"):
        if earlier.samefile(path):  # of a restore that was interrupted
            return earlier
    aside = free_name(path, PREFIX, utc_us)
    try:
        aside.hardlink_to(path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        return renamed(path, PREFIX, utc_us)
    sync_directory(path.parent)  # after a power cut, the present journal has a name
    return aside
