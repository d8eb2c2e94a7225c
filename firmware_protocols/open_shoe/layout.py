"""How every Open Shoe message lies on the line: frames, messages, codes and versions, declared once.

Version 2 is declared as what it adds to version 1. Finding a frame, its escapes and its check are
done by hand elsewhere; each payload is one construct over exactly its bytes, interpreted, because
interpreted ones raise nothing but `ConstructError`.
"""

from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from construct import (
    Adapter,
    Array,
    Bytes,
    Construct,
    ExprAdapter,
    ExprValidator,
    GreedyBytes,
    Int8ub,
    Int16ub,
    Int32ub,
    Int64ub,
    Mapping,
    PascalString,
    PrefixedArray,
    Struct,
    Terminated,
)

from firmware_protocols.family import Code, FrameKind, Framing, Mark, Name
from firmware_protocols.open_shoe.fixed import NUMBER, Fixed, has_one_size
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Capability,
    Card,
    CardOrder,
    Challenge,
    CuttingCard,
    Delivered,
    Done,
    Empty,
    Face,
    Failed,
    Failure,
    Fault,
    FaultChanged,
    Hello,
    HostSealed,
    Identify,
    Inquire,
    Inventory,
    Loaded,
    Lock,
    Noticed,
    Order,
    OrderKind,
    Passage,
    Place,
    Recognised,
    Reported,
    Requested,
    Resend,
    Response,
    Result,
    Role,
    Sealed,
    Shuffled,
    Shuffling,
    Standing,
    Status,
    Suit,
    Unkeyed,
)

START: Final = 0x7E
END: Final = 0x7F
ESCAPE: Final = 0x7D
FLIP: Final = 0x20
FLOW_CONTROL: Final = b"\x11\x13"  # XON and XOFF, which an adapter may keep for itself

BODY_MAX: Final = 512  # version to CRC, without escapes: a small controller holds two of them
TEXT_MAX: Final = 64

FRAME: Final = FrameKind("frame", start=START, end=END, body_max=2 * BODY_MAX)
FRAMING: Final = Framing((FRAME,), never_inside=bytes((START, END)))


def _codes(*rows: tuple[int, Name, str]) -> tuple[Code[Name], ...]:
    return tuple(Code(*row, Mark.DOCUMENTED) for row in rows)


SUITS: Final = _codes(
    (1, Suit.SPADES, "spades"), (2, Suit.HEARTS, "hearts"), (3, Suit.DIAMONDS, "diamonds"), (4, Suit.CLUBS, "clubs")
)
PLACES: Final = _codes(
    (0, Place.DEALT, "left the shoe; the shoe names no hand, and `position` is 0"),
    (1, Place.PLAYER, "the Player's hand; `position` 1 to 3"),
    (2, Place.BANKER, "the Banker's hand; `position` 1 to 3"),
    (3, Place.BURNT, "burnt; `position` counts the burnt cards from 1"),
    (4, Place.LOCKED, "while the shoe was locked; `position` 0"),
    (5, Place.ERROR, "while a blocking fault stood; `position` 0"),
)
PASSAGES: Final = _codes(
    (1, Passage.DOUBLE, "bit 0: thicker than one card"),
    (2, Passage.FOREIGN, "bit 1: its code is of no card of the set"),
)
ROLES: Final = _codes((1, Role.SHOE, "a shoe"), (2, Role.SHUFFLER, "a shuffler"))
FAULTS: Final = _codes(
    (1, Fault.UNREADABLE, "a card could not be read"),
    (2, Fault.JAM, "a card is stuck"),
    (3, Fault.REVERSE_RUN, "a card was pushed back"),
    (4, Fault.LID_OPEN, "the lid is open"),
    (5, Fault.DOOR_OPEN, "the door is open"),
    (6, Fault.SENSOR, "a sensor is dirty or broken"),
    (7, Fault.OVERDRAW, "a card was drawn that was not due"),
    (8, Fault.MEMORY_FULL, "the memory is full: reports were lost"),
)
FAILURES: Final = _codes(
    (0, Failure.OTHER, "another reason"),
    (1, Failure.WRONG_COUNT, "cards are missing or too many"),
    (2, Failure.UNREADABLE, "cards could not be read"),
    (3, Failure.JAM, "a card is stuck"),
    (4, Failure.DOOR_OPEN, "the door was opened"),
    (5, Failure.STOPPED, "stopped by hand"),
)
ORDERS: Final = _codes(
    (1, OrderKind.LOCK, "lock the exit; `number` 0"),
    (2, OrderKind.UNLOCK, "unlock the exit; `number` 0"),
    (3, OrderKind.CLEAR, "clear the fault `number`"),
)
RESULTS: Final = _codes(
    (0, Result.DONE, "done, or it was so already"),
    (1, Result.NOT_NOW, "not now: a card is moving, or the cause of the fault still stands"),
    (2, Result.UNABLE, "this device cannot do it"),
    (3, Result.FAILED, "tried, and failed"),
)
CAPABILITIES: Final = _codes(
    (1, Capability.PASSAGE, "bit 0: a shoe that measures `passage_us`"),
    (2, Capability.HANDS, "bit 1: a shoe that names hands: it uses the places `player` and `banker`"),
    (4, Capability.LOCK, "bit 2: a shoe whose exit can be locked and unlocked by an order"),
    (8, Capability.CLEAR, "bit 3: a device that can clear faults by an order"),
    (16, Capability.MEMORY, "bit 4: a device that keeps its reports without power"),
    (32, Capability.QUALITY, "bit 5: a shoe that gives `quality`"),
    (64, Capability.ORDER, "bit 6: a shuffler that gives the order of a set, by CARDS"),
)


class Items(Adapter):
    """A tuple, where construct has a list of its own."""

    def _decode(self, obj: Any, _context: Any, _path: str) -> tuple[Any, ...]:  # noqa: ANN401 -- construct's own
        return tuple(obj)

    def _encode(self, obj: tuple[Any, ...], _context: Any, _path: str) -> list[Any]:  # noqa: ANN401 -- as above
        return list(obj)


def _coded(codes: tuple[Code[Name], ...]) -> Construct:
    return Mapping(Int8ub, {each.name: each.number for each in codes})


def _fits(text: str, _context: object) -> bool:
    return len(text.encode()) <= TEXT_MAX and (not text or text.isprintable())


CARD_CODES: Final[dict[Face | None, int]] = {
    None: 0,
    **{Face(suit.name, rank): suit.number << 4 | rank for suit in SUITS for rank in range(1, 14)},
}
# The counts of an inventory stand in this order.
FACES: Final = tuple(face for face in CARD_CODES if face)
CARD: Final = Mapping(Int8ub, CARD_CODES)
BOOL: Final = Mapping(Int8ub, {False: 0, True: 1})
TEXT: Final = ExprValidator(PascalString(Int8ub, "utf-8"), _fits)
PASSAGE: Final = Mapping(Int8ub, {Passage(bits): bits for bits in range(4)})
PERCENTS: Final[dict[int | None, int]] = {None: 0xFF, **{percent: percent for percent in range(101)}}
PERCENT: Final = Mapping(Int8ub, PERCENTS)
NOT_KNOWN: Final = 0xFFFF
DRIFT: Final = ExprAdapter(
    Int16ub,
    decoder=lambda ppm, _context: None if ppm == NOT_KNOWN else ppm,
    encoder=lambda ppm, _context: NOT_KNOWN if ppm is None else ppm,
)
ABILITIES: Final = ExprAdapter(
    Int16ub,
    decoder=lambda bits, _context: Capability(bits & sum(each.number for each in CAPABILITIES)),
    encoder=lambda each, _context: each.value,
)
EXIT: Final = Mapping(Int8ub, {False: 0, True: 1, None: 2})
FAULTS_STANDING: Final = ExprAdapter(
    PrefixedArray(Int8ub, Struct("code" / Int8ub, "blocking" / BOOL)),
    decoder=lambda faults, _context: tuple(Standing(each.code, each.blocking) for each in faults),
    encoder=lambda faults, _context: [{"code": each.code, "blocking": each.blocking} for each in faults],
)
ORDER_NAMES: Final = {each.number: each.name for each in ORDERS}
ORDER: Final = ExprAdapter(
    Int8ub,
    decoder=lambda number, _context: ORDER_NAMES.get(number, number),
    encoder=lambda order, _context: next((each.number for each in ORDERS if each.name is order), order),
)
NONCE: Final = Bytes(16)
PROOF: Final = Bytes(16)
COUNTS: Final = Items(Array(len(FACES), Int8ub))
CARDS: Final = Items(PrefixedArray(Int8ub, CARD))


class Field(NamedTuple):
    """One field of a payload: its name in the message, its layout, and both in the page's words."""

    name: str
    layout: Construct
    form: str
    meaning: str


class Body(NamedTuple):
    """One message: the code of its type, what it says, and its fields in their order."""

    code: int
    title: str
    message: type[Reported | Noticed | Requested]
    meaning: str
    fields: tuple[Field, ...] = ()

    @property
    def layout(self) -> Construct:
        return Struct(*(each.name / each.layout for each in self.fields), Terminated)


SET: Final = Field("set_id", TEXT, "text", "what the set is called; empty where it has no name")
STREAM: Final = Field("stream", Int32ub, "u32", "the numbering that is meant")

NOTICES: Final = (
    Body(
        0x01,
        "HELLO",
        Hello,
        "who the device is, and which reports it holds",
        (
            Field("stream", Int32ub, "u32", "the present numbering"),
            Field("role", _coded(ROLES), "u8", "see roles"),
            Field("next", NUMBER, "u16", "the number that the next new report will carry"),
            Field("oldest", NUMBER, "u16", "the oldest report not acknowledged; `next`, if all are"),
            Field("vendor", TEXT, "text", "who made it"),
            Field("model", TEXT, "text", "what it is called"),
            Field("serial", TEXT, "text", "its serial number"),
            Field("firmware", TEXT, "text", "its firmware's own version, for people"),
        ),
    ),
    Body(
        0x02,
        "ALIVE",
        Alive,
        "nothing else to say",
        (STREAM, Field("next", NUMBER, "u16", "as in HELLO")),
    ),
    Body(
        0x03,
        "DONE",
        Done,
        "what became of an order",
        (
            Field("order", ORDER, "u8", "as in ORDER"),
            Field("number", Int8ub, "u8", "as in ORDER"),
            Field("result", _coded(RESULTS), "u8", "see results"),
        ),
    ),
)
CARD_BODY: Final = Body(
    0x20,
    "CARD",
    Card,
    "shoe: a card left it; the clock is that of the leading edge",
    (
        Field("card", CARD, "u8", "suit * 16 + rank (1 ace, 11 jack, 12 queen, 13 king); 0: not read"),
        Field("place", _coded(PLACES), "u8", "see places"),
        Field("position", Int8ub, "u8", "see places"),
        Field("passage_us", Int32ub, "u32", "trailing edge minus leading edge, in microseconds; 0: not measured"),
        Field("odd", PASSAGE, "u8", "see bits; bits 7-2 are 0"),
    ),
)
REPORTS: Final = (
    CARD_BODY,
    Body(0x21, "CUT", CuttingCard, "shoe: the cutting card came out"),
    Body(0x22, "LOADED", Loaded, "shoe: a new set was put in", (SET,)),
    Body(0x23, "EMPTY", Empty, "shoe: no card is left in it"),
    Body(
        0x24, "LOCK", Lock, "shoe: the exit was locked or unlocked", (Field("locked", BOOL, "u8", "1 locked, 0 not"),)
    ),
    Body(
        0x30,
        "FAULT",
        FaultChanged,
        "both: a fault came or went",
        (
            Field("code", Int8ub, "u8", "see faults; another number is a fault without a name"),
            Field("raised", BOOL, "u8", "1 raised, 0 cleared"),
            Field("blocking", BOOL, "u8", "1 if no card can be dealt until it is cleared"),
        ),
    ),
    Body(0x40, "RECOGNISED", Recognised, "shuffler: a set was put in and recognised", (SET,)),
    Body(0x41, "SHUFFLING", Shuffling, "shuffler: it began to shuffle"),
    Body(0x42, "SHUFFLED", Shuffled, "shuffler: the set is shuffled"),
    Body(
        0x43,
        "FAILED",
        Failed,
        "shuffler: the set is not shuffled",
        (Field("reason", Int8ub, "u8", "see failures; another number is a reason without a name"),),
    ),
    Body(
        0x44,
        "INVENTORY",
        Inventory,
        "shuffler: what it counted",
        (
            SET,
            Field("counts", COUNTS, "52 u8", "spades, hearts, diamonds, clubs; of each, ace to king"),
            Field("unread", Int8ub, "u8", "cards that were not read"),
        ),
    ),
    Body(0x45, "DELIVERED", Delivered, "shuffler: the set was taken out", (SET,)),
)
REQUESTS: Final = (
    Body(0x80, "IDENTIFY", Identify, "say HELLO"),
    Body(
        0x81,
        "ACK",
        Acknowledge,
        "all up to this report are on the disk",
        (STREAM, Field("upto", NUMBER, "u16", "the last number that is on the disk")),
    ),
    Body(
        0x82,
        "RESEND",
        Resend,
        "say all from this report again",
        (STREAM, Field("start", NUMBER, "u16", "the first number that is missing")),
    ),
    Body(
        0x83,
        "ORDER",
        Order,
        "do this, and answer with DONE",
        (
            Field("order", _coded(ORDERS), "u8", "see orders"),
            Field("number", Int8ub, "u8", "see orders"),
        ),
    ),
)

# What version 2 puts in the place of a body of version 1, and what is new in it.
ADDED: Final = (
    CARD_BODY._replace(
        fields=(
            *CARD_BODY.fields,
            Field("quality", PERCENT, "u8", "how well it was read, in percent; 255: not known"),
            Field("code", Int16ub, "u16", "what a card without a face, or a foreign one, carried; 0: nothing"),
        )
    ),
    Body(
        0x46,
        "CARDS",
        CardOrder,
        "shuffler: a part of the order in which the delivered set lies",
        (
            SET,
            Field("first", NUMBER, "u16", "the place of the first of these cards, from 1: the one that is dealt first"),
            Field("cards", CARDS, "u8, then u8 each", "how many, and each as in CARD"),
        ),
    ),
)


def _of(title: str) -> Body:
    return next(each for each in (*NOTICES, *REPORTS) if each.title == title)


def _longer(title: str, *fields: Field) -> Body:
    body = _of(title)
    return body._replace(fields=(*body.fields, *fields))


BOOT: Final = Field("boot", Int16ub, "u16", "the present power-up")
CLOCK: Final = Field("clock_us", Int64ub, "u64", "the clock of the device at this moment")
SEALED: Final = (
    Field("counter", Int32ub, "u32", "counts the sealed frames of one end in a session, from 1"),
    Field("content", GreedyBytes, "the rest", "the encrypted message, and 8 bytes that authenticate it"),
)

# What version 3 puts in the place of a body of version 2, and what is new in it.
ADDED_3: Final = (
    _longer(
        "HELLO",
        BOOT,
        CLOCK,
        Field("drift_ppm", DRIFT, "u16", "how much the clock may run wrong, in parts per million; 65535: not known"),
        Field("capabilities", ABILITIES, "u16", "see capabilities; a bit that is not there means nothing"),
    ),
    _longer("ALIVE", BOOT, CLOCK),
    _longer("SHUFFLING", SET),
    _longer("SHUFFLED", SET),
    _longer("FAILED", SET),
    Body(
        0x31,
        "STATUS",
        Status,
        "both: the whole state of the device, at this moment",
        (
            Field("locked", EXIT, "u8", "1 locked, 0 not, 2: it has no lock"),
            Field("set_id", TEXT, "text", "the set in the device; empty where it has no name, or none is there"),
            Field("faults", FAULTS_STANDING, "u8, then 2 u8 each", "how many stand; of each, `code` and `blocking`"),
        ),
    ),
    Body(0x84, "INQUIRE", Inquire, "say STATUS"),
)
# The secure channel, which version 3 alone has.
CHANNEL: Final = (
    Body(0x90, "CHALLENGE", Challenge, "host: begin a session", (Field("nonce", NONCE, "16 bytes", "random"),)),
    Body(
        0x10,
        "RESPONSE",
        Response,
        "device: the answer to CHALLENGE",
        (
            Field("nonce", NONCE, "16 bytes", "random"),
            Field("proof", PROOF, "16 bytes", "shows that the device has the key"),
        ),
    ),
    Body(0x11, "UNKEYED", Unkeyed, "device: it has a key and no session; CHALLENGE is due"),
    Body(0x12, "SEALED", Sealed, "device: a message, encrypted", SEALED),
    Body(0x92, "SEALED", HostSealed, "host: a message, encrypted", SEALED),
)
# The first version with power-ups, STATUS, capabilities, named sets, the secure channel and types for makers.
VERSION_3: Final = 3
MOST_STANDING: Final = 32  # faults in a STATUS
# Types that makers of devices may use as they like.
VENDOR_REPORTS: Final = range(0x50, 0x60)
VENDOR_NOTICES: Final = range(0x18, 0x20)


def names(body: Body) -> tuple[str, ...]:
    """The message's fields that the payload carries."""
    return tuple(each.name for each in body.fields)


class Version(NamedTuple):
    """What one version can say: bodies by their type byte and by their message."""

    by_type: MappingProxyType[int, Body]
    by_message: MappingProxyType[type, Body]


def _version(*bodies: Body) -> Version:
    by_type = {each.code: each for each in bodies}
    return Version(
        MappingProxyType(by_type),
        MappingProxyType({each.message: each for each in by_type.values()}),
    )


BASE: Final = (*NOTICES, *REPORTS, *REQUESTS)
VERSIONS: Final = MappingProxyType(
    {1: _version(*BASE), 2: _version(*BASE, *ADDED), 3: _version(*BASE, *ADDED, *ADDED_3, *CHANNEL)}
)
LAYOUTS: Final = MappingProxyType(
    {(number, each.code): each.layout for number, version in VERSIONS.items() for each in version.by_type.values()}
)
FIXED: Final = MappingProxyType(
    {
        (number, each.code): Fixed(each.message, names(each), [field.layout for field in each.fields])
        for number, version in VERSIONS.items()
        for each in version.by_type.values()
        if has_one_size([field.layout for field in each.fields])
    }
)
EVERY: Final = {each.code: each.message for version in VERSIONS.values() for each in version.by_type.values()}
NUMBERED: Final = frozenset(code for code, said in EVERY.items() if said in get_args(Reported)) | {*VENDOR_REPORTS}
NOTICED: Final = frozenset(code for code, said in EVERY.items() if said in get_args(Noticed)) | {*VENDOR_NOTICES}
REQUESTED: Final = frozenset(code for code, said in EVERY.items() if said in get_args(Requested))
FAULT_NAMES: Final = MappingProxyType({each.number: each.name for each in FAULTS})
FAILURE_NAMES: Final = MappingProxyType({each.number: each.name for each in FAILURES})
