"""A reload of a running daemon: tables, devices, the broker and the house settings change; no event is lost."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoed.cli.journal.replay import check
from shoed.model.step import AnyInput, Configured
from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.command_clients import shoed
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe
from tests.witnesses import TABLE, Recorder
from tests.world import SHOED, SLOW_LINE, Daemon, World

OTHER = "bac-902"


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


@pytest.fixture
async def other() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


def write(
    world: World, tables: Mapping[str, tuple[TcpShoe, str]], more: str = "", broker: Broker | None = None
) -> Path:
    """Write a configuration: of each table its shoe, and lines of the table; `more` is a section."""
    broker = broker or world.broker
    text = f"""[site]\nname = "{world.site}"\nstate_dir = "{world.state_dir}"
[mqtt]\nurl = "mqtt://{broker.host}:{broker.port}"\n{more}\n"""
    for name, (shoe, lines) in tables.items():
        text += f"""[[table]]\nname = "{name}"\ngame = "commission"\n{lines}
[table.shoe]\nprotocol = "angel-eye"\nport = "{shoe.port}"\nmin_draw_gap_ms = 0\n{SLOW_LINE}\n"""
    path = world.place / "c.toml"
    path.write_text(text)
    return path


async def started(world: World, tables: Mapping[str, tuple[TcpShoe, str]], more: str = "") -> Daemon:
    daemon = await world.launch(write(world, tables, more))
    await daemon.ready()
    for name, (shoe, _) in tables.items():
        await shoe.connected()
        await world.recorder.event("device.online", name)
    return daemon


async def reload(daemon: Daemon) -> None:
    """Request a reload, and wait until the daemon is ready again."""
    times = daemon.notified.count("READY=1")
    daemon.process.send_signal(signal.SIGHUP)
    await daemon.until(lambda: daemon.notified.count("READY=1") > times)


def status_of(daemon: Daemon) -> str:
    return [line for line in daemon.notified if line.startswith("STATUS=")][-1]


async def logged(daemon: Daemon, text: str) -> str:
    return await daemon.looking(lambda: str(daemon) if text in str(daemon) else None)


def settings(world: World, table: str = TABLE) -> list[Any]:
    """The recorded settings of a table, in order."""
    inputs = [msgspec.json.decode(step.input, type=AnyInput) for step in world.journal.steps(table)]
    return [msgspec.json.decode(each.settings) for each in inputs if isinstance(each, Configured)]


async def verified(world: World, daemon: Daemon, *tables: str) -> None:
    """Stop the daemon: every event is published once, in order, and the journal can be recomputed."""
    assert await daemon.stop() == 0
    for table in tables:
        await world.all_published(table)
        sequences = [int(event["sequence"]) for event in world.recorder.events(table)]
        assert sequences == list(range(1, len(sequences) + 1))
    assert check(world.state_dir, []) == 0


# ---------------------------------------------------------------------------------------------- tables


async def test_tables_are_added_and_removed(world: World, shoe: TcpShoe, other: TcpShoe) -> None:
    """A removed table says farewell. An added table continues its record. The other table is not interrupted."""
    daemon = await started(world, {TABLE: (shoe, "")})
    await shoe.repeat(ROUNDS[0].frames[:2])
    write(world, {TABLE: (shoe, ""), OTHER: (other, "")})
    await reload(daemon)
    assert "RELOADING=1" in daemon.notified
    assert any(re.fullmatch("MONOTONIC_USEC=[0-9]+", line) for line in daemon.notified)
    await world.recorder.event("device.online", OTHER)
    await other.connected()
    await other.deal(*ROUNDS[:2])
    await world.recorder.event("round.confirmed", OTHER, number=2)
    write(world, {TABLE: (shoe, "")})
    await reload(daemon)
    farewell = await world.recorder.status("offline", OTHER)
    assert farewell["reason"] == "the table was removed from the configuration"
    await other.deserted()
    write(world, {TABLE: (shoe, ""), OTHER: (other, "")})
    await reload(daemon)
    await world.recorder.event("device.online", OTHER, number=2)
    await other.connected()
    await other.deal(*ROUNDS[2:4])
    await shoe.repeat(ROUNDS[0].frames[2:])
    await world.recorder.event("round.confirmed", OTHER, number=4)
    await world.recorder.event("round.confirmed")
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    assert len(world.recorder.statuses()) == 1
    assert len(world.recorder.of("device.online")) == 1
    await verified(world, daemon, TABLE, OTHER)


async def test_the_removal_of_a_table_waits_for_the_end_of_its_round(
    world: World, shoe: TcpShoe, other: TcpShoe
) -> None:
    """Its shoe's result belongs to the round. The port is free for a table with another name afterwards."""
    daemon = await started(world, {TABLE: (shoe, ""), OTHER: (other, "")})
    await other.repeat(ROUNDS[0].frames[:3])
    await world.recorder.event("card.drawn", OTHER, number=3)
    write(world, {TABLE: (shoe, ""), "bac-903": (other, "")})
    await reload(daemon)
    assert f"{OTHER} waits for the end of round 1" in status_of(daemon)
    assert f"bac-903 waits until {OTHER} releases {other.port}" in status_of(daemon)
    await other.repeat(ROUNDS[0].frames[3:4])
    await world.recorder.event("round.completed", OTHER)
    await logged(daemon, f"{OTHER}: a change waits for the shoe's result of round 1")
    await other.repeat(ROUNDS[0].frames[4:])
    await world.recorder.status("offline", OTHER)
    await world.recorder.event("device.online", "bac-903")
    assert len(world.recorder.of("round.confirmed", OTHER)) == 1
    await verified(world, daemon, TABLE, OTHER, "bac-903")


# ---------------------------------------------------------------------------------------------- house settings


async def test_house_settings_apply_between_rounds_on_the_open_link(world: World, shoe: TcpShoe) -> None:
    """In a round they wait, and the newest file counts. The link stays open, and no report is lost."""
    daemon = await started(world, {TABLE: (shoe, "")})
    await shoe.deal(ROUNDS[0])
    await shoe.repeat(ROUNDS[1].frames[:2])
    await world.recorder.event("card.drawn", number=6)
    write(world, {TABLE: (shoe, 'after_gap = "partial"')})
    await reload(daemon)
    assert f"{TABLE} waits for the end of round 2" in status_of(daemon)
    write(world, {TABLE: (shoe, 'after_gap = "abandon"\nburn_cards = 3')})
    await reload(daemon)
    assert f"{TABLE} waits for the end of round 2" in status_of(daemon)
    assert len(settings(world)) == 1
    await shoe.repeat(ROUNDS[1].frames[2:])
    await world.recorder.event("round.confirmed", number=2)
    await logged(daemon, f"{TABLE}: table.burn_cards: applied")
    await logged(daemon, f"{TABLE}: table.after_gap: applied")
    await shoe.deal(ROUNDS[2])
    await world.recorder.event("round.confirmed", number=3)
    assert [(each["house"]["after_gap"], each["house"]["burn_cards"]) for each in settings(world)] == [
        ("ask", None),
        ("abandon", 3),
    ]
    assert len(world.recorder.of("device.online")) == 1
    assert {each["integrity"] for each in world.recorder.of("round.completed")} == {"complete"}
    await verified(world, daemon, TABLE)


async def test_a_waiting_reload_does_not_delay_a_stop(world: World, shoe: TcpShoe) -> None:
    """SIGTERM ends the daemon in the round. The next start uses the new file."""
    daemon = await started(world, {TABLE: (shoe, "")})
    await shoe.repeat(ROUNDS[0].frames[:3])
    await world.recorder.event("card.drawn", number=3)
    write(world, {TABLE: (shoe, "burn_cards = 3")})
    await reload(daemon)
    assert "waits for the end of round 1" in status_of(daemon)
    await verified(world, daemon, TABLE)
    assert [each["house"]["burn_cards"] for each in settings(world)] == [None]


async def test_an_open_question_holds_the_settings(world: World, shoe: TcpShoe) -> None:
    """The settings wait for the answer of a person."""
    daemon = await started(world, {TABLE: (shoe, "")})
    await shoe.say(*NATURAL[:2], NATURAL[3])
    await world.recorder.event("question.asked")
    write(world, {TABLE: (shoe, "burn_cards = 3")})
    await reload(daemon)
    assert f"{TABLE} waits for an answer in round 1" in status_of(daemon)
    assert f"{TABLE}: round 1 waits for an answer of a" in status_of(daemon)
    await verified(world, daemon, TABLE)


async def test_many_reloads_lose_nothing_while_shoes_deal(world: World, shoe: TcpShoe, other: TcpShoe) -> None:
    """The settings of a dealing table change, and another table is added and removed."""
    daemon = await started(world, {TABLE: (shoe, "")})

    async def deal() -> None:
        for each in ROUNDS * 4:
            await shoe.deal(each)
            await shoe.taken()

    dealing = asyncio.create_task(deal())
    for number in range(8):
        tables = {TABLE: (shoe, f"rounds_after_cut = {number}")}
        write(world, tables | ({} if number % 2 else {OTHER: (other, "")}))
        await reload(daemon)
        await other.deal(ROUNDS[0])
    await dealing
    await logged(daemon, f"{TABLE}: table.rounds_after_cut: applied")
    await world.recorder.event("round.confirmed", number=24)
    assert {each["integrity"] for each in world.recorder.of("round.completed")} == {"complete"}
    assert len(world.recorder.of("device.online")) == 1
    await verified(world, daemon, TABLE, OTHER)


# ---------------------------------------------------------------------------------------------- devices


async def test_a_device_changes_between_rounds_or_while_it_is_offline(
    world: World, shoe: TcpShoe, other: TcpShoe
) -> None:
    """A connected shoe is not exchanged in a round. A shoe that is lost is exchanged at once."""
    daemon = await started(world, {TABLE: (shoe, "")})
    await shoe.repeat(ROUNDS[0].frames[:3])
    await world.recorder.event("card.drawn", number=3)
    write(world, {TABLE: (other, "")})
    await reload(daemon)
    assert f"{TABLE} waits for the end of round 1" in status_of(daemon)
    await shoe.cut()
    await other.connected()
    await world.recorder.event("device.online", number=2)
    await other.repeat(ROUNDS[0].frames[3:])
    await world.recorder.event("round.confirmed")
    write(world, {TABLE: (shoe, "")})
    await shoe.plug_in()
    await reload(daemon)
    await shoe.connected()
    await world.recorder.event("device.offline", reason="the configuration of the device was changed")
    await world.recorder.event("device.online", number=3)
    assert [each["shoe"]["port"] for each in settings(world)] == [shoe.port, other.port, shoe.port]
    await verified(world, daemon, TABLE)


async def test_two_tables_exchange_their_devices(world: World, shoe: TcpShoe, other: TcpShoe) -> None:
    """Both links are closed before one is opened. If one table is in a round, both wait."""
    daemon = await started(world, {TABLE: (shoe, ""), OTHER: (other, "")})
    await shoe.repeat(ROUNDS[0].frames[:3])
    await world.recorder.event("card.drawn", number=3)
    write(world, {TABLE: (other, ""), OTHER: (shoe, "")})
    await reload(daemon)
    assert f"{OTHER} waits until {TABLE} releases {shoe.port}" in status_of(daemon)
    await shoe.repeat(ROUNDS[0].frames[3:])
    for table in (TABLE, OTHER):
        await world.recorder.event("device.online", table, number=2)
    await other.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed", number=2)
    assert world.recorder.of("round.started", OTHER) == []
    await verified(world, daemon, TABLE, OTHER)


# ---------------------------------------------------------------------------------------------- the broker


async def test_a_replaced_broker_receives_every_later_event_once(world: World, shoe: TcpShoe) -> None:
    """The old broker has the farewell. The new broker has the events after the last acknowledged one."""
    async with running_broker(BrokerKind.MOSQUITTO) as second:
        recorder = Recorder(world.site)
        await recorder.listen(second)
        daemon = await started(world, {TABLE: (shoe, "")})
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        await world.all_published()
        write(world, {TABLE: (shoe, "")}, broker=second)
        await reload(daemon)
        offline = await world.recorder.status("offline")
        assert offline["reason"] == "the broker was replaced in the configuration"
        await recorder.status("online")
        await shoe.deal(ROUNDS[1])
        await recorder.event("round.confirmed")
        assert await daemon.stop() == 0
        await recorder.status("offline")
        received = [*world.recorder.events(), *recorder.events()]
        assert [int(event["sequence"]) for event in received] == [row.sequence for row in world.journal.events()]
        assert len(world.recorder.of("device.online")) == 1
        assert "mqtt.url: applied" in str(daemon)
        await recorder.leave()


async def test_a_broker_that_is_lost_can_be_replaced(world: World, shoe: TcpShoe) -> None:
    """The events that the lost broker did not acknowledge go to the new one."""
    async with running_broker(BrokerKind.MOSQUITTO) as lost:
        path = write(world, {TABLE: (shoe, "")}, broker=lost)
        daemon = await world.launch(path)
        await daemon.ready()
        await shoe.connected()
        lost.kill()
        await shoe.deal(ROUNDS[0])
        await daemon.looking(lambda: world.journal.count("round.confirmed"))
        write(world, {TABLE: (shoe, "")})
        await reload(daemon)
        await world.recorder.event("round.confirmed")
        assert await daemon.stop() == 0


# ---------------------------------------------------------------------------------------------- files and signals


async def test_a_wrong_file_changes_nothing(world: World, shoe: TcpShoe) -> None:
    """Each problem is logged with its line. A later correct file is applied; some keys need a restart."""
    daemon = await started(world, {TABLE: (shoe, "")})
    path = write(world, {TABLE: (shoe, "burn_card = 3\nrounding = 7")})
    await reload(daemon)
    await logged(daemon, f"ERROR shoed.reload: {path}:10: table.burn_card: ")
    await logged(daemon, f"ERROR shoed.reload: {path}:11: table.rounding: ")
    assert "reload: refused, 2 problems in the log" in status_of(daemon)
    path.unlink()
    await reload(daemon)
    await logged(daemon, "cannot be read: No such file or directory")
    write(world, {TABLE: (shoe, "")})
    await reload(daemon)
    await logged(daemon, "reloaded: no change")
    assert "reload:" not in status_of(daemon)
    path.write_text(path.read_text().replace(f'"{world.site}"', '"elsewhere"').replace('/state"', '/more"'))
    await reload(daemon)
    assert "reload: site.name, site.state_dir requires a restart" in status_of(daemon)
    await logged(daemon, "site.name: not applied; restart shoed between two rounds to apply it")
    await shoe.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed")
    assert len(settings(world)) == 1
    await verified(world, daemon, TABLE)


async def test_a_change_that_needs_a_restart_is_reported_until_the_restart(world: World, shoe: TcpShoe) -> None:
    """A second reload of the same file reports it again. The first value needs no restart."""
    daemon = await started(world, {TABLE: (shoe, "")}, '[metrics]\nlisten = "unix:a.sock"')
    write(world, {TABLE: (shoe, "")}, '[metrics]\nlisten = "unix:b.sock"')
    for _ in range(2):
        await reload(daemon)
        assert "reload: metrics.listen requires a restart" in status_of(daemon)
    write(world, {TABLE: (shoe, "")}, '[metrics]\nlisten = "unix:a.sock"')
    await reload(daemon)
    assert "requires a restart" not in status_of(daemon)


async def test_a_change_that_is_not_applied_is_shown(world: World, shoe: TcpShoe) -> None:
    """`shoed status` has it. `shoed doctor` warns of it, and tries the topics of the running site."""
    daemon = await started(world, {TABLE: (shoe, "")})
    path = write(world, {TABLE: (shoe, "")})
    path.write_text(path.read_text().replace(f'name = "{world.site}"', 'name = "elsewhere"', 1))
    examined = await shoed("doctor", "--config", path)
    assert f"the daemon runs with site.name {world.site}, and the configuration has elsewhere" in examined.out
    await reload(daemon)
    note = "reload: site.name requires a restart"
    assert f"note     {note}\n" in (await shoed("status", "--config", path)).out
    examined = await shoed("doctor", "--config", path)
    assert f"warning  daemon: {world.site}: {note}" in examined.out
    assert f"shoed/v1/{world.site}/{TABLE}/doctor: " in examined.out
    assert "shoed/v1/elsewhere" not in examined.out


async def test_a_reload_that_replaces_the_level_of_a_command_is_a_change(world: World, shoe: TcpShoe) -> None:
    """The log names the key. The next reload has no change."""
    daemon = await started(world, {TABLE: (shoe, "")})
    assert (await shoed("log", "warning", "--state-dir", world.state_dir)).status == 0
    await reload(daemon)
    assert "reloaded: no change" not in await logged(daemon, "log.level: applied")
    await reload(daemon)
    await logged(daemon, "reloaded: no change")


async def test_a_reload_during_the_start_and_two_at_once(world: World, shoe: TcpShoe, other: TcpShoe) -> None:
    """A request during the start is executed after it. Of several requests, the newest file counts."""
    daemon = await world.launch(write(world, {TABLE: (shoe, "")}))
    process_status = Path(f"/proc/{daemon.pid}/status")

    def blocks_hangup() -> bool:
        blocked = re.search("SigBlk:\t(.*)", process_status.read_text())
        return blocked is not None and bool(int(blocked[1], 16) & 1)

    await daemon.looking(blocks_hangup)
    daemon.process.send_signal(signal.SIGHUP)
    await daemon.until(lambda: daemon.notified.count("READY=1") == 2)
    daemon.process.send_signal(signal.SIGHUP)
    write(world, {TABLE: (shoe, "burn_cards = 2"), OTHER: (other, "")})
    daemon.process.send_signal(signal.SIGHUP)
    await world.recorder.event("device.online", OTHER)
    await daemon.looking(lambda: len(settings(world)) == 2)
    assert [each["house"]["burn_cards"] for each in settings(world)] == [None, 2]
    await verified(world, daemon, TABLE, OTHER)


async def test_the_log_level_changes_at_run_time(world: World, shoe: TcpShoe) -> None:
    """By the file, or by a command. Debug lines contain each input, observation and event."""
    daemon = await started(world, {TABLE: (shoe, "")})
    write(world, {TABLE: (shoe, "")}, '[log]\nlevel = "debug"')
    await reload(daemon)
    await shoe.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed")
    lines = await logged(daemon, ": round.confirmed {")
    assert "received: 05 31 44 81" in lines
    assert 'observation: {"saw":"CardSeen"' in lines
    command = await asyncio.create_subprocess_exec(
        *(SHOED, "log", "error", "--state-dir", str(world.state_dir)), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await command.communicate()
    assert (printed, command.returncode) == (b"the log level is error\n", 0)
    await shoe.deal(ROUNDS[1])
    await world.recorder.event("round.confirmed", number=2)
    assert await daemon.stop() == 0
    assert '{"shoe":1,"round":1,' in str(daemon)
    assert '{"shoe":1,"round":2,' not in str(daemon)
