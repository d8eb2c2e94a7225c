"""The layout of every Angel Eye message: frames, commands and codes, each declared once.

The data of each command is one construct over exactly its bytes. Other modules find the frame, its length and its
check by hand. The constructs are not compiled, because the contents of a BitStruct stay interpreted in any case
(measured: 8.3 us against 8.4 us a card). Interpreted constructs raise only `ConstructError`.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Final, NamedTuple

from construct import (
    Bit,
    BitsInteger,
    BitStruct,
    Bytes,
    Const,
    Construct,
    Flag,
    Mapping,
    Padding,
    StringEncoded,
    Struct,
)

from firmware_protocols.angel_eye.messages import (
    AngelEyeCutCard,
    AngelEyeFace,
    AngelEyeFault,
    AngelEyeNoFace,
    AngelEyeOutcome,
    AngelEyePresetChanged,
    AngelEyeRefusal,
    AngelEyeReport,
    AngelEyeResult,
    AngelEyeSituation,
    AngelEyeSuit,
    CardCode,
    CardInGame,
    CardOutside,
    ErrorCleared,
    ErrorRaised,
    FormName,
    KeyLock,
    OrderType,
    OverdrawCard,
    StandBy,
    StartOfCommunication,
    Target,
    UnknownSituation,
    UnknownTarget,
)
from firmware_protocols.family import Code, Form, FrameKind, Framing, Mark, Name

STX: Final = 0x02
ETX: Final = 0x03
ENQ: Final = 0x05
ACK: Final = 0x06
NAK: Final = 0x15

CONTROL: Final = bytes(range(0x20))
BCC_SIZE: Final = 2

REFUSALS: Final = (
    Code(0x01, AngelEyeRefusal.LINE, "overrun, framing or parity", Mark.DOCUMENTED),
    Code(0x02, AngelEyeRefusal.BCC, "BCC", Mark.DOCUMENTED),
    Code(0x03, AngelEyeRefusal.NO_ETX, "no ETX", Mark.DOCUMENTED),
    Code(0x11, AngelEyeRefusal.FORMAT, "format or length", Mark.DOCUMENTED),
    Code(0x12, AngelEyeRefusal.ADDRESS, "address", Mark.DOCUMENTED),
    Code(0x13, AngelEyeRefusal.COMMAND, "command", Mark.DOCUMENTED),
    Code(0x14, AngelEyeRefusal.TYPE, "type", Mark.DOCUMENTED),
    Code(0x21, AngelEyeRefusal.BUSY, "busy", Mark.DOCUMENTED),
    Code(0x22, AngelEyeRefusal.WRITING, "writing", Mark.DOCUMENTED),
    Code(0xFF, AngelEyeRefusal.OTHER, "other", Mark.DOCUMENTED),
)
# The code of a NAK is two hex digits, or one byte of the same value. No such byte is an ASCII hex digit.
REFUSED_IN_A_BYTE: Final = {each.number: each.name for each in REFUSALS}

SIZES: Final = {b"D": 2, b"d": 2, b"R": 2, b"G": 1, b"E": 1, b"e": 1, b"L": 1}  # of the data of the binary commands
PRINTABLE: Final = bytes(range(0x20, 0x7F))
CLEAR: Final = bytes(range(0x80))  # bytes with bit 7 clear
FORMS: Final = (
    Form(
        FormName.BIT_7_CLEAR,
        "`05` sequence, `D d R G E e L`, data of the length for the command without bit 7, `03`, BCC",
        "the report with the same seven bits",
        Mark.OBSERVED,
    ),
    Form(FormName.ONE_BYTE, "`15` and one byte of the table of codes", "the refusal with that code", Mark.OBSERVED),
    Form(
        FormName.STX,
        "`02` printable text `03` BCC over text and `03`, as of a report",
        "text of the shoe; it neither accepts nor refuses an order",
        Mark.OBSERVED,
    ),
)

# The longest declared report (M) has a body of 8 bytes. Twice this length keeps a longer unknown report in one piece.
# Data without bit 7 may contain any control character, also ETX: only its length marks its end.
REPORT: Final = FrameKind(
    "report",
    start=ENQ,
    end=ETX,
    body_max=16,
    trailer=BCC_SIZE,
    fixed=tuple((PRINTABLE, letter, *[CLEAR] * size) for letter, size in SIZES.items()),
)
ORDER: Final = FrameKind("order", start=STX, end=ETX, body_max=16, trailer=BCC_SIZE)
# One wrong bit changes the BCC digit F into ACK. ACK and NAK have no BCC, so neither begins inside another frame.
ACKNOWLEDGE: Final = FrameKind("acknowledge", start=ACK, end=None, body_max=0, breaks_in=False)
REFUSE: Final = FrameKind("refuse", start=NAK, end=None, body_max=2, breaks_in=False, alone=bytes(REFUSED_IN_A_BYTE))

FROM_SHOE: Final = Framing((REPORT, ACKNOWLEDGE, REFUSE, ORDER), never_inside=CONTROL)
TO_SHOE: Final = Framing((ORDER,), never_inside=CONTROL)

SUITS: Final = (
    Code(1, AngelEyeSuit.DIAMONDS, "diamonds", Mark.DOCUMENTED),
    Code(2, AngelEyeSuit.CLUBS, "clubs", Mark.DOCUMENTED),
    Code(3, AngelEyeSuit.SPADES, "spades", Mark.DOCUMENTED),
    Code(4, AngelEyeSuit.HEARTS, "hearts", Mark.DOCUMENTED),
)
RANKS: Final = range(1, 14)

TARGETS: Final = (
    Code(0, Target.PLAYER, "the Player's hand", Mark.DOCUMENTED),
    Code(1, Target.BANKER, "the Banker's hand", Mark.DOCUMENTED),
    Code(2, Target.BURN, "burn card", Mark.DOCUMENTED),
    Code(4, Target.FIRST_CARD, "the first card", Mark.DOCUMENTED),
    Code(5, Target.BURN_COUNT, "burn count; shoed treats the card as burnt", Mark.DOCUMENTED),
)

SITUATIONS: Final = (
    Code(0, AngelEyeSituation.LOCKED, "while locked", Mark.DOCUMENTED),
    Code(1, AngelEyeSituation.ERROR, "in error", Mark.DOCUMENTED),
    Code(2, AngelEyeSituation.SET_UP, "in set-up", Mark.DOCUMENTED),
)

OUTCOMES: Final = (
    Code(1, AngelEyeOutcome.PLAYER, "Player wins", Mark.DOCUMENTED),
    Code(2, AngelEyeOutcome.TIE, "tie", Mark.DOCUMENTED),
    Code(4, AngelEyeOutcome.BANKER, "Banker wins", Mark.DOCUMENTED),
    Code(7, AngelEyeOutcome.FORCED_END, "forced end", Mark.DOCUMENTED),
)

ERRORS: Final = (
    Code(1, AngelEyeFault.CANNOT_READ, "cannot read", Mark.DOCUMENTED),
    Code(2, AngelEyeFault.OVERDRAW, "overdraw", Mark.DOCUMENTED),
    Code(3, AngelEyeFault.BUTTON, "button mishandled", Mark.DOCUMENTED),
    Code(4, AngelEyeFault.REVERSE_AT_EXIT, "reverse run at the exit", Mark.DOCUMENTED),
    Code(5, AngelEyeFault.REVERSE_MIDWAY, "reverse run midway", Mark.DOCUMENTED),
    Code(6, AngelEyeFault.CARD_CODE, "card code", Mark.DOCUMENTED),
    Code(7, AngelEyeFault.DRAW_TIMED_OUT, "draw timed out", Mark.DOCUMENTED),
)
FAULTS: Final = {each.number: each.name for each in ERRORS}


class OrderNumbers(NamedTuple):
    """The numbers that an order of one type may carry."""

    type: OrderType
    numbers: range
    meaning: str
    mark: Mark


ORDERS: Final = (
    OrderNumbers(OrderType.LOCK, range(1, 3), "02 lock, 01 unlock", Mark.DOCUMENTED),
    OrderNumbers(
        OrderType.ERROR_CLEAR,
        range(3),
        "00 clear an error; 01 clear an overdraw, the card is used; 02 clear an overdraw, the card is discarded",
        Mark.OBSERVED,
    ),
    OrderNumbers(
        OrderType.PROCESS, range(1), "confirm the process; the effect on the shoe is unknown", Mark.DOCUMENTED
    ),
)


def _coded(bits: int, codes: tuple[Code[Name], ...], unknown: Callable[[int], object] | None = None) -> Construct:
    """Map codes to names. Without `unknown`, a code that is not in the table is an error."""
    values: dict[object, int] = {each.name: each.number for each in codes}
    others = {*range(1 << bits)} - {*values.values()}
    return Mapping(BitsInteger(bits), values | ({} if unknown is None else {unknown(code): code for code in others}))


def _text(length: int) -> Construct:
    return StringEncoded(Bytes(length), "ascii")


FACES: Final[dict[CardCode, int]] = {
    AngelEyeFace(suit.name, rank): suit.number << 4 | rank for suit in SUITS for rank in RANKS
}
# Every code has a value: a card without a known code is not lost.
CARD_CODES: Final = FACES | {AngelEyeNoFace(code): code for code in {*range(0x80)} - {*FACES.values()}}

MARKER: Final = Const(1, Bit)  # bit 7 of every binary byte, so that data never contains ETX
CARD: Final = Mapping(BitsInteger(7), CARD_CODES)
NOTHING: Final = Struct()
# Every target and situation has a value: a card with an unknown place is not lost.
TARGET: Final = _coded(3, TARGETS, UnknownTarget)
SITUATION: Final = _coded(3, SITUATIONS, UnknownSituation)
PLACED_CARD: Final = BitStruct(MARKER, "target" / TARGET, "index" / BitsInteger(4), MARKER, "card" / CARD)


class AngelEyeCommand(NamedTuple):
    """One report: its letter, its message, and the layout of its data."""

    letter: str
    message: type[AngelEyeReport]
    title: str
    payload: str
    layout: Construct
    mark: Mark

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of the message that the data carries."""
        return tuple(each.name for each in fields(self.message) if each.name != "sequence")

    @property
    def size(self) -> int:
        return int(self.layout.sizeof())


COMMANDS: Final = (
    AngelEyeCommand("S", StartOfCommunication, "start of communication", "none", NOTHING, Mark.DOCUMENTED),
    AngelEyeCommand("P", StandBy, "stand-by", "none", NOTHING, Mark.DOCUMENTED),
    AngelEyeCommand("C", AngelEyeCutCard, "cut card", "none", NOTHING, Mark.DOCUMENTED),
    AngelEyeCommand(
        "D",
        CardInGame,
        "card in the game",
        "byte 1: bits 6-4 target, bits 3-0 index (1-3 in a hand); byte 2: the card",
        PLACED_CARD,
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "d",
        CardOutside,
        "card outside the game",
        "byte 1: bits 6-4 situation; byte 2: the card",
        BitStruct(MARKER, "situation" / SITUATION, Padding(4), MARKER, "card" / CARD),
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "R",
        OverdrawCard,
        "card of an overdraw, after the error is cleared",
        "2 bytes with the layout of `D`",
        PLACED_CARD,
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "G",
        AngelEyeResult,
        "result",
        "bits 6-4 outcome, bit 1 banker pair, bit 0 player pair",
        BitStruct(MARKER, "outcome" / _coded(3, OUTCOMES), Padding(2), "banker_pair" / Flag, "player_pair" / Flag),
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "E",
        ErrorRaised,
        "error",
        "bit 6: 1 in error mode, 0 not; bits 5-0: code",
        BitStruct(MARKER, "in_error_mode" / Flag, "code" / BitsInteger(6)),
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "e",
        ErrorCleared,
        "error cleared",
        "bits 6-0 code",
        BitStruct(MARKER, "code" / BitsInteger(7)),
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "L",
        KeyLock,
        "lock by key",
        "bit 0: 1 locked, 0 not",
        BitStruct(MARKER, Padding(6), "locked" / Flag),
        Mark.DOCUMENTED,
    ),
    AngelEyeCommand(
        "M",
        AngelEyePresetChanged,
        "a preset changed",
        "2 ASCII characters address, 4 ASCII characters value",
        Struct("address" / _text(2), "value" / _text(4)),
        Mark.DOCUMENTED,
    ),
)
BY_LETTER: Final = {ord(each.letter): each for each in COMMANDS}
BY_MESSAGE: Final = {each.message: each for each in COMMANDS}

OPERATION: Final = b"OP"
ORDER_SIZE: Final = 6
ORDER_BODY: Final = Struct(
    Const(OPERATION),
    "type" / Mapping(Bytes(2), {each: each.value.encode() for each in OrderType}),
    "number" / Mapping(Bytes(2), {number: b"%02d" % number for number in range(100)}),
)
NUMBERS: Final = {each.type: each.numbers for each in ORDERS}
REFUSAL_BODY: Final = Struct("code" / Mapping(Bytes(2), {each.name: b"%02X" % each.number for each in REFUSALS}))
