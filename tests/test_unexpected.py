"""Unexpected errors: every border of the daemon logs them with a traceback, counts them, and shows them."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from shoed.model.requests import StatusRequest
from shoed.model.step import LinkUp
from shoed.service.desk import Effects
from shoed.service.log import UnexpectedErrors
from shoed.service.metrics.health import WARNING, health
from shoed.service.metrics.text import metrics_text
from shoed.service.status import DaemonStatus
from tests.foreign_shoe import TcpShoe
from tests.test_log import journal_stream
from tests.test_reload import FragileDesk, daemon_of, until, write

LAST: Final = "unexpected errors: 1; the last: KeyError: 7; report the log, and restart shoed between two rounds"


class UnsentDesk(FragileDesk):
    """A table with a defect after the commit of a Step."""

    def release(self, effects: Effects) -> None:
        super().release(effects)
        if isinstance(effects.step.input, LinkUp):
            raise KeyError(7)


async def test_an_error_at_a_border_is_counted_and_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In the status, the line of systemd, /health and /metrics. The table continues."""
    async with TcpShoe() as shoe, daemon_of(write(tmp_path, ("bac-901", shoe, 8)), UnsentDesk) as daemon:
        assert "shoed_unexpected_errors_total 0" in await metrics_text(daemon, None)
        await until(lambda: daemon.unexpected.count > 0, lambda: asyncio.sleep(0))
        assert daemon.desks[0].ended is None
        assert LAST in daemon.status()
        assert LAST in health(daemon).warnings
        assert health(daemon).status == WARNING
        assert "shoed_unexpected_errors_total 1" in await metrics_text(daemon, None)
        status = await daemon.execute(StatusRequest("1", None))
        assert isinstance(status, DaemonStatus)
        assert status.problems == [LAST]
    assert "the effects of a committed Step were not sent" in caplog.text
    logging.getLogger("shoed").error("after the end", exc_info=KeyError(8))
    assert daemon.unexpected.count == 1


def test_only_lines_with_a_traceback_count() -> None:
    """The absence of a device is not a defect."""
    errors = UnexpectedErrors()
    errors.handle(logging.LogRecord("shoed", logging.ERROR, "", 0, "no device", None, None))
    assert (errors.count, errors.text) == (0, "")


WRONG_CALLS: Final = """
import logging
from shoed.service import log
log.begin()
errors = log.UnexpectedErrors()
logging.getLogger().addHandler(errors)
logger = logging.getLogger("shoed")
logger.warning("%d cards of %s", 8)
log.ABOUT.set(lambda: 1 / 0)
logger.warning("well")
print(errors.count)
"""


@pytest.mark.parametrize(("is_journal", "count"), [(False, 1), (True, 2)])
def test_a_wrong_log_call_does_not_end_its_task(tmp_path: Path, is_journal: bool, count: int) -> None:  # noqa: FBT001
    """The log has the place of the call, and the later lines. The lines in the journal also have fields."""
    error = tmp_path / "stderr"
    with error.open("wb") as output:
        settings = {**os.environ, **journal_stream(error if is_journal else tmp_path)}
        code = [sys.executable, "-c", WRONG_CALLS]
        done = subprocess.run(code, stdout=subprocess.PIPE, stderr=output, text=True, check=True, env=settings)
    lines = error.read_text().splitlines()
    assert done.stdout == f"{count}\n"
    assert (
        sum("<string>:8: this log call is wrong, and its line is lost; report this log" in each for each in lines) == 1
    )
    assert any("TypeError: not enough arguments for format string" in each for each in lines)
    assert any(("ZeroDivisionError" if is_journal else "WARNING shoed: well") in each for each in lines)


OUTSIDE: Final = """
import ctypes, threading
from shoed.service import log
log.begin()
def fail():
    raise KeyError(7)
thread = threading.Thread(target=fail, name="reader")
thread.start()
thread.join()
ctypes.CFUNCTYPE(None)(fail)()
"""


def test_an_error_outside_the_event_loop_is_logged() -> None:
    """It ends a thread, or a callback of a library."""
    done = subprocess.run([sys.executable, "-c", OUTSIDE], capture_output=True, text=True, check=True)
    assert done.stderr.count("\nKeyError: 7\n") == 2
    assert "ERROR shoed: the thread reader has ended; report this log\nTraceback" in done.stderr
    assert "ERROR shoed: a callback has failed: " in done.stderr
