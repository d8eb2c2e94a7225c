"""`shoed run`: run the daemon."""

import argparse
import gc
import logging
import signal

from shoed.cli.options import add_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config(parser)
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    # A request to reload waits for the event loop. A thread that starts before must not receive it either.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    gc.disable()  # the daemon enables the collector when it is ready: the objects of the start stay
    from shoed.service import config, daemon, log
    from shoed.service.secret_files import Purpose

    log.begin()
    loaded = config.load(arguments.config, Purpose.RUN)
    log.set_level(loaded.log_level)
    for warning in loaded.warnings:
        logging.getLogger("shoed").warning("%s", warning)
    return daemon.run(loaded, arguments.config)
