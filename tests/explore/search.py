"""The search: breadth first over the states of one table, each expanded once.

Theory of operation: level N holds the states that need N costly inputs, and all that honest play and answers reach from
them; it is complete before level N + 1 begins. Each state keeps its parent and the input between them, so that a broken
law names the shortest sequence in costly inputs. A transition that breaks a law is not followed further.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Final, NamedTuple

import msgspec

from shoed.commands import Answer, Decide
from shoed.events import Event
from shoed.observations import Pair
from shoed.step import Told
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

RESTORED_EACH: Final = 4  # one transition in so many is compared with that of the restored state
ROW: Final = 1


class Found(NamedTuple):
    """A broken law, and the shortest known inputs that break it."""

    law: str
    message: str
    path: tuple[str, ...]

    @property
    def signature(self) -> str:
        """What remains of the message without its numbers and cards."""
        return f"{self.law}: {re.sub(r'[0-9]+[SHDC]?|[JQKA][SHDC]', '#', self.message)}"


class Level(NamedTuple):
    """A level that is complete."""

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
        """The levels, one by one; it ends early when the time is over."""
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
        """All states of a level, and the level itself if none is left out."""
        whole: list[Node] = []
        frontier = deque(level)
        while frontier:
            if self.ends():
                return []
            node = frontier.popleft()
            whole.append(node)
            frontier += self.expanded(node, depth, costly=False)
        for key in without_end(self.suspended, self.answers):
            self.note(Broken("suspended", "no answers lead out"), key, "")
        yield Level(depth, len(self.parents), self.transitions)
        return whole

    def ends(self) -> bool:
        return self.out_of_time() or (self.stops and bool(self.found))

    def expanded(self, node: Node, depth: int, *, costly: bool) -> Iterator[Node]:
        """The states after one input with or without cost, as far as they are new."""
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
            witness.hear(event)
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
        """What holds of a state, whatever follows: it can be restored, and no lower role answers its question."""
        if restored != node.state:
            self.note(Broken("json", "the restored state differs"), node.key, "")
        if asked is None:
            return
        each = too_low(asked)
        after = self.folded(node.state, each)
        if after.answers[0].accepted or after.events or after.state != node.state:
            self.note(
                Broken("answerable", f"{asked.question} takes {asked.role}: a lower role counts"), node.key, each.name
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
    return {(Pair(each["hand"]), each["position"]) for each in seen}


def is_answer(each: Input) -> bool:
    return isinstance(each.given, Told) and isinstance(each.given.command, Decide) and not each.cost
