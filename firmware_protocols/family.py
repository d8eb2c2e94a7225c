"""The declarations of a device family: its line, its frames, its settings, and the meaning of its bytes.

A family is data. A `Framing` drives the generic deframer. The configuration and the documentation iterate the
settings. Bytes that cannot be decoded become a `Malformed`: a value with a reason, never an exception.
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

    DOCUMENTED = "documented"  # public material about the device states the fact
    OBSERVED = "observed"  # seen on a running device, or in a public program
    ASSUMED = "assumed"  # no source states the fact: a decision of this project


class Reason(Enum):
    """Why bytes are not a frame."""

    JUNK = "junk"  # outside any frame
    TORN = "torn"  # begun, but not complete
    OVER_LONG = "over-long"
    BAD_CHECK = "bad-check"
    UNKNOWN_COMMAND = "unknown-command"
    UNDECLARED_CODE = "undeclared-code"  # a value that the protocol page does not name
    MALFORMED = "malformed"  # an impossible length, bit or character
    ECHO = "echo"  # an order of a host that arrives from the device's side
    UNKNOWN_VERSION = "unknown-version"  # a protocol version whose layout is unknown
    UNSEALED = "unsealed"  # a frame outside the secure channel, on a line with a key
    NOT_AUTHENTIC = "not-authentic"  # not a message of the device in this session, or a copy of such a message
    WRONG_ROLE = "wrong-role"  # a shoe where a shuffler is expected, or a message of the other role


class Malformed(NamedTuple):
    """A complete frame without a usable meaning, and the reason."""

    reason: Reason
    detail: str


class Code(NamedTuple, Generic[Name]):
    """One value on the line, and its meaning."""

    number: int
    name: Name
    meaning: str
    mark: Mark


class FrameKind(NamedTuple):
    """One kind of frame: its start, its end, and its longest body."""

    name: str
    start: int
    end: int | None  # None: the body is exactly body_max bytes
    body_max: int  # between start and end
    trailer: int = 0  # bytes after the end, such as a check
    breaks_in: bool = True  # it may begin at the byte that tears another frame
    alone: bytes = b""  # the values of a single byte that is a complete body
    fixed: tuple[tuple[bytes, ...], ...] = ()  # fixed bodies: the values of each byte, also from `never_inside`


class Form(NamedTuple, Generic[Name]):
    """One of several forms of the same message on the line."""

    name: Name
    shown: str
    meaning: str
    mark: Mark


class Framing:
    """How the frames of one direction are separated on the line. Equal only to itself, which makes a lookup cheap."""

    def __init__(self, kinds: tuple[FrameKind, ...], never_inside: bytes) -> None:
        self.kinds: Final = kinds
        # These values, with every end byte, occur in no trailer and in no body except fixed ones. They tear a frame.
        self.never_inside: Final = never_inside


class Codec(NamedTuple, Generic[Message_co]):
    """One direction of a line: how its frames are found, and the meaning of each frame."""

    framing: Framing
    torn_after_ms: int
    read: Callable[[bytes], Message_co | Malformed]  # one complete frame, including its check


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
    """A USB id of a device or an adapter of the family."""

    vendor: int
    product: int
    name: str
    mark: Mark
    note: str
    raw: bool = False  # the id of the device itself, not of an adapter with a tty: the USB or HID node is opened


@dataclass(frozen=True, slots=True)
class Settings:
    """Base class of every family's settings: a frozen dataclass whose fields are made by `setting`."""

    def for_role(self, role: str) -> Self:  # noqa: ARG002 -- for families of several roles
        """Return the settings of a device with this role at its table: shoe or shuffler."""
        return self

    def on(self, line: Line) -> Self:  # noqa: ARG002 -- for families whose sessions depend on the speed
        """Return the settings of a device on this serial line, which the host opens itself."""
        return self

    def listening(self) -> Self:
        """Return the settings of a host that only listens. The hosts of most families send only orders anyway."""
        return self


class Setting(NamedTuple):
    """The declaration of one field of a family's settings."""

    default: object
    choices: tuple[Enum, ...]  # empty: a number between low and high, or a table
    low: int | None
    high: int | None
    unit: str
    reason: str
    mark: Mark
    codes: str = ""  # for a table of codes and their cards: the pattern of a code; `unit` describes it in words


DECLARED: Final = "setting"


def setting(default: T, *, reason: str, mark: Mark, within: tuple[int, int] | None = None, unit: str = "") -> T:
    """Declare one field of a `Settings`. If the default is an enum, its members are the choices."""
    choices = tuple(type(default)) if isinstance(default, Enum) else ()
    low, high = within or (None, None)
    return field(default=default, metadata={DECLARED: Setting(default, choices, low, high, unit, reason, mark)})


def card_codes(codes: str, *, unit: str, reason: str, mark: Mark) -> Mapping[str, str]:
    """Declare a field for a table of codes and their cards. A code matches the pattern; the default is empty."""
    metadata = {DECLARED: Setting({}, (), None, None, unit, reason, mark, codes)}
    return field(default_factory=dict, metadata=metadata)


def declared(settings: type[Settings]) -> Mapping[str, Setting]:
    return {each.name: each.metadata[DECLARED] for each in fields(settings)}


class Codes(NamedTuple):
    """The numbers of a message field that the protocol page names."""

    message: type
    field: str
    numbers: tuple[int, ...]


class Family(NamedTuple, Generic[S]):
    """One family of devices with the same protocol."""

    name: str
    title: str
    firmware: tuple[str, ...]  # the versions with a known layout; any other version is refused
    line: Line | None  # None: no serial line of its own
    usb_ids: tuple[UsbId, ...]
    settings: type[S]
    reports: Callable[[S], Codec[object]]  # device to host
    orders: Callable[[S], Codec[object]]  # host to device
    roles: tuple[str, ...] = ("shoe",)  # the possible roles of a device at a table: shoe, shuffler
    messages: tuple[type, ...] = ()  # all messages of a device; the captures contain each of them, with each choice
    codes: tuple[Codes, ...] = ()  # the captures also contain each of these numbers
    keyed: bool = False  # a device may have a key: the protocol has a secure channel
    identifies: bool = False  # a device identifies itself when a line opens: an open line alone proves nothing
