"""Converts complete Angel Eye frames to messages, and back.

A frame is `start | body | ETX | BCC`. The BCC is an XOR over the span of the settings, as two upper-case hex digits.
Answers have no check. A frame that the tables do not define becomes a `Malformed`. A message that cannot be encoded
raises `ValueError`: it is a defect of shoed.
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
    AngelEyeAcknowledge,
    AngelEyeMessage,
    AngelEyeOrder,
    AngelEyeReport,
    FormName,
    FromShoe,
    OrderType,
    Refuse,
    Reply,
)
from firmware_protocols.angel_eye.settings import AngelEyeSettings, Span
from firmware_protocols.family import Codec, Malformed, Reason

# The shoe sends every report three times in a row: only the last few frames are worth caching.
REMEMBERED: Final = 8
# Enough for every card at every place of a round: construct's 9 us are spent once for each.
DATA_REMEMBERED: Final = 512
TYPES: Final = {each.value.encode() for each in OrderType}


def reports(settings: AngelEyeSettings) -> Codec[FromShoe]:
    """The codec for the messages of a shoe: reports, ACK, NAK, text, and echoed orders of a host."""

    @lru_cache(REMEMBERED)
    def read(raw: bytes) -> FromShoe | Malformed:
        start, body = raw[0], raw[1 : -1 - BCC_SIZE]
        if start == ENQ:
            return _wrong_bcc(raw, settings.bcc_span) or _read_report(body)
        if start == ACK:
            return AngelEyeAcknowledge()
        if start == NAK:
            return _read_refusal(raw[1:])
        return _read_reply(raw, settings) or (
            _wrong_bcc(raw, settings.order_bcc_span)
            or Malformed(Reason.ECHO, f"the line echoed an order of a host: {body.decode('ascii', 'backslashreplace')}")
        )

    return Codec(FROM_SHOE, settings.torn_after_ms, read)


def form_of(raw: bytes) -> FormName:
    """Return the form of a frame of the shoe; the documented form has an empty name."""
    start, body = raw[0], raw[1 : -1 - BCC_SIZE]
    if start == STX:
        return FormName.STX
    if start == NAK and len(raw[1:]) == 1:
        return FormName.ONE_BYTE
    return FormName.BIT_7_CLEAR if start == ENQ and _data_is_clear(body) else FormName.DOCUMENTED


def orders(settings: AngelEyeSettings) -> Codec[AngelEyeOrder]:
    """The codec for the orders of a host."""

    def read(raw: bytes) -> AngelEyeOrder | Malformed:
        return _wrong_bcc(raw, settings.order_bcc_span) or _read_order(raw[1 : -1 - BCC_SIZE])

    return Codec(TO_SHOE, settings.torn_after_ms, read)


def build(message: AngelEyeMessage, settings: AngelEyeSettings) -> bytes:
    """Return the complete frame of the message."""
    read: AngelEyeMessage | Malformed
    try:
        match message:
            case AngelEyeAcknowledge():
                frame, read = bytes((ACK,)), message
            case Refuse(code):
                body = REFUSAL_BODY.build({"code": code})
                frame, read = bytes((NAK,)) + body, _read_refusal(body)
            case Reply(text):
                body = text.encode("ascii")
                frame = _frame(STX, body, settings.bcc_span)
                read = _read_reply(frame, settings) or Malformed(Reason.ECHO, "as an order")
            case AngelEyeOrder(type_, number):
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
        raise ValueError(f"{message} does not fit its frame: the frame decodes as {read}")
    return frame


def _frame(start: int, body: bytes, span: Span) -> bytes:
    inside = bytes((start, *body, ETX))
    return inside + _bcc(inside, span)


def _bcc(inside: bytes, span: Span) -> bytes:
    return b"%02X" % reduce(xor, inside if span is Span.WHOLE else inside[1:])


def _wrong_bcc(raw: bytes, span: Span) -> Malformed | None:
    inside, received = raw[:-BCC_SIZE], raw[-BCC_SIZE:]
    due = _bcc(inside, span)
    if received == due:
        return None
    return Malformed(Reason.BAD_CHECK, f"the BCC is {received.hex(' ')}, not {due.hex(' ')}")


def _read_report(body: bytes) -> AngelEyeReport | Malformed:
    if len(body) < len("1S"):
        return Malformed(Reason.MALFORMED, "the sequence and the command are missing")
    sequence, letter, data = body[0], body[1], body[2:]
    if sequence not in PRINTABLE:
        return Malformed(Reason.MALFORMED, f"the sequence {sequence:02X} is not a printable character")
    command = BY_LETTER.get(letter)
    if command is None:
        return Malformed(Reason.UNKNOWN_COMMAND, f"the command {letter:02X} is unknown")
    values = _read_data(letter, data)
    return values if isinstance(values, Malformed) else command.message(chr(sequence), **values)


def _data_is_clear(body: bytes) -> bool:
    """Whether bit 7 is clear in all data of a binary command."""
    data = body[2:]
    return len(data) == SIZES.get(body[1:2]) and max(data) in CLEAR


@lru_cache(DATA_REMEMBERED)
def _read_data(letter: int, data: bytes) -> dict[str, Any] | Malformed:
    """Return the data of one report, by the declared layout."""
    command = BY_LETTER[letter]
    if len(data) != command.size:
        return Malformed(Reason.MALFORMED, f"{command.title}: {len(data)} bytes of data instead of {command.size}")
    if _data_is_clear(bytes((0, letter, *data))):
        data = bytes(byte | 0x80 for byte in data)
    try:
        values = command.layout.parse(data)
    except MappingError as error:
        return Malformed(Reason.UNDECLARED_CODE, f"{command.title}: the code of {_where(error)} is unknown")
    except ConstructError:
        return Malformed(Reason.MALFORMED, f"{command.title}: impossible data: {data.hex(' ')}")
    return {name: values[name] for name in command.names}


def _read_refusal(body: bytes) -> Refuse | Malformed:
    if len(body) == 1:
        return Refuse(REFUSED_IN_A_BYTE[body[0]])
    try:
        return Refuse(REFUSAL_BODY.parse(body).code)
    except MappingError:
        return Malformed(Reason.UNDECLARED_CODE, f"the refusal code {body.hex(' ')} is unknown")


def _read_reply(raw: bytes, settings: AngelEyeSettings) -> Reply | None:
    """Return the text of the shoe. None: the text has other characters, or may be the damaged echo of an order."""
    body = raw[1 : -1 - BCC_SIZE]
    of_a_host = settings.order_bcc_span is settings.bcc_span or body.startswith(OPERATION)
    # One wrong bit in OP can compensate for STX: the BCC of an order covers STX, and the BCC of a text does not.
    damaged = len(body) == ORDER_SIZE and body[2:4] in TYPES and body[4:].isdigit()
    if of_a_host or damaged or not body or any(byte not in PRINTABLE for byte in body):
        return None
    return None if _wrong_bcc(raw, settings.bcc_span) else Reply(body.decode("ascii"))


def _read_order(body: bytes) -> AngelEyeOrder | Malformed:
    if not body.startswith(OPERATION):
        return Malformed(Reason.UNKNOWN_COMMAND, "the command of an order is OP")
    if len(body) != ORDER_BODY.sizeof():
        return Malformed(Reason.MALFORMED, f"an order has {ORDER_BODY.sizeof()} characters, not {len(body)}")
    try:
        order = ORDER_BODY.parse(body)
    except MappingError as error:
        return Malformed(Reason.UNDECLARED_CODE, f"order: the code of {_where(error)} is unknown")
    if order.number not in NUMBERS[order.type]:
        return Malformed(Reason.UNDECLARED_CODE, f"order {order.type.value} has no number {order.number:02}")
    return AngelEyeOrder(order.type, order.number)


def _where(error: MappingError) -> str:
    """Return the unreadable field: the last step of construct's own path to it."""
    return str(error.path).rpartition(" -> ")[2]
