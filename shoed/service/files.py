"""The files that a configuration names, as the present user finds them: access, and content.

`shoed check` calls these functions, in a process with the rights of the daemon's user if root runs the command. A
result is the problem and its remedy, or None.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from msgspec.structs import replace

from shoed.bus.broker_socket import tls_context
from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerRefused


def write_problem(directory: Path) -> str | None:
    """The problem of a state directory in which this user cannot write. A trial file is created and removed."""
    try:
        with NamedTemporaryFile(dir=directory, prefix=".shoed-"):
            pass
        for file in directory.iterdir():
            with suppress(FileNotFoundError):  # the daemon, or another check, has removed it
                if not os.access(file, os.R_OK | os.W_OK):
                    return f"{file.name} in it belongs to another user, {owner_of(file)}"
    except OSError as error:
        return error.strerror
    return None


def owner_of(file: Path) -> str:
    try:
        return file.owner()
    except KeyError:
        return str(file.stat().st_uid)


def exposure(path: str) -> tuple[str, str] | None:
    """The problem of a secret that every user of the machine can read."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # a credential, which exists in the service only
        return None
    if not stat.S_ISREG(mode) or not mode & stat.S_IROTH:
        return None
    return f"every user of this machine can read {path}", f"run: chmod o= {path}"


def tls_problems(broker: BrokerSettings) -> dict[str, tuple[str, str]]:
    """By key of [mqtt]: the problem of certificates and keys, as the daemon finds it when it connects."""
    found = {}
    for key, settings in (("ca", replace(broker, cert=None, key=None)), ("cert", replace(broker, ca=None))):
        try:
            tls_context(settings)
        except BrokerRefused as refusal:
            problem, _, remedy = str(refusal).rpartition("; ")
            found[key] = problem, remedy
    return found
