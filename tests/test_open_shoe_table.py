"""A table with an Open Shoe: from its frames to the round, by the Table of Play or by the hands that the shoe names."""

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import (
    Empty,
    FaultChanged,
    Loaded,
    Lock,
    OpenShoeCard,
    OpenShoeCutCard,
    OpenShoeFace,
    OpenShoePassage,
    OpenShoePlace,
    OpenShoeSuit,
    ReportBody,
)
from shoed.engine import Engine
from shoed.model.step import AnyInput, Configured, LinkDown, LinkUp, Received
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from tests.open_shoe_line import PORT, Clock, Device

SUITS = {suit.name[0]: suit for suit in OpenShoeSuit}
RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
NATURAL = "8S 3H JD 4C"
HANDS = (OpenShoePlace.PLAYER, OpenShoePlace.BANKER)


def card(
    text: str,
    place: OpenShoePlace = OpenShoePlace.DEALT,
    position: int = 0,
    odd: OpenShoePassage = OpenShoePassage.CLEAN,
) -> OpenShoeCard:
    """`8S`, or `?` for a card that was not read."""
    face = None if text == "?" else OpenShoeFace(SUITS[text[-1]], RANKS.index(text[:-1]) + 1)
    return OpenShoeCard(face, place, position, 100_000, odd)


class Played:
    """One report each second; each frame arrives immediately."""

    def __init__(self, version: int = 1) -> None:
        session = DRIVERS["open-shoe"].session(OpenShoeSettings(), allow_orders=False)
        self.engine: Engine[SessionState] = Engine(session, WatchSettings(250), TableSettings("commission", PORT))
        self.state = self.engine.begin()
        self.clock = Clock()
        self.device = Device(self.clock, version=version)
        self.events: list[str] = []
        self.take(Configured("{}", 3, "1"))
        self.take(LinkUp(PORT))

    def take(self, incoming: AnyInput) -> None:
        self.state, step = self.engine.step(self.state, incoming, self.clock.now)
        if step is not None:
            self.events += [event.type for event in step.events]
            for sent in step.sends:
                if answer := self.device.hear(sent.data):
                    self.take(Received(answer))

    def say(self, *bodies: ReportBody, after_ms: float = 1000) -> None:
        for each in bodies:
            self.clock.ms += after_ms
            self.take(Received(self.device.say(each)))

    def deal(self, texts: str) -> None:
        self.say(*map(card, texts.split()))

    def keep(self, *bodies: ReportBody) -> None:
        """Make reports while the cable is out."""
        for each in bodies:
            self.clock.ms += 1000
            self.device.say(each)

    @property
    def lies(self) -> str:
        hands = public_state("commission", self.state.table).hands
        return " / ".join(" ".join(map(str, hand.cards)) for hand in (hands.player, hands.banker)).strip()


@pytest.mark.parametrize("version", [1, 2])
def test_a_round_is_dealt_by_the_table_of_play(version: int) -> None:
    """The shoe does not name the hands; the fifth card opens the next round."""
    played = Played(version)
    played.say(Loaded("No7"))
    played.deal(NATURAL)
    assert played.lies == "8S JD / 3H 4C"
    assert played.events[-1] == "round.completed"
    played.deal("2C")
    assert played.lies == "2C /"
    assert not {"round.suspended", "card.set-aside", "line.missed"} & set(played.events)
    assert played.device.state.store.kept == ()


def test_a_shoe_may_name_the_hands() -> None:
    """The hands are compared with the due hands."""
    played = Played()
    slots = [(HANDS[at % 2], at // 2 + 1) for at in range(4)]
    played.say(*(card(text, *slot) for text, slot in zip(NATURAL.split(), slots, strict=True)))
    assert played.lies == "8S JD / 3H 4C"
    assert played.events[-1] == "round.completed"


def test_a_pulled_cable_within_a_hand_does_no_harm() -> None:
    """The cards arrive later at the same time; their edges show that they were not drawn together."""
    played = Played()
    played.deal("8S 3H")
    played.take(LinkDown("pulled"))
    played.keep(card("JD"), card("4C"))
    played.take(LinkUp(PORT))
    assert played.lies == "8S JD / 3H 4C"
    assert played.events[-1] == "round.completed"
    assert not {"round.suspended", "irregularity.noticed"} & set(played.events)


def test_a_device_that_lost_its_memory_makes_the_hand_doubtful() -> None:
    """The next card may follow a missed card: it is not dealt to a hand before a person decides."""
    played = Played()
    played.deal("8S 3H")
    played.take(LinkDown("pulled"))
    played.device.lose_power(0xB)
    played.take(LinkUp(PORT))
    assert played.state.table.record.continuity.partial
    played.deal("JD")
    assert played.events[-2:] == ["round.suspended", "question.asked"]
    assert played.lies == "8S / 3H"


def test_a_card_as_thick_as_two_is_noticed() -> None:
    """The shoe reports it, and the table notices the irregularity."""
    played = Played()
    played.say(card("8S"), card("3H", odd=OpenShoePassage.DOUBLE))
    assert "irregularity.noticed" in played.events


def test_the_lock_and_the_faults_are_published() -> None:
    """The events are those of any device."""
    played = Played()
    played.say(
        Lock(locked=True),
        Lock(locked=False),
        FaultChanged(4, raised=True, blocking=True),
        FaultChanged(4, raised=False, blocking=True),
    )
    assert played.events[-4:] == ["device.locked", "device.unlocked", "device.fault", "device.cleared"]


def test_a_shoe_ends_and_another_begins() -> None:
    """The cut card, the last card, a new set."""
    played = Played()
    played.say(Loaded("No7"))
    played.deal(NATURAL)
    played.say(OpenShoeCutCard(), Empty(), Loaded("No8"))
    assert [each for each in played.events if each.startswith("shoe.")] == [
        "shoe.started",
        "shoe.cut",
        "shoe.emptied",
        "shoe.started",
    ]
