"""A line with endless rejections: rows, observations and events are bounded, and each byte is kept or counted."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.family import Reason
from shoed.engine import Engine, EngineState
from shoed.model.commands import SettleRound
from shoed.model.events import Event
from shoed.model.moments import Now
from shoed.model.noise_budget import HOUR_NS, LIMIT_BYTES
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    Device,
    DeviceDoubt,
    DoubtEnded,
    DoubtRaised,
    FrameRejected,
    LinkOpened,
    OrderAnswered,
)
from shoed.model.step import (
    AnyInput,
    BytesRefused,
    DeviceOrder,
    DeviceOrderKind,
    LinkUp,
    Ordered,
    Received,
    Step,
    Woken,
)
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.session.rejections import OBSERVED
from shoed.table import TableSettings
from shoed.watch import WatchSettings
from tests.angel_eye_line import ACK, CARD, CONFIGURED, PORT, Host, at, card_report, connected, kinds
from tests.observed import OPENED, SECOND_NS, STOOD_BY, TableRun, after, card, closed, dealt, rejected, result

PIECE: Final = 700
JUNK: Final = b"\xff"  # it begins no frame, and is rejected in pieces of a frame's length
HOUR_MS: Final = HOUR_NS / 1e6


def engine(_: str = "") -> Engine[SessionState]:
    session = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    other = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=False)
    return Engine(session, WatchSettings(250), TableSettings("commission", PORT, shuffler_port=PORT), other)


class Line:
    """A table with devices that send any bytes; the engine is woken at every moment that it names."""

    def __init__(self) -> None:
        self.engine = engine()
        self.state: EngineState[SessionState] = self.engine.begin()
        self.ms = 0.0
        self.steps: list[tuple[Step, EngineState[SessionState]]] = []
        self.take(CONFIGURED)
        self.take(LinkUp(PORT))
        self.take(LinkUp(PORT, device=Device.SHUFFLER))

    def take(self, incoming: AnyInput, ms: float | None = None) -> None:
        self.ms = self.ms if ms is None else ms
        self.state, step = self.engine.step(self.state, incoming, at(self.ms))
        if step is not None:
            self.steps.append((step, self.state))

    def wait(self, until_ms: float) -> None:
        while (due := self.engine.wake_at(self.state)) is not None and due <= at(until_ms).mono_ns:
            self.take(Woken(), max(self.ms, (due - at(0).mono_ns) / 1e6))
        self.ms = until_ms

    def say(self, data: bytes, device: Device = Device.SHOE) -> None:
        for begin in range(0, len(data), PIECE):
            self.wait(self.ms + 1)
            self.take(Received(data[begin : begin + PIECE], device=device))

    @property
    def seen(self) -> list[AnyObservation]:
        return [each for step, _ in self.steps for each in step.observations]

    @property
    def rejected(self) -> list[FrameRejected]:
        return [each for each in self.seen if isinstance(each, FrameRejected)]

    @property
    def events(self) -> list[Event]:
        return [each for step, _ in self.steps for each in step.events]

    @property
    def bytes(self) -> int:
        """The number of bytes in the Steps, and for the next Step."""
        quiet = [each.input for step, _ in self.steps for each in step.quiet]
        quiet += [each.input for each in self.state.quiet]
        return sum(
            len(each.data) for each in quiet + [step.input for step, _ in self.steps] if isinstance(each, Received)
        )


def noise(size: int, seed: int = 1) -> bytes:
    return Random(seed).randbytes(size)


# --- the session


def test_further_rejections_are_counted_and_observed_every_ten_seconds() -> None:
    """Each count has the last rejection and all bytes; the first rejection for another reason is observed at once."""
    host = connected()
    first = host.hear(b"\x05" * 100, 1000)
    assert len(first) == OBSERVED
    (another,) = host.hear(b"\x05%sX\x0300" % b"1", 2000)
    assert isinstance(another, FrameRejected)
    assert (another.reason, another.count) == ("bad-check", 1)
    assert host.hear(b"\x05%sX\x0300" % b"1", 2000) == []
    assert host.wake_ms == 11_000
    counted = [each for each in host.wake(11_000) if isinstance(each, FrameRejected)]
    assert [(each.reason, each.count, each.size) for each in counted] == [("torn", 84, 84), ("bad-check", 1, 6)]
    assert counted[0].heard == at(1000)
    assert host.hear(b"\x05\x05", 12_000) == []
    assert [each.count for each in host.wake(21_000) if isinstance(each, FrameRejected)] == [1]


def test_ten_seconds_without_a_rejection_end_the_counting() -> None:
    """Each rejection is then observed at once again; the same holds after a reboot, which restarts the clock."""
    host = connected()
    host.hear(b"\x05\x00" * 50, 1000)
    host.wake(11_000)
    assert len(host.hear(b"\x05\x00" * 3, 21_000)) == 3
    host.hear(b"\x05\x00" * 50, 31_001)
    host.wake(41_001)
    assert len(host.hear(b"\x05\x00" * 3, 500)) == 3


def test_the_counts_are_observed_when_the_link_closes() -> None:
    """No byte is omitted."""
    host = connected()
    seen = host.hear(b"\x05" * 100, 1000) + host.down(2000)
    assert sum(each.size for each in seen if isinstance(each, FrameRejected)) == 100


def test_an_answer_without_an_order_is_rejected_only_in_noise() -> None:
    """On a good line another host may have sent the order; the answer to an own order is accepted on any line."""
    host = Host(allow_orders=True)
    host.up()
    assert len([each for each in host.hear(ACK + b"\x15\x21", 900) if isinstance(each, OrderAnswered)]) == 2
    host.hear(b"\x05" * 100, 1000)
    assert kinds(host.hear(ACK + b"\x15\x21", 1001)) == [FrameRejected]
    host.take(Ordered(DeviceOrder(DeviceOrderKind.LOCK)), 1002)
    assert [type(each) for each in host.hear(ACK, 1003)] == [OrderAnswered]


# --- the record


def test_bytes_beyond_the_limit_are_counted_by_their_reason() -> None:
    """Rows, bytes and events are bounded. Each sent byte is kept, or counted as not kept."""
    line = Line()
    line.say(noise(3 * LIMIT_BYTES))
    line.wait(line.ms + 20_000)
    assert line.bytes < LIMIT_BYTES + PIECE
    assert len(line.steps) < 2000
    unkept = sum(each.unkept for each in line.rejected)
    assert pytest.approx(line.bytes + unkept, abs=PIECE) == 3 * LIMIT_BYTES
    assert sum(each.size for each in line.rejected) == 3 * LIMIT_BYTES
    rejected = [each.data for each in line.events if each.type == "line.rejected"]
    assert len(rejected) < 20
    assert sum(each.unkept for each in rejected) == unkept  # type: ignore[attr-defined]
    assert sum(each.size for each in rejected) == 3 * LIMIT_BYTES  # type: ignore[attr-defined]
    assert all(step.after_noise.keys() == {"shoe"} for step, _ in line.steps[-3:])


def test_bytes_that_a_port_rejects_are_bounded_like_noise() -> None:
    """Each rejected chunk is observed or counted. Rejected bytes do not prove that the device is connected."""
    line = Line()
    before = line.state
    frame = bytes(100)
    for _ in range(3 * LIMIT_BYTES // len(frame)):
        line.wait(line.ms + 1)
        line.take(BytesRefused(frame, Reason.UNSEALED, "outside"))
    line.wait(line.ms + 20_000)
    assert len([step for step, _ in line.steps if isinstance(step.input, BytesRefused)]) < 6000
    kept = sum(len(step.input.data) for step, _ in line.steps if isinstance(step.input, BytesRefused))
    assert kept < LIMIT_BYTES
    assert sum(each.size for each in line.rejected) == 3 * LIMIT_BYTES // len(frame) * len(frame)
    assert kept + sum(each.unkept for each in line.rejected) == sum(each.size for each in line.rejected)
    rejected = [each for each in line.events if each.type == "line.rejected"]
    assert len(rejected) < 20 + (line.ms // 10_000)
    assert {each.data.reason for each in rejected} == {"unsealed"}  # type: ignore[attr-defined]
    assert {type(each) for each in line.seen} == {LinkOpened, FrameRejected}
    assert line.state.session.heard == before.session.heard  # type: ignore[attr-defined]


def test_bytes_that_a_port_rejects_do_not_end_a_frame() -> None:
    """A card with bytes before and after them is complete."""
    line = Line()
    card = card_report("1", "P1", "8S")
    line.take(Received(card[:4]), 1000)
    line.take(BytesRefused(b"\x05\x00", Reason.NOT_AUTHENTIC, "a copy"), 1001)
    line.take(Received(card[4:]), 1002)
    assert [type(each) for each in line.seen if isinstance(each, CardSeen | FrameRejected)] == [FrameRejected, CardSeen]


def test_accepted_cards_are_kept_beyond_the_limit() -> None:
    """A card is on record with its own bytes; the bytes around it are not."""
    line = Line()
    line.say(JUNK * 2 * LIMIT_BYTES)
    line.say(b"\x00" * 40 + card_report("1", "P1", "8S") + b"\x00" * 40)
    (seen,) = [each for each in line.seen if isinstance(each, CardSeen)]
    assert bytes.fromhex(seen.frame.raw) == card_report("1", "P1", "8S")
    step = next(step for step, _ in line.steps if seen in step.observations)
    assert isinstance(step.input, Received)
    assert (step.input.data, step.input.unkept > 0) == (b"", True)


def test_bytes_are_kept_again_in_the_next_hour() -> None:
    """The engine is woken at the end of the hour. After a reboot the first input has the same effect."""
    line = Line()
    line.say(JUNK * 2 * LIMIT_BYTES)
    line.wait(line.ms + HOUR_MS)
    before = line.bytes
    line.say(b"\x05" * 50)
    assert line.bytes == before + 50
    line.say(JUNK * 2 * LIMIT_BYTES)
    line.take(CONFIGURED, -1000)
    line.take(LinkUp(PORT))
    before = line.bytes
    line.say(b"\x05" * 50)
    assert line.bytes == before + 50


def test_the_bound_is_for_one_hour() -> None:
    """Bytes of the previous hour do not count."""
    line = Line()
    for _ in range(3):
        line.say(JUNK * (LIMIT_BYTES // 2))
        line.wait(line.ms + HOUR_MS)
    assert line.bytes == LIMIT_BYTES // 2 * 3


def test_small_pieces_count_by_their_rows() -> None:
    """Noise in single bytes is charged as one row per byte; accepted reports in single bytes count nothing."""
    line = Line()
    for _ in range(20_000):
        line.take(Received(b"\x05"), line.ms + 1)
    assert len(line.steps) < LIMIT_BYTES // 100 + 100
    good = Line()
    for number in range(2000):
        for byte in card_report(str(number % 9 + 1), "P1", "8S"):
            good.take(Received(bytes((byte,))), good.ms + 1)
    assert good.bytes == 2000 * 8


def test_each_device_has_its_own_bound() -> None:
    """The shuffler's bytes are kept while the shoe's bytes are not, and the reverse."""
    for noisy, other in ((Device.SHOE, Device.SHUFFLER), (Device.SHUFFLER, Device.SHOE)):
        line = Line()
        line.say(JUNK * 2 * LIMIT_BYTES, noisy)
        before = line.bytes
        line.say(b"\x05" * 50, other)
        assert line.bytes == before + 50


@pytest.mark.parametrize("noisy", Device)
def test_the_state_can_be_restored_from_a_row_without_bytes(noisy: Device) -> None:
    """The row has the session of the noisy device and the counts of its bytes instead."""
    line = Line()
    line.say(JUNK * 2 * LIMIT_BYTES, noisy)
    line.wait(line.ms + 20_000)
    step, after = next(each for each in reversed(line.steps) if each[0].after_noise)
    resumed = line.engine.resumed(line.engine.begin(), step.after_noise)
    sessions = [(each.session, each.shuffler)[noisy is Device.SHUFFLER] for each in (resumed, after)]
    assert sessions[0] == sessions[1]
    assert resumed.noise[noisy] == after.noise[noisy]


# --- the table


def test_one_reason_does_not_hide_another() -> None:
    """The first rejection for each reason is published at once, and each reason has its own count."""
    table = TableRun()
    seen: Sequence[AnyObservation] = [rejected(reason="torn"), rejected(reason="junk"), rejected(reason="bad-check")]
    assert [each.reason for each in table.hear(*seen)] == ["torn", "junk", "bad-check"]  # type: ignore[attr-defined]
    table.hear(rejected(reason="torn"), rejected(reason="torn"), rejected(reason="junk"), after_s=1)
    published = table.hear(after_s=10)
    assert [(each.reason, each.count, each.size) for each in published] == [  # type: ignore[attr-defined]
        ("torn", 2, 4),
        ("junk", 1, 2),
    ]


def test_counted_rejections_are_added() -> None:
    """The event has the sum of their numbers and of their bytes, kept or not."""
    table = after(rejected())
    many = msgspec.structs.replace(rejected(), count=100, earlier=198, unkept=150)
    table.hear(many, rejected(), many)
    (published,) = table.hear(after_s=10)
    assert (published.count, published.size, published.unkept) == (201, 402, 300)  # type: ignore[attr-defined]


def test_cards_faster_than_any_dealer_are_counted() -> None:
    """Each card is observed; the events are bounded, and the last event has the count."""
    table = TableRun()
    events = Counter[str]()
    for _ in range(6000):
        events.update(event.type for event in table.step(card("B3", "9C"), after_s=0.001))
    assert events["card.set-aside"] == 40
    events.update(event.type for event in table.step(after_s=5))
    (aside,) = [each for each in table.events if each.type == "card.set-aside"][40:]
    assert aside.data.count == 5960  # type: ignore[attr-defined]
    assert sum(events.values()) < 60
    table.step(card("B3", "9C"), after_s=1)
    assert table.events[-1].data.count == 5960  # type: ignore[attr-defined]  # the next window counts
    table.step(after_s=10)
    assert table.events[-1].data.count == 1  # type: ignore[attr-defined]
    table.step(after_s=10)
    assert [each.type for each in table.step(card("B3", "9C"), after_s=1)] == ["card.set-aside"]


@pytest.mark.parametrize("stage", ["none", "over", "settled", "open"])
@pytest.mark.parametrize("place", ["B3", "overdraw", "error", "unknown"])
def test_events_about_counted_cards_are_bounded(place: str, stage: str) -> None:
    """A card that is only counted makes no matter, in any phase of the round."""
    table = TableRun()
    if stage != "none":
        table.hear_each([card("P1", "8S")] if stage == "open" else [*dealt("8S KH", "3D KC"), result("player")])
    if stage == "settled":
        table.tell(SettleRound())
    since = len(table.events)
    for number in range(2000):
        face = "23456789"[number % 8] + "SHDC"[number % 4]
        table.step(card(place, face), after_s=0.004)
    kinds = Counter(each.type for each in table.events[since:])
    assert max(kinds.values()) <= 80, kinds


def test_a_flapping_link_without_reports_is_counted() -> None:
    """Ten openings are published, then both counts once a minute; the last event is the present state of the link."""
    table = TableRun()
    for _ in range(40):
        table.step(OPENED, after_s=1)
        table.step(closed("reset"), after_s=0)
    assert len(table.events) == 20
    table.step(after_s=21)
    online, offline = (each.data for each in table.events[20:])
    assert (online.count, offline.count, offline.reason) == (30, 30, "reset")  # type: ignore[attr-defined]
    table.step(OPENED, after_s=1)
    table.step(after_s=60)
    assert [each.type for each in table.events[22:]] == ["device.online"]
    table.step(closed("reset"), after_s=1)
    table.step(after_s=60)
    assert [each.type for each in table.events[23:]] == ["device.offline"]
    table.step(OPENED, after_s=1)
    table.step(closed("reset"), after_s=1)
    table.step(OPENED, after_s=1)
    table.step(after_s=60)
    assert [each.type for each in table.events[24:]] == ["device.offline", "device.online"]
    table.step(closed("reset"), after_s=61)
    assert table.events[-1].type == "device.offline"


def test_a_link_with_reports_is_never_counted() -> None:
    """Each opening and closing is published at once."""
    table = TableRun()
    for _ in range(40):
        table.step(OPENED, STOOD_BY, after_s=1)
        table.step(closed("cable"), after_s=0)
    assert len(table.events) == 80


def test_counts_are_published_after_a_reboot() -> None:
    """The monotonic clock restarts."""
    table = TableRun()
    for _ in range(41):
        table.step(OPENED, card("B3", "9C"), after_s=0.01)
        table.step(closed("reset"), after_s=0)
        table.step(card("B3", "9C"), OPENED, after_s=0)
    table.now = Now(table.now.utc_us, 5 * SECOND_NS)
    kinds_published = [each.type for each in table.step(after_s=0)]
    assert "card.set-aside" in kinds_published


# --- a line without valid frames


def doubts(seen: list[AnyObservation]) -> list[AnyObservation]:
    return [each for each in seen if isinstance(each, DoubtRaised | DoubtEnded)]


def test_a_device_without_valid_frames_is_doubted_within_seconds() -> None:
    """A Bee-Tek shoe is connected instead of an Angel Eye; one valid frame ends the doubt."""
    host = connected()
    line = b"[Game]<Card:8S>\r\n"
    found = [doubts(host.hear(line, 1000 + 300 * number)) for number in range(12)]
    doubted_at = [number for number, each in enumerate(found) if each]
    assert doubted_at == [8]  # each line is rejected when the next line begins
    (doubted,) = found[8]
    assert isinstance(doubted, DoubtRaised)
    assert doubted.reason is DeviceDoubt.NOT_UNDERSTOOD
    assert "check that this port has the configured device" in doubted.detail
    (trusted,) = doubts(host.hear(CARD, 6000))
    assert trusted == DoubtEnded(at=trusted.at, reason=DeviceDoubt.NOT_UNDERSTOOD)
    assert doubts(host.hear(line, 7000)) == []


def test_bytes_that_a_port_rejects_are_on_record_while_the_link_is_open() -> None:
    """Bytes of a closed link belong to no line."""
    host = connected()
    refused = BytesRefused(b"7E", Reason.UNSEALED, "plain")
    assert kinds(list(host.take(refused, 1000).observations)) == [FrameRejected]
    host.down(1500)
    assert list(host.take(refused, 2000).observations) == []


def test_a_moment_of_noise_raises_no_doubt() -> None:
    """Moving a plug causes many bytes at once."""
    host = connected()
    assert doubts(host.hear(b"\x05\x00" * 500, 1000)) == []
    assert doubts(host.hear(b"\x05\x00" * 500, 1900)) == []


def test_a_closed_link_ends_the_count_of_invalid_bytes() -> None:
    """The next device on the link begins without a doubt."""
    host = connected()
    host.hear(b"\x05\x00" * 100, 1000)
    host.down(1500)
    host.up(1600)
    assert doubts(host.hear(b"\x05\x00" * 100, 2100)) == []
