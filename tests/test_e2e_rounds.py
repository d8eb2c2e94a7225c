"""Irregular rounds and false reports of a shoe, from the wire to the published events."""

import random
from collections.abc import AsyncIterator

import pytest

from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, drawn, face, report, result
from tests.world import World


@pytest.fixture
async def shoe(world: World) -> AsyncIterator[TcpShoe]:
    """A shoe that is online."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        yield shoe


def round_events(world: World) -> list[str]:
    """The types of the events of shoe, round and card."""
    types = [event["type"].removeprefix("shoed.") for event in world.recorder.events()]
    return [each for each in types if each.split(".")[0] in {"shoe", "round", "card"}]


def drawn_cards(world: World, number: int) -> list[tuple[str, str]]:
    return [(card["hand"], card["card"]) for card in world.recorder.of("card.drawn") if card["round"] == number]


# ---------------------------------------------------------------------------------------------- cards not due


async def test_three_bad_copies_suspend_the_round_at_the_next_card(world: World, shoe: TcpShoe) -> None:
    """The lost card is rejected bytes. The next card is not due; the event has the due and the reported card."""
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
    ("before", "false_report", "due"),
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
    world: World, shoe: TcpShoe, before: tuple[str, ...], false_report: str, due: tuple[str, int] | None
) -> None:
    """A card of a wrong hand or index, and a card in excess, is set aside, and an open round waits."""
    await shoe.say(*before, false_report)
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


async def test_a_card_after_the_last_one_does_not_change_the_result(world: World, shoe: TcpShoe) -> None:
    """Player stands on 7, and the shoe reports a third card: the published result remains."""
    await shoe.say(drawn("P1", "7H"), drawn("B1", "6S"), drawn("P2", "KS"), drawn("B2", "QC"), drawn("P3", "2C"))
    await world.settled(shoe)
    (completed,) = world.recorder.of("round.completed")
    assert (completed["outcome"], completed["player"]) == ("player", {"cards": ["7H", "KS"], "points": 7})
    assert round_events(world)[-2:] == ["card.set-aside", "round.suspended"]


async def test_cards_outside_the_game_are_set_aside_with_their_reasons(world: World, shoe: TcpShoe) -> None:
    """Each card is one event. Cards before a round, and cards of the set-up, do not affect a round."""
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
    # C 5.7: 6D was drawn when no card was due.
    assert round_events(world)[-4:] == ["round.completed", "card.set-aside", "round.suspended", "round.confirmed"]


async def test_a_card_before_the_first_round_belongs_to_no_round(world: World, shoe: TcpShoe) -> None:
    """If shoed starts within a hand, its cards are set aside until a first Player card opens a round."""
    await shoe.say(drawn("B2", "KD"), drawn("P3", "2C"), result("banker"))
    await shoe.say(*NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=1)
    assert [(card["card"], card["reason"], card["round"]) for card in world.recorder.of("card.set-aside")] == [
        ("KD", "no-round", None),
        ("2C", "no-round", None),
    ]
    assert round_events(world)[2] == "round.started"


async def test_a_card_without_a_face_is_set_aside(world: World, shoe: TcpShoe) -> None:
    """Suit 0 does not exist: the due card is unknown, and the round waits."""
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
    "false_report",
    [
        ("banker", ()),
        ("tie", ()),
        ("player", ("player",)),
        ("player", ("banker",)),
        ("forced-end", ()),
    ],
)
async def test_a_false_result_of_the_shoe_is_disputed(
    world: World, shoe: TcpShoe, false_report: tuple[str, tuple[str, ...]]
) -> None:
    """The result of shoed depends on the cards only; the event also has the result of the shoe."""
    outcome, pairs = false_report
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
    """Three cards have no winner; a later card is not added to the round."""
    await shoe.say(*NATURAL[:3], result(outcome), NATURAL[3])
    await world.settled(shoe)
    (suspended,) = world.recorder.of("round.suspended")
    assert suspended["due"]["hand"] == "banker"
    assert suspended["seen"]["result"]["outcome"] == outcome
    assert suspended["gap"] is False
    assert world.recorder.of("round.completed") == []
    assert round_events(world)[-1] == "card.set-aside"


async def test_a_round_without_a_result_of_the_shoe_is_unconfirmed(world: World, shoe: TcpShoe) -> None:
    """The round remains completed, and the next round opens after the event."""
    await shoe.say(*NATURAL, drawn("P1", "KS"))
    await world.recorder.event("card.drawn", round=2)
    assert round_events(world)[-4:] == ["round.completed", "round.unconfirmed", "round.started", "card.drawn"]
    assert world.recorder.of("round.unconfirmed") == [{"shoe": 1, "round": 1}]


async def test_a_first_player_card_abandons_an_incomplete_round(world: World, shoe: TcpShoe) -> None:
    """The incomplete round has no result, and its cards do not move to the new round."""
    await shoe.say(drawn("P1", "7S"), drawn("B1", "3H"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert round_events(world)[:6] == [
        "round.started",
        *["card.drawn"] * 2,
        "round.abandoned",
        "round.started",
        "card.drawn",
    ]
    (abandoned,) = world.recorder.of("round.abandoned")
    assert (abandoned["shoe"], abandoned["round"]) == (1, 1)
    assert [completed["round"] for completed in world.recorder.of("round.completed")] == [2]


async def test_the_next_round_abandons_a_suspended_round(world: World, shoe: TcpShoe) -> None:
    """Without a decision the old round has no result, no confirmation and no dispute; the new round is complete."""
    await shoe.say(NATURAL[0], NATURAL[2], result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert round_events(world) == [
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


async def test_cut_card_and_start_of_communication_start_a_new_shoe(world: World, shoe: TcpShoe) -> None:
    """The shoe has the next number, its rounds begin at 1, and its record is complete."""
    await shoe.deal(ROUNDS[0])
    await shoe.say("C")
    shoe.sequence = 0  # an opened shoe counts from 1 again
    await shoe.say("S", *NATURAL, result("player"), *NATURAL, result("player"))
    await world.recorder.event("round.confirmed", shoe=2, round=2)
    assert world.recorder.of("shoe.cut") == [{"shoe": 1, "round": 1, "shoe_integrity": "partial"}]
    assert world.recorder.of("shoe.started") == [{"shoe": 2, "shoe_integrity": "complete"}]
    started = [(each["shoe"], each["round"], each["shoe_integrity"]) for each in world.recorder.of("round.started")]
    assert started == [(1, 1, "partial"), (2, 1, "complete"), (2, 2, "complete")]


async def test_a_cut_card_within_a_hand_does_not_end_the_round(world: World, shoe: TcpShoe) -> None:
    """The cut card is published once. The start of communication starts a new shoe only if no round is open."""
    await shoe.say(*NATURAL[:2], "C", "S", *NATURAL[2:], result("player"))
    await world.recorder.event("round.confirmed")
    assert len(world.recorder.of("shoe.cut")) == 1
    assert world.recorder.of("shoe.started") == []
    await shoe.say("S", *NATURAL[:1])
    await world.recorder.event("card.drawn", shoe=2, round=1)
    assert world.recorder.of("shoe.started") == [{"shoe": 2, "shoe_integrity": "complete"}]


async def test_start_of_communication_without_a_cut_card_is_a_reconnection(world: World, shoe: TcpShoe) -> None:
    """There is no new shoe, between rounds or within a round, and the round continues."""
    await shoe.say("S", *NATURAL, result("player"), "S", "P", *NATURAL[:2], "S", *NATURAL[2:], result("player"))
    await world.recorder.event("round.confirmed", round=2)
    assert world.recorder.of("shoe.started") == []
    assert {each["shoe_integrity"] for each in world.recorder.of("round.started")} == {"partial"}
    assert [each["integrity"] for each in world.recorder.of("round.completed")] == ["complete"] * 2


# ---------------------------------------------------------------------------------------------- the device


async def test_faults_locks_and_presets_are_published(world: World, shoe: TcpShoe) -> None:
    """Each report is one event; the state has the fault until it is cleared."""
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


# ---------------------------------------------------------------------------------------------- random reports


def random_report(rng: random.Random) -> tuple[str, bool]:
    """Any report of the protocol, and whether it is a card."""
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


async def test_each_card_of_a_defective_shoe_is_recorded_once(world: World, shoe: TcpShoe) -> None:
    """Thousands of random reports do not end the table, and every result depends on its own cards.

    Every card is recorded. If cards are set aside faster than a dealer draws, most of them are only counted.
    """
    rng = random.Random(7)
    cards = 0
    for _ in range(3000):
        body, is_card = random_report(rng)
        await shoe.say(body, copies=rng.randint(1, 3))
        cards += is_card
        if rng.random() < 0.03:
            await shoe.say(*NATURAL, result("player"))
            cards += len(NATURAL)
    await world.settled(shoe)
    await world.all_published()
    dealt = [each for each in world.recorder.of("card.drawn") if "set_aside" not in each]
    aside = world.recorder.of("card.set-aside")
    assert world.journal.observed("CardSeen") == cards
    assert 0 < len(aside) < cards - len(dealt)
    assert len({card["provenance"] for card in dealt}) > 1
    for completed in world.recorder.of("round.completed"):
        own = [card for card in dealt if (card["shoe"], card["round"]) == (completed["shoe"], completed["round"])]
        set_aside = [card for card in aside if (card["shoe"], card["round"]) == (completed["shoe"], completed["round"])]
        for hand in ("player", "banker"):
            drawn = [card["card"] for card in own if card["hand"] == hand]
            assert completed[hand]["cards"][: len(drawn)] == drawn
            assert set(completed[hand]["cards"][len(drawn) :]) <= {card["card"] for card in set_aside}
        assert completed["outcome"] != "forced-end"
    assert len(world.recorder.of("round.completed")) > 50
    numbers = [(each["shoe"], each["round"]) for each in world.recorder.of("round.started")]
    assert numbers == sorted(set(numbers))
    assert len(world.recorder.statuses()) == 1
