"""The base of the enumerations that are keys on the way of a card."""

from enum import Enum


class IdentityEnum(Enum):
    """Members are hashed by their identity. `Enum` hashes their names in Python code, at each lookup."""

    __hash__ = object.__hash__
