"""A daemon and a defective Open Shoe: the state, an event and the log report each doubt while it is active."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build
from firmware_protocols.open_shoe.messages import OpenShoeNotice, Unkeyed
from shoed.session.open_shoe_device import OpenShoeDeviceSession
from tests.open_shoe_line import A
from tests.test_e2e_open_shoe import OpenShoe, acknowledged, start
from tests.test_open_shoe_table import card
from tests.test_session_open_shoe_doubts import VERSION_9
from tests.world import World

BEGIN: Final = b"\x7e"
ACKNOWLEDGE: Final = 0x81
DEFECTS: Final = (
    *("no-hello", "unknown-version", "wrong-role", "key-needed"),
    *("ignores-acknowledgements", "clock-jumps"),
)
OF_A_KNOWN_DEVICE: Final = {
    "ignores-acknowledgements",
    "clock-jumps",
}  # a device with another doubt has not identified itself as the shoe
DAY_MS: Final = 86_400_000


class OddShoe(OpenShoe):
    """It has one defect, until it is repaired."""

    def __init__(self, node: Path) -> None:
        super().__init__(node)
        self.defect = ""

    def hear(self, data: bytes = b"") -> None:
        match self.defect:
            case "no-hello":
                data = b""
            case "unknown-version":
                if data:
                    self.write(VERSION_9)
                return
            case "key-needed":
                if data:
                    self.write(build(OpenShoeNotice(3, Unkeyed())))
                return
            case "ignores-acknowledgements":
                frames = data.split(BEGIN)[1:]
                data = b"".join(BEGIN + each for each in frames if each[1] != ACKNOWLEDGE)
            case _:
                pass
        super().hear(data)

    def begin(self, defect: str) -> None:
        self.defect = defect
        if defect == "wrong-role":
            self.role = OpenShoeDeviceSession(OpenShoeSettings().for_role("shuffler"))

    def repair(self) -> None:
        self.defect = ""
        self.role = OpenShoeDeviceSession(OpenShoeSettings(), version=2)
        self.state, out = self.role.opened(self.state, self.at().at)
        self.write(out)


@pytest.fixture
async def shoe(tmp_path: Path) -> AsyncIterator[OddShoe]:
    async with OddShoe(tmp_path / "tty") as shoe:
        yield shoe


def reason(world: World) -> str | None:
    """The reason of the device in the last state."""
    states = world.recorder.states()
    return states[-1]["device"]["reason"] if states else "no state yet"


@pytest.mark.parametrize("defect", DEFECTS)
async def test_a_defective_device_is_doubted_until_it_is_repaired(world: World, shoe: OddShoe, defect: str) -> None:
    """The doubt is in the state over MQTT, in an event and in the log; an identified device stays online."""
    if defect in OF_A_KNOWN_DEVICE:
        await start(world, shoe)
        await world.recorder.event("device.identified")  # later reports do not wait at the device
        shoe.report(card("8S"))
        await acknowledged(world, shoe, 1)
        shoe.begin(defect)
        shoe.ahead_ms += DAY_MS if defect == "clock-jumps" else 0
        shoe.report(card("3H"))
    else:
        shoe.begin(defect)
        await start(world, shoe)
    doubted = await world.recorder.event("device.doubted", device="shoe", reason=defect)
    await world.recorder.until(lambda: f"{defect}: {doubted['detail']}" in str(reason(world)))
    known = defect in OF_A_KNOWN_DEVICE
    assert world.recorder.states()[-1]["device"]["link"] == ("online" if known else "offline")
    await world.daemons[-1].looking(lambda: f"{defect}: {doubted['detail']}" in str(world.daemons[-1]))

    shoe.repair()
    shoe.report(card("JD"))
    await world.recorder.event("device.trusted", device="shoe", reason=defect)
    await world.recorder.until(lambda: reason(world) is None)
    await world.daemons[-1].looking(lambda: f"{defect}: the doubt has ended" in str(world.daemons[-1]))
    await world.all_published()
    assert await world.daemons[-1].stop() == 0
    assert shoe.state.store.stream == A
