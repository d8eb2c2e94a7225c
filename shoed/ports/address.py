"""Device addresses: `serial:///dev/ttyUSB0?baud=4800`, `tcp://host:4001`, `usb://1209:0001`, `replay:FILE`.

People write addresses into the configuration. `parse_address` refuses every invalid address before a port is opened.
The ValueError has one text `PROBLEM; REMEDY` for each problem. `str(address)` is the canonical text. Addresses have no
percent-encoding: a path ends at the first question mark.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from firmware_protocols.family import Line, Parity
from shoed.settings import SeveralProblems, nearest, problems_of, shown

T = TypeVar("T")

# The time after which the kernel reports a device server that does not answer. The kernel sends one probe in each
# quarter of this time.
KEEPALIVE_S: Final = 20

FORMS: Final = (
    "write serial:///dev/NODE, usb://VENDOR:PRODUCT, hidraw:///dev/NODE, tcp://HOST:PORT, rfc2217://HOST:PORT"
    " or replay:FILE"
)
LINE_OPTIONS: Final = ("baud", "bytesize", "parity", "stopbits")
SCHEMES: Final = ("serial", "tcp", "replay", "rfc2217", "usb", "hidraw")
LAST_PORT: Final = 65535
LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
HOST_NAME: Final = re.compile(rf"{LABEL}(?:\.{LABEL})*\.?")


class Speed(Enum):
    """The speed of a replayed capture."""

    REAL = "real"  # each chunk at its recorded offset
    FAST = "fast"  # without waiting; each chunk keeps its recorded time


class SerialAddress(Struct, frozen=True):
    """A serial line. For a field that is None, the device family's value applies."""

    path: str
    baud: int | None = None
    bytesize: int | None = None
    parity: Parity | None = None
    stopbits: int | None = None

    def line(self, family_line: Line | None) -> Line:
        return _line(self, family_line)

    def at(self, line: Line) -> Self:
        return replace(self, baud=line.baud, bytesize=line.bytesize, parity=line.parity, stopbits=line.stopbits)

    def __str__(self) -> str:
        return f"serial://{self.path}{_own(self)}"


class TcpAddress(Struct, frozen=True):
    """A raw TCP port of a device server, or of any program that sends the device's bytes."""

    host: str  # a name or a number; IPv6 without its brackets
    port: int
    keepalive_s: int = KEEPALIVE_S

    def __str__(self) -> str:
        own = {"keepalive_s": self.keepalive_s} if self.keepalive_s != KEEPALIVE_S else {}
        return f"tcp://{_place(self)}{_query(own)}"


class Rfc2217Address(Struct, frozen=True):
    """A serial line of a device server that supports RFC 2217: the client sets the line."""

    host: str
    port: int
    baud: int | None = None
    bytesize: int | None = None
    parity: Parity | None = None
    stopbits: int | None = None

    def line(self, family_line: Line | None) -> Line:
        return _line(self, family_line)

    def at(self, line: Line) -> Self:
        return replace(self, baud=line.baud, bytesize=line.bytesize, parity=line.parity, stopbits=line.stopbits)

    def __str__(self) -> str:
        return f"rfc2217://{_place(self)}{_own(self)}"


def _place(server: TcpAddress | Rfc2217Address) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{host}:{server.port}"


def _line(own: SerialAddress | Rfc2217Address, family_line: Line | None) -> Line:
    """The family's line with the options of the address; a ValueError if neither contains the speed."""
    if family_line is None:
        if own.baud is None:
            raise ValueError(
                "the speed is not known, because the device family declares no serial line; add ?baud=9600"
            )
        family_line = Line(own.baud)
    return Line(
        baud=own.baud or family_line.baud,
        bytesize=own.bytesize or family_line.bytesize,
        parity=own.parity or family_line.parity,
        stopbits=own.stopbits or family_line.stopbits,
    )


def _own(address: SerialAddress | Rfc2217Address) -> str:
    parity = address.parity and address.parity.value
    own = {"baud": address.baud, "bytesize": address.bytesize, "parity": parity, "stopbits": address.stopbits}
    return _query({key: value for key, value in own.items() if value is not None})


class UsbAddress(Struct, frozen=True):
    """A USB device with bulk or interrupt endpoints, for which the kernel has no suitable node."""

    vendor: int
    product: int
    serial: str | None = None  # required if several devices with these ids are connected
    interface: int | None = None  # None: the first interface with an IN endpoint

    def __str__(self) -> str:
        own = {"interface": self.interface} if self.interface is not None else {}
        serial = f"/{self.serial}" if self.serial is not None else ""
        return f"usb://{self.vendor:04x}:{self.product:04x}{serial}{_query(own)}"


class HidrawAddress(Struct, frozen=True):
    """The raw reports of a HID device. The kernel's driver stays attached."""

    path: str
    id: tuple[int, int] | None = None  # vendor and product; None: the ids that the family declares

    def __str__(self) -> str:
        own = {"id": "{:04x}:{:04x}".format(*self.id)} if self.id is not None else {}
        return f"hidraw://{self.path}{_query(own)}"


class ReplayAddress(Struct, frozen=True):
    """A recorded capture."""

    path: str
    speed: Speed = Speed.REAL

    def __str__(self) -> str:
        own = {"speed": self.speed.value} if self.speed is not Speed.REAL else {}
        return f"replay:{self.path}{_query(own)}"


Address = SerialAddress | TcpAddress | Rfc2217Address | UsbAddress | HidrawAddress | ReplayAddress


def _query(options: Mapping[str, object]) -> str:
    return "?" + "&".join(f"{key}={value}" for key, value in options.items()) if options else ""


def parse_address(text: str) -> Address:
    scheme, colon, rest = text.partition(":")
    place, _, query = rest.partition("?")
    match scheme if colon else "":
        case "serial":
            return _serial(place, query)
        case "tcp":
            return _tcp(place, query)
        case "replay":
            return _replay(place, query)
        case "rfc2217":
            return _rfc2217(place, query)
        case "usb":
            return _usb(place, query)
        case "hidraw":
            return _hidraw(place, query)
        case unknown:
            raise ValueError(f"{shown(without_user(text))} is not the address of a device; {_meant(text, unknown)}")


def without_user(text: str) -> str:
    """The address for a message, without its user and password."""
    return re.sub(r"(?s)^([A-Za-z0-9+]+:/+)?.*@", r"\1", text)


def _meant(text: str, scheme: str) -> str:
    """The remedy for a bare path, a bare HOST:PORT or a misspelt scheme."""
    if text.startswith("/dev/"):
        return f"write serial://{text}"
    if near := nearest(scheme, SCHEMES):
        return f"the nearest known scheme is {near}; {FORMS}"
    if re.fullmatch(r"[A-Za-z0-9_.-]+:[0-9]+", text):
        return f"write tcp://{text}"
    return FORMS


def _serial(place: str, query: str) -> SerialAddress:
    options = _Options(query, LINE_OPTIONS)
    line = _line_options(options)
    return SerialAddress(options.around(lambda: _node(place, "serial")), *line)


def _node(place: str, scheme: str) -> str:
    if not re.fullmatch(r"///[^/].*", place):
        raise ValueError(
            f"{shown(f'{scheme}:{place}')} is not the full path of a device node;"
            f" write {scheme}:///{place.strip('/') or 'dev/NODE'}"
        )
    return place.removeprefix("//")


def _line_options(options: "_Options") -> tuple[int | None, int | None, Parity | None, int | None]:
    return (
        options.whole("baud", 50, 4_000_000),
        options.whole("bytesize", 5, 8),
        options.choice("parity", {parity.value: parity for parity in Parity}),
        options.whole("stopbits", 1, 2),
    )


def _rfc2217(place: str, query: str) -> Rfc2217Address:
    options = _Options(query, LINE_OPTIONS)
    line = _line_options(options)
    host, port = options.around(lambda: host_and_port(place, "rfc2217"))
    return Rfc2217Address(host, port, *line)


def _tcp(place: str, query: str) -> TcpAddress:
    options = _Options(query, ("keepalive_s",))
    keepalive_s = options.whole("keepalive_s", 1, 3600) or KEEPALIVE_S
    host, port = options.around(lambda: host_and_port(place, "tcp"))
    return TcpAddress(host, port, keepalive_s)


def host_and_port(place: str, scheme: str, least: int = 1) -> tuple[str, int]:
    match = re.fullmatch(r"//(?:\[([^][]*)\]|([^][:]*)):([0-9]+)", place)
    if match is None:
        brackets = "brackets around an IPv6 address, " if place.count(":") > 1 else ""
        raise ValueError(
            f"{shown(without_user(f'{scheme}:{place}'))} does not contain a host and a port;"
            f" write {scheme}://HOST:PORT, {brackets}as in {scheme}://10.0.0.7:4001"
        )
    six, name, port = match.groups()
    wrong: list[str] = []
    if six is not None:
        wrong += faults_of_ipv6(six, f"{scheme}://[fd00::7]:4001")
    elif not HOST_NAME.fullmatch(name):
        wrong.append(f"{shown(name)} is not a host; write a name or an address, as in {scheme}://10.0.0.7:4001")
    if not least <= int(port) <= LAST_PORT:
        wrong.append(f"port {port} does not exist; write a number from {least} to {LAST_PORT}")
    if wrong:
        raise SeveralProblems(*wrong)
    return six or name, int(port)


def _usb(place: str, query: str) -> UsbAddress:
    options = _Options(query, ("interface",))
    interface = options.whole("interface", 0, 255)
    vendor, product, serial = options.around(lambda: _usb_ids(place))
    return UsbAddress(vendor, product, serial, interface)


def _usb_ids(place: str) -> tuple[int, int, str | None]:
    ids = re.fullmatch(r"//([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})(?:/(.+))?", place)
    if ids is None:
        raise ValueError(
            f"{shown(f'usb:{place}')} does not contain the ids of a device; write usb://VENDOR:PRODUCT with four hex"
            " digits each, optionally with the serial number, as in usb://1209:0001/A7"
        )
    vendor, product, serial = ids.groups()
    return int(vendor, 16), int(product, 16), serial


def _hidraw(place: str, query: str) -> HidrawAddress:
    options = _Options(query, ("id",))
    ids = options.ids("id")
    return HidrawAddress(options.around(lambda: _node(place, "hidraw")), ids)


def faults_of_ipv6(text: str, example: str) -> list[str]:
    """The problems of an IPv6 address; `example` is a correct full address for the remedy."""
    try:
        ipaddress.IPv6Address(text)
    except ValueError as error:
        wrong = str(error).replace("'", '"')  # Python's quotes
        return [f"{shown(f'[{text}]')} is not an IPv6 address: {wrong}; write an IPv6 address, as in {example}"]
    return []


def _replay(place: str, query: str) -> ReplayAddress:
    options = _Options(query, ("speed",))
    speed = options.choice("speed", {speed.value: speed for speed in Speed}) or Speed.REAL
    return ReplayAddress(options.around(lambda: _file(place)), speed)


def _file(place: str) -> str:
    if not place or place.startswith("//"):
        named = shown(f"replay:{place}")
        raise ValueError(f"{named} does not contain a file; write replay:FILE, as in replay:captures/one.capture")
    return place


class _Options:
    """The options after the question mark. The object collects the problems of all options."""

    def __init__(self, query: str, known: tuple[str, ...]) -> None:
        self._values: dict[str, str] = {}
        self._wrong: list[str] = []
        for part in query.split("&") if query else ():
            key, _, value = part.partition("=")
            if key not in known:
                near = nearest(key, known)
                remedy = f"the nearest known option is {near}" if near else f"known: {', '.join(known)}"
                self._wrong.append(f"option {shown(key)} is unknown; {remedy}")
            elif key in self._values:
                self._wrong.append(f"option {key} is given twice; remove one")
            self._values.setdefault(key, value)

    def whole(self, key: str, least: int, most: int) -> int | None:
        text = self._values.get(key)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            self._wrong.append(
                f"option {key}: {shown(text)} is not allowed; write a whole number from {least} to {most}"
            )
            return None
        return int(text)

    def ids(self, key: str) -> tuple[int, int] | None:
        text = self._values.get(key)
        ids = re.fullmatch(r"([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})", text or "")
        if text is not None and ids is None:
            self._wrong.append(
                f"option {key}: {shown(text)} is not allowed; write VENDOR:PRODUCT with four hex digits each"
            )
        return (int(ids[1], 16), int(ids[2], 16)) if ids else None

    def choice(self, key: str, choices: Mapping[str, T]) -> T | None:
        text = self._values.get(key)
        if text is not None and text not in choices:
            self._wrong.append(f"option {key}: {shown(text)} is unknown; write one of {', '.join(choices)}")
        return None if text is None else choices.get(text)

    def around(self, read_place: Callable[[], T]) -> T:
        """The part before the question mark. The ValueError has the problems of this part and of the options."""
        try:
            place = read_place()
        except ValueError as error:
            raise SeveralProblems(*problems_of(error), *self._wrong) from None
        if self._wrong:
            raise SeveralProblems(*self._wrong)
        return place
