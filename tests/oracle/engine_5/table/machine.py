"""The table: observations, findings and commands in; events and answers out.

Theory of operation: `fold` takes what a Step observed, or what somebody told, and moves the round by `state.MOVES`.
What happens at the table is in `play`, what follows from it in `follow`, what people say in `orders`, how a round
stands in `judging`, and what concerns the line alone in `line`.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5 import events
from tests.oracle.engine_5.commands import Answer
from tests.oracle.engine_5.events import Event
from tests.oracle.engine_5.findings import AnyFinding
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Device,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    Identified,
    LinkClosed,
    LinkOpened,
    LockChanged,
    OfTheShoe,
    OrderAnswered,
    PresetChanged,
    Reported,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    SetDelivered,
    SetRecognised,
    ShoeEmptied,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
    StoodBy,
    WentQuiet,
)
from tests.oracle.engine_5.step import AnyInput, Configured, Told
from tests.oracle.engine_5.table import line, play, rounds, sets
from tests.oracle.engine_5.table.context import Table
from tests.oracle.engine_5.table.orders import obey
from tests.oracle.engine_5.table.state import OPEN, Phase, TableState

Watched = tuple[AnyObservation, tuple[AnyFinding, ...]]  # an observation, and what the watch made of it


class Folded(msgspec.Struct, frozen=True):
    state: TableState
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


def fold(table: Table, noticed: Sequence[Watched], came: AnyInput, findings: Sequence[AnyFinding], now: Now) -> Folded:
    """One Step of a table; the findings are those of what was told."""
    line.tell_rejections(table, now)
    if isinstance(came, Configured):
        if table.settings.shuffler_port is None:
            table.state = replace(table.state, shuffler=None)
        play.reconsider(table, now)
    for seen, found in noticed:
        observe(table, seen, found)
    if isinstance(came, Told):
        obey(table, came, now)
        play.doubt(table, now, findings)
    return Folded(table.state, tuple(table.events), tuple(table.answers))


def wake_at(state: TableState) -> int | None:
    conditions = (state.device, state.shuffler)
    return min((each.rejections.until for each in conditions if each and each.rejections), default=None)


def observe(table: Table, seen: AnyObservation, findings: Sequence[AnyFinding]) -> None:  # noqa: C901, PLR0912 -- one line each
    if isinstance(seen, Reported | FrameRejected):
        table.set_condition(seen.device, replace(table.condition(seen.device), heard_utc_us=seen.at.utc_us))
    if seen.device is Device.SHUFFLER and isinstance(seen, OfTheShoe):
        return  # on record: no shuffler says so
    match seen:
        case CardSeen():
            play.card(table, seen, findings)
            return
        case ResultSeen():
            play.result(table, seen)
        case CutCardSeen():
            cut_in = table.state.cut_in if table.state.cut else max(1, table.state.round.number)
            table.state = replace(table.state, cut=True, cut_in=cut_in, missed=None)
            told = events.ShoeCut(shoe=table.state.shoe or None, round=table.state.round.number or None)
            table.emit(seen.at, told)
        case CommunicationStarted():
            communication_started(table, seen)
        case Resumed() | SequenceJumped() | SequenceClashed():
            line.continuity(table, seen)
        case LinkOpened() | LinkClosed() | WentQuiet() | HeardAgain():
            line.link(table, seen)
        case Identified() | FaultRaised() | FaultCleared() | LockChanged() | PresetChanged():
            line.device(table, seen)
        case FrameRejected():
            line.rejected(table, seen)
        case CopyHeard() | StoodBy() | OrderAnswered():
            pass  # on record, and nothing changes for anybody
        case ShoeLoaded():
            loaded(table, seen)
        case ShoeEmptied():
            rounds.run_empty(table, seen.at, None)
        case SetRecognised() | ShuffleStarted() | ShuffleEnded() | SetDelivered():
            sets.said(table, seen)
        case _:
            assert_never(seen)
    play.doubt(table, seen.at, sets.put_off(table, findings))


def communication_started(table: Table, seen: CommunicationStarted) -> None:
    """After a cutting card and with no round open, a new shoe; else a reconnection."""
    if table.state.cut:
        loaded(table, seen)


def loaded(table: Table, seen: CommunicationStarted | ShoeLoaded) -> None:
    """A new set is in the shoe; where it only began to talk anew, a round may still need a card of the old one."""
    current = table.state.round
    if isinstance(seen, ShoeLoaded):  # it says so, whatever was missed before
        rounds.start_shoe(table, seen.at, whole=True)
        return
    if table.state.phase in OPEN and not current.complete and (current.cards or current.waiting):
        if table.state.phase is Phase.SUSPENDED:  # it may have begun all the same, and nobody can tell
            table.state = replace(table.state, missed=table.state.missed or seen.frame)
        return
    # Reports missed since the cut may have been this shoe's first; a jump to its own start is none.
    rounds.start_shoe(table, seen.at, whole=table.state.missed in (None, seen.frame))
