"""`shoed restart`: end the daemon between two rounds. Its supervisor then starts the installed version.

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
from shoed.errors import AnswerRefused
from shoed.model.requests import RestartRequest
from shoed.service.command_socket import request_restart
from shoed.settings import shown

UNKNOWN: Final = '"restart" is not a key'  # the refusal of a daemon that does not know the request
BY_SYSTEMCTL: Final = "between two rounds, under systemd with systemctl restart shoed"
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
            print("; ".join(filter(None, ("shoed ended between two rounds", answer.detail))))
            return ExitStatus.GOOD
        if not answer.waits_for:
            is_old = answer.detail.startswith(UNKNOWN)
            old = f"this shoed is too old for the request ({answer.detail}); restart it {BY_SYSTEMCTL}"
            raise AnswerRefused(f"{state_dir}: {old if is_old else answer.detail}")
        if answer.waits_for != waits_for:
            waits_for = answer.waits_for
            print(answer.detail, flush=True)
        if monotonic() >= end:
            print(
                f"{state_dir}: not restarted within {arguments.within} minutes; the daemon continues."
                f" Run the command again, or restart shoed {BY_SYSTEMCTL}",
                file=sys.stderr,
            )
            return ExitStatus.WRONG
