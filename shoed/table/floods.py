"""What a bad line repeats faster than a table can: told a few times, and then counted.

Theory of operation: a window begins with the first of a kind. The first few in it are published one by one; those after
them are counted and published at its end as one event with their number. While there are any, the next windows only
count.
"""

from typing import Final

from msgspec.structs import replace

from shoed import device_events, events
from shoed.now import Now
from shoed.observations import Device
from shoed.table.context import Table
from shoed.table.state import Asides, Flaps, Link, TableState

ASIDES_TOLD: Final = 40  # in a window: a hand draws no two cards in less than 250 ms
ASIDES_NS: Final = 10_000_000_000
FLAPS_TOLD: Final = 20  # ten openings and closings: a technician who tries cables sees each of them
FLAPS_NS: Final = 60_000_000_000


def is_over(window: Asides | Flaps, length_ns: int, at: Now) -> bool:
    return not window.until - length_ns <= at.mono_ns < window.until  # less: the clock of another boot


def waits(window: Asides | Flaps) -> bool:
    """Whether anything was counted."""
    return window.counted is not None if isinstance(window, Asides) else bool(window.opened or window.closed)


def wake_at(state: TableState) -> list[int]:
    windows = [state.asides, state.device.flaps, *([] if state.shuffler is None else [state.shuffler.flaps])]
    return [each.until for each in windows if each is not None and waits(each)]


def tell(table: Table, now: Now) -> None:
    """All that was counted in a window that is over; it is over, too, where the clock is that of another boot."""
    asides = table.state.asides
    if asides is not None and asides.counted is not None and is_over(asides, ASIDES_NS, now):
        table.emit(now, asides.counted)
        table.state = replace(table.state, asides=Asides(now.mono_ns + ASIDES_NS, ASIDES_TOLD))
    for device in Device:
        flaps = table.condition(device).flaps
        if flaps is not None and waits(flaps) and is_over(flaps, FLAPS_NS, now):
            tell_flaps(table, device, flaps, now)


def tell_flaps(table: Table, device: Device, flaps: Flaps, now: Now) -> None:
    was, port = table.condition(device), table.port(device)
    table.set_condition(device, replace(was, flaps=Flaps(now.mono_ns + FLAPS_NS, FLAPS_TOLD)))
    found: list[device_events.DeviceOnline | device_events.DeviceOffline] = []
    if flaps.opened:
        found.append(device_events.DeviceOnline(device=device, port=port, count=flaps.opened))
    if flaps.closed:
        offline = device_events.DeviceOffline(device=device, port=port, reason=was.reason, count=flaps.closed)
        found.insert(0 if was.link is Link.ONLINE else len(found), offline)
    for each in found:  # the last one is how the link stands
        table.emit(now, each)


def set_aside(table: Table, at: Now, card: events.CardSetAside) -> int:
    """The number of its event; 0: it is only counted."""
    asides = table.state.asides
    if asides is None or (asides.counted is None and is_over(asides, ASIDES_NS, at)):
        asides = Asides(at.mono_ns + ASIDES_NS, 0)
    if asides.told < ASIDES_TOLD:
        table.state = replace(table.state, asides=replace(asides, told=asides.told + 1))
        return table.emit(at, card)
    before = asides.counted and asides.counted.count
    count = (before if isinstance(before, int) else 0) + 1
    table.state = replace(table.state, asides=replace(asides, counted=replace(card, count=count)))
    return 0


def link(table: Table, at: Now, event: device_events.DeviceOnline | device_events.DeviceOffline) -> None:
    """The link opened or closed; its condition is set already."""
    was = table.condition(event.device)
    flaps = was.flaps
    if flaps is None or (not waits(flaps) and is_over(flaps, FLAPS_NS, at)):
        flaps = Flaps(at.mono_ns + FLAPS_NS, 0)
    if flaps.told < FLAPS_TOLD:
        flaps = replace(flaps, told=flaps.told + 1)
        table.emit(at, event)
    elif isinstance(event, device_events.DeviceOnline):
        flaps = replace(flaps, opened=flaps.opened + 1)
    else:
        flaps = replace(flaps, closed=flaps.closed + 1)
    table.set_condition(event.device, replace(was, flaps=flaps))


def heard(table: Table, device: Device) -> None:
    """A report: the link carries something, and its next end is published. What was counted is still told."""
    was = table.condition(device)
    if was.flaps is not None and not waits(was.flaps):
        table.set_condition(device, replace(was, flaps=None))
