"""What is plugged in, and which family it may be."""

from dataclasses import replace
from pathlib import Path

from firmware_protocols import FAMILIES
from firmware_protocols.family import Family, Mark, Settings, UsbId
from shoed.ports.discover import FoundPort, discover, families_of, is_phantom, stable_paths

PORT = FoundPort("/dev/ttyUSB0", "/dev/serial/by-id/usb-A", 0x1209, 0x0001, "A", "A")


def test_what_this_machine_has_is_listed_once_each() -> None:
    """Real ports of a real machine, perhaps none, each under its own node."""
    devices = [port.device for port in discover()]
    assert len(devices) == len(set(devices))
    assert all(Path(device).exists() for device in devices)


def test_the_stable_path_of_a_node_is_found(tmp_path: Path) -> None:
    """The links that udev makes are followed to today's node; without the folder there is none."""
    (tmp_path / "ttyUSB7").touch()
    by_id = tmp_path / "by-id"
    assert stable_paths(by_id) == {}
    by_id.mkdir()
    (by_id / "usb-B").symlink_to("../ttyUSB7")
    (by_id / "usb-A").symlink_to("../ttyUSB7")
    assert stable_paths(by_id) == {str(tmp_path.resolve() / "ttyUSB7"): str(by_id / "usb-A")}


def test_a_built_in_port_without_hardware_is_no_port(tmp_path: Path) -> None:
    """The kernel names ttyS0 to ttyS31 in advance; type 0 says that nothing is there."""
    for name, kind in (("ttyS0", "4\n"), ("ttyS1", "0\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(kind, encoding="ascii")
    assert [is_phantom(tmp_path, name) for name in ("ttyS0", "ttyS1", "ttyUSB0")] == [False, True, False]


def test_a_port_looks_like_every_family_that_declares_its_usb_id() -> None:
    """An adapter that several families use is a guess of several; vendor and product must both be theirs."""
    assert families_of(PORT, {"a": family(0x0001), "b": family(0x0002), "c": family(0x0001)}) == ("a", "c")
    assert families_of(replace(PORT, vendor=0x1208), {"a": family(0x0001)}) == ()
    assert families_of(replace(PORT, vendor=None, product=None), {"a": family(0x0001)}) == ()


def family(product: int) -> Family[Settings]:
    """A real family, but for where it is found."""
    real = next(iter(FAMILIES.values()))
    return Family(
        name=real.name,
        title=real.title,
        firmware=real.firmware,
        line=real.line,
        usb_ids=(UsbId(0x1209, product, "ours", Mark.ASSUMED, ""),),
        settings=real.settings,
        reports=real.reports,
        orders=real.orders,
    )
