"""The sets of cards that a shuffler tells of; what is wrong with one is asked before its shoe has a round."""

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from shoed import device_events as events
from shoed.findings import (
    AnyFinding,
    NotShuffled,
    OrderAltered,
    OtherSet,
    SetWrong,
    ShuffleFailed,
    TooMany,
    TooOften,
)
from shoed.observations import SetDelivered, SetRecognised, ShuffleEnded, ShuffleStarted
from shoed.rules.irregular import Happened
from shoed.table.context import Table
from shoed.table.matters import Matter, Status
from shoed.table.record import with_matter, with_status
from shoed.watch.counts import difference
from shoed.watch.sets import counted
from shoed.words import Event as Kind

SUSPECTED: Final = {
    TooOften: Kind.DECK_COUNT,
    TooMany: Kind.DECK_COUNT,
    SetWrong: Kind.DECK_COUNT,
    OtherSet: Kind.OTHER,
    ShuffleFailed: Kind.NOT_SHUFFLED,
    NotShuffled: Kind.NOT_SHUFFLED,
    OrderAltered: Kind.ORDER_ALTERED,
}
MOST_SETS: Final = 4  # that wait at once: a shuffler works at two, and a set may never come to the shoe


def shuffler_reported(table: Table, seen: SetRecognised | ShuffleStarted | ShuffleEnded | SetDelivered) -> None:
    """What is told of a set stands in the place of what was told before, of the same matter."""
    told: events.EventData
    match seen:
        case SetRecognised(set_id=set_id):
            told = events.SetRecognised(set_id=set_id or None)
        case ShuffleStarted(set_id=set_id):
            told = events.SetShuffling(set_id=set_id or UNSET)
        case ShuffleEnded(failed="", set_id=set_id):
            forget(table, Kind.NOT_SHUFFLED, set_id)
            told = events.SetShuffled(set_id=set_id or UNSET)
        case ShuffleEnded(failed=reason, set_id=set_id):
            told = events.SetFailed(reason=reason, set_id=set_id or UNSET)
        case SetDelivered(set_id=set_id, unread=unread):
            forget(table, Kind.DECK_COUNT)
            faces = counted(seen)
            missing, extra = difference([table.settings.decks] * len(faces), faces)
            cards = sum(faces) + unread
            told = events.SetDelivered(set_id=set_id or None, cards=cards, missing=missing, extra=extra, unread=unread)
        case _:
            assert_never(seen)
    table.emit(seen.at, told)


def forget(table: Table, kind: Kind, set_id: str = "") -> None:
    about = [each for each in waiting(table, kind) if each.set_id == set_id]
    table.set_standing(replace(table.standing, record=with_status(table.record, Status.WITHDRAWN, *about)))


def waiting(table: Table, kind: Kind) -> list[Matter]:
    """What waits for the shoe of its set, the oldest first."""
    return [each for each in table.record.having(Status.LATENT) if each.kind is kind and each.what.between_rounds]


def put_off(table: Table, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """What is of the set that follows waits for its shoe; the rest is of this one."""
    of_this: list[AnyFinding] = []
    for found in findings:
        if isinstance(found, ShuffleFailed) or (isinstance(found, SetWrong) and found.coming):
            kind = SUSPECTED[type(found)]
            set_id = found.set_id if isinstance(found, ShuffleFailed) else ""
            forget(table, kind, set_id)
            what = Happened(kind, reconstructable=True, between_rounds=True)
            record = with_status(table.record, Status.WITHDRAWN, *waiting(table, kind)[: 1 - MOST_SETS])
            record = with_matter(record, Matter(what, Status.LATENT, str(found), set_id=set_id))
            table.set_standing(replace(table.standing, record=record))
        else:
            of_this.append(found)
    return of_this
