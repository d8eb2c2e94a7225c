"""Cards, rounds and results of a table, and the events that report them."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import OpenBets
from shoed.model.device_events import EventData
from shoed.model.events import (
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
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Device, Outcome, Side
from shoed.model.step import Woken
from shoed.rules.load import GAMES
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
    TableRun,
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


def suspended(published: list[EventData]) -> RoundSuspended:
    (only,) = (each for each in published if isinstance(each, RoundSuspended))
    return only


def set_aside(published: list[EventData]) -> CardSetAside:
    (only,) = (each for each in published if isinstance(each, CardSetAside))
    return only


# --- numbering and identity


def test_event_sequence_starts_at_one_and_has_no_gap() -> None:
    """The sequence does not depend on the number of events of a Step."""
    table = after(OPENED, *NATURAL, COPY, result("player"), *SIX_CARDS)
    assert [event.sequence for event in table.events] == list(range(1, len(table.events) + 1))


def test_each_shoe_starts_with_round_1() -> None:
    """A new shoe restarts the round number at 1."""
    table = after(*NATURAL, result("player"), *TIE, result("tie"), CUT, STARTED, *NATURAL)
    started = [(it.data.shoe, it.data.round) for it in table.events if isinstance(it.data, RoundStarted)]
    assert started == [(1, 1), (1, 2), (2, 1)]


def test_each_start_after_a_cut_increments_the_shoe_number() -> None:
    """The shoe number increases by one at each start after a cut card."""
    table = TableRun()
    shoes = [
        published
        for _ in range(3)
        for published in table.hear_each([CUT, STARTED])
        if isinstance(published, ShoeStarted)
    ]
    assert shoes == [ShoeStarted(shoe=shoe, shoe_integrity="complete") for shoe in (1, 2, 3)]


@pytest.mark.parametrize("first", [card("burn", "QC"), card("P1", "8S"), card("B1", "8S"), card("locked", "?")])
def test_a_shoe_without_a_reported_start_has_number_1_from_its_first_card(first: AnyObservation) -> None:
    """The number does not depend on the place of that card."""
    table = after(OPENED, STOOD_BY)
    assert table.shown.shoe is None
    table.hear(first)
    assert table.shown.shoe == 1


def test_an_event_has_the_time_of_its_report() -> None:
    """The time is the time of the report's first good copy, not the time of the Step."""
    table = TableRun()
    reported = replace(card("P1", "8S"), at=START)
    later = Now(START.utc_us + 9, START.mono_ns + 9_000)
    events = fold(Table(table.settings, table.state, 1), [(reported, ())], Woken(), (), later).events
    assert {event.utc_us for event in events} == {START.utc_us}


# --- the start of a round


def test_players_first_card_starts_a_round() -> None:
    """Without an announcement `opened_by` is `card`, and the event contains the round number."""
    assert TableRun().hear(card("P1", "8S")) == [
        RoundStarted(shoe=1, round=1, game="commission", opened_by="card", shoe_integrity="partial"),
        CardDrawn(
            shoe=1, round=1, index=1, hand=Side.PLAYER, card=Card.S8, points=Points(player=8, banker=0), provenance=1
        ),
    ]


@pytest.mark.parametrize(
    "nothing", [OPENED, STOOD_BY, STARTED, PROVEN, UNPROVEN, CUT, closed(), fault(), result("tie")]
)
def test_other_observations_start_no_round(nothing: AnyObservation) -> None:
    """A connection, a stand-by, a gap, a fault or a result starts no round, and the state shows no round."""
    table = after(nothing)
    assert table.shown.round is None
    assert not [event for event in table.events if event.type.startswith("round.")]


def test_players_first_card_abandons_an_unfinished_round() -> None:
    """The unfinished round is abandoned with its cards and without a result."""
    table = after(*cards("P1 8S, B1 3H"))
    assert table.hear(card("P1", "2C")) == [
        RoundAbandoned(
            shoe=1, round=1, player=Hand((Card.S8,), 8), banker=Hand((Card.H3,), 3), reason="the next round began"
        ),
        RoundStarted(shoe=1, round=2, game="commission", opened_by="card", shoe_integrity="partial"),
        CardDrawn(shoe=1, round=2, index=1, hand=Side.PLAYER, card=Card.C2, points=Points(2, 0), provenance=3),
    ]


def test_the_next_round_abandons_a_suspended_round() -> None:
    """A question of the suspended round does not delay the next round."""
    table = after(*cards("P1 8S, B1 3H, B2 4H"))
    assert kinds(table.hear(card("P1", "2C"))) == [RoundAbandoned, RoundStarted, CardDrawn]
    assert table.shown.phase.value == "dealing"


def test_an_unread_first_player_card_starts_a_round() -> None:
    """The report names Player's first slot, and the unread card is in no hand."""
    published = TableRun().hear(card("P1", "?"))
    assert kinds(published) == [RoundStarted, CardSetAside, RoundSuspended]
    assert suspended(published) == RoundSuspended(
        shoe=1,
        round=1,
        due=Slot(Side.PLAYER, 1, 1),
        seen=Seen(card=None, hand="player", position=1),
        gap=False,
    )


# --- cards


def test_six_cards_publish_six_events_with_index_and_points() -> None:
    """`index` counts in the round, `provenance` is the row of the card's bytes, and the points include the card."""
    published = TableRun().hear_each(SIX_CARDS)
    drawn = [
        (each.index, each.hand.value, str(each.card), each.points.player, each.points.banker, each.provenance)
        for each in published
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
    """Before a round no question is asked; during a round each card except a set-up card suspends the round."""
    table = TableRun()
    known = None if face == "?" else Card.CQ
    set_aside = CardSetAside(
        shoe=1,
        round=None,
        card=known,
        reason=reason,
        reported=Seen(card=known),
        provenance=1,
        measured=UNSET if known else Measured(code="00"),
    )
    assert table.hear(card(place, face)) == [set_aside]
    table.hear_each(NATURAL[:2])
    published = table.hear(card(place, face))
    assert published[0] == replace(set_aside, round=1, provenance=4)
    if place != "set-up":
        assert kinds(published) == [CardSetAside, RoundSuspended]
        table.answer("put-away")
        assert table.question.kind == "order-altered"
        table.answer("yes")
        table.answer("continue")
    assert completed(table.hear_each(NATURAL[2:])).outcome is Outcome.PLAYER


@pytest.mark.parametrize("wrong", ["B1 8S", "P2 8S", "B3 8S", "P0 8S", "P15 8S"])
def test_cards_before_the_first_round_of_a_shoe_are_set_aside(wrong: str) -> None:
    """The reason is `no-round`; a question is asked only in a shoe that was observed from its start."""
    for before in ([], [CUT, STARTED], [*NATURAL, result("player"), CUT, STARTED]):
        table = after(*before)
        published = table.hear(*cards(wrong))
        assert set_aside(published).reason == "no-round"
        assert set_aside(published).round is None
        assert kinds(published) == [CardSetAside]
        assert table.shown.phase.value == "idle"
        assert len(table.state.asked) == len(before[:1])


@pytest.mark.parametrize(
    ("before", "wrong", "due", "hand", "position"),
    [
        ("P1 2S", "P2 8S", Slot(Side.BANKER, 1, 2), "player", 2),
        ("P1 2S", "B2 8S", Slot(Side.BANKER, 1, 2), "banker", 2),
        ("P1 2S", "B3 8S", Slot(Side.BANKER, 1, 2), "banker", 3),
        ("P1 2S", "B0 8S", Slot(Side.BANKER, 1, 2), "banker", 0),
        ("P1 2S, B1 3S", "B2 8S", Slot(Side.PLAYER, 2, 3), "banker", 2),
        ("P1 2S, B1 3S", "B1 3S", Slot(Side.PLAYER, 2, 3), "banker", 1),
        ("P1 2S, B1 3S, P2 KS", "P3 8S", Slot(Side.BANKER, 2, 4), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH", "B3 8S", Slot(Side.PLAYER, 3, 5), "banker", 3),
        ("P1 6S, B1 3S, P2 KS, B2 KH", "P3 8S", Slot(Side.BANKER, 3, 5), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "P3 8S", Slot(Side.BANKER, 3, 6), "player", 3),
        ("P1 2S, B1 3S, P2 KS, B2 KH, P3 KD", "B15 8S", Slot(Side.BANKER, 3, 6), "banker", 15),
    ],
)
def test_a_card_that_is_not_due_is_set_aside_and_suspends_the_round(
    before: str, wrong: str, due: Slot, hand: str, position: int
) -> None:
    """The table never assigns such a card to a hand by itself."""
    table = after(*cards(before))
    held = table.shown.hands
    seen = Seen(card=face_of(wrong), hand=hand, position=position)
    assert table.hear(*cards(wrong)) == [
        CardSetAside(shoe=1, round=1, card=seen.card, reason="not-due", reported=seen, provenance=table.row),
        RoundSuspended(shoe=1, round=1, due=due, seen=seen, gap=False),
    ]
    assert table.shown.phase.value == "suspended"
    assert table.shown.hands == held


def face_of(text: str) -> Card:
    return Card.parse(text.split()[1])


@pytest.mark.parametrize("extra", ["P3 8S", "B3 8S", "B2 8S", "P2 8S"])
@pytest.mark.parametrize("before", [NATURAL, TIE, SIX_CARDS])
def test_a_card_after_the_last_card_suspends_the_round(before: list[AnyObservation], extra: str) -> None:
    """After completion no card is due, and the published result remains."""
    table = after(*before)
    published = table.hear(*cards(extra))
    assert kinds(published) == [CardSetAside, RoundSuspended]
    assert set_aside(published).reason == "not-due"
    assert (suspended(published).due, suspended(published).gap) == (None, False)


def test_a_suspended_round_draws_no_card_and_asks_one_question() -> None:
    """Later cards wait for the answer, and the question does not change."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    published = table.hear_each(cards("P2 5S, B2 6S, P3 7S"))
    assert kinds(published) == [CardSetAside, CardSetAside, CardSetAside]
    assert {each.reason for each in published if isinstance(each, CardSetAside)} == {"not-due"}
    assert table.shown.hands.player.cards == (Card.S2,)


def test_a_round_without_a_card_continues_after_a_repeated_report() -> None:
    """The report closes the bets, and the bets remain closed."""
    table = after()
    table.tell(OpenBets())
    table.hear(card("P3", "2C"))
    table.answer("same-card")
    assert (table.phase, table.hands, table.state.asked) == ("dealing", "/", ())


def test_an_unread_card_in_the_due_slot_suspends_the_round() -> None:
    """The table does not guess the face of the due card."""
    table = after(*cards("P1 2S"))
    published = table.hear(card("B1", "?"))
    seen = Seen(card=None, hand="banker", position=1)
    assert kinds(published) == [CardSetAside, RoundSuspended]
    assert (set_aside(published).card, set_aside(published).reason, set_aside(published).reported) == (
        None,
        "not-due",
        seen,
    )
    assert suspended(published) == RoundSuspended(shoe=1, round=1, due=Slot(Side.BANKER, 1, 2), seen=seen, gap=False)


@pytest.mark.parametrize("before", [cards("P1 2S, B1 3S, B3 3S"), cards("P1 2S, B1 3S"), NATURAL])
def test_an_unread_card_in_another_slot_has_the_reason_not_due(before: list[AnyObservation]) -> None:
    """The wrong slot has priority over the missing face."""
    table = after(*before)
    assert set_aside(table.hear(card("B3", "?"))).reason == "not-due"


def test_a_shoe_that_exchanges_the_hands_completes_no_round() -> None:
    """Neither hand receives the other hand's card, and no result of the round is confirmed."""
    table = TableRun()
    published = table.hear_each(cards("B1 9S, P1 8S, B2 KS, P2 KH")) + table.hear(result("banker"))
    assert [each.index for each in published if isinstance(each, CardDrawn)] == [1]
    assert not {RoundCompleted, RoundConfirmed, RoundDisputed} & set(kinds(published))


# --- completion of a round


def test_the_last_due_card_completes_the_round() -> None:
    """The same Step publishes both hands, and the outcome and the pairs by the cards."""
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
def test_the_cards_decide_outcome_and_pairs(player: str, banker: str, outcome: str, pairs: list[str]) -> None:
    """A pair needs one rank; a ten and a king are not a pair."""
    published = completed(TableRun().hear_each(dealt(player, banker)))
    assert (published.outcome.value, [each.value for each in published.pairs]) == (outcome, pairs)


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
def test_integrity_states_whether_all_reports_are_proven(
    between: list[AnyObservation], integrity: str, cut_at: int
) -> None:
    """It is `partial` after an absence of the line or the daemon that the sequence does not prove harmless."""
    table = after(OPENED, *NATURAL[:cut_at], *between)
    published = table.hear_each(NATURAL[cut_at:])
    published += table.answer("cards-shown") if table.phase == "suspended" else []
    assert completed(published).integrity == integrity


def test_a_gap_before_a_round_leaves_its_integrity_complete() -> None:
    """A gap before Player's first card belongs to no hand of the round."""
    table = after(*NATURAL[:2], closed(), OPENED, UNPROVEN, *NATURAL[2:], closed(), OPENED, UNPROVEN)
    assert completed(table.hear_each(SIX_CARDS)).integrity == "complete"


def test_a_gap_after_the_last_card_leaves_the_round_complete() -> None:
    """The event and the state keep the integrity `complete`."""
    table = after(*NATURAL, closed(), OPENED, UNPROVEN)
    assert table.shown.last_round is not None
    assert table.shown.last_round.integrity == "complete"


@pytest.mark.parametrize("game", GAMES)
def test_each_game_is_played_by_its_own_book(game: str) -> None:
    """The events name the game, and a ten counts zero in every game."""
    table = TableRun(game)
    published = table.hear_each(dealt("10S 2D 4H", "KC 7H"))
    over = completed(published)
    assert (
        {each.game for each in published if isinstance(each, RoundStarted | RoundCompleted)}
        == {game}
        == {table.shown.game}
    )
    assert (over.player.points, over.banker.points, over.outcome) == (6, 7, Outcome.BANKER)


# --- a gap


@pytest.mark.parametrize("seen", [card("B3", "2C"), result("player")])
def test_a_suspension_states_whether_the_line_was_down(seen: AnyObservation) -> None:
    """`gap` is true after any absence of the line, even if the sequence proves that no report was missed."""
    for resumed in (UNPROVEN, PROVEN):
        table = after(*NATURAL[:3], closed(), OPENED, resumed)
        assert suspended(table.hear(seen)).gap is True
    assert suspended(after(closed(), OPENED, *NATURAL[:3]).hear(seen)).gap is False
    assert suspended(after(*NATURAL[:3], QUIET, AGAIN).hear(seen)).gap is False
    of_the_shuffler = replace(closed(), device=Device.SHUFFLER)
    assert suspended(after(*NATURAL[:3], of_the_shuffler).hear(seen)).gap is False


def test_a_gap_after_completion_is_published() -> None:
    """The first card of the next round may be lost in the gap, and `gap` is true."""
    table = after(*NATURAL, result("player"), closed(), OPENED, UNPROVEN)
    assert suspended(table.hear(card("B1", "2C"))).gap is True


def test_a_gap_of_one_round_is_not_a_gap_of_the_next() -> None:
    """Each round has its own gap."""
    table = after(*NATURAL[:2], closed(), OPENED, PROVEN, *NATURAL[2:], card("P1", "5D"))
    assert suspended(table.hear(card("P2", "2C"))).gap is False
