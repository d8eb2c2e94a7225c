"""The device side of the Open Shoe protocol, for a shoe and for a shuffler.

Theory of operation: a fold, as the host's session is. `say` numbers a report and keeps it. `hear` processes the bytes
of a host and the time that passed. `opened` sends HELLO on a new line. Each of the three returns the bytes to send now.
The caller chooses the id of the first stream at random. The id of a further stream is computed from the previous id and
the clock. The reports change the state of the device: LOCK locks the exit, FAULT makes a fault active. The device sends
no answer to bytes without a valid request. `powered` begins a power-up. In version 3 the clock counts from the
power-up. A device with a persistent memory counts its power-ups in that memory.
"""

from collections.abc import Mapping
from dataclasses import replace as dataclass_replace
from struct import pack
from typing import Final, NamedTuple, assert_never
from zlib import crc32

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings, build, messages, orders
from firmware_protocols.open_shoe.layout import FAULTS, MOST_STANDING, VERSION_3
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.session import open_shoe_stream as stream
from shoed.session.open_shoe_stream import BOOTS, NS_PER_MS, DeviceStore
from shoed.wire import Frame, LineState

ALIVE_NS: Final = 10_000 * NS_PER_MS
DRIFT_PPM: Final = 50  # of an ordinary crystal
CODES: Final = {each.name: each.number for each in FAULTS}
MEMORY_FULL: Final = CODES[messages.OpenShoeFault.MEMORY_FULL]
ABLE: Final[Mapping[messages.OpenShoeRole, messages.OpenShoeCapability]] = {
    messages.OpenShoeRole.SHOE: messages.OpenShoeCapability.PASSAGE
    | messages.OpenShoeCapability.LOCK
    | messages.OpenShoeCapability.CLEAR,
    messages.OpenShoeRole.SHUFFLER: messages.OpenShoeCapability.CLEAR,
}
# No order closes a lid or a door.
STANDING: Final = {CODES[messages.OpenShoeFault.LID_OPEN], CODES[messages.OpenShoeFault.DOOR_OPEN]}


class OpenShoeIdentity(NamedTuple):
    vendor: str = ""
    model: str = ""
    serial: str = ""
    firmware: str = ""
    capabilities: messages.OpenShoeCapability | None = None  # in HELLO of version 3; None: those of an ordinary device


UNNAMED: Final = OpenShoeIdentity()


class OpenShoeReplies(NamedTuple):
    """How the device answers orders; by default, as its state requires."""

    silent: bool = False
    result: messages.OpenShoeResult | None = None  # of every order; a false result changes nothing
    reports: bool = True  # the report of the change follows the order


AS_IT_IS: Final = OpenShoeReplies()


class DeviceState(msgspec.Struct, frozen=True):
    store: DeviceStore
    line: LineState = LineState()
    clock_us: int = 0  # of the last report: a clock never goes back
    began_us: int = 0  # the moment at which the clock began
    sent_ns: int = 0
    locked: bool = False
    set_id: str = ""  # of the set in the device
    faults: tuple[messages.FaultChanged, ...] = ()  # the active faults


class OpenShoeDeviceSession:
    def __init__(
        self,
        settings: OpenShoeSettings,
        *,
        version: int = 1,
        room: int = 1024,
        identity: OpenShoeIdentity = UNNAMED,
        replies: OpenShoeReplies = AS_IT_IS,
    ) -> None:
        self.replies = replies
        self.role = settings.role
        able = identity.capabilities
        self.capabilities = ABLE[self.role] if able is None else able
        self.version = version
        self.room = room
        self.identity = identity
        self.orders = orders(settings)

    @property
    def states(self) -> bool:
        return self.version >= VERSION_3

    def begin(self, stream_id: int) -> DeviceState:
        return DeviceState(DeviceStore(stream_id, self.version, self.room))

    def powered(self, state: DeviceState, now: Now, boot: int | None = None) -> DeviceState:
        """Begin a power-up. Without `boot` the device has a persistent memory and counts the power-up there."""
        if not self.states:
            return replace(state, line=LineState())
        boot = (state.store.boot + 1) % BOOTS if boot is None else boot
        began_us = now.mono_ns // 1000
        store = replace(state.store, boot=boot)
        return replace(state, store=store, line=LineState(), clock_us=0, began_us=began_us)

    def opened(self, state: DeviceState, now: Now) -> tuple[DeviceState, bytes]:
        """Send HELLO on a new line."""
        step = DeviceStep(self, replace(state, line=LineState()), now)
        step.hello()
        return step.done()

    def say(self, state: DeviceState, body: messages.ReportBody, now: Now) -> tuple[DeviceState, bytes]:
        step = DeviceStep(self, state, now)
        step.report(body)
        return step.done()

    def hear(self, state: DeviceState, chunk: Chunk) -> tuple[DeviceState, bytes]:
        """Return the answer to the bytes of a host. An empty chunk has only the present time."""
        line, found = wire.receive(self.orders, state.line, chunk)
        step = DeviceStep(self, replace(state, line=line), chunk.at)
        for each in found:
            if isinstance(each, Frame):
                step.answer(each.message.body)
        step.pass_time()
        return step.done()

    def wake_at(self, state: DeviceState) -> int:
        torn_at = wire.wake_at(self.orders, state.line)
        moments = (torn_at, state.store.repeat_ns, state.sent_ns + ALIVE_NS)
        return min(moment for moment in moments if moment is not None)


class DeviceStep:
    """One step in progress: the present state, and the frames that the step sends."""

    def __init__(self, device: OpenShoeDeviceSession, state: DeviceState, now: Now) -> None:
        self.device = device
        self.state = state
        self.now = now
        self.out: list[bytes] = []

    def done(self) -> tuple[DeviceState, bytes]:
        if self.out:
            self.state = replace(self.state, sent_ns=self.now.mono_ns)
        return self.state, b"".join(self.out)

    def notice(self, body: messages.Noticed) -> None:
        self.out.append(build(messages.OpenShoeNotice(self.device.version, body)))

    def hello(self) -> None:
        store, device = self.state.store, self.device
        vendor, model, serial, firmware, _ = device.identity
        body = messages.Hello(store.stream, device.role, store.next, store.oldest, vendor, model, serial, firmware)
        if device.states:
            body = dataclass_replace(
                body, boot=store.boot, clock_us=self.clock_us, drift_ppm=DRIFT_PPM, capabilities=device.capabilities
            )
        self.notice(body)

    @property
    def clock_us(self) -> int:
        return self.now.mono_ns // 1000 - self.state.began_us

    def sent(self, kept: tuple[DeviceStore, tuple[messages.OpenShoeReport, ...]] | None) -> None:
        """Send these reports; None: the request does not match the kept reports, so send HELLO."""
        if kept is None:
            self.hello()
            return
        store, reports = kept
        self.state = replace(self.state, store=store)
        self.out += map(build, reports)

    def report(self, body: messages.ReportBody) -> None:
        passage_us = body.passage_us if isinstance(body, messages.OpenShoeCard) else 0
        clock_us = max(self.clock_us - passage_us, self.state.clock_us)
        self.state = replace(effected(self.state, body), clock_us=clock_us)
        self.sent(stream.keep(self.state.store, body, clock_us, self.now.mono_ns))

    def answer(self, body: messages.Requested) -> None:
        match body:
            case messages.Identify():
                self.hello()
            case messages.OpenShoeAcknowledge():
                self.sent(stream.drop_acknowledged(self.state.store, body, self.now.mono_ns))
                if self.state.store.ended:
                    self.begin_stream()
            case messages.Resend():
                self.sent(stream.repeat_reports(self.state.store, body, self.now.mono_ns))
            case messages.OpenShoeOrder():
                self.answer_order(body)
            case messages.Inquire():
                self.send_status()
            case messages.Challenge() | messages.HostSealed():
                pass  # this device has no key
            case _:
                assert_never(body)

    def begin_stream(self) -> None:
        """Begin a new stream after a loss of reports, when all kept reports are acknowledged."""
        store = self.state.store
        following = crc32(pack(">IQ", store.stream, self.now.mono_ns // 1000))
        began = DeviceStore(following, store.version, store.room, boot=store.boot)
        self.state = replace(self.state, store=began, clock_us=0)
        self.hello()
        for raised in (True, False):
            self.report(messages.FaultChanged(MEMORY_FULL, raised, blocking=False))
        if self.device.states:
            self.report(self.status())
            return
        if self.device.role is messages.OpenShoeRole.SHOE:
            self.report(messages.Lock(self.state.locked))
        for fault in self.state.faults:
            self.report(fault)

    def status(self) -> messages.OpenShoeStatus:
        state, has_lock = self.state, self.device.role is messages.OpenShoeRole.SHOE
        faults = tuple(
            messages.OpenShoeStandingFault(each.code, each.blocking) for each in state.faults[-MOST_STANDING:]
        )
        return messages.OpenShoeStatus(state.locked if has_lock else None, state.set_id, faults)

    def send_status(self) -> None:
        """Report the whole state, unless the newest report has it or the memory is full: INQUIRE causes no loss."""
        store = self.state.store
        newest = store.kept[-1] if store.kept else None
        known = newest is not None and isinstance(newest.body, messages.OpenShoeStatus) and newest.boot == store.boot
        if self.device.states and not known and not store.full and len(store.kept) < store.room:
            self.report(self.status())

    def answer_order(self, order: messages.OpenShoeOrder) -> None:
        result, effect = self.executed(order)
        replies = self.device.replies
        if replies.result is not None and replies.result is not result:
            result, effect = replies.result, None
        if not replies.silent:
            self.notice(messages.Done(order.order, order.number, result))
        if effect is not None and replies.reports:
            self.report(effect)
        elif effect is not None:
            self.state = effected(self.state, effect)

    def executed(self, order: messages.OpenShoeOrder) -> tuple[messages.OpenShoeResult, messages.ReportBody | None]:
        """The result of the order, and the report of the change."""
        match order.order:
            case messages.OrderKind.LOCK | messages.OrderKind.UNLOCK:
                locked = order.order is messages.OrderKind.LOCK
                if messages.OpenShoeCapability.LOCK not in self.device.capabilities:
                    return messages.OpenShoeResult.UNABLE, None
                return messages.OpenShoeResult.DONE, messages.Lock(locked) if locked is not self.state.locked else None
            case messages.OrderKind.CLEAR:
                if messages.OpenShoeCapability.CLEAR not in self.device.capabilities:
                    return messages.OpenShoeResult.UNABLE, None
                if order.number not in {each.code for each in self.state.faults}:
                    return messages.OpenShoeResult.DONE, None
                if order.number in STANDING:
                    return messages.OpenShoeResult.NOT_NOW, None
                return messages.OpenShoeResult.DONE, messages.FaultChanged(order.number, raised=False, blocking=False)
            case _:
                assert_never(order.order)

    def pass_time(self) -> None:
        now_ns = self.now.mono_ns
        self.sent(stream.repeat(self.state.store, now_ns))
        if not self.out and now_ns >= self.state.sent_ns + ALIVE_NS:
            store = self.state.store
            alive = messages.Alive(store.stream, store.next)
            if self.device.states:
                alive = dataclass_replace(alive, boot=store.boot, clock_us=self.clock_us)
            self.notice(alive)


def effected(state: DeviceState, body: messages.ReportBody) -> DeviceState:
    match body:
        case messages.Lock(locked=locked):
            return replace(state, locked=locked)
        case messages.FaultChanged(code=code, raised=raised):
            others = tuple(each for each in state.faults if each.code != code)
            return replace(state, faults=(*others, body) if raised else others)
        case messages.Loaded(set_id=set_id) | messages.Recognised(set_id=set_id):
            return replace(state, set_id=set_id)
        case messages.Empty() | messages.Delivered():
            return replace(state, set_id="")
        case _:
            return state
