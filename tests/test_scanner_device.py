"""The device's session of a scanner, alone and together with the host's session."""

from itertools import pairwise
from random import Random

import pytest

from firmware_protocols.scanner import ScannerFailed, ScannerFailure, ScannerSettings
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.model.observations import AnyObservation, CardSeen, FaultCleared, FaultRaised
from shoed.model.step import LinkUp, Received
from shoed.session.scanner import ScannerSession
from shoed.session.scanner_device import STROKES, Scanner
from tests.angel_eye_line import at, kinds
from tests.scanner_line import UP, scan


class Host:
    """The host's session."""

    def __init__(self, settings: ScannerSettings | None = None) -> None:
        self.role = ScannerSession(settings or ScannerSettings(), allow_orders=False)
        self.state, _ = self.role.step(self.role.begin(), LinkUp("the scanner"), at(0))

    def hear(self, data: bytes, ms: float) -> list[AnyObservation]:
        self.state, heard = self.role.step(self.state, Received(data), at(ms))
        return list(heard.observations)


def sent(code: str | ScannerFailed) -> bytes:
    role = Scanner()
    return role.say(role.begin(), code)[1]


@pytest.mark.parametrize("code", ["8S", "10H", "aZ09"])
def test_a_code_is_typed_as_in_the_usb_documents(code: str) -> None:
    """Each key goes up before the next key goes down, and Enter is last."""
    assert sent(code) == scan(code)


def test_an_error_occupies_all_places_and_ends() -> None:
    """Its report is followed by a report without keys."""
    assert sent(ScannerFailed(ScannerFailure.ROLL_OVER)) == bytes.fromhex("00 00 01 01 01 01 01 01") + UP


def test_the_scanner_ignores_its_host() -> None:
    """The scanner answers nothing and has no deadline."""
    role = Scanner()
    assert role.hear(role.begin(), Chunk(b"\x02", Now(0, 0))) == (role.begin(), b"")
    assert role.wake_at(role.begin()) is None


def test_both_sessions_agree_on_every_character() -> None:
    """A code of all characters of a keyboard is received unchanged."""
    for code in ("".join(STROKES)[:60], "".join(STROKES)[60:]):
        (card,) = Host(ScannerSettings(cards={code: "8S"})).hear(sent(code), 0)
        assert isinstance(card, CardSeen)
        assert card.card is Card.S8
    assert len(STROKES) == 95


@pytest.mark.parametrize("seed", range(4))
def test_both_sessions_agree_on_every_card(seed: int) -> None:
    """The reports are cut anywhere, and errors are between two codes."""
    dice, host = Random(seed), Host()
    cards, seen = dice.choices(list(Card), k=200), list[AnyObservation]()
    for number, card in enumerate(cards):
        data = sent(str(card))
        cuts = (0, *sorted(dice.sample(range(len(data)), 3)), len(data))
        for place, (start, end) in enumerate(pairwise(cuts)):
            seen += host.hear(data[start:end], number * 1000 + place * 30)
        if dice.random() < 0.2:
            assert kinds(host.hear(sent(ScannerFailed(dice.choice(list(ScannerFailure)))), number * 1000 + 500)) == [
                FaultRaised,
                FaultCleared,
            ]
    assert [each.card for each in seen if isinstance(each, CardSeen)] == cards
    assert len(seen) == len(cards)
