"""The laws of a session: a fold over all that can happen to a device, which nothing may surprise."""

from collections.abc import Iterable, Iterator
from itertools import pairwise, zip_longest
from random import Random
from typing import Final

import msgspec

from shoed.commands import Author, StartShoe
from shoed.now import Now
from shoed.observations import (
    AnsweredBy,
    AnyObservation,
    Evidence,
    FrameRejected,
    LinkClosed,
    LinkOpened,
    OrderAnswered,
    Reported,
)
from shoed.rig.conformance.subject import CONFIGURED, Input, Played, Subject, shifted, shown
from shoed.rig.golden import PORT
from shoed.session import Heard, Session, SessionState
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Told, Woken
from shoed.wire import Frame
from shoed.words import Role

LARGEST_STATE: Final = 64 * 1024
POINTS: Final = 6  # of each capture, at which something comes between
AGAIN: Final = 40  # inputs of the capture that follow then
ORDERS: Final = tuple(Ordered(DeviceOrder(kind)) for kind in DeviceOrderKind)
SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
CHAIN: Final = 50  # wakings, one after the other


Outputs = list[tuple[Input, Heard]]


def outputs(
    subject: Subject, session: Session[SessionState], inputs: list[Input], *, restored: bool = False
) -> Outputs:
    return [(each, heard) for _, each, heard in subject.play(session, inputs, restored=restored)]


def compare(subject: Subject, came: Outputs, due: Outputs, what: str) -> None:
    for (each, heard), (_, wanted) in zip(came, due, strict=False):
        if heard != wanted:
            subject.given = shown(each)
            raise subject.broken(f"{what}: {heard}, and not {wanted}")
    if len(came) != len(due):
        raise subject.broken(f"{what}: {len(came)} steps, and not {len(due)}")


def cut(inputs: list[Input], rng: Random) -> list[Input]:
    """What came at once comes in two pieces, at the same moment."""
    pieces = []
    for each in inputs:
        at = rng.randint(1, len(each.came.data)) if isinstance(each.came, Received) else 0
        pieces += divided(each, [at] if at else [])
    return pieces


def bytewise(inputs: list[Input]) -> list[Input]:
    return [
        piece
        for each in inputs
        for piece in divided(each, range(1, len(each.came.data)) if isinstance(each.came, Received) else [])
    ]


def divided(each: Input, points: Iterable[int]) -> list[Input]:
    if not isinstance(each.came, Received):
        return [each]
    ends = [0, *points, len(each.came.data)]
    pieces = (each.came.data[begin:end] for begin, end in pairwise(ends) if begin < end)
    return [Input(Received(piece), each.at) for piece in pieces]


def points(subject: Subject) -> Iterator[tuple[Played, Session[SessionState], SessionState, Now]]:
    """Some moments of each capture, many of them within a frame; orders are not allowed."""
    rng = subject.random()
    for played in subject.played:
        session = subject.session(played.settings)
        passed = list(subject.play(session, cut(played.inputs, rng)))
        for state, each, _ in rng.sample(passed, min(POINTS, len(passed))):
            yield played, session, state, each.at


def again(played: Played, at: Now, after_us: int = SECOND_US, most: int = AGAIN) -> list[Input]:
    """The capture on a new link, a while after another moment; the configuration was told before."""
    by_us = at.utc_us + after_us
    return [Input(each.came, shifted(each.at, by_us)) for each in played.inputs[1:most]]


def fold(subject: Subject) -> None:
    """The same inputs give the same outputs, whatever the session object did before."""
    for played in subject.played:
        session = subject.session(played.settings)
        first = outputs(subject, session, played.inputs)
        compare(subject, outputs(subject, session, played.inputs), first, f"{played.name}, played again")
        another = subject.session(played.settings)
        compare(subject, outputs(subject, another, played.inputs), first, f"{played.name}, by another session")
        unchanged(subject, session, played)


def unchanged(subject: Subject, session: Session[SessionState], played: Played) -> None:
    state = session.begin()
    for each in played.inputs:
        before = msgspec.json.encode(state)
        after, _ = subject.step(session, state, *each)
        if msgspec.json.encode(state) != before:
            raise subject.broken(f"{played.name}: the state that was given has changed")
        state = after


def restored(subject: Subject) -> None:
    """The state comes back from JSON at any point, and the session goes on as if nothing had been."""
    for played in subject.played:
        session, pieces = subject.session(played.settings), cut(played.inputs, subject.random())
        once = outputs(subject, session, pieces)
        compare(subject, outputs(subject, session, pieces, restored=True), once, f"{played.name}, restored each time")


def cutting(subject: Subject) -> None:
    """How the bytes were cut on their way changes nothing of what is observed."""
    for played in subject.played:
        session = subject.session(played.settings)
        whole = subject.observed(session, played.inputs)
        for pieces in (cut(played.inputs, subject.random()), bytewise(played.inputs)):
            for seen, due in zip_longest(subject.observed(session, pieces), whole):
                if seen != due:
                    subject.given = bytes_of(due or seen)
                    raise subject.broken(f"{played.name}, cut into {len(pieces)} pieces: {seen}, and not {due}")


def bytes_of(seen: AnyObservation | None) -> str:
    match seen:
        case FrameRejected(raw=raw) | Reported(frame=Evidence(raw=raw)):
            return raw
        case _:
            return type(seen).__name__


def anytime(subject: Subject) -> None:
    """Whatever comes between, at any point: no error, a state that can be kept, and the next link is heard."""
    told = Told(StartShoe(), Author("", Role.DEALER), "1")
    alone: list[AnyInput] = [CONFIGURED, LinkUp(PORT), LinkDown("gone"), Woken(), told, *ORDERS]
    between: list[list[AnyInput]] = [*([one] for one in alone), [LinkDown("gone"), LinkDown("refused"), CONFIGURED]]
    for played, session, state, at in points(subject):
        for several in between:
            now = state
            for came in several:
                now, heard = subject.step(session, now, came, at)
                tell_of_link(subject, came, heard)
                subject.restored(session, now)
            reopened = again(played, at)
            now, _ = subject.step(session, now, LinkDown("gone"), at)
            now, heard = subject.step(session, now, Received(b"\x00"), at)
            if heard != Heard():
                raise subject.broken(f"bytes behind the end of the link gave {heard}")
            replies = [heard for _, each, heard in subject.play(session, reopened, now) if each.came != LinkUp(PORT)]
            taken = any(isinstance(seen, Reported) for heard in replies for seen in heard.observations)
            # One that acknowledges may know it all: it says so to the device alone.
            if not taken and not any(heard.sends for heard in replies):
                raise subject.broken(f"{several} before it, and then {played.name} said nothing on a new link")


def tell_of_link(subject: Subject, came: AnyInput, heard: Heard) -> None:
    said = [type(each) for each in heard.observations]
    match came:
        case LinkUp() if LinkOpened not in said:
            raise subject.broken("nobody was told that the link is open")
        case LinkDown() if LinkClosed not in said:
            raise subject.broken("nobody was told that the link is closed")
        case _:
            pass


def waking(subject: Subject) -> None:
    """Woken at the moment that it named, something changes and a later one is named; before it, nothing happens."""
    for played, session, state, at in points(subject):
        now, moment = state, at
        for _ in range(CHAIN):
            due = session.wake_at(now)
            if due is None:
                break
            if due - moment.mono_ns > 1:
                same, heard = subject.step(session, now, Woken(), Now(moment.utc_us, due - 1))
                if same != now or heard != Heard():
                    raise subject.broken(f"{played.name}: woken before its moment, it said {heard}")
            waited_ns = max(0, due - moment.mono_ns)
            moment = Now(moment.utc_us + waited_ns // 1000, moment.mono_ns + waited_ns)
            after, heard = subject.step(session, now, Woken(), moment)
            if after == now and heard == Heard():
                raise subject.broken(f"{played.name}: woken at the moment that it named, nothing changed")
            named = session.wake_at(after)
            if named is not None and named <= moment.mono_ns:
                raise subject.broken(f"{played.name}: it named a moment that is over")
            now = after


def evidence(subject: Subject) -> None:
    """What a frame said carries that frame: these bytes lie at that offset of the line."""
    for played in subject.played:
        for inputs in (played.inputs, cut(played.inputs, subject.random())):
            line = b"".join(each.came.data for each in inputs if isinstance(each.came, Received))
            for seen in subject.observed(subject.session(played.settings), inputs):
                frame = seen if isinstance(seen, FrameRejected) else getattr(seen, "frame", None)
                if frame is None:  # of the link, or of an order
                    continue
                raw = bytes.fromhex(frame.raw)
                subject.given = frame.raw
                if not raw or line[frame.offset : frame.offset + len(raw)] != raw:
                    raise subject.broken(f"{played.name}: no such bytes are at {frame.offset}, where {seen} has them")


def silent(subject: Subject) -> None:
    """Nothing is ever sent by a session that only listens; and no order where none is allowed."""
    for played in subject.played:
        for allowed in (False, True):
            session = subject.session(played.settings.listening(), allow_orders=allowed)
            for _, each, heard in subject.play(session, played.inputs):
                if heard.sends:
                    subject.given = shown(each)
                    raise subject.broken(f"{played.name}: {b''.join(heard.sends).hex(' ')} was sent")
    for played, session, state, at in points(subject):
        for came in ORDERS:
            _, heard = subject.step(session, state, came, at)
            if heard.sends or not refused(heard):
                raise subject.broken(f"{played.name}: the order was not refused: {heard}")


def refused(heard: Heard) -> bool:
    """Whether the session itself refused the order: the table accepts a command whose order was not refused."""
    answers = [seen for seen in heard.observations if isinstance(seen, OrderAnswered)]
    return [(each.accepted, each.answered_by) for each in answers] == [(False, AnsweredBy.HOST)]


def sending(subject: Subject) -> None:
    """Where orders are allowed, what is sent is an order that the family reads; what is not sent is refused."""
    for played in subject.played:
        session = subject.session(played.settings, allow_orders=True)
        orders = subject.family.orders(played.settings)
        for state, passed, heard in list(subject.play(session, played.inputs))[:: max(1, len(played.inputs) // POINTS)]:
            for came in ORDERS:
                _, ordered = subject.step(session, state, came, passed.at)
                if not ordered.sends and not refused(ordered):
                    raise subject.broken(f"{played.name}: the order was neither sent nor refused by the host")
                for data in (*heard.sends, *ordered.sends):
                    found = subject.hear(orders, [data])
                    if not found or not all(isinstance(each, Frame) for each in found):
                        raise subject.broken(f"{played.name}: what was sent is no order of the family")


def bounded(subject: Subject) -> None:
    """However much comes, the state stays small."""
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
