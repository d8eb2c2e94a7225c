"""`shoed run`: run the daemon."""

import argparse
import gc
import logging


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, metavar="FILE", help="the configuration")
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    gc.disable()  # the daemon enables the collector when it is ready: the objects of the start stay
    from shoed.service import config, daemon, log

    log.begin()
    loaded = config.load(arguments.config, config.Purpose.RUN)
    for warning in loaded.warnings:
        logging.getLogger("shoed").warning("%s", warning)
    return daemon.run(loaded)
