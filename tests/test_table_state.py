"""The whole state of a device, compared with what the table knows: what differs is published as its report would be."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.device_events import (
    DeviceCleared,
    DeviceFault,
    DeviceIdentified,
    DeviceLocked,
    DeviceUnlocked,
)
from shoed.findings import OrderAltered
from shoed.observations import (
    AnyObservation,
    Capability,
    Device,
    DeviceStatus,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    FaultStanding,
    Identified,
)
from shoed.table.state import Fault
from shoed.watch import WatchSettings, WatchState, watch
from tests.observed import FRAME, OPENED, START, Sitting, closed, fault, lock

JAM: Final = FaultStanding(2, "jam", blocking=True)
LID: Final = FaultStanding(4, "lid-open", blocking=True)
BACK: Final = FaultStanding(3, "reverse-run", blocking=False, meaning=FaultMeaning.REVERSED)
OVERDRAW: Final = FaultStanding(7, "overdraw", blocking=True, meaning=FaultMeaning.OVERDRAW)


def status(*faults: FaultStanding, locked: bool | None = False, device: Device = Device.SHOE) -> DeviceStatus:
    return DeviceStatus(at=START, device=device, frame=FRAME, locked=locked, faults=faults, set_id="")


def cleared(code: int, name: str) -> FaultCleared:
    return FaultCleared(at=START, frame=FRAME, code=code, name=name)


def shown(table: Sitting) -> tuple[Fault | None, bool]:
    return table.shown.device.fault, table.shown.device.locked


@pytest.mark.parametrize(
    ("before", "said", "told"),
    [
        pytest.param([], status(), [], id="nothing differs"),
        pytest.param([], status(locked=True), [DeviceLocked()], id="locked"),
        pytest.param([lock(locked=True)], status(locked=True), [], id="still locked"),
        pytest.param([lock(locked=True)], status(), [DeviceUnlocked()], id="unlocked"),
        pytest.param([], status(locked=None), [], id="no lock"),
        pytest.param([lock(locked=True)], status(locked=None), [DeviceUnlocked()], id="another device, without a lock"),
        pytest.param([], status(JAM), [DeviceFault(code=2, name="jam", blocking=True)], id="a fault"),
        pytest.param([fault(2, "jam")], status(JAM), [], id="the fault that is shown"),
        pytest.param([fault(2, "jam")], status(), [DeviceCleared(code=2, name="jam")], id="no fault"),
        pytest.param(
            [fault(2, "jam", blocking=False)],
            status(JAM),
            [DeviceFault(code=2, name="jam", blocking=True)],
            id="it blocks now",
        ),
        pytest.param(
            [fault(2, "jam"), lock(locked=True)],
            status(LID),
            [
                DeviceUnlocked(),
                DeviceCleared(code=2, name="jam"),
                DeviceFault(code=4, name="lid-open", blocking=True),
            ],
            id="all of it",
        ),
        pytest.param(
            [],
            status(JAM, LID, JAM),
            [DeviceFault(code=2, name="jam", blocking=True), DeviceFault(code=4, name="lid-open", blocking=True)],
            id="two faults",
        ),
    ],
)
def test_what_differs_is_published(before: list[AnyObservation], said: DeviceStatus, told: list[object]) -> None:
    """As the reports that were lost; said again, it is known."""
    table = Sitting()
    table.hear_each(before)
    assert table.hear(said) == told
    assert table.hear(said) == []


def test_the_state_that_is_shown_is_that_of_the_device() -> None:
    """Also on a line that was away, and with the fault that came last."""
    table = Sitting()
    table.hear_each([OPENED, fault(2, "jam"), lock(locked=True), closed("no power"), OPENED])
    table.hear(status(LID))
    assert shown(table) == (Fault(4, "lid-open", blocking=True), False)
    table.hear(status(locked=True))
    assert shown(table) == (None, True)


def test_of_several_faults_the_others_are_shown_when_one_goes() -> None:
    """A device that states all of its faults has them cleared one by one: the one that is shown then is published."""
    table = Sitting()
    table.hear(status(JAM))
    table.hear(fault(4, "lid-open"))
    again = DeviceFault(code=2, name="jam", blocking=True)
    assert table.hear(cleared(4, "lid-open")) == [DeviceCleared(code=4, name="lid-open"), again]
    assert shown(table)[0] == Fault(2, "jam", blocking=True)
    assert table.hear(status(JAM)) == []
    assert table.hear(cleared(8, "memory-full")) == [DeviceCleared(code=8, name="memory-full"), again]
    assert shown(table)[0] == Fault(2, "jam", blocking=True)
    table.hear(cleared(2, "jam"))
    assert shown(table)[0] is None


def test_a_device_that_never_stated_its_faults_has_none_once_one_is_cleared() -> None:
    """The code of what is cleared need not be that of a fault."""
    table = Sitting()
    table.hear_each([fault(2, "jam"), fault(4, "lid-open"), cleared(2, "jam")])
    assert shown(table)[0] is None


def test_the_state_of_the_shuffler_is_its_own() -> None:
    """The shoe is not locked by it."""
    table = Sitting()
    told = table.hear(status(JAM, device=Device.SHUFFLER, locked=None))
    assert told == [DeviceFault(device=Device.SHUFFLER, code=2, name="jam", blocking=True)]
    assert shown(table) == (None, False)
    assert table.shown.shuffler is not None
    assert table.shown.shuffler.fault == Fault(2, "jam", blocking=True)


def test_a_state_is_no_card_and_no_gap() -> None:
    """The round and its continuity are as they were."""
    table = Sitting()
    before = table.state.record
    table.hear(status(JAM, locked=True))
    assert table.state.record == before


# --- who it is


WHO: Final = Identified(at=START, frame=FRAME, vendor="V", model="M", serial="1", firmware="2.0", protocol="3")


@pytest.mark.parametrize("able", [(), (Capability.LOCK,), tuple(Capability)])
def test_what_a_device_can_do_is_published(able: tuple[Capability, ...]) -> None:
    """An empty list is a device that can do nothing of it."""
    told = DeviceIdentified(vendor="V", model="M", serial="1", firmware="2.0", protocol="3", capabilities=able)
    assert Sitting().hear(replace(WHO, capabilities=able)) == [told]


def test_what_a_device_does_not_state_is_absent() -> None:
    """It may be able to do it all the same."""
    (event,) = Sitting().step(WHO)
    assert b"protocol" in msgspec.json.encode(event.data)
    assert b"capabilities" not in msgspec.json.encode(event.data)


# --- the watch


def found(*seen: AnyObservation) -> list[str]:
    state, kinds = WatchState(), list[str]()
    for each in seen:
        state, more = watch(WatchSettings(250), state, each)
        kinds += [type(it).__name__ for it in more]
    return kinds


REVERSED: Final = FaultRaised(
    at=START, frame=FRAME, code=3, name="reverse-run", blocking=False, meaning=FaultMeaning.REVERSED
)


def test_a_fault_that_stands_says_the_same_of_the_cards_as_its_report() -> None:
    """Once: its report is known, or the state was said before."""
    altered = [OrderAltered.__name__]
    assert found(REVERSED) == altered
    assert found(status(BACK)) == altered
    assert found(status(BACK), status(BACK, JAM)) == altered
    assert found(REVERSED, status(BACK)) == altered
    assert found(status(JAM, OVERDRAW)) == []


def test_a_fault_that_went_and_stands_again_is_found_again() -> None:
    """Whether its end was reported or is seen in the state."""
    altered = [OrderAltered.__name__] * 2
    assert found(status(BACK), cleared(3, "reverse-run"), status(BACK)) == altered
    assert found(status(BACK), status(), status(BACK)) == altered


def test_the_faults_of_a_shuffler_are_no_matter_of_the_cards() -> None:
    """A shuffler turns its cards by itself."""
    assert found(status(BACK, device=Device.SHUFFLER)) == []
