"""The same situations through real daemons: each table a pty with a shoe, told by the socket, heard by a broker.

Theory of operation: all situations are dealt at once, as tables of one daemon; those in which a daemon is killed are
tables of another, which waits until all of them are so far. How many events a step has is known from the engine: so
nobody waits for what does not come, and whatever comes beyond is found with the next step, or behind the last.
Where moments count, a situation is not judged if the daemon stood still and read late, as its record says.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from shoed.telling import Request, line_of
from tests import scenario
from tests.angel_eye_line import report
from tests.foreign_shoe import PtyShoe
from tests.scenario import EXPECTED_TO_FAIL, OF_THE_LINE, Came, Ended, Scenario, check, check_end, every, matter_of
from tests.scenario_table import COPIES, play, told
from tests.tellers import Client, client, shoed
from tests.witnesses import PATIENCE_S, Message, Recorder
from tests.world import SLOW_PORT, World

APART_MS: Final = 400  # where spacing is evidence, and the file says nothing else
TELLERS: Final = 8  # at a time; the socket serves 32

BY_LINE: Final = [each for each in every() if each.by_line and each.name not in EXPECTED_TO_FAIL]
KILLS: Final = [each for each in BY_LINE if any(step.daemon for step in each.step)]
QUIET: Final = [each for each in BY_LINE if each not in KILLS]


class Ears(Recorder):
    """A recorder that wakes a table's people for their own table alone."""

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self.last: dict[str, Message] = {}
        self.tables: dict[str, asyncio.Event] = {}

    def _hear(self, message: Message) -> None:
        super()._hear(message)
        self.last[message.topic] = message
        self.at(message.topic.partition("/")[0]).set()

    def at(self, table: str) -> asyncio.Event:
        return self.tables.setdefault(table, asyncio.Event())

    def retained(self, topic: str) -> Any:  # noqa: ANN401  # JSON
        message = self.last.get(topic)
        return message.json if message and message.payload else None


class Site:
    """One daemon for many situations, and those who wait for its death."""

    def __init__(self, world: World, ears: Ears, killed: int) -> None:
        self.world = world
        self.ears = ears
        self.tellers: asyncio.Queue[Client] = asyncio.Queue()
        self.connections = AsyncExitStack()
        self.down = asyncio.Barrier(max(1, killed))
        self.up = asyncio.Barrier(max(1, killed))
        self.path = world.place / "c.toml"

    async def start(self) -> None:
        daemon = await self.world.launch(self.path)
        await daemon.ready()
        for _ in range(TELLERS):
            self.tellers.put_nowait(await self.connections.enter_async_context(client(self.world.state_dir)))

    async def away(self) -> None:
        if await self.down.wait() == 0:
            await self.leave()
            await self.world.daemons[-1].kill()

    async def leave(self) -> None:
        self.tellers = asyncio.Queue()
        await self.connections.aclose()

    async def back(self) -> None:
        if await self.up.wait() == 0:
            await self.start()


class Sitting:
    """One table of a situation."""

    def __init__(self, site: Site, name: str, shoe: PtyShoe) -> None:
        self.site = site
        self.name = name
        self.shoe = shoe
        self.seen = 0  # events that steps were held against
        self.links = 0  # how often it was online
        self.spoke_s = 0.0  # when the last report was said, where spacing is evidence
        self.senders = count(1)

    @property
    def events(self) -> list[Any]:
        """Each once: what no broker had acknowledged at a kill comes again, under its id."""
        heard = {each["id"]: each for each in self.site.ears.events(self.name)}
        told = [{"type": each["type"].removeprefix("shoed."), "data": each["data"]} for each in heard.values()]
        return [each for each in told if each["type"] not in OF_THE_LINE]

    @property
    def question(self) -> Any:  # noqa: ANN401  # JSON
        return self.site.ears.retained(f"{self.name}/question")

    @property
    def state(self) -> Any:  # noqa: ANN401  # JSON
        return self.site.ears.retained(f"{self.name}/state")

    async def until(self, predicate: Callable[[], object], what: str) -> None:
        news = self.site.ears.at(self.name)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not predicate():
                    news.clear()
                    await news.wait()
        except TimeoutError:
            told = "\n".join(map(scenario.line, self.events))
            raise AssertionError(f"{what} did not come; there was:\n{told}\nand {self.question}") from None

    async def online(self) -> None:
        self.links += 1
        await self.until(lambda: len(self.site.ears.of("device.online", self.name)) >= self.links, "the link")

    async def do(self, written: Scenario, step: scenario.Step) -> Any:  # noqa: ANN401  # JSON
        """The answer, if somebody told something."""
        if step.shoe is not None:
            for words in scenario.listed(step.shoe):
                command, data = scenario.report(words)
                if written.min_draw_gap_ms:
                    await self.pause(step.after_ms or APART_MS)
                await self.shoe.send(report(self.shoe.number(), command, *data) * COPIES)
            await self.shoe.taken()
        if step.unheard is not None:
            self.shoe.lose(len(scenario.listed(step.unheard)))
        if step.tell is not None or step.answer is not None:
            question = self.question
            return await self.tell(step, question["id"] if question else "none")
        if step.line == "away":
            await self.shoe.cut()
            await self.until(lambda: len(self.site.ears.of("device.offline", self.name)) >= self.links, "its end")
        if step.line == "back":
            await self.shoe.mend()
            await self.online()
        if step.daemon == "away":
            await self.site.away()
        if step.daemon == "back":
            await self.site.back()
            await self.online()
        return None

    async def pause(self, ms: int) -> None:
        """Since the report before: how long it took to hear what came of that is no part of it."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self.spoke_s + ms / 1000 - loop.time()))
        self.spoke_s = loop.time()

    async def tell(self, step: scenario.Step, question: str) -> Any:  # noqa: ANN401  # JSON
        request = Request(self.name, told(step, str(next(self.senders)), question))
        someone = await self.site.tellers.get()
        answer = await someone.say(line_of(request))
        self.site.tellers.put_nowait(someone)
        return msgspec.to_builtins(answer)

    async def told(self, events: int, *, and_more: bool) -> list[Any]:
        """So many further events, and all that came behind them."""
        await self.until(lambda: len(self.events) >= self.seen + events, f"{events} events")
        new = self.events[self.seen :] if and_more else self.events[self.seen : self.seen + events]
        self.seen += len(new)
        return new

    async def asked(self, question: bytes) -> Any:  # noqa: ANN401  # JSON
        """The question as it is retained."""
        await self.until(lambda: matter_of(self.question) == question, f"question {question!r}")
        return self.question

    async def stated(self) -> Any:  # noqa: ANN401  # JSON
        """The state as it is retained, with every event that was told."""
        last = self.site.ears.events(self.name)[-1]["sequence"]
        await self.until(lambda: self.state and self.state["sequence"] == last, "the last state")
        return self.state

    async def ended(self) -> Ended:
        """Behind the last step: a preset that was changed."""
        await self.shoe.say("M 30 31 30 30 30 31")
        await self.until(lambda: self.site.ears.of("device.changed", self.name), "the changed preset")
        return Ended(await self.stated(), self.question, self.events)


def bursts(written: Scenario) -> list[list[int]]:
    """The steps, those together that follow each other too soon to hear what comes of the first."""
    together: list[list[int]] = []
    for number, step in enumerate(written.step):
        if step.after_ms is not None and step.after_ms < written.min_draw_gap_ms:
            together[-1].append(number)
        else:
            together.append([number])
    return together


async def deal(written: Scenario, sittings: dict[int, Sitting]) -> None:
    played = play(written)
    for sitting in sittings.values():
        await sitting.online()
        sitting.spoke_s = asyncio.get_running_loop().time()  # what comes right behind the link comes in a heap
    for burst in bursts(written):
        answer = None
        for number in burst:
            answer = await sittings[written.step[number].table].do(written, written.step[number])
        for number in burst:
            sitting, last = sittings[written.step[number].table], number == burst[-1]
            events = await sitting.told(played.told[number], and_more=last)
            question = await sitting.asked(played.asked[number]) if last else None
            state = await sitting.stated() if written.step[number].state is not None else None
            check(written, number, Came(events, answer, question, state))
    for number, sitting in sittings.items():
        check_end(written, number, await sitting.ended())
        assert len(sitting.events) == sitting.seen, f"{written.name}: told behind its end: {sitting.events[-1]}"


def configuration(world: World, tables: Sequence[tuple[Scenario, Sitting]]) -> str:
    return f"""
        [site]
        name = "{world.site}"
        state_dir = "{world.state_dir}"
        [mqtt]
        url = "mqtt://{world.broker.host}:{world.broker.port}"
    """ + "".join(
        f"""
        [[table]]
        name = "{sitting.name}"
        game = "{written.game[0]}"
        decks = {written.decks}
        bets_close = "{written.bets_close}"
        after_gap = "{written.after_gap}"
        confirm_void = {"true" if written.confirm_void else "false"}
        {'insurance = "off"' if written.insurance == "off" and written.game[0] == "super-six-plus" else ""}
        [table.shoe]
        protocol = "angel-eye"
        port = "{sitting.shoe.port}{"" if written.min_draw_gap_ms else SLOW_PORT}"
        min_draw_gap_ms = {written.min_draw_gap_ms}
        """
        for written, sitting in tables
    )


@pytest.mark.parametrize("all_of_them", [QUIET, KILLS], ids=["one-daemon", "a-daemon-killed"])
async def test_it_comes_as_it_is_written(world: World, tmp_path: Path, all_of_them: list[Scenario]) -> None:
    """All at once; and each table's record gives the same events again."""
    ears = Ears(world.site)
    await ears.listen(world.broker)
    site = Site(world, ears, len(all_of_them))
    dealt = [
        (
            written,
            {
                table: Sitting(site, f"t{number}-{table}", PtyShoe(tmp_path / f"{number}-{table}"))
                for table in written.tables
            },
        )
        for number, written in enumerate(all_of_them)
    ]
    flat = [(written, sitting) for written, sittings in dealt for sitting in sittings.values()]
    try:
        for _, sitting in flat:
            await sitting.shoe.mend()
        site.path.write_text(configuration(world, flat))
        await site.start()
        faults = []
        for spaced in (False, True):  # nothing else goes on where moments count
            now = [each for each in dealt if bool(each[0].min_draw_gap_ms) is spaced]
            came = await asyncio.gather(*(named(deal(*each), each[0].name) for each in now))
            faults += [
                fault
                for fault, (_, sittings) in zip(came, now, strict=True)
                if not spaced or not any(world.journal.read_late(each.name) for each in sittings.values())
            ]
        assert not any(faults), "\n\n".join(filter(None, faults))
    finally:
        for _, sitting in flat:
            await sitting.shoe.cut()
        await site.leave()
        await ears.leave()
    await world.daemons[-1].stop()
    said = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
    assert (said.status, said.err) == (0, ""), said


async def named(dealing: Any, name: str) -> str:  # noqa: ANN401  # a coroutine
    """What went wrong, of one situation; the others go on."""
    try:
        await dealing
    except AssertionError as error:
        return f"{name}: {error}"
    return ""
