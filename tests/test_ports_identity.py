"""The identity of the device of a node, from sysfs, and its comparison with an address."""

import os
from pathlib import Path
from typing import Final

import pytest

from shoed.ports.address import HidrawAddress, SerialAddress
from shoed.ports.identity import Identity, identity_of, identity_problem, udev_text, unknown_ids_problem
from tests.sysfs import facts, link, usb_node

NODE: Final = os.makedev(240, 7)
OTHER: Final = os.makedev(240, 8)
PATH: Final = "pci-0000:00:14.0-usb-0:"
LIST: Final = "write the name that `shoed ports` lists"


def hid(name: str, ids: tuple[int, int] | None = None) -> HidrawAddress:
    return HidrawAddress(f"/dev/shoed/hid-{name}", ids)


def tty(name: str) -> SerialAddress:
    return SerialAddress(f"/dev/shoed/{name}")


def test_a_node_is_identified_by_its_device_number(tmp_path: Path) -> None:
    """The serial number is that of the device, not that of the hub above the device."""
    usb_node(tmp_path, "hidraw0", NODE, socket="2.1", serial="A 7/1", interface=1)
    usb_node(tmp_path, "ttyUSB0", OTHER, socket="3", ids="0403:6001", product="Adapter")
    assert identity_of(NODE, tmp_path) == Identity(0x0C2E, 0x0204, "Scanner", "A_7_1", "01", "2.1:1.1")
    assert identity_of(OTHER, tmp_path) == Identity(0x0403, 0x6001, "Adapter", "", "00", "3:1.0")
    assert identity_of(os.makedev(240, 9), tmp_path) is None


def test_a_hid_device_without_usb_has_the_values_of_its_driver(tmp_path: Path) -> None:
    """An example is Bluetooth: the device has no USB socket."""
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
def test_a_serial_number_has_the_spelling_of_udev(text: str, written: str) -> None:
    """Spaces and unusual characters become underscores. Some characters make the serial number empty."""
    assert udev_text(text) == written


@pytest.mark.parametrize("kind", ["hidraw0", "ttyUSB0"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("A7", None),
        ("A7-if01", "the node belongs to another device"),
        ("B8", "another device, Scanner (0c2e:0204): its serial number is A7; connect the right device"),
        (f"{PATH}2.1:1.0", None),
        (f"{PATH}2.1:1.0-port0", None),
        (f"platform-usbv2-0:{2.1}:1.0", None),
        (f"{PATH}2.2:1.0", "the node belongs to the device in another USB socket (2.1:1.0)"),
        (f"{PATH}2.1:1.1", "the node belongs to the device in another USB socket (2.1:1.0)"),
    ],
)
def test_a_name_of_our_udev_rules_must_match_the_device(tmp_path: Path, kind: str, name: str, why: str | None) -> None:
    """The serial number or the USB socket in the name must be that of the device."""
    usb_node(tmp_path, kind, NODE, socket="2.1", serial="A7")
    address = hid(name) if kind == "hidraw0" else tty(name)
    problem = identity_problem(address, NODE, tmp_path)
    assert (problem is None) == (why is None)
    assert why is None or why in str(problem)


def test_further_interfaces_of_a_device_have_their_own_names(tmp_path: Path) -> None:
    """The names are those of the udev rules."""
    usb_node(tmp_path, "hidraw1", NODE, serial="A7", interface=1)
    assert identity_problem(hid("A7-if01"), NODE, tmp_path) is None
    assert "another device" in str(identity_problem(hid("A7"), NODE, tmp_path))


def test_a_device_without_a_serial_number_has_only_the_name_of_its_socket(tmp_path: Path) -> None:
    """Any other name belongs to another device."""
    usb_node(tmp_path, "hidraw0", NODE, socket="4")
    assert identity_problem(hid(f"{PATH}4:1.0"), NODE, tmp_path) is None
    assert f"it has no serial number; connect the right device, or {LIST}" in str(
        identity_problem(hid("A7"), NODE, tmp_path)
    )


@pytest.mark.parametrize("kind", ["hidraw", "ttyACM"])
def test_a_serial_number_of_two_devices_is_not_a_valid_name(tmp_path: Path, kind: str) -> None:
    """The device of such a name depends on the order of connection; the USB sockets are unique."""
    usb_node(tmp_path, f"{kind}0", NODE, socket="1", serial="0001")
    usb_node(tmp_path, f"{kind}1", OTHER, socket="2", serial="0001")
    of = hid if kind == "hidraw" else tty
    assert str(identity_problem(of("0001"), NODE, tmp_path)) == f"several devices have the serial number 0001; {LIST}"
    assert identity_problem(of(f"{PATH}1:1.0"), NODE, tmp_path) is None


def test_unknown_nodes_and_foreign_names_pass(tmp_path: Path) -> None:
    """A name in another folder was made by a person, and a node without an entry in sysfs cannot be checked."""
    usb_node(tmp_path, "hidraw0", NODE, serial="A7")
    assert identity_problem(HidrawAddress("/dev/scanner-of-table-1"), NODE, tmp_path) is None
    assert identity_problem(hid("B8"), OTHER, tmp_path) is None
    assert unknown_ids_problem(hid("B8"), OTHER, frozenset(), tmp_path) is None


def test_a_keyboard_is_not_a_scanner_unless_its_ids_are_known_or_configured(tmp_path: Path) -> None:
    """A keyboard and a scanner differ only in their ids."""
    usb_node(tmp_path, "hidraw0", NODE, serial="A7", ids="046d:c31c", product="Keyboard")
    known = {(0x0C2E, 0x0204)}
    problem = unknown_ids_problem(hid("A7"), NODE, known, tmp_path)
    assert "the device is Keyboard (046d:c31c), which is not known to use this protocol" in str(problem)
    assert "write hidraw:///dev/shoed/hid-A7?id=046d:c31c if this device is the right one" in str(problem)
    assert unknown_ids_problem(hid("A7"), NODE, {(0x046D, 0xC31C)}, tmp_path) is None
    assert unknown_ids_problem(hid("A7", (0x046D, 0xC31C)), NODE, known, tmp_path) is None
    assert unknown_ids_problem(hid("A7", (0x0C2E, 0x0204)), NODE, known, tmp_path) is not None
    assert unknown_ids_problem(hid("A7"), NODE, None, tmp_path) is None
