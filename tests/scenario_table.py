"""Plays a scenario in this process: for each table an engine, the bytes of its shoe, and a clock."""

from typing import Any, Final, NamedTuple

import msgspec

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE, Engine
from shoed.model.cards import Card
from shoed.model.commands import AnyCommand, Author, Decide
from shoed.model.events import Event
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    Device,
    Edges,
    Evidence,
    Place,
    SetDeliverySeen,
    SetRecognitionSeen,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.model.requests import typed_command
from shoed.model.step import AnyInput, Commanded, Configured, LinkDown, LinkUp, Received, Step, Woken
from shoed.rules.load import book
from shoed.session.angel_eye import AngelEyeSession, AngelEyeState
from shoed.table import AfterGap, Custom, TableSettings, public_question, public_state
from shoed.table.assess import House, judge
from shoed.watch import WatchSettings
from tests import angel_eye_line as line
from tests import scenario
from tests.scenario import NOT_COMPARED, Scenario, StepOutput, TableEnd, check, check_end, identity_of, known

COPIES: Final = 3
USUAL_MS: Final = 1000
# Nine reports need more time than an absence has, so the number of the next report proves that no report was lost.
SLOW_BAUD: Final = 50


class ScenarioTable:
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

    def take(self, incoming: AnyInput) -> None:
        self.state, step = self.engine.step(self.state, incoming, self.now)
        self.steps += [] if step is None else [step]

    def see(self, seen: AnyObservation) -> None:
        """Give the engine an observation that the session of an Angel Eye shoe cannot make."""
        row = self.state.row + 1
        incoming = Woken()
        concluded = self.engine.conclude(self.state, incoming, (seen,), self.now, row)
        self.state = msgspec.structs.replace(self.state, row=row, watch=concluded.watch, table=concluded.table)
        self.steps.append(
            Step(row, self.now, incoming, (seen,), concluded.findings, concluded.events, answers=concluded.answers)
        )

    def wait(self, ms: int) -> None:
        """Let time pass, and wake the engine at each moment that it names."""
        until = self.ms + ms
        while (due := self.engine.wake_at(self.state)) is not None and due <= line.at(until).mono_ns:
            self.ms = (due - line.START.mono_ns) / line.MS
            self.take(Woken())
        self.ms = until

    def number(self) -> str:
        self.sequence = self.sequence % 9 + 1
        return str(self.sequence)

    def do(self, step: scenario.Step) -> None:  # noqa: C901, PLR0912 -- one branch for each input key
        after_ms = USUAL_MS if step.after_ms is None else step.after_ms
        if step.shoe is not None:
            for words in scenario.listed(step.shoe):
                command, data = scenario.report(words)
                self.wait(after_ms)
                self.take(Received(line.report(self.number(), command, *data) * COPIES))
            return
        self.wait(after_ms)
        if step.lost is not None:
            for _ in scenario.listed(step.lost):
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
            self.take(command_of(step, str(len(self.steps)), self.question["id"] if self.question else "none"))
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

    def replay(self) -> list[Event]:
        """The events that a new engine computes from the recorded inputs and observations."""
        state = self.engine.begin()
        events: list[Event] = []
        for step in self.steps:
            observations = through_json(step.observations, tuple[AnyObservation, ...])
            incoming = through_json(step.input, AnyInput)
            concluded = self.engine.conclude(state, incoming, observations, step.now, step.row)
            state = msgspec.structs.replace(state, row=step.row, watch=concluded.watch, table=concluded.table)
            events += concluded.events
        return events


def through_json(value: object, kind: Any) -> Any:  # noqa: ANN401  # a value of the given type
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)


def public(event: Event) -> Any:  # noqa: ANN401  # JSON
    return {"type": event.type, "data": msgspec.to_builtins(event.data)}


def command_of(step: scenario.Step, sender: str, question: str) -> Commanded:
    command: AnyCommand
    if step.answer is None:
        word, *pairs = (step.tell or "").split()
        command = typed_command(word, pairs)
    else:
        choice = tuple(step.answer.split(",")) if "," in step.answer else step.answer
        command = Decide(question=question, choice=choice, bettor=step.bettor)
    role = None if step.role == "player" else Role(step.role)
    return Commanded(command, Author(step.author or f"the {step.role}", role), sender)


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


def delivered(written: scenario.Delivered, at: Now) -> SetDeliverySeen:
    counts = dict.fromkeys(Card, 8)
    for card in known(written.missing):
        counts[card] -= 1
    for card in known(written.extra):
        counts[card] += 1
    return SetDeliverySeen(
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
            return SetRecognitionSeen(at=at, device=Device.SHUFFLER, frame=NO_FRAME, set_id=set_id)
        case ["shuffling"]:
            return ShuffleStarted(at=at, device=Device.SHUFFLER, frame=NO_FRAME)
        case ["shuffled"]:
            return ShuffleEnded(at=at, device=Device.SHUFFLER, frame=NO_FRAME)
        case ["failed", reason]:
            return ShuffleEnded(at=at, device=Device.SHUFFLER, frame=NO_FRAME, failed=reason)
        case _:
            raise ValueError(
                f'"{words}" is not a report of a shuffler; the docstring of tests/scenario.py lists the reports'
            )


class Played(NamedTuple):
    sittings: dict[int, ScenarioTable]
    event_counts: list[int]  # of each step
    questions: list[bytes]  # after each step: the identity of the open question of its table


def play(written: Scenario) -> Played:
    """Play all steps, and compare the output of each step with the scenario."""
    played = Played({number: ScenarioTable(written, number) for number in written.tables}, [], [])
    for number, step in enumerate(written.step):
        sitting = played.sittings[step.table]
        before = len(sitting.events)
        sitting.do(step)
        answers, events, question = sitting.steps[-1].answers, sitting.events[before:], sitting.question
        answer = msgspec.to_builtins(answers[0]) if answers else None
        check(written, number, StepOutput(events, answer, question, sitting.shown))
        played.event_counts.append(sum(each["type"] not in NOT_COMPARED for each in events))
        played.questions.append(identity_of(question))
    for number, sitting in played.sittings.items():
        check_end(written, number, TableEnd(sitting.shown, sitting.question, sitting.events, sitting.due))
    return played
