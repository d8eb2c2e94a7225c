"""The host that tests a device: it says what a check wants, and nothing by itself.

Theory of operation: `wait` takes in what comes until a wanted message is there. A check learns from HELLO how things
stand at the device: which reports it keeps, and which is next. No check depends on silence of the device, because
cards may be drawn meanwhile. Reports are caused by a command, by the orders lock and unlock, or by a person.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Done,
    FromDevice,
    Hello,
    Identify,
    Notice,
    Order,
    OrderKind,
    Report,
    Request,
    Requested,
    Result,
    Role,
)
from shoed import wire
from shoed.conform.keyed_line import KeyedLine
from shoed.conform.line import NS_PER_S, Gone, Limits, Line
from shoed.conform.watch import Passed, Watch
from shoed.session.open_shoe_stream import preceding, steps
from shoed.wire import Frame, LineState, Rejected

ORDER_S: Final = 3.0  # of the page
REPEAT_S: Final = 0.5
TRIES: Final = 5
LOOK_S: Final = 0.5  # between two looks whether a person has done it
AWAY_S: Final = 0.3  # that the line is cut
EVIDENCE: Final = 24  # frames that a failure shows


class Broken(Exception):
    """The device breaks the clause."""


class Untried(Exception):
    """The check cannot be made; the text says why, and what would help."""


class Stuck(Untried):
    """Reports stay with the device although they are acknowledged."""


class NoRoom(Untried):
    """The device takes no further report."""


class NoHello(Exception):
    """The device says no HELLO on IDENTIFY."""


class Heard(NamedTuple):
    at_ns: int
    raw: bytes
    message: FromDevice

    @property
    def hello(self) -> Hello | None:
        said = self.message.said
        return said if isinstance(said, Hello) else None

    @property
    def report(self) -> Report | None:
        return self.message if isinstance(self.message, Report) else None


def is_hello(heard: Heard) -> bool:
    return heard.hello is not None


def never(_: Heard) -> bool:
    return False


class Host:
    def __init__(self, line: Line, limits: Limits) -> None:
        self.line = line
        self.channel = line if isinstance(line, KeyedLine) else None
        self.limits = limits
        self.direction = reports(OpenShoeSettings())
        self.state = LineState()
        self.watch = Watch(self.evidence)
        self.version = 1  # that the device speaks
        self.role: Role | None = None
        self.trace: deque[Passed] = deque(maxlen=EVIDENCE)
        self.fresh: deque[Heard] = deque()
        self.heard: list[Heard] = []  # since the check began
        self.rejected: list[bytes] = []  # whole frames that mean nothing, since then
        self.locks: bool | None = None  # whether the orders lock and unlock make reports; None: not tried
        self.lock_next = True
        self.dry = ""  # why no further report can be caused
        self.known: dict[object, tuple[object, tuple[Passed, ...]]] = {}  # experiments that serve several clauses

    def evidence(self) -> tuple[Passed, ...]:
        return tuple(self.trace)

    # --- the line

    def send(self, data: bytes) -> None:
        self.trace.append(Passed(sent=True, data=data))
        self.line.send(data)

    def made(self, data: bytes) -> bytes:
        """A frame as it goes out on the line."""
        return data if self.channel is None else self.channel.made(data)

    def put(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.trace.append(Passed(sent=True, data=data))
        (self.line if self.channel is None else self.channel.line).send(data)

    def say(self, said: Requested, version: int | None = None) -> None:
        if isinstance(said, Acknowledge):
            self.watch.acknowledged(said)
        self.send(build(Request(self.version if version is None else version, said)))

    def wait(self, seconds: float, wanted: Callable[[Heard], bool] = never) -> Heard | None:
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
        self.fresh.append(Heard(each.at.mono_ns, each.raw, each.message))

    def drain(self) -> None:
        self.wait(0)

    def reopen(self) -> None:
        """Cut the line and open it again, so late that the device can see it; nothing is said."""
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
            except Gone as gone:
                if self.line.now_ns() >= until_ns:
                    raise Untried(str(gone)) from gone
                self.pass_time(LOOK_S)
            else:
                return

    def pass_time(self, seconds: float) -> None:
        """While the line is closed."""
        self.line.receive(self.line.now_ns() + round(seconds * NS_PER_S))

    # --- how things stand

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
        """All that was said is acknowledged; what was heard before does not count."""
        for _ in range(TRIES):
            hello = self.identify()
            if hello.oldest == hello.next:
                self.heard.clear()
                self.rejected.clear()
                return hello
            self.say(Acknowledge(hello.stream, preceding(hello.next)))
        raise Stuck("reports stay with the device although they are acknowledged")

    def reported(self, since: int = 0) -> list[Report]:
        return [each.report for each in self.heard[since:] if each.report is not None]

    def alive(self, heard: Heard) -> bool:
        return isinstance(heard.message.said, Alive)

    # --- what is done to the device

    def order(self, kind: OrderKind, number: int = 0) -> Done | None:
        def answered(heard: Heard) -> bool:
            said = heard.message.said
            return isinstance(said, Done) and (said.order, said.number) == (kind, number)

        self.drain()
        self.say(Order(kind, number))
        heard = self.wait(ORDER_S + self.limits.slack_s, answered)
        if heard is None or not isinstance(heard.message, Notice):
            return None
        said = heard.message.said
        return said if isinstance(said, Done) else None

    def turn(self) -> bool:
        """Lock or unlock the exit, in turn; whether the device has done it."""
        kind = OrderKind.LOCK if self.lock_next else OrderKind.UNLOCK
        self.lock_next = not self.lock_next  # before the answer, which an interrupt may forestall
        done = self.order(kind)
        return done is not None and done.result is Result.DONE

    def afford(self, count: int) -> None:
        if count > self.limits.most_reports:
            raise Untried(f"it takes {count} reports; give --most-reports {count}")

    def cause(self, count: int) -> Hello:
        """HELLO, after the device has made so many reports. None of them is acknowledged."""
        self.afford(count)
        if self.dry:
            raise Untried(self.dry)
        before = hello = self.identify()
        made, idle, asked = 0, 0, self.line.cause(count)
        patience_ns = round(self.limits.patience_s * NS_PER_S)
        until_ns = self.line.now_ns() + patience_ns
        while made < count:
            if not asked and not self.turns(count - made):
                self.line.ask(f"Let the device report: {count} things, for example cards that are drawn.")
                asked, until_ns = True, self.line.now_ns() + patience_ns
            hello, had = self.identify(), made
            if hello.stream != before.stream:
                raise Untried("a new stream began meanwhile")
            made = steps(before.next, hello.next)
            idle = idle + 1 if made == had else 0
            if not idle:
                until_ns = self.line.now_ns() + patience_ns
            if idle > 1 and made and not asked:
                raise NoRoom(f"the device takes no more than {made} reports")
            if idle > 1 and not asked:  # once: the exit was already as the order wanted it
                self.locks = False
            if self.line.now_ns() >= until_ns:
                self.dry = f"the device reported nothing within {self.limits.patience_s:g} s"
                raise Untried(self.dry)
            if made < count and asked:
                self.wait(LOOK_S)
        return hello

    def turns(self, count: int) -> bool:
        """Cause reports by orders; False where that makes none."""
        if self.locks is False or self.role is not Role.SHOE:
            return False
        for _ in range(count):
            if not self.turn():
                self.locks = False
                return False
        self.locks = True
        return True

    def leave(self) -> None:
        """An exit that this test has locked is unlocked."""
        if not self.lock_next:
            self.order(OrderKind.UNLOCK)
