"""Scenarios: a virtual device performs the written actions, in virtual time, and its host observes them."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.open_shoe import OpenShoeSettings, reports
from firmware_protocols.open_shoe.messages import OpenShoeReport
from shoed import wire
from shoed.errors import SettingsError
from shoed.model.cards import RIGHT
from shoed.model.moments import Chunk, Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    FaultCleared,
    FaultRaised,
    LinkClosed,
    LinkOpened,
    LockChanged,
    Outcome,
    Pair,
    ResultSeen,
    Resumed,
    StoodBy,
)
from shoed.model.step import AnyInput, LinkDown, LinkUp, Received
from shoed.ports.address import TcpAddress
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import DeviceOutput, Pulled, ScenarioStep, timeline
from shoed.rig.devices import DEVICES
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.outlets import Attendance, PtyOutlet, TcpOutlet
from shoed.rig.scenario import AFTER_MS, FORMS, of
from shoed.rig.virtual import VirtualDevice
from shoed.session.angel_eye import AngelEyeSession
from shoed.settings import parse
from shoed.wire import Frame, LineState

LOST_S: Final = 10  # the time in which a disconnected host notices it


def read(text: str, family: str = "angel-eye") -> tuple[ScenarioStep, ...]:
    return of(parse("one.toml", text.encode()), DEVICES[family].make())


def steps(*written: str) -> tuple[ScenarioStep, ...]:
    return read("".join(f"[[step]]\n{each}\n" for each in written))


class Listening:
    """A host on the line of the device, with the device's clock."""

    def __init__(self) -> None:
        self.session = AngelEyeSession(AngelEyeSettings(), allow_orders=False)
        self.state = self.session.begin()
        self.seen: list[AnyObservation] = []

    def take(self, incoming: AnyInput, at_s: float) -> None:
        self.state, heard = self.session.step(self.state, incoming, moment(at_s))
        self.seen += heard.observations


def moment(at_s: float) -> Now:
    return Now(int(at_s * 1e6), int(at_s * 1e9))


def play(*written: str) -> list[AnyObservation]:
    """Return the observations of a host, without copies."""
    device, host = AngelEyeDevice(AngelEyeSettings()), Listening()
    at_s, back_s = 0.0, None
    host.take(LinkUp("rig"), at_s)
    for entry in timeline(device, steps(*written)):
        at_s += entry.pause_s
        if back_s is not None and back_s <= at_s:
            host.take(LinkUp("rig"), back_s)
            back_s = None
        if isinstance(entry, Pulled):
            host.take(LinkDown("gone"), at_s)
            back_s = at_s + entry.out_s
        elif isinstance(entry, DeviceOutput):
            data = device.say(entry.report, moment(at_s))
            if back_s is None:
                host.take(Received(data), at_s)
    return [each for each in host.seen if not isinstance(each, CopyHeard | LinkOpened)]


def cards(seen: list[AnyObservation]) -> list[str]:
    return [f"{each.place.value} {each.position} {each.card}" for each in seen if isinstance(each, CardSeen)]


def results(seen: list[AnyObservation]) -> list[tuple[Outcome, tuple[Pair, ...]]]:
    return [(each.outcome, each.pairs) for each in seen if isinstance(each, ResultSeen)]


def test_cards_go_to_the_due_hand_and_a_result_follows() -> None:
    """One action may be several rounds: the Table of Play determines their ends."""
    seen = play('deal = ["2S", "3H", "2D", "JC", "5H", "2C", "8S", "4D", "KH", "2C", "AS"]')
    assert cards(seen) == [
        *("player 1 2S", "banker 1 3H", "player 2 2D", "banker 2 JC", "player 3 5H"),
        *("banker 3 2C", "player 1 8S", "banker 1 4D", "player 2 KH", "banker 2 2C", "player 1 AS"),
    ]
    assert results(seen) == [(Outcome.PLAYER, (Pair.PLAYER,)), (Outcome.PLAYER, ())]


def test_cards_are_dealt_at_their_times() -> None:
    """A step waits for its own time, and its cards keep their gap."""
    seen = play('deal = ["8S", "4D"]\ngap_ms = 700', 'deal = ["QH"]\nafter_ms = 1000')
    assert [each.at.utc_us for each in seen] == [500_000, 1_200_000, 2_200_000]


def test_cards_that_are_drawn_together_are_closer_than_any_single_draws() -> None:
    """All cards have their normal places: the protocol cannot report that they were drawn together."""
    one, other = play('together = ["8S", "4D"]')
    assert cards([one, other]) == ["player 1 8S", "banker 1 4D"]
    assert other.at.mono_ns - one.at.mono_ns < 250_000_000


@pytest.mark.parametrize(
    ("dealt", "result", "outcome"),
    [('"8S", "4D", "QH", "2C"', "banker", Outcome.BANKER), ('"8S", "4D"', "forced-end", Outcome.FORCED_END)],
)
def test_a_shoe_may_report_a_different_result(dealt: str, result: str, outcome: Outcome) -> None:
    """It is reported once, instead of the true result; the next card begins a round."""
    seen = play(f'deal = [{dealt}]\nresult = "{result}"', 'deal = ["KS"]')
    assert results(seen) == [(outcome, ())]
    assert cards(seen)[-1] == "player 1 KS"


def test_cards_of_a_shoe_that_is_locked_or_in_error_belong_to_no_hand() -> None:
    """The round continues after them."""
    seen = play(
        *('deal = ["8S"]', "lock = true", 'deal = ["2C"]', "unlock = true"),
        *('fault = "cannot-read"', 'burn = ["3C"]', 'clear = "cannot-read"', 'deal = ["4D"]'),
    )
    assert cards(seen) == ["player 1 8S", "locked 0 2C", "error 0 3C", "banker 1 4D"]
    assert [type(each) for each in seen if not isinstance(each, CardSeen)] == [
        *(LockChanged, LockChanged, FaultRaised, FaultCleared),
    ]


def test_a_new_set_restarts_the_round() -> None:
    """The cut card and burn cards make no difference."""
    seen = play('deal = ["8S"]', "cut = true", "run_out = true", 'load = ""', 'burn = ["9C"]', 'deal = ["8S"]')
    assert cards(seen) == ["player 1 8S", "burn 0 9C", "player 1 8S"]
    assert [type(each) for each in seen if not isinstance(each, CardSeen)] == [
        *(CutCardSeen, StoodBy, CommunicationStarted),
    ]


def test_reports_during_a_disconnection_are_lost() -> None:
    """A host detects this by the number of the next report."""
    seen = play('deal = ["8S"]', "pull_ms = 3000", 'deal = ["4D"]', 'deal = ["QH"]\nafter_ms = 2600')
    assert cards(seen) == ["player 1 8S", "player 2 QH"]
    assert [type(each) for each in seen] == [CardSeen, LinkClosed, Resumed, CardSeen]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [False]


def test_a_file_with_many_mistakes_is_refused() -> None:
    """All mistakes are reported together, each with its line and its correction."""
    with pytest.raises(SettingsError) as refused:
        steps(
            *('deel = ["8S"]', 'deal = ["8X"]\ncut = true', 'fault = "overdrew"', 'load = "x"', "run_out = true"),
            *('deal = ["8X"]\nafter = 1', "cut = false", 'deliver = ""', 'deal = []\nresult = "draw"', "after_ms = 1"),
        )
    assert str(refused.value).splitlines() == [
        "one.toml:2: step.deel: is not an action; the nearest action is deal",
        "one.toml:5: step.cut: is in the same step as deal; write one action in each step",
        "one.toml:7: step.fault: an Angel Eye shoe has no fault overdrew; the nearest known word is overdraw",
        'one.toml:9: step.load: an Angel Eye shoe does not know which set it deals; write load = ""',
        f'one.toml:13: step.deal[1]: "8X" is not a card; {RIGHT}',
        'one.toml:13: step.deal: the shoe is empty; write a step with load = "" before it',
        "one.toml:14: step.after: is not a known key; write after_ms, or remove the key",
        "one.toml:16: step.cut: false is not true; write true, or remove the key",
        "one.toml:18: step.deliver: an Angel Eye shoe does not deliver a set; use a shuffler for this step",
        "one.toml:20: step.deal: an Angel Eye shoe has no result draw; choose one of player, tie, banker, forced-end",
        f"one.toml:22: step.action: is missing; write one of {', '.join(FORMS)}",
    ]


def test_a_file_without_steps_is_refused() -> None:
    """A device without any action needs no line."""
    with pytest.raises(SettingsError, match=r"^one\.toml:1: step: is missing; write \[\[step\]\] and its keys below$"):
        read("")


@pytest.mark.parametrize("key", sorted(FORMS.keys() - {"deliver"}))
def test_every_action_can_be_written_as_its_example(key: str) -> None:
    """The test above checks the actions that an Angel Eye shoe cannot perform."""
    text = f"[[step]]\n{FORMS[key].example}\n".encode()
    (step,) = of(parse("one.toml", text), AngelEyeDevice(AngelEyeSettings()), on_usb=True)
    assert step.after_ms == AFTER_MS


def test_the_page_shows_a_scenario() -> None:
    """It can be copied from the page."""
    page = (Path(__file__).resolve().parent.parent / "docs" / "rig.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [step.after_ms for step in read(shown)] == [500, 2000, 500, 500, 500, 500]


# --- in real time


class Host:
    """An outlet that records the bytes and the disconnections."""

    at = "here"

    def __init__(self) -> None:
        self.connected = Attendance()
        self.connected.set()
        self.recorded: list[bytes | str] = []

    async def give(self, data: bytes) -> None:
        self.recorded.append(data)

    async def pull(self) -> None:
        self.recorded.append("out")

    async def plug(self) -> None:
        self.recorded.append("in")

    async def close(self) -> None:
        pass


async def test_a_line_without_a_speed_plays_a_scenario_at_once() -> None:
    """The order is kept, also that of the disconnection."""
    device, host = AngelEyeDevice(AngelEyeSettings()), Host()
    virtual = VirtualDevice(device, None, fast=True, waits=False)
    transmitting = asyncio.create_task(virtual.transmitter.run(host))
    await virtual.play(timeline(device, steps("cut = true", "pull_ms = 3000", "cut = true")), host)
    transmitting.cancel()
    first, *cable, last = host.recorded
    assert (first, cable, last) == (b"\x051C\x0371" * 3, ["out", "in"], b"\x052C\x0372" * 3)


async def test_the_clock_of_a_device_shows_the_gaps_of_the_scenario_on_a_busy_machine() -> None:
    """The process wakes up later than each card is due."""
    settings, host = OpenShoeSettings(), Host()
    device = VirtualOpenShoe(settings, 1)
    virtual = VirtualDevice(device, None, fast=False, waits=False)
    dealt = of(parse("one.toml", b'[[step]]\ndeal = ["8S", "3H", "JD"]\ngap_ms = 1\n'), DEVICES["open-shoe"].make())
    transmitting = asyncio.create_task(virtual.transmitter.run(host))
    await virtual.play(timeline(device, dealt), host)
    transmitting.cancel()
    data = b"".join(each for each in host.recorded if isinstance(each, bytes))
    _, heard = wire.receive(reports(settings), LineState(), Chunk(data, Now(0, 0)))
    read = [each.message for each in heard if isinstance(each, Frame)]
    clocks_us = [each.clock_us for each in read if isinstance(each, OpenShoeReport)]
    assert [later - earlier for earlier, later in pairwise(clocks_us)] == pytest.approx([1000, 1000], abs=1)


class Waiting(Host):
    """An outlet whose bytes can be awaited."""

    def __init__(self) -> None:
        super().__init__()
        self.connected.clear()
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()

    async def give(self, data: bytes) -> None:
        self.sent.put_nowait(data)


async def test_a_host_that_reconnects_within_a_pause_is_greeted() -> None:
    """Its line is a new one, although the device has no report for a day."""
    device, host = VirtualOpenShoe(OpenShoeSettings(), 1), Waiting()
    virtual = VirtualDevice(device, None, fast=False, waits=False)
    entries = timeline(device, steps("after_ms = 86400000\ncut = true"))
    tasks = [asyncio.create_task(each) for each in (virtual.play(entries, host), virtual.transmitter.run(host))]
    await asyncio.sleep(0)
    for _ in range(2):
        host.connected.set()
        async with asyncio.timeout(LOST_S):
            assert await host.sent.get() == device.opened(Now(0, 0))
        host.connected.clear()
    for task in tasks:
        task.cancel()


async def test_a_disconnected_cable_disconnects_every_client_and_accepts_none() -> None:
    """Both last until the cable is connected again, at the same port."""
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), lambda _: None, patient=False)
    await outlet.open()
    place = "127.0.0.1", int(outlet.at.rpartition(":")[2])
    reader, writer = await asyncio.open_connection(*place)
    await outlet.connected.wait()
    await outlet.pull()
    async with asyncio.timeout(LOST_S):
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*place)
    await outlet.plug()
    reader, writer = await asyncio.open_connection(*place)
    await outlet.connected.wait()
    await outlet.pull()
    writer.close()
    await writer.wait_closed()
    await outlet.close()


async def test_a_pty_with_a_disconnected_cable_does_not_exist(tmp_path: Path) -> None:
    """Its symlink is removed, too; if the rig ends meanwhile, nothing remains."""
    outlet = PtyOutlet(str(tmp_path / "tty"), lambda _: None)
    await outlet.open()
    await outlet.pull()
    assert not (tmp_path / "tty").is_symlink()
    await outlet.plug()
    assert (tmp_path / "tty").exists()
    await outlet.pull()
    await outlet.close()
    assert not (tmp_path / "tty").is_symlink()
