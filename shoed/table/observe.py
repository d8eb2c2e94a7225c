"""The table: observations, findings and commands in; events and answers out.

Theory of operation: each input passes once through three stages. First it becomes an entry of the record (`intake` for
cards and results, `commands` for people). Then `assess` computes the standing of the round from the record alone. Last
`report` publishes the difference between that standing and the published events. The phase of the round moves by
`phase.MOVES`. The module `line` publishes the state of lines and devices.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from shoed.model.commands import Answer
from shoed.model.events import Event
from shoed.model.findings import AnyFinding
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Device,
    DeviceStatus,
    DoubtEnded,
    DoubtRaised,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    Identified,
    LinkClosed,
    LinkOpened,
    LockChanged,
    OrderAnswered,
    PresetChanged,
    Replied,
    Reported,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    SetDeliverySeen,
    SetRecognitionSeen,
    ShoeEmptySeen,
    ShoeLoaded,
    ShoeObservation,
    ShuffleEnded,
    ShuffleStarted,
    StoodBy,
    WentQuiet,
)
from shoed.model.step import AnyInput, Commanded, Configured
from shoed.table import continuation, device_orders, floods, intake, line, rounds, sets
from shoed.table.commands import answer_command
from shoed.table.context import Table
from shoed.table.state import TableState

Watched = tuple[AnyObservation, tuple[AnyFinding, ...]]  # an observation, and the findings of the watch about it


class Folded(msgspec.Struct, frozen=True):
    state: TableState
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


def fold(table: Table, watched: Sequence[Watched], entry: AnyInput, findings: Sequence[AnyFinding], now: Now) -> Folded:
    """One Step of a table; `findings` are those about a command."""
    if isinstance(entry, Configured):
        continuation.configured(table, entry, now)
    line.publish_rejections(table, now)
    floods.publish_counted(table, now)
    if isinstance(entry, Configured):
        if table.settings.shuffler_port is None:
            table.state = replace(table.state, shuffler=None)
        intake.reconsider(table, now)
    for seen, found in watched:
        observe(table, seen, found)
    if isinstance(entry, Commanded):
        answer_command(table, entry, now)
        intake.take_findings(table, now, findings)
    return folded(table)


def fold_findings(table: Table, findings: Sequence[AnyFinding], now: Now) -> Folded:
    """The same Step of the table, with the findings of the watch about cards that a person corrected."""
    intake.take_findings(table, now, findings)
    return folded(table)


def folded(table: Table) -> Folded:
    return Folded(table.state, tuple(table.events), tuple(table.answers))


def wake_at(state: TableState) -> int | None:
    conditions = (state.device, state.shuffler)
    moments = [counting.until for each in conditions if each for counting in each.rejections]
    return min([*moments, *floods.wake_at(state)], default=None)


def observe(table: Table, seen: AnyObservation, findings: Sequence[AnyFinding]) -> None:  # noqa: C901, PLR0912 -- one line each
    if isinstance(seen, Reported | FrameRejected):
        line.note_arrival(table, seen)
    if seen.device is Device.SHUFFLER and isinstance(seen, ShoeObservation):
        return  # on record only: a shuffler has no cards, cut card or results
    match seen:
        case CardSeen():
            intake.card(table, seen, findings)
            return
        case ResultSeen():
            intake.result(table, seen)
        case CutCardSeen():
            rounds.cut(table, seen.at)
        case CommunicationStarted():
            if table.state.shoe.cut:  # before the cut card it is a reconnection
                rounds.communication_started(table, seen)
        case Resumed() | SequenceJumped() | SequenceClashed():
            line.continuity(table, seen)
        case LinkOpened() | LinkClosed() | WentQuiet() | HeardAgain() | DoubtRaised() | DoubtEnded():
            line.link(table, seen)
            device_orders.reopened(table, seen)
        case Identified() | FaultRaised() | FaultCleared() | LockChanged() | PresetChanged() | DeviceStatus():
            for each in line.differences(table, seen) if isinstance(seen, DeviceStatus) else (seen,):
                line.device(table, each)
                device_orders.reported(table, each)
        case FrameRejected():
            line.rejected(table, seen)
        case OrderAnswered():
            device_orders.answered(table, seen)
        case CopyHeard() | StoodBy() | Replied():
            pass  # on record only
        case ShoeLoaded():
            rounds.communication_started(table, seen)
        case ShoeEmptySeen():
            rounds.run_empty(table, seen.at, None)
        case SetRecognitionSeen() | ShuffleStarted() | ShuffleEnded() | SetDeliverySeen():
            sets.shuffler_reported(table, seen)
        case _:
            assert_never(seen)
    intake.take_findings(table, seen.at, sets.defer_findings(table, findings))
