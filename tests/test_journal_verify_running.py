"""A verification of the journal of a running daemon: nothing that the daemon writes or deletes is a change."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from shoed.engine import ENGINE
from shoed.journal import Reader
from shoed.journal.commit import Committer
from shoed.journal.head_log import NAME, HeadLog
from shoed.journal.keys import KEY_FILE, PREVIOUS_FILE, PUBLIC_FILE, daemon_key, read_public
from shoed.journal.losses import known_tables
from shoed.journal.retention import Keep, next_cut
from shoed.journal.verify import Verification
from shoed.journal.verify_file import file_findings
from shoed.journal.verify_heads import HeadVerification
from tests.foreign_journal import ForeignVerifier
from tests.long_record import Dealer, LongRecord
from tests.test_journal_verify_heads import rehash
from tests.test_retention import today

TABLES: Final = ("bac-901", "bac-902")
KEEP: Final = Keep(days=1)
RESTARTS: Final = 7  # after so many verifications, the daemon restarts
STRIDE: Final = 7  # queries between the moments of two verifications


class Running:
    """A daemon that acts between two queries of a verification, in the same thread."""

    def __init__(self, place: Path, record: LongRecord) -> None:
        self.place = place
        self.record = record
        self.log = HeadLog(place, longest=5_000)
        self.acts = 0
        self.sign()
        self.act()
        self.public = read_public(place / PUBLIC_FILE)

    def sign(self) -> None:
        key = daemon_key(self.place, None)
        key.prepare(self.place)
        self.record.committer = Committer(self.record.connection, ENGINE, key)
        for dealer in self.record.dealers:
            dealer.committer = self.record.committer

    def restart(self) -> None:
        """With another key, which the present one announces, and with a new table."""
        (self.place / PREVIOUS_FILE).unlink(missing_ok=True)
        (self.place / KEY_FILE).rename(self.place / PREVIOUS_FILE)
        self.sign()
        if len(self.record.dealers) == len(TABLES):
            self.record.dealers.append(Dealer(self.record.store, self.record.committer, "new"))

    def act(self) -> None:
        """Further shoes of each table, and the deletion of the oldest ones."""
        self.acts += 1
        if self.acts % RESTARTS == 0:
            self.restart()
        self.record.deal(1, rounds=2)
        with closing(self.record.store.read()) as reader:
            while (cut := next_cut(reader, KEEP, today(self.record))) is not None:
                while self.record.committer.delete(cut):
                    pass
        self.log.append(self.record.committer.taken_heads())

    def verify(self, at: int) -> tuple[list[str], int]:
        """The findings, if the daemon acts before the query with this number; and the number of queries."""
        queries = 0

        def query(_: str) -> None:
            nonlocal queries
            queries += 1
            if queries == at:
                self.act()

        with closing(self.record.store.read()) as reader:
            reader.connection.set_trace_callback(query)
            return [str(each) for each in self.findings(reader)], queries

    def findings(self, reader: Reader, *, with_heads: bool = True) -> Iterator[object]:
        """As `shoed journal verify --key --heads`."""
        yield from file_findings(reader)
        tables, heads = known_tables(reader), HeadVerification(reader, [self.public])
        for table in tables:
            yield from heads.cuts(table)
            yield from Verification(reader, table, 20).findings()
        yield from heads.of_file()
        for table in tables:
            yield from heads.stored(table)
        if with_heads:
            yield from heads.witnessed(self.place / NAME)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with LongRecord(tmp_path, TABLES) as record:
        record.connection.execute("PRAGMA synchronous = OFF")
        yield Running(tmp_path, record)


def test_a_new_table_is_not_accused(running: Running) -> None:
    """It has no head before its first shoe, also after a kill. A second round without a head is a change."""
    young = Dealer(running.record.store, running.record.committer, "young")
    young.settings()
    assert running.verify(0)[0] == []
    assert list(ForeignVerifier(running.place / "journal.db", [running.public], running.place / NAME).problems()) == []
    running.record.committer = young.committer = Committer(running.record.connection, ENGINE)
    young.deal(2)
    running.record.connection.execute(
        "UPDATE event SET type = 'x' WHERE table_name = 'young' AND type <> 'round.started'"
    )
    rehash(running.record.connection, "young")
    assert any("a second round begins after the last genuine head" in each for each in running.verify(0)[0])
    assert "young: no head after row 0" in ForeignVerifier(running.place / "journal.db", [running.public]).problems()


def test_a_running_daemon_is_not_accused(running: Running) -> None:
    """It deals, begins a table, changes its key and deletes old rows, between any two queries."""
    accused, at, queries = {}, 1, 1
    while at <= queries:
        acts = running.acts
        found, queries = running.verify(at)
        assert running.acts == acts + (at <= queries)
        if found:
            accused[at] = found
        at += STRIDE
    assert accused == {}
    assert queries > 100
