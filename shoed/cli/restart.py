"""`shoed restart`: end the daemon between two rounds. systemd then starts the installed version.

The daemon ends only in answer to a request, so it continues if this command is interrupted. The daemon answers each
request within a second or two: it has ended, or it waits. The command repeats the request until the time limit.
"""

import argparse
import os
import sys
from time import monotonic
from typing import Final

from shoed.cli import ExitStatus
from shoed.cli.options import add_state_dir, state_dir_of
from shoed.errors import TellError
from shoed.model.requests import RestartRequest
from shoed.service.command_socket import request_restart
from shoed.settings import shown

WITHIN: Final = 10  # minutes: more than the longest usual round, and its questions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--between-rounds", action="store_true", required=True, help="wait until every table is between two rounds"
    )
    parser.add_argument(
        "--within",
        metavar="MINUTES",
        type=minutes,
        default=WITHIN,
        help="the time limit; after it, the daemon continues without a restart (default: %(default)s)",
    )
    add_state_dir(parser)
    parser.set_defaults(command=restart)


def minutes(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a time; write whole minutes, from 0")
    return int(text)


def restart(arguments: argparse.Namespace) -> int:
    state_dir, end = state_dir_of(arguments), monotonic() + 60 * arguments.within
    waits_for: tuple[str, ...] = ()
    while True:
        answer = request_restart(state_dir, RestartRequest(os.urandom(8).hex()))
        if answer.accepted:
            print("shoed ended between two rounds; systemd starts the installed version")
            return ExitStatus.GOOD
        if not answer.waits_for:
            raise TellError(
                f"{state_dir}: this shoed is too old for the request ({answer.detail});"
                " restart it between two rounds: systemctl restart shoed"
            )
        if answer.waits_for != waits_for:
            waits_for = answer.waits_for
            print(answer.detail, flush=True)
        if monotonic() >= end:
            print(
                f"{state_dir}: not restarted within {arguments.within} minutes; the daemon continues."
                " Run the command again, or restart between two rounds: systemctl restart shoed",
                file=sys.stderr,
            )
            return ExitStatus.WRONG
