"""A fake sysfs tree: USB devices, their nodes, and the numbers of the nodes."""

import os
from pathlib import Path

PCI = "devices/pci0000:00/0000:00:14.0/usb1"


def facts(folder: Path, **of: str) -> None:
    """Files of one line each, in the format of sysfs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, fact in of.items():
        (folder / name).write_text(f"{fact}\n", encoding="utf-8")


def link(at: Path, to: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to(to)


def usb_node(  # noqa: PLR0913 -- each is a separate fact
    sys: Path,
    name: str,
    number: int,
    *,
    socket: str = "1",
    serial: str = "",
    ids: str = "0c2e:0204",
    product: str = "Scanner",
    interface: int = 0,
) -> None:
    """A node of a USB device: `hidraw0` or `ttyUSB0`, its number, and its USB socket."""
    facts(sys / PCI, idVendor="1d6b", idProduct="0002", serial="0000:00:14.0")  # the root hub has a serial number, too
    vendor, _, its = ids.partition(":")
    device = sys / PCI / f"1-{socket}"
    facts(device, idVendor=vendor, idProduct=its, product=product, busnum="1", devnum="2")
    if serial:
        facts(device, serial=serial)
    part = device / f"1-{socket}:1.{interface}"
    facts(part, bInterfaceNumber=f"{interface:02x}")
    if name.startswith("hidraw"):
        hid = part / f"0003:{vendor.upper()}:{its.upper()}.0001"
        facts(hid, uevent=f"HID_ID=0003:0000{vendor.upper()}:0000{its.upper()}\nHID_NAME={product}\nHID_UNIQ={serial}")
        place, kind = hid / "hidraw" / name, "hidraw"
        place.mkdir(parents=True)
        link(place / "device", hid)
    else:
        place, kind = part / name / "tty" / name, "tty"
        place.mkdir(parents=True)
    link(sys / f"class/{kind}/{name}", place)
    link(sys / f"dev/char/{os.major(number)}:{os.minor(number)}", place)


def unplug(sys: Path, name: str, number: int) -> None:
    """Remove only the node: another device may get its name and its number."""
    (sys / f"dev/char/{os.major(number)}:{os.minor(number)}").unlink()
    (sys / f"class/{'hidraw' if name.startswith('hidraw') else 'tty'}/{name}").unlink()
