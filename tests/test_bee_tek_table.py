"""A table with a Bee-Tek shoe: from its lines to the round, by their order and the Table of Play alone."""

from firmware_protocols.bee_tek import BeeTekSettings
from shoed.commands import Author, Decide
from shoed.engine import Engine
from shoed.now import Now
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.step import AnyInput, Configured, LinkUp, Received, Told
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from shoed.words import Role

PORT = "serial:///dev/ttyUSB0"


class Played:
    """One line a second, unless it is said otherwise."""

    def __init__(self) -> None:
        session = DRIVERS["bee-tek"].session(BeeTekSettings(), allow_orders=False)
        self.engine: Engine[SessionState] = Engine(session, WatchSettings(250), TableSettings("commission", PORT))
        self.state = self.engine.begin()
        self.ms = 0
        self.told: list[str] = []
        self.take(Configured("{}", 3, "1"))
        self.take(LinkUp(PORT))

    def take(self, came: AnyInput, after_ms: int = 1000) -> None:
        self.ms += after_ms
        now = Now(1_700_000_000_000_000 + self.ms * 1000, self.ms * 1_000_000)
        self.state, step = self.engine.step(self.state, came, now)
        self.told += [event.type for event in step.events] if step is not None else []

    def say(self, *lines: str, after_ms: int = 1000) -> None:
        for line in lines:
            self.take(Received(f"{line}\r\n".encode()), after_ms)

    @property
    def lies(self) -> str:
        hands = public_state("commission", self.state.table).hands
        return " / ".join(" ".join(map(str, hand.cards)) for hand in (hands.player, hands.banker)).strip()


def test_two_rounds_are_dealt_and_no_card_told_again_is_a_second_one() -> None:
    """The second card of the first round is told twice, 18 ms apart; the fifth card opens the next round."""
    played = Played()
    played.say("[Game]<Card:8S>", "[Game]<Card:3H>")
    played.say("[Game]<Card:3H>", after_ms=18)
    played.say("[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.lies == "8S JD / 3H 4C"
    played.say("[Game]<Card:2C>")
    assert played.lies == "2C /"
    assert played.told.count("round.started") == 2
    assert "round.suspended" not in played.told


def test_a_card_that_was_not_read_keeps_its_place() -> None:
    """Its alarm follows it; those behind it wait, until a person has said which card it was."""
    played = Played()
    played.say("[Game]<Card:8S>", "[Game]<Game>")
    played.say("[Game]<Alarm:E3 Card Not Read>", after_ms=20)
    played.say("[Game]<Card:JD>", "[Game]<Card:4C>")
    assert played.lies == "8S /"
    assert played.state.table.asked is not None
    answer = Decide(question=played.state.table.asked.id, choice="3H")
    played.take(Told(answer, Author("ann", Role.PIT_SUPERVISOR), "1"))
    assert played.lies == "8S JD / 3H 4C"
    assert played.told.count("card.set-aside") == 3
    assert played.told[-1] == "round.completed"
