"""The view of one round: its result, cards and matters, from the events on record. The last statement counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

import msgspec

from shoed.cli.journal.wording import in_words, result
from shoed.journal.scan import Data, EventRow
from shoed.journal.seeds import closes
from shoed.model.cards import Card
from shoed.model.events import Paid
from shoed.rules.drawing import Hands
from shoed.rules.load import GAMES, book
from shoed.rules.results import rows

NUMBERED: Final = 2  # shoe and round


class RoundStatus(Enum):
    OPEN = "open"
    COMPLETE = "complete"
    VOID = "void"
    ABANDONED = "abandoned"


# The events that decide the status of a round. A correction after which a card is due opens the round again.
STATUSES: Final[Mapping[str, RoundStatus]] = {
    "round.completed": RoundStatus.COMPLETE,
    "round.corrected": RoundStatus.COMPLETE,
    "round.voided": RoundStatus.VOID,
    "round.abandoned": RoundStatus.ABANDONED,
}
COMPARISONS: Final = ("round.confirmed", "round.disputed", "round.unconfirmed")
PEOPLE: Final = ("irregularity", "question", "bets.late", "insurance", "round.voided", "round.corrected")
DEVICES: Final = ("device", "line", "set")
# Events of an undisturbed round. `question.revised` and `irregularity.ruled` repeat a matter that is listed already.
USUAL: Final = {
    *("round.started", "card.drawn", "round.completed", "round.confirmed", "round.settled", "bets.closed"),
    *("shoe.started", "shoe.cut", "shoe.emptied", "question.revised", "question.asked", "irregularity.ruled"),
    *("device.online", "device.identified", "device.changed", "device.trusted", "device.cleared", "device.unlocked"),
    *("set.recognised", "set.shuffling", "set.shuffled", "set.delivered", "round.resumed"),
}


def is_of(event: EventRow, kinds: Iterable[str]) -> bool:
    """Whether the type of the event, or its noun, is one of these."""
    return event.type in kinds or event.type.partition(".")[0] in kinds


class RoundView(msgspec.Struct):
    """A round and all events about it, in order."""

    shoe: int
    round: int
    events: list[EventRow] = []
    status: RoundStatus = RoundStatus.OPEN
    last: Data = {}  # of the last event with the hands of the round
    voided: Data = {}
    compared: EventRow | None = None
    began: EventRow | None = None
    ended_us: int | None = None

    def add(self, event: EventRow) -> None:
        self.events.append(event)
        data = event.data
        if event.type == "round.started":
            self.began = self.began or event
        elif event.type in STATUSES:
            self.status, self.last = STATUSES[event.type], data
            self.ended_us = event.utc_us if self.ended_us is None else self.ended_us
            self.voided = data if self.status is RoundStatus.VOID else {}
            if event.type == "round.corrected" and data.get("outcome") is None:
                self.status = RoundStatus.OPEN
        elif event.type in COMPARISONS:
            self.compared = event

    @property
    def name(self) -> str:
        return f"{self.shoe}.{self.round}"

    @property
    def start(self) -> Data:
        return {} if self.began is None else self.began.data

    @property
    def game(self) -> str:
        return str(self.last.get("game") or self.start.get("game") or "")

    @property
    def integrity(self) -> str:
        return str(self.last.get("integrity") or "")

    @property
    def headline(self) -> str:
        match self.status:
            case RoundStatus.COMPLETE:
                return result(self.last)
            case RoundStatus.VOID:
                return "void"
            case status:
                return f"{status.value}, without a result"

    def of(self, *kinds: str) -> list[EventRow]:
        return [event for event in self.events if is_of(event, kinds)]

    @property
    def unusual(self) -> list[str]:
        """What an undisturbed round does not have, in words."""
        found = ["partial"] if self.integrity == "partial" else []
        found += [] if self.began is not None else ["its start is not in the journal"]
        counted = Counter(
            f"{event.type}: {event.data['kind']}" if event.type == "irregularity.noticed" else event.type
            for event in self.events
            if event.type not in USUAL
        )
        found += [kind if count == 1 else f"{kind} ({count})" for kind, count in counted.items()]
        return found + [f"question {each} is open" for each in self.open_questions]

    @property
    def open_questions(self) -> list[str]:
        asked: dict[str, None] = {}
        for event in self.of("question"):
            number = event.data["id"]
            if event.type == "question.asked":
                asked[number] = None
            elif closes(event.type, event.data.get("bettor")):
                asked.pop(number, None)
        return list(asked)

    @property
    def pays(self) -> dict[str, Paid]:
        """The pay of each bet by the rule book of the game."""
        if self.status is not RoundStatus.COMPLETE or self.game not in GAMES:
            return {}
        player, banker = (tuple(map(Card.parse, self.last[side]["cards"])) for side in ("player", "banker"))
        found = rows(book(self.game), Hands(player, banker))
        return {bet: Paid(row.pays.text, row.clause) for bet, row in found.items() if row is not None}


def rounds(events: Iterable[EventRow]) -> Iterator[RoundView]:
    """Each round of these events, in order. An event that names no shoe belongs to the round that began last before it.

    The result is complete only at the end: a late event may name any earlier round.
    """
    found: dict[tuple[int, int], RoundView] = {}
    present: RoundView | None = None
    for event in events:
        data = event.data
        if event.type == "shoe.started":
            present = None
        if data.get("shoe") is None:
            view = present
        elif data.get("round") is None:
            view = None
        else:
            key = (data["shoe"], data["round"])
            view = found.setdefault(key, RoundView(*key, events=[]))
            if event.type == "round.started":
                present = view
        if view is not None:
            view.add(event)
    yield from found.values()


def sentence(event: EventRow) -> str:
    """The type and the words of an event."""
    words = in_words(event.type, event.data)
    return f"{event.type}: {words}" if words else event.type
