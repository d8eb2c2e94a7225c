"""The broker is absent, killed, frozen or refusing; the events after its return."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, endless, result
from tests.mqtt_proxy import Proxy
from tests.witnesses import TABLE
from tests.world import World


@pytest.fixture
async def own_broker() -> AsyncIterator[Broker]:
    """A broker that a test may kill, and that keeps every message for a slow recorder."""
    async with running_broker(BrokerKind.MOSQUITTO, lines=["max_queued_messages 0"]) as running:
        yield running


@pytest.fixture
async def world(tmp_path: Path, own_broker: Broker) -> AsyncIterator[World]:
    async with World(tmp_path, own_broker) as world:
        yield world


async def test_a_broker_and_a_shoe_that_start_later_are_connected(world: World) -> None:
    """Both are absent at the start. Events before the connection are historical, later events are not."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        await proxy.shut()
        await shoe.cut()
        daemon = await world.start(shoe, port=proxy.port)
        await daemon.looking(lambda: world.journal.count("device.offline"))
        await shoe.plug_in()
        await shoe.connected()
        await shoe.deal(*ROUNDS[:3])
        await daemon.looking(lambda: world.journal.count("round.confirmed") == 3)
        last = world.journal.events()[-1].sequence
        await proxy.open()
        await world.recorder.event("round.confirmed", round=3)
        await shoe.deal(*ROUNDS[3:])
        await world.recorder.event("round.confirmed", round=6)
        await world.all_published()
        birth = [message.topic for message in world.recorder.messages[:3]]
        assert birth == [f"{TABLE}/{each}" for each in ("status", "state", "question")]
        events = world.recorder.events()
        assert events[0]["type"] == "shoed.device.offline"
        assert [event.get("historical") for event in events] == [True] * last + [None] * (len(events) - last)


async def test_no_event_is_lost_when_the_broker_is_killed_during_a_hand(world: World) -> None:
    """Cards are drawn while the broker is down. After its return the other events of the hand have the same ids."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        daemon = await world.start(shoe, port=proxy.port)
        await shoe.connected()
        await shoe.say(*NATURAL[:2])
        await world.recorder.event("card.drawn", index=2)
        world.broker.kill()
        await proxy.shut()
        await shoe.say(NATURAL[2])
        await daemon.looking(lambda: world.journal.count("card.drawn") == 3)
        await world.broker.start()
        await world.recorder.listen(world.broker)
        await proxy.open()
        await world.recorder.event("card.drawn", index=3)
        await shoe.say(NATURAL[3], result("player"))
        await world.recorder.event("round.confirmed")
        assert await daemon.stop() == 0
        await world.all_published()
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    drawn_ = {event["data"]["index"]: event for event in world.recorder.events() if event["type"].endswith("drawn")}
    assert [drawn_[index].get("historical") for index in (3, 4)] == [True, None]


async def test_a_frozen_broker_needs_no_memory_of_the_daemon(world: World) -> None:
    """Thousands of cards are dealt while the broker does not read. The memory does not grow, and all events arrive."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        reports = endless()

        async def deal(cards: int = 3000) -> int:
            """Deal this number of cards, with their results; return the daemon's memory in KB."""
            target = world.journal.count("card.drawn") + cards
            while cards:
                dealt, place, frame = next(reports)
                cards -= place < len(dealt.drawn)
                await shoe.send(frame)
            await daemon.looking(lambda: world.journal.count("card.drawn") == target)
            return daemon.resident_kb

        before_kb = max([await deal() for _ in range(3)])  # the size with such amounts of bytes
        world.broker.pause()
        after_kb = max([await deal() for _ in range(4)])
        assert after_kb - before_kb < 4096  # the events alone have twice this size
        world.broker.resume()
        await world.all_published()
    assert {each["integrity"] for each in world.recorder.of("round.completed")} == {"complete"}


async def test_a_frozen_broker_does_not_delay_the_journal(world: World) -> None:
    """A full connection pauses only the publisher: cards are committed while no event can be published."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        world.broker.pause()
        await shoe.deal(*ROUNDS)
        await daemon.looking(lambda: world.journal.count("round.confirmed") == len(ROUNDS))
        assert world.recorder.of("card.drawn") == []
        world.broker.resume()
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        await world.all_published()


async def test_a_stolen_connection_does_not_affect_other_tables(world: World) -> None:
    """A client uses the client id of one table. That table publishes a new birth; the other table is not affected."""
    async with TcpShoe() as one, TcpShoe() as other:
        await world.serve(one, other)
        await one.say(*NATURAL[:2])
        await other.say(*NATURAL[:2])
        await world.recorder.event("card.drawn", "bac-902", index=2)
        name = f"shoed-{world.site}-{TABLE}".encode()
        reader, writer = await asyncio.open_connection(world.broker.host, world.broker.port)
        # CONNECT of MQTT 3.1.1, clean session, keep-alive 60 s
        writer.write(bytes([0x10, 12 + len(name)]) + b"\x00\x04MQTT\x04\x02\x00\x3c" + bytes([0, len(name)]) + name)
        assert await reader.readexactly(4) == b"\x20\x02\x00\x00"
        await other.say(NATURAL[2])
        await world.recorder.event("card.drawn", "bac-902", index=3)
        assert await reader.read() == b""  # the table has connected again
        writer.close()
        await world.recorder.born(times=2)
        await one.say(*NATURAL[2:], result("player"))
        await other.say(NATURAL[3], result("player"))
        for table in (TABLE, "bac-902"):
            await world.recorder.event("round.confirmed", table)
            await world.all_published(table)
        assert len(world.recorder.statuses("bac-902")) == 1
        assert len(world.recorder.on("bac-902/question")) == 1


async def test_a_broker_that_refuses_events_gets_few_attempts(tmp_path: Path) -> None:
    """Births are allowed, events are not. Every attempt is a birth, and each pause is longer than the previous one."""
    allowed = tmp_path / "allowed"
    allowed.write_text("".join(f"topic write shoed/v1/+/+/{kind}\n" for kind in ("status", "state", "question")))
    allowed.write_text(allowed.read_text() + "topic read #\n")
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=[f"acl_file {allowed}"]) as strict,
        World(tmp_path, strict) as world,
        TcpShoe() as shoe,
    ):
        await world.start(shoe)
        await world.recorder.born(times=6)
        born = [status["birth"] for status in world.recorder.statuses() if status["status"] == "online"]
        pauses = [after - before for before, after in pairwise(map(datetime.fromisoformat, born))]
        assert pauses[-1] > timedelta(seconds=0.4)
        assert world.recorder.events() == []


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_every_connection_begins_with_a_birth(world: World, version: str) -> None:
    """The connection is cut three times. Each time, status, state and question are published before any event."""
    async with TcpShoe() as shoe, Proxy(world.broker.host, world.broker.port) as proxy:
        await world.start(shoe, port=proxy.port, version=version)
        await shoe.connected()
        for births in (1, 2, 3, 4):
            await world.recorder.born(times=births)
            await shoe.say(*NATURAL, result("player"))
            await world.recorder.event("round.confirmed", round=births)
            await world.all_published()
            if births < 4:
                await proxy.cut()
        messages = world.recorder.messages
        for place, message in enumerate(messages):
            if message.topic == f"{TABLE}/status" and message.json["status"] == "online":
                assert [each.topic for each in messages[place + 1 : place + 3]] == [
                    f"{TABLE}/state",
                    f"{TABLE}/question",
                ]
        reasons = [(status["status"], status["reason"]) for status in world.recorder.statuses()]
        assert [status for status, _ in reasons] == ["online", *["offline", "online"] * 3]
