"""The engine: sessions, watch and table joined into one fold that gives Steps.

Theory of operation: `step` takes one input of a table's queue. The session of the device that it concerns, or each,
makes observations of it, the watch findings, the table events. Nothing ticks: the engine names the moment at which it
wants to be woken, and a waking that changed nothing leaves no Step. `conclude` is the half that knows no bytes: replay
folds the recorded observations through it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Generic

import msgspec
from msgspec.structs import replace

from shoed.commands import Answer, EmptyShoe, StartShoe
from shoed.events import Event, ShoeStarted
from shoed.findings import AnyFinding
from shoed.kept import Kept, charged, opened, told
from shoed.now import Now
from shoed.observations import AnyObservation, Device
from shoed.session import Heard, S, Session, SessionState
from shoed.step import AnyInput, BytesRefused, Left, OfDevice, Ordered, Received, Send, Step, Told, Woken
from shoed.table import Table, TableSettings, TableState, Watched, doubted, fold, ordered
from shoed.table import wake_at as table_wake_at
from shoed.watch import FacesKnown, WatchSettings, WatchState, emptied, new_shoe, watch

ENGINE: Final = 8  # increases when the same inputs would give other events

NOTHING: Final = Heard()
OF_LINE: Final = (Received, BytesRefused)  # bytes


class EngineState(msgspec.Struct, Generic[S], frozen=True):
    """All that a checkpoint holds: with it, a table goes on where it was."""

    row: int
    session: S  # the shoe's
    watch: WatchState
    table: TableState
    shuffler: SessionState | None = None  # None: the table has none
    kept: Mapping[Device, Kept] = {}  # of each device that rejected bytes


class Stored(msgspec.Struct, Generic[S], frozen=True):
    """An EngineState as it is read: of which type the shuffler's state is, only the engine knows."""

    row: int
    session: S
    watch: WatchState
    table: TableState
    shuffler: msgspec.Raw
    kept: Mapping[Device, Kept] = {}


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
        self.stored_type = Stored[session.state_type]  # type: ignore[name-defined]  # a type made at run time

    def begin(self) -> EngineState[S]:
        shuffler = None if self.shuffler is None else self.shuffler.begin()
        return EngineState(0, self.session.begin(), WatchState(), TableState(), shuffler)

    def restore(self, state: str) -> EngineState[S]:
        stored: Stored[S] = msgspec.json.decode(state, type=self.stored_type)
        shuffler = None
        if self.shuffler is not None:
            shuffler = msgspec.json.decode(stored.shuffler, type=self.shuffler.state_type | None)
        return self.suited(EngineState(stored.row, stored.session, stored.watch, stored.table, shuffler, stored.kept))

    def suited(self, state: EngineState[S]) -> EngineState[S]:
        """The state of a table whose devices were others: what is not of these begins anew."""
        if not isinstance(state.session, self.session.state_type):
            state = replace(state, session=self.session.begin())
        if self.shuffler is None:
            return replace(state, shuffler=None)
        if not isinstance(state.shuffler, self.shuffler.state_type):
            return replace(state, shuffler=self.shuffler.begin())
        return state

    def step(self, state: EngineState[S], came: AnyInput, now: Now) -> tuple[EngineState[S], Step | None]:
        """One input; no Step if it was a waking that changed nothing."""
        row = state.row + 1
        order = ordered(self.table_settings, state.table, came) if isinstance(came, Told) else None
        given = order if isinstance(order, Ordered) else came  # a command that is a device order is the session's too
        concerned = given.device if isinstance(given, OfDevice) else None  # None: each
        session, heard, shuffler, also = state.session, NOTHING, state.shuffler, NOTHING
        if concerned is not Device.SHUFFLER:
            session, heard = self.session.step(session, given, now)
        if self.shuffler is not None and shuffler is not None and concerned is not Device.SHOE:
            shuffler, also = self.shuffler.step(shuffler, given, now)
        full = {device for device, each in state.kept.items() if each.full}
        of_shoe, observations = kept_of(state.kept, Device.SHOE, given, heard, now)
        of_shuffler, told_also = kept_of(state.kept, Device.SHUFFLER, given, also, now)
        if told_also:
            observations += tuple([replace(seen, device=Device.SHUFFLER) for seen in told_also])
        kept = {**state.kept, **of_shoe, **of_shuffler}
        concluded = self.conclude(state, came, observations, now, row)
        after = EngineState(row, session, concluded.watch, concluded.table, shuffler, kept)
        if not observations and is_idle(came, full) and not (heard.sends or also.sends):
            if isinstance(came, Woken) and replace(after, row=state.row) == state:
                return state, None
            if isinstance(came, OF_LINE) and (concluded.watch, concluded.table) == (state.watch, state.table):
                return replace(after, row=state.row), None
        if isinstance(came, OF_LINE) and came.device in full:
            came = replace(came, data=b"", unkept=len(came.data))
        sends = [Send(Device.SHOE, data) for data in heard.sends]
        sends += [Send(Device.SHUFFLER, data) for data in also.sends]
        return after, Step(
            row=row,
            now=now,
            input=came,
            observations=observations,
            findings=concluded.findings,
            events=concluded.events,
            orders=(order.order,) if isinstance(order, Ordered) else (),
            sends=tuple(sends),
            answers=concluded.answers,
            left={device.value: self.left(after, device) for device in Device if device in full},
        )

    def left(self, state: EngineState[S], device: Device) -> Left:
        session = state.session if device is Device.SHOE else state.shuffler
        return Left(msgspec.Raw(msgspec.json.encode(session)), state.kept[device])

    def resumed(self, state: EngineState[S], left: Mapping[str, Left]) -> EngineState[S]:
        """The state with what the record has in place of bytes."""
        state = replace(state, kept={**state.kept, **{Device(name): each.kept for name, each in left.items()}})
        of_shoe, of_shuffler = left.get(Device.SHOE.value), left.get(Device.SHUFFLER.value)
        if of_shoe is not None:
            state = replace(state, session=msgspec.json.decode(of_shoe.session, type=self.session.state_type))
        if of_shuffler is not None and self.shuffler is not None:
            state = replace(state, shuffler=msgspec.json.decode(of_shuffler.session, type=self.shuffler.state_type))
        return state

    def conclude(
        self, state: EngineState[S], came: AnyInput, observations: tuple[AnyObservation, ...], now: Now, row: int
    ) -> Concluded:
        """What follows from what was observed, or told; it knows no bytes."""
        watched = state.watch
        noticed: list[Watched] = []
        for seen in observations:
            watched, findings = watch(self.watch_settings, watched, seen)
            noticed.append((seen, findings))
        empty = isinstance(came, Told) and isinstance(came.command, EmptyShoe)
        findings = emptied(self.watch_settings, watched, now) if empty else ()
        table = Table(self.table_settings, state.table, row)
        folded = fold(table, noticed, came, findings, now)
        before, after = state.table.record, folded.state.record
        if isinstance(came, Told) and (before.shoe, before.number) == (after.shoe, after.number):
            carried = before.carried == after.carried  # else one was laid there that was counted when it came
            known = FacesKnown(now, before.faces(carried=carried), after.faces(carried=carried))
            watched, wrong = watch(self.watch_settings, watched, known)
            findings += wrong
            folded = doubted(table, wrong, now) if wrong else folded
        for event in folded.events:
            if isinstance(event.data, ShoeStarted):
                announced = isinstance(came, Told) and isinstance(came.command, StartShoe)
                watched = new_shoe(watched, announced=announced, whole=event.data.shoe_integrity == "complete")
        found = (*(each for _, several in noticed for each in several), *findings)
        return Concluded(watched, folded.state, found, folded.events, folded.answers)

    def wake_at(self, state: EngineState[S]) -> int | None:
        moments = [self.session.wake_at(state.session), table_wake_at(state.table)]
        if self.shuffler is not None and state.shuffler is not None:
            moments.append(self.shuffler.wake_at(state.shuffler))
        moments += [each.over_at for each in state.kept.values()]
        return min((moment for moment in moments if moment is not None), default=None)


def is_idle(came: AnyInput, full: AbstractSet[Device]) -> bool:
    """Whether the input may leave no row: a waking, or bytes that are not kept."""
    return isinstance(came, Woken) or (isinstance(came, OF_LINE) and came.device in full)


def kept_of(
    kept: Mapping[Device, Kept], device: Device, came: AnyInput, heard: Heard, now: Now
) -> tuple[Mapping[Device, Kept], tuple[AnyObservation, ...]]:
    """The ledger of a device after an input, where it has one, and the observations with what was not kept."""
    before = kept.get(device, Kept())
    if isinstance(came, OF_LINE):
        after = charged(before, heard.observations, heard.counted, now) if came.device is device else before
    else:
        after = opened(before, now)
    after, observations = told(after, heard.observations)
    return ({} if after == before else {device: after}), observations
