"""The virtual devices that there are, by the word that the command takes. One more is a line here, and its class."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import Role
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import Device
from shoed.rig.open_shoe import OpenShoeDevice
from shoed.rig.silent import BeeTekDevice, ScannerDevice


class Model(NamedTuple):
    family: str
    stands_as: str  # at a table
    make: Callable[[], Device]


DEVICES: Final[Mapping[str, Model]] = {
    "angel-eye": Model("angel-eye", "shoe", lambda: AngelEyeDevice(AngelEyeSettings())),
    "bee-tek": Model("bee-tek", "shoe", lambda: BeeTekDevice(BeeTekSettings())),
    "open-shoe": Model("open-shoe", "shoe", lambda: OpenShoeDevice(OpenShoeSettings())),
    "open-shoe-shuffler": Model("open-shoe", "shuffler", lambda: OpenShoeDevice(OpenShoeSettings(role=Role.SHUFFLER))),
    "scanner": Model("scanner", "shoe", ScannerDevice),
}
