"""The seed of a table: another version of the engine continues the record from it."""

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from firmware_protocols.angel_eye import AngelEyeResult, AngelEyeSettings, StandBy
from shoed.engine import EngineState, Plant, Seed, seed_of
from shoed.model.cards import Card
from shoed.model.events import ShoeStarted
from shoed.model.findings import OrderAltered
from shoed.model.moments import Now
from shoed.model.step import AnyInput, LinkUp, Received, Step
from shoed.rig.dealer import deal
from shoed.session import SessionState
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.table import is_settled, public_state
from shoed.watch import new_shoe
from tests.angel_eye_line import CONFIGURED, PORT, at, traffic
from tests.observed import LOADED, START
from tests.test_engine import engine
from tests.watching import Watching, burnt, delivery

State = EngineState[SessionState]


def shoes(seed: int) -> list[tuple[AnyInput, Now]]:
    """Two shoes of two decks and a part of the third one, on a good line."""
    settings, ms, starts = AngelEyeSettings(), 1000.0, 0
    device = AngelEyeShoe(settings)
    state = device.begin()
    incoming: list[tuple[AnyInput, Now]] = [(CONFIGURED, at(0)), (LinkUp(PORT), at(1))]
    for pause_s, due in deal(Random(seed), 2):
        state, data = device.say(state, due)
        ms += pause_s * 1000
        size = len(data) // settings.copies
        incoming += [(Received(data[:size]), at(ms)), (Received(data[size:]), at(ms + 34))]
        starts += isinstance(due, StandBy)
        if starts > 1 and isinstance(due, AngelEyeResult):
            return incoming
    raise AssertionError


def folded(incoming: list[tuple[AnyInput, Now]]) -> list[tuple[Step, State]]:
    joined = engine()
    state, folds = joined.begin(), []
    for each, now in incoming:
        state, step = joined.step(state, each, now)
        if step is not None:
            folds.append((step, state))
    return folds


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("inputs", [shoes, traffic])
def test_the_table_continues_from_a_seed_at_the_start_of_a_shoe(seed: int, inputs: object) -> None:
    """From the recorded observations, the events are the same as without the seed, and so is the published state."""
    joined = engine()
    folds = folded(shoes(seed) if inputs is shoes else traffic(seed))
    begun = 0
    for number, (first, before) in enumerate(folds):
        if not any(isinstance(event.data, ShoeStarted) for event in first.events) or not is_settled(before.table):
            continue
        begun += 1
        encoded = msgspec.json.encode(seed_of(before))
        assert len(encoded) < 1500
        state = joined.begin_at(Plant(first.row, first.now, msgspec.json.decode(encoded, type=Seed)))
        for step, after in folds[number + 1 :]:
            concluded = joined.conclude(state, step.input, step.observations, step.now, step.row)
            assert concluded.events == step.events
            assert concluded.answers == step.answers
            state = replace(state, row=step.row, watch=concluded.watch, table=concluded.table)
            assert public_state("commission", state.table) == public_state("commission", after.table)
    assert begun or inputs is traffic


def test_a_round_or_a_question_is_not_settled() -> None:
    """A seed of such a state would lose the cards or the question."""
    folds = folded(shoes(1))
    phases = {state.table.phase.value: is_settled(state.table) for _, state in folds}
    assert phases == {"idle": True, "dealing": False, "complete": False}


def fold_quiet(state: State, step: Step) -> State:
    for each in step.quiet:
        state, _ = engine().step(state, each.input, each.now)
    return state


def test_the_sessions_of_a_seed_receive_reports() -> None:
    """The link is open, as it was. Only a copy of a report before the seed is taken for a report."""
    folds = folded(shoes(2))
    number, (first, before) = next(
        (number, each) for number, each in enumerate(folds) if any(e.type == "shoe.started" for e in each[0].events)
    )
    state = engine().begin_at(Plant(first.row, first.now, seed_of(before)))
    (copies, _), *later = folds[number + 1 :]
    state = fold_quiet(state, copies)
    state, _ = engine().made(state, copies.input, copies.now)
    for step, _ in later:
        state, again = engine().made(fold_quiet(state, step), step.input, step.now)
        assert [type(each) for each in again.observations] == [type(each) for each in step.observations]


def test_a_seed_has_the_sets_that_the_shuffler_delivered() -> None:
    """A card that is not in the delivered order is found, as without the seed."""
    deck = tuple(Random(4).sample(list(Card), len(Card)))
    watching = Watching()
    watching.hear(delivery(*deck), LOADED)
    before = replace(engine().begin(), watch=new_shoe(watching.state, announced=False, whole=True))
    seed = msgspec.json.decode(msgspec.json.encode(seed_of(before)), type=Seed)
    watching.state = engine().begin_at(Plant(1, START, seed)).watch
    assert watching.hear(burnt(deck[0])) == []
    assert [type(found) for found in watching.hear(burnt(deck[2]))] == [OrderAltered]
