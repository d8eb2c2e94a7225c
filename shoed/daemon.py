"""The daemon: the rooms joined, and supervised in one TaskGroup.

Theory of operation. Each table has a Desk: everything that concerns the table (its port, its
deadlines, its own orders, commands) enters by `Desk.take`, which folds it, hands the Step to the journal's
writer, and lets go of what the Step sends once it is committed. A table that fails ends alone, and
its status says so. A journal that fails ends all: nothing may be told that is not recorded.
"""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any, Final, Generic, TypeVar

import msgspec

from firmware_protocols.family import Line
from shoed import VERSION, drivers, watchdog
from shoed.brief import Brief
from shoed.bus.messages import Voice
from shoed.bus.publisher import Publisher
from shoed.bus.settings import BrokerSettings
from shoed.commands import Answer
from shoed.config import Close, Config, ShoeConfig, ShufflerConfig, TableConfig, describe, recall
from shoed.ear import Ear
from shoed.engine import ENGINE, Engine, EngineState
from shoed.errors import JournalError
from shoed.journal import Store, Writer, hold
from shoed.journal.replay import rebuild
from shoed.now import Now
from shoed.observations import Device
from shoed.ports.address import Rfc2217Address, SerialAddress, parse_address
from shoed.ports.clock import now
from shoed.ports.link import Link
from shoed.ports.pulse import GRACE_S
from shoed.ports.tell import Counter, listening
from shoed.session import Session, SessionState
from shoed.step import AnyInput, Configured, Step, Told, Woken
from shoed.table import Custom, TableSettings
from shoed.table.public import public_device
from shoed.table.state import Condition
from shoed.telling import Request, Save, Saved
from shoed.watch import WatchSettings
from shoed.watchdog import Systemd

LOG: Final = logging.getLogger("shoed")

FAREWELL_S: Final = 5.0  # to tell what is committed before we go; the rest is told after the next start
PUBLISH_AGAIN_S: Final = 1.0


def line_of(of: ShoeConfig | ShufflerConfig) -> Line | None:
    """As its port has it, or by the family's custom."""
    address, custom = parse_address(of.port), drivers.find(of.protocol).family.line
    return address.line(custom) if isinstance(address, SerialAddress | Rfc2217Address) else custom


def engine_of(table: TableConfig, word: str) -> Engine[SessionState]:
    """The engine under these settings; `word` is the journal's, of which the ids of events are made."""
    shoe, shuffler = table.shoe, table.shuffler
    line = line_of(shoe)
    return Engine(
        session_of(shoe),
        WatchSettings(
            shoe.min_draw_gap_ms, table.decks, byte_us=0 if line is None else line.seconds_per_byte * 1_000_000
        ),
        TableSettings(
            game=table.game,
            port=shoe.port,
            id_prefix=f"{word}-{table.name}",
            insurance=table.house.insurance,
            custom=Custom(
                bets_close_by_command=table.house.bets_close is Close.COMMAND,
                burn_cards=table.house.burn_cards,
                rounds_after_cut=table.house.rounds_after_cut,
                confirm_void=table.house.confirm_void,
            ),
            decks=table.decks,
            shuffler_port=shuffler.port if shuffler else None,
            after_gap=table.house.after_gap,
            identify=tuple(
                device for device, of in table.devices.items() if drivers.find(of.protocol).family.identifies
            ),
        ),
        session_of(shuffler) if shuffler else None,
    )


def session_of(of: ShoeConfig | ShufflerConfig) -> Session[SessionState]:
    driver, address, settings = drivers.find(of.protocol), parse_address(of.port), of.settings
    if isinstance(address, SerialAddress | Rfc2217Address):
        settings = settings.on(address.line(driver.family.line))
    return driver.session(settings, allow_orders=of.allow_orders)


class Waiting(msgspec.Struct):
    """A command whose answer somebody waits for."""

    told: Told
    answer: asyncio.Future[Answer]
    taken: bool = False  # its Step is on its way to the disk, and the answer comes with the commit


class Desk:
    """One table's place in the daemon: its engine, its devices and its publisher."""

    def __init__(self, config: TableConfig, site: str, broker: BrokerSettings, store: Store, writer: Writer) -> None:
        self.config = config
        self.name = config.name
        self.store = store
        self.writer = writer
        self.engine = engine_of(config, store.word)
        self.state = self.restore(store)
        custom = self.engine.table_settings.custom
        voice = Voice(site, self.name, store.word, config.game, VERSION, config.house.insurance, custom)
        self.publisher = Publisher(voice, broker, store, writer)
        self.ears = {device: Ear(self.name, device, of, self) for device, of in config.devices.items()}
        self.brief = Brief(self.name)
        self.earlier = asyncio.Event()  # the next deadline has come forward
        self.armed: int | None = None
        self.sound = True  # false while an input is folded, and for ever if that failed
        self.ended: str | None = None  # why this table has ended
        self.waiting: dict[str, Waiting] = {}  # by the command's id
        self.to_take: asyncio.Queue[Waiting] = asyncio.Queue()

    def restore(self, store: Store) -> EngineState[SessionState]:
        """Where the journal left the table; what an older engine left is reckoned anew from the record."""
        with closing(store.read()) as reader:
            checkpoint = reader.checkpoint(self.name)
            if checkpoint is None:
                return self.engine.begin()
            if checkpoint.engine == ENGINE:
                with suppress(msgspec.ValidationError):  # another family's
                    return self.engine.restore(checkpoint.state)
            LOG.warning("%s: the last state is not this engine's: reckoning it anew from the record", self.name)
            state = (
                rebuild(reader, self.name, lambda settings: engine_of(recall(settings), reader.word))
                or self.engine.begin()
            )
            return self.engine.suited(state)

    # --- the one way in, and the one way out

    def take(self, came: AnyInput, at: Now) -> None:
        if not self.sound or self.writer.failed.done():
            return
        self.sound = False
        self.state, step = self.engine.step(self.state, came, at)
        self.sound = True
        if step is not None:
            links = {device: ear.link for device, ear in self.ears.items()}
            done = partial(self.leave, step, links) if step.urgent else None
            self.writer.submit(self.name, step, self.state, done)
        due = self.engine.wake_at(self.state)
        if due is not None and (self.armed is None or due < self.armed):
            self.earlier.set()

    def leave(self, step: Step, links: Mapping[Device, Link | None]) -> None:
        """After the commit: to the devices, as they were linked then; to the broker by its publisher."""
        for send in step.sends:
            self.ears[send.device].send(send.data, links[send.device])
        self.publisher.committed()
        for answer in step.answers:
            if (waiting := self.waiting.pop(answer.id, None)) is not None:
                waiting.answer.set_result(answer)
        for kind, text in step.warnings:  # in the log once the publisher had its turn
            asyncio.get_running_loop().call_soon(self.brief.say, logging.WARNING, kind, f"row {step.row}: {text}")

    @property
    def links(self) -> str:
        conditions = {Device.SHOE: self.state.table.device, Device.SHUFFLER: self.state.table.shuffler}
        shown = {device: public_device(conditions[device] or Condition()) for device in self.ears}
        return ", ".join(f"{device.value} {each.link.value}" for device, each in shown.items())

    # --- what people tell

    async def tell(self, told: Told) -> Answer:
        """The table's answer, once it is on record. A command that comes again under its id gets the same answer."""
        try:
            return await self.answer(told)
        except JournalError as error:
            return Answer(told.id, accepted=False, detail=f"journal failed: {error}")

    async def answer(self, told: Told) -> Answer:
        waiting = self.waiting.get(told.id)
        with closing(self.store.read()) as reader:
            on_record = reader.answer(self.name, told.id)
        before = waiting.told if waiting else on_record and msgspec.json.decode(on_record.told, type=Told)
        if before and before != told:
            return Answer(told.id, accepted=False, detail="another command had this id; give each its own")
        if on_record:
            return msgspec.json.decode(on_record.answers, type=tuple[Answer, ...])[0]
        if waiting is None:
            self.writer.check()
            if self.ended is not None:
                return Answer(told.id, accepted=False, detail=self.ended)
            waiting = self.waiting[told.id] = Waiting(told, asyncio.get_running_loop().create_future())
            self.to_take.put_nowait(waiting)
        return await asyncio.shield(waiting.answer)  # whoever waits may go away, or be one of two

    async def hear(self) -> None:
        while True:
            waiting = await self.to_take.get()
            await self.writer.has_room.wait()
            self.take(waiting.told, now())
            waiting.taken = True

    def dismiss(self, reason: str, *, taken: bool) -> None:
        """Nobody is to wait for what will not be taken any more, or, of a failed journal, not recorded."""
        for sender, waiting in list(self.waiting.items()):
            if taken or not waiting.taken:
                waiting.answer.set_result(Answer(sender, accepted=False, detail=reason))
                del self.waiting[sender]

    async def save(self, save: Save) -> Answer:
        """The capture of what went over a device's line lately."""
        ear = next((ear for ear in self.ears.values() if ear.device.value == save.device), None)
        if ear is None:
            known = ", ".join(device.value for device in self.ears)
            return Answer(save.id, accepted=False, detail=f"{self.name} has no {save.device}; known: {known}")
        from shoed.ports import kept  # noqa: PLC0415 -- 3 ms of every start, for who asks

        device = kept.Device(ear.config.protocol, ear.config.firmware, line_of(ear.config), ear.config.settings)
        note = f"kept by shoed {VERSION}: {self.name}, {save.device}"
        text = await asyncio.to_thread(kept.text, ear.ring.kept(), device, note, now())
        return Saved(save.id, accepted=True, capture=text)

    # --- its tasks

    async def run(self) -> None:
        """Ports and deadlines, until cancelled; a fault of ours ends this table and no other."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for ear in self.ears.values():
                    tasks.create_task(ear.run())
                tasks.create_task(self.wake())
                tasks.create_task(self.hear())
        except Exception as error:  # the task's border
            self.ended = f"table failed: {cause(error)}"
            LOG.exception("%s: this table has ended after row %d; %s", self.name, self.state.row, self.ended)
            self.publisher.leave(self.ended)
            self.dismiss(self.ended, taken=False)

    async def publish(self) -> None:
        """The publisher; a defect of it is logged and it begins anew, for the journal knows how far it came."""
        while True:
            try:
                return await self.publisher.run()
            except Exception as error:  # the task's border
                self.publisher.trouble = f"publisher failed: {cause(error)}"
                LOG.exception("%s: %s", self.name, self.publisher.trouble)
                await asyncio.sleep(PUBLISH_AGAIN_S)

    async def wake(self) -> None:
        """Sleep until the moment that the last Step named, or an earlier one."""
        while True:
            self.earlier.clear()
            self.armed = self.engine.wake_at(self.state)
            delay = None if self.armed is None else max(0, self.armed - monotonic_ns()) / 1e9
            try:
                async with asyncio.timeout(delay):
                    await self.earlier.wait()
            except TimeoutError:
                heard = min((ear.heard_until() for ear in self.ears.values()), key=lambda each: each.mono_ns)
                if self.armed is not None and heard.mono_ns >= self.armed:
                    self.take(Woken(), heard)
                else:  # a silence is not judged while bytes of it may be unread
                    await asyncio.sleep(GRACE_S)


D = TypeVar("D", bound=Desk)


def cause(error: BaseException) -> str:
    """The first leaf of a group of errors, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


class Daemon(Generic[D]):
    """All tables of one configuration, over one journal."""

    def __init__(self, config: Config, store: Store, systemd: Systemd, door: socket.socket, desk: type[D]) -> None:
        self.writer = Writer(store, ENGINE)
        self.desks = [desk(table, config.site, config.broker, store, self.writer) for table in config.tables]
        self.systemd = systemd
        self.door = door
        self.stop = asyncio.Event()

    async def run(self) -> int:
        """Until a signal, a failed journal, or the end of every table; the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop.set)
        async with asyncio.TaskGroup() as tasks:
            try:
                for desk in self.desks:
                    desk.take(Configured(describe(desk.config).decode(), ENGINE, VERSION), now())
                await self.writer.flush()
                failure = None
            except JournalError as error:
                failure = f"journal failed: {error}"
            publishers = [tasks.create_task(desk.publish()) for desk in self.desks]
            if failure is None:
                failure = await self.work(tasks)
            for desk in self.desks:
                desk.publisher.leave(failure or "stopped")
            await asyncio.wait(publishers, timeout=FAREWELL_S)
            for publisher in publishers:
                publisher.cancel()
        if failure is not None:
            LOG.error("%s", failure)
        await self.writer.close()
        return 0 if failure is None else 1

    async def work(self, tasks: asyncio.TaskGroup) -> str | None:
        """Take what comes until it is time to go; the reason, if it is a failure."""
        lines = [tasks.create_task(desk.run()) for desk in self.desks]
        counter = Counter(self.tell)
        serving = tasks.create_task(counter.run(self.door))
        dog = tasks.create_task(watchdog.run(self.systemd, self.stuck, self.condition))
        stopped = tasks.create_task(self.stop.wait())
        gc.freeze()  # what start-up made need not be walked again and again
        gc.enable()
        self.systemd.say("READY=1", f"STATUS={self.condition()}")
        LOG.info("ready: %s", self.condition())
        ends: list[asyncio.Future[Any]] = [stopped, self.writer.failed, asyncio.ensure_future(asyncio.wait(lines))]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        self.systemd.say("STOPPING=1")
        for task in (dog, stopped, *lines):
            task.cancel()
        await asyncio.wait(lines)
        failure = None if self.stop.is_set() else "every table has ended"
        try:
            await self.writer.flush()
        except JournalError as error:
            failure = f"journal failed: {error}"
        for desk in self.desks:
            desk.ended = desk.ended or failure or "stopped: tell it again when shoed is back"
            desk.dismiss(desk.ended, taken=True)
        counter.leaving.set()
        await serving
        return failure

    async def tell(self, request: Request | Save) -> Answer:
        for desk in self.desks:
            if desk.name == request.table:
                return await (desk.save(request) if isinstance(request, Save) else desk.tell(request.told))
        known = ", ".join(desk.name for desk in self.desks)
        sender = request.id if isinstance(request, Save) else request.told.id
        return Answer(sender, accepted=False, detail=f"{request.table}: no such table; known: {known}")

    def stuck(self, limit_s: float) -> list[str]:
        committing = self.writer.committing_since
        parts = ["journal"] if committing is not None and monotonic() - committing > limit_s else []
        for desk in self.desks:
            publishing = desk.publisher.busy_since
            if publishing is not None and monotonic() - publishing > limit_s:
                parts.append(f"{desk.name} bus")
            hearing = [ear.hearing_since for ear in desk.ears.values() if ear.hearing_since is not None]
            if desk.ended is None and hearing and monotonic() - min(hearing) > limit_s:
                parts.append(f"{desk.name} port")
            if desk.ended is None and desk.armed is not None and (monotonic_ns() - desk.armed) / 1e9 > limit_s:
                parts.append(f"{desk.name} table")
        return parts

    def condition(self) -> str:
        return "; ".join(
            f"{desk.name}: {desk.ended or desk.links}, broker {desk.publisher.trouble or 'online'}"
            for desk in self.desks
        )


def run(config: Config) -> int:
    """`shoed run`: hold the state directory, and serve."""
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as door:
        store = Store(state_dir)

        async def serve() -> int:
            return await Daemon(config, store, Systemd(), door, Desk).run()

        return asyncio.run(serve())
