"""The virtual devices that there are, by the name of their family. A further one is a line here, and its class."""

from collections.abc import Callable, Mapping
from typing import Final

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import Device

DEVICES: Final[Mapping[str, Callable[[], Device]]] = {"angel-eye": lambda: AngelEyeDevice(AngelEyeSettings())}
