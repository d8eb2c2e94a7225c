"""Messages published twice, retained messages beside the events, and messages that the broker denies."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from shoed.rig.broker import BrokerKind, running_broker
from tests.foreign_shoe import COPIES, ROUNDS, TcpShoe, drawn, endless
from tests.witnesses import TABLE
from tests.world import World


async def test_acknowledged_events_are_not_published_again_after_a_clean_stop(world: World) -> None:
    """The cursor is committed, so the next start publishes only later events."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        assert await daemon.stop() == 0
        await world.all_published()
        count = len(world.recorder.events())
        daemon = await world.serve(shoe)
        await world.recorder.event("device.online", number=2)
        assert await daemon.stop() == 0
        await world.recorder.event("device.offline", number=2)
        again = world.recorder.events()[count:]
        assert [event["type"] for event in again] == ["shoed.device.online", "shoed.device.offline"]


async def test_the_state_is_published_also_while_events_do_not_pause(world: World) -> None:
    """After a crash, the retained state shows how far the events were published."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        numbers = Counter[str]()
        for _, _, frame in islice(endless(), 60):
            kind = "round.confirmed" if frame[2:3] == b"G" else "card.drawn"
            numbers[kind] += 1
            await shoe.send(frame * COPIES)
            await world.recorder.event(kind, number=numbers[kind])
    topics = [message.topic.removeprefix(f"{TABLE}/") for message in world.recorder.messages]
    first, last = topics.index("event/round/started"), len(topics) - topics[::-1].index("event/card/drawn")
    assert topics[first:last].count("state") > 1


async def test_the_question_of_a_suspended_round_stays_retained_in_the_next_round(world: World) -> None:
    """It contains the due card and the seen card, like the event. The next round does not wait for its answer."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.say(drawn("P1", "8S"), drawn("P2", "3H"))
        suspended = await world.recorder.event("round.suspended")
        asked = await world.recorder.until(
            lambda: next((each for each in world.recorder.on(f"{TABLE}/question") if each.payload), None)
        )
        assert asked.json | suspended == asked.json
        await shoe.say(drawn("P1", "8S"))
        last = await world.recorder.until(
            lambda: next((each for each in world.recorder.on(f"{TABLE}/question")[2:] if each.json["optional"]), None)
        )
        assert (last.json["id"], last.json["round"], last.json["question"]) == ("1", 1, "reading")


async def test_a_broker_may_accept_one_message_at_a_time(tmp_path: Path) -> None:
    """Its Receive Maximum is 1: the state and the question that changes with it are sent one after the other."""
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=["max_inflight_messages 1"]) as narrow,
        World(tmp_path, narrow) as world,
        TcpShoe() as shoe,
    ):
        daemon = await world.serve(shoe)
        await shoe.connected()
        await shoe.say(drawn("P1", "8S"), drawn("P2", "3H"))
        await world.recorder.until(lambda: any(each.payload for each in world.recorder.on(f"{TABLE}/question")) or None)
        assert await daemon.stop() == 0
        await world.all_published()
        assert [each["status"] for each in world.recorder.statuses()] == ["online", "offline"]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
async def test_denied_events_are_kept(tmp_path: Path, version: str) -> None:
    """The broker accepts births and denies events: the status contains the reason, and the cursor does not move."""
    allowed = tmp_path / "allowed"
    kinds = ("status", "state", "question")
    allowed.write_text("".join(f"topic readwrite shoed/v1/+/+/{kind}\n" for kind in kinds))
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=[f"acl_file {allowed}"]) as strict,
        World(tmp_path, strict) as world,
        TcpShoe() as shoe,
    ):
        await world.start(shoe, version=version)
        await world.recorder.until(
            lambda: any("access list" in status["reason"] for status in world.recorder.statuses())
        )
        assert world.journal.ask("SELECT * FROM cursor") == []


async def test_a_journal_that_cannot_be_read_is_replaced(world: World) -> None:
    """At the start. The new journal names the reason, and the table continues."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(ROUNDS[0])
        await world.all_published()
        assert await daemon.stop() == 0
        ((page,),) = world.journal.ask("SELECT rootpage FROM sqlite_schema WHERE name = 'cursor'")
        with world.journal.path.open("r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 4096)
        await world.start(shoe)
        continued = await world.recorder.event("journal.continued", reason="damaged")
        assert continued["known"] == len(world.recorder.events()) - 1
