"""The soak of a daemon, with its figures: memory, open files, and nothing lost.

`./dev soak N` runs for N minutes; without N for two.
"""

import os
from pathlib import Path
from typing import Final

import aiomqtt
import msgspec
import pytest

from shoed.rig.broker import Broker
from tests.soak import Sample, Samples, Subscriber, soaked

MINUTES: Final = float(os.environ.get("SHOED_SOAK", "2"))


@pytest.mark.slow
async def test_a_daemon_loses_nothing_and_does_not_grow(tmp_path: Path, broker: Broker) -> None:
    """Memory and open files are flat, the subscriber has the journal's events, and the journal has the dealt cards."""
    result = await soaked(tmp_path, broker, MINUTES * 60)
    print(f"\n{MINUTES:g} minutes")
    for name, count in sorted(result.counts.items()):
        print(f"{name:<52} {count:12,}")
    print(f"memory in MB, from the start to the end: {result.memory}")
    for figure in (*result.figures, result.pace):
        print(figure)
    assert not result.defects, "\n".join(result.defects)
    assert [figure.name for figure in result.figures if not figure.is_ok] == []


async def test_the_subscriber_reports_each_event_that_is_changed_or_missing(broker: Broker) -> None:
    """An event that is received again with the same data is not a defect."""
    subscriber = Subscriber("soak-damage")
    await subscriber.listen(broker)
    async with aiomqtt.Client(broker.host, broker.port) as client:
        for number, card in ((1, "8S"), (2, "3H"), (2, "3H"), (1, "9S"), (4, "KS")):
            event = {"id": f"w-{number}", "type": "t", "time": "2026-01-01T00:00:00Z", "sequence": str(number)}
            data = msgspec.json.encode({**event, "data": {"card": card}})
            await client.publish(f"{subscriber.root}bac-901/event/card/drawn", data, qos=1)
    await subscriber.until(lambda: len(subscriber.defects) == 2)
    assert subscriber.defects == [
        "w-1 was received again with other data",
        "w-4 was received directly after event 2",
    ]
    await subscriber.leave()


@pytest.mark.parametrize(("begins", "is_ok"), [(0, True), (50, False)])
def test_only_growth_after_the_warm_up_counts(begins: int, *, is_ok: bool) -> None:
    """The memory and the open files grow during a part of the run."""
    samples = Samples()
    grown = [min(max(number - begins, 0), 40) / 10 for number in range(100)]
    samples.taken = [Sample(45 + each, 57 + each) for each in grown]
    assert [figure.is_ok for figure in samples.figures()] == [is_ok, is_ok]
