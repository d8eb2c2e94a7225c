"""Device addresses: valid texts, canonical texts, refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols.family import Line, Parity
from shoed.ports.address import (
    KEEPALIVE_S,
    Address,
    HidrawAddress,
    ReplayAddress,
    Rfc2217Address,
    SerialAddress,
    Speed,
    TcpAddress,
    UsbAddress,
    parse_address,
)
from shoed.settings import SeveralProblems

FAMILY_LINE = Line(4800)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("serial:///dev/ttyUSB0", SerialAddress("/dev/ttyUSB0")),
        ("serial:///dev/ttyUSB0?baud=9600", SerialAddress("/dev/ttyUSB0", baud=9600)),
        (
            "serial:///dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0?baud=19200&bytesize=7&parity=E&stopbits=2",
            SerialAddress("/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0", 19200, 7, Parity.EVEN, 2),
        ),
        ("tcp://127.0.0.1:4001", TcpAddress("127.0.0.1", 4001)),
        ("tcp://shoe-7.pit.example:4001?keepalive_s=5", TcpAddress("shoe-7.pit.example", 4001, 5)),
        ("tcp://[fd00::7]:4001", TcpAddress("fd00::7", 4001)),
        ("rfc2217://10.0.0.7:4001?baud=9600", Rfc2217Address("10.0.0.7", 4001, baud=9600)),
        ("rfc2217://[fd00::7]:4001", Rfc2217Address("fd00::7", 4001)),
        ("usb://1209:0001", UsbAddress(0x1209, 1)),
        ("usb://1209:0001/A 7/b?interface=2", UsbAddress(0x1209, 1, "A 7/b", 2)),
        ("hidraw:///dev/hidraw0", HidrawAddress("/dev/hidraw0")),
        ("hidraw:///dev/shoed/hid-A7?id=0c2e:0204", HidrawAddress("/dev/shoed/hid-A7", (0x0C2E, 0x0204))),
        ("replay:captures/one.capture", ReplayAddress("captures/one.capture")),
        ("replay:/srv/one.capture?speed=fast", ReplayAddress("/srv/one.capture", Speed.FAST)),
    ],
)
def test_an_address_is_parsed_and_its_text_is_canonical(text: str, address: Address) -> None:
    """`parse_address` returns the value, and the text of the value is the address."""
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (f"tcp://host:4001?keepalive_s={KEEPALIVE_S}", "tcp://host:4001"),
        ("replay:one?speed=real", "replay:one"),
        ("serial:///dev/ttyS0?stopbits=1&baud=4800", "serial:///dev/ttyS0?baud=4800&stopbits=1"),
        ("tcp://host:04001", "tcp://host:4001"),
        ("usb://1A86:ABCD?interface=00", "usb://1a86:abcd?interface=0"),
    ],
)
def test_two_spellings_of_an_address_have_one_text(text: str, canonical: str) -> None:
    """A written default, the order of options and leading zeros make no difference."""
    assert str(parse_address(text)) == canonical


def test_the_family_line_applies_to_missing_options_of_a_serial_address() -> None:
    """Each option replaces one setting of the family's line."""
    assert SerialAddress("/dev/ttyS0").line(FAMILY_LINE) == FAMILY_LINE
    given_all = SerialAddress("/dev/ttyS0", 9600, 7, Parity.ODD, 2)
    assert given_all.line(FAMILY_LINE) == Line(9600, 7, Parity.ODD, 2)
    assert Rfc2217Address("host", 4001, stopbits=2).line(FAMILY_LINE) == Line(4800, stopbits=2)
    assert SerialAddress("/dev/ttyS0", parity=Parity.EVEN).line(FAMILY_LINE) == Line(4800, 8, Parity.EVEN, 1)


@pytest.mark.parametrize("text", ["serial:///dev/ttyS0", "rfc2217://host:4001?parity=E"])
def test_without_a_family_line_the_address_must_contain_the_speed(text: str) -> None:
    """The other settings have the usual defaults."""
    assert SerialAddress("/dev/ttyS0", baud=9600).line(None) == Line(9600)
    address = parse_address(text)
    assert isinstance(address, SerialAddress | Rfc2217Address)
    with pytest.raises(ValueError, match=r"the speed is not known, .*; add "):
        address.line(None)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "write serial:///dev/NODE, usb://VENDOR:PRODUCT, hidraw:///dev/NODE, tcp://HOST:PORT"),
        ("/dev/ttyUSB0", "write serial:///dev/ttyUSB0"),
        ("10.0.0.7:4001", "write tcp://10.0.0.7:4001"),
        ("seral:///dev/ttyUSB0", "the nearest known scheme is serial"),
        ("TCP://host:1", "the nearest known scheme is tcp"),
        ("http://host", "write serial:///dev/NODE"),
        ("serial:/dev/ttyUSB0", "write serial:///dev/ttyUSB0"),
        ("serial://", "write serial:///dev/NODE"),
        ("serial:////dev/ttyUSB0", "write serial:///dev/ttyUSB0"),
        ("serial:///dev/ttyUSB0?bauds=4800", "the nearest known option is baud"),
        ("serial:///dev/ttyUSB0?baud=fast", "write a whole number from 50 to 4000000"),
        ("serial:///dev/ttyUSB0?baud=-1", "write a whole number from 50"),
        ("serial:///dev/ttyUSB0?baud=", "write a whole number from 50"),
        ("serial:///dev/ttyUSB0?bytesize=9", "write a whole number from 5 to 8"),
        ("serial:///dev/ttyUSB0?parity=even", "write one of N, E, O"),
        ("serial:///dev/ttyUSB0?stopbits=1.5", "write a whole number from 1 to 2"),
        ("serial:///dev/ttyUSB0?baud=1200&baud=4800", "remove one"),
        ("tcp://host", "write tcp://HOST:PORT"),
        ("tcp:host:4001", "write tcp://HOST:PORT"),
        ("tcp://host:4001/", "write tcp://HOST:PORT"),
        ("tcp://fd00::7:4001", "brackets around an IPv6 address"),
        ("tcp://[fd00::x]:4001", "write an IPv6 address, as in tcp://[fd00::7]:4001"),
        ("tcp://:4001", "write a name or an address"),
        ("tcp://a..b:4001", "write a name or an address"),
        ("tcp://ho st:4001", "write a name or an address"),
        ("tcp://host:0", "write a number from 1 to 65535"),
        ("tcp://host:65536", "write a number from 1 to 65535"),
        ("tcp://host:4001?keepalive=5", "the nearest known option is keepalive_s"),
        ("tcp://host:4001?keepalive_s=0", "write a whole number from 1 to 3600"),
        ("replay:", "write replay:FILE"),
        ("replay:///one.capture", "write replay:FILE"),
        ("replay:one.capture?speed=slow", "write one of real, fast"),
        ("rfc2217://host", "write rfc2217://HOST:PORT"),
        ("rfc2217://[fd00::x]:4001", "write an IPv6 address, as in rfc2217://[fd00::7]:4001"),
        ("rfc2217://host:4001?keepalive_s=5", "known: baud, bytesize, parity, stopbits"),
        ("usb://1209", "write usb://VENDOR:PRODUCT with four hex digits each"),
        ("usb://1209:1", "write usb://VENDOR:PRODUCT with four hex digits each"),
        ("usb://1209:0001/", "as in usb://1209:0001/A7"),
        ("usb:///dev/bus/usb/001/002", "write usb://VENDOR:PRODUCT"),
        ("usb://1209:0001?interface=256", "write a whole number from 0 to 255"),
        ("usb://1209:0001?baud=9600", "known: interface"),
        ("hidraw://hidraw0", "write hidraw:///hidraw0"),
        ("hidraw:///dev/hidraw0?baud=9600", "known: id"),
        ("hidraw:///dev/hidraw0?id=c2e:1", "write VENDOR:PRODUCT with four hex digits each"),
    ],
)
def test_an_invalid_address_is_refused_with_a_remedy(text: str, remedy: str) -> None:
    """Every refusal has the form `problem; remedy`."""
    with pytest.raises(ValueError, match=r".+; .+") as refusal:
        parse_address(text)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "serial:///dev/ttyUSB0?baud=fast&x=1",
            [
                'option "x" is unknown; known: baud, bytesize, parity, stopbits',
                'option baud: "fast" is not allowed; write a whole number from 50 to 4000000',
            ],
        ),
        (
            "serial:/dev/ttyUSB0?parity=even&parity=N",
            [
                '"serial:/dev/ttyUSB0" is not the full path of a device node; write serial:///dev/ttyUSB0',
                "option parity is given twice; remove one",
                'option parity: "even" is unknown; write one of N, E, O',
            ],
        ),
        (
            "tcp://a b:0?keepalive_s=0",
            [
                '"a b" is not a host; write a name or an address, as in tcp://10.0.0.7:4001',
                "port 0 does not exist; write a number from 1 to 65535",
                'option keepalive_s: "0" is not allowed; write a whole number from 1 to 3600',
            ],
        ),
        (
            "hidraw:hidraw0?x&y",
            [
                '"hidraw:hidraw0" is not the full path of a device node; write hidraw:///hidraw0',
                'option "x" is unknown; known: id',
                'option "y" is unknown; known: id',
            ],
        ),
    ],
)
def test_all_problems_of_an_address_are_reported_together(text: str, problems: list[str]) -> None:
    """The place and each option are checked separately."""
    with pytest.raises(SeveralProblems) as refusal:
        parse_address(text)
    assert list(refusal.value.problems) == problems


@given(st.text())
def test_any_text_is_an_address_or_a_value_error(text: str) -> None:
    """No text raises another exception, and the text of an address parses to the same address."""
    for scheme in ("", "serial:///", "tcp://", "tcp://host:1?", "usb://1209:0001/", "hidraw:///", "replay:"):
        try:
            address = parse_address(scheme + text)
        except ValueError:
            continue
        assert parse_address(str(address)) == address
