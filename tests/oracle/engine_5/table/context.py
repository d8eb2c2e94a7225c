"""A fold in progress: the settings of a table, its state so far, and the events and answers that it gave."""

from typing import Final

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5.commands import Answer, Author
from tests.oracle.engine_5.device_events import EventData
from tests.oracle.engine_5.events import Event, Hand, Paid, RoundCompleted
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import Device
from tests.oracle.engine_5.rules import drawing
from tests.oracle.engine_5.rules.book import RuleBook
from tests.oracle.engine_5.rules.drawing import Hands
from tests.oracle.engine_5.rules.load import book
from tests.oracle.engine_5.rules.results import rows
from tests.oracle.engine_5.table.judging import House, Judgement, house_of, judge
from tests.oracle.engine_5.table.state import MOVES, Condition, Move, Phase, Round, TableState

UNKNOWN: Final = Condition()


class Custom(msgspec.Struct, frozen=True):
    """What no document asks for, and a house may."""

    bets_close_by_command: bool = False  # else by the first card as well
    burn_cards: int | None = None  # at the start of a shoe; -1: as many as the first card counts, and itself
    rounds_after_cut: int | None = None  # behind the one in which the cutting card comes


BY_FIRST_CARD: Final = -1


class TableSettings(msgspec.Struct, frozen=True):
    game: str
    port: str  # the shoe's
    id_prefix: str = ""  # of the ids of its events
    insurance: bool = True
    custom: Custom = Custom()
    decks: int = 8
    shuffler_port: str | None = None  # None: the table has no shuffler


class Table:
    def __init__(self, settings: TableSettings, state: TableState, row: int) -> None:
        self.settings = settings
        self.state = state
        self.row = row
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self._judged: tuple[Round, Judgement] | None = None

    @property
    def house(self) -> House:
        return house_of(self.settings.game, self.state, insurance=self.settings.insurance)

    @property
    def book(self) -> RuleBook:
        return self.house.book

    @property
    def judgement(self) -> Judgement:
        """How the round stands; reckoned once for each Round."""
        if self._judged is None or self._judged[0] is not self.state.round:
            self._judged = self.state.round, judge(self.house, self.state.round)
        return self._judged[1]

    def emit(self, at: Now, data: EventData) -> int:
        self.state = replace(self.state, sequence=self.state.sequence + 1)
        self.events.append(Event(self.state.sequence, at.utc_us, data))
        return self.state.sequence

    def move(self, move: Move) -> None:
        if self.state.phase is Phase.SETTLED and move is not Move.NEXT:  # what it left over is reckoned anew
            self.state = replace(self.state, left_over=())
        self.state = replace(self.state, phase=MOVES[self.state.phase, move])

    def condition(self, device: Device) -> Condition:
        return self.state.device if device is Device.SHOE else self.state.shuffler or UNKNOWN

    def set_condition(self, device: Device, condition: Condition) -> None:
        if device is Device.SHOE:
            self.state = replace(self.state, device=condition)
        else:
            self.state = replace(self.state, shuffler=condition)

    def port(self, device: Device) -> str:
        return self.settings.port if device is Device.SHOE else self.settings.shuffler_port or ""

    def set_round(self, current: Round, judged: Judgement | None = None) -> None:
        self.state = replace(self.state, round=current)
        if judged is not None:
            self._judged = current, judged

    def event_id(self, sequence: int) -> str:
        return f"{self.settings.id_prefix}-{sequence}"


def both(by: RuleBook, hands: Hands) -> tuple[Hand, Hand]:
    return (
        Hand(hands.player, drawing.points(by, hands.player)),
        Hand(hands.banker, drawing.points(by, hands.banker)),
    )


def pays_of(told: RoundCompleted) -> dict[str, Paid]:
    """What each bet of its game gets by the result that was told."""
    found = rows(book(told.game), Hands(told.player.cards, told.banker.cards))
    return {bet: Paid(row.pays.text, row.clause) for bet, row in found.items() if row is not None}


def signed(by: Author | None) -> dict[str, str | None]:
    """The fields of an event that say who; nobody is the watch."""
    return {"author": by.name if by else None, "role": by.role.value if by and by.role else None}
