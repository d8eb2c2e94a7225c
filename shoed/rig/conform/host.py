"""The host that tests a device: it sends only the frames that a check needs.

Theory of operation: `wait` reads frames until a wanted message arrives. From HELLO a check learns the state of the
device: its kept reports and the next number. No check depends on silence of the device, because cards may be drawn
during a check. A command, the orders lock and unlock, or a person cause reports.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe.messages import (
    Alive,
    Done,
    FromDevice,
    Hello,
    Identify,
    OpenShoeAcknowledge,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoeReport,
    OpenShoeRequest,
    OpenShoeResult,
    OpenShoeRole,
    OrderKind,
    Requested,
)
from shoed import wire
from shoed.rig.conform.keyed_line import KeyedLine
from shoed.rig.conform.line import NS_PER_S, ConformTimeLimits, DeviceLine, LineGone
from shoed.rig.conform.watch import Passed, ProtocolWatch
from shoed.session.open_shoe_stream import preceding, steps
from shoed.wire import Frame, LineState, Rejected

ORDER_S: Final = 3.0  # the limit of the page
REPEAT_S: Final = 0.5
TRIES: Final = 5
LOOK_S: Final = 0.5  # between two checks for an action of a person
AWAY_S: Final = 0.3  # duration of a cut of the line
EVIDENCE: Final = 24  # frames shown with a failure


class Broken(Exception):
    """The device violates the clause."""


class Untried(Exception):
    """The check cannot be made; the text states the reason and the remedy."""


class Stuck(Untried):
    """The device keeps reports although they are acknowledged."""


class NoRoom(Untried):
    """The device keeps no further report."""


class NoHello(Exception):
    """The device does not answer IDENTIFY with HELLO."""


class HeardFrame(NamedTuple):
    at_ns: int
    raw: bytes
    message: FromDevice

    @property
    def hello(self) -> Hello | None:
        body = self.message.body
        return body if isinstance(body, Hello) else None

    @property
    def report(self) -> OpenShoeReport | None:
        return self.message if isinstance(self.message, OpenShoeReport) else None


def is_hello(heard: HeardFrame) -> bool:
    return heard.hello is not None


def never(_: HeardFrame) -> bool:
    return False


class Host:
    def __init__(self, line: DeviceLine, limits: ConformTimeLimits) -> None:
        self.line = line
        self.channel = line if isinstance(line, KeyedLine) else None
        self.limits = limits
        self.direction = reports(OpenShoeSettings())
        self.state = LineState()
        self.watch = ProtocolWatch(self.evidence)
        self.version = 1  # of the last frame of the device
        self.role: OpenShoeRole | None = None
        self.trace: deque[Passed] = deque(maxlen=EVIDENCE)
        self.fresh: deque[HeardFrame] = deque()
        self.heard: list[HeardFrame] = []  # since the beginning of the check
        self.rejected: list[bytes] = []  # rejected frames since the beginning of the check
        self.locks: bool | None = None  # whether the orders lock and unlock cause reports; None: not known
        self.lock_next = True
        self.dry = ""  # why no further report can be caused
        self.known: dict[object, tuple[object, tuple[Passed, ...]]] = {}  # results of experiments for several clauses

    def evidence(self) -> tuple[Passed, ...]:
        return tuple(self.trace)

    # --- the line

    def send(self, data: bytes) -> None:
        self.trace.append(Passed(sent=True, data=data))
        self.line.send(data)

    def sealed(self, data: bytes) -> bytes:
        """The frame as the line carries it."""
        return data if self.channel is None else self.channel.sealed(data)

    def put(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self.trace.append(Passed(sent=True, data=data))
        (self.line if self.channel is None else self.channel.line).send(data)

    def say(self, body: Requested, version: int | None = None) -> None:
        if isinstance(body, OpenShoeAcknowledge):
            self.watch.acknowledged(body)
        self.send(build(OpenShoeRequest(self.version if version is None else version, body)))

    def wait(self, seconds: float, wanted: Callable[[HeardFrame], bool] = never) -> HeardFrame | None:
        until_ns = self.line.now_ns() + round(seconds * NS_PER_S)
        while True:
            while self.fresh:
                heard = self.fresh.popleft()
                self.heard.append(heard)
                if wanted(heard):
                    return heard
            chunk = self.line.receive(until_ns)
            if chunk is None:
                return None
            self.state, found = wire.receive(self.direction, self.state, chunk)
            for each in found:
                self.take(each)

    def take(self, each: Frame[FromDevice] | Rejected) -> None:
        self.trace.append(Passed(sent=False, data=each.raw))
        if isinstance(each, Rejected):
            self.rejected.append(each.raw)
            self.watch.rejected(each)
            return
        self.watch.heard(each.raw, each.message)
        self.version = each.message.version
        self.fresh.append(HeardFrame(each.at.mono_ns, each.raw, each.message))

    def drain(self) -> None:
        self.wait(0)

    def reopen(self) -> None:
        """Cut the line and open it again, after a pause that the device can detect. Send nothing."""
        self.drain()
        self.line.cut()
        self.state = LineState()
        self.watch.opened()
        self.pass_time(AWAY_S)
        self.open_by(self.line.now_ns() + round(self.limits.patience_s * NS_PER_S))

    def open_by(self, until_ns: int) -> None:
        while True:
            try:
                self.line.open()
            except LineGone as gone:
                if self.line.now_ns() >= until_ns:
                    raise Untried(str(gone)) from gone
                self.pass_time(LOOK_S)
            else:
                return

    def pass_time(self, seconds: float) -> None:
        """Let time pass while the line is closed."""
        self.line.receive(self.line.now_ns() + round(seconds * NS_PER_S))

    # --- the state of the device

    def identify(self) -> Hello:
        self.drain()
        before = self.watch.stream if self.watch.greeted else None
        self.say(Identify())
        heard = self.wait(self.limits.answer_s, is_hello)
        if heard is None or heard.hello is None:
            raise NoHello
        self.role = heard.hello.role
        if before is not None and heard.hello.stream != before:
            self.watch.began(heard.hello.stream, unasked=self.wait(self.limits.answer_s, is_hello) is not None)
        return heard.hello

    def settle(self) -> Hello:
        """Acknowledge all reports. Earlier frames no longer count."""
        for _ in range(TRIES):
            hello = self.identify()
            if hello.oldest == hello.next:
                self.heard.clear()
                self.rejected.clear()
                return hello
            self.say(OpenShoeAcknowledge(hello.stream, preceding(hello.next)))
        raise Stuck("the device keeps reports although they are acknowledged")

    def reported(self, since: int = 0) -> list[OpenShoeReport]:
        return [each.report for each in self.heard[since:] if each.report is not None]

    def alive(self, heard: HeardFrame) -> bool:
        return isinstance(heard.message.body, Alive)

    # --- actions on the device

    def order(self, kind: OrderKind, number: int = 0) -> Done | None:
        def answered(heard: HeardFrame) -> bool:
            body = heard.message.body
            return isinstance(body, Done) and (body.order, body.number) == (kind, number)

        self.drain()
        self.say(OpenShoeOrder(kind, number))
        heard = self.wait(ORDER_S + self.limits.slack_s, answered)
        if heard is None or not isinstance(heard.message, OpenShoeNotice):
            return None
        body = heard.message.body
        return body if isinstance(body, Done) else None

    def turn(self) -> bool:
        """Lock and unlock the exit alternately. Returns whether the device has done it."""
        kind = OrderKind.LOCK if self.lock_next else OrderKind.UNLOCK
        self.lock_next = not self.lock_next  # before the answer, because an interrupt may prevent the answer
        done = self.order(kind)
        return done is not None and done.result is OpenShoeResult.DONE

    def afford(self, count: int) -> None:
        if count > self.limits.most_reports:
            raise Untried(f"the check needs {count} reports; use --most-reports {count}")

    def cause(self, count: int) -> Hello:
        """HELLO after the device has made this number of reports. None of them is acknowledged."""
        self.afford(count)
        if self.dry:
            raise Untried(self.dry)
        before = hello = self.identify()
        made, idle, asked = 0, 0, self.line.cause(count)
        patience_ns = round(self.limits.patience_s * NS_PER_S)
        until_ns = self.line.now_ns() + patience_ns
        while made < count:
            if not asked and not self.turns(count - made):
                self.line.ask(f"Let the device report {count} facts, for example by drawing cards.")
                asked, until_ns = True, self.line.now_ns() + patience_ns
            hello, had = self.identify(), made
            if hello.stream != before.stream:
                raise Untried("a new stream began during the check")
            made = steps(before.next, hello.next)
            idle = idle + 1 if made == had else 0
            if not idle:
                until_ns = self.line.now_ns() + patience_ns
            if idle > 1 and made and not asked:
                raise NoRoom(f"the device keeps no more than {made} reports")
            if idle > 1 and not asked:  # the first order may change nothing: the exit was already in this state
                self.locks = False
            if self.line.now_ns() >= until_ns:
                self.dry = f"the device reported nothing within {self.limits.patience_s:g} s"
                raise Untried(self.dry)
            if made < count and asked:
                self.wait(LOOK_S)
        return hello

    def turns(self, count: int) -> bool:
        """Cause reports by orders. False: orders cause no reports."""
        if self.locks is False or self.role is not OpenShoeRole.SHOE:
            return False
        for _ in range(count):
            if not self.turn():
                self.locks = False
                return False
        self.locks = True
        return True

    def leave(self) -> None:
        """Unlock an exit that this test has locked."""
        if not self.lock_next:
            self.order(OrderKind.UNLOCK)
