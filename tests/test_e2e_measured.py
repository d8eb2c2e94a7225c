"""A daemon and a virtual Open Shoe with a pulled cable: each card drawn meanwhile has its own moment."""

from datetime import datetime
from itertools import pairwise

import pytest

from tests.test_rig import rig
from tests.world import World

GAP_S = 0.4
CUT = """
[[step]]
deal = ["8S"]

[[step]]
pull_ms = 3000

[[step]]
deal = ["3H", "JD", "4C"]
gap_ms = 400

[[step]]
after_ms = 3000  # the cable is connected again: the shoe waits for its host
lock = true

[[step]]
after_ms = 10000
unlock = true
"""


@pytest.mark.parametrize("version", ["2", "3"])
async def test_cards_drawn_without_a_line_have_their_own_moments(world: World, version: str) -> None:
    """They arrive together, and were drawn 400 ms apart. A device of version 2 may have lost its power."""
    scenario = world.place / "cut.toml"
    scenario.write_text(CUT)
    options = ("--pty", str(world.place / "tty"), "--scenario", str(scenario), "--firmware", version)
    async with rig(*options, device="open-shoe") as shoe:
        daemon = await world.launch(world.configure(shoe, protocol="open-shoe"))
        await daemon.ready()
        await world.recorder.event("round.completed")
        await world.all_published()
        assert await daemon.stop() == 0
    drawn = [each for each in world.recorder.events() if each["type"] == "shoed.card.drawn"]
    first, *late = [each["data"]["measured"] for each in drawn]
    moments = [datetime.fromisoformat(each["drawn_at"]) for each in late]
    arrivals = [datetime.fromisoformat(each["time"]) for each in drawn[1:]]
    assert arrivals[-1] - arrivals[0] < moments[-1] - moments[0]
    for before, after in pairwise(moments):
        assert after.timestamp() - before.timestamp() == pytest.approx(GAP_S, abs=0.15)
    waited_ms = [(arrived - drawn).total_seconds() * 1000 for drawn, arrived in zip(moments, arrivals, strict=True)]
    assert min(waited_ms) > 0
    assert [each["quality"] for each in late] == [100, 100, 100]
    assert {each["passage_us"] for each in (first, *late)} == {120_000}
    bounds = [each["within_ms"] for each in late]
    is_exact = [bound < waited / 2 for bound, waited in zip(bounds, waited_ms, strict=True)]
    assert is_exact == [version == "3"] * 3
