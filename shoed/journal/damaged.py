"""The opening of a journal by the daemon: a file that cannot be read is set aside, and each loss is named.

Theory of operation: `opened` gives a journal that can be written, unless the file is not a journal of shoed or a newer
shoed wrote it. Three kinds of evidence show that events are lost: SQLite finds damage (the file is set aside, and a new
journal begins), SQLite drops commits of the write-ahead log (`wal.py`), or the file does not have a signed head that is
in `heads.jsonl`, also of another journal. Each of them begins an incarnation. The publisher looks for further evidence
at the broker.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final

from shoed.errors import JournalDamaged, JournalError
from shoed.journal import incarnations
from shoed.journal.head_log import newest_heads
from shoed.journal.incarnations import Outside, TailLoss, with_last_round
from shoed.journal.reader import Reader
from shoed.journal.schema import UNREADABLE, Use, unusable
from shoed.journal.store import JOURNAL, Store, unwritable
from shoed.journal.verify import REMEDY
from shoed.journal.wal import lost_commits
from shoed.model.incarnations import Because

PREFIX: Final = "journal-damaged-"
SUFFIXES: Final = ("-wal", "-shm", "")  # the log first: SQLite must never read it with another file

LOG: Final = logging.getLogger("shoed.journal")

OfHeads = Mapping[str, Sequence[Outside]]  # by table, in the order of writing


def opened(state_dir: Path, tables: Sequence[str], utc_us: int) -> Store:
    """The journal of the daemon. `tables`: the tables of the configuration."""
    path, dropped = state_dir / JOURNAL, 0
    aside: Path | None = None
    keep_log(path, utc_us)
    try:
        dropped = lost(path)
        store = Store(state_dir)
    except JournalDamaged:
        try:  # SQLite also reports a read that fails once as damage
            dropped = max(dropped, lost(path))
            store = Store(state_dir)
        except JournalDamaged as error:
            aside = set_aside(path, utc_us, error)
            store = Store(state_dir)
    heads = of_heads(state_dir)
    with store.read() as reader:
        if incarnations.is_used(reader) or any(each.journal == store.word for each in chain(*heads.values())):
            name_tail(store, reader, heads, dropped, utc_us)
        else:
            name_earlier(store, heads, aside, tables, utc_us)
        name_words(store, reader, tables)
    return store


def keep_log(path: Path, utc_us: int) -> None:
    """SQLite deletes a log without its file. The log may have the last rounds."""
    if not path.exists() and path.with_name(f"{path.name}-wal").exists():
        aside = renamed(path, PREFIX, utc_us)
        LOG.error("%s is missing, and its log remains; the log is kept as %s-wal: both belong together", path, aside)


def lost(path: Path) -> int:
    try:
        return lost_commits(path)
    except UNREADABLE as error:
        raise unusable(path, error, Use.DAEMON) from error
    except OSError as error:
        raise unwritable(path.parent, error) from error


def set_aside(path: Path, utc_us: int, error: JournalError) -> Path:
    """Rename the file with its log. Return the new name."""
    aside = renamed(path, PREFIX, utc_us)
    LOG.error(
        "the journal is damaged: %s. It is set aside as %s, and a new journal begins. Keep the file; its changes:"
        " shoed journal verify --state-dir %s; its readable part: shoed journal salvage %s DEST",
        *(str(error).removesuffix(f"; {REMEDY}"), aside, aside, aside),
    )
    return aside


def renamed(path: Path, prefix: str, utc_us: int) -> Path:
    """Rename a journal with its log, to a name with the time. Return the new name."""
    aside = free_name(path, prefix, utc_us)
    for suffix in SUFFIXES:
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}{suffix}").rename(aside.with_name(f"{aside.name}{suffix}"))
    return aside


def free_name(path: Path, prefix: str, utc_us: int) -> Path:
    """A name with the time that no other file has."""
    moment = datetime.fromtimestamp(utc_us / 1e6, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{prefix}{moment}.db")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{prefix}{moment}-{number}.db")
    return aside


def set_aside_journals(state_dir: Path) -> list[Path]:
    return sorted(state_dir.glob(f"{PREFIX}*.db"))


def name_tail(store: Store, reader: Reader, heads: OfHeads, dropped: int, utc_us: int) -> None:
    """Begin an incarnation if the end of the journal is lost, or if another journal was used after this file."""
    outside = {
        table: with_last_round(each[-1], each)
        for table, each in heads.items()
        if incarnations.loss(reader, table, each[-1]) is TailLoss.NEW
    }
    details = [difference(reader, table, each) for table, each in outside.items()]
    if dropped:
        details.append(f"SQLite dropped {dropped} damaged commits of the write-ahead log")
    if details:
        shared = {table: incarnations.kept(reader, table) for table in reader.tables}
        commit(store, Because.TAIL_LOST, "; ".join(details), utc_us, outside, shared)


def difference(reader: Reader, table: str, head: Outside) -> str:
    """Between the journal and a signed head, for a person."""
    name = f"the signed head {head.word}-{table}-{head.sequence}"
    for (hashed,) in reader.rows("SELECT hash FROM step WHERE table_name = ? AND row = ?", table, head.row):
        if hashed.hex() != head.hash:
            return f"{name} has another hash than row {head.row}: the journal was changed, or is another copy of it"
    return f"{name} is missing"


def name_earlier(store: Store, heads: OfHeads, aside: Path | None, tables: Sequence[str], utc_us: int) -> None:
    """Begin the first incarnation of a new journal with its reason, if there was a journal before it."""
    earlier = aside or max(set_aside_journals(store.path.parent), default=None)
    outside = last_known(heads, earlier)
    if outside or earlier is not None:
        detail = "the earlier journal is missing" if earlier is None else f"the earlier journal is set aside: {earlier}"
        outside |= {table: incarnations.NOTHING for table in tables if table not in outside}
        commit(store, Because.DAMAGED, detail, utc_us, outside, {})


def name_words(store: Store, reader: Reader, tables: Sequence[str]) -> None:
    """State each new word that is not in use yet: of this start, or of a restore before it."""
    found = filter(None, (incarnations.pending(reader, table) for table in tables))
    reasons = dict.fromkeys(f"{each.reason.value}: {each.detail}" for each in found)
    for reason in reasons:
        LOG.warning("the ids of the next events have a new word, %s", reason)
    store.note = "; ".join(f"the ids of events have a new word, {reason}" for reason in reasons)


def commit(  # noqa: PLR0913, PLR0917 -- the parts of an incarnation
    store: Store,
    reason: Because,
    detail: str,
    utc_us: int,
    outside: Mapping[str, Outside],
    shared: Mapping[str, int],
) -> None:
    try:
        with closing(store.connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            incarnations.begin(connection, reason, detail, utc_us, outside, shared)
            connection.execute("COMMIT")
    except UNREADABLE as error:
        raise unusable(store.path, error, Use.DAEMON) from error


def last_known(heads: OfHeads, earlier: Path | None) -> dict[str, Outside]:
    """By table: the last event beside the journal, in the signed heads and in the earlier file."""
    outside = {table: with_last_round(each[-1], each) for table, each in heads.items()}
    if earlier is not None:
        for table, each in of_file(earlier):
            before = outside.get(table, each)
            newest = each if each.word == before.word and each.sequence > before.sequence else before
            outside[table] = with_last_round(newest, (before, each))
    return outside


def of_heads(state_dir: Path) -> OfHeads:
    """By table: the last event of the newest signed head of each word, in the order of writing."""
    return {table: [head.outside for head in heads] for table, heads in newest_heads(state_dir).items()}


def of_file(path: Path) -> Iterator[tuple[str, Outside]]:
    """By table: the last readable event of a damaged journal."""
    query = (
        "SELECT sequence, json_extract(data, '$.shoe'), json_extract(data, '$.round') FROM event"
        " WHERE table_name = ? AND sequence > 0 ORDER BY sequence DESC"
    )
    with suppress(JournalError), Reader(path) as reader:
        word = reader.word
        for table in reader.tables:
            last, shoe, number = 0, 0, 0
            with suppress(JournalError, TypeError):
                for sequence, of_shoe, of_round in reader.rows(query, table):
                    last = last or sequence
                    if of_shoe is not None:
                        shoe, number = of_shoe, of_round or 0
                        break
            yield table, Outside(word, incarnations.words(reader, table)[-1].word, last, None, shoe, number)
