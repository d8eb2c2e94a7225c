"""The verification of signed heads: with the public key, it finds a chain whose hashes were computed again.

Theory of operation: `shoed journal verify` first verifies the signatures of the cuts, and then the chain of each table,
so the hash of a row covers all rows before it. Then each head is compared with the hash of its row: the heads in the
journal, and the heads that a witness or the daemon kept in a file. Only the holder of the private key can sign a head,
so no head fits a rewritten chain, and each end of a round without a head is noticed. A key that the given key did not
announce is another key. Findings of one kind are joined, so the memory does not depend on the number of heads. As in
`verify.py`, a running daemon may write: some heads are compared in each transaction, with the keys, incarnations and
cuts of the same moment.
"""

from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from shoed.errors import JournalError
from shoed.journal.ed25519 import is_signed
from shoed.journal.heads import HEAD_MOMENTS, Head, in_base64, is_announced_by, is_genuine, stored_heads
from shoed.journal.keys import is_announced
from shoed.journal.losses import counted, known_tables, span
from shoed.journal.reader import Reader
from shoed.journal.retention import cut_text
from shoed.journal.seal import Run
from shoed.journal.signed_table import SignedTable, is_lost
from shoed.journal.store import JOURNAL
from shoed.journal.verify import PART, Alteration, AlterationKind
from shoed.journal.witness import lines_of
from shoed.model.events import TYPES, RoundStarted

# The first words of details.
LOST_INCARNATION: Final = "the rows of the incarnation"
ENDS: Final = "the journal ends before the row"
NOT_HEAD: Final = "it is not a head with a genuine signature: the line was damaged, cut off or changed"
PROVES_NOTHING: Final = "no head could be compared with the journal, so the file proves nothing"
NOT_NAMED: Final = "this journal does not name it as an earlier one"
MOMENTS: Final = ", ".join(f"'{TYPES[each]}'" for each in HEAD_MOMENTS)
WITHOUT_HEAD: Final = (
    "SELECT sequence, row FROM event WHERE table_name = ?1 AND sequence > ?2 AND row > ?3"  # noqa: S608 -- ours
    f" AND type IN ({MOMENTS}) AND NOT EXISTS"
    f" (SELECT 1 FROM head WHERE table_name = ?1 AND head.row = event.row) ORDER BY sequence LIMIT {PART}"
)
CUTS: Final = (
    "SELECT row, sequence, hash, utc_us, signature FROM anchor WHERE table_name = ? AND reason = 'cut' ORDER BY row"
)
STOPS: Final = (
    "SELECT row FROM step WHERE table_name = ?1 AND row > ?2 AND kind = 'LinkDown' AND NOT EXISTS"
    " (SELECT 1 FROM head WHERE table_name = ?1 AND head.row = step.row) ORDER BY row"
)
ROUNDS: Final = (
    "SELECT row FROM event WHERE table_name = ? AND row > ? AND row <= ? AND type = ?"
    " ORDER BY sequence LIMIT 1 OFFSET 1"
)
PREVIOUS: Final = "SELECT DISTINCT previous FROM incarnation_table WHERE previous NOTNULL"
AROUND: Final = (
    "SELECT (SELECT row FROM event WHERE table_name = ?1 AND sequence = ?2),"
    " (SELECT row FROM event WHERE table_name = ?1 AND sequence > ?2 ORDER BY sequence LIMIT 1)"
)
PLAYED: Final = (
    "SELECT json_extract(data, '$.shoe'), coalesce(json_extract(data, '$.round'), 0) FROM event"
    " WHERE table_name = ? AND sequence <= ?"
    " AND CASE WHEN json_valid(data) THEN json_extract(data, '$.shoe') END NOTNULL"
    " ORDER BY sequence DESC LIMIT 1"
)
KEYS: Final = "SELECT number, public, reason, announced FROM key ORDER BY number"
LINE: Final = "line"
HEADS: Final = 1024  # of one transaction


class HeadRun(msgspec.Struct):
    """Findings of one kind, in rows that need not be adjacent."""

    kind: AlterationKind
    detail: str
    first: int
    last: int
    what: str = "signed head"
    count: int = 1

    def finding(self, table: str) -> Alteration:
        if self.what == LINE:
            place = (
                f"line {self.first}" if self.count == 1 else f"{self.count} of the {span(LINE, self.first, self.last)}"
            )
            return Alteration(table, place, self.kind, self.detail)
        several = f"{self.count} {self.what}s of {span('row', self.first, self.last)}"
        place = f"the {self.what} of row {self.first}" if self.count == 1 else several
        return Alteration(table, place, self.kind, self.detail)


class HeadsElsewhere(msgspec.Struct):
    """Heads of a table in another journal. `first`: the time of the first one."""

    first: str
    last: int = 0  # row
    count: int = 0

    def add(self, head: Head) -> None:
        self.first, self.last, self.count = min(self.first, head.time), max(self.last, head.row), self.count + 1


def by_earlier(key: str) -> str:
    """Anyone can make a key, and write it before a given one."""
    return f"the earlier key {key} signed, which was not given"


class HeadVerification:
    """The verification of the heads of a journal. `keys`: the public keys to trust; empty: each key on record."""

    def __init__(self, reader: Reader, keys: Collection[bytes] = ()) -> None:
        self.reader = reader
        self.keys = keys
        self.trusted: set[str] = set()
        self.announced: set[str] = set()  # keys that are not on record, by their heads
        self.others: Mapping[str, str] = {}
        self.earlier_keys: Collection[str] = ()
        self.tables: dict[str, SignedTable] = {}
        self.requires_heads = bool(keys)  # a journal without any key is not signed
        self.notes: list[str] = []
        self.runs: dict[tuple[str, str, str], HeadRun] = {}  # by table, subject and detail
        self.unsigned: list[tuple[int, int]] = []  # the first and the last row after the last genuine head of a part
        self.signed: dict[int, int] = {}  # by the number of the gaps before a part: the last row with a genuine head
        self.compared = 0  # heads of the table, or of the file
        self.last = 0  # the last row with a genuine head
        self.lost = 0  # heads of rows that a salvage did not find, and named
        self.without_head = 0  # rows that require a head, which a salvage did not find
        self.cut = 0  # heads of rows that retention deleted
        self.later: dict[str, int] = {}  # heads of incarnations that a set-aside file does not have
        self.strangers = 0  # heads of a file, of other keys than the given ones
        self.newest = ""  # the time of the newest head of this journal in a file
        self.elsewhere: dict[tuple[str, str], HeadsElsewhere] = {}  # by journal and table
        self.earlier: set[str] = set()  # the journals of a file that this one names as earlier ones

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """The context of a comparison: the daemon may begin a key, a table or an incarnation, and delete rows."""
        with self.reader.one_moment():
            self.trusted, self.earlier_keys, self.others = keys_on_record(self.reader, self.keys)
            self.tables = {table: SignedTable(self.reader, table) for table in known_tables(self.reader)}
            yield

    def cuts(self, table: str) -> Iterator[Alteration]:
        """The findings for the cuts. A forged one proves nothing: the verification of the rows then ignores it."""
        self.begin()
        with self.one_moment():
            self.compare_cuts(table)
        yield from self.joined()

    def stored(self, table: str) -> Iterator[Alteration]:
        """The findings for the heads in the journal."""
        self.begin()
        with self.one_moment():
            end = self.reader.last_row(table)
        last: int | None = 0
        while last is not None:
            with self.one_moment():
                heads = list(islice(stored_heads(self.reader, table, last), HEADS))
                for head in heads:
                    self.compare(head)
            last = heads[-1].row if heads else None
        parts = [
            (max(first, self.signed.get(number, 0) + 1), last)
            for number, (first, last) in enumerate(self.tables[table].parts(end))
        ]
        self.unsigned = [(first, last) for first, last in parts if first <= last]
        if self.requires_heads:
            self.require(table, end)
        yield from self.joined()
        if self.requires_heads and self.runs and not self.last:
            is_earlier = {run.kind for run in self.runs.values()} == {AlterationKind.UNPROVEN}
            kind = AlterationKind.UNPROVEN if is_earlier else AlterationKind.MISSING
            detail = f"no genuine head of a given key proves the rows up to {end}"
            yield Alteration(table, "all signed heads", kind, detail)

    def require(self, table: str, end: int) -> None:
        """Each head moment has a head. After the last genuine head, at most one round begins."""
        begin, sequence, before = max((each.row for each in self.reader.anchors(table)), default=0), 0, 0
        salvaged = self.tables[table].salvaged
        while without := list(self.reader.rows(WITHOUT_HEAD, table, sequence, begin)):
            for sequence, row in without:  # noqa: B007 -- the next part begins after it
                if row > salvaged and row != before:  # a row may have several of these events
                    self.add(table, AlterationKind.MISSING, row, "a round or a shoe begins or ends in the row")
                self.without_head += before != row <= salvaged
                before = row
        for (row,) in self.reader.rows(STOPS, table, max(begin, salvaged)):
            if self.reader.event_columns(table, row):
                self.add(table, AlterationKind.MISSING, row, "a link closes in the row, as at a stop")
        last = max(self.last, salvaged)
        rounds = self.reader.rows(ROUNDS, table, last, end, TYPES[RoundStarted])  # a later one may have its head
        for (row,) in rounds if not self.runs else ():
            detail = "a second round begins after the last genuine head, and no head was written between them"
            self.add(table, AlterationKind.MISSING, row, detail)

    def of_file(self) -> Iterator[Alteration | str]:
        """The findings that do not belong to one table, and notes: changes of the key."""
        file, previous = self.reader.path.name, b""
        for expected, (number, public, reason, announced) in enumerate(self.reader.rows(KEYS), 1):
            place = f"key {number}"
            if number != expected:
                yield Alteration(file, place, AlterationKind.INSERTED, f"its number must be {expected}")
            elif previous and announced and not is_announced(self.reader.word, previous, public, announced):
                detail = "the key before it did not sign the announcement"
                yield Alteration(file, place, AlterationKind.ALTERED, detail)
            elif previous and not announced and not reason:
                yield Alteration(file, place, AlterationKind.ALTERED, "it has no announcement, and no reason")
            elif previous and not announced:
                yield f"{file}: {place} was not announced by the key before it: {reason}"
            previous = public
        if self.requires_heads and not known_tables(self.reader):
            yield Alteration(file, "all tables", AlterationKind.MISSING, "no row has a head of a given key")
        elif self.requires_heads and not list(self.reader.rows("SELECT 1 FROM head LIMIT 1")):
            yield Alteration(file, "all signed heads", AlterationKind.MISSING, "no table has a head of a given key")

    def witnessed(self, path: Path, names: Collection[str] = ()) -> Iterator[Alteration]:
        """The findings for the heads in a file of a witness or of the daemon. `names`: the tables; empty: all."""
        self.begin()
        lines = lines_of(path)
        while part := list(islice(lines, HEADS)):  # before the moment: the rows of these heads are committed
            with self.one_moment():
                previous = {word for (word,) in self.reader.rows(PREVIOUS)}
                for number, head in part:
                    if head is None or not is_genuine(head):
                        self.add(str(path), AlterationKind.ALTERED, number, NOT_HEAD, LINE)
                    elif not names or head.table in names:
                        self.take(head, path, previous)
        for incarnation, count in self.later.items():
            note = f"a copy of this journal began the incarnation {incarnation}, and continued; verify that copy"
            self.notes.append(f"{path}: {counted(count, 'signed head')}: not compared: {note}")
        if self.strangers:
            heads = counted(self.strangers, "signed head")
            self.notes.append(f"{path}: {heads} of other keys: not compared, because anyone can make them")
        yield from self.of_other_journals()
        yield from self.joined()
        if not self.compared and not self.runs:
            yield Alteration(str(path), "all heads", AlterationKind.MISSING, PROVES_NOTHING)

    def take(self, head: Head, path: Path, previous: Collection[str]) -> None:
        """`previous`: the words that this journal names as earlier ones."""
        if self.keys and not self.trusts(head):
            self.strangers += 1
        elif head.journal == self.reader.word:
            self.newest = max(self.newest, head.time)
            self.compare_genuine(head, f" of {path}")
        else:
            heads = self.elsewhere.setdefault((head.journal, head.table), HeadsElsewhere(head.time))
            heads.add(head)
            if head.journal in previous or head.incarnation in previous:
                self.earlier.add(head.journal)

    def of_other_journals(self) -> Iterator[Alteration]:
        """A journal that another one replaced is at hand, or it is missing."""
        beside = journals_beside(self.reader.path) if self.elsewhere else {}
        for (journal, table), heads in self.elsewhere.items():
            place = f"{counted(heads.count, 'signed head')} of the journal {journal}, the last one of row {heads.last}"
            is_named = journal in self.earlier
            if is_named and journal in beside:
                note = f"this journal names it as an earlier one; verify it with --state-dir {beside[journal]}"
                self.notes.append(f"{table}: {place}: not compared: {note}")
            elif self.reader.path.name != JOURNAL and self.newest < heads.first:
                self.notes.append(f"{table}: {place}: not compared: it began after the last head of this one")
            else:
                detail = f"no file of it is in {self.reader.path.parent}" if is_named else NOT_NAMED
                yield Alteration(table, place, AlterationKind.MISSING, f"{detail}; the rows are in that journal only")

    def compare_cuts(self, table: str) -> None:
        """A person without the key could remove the oldest rows, as retention does."""
        keys = [*self.trusted, *self.earlier_keys]
        for row, sequence, hashed, utc_us, signature in self.reader.rows(CUTS, table):
            text = b""
            with suppress(OverflowError):  # a time that is out of range: no signature fits
                text = cut_text(self.reader.word, table, Run(row, sequence, hashed), utc_us)
            key = next((each for each in keys if text and is_signed(b64decode(each), signature or b"", text)), None)
            if key is None:
                self.add(table, AlterationKind.ALTERED, row, "its signature is wrong or absent", "cut")
                self.reader.forged_cuts.add((table, row))
            elif key in self.earlier_keys:
                self.add(table, AlterationKind.UNPROVEN, row, by_earlier(key), "cut")

    def begin(self) -> None:
        self.runs.clear()
        self.signed = {}
        self.compared = self.last = self.lost = self.without_head = self.cut = 0

    def compare(self, head: Head) -> None:
        """Compare a head in the journal with the hash of its row."""
        if not head.key:
            detail = "the head names a key that is not in the table `key` of the journal"
            self.add(head.table, AlterationKind.ALTERED, head.row, detail)
        elif not is_genuine(head):
            self.add(head.table, AlterationKind.ALTERED, head.row, "the signature of the head is wrong")
        else:
            self.compare_genuine(head, "")

    def compare_genuine(self, head: Head, source: str) -> None:
        if self.trusts(head) or head.key in self.earlier_keys:
            self.compare_hash(head, source)
        else:
            reason = self.others.get(head.key, "it is not in the table `key` of the journal")
            detail = f"the head{source} is signed by {head.key}, which no trusted key announced ({reason})"
            self.add(head.table, AlterationKind.ALTERED, head.row, detail)

    def trusts(self, head: Head) -> bool:
        """Whether the key is trusted, or a trusted key announced it, perhaps after the end of this journal."""
        if head.key in self.trusted or head.key in self.announced:
            return True
        is_announced = is_announced_by(head, self.trusted | self.announced)
        if is_announced:
            self.announced.add(head.key)
        return is_announced

    def compare_hash(self, head: Head, source: str) -> None:
        table = self.tables.get(head.table)
        if table is None:
            self.add(
                head.table, AlterationKind.MISSING, head.row, f"the journal does not have the table of the head{source}"
            )
            return
        if head.row < table.begin:
            self.cut += 1
            return
        self.compared += 1
        self.compare_row(head, source, table)

    def compare_row(self, head: Head, source: str, table: SignedTable) -> None:
        word, reason = table.incarnation(head.row)
        has_cut = (head.table, head.row) not in self.reader.forged_cuts
        found = self.reader.hash_of(head.table, head.row, "step", *(("anchor",) if has_cut else ()))
        if is_lost(table.losses, head, found):
            self.lost += 1
        elif found is not None and found.hex() == head.hash:
            self.compare_place(head, source, table, word)
        elif word != head.incarnation and reason:
            detail = f"{LOST_INCARNATION} {head.incarnation} are lost, {word} begins before them: {reason}"
            self.add(head.table, AlterationKind.MISSING, head.row, detail)
        elif found is None:
            is_end = head.row > self.reader.last_row(head.table)
            what = ENDS if is_end else "the journal does not have the row"
            self.add(head.table, AlterationKind.MISSING, head.row, f"{what} of the head{source}")
        elif self.reader.path.name != JOURNAL and head.incarnation not in table.known:
            self.later[head.incarnation] = self.later.get(head.incarnation, 0) + 1
        else:
            detail = f"the hash of the row is not the hash in the head{source}: the journal was rewritten"
            self.add(head.table, AlterationKind.ALTERED, head.row, detail)

    def compare_place(self, head: Head, source: str, table: SignedTable, word: str) -> None:
        """Compare the other values in the head of a row that has its hash."""
        if word != head.incarnation:
            detail = f"the head{source} has the incarnation {head.incarnation}, and `incarnation_table` has {word}"
            self.add(head.table, AlterationKind.ALTERED, head.row, detail, "word")
        if not self.has_place(head, table):
            detail = f"the sequence, the shoe or the round in the head{source} is not of the last events up to the row"
            self.add(head.table, AlterationKind.ALTERED, head.row, detail)
        elif head.key in self.earlier_keys:
            self.add(head.table, AlterationKind.UNPROVEN, head.row, by_earlier(head.key))
        else:
            self.last = max(self.last, head.row)
            if (part := table.part(head.row)) is not None:
                self.signed[part] = max(self.signed.get(part, 0), head.row)

    def has_place(self, head: Head, table: SignedTable) -> bool:
        """Whether the events up to the row have the place in the head, as far as they are in the journal."""
        if table.losses.all:
            return True
        ((own, following),) = self.reader.rows(AROUND, head.table, head.sequence)
        is_known = head.sequence in {0, table.begin_sequence} or (own is not None and own <= head.row)
        played = next(self.reader.rows(PLAYED, head.table, head.sequence), (0, 0))
        is_played = (head.shoe, head.round) == played or (table.begin > 0 and played == (0, 0))
        return is_known and (following is None or following > head.row) and is_played

    def add(self, table: str, kind: AlterationKind, row: int, detail: str, what: str = "signed head") -> None:
        run = self.runs.get((table, what, detail))
        if run is None:
            self.runs[table, what, detail] = HeadRun(kind, detail, row, row, what)
        else:
            run.first, run.last, run.count = min(run.first, row), max(run.last, row), run.count + 1

    def joined(self) -> Iterator[Alteration]:
        return (run.finding(table) for (table, *_), run in self.runs.items())


def journals_beside(path: Path) -> Mapping[str, Path]:
    """By their words: the journals that were set aside in the directory of this one, as far as they can be read."""
    found: dict[str, Path] = {}
    for each in sorted(path.parent.glob("journal*.db")):
        with suppress(JournalError), Reader(each) as reader:
            found[reader.word] = each
    return found


def keys_on_record(reader: Reader, given: Collection[bytes]) -> tuple[set[str], Collection[str], Mapping[str, str]]:
    """In base64: the given keys and those that they announced; the keys before one of them; and each other key.

    The other keys, also the earlier ones, have their reasons.
    """
    trusted, earlier, others, previous = {in_base64(each) for each in given}, set[str](), dict[str, str](), b""
    for public, reason, announced in reader.rows("SELECT public, reason, announced FROM key ORDER BY number"):
        key = in_base64(public)
        by_trusted = in_base64(previous) in trusted
        if not given or (by_trusted and announced and is_announced(reader.word, previous, public, announced)):
            trusted.add(key)
        if key in trusted:
            earlier |= others.keys()
        else:
            others[key] = reason
        previous = public
    return trusted, earlier, others
