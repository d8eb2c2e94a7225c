"""The device's session of an Angel Eye shoe: the counterpart of `angel_eye`.

Theory of operation: this session is a fold like the host's. `say` numbers a report and returns the bytes of all its
copies. The numbers run from '1' to '9' and repeat. `hear` reads the bytes of a host and returns the answers. The
answer to an accepted order is ACK; if the order changes something, a report of the change follows. The answer to a
refused order is NAK with a code. The state follows the reports: the shoe is in error after `E`, locked after `L`,
and busy from stand-by to the next start of communication. The codes of the answers are documented. Which code answers
which order, and the effect of each order, are assumed.
"""

from collections.abc import Mapping
from dataclasses import replace as numbered
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import (
    FOLLOWING,
    AngelEyeOrder,
    AngelEyeRefusal,
    AngelEyeReport,
    AngelEyeSettings,
    OrderType,
)
from firmware_protocols.angel_eye.layout import ERRORS, NAK, REFUSALS
from firmware_protocols.family import Reason
from shoed import wire
from shoed.model.cards import Card
from shoed.model.moments import Chunk
from shoed.session.angel_eye import CARDS
from shoed.wire import LineState, Rejected

UNNUMBERED: Final = ""  # the sequence of a report that is not sent yet
FACES: Final[Mapping[Card, theirs.AngelEyeFace]] = {card: face for face, card in CARDS.items()}

TYPE: Final = slice(3, 5)  # the position of the type in an order: STX "OP" TYPE
TYPES: Final = {each.value.encode() for each in OrderType}
OVERDRAW: Final = next(each.number for each in ERRORS if each.name is theirs.AngelEyeFault.OVERDRAW)
CODES: Final = {each.name: each.number for each in REFUSALS}


class AngelEyeReplies(msgspec.Struct, frozen=True):
    """How the shoe answers orders. With the defaults the answer depends on the state of the shoe."""

    silent: bool = False
    refuse: AngelEyeRefusal | None = None  # refuse every order with this code
    in_a_byte: bool = False  # the code of NAK is one byte, not two digits
    reports: bool = True  # a report follows an order that changed something


class AngelEyeShoeState(msgspec.Struct, frozen=True):
    line: LineState = LineState()
    sequence: str = "1"  # the number of the next report
    locked: bool = False
    busy: bool = False
    error: int | None = None


DEFAULT_REPLIES: Final = AngelEyeReplies()


class AngelEyeShoe:
    """`start_advances`: a start of communication uses up its number. Some emulators use that number again."""

    def __init__(
        self, settings: AngelEyeSettings, *, start_advances: bool = True, replies: AngelEyeReplies = DEFAULT_REPLIES
    ) -> None:
        self.settings = settings
        self.replies = replies
        self.start_advances = start_advances
        self.orders = theirs.orders(settings)

    def begin(self) -> AngelEyeShoeState:
        return AngelEyeShoeState()

    def say(self, state: AngelEyeShoeState, report: AngelEyeReport) -> tuple[AngelEyeShoeState, bytes]:
        """Return the bytes of all copies of the numbered report."""
        frame = theirs.build(numbered(report, sequence=state.sequence), self.settings)
        if self.start_advances or not isinstance(report, theirs.StartOfCommunication):
            state = replace(state, sequence=FOLLOWING[state.sequence])
        return effected(state, report), frame * self.settings.copies

    def hear(self, state: AngelEyeShoeState, chunk: Chunk) -> tuple[AngelEyeShoeState, bytes]:
        """Return the answers of the shoe to the bytes of a host; an empty chunk only passes time."""
        line, found = wire.receive(self.orders, state.line, chunk)
        state = replace(state, line=line)
        answers = b""
        for each in found:
            match each:
                case Rejected(reason=Reason.JUNK):
                    continue  # noise before an order gets no answer
                case Rejected():
                    answer = self.refuse(refusal(each))
                case _:
                    state, answer = self.answer_order(state, each.message)
            answers += answer
        return state, answers

    def wake_at(self, state: AngelEyeShoeState) -> int | None:
        """When the shoe gives up an incomplete order, on the monotonic clock."""
        return wire.wake_at(self.orders, state.line)

    def answer_order(self, state: AngelEyeShoeState, order: AngelEyeOrder) -> tuple[AngelEyeShoeState, bytes]:
        code = AngelEyeRefusal.BUSY if state.busy else self.replies.refuse
        if code is not None:
            return state, self.refuse(code)
        effect: AngelEyeReport | None = None
        match order.type:
            case OrderType.LOCK:
                locked = order == theirs.LOCK
                effect = None if locked is state.locked else theirs.KeyLock(UNNUMBERED, locked)
            case OrderType.ERROR_CLEAR:
                effect = cleared(state.error, order)
            case OrderType.PROCESS:
                pass
            case _:
                assert_never(order.type)
        answer = b"" if self.replies.silent else theirs.build(theirs.AngelEyeAcknowledge(), self.settings)
        if effect is None:
            return state, answer
        if not self.replies.reports:
            return effected(state, effect), answer
        state, reported = self.say(state, effect)
        return state, answer + reported

    def refuse(self, code: AngelEyeRefusal) -> bytes:
        if self.replies.silent:
            return b""
        if self.replies.in_a_byte:
            return bytes((NAK, CODES[code]))
        return theirs.build(theirs.Refuse(code), self.settings)


def cleared(error: int | None, order: AngelEyeOrder) -> AngelEyeReport | None:
    """An overdraw is cleared with the decision about its card, and any other error without one."""
    if error is None or (error == OVERDRAW) is (order == theirs.CLEAR_ERROR):
        return None
    return theirs.ErrorCleared(UNNUMBERED, error)


def effected(state: AngelEyeShoeState, report: AngelEyeReport) -> AngelEyeShoeState:
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


def refusal(rejected: Rejected) -> AngelEyeRefusal:
    match rejected.reason:
        case Reason.BAD_CHECK:
            return AngelEyeRefusal.BCC
        case Reason.TORN:
            return AngelEyeRefusal.NO_ETX
        case Reason.UNKNOWN_COMMAND:
            return AngelEyeRefusal.COMMAND
        case Reason.UNDECLARED_CODE if rejected.raw[TYPE] not in TYPES:
            return AngelEyeRefusal.TYPE
        case Reason.UNDECLARED_CODE | Reason.OVER_LONG | Reason.MALFORMED:
            return AngelEyeRefusal.FORMAT
        case _:
            return AngelEyeRefusal.OTHER
