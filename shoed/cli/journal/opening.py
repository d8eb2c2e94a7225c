"""What the tasks of `shoed journal` share: the opened journal, and the names of its tables."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from shoed.errors import NoSuchTable
from shoed.journal import Reader


@contextmanager
def reading(state_dir: Path) -> Iterator[Reader]:
    with closing(Reader(state_dir / "journal.db")) as reader, reader.one_moment():
        yield reader


def chosen(reader: Reader, names: Sequence[str]) -> Sequence[str]:
    """The named tables; without a name all tables."""
    known = reader.tables
    for name in names:
        if name not in known:
            raise NoSuchTable(name, known)
    return names or known
