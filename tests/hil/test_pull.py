"""A pull of the cable in the middle of a hand, on each transport."""

import pytest

from tests.hil.devices import BULK, BY_TRANSPORT, HilDevice, deal, scenario
from tests.hil.guest import Guest

pytestmark = pytest.mark.slow


def pulled(device: HilDevice) -> str:
    """The third card is dealt while the cable is disconnected."""
    return scenario(
        deal("8S", "4D", after_ms=device.opens_ms),
        "after_ms = 6000\npull_ms = 3000",  # the guest is slow: it reads both cards first
        deal("QH", after_ms=1000),
        deal("2C", after_ms=2000 + device.opens_ms),
    )


async def test_an_open_shoe_loses_no_card(guest: Guest) -> None:
    """It keeps each report until the host acknowledges it, so the round continues with all cards in order."""
    await guest.plug(1, *BULK.words, scenario=pulled(BULK))
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ["8S", "4D", "QH", "2C"]
    story = guest.story("bulk")
    assert story.index("card.drawn 4D") < story.index("device.offline") < story.index("card.drawn QH")
    assert "line.missed" not in story


@pytest.mark.parametrize("transport", ["ftdi", "cdc-acm"])
async def test_a_lost_report_suspends_the_round(guest: Guest, transport: str) -> None:
    """An Angel Eye shoe numbers its reports: the next report shows that one was lost, and no card takes its place."""
    device = BY_TRANSPORT[transport]
    await guest.plug(1, *device.words, scenario=pulled(device))
    await guest.event(device.table, "round.suspended")
    assert guest.cards(device.table) == ["8S", "4D"]
    story = guest.story(device.table)
    order = ["card.drawn 8S", "card.drawn 4D", "device.offline", "device.online", "line.missed", "round.suspended"]
    assert [each for each in story[story.index("round.started") :] if each in order] == order


async def test_a_scanner_that_was_away_suspends_the_round(guest: Guest) -> None:
    """Its codes have no numbers: whether one was lost is unknown, and a person decides."""
    device = BY_TRANSPORT["keyboard"]
    await guest.plug(1, *device.words, scenario=pulled(device))
    await guest.event(device.table, "round.suspended")
    assert guest.cards(device.table) == ["8S", "4D"]


@pytest.mark.parametrize("device", BY_TRANSPORT.values(), ids=BY_TRANSPORT)
async def test_a_device_may_change_its_socket(guest: Guest, device: HilDevice) -> None:
    """Its name comes from its serial number: in another socket it is the same device."""
    first = await guest.plug(1, *device.words, scenario=scenario(deal("8S", "4D", after_ms=device.opens_ms)))
    await guest.event(device.table, "card.drawn", 2)
    await guest.unplug(first)
    await guest.event(device.table, "device.offline")
    await guest.plug(2, *device.words, scenario=scenario(deal("QH")))
    await guest.event(device.table, "device.online", 2)


async def test_a_serial_adapter_of_qemu(guest: Guest) -> None:
    """The FTDI adapter that QEMU itself emulates is the same to shoed: plug, rounds, unplug, plug."""
    for number in (1, 2):
        completed = len(guest.events("ftdi", "round.completed"))
        shoe = await guest.adapter("AE-1", "angel-eye", "--seed=7")
        await guest.event("ftdi", "round.completed", completed + 1)
        await guest.unplug(shoe)
        await guest.event("ftdi", "device.offline", number)
        await guest.qmp("device_del", id="adapter")
