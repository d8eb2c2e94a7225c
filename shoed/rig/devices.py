"""The virtual devices that there are, by the word that the command takes. One more is a line here, and its class."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import Device


class Model(NamedTuple):
    family: str
    stands_as: str  # at a table
    make: Callable[[], Device]


DEVICES: Final[Mapping[str, Model]] = {
    "angel-eye": Model("angel-eye", "shoe", lambda: AngelEyeDevice(AngelEyeSettings())),
}
