"""Repeated log lines: the first lines are written, and the others are counted."""

import asyncio
import logging
import os
import resource
import socket
from pathlib import Path

import pytest

from shoed.service.limited_log import LINES_WRITTEN, WINDOW_S, LimitedLibrary, LimitedLog


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "shoed"]


async def test_the_first_lines_of_a_minute_are_written_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    """The count names the table and the kind of line."""
    limited_log = LimitedLog("bac-901")
    for number in range(LINES_WRITTEN + 3):
        limited_log.write(logging.WARNING, "refused", f"no port {number}")
    assert lines(caplog) == [f"bac-901: no port {number}" for number in range(LINES_WRITTEN)]
    limited_log.end_window("refused")
    assert lines(caplog)[LINES_WRITTEN:] == [f"bac-901: refused: 3 more in {WINDOW_S:.0f} s"]


async def test_while_the_lines_continue_each_minute_has_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """After a minute without such a line, lines are written again."""
    limited_log = LimitedLog("bac-901")
    for _ in range(LINES_WRITTEN + 1):
        limited_log.write(logging.WARNING, "refused", "no port")
    limited_log.end_window("refused")
    limited_log.write(logging.WARNING, "refused", "no port")
    limited_log.end_window("refused")
    assert lines(caplog)[LINES_WRITTEN:] == [f"bac-901: refused: 1 more in {WINDOW_S:.0f} s"] * 2
    limited_log.end_window("refused")
    limited_log.write(logging.WARNING, "refused", "no port again")
    assert lines(caplog)[-1] == "bac-901: no port again"


async def test_each_kind_is_counted_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Many lines of one kind do not hide a line of another kind."""
    limited_log = LimitedLog("bac-901")
    for _ in range(LINES_WRITTEN + 1):
        limited_log.write(logging.WARNING, "refused", "no port")
    limited_log.write(logging.ERROR, "closed", "hung up")
    assert lines(caplog)[-1] == "bac-901: hung up"
    assert caplog.records[-1].levelno == logging.ERROR


def first_free_descriptor() -> int:
    found = os.dup(0)
    os.close(found)
    return found


async def test_without_free_descriptors_asyncio_logs_some_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server cannot accept a client. Without the limit, asyncio logs an error for each of its 100 attempts."""
    limited, asyncio_log = LimitedLibrary("asyncio"), logging.getLogger("asyncio")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    address = str(tmp_path / "socket")
    server = await asyncio.start_unix_server(lambda *_: None, address)
    asyncio_log.addFilter(limited)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (first_free_descriptor(), hard))
            while not limited.limited_log.counts:  # noqa: ASYNC110 -- asyncio has no event for it
                await asyncio.sleep(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            asyncio_log.removeFilter(limited)
    server.close()
    (kind,) = limited.limited_log.counts
    assert kind == "socket.accept() out of system resource"
    assert limited.limited_log.counts[kind] > 5 * LINES_WRITTEN
    assert sum(each.name == "asyncio" for each in caplog.records) == LINES_WRITTEN
