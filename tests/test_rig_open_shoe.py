"""A virtual Open Shoe and its host, in virtual time: each card once, whatever the cable does."""

import re
from collections import Counter
from typing import Final, TypeGuard

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import Empty, Role
from shoed import VERSION
from shoed.cards import Card
from shoed.errors import SettingsError
from shoed.now import Chunk, Now
from shoed.observations import (
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
    SetDelivered,
    ShoeEmptied,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.rig.device import Happening, Pulled, happenings
from shoed.rig.open_shoe import OpenShoeDevice
from shoed.rig.scenario import of
from shoed.session.open_shoe import OpenShoeSession
from shoed.settings import parse
from shoed.step import AnyInput, LinkDown, LinkUp, Received, Woken

STREAM: Final = 0xA1B2C3D4
SETTLED_S: Final = 20.0


class Line:
    """Both ends, each woken when it wants to be; a byte takes no time."""

    def __init__(self, settings: OpenShoeSettings, version: int) -> None:
        self.device = OpenShoeDevice(settings, STREAM, version=version)
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
        self.said(self.device.opened(self.now))

    def pull(self) -> None:
        self.open = False
        self.host(LinkDown("gone"))

    def host(self, came: AnyInput) -> None:
        self.state, heard = self.session.step(self.state, came, self.now)
        self.seen += heard.observations
        for sent in heard.sends:
            if self.open:
                self.said(self.device.hear(Chunk(sent, self.now)))

    def said(self, data: bytes) -> None:
        if self.open and data:
            self.host(Received(data))

    def until(self, at_ns: int) -> None:
        while (due := self.next_waking()) is not None and due <= at_ns:
            self.at_ns = max(self.at_ns, due)
            if (wanted := self.session.wake_at(self.state)) is not None and wanted <= self.at_ns:
                self.host(Woken())
            if self.device.wake_at() is not None:
                self.said(self.device.hear(Chunk(b"", self.now)))
        self.at_ns = at_ns

    def next_waking(self) -> int | None:
        moments = (self.session.wake_at(self.state), self.device.wake_at())
        return min((moment for moment in moments if moment is not None), default=None)

    def happen(self, happening: Happening) -> int | None:
        """When the cable is to be back."""
        if isinstance(happening, Pulled):
            self.pull()
            return self.at_ns + int(happening.out_s * 1e9)
        self.said(self.device.say(happening.report, self.now))
        return None


def play(*written: str, role: Role = Role.SHOE, version: int = 1) -> list[AnyObservation]:
    settings = OpenShoeSettings(role=role)
    text = "".join(f"[[step]]\n{each}\n" for each in written)
    steps = of(parse("one.toml", text.encode()), OpenShoeDevice(settings, STREAM, version=version))
    line, back_ns = Line(settings, version), None
    line.plug()
    due_ns = 0
    for happening in happenings(line.device, steps):
        due_ns += int(happening.pause_s * 1e9)
        if back_ns is not None and back_ns <= due_ns:
            line.until(back_ns)
            line.plug()
            back_ns = None
        line.until(due_ns)
        back_ns = line.happen(happening) or back_ns
    line.until(max(due_ns, back_ns or 0))
    if back_ns is not None:
        line.plug()
    line.until(line.at_ns + int(SETTLED_S * 1e9))
    return line.seen


def cards(seen: list[AnyObservation]) -> list[str]:
    return [f"{each.place.value} {each.card}" for each in seen if isinstance(each, CardSeen)]


def test_what_happens_while_the_cable_is_out_is_told_when_it_is_back() -> None:
    """Each card once, in its order, and nothing was missed."""
    seen = play('deal = ["8S"]', "pull_ms = 3000", 'deal = ["4D", "QH"]', 'deal = ["2C"]\nafter_ms = 9000')
    assert cards(seen) == ["dealt 8S", "dealt 4D", "dealt QH", "dealt 2C"]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [True]


def test_two_cards_of_one_draw_are_in_the_window_at_once() -> None:
    """The second's leading edge comes before the first one's trailing edge."""
    one, other = (each for each in play('together = ["8S", "4D"]') if isinstance(each, CardSeen))
    assert one.edges is not None
    assert other.edges is not None
    assert other.edges.leading_us < one.edges.trailing_us


def test_a_shoe_tells_all_that_happens_to_it() -> None:
    """Sets, faults, the cutting card, and where its cards went."""
    seen = play(
        *('load = "set-7"', 'burn = ["2C"]', 'fault = "jam"', 'deal = ["3C"]', 'clear = "jam"', "lock = true"),
        *('deal = ["4C"]', "unlock = true", "cut = true", "run_out = true"),
    )
    assert cards(seen) == [f"{Place.BURN.value} 2C", f"{Place.ERROR.value} 3C", f"{Place.LOCKED.value} 4C"]
    assert [each.set_id for each in seen if isinstance(each, ShoeLoaded)] == ["set-7"]
    assert [each.name for each in seen if isinstance(each, FaultRaised | FaultCleared)] == ["jam", "jam"]
    assert [type(each) for each in seen if isinstance(each, CutCardSeen | ShoeEmptied)] == [CutCardSeen, ShoeEmptied]


def test_a_shuffler_may_lie_about_the_count() -> None:
    """A card less of one face, one more of another."""
    (told,) = (
        each
        for each in play('deliver = "set-7"\nmissing = ["AS"]\nextra = ["KD"]', role=Role.SHUFFLER)
        if isinstance(each, SetDelivered)
    )
    assert told.set_id == "set-7"
    assert told.counts is not None
    counts = dict(told.counts)
    assert (counts[Card.SA], counts[Card.DK], counts[Card.H2]) == (7, 9, 8)


def test_version_2_tells_how_well_a_card_was_read() -> None:
    """Version 1 has no word for it."""
    told = [
        each.quality
        for version in (1, 2)
        for each in play('deal = ["8S"]', version=version)
        if isinstance(each, CardSeen)
    ]
    assert told == [None, 100]


def test_a_shuffler_of_version_2_tells_the_order_of_its_set() -> None:
    """All that it counted, the first cards as they are written, and the same order each time."""
    first, missing = ["8S", "4D", "QH"], ["AS"]
    written = f'deliver = "set-7"\nfirst = {first}\nmissing = {missing}'
    one, same = (
        each
        for _ in range(2)
        for each in play(written, role=Role.SHUFFLER, version=2)
        if isinstance(each, SetDelivered)
    )
    assert [str(card) for card in one.order[:3]] == first
    assert one.order == same.order
    assert one.counts == Counter(one.order)
    assert len(one.order) == 415


@pytest.mark.parametrize(
    ("version", "first", "refusal"),
    [
        (1, ["8S"], "of version 1 tells no order; leave first out, or give --firmware 2"),
        (2, ["8S"] * 9, "more of a card lie first than are in the set; write fewer of it, or more decks"),
    ],
)
def test_an_order_that_cannot_be_told_is_refused(version: int, first: list[str], refusal: str) -> None:
    """Before anything happens."""
    with pytest.raises(SettingsError, match=re.escape(refusal)):
        play(f'deliver = ""\nfirst = {first}', role=Role.SHUFFLER, version=version)


@pytest.mark.parametrize("role", Role)
def test_a_virtual_device_says_what_it_is(role: Role) -> None:
    """In the HELLO of each version."""
    for version in (1, 2, 3):
        who = next(each for each in play("pull_ms = 0", role=role, version=version) if isinstance(each, Identified))
        assert (who.vendor, who.model, who.serial, who.firmware) == ("shoed", "virtual", f"{role.value}-1", VERSION)
        assert who.protocol == str(version)
        assert (who.capabilities is not None) is (version == 3)


ABLE: Final = {
    Role.SHOE: {Capability.PASSAGE, Capability.LOCK, Capability.CLEAR, Capability.QUALITY},
    Role.SHUFFLER: {Capability.CLEAR, Capability.ORDER},
}


@pytest.mark.parametrize("role", Role)
def test_a_virtual_device_of_version_3_states_what_it_can_do(role: Role) -> None:
    """Which is what it does in a scenario."""
    who = next(each for each in play("pull_ms = 0", role=role, version=3) if isinstance(each, Identified))
    assert set(who.capabilities or ()) == ABLE[role]


def test_a_virtual_shoe_of_version_3_says_its_state() -> None:
    """When the line opens, and again after the cable was out."""
    seen = play('load = "set-7"', 'fault = "jam"', "lock = true", "pull_ms = 3000", 'deal = ["8S"]', version=3)
    first, second = (each for each in seen if isinstance(each, DeviceStatus))
    assert (first.locked, first.set_id, first.faults) == (False, "", ())
    assert (second.locked, second.set_id, [each.name for each in second.faults]) == (True, "set-7", ["jam"])


def test_the_clock_of_a_virtual_shoe_of_version_3_begins_with_its_power() -> None:
    """The first thing that happens to it."""
    device, at = OpenShoeDevice(OpenShoeSettings(), STREAM, version=3), Now(0, 5_000_000_000)
    device.opened(at)
    device.opened(at)
    assert (device.state.began_us, device.state.clock_us) == (5_000_000, 0)
    boots = {OpenShoeDevice(OpenShoeSettings(), STREAM, version=3) for _ in range(8)}
    for each in boots:
        each.say(Empty(), at)
    assert len({each.state.store.boot for each in boots}) > 1


def test_a_virtual_shuffler_of_version_3_names_its_set() -> None:
    """Earlier versions cannot."""
    names = [
        [each.set_id for each in play('deliver = "set-7"', role=Role.SHUFFLER, version=version) if shuffles(each)]
        for version in (2, 3)
    ]
    assert names == [["", ""], ["set-7", "set-7"]]


def shuffles(seen: AnyObservation) -> TypeGuard[ShuffleStarted | ShuffleEnded]:
    return isinstance(seen, ShuffleStarted | ShuffleEnded)
