"""`shoed status`: the state of a running daemon over its command socket."""

import re
import shlex
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.command_clients import Finished, shoed
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe
from tests.witnesses import TABLE
from tests.world import World


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def status(world: World, *words: str) -> Finished:
    return await shoed("status", "--state-dir", world.state_dir, *words)


async def as_json(world: World) -> Any:  # noqa: ANN401 -- JSON has any shape
    found = await status(world, "--json")
    assert (found.status, found.err) == (0, "")
    return msgspec.json.decode(found.out)


async def test_it_shows_the_round_the_devices_and_the_broker(world: World, shoe: TcpShoe) -> None:
    """The hands have their cards and points."""
    await world.serve(shoe)
    await shoe.say(*NATURAL[:2])
    await world.settled(shoe)
    found = await status(world)
    assert (found.status, found.err) == (0, "")
    text = " ".join(found.out.split())
    assert f"at {world.site}: runs for" in text
    assert f"journal {world.state_dir}; " in text
    assert "bac-901 commission, shoe 1, round 1, dealing player 8S (8) banker 3H (3)" in text
    assert f"shoe online; angel-eye at {shoe.port}?" not in text
    assert f"shoe online; angel-eye at {shoe.port}; last bytes" in text
    assert "broker online; every event is acknowledged" in text


async def test_programs_get_the_messages_of_the_broker(world: World, shoe: TcpShoe) -> None:
    """`state` and `question` are the retained messages of the table."""
    await world.serve(shoe)
    await shoe.deal(ROUNDS[0])
    await world.settled(shoe)
    assert (await shoed("tell", "--state-dir", world.state_dir, TABLE, "other", "--role=dealer")).status == 0
    await world.recorder.event("question.asked")
    sequence = str(world.journal.events()[-1].sequence)
    await world.recorder.until(lambda: world.recorder.states()[-1]["sequence"] == sequence)
    question = await world.recorder.until(
        lambda: [each for each in world.recorder.on(f"{TABLE}/question") if each.payload]
    )
    (table,) = (await as_json(world))["tables"]
    assert table["state"] == world.recorder.states()[-1]
    assert table["question"] == question[-1].json
    assert table["broker"] == {"online": True, "reason": None, "backlog": 0}


async def test_each_command_that_it_prints_answers_the_question(world: World, shoe: TcpShoe) -> None:
    """The command has the role, and names the daemon."""
    await world.serve(shoe)
    for word in ("open-bets", "other"):
        assert (await shoed("tell", "--state-dir", world.state_dir, TABLE, word, "--role=dealer")).status == 0
    found = await status(world)
    commands = re.findall(r"^ +(shoed tell .*)$", found.out, re.MULTILINE)
    assert [re.findall("choice=(.*?) ", each) for each in commands] == [["continue"], ["void"]]
    assert (await shoed(*shlex.split(commands[0])[1:])).status == 0
    assert (await world.recorder.event("question.answered"))["choice"] == ["continue"]
    assert "question" not in (await status(world)).out


async def test_without_a_broker_it_counts_the_backlog(world: World, shoe: TcpShoe) -> None:
    """The count includes the events of earlier daemons."""
    daemon = await world.start(shoe, port=1)
    await daemon.looking(lambda: world.journal.count("device.online"))
    await daemon.stop()
    daemon = await world.start(shoe, port=1)
    await daemon.looking(lambda: world.journal.count("device.online") == 2)
    found = await as_json(world)
    assert found["tables"][0]["broker"]["backlog"] == len(world.journal.events())
    assert found["tables"][0]["broker"]["online"] is False


async def test_a_hung_journal_does_not_delay_the_answer(world: World, shoe: TcpShoe) -> None:
    """A card that is not committed is not shown."""
    await world.serve(shoe)
    with world.journal.locked():
        await shoe.say(NATURAL[0])
        found = await as_json(world)
        while not found["journal"]["waiting"]:
            found = await as_json(world)
        assert found["journal"]["committing_s"] > 0
        assert found["tables"][0]["state"]["hands"]["player"]["cards"] == []
    await world.recorder.event("card.drawn")


async def test_without_a_daemon_it_is_status_3(world: World) -> None:
    """The error has the remedy."""
    found = await status(world)
    assert (found.status, found.out) == (3, "")
    assert "shoed does not run in this state directory" in found.err
    assert "start shoed" in found.err


async def test_an_unknown_table_is_refused(world: World, shoe: TcpShoe) -> None:
    """One known table is shown alone."""
    async with TcpShoe() as second:
        await world.start(shoe, second)
        assert await status(world, "bac-999") == Finished(1, "", "bac-999: no such table; known: bac-901, bac-902\n")
        found = await status(world, "bac-902")
        assert (found.status, "bac-901" in found.out, "bac-902" in found.out) == (0, False, True)
