"""The port of a device with a key: open after the proof, with the bytes and moments of the line."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe import FAMILY, OpenShoeSettings, build
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.channel import CHALLENGE, RESPONSE, UNKEYED
from firmware_protocols.open_shoe.codec import seal, unwrap
from shoed.errors import LinkLost, PortUnsecured
from shoed.model.moments import Chunk, Now
from shoed.ports import secure
from shoed.ports.address import parse_address
from shoed.ports.cipher import Aes, draw
from shoed.ports.inbox import Take
from shoed.ports.key_file import read_key
from shoed.ports.keyed import Dropped, Keyed
from shoed.ports.link import Link, keep_open, open_link
from shoed.ports.secure import SecureLink, secured
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.secured import SecuredDevice
from tests.keyed_shoe import KEY, OTHER_KEY, KeyedShoe, attacked, write_key
from tests.links import open_descriptors
from tests.open_shoe_line import A
from tests.patience import PATIENCE_S

IDENTIFY: Final = build(theirs.OpenShoeRequest(1, theirs.Identify()))

Call = tuple[str, str]


class Listener:
    """Records its calls, and sends IDENTIFY on an open link."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.chunks: list[Chunk] = []
        self.dropped: list[Dropped] = []
        self.link: Link | None = None
        self.news = asyncio.Event()

    async def opened(self, link: Link) -> None:
        self.link = link
        link.send(IDENTIFY)
        self.add("opened", "")

    async def room(self) -> None:
        pass

    def received(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        self.news.set()

    async def closed(self, reason: str) -> None:
        self.add("closed", reason)

    async def refused(self, reason: str) -> None:
        self.add("refused", reason)

    async def drop(self, dropped: Dropped) -> None:
        self.dropped.append(dropped)
        self.news.set()

    def add(self, what: str, detail: str) -> None:
        self.calls.append((what, detail))
        self.news.set()

    async def until(self, what: str, words: str = "") -> str:
        """The first call of this kind whose detail contains these words."""
        async with asyncio.timeout(PATIENCE_S):
            while not (found := [text for kind, text in self.calls if kind == what and words in text]):
                self.news.clear()
                await self.news.wait()
        return found[0]

    async def received_bytes(self) -> bytes:
        """All received bytes, after the first one has arrived."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.chunks:
                self.news.clear()
                await self.news.wait()
        return b"".join(each.data for each in self.chunks)


@asynccontextmanager
async def kept_open(port: str, rng: random.Random | None = None) -> AsyncIterator[Listener]:
    listener = Listener()
    keyed = Keyed(KEY, listener.drop)
    task = asyncio.create_task(
        keep_open(parse_address(port), FAMILY.line, listener, rng=rng or random.Random(1), keyed=keyed)
    )
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture(params=["pty", "tcp"])
async def shoe(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KeyedShoe]:
    async with KeyedShoe(node=tmp_path / "tty" if request.param == "pty" else None) as shoe:
        yield shoe


def hello_in(data: bytes) -> bool:
    body = unwrap(data[: data.index(b"\x7f") + 1])
    return isinstance(body, bytes) and body[:2] == b"\x03\x01"


async def test_the_port_opens_for_a_device_with_the_key(shoe: KeyedShoe) -> None:
    """The messages of the device arrive as plain frames."""
    async with kept_open(shoe.port) as listener:
        await listener.until("opened")
        assert hello_in(await listener.received_bytes())
        assert [what for what, _ in listener.calls] == ["opened"]
        assert listener.dropped == []


async def test_a_port_opens_immediately_after_the_device_gets_the_key(shoe: KeyedShoe) -> None:
    """The reason of the refusal is reported once; the line needs no attention."""
    shoe.key = OTHER_KEY
    shoe.restart()
    async with kept_open(shoe.port) as listener:
        reason = await listener.until("refused", secure.OTHER_KEY)
        shoe.key = KEY
        shoe.restart()
        await listener.until("opened")
        assert hello_in(await listener.received_bytes())
        assert [call for call in listener.calls if call[0] == "opened"] == [listener.calls[-1]]
        assert listener.calls.count(("refused", reason)) == 1


async def test_a_line_lost_before_the_proof_is_a_refusal() -> None:
    """The reason is the loss, or the reason that was already reported."""
    async with KeyedShoe() as shoe:
        link = await open_link(parse_address(shoe.port), FAMILY.line)
        shoe.fall_silent()
        refusals: list[str] = []

        async def refused(refusal: Exception) -> None:
            refusals.append(str(refusal))

        opening = asyncio.create_task(secured(link, parse_address(shoe.port), Keyed(KEY, Listener().drop), refused))
        await asyncio.sleep(0)
        await link.close()
        with pytest.raises(PortUnsecured, match="closed"):
            await opening
        assert refusals == []


class Patient(random.Random):
    """A clock that does not wait, and knows the longest wait."""

    def __init__(self) -> None:
        super().__init__(1)
        self.waits: list[float] = []
        self.enough = asyncio.Event()

    def uniform(self, a: float, b: float) -> float:
        self.waits.append(a + b)
        if len(self.waits) == 12:
            self.enough.set()
        return 0.0


async def test_a_server_that_closes_immediately_is_one_absence() -> None:
    """The port tries again as without a key, and reports the reason once."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server, dice = await asyncio.start_server(hang_up, "127.0.0.1", 0), Patient()
    port = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with kept_open(port, rng=dice) as listener, asyncio.timeout(PATIENCE_S):
        await dice.enough.wait()
    server.close()
    assert [what for what, _ in listener.calls] == ["refused"]


async def test_a_device_that_sends_unkeyed_and_no_response_is_reported() -> None:
    """The line works in one direction only."""

    async def send_unkeyed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(seal(UNKEYED))
        while await reader.read(4096):
            pass
        writer.close()

    server = await asyncio.start_server(send_unkeyed, "127.0.0.1", 0)
    async with kept_open(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}") as listener:
        assert await listener.until("refused", secure.NO_ANSWER)
    server.close()
    await server.wait_closed()


async def test_a_new_connection_replaces_the_previous_connection() -> None:
    """The rule is for the virtual device: the previous host loses its line, and reconnects with a new session."""
    async with KeyedShoe() as shoe, kept_open(shoe.port) as listener:
        await listener.until("opened")
        await listener.received_bytes()
        other = await open_link(parse_address(shoe.port), FAMILY.line)
        await listener.until("closed")
        async with asyncio.timeout(PATIENCE_S):
            while [what for what, _ in listener.calls].count("opened") < 2:
                listener.news.clear()
                await listener.news.wait()
        await other.close()


@pytest.mark.parametrize("kind", ["right", "wrong"])
async def test_cancellation_at_every_await_closes_the_line(kind: str) -> None:
    """The awaits are those of the handshake and those after it."""
    async with KeyedShoe(KEY if kind == "right" else OTHER_KEY) as shoe:
        await (await open_link(parse_address(shoe.port), FAMILY.line)).close()
        await shoe.outlet.connected.left.wait()
        before = open_descriptors()
        for steps in range(40):
            listener = Listener()
            keyed = Keyed(KEY, listener.drop)
            task = asyncio.create_task(
                keep_open(parse_address(shoe.port), FAMILY.line, listener, rng=random.Random(steps), keyed=keyed)
            )
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            calls = [what for what, _ in listener.calls]
            assert calls.count("closed") == calls.count("opened")
        async with asyncio.timeout(PATIENCE_S):
            await shoe.outlet.connected.left.wait()
        assert open_descriptors() == before


async def test_bytes_outside_the_channel_are_dropped_in_their_place() -> None:
    """They are reported between two frames of the device, with the reason, and never as bytes of the device."""
    async with attacked() as (_, attacker), kept_open(attacker.port) as listener:
        await listener.until("opened")
        await listener.received_bytes()
        forged = build(theirs.OpenShoeNotice(3, theirs.Alive(A, 1)))
        replayed = attacker.to_host[-1]
        attacker.inject(b"noise" + forged + replayed)
        async with asyncio.timeout(PATIENCE_S):
            while len(listener.dropped) < 3:
                listener.news.clear()
                await listener.news.wait()
        found = [(each.data, each.reason) for each in listener.dropped[:3]]
        assert found[:2] == [(b"noise", Reason.JUNK), (forged, Reason.UNSEALED)]
        assert found[2][1] is Reason.NOT_AUTHENTIC
        assert forged not in b"".join(each.data for each in listener.chunks)


class Scripted:
    """A link of the test: chunks with moments, in the given order."""

    def __init__(self) -> None:
        self.chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.until = Now(0, 0)

    async def receive(self, take: Take | None = None) -> Chunk:
        chunk = await self.chunks.get()
        if chunk is None:
            raise LinkLost("gone")
        if take is not None:
            take(chunk)
        return chunk

    def heard_until(self) -> Now:
        return self.until

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    async def close(self) -> None:
        pass


async def test_moments_are_those_of_the_line() -> None:
    """`at`, `late_ns` and `heard_until`; a torn frame is reported before the loss of the line."""
    link, listener = Scripted(), Listener()
    guarded = SecureLink(link, Keyed(KEY, listener.drop))
    assert unwrap(link.sent[0])[:4] == CHALLENGE
    shoe = SecuredDevice(VirtualOpenShoe(OpenShoeSettings(), A, version=3), KEY, Aes(), draw)
    up = shoe.hear(Chunk(link.sent[0], Now(1, 1)))
    link.chunks.put_nowait(Chunk(up, Now(1, 1)))
    await guarded.hear()
    assert guarded.channel.end.is_open
    guarded.send(IDENTIFY)
    up = shoe.hear(Chunk(link.sent[1], Now(2, 2)))
    link.chunks.put_nowait(Chunk(up[:20], Now(3_000, 3_000_000)))
    link.chunks.put_nowait(Chunk(up[20:] + b"\x7e\x03", Now(4_000, 4_000_000), late_ns=500_000))
    await guarded.hear()
    await guarded.hear()
    assert guarded.heard_until() == Now(3_500, 3_500_000)
    chunk = await guarded.receive()
    assert (chunk.at, chunk.late_ns) == (Now(4_000, 4_000_000), 500_000)
    assert hello_in(chunk.data)
    link.until = Now(9, 9)
    assert guarded.heard_until() == Now(9, 9)
    link.chunks.put_nowait(None)
    with pytest.raises(LinkLost, match="gone"):
        await guarded.receive()
    assert [each.reason for each in listener.dropped] == [Reason.TORN]
    await guarded.close()


async def test_two_alternating_reasons_are_not_two_events_each_second() -> None:
    """Frames injected before the link is open cause one event in ten seconds."""
    link, refusals = Scripted(), []

    async def refused(refusal: Exception) -> None:
        refusals.append(str(refusal))

    guarded = SecureLink(link, Keyed(KEY, Listener().drop))
    shaking = secure.Handshake(guarded, parse_address("tcp://a:1"), refused)
    false = seal(RESPONSE + bytes(32)), build(theirs.OpenShoeNotice(1, theirs.Alive(A, 1)))
    for second in range(1, 31):
        link.chunks.put_nowait(Chunk(false[second % 2], Now(1, 1)))
        await guarded.hear()
        shaking.take()
        await shaking.judge(float(second))
    assert len(refusals) == 3
    await guarded.close()


# --- the file with the key


@pytest.mark.parametrize("text", [f"{KEY.hex()}\n", KEY.hex(), f" \t{KEY.hex().upper()} \r\n\n"])
def test_a_key_is_32_hexadecimal_digits(tmp_path: Path, text: str) -> None:
    """White space around the digits has no effect."""
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o440)
    assert read_key(str(path)) == KEY


@pytest.mark.parametrize(
    "text", ["", KEY.hex()[:-1], f"{KEY.hex()}0", "g" * 32, f"0x{KEY.hex()}", f"{KEY.hex()} {KEY.hex()}", "\xff" * 16]
)
def test_anything_else_is_not_a_key(tmp_path: Path, text: str) -> None:
    """The error shows no byte of the file."""
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o400)
    with pytest.raises(ValueError, match="does not contain a key") as caught:
        read_key(str(path))
    assert not text or text not in " ".join(caught.value.args)


@pytest.mark.parametrize(
    ("mode", "may"), [(0o400, 1), (0o600, 1), (0o440, 1), (0o640, 1), (0o660, 0), (0o444, 0), (0o404, 0)]
)
def test_other_users_have_no_access_to_the_file(tmp_path: Path, mode: int, *, may: int) -> None:
    """The group may read the file and not write it: the daemon's group reads it if root owns it."""
    path = write_key(tmp_path / "key", mode=mode)
    if may:
        assert read_key(str(path)) == KEY
    else:
        with pytest.raises(ValueError, match=f"mode {mode:04o}"):
            read_key(str(path))


def test_an_absent_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    """The error has the remedy."""
    with pytest.raises(ValueError, match="does not exist"):
        read_key(str(tmp_path / "absent"))
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        read_key(str(tmp_path))
