"""The two call traces of docs/architecture.md: the functions on the way of a byte, and of an answer, through the rooms.

Theory of operation: a walk is a list of functions with a phrase for each. `docs/traced_run.py` runs a session of a
whole daemon, and `check` compares the list with the trace:

- the trace begins with the first function of the list, and ends with the last function;
- the run calls every function of the list, in the order of the list;
- every call from one room into another is a call of a function on the list, in `beside` or in `perhaps`;
- the run calls every function in `beside`.

A room is a folder of `shoed/`, a module beside the folders, or `firmware_protocols`. Modules of shared words are not
rooms, and the operators of a value (`__len__`, `__init__`) are not calls into a room. The files and names in the
document are read from the functions.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final, NamedTuple, TypeAlias

from docs.protocol_page import table
from docs.traced_run import Call, code_of, traced
from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings, codec
from shoed import typed_json
from shoed.bus.client import Connection
from shoed.bus.committed_events import CommittedEvents
from shoed.bus.messages import TableMessages
from shoed.bus.publisher import Publisher
from shoed.engine import Engine
from shoed.journal import Reader, Store, Writer
from shoed.journal.commit import Committer
from shoed.journal.heads import is_head_moment
from shoed.journal.rows import event_columns
from shoed.model import (
    cards,
    commands,
    device_events,
    events,
    incarnations,
    irregularities,
    moments,
    noise_budget,
    observations,
    requests,
    step,
)
from shoed.ports import clock, threads
from shoed.ports.inbox import Inbox
from shoed.ports.recorder import PortRecorder
from shoed.ports.tcp import TcpLink
from shoed.ports.thread_queue import ThreadQueue
from shoed.rules import drawing, insurance, irregular, neglected_insurance, questions, results
from shoed.service.command_socket import CommandServer
from shoed.service.counters import Counters
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.table_device import TableDevice
from shoed.session.angel_eye import AngelEyeSession, AngelEyeStep
from shoed.table import answers, assess, device_orders, intake, observe, question_events, report, seed
from shoed.table import commands as table_commands
from shoed.table import questions as table_questions
from shoed.table.context import Table
from shoed.table.record import Record
from shoed.watch import watch
from shoed.wire import deframe

ROOT: Final = Path(__file__).resolve().parent.parent
VOCABULARY: Final[Sequence[ModuleType]] = (
    cards,
    commands,
    device_events,
    events,
    moments,
    observations,
    step,
    incarnations,
    irregularities,
)

Function: TypeAlias = Callable[..., object]


class Hop(NamedTuple):
    function: Function
    phrase: str


class Walk(NamedTuple):
    span: str  # of the traced run
    hops: Sequence[Hop]
    beside: Sequence[Function]  # called from another room, and not on the way of the data
    perhaps: Sequence[Function] = ()  # as `beside`, in another task or thread: before the end of the span, or after it


class WalkError(Exception):
    """The list and the run differ."""


TO_THE_BROKER: Final = (
    Hop(Writer.submit, "queues the Step for the thread of the journal"),
    Hop(Committer.commit, "writes all waiting Steps in one transaction"),
    Hop(Writer.recorded, "runs on the loop after the commit"),
    Hop(Desk.release, "sends the effects of the committed Step"),
    Hop(Publisher.committed, "sends the events at once if the publisher waits for news, and wakes it otherwise"),
    Hop(Publisher.send_events, "publishes the events in order, as far as the broker has acknowledged earlier ones"),
    Hop(CommittedEvents.after, "returns the committed events after the last sent event"),
    Hop(Connection.send, "writes the PUBLISH packet to the socket of the broker"),
)

HANDOVER: Final = (ThreadQueue.put, clock.ClockSteps.look, threads.call_on_loop)  # to the thread

# The event loop makes the messages while the thread commits the Step.
MEANWHILE: Final = (Publisher.prepared, event_columns, TableMessages.event, is_head_moment)

BYTE: Final = (
    Hop(TcpLink.data_received, "receives the bytes and records the moment"),
    Hop(Inbox.heard, "marks bytes that the host read late"),
    Hop(Inbox.put, "passes the chunk to a port that waits for it, in pieces of limited size, and queues it otherwise"),
    Hop(PortRecorder.received, "copies the chunk to the ring of recent bytes"),
    Hop(TableDevice.received, "counts the bytes"),
    Hop(Desk.take, "accepts each input of the table"),
    Hop(Engine.step, "makes one Step from one input"),
    Hop(AngelEyeSession.step, "folds the input into the state of the device"),
    Hop(deframe.receive, "finds the frames in the bytes"),
    Hop(FAMILIES["angel-eye"].reports(AngelEyeSettings()).read, "verifies the checksum and decodes the frame"),
    Hop(AngelEyeStep.report, "makes an observation from a new report, and counts a copy"),
    Hop(Engine.conclude, "passes the observations to the watch and to the table"),
    Hop(watch, "makes findings from the observation"),
    Hop(observe.fold, "makes events from observations, findings and commands"),
    Hop(observe.observe, "selects the function for the kind of the observation"),
    Hop(intake.card, "decides whether the card belongs to this round"),
    Hop(intake.add_card, "adds the card to the record"),
    Hop(report.publish_drawn, "finds the cards that no event has published"),
    Hop(drawing.due, "names the hand of the next card, by the rule book"),
    Hop(Table.emit, "numbers the event `card.drawn`"),
    Hop(report.report, "publishes the changes since the last report"),
    Hop(assess.assess, "computes the standing of the round from the record"),
    *TO_THE_BROKER,
)

ANSWER: Final = (
    Hop(CommandServer.answer, "reads one line from the command socket"),
    Hop(requests.read, "verifies the line and makes a command from it"),
    Hop(Daemon.execute, "finds the desk of the table"),
    Hop(Desk.execute, "returns the reply after its commit"),
    Hop(Desk.find_answer, "queues the command, or returns the reply that the journal has for its id"),
    Hop(Desk.take_commands, "takes the queued commands in order"),
    Hop(Desk.take, "accepts each input of the table"),
    Hop(Engine.step, "makes one Step from one input"),
    Hop(Engine.conclude, "passes the command to the table"),
    Hop(observe.fold, "makes events from observations, findings and commands"),
    Hop(table_commands.answer_command, "adds the reply: accepted, or refused with the reason"),
    Hop(answers.decide, "finds the open question and verifies the answer"),
    Hop(questions.may_decide, "decides whether the role may decide, by the rule book"),
    Hop(Table.emit, "numbers the event `question.answered`"),
    Hop(answers.apply_answer, "selects the effect of the answer"),
    Hop(table_questions.choose, "adds the answer to the record"),
    Hop(report.report, "publishes the changes since the last report"),
    Hop(assess.assess, "computes the standing of the round from the record"),
    Hop(irregular.course, "places the cards, and computes the ruling on each irregularity, by the rule book"),
    Hop(report.publish_differences, "compares the standing before and after"),
    Hop(report.amend, "compares the published hands with the present ones"),
    Hop(drawing.due, "names the hand of the next card, by the rule book"),
    Hop(report.correct, "replaces the result of a complete round"),
    Hop(drawing.winner, "names the winning hand, by the rule book"),
    Hop(report.publish_corrected, "makes the event with the id of the event that it supersedes"),
    Hop(Table.emit, "numbers the event `round.corrected`"),
    Hop(question_events.ask, "asks the next open question"),
    Hop(watch, "compares the corrected cards with the set of the shoe; the engine calls the watch again"),
    *TO_THE_BROKER,
)

# Every Step names the moment of the next waking.
DEADLINES: Final = (Engine.wake_at, AngelEyeSession.wake_at, deframe.wake_at, observe.wake_at)

WALKS: Final[Mapping[str, Walk]] = {
    "walk-byte": Walk(
        "byte",
        BYTE,
        (
            *DEADLINES,
            *MEANWHILE,
            deframe.expire,  # rejects a torn frame
            *HANDOVER,
            Counters.published,  # counts the event
            codec.form_of,  # names the form of the frame, for the evidence
            *(noise_budget.charged, noise_budget.with_unkept),  # limit the rejected bytes that the journal keeps
            *(drawing.points, drawing.Hands.of, drawing.Hands.with_card, irregular.deal),  # hands for the event
        ),
        (TableDevice.room, ThreadQueue.get),  # the port and the thread wait again
    ),
    "walk-answer": Walk(
        "answer",
        ANSWER,
        (
            *DEADLINES,
            *MEANWHILE,
            # look for an answer under the same id, in a thread
            *(threads.off_loop, Desk.answer_on_record, Store.read, Reader.answer),
            clock.now,
            *HANDOVER,
            Counters.published,  # counts the event
            typed_json.typed,  # the fields of the command
            *(device_orders.ordered, AngelEyeSession.step),  # a command may be an order for the device
            *(noise_budget.renewed, noise_budget.with_unkept),  # limit the rejected bytes that the journal keeps
            *(insurance.waived, neglected_insurance.neglected, results.rows),  # for the standing and the consequences
            *(drawing.points, drawing.pairs, drawing.Hands.of),  # hands for the event
            *(Record.carried, Record.faces),  # the cards, for the watch
            seed.is_settled,  # for the checkpoint
        ),
        (ThreadQueue.get,),  # the thread waits again
    ),
}


def room(module: str) -> str:
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "shoed" else package


def is_crossing(call: Call) -> bool:
    """Whether a function of one room starts a function of another room."""
    if call.caller is None or not call.starts or call.code.co_name.startswith("__"):
        return False
    is_word = call.module in {each.__name__ for each in VOCABULARY}
    return not is_word and room(call.caller[0]) != room(call.module)


def check(walk: Walk, calls: Sequence[Call]) -> None:
    """Compare a walk with the trace; a WalkError names the function."""
    remaining = iter(calls)
    for number, hop in enumerate(walk.hops, start=1):
        code = code_of(hop.function)
        if all(call.code is not code for call in remaining):
            raise WalkError(f"hop {number}: the run does not call {place(code)} after the hop before it")
    codes = {code_of(each) for each in (*(hop.function for hop in walk.hops), *walk.beside, *walk.perhaps)}
    for call in calls:
        if is_crossing(call) and call.code not in codes and call.caller is not None:
            caller = ".".join(call.caller)
            raise WalkError(f"{caller} calls {place(call.code)}: add a hop for it, or name it in `beside`")
    for end, call, hop in (("first", calls[0], walk.hops[0]), ("last", calls[-1], walk.hops[-1])):
        if call.code is not code_of(hop.function):
            raise WalkError(f"the {end} call is {place(call.code)}; the {end} hop is {place(code_of(hop.function))}")
    called = {call.code for call in calls}
    for each in walk.beside:
        if code_of(each) not in called:
            raise WalkError(f"the run does not call {place(code_of(each))}: remove it from `beside`")


def file_of(code: CodeType) -> str:
    return Path(code.co_filename).resolve().relative_to(ROOT).as_posix()


def name_of(code: CodeType) -> str:
    return code.co_qualname.replace("<locals>.", "")


def place(code: CodeType) -> str:
    return f"{file_of(code)}: {name_of(code)}"


def rows(walk: Walk) -> str:
    hops = [(code_of(each.function), each.phrase) for each in walk.hops]
    numbered = enumerate(hops, start=1)
    return table(
        ("", "file", "function", "purpose"),
        ((str(number), f"`{file_of(code)}`", f"`{name_of(code)}`", phrase) for number, (code, phrase) in numbered),
    )


@cache
def tables() -> Mapping[str, str]:
    """The block of each walk, after the comparison with a run."""
    spans = traced()
    for name, walk in WALKS.items():
        try:
            check(walk, spans[walk.span])
        except WalkError as error:
            raise WalkError(f"{name}: {error}") from None
    return {name: rows(walk) for name, walk in WALKS.items()}
