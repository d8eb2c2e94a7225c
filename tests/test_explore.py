"""The explorer: its levels, its keys of states, its laws, and the seeded faults."""

import pytest
from msgspec.structs import replace

from shoed.model.device_events import DeviceLocked
from shoed.model.events import Event, RoundStarted
from shoed.model.observations import Device
from shoed.rules.load import GAMES
from shoed.table import Table, TableSettings, TableState, fold, public_question, public_state
from tests.explore.faults import FAULTS, ROOT, Fault, Misplaced, seeded
from tests.explore.inputs import NOW, PORT, inputs
from tests.explore.keys import key_of
from tests.explore.laws import Broken, Witness, without_end
from tests.explore.search import Explorer, reported
from tests.observed import TableRun, card

SETTINGS = TableSettings("commission", PORT, "word-bac-901")
STARTED = RoundStarted(shoe=1, round=1, game="commission", opened_by="announcement", shoe_integrity="partial")


def after(*names: str) -> TableState:
    """The state after these inputs of the alphabet."""
    state = TableState()
    for name in names:
        shown, asked = public_state("commission", state), public_question("commission", state)
        tried = inputs(shown, asked, reported(state), honest=True)
        each = next(each for each in tried if each.name == name)
        state = fold(Table(SETTINGS, state, 1), each.seen, each.given, each.findings, NOW).state
    return state


@pytest.mark.parametrize("game", GAMES)
def test_honest_play_keeps_every_law(game: str) -> None:
    """Depth 0: a shoe that deals by the Table of Play, through a round and into the next one."""
    explorer = Explorer(game, lambda: False)
    (level,) = explorer.explore(0)
    assert explorer.found == {}
    assert level.states == len(explorer.parents) > 20


def test_a_search_without_time_completes_no_level() -> None:
    """A level is complete only if all its states were expanded."""
    assert list(Explorer("commission", lambda: True).explore(1)) == []


def test_states_that_differ_in_the_numbers_of_events_have_one_key() -> None:
    """The number of published events has no effect on later outputs."""
    state = after("P1 4S")
    assert key_of(replace(state, sequence=state.sequence + 7)) == key_of(state)


def test_states_that_differ_otherwise_have_different_keys() -> None:
    """An announced round and a waiting round have their own keys."""
    keys = [key_of(after(*names)) for names in (("P1 4S",), ("open-bets", "P1 4S"), ("P1 unread",), ())]
    assert len(set(keys)) == len(keys)


def test_a_gap_in_the_sequence_is_found() -> None:
    """The sequence of events counts from 1."""
    with pytest.raises(Broken, match="sequence: 2 follows 0"):
        Witness("commission").receive(Event(2, 0, DeviceLocked(device=Device.SHOE)))


def test_a_question_that_is_asked_twice_is_found() -> None:
    """A question is closed before its id is asked again."""
    table, witness = TableRun(), Witness("commission")
    published = table.step(card("P1", "?"))
    for event in published:
        witness.receive(event)
    with pytest.raises(Broken, match="question 1 is asked twice"):
        witness.receive(replace(published[-1], sequence=published[-1].sequence + 1))


def test_an_event_that_contradicts_another_is_found() -> None:
    """A round begins while another round is open."""
    witness = Witness("commission")
    witness.receive(Event(1, 0, STARTED))
    copied = witness.copied()
    with pytest.raises(Broken, match="contradicts"):
        witness.receive(Event(2, 0, replace(STARTED, round=2)))
    copied.receive(Event(2, 0, DeviceLocked(device=Device.SHOE)))


def test_answers_that_only_lead_in_a_circle_are_found() -> None:
    """A suspended round must have an answer that leads out; a state that was not expanded counts as one."""
    suspended = {b"a": True, b"b": True, b"c": True, b"d": True, b"out": False, b"new": True}
    answers = {b"a": {b"b"}, b"b": {b"a"}, b"c": {b"a", b"out"}, b"d": {b"new"}, b"out": set[bytes]()}
    assert sorted(without_end(suspended, answers)) == [b"a", b"b"]


@pytest.mark.parametrize("fault", FAULTS, ids=[each.name for each in FAULTS])
def test_a_fault_can_be_seeded(fault: Fault) -> None:
    """Its old text occurs exactly once in its module."""
    assert seeded(fault, ROOT) != (ROOT / fault.module).read_text()


def test_a_fault_without_its_place_is_an_error() -> None:
    """After a change of the engine, the fault must be seeded at another line."""
    with pytest.raises(Misplaced, match="0 times"):
        seeded(Fault("a fault", "exception", "shoed/table/phase.py", "no such text", ""), ROOT)
