"""The walks of docs/architecture.md are those of a real run, and a difference from the run fails the check."""

from collections.abc import Mapping
from typing import Final

import pytest

from docs import walks
from docs.traced_run import Call, code_of, traced
from docs.walks import WALKS, Hop, Walk, WalkError, check
from shoed.bus.publisher import Publisher
from shoed.service.desk import Desk

Spans = Mapping[str, tuple[Call, ...]]

# The hops that begin in another room than the hop before them.
ENTERED: Final = {
    "walk-byte": (
        *(
            "TableDevice.received",
            "Engine.step",
            "AngelEyeSession.step",
            "receive",
            "reports.read",
            "watch",
            "fold",
            "due",
        ),
        *("Writer.submit", "Desk.release", "Publisher.committed"),
    ),
    "walk-answer": (
        *("read", "Engine.step", "fold", "may_decide", "course", "due", "winner", "watch"),
        *("Writer.submit", "Desk.release", "Publisher.committed"),
    ),
}


@pytest.fixture(scope="module")
def spans() -> Spans:
    return traced()


def without(walk: Walk, name: str) -> Walk:
    """The walk without this function."""
    hops = tuple([each for each in walk.hops if walks.name_of(code_of(each.function)) != name])
    assert len(hops) < len(walk.hops)
    return walk._replace(hops=hops)


@pytest.mark.parametrize("name", WALKS)
def test_another_run_has_the_same_walk(spans: Spans, name: str) -> None:
    """The caches of an earlier run change no walk."""
    for calls in (spans, traced()):
        check(WALKS[name], calls[WALKS[name].span])


@pytest.mark.parametrize(("name", "hop"), [(name, hop) for name, hops in ENTERED.items() for hop in hops])
def test_a_missing_hop_into_a_room_is_named(spans: Spans, name: str, hop: str) -> None:
    """The list has no gap between two rooms."""
    walk = WALKS[name]
    with pytest.raises(WalkError, match=rf"calls \S+: {hop}: add a hop"):
        check(without(walk, hop), spans[walk.span])


@pytest.mark.parametrize("name", WALKS)
def test_the_page_has_every_hop(name: str) -> None:
    """The page has a row for each hop, also for one that stays in its room."""
    page = (walks.ROOT / "docs" / "architecture.md").read_text()
    assert f"{walks.rows(WALKS[name]).strip()}\n<!-- end -->" in page
    for place in range(len(WALKS[name].hops)):
        hops = (*WALKS[name].hops[:place], *WALKS[name].hops[place + 1 :])
        assert f"{walks.rows(WALKS[name]._replace(hops=hops)).strip()}\n<!-- end -->" not in page


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("end", ["first", "last"])
def test_a_walk_without_its_first_or_last_hop_is_found(spans: Spans, name: str, end: str) -> None:
    """The walk is the complete way from the socket of the sender to the socket of the broker."""
    walk = WALKS[name]
    hops = walk.hops[1:] if end == "first" else walk.hops[:-1]
    with pytest.raises(WalkError, match=rf"the {end} call is \S+: \S+; the {end} hop is \S+: \S+"):
        check(walk._replace(hops=hops), spans[walk.span])


@pytest.mark.parametrize("name", WALKS)
def test_a_hop_that_the_run_does_not_call_is_named(spans: Spans, name: str) -> None:
    """A function that is not on the way is not a hop."""
    walk = WALKS[name]
    hops = (*walk.hops[:3], Hop(Publisher.finish, "publishes the last status"), *walk.hops[3:])
    with pytest.raises(WalkError, match=r"hop 4: the run does not call \S+: Publisher\.finish"):
        check(walk._replace(hops=hops), spans[walk.span])


@pytest.mark.parametrize("name", WALKS)
def test_hops_in_another_order_are_found(spans: Spans, name: str) -> None:
    """The commit precedes the release of the effects of the Step."""
    walk = WALKS[name]
    named = {walks.name_of(code_of(each.function)): each for each in walk.hops}
    commit, release = named["Committer.commit"], named["Desk.release"]
    hops = tuple([{commit: release, release: commit}.get(each, each) for each in walk.hops])
    with pytest.raises(WalkError, match=r"the run does not call \S+: Writer\.recorded after the hop before it"):
        check(walk._replace(hops=hops), spans[walk.span])


@pytest.mark.parametrize("name", WALKS)
def test_a_new_call_between_rooms_is_named_with_its_caller(spans: Spans, name: str) -> None:
    """For example, a call from the table to the bus."""
    walk = WALKS[name]
    new = Call(code_of(Publisher.finish), Publisher.__module__, ("shoed.table.report", "report"), starts=True)
    with pytest.raises(WalkError, match=r"shoed\.table\.report\.report calls \S+: Publisher\.finish: add a hop"):
        check(walk, (new, *spans[walk.span]))


@pytest.mark.parametrize("name", WALKS)
def test_an_exception_that_the_run_does_not_need_is_named(spans: Spans, name: str) -> None:
    """A function in `beside` that is not called would hide a later call."""
    walk = WALKS[name]
    with pytest.raises(WalkError, match=r"the run does not call \S+: Desk\.capture: remove it"):
        check(walk._replace(beside=(*walk.beside, Desk.capture)), spans[walk.span])
