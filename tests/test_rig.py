"""The virtual shoe as a process: over TCP, on a pty, at a line's pace and as fast as it is read."""

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
from firmware_protocols.angel_eye import LOCK, UNLOCK, AngelEyeSettings, KeyLock, Report, Result, build, reports
from firmware_protocols.family import Line
from shoed.errors import LinkLost
from shoed.now import Chunk, Now
from shoed.ports.address import SerialAddress, TcpAddress, parse_address
from shoed.ports.link import Link, open_link
from shoed.rig.command import listener
from shoed.rig.dealer import deal
from shoed.rig.outlets import UNSENT_BYTES, TcpOutlet
from shoed.rig.virtual import Burst
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.wire import Frame, LineState, receive

PATIENCE_S: Final = 20.0
LINE: Final = Line(4800)
SETTINGS: Final = AngelEyeSettings()
ACK: Final = b"\x06"


def said(seed: int, rounds: int, decks: int = 8) -> bytes:
    """All that the shoe says of so many rounds."""
    role = AngelEyeShoe(SETTINGS)
    state, whole = role.begin(), b""
    for _, report in deal(Random(seed), decks):
        state, data = role.say(state, report)
        whole += data
        rounds -= isinstance(report, Result)
        if not rounds:
            return whole
    raise AssertionError


def heard(data: bytes) -> list[Report]:
    """The reports in it, every copy."""
    _, found = receive(reports(SETTINGS), LineState(), Chunk(data, Now(0, 0)))
    return [each.message for each in found if isinstance(each, Frame) and isinstance(each.message, Report)]


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
        """Closed with the rig at the latest."""
        async with asyncio.timeout(PATIENCE_S):
            self.links.append(await open_link(self.address, LINE))
        return self.links[-1]

    async def end(self) -> tuple[int, str]:
        """Its status, and what it still said."""
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
    """To the end of the line, or until it says nothing any more."""
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


def test_a_byte_takes_ten_bits() -> None:
    """At 4800 baud one byte is through after 2.08 ms, a card's three copies after 50 ms."""
    burst = Burst.on(LINE, 100.0)
    assert burst.end_s(1) == pytest.approx(100.00208333)
    assert burst.end_s(24) == pytest.approx(100.05)


def test_the_schedule_does_not_drift() -> None:
    """A day's bytes end when the day does: each moment is reckoned from the start."""
    burst = Burst.on(LINE, 5.0)
    assert burst.end_s(480 * 86400) == pytest.approx(86405.0, abs=1e-6)


def test_exactly_those_bytes_are_through_whose_moment_has_come() -> None:
    """At the moment itself the byte is out, just before it is not; a late waking finds all that are due."""
    burst = Burst.on(LINE, 12345.678)
    for count in (1, 2, 3, 24, 1000, 123_456):
        assert burst.through(burst.end_s(count)) == count
        assert burst.through(burst.end_s(count) - 0.0001) == count - 1
        assert burst.through(burst.end_s(count) + 0.0001) == count


async def test_a_report_reaches_the_host_at_the_lines_own_pace() -> None:
    """What has come by a moment is never more than the line could have carried by then."""
    async with rig("--listen", "tcp://:0", "--seed", "1") as shoe:
        link = await shoe.connect()
        first = (await link.receive()).at.mono_ns
        came = 1
        while came < 24 * 2:  # the start of communication, and the first card
            chunk = await link.receive()
            came += len(chunk.data)
            assert came - 1 <= (chunk.at.mono_ns - first) / 1e9 / LINE.seconds_per_byte + 2


# --- TCP


async def test_the_line_says_where_and_what_to_configure() -> None:
    """One line: the seed, to deal the same again, and the port that was free."""
    async with rig("--listen", "tcp://127.0.0.1:0", "--seed", "42") as shoe:
        assert isinstance(shoe.address, TcpAddress)
        port = f"tcp://127.0.0.1:{shoe.address.port}"
        assert shoe.line == f'Angel Eye II-EX, seed 42, at {port}; in [table.shoe] write: port = "{port}"\n'


async def test_rounds_are_dealt_and_then_the_line_is_closed() -> None:
    """Byte for byte what the seed says; status 0."""
    async with rig("--listen", "tcp://:0", "--seed", "7", "--fast", "--rounds", "40", "--decks", "4") as shoe:
        assert await all_of(await shoe.connect()) == said(7, 40, 4)
        assert await shoe.end() == (0, "")


async def test_every_client_hears_what_is_sent_after_it_connected() -> None:
    """Two from the beginning hear the same; one that comes later hears the same end."""
    async with rig("--listen", "tcp://:0", "--seed", "34", "--rounds", "1") as shoe:
        first = await shoe.connect()
        second = await shoe.connect()
        begun = await some_of(first)
        third = await shoe.connect()
        ends = await asyncio.gather(all_of(first), all_of(second), all_of(third))
        whole = begun + ends[0]
        assert whole == ends[1] == said(34, 1)
        assert whole.endswith(ends[2])
        assert heard(ends[2])


async def test_nothing_is_dealt_before_somebody_listens_or_after_the_last_has_left() -> None:
    """The shoe waits: a second host goes on where the first one stopped."""
    async with rig("--listen", "tcp://:0", "--seed", "9") as shoe:
        link = await shoe.connect()
        begun = await some_of(link, 30)
        await link.close()
        link = await shoe.connect()
        went_on = await some_of(link, 30)
        whole = said(9, 1)
        assert whole.startswith(begun)
        assert len(begun) <= whole.index(went_on) <= len(begun) + 24  # of one report the rest may be gone


async def test_a_host_locks_the_shoe_and_nothing_is_dealt_until_it_unlocks() -> None:
    """The order of any client reaches the shoe, and every client hears the answer and what it effected."""
    async with rig("--listen", "tcp://:0", "--seed", "5") as shoe:
        one, other = await shoe.connect(), await shoe.connect()
        one.send(build(LOCK, SETTINGS))
        before = await until_locked(other, locked=True)
        assert ACK in before
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):  # longer than any pause of the dealer's
                await other.receive()
        other.send(build(UNLOCK, SETTINGS))
        await until_locked(one, locked=False)
        assert await some_of(one, 24)  # goes on


async def until_locked(link: Link, *, locked: bool) -> bytes:
    """All up to the third copy of the report."""
    data = b""
    ends = [build(KeyLock(sequence, locked), SETTINGS) * 3 for sequence in "123456789"]
    async with asyncio.timeout(PATIENCE_S):
        while not data.endswith(tuple(ends)):
            data += (await link.receive()).data
    return data


async def test_an_order_that_is_none_is_refused() -> None:
    """A wrong BCC is answered NAK 02, on the same line as the reports."""
    async with rig("--listen", "tcp://:0", "--fast", "--rounds", "2000") as shoe:
        link = await shoe.connect()
        link.send(build(LOCK, SETTINGS)[:-1] + b"0")
        data = b""
        async with asyncio.timeout(PATIENCE_S):
            while b"\x1502" not in data:
                data += (await link.receive()).data


async def test_a_client_that_reads_nothing_stops_a_fast_shoe_and_no_memory_grows() -> None:
    """A fast shoe is as fast as its slowest reader; what waits for that one is bounded."""
    async with rig("--listen", "tcp://:0", "--seed", "2", "--fast") as shoe:
        assert isinstance(shoe.address, TcpAddress)
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect((shoe.address.host, shoe.address.port))
            assert 0 < len(await all_of(await shoe.connect(), silence_s=0.5)) < 4 * UNSENT_BYTES


async def test_a_shoe_in_real_time_waits_for_nobody() -> None:
    """It hangs up on a client that lags too far behind; the others hear everything, at once."""
    orders = asyncio.Queue[bytes]()
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), orders.put_nowait, patient=False)
    await outlet.open()
    place = parse_address(outlet.at)
    assert isinstance(place, TcpAddress)
    piece, given, eager = bytes(1024), 0, await open_link(place, LINE)
    with socket.create_connection((place.host, place.port)) as lazy:
        async with asyncio.timeout(PATIENCE_S):
            for send in (lazy.sendall, eager.send):
                send(b"here")
                await orders.get()
            while len(outlet.hosts) == 2:
                await outlet.give(piece)
                given += len(piece)
                assert len(await some_of(eager, len(piece))) == len(piece)
        assert given > UNSENT_BYTES
        lazy.settimeout(PATIENCE_S)
        with suppress(ConnectionResetError):
            while lazy.recv(65536):
                pass
    await eager.close()
    await outlet.close()
    assert not outlet.attended.is_set()


async def test_an_address_in_use_is_refused_with_the_remedy() -> None:
    """Status 1, one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await start("--listen", f"tcp://127.0.0.1:{port}")
        out, _ = await process.communicate()
    expected = f"tcp://127.0.0.1:{port}: the address is in use; choose another port, or 0 for any free one\n"
    assert (process.returncode, out.decode()) == (1, expected)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("tcp://:0", "127.0.0.1", 0),
        ("tcp://:4001", "127.0.0.1", 4001),
        ("tcp://0.0.0.0:4001", "0.0.0.0", 4001),  # noqa: S104  # whoever writes it means it
        ("tcp://[::1]:0", "::1", 0),
    ],
)
def test_a_listener_is_an_address_whose_host_may_be_left_out(text: str, host: str, port: int) -> None:
    """Loopback unless somebody says otherwise."""
    assert listener(text) == TcpAddress(host, port)


@pytest.mark.parametrize(
    "wrong", ["4001", "serial:///dev/ttyS0", "tcp://:65536", "tcp://a b:1", "tcp://:1?keepalive_s=2"]
)
async def test_what_is_no_address_is_wrong_use(wrong: str) -> None:
    """Status 2, and usage, as for any other argument."""
    process = await start("--listen", wrong)
    out, _ = await process.communicate()
    assert process.returncode == 2
    assert out.startswith(b"usage: ")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("127.0.0.1:1", '"127.0.0.1:1" is not an address to listen on; write tcp://127.0.0.1:1'),
        (":1", '":1" is not an address to listen on; write tcp://:1'),
        ("4001", '"4001" is not an address to listen on; write tcp://:4001'),
        ("tcp://127.0.0.1", '"tcp://127.0.0.1" is not an address to listen on; write tcp://HOST:PORT, or tcp://:PORT'),
        ("serial:///dev/ttyS0", '"serial:///dev/ttyS0" is not an address to listen on; write tcp://HOST:PORT'),
        ("tcp://:1?keepalive_s=2", '"tcp://:1?keepalive_s=2" is not an address to listen on; write tcp://HOST:PORT'),
        ("tcp://:65536", "port 65536 does not exist; write one from 0 to 65535"),
        ("tcp://a b:1", '"a b" is not a host; write a name or an address'),
        ("tcp://fd00::7:1", '"tcp://fd00::7:1" names no host and port; write tcp://HOST:PORT, brackets around'),
    ],
)
def test_a_wrong_listener_is_quoted_as_it_is_typed(typed: str, said: str) -> None:
    """The remedy names addresses that --listen takes, and no others."""
    with pytest.raises(ArgumentTypeError) as refusal:
        listener(typed)
    assert str(refusal.value).startswith(said)
    assert "serial:///dev/NODE" not in str(refusal.value)


async def test_a_firmware_that_the_family_does_not_have_is_wrong_use() -> None:
    """What it has is named."""
    process = await start("--listen", "tcp://:0", "--firmware", "2")
    out, _ = await process.communicate()
    assert process.returncode == 2
    assert b"--firmware: invalid choice: '2' (choose from 'ii-ex')" in out


# --- scenarios


async def test_a_scenario_is_played_once_and_the_line_is_closed(tmp_path: Path) -> None:
    """Byte for byte; status 0."""
    file = tmp_path / "locked.toml"
    file.write_text("[[step]]\nlock = true\n[[step]]\nunlock = true\n")
    async with rig("--listen", "tcp://:0", "--scenario", str(file), "--fast") as shoe:
        assert shoe.line.startswith(f"Angel Eye II-EX, {file}, at tcp://")
        assert (
            heard(await all_of(await shoe.connect()))
            == [KeyLock("1", locked=True)] * 3 + [KeyLock("2", locked=False)] * 3
        )
        assert await shoe.end() == (0, "")


async def test_a_scenario_that_cannot_be_is_refused_before_the_line_is_there(tmp_path: Path) -> None:
    """FILE:LINE, and status 1."""
    file = tmp_path / "wrong.toml"
    file.write_text("[[step]]\nlock = 1\n")
    process = await start("--listen", "tcp://:0", "--scenario", str(file))
    out, _ = await process.communicate()
    expected = f"{file}:2: step.lock: 1 is not true; write true, or leave the key out\n"
    assert (process.returncode, out.decode()) == (1, expected)


async def test_what_is_said_of_dealing_beside_a_scenario_is_wrong_use(tmp_path: Path) -> None:
    """A scenario has its own cards, and its own end."""
    process = await start("--listen", "tcp://:0", "--scenario", str(tmp_path / "any.toml"), "--rounds", "3")
    out, _ = await process.communicate()
    expected = "--seed and --rounds are the dealer's; leave them out beside --scenario\n"
    assert (process.returncode, out.decode()) == (2, expected)


# --- a pty


async def test_a_pty_is_served_like_a_serial_line(tmp_path: Path) -> None:
    """Every byte of the rounds arrives on the node that the symlink names; then it hangs up, and the link is gone."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "7", "--fast", "--rounds", "40") as shoe:
        assert shoe.address == SerialAddress(str(path))
        assert path.is_symlink()
        assert await all_of(await shoe.connect()) == said(7, 40)
        assert await shoe.end() == (0, "")
    assert not path.is_symlink()


async def test_a_slow_reader_of_a_pty_loses_nothing(tmp_path: Path) -> None:
    """While nobody reads the shoe waits, and no byte is dropped."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "8", "--fast", "--rounds", "300") as shoe:
        node, data = os.open(path, os.O_RDONLY | os.O_NOCTTY), b""
        try:
            while piece := await asyncio.to_thread(os.read, node, 1000):
                data += piece
                await asyncio.sleep(0)
        except OSError:  # EIO: the shoe has hung up
            pass
        finally:
            os.close(node)
        assert data == said(8, 300)
        assert (await shoe.end())[0] == 0


async def test_a_pty_waits_for_its_reader_and_serves_the_next_one(tmp_path: Path) -> None:
    """Closing is no end: the next one who opens it hears the shoe go on, and orders are answered."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path), "--seed", "1") as shoe:
        first = await shoe.connect()
        assert said(1, 1).startswith(await some_of(first, 30))
        await first.close()
        second = await shoe.connect()
        second.send(build(LOCK, SETTINGS))
        assert ACK in await until_locked(second, locked=True)


async def test_a_pty_overwrites_nothing(tmp_path: Path) -> None:
    """A file, or a link to anything but a pty, stays; the link that a killed shoe left behind is replaced."""
    file, link, stale = tmp_path / "file", tmp_path / "link", tmp_path / "stale"
    file.write_text("precious")
    link.symlink_to(file)
    stale.symlink_to("/dev/pts/999999")
    for path in (file, link):
        process = await start("--pty", str(path))
        out, _ = await process.communicate()
        expected = f"{path}: something is there already; remove it, or choose another path\n"
        assert (process.returncode, out.decode()) == (1, expected)
    assert file.read_text() == "precious"
    async with rig("--pty", str(stale)):
        assert stale.resolve() != Path("/dev/pts/999999")


async def test_a_pty_in_no_directory_is_refused(tmp_path: Path) -> None:
    """The error names the path and what to do."""
    process = await start("--pty", str(tmp_path / "absent" / "shoe"))
    out, _ = await process.communicate()
    assert process.returncode == 1
    assert out.decode().endswith("choose a path in a directory that you may write\n")


# --- the end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("attended", [False, True])
async def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals, attended: bool) -> None:  # noqa: FBT001
    """No traceback, status 0, no link left, whether anybody listens or not; a listener hears the end."""
    path = tmp_path / "shoe"
    async with rig("--pty", str(path)) as shoe:
        link = await shoe.connect() if attended else None
        if link:
            await some_of(link)
        shoe.process.send_signal(number)
        if link:
            await all_of(link)
        assert await shoe.end() == (0, "")
    assert not path.is_symlink()


async def test_a_seed_that_nobody_gave_is_told() -> None:
    """What it dealt can be dealt again."""
    async with rig("--listen", "tcp://:0", "--fast", "--rounds", "2") as shoe:
        found = re.search(r"seed (\d+)", shoe.line)
        assert found
        assert await all_of(await shoe.connect()) == said(int(found[1]), 2)


async def test_a_family_without_a_line_of_its_own_names_a_speed_for_its_pty(tmp_path: Path) -> None:
    """The port that is printed can be opened for that family."""
    file = tmp_path / "one.toml"
    file.write_text('[[step]]\ndeal = ["8S"]\n')
    async with rig("--pty", str(tmp_path / "scanner"), "--scenario", str(file), device="scanner") as scanner:
        assert isinstance(scanner.address, SerialAddress)
        assert scanner.address.line(FAMILIES["scanner"].line).baud == 9600
