"""Observations as any session might make them, and a table that hears them: for the tests of all behind a session.

Time is a second further at each hearing, unless a test moves it itself.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Answer, AnyCommand, Author, Decide
from shoed.device_events import EventData
from shoed.events import Event, RoundCompleted, Slot
from shoed.findings import AnyFinding, DrawnTogether, Unread
from shoed.now import Now
from shoed.observations import (
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
    ShoeEmptied,
    ShoeLoaded,
    StoodBy,
    WentQuiet,
)
from shoed.rules.load import book
from shoed.step import AnyInput, Told, Woken
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
from shoed.table.rounds import lying
from shoed.words import Role

SECOND_NS: Final = 1_000_000_000
START: Final = Now(1_700_000_000_000_000, 50 * SECOND_NS)
FRAME: Final = Evidence("05 31 44 81 b8 03 34 46", 40, "4")
PORT: Final = "tcp://127.0.0.1:4001"
SHUFFLER_PORT: Final = "tcp://127.0.0.1:4002"

HANDS: Final = {"P": Place.PLAYER, "B": Place.BANKER}


def card(place: str, face: str) -> CardSeen:
    """`P1` to `B3` with a card, or a place outside the hands; a face of `?` could not be read."""
    known = None if face == "?" else Card.parse(face)
    code = "00" if known is None else ""
    if place[0] in HANDS:
        return CardSeen(at=START, frame=FRAME, place=HANDS[place[0]], position=int(place[1:]), card=known, code=code)
    return CardSeen(at=START, frame=FRAME, place=Place(place), position=0, card=known, code=code)


def cards(text: str) -> list[AnyObservation]:
    """`P1 8S, B1 3H` as they are reported."""
    return [card(*each.split()) for each in text.split(",")]


def dealt(player: str, banker: str) -> list[AnyObservation]:
    """A whole round by the order of the deal, each hand's cards given; Player's third comes before Banker's."""
    ours, theirs = player.split(), banker.split()
    order = [f"P1 {ours[0]}", f"B1 {theirs[0]}", f"P2 {ours[1]}", f"B2 {theirs[1]}"]
    order += [f"P3 {face}" for face in ours[2:]] + [f"B3 {face}" for face in theirs[2:]]
    return cards(",".join(order))


def result(outcome: str, *pairs: str) -> ResultSeen:
    return ResultSeen(at=START, frame=FRAME, outcome=Outcome(outcome), pairs=tuple(map(Pair, pairs)))


def rejected(
    raw: str = "05 05", offset: int = 7, reason: str = "torn", detail: str = "report broken off"
) -> FrameRejected:
    return FrameRejected(at=START, raw=raw, offset=offset, reason=reason, detail=detail)


def fault(code: int = 1, name: str = "cannot-read", *, blocking: bool = True) -> FaultRaised:
    return FaultRaised(at=START, frame=FRAME, code=code, name=name, blocking=blocking)


def lock(*, locked: bool) -> LockChanged:
    return LockChanged(at=START, frame=FRAME, locked=locked)


def together(faces: str, *, order_known: bool = False) -> DrawnTogether:
    """The cards, as in `8S ?`; one that could not be read is a question mark."""
    told = tuple(None if face == "?" else Card.parse(face) for face in faces.split())
    return DrawnTogether(at=START, cards=told, order_known=order_known, evidence="40 ms apart")


UNREAD_FAULT: Final = Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="fault 1")  # of the watch


def closed(reason: str = "the cable is out") -> LinkClosed:
    return LinkClosed(at=START, reason=reason)


OPENED: Final = LinkOpened(at=START, port=PORT)
CUT: Final = CutCardSeen(at=START, frame=FRAME)
STARTED: Final = CommunicationStarted(at=START, frame=FRAME)
STOOD_BY: Final = StoodBy(at=START, frame=FRAME)
LOADED: Final = ShoeLoaded(at=START, frame=FRAME, set_id="A7")
EMPTIED: Final = ShoeEmptied(at=START, frame=FRAME)
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


class Sitting:
    """One table, and all that it has told. Its state goes through JSON before each Step, as a checkpoint does."""

    kind = Table

    def __init__(self, game: str = "commission", custom: Custom = NO_CUSTOM) -> None:
        self.settings = TableSettings(game, PORT, "word-bac-901", custom=custom, shuffler_port=SHUFFLER_PORT)
        self.state = TableState()
        self.now = START
        self.row = 0
        self.told: list[Event] = []
        self.answers: list[Answer] = []

    def hear(self, *seen: AnyObservation, after_s: float = 1) -> list[EventData]:
        """One Step; the data of its events, without what is told beside a round and of its end."""
        return [event.data for event in self.step(*seen, after_s=after_s) if not event.type.startswith(ASIDES)]

    def step(
        self, *seen: AnyObservation, came: AnyInput = WOKEN, found: Sequence[AnyFinding] = (), after_s: float = 1
    ) -> tuple[Event, ...]:
        """One Step, and all its events; what was found is of the last that was seen, or of what was told."""
        self.pass_time(after_s)
        self.row += 1
        noticed: list[Watched] = [(replace(each, at=self.now), ()) for each in seen[:-1]]
        noticed += [(replace(each, at=self.now), tuple(found)) for each in seen[-1:]]
        state = msgspec.json.decode(msgspec.json.encode(self.state), type=TableState)
        folded = fold(self.kind(self.settings, state, self.row), noticed, came, () if seen else found, self.now)
        self.state = folded.state
        self.told += folded.events
        self.answers += folded.answers
        return folded.events

    def tell(self, command: AnyCommand, role: Role | None = Role.PIT_SUPERVISOR) -> list[EventData]:
        """A command in a Step of its own, that is done; the data of its events but for revised questions."""
        told = self.step(came=Told(command, Author("ann", role), "7f3a"))
        assert self.answers[-1] == Answer("7f3a", accepted=True)
        return [event.data for event in told if event.type != "question.revised"]

    def asks(self, name: str, *choices: str) -> bool:
        """Whether this is asked, and these are the choices; each question that names readings has one more."""
        choices = (*choices, "none-of-these") if name in ("reading", "gap") else choices
        return (self.question.question, self.question.choices) == (name, choices)

    def answer(self, choice: str | tuple[str, ...], bettor: str | None = None) -> list[EventData]:
        """The open question is answered, by the lowest role that may; the data of its events."""
        asked = self.question
        return self.tell(Decide(question=asked.id, choice=choice, bettor=bettor), who_may(asked))

    def refuses(self, command: AnyCommand, role: Role | None = Role.PIT_SUPERVISOR) -> str:
        """Why it is not done; nothing is told of it, and nothing changes."""
        before = self.state
        assert self.step(came=Told(command, Author("ann", role), "7f3a")) == ()
        assert self.state == before
        assert not self.answers[-1].accepted
        return self.answers[-1].detail

    def hear_each(self, seen: Iterable[AnyObservation]) -> list[EventData]:
        """A Step for each."""
        return [event for each in seen for event in self.hear(each)]

    def pass_time(self, seconds: float) -> None:
        self.now = Now(self.now.utc_us + int(seconds * 1e6), self.now.mono_ns + int(seconds * 1e9))

    @property
    def shown(self) -> PublicState:
        return public_state(self.settings.game, self.state, insurance=self.settings.insurance)

    @property
    def table_due(self) -> Slot | None:
        """The slot of the next card, as the table reckons it."""
        game = self.state.record.game or self.settings.game
        return judge(House(book(game), self.settings.insurance), self.state.record).due

    @property
    def phase(self) -> str:
        return self.shown.phase.value

    @property
    def lies(self) -> str:
        """The hands as anybody sees them: `8S KS / 3H 4H`."""
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
        """The state as whoever listens reads it."""
        return msgspec.json.decode(msgspec.json.encode(self.shown))


def who_may(asked: PublicQuestion) -> Role | None:
    """The lowest role that may answer; None is a player."""
    return None if asked.role == "player" else Role(asked.role or "dealer")


def after(*before: AnyObservation, game: str = "commission") -> Sitting:
    """A table that has heard these, one by one."""
    table = Sitting(game)
    table.hear_each(before)
    return table


def left_over(face: str = "5D") -> Sitting:
    """A round in which one card too many was drawn: it opens the next."""
    table = after(*NATURAL, card("B3", face))
    table.answer("yes")
    return table


def kinds(told: list[EventData]) -> list[type[EventData]]:
    return [type(each) for each in told]


def completed(told: list[EventData]) -> RoundCompleted:
    (only,) = (each for each in told if isinstance(each, RoundCompleted))
    return only


NATURAL: Final = dealt("8S KS", "3H 4H")  # Player 8, Banker 7
SIX_CARDS: Final = dealt("2S KS 6S", "3H KH 4H")  # Player 8, Banker 7
TIE: Final = dealt("9S KS", "9H KH")


def left_lying(table: Sitting) -> tuple[Card, ...]:
    """The cards that open the next round."""
    return tuple([each.face for each in lying(Table(table.settings, table.state, 0)) if each.face is not None])
