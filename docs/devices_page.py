"""docs/devices.md: what each family can say, over which lines, and the capture and the test of each."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from firmware_protocols import FAMILIES
from firmware_protocols.page import table
from shoed.observations import FaultRaised
from shoed.ports.capture import Capture
from shoed.rig import covering, golden

TESTS: Final = Path(__file__).resolve().parent.parent / "tests"
TRANSPORTS: Final = "test_golden_transports"
FOLLOWS: Final = "test_golden.test_what_follows_is_what_must_follow"
FEW: Final = 4

HEAD: Final = """\
# Devices: what they say, and how it is tried

Written by `docs/generate.py` from the families' own tables and from the captures; do not edit. A capture is one file
`NAME.capture` in `firmware_protocols/FAMILY/captures/`, and beside it is what must follow from it; see
[captures](captures.md). `tests/test_golden.py` plays each of them, as it is and over lines that drop, double, flip,
cut, reorder and unplug what it says. The tables of faults name the test of each; all other tests of captures are named
alike, after the capture. A version's tables list what its own captures hold; that a family's hold all that it can say
is tried by `test_golden.test_a_family_has_a_capture_of_all_that_it_can_say`.
"""

HEARD: Final = """\
Every capture of a family, of each firmware and with each fault, is heard over every one of these lines, by the test
that is named here: its bytes come out of the port whole and in order. What must follow from them is the same over each
line, and is tried by the test beside the capture, below.
"""


def page() -> str:
    lines = schemes()
    return "\n".join(
        [
            HEAD,
            "## Lines\n",
            HEARD,
            table(
                ("family", *(f"`{scheme}:`" for scheme in lines)),
                (
                    (family, *(f"`{TRANSPORTS}.test_a_device_is_heard_whole[{scheme}-{family}]`" for scheme in lines))
                    for family in FAMILIES
                ),
            ),
            "",
            *(part for family in FAMILIES for part in of_family(family)),
        ]
    )


def schemes() -> list[str]:
    """The keys of LINES in the test of all lines."""
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
        held = {stem: covering.held(capture) for stem, capture in captures.items()}
        yield f"## {family.title}, firmware {firmware}\n"
        yield table(
            ("fault", "its name on record", "capture", "test"),
            (
                (str(code), name, stem, f"`{FOLLOWS}[{folder}/{stem}]`")
                for (code, name), stems in sorted(faults(captures).items())
                for stem in stems
            ),
        )
        yield ""
        yield table(
            ("the device says", "captures"),
            (
                (f"`{said}`", few(stems))
                for said in covering.required(family)
                if (stems := [stem for stem, lines in held.items() if said in lines])
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
