"""A daemon and an Open Shoe of version 3 that loses its power: the changes during the loss are published later."""

from collections.abc import AsyncIterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import FaultChanged, Lock
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.session.open_shoe_device import OpenShoeDeviceSession
from tests.open_shoe_line import A
from tests.test_e2e_open_shoe import OpenShoe, acknowledged, engine_for, start
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import World

JAM: Final = {"code": 2, "name": "jam", "blocking": True}
LID: Final = {"code": 4, "name": "lid-open", "blocking": True}


class LatestShoe(OpenShoe):
    def __init__(self, node: Path) -> None:
        super().__init__(node)
        self.role = OpenShoeDeviceSession(OpenShoeSettings(), version=3)
        self.state = self.role.powered(self.role.begin(A), self.at().at, boot=7)

    def power_returns(self, *, memory: bool) -> None:
        """Meanwhile, a person unlocked the exit, removed the stuck card and left the lid open."""
        state = self.state if memory else self.role.begin(0xB)
        lid = FaultChanged(4, raised=True, blocking=True)
        self.state = self.role.powered(replace(state, locked=False, faults=(lid,)), self.at().at)

    def say_hello(self) -> None:
        self.state, out = self.role.opened(self.state, self.at().at)
        self.write(out)


@pytest.fixture
async def shoe(tmp_path: Path) -> AsyncIterator[LatestShoe]:
    async with LatestShoe(tmp_path / "tty") as shoe:
        yield shoe


def shown(world: World) -> tuple[object, object]:
    """The fault and the lock of the shoe, in the last state."""
    states = world.recorder.states()
    return (states[-1]["device"]["fault"], states[-1]["device"]["locked"]) if states else ("no state yet", None)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("hello", ["heard", "lost", "cable"])
async def test_a_shoe_that_lost_its_power_shows_its_state(
    world: World,
    shoe: LatestShoe,
    hello: str,
    memory: bool,  # noqa: FBT001 -- a column
) -> None:
    """Before the loss, the exit is locked and a fault is active; after it, neither. The record folds from its bytes."""
    await start(world, shoe)
    await world.recorder.event("device.identified", protocol="3", capabilities=["passage", "lock", "clear"])
    shoe.report(card("8S"), FaultChanged(2, raised=True, blocking=True), Lock(locked=True))
    await world.recorder.until(lambda: shown(world) == (JAM, True))
    await acknowledged(world, shoe, 1)
    if hello == "cable":
        await shoe.cut()
    shoe.power_returns(memory=memory)
    if hello == "heard":
        shoe.say_hello()
    if hello == "cable":
        await shoe.plug_in()
    else:
        shoe.report(card("3H"))
    await world.recorder.until(lambda: shown(world) == (LID, False))
    await world.daemons[-1].looking(lambda: not shoe.state.store.kept)
    await world.all_published()
    assert await world.daemons[-1].stop() == 0

    types = [row.type for row in world.journal.events()]
    changes = [each for each in types if each in {"device.fault", "device.cleared", "device.locked", "device.unlocked"}]
    assert changes == ["device.fault", "device.locked", "device.unlocked", "device.cleared", "device.fault"]
    assert types.count("device.identified") == 2
    assert ("line.missed" in types) is not memory
    # If a commit needs more than a second, IDENTIFY or an acknowledgement is late. Each has a doubt of its own.
    doubts = {row.data["reason"] for row in world.journal.events() if row.type == "device.doubted"}
    assert doubts <= {"no-hello", "ignores-acknowledgements"}
    with closing(Reader(world.journal.path)) as reader:
        differences = chain(rehearse(reader, TABLE, engine_for), decode_again(reader, TABLE, engine_for))
        assert list(differences) == []
