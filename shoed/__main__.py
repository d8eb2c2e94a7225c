"""The program `shoed`, and `python -m shoed`.

Ctrl-C during an import would print a traceback. Therefore the kernel ends the process at Ctrl-C until the command
begins (`shoed/cli/__init__.py`). `_signal` is built in: `signal` itself imports for some milliseconds.
"""

import _signal  # type: ignore[import-not-found]  # typeshed does not have it
import sys


def main() -> int:
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # otherwise the caller ignores the signal
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from shoed.cli import main as execute  # noqa: PLC0415 -- the import takes most of the time before the command

    return execute()


if __name__ == "__main__":
    sys.exit(main())
