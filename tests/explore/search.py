"""The search: breadth first over the states of one table. Each state is expanded once.

Theory of operation: level N has the states that require N costly inputs, and all states that honest play and answers
reach from them. Level N is complete before level N + 1 begins. Each state keeps its parent and the input between them:
a broken law has the sequence with the fewest costly inputs. A transition that breaks a law is not expanded.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Final, NamedTuple

import msgspec

from shoed.model.commands import Answer, Decide
from shoed.model.events import Event
from shoed.model.observations import Side
from shoed.model.step import Commanded
from shoed.table import (
    PublicQuestion,
    PublicState,
    Table,
    TableSettings,
    TableState,
    fold,
    public_question,
    public_state,
)
from tests.explore.inputs import NOW, PORT, Input, Slot, inputs, too_low
from tests.explore.keys import key_of
from tests.explore.laws import (
    Broken,
    Transition,
    Witness,
    check,
    check_consequence,
    check_first,
    require,
    where,
    without_end,
)

RESTORED_EACH: Final = 4  # one transition of 4 is compared with the transition of the restored state
ROW: Final = 1


class Found(NamedTuple):
    """A broken law, and the shortest known inputs that break it."""

    law: str
    message: str
    path: tuple[str, ...]

    @property
    def signature(self) -> str:
        """The message without its numbers and cards."""
        return f"{self.law}: {re.sub(r'[0-9]+[SHDC]?|[JQKA][SHDC]', '#', self.message)}"


class Level(NamedTuple):
    """A complete level."""

    depth: int
    states: int
    transitions: int


class Folded(NamedTuple):
    state: TableState
    events: tuple[Event, ...]
    answers: tuple[Answer, ...]


class Node(NamedTuple):
    key: bytes
    state: TableState
    witness: Witness


class Explorer:
    def __init__(self, game: str, out_of_time: Callable[[], bool], *, stops: bool = False) -> None:
        self.settings = TableSettings(game, PORT, "word-bac-901")
        self.out_of_time = out_of_time
        self.stops = stops  # at the first broken law
        self.parents: dict[bytes, tuple[bytes, str] | None] = {}
        self.suspended: dict[bytes, bool] = {}
        self.answers: dict[bytes, set[bytes]] = {}
        self.found: dict[str, Found] = {}
        self.transitions = 0

    @property
    def game(self) -> str:
        return self.settings.game

    def explore(self, deepest: int) -> Iterator[Level]:
        """The complete levels, in order, until the time limit."""
        first = TableState()
        start = Node(key_of(first), first, Witness(self.game))
        self.parents[start.key] = None
        self.suspended[start.key] = False
        level = [start]
        for depth in range(deepest + 1):
            whole = yield from self.level_of(level, depth)
            if self.ends():
                return
            following: list[Node] = []
            for node in whole if depth < deepest else ():
                if self.ends():
                    return
                following += self.expanded(node, depth, costly=True)
            level = following

    def level_of(self, level: list[Node], depth: int) -> Generator[Level, None, list[Node]]:
        """Yield the level if all its states were expanded. The result has these states."""
        whole: list[Node] = []
        frontier = deque(level)
        while frontier:
            if self.ends():
                return []
            node = frontier.popleft()
            whole.append(node)
            frontier += self.expanded(node, depth, costly=False)
        for key in without_end(self.suspended, self.answers):
            self.note(Broken("suspended", "no sequence of answers ends the suspension"), key, "")
        yield Level(depth, len(self.parents), self.transitions)
        return whole

    def ends(self) -> bool:
        return self.out_of_time() or (self.stops and bool(self.found))

    def expanded(self, node: Node, depth: int, *, costly: bool) -> Iterator[Node]:
        """The new states after one input, with or without cost."""
        asked = self.question(node.state)
        restored = msgspec.json.decode(msgspec.json.encode(node.state), type=TableState)
        shown = public_state(self.game, node.state, insurance=self.settings.insurance)
        answered = self.answers.setdefault(node.key, set())
        if not costly:
            self.verify(node, restored, asked)
        for each in inputs(shown, asked, reported(node.state), honest=not depth):
            if bool(each.cost) is not costly:
                continue
            self.transitions += 1
            try:
                key, state, witness = self.taken(node, restored, each, shown, asked)
            except Broken as broken:
                self.note(broken, node.key, each.name)
                continue
            if is_answer(each):
                answered.add(key)
            if key not in self.parents:
                self.parents[key] = (node.key, each.name)
                self.suspended[key] = state.phase.value == "suspended"
                yield Node(key, state, witness)

    def question(self, state: TableState) -> PublicQuestion | None:
        return public_question(self.game, state, insurance=self.settings.insurance)

    def taken(
        self, node: Node, restored: TableState, each: Input, was_shown: PublicState, asked: PublicQuestion | None
    ) -> Node:
        """The state after one input, if every law holds."""
        try:
            after = self.folded(node.state, each)
            shown = public_state(self.game, after.state, insurance=self.settings.insurance)
            key = key_of(after.state)
            known = key in self.parents and not is_answer(each)  # then its question was verified
            asks = None if known else self.question(after.state)
        except Exception as error:
            raise Broken("exception", where(error)) from error
        witness = node.witness.copied()
        for event in after.events:
            witness.receive(event)
        done = Transition(each, node.state, after.state, after.events, after.answers, was_shown, shown, asked, asks)
        check(done, witness)
        if not known:
            check_first(done)
        if is_answer(each):
            check_consequence(done, each.name.removeprefix("answer "))
        if self.transitions % RESTORED_EACH == 0:
            require("json", "the restored state has other outputs", holds=self.folded(restored, each) == after)
        return Node(key, after.state, witness)

    def folded(self, state: TableState, each: Input) -> Folded:
        after = fold(Table(self.settings, state, ROW), each.seen, each.given, each.findings, NOW)
        return Folded(after.state, after.events, after.answers)

    def verify(self, node: Node, restored: TableState, asked: PublicQuestion | None) -> None:
        """Verify a state by itself: it can be restored, and a lower role cannot answer its question."""
        if restored != node.state:
            self.note(Broken("json", "the restored state differs"), node.key, "")
        if asked is None:
            return
        each = too_low(asked)
        after = self.folded(node.state, each)
        if after.answers[0].accepted or after.events or after.state != node.state:
            self.note(
                Broken("answerable", f"{asked.question} requires {asked.role}, and a lower role may answer"),
                node.key,
                each.name,
            )

    def note(self, broken: Broken, key: bytes, last: str) -> None:
        found = Found(broken.law, broken.message, (*self.path(key), *((last,) if last else ())))
        self.found.setdefault(found.signature, found)

    def path(self, key: bytes) -> tuple[str, ...]:
        names: list[str] = []
        while (parent := self.parents[key]) is not None:
            key = parent[0]
            names.append(parent[1])
        return tuple(reversed(names))


def reported(state: TableState) -> set[Slot]:
    """The slots that the device reported in this round."""
    cards = msgspec.to_builtins(state)["record"].get("cards", ())
    seen = [each["seen"] for each in cards if each.get("seen", {}).get("hand")]
    return {(Side(each["hand"]), each["position"]) for each in seen}


def is_answer(each: Input) -> bool:
    return isinstance(each.given, Commanded) and isinstance(each.given.command, Decide) and not each.cost
