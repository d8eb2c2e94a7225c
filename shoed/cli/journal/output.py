"""The output of a task: the standard output, or a new file that is complete or absent."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from shoed.cli.parser import Parser, path
from shoed.errors import UsageError

MODE: Final = 0o600  # other users may not read the cards


def add_output(parser: Parser) -> None:
    parser.add_argument("--out", type=path, metavar="FILE", help="a new file (default: the standard output)")


@contextmanager
def output(arguments: Namespace) -> Iterator[BinaryIO]:
    """The place of the output. After an error, there is no file."""
    path: Path | None = arguments.out
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    except FileExistsError:
        raise UsageError(f"--out: {path} exists, and is not changed; write the name of a new file") from None
    except OSError as error:
        raise UsageError(f"--out: {path}: {error.strerror}; write the name of a file that can be written") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):  # of a full disk: it does not name the file
            error.filename = str(path)
        raise
