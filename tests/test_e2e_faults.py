"""A real daemon on a disk that fails, hangs and works again: the table stops, reports it, and continues by itself."""

import asyncio
import errno
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from shoed.bus.committed_events import FRESH
from tests.command_clients import client, line, shoed
from tests.crash.clock import SteppedClock
from tests.crash.disk import ANY, CHANGES, Call, FaultyDisk, File
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.http_client import SOCKET, fetch
from tests.mqtt_proxy import Proxy
from tests.test_e2e_open_shoe import OpenShoe
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import Daemon, World

DAY_S: Final = 86400.0
OTHER: Final = "bac-902"


@pytest.fixture
def disk(world: World, tmp_path: Path) -> FaultyDisk:
    return FaultyDisk(world.state_dir, tmp_path)


async def launch(
    world: World, disk: FaultyDisk, *shoes: TcpShoe, port: int | None = None, watchdog_us: str = ""
) -> Daemon:
    path = world.configure(*shoes, port=port)
    path.write_text(f'{path.read_text()}\n[metrics]\nlisten = "unix:{SOCKET}"\n')
    daemon = await world.launch(path, {**disk.environment, "WATCHDOG_USEC": watchdog_us})
    await daemon.ready()
    return daemon


async def serve(world: World, disk: FaultyDisk, *shoes: TcpShoe, watchdog_us: str = "") -> Daemon:
    daemon = await launch(world, disk, *shoes, watchdog_us=watchdog_us)
    for number, shoe in enumerate(shoes, start=901):
        await world.recorder.event("device.online", f"bac-{number}")
        await shoe.connected()
    return daemon


async def reason(world: World, presence: str, text: str, table: str = TABLE) -> str:
    """Wait until the last status has this presence and this text."""

    def last() -> Any:  # noqa: ANN401 -- JSON
        found = world.recorder.statuses(table)[-1:]
        return [each["reason"] for each in found if each["status"] == presence and text in each["reason"]]

    return str((await world.recorder.until(last))[0])


async def published(world: World, reason: str) -> None:
    await world.recorder.until(lambda: reason in [each["reason"] for each in world.recorder.statuses()])


async def stopped(world: World, shoe: TcpShoe, table: str = TABLE) -> str:
    """Deal until the table stops; return the reason."""
    await shoe.repeat(ROUNDS[1].frames[:1])
    found = await reason(world, "offline", "journal failed: ", table)
    await shoe.deserted()
    return found


async def continued(world: World, shoe: TcpShoe, table: str = TABLE) -> Any:  # noqa: ANN401 -- JSON
    """Wait until the table continues and has its shoe; return the data of the event with the gap."""
    await reason(world, "online", "journal available again; it could not be written from ", table)
    await shoe.connected()

    def gaps() -> list[Any]:
        return [each for each in world.recorder.of("device.offline", table) if "journal" in each["reason"]]

    found = await world.recorder.until(gaps)
    await world.recorder.event("device.online", table, number=len(world.recorder.of("device.offline", table)) + 1)
    return found[-1]


FAULTS: Final[dict[str, Callable[[FaultyDisk], None]]] = {
    "full": lambda disk: disk.fail(errno.ENOSPC, CHANGES, ANY),
    "read-only": lambda disk: disk.read_only(),
    "error": lambda disk: disk.fail(errno.EIO, Call.SYNC, File.WAL),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_table_stops_with_the_disk_and_continues_with_it(world: World, disk: FaultyDisk, fault: str) -> None:
    """It states the reason everywhere, deals nothing, refuses commands, and names the gap. The process continues."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        await world.recorder.until(lambda: world.recorder.states()[-1:] and world.recorder.states()[-1]["last_round"])
        state, events = world.recorder.states()[-1], len(world.recorder.events())
        FAULTS[fault](disk)
        await stopped(world, shoe)
        assert len(world.recorder.events()) == events
        assert world.recorder.states()[-1] == state
        async with client(world.state_dir) as one_client:
            refused = await one_client.request(line("1"))
        assert refused is not None
        assert not refused.accepted
        shown = await shoed("status", "--state-dir", world.state_dir)
        assert shown.status == 1
        assert f"{TABLE}  commission, shoe 1, round 1, STOPPED" in shown.out
        health = await fetch(world.state_dir, "/health")
        (failure,) = health.json["failures"]
        assert health.status == 503
        # The error of a commit replaces that of a read.
        for why in (refused.detail, failure.removeprefix(f"{TABLE}: ")):
            assert why.startswith(f"journal failed: {world.journal.path}: ")
            await published(world, why)
        await daemon.until(
            lambda: any(f"STATUS=1 table; {TABLE}: journal failed: " in each for each in daemon.notified)
        )
        disk.heal()
        gap = await continued(world, shoe)
        assert gap["reason"].startswith("the journal could not be written from 20")
        assert (await fetch(world.state_dir, "/health")).status == 200
        await shoe.deal(ROUNDS[1])  # its first card was lost, and now its number is the successor
        await world.recorder.event("round.confirmed", number=2)
        await world.all_published()
        assert await daemon.stop() == 0


async def test_a_single_error_of_the_disk_is_not_noticed(world: World, disk: FaultyDisk) -> None:
    """The commit is repeated."""
    async with TcpShoe() as shoe:
        await serve(world, disk, shoe)
        disk.fail(errno.EIO, Call.SYNC, File.WAL, times=1)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        assert disk.injected == 1
        assert [each["status"] for each in world.recorder.statuses()] == ["online"]
        await world.all_published()


async def test_a_stop_while_the_journal_fails_has_the_exit_status_1(world: World, disk: FaultyDisk) -> None:
    """The last status has the reason. The next start continues."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        disk.read_only()
        await stopped(world, shoe)
        assert await daemon.stop() == 1
        assert world.recorder.statuses()[-1]["reason"].startswith("journal failed: ")
        disk.heal()
        await launch(world, disk, shoe)
        await shoe.connected()
        await shoe.deal(ROUNDS[1])
        await world.recorder.event("round.confirmed", number=2)
        await world.all_published()


async def test_a_table_without_a_step_is_not_stopped(world: World, disk: FaultyDisk) -> None:
    """Its first Step stops it. Both tables continue."""
    async with TcpShoe() as shoe, TcpShoe() as other:
        await serve(world, disk, shoe, other)
        disk.fail(errno.ENOSPC, Call.WRITE)  # the publisher of the other table may still open the journal, to read it
        await shoe.repeat(ROUNDS[1].frames[:1])
        await reason(world, "offline", "journal failed: ")
        assert world.recorder.statuses(OTHER)[-1]["status"] == "online"
        await stopped(world, other, OTHER)
        await shoe.deserted()
        disk.heal()
        await continued(world, shoe)
        await continued(world, other, OTHER)
        for table in (TABLE, OTHER):
            await world.all_published(table)


@pytest.mark.parametrize("fault", ["read-only", "error"])
async def test_a_disk_that_fails_at_the_start_is_reported(world: World, disk: FaultyDisk, fault: str) -> None:
    """The daemon serves its tables as soon as the disk works; it needs the disk only to open the journal."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        assert await daemon.stop() == 0
        files = File.WAL if fault == "error" else File.WAL | File.DB
        disk.fail(errno.EIO if fault == "error" else errno.EROFS, Call.WRITE | Call.SYNC, files)
        daemon = await world.launch(world.configure(shoe), disk.environment)
        ended = asyncio.ensure_future(daemon.ended())
        serving = asyncio.ensure_future(reason(world, "offline", "journal failed: "))
        await asyncio.wait((ended, serving), return_when=asyncio.FIRST_COMPLETED)
        disk.heal()
        if ended.done():  # the journal could not be opened: systemd starts the daemon again
            serving.cancel()
            assert ended.result() == 1
            assert str(world.state_dir) in str(daemon)
            await launch(world, disk, shoe)
        else:
            ended.cancel()
            await reason(world, "online", "journal available again")
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        await world.all_published()


async def test_a_hang_is_reported_and_loses_nothing(world: World, disk: FaultyDisk) -> None:
    """On MQTT, in the status and to systemd. The watchdog continues, and the daemon publishes everything afterwards."""
    async with TcpShoe() as shoe, TcpShoe() as other:
        daemon = await serve(world, disk, shoe, other, watchdog_us="300000")
        disk.hang()
        await shoe.deal(*ROUNDS[:2])
        why = await reason(world, "offline", "journal waits: a commit has begun at ")
        await reason(world, "offline", "journal waits: a commit has begun at ", OTHER)
        daemon.notified.clear()
        await daemon.until(lambda: daemon.notified.count("WATCHDOG=1") >= 8)  # many periods
        assert not [each for each in daemon.notified if "stuck" in each]
        shown = await shoed("status", "--state-dir", world.state_dir)
        assert shown.status == 1
        assert "a commit of the journal is not complete after " in shown.out
        await daemon.until(lambda: any(why[:30] in each for each in daemon.notified if each.startswith("STATUS=")))
        assert world.recorder.of("card.drawn") == []
        disk.heal()
        await reason(world, "online", "journal available again; ")
        await world.recorder.event("round.confirmed", round=2)
        assert world.recorder.of("line.missed") == world.recorder.of("round.suspended") == []
        for table in (TABLE, OTHER):
            await world.all_published(table)


async def test_a_hang_of_reads_does_not_delay_the_daemon(world: World, disk: FaultyDisk) -> None:
    """A command, and a connection to the broker, read the journal. Status and tables do not wait for them."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        disk.hang(calls=Call.READ | Call.OPEN, files=File.DB | File.WAL | File.SHM)
        async with client(world.state_dir) as one_client:
            pending = asyncio.ensure_future(one_client.request(line("1")))
            await daemon.looking(lambda: disk.injected)
            assert (await shoed("status", "--state-dir", world.state_dir)).status == 0
            assert not pending.done()
            disk.heal()
            answer = await pending
            assert answer is not None
            assert answer.accepted
        await world.all_published()


async def test_a_journal_that_cannot_be_read_stops_its_table(world: World, disk: FaultyDisk) -> None:
    """The events that wait for the broker cannot be published, so the table does not deal. Later both continue."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        daemon = await launch(world, disk, shoe, port=proxy.port)
        await world.recorder.event("device.online")
        await proxy.shut()
        await deal_many(world, daemon, shoe)
        disk.fail(errno.EIO, Call.READ, File.DB | File.WAL)
        await proxy.open()
        assert "disk I/O error" in await reason(world, "offline", "journal failed: ")
        await shoe.deserted()
        disk.heal()
        await continued(world, shoe)
        await world.all_published()
        assert await daemon.stop() == 0


async def deal_many(world: World, daemon: Daemon, shoe: TcpShoe) -> None:
    """Record more events than a publisher has in memory."""
    for _ in range(9):
        await shoe.deal(*ROUNDS)
    await daemon.looking(lambda: world.journal.count("round.confirmed") == 9 * len(ROUNDS))
    assert len(world.journal.events()) > FRESH


async def test_a_day_without_a_broker_loses_nothing(world: World, tmp_path: Path) -> None:
    """The events of the day follow in order, marked as historical. Only the newest of them are in memory."""
    clock = SteppedClock(tmp_path)
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        daemon = await world.launch(world.configure(shoe, port=proxy.port), clock.environment)
        await daemon.ready()
        await world.recorder.event("device.online")
        await shoe.connected()
        await proxy.shut()
        await deal_many(world, daemon, shoe)
        clock.step(DAY_S)
        await shoe.deal(ROUNDS[0])
        await daemon.looking(lambda: world.journal.count("round.confirmed") == 9 * len(ROUNDS) + 1)
        await proxy.open()
        await world.recorder.event("round.confirmed", number=9 * len(ROUNDS) + 1)
        await world.all_published()
        assert all(each.get("historical") for each in world.recorder.events()[1:])
        assert "the clock of the machine was set forward by 86400.0 s" in str(daemon)
        assert await daemon.stop() == 0


@pytest.mark.parametrize("step_s", [DAY_S, -DAY_S])
async def test_a_step_of_the_clock_does_not_disturb_a_round(world: World, tmp_path: Path, step_s: float) -> None:
    """In the middle of a hand: no report counts as missed, and the order is the sequence. The log has the size."""
    clock = SteppedClock(tmp_path)
    async with TcpShoe() as shoe:
        daemon = await world.launch(world.configure(shoe), clock.environment)
        await daemon.ready()
        await world.recorder.event("device.online")
        await shoe.connected()
        await shoe.repeat(ROUNDS[0].frames[:1])
        await world.recorder.event("card.drawn")
        clock.step(step_s)
        await shoe.repeat(ROUNDS[0].frames[1:])
        await world.recorder.event("round.confirmed")
        times = [each["time"] for each in world.recorder.events()]
        assert (times == sorted(times)) == (step_s > 0)
        assert not {"shoed.line.missed", "shoed.round.suspended"} & {each["type"] for each in world.recorder.events()}
        await world.all_published()
        assert await daemon.stop() == 0
        way = "forward" if step_s > 0 else "back"
        assert str(daemon).count(f"the clock of the machine was set {way} by 86400.0 s") == 1
        checked = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
        assert (checked.status, checked.err) == (0, "")


async def test_a_deleted_journal_stops_the_table_until_a_restart(world: World, disk: FaultyDisk) -> None:
    """No card is committed to a file that no later start finds. The remedy is in the status."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        events = len(world.recorder.events())
        kept = world.place / "journal.db"
        world.journal.path.rename(kept)
        why = await stopped(world, shoe)
        assert (
            "the file was deleted or replaced while shoed used it; move the original file back, and the tables" in why
        )
        assert len(world.recorder.events()) == events
        kept.rename(world.journal.path)
        await continued(world, shoe)
        await world.all_published()
        assert await daemon.stop() == 0


async def test_a_fault_of_one_table_does_not_end_the_other(world: World, disk: FaultyDisk) -> None:
    """A row of the next number exists already, which is a defect: this table ends, and the log has the reason."""
    async with TcpShoe() as shoe, TcpShoe() as other:
        daemon = await serve(world, disk, shoe, other)
        with closing(sqlite3.connect(world.journal.path)) as journal:
            journal.execute("PRAGMA busy_timeout = 5000")
            journal.execute(
                "CREATE TRIGGER no BEFORE INSERT ON step WHEN new.table_name = 'bac-902'"
                " BEGIN SELECT RAISE(ABORT, 'not today'); END"
            )
            journal.commit()
        await shoe.deal(ROUNDS[0])
        await other.repeat(ROUNDS[0].frames[:1])
        why = await reason(world, "offline", "table failed: ", OTHER)
        assert "a Step cannot be recorded: IntegrityError: not today" in why
        await world.recorder.event("round.confirmed")
        assert world.recorder.statuses()[-1]["status"] == "online"
        assert "Traceback" in str(daemon)
        daemon.log.write_text("")  # the traceback is expected


async def test_an_open_shoe_keeps_the_reports_of_a_stop(world: World, disk: FaultyDisk, tmp_path: Path) -> None:
    """No report is acknowledged that is not committed. Afterwards each card is recorded once, and none is missed."""
    async with OpenShoe(tmp_path / "tty") as shoe:
        daemon = await world.launch(world.configure(shoe, protocol="open-shoe"), disk.environment)
        await daemon.ready()
        shoe.report(card("8S"))
        await world.recorder.event("card.drawn")
        await daemon.looking(lambda: not shoe.state.store.kept)
        FAULTS["full"](disk)
        shoe.report(card("3H"), card("JD"))
        await reason(world, "offline", "journal failed: ")
        assert len(shoe.state.store.kept) == 2
        disk.heal()
        await reason(world, "online", "journal available again")
        await daemon.looking(lambda: not shoe.state.store.kept)
        seen = [each for each in world.journal.events() if each.type in {"card.drawn", "card.set-aside"}]
        assert [each.data["card"] for each in seen] == ["8S", "3H", "JD"]
        assert world.journal.count("line.missed") == 0
        await world.all_published()


async def test_a_reload_during_a_stop_is_recorded_afterwards(world: World, disk: FaultyDisk) -> None:
    """The table continues with the new settings, and the record can be computed again with them."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        FAULTS["error"](disk)
        await stopped(world, shoe)
        path = world.place / "c.toml"
        path.write_text(path.read_text().replace('game = "commission"', 'game = "super-six-plus"'))
        daemon.process.send_signal(signal.SIGHUP)
        await daemon.looking(lambda: f"{TABLE}: table.game: applied" in str(daemon))
        disk.heal()
        await continued(world, shoe)
        await shoe.deal(ROUNDS[1])
        await world.recorder.event("round.completed", game="super-six-plus")
        await world.all_published()
        assert await daemon.stop() == 0
        checked = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
        assert (checked.status, checked.err) == (0, "")


async def test_an_open_question_survives_a_stop(world: World, disk: FaultyDisk) -> None:
    """The retained question is that of the last committed Step. The answer is refused, and later accepted."""
    async with TcpShoe() as shoe:
        daemon = await serve(world, disk, shoe)
        await shoe.repeat(ROUNDS[0].frames[:2])
        await shoe.repeat(ROUNDS[0].frames[3:4])  # a report is missing in the middle of the hand
        await world.recorder.event("question.asked")
        await world.recorder.until(lambda: world.recorder.on(f"{TABLE}/question")[-1].payload)
        asked = world.recorder.on(f"{TABLE}/question")[-1].json
        answer = {"question": asked["id"], "choice": asked["choices"][0], "revision": asked["revision"]}
        FAULTS["error"](disk)
        async with client(world.state_dir) as one_client:
            refused = await one_client.request(line("1", "decide", **answer))
            assert refused is not None
            assert not refused.accepted
            assert refused.detail.startswith("journal failed: ")
            assert world.recorder.on(f"{TABLE}/question")[-1].json == asked
            disk.heal()
            await continued(world, shoe)
            asked = world.recorder.on(f"{TABLE}/question")[-1].json
            answer = {"question": asked["id"], "choice": asked["choices"][0], "revision": asked["revision"]}
            accepted = await one_client.request(line("1", "decide", **answer))
            assert accepted is not None
            assert accepted.accepted, accepted.detail
        await world.all_published()
        assert await daemon.stop() == 0
