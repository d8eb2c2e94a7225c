"""The published state of the lines and devices of a table. Cards and rounds are not decided here."""

from typing import Final, assert_never

from msgspec import UNSET
from msgspec.structs import asdict, replace

from shoed.model import device_events as events
from shoed.model.moments import Now, rfc3339
from shoed.model.observations import (
    Continuity,
    Device,
    DeviceStatus,
    DoubtEnded,
    DoubtRaised,
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
from shoed.table.question_events import ask
from shoed.table.rounds import abandon
from shoed.table.state import Condition, Doubted, LinkStatus, RaisedFault, RejectionTally

REJECTIONS_COUNTED_NS: Final = 10_000_000_000  # contract: the first at once, then counted per 10 s


def continuity(table: Table, seen: Resumed | SequenceJumped | SequenceClashed) -> None:
    match seen:
        case Resumed(expected=""):
            pass  # `device/offline` has published the absence
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
            ask(table, seen.at)  # the choices of an open question may have changed


def link(table: Table, seen: LinkOpened | LinkClosed | WentQuiet | HeardAgain | DoubtRaised | DoubtEnded) -> None:
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
            if was.link is not LinkStatus.QUIET:  # QUIET already: noise on the line of an unidentified device
                table.set_condition(device, replace(was, link=LinkStatus.QUIET))
                table.emit(seen.at, events.DeviceQuiet(device=device, port=port, since=rfc3339(seen.since.utc_us)))
        case LinkClosed():
            closed(table, seen)
        case DoubtRaised() | DoubtEnded():
            doubt(table, seen)
        case _:
            assert_never(seen)


def end_doubts(table: Table, device: Device, now: Now) -> None:
    """End the doubts: they concern the device that was on the line before."""
    was = table.condition(device)
    table.set_condition(device, replace(was, doubts=()))
    for each in was.doubts:
        table.emit(now, events.DeviceTrusted(device=device, reason=each.reason))


def doubt(table: Table, seen: DoubtRaised | DoubtEnded) -> None:
    device, reason = seen.device, seen.reason
    was = table.condition(device)
    doubts = tuple(each for each in was.doubts if each.reason is not reason)
    match seen:
        case DoubtRaised(detail=detail):
            doubts += (Doubted(reason, detail),)
            table.emit(seen.at, events.DeviceDoubted(device=device, reason=reason, detail=detail))
        case DoubtEnded():
            table.emit(seen.at, events.DeviceTrusted(device=device, reason=reason))
        case _:
            assert_never(seen)
    table.set_condition(device, replace(was, doubts=doubts))


def opened(table: Table, device: Device, at: Now) -> None:
    # Publish the counts of the earlier line: after a new boot their windows have no valid clock.
    publish_rejections_of(table, device, at, last=True)
    unidentified = device in table.settings.identify
    table.set_condition(device, replace(table.condition(device), unidentified=unidentified))


def closed(table: Table, seen: LinkClosed) -> None:
    device, was = seen.device, replace(table.condition(seen.device), unidentified=False)
    if device is Device.SHOE and table.state.phase in AT_THE_TABLE:
        record = table.record
        table.set_record(replace(record, continuity=replace(record.continuity, away=record.last_id)))
    table.set_condition(device, replace(was, link=LinkStatus.OFFLINE, reason=seen.reason))
    if (was.link, was.reason) != (LinkStatus.OFFLINE, seen.reason):
        floods.publish_or_count_link(
            table, seen.at, events.DeviceOffline(device=device, port=table.port(device), reason=seen.reason)
        )


def note_arrival(table: Table, seen: Reported | FrameRejected) -> None:
    was = table.condition(seen.device)
    table.set_condition(seen.device, replace(was, heard_utc_us=seen.last_byte.utc_us))
    if isinstance(seen, Reported):
        floods.end_flaps(table, seen.device)
    if isinstance(seen, Reported) and was.unidentified:
        online(table, seen.device, seen.at)


def online(table: Table, device: Device, at: Now) -> None:
    was = table.condition(device)
    table.set_condition(device, replace(was, link=LinkStatus.ONLINE, reason="", unidentified=False))
    floods.publish_or_count_link(table, at, events.DeviceOnline(device=device, port=table.port(device)))


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
            # Without a list of all faults from the device, the other faults are unknown.
            others = [] if was.standing is None else [each for each in was.standing if each.code != code]
            table.set_condition(device, at_fault(was, tuple(others)))
            table.emit(seen.at, events.DeviceCleared(device=device, code=code, name=name))
            for each in others[-1:]:  # the state shows this fault from now on
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
    event = events.DeviceIdentified(
        device=seen.device,
        vendor=seen.vendor,
        model=seen.model,
        serial=seen.serial,
        firmware=seen.firmware,
        protocol=seen.protocol,
        capabilities=UNSET if seen.capabilities is None else seen.capabilities,
    )
    table.emit(seen.at, event)


def known(was: Condition) -> tuple[FaultStanding, ...]:
    """The present faults, as far as they are known. The last one is the fault that the state shows."""
    if was.standing is not None:
        return was.standing
    shown = was.fault
    return () if shown is None else (FaultStanding(shown.code, shown.name, shown.blocking, was.meaning),)


def at_fault(was: Condition, standing: tuple[FaultStanding, ...]) -> Condition:
    shown = standing[-1] if standing else None
    return replace(
        was,
        fault=None if shown is None else RaisedFault(shown.code, shown.name, shown.blocking),
        meaning=None if shown is None else shown.meaning,
        standing=None if was.standing is None else standing,
    )


def differences(table: Table, seen: DeviceStatus) -> list[FaultRaised | FaultCleared | LockChanged]:
    """The reports that lead to this state. The device did not send them, or they were lost."""
    was = table.condition(seen.device)
    before, after = known(was), {each.code: each for each in seen.faults}
    table.set_condition(seen.device, replace(was, standing=before))
    at, device, frame = seen.at, seen.device, seen.frame
    cleared = [each for each in before if each.code not in after]
    raised = [each for each in after.values() if each not in before]
    locked = bool(seen.locked)  # a device without a lock is not locked
    return [
        *([] if locked is was.locked else [LockChanged(at=at, device=device, frame=frame, locked=locked)]),
        *[FaultCleared(at=at, device=device, frame=frame, code=each.code, name=each.name) for each in cleared],
        *[FaultRaised(at=at, device=device, frame=frame, **asdict(each)) for each in raised],
    ]


# --- rejected frames: the first for each reason at once, then counted


def rejected(table: Table, seen: FrameRejected) -> None:
    device, was = seen.device, table.condition(seen.device)
    counting = next((each for each in was.rejections if each.reason == seen.reason), None)
    event = events.LineRejected(
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
        table.emit(seen.at, event)
        after = RejectionTally(seen.reason, seen.at.mono_ns + REJECTIONS_COUNTED_NS)
    else:
        if (before := counting.counted) is not None:
            event = replace(
                event,
                count=before.count + event.count,
                size=before.size + event.size,
                unkept=before.unkept + event.unkept,
            )
        after = replace(counting, counted=event)
    others = tuple([each for each in was.rejections if each is not counting])
    table.set_condition(device, replace(was, rejections=(*others, after)))


def publish_rejections(table: Table, now: Now) -> None:
    for device in Device:
        if any(now.mono_ns >= each.until for each in table.condition(device).rejections):
            publish_rejections_of(table, device, now)


def publish_rejections_of(table: Table, device: Device, now: Now, *, last: bool = False) -> None:
    """Publish the counts of the windows that are over; `last`: of all windows, because the line opens again."""
    was = table.condition(device)
    due = [each for each in was.rejections if last or now.mono_ns >= each.until]
    counted = [each.counted for each in due if each.counted is not None]
    waiting = [each for each in was.rejections if each not in due]
    if not last:
        waiting += [RejectionTally(each.reason, now.mono_ns + REJECTIONS_COUNTED_NS) for each in counted]
    table.set_condition(device, replace(was, rejections=tuple(waiting)))
    for each in counted:
        table.emit(now, each)
