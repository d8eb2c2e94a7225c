"""Write every file, or part of one, that follows from a table in the code; `--check` compares instead.

A file is either written whole or holds blocks, each between two marks of its own:

    <!-- generated: NAME -->
    <!-- end -->

GENERATED lists them all. What is written follows from the code alone, so that writing
twice changes nothing, and a file that differs was edited by hand or is out of date.
"""

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks import detection
from docs import devices_page, questions_page
from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import page as angel_eye
from firmware_protocols.bee_tek import page as bee_tek
from firmware_protocols.open_shoe import page as open_shoe
from firmware_protocols.page import table
from firmware_protocols.scanner import page as scanner
from shoed.contract import events_page
from shoed.rig.conformance import CHECKS
from shoed.rig.scenario import FORMS
from shoed.rules.page import clauses_page
from shoed.telling_page import commands_page

ROOT: Final = Path(__file__).resolve().parent.parent
WRONG_USE: Final = 2

Maker: TypeAlias = Callable[[str], str]  # a file's text as it stands -> as it must be

OPENED: Final = "<!-- generated: "
BLOCK: Final = re.compile(rf"({OPENED}(?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class MarkError(Exception):
    """The blocks of a page and the tables made for it are not the same."""


def blocks(tables: Callable[[], Mapping[str, str]]) -> Maker:
    """Fill each block of a page with the table of its name; every table has its one block."""

    def fill(text: str) -> str:
        made = tables()
        found = [match["name"] for match in BLOCK.finditer(text)]
        if sorted(found) != sorted(made) or len(found) != text.count(OPENED):
            raise MarkError(f"it must have one closed block for each of {sorted(made)}; it has {sorted(found)}")
        return BLOCK.sub(lambda match: f"{match[1]}{made[match['name']].strip()}\n{match[3]}", text)

    return fill


UDEV_RULES: Final = """\
# Written by docs/generate.py from firmware_protocols.FAMILIES; do not edit: run ./dev generate.
# For /etc/udev/rules.d. The 70 puts it behind udev's own 60-serial.rules, whose findings (ID_...) it reads.
# The group of a tty is left as Debian sets it: dialout, which the service's user is in.

ACTION=="remove", GOTO="shoed_end"
SUBSYSTEM!="usb|tty|hidraw", GOTO="shoed_end"

{devices}
ENV{{SHOED}}!="?*", GOTO="shoed_end"

# ModemManager tries out new ttys with AT commands: a shoe must not see them.
ENV{{ID_MM_DEVICE_IGNORE}}="1"

# A device that has no tty is opened by its USB node or its HID node; nobody but root may, unless told here.
ENV{{SHOED}}=="raw", ENV{{DEVTYPE}}=="usb_device", GROUP="dialout", MODE="0660"
ENV{{SHOED}}=="raw", SUBSYSTEM=="hidraw", GROUP="dialout", MODE="0660"

# Two steady names for the settings file: by the device's serial number, wherever it is plugged in, and by the
# socket, whatever is plugged into it. Devices that share a serial number, or have none, need the second.
# udev has no findings of its own about a HID node: they are asked for here.
ENV{{SHOED}}!="raw", GOTO="shoed_tty"
SUBSYSTEM!="hidraw", GOTO="shoed_tty"
IMPORT{{builtin}}="usb_id"
IMPORT{{builtin}}="path_id"
ENV{{ID_SERIAL_SHORT}}=="?*", ENV{{ID_USB_INTERFACE_NUM}}=="00", SYMLINK+="shoed/hid-$env{{ID_SERIAL_SHORT}}"
ENV{{ID_SERIAL_SHORT}}=="?*", ENV{{ID_USB_INTERFACE_NUM}}!="00", \
SYMLINK+="shoed/hid-$env{{ID_SERIAL_SHORT}}-if$env{{ID_USB_INTERFACE_NUM}}"
ENV{{ID_PATH}}=="?*", SYMLINK+="shoed/hid-$env{{ID_PATH}}"

LABEL="shoed_tty"
SUBSYSTEM!="tty", GOTO="shoed_end"

ENV{{ID_SERIAL_SHORT}}=="?*", ENV{{ID_USB_INTERFACE_NUM}}=="00", SYMLINK+="shoed/$env{{ID_SERIAL_SHORT}}"
ENV{{ID_SERIAL_SHORT}}=="?*", ENV{{ID_USB_INTERFACE_NUM}}!="00", \
SYMLINK+="shoed/$env{{ID_SERIAL_SHORT}}-if$env{{ID_USB_INTERFACE_NUM}}"
ENV{{ID_PATH}}=="?*", SYMLINK+="shoed/$env{{ID_PATH}}"

# An FTDI chip holds short reports back for 16 ms unless told otherwise.
DRIVERS=="ftdi_sio", ATTR{{device/latency_timer}}="1"

LABEL="shoed_end"
"""


def udev_rules(_: str) -> str:
    # One adapter serves several families: one rule for it, naming them all.
    devices: dict[tuple[int, int, str, str], list[str]] = {}
    for family in FAMILIES.values():
        for usb in family.usb_ids:
            kind = "raw" if usb.raw else "adapter"
            devices.setdefault((usb.vendor, usb.product, usb.name, kind), []).append(
                f"{family.name} ({usb.mark.value})"
            )
    rules = (
        f"# {name}: {', '.join(families)}\n"
        f'SUBSYSTEMS=="usb", ATTRS{{idVendor}}=="{vendor:04x}", ATTRS{{idProduct}}=="{product:04x}",'
        f' ENV{{SHOED}}="{kind}"\n'
        for (vendor, product, name, kind), families in sorted(devices.items())
    )
    return UDEV_RULES.format(devices="".join(rules))


EXAMPLE: Final = ROOT / "tests" / "example_family"
EXAMPLE_FILES: Final = {
    "pyproject": "pyproject.toml",
    "protocol": "example_shoe/protocol.py",
    "session": "example_shoe/session.py",
    "driver": "example_shoe/__init__.py",
    "capture": "example_shoe/captures/round.capture",
    "expect": "example_shoe/captures/round.expect",
    "laws-test": "test_laws.py",
}


def example() -> Mapping[str, str]:
    """The files of the example package, whole, and the laws that it keeps."""
    laws = table(("law", "what it demands"), ((f"`{name}`", check.__doc__ or "") for name, check in CHECKS.items()))
    shown = {}
    for name, path in EXAMPLE_FILES.items():
        language = {".py": "python", ".toml": "toml"}.get(Path(path).suffix, "")
        shown[name] = f"```{language}\n{(EXAMPLE / path).read_text()}```"
    return shown | {"laws": laws}


def deeds() -> Mapping[str, str]:
    return {"deeds": table(("write", "what happens"), ((f"`{each.example}`", each.meaning) for each in FORMS.values()))}


def marked(folder: Path) -> dict[str, list[str]]:
    """Clause -> the tests marked with it, as in `@pytest.mark.clause("I 3.12.2")`."""
    tests: dict[str, list[str]] = {}
    for file in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.clause":
                        for clause in mark.args:
                            tests.setdefault(ast.literal_eval(clause), []).append(f"{file.stem}.{node.name}")
    return tests


def clauses(_: str) -> str:
    tests = marked(ROOT / "tests")
    return clauses_page(lambda clause: tests.get(clause, ()))


GENERATED: Final[Mapping[str, Maker]] = {
    "firmware_protocols/angel_eye/PROTOCOL.md": blocks(angel_eye.tables),
    "firmware_protocols/bee_tek/PROTOCOL.md": blocks(bee_tek.tables),
    "firmware_protocols/open_shoe/PROTOCOL.md": blocks(open_shoe.tables),
    "firmware_protocols/scanner/PROTOCOL.md": blocks(scanner.tables),
    "docs/devices.md": lambda _: devices_page.page(),
    "docs/events.md": lambda _: events_page(),
    "docs/clauses.md": clauses,
    "docs/detection.md": blocks(detection.tables),
    "docs/configuration.md": blocks(lambda: {"angel-eye-settings": angel_eye.tables()["settings"]}),
    "docs/commands.md": lambda _: commands_page(),
    "docs/questions.md": lambda _: questions_page.page(),
    "docs/new-family.md": blocks(example),
    "docs/rig.md": blocks(deeds),
    "udev/70-shoed.rules": udev_rules,
}


def wanted(root: Path) -> dict[Path, tuple[str, str]]:
    """Give each generated file's text as it stands and as it must be."""
    texts = {}
    for name, make in GENERATED.items():
        file = root / name
        present = file.read_text() if file.exists() else ""
        try:
            texts[file] = present, make(present)
        except MarkError as error:
            raise MarkError(f"{file}: {error}") from None
    return texts


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: docs/generate.py [--check]", file=sys.stderr)
        return WRONG_USE
    try:
        texts = wanted(root)
    except MarkError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [file for file, (present, right) in texts.items() if present != right]
    for file in stale:
        if arguments:
            print(f"{file}: is not what the code says; run: ./dev generate", file=sys.stderr)
        else:
            file.write_text(texts[file][1])
            print(f"wrote {file}")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
