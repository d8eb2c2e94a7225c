"""The generated blocks of docs/journal.md: the tables of the newest schema, the constants of a row, and the inputs."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final, get_args

import msgspec

from docs.protocol_page import table
from shoed.journal import rows
from shoed.journal.schema import SCHEMA_FILES, SCHEMAS
from shoed.model.step import AnyInput

SHOWN: Final = (
    *("step", "event", "checkpoint", "anchor", "seal", "dictionary", "cursor"),
    *("journal", "head", "incarnation", "incarnation_table"),
)
COLUMN: Final = re.compile(r"^    (?P<name>[a-z_]+) (?P<rest>[A-Z][^-\n]*?),?(?: *-- (?P<comment>.*))?$", re.MULTILINE)
COMMENTS: Final = {
    "table_name": "the name of the table",
    "utc_us": "microseconds since 1970, UTC",
    "mono_ns": "the monotonic clock of the host, in nanoseconds",
    "row": "the row of the table",
    "type": "as in `round.completed`",
    "data": "JSON, as published",
    "engine": "the version of the engine that wrote the state",
    "hash": "the hash before the next row",
    "number": "the first byte of `body`",
    "bytes": "the dictionary",
    "signature": "of a cut",
}
OWN: Final = {  # columns that have another content in this table
    ("head", "sequence"): "the last event up to this row, 0 without one",
    ("head", "shoe"): "of the last event with a shoe, 0 before the first one",
    ("head", "round"): "of the same event, 0 without a round",
    ("head", "utc_us"): "the time of the row",
    ("head", "hash"): "the hash of the row",
    ("head", "key"): "its number in the table `key`",
    ("head", "signature"): "Ed25519, 64 bytes",
    ("incarnation", "number"): "from 1: the journal itself",
    ("incarnation", "word"): "the word in the event ids",
    ("incarnation", "reason"): "as in `journal/continued`; `created` for the first one",
    ("incarnation", "detail"): "the evidence, for a person",
    ("incarnation_table", "number"): "of the incarnation",
    ("incarnation_table", "row"): "the incarnation begins after this row, 0: with the first row",
    ("incarnation_table", "sequence"): "the last event with an earlier word",
    ("incarnation_table", "shoe"): "of the event `known`, or 0",
    ("incarnation_table", "round"): "of the event `known`, or 0",
}


def tables() -> Mapping[str, str]:
    return {"journal-tables": "\n\n".join(schema_tables()), "journal-constants": constants(), "journal-kinds": kinds()}


def schema_tables() -> Iterator[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for name in SCHEMAS:
            connection.executescript((SCHEMA_FILES / name).read_text())
        for name in SHOWN:
            query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
            ((text,),) = connection.execute(query, (name,)).fetchall()
            comments = {match["name"]: match["comment"] or "" for match in COLUMN.finditer(text)}
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            lines = (
                (
                    f"`{column}`",
                    f"{kind}{'' if present else ', or null'}",
                    OWN.get((name, column)) or comments.get(column) or COMMENTS.get(column, ""),
                )
                for _, column, kind, present, *_ in columns
            )
            yield f"`{name}`\n\n{table(('column', 'type', 'content'), lines)}"


def constants() -> str:
    return table(
        ("value", "content"),
        (
            ("first byte of `body`", f"{rows.DICTIONARY}: the number of the dictionary"),
            ("SHA-256 of dictionary 1", f"`{rows.DICTIONARY_SHA256.hex()}`"),
            ("zlib's `wbits`", f"{rows.WINDOW}: raw deflate, a window of {1 << -rows.WINDOW} bytes"),
            ("bytes of the row in the preset dictionary", f"the first {rows.REPEATED_BYTES}"),
            ("sealed rows with one hash", str(rows.RUN)),
        ),
    )


def kinds() -> str:
    """The values of `kind`, each with the keys of its input."""
    return table(
        ("`kind`", "keys of `input`"),
        (
            (
                f"`{each.__struct_config__.tag}`",
                " ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(each)),
            )
            for each in get_args(AnyInput)
        ),
    )
