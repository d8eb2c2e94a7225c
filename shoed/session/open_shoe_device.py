"""An Open Shoe, shoe or shuffler, in the role of the device: the other end of `open_shoe`.

Theory of operation: a fold like the host's. `say` numbers a report and keeps it, `hear` takes what
came from a host and lets time pass, `opened` greets whoever opened the line; each gives the bytes
that go out now. The shell draws the first stream's id at random; the id of a further one follows
from it and the clock. What the device has said is its state, too: locked after LOCK, at fault after
FAULT. What it does not hear it answers with nothing. In version 3 its clock counts from its power-up, which
`powered` begins; a device that keeps its memory counts its power-ups there.
"""

from collections.abc import Mapping
from dataclasses import replace as dataclass_replace
from struct import pack
from typing import Final, NamedTuple, assert_never
from zlib import crc32

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings, build, orders
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FAULTS, MOST_STANDING, VERSION_3
from shoed import wire
from shoed.now import Chunk, Now
from shoed.session import open_shoe_stream as stream
from shoed.session.open_shoe_stream import BOOTS, NS_PER_MS, Store
from shoed.wire import Frame, LineState

ALIVE_NS: Final = 10_000 * NS_PER_MS
DRIFT_PPM: Final = 50  # of an ordinary crystal
CODES: Final = {each.name: each.number for each in FAULTS}
MEMORY_FULL: Final = CODES[theirs.Fault.MEMORY_FULL]
ABLE: Final[Mapping[theirs.Role, theirs.Capability]] = {
    theirs.Role.SHOE: theirs.Capability.PASSAGE | theirs.Capability.LOCK | theirs.Capability.CLEAR,
    theirs.Role.SHUFFLER: theirs.Capability.CLEAR,
}
STANDING: Final = {CODES[theirs.Fault.LID_OPEN], CODES[theirs.Fault.DOOR_OPEN]}  # no order shuts them


class Identity(NamedTuple):
    vendor: str = ""
    model: str = ""
    serial: str = ""
    firmware: str = ""
    capabilities: theirs.Capability | None = None  # which version 3 states; None: those of an ordinary device


NOBODY: Final = Identity()


class Replies(NamedTuple):
    """How the device answers orders; without settings as its state demands."""

    silent: bool = False
    result: theirs.Result | None = None  # of every order; where it is not the true one, nothing changes
    reports: bool = True  # an order that changed something is followed by its report


AS_IT_IS: Final = Replies()


class DeviceState(msgspec.Struct, frozen=True):
    store: Store
    line: LineState = LineState()
    clock_us: int = 0  # of the last report: it never goes back
    began_us: int = 0  # when the clock began
    said_ns: int = 0
    locked: bool = False
    set_id: str = ""  # of the set in it
    faults: tuple[theirs.FaultChanged, ...] = ()  # that stand


class OpenShoeDevice:
    def __init__(
        self,
        settings: OpenShoeSettings,
        *,
        version: int = 1,
        room: int = 1024,
        identity: Identity = NOBODY,
        replies: Replies = AS_IT_IS,
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
        return DeviceState(Store(stream_id, self.version, self.room))

    def powered(self, state: DeviceState, now: Now, boot: int | None = None) -> DeviceState:
        """The power comes. A device without a `boot` from the shell keeps its memory and counts its power-ups there."""
        if not self.states:
            return replace(state, line=LineState())
        boot = (state.store.boot + 1) % BOOTS if boot is None else boot
        began_us = now.mono_ns // 1000
        store = replace(state.store, boot=boot)
        return replace(state, store=store, line=LineState(), clock_us=0, began_us=began_us)

    def opened(self, state: DeviceState, now: Now) -> tuple[DeviceState, bytes]:
        """Greet whoever opened the line."""
        saying = Saying(self, replace(state, line=LineState()), now)
        saying.hello()
        return saying.done()

    def say(self, state: DeviceState, said: theirs.Reported, now: Now) -> tuple[DeviceState, bytes]:
        saying = Saying(self, state, now)
        saying.report(said)
        return saying.done()

    def hear(self, state: DeviceState, chunk: Chunk) -> tuple[DeviceState, bytes]:
        """What the device says to the bytes of a host; an empty chunk only lets time pass."""
        line, found = wire.receive(self.orders, state.line, chunk)
        saying = Saying(self, replace(state, line=line), chunk.at)
        for each in found:
            if isinstance(each, Frame):
                saying.answer(each.message.said)
        saying.pass_time()
        return saying.done()

    def wake_at(self, state: DeviceState) -> int:
        torn_at = wire.wake_at(self.orders, state.line)
        moments = (torn_at, state.store.repeat_ns, state.said_ns + ALIVE_NS)
        return min(moment for moment in moments if moment is not None)


class Saying:
    """One step in progress: the state so far, and what goes out in it."""

    def __init__(self, device: OpenShoeDevice, state: DeviceState, now: Now) -> None:
        self.device = device
        self.state = state
        self.now = now
        self.out: list[bytes] = []

    def done(self) -> tuple[DeviceState, bytes]:
        if self.out:
            self.state = replace(self.state, said_ns=self.now.mono_ns)
        return self.state, b"".join(self.out)

    def notice(self, said: theirs.Noticed) -> None:
        self.out.append(build(theirs.Notice(self.device.version, said)))

    def hello(self) -> None:
        store, device = self.state.store, self.device
        vendor, model, serial, firmware, _ = device.identity
        said = theirs.Hello(store.stream, device.role, store.next, store.oldest, vendor, model, serial, firmware)
        if device.states:
            said = dataclass_replace(
                said, boot=store.boot, clock_us=self.clock_us, drift_ppm=DRIFT_PPM, capabilities=device.capabilities
            )
        self.notice(said)

    @property
    def clock_us(self) -> int:
        return self.now.mono_ns // 1000 - self.state.began_us

    def sent(self, kept: tuple[Store, tuple[theirs.Report, ...]] | None) -> None:
        """None: it fits nothing that is kept."""
        if kept is None:
            self.hello()
            return
        store, reports = kept
        self.state = replace(self.state, store=store)
        self.out += map(build, reports)

    def report(self, said: theirs.Reported) -> None:
        passage_us = said.passage_us if isinstance(said, theirs.Card) else 0
        clock_us = max(self.clock_us - passage_us, self.state.clock_us)
        self.state = replace(effected(self.state, said), clock_us=clock_us)
        self.sent(stream.keep(self.state.store, said, clock_us, self.now.mono_ns))

    def answer(self, said: theirs.Requested) -> None:
        match said:
            case theirs.Identify():
                self.hello()
            case theirs.Acknowledge():
                self.sent(stream.forget(self.state.store, said, self.now.mono_ns))
                if self.state.store.ended:
                    self.begin_anew()
            case theirs.Resend():
                self.sent(stream.again(self.state.store, said, self.now.mono_ns))
            case theirs.Order():
                self.obey(said)
            case theirs.Inquire():
                self.inquired()
            case theirs.Challenge() | theirs.HostSealed():
                pass  # this device has no key
            case _:
                assert_never(said)

    def begin_anew(self) -> None:
        """Reports were lost, and all that were kept are acknowledged: the loss has its place here."""
        store = self.state.store
        following = crc32(pack(">IQ", store.stream, self.now.mono_ns // 1000))
        began = Store(following, store.version, store.room, boot=store.boot)
        self.state = replace(self.state, store=began, clock_us=0)
        self.hello()
        for raised in (True, False):
            self.report(theirs.FaultChanged(MEMORY_FULL, raised, blocking=False))
        if self.device.states:
            self.report(self.status())
            return
        if self.device.role is theirs.Role.SHOE:
            self.report(theirs.Lock(self.state.locked))
        for fault in self.state.faults:
            self.report(fault)

    def status(self) -> theirs.Status:
        state, has_lock = self.state, self.device.role is theirs.Role.SHOE
        faults = tuple(theirs.Standing(each.code, each.blocking) for each in state.faults[-MOST_STANDING:])
        return theirs.Status(state.locked if has_lock else None, state.set_id, faults)

    def inquired(self) -> None:
        """The whole state, unless the newest report has it already, or there is no room: nothing is lost by INQUIRE."""
        store = self.state.store
        newest = store.kept[-1] if store.kept else None
        known = newest is not None and isinstance(newest.said, theirs.Status) and newest.boot == store.boot
        if self.device.states and not known and not store.full and len(store.kept) < store.room:
            self.report(self.status())

    def obey(self, order: theirs.Order) -> None:
        result, effect = self.executed(order)
        replies = self.device.replies
        if replies.result is not None and replies.result is not result:
            result, effect = replies.result, None
        if not replies.silent:
            self.notice(theirs.Done(order.order, order.number, result))
        if effect is not None and replies.reports:
            self.report(effect)
        elif effect is not None:
            self.state = effected(self.state, effect)

    def executed(self, order: theirs.Order) -> tuple[theirs.Result, theirs.Reported | None]:
        """The result of the order, and the report of what it changed."""
        match order.order:
            case theirs.OrderKind.LOCK | theirs.OrderKind.UNLOCK:
                locked = order.order is theirs.OrderKind.LOCK
                if theirs.Capability.LOCK not in self.device.capabilities:
                    return theirs.Result.UNABLE, None
                return theirs.Result.DONE, theirs.Lock(locked) if locked is not self.state.locked else None
            case theirs.OrderKind.CLEAR:
                if theirs.Capability.CLEAR not in self.device.capabilities:
                    return theirs.Result.UNABLE, None
                if order.number not in {each.code for each in self.state.faults}:
                    return theirs.Result.DONE, None
                if order.number in STANDING:
                    return theirs.Result.NOT_NOW, None
                return theirs.Result.DONE, theirs.FaultChanged(order.number, raised=False, blocking=False)
            case _:
                assert_never(order.order)

    def pass_time(self) -> None:
        now_ns = self.now.mono_ns
        self.sent(stream.repeat(self.state.store, now_ns))
        if not self.out and now_ns >= self.state.said_ns + ALIVE_NS:
            store = self.state.store
            alive = theirs.Alive(store.stream, store.next)
            if self.device.states:
                alive = dataclass_replace(alive, boot=store.boot, clock_us=self.clock_us)
            self.notice(alive)


def effected(state: DeviceState, said: theirs.Reported) -> DeviceState:
    match said:
        case theirs.Lock(locked=locked):
            return replace(state, locked=locked)
        case theirs.FaultChanged(code=code, raised=raised):
            others = tuple(each for each in state.faults if each.code != code)
            return replace(state, faults=(*others, said) if raised else others)
        case theirs.Loaded(set_id=set_id) | theirs.Recognised(set_id=set_id):
            return replace(state, set_id=set_id)
        case theirs.Empty() | theirs.Delivered():
            return replace(state, set_id="")
        case _:
            return state
