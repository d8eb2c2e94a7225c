"""Limits for events that a bad line repeats: the first events of a time window are published, the others are counted.

Theory of operation: a window begins with the first event of a kind. A fixed number of events in the window is published
one by one. Further events are counted; at the end of the window one event publishes their number. If a window has
counted events, the next window publishes no single event: it counts from its first event.
"""

from typing import Final

from msgspec.structs import replace

from shoed.model import device_events, events
from shoed.model.moments import Now
from shoed.model.observations import Device
from shoed.table.context import Table
from shoed.table.state import Asides, Flaps, LinkStatus, TableState

ASIDES_PUBLISHED: Final = 40  # in a window: a person draws at most one card in 250 ms
ASIDES_NS: Final = 10_000_000_000
FLAPS_PUBLISHED: Final = 20  # ten openings and ten closings: a technician who tries cables sees each one
FLAPS_NS: Final = 60_000_000_000


def is_over(window: Asides | Flaps, length_ns: int, at: Now) -> bool:
    # A moment before the begin of the window: the window has the clock of another boot.
    return not window.until - length_ns <= at.mono_ns < window.until


def waits(window: Asides | Flaps) -> bool:
    """Whether counted events wait to be published."""
    return window.counted is not None if isinstance(window, Asides) else bool(window.opened or window.closed)


def wake_at(state: TableState) -> list[int]:
    windows = [state.asides, state.device.flaps, *([] if state.shuffler is None else [state.shuffler.flaps])]
    return [each.until for each in windows if each is not None and waits(each)]


def publish_counted(table: Table, now: Now) -> None:
    """Publish the counted events of each window that is over."""
    asides = table.state.asides
    if asides is not None and asides.counted is not None and is_over(asides, ASIDES_NS, now):
        table.emit(now, asides.counted)
        table.state = replace(table.state, asides=Asides(now.mono_ns + ASIDES_NS, ASIDES_PUBLISHED))
    for device in Device:
        flaps = table.condition(device).flaps
        if flaps is not None and waits(flaps) and is_over(flaps, FLAPS_NS, now):
            publish_flaps(table, device, flaps, now)


def publish_flaps(table: Table, device: Device, flaps: Flaps, now: Now) -> None:
    was, port = table.condition(device), table.port(device)
    table.set_condition(device, replace(was, flaps=Flaps(now.mono_ns + FLAPS_NS, FLAPS_PUBLISHED)))
    found: list[device_events.DeviceOnline | device_events.DeviceOffline] = []
    if flaps.opened:
        found.append(device_events.DeviceOnline(device=device, port=port, count=flaps.opened))
    if flaps.closed:
        offline = device_events.DeviceOffline(device=device, port=port, reason=was.reason, count=flaps.closed)
        found.insert(0 if was.link is LinkStatus.ONLINE else len(found), offline)
    for each in found:  # the last event is the present state of the link
        table.emit(now, each)


def set_aside(table: Table, at: Now, card: events.CardSetAside) -> int:
    """Publish or count the card. Return the sequence of its event; 0: the card was counted."""
    asides = table.state.asides
    if asides is None or (asides.counted is None and is_over(asides, ASIDES_NS, at)):
        asides = Asides(at.mono_ns + ASIDES_NS, 0)
    if asides.published < ASIDES_PUBLISHED:
        table.state = replace(table.state, asides=replace(asides, published=asides.published + 1))
        return table.emit(at, card)
    before = asides.counted and asides.counted.count
    count = (before if isinstance(before, int) else 0) + 1
    table.state = replace(table.state, asides=replace(asides, counted=replace(card, count=count)))
    return 0


def publish_or_count_link(
    table: Table, at: Now, event: device_events.DeviceOnline | device_events.DeviceOffline
) -> None:
    """Publish or count the opening or closing of a link. The condition of the device has the new state already."""
    was = table.condition(event.device)
    flaps = was.flaps
    if flaps is None or (not waits(flaps) and is_over(flaps, FLAPS_NS, at)):
        flaps = Flaps(at.mono_ns + FLAPS_NS, 0)
    if flaps.published < FLAPS_PUBLISHED:
        flaps = replace(flaps, published=flaps.published + 1)
        table.emit(at, event)
    elif isinstance(event, device_events.DeviceOnline):
        flaps = replace(flaps, opened=flaps.opened + 1)
    else:
        flaps = replace(flaps, closed=flaps.closed + 1)
    table.set_condition(event.device, replace(was, flaps=flaps))


def end_flaps(table: Table, device: Device) -> None:
    """A report proves that the link works: the next closing of the link is published. Counted events are kept."""
    was = table.condition(device)
    if was.flaps is not None and not waits(was.flaps):
        table.set_condition(device, replace(was, flaps=None))
