"""The generated blocks of docs/command-line.md: the commands, their exit statuses and the keys of their JSON."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from docs.events_page import described, fields
from docs.protocol_page import table
from shoed.cli import COMMANDS, MEANINGS, top_parser
from shoed.cli.check import CheckReport, ReportedProblem
from shoed.cli.parser import Parser
from shoed.cli.ports import ListedPort
from shoed.cli.tell import OPTIONS
from shoed.service.disk import DiskStatus
from shoed.service.status import BrokerStatus, DaemonStatus, DeviceHealth, JournalStatus, TableStatus

# Types that docs/events.md describes.
ELSEWHERE: Final = {
    "[PublicState](#publicstate)": "[state](events.md#state)",
    "[kind of question](questions.md)": "[question](events.md#question)",
    "(#raisedfault)": "(events.md#raisedfault)",
}


def tables() -> Mapping[str, str]:
    return {
        "commands": "\n".join(section for name in COMMANDS for section in sections(top_parser(name).commands[name])),
        "exit-statuses": table(
            ("exit status", "meaning"), ((f"{status:d}", meaning) for status, meaning in MEANINGS.items())
        ),
        "check": keys(CheckReport, ReportedProblem),
        "ports": keys(ListedPort),
        "status": keys(DaemonStatus, JournalStatus, DiskStatus, TableStatus, DeviceHealth, BrokerStatus),
    }


def sections(command: Parser) -> Iterator[str]:
    examples = "\n".join(f"$ {each}" for each in command.examples)
    yield f"### `{command.prog}`\n\n{command.purpose[0].upper()}{command.purpose[1:]}.\n"
    rows = list(OPTIONS.items()) if command.prog == "shoed tell" else list(arguments_of(command))
    if rows:
        cells = ((f"`{name}`", meaning.replace("|", "or")) for name, meaning in rows)
        yield f"{table(('argument', 'meaning'), cells)}\n"
    yield f"```console\n{examples}\n```\n"
    for each in command.commands.values():
        yield from sections(each)


def arguments_of(command: Parser) -> Iterator[tuple[str, str]]:
    for action in command._actions:  # noqa: SLF001 -- argparse has no other list of them
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):  # noqa: SLF001 -- as above
            continue
        value = str(action.metavar or action.dest.upper())
        meaning = (action.help or "") % vars(action)
        if not action.option_strings:
            yield value.replace("|", " or "), meaning
        else:
            name = action.option_strings[-1]
            yield (name if action.nargs == 0 else f"{name} {value}"), meaning


def keys(*shapes: type[msgspec.Struct]) -> str:
    """The keys of each struct; the first one is the whole output."""
    text = ""
    for shape in shapes:
        text += f"\n#### {shape.__name__}\n{described(shape)}{fields(shape, {})}"
    for link, right in ELSEWHERE.items():
        text = text.replace(link, right)
    return text.lstrip()
