"""`shoed check`: list every problem of a configuration."""

import argparse
import sys

from shoed.service.config import load
from shoed.service.secret_files import Purpose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the configuration")
    parser.set_defaults(command=check)


def check(arguments: argparse.Namespace) -> int:
    loaded = load(arguments.file, Purpose.CHECK)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"{arguments.file}: good: {', '.join(table.name for table in loaded.tables)} at {loaded.site}")
    return 0
