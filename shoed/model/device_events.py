"""The published events of the devices of a table, their lines, and the sets of a shuffler; see `shoed.model.events`.

The base class of all event data is also in this module.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from shoed.model.cards import Card
from shoed.model.irregularities import OverdrawnCard
from shoed.model.observations import Capability, Device, DeviceDoubt


class EventData(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every event's `data`."""


class SetRecognised(EventData, frozen=True, kw_only=True):
    """A set of cards was put into the shuffler, and the shuffler recognised the set.

    `set_id`: null if the shuffler does not send an id.
    """

    set_id: str | None


class SetShuffling(EventData, frozen=True, kw_only=True):
    """The shuffler began to shuffle a set. `set_id`: absent if the shuffler does not send an id."""

    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetShuffled(EventData, frozen=True, kw_only=True):
    """The set is shuffled. `set_id`: absent if the shuffler does not send an id."""

    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetFailed(EventData, frozen=True, kw_only=True):
    """The set is not shuffled. `reason`: the text of the shuffler. `set_id`: absent if the shuffler sends no id.

    Before the first round of a shoe with this set, shoed asks a person. shoed does not ask if the shuffler shuffles the
    set successfully before. shoed does not ask about a shoe with another set.
    """

    reason: str
    set_id: str | msgspec.UnsetType = msgspec.UNSET


class SetDelivered(EventData, frozen=True, kw_only=True):
    """The shuffler delivered a set.

    `set_id`: null if the shuffler does not send an id. `cards`: the number of counted cards, including the cards that
    the shuffler could not recognise (`unread`). `missing` and `extra`: for each face, the number of cards that are
    missing or in excess, compared with the decks of the table.
    """

    set_id: str | None
    cards: int
    missing: Mapping[Card, int]
    extra: Mapping[Card, int]
    unread: int


class DeviceEvent(EventData, frozen=True, kw_only=True):
    """The base of the events of one device. Events of early versions, which supported shoes only, name no device."""

    device: Device = Device.SHOE


class DeviceOnline(DeviceEvent, frozen=True, kw_only=True):
    """The link is open, or a quiet device sends again.

    A device family with an identity message is online after this message.

    `count`: absent for an event of one opening. If the link opens and closes repeatedly without a report, shoed
    publishes each of ten openings and ten closings. Then shoed counts: once a minute, one `device/online` and one
    `device/offline` have the `count` of openings and of closings.
    """

    port: str
    count: int | msgspec.UnsetType = msgspec.UNSET


class DeviceOffline(DeviceEvent, frozen=True, kw_only=True):
    """The link is closed. shoed publishes this event once for each absence, and again if the reason changes.

    `count`: as in `device/online`, for closings.
    """

    port: str
    reason: str
    count: int | msgspec.UnsetType = msgspec.UNSET


class DeviceQuiet(DeviceEvent, frozen=True, kw_only=True):
    """The link is open, and the device sent nothing for `quiet_after_s`. `since`: the time of the last byte."""

    port: str
    since: str


class DeviceDoubted(DeviceEvent, frozen=True, kw_only=True):
    """The link is open, and the reports of the device are not reliable. `detail`: the cause and the remedy."""

    reason: DeviceDoubt
    detail: str


class DeviceTrusted(DeviceEvent, frozen=True, kw_only=True):
    """The doubt with this `reason` ended: the device is reliable in this respect, or the link opened or closed."""

    reason: DeviceDoubt


class DeviceIdentified(DeviceEvent, frozen=True, kw_only=True):
    """The identity of the device, as the device sent it. A text that the device did not send is empty.

    `capabilities`: the capabilities that the device states; absent if it states none.
    """

    vendor: str
    model: str
    serial: str
    firmware: str
    protocol: str
    capabilities: tuple[Capability, ...] | msgspec.UnsetType = msgspec.UNSET


class DeviceFault(DeviceEvent, frozen=True, kw_only=True):
    """The device reports a fault. `blocking`: the device stays in its error mode until the fault is cleared."""

    code: int
    name: str
    blocking: bool


class DeviceCleared(DeviceEvent, frozen=True, kw_only=True):
    """A fault ended. If another fault is present, shoed publishes `device/fault` with the other fault next."""

    code: int
    name: str


class DeviceLocked(DeviceEvent, frozen=True, kw_only=True):
    """The device reports that it is locked, by its key or by an order."""


class DeviceUnlocked(DeviceEvent, frozen=True, kw_only=True):
    """The device reports that it is not locked, by its key or by an order."""


class DeviceChanged(DeviceEvent, frozen=True, kw_only=True):
    """A preset was changed at the device. `address` and `value`: the bytes of the device, without a known meaning."""

    address: str
    value: str


class OrderResult(Enum):
    """The outcome of a device order."""

    ACKNOWLEDGED = "acknowledged"
    REPORTED = "reported"
    REFUSED = "refused"
    SILENT = "silent"


class DeviceOrderAnswered(DeviceEvent, frozen=True, kw_only=True):
    """The result of a device order. If a report of the device shows the effect, shoed publishes `reported` separately.

    `card`: the decision about the card of an overdraw; null for any other order. `detail`: the reason of a refusal or
    of a missing answer.
    """

    order: str
    card: OverdrawnCard | None
    result: OrderResult
    detail: str
    author: str | None
    role: str | None


class LineRejected(DeviceEvent, frozen=True, kw_only=True):
    """Bytes were rejected. `bytes`: the rejected bytes, in hexadecimal.

    shoed publishes the first rejection for each reason at once and counts further rejections: every 10 s, one event for
    each reason has the last counted rejection, and `count` is the number of counted rejections. `size`: the number of
    rejected bytes. `unkept`: the number of these bytes that are not in the journal, because the line rejected more
    bytes than shoed keeps in an hour.
    """

    bytes: str
    offset: int
    reason: str
    detail: str
    count: int
    size: int = 0
    unkept: int = 0


class LineMissed(DeviceEvent, frozen=True, kw_only=True):
    """The number of a report does not follow the number of the previous report, during a link or after an absence.

    `at_least`: the minimum number of lost reports; full cycles of the numbers may be lost in addition. Null: the number
    of lost reports is unknown, because the device may have restarted its numbers.
    """

    expected: str
    seen: str
    at_least: int | None = None


class LineClashed(DeviceEvent, frozen=True, kw_only=True):
    """A report had the number of the previous report and different bytes. shoed accepted the report as a new one."""

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
