"""The declared layouts of every device family and firmware version: data, and nothing but data.

Imports `construct` and the standard library only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, cast

from firmware_protocols import angel_eye, bee_tek, open_shoe
from firmware_protocols.family import Family, Settings

# A family reads only its own settings; `Family.settings` says which. A mapping of many families cannot.
FAMILIES: Final[Mapping[str, Family[Settings]]] = MappingProxyType(
    {family.name: cast("Family[Settings]", family) for family in (angel_eye.FAMILY, bee_tek.FAMILY, open_shoe.FAMILY)}
)
