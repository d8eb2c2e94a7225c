"""The installed files of the running program. An update replaces them while the process runs.

Theory of operation: the process has the modules that it imported. A module that is imported after an update would be of
the new version, beside the old ones. Therefore the daemon imports all modules that a request may need when it is ready,
and the modules of a device when its port starts. Only a reload can need further modules and rule books; after an update
it changes nothing, and requires a restart.
"""

from importlib import import_module
from pathlib import Path
from typing import Final

import firmware_protocols
import shoed

LATER: Final = (
    "shoed.journal.replay",
    "shoed.journal.seeds",
    "shoed.ports.recent_capture",
    "shoed.service.reload",
    "shoed.service.status",
    "shoed.service.verification",
)
FILES: Final = (shoed.__file__, firmware_protocols.__file__)

FileIdentity = tuple[int, int, int, int]


def load_later_modules() -> None:
    """Import the modules of later requests. The start does not need them: their import costs 8 ms."""
    for name in LATER:
        import_module(name)


class InstalledFiles:
    def __init__(self) -> None:
        self.first = self.present()

    @property
    def are_replaced(self) -> bool:
        return self.present() != self.first

    @staticmethod
    def present() -> list[FileIdentity | None]:
        return [identity(Path(file)) for file in FILES if file]


def identity(file: Path) -> FileIdentity | None:
    """None: the file is absent, as during an update."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
