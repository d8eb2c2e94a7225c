"""The verification of a journal as a file: its schema, its dictionary, its words, and tables without rows."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import product
from typing import Final, TypeVar

import msgspec

from shoed.errors import JournalDamaged, JournalUnusable
from shoed.journal.losses import Losses, LossKind, known_tables
from shoed.journal.reader import MALFORMED, Reader
from shoed.journal.rows import DICTIONARY, DICTIONARY_SHA256, genesis, row_hash
from shoed.journal.schema import DEFINITIONS, INDEXES, TABLES, definitions, expected_definitions
from shoed.journal.verify import Alteration, AlterationKind
from shoed.model.incarnations import Because, WordSince
from shoed.model.step import AnyInput, Configured
from shoed.typed_json import decoder

T = TypeVar("T")

OTHER_OBJECTS: Final = (  # `sqlite_`: of SQLite itself
    "SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index')"
    " OR name NOT IN (SELECT value FROM json_each(?)) AND name NOT GLOB 'sqlite_*' ORDER BY name"
)
SALVAGED: Final = f"SELECT 1 FROM incarnation WHERE reason = '{Because.SALVAGED.value}'"  # noqa: S608 -- ours
INCARNATIONS: Final = (
    "SELECT row, number, word, sequence FROM incarnation_table LEFT JOIN incarnation USING (number)"
    " WHERE table_name = ? ORDER BY number"
)
LAST_SALVAGE: Final = f"SELECT coalesce(max(number), 1) FROM incarnation WHERE reason = '{Because.SALVAGED.value}'"  # noqa: S608 -- ours
CONFIGURED: Final = "SELECT row FROM step WHERE +table_name = ? AND kind = 'Configured'"  # `+`: by the index of `kind`
NUMBERED: Final = ("step", "step_4", "anchor", "seal", "head", "checkpoint")  # by the row of a table


def file_findings(reader: Reader) -> Iterator[Alteration]:
    """Changes that do not belong to one table: in the schema, the dictionary, the first word; tables without a row."""
    found: list[Alteration] = []
    try:
        with reader.one_moment():
            found.extend(file_changes(reader))
    finally:
        yield from found  # also those before a part that cannot be read


def readable(reader: Reader, table: str, what: str, findings: Iterable[T]) -> Iterator[T | Alteration]:
    """The findings. A damaged page is a finding, too: the other parts of the journal are then verified."""
    try:
        yield from findings
    except (JournalDamaged, *MALFORMED) as error:
        damage = reader.damage(error)
        detail = f"it cannot be read, so that the verification of {what} is not complete: {damage.__cause__ or damage}"
        yield Alteration(table, "a part of the file", AlterationKind.ALTERED, detail)


def file_changes(reader: Reader) -> Iterator[Alteration]:
    file = reader.path.name
    stored = [(number, sha256(each).digest()) for number, each in reader.rows("SELECT number, bytes FROM dictionary")]
    if stored != [(DICTIONARY, DICTIONARY_SHA256)]:
        detail = "the compressed bodies of the rows have other contents"
        yield Alteration(file, "the dictionary", AlterationKind.ALTERED, detail)
    yield from schema_changes(reader)
    words = [word for (word,) in reader.rows("SELECT word FROM incarnation WHERE number = 1")]
    if not words:
        yield Alteration(file, "incarnation 1", AlterationKind.MISSING, f"the journal has the word {reader.word}")
    elif words != [reader.word]:
        place = "incarnation 1" if is_proven_word(reader) else "the word of the journal"
        detail = f"the journal has the word {reader.word}, and incarnation 1 has {words[0]}"
        yield Alteration(file, place, AlterationKind.ALTERED, detail)
    if list(reader.rows(f"SELECT 1 FROM loss WHERE NOT EXISTS ({SALVAGED}) LIMIT 1")):  # noqa: S608 -- ours
        detail = "it names gaps, and no incarnation of the journal is `salvaged`"
        yield Alteration(file, "the table `loss`", AlterationKind.INSERTED, detail)
    yield from rows_before_the_first(reader)
    for table in reader.tables:
        yield from incarnation_changes(reader, table)
    known = known_tables(reader)
    begun = "incarnation_table WHERE row > 0 OR sequence > 0"  # another one may begin before the first row of a table
    for source in ("cursor", "checkpoint", "head", "anchor", "seal", begun):
        for (name,) in reader.rows(f"SELECT DISTINCT table_name FROM {source}"):  # noqa: S608 -- ours
            if name not in known:
                detail = f"the {source.split()[0]} of the table remains"
                yield Alteration(name, "all rows", AlterationKind.MISSING, detail)
                known = [*known, name]
    if list(reader.rows("SELECT 1 FROM key LIMIT 1")) and not list(reader.rows("SELECT 1 FROM head LIMIT 1")):
        kind = AlterationKind.LOST if list(reader.rows(SALVAGED)) else AlterationKind.MISSING
        yield Alteration(file, "all signed heads", kind, "the key that signed them remains")


def is_proven_word(reader: Reader) -> bool:
    """Whether the hash of a first row follows from the word of the journal."""
    return any(
        row_hash(genesis(reader.word, table), columns[:-1], reader.event_columns(table, 1)) == columns.hash
        for table in reader.tables
        for columns in reader.columns(table, 1, 1)
    )


def rows_before_the_first(reader: Reader) -> Iterator[Alteration]:
    for table, source in product(known_tables(reader), NUMBERED):
        query = f"SELECT row FROM {source} WHERE table_name = ? AND row < 1"  # noqa: S608 -- ours
        for (row,) in reader.rows(query, table):
            yield Alteration(table, f"row {row} in the table {source}", AlterationKind.INSERTED, "the first row is 1")


class Begun(msgspec.Struct, frozen=True):
    """A later incarnation of a table, which begins after a row."""

    row: int
    number: int
    since: WordSince


def incarnation_changes(reader: Reader, table: str) -> Iterator[Alteration]:
    """An incarnation is not after the last row, and the rows with settings name the incarnations before them."""
    end, losses, later = reader.last_row(table), Losses(reader, table), list[Begun]()
    ((salvaged,),) = reader.rows(LAST_SALVAGE)  # it estimated the first rows of earlier incarnations
    for row, number, word, sequence in reader.rows(INCARNATIONS, table):
        place = f"incarnation {number}"
        if word is None:
            yield Alteration(table, place, AlterationKind.MISSING, "the rows that begin with it remain")
        elif row > end and not losses.has(LossKind.MISSING, end + 1, row):
            detail = f"it begins after row {row}, and the last row is {end}"
            yield Alteration(table, place, AlterationKind.ALTERED, detail)
        elif number > salvaged:
            later.append(Begun(row, number, WordSince(sequence, word)))
    named = set[str]()  # the first contradiction of each incarnation is sufficient
    for change in contradictions(reader, table, later, is_salvaged=salvaged > 1):
        if change.place not in named:
            yield change
        named.add(change.place)


def contradictions(reader: Reader, table: str, later: Sequence[Begun], *, is_salvaged: bool) -> Iterator[Alteration]:
    """The incarnations that a row with settings contradicts. The hash of the row covers its words."""
    known, rows_of_words = {each.since for each in later}, {each.row + 1 for each in later}
    with suppress(JournalDamaged):  # the verification of the rows names the damaged one
        rows_of_words.update(row for (row,) in reader.rows(CONFIGURED, table))
    for row in sorted(rows_of_words):
        words = recorded_words(reader, table, row)
        for each in later if words is not None else ():
            place, is_recorded = f"incarnation {each.number}", each.since in (words or ())
            is_due = each.row + 1 == row or (each.row < row and bool(words))
            if is_due and not is_recorded:
                begins = f"the word {each.since.word} begins after event {each.since.after}"
                yield Alteration(table, place, AlterationKind.ALTERED, f"row {row} does not record that {begins}")
            elif each.row >= row and is_recorded:
                yield Alteration(table, place, AlterationKind.ALTERED, f"row {row} has its word already")
        for since in (words or ())[1:]:
            if since.word not in {each.word for each in known} and not is_salvaged:
                detail = f"row {row} records that it begins after event {since.after}"
                yield Alteration(table, f"the incarnation {since.word}", AlterationKind.MISSING, detail)


def recorded_words(reader: Reader, table: str, row: int) -> Sequence[WordSince] | None:
    """The words in a row with settings, or nothing in another row. None: the row is absent, or cannot be read."""
    with suppress(JournalUnusable, *MALFORMED):
        for step in reader.step(table, row, row):
            first: AnyInput = decoder(AnyInput).decode(step.input)
            return first.words if isinstance(first, Configured) else ()
    return None


def schema_changes(reader: Reader) -> Iterator[Alteration]:
    file, found = reader.path.name, definitions(reader.rows(DEFINITIONS))
    for kind, name in reader.rows(OTHER_OBJECTS, msgspec.json.encode(sorted(TABLES | INDEXES)).decode()):
        yield Alteration(file, f"the {kind} {name}", AlterationKind.INSERTED, "the schema of shoed does not have it")
    for name, definition in expected_definitions().items():
        if found.get(name) != definition:
            detail = "its definition is not that of the schema of shoed"
            yield Alteration(file, f"the definition of {name}", AlterationKind.ALTERED, detail)
