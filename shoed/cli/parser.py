"""The parser of command lines: argparse, with an example in every help, and the nearest word for a mistyped one.

Theory of operation: a command may have commands of its own, as `shoed rules list`. `Parser.command_of` walks along the
typed words before argparse reads them, so a mistyped command is found at any depth. Options that argparse does not know
are compared with the options in the help of the command.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Never

from shoed.settings import nearest, shown

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

WIDTH: Final = 100


class Parser(argparse.ArgumentParser):
    """`purpose`: what the command does, as in the list of commands. `examples`: complete command lines."""

    def __init__(
        self, prog: str, *, purpose: str = "", examples: Sequence[str] = (), add_help: bool = True, **_: object
    ) -> None:  # Python 3.14 also passes `color`
        super().__init__(
            prog=prog,
            description=sentence(purpose),
            epilog="\n".join(("examples:" if len(examples) > 1 else "example:", *(f"  {each}" for each in examples))),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
        )
        self.purpose = purpose
        self.examples = tuple(examples)
        self.commands: dict[str, Parser] = {}
        self._negative_number_matcher = re.compile(r"-[0-9.][0-9.:]*$")  # a value, also an offset such as -05:00

    def add_commands(self, metavar: str) -> None:
        self.adding = self.add_subparsers(metavar=metavar, required=True, parser_class=Parser)

    def add_command(self, name: str, purpose: str, *examples: str, add_help: bool = True) -> "Parser":
        added = self.adding.add_parser(name, help=purpose, purpose=purpose, examples=examples, add_help=add_help)
        self.commands[name] = added
        return added

    def command_of(self, typed: Sequence[str]) -> "Parser":
        """The parser of the typed command. A mistyped word ends the program with the nearest word."""
        if not self.commands or not typed or typed[0].startswith("-"):
            return self
        if typed[0] not in self.commands:
            near = nearest(typed[0], self.commands)
            remedy = f"did you mean {self.prog} {near}?" if near else f"{self.prog} --help lists the commands"
            self.error(f"{shown(typed[0])} is not a command; {remedy}")
        return self.commands[typed[0]].command_of(typed[1:])

    def refuse(self, words: Sequence[str]) -> Never:
        """End the program: argparse does not know these words."""
        first = words[0].partition("=")[0]
        near = nearest(first, re.findall(r"(?<![\w-])--[a-z-]+", self.format_help())) if first.startswith("-") else None
        remedy = f"did you mean {near}?" if near else f"{self.prog} --help lists the options"
        self.error(f"{shown(words[0])} is not known; {remedy}")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            words = [str(each) for each in action.choices]
            near = nearest(str(value), words)
            remedy = f"did you mean {near}?" if near else f"write one of {', '.join(words)}"
            raise argparse.ArgumentError(action, f"{shown(str(value))} is not a valid value; {remedy}")

    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        if file is not None and file is sys.stdout:
            file.write(message)  # argparse ignores an error, such as a full disk
        else:
            with suppress(OSError):  # Python 3.11.2 raises the error of a full disk
                super()._print_message(message, file)


def sentence(purpose: str) -> str:
    return textwrap.fill(f"{purpose[:1].upper()}{purpose[1:]}.", WIDTH)


# --- values of options


def path(text: str) -> Path:
    if not text:  # otherwise it is the current directory
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a path; write the name of a file or a directory")
    return Path(text)


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a count; write a whole number from 1")
    return int(text)


def whole(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number; write a whole number, such as 7")
    return int(text)


def duration(text: str) -> float:
    """A time of more than 0 s."""
    found = float(text) if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,6})?|\.[0-9]{1,6}", text) else 0
    if not found:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a time; write seconds, more than 0, such as 10 or 0.5")
    return found
