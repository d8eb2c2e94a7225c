"""Doubts about an Open Shoe device whose line is open, from its repetitions and its clock.

Theory of operation: a device deletes an acknowledged report. A device that repeats one report again and again ignores
acknowledgements. A clock never goes back within a numbering. A clock also advances by no more than the time between two
reports, if the first of them arrived immediately after it was made. A clock of version 3 counts from a power-up: clocks
of two power-ups are not compared, but the count of the power-ups never goes back.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.observations import DeviceDoubt
from shoed.session.open_shoe_stream import DeviceMoment

REPEATS_NS: Final = 1_000_000_000  # twice the time after which a device repeats a report
STOPPED_NS: Final = 2_000_000_000  # after this time without a copy, the device has deleted the report
US_PER_S: Final = 1_000_000

NO_HELLO: Final = (
    "the device does not answer IDENTIFY, and its reports are not accepted; check that the device uses Open Shoe, "
    "and that both directions of the line work"
)
# Each of these doubts explains why no HELLO is accepted.
UNREADABLE: Final = (DeviceDoubt.UNKNOWN_VERSION, DeviceDoubt.WRONG_ROLE, DeviceDoubt.KEY_NEEDED)
NO_KEY: Final = "the device has a key, and this host has no key; set key_file to the key of the device"


class Repeated(msgspec.Struct, frozen=True):
    """Copies of one report: its number, and the arrivals of the first and the last copy."""

    sequence: int
    since_ns: int
    last_ns: int

    @property
    def ignored(self) -> str:
        """Evidence that the device ignores acknowledgements, or empty."""
        if self.last_ns - self.since_ns < REPEATS_NS:
            return ""
        return (
            f"the device repeats report {self.sequence}, which was acknowledged; check the line from the host to the "
            "device, then the firmware of the device"
        )

    @property
    def stops_ns(self) -> int:
        return self.last_ns + STOPPED_NS


def repeated(before: Repeated | None, sequence: int, now_ns: int) -> Repeated:
    if before is None or now_ns > before.stops_ns:
        return Repeated(sequence, now_ns, now_ns)
    return replace(before, last_ns=now_ns) if before.sequence == sequence else before


class Ticked(msgspec.Struct, frozen=True):
    """The clock of a report that arrived immediately after it was made, and its arrival."""

    clock_us: int
    mono_ns: int
    boot: int = 0

    @property
    def moment(self) -> DeviceMoment:
        return DeviceMoment(self.boot, self.clock_us)


def jumped(before: DeviceMoment | None, ticked: Ticked | None, after: Ticked, within_s: int) -> str:
    """Evidence that the clock of a report is wrong, or empty. `before` is the moment of the previous report."""
    if before is not None and after.moment.goes_back(before):
        if after.boot != before.boot:
            return (
                f"the device reports power-up {after.boot} after power-up {before.boot}; check that it counts its "
                "power-ups"
            )
        back_s = (before.clock_us - after.clock_us) / US_PER_S
        return f"the clock of the device went back by {back_s:g} s; check the clock of the device"
    if ticked is None or ticked.boot != after.boot:
        return ""
    ahead_s = (after.clock_us - ticked.clock_us - (after.mono_ns - ticked.mono_ns) // 1000) / US_PER_S
    if ahead_s <= within_s:
        return ""
    return f"the clock of the device jumped ahead by {ahead_s:g} s; check the clock of the device"
