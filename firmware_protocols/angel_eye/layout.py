"""How every Angel Eye message lies on the line: frames, commands and codes, declared once.

Each command's data is one construct over exactly its bytes; finding the frame, its length and
its check are done by hand elsewhere. The constructs are not compiled: what is inside a BitStruct
stays interpreted either way (measured: 8.3 us against 8.4 us a card), and interpreted ones
raise nothing but `ConstructError`.
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
    CardCode,
    CardInGame,
    CardOutside,
    CuttingCard,
    ErrorCleared,
    ErrorRaised,
    Face,
    Fault,
    FormName,
    KeyLock,
    NoFace,
    OrderType,
    Outcome,
    OverdrawCard,
    PresetChanged,
    Refusal,
    Report,
    Result,
    Situation,
    StandBy,
    StartOfCommunication,
    Suit,
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
    Code(0x01, Refusal.LINE, "overrun, framing or parity", Mark.DOCUMENTED),
    Code(0x02, Refusal.BCC, "BCC", Mark.DOCUMENTED),
    Code(0x03, Refusal.NO_ETX, "no ETX", Mark.DOCUMENTED),
    Code(0x11, Refusal.FORMAT, "format or length", Mark.DOCUMENTED),
    Code(0x12, Refusal.ADDRESS, "address", Mark.DOCUMENTED),
    Code(0x13, Refusal.COMMAND, "command", Mark.DOCUMENTED),
    Code(0x14, Refusal.TYPE, "type", Mark.DOCUMENTED),
    Code(0x21, Refusal.BUSY, "busy", Mark.DOCUMENTED),
    Code(0x22, Refusal.WRITING, "writing", Mark.DOCUMENTED),
    Code(0xFF, Refusal.OTHER, "other", Mark.DOCUMENTED),
)
# A code of NAK is two digits, or one byte of the same value: none of these bytes is a digit.
REFUSED_IN_A_BYTE: Final = {each.number: each.name for each in REFUSALS}

SIZES: Final = {b"D": 2, b"d": 2, b"R": 2, b"G": 1, b"E": 1, b"e": 1, b"L": 1}  # of the data of the binary commands
PRINTABLE: Final = bytes(range(0x20, 0x7F))
CLEAR: Final = bytes(range(0x80))  # bit 7 is
FORMS: Final = (
    Form(
        FormName.BIT_7_CLEAR,
        "`05` sequence, `D d R G E e L`, data of its length without bit 7, `03`, BCC",
        "the report with the same seven bits",
        Mark.OBSERVED,
    ),
    Form(FormName.ONE_BYTE, "`15` and one byte of the table of codes", "the refusal with that code", Mark.OBSERVED),
    Form(
        FormName.STX,
        "`02` printable text `03` BCC over text and `03`, as of a report",
        "text of the shoe; it says neither yes nor no to an order",
        Mark.OBSERVED,
    ),
)

# The longest declared report (M) has a body of 8 bytes; twice that keeps an unknown longer one in one piece.
# Data without bit 7 may hold any control character, ETX too: its length alone says where it ends.
REPORT: Final = FrameKind(
    "report",
    start=ENQ,
    end=ETX,
    body_max=16,
    trailer=BCC_SIZE,
    fixed=tuple((PRINTABLE, letter, *[CLEAR] * size) for letter, size in SIZES.items()),
)
ORDER: Final = FrameKind("order", start=STX, end=ETX, body_max=16, trailer=BCC_SIZE)
# One flipped bit makes an ACK of the BCC digit F: an answer, which has no check, never begins where a frame is torn.
ACKNOWLEDGE: Final = FrameKind("acknowledge", start=ACK, end=None, body_max=0, breaks_in=False)
REFUSE: Final = FrameKind("refuse", start=NAK, end=None, body_max=2, breaks_in=False, alone=bytes(REFUSED_IN_A_BYTE))

FROM_SHOE: Final = Framing((REPORT, ACKNOWLEDGE, REFUSE, ORDER), never_inside=CONTROL)
TO_SHOE: Final = Framing((ORDER,), never_inside=CONTROL)

SUITS: Final = (
    Code(1, Suit.DIAMONDS, "diamonds", Mark.DOCUMENTED),
    Code(2, Suit.CLUBS, "clubs", Mark.DOCUMENTED),
    Code(3, Suit.SPADES, "spades", Mark.DOCUMENTED),
    Code(4, Suit.HEARTS, "hearts", Mark.DOCUMENTED),
)
RANKS: Final = range(1, 14)

TARGETS: Final = (
    Code(0, Target.PLAYER, "the Player's hand", Mark.DOCUMENTED),
    Code(1, Target.BANKER, "the Banker's hand", Mark.DOCUMENTED),
    Code(2, Target.BURN, "burnt", Mark.DOCUMENTED),
    Code(4, Target.FIRST_CARD, "the first card", Mark.DOCUMENTED),
    Code(5, Target.BURN_COUNT, "burn count", Mark.DOCUMENTED),
)

SITUATIONS: Final = (
    Code(0, Situation.LOCKED, "while locked", Mark.DOCUMENTED),
    Code(1, Situation.ERROR, "in error", Mark.DOCUMENTED),
    Code(2, Situation.SET_UP, "in set-up", Mark.DOCUMENTED),
)

OUTCOMES: Final = (
    Code(1, Outcome.PLAYER, "Player wins", Mark.DOCUMENTED),
    Code(2, Outcome.TIE, "tie", Mark.DOCUMENTED),
    Code(4, Outcome.BANKER, "Banker wins", Mark.DOCUMENTED),
    Code(7, Outcome.FORCED_END, "forced end", Mark.DOCUMENTED),
)

ERRORS: Final = (
    Code(1, Fault.CANNOT_READ, "cannot read", Mark.DOCUMENTED),
    Code(2, Fault.OVERDRAW, "overdraw", Mark.DOCUMENTED),
    Code(3, Fault.BUTTON, "button mishandled", Mark.DOCUMENTED),
    Code(4, Fault.REVERSE_AT_EXIT, "reverse run at the exit", Mark.DOCUMENTED),
    Code(5, Fault.REVERSE_MIDWAY, "reverse run midway", Mark.DOCUMENTED),
    Code(6, Fault.CARD_CODE, "card code", Mark.DOCUMENTED),
    Code(7, Fault.DRAW_TIMED_OUT, "draw timed out", Mark.DOCUMENTED),
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
        "00 clear an error; 01 clear an overdraw, its card is used; 02 clear an overdraw, its card is discarded",
        Mark.OBSERVED,
    ),
    OrderNumbers(OrderType.PROCESS, range(1), "confirm the process", Mark.DOCUMENTED),
)


def _coded(bits: int, codes: tuple[Code[Name], ...], unknown: Callable[[int], object] | None = None) -> Construct:
    """Without `unknown`, a code that is not in the table is an error."""
    values: dict[object, int] = {each.name: each.number for each in codes}
    others = {*range(1 << bits)} - {*values.values()}
    return Mapping(BitsInteger(bits), values | ({} if unknown is None else {unknown(code): code for code in others}))


def _text(length: int) -> Construct:
    return StringEncoded(Bytes(length), "ascii")


FACES: Final[dict[CardCode, int]] = {Face(suit.name, rank): suit.number << 4 | rank for suit in SUITS for rank in RANKS}
# Every code has a value, so that no card is lost because the shoe could not name it.
CARD_CODES: Final = FACES | {NoFace(code): code for code in {*range(0x80)} - {*FACES.values()}}

MARKER: Final = Const(1, Bit)  # bit 7 of every binary byte, which keeps ETX out of the data
CARD: Final = Mapping(BitsInteger(7), CARD_CODES)
NOTHING: Final = Struct()
# Every target and situation has a value: a card that left the shoe is not lost because its place is unknown.
TARGET: Final = _coded(3, TARGETS, UnknownTarget)
SITUATION: Final = _coded(3, SITUATIONS, UnknownSituation)
PLACED_CARD: Final = BitStruct(MARKER, "target" / TARGET, "index" / BitsInteger(4), MARKER, "card" / CARD)


class Command(NamedTuple):
    """One report: its letter, what it says, and the layout of its data."""

    letter: str
    message: type[Report]
    title: str
    payload: str
    layout: Construct
    mark: Mark

    @property
    def names(self) -> tuple[str, ...]:
        """The message's fields that the data carries."""
        return tuple(each.name for each in fields(self.message) if each.name != "sequence")

    @property
    def size(self) -> int:
        return int(self.layout.sizeof())


COMMANDS: Final = (
    Command("S", StartOfCommunication, "start of communication", "none", NOTHING, Mark.DOCUMENTED),
    Command("P", StandBy, "stand-by", "none", NOTHING, Mark.DOCUMENTED),
    Command("C", CuttingCard, "cutting card", "none", NOTHING, Mark.DOCUMENTED),
    Command(
        "D",
        CardInGame,
        "card in the game",
        "byte 1: bits 6-4 target, bits 3-0 index (1-3 in a hand); byte 2: the card",
        PLACED_CARD,
        Mark.DOCUMENTED,
    ),
    Command(
        "d",
        CardOutside,
        "card outside the game",
        "byte 1: bits 6-4 situation; byte 2: the card",
        BitStruct(MARKER, "situation" / SITUATION, Padding(4), MARKER, "card" / CARD),
        Mark.DOCUMENTED,
    ),
    Command(
        "R",
        OverdrawCard,
        "card of an overdraw, after its error is cleared",
        "2 bytes as of `D`",
        PLACED_CARD,
        Mark.DOCUMENTED,
    ),
    Command(
        "G",
        Result,
        "result",
        "bits 6-4 outcome, bit 1 banker pair, bit 0 player pair",
        BitStruct(MARKER, "outcome" / _coded(3, OUTCOMES), Padding(2), "banker_pair" / Flag, "player_pair" / Flag),
        Mark.DOCUMENTED,
    ),
    Command(
        "E",
        ErrorRaised,
        "error",
        "bit 6 in error mode, bits 5-0 code",
        BitStruct(MARKER, "in_error_mode" / Flag, "code" / BitsInteger(6)),
        Mark.DOCUMENTED,
    ),
    Command(
        "e",
        ErrorCleared,
        "error cleared",
        "bits 6-0 code",
        BitStruct(MARKER, "code" / BitsInteger(7)),
        Mark.DOCUMENTED,
    ),
    Command(
        "L",
        KeyLock,
        "lock by key",
        "bit 0: 1 locked, 0 not",
        BitStruct(MARKER, Padding(6), "locked" / Flag),
        Mark.DOCUMENTED,
    ),
    Command(
        "M",
        PresetChanged,
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
