"""Properties of the table's events, questions and cards under any sequence of inputs."""

import random
from collections import Counter
from functools import cache
from itertools import pairwise, product
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoed.model import events
from shoed.model.commands import Decide
from shoed.model.events import Event
from shoed.rules.load import GAMES
from shoed.table import PublicQuestion, Table, public_question
from shoed.table.phase import MOVES, Move, Phase
from shoed.table.public_question import Consequence
from shoed.table.public_state import PublicHands
from tests.observed import TableRun, who_may
from tests.onlooker import Onlooker
from tests.trouble import Played, anything, honest_round, troubled_rounds


class RecordedTable(Table):
    """A table that records its moves."""

    moves: ClassVar[set[tuple[Phase, Move]]] = set()

    def move(self, move: Move) -> None:
        self.moves.add((self.state.phase, move))
        super().move(move)


def check_order(published: list[Event]) -> None:
    """The sequence has no gap, and time, shoe and round never decrease."""
    assert [event.sequence for event in published] == list(range(1, len(published) + 1))
    assert all(before.utc_us <= after.utc_us for before, after in pairwise(published))
    places = [
        (event.data.shoe, event.data.round or 0)
        for event in published
        if isinstance(event.data, events.RoundStarted | events.CardDrawn | events.CardSetAside | events.RoundCompleted)
    ]
    assert places == sorted(places)
    opened = [(event.data.shoe, event.data.round) for event in published if isinstance(event.data, events.RoundStarted)]
    assert len(opened) == len(set(opened))


@settings(max_examples=600)
@given(st.sampled_from(GAMES), st.lists(anything, min_size=10, max_size=60), st.randoms(use_true_random=False))
def test_any_sequence_of_inputs_keeps_events_state_and_cards_consistent(
    game: str, played: list[Played], picks: random.Random
) -> None:
    """No input raises, each card has one event, no card is lost or invented, and each question can be answered.

    A subscriber draws the shown table from the events alone, and each round ends before the next one begins.
    """
    onlooker = Onlooker(game)
    onlooker.play(played)
    onlooker.end(picks)
    check_order(onlooker.table.events)


@cache
def moves_in_troubled_shoes(game: str) -> frozenset[tuple[Phase, Move]]:
    RecordedTable.moves.clear()
    rare = [172] if game == "commission" else []  # an answer reopens a complete round
    for seed in [*range(60), *rare]:
        onlooker = Onlooker(game)
        onlooker.table.kind = RecordedTable
        onlooker.play(troubled_rounds(seed))
        onlooker.end(random.Random(seed))
        check_order(onlooker.table.events)
    return frozenset(RecordedTable.moves)


@pytest.mark.parametrize("game", GAMES)
def test_rounds_with_irregularities_keep_events_state_and_cards_consistent(game: str) -> None:
    """Most cards are dealt correctly: rounds are completed and follow each other."""
    assert moves_in_troubled_shoes(game) <= set(MOVES)


def test_every_legal_move_is_made() -> None:
    """MOVES contains exactly the moves that reports, findings and people can cause."""
    assert frozenset().union(*map(moves_in_troubled_shoes, GAMES)) == set(MOVES)


class ConsequenceTester(Onlooker):
    """Tries each consequence of each question on a separate table before the answer."""

    def __init__(self, game: str) -> None:
        super().__init__(game)
        self.tried: set[str] = set()
        self.counts: Counter[str] = Counter()

    def check_question(self) -> None:
        asked = self.asked
        if asked is None or asked.id in self.tried:
            return
        self.tried.add(asked.id)
        for each in asked.consequences:
            self.counts[asked.question] += 1
            self.try_one(asked, each)

    def try_one(self, asked: PublicQuestion, expected: Consequence) -> None:
        table = TableRun(self.table.settings.game)
        table.settings = self.table.settings
        table.state, table.now = self.table.state, self.table.now
        choice = answer_of(asked, expected)
        published = table.tell(Decide(question=asked.id, choice=choice), who_may(asked))
        voided = [each for each in published if isinstance(each, events.RoundVoided)]
        voidable = not any(each.record.published.voided for each in self.table.state.past)
        if self.table.state.phase is not Phase.VOIDED and voidable:
            assert [each.clause for each in voided] == ([] if expected.void is None else [expected.void or None])
        if (asked.shoe, asked.round) != (self.table.shown.shoe, self.table.shown.round):
            return  # the round is over: an answer may void it and has no other effect
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


def answer_of(asked: PublicQuestion, expected: Consequence) -> str | tuple[str, ...]:
    """An answer that has this consequence."""
    if asked.question == "card-order":
        return expected.choice
    (word,) = expected.choice
    return word.removeprefix("any ") + "S" if word.startswith("any ") else word


def test_each_consequence_of_a_question_is_the_effect_of_its_answer() -> None:
    """It covers the hands, the due card, void, result, pays and the next question."""
    asked: Counter[str] = Counter()
    for game, seed in product(GAMES, range(8)):
        tester = ConsequenceTester(game)
        tester.play(troubled_rounds(1000 + seed))
        asked += tester.counts
    assert set(asked) >= {"face", "reading", "confirm", "ruling", "option", "card-order", "reconstructable"}


def test_an_honest_shoe_is_confirmed_round_by_round() -> None:
    """Without irregularities no card is set aside, and no round is suspended, disputed or unconfirmed."""
    table, dice = TableRun(), random.Random(7)
    for _ in range(60):
        table.hear_each(honest_round(dice))
    published = [event.type for event in table.events]
    assert set(published) == {"round.started", "card.drawn", "round.completed", "round.confirmed"}
    assert (
        published.count("round.started")
        == published.count("round.completed")
        == published.count("round.confirmed")
        == 60
    )
