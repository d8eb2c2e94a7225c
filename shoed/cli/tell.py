"""`shoed tell`: send a command of a person to a table of the running daemon."""

import argparse
import os
import pwd
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from shoed.cli import COMMANDS as COMMAND_LINES
from shoed.cli import ExitStatus
from shoed.cli.options import add_state_dir, state_dir_of
from shoed.errors import UsageError
from shoed.model import requests
from shoed.model.commands import ReportIrregularity
from shoed.model.irregularities import IrregularityKind
from shoed.model.requests import COMMANDS, NOTICE_MEANINGS, NOTICES, keys_of
from shoed.service.command_socket import send_command
from shoed.settings import nearest

OPTIONS: Final[Mapping[str, str]] = {
    "--role ROLE": "dealer, pit-supervisor, pit-manager or shift-manager; without a role, or as player: decide only",
    "--author NAME": "the author of the command; default: the login name",
    "--id ID": "repeat a command whose answer was lost, under its id; it is executed at most once",
    "--config FILE": "the configuration of the daemon; default: /etc/shoed/shoed.toml",
    "--state-dir DIR": "the state directory of the daemon, in place of --config",
    "--json": "print the answer as JSON",
}
WIDTH: Final = max(map(len, NOTICES))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # The words of the commands, and with them --help, come from their types. Options may stand anywhere.
    parser.add_argument("--role", metavar="ROLE")
    parser.add_argument("--author", metavar="NAME")
    parser.add_argument("--id", metavar="ID")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    add_state_dir(parser)
    parser.set_defaults(command=tell, words=())


def tell(arguments: argparse.Namespace) -> int:
    table, word = (*arguments.words[:2], None, None)[:2]
    if arguments.help:
        print(help_on(word) if word else overview())
        return 0
    for each in arguments.words:
        if each.startswith("-"):
            near = nearest(each.partition("=")[0], [option.split()[0] for option in OPTIONS])
            remedy = f"did you mean {near}?" if near else "shoed tell --help lists the options"
            raise UsageError(f"{each}: no such option; {remedy}")
    if word is None:
        raise UsageError("TABLE or COMMAND is missing; shoed tell --help lists the commands")
    command = requests.typed_command(word, arguments.words[2:])
    request_id = os.urandom(8).hex() if arguments.id is None else arguments.id
    author = login_name() if arguments.author is None else arguments.author
    request = requests.typed_request(table, command, author, arguments.role, request_id)
    answer = send_command(state_dir_of(arguments), request)
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    elif answer.accepted:
        print(f"{table}: {'; '.join(filter(None, (command.deed, answer.detail)))}")
    else:
        print(answer.detail, file=sys.stderr)
    return ExitStatus.GOOD if answer.accepted else ExitStatus.WRONG


def login_name() -> str:
    """The name of the person, also under sudo."""
    try:
        return os.getlogin()
    except OSError:  # no terminal
        return pwd.getpwuid(os.getuid()).pw_name


def overview() -> str:
    parts = [
        "usage: shoed tell TABLE COMMAND [KEY=VALUE ...] [OPTIONS]",
        listed("options", OPTIONS),
        listed("commands", {word: str(COMMANDS[word].__doc__) for word in COMMANDS}),
        listed("short for notice kind=...", {event.value: text for event, text in NOTICE_MEANINGS.items()}),
        "shoed tell TABLE COMMAND --help lists the keys of a command.",
        "examples:\n" + "\n".join(f"  {each}" for each in COMMAND_LINES["tell"].examples),
    ]
    return "\n\n".join(parts)


def help_on(word: str) -> str:
    if word not in (*COMMANDS, *NOTICES):
        return overview()
    short = word in NOTICES
    command = ReportIrregularity if short else COMMANDS[word]
    about = NOTICE_MEANINGS[IrregularityKind(word)] if short else str(command.__doc__)
    keys = {
        f"{name}=": f"{meaning} ({description})"
        for name, description, _, meaning in keys_of(command)
        if not short or name != "kind"
    }
    return f"usage: shoed tell TABLE {word} [KEY=VALUE ...] [OPTIONS]\n\n{about}\n\n{listed('keys', keys)}"


def listed(title: str, lines: Mapping[str, str]) -> str:
    rows = (f"  {name:{WIDTH}}  {text}".rstrip() for name, text in (lines or {"none": ""}).items())
    return "\n".join((f"{title}:", *rows))
