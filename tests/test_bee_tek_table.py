"""A table with a Bee-Tek shoe: the order of the lines and the Table of Play alone give the round."""

from firmware_protocols.bee_tek import BeeTekSettings, ManualBurn
from tests.played import Played


def shoe() -> Played:
    return Played("bee-tek", BeeTekSettings())


def test_a_setting_allows_a_round_in_the_mode_of_manual_burn_cards() -> None:
    """The lines have blanks, and a failed read is among them; by default no such card is in a hand."""
    lines = [f" [Manual Burn Cards]<Card:{card}> " for card in ("8S", "3H", "JD", "4C")]
    played = Played("bee-tek", BeeTekSettings(manual_burn=ManualBurn.DEALT))
    receive(played, *lines)
    assert played.hands == "8S JD / 3H 4C"
    assert played.event_types[-1] == "round.completed"
    burnt = shoe()
    receive(burnt, *lines)
    assert set(burnt.event_types) & {"round.started", "card.drawn"} == set()


def receive(played: Played, *lines: str, after_ms: int = 1000) -> None:
    played.hear(*(f"{line}\r\n".encode() for line in lines), after_ms=after_ms)


def test_a_repeated_line_is_not_a_second_card() -> None:
    """The second card of the first round is reported twice, 18 ms apart; the fifth card opens the next round."""
    played = shoe()
    receive(played, "[Game]<Card:8S>", "[Game]<Card:3H>")
    receive(played, "[Game]<Card:3H>", after_ms=18)
    receive(played, "[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.hands == "8S JD / 3H 4C"
    receive(played, "[Game]<Card:2C>")
    assert played.hands == "2C /"
    assert played.event_types.count("round.started") == 2
    assert "round.suspended" not in played.event_types


def test_an_unread_card_keeps_its_slot() -> None:
    """Its alarm follows it. The later cards wait until a person has named the card."""
    played = shoe()
    receive(played, "[Game]<Card:8S>", "[Game]<Game>")
    receive(played, "[Game]<Alarm:E3 Card Not Read>", after_ms=20)
    receive(played, "[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.hands == "8S /"
    played.decide("3H")
    assert played.hands == "8S JD / 3H 4C"
    assert played.event_types.count("card.set-aside") == 3
    assert played.event_types[-1] == "round.completed"
