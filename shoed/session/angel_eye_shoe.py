"""An Angel Eye shoe, in the role of the device: the other end of `angel_eye`.

Theory of operation: a fold like the host's. `say` takes a report without its number and gives the
bytes of all its copies; the numbers run '1' to '9' and begin again. `hear` takes what came from a
host and gives the answers: ACK, and what the order effected as a report of its own, or NAK and why
not. What the shoe has said is its state, too: it is in error after `E`, locked after `L`, and busy
from stand-by to the next start of communication. How the real shoe answers is known only in its
codes; which code answers what, and what an order effects, is assumed.
"""

from collections.abc import Mapping
from dataclasses import replace as numbered
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FOLLOWING, AngelEyeSettings, Order, OrderType, Refusal, Report
from firmware_protocols.angel_eye.layout import ERRORS, NAK, REFUSALS
from firmware_protocols.family import Reason
from shoed import wire
from shoed.cards import Card
from shoed.now import Chunk
from shoed.session.angel_eye import CARDS
from shoed.wire import LineState, Rejected

UNNUMBERED: Final = ""  # the sequence of a report that is still to be said
FACES: Final[Mapping[Card, theirs.Face]] = {card: face for face, card in CARDS.items()}

TYPE: Final = slice(3, 5)  # where an order's type lies in its frame: STX "OP" TYPE
TYPES: Final = {each.value.encode() for each in OrderType}
OVERDRAW: Final = next(each.number for each in ERRORS if each.name is theirs.Fault.OVERDRAW)
CODES: Final = {each.name: each.number for each in REFUSALS}


class Replies(msgspec.Struct, frozen=True):
    """How the shoe answers orders; without settings as its state demands."""

    silent: bool = False
    refuse: Refusal | None = None  # every order, with this code
    in_a_byte: bool = False  # the code of NAK is one byte, not two digits
    reports: bool = True  # an order that changed something is followed by its report


class ShoeState(msgspec.Struct, frozen=True):
    line: LineState = LineState()
    sequence: str = "1"  # of the next report
    locked: bool = False
    busy: bool = False
    error: int | None = None


AS_IT_IS: Final = Replies()


class AngelEyeShoe:
    """`start_advances`: whether a start of communication uses up its number, which some emulators keep for the next."""

    def __init__(self, settings: AngelEyeSettings, *, start_advances: bool = True, replies: Replies = AS_IT_IS) -> None:
        self.settings = settings
        self.replies = replies
        self.start_advances = start_advances
        self.orders = theirs.orders(settings)

    def begin(self) -> ShoeState:
        return ShoeState()

    def say(self, state: ShoeState, report: Report) -> tuple[ShoeState, bytes]:
        """The report under its number, as often as the shoe says it."""
        frame = theirs.build(numbered(report, sequence=state.sequence), self.settings)
        if self.start_advances or not isinstance(report, theirs.StartOfCommunication):
            state = replace(state, sequence=FOLLOWING[state.sequence])
        return effected(state, report), frame * self.settings.copies

    def hear(self, state: ShoeState, chunk: Chunk) -> tuple[ShoeState, bytes]:
        """What the shoe says to the bytes of a host; an empty chunk only lets time pass."""
        line, found = wire.receive(self.orders, state.line, chunk)
        state = replace(state, line=line)
        said = b""
        for each in found:
            match each:
                case Rejected(reason=Reason.JUNK):
                    continue  # noise before an order: nobody waits for an answer
                case Rejected():
                    answer = self.refuse(refusal(each))
                case _:
                    state, answer = self.obey(state, each.message)
            said += answer
        return state, said

    def wake_at(self, state: ShoeState) -> int | None:
        """When a broken-off order is to be given up, on the monotonic clock."""
        return wire.wake_at(self.orders, state.line)

    def obey(self, state: ShoeState, order: Order) -> tuple[ShoeState, bytes]:
        code = Refusal.BUSY if state.busy else self.replies.refuse
        if code is not None:
            return state, self.refuse(code)
        effect: Report | None = None
        match order.type:
            case OrderType.LOCK:
                locked = order == theirs.LOCK
                effect = None if locked is state.locked else theirs.KeyLock(UNNUMBERED, locked)
            case OrderType.ERROR_CLEAR:
                overdraw = state.error == OVERDRAW
                if state.error is not None and overdraw is (order != theirs.CLEAR_ERROR):
                    effect = theirs.ErrorCleared(UNNUMBERED, state.error)
            case OrderType.PROCESS:
                pass
            case _:
                assert_never(order.type)
        answer = b"" if self.replies.silent else theirs.build(theirs.Acknowledge(), self.settings)
        if effect is None:
            return state, answer
        if not self.replies.reports:
            return effected(state, effect), answer
        state, said = self.say(state, effect)
        return state, answer + said

    def refuse(self, code: Refusal) -> bytes:
        if self.replies.silent:
            return b""
        if self.replies.in_a_byte:
            return bytes((NAK, CODES[code]))
        return theirs.build(theirs.Refuse(code), self.settings)


def effected(state: ShoeState, report: Report) -> ShoeState:
    match report:
        case theirs.StandBy():
            return replace(state, busy=True)
        case theirs.StartOfCommunication():
            return replace(state, busy=False)
        case theirs.KeyLock(locked=locked):
            return replace(state, locked=locked)
        case theirs.ErrorRaised(in_error_mode=True, code=code):
            return replace(state, error=code)
        case theirs.ErrorCleared():
            return replace(state, error=None)
        case _:
            return state


def refusal(rejected: Rejected) -> Refusal:
    match rejected.reason:
        case Reason.BAD_CHECK:
            return Refusal.BCC
        case Reason.TORN:
            return Refusal.NO_ETX
        case Reason.UNKNOWN_COMMAND:
            return Refusal.COMMAND
        case Reason.UNDECLARED_CODE if rejected.raw[TYPE] not in TYPES:
            return Refusal.TYPE
        case Reason.UNDECLARED_CODE | Reason.OVER_LONG | Reason.MALFORMED:
            return Refusal.FORMAT
        case _:
            return Refusal.OTHER
