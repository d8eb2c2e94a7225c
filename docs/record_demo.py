"""Record `shoed demo` in a pseudo-terminal and draw its last screen: docs/demo.svg.

    .venv/bin/python docs/record_demo.py [--check]

Theory of operation: the demo runs in a pty, with --fast, until its rounds are dealt. A small terminal emulator, which
supports only the escape sequences of the demo, interprets the output. Its cells become SVG. The same seed produces the
same picture: only the TCP ports differ between runs, so the script replaces them by fixed numbers.
"""

import fcntl
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from struct import pack
from typing import Final, NamedTuple

PICTURE: Final = Path(__file__).resolve().parent / "demo.svg"
DEMO: Final = ("-m", "shoed", "demo", "--fast", "--seed", "65", "--rounds", "18")
PORTS: Final = (
    (re.compile(r"(mqtt://127\.0\.0\.1:|-p )\d+"), r"\g<1>1883"),
    (re.compile(r"(tcp://\S+:)\d+"), r"\g<1>4001"),
)
WRONG_USE: Final = 2

ROWS: Final = 26
COLUMNS: Final = 80
CELL_W: Final = 9
CELL_H: Final = 19
MARGIN: Final = 16
TERMINAL: Final = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8", "NO_COLOR": ""}
FONT: Final = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

BACKGROUND: Final = "#16181d"
TEXT: Final = "#d7dae0"
DIM: Final = "#7b818d"
COLOURS: Final = {
    30: "#16181d",
    31: "#c5283d",
    91: "#ff6b6b",
    92: "#5fd38d",
    93: "#f2c14e",
    94: "#6aa8ff",
}
PAPERS: Final = {107: "#f6f4ee"}


class Style(NamedTuple):
    ink: str = TEXT
    paper: str | None = None
    bold: bool = False

    def then(self, code: int) -> "Style":
        match code:
            case 0:
                return Style()
            case 1:
                return self._replace(bold=True)
            case 2:
                return self._replace(ink=DIM)
            case _ if code in PAPERS:
                return self._replace(paper=PAPERS[code])
            case _:
                return self._replace(ink=COLOURS[code])


class Cell(NamedTuple):
    text: str = " "
    style: Style = Style()


ESCAPE: Final = re.compile(r"\x1b\[(?P<parameters>[?0-9;]*)(?P<final>[A-Za-z])|(?P<text>[^\x1b])", re.DOTALL)


class Terminal:
    """A terminal emulator with the escape sequences of the demo."""

    def __init__(self, rows: int = ROWS) -> None:
        self.rows = rows
        self.cells = [[Cell()] * COLUMNS for _ in range(rows)]
        self.row = self.column = 0
        self.style = Style()

    def feed(self, text: str) -> None:
        for match in ESCAPE.finditer(text):
            if match["text"]:
                self.put(match["text"])
            else:
                self.execute(match["final"], match["parameters"])

    def put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == self.rows:
                self.cells = [*self.cells[1:], [Cell()] * COLUMNS]
                self.row -= 1
        else:
            self.cells[self.row][min(self.column, COLUMNS - 1)] = Cell(character, self.style)
            self.column += 1

    def execute(self, final: str, parameters: str) -> None:
        match final:
            case "m":
                for code in parameters.split(";"):
                    self.style = self.style.then(int(code))
            case "H":
                self.row = self.column = 0
            case "K":
                self.cells[self.row][self.column :] = [Cell()] * max(0, COLUMNS - self.column)
            case "J":
                self.execute("K", "")
                for row in range(self.row + 1, self.rows):
                    self.cells[row] = [Cell()] * COLUMNS
            case "h" | "l":
                pass  # cursor and line wrapping are not visible in the picture
            case _:
                raise ValueError(f"the demo wrote ESC [{parameters}{final}; add this sequence to docs/record_demo.py")


def record() -> str:
    """The output of the demo to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, **TERMINAL}
    with subprocess.Popen([sys.executable, *DEMO], stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as demo:
        os.close(theirs)
        written = bytearray()
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # the demo has ended
            pass
        os.close(ours)
    if demo.returncode:
        raise SystemExit(f"the demo ended with status {demo.returncode}:\n{written.decode()}")
    text = written.decode()
    for port, shown in PORTS:
        text = port.sub(shown, text)
    return text


def picture(rows: Sequence[Sequence[Cell]]) -> str:
    last = max(number for number, row in enumerate(rows) if any(cell != Cell() for cell in row))
    width, height = COLUMNS * CELL_W + 2 * MARGIN, (last + 1) * CELL_H + 2 * MARGIN
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}',
        f' font-family="{FONT}" font-size="15" shape-rendering="crispEdges">',
        f'<rect {size} rx="8" fill="{BACKGROUND}" shape-rendering="auto"/>',
    ]
    for number, row in enumerate(rows[: last + 1]):
        lines += drawn(row, MARGIN + number * CELL_H)
    return "\n".join((*lines, "</svg>", ""))


def drawn(row: Sequence[Cell], top: int) -> Iterator[str]:
    """The cells of a row, grouped by style. A character whose width depends on the font is centred in its cell."""
    column = 0
    for (style, own), run in groupby(row, lambda cell: (cell.style, "" if cell.text.isascii() else cell.text)):
        text = "".join(cell.text for cell in run)
        x, width = MARGIN + column * CELL_W, len(text) * CELL_W
        column += len(text)
        if style.paper:
            yield f'<rect x="{x}" y="{top}" width="{width}" height="{CELL_H}" fill="{style.paper}"/>'
        look = f'fill="{style.ink}"' + (' font-weight="bold"' if style.bold else "")
        if own == "─":
            yield f'<rect x="{x}" y="{top + CELL_H // 2}" width="{width}" height="1" fill="{style.ink}"/>'
        elif own:
            for number in range(len(text)):
                middle = x + number * CELL_W + CELL_W / 2
                yield f'<text x="{middle}" y="{top + 14}" text-anchor="middle" {look}>{own}</text>'
        elif text.strip():
            x += (len(text) - len(text.lstrip())) * CELL_W
            words = text.strip()
            yield (
                f'<text x="{x}" y="{top + 14}" textLength="{len(words) * CELL_W}" xml:space="preserve" {look}>'
                f"{escape(words)}</text>"
            )


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: docs/record_demo.py [--check]", file=sys.stderr)
        return WRONG_USE
    terminal = Terminal()
    terminal.feed(record())
    drawing = picture(terminal.cells)
    if not arguments:
        PICTURE.write_text(drawing)
    elif not PICTURE.exists() or PICTURE.read_text() != drawing:
        print(f"{PICTURE}: differs from the demo; run: .venv/bin/python docs/record_demo.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
