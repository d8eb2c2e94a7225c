"""The table under anything at all, in any order: what holds of its events, its questions and its cards."""

import random
from collections import Counter
from functools import cache
from itertools import pairwise, product
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoed import events
from shoed.commands import Decide
from shoed.events import Event
from shoed.rules.load import GAMES
from shoed.table import PublicQuestion, Table, public_question
from shoed.table.phase import MOVES, Move, Phase
from shoed.table.public import PublicHands
from shoed.table.question import Consequence
from tests.observed import Sitting, who_may
from tests.onlooker import Onlooker
from tests.trouble import Played, anything, honest_round, troubled_rounds


class Tapped(Table):
    """A table that notes its moves."""

    made: ClassVar[set[tuple[Phase, Move]]] = set()

    def move(self, move: Move) -> None:
        self.made.add((self.state.phase, move))
        super().move(move)


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


@settings(max_examples=600)
@given(st.sampled_from(GAMES), st.lists(anything, min_size=10, max_size=60), st.randoms(use_true_random=False))
def test_whatever_comes_events_state_and_cards_hold_together(
    game: str, played: list[Played], picks: random.Random
) -> None:
    """Nothing raises, each card gives one event, no card is lost or made, and all that is asked can be answered.

    Whoever hears the events alone draws the table that is shown, and finds every round ended when the next begins.
    """
    onlooker = Onlooker(game)
    onlooker.play(played)
    onlooker.end(picks)
    check_order(onlooker.table.told)


@cache
def moves_in_troubled_shoes(game: str) -> frozenset[tuple[Phase, Move]]:
    Tapped.made.clear()
    rare = [172] if game == "commission" else []  # an answer takes the end of a round away that was complete
    for seed in [*range(60), *rare]:
        onlooker = Onlooker(game)
        onlooker.table.kind = Tapped
        onlooker.play(troubled_rounds(seed))
        onlooker.end(random.Random(seed))
        check_order(onlooker.table.told)
    return frozenset(Tapped.made)


@pytest.mark.parametrize("game", GAMES)
def test_rounds_with_troubles_hold_together(game: str) -> None:
    """The same of shoes in which most is dealt as it should be, so that rounds complete and follow each other."""
    assert moves_in_troubled_shoes(game) <= set(MOVES)


def test_every_legal_move_is_made() -> None:
    """MOVES is exactly what reports, findings and people can lead to: no row of it is dead, and none is missing."""
    assert frozenset().union(*map(moves_in_troubled_shoes, GAMES)) == set(MOVES)


class Curious(Onlooker):
    """Tries every consequence of every question on a table of its own, before it is answered."""

    def __init__(self, game: str) -> None:
        super().__init__(game)
        self.tried: set[str] = set()
        self.found: Counter[str] = Counter()

    def check_question(self) -> None:
        asked = self.asked
        if asked is None or asked.id in self.tried:
            return
        self.tried.add(asked.id)
        for each in asked.consequences:
            self.found[asked.question] += 1
            self.try_one(asked, each)

    def try_one(self, asked: PublicQuestion, expected: Consequence) -> None:
        table = Sitting(self.table.settings.game)
        table.settings = self.table.settings
        table.state, table.now = self.table.state, self.table.now
        choice = chosen(asked, expected)
        told = table.tell(Decide(question=asked.id, choice=choice), who_may(asked))
        voided = [each for each in told if isinstance(each, events.RoundVoided)]
        voidable = not any(each.record.published.voided for each in self.table.state.past)
        if self.table.state.phase is not Phase.VOIDED and voidable:
            assert [each.clause for each in voided] == ([] if expected.void is None else [expected.void or None])
        if (asked.shoe, asked.round) != (self.table.shown.shoe, self.table.shown.round):
            return  # of a round that is over: an answer may void it, and changes nothing else
        then = public_question(
            table.settings.game, table.state, insurance=table.settings.insurance, custom=table.settings.custom
        )
        assert expected.then_asks == (None if then is None or then.optional else then.question)
        if expected.void is None and then is None:
            assert table.shown.hands == PublicHands(expected.player, expected.banker)
            assert table.table_due == expected.due
        if expected.outcome is not None and then is None:
            last = table.shown.last_round
            assert last is not None
            assert (last.result.outcome, {bet: paid.pays for bet, paid in last.pays.items()}) == (
                expected.outcome,
                expected.pays,
            )


def chosen(asked: PublicQuestion, expected: Consequence) -> str | tuple[str, ...]:
    """An answer for which the consequence stands."""
    if asked.question == "card-order":
        return expected.choice
    (word,) = expected.choice
    return word.removeprefix("any ") + "S" if word.startswith("any ") else word


def test_what_a_question_says_of_an_answer_is_what_comes_of_it() -> None:
    """Each consequence of every question that is asked: the hands, what is due, void, result, pays and what is next."""
    asked: Counter[str] = Counter()
    for game, seed in product(GAMES, range(8)):
        curious = Curious(game)
        curious.play(troubled_rounds(1000 + seed))
        asked += curious.found
    assert set(asked) >= {"face", "reading", "confirm", "ruling", "option", "card-order", "reconstructable"}


def test_an_honest_shoe_is_confirmed_round_by_round() -> None:
    """Without troubles nothing is set aside, suspended, disputed or left open."""
    table, dice = Sitting(), random.Random(7)
    for _ in range(60):
        table.hear_each(honest_round(dice))
    told = [event.type for event in table.told]
    assert set(told) == {"round.started", "card.drawn", "round.completed", "round.confirmed"}
    assert told.count("round.started") == told.count("round.completed") == told.count("round.confirmed") == 60
