"""One event of the record as `query --json`, `export` and `show --json` write it."""

from functools import lru_cache

import msgspec

from shoed.journal import Reader
from shoed.journal.incarnations import words
from shoed.journal.scan import EventRow
from shoed.model.incarnations import WordSince, with_present_ids, word_of
from shoed.model.moments import rfc3339
from shoed.typed_json import decoder


class ExportedEvent(msgspec.Struct, frozen=True):
    """An event of the journal. `shoe` and `round` are those that the data name; null if the data name none."""

    id: str
    table: str
    sequence: int
    row: int
    time: str
    type: str
    shoe: int | None
    round: int | None
    data: msgspec.Raw


class NamedPlace(msgspec.Struct):
    """The numbers in the data of an event."""

    shoe: int | None = None
    round: int | None = None


numbers = decoder(NamedPlace)
encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=64)
def words_of(reader: Reader, table: str) -> tuple[WordSince, ...]:
    return words(reader, table)


def event_id(reader: Reader, table: str, sequence: int) -> str:
    """The id under which the event was published."""
    return f"{word_of(words_of(reader, table), sequence)}-{table}-{sequence}"


def exported(reader: Reader, table: str, event: EventRow) -> ExportedEvent:
    named = numbers.decode(event.text)
    return ExportedEvent(
        event_id(reader, table, event.sequence),
        table,
        event.sequence,
        event.row,
        rfc3339(event.utc_us),
        event.type,
        named.shoe,
        named.round,
        msgspec.Raw(with_present_ids(event.text, table, words_of(reader, table)).encode()),
    )
