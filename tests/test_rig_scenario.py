"""Scenarios: what is written there happens to a virtual device, in virtual time, and its host hears of it."""

import asyncio
import re
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.open_shoe import OpenShoeSettings
from shoed.cards import RIGHT
from shoed.errors import SettingsError
from shoed.now import Now
from shoed.observations import (
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
from shoed.ports.address import TcpAddress
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.device import Pulled, Step, happenings
from shoed.rig.devices import DEVICES
from shoed.rig.open_shoe import OpenShoeDevice
from shoed.rig.outlets import Attendance, PtyOutlet, TcpOutlet
from shoed.rig.scenario import AFTER_MS, FORMS, of
from shoed.rig.virtual import VirtualDevice
from shoed.session.angel_eye import AngelEyeSession
from shoed.settings import parse
from shoed.step import AnyInput, LinkDown, LinkUp, Received

LOST_S: Final = 10  # for a host that is cut off to be told


def read(text: str, family: str = "angel-eye") -> tuple[Step, ...]:
    return of(parse("one.toml", text.encode()), DEVICES[family].make())


def steps(*written: str) -> tuple[Step, ...]:
    return read("".join(f"[[step]]\n{each}\n" for each in written))


class Listening:
    """A host on the line of the device, by the device's own clock."""

    def __init__(self) -> None:
        self.session = AngelEyeSession(AngelEyeSettings(), allow_orders=False)
        self.state = self.session.begin()
        self.seen: list[AnyObservation] = []

    def take(self, came: AnyInput, at_s: float) -> None:
        self.state, heard = self.session.step(self.state, came, moment(at_s))
        self.seen += heard.observations


def moment(at_s: float) -> Now:
    return Now(int(at_s * 1e6), int(at_s * 1e9))


def play(*written: str) -> list[AnyObservation]:
    """What a host observes; not the copies of a report."""
    device, host = AngelEyeDevice(AngelEyeSettings()), Listening()
    at_s, back_s = 0.0, None
    host.take(LinkUp("rig"), at_s)
    for happening in happenings(device, steps(*written)):
        at_s += happening.pause_s
        if back_s is not None and back_s <= at_s:
            host.take(LinkUp("rig"), back_s)
            back_s = None
        if isinstance(happening, Pulled):
            host.take(LinkDown("gone"), at_s)
            back_s = at_s + happening.out_s
        else:
            said = device.say(happening.report, moment(at_s))
            if back_s is None:
                host.take(Received(said), at_s)
    return [each for each in host.seen if not isinstance(each, CopyHeard | LinkOpened)]


def cards(seen: list[AnyObservation]) -> list[str]:
    return [f"{each.place.value} {each.position} {each.card}" for each in seen if isinstance(each, CardSeen)]


def results(seen: list[AnyObservation]) -> list[tuple[Outcome, tuple[Pair, ...]]]:
    return [(each.outcome, each.pairs) for each in seen if isinstance(each, ResultSeen)]


def test_cards_go_to_the_hand_that_is_due_and_a_result_follows() -> None:
    """One deed may be several rounds: the Table of Play says where each ends."""
    seen = play('deal = ["2S", "3H", "2D", "JC", "5H", "2C", "8S", "4D", "KH", "2C", "AS"]')
    assert cards(seen) == [
        *("player 1 2S", "banker 1 3H", "player 2 2D", "banker 2 JC", "player 3 5H"),
        *("banker 3 2C", "player 1 8S", "banker 1 4D", "player 2 KH", "banker 2 2C", "player 1 AS"),
    ]
    assert results(seen) == [(Outcome.PLAYER, (Pair.PLAYER,)), (Outcome.PLAYER, ())]


def test_cards_come_when_they_are_due() -> None:
    """A step waits for itself, and its cards for each other."""
    seen = play('deal = ["8S", "4D"]\ngap_ms = 700', 'deal = ["QH"]\nafter_ms = 1000')
    assert [each.at.utc_us for each in seen] == [500_000, 1_200_000, 2_200_000]


def test_cards_that_are_drawn_together_come_closer_than_a_hand_can_draw_them() -> None:
    """All on their places: nothing on the line says that they came together."""
    one, other = play('together = ["8S", "4D"]')
    assert cards([one, other]) == ["player 1 8S", "banker 1 4D"]
    assert other.at.mono_ns - one.at.mono_ns < 250_000_000


@pytest.mark.parametrize(
    ("dealt", "result", "outcome"),
    [('"8S", "4D", "QH", "2C"', "banker", Outcome.BANKER), ('"8S", "4D"', "forced-end", Outcome.FORCED_END)],
)
def test_a_shoe_may_say_another_result(dealt: str, result: str, outcome: Outcome) -> None:
    """Once, in the place of the true one; and the next card begins a round."""
    seen = play(f'deal = [{dealt}]\nresult = "{result}"', 'deal = ["KS"]')
    assert results(seen) == [(outcome, ())]
    assert cards(seen)[-1] == "player 1 KS"


def test_what_leaves_a_shoe_that_is_locked_or_in_error_belongs_to_no_hand() -> None:
    """And the round goes on behind it."""
    seen = play(
        *('deal = ["8S"]', "lock = true", 'deal = ["2C"]', "unlock = true"),
        *('fault = "cannot-read"', 'burn = ["3C"]', 'clear = "cannot-read"', 'deal = ["4D"]'),
    )
    assert cards(seen) == ["player 1 8S", "locked 0 2C", "error 0 3C", "banker 1 4D"]
    assert [type(each) for each in seen if not isinstance(each, CardSeen)] == [
        *(LockChanged, LockChanged, FaultRaised, FaultCleared),
    ]


def test_a_new_set_begins_a_round_anew() -> None:
    """Behind the cutting card, and whatever was burnt."""
    seen = play('deal = ["8S"]', "cut = true", "run_out = true", 'load = ""', 'burn = ["9C"]', 'deal = ["8S"]')
    assert cards(seen) == ["player 1 8S", "burn 0 9C", "player 1 8S"]
    assert [type(each) for each in seen if not isinstance(each, CardSeen)] == [
        *(CutCardSeen, StoodBy, CommunicationStarted),
    ]


def test_what_happens_while_the_cable_is_out_is_not_heard() -> None:
    """A host finds out from the number of the next report."""
    seen = play('deal = ["8S"]', "pull_ms = 3000", 'deal = ["4D"]', 'deal = ["QH"]\nafter_ms = 2600')
    assert cards(seen) == ["player 1 8S", "player 2 QH"]
    assert [type(each) for each in seen] == [CardSeen, LinkClosed, Resumed, CardSeen]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [False]


def test_a_shuffled_file_is_refused_whole() -> None:
    """Every problem at once, each with its line and what would be right."""
    with pytest.raises(SettingsError) as refused:
        steps(
            *('deel = ["8S"]', 'deal = ["8X"]\ncut = true', 'fault = "overdrew"', 'load = "x"', "run_out = true"),
            *('deal = ["8X"]\nafter = 1', "cut = false", 'deliver = ""', 'deal = []\nresult = "draw"', "after_ms = 1"),
        )
    assert str(refused.value).splitlines() == [
        "one.toml:2: step.deel: is no deed; the nearest known is deal",
        "one.toml:5: step.cut: stands beside deal; write one deed in each step",
        "one.toml:7: step.fault: an Angel Eye shoe has no fault overdrew; the nearest known is overdraw",
        'one.toml:9: step.load: an Angel Eye shoe does not know which set it deals; write load = ""',
        f'one.toml:13: step.deal[1]: "8X" is not a card; {RIGHT}',
        'one.toml:13: step.deal: the shoe has run out; write a step with load = "" before it',
        "one.toml:14: step.after: is no known key; the nearest known is after_ms",
        "one.toml:16: step.cut: false is not true; write true, or leave the key out",
        "one.toml:18: step.deliver: an Angel Eye shoe delivers no set; leave it to a shuffler",
        "one.toml:20: step.deal: an Angel Eye shoe has no result draw; known: player, tie, banker, forced-end",
        f"one.toml:22: step.deed: is missing; write one of {', '.join(FORMS)}",
    ]


def test_a_file_without_steps_is_refused() -> None:
    """A device to which nothing happens is not worth a line."""
    with pytest.raises(SettingsError, match=r"^one\.toml:1: step: is missing; write \[\[step\]\] and its keys below$"):
        read("")


@pytest.mark.parametrize("key", sorted(FORMS.keys() - {"deliver"}))
def test_a_deed_is_written_as_its_example_shows(key: str) -> None:
    """What an Angel Eye shoe cannot do at all is tried above."""
    (step,) = steps(FORMS[key].example)
    assert step.after_ms == AFTER_MS


def test_the_page_shows_a_scenario() -> None:
    """As somebody would copy it."""
    page = (Path(__file__).resolve().parent.parent / "docs" / "rig.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [step.after_ms for step in read(shown)] == [500, 2000, 500, 500, 500, 500]


# --- in real time


class Host:
    """An outlet that notes what comes, and when the cable is out."""

    at = "here"

    def __init__(self) -> None:
        self.attended = Attendance()
        self.attended.set()
        self.came: list[bytes | str] = []

    async def give(self, data: bytes) -> None:
        self.came.append(data)

    async def pull(self) -> None:
        self.came.append("out")

    async def plug(self) -> None:
        self.came.append("in")

    async def close(self) -> None:
        pass


async def test_a_line_that_takes_no_time_plays_a_scenario_at_once() -> None:
    """In its order, the cable too."""
    device, host = AngelEyeDevice(AngelEyeSettings()), Host()
    virtual = VirtualDevice(device, None, fast=True, waits=False)
    transmitting = asyncio.create_task(virtual.transmitter.run(host))
    await virtual.play(happenings(device, steps("cut = true", "pull_ms = 3000", "cut = true")), host)
    transmitting.cancel()
    first, *cable, last = host.came
    assert (first, cable, last) == (b"\x051C\x0371" * 3, ["out", "in"], b"\x052C\x0372" * 3)


class Waiting(Host):
    """It can be waited for what comes."""

    def __init__(self) -> None:
        super().__init__()
        self.attended.clear()
        self.given: asyncio.Queue[bytes] = asyncio.Queue()

    async def give(self, data: bytes) -> None:
        self.given.put_nowait(data)


async def test_a_host_that_comes_back_within_a_pause_is_greeted() -> None:
    """Its line is a new one, although the device has nothing to say for a day."""
    device, host = OpenShoeDevice(OpenShoeSettings(), 1), Waiting()
    virtual = VirtualDevice(device, None, fast=False, waits=False)
    told = happenings(device, steps("after_ms = 86400000\ncut = true"))
    tasks = [asyncio.create_task(each) for each in (virtual.play(told, host), virtual.transmitter.run(host))]
    await asyncio.sleep(0)
    for _ in range(2):
        host.attended.set()
        async with asyncio.timeout(LOST_S):
            assert await host.given.get() == device.opened(Now(0, 0))
        host.attended.clear()
    for task in tasks:
        task.cancel()


async def test_a_cable_that_is_pulled_cuts_every_client_off_and_lets_nobody_in() -> None:
    """Until it is back, at the same port."""
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), lambda _: None, patient=False)
    await outlet.open()
    place = "127.0.0.1", int(outlet.at.rpartition(":")[2])
    reader, writer = await asyncio.open_connection(*place)
    await outlet.attended.wait()
    await outlet.pull()
    async with asyncio.timeout(LOST_S):
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*place)
    await outlet.plug()
    reader, writer = await asyncio.open_connection(*place)
    await outlet.attended.wait()
    await outlet.pull()
    writer.close()
    await writer.wait_closed()
    await outlet.close()


async def test_a_pty_whose_cable_is_pulled_is_gone_until_it_is_back(tmp_path: Path) -> None:
    """Its name, too; closed meanwhile, it leaves nothing behind."""
    outlet = PtyOutlet(str(tmp_path / "tty"), lambda _: None)
    await outlet.open()
    await outlet.pull()
    assert not (tmp_path / "tty").is_symlink()
    await outlet.plug()
    assert (tmp_path / "tty").exists()
    await outlet.pull()
    await outlet.close()
    assert not (tmp_path / "tty").is_symlink()
