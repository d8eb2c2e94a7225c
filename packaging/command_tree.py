"""The commands of `shoed` as one tree, read from the definitions of argparse: for the man pages and the completion."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shoed import cli
from shoed.cli import tell
from shoed.cli.parser import Parser
from shoed.model.requests import COMMANDS, NOTICE_MEANINGS

FILES = ("FILE", "DIR", "CONFIG", "FILE|-|PORT", "SCENARIO")  # the values that are names of files


@dataclass(frozen=True)
class Option:
    """An option, or an argument without flags."""

    flags: tuple[str, ...]  # empty for an argument
    value: str | None  # the metavar; None: the option has no value
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        return self.value in FILES


@dataclass(frozen=True)
class Node:
    """One command, or a task of a command."""

    path: tuple[str, ...]
    purpose: str
    usage: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    children: tuple["Node", ...] = ()
    examples: tuple[str, ...] = ()

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


def tree() -> Node:
    """`shoed` and all its commands."""
    children = tuple(node_of(("shoed", name), cli.top_parser(name).commands[name]) for name in cli.COMMANDS)
    return node_of(("shoed",), cli.top_parser(""), children)


def node_of(path: tuple[str, ...], parser: Parser, children: Sequence[Node] = ()) -> Node:
    if path == ("shoed", "tell"):
        return tell_node(path)
    options: list[Option] = []
    arguments: list[Option] = []
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        takes_value = action.nargs != 0
        value = str(action.metavar or action.dest.upper()) if takes_value else None
        meaning = (action.help or "") % {**vars(action), "prog": parser.prog}
        option = Option(tuple(action.option_strings), value, meaning, tuple(map(str, action.choices or ())))
        (options if option.flags else arguments).append(option)
    below = tuple(children) or tuple(node_of((*path, name), each) for name, each in parser.commands.items())
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return Node(path, parser.purpose, usage, tuple(options), tuple(arguments), below, parser.examples)


def tell_node(path: tuple[str, ...]) -> Node:
    """`shoed tell` prints its own help, from the types of the commands."""
    options = [Option(("-h", "--help"), None, "show the help of the command and exit")]
    for option, meaning in tell.OPTIONS.items():
        flag, _, value = option.partition(" ")
        options.append(Option((flag,), value or None, meaning))
    words = {word: str(command.__doc__) for word, command in COMMANDS.items()}
    words |= {kind.value: f"{text} (short for notice kind={kind.value})" for kind, text in NOTICE_MEANINGS.items()}
    arguments = (
        Option((), "TABLE", "the name of the table"),
        Option((), "COMMAND", "; ".join(f"{word}: {text}" for word, text in words.items()), tuple(words)),
        Option((), "KEY=VALUE", "the keys of the command; shoed tell TABLE COMMAND --help lists them"),
    )
    usage = "shoed tell TABLE COMMAND [KEY=VALUE ...] [OPTIONS]"
    purpose, examples = cli.COMMANDS["tell"]
    return Node(path, purpose, usage, tuple(options), arguments, examples=examples)
