"""One Step of a table in progress: the settings, the state, and the events and answers of this Step."""

from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.commands import Answer, Author
from shoed.model.device_events import EventData
from shoed.model.events import Event, Hand, Paid, RoundCompleted
from shoed.model.incarnations import word_of
from shoed.model.moments import Now
from shoed.model.observations import Device
from shoed.rules import drawing
from shoed.rules.book import RuleBook
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.rules.results import rows
from shoed.table.asking import RECORD
from shoed.table.assess import House, Standing, house_of, judge
from shoed.table.matters import Confirmation
from shoed.table.phase import MOVES, Move
from shoed.table.questions import Listed, open_questions
from shoed.table.record import Record
from shoed.table.state import Condition, Past, TableState

UNKNOWN: Final = Condition()


class AfterGap(Enum):
    """The setting `after_gap`: the continuation of a round with cards on the table if reports may be missing."""

    ASK = "ask"  # a person states whether the cards shown are those on the table
    ABANDON = "abandon"  # the next report abandons the round
    PARTIAL = "partial"  # the round continues unless a loss is proven


class Custom(msgspec.Struct, frozen=True):
    """House rules that no rule document has."""

    bets_close_by_command: bool = False  # False: the first card closes the bets, too
    burn_cards: int | None = None  # at the start of a shoe; -1: the first card, and as many as its rank (at most 10)
    rounds_after_cut: int | None = None  # after the round in which the cut card leaves the shoe
    confirm_void: bool = True  # a dealer's notice voids a round only after a Pit Supervisor or above confirms it


BY_FIRST_CARD: Final = -1


class TableSettings(msgspec.Struct, frozen=True):
    game: str
    port: str  # the shoe's
    id_prefix: str = ""  # of the event ids of the table
    insurance: bool = True
    custom: Custom = Custom()
    decks: int = 8
    shuffler_port: str | None = None  # None: the table has no shuffler
    after_gap: AfterGap = AfterGap.ASK
    identify: tuple[Device, ...] = ()  # these devices are online once they have identified themselves


class Table:
    def __init__(self, settings: TableSettings, state: TableState, row: int, judged: Standing | None = None) -> None:
        self.settings = settings
        self.state = state
        self.row = row
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self.not_sent = ""  # the reason why the session did not send the device order of this Step
        self.remark = ""  # the detail of the answer to an accepted command
        self.judged = judged  # the last standing, perhaps of an earlier Step

    @property
    def record(self) -> Record:
        return self.state.record

    @property
    def house(self) -> House:
        return self.house_of(self.record)

    def house_of(self, record: Record) -> House:
        return house_of(self.settings.game, record, insurance=self.settings.insurance)

    def listed(self) -> list[Listed]:
        """All open questions, the first one to ask in front."""
        return open_questions(self.settings.game, self.state, self.standing, insurance=self.settings.insurance)

    @property
    def holding_question(self) -> str | None:
        """The id of the question that suspends the round, or that holds the next round. Others may be older."""
        ids = {each.topic: each.id for each in self.state.asked}
        return next((ids[each.topic] for each in self.listed() if each.asked.holds and each.topic in ids), None)

    def over(self, past: Past, record: Record) -> "Table":
        """The table with the record of a past round. Its events are events of this table."""
        table = Table(self.settings, replace(self.state, record=record, last=past.completed), self.row)
        table.events = self.events
        return table

    @property
    def book(self) -> RuleBook:
        return self.house.book

    @property
    def standing(self) -> Standing:
        """The standing of the round, computed once for each record."""
        if self.judged is None or self.judged.record is not self.record:
            self.judged = judge(self.house, self.record)
        return self.judged

    def emit(self, at: Now, data: EventData) -> int:
        place = replace(self.state.journal, utc_us=at.utc_us)
        self.state = replace(self.state, sequence=self.state.sequence + 1, journal=place)
        self.events.append(Event(self.state.sequence, at.utc_us, data))
        return self.state.sequence

    def move(self, move: Move) -> None:
        self.state = replace(self.state, phase=MOVES[self.state.phase, move])

    def set_record(self, record: Record) -> None:
        self.state = replace(self.state, record=record)

    def set_standing(self, standing: Standing) -> None:
        self.judged = standing
        self.set_record(standing.record)

    def condition(self, device: Device) -> Condition:
        return self.state.device if device is Device.SHOE else self.state.shuffler or UNKNOWN

    def set_condition(self, device: Device, condition: Condition) -> None:
        if device is Device.SHOE:
            self.state = replace(self.state, device=condition)
        else:
            self.state = replace(self.state, shuffler=condition)

    def port(self, device: Device) -> str:
        return self.settings.port if device is Device.SHOE else self.settings.shuffler_port or ""

    def confirmation(self, by: Author | None) -> Confirmation:
        """Whether a notice of this author needs confirmation before it voids a round."""
        if by is None or by.role is None or not self.settings.custom.confirm_void:
            return Confirmation.UNNEEDED
        return Confirmation.UNNEEDED if by.role.may_decide_for(RECORD) else Confirmation.NEEDED

    def event_id(self, sequence: int) -> str:
        """The id of an event of this table. The settings have the first word of the journal."""
        first, _, name = self.settings.id_prefix.partition("-")
        return f"{word_of(self.state.journal.words, sequence) or first}-{name}-{sequence}"


def public_hands(by: RuleBook, hands: Hands) -> tuple[Hand, Hand]:
    return (
        Hand(hands.player, drawing.points(by, hands.player)),
        Hand(hands.banker, drawing.points(by, hands.banker)),
    )


def pays_of(completed: RoundCompleted) -> dict[str, Paid]:
    """The pay of each bet by the published result."""
    found = rows(book(completed.game), Hands(completed.player.cards, completed.banker.cards))
    return {bet: Paid(row.pays.text, row.clause) for bet, row in found.items() if row is not None}


def author_fields(by: Author | None) -> dict[str, str | None]:
    """The event fields that name the author; null: the watch."""
    return {"author": by.name if by else None, "role": by.role.value if by and by.role else None}
