"""The line to the shoe: absent, cut, noisy and quiet lines, and the round on them."""

import random
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.foreign_shoe import NATURAL, ROUNDS, PtyShoe, Shoe, TcpShoe, report, result
from tests.witnesses import TABLE
from tests.world import LINES, World, shoe_on


@pytest.fixture(params=LINES)
async def shoe(world: World, request: pytest.FixtureRequest) -> AsyncIterator[Shoe]:
    """A shoe that is online, on either kind of line."""
    async with shoe_on(request.param, world.place) as shoe:
        await world.serve(shoe)
        yield shoe


async def away(world: World, shoe: Shoe) -> None:
    """Cut the line until the device is offline, and restore it until the device is online."""
    cuts = len(world.recorder.of("device.offline"))
    await shoe.cut()
    await world.recorder.event("device.offline", number=cuts + 1)
    await shoe.plug_in()
    await world.recorder.event("device.online", number=cuts + 2)
    await shoe.connected()


async def test_a_shoe_that_is_connected_later_is_opened(world: World, tmp_path: Path) -> None:
    """The daemon is ready without the shoe and publishes `device.offline` with the reason."""
    async with PtyShoe(tmp_path / "tty") as shoe:
        await shoe.cut()
        await world.start(shoe)
        offline = await world.recorder.event("device.offline")
        assert offline["reason"]
        assert world.recorder.of("device.online") == []
        await shoe.plug_in()
        await world.recorder.event("device.online")
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
    assert len(world.recorder.of("device.offline")) == 1


async def test_a_cut_cable_is_published_with_its_reason_and_its_return(world: World, shoe: Shoe) -> None:
    """There is one `device.offline`, even if the node disappears after the line; the state shows the link."""
    await shoe.cut()
    offline = await world.recorder.event("device.offline")
    assert offline["reason"]
    await world.recorder.until(lambda: world.recorder.states()[-1]["device"]["link"] == "offline")
    await shoe.plug_in()
    await world.recorder.event("device.online", number=2)
    await world.recorder.until(lambda: world.recorder.states()[-1]["device"]["link"] == "online")
    assert len(world.recorder.of("device.offline")) == 1


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_a_cut_within_a_hand_has_no_effect_if_no_number_is_missing(world: World, shoe: Shoe, after: int) -> None:
    """The sequence number proves that no report was missed: this round and the next one are complete."""
    await shoe.say(*NATURAL[:after])
    await world.recorder.event("card.drawn", index=after)
    await away(world, shoe)
    await shoe.say(*NATURAL[after:], result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert [each["integrity"] for each in world.recorder.of("round.completed")] == ["complete", "complete"]
    assert world.recorder.of("round.suspended") == []


async def test_a_cut_between_the_copies_of_a_card_makes_no_second_card(world: World, shoe: Shoe) -> None:
    """The two copies after the return are still copies."""
    raw = report(str(shoe.sequence + 1), NATURAL[0])
    await shoe.say(NATURAL[0], copies=1)
    await world.recorder.event("card.drawn", index=1)
    await away(world, shoe)
    await shoe.send(raw * 2)
    await shoe.say(*NATURAL[1:], result("player"))
    await world.recorder.event("round.confirmed")
    assert [card["card"] for card in world.recorder.of("card.drawn")] == ["8S", "3H", "JD", "4C"]
    assert world.recorder.of("card.set-aside") == []
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"


async def test_copies_from_before_a_start_make_no_second_card(world: World, tmp_path: Path) -> None:
    """The daemon is off for longer than the repeat window: the reports after its start are copies, not a new round."""
    async with PtyShoe(tmp_path / "tty") as shoe:
        path = world.configure(shoe, shoe_settings="repeat_window_ms = 100")  # shorter than any start
        first = await world.launch(path)
        await first.ready()
        raw = report("1", NATURAL[0])
        await shoe.say(NATURAL[0], copies=1)
        await world.recorder.event("card.drawn")
        await first.kill()
        await shoe.send(raw * 2)
        await (await world.launch(path)).ready()
        await shoe.say(*NATURAL[1:], result("player"))
        await world.recorder.event("round.confirmed")
        await world.all_published()
        assert [row.data["card"] for row in world.journal.events() if row.type == "card.drawn"] == [
            "8S",
            "3H",
            "JD",
            "4C",
        ]
        assert world.recorder.of("round.abandoned") == []


async def test_a_round_with_a_loss_waits_for_a_person_and_the_next_one_is_complete(world: World, shoe: Shoe) -> None:
    """A report is lost while the line is cut: without an answer the round has no result."""
    await shoe.say(*NATURAL[:2])
    await world.recorder.event("card.drawn", index=2)
    shoe.lose()
    await away(world, shoe)
    await shoe.say(*NATURAL[2:], result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.abandoned", round=1)
    await world.recorder.event("round.confirmed", round=2)
    assert [each["integrity"] for each in world.recorder.of("round.completed")] == ["complete"]


async def test_a_card_lost_in_a_cut_suspends_with_the_gap_named(world: World, shoe: Shoe) -> None:
    """The event has the due card, the reported card, and the gap."""
    await shoe.say(*NATURAL[:2])
    await world.recorder.event("card.drawn", index=2)
    shoe.lose()
    await away(world, shoe)
    await shoe.say(*NATURAL[3:])
    suspended = await world.recorder.event("round.suspended")
    assert suspended["gap"] is True
    assert (suspended["due"]["hand"], suspended["due"]["index"]) == ("player", 3)
    assert (suspended["seen"]["hand"], suspended["seen"]["card"]) == ("banker", "4C")
    assert [card["reason"] for card in world.recorder.of("card.set-aside")] == ["not-due"]


async def test_a_cut_between_rounds_does_not_mark_the_next_one(world: World, shoe: Shoe) -> None:
    """A gap belongs to the round that was open during the gap."""
    await shoe.say(*NATURAL, result("player"))
    await world.recorder.event("round.confirmed")
    shoe.lose(3)
    await away(world, shoe)
    await shoe.say(*NATURAL[:1], NATURAL[3])
    suspended = await world.recorder.event("round.suspended")
    assert suspended["gap"] is False


async def test_noise_of_any_kind_is_rejected_and_the_line_recovers(world: World, shoe: Shoe) -> None:
    """Random bytes arrive between rounds: every card is accepted, and the other bytes are published as rejected.

    Of each reason, the first rejection is published at once, and later ones together every ten seconds.
    """
    rng = random.Random(20)
    for dealt in ROUNDS:
        await shoe.send(rng.randbytes(rng.randint(1, 60)))
        await shoe.deal(dealt)
    await world.recorder.event("round.completed", round=len(ROUNDS))
    cards = [card["card"] for card in world.recorder.of("card.drawn")]
    assert cards == [card for dealt in ROUNDS for _, card in dealt.drawn]
    assert {each["integrity"] for each in world.recorder.of("round.completed")} == {"complete"}
    published: dict[str, list[datetime]] = {}
    for event in world.recorder.events():
        if event["type"] == "shoed.line.rejected":
            published.setdefault(event["data"]["reason"], []).append(datetime.fromisoformat(event["time"]))
    assert "junk" in published
    for moments in published.values():
        assert all(later - earlier >= timedelta(seconds=10) for earlier, later in pairwise(moments))


async def test_rejections_are_counted_for_ten_seconds_and_a_silent_line_is_quiet(world: World, tmp_path: Path) -> None:
    """The first rejection is published at once, and the others together after ten seconds."""
    async with TcpShoe() as noisy, PtyShoe(tmp_path / "tty") as silent:
        path = world.configure(noisy, silent, shoe_settings="quiet_after_s = 10")
        await (await world.launch(path)).ready()
        await world.recorder.event("device.online")
        await noisy.connected()
        for number in range(1, 8):
            await noisy.send(b"\x05%dX\x0300" % number)
        first = await world.recorder.event("line.rejected")
        assert first["count"] == 1
        await world.settled(noisy)
        assert len(world.recorder.of("line.rejected")) == 1

        quiet = await world.recorder.event("device.quiet", "bac-902")
        assert quiet["since"]
        counted = await world.recorder.event("line.rejected", number=2)
        assert counted["count"] == 6
        assert bytes.fromhex(counted["bytes"]) == b"\x057X\x0300"
        states = world.recorder.states
        await world.recorder.until(lambda: states("bac-902")[-1]["device"]["link"] == "quiet")
        await silent.say("P")
        await world.recorder.until(lambda: states("bac-902")[-1]["device"]["link"] == "online")


async def test_a_cut_line_does_not_affect_another_table(world: World, tmp_path: Path) -> None:
    """One daemon has three tables: one line is cut repeatedly, and the rounds of the others are complete."""
    async with TcpShoe() as one, TcpShoe() as other, PtyShoe(tmp_path / "tty") as third:
        await world.serve(one, other, third)
        for place, body in enumerate((*NATURAL, result("player"))):
            await other.say(body)
            await third.say(body)
            if place % 2 == 0:
                await away(world, one)
        for table in ("bac-902", "bac-903"):
            await world.recorder.event("round.confirmed", table)
            assert world.recorder.of("device.offline", table) == []
            assert world.recorder.of("round.completed", table)[0]["integrity"] == "complete"
            assert len(world.recorder.statuses(table)) == 1
            assert [event["sequence"] for event in world.recorder.events(table)] == [
                str(number) for number in range(1, 9)
            ]
        assert len(world.recorder.of("device.offline", TABLE)) == 3
