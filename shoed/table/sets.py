"""The sets of cards that a shuffler reports. A fault of a set is asked about before the first round of its shoe."""

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from shoed.model import device_events as events
from shoed.model.findings import (
    AnyFinding,
    NotShuffled,
    OrderAltered,
    OtherSet,
    SetWrong,
    ShuffleFailed,
    TooMany,
    TooOften,
)
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.observations import SetDeliverySeen, SetRecognitionSeen, ShuffleEnded, ShuffleStarted
from shoed.rules.irregular import Irregularity
from shoed.table.context import Table
from shoed.table.matters import Matter, Status
from shoed.table.record import with_matter, with_status
from shoed.watch.counts import difference
from shoed.watch.sets import counted

SUSPECTED: Final = {
    TooOften: Kind.DECK_COUNT,
    TooMany: Kind.DECK_COUNT,
    SetWrong: Kind.DECK_COUNT,
    OtherSet: Kind.OTHER,
    ShuffleFailed: Kind.NOT_SHUFFLED,
    NotShuffled: Kind.NOT_SHUFFLED,
    OrderAltered: Kind.ORDER_ALTERED,
}
MOST_SETS: Final = 4  # with a waiting matter: a shuffler works at two sets, and some sets never reach the shoe


def shuffler_reported(table: Table, seen: SetRecognitionSeen | ShuffleStarted | ShuffleEnded | SetDeliverySeen) -> None:
    """Publish the report. A later report about a set withdraws the waiting matter of an earlier report."""
    event: events.EventData
    match seen:
        case SetRecognitionSeen(set_id=set_id):
            event = events.SetRecognised(set_id=set_id or None)
        case ShuffleStarted(set_id=set_id):
            event = events.SetShuffling(set_id=set_id or UNSET)
        case ShuffleEnded(failed="", set_id=set_id):
            withdraw_waiting(table, Kind.NOT_SHUFFLED, set_id)
            event = events.SetShuffled(set_id=set_id or UNSET)
        case ShuffleEnded(failed=reason, set_id=set_id):
            event = events.SetFailed(reason=reason, set_id=set_id or UNSET)
        case SetDeliverySeen(set_id=set_id, unread=unread):
            withdraw_waiting(table, Kind.DECK_COUNT)
            faces = counted(seen)
            missing, extra = difference([table.settings.decks] * len(faces), faces)
            cards = sum(faces) + unread
            event = events.SetDelivered(set_id=set_id or None, cards=cards, missing=missing, extra=extra, unread=unread)
        case _:
            assert_never(seen)
    table.emit(seen.at, event)


def withdraw_waiting(table: Table, kind: Kind, set_id: str = "") -> None:
    about = [each for each in waiting(table, kind) if each.set_id == set_id]
    table.set_standing(replace(table.standing, record=with_status(table.record, Status.WITHDRAWN, *about)))


def waiting(table: Table, kind: Kind) -> list[Matter]:
    """The matters of this kind that wait until their set is in the shoe, the oldest first."""
    return [
        each for each in table.record.having(Status.LATENT) if each.kind is kind and each.irregularity.between_rounds
    ]


def defer_findings(table: Table, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """Let the findings about the next set wait for its shoe; return the findings about the present set."""
    of_this: list[AnyFinding] = []
    for found in findings:
        if isinstance(found, ShuffleFailed) or (isinstance(found, SetWrong) and found.of_next_shoe):
            kind = SUSPECTED[type(found)]
            set_id = found.set_id if isinstance(found, ShuffleFailed) else ""
            withdraw_waiting(table, kind, set_id)
            irregularity = Irregularity(kind, reconstructable=True, between_rounds=True)
            record = with_status(table.record, Status.WITHDRAWN, *waiting(table, kind)[: 1 - MOST_SETS])
            record = with_matter(record, Matter(irregularity, Status.LATENT, str(found), set_id=set_id))
            table.set_standing(replace(table.standing, record=record))
        else:
            of_this.append(found)
    return of_this
