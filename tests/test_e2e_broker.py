"""The broker: absent, killed, frozen, refusing; and what the world hears when it is back."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiomqtt
import pytest

from shoed.rig.broker import Broker, Kind, running_broker
from tests.foreign_shoe import COPIES, ROUNDS, TcpShoe, drawn, endless, result
from tests.mqtt_proxy import Proxy
from tests.world import TABLE, World

HAND = (drawn("P1", "8S"), drawn("B1", "3H"), drawn("P2", "JD"), drawn("B2", "4C"))


@pytest.fixture
async def own_broker() -> AsyncIterator[Broker]:
    """A broker that a test may do harm to, and that throws nothing away while the recorder is behind."""
    async with running_broker(Kind.MOSQUITTO, lines=["max_queued_messages 0"]) as running:
        yield running


@pytest.fixture
async def world(tmp_path: Path, own_broker: Broker) -> AsyncIterator[World]:
    async with World(tmp_path, own_broker) as world:
        yield world


def assert_gapless(world: World, table: str = TABLE) -> None:
    """What the subscriber heard is the journal: in order from 1, nothing missing, equal data under an id always."""
    heard = world.recorder.events(table)
    first_time: dict[int, str] = {}
    for event in heard:
        number = int(event["sequence"])
        assert number <= len(first_time) + 1, f"{number} came before {len(first_time) + 1}"
        assert first_time.setdefault(number, event["id"]) == event["id"]
    record = {row.sequence: row for row in world.journal.events(table)}
    assert sorted(first_time) == sorted(record) == list(range(1, len(record) + 1))
    for event in heard:
        row = record[int(event["sequence"])]
        assert (event["type"], event["data"]) == (f"shoed.{row.type}", row.data)


async def test_a_broker_that_comes_later_gets_all_in_order(world: World) -> None:
    """Everything before the connection is historical, everything after it is not; nothing is missing."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        await proxy.shut()
        await world.start(shoe, port=proxy.port)
        await shoe.connected()
        await shoe.deal(*ROUNDS[:3])
        last = await world.daemons[0].looking(
            lambda: world.journal.count("round.confirmed") == 3 and world.journal.events()[-1].sequence
        )
        await proxy.open()
        await world.recorder.event("round.confirmed", round=3)
        await shoe.deal(*ROUNDS[3:])
        await world.recorder.event("round.confirmed", round=6)
    topics = [message.topic.removeprefix(f"{TABLE}/") for message in world.recorder.messages[:4]]
    assert topics == ["status", "state", "question", "event/device/online"]
    assert_gapless(world)
    events = world.recorder.events()
    assert [event.get("historical") for event in events] == [True] * last + [None] * (len(events) - last)


async def test_a_broker_killed_within_a_hand_misses_nothing(world: World) -> None:
    """Cards are drawn while it is down; after its return the hand is told to its end, under the same ids."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        daemon = await world.start(shoe, port=proxy.port)
        await shoe.connected()
        await shoe.say(*HAND[:2])
        await world.recorder.event("card.drawn", index=2)
        world.broker.kill()
        await proxy.shut()
        await shoe.say(HAND[2])
        await daemon.looking(lambda: world.journal.count("card.drawn") == 3)
        await world.broker.start()
        await world.recorder.listen(world.broker)
        await proxy.open()
        await world.recorder.event("card.drawn", index=3)
        await shoe.say(HAND[3], result("player"))
        await world.recorder.event("round.confirmed")
        assert await daemon.stop() == 0
    assert_gapless(world)
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    drawn_ = {event["data"]["index"]: event for event in world.recorder.events() if event["type"].endswith("drawn")}
    assert [drawn_[index].get("historical") for index in (3, 4)] == [True, None]


async def test_a_frozen_broker_costs_time_and_no_memory(world: World) -> None:
    """Thousands of cards pass a broker that takes none; the daemon stays as large as it was, and then all arrives."""
    cards = 12_000
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.connected()
        reports = endless()

        async def deal(number: int) -> None:
            """So many cards, and the results between them."""
            seen = world.journal.count("card.drawn")
            target = seen + number
            while seen < target:
                dealt, place, frame = next(reports)
                seen += place < len(dealt.drawn)
                await shoe.send(frame)
            await daemon.looking(lambda: world.journal.count("card.drawn") == target, patience_s=60)

        await deal(1000)
        await world.recorder.until(lambda: len(world.recorder.of("card.drawn")) == 1000)
        world.broker.pause()
        await deal(1000)
        before_kb = daemon.resident_kb
        await deal(cards)
        assert daemon.resident_kb - before_kb < 4096  # those events alone are some 6 MB
        world.broker.resume()
        last = str(world.journal.events()[-1].sequence)
        await world.recorder.until(lambda: world.recorder.messages[-1].payload.find(last.encode()) > 0, patience_s=60)
        await world.recorder.until(lambda: world.recorder.events()[-1]["sequence"] == last, patience_s=60)
    assert_gapless(world)
    assert {each["integrity"] for each in world.recorder.of("round.completed")} == {"complete"}


async def test_a_frozen_broker_does_not_hold_up_the_journal(world: World) -> None:
    """A full line pauses the publisher and nothing else: cards are committed while nothing can be told."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.connected()
        world.broker.pause()
        await shoe.deal(*ROUNDS)
        await daemon.looking(lambda: world.journal.count("round.confirmed") == len(ROUNDS))
        assert world.recorder.of("card.drawn") == []
        world.broker.resume()
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
    assert_gapless(world)


async def test_a_stolen_connection_disturbs_no_other_table(world: World) -> None:
    """Somebody takes one table's client id: that table comes back with a new birth, the other never notices."""
    async with TcpShoe() as one, TcpShoe() as other:
        await world.serve(one, other)
        await one.connected()
        await other.connected()
        await one.say(*HAND[:2])
        await other.say(*HAND[:2])
        await world.recorder.event("card.drawn", "bac-902", index=2)
        async with aiomqtt.Client(
            world.broker.host, world.broker.port, identifier=f"shoed-{world.site}-{TABLE}"
        ) as thief:
            await thief.publish(f"shoed/v1/{world.site}/thief", b"here", qos=1)
            await other.say(HAND[2])
            await world.recorder.event("card.drawn", "bac-902", index=3)
        await world.recorder.online(births=2)
        await one.say(*HAND[2:], result("player"))
        await other.say(HAND[3], result("player"))
        for table in (TABLE, "bac-902"):
            await world.recorder.event("round.confirmed", table)
            assert_gapless(world, table)
        assert len(world.recorder.statuses("bac-902")) == 1
        assert len(world.recorder.on("bac-902/question")) == 1


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_every_connection_begins_with_a_birth(world: World, version: str) -> None:
    """The line to the broker is cut twice: status, state, question come anew each time, and no event twice for it."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        await world.start(shoe, port=proxy.port, version=version)
        await shoe.connected()
        for births in (1, 2, 3):
            await world.recorder.online(births=births)
            await shoe.deal(ROUNDS[0], copies=COPIES)
            await world.recorder.event("round.confirmed", round=births)
            begun = len(world.recorder.messages)
            proxy.cut()
            await world.recorder.until(lambda size=begun: len(world.recorder.messages) > size + 3)
            births_topics = [
                message.topic.removeprefix(f"{TABLE}/")
                for message in world.recorder.messages[begun:]
                if not message.topic.endswith("state") and "offline" not in message.payload.decode()
            ]
            assert births_topics[:2] == ["status", "question"]
            assert len(world.recorder.on(f"{TABLE}/question")) == births + 1
            shoe.lose(4)  # sequences of the next round
    assert_gapless(world)
