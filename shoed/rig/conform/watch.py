"""The clauses that every frame of a device is compared with, during all checks.

Theory of operation: a clause counts as tested when the first message to which it applies arrives. The first frame that
violates the clause is its evidence. A number is new once per stream. A report that was acknowledged before it arrived
leaves no gap.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.codec import CHECK, ESCAPED, HEAD, PLAIN
from firmware_protocols.open_shoe.layout import MOST_STANDING, NOTICED, NUMBERED, TITLES, VERSION_3
from shoed.session.open_shoe import ROLES
from shoed.session.open_shoe_stream import HALF, later_boot, steps
from shoed.wire import Rejected

MOST_KEPT: Final = 16_384
REMEMBERED: Final = 20_000  # reports of one stream: more than a device may keep, and fewer than there are numbers
MOST_BURNT: Final = 255
PLACES_WITHOUT_POSITION: Final = {theirs.OpenShoePlace.DEALT, theirs.OpenShoePlace.LOCKED, theirs.OpenShoePlace.ERROR}
ON_EVERY_FRAME: Final = ("frame.escapes", "frame.crc", "frame.size", "version.known")
STEPS: Final = {  # of a set, before DELIVERED
    "SHUFFLING": (theirs.Shuffling,),
    "SHUFFLED or FAILED": (theirs.Shuffled, theirs.OpenShoeFailed),
    "INVENTORY": (theirs.Inventory,),
}


class Passed(NamedTuple):
    """Bytes on the line."""

    sent: bool
    data: bytes


class Breach(NamedTuple):
    detail: str
    trace: tuple[Passed, ...]


class ShufflerSets:
    """The reports of a shuffler about its sets."""

    def __init__(self) -> None:
        self.begun: dict[str, list[type]] = {}  # set -> the reports after its RECOGNISED
        self.places: dict[str, int] = {}  # set -> the first place of its next part
        self.delivered: set[str] = set()


class Numbering:
    """The received reports of one stream."""

    def __init__(self) -> None:
        self.raw: dict[int, bytes] = {}
        self.highest: int | None = None
        self.moment = (0, 0)  # boot and clock of the last report
        self.burnt: int | None = None  # position of the last burn card; None: not known
        self.version: int | None = None
        self.faults: set[int] = set()
        self.locked: bool | None = None

    def add(self, number: int, raw: bytes) -> None:
        self.raw[number] = raw
        if len(self.raw) > REMEMBERED:
            del self.raw[next(iter(self.raw))]

    def missed(self, highest: int | None = None) -> None:
        """Reports up to this one, or all, may be missing: the state that they reported is not known."""
        self.highest, self.locked, self.burnt = highest, None, None
        self.faults.clear()


class ProtocolWatch:
    def __init__(self, evidence: Callable[[], tuple[Passed, ...]]) -> None:
        self.evidence = evidence
        self.tried: set[str] = set()
        self.breaches: dict[str, Breach] = {}
        self.streams: dict[int, Numbering] = {}
        self.stream: int | None = None  # of the last HELLO
        self.before_power: int | None = None  # the stream before power-up, until HELLO arrives
        self.role: theirs.OpenShoeRole | None = None
        self.sets = ShufflerSets()
        self.greeted = False  # HELLO arrived since the line was opened
        self.in_step = False  # a whole frame arrived since the line was opened
        self.version = 1  # of the last HELLO
        self.boot: int | None = None  # of the last HELLO
        self.junk = 0  # bytes outside frames

    def judge(self, name: str, *, right: bool, detail: str) -> None:
        self.tried.add(name)
        if not right and name not in self.breaches:
            self.breaches[name] = Breach(detail, self.evidence())

    # --- the state of the line

    def opened(self) -> None:
        """Reports may have been lost before, and the first bytes may be the rest of a frame."""
        self.greeted = self.in_step = False
        for each in self.streams.values():
            each.missed()

    def power_cut(self) -> None:
        self.before_power, self.boot = self.stream, None
        self.opened()

    def acknowledged(self, request: theirs.OpenShoeAcknowledge) -> None:
        stream = self.streams.get(request.stream)
        if stream is not None and stream.highest is not None and 0 < steps(stream.highest, request.upto) < HALF:
            stream.missed(request.upto)

    # --- the frames of the device

    def rejected(self, each: Rejected) -> None:
        if each.reason in (Reason.JUNK, Reason.TORN):
            self.junk += len(each.raw)
        elif self.in_step:
            for stream in self.streams.values():
                stream.missed()
            name = broken_by(each)
            if name is not None:
                self.judge(name, right=False, detail=each.detail)

    def heard(self, raw: bytes, message: theirs.FromDevice) -> None:
        self.in_step = True
        for name in ON_EVERY_FRAME:
            self.judge(name, right=True, detail="")
        if isinstance(message, theirs.OpenShoeNotice):
            self.judge("notice.number", right=True, detail="")
            self.notice(message)
        else:
            self.report(raw, message)

    def notice(self, message: theirs.OpenShoeNotice) -> None:
        match message.body:
            case theirs.Hello() as hello:
                self.version = message.version
                self.hello(hello)
                self.of_version(hello.stream, message.version)
            case theirs.Alive(stream, number, boot):
                if message.version >= VERSION_3:
                    self.of_boot(boot)
                self.of_stream(stream)
                self.of_version(stream, message.version)
                highest = self.streams[stream].highest if stream in self.streams else None
                right = highest is None or 0 < steps(highest, number) < HALF
                self.judge(
                    "alive.next", right=right, detail=f"ALIVE has next {number}, and report {highest} was received"
                )
            case theirs.Done() | theirs.Response() | theirs.Unkeyed() | theirs.Sealed() | theirs.OfVendor():
                pass  # these messages name no stream

    def hello(self, hello: theirs.Hello) -> None:
        self.role = hello.role
        if self.version >= VERSION_3:
            self.of_boot(hello.boot)
        kept = steps(hello.oldest, hello.next)
        self.judge("keep.most", right=kept <= MOST_KEPT, detail=f"HELLO states that {kept} reports are kept")
        if self.stream is not None and hello.stream not in self.streams:
            self.judge("hello.stream", right=True, detail="")
            self.judge(
                "number.first", right=hello.oldest == 1, detail=f"the oldest report of a new stream is {hello.oldest}"
            )
        if self.before_power is not None:
            self.judge("hello.first", right=True, detail="")
            self.before_power = None
        self.stream, self.greeted = hello.stream, True
        self.streams.setdefault(hello.stream, Numbering())

    def began(self, stream: int, *, unasked: bool) -> None:
        """A HELLO on IDENTIFY has a new stream. `unasked`: the device also sent HELLO without a request."""
        self.judge(
            "hello.stream", right=unasked, detail=f"stream {stream:08X} has begun, and HELLO arrived only on IDENTIFY"
        )

    def of_stream(self, stream: int) -> None:
        right = self.stream is None or stream == self.stream
        detail = f"stream {stream:08X} has begun, and no HELLO of it arrived"
        if not right or "hello.stream" in self.tried:
            self.judge("hello.stream", right=right, detail=detail)
        if self.before_power is not None and stream != self.before_power:
            self.judge("hello.first", right=False, detail=detail)

    def of_version(self, stream: int, version: int) -> None:
        known = self.streams.setdefault(stream, Numbering())
        known.version = known.version or version
        detail = f"version {version} in a stream of version {known.version}"
        self.judge("version.one", right=known.version == version, detail=detail)

    def report(self, raw: bytes, report: theirs.OpenShoeReport) -> None:
        self.of_stream(report.stream)
        self.of_version(report.stream, report.version)
        self.judge("report.number", right=True, detail="")
        stream, number = self.streams[report.stream], report.sequence
        if number in stream.raw:
            self.judge(
                "repeat.same",
                right=stream.raw[number] == raw,
                detail=f"report {number} was {stream.raw[number].hex(' ').upper()}, and its bytes are different now",
            )
            return
        stream.add(number, raw)
        ahead = 1 if stream.highest is None else steps(stream.highest, number)
        if ahead >= HALF:
            return  # made while the line was closed
        self.judge("number.unbroken", right=ahead == 1, detail=f"report {number} follows report {stream.highest}")
        if stream.highest == theirs.LAST:
            self.judge(
                "number.wrap", right=number == theirs.FIRST, detail=f"report {number} follows report {theirs.LAST}"
            )
        self.moment(stream, report)
        stream.highest = number
        self.content(stream, report.body)

    def moment(self, stream: Numbering, report: theirs.OpenShoeReport) -> None:
        """Compare the clock with the previous report. In version 3, each power-up restarts the clock."""
        boot, clock_us = stream.moment
        forward = report.clock_us >= clock_us or report.boot != boot
        detail = f"the clock of report {report.sequence} is {report.clock_us}, and the previous clock is {clock_us}"
        if report.version < VERSION_3:
            self.judge("clock.forward", right=forward, detail=detail)
        else:
            self.judge("clock.power-up", right=forward, detail=detail)
            self.judge("report.boot", right=True, detail="")
            self.of_boot(report.boot, report=True)
        stream.moment = report.boot, report.clock_us if report.boot != boot else max(clock_us, report.clock_us)

    def of_boot(self, boot: int, *, report: bool = False) -> None:
        """A report may be of an earlier power-up. A notice is of the present power-up."""
        known, self.boot = self.boot, boot if self.boot is None or not report else self.boot
        if known is not None:
            right = not later_boot(boot, known) if report else boot == known
            self.judge(
                "boot.named", right=right, detail=f"the message has power-up {boot}, and the last HELLO has {known}"
            )

    def content(self, stream: Numbering, body: theirs.ReportBody | theirs.Unreadable) -> None:
        if isinstance(body, theirs.Unreadable):
            self.judge("report.fields", right=False, detail=body.why.detail)
            return
        self.judge("report.fields", right=True, detail="")
        if self.role is not None:
            right = ROLES.get(type(body), self.role) is self.role
            self.judge("role.messages", right=right, detail=f"a {self.role.value} sends {TITLES[type(body)]}")
        match body:
            case theirs.Lock(locked):
                stream.locked = locked
            case theirs.OpenShoeStatus():
                self.status(stream, body)
            case theirs.Loaded():
                stream.burnt = 0
            case theirs.OpenShoeCard():
                self.card(stream, body)
            case theirs.FaultChanged():
                self.fault(stream, body)
            case _:
                self.set(body)

    def card(self, stream: Numbering, card: theirs.OpenShoeCard) -> None:
        allowed = (
            range(1)
            if card.place in PLACES_WITHOUT_POSITION
            else range(1, 256)
            if card.place is theirs.OpenShoePlace.BURNT
            else range(1, 4)
        )
        detail = f"place {card.place.value}, position {card.position}"
        self.judge("card.position", right=card.position in allowed, detail=detail)
        if stream.locked:
            self.judge("card.locked", right=card.place is theirs.OpenShoePlace.LOCKED, detail=f"locked, and {detail}")

        if card.place is theirs.OpenShoePlace.BURNT:
            if stream.burnt is not None:
                due = min(stream.burnt + 1, MOST_BURNT)
                self.judge("card.burnt", right=card.position == due, detail=f"{detail}; it must have position {due}")
            stream.burnt = card.position

    def status(self, stream: Numbering, status: theirs.OpenShoeStatus) -> None:
        many = f"a STATUS contains {len(status.faults)} faults"
        self.judge("status.faults", right=len(status.faults) <= MOST_STANDING, detail=many)
        stream.locked = bool(status.locked)
        stream.faults = {each.code for each in status.faults}

    def fault(self, stream: Numbering, fault: theirs.FaultChanged) -> None:
        if fault.raised:
            right, detail = fault.code not in stream.faults, f"fault {fault.code} is active, and is raised again"
            stream.faults.add(fault.code)
        else:
            right, detail = not fault.blocking, f"fault {fault.code} is cleared, and blocks"
            stream.faults.discard(fault.code)
        self.judge("fault.once", right=right, detail=detail)

    def set(self, body: theirs.ReportBody) -> None:
        sets = self.sets
        match body:
            case theirs.Recognised(set_id):
                sets.begun[set_id] = []
                sets.places[set_id] = 1
                sets.delivered.discard(set_id)
            case theirs.CardOrder(set_id, first, cards):
                due = sets.places.get(set_id, 1)
                right = first == due and set_id not in sets.delivered
                self.judge(
                    "set.cards", right=right, detail=f"a part of {set_id} has first {first}, and must have first {due}"
                )
                sets.places[set_id] = first + len(cards)
            case theirs.Delivered(set_id):
                sets.delivered.add(set_id)
                if (begun := sets.begun.pop(set_id, None)) is not None:
                    missing = [name for name, kinds in STEPS.items() if not any(each in begun for each in kinds)]
                    detail = f"{set_id} is delivered without {', '.join(missing)}"
                    self.judge("set.order", right=not missing, detail=detail)
            case theirs.Inventory(set_id) if set_id in sets.begun:
                sets.begun[set_id].append(type(body))
            case (
                theirs.Shuffling(set_id=set_id) | theirs.Shuffled(set_id=set_id) | theirs.OpenShoeFailed(set_id=set_id)
            ):
                named = self.version >= VERSION_3
                if named and sets.begun:
                    self.judge("set.named", right=set_id in sets.begun, detail=f"set {set_id!r} was not recognised")
                for name, begun in sets.begun.items():
                    if name == set_id or not named:
                        begun.append(type(body))
            case _:
                pass


def unescaped(raw: bytes) -> bytes:
    """The body of a frame, its CRC included."""
    return ESCAPED.sub(lambda match: bytes((match[1][0] ^ 0x20,)), raw[1:-1])


def broken_by(each: Rejected) -> str | None:
    """The clause that a rejected frame violates."""
    body = unescaped(each.raw)
    match each.reason:
        case Reason.BAD_CHECK:
            return "frame.crc"
        case Reason.OVER_LONG:
            return "frame.size"
        case Reason.UNKNOWN_VERSION:
            return "version.known"
        case _ if re.search(PLAIN, ESCAPED.sub(b"", each.raw[1:-1])):
            return "frame.escapes"
        case _ if len(body) < HEAD.size + CHECK.size:
            return "frame.size"
    _, kind, number = HEAD.unpack_from(body)
    if kind in NOTICED and number:
        return "notice.number"
    return "report.number" if kind in NUMBERED and not number else "report.fields"
