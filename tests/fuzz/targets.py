"""The targets of the fuzzer: their names, and their functions for a fuzzer's bytes."""

from collections.abc import Mapping
from typing import Final, Protocol

from shoed.rig.devices import DEVICES
from shoed.session.families import DRIVERS
from tests.fuzz.devices import DeviceTarget
from tests.fuzz.families import Decoder, SessionTarget
from tests.fuzz.source import Source
from tests.fuzz.texts import TEXTS


class Target(Protocol):
    """Process any bytes. Every raised exception is a defect."""

    def __call__(self, data: bytes) -> None: ...

    def seeds(self) -> list[bytes]:
        """Initial inputs that reach deep into the code."""


def of_families() -> dict[str, Target]:
    targets: dict[str, Target] = {}
    for name, driver in DRIVERS.items():
        targets[f"{name}.reports"] = Decoder(driver, orders=False)
        targets[f"{name}.orders"] = Decoder(driver, orders=True)
        targets[f"{name}.session"] = SessionTarget(driver)
    for name, model in DEVICES.items():
        targets[f"{name}.device"] = DeviceTarget(DRIVERS[model.family], model.make)
    return targets


TARGETS: Final[Mapping[str, Target]] = {**of_families(), **TEXTS}


class Every:
    """All targets as one, for a short run: the first byte selects the target."""

    def __init__(self) -> None:
        self.targets = tuple(TARGETS.values())

    def __call__(self, data: bytes) -> None:
        source = Source(data)
        source.among(self.targets)(data[1:])

    def seeds(self) -> list[bytes]:
        return [bytes((number,)) + seed for number, each in enumerate(self.targets) for seed in each.seeds()]
