"""An Open Shoe that cannot be relied on while its line is open: how its repeats and its clock show it.

Theory of operation: a device that hears an acknowledgement forgets the report. One that says the same report again and
again ignores acknowledgements. A clock never goes back within a numbering. It runs no further than the time between two
reports either, if the first of them arrived as soon as it was made. A clock of version 3 counts from a power-up: clocks
of two power-ups are not compared, but the count of the power-ups never goes back.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.observations import DeviceDoubt
from shoed.session.open_shoe_stream import Moment

REPEATS_NS: Final = 1_000_000_000  # twice the time after which a device repeats a report
STOPPED_NS: Final = 2_000_000_000  # without a copy: the device has forgotten the report
US_PER_S: Final = 1_000_000

NO_HELLO: Final = (
    "the device does not answer IDENTIFY, and its reports are not accepted; check that it speaks Open Shoe, "
    "and that both directions of the line work"
)
# Each of them explains why no HELLO is accepted.
UNREADABLE: Final = (DeviceDoubt.UNKNOWN_VERSION, DeviceDoubt.WRONG_ROLE, DeviceDoubt.KEY_NEEDED)
NO_KEY: Final = "the device has a key, and this host has none; give the key of the device by key_file"


class Repeated(msgspec.Struct, frozen=True):
    """Copies of one report: its number, and when the first and the last of them came."""

    sequence: int
    since_ns: int
    last_ns: int

    @property
    def ignored(self) -> str:
        """Why the device ignores acknowledgements; empty: it is not known to."""
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
    """The clock of a report that arrived as soon as it was made, and when it arrived."""

    clock_us: int
    mono_ns: int
    boot: int = 0

    @property
    def moment(self) -> Moment:
        return Moment(self.boot, self.clock_us)


def jumped(before: Moment | None, ticked: Ticked | None, after: Ticked, within_s: int) -> str:
    """Why the clock of a report cannot be right; empty: it can. `before` is the moment of the report before it."""
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
