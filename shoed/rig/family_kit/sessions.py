"""The laws of a session: a fold that accepts every input in every state."""

from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from random import Random
from typing import Final

import msgspec

from shoed.model.commands import Author, StartShoe
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import (
    AnsweredBy,
    AnyObservation,
    Evidence,
    FrameRejected,
    LinkClosed,
    LinkOpened,
    OrderAnswered,
    Reported,
)
from shoed.model.step import (
    AnyInput,
    Commanded,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Woken,
)
from shoed.rig.family_kit.subject import CONFIGURED, CaptureRun, Subject, TimedInput, shifted, shown
from shoed.rig.golden import PORT
from shoed.session import Session, SessionOutput, SessionState
from shoed.wire import Frame

LARGEST_STATE: Final = 64 * 1024
POINTS: Final = 6  # points of each capture at which other inputs are inserted
AGAIN: Final = 40  # inputs of the capture that follow the inserted inputs
ORDERS: Final = tuple(Ordered(DeviceOrder(kind)) for kind in DeviceOrderKind)
SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
CHAIN: Final = 50  # consecutive wakings


Outputs = list[tuple[TimedInput, SessionOutput]]


def outputs(
    subject: Subject, session: Session[SessionState], inputs: list[TimedInput], *, restored: bool = False
) -> Outputs:
    return [(each, heard) for _, each, heard in subject.play(session, inputs, restored=restored)]


def compare(subject: Subject, incoming: Outputs, due: Outputs, what: str) -> None:
    for (each, heard), (_, wanted) in zip(incoming, due, strict=False):
        if heard != wanted:
            subject.given = shown(each)
            raise subject.broken(f"{what}: {heard}, not {wanted}")
    if len(incoming) != len(due):
        raise subject.broken(f"{what}: {len(incoming)} steps, not {len(due)}")


def cut(inputs: list[TimedInput], rng: Random) -> list[TimedInput]:
    """Split each chunk into two pieces with the same time."""
    pieces = []
    for each in inputs:
        at = rng.randint(1, len(each.input.data)) if isinstance(each.input, Received) else 0
        pieces += divided(each, [at] if at else [])
    return pieces


def bytewise(inputs: list[TimedInput]) -> list[TimedInput]:
    return [
        piece
        for each in inputs
        for piece in divided(each, range(1, len(each.input.data)) if isinstance(each.input, Received) else [])
    ]


def divided(each: TimedInput, points: Iterable[int]) -> list[TimedInput]:
    if not isinstance(each.input, Received):
        return [each]
    ends = [0, *points, len(each.input.data)]
    pieces = (each.input.data[begin:end] for begin, end in pairwise(ends) if begin < end)
    return [TimedInput(Received(piece), each.at) for piece in pieces]


def points(subject: Subject) -> Iterator[tuple[CaptureRun, Session[SessionState], SessionState, Now]]:
    """Yield some moments of each capture, many of them within a frame; orders are not allowed."""
    rng = subject.random()
    for played in subject.played:
        session = subject.session(played.settings)
        passed = list(subject.play(session, cut(played.inputs, rng)))
        for state, each, _ in rng.sample(passed, min(POINTS, len(passed))):
            yield played, session, state, each.at


def again(played: CaptureRun, at: Now, after_us: int = SECOND_US, most: int = AGAIN) -> list[TimedInput]:
    """Return the capture on a new link, some time after a moment; the session is configured already."""
    by_us = at.utc_us + after_us
    return [TimedInput(each.input, shifted(each.at, by_us)) for each in played.inputs[1:most]]


def fold(subject: Subject) -> None:
    """The same inputs give the same outputs, independent of the session object's past."""
    for played in subject.played:
        session = subject.session(played.settings)
        first = outputs(subject, session, played.inputs)
        compare(subject, outputs(subject, session, played.inputs), first, f"{played.name}, played again")
        another = subject.session(played.settings)
        compare(subject, outputs(subject, another, played.inputs), first, f"{played.name}, by another session")
        unchanged(subject, session, played)


def unchanged(subject: Subject, session: Session[SessionState], played: CaptureRun) -> None:
    state = session.begin()
    for each in played.inputs:
        before = msgspec.json.encode(state)
        after, _ = subject.step(session, state, *each)
        if msgspec.json.encode(state) != before:
            raise subject.broken(f"{played.name}: the step changed its input state")
        state = after


def restored(subject: Subject) -> None:
    """A session whose state is restored from JSON at any point continues unchanged."""
    for played in subject.played:
        session, pieces = subject.session(played.settings), cut(played.inputs, subject.random())
        once = outputs(subject, session, pieces)
        compare(subject, outputs(subject, session, pieces, restored=True), once, f"{played.name}, restored each time")


def cutting(subject: Subject) -> None:
    """The division of the bytes into chunks does not change the observations."""
    for played in subject.played:
        session = subject.session(played.settings)
        whole = subject.observed(session, played.inputs)
        for pieces in (cut(played.inputs, subject.random()), bytewise(played.inputs)):
            for seen, due in zip_longest(subject.observed(session, pieces), whole):
                if seen != due:
                    subject.given = bytes_of(due or seen)
                    raise subject.broken(f"{played.name}, cut into {len(pieces)} pieces: {seen}, not {due}")


def bytes_of(seen: AnyObservation | None) -> str:
    match seen:
        case FrameRejected(raw=raw) | Reported(frame=Evidence(raw=raw)):
            return raw
        case _:
            return type(seen).__name__


def anytime(subject: Subject) -> None:
    """Inserted inputs, at any point, raise no error; the state stays storable, and the next link is read."""
    command = Commanded(StartShoe(), Author("", Role.DEALER), "1")
    alone: list[AnyInput] = [CONFIGURED, LinkUp(PORT), LinkDown("gone"), Woken(), command, *ORDERS]
    between: list[list[AnyInput]] = [*([one] for one in alone), [LinkDown("gone"), LinkDown("refused"), CONFIGURED]]
    for played, session, state, at in points(subject):
        for several in between:
            now = state
            for incoming in several:
                now, heard = subject.step(session, now, incoming, at)
                check_link(subject, incoming, heard)
                subject.restored(session, now)
            reopened = again(played, at)
            now, _ = subject.step(session, now, LinkDown("gone"), at)
            now, heard = subject.step(session, now, Received(b"\x00"), at)
            if heard != SessionOutput():
                raise subject.broken(f"bytes after the end of the link gave {heard}")
            replies = [heard for _, each, heard in subject.play(session, reopened, now) if each.input != LinkUp(PORT)]
            taken = any(isinstance(seen, Reported) for heard in replies for seen in heard.observations)
            # A session that acknowledges may already have all reports: it then only acknowledges again.
            if not taken and not any(heard.sends for heard in replies):
                raise subject.broken(f"after {several}, {played.name} on a new link gave no observation")


def check_link(subject: Subject, incoming: AnyInput, heard: SessionOutput) -> None:
    kinds = [type(each) for each in heard.observations]
    match incoming:
        case LinkUp() if LinkOpened not in kinds:
            raise subject.broken("the session does not observe that the link is open")
        case LinkDown() if LinkClosed not in kinds:
            raise subject.broken("the session does not observe that the link is closed")
        case _:
            pass


def waking(subject: Subject) -> None:
    """A session does nothing before the moment that it names. At that moment it changes and names no past moment."""
    for played, session, state, at in points(subject):
        now, moment = state, at
        for _ in range(CHAIN):
            due = session.wake_at(now)
            if due is None:
                break
            if due - moment.mono_ns > 1:
                same, heard = subject.step(session, now, Woken(), Now(moment.utc_us, due - 1))
                if same != now or heard != SessionOutput():
                    raise subject.broken(f"{played.name}: woken before its moment, the session gave {heard}")
            waited_ns = max(0, due - moment.mono_ns)
            moment = Now(moment.utc_us + waited_ns // 1000, moment.mono_ns + waited_ns)
            after, heard = subject.step(session, now, Woken(), moment)
            if after == now and heard == SessionOutput():
                raise subject.broken(f"{played.name}: woken at the moment that it named, the session did not change")
            named = session.wake_at(after)
            if named is not None and named <= moment.mono_ns:
                raise subject.broken(f"{played.name}: the session named a moment that has passed")
            now = after


def evidence(subject: Subject) -> None:
    """An observation carries its frame: these bytes are at that offset of the line."""
    for played in subject.played:
        for inputs in (played.inputs, cut(played.inputs, subject.random())):
            line = b"".join(each.input.data for each in inputs if isinstance(each.input, Received))
            for seen in subject.observed(subject.session(played.settings), inputs):
                frame = seen if isinstance(seen, FrameRejected) else getattr(seen, "frame", None)
                if frame is None:  # of the link, or of an order
                    continue
                raw = bytes.fromhex(frame.raw)
                subject.given = frame.raw
                if not raw or line[frame.offset : frame.offset + len(raw)] != raw:
                    raise subject.broken(f"{played.name}: the bytes of {seen} are not at offset {frame.offset}")


def silent(subject: Subject) -> None:
    """A session that only listens sends nothing, and no session sends an order unless orders are allowed."""
    for played in subject.played:
        for allowed in (False, True):
            session = subject.session(played.settings.listening(), allow_orders=allowed)
            for _, each, heard in subject.play(session, played.inputs):
                if heard.sends:
                    subject.given = shown(each)
                    raise subject.broken(f"{played.name}: {b''.join(heard.sends).hex(' ')} was sent")
    for played, session, state, at in points(subject):
        for incoming in ORDERS:
            _, heard = subject.step(session, state, incoming, at)
            if heard.sends or not refused(heard):
                raise subject.broken(f"{played.name}: the order was not refused: {heard}")


def refused(heard: SessionOutput) -> bool:
    """Whether the session itself refused the order: the table accepts a command if its order was not refused."""
    answers = [seen for seen in heard.observations if isinstance(seen, OrderAnswered)]
    return [(each.accepted, each.answered_by) for each in answers] == [(False, AnsweredBy.HOST)]


def sending(subject: Subject) -> None:
    """If orders are allowed, a session sends frames that the family reads as orders, or it refuses the order."""
    for played in subject.played:
        session = subject.session(played.settings, allow_orders=True)
        orders = subject.family.orders(played.settings)
        for state, passed, heard in list(subject.play(session, played.inputs))[:: max(1, len(played.inputs) // POINTS)]:
            for incoming in ORDERS:
                _, ordered = subject.step(session, state, incoming, passed.at)
                if not ordered.sends and not refused(ordered):
                    raise subject.broken(f"{played.name}: the order was neither sent nor refused by the host")
                for data in (*heard.sends, *ordered.sends):
                    found = subject.hear(orders, [data])
                    if not found or not all(isinstance(each, Frame) for each in found):
                        raise subject.broken(f"{played.name}: the sent bytes are not an order of the family")


def bounded(subject: Subject) -> None:
    """The state stays small, however many inputs arrive."""
    rng = subject.random()
    session = subject.session(subject.family.settings())
    kinds = subject.family.reports(subject.family.settings()).framing.kinds
    floods = [bytes((kind.start,)) + b"0" * 4095 for kind in kinds[:4]]
    state, at = session.begin(), Now(0, 0)
    state, _ = subject.step(session, state, LinkUp(PORT), at)
    for number in range(100):
        data = rng.randbytes(512) if number % 2 else floods[number % len(floods)]
        at = shifted(at, 1000)
        state, _ = subject.step(session, state, Received(data), at)
        check_size(subject, state)
    for played in subject.played:
        session = subject.session(played.settings)
        state = session.begin()
        for number in range(20):
            inputs = again(played, Now(0, 0), DAY_US * number, most=len(played.inputs))
            *_, (state, _, _) = subject.play(session, inputs, state)
            check_size(subject, state)


def check_size(subject: Subject, state: SessionState) -> None:
    size = len(msgspec.json.encode(state))
    if size > LARGEST_STATE:
        raise subject.broken(f"the state has {size} bytes")
