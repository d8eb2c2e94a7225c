"""The main task, from the wire to the subscribers: `shoed run`, a real broker, and a shoe without code of shoed."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.foreign_shoe import ROUNDS, Round, TcpShoe, report
from tests.witnesses import TABLE
from tests.world import LINES, World, shoe_on

VERSIONS = ("5", "3.1.1")


def events_of(
    dealt: Round, *, shoe: int, number: int, shoe_integrity: str = "partial"
) -> list[tuple[str, dict[str, Any]]]:
    """The documented events of a round without irregularities, without `provenance`."""
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
async def test_complete_rounds_are_published_as_documented(world: World, line: str, version: str) -> None:
    """Rounds with 4, 5 and 6 cards, naturals, pairs and ties have exactly these events, in this order."""
    async with shoe_on(line, world.place) as shoe:
        await world.serve(shoe, version=version)
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        await world.settled(shoe)
    published = [without_provenance(event) for event in world.recorder.events()]
    expected = [event for number, dealt in enumerate(ROUNDS, 1) for event in events_of(dealt, shoe=1, number=number)]
    assert published[1:-1] == expected
    assert (published[0][0], published[-1][0]) == ("device.online", "device.changed")


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_birth_messages_precede_every_event(world: World, version: str) -> None:
    """Status, state and an empty question are retained messages; then the events follow."""
    async with TcpShoe() as shoe:
        await world.serve(shoe, version=version)
    received = world.recorder.messages
    births = [message.topic for message in received if message.topic.endswith("status")]
    assert births == [f"{TABLE}/status"]
    birth = received[:3]
    assert [message.topic for message in birth] == [f"{TABLE}/{each}" for each in ("status", "state", "question")]
    assert all(message.retain for message in birth)
    first = next(message for message in received if "/event/" in message.topic)
    assert (first.topic, first.retain) == (f"{TABLE}/event/device/online", False)
    assert received[2].payload == b""
    status = received[0].json
    assert status["status"] == "online"
    assert status["version"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", status["birth"])


async def test_the_envelope_is_cloudevents(world: World) -> None:
    """The keys specversion, id, source, type, time and sequence are as documented; live events are not historical."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
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


async def test_the_provenance_of_a_card_is_the_row_of_its_bytes(world: World) -> None:
    """The first valid copy of its frame ends within the bytes of the row."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
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


async def test_a_frame_in_single_bytes_is_one_card(world: World) -> None:
    """The card is drawn at the last byte of its frame."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        for byte in bytes.fromhex(ROUNDS[0].frames[0]):
            await shoe.send(bytes([byte]))
            await shoe.taken()
        card = await world.recorder.event("card.drawn")
        assert card["card"] == "8S"
        before, here = world.journal.arrival(card["provenance"])
        assert (before + here).endswith(bytes.fromhex(ROUNDS[0].frames[0]))


async def test_the_state_is_complete_for_a_new_subscriber(world: World) -> None:
    """Within a round it has phase, shoe, round, hands with points, the previous round and the device."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
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
    """A state never includes an event that is published after it."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
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
async def test_a_corrupted_first_copy_has_no_effect(world: World, line: str) -> None:
    """The second copy is the card; the corrupted copy is published as rejected."""
    async with shoe_on(line, world.place) as shoe:
        await world.serve(shoe)
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


async def test_equal_reports_after_nine_reports_are_not_copies(world: World) -> None:
    """Sequence numbers return to 1 after 9: the same bytes are another card."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        for _ in range(4):  # five reports and four without a card: the next round has the same bytes
            await shoe.deal(ROUNDS[0])
            await shoe.say("P", "P", "P", "P")
        await world.recorder.event("round.confirmed", round=4)
        await world.settled(shoe)
    assert [card["card"] for card in world.recorder.of("card.drawn")] == ["8S", "3H", "JD", "4C"] * 4
    assert world.recorder.of("line.rejected") == []


async def test_the_same_number_with_other_bytes_is_accepted_with_a_warning(world: World) -> None:
    """Some shoes do not advance the number: the card is drawn, and `line.clashed` is published."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.send(report("1", "D 81 B8") * 3 + report("1", "D 91 C3") * 3)
        assert (await world.recorder.event("card.drawn", index=2))["card"] == "3H"
        (clash,) = world.recorder.of("line.clashed")
        assert clash["sequence"] == "1"
        assert bytes.fromhex(clash["bytes"]) == report("1", "D 91 C3")


async def test_by_default_nothing_is_written_to_the_shoe(world: World) -> None:
    """Errors, locks and invalid bytes of the shoe cause no byte of the daemon."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.say("S", "E C1", "e 81", "L 81", "L 80", "C", "S")
        await shoe.send(b"\x02OPGP00\x03AA\x06\x1521")
        await world.settled(shoe)
        await daemon.stop()
        await shoe.deserted()
        assert shoe.heard == b""
