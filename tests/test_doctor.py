"""`shoed doctor` on a real installation: a daemon, brokers with access lists and TLS, lines, journals and key files."""

import asyncio
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from shoed.bus.settings import MqttVersion
from shoed.cli import main
from shoed.journal import Store, hold
from shoed.journal.keys import daemon_key
from shoed.journal.schema import SCHEMAS
from shoed.model.observations import Device
from shoed.rig.broker import Broker, BrokerKind, running_broker
from shoed.service.command_socket import listening
from shoed.service.doctor.catalogue import CHECKS, CheckName, CheckResult, Level
from shoed.service.doctor.devices import link
from shoed.service.doctor.examine import Report, examine
from shoed.service.status import DeviceHealth
from shoed.table.state import LinkStatus
from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, PtyShoe, TcpShoe
from tests.test_bus_tls import make_certificates
from tests.test_ports_speeds import CARD, LINE, sending
from tests.world import World

TRIAL_S: Final = 0.3
UNREACHABLE: Final = "mqtt://127.0.0.1:1"
QUESTIONABLE: Final = (Level.WARNING, Level.PROBLEM)


def configure(
    folder: Path, port: str = "tcp://127.0.0.1:1", *, mqtt: str = f'url = "{UNREACHABLE}"', shoe: str = ""
) -> Path:
    file = folder / "c.toml"
    protocol = "" if "protocol" in shoe else 'protocol = "angel-eye"'
    file.write_text(f"""
        [site]
        name = "rws"
        state_dir = "state"
        [mqtt]
        {mqtt}
        [[table]]
        name = "bac-901"
        game = "commission"
        [table.shoe]
        {protocol}
        port = "{port}"
        {shoe}
    """)
    return file


async def examined(file: Path) -> dict[CheckName, list[CheckResult]]:
    """The results of each check. A problem has a remedy, and a skipped check has a reason."""
    report = await examine(str(file), None, TRIAL_S)
    for each in report.results:
        assert each.text
        assert (each.level in QUESTIONABLE) <= bool(each.remedy), each
    return {name: [each for each in report.results if each.check is name] for name in CheckName}


async def found(file: Path, check: CheckName) -> CheckResult:
    """The only result of a check."""
    (result,) = (await examined(file))[check]
    return result


# ---------------------------------------------------------------------------------------------- the command


async def test_a_running_daemon_is_examined_and_its_sessions_continue(world: World) -> None:
    """The daemon answers for its ports; the message of doctor is published once, and not retained."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.deal(*ROUNDS[:2])
        await world.settled(shoe)
        done = await shoed("doctor", "--json", "--config", world.place / "c.toml")
        report = msgspec.json.decode(done.out, type=Report)
        found = {name: [each for each in report.results if each.check is name] for name in CheckName}
        assert [each for each in report.results if each.level is Level.PROBLEM] == []
        assert (done.status, done.err) == (0, "")
        assert found[CheckName.DAEMON][0].text.startswith(f"process {world.daemons[0].pid}, ")
        assert [each.level for each in found[CheckName.PORT]] == [Level.OK]
        assert "are messages of angel-eye" in found[CheckName.PORT_BYTES][0].text
        assert {each.where for each in found[CheckName.BROKER]} == {
            "bac-901",
            f"mqtt://{world.broker.host}:{world.broker.port}",
        }
        assert all(found[name] for name in CHECKS)
        await world.settled(shoe)  # the line and the publisher work
        (probe,) = world.recorder.on("bac-901/doctor")
        assert not probe.retain
        assert [each["status"] for each in world.recorder.statuses()] == ["online"]


async def test_an_offline_device_and_an_absent_broker_are_problems_with_the_reasons_of_the_daemon(world: World) -> None:
    """The exit status is 1; the text of each result is followed by its remedy."""
    async with TcpShoe() as shoe:
        await shoe.cut()
        daemon = await world.start(shoe, port=1)
        await daemon.looking(lambda: "bac-901: mqtt" in str(daemon) or "cannot be reached" in str(daemon))
        done = await shoed("doctor", "--config", world.place / "c.toml")
    assert done.status == 1
    lines = done.out.splitlines()
    port = next(number for number, line in enumerate(lines) if line.startswith("problem  port: bac-901 shoe: "))
    assert lines[port + 1].strip().startswith("remedy: ")
    assert any(line.startswith("problem  broker: bac-901: the daemon is not connected to mqtt://") for line in lines)
    assert lines[-1].startswith("shoed ")


async def test_warnings_are_not_a_failure(tmp_path: Path) -> None:
    """Without a daemon and a journal there are warnings only."""
    done = await shoed("doctor", "--state-dir", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert "warning  daemon: " in done.out


@pytest.mark.parametrize("words", ["--listen 0", "--listen x", "--config a --state-dir b", "surplus"])
def test_wrong_use_is_status_2(words: str) -> None:
    """Nothing is examined."""
    assert main(["doctor", *words.split()]) == 2


def test_an_absent_configuration_is_named_without_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file has no line."""
    assert main(["doctor", "--config", str(tmp_path / "absent.toml")]) == 1
    assert f"configuration: {tmp_path / 'absent.toml'}: file: cannot be read" in capsys.readouterr().out


async def test_each_error_of_the_configuration_is_a_result(tmp_path: Path) -> None:
    """The other checks are skipped with the reason; the clock is examined."""
    file = configure(tmp_path, shoe='protocl = "x"\nmin_draw_gap_ms = -1')
    by_check = await examined(file)
    places = [each.where for each in by_check[CheckName.CONFIGURATION]]
    assert len(places) == 2
    assert all(place.startswith(f"{file}:1") for place in places)
    assert by_check[CheckName.BROKER][0].level is Level.SKIPPED
    assert "configuration" in by_check[CheckName.BROKER][0].text
    assert by_check[CheckName.CLOCK][0].level is not Level.SKIPPED


async def test_a_daemon_that_does_not_answer_is_a_problem_and_its_ports_stay_closed(tmp_path: Path) -> None:
    """It may use the ports, so doctor does not open them."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    file = configure(tmp_path)
    with hold(tmp_path / "state"), listening(tmp_path / "state") as server:
        async with await asyncio.start_unix_server(hang_up, sock=server):
            report = await asyncio.to_thread(lambda: asyncio.run(examine(str(file), None, TRIAL_S)))
    levels = {each.check: each.level for each in report.results}
    assert levels[CheckName.DAEMON] is Level.PROBLEM
    assert levels[CheckName.PORT] is Level.SKIPPED
    assert levels[CheckName.PORT_BYTES] is Level.SKIPPED


# ---------------------------------------------------------------------------------------------- lines


async def test_without_a_daemon_the_line_is_read_at_the_usual_speeds(tmp_path: Path) -> None:
    """The result has the address and the protocol to write."""
    with sending(19200, LINE) as node:
        result = await found(configure(tmp_path, f"serial://{node}"), CheckName.PORT_BYTES)
    assert result.level is Level.PROBLEM
    assert "at 4800 8N1: " in result.text
    assert "as at a wrong speed or parity" in result.text
    assert result.remedy == (
        f'write port = "serial://{node}?baud=19200&bytesize=8&parity=N&stopbits=1" and protocol = "bee-tek"'
    )


@pytest.mark.parametrize(
    ("data", "level", "words"),
    [
        (CARD, Level.OK, "are messages of angel-eye"),
        (LINE, Level.PROBLEM, 'write protocol = "bee-tek"'),
        (b"OK\r\n", Level.PROBLEM, "connect the right device"),
        (b"", Level.WARNING, "draw a card while doctor listens"),
    ],
)
async def test_the_bytes_of_the_line_are_described(tmp_path: Path, data: bytes, level: Level, words: str) -> None:
    """Messages of the configured family, of another family, text of another device, and silence."""
    with sending(4800, data) as node:
        result = await found(configure(tmp_path, f"serial://{node}"), CheckName.PORT_BYTES)
    assert result.level is level
    assert words in f"{result.text} {result.remedy}"


async def test_another_program_on_the_port_is_named_with_its_process(tmp_path: Path) -> None:
    """It has the lock of the line, so the port cannot be opened either."""
    async with PtyShoe(tmp_path / "tty") as shoe:
        node = os.open(tmp_path / "tty", os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(node, fcntl.LOCK_EX)  # as pyserial locks a line
        thief = await asyncio.create_subprocess_exec("sleep", "60", stdin=node)
        os.close(node)
        try:
            by_check = await examined(configure(tmp_path, shoe.port))
        finally:
            thief.kill()
            await thief.wait()
    assert "another program uses the line" in by_check[CheckName.PORT][0].text
    (result,) = by_check[CheckName.PORT_HOLDER]
    assert result.level is Level.PROBLEM
    assert f"sleep (process {thief.pid})" in result.text
    assert result.remedy == f"stop it: kill {thief.pid}"


async def test_the_daemon_is_not_another_program(world: World) -> None:
    """It has the port open, and doctor does not open the port."""
    async with PtyShoe(world.place / "tty") as shoe:
        await world.serve(shoe)
        by_check = await examined(world.place / "c.toml")
        assert by_check[CheckName.PORT_HOLDER][0].level is Level.OK
        assert by_check[CheckName.PORT][0].level is Level.OK
        assert by_check[CheckName.PORT_NAME][0].level is Level.OK


# ---------------------------------------------------------------------------------------------- the broker


def mqtt(broker: Broker, version: str, *more: str, scheme: str = "mqtt") -> str:
    return "\n".join((f'url = "{scheme}://{broker.host}:{broker.port}"', f'version = "{version}"', *more))


@pytest.mark.parametrize("version", ["5", "3.1.1"])
@pytest.mark.parametrize(("allowed", "level"), [("shoed/v1/rws/#", Level.OK), ("shoed/v1/other/#", Level.PROBLEM)])
async def test_the_access_list_of_the_broker_is_tried(
    tmp_path: Path, version: MqttVersion, allowed: str, level: Level
) -> None:
    """Under MQTT 3.1.1 the broker acknowledges the denied message: only the missing echo proves the denial."""
    acl = tmp_path / "acl"
    acl.write_text(f"topic readwrite {allowed}\n")
    async with running_broker(BrokerKind.MOSQUITTO, lines=[f"acl_file {acl}"]) as broker:
        by_check = await examined(configure(tmp_path, mqtt=mqtt(broker, version)))
    assert [each.level for each in by_check[CheckName.BROKER]] == [Level.OK]
    (access,) = by_check[CheckName.BROKER_ACCESS]
    assert (access.level, access.where) == (level, "shoed/v1/rws/bac-901/doctor")
    if level is Level.PROBLEM:
        assert "access list" in access.remedy


def test_a_port_that_the_daemon_has_not_opened_yet_has_a_remedy() -> None:
    """The daemon has just started, and has no reason yet."""
    new = DeviceHealth(
        *(LinkStatus.OFFLINE, None, None, None),
        locked=False,
        device=Device.SHOE,
        protocol="",
        firmware="",
        port="tcp://a:1",
    )
    result = link("bac-901 shoe", new)
    assert (result.level, result.text) == (Level.PROBLEM, "tcp://a:1: the daemon has not opened the port yet")
    assert "run doctor again" in result.remedy


async def test_a_denial_of_the_topic_of_doctor_alone_is_a_warning(tmp_path: Path) -> None:
    """The access list names each topic of the table, and the daemon publishes."""
    acl = tmp_path / "acl"
    rules = (f"topic readwrite shoed/v1/+/+/{each}" for each in ("status", "state", "question", "event/#"))
    acl.write_text("\n".join((*rules, "")))
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=[f"acl_file {acl}"]) as broker,
        World(tmp_path, broker) as world,
        TcpShoe() as shoe,
    ):
        await world.serve(shoe)
        by_check = await examined(world.place / "c.toml")
    assert {each.level for each in by_check[CheckName.BROKER]} == {Level.OK}
    assert [each.level for each in by_check[CheckName.BROKER_ACCESS]] == [Level.WARNING]


async def test_a_broker_that_refuses_the_user_is_a_problem(tmp_path: Path) -> None:
    """The remedy names the keys of the configuration. The access is not examined."""
    async with running_broker(BrokerKind.MOSQUITTO, lines=["allow_anonymous false"]) as broker:
        by_check = await examined(configure(tmp_path, mqtt=mqtt(broker, "5")))
    (result,) = by_check[CheckName.BROKER]
    assert result.level is Level.PROBLEM
    assert "user and password_file" in result.remedy
    assert by_check[CheckName.BROKER_ACCESS][0].level is Level.SKIPPED


async def test_tls_on_a_plain_port_and_plain_on_a_tls_port_are_named(tmp_path: Path, broker: Broker) -> None:
    """Each remedy has the url to write."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl program, which makes the certificates, is missing")
    result = await found(configure(tmp_path, mqtt=mqtt(broker, "5", scheme="mqtts")), CheckName.BROKER)
    assert result.level is Level.PROBLEM
    assert f"the broker at {broker.host}:{broker.port} does not speak TLS" in result.text
    assert f"mqtt://{broker.host}:{broker.port}" in result.remedy
    make_certificates(tmp_path)
    lines = [f"cafile {tmp_path}/ca", f"certfile {tmp_path}/broker.pem", f"keyfile {tmp_path}/broker.key"]
    async with running_broker(BrokerKind.MOSQUITTO, lines=lines) as encrypted:
        result = await found(configure(tmp_path, mqtt=mqtt(encrypted, "5")), CheckName.BROKER)
        assert f"the broker at {encrypted.host}:{encrypted.port} speaks TLS" in result.text
        assert f"mqtts://{encrypted.host}:{encrypted.port}" in result.remedy


# ---------------------------------------------------------------------------------------------- files


async def test_files_with_secrets_that_others_can_read_are_reported(tmp_path: Path) -> None:
    """The daemon accepts such a password file, and refuses such a key of a device."""
    for name, text in (("password", "swordfish"), ("device.key", "00" * 16)):
        (tmp_path / name).write_text(text)
    file = configure(
        tmp_path,
        mqtt=f'url = "{UNREACHABLE}"\nuser = "a"\npassword_file = "password"',
        shoe='protocol = "open-shoe"\nkey_file = "device.key"',
    )
    for mode, levels in ((0o644, [Level.WARNING, Level.PROBLEM]), (0o400, [Level.OK, Level.OK])):
        for name in ("password", "device.key"):
            (tmp_path / name).chmod(mode)
        by_check = await examined(file)
        assert [each.level for each in by_check[CheckName.SECRET_FILES]] == levels
        assert "swordfish" not in str(by_check)
    (skipped,) = (await examined(file))[CheckName.PORT_BYTES]
    assert "only the daemon can read its line" in skipped.text


@pytest.mark.parametrize("section", ["", '[journal]\nkey_file = "state/journal.key"\n'])
async def test_the_key_of_the_journal_is_examined(tmp_path: Path, section: str) -> None:
    """The key in the state directory, and a key that the configuration names. Before the first start there is none."""
    (tmp_path / "state").mkdir(mode=0o700)
    file = configure(tmp_path)
    if not section:
        assert {each.level for each in (await examined(file))[CheckName.SECRET_FILES]} == {Level.SKIPPED}
    daemon_key(tmp_path / "state", None)
    file.write_text(file.read_text() + section)
    own = tmp_path / "state" / "journal.key"
    good = await found(file, CheckName.SECRET_FILES)
    assert (good.level, good.where, good.text) == (Level.OK, str(own), "mode 0600")
    own.chmod(0o644)
    bad = await found(file, CheckName.SECRET_FILES)
    assert (bad.level, "has the mode 0644" in bad.text) == (Level.PROBLEM, True)


async def test_a_state_directory_that_others_can_enter_is_a_warning(tmp_path: Path) -> None:
    """A directory that does not exist yet is a warning; a file in its place is a problem."""
    file = configure(tmp_path)
    assert (await found(file, CheckName.STATE_DIRECTORY)).level is Level.WARNING
    (tmp_path / "state").mkdir(mode=0o755)
    result = await found(file, CheckName.STATE_DIRECTORY)
    assert (result.level, result.remedy) == (Level.WARNING, f"run: chmod 0700 {tmp_path / 'state'}")
    (tmp_path / "state").chmod(0o700)
    assert (await found(file, CheckName.STATE_DIRECTORY)).level is Level.OK
    (tmp_path / "state").rmdir()
    (tmp_path / "state").touch()
    assert (await found(file, CheckName.STATE_DIRECTORY)).level is Level.PROBLEM


async def test_a_file_of_another_user_in_the_state_directory_is_a_problem(tmp_path: Path) -> None:
    """A program that root ran made it; the daemon cannot write it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    file = configure(tmp_path)
    with hold(tmp_path / "state"):
        Store(tmp_path / "state")
    os.chown(tmp_path / "state", 65534, 65534)
    result = await found(file, CheckName.STATE_DIRECTORY)
    assert result.level is Level.PROBLEM
    assert "journal.db" in result.text


@pytest.mark.parametrize(
    ("statement", "check", "words"),
    [
        (f"PRAGMA user_version = {len(SCHEMAS) + 1}", CheckName.JOURNAL_VERSION, "install the newer shoed"),
        (
            "INSERT INTO checkpoint VALUES ('t', 1, 9999, 0, 0, '', '{}')",
            CheckName.JOURNAL_VERSION,
            "install the newer shoed",
        ),
        ("PRAGMA application_id = 7", CheckName.JOURNAL_VERSION, "set another site.state_dir"),
    ],
)
async def test_a_journal_of_a_newer_shoed_is_a_problem(
    tmp_path: Path, statement: str, check: CheckName, words: str
) -> None:
    """Its schema or its engine is newer than this program; or the file is of another program."""
    file = configure(tmp_path)
    with hold(tmp_path / "state"):
        Store(tmp_path / "state")
    by_check = await examined(file)
    assert {by_check[name][0].level for name in (CheckName.JOURNAL, CheckName.JOURNAL_VERSION)} == {Level.OK}
    with closing(sqlite3.connect(tmp_path / "state/journal.db", isolation_level=None)) as connection:
        connection.execute(statement)
    result = await found(file, check)
    assert result.level is Level.PROBLEM
    assert words in result.remedy


async def test_a_journal_that_was_deleted_is_a_problem(tmp_path: Path) -> None:
    """The file of the signed heads shows that there was one. Before the first start, there is none."""
    file = configure(tmp_path)
    assert (await found(file, CheckName.JOURNAL)).level is Level.SKIPPED
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state/heads.jsonl").write_text("{}\n")
    result = await found(file, CheckName.JOURNAL)
    assert result.level is Level.PROBLEM
    assert result.remedy.startswith("move it back")


async def test_a_damaged_journal_is_a_problem(tmp_path: Path) -> None:
    """The remedy keeps the file as evidence."""
    file = configure(tmp_path)
    with hold(tmp_path / "state"):
        Store(tmp_path / "state")
    journal = tmp_path / "state/journal.db"
    data = bytearray(journal.read_bytes())
    data[8192:12288] = bytes(4096)
    journal.write_bytes(data)
    result = await found(file, CheckName.JOURNAL)
    assert result.level is Level.PROBLEM
    assert "evidence" in result.remedy


@pytest.mark.parametrize(
    ("stated", "configured", "level"),
    [("3", "3", Level.OK), ("3", "1", Level.WARNING), ("9", "1", Level.PROBLEM), (None, "1", Level.SKIPPED)],
)
async def test_the_version_that_a_device_stated_is_compared(
    tmp_path: Path, stated: str | None, configured: str, level: Level
) -> None:
    """The daemon recorded the version. A version that this shoed does not know is a problem."""
    file = configure(tmp_path, shoe=f'protocol = "open-shoe"\nfirmware = "{configured}"')
    with hold(tmp_path / "state"):
        Store(tmp_path / "state")
    identity: Mapping[str, str | None] = {
        "vendor": "V",
        "model": "M",
        "serial": "",
        "firmware": "1.4",
        "protocol": stated,
    }
    with closing(sqlite3.connect(tmp_path / "state/journal.db", isolation_level=None)) as connection:
        if stated is not None:
            event = ("bac-901", 1, 1, "device.identified", 0, msgspec.json.encode(identity).decode())
            connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", event)
    result = await found(file, CheckName.FIRMWARE)
    assert result.level is level
    if stated is not None:
        assert f"V M 1.4 states version {stated}" in result.text
