"""Random sessions at tables of all games, verified over MQTT by a checker that shares no code with the project.

Theory of operation: `played` runs the sessions, several tables at one daemon, and gives the checker the messages of
each table. One more table plays a fixed session, the lesson. Each damage changes the messages of the lesson in one way,
and the checker must name the broken law.

`./dev sessions N` plays N sessions instead of a few, and prints their contents, counted.
"""

import ast
import asyncio
import json
import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import pytest_asyncio

from shoed.model.cards import Card
from shoed.model.observations import Side
from shoed.rig.broker import Broker
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.insurance import CARDS_AT, offers
from shoed.rules.load import book
from shoed.rules.results import rows
from tests import checker, checker_book, checker_round
from tests.checker import check
from tests.pit import Table, dealing
from tests.world import World

pytestmark = pytest.mark.slow
SESSIONS: Final = int(os.environ.get("SHOED_SESSIONS", "5"))
AT_ONCE: Final = 15  # tables of one daemon
ROUNDS: Final = 10
FAMILIES: Final = ("angel-eye", "bee-tek", "angel-eye", "open-shoe", "angel-eye")
STANDALONE: Final = {"json", "collections", "collections.abc", "typing"}
PLAYED: Final = (
    *("round.started", "round.completed", "card.drawn", "card.set-aside", "round.suspended", "question.asked"),
    *("question.answered", "round.voided", "double draws", "interrupted shuffles", "consequences", "states"),
)

Json = Any
Message = tuple[str, bytes]


class Sessions(NamedTuple):
    defects: list[str]
    counts: Counter[str]
    lesson: list[Message]  # the messages of the lesson, at a table of Commission


def messages_of(table: Table) -> list[Message]:
    return [(each.topic, each.payload) for each in table.recorder.messages]


ENDS_A_WAIT: Final = tuple(f"event/round/{end}" for end in ("resumed", "voided", "abandoned", "overtaken"))


def difference(table: Table) -> str | None:
    """Each reported card has one event, in the order of the reports; only a cable that is out may lose a report."""
    faces: list[str | None] = []
    waits, cable_out = False, False
    for topic, payload in messages_of(table):
        cable_out = cable_out or topic == "event/device/offline"
        waits = topic == "event/round/suspended" or (waits and topic not in ENDS_A_WAIT)
        if not topic.startswith("event/card/"):
            continue
        card = json.loads(payload)["data"]
        later = "set_aside" in card or "source" in card or (waits and topic == "event/card/drawn")
        faces += [] if later else [card["card"]]  # a card that is drawn later was reported earlier, or never
    reported = iter(table.shoe.reported)
    in_order = all(face in reported for face in faces)
    if in_order and (cable_out or len(faces) == len(table.shoe.reported)):
        return None
    return f"the cards of the events are {faces}; the shoe reported {table.shoe.reported}"


async def play(world: World, seeds: range) -> list[Table]:
    """Play the sessions of these seeds, and the lesson."""
    lesson = Table(world, 900, "commission", "angel-eye", 0)
    lesson.gap_ms = 0  # without evidence from spacing, a busy machine causes no finding
    tables = [
        Table(world, 901 + seed - seeds[0], checker_book.GAMES[seed % 5], FAMILIES[(seed + seed // 5) % 5], seed)
        for seed in seeds
    ]
    async with dealing(world, [lesson, *tables]), asyncio.TaskGroup() as going:
        going.create_task(lesson.lesson())
        for table in tables:
            going.create_task(table.play(ROUNDS))
    return [lesson, *tables]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def played(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> AsyncIterator[Sessions]:
    sessions = Sessions([], Counter(), [])
    for first in range(0, SESSIONS, AT_ONCE):
        async with World(tmp_path_factory.mktemp("sessions"), broker) as world:
            lesson, *tables = await play(world, range(first, min(first + AT_ONCE, SESSIONS)))
        sessions.lesson[:] = messages_of(lesson)
        for table in tables:
            defects, counts = check(table.game, messages_of(table))
            named = [f"{each.law} at {each.sequence}: {each.text}" for each in defects] + [difference(table) or ""]
            found = [f"seed {table.seed}, {table.game}, {table.shoe.family}: {each}" for each in named if each]
            if found:
                kept = world.place / f"messages-{table.seed}"
                kept.write_text("".join(f"{topic} {payload.decode()}\n" for topic, payload in messages_of(table)))
                sessions.defects.extend([*found, f"its messages are in {kept}"])
            sessions.counts.update(counts + table.shoe.counts)
    yield sessions


def test_no_law_is_broken_in_a_random_session(played: Sessions) -> None:
    """The checker reads the messages alone, and knows the laws of cards, results, questions and states."""
    assert not played.defects, "\n".join(played.defects)


def test_the_sessions_contain_irregularities(played: Sessions) -> None:
    """Each type of event in `PLAYED` occurs."""
    width = max(map(len, played.counts))
    print(f"\n{SESSIONS} sessions")
    for name, count in sorted(played.counts.items()):
        print(f"{name:{width}} {count:8,}")
    assert [name for name in PLAYED if not played.counts[name]] == []


def test_the_checker_shares_no_code_with_the_project() -> None:
    """The modules of the checker import the standard library and each other only."""
    for module in (checker, checker_book, checker_round):
        assert module.__file__ is not None
        named: set[str] = set()
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                named.add(node.module or "")
        ours = {"tests", "tests.checker_book", "tests.checker_round"}
        assert named <= STANDALONE | ours


# --- damage


class Tape:
    """The messages of a table, and functions that damage them."""

    def __init__(self, messages: list[Message]) -> None:
        self.topics = [topic for topic, _ in messages]
        self.payloads: list[Json] = [json.loads(payload) if payload else None for _, payload in messages]

    @property
    def messages(self) -> list[Message]:
        return [
            (topic, b"" if payload is None else json.dumps(payload).encode())
            for topic, payload in zip(self.topics, self.payloads, strict=True)
        ]

    def at(self, topic: str, number: int = 0, **data: Json) -> int:
        """The position of a message with this topic and data; `number` counts such messages from 0."""
        found = [
            at
            for at, (each, payload) in enumerate(zip(self.topics, self.payloads, strict=True))
            if each == topic and (not data or (payload and data.items() <= payload.get("data", payload).items()))
        ]
        return found[number]

    def data(self, topic: str, number: int = 0, **data: Json) -> Json:
        payload = self.payloads[self.at(topic, number, **data)]
        return payload.get("data", payload)

    def copy(self, at: int) -> None:
        self.topics.insert(at, self.topics[at])
        self.payloads.insert(at, json.loads(json.dumps(self.payloads[at])))

    def drop(self, at: int) -> None:
        del self.topics[at], self.payloads[at]

    def renumber(self) -> None:
        """Number the events again without a gap, after an event was removed or added."""
        sequence = 0
        for topic, payload in zip(self.topics, self.payloads, strict=True):
            if topic.startswith("event/"):
                sequence += 1
                payload["id"] = f"{payload['id'].rpartition('-')[0]}-{sequence}"
                payload["sequence"] = str(sequence)
            elif topic == "state" and sequence:
                payload["sequence"] = str(sequence)


DRAWN: Final = "event/card/drawn"
COMPLETED: Final = "event/round/completed"
ANSWERED: Final = "event/question/answered"
CORRECTED: Final = "event/round/corrected"


def dropped(topic: str, number: int = 1) -> Callable[[Tape], None]:
    def damage(tape: Tape) -> None:
        tape.drop(tape.at(topic, number))

    return damage


def left_out(topic: str, number: int = 0) -> Callable[[Tape], None]:
    def damage(tape: Tape) -> None:
        tape.drop(tape.at(topic, number))
        tape.renumber()

    return damage


def twice(topic: str, number: int = 0) -> Callable[[Tape], None]:
    def damage(tape: Tape) -> None:
        tape.copy(tape.at(topic, number))
        tape.renumber()

    return damage


def changed(topic: str, number: int = 0, **values: Json) -> Callable[[Tape], None]:
    def damage(tape: Tape) -> None:
        data = tape.data(topic, number)
        assert {**data, **values} != data, "the damage changes nothing"
        data.update(values)

    return damage


def repeated(tape: Tape) -> None:
    """On a slow machine, the connection may have begun after the event."""
    at = tape.at(DRAWN, 1)
    tape.copy(at)
    tape.payloads[at + 1].pop("historical", None)


def repeated_with_other_data(tape: Tape) -> None:
    """An event is repeated after a reconnection, with other data."""
    at = tape.at(DRAWN, 1)
    tape.copy(at)
    tape.payloads[at + 1].update(historical=True)
    tape.payloads[at + 1]["data"]["card"] = "9H"


def swapped(tape: Tape) -> None:
    one, other = tape.at(DRAWN, 1), tape.at(DRAWN, 2)
    tape.payloads[one], tape.payloads[other] = tape.payloads[other], tape.payloads[one]


def pay_in_the_state(tape: Tape) -> None:
    tape.data("state", -1)["last_round"]["pays"]["tie"]["pays"] = "8:1"


def pay_of_the_settlement(tape: Tape) -> None:
    tape.data("event/round/settled")["pays"]["player"]["pays"] = "0.95:1"


def chosen(tape: Tape) -> Json:
    """The consequence of the choice that was made."""
    shown = tape.data("question", -1, question="reading")
    (found,) = [each for each in shown["consequences"] if each["choice"] == ["due"]]
    return found


def pay_of_a_consequence(tape: Tape) -> None:
    chosen(tape)["pays"]["banker-pair"] = "11:1"


def void_in_a_consequence(tape: Tape) -> None:
    chosen(tape)["void"] = "5.12"


def question_in_a_consequence(tape: Tape) -> None:
    chosen(tape)["then_asks"] = "option"


def hand_of_a_consequence(tape: Tape) -> None:
    hand = chosen(tape)["banker"]["cards"]
    hand[-1] = f"{hand[-1][:-1]}{'H' if hand[-1][-1] != 'H' else 'S'}"


def question_not_retained(tape: Tape) -> None:
    tape.drop(tape.at("question", -1, question="reading"))


def question_left_open(tape: Tape) -> None:
    """The messages end before the answer, and the last state lists no question."""
    at = tape.at(ANSWERED)
    del tape.topics[at:], tape.payloads[at:]
    tape.data("state", -1)["questions"] = []


def another_hand_in_the_state(tape: Tape) -> None:
    tape.data("state", -1)["hands"]["player"]["cards"] = []


def no_end_of_the_messages(tape: Tape) -> None:
    tape.drop(tape.at("state", -1))


def on_another_topic(tape: Tape) -> None:
    tape.topics[tape.at(DRAWN)] = "event/card/set-aside"


def before_its_time(tape: Tape) -> None:
    tape.data("state", -1)["device"]["heard_at"] = "2020-01-01T00:00:00.000000Z"


DAMAGES: Final[dict[str, tuple[str, Callable[[Tape], None]]]] = {
    "an event is dropped": ("sequence", dropped(DRAWN)),
    "an event is repeated": ("sequence", repeated),
    "an id has two contents": ("sequence", repeated_with_other_data),
    "two events are exchanged": ("sequence", swapped),
    "an event is on another topic": ("envelope", on_another_topic),
    "a card is published twice": ("card-once", twice(DRAWN, 2)),
    "a card has another face": ("hands", changed(DRAWN, 1, card="3S")),
    "a card that did not leave the shoe": ("card-once", changed(DRAWN, 7, card="9C")),
    "a card is in no hand": ("lost", changed("event/card/set-aside", 0, reason="not-due")),
    "a card is left out": ("slot", left_out(DRAWN, 1)),
    "a card is in the other hand": ("slot", changed(DRAWN, 1, hand="player")),
    "an index is wrong": ("index", changed(DRAWN, 1, index=1)),
    "points are wrong": ("points", changed(DRAWN, 1, points={"player": 8, "banker": 4})),
    "the slot that is due is wrong": ("slot", changed("event/round/resumed", 0, due={"hand": "player"})),
    "a result has another outcome": ("result", changed(COMPLETED, 0, outcome="tie")),
    "a pair is added": ("result", changed(COMPLETED, 0, pairs=["player"])),
    "a correction has another outcome": ("result", changed(CORRECTED, 0, outcome="banker")),
    "a correction supersedes nothing": ("supersedes", changed(CORRECTED, 0, supersedes="x")),
    "a confirmed result differs": ("result", changed("event/round/confirmed", 0, theirs=None)),
    "a pay of the state is wrong": ("pays", pay_in_the_state),
    "a pay of the settlement is wrong": ("pays", pay_of_the_settlement),
    "a pay of a consequence is wrong": ("pays", pay_of_a_consequence),
    "a round is skipped": ("round", changed("event/round/started", 1, round=3)),
    "a round has no end": ("phase", left_out(COMPLETED)),
    "a suspension has no end": ("suspension", left_out("event/round/resumed")),
    "a suspension is repeated": ("suspension", twice("event/round/suspended")),
    "a question is asked twice": ("question", twice("event/question/asked")),
    "an answer is left out": ("questions", left_out(ANSWERED)),
    "an answer has another revision": ("question", changed(ANSWERED, 0, revision=9)),
    "a question is left open": ("questions", question_left_open),
    "the question is not retained": ("first-question", question_not_retained),
    "a consequence has another hand": ("consequence", hand_of_a_consequence),
    "a consequence is void": ("consequence", void_in_a_consequence),
    "a consequence names a question": ("consequence", question_in_a_consequence),
    "the state has another phase": ("state", changed("state", -1, phase="complete")),
    "the state has another hand": ("state", another_hand_in_the_state),
    "the state has another round": ("state", changed("state", -1, round=7)),
    "the last state is missing": ("state", no_end_of_the_messages),
    "heard_at is too early": ("state", before_its_time),
}


@pytest.mark.parametrize("game", checker_book.GAMES)
def test_the_checker_reads_the_documents_as_the_books_do(game: str) -> None:
    """Both compute the same next card, outcome, pairs, pays and insurance for random hands."""
    dice = random.Random(game)
    ours = book(game)
    for _ in range(3000):
        hands = Hands()
        while (due := drawing.due(ours, hands)) is not None:
            both_hands = [[str(card) for card in hands.of(side)] for side in (Side.PLAYER, Side.BANKER)]
            assert checker_book.due(*both_hands) == due.value
            for stage, count in CARDS_AT.items() if ours.insurances else ():
                if count == len(hands):
                    offered = offers(ours, hands)[stage] or ()
                    assert checker_book.insurance(*both_hands) == {each.bet: each.odds.text for each in offered}
            hands = hands.with_card(due, dice.choice([*Card]))
        both_hands = [[str(card) for card in hands.of(side)] for side in (Side.PLAYER, Side.BANKER)]
        assert checker_book.due(*both_hands) is None
        paid = {bet: row.pays.text for bet, row in rows(ours, hands).items() if row is not None}
        assert checker_book.pays(game, *both_hands) == paid


def test_each_law_has_a_damage() -> None:
    """A law without a damage would not be tested."""
    source = Path(checker.__file__).read_text() + Path(checker_round.__file__).read_text()
    laws = set(re.findall(r'require\(\s*"([a-z-]+)"', source))
    assert laws == {law for law, _ in DAMAGES.values()}


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_is_detected_by_name(played: Sessions, damage: str) -> None:
    """The lesson has no defect. With the damage, the broken law is among the defects."""
    assert check("commission", Tape(played.lesson).messages)[0] == []
    law, done = DAMAGES[damage]
    tape = Tape(played.lesson)
    done(tape)
    assert law in [each.law for each in check("commission", tape.messages)[0]]
