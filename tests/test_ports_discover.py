"""The list of connected ports, and the families that fit each port."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols import FAMILIES
from firmware_protocols.family import Family, Mark, Settings, UsbId
from shoed.ports.address import HidrawAddress, SerialAddress, UsbAddress
from shoed.ports.discover import FoundPort, discover, families_of, is_phantom
from shoed.ports.identity import links_in, stable_path
from tests.sysfs import facts, usb_node

BY_SOCKET: Final = "pci-0000:00:14.0-usb-0:1:1.0"
PORT = FoundPort(SerialAddress("/dev/serial/by-id/usb-A"), "/dev/ttyUSB0", 0x1209, 0x0001, "A")


def test_each_port_of_this_machine_is_listed_once() -> None:
    """The test uses the ports of the real machine, and a machine may have none."""
    devices = [port.device for port in discover(FAMILIES)]
    assert len(devices) == len(set(devices))
    assert all(Path(device).exists() for device in devices)


def test_the_links_of_a_node_are_found(tmp_path: Path) -> None:
    """The result is sorted by name, with the USB socket last. Without a folder the result is empty."""
    (tmp_path / "ttyUSB7").touch()
    node, names = str(tmp_path.resolve() / "ttyUSB7"), tmp_path / "names"
    assert links_in(names) == {}
    names.mkdir()
    for name in (BY_SOCKET, "x-B", "x-A"):
        (names / name).symlink_to("../ttyUSB7")
    assert links_in(names) == {node: [str(names / name) for name in ("x-A", "x-B", BY_SOCKET)]}


@pytest.mark.parametrize("kind", ["hidraw", "ttyUSB"])
def test_a_serial_number_of_two_devices_is_not_a_stable_name(tmp_path: Path, kind: str) -> None:
    """Then the name from the USB socket is stable. A node without a link has no stable name."""
    usb_node(tmp_path, f"{kind}0", os.makedev(240, 0), socket="1", serial="A7")
    links = {f"/dev/{kind}0": ["/dev/shoed/A7", f"/dev/shoed/{BY_SOCKET}"]}
    assert stable_path(f"/dev/{kind}0", ({}, links), tmp_path) == "/dev/shoed/A7"
    usb_node(tmp_path, f"{kind}1", os.makedev(240, 1), socket="2", serial="A7")
    assert stable_path(f"/dev/{kind}0", (links,), tmp_path) == f"/dev/shoed/{BY_SOCKET}"
    assert stable_path(f"/dev/{kind}1", (links,), tmp_path) is None
    assert stable_path("/dev/ttyS0", (links,), tmp_path) is None


def test_a_built_in_port_without_a_uart_is_not_listed(tmp_path: Path) -> None:
    """The kernel makes ttyS0 to ttyS31 in advance; type 0 means that there is no UART."""
    for name, kind in (("ttyS0", "4\n"), ("ttyS1", "0\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(kind, encoding="ascii")
    assert [is_phantom(tmp_path, name) for name in ("ttyS0", "ttyS1", "ttyUSB0")] == [False, True, False]


def test_usb_devices_are_listed_by_the_ids_of_families(tmp_path: Path) -> None:
    """The list omits hubs, and adapters with a tty, which is listed separately."""
    usb = tmp_path / "bus/usb/devices"
    ours = {"idVendor": "1209", "idProduct": "0001", "busnum": "1", "devnum": "12"}
    facts(usb / "usb1", idVendor="1d6b", idProduct="0002")
    facts(usb / "1-1", **ours, serial="A7", product="Open Shoe")
    facts(usb / "1-2", **{**ours, "devnum": "13"})
    facts(usb / "1-3", **ours)
    (usb / "1-3/1-3:1.0/ttyUSB0").mkdir(parents=True)
    (usb / "1-3:1.0").mkdir()
    found = [port for port in discover({"a": family(0x0001)}, tmp_path) if isinstance(port.address, UsbAddress)]
    assert found == [
        FoundPort(UsbAddress(0x1209, 0x0001, "A7"), "/dev/bus/usb/001/012", 0x1209, 0x0001, "Open Shoe"),
        FoundPort(UsbAddress(0x1209, 0x0001), "/dev/bus/usb/001/013", 0x1209, 0x0001, "USB device"),
    ]


def test_every_hid_device_is_listed_by_its_stable_name(tmp_path: Path) -> None:
    """A keyboard with unknown ids has no stable name. A HID device without a bus has no ids."""
    usb_node(tmp_path, "hidraw0", os.makedev(240, 0), serial="A7")
    facts(tmp_path / "class/hidraw/hidraw1/device", uevent="HID_ID=0003:0000046D:0000C31C\nHID_NAME=Keyboard")
    facts(tmp_path / "class/hidraw/hidraw2")
    names = tmp_path / "shoed"
    names.mkdir()
    (names / "hid-A7").symlink_to("/dev/hidraw0")
    found = [port for port in discover({}, tmp_path, names) if isinstance(port.address, HidrawAddress)]
    assert found == [
        FoundPort(HidrawAddress(str(names / "hid-A7")), "/dev/hidraw0", 0x0C2E, 0x0204, "Scanner"),
        FoundPort(HidrawAddress("/dev/hidraw1"), "/dev/hidraw1", 0x046D, 0xC31C, "Keyboard"),
        FoundPort(HidrawAddress("/dev/hidraw2"), "/dev/hidraw2", 0, 0, "HID device"),
    ]


def test_a_port_fits_every_family_that_declares_its_usb_id() -> None:
    """Several families may declare one adapter. Vendor and product must both match."""
    assert families_of(PORT, {"a": family(0x0001), "b": family(0x0002), "c": family(0x0001)}) == ("a", "c")
    assert families_of(replace(PORT, vendor=0x1208), {"a": family(0x0001)}) == ()
    assert families_of(replace(PORT, vendor=None, product=None), {"a": family(0x0001)}) == ()


def family(product: int) -> Family[Settings]:
    """A real family with another USB id."""
    real = next(iter(FAMILIES.values()))
    return real._replace(usb_ids=(UsbId(0x1209, product, "ours", Mark.ASSUMED, ""),))
