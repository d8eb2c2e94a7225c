"""A reload of a daemon in this process: a change starts a failed table again."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoed.journal import Store, hold
from shoed.model.moments import Now
from shoed.model.step import AnyInput, LinkUp, Received
from shoed.rig.broker import Broker, BrokerKind
from shoed.service.command_socket import listening
from shoed.service.config import load
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.metrics.health import health
from shoed.service.metrics.text import metrics_text
from shoed.service.watchdog import Systemd
from tests.foreign_shoe import NATURAL, TcpShoe
from tests.patience import PATIENCE_S
from tests.test_desk import COMMAND, ENDED
from tests.witnesses import Recorder


class FragileDesk(Desk):
    """A table with a defect: with 7 decks it fails at a certain input of its device."""

    fails_at: type = LinkUp

    def take(self, incoming: AnyInput, at: Now) -> None:
        if isinstance(incoming, self.fails_at) and self.config.decks == 7:
            raise KeyError(7)
        super().take(incoming, at)


class LaterFragileDesk(FragileDesk):
    """It fails at the first byte, after its first event."""

    fails_at = Received


def write(place: Path, *tables: tuple[str, TcpShoe, int], broker: str = "127.0.0.1:1", site: str = "rws") -> Path:
    path = place / "shoed.toml"
    text = f'[site]\nname = "{site}"\nstate_dir = "{place / "state"}"\n[mqtt]\nurl = "mqtt://{broker}"\n'
    for name, shoe, decks in tables:
        text += f'[[table]]\nname = "{name}"\ngame = "commission"\ndecks = {decks}\n[table.shoe]\n'
        text += f'protocol = "angel-eye"\nport = "{shoe.port}"\n'
    path.write_text(text)
    return path


@asynccontextmanager
async def daemon_of(path: Path, desk: type[FragileDesk] = FragileDesk) -> AsyncIterator[Daemon[FragileDesk]]:
    config = load(str(path))
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as listener:
        daemon = Daemon(config, Store(state_dir), Systemd(), listener, desk, str(path))
        running = asyncio.create_task(daemon.run())
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield daemon
        finally:
            daemon.stop.set()
            assert await running == 0


async def until(condition: Callable[[], bool], news: Callable[[], Awaitable[object]]) -> None:
    while not condition():
        await news()


async def test_a_change_starts_a_failed_table_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its record continues. The other table is not affected."""
    caplog.set_level(logging.CRITICAL)
    async with TcpShoe() as one, TcpShoe() as other:
        path = write(tmp_path, ("bac-901", one, 8), ("bac-902", other, 7))
        async with daemon_of(path) as daemon:
            await one.connected()
            await until(lambda: daemon.desks[1].ended is not None, lambda: asyncio.sleep(0))
            assert daemon.desks[1].ended == "table failed: KeyError: 7"
            well, failed = daemon.desks
            write(tmp_path, ("bac-901", one, 8), ("bac-902", other, 6))
            daemon.hung_up.set()
            await until(lambda: daemon.desks[-1] is not failed, lambda: asyncio.sleep(0))
            await other.connected()
            await until(lambda: daemon.desks[-1].links == "shoe online", lambda: asyncio.sleep(0))
            assert (daemon.desks[0], well.ended) == (well, None)
            assert daemon.desks[-1].state.row > failed.state.row


async def test_a_table_that_a_reload_removes_is_not_a_failure(tmp_path: Path) -> None:
    """It waits for its broker before it is gone. Its commands are refused with the reason."""
    async with TcpShoe() as one, TcpShoe() as other:
        path = write(tmp_path, ("bac-901", one, 8), ("bac-902", other, 8))
        async with daemon_of(path) as daemon:
            await other.connected()
            leaving = daemon.desks[1]
            write(tmp_path, ("bac-901", one, 8))
            daemon.hung_up.set()
            answers = set()
            while leaving in daemon.desks:
                assert health(daemon).failures == ()
                if leaving.leaving is not None:
                    assert 'shoed_table_failed{table="bac-902"} 0' in await metrics_text(daemon, None)
                    answers.add((await leaving.execute(COMMAND)).detail)
                await asyncio.sleep(0)
            assert answers == {"the table was removed from the configuration"}


# ---------------------------------------------------------------------------------------------- the broker


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Recorder]:
    """A subscriber of a site of its own."""
    recorder = Recorder(tmp_path.name.replace("_", "-")[-32:])
    yield recorder
    await recorder.leave()


@asynccontextmanager
async def failed_table(place: Path, site: str, broker: str) -> AsyncIterator[tuple[Daemon[FragileDesk], list[TcpShoe]]]:
    """A daemon with two tables: the first has failed with events that its broker does not have."""
    async with TcpShoe() as one, TcpShoe() as other:
        path = write(place, ("bac-901", one, 7), ("bac-902", other, 8), broker=broker, site=site)
        async with daemon_of(path, LaterFragileDesk) as daemon:
            desk = daemon.desks[0]
            await one.connected()
            await until(lambda: desk.links == "shoe online", lambda: asyncio.sleep(0))
            await one.say(NATURAL[0])
            await until(lambda: desk.ended is not None, lambda: asyncio.sleep(0))
            assert desk.backlog > 0
            yield daemon, [one, other]


async def published_to_its_end(desk: Desk, site: Recorder) -> None:
    """The broker has acknowledged every event of the failed table, and retains the reason of the failure."""
    await desk.publishing
    assert desk.backlog == 0
    await site.until(lambda: site.statuses()[-1:])
    assert {(each["status"], each["reason"]) for each in site.statuses()} == {("offline", ENDED)}


async def test_the_events_of_a_failed_table_wait_for_its_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, site: Recorder
) -> None:
    """The broker is away at the failure, and starts later."""
    caplog.set_level(logging.CRITICAL)
    broker = Broker(BrokerKind.MOSQUITTO)
    try:
        async with failed_table(tmp_path, site.site, f"{broker.host}:{broker.port}") as (daemon, _):
            await broker.start()
            await site.listen(broker)  # perhaps after the events, which are not retained
            await published_to_its_end(daemon.desks[0], site)
    finally:
        await broker.close()


async def test_the_events_of_a_failed_table_go_to_the_broker_of_a_reload(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, site: Recorder, broker: Broker
) -> None:
    """The new broker receives them without a restart."""
    caplog.set_level(logging.CRITICAL)
    await site.listen(broker)
    async with failed_table(tmp_path, site.site, "127.0.0.1:1") as (daemon, (one, other)):
        write(
            tmp_path,
            ("bac-901", one, 7),
            ("bac-902", other, 8),
            broker=f"{broker.host}:{broker.port}",
            site=site.site,
        )
        daemon.hung_up.set()
        await site.event("device.online")
        await published_to_its_end(daemon.desks[0], site)
        await site.until(lambda: len(site.events()) == daemon.desks[0].committed.sequence)


async def test_no_counter_decreases_at_a_reload(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, site: Recorder, broker: Broker
) -> None:
    """The broker is replaced; then the table is removed, and added again. The log has the number of waiting events."""
    await site.listen(broker)
    place = f"{broker.host}:{broker.port}"

    async with TcpShoe() as one, TcpShoe() as other:
        tables = ("bac-901", one, 8), ("bac-902", other, 8)
        async with daemon_of(write(tmp_path, *tables, broker=place, site=site.site)) as daemon:

            async def counters() -> dict[str, float]:
                page = (await metrics_text(daemon, None)).splitlines()
                words = (line.split(" ") for line in page if 'table="bac-901"' in line and "_total{" in line)
                return {name: float(value) for name, value in words}

            await site.event("device.online")
            await until(lambda: not daemon.desks[0].backlog, lambda: asyncio.sleep(0))
            before = await counters()
            assert before['shoed_acknowledged_events_total{table="bac-901"}'] > 0
            publisher = daemon.desks[0].publisher
            write(tmp_path, *tables, site=site.site)
            daemon.hung_up.set()
            await until(lambda: daemon.desks[0].publisher is not publisher, lambda: asyncio.sleep(0))
            later = await counters()
            assert all(later[name] >= before[name] for name in before)
            write(tmp_path, tables[1], site=site.site)
            daemon.hung_up.set()
            await until(lambda: len(daemon.desks) == 1, lambda: asyncio.sleep(0))
            assert (
                "bac-901: events that wait in the journal, because the broker has not acknowledged them: 1;"
                in caplog.text
            )
            write(tmp_path, *tables, site=site.site)
            daemon.hung_up.set()
            await until(lambda: len(daemon.desks) > 1, lambda: asyncio.sleep(0))
            assert daemon.desks[1].name == "bac-901"
            last = await counters()
            assert all(last[name] >= later[name] for name in later)


def test_a_daemon_without_a_reload_does_not_import_it() -> None:
    """Its start stays fast: they are imported after READY."""
    code = "import shoed.service.daemon, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "shoed.service.daemon" in loaded
    assert {"shoed.service.reload", "shoed.service.changes", "shoed.service.journal_log"} & set(loaded) == set()
