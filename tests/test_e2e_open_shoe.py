"""A daemon and an Open Shoe on a pseudo-terminal: killed before its commit and behind it, each card once.

The shoe is our own session in the device's role, so that what it keeps can be looked at. Its clock runs
ahead by a second with every card: cards are dealt as fast as they are recorded, and were not drawn together.
"""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import Reported
from shoed.config import recall
from shoed.daemon import engine_of
from shoed.engine import Engine
from shoed.journal.replay import decode_again, rehearse
from shoed.journal.store import Reader
from shoed.now import Chunk, Now
from shoed.ports.clock import now
from shoed.session import SessionState
from shoed.session.open_shoe_device import OpenShoeDevice
from tests.foreign_shoe import GLANCE_S, PtyShoe
from tests.open_shoe_line import MS, A
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import SHOED, World

ROUND = ("8S", "3H", "JD", "4C")  # a natural: the next card opens a round


class OpenShoe(PtyShoe):
    """It answers whatever is on the line, unless it is deaf: then that is lost."""

    def __init__(self, node: Path) -> None:
        super().__init__(node)
        self.role = OpenShoeDevice(OpenShoeSettings(), version=2)
        self.state = self.role.begin(A)
        self.ahead_ms = 0
        self.deaf = False
        self.waking: asyncio.TimerHandle | None = None
        self.listening: asyncio.TimerHandle | None = None

    async def mend(self) -> None:
        await super().mend()
        self.listen()

    async def cut(self) -> None:
        for timer in (self.waking, self.listening):
            if timer is not None:
                timer.cancel()
        await super().cut()

    def read(self) -> None:
        with contextlib.suppress(OSError):  # nothing is there, or nobody
            while data := os.read(self.master, 4096):
                if not self.deaf:
                    self.hear(data)

    def listen(self) -> None:
        """Nobody is told that a host opened its end: look again and again."""
        self.read()
        self.listening = asyncio.get_running_loop().call_later(GLANCE_S, self.listen)

    def at(self, data: bytes = b"") -> Chunk:
        moment = now()
        return Chunk(data, Now(moment.utc_us, moment.mono_ns + self.ahead_ms * MS))

    def hear(self, data: bytes = b"") -> None:
        self.state, out = self.role.hear(self.state, self.at(data))
        self.write(out)

    def write(self, out: bytes) -> None:
        os.write(self.master, out)
        if self.waking is not None:
            self.waking.cancel()
        due_ns = self.role.wake_at(self.state)
        due_s = (due_ns - self.at().at.mono_ns) / 1e9
        self.waking = asyncio.get_running_loop().call_later(due_s, self.hear)

    def report(self, *said: Reported) -> None:
        for each in said:
            self.ahead_ms += 1000
            self.state, out = self.role.say(self.state, each, self.at().at)
            self.write(out)


@pytest.fixture
async def shoe(tmp_path: Path) -> AsyncIterator[OpenShoe]:
    async with OpenShoe(tmp_path / "tty") as shoe:
        yield shoe


def engine_for(settings: str) -> Engine[SessionState]:
    return engine_of(recall(settings), "")


async def start(world: World, shoe: OpenShoe) -> None:
    path = world.configure(shoe, protocol="open-shoe")
    daemon = await world.launch(path)
    await daemon.ready()


async def recorded(world: World, cards: int) -> None:
    await world.daemons[-1].looking(lambda: world.journal.count("card.drawn") == cards)


async def acknowledged(world: World, shoe: OpenShoe, cards: int) -> None:
    await recorded(world, cards)
    await world.daemons[-1].looking(lambda: not shoe.state.store.kept)


async def killed_behind_the_commit(world: World, shoe: OpenShoe, text: str, cards: int) -> None:
    """The card is on the disk, and its acknowledgement never arrives."""
    shoe.deaf = True
    shoe.report(card(text))
    await recorded(world, cards)
    await world.daemons[-1].kill()
    shoe.read()  # what it said before it died
    shoe.deaf = False


async def killed_before_the_commit(world: World, shoe: OpenShoe, text: str, cards: int) -> None:
    """The daemon has read the card; the record is somebody else's until the daemon is dead."""
    with world.journal.locked():
        shoe.report(card(text))
        await shoe.taken()
        await world.daemons[-1].kill()
    assert world.journal.count("card.drawn") == cards - 1


@pytest.mark.parametrize("kill", [killed_behind_the_commit, killed_before_the_commit])
async def test_a_kill_between_commit_and_acknowledgement_takes_each_card_once(
    world: World, shoe: OpenShoe, kill: Callable[[World, OpenShoe, str, int], Awaitable[None]]
) -> None:
    """Three kills within a round: it is complete all the same, and the record folds again from its bytes."""
    await start(world, shoe)
    shoe.report(card(ROUND[0]))
    await acknowledged(world, shoe, 1)
    for cards, text in enumerate(ROUND[1:], start=2):
        await kill(world, shoe, text, cards)
        assert [each.said for each in shoe.state.store.kept] == [card(text)]
        await start(world, shoe)
        await acknowledged(world, shoe, cards)
    shoe.report(card("2C"))
    await acknowledged(world, shoe, len(ROUND) + 1)
    assert await world.daemons[-1].stop() == 0

    record = world.journal.events()
    drawn = [row.data for row in record if row.type == "card.drawn"]
    assert [(each["round"], each["card"]) for each in drawn] == [*((1, text) for text in ROUND), (2, "2C")]
    assert [row.data["integrity"] for row in record if row.type == "round.completed"] == ["complete"]
    assert not {row.type for row in record} & {"line.missed", "card.set-aside", "round.suspended"}
    with closing(Reader(world.journal.path)) as reader:
        differences = chain(rehearse(reader, TABLE, engine_for), decode_again(reader, TABLE, engine_for))
        assert list(differences) == []


async def restart_in_sight(shoe: OpenShoe, _: list[Reported]) -> None:
    """It says HELLO on the open line."""
    shoe.state, out = shoe.role.opened(shoe.role.begin(A), shoe.at().at)
    shoe.write(out)


async def restart_unseen(shoe: OpenShoe, _: list[Reported]) -> None:
    """Its HELLO is lost."""
    shoe.state = shoe.role.begin(A)


async def restart_away(shoe: OpenShoe, rest: list[Reported]) -> None:
    """With the cable out; so many cards are dealt then that the number due is one of theirs."""
    await shoe.cut()
    shoe.state = shoe.role.begin(A)
    while len(rest) > 4:
        shoe.ahead_ms += 1000
        shoe.state, _ = shoe.role.say(shoe.state, rest.pop(0), shoe.at().at)
    await shoe.mend()


@pytest.mark.parametrize("restart", [restart_in_sight, restart_unseen, restart_away])
async def test_numbers_that_begin_again_under_the_same_stream_lose_no_card(
    world: World, shoe: OpenShoe, restart: Callable[[OpenShoe, list[Reported]], Awaitable[None]]
) -> None:
    """20 cards over a shoe that restarts in the second round: each is published, and the loss that may be is named."""
    faces = ROUND * 5
    rest: list[Reported] = [card(text) for text in faces]
    await start(world, shoe)
    shoe.report(*(rest.pop(0) for _ in range(6)))
    await acknowledged(world, shoe, 6)
    await restart(shoe, rest)
    shoe.report(*rest)
    await world.daemons[-1].looking(lambda: world.journal.count("card.drawn", "card.set-aside") == len(faces))
    await world.daemons[-1].looking(lambda: not shoe.state.store.kept)
    await world.all_told()
    assert await world.daemons[-1].stop() == 0

    record = world.journal.events()
    cards = [row for row in record if row.type in {"card.drawn", "card.set-aside"}]
    assert [row.data["card"] for row in cards] == [*faces]
    (missed,) = [row for row in record if row.type == "line.missed"]
    assert (missed.data["expected"], missed.data["seen"], missed.data["at_least"]) == ("7", "1", None)
    assert cards[5].sequence < missed.sequence < cards[6].sequence
    assert [row.data["integrity"] for row in record if row.type == "round.completed"] == ["complete"]  # the first
    assert "round.suspended" in {row.type for row in record}
    assert "reports may be missing" in str(world.daemons[-1])
    with closing(Reader(world.journal.path)) as reader:
        differences = chain(rehearse(reader, TABLE, engine_for), decode_again(reader, TABLE, engine_for))
        assert list(differences) == []


async def test_a_shoe_is_online_once_it_has_said_who_it_is(world: World, shoe: OpenShoe) -> None:
    """An open line that says nothing, and then noise, is no shoe yet."""
    shoe.deaf = True
    await start(world, shoe)
    await world.daemons[-1].looking(lambda: "is open" in str(world.daemons[-1]))
    await shoe.send(b"noise\x7e")
    await world.recorder.event("line.rejected")
    assert world.recorder.of("device.online") == []
    states = world.recorder.states
    await world.recorder.until(lambda: str(states()[-1]["device"]["reason"]).startswith("no-hello"))
    assert states()[-1]["device"]["link"] == "offline"
    shoe.deaf = False
    await world.recorder.event("device.identified")
    types = [event["type"].removeprefix("shoed.") for event in world.recorder.events()]
    assert types.index("line.rejected") < types.index("device.online") < types.index("device.identified")
    await world.recorder.until(lambda: states()[-1]["device"]["link"] == "online")
    await shoe.cut()
    await world.recorder.event("device.offline")


def test_a_capture_without_a_greeting_is_decoded_all_the_same(tmp_path: Path) -> None:
    """Who only listens takes what it hears: here the page's second report."""
    file = tmp_path / "line"
    file.write_bytes(
        bytes.fromhex("7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F")
    )
    command = [SHOED, "decode", "--protocol", "open-shoe", str(file)]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (printed["saw"], printed["card"], printed["frame"]["sequence"]) == ("CardSeen", "8S", "2")
