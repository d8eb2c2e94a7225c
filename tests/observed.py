"""Observations as a session makes them, and a table that receives them: for the tests of the rooms after the session.

Each Step is one second after the Step before, unless a test states another time.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Answer, AnyCommand, Author, Decide
from shoed.model.device_events import EventData
from shoed.model.events import Event, RoundCompleted, Slot
from shoed.model.findings import AnyFinding, DrawnTogether, Unread
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    Continuity,
    CopyHeard,
    CutCardSeen,
    Evidence,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    LockChanged,
    Outcome,
    Pair,
    Place,
    PresetChanged,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    ShoeEmptySeen,
    ShoeLoaded,
    StoodBy,
    WentQuiet,
)
from shoed.model.step import AnyInput, Commanded, Woken
from shoed.rules.load import book
from shoed.table import (
    Custom,
    PublicQuestion,
    PublicState,
    Table,
    TableSettings,
    TableState,
    Watched,
    fold,
    public_question,
    public_state,
)
from shoed.table.assess import House, judge
from shoed.table.rounds import left_over_cards

SECOND_NS: Final = 1_000_000_000
START: Final = Now(1_700_000_000_000_000, 50 * SECOND_NS)
FRAME: Final = Evidence("05 31 44 81 b8 03 34 46", 40, "4")
PORT: Final = "tcp://127.0.0.1:4001"
SHUFFLER_PORT: Final = "tcp://127.0.0.1:4002"

HANDS: Final = {"P": Place.PLAYER, "B": Place.BANKER}


def card(place: str, face: str) -> CardSeen:
    """A card in a slot from `P1` to `B3`, or at a place outside the hands. The face `?` is a card that was not read."""
    known = None if face == "?" else Card.parse(face)
    code = "00" if known is None else ""
    if place[0] in HANDS:
        return CardSeen(at=START, frame=FRAME, place=HANDS[place[0]], position=int(place[1:]), card=known, code=code)
    return CardSeen(at=START, frame=FRAME, place=Place(place), position=0, card=known, code=code)


def cards(text: str) -> list[AnyObservation]:
    """The reports of cards, for example `P1 8S, B1 3H`."""
    return [card(*each.split()) for each in text.split(",")]


def dealt(player: str, banker: str) -> list[AnyObservation]:
    """The reports of a whole round, in the order of the deal: Player's third card is before Banker's."""
    ours, theirs = player.split(), banker.split()
    order = [f"P1 {ours[0]}", f"B1 {theirs[0]}", f"P2 {ours[1]}", f"B2 {theirs[1]}"]
    order += [f"P3 {face}" for face in ours[2:]] + [f"B3 {face}" for face in theirs[2:]]
    return cards(",".join(order))


def result(outcome: str, *pairs: str) -> ResultSeen:
    return ResultSeen(at=START, frame=FRAME, outcome=Outcome(outcome), pairs=tuple(map(Pair, pairs)))


def rejected(
    raw: str = "05 05", offset: int = 7, reason: str = "torn", detail: str = "incomplete report"
) -> FrameRejected:
    return FrameRejected(at=START, raw=raw, offset=offset, reason=reason, detail=detail)


def fault(code: int = 1, name: str = "cannot-read", *, blocking: bool = True) -> FaultRaised:
    return FaultRaised(at=START, frame=FRAME, code=code, name=name, blocking=blocking)


def lock(*, locked: bool) -> LockChanged:
    return LockChanged(at=START, frame=FRAME, locked=locked)


def together(faces: str, *, order_known: bool = False) -> DrawnTogether:
    """The finding of cards that were drawn together, for example `8S ?`; `?` is a card that was not read."""
    drawn = tuple(None if face == "?" else Card.parse(face) for face in faces.split())
    return DrawnTogether(at=START, cards=drawn, order_known=order_known, evidence="40 ms apart")


UNREAD_FAULT: Final = Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="fault 1")


def closed(reason: str = "the cable is out") -> LinkClosed:
    return LinkClosed(at=START, reason=reason)


OPENED: Final = LinkOpened(at=START, port=PORT)
CUT: Final = CutCardSeen(at=START, frame=FRAME)
STARTED: Final = CommunicationStarted(at=START, frame=FRAME)
STOOD_BY: Final = StoodBy(at=START, frame=FRAME)
LOADED: Final = ShoeLoaded(at=START, frame=FRAME, set_id="A7")
EMPTIED: Final = ShoeEmptySeen(at=START, frame=FRAME)
COPY: Final = CopyHeard(at=START, frame=FRAME)
QUIET: Final = WentQuiet(at=START, since=START)
AGAIN: Final = HeardAgain(at=START)
PROVEN: Final = Resumed(at=START, frame=FRAME, continuity=Continuity.PROVEN)
UNPROVEN: Final = Resumed(at=START, frame=FRAME)
JUMPED: Final = SequenceJumped(at=START, frame=FRAME, expected="2")
CLASHED: Final = SequenceClashed(at=START, frame=FRAME, previous="05 34 50 03 36 37")
CLEARED: Final = FaultCleared(at=START, frame=FRAME, code=1, name="cannot-read")
PRESET: Final = PresetChanged(at=START, frame=FRAME, address="01", value="0005")


NO_CUSTOM: Final = Custom()
ASIDES: Final = ("irregularity.", "question.", "insurance.", "round.overtaken", "round.settled")


WOKEN: Final = Woken()


class TableRun:
    """One table with all its events. Its state goes through JSON before each Step, as a checkpoint does."""

    kind = Table

    def __init__(self, game: str = "commission", custom: Custom = NO_CUSTOM) -> None:
        self.settings = TableSettings(game, PORT, "word-bac-901", custom=custom, shuffler_port=SHUFFLER_PORT)
        self.state = TableState()
        self.now = START
        self.row = 0
        self.events: list[Event] = []
        self.answers: list[Answer] = []

    def hear(self, *seen: AnyObservation, after_s: float = 1) -> list[EventData]:
        """One Step of these observations. The data of its events, except those with a type in `ASIDES`."""
        return [event.data for event in self.step(*seen, after_s=after_s) if not event.type.startswith(ASIDES)]

    def step(
        self, *seen: AnyObservation, incoming: AnyInput = WOKEN, found: Sequence[AnyFinding] = (), after_s: float = 1
    ) -> tuple[Event, ...]:
        """One Step, and all its events. The findings belong to the last observation, or to the command."""
        self.pass_time(after_s)
        self.row += 1
        noticed: list[Watched] = [(replace(each, at=self.now), ()) for each in seen[:-1]]
        noticed += [(replace(each, at=self.now), tuple(found)) for each in seen[-1:]]
        state = msgspec.json.decode(msgspec.json.encode(self.state), type=TableState)
        folded = fold(self.kind(self.settings, state, self.row), noticed, incoming, () if seen else found, self.now)
        self.state = folded.state
        self.events += folded.events
        self.answers += folded.answers
        return folded.events

    def tell(self, command: AnyCommand, role: Role | None = Role.PIT_SUPERVISOR) -> list[EventData]:
        """A command in its own Step; the table must accept it. The data of its events, without revised questions."""
        published = self.step(incoming=Commanded(command, Author("ann", role), "7f3a"))
        assert self.answers[-1] == Answer("7f3a", accepted=True)
        return [event.data for event in published if event.type != "question.revised"]

    def asks(self, name: str, *choices: str) -> bool:
        """Whether this question is open with these choices. A question about readings has `none-of-these` as well."""
        choices = (*choices, "none-of-these") if name in ("reading", "gap") else choices
        return (self.question.question, self.question.choices) == (name, choices)

    def answer(self, choice: str | tuple[str, ...], bettor: str | None = None) -> list[EventData]:
        """Answer the open question in the lowest role that may answer. The data of the events."""
        asked = self.question
        return self.tell(Decide(question=asked.id, choice=choice, bettor=bettor), who_may(asked))

    def refuses(self, command: AnyCommand, role: Role | None = Role.PIT_SUPERVISOR) -> str:
        """The detail of a refusal. A refused command publishes nothing and changes no state."""
        before = self.state
        assert self.step(incoming=Commanded(command, Author("ann", role), "7f3a")) == ()
        assert self.state == before
        assert not self.answers[-1].accepted
        return self.answers[-1].detail

    def hear_each(self, seen: Iterable[AnyObservation]) -> list[EventData]:
        """One Step for each observation."""
        return [event for each in seen for event in self.hear(each)]

    def pass_time(self, seconds: float) -> None:
        self.now = Now(self.now.utc_us + int(seconds * 1e6), self.now.mono_ns + int(seconds * 1e9))

    @property
    def shown(self) -> PublicState:
        return public_state(self.settings.game, self.state, insurance=self.settings.insurance)

    @property
    def table_due(self) -> Slot | None:
        """The slot of the next card, as the table computes it."""
        game = self.state.record.game or self.settings.game
        return judge(House(book(game), self.settings.insurance), self.state.record).due

    @property
    def phase(self) -> str:
        return self.shown.phase.value

    @property
    def hands(self) -> str:
        """The published hands, for example `8S KS / 3H 4H`."""
        hands = self.shown.hands
        return " / ".join(" ".join(map(str, hand.cards)) for hand in (hands.player, hands.banker)).strip()

    @property
    def question(self) -> PublicQuestion:
        asked = public_question(
            self.settings.game, self.state, insurance=self.settings.insurance, custom=self.settings.custom
        )
        assert asked is not None
        return asked

    @property
    def message(self) -> object:
        """The retained state as a subscriber decodes it."""
        return msgspec.json.decode(msgspec.json.encode(self.shown))


def who_may(asked: PublicQuestion) -> Role | None:
    """The lowest role that may answer a question; None is a player."""
    return None if asked.role == "player" else Role(asked.role or "dealer")


def after(*before: AnyObservation, game: str = "commission") -> TableRun:
    """A table after these observations, each in its own Step."""
    table = TableRun(game)
    table.hear_each(before)
    return table


def left_over(face: str = "5D") -> TableRun:
    """A table after a round with one card in excess. A person decided that this card opens the next round."""
    table = after(*NATURAL, card("B3", face))
    table.answer("yes")
    return table


def kinds(published: list[EventData]) -> list[type[EventData]]:
    return [type(each) for each in published]


def completed(published: list[EventData]) -> RoundCompleted:
    (only,) = (each for each in published if isinstance(each, RoundCompleted))
    return only


NATURAL: Final = dealt("8S KS", "3H 4H")  # Player 8, Banker 7
SIX_CARDS: Final = dealt("2S KS 6S", "3H KH 4H")  # Player 8, Banker 7
TIE: Final = dealt("9S KS", "9H KH")


def opening_cards(table: TableRun) -> tuple[Card, ...]:
    """The cards that open the next round."""
    return tuple(
        [each.face for each in left_over_cards(Table(table.settings, table.state, 0)) if each.face is not None]
    )
