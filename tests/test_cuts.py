"""Kills of the daemon and cuts of its line while a shoe deals at full speed: two rounds are never joined into one.

Theory of operation. The rig's Angel Eye deals without a pause over a line of 4800 baud, with or without a host, and
logs its reports. Half of the cuts lose whole cycles of nine reports, so the next sequence number is the successor.
These cuts begin where the card after the cut fits the hand before it: a host that trusts the number joins two rounds.
(Rounds of five to seven reports need two cycles for that.) All other cuts, and the kills, have a random length. The
test then compares the received events with the log, by their times.

`./dev cuts N` makes N kills and N cuts of each run in place of a few.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
import pytest_asyncio

from firmware_protocols.angel_eye import (
    AngelEyeFace,
    AngelEyeReport,
    AngelEyeResult,
    AngelEyeSettings,
    CardInGame,
    StartOfCommunication,
    Target,
)
from firmware_protocols.family import Line
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.angel_eye import AngelEyeDevice
from shoed.rig.broker import Broker
from shoed.rig.dealer import TARGETS, deal
from shoed.rig.outlets import PtyOutlet, TcpOutlet
from shoed.rig.virtual import Transmitter
from shoed.rules import drawing
from shoed.rules.drawing import Hands as Lying
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES
from tests.command_clients import client
from tests.patience import PATIENCE_S
from tests.witnesses import TABLE
from tests.world import World

pytestmark = pytest.mark.slow
EACH: Final = int(os.environ.get("SHOED_CUTS", "2"))  # kills, and as many cuts, of one run
BAUD: Final = 4800
CYCLE: Final = 9
CYCLES: Final = (9, 18, 27, 36)
AHEAD: Final = 4000  # reports that are searched for the places of cuts
LONGEST_ROUND: Final = 7  # reports, with the result
MOST_PEACE: Final = 12  # reports between two absences
LONGEST_ABSENCE_S: Final = 1.2
SAME_NUMBER: Final = CYCLE - 1  # after so many lost reports the number equals the last number, which proves nothing
CARDS: Final = {face: card for card, face in FACES.items()}
FIRST: Final = (Target.PLAYER, 1)
BOOK: Final = book("commission")  # all games use the same rules for drawing
MOST_ANSWERS: Final = 16
ROLE: Final = "shift-manager"
SEEDS: Final = {("tcp", True): 1, ("tcp", False): 2, ("pty", True): 3, ("pty", False): 4}


class Logged(NamedTuple):
    """One report of the shoe, with the times of its copies."""

    begun_us: int
    report: AngelEyeReport
    round: int  # the number of the round of the shoe, from 1; 0: no round

    @property
    def card(self) -> str | None:
        code = getattr(self.report, "card", None)
        return str(CARDS[code]) if isinstance(code, AngelEyeFace) else None


Hands = tuple[tuple[str, ...], tuple[str, ...]]  # Player's cards and Banker's cards


def hands_of(logged: list[Logged]) -> Hands:
    hands: dict[Target, list[str]] = {Target.PLAYER: [], Target.BANKER: []}
    for each in logged:
        if isinstance(each.report, CardInGame) and each.report.target in hands and each.card is not None:
            hands[each.report.target].append(each.card)
    return tuple(hands[Target.PLAYER]), tuple(hands[Target.BANKER])


class Rig:
    """The shoe, and its log."""

    def __init__(self, outlet: TcpOutlet | PtyOutlet, seed: int) -> None:
        self.outlet = outlet
        self.device = AngelEyeDevice(AngelEyeSettings())
        self.transmitter = Transmitter(Line(BAUD))
        dealt = deal(random.Random(seed), 8)
        self.coming: list[AngelEyeReport] = [next(dealt).report for _ in range(AHEAD)]
        self.log: list[Logged] = []
        self.round = 0

    @property
    def at(self) -> int:
        return len(self.log)

    async def say(self, reports: int = 1) -> None:
        for _ in range(reports):
            report = self.coming[self.at]
            if slot(report) == FIRST:
                self.round += 1
            of = self.round if slot(report) is not None or isinstance(report, AngelEyeResult) else 0
            self.log.append(Logged(now().utc_us, report, of))
            self.transmitter.send(self.device.say(report, now()))
            await self.transmitter.idle.wait()

    @property
    def on_the_table(self) -> Hands:
        return hands_of([each for each in self.log if each.round == self.round])

    def joins(self) -> tuple[int, int]:
        """The reports until a hand that the cards after a cut would complete, and the reports that the cut loses."""
        for first in range(self.at, AHEAD):
            begun = max((place for place in range(first + 1) if slot(self.coming[place]) == FIRST), default=first)
            for lost in CYCLES:
                after = first + 1 + lost
                lying, rest = self.coming[begun : first + 1], self.coming[after : after + LONGEST_ROUND]
                there = self.coming[after - len(lying) : after]  # the cards of that hand: they may be equal by chance
                if slot(lying[-1]) and slot(rest[0]) and whole([*lying, *rest]) and faces(lying) != faces(there):
                    return first + 1 - self.at, lost
        raise AssertionError("the shoe has no such place left")

    async def until_the_end_of_a_round(self) -> None:
        while not isinstance(self.coming[self.at - 1], AngelEyeResult):
            await self.say()


def slot(report: AngelEyeReport) -> tuple[Target, int] | None:
    if isinstance(report, CardInGame) and report.target in (Target.PLAYER, Target.BANKER):
        return report.target, report.index
    return None


def faces(reports: list[AngelEyeReport]) -> list[object]:
    return [getattr(each, "card", None) for each in reports]


def whole(reports: list[AngelEyeReport]) -> bool:
    """Whether the reports begin with a round that follows the Table of Play, with its result."""
    hands = Lying()
    for report in reports:
        due = drawing.due(BOOK, hands)
        if due is None:
            return isinstance(report, AngelEyeResult)
        face = getattr(report, "card", None)
        if slot(report) != (TARGETS[due], len(hands.of(due)) + 1) or not isinstance(face, AngelEyeFace):
            return False
        hands = hands.with_card(due, CARDS[face])
    return False


@asynccontextmanager
async def rig_on(kind: str, place: Path, seed: int) -> AsyncIterator[Rig]:
    outlet: TcpOutlet | PtyOutlet = (
        TcpOutlet(TcpAddress("127.0.0.1", 0), lambda _: None, patient=False)
        if kind == "tcp"
        else PtyOutlet(str(place / "tty"), lambda _: None)
    )
    rig = Rig(outlet, seed)
    await outlet.open()
    transmitting = asyncio.create_task(rig.transmitter.run(outlet))
    try:
        yield rig
    finally:
        transmitting.cancel()
        await outlet.close()


class Run:
    """One table with cuts and kills, and optionally a supervisor."""

    def __init__(self, world: World, rig: Rig, rng: random.Random, *, supervised: bool) -> None:
        self.world = world
        self.rig = rig
        self.rng = rng
        self.supervised = supervised
        self.path = world.place / "c.toml"
        self.path.write_text(f"""
            [site]
            name = "{world.site}"
            state_dir = "{world.state_dir}"
            [mqtt]
            url = "mqtt://{world.broker.host}:{world.broker.port}"
            [[table]]
            name = "{TABLE}"
            game = "commission"
            [table.shoe]
            protocol = "angel-eye"
            port = "{rig.outlet.at}"
            min_draw_gap_ms = 0  # the shoe deals at the speed of its line
        """)
        self.commands = 0

    async def start(self) -> None:
        daemon = await self.world.launch(self.path)
        await daemon.ready()
        await self.heard()

    async def heard(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.rig.outlet.connected.wait()

    async def deal_for(self, seconds: float) -> None:
        until_us = now().utc_us + seconds * 1e6
        while now().utc_us < until_us:
            await self.rig.say()

    # --- absences

    async def joining_cut(self) -> None:
        """Whole cycles are lost, and the next card fits the hand before them."""
        ahead, lost = self.rig.joins()
        await self.rig.say(ahead)
        await self.read()
        await self.rig.outlet.pull()
        await self.rig.say(lost)
        await self.rig.outlet.plug()
        await self.heard()

    async def any_cut(self) -> None:
        await self.rig.outlet.pull()
        await self.deal_for(self.rng.uniform(0, LONGEST_ABSENCE_S))
        await self.rig.outlet.plug()
        await self.deal_for(self.rng.uniform(0, LONGEST_ABSENCE_S))  # until the daemon returns, and perhaps longer
        await self.heard()

    async def kill(self) -> None:
        await self.world.daemons[-1].kill()
        await self.deal_for(self.rng.uniform(0, LONGEST_ABSENCE_S))
        starting = asyncio.create_task(self.start())
        await self.deal_for(self.rng.uniform(0, LONGEST_ABSENCE_S))
        await starting

    async def read(self) -> None:
        """The daemon has published the last card of the shoe."""
        last = next((each for each in reversed(self.rig.log) if each.card), None)
        if last is not None:
            await self.world.recorder.until(lambda: any(at(event) > last.begun_us for event in self.news))

    @property
    def news(self) -> list[Any]:
        return [each for each in self.world.recorder.events()[-8:] if each["type"].startswith("shoed.card.")]

    # --- the supervisor

    @property
    def question(self) -> Any:  # noqa: ANN401  # JSON
        asked = self.world.recorder.on(f"{TABLE}/question")
        return asked[-1].json if asked and asked[-1].payload else None

    async def supervise(self) -> None:
        """The dealer waits. Each question gets the answer with the cards on the table, or the round is voided."""
        for _ in range(MOST_ANSWERS):
            question = self.question
            if question is None or question["optional"]:  # of a completed round
                return
            before, choice = self.questions, self.truth(question)
            answer: dict[str, object] = {"command": "void"}
            if choice is not None:
                answer = {"command": "decide", "question": question["id"], "choice": choice}
            if not await self.tell(answer):
                return
            await self.asked_again(before)

    def truth(self, question: Any) -> str | list[str] | None:  # noqa: ANN401  # JSON
        """The answer that matches the cards on the table; None: no choice matches."""
        dealt = [each.card for each in self.rig.log if each.round == self.rig.round and each.card]
        index, listed = question["index"], [each["card"] for each in question["cards"]]
        if question["question"] == "face" and listed[: index - 1] == dealt[: index - 1]:
            return str(dealt[index - 1])
        if question["question"] == "gap":
            lying, waiting = listed[: index - 1], listed[index - 1]
            if lying != dealt[: len(lying)] or waiting not in dealt[len(lying) :]:
                return "none-of-these"
            return "cards-shown" if dealt[len(lying)] == waiting else "missed"
        for each in question["consequences"]:
            if shown(each) == self.rig.on_the_table and not each["carried"]:
                choice, *more = each["choice"]
                return [choice, *more] if more else choice
        return None

    async def asked_again(self, before: int) -> None:
        await self.world.recorder.until(lambda: self.questions > before)

    @property
    def questions(self) -> int:
        return len(self.world.recorder.on(f"{TABLE}/question"))

    async def tell(self, command: dict[str, object]) -> bool:
        self.commands += 1
        request = {"table": TABLE, "id": f"cuts-{self.commands}", "author": "ann", "role": ROLE, "command": command}
        async with client(self.world.state_dir) as supervisor:
            answer = await supervisor.request(msgspec.json.encode(request) + b"\n")
        return answer is not None and answer.accepted

    # --- the whole run

    async def go(self, each: int) -> None:
        await self.start()
        absences = [self.kill] * each + [self.joining_cut] * ((each - 1) // 2) + [self.any_cut] * (each // 2)
        self.rng.shuffle(absences)
        absences.insert(0, self.joining_cut)
        for absence in absences:
            await self.rig.say(self.rng.randint(1, MOST_PEACE))
            await absence()
            await self.rig.say()
            if self.supervised:
                while self.rig.log[-1].card is None:  # the last report may cause no event
                    await self.rig.say()
                await self.read()
                await self.supervise()
            if absence == self.joining_cut:  # a joined hand is published as a whole
                await self.rig.until_the_end_of_a_round()
        await self.rig.until_the_end_of_a_round()
        await self.rig.say()
        await self.rig.until_the_end_of_a_round()
        await self.read()
        await self.world.all_published()


def at(event: Any) -> int:  # noqa: ANN401  # JSON
    return round(datetime.fromisoformat(event["time"]).timestamp() * 1e6)


def shown(event: Any) -> Hands:  # noqa: ANN401  # JSON
    return tuple(event["player"]["cards"]), tuple(event["banker"]["cards"])


# --- the events of the subscriber, compared with the log of the shoe


class Published:
    """Every event once, in order."""

    def __init__(self, run: Run) -> None:
        self.log = run.rig.log
        once = {event["id"]: event for event in run.world.recorder.events()}
        self.events = sorted(once.values(), key=lambda event: int(event["sequence"]))

    def of(self, *kinds: str) -> list[Any]:
        return [event for event in self.events if event["type"].removeprefix("shoed.") in kinds]

    def completed(self) -> list[Any]:
        """The data of each completed round, with its last correction."""
        last: dict[tuple[int, int], Any] = {}
        for event in self.of("round.completed", "round.corrected"):
            data = event["data"]
            last[data["shoe"], data["round"]] = {**last.get((data["shoe"], data["round"]), {}), **data}
        return list(last.values())

    def report_of(self, event: Any, places: Iterable[int]) -> int:  # noqa: ANN401  # JSON
        """The report of an event among these reports: the last one that had begun."""
        moment = at(event)
        return max(place for place in places if self.log[place].begun_us <= moment)

    def heard(self) -> list[int]:
        """The published reports: cards, and results of complete rounds."""
        places = set()
        for event in self.of("card.drawn", "card.set-aside", "round.confirmed", "round.disputed"):
            card = event["data"].get("card")
            places.add(self.report_of(event, self.results() if card is None else self.faced(card)))
        return sorted(places)

    def results(self) -> list[int]:
        return [place for place, each in enumerate(self.log) if isinstance(each.report, AngelEyeResult)]

    def faced(self, card: str) -> list[int]:
        return [place for place, each in enumerate(self.log) if each.card == card]

    def numbered(self, number: str) -> list[int]:
        return [place for place in range(len(self.log)) if str(place % CYCLE + 1) == number]

    def absences(self) -> Iterator[tuple[int, int]]:
        """The last report before each loss of a card, and the first report after it."""
        for before, after in pairwise(self.heard()):
            if any(each.card is not None for each in self.log[before + 1 : after]):
                yield before, after


def joined(published: Published) -> list[Hands]:
    """Completed hands that no round was dealt in, each round once and in order."""
    last = max(each.round for each in published.log)
    rounds = [hands_of([each for each in published.log if each.round == number]) for number in range(1, last + 1)]
    found = []
    for hand in map(shown, published.completed()):
        if hand in rounds:
            del rounds[: rounds.index(hand) + 1]
        else:
            found.append(hand)
    return found


def unnamed(published: Published) -> list[tuple[int, int]]:
    """Losses with a jump that no `line/missed` reports, without losses that cannot be counted from the log."""
    named = [at(event) for event in published.of("line.missed")]
    found = []
    for before, after in published.absences():
        between = published.log[before + 1 : after]
        silent = [each for each in between if each.card is None]  # perhaps received: these reports cause no event
        possible = range(len(between) - len(silent), len(between) + 1)
        sure = not any(number % CYCLE in (0, SAME_NUMBER) for number in possible)
        starts = any(isinstance(each.report, StartOfCommunication) for each in published.log[before : after + 1])
        begun_us, latest_us = published.log[before].begun_us, limit(published, after)
        if sure and not starts and not any(begun_us < each <= latest_us for each in named):
            found.append((before, after))
    return found


def limit(published: Published, after: int) -> int:
    """The latest time of the report after an absence."""
    return published.log[after].begun_us + 1_000_000


def excessive(published: Published) -> list[Any]:
    """Jumps of more reports than were dealt since the last received report."""
    heard, found = published.heard(), []
    for event in published.of("line.missed"):
        place = published.report_of(event, published.numbered(event["data"]["seen"]))
        before = max((each for each in heard if each < place), default=0)
        if event["data"]["at_least"] is None or event["data"]["at_least"] >= place - before:
            found.append(event)
    return found


def incomplete(published: Published) -> list[Hands]:
    """Rounds with integrity `complete` and a card that was not received."""
    heard = set(published.heard())
    unheard = {each.round for place, each in enumerate(published.log) if each.card is not None and place not in heard}
    lacking = {hands_of([each for each in published.log if each.round == number]) for number in unheard - {0}}
    return [shown(each) for each in published.completed() if each["integrity"] == "complete" and shown(each) in lacking]


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="session",
    params=[
        pytest.param((kind, supervised), id=f"{kind}-{'answered' if supervised else 'left'}")
        for kind in ("tcp", "pty")
        for supervised in (True, False)
    ],
)
async def published(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, broker: Broker
) -> Published:
    """One run, with a supervisor who answers from the cards on the table, or without answers."""
    kind, supervised = request.param
    place = tmp_path_factory.mktemp("cuts")
    seed = SEEDS[request.param]
    async with World(place, broker) as world, rig_on(kind, place, seed) as rig:
        run = Run(world, rig, random.Random(seed), supervised=supervised)
        await run.go(EACH)
        return Published(run)


def test_every_completed_hand_was_dealt_as_one_round(published: Published) -> None:
    """No published hand contains cards of two rounds, or lacks a card."""
    assert joined(published) == []


def test_every_jump_is_reported(published: Published) -> None:
    """`line/missed` reports it, in a hand and between rounds, with no more reports than were lost."""
    assert list(published.absences())
    assert unnamed(published) == []
    assert excessive(published) == []


def test_a_round_without_a_report_is_not_marked_complete(published: Published) -> None:
    """A card that no host received makes its round partial at least."""
    assert published.completed()
    assert incomplete(published) == []
