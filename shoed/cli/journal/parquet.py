"""Events as Parquet, by pyarrow. shoed does not install pyarrow: it is larger than shoed and all its libraries."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import BinaryIO

from shoed.cli.journal.exported import ExportedEvent
from shoed.errors import UsageError


def libraries() -> tuple[ModuleType, ModuleType]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(
            f"--format parquet: pyarrow cannot be used: {error}; install pyarrow into the Python environment of shoed,"
            " or write --format csv or --format jsonl"
        ) from error


def write(batches: Iterable[Sequence[ExportedEvent]], file: BinaryIO) -> None:
    """Write each batch as a row group."""
    arrow, parquet = libraries()
    text, number = arrow.string(), arrow.int64()
    schema = arrow.schema(
        [
            arrow.field("id", text, nullable=False),
            arrow.field("table", text, nullable=False),
            arrow.field("sequence", number, nullable=False),
            arrow.field("row", number, nullable=False),
            arrow.field("time", arrow.timestamp("us", tz="UTC"), nullable=False),
            arrow.field("type", text, nullable=False),
            arrow.field("shoe", number),
            arrow.field("round", number),
            arrow.field("data", text, nullable=False),
        ]
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            columns = {name: [getattr(each, name) for each in batch] for name in schema.names}
            columns["time"] = [datetime.fromisoformat(each.time) for each in batch]
            columns["data"] = [bytes(each.data).decode() for each in batch]
            writer.write_table(arrow.table(columns, schema=schema))
