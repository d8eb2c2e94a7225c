"""`shoed journal witness`: subscribe to the signed heads of a site, verify them, and keep them in a file.

The command runs until Ctrl-C, and connects again after a loss. The exit status is 1 if a head had a problem.
"""

import argparse
import asyncio
import random
import re
from contextlib import suppress
from typing import Final

from shoed.bus.settings import BrokerSettings, parse_url
from shoed.bus.subscriber import subscription
from shoed.cli import ExitStatus
from shoed.cli.journal.opening import add_public_keys, public_keys_of
from shoed.cli.options import CONFIG, add_config
from shoed.cli.parser import Parser, path
from shoed.errors import BrokerLost, UsageError
from shoed.journal.heads import in_base64
from shoed.journal.witness import Witness
from shoed.model.moments import rfc3339
from shoed.model.printable import printable
from shoed.ports.clock import now
from shoed.ports.link import backoff_s
from shoed.settings import shown

BACKOFF_MOST_S: Final = 5.0


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "file", type=path, metavar="FILE", help="heads are appended to it, one JSON object in each line"
    )
    add_config(parser)
    parser.add_argument("--url", metavar="URL", help="the broker, in place of --config; requires --site")
    parser.add_argument("--site", metavar="SITE", help="the name of the site (default: of the configuration)")
    add_public_keys(parser)
    parser.set_defaults(command=witness)


def witness(arguments: argparse.Namespace) -> int:
    broker, site = broker_of(arguments)
    found = ProblemCount()
    keys = [in_base64(key) for key in public_keys_of(arguments)]
    with suppress(KeyboardInterrupt), Witness(arguments.file, keys) as file:
        asyncio.run(follow(broker, site, file, found))
    return ExitStatus.WRONG if found.problems else ExitStatus.GOOD


class ProblemCount:
    """The number of problems until now."""

    problems = 0


def broker_of(arguments: argparse.Namespace) -> tuple[BrokerSettings, str]:
    from shoed.service import config

    if arguments.site is not None and not re.fullmatch(config.NAME_FORM, arguments.site):
        raise UsageError(f"--site: {shown(arguments.site)} is not the name of a site; use 1 to 32 of a-z, 0-9 and -")
    if arguments.url is None:
        loaded = config.load(arguments.config)
        return loaded.broker, arguments.site or loaded.site
    if arguments.config != CONFIG:
        raise UsageError("--url and --config name two brokers; write one of them")
    if arguments.site is None:
        raise UsageError("--url requires --site, as in --site rws")
    try:
        host, port, tls = parse_url(arguments.url)
    except ValueError as error:
        raise UsageError(f"--url: {error}") from error
    return BrokerSettings(host, port, tls), arguments.site


async def follow(broker: BrokerSettings, site: str, file: Witness, found: ProblemCount) -> None:
    """Receive heads until the task is cancelled."""
    rng = random.Random()
    failures, printed = 0, ""
    while True:
        try:
            async with subscription(broker, f"shoed/v1/{site}/+/head") as messages:
                show(printed := f"{broker.at}: connected; the heads of {site} are appended to {file.path}")
                failures = 0
                async for topic, payload in messages:
                    verdict = file.take(topic.split("/")[3], payload, rfc3339(now().utc_us))
                    found.problems += verdict.is_problem
                    if verdict.note:
                        show(f"{'PROBLEM: ' if verdict.is_problem else ''}{verdict.note}")
        except BrokerLost as error:
            if str(error) != printed:
                show(printed := str(error))
        failures += 1
        await asyncio.sleep(backoff_s(failures, rng, BACKOFF_MOST_S))


def show(line: str) -> None:
    """Print a line with its time, at once: the output may be the log of a service."""
    print(f"{rfc3339(now().utc_us)} {printable(line)}", flush=True)
