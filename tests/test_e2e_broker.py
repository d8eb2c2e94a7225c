"""The broker: absent, killed, frozen, refusing; and what the world hears when it is back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

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
    await world.all_told()
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
    await world.all_told()
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    drawn_ = {event["data"]["index"]: event for event in world.recorder.events() if event["type"].endswith("drawn")}
    assert [drawn_[index].get("historical") for index in (3, 4)] == [True, None]


async def test_a_frozen_broker_costs_time_and_no_memory(world: World) -> None:
    """Thousands of cards pass a broker that takes none; the daemon stays as large as it was, and then all arrives."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.connected()
        reports = endless()

        async def deal(cards: int = 4000) -> int:
            """So many cards, and the results between them; what the daemon then holds, in KB."""
            target = world.journal.count("card.drawn") + cards
            while cards:
                dealt, place, frame = next(reports)
                cards -= place < len(dealt.drawn)
                await shoe.send(frame)
            await daemon.looking(lambda: world.journal.count("card.drawn") == target)
            return daemon.resident_kb

        before_kb = max([await deal() for _ in range(3)])  # as large as such heaps of bytes make it
        world.broker.pause()
        after_kb = max([await deal() for _ in range(4)])
        assert after_kb - before_kb < 4096  # those events alone are twice as much
        world.broker.resume()
        await world.all_told()
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
    await world.all_told()


async def test_a_stolen_connection_disturbs_no_other_table(world: World) -> None:
    """Somebody takes one table's client id: that table comes back with a new birth, the other never notices."""
    async with TcpShoe() as one, TcpShoe() as other:
        await world.serve(one, other)
        await one.connected()
        await other.connected()
        await one.say(*HAND[:2])
        await other.say(*HAND[:2])
        await world.recorder.event("card.drawn", "bac-902", index=2)
        name = f"shoed-{world.site}-{TABLE}".encode()
        reader, writer = await asyncio.open_connection(world.broker.host, world.broker.port)
        # CONNECT of MQTT 3.1.1, clean session, keep-alive 60 s
        writer.write(bytes([0x10, 12 + len(name)]) + b"\x00\x04MQTT\x04\x02\x00\x3c" + bytes([0, len(name)]) + name)
        assert await reader.readexactly(4) == b"\x20\x02\x00\x00"
        await other.say(HAND[2])
        await world.recorder.event("card.drawn", "bac-902", index=3)
        assert await reader.read() == b""  # the table has taken it back
        writer.close()
        await world.recorder.online(births=2)
        await one.say(*HAND[2:], result("player"))
        await other.say(HAND[3], result("player"))
        for table in (TABLE, "bac-902"):
            await world.recorder.event("round.confirmed", table)
            await world.all_told(table)
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
            await proxy.cut()
            await world.recorder.until(lambda size=begun: len(world.recorder.messages) > size + 3)
            births_topics = [
                message.topic.removeprefix(f"{TABLE}/")
                for message in world.recorder.messages[begun:]
                if not message.topic.endswith("state") and "offline" not in message.payload.decode()
            ]
            assert births_topics[:2] == ["status", "question"]
            assert len(world.recorder.on(f"{TABLE}/question")) == births + 1
            shoe.lose(4)  # sequences of the next round
    await world.all_told()
