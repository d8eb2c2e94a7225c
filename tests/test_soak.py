"""The soak of a daemon, with its figures: memory, open files, and nothing lost.

`./dev soak N` runs for N minutes; without N for two.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from shoed.rig.broker import Broker
from tests.soak import soaked

pytestmark = pytest.mark.slow
MINUTES: Final = float(os.environ.get("SHOED_SOAK", "2"))


async def test_a_daemon_loses_nothing_and_does_not_grow(tmp_path: Path, broker: Broker) -> None:
    """Memory and open files are flat, the subscriber has the journal's events, and the journal has the dealt cards."""
    result = await soaked(tmp_path, broker, MINUTES * 60)
    print(f"\n{MINUTES:g} minutes")
    for name, count in sorted(result.counts.items()):
        print(f"{name:<52} {count:12,}")
    print(f"memory in MB, from the start to the end: {result.memory}")
    for figure in result.figures:
        print(figure)
    assert not result.defects, "\n".join(result.defects)
    assert [figure.name for figure in result.figures if not figure.is_ok] == []
