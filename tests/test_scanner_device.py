"""The scanner's session in the device's role, alone and face to face with the host's."""

from itertools import pairwise
from random import Random

import pytest

from firmware_protocols.scanner import Failed, Failure, ScannerSettings
from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.observations import AnyObservation, CardSeen, FaultCleared, FaultRaised
from shoed.session.scanner import ScannerSession
from shoed.session.scanner_device import STROKES, Scanner
from shoed.step import LinkUp, Received
from tests.angel_eye_line import at, kinds
from tests.scanner_line import UP, scan


class Host:
    """The other role."""

    def __init__(self, settings: ScannerSettings | None = None) -> None:
        self.role = ScannerSession(settings or ScannerSettings(), allow_orders=False)
        self.state, _ = self.role.step(self.role.begin(), LinkUp("the scanner"), at(0))

    def hear(self, data: bytes, ms: float) -> list[AnyObservation]:
        self.state, heard = self.role.step(self.state, Received(data), at(ms))
        return list(heard.observations)


def said(what: str | Failed) -> bytes:
    role = Scanner()
    return role.say(role.begin(), what)[1]


@pytest.mark.parametrize("code", ["8S", "10H", "aZ09"])
def test_a_code_is_typed_as_the_usb_documents_have_it(code: str) -> None:
    """Key by key, each let go of before the next, and Enter."""
    assert said(code) == scan(code)


def test_an_error_takes_all_places_and_ends() -> None:
    """Its report, and one without any key."""
    assert said(Failed(Failure.ROLL_OVER)) == bytes.fromhex("00 00 01 01 01 01 01 01") + UP


def test_the_scanner_heeds_nothing() -> None:
    """There is no answer to anything, and nothing to wait for."""
    role = Scanner()
    assert role.hear(role.begin(), Chunk(b"\x02", Now(0, 0))) == (role.begin(), b"")
    assert role.wake_at(role.begin()) is None


def test_both_ends_agree_on_every_character() -> None:
    """A code of all that a keyboard writes comes out as it went in."""
    for code in ("".join(STROKES)[:60], "".join(STROKES)[60:]):
        (card,) = Host(ScannerSettings(cards={code: "8S"})).hear(said(code), 0)
        assert isinstance(card, CardSeen)
        assert card.card is Card.S8
    assert len(STROKES) == 95


@pytest.mark.parametrize("seed", range(4))
def test_both_ends_agree_on_every_card(seed: int) -> None:
    """However the reports are cut, and with errors between two codes."""
    dice, host = Random(seed), Host()
    cards, seen = dice.choices(list(Card), k=200), list[AnyObservation]()
    for number, card in enumerate(cards):
        data = said(str(card))
        cuts = (0, *sorted(dice.sample(range(len(data)), 3)), len(data))
        for place, (start, end) in enumerate(pairwise(cuts)):
            seen += host.hear(data[start:end], number * 1000 + place * 30)
        if dice.random() < 0.2:
            assert kinds(host.hear(said(Failed(dice.choice(list(Failure)))), number * 1000 + 500)) == [
                FaultRaised,
                FaultCleared,
            ]
    assert [each.card for each in seen if isinstance(each, CardSeen)] == cards
    assert len(seen) == len(cards)
