"""A table with a Bee-Tek shoe: from its lines to the round, by their order and the Table of Play alone."""

from firmware_protocols.bee_tek import BeeTekSettings, ManualBurn
from tests.played import Played


def shoe() -> Played:
    return Played("bee-tek", BeeTekSettings())


def test_a_round_is_dealt_in_the_mode_of_manual_burn_cards_where_the_site_says_so() -> None:
    """With blanks, a failed read among the cards; by default none of them is in a hand."""
    lines = [f" [Manual Burn Cards]<Card:{card}> " for card in ("8S", "3H", "JD", "4C")]
    played = Played("bee-tek", BeeTekSettings(manual_burn=ManualBurn.DEALT))
    say(played, *lines)
    assert played.lies == "8S JD / 3H 4C"
    assert played.told[-1] == "round.completed"
    burnt = shoe()
    say(burnt, *lines)
    assert set(burnt.told) & {"round.started", "card.drawn"} == set()


def say(played: Played, *lines: str, after_ms: int = 1000) -> None:
    played.hear(*(f"{line}\r\n".encode() for line in lines), after_ms=after_ms)


def test_two_rounds_are_dealt_and_no_card_told_again_is_a_second_one() -> None:
    """The second card of the first round is told twice, 18 ms apart; the fifth card opens the next round."""
    played = shoe()
    say(played, "[Game]<Card:8S>", "[Game]<Card:3H>")
    say(played, "[Game]<Card:3H>", after_ms=18)
    say(played, "[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.lies == "8S JD / 3H 4C"
    say(played, "[Game]<Card:2C>")
    assert played.lies == "2C /"
    assert played.told.count("round.started") == 2
    assert "round.suspended" not in played.told


def test_a_card_that_was_not_read_keeps_its_place() -> None:
    """Its alarm follows it; those behind it wait, until a person has said which card it was."""
    played = shoe()
    say(played, "[Game]<Card:8S>", "[Game]<Game>")
    say(played, "[Game]<Alarm:E3 Card Not Read>", after_ms=20)
    say(played, "[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.lies == "8S /"
    played.decide("3H")
    assert played.lies == "8S JD / 3H 4C"
    assert played.told.count("card.set-aside") == 3
    assert played.told[-1] == "round.completed"
