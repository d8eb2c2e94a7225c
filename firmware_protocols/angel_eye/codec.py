"""Whole Angel Eye frames to messages and back.

A frame is `start | body | ETX | BCC`, the BCC being an XOR as two upper-case hex digits, over
the span that the settings say. Answers have no check. What a frame cannot mean is a `Malformed`;
a message that the line cannot carry is a `ValueError`, because only a defect of ours makes one.
"""

from functools import lru_cache, reduce
from operator import xor
from typing import Any, Final

from construct import ConstructError, MappingError

from firmware_protocols.angel_eye.layout import (
    ACK,
    BCC_SIZE,
    BY_LETTER,
    BY_MESSAGE,
    CLEAR,
    ENQ,
    ETX,
    FROM_SHOE,
    NAK,
    NUMBERS,
    OPERATION,
    ORDER_BODY,
    ORDER_SIZE,
    PRINTABLE,
    REFUSAL_BODY,
    REFUSED_IN_A_BYTE,
    SIZES,
    STX,
    TO_SHOE,
)
from firmware_protocols.angel_eye.messages import (
    Acknowledge,
    FormName,
    FromShoe,
    Message,
    Order,
    OrderType,
    Refuse,
    Reply,
    Report,
)
from firmware_protocols.angel_eye.settings import AngelEyeSettings, Span
from firmware_protocols.family import Direction, Malformed, Reason

# The shoe says everything three times in a row: the last few frames are all that is worth remembering.
REMEMBERED: Final = 8
# Every card at every place of a round, with room: construct's 9 us are spent once for each.
DATA_REMEMBERED: Final = 512
TYPES: Final = {each.value.encode() for each in OrderType}


def reports(settings: AngelEyeSettings) -> Direction[FromShoe]:
    """What the shoe says: reports, answers, replies, and a host's orders where the line echoes them."""

    @lru_cache(REMEMBERED)
    def read(raw: bytes) -> FromShoe | Malformed:
        start, body = raw[0], raw[1 : -1 - BCC_SIZE]
        if start == ENQ:
            return _wrong_bcc(raw, settings.bcc_span) or _read_report(body)
        if start == ACK:
            return Acknowledge()
        if start == NAK:
            return _read_refusal(raw[1:])
        return _read_reply(raw, settings) or (
            _wrong_bcc(raw, settings.order_bcc_span)
            or Malformed(Reason.ECHO, f"an order of a host came back: {body.decode('ascii', 'backslashreplace')}")
        )

    return Direction(FROM_SHOE, settings.torn_after_ms, read)


def form_of(raw: bytes) -> FormName:
    """The form of a frame of the shoe that was read; the documented one has no name."""
    start, body = raw[0], raw[1 : -1 - BCC_SIZE]
    if start == STX:
        return FormName.STX
    if start == NAK and len(raw[1:]) == 1:
        return FormName.ONE_BYTE
    return FormName.BIT_7_CLEAR if start == ENQ and _data_is_clear(body) else FormName.DOCUMENTED


def orders(settings: AngelEyeSettings) -> Direction[Order]:
    """What a host says, as the shoe hears it."""

    def read(raw: bytes) -> Order | Malformed:
        return _wrong_bcc(raw, settings.order_bcc_span) or _read_order(raw[1 : -1 - BCC_SIZE])

    return Direction(TO_SHOE, settings.torn_after_ms, read)


def build(message: Message, settings: AngelEyeSettings) -> bytes:
    """The whole frame that carries the message."""
    read: Message | Malformed
    try:
        match message:
            case Acknowledge():
                frame, read = bytes((ACK,)), message
            case Refuse(code):
                body = REFUSAL_BODY.build({"code": code})
                frame, read = bytes((NAK,)) + body, _read_refusal(body)
            case Reply(text):
                body = text.encode("ascii")
                frame = _frame(STX, body, settings.bcc_span)
                read = _read_reply(frame, settings) or Malformed(Reason.ECHO, "as an order")
            case Order(type_, number):
                body = ORDER_BODY.build({"type": type_, "number": number})
                frame, read = _frame(STX, body, settings.order_bcc_span), _read_order(body)
            case _:
                command = BY_MESSAGE[type(message)]
                data = command.layout.build({name: getattr(message, name) for name in command.names})
                body = f"{message.sequence}{command.letter}".encode("ascii") + data
                frame, read = _frame(ENQ, body, settings.bcc_span), _read_report(body)
    except (ConstructError, UnicodeEncodeError) as error:
        raise ValueError(f"{message} does not fit its frame: {error}") from error
    if read != message:
        raise ValueError(f"{message} does not fit its frame: it would be read as {read}")
    return frame


def _frame(start: int, body: bytes, span: Span) -> bytes:
    inside = bytes((start, *body, ETX))
    return inside + _bcc(inside, span)


def _bcc(inside: bytes, span: Span) -> bytes:
    return b"%02X" % reduce(xor, inside if span is Span.WHOLE else inside[1:])


def _wrong_bcc(raw: bytes, span: Span) -> Malformed | None:
    inside, said = raw[:-BCC_SIZE], raw[-BCC_SIZE:]
    due = _bcc(inside, span)
    if said == due:
        return None
    return Malformed(Reason.BAD_CHECK, f"the BCC is {said.hex(' ')}, {due.hex(' ')} is due")


def _read_report(body: bytes) -> Report | Malformed:
    if len(body) < len("1S"):
        return Malformed(Reason.MALFORMED, "no sequence and command")
    sequence, letter, data = body[0], body[1], body[2:]
    if sequence not in PRINTABLE:
        return Malformed(Reason.MALFORMED, f"the sequence {sequence:02X} is no printable character")
    command = BY_LETTER.get(letter)
    if command is None:
        return Malformed(Reason.UNKNOWN_COMMAND, f"no command {letter:02X} is known")
    if len(data) != command.size:
        return Malformed(Reason.MALFORMED, f"{command.title}: {command.size} bytes of data are due, {len(data)} came")
    said = _read_data(letter, data)
    return said if isinstance(said, Malformed) else command.message(chr(sequence), **said)


def _data_is_clear(body: bytes) -> bool:
    """Whether bit 7 is clear in all data of a binary command."""
    data = body[2:]
    return len(data) == SIZES.get(body[1:2]) and max(data) in CLEAR


@lru_cache(DATA_REMEMBERED)
def _read_data(letter: int, data: bytes) -> dict[str, Any] | Malformed:
    """The data of one report, by the declared layout."""
    command = BY_LETTER[letter]
    if _data_is_clear(bytes((0, letter, *data))):
        data = bytes(byte | 0x80 for byte in data)
    try:
        said = command.layout.parse(data)
    except MappingError as error:
        return Malformed(Reason.UNDECLARED_CODE, f"{command.title}: {_where(error)} is a code that is not known")
    except ConstructError:
        return Malformed(Reason.MALFORMED, f"{command.title}: data that cannot be: {data.hex(' ')}")
    return {name: said[name] for name in command.names}


def _read_refusal(body: bytes) -> Refuse | Malformed:
    if len(body) == 1:
        return Refuse(REFUSED_IN_A_BYTE[body[0]])
    try:
        return Refuse(REFUSAL_BODY.parse(body).code)
    except MappingError:
        return Malformed(Reason.UNDECLARED_CODE, f"refusal {body.hex(' ')} is a code that is not known")


def _read_reply(raw: bytes, settings: AngelEyeSettings) -> Reply | None:
    """The text of a reply; None for what is none, or may be the damaged echo of an order."""
    body = raw[1 : -1 - BCC_SIZE]
    of_a_host = settings.order_bcc_span is settings.bcc_span or body.startswith(OPERATION)
    # One flipped bit of OP can make up for STX, which the BCC of an order covers and that of a reply does not.
    damaged = len(body) == ORDER_SIZE and body[2:4] in TYPES and body[4:].isdigit()
    if of_a_host or damaged or not body or any(byte not in PRINTABLE for byte in body):
        return None
    return None if _wrong_bcc(raw, settings.bcc_span) else Reply(body.decode("ascii"))


def _read_order(body: bytes) -> Order | Malformed:
    if not body.startswith(OPERATION):
        return Malformed(Reason.UNKNOWN_COMMAND, "the command of an order is OP")
    if len(body) != ORDER_BODY.sizeof():
        return Malformed(Reason.MALFORMED, f"an order has {ORDER_BODY.sizeof()} characters, not {len(body)}")
    try:
        said = ORDER_BODY.parse(body)
    except MappingError as error:
        return Malformed(Reason.UNDECLARED_CODE, f"order: {_where(error)} is a code that is not known")
    if said.number not in NUMBERS[said.type]:
        return Malformed(Reason.UNDECLARED_CODE, f"order {said.type.value} has no number {said.number:02}")
    return Order(said.type, said.number)


def _where(error: MappingError) -> str:
    """The field that would not read: the last step of construct's own path to it."""
    return str(error.path).rpartition(" -> ")[2]
