"""The device's session of a Bee-Tek shoe, alone and together with the host's session."""

from dataclasses import replace
from random import Random
from typing import Final

import pytest

from firmware_protocols.bee_tek import (
    Alarm,
    BeeTekFace,
    BeeTekNoFace,
    BeeTekReport,
    BeeTekSettings,
    BeeTekSuit,
    BurnCard,
    Caution,
    FailedRead,
    GameCard,
)
from firmware_protocols.family import Line
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.model.observations import AnyObservation, CardSeen, CopyHeard, FaultRaised, FrameRejected, Place
from shoed.model.step import AnyInput, LinkUp, Received, Woken
from shoed.session.bee_tek import BeeTekSession
from shoed.session.bee_tek_shoe import FACES, BeeTekShoe
from tests.angel_eye_line import at

SETTINGS: Final = BeeTekSettings()
BYTE_MS: Final = Line(9600).seconds_per_byte * 1e3


class Host:
    """The host's session, which receives every byte at the time of a 9600 baud line."""

    def __init__(self) -> None:
        self.role = BeeTekSession(SETTINGS, allow_orders=False)
        self.ms = 0.0
        self.seen: list[AnyObservation] = []
        self.state, _ = self.role.step(self.role.begin(), LinkUp("the shoe"), at(0))

    def hear(self, data: bytes) -> None:
        for byte in data:
            self.take(Received(bytes((byte,))), BYTE_MS)

    def take(self, incoming: AnyInput, after_ms: float) -> None:
        self.ms += after_ms
        self.state, heard = self.role.step(self.state, incoming, at(self.ms))
        self.seen += heard.observations

    @property
    def cards(self) -> list[CardSeen]:
        return [each for each in self.seen if isinstance(each, CardSeen)]


def sent(report: BeeTekReport, settings: BeeTekSettings = SETTINGS) -> bytes:
    role = BeeTekShoe(settings)
    return role.say(role.begin(), report)[1]


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (GameCard(BeeTekFace(4, BeeTekSuit.SPADES)), b"[Game]<Card:4S>\r\n[Game]<Card:4S>\r\n"),
        (GameCard(BeeTekFace(10, BeeTekSuit.HEARTS)), b"[Game]<Card:10H>\r\n[Game]<Card:10H>\r\n"),
        (GameCard(BeeTekNoFace("1X")), b"[Game]<Card:1X>\r\n[Game]<Card:1X>\r\n"),
        (BurnCard(BeeTekFace(12, BeeTekSuit.DIAMONDS)), b"[Manual Burn Cards]<Card:QD>\r\n"),
        (FailedRead(), b"[Game]<Game>\r\n"),
        (Alarm("E3 Card Not Read", 3), b"[Game]<Alarm:E3 Card Not Read>\r\n"),
        (Caution(31), b"<W0x1F>\r\n"),
    ],
)
def test_a_report_is_the_line_of_the_protocol_page(report: BeeTekReport, line: bytes) -> None:
    """A game card is repeated, and nothing else is."""
    assert sent(report) == line


def test_some_shoes_report_a_card_once() -> None:
    """The setting `copies` is the same for both sessions."""
    assert sent(GameCard(FACES[Card.S4]), replace(SETTINGS, copies=1)) == b"[Game]<Card:4S>\r\n"


def test_the_shoe_ignores_its_host() -> None:
    """No order is known: the shoe answers nothing and has no deadline."""
    role = BeeTekShoe(SETTINGS)
    assert role.hear(role.begin(), Chunk(b"[Lock]\r\n", Now(0, 0))) == (role.begin(), b"")
    assert role.wake_at(role.begin()) is None


@pytest.mark.parametrize("card", Card)
def test_every_card_reaches_the_host_once(card: Card) -> None:
    """The card is dealt or burnt."""
    host = Host()
    host.hear(sent(GameCard(FACES[card])))
    host.hear(sent(BurnCard(FACES[card])))
    assert [(each.place, each.card) for each in host.cards] == [(Place.DEALT, card), (Place.BURN, card)]


@pytest.mark.parametrize("seed", range(4))
def test_over_a_good_line_both_sessions_agree_on_every_card(seed: int) -> None:
    """Cards, cards without a face and faults alternate at a fast dealer's speed: none is lost, repeated or rejected."""
    dice, host = Random(seed), Host()
    cards: list[Card | None] = []
    for _ in range(200):
        card = dice.choice((*Card, None))
        cards.append(card)
        host.hear(sent(GameCard(BeeTekNoFace("1X") if card is None else FACES[card])))
        if dice.random() < 0.2:
            host.hear(sent(Caution(dice.randrange(256))))
        host.ms += 250
    assert [each.card for each in host.cards] == cards
    assert {type(each) for each in host.seen} == {CardSeen, CopyHeard, FaultRaised}


def damaged(line: bytes, dice: Random) -> bytes:
    """Bytes are lost, repeated, or changed to a byte that no line contains. A changed digit cannot be detected."""
    at_byte = dice.randrange(len(line))
    return line[:at_byte] + dice.choice((b"", line[at_byte : at_byte + 1] * 2, b"\xff")) + line[at_byte + 1 :]


@pytest.mark.parametrize("seed", range(20))
def test_over_a_bad_line_no_card_is_added_and_every_loss_is_on_record(seed: int) -> None:
    """The host has the card, a card without a face, or rejected bytes."""
    dice, host = Random(seed), Host()
    for _ in range(100):
        card, before = dice.choice(list(Card)), len(host.seen)
        line = sent(GameCard(FACES[card]), replace(SETTINGS, copies=1))
        host.hear(damaged(line, dice) if dice.random() < 0.5 else line)
        host.take(Woken(), after_ms=1000)
        seen = [each.card for each in host.seen[before:] if isinstance(each, CardSeen)]
        rejected = any(isinstance(each, FrameRejected) for each in host.seen[before:])
        assert seen in ([card], [None]) or (seen == [] and rejected)
