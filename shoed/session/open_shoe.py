"""An Open Shoe, shoe or shuffler, seen from the host.

Theory of operation: the device keeps each report until it is acknowledged, and `open_shoe_stream`
takes the number that is due alone, so that each comes out once and in order. An acknowledgement is
a send of the Step that took the report, and so it waits for the commit. HELLO alone begins a
stream: it proves that nothing was missed, or does not. Reports that were taken and that HELLO names
are compared first: a device may number its reports again under the same stream. A host that only
listens says nothing, takes what comes, and has the gaps on record. From version 3 on, a device is asked
for its whole state where a change of it may have been missed: on a new line, and after each restart.
"""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import VERSION_3, VERSIONS
from firmware_protocols.open_shoe.settings import Acknowledging
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    Capability,
    Continuity,
    CopyHeard,
    DeviceDoubt,
    DeviceDoubted,
    DeviceTrusted,
    Drawn,
    Evidence,
    FrameRejected,
    Identified,
    OrderAnswered,
    Resumed,
    SequenceJumped,
)
from shoed.session import Heard, link
from shoed.session import open_shoe_clock as clocks
from shoed.session import open_shoe_doubts as doubts
from shoed.session import open_shoe_stream as stream
from shoed.session.asking import NOT_OURS, Asking, AskingState
from shoed.session.open_shoe_clock import Anchor, Arrival
from shoed.session.open_shoe_doubts import Repeated, Ticked
from shoed.session.open_shoe_stream import Intake, Repeat
from shoed.session.open_shoe_words import CAPABILITIES, Counted, continued, delivered, observation, status
from shoed.step import AnyInput, Configured, DeviceOrder, DeviceOrderKind, LinkUp
from shoed.wire import Frame

ORDERS: Final[Mapping[DeviceOrderKind, theirs.OrderKind]] = {
    DeviceOrderKind.LOCK: theirs.OrderKind.LOCK,
    DeviceOrderKind.UNLOCK: theirs.OrderKind.UNLOCK,
    DeviceOrderKind.CLEAR_FAULT: theirs.OrderKind.CLEAR,
}
OURS: Final = {order: kind for kind, order in ORDERS.items()}
HIGHEST_FAULT: Final = 255
NEEDS: Final[Mapping[theirs.OrderKind, Capability]] = {
    theirs.OrderKind.LOCK: Capability.LOCK,
    theirs.OrderKind.UNLOCK: Capability.LOCK,
    theirs.OrderKind.CLEAR: Capability.CLEAR,
}
CANNOT: Final[Mapping[Capability, str]] = {
    Capability.LOCK: "no order locks or unlocks the exit of this device; lock or unlock it by hand",
    Capability.CLEAR: "no order clears the faults of this device; clear the fault at the device",
}
LISTENS: Final = "this host only listens (acknowledge = no); operate the device by hand"

# What only one of the two says.
ROLES: Final[Mapping[type, theirs.Role]] = {
    **dict.fromkeys(
        (theirs.Card, theirs.CuttingCard, theirs.Loaded, theirs.Empty, theirs.Lock),
        theirs.Role.SHOE,
    ),
    **dict.fromkeys(
        (
            theirs.Recognised,
            theirs.Shuffling,
            theirs.Shuffled,
            theirs.Failed,
            theirs.Inventory,
            theirs.Delivered,
            theirs.CardOrder,
        ),
        theirs.Role.SHUFFLER,
    ),
}

SETS: Final = 4  # a shuffler works at two; what was never delivered is not kept for ever


class OpenShoeState(AskingState, frozen=True):
    intake: Intake = Intake()
    version: int = min(VERSIONS)  # that the device was last heard to speak
    sets: dict[str, Counted] = msgspec.field(default_factory=dict)
    doubts: tuple[DeviceDoubt, ...] = ()  # that stand
    repeated: Repeated | None = None
    ticked: Ticked | None = None  # the last report, if it arrived as soon as it was made
    prompt_from: int | None = None  # the reports from this number on arrive so; None: not known
    anchors: tuple[Anchor, ...] = ()  # of its clock
    spoke_ns: int | None = None  # when its last frame came
    rejected_ns: int | None = None  # when bytes were rejected last: they may have been a report, which then comes again
    inquired_ns: int | None = None  # when the state of the device was asked for, and has not come
    capabilities: tuple[Capability, ...] | None = None  # None: the device does not state them


class OpenShoeSession:
    state_type = OpenShoeState

    def __init__(self, settings: OpenShoeSettings, *, allow_orders: bool) -> None:
        self.settings = settings
        self.allow_orders = allow_orders
        self.listens = settings.acknowledge is Acknowledging.NO
        self.reports = reports(settings)

    def begin(self) -> OpenShoeState:
        return OpenShoeState()

    def again_ms(self, state: OpenShoeState) -> int:
        """How often something is asked for; where nobody is heard, as seldom as somebody was expected."""
        return self.settings.quiet_after_s * 1000 if state.quiet else self.settings.resend_ms

    def wake_at(self, state: OpenShoeState) -> int | None:
        again_at = stream.wake_at(state.intake, self.again_ms(state))
        stops_at = None
        if state.repeated is not None and DeviceDoubt.IGNORES_ACKNOWLEDGEMENTS in state.doubts:
            stops_at = state.repeated.stops_ns
        inquire_at = self.inquire_at(state)
        return link.wake_at(
            self.reports, state, self.settings.quiet_after_s, state.asked_until, again_at, stops_at, inquire_at
        )

    def inquire_at(self, state: OpenShoeState) -> int | None:
        """When the state of the device is asked for again: not before the device has said who it is."""
        if state.inquired_ns is None or not state.intake.greeted:
            return None
        return state.inquired_ns + self.again_ms(state) * stream.NS_PER_MS

    def step(self, state: OpenShoeState, came: AnyInput, now: Now) -> tuple[OpenShoeState, Heard]:
        hearing = OpenShoeHearing(self, state)
        hearing.take(came, now)
        version = hearing.state.version
        return hearing.state, hearing.outcome(
            *(build(theirs.Request(version, each)) for each in hearing.requests.values())
        )


class OpenShoeHearing(Asking[OpenShoeState, theirs.FromDevice]):
    def __init__(self, session: OpenShoeSession, state: OpenShoeState) -> None:
        settings = session.settings
        super().__init__(
            session.reports,
            settings.quiet_after_s,
            state,
            allow_orders=session.allow_orders,
            order_timeout_ms=settings.order_timeout_ms,
        )
        self.session = session
        # One of a kind: the last acknowledgement stands for all before it.
        self.requests: dict[type[theirs.Requested], theirs.Requested] = {}
        self.before_ns: int | None = None  # when the frame before this one came
        self.drawn: Drawn | None = None  # the card of the report that is taken

    def ask(self, intake: Intake, requests: tuple[theirs.Requested, ...]) -> None:
        if intake is not self.state.intake:
            self.state = replace(self.state, intake=intake)
        for each in requests:
            self.requests[type(each)] = each

    # --- the link

    def take(self, came: AnyInput, now: Now) -> None:
        before = self.state.heard
        super().take(came, now)
        if isinstance(came, Configured) and (before is None or clocks.is_restarted(before, now)):
            self.state = replace(self.state, anchors=())
        if isinstance(came, LinkUp) and not self.session.listens:
            self.ask(*stream.opened(self.state.intake, now.mono_ns))

    def give_up(self, now: Now) -> None:
        super().give_up(now)
        self.ask(replace(self.state.intake, greeted=False, asked_ns=None, power_up=None), ())
        self.state = replace(self.state, doubts=(), repeated=None, ticked=None, prompt_from=None)

    def expire(self, now: Now) -> None:
        super().expire(now)
        intake, asked = stream.wake(self.state.intake, now.mono_ns, self.session.again_ms(self.state))
        self.ask(intake, asked)
        if theirs.Identify() in asked and not set(doubts.UNREADABLE) & set(self.state.doubts):
            self.doubt(now, DeviceDoubt.NO_HELLO, doubts.NO_HELLO)
        due_ns = self.session.inquire_at(self.state)
        if due_ns is not None and now.mono_ns >= due_ns:
            self.inquire(now)
        if self.state.repeated is not None and now.mono_ns >= self.state.repeated.stops_ns:
            self.trust(now, DeviceDoubt.IGNORES_ACKNOWLEDGEMENTS)
        if self.state.quiet:  # reports may wait at the device
            anchors = clocks.away(self.state.anchors, self.state.version)
            self.state = replace(self.state, ticked=None, prompt_from=None, anchors=anchors)

    def said(self, frame: Frame[theirs.FromDevice]) -> None:
        message = frame.message
        self.before_ns = self.state.spoke_ns
        self.state = replace(self.state, spoke_ns=frame.at.mono_ns)
        self.trust(frame.at, DeviceDoubt.UNKNOWN_VERSION)
        if not isinstance(message.said, theirs.Response | theirs.Unkeyed | theirs.Sealed):
            self.trust(frame.at, DeviceDoubt.KEY_NEEDED)
        if message.version != self.state.version:
            self.speaks(message.version)
        if isinstance(message, theirs.Report):
            self.report(frame, message)
            return
        match message.said:
            case theirs.Hello():
                self.hello(frame, message.said)
            case theirs.Alive():
                anchors = clocks.of_alive(self.state.anchors, message.said, message.version, self.arrival(frame))
                self.state = replace(self.state, anchors=anchors)
                if not self.session.listens:
                    self.ask(*stream.alive(self.state.intake, message.said, frame.at.mono_ns))
            case theirs.Done():
                self.done(frame.at, message.said)
            case theirs.Response() | theirs.Unkeyed() | theirs.Sealed():
                self.refuse(frame, Reason.UNKNOWN_COMMAND, doubts.NO_KEY)
                self.trust(frame.at, DeviceDoubt.NO_HELLO)
                self.doubt(frame.at, DeviceDoubt.KEY_NEEDED, doubts.NO_KEY)
            case theirs.OfVendor():
                pass  # the page leaves it to the maker of the device
            case _:
                assert_never(message.said)

    def refuse(self, frame: Frame[theirs.FromDevice], reason: Reason, detail: str) -> None:
        self.reject(frame.raw, frame.offset, frame.at, reason, detail)

    # --- doubts

    def saw(self, observation: AnyObservation) -> None:
        super().saw(observation)
        if isinstance(observation, FrameRejected) and observation.reason == Reason.UNKNOWN_VERSION.value:
            self.trust(observation.at, DeviceDoubt.NO_HELLO)
            self.doubt(observation.at, DeviceDoubt.UNKNOWN_VERSION, observation.detail)

    def doubt(self, at: Now, reason: DeviceDoubt, detail: str) -> None:
        if reason not in self.state.doubts:
            self.state = replace(self.state, doubts=(*self.state.doubts, reason))
            self.saw(DeviceDoubted(at=at, reason=reason, detail=detail))

    def trust(self, at: Now, reason: DeviceDoubt) -> None:
        if reason in self.state.doubts:
            self.state = replace(self.state, doubts=tuple(each for each in self.state.doubts if each is not reason))
            self.saw(DeviceTrusted(at=at, reason=reason))

    def repeated(self, at: Now, report: theirs.Report) -> None:
        repeated = doubts.repeated(self.state.repeated, report.sequence, at.mono_ns)
        self.state = replace(self.state, repeated=repeated)
        if repeated.ignored:
            self.doubt(at, DeviceDoubt.IGNORES_ACKNOWLEDGEMENTS, repeated.ignored)

    def ticked(self, at: Now, report: theirs.Report, before: Intake, verdict: Repeat) -> None:
        """Compare the clocks of two reports of one numbering."""
        ticked = Ticked(report.clock_us, at.mono_ns, report.boot)
        if verdict is Repeat.DUE:
            within_s = self.session.settings.quiet_after_s
            last = before.moment if before.checks else ticked.moment  # nothing was taken of this numbering
            if wrong := doubts.jumped(last, self.state.ticked, ticked, within_s):
                self.doubt(at, DeviceDoubt.CLOCK_JUMPS, wrong)
            else:
                self.trust(at, DeviceDoubt.CLOCK_JUMPS)
        first = self.state.prompt_from
        prompt = first is not None and not stream.earlier(report.sequence, first) and not self.late_ns
        self.state = replace(self.state, ticked=ticked if prompt else None)

    # --- its clock

    def arrival(self, frame: Frame[theirs.FromDevice]) -> Arrival:
        return Arrival(frame.at, len(frame.raw), self.late_ns)

    def clocked(self, frame: Frame[theirs.FromDevice], report: theirs.Report, before: Intake) -> None:
        """Find the moment of a card."""
        doubted = DeviceDoubt.CLOCK_JUMPS in self.state.doubts
        known, arrival, first = () if doubted else self.state.anchors, self.arrival(frame), self.state.prompt_from
        new = first is not None and not stream.earlier(report.sequence, first) and before.asked_ns is None
        prompt = new and clocks.undisturbed(arrival, self.before_ns, self.state.rejected_ns)
        anchors, drawn = clocks.of_report(known, report, before.clock_us, arrival, prompt=prompt)
        self.state = replace(self.state, anchors=anchors)
        self.drawn = None if doubted else drawn

    def reject(  # noqa: PLR0913, PLR0917 -- as the base has it
        self, raw: bytes, offset: int, at: Now, reason: Reason, detail: str, heard: Now | None = None
    ) -> None:
        super().reject(raw, offset, at, reason, detail, heard)
        self.state = replace(self.state, rejected_ns=at.mono_ns)

    # --- the stream

    def hello(self, frame: Frame[theirs.FromDevice], hello: theirs.Hello) -> None:
        role, before = self.session.settings.role, self.state.intake
        self.trust(frame.at, DeviceDoubt.NO_HELLO)
        if hello.role is not role:
            wrong = (
                f"the device says that it is a {hello.role.value}, and it stands as the table's {role.value}; "
                f"connect the {role.value} to this port, or write the port under [table.{hello.role.value}]"
            )
            self.refuse(frame, Reason.WRONG_ROLE, wrong)
            self.doubt(frame.at, DeviceDoubt.WRONG_ROLE, wrong)
            return
        self.trust(frame.at, DeviceDoubt.WRONG_ROLE)
        evidence = Evidence(frame.raw.hex(" "), frame.offset, "")
        news = self.overheard_hello if self.session.listens else self.greeted
        is_news = news(frame.at, hello, evidence)
        anchors = clocks.of_hello(self.state.anchors, hello, frame.message.version, self.arrival(frame))
        self.state = replace(self.state, anchors=anchors)
        if is_news or (self.state.intake.greeted and hello.boot != before.power_up):
            self.identified(frame, hello, evidence)

    def overheard_hello(self, at: Now, hello: theirs.Hello, evidence: Evidence) -> bool:
        """Whether the device may be another one. What a listener missed, the number of the next report says."""
        before = self.state.intake
        after, back = stream.overhear_hello(before, hello)
        self.ask(after, ())
        if back:
            self.resume(at, replace(evidence, sequence=str(hello.next)), before, Continuity.UNKNOWN)
        return not before.greeted or hello.stream != before.stream

    def greeted(self, at: Now, hello: theirs.Hello, evidence: Evidence) -> bool:
        """Whether the device may be another one, or have lost reports."""
        before = self.state.intake
        after, asked, proven = stream.greet(before, hello, at.mono_ns)
        self.ask(after, asked)
        self.state = replace(self.state, prompt_from=hello.next)
        if after.greeted and not proven and before.stream is not None:  # it tells from its oldest on
            oldest = replace(evidence, sequence=str(hello.oldest))
            lost = hello.stream == before.stream and not after.gap
            self.resume(at, oldest, before, Continuity.LOST if lost else Continuity.UNKNOWN)
        elif proven:
            self.compared(at, evidence)
        if self.state.version < VERSION_3:
            self.state = replace(self.state, inquired_ns=None)
        elif after.greeted and (not proven or hello.boot != before.power_up):
            self.inquire(at)
        return after.greeted and not (before.greeted and proven)

    def speaks(self, version: int) -> None:
        self.state = replace(self.state, version=version)
        if version < VERSION_3:
            self.requests.pop(theirs.Inquire, None)
            self.state = replace(self.state, inquired_ns=None)

    def inquire(self, at: Now) -> None:
        """Ask for the state of the device. Each second until it comes: what was asked for may be lost."""
        self.requests[theirs.Inquire] = theirs.Inquire()
        self.state = replace(self.state, inquired_ns=at.mono_ns)

    def identified(self, frame: Frame[theirs.FromDevice], hello: theirs.Hello, evidence: Evidence) -> None:
        version, capabilities = frame.message.version, None
        if version >= VERSION_3:
            capabilities = tuple(CAPABILITIES[each] for each in hello.capabilities)
        self.state = replace(self.state, capabilities=capabilities)
        self.saw(
            Identified(
                at=frame.at,
                frame=evidence,
                vendor=hello.vendor,
                model=hello.model,
                serial=hello.serial,
                firmware=hello.firmware,
                protocol=str(version),
                capabilities=capabilities,
            )
        )

    def compared(self, at: Now, evidence: Evidence) -> None:
        """Nothing was missed, once all that was taken and is still kept is compared."""
        intake = self.state.intake
        if self.state.away and intake.greeted and not intake.ahead:
            self.saw(Resumed(at=at, frame=evidence, continuity=Continuity.PROVEN))
            self.state = replace(self.state, away=False)

    def resume(self, at: Now, evidence: Evidence, before: Intake, known: Continuity) -> None:
        """Go on at a number that is not due. Only within one numbering does the number say that reports are lost."""
        missed = stream.steps(before.end, int(evidence.sequence)) if known is Continuity.LOST else 0
        self.saw(
            Resumed(at=at, frame=evidence, continuity=known, missed_at_least=missed, expected=str(before.end)),
        )
        anchors = () if known is Continuity.UNKNOWN else self.state.anchors  # its clock may have begun again, too
        self.state = replace(self.state, sets={}, away=False, anchors=anchors)

    def report(self, frame: Frame[theirs.FromDevice], report: theirs.Report) -> None:
        before, at = self.state.intake, frame.at
        evidence = Evidence(frame.raw.hex(" "), frame.offset, str(report.sequence))
        if self.session.listens:
            intake, verdict = stream.overhear(before, report)
            self.ask(intake, ())
            if verdict is not Repeat.COPY:
                self.overheard(at, evidence, before, verdict)
                self.clocked(frame, report, before)
                self.taken(frame, report, evidence)
        else:
            intake, asked, verdict = stream.receive(before, report, at.mono_ns)
            self.ask(intake, asked)
            if verdict is Repeat.RENUMBERED:
                self.resume(at, evidence, before, Continuity.UNKNOWN)
            if verdict in (Repeat.DUE, Repeat.RENUMBERED):
                self.ticked(at, report, before, verdict)
                self.clocked(frame, report, before)
                self.taken(frame, report, evidence)
            elif verdict is Repeat.LATER and self.state.prompt_from is not None:  # it comes again
                self.state = replace(self.state, prompt_from=theirs.following(report.sequence))
        if verdict is Repeat.COPY:
            self.saw(CopyHeard(at=at, frame=evidence))
            if not self.session.listens:
                self.repeated(at, report)
                self.compared(at, evidence)

    def overheard(self, at: Now, evidence: Evidence, before: Intake, verdict: Repeat) -> None:
        """What the number says to a host that cannot ask for what it missed."""
        if before.stream is None:
            pass  # the first report ever follows nothing
        elif verdict in (Repeat.STRANGE, Repeat.RENUMBERED):
            self.resume(at, evidence, before, Continuity.UNKNOWN)
        elif self.state.away and verdict is Repeat.DUE:
            self.saw(Resumed(at=at, frame=evidence, continuity=Continuity.PROVEN))
        elif self.state.away:
            self.resume(at, evidence, before, Continuity.LOST)
        elif verdict is Repeat.LATER:
            missed = stream.steps(before.due, int(evidence.sequence))
            self.saw(SequenceJumped(at=at, frame=evidence, expected=str(before.due), missed_at_least=missed))
            self.state = replace(self.state, sets={})
        self.state = replace(self.state, away=False)

    def taken(self, frame: Frame[theirs.FromDevice], report: theirs.Report, evidence: Evidence) -> None:
        said, role = report.said, self.session.settings.role
        if ROLES.get(type(said), role) is not role:
            why = Malformed(Reason.WRONG_ROLE, f"{type(said).__name__} is nothing that a {role.value} says")
            said = theirs.Unreadable(0, b"", why)
        match said:
            case theirs.Unreadable(why=why):
                self.refuse(frame, why.reason, f"report {report.sequence}: {why.detail}")
                # A card may have been in it: this report itself is the one that is missing.
                self.saw(SequenceJumped(at=frame.at, frame=evidence, expected=evidence.sequence, missed_at_least=1))
            case theirs.Inventory(set_id=name, counts=counts, unread=unread):
                self.counted(name, replace(self.state.sets.get(name, Counted()), counts=counts, unread=unread))
            case theirs.CardOrder(set_id=name):
                before = self.state.sets.get(name, Counted())
                self.counted(name, replace(before, order=continued(before.order, said)))
            case theirs.OfVendor():
                pass  # the page leaves it to the maker of the device
            case theirs.Delivered(set_id=name):
                rest = dict(self.state.sets)
                self.saw(delivered(frame.at, evidence, name, rest.pop(name, Counted())))
                self.state = replace(self.state, sets=rest)
            case theirs.Status():
                if report.boot == self.state.intake.power_up:  # an older one says nothing of what happened since
                    self.state = replace(self.state, inquired_ns=None)
                self.saw(status(said, frame.at, evidence))
            case _:
                self.saw(observation(said, frame.at, evidence, report.clock_us, self.drawn))

    def counted(self, name: str, counted: Counted) -> None:
        kept = {**{other: it for other, it in self.state.sets.items() if other != name}, name: counted}
        self.state = replace(self.state, sets=dict([*kept.items()][-SETS:]))

    # --- orders

    def send(self, order: DeviceOrder) -> str:
        kind = ORDERS.get(order.kind)
        if self.session.listens:
            return LISTENS
        if not self.state.intake.greeted:
            return "the device has not identified itself yet; wait for device/identified, then repeat the order"
        if kind is None:
            return "an Open Shoe has no process to confirm; leave the order out"
        if kind is theirs.OrderKind.CLEAR and order.fault is None:
            return "an Open Shoe clears a fault by its code, and no fault is known; clear it at the device"
        fault = order.fault or 0
        if not 0 <= fault <= HIGHEST_FAULT:
            return f"an Open Shoe has no fault {fault}; its faults are 0 to {HIGHEST_FAULT}"
        if (reason := self.excluded(kind)) is not None:
            return reason
        # The order has no field for the card of an overdraw: the device clears the fault, the table has the decision.
        self.requests[theirs.Order] = theirs.Order(kind, fault)
        return ""

    def excluded(self, kind: theirs.OrderKind) -> str | None:
        """Why the device cannot do it, as it states itself."""
        stated, needed = self.state.capabilities, NEEDS[kind]
        return None if stated is None or needed in stated else CANNOT[needed]

    def done(self, at: Now, done: theirs.Done) -> None:
        accepted = done.result is theirs.Result.DONE
        detail = "" if accepted else done.result.value
        asked = self.state.asked
        clears = done.order is theirs.OrderKind.CLEAR
        ours = OURS.get(done.order) if isinstance(done.order, theirs.OrderKind) else None
        if ours and asked is not None and asked.order == str(DeviceOrder(ours, done.number if clears else None)):
            self.answer(at, accepted=accepted, detail=detail)
        else:
            self.saw(OrderAnswered(at=at, order=NOT_OURS, accepted=accepted, detail=detail))
