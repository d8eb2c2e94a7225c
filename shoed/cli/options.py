"""Options and arguments that several commands share."""

import argparse
from pathlib import Path
from random import SystemRandom
from typing import Final

from shoed.cli.parser import path, positive, whole
from shoed.errors import UsageError
from shoed.ports.address import Address, parse_address

CONFIG: Final = "/etc/shoed/shoed.toml"  # the path in the systemd unit
SEEDS: Final = 1_000_000  # a seed that the program chooses has six digits at most: people copy it by hand


def add_config(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--config", default=CONFIG, metavar="FILE", help="the configuration (default: %(default)s)")


def add_state_dir(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group()
    add_config(place)
    place.add_argument("--state-dir", type=path, metavar="DIR", help="the state directory, in place of --config")


def state_dir_of(arguments: argparse.Namespace) -> Path:
    if arguments.state_dir is not None:
        return Path(arguments.state_dir)
    from shoed.service import config

    return Path(config.load(arguments.config).state_dir)


def address_of(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        from shoed.ports.discover import discover

        found = ", ".join(str(each.address) for each in discover({}))
        raise UsageError(f"{error}; connected: {found or 'nothing'}") from error


def add_dealing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", metavar="N", type=whole, help="equal seeds give equal cards (default: a random seed)")
    parser.add_argument("--fast", action="store_true", help="deal as fast as the host reads (default: as a dealer)")
    parser.add_argument("--rounds", metavar="N", type=positive, help="stop after N rounds (default: no limit)")


def seed_of(arguments: argparse.Namespace) -> int:
    return SystemRandom().randrange(SEEDS) if arguments.seed is None else int(arguments.seed)
