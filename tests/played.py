"""A table with its shoe: bytes as input, events and hands as output; each input advances the clock by one second."""

from firmware_protocols.family import Settings
from shoed.engine import Engine
from shoed.model.commands import Author, Decide
from shoed.model.events import Event
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.step import AnyInput, Commanded, Configured, LinkUp, Received
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, public_question, public_state
from shoed.watch import WatchSettings

PORT = "serial:///dev/ttyUSB0"


class Played:
    def __init__(self, family: str, settings: Settings) -> None:
        session = DRIVERS[family].session(settings, allow_orders=False)
        self.engine: Engine[SessionState] = Engine(session, WatchSettings(250), TableSettings("commission", PORT))
        self.state = self.engine.begin()
        self.ms = 0
        self.events: list[Event] = []
        self.take(Configured("{}", 3, "1"))
        self.take(LinkUp(PORT))

    def take(self, incoming: AnyInput, after_ms: int = 1000) -> None:
        self.ms += after_ms
        now = Now(1_700_000_000_000_000 + self.ms * 1000, self.ms * 1_000_000)
        self.state, step = self.engine.step(self.state, incoming, now)
        self.events += step.events if step is not None else ()

    def hear(self, *pieces: bytes, after_ms: int = 1000) -> None:
        for piece in pieces:
            self.take(Received(piece), after_ms)

    def decide(self, choice: str) -> None:
        asked = public_question("commission", self.state.table)
        assert asked is not None
        answer = Decide(question=asked.id, choice=choice)
        self.take(Commanded(answer, Author("ann", Role.PIT_SUPERVISOR), f"{self.ms}"))

    @property
    def event_types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def hands(self) -> str:
        hands = public_state("commission", self.state.table).hands
        return " / ".join(" ".join(map(str, hand.cards)) for hand in (hands.player, hands.banker)).strip()
