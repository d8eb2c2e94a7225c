"""The desk of a table: its engine, its devices, its publisher, and the commands that wait for an answer.

Theory of operation: every input of the table (bytes of a device, a deadline, a command) enters by `Desk.take`. `take`
passes the input to the engine and gives the Step to the writer of the journal. `Desk.release` runs after the commit and
sends everything that the Step holds. A table that fails ends alone: `Desk.ended` has the reason, and the desks of other
tables continue.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic_ns
from typing import Final

import msgspec

from shoed import VERSION
from shoed.bus.committed_events import Prepared
from shoed.bus.messages import TableMessages
from shoed.bus.publisher import Publisher
from shoed.bus.settings import BrokerSettings
from shoed.engine import ENGINE, EngineState
from shoed.errors import JournalDamaged, JournalError, cause
from shoed.journal import Store, Writer, incarnations
from shoed.journal.incarnations import Outside, TailLoss
from shoed.journal.restore import restore
from shoed.journal.rows import text
from shoed.model.commands import Answer
from shoed.model.incarnations import Because, Continued, WordSince
from shoed.model.moments import Now
from shoed.model.observations import Device
from shoed.model.requests import CaptureAnswer, CaptureRequest
from shoed.model.step import AnyInput, Commanded, Configured, Received, Step, Woken
from shoed.ports.clock import now
from shoed.ports.link import Link
from shoed.ports.loop_delay import GRACE_S
from shoed.ports.threads import off_loop
from shoed.service.config import TableConfig, describe, recall
from shoed.service.counters import Counters
from shoed.service.engines import engine_of, line_of
from shoed.service.limited_log import LimitedLog
from shoed.service.log import ABOUT
from shoed.service.table_device import TableDevice
from shoed.service.table_record import TableRecord
from shoed.session import SessionState
from shoed.table.public_state import PublicDevice, public_device, unfinished
from shoed.table.state import Condition, TableState
from shoed.typed_json import decoder

LOG: Final = logging.getLogger("shoed")

PUBLISH_AGAIN_S: Final = 1.0
ANOTHER: Final = "another command has this id; give each command its own id"


class Effects(msgspec.Struct):
    """The effects of a Step, sent after its commit."""

    step: Step
    after: TableState
    links: Mapping[Device, Link | None] = {}  # of the devices at the time of the Step
    prepared: Prepared | None = None


class PendingCommand(msgspec.Struct):
    """A command whose sender waits for the answer."""

    command: Commanded
    answer: asyncio.Future[Answer]
    search: asyncio.Task[None] | None = None  # of an earlier answer in the journal
    taken: bool = False  # the writer of the journal has the Step: the answer leaves after the commit


class Desk:
    """One table in the daemon."""

    serving: asyncio.Task[None]  # of `run` and `publish`, once the daemon has started them
    publishing: asyncio.Task[None]
    tasks: asyncio.TaskGroup  # of the devices

    def __init__(  # noqa: PLR0913, PLR0917 -- the parts of a table
        self,
        config: TableConfig,
        site: str,
        broker: BrokerSettings,
        store: Store,
        writer: Writer,
        counters: Counters | None = None,
    ) -> None:
        self.config = config
        self.name = config.name
        self.site = site
        self.store = store
        self.writer = writer
        self.engine = engine_of(config, store.word)
        self.read_words()
        self.ended: str | None = None  # the reason, once the table has failed
        self.note = ""  # about the restored state, for the status
        self.begun = ""  # the seed of the restored state, until a Step records it
        self.state = self.restored(store)
        self.committed = self.state.table  # the state after the last committed Step: only this one may leave the daemon
        self.counters = counters or Counters()
        self.record = TableRecord(self)
        self.publisher = self.publisher_to(broker, self.acknowledged(store))
        self.devices = {device: TableDevice(self.name, device, of, self) for device, of in config.devices.items()}
        self.limited_log = LimitedLog(self.name)
        self.due_earlier = asyncio.Event()  # set if a Step names an earlier deadline than `due_ns`
        self.due_ns: int | None = None  # the deadline that `wake` waits for
        self.is_usable = True  # false during an engine step; it stays false if the engine step fails
        self.leaving: str | None = None  # the reason, once the table is removed or shoed stops
        self.pending: dict[str, PendingCommand] = {}  # by the id of the command
        self.queue: asyncio.Queue[PendingCommand] = asyncio.Queue()
        self.stepped: Callable[[], None] | None = None  # called after each input, while a reload waits for the table

    def read_words(self) -> None:
        with self.store.read() as reader:
            self.words = incarnations.words(reader, self.name)
            self.continued = incarnations.pending(reader, self.name)  # until the first Step records it
        self.reason = self.continued.reason if self.continued is not None else None  # of a loss that the start found

    def messages(self) -> TableMessages:
        config, custom = self.config, self.engine.table_settings.custom
        return TableMessages(self.site, self.name, self.words, config.game, VERSION, config.house.insurance, custom)

    def publisher_to(self, broker: BrokerSettings, acknowledged: int) -> Publisher:
        """`acknowledged`: the last event that a broker has acknowledged."""
        publisher = Publisher(self.messages(), broker, self.store, self.writer, self.counters, self.continue_journal)
        publisher.acknowledged = acknowledged
        publisher.continue_at(self.committed)
        publisher.stand(self.record.reason)
        return publisher

    def acknowledged(self, store: Store) -> int:
        with store.read() as reader:
            return reader.cursor(self.name)

    def fields(self) -> Mapping[str, str]:
        """The fields of a log line about the table."""
        record = self.state.table.record
        return {"TABLE": self.name} | ({"ROUND": f"{record.shoe}.{record.number}"} if record.number else {})

    def restored(self, store: Store) -> EngineState[SessionState]:
        """The state after the last row."""
        with store.read() as reader:
            restored = restore(reader, self.name, self.engine, lambda of: engine_of(recall(of), reader.word))
        self.begun = "" if restored.plant is None else text(restored.plant)
        for problem in restored.problems:
            LOG.warning("%s: %s", self.name, problem)
            self.note = self.note or f"{self.name}: {problem}"
        return self.engine.fitted(restored.state or self.engine.begin())

    # --- inputs, and the effects of committed Steps

    def configure(self, *, running: bool = False) -> None:
        """Record the settings. The session of another device family begins again, in the replay too."""
        self.writer.tables[self.name] = self.record
        self.state = self.engine.fitted(self.state)
        self.take(self.configured(running=running), now())
        self.continued = None

    def configured(self, *, running: bool) -> Configured:
        settings = describe(self.config).decode()
        begun, self.begun = self.begun, ""
        return Configured(settings, ENGINE, VERSION, running, self.words, self.continued, begun)

    async def continue_journal(self, loss: TailLoss, outside: Outside) -> None:
        """Begin an incarnation of the journal if the broker has an event or a round that the journal does not have."""
        if loss is not TailLoss.NEW and not (loss is TailLoss.RECORDED and self.lags(outside)):
            return
        kept, next_one = await off_loop(self.next_incarnation)
        self.store.incarnation = self.store.incarnation or next_one  # on the event loop: all tables share it
        number, word = self.store.incarnation
        is_own = outside.journal == self.words[0].word
        event = f"{outside.word}-{self.name}-{outside.sequence}{'' if is_own else ' of another journal'}"
        place = f"in shoe {outside.shoe}, round {outside.round}"
        detail = f"the broker has the event {event}, {place}, and the journal does not have it"
        reason = self.reason or (Because.TAIL_LOST if kept or is_own else Because.DAMAGED)
        stated = f"the ids of the next events have a new word, {reason.value}: {detail}"
        self.note = self.note or f"{self.name}: {stated}"
        LOG.warning(
            "%s: %s: events are lost, or another shoed has a copy of the journal; the word is %s",
            *(self.name, stated, word),
        )
        self.continued = Continued(
            number,
            word,
            reason,
            detail,
            *(outside.word, kept, outside.sequence, outside.shoe, outside.round),
        )
        before, self.words = self.words, (*self.words, WordSince(kept, word))
        self.configure(running=True)
        await self.writer.flush()
        if (error := self.record.error) is not None:
            self.words = before
            raise error
        self.publisher.messages = self.messages()

    def lags(self, outside: Outside) -> bool:
        """Whether the next round may have the number of a round that is known outside the journal."""
        table = self.state.table
        present = table.record.shoe, table.record.number
        numbered = not table.shoe.number and table.journal.shoes_elsewhere >= outside.shoe  # by the first shoe
        return present < (outside.shoe, outside.round) and not numbered

    def next_incarnation(self) -> tuple[int, tuple[int, str]]:
        """In a thread: the last event that keeps its word, and a number and a word for the next incarnation."""
        with self.store.read() as reader:
            kept = max(incarnations.kept(reader, self.name), self.publisher.acknowledged, self.words[-1].after)
            return kept, incarnations.next_one(reader)

    def adopt(self, config: TableConfig) -> None:
        """Replace the settings of the running table. The links of the changed devices are closed."""
        changed = [device for device in Device if config.devices.get(device) != self.config.devices.get(device)]
        self.config, self.engine = config, engine_of(config, self.store.word)
        self.publisher.messages = self.messages()
        for device in changed:
            self.devices.pop(device, None)
        self.configure(running=True)
        for device in changed:
            if (of := config.devices.get(device)) is not None:
                self.devices[device] = TableDevice(self.name, device, of, self)
                if self.record.stopped is None:  # otherwise `resume` starts it
                    self.devices[device].start(self.tasks)

    def take(self, incoming: AnyInput, at: Now) -> None:
        """Process an input, unless the journal cannot record it."""
        if self.record.stopped is None:
            self.fold(incoming, at)

    def fold(self, incoming: AnyInput, at: Now) -> None:
        if not self.is_usable:
            return
        self.is_usable = False
        self.state, step = self.engine.step(self.state, incoming, at)
        self.is_usable = True
        if step is not None:
            effects = Effects(step, self.state.table)
            self.writer.submit(self.name, step, self.state, partial(self.release, effects))
            effects.links = {device: each.link for device, each in self.devices.items()}  # while the disk works
            effects.prepared = self.publisher.prepared(step)
            self.counters.made(step)
            if LOG.isEnabledFor(logging.DEBUG):
                self.log_step(step)
        due = self.engine.wake_at(self.state)
        if due is not None and (self.due_ns is None or due < self.due_ns):
            self.due_earlier.set()
        if self.stepped is not None:
            self.stepped()

    def release(self, effects: Effects) -> None:
        """Send the effects of a committed Step."""
        step, self.committed = effects.step, effects.after
        for send in step.sends:
            if (device := self.devices.get(send.device)) is not None:  # otherwise a reload has removed it
                device.send(send.data, effects.links.get(send.device))
        self.publisher.committed(effects.prepared or self.publisher.prepared(step), effects.after)
        self.counters.committed(step)
        for answer in step.answers:
            if (pending := self.pending.pop(answer.id, None)) is not None:
                pending.answer.set_result(answer)
        if step.warnings:
            asyncio.get_running_loop().call_soon(self.log_warnings, step)  # the publisher runs first

    def log_warnings(self, step: Step) -> None:
        ABOUT.set(self.fields)
        ids = [self.publisher.messages.event_id(event.sequence) for event in step.events]
        for kind, warning in step.warnings:
            self.limited_log.write(logging.WARNING, kind, f"row {step.row}: {warning}", ids)

    def log_step(self, step: Step) -> None:
        """The input, the observations and the events of a Step, in the form of `shoed journal show`."""
        inputs = [each.input for each in step.quiet] + [step.input]
        received = [each.data.hex(" ") if isinstance(each, Received) else "" for each in inputs]
        lines = [
            f"received: {data}" if data else f"input: {text(each)}" for each, data in zip(inputs, received, strict=True)
        ]
        lines += [f"observation: {text(each)}" for each in step.observations]
        lines += [f"event {each.sequence}: {each.type} {text(each.data)}" for each in step.events]
        for line in lines:
            LOG.debug("%s: row %d: %s", self.name, step.row, line)

    @property
    def public_devices(self) -> Mapping[Device, PublicDevice]:
        conditions = {Device.SHOE: self.committed.device, Device.SHUFFLER: self.committed.shuffler}
        return {device: public_device(conditions[device] or Condition()) for device in self.devices}

    @property
    def links(self) -> str:
        """The state of each link, as in `shoe online, shuffler offline`."""
        return ", ".join(f"{device.value} {each.link.value}" for device, each in self.public_devices.items())

    @property
    def backlog(self) -> int:
        """The number of committed events that the broker has not acknowledged."""
        return max(0, self.committed.sequence - self.publisher.acknowledged)  # 0 for a table that was not restored

    @property
    def is_served(self) -> bool:
        """Whether the table takes inputs: it has not failed, and does not leave."""
        return self.ended is None and self.leaving is None

    @property
    def unfinished(self) -> str | None:
        """The reason why the table is not between two rounds."""
        return unfinished(self.config.game, self.state.table, insurance=self.config.house.insurance)

    # --- commands

    async def execute(self, command: Commanded) -> Answer:
        """The answer, after its commit. A repeated command with the same id gets the same answer."""
        pending = self.pending.get(command.id)
        if pending is None:
            pending = self.pending[command.id] = PendingCommand(command, asyncio.get_running_loop().create_future())
            pending.search = asyncio.create_task(self.find_answer(pending))
        elif pending.command != command:
            return Answer(command.id, accepted=False, detail=ANOTHER)
        # Another client may wait for the same answer: a cancelled client does not cancel the future.
        if pending.search is not None:
            await asyncio.shield(pending.search)
        return await asyncio.shield(pending.answer)

    async def find_answer(self, pending: PendingCommand) -> None:
        """Answer the command if the journal has an answer to its id; otherwise queue or refuse the command."""
        command = pending.command
        try:
            answer = await off_loop(partial(self.answer_on_record, command))
        except JournalError as error:
            if isinstance(error, JournalDamaged):
                self.store.report(f"{self.name}: the recorded commands cannot be read, and play continues: {error}")
            answer = Answer(command.id, accepted=False, detail=self.refusal or f"journal failed: {error}")
        except BaseException:
            del self.pending[command.id]
            raise
        if answer is None and (reason := self.refusal) is not None:
            answer = Answer(command.id, accepted=False, detail=reason)
        if answer is None:
            self.queue.put_nowait(pending)
            return
        del self.pending[command.id]
        pending.answer.set_result(answer)

    def answer_on_record(self, command: Commanded) -> Answer | None:
        """In a thread, because the disk may hang: the recorded answer to the id of the command."""
        with self.store.read() as reader:
            found = reader.answer(self.name, command.id)
        if found is None:
            return None
        if decoder(Commanded).decode(found.command) != command:
            return Answer(command.id, accepted=False, detail=ANOTHER)
        return decoder(tuple[Answer, ...]).decode(found.answers)[0]

    @property
    def refusal(self) -> str | None:
        """Why the table takes no command."""
        return self.ended or self.leaving or (self.record.stopped.reason if self.record.stopped else None)

    async def take_commands(self) -> None:
        while True:
            pending = await self.queue.get()
            await self.writer.has_room.wait()
            if not pending.answer.done():  # otherwise it was refused
                self.take(pending.command, now())
                pending.taken = True

    def refuse_pending(self, reason: str, *, taken: bool) -> None:
        """Refuse the commands that are not taken. With `taken`, refuse all: the journal commits no further Step."""
        for command_id, pending in list(self.pending.items()):
            if pending.search is not None and not pending.search.done():
                continue  # the journal may have its answer
            if taken or not pending.taken:
                pending.answer.set_result(Answer(command_id, accepted=False, detail=reason))
                del self.pending[command_id]

    def end(self, reason: str) -> None:
        """Refuse all further commands. The journal commits no further Step."""
        self.leaving = reason
        self.refuse_pending(self.ended or reason, taken=True)

    async def capture(self, request: CaptureRequest) -> Answer:
        """A capture of the bytes that a device sent and received lately."""
        of = next((each for each in self.devices.values() if each.device.value == request.device), None)
        if of is None:
            known = ", ".join(device.value for device in self.devices)
            return Answer(request.id, accepted=False, detail=f"{self.name} has no {request.device}; known: {known}")
        from shoed.ports.recent_capture import CapturedDevice, capture_text  # noqa: PLC0415 -- imported after READY

        device = CapturedDevice(of.config.protocol, of.config.firmware, line_of(of.config), of.config.settings)
        note = f"kept by shoed {VERSION}: {self.name}, {request.device}"
        text = await asyncio.to_thread(capture_text, of.ring.kept(), device, note, now())
        return CaptureAnswer(request.id, accepted=True, capture=text)

    # --- tasks

    async def run(self) -> None:
        """Run the ports, the deadlines and the commands until cancelled. A defect ends this table only."""
        ABOUT.set(self.fields)
        try:
            async with asyncio.TaskGroup() as self.tasks:
                if self.record.stopped is None:
                    for each in self.devices.values():
                        each.start(self.tasks)
                self.tasks.create_task(self.record.run())
                self.tasks.create_task(self.wake())
                self.tasks.create_task(self.take_commands())
        except Exception as error:  # the border of a task
            end = self.record.end
            self.ended = f"table failed: {cause(error)}" if end is None else self.record.ended
            line = f"{self.name}: the table has ended after row {self.state.row}; {self.ended}"
            if end is None:
                LOG.exception("%s", line)
            else:
                LOG.error("%s", line)  # noqa: TRY400 -- the writer has logged the traceback of a defect
            self.refuse_pending(self.ended, taken=end is not None)
            if self.stepped is not None:  # a reload that waits for the end of the round
                self.stepped()
            try:
                await self.writer.flush()  # the publisher ends after the last committed event
            finally:
                self.publisher.complete(self.ended)

    async def publish(self) -> None:
        """Run the publisher. On error: log, restart from the cursor in the journal."""
        ABOUT.set(self.fields)
        while True:
            try:
                return await self.publisher.run()
            except Exception as error:  # the border of a task
                self.publisher.offline_reason = f"publisher failed: {cause(error)}"
                LOG.exception("%s: %s", self.name, self.publisher.offline_reason)
                await asyncio.sleep(PUBLISH_AGAIN_S)

    async def wake(self) -> None:
        """Wake the engine at each deadline that it names."""
        while True:
            await self.record.is_going.wait()
            self.due_earlier.clear()
            self.due_ns = self.engine.wake_at(self.state)
            delay = None if self.due_ns is None else max(0, self.due_ns - monotonic_ns()) / 1e9
            try:
                async with asyncio.timeout(delay):
                    await self.due_earlier.wait()
            except TimeoutError:
                heard = min((each.heard_until() for each in self.devices.values()), key=lambda each: each.mono_ns)
                if self.due_ns is not None and heard.mono_ns >= self.due_ns:
                    self.take(Woken(), heard)
                else:  # bytes that arrived before the deadline may be unread: they count first
                    await asyncio.sleep(GRACE_S)
