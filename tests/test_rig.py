"""The virtual shoe as a process: over TCP, on a pty, at the pace of a line and at the pace of its reader."""

import asyncio
import os
import re
import signal
import socket
import sys
from argparse import ArgumentTypeError
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final

import pytest

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import (
    LOCK,
    UNLOCK,
    AngelEyeReport,
    AngelEyeResult,
    AngelEyeSettings,
    KeyLock,
    build,
    reports,
)
from firmware_protocols.family import Line
from shoed.cli.rig import listener
from shoed.errors import LinkLost
from shoed.model.moments import Chunk, Now
from shoed.ports.address import SerialAddress, TcpAddress, parse_address
from shoed.ports.clock import now
from shoed.ports.link import Link, open_link
from shoed.rig.dealer import deal
from shoed.rig.outlets import UNSENT_BYTES, TcpOutlet
from shoed.rig.virtual import Burst
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.wire import Frame, LineState, receive
from tests.patience import PATIENCE_S

LINE: Final = Line(4800)
SETTINGS: Final = AngelEyeSettings()
ACK: Final = b"\x06"


def dealt_bytes(seed: int, rounds: int, decks: int = 8) -> bytes:
    """Return all bytes of the shoe in this number of rounds."""
    role = AngelEyeShoe(SETTINGS)
    state, whole = role.begin(), b""
    for _, report in deal(Random(seed), decks):
        state, data = role.say(state, report)
        whole += data
        rounds -= isinstance(report, AngelEyeResult)
        if not rounds:
            return whole
    raise AssertionError


def heard(data: bytes) -> list[AngelEyeReport]:
    """Return its reports, every copy."""
    _, found = receive(reports(SETTINGS), LineState(), Chunk(data, Now(0, 0)))
    return [each.message for each in found if isinstance(each, Frame) and isinstance(each.message, AngelEyeReport)]


class Rig:
    def __init__(self, process: Process, line: str) -> None:
        self.process = process
        self.line = line
        found = re.search(r'port = "(.*)"', line)
        assert found, line
        self.port = found[1]
        self.address = parse_address(self.port)
        self.links: list[Link] = []

    async def connect(self) -> Link:
        """The connection closes with the rig at the latest."""
        async with asyncio.timeout(PATIENCE_S):
            self.links.append(await open_link(self.address, LINE))
        return self.links[-1]

    async def end(self) -> tuple[int, str]:
        """Return the status of the process and its remaining output."""
        async with asyncio.timeout(PATIENCE_S):
            rest, _ = await self.process.communicate()
            assert self.process.returncode is not None
            return self.process.returncode, rest.decode()


async def start(*arguments: str, device: str = "angel-eye") -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "shoed", "rig", device, *arguments, stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )


@asynccontextmanager
async def rig(*arguments: str, device: str = "angel-eye") -> AsyncIterator[Rig]:
    process = await start(*arguments, device=device)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        running = Rig(process, line)
        try:
            yield running
        finally:
            for link in running.links:
                await link.close()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def all_of(link: Link, silence_s: float = PATIENCE_S) -> bytes:
    """Read to the end of the line, or until no more bytes arrive."""
    data = b""
    with suppress(LinkLost, TimeoutError):
        while True:
            async with asyncio.timeout(silence_s):
                data += (await link.receive()).data
    return data


async def some_of(link: Link, least: int = 1) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < least:
            data += (await link.receive()).data
    return data


# --- the pace


def test_a_byte_has_ten_bits() -> None:
    """At 4800 baud one byte takes 2.08 ms, and the three copies of a card take 50 ms."""
    burst = Burst.on(LINE, 100.0)
    assert burst.end_s(1) == pytest.approx(100.00208333)
    assert burst.end_s(24) == pytest.approx(100.05)


def test_the_schedule_does_not_drift() -> None:
    """Each moment is computed from the start, so the bytes of a day end with the day."""
    burst = Burst.on(LINE, 5.0)
    assert burst.end_s(480 * 86400) == pytest.approx(86405.0, abs=1e-6)


def test_a_byte_is_sent_exactly_at_its_moment() -> None:
    """At the moment itself the byte is sent, just before it is not; a late waking sends all bytes that are due."""
    burst = Burst.on(LINE, 12345.678)
    for count in (1, 2, 3, 24, 1000, 123_456):
        assert burst.through(burst.end_s(count)) == count
        assert burst.through(burst.end_s(count) - 0.0001) == count - 1
        assert burst.through(burst.end_s(count) + 0.0001) == count


async def test_a_report_reaches_the_host_at_the_lines_own_pace() -> None:
    """At no moment has the host received more bytes than the line could have transmitted."""
    async with rig("--listen", "tcp://:0", "--seed", "1") as shoe:
        before, incoming = now(), 0
        link = await shoe.connect()
        while incoming < 24 * 2:  # the start of communication, and the first card
            chunk = await link.receive()
            incoming += len(chunk.data)
            assert incoming <= (chunk.at.mono_ns - before.mono_ns) / 1e9 / LINE.seconds_per_byte + 1


# --- TCP


async def test_the_output_names_the_port_and_the_configuration() -> None:
    """One line has the seed, to deal the same cards again, and the chosen port."""
    async with rig("--listen", "tcp://127.0.0.1:0", "--seed", "42") as shoe:
        assert isinstance(shoe.address, TcpAddress)
        port = f"tcp://127.0.0.1:{shoe.address.port}"
        assert shoe.line == f'Angel Eye II-EX, seed 42, at {port}; in [table.shoe] write: port = "{port}"\n'


async def test_rounds_are_dealt_and_then_the_line_is_closed() -> None:
    """Every byte follows from the seed; the status is 0."""
    async with rig("--listen", "tcp://:0", "--seed", "7", "--fast", "--rounds", "40", "--decks", "4") as shoe:
        assert await all_of(await shoe.connect()) == dealt_bytes(7, 40, 4)
        assert await shoe.end() == (0, "")


async def test_every_client_receives_the_bytes_after_its_connection() -> None:
    """The first client receives all bytes; later clients receive the same end."""
    async with rig("--listen", "tcp://:0", "--seed", "34", "--rounds", "1") as shoe:
        first = await shoe.connect()
        second = await shoe.connect()
        begun = await some_of(first)
        third = await shoe.connect()
        ends = await asyncio.gather(all_of(first), all_of(second), all_of(third))
        whole = begun + ends[0]
        assert whole == dealt_bytes(34, 1)
        for end in ends[1:]:
            assert whole.endswith(end)
            assert heard(end)


async def test_no_card_is_dealt_without_a_client() -> None:
    """The shoe waits: a second host continues where the first one stopped."""
    async with rig("--listen", "tcp://:0", "--seed", "9") as shoe:
        assert isinstance(shoe.address, TcpAddress)
        reader, writer = await asyncio.open_connection(shoe.address.host, shoe.address.port)
        async with asyncio.timeout(PATIENCE_S):
            begun = await reader.readexactly(30)
            writer.write_eof()
            begun += await reader.read()  # until the shoe has disconnected
        writer.close()
        link = await shoe.connect()
        went_on = await some_of(link, 30)
        whole = dealt_bytes(9, 1)
        assert whole.startswith(begun)
        assert len(begun) <= whole.index(went_on) <= len(begun) + 24  # the rest of one report may be lost


async def test_a_locked_shoe_deals_nothing_until_a_host_unlocks_it() -> None:
    """The order of any client reaches the shoe, and every client receives the answer and the effect."""
    async with rig("--listen", "tcp://:0", "--seed", "5") as shoe:
        one, other = await shoe.connect(), await shoe.connect()
        one.send(build(LOCK, SETTINGS))
        before = await until_locked(other, locked=True)
        assert ACK in before
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):  # longer than any pause of the dealer
                await other.receive()
        other.send(build(UNLOCK, SETTINGS))
        await until_locked(one, locked=False)
        assert await some_of(one, 24)  # the shoe continues


async def until_locked(link: Link, *, locked: bool) -> bytes:
    """Return all bytes up to the third copy of the report, and bytes that arrived with them."""
    data = b""
    ends = [build(KeyLock(sequence, locked), SETTINGS) * 3 for sequence in "123456789"]
    async with asyncio.timeout(PATIENCE_S):
        while not any(end in data for end in ends):
            data += (await link.receive()).data
    return data


async def test_a_wrong_order_is_refused() -> None:
    """A wrong BCC is answered with NAK 02, on the same line as the reports."""
    async with rig("--listen", "tcp://:0", "--fast", "--rounds", "2000") as shoe:
        link = await shoe.connect()
        link.send(build(LOCK, SETTINGS)[:-1] + b"0")
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while b"\x1502" not in data:
                data += (await link.receive()).data


async def test_a_client_that_reads_nothing_stops_a_fast_shoe_in_bounded_memory() -> None:
    """A fast shoe has the speed of its slowest reader; the unsent bytes are bounded."""
    async with rig("--listen", "tcp://:0", "--seed", "2", "--fast") as shoe:
        assert isinstance(shoe.address, TcpAddress)
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect((shoe.address.host, shoe.address.port))
            link = await shoe.connect()
            begun = await some_of(link)
            assert len(begun + await all_of(link, silence_s=0.5)) < 4 * UNSENT_BYTES


async def test_a_shoe_in_real_time_does_not_wait_for_a_client() -> None:
    """It disconnects a client that lags too far; the others receive everything in time."""
    orders = asyncio.Queue[bytes]()
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), orders.put_nowait, patient=False)
    await outlet.open()
    place = parse_address(outlet.at)
    assert isinstance(place, TcpAddress)
    piece, sent, eager = bytes(1024), 0, await open_link(place, LINE)
    with socket.create_connection((place.host, place.port)) as lazy:
        async with asyncio.timeout(PATIENCE_S):
            for send in (lazy.sendall, eager.send):
                send(b"here")
                await orders.get()
            while len(outlet.hosts) == 2:
                await outlet.give(piece)
                sent += len(piece)
                assert len(await some_of(eager, len(piece))) == len(piece)
        assert sent > UNSENT_BYTES
        lazy.settimeout(PATIENCE_S)
        with suppress(ConnectionResetError):
            while lazy.recv(65536):
                pass
    await eager.close()
    await outlet.close()
    assert not outlet.connected.is_set()


async def test_an_address_in_use_is_refused_with_the_remedy() -> None:
    """The status is 1, and the message has one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await start("--listen", f"tcp://127.0.0.1:{port}")
        out, _ = await process.communicate()
    expected = f"tcp://127.0.0.1:{port}: the address is in use; choose another port, or 0 for any free port\n"
    assert (process.returncode, out.decode()) == (1, expected)


async def test_a_host_name_that_cannot_be_resolved_is_refused_with_the_remedy() -> None:
    """The message has the address as it was typed."""
    process = await start("--listen", "tcp://no-such-host.invalid:0")
    out, _ = await process.communicate()
    assert process.returncode == 1
    assert out.startswith(b"tcp://no-such-host.invalid:0: the host name cannot be resolved: ")
    assert out.endswith(b"; write a numeric address of this machine\n")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("tcp://:0", "127.0.0.1", 0),
        ("tcp://:4001", "127.0.0.1", 4001),
        ("tcp://0.0.0.0:4001", "0.0.0.0", 4001),  # noqa: S104  # an explicit choice
        ("tcp://[::1]:0", "::1", 0),
    ],
)
def test_a_listener_is_an_address_with_an_optional_host(text: str, host: str, port: int) -> None:
    """The default is loopback."""
    assert listener(text) == TcpAddress(host, port)


@pytest.mark.parametrize(
    "wrong", ["4001", "serial:///dev/ttyS0", "tcp://:65536", "tcp://a b:1", "tcp://:1?keepalive_s=2"]
)
async def test_a_wrong_address_is_wrong_use(wrong: str) -> None:
    """The status is 2, with the usage, as for any other argument."""
    process = await start("--listen", wrong)
    out, _ = await process.communicate()
    assert process.returncode == 2
    assert out.startswith(b"usage: ")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("127.0.0.1:1", '"127.0.0.1:1" is not an address to listen on; write tcp://127.0.0.1:1'),
        (":1", '":1" is not an address to listen on; write tcp://:1'),
        ("4001", '"4001" is not an address to listen on; write tcp://:4001'),
        ("tcp://127.0.0.1", '"tcp://127.0.0.1" is not an address to listen on; write tcp://HOST:PORT, or tcp://:PORT'),
        ("serial:///dev/ttyS0", '"serial:///dev/ttyS0" is not an address to listen on; write tcp://HOST:PORT'),
        ("tcp://:1?keepalive_s=2", '"tcp://:1?keepalive_s=2" is not an address to listen on; write tcp://HOST:PORT'),
        ("[::1]:4001", '"[::1]:4001" is not an address to listen on; write tcp://[::1]:4001'),
        ("localhost:65536", '"localhost:65536" is not an address to listen on; write tcp://HOST:PORT, or tcp://:PORT'),
        ("tcp://:65536", "port 65536 does not exist; write a number from 0 to 65535"),
        ("tcp://a b:1", '"a b" is not a host; write a name or an address'),
        ("tcp://fd00::7:1", '"tcp://fd00::7:1" does not contain a host and a port; write tcp://HOST:PORT, brackets'),
    ],
)
def test_a_wrong_listener_is_quoted_as_it_is_typed(typed: str, message: str) -> None:
    """The remedy names only addresses that --listen accepts."""
    with pytest.raises(ArgumentTypeError) as refusal:
        listener(typed)
    assert str(refusal.value).startswith(message)
    assert "serial:///dev/NODE" not in str(refusal.value)


async def test_an_unknown_firmware_is_wrong_use() -> None:
    """The message names the known versions."""
    process = await start("--listen", "tcp://:0", "--firmware", "2")
    out, _ = await process.communicate()
    assert process.returncode == 2
    assert b'--firmware: "2" is not a valid value; write one of ii-ex\n' in out


# --- scenarios


async def test_a_scenario_is_played_once_and_the_line_is_closed(tmp_path: Path) -> None:
    """Every byte is as written; the status is 0."""
    file = tmp_path / "locked.toml"
    file.write_text("[[step]]\nlock = true\n[[step]]\nunlock = true\n")
    async with rig("--listen", "tcp://:0", "--scenario", str(file), "--fast") as shoe:
        assert shoe.line.startswith(f"Angel Eye II-EX, {file}, at tcp://")
        assert (
            heard(await all_of(await shoe.connect()))
            == [KeyLock("1", locked=True)] * 3 + [KeyLock("2", locked=False)] * 3
        )
        assert await shoe.end() == (0, "")


async def test_a_wrong_scenario_is_refused_before_the_line_exists(tmp_path: Path) -> None:
    """The message has FILE:LINE, and the status is 1."""
    file = tmp_path / "wrong.toml"
    file.write_text("[[step]]\nlock = 1\n")
    process = await start("--listen", "tcp://:0", "--scenario", str(file))
    out, _ = await process.communicate()
    expected = f"{file}:2: step.lock: 1 is not true; write true, or remove the key\n"
    assert (process.returncode, out.decode()) == (1, expected)


async def test_options_of_the_dealer_beside_a_scenario_are_wrong_use(tmp_path: Path) -> None:
    """A scenario has its own cards and its own end."""
    process = await start("--listen", "tcp://:0", "--scenario", str(tmp_path / "any.toml"), "--rounds", "3")
    out, _ = await process.communicate()
    expected = "--seed and --rounds have no effect with --scenario; remove them\n"
    assert (process.returncode, out.decode()) == (2, expected)


# --- a pty


async def test_a_pty_is_served_like_a_serial_line(tmp_path: Path) -> None:
    """Every byte of the rounds arrives through the symlink; then the shoe disconnects and removes it."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "7", "--fast", "--rounds", "40") as shoe:
        assert shoe.address == SerialAddress(str(path))
        assert path.is_symlink()
        assert await all_of(await shoe.connect()) == dealt_bytes(7, 40)
        assert await shoe.end() == (0, "")
    assert not path.is_symlink()


async def test_a_slow_reader_of_a_pty_loses_nothing(tmp_path: Path) -> None:
    """While the host does not read, the shoe waits, and no byte is dropped."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "8", "--fast", "--rounds", "300") as shoe:
        node, data = os.open(path, os.O_RDONLY | os.O_NOCTTY), b""
        try:
            while piece := await asyncio.to_thread(os.read, node, 1000):
                data += piece
                await asyncio.sleep(0)
        except OSError:  # EIO: the shoe has disconnected
            pass
        finally:
            os.close(node)
        assert data == dealt_bytes(8, 300)
        assert (await shoe.end())[0] == 0


async def test_a_pty_waits_for_a_reader_and_serves_the_next_one(tmp_path: Path) -> None:
    """Closing does not end the shoe: the next reader receives the following cards, and orders are answered."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "1") as shoe:
        first = await shoe.connect()
        assert dealt_bytes(1, 1).startswith(await some_of(first, 30))
        await first.close()
        second = await shoe.connect()
        second.send(build(LOCK, SETTINGS))
        assert ACK in await until_locked(second, locked=True)


async def test_a_pty_overwrites_nothing(tmp_path: Path) -> None:
    """A file, or a link to anything but a pty, is not replaced; the link of a killed shoe is replaced."""
    file, link, stale = tmp_path / "file", tmp_path / "link", tmp_path / "stale"
    file.write_text("precious")
    link.symlink_to(file)
    stale.symlink_to("/dev/pts/999999")
    for path in (file, link):
        process = await start("--pty", str(path))
        out, _ = await process.communicate()
        expected = f"{path}: this path exists already; remove it, or choose another path\n"
        assert (process.returncode, out.decode()) == (1, expected)
    assert file.read_text() == "precious"
    async with rig("--pty", str(stale)):
        assert stale.resolve() != Path("/dev/pts/999999")


async def test_a_pty_in_a_missing_directory_is_refused(tmp_path: Path) -> None:
    """The error names the path and the remedy."""
    process = await start("--pty", str(tmp_path / "absent" / "shoe"))
    out, _ = await process.communicate()
    assert process.returncode == 1
    assert out.decode().endswith("choose a path in a writable directory\n")


# --- the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("connected", [False, True])
async def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals, connected: bool) -> None:  # noqa: FBT001
    """There is no traceback, the status is 0, and no link remains, with and without a host; a host receives the end."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path)) as shoe:
        link = await shoe.connect() if connected else None
        if link:
            await some_of(link)
        shoe.process.send_signal(number)
        if link:
            await all_of(link)
        assert await shoe.end() == (0, "")
    assert not path.is_symlink()


async def test_a_random_seed_is_printed() -> None:
    """The same cards can be dealt again."""
    async with rig("--listen", "tcp://:0", "--fast", "--rounds", "2") as shoe:
        found = re.search(r"seed (\d+)", shoe.line)
        assert found
        assert await all_of(await shoe.connect()) == dealt_bytes(int(found[1]), 2)


async def test_a_family_without_a_declared_line_names_a_speed_for_its_pty(tmp_path: Path) -> None:
    """The printed port can be opened for that family."""
    file = tmp_path / "one.toml"
    file.write_text('[[step]]\ndeal = ["8S"]\n')
    async with rig("--pty", str(tmp_path / "scanner"), "--scenario", str(file), device="scanner") as scanner:
        assert isinstance(scanner.address, SerialAddress)
        assert scanner.address.line(FAMILIES["scanner"].line).baud == 9600
