"""Fifty kills of the daemon per line, at critical places: no event is lost, and no id is published with other data.

Theory of operation. A Run deals one endless shoe: some reports without a kill, then one report up to the place of the
next kill. After the kill a new daemon starts, and the shoe sends the rest of its three copies; on a pty it may send
them before the daemon opens the line. So no report is lost completely. The line is slow: fewer than nine reports can
pass while a daemon restarts. The sequence numbers prove this, so every round must be complete. The messages at the
broker, outside the proxy, are repeatedly compared with the journal.
"""

import random
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from shoed.engine import Engine
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.rig.broker import Broker
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.session import SessionState
from tests.foreign_shoe import COPIES, PtyShoe, Shoe, endless
from tests.mqtt_proxy import PUBACK, PUBLISH, Proxy, Way
from tests.witnesses import TABLE
from tests.world import World, shoe_on

EACH: Final = 10  # kills at each of the five places, on each of the two lines
GIVEN: Final = ("card.drawn", "round.confirmed")  # each report of the endless shoe causes one of these events
TOPICS: Final = ("card/drawn", "round/confirmed")


class Run:
    """One shoe and its daemons, one after another."""

    def __init__(self, world: World, shoe: Shoe, proxy: Proxy, rng: random.Random) -> None:
        self.world = world
        self.shoe = shoe
        self.proxy = proxy
        self.rng = rng
        self.reports = endless()
        self.cards: list[tuple[int, str, str]] = []  # round, hand and card, as sent by the shoe
        self.rounds = 0
        self.sent = 0  # reports
        self.in_hand = False
        self.before = 0  # the connections of the proxy before the last kill
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
        self.sent += 1
        self.in_hand = place < len(dealt.drawn)
        if self.in_hand:
            self.cards.append((self.rounds, *dealt.drawn[place]))
        return frame

    async def deal(self) -> None:
        await self.shoe.send(self.report() * COPIES)

    async def begin(self, most: int) -> bytes:
        """Send between one and `most` copies of the next report; return the unsent bytes of its three copies."""
        frame = self.report()
        cut = self.rng.choice((*range(1, most + 1), self.rng.uniform(1, most)))
        here = int(cut * len(frame))
        await self.shoe.send((frame * COPIES)[:here])
        return (frame * COPIES)[here:]

    def on_record(self) -> bool:
        return self.world.journal.count(*GIVEN) == self.sent

    async def recorded(self) -> None:
        await self.world.daemons[-1].looking(self.on_record)

    def published_reports(self) -> int:
        """The reports whose events the subscriber has received."""
        return len({event["id"] for event in self.world.recorder.events() if event["type"].endswith(GIVEN)})

    async def idle(self) -> None:
        """Everything is recorded, published, and acknowledged on a connection of this daemon."""
        await self.recorded()
        proxy = self.proxy
        await proxy.until(lambda: proxy.connections > self.before and proxy.count(PUBACK, "question") > 0)
        await self.world.all_published()
        await proxy.until(lambda: proxy.count(PUBLISH, *TOPICS) == proxy.count(PUBACK, *TOPICS))

    # --- the places of a kill; each returns the bytes that the shoe has not sent yet

    async def before_the_commit(self) -> bytes:
        """The daemon has read the report. Another connection locks the journal until the daemon is killed."""
        await self.recorded()
        with self.world.journal.locked():
            rest = await self.begin(COPIES - 1)
            await self.shoe.taken()
            await self.kill()
        assert not self.on_record()
        return rest

    async def after_the_commit(self) -> bytes:
        """The report is recorded, and none of its events reaches the broker."""
        await self.idle()
        self.proxy.hold(Way.UP)
        rest = await self.begin(COPIES)
        await self.recorded()
        await self.kill()
        assert self.published_reports() == self.sent - 1
        return rest

    async def after_publish(self) -> bytes:
        """The subscriber has the event, and no acknowledgement reaches the daemon."""
        await self.idle()
        acknowledged = self.proxy.count(PUBACK, *TOPICS)
        self.proxy.hold(Way.DOWN)
        rest = await self.begin(COPIES)
        await self.recorded()
        await self.world.all_published()
        await self.kill()
        assert self.published_reports() == self.sent
        assert self.proxy.count(PUBACK, *TOPICS) == acknowledged
        return rest

    async def after_puback(self) -> bytes:
        """The acknowledgement of the event has just reached the daemon."""
        await self.idle()
        acknowledged = self.proxy.count(PUBACK, *TOPICS)
        rest = await self.begin(COPIES)
        await self.proxy.until(lambda: self.proxy.count(PUBACK, *TOPICS) > acknowledged)
        await self.kill()
        return rest

    async def between_copies(self) -> bytes:
        """The first copy is recorded, and the next daemon receives the rest of the copies."""
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
async def test_fifty_kills_lose_no_event_and_add_no_event(tmp_path: Path, broker: Broker, line: str, seed: int) -> None:
    """Ten kills each: before and after the commit, after PUBLISH, after PUBACK and between copies; then a replay."""
    async with (
        World(tmp_path, broker) as world,
        shoe_on(line, tmp_path) as shoe,
        Proxy(broker.host, broker.port) as proxy,
    ):
        run = Run(world, shoe, proxy, random.Random(seed))
        await run.go(EACH)
        assert len(world.daemons) == 1 + len(run.places) * EACH
        assert await world.daemons[-1].stop() == 0
        await world.all_published()

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
