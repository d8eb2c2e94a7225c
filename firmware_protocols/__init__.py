"""The declared layouts of every device family and firmware version: data, and nothing but data.

Imports `construct` and the standard library only.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from firmware_protocols.family import Family, Settings

NAMES: Final = ("angel-eye", "bee-tek", "open-shoe", "scanner")  # each one's package is called as it is


class Families(Mapping[str, Family[Settings]]):
    """By their names. One is imported when it is asked for: a start has no time for those that no table has.

    A family reads only its own settings; `Family.settings` says which. A mapping of many families cannot.
    """

    def __getitem__(self, name: str) -> Family[Settings]:
        if name not in NAMES:
            raise KeyError(name)
        family: Family[Settings] = import_module(f"{__name__}.{name.replace('-', '_')}").FAMILY
        return family

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


FAMILIES: Final = Families()
