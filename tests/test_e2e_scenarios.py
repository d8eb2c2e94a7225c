"""The scenarios through real daemons: each table has a pty with a shoe, the command socket, and a broker.

Theory of operation: the scenarios run at the same time, as tables of one daemon. The scenarios with a kill are tables
of another daemon, which is killed when all of them have reached the kill. The engine gives the number of events of
each step: the test does not wait for further events, and finds an unexpected event at the next step or at the end. If
a scenario depends on moments, its result is ignored when the daemon read late, as its journal shows.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from shoed.model.requests import Request, json_line
from tests import scenario
from tests.angel_eye_line import report
from tests.command_clients import Client, client, shoed
from tests.foreign_shoe import PtyShoe
from tests.patience import PATIENCE_S
from tests.scenario import (
    EXPECTED_TO_FAIL,
    NOT_COMPARED,
    Scenario,
    StepOutput,
    TableEnd,
    check,
    check_end,
    every,
    identity_of,
)
from tests.scenario_table import COPIES, command_of, play
from tests.witnesses import Message, Recorder
from tests.world import SLOW_PORT, World

DRAW_GAP_MS: Final = 400  # the default, if the scenario has a minimum draw gap
CLIENTS: Final = 8  # the socket serves 32 at the same time

BY_LINE: Final = [each for each in every() if each.by_line and each.name not in EXPECTED_TO_FAIL]
KILLS: Final = [each for each in BY_LINE if any(step.daemon for step in each.step)]
QUIET: Final = [each for each in BY_LINE if each not in KILLS]


class TableRecorder(Recorder):
    """A recorder with an event for each table."""

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
    """One daemon for many scenarios, and its kill."""

    def __init__(self, world: World, recorder: TableRecorder, killed: int) -> None:
        self.world = world
        self.recorder = recorder
        self.clients: asyncio.Queue[Client] = asyncio.Queue()
        self.connections = AsyncExitStack()
        self.down = asyncio.Barrier(max(1, killed))
        self.up = asyncio.Barrier(max(1, killed))
        self.path = world.place / "c.toml"

    async def start(self) -> None:
        daemon = await self.world.launch(self.path)
        await daemon.ready()
        for _ in range(CLIENTS):
            self.clients.put_nowait(await self.connections.enter_async_context(client(self.world.state_dir)))

    async def away(self) -> None:
        if await self.down.wait() == 0:
            await self.leave()
            await self.world.daemons[-1].kill()

    async def leave(self) -> None:
        self.clients = asyncio.Queue()
        await self.connections.aclose()

    async def back(self) -> None:
        if await self.up.wait() == 0:
            await self.start()


class Sitting:
    """One table of a scenario."""

    def __init__(self, site: Site, name: str, shoe: PtyShoe) -> None:
        self.site = site
        self.name = name
        self.shoe = shoe
        self.compared = 0  # the number of events that steps were compared with
        self.links = 0  # the number of links so far
        self.reported_s = 0.0  # the moment of the last report, if the scenario has a minimum draw gap
        self.command_ids = count(1)

    @property
    def events(self) -> list[Any]:
        """Each event once: an event without an acknowledgement before a kill is published again, with the same id."""
        by_id = {each["id"]: each for each in self.site.recorder.events(self.name)}
        events = [{"type": each["type"].removeprefix("shoed."), "data": each["data"]} for each in by_id.values()]
        return [each for each in events if each["type"] not in NOT_COMPARED]

    @property
    def question(self) -> Any:  # noqa: ANN401  # JSON
        return self.site.recorder.retained(f"{self.name}/question")

    @property
    def state(self) -> Any:  # noqa: ANN401  # JSON
        return self.site.recorder.retained(f"{self.name}/state")

    async def until(self, predicate: Callable[[], object], what: str) -> None:
        news = self.site.recorder.at(self.name)
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not predicate():
                    news.clear()
                    await news.wait()
        except TimeoutError:
            events = "\n".join(map(scenario.line, self.events))
            raise AssertionError(f"{what} is missing; there are:\n{events}\nand {self.question}") from None

    async def online(self) -> None:
        self.links += 1
        await self.until(lambda: len(self.site.recorder.of("device.online", self.name)) >= self.links, "the link")

    async def do(self, written: Scenario, step: scenario.Step) -> Any:  # noqa: ANN401  # JSON
        """Play a step; return the answer if the step is a command."""
        if step.shoe is not None:
            for words in scenario.listed(step.shoe):
                command, data = scenario.report(words)
                if written.min_draw_gap_ms:
                    await self.pause(step.after_ms or DRAW_GAP_MS)
                await self.shoe.send(report(self.shoe.number(), command, *data) * COPIES)
            await self.shoe.taken()
        if step.lost is not None:
            self.shoe.lose(len(scenario.listed(step.lost)))
        if step.tell is not None or step.answer is not None:
            question = self.question
            return await self.command(step, question["id"] if question else "none")
        if step.line == "away":
            await self.shoe.cut()
            await self.until(lambda: len(self.site.recorder.of("device.offline", self.name)) >= self.links, "its end")
        if step.line == "back":
            await self.shoe.plug_in()
            await self.online()
        if step.daemon == "away":
            await self.site.away()
        if step.daemon == "back":
            await self.site.back()
            await self.online()
        return None

    async def pause(self, ms: int) -> None:
        """Wait for a time since the previous report, which includes the time for its events."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self.reported_s + ms / 1000 - loop.time()))
        self.reported_s = loop.time()

    async def command(self, step: scenario.Step, question: str) -> Any:  # noqa: ANN401  # JSON
        request = Request(self.name, command_of(step, str(next(self.command_ids)), question))
        one_client = await self.site.clients.get()
        answer = await one_client.request(json_line(request))
        self.site.clients.put_nowait(one_client)
        return msgspec.to_builtins(answer)

    async def next_events(self, events: int, *, and_more: bool) -> list[Any]:
        """Wait for a number of further events; return them, and with `and_more` all later events, too."""
        await self.until(lambda: len(self.events) >= self.compared + events, f"{events} events")
        new = self.events[self.compared :] if and_more else self.events[self.compared : self.compared + events]
        self.compared += len(new)
        return new

    async def asked(self, question: bytes) -> Any:  # noqa: ANN401  # JSON
        """Wait for a retained question."""
        await self.until(lambda: identity_of(self.question) == question, f"question {question!r}")
        return self.question

    async def stated(self) -> Any:  # noqa: ANN401  # JSON
        """Wait for the retained state after the last event."""
        last = self.site.recorder.events(self.name)[-1]["sequence"]
        await self.until(lambda: self.state and self.state["sequence"] == last, "the last state")
        return self.state

    async def ended(self) -> TableEnd:
        """Send a changed preset after the last step, and wait for its event."""
        await self.shoe.say("M 30 31 30 30 30 31")
        await self.until(lambda: self.site.recorder.of("device.changed", self.name), "the changed preset")
        return TableEnd(await self.stated(), self.question, self.events)


def bursts(written: Scenario) -> list[list[int]]:
    """The steps; steps with a shorter gap than the minimum draw gap are one group."""
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
        sitting.reported_s = asyncio.get_running_loop().time()  # reports directly after the link may be read together
    for burst in bursts(written):
        answer = None
        for number in burst:
            answer = await sittings[written.step[number].table].do(written, written.step[number])
        for number in burst:
            sitting, last = sittings[written.step[number].table], number == burst[-1]
            events = await sitting.next_events(played.event_counts[number], and_more=last)
            question = await sitting.asked(played.questions[number]) if last else None
            state = await sitting.stated() if written.step[number].state is not None else None
            check(written, number, StepOutput(events, answer, question, state))
    for number, sitting in sittings.items():
        check_end(written, number, await sitting.ended())
        assert len(sitting.events) == sitting.compared, f"{written.name}: an event after its end: {sitting.events[-1]}"


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
async def test_every_scenario_has_its_events(world: World, tmp_path: Path, all_of_them: list[Scenario]) -> None:
    """The scenarios run at the same time, and a replay of each journal gives the same events."""
    recorder = TableRecorder(world.site)
    await recorder.listen(world.broker)
    site = Site(world, recorder, len(all_of_them))
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
            await sitting.shoe.plug_in()
        site.path.write_text(configuration(world, flat))
        await site.start()
        faults = []
        for spaced in (False, True):  # scenarios that depend on moments run alone
            now = [each for each in dealt if bool(each[0].min_draw_gap_ms) is spaced]
            results = await asyncio.gather(*(named(deal(*each), each[0].name) for each in now))
            faults += [
                fault
                for fault, (_, sittings) in zip(results, now, strict=True)
                if not spaced or not any(world.journal.read_late(each.name) for each in sittings.values())
            ]
        assert not any(faults), "\n\n".join(filter(None, faults))
    finally:
        for _, sitting in flat:
            await sitting.shoe.cut()
        await site.leave()
        await recorder.leave()
    await world.daemons[-1].stop()
    done = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
    assert (done.status, done.err) == (0, ""), done


async def named(dealing: Any, name: str) -> str:  # noqa: ANN401  # a coroutine
    """Play one scenario; return its failure, so that the other scenarios continue."""
    try:
        await dealing
    except AssertionError as error:
        return f"{name}: {error}"
    return ""
