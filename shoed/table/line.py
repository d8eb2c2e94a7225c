"""The line and the device of a table, as the world is told of them. No card and no round hangs on it here."""

from typing import Final, assert_never

from msgspec.structs import replace

from shoed import events
from shoed.now import Now, rfc3339
from shoed.observations import (
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    LockChanged,
    PresetChanged,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    WentQuiet,
)
from shoed.table.context import Table
from shoed.table.state import DRAWN, OPEN, Fault, Link, Phase, Rejections

REJECTIONS_COUNTED_NS: Final = 10_000_000_000  # contract: the first at once, then counted per 10 s


def continuity(table: Table, seen: Resumed | SequenceJumped | SequenceClashed) -> None:
    match seen:
        case Resumed():
            pass  # that the line was away has been told
        case SequenceJumped():
            table.emit(seen.at, events.LineMissed(expected=seen.expected, seen=seen.frame.sequence))
        case SequenceClashed():
            table.emit(
                seen.at,
                events.LineClashed(sequence=seen.frame.sequence, bytes=seen.frame.raw, previous=seen.previous),
            )
        case _:
            assert_never(seen)
    unproven = isinstance(seen, SequenceJumped) or (isinstance(seen, Resumed) and not seen.proven)
    if unproven:
        current = table.state.round
        waiting = table.state.phase is Phase.SUSPENDED
        partial = current.partial or table.state.phase in OPEN
        unsure = current.unsure or waiting or table.state.phase not in OPEN
        table.set_round(replace(current, partial=partial, unsure=unsure))
        table.state = replace(table.state, missed=table.state.missed or seen.frame, told=None)


def link(table: Table, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain) -> None:
    device, port = table.state.device, table.settings.port
    match seen:
        case LinkOpened() | HeardAgain():
            if isinstance(seen, LinkOpened) and table.state.rejections is not None:
                # What was counted on the line before; after another boot its window would be of no clock.
                tell_rejections(table, Now(seen.at.utc_us, table.state.rejections.until))
                table.state = replace(table.state, rejections=None)
            table.set_device(replace(device, link=Link.ONLINE, reason=""))
            table.emit(seen.at, events.DeviceOnline(port=port))
        case WentQuiet():
            table.set_device(replace(device, link=Link.QUIET))
            table.emit(seen.at, events.DeviceQuiet(port=port, since=rfc3339(seen.since.utc_us)))
        case LinkClosed():
            if table.state.phase in (*OPEN, *DRAWN):
                table.set_round(replace(table.state.round, away=True))
            if (device.link, device.reason) != (Link.OFFLINE, seen.reason):
                table.set_device(replace(device, link=Link.OFFLINE, reason=seen.reason))
                table.emit(seen.at, events.DeviceOffline(port=port, reason=seen.reason))
        case _:
            assert_never(seen)


def device(table: Table, seen: FaultRaised | FaultCleared | LockChanged | PresetChanged) -> None:
    device = table.state.device
    match seen:
        case FaultRaised(code=code, name=name, blocking=blocking):
            table.set_device(replace(device, fault=Fault(code, name, blocking)))
            table.emit(seen.at, events.DeviceFault(code=code, name=name, blocking=blocking))
        case FaultCleared(code=code, name=name):
            table.set_device(replace(device, fault=None))
            table.emit(seen.at, events.DeviceCleared(code=code, name=name))
        case LockChanged(locked=locked):
            table.set_device(replace(device, locked=locked))
            table.emit(seen.at, events.DeviceLocked() if locked else events.DeviceUnlocked())
        case PresetChanged(address=address, value=value):
            table.emit(seen.at, events.DeviceChanged(address=address, value=value))
        case _:
            assert_never(seen)


# --- rejected frames: the first at once, then counted


def rejected(table: Table, seen: FrameRejected) -> None:
    counting = table.state.rejections
    told = events.LineRejected(bytes=seen.raw, offset=seen.offset, reason=seen.reason, detail=seen.detail, count=1)
    if counting is None:
        table.emit(seen.at, told)
        counting = Rejections(seen.at.mono_ns + REJECTIONS_COUNTED_NS)
    else:
        told = replace(told, count=1 if counting.counted is None else counting.counted.count + 1)
        counting = replace(counting, counted=told)
    table.state = replace(table.state, rejections=counting)


def tell_rejections(table: Table, now: Now) -> None:
    counting = table.state.rejections
    if counting is None or now.mono_ns < counting.until:
        return
    if counting.counted is None:
        table.state = replace(table.state, rejections=None)
        return
    table.emit(now, counting.counted)
    table.state = replace(table.state, rejections=Rejections(now.mono_ns + REJECTIONS_COUNTED_NS))
