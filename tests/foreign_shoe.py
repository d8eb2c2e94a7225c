"""An Angel Eye shoe that shares no code with shoed: the standard library, and bytes that were written by hand.

Theory of operation. `ROUNDS` holds six complete rounds as literal frames. Their sequence characters run from 1 to 9 and
repeat. The rounds have 36 reports, four times nine, so they can be dealt repeatedly. `report` makes other frames by
a few lines of XOR; this file first compares them with the frames that are known byte by byte. A shoe sends the
requested reports, and it detects when the host has read its bytes.
"""

import asyncio
import contextlib
import fcntl
import os
import socket
import struct
import termios
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple, Self

COPIES = 3
PATIENCE_S = 60.0  # as in tests/patience.py; this file imports nothing of the project
GLANCE_S = 0.002  # polling interval for a buffer of the kernel, which does not report that it is empty


class Round(NamedTuple):
    """One round: the frames of the shoe, one for each report, and the round that every host must derive from them."""

    player: tuple[str, ...]
    banker: tuple[str, ...]
    points: tuple[int, int]
    outcome: str
    pairs: tuple[str, ...]
    frames: tuple[str, ...]  # the cards as they are drawn, then the result

    @property
    def drawn(self) -> tuple[tuple[str, str], ...]:
        """Hand and card, in the order of the Table of Play: Player, Banker, Player, Banker, third cards."""
        hands = [("player", card) for card in self.player], [("banker", card) for card in self.banker]
        return tuple(hand[position] for position in range(3) for hand in hands if position < len(hand))


ROUNDS = (
    Round(  # Player's natural 8 against 7
        player=("8S", "JD"),
        banker=("3H", "4C"),
        points=(8, 7),
        outcome="player",
        pairs=(),
        frames=(
            "05 31 44 81 B8 03 34 46",  # 1: D Player 1, eight of spades
            "05 32 44 91 C3 03 32 37",  # 2: D Banker 1, three of hearts
            "05 33 44 82 9B 03 36 44",  # 3: D Player 2, jack of diamonds
            "05 34 44 92 A4 03 34 35",  # 4: D Banker 2, four of clubs
            "05 35 47 90 03 45 31",  # 5: G Player
        ),
    ),
    Round(  # both draw: 5 against 7, and a pair of kings
        player=("2D", "3S", "10H"),
        banker=("KC", "KH", "7D"),
        points=(5, 7),
        outcome="banker",
        pairs=("banker",),
        frames=(
            "05 36 44 81 92 03 36 32",  # 6: D Player 1, two of diamonds
            "05 37 44 91 AD 03 34 43",  # 7: D Banker 1, king of clubs
            "05 38 44 82 B3 03 34 45",  # 8: D Player 2, three of spades
            "05 39 44 92 CD 03 32 31",  # 9: D Banker 2, king of hearts
            "05 31 44 83 CA 03 33 46",  # 1: D Player 3, ten of hearts
            "05 32 44 93 97 03 37 31",  # 2: D Banker 3, seven of diamonds
            "05 33 47 C2 03 42 35",  # 3: G Banker, Banker pair
        ),
    ),
    Round(  # Player stands on 6, Banker draws to 6
        player=("QS", "6H"),
        banker=("2S", "AC", "3D"),
        points=(6, 6),
        outcome="tie",
        pairs=(),
        frames=(
            "05 34 44 81 BC 03 34 45",  # 4: D Player 1, queen of spades
            "05 35 44 91 B2 03 35 31",  # 5: D Banker 1, two of spades
            "05 36 44 82 C6 03 33 35",  # 6: D Player 2, six of hearts
            "05 37 44 92 A1 03 34 33",  # 7: D Banker 2, ace of clubs
            "05 38 44 93 93 03 37 46",  # 8: D Banker 3, three of diamonds
            "05 39 47 A0 03 44 44",  # 9: G tie
        ),
    ),
    Round(  # Player draws to 4, Banker stands on 7
        player=("AS", "4D", "9C"),
        banker=("7H", "10S"),
        points=(4, 7),
        outcome="banker",
        pairs=(),
        frames=(
            "05 31 44 81 B1 03 34 36",  # 1: D Player 1, ace of spades
            "05 32 44 91 C7 03 32 33",  # 2: D Banker 1, seven of hearts
            "05 33 44 82 94 03 36 32",  # 3: D Player 2, four of diamonds
            "05 34 44 92 BA 03 35 42",  # 4: D Banker 2, ten of spades
            "05 35 44 83 A9 03 35 38",  # 5: D Player 3, nine of clubs
            "05 36 47 C0 03 42 32",  # 6: G Banker
        ),
    ),
    Round(  # Banker's natural 9, and a pair of sixes
        player=("6C", "6D"),
        banker=("9H", "QC"),
        points=(2, 9),
        outcome="banker",
        pairs=("player",),
        frames=(
            "05 37 44 81 A6 03 35 37",  # 7: D Player 1, six of clubs
            "05 38 44 91 C9 03 32 37",  # 8: D Banker 1, nine of hearts
            "05 39 44 82 96 03 36 41",  # 9: D Player 2, six of diamonds
            "05 31 44 92 AC 03 34 38",  # 1: D Banker 2, queen of clubs
            "05 32 47 C1 03 42 37",  # 2: G Banker, Player pair
        ),
    ),
    Round(  # both draw to 6: Banker on 3 against a five
        player=("KS", "AH", "5S"),
        banker=("5D", "8C", "3C"),
        points=(6, 6),
        outcome="tie",
        pairs=(),
        frames=(
            "05 33 44 81 BD 03 34 38",  # 3: D Player 1, king of spades
            "05 34 44 91 95 03 37 37",  # 4: D Banker 1, five of diamonds
            "05 35 44 82 C1 03 33 31",  # 5: D Player 2, ace of hearts
            "05 36 44 92 A8 03 34 42",  # 6: D Banker 2, eight of clubs
            "05 37 44 83 B5 03 34 36",  # 7: D Player 3, five of spades
            "05 38 44 93 A3 03 34 46",  # 8: D Banker 3, three of clubs
            "05 39 47 A0 03 44 44",  # 9: G tie
        ),
    ),
)


def report(sequence: str, body: str) -> bytes:
    """Return a report of any body: the command as a letter, the data in hex, as in `D 81 B8`."""
    command, _, data = body.partition(" ")
    inside = sequence.encode() + command.encode() + bytes.fromhex(data) + b"\x03"
    check = 0
    for byte in inside:
        check ^= byte
    return b"\x05" + inside + f"{check:02X}".encode()


SUITS = {"D": 0x10, "C": 0x20, "S": 0x30, "H": 0x40}
RANKS = {"A": 1, "J": 11, "Q": 12, "K": 13}
HANDS = {"P": 0x00, "B": 0x10}
OUTCOMES = {"player": 0x10, "tie": 0x20, "banker": 0x40, "forced-end": 0x70}
PAIRS = {"player": 0x01, "banker": 0x02}


def face(card: str) -> str:
    """Return the card byte in hex."""
    rank = RANKS[card[0]] if card[0] in RANKS else int(card[:-1])
    return f"{0x80 | SUITS[card[-1]] | rank:02X}"


def drawn(slot: str, card: str) -> str:
    """Return the body of a card report, as in `drawn("P1", "8S")`."""
    return f"D {0x80 | HANDS[slot[0]] | int(slot[1]):02X} {face(card)}"


def result(outcome: str, *pairs: str) -> str:
    """Return the body of a result report, true or not."""
    return f"G {0x80 | OUTCOMES[outcome] | sum(PAIRS[pair] for pair in pairs):02X}"


# The cards of the first round, for tests that send them one by one: 8 against 7, complete.
NATURAL = (drawn("P1", "8S"), drawn("B1", "3H"), drawn("P2", "JD"), drawn("B2", "4C"))

# The frames that are known byte by byte. A different result is a defect of this file.
for _sequence, _body, _known in (
    ("1", drawn("P1", "8S"), "05 31 44 81 B8 03 34 46"),
    ("2", result("player", "player"), "05 32 47 91 03 45 37"),
    ("3", "C", "05 33 43 03 37 33"),
    ("4", "E C1", "05 34 45 C1 03 42 33"),
):
    if report(_sequence, _body) != bytes.fromhex(_known):
        raise ValueError(f"{_known} is known, but {_body} gives a different frame")


def endless() -> Iterator[tuple[Round, int, bytes]]:
    """Yield the six rounds repeatedly, report by report: the round, the index of the report in it, its frame."""
    for each in cycle(ROUNDS):
        for place, frame in enumerate(each.frames):
            yield each, place, bytes.fromhex(frame)


async def taken(waiting: Callable[[], int]) -> None:
    """Poll until the buffers of the kernel are empty, because the kernel does not report it."""
    async with asyncio.timeout(PATIENCE_S):
        while waiting():  # noqa: ASYNC110
            await asyncio.sleep(GLANCE_S)


class Shoe(ABC):
    """The interface of a shoe for tests, for any line."""

    sequence = 0  # the number of the last report; 0 before the first

    @property
    @abstractmethod
    def port(self) -> str:
        """The address for a host."""

    async def __aenter__(self) -> Self:
        await self.plug_in()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    @abstractmethod
    async def plug_in(self) -> None:
        """Connect the cable."""

    @abstractmethod
    async def cut(self) -> None:
        """Disconnect the cable; its bytes are lost."""

    @abstractmethod
    async def connected(self) -> None:
        """Wait until a host is connected. If the line cannot detect hosts, earlier bytes wait in the cable."""

    @abstractmethod
    async def deserted(self) -> None:
        """Wait until no host is connected, if the line can detect hosts."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Send these bytes; return when the kernel has all of them."""

    @abstractmethod
    async def taken(self) -> None:
        """Wait until the host has read all bytes."""

    def number(self) -> str:
        """Return the next sequence character: 1 to 9, then 1 again."""
        self.sequence = self.sequence % 9 + 1
        return str(self.sequence)

    def lose(self, reports: int = 1) -> None:
        """Send this number of reports while no host is connected."""
        for _ in range(reports):
            self.number()

    async def say(self, *bodies: str, copies: int = COPIES) -> None:
        """Send reports with the next sequences, each in several copies, without a gap."""
        for body in bodies:
            await self.send(report(self.number(), body) * copies)

    async def repeat(self, frames: Sequence[str], copies: int = COPIES) -> None:
        """Send frames of the table, with their own sequences."""
        for frame in frames:
            raw = bytes.fromhex(frame)
            self.sequence = raw[1] - ord("0")
            await self.send(raw * copies)

    async def deal(self, *rounds: Round, copies: int = COPIES) -> None:
        for each in rounds:
            await self.repeat(each.frames, copies)


class TcpShoe(Shoe):
    """A shoe on a device server that accepts any number of clients and ignores their bytes."""

    def __init__(self) -> None:
        # Bound and not listening: no other process can get the port while the cable is disconnected.
        self.place = socket.socket()
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", 0))
        self.server: asyncio.Server | None = None
        self.clients: list[asyncio.StreamWriter] = []
        self.news = asyncio.Event()
        self.heard = bytearray()  # the bytes of its hosts

    @property
    def port(self) -> str:
        return f"tcp://127.0.0.1:{self.place.getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        await self.cut()
        self.place.close()

    async def plug_in(self) -> None:
        self.server = await asyncio.start_server(self.serve, *self.place.getsockname(), reuse_address=True)

    async def cut(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None
        for client in tuple(self.clients):
            client.close()
            with contextlib.suppress(OSError):
                await client.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.append(writer)
        self.news.set()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(4096):
                self.heard += data
                self.news.set()
        self.clients.remove(writer)
        writer.close()
        self.news.set()

    async def connected(self) -> None:
        await self.until(lambda: bool(self.clients))

    async def deserted(self) -> None:
        await self.until(lambda: not self.clients)

    async def until(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not predicate():
                self.news.clear()
                await self.news.wait()

    async def send(self, data: bytes) -> None:
        for client in tuple(self.clients):
            with contextlib.suppress(ConnectionError):  # the host has disconnected
                client.write(data)
                await client.drain()

    async def taken(self) -> None:
        await taken(lambda: sum(client.transport.get_write_buffer_size() for client in self.clients) or self.under_way)

    @property
    def under_way(self) -> int:
        """Return the number of unread bytes: both queues of each connection, from /proc/net/tcp."""
        near = {client.get_extra_info("sockname")[1] for client in self.clients}
        far = {client.get_extra_info("peername")[1] for client in self.clients}
        number = 0
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, _, queues, *_ = line.split()
            ends = {int(local[-4:], 16), int(remote[-4:], 16)}
            if ends & near and ends & far:
                number += sum(int(queue, 16) for queue in queues.split(":"))
        return number


class PtyShoe(Shoe):
    """A shoe on a serial line. The buffer of the cable stores bytes while no host has the line open."""

    def __init__(self, node: Path) -> None:
        self.node = node
        self.master = -1

    @property
    def port(self) -> str:
        return f"serial://{self.node}"

    async def plug_in(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave, termios.TCSANOW)  # no byte may be echoed or translated before a host configures the line
        os.set_blocking(self.master, False)
        self.node.symlink_to(os.ttyname(slave))
        os.close(slave)

    async def cut(self) -> None:
        if self.master >= 0:
            self.node.unlink()
            os.close(self.master)
            self.master = -1

    async def connected(self) -> None:
        """A serial line cannot detect a host."""

    async def deserted(self) -> None:
        """A serial line cannot detect the absence of a host either."""

    async def send(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        while data:
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self.master, data) :]
                continue
            room = asyncio.Event()
            loop.add_writer(self.master, room.set)
            try:
                await room.wait()
            finally:
                loop.remove_writer(self.master)

    async def taken(self) -> None:
        slave = os.open(self.node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            await taken(lambda: int(struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))[0]))
        finally:
            os.close(slave)
