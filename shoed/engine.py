"""The engine: sessions, watch and table, joined into one fold that makes Steps.

Theory of operation: `step` takes one input of a table. The session of the device makes observations; an input without
a device goes to both sessions. The watch makes findings from the observations, and the table makes events. There is no
clock tick: `wake_at` names the moment of the next waking. A waking that changes nothing makes no Step. `conclude` is
the part after the sessions: replay passes the recorded observations to it.

Bytes without a result are a quiet input: a part of a frame, or further copies of a report. They make no Step. The next
Step of the table contains them, at the latest the Step of the waking QUIET_NS after the first one. `made` makes a Step
of any input: replay uses it, because the record states which inputs made a Step.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic

import msgspec
from msgspec.structs import replace

from shoed.model.commands import Answer, EmptyShoe, StartShoe
from shoed.model.events import Event, ShoeStarted
from shoed.model.findings import AnyFinding
from shoed.model.moments import Now
from shoed.model.noise_budget import NoiseBudget, charged, renewed, with_unkept
from shoed.model.observations import AnyObservation, CopyHeard, Device
from shoed.model.step import (
    AnyInput,
    BytesRefused,
    Commanded,
    Configured,
    DeviceInput,
    LinkUp,
    Ordered,
    QuietInput,
    Received,
    Send,
    SessionAfterNoise,
    Step,
    Woken,
)
from shoed.session import S, Session, SessionOutput, SessionState
from shoed.table import (
    Standing,
    Table,
    TableSeed,
    TableSettings,
    TableState,
    Watched,
    fold,
    fold_findings,
    ordered,
    same_but_heard,
    state_of,
)
from shoed.table import seed_of as table_seed
from shoed.table import wake_at as table_wake_at
from shoed.typed_json import decoder
from shoed.watch import (
    Counts,
    ExpectedOrder,
    FacesKnown,
    KnownSets,
    WatchSettings,
    WatchState,
    emptied,
    new_shoe,
    watch,
)

ENGINE: Final = 10  # a new number if the same inputs give other events
READABLE: Final = frozenset({9, ENGINE})  # the engines whose states this engine can continue

QUIET_NS: Final = 3_000_000_000  # the longest time in memory only: copies of a card ride with the next card
QUIET_INPUTS: Final = 256  # the limits of the quiet inputs in memory: a further input makes a Step
QUIET_BYTES: Final = 4096

NO_OUTPUT: Final = SessionOutput()
BYTES: Final = (Received, BytesRefused)


class EngineState(msgspec.Struct, Generic[S], frozen=True):
    """The state of a table; a checkpoint holds it."""

    row: int
    session: S  # of the shoe
    watch: WatchState
    table: TableState
    shuffler: SessionState | None = None  # None: the table has no shuffler
    noise: Mapping[Device, NoiseBudget] = msgspec.field(default_factory=dict, name="kept")  # by device
    quiet: tuple[QuietInput, ...] = ()  # since the last Step; a checkpoint is the state after a Step, and has none
    copies: tuple[AnyObservation, ...] = ()  # of the quiet inputs


class Seed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts from which another version of the engine continues the record: JSON that each later version reads."""

    table: TableSeed
    counts: Counts = Counts()  # of the cards of the shoe
    missed: bool = False  # reports of the shoe were missed
    sets: KnownSets = KnownSets()  # of the shuffler
    order: ExpectedOrder = ExpectedOrder()  # of the set of the shoe


class Plant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The seed of the state after a row. `lost`: the facts that the seed does not have."""

    row: int
    now: Now
    seed: Seed
    lost: str = ""


def seed_of(state: EngineState[S]) -> Seed:
    watch = state.watch
    return Seed(table_seed(state.table), watch.counts, watch.missed, watch.sets, watch.order)


class Stored(msgspec.Struct, Generic[S], frozen=True):
    """An EngineState as JSON has it. The engine knows the type of `shuffler`."""

    row: int
    session: S
    watch: WatchState
    table: TableState
    shuffler: msgspec.Raw
    noise: Mapping[Device, NoiseBudget] = msgspec.field(default_factory=dict, name="kept")


class Sensed(msgspec.Struct, Generic[S], frozen=True):
    """The result of the sessions."""

    session: S
    shuffler: SessionState | None
    noise: Mapping[Device, NoiseBudget]
    observations: tuple[AnyObservation, ...]
    sends: tuple[Send, ...]


class Concluded(msgspec.Struct, frozen=True):
    watch: WatchState
    table: TableState
    findings: tuple[AnyFinding, ...]
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


class Engine(Generic[S]):
    def __init__(
        self,
        session: Session[S],
        watch_settings: WatchSettings,
        table_settings: TableSettings,
        shuffler: Session[SessionState] | None = None,
    ) -> None:
        self.session = session
        self.watch_settings = watch_settings
        self.table_settings = table_settings
        self.shuffler = shuffler
        self.judged: Standing | None = None  # it saves time only: a standing depends on its record alone
        self.stored_type = Stored[session.state_type]  # type: ignore[name-defined]  # the type is made at run time

    def begin(self) -> EngineState[S]:
        shuffler = None if self.shuffler is None else self.shuffler.begin()
        return EngineState(0, self.session.begin(), WatchState(), TableState(), shuffler)

    def begin_at(self, plant: Plant) -> EngineState[S]:
        """The state after a row, from a seed. The sessions begin with an open link, and know no earlier report."""
        state, seed = self.begin(), plant.seed
        for device in seed.table.open_links:
            sensed = self.sensed(state, LinkUp("", device=device), plant.now)
            state = replace(state, session=sensed.session, shuffler=sensed.shuffler)
        watched = WatchState(
            counts=seed.counts, order=seed.order, sets=seed.sets, missed=seed.missed, cut=seed.table.cut
        )
        return replace(state, row=plant.row, watch=watched, table=state_of(seed.table))

    def restore(self, state: str) -> EngineState[S]:
        stored: Stored[S] = decoder(self.stored_type).decode(state)
        shuffler = None
        if self.shuffler is not None:
            shuffler = decoder(self.shuffler.state_type | None).decode(stored.shuffler)
        return self.fitted(EngineState(stored.row, stored.session, stored.watch, stored.table, shuffler, stored.noise))

    def fitted(self, state: EngineState[S]) -> EngineState[S]:
        """The state for the devices of this engine: a session of another device family begins again."""
        if not isinstance(state.session, self.session.state_type):
            state = replace(state, session=self.session.begin())
        if self.shuffler is None:
            return replace(state, shuffler=None)
        if not isinstance(state.shuffler, self.shuffler.state_type):
            return replace(state, shuffler=self.shuffler.begin())
        return state

    def step(self, state: EngineState[S], incoming: AnyInput, now: Now) -> tuple[EngineState[S], Step | None]:
        """Fold one input. There is no Step of a waking without an effect, and of bytes without a result."""
        given = self.given(state, incoming)
        sensed = self.sensed(state, given, now)
        if isinstance(incoming, BYTES) and not sensed.sends and is_quiet(sensed.observations):
            after = self.without_step(state, incoming, sensed, now)
            if after is not None:
                return after, None
        after, step = self.concluded(state, incoming, given, sensed, now)
        if isinstance(incoming, Woken) and not (sensed.observations or sensed.sends):
            return (state, None) if replace(after, row=state.row) == state else (after, step)
        return after, step

    def made(self, state: EngineState[S], incoming: AnyInput, now: Now) -> tuple[EngineState[S], Step]:
        """Fold one input into a Step, also if the input has no result."""
        given = self.given(state, incoming)
        return self.concluded(state, incoming, given, self.sensed(state, given, now), now)

    def given(self, state: EngineState[S], incoming: AnyInput) -> AnyInput:
        """The input of the sessions: they execute the order of a command."""
        order = ordered(self.table_settings, state.table, incoming) if isinstance(incoming, Commanded) else None
        return order if isinstance(order, Ordered) else incoming

    def sensed(self, state: EngineState[S], given: AnyInput, now: Now) -> Sensed[S]:
        """Fold the input of the sessions into their states and the noise budgets."""
        concerned = concerned_devices(given)
        session, of_shoe, shuffler, of_shuffler = state.session, NO_OUTPUT, state.shuffler, NO_OUTPUT
        if Device.SHOE in concerned:
            session, of_shoe = self.session.step(session, given, now)
        if self.shuffler is not None and shuffler is not None and Device.SHUFFLER in concerned:
            shuffler, of_shuffler = self.shuffler.step(shuffler, given, now)
        noise, observations = budgeted(state.noise, Device.SHOE, given, of_shoe, now)
        sends = [Send(Device.SHOE, data) for data in of_shoe.sends]
        if (
            self.shuffler is not None or Device.SHUFFLER in noise
        ):  # a removed shuffler has a budget until its hour is over
            noise, by_shuffler = budgeted(noise, Device.SHUFFLER, given, of_shuffler, now)
            observations += tuple([replace(seen, device=Device.SHUFFLER) for seen in by_shuffler])
            sends += [Send(Device.SHUFFLER, data) for data in of_shuffler.sends]
        return Sensed(session, shuffler, noise, observations, tuple(sends))

    def without_step(
        self, state: EngineState[S], incoming: Received | BytesRefused, sensed: Sensed[S], now: Now
    ) -> EngineState[S] | None:
        """The state after bytes without a result; None if the bytes make a Step."""
        concluded = self.conclude(state, incoming, sensed.observations, now, state.row + 1)
        if concluded.watch != state.watch or not same_but_heard(concluded.table, state.table):
            return None
        after = replace(state, session=sensed.session, shuffler=sensed.shuffler, noise=sensed.noise)
        if incoming.device in full_devices(state):  # the bytes are not kept; copies are on record
            return None if sensed.observations else after
        if not isinstance(incoming, Received) or not has_room(state.quiet, incoming):
            return None
        quiet = (*state.quiet, QuietInput(incoming, now))
        return replace(after, quiet=quiet, copies=state.copies + sensed.observations)

    def concluded(
        self, state: EngineState[S], incoming: AnyInput, given: AnyInput, sensed: Sensed[S], now: Now
    ) -> tuple[EngineState[S], Step]:
        row, full = state.row + 1, full_devices(state)
        observations = state.copies + sensed.observations
        concluded = self.conclude(state, incoming, observations, now, row)
        after = EngineState(row, sensed.session, concluded.watch, concluded.table, sensed.shuffler, sensed.noise)
        if isinstance(incoming, BYTES) and incoming.device in full:
            incoming = replace(incoming, data=b"", unkept=len(incoming.data))
        return after, Step(
            row=row,
            now=now,
            input=incoming,
            observations=observations,
            findings=concluded.findings,
            events=concluded.events,
            orders=(given.order,) if isinstance(given, Ordered) and given is not incoming else (),
            sends=sensed.sends,
            answers=concluded.answers,
            after_noise={each.value: self.after_noise(after, each) for each in Device if each in full} if full else {},
            quiet=state.quiet,
        )

    def after_noise(self, state: EngineState[S], device: Device) -> SessionAfterNoise:
        session = state.session if device is Device.SHOE else state.shuffler
        return SessionAfterNoise(msgspec.Raw(msgspec.json.encode(session)), state.noise[device])

    def resumed(self, state: EngineState[S], after_noise: Mapping[str, SessionAfterNoise]) -> EngineState[S]:
        """The state after bytes that the journal does not keep."""
        noise = {**state.noise, **{Device(name): each.budget for name, each in after_noise.items()}}
        state = replace(state, noise=noise)
        of_shoe, of_shuffler = after_noise.get(Device.SHOE.value), after_noise.get(Device.SHUFFLER.value)
        if of_shoe is not None:
            state = replace(state, session=decoder(self.session.state_type).decode(of_shoe.session))
        if of_shuffler is not None and self.shuffler is not None:
            state = replace(state, shuffler=decoder(self.shuffler.state_type).decode(of_shuffler.session))
        return state

    def conclude(
        self, state: EngineState[S], incoming: AnyInput, observations: tuple[AnyObservation, ...], now: Now, row: int
    ) -> Concluded:
        """The findings, events and answers of observations and of the input; it reads no bytes."""
        watched = state.watch
        observed: list[Watched] = []
        for seen in observations:
            watched, findings = watch(self.watch_settings, watched, seen)
            observed.append((seen, findings))
        empty = isinstance(incoming, Commanded) and isinstance(incoming.command, EmptyShoe)
        findings = emptied(self.watch_settings, watched, now) if empty else ()
        table = Table(self.table_settings, state.table, row, self.judged)
        folded = fold(table, observed, incoming, findings, now)
        self.judged = table.judged
        before, after = state.table.record, folded.state.record
        if isinstance(incoming, Commanded) and (before.shoe, before.number) == (after.shoe, after.number):
            carried = before.carried == after.carried  # a card that is carried over now is counted already
            known = FacesKnown(now, before.faces(carried=carried), after.faces(carried=carried))
            watched, wrong = watch(self.watch_settings, watched, known)
            findings += wrong
            folded = fold_findings(table, wrong, now) if wrong else folded
        for event in folded.events:
            if isinstance(event.data, ShoeStarted):
                announced = isinstance(incoming, Commanded) and isinstance(incoming.command, StartShoe)
                watched = new_shoe(watched, announced=announced, whole=event.data.shoe_integrity == "complete")
        found = (*(each for _, several in observed for each in several), *findings)
        return Concluded(watched, folded.state, found, folded.events, folded.answers)

    def wake_at(self, state: EngineState[S]) -> int | None:
        moments = [self.session.wake_at(state.session), table_wake_at(state.table)]
        if self.shuffler is not None and state.shuffler is not None:
            moments.append(self.shuffler.wake_at(state.shuffler))
        moments += [each.over_at for each in state.noise.values()]
        moments += [each.now.mono_ns + QUIET_NS for each in state.quiet[:1]]
        return min((moment for moment in moments if moment is not None), default=None)


def concerned_devices(incoming: AnyInput) -> tuple[Device, ...]:
    """The devices whose sessions process the input. New settings of a running table do not affect an open link."""
    if isinstance(incoming, DeviceInput):
        return (incoming.device,)
    return () if isinstance(incoming, Configured) and incoming.running else tuple(Device)


def is_quiet(observations: tuple[AnyObservation, ...]) -> bool:
    """Whether the bytes may be without a Step: they have no observation but copies."""
    return all(isinstance(seen, CopyHeard) for seen in observations)


def has_room(quiet: tuple[QuietInput, ...], incoming: Received) -> bool:
    size = sum(len(each.input.data) for each in quiet)
    return len(quiet) < QUIET_INPUTS and size + len(incoming.data) <= QUIET_BYTES


def full_devices(state: EngineState[S]) -> AbstractSet[Device]:
    """The devices whose rejected bytes are not kept."""
    return {device for device, each in state.noise.items() if each.full}


def budgeted(
    noise: Mapping[Device, NoiseBudget], device: Device, incoming: AnyInput, output: SessionOutput, now: Now
) -> tuple[Mapping[Device, NoiseBudget], tuple[AnyObservation, ...]]:
    """The budgets after the input, and the observations with the number of bytes that are not kept."""
    before = noise.get(device, NoiseBudget())
    if isinstance(incoming, BYTES):
        after = charged(before, output.observations, output.counted, now) if incoming.device is device else before
    else:
        after = renewed(before, now)
    after, observations = with_unkept(after, output.observations)
    return (noise if after == before else {**noise, device: after}), observations
