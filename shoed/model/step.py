"""The Step: one input of a table and all its results, as one value.

Every room from the wire to the table is a fold, `(state, input, now) -> (state, ...)`. `shoed/engine.py` joins the
folds into one that makes Steps. Everything that a Step sends, to a device or to the broker, leaves after its commit.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec

from firmware_protocols.family import Reason
from shoed.model.commands import Answer, AnyCommand, Author
from shoed.model.events import Event
from shoed.model.findings import AnyFinding
from shoed.model.incarnations import Continued, WordSince
from shoed.model.irregularities import OverdrawnCard
from shoed.model.moments import Now
from shoed.model.noise_budget import NoiseBudget
from shoed.model.observations import AnyObservation, Device, warning


class DeviceOrderKind(Enum):
    LOCK = "lock"
    UNLOCK = "unlock"
    CLEAR_FAULT = "clear-fault"
    CONFIRM = "confirm"

    @classmethod
    def _missing_(cls, value: object) -> "DeviceOrderKind | None":
        """Journals of earlier versions have `clear-error`."""
        return cls.CLEAR_FAULT if value == "clear-error" else None


class DeviceOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """An order of the daemon to a device."""

    kind: DeviceOrderKind
    fault: int | None = None  # of CLEAR_FAULT: the code of the fault; None: the table knows no fault
    card: OverdrawnCard | None = None  # of CLEAR_FAULT for an overdraw

    def __str__(self) -> str:
        return self.kind.value if self.fault is None else f"{self.kind.value} {self.fault}"


class Input(msgspec.Struct, frozen=True, tag_field="came", tag=True, omit_defaults=True):
    """The base of all inputs of a table."""


class DeviceInput(Input, frozen=True, kw_only=True):
    """The base of the inputs of one device."""

    device: Device = Device.SHOE


class Configured(Input, frozen=True):
    """The daemon has started the table with these settings; every link is closed at the start.

    With `running`, the daemon has replaced the settings of a running table, and an open link stays open. `begun`: the
    seed from which the state was made (shoed.engine.Plant), as JSON; empty: the state continues the previous row.
    """

    settings: str  # canonical JSON
    engine: int
    version: str
    running: bool = False
    words: tuple[WordSince, ...] = ()  # in the ids of the events; empty in journals of earlier versions
    continued: Continued | None = None  # an incarnation that begins for the table
    begun: str = ""


class LinkUp(DeviceInput, frozen=True):
    port: str


class LinkDown(DeviceInput, frozen=True):
    """The link closed, or could not be opened."""

    reason: str


class Received(DeviceInput, frozen=True):
    data: bytes
    late_ns: int = 0  # the longest time between the arrival of the bytes and this Step
    unkept: int = 0  # the number of received bytes that the journal does not keep


class BytesRefused(DeviceInput, frozen=True):
    """Bytes of the line that the secure channel of the device rejects."""

    data: bytes
    reason: Reason
    detail: str
    unkept: int = 0  # as in Received


class Woken(Input, frozen=True):
    """The clock has reached the moment that the engine named."""


class Ordered(DeviceInput, frozen=True):
    """A device order for a session."""

    order: DeviceOrder


class Commanded(Input, frozen=True, tag="Told"):
    """A command, its author, and the id for its answer."""

    command: AnyCommand
    author: Author
    id: str


AnyInput = Configured | LinkUp | LinkDown | Received | BytesRefused | Woken | Ordered | Commanded


class QuietInput(msgspec.Struct, frozen=True):
    """Received bytes that make no Step: a part of a frame, or copies of a report.

    The next Step of the table contains them, each with its own moment, so that a replay folds each of them alone. The
    observations of that Step begin with the `CopyHeard` of its quiet inputs.
    """

    input: Received
    now: Now


class Send(msgspec.Struct, frozen=True):
    """Bytes for a device."""

    device: Device
    data: bytes


class SessionAfterNoise(msgspec.Struct, frozen=True):
    """The state of a session after bytes that the journal does not keep, as JSON."""

    session: msgspec.Raw
    budget: NoiseBudget = msgspec.field(name="kept")


class Step(msgspec.Struct, frozen=True):
    row: int  # the number of the Step, from 1 for each table; the row of the journal
    now: Now
    input: AnyInput
    observations: tuple[AnyObservation, ...] = ()
    findings: tuple[AnyFinding, ...] = ()
    events: tuple[Event, ...] = ()
    orders: tuple[DeviceOrder, ...] = ()  # of the command, for the session
    sends: tuple[Send, ...] = ()
    answers: tuple[Answer, ...] = ()
    after_noise: Mapping[str, SessionAfterNoise] = {}  # by device, while the bytes of the device are not kept
    quiet: tuple[QuietInput, ...] = ()  # before `input`, in the order of their arrival

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """The log lines of the Step, each with its kind."""
        texts = [(seen, warning(seen)) for seen in self.observations]
        of_devices = [(type(seen).__name__, f"{seen.device.value}: {text}") for seen, text in texts if text]
        return of_devices + [(type(finding).__name__, str(finding)) for finding in self.findings]
