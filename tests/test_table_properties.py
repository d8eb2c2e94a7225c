"""The table under any observations at all, in any order: what holds of its events whatever the shoe says."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from shoed import events
from shoed.cards import Card
from shoed.events import Event
from shoed.now import rfc3339
from shoed.observations import AnyObservation, CardSeen, FrameRejected, Outcome, Pair, Place, Reported, ResultSeen
from shoed.table.machine import Table
from shoed.table.state import MOVES, Move, Phase
from tests.listener import Listener, next_hand, reckoned
from tests.observed import (
    AGAIN,
    CLASHED,
    CLEARED,
    COPY,
    CUT,
    FRAME,
    JUMPED,
    OPENED,
    PRESET,
    PROVEN,
    QUIET,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    Sitting,
    closed,
    fault,
    lock,
    rejected,
)

Heard = list[tuple[list[AnyObservation], float]]  # a Step each: what it observed, and the seconds before it

OTHERS: list[AnyObservation] = [
    *(OPENED, QUIET, AGAIN, PROVEN, UNPROVEN, JUMPED, CLASHED, CUT, STARTED, STOOD_BY, COPY, PRESET, CLEARED, fault()),
    *(lock(locked=True), lock(locked=False), closed("cable"), closed("power"), rejected(), rejected(offset=9)),
]

anywhere = st.builds(
    CardSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    place=st.sampled_from(Place),
    position=st.integers(0, 15),
    card=st.none() | st.sampled_from(Card),
)
in_hands = st.builds(
    CardSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    place=st.sampled_from((Place.PLAYER, Place.BANKER)),
    position=st.integers(1, 3),
    card=st.sampled_from(Card),
)
results = st.builds(
    ResultSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    outcome=st.sampled_from(Outcome),
    pairs=st.sampled_from(((), (Pair.PLAYER,), (Pair.BANKER,), (Pair.PLAYER, Pair.BANKER))),
)
anything = st.one_of(anywhere, in_hands, in_hands, results, st.sampled_from(OTHERS))
steps = st.lists(st.tuples(st.lists(anything, max_size=4), st.sampled_from((0.0, 0.3, 4.0, 11.0))), max_size=60)


def honest_round(dice: random.Random) -> list[AnyObservation]:
    """One round as it is dealt, with its result."""
    hands: dict[Pair, list[Card]] = {Pair.PLAYER: [], Pair.BANKER: []}
    seen: list[AnyObservation] = []
    while (hand := next_hand(hands[Pair.PLAYER], hands[Pair.BANKER])) is not None:
        hands[hand].append(dice.choice(list(Card)))
        place, position = Place(hand.value), len(hands[hand])
        seen.append(CardSeen(at=START, frame=FRAME, place=place, position=position, card=hands[hand][-1]))
    outcome, pairs = reckoned(hands[Pair.PLAYER], hands[Pair.BANKER])
    return [*seen, ResultSeen(at=START, frame=FRAME, outcome=outcome, pairs=pairs)]


def troubled_rounds(seed: int) -> Heard:
    """Rounds nearly as they are dealt: now and then a report is lost, doubled or false, or something comes between."""
    dice = random.Random(seed)
    heard: Heard = []
    for _ in range(12):
        seen = honest_round(dice)
        if dice.random() < 0.1:
            seen[-1] = ResultSeen(at=START, frame=FRAME, outcome=dice.choice(list(Outcome)), pairs=())
        if dice.random() < 0.2:
            seen = [CUT, STARTED, *seen]
        for each in seen:
            between = [dice.choice(OTHERS)] if dice.random() < 0.07 else []
            reports = dice.choices([[], [each], [each, each]], [3, 95, 2])[0]
            heard.append((between + reports, dice.choice((0.3, 1.0, 2.5))))
    return heard


def follow(heard: Heard) -> list[Event]:
    """Let a table hear it all and a listener what it tells, and compare what both show after every Step."""
    table, listener = Sitting(), Listener()
    heard_at: str | None = None
    for observations, after_s in heard:
        told = table.hear(*observations, after_s=after_s)
        for data in told:
            listener.hear(data)
        reported = [each.card for each in observations if isinstance(each, CardSeen)]
        told_of = [each for each in told if isinstance(each, events.CardDrawn | events.CardSetAside)]
        assert [each.card for each in told_of] == reported
        assert all(each.provenance == table.row for each in told_of)
        if any(isinstance(each, Reported | FrameRejected) for each in observations):
            heard_at = rfc3339(table.now.utc_us)
        assert table.message == listener.drawn(len(table.told), heard_at)
    return table.told


def check_order(told: list[Event]) -> None:
    """Sequence has no gap; neither time nor shoe nor round goes backwards."""
    assert [event.sequence for event in told] == list(range(1, len(told) + 1))
    assert all(before.utc_us <= after.utc_us for before, after in pairwise(told))
    places = [
        (event.data.shoe, event.data.round or 0)
        for event in told
        if isinstance(event.data, events.RoundStarted | events.CardDrawn | events.CardSetAside | events.RoundCompleted)
    ]
    assert places == sorted(places)
    opened = [(event.data.shoe, event.data.round) for event in told if isinstance(event.data, events.RoundStarted)]
    assert len(opened) == len(set(opened))


@settings(max_examples=300)
@given(steps)
def test_whatever_is_observed_events_and_state_hold_together(heard: Heard) -> None:
    """Nothing raises, each card gives one event, and whoever hears the events alone draws the table that is shown."""
    check_order(follow(heard))


def test_rounds_with_troubles_hold_together() -> None:
    """The same of many shoes in which most is dealt as it should be, so that rounds complete and follow each other."""
    for seed in range(200):
        check_order(follow(troubled_rounds(seed)))


class Tapped(Table):
    """A table that notes its moves."""

    made: set[tuple[Phase, Move]]

    def move(self, move: Move) -> None:
        self.made.add((self.state.phase, move))
        super().move(move)


def test_every_legal_move_is_made_and_no_other() -> None:
    """MOVES is exactly what observations can lead to: no row of it is dead, and none is missing."""
    made: set[tuple[Phase, Move]] = set()
    for seed in range(60):
        sitting = Sitting()
        for row, (observations, _) in enumerate(troubled_rounds(seed), start=1):
            table = Tapped(sitting.settings, sitting.state, row)
            table.made = made
            for each in observations:
                table.observe(each)
            sitting.state = table.state
    assert made == set(MOVES)


def test_an_honest_shoe_is_confirmed_round_by_round() -> None:
    """Without troubles nothing is set aside, suspended, disputed or left open."""
    table, dice = Sitting(), random.Random(7)
    for _ in range(60):
        table.hear_each(honest_round(dice))
    told = [event.type for event in table.told]
    assert set(told) == {"round.started", "card.drawn", "round.completed", "round.confirmed"}
    assert told.count("round.started") == told.count("round.completed") == told.count("round.confirmed") == 60
