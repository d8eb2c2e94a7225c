"""The files that a configuration names: passwords, keys and certificates, by a path or as a credential of systemd.

`credential:NAME` names the file NAME in the directory that systemd makes for the service (LoadCredential=). The
directory exists only in the service, so another process cannot verify a credential.
"""

import os
import re
from enum import Enum, auto
from pathlib import Path
from typing import Final

from shoed.settings import Node, shown

CREDENTIAL: Final = "credential:"
NAME: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,255}")
LEFT_OUT: Final = "the replay continues without it"
DIRECTORY: Final = "CREDENTIALS_DIRECTORY"  # in the environment of a service with credentials


class Purpose(Enum):
    """The purpose of loading; it decides the checks of the files and of the state directory."""

    READ = auto()  # the command needs only the name of the directory
    CHECK = auto()  # any user runs the check: write permissions are not verified
    SERVE = auto()  # the check, with the rights of the daemon's user: every permission is verified
    RUN = auto()  # the user of the daemon runs it
    REPLAY = auto()  # a capture replaces the device: a file that this process cannot read is left out


def located(node: Node, written: str, purpose: Purpose) -> str | None:
    """The path of the file; None: a credential that this process cannot verify. A relative path begins at the file."""
    if not written.startswith(CREDENTIAL):
        return str(Path(node.sheet.file).parent / written)
    name, directory = written.removeprefix(CREDENTIAL), os.environ.get(DIRECTORY)
    if not NAME.fullmatch(name):
        remedy = "write credential:NAME, with the NAME of LoadCredential=NAME:FILE in the unit"
        raise ValueError(f"{shown(written)} does not name a credential", remedy)
    if directory:
        path = Path(directory) / name
        if purpose is not Purpose.READ and not path.exists():
            remedy = f"write LoadCredential={name}:FILE into the unit of the service, and restart the service"
            raise ValueError(f"{directory} does not have the credential {name}", remedy)
        return str(path)
    if purpose in (Purpose.RUN, Purpose.REPLAY):
        remedy = f"start shoed as a service of systemd with LoadCredential={name}:FILE, or write the path of a file"
        raise ValueError(f"the credential {name} cannot be read: {DIRECTORY} is not set", remedy)
    if purpose in (Purpose.CHECK, Purpose.SERVE):
        remedy = f"verify LoadCredential={name}:FILE in the unit"
        node.sheet.warn(node.route, f"the credential {name} exists in the service only and was not verified", remedy)
    return None
