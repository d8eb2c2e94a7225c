"""Device orders on a real line: `shoed tell`, the daemon, a pty, and the virtual shoe of the rig."""

from contextlib import closing
from typing import Final

import pytest

from shoed.engine import Engine
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.session import SessionState
from tests.command_clients import Finished, shoed
from tests.test_rig import Rig, rig
from tests.witnesses import TABLE
from tests.world import World

ALLOWED: Final = "allow_orders = true\norder_timeout_ms = 60000"  # no answer of the shoe is too late
OVERDRAW: Final = """
[[step]]
fault = "overdraw"

[[step]]
after_ms = 600000  # the shoe stays on the line
cut = true
"""


async def serve(world: World, shoe: Rig, settings: str = ALLOWED) -> None:
    daemon = await world.launch(world.configure(shoe, shoe_settings=settings))
    await daemon.ready()
    await world.recorder.event("device.online")


async def tell(world: World, command: str, *words: str, role: str = "dealer") -> Finished:
    return await shoed("tell", "--state-dir", world.state_dir, TABLE, command, *words, f"--role={role}", "--author=ann")


def engine_for(word: str, settings: str) -> Engine[SessionState]:
    return engine_of(recall(settings), word)


async def verified(world: World) -> None:
    """Subscribers received the recorded events, and a replay of the journal gives the same events."""
    await world.all_published()
    assert await world.daemons[-1].stop() == 0
    with closing(Reader(world.state_dir / "journal.db")) as reader:
        for replay in (rehearse, decode_again):
            assert list(replay(reader, TABLE, lambda settings: engine_for(reader.word, settings))) == []


def sent(order: str) -> Finished:
    """The output of an accepted order. The answer of the device is an event."""
    return Finished(0, f"{TABLE}: the order to {order} is sent to the shoe\n", "")


async def test_an_acknowledged_order_is_published_with_its_report(world: World) -> None:
    """Each of lock and unlock is answered with ACK, and then with the report L."""
    async with rig("--pty", str(world.place / "tty"), "--seed=1") as shoe:
        await serve(world, shoe)
        for command, changed in (("lock", "device.locked"), ("unlock", "device.unlocked")):
            assert await tell(world, command) == sent(command)
            answered = await world.recorder.event("device.order-answered", order=command, result="acknowledged")
            assert answered == {
                "device": "shoe",
                "order": command,
                "card": None,
                "result": "acknowledged",
                "detail": "",
                "author": "ann",
                "role": "dealer",
            }
            await world.recorder.event(changed)
            await world.recorder.event("device.order-answered", order=command, result="reported")
        await verified(world)


async def test_an_overdraw_is_cleared_with_the_decision_about_its_card(world: World) -> None:
    """A pit supervisor clears it; without the decision the command is refused."""
    scenario = world.place / "overdraw.toml"
    scenario.write_text(OVERDRAW)
    async with rig("--pty", str(world.place / "tty"), "--scenario", str(scenario)) as shoe:
        await serve(world, shoe)
        await world.recorder.event("device.fault", name="overdraw")
        done = await tell(world, "clear-fault", role="pit-supervisor")
        assert (done.status, done.out) == (1, "")
        assert "add card=use or card=discard" in done.err
        assert (await tell(world, "clear-fault", "card=discard")).status == 1
        assert (await tell(world, "clear-fault", "card=discard", role="pit-supervisor")).status == 0
        await world.recorder.event("device.order-answered", card="discard", result="acknowledged")
        await world.recorder.event("device.cleared", name="overdraw")
        await world.recorder.event("device.order-answered", card="discard", result="reported")
        await verified(world)


@pytest.mark.parametrize("answer", ["nak-21", "nak-byte-21"])
async def test_a_refused_order_is_published_with_its_code(world: World, answer: str) -> None:
    """The code is two digits or one byte; the shoe is not locked."""
    async with rig("--pty", str(world.place / "tty"), "--seed=1", "--answer", answer) as shoe:
        await serve(world, shoe)
        assert await tell(world, "lock") == sent("lock")
        await world.recorder.event("device.order-answered", order="lock", result="refused", detail="21: busy")
        await verified(world)
    assert world.recorder.of("device.locked") == []


async def test_a_missing_answer_is_published_after_the_time_limit(world: World) -> None:
    """A deadline of the daemon ends the order; no report of the shoe is necessary."""
    async with rig("--pty", str(world.place / "tty"), "--seed=1", "--answer=silence", "--no-report") as shoe:
        await serve(world, shoe, "allow_orders = true\norder_timeout_ms = 500")
        assert await tell(world, "lock") == sent("lock")
        await world.recorder.event("device.order-answered", order="lock", result="silent", detail="no answer in time")
        await verified(world)


async def test_an_order_that_is_not_allowed_is_not_sent(world: World) -> None:
    """Orders are not allowed by default. The answer has the remedy, and the shoe is not locked."""
    async with rig("--pty", str(world.place / "tty"), "--seed=1") as shoe:
        await serve(world, shoe, "")
        done = await tell(world, "lock")
        assert (done.status, done.out) == (1, "")
        assert done.err == (
            "shoe: orders to this device are not allowed; set allow_orders = true in its section and reload shoed\n"
        )
        await world.recorder.event("card.drawn", number=2)
        await verified(world)
    assert world.recorder.of("device.order-answered") + world.recorder.of("device.locked") == []
