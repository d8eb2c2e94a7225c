"""The sets of cards that a shuffler tells of; what is wrong with one is asked before its shoe has a round."""

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from tests.oracle.engine_5 import device_events as events
from tests.oracle.engine_5.findings import (
    AnyFinding,
    NotShuffled,
    OrderAltered,
    OtherSet,
    SetWrong,
    ShuffleFailed,
    TooMany,
    TooOften,
)
from tests.oracle.engine_5.observations import SetDelivered, SetRecognised, ShuffleEnded, ShuffleStarted
from tests.oracle.engine_5.rules.irregular import Happened
from tests.oracle.engine_5.table.context import Table
from tests.oracle.engine_5.table.state import Noticed
from tests.oracle.engine_5.watch.counts import difference
from tests.oracle.engine_5.watch.sets import counted
from tests.oracle.engine_5.words import Event as Mishap

SUSPECTED: Final = {
    TooOften: Mishap.DECK_COUNT,
    TooMany: Mishap.DECK_COUNT,
    SetWrong: Mishap.DECK_COUNT,
    OtherSet: Mishap.OTHER,
    ShuffleFailed: Mishap.NOT_SHUFFLED,
    NotShuffled: Mishap.NOT_SHUFFLED,
    OrderAltered: Mishap.ORDER_ALTERED,
}


def said(table: Table, seen: SetRecognised | ShuffleStarted | ShuffleEnded | SetDelivered) -> None:
    """What is told of a set stands in the place of what was told before, of the same matter."""
    told: events.EventData
    match seen:
        case SetRecognised(set_id=set_id):
            told = events.SetRecognised(set_id=set_id or None)
        case ShuffleStarted():
            told = events.SetShuffling()
        case ShuffleEnded(failed=""):
            forget(table, Mishap.NOT_SHUFFLED)
            told = events.SetShuffled()
        case ShuffleEnded(failed=reason):
            told = events.SetFailed(reason=reason)
        case SetDelivered(set_id=set_id, unread=unread):
            forget(table, Mishap.DECK_COUNT)
            faces = counted(seen)
            missing, extra = difference([table.settings.decks] * len(faces), faces)
            cards = sum(faces) + unread
            told = events.SetDelivered(set_id=set_id or None, cards=cards, missing=missing, extra=extra, unread=unread)
        case _:
            assert_never(seen)
    table.emit(seen.at, told)


def forget(table: Table, mishap: Mishap) -> None:
    table.state = replace(table.state, coming=tuple(each for each in table.state.coming if each.what.event != mishap))


def put_off(table: Table, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """What is of the set that comes next waits for its shoe; the rest is of this one."""
    of_this: list[AnyFinding] = []
    for found in findings:
        if isinstance(found, ShuffleFailed) or (isinstance(found, SetWrong) and found.coming):
            event = SUSPECTED[type(found)]
            forget(table, event)
            what = Happened(event, 0, 0, reconstructable=True, between_rounds=True)
            table.state = replace(table.state, coming=(*table.state.coming, Noticed(what, str(found))))
        else:
            of_this.append(found)
    return of_this
