"""Ctrl-C at the start of a command: the process ends without a traceback."""

import asyncio
import signal
import sys
from typing import Final

import pytest

from shoed.cli import ExitStatus

# The process interrupts itself when it imports the module of its first argument.
PROGRAM: Final = """
import importlib.abc, os, signal, sys
module = sys.argv.pop(1)
class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from shoed.__main__ import main
sys.exit(main())
"""
CLAUSES: Final = ("rules", "clauses", "commission")


async def interrupted(module: str, program: str = PROGRAM) -> tuple[int | None, str]:
    """The exit status and the errors of a command that is interrupted during the import of the module."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, module, *CLAUSES),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, error = await process.communicate()
    return process.returncode, error.decode()


@pytest.mark.parametrize(
    ("module", "status"),
    [
        ("shoed.cli", -signal.SIGINT),
        ("shoed.cli.parser", -signal.SIGINT),
        ("shoed.cli.rules", -signal.SIGINT),  # the module of the command
        ("shoed.cli.rules.page", ExitStatus.INTERRUPTED),  # the command has begun
    ],
)
async def test_an_interruption_of_the_start_prints_nothing(module: str, status: int) -> None:
    """A shell reports both statuses as 130."""
    assert await interrupted(module) == (status, "")


async def test_a_command_whose_caller_ignores_interruptions_continues() -> None:
    """A shell starts a background command so."""
    ignoring = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{PROGRAM}"
    assert await interrupted("shoed.cli.parser", ignoring) == (ExitStatus.GOOD, "")
