"""Device servers on real sockets: found, refused, read, written, closed, lost."""

import asyncio
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.ports.tcp import TcpLink, open_tcp
from tests.links import open_descriptors, receive
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent


class Peer:
    """One connection, at the device server's end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    async def say(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._connection, data)

    async def hear(self, length: int) -> bytes:
        heard = b""
        async with asyncio.timeout(PATIENCE_S):
            while len(heard) < length:
                heard += await asyncio.get_running_loop().sock_recv(self._connection, length - len(heard))
        return heard

    async def hear_the_end(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            assert await asyncio.get_running_loop().sock_recv(self._connection, 1) == b""

    def close(self) -> None:
        self._connection.close()

    def reset(self) -> None:
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.close()


class Server:
    def __init__(
        self, family: socket.AddressFamily = socket.AF_INET, host: str = "127.0.0.1", backlog: int = 10
    ) -> None:
        self.socket = socket.socket(family)
        self.socket.setblocking(False)  # noqa: FBT003  # the socket module knows no other way
        self.socket.bind((host, 0))
        self.socket.listen(backlog)
        self.address = TcpAddress(host, self.socket.getsockname()[1])
        self._peers: list[Peer] = []

    async def accept(self) -> Peer:
        async with asyncio.timeout(PATIENCE_S):
            connection, _ = await asyncio.get_running_loop().sock_accept(self.socket)
        self._peers.append(Peer(connection))
        return self._peers[-1]

    def close(self) -> None:
        for peer in self._peers:
            peer.close()
        self.socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
async def pair(server: Server) -> AsyncIterator[tuple[TcpLink, Peer]]:
    link = await open_tcp(server.address)
    yield link, await server.accept()
    await link.close()


async def test_bytes_are_moved_in_both_directions_with_their_time(pair: tuple[TcpLink, Peer]) -> None:
    """The bytes arrive unchanged. The time of received bytes has both clocks."""
    link, peer = pair
    before = now()
    await peer.say(bytes(range(256)))
    async with asyncio.timeout(PATIENCE_S):
        chunk = await link.receive()
    assert chunk.data == bytes(range(256))
    assert before.mono_ns <= chunk.at.mono_ns <= now().mono_ns
    assert before.utc_us <= chunk.at.utc_us <= now().utc_us
    link.send(b"\x02OPLK02")
    link.send(b"\x031B")
    assert await peer.hear(10) == b"\x02OPLK02\x031B"


async def test_ipv6_and_names_with_several_addresses_are_reached(server: Server) -> None:
    """The first address of a name may refuse."""
    link = await open_tcp(TcpAddress("localhost", server.address.port))
    await link.close()
    try:
        six = Server(socket.AF_INET6, "::1")
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    link = await open_tcp(six.address)
    await link.close()
    six.close()


async def test_a_closed_port_is_refused_with_the_remedy(closed_port: int) -> None:
    """The port is wrong, or the mode of the device server."""
    address = TcpAddress("127.0.0.1", closed_port)
    with pytest.raises(PortRefused) as refusal:
        await open_tcp(address)
    assert str(refusal.value).startswith(f"{address}: the server refuses connections to port {closed_port}; ")


async def test_a_host_that_does_not_answer_is_given_up_after_two_seconds() -> None:
    """The start and other tables do not wait for it. The refusal has its own reason."""
    full = Server(backlog=0)
    waiting = [socket.socket() for _ in range(3)]
    for each in waiting:
        each.setblocking(False)  # noqa: FBT003  # the socket module knows no other way
        each.connect_ex(("127.0.0.1", full.address.port))
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(PortRefused, match="the server does not answer within 2 s; check"):
            await open_tcp(full.address)
    for each in waiting:
        each.close()
    full.close()


async def test_a_peer_that_closes_loses_the_link_after_the_last_bytes(pair: tuple[TcpLink, Peer]) -> None:
    """The earlier bytes are delivered first; after the loss nothing can be sent."""
    link, peer = pair
    await peer.say(b"last words")
    peer.close()
    assert await receive(link, 10) == b"last words"
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost, match="the device server closed the connection; check its power and cable, then"):
            await link.receive()
    with pytest.raises(LinkLost, match="closed the connection"):
        link.send(b"x")


async def test_a_reset_loses_the_link_with_its_reason(pair: tuple[TcpLink, Peer]) -> None:
    """A restarted device server sends a reset."""
    link, peer = pair
    peer.reset()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost, match="the connection broke: Connection reset by peer; check"):
            await link.receive()


async def test_a_peer_that_does_not_read_blocks_no_task(pair: tuple[TcpLink, Peer]) -> None:
    """`send` does not wait, and refuses bytes above the limit. Reading continues, and accepted bytes are not lost."""
    link, peer = pair
    sent = bytearray()
    with pytest.raises(PortError, match="does not read"):  # noqa: PT012  # the loop is what ends here
        while True:
            link.send(block := len(sent).to_bytes(4, "big") * 1000)
            sent += block
    await peer.say(b"still talking")
    assert await receive(link, 13) == b"still talking"
    assert await peer.hear(len(sent)) == sent


async def test_closing_does_not_wait_for_a_peer_that_does_not_read(pair: tuple[TcpLink, Peer]) -> None:
    """Unsent bytes are discarded."""
    link, _ = pair
    with pytest.raises(PortError, match="does not read"):  # noqa: PT012  # the loop is what ends here
        while True:
            link.send(bytes(4000))
    async with asyncio.timeout(PATIENCE_S):
        await link.close()


async def test_a_slow_consumer_pauses_the_peer_and_loses_nothing(pair: tuple[TcpLink, Peer]) -> None:
    """The pause bounds the memory. The peer's writes block until the consumer continues."""
    link, peer = pair
    flood = os.urandom(20_000_000)
    saying = asyncio.ensure_future(peer.say(flood))
    done, _ = await asyncio.wait([saying], timeout=0.3)
    assert not done
    assert await receive(link, len(flood)) == flood
    await saying


async def test_close_ends_the_connection_and_leaves_no_descriptor(server: Server) -> None:
    """The peer and a waiting reader see the end. A second `close` has no effect."""
    before = open_descriptors()
    link = await open_tcp(server.address)
    reading = asyncio.ensure_future(link.receive())
    peer = await server.accept()
    await link.close()
    assert len(open_descriptors() - before) == 1  # the peer's
    await link.close()
    with pytest.raises(LinkLost, match="closed"):
        await reading
    await peer.hear_the_end()
    peer.close()
    assert open_descriptors() == before


FAR = """
import socket, subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
for words in ("address add 10.0.0.2/30 dev far", "link set far up"):
    subprocess.run(["ip", *words.split()], check=True)
listening = socket.create_server(("10.0.0.2", 4001))
print("listening", flush=True)
connection, _ = listening.accept()
connection.sendall(b"here")
sys.stdin.readline()
subprocess.run(["ip", "link", "set", "far", "down"], check=True)
print("pulled", flush=True)
sys.stdin.read()
"""

NEAR = f"""
import asyncio, subprocess, sys
from shoed.errors import LinkLost
from shoed.ports.address import TcpAddress
from shoed.ports.tcp import open_tcp

def order_far(expected):
    far.stdin.write("go on\\n")
    far.stdin.flush()
    assert far.stdout.readline() == expected + "\\n"

async def main():
    link = await open_tcp(TcpAddress("10.0.0.2", 4001, keepalive_s=1))
    assert (await link.receive()).data == b"here"
    order_far("pulled")
    try:
        async with asyncio.timeout({PATIENCE_S}):
            await link.receive()
    except LinkLost as loss:
        print(loss)
    await link.close()

command = ["unshare", "--net", sys.executable, "-c", {FAR!r}]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as far:
    assert far.stdout.readline() == "ready\\n"
    for words in (
        f"link add near type veth peer name far netns {{far.pid}}",
        "address add 10.0.0.1/30 dev near",
        "link set near up",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    order_far("listening")
    asyncio.run(main())
"""


def test_a_lost_peer_is_detected_without_traffic() -> None:
    """The cable is cut: no FIN and no reset arrives. Without keepalive_s, the kernel would wait for two hours.

    Each end has its own network namespace, so the test does not affect the machine.
    """
    alone = [shutil.which("unshare") or "", "--map-root-user", "--net"]
    if not alone[0] or shutil.which("ip") is None:
        pytest.skip("the commands unshare and ip are required to cut a network cable")
    if (tried := subprocess.run([*alone, "true"], capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"this user may not make a network namespace: {tried.stderr.strip()}")
    near = [*alone, sys.executable, "-c", NEAR]
    done = subprocess.run(near, cwd=ROOT, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "tcp://10.0.0.2:4001?keepalive_s=1: the device server did not answer for 1 s; check the device server's power"
    )
