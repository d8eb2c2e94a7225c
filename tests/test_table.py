"""The table, clause by clause as the contract has it: what becomes of cards, rounds and results."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import OpenBets
from shoed.device_events import EventData
from shoed.events import (
    CardDrawn,
    CardSetAside,
    Hand,
    Measured,
    Points,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundDisputed,
    RoundStarted,
    RoundSuspended,
    Seen,
    ShoeStarted,
    Slot,
)
from shoed.now import Now
from shoed.observations import AnyObservation, Device, Outcome, Pair
from shoed.rules.load import GAMES
from shoed.step import Woken
from shoed.table import Table, fold
from tests.observed import (
    AGAIN,
    CLEARED,
    COPY,
    CUT,
    NATURAL,
    OPENED,
    PROVEN,
    QUIET,
    SIX_CARDS,
    START,
    STARTED,
    STOOD_BY,
    TIE,
    UNPROVEN,
    Sitting,
    after,
    card,
    cards,
    closed,
    completed,
    dealt,
    fault,
    kinds,
    rejected,
    result,
)


def suspended(told: list[EventData]) -> RoundSuspended:
    (only,) = (each for each in told if isinstance(each, RoundSuspended))
    return only


def aside(told: list[EventData]) -> CardSetAside:
    (only,) = (each for each in told if isinstance(each, CardSetAside))
    return only


# --- numbering and identity


def test_sequence_counts_from_one_without_a_gap() -> None:
    """Whatever a Step tells, and whether it tells anything."""
    table = after(OPENED, *NATURAL, COPY, result("player"), *SIX_CARDS)
    assert [event.sequence for event in table.told] == list(range(1, len(table.told) + 1))


def test_rounds_count_from_one_in_each_shoe() -> None:
    """The next shoe begins again with round 1."""
    table = after(*NATURAL, result("player"), *TIE, result("tie"), CUT, STARTED, *NATURAL)
    started = [(it.data.shoe, it.data.round) for it in table.told if isinstance(it.data, RoundStarted)]
    assert started == [(1, 1), (1, 2), (2, 1)]


def test_shoes_count_up_for_ever() -> None:
    """Each start after a cut takes the next number."""
    table = Sitting()
    shoes = [told for _ in range(3) for told in table.hear_each([CUT, STARTED]) if isinstance(told, ShoeStarted)]
    assert shoes == [ShoeStarted(shoe=shoe, shoe_integrity="complete") for shoe in (1, 2, 3)]


@pytest.mark.parametrize("first", [card("burn", "QC"), card("P1", "8S"), card("B1", "8S"), card("locked", "?")])
def test_a_shoe_that_was_never_started_is_numbered_at_its_first_card(first: AnyObservation) -> None:
    """Whatever becomes of that card."""
    table = after(OPENED, STOOD_BY)
    assert table.shown.shoe is None
    table.hear(first)
    assert table.shown.shoe == 1


def test_an_event_has_the_time_of_what_it_tells_of() -> None:
    """The time is that of the report's first good copy, not that of the Step which took it in."""
    table = Sitting()
    reported = replace(card("P1", "8S"), at=START)
    later = Now(START.utc_us + 9, START.mono_ns + 9_000)
    events = fold(Table(table.settings, table.state, 1), [(reported, ())], Woken(), (), later).events
    assert {event.utc_us for event in events} == {START.utc_us}


# --- a round opens


def test_a_round_opens_with_the_first_player_card() -> None:
    """No announcement came: `opened_by` is the card, and the number of the round stands in it."""
    assert Sitting().hear(card("P1", "8S")) == [
        RoundStarted(shoe=1, round=1, game="commission", opened_by="card", shoe_integrity="partial"),
        CardDrawn(
            shoe=1, round=1, index=1, hand=Pair.PLAYER, card=Card.S8, points=Points(player=8, banker=0), provenance=1
        ),
    ]


@pytest.mark.parametrize(
    "nothing", [OPENED, STOOD_BY, STARTED, PROVEN, UNPROVEN, CUT, closed(), fault(), result("tie")]
)
def test_nothing_else_opens_a_round(nothing: AnyObservation) -> None:
    """Neither connecting, nor stand-by, nor a gap; a table that has no round says so."""
    table = after(nothing)
    assert table.shown.round is None
    assert not [event for event in table.told if event.type.startswith("round.")]


def test_a_first_player_card_always_opens_a_new_round() -> None:
    """Even with a round unfinished: that one is abandoned with the cards it had, and without a result."""
    table = after(*cards("P1 8S, B1 3H"))
    assert table.hear(card("P1", "2C")) == [
        RoundAbandoned(
            shoe=1, round=1, player=Hand((Card.S8,), 8), banker=Hand((Card.H3,), 3), reason="the next round began"
        ),
        RoundStarted(shoe=1, round=2, game="commission", opened_by="card", shoe_integrity="partial"),
        CardDrawn(shoe=1, round=2, index=1, hand=Pair.PLAYER, card=Card.C2, points=Points(2, 0), provenance=3),
    ]


def test_a_suspended_round_is_abandoned_by_the_next() -> None:
    """It waited for a person, and the next round came first."""
    table = after(*cards("P1 8S, B1 3H, B2 4H"))
    assert kinds(table.hear(card("P1", "2C"))) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert table.shown.phase.value == "dealing"


def test_a_first_player_card_that_could_not_be_read_opens_a_round_too() -> None:
    """What was reported as Player's first opens it; the card itself goes into no hand."""
    told = Sitting().hear(card("P1", "?"))
    assert kinds(told) == [RoundStarted, CardSetAside, RoundSuspended]
    assert suspended(told) == RoundSuspended(
        shoe=1,
        round=1,
        due=Slot(Pair.PLAYER, 1, 1),
        seen=Seen(card=None, hand="player", position=1),
        gap=False,
    )


# --- cards


def test_six_cards_give_six_events_with_index_and_points_as_they_go() -> None:
    """`index` is the ordinal in the round, `provenance` the row of the card's bytes, the points those on the table."""
    told = Sitting().hear_each(SIX_CARDS)
    drawn = [
        (each.index, each.hand.value, str(each.card), each.points.player, each.points.banker, each.provenance)
        for each in told
        if isinstance(each, CardDrawn)
    ]
    assert drawn == [
        (1, "player", "2S", 2, 0, 1),
        (2, "banker", "3H", 2, 3, 2),
        (3, "player", "KS", 2, 3, 3),
        (4, "banker", "KH", 2, 3, 4),
        (5, "player", "6S", 8, 3, 5),
        (6, "banker", "4H", 8, 7, 6),
    ]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("burn", "burn"),
        ("first-card", "first-card"),
        ("locked", "locked"),
        ("error", "error"),
        ("set-up", "set-up"),
    ],
)
@pytest.mark.parametrize("face", ["QC", "?"])
def test_a_card_outside_the_hands_is_set_aside_with_its_reason(place: str, reason: str, face: str) -> None:
    """Before a round nothing is asked; in the middle of one, the round waits for a person: but for a card to try it."""
    table = Sitting()
    known = None if face == "?" else Card.CQ
    aside = CardSetAside(
        shoe=1,
        round=None,
        card=known,
        reason=reason,
        reported=Seen(card=known),
        provenance=1,
        measured=UNSET if known else Measured(code="00"),
    )
    assert table.hear(card(place, face)) == [aside]
    table.hear_each(NATURAL[:2])
    told = table.hear(card(place, face))
    assert told[0] == replace(aside, round=1, provenance=4)
    if place != "set-up":
        assert kinds(told) == [CardSetAside, RoundSuspended]
        table.answer("put-away")
        assert table.question.kind == "order-altered"
        table.answer("yes")
        table.answer("continue")
    assert completed(table.hear_each(NATURAL[2:])).outcome is Outcome.PLAYER


@pytest.mark.parametrize("wrong", ["B1 8S", "P2 8S", "B3 8S", "P0 8S", "P15 8S"])
def test_cards_before_the_first_round_of_a_shoe_are_set_aside(wrong: str) -> None:
    """`no-round`: there is nothing that could be suspended. In a shoe that was not joined midway, a person is asked."""
    for before in ([], [CUT, STARTED], [*NATURAL, result("player"), CUT, STARTED]):
        table = after(*before)
        told = table.hear(*cards(wrong))
        assert aside(told).reason == "no-round"
        assert aside(told).round is None
        assert kinds(told) == [CardSetAside]
        assert table.shown.phase.value == "idle"
        assert len(table.state.asked) == len(before[:1])


@pytest.mark.parametrize(
    ("before", "wrong", "due", "hand", "position"),
    [
        ("P1 2S", "P2 8S", Slot(Pair.BANKER, 1, 2), "player", 2),
        ("P1 2S", "B2 8S", Slot(Pair.BANKER, 1, 2), "banker", 2),
        ("P1 2S", "B3 8S", Slot(Pair.BANKER, 1, 2), "banker", 3),
        ("P1 2S", "B0 8S", Slot(Pair.BANKER, 1, 2), "banker", 0),
        ("P1 2S, B1 3S", "B2 8S", Slot(Pair.PLAYER, 2, 3), "banker", 2),
        ("P1 2S, B1 3S", "B1 3S", Slot(Pair.PLAYER, 2, 3), "banker", 1),
        ("P1 2S, B1 3S, P2 KS", "P3 8S", Slot(Pair.BANKER, 2, 4), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH", "B3 8S", Slot(Pair.PLAYER, 3, 5), "banker", 3),
        ("P1 6S, B1 3S, P2 KS, B2 KH", "P3 8S", Slot(Pair.BANKER, 3, 5), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "P3 8S", Slot(Pair.BANKER, 3, 6), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "B15 8S", Slot(Pair.BANKER, 3, 6), "banker", 15),
    ],
)
def test_a_card_that_is_not_the_one_due_is_set_aside_and_suspends(
    before: str, wrong: str, due: Slot, hand: str, position: int
) -> None:
    """Whether a card is missing or the shoe lies about its place: it is never put where it might belong."""
    table = after(*cards(before))
    held = table.shown.hands
    seen = Seen(card=table_card(wrong), hand=hand, position=position)
    assert table.hear(*cards(wrong)) == [
        CardSetAside(shoe=1, round=1, card=seen.card, reason="not-due", reported=seen, provenance=table.row),
        RoundSuspended(shoe=1, round=1, due=due, seen=seen, gap=False),
    ]
    assert table.shown.phase.value == "suspended"
    assert table.shown.hands == held


def table_card(text: str) -> Card:
    return Card.parse(text.split()[1])


@pytest.mark.parametrize("extra", ["P3 8S", "B3 8S", "B2 8S", "P2 8S"])
@pytest.mark.parametrize("before", [NATURAL, TIE, SIX_CARDS])
def test_one_card_too_many_is_not_due_and_suspends(before: list[AnyObservation], extra: str) -> None:
    """After completion nothing is due; the result that was told stays told."""
    table = after(*before)
    told = table.hear(*cards(extra))
    assert kinds(told) == [CardSetAside, RoundSuspended]
    assert aside(told).reason == "not-due"
    assert (suspended(told).due, suspended(told).gap) == (None, False)


def test_a_suspended_round_takes_no_card_and_asks_once() -> None:
    """What would have been due before is not due now: a person decides first, and the question does not change."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    told = table.hear_each(cards("P2 5S, B2 6S, P3 7S"))
    assert kinds(told) == [CardSetAside, CardSetAside, CardSetAside]
    assert {each.reason for each in told if isinstance(each, CardSetAside)} == {"not-due"}
    assert table.shown.hands.player.cards == (Card.S2,)


def test_a_round_without_a_card_goes_on_after_a_report_that_was_none() -> None:
    """The bets are closed by it, and stay closed."""
    table = after()
    table.tell(OpenBets())
    table.hear(card("P3", "2C"))
    table.answer("same-card")
    assert (table.phase, table.lies, table.state.asked) == ("dealing", "/", ())


def test_a_card_due_that_could_not_be_read_is_set_aside_and_suspends() -> None:
    """It is the slot that is due, and no card can be put there: nothing is guessed."""
    table = after(*cards("P1 2S"))
    told = table.hear(card("B1", "?"))
    seen = Seen(card=None, hand="banker", position=1)
    assert kinds(told) == [CardSetAside, RoundSuspended]
    assert (aside(told).card, aside(told).reason, aside(told).reported) == (None, "not-due", seen)
    assert suspended(told) == RoundSuspended(shoe=1, round=1, due=Slot(Pair.BANKER, 1, 2), seen=seen, gap=False)


@pytest.mark.parametrize("before", [cards("P1 2S, B1 3S, B3 3S"), cards("P1 2S, B1 3S"), NATURAL])
def test_a_card_not_due_is_not_due_whether_or_not_it_could_be_read(before: list[AnyObservation]) -> None:
    """What is wrong with it first is its place."""
    table = after(*before)
    assert aside(table.hear(card("B3", "?"))).reason == "not-due"


def test_a_shoe_that_swaps_the_hands_is_believed_in_neither() -> None:
    """Neither hand gets the other's card, and no result of such a round is confirmed."""
    table = Sitting()
    told = table.hear_each(cards("B1 9S, P1 8S, B2 KS, P2 KH")) + table.hear(result("banker"))
    assert [each.index for each in told if isinstance(each, CardDrawn)] == [1]
    assert not {RoundCompleted, RoundConfirmed, RoundDisputed} & set(kinds(told))


# --- a round completes


def test_the_round_completes_with_the_last_card_due() -> None:
    """In the same Step, with both hands, the outcome and the pairs by the cards alone."""
    table = after(*SIX_CARDS[:5])
    assert table.hear(SIX_CARDS[5])[1:] == [
        RoundCompleted(
            shoe=1,
            round=1,
            game="commission",
            player=Hand((Card.S2, Card.SK, Card.S6), 8),
            banker=Hand((Card.H3, Card.HK, Card.H4), 7),
            outcome=Outcome.PLAYER,
            pairs=(),
            integrity="complete",
        )
    ]


@pytest.mark.parametrize(
    ("player", "banker", "outcome", "pairs"),
    [
        ("8S 8H", "KH KD 5C", "player", ["player", "banker"]),
        ("9S KS", "9H KH", "tie", []),
        ("KS KD", "AH 7H", "banker", ["player"]),
        ("6S KS", "KH KD 4D", "player", ["banker"]),
        ("10S KD", "2H 6H", "banker", []),
    ],
)
def test_outcome_and_pairs_come_from_the_cards(player: str, banker: str, outcome: str, pairs: list[str]) -> None:
    """A pair is one rank; ten and king are none."""
    told = completed(Sitting().hear_each(dealt(player, banker)))
    assert (told.outcome.value, [each.value for each in told.pairs]) == (outcome, pairs)


@pytest.mark.parametrize(
    ("between", "integrity"),
    [
        ([], "complete"),
        ([closed(), OPENED, PROVEN], "complete"),
        ([closed(), OPENED, UNPROVEN], "partial"),
        ([closed(), closed("refused"), OPENED, UNPROVEN], "partial"),
        ([closed("the daemon was away"), OPENED, PROVEN], "complete"),
        ([closed("the daemon was away"), OPENED, UNPROVEN], "partial"),
        ([closed(), OPENED, UNPROVEN, closed(), OPENED, PROVEN], "partial"),
        ([closed(), OPENED, PROVEN, closed(), OPENED, UNPROVEN], "partial"),
        ([QUIET, AGAIN], "complete"),
        ([rejected(), COPY, fault(), CLEARED], "complete"),
    ],
)
@pytest.mark.parametrize("cut_at", [1, 2, 3])
def test_integrity_says_whether_all_is_proven(between: list[AnyObservation], integrity: str, cut_at: int) -> None:
    """All cards due were seen; `partial` where the line or the daemon was away and the sequence does not prove it."""
    table = after(OPENED, *NATURAL[:cut_at], *between)
    told = table.hear_each(NATURAL[cut_at:])
    told += table.answer("cards-shown") if table.phase == "suspended" else []
    assert completed(told).integrity == integrity


def test_what_happened_before_the_round_does_not_touch_its_integrity() -> None:
    """A gap before Player's first card, or in the round before, is no gap of this round."""
    table = after(*NATURAL[:2], closed(), OPENED, UNPROVEN, *NATURAL[2:], closed(), OPENED, UNPROVEN)
    assert completed(table.hear_each(SIX_CARDS)).integrity == "complete"


def test_a_gap_after_the_last_card_changes_nothing_of_the_round() -> None:
    """The event is told and stays; the state shows the same."""
    table = after(*NATURAL, closed(), OPENED, UNPROVEN)
    assert table.shown.last_round is not None
    assert table.shown.last_round.integrity == "complete"


@pytest.mark.parametrize("game", GAMES)
def test_every_game_is_played(game: str) -> None:
    """By its own book, which the events name; a ten adds nothing in any of them."""
    table = Sitting(game)
    told = table.hear_each(dealt("10S 2D 4H", "KC 7H"))
    over = completed(told)
    assert (
        {each.game for each in told if isinstance(each, RoundStarted | RoundCompleted)} == {game} == {table.shown.game}
    )
    assert (over.player.points, over.banker.points, over.outcome) == (6, 7, Outcome.BANKER)


# --- a gap


@pytest.mark.parametrize("seen", [card("B3", "2C"), result("player")])
def test_a_suspension_says_whether_the_line_was_away(seen: AnyObservation) -> None:
    """`gap`: what is missing may have come while nobody listened. It holds also where the sequence proves otherwise."""
    for resumed in (UNPROVEN, PROVEN):
        table = after(*NATURAL[:3], closed(), OPENED, resumed)
        assert suspended(table.hear(seen)).gap is True
    assert suspended(after(closed(), OPENED, *NATURAL[:3]).hear(seen)).gap is False
    assert suspended(after(*NATURAL[:3], QUIET, AGAIN).hear(seen)).gap is False
    of_the_shuffler = replace(closed(), device=Device.SHUFFLER)
    assert suspended(after(*NATURAL[:3], of_the_shuffler).hear(seen)).gap is False


def test_a_gap_after_completion_is_a_gap_too() -> None:
    """Player's first card of the next round came while the line was away; Banker's first is not due, and says why."""
    table = after(*NATURAL, result("player"), closed(), OPENED, UNPROVEN)
    assert suspended(table.hear(card("B1", "2C"))).gap is True


def test_a_gap_of_one_round_is_none_of_the_next() -> None:
    """Each round has its own."""
    table = after(*NATURAL[:2], closed(), OPENED, PROVEN, *NATURAL[2:], card("P1", "5D"))
    assert suspended(table.hear(card("P2", "2C"))).gap is False
