"""The counters of a table, the text of /metrics and the answer of /health, in one process."""

import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from shoed.bus.settings import BrokerSettings
from shoed.engine import ENGINE
from shoed.errors import CommitFailed
from shoed.journal import Store
from shoed.model.step import Configured, LinkUp, Received
from shoed.ports.clock import now
from shoed.service.config import Config, describe
from shoed.service.counters import BOUNDS, MOST_AWAITED, Counters, Histogram
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.disk import DiskStatus
from shoed.service.metrics.facts import METRICS
from shoed.service.metrics.health import FAILED, WARNING, health
from shoed.service.metrics.text import metrics_text
from shoed.service.metrics_settings import UnixSocket
from shoed.service.watchdog import Systemd
from shoed.table.state import LinkStatus
from tests.foreign_shoe import NATURAL, report
from tests.http_client import HttpAnswer
from tests.test_desk import ENDED, TABLE

DISK: Final = DiskStatus(1, 2, 3)


@asynccontextmanager
async def daemon(place: Path) -> AsyncIterator[Daemon[Desk]]:
    """A daemon with two tables that is not started."""
    tables = (TABLE, replace(TABLE, name="bac-902"))
    config = Config("rws", str(place), BrokerSettings("127.0.0.1", 1), tables, UnixSocket("metrics.sock"))
    with socket.socket(socket.AF_UNIX) as listener:
        made = Daemon(config, Store(place), Systemd(), listener, Desk)
        try:
            yield made
        finally:
            await made.writer.close()


async def text(of: Daemon[Desk]) -> HttpAnswer:
    return HttpAnswer(200, {}, (await metrics_text(of, DISK)).encode())


# ---------------------------------------------------------------------------------------------- counters


async def test_each_stage_of_a_table_is_counted(tmp_path: Path) -> None:
    """A card in its three copies, and noise: bytes, frames, observations, rejections, events and the commit."""
    async with daemon(tmp_path) as made:
        desk = made.desks[0]
        desk.take(Configured(describe(desk.config).decode(), ENGINE, "1"), now())
        desk.take(LinkUp("tcp://127.0.0.1:1"), now())
        desk.take(Received(report("1", NATURAL[0]) * 3 + b"\xff" * 5 + report("2", NATURAL[1])), now())
        await made.writer.flush()
        page, of = await text(made), 'table="bac-901",device="shoe"'
        assert page.value(f"shoed_frames_total{{{of}}}") == 4
        assert page.value(f'shoed_observations_total{{{of},kind="CardSeen"}}') == 2
        assert page.value(f'shoed_observations_total{{{of},kind="CopyHeard"}}') == 2
        assert page.value(f'shoed_rejected_lines_total{{{of},reason="junk"}}') == 1
        assert page.value(f'shoed_rejected_bytes_total{{{of},reason="junk"}}') == 5
        assert page.value('shoed_events_total{table="bac-901",type="card.drawn"}') == 2
        assert page.value('shoed_byte_to_commit_seconds_count{table="bac-901"}') == 1
        assert page.value("shoed_commit_seconds_count") >= 1
        assert page.value('shoed_backlog_events{table="bac-901"}') == desk.state.table.sequence
        assert page.value('shoed_frames_total{table="bac-902",device="shoe"}') == 0


def test_a_duration_is_in_the_first_bound_that_it_does_not_exceed() -> None:
    """A bound is part of its own bucket; a longer time is in the last bucket."""
    histogram = Histogram()
    for seconds in (BOUNDS[0], BOUNDS[0] * 1.01, BOUNDS[-1] + 1):
        histogram.add(seconds)
    assert histogram.counts == [1, 1, *[0] * (len(BOUNDS) - 2), 1]
    assert histogram.total_s == BOUNDS[0] * 2.01 + BOUNDS[-1] + 1


def test_the_memory_of_the_counters_is_bounded() -> None:
    """Without a broker, the times of the newest commits are known; an acknowledgement measures these only."""
    counters = Counters()
    for sequence in range(1, 3 * MOST_AWAITED):
        counters.awaited.append((sequence, 0.0))
    counters.acknowledged(3 * MOST_AWAITED, 1)
    assert sum(counters.commit_to_acknowledgement.counts) == MOST_AWAITED
    assert not counters.awaited


# ---------------------------------------------------------------------------------------------- the text


async def test_every_metric_is_in_the_text(tmp_path: Path) -> None:
    """Each has its help, its type and at least one value."""
    async with daemon(tmp_path) as made:
        page = await metrics_text(made, DISK)
    for each in METRICS:
        assert page.count(f"# HELP {each.name} {each.help}\n# TYPE {each.name} {each.kind.value}\n{each.name}") == 1
    assert page.endswith("\n")


async def test_the_start_of_the_process_does_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the clock is set between two requests."""
    async with daemon(tmp_path) as made:
        before = (await text(made)).value("process_start_time_seconds")
        clock = time.time
        monkeypatch.setattr(time, "time", lambda: clock() + 100)
        assert (await text(made)).value("process_start_time_seconds") == before


async def test_a_disk_that_does_not_answer_has_no_values(tmp_path: Path) -> None:
    """All other metrics keep their values."""
    async with daemon(tmp_path) as made:
        page = await metrics_text(made, None)
    assert "\nshoed_journal_size_bytes" not in page
    assert "\nshoed_commit_seconds_count" in page


async def test_a_removed_table_has_no_values(tmp_path: Path) -> None:
    """The other table keeps its values."""
    async with daemon(tmp_path) as made:
        assert "bac-902" in await metrics_text(made, DISK)
        made.desks.pop()
        assert "bac-902" not in await metrics_text(made, DISK)
        assert "bac-901" in await metrics_text(made, DISK)
        assert [each.name for each in health(made).tables] == ["bac-901"]


def test_a_daemon_without_metrics_imports_nothing_of_them() -> None:
    """The modules of the pages are imported only if `[metrics]` is configured."""
    code = "import shoed.service.daemon, sys; sys.exit('shoed.service.metrics' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------------------------------- health


async def test_an_absence_is_a_warning(tmp_path: Path) -> None:
    """No device and no broker: a restart would not help."""
    async with daemon(tmp_path) as made:
        found = health(made)
    assert (found.status, found.failures) == (WARNING, ())
    assert "bac-901: broker: not connected yet" in found.warnings
    assert "bac-902: shoe offline" in found.warnings
    assert found.tables[0].devices[0].link is LinkStatus.OFFLINE


async def test_a_failed_table_is_a_failure(tmp_path: Path) -> None:
    """The reason names the table and the error."""
    async with daemon(tmp_path) as made:
        made.desks[1].ended = ENDED
        found = health(made)
        assert (await text(made)).value('shoed_table_failed{table="bac-902"}') == 1
    assert (found.status, found.failures) == (FAILED, (f"bac-902: {ENDED}",))
    assert [each.failure for each in found.tables] == [None, ENDED]


async def test_a_failed_journal_is_a_failure(tmp_path: Path) -> None:
    """The reason is the error of the commit, with the name of the stopped table. The other table continues."""
    async with daemon(tmp_path) as made:
        desk = made.desks[1]
        made.writer.tables[desk.name] = desk.record
        made.writer.stopped(desk.name, CommitFailed("journal.db: the disk is full; free space"))
        found = health(made)
        assert (await text(made)).value("shoed_journal_failed") == 1
    reason = "bac-902: journal failed: journal.db: the disk is full; free space"
    assert (found.status, found.failures) == (FAILED, (reason,))
