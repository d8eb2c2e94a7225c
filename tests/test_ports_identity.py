"""Which device is behind a node, by sysfs, and whether it is the one that an address names."""

import os
from pathlib import Path
from typing import Final

import pytest

from shoed.ports.address import HidrawAddress, SerialAddress
from shoed.ports.identity import Identity, doubt, identity_of, stranger, udev_text
from tests.sysfs import facts, link, usb_node

NODE: Final = os.makedev(240, 7)
OTHER: Final = os.makedev(240, 8)
PATH: Final = "pci-0000:00:14.0-usb-0:"
LIST: Final = "write the name that `shoed ports` lists"


def hid(name: str, ids: tuple[int, int] | None = None) -> HidrawAddress:
    return HidrawAddress(f"/dev/shoed/hid-{name}", ids)


def tty(name: str) -> SerialAddress:
    return SerialAddress(f"/dev/shoed/{name}")


def test_a_node_is_known_by_its_number(tmp_path: Path) -> None:
    """The device above it, not the hub above that one, which has a serial number of its own."""
    usb_node(tmp_path, "hidraw0", NODE, socket="2.1", serial="A 7/1", interface=1)
    usb_node(tmp_path, "ttyUSB0", OTHER, socket="3", ids="0403:6001", product="Adapter")
    assert identity_of(NODE, tmp_path) == Identity(0x0C2E, 0x0204, "Scanner", "A_7_1", "01", "2.1:1.1")
    assert identity_of(OTHER, tmp_path) == Identity(0x0403, 0x6001, "Adapter", "", "00", "3:1.0")
    assert identity_of(os.makedev(240, 9), tmp_path) is None


def test_a_hid_device_of_another_bus_has_what_its_driver_says(tmp_path: Path) -> None:
    """As over Bluetooth: no socket, and what is there of the rest."""
    facts(tmp_path / "devices/virtual/one/device", uevent="HID_ID=0005:0000046D:0000B342\nHID_NAME=K\nHID_UNIQ=d0:3f")
    facts(tmp_path / "devices/virtual/two/device", uevent="DRIVER=none")
    link(tmp_path / "dev/char/240:7", tmp_path / "devices/virtual/one")
    link(tmp_path / "dev/char/240:8", tmp_path / "devices/virtual/two")
    assert identity_of(NODE, tmp_path) == Identity(0x046D, 0xB342, "K", "d0:3f")
    assert identity_of(OTHER, tmp_path) is None


@pytest.mark.parametrize(
    ("text", "written"),
    [("A7", "A7"), ("  A  7 ", "A_7"), ("A/7", "A_7"), ("A,7", ""), ("A\x017", ""), ("é", ""), ("0:0.1-b", "0:0.1-b")],
)
def test_a_serial_number_is_written_as_udev_writes_it(text: str, written: str) -> None:
    """Blanks and strange characters become underscores; a few make it none at all."""
    assert udev_text(text) == written


@pytest.mark.parametrize("kind", ["hidraw0", "ttyUSB0"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("A7", None),
        ("A7-if01", "another device"),
        ("B8", "the node is another device, Scanner (0c2e:0204): its serial number is A7; connect the right device"),
        (f"{PATH}2.1:1.0", None),
        (f"{PATH}2.1:1.0-port0", None),
        (f"platform-usbv2-0:{2.1}:1.0", None),
        (f"{PATH}2.2:1.0", "the node is the device in another socket (2.1:1.0)"),
        (f"{PATH}2.1:1.1", "the node is the device in another socket (2.1:1.0)"),
    ],
)
def test_a_name_in_our_folder_is_that_of_its_device(tmp_path: Path, kind: str, name: str, why: str | None) -> None:
    """By its serial number or by its socket: a name that is neither may be another device's."""
    usb_node(tmp_path, kind, NODE, socket="2.1", serial="A7")
    address = hid(name) if kind == "hidraw0" else tty(name)
    problem = doubt(address, NODE, tmp_path)
    assert (problem is None) == (why is None)
    assert why is None or why in str(problem)


def test_further_interfaces_of_a_device_have_names_of_their_own(tmp_path: Path) -> None:
    """As udev's rules write them."""
    usb_node(tmp_path, "hidraw1", NODE, serial="A7", interface=1)
    assert doubt(hid("A7-if01"), NODE, tmp_path) is None
    assert "another device" in str(doubt(hid("A7"), NODE, tmp_path))


def test_a_device_without_a_serial_number_has_only_its_socket(tmp_path: Path) -> None:
    """A name that is no socket's is not its own."""
    usb_node(tmp_path, "hidraw0", NODE, socket="4")
    assert doubt(hid(f"{PATH}4:1.0"), NODE, tmp_path) is None
    assert f"it has no serial number; connect the right device, or {LIST}" in str(doubt(hid("A7"), NODE, tmp_path))


@pytest.mark.parametrize("kind", ["hidraw", "ttyACM"])
def test_a_serial_number_that_two_devices_share_is_no_name(tmp_path: Path, kind: str) -> None:
    """Which of them the name leads to depends on the order of plugging; their sockets tell them apart."""
    usb_node(tmp_path, f"{kind}0", NODE, socket="1", serial="0001")
    usb_node(tmp_path, f"{kind}1", OTHER, socket="2", serial="0001")
    of = hid if kind == "hidraw" else tty
    assert str(doubt(of("0001"), NODE, tmp_path)) == f"several devices have the serial number 0001; {LIST}"
    assert doubt(of(f"{PATH}1:1.0"), NODE, tmp_path) is None


def test_what_sysfs_does_not_know_is_not_doubted(tmp_path: Path) -> None:
    """Neither a name in another folder, which is somebody else's, nor a node of which nothing is known."""
    usb_node(tmp_path, "hidraw0", NODE, serial="A7")
    assert doubt(HidrawAddress("/dev/scanner-of-table-1"), NODE, tmp_path) is None
    assert doubt(hid("B8"), OTHER, tmp_path) is None
    assert stranger(hid("B8"), OTHER, frozenset(), tmp_path) is None


def test_a_keyboard_is_no_scanner_unless_its_ids_are_known_or_named(tmp_path: Path) -> None:
    """A keyboard and a scanner say the same of themselves but for their ids."""
    usb_node(tmp_path, "hidraw0", NODE, serial="A7", ids="046d:c31c", product="Keyboard")
    known = {(0x0C2E, 0x0204)}
    problem = stranger(hid("A7"), NODE, known, tmp_path)
    assert "the device is Keyboard (046d:c31c), which is not known to speak this protocol" in str(problem)
    assert "write hidraw:///dev/shoed/hid-A7?id=046d:c31c if it is the right one" in str(problem)
    assert stranger(hid("A7"), NODE, {(0x046D, 0xC31C)}, tmp_path) is None
    assert stranger(hid("A7", (0x046D, 0xC31C)), NODE, known, tmp_path) is None
    assert stranger(hid("A7", (0x0C2E, 0x0204)), NODE, known, tmp_path) is not None
    assert stranger(hid("A7"), NODE, None, tmp_path) is None
