"""The Bee-Tek session in the device's role, alone and face to face with the host's."""

from dataclasses import replace
from random import Random
from typing import Final

import pytest

from firmware_protocols.bee_tek import (
    Alarm,
    BeeTekSettings,
    BurnCard,
    Caution,
    Face,
    FailedRead,
    GameCard,
    NoFace,
    Report,
    Suit,
)
from firmware_protocols.family import Line
from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.observations import AnyObservation, CardSeen, CopyHeard, FaultRaised, FrameRejected, Place
from shoed.session.bee_tek import BeeTekSession
from shoed.session.bee_tek_shoe import FACES, BeeTekShoe
from shoed.step import AnyInput, LinkUp, Received, Woken
from tests.angel_eye_line import at

SETTINGS: Final = BeeTekSettings()
BYTE_MS: Final = Line(9600).seconds_per_byte * 1e3


class Host:
    """The other role, which hears every byte when a 9600 baud line has carried it."""

    def __init__(self) -> None:
        self.role = BeeTekSession(SETTINGS, allow_orders=False)
        self.ms = 0.0
        self.seen: list[AnyObservation] = []
        self.state, _ = self.role.step(self.role.begin(), LinkUp("the shoe"), at(0))

    def hear(self, data: bytes) -> None:
        for byte in data:
            self.take(Received(bytes((byte,))), BYTE_MS)

    def take(self, came: AnyInput, after_ms: float) -> None:
        self.ms += after_ms
        self.state, heard = self.role.step(self.state, came, at(self.ms))
        self.seen += heard.observations

    @property
    def cards(self) -> list[CardSeen]:
        return [each for each in self.seen if isinstance(each, CardSeen)]


def said(report: Report, settings: BeeTekSettings = SETTINGS) -> bytes:
    role = BeeTekShoe(settings)
    return role.say(role.begin(), report)[1]


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (GameCard(Face(4, Suit.SPADES)), b"[Game]<Card:4S>\r\n[Game]<Card:4S>\r\n"),
        (GameCard(Face(10, Suit.HEARTS)), b"[Game]<Card:10H>\r\n[Game]<Card:10H>\r\n"),
        (GameCard(NoFace("1X")), b"[Game]<Card:1X>\r\n[Game]<Card:1X>\r\n"),
        (BurnCard(Face(12, Suit.DIAMONDS)), b"[Manual Burn Cards]<Card:QD>\r\n"),
        (FailedRead(), b"[Game]<Game>\r\n"),
        (Alarm("E3 Card Not Read", 3), b"[Game]<Alarm:E3 Card Not Read>\r\n"),
        (Caution(31), b"<W0x1F>\r\n"),
    ],
)
def test_a_report_is_the_line_of_the_page(report: Report, line: bytes) -> None:
    """A card in the game is told again, and nothing else is."""
    assert said(report) == line


def test_some_shoes_tell_a_card_once() -> None:
    """The setting `copies` says so for both ends."""
    assert said(GameCard(FACES[Card.S4]), replace(SETTINGS, copies=1)) == b"[Game]<Card:4S>\r\n"


def test_the_shoe_heeds_nothing() -> None:
    """No order is known: there is no answer to anything, and nothing to wait for."""
    role = BeeTekShoe(SETTINGS)
    assert role.hear(role.begin(), Chunk(b"[Lock]\r\n", Now(0, 0))) == (role.begin(), b"")
    assert role.wake_at(role.begin()) is None


@pytest.mark.parametrize("card", Card)
def test_every_card_reaches_the_host_once(card: Card) -> None:
    """Whether it is dealt or burnt."""
    host = Host()
    host.hear(said(GameCard(FACES[card])))
    host.hear(said(BurnCard(FACES[card])))
    assert [(each.place, each.card) for each in host.cards] == [(Place.DEALT, card), (Place.BURN, card)]


@pytest.mark.parametrize("seed", range(4))
def test_over_a_good_line_both_ends_agree_on_every_card(seed: int) -> None:
    """Cards, cards without a face and faults in turn, as fast as anybody draws: none lost, doubled or rejected."""
    dice, host = Random(seed), Host()
    cards: list[Card | None] = []
    for _ in range(200):
        card = dice.choice((*Card, None))
        cards.append(card)
        host.hear(said(GameCard(NoFace("1X") if card is None else FACES[card])))
        if dice.random() < 0.2:
            host.hear(said(Caution(dice.randrange(256))))
        host.ms += 250
    assert [each.card for each in host.cards] == cards
    assert {type(each) for each in host.seen} == {CardSeen, CopyHeard, FaultRaised}


def damaged(line: bytes, dice: Random) -> bytes:
    """Bytes are lost, doubled, or turned into what no line holds; a digit made another digit is beyond anybody."""
    at_byte = dice.randrange(len(line))
    return line[:at_byte] + dice.choice((b"", line[at_byte : at_byte + 1] * 2, b"\xff")) + line[at_byte + 1 :]


@pytest.mark.parametrize("seed", range(20))
def test_over_a_bad_line_no_card_is_made_and_no_loss_unnoticed(seed: int) -> None:
    """What the host has of each card is the card, or one without its face, or rejected bytes."""
    dice, host = Random(seed), Host()
    for _ in range(100):
        card, before = dice.choice(list(Card)), len(host.seen)
        line = said(GameCard(FACES[card]), replace(SETTINGS, copies=1))
        host.hear(damaged(line, dice) if dice.random() < 0.5 else line)
        host.take(Woken(), after_ms=1000)
        seen = [each.card for each in host.seen[before:] if isinstance(each, CardSeen)]
        rejected = any(isinstance(each, FrameRejected) for each in host.seen[before:])
        assert seen in ([card], [None]) or (seen == [] and rejected)
