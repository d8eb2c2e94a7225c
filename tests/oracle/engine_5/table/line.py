"""The lines and the devices of a table, as the world is told of them. No card and no round hangs on it here."""

from typing import Final, assert_never

from msgspec.structs import replace

from tests.oracle.engine_5 import device_events as events
from tests.oracle.engine_5.now import Now, rfc3339
from tests.oracle.engine_5.observations import (
    Device,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    Identified,
    LinkClosed,
    LinkOpened,
    LockChanged,
    PresetChanged,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    WentQuiet,
)
from tests.oracle.engine_5.table.context import Table
from tests.oracle.engine_5.table.follow import ask
from tests.oracle.engine_5.table.state import DRAWN, OPEN, Fault, Link, Phase, Rejections

REJECTIONS_COUNTED_NS: Final = 10_000_000_000  # contract: the first at once, then counted per 10 s


def continuity(table: Table, seen: Resumed | SequenceJumped | SequenceClashed) -> None:
    match seen:
        case Resumed(expected=""):
            pass  # that the line was away has been told
        case Resumed() | SequenceJumped():
            missed = events.LineMissed(device=seen.device, expected=seen.expected, seen=seen.frame.sequence)
            table.emit(seen.at, missed)
        case SequenceClashed():
            frame = seen.frame
            clashed = events.LineClashed(
                device=seen.device, sequence=frame.sequence, bytes=frame.raw, previous=seen.previous
            )
            table.emit(seen.at, clashed)
        case _:
            assert_never(seen)
    unproven = isinstance(seen, SequenceJumped) or (isinstance(seen, Resumed) and not seen.proven)
    if unproven and seen.device is Device.SHOE:
        current = table.state.round
        waiting = table.state.phase is Phase.SUSPENDED
        partial = current.partial or table.state.phase in OPEN
        unsure = current.unsure or waiting or table.state.phase not in OPEN
        table.set_round(replace(current, partial=partial, unsure=unsure, lost=table.state.phase in OPEN))
        table.state = replace(table.state, missed=table.state.missed or seen.frame, told=None)
        if table.state.asked is not None:  # it may have other answers now
            ask(table, seen.at)


def link(table: Table, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain) -> None:
    device, port = seen.device, table.port(seen.device)
    was = table.condition(device)
    match seen:
        case LinkOpened() | HeardAgain():
            if isinstance(seen, LinkOpened) and was.rejections is not None:
                # What was counted on the line before; after another boot its window would be of no clock.
                tell_rejections_of(table, device, Now(seen.at.utc_us, was.rejections.until))
                was = replace(was, rejections=None)
            table.set_condition(device, replace(was, link=Link.ONLINE, reason=""))
            table.emit(seen.at, events.DeviceOnline(device=device, port=port))
        case WentQuiet():
            table.set_condition(device, replace(was, link=Link.QUIET))
            table.emit(seen.at, events.DeviceQuiet(device=device, port=port, since=rfc3339(seen.since.utc_us)))
        case LinkClosed():
            if device is Device.SHOE and table.state.phase in (*OPEN, *DRAWN):
                table.set_round(replace(table.state.round, away=True))
            if (was.link, was.reason) != (Link.OFFLINE, seen.reason):
                table.set_condition(device, replace(was, link=Link.OFFLINE, reason=seen.reason))
                table.emit(seen.at, events.DeviceOffline(device=device, port=port, reason=seen.reason))
        case _:
            assert_never(seen)


def device(table: Table, seen: Identified | FaultRaised | FaultCleared | LockChanged | PresetChanged) -> None:
    device, was = seen.device, table.condition(seen.device)
    match seen:
        case Identified(vendor=vendor, model=model, serial=serial, firmware=firmware, protocol=protocol):
            told = events.DeviceIdentified(
                device=device, vendor=vendor, model=model, serial=serial, firmware=firmware, protocol=protocol
            )
            table.emit(seen.at, told)
        case FaultRaised(code=code, name=name, blocking=blocking):
            table.set_condition(device, replace(was, fault=Fault(code, name, blocking)))
            table.emit(seen.at, events.DeviceFault(device=device, code=code, name=name, blocking=blocking))
        case FaultCleared(code=code, name=name):
            table.set_condition(device, replace(was, fault=None))
            table.emit(seen.at, events.DeviceCleared(device=device, code=code, name=name))
        case LockChanged(locked=locked):
            table.set_condition(device, replace(was, locked=locked))
            table.emit(
                seen.at,
                events.DeviceLocked(device=device) if locked else events.DeviceUnlocked(device=device),
            )
        case PresetChanged(address=address, value=value):
            table.emit(seen.at, events.DeviceChanged(device=device, address=address, value=value))
        case _:
            assert_never(seen)


# --- rejected frames: the first at once, then counted


def rejected(table: Table, seen: FrameRejected) -> None:
    device, was = seen.device, table.condition(seen.device)
    counting = was.rejections
    told = events.LineRejected(
        device=device, bytes=seen.raw, offset=seen.offset, reason=seen.reason, detail=seen.detail, count=1
    )
    if counting is None:
        table.emit(seen.at, told)
        counting = Rejections(seen.at.mono_ns + REJECTIONS_COUNTED_NS)
    else:
        told = replace(told, count=1 if counting.counted is None else counting.counted.count + 1)
        counting = replace(counting, counted=told)
    table.set_condition(device, replace(was, rejections=counting))


def tell_rejections(table: Table, now: Now) -> None:
    for device in Device:
        tell_rejections_of(table, device, now)


def tell_rejections_of(table: Table, device: Device, now: Now) -> None:
    was = table.condition(device)
    if was.rejections is None or now.mono_ns < was.rejections.until:
        return
    counted = was.rejections.counted
    after = None if counted is None else Rejections(now.mono_ns + REJECTIONS_COUNTED_NS)
    table.set_condition(device, replace(was, rejections=after))
    if counted is not None:
        table.emit(now, counted)
