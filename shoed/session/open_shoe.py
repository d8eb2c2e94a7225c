"""The host's session of an Open Shoe device, a shoe or a shuffler.

Theory of operation: the device keeps each report until it is acknowledged. `open_shoe_stream` accepts only the report
with the due number, so that each report becomes an observation once and in order. An acknowledgement is a send of the
Step that accepted the report, and therefore waits for the commit. Only HELLO begins a stream: HELLO proves that no
report was lost, or shows that reports may be lost. HELLO states the range of the kept reports. The session compares
its accepted reports of this range with their copies, because a faulty device may reuse numbers. A host that only
listens sends nothing, accepts every new report, and records the gaps. In version 3 the session requests the whole state
of the device when it may have missed a change of state: on a new line, and after each restart of the device.
"""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import TITLES, VERSION_3, VERSIONS
from firmware_protocols.open_shoe.settings import Acknowledging
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    Capability,
    Continuity,
    CopyHeard,
    DeviceDoubt,
    DoubtEnded,
    DoubtRaised,
    DrawTime,
    Evidence,
    FrameRejected,
    Identified,
    OrderAnswered,
    Resumed,
    SequenceJumped,
)
from shoed.model.step import AnyInput, Configured, DeviceOrder, DeviceOrderKind, LinkUp
from shoed.session import SessionOutput, link
from shoed.session import open_shoe_clock as clocks
from shoed.session import open_shoe_doubts as doubts
from shoed.session import open_shoe_stream as stream
from shoed.session.device_orders import NOT_OURS, OrderingState, OrderingStep
from shoed.session.open_shoe_clock import Anchor, Arrival
from shoed.session.open_shoe_doubts import Repeated, Ticked
from shoed.session.open_shoe_observations import CAPABILITIES, CountedSet, continued, delivered, observation, status
from shoed.session.open_shoe_stream import Intake, OpenShoeRepeat
from shoed.wire import Frame

ORDERS: Final[Mapping[DeviceOrderKind, theirs.OrderKind]] = {
    DeviceOrderKind.LOCK: theirs.OrderKind.LOCK,
    DeviceOrderKind.UNLOCK: theirs.OrderKind.UNLOCK,
    DeviceOrderKind.CLEAR_FAULT: theirs.OrderKind.CLEAR,
}
KINDS: Final = {order: kind for kind, order in ORDERS.items()}
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

# The messages that only a shoe or only a shuffler sends.
ROLES: Final[Mapping[type, theirs.OpenShoeRole]] = {
    **dict.fromkeys(
        (theirs.OpenShoeCard, theirs.OpenShoeCutCard, theirs.Loaded, theirs.Empty, theirs.Lock),
        theirs.OpenShoeRole.SHOE,
    ),
    **dict.fromkeys(
        (
            theirs.Recognised,
            theirs.Shuffling,
            theirs.Shuffled,
            theirs.OpenShoeFailed,
            theirs.Inventory,
            theirs.Delivered,
            theirs.CardOrder,
        ),
        theirs.OpenShoeRole.SHUFFLER,
    ),
}

SETS: Final = 4  # a shuffler processes two sets; the oldest set that was never delivered is removed


class OpenShoeState(OrderingState, frozen=True):
    intake: Intake = Intake()
    version: int = min(VERSIONS)  # of the last frame of the device
    sets: dict[str, CountedSet] = msgspec.field(default_factory=dict)
    doubts: tuple[DeviceDoubt, ...] = ()  # the active doubts
    repeated: Repeated | None = None
    ticked: Ticked | None = None  # the last report, if it arrived immediately after the device made it
    prompt_from: int | None = None  # reports from this number on are sent immediately; None: not known
    anchors: tuple[Anchor, ...] = ()  # of the clock of the device
    spoke_ns: int | None = None  # the arrival of the last frame of the device
    rejected_ns: int | None = None  # the last rejected bytes: they may have been a report, which is repeated
    inquired_ns: int | None = None  # the last request for the state of the device, while STATUS is missing
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
        """The interval of a repeated request. A silent device gets the request as rarely as it must send a frame."""
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
        """When to request the state of the device again; None before the first HELLO."""
        if state.inquired_ns is None or not state.intake.greeted:
            return None
        return state.inquired_ns + self.again_ms(state) * stream.NS_PER_MS

    def step(self, state: OpenShoeState, incoming: AnyInput, now: Now) -> tuple[OpenShoeState, SessionOutput]:
        hearing = OpenShoeStep(self, state)
        hearing.take(incoming, now)
        version = hearing.state.version
        return hearing.state, hearing.outcome(
            *(build(theirs.OpenShoeRequest(version, each)) for each in hearing.requests.values())
        )


class OpenShoeStep(OrderingStep[OpenShoeState, theirs.FromDevice]):
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
        # One request of each type: the last acknowledgement includes all earlier ones.
        self.requests: dict[type[theirs.Requested], theirs.Requested] = {}
        self.before_ns: int | None = None  # the arrival of the previous frame
        self.drawn: DrawTime | None = None  # the moment of the card of the current report

    def ask(self, intake: Intake, requests: tuple[theirs.Requested, ...]) -> None:
        if intake is not self.state.intake:
            self.state = replace(self.state, intake=intake)
        for each in requests:
            self.requests[type(each)] = each

    # --- the link

    def take(self, incoming: AnyInput, now: Now) -> None:
        before = self.state.heard
        super().take(incoming, now)
        if isinstance(incoming, Configured) and (before is None or clocks.is_restarted(before, now)):
            self.state = replace(self.state, anchors=())
        if isinstance(incoming, LinkUp) and not self.session.listens:
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
        if self.state.quiet:  # the device may keep reports that wait
            anchors = clocks.away(self.state.anchors, self.state.version)
            self.state = replace(self.state, ticked=None, prompt_from=None, anchors=anchors)

    def handle(self, frame: Frame[theirs.FromDevice]) -> None:
        message = frame.message
        self.before_ns = self.state.spoke_ns
        self.state = replace(self.state, spoke_ns=frame.at.mono_ns)
        self.trust(frame.at, DeviceDoubt.UNKNOWN_VERSION)
        if not isinstance(message.body, theirs.Response | theirs.Unkeyed | theirs.Sealed):
            self.trust(frame.at, DeviceDoubt.KEY_NEEDED)
        if message.version != self.state.version:
            self.speaks(message.version)
        if isinstance(message, theirs.OpenShoeReport):
            self.report(frame, message)
            return
        match message.body:
            case theirs.Hello():
                self.hello(frame, message.body)
            case theirs.Alive():
                anchors = clocks.of_alive(self.state.anchors, message.body, message.version, self.arrival(frame))
                self.state = replace(self.state, anchors=anchors)
                if not self.session.listens:
                    self.ask(*stream.alive(self.state.intake, message.body, frame.at.mono_ns))
            case theirs.Done():
                self.done(frame.at, message.body)
            case theirs.Response() | theirs.Unkeyed() | theirs.Sealed():
                self.refuse(frame, Reason.UNKNOWN_COMMAND, doubts.NO_KEY)
                self.trust(frame.at, DeviceDoubt.NO_HELLO)
                self.doubt(frame.at, DeviceDoubt.KEY_NEEDED, doubts.NO_KEY)
            case theirs.OfVendor():
                pass  # the page leaves this type to the maker of the device
            case _:
                assert_never(message.body)

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
            self.saw(DoubtRaised(at=at, reason=reason, detail=detail))

    def trust(self, at: Now, reason: DeviceDoubt) -> None:
        if reason in self.state.doubts:
            self.state = replace(self.state, doubts=tuple(each for each in self.state.doubts if each is not reason))
            self.saw(DoubtEnded(at=at, reason=reason))

    def repeated(self, at: Now, report: theirs.OpenShoeReport) -> None:
        repeated = doubts.repeated(self.state.repeated, report.sequence, at.mono_ns)
        self.state = replace(self.state, repeated=repeated)
        if repeated.ignored:
            self.doubt(at, DeviceDoubt.IGNORES_ACKNOWLEDGEMENTS, repeated.ignored)

    def ticked(self, at: Now, report: theirs.OpenShoeReport, before: Intake, verdict: OpenShoeRepeat) -> None:
        """Compare the clocks of two reports of one numbering."""
        ticked = Ticked(report.clock_us, at.mono_ns, report.boot)
        if verdict is OpenShoeRepeat.DUE:
            within_s = self.session.settings.quiet_after_s
            last = before.moment if before.checks else ticked.moment  # no report of this numbering was accepted
            if wrong := doubts.jumped(last, self.state.ticked, ticked, within_s):
                self.doubt(at, DeviceDoubt.CLOCK_JUMPS, wrong)
            else:
                self.trust(at, DeviceDoubt.CLOCK_JUMPS)
        first = self.state.prompt_from
        prompt = first is not None and not stream.earlier(report.sequence, first) and not self.late_ns
        self.state = replace(self.state, ticked=ticked if prompt else None)

    # --- the clock of the device

    def arrival(self, frame: Frame[theirs.FromDevice]) -> Arrival:
        return Arrival(frame.at, len(frame.raw), self.late_ns)

    def clocked(self, frame: Frame[theirs.FromDevice], report: theirs.OpenShoeReport, before: Intake) -> None:
        """Find the moment of a card."""
        doubted = DeviceDoubt.CLOCK_JUMPS in self.state.doubts
        known, arrival, first = () if doubted else self.state.anchors, self.arrival(frame), self.state.prompt_from
        new = first is not None and not stream.earlier(report.sequence, first) and before.asked_ns is None
        prompt = new and clocks.undisturbed(arrival, self.before_ns, self.state.rejected_ns)
        anchors, drawn = clocks.of_report(known, report, before.clock_us, arrival, prompt=prompt)
        self.state = replace(self.state, anchors=anchors)
        self.drawn = None if doubted else drawn

    def reject(  # noqa: PLR0913, PLR0917 -- the signature of the base class
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
                f"the device reports the role {hello.role.value}, and the table uses it as its {role.value}; "
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
        """Whether HELLO may be from another device. The number of the next report shows the missed reports."""
        before = self.state.intake
        after, back = stream.overhear_hello(before, hello)
        self.ask(after, ())
        if back:
            self.resume(at, replace(evidence, sequence=str(hello.next)), before, Continuity.UNKNOWN)
        return not before.greeted or hello.stream != before.stream

    def greeted(self, at: Now, hello: theirs.Hello, evidence: Evidence) -> bool:
        """Whether HELLO may be from another device, or shows that reports are lost."""
        before = self.state.intake
        after, asked, proven = stream.greet(before, hello, at.mono_ns)
        self.ask(after, asked)
        self.state = replace(self.state, prompt_from=hello.next)
        if after.greeted and not proven and before.stream is not None:  # the device sends from its oldest report on
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
        """Request the state of the device, repeatedly until STATUS arrives: the request or STATUS may be lost."""
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
        """Record that no report was lost, if every accepted report that the device still keeps is compared."""
        intake = self.state.intake
        if self.state.away and intake.greeted and not intake.ahead:
            self.saw(Resumed(at=at, frame=evidence, continuity=Continuity.PROVEN))
            self.state = replace(self.state, away=False)

    def resume(self, at: Now, evidence: Evidence, before: Intake, known: Continuity) -> None:
        """Continue at a number that is not due. Only a number of the same numbering proves that reports are lost."""
        missed = stream.steps(before.end, int(evidence.sequence)) if known is Continuity.LOST else 0
        self.saw(
            Resumed(at=at, frame=evidence, continuity=known, missed_at_least=missed, expected=str(before.end)),
        )
        anchors = () if known is Continuity.UNKNOWN else self.state.anchors  # the clock may have restarted, too
        self.state = replace(self.state, sets={}, away=False, anchors=anchors)

    def report(self, frame: Frame[theirs.FromDevice], report: theirs.OpenShoeReport) -> None:
        before, at = self.state.intake, frame.at
        evidence = Evidence(frame.raw.hex(" "), frame.offset, str(report.sequence))
        if self.session.listens:
            intake, verdict = stream.overhear(before, report)
            self.ask(intake, ())
            if verdict is not OpenShoeRepeat.COPY:
                self.overheard(at, evidence, before, verdict)
                self.clocked(frame, report, before)
                self.taken(frame, report, evidence)
        else:
            intake, asked, verdict = stream.receive(before, report, at.mono_ns)
            self.ask(intake, asked)
            if verdict is OpenShoeRepeat.RENUMBERED:
                self.resume(at, evidence, before, Continuity.UNKNOWN)
            if verdict in (OpenShoeRepeat.DUE, OpenShoeRepeat.RENUMBERED):
                self.ticked(at, report, before, verdict)
                self.clocked(frame, report, before)
                self.taken(frame, report, evidence)
            elif verdict is OpenShoeRepeat.LATER and self.state.prompt_from is not None:  # the device repeats it
                self.state = replace(self.state, prompt_from=theirs.following(report.sequence))
        if verdict is OpenShoeRepeat.COPY:
            self.saw(CopyHeard(at=at, frame=evidence))
            if not self.session.listens:
                self.repeated(at, report)
                self.compared(at, evidence)

    def overheard(self, at: Now, evidence: Evidence, before: Intake, verdict: OpenShoeRepeat) -> None:
        """Record what the number shows to a host that cannot request missed reports."""
        if before.stream is None:
            pass  # there is no report before the first one
        elif verdict in (OpenShoeRepeat.STRANGE, OpenShoeRepeat.RENUMBERED):
            self.resume(at, evidence, before, Continuity.UNKNOWN)
        elif self.state.away and verdict is OpenShoeRepeat.DUE:
            self.saw(Resumed(at=at, frame=evidence, continuity=Continuity.PROVEN))
        elif self.state.away:
            self.resume(at, evidence, before, Continuity.LOST)
        elif verdict is OpenShoeRepeat.LATER:
            missed = stream.steps(before.due, int(evidence.sequence))
            self.saw(SequenceJumped(at=at, frame=evidence, expected=str(before.due), missed_at_least=missed))
            self.state = replace(self.state, sets={})
        self.state = replace(self.state, away=False)

    def taken(self, frame: Frame[theirs.FromDevice], report: theirs.OpenShoeReport, evidence: Evidence) -> None:
        body, role = report.body, self.session.settings.role
        if ROLES.get(type(body), role) is not role:
            why = Malformed(Reason.WRONG_ROLE, f"{TITLES[type(body)]} is not a message of a {role.value}")
            body = theirs.Unreadable(0, b"", why)
        match body:
            case theirs.Unreadable(why=why):
                self.refuse(frame, why.reason, f"report {report.sequence}: {why.detail}")
                # The report may have contained a card: this report itself counts as missing.
                self.saw(SequenceJumped(at=frame.at, frame=evidence, expected=evidence.sequence, missed_at_least=1))
            case theirs.Inventory(set_id=name, counts=counts, unread=unread):
                self.counted(name, replace(self.state.sets.get(name, CountedSet()), counts=counts, unread=unread))
            case theirs.CardOrder(set_id=name):
                before = self.state.sets.get(name, CountedSet())
                self.counted(name, replace(before, order=continued(before.order, body)))
            case theirs.OfVendor():
                pass  # the page leaves this type to the maker of the device
            case theirs.Delivered(set_id=name):
                rest = dict(self.state.sets)
                self.saw(delivered(frame.at, evidence, name, rest.pop(name, CountedSet())))
                self.state = replace(self.state, sets=rest)
            case theirs.OpenShoeStatus():
                if report.boot == self.state.intake.power_up:  # an older STATUS does not contain the later changes
                    self.state = replace(self.state, inquired_ns=None)
                self.saw(status(body, frame.at, evidence))
            case _:
                self.saw(observation(body, frame.at, evidence, report.clock_us, self.drawn))

    def counted(self, name: str, counted: CountedSet) -> None:
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
            return "an Open Shoe has no process to confirm; omit the order"
        if kind is theirs.OrderKind.CLEAR and order.fault is None:
            return "an Open Shoe clears a fault by its code, and no fault is known; clear the fault at the device"
        fault = order.fault or 0
        if not 0 <= fault <= HIGHEST_FAULT:
            return f"an Open Shoe has no fault {fault}; its faults are 0 to {HIGHEST_FAULT}"
        if (reason := self.excluded(kind)) is not None:
            return reason
        # The order has no field for the card of an overdraw: the device clears the fault, the table decides about the
        # card.
        self.requests[theirs.OpenShoeOrder] = theirs.OpenShoeOrder(kind, fault)
        return ""

    def excluded(self, kind: theirs.OrderKind) -> str | None:
        """Why the device cannot execute the order, by the capabilities that it reports."""
        stated, needed = self.state.capabilities, NEEDS[kind]
        return None if stated is None or needed in stated else CANNOT[needed]

    def done(self, at: Now, done: theirs.Done) -> None:
        accepted = done.result is theirs.OpenShoeResult.DONE
        detail = "" if accepted else done.result.value
        pending = self.state.asked
        fault = done.number if done.order is theirs.OrderKind.CLEAR else None
        kind = KINDS.get(done.order) if isinstance(done.order, theirs.OrderKind) else None
        if kind is not None and pending is not None and pending.order == str(DeviceOrder(kind, fault)):
            self.answer(at, accepted=accepted, detail=detail)
        else:
            self.saw(OrderAnswered(at=at, order=NOT_OURS, accepted=accepted, detail=detail))
