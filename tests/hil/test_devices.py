"""Devices that may be confused: exchanged scanners, equal serial numbers, a keyboard, and missing udev rules."""

import pytest

from tests.hil.devices import BULK, SCANNER_A, SCANNER_B, deal, scenario
from tests.hil.guest import Guest

pytestmark = pytest.mark.slow

SHARED = ("scanner", "--serial=SC-A")


def scans(*cards: str) -> str:
    return scenario(deal(*cards, after_ms=SCANNER_A.opens_ms))


async def test_exchanged_scanners_stay_with_their_tables(guest: Guest) -> None:
    """Two scanners exchange their USB sockets between two rounds: each table receives its own scanner's cards only."""
    first = [await guest.plug(1, *SCANNER_A.words, scenario=scans("8S", "4D"))]
    first += [await guest.plug(2, *SCANNER_B.words, scenario=scans("8H", "4C"))]
    await guest.event("scanner-a", "card.drawn", 2)
    await guest.event("scanner-b", "card.drawn", 2)
    for device in first:
        await guest.unplug(device)
    for table in ("scanner-a", "scanner-b"):
        await guest.event(table, "device.offline")
    await guest.play(guest.place / "usb1", *SCANNER_B.words, scenario=scans("KH"))
    await guest.play(guest.place / "usb2", *SCANNER_A.words, scenario=scans("KS"))
    reported = [
        (await guest.event(table, "card.set-aside"))["reported"]["card"] for table in ("scanner-a", "scanner-b")
    ]
    assert reported == ["KS", "KH"]
    assert (guest.cards("scanner-a"), guest.cards("scanner-b")) == (["8S", "4D"], ["8H", "4C"])


async def test_tables_that_name_the_socket_follow_the_socket(guest: Guest) -> None:
    """Scanners with equal serial numbers have names by their USB sockets: each table has the scanner of its socket."""
    await guest.plug(5, *SHARED, scenario=scans("8S", "4D"))
    await guest.plug(6, *SHARED, scenario=scans("8H", "4C"))
    await guest.event("socket-5", "card.drawn", 2)
    await guest.event("socket-6", "card.drawn", 2)
    assert (guest.cards("socket-5"), guest.cards("socket-6")) == (["8S", "4D"], ["8H", "4C"])


async def test_a_shared_serial_number_is_refused(guest: Guest) -> None:
    """Two devices have one serial number: no card reaches its table. With one unplugged, the other is used."""
    await guest.run("systemctl", "stop", "shoed")
    pair = [await guest.plug(number, *SHARED, scenario=scans("8S")) for number in (1, 2)]
    await guest.shell("until [ -e /dev/hidraw1 ]; do udevadm settle; done")
    await guest.run("systemctl", "start", "shoed")
    await guest.reason("scanner-a", "several devices have the serial number SC-A")
    await guest.unplug(pair[0])
    await guest.event("scanner-a", "device.online")
    assert guest.cards("scanner-a") == []


async def test_a_keyboard_is_not_a_scanner(guest: Guest) -> None:
    """A keyboard with the serial number of a scanner types a card's code: no table receives a card."""
    rule = 'SUBSYSTEMS=="usb", ATTRS{idVendor}=="046d", ATTRS{idProduct}=="c31c", ENV{SHOED}="raw"\n'
    await guest.write("/etc/udev/rules.d/69-keyboard.rules", rule)
    await guest.run("udevadm", "control", "--reload")
    await guest.plug(1, "scanner", "--id=046d:c31c", "--serial=SC-A", scenario=scans("8S", "4D"))
    await guest.reason("scanner-a", "which is not known to use this protocol")
    await guest.plug(2, *SCANNER_B.words, scenario=scans("8H", "4C"))
    await guest.event("scanner-b", "card.drawn", 2)
    assert guest.cards("scanner-a") == []


async def test_a_keyboard_without_a_rule_has_no_name(guest: Guest) -> None:
    """The udev rules name known scanners only: the table of a scanner does not find another keyboard."""
    await guest.plug(1, "scanner", "--id=046d:c31c", "--serial=SC-A", scenario=scans("8S", "4D"))
    await guest.plug(2, *SCANNER_B.words, scenario=scans("8H", "4C"))
    await guest.event("scanner-b", "card.drawn", 2)
    assert "/dev/hidraw0" in await guest.shell("echo /dev/hidraw*")
    assert guest.story("scanner-a") == []


async def test_missing_udev_rules_are_named(guest: Guest) -> None:
    """Without the rules only root may open the device, and the reason names the remedy, which works."""
    rules = await guest.shell("find /etc/udev/rules.d /lib/udev/rules.d -name '*shoed.rules'")
    await guest.shell(f"mv {rules} /root/ && udevadm control --reload")
    device = await guest.plug(1, *BULK.words, scenario=scenario(deal("8S", "4D", "QH", "2C")))
    await guest.reason("bulk", "install shoed's udev rules, then unplug and reconnect the device")
    await guest.shell(f"mv /root/*shoed.rules {rules} && udevadm control --reload")
    await guest.unplug(device)
    await guest.play(guest.place / "usb1", *BULK.words, scenario=scenario("load = ''", deal("8S", "4D", "QH", "2C")))
    await guest.event("bulk", "round.completed")
