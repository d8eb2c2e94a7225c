"""The Step: one input of a table, and all that follows from it, as one value.

Every room from the wire to the table is a fold, `(state, input, now) -> (state, ...)`;
`shoed/engine.py` joins them into one that gives Steps. Whatever a Step sends, to a device
or to the broker, leaves after its commit.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec

from firmware_protocols.family import Reason
from shoed.commands import Answer, AnyCommand, Author
from shoed.events import Event
from shoed.findings import AnyFinding
from shoed.kept import Kept
from shoed.now import Now
from shoed.observations import AnyObservation, CopyHeard, Device, warning
from shoed.words import OverdrawnCard


class DeviceOrderKind(Enum):
    LOCK = "lock"
    UNLOCK = "unlock"
    CLEAR_FAULT = "clear-fault"
    CONFIRM = "confirm"

    @classmethod
    def _missing_(cls, value: object) -> "DeviceOrderKind | None":
        """Journals of earlier versions have another word for CLEAR_FAULT."""
        return cls.CLEAR_FAULT if value == "clear-error" else None


class DeviceOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the daemon asks of a device."""

    kind: DeviceOrderKind
    fault: int | None = None  # of CLEAR_FAULT: the code of the fault; None: the table knows none
    card: OverdrawnCard | None = None  # of CLEAR_FAULT, where the fault is an overdraw

    def __str__(self) -> str:
        return self.kind.value if self.fault is None else f"{self.kind.value} {self.fault}"


class Input(msgspec.Struct, frozen=True, tag_field="came", tag=True, omit_defaults=True):
    """The base of all that enters a table's queue."""


class OfDevice(Input, frozen=True, kw_only=True):
    """The base of what concerns one device of the table."""

    device: Device = Device.SHOE


class Configured(Input, frozen=True):
    """The daemon took this table up under these settings; its links begin closed."""

    settings: str  # canonical JSON of what is in force
    engine: int
    version: str


class LinkUp(OfDevice, frozen=True):
    port: str


class LinkDown(OfDevice, frozen=True):
    """The link closed, or could not be opened."""

    reason: str


class Received(OfDevice, frozen=True):
    data: bytes
    late_ns: int = 0  # how long before this Step they may have come
    unkept: int = 0  # so many bytes came, and no row has them


class BytesRefused(OfDevice, frozen=True):
    """Bytes that the line gave and the port refused: the device did not say them in its secure channel."""

    data: bytes
    reason: Reason
    detail: str
    unkept: int = 0  # as in Received


class Woken(Input, frozen=True):
    """The moment that an earlier Step named has come."""


class Ordered(OfDevice, frozen=True):
    """A device order, as a session executes it."""

    order: DeviceOrder


class Told(Input, frozen=True):
    """A command, by whom, and the id under which its sender waits for the answer."""

    command: AnyCommand
    author: Author
    id: str


AnyInput = Configured | LinkUp | LinkDown | Received | BytesRefused | Woken | Ordered | Told


class Send(msgspec.Struct, frozen=True):
    """Bytes for a device."""

    device: Device
    data: bytes


class Left(msgspec.Struct, frozen=True):
    """What stands in the record for bytes that are not kept: the state of the session that they led to, as JSON."""

    session: msgspec.Raw
    kept: Kept


class Step(msgspec.Struct, frozen=True):
    row: int  # counts a table's steps from 1: the journal row, and the provenance of a card
    now: Now
    input: AnyInput
    observations: tuple[AnyObservation, ...] = ()
    findings: tuple[AnyFinding, ...] = ()
    events: tuple[Event, ...] = ()
    orders: tuple[DeviceOrder, ...] = ()  # of the command, given to the session in this Step
    sends: tuple[Send, ...] = ()
    answers: tuple[Answer, ...] = ()
    left: Mapping[str, Left] = {}  # by the device whose bytes are not kept: the state after this Step

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """The lines of the log about it, each with its kind."""
        told = [(seen, warning(seen)) for seen in self.observations]
        of_devices = [(type(seen).__name__, f"{seen.device.value}: {text}") for seen, text in told if text]
        return of_devices + [(type(finding).__name__, str(finding)) for finding in self.findings]

    @property
    def urgent(self) -> bool:
        """Whether anything waits for the commit; what does not rides on the next one."""
        return bool(self.events or self.sends or self.orders or self.findings or self.answers) or any(
            not isinstance(seen, CopyHeard) for seen in self.observations
        )
