"""The virtual devices that there are, by the word that the command takes. One more is a line here, and its class."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from firmware_protocols import FAMILIES
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
    speaking: Callable[[str], Device]  # a firmware version of the family's own

    def make(self, firmware: str | None = None) -> Device:
        return self.speaking(firmware or FAMILIES[self.family].firmware[0])


DEVICES: Final[Mapping[str, Model]] = {
    "angel-eye": Model("angel-eye", "shoe", lambda _: AngelEyeDevice(AngelEyeSettings())),
    "bee-tek": Model("bee-tek", "shoe", lambda _: BeeTekDevice(BeeTekSettings())),
    "open-shoe": Model("open-shoe", "shoe", lambda version: OpenShoeDevice(OpenShoeSettings(), version=int(version))),
    "open-shoe-shuffler": Model(
        "open-shoe",
        "shuffler",
        lambda version: OpenShoeDevice(OpenShoeSettings(role=Role.SHUFFLER), version=int(version)),
    ),
    "scanner": Model("scanner", "shoe", lambda _: ScannerDevice()),
}
