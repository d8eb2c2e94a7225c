"""Rounds that do not go by the book, and shoes that lie: what the daemon makes of them, from the wire to the world."""

import random
from collections.abc import AsyncIterator

import pytest

from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, drawn, face, report, result
from tests.world import World


@pytest.fixture
async def shoe(world: World) -> AsyncIterator[TcpShoe]:
    """A shoe that the daemon listens to."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        yield shoe


def story(world: World) -> list[str]:
    """The types of the events, without those of device and line."""
    types = [event["type"].removeprefix("shoed.") for event in world.recorder.events()]
    return [each for each in types if each.split(".")[0] in {"shoe", "round", "card"}]


def drawn_cards(world: World, number: int) -> list[tuple[str, str]]:
    return [(card["hand"], card["card"]) for card in world.recorder.of("card.drawn") if card["round"] == number]


# ---------------------------------------------------------------------------------------------- cards not due


async def test_three_bad_copies_suspend_the_round_at_the_next_card(world: World, shoe: TcpShoe) -> None:
    """The lost card is rejected bytes; the next one is not due, and the question says what was due and seen."""
    lost = report("2", drawn("B1", "3H"))
    await shoe.say(NATURAL[0])
    await shoe.send((lost[:-1] + b"0") * 3)
    shoe.lose()
    await shoe.say(NATURAL[2], NATURAL[3])
    await world.settled(shoe)
    assert bytes.fromhex(world.recorder.of("line.rejected")[0]["bytes"]) == lost[:-1] + b"0"
    (suspended,) = world.recorder.of("round.suspended")
    assert (suspended["shoe"], suspended["round"], suspended["gap"]) == (1, 1, False)
    assert (suspended["due"]["hand"], suspended["due"]["index"]) == ("banker", 2)
    assert (suspended["seen"]["hand"], suspended["seen"]["card"]) == ("player", "JD")
    assert drawn_cards(world, 1) == [("player", "8S")]
    assert [(card["card"], card["reason"]) for card in world.recorder.of("card.set-aside")] == [
        ("JD", "not-due"),
        ("4C", "not-due"),
    ]
    await world.recorder.until(lambda: world.recorder.states()[-1]["phase"] == "suspended")


@pytest.mark.parametrize(
    ("before", "lie", "due"),
    [
        ((), drawn("P2", "9C"), None),
        (NATURAL[:1], drawn("P2", "9C"), ("banker", 2)),
        (NATURAL[:1], drawn("B2", "9C"), ("banker", 2)),
        (NATURAL[:1], drawn("B3", "9C"), ("banker", 2)),
        (NATURAL[:2], drawn("B1", "9C"), ("player", 3)),
        (NATURAL[:2], drawn("P3", "9C"), ("player", 3)),
        (NATURAL[:3], drawn("P3", "9C"), ("banker", 4)),
        (NATURAL[:3], drawn("B1", "9C"), ("banker", 4)),
        (NATURAL, drawn("P3", "9C"), None),
        (NATURAL, drawn("B3", "9C"), None),
    ],
)
async def test_a_card_that_is_not_due_is_never_assigned(
    world: World, shoe: TcpShoe, before: tuple[str, ...], lie: str, due: tuple[str, int] | None
) -> None:
    """Wrong hand, wrong index, or one too many: it is set aside, and the round waits. With no round it has none."""
    await shoe.say(*before, lie)
    await world.settled(shoe)
    (aside,) = world.recorder.of("card.set-aside")
    assert (aside["card"], aside["reason"]) == ("9C", "not-due" if before else "no-round")
    assert len(drawn_cards(world, 1)) == len(before)
    suspended = world.recorder.of("round.suspended")
    assert len(suspended) == (1 if before else 0)
    for each in suspended:
        assert each["seen"]["card"] == "9C"
        assert each["gap"] is False
        assert (None if each["due"] is None else (each["due"]["hand"], each["due"]["index"])) == due


async def test_a_hand_that_is_too_long_never_gives_a_second_result(world: World, shoe: TcpShoe) -> None:
    """Player stands on 7, and the shoe deals him a third: what was completed stays as it was told."""
    await shoe.say(drawn("P1", "7H"), drawn("B1", "6S"), drawn("P2", "KS"), drawn("B2", "QC"), drawn("P3", "2C"))
    await world.settled(shoe)
    (completed,) = world.recorder.of("round.completed")
    assert (completed["outcome"], completed["player"]) == ("player", {"cards": ["7H", "KS"], "points": 7})
    assert story(world)[-2:] == ["card.set-aside", "round.suspended"]


async def test_cards_outside_the_game_are_set_aside_with_their_reasons(world: World, shoe: TcpShoe) -> None:
    """Each gives one event. Before a round, and in set-up, none disturbs a round."""
    await shoe.say(f"D C1 {face('AD')}", f"D A1 {face('2D')}", f"d 80 {face('3D')}", f"d 90 {face('4D')}")
    await shoe.say(*NATURAL[:2], f"d A0 {face('5D')}")
    await shoe.say(*NATURAL[2:], f"R 83 {face('6D')}", result("player"))
    await world.recorder.event("round.confirmed", round=1)
    assert [(card["card"], card["reason"]) for card in world.recorder.of("card.set-aside")] == [
        ("AD", "first-card"),
        ("2D", "burn"),
        ("3D", "locked"),
        ("4D", "error"),
        ("5D", "set-up"),
        ("6D", "overdraw"),
    ]
    for card in world.recorder.of("card.set-aside"):
        _, here = world.journal.arrival(card["provenance"])
        assert bytes.fromhex(face(card["card"])) in here
    assert [hand for hand, _ in drawn_cards(world, 1)] == ["player", "banker", "player", "banker"]
    # 6D: C 5.7, no card was due.
    assert story(world)[-4:] == ["round.completed", "card.set-aside", "round.suspended", "round.confirmed"]


async def test_a_card_before_the_first_round_belongs_to_none(world: World, shoe: TcpShoe) -> None:
    """Joined in the middle of a hand: the rest of it is set aside until a first Player card opens a round."""
    await shoe.say(drawn("B2", "KD"), drawn("P3", "2C"), result("banker"))
    await shoe.say(*NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=1)
    assert [(card["card"], card["reason"], card["round"]) for card in world.recorder.of("card.set-aside")] == [
        ("KD", "no-round", None),
        ("2C", "no-round", None),
    ]
    assert story(world)[2] == "round.started"


async def test_a_card_without_a_face_is_set_aside_and_never_guessed(world: World, shoe: TcpShoe) -> None:
    """Suit 0 is none: the card due has not been seen, so the round waits."""
    await shoe.say(NATURAL[0], "D 91 83", NATURAL[2])
    await world.settled(shoe)
    assert drawn_cards(world, 1) == [("player", "8S")]
    (unread, _) = world.recorder.of("card.set-aside")
    assert unread["card"] is None
    assert unread["reason"] in {
        "burn",
        "first-card",
        "locked",
        "error",
        "set-up",
        "overdraw",
        "not-due",
        "no-round",
    }
    (suspended,) = world.recorder.of("round.suspended")
    assert suspended["due"]["hand"] == "banker"


# ---------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize(
    "lie",
    [
        ("banker", ()),
        ("tie", ()),
        ("player", ("player",)),
        ("player", ("banker",)),
        ("forced-end", ()),
    ],
)
async def test_a_lying_shoe_is_disputed_and_not_believed(
    world: World, shoe: TcpShoe, lie: tuple[str, tuple[str, ...]]
) -> None:
    """Ours is of the cards alone; theirs stands beside it."""
    outcome, pairs = lie
    await shoe.say(*NATURAL, result(outcome, *pairs))
    await shoe.say(*NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    (completed, _) = world.recorder.of("round.completed")
    assert (completed["outcome"], completed["pairs"]) == ("player", [])
    (disputed,) = world.recorder.of("round.disputed")
    assert (disputed["shoe"], disputed["round"]) == (1, 1)
    assert disputed["ours"] == {"outcome": "player", "pairs": []}
    assert disputed["theirs"] == {"outcome": outcome, "pairs": list(pairs)}
    assert world.recorder.of("round.unconfirmed") == []


@pytest.mark.parametrize("outcome", ["player", "banker", "tie", "forced-end"])
async def test_a_result_before_the_last_card_suspends(world: World, shoe: TcpShoe, outcome: str) -> None:
    """A hand of three cards has no winner, whatever the shoe says; what follows is not put into it."""
    await shoe.say(*NATURAL[:3], result(outcome), NATURAL[3])
    await world.settled(shoe)
    (suspended,) = world.recorder.of("round.suspended")
    assert suspended["due"]["hand"] == "banker"
    assert suspended["seen"]["result"]["outcome"] == outcome
    assert suspended["gap"] is False
    assert world.recorder.of("round.completed") == []
    assert story(world)[-1] == "card.set-aside"


async def test_no_result_before_the_next_round_leaves_it_unconfirmed(world: World, shoe: TcpShoe) -> None:
    """The round stays completed, and the next one opens after the word."""
    await shoe.say(*NATURAL, drawn("P1", "KS"))
    await world.recorder.event("card.drawn", round=2)
    assert story(world)[-4:] == ["round.completed", "round.unconfirmed", "round.started", "card.drawn"]
    assert world.recorder.of("round.unconfirmed") == [{"shoe": 1, "round": 1}]


async def test_a_first_player_card_opens_a_round_over_an_unfinished_one(world: World, shoe: TcpShoe) -> None:
    """The one before it ends as abandoned, without a result, and its cards stay where they were."""
    await shoe.say(drawn("P1", "7S"), drawn("B1", "3H"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert story(world)[:6] == ["round.started", *["card.drawn"] * 2, "round.abandoned", "round.started", "card.drawn"]
    (abandoned,) = world.recorder.of("round.abandoned")
    assert (abandoned["shoe"], abandoned["round"]) == (1, 1)
    assert [completed["round"] for completed in world.recorder.of("round.completed")] == [2]


async def test_a_suspended_round_ends_as_abandoned_at_the_next_one(world: World, shoe: TcpShoe) -> None:
    """Nobody decided: the new round is whole, the old one has no result, and neither confirmation nor dispute."""
    await shoe.say(NATURAL[0], NATURAL[2], result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert story(world) == [
        "round.started",
        "card.drawn",
        "card.set-aside",
        "round.suspended",
        "round.abandoned",
        "round.started",
        *["card.drawn"] * 4,
        "round.completed",
        "round.confirmed",
    ]


# ---------------------------------------------------------------------------------------------- shoes


async def test_cutting_card_and_start_of_communication_make_a_new_shoe(world: World, shoe: TcpShoe) -> None:
    """The next number, rounds from 1, and from here on the record of the shoe is whole."""
    await shoe.deal(ROUNDS[0])
    await shoe.say("C")
    shoe.sequence = 0  # the shoe was opened: it counts anew
    await shoe.say("S", *NATURAL, result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", shoe=2, round=2)
    assert world.recorder.of("shoe.cut") == [{"shoe": 1, "round": 1, "shoe_integrity": "partial"}]
    assert world.recorder.of("shoe.started") == [{"shoe": 2, "shoe_integrity": "complete"}]
    started = [(each["shoe"], each["round"], each["shoe_integrity"]) for each in world.recorder.of("round.started")]
    assert started == [(1, 1, "partial"), (2, 1, "complete"), (2, 2, "complete")]


async def test_a_shoe_cut_in_the_middle_of_a_hand_plays_it_out(world: World, shoe: TcpShoe) -> None:
    """The cutting card is told once, and start of communication is a new shoe only when no round is open."""
    await shoe.say(*NATURAL[:2], "C", "S", *NATURAL[2:], result("player"))
    await world.recorder.event("round.confirmed")
    assert len(world.recorder.of("shoe.cut")) == 1
    assert world.recorder.of("shoe.started") == []
    await shoe.say("S", *NATURAL[:1])
    await world.recorder.event("card.drawn", shoe=2, round=1)
    assert world.recorder.of("shoe.started") == [{"shoe": 2, "shoe_integrity": "complete"}]


async def test_start_of_communication_alone_is_a_reconnection(world: World, shoe: TcpShoe) -> None:
    """No new shoe, not between two rounds nor within one, and the hand goes on."""
    await shoe.say("S", *NATURAL, result("player"), "S", "P", *NATURAL[:2], "S", *NATURAL[2:], result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert world.recorder.of("shoe.started") == []
    assert {each["shoe_integrity"] for each in world.recorder.of("round.started")} == {"partial"}
    assert [each["integrity"] for each in world.recorder.of("round.completed")] == ["complete"] * 2


# ---------------------------------------------------------------------------------------------- the device


async def test_faults_locks_and_presets_are_told_and_shown(world: World, shoe: TcpShoe) -> None:
    """Each report gives one event; the state shows the fault until it is cleared."""
    await shoe.say("E C1")
    fault = await world.recorder.event("device.fault", code=1)
    await world.recorder.until(lambda: (world.recorder.states()[-1]["device"]["fault"] or {}).get("code") == 1)
    await shoe.say("e 81", "E 87", "L 81", "L 80")
    await world.settled(shoe)
    assert fault["blocking"] is True
    types = [event["type"].removeprefix("shoed.") for event in world.recorder.events()]
    assert types == [
        "device.online",
        "device.fault",
        "device.cleared",
        "device.fault",
        "device.locked",
        "device.unlocked",
        "device.changed",
    ]
    assert (world.recorder.of("device.cleared")[0]["code"], world.recorder.of("device.fault")[1]["code"]) == (1, 7)


# ---------------------------------------------------------------------------------------------- all at once


def mad(rng: random.Random) -> tuple[str, bool]:
    """Any report that the protocol knows, and whether it is a card."""
    card = f"{0x80 | rng.choice((0x10, 0x20, 0x30, 0x40)) | rng.randint(1, 13):02X}"
    match rng.randint(0, 15):
        case 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7:
            return f"D {0x80 | rng.choice((0, 0, 0x10, 0x10, 0x20, 0x40, 0x50)) | rng.randint(1, 3):02X} {card}", True
        case 8:
            return f"d {rng.choice(('80', '90', 'A0'))} {card}", True
        case 9:
            return f"R {rng.choice(('81', '83', '93'))} {card}", True
        case 10 | 11:
            return result(rng.choice(("player", "banker", "tie", "forced-end"))), False
        case 12:
            return f"E {0x80 | rng.choice((0, 0x40)) | rng.randint(1, 20):02X}", False
        case 13:
            return f"e {0x80 | rng.randint(1, 20):02X}", False
        case 14:
            return f"L {rng.choice(('80', '81'))}", False
        case _:
            return rng.choice("SPC"), False


async def test_a_mad_shoe_has_each_card_on_record_once_and_no_copy(world: World, shoe: TcpShoe) -> None:
    """Thousands of reports in no order at all: nothing ends the table, and every result is that of its own cards.

    Every card is on record. Of the cards that are set aside faster than anybody draws, most are only counted.
    """
    rng = random.Random(7)
    cards = 0
    for _ in range(3000):
        body, is_card = mad(rng)
        await shoe.say(body, copies=rng.randint(1, 3))
        cards += is_card
        if rng.random() < 0.03:
            await shoe.say(*NATURAL, result("player"))
            cards += len(NATURAL)
    await world.settled(shoe)
    await world.all_told()
    drawn_ = [each for each in world.recorder.of("card.drawn") if "set_aside" not in each]
    aside = world.recorder.of("card.set-aside")
    assert world.journal.observed("CardSeen") == cards
    assert 0 < len(aside) < cards - len(drawn_)
    assert len({card["provenance"] for card in drawn_}) > 1
    for completed in world.recorder.of("round.completed"):
        own = [card for card in drawn_ if (card["shoe"], card["round"]) == (completed["shoe"], completed["round"])]
        waited = [card for card in aside if (card["shoe"], card["round"]) == (completed["shoe"], completed["round"])]
        for hand in ("player", "banker"):
            drawn = [card["card"] for card in own if card["hand"] == hand]
            assert completed[hand]["cards"][: len(drawn)] == drawn
            assert set(completed[hand]["cards"][len(drawn) :]) <= {card["card"] for card in waited}
        assert completed["outcome"] != "forced-end"
    assert len(world.recorder.of("round.completed")) > 50
    numbers = [(each["shoe"], each["round"]) for each in world.recorder.of("round.started")]
    assert numbers == sorted(set(numbers))
    assert len(world.recorder.statuses()) == 1
