"""A table with a barcode scanner: the order of the codes and the Table of Play alone give the round."""

from firmware_protocols.scanner import ScannerSettings
from shoed.model.events import RoundCompleted
from shoed.model.step import LinkDown, LinkUp, Woken
from tests.played import PORT, Played
from tests.scanner_line import scan, typing


def scanner() -> Played:
    return Played("scanner", ScannerSettings())


def test_a_card_that_is_read_twice_is_not_a_second_card() -> None:
    """The second card of the first round is read twice in a short time; the fifth card opens the next round."""
    played = scanner()
    played.hear(scan("8S"), scan("3H"))
    played.hear(scan("3H"), after_ms=120)
    played.hear(scan("JD"), scan("4C"))
    assert played.hands == "8S JD / 3H 4C"
    played.hear(scan("2C"))
    assert played.hands == "2C /"
    assert played.event_types.count("round.started") == 2
    assert "round.suspended" not in played.event_types


def test_an_unknown_code_keeps_its_slot() -> None:
    """The later cards wait until a person has named the card."""
    played = scanner()
    played.hear(scan("8S"), scan("0999"), scan("JD"), scan("4C"))
    assert played.hands == "8S /"
    played.decide("3H")
    assert played.hands == "8S JD / 3H 4C"
    assert played.event_types[-1] == "round.completed"


def test_an_incomplete_code_may_not_be_a_card() -> None:
    """After the silence the table asks a question. The card is read again; a person answers that none passed before."""
    played = scanner()
    played.hear(scan("8S"), typing("3"))
    played.take(Woken(), after_ms=150)
    assert played.event_types[-1] == "question.asked"
    played.hear(scan("3H"), scan("JD"), scan("4C"))
    played.decide("no-card")
    assert played.hands == "8S JD / 3H 4C"


def test_a_scanner_that_is_disconnected_within_a_round_makes_it_partial() -> None:
    """Nothing proves that no card was missed: a person states whether the displayed cards are those on the table."""
    played = scanner()
    played.hear(scan("8S"), scan("3H"))
    played.take(LinkDown("unplugged"))
    played.take(LinkUp(PORT))
    played.hear(scan("JD"))
    assert played.event_types[-1] == "question.asked"
    played.decide("cards-shown")
    played.hear(scan("4C"))
    assert played.hands == "8S JD / 3H 4C"
    completed = played.events[-1].data
    assert isinstance(completed, RoundCompleted)
    assert completed.integrity == "partial"
