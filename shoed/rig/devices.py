"""The virtual devices that there are, by the word that the command takes. One more is a line here, and its class."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import Role
from shoed.rig import angel_eye, open_shoe
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import AS_IT_IS, Device, Manner
from shoed.rig.open_shoe import OpenShoeDevice
from shoed.rig.silent import BeeTekDevice, ScannerDevice


def asked(answers: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(word for word in answers if word)


class Model(NamedTuple):
    family: str
    stands_as: str  # at a table
    speaking: Callable[[str, Manner], Device]  # a firmware version of the family's own
    answers: tuple[str, ...] = ()  # to orders; none: the device executes no orders

    def make(self, firmware: str | None = None, manner: Manner = AS_IT_IS) -> Device:
        return self.speaking(firmware or FAMILIES[self.family].firmware[0], manner)


DEVICES: Final[Mapping[str, Model]] = {
    "angel-eye": Model(
        "angel-eye", "shoe", lambda _, manner: AngelEyeDevice(AngelEyeSettings(), manner), asked(angel_eye.ANSWERS)
    ),
    "bee-tek": Model("bee-tek", "shoe", lambda *_: BeeTekDevice(BeeTekSettings())),
    "open-shoe": Model(
        "open-shoe",
        "shoe",
        lambda version, manner: OpenShoeDevice(OpenShoeSettings(), version=int(version), manner=manner),
        asked(open_shoe.ANSWERS),
    ),
    "open-shoe-shuffler": Model(
        "open-shoe",
        "shuffler",
        lambda version, manner: OpenShoeDevice(
            OpenShoeSettings(role=Role.SHUFFLER), version=int(version), manner=manner
        ),
        asked(open_shoe.ANSWERS),
    ),
    "scanner": Model("scanner", "shoe", lambda *_: ScannerDevice()),
}
