"""Faults of the bus: endpoints that stall, and reads that are answered late."""

import pytest

from tests.hil.devices import BULK, BY_TRANSPORT, HilDevice, deal, scenario
from tests.hil.guest import Guest

pytestmark = pytest.mark.slow


async def test_a_stalled_endpoint_is_cleared(guest: Guest) -> None:
    """The endpoint stalls twice between two cards: shoed clears it, and no card is lost."""
    steps = scenario("load = ''", deal("8S", "4D"), "after_ms = 1000\nstall = 2", deal("QH", "2C", after_ms=1000))
    await guest.plug(1, *BULK.words, scenario=steps)
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ["8S", "4D", "QH", "2C"]
    await guest.logged("an endpoint stalled, was cleared, and works again (2 stalls so far)")
    assert "device.offline" not in guest.story("bulk")


async def test_an_endpoint_that_does_not_recover_is_reported(guest: Guest) -> None:
    """After many stalls the device is offline with the reason; it is opened again, and no card is lost."""
    steps = scenario("load = ''", deal("8S", "4D"), "after_ms = 1000\nstall = 6", deal("QH", "2C", after_ms=1000))
    await guest.plug(1, *BULK.words, scenario=steps)
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ["8S", "4D", "QH", "2C"]
    assert "fails repeatedly" in (await guest.event("bulk", "device.offline"))["reason"]


@pytest.mark.parametrize("transport", ["cdc-acm", "keyboard"])
async def test_the_kernel_clears_a_stall_of_its_device(guest: Guest, transport: str) -> None:
    """The drivers of the kernel clear the endpoint of a serial device and of a keyboard; no card is lost."""
    device = BY_TRANSPORT[transport]
    steps = scenario(
        deal("8S", "4D", after_ms=device.opens_ms), "after_ms = 2000\nstall = 1", deal("QH", "2C", after_ms=4000)
    )
    await guest.plug(1, *device.words, scenario=steps)
    await guest.event(device.table, "round.completed")
    assert guest.cards(device.table) == ["8S", "4D", "QH", "2C"]


@pytest.mark.parametrize("device", [*BY_TRANSPORT.values()], ids=[*BY_TRANSPORT])
async def test_late_reports_keep_their_order(guest: Guest, device: HilDevice) -> None:
    """The device answers reads with NAK while two cards are drawn: both cards arrive later, in order."""
    steps = scenario(
        deal("8S", "4D", after_ms=device.opens_ms), "after_ms = 1000\nnak_ms = 4000", deal("QH", "2C", after_ms=1000)
    )
    await guest.plug(1, *device.words, scenario=steps)
    await guest.event(device.table, "card.drawn", 2)
    await guest.until(lambda: len(reported(guest, device)) == 4)
    assert reported(guest, device) == ["8S", "4D", "QH", "2C"]
    assert "device.offline" not in guest.story(device.table)


def reported(guest: Guest, device: HilDevice) -> list[str]:
    """All cards of the device, also those that shoed set aside."""
    kinds = ("shoed.card.drawn", "shoed.card.set-aside")
    return [each["data"]["card"] for each in guest.events(device.table) if each["type"] in kinds]
