"""The real daemon with scanners: their nodes are pseudo-terminals, and a sysfs of the test identifies them.

The preload library of umockdev replaces the sysfs and the udev names of the machine for the daemon.
"""

import ctypes.util
import os
import socket
import subprocess
import threading
import tty
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.scanner_line import scan
from tests.sysfs import usb_node
from tests.usb_kernel import DONE, WORDS
from tests.world import SHOED, World

# The protocol of umockdev: RUN passes a request to the kernel, RAN has the result of the kernel.
RUN, RAN = 4, 2
ROUND: Final = ("8S", "3H", "JD", "4C")  # a natural


@dataclass
class Scanner:
    """One device: its end of the pseudo-terminal, its node, and the port of its table."""

    device: int
    node: str
    port: str

    def scan(self, *cards: str) -> None:
        for card in cards:
            os.write(self.device, scan(card))


class Machine:
    """The sysfs and the udev names of a machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = root / "dev/shoed"
        self.names.mkdir(parents=True)
        (root / "sys").mkdir()
        self.count = 0

    @property
    def settings(self) -> Mapping[str, str]:
        return {"LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": str(self.root)}

    @contextmanager
    def scanner(
        self, name: str, serial: str = "", ids: str = "0c2e:0204", product: str = "Scanner"
    ) -> Iterator[Scanner]:
        """A connected device; `name` is a udev name of its node, which may be out of date."""
        device, node = os.openpty()
        tty.setraw(node)
        path = os.ttyname(node)
        place = str(self.count + 1)
        number = Path(path).stat().st_rdev
        usb_node(
            self.root / "sys", f"hidraw{self.count}", number, socket=place, serial=serial, ids=ids, product=product
        )
        self.count += 1
        self.add_name(name, path)
        try:
            yield Scanner(device, path, f"hidraw:///dev/shoed/hid-{name}")
        finally:
            os.close(node)
            os.close(device)

    def add_name(self, name: str, path: str) -> None:
        """Make a udev name of a node, and the socket on which umockdev sends each ioctl of this name."""
        link = self.names / f"hid-{name}"
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        ioctls = self.root / f"ioctl/dev/shoed/hid-{name}"
        ioctls.parent.mkdir(parents=True, exist_ok=True)
        if not ioctls.exists():
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(str(ioctls))
            listening.listen()
            threading.Thread(target=pass_to_kernel, args=(listening,), daemon=True).start()


def pass_to_kernel(listening: socket.socket) -> None:
    def answer(client: socket.socket) -> None:
        with client, suppress(OSError):
            while request := client.recv(WORDS.size, socket.MSG_WAITALL):
                what, result, error = WORDS.unpack(request)
                client.sendall(WORDS.pack(DONE, result, error) if what == RAN else WORDS.pack(RUN, 0, 0))

    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if ctypes.util.find_library("umockdev-preload") is None:
        without = "no libumockdev-preload; run: sudo apt-get install -y umockdev"
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)(without)
    return Machine(tmp_path / "machine")


async def test_no_table_takes_the_cards_of_another_device(world: World, machine: Machine) -> None:
    """Tables with an outdated name, or with a keyboard, are offline with the reason; a third table is online."""
    with ExitStack() as connected:
        right, stale, keyboard = (
            connected.enter_context(each)
            for each in (
                machine.scanner("A7", "A7"),
                machine.scanner("B8", "C9"),
                machine.scanner("K1", "K1", ids="046d:c31c", product="Keyboard"),
            )
        )
        daemon = await world.launch(world.configure(right, stale, keyboard, protocol="scanner"), machine.settings)
        await daemon.ready()
        await world.recorder.event("device.online", "bac-901")
        for scanner in (right, stale, keyboard):
            scanner.scan(*ROUND)
        await world.recorder.event("round.completed", "bac-901")
        reasons = [(await world.recorder.event("device.offline", table))["reason"] for table in ("bac-902", "bac-903")]
        assert reasons[0].startswith(f"{stale.port}: the node belongs to another device, Scanner (0c2e:0204): ")
        assert "its serial number is C9" in reasons[0]
        assert reasons[1].startswith(f"{keyboard.port}: the device is Keyboard (046d:c31c), which is not known to use")

        with machine.scanner("B8", "B8") as correct:
            await world.recorder.event("device.online", "bac-902")
            correct.scan(*ROUND)
            await world.recorder.event("round.completed", "bac-902")
            assert world.recorder.of("device.offline", "bac-901") == []
            assert world.recorder.of("card.drawn", "bac-903") == []
            assert len(world.recorder.of("card.drawn", "bac-902")) == len(ROUND)
            assert await daemon.stop() == 0


def check(machine: Machine, path: Path) -> subprocess.CompletedProcess[str]:
    command, settings = [SHOED, "check", str(path)], {**os.environ, **machine.settings}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


def test_a_path_that_depends_on_the_order_of_connection_is_reported_with_a_stable_one(
    machine: Machine, tmp_path: Path
) -> None:
    """For a HID device it is an error, also for the daemon; for a serial line it is a warning."""
    usb_node(machine.root / "sys", "hidraw3", os.makedev(240, 3), serial="A7")
    usb_node(machine.root / "sys", "ttyUSB0", os.makedev(188, 0), socket="2", serial="FT1", ids="0403:6001")
    for node, name in (("hidraw3", "hid-A7"), ("ttyUSB0", "FT1")):
        (machine.root / "dev" / node).touch()
        (machine.names / name).symlink_to(f"../{node}")
    path = tmp_path / "c.toml"
    text = f"""[site]
name = "s"
state_dir = "{tmp_path / "state"}"
[[table]]
name = "one"
game = "commission"
[table.shoe]
protocol = "angel-eye"
port = "serial:///dev/ttyUSB0?baud=9600"
"""
    path.write_text(text)
    done = check(machine, path)
    assert (done.returncode, done.stdout.partition("; ")[0]) == (0, f"{path}: good: one at s")
    assert done.stderr == (
        f'warning: {path}:9: table.shoe.port: "/dev/ttyUSB0" may name another device after the next start;'
        " write serial:///dev/shoed/FT1?baud=9600; `shoed ports` lists it\n"
    )
    path.write_text(
        text.replace("angel-eye", "scanner").replace("serial:///dev/ttyUSB0?baud=9600", "hidraw:///dev/hidraw3")
    )
    done = check(machine, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f'{path}:9: table.shoe.port: "/dev/hidraw3" may name another device after the next start;'
        " write hidraw:///dev/shoed/hid-A7; `shoed ports` lists it\n"
    )
    run = subprocess.run([SHOED, "run", "--config", str(path)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert "write its name in /dev/shoed, as hidraw:///dev/shoed/hid-SERIAL; `shoed ports` lists it" in run.stderr
    listed = subprocess.run(
        [SHOED, "ports"], env={**os.environ, **machine.settings}, capture_output=True, text=True, check=True
    )
    assert (
        "hidraw:///dev/shoed/hid-A7\n    Scanner (usb 0c2e:0204, /dev/hidraw3)\n    may be: scanner\n" in listed.stdout
    )


@pytest.mark.parametrize("node", ["/dev/my-scanner", "/dev/input/event3", "/dev/shoed/../hidraw0", "/dev/shoed/x/y"])
def test_a_hid_device_requires_a_name_of_udev(machine: Machine, tmp_path: Path, node: str) -> None:
    """A symbolic link of a person may name another device after the next start."""
    path = tmp_path / "c.toml"
    path.write_text(f"""[site]
name = "s"
state_dir = "{tmp_path / "state"}"
[[table]]
name = "one"
game = "commission"
[table.shoe]
protocol = "scanner"
port = "hidraw://{node}"
""")
    done = check(machine, path)
    assert done.returncode == 1
    assert "may name another device after the next start; write its name in /dev/shoed" in done.stderr


def test_a_hid_device_without_a_name_is_listed_with_the_remedy(machine: Machine) -> None:
    """A configuration with this path would be refused."""
    usb_node(machine.root / "sys", "hidraw0", os.makedev(240, 3), ids="046d:c31c", product="Keyboard")
    listed = subprocess.run(
        [SHOED, "ports"], env={**os.environ, **machine.settings}, capture_output=True, text=True, check=True
    )
    assert "hidraw:///dev/hidraw0\n    Keyboard (usb 046d:c31c, /dev/hidraw0)\n" in listed.stdout
    assert "    no known family has this adapter\n" in listed.stdout
    assert "no stable name: install shoed's udev rules" in listed.stdout
