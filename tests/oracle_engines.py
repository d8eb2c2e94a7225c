"""The two engines of the comparison: the engine of shoed, and the frozen oracle of `tests/oracle/engine_5`.

Theory of operation: an `EngineRun` has one engine and its state. All inputs are values of shoed; the oracle receives
them as JSON, because it has its own types. Each step returns an `Output`: the parts of the step that are visible
outside the daemon, each as JSON. The session of the device is not compared: both engines get the same observations.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from types import GenericAlias, ModuleType
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed import engine
from shoed import table as our_table
from shoed.model import commands, findings, moments, observations, step
from shoed.model.events import CardDrawn
from tests.oracle.engine_5 import engine as old_engine
from tests.oracle.engine_5 import findings as old_findings
from tests.oracle.engine_5 import now as old_now
from tests.oracle.engine_5 import observations as old_observations
from tests.oracle.engine_5 import step as old_step
from tests.oracle.engine_5 import table as old_table

PARTS: Final = ("raised", "events", "answers", "findings", "state", "question", "wake")

Output = Mapping[str, bytes]  # by the name of the part


class Settings(msgspec.Struct, frozen=True):
    """The settings of a table and of its watch."""

    table: our_table.TableSettings
    min_draw_gap_ms: int = 0
    decks: int = 8
    byte_us: float = 0


class Taken(msgspec.Struct, frozen=True):
    """One input of both engines. `injected` has findings of the test; the watch of the engine is then not used."""

    input: step.AnyInput
    now: moments.Now
    seen: tuple[observations.AnyObservation, ...] = ()
    injected: tuple[findings.AnyFinding, ...] = ()


class Idle(msgspec.Struct, frozen=True):
    """The state of `NoSession`."""


class NoSession:
    """A device session without observations: an engine requires one."""

    state_type = Idle

    def begin(self) -> Idle:
        return Idle()

    def wake_at(self, state: Idle) -> None:
        pass


class Rooms(NamedTuple):
    """The modules of one engine."""

    engine: ModuleType
    table: ModuleType
    step: ModuleType
    observations: ModuleType
    findings: ModuleType
    now: ModuleType


OURS: Final = Rooms(engine, our_table, step, observations, findings, moments)
ORACLE: Final = Rooms(old_engine, old_table, old_step, old_observations, old_findings, old_now)


class EngineRun:
    """One engine with its state. The tests of the comparison override `output`."""

    def __init__(self, rooms: Rooms, settings: Settings) -> None:
        self.rooms: Any = rooms
        self.state: Any = None
        self.dropped = False  # whether an event was left out of the comparison
        self.configure(settings)
        self.shown: tuple[Any, bytes, bytes] = (None, b"", b"")
        self.asked: our_table.PublicQuestion | None = None  # in the types of this engine

    def configure(self, settings: Settings) -> None:
        """Apply other settings. The state goes through JSON, as a checkpoint does."""
        self.settings = settings
        watch = self.rooms.engine.WatchSettings(settings.min_draw_gap_ms, settings.decks, settings.byte_us)
        self.engine: Any = self.rooms.engine.Engine(
            NoSession(), watch, self.own(settings.table, self.rooms.table.TableSettings)
        )
        if self.state is None:
            self.state = self.engine.begin()
        else:
            self.checkpoint()

    def checkpoint(self) -> None:
        self.state = self.engine.restore(msgspec.json.encode(self.state).decode())

    def own(self, value: object, kind: object) -> Any:  # noqa: ANN401  # a value of either engine
        """The value in the types of this engine."""
        return value if self.rooms is OURS else msgspec.json.decode(msgspec.json.encode(value), type=kind)

    def seen(self, taken: Taken) -> object:
        """The observations in the types of this engine.

        For the oracle, three later additions are translated. The continuity of `Resumed` becomes a boolean. The unknown
        place becomes `locked`. `Replied`, which has no effect, becomes `StoodBy`.
        """
        if self.rooms is OURS:
            return taken.seen
        proven = {at: each.proven for at, each in enumerate(taken.seen) if isinstance(each, observations.Resumed)}
        seen = msgspec.to_builtins(taken.seen)
        seen = [each | {"place": "locked"} if each.get("place") == "unknown" else each for each in seen]
        seen = [each | {"saw": "StoodBy"} if each["saw"] == "Replied" else each for each in seen]
        return [each | {"proven": proven[at]} if at in proven else each for at, each in enumerate(seen)]

    def take(self, taken: Taken) -> Output:
        try:
            return self.output(*self.conclude(taken))
        except Exception as error:  # noqa: BLE001  # an exception of one engine alone is a difference
            return {"raised": msgspec.json.encode(f"{type(error).__name__}: {error}")}

    def conclude(self, taken: Taken) -> tuple[Any, Any, Any]:
        """The events, the answers and the findings of one input; the state is updated."""
        rooms, state = self.rooms, self.state
        incoming, at = self.own(taken.input, rooms.step.AnyInput), self.own(taken.now, rooms.now.Now)
        seen = self.own(self.seen(taken), several(rooms.observations.AnyObservation))
        row = state.row + 1
        if not taken.injected:
            concluded = self.engine.conclude(state, incoming, seen, at, row)
            self.state = replace(state, row=row, watch=concluded.watch, table=concluded.table)
            return concluded.events, concluded.answers, concluded.findings
        found = self.own(taken.injected, several(rooms.findings.AnyFinding))
        noticed = [(each, ()) for each in seen[:-1]] + [(each, found) for each in seen[-1:]]
        folding = rooms.table.Table(self.engine.table_settings, state.table, row)
        folded = rooms.table.fold(folding, noticed, incoming, () if seen else found, at)
        self.state = replace(state, row=row, table=folded.state)
        return folded.events, folded.answers, found

    def drops(self, event: Any) -> bool:  # noqa: ANN401  # of either engine
        """Whether this is the event of a card that no report of this step drew: the oracle has no such event."""
        data = event.data
        if not isinstance(data, CardDrawn):
            return False
        is_new = data.set_aside is None and data.source == "device" and data.provenance == self.state.row
        self.dropped = self.dropped or not is_new
        return not is_new

    def output(self, events: Sequence[Any], answers: Sequence[commands.Answer], found: Sequence[Any]) -> Output:
        """The visible parts of the step, and of the table after it."""
        state = self.state.table
        if state is not self.shown[0]:
            of = self.engine.table_settings
            self.asked = self.rooms.table.public_question(of.game, state, insurance=of.insurance)
            shown = self.rooms.table.public_state(of.game, state, insurance=of.insurance)
            self.shown = (state, msgspec.json.encode(shown), msgspec.json.encode(self.asked))
        return {
            "raised": b"null",
            "events": msgspec.json.encode([public(each) for each in events if not self.drops(each)]),
            "answers": msgspec.json.encode(answers),
            "findings": msgspec.json.encode(found),
            "state": self.shown[1],
            "question": self.shown[2],
            "wake": msgspec.json.encode(self.engine.wake_at(self.state)),
        }


@cache
def several(kind: object) -> object:
    return GenericAlias(tuple, (kind, ...))


def public(event: Any) -> dict[str, object]:  # noqa: ANN401  # of either engine
    return {"type": event.type, "utc_us": event.utc_us, "sequence": event.sequence, "data": event.data}


def differing(ours: Output, oracle: Output) -> tuple[str, ...]:
    """The parts that differ as JSON. The order of keys is not compared."""
    unequal = [part for part in PARTS if ours.get(part, b"null") != oracle.get(part, b"null")]
    return tuple(part for part in unequal if without_added(value(ours, part)) != value(oracle, part))


# Keys that no message of the oracle has. Under /v1 keys are added, never changed.
ADDED: Final = frozenset(
    {
        "as_dealt",
        "at_least",
        "capabilities",
        "decided_by",
        "effect",
        "ground",
        "measured",
        "other",
        "questions",
        "revision",
        "size",
        "target",
        "text",
        "unkept",
        "unknown",
    }
)
# Keys that were added to one kind of message, and that other messages of the oracle have. The first set
# identifies the message by its keys, and the second set is removed.
ADDED_TO: Final = (
    ({"pays", "returned", "carried", "outcome"}, {"supersedes"}),  # round/settled
    ({"shoe", "round", "player", "banker", "reason"}, {"reason"}),  # round/abandoned
    ({"shoe", "round", "reason"}, {"reason"}),  # round/overtaken
    ({"shoe", "round", "shoe_integrity"}, {"shoe_integrity"}),  # shoe/cut
    ({"points", "provenance", "source"}, {"set_aside", "source"}),  # card/drawn
    ({"phase", "hands", "last_round", "device"}, {"journal", "incarnation", "time"}),  # state
)
# Shapes that must be equal to the keys of the message. Every other shape must be part of them.
EXACT: Final = (
    {"shoe", "round", "player", "banker", "reason"},
    {"shoe", "round", "reason"},
    {"shoe", "round", "shoe_integrity"},
)


def added_to(keys: AbstractSet[str]) -> AbstractSet[str]:
    """The keys that were added to a message with these keys."""
    found = [added for shape, added in ADDED_TO if keys == shape or (shape not in EXACT and keys >= shape)]
    return ADDED.union(*found)


def without_added(found: Any) -> Any:  # noqa: ANN401  # JSON
    match found:
        case dict():
            added = added_to(found.keys())
            return {key: without_added(each) for key, each in found.items() if key not in added}
        case list():
            return [without_added(each) for each in found]
        case _:
            return found


def value(output: Output, part: str) -> Any:  # noqa: ANN401  # JSON
    return msgspec.json.decode(output.get(part, b"null"))
