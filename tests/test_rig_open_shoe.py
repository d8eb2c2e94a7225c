"""A virtual Open Shoe and its host, in virtual time: each card arrives once, also after cable faults."""

import re
from collections import Counter
from typing import Final, TypeGuard

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import Empty, OpenShoeRole
from shoed import VERSION
from shoed.errors import SettingsError
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.model.observations import (
    AnyObservation,
    Capability,
    CardSeen,
    CutCardSeen,
    DeviceStatus,
    FaultCleared,
    FaultRaised,
    Identified,
    Place,
    Resumed,
    SetDeliverySeen,
    ShoeEmptySeen,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.model.step import AnyInput, LinkDown, LinkUp, Received, Woken
from shoed.rig.device import DeviceOutput, Pulled, TimelineEntry, timeline
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.scenario import of
from shoed.session.open_shoe import OpenShoeSession
from shoed.settings import parse

STREAM: Final = 0xA1B2C3D4
SETTLED_S: Final = 20.0


class Line:
    """Both ends, each with its timer; a byte arrives immediately."""

    def __init__(self, settings: OpenShoeSettings, version: int) -> None:
        self.device = VirtualOpenShoe(settings, STREAM, version=version)
        self.session = OpenShoeSession(settings, allow_orders=False)
        self.state = self.session.begin()
        self.seen: list[AnyObservation] = []
        self.at_ns = 0
        self.open = False

    @property
    def now(self) -> Now:
        return Now(self.at_ns // 1000, self.at_ns)

    def plug(self) -> None:
        self.open = True
        self.host(LinkUp("rig"))
        self.carry(self.device.opened(self.now))

    def pull(self) -> None:
        self.open = False
        self.host(LinkDown("gone"))

    def host(self, incoming: AnyInput) -> None:
        self.state, heard = self.session.step(self.state, incoming, self.now)
        self.seen += heard.observations
        for sent in heard.sends:
            if self.open:
                self.carry(self.device.hear(Chunk(sent, self.now)))

    def carry(self, data: bytes) -> None:
        if self.open and data:
            self.host(Received(data))

    def run_until(self, at_ns: int) -> None:
        while (due := self.next_waking()) is not None and due <= at_ns:
            self.at_ns = max(self.at_ns, due)
            if (wanted := self.session.wake_at(self.state)) is not None and wanted <= self.at_ns:
                self.host(Woken())
            if self.device.wake_at() is not None:
                self.carry(self.device.hear(Chunk(b"", self.now)))
        self.at_ns = at_ns

    def next_waking(self) -> int | None:
        moments = (self.session.wake_at(self.state), self.device.wake_at())
        return min((moment for moment in moments if moment is not None), default=None)

    def happen(self, happening: TimelineEntry) -> int | None:
        """Apply one entry. Return the moment at which a pulled cable is connected again."""
        if isinstance(happening, Pulled):
            self.pull()
            return self.at_ns + int(happening.out_s * 1e9)
        if isinstance(happening, DeviceOutput):
            self.carry(self.device.say(happening.report, self.now))
        return None


def play(*written: str, role: OpenShoeRole = OpenShoeRole.SHOE, version: int = 1) -> list[AnyObservation]:
    settings = OpenShoeSettings(role=role)
    text = "".join(f"[[step]]\n{each}\n" for each in written)
    steps = of(parse("one.toml", text.encode()), VirtualOpenShoe(settings, STREAM, version=version))
    line, back_ns = Line(settings, version), None
    line.plug()
    due_ns = 0
    for happening in timeline(line.device, steps):
        due_ns += int(happening.pause_s * 1e9)
        if back_ns is not None and back_ns <= due_ns:
            line.run_until(back_ns)
            line.plug()
            back_ns = None
        line.run_until(due_ns)
        back_ns = line.happen(happening) or back_ns
    line.run_until(max(due_ns, back_ns or 0))
    if back_ns is not None:
        line.plug()
    line.run_until(line.at_ns + int(SETTLED_S * 1e9))
    return line.seen


def cards(seen: list[AnyObservation]) -> list[str]:
    return [f"{each.place.value} {each.card}" for each in seen if isinstance(each, CardSeen)]


def test_actions_during_a_pulled_cable_are_reported_later() -> None:
    """Each card arrives once and in order, and no report is missing."""
    seen = play('deal = ["8S"]', "pull_ms = 3000", 'deal = ["4D", "QH"]', 'deal = ["2C"]\nafter_ms = 9000')
    assert cards(seen) == ["dealt 8S", "dealt 4D", "dealt QH", "dealt 2C"]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [True]


def test_two_cards_of_one_draw_are_in_the_window_at_once() -> None:
    """The leading edge of the second card passes before the trailing edge of the first card."""
    one, other = (each for each in play('together = ["8S", "4D"]') if isinstance(each, CardSeen))
    assert one.edges is not None
    assert other.edges is not None
    assert other.edges.leading_us < one.edges.trailing_us


def test_a_shoe_reports_all_actions() -> None:
    """Sets, faults, the cut card, and the places of its cards."""
    seen = play(
        *('load = "set-7"', 'burn = ["2C"]', 'fault = "jam"', 'deal = ["3C"]', 'clear = "jam"', "lock = true"),
        *('deal = ["4C"]', "unlock = true", "cut = true", "run_out = true"),
    )
    assert cards(seen) == [f"{Place.BURN.value} 2C", f"{Place.ERROR.value} 3C", f"{Place.LOCKED.value} 4C"]
    assert [each.set_id for each in seen if isinstance(each, ShoeLoaded)] == ["set-7"]
    assert [each.name for each in seen if isinstance(each, FaultRaised | FaultCleared)] == ["jam", "jam"]
    assert [type(each) for each in seen if isinstance(each, CutCardSeen | ShoeEmptySeen)] == [
        CutCardSeen,
        ShoeEmptySeen,
    ]


def test_the_count_of_a_shuffler_may_be_wrong() -> None:
    """One card fewer of one face, one more of another."""
    (delivered,) = (
        each
        for each in play('deliver = "set-7"\nmissing = ["AS"]\nextra = ["KD"]', role=OpenShoeRole.SHUFFLER)
        if isinstance(each, SetDeliverySeen)
    )
    assert delivered.set_id == "set-7"
    assert delivered.counts is not None
    counts = dict(delivered.counts)
    assert (counts[Card.SA], counts[Card.DK], counts[Card.H2]) == (7, 9, 8)


def test_version_2_reports_how_well_a_card_was_read() -> None:
    """Version 1 has no field for the quality of the reading."""
    qualities = [
        each.quality
        for version in (1, 2)
        for each in play('deal = ["8S"]', version=version)
        if isinstance(each, CardSeen)
    ]
    assert qualities == [None, 100]


def test_a_shuffler_of_version_2_reports_the_order_of_its_set() -> None:
    """The order has all counted cards, with the first cards of the scenario, and is the same in each run."""
    first, missing = ["8S", "4D", "QH"], ["AS"]
    written = f'deliver = "set-7"\nfirst = {first}\nmissing = {missing}'
    one, same = (
        each
        for _ in range(2)
        for each in play(written, role=OpenShoeRole.SHUFFLER, version=2)
        if isinstance(each, SetDeliverySeen)
    )
    assert [str(card) for card in one.order[:3]] == first
    assert one.order == same.order
    assert one.counts == Counter(one.order)
    assert len(one.order) == 415


@pytest.mark.parametrize(
    ("version", "first", "refusal"),
    [
        (1, ["8S"], "of version 1 reports no order; omit first, or use --firmware 2"),
        (2, ["8S"] * 9, "first has more of a card than the set; write fewer of this card, or more decks"),
    ],
)
def test_an_impossible_order_is_refused(version: int, first: list[str], refusal: str) -> None:
    """The scenario is refused before its first action."""
    with pytest.raises(SettingsError, match=re.escape(refusal)):
        play(f'deliver = ""\nfirst = {first}', role=OpenShoeRole.SHUFFLER, version=version)


@pytest.mark.parametrize("role", OpenShoeRole)
def test_a_virtual_device_identifies_itself(role: OpenShoeRole) -> None:
    """HELLO of each version has its names."""
    for version in (1, 2, 3):
        who = next(each for each in play("pull_ms = 0", role=role, version=version) if isinstance(each, Identified))
        assert (who.vendor, who.model, who.serial, who.firmware) == ("shoed", "virtual", f"{role.value}-1", VERSION)
        assert who.protocol == str(version)
        assert (who.capabilities is not None) is (version == 3)


ABLE: Final = {
    OpenShoeRole.SHOE: {Capability.PASSAGE, Capability.LOCK, Capability.CLEAR, Capability.QUALITY},
    OpenShoeRole.SHUFFLER: {Capability.CLEAR, Capability.ORDER},
}


@pytest.mark.parametrize("role", OpenShoeRole)
def test_a_virtual_device_of_version_3_states_its_capabilities(role: OpenShoeRole) -> None:
    """A scenario can use a device with these capabilities."""
    who = next(each for each in play("pull_ms = 0", role=role, version=3) if isinstance(each, Identified))
    assert set(who.capabilities or ()) == ABLE[role]


def test_a_virtual_shoe_of_version_3_reports_its_state() -> None:
    """The shoe sends STATUS when the line opens, and after the cable was pulled."""
    seen = play('load = "set-7"', 'fault = "jam"', "lock = true", "pull_ms = 3000", 'deal = ["8S"]', version=3)
    first, second = (each for each in seen if isinstance(each, DeviceStatus))
    assert (first.locked, first.set_id, first.faults) == (False, "", ())
    assert (second.locked, second.set_id, [each.name for each in second.faults]) == (True, "set-7", ["jam"])


def test_the_clock_of_a_virtual_shoe_of_version_3_begins_with_its_power() -> None:
    """Its power-up precedes its first input."""
    device, at = VirtualOpenShoe(OpenShoeSettings(), STREAM, version=3), Now(0, 5_000_000_000)
    device.opened(at)
    device.opened(at)
    assert (device.state.began_us, device.state.clock_us) == (5_000_000, 0)
    boots = {VirtualOpenShoe(OpenShoeSettings(), STREAM, version=3) for _ in range(8)}
    for each in boots:
        each.say(Empty(), at)
    assert len({each.state.store.boot for each in boots}) > 1


def test_a_virtual_shuffler_of_version_3_names_its_set() -> None:
    """Earlier versions have no field for the id of a set."""
    names = [
        [
            each.set_id
            for each in play('deliver = "set-7"', role=OpenShoeRole.SHUFFLER, version=version)
            if shuffles(each)
        ]
        for version in (2, 3)
    ]
    assert names == [["", ""], ["set-7", "set-7"]]


def shuffles(seen: AnyObservation) -> TypeGuard[ShuffleStarted | ShuffleEnded]:
    return isinstance(seen, ShuffleStarted | ShuffleEnded)
