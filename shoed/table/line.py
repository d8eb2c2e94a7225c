"""The lines and the devices of a table, as the world is told of them. No card and no round hangs on it here."""

from typing import Final, assert_never

from msgspec import UNSET
from msgspec.structs import asdict, replace

from shoed import device_events as events
from shoed.now import Now, rfc3339
from shoed.observations import (
    Continuity,
    Device,
    DeviceDoubted,
    DeviceStatus,
    DeviceTrusted,
    FaultCleared,
    FaultRaised,
    FaultStanding,
    FrameRejected,
    HeardAgain,
    Identified,
    LinkClosed,
    LinkOpened,
    LockChanged,
    PresetChanged,
    Reported,
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
from shoed.table.state import Condition, Doubted, Fault, Link, Rejections

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


def link(table: Table, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain | DeviceDoubted | DeviceTrusted) -> None:
    device, port = seen.device, table.port(seen.device)
    if isinstance(seen, LinkOpened | LinkClosed):
        end_doubts(table, device, seen.at)
    was = table.condition(device)
    match seen:
        case LinkOpened() | HeardAgain():
            if isinstance(seen, LinkOpened):
                opened(table, device, seen.at)
            if not table.condition(device).unidentified:
                online(table, device, seen.at)
        case WentQuiet():
            if was.link is not Link.QUIET:  # noise on the line of a device that never said who it is
                table.set_condition(device, replace(was, link=Link.QUIET))
                table.emit(seen.at, events.DeviceQuiet(device=device, port=port, since=rfc3339(seen.since.utc_us)))
        case LinkClosed():
            closed(table, seen)
        case DeviceDoubted() | DeviceTrusted():
            doubt(table, seen)
        case _:
            assert_never(seen)


def end_doubts(table: Table, device: Device, now: Now) -> None:
    """They concern the device that was on the line."""
    was = table.condition(device)
    table.set_condition(device, replace(was, doubts=()))
    for each in was.doubts:
        table.emit(now, events.DeviceTrusted(device=device, reason=each.reason))


def doubt(table: Table, seen: DeviceDoubted | DeviceTrusted) -> None:
    device, reason = seen.device, seen.reason
    was = table.condition(device)
    doubts = tuple(each for each in was.doubts if each.reason is not reason)
    match seen:
        case DeviceDoubted(detail=detail):
            doubts += (Doubted(reason, detail),)
            table.emit(seen.at, events.DeviceDoubted(device=device, reason=reason, detail=detail))
        case DeviceTrusted():
            table.emit(seen.at, events.DeviceTrusted(device=device, reason=reason))
        case _:
            assert_never(seen)
    table.set_condition(device, replace(was, doubts=doubts))


def opened(table: Table, device: Device, at: Now) -> None:
    # What was counted on the line before; after another boot its window would be of no clock.
    tell_rejections_of(table, device, at, last=True)
    unidentified = device in table.settings.identify
    table.set_condition(device, replace(table.condition(device), unidentified=unidentified))


def closed(table: Table, seen: LinkClosed) -> None:
    device, was = seen.device, replace(table.condition(seen.device), unidentified=False)
    if device is Device.SHOE and table.state.phase in AT_THE_TABLE:
        record = table.record
        table.set_record(replace(record, continuity=replace(record.continuity, away=record.last_id)))
    table.set_condition(device, replace(was, link=Link.OFFLINE, reason=seen.reason))
    if (was.link, was.reason) != (Link.OFFLINE, seen.reason):
        floods.link(table, seen.at, events.DeviceOffline(device=device, port=table.port(device), reason=seen.reason))


def heard(table: Table, seen: Reported | FrameRejected) -> None:
    was = table.condition(seen.device)
    table.set_condition(seen.device, replace(was, heard_utc_us=seen.last_byte.utc_us))
    if isinstance(seen, Reported):
        floods.heard(table, seen.device)
    if isinstance(seen, Reported) and was.unidentified:
        online(table, seen.device, seen.at)


def online(table: Table, device: Device, at: Now) -> None:
    was = table.condition(device)
    table.set_condition(device, replace(was, link=Link.ONLINE, reason="", unidentified=False))
    floods.link(table, at, events.DeviceOnline(device=device, port=table.port(device)))


def device(table: Table, seen: Identified | FaultRaised | FaultCleared | LockChanged | PresetChanged) -> None:
    device, was = seen.device, table.condition(seen.device)
    match seen:
        case Identified():
            identified(table, seen)
        case FaultRaised(code=code, name=name, blocking=blocking, meaning=meaning):
            others = [each for each in known(was) if each.code != code]
            standing = (*others, FaultStanding(code, name, blocking, meaning))
            table.set_condition(device, at_fault(was, standing))
            table.emit(seen.at, events.DeviceFault(device=device, code=code, name=name, blocking=blocking))
        case FaultCleared(code=code, name=name):
            # The code proves nothing of the other faults, unless the device states all of them.
            others = [] if was.standing is None else [each for each in was.standing if each.code != code]
            table.set_condition(device, at_fault(was, tuple(others)))
            table.emit(seen.at, events.DeviceCleared(device=device, code=code, name=name))
            for each in others[-1:]:  # it is shown from now on
                table.emit(
                    seen.at, events.DeviceFault(device=device, code=each.code, name=each.name, blocking=each.blocking)
                )
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


def identified(table: Table, seen: Identified) -> None:
    told = events.DeviceIdentified(
        device=seen.device,
        vendor=seen.vendor,
        model=seen.model,
        serial=seen.serial,
        firmware=seen.firmware,
        protocol=seen.protocol,
        capabilities=UNSET if seen.capabilities is None else seen.capabilities,
    )
    table.emit(seen.at, told)


def known(was: Condition) -> tuple[FaultStanding, ...]:
    """The faults that stand, as far as they are known; the one that is shown is the last."""
    if was.standing is not None:
        return was.standing
    shown = was.fault
    return () if shown is None else (FaultStanding(shown.code, shown.name, shown.blocking, was.meaning),)


def at_fault(was: Condition, standing: tuple[FaultStanding, ...]) -> Condition:
    shown = standing[-1] if standing else None
    return replace(
        was,
        fault=None if shown is None else Fault(shown.code, shown.name, shown.blocking),
        meaning=None if shown is None else shown.meaning,
        standing=None if was.standing is None else standing,
    )


def differences(table: Table, seen: DeviceStatus) -> list[FaultRaised | FaultCleared | LockChanged]:
    """The reports that would have given this state: they were lost, or the device never made them."""
    was = table.condition(seen.device)
    before, after = known(was), {each.code: each for each in seen.faults}
    table.set_condition(seen.device, replace(was, standing=before))
    at, device, frame = seen.at, seen.device, seen.frame
    gone = [each for each in before if each.code not in after]
    new = [each for each in after.values() if each not in before]
    locked = bool(seen.locked)  # a device without a lock is not locked
    return [
        *([] if locked is was.locked else [LockChanged(at=at, device=device, frame=frame, locked=locked)]),
        *[FaultCleared(at=at, device=device, frame=frame, code=each.code, name=each.name) for each in gone],
        *[FaultRaised(at=at, device=device, frame=frame, **asdict(each)) for each in new],
    ]


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
