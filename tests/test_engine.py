"""The engine: it makes Steps from the inputs of a table, and continues from a checkpoint."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import QUIET_BYTES, QUIET_INPUTS, Engine, EngineState, Plant, seed_of
from shoed.model.cards import Card
from shoed.model.events import CardDrawn, Event, Hand, RoundCompleted, RoundConfirmed, ShoeStarted
from shoed.model.findings import DrawnTogether
from shoed.model.moments import Now, rfc3339
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CopyHeard,
    Device,
    DeviceDoubt,
    DoubtRaised,
    FrameRejected,
    LinkOpened,
    Outcome,
)
from shoed.model.step import (
    AnyInput,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Send,
    Step,
    Woken,
)
from shoed.session import SessionOutput, SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, is_settled, public_state
from shoed.watch import WatchSettings
from tests.angel_eye_line import CONFIGURED, PORT, Reporter, at, report, traffic
from tests.listener import Listener, state_without_rules

State = EngineState[SessionState]

# The bytes of Player 8S KS, Banker 3H 4H, and the result of the shoe; each report is sent three times.
HAND = [
    bytes.fromhex("05 31 44 81 B8 03 34 46"),
    bytes.fromhex("05 32 44 91 C3 03 32 37"),
    bytes.fromhex("05 33 44 82 BD 03 34 42"),
    bytes.fromhex("05 34 44 92 C4 03 32 35"),
    bytes.fromhex("05 35 47 90 03 45 31"),
]


class Deaf:
    """A session that observes nothing."""

    class State(SessionState, frozen=True):
        """Nothing to keep."""

    state_type = State

    def begin(self) -> State:
        return Deaf.State()

    def step(self, state: State, _incoming: AnyInput, _now: Now) -> tuple[State, SessionOutput]:
        return state, SessionOutput()

    def wake_at(self, _: State) -> int | None:
        return None


def engine() -> Engine[SessionState]:
    session = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    return Engine(session, WatchSettings(250), TableSettings("commission", PORT))


def run(incoming: list[tuple[AnyInput, Now]]) -> tuple[State, list[Step]]:
    joined = engine()
    state, steps = joined.begin(), list[Step]()
    for each, now in incoming:
        state, step = joined.step(state, each, now)
        if step is not None:
            steps.append(step)
    return state, steps


def events_of(steps: list[Step]) -> list[Event]:
    return [event for step in steps for event in step.events]


def test_a_table_continues_from_a_seed() -> None:
    """Before its first round, the seed has the published state, and the open link of the seed receives reports."""
    state, _ = run([(CONFIGURED, at(0)), (LinkUp(PORT), at(1))])
    assert is_settled(state.table)
    again = engine().begin_at(Plant(state.row, at(1), seed_of(state)))
    assert public_state("commission", again.table) == public_state("commission", state.table)
    after, step = engine().step(again, Received(HAND[0]), at(1000))
    assert step is not None
    assert [(step.row, event.type) for event in step.events] == [(3, "round.started"), (3, "card.drawn")]
    assert not is_settled(after.table)


def test_the_events_of_a_complete_round() -> None:
    """Each report has three copies. The first copy makes the event, in the row of its bytes; the others ride."""
    incoming: list[tuple[AnyInput, Now]] = [(CONFIGURED, at(0)), (LinkUp(PORT), at(1))]
    incoming += [(Received(frame), at(1000 * n + 17 * copy)) for n, frame in enumerate(HAND, 1) for copy in range(3)]
    _, steps = run(incoming)
    assert [step.row for step in steps] == list(range(1, 8))
    assert [each.input for step in steps for each in step.quiet] == [Received(f) for f in HAND[:4] for _ in range(2)]
    assert [event.type for event in events_of(steps)] == [
        "device.online",
        "round.started",
        *["card.drawn"] * 4,
        "round.completed",
        "round.confirmed",
    ]
    drawn = [event for event in events_of(steps) if isinstance(event.data, CardDrawn)]
    assert [event.utc_us for event in drawn] == [at(1000 * n).utc_us for n in (1, 2, 3, 4)]
    assert [event.data.provenance for event in drawn if isinstance(event.data, CardDrawn)] == [3, 4, 5, 6]
    assert [steps[row - 1].input for row in (3, 4, 5, 6)] == [Received(frame) for frame in HAND[:4]]
    (completed,) = (event.data for event in events_of(steps) if isinstance(event.data, RoundCompleted))
    assert (completed.player, completed.banker) == (Hand((Card.S8, Card.SK), 8), Hand((Card.H3, Card.H4), 7))
    assert (completed.outcome, completed.integrity) == (Outcome.PLAYER, "complete")
    assert isinstance(events_of(steps)[-1].data, RoundConfirmed)


def test_the_first_card_of_a_shoe_is_counted_in_this_shoe() -> None:
    """The card may arrive together with the start of the shoe, or be the proof of the start."""
    for before, together in ((HAND, True), (HAND[:2], False)):
        numbers = map(str, range(len(before) + 1, 10))
        cut, start = report(next(numbers), "C"), report(next(numbers), "S")
        burn = report(next(numbers), "D", 0xA1, 0xB8)
        pieces = [cut, start + burn] if together else [cut, start, burn]
        incoming: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0))]
        incoming += [(Received(data), at(1000 * n)) for n, data in enumerate((*before, *pieces), 1)]
        state, steps = run(incoming)
        assert [event.data.shoe for event in events_of(steps) if isinstance(event.data, ShoeStarted)] == [2]
        assert (state.watch.counts.cards, state.watch.counts.of(Card.S8)) == (1, 1)


def test_parts_of_frames_and_copies_join_the_next_step() -> None:
    """They make no Step. The next Step has them with their moments, and the observations of the copies."""
    first = HAND[0]
    pieces = (first[:3], first[3:], first, b"junk", HAND[1])
    incoming: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0))]
    incoming += [(Received(data, late_ns=n), at(n)) for n, data in enumerate(pieces, 1)]
    _, steps = run(incoming)
    quiet = [[(each.input.data, each.input.late_ns, each.now) for each in step.quiet] for step in steps]
    assert quiet == [[], [(first[:3], 1, at(1))], [(first, 3, at(3)), (b"junk", 4, at(4))]]
    assert [type(each) for each in steps[2].observations] == [CopyHeard, FrameRejected, CardSeen]


def test_quiet_inputs_make_a_step_after_some_seconds() -> None:
    """The engine names the moment, counted from the first of them. The Step of this waking has no result."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(PORT), at(0))
    for ms in (100, 117, 134):
        state, step = joined.step(state, Received(HAND[0]), at(ms))
        assert (step is None) == (ms > 100)
    assert joined.wake_at(state) == at(3117).mono_ns
    state, step = joined.step(state, Woken(), at(3117))
    assert step is not None
    assert [each.now for each in step.quiet] == [at(117), at(134)]
    assert (step.events, [type(each) for each in step.observations]) == ((), [CopyHeard] * 2)
    assert (state.quiet, state.copies) == ((), ())
    assert joined.wake_at(state) != at(3117).mono_ns


@pytest.mark.parametrize(("data", "count"), [(b"\x05", QUIET_INPUTS), (bytes(1000), QUIET_BYTES // 1000)])
def test_the_number_and_the_bytes_of_quiet_inputs_are_bounded(data: bytes, count: int) -> None:
    """The input beyond the limit makes a Step, with all earlier ones."""
    joined = Engine(Deaf(), WatchSettings(250), TableSettings("commission", PORT))
    state = joined.begin()
    for _ in range(count):
        state, step = joined.step(state, Received(data), at(1))
        assert step is None
    state, step = joined.step(state, Received(data), at(1))
    assert step is not None
    assert (len(step.quiet), state.quiet) == (count, ())


def test_a_copy_with_an_effect_makes_a_step() -> None:
    """A repeated report on a new link ends the count of a bad line: it is a proof of the connection."""
    incoming: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0)), (Received(HAND[0]), at(1000))]
    incoming += [(LinkDown("lost"), at(1100)), (LinkUp(PORT), at(1200)), (Received(HAND[0]), at(1300))]
    _, steps = run(incoming)
    assert [type(each) for each in steps[-1].observations] == [CopyHeard]
    assert isinstance(steps[-1].input, Received)


def test_doubts_and_findings_of_a_step_are_log_lines() -> None:
    """Each line has a kind; the line of a doubt has the name of the device."""
    doubted = DoubtRaised(at=at(0), reason=DeviceDoubt.NO_HELLO, detail="check the cable")
    found = DrawnTogether(at=at(0), cards=(Card.S8, Card.H3), order_known=True, evidence="reported 1.0 ms apart")
    step = Step(1, at(0), Woken(), observations=(LinkOpened(at=at(0), port=PORT), doubted), findings=(found,))
    assert step.warnings == [
        ("DoubtRaised", "shoe: no-hello: check the cable"),
        ("DrawnTogether", str(found)),
    ]


def test_the_bytes_of_an_order_are_a_part_of_its_step() -> None:
    """They are sent after its commit."""
    _, steps = run([(LinkUp(PORT), at(0)), (Ordered(DeviceOrder(DeviceOrderKind.LOCK)), at(1))])
    assert steps[1].sends == (Send(Device.SHOE, bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")),)


def test_a_finding_is_a_part_of_its_step() -> None:
    """The gap between two cards is shorter than the setting."""
    _, steps = run([(LinkUp(PORT), at(0)), (Received(HAND[0]), at(1000)), (Received(HAND[1]), at(1100))])
    evidence = "reported 100.0 ms apart, closer than 250 ms"
    together = DrawnTogether(at=at(1100), cards=(Card.S8, Card.H3), order_known=True, evidence=evidence)
    assert steps[2].findings == (together,)


def test_heard_at_is_the_moment_of_the_last_byte() -> None:
    """A timer, or the end of the link, rejects a torn frame later than its last byte."""
    torn: list[tuple[AnyInput, Now]] = [(LinkUp(PORT), at(0)), (Received(HAND[0][:4]), at(1000))]
    for incoming in ((Woken(), at(1500)), (LinkDown("the cable is out"), at(1200)), (CONFIGURED, at(90_000))):
        state, steps = run([*torn, incoming])
        assert "line.rejected" in [event.type for event in events_of(steps)]
        assert public_state("commission", state.table).device.heard_at == rfc3339(at(1000).utc_us)
        assert [event.utc_us for event in events_of(steps)] == sorted(event.utc_us for event in events_of(steps))


def test_a_waking_without_effect_makes_no_step() -> None:
    """The state is the same, and the next Step has the next row."""
    joined = engine()
    state, _ = joined.step(joined.begin(), LinkUp(PORT), at(0))
    after, step = joined.step(state, Woken(), at(299_999))
    assert (after, step) == (state, None)
    _, step = joined.step(after, Received(HAND[0]), at(299_999))
    assert step is not None
    assert step.row == 2


def test_a_waking_with_an_effect_makes_a_step() -> None:
    """The effects are a quiet line, rejected bytes, and the end of ten seconds of counting."""
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
    assert (step.events, step.observations) == ((), ())


def test_the_next_waking_is_the_earliest_moment_of_all_rooms() -> None:
    """The moments are of the torn frame, the quiet line, and the counting of rejections."""
    joined = engine()
    state = joined.begin()
    moments = [joined.wake_at(state)]
    for incoming, ms in ((LinkUp(PORT), 0), (Received(b"junk"), 300), (Woken(), 800), (Received(HAND[0][:3]), 900)):
        state, _ = joined.step(state, incoming, at(ms))
        moments.append(joined.wake_at(state))
    expected: list[float | None] = [None, 300_000, 800, 10_800, 1_400]
    assert moments == [None if ms is None else at(ms).mono_ns for ms in expected]


@pytest.mark.parametrize("seed", range(12))
def test_a_table_continues_from_any_checkpoint(seed: int) -> None:
    """After every Step the state is encoded and decoded; the following Steps are the same."""
    incoming = traffic(seed)
    state, steps = run(incoming)
    joined = engine()
    restored, again = joined.begin(), list[Step]()
    for each, now in incoming:
        restored, step = joined.step(restored, each, now)
        if step is not None:
            again.append(step)
            restored = joined.restore(msgspec.json.encode(restored).decode())
    assert again == steps
    assert restored == state


@pytest.mark.parametrize("seed", range(12))
def test_joined_inputs_give_the_same_results_as_inputs_with_a_step_each(seed: int) -> None:
    """Observations, findings, events and sends of any division of the bytes; the state, and each byte in its order."""
    incoming = [*divided(traffic(seed), Random(seed)), (Ordered(DeviceOrder(DeviceOrderKind.LOCK)), at(9_000_000))]
    state, steps = run(incoming)
    joined = engine()
    alone, every = joined.begin(), list[Step]()
    for each, now in incoming:
        alone, step = joined.made(alone, each, now)
        every.append(step)
    assert len(steps) < len(every)
    assert results(steps) == results(every)
    assert list(arrived(steps)) == list(arrived(every))
    assert (state.session, state.noise) == (alone.session, alone.noise)
    assert public_state("commission", state.table) == public_state("commission", alone.table)


def arrived(steps: list[Step]) -> Iterator[tuple[Received, Now]]:
    """All received bytes, in the order of the record."""
    for step in steps:
        yield from ((each.input, each.now) for each in step.quiet)
        if isinstance(step.input, Received):
            yield step.input, step.now


def divided(incoming: list[tuple[AnyInput, Now]], dice: Random) -> list[tuple[AnyInput, Now]]:
    """The same bytes in other pieces, some of them with the pieces of the next report."""
    pieces: list[tuple[AnyInput, Now]] = []
    for each, now in incoming:
        if not isinstance(each, Received) or not each.data:
            pieces.append((each, now))
            continue
        cuts = sorted(dice.sample(range(1, len(each.data)), min(dice.randrange(4), len(each.data) - 1)))
        for begin, end in pairwise([0, *cuts, len(each.data)]):
            pieces.append((replace(each, data=each.data[begin:end]), now))
    return pieces


def results(steps: list[Step]) -> tuple[object, ...]:
    seen = [each for step in steps for each in step.observations]
    sends = [each for step in steps for each in step.sends]
    return without_rows(steps), seen, [each for step in steps for each in step.findings], sends


@pytest.mark.parametrize("seed", range(12))
def test_steps_go_through_json_and_back(seed: int) -> None:
    """Decoded inputs and observations equal the original ones."""
    for step in run(traffic(seed))[1]:
        assert msgspec.json.decode(msgspec.json.encode(step.input), type=AnyInput) == step.input
        seen = msgspec.json.decode(msgspec.json.encode(step.observations), type=tuple[AnyObservation, ...])
        assert seen == step.observations


@pytest.mark.parametrize("seed", range(12))
def test_the_events_of_any_traffic_are_consistent(seed: int) -> None:
    """The table can be drawn from the events alone; sequence and rows have no gap."""
    _, steps = run(traffic(seed))
    listener = Listener()
    for event in events_of(steps):
        listener.hear(event.data)
    assert [event.sequence for event in events_of(steps)] == list(range(1, len(events_of(steps)) + 1))
    assert [step.row for step in steps] == list(range(1, len(steps) + 1))


# Any report, valid or not, with any number: the reports of a defective shoe.
any_report = st.builds(
    report,
    st.sampled_from("123456789A"),
    st.sampled_from("SPCDDDDDDGGdREeLMX"),
    st.integers(0, 0x7F),
    st.integers(0, 0x7F),
) | st.builds(report, st.sampled_from("123456789"), st.sampled_from("SPCGEeLX"), st.integers(0, 0x7F))
any_report |= st.builds(report, st.sampled_from("123456789"), st.sampled_from("SPC"))
any_input: st.SearchStrategy[AnyInput] = (
    st.builds(Received, any_report)
    | st.builds(Received, st.binary(max_size=9))
    | st.sampled_from(
        [LinkUp(PORT), LinkDown("lost"), CONFIGURED, Woken(), Ordered(DeviceOrder(DeviceOrderKind.UNLOCK))]
    )
)


@given(st.lists(st.tuples(any_input, st.sampled_from((0, 20, 600, 2500, 400_000))), max_size=40))
def test_a_defective_shoe_raises_no_error(incoming: list[tuple[AnyInput, int]]) -> None:
    """The table that is drawn from the events equals the published state."""
    joined, listener, ms = engine(), Listener(), 0
    state, steps = joined.begin(), list[Step]()
    for each, later in incoming:
        ms += later
        state, step = joined.step(state, each, at(ms))
        if step is not None:
            state = joined.restore(msgspec.json.encode(state).decode())
            steps.append(step)
            for event in step.events:
                listener.hear(event.data)
    shown = public_state("commission", state.table)
    assert state_without_rules(shown) == listener.drawn(len(events_of(steps)), shown.device.heard_at)


@pytest.mark.parametrize("seed", range(12))
def test_the_division_of_the_bytes_does_not_change_the_events(seed: int) -> None:
    """Events, order and data are the same, except the row of each card."""
    dice, shoe = Random(seed), Reporter()
    line = b"".join(dice.randbytes(dice.choice((0, 0, 0, 5))) + data for _ in range(3) for data in shoe.round(dice))
    cuts = sorted(dice.sample(range(len(line)), 60))
    pieces = [line[start:end] for start, end in pairwise([0, *cuts, len(line)])]
    _, whole = run([(LinkUp(PORT), at(0)), (Received(line), at(1000))])
    _, cut = run([(LinkUp(PORT), at(0)), *((Received(piece), at(1000)) for piece in pieces)])
    assert without_rows(cut) == without_rows(whole)


def without_rows(steps: list[Step]) -> list[object]:
    plain = [(event.sequence, event.type, msgspec.to_builtins(event.data)) for event in events_of(steps)]
    for _, _, data in plain:
        data.pop("provenance", None)
    return list(plain)
