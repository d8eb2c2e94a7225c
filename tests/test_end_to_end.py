"""The main job, from the wire to the world: `shoed run`, a real broker, and a shoe that shares nothing with us."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.foreign_shoe import ROUNDS, Round, TcpShoe, report
from tests.witnesses import TABLE
from tests.world import LINES, World, shoe_on

VERSIONS = ("5", "3.1.1")


def told(dealt: Round, *, shoe: int, number: int, shoe_integrity: str = "partial") -> list[tuple[str, dict[str, Any]]]:
    """What the contract says of a whole round without irregularities, but for the provenance of its cards."""
    place = {"shoe": shoe, "round": number}
    result = {"outcome": dealt.outcome, "pairs": list(dealt.pairs)}
    events: list[tuple[str, dict[str, Any]]] = [
        (
            "round.started",
            place | {"game": "commission", "opened_by": "card", "shoe_integrity": shoe_integrity},
        )
    ]
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for index, (hand, card) in enumerate(dealt.drawn, start=1):
        hands[hand].append(card)
        totals = {each: points(cards) for each, cards in hands.items()}
        events.append(("card.drawn", place | {"index": index, "hand": hand, "card": card, "points": totals}))
    final = {
        "player": {"cards": list(dealt.player), "points": dealt.points[0]},
        "banker": {"cards": list(dealt.banker), "points": dealt.points[1]},
    }
    events.append(("round.completed", place | {"game": "commission"} | final | result | {"integrity": "complete"}))
    events.append(("round.confirmed", place | {"ours": result, "theirs": result}))
    return events


def points(cards: list[str]) -> int:
    worth = {"A": 1, "10": 0, "J": 0, "Q": 0, "K": 0}
    return sum(worth[card[:-1]] if card[:-1] in worth else int(card[:-1]) for card in cards) % 10


def without_provenance(event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    data = {key: value for key, value in event["data"].items() if key != "provenance"}
    return event["type"].removeprefix("shoed."), data


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("version", VERSIONS)
async def test_whole_rounds_become_exactly_the_events_of_the_contract(world: World, line: str, version: str) -> None:
    """Six rounds, with 4, 5 and 6 cards, naturals, pairs and ties: every event, its data and order; nothing else."""
    async with shoe_on(line, world.place) as shoe:
        await world.serve(shoe, version=version)
        await shoe.connected()
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        await world.settled(shoe)
    heard = [without_provenance(event) for event in world.recorder.events()]
    expected = [event for number, dealt in enumerate(ROUNDS, 1) for event in told(dealt, shoe=1, number=number)]
    assert heard[1:-1] == expected
    assert (heard[0][0], heard[-1][0]) == ("device.online", "device.changed")


@pytest.mark.parametrize("version", VERSIONS)
async def test_birth_comes_in_order_before_any_event(world: World, version: str) -> None:
    """Status, state, question, each retained and the question empty; then the backlog."""
    async with TcpShoe() as shoe:
        await world.serve(shoe, version=version)
    heard = world.recorder.messages
    births = [message.topic for message in heard if message.topic.endswith("status")]
    assert births == [f"{TABLE}/status"]
    # Under 3.1.1 the state may be preceded by nothing else than the status either.
    assert [message.topic.removeprefix(f"{TABLE}/") for message in heard[:4]] == [
        "status",
        "state",
        "question",
        "event/device/online",
    ]
    assert [message.retain for message in heard[:4]] == [True, True, True, False]
    assert heard[2].payload == b""
    status = heard[0].json
    assert status["status"] == "online"
    assert status["version"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", status["birth"])


async def test_envelope_is_cloudevents_with_our_names_and_numbers(world: World) -> None:
    """specversion, id, source, type, time and sequence as the contract has them; live events are not historical."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        before = datetime.now(UTC)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        after = datetime.now(UTC)
    live = world.recorder.events()[1:]
    word = world.journal.word
    assert re.fullmatch("[a-z0-9]+", word)
    for number, event in enumerate(live, start=2):
        assert event["specversion"] == "1.0"
        assert event["id"] == f"{word}-{TABLE}-{number}"
        assert event["source"] == f"/shoed/{world.site}/{TABLE}"
        assert event["sequence"] == str(number)
        assert "historical" not in event
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["time"])
        assert before - timedelta(seconds=1) < datetime.fromisoformat(event["time"]) < after
    assert {message.qos for message in world.recorder.messages} == {1}
    messages = [message for message in world.recorder.messages if "/event/" in message.topic]
    for message in messages:
        noun, verb = message.json["type"].removeprefix("shoed.").split(".")
        assert message.topic == f"{TABLE}/event/{noun}/{verb}"
        assert not message.retain


async def test_a_card_points_to_the_bytes_that_it_was_made_of(world: World) -> None:
    """Its provenance is a row of the journal, and the first good copy of its frame ends in that row's bytes."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
    cards = world.recorder.of("card.drawn")
    frames = [bytes.fromhex(frame) for dealt in ROUNDS for frame in dealt.frames[:-1]]
    assert len(cards) == len(frames)
    seen: dict[bytes, int] = {}
    for card, frame in zip(cards, frames, strict=True):
        before, here = world.journal.arrival(card["provenance"])
        end = (before + here).index(frame, seen.get(frame, 0)) + len(frame)
        seen[frame] = end
        assert len(before) < end <= len(before) + len(here)


async def test_a_frame_that_comes_byte_by_byte_is_one_card(world: World) -> None:
    """The line cuts where it likes: the card is taken at its last byte."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        for byte in bytes.fromhex(ROUNDS[0].frames[0]):
            await shoe.send(bytes([byte]))
            await shoe.taken()
        card = await world.recorder.event("card.drawn")
        assert card["card"] == "8S"
        before, here = world.journal.arrival(card["provenance"])
        assert (before + here).endswith(bytes.fromhex(ROUNDS[0].frames[0]))


async def test_state_draws_the_table_for_a_late_joiner(world: World) -> None:
    """In the middle of a hand: phase, shoe, round, hands with points, the round before and the device."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await shoe.repeat(ROUNDS[1].frames[:3])
        await world.recorder.event("card.drawn", round=2, index=3)
        await world.recorder.until(lambda: world.recorder.states()[-1]["sequence"] == "12")
        await world.recorder.listen(world.broker)
        assert world.recorder.on(f"{TABLE}/state")[-1].retain
        state = world.recorder.states()[-1]
        assert (state["phase"], state["shoe"], state["round"]) == ("dealing", 1, 2)
        assert state["hands"] == {
            "player": {"cards": ["2D", "3S"], "points": 5},
            "banker": {"cards": ["KC"], "points": 0},
        }
        last = state["last_round"]
        assert (last["shoe"], last["round"]) == (1, 1)
        assert last["result"] == {"outcome": "player", "pairs": []}
        device = state["device"]
        assert (device["link"], device["fault"]) == ("online", None)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", device["heard_at"])
        assert await daemon.stop() == 0


async def test_every_state_follows_the_events_that_it_includes(world: World) -> None:
    """A subscriber that reads states and events never sees a state that knows more than it was told."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        last = world.recorder.events()[-1]["sequence"]
        await world.recorder.until(lambda: world.recorder.states()[-1]["sequence"] == last)
    events = 0
    for message in world.recorder.messages[3:]:
        if message.topic == f"{TABLE}/state":
            assert int(message.json["sequence"]) <= events
        elif "/event/" in message.topic:
            events = int(message.json["sequence"])


@pytest.mark.parametrize("line", LINES)
async def test_a_corrupted_first_copy_does_no_harm(world: World, line: str) -> None:
    """The second copy is the card: one event, under the time and the row of the good copy, and a rejected frame."""
    async with shoe_on(line, world.place) as shoe:
        await world.serve(shoe)
        await shoe.connected()
        good = bytes.fromhex(ROUNDS[0].frames[0])
        bad = good[:4] + bytes([good[4] ^ 0x04]) + good[5:]
        await shoe.send(bad + good + good)
        shoe.sequence = 1
        await shoe.repeat(ROUNDS[0].frames[1:])
        await world.recorder.event("round.confirmed")
        assert [card["card"] for card in world.recorder.of("card.drawn")] == ["8S", "3H", "JD", "4C"]
        (rejected,) = world.recorder.of("line.rejected")
        assert bytes.fromhex(rejected["bytes"]) == bad
        assert rejected["offset"] == 0
        assert rejected["reason"]


async def test_equal_reports_nine_later_are_no_copies(world: World) -> None:
    """Sequences wrap after 9: the same bytes come again in honest play and are a card each time."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        for _ in range(4):  # 1 to 5 and four more that are no cards: the next round has the same bytes
            await shoe.deal(ROUNDS[0])
            await shoe.say("P", "P", "P", "P")
        await world.recorder.event("round.confirmed", round=4)
        await world.settled(shoe)
    assert [card["card"] for card in world.recorder.of("card.drawn")] == ["8S", "3H", "JD", "4C"] * 4
    assert world.recorder.of("line.rejected") == []


async def test_same_sequence_with_other_bytes_is_taken_and_warned_of(world: World) -> None:
    """Some shoes do not advance: the report counts, and the clash is told."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        await shoe.send(report("1", "D 81 B8") * 3 + report("1", "D 91 C3") * 3)
        assert (await world.recorder.event("card.drawn", index=2))["card"] == "3H"
        (clash,) = world.recorder.of("line.clashed")
        assert clash["sequence"] == "1"
        assert bytes.fromhex(clash["bytes"]) == report("1", "D 91 C3")


async def test_nothing_is_ever_written_to_a_shoe_unasked(world: World) -> None:
    """Read-only is the default: a whole shoe with errors and locks hears not one byte from us."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.connected()
        await shoe.say("S", "E C1", "e 81", "L 81", "L 80", "C", "S")
        await shoe.send(b"\x02OPGP00\x03AA\x06\x1521")
        await world.settled(shoe)
        await daemon.stop()
        await shoe.deserted()
        assert shoe.heard == b""
