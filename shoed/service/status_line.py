"""The status of the daemon in one line for people, as systemd shows it.

The tables that need a person are first. The line has a bounded length, also with many tables.
"""

from collections.abc import Sequence
from typing import Final

from shoed.model.irregularities import PLAYER
from shoed.service.desk import Desk
from shoed.table.asking import role_of
from shoed.table.assess import house_of, judge
from shoed.table.phase import OPEN, Phase
from shoed.table.questions import open_questions
from shoed.table.state import LinkStatus

LONGEST: Final = 800  # characters
LONGEST_REASON: Final = 100
LONGEST_NOTE: Final = 300


def status_line(desks: Sequence[Desk], note: str = "") -> str:
    """`note`: the state of a reload."""
    head, end = f"{len(desks)} {'table' if len(desks) == 1 else 'tables'}", broker_of(desks)
    fixed = [head, *([cut(note, LONGEST_NOTE)] if note else []), end]
    room = LONGEST - sum(len(each) + 2 for each in fixed)
    tables = [table_of(desk) for desk in sorted(desks, key=is_well)]
    shown: list[str] = []
    for position, text in enumerate(tables):
        left = len(tables) - position
        if room < len(text) + 2 + (len(f"{left - 1} more") + 2 if left > 1 else 0):
            shown.append(f"{left} more")
            break
        shown.append(text)
        room -= len(text) + 2
    return "; ".join([head, *shown, *fixed[1:]])


def is_well(desk: Desk) -> bool:
    table, is_recorded = desk.committed, desk.ended is None and desk.record.reason is None
    return is_recorded and table.phase is not Phase.SUSPENDED and table.device.link is LinkStatus.ONLINE


def table_of(desk: Desk) -> str:
    table = desk.committed
    if desk.ended is not None:
        return f"{desk.name}: {cut(desk.ended, LONGEST_REASON)}"
    if (reason := desk.record.reason) is not None:
        return f"{desk.name}: {cut(reason, LONGEST_REASON)}"
    if table.phase is Phase.SUSPENDED:
        doing = f"round {table.record.number} waits for an answer of {person_of(desk)}"
    else:
        doing = f"round {table.record.number}" if table.phase in OPEN else "between rounds"
    return f"{desk.name}: {doing}, {desk.links}"


def person_of(desk: Desk) -> str:
    settings, table = desk.engine.table_settings, desk.committed
    standing = judge(house_of(settings.game, table.record, insurance=settings.insurance), table.record)
    listed = open_questions(settings.game, table, standing, insurance=settings.insurance)
    role = role_of(listed[0].asked) if listed else None
    return "a person" if role is None else f"a {PLAYER if role == PLAYER else role.replace('-', ' ')}"


def broker_of(desks: Sequence[Desk]) -> str:
    """The connection to the broker, and the number of events that it has not acknowledged."""
    waiting = sum(desk.committed.sequence - desk.publisher.acknowledged for desk in desks)
    offline = [desk.publisher.offline_reason for desk in desks if desk.publisher.offline_reason is not None]
    if not offline:
        return f"broker online, {waiting} waiting"
    of = "" if len(offline) == len(desks) else f" for {len(offline)} of {len(desks)} tables"
    return f"broker offline{of} ({cut(offline[0], LONGEST_REASON)}), {waiting} waiting"


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
