"""The table: observations, findings and commands in; events and answers out.

Theory of operation: each input passes once through three stages. It becomes an entry of the record (`intake` for cards
and results, `commands` for people), `assess` computes how the round stands from the record alone, and `report`
publishes the difference from what subscribers know. The phase of the round moves by `phase.MOVES`. What concerns the
line alone is in `line`.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec.structs import replace

from shoed.commands import Answer
from shoed.events import Event
from shoed.findings import AnyFinding
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Device,
    DeviceDoubted,
    DeviceStatus,
    DeviceTrusted,
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
    Replied,
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
from shoed.step import AnyInput, Configured, Told
from shoed.table import device_orders, floods, intake, line, rounds, sets
from shoed.table.commands import obey
from shoed.table.context import Table
from shoed.table.state import TableState

Watched = tuple[AnyObservation, tuple[AnyFinding, ...]]  # an observation, and what the watch made of it


class Folded(msgspec.Struct, frozen=True):
    state: TableState
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


def fold(table: Table, noticed: Sequence[Watched], came: AnyInput, findings: Sequence[AnyFinding], now: Now) -> Folded:
    """One Step of a table; the findings are those of what was told."""
    line.tell_rejections(table, now)
    floods.tell(table, now)
    if isinstance(came, Configured):
        if table.settings.shuffler_port is None:
            table.state = replace(table.state, shuffler=None)
        intake.reconsider(table, now)
    for seen, found in noticed:
        observe(table, seen, found)
    if isinstance(came, Told):
        obey(table, came, now)
        intake.doubt(table, now, findings)
    return folded(table)


def doubted(table: Table, findings: Sequence[AnyFinding], now: Now) -> Folded:
    """The same Step of the table, with what the watch found in the cards as a person has them."""
    intake.doubt(table, now, findings)
    return folded(table)


def folded(table: Table) -> Folded:
    return Folded(table.state, tuple(table.events), tuple(table.answers))


def wake_at(state: TableState) -> int | None:
    conditions = (state.device, state.shuffler)
    moments = [counting.until for each in conditions if each for counting in each.rejections]
    return min([*moments, *floods.wake_at(state)], default=None)


def observe(table: Table, seen: AnyObservation, findings: Sequence[AnyFinding]) -> None:  # noqa: C901, PLR0912 -- one line each
    if isinstance(seen, Reported | FrameRejected):
        line.heard(table, seen)
    if seen.device is Device.SHUFFLER and isinstance(seen, OfTheShoe):
        return  # on record: no shuffler says so
    match seen:
        case CardSeen():
            intake.card(table, seen, findings)
            return
        case ResultSeen():
            intake.result(table, seen)
        case CutCardSeen():
            rounds.cut(table, seen.at)
        case CommunicationStarted():
            if table.state.shoe.cut:  # else it is a reconnection
                rounds.communication_started(table, seen)
        case Resumed() | SequenceJumped() | SequenceClashed():
            line.continuity(table, seen)
        case LinkOpened() | LinkClosed() | WentQuiet() | HeardAgain() | DeviceDoubted() | DeviceTrusted():
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
            pass  # on record, and nothing changes for anybody
        case ShoeLoaded():
            rounds.communication_started(table, seen)
        case ShoeEmptied():
            rounds.run_empty(table, seen.at, None)
        case SetRecognised() | ShuffleStarted() | ShuffleEnded() | SetDelivered():
            sets.shuffler_reported(table, seen)
        case _:
            assert_never(seen)
    intake.doubt(table, seen.at, sets.put_off(table, findings))
