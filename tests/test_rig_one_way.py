"""A virtual Bee-Tek shoe and a virtual scanner: they report cards and faults, and nothing else."""

import pytest

from firmware_protocols import FAMILIES
from shoed.errors import SettingsError
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, CardSeen, CopyHeard, FaultRaised
from shoed.model.step import LinkUp, Received
from shoed.rig.device import DeviceOutput, timeline
from shoed.rig.devices import DEVICES
from shoed.rig.scenario import of
from shoed.session.families import DRIVERS
from shoed.settings import parse


def play(family: str, *written: str) -> list[AnyObservation]:
    """Return the observations of a host, in virtual time."""
    text = "".join(f"[[step]]\n{each}\n" for each in written)
    steps = of(parse("one.toml", text.encode()), DEVICES[family].make())
    device, session = DEVICES[family].make(), DRIVERS[family].session(FAMILIES[family].settings(), allow_orders=False)
    state, _ = session.step(session.begin(), LinkUp("rig"), Now(0, 0))
    seen, at_us = list[AnyObservation](), 0
    for entry in timeline(device, steps):
        at_us += int(entry.pause_s * 1e6)
        if isinstance(entry, DeviceOutput):
            now = Now(at_us, at_us * 1000)
            state, heard = session.step(state, Received(device.say(entry.report, now)), now)
            seen += heard.observations
    return [each for each in seen if not isinstance(each, CopyHeard)]


@pytest.mark.parametrize("family", ["bee-tek", "scanner"])
def test_each_card_is_reported_once(family: str) -> None:
    """The order is kept; two cards that are drawn together are reported shortly after each other."""
    seen = play(family, 'load = ""', 'deal = ["8S", "10H"]', "cut = true", "lock = true", 'together = ["8S", "AD"]')
    assert [str(each.card) for each in seen if isinstance(each, CardSeen)] == ["8S", "10H", "8S", "AD"]
    assert len(seen) == 4
    assert seen[3].at.mono_ns - seen[2].at.mono_ns < 250_000_000


@pytest.mark.parametrize(
    ("family", "name", "text"),
    [("bee-tek", "not-read", "E3 Card Not Read"), ("scanner", "self-test-failed", "self-test-failed")],
)
def test_a_fault_is_reported(family: str, name: str, text: str) -> None:
    """The fault has the words of the protocol."""
    seen = play(family, f'fault = "{name}"')
    assert [each.name for each in seen if isinstance(each, FaultRaised)] == [text]


@pytest.mark.parametrize("family", ["bee-tek", "scanner"])
@pytest.mark.parametrize(
    "written",
    [
        'load = "set-7"',
        'deal = ["8S"]\nresult = "tie"',
        'fault = "overdraw"',
        'clear = "jam"',
        'deliver = "set-7"',
    ],
)
def test_an_action_without_a_meaning_is_refused(family: str, written: str) -> None:
    """The refusal is before the scenario begins."""
    with pytest.raises(SettingsError, match=r"^one\.toml:2: step\.\w+: a (Bee-Tek shoe|scanner) .+; .+"):
        play(family, written)
