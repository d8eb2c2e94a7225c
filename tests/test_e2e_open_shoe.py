"""A daemon and an Open Shoe on a pseudo-terminal: killed before and after its commit, each card once.

The shoe is our own session in the role of the device, so that a test can read its kept reports. Its clock advances
by a second with every card: the cards are recorded quickly, and do not count as drawn together.
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
from firmware_protocols.open_shoe.messages import ReportBody
from shoed.engine import Engine
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.session import SessionState
from shoed.session.open_shoe_device import OpenShoeDeviceSession
from tests.foreign_shoe import GLANCE_S, PtyShoe
from tests.open_shoe_line import MS, A
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import SHOED, World

ROUND = ("8S", "3H", "JD", "4C")  # a natural: the next card opens a round


class OpenShoe(PtyShoe):
    """It answers every request, unless it is deaf: then requests are lost."""

    def __init__(self, node: Path) -> None:
        super().__init__(node)
        self.role = OpenShoeDeviceSession(OpenShoeSettings(), version=2)
        self.state = self.role.begin(A)
        self.ahead_ms = 0
        self.deaf = False
        self.waking: asyncio.TimerHandle | None = None
        self.listening: asyncio.TimerHandle | None = None

    async def plug_in(self) -> None:
        await super().plug_in()
        self.listen()

    async def cut(self) -> None:
        for timer in (self.waking, self.listening):
            if timer is not None:
                timer.cancel()
        await super().cut()

    def read(self) -> None:
        with contextlib.suppress(OSError):  # no byte is available, or no host has the other end open
            while data := os.read(self.master, 4096):
                if not self.deaf:
                    self.hear(data)

    def listen(self) -> None:
        """A pseudo-terminal does not report that a host opens it: check repeatedly."""
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

    def report(self, *bodies: ReportBody) -> None:
        for each in bodies:
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


async def killed_after_the_commit(world: World, shoe: OpenShoe, text: str, cards: int) -> None:
    """The card is on the disk, and its acknowledgement does not arrive."""
    shoe.deaf = True
    shoe.report(card(text))
    await recorded(world, cards)
    await world.daemons[-1].kill()
    shoe.read()  # the frames that the daemon sent before the kill
    shoe.deaf = False


async def killed_before_the_commit(world: World, shoe: OpenShoe, text: str, cards: int) -> None:
    """The daemon has read the card; the test holds the database until the daemon is killed."""
    with world.journal.locked():
        shoe.report(card(text))
        await shoe.taken()
        await world.daemons[-1].kill()
    assert world.journal.count("card.drawn") == cards - 1


@pytest.mark.parametrize("kill", [killed_after_the_commit, killed_before_the_commit])
async def test_a_kill_between_commit_and_acknowledgement_takes_each_card_once(
    world: World, shoe: OpenShoe, kill: Callable[[World, OpenShoe, str, int], Awaitable[None]]
) -> None:
    """After three kills within a round, the round is complete, and the record folds again from its bytes."""
    await start(world, shoe)
    shoe.report(card(ROUND[0]))
    await acknowledged(world, shoe, 1)
    for cards, text in enumerate(ROUND[1:], start=2):
        await kill(world, shoe, text, cards)
        assert [each.body for each in shoe.state.store.kept] == [card(text)]
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


async def restart_in_sight(shoe: OpenShoe, _: list[ReportBody]) -> None:
    """The shoe sends HELLO on the open line."""
    shoe.state, out = shoe.role.opened(shoe.role.begin(A), shoe.at().at)
    shoe.write(out)


async def restart_unseen(shoe: OpenShoe, _: list[ReportBody]) -> None:
    """Its HELLO is lost."""
    shoe.state = shoe.role.begin(A)


async def restart_away(shoe: OpenShoe, rest: list[ReportBody]) -> None:
    """The shoe restarts while the cable is out; then it deals enough cards to reuse the due number."""
    await shoe.cut()
    shoe.state = shoe.role.begin(A)
    while len(rest) > 4:
        shoe.ahead_ms += 1000
        shoe.state, _ = shoe.role.say(shoe.state, rest.pop(0), shoe.at().at)
    await shoe.plug_in()


@pytest.mark.parametrize("restart", [restart_in_sight, restart_unseen, restart_away])
async def test_reused_numbers_under_the_same_stream_lose_no_card(
    world: World, shoe: OpenShoe, restart: Callable[[OpenShoe, list[ReportBody]], Awaitable[None]]
) -> None:
    """20 cards over a shoe that restarts in the second round: each card and the possible loss are published."""
    faces = ROUND * 5
    rest: list[ReportBody] = [card(text) for text in faces]
    await start(world, shoe)
    shoe.report(*(rest.pop(0) for _ in range(6)))
    await acknowledged(world, shoe, 6)
    await restart(shoe, rest)
    shoe.report(*rest)
    await world.daemons[-1].looking(lambda: world.journal.count("card.drawn", "card.set-aside") == len(faces))
    await world.daemons[-1].looking(lambda: not shoe.state.store.kept)
    await world.all_published()
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


async def test_a_shoe_is_online_after_its_hello(world: World, shoe: OpenShoe) -> None:
    """A silent line is not a shoe yet, and a line with noise is not."""
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


def test_a_capture_without_hello_is_decoded(tmp_path: Path) -> None:
    """A host that only listens accepts every report: here the second report of the page."""
    file = tmp_path / "line"
    file.write_bytes(
        bytes.fromhex("7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F")
    )
    command = [SHOED, "decode", "--protocol", "open-shoe", str(file)]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (printed["saw"], printed["card"], printed["frame"]["sequence"]) == ("CardSeen", "8S", "2")
