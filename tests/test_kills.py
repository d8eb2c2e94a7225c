"""A hundred kills of the daemon, where it hurts: nothing committed is lost, and no id is ever told with other data.

Theory of operation. A Run deals one endless shoe: some reports in peace, then one up to the place of the next kill.
After the kill a new daemon starts, and the shoe says the rest of its three copies, on a pty perhaps already while
nobody has the line open. So no report is ever lost altogether. The line is slow: no nine reports can pass while a
daemon restarts, so the sequences prove that, and every round has to come out complete. What a subscriber heard at the
broker, around the proxy, is compared with the journal again and again.
"""

import random
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from shoed.config import recall
from shoed.daemon import engine_of
from shoed.engine import Engine
from shoed.journal.replay import decode_again, rehearse
from shoed.journal.store import Reader
from shoed.rig.broker import Broker
from shoed.session import SessionState
from tests.foreign_shoe import COPIES, PtyShoe, Shoe, endless
from tests.mqtt_proxy import PUBACK, PUBLISH, Proxy, Way
from tests.witnesses import TABLE
from tests.world import World, shoe_on

EACH: Final = 10  # kills at each of the five places, on each of the two lines
GIVEN: Final = ("card.drawn", "round.confirmed")  # each report of the endless shoe gives one of these
TOPICS: Final = ("card/drawn", "round/confirmed")


class Run:
    """One shoe and its daemons, one after the other."""

    def __init__(self, world: World, shoe: Shoe, proxy: Proxy, rng: random.Random) -> None:
        self.world = world
        self.shoe = shoe
        self.proxy = proxy
        self.rng = rng
        self.reports = endless()
        self.cards: list[tuple[int, str, str]] = []  # round, hand and card, as the shoe showed them
        self.rounds = 0
        self.said = 0  # reports
        self.in_hand = False
        self.before = 0  # how many connections the proxy had had at the last kill
        self.places = (
            self.before_the_commit,
            self.after_the_commit,
            self.after_publish,
            self.after_puback,
            self.between_copies,
        )

    async def start(self) -> None:
        await self.world.start(self.shoe, port=self.proxy.port)
        await self.shoe.connected()

    async def kill(self) -> None:
        self.before = self.proxy.connections
        await self.world.daemons[-1].kill()
        await self.shoe.deserted()

    def report(self) -> bytes:
        """The next report of the shoe: one copy."""
        dealt, place, frame = next(self.reports)
        self.rounds += place == 0
        self.said += 1
        self.in_hand = place < len(dealt.drawn)
        if self.in_hand:
            self.cards.append((self.rounds, *dealt.drawn[place]))
        return frame

    async def deal(self) -> None:
        await self.shoe.send(self.report() * COPIES)

    async def begin(self, most: int) -> bytes:
        """Say one whole copy of the next report and perhaps more, at most so many copies; the rest of all three."""
        frame = self.report()
        cut = self.rng.choice((*range(1, most + 1), self.rng.uniform(1, most)))
        here = int(cut * len(frame))
        await self.shoe.send((frame * COPIES)[:here])
        return (frame * COPIES)[here:]

    def on_record(self) -> bool:
        return self.world.journal.count(*GIVEN) == self.said

    async def recorded(self) -> None:
        await self.world.daemons[-1].looking(self.on_record)

    def told(self) -> int:
        """Reports of which the subscriber has heard."""
        return len({event["id"] for event in self.world.recorder.events() if event["type"].endswith(GIVEN)})

    async def idle(self) -> None:
        """Everything is recorded, told, and acknowledged on a connection of this daemon's."""
        await self.recorded()
        proxy = self.proxy
        await proxy.until(lambda: proxy.connections > self.before and proxy.count(PUBACK, "question") > 0)
        await self.world.all_told()
        await proxy.until(lambda: proxy.count(PUBLISH, *TOPICS) == proxy.count(PUBACK, *TOPICS))

    # --- the places of a kill; each gives what the shoe has not said yet

    async def before_the_commit(self) -> bytes:
        """The daemon has read the report; the record is somebody else's until the daemon is dead."""
        await self.recorded()
        with self.world.journal.locked():
            rest = await self.begin(COPIES - 1)
            await self.shoe.taken()
            await self.kill()
        assert not self.on_record()
        return rest

    async def after_the_commit(self) -> bytes:
        """It is on record, and nothing of it passes to the broker."""
        await self.idle()
        self.proxy.hold(Way.UP)
        rest = await self.begin(COPIES)
        await self.recorded()
        await self.kill()
        assert self.told() == self.said - 1
        return rest

    async def after_publish(self) -> bytes:
        """The subscriber has it, and no acknowledgement passes to the daemon."""
        await self.idle()
        acknowledged = self.proxy.count(PUBACK, *TOPICS)
        self.proxy.hold(Way.DOWN)
        rest = await self.begin(COPIES)
        await self.recorded()
        await self.world.all_told()
        await self.kill()
        assert self.told() == self.said
        assert self.proxy.count(PUBACK, *TOPICS) == acknowledged
        return rest

    async def after_puback(self) -> bytes:
        """Its acknowledgement has just passed to the daemon."""
        await self.idle()
        acknowledged = self.proxy.count(PUBACK, *TOPICS)
        rest = await self.begin(COPIES)
        await self.proxy.until(lambda: self.proxy.count(PUBACK, *TOPICS) > acknowledged)
        await self.kill()
        return rest

    async def between_copies(self) -> bytes:
        """The first copy is on record, and the others or their halves come to the next daemon."""
        await self.recorded()
        rest = await self.begin(COPIES - 1)
        await self.recorded()
        await self.kill()
        return rest

    async def go(self, kills_each: int) -> None:
        kills = list(self.places) * kills_each
        self.rng.shuffle(kills)
        await self.start()
        for kill in kills:
            for _ in range(self.rng.randint(0, 3)):
                await self.deal()
            rest = await kill()
            await self.proxy.cut()
            self.proxy.release()
            buffered = isinstance(self.shoe, PtyShoe) and self.rng.random() < 0.5
            if buffered:
                await self.shoe.send(rest)
            await self.start()
            if not buffered:
                await self.shoe.send(rest)
        while self.in_hand:
            await self.deal()
        await self.idle()


def engine_for(settings: str) -> Engine[SessionState]:
    return engine_of(recall(settings), "")


@pytest.mark.parametrize(("line", "seed"), [("pty", 1), ("tcp", 2)])
async def test_fifty_kills_lose_nothing_and_invent_nothing(
    tmp_path: Path, broker: Broker, line: str, seed: int
) -> None:
    """Ten each before and after the commit, after PUBLISH, after PUBACK and between copies; then a replay."""
    async with (
        World(tmp_path, broker) as world,
        shoe_on(line, tmp_path) as shoe,
        Proxy(broker.host, broker.port) as proxy,
    ):
        run = Run(world, shoe, proxy, random.Random(seed))
        await run.go(EACH)
        assert len(world.daemons) == 1 + len(run.places) * EACH
        assert await world.daemons[-1].stop() == 0
        await world.all_told()

        record = world.journal.events()
        assert {int(event["sequence"]) for event in world.recorder.events()} == {row.sequence for row in record}
        drawn = [row.data for row in record if row.type == "card.drawn"]
        assert [(card["round"], card["hand"], card["card"]) for card in drawn] == run.cards
        completed = [row.data for row in record if row.type == "round.completed"]
        assert [each["round"] for each in completed] == list(range(1, run.rounds + 1))
        assert {each["integrity"] for each in completed} == {"complete"}
        types = {row.type for row in record}
        assert not types & {"card.set-aside", "round.suspended", "round.abandoned", "round.disputed", "line.missed"}

        with closing(Reader(world.journal.path)) as reader:
            differences = chain(rehearse(reader, TABLE, engine_for), decode_again(reader, TABLE, engine_for))
            assert list(differences) == []
