"""The engine: inputs of a table in, Steps out; and a table that goes on from its checkpoint as if nothing had been."""

from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.cards import Card
from shoed.engine import Engine, EngineState
from shoed.events import CardDrawn, Event, Hand, RoundCompleted, RoundConfirmed, ShoeStarted
from shoed.findings import DrawnTogether
from shoed.now import Now, rfc3339
from shoed.observations import AnyObservation, Device, DeviceDoubt, DeviceDoubted, LinkOpened, Outcome
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Send, Step, Woken
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from tests.angel_eye_line import CONFIGURED, PORT, Reporter, at, report, traffic
from tests.listener import Listener, shown_to_all

State = EngineState[SessionState]

# Byte by byte: Player 8S KS, Banker 3H 4H, and the shoe's result; each report is sent three times.
HAND = [
    bytes.fromhex("05 31 44 81 B8 03 34 46"),
    bytes.fromhex("05 32 44 91 C3 03 32 37"),
    bytes.fromhex("05 33 44 82 BD 03 34 42"),
    bytes.fromhex("05 34 44 92 C4 03 32 35"),
    bytes.fromhex("05 35 47 90 03 45 31"),
]


def engine() -> Engine[SessionState]:
    session = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    return Engine(session, WatchSettings(250), TableSettings("commission", PORT))


def run(came: list[tuple[AnyInput, Now]]) -> tuple[State, list[Step]]:
    joined = engine()
    state, steps = joined.begin(), list[Step]()
    for each, now in came:
        state, step = joined.step(state, each, now)
        if step is not None:
            steps.append(step)
    return state, steps


def told(steps: list[Step]) -> list[Event]:
    return [event for step in steps for event in step.events]


def test_a_whole_hand_from_the_bytes_to_the_events() -> None:
    """Three copies each, at the pace of the line: the first makes the event, in the row that has its bytes."""
    came: list[tuple[AnyInput, Now]] = [(CONFIGURED, at(0)), (LinkUp(PORT), at(1))]
    came += [(Received(frame), at(1000 * n + 17 * copy)) for n, frame in enumerate(HAND, 1) for copy in range(3)]
    _, steps = run(came)
    assert [step.row for step in steps] == list(range(1, 18))
    assert [event.type for event in told(steps)] == [
        "device.online",
        "round.started",
        *["card.drawn"] * 4,
        "round.completed",
        "round.confirmed",
    ]
    drawn = [event for event in told(steps) if isinstance(event.data, CardDrawn)]
    assert [event.utc_us for event in drawn] == [at(1000 * n).utc_us for n in (1, 2, 3, 4)]
    assert [event.data.provenance for event in drawn if isinstance(event.data, CardDrawn)] == [3, 6, 9, 12]
    assert [steps[row - 1].input for row in (3, 6, 9, 12)] == [Received(frame) for frame in HAND[:4]]
    (completed,) = (event.data for event in told(steps) if isinstance(event.data, RoundCompleted))
    assert (completed.player, completed.banker) == (Hand((Card.S8, Card.SK), 8), Hand((Card.H3, Card.H4), 7))
    assert (completed.outcome, completed.integrity) == (Outcome.PLAYER, "complete")
    assert isinstance(told(steps)[-1].data, RoundConfirmed)


def test_a_card_is_counted_in_the_shoe_that_it_begins() -> None:
    """Also if it came with the start of that shoe in one piece, or proved it."""
    for before, together in ((HAND, True), (HAND[:2], False)):
        numbers = map(str, range(len(before) + 1, 10))
        cut, start = report(next(numbers), "C"), report(next(numbers), "S")
        burn = report(next(numbers), "D", 0xA1, 0xB8)
        pieces = [cut, start + burn] if together else [cut, start, burn]
        came: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0))]
        came += [(Received(data), at(1000 * n)) for n, data in enumerate((*before, *pieces), 1)]
        state, steps = run(came)
        assert [event.data.shoe for event in told(steps) if isinstance(event.data, ShoeStarted)] == [2]
        assert (state.watch.counts.cards, state.watch.counts.of(Card.S8)) == (1, 1)


def test_only_what_is_waited_for_is_urgent() -> None:
    """Part of a frame and a copy ride on a later commit; a card, a rejection, a lost link do not wait."""
    first = HAND[0]
    came: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0))]
    came += [(Received(data), at(n)) for n, data in enumerate((first[:3], first[3:], first, b"junk", HAND[1]), 1)]
    _, steps = run(came)
    assert [step.urgent for step in steps] == [True, False, True, False, False, True]
    assert not run([(CONFIGURED, at(0))])[1][0].urgent


def test_doubts_of_a_step_are_lines_of_the_log() -> None:
    """Each with its kind: of a device, with its name, and what the watch found."""
    doubted = DeviceDoubted(at=at(0), reason=DeviceDoubt.NO_HELLO, detail="check the cable")
    found = DrawnTogether(at=at(0), cards=(Card.S8, Card.H3), order_known=True, evidence="reported 1.0 ms apart")
    step = Step(1, at(0), Woken(), observations=(LinkOpened(at=at(0), port=PORT), doubted), findings=(found,))
    assert step.warnings == [
        ("DeviceDoubted", "shoe: no-hello: check the cable"),
        ("DrawnTogether", str(found)),
    ]


def test_an_order_leaves_in_its_step_and_cannot_wait() -> None:
    """The bytes for the device are part of the Step: they leave after its commit."""
    _, steps = run([(LinkUp(PORT), at(0)), (Ordered(DeviceOrder(DeviceOrderKind.LOCK)), at(1))])
    assert steps[1].sends == (Send(Device.SHOE, bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")),)
    assert steps[1].urgent


def test_a_finding_is_on_record_with_the_step_that_found_it() -> None:
    """Two cards closer than the setting; it cannot wait either."""
    _, steps = run([(LinkUp(PORT), at(0)), (Received(HAND[0]), at(1000)), (Received(HAND[1]), at(1100))])
    evidence = "reported 100.0 ms apart, closer than 250 ms"
    together = DrawnTogether(at=at(1100), cards=(Card.S8, Card.H3), order_known=True, evidence=evidence)
    assert steps[2].findings == (together,)
    assert steps[2].urgent


def test_a_device_is_heard_by_bytes_and_not_by_a_timer() -> None:
    """A torn frame is rejected later than its last byte, by a timer or with the link: `heard_at` is of the byte."""
    heard: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0)), (Received(HAND[0][:4]), at(1000))]
    for came in ((Woken(), at(1500)), (LinkDown("the cable is out"), at(1200)), (CONFIGURED, at(90_000))):
        state, steps = run([*heard, came])
        assert "line.rejected" in [event.type for event in told(steps)]
        assert public_state("commission", state.table).device.heard_at == rfc3339(at(1000).utc_us)
        assert [event.utc_us for event in told(steps)] == sorted(event.utc_us for event in told(steps))


def test_a_waking_that_changes_nothing_leaves_no_step() -> None:
    """Neither a row nor a change of the state; the next Step has the next row."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(PORT), at(0))
    after, step = joined.step(state, Woken(), at(299_999))
    assert (after, step) == (state, None)
    _, step = joined.step(after, Received(HAND[0]), at(299_999))
    assert step is not None
    assert step.row == 2


def test_a_waking_that_changes_something_is_a_step() -> None:
    """A quiet line is told; junk that is given up is rejected; ten seconds of counting that are over are forgotten."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(PORT), at(0))
    _, step = joined.step(state, Woken(), at(300_000))
    assert step is not None
    assert [event.type for event in step.events] == ["device.quiet"]
    state, _ = joined.step(state, Received(b"junk"), at(300))
    state, step = joined.step(state, Woken(), at(800))
    assert step is not None
    assert [event.type for event in step.events] == ["line.rejected"]
    state, step = joined.step(state, Woken(), at(10_800))
    assert step is not None
    assert (step.events, step.observations, step.urgent) == ((), (), False)


def test_it_wants_to_be_woken_at_the_earliest_moment_of_any_room() -> None:
    """The session's torn frame, its quiet line, the table's counting."""
    joined = engine()
    state = joined.begin()
    moments = [joined.wake_at(state)]
    for came, ms in ((LinkUp(PORT), 0), (Received(b"junk"), 300), (Woken(), 800), (Received(HAND[0][:3]), 900)):
        state, _ = joined.step(state, came, at(ms))
        moments.append(joined.wake_at(state))
    expected: list[float | None] = [None, 300_000, 800, 10_800, 1_400]
    assert moments == [None if ms is None else at(ms).mono_ns for ms in expected]


@pytest.mark.parametrize("seed", range(12))
def test_a_table_goes_on_from_its_checkpoint_as_if_nothing_had_been(seed: int) -> None:
    """After every single Step the state goes through JSON, and nothing that follows is any different."""
    came = traffic(seed)
    state, steps = run(came)
    joined = engine()
    restored, again = joined.begin(), list[Step]()
    for each, now in came:
        restored = joined.restore(msgspec.json.encode(restored).decode())
        restored, step = joined.step(restored, each, now)
        if step is not None:
            again.append(step)
    assert again == steps
    assert restored == state


@pytest.mark.parametrize("seed", range(12))
def test_steps_go_through_json_and_back(seed: int) -> None:
    """Inputs and observations are on record as JSON: they come back as they were."""
    for step in run(traffic(seed))[1]:
        assert msgspec.json.decode(msgspec.json.encode(step.input), type=AnyInput) == step.input
        seen = msgspec.json.decode(msgspec.json.encode(step.observations), type=tuple[AnyObservation, ...])
        assert seen == step.observations


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_the_events_hold_together(seed: int) -> None:
    """Somebody with nothing but the events draws the table; sequence has no gap, rows only grow."""
    _, steps = run(traffic(seed))
    listener = Listener()
    for event in told(steps):
        listener.hear(event.data)
    assert [event.sequence for event in told(steps)] == list(range(1, len(told(steps)) + 1))
    assert [step.row for step in steps] == list(range(1, len(steps) + 1))


# Any report at all, right or wrong, under any number: what a shoe that has gone mad may say.
anything_said = st.builds(
    report,
    st.sampled_from("123456789A"),
    st.sampled_from("SPCDDDDDDGGdREeLMX"),
    st.integers(0, 0x7F),
    st.integers(0, 0x7F),
) | st.builds(report, st.sampled_from("123456789"), st.sampled_from("SPCGEeLX"), st.integers(0, 0x7F))
anything_said |= st.builds(report, st.sampled_from("123456789"), st.sampled_from("SPC"))
anything_comes: st.SearchStrategy[AnyInput] = (
    st.builds(Received, anything_said)
    | st.builds(Received, st.binary(max_size=9))
    | st.sampled_from(
        [LinkUp(PORT), LinkDown("lost"), CONFIGURED, Woken(), Ordered(DeviceOrder(DeviceOrderKind.UNLOCK))]
    )
)


@given(st.lists(st.tuples(anything_comes, st.sampled_from((0, 20, 600, 2500, 400_000))), max_size=40))
def test_a_shoe_that_has_gone_mad_breaks_nothing(came: list[tuple[AnyInput, int]]) -> None:
    """Nothing raises, and whoever hears the events alone still draws the table that the state shows."""
    joined, listener, ms = engine(), Listener(), 0
    state, steps = joined.begin(), list[Step]()
    for each, later in came:
        ms += later
        state = joined.restore(msgspec.json.encode(state).decode())
        state, step = joined.step(state, each, at(ms))
        if step is not None:
            steps.append(step)
            for event in step.events:
                listener.hear(event.data)
    shown = public_state("commission", state.table)
    assert shown_to_all(shown) == listener.drawn(len(told(steps)), shown.device.heard_at)


@pytest.mark.parametrize("seed", range(12))
def test_how_the_bytes_are_cut_makes_no_difference_to_the_events(seed: int) -> None:
    """The same events in the same order with the same data, but for the row that holds a card's bytes."""
    dice, shoe = Random(seed), Reporter()
    line = b"".join(dice.randbytes(dice.choice((0, 0, 0, 5))) + data for _ in range(3) for data in shoe.round(dice))
    cuts = sorted(dice.sample(range(len(line)), 60))
    pieces = [line[start:end] for start, end in pairwise([0, *cuts, len(line)])]
    _, whole = run([(LinkUp(PORT), at(0)), (Received(line), at(1000))])
    _, cut = run([(LinkUp(PORT), at(0)), *((Received(piece), at(1000)) for piece in pieces)])
    assert without_rows(cut) == without_rows(whole)


def without_rows(steps: list[Step]) -> list[object]:
    plain = [(event.sequence, event.type, msgspec.to_builtins(event.data)) for event in told(steps)]
    for _, _, data in plain:
        data.pop("provenance", None)
    return list(plain)
