"""An Open Shoe, shoe or shuffler, seen from the host.

Theory of operation: the device keeps each report until it is acknowledged, and `open_shoe_stream`
takes the number that is due alone, so that each comes out once and in order. An acknowledgement is
a send of the Step that took the report, and so it waits for the commit. HELLO alone begins a
stream: it proves that nothing was missed, or does not. A host that only listens says nothing,
takes what comes, and has the gaps on record.
"""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import VERSIONS
from firmware_protocols.open_shoe.settings import Acknowledging
from shoed.now import Now
from shoed.observations import (
    Continuity,
    CopyHeard,
    Evidence,
    Identified,
    OrderAnswered,
    Resumed,
    SequenceJumped,
)
from shoed.session import Heard, link
from shoed.session import open_shoe_stream as stream
from shoed.session.asking import NOT_OURS, Asking, AskingState
from shoed.session.open_shoe_stream import Intake, Repeat
from shoed.session.open_shoe_words import Counted, continued, delivered, observation
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkUp
from shoed.wire import Frame

ORDERS: Final[Mapping[DeviceOrderKind, theirs.OrderKind]] = {
    DeviceOrderKind.LOCK: theirs.OrderKind.LOCK,
    DeviceOrderKind.UNLOCK: theirs.OrderKind.UNLOCK,
    DeviceOrderKind.CLEAR_FAULT: theirs.OrderKind.CLEAR,
}
OURS: Final = {order: kind for kind, order in ORDERS.items()}
HIGHEST_FAULT: Final = 255
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
        return link.wake_at(self.reports, state, self.settings.quiet_after_s, state.asked_until, again_at)

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

    def ask(self, intake: Intake, requests: tuple[theirs.Requested, ...]) -> None:
        if intake is not self.state.intake:
            self.state = replace(self.state, intake=intake)
        for each in requests:
            self.requests[type(each)] = each

    # --- the link

    def take(self, came: AnyInput, now: Now) -> None:
        super().take(came, now)
        if isinstance(came, LinkUp) and not self.session.listens:
            self.ask(*stream.opened(self.state.intake, now.mono_ns))

    def give_up(self, now: Now) -> None:
        super().give_up(now)
        self.ask(replace(self.state.intake, greeted=False, asked_ns=None), ())

    def expire(self, now: Now) -> None:
        super().expire(now)
        self.ask(*stream.wake(self.state.intake, now.mono_ns, self.session.again_ms(self.state)))

    def said(self, frame: Frame[theirs.FromDevice]) -> None:
        message = frame.message
        if message.version != self.state.version:
            self.state = replace(self.state, version=message.version)
        if isinstance(message, theirs.Report):
            self.report(frame, message)
            return
        match message.said:
            case theirs.Hello():
                self.hello(frame, message.said)
            case theirs.Alive():
                if not self.session.listens:
                    self.ask(*stream.alive(self.state.intake, message.said, frame.at.mono_ns))
            case theirs.Done():
                self.done(frame.at, message.said)
            case _:
                assert_never(message.said)

    def refuse(self, frame: Frame[theirs.FromDevice], reason: Reason, detail: str) -> None:
        self.reject(frame.raw, frame.offset, frame.at, reason, detail)

    # --- the stream

    def hello(self, frame: Frame[theirs.FromDevice], hello: theirs.Hello) -> None:
        role, before = self.session.settings.role, self.state.intake
        if hello.role is not role:
            self.refuse(
                frame,
                Reason.WRONG_ROLE,
                f"the device says that it is a {hello.role.value}, and it stands as the table's {role.value}; "
                f"connect the {role.value} to this port, or write the port under [table.{hello.role.value}]",
            )
            return
        evidence = Evidence(frame.raw.hex(" "), frame.offset, "")
        if self.session.listens:  # what it missed, the next report's number says
            news = not before.greeted or hello.stream != before.stream
            self.ask(replace(before, greeted=True), ())
        else:
            after, asked, proven = stream.greet(before, hello, frame.at.mono_ns)
            self.ask(after, asked)
            news = after.greeted and not (before.greeted and proven)
            if news and before.stream is not None and (self.state.away or not proven):
                if proven:
                    self.saw(Resumed(at=frame.at, frame=evidence, continuity=Continuity.PROVEN))
                else:  # it tells from its oldest on
                    oldest = replace(evidence, sequence=str(hello.oldest))
                    self.resume(frame.at, oldest, before, same=hello.stream == before.stream)
            self.state = replace(self.state, away=self.state.away and not news)
        if news:
            self.saw(
                Identified(
                    at=frame.at,
                    frame=evidence,
                    vendor=hello.vendor,
                    model=hello.model,
                    serial=hello.serial,
                    firmware=hello.firmware,
                    protocol=str(frame.message.version),
                )
            )

    def resume(self, at: Now, evidence: Evidence, before: Intake, *, same: bool) -> None:
        """Go on at a number that is not due. Only within one stream does the number say that reports are lost."""
        lost = Continuity.LOST if same else Continuity.UNKNOWN
        missed = stream.steps(before.due, int(evidence.sequence)) if same else 0
        self.saw(
            Resumed(at=at, frame=evidence, continuity=lost, missed_at_least=missed, expected=str(before.due)),
        )
        self.state = replace(self.state, sets={})

    def report(self, frame: Frame[theirs.FromDevice], report: theirs.Report) -> None:
        before, at = self.state.intake, frame.at
        evidence = Evidence(frame.raw.hex(" "), frame.offset, str(report.sequence))
        if self.session.listens:
            intake, verdict = stream.overhear(before, report)
            self.ask(intake, ())
            if verdict is not Repeat.COPY:
                self.overheard(at, evidence, before, verdict)
        else:
            intake, asked, verdict = stream.receive(before, report, at.mono_ns)
            self.ask(intake, asked)
        if verdict is Repeat.COPY:
            self.saw(CopyHeard(at=at, frame=evidence))
        elif verdict is Repeat.DUE or self.session.listens:
            self.taken(frame, report, evidence)

    def overheard(self, at: Now, evidence: Evidence, before: Intake, verdict: Repeat) -> None:
        """What the number says to a host that cannot ask for what it missed."""
        if before.stream is None:
            pass  # the first report ever follows nothing
        elif self.state.away and verdict is Repeat.DUE:
            self.saw(Resumed(at=at, frame=evidence, continuity=Continuity.PROVEN))
        elif self.state.away or verdict is Repeat.STRANGE:
            self.resume(at, evidence, before, same=verdict is Repeat.LATER)
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
            case theirs.Delivered(set_id=name):
                rest = dict(self.state.sets)
                self.saw(delivered(frame.at, evidence, name, rest.pop(name, Counted())))
                self.state = replace(self.state, sets=rest)
            case _:
                self.saw(observation(said, frame.at, evidence, report.clock_us))

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
        # The order has no field for the card of an overdraw: the device clears the fault, the table has the decision.
        self.requests[theirs.Order] = theirs.Order(kind, fault)
        return ""

    def done(self, at: Now, done: theirs.Done) -> None:
        accepted = done.result is theirs.Result.DONE
        detail = "" if accepted else done.result.value
        asked = self.state.asked
        clears = done.order is theirs.OrderKind.CLEAR
        if asked is not None and asked.order == str(DeviceOrder(OURS[done.order], done.number if clears else None)):
            self.answer(at, accepted=accepted, detail=detail)
        else:
            self.saw(OrderAnswered(at=at, order=NOT_OURS, accepted=accepted, detail=detail))
