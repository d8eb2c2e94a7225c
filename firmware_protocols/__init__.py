"""The declared layouts of every device family and firmware version. This package contains only data.

Imports `construct` and the standard library only.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from firmware_protocols.family import Family, Settings

NAMES: Final = ("angel-eye", "bee-tek", "open-shoe", "scanner")  # also the names of the packages, with underscores


class Families(Mapping[str, Family[Settings]]):
    """The families by name. A family is imported on first access, to keep the start short.

    A family reads only its own settings; `Family.settings` is their type. A common mapping cannot state that.
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
