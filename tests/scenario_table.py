"""One table of a situation, in this process: the engine, its shoe's bytes and its clock; and all that came of it."""

from typing import Any, Final, NamedTuple

import msgspec

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.cards import Card
from shoed.commands import AnyCommand, Author, Decide
from shoed.engine import ENGINE, Engine
from shoed.events import Event
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    Device,
    Edges,
    Evidence,
    Place,
    SetDelivered,
    SetRecognised,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.rules.load import book
from shoed.session.angel_eye import AngelEyeSession, AngelEyeState
from shoed.step import AnyInput, Configured, LinkDown, LinkUp, Received, Step, Told, Woken
from shoed.table import AfterGap, Custom, TableSettings, public_question, public_state
from shoed.table.assess import House, judge
from shoed.telling import typed
from shoed.watch import WatchSettings
from shoed.words import Role
from tests import angel_eye_line as line
from tests import scenario
from tests.scenario import OF_THE_LINE, Came, Ended, Scenario, check, check_end, known, matter_of

COPIES: Final = 3
USUAL_MS: Final = 1000
SLOW_BAUD: Final = 50  # no nine reports pass in an absence: the next number proves that nothing was missed


class Sitting:
    """One table, its shoe and its clock."""

    def __init__(self, written: Scenario, number: int) -> None:
        self.engine: Engine[AngelEyeState] = Engine(
            AngelEyeSession(AngelEyeSettings(line_baud=SLOW_BAUD), allow_orders=False),
            WatchSettings(written.min_draw_gap_ms, written.decks),
            TableSettings(
                written.game[0],
                line.PORT,
                f"test-{number}",
                insurance=written.insurance == "on",
                custom=Custom(bets_close_by_command=written.bets_close == "command", confirm_void=written.confirm_void),
                decks=written.decks,
                shuffler_port="tcp://127.0.0.1:4002",
                after_gap=AfterGap(written.after_gap),
            ),
        )
        self.state = self.engine.begin()
        self.ms = 0.0
        self.sequence = 0
        self.steps: list[Step] = []
        self.begin()

    def begin(self) -> None:
        self.take(Configured("{}", ENGINE, "0.0"))
        self.take(LinkUp(line.PORT))

    @property
    def now(self) -> Now:
        return line.at(self.ms)

    def take(self, came: AnyInput) -> None:
        self.state, step = self.engine.step(self.state, came, self.now)
        self.steps += [] if step is None else [step]

    def see(self, seen: AnyObservation) -> None:
        """What an Angel Eye shoe cannot say: past the session."""
        row = self.state.row + 1
        came = Woken()
        concluded = self.engine.conclude(self.state, came, (seen,), self.now, row)
        self.state = msgspec.structs.replace(self.state, row=row, watch=concluded.watch, table=concluded.table)
        self.steps.append(
            Step(row, self.now, came, (seen,), concluded.findings, concluded.events, answers=concluded.answers)
        )

    def wait(self, ms: int) -> None:
        """The engine is woken when it wants to be."""
        until = self.ms + ms
        while (due := self.engine.wake_at(self.state)) is not None and due <= line.at(until).mono_ns:
            self.ms = (due - line.START.mono_ns) / line.MS
            self.take(Woken())
        self.ms = until

    def number(self) -> str:
        self.sequence = self.sequence % 9 + 1
        return str(self.sequence)

    def do(self, step: scenario.Step) -> None:  # noqa: C901, PLR0912 -- one line an act
        after_ms = USUAL_MS if step.after_ms is None else step.after_ms
        if step.shoe is not None:
            for words in scenario.listed(step.shoe):
                command, data = scenario.report(words)
                self.wait(after_ms)
                self.take(Received(line.report(self.number(), command, *data) * COPIES))
            return
        self.wait(after_ms)
        if step.unheard is not None:
            for _ in scenario.listed(step.unheard):
                self.number()
        if step.window is not None:
            for words in scenario.listed(step.window):
                self.see(window(words, self.now))
        for words in scenario.listed(step.shuffler or ""):
            self.see(of_shuffler(words, self.now))
        if step.delivered is not None:
            self.see(delivered(step.delivered, self.now))
        if step.loaded is not None:
            self.see(ShoeLoaded(at=self.now, frame=NO_FRAME, set_id=step.loaded))
        if step.tell is not None or step.answer is not None:
            self.take(told(step, str(len(self.steps)), self.question["id"] if self.question else "none"))
        if step.line == "away":
            self.take(LinkDown("the cable is out"))
        if step.line == "back":
            self.take(LinkUp(line.PORT))
        if step.daemon == "away":
            self.state = self.engine.restore(msgspec.json.encode(self.state).decode())
        if step.daemon == "back":
            self.begin()

    @property
    def events(self) -> list[Any]:
        return [public(event) for step in self.steps for event in step.events]

    @property
    def question(self) -> Any:  # noqa: ANN401  # JSON
        settings = self.engine.table_settings
        return msgspec.to_builtins(
            public_question(settings.game, self.state.table, insurance=settings.insurance, custom=settings.custom)
        )

    @property
    def shown(self) -> Any:  # noqa: ANN401  # JSON
        settings = self.engine.table_settings
        return msgspec.to_builtins(public_state(settings.game, self.state.table, insurance=settings.insurance))

    @property
    def due(self) -> str:
        house = House(book(self.engine.table_settings.game))
        return scenario.text(msgspec.to_builtins(judge(house, self.state.table.record).due))

    def again(self) -> list[Event]:
        """The events of what is on record, folded from the beginning."""
        state = self.engine.begin()
        told: list[Event] = []
        for step in self.steps:
            observations = on_record(step.observations, tuple[AnyObservation, ...])
            came = on_record(step.input, AnyInput)
            concluded = self.engine.conclude(state, came, observations, step.now, step.row)
            state = msgspec.structs.replace(state, row=step.row, watch=concluded.watch, table=concluded.table)
            told += concluded.events
        return told


def on_record(value: object, kind: Any) -> Any:  # noqa: ANN401  # what goes in comes out
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


def public(event: Event) -> Any:  # noqa: ANN401  # JSON
    return {"type": event.type, "data": msgspec.to_builtins(event.data)}


def told(step: scenario.Step, sender: str, question: str) -> Told:
    command: AnyCommand
    if step.answer is None:
        word, *pairs = (step.tell or "").split()
        command = typed(word, pairs)
    else:
        choice = tuple(step.answer.split(",")) if "," in step.answer else step.answer
        command = Decide(question=question, choice=choice, bettor=step.bettor)
    role = None if step.role == "player" else Role(step.role)
    return Told(command, Author(step.author or f"the {step.role}", role), sender)


NO_FRAME: Final = Evidence("", 0, "")


def window(words: str, at: Now) -> CardSeen:
    place, card, times, *thick = words.split()
    leading, trailing = (int(each) * 1000 for each in times.split("-"))
    return CardSeen(
        at=at,
        frame=NO_FRAME,
        place=Place.PLAYER if place[0] == "P" else Place.BANKER,
        position=int(place[1]),
        card=Card.parse(card),
        edges=Edges(leading, trailing, double=thick == ["double"]),
    )


def delivered(written: scenario.Delivered, at: Now) -> SetDelivered:
    counts = dict.fromkeys(Card, 8)
    for card in known(written.missing):
        counts[card] -= 1
    for card in known(written.extra):
        counts[card] += 1
    return SetDelivered(
        at=at,
        device=Device.SHUFFLER,
        frame=NO_FRAME,
        counts=counts,
        order=known(written.order),
        set_id=written.set,
        unread=written.unread,
    )


def of_shuffler(words: str, at: Now) -> AnyObservation:
    match words.split(maxsplit=1):
        case ["recognised", set_id]:
            return SetRecognised(at=at, device=Device.SHUFFLER, frame=NO_FRAME, set_id=set_id)
        case ["shuffling"]:
            return ShuffleStarted(at=at, device=Device.SHUFFLER, frame=NO_FRAME)
        case ["shuffled"]:
            return ShuffleEnded(at=at, device=Device.SHUFFLER, frame=NO_FRAME)
        case ["failed", reason]:
            return ShuffleEnded(at=at, device=Device.SHUFFLER, frame=NO_FRAME, failed=reason)
        case _:
            raise ValueError(f"{words}: no shuffler says this")


class Played(NamedTuple):
    sittings: dict[int, Sitting]
    told: list[int]  # by each step: how many events
    asked: list[bytes]  # after each step: what matters of the open question of its table


def play(written: Scenario) -> Played:
    """All of it, where each step came as it is written."""
    played = Played({number: Sitting(written, number) for number in written.tables}, [], [])
    for number, step in enumerate(written.step):
        sitting = played.sittings[step.table]
        before = len(sitting.events)
        sitting.do(step)
        answers, events, question = sitting.steps[-1].answers, sitting.events[before:], sitting.question
        answer = msgspec.to_builtins(answers[0]) if answers else None
        check(written, number, Came(events, answer, question, sitting.shown))
        played.told.append(sum(each["type"] not in OF_THE_LINE for each in events))
        played.asked.append(matter_of(question))
    for number, sitting in played.sittings.items():
        check_end(written, number, Ended(sitting.shown, sitting.question, sitting.events, sitting.due))
    return played
