"""A family's device under a fuzzer: its half of the line, and what it says of whatever happens to it."""

from collections.abc import Callable
from typing import Final

import msgspec

from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.rig.conformance.subject import Subject
from shoed.rig.device import Burn, Cut, Deal, Deed, Deliver, Device, Fault, Load, RunOut, Together, Turn
from shoed.session.families import AnyDriver
from shoed.wire import Frame
from tests.fuzz.families import LARGEST_STATE, START, later
from tests.fuzz.lines import Line
from tests.fuzz.source import Source
from tests.fuzz.texts import helpful

CARDS: Final = tuple(Card)
WORDS: Final = ("", "cannot-read", "overdraw", "jam", "lid-open", "banker", "forced-end", "set-7", "nonsense")
LONGEST_ANSWER: Final = 64 * 1024  # bytes, to as much as an input can hold
MOST_STATE: Final = LARGEST_STATE * 16  # a device may keep what it said until it is acknowledged


class DeviceTarget:
    def __init__(self, driver: AnyDriver, make: Callable[[], Device]) -> None:
        self.driver = driver
        self.make = make
        self.line = Line(driver)

    def seeds(self) -> list[bytes]:
        deeds = [bytes((1, deed, 3, 1, 2, 3, 4)) for deed in range(9)]
        return [b"".join(deeds), b"\2" + b"".join(deeds), *self.line.seeds(b"", lambda piece: b"\0" + piece)]

    def __call__(self, data: bytes) -> None:
        source, device, now = Source(data), self.make(), START
        settings = self.driver.family.settings()
        orders, reports = self.driver.family.orders(settings), self.driver.family.reports(settings)
        subject = Subject(self.driver)
        while source:
            match source.byte() % 5:
                case 0:
                    answer = device.hear(Chunk(self.line.said(source, orders, settings), now))
                case 1:
                    answer = acted(device, deed_of(source), now)
                case 2:
                    answer = device.opened(now)
                case 3:
                    now = later(now, source)
                    answer = device.hear(Chunk(b"", now))
                case _:
                    now, answer = woken(device, now)
            found = subject.hear(reports, [answer])
            assert all(isinstance(each, Frame) for each in found), f"it said what no host reads: {answer.hex(' ')}"
            assert len(answer) <= LONGEST_ANSWER, f"it said {len(answer)} bytes at once"
            size = len(msgspec.json.encode(device.state))
            assert size <= MOST_STATE, f"its state has {size} bytes"


def acted(device: Device, deed: Deed, now: Now) -> bytes:
    try:
        return b"".join(device.say(said.report, now) for said in device.does(deed))
    except ValueError as error:
        helpful(str(error))
        return b""


def woken(device: Device, now: Now) -> tuple[Now, bytes]:
    due = device.wake_at()
    if due is None:
        return now, b""
    passed_ns = max(0, due - now.mono_ns)
    now = Now(now.utc_us + passed_ns // 1000, now.mono_ns + passed_ns)
    answer = device.hear(Chunk(b"", now))
    named = device.wake_at()
    assert named is None or named > now.mono_ns, "woken, it named a moment that is over"
    return now, answer


def deed_of(source: Source) -> Deed:
    kind = source.byte() % 9
    cards = tuple(source.among(CARDS) for _ in range(source.byte() % 8))
    deeds: tuple[Deed, ...] = (
        Deal(cards, source.byte(), source.among(WORDS)),
        Together(cards),
        Burn(cards, source.byte()),
        Load(source.among(WORDS)),
        Cut(),
        RunOut(),
        Turn(locked=bool(source.byte() % 2)),
        Fault(source.among(WORDS), raised=bool(source.byte() % 2)),
        Deliver(source.byte(), source.among(WORDS), cards, cards[:1], cards[1:2]),
    )
    return deeds[kind]
