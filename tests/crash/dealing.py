"""Two shoes in full play, from code that shares nothing with the code under test, and the record of their cards.

Theory of operation. `play` deals rounds by the documents' Table of Play, from eight decks, without end. `Eye` sends
each report of an Angel Eye in three copies and does not wait for any host. `Open` is a foreign Open Shoe. It keeps each
report until a host acknowledges it, so it knows the cards that a host has promised to keep.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Final, NamedTuple, Self

from tests import checker_book as book
from tests import foreign_open_shoe
from tests.foreign_shoe import COPIES, Shoe, drawn, report, result

DECK: Final = [rank + suit for suit in "SHDC" for rank in ("A", *map(str, range(2, 11)), "J", "Q", "K")]
DECKS: Final = 8
LEAST: Final = 60  # cards before a round: then the dealer begins a new set
PASSAGE_US: Final = 1000  # of a card at the window: at this pace, the usual passage would overlap with the next card
MOST_KEPT: Final = 24  # reports without an acknowledgement before the dealer of the Open Shoe waits


class Dealt(NamedTuple):
    """One report: a card of a hand, a result, the cut card, or a new set."""

    kind: str  # "card", "result", "cut", "new"
    hand: str = ""
    position: int = 0
    card: str = ""
    pairs: tuple[str, ...] = ()


def play(dice: Random) -> Iterator[Dealt]:
    while True:
        cards = DECK * DECKS
        dice.shuffle(cards)
        yield Dealt("new")
        while len(cards) >= LEAST:
            yield from one_round(cards)
        yield Dealt("cut")


def one_round(cards: list[str]) -> Iterator[Dealt]:
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    while (hand := book.due(hands["player"], hands["banker"])) is not None:
        hands[hand].append(cards.pop())
        yield Dealt("card", hand, len(hands[hand]), hands[hand][-1])
    both = hands["player"], hands["banker"]
    yield Dealt("result", book.outcome(*both), pairs=tuple(book.pairs(*both)))


def pause(seconds: float) -> asyncio.Event:
    """An event after this time."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    return over


class Eye:
    """An Angel Eye at a pace of its own: a host that is absent misses its reports."""

    def __init__(self, shoe: Shoe, dice: Random, gap_s: tuple[float, float]) -> None:
        self.shoe = shoe
        self.dice = dice
        self.gap_s = gap_s
        self.cards: list[str] = []

    async def deal(self) -> None:
        for each in play(self.dice):
            if each.kind == "card":
                self.cards.append(each.card)
            await self.shoe.send(report(self.shoe.number(), body(each)) * COPIES)
            await pause(self.dice.uniform(*self.gap_s)).wait()


def body(dealt: Dealt) -> str:
    match dealt.kind:
        case "card":
            return drawn(f"{dealt.hand[0].upper()}{dealt.position}", dealt.card)
        case "result":
            return result(dealt.hand, *dealt.pairs)
        case _:
            return {"cut": "C", "new": "S"}[dealt.kind]


class Open:
    """An Open Shoe on a TCP port, for one host at a time."""

    def __init__(self, dice: Random, gap_s: tuple[float, float]) -> None:
        self.dice = dice
        self.gap_s = gap_s
        self.device = foreign_open_shoe.Device("shoe", 2)
        self.cards: list[str] = []
        self.number_of: list[int] = []  # of the report of each card
        self.line: asyncio.StreamWriter | None = None
        self.news = asyncio.Event()
        self.sets = 0

    async def __aenter__(self) -> Self:
        self.device.start(time.monotonic())
        foreign_open_shoe.PASSAGE_US = PASSAGE_US
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        if self.line is not None:
            self.line.close()

    @property
    def port(self) -> str:
        return f"tcp://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    @property
    def acknowledged(self) -> int:
        """The number of cards that a host has acknowledged: all before the oldest kept report."""
        oldest = self.device.memory.oldest
        return sum(number < oldest for number in self.number_of)

    @property
    def kept(self) -> int:
        return len(self.device.memory.kept)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.line is not None:
            self.line.close()
        self.line = writer
        self.send(self.device.opened(time.monotonic()))
        with suppress(OSError):
            while data := await reader.read(4096):
                if self.line is writer:
                    self.send(self.device.hear(data, time.monotonic()))
                    self.news.set()
        writer.close()
        if self.line is writer:
            self.line = None
        self.news.set()

    def send(self, data: bytes) -> None:
        if self.line is not None and data:
            self.line.write(data)

    async def deal(self) -> None:
        for each in play(self.dice):
            while self.kept >= MOST_KEPT:
                self.news.clear()
                await self.news.wait()
            self.send(self.device.say(self.line_of(each), time.monotonic()) if each.kind != "result" else b"")
            if each.kind == "card":
                self.cards.append(each.card)
                self.number_of.append(self.device.memory.next_number - 1)
            await pause(self.dice.uniform(*self.gap_s)).wait()

    def line_of(self, dealt: Dealt) -> str:
        match dealt.kind:
            case "card":
                return f"card {dealt.card} {dealt.hand} {dealt.position}"
            case "new":
                self.sets += 1
                return f"loaded set-{self.sets}"
            case _:
                return dealt.kind

    async def keep_alive(self) -> None:
        """Send what is due: the kept reports again, or ALIVE."""
        while True:
            self.send(self.device.tick(time.monotonic()))
            await pause(max(0.01, self.device.due - time.monotonic())).wait()
