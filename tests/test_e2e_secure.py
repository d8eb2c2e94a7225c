"""A daemon, a broker and an Open Shoe with a key, over a pseudo-terminal and over TCP; and attackers on the line."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.channel import UNKEYED
from firmware_protocols.open_shoe.codec import seal
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.service.config import recall
from shoed.service.engines import engine_of
from tests.keyed_shoe import KEY, OTHER_KEY, KeyedShoe, attacked, write_key
from tests.open_shoe_line import A
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import Ported, World

ROUND = ("8S", "3H", "JD", "4C")  # a natural: the next card opens a round


async def start(world: World, shoe: Ported, key: bytes | None = KEY, more: str = "") -> None:
    settings = more
    if key is not None:
        settings += f'\nkey_file = "{write_key(world.place / "shoe.key", key)}"'
    daemon = await world.launch(world.configure(shoe, protocol="open-shoe", shoe_settings=settings))
    await daemon.ready()


@pytest.fixture(params=["pty", "tcp"])
async def shoe(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KeyedShoe]:
    async with KeyedShoe(node=tmp_path / "tty" if request.param == "pty" else None) as shoe:
        yield shoe


def device_of(world: World) -> dict[str, object]:
    state: dict[str, object] = world.recorder.states()[-1]["device"] if world.recorder.states() else {}
    return state


async def offline_with(world: World, words: str) -> str:
    """Wait until the state of an offline device has such a reason, and return the reason."""

    def reason() -> str:
        device = device_of(world)
        return str(device["reason"]) if device.get("link") == "offline" and words in str(device.get("reason")) else ""

    return await world.recorder.until(reason)


def judged_again(world: World) -> None:
    """The record folds to the same observations and events, without the key."""
    (world.place / "shoe.key").unlink(missing_ok=True)
    with closing(Reader(world.state_dir / "journal.db")) as reader:
        assert [*rehearse(reader, TABLE, lambda settings: engine_of(recall(settings), reader.word))] == []
        assert [*decode_again(reader, TABLE, lambda settings: engine_of(recall(settings), reader.word))] == []


async def test_a_round_is_published(world: World, shoe: KeyedShoe) -> None:
    """Both ends have the same key; the record contains plain frames, and no key."""
    await start(world, shoe)
    await world.recorder.event("device.online")
    shoe.deal(*ROUND)
    await world.recorder.event("round.completed")
    await world.daemons[-1].stop()
    with closing(Reader(world.state_dir / "journal.db")) as reader:
        steps = [*reader.step(TABLE, 1, reader.last_row(TABLE))]
    texts = "".join(each.input + each.observations + each.after_noise for each in steps)
    assert "key_file" in texts
    assert KEY.hex() not in texts
    assert all(KEY not in each.sent + (each.received or b"") for each in steps)
    assert KEY not in (world.state_dir / "journal.db").read_bytes()
    assert KEY.hex() not in str(world.daemons[-1])
    judged_again(world)


async def test_a_killed_daemon_continues(world: World, shoe: KeyedShoe) -> None:
    """Its next session is another one, and contains the reports that the daemon missed."""
    await start(world, shoe)
    shoe.deal(*ROUND[:2])
    await world.recorder.event("card.drawn", number=2)
    await world.daemons[-1].kill()
    shoe.deal(*ROUND[2:])
    await start(world, shoe)
    await world.recorder.event("round.completed")
    assert world.journal.count("card.drawn") == 4


async def test_a_device_that_restarts_reconnects(world: World, shoe: KeyedShoe) -> None:
    """The line stays open: UNKEYED begins a session, and the port is never closed."""
    await start(world, shoe)
    shoe.deal(*ROUND)
    await world.recorder.event("round.completed")
    # After the acknowledgement of a later report, no acknowledgement of the round is under way: it would delete reports
    # of the same numbers.
    await world.daemons[-1].looking(lambda: not shoe.has_kept)
    shoe.report(theirs.Lock(locked=False))
    await world.daemons[-1].looking(lambda: not shoe.has_kept)
    shoe.restart()
    shoe.deal(*ROUND)
    await world.recorder.event("line.missed")
    await world.recorder.event("card.set-aside", card="4C")
    assert world.recorder.of("device.offline") == []


async def test_another_key_is_reported(world: World) -> None:
    """Within two seconds, once, in the state and in the event; no report is accepted."""
    async with KeyedShoe(OTHER_KEY) as shoe:
        await start(world, shoe)
        reason = await offline_with(world, "is not the key in key_file")
        assert reason == (
            f"{shoe.port}: the key of the device is not the key in key_file; "
            "write the key of this device into the file, then restart shoed"
        )
        shoe.deal(*ROUND)
        assert world.recorder.of("device.online") == []
        assert [each["reason"] for each in world.recorder.of("device.offline")].count(reason) == 1


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_device_without_a_key_is_reported(world: World, version: int) -> None:
    """The device sends HELLO in plain frames. No card of this device is accepted."""
    async with KeyedShoe(None, version=version) as shoe:
        await start(world, shoe)
        reason = await offline_with(world, "outside the secure channel")
        assert f"of version {version}" in reason
        assert "give the device its key, or remove key_file from the table" in reason
        shoe.deal(*ROUND)
        assert world.recorder.of("card.drawn") == []


async def test_a_device_with_a_key_is_doubted_if_the_table_has_no_key_file(world: World) -> None:
    """The events are a rejection that names `key_file`, and `device.doubted` with `key-needed`; no `device.online`."""
    async with KeyedShoe() as shoe:
        await start(world, shoe, key=None)
        rejected = await world.recorder.event("line.rejected")
        assert "key_file" in rejected["detail"]
        await world.recorder.event("device.doubted", reason="key-needed")
        assert world.recorder.of("device.online") == []


async def test_a_silent_device_is_reported(world: World) -> None:
    """A port without a byte is not open."""
    async with KeyedShoe() as shoe:
        shoe.fall_silent()
        await start(world, shoe)
        await offline_with(world, "no byte arrived from the device within 2 s")


async def test_an_attacker_who_injects_gets_nothing(world: World) -> None:
    """A CARD, an ACK and an ORDER in plain frames: the first is reported, the others have no effect at the device."""
    async with attacked() as (shoe, attacker):
        await start(world, attacker)
        await world.recorder.event("device.online")
        forged = build(theirs.OpenShoeReport(3, 1, A, 10**12, card("9S")))
        attacker.inject(forged)
        rejected = await world.recorder.event("line.rejected")
        assert (rejected["reason"], bytes.fromhex(rejected["bytes"])) == ("unsealed", forged)
        for request in (theirs.OpenShoeAcknowledge(A, 1), theirs.OpenShoeOrder(theirs.OrderKind.LOCK)):
            attacker.inject(build(theirs.OpenShoeRequest(3, request)), to_device=True)
        attacker.inject(seal(UNKEYED))
        attacker.inject(seal(UNKEYED), to_device=True)
        shoe.deal(*ROUND)
        await world.recorder.event("round.completed")
        assert [each["card"] for each in world.recorder.of("card.drawn")] == [*ROUND]
        assert not shoe.device.locked
        assert world.recorder.of("device.offline") == []
        await world.daemons[-1].stop()
        judged_again(world)


async def test_an_attacker_who_replays_gets_nothing(world: World) -> None:
    """Recorded frames of both directions are sent again: each copy is reported, and no card is recorded twice."""
    async with attacked() as (shoe, attacker):
        await start(world, attacker)
        await world.recorder.event("device.online")
        shoe.deal(*ROUND)
        await world.recorder.event("round.completed")
        for data in tuple(attacker.to_host):
            attacker.inject(data)
        for data in tuple(attacker.to_device):
            attacker.inject(data, to_device=True)
        await world.recorder.event("line.rejected", reason="not-authentic")
        shoe.deal("2C")
        await world.recorder.event("card.drawn", number=5)
        assert [each["card"] for each in world.recorder.of("card.drawn")] == [*ROUND, "2C"]
        await world.daemons[-1].stop()
        judged_again(world)


async def test_a_wrong_key_file_stops_the_start(world: World) -> None:
    """The problem has its line, its key, and the remedy; no byte of the file is shown."""
    async with KeyedShoe() as shoe:
        path = world.place / "shoe.key"
        path.write_text("hunter2")
        path.chmod(0o400)
        daemon = await world.launch(world.configure(shoe, protocol="open-shoe", shoe_settings=f'key_file = "{path}"'))
        assert await daemon.ended() == 1
        assert f"table.shoe.key_file: {path} does not contain a key; write 32 hexadecimal digits" in str(daemon)
        assert "hunter2" not in str(daemon)
