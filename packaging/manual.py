"""The man pages: one for `shoed` and one for each command, from argparse; shoed.toml(5), from docs/configuration.md.

`manual.py DIRECTORY` writes the pages. The date in the pages is SOURCE_DATE_EPOCH.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from command_tree import Node, Option, tree
from shoed import VERSION
from shoed.cli.parser import sentence

CONFIGURATION = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"
ETC = "/etc/shoed/shoed.toml"
FILES = {
    ETC: "the configuration of the service, shoed.toml(5); the service does not start without this file",
    f"{ETC}.example": "an example of a configuration",
    "/var/lib/shoed": "the journal, and the command socket",
}


def escaped(text: str) -> str:
    """Text that roff prints as it is. A line that begins with a period would be a request of roff."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha").replace("`", "\\(ga")
    )
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def title(name: str, section: int, purpose: str) -> list[str]:
    date = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC).date()
    head = f'.TH {name.upper()} {section} {date} "shoed {VERSION}" "shoed"'
    return [head, ".SH NAME", f"{escaped(name)} \\- {escaped(purpose)}"]


def options(rows: Iterable[Option]) -> Iterator[str]:
    for row in rows:
        value = f" {escaped(row.value)}" if row.value and row.flags else ""
        yield ".TP"
        yield f"\\fB{escaped(', '.join(row.flags) or row.value or '')}\\fR{value}"
        yield escaped(row.meaning or f"one of {', '.join(row.choices)}")


def command_page(node: Node) -> str:
    lines = title("-".join(node.path), 1, node.purpose)
    for each in node.walk():
        if each is not node and len(node.path) == 1:
            continue
        heading = ".SH SYNOPSIS" if each is node else f'.SH "{escaped(" ".join(each.path)).upper()}"'
        lines += [heading, escaped(each.usage), *((".SH DESCRIPTION",) if each is node else (".PP",))]
        lines.append(escaped(sentence(each.purpose)))
        if each.arguments or each.options:
            lines += [".SH OPTIONS"] if each is node else []
            lines += options((*each.arguments, *each.options))
        if each.examples:
            lines += [".SH EXAMPLES" if each is node else ".PP", ".nf", *map(escaped, each.examples), ".fi"]
    if len(node.path) == 1:
        lines.append(".SH COMMANDS")
        lines += options(
            Option((f"{child.path[-1]}",), None, f"{sentence(child.purpose)} See {'-'.join(child.path)}(1).")
            for child in node.children
        )
        lines.append(".SH FILES")
        lines += options(Option((file,), None, meaning) for file, meaning in FILES.items())
    above = "shoed(1)" if len(node.path) > 1 else "mosquitto(8)"
    return "\n".join([*lines, ".SH SEE ALSO", f"{above}, shoed.toml(5)", ""])


def settings_page(text: str) -> str:
    """The page of the configuration. Of Markdown, it has headings, paragraphs, lists, tables and blocks of code."""
    lines = title("shoed.toml", 5, "the configuration of shoed")
    lines.append(".SH DESCRIPTION")
    for block in blocks(text):
        first = block[0]
        if first.startswith(("```", "    ")):
            code = [line.removeprefix("    ") for line in block if not line.startswith("```")]
            lines += [".PP", ".nf", *(escaped(line) for line in code), ".fi"]
        elif first.startswith("#"):
            if not first.startswith("# "):
                lines.append(f'.SH "{inline(first.lstrip("# ")).upper()}"')
        elif first.startswith("|"):
            for row in block[2:]:
                cells = [inline(cell.strip()) for cell in row.strip("|").split(" | ")]
                lines += [".TP", " ".join(filter(None, cells[:-1])) or "\\ ", cells[-1]]
        elif first.startswith("- "):
            for item in re.split(r"^- ", "\n".join(block), flags=re.MULTILINE)[1:]:
                lines += [".IP \\(bu 2", inline(" ".join(item.split()))]
        else:
            lines += [".PP", inline(" ".join(block))]
    return "\n".join([*lines, ".SH SEE ALSO", "shoed(1), shoed\\-check(1)", ""])


def blocks(text: str) -> Iterator[list[str]]:
    """The lines between empty lines; a fenced block of code is one block."""
    block: list[str] = []
    fenced = False
    for line in (*text.splitlines(), ""):
        starts_other = block and not fenced and (line.startswith(("```", "#")) or block[0].startswith("#"))
        if starts_other or (not line and not fenced):
            if block:
                yield block
            block = []
        fenced ^= line.startswith("```")
        if line or fenced:
            block.append(line)


def inline(text: str) -> str:
    """Links without their targets, and code in bold."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    parts = re.split(r"`([^`]*)`", text)
    return "".join(f"\\fB{escaped(part)}\\fR" if at % 2 else escaped(part) for at, part in enumerate(parts))


def pages() -> dict[str, str]:
    top = tree()
    written = {"-".join(node.path) + ".1": command_page(node) for node in (top, *top.children)}
    return written | {"shoed.toml.5": settings_page(CONFIGURATION.read_text())}


if __name__ == "__main__":
    for name, page in pages().items():
        (Path(sys.argv[1]) / name).write_text(page)
