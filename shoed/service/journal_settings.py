"""The section `[journal]` of the configuration, and the check of the key of the journal."""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoed.journal.keys import KEY_FILE, NotKey, read_private
from shoed.journal.retention import Keep
from shoed.service.secret_files import LEFT_OUT, Purpose, located
from shoed.settings import Kind, Node, TomlTable, integer, text

PATH: Final = text("write the name of a file with the key of the journal between double quotes", r"[^\0]+")


MOST_DAYS: Final = 36_500
LEAST_MB: Final = 10  # some thousand rounds
MOST_MB: Final = 10_000_000


class JournalSettings(Struct, frozen=True):
    key_file: str | None = None  # None: the key in the state directory
    keep: Keep = Keep()


def journal_of(section: TomlTable, purpose: Purpose) -> JournalSettings:
    def convert(node: Node) -> str | None:
        written = PATH.read(node)
        try:
            path = located(node, written, purpose)
            if path is not None and purpose is not Purpose.READ:
                read_private(Path(path))
        except ValueError as error:
            if purpose is not Purpose.REPLAY:
                raise
            node.sheet.warn(node.route, str(error.args[0]), LEFT_OUT)
            return None
        return written if path is None else path

    return JournalSettings(
        key_file=section.get("key_file", Kind(PATH.right, None, convert), None),
        keep=Keep(
            days=section.get("keep_days", integer(1, MOST_DAYS), None),
            mb=section.get("keep_mb", integer(LEAST_MB, MOST_MB), None),
        ),
    )


def verify_own_key(site: TomlTable, state_dir: Path, purpose: Purpose) -> None:
    """Report a key in the state directory that the daemon will refuse or replace. Without a key, it makes one."""
    path = state_dir / KEY_FILE
    if not os.access(path, os.F_OK) or (purpose is Purpose.CHECK and not os.access(path, os.R_OK)):
        return  # a key that this user cannot read may belong to the user of the daemon
    try:
        read_private(path)
    except NotKey as error:
        remedy = "restore the file from a copy; otherwise the next start makes a new key"
        site.warn("state_dir", error.args[0], remedy)
    except ValueError as error:
        site.fault("state_dir", *error.args)
