"""`shoed log`: change the log level of the running daemon, without a change of its configuration."""

import argparse
import os

from shoed.cli.options import add_state_dir, state_dir_of
from shoed.model.commands import Answer
from shoed.model.requests import LogLevel, LogLevelRequest
from shoed.service.command_socket import query


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("level", choices=[each.value for each in LogLevel], help="until the next reload or start")
    add_state_dir(parser)
    parser.set_defaults(command=change)


def change(arguments: argparse.Namespace) -> int:
    request = LogLevelRequest(os.urandom(8).hex(), LogLevel(arguments.level))
    print(query(state_dir_of(arguments), request, Answer).detail)
    return 0
