"""/metrics and /health of a running daemon: compared with its journal, with and without its broker and its disk."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from shoed.rig.broker import BrokerKind, running_broker
from tests.command_clients import shoed
from tests.foreign_shoe import COPIES, NATURAL, ROUNDS, TcpShoe
from tests.http_client import SOCKET, HttpAnswer, fetch
from tests.patience import PATIENCE_S
from tests.promtool import PROMTOOL, promtool
from tests.witnesses import TABLE
from tests.world import Daemon, World

OF_SHOE = f'table="{TABLE}",device="shoe"'


async def started(world: World, shoe: TcpShoe, listen: str = f"unix:{SOCKET}", **settings: str) -> Daemon:
    """A daemon with metrics."""
    path = world.configure(shoe)
    path.write_text(f'{path.read_text()}\n[metrics]\nlisten = "{listen}"\n')
    daemon = await world.launch(path, settings)
    await daemon.ready()
    await daemon.looking(lambda: "metrics at" in str(daemon) or "tries again" in str(daemon))
    return daemon


async def health(world: World, wanted: Callable[[HttpAnswer], bool]) -> HttpAnswer:
    """Wait for this answer of /health: the daemon knows a commit shortly after the journal has it."""
    async with asyncio.timeout(PATIENCE_S):
        while not wanted(found := await fetch(world.state_dir, "/health")):
            pass
    return found


async def test_the_counters_agree_with_the_journal(world: World) -> None:
    """After some rounds, each stage has the number that the journal and the subscriber have."""
    async with TcpShoe() as shoe:
        daemon = await started(world, shoe)
        await shoe.connected()
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        sent = COPIES * sum(len(bytes.fromhex(frame)) for each in ROUNDS for frame in each.frames)
        await daemon.looking(lambda: sum(len(data) for _, data in world.journal.received()) == sent)
        await world.all_published()
        events = world.journal.events()
        of_table = f'{{table="{TABLE}"}}'
        received, acknowledged = (
            f"shoed_received_bytes_total{{{OF_SHOE}}}",
            f"shoed_acknowledged_events_total{of_table}",
        )
        page = await fetch(world.state_dir, "/metrics")
        async with asyncio.timeout(PATIENCE_S):
            while page.value(received) < sent or page.value(acknowledged) < len(events):
                page = await fetch(world.state_dir, "/metrics")
        assert page.value(acknowledged) == len(events)
        assert page.value(f"shoed_published_events_total{of_table}") == len(events)
        drawn = [each for each in events if each.type == "card.drawn"]
        assert page.value(f'shoed_events_total{{table="{TABLE}",type="card.drawn"}}') == len(drawn)
        assert page.value(received) == sent
        assert page.value(f"shoed_backlog_events{of_table}") == 0
        for kind in ("CardSeen", "CopyHeard", "ResultSeen"):
            count = page.value(f'shoed_observations_total{{{OF_SHOE},kind="{kind}"}}')
            assert count == world.journal.observed(kind)
        assert page.value(f'shoed_link_state{{{OF_SHOE},state="online"}}') == 1
        assert page.value(f"shoed_broker_connected{of_table}") == 1
        assert page.value(f"shoed_commit_to_acknowledgement_seconds_count{of_table}") > 0
        found = await fetch(world.state_dir, "/health")
        assert (found.status, found.json["status"], found.json["warnings"]) == (200, "ok", [])
        if PROMTOOL:
            assert await promtool("check", "metrics", text=page.text) == ""


async def test_an_absence_of_the_broker_or_the_shoe_is_in_the_health(tmp_path: Path) -> None:
    """The status is 200 with the reasons, and the backlog is counted."""
    async with running_broker(BrokerKind.MOSQUITTO) as own, World(tmp_path, own) as world, TcpShoe() as shoe:
        daemon = await started(world, shoe)
        await shoe.connected()
        own.kill()
        await shoe.say(NATURAL[0])
        await daemon.looking(lambda: world.journal.count("card.drawn"))
        await shoe.cut()
        await daemon.looking(lambda: world.journal.count("device.offline"))
        found = await health(world, lambda found: len(found.json["warnings"]) == 2)
        assert (found.status, found.json["status"], found.json["failures"]) == (200, "warning", [])
        (table,) = found.json["tables"]
        assert table["broker"]["online"] is False
        assert table["broker"]["backlog"] > 0
        assert (table["devices"][0]["device"], table["devices"][0]["link"]) == ("shoe", "offline")


async def test_a_journal_that_does_not_commit_is_503(world: World) -> None:
    """The reason names the journal; the watchdog is not affected. After the commit, the status is 200 again."""
    async with TcpShoe() as shoe:
        await started(world, shoe, WATCHDOG_USEC="300000")
        await shoe.connected()
        with world.journal.locked():
            await shoe.say(NATURAL[0])
            found = await health(world, lambda found: found.status != 200)
            assert (found.status, found.json["status"]) == (503, "failed")
            assert "journal: a commit of the journal is not complete after 2 s" in found.json["failures"][0]
            page = await fetch(world.state_dir, "/metrics")
            assert page.value("shoed_stuck_parts") == 0
            assert page.value("shoed_journal_queue_length") >= 0
        await world.recorder.event("card.drawn")
        await health(world, lambda found: found.status == 200)  # the next commit may need more than 0.3 s


async def test_an_overdue_commit_is_503_before_the_watchdog(world: World) -> None:
    """Another program locks the journal. /health and `shoed status` state the reason long before the commit fails."""
    async with TcpShoe() as shoe:
        await started(world, shoe)
        await shoe.connected()
        with world.journal.locked():
            await shoe.say(NATURAL[0])
            found = await health(world, lambda found: found.status != 200)
            (reason,) = found.json["failures"]
            assert reason.startswith("journal: a commit of the journal is not complete after 2 s")
            shown = await shoed("status", "--state-dir", world.state_dir)
            assert shown.status == 1
            assert "PROBLEM  a commit of the journal is not complete after " in shown.out
            assert "reports that wait for a commit: " in " ".join(shown.out.split())
        await world.recorder.event("card.drawn")
        await health(world, lambda found: found.status == 200)
        assert "PROBLEM" not in (await shoed("status", "--state-dir", world.state_dir)).out


async def test_a_port_in_use_does_not_stop_the_daemon(world: World) -> None:
    """The cards are published, and the status of systemd has the reason."""
    async with TcpShoe() as shoe:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            daemon = await started(world, shoe, f"127.0.0.1:{port}", WATCHDOG_USEC="300000")
            await shoe.connected()
            await shoe.say(NATURAL[0])
            await world.recorder.event("card.drawn")
            await daemon.until(lambda: any("metrics: " in line and str(port) in line for line in daemon.notified))
        assert await daemon.stop() == 0


async def test_without_the_section_nothing_listens(world: World) -> None:
    """Metrics are off by default."""
    async with TcpShoe() as shoe:
        await world.start(shoe)
        await shoe.connected()
        assert not (world.state_dir / SOCKET).exists()


async def test_a_wrong_place_is_a_problem_of_the_configuration(world: World) -> None:
    """The message has the line, the problem and the remedy."""
    async with TcpShoe() as shoe:
        path = world.configure(shoe)
        path.write_text(f'{path.read_text()}\n[metrics]\nlisten = "0.0.0.0:9101"\n')
        line = len(path.read_text().splitlines())
        daemon = await world.launch(path)
        assert await daemon.ended() == 1
    assert f'{path}:{line}: metrics.listen: other machines can reach "0.0.0.0"; write 127.0.0.1' in str(daemon)
