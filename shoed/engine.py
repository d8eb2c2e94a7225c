"""The engine: session, watch and table joined into one fold that gives Steps.

Theory of operation: `step` takes one input of a table's queue. The session makes observations of
it, the watch findings, the table events. Nothing ticks: the engine names the moment at which it
wants to be woken, and a waking that changed nothing leaves no Step. `conclude` is the half that
knows no bytes: replay folds the recorded observations through it.
"""

from typing import Final, Generic

import msgspec
from msgspec.structs import replace

from shoed.commands import Answer, EmptyShoe
from shoed.events import Event, ShoeStarted
from shoed.findings import AnyFinding
from shoed.now import Now
from shoed.observations import AnyObservation
from shoed.session import S, Session
from shoed.step import AnyInput, Step, Told, Woken
from shoed.table import Table, TableSettings, TableState, Watched, fold
from shoed.table import wake_at as table_wake_at
from shoed.watch import WatchSettings, WatchState, emptied, mended, new_shoe, watch

ENGINE: Final = 4  # goes up when the same inputs would give other events


class EngineState(msgspec.Struct, Generic[S], frozen=True):
    """All that a checkpoint holds: with it, a table goes on where it was."""

    row: int
    session: S
    watch: WatchState
    table: TableState


class Concluded(msgspec.Struct, frozen=True):
    watch: WatchState
    table: TableState
    findings: tuple[AnyFinding, ...]
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


class Engine(Generic[S]):
    def __init__(self, session: Session[S], watch_settings: WatchSettings, table_settings: TableSettings) -> None:
        self.session = session
        self.watch_settings = watch_settings
        self.table_settings = table_settings
        self.state_type = EngineState[session.state_type]  # type: ignore[name-defined]  # a type made at run time

    def begin(self) -> EngineState[S]:
        return EngineState(0, self.session.begin(), WatchState(), TableState())

    def restore(self, state: str) -> EngineState[S]:
        restored: EngineState[S] = msgspec.json.decode(state, type=self.state_type)
        return restored

    def step(self, state: EngineState[S], came: AnyInput, now: Now) -> tuple[EngineState[S], Step | None]:
        """One input; no Step if it was a waking that changed nothing."""
        row = state.row + 1
        session, heard = self.session.step(state.session, came, now)
        concluded = self.conclude(state, came, heard.observations, now, row)
        after = EngineState(row, session, concluded.watch, concluded.table)
        if isinstance(came, Woken) and replace(after, row=state.row) == state and not heard.observations:
            return state, None
        return after, Step(
            row=row,
            now=now,
            input=came,
            observations=heard.observations,
            findings=concluded.findings,
            events=concluded.events,
            sends=heard.sends,
            answers=concluded.answers,
        )

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
        folded = fold(Table(self.table_settings, state.table, row), noticed, came, findings, now)
        before, after = state.table.round, folded.state.round
        if isinstance(came, Told) and (before.shoe, before.number) == (after.shoe, after.number):
            watched = mended(watched, before.faces, after.faces)
        for event in folded.events:
            if isinstance(event.data, ShoeStarted):
                watched = new_shoe(watched, event.utc_us, whole=event.data.shoe_integrity == "complete")
        found = (*(each for _, several in noticed for each in several), *findings)
        return Concluded(watched, folded.state, found, folded.events, folded.answers)

    def wake_at(self, state: EngineState[S]) -> int | None:
        moments = (self.session.wake_at(state.session), table_wake_at(state.table))
        return min((moment for moment in moments if moment is not None), default=None)
