"""A family's device under a fuzzer: its session, and the reports of its actions."""

from collections.abc import Callable
from typing import Final

import msgspec

from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.rig.device import Action, Burn, Cut, Deal, Deliver, FaultAction, Load, RigDevice, RunOut, Together, Turn
from shoed.rig.family_kit.subject import Subject
from shoed.session.families import AnyDriver
from shoed.wire import Frame
from tests.fuzz.families import LARGEST_STATE, START, later
from tests.fuzz.lines import Line
from tests.fuzz.source import Source
from tests.fuzz.texts import helpful

CARDS: Final = tuple(Card)
WORDS: Final = ("", "cannot-read", "overdraw", "jam", "lid-open", "banker", "forced-end", "set-7", "nonsense")
LONGEST_ANSWER: Final = 64 * 1024  # bytes, as the answer to the longest input
MOST_STATE: Final = LARGEST_STATE * 16  # a device may keep its reports until they are acknowledged


class DeviceTarget:
    def __init__(self, driver: AnyDriver, make: Callable[[], RigDevice]) -> None:
        self.driver = driver
        self.make = make
        self.line = Line(driver)

    def seeds(self) -> list[bytes]:
        actions = [bytes((1, action, 3, 1, 2, 3, 4)) for action in range(9)]
        return [b"".join(actions), b"\2" + b"".join(actions), *self.line.seeds(b"", lambda piece: b"\0" + piece)]

    def __call__(self, data: bytes) -> None:
        source, device, now = Source(data), self.make(), START
        settings = self.driver.family.settings()
        orders, reports = self.driver.family.orders(settings), self.driver.family.reports(settings)
        subject = Subject(self.driver)
        while source:
            match source.byte() % 5:
                case 0:
                    answer = device.hear(Chunk(self.line.piece_of(source, orders, settings), now))
                case 1:
                    answer = acted(device, action_of(source), now)
                case 2:
                    answer = device.opened(now)
                case 3:
                    now = later(now, source)
                    answer = device.hear(Chunk(b"", now))
                case _:
                    now, answer = woken(device, now)
            found = subject.hear(reports, [answer])
            assert all(isinstance(each, Frame) for each in found), (
                f"the device sent unreadable bytes: {answer.hex(' ')}"
            )
            assert len(answer) <= LONGEST_ANSWER, f"the device sent {len(answer)} bytes at once"
            size = len(msgspec.json.encode(device.state))
            assert size <= MOST_STATE, f"the state has {size} bytes"


def acted(device: RigDevice, action: Action, now: Now) -> bytes:
    try:
        return b"".join(device.say(output.report, now) for output in device.perform(action))
    except ValueError as error:
        helpful(str(error))
        return b""


def woken(device: RigDevice, now: Now) -> tuple[Now, bytes]:
    due = device.wake_at()
    if due is None:
        return now, b""
    passed_ns = max(0, due - now.mono_ns)
    now = Now(now.utc_us + passed_ns // 1000, now.mono_ns + passed_ns)
    answer = device.hear(Chunk(b"", now))
    named = device.wake_at()
    assert named is None or named > now.mono_ns, "after a waking the device named a moment that has passed"
    return now, answer


def action_of(source: Source) -> Action:
    kind = source.byte() % 9
    cards = tuple(source.among(CARDS) for _ in range(source.byte() % 8))
    actions: tuple[Action, ...] = (
        Deal(cards, source.byte(), source.among(WORDS)),
        Together(cards),
        Burn(cards, source.byte()),
        Load(source.among(WORDS)),
        Cut(),
        RunOut(),
        Turn(locked=bool(source.byte() % 2)),
        FaultAction(source.among(WORDS), raised=bool(source.byte() % 2)),
        Deliver(source.byte(), source.among(WORDS), cards, cards[:1], cards[1:2]),
    )
    return actions[kind]
