"""The real daemon, and scanners whose nodes are pseudo-terminals: which device each is stands in a sysfs of the test.

umockdev's preload shows that sysfs, and the names of udev, to the daemon in place of the machine's own.
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

# umockdev's requests and answers: let the kernel do it, and what came of that
RUN, RAN = 4, 2
ROUND: Final = ("8S", "3H", "JD", "4C")  # a natural


@dataclass
class Scanner:
    """One device: what it writes to, its node, and the name that its table has for it."""

    device: int
    node: str
    port: str

    def scan(self, *cards: str) -> None:
        for card in cards:
            os.write(self.device, scan(card))


class Machine:
    """What its kernel and its udev show."""

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
        """A device that is plugged in; `name` is a name of udev's that leads to it, right or wrong."""
        device, node = os.openpty()
        tty.setraw(node)
        path = os.ttyname(node)
        place = str(self.count + 1)
        number = Path(path).stat().st_rdev
        usb_node(
            self.root / "sys", f"hidraw{self.count}", number, socket=place, serial=serial, ids=ids, product=product
        )
        self.count += 1
        self.lead(name, path)
        try:
            yield Scanner(device, path, f"hidraw:///dev/shoed/hid-{name}")
        finally:
            os.close(node)
            os.close(device)

    def lead(self, name: str, path: str) -> None:
        """What is done with a node under a name of ours, the kernel does: umockdev asks who else would."""
        link = self.names / f"hid-{name}"
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        door = self.root / f"ioctl/dev/shoed/hid-{name}"
        door.parent.mkdir(parents=True, exist_ok=True)
        if not door.exists():
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(str(door))
            listening.listen()
            threading.Thread(target=let_the_kernel, args=(listening,), daemon=True).start()


def let_the_kernel(door: socket.socket) -> None:
    def answer(client: socket.socket) -> None:
        with client, suppress(OSError):
            while asked := client.recv(WORDS.size, socket.MSG_WAITALL):
                what, result, error = WORDS.unpack(asked)
                client.sendall(WORDS.pack(DONE, result, error) if what == RAN else WORDS.pack(RUN, 0, 0))

    while True:
        threading.Thread(target=answer, args=(door.accept()[0],), daemon=True).start()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if ctypes.util.find_library("umockdev-preload") is None:
        without = "no libumockdev-preload; run: sudo apt-get install -y umockdev"
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)(without)
    return Machine(tmp_path / "machine")


async def test_no_table_takes_the_cards_of_another_device(world: World, machine: Machine) -> None:
    """A name that is out of date, and a keyboard: those tables are offline with the reason, and the third one plays."""
    with ExitStack() as plugged:
        right, stale, keyboard = (
            plugged.enter_context(each)
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
        assert reasons[0].startswith(f"{stale.port}: the node is another device, Scanner (0c2e:0204): ")
        assert "its serial number is C9" in reasons[0]
        assert reasons[1].startswith(
            f"{keyboard.port}: the device is Keyboard (046d:c31c), which is not known to speak"
        )

        with machine.scanner("B8", "B8") as its_own:
            await world.recorder.event("device.online", "bac-902")
            its_own.scan(*ROUND)
            await world.recorder.event("round.completed", "bac-902")
            assert world.recorder.of("device.offline", "bac-901") == []
            assert world.recorder.of("card.drawn", "bac-903") == []
            assert len(world.recorder.of("card.drawn", "bac-902")) == len(ROUND)
            assert await daemon.stop() == 0


def check(machine: Machine, path: Path) -> subprocess.CompletedProcess[str]:
    command, settings = [SHOED, "check", str(path)], {**os.environ, **machine.settings}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


def test_a_path_that_follows_the_order_of_plugging_is_named_with_the_one_that_does_not(
    machine: Machine, tmp_path: Path
) -> None:
    """Of a HID device it is an error, for the daemon too; of a serial line it is a warning."""
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
    assert (done.returncode, done.stdout) == (0, f"{path}: good: one at s\n")
    assert done.stderr == (
        f'warning: {path}:9: table.shoe.port: "/dev/ttyUSB0" may be another device after the next start;'
        " write serial:///dev/shoed/FT1?baud=9600; `shoed ports` lists it\n"
    )
    path.write_text(
        text.replace("angel-eye", "scanner").replace("serial:///dev/ttyUSB0?baud=9600", "hidraw:///dev/hidraw3")
    )
    done = check(machine, path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f'{path}:9: table.shoe.port: "/dev/hidraw3" may be another device after the next start;'
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
def test_a_hid_device_has_a_name_that_udev_keeps(machine: Machine, tmp_path: Path, node: str) -> None:
    """A link that a person made may lead to another device after the next start."""
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
    assert "may be another device after the next start; write its name in /dev/shoed" in done.stderr


def test_a_hid_device_without_a_name_of_its_own_is_listed_so(machine: Machine) -> None:
    """What would be refused in a configuration is shown with the way to a name."""
    usb_node(machine.root / "sys", "hidraw0", os.makedev(240, 3), ids="046d:c31c", product="Keyboard")
    listed = subprocess.run(
        [SHOED, "ports"], env={**os.environ, **machine.settings}, capture_output=True, text=True, check=True
    )
    assert "hidraw:///dev/hidraw0\n    Keyboard (usb 046d:c31c, /dev/hidraw0)\n    no family is known behind it\n" in (
        listed.stdout
    )
    assert "it has no name of its own: install shoed's udev rules" in listed.stdout
