"""Device orders: the commands `lock`, `unlock` and `clear-fault`, and the answers of the devices.

Theory of operation: `ordered` decides from the table's state whether a command becomes a device order. The engine calls
`ordered` first and gives the order to the session of the device in the same Step. A refusal by the session is an
observation of that Step. `record_order` then accepts or refuses the command. `Condition` keeps the order as pending
until the device answers it, and for `REPORT_WITHIN_NS` after the answer, because a later report may show the effect.
"""

from typing import Final, assert_never

from msgspec.structs import replace

from shoed.model.commands import ClearFault, LockDevice, UnlockDevice
from shoed.model.device_events import DeviceOrderAnswered, OrderResult
from shoed.model.irregularities import Role
from shoed.model.observations import (
    AnsweredBy,
    Device,
    FaultCleared,
    FaultMeaning,
    LinkOpened,
    LockChanged,
    Observation,
    OrderAnswered,
)
from shoed.model.step import Commanded, DeviceOrder, DeviceOrderKind, Ordered
from shoed.table.context import Table, TableSettings, author_fields
from shoed.table.state import Awaited, Condition, PendingOrder, TableState

CARD_DECIDES: Final = Role.PIT_SUPERVISOR  # the decision about the card of an overdraw changes the record of the round
# A lock moves in less than a second, and a report takes 50 ms. A later change is made by a person at the device.
REPORT_WITHIN_NS: Final = 10_000_000_000


def ordered(settings: TableSettings, state: TableState, commanded: Commanded) -> Ordered | str | None:
    """The device order of a command, or the refusal; None if the command is not a device order."""
    command, by = commanded.command, commanded.author
    if not isinstance(command, LockDevice | UnlockDevice | ClearFault):
        return None
    device = command.device
    if by.role is None:
        return f"{device.value}: a player gives no device orders; name a role of the house"
    if device is Device.SHUFFLER and settings.shuffler_port is None:
        return "shuffler: this table has no shuffler; leave device out, or write device=shoe"
    match command:
        case LockDevice():
            return Ordered(DeviceOrder(DeviceOrderKind.LOCK), device=device)
        case UnlockDevice():
            return Ordered(DeviceOrder(DeviceOrderKind.UNLOCK), device=device)
        case ClearFault():
            condition = (state.device if device is Device.SHOE else state.shuffler) or Condition()
            if (reason := _not_cleared(command, by.role, condition)) is not None:
                return f"{device.value}: {reason}"
            code = None if condition.fault is None else condition.fault.code
            order = DeviceOrder(DeviceOrderKind.CLEAR_FAULT, code, command.card)
            return Ordered(order, device=device)
        case _:
            assert_never(command)


def _not_cleared(command: ClearFault, role: Role, condition: Condition) -> str | None:
    overdraw, fault = condition.meaning is FaultMeaning.OVERDRAW, condition.fault
    if overdraw and command.card is None:
        return "the fault is an overdraw, and its card is undecided; add card=use or card=discard"
    if command.card is None:
        return None
    if not overdraw:
        known = "no fault is known" if fault is None else f"the fault is {fault.name}"
        return f"{known}, and only the card of an overdraw is used or discarded; leave card out"
    if not role.may_decide_for(CARD_DECIDES):
        return f"{role.value} may not decide about the card of an overdraw; a {CARD_DECIDES.value} or above may"
    return None


def record_order(table: Table, commanded: Commanded) -> str | None:
    """Record the device order; return the refusal, or None."""
    order = ordered(table.settings, table.state, commanded)
    if not isinstance(order, Ordered):
        return order
    if table.not_sent:
        return f"{order.device.value}: {table.not_sent}"
    condition = table.condition(order.device)
    table.set_condition(order.device, replace(condition, order=PendingOrder(order.order, commanded.author)))
    return None


def answered(table: Table, seen: OrderAnswered) -> None:
    """Publish the answer of the device. An answer to the order of another host is on record only."""
    if seen.answered_by is AnsweredBy.HOST:
        table.not_sent = seen.detail
        return
    pending = table.condition(seen.device).order
    if pending is None or pending.awaited is Awaited.REPORT or seen.order != str(pending.order):
        return
    if seen.accepted:
        result = OrderResult.ACKNOWLEDGED
    elif seen.answered_by is AnsweredBy.NO_ONE:
        result = OrderResult.SILENT
    else:
        result = OrderResult.REFUSED
    _publish(table, seen, pending, result, seen.detail)
    over = result is OrderResult.REFUSED or pending.awaited is Awaited.ANSWER
    waiting = replace(pending, awaited=Awaited.REPORT, answered_ns=seen.at.mono_ns)
    _set_pending(table, seen.device, None if over else waiting)


def reported(table: Table, seen: Observation) -> None:
    """Publish the effect of the order if this report of the device shows it."""
    pending = table.condition(seen.device).order
    if pending is None or not _shows(pending.order, seen):
        return
    match pending.awaited:
        case Awaited.BOTH:
            _publish(table, seen, pending, OrderResult.REPORTED)
            _set_pending(table, seen.device, replace(pending, awaited=Awaited.ANSWER))
        case Awaited.ANSWER:
            pass  # the effect was published
        case Awaited.REPORT:
            # A negative time: the answer has the clock of another boot.
            if 0 <= seen.at.mono_ns - pending.answered_ns <= REPORT_WITHIN_NS:
                _publish(table, seen, pending, OrderResult.REPORTED)
            _set_pending(table, seen.device, None)
        case _:
            assert_never(pending.awaited)


def reopened(table: Table, seen: Observation) -> None:
    """Publish that an order was lost: it still waits for its answer when a new link opens.

    A session answers its order before its link closes, so the order was lost with its session.
    """
    pending = table.condition(seen.device).order
    if isinstance(seen, LinkOpened) and pending is not None and pending.awaited is not Awaited.REPORT:
        _publish(table, seen, pending, OrderResult.SILENT, "the device was replaced")
        _set_pending(table, seen.device, None)


def _shows(order: DeviceOrder, seen: Observation) -> bool:
    match seen:
        case LockChanged(locked=locked):
            return order.kind is (DeviceOrderKind.LOCK if locked else DeviceOrderKind.UNLOCK)
        case FaultCleared(code=code):
            return order.kind is DeviceOrderKind.CLEAR_FAULT and order.fault in (None, code)
        case _:
            return False


def _set_pending(table: Table, device: Device, pending: PendingOrder | None) -> None:
    table.set_condition(device, replace(table.condition(device), order=pending))


def _publish(table: Table, seen: Observation, pending: PendingOrder, result: OrderResult, detail: str = "") -> None:
    order, by = pending.order, pending.author
    event = DeviceOrderAnswered(
        device=seen.device, order=order.kind.value, card=order.card, result=result, detail=detail, **author_fields(by)
    )
    table.emit(seen.at, event)
