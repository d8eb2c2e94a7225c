"""`shoed status`: show the state of the running daemon, without MQTT.

The daemon answers over its command socket (`shoed/service/status.py`). `--json` prints this answer. A table with an
open question shows the command that gives each answer.
"""

import argparse
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.options import CONFIG, add_state_dir, state_dir_of
from shoed.errors import AnswerRefused, TellError
from shoed.model.events import Hand
from shoed.model.irregularities import Role
from shoed.model.observations import Device
from shoed.model.requests import StatusRequest
from shoed.service.command_socket import query
from shoed.service.disk import DiskStatus
from shoed.service.status import BrokerStatus, DaemonStatus, DeviceHealth, JournalStatus, TableStatus, overdue
from shoed.table.asking import OTHERS
from shoed.table.public_question import PublicQuestion

REDRAW_S: Final = 1.0
ROWS: Final = 24  # of a terminal that does not know its size
WIDTH: Final = 120
NAMES: Final = 9  # the width of the column of names
INDENT: Final = "  "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", nargs="?", metavar="TABLE", help="(default: all tables)")
    parser.add_argument("--watch", action="store_true", help="show the status again every second, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print JSON; with --watch one line for each second")
    add_state_dir(parser)
    parser.set_defaults(command=status)


def status(arguments: argparse.Namespace) -> int:
    state_dir = state_dir_of(arguments)
    if not arguments.watch:
        shown, exit_status = current(arguments, state_dir)
        print(shown)
        return exit_status
    on_screen = sys.stdout.isatty() and not arguments.json
    while True:
        try:
            shown, _ = current(arguments, state_dir)
        except AnswerRefused:  # there is no such table
            raise
        except TellError as error:  # the daemon may run again
            shown = "" if arguments.json else str(error)
        if shown:
            print(screen(shown) if on_screen else shown, end="" if on_screen else "\n", flush=True)
        time.sleep(REDRAW_S)


def current(arguments: argparse.Namespace, state_dir: Path) -> tuple[str, int]:
    """The output, and the exit status."""
    found = query(state_dir, StatusRequest(os.urandom(8).hex(), arguments.table), DaemonStatus)
    text = msgspec.json.encode(found).decode() if arguments.json else "\n".join(lines_of(found, place_of(arguments)))
    return text, ExitStatus.WRONG if found.problems else ExitStatus.GOOD


def place_of(arguments: argparse.Namespace) -> list[str]:
    """The options that name the same daemon in another command."""
    if arguments.state_dir is not None:
        return ["--state-dir", str(arguments.state_dir)]
    return [] if arguments.config == CONFIG else ["--config", arguments.config]


def screen(text: str) -> str:
    """The text in place of the present screen. Lines that do not fit are counted."""
    lines, rows = text.split("\n"), (os.get_terminal_size(sys.stdout.fileno()).lines or ROWS) - 1
    if len(lines) > rows:
        lines[rows - 1 :] = [f"{len(lines) - rows + 1} more lines; shoed status TABLE shows one table"]
    return "\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J"


# --- text


def lines_of(found: DaemonStatus, place: list[str]) -> Iterator[str]:
    yield f"shoed {found.version} at {found.site}: runs for {age(found.started_at)}, process {found.pid}"
    yield from row("broker", found.broker)
    yield from row("journal", journal_text(found.journal))
    for problem in found.problems:
        yield from row("PROBLEM", problem)
    if found.note:
        yield from row("note", found.note)
    for table in found.tables:
        yield ""
        yield from table_lines(table, place)


def row(name: str, text: str, indent: str = "") -> list[str]:
    first = f"{indent}{name:{NAMES}}"
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)


def journal_text(journal: JournalStatus) -> str:
    parts = [journal.state_dir, disk_text(journal.disk, journal.disk_silent_s)]
    if overdue(journal.committing_s):
        parts.append(f"reports that wait for a commit: {journal.waiting}")
    return "; ".join(parts)


def disk_text(disk: DiskStatus | None, silent_s: float | None) -> str:
    if disk is None:
        return "the disk cannot be examined" if silent_s is None else f"the disk has not answered for {silent_s:.0f} s"
    return f"{size(disk.journal_bytes)}; {size(disk.free_bytes)} of {size(disk.total_bytes)} are free"


def table_lines(table: TableStatus, place: list[str]) -> Iterator[str]:
    state = table.state
    where = [f"{name} {number}" for name, number in (("shoe", state.shoe), ("round", state.round)) if number]
    doing = "FAILED" if table.failure else "STOPPED" if table.stopped else state.phase.value
    yield f"{table.name}  {', '.join([state.game, *where, doing])}"
    for name, hand in (("player", state.hands.player), ("banker", state.hands.banker)):
        if hand.cards:
            yield from row(name, cards(hand), INDENT)
    for device in table.devices:
        yield from row(device.device.value, device_text(device), INDENT)
    yield from row("broker", broker_text(table.broker), INDENT)
    if table.failure is not None:
        yield from row("FAILED", f"{table.failure}; restart shoed, and report this defect with the log", INDENT)
    if table.stopped is not None:
        yield from row("STOPPED", f"{table.stopped}; the table then continues by itself", INDENT)
    if table.question is not None:
        yield from question_lines(table, table.question, place)


def cards(hand: Hand) -> str:
    return f"{' '.join(map(str, hand.cards))}  ({hand.points})"


def device_text(device: DeviceHealth) -> str:
    parts = [device.link.value, f"{device.protocol} at {device.port}"]
    if device.heard_at is not None:
        parts.append(f"last bytes {age(device.heard_at)} ago")
    if device.reason is not None:
        parts.append(device.reason)
    if device.fault is not None:
        parts.append(f"fault {device.fault.code}, {device.fault.name}")
    if device.locked:
        parts.append("locked")
    return "; ".join(parts)


def broker_text(broker: BrokerStatus) -> str:
    waiting = f"events without acknowledgement: {broker.backlog}" if broker.backlog else "every event is acknowledged"
    return f"{'online' if broker.online else f'offline: {broker.reason}'}; {waiting}"


def question_lines(table: TableStatus, asked: PublicQuestion, place: list[str]) -> Iterator[str]:
    name = f"question {asked.id}{of_shoe(table, asked)}"
    yield from wrapped(f"{name}: {asked.text} {asked.decided_by} {asked.ground}", INDENT)
    for line in asked.evidence:
        yield from wrapped(f"evidence: {line}", INDENT * 2)
    for choice, effects in answers(asked):
        yield INDENT * 2 + shlex.join([*decision(table.name, asked, choice), *place])
        for effect in effects:
            yield from wrapped(effect, INDENT * 4)
    if asked.bettor == OTHERS:
        yield from wrapped("An answer without bettor=NAME is of all players who have not answered.", INDENT * 2)
    others = [each.id for each in table.state.questions if each.id != asked.id]
    if others:
        yield f"{INDENT}also open: question {', '.join(others)}"


def of_shoe(table: TableStatus, asked: PublicQuestion) -> str:
    """The shoe of the cards, and the device that draws them if the table has several."""
    number = f", shoe {asked.shoe}" if asked.shoe else ", before the first shoe"
    drawing = next((each for each in table.devices if each.device is Device.SHOE), None)
    if drawing is None or not table.devices[1:]:
        return number
    return f"{number} ({drawing.protocol} at {drawing.port})"


def answers(asked: PublicQuestion) -> Iterator[tuple[str, list[str]]]:
    """Each `choice` of the command, with its effects. The effect of CARD depends on its rank."""
    by_rank = [each for each in asked.consequences if " " in each.choice[0]]
    if by_rank:
        yield "CARD", [f"{each.choice[0]}: {each.effect}" for each in by_rank]
    for each in asked.consequences:
        if each not in by_rank:
            yield ",".join(each.choice), [each.effect]
    if not asked.consequences:  # more orders of cards than a person reads
        yield ",".join(asked.choices), ["the cards, in the order in which they count"]


def decision(table: str, asked: PublicQuestion, choice: str) -> list[str]:
    words = ["shoed", "tell", table, "decide", f"question={asked.id}", f"choice={choice}", f"revision={asked.revision}"]
    if asked.bettor not in (None, OTHERS):
        words.append(f"bettor={asked.bettor}")
    return [*words, "--role", asked.role or Role.DEALER.value]


def wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def age(moment: str) -> str:
    """The time since a moment, in its two largest units."""
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()))
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= length or (unit == "s" and not parts):
            parts.append(f"{seconds // length} {unit}")
        seconds %= length
    return " ".join(parts[:2])


def size(count: int) -> str:
    for unit, length in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= length:
            return f"{count / length:.1f} {unit}"
    return f"{count} bytes"
