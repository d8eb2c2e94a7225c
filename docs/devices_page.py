"""Renders docs/devices.md: the messages of each family, its lines, and the capture and the test of each message."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from docs.protocol_page import table
from firmware_protocols import FAMILIES
from shoed.model.observations import FaultRaised
from shoed.ports.capture import Capture
from shoed.rig import capture_coverage, golden

TESTS: Final = Path(__file__).resolve().parent.parent / "tests"
TRANSPORTS: Final = "test_golden_transports"
EXPECTED: Final = "test_golden.test_a_capture_gives_its_expected_output"
FEW: Final = 4

HEAD: Final = """\
# Devices: their messages and the tests of each

`docs/generate.py` writes this page from the families' own tables and from the captures; do not edit it. A capture is
one file `NAME.capture` in `firmware_protocols/FAMILY/captures/`, with its expected output beside it; see
[captures](captures.md). `tests/test_golden.py` plays each capture unchanged, and over lines that drop, repeat, flip,
cut and reorder its bytes or are disconnected. The tables of faults name the test of each fault; the tests of the other
captures have the same name, with the name of the capture. The tables of a firmware version list the messages of its own
captures. The test `test_golden.test_a_family_has_a_capture_of_every_message` checks that the captures of a family
contain all its messages.
"""

RECEIVED: Final = """\
The named test sends every capture of a family, of each firmware and with each fault, over each of these lines. Its
bytes leave the port completely and in order. The expected output is the same for every line; the test beside the
capture, below, checks it.
"""


def page() -> str:
    lines = schemes()
    return "\n".join(
        [
            HEAD,
            "## Lines\n",
            RECEIVED,
            table(
                ("family", *(f"`{scheme}:`" for scheme in lines)),
                (
                    (family, *(f"`{TRANSPORTS}.test_every_byte_is_received[{scheme}-{family}]`" for scheme in lines))
                    for family in FAMILIES
                ),
            ),
            "",
            *(part for family in FAMILIES for part in of_family(family)),
        ]
    )


def schemes() -> list[str]:
    """Return the keys of LINES in the test of all lines."""
    tree = ast.parse((TESTS / f"{TRANSPORTS}.py").read_text())
    (lines,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict) and ast.unparse(node.target) == "LINES"
    )
    return [ast.literal_eval(key) for key in lines.keys if key is not None]


def of_family(name: str) -> Iterator[str]:
    family, folder = FAMILIES[name], name.replace("-", "_")
    for firmware in family.firmware:
        captures = {
            path.stem: capture
            for path in golden.captures()
            if (capture := golden.load(path)).header.family == name and capture.header.firmware == firmware
        }
        held = {stem: capture_coverage.held(capture) for stem, capture in captures.items()}
        yield f"## {family.title}, firmware {firmware}\n"
        yield table(
            ("fault", "name on record", "capture", "test"),
            (
                (str(code), name, stem, f"`{EXPECTED}[{folder}/{stem}]`")
                for (code, name), stems in sorted(faults(captures).items())
                for stem in stems
            ),
        )
        yield ""
        yield table(
            ("message", "captures"),
            (
                (f"`{line}`", few(stems))
                for line in capture_coverage.required(family)
                if (stems := [stem for stem, lines in held.items() if line in lines])
            ),
        )
        yield ""
        yield table(
            ("capture", "origin", "what it shows"),
            (
                (stem, dict(capture.header.others)["origin"], capture.header.note or "")
                for stem, capture in captures.items()
            ),
        )
        yield ""


def faults(captures: Mapping[str, Capture]) -> dict[tuple[int, str], list[str]]:
    found: dict[tuple[int, str], list[str]] = {}
    for stem, capture in captures.items():
        seen = golden.play(capture.header, golden.script(capture)).observations
        for fault in dict.fromkeys((each.code, each.name) for each in seen if isinstance(each, FaultRaised)):
            found.setdefault(fault, []).append(stem)
    return found


def few(stems: Sequence[str]) -> str:
    more = f" and {len(stems) - FEW} more" if len(stems) > FEW else ""
    return ", ".join(stems[:FEW]) + more
