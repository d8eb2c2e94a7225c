"""Faults of the machine: a hung daemon, a power cut, a full disk, a clock step, and a paused machine."""

import asyncio
import json
from contextlib import suppress

import pytest

from tests.hil.devices import BULK, FTDI, deal, scenario
from tests.hil.guest import Guest, Heard

pytestmark = pytest.mark.slow

MAIN_PID = ("systemctl", "show", "--property", "MainPID", "--value", "shoed")

STANDSTILL_S = 5.0
ROUND = ["8S", "4D", "QH", "2C"]
IN_TWO_PARTS = scenario("load = ''", deal(*ROUND[:2]), deal(*ROUND[2:], after_ms=8000))

# The recorded events of the table bulk, as JSON.
EVENTS = """
import json, sqlite3
rows = sqlite3.connect("file:/var/lib/shoed/journal.db?mode=ro", uri=True).execute(
    "SELECT sequence, type, data FROM event WHERE table_name = 'bulk' ORDER BY sequence")
print(json.dumps([[str(number), "shoed." + kind, json.loads(data)] for number, kind, data in rows]))
"""


async def test_systemd_restarts_a_hung_daemon(guest: Guest) -> None:
    """A stopped process sends no watchdog signal: systemd ends and restarts it, and the round continues."""
    await guest.run("mkdir", "-p", "/etc/systemd/system/shoed.service.d")
    await guest.write("/etc/systemd/system/shoed.service.d/watchdog.conf", "[Service]\nWatchdogSec=10\n")
    await guest.shell("systemctl daemon-reload; systemctl restart shoed")
    await guest.plug(1, *BULK.words, scenario=IN_TWO_PARTS)
    await guest.event("bulk", "card.drawn", 2)
    await guest.shell("kill -STOP $(systemctl show --property MainPID --value shoed)")
    await guest.logged("Watchdog timeout")
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ROUND


async def test_a_power_cut_loses_no_published_event(guest: Guest) -> None:
    """QEMU is killed in the middle of a hand, and boots the same disk. The shoe stays in its USB socket."""
    await guest.plug(1, *BULK.words, scenario=IN_TWO_PARTS)
    await guest.event("bulk", "card.drawn", 2)
    await guest.switch_off()
    published = [[each["sequence"], each["type"], each["data"]] for each in guest.events("bulk")]
    guest.messages.clear()
    await guest.switch_on()
    guest.listen()
    await guest.socket(1)
    await guest.event("bulk", "round.completed")
    recorded = json.loads(await guest.run("python3", "-c", EVENTS))
    assert [each for each in recorded if each in published] == published
    assert [each[2]["card"] for each in recorded if each[1] == "shoed.card.drawn"] == ROUND
    await guest.run("shoed", "journal", "replay", "--check", "bulk")


async def test_a_full_disk_stops_the_table_and_loses_no_published_event(guest: Guest) -> None:
    """Without space the table stops and states the reason. With space it continues by itself, and names the gap."""
    await guest.plug(1, *BULK.words, scenario=scenario("load = ''", deal(ROUND[0]), deal(*ROUND[1:], after_ms=8000)))
    await guest.event("bulk", "card.drawn")
    pid = await guest.run(*MAIN_PID)
    await guest.shell("dd if=/dev/zero of=/full bs=64k || sync")
    await guest.logged("the commit failed, and the table stops: database or disk is full")
    await guest.until(lambda: any(has_reason(each, "journal failed: ") for each in guest.messages))
    recorded = json.loads(await guest.run("python3", "-c", EVENTS))
    assert {each["sequence"] for each in guest.events("bulk")} <= {each[0] for each in recorded}
    await guest.run("rm", "/full")
    await guest.until(lambda: any(has_reason(each, "journal available again; ") for each in guest.messages))
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ROUND
    assert await guest.run(*MAIN_PID) == pid


@pytest.mark.parametrize("step", ["+1 day", "-1 day"])
async def test_a_step_of_the_clock_does_not_disturb_a_round(guest: Guest, step: str) -> None:
    """The clock of the machine is set in the middle of a hand: the round continues, and no report counts as lost."""
    steps = scenario("load = ''", deal(*ROUND[:2]), deal(*ROUND[2:], after_ms=4000))
    await guest.plug(1, *FTDI.words, scenario=steps)
    await guest.event("ftdi", "card.drawn", 2)
    await guest.run("date", "--set", step)
    await guest.event("ftdi", "round.completed")
    assert guest.cards("ftdi") == ROUND
    assert not {"line.missed", "round.suspended"} & {*guest.story("ftdi")}


async def test_a_paused_machine_continues_its_round(guest: Guest) -> None:
    """The machine stands still while the shoe deals (as under a hypervisor). The cards of this time arrive later."""
    await guest.plug(1, *BULK.words, scenario=scenario("load = ''", deal(*ROUND[:2]), deal(*ROUND[2:], after_ms=2000)))
    await guest.event("bulk", "card.drawn", 2)
    await guest.qmp("stop")
    with suppress(TimeoutError):
        async with asyncio.timeout(STANDSTILL_S):
            await guest.process.wait()
    await guest.qmp("cont")
    await guest.event("bulk", "round.completed")
    assert guest.cards("bulk") == ROUND


def has_reason(message: Heard, text: str) -> bool:
    status = message.payload if message.topic == "status" and message.table == "bulk" else {}
    return text in status.get("reason", "")
