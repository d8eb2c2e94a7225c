"""The lines and the devices of a table, as the world is told of them. No card and no round hangs on it here."""

from typing import Final, assert_never

from msgspec.structs import replace

from shoed import device_events as events
from shoed.now import Now, rfc3339
from shoed.observations import (
    Continuity,
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
from shoed.table import floods
from shoed.table.context import AfterGap, Table
from shoed.table.continuity import with_gap
from shoed.table.phase import AT_THE_TABLE, OPEN, Phase
from shoed.table.posing import ask
from shoed.table.rounds import abandon
from shoed.table.state import Fault, Link, Rejections

REJECTIONS_COUNTED_NS: Final = 10_000_000_000  # contract: the first at once, then counted per 10 s


def continuity(table: Table, seen: Resumed | SequenceJumped | SequenceClashed) -> None:
    match seen:
        case Resumed(expected=""):
            pass  # that the line was away has been told
        case Resumed() | SequenceJumped():
            missed = events.LineMissed(
                device=seen.device,
                expected=seen.expected,
                seen=seen.frame.sequence,
                at_least=seen.missed_at_least or None,
            )
            table.emit(seen.at, missed)
        case SequenceClashed():
            frame = seen.frame
            clashed = events.LineClashed(
                device=seen.device, sequence=frame.sequence, bytes=frame.raw, previous=seen.previous
            )
            table.emit(seen.at, clashed)
        case _:
            assert_never(seen)
    lost = isinstance(seen, SequenceJumped) or (isinstance(seen, Resumed) and seen.continuity is Continuity.LOST)
    if seen.device is Device.SHOE and (lost or (isinstance(seen, Resumed) and not seen.proven)):
        is_open, waits = table.state.phase in OPEN, table.state.phase is Phase.SUSPENDED
        record, shoe = table.record, table.state.shoe
        asks = lost or table.settings.after_gap is AfterGap.ASK
        continuity = with_gap(record.continuity, record.last_id, is_open=is_open, waits=waits, asks=asks)
        table.set_record(replace(record, continuity=continuity))
        shoe = replace(shoe, missed=shoe.missed or seen.frame, gap=shoe.gap or not is_open)
        table.state = replace(table.state, shoe=shoe, last_card=None)
        if is_open and (record.order or record.waiting) and table.settings.after_gap is AfterGap.ABANDON:
            abandon(table, seen.at)
        else:
            ask(table, seen.at)  # an open question may have other answers now


def link(table: Table, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain) -> None:
    device, port = seen.device, table.port(seen.device)
    was = table.condition(device)
    match seen:
        case LinkOpened() | HeardAgain():
            if isinstance(seen, LinkOpened) and was.rejections:
                # What was counted on the line before; after another boot its window would be of no clock.
                tell_rejections_of(table, device, seen.at, last=True)
                was = table.condition(device)
            table.set_condition(device, replace(was, link=Link.ONLINE, reason=""))
            floods.link(table, seen.at, events.DeviceOnline(device=device, port=port))
        case WentQuiet():
            table.set_condition(device, replace(was, link=Link.QUIET))
            table.emit(seen.at, events.DeviceQuiet(device=device, port=port, since=rfc3339(seen.since.utc_us)))
        case LinkClosed():
            if device is Device.SHOE and table.state.phase in AT_THE_TABLE:
                record = table.record
                table.set_record(replace(record, continuity=replace(record.continuity, away=record.last_id)))
            if (was.link, was.reason) != (Link.OFFLINE, seen.reason):
                table.set_condition(device, replace(was, link=Link.OFFLINE, reason=seen.reason))
                floods.link(table, seen.at, events.DeviceOffline(device=device, port=port, reason=seen.reason))
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
        case FaultRaised(code=code, name=name, blocking=blocking, meaning=meaning):
            table.set_condition(device, replace(was, fault=Fault(code, name, blocking), meaning=meaning))
            table.emit(seen.at, events.DeviceFault(device=device, code=code, name=name, blocking=blocking))
        case FaultCleared(code=code, name=name):
            table.set_condition(device, replace(was, fault=None, meaning=None))
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


# --- rejected frames: the first for each reason at once, then counted


def rejected(table: Table, seen: FrameRejected) -> None:
    device, was = seen.device, table.condition(seen.device)
    counting = next((each for each in was.rejections if each.reason == seen.reason), None)
    told = events.LineRejected(
        device=device,
        bytes=seen.raw,
        offset=seen.offset,
        reason=seen.reason,
        detail=seen.detail,
        count=seen.count,
        size=seen.size,
        unkept=seen.unkept,
    )
    if counting is None:
        table.emit(seen.at, told)
        after = Rejections(seen.reason, seen.at.mono_ns + REJECTIONS_COUNTED_NS)
    else:
        if (before := counting.counted) is not None:
            told = replace(
                told,
                count=before.count + told.count,
                size=before.size + told.size,
                unkept=before.unkept + told.unkept,
            )
        after = replace(counting, counted=told)
    others = tuple([each for each in was.rejections if each is not counting])
    table.set_condition(device, replace(was, rejections=(*others, after)))


def tell_rejections(table: Table, now: Now) -> None:
    for device in Device:
        if any(now.mono_ns >= each.until for each in table.condition(device).rejections):
            tell_rejections_of(table, device, now)


def tell_rejections_of(table: Table, device: Device, now: Now, *, last: bool = False) -> None:
    """What was counted until now; `last`: all of it, because the line opens again."""
    was = table.condition(device)
    due = [each for each in was.rejections if last or now.mono_ns >= each.until]
    counted = [each.counted for each in due if each.counted is not None]
    waiting = [each for each in was.rejections if each not in due]
    if not last:
        waiting += [Rejections(each.reason, now.mono_ns + REJECTIONS_COUNTED_NS) for each in counted]
    table.set_condition(device, replace(was, rejections=tuple(waiting)))
    for each in counted:
        table.emit(now, each)
