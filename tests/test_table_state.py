"""A full state report of a device: the table publishes each difference as the missing report would be published."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.model.device_events import DeviceCleared, DeviceFault, DeviceIdentified, DeviceLocked, DeviceUnlocked
from shoed.model.findings import OrderAltered
from shoed.model.observations import (
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
from shoed.table.state import RaisedFault
from shoed.watch import WatchSettings, WatchState, watch
from tests.observed import FRAME, OPENED, START, TableRun, closed, fault, lock

JAM: Final = FaultStanding(2, "jam", blocking=True)
LID: Final = FaultStanding(4, "lid-open", blocking=True)
BACK: Final = FaultStanding(3, "reverse-run", blocking=False, meaning=FaultMeaning.REVERSED)
OVERDRAW: Final = FaultStanding(7, "overdraw", blocking=True, meaning=FaultMeaning.OVERDRAW)


def status(*faults: FaultStanding, locked: bool | None = False, device: Device = Device.SHOE) -> DeviceStatus:
    return DeviceStatus(at=START, device=device, frame=FRAME, locked=locked, faults=faults, set_id="")


def cleared(code: int, name: str) -> FaultCleared:
    return FaultCleared(at=START, frame=FRAME, code=code, name=name)


def shown(table: TableRun) -> tuple[RaisedFault | None, bool]:
    return table.shown.device.fault, table.shown.device.locked


@pytest.mark.parametrize(
    ("before", "report", "published"),
    [
        pytest.param([], status(), [], id="no difference"),
        pytest.param([], status(locked=True), [DeviceLocked()], id="locked"),
        pytest.param([lock(locked=True)], status(locked=True), [], id="still locked"),
        pytest.param([lock(locked=True)], status(), [DeviceUnlocked()], id="unlocked"),
        pytest.param([], status(locked=None), [], id="no lock"),
        pytest.param([lock(locked=True)], status(locked=None), [DeviceUnlocked()], id="other device without a lock"),
        pytest.param([], status(JAM), [DeviceFault(code=2, name="jam", blocking=True)], id="a fault"),
        pytest.param([fault(2, "jam")], status(JAM), [], id="the fault that is shown"),
        pytest.param([fault(2, "jam")], status(), [DeviceCleared(code=2, name="jam")], id="no fault"),
        pytest.param(
            [fault(2, "jam", blocking=False)],
            status(JAM),
            [DeviceFault(code=2, name="jam", blocking=True)],
            id="the fault becomes blocking",
        ),
        pytest.param(
            [fault(2, "jam"), lock(locked=True)],
            status(LID),
            [
                DeviceUnlocked(),
                DeviceCleared(code=2, name="jam"),
                DeviceFault(code=4, name="lid-open", blocking=True),
            ],
            id="all differences",
        ),
        pytest.param(
            [],
            status(JAM, LID, JAM),
            [DeviceFault(code=2, name="jam", blocking=True), DeviceFault(code=4, name="lid-open", blocking=True)],
            id="two faults",
        ),
    ],
)
def test_each_difference_is_published(
    before: list[AnyObservation], report: DeviceStatus, published: list[object]
) -> None:
    """The events are those of the lost reports; a second equal state report publishes none."""
    table = TableRun()
    table.hear_each(before)
    assert table.hear(report) == published
    assert table.hear(report) == []


def test_the_shown_state_is_the_reported_state() -> None:
    """The line was down, and the last reported fault is shown."""
    table = TableRun()
    table.hear_each([OPENED, fault(2, "jam"), lock(locked=True), closed("no power"), OPENED])
    table.hear(status(LID))
    assert shown(table) == (RaisedFault(4, "lid-open", blocking=True), False)
    table.hear(status(locked=True))
    assert shown(table) == (None, True)


def test_after_one_of_several_faults_is_cleared_another_is_shown() -> None:
    """The faults of a state report are cleared one by one. After each clearing, an active fault is published again."""
    table = TableRun()
    table.hear(status(JAM))
    table.hear(fault(4, "lid-open"))
    again = DeviceFault(code=2, name="jam", blocking=True)
    assert table.hear(cleared(4, "lid-open")) == [DeviceCleared(code=4, name="lid-open"), again]
    assert shown(table)[0] == RaisedFault(2, "jam", blocking=True)
    assert table.hear(status(JAM)) == []
    assert table.hear(cleared(8, "memory-full")) == [DeviceCleared(code=8, name="memory-full"), again]
    assert shown(table)[0] == RaisedFault(2, "jam", blocking=True)
    table.hear(cleared(2, "jam"))
    assert shown(table)[0] is None


def test_one_clearing_ends_all_faults_of_a_device_without_state_reports() -> None:
    """The cleared code may be the code of another fault."""
    table = TableRun()
    table.hear_each([fault(2, "jam"), fault(4, "lid-open"), cleared(2, "jam")])
    assert shown(table)[0] is None


def test_the_state_of_the_shuffler_is_separate() -> None:
    """The state of the shoe is unchanged."""
    table = TableRun()
    published = table.hear(status(JAM, device=Device.SHUFFLER, locked=None))
    assert published == [DeviceFault(device=Device.SHUFFLER, code=2, name="jam", blocking=True)]
    assert shown(table) == (None, False)
    assert table.shown.shuffler is not None
    assert table.shown.shuffler.fault == RaisedFault(2, "jam", blocking=True)


def test_a_state_report_leaves_the_record_unchanged() -> None:
    """The round and its continuity stay the same."""
    table = TableRun()
    before = table.state.record
    table.hear(status(JAM, locked=True))
    assert table.state.record == before


# --- identity and capabilities


IDENTITY: Final = Identified(at=START, frame=FRAME, vendor="V", model="M", serial="1", firmware="2.0", protocol="3")


@pytest.mark.parametrize("able", [(), (Capability.LOCK,), tuple(Capability)])
def test_the_capabilities_of_a_device_are_published(able: tuple[Capability, ...]) -> None:
    """An empty list is a device without optional capabilities."""
    published = DeviceIdentified(vendor="V", model="M", serial="1", firmware="2.0", protocol="3", capabilities=able)
    assert TableRun().hear(replace(IDENTITY, capabilities=able)) == [published]


def test_capabilities_that_a_device_does_not_state_are_absent() -> None:
    """The device may have these capabilities."""
    (event,) = TableRun().step(IDENTITY)
    assert b"protocol" in msgspec.json.encode(event.data)
    assert b"capabilities" not in msgspec.json.encode(event.data)


# --- the watch


def finding_types(*seen: AnyObservation) -> list[str]:
    state, kinds = WatchState(), list[str]()
    for each in seen:
        state, more = watch(WatchSettings(250), state, each)
        kinds += [type(it).__name__ for it in more]
    return kinds


REVERSED: Final = FaultRaised(
    at=START, frame=FRAME, code=3, name="reverse-run", blocking=False, meaning=FaultMeaning.REVERSED
)


def test_a_standing_fault_gives_the_same_finding_as_its_report() -> None:
    """The finding is made once for a report and later state reports."""
    altered = [OrderAltered.__name__]
    assert finding_types(REVERSED) == altered
    assert finding_types(status(BACK)) == altered
    assert finding_types(status(BACK), status(BACK, JAM)) == altered
    assert finding_types(REVERSED, status(BACK)) == altered
    assert finding_types(status(JAM, OVERDRAW)) == []


def test_a_fault_that_returns_gives_a_new_finding() -> None:
    """The end of the fault is reported or follows from a state report."""
    altered = [OrderAltered.__name__] * 2
    assert finding_types(status(BACK), cleared(3, "reverse-run"), status(BACK)) == altered
    assert finding_types(status(BACK), status(), status(BACK)) == altered


def test_a_fault_of_a_shuffler_gives_no_finding_about_cards() -> None:
    """A shuffler reverses its cards in normal operation."""
    assert finding_types(status(BACK, device=Device.SHUFFLER)) == []
