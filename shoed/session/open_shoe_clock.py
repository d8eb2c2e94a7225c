"""The moment at which a card of an Open Shoe was drawn: from the clock of the device to UTC.

Theory of operation: a frame contains a value of the clock of the device. A frame that did not wait at the device
arrives between 0 and `delay_us` after its clock value. Therefore the frame bounds the moment of this clock value: an
earliest and a latest moment on the monotonic clock of the host. An anchor is a clock value with these bounds. Each
further frame narrows the bounds: the smallest difference between arrival and clock value is the best. The bounds become
wider with the time since the anchor, by the maximum drift between the two clocks. A frame that arrives later than the
bounds allow was delayed, and is ignored. A frame that arrives earlier than the bounds allow proves that the anchor is
wrong.

In version 3, only HELLO and ALIVE are known not to have waited. In versions 1 and 2, HELLO and ALIVE have no clock; a
report after another report on an undisturbed line counts as one that did not wait.

An anchor is valid for one power-up (versions 1 and 2: for one numbering). Versions 1 and 2 do not report a restart, and
after a restart the clock of the device may continue at its last value. After an absence, a card may therefore have been
drawn at any moment from the moment by the anchor to the arrival of the report. The error bound covers this interval.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe.layout import VERSION_3
from firmware_protocols.open_shoe.messages import Alive, Hello, OpenShoeCard, OpenShoeReport
from shoed.model.moments import Now
from shoed.model.observations import DrawTime

MILLION: Final = 1_000_000
HOST_PPM: Final = 100  # assumed: the crystal of a host
DRIFT_PPM: Final = 200  # assumed if the device does not know: twice the error of a cheap crystal
BYTE_US: Final = 87  # ten bits on the slowest line of the page
HELD_US: Final = 20_000  # assumed: a USB adapter delays bytes by up to 16 ms
UNNOTICED_US: Final = 50_000  # a shorter standstill of the host is not in `late_ns`
APART_US: Final = 60 * MILLION  # an absence has an anchor at each end
REFUSED_US: Final = 30 * MILLION  # after frames were delayed for this long, a new anchor begins
BACK_US: Final = MILLION  # reports overtake each other by less than this
STEP_US: Final = MILLION  # a larger difference between UTC and the monotonic clock means that UTC was set
MOST_US: Final = 86_400 * MILLION  # a bound of more than a day has no value
AGAIN_NS: Final = 1_000_000_000  # a device repeats a damaged report within half of this time
BUSY_NS: Final = 100_000_000  # a window takes 90 ms of the line: a report that follows sooner waited for the window
SILENT_NS: Final = 11_000_000_000  # ALIVE is missing: the line was cut, and the first transmissions may be lost
ANCHORS: Final = 4  # for the last power-ups: the device may still keep reports of an earlier power-up
CLOCK_END: Final = 1 << 63  # 292,000 years; a state cannot hold a larger number


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """The clock of a device showed `clock_us` between two moments of the monotonic clock of the host."""

    stream: int
    boot: int  # 0 in versions 1 and 2
    clock_us: int
    earliest_us: int
    latest_us: int
    ppm: int  # the maximum drift between the two clocks
    stopped: bool = False  # the device may have lost its power since
    refused_us: int | None = None  # since this arrival, all frames were later than the bounds allow

    def at(self, clock_us: int) -> tuple[int, int]:
        """The bounds of the moment at which the clock shows this value."""
        passed = clock_us - self.clock_us
        apart = abs(passed) * self.ppm // MILLION + 1
        return self.earliest_us + passed - apart, self.latest_us + passed + apart


class Arrival(msgspec.Struct, frozen=True):
    """The moment at which the host read a frame."""

    at: Now
    size: int  # bytes
    late_ns: int = 0  # the frame may have arrived earlier by this time

    @property
    def us(self) -> int:
        return -(-self.at.mono_ns // 1000)

    @property
    def delay_us(self) -> int:
        """The maximum time from the clock value to the arrival, if the frame did not wait at the device."""
        return self.size * BYTE_US + HELD_US + UNNOTICED_US + self.late_ns // 1000 + 1


class Shown(msgspec.Struct, frozen=True):
    """The value that the clock of the device showed when a frame was made, or earlier."""

    stream: int
    boot: int
    clock_us: int
    arrived_us: int
    delay_us: int | None  # the maximum time since the clock showed the value; None: the frame may have waited


class Fit(Enum):
    """How a frame relates to an anchor."""

    AGREES = auto()
    DELAYED = auto()  # the frame arrived later than the bounds allow
    EARLY = auto()  # the frame arrived earlier than the bounds allow


def fit(anchor: Anchor, shown: Shown) -> Fit:
    earliest, latest = anchor.at(shown.clock_us)
    if shown.arrived_us < earliest:
        return Fit.EARLY
    late = shown.delay_us is not None and shown.arrived_us - shown.delay_us > latest
    return Fit.DELAYED if late else Fit.AGREES


def of(anchors: Iterable[Anchor], stream: int, boot: int) -> tuple[Anchor, ...]:
    return tuple([each for each in anchors if (each.stream, each.boot) == (stream, boot)])


def begun(anchors: tuple[Anchor, ...], shown: Shown, ppm: int) -> tuple[Anchor, ...]:
    """Anchors with a new anchor of this clock. The previous anchor is wrong, or there was none."""
    others = tuple([each for each in anchors if (each.stream, each.boot) != (shown.stream, shown.boot)])
    if shown.delay_us is None:
        return others
    earliest_us = shown.arrived_us - shown.delay_us
    new = Anchor(shown.stream, shown.boot, shown.clock_us, earliest_us, shown.arrived_us, ppm)
    return (*others, new)[-ANCHORS:]


def with_frame(anchors: tuple[Anchor, ...], shown: Shown, ppm: int | None = None) -> tuple[Anchor, ...]:
    """Update the anchors with the clock value of a frame. `ppm` is the maximum drift, if the frame states a drift."""
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
    """Whether the delay is so long that the clock itself lost time."""
    refused_us = shown.arrived_us if anchor.refused_us is None else anchor.refused_us
    return anchor.stopped or shown.arrived_us - refused_us >= REFUSED_US


def agreed(anchors: tuple[Anchor, ...], own: tuple[Anchor, ...], last: Anchor, shown: Shown) -> tuple[Anchor, ...]:
    """Narrow the bounds by the frame. An anchor far from the frame stays, in addition to the new anchor."""
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


def of_alive(anchors: tuple[Anchor, ...], message: Alive, version: int, arrival: Arrival) -> tuple[Anchor, ...]:
    return anchors if version < VERSION_3 else with_frame(anchors, sent(message, arrival))


def of_hello(anchors: tuple[Anchor, ...], hello: Hello, version: int, arrival: Arrival) -> tuple[Anchor, ...]:
    if version < VERSION_3:
        return away(anchors, version)
    ppm = HOST_PPM + (DRIFT_PPM if hello.drift_ppm is None else hello.drift_ppm)
    return with_frame(anchors, sent(hello, arrival), ppm)


def sent(message: Hello | Alive, arrival: Arrival) -> Shown:
    """Return the clock value of HELLO or ALIVE in version 3: the clock at the moment of sending."""
    return Shown(message.stream, message.boot, message.clock_us, arrival.us, arrival.delay_us)


def undisturbed(arrival: Arrival, before_ns: int | None, rejected_ns: int | None) -> bool:
    """Whether no earlier transmission of the report can have been lost, and no other frame delayed the report.

    `before_ns`: the arrival of the previous frame; `rejected_ns`: the moment of the last rejected bytes.
    """
    if before_ns is None or (rejected_ns is not None and arrival.at.mono_ns - rejected_ns < AGAIN_NS):
        return False
    return BUSY_NS + arrival.late_ns <= arrival.at.mono_ns - before_ns < SILENT_NS


def of_report(
    anchors: tuple[Anchor, ...], report: OpenShoeReport, before_us: int, arrival: Arrival, *, prompt: bool
) -> tuple[tuple[Anchor, ...], DrawTime | None]:
    """Update the anchors with a report, and find the moment of its card. `prompt`: the report did not wait.

    A card is reported after its trailing edge. A card with the clock of the previous report, `before_us`, may have
    entered the window before that clock, because a clock never goes back.
    """
    passage_us = report.body.passage_us if isinstance(report.body, OpenShoeCard) else 0
    raised = isinstance(report.body, OpenShoeCard) and report.clock_us == before_us
    waited = (
        report.version >= VERSION_3
        or not prompt
        or raised
        or (isinstance(report.body, OpenShoeCard) and not passage_us)
    )
    made_us = report.clock_us if raised else report.clock_us + passage_us
    delay_us = None if waited else arrival.delay_us
    anchors = with_frame(anchors, Shown(report.stream, report.boot, made_us, arrival.us, delay_us))
    if not isinstance(report.body, OpenShoeCard) or (raised and not passage_us):
        return anchors, None
    own = of(anchors, report.stream, report.boot)
    return anchors, moment(own, report.clock_us, passage_us, arrival, passage_us if raised else 0)


def moment(
    anchors: tuple[Anchor, ...], clock_us: int, passage_us: int, arrival: Arrival, raised_us: int
) -> DrawTime | None:
    """The moment at which the leading edge of a card passed; the clock may be later than the edge by `raised_us`."""
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
    return DrawTime(arrival.at.utc_us - (arrival.us - best), within_us)


def away(anchors: tuple[Anchor, ...], version: int) -> tuple[Anchor, ...]:
    """The anchors after an absence of the device. In versions 1 and 2 the device may have lost its power."""
    if version >= VERSION_3:
        return anchors
    return tuple([each if each.stopped else replace(each, stopped=True) for each in anchors])


def is_restarted(before: Now, now: Now) -> bool:
    """Whether the monotonic clock of the host restarted. Anchors of the previous clock are not valid."""
    return abs((now.utc_us - before.utc_us) - (now.mono_ns - before.mono_ns) // 1000) > STEP_US
