"""When a card of an Open Shoe was drawn: from the clock of the device to UTC.

Theory of operation: a frame arrives after it was made. A frame that did not wait at the device arrives soon after it
was made. So a frame gives two bounds for the moment at which the clock of the device showed a value. An anchor has
both, on the monotonic clock of the host, and each further frame narrows them: the smallest arrival minus clock is the
best. The bounds become wider with the distance from the anchor, by as much as the two clocks may run apart. A frame
that arrives later than the bounds allow was delayed, and is passed over. A frame that arrives sooner proves the anchor
wrong.

In version 3, HELLO and ALIVE alone are known not to have waited. In versions 1 and 2 they have no clock, and a report
that follows the one before it on an undisturbed line counts as one that did not wait.

An anchor is valid for one power-up (versions 1 and 2: for one numbering). Versions 1 and 2 do not report a restart, and
after one their clock may go on where it stood. So after an absence a card may have been drawn at any moment from the
one that the anchor gives to its arrival, and the bound says so.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe.layout import VERSION_3
from firmware_protocols.open_shoe.messages import Alive, Card, Hello, Report
from shoed.now import Now
from shoed.observations import Drawn

MILLION: Final = 1_000_000
HOST_PPM: Final = 100  # assumed: the crystal of a host
DRIFT_PPM: Final = 200  # assumed where the device does not know: twice the error of a cheap crystal
BYTE_US: Final = 87  # ten bits on the slowest line of the page
HELD_US: Final = 20_000  # assumed: a USB adapter holds bytes back for up to 16 ms
UNNOTICED_US: Final = 50_000  # a shorter standstill of the host gives no `late_ns`
APART_US: Final = 60 * MILLION  # an absence; it has an anchor at each end
REFUSED_US: Final = 30 * MILLION  # a delay of all frames for so long is another clock
BACK_US: Final = MILLION  # reports overtake each other by less
STEP_US: Final = MILLION  # UTC and the monotonic clock of one host agree so far, unless UTC is set
MOST_US: Final = 86_400 * MILLION  # a bound of more than a day tells nothing
AGAIN_NS: Final = 1_000_000_000  # a report that was damaged comes again within half of it
BUSY_NS: Final = 100_000_000  # a window takes 90 ms of the line: a report that comes sooner after another waited for it
SILENT_NS: Final = 11_000_000_000  # ALIVE was due: the line was cut, and the first transmissions may be lost
ANCHORS: Final = 4  # of the last power-ups: reports of a power-up before may still be kept
CLOCK_END: Final = 1 << 63  # 292,000 years; a state has no larger numbers


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The clock of a device showed `clock_us` between two moments of the monotonic clock of the host."""

    stream: int
    boot: int  # 0 in versions 1 and 2
    clock_us: int
    earliest_us: int
    latest_us: int
    ppm: int  # the two clocks run apart by no more
    stopped: bool = False  # the device may have been without power since
    refused_us: int | None = None  # all frames since this arrival came later than the bounds allow

    def at(self, clock_us: int) -> tuple[int, int]:
        """The bounds of the moment at which the clock shows this value."""
        passed = clock_us - self.clock_us
        apart = abs(passed) * self.ppm // MILLION + 1
        return self.earliest_us + passed - apart, self.latest_us + passed + apart


class Arrival(msgspec.Struct, frozen=True):
    """When a frame was read."""

    at: Now
    size: int  # bytes
    late_ns: int = 0  # how long before it the frame may have come

    @property
    def us(self) -> int:
        return -(-self.at.mono_ns // 1000)

    @property
    def delay_us(self) -> int:
        """At most so long after the frame was made, if it did not wait at the device."""
        return self.size * BYTE_US + HELD_US + UNNOTICED_US + self.late_ns // 1000 + 1


class Shown(msgspec.Struct, frozen=True):
    """The clock of the device showed this when a frame was made, or before."""

    stream: int
    boot: int
    clock_us: int
    arrived_us: int
    delay_us: int | None  # at most, since the clock showed this; None: not known, the frame may have waited


class Fit(Enum):
    """How a frame relates to an anchor."""

    AGREES = auto()
    DELAYED = auto()  # it arrived later than the bounds allow
    EARLY = auto()  # it arrived before it can have been made


def fit(anchor: Anchor, shown: Shown) -> Fit:
    earliest, latest = anchor.at(shown.clock_us)
    if shown.arrived_us < earliest:
        return Fit.EARLY
    late = shown.delay_us is not None and shown.arrived_us - shown.delay_us > latest
    return Fit.DELAYED if late else Fit.AGREES


def of(anchors: Iterable[Anchor], stream: int, boot: int) -> tuple[Anchor, ...]:
    return tuple([each for each in anchors if (each.stream, each.boot) == (stream, boot)])


def begun(anchors: tuple[Anchor, ...], shown: Shown, ppm: int) -> tuple[Anchor, ...]:
    """What was known of this clock is wrong, or nothing was known."""
    others = tuple([each for each in anchors if (each.stream, each.boot) != (shown.stream, shown.boot)])
    if shown.delay_us is None:
        return others
    earliest_us = shown.arrived_us - shown.delay_us
    new = Anchor(shown.stream, shown.boot, shown.clock_us, earliest_us, shown.arrived_us, ppm)
    return (*others, new)[-ANCHORS:]


def heard(anchors: tuple[Anchor, ...], shown: Shown, ppm: int | None = None) -> tuple[Anchor, ...]:
    """Learn from a frame; `ppm`: how far the clocks may run apart, where the frame says it."""
    if shown.clock_us >= CLOCK_END:
        return anchors
    own = of(anchors, shown.stream, shown.boot)
    if not own:
        return begun(anchors, shown, DRIFT_PPM + HOST_PPM if ppm is None else ppm)
    last = own[-1] if ppm is None else replace(own[-1], ppm=ppm)
    if shown.clock_us < last.clock_us:
        back = last.clock_us - shown.clock_us > BACK_US and shown.delay_us is not None
        return begun(anchors, shown, last.ppm) if back else anchors
    match fit(last, shown):
        case Fit.AGREES:
            return agreed(anchors, own, last, shown)
        case Fit.DELAYED if not is_another(last, shown):
            since = shown.arrived_us if last.refused_us is None else last.refused_us
            return tuple([replace(last, refused_us=since) if each is own[-1] else each for each in anchors])
        case _:
            return begun(anchors, shown, last.ppm)


def is_another(anchor: Anchor, shown: Shown) -> bool:
    """A delay is so long that the clock itself lost time."""
    refused_us = shown.arrived_us if anchor.refused_us is None else anchor.refused_us
    return anchor.stopped or shown.arrived_us - refused_us >= REFUSED_US


def agreed(anchors: tuple[Anchor, ...], own: tuple[Anchor, ...], last: Anchor, shown: Shown) -> tuple[Anchor, ...]:
    """The bounds as the frame narrows them. An anchor that is far from it stays beside the new one."""
    others = [each for each in anchors if each not in own]
    earliest, latest = last.at(shown.clock_us)
    if shown.delay_us is None and shown.arrived_us >= latest:
        return anchors
    latest = min(latest, shown.arrived_us)
    if shown.delay_us is None:
        new = replace(last, clock_us=shown.clock_us, earliest_us=earliest, latest_us=latest)
        return (*others, *own[:-1], new)
    earliest = max(earliest, shown.arrived_us - shown.delay_us)
    new = Anchor(shown.stream, shown.boot, shown.clock_us, earliest, latest, last.ppm)
    stay = own if shown.clock_us - last.clock_us > APART_US else own[:-1]
    return (*others, *[replace(each, stopped=False) for each in stay], new)[-ANCHORS:]


def of_alive(anchors: tuple[Anchor, ...], said: Alive, version: int, arrival: Arrival) -> tuple[Anchor, ...]:
    return anchors if version < VERSION_3 else heard(anchors, sent(said, arrival))


def of_hello(anchors: tuple[Anchor, ...], hello: Hello, version: int, arrival: Arrival) -> tuple[Anchor, ...]:
    if version < VERSION_3:
        return away(anchors, version)
    ppm = HOST_PPM + (DRIFT_PPM if hello.drift_ppm is None else hello.drift_ppm)
    return heard(anchors, sent(hello, arrival), ppm)


def sent(said: Hello | Alive, arrival: Arrival) -> Shown:
    """In version 3 these carry the clock at their sending."""
    return Shown(said.stream, said.boot, said.clock_us, arrival.us, arrival.delay_us)


def undisturbed(arrival: Arrival, before_ns: int | None, rejected_ns: int | None) -> bool:
    """Whether no transmission of a report can have been lost before it, nor have held it up.

    `before_ns`: when the frame before it came; `rejected_ns`: when bytes were rejected last.
    """
    if before_ns is None or (rejected_ns is not None and arrival.at.mono_ns - rejected_ns < AGAIN_NS):
        return False
    return BUSY_NS + arrival.late_ns <= arrival.at.mono_ns - before_ns < SILENT_NS


def of_report(
    anchors: tuple[Anchor, ...], report: Report, before_us: int, arrival: Arrival, *, prompt: bool
) -> tuple[tuple[Anchor, ...], Drawn | None]:
    """Learn from a report, and find the moment of its card. `prompt`: it did not wait at the device.

    A card is reported after its trailing edge. A card with the clock of the report before it, `before_us`, may have
    come into the window before that clock: a clock never goes back.
    """
    passage_us = report.said.passage_us if isinstance(report.said, Card) else 0
    raised = isinstance(report.said, Card) and report.clock_us == before_us
    waited = report.version >= VERSION_3 or not prompt or raised or (isinstance(report.said, Card) and not passage_us)
    made_us = report.clock_us if raised else report.clock_us + passage_us
    delay_us = None if waited else arrival.delay_us
    anchors = heard(anchors, Shown(report.stream, report.boot, made_us, arrival.us, delay_us))
    if not isinstance(report.said, Card) or (raised and not passage_us):
        return anchors, None
    own = of(anchors, report.stream, report.boot)
    return anchors, moment(own, report.clock_us, passage_us, arrival, passage_us if raised else 0)


def moment(
    anchors: tuple[Anchor, ...], clock_us: int, passage_us: int, arrival: Arrival, raised_us: int
) -> Drawn | None:
    """When the leading edge of a card passed; `raised_us`: its clock may be later than that by so much."""
    if not anchors:
        return None
    bounds = [each.at(clock_us) for each in anchors]
    passed_us = arrival.us - passage_us
    earliest = max([each for each, _ in bounds]) - raised_us
    latest = min(passed_us, *[each for _, each in bounds])
    nearest = min(anchors, key=lambda each: abs(each.clock_us - clock_us))
    best = min(max(nearest.latest_us + clock_us - nearest.clock_us, earliest), latest)
    if any(each.stopped for each in anchors):
        latest = passed_us
    within_us = max(best - earliest, latest - best) + 1
    if earliest > latest or within_us > MOST_US:
        return None
    return Drawn(arrival.at.utc_us - (arrival.us - best), within_us)


def away(anchors: tuple[Anchor, ...], version: int) -> tuple[Anchor, ...]:
    """A device was away. In versions 1 and 2 it may have been without power."""
    if version >= VERSION_3:
        return anchors
    return tuple([each if each.stopped else replace(each, stopped=True) for each in anchors])


def is_restarted(before: Now, now: Now) -> bool:
    """Whether the monotonic clock of the host began again, so that no anchor of it is valid."""
    return abs((now.utc_us - before.utc_us) - (now.mono_ns - before.mono_ns) // 1000) > STEP_US
