"""A table with a barcode scanner: from its codes to the round, by their order and the Table of Play alone."""

from firmware_protocols.scanner import ScannerSettings
from shoed.events import RoundCompleted
from shoed.step import LinkDown, LinkUp, Woken
from tests.played import PORT, Played
from tests.scanner_line import scan, typing


def scanner() -> Played:
    return Played("scanner", ScannerSettings())


def test_two_rounds_are_dealt_and_no_card_read_twice_is_a_second_one() -> None:
    """The second card of the first round is read twice at once; the fifth card opens the next round."""
    played = scanner()
    played.hear(scan("8S"), scan("3H"))
    played.hear(scan("3H"), after_ms=120)
    played.hear(scan("JD"), scan("4C"))
    assert played.lies == "8S JD / 3H 4C"
    played.hear(scan("2C"))
    assert played.lies == "2C /"
    assert played.told.count("round.started") == 2
    assert "round.suspended" not in played.told


def test_an_unknown_code_keeps_its_place() -> None:
    """The cards behind it wait, until a person has said which card it is."""
    played = scanner()
    played.hear(scan("8S"), scan("0999"), scan("JD"), scan("4C"))
    assert played.lies == "8S /"
    played.decide("3H")
    assert played.lies == "8S JD / 3H 4C"
    assert played.told[-1] == "round.completed"


def test_a_code_that_broke_off_may_have_been_no_card() -> None:
    """It is asked after the silence; the card is read again then, and a person says that none had passed before."""
    played = scanner()
    played.hear(scan("8S"), typing("3"))
    played.take(Woken(), after_ms=150)
    assert played.told[-1] == "question.asked"
    played.hear(scan("3H"), scan("JD"), scan("4C"))
    played.decide("no-card")
    assert played.lies == "8S JD / 3H 4C"


def test_a_scanner_that_is_pulled_out_within_a_round_makes_it_partial() -> None:
    """Nothing proves that no card was missed: a person states whether the cards shown are those on the table."""
    played = scanner()
    played.hear(scan("8S"), scan("3H"))
    played.take(LinkDown("unplugged"))
    played.take(LinkUp(PORT))
    played.hear(scan("JD"))
    assert played.told[-1] == "question.asked"
    played.decide("cards-shown")
    played.hear(scan("4C"))
    assert played.lies == "8S JD / 3H 4C"
    completed = played.events[-1].data
    assert isinstance(completed, RoundCompleted)
    assert completed.integrity == "partial"
