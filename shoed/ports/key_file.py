"""The file with the key of a device: 32 hexadecimal digits, only for the user of the daemon.

The group of the file may read it, so that root can own the file and the group of the daemon can read it. Other users
have no access, and only the owner may write the file.
"""

import re
import stat
from os import fstat
from pathlib import Path
from typing import Final

KEY: Final = re.compile(rb"\s*([0-9A-Fa-f]{32})\s*")
LONGEST: Final = 4096  # a larger file is not a key file
TOO_OPEN: Final = stat.S_IWGRP | stat.S_IRWXO
MAKE: Final = "`openssl rand -hex 16` prints a new key"


def read_key(path: str) -> bytes:
    """The key. A ValueError contains the problem and the remedy, and no byte of the file."""
    try:
        with Path(path).open("rb") as file:
            mode, data = fstat(file.fileno()).st_mode, file.read(LONGEST)
    except FileNotFoundError as error:
        raise ValueError(f"{path} does not exist", f"write the key of the device into it; {MAKE}") from error
    except PermissionError as error:
        problem = f"{path} cannot be read: {error.strerror}"
        raise ValueError(problem, "run shoed as the user of the daemon, and give the file to that user") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}", "use a file with the key of the device") from error
    if mode & TOO_OPEN:
        problem = f"{path} has the mode {stat.S_IMODE(mode):04o}, so that other users can read or change the key"
        raise ValueError(problem, f"run: chmod 0400 {path}; if root owns it and the daemon is in its group, 0440")
    found = KEY.fullmatch(data)
    if found is None:
        raise ValueError(
            f"{path} does not contain a key", f"write 32 hexadecimal digits into it, and nothing else; {MAKE}"
        )
    return bytes.fromhex(found[1].decode())
