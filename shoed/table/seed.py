"""The seed of a table: the few facts from which another version of the engine continues the record.

Theory of operation: a checkpoint has the whole state, and only an engine that knows its types can read it. A seed has
published facts only, as JSON that every later engine reads: numbers that must not repeat (sequence, questions, shoe,
round), the integrity of the shoe, the last result, and the devices. `is_settled` states when a seed is sufficient: no
round is under way, and no question is open. A field may be added later, with a default, and never changed.
"""

from collections.abc import Mapping

import msgspec

from shoed.model.observations import Device
from shoed.table.phase import AT_THE_TABLE
from shoed.table.record import Record
from shoed.table.state import Completed, Condition, JournalPlace, LinkStatus, RaisedFault, Shoe, TableState


class DeviceSeed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The published condition of a device."""

    link: LinkStatus | None = None
    reason: str = ""
    heard_utc_us: int | None = None
    fault: RaisedFault | None = None
    locked: bool = False


class TableSeed(msgspec.Struct, frozen=True, omit_defaults=True):
    sequence: int = 0  # of the last event
    questions: int = 0  # the number of the last question
    shoe: int = 0
    whole: bool = False  # all reports of the shoe were received, from its start on
    cut: bool = False
    cut_in: int = 0
    round: int = 0  # the last round of the shoe
    past: tuple[int, int] | None = None  # the last round of the previous shoe
    matters: int = 0  # the last id of a matter
    last: Completed | None = None
    devices: Mapping[str, DeviceSeed] = {}
    journal: JournalPlace = JournalPlace()

    @property
    def open_links(self) -> tuple[Device, ...]:
        return tuple(device for device in Device if is_open(self.devices.get(device.value)))


def is_open(device: DeviceSeed | None) -> bool:
    return device is not None and device.link in (LinkStatus.ONLINE, LinkStatus.QUIET)


def is_settled(state: TableState) -> bool:
    """Whether a seed of this state is sufficient."""
    questions = state.asked or any(each.topics for each in state.past)
    return not questions and state.phase not in AT_THE_TABLE


def seed_of(state: TableState) -> TableSeed:
    shoe, record = state.shoe, state.record
    conditions = {Device.SHOE: state.device, Device.SHUFFLER: state.shuffler}
    return TableSeed(
        sequence=state.sequence,
        questions=state.questions,
        shoe=shoe.number,
        whole=shoe.whole,
        cut=shoe.cut,
        cut_in=shoe.cut_in,
        round=record.number,
        past=shoe.past,
        matters=record.last_matter,
        last=state.last,
        devices={device.value: device_seed(each) for device, each in conditions.items() if each is not None},
        journal=state.journal,
    )


def device_seed(condition: Condition) -> DeviceSeed:
    return DeviceSeed(condition.link, condition.reason, condition.heard_utc_us, condition.fault, condition.locked)


def state_of(seed: TableSeed) -> TableState:
    """The state between two rounds. The record of the last round is not known: it cannot be corrected any more."""
    devices = {Device(name): condition_of(each) for name, each in seed.devices.items()}
    return TableState(
        sequence=seed.sequence,
        shoe=Shoe(seed.shoe, seed.whole, seed.cut, seed.cut_in, past=seed.past),
        record=Record(seed.shoe, seed.round, earlier_matters=seed.matters),
        last=seed.last,
        questions=seed.questions,
        device=devices.get(Device.SHOE, Condition()),
        shuffler=devices.get(Device.SHUFFLER),
        journal=seed.journal,
    )


def condition_of(seed: DeviceSeed) -> Condition:
    return Condition(seed.link, seed.reason, seed.heard_utc_us, seed.fault, locked=seed.locked)
