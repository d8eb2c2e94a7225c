"""What every device family declares: its line, its frames, its settings, and how bytes become messages.

A family is data. The generic deframer is driven by a `Framing`, the configuration and the
documentation iterate the settings, and what cannot be decoded is a `Malformed`: a value
with its reason, never an exception.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Final, Generic, NamedTuple, Self, TypeVar

T = TypeVar("T")
Name = TypeVar("Name", bound=Enum)
Message_co = TypeVar("Message_co", covariant=True)
S = TypeVar("S", bound="Settings")


class Mark(Enum):
    """How a fact about a device is known."""

    DOCUMENTED = "documented"  # public material about the device states it
    OBSERVED = "observed"  # somebody saw it on a running device
    ASSUMED = "assumed"  # ours, where nothing says


class Reason(Enum):
    """Why bytes are no frame."""

    JUNK = "junk"  # outside any frame
    TORN = "torn"  # begun and not finished
    OVER_LONG = "over-long"
    BAD_CHECK = "bad-check"
    UNKNOWN_COMMAND = "unknown-command"
    UNDECLARED_CODE = "undeclared-code"  # a value that the protocol page does not name
    MALFORMED = "malformed"  # a length, a bit or a character that cannot be
    ECHO = "echo"  # an order of a host, sent back
    UNKNOWN_VERSION = "unknown-version"  # of the protocol: its layout is not known
    UNSEALED = "unsealed"  # on a line with a key, and outside the secure channel
    NOT_AUTHENTIC = "not-authentic"  # not what the device said in this session, or a copy of what it said
    WRONG_ROLE = "wrong-role"  # a shoe where a shuffler is expected, or what only the other says


class Malformed(NamedTuple):
    """A whole frame that says nothing we can use, and why."""

    reason: Reason
    detail: str


class Code(NamedTuple, Generic[Name]):
    """One value on the line and what it stands for."""

    number: int
    name: Name
    meaning: str
    mark: Mark


class FrameKind(NamedTuple):
    """One kind of frame: where it begins, where it ends, how long it may be."""

    name: str
    start: int
    end: int | None  # None: the body is exactly body_max bytes
    body_max: int  # between start and end
    trailer: int = 0  # bytes after the end, as of a check
    breaks_in: bool = True  # whether it may begin at the byte that tears another frame
    alone: bytes = b""  # values of a first byte that is the whole body
    fixed: tuple[tuple[bytes, ...], ...] = ()  # bodies of one length, by the values of each byte; `never_inside` too


class Form(NamedTuple, Generic[Name]):
    """One way in which a device puts what it says on the line, where there are several."""

    name: Name
    shown: str
    meaning: str
    mark: Mark


class Framing:
    """How the frames of one direction are told apart on the line. Equal only to itself, so that a lookup is cheap."""

    def __init__(self, kinds: tuple[FrameKind, ...], never_inside: bytes) -> None:
        self.kinds: Final = kinds
        # Values that no trailer holds and no body that is not fixed, every end among them: one out of place tears.
        self.never_inside: Final = never_inside


class Direction(NamedTuple, Generic[Message_co]):
    """What one end says to the other: how to find its frames, and what each of them means."""

    framing: Framing
    torn_after_ms: int
    read: Callable[[bytes], Message_co | Malformed]  # one whole frame, its check included


class Parity(Enum):
    NONE = "N"
    EVEN = "E"
    ODD = "O"


class Line(NamedTuple):
    baud: int
    bytesize: int = 8
    parity: Parity = Parity.NONE
    stopbits: int = 1

    def __str__(self) -> str:
        return f"{self.baud} {self.bytesize}{self.parity.value}{self.stopbits}"

    @property
    def seconds_per_byte(self) -> float:
        start_bit = 1
        return (start_bit + self.bytesize + (self.parity is not Parity.NONE) + self.stopbits) / self.baud


class UsbId(NamedTuple):
    """A USB device behind which the family may be found."""

    vendor: int
    product: int
    name: str
    mark: Mark
    note: str
    raw: bool = False  # it is the device itself, not an adapter with a tty: its USB or HID node is opened


@dataclass(frozen=True, slots=True)
class Settings:
    """The base of every family's settings: one frozen dataclass, each field made by `setting`."""

    def standing(self, role: str) -> Self:  # noqa: ARG002 -- for families of several roles
        """The same for a device that stands at its table as this: shoe or shuffler."""
        return self

    def on(self, line: Line) -> Self:  # noqa: ARG002 -- for families whose sessions depend on the speed
        """The same for a device on this serial line, which its host opens itself."""
        return self

    def listening(self) -> Self:
        """The same for a host that only listens: most families' hosts say nothing anyway but orders."""
        return self


class Setting(NamedTuple):
    """What is declared of one field of a family's settings."""

    default: object
    choices: tuple[Enum, ...]  # empty: a number between low and high, or a table
    low: int | None
    high: int | None
    unit: str
    reason: str
    mark: Mark
    codes: str = ""  # of a table of codes, and which card each is: the pattern of a code; the unit puts it in words


DECLARED: Final = "setting"


def setting(default: T, *, reason: str, mark: Mark, within: tuple[int, int] | None = None, unit: str = "") -> T:
    """Declare one field of a `Settings`; where the default is an enum, its members are the choices."""
    choices = tuple(type(default)) if isinstance(default, Enum) else ()
    low, high = within or (None, None)
    return field(default=default, metadata={DECLARED: Setting(default, choices, low, high, unit, reason, mark)})


def card_codes(codes: str, *, unit: str, reason: str, mark: Mark) -> Mapping[str, str]:
    """Declare a field for a table, empty by default: codes that match a pattern, and which card each is."""
    metadata = {DECLARED: Setting({}, (), None, None, unit, reason, mark, codes)}
    return field(default_factory=dict, metadata=metadata)


def declared(settings: type[Settings]) -> Mapping[str, Setting]:
    return {each.name: each.metadata[DECLARED] for each in fields(settings)}


class Codes(NamedTuple):
    """The numbers that a field of a message may carry, where the page names them."""

    message: type
    field: str
    numbers: tuple[int, ...]


class Family(NamedTuple, Generic[S]):
    """One family of devices that speak the same protocol."""

    name: str
    title: str
    firmware: tuple[str, ...]  # the versions whose layout is known; any other is refused
    line: Line | None  # None: no serial line of its own
    usb_ids: tuple[UsbId, ...]
    settings: type[S]
    reports: Callable[[S], Direction[object]]  # device to host
    orders: Callable[[S], Direction[object]]  # host to device
    roles: tuple[str, ...] = ("shoe",)  # what a device of it may be at a table: shoe, shuffler
    messages: tuple[type, ...] = ()  # all that a device of it says: its captures hold each, with each choice it has
    codes: tuple[Codes, ...] = ()  # and each of these numbers
    keyed: bool = False  # a device of it may have a key: it has a secure channel
    identifies: bool = False  # a device of it says who it is when a line opens: the line alone proves nothing
