"""What we publish of the devices of a table, of their lines and of the sets that a shuffler hands over: as `events`.

The base of every event's data stands here too, in front of them all.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from shoed.cards import Card
from shoed.observations import Capability, Device, DeviceDoubt
from shoed.words import OverdrawnCard


class EventData(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every event's `data`."""


class SetRecognised(EventData, frozen=True, kw_only=True):
    """A set of cards was put into the shuffler, which knows it; a null id: it does not tell which one."""

    set_id: str | None


class SetShuffling(EventData, frozen=True, kw_only=True):
    """The shuffler began to shuffle. `set_id`: absent where the shuffler does not name the set."""

    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetShuffled(EventData, frozen=True, kw_only=True):
    """The set is shuffled. `set_id`: absent where the shuffler does not name the set."""

    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetFailed(EventData, frozen=True, kw_only=True):
    """The set is not shuffled, and why, in the shuffler's words: asked before the next shoe, unless it succeeds.

    `set_id`: absent where the shuffler does not name the set. A shoe that is loaded with another set waits for nobody.
    """

    reason: str
    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetDelivered(EventData, frozen=True, kw_only=True):
    """The shuffler handed a set over: how many cards it counted, with those that it could not recognise (`unread`).

    `missing` and `extra` are by card, against the decks of the table.
    """

    set_id: str | None
    cards: int
    missing: Mapping[Card, int]
    extra: Mapping[Card, int]
    unread: int


class OfDevice(EventData, frozen=True, kw_only=True):
    """The base of what is told of one device of the table; an older shoed, which knew but shoes, did not say which."""

    device: Device = Device.SHOE


class DeviceOnline(OfDevice, frozen=True, kw_only=True):
    """The link is open, or is heard again after it was quiet; a device that identifies itself has done so.

    `count`: the link opened so often since the last such event; absent for once.
    """

    port: str
    count: int | msgspec.UnsetType = msgspec.UNSET


class DeviceOffline(OfDevice, frozen=True, kw_only=True):
    """The link is closed, and why: once for each absence, and again when the reason is another.

    `count`: it closed so often since the last such event; absent for once. A link that opens and closes again and again
    without a report is published ten times, and then once a minute.
    """

    port: str
    reason: str
    count: int | msgspec.UnsetType = msgspec.UNSET


class DeviceQuiet(OfDevice, frozen=True, kw_only=True):
    """The link is open and nothing was heard for longer than the family's custom."""

    port: str
    since: str


class DeviceDoubted(OfDevice, frozen=True, kw_only=True):
    """The line is open, and the device cannot be relied on. `detail`: why, and what to do; the state has it, too."""

    reason: DeviceDoubt
    detail: str


class DeviceTrusted(OfDevice, frozen=True, kw_only=True):
    """The doubt about the device has ended, or the line closed."""

    reason: DeviceDoubt


class DeviceIdentified(OfDevice, frozen=True, kw_only=True):
    """Who the device is, as it says itself; a text is empty where it does not.

    `capabilities`: all that the device says that it can do; absent where it does not state them.
    """

    vendor: str
    model: str
    serial: str
    firmware: str
    protocol: str
    capabilities: tuple[Capability, ...] | msgspec.UnsetType = msgspec.UNSET


class DeviceFault(OfDevice, frozen=True, kw_only=True):
    """The device reports an error; `blocking`: it stays in its error mode until cleared."""

    code: int
    name: str
    blocking: bool


class DeviceCleared(OfDevice, frozen=True, kw_only=True):
    """A fault has ended. If another one is known to stand, `device/fault` follows with it once more."""

    code: int
    name: str


class DeviceLocked(OfDevice, frozen=True, kw_only=True):
    pass


class DeviceUnlocked(OfDevice, frozen=True, kw_only=True):
    pass


class DeviceChanged(OfDevice, frozen=True, kw_only=True):
    """Somebody changed a preset at the device."""

    address: str
    value: str


class OrderResult(Enum):
    """What became of a device order."""

    ACKNOWLEDGED = "acknowledged"
    REPORTED = "reported"
    REFUSED = "refused"
    SILENT = "silent"


class DeviceOrderAnswered(OfDevice, frozen=True, kw_only=True):
    """The answer to a device order; one more event follows if a report of the device shows the effect (`reported`).

    `silent`: no answer arrived. `card`: what becomes of the card of an overdraw; null for any other order. `detail`:
    why the device refused the order, or why no answer arrived. `author` and `role` are those of the command.
    """

    order: str
    card: OverdrawnCard | None
    result: OrderResult
    detail: str
    author: str | None
    role: str | None


class LineRejected(OfDevice, frozen=True, kw_only=True):
    """Bytes that are no frame: the first for each reason at once, then the last of `count` every 10 s.

    `size`: the bytes of all of them. `unkept`: so many of these bytes are not in the journal, because the line rejected
    more than is kept in an hour.
    """

    bytes: str
    offset: int
    reason: str
    detail: str
    count: int
    size: int = 0
    unkept: int = 0


class LineMissed(OfDevice, frozen=True, kw_only=True):
    """The number of a report is not the successor of the last one, on an open line or after an absence.

    `at_least`: so many reports are lost, and perhaps whole cycles of the numbers more. Null: how many is not known,
    because the device began another numbering or the two numbers are not of one.
    """

    expected: str
    seen: str
    at_least: int | None = None


class LineClashed(OfDevice, frozen=True, kw_only=True):
    """A report came with the sequence of the one before it and other bytes; it was taken."""

    sequence: str
    bytes: str
    previous: str


TYPES: Final[Mapping[type[EventData], str]] = {
    SetRecognised: "set.recognised",
    SetShuffling: "set.shuffling",
    SetShuffled: "set.shuffled",
    SetFailed: "set.failed",
    SetDelivered: "set.delivered",
    DeviceOnline: "device.online",
    DeviceOffline: "device.offline",
    DeviceQuiet: "device.quiet",
    DeviceDoubted: "device.doubted",
    DeviceTrusted: "device.trusted",
    DeviceIdentified: "device.identified",
    DeviceFault: "device.fault",
    DeviceCleared: "device.cleared",
    DeviceLocked: "device.locked",
    DeviceUnlocked: "device.unlocked",
    DeviceChanged: "device.changed",
    DeviceOrderAnswered: "device.order-answered",
    LineRejected: "line.rejected",
    LineMissed: "line.missed",
    LineClashed: "line.clashed",
}
