"""The virtual devices by the word of the command line. A new device needs an entry here and its class."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import OpenShoeRole
from shoed.rig import angel_eye, open_shoe
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import DEFAULT_MANNER, Manner, RigDevice
from shoed.rig.one_way import BeeTekDevice, ScannerDevice
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.usb_descriptions import UsbKind

SERIAL_KINDS: Final = (UsbKind.FTDI, UsbKind.CDC_ACM)


def answer_words(answers: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(word for word in answers if word)


class Model(NamedTuple):
    family: str
    role: str  # at a table
    create: Callable[[str, Manner], RigDevice]  # with a firmware version of the family
    usb: tuple[UsbKind, ...]  # its kinds on a USB bus; the first one is the default
    answers: tuple[str, ...] = ()  # the answers to orders; empty: the device executes no orders

    def make(self, firmware: str | None = None, manner: Manner = DEFAULT_MANNER) -> RigDevice:
        return self.create(firmware or FAMILIES[self.family].firmware[0], manner)


DEVICES: Final[Mapping[str, Model]] = {
    "angel-eye": Model(
        "angel-eye",
        "shoe",
        lambda _, manner: AngelEyeDevice(AngelEyeSettings(), manner),
        SERIAL_KINDS,
        answer_words(angel_eye.ANSWERS),
    ),
    "bee-tek": Model("bee-tek", "shoe", lambda *_: BeeTekDevice(BeeTekSettings()), SERIAL_KINDS),
    "open-shoe": Model(
        "open-shoe",
        "shoe",
        lambda version, manner: VirtualOpenShoe(OpenShoeSettings(), version=int(version), manner=manner),
        (UsbKind.BULK, *SERIAL_KINDS),
        answer_words(open_shoe.ANSWERS),
    ),
    "open-shoe-shuffler": Model(
        "open-shoe",
        "shuffler",
        lambda version, manner: VirtualOpenShoe(
            OpenShoeSettings(role=OpenShoeRole.SHUFFLER), version=int(version), manner=manner
        ),
        (UsbKind.BULK, *SERIAL_KINDS),
        answer_words(open_shoe.ANSWERS),
    ),
    "scanner": Model("scanner", "shoe", lambda *_: ScannerDevice(), (UsbKind.KEYBOARD,)),
}
