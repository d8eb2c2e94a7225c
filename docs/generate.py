"""Write every generated file and every generated block; `--check` compares them instead.

A file is generated completely, or it holds generated blocks, each between two marks:

    <!-- generated: NAME -->
    <!-- end -->

GENERATED lists all files. The generated text depends on the code only: a second run changes nothing, and a file that
differs is out of date or was edited by hand. A process computes each table once, because some tables take seconds.
"""

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks import detection
from docs import angel_eye_page as angel_eye
from docs import bee_tek_page as bee_tek
from docs import devices_page, doctor_page, journal_page, questions_page, walks
from docs import open_shoe_page as open_shoe
from docs import scanner_page as scanner
from docs.clauses_page import clauses_page
from docs.command_line_page import tables as command_line
from docs.commands_page import commands_page
from docs.dashboard import dashboard
from docs.events_page import events_page
from docs.metrics_page import metrics_page
from docs.protocol_page import table
from docs.traced_run import RunError
from firmware_protocols import FAMILIES
from shoed.rig.family_kit import CHECKS
from shoed.rig.scenario import FORMS
from shoed.service.changes import REACHES

ROOT: Final = Path(__file__).resolve().parent.parent
WRONG_USE: Final = 2

Maker: TypeAlias = Callable[[str], str]  # the present text of a file -> its correct text

OPENED: Final = "<!-- generated: "
BLOCK: Final = re.compile(rf"({OPENED}(?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class MarkError(Exception):
    """The blocks of a page and its generated tables differ."""


def blocks(tables: Callable[[], Mapping[str, str]]) -> Maker:
    """Fill each block of a page with the table of its name. Each table has exactly one block."""
    once = cache(tables)

    def fill(text: str) -> str:
        made = once()
        found = [match["name"] for match in BLOCK.finditer(text)]
        if sorted(found) != sorted(made) or len(found) != text.count(OPENED):
            raise MarkError(f"it must have one closed block for each of {sorted(made)}; it has {sorted(found)}")
        return BLOCK.sub(lambda match: f"{match[1]}{made[match['name']].strip()}\n{match[3]}", text)

    return fill


def whole(page: Callable[[], str]) -> Maker:
    """Replace the file with the page."""
    once = cache(page)
    return lambda _: once()


UDEV_RULES: Final = """\
# Written by docs/generate.py from firmware_protocols.FAMILIES; do not edit: run ./dev generate.
# Install this file in /etc/udev/rules.d. The number 70 is after udev's 60-serial.rules, which set the ID_... values.
# Debian sets the group of a tty to dialout. The user of the service is a member of dialout.

ACTION=="remove", GOTO="shoed_end"
SUBSYSTEM!="usb|tty|hidraw", GOTO="shoed_end"

{devices}
ENV{{SHOED}}!="?*", GOTO="shoed_end"

# ModemManager sends AT commands to new ttys. A shoe must not receive them.
ENV{{ID_MM_DEVICE_IGNORE}}="1"

# shoed opens a device without a tty by its USB node or its HID node. Without these rules only root may open them.
ENV{{SHOED}}=="raw", ENV{{DEVTYPE}}=="usb_device", GROUP="dialout", MODE="0660"
ENV{{SHOED}}=="raw", SUBSYSTEM=="hidraw", GROUP="dialout", MODE="0660"

# Two stable names for the configuration: one from the serial number of the device, independent of the USB socket; one
# from the USB socket, independent of the device. Devices with equal or missing serial numbers require the second name.
# udev sets no ID_... values for a HID node. The two IMPORT lines set them.
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

# By default, an FTDI chip delays short reports by 16 ms.
DRIVERS=="ftdi_sio", ATTR{{device/latency_timer}}="1"

LABEL="shoed_end"
"""


def udev_rules() -> str:
    # An adapter that several families use has one rule, which names all of them.
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
    """The complete files of the example package, and the laws of a device family."""
    laws = table(("law", "requirement"), ((f"`{name}`", check.__doc__ or "") for name, check in CHECKS.items()))
    shown = {}
    for name, path in EXAMPLE_FILES.items():
        language = {".py": "python", ".toml": "toml"}.get(Path(path).suffix, "")
        shown[name] = f"```{language}\n{(EXAMPLE / path).read_text()}```"
    return shown | {"laws": laws}


def actions() -> Mapping[str, str]:
    return {"actions": table(("key", "action"), ((f"`{each.example}`", each.meaning) for each in FORMS.values()))}


def reaches() -> Mapping[str, str]:
    rows = ((key, reach.value, note) for key, (reach, note) in REACHES.items())
    return {"reload": table(("key", "applied", "remarks"), rows)}


def marked(folder: Path) -> dict[str, list[str]]:
    """The tests of each clause, by their marks, as in `@pytest.mark.clause("I 3.12.2")`."""
    tests: dict[str, list[str]] = {}
    for file in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.clause":
                        for clause in mark.args:
                            tests.setdefault(ast.literal_eval(clause), []).append(f"{file.stem}.{node.name}")
    return tests


def clauses() -> str:
    tests = marked(ROOT / "tests")
    return clauses_page(lambda clause: tests.get(clause, ()))


GENERATED: Final[Mapping[str, Maker]] = {
    "firmware_protocols/angel_eye/PROTOCOL.md": blocks(angel_eye.tables),
    "firmware_protocols/bee_tek/PROTOCOL.md": blocks(bee_tek.tables),
    "firmware_protocols/open_shoe/PROTOCOL.md": blocks(open_shoe.tables),
    "firmware_protocols/scanner/PROTOCOL.md": blocks(scanner.tables),
    "docs/architecture.md": blocks(walks.tables),
    "docs/devices.md": whole(devices_page.page),
    "docs/doctor.md": whole(doctor_page.page),
    "docs/events.md": whole(events_page),
    "docs/clauses.md": whole(clauses),
    "docs/detection.md": blocks(detection.tables),
    "docs/command-line.md": blocks(command_line),
    "docs/commands.md": whole(commands_page),
    "docs/questions.md": whole(questions_page.page),
    "docs/journal.md": blocks(journal_page.tables),
    "docs/metrics.md": whole(metrics_page),
    "docs/new-family.md": blocks(example),
    "docs/rig.md": blocks(actions),
    "docs/configuration.md": blocks(reaches),
    "packaging/monitoring/shoed-dashboard.json": whole(dashboard),
    "udev/70-shoed.rules": whole(udev_rules),
}


def wanted(root: Path) -> dict[Path, tuple[str, str]]:
    """The present text and the correct text of each generated file."""
    texts = {}
    for name, make in GENERATED.items():
        file = root / name
        present = file.read_text() if file.exists() else ""
        try:
            texts[file] = present, make(present)
        except (MarkError, RunError, walks.WalkError) as error:
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
            print(f"{file}: differs from the code; run: ./dev generate", file=sys.stderr)
        else:
            file.write_text(texts[file][1])
            print(f"wrote {file}")
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
