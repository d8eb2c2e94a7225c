"""A table in full play, for the checker: a dealer draws cards from a virtual shoe, and a pit makes the decisions.

Theory of operation: the pit reads the retained `question` and `state` alone. It answers through the command socket, in
the role that the question names. It also gives notices, corrections and voids at random. The dealer usually waits for
the pit. A seed determines everything except the moments at which the daemon answers.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any, Final

import msgspec

from shoed.model.cards import Card
from shoed.model.irregularities import IrregularityKind
from shoed.rig.broker import Broker
from shoed.rig.device import Burn, Deal
from tests.command_clients import Client, client
from tests.drawn_shoe import SCALES, Shoe
from tests.witnesses import Recorder
from tests.world import World

GAP_MS: Final = 25  # `min_draw_gap_ms` on the clock of the shoes
KEYS: Final = {"angel-eye": "repeat_window_ms = 100", "bee-tek": "copies = 1; repeat_window_ms = 20", "open-shoe": ""}
MOST_ANSWERS: Final = 40  # before the next card
SUPERVISOR: Final = "pit-supervisor"

Json = Any  # a decoded payload


class Pit:
    """The people who make the decisions of one table. They use its topics and the command socket alone."""

    def __init__(self, table: str, recorder: Recorder, dice: Random) -> None:
        self.table = table
        self.recorder = recorder
        self.dice = dice
        self.socket: Client | None = None
        self.read = self.sequence = self.cards = self.online = self.commands = 0
        self.state: Json = None
        self.question: Json = None
        self.answered: Counter[str] = Counter()
        self.refusals: list[str] = []

    def look(self) -> int:
        """Read the messages since the last call. Return how often the shoe went online."""
        for message in self.recorder.messages[self.read :]:
            if message.topic == "state":
                self.state = message.json
            elif message.topic == "question":
                self.question = message.json if message.payload else None
            elif message.topic.startswith("event/"):
                event = message.json
                self.sequence = int(event["sequence"])
                if event["type"].startswith("shoed.card."):
                    self.cards += event["data"].get("count", 1)  # one event has all cards beyond a limit
                self.online += event["type"] == "shoed.device.online"
                if event["type"] == "shoed.question.answered":
                    self.answered[event["data"]["id"]] += 1
        self.read = len(self.recorder.messages)
        return self.online

    def asked(self) -> tuple[str, int] | None:
        """The id and the revision of the retained question."""
        self.look()
        return self.question and (self.question["id"], self.question["revision"])

    def answers_to(self, question: str) -> int:
        self.look()
        return self.answered[question]

    def is_quiet(self, cards: int) -> bool:
        asked = self.asked()
        first = next(iter(self.state["questions"]), None) if self.state is not None else None
        return (
            self.cards >= cards
            and self.state is not None
            and self.state["sequence"] == str(self.sequence)
            and asked == (first and (first["id"], first["revision"]))
        )

    async def quiet(self, cards: int) -> None:
        """Wait until this number of cards is published, and state and question include every event."""
        await self.recorder.until(lambda: self.is_quiet(cards))

    async def tell(self, command: dict[str, object], role: str | None = SUPERVISOR) -> bool:
        assert self.socket is not None
        self.commands += 1
        request = {"table": self.table, "id": f"{self.table}-{self.commands}", "author": "ann", "role": role}
        answer = await self.socket.request(msgspec.json.encode({**request, "command": command}) + b"\n")
        assert answer is not None
        if not answer.accepted:
            self.refusals.append(f"{command}: {answer.detail}")
        return answer.accepted

    async def decide(self, truth: Card | None, choice: str | list[str] | None = None) -> None:
        """Answer the retained question, with a random choice if none is given."""
        question = self.question
        choice = self.choice(question, truth) if choice is None else choice
        decision = {"command": "decide", "question": question["id"], "choice": choice}
        if self.dice.random() < 0.5:
            decision["revision"] = question["revision"]
        if question["bettor"] == "others" and self.dice.random() < 0.3:
            decision["bettor"] = f"bettor-{self.commands}"
        before = self.answered[question["id"]]
        if await self.tell(decision, question["role"] or "dealer"):
            await self.recorder.until(lambda: self.answers_to(question["id"]) > before)
        else:  # refused: the question has changed
            await self.recorder.until(lambda: self.asked() != (question["id"], question["revision"]))

    def choice(self, question: Json, truth: Card | None) -> str | list[str]:
        choices: list[str] = list(question["choices"])
        if question["question"] == "face":
            if truth is not None and self.dice.random() < 0.6:
                return str(truth)
            words: list[str] = [each["choice"][0] for each in question["consequences"] if " " not in each["choice"][0]]
            return self.dice.choice([str(self.dice.choice([*Card])), *words])
        if question["question"] == "card-order":
            return self.dice.sample(choices, len(choices))
        return self.dice.choice(choices)

    async def give_command(self) -> None:
        """Give a random command that answers no question, such as a notice, a correction or a void."""
        state, dice = self.state, self.dice
        count = sum(len(hand["cards"]) for hand in state["hands"].values())
        at = dice.randint(1, max(count, 1))
        commands: list[dict[str, object]] = [
            {"command": "notice", "kind": dice.choice([*IrregularityKind]).value, "at": at},
            {"command": "notice", "kind": dice.choice([*IrregularityKind]).value},
            {"command": "withdraw"},
            {"command": "late", "act": "bet"},
            {"command": "squeeze"},
            {"command": "settle"},
            {"command": "open-bets"},
            {"command": "close-bets"},
            {"command": "void"},
            {"command": "replace-set"},
            {"command": "empty-shoe"},
            {"command": "new-shoe"},
        ]
        if count:
            commands += [{"command": "correct", "index": at, "card": str(dice.choice([*Card]))}] * 3
        await self.tell(dice.choice(commands), dice.choice(["dealer", SUPERVISOR, "shift-manager"]))


class Table:
    """One table with its session, from the first card to the last answer."""

    def __init__(self, world: World, number: int, game: str, family: str, seed: int) -> None:
        self.name = f"bac-{number}"
        self.game = game
        self.gap_ms = GAP_MS
        self.seed = seed
        self.dice = Random(seed)
        self.shoe = Shoe(family, self.dice, str(world.place / f"tty-{number}") if seed % 2 else None)
        self.recorder = Recorder(f"{world.site}/{self.name}")
        self.pit = Pit(self.name, self.recorder, self.dice)
        self.drawn: list[Card] = []  # the cards of the present round, in the order in which they left the shoe

    @property
    def section(self) -> str:
        line = self.shoe.outlet.at
        keys = KEYS[self.shoe.family]
        if line.startswith("serial"):
            line += "?baud=115200"
        elif self.shoe.family == "angel-eye":
            keys += "; line_baud = 115200"
        return f"""
            [[table]]
            name = "{self.name}"
            game = "{self.game}"
            [table.shoe]
            protocol = "{self.shoe.family}"
            port = "{line}"
            min_draw_gap_ms = {self.gap_ms}
            {keys.replace("; ", chr(10))}
        """

    async def connect(self, broker: Broker, lines: asyncio.TaskGroup, ends: AsyncExitStack) -> None:
        """Connect the outlet of the shoe and the subscriber, until the end of the stack."""
        await self.shoe.outlet.open()
        ends.push_async_callback(self.shoe.outlet.close)
        await self.recorder.listen(broker)
        ends.push_async_callback(self.recorder.leave)
        transmitting = lines.create_task(self.shoe.virtual.transmitter.run(self.shoe.outlet))
        ends.callback(transmitting.cancel)

    async def quiet(self) -> None:
        await self.pit.quiet(len(self.shoe.reported))

    async def answers(self, share: float) -> None:
        """Answer open questions, each with the probability `share`."""
        await self.quiet()
        for _ in range(MOST_ANSWERS):
            question = self.pit.question
            if question is None or self.dice.random() > (share / 2 if question["optional"] else share):
                return
            at = question["index"]
            truth = self.drawn[at - 1] if at is not None and at <= len(self.drawn) else None
            await self.pit.decide(truth)
            await self.quiet()

    async def play(self, rounds: int) -> None:
        """Play this number of rounds; with a slower shoe fewer, in the same time."""
        await self.shoe.begin()
        for _ in range(round(rounds * SCALES["angel-eye"] / self.shoe.scale)):
            await self.between_rounds()
            await self.one_round()
        await self.answers(1.0 if self.seed % 4 else 0.0)  # some sessions end with open questions
        await self.quiet()

    async def between_rounds(self) -> None:
        dice, shoe = self.dice, self.shoe
        await self.answers(0.97)
        self.drawn = []
        if dice.random() < 0.4:
            await self.pit.give_command()
        if dice.random() < 0.06:
            await shoe.new_set()
        if dice.random() < 0.05:
            burnt = shoe.set.pop()
            await shoe.do(0.5, Burn((burnt,), 0), burnt)
        if dice.random() < 0.02:
            await self.away()
        if dice.random() < 0.3:
            await self.pit.tell({"command": "open-bets"}, "dealer")
            if dice.random() < 0.5:
                await self.pit.tell({"command": "close-bets"}, "dealer")
            await self.quiet()

    async def one_round(self) -> None:
        dice, shoe = self.dice, self.shoe
        if shoe.family == "angel-eye" and shoe.hands.player and not shoe.complete:  # the shoe waits for a card
            await shoe.do(0.2, Deal((), 0, "forced-end"))
        shoe.new_round()
        for pause_s, report, cards in shoe.draws():
            if report.card == 0:
                self.drawn += cards
            await shoe.passes(pause_s, report, cards)
            if report.card == 0 and len(cards) > 1:
                continue  # the next report has the other card of the draw
            if dice.random() < 0.5:
                await self.answers(0.97)
            if dice.random() < 0.05:
                await self.pit.give_command()
            if dice.random() < 0.005:
                await self.away()
        if dice.random() < 0.06 and shoe.family == "angel-eye":
            await shoe.overdraw()

    async def away(self) -> None:
        await self.quiet()  # the cable loses bytes that are not read yet
        online = self.pit.online
        await self.shoe.pull()
        await self.shoe.outlet.plug()
        await self.recorder.until(lambda: self.pit.look() > online)
        self.shoe.greet()

    async def lesson(self) -> None:
        """A fixed session: a settlement, a burnt card between two rounds and one in a round, a correction, a void."""
        shoe, pit = self.shoe, self.pit
        await shoe.begin()
        await self.deal("8S", "3H", "KS", "4H")
        await pit.tell({"command": "settle"})
        await shoe.do(0.5, Burn((Card.D9,), 0), Card.D9)
        await self.deal("2S", "3S", "4S")
        await shoe.do(0.5, Burn((Card.S5,), 0), Card.S5)
        await self.quiet()
        await pit.decide(None, "due")
        await self.quiet()
        await shoe.do(0.5, Deal((), 0, "forced-end"))
        await self.deal("9S", "2H", "KH", "3C")
        await pit.tell({"command": "correct", "index": 1, "card": "8D"})
        await self.deal("2D", "7D", "KD", "3D", "6D")
        await pit.tell({"command": "void"})
        await self.quiet()

    async def deal(self, *faces: str) -> None:
        self.shoe.new_round()
        for face in map(Card.parse, faces):
            await self.shoe.do(0.6, Deal((face,), 0), face)
        await self.quiet()


@asynccontextmanager
async def dealing(world: World, tables: list[Table]) -> AsyncIterator[None]:
    """Connect the shoes of all tables to one daemon."""
    path = world.place / "c.toml"
    path.write_text(f"""
        [site]
        name = "{world.site}"
        state_dir = "{world.state_dir}"
        [mqtt]
        url = "mqtt://{world.broker.host}:{world.broker.port}"
        {"".join(table.section for table in tables)}
    """)
    async with asyncio.TaskGroup() as lines, AsyncExitStack() as ends:
        for table in tables:
            await table.connect(world.broker, lines, ends)
        daemon = await world.launch(path)
        await daemon.ready()
        for table in tables:
            table.pit.socket = await ends.enter_async_context(client(world.state_dir))
        yield
        assert await daemon.stop() == 0
