"""The layout of every Open Shoe message on the line: frames, messages, codes and versions, declared once.

Version 2 is declared as its additions to version 1. Other modules find frames and process their escapes and
their CRC. Each payload is one construct over exactly its bytes. The constructs are interpreted, because an
interpreted construct raises only `ConstructError`.
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
    Alive,
    CardOrder,
    Challenge,
    Delivered,
    Done,
    Empty,
    FaultChanged,
    Hello,
    HostSealed,
    Identify,
    Inquire,
    Inventory,
    Loaded,
    Lock,
    Noticed,
    OfVendor,
    OpenShoeAcknowledge,
    OpenShoeCapability,
    OpenShoeCard,
    OpenShoeCutCard,
    OpenShoeFace,
    OpenShoeFailed,
    OpenShoeFault,
    OpenShoeOrder,
    OpenShoePassage,
    OpenShoePlace,
    OpenShoeResult,
    OpenShoeRole,
    OpenShoeStandingFault,
    OpenShoeStatus,
    OpenShoeSuit,
    OrderKind,
    Recognised,
    ReportBody,
    Requested,
    Resend,
    Response,
    Sealed,
    Shuffled,
    ShuffleFailure,
    Shuffling,
    Unkeyed,
)

START: Final = 0x7E
END: Final = 0x7F
ESCAPE: Final = 0x7D
FLIP: Final = 0x20
FLOW_CONTROL: Final = b"\x11\x13"  # XON and XOFF, which an adapter may not pass on

BODY_MAX: Final = 512  # version to CRC, without escapes: two bodies fit into 1 KB of a small controller
TEXT_MAX: Final = 64

FRAME: Final = FrameKind("frame", start=START, end=END, body_max=2 * BODY_MAX)
FRAMING: Final = Framing((FRAME,), never_inside=bytes((START, END)))


def _codes(*rows: tuple[int, Name, str]) -> tuple[Code[Name], ...]:
    return tuple(Code(*row, Mark.DOCUMENTED) for row in rows)


SUITS: Final = _codes(
    (1, OpenShoeSuit.SPADES, "spades"),
    (2, OpenShoeSuit.HEARTS, "hearts"),
    (3, OpenShoeSuit.DIAMONDS, "diamonds"),
    (4, OpenShoeSuit.CLUBS, "clubs"),
)
PLACES: Final = _codes(
    (0, OpenShoePlace.DEALT, "left the shoe; the shoe does not name the hand, and `position` is 0"),
    (1, OpenShoePlace.PLAYER, "the Player's hand; `position` 1 to 3"),
    (2, OpenShoePlace.BANKER, "the Banker's hand; `position` 1 to 3"),
    (3, OpenShoePlace.BURNT, "a burn card; `position` counts the burn cards from 1"),
    (4, OpenShoePlace.LOCKED, "drawn while the shoe was locked; `position` 0"),
    (5, OpenShoePlace.ERROR, "drawn while a blocking fault was active; `position` 0"),
)
PASSAGES: Final = _codes(
    (1, OpenShoePassage.DOUBLE, "bit 0: thicker than one card"),
    (2, OpenShoePassage.FOREIGN, "bit 1: the code of the card does not belong to the set"),
)
ROLES: Final = _codes((1, OpenShoeRole.SHOE, "a shoe"), (2, OpenShoeRole.SHUFFLER, "a shuffler"))
FAULTS: Final = _codes(
    (1, OpenShoeFault.UNREADABLE, "a card could not be read"),
    (2, OpenShoeFault.JAM, "a card is stuck"),
    (3, OpenShoeFault.REVERSE_RUN, "a card was pushed back"),
    (4, OpenShoeFault.LID_OPEN, "the lid is open"),
    (5, OpenShoeFault.DOOR_OPEN, "the door is open"),
    (6, OpenShoeFault.SENSOR, "a sensor is dirty or broken"),
    (7, OpenShoeFault.OVERDRAW, "a card was drawn that was not due"),
    (8, OpenShoeFault.MEMORY_FULL, "the memory is full: reports were lost"),
)
FAILURES: Final = _codes(
    (0, ShuffleFailure.OTHER, "another reason"),
    (1, ShuffleFailure.WRONG_COUNT, "cards are missing or too many"),
    (2, ShuffleFailure.UNREADABLE, "cards could not be read"),
    (3, ShuffleFailure.JAM, "a card is stuck"),
    (4, ShuffleFailure.DOOR_OPEN, "the door was opened"),
    (5, ShuffleFailure.STOPPED, "stopped by hand"),
)
ORDERS: Final = _codes(
    (1, OrderKind.LOCK, "lock the exit; `number` 0"),
    (2, OrderKind.UNLOCK, "unlock the exit; `number` 0"),
    (3, OrderKind.CLEAR, "clear the fault `number`"),
)
RESULTS: Final = _codes(
    (0, OpenShoeResult.DONE, "done, or the state was already as ordered"),
    (1, OpenShoeResult.NOT_NOW, "not now: a card is moving, or the cause of the fault is still present"),
    (2, OpenShoeResult.UNABLE, "the device cannot execute this order"),
    (3, OpenShoeResult.FAILED, "the device tried, and failed"),
)
CAPABILITIES: Final = _codes(
    (1, OpenShoeCapability.PASSAGE, "bit 0: a shoe that measures `passage_us`"),
    (2, OpenShoeCapability.HANDS, "bit 1: a shoe that names hands: it uses the places `player` and `banker`"),
    (4, OpenShoeCapability.LOCK, "bit 2: a shoe whose exit can be locked and unlocked by an order"),
    (8, OpenShoeCapability.CLEAR, "bit 3: a device that can clear faults by an order"),
    (16, OpenShoeCapability.MEMORY, "bit 4: a device that keeps its reports without power"),
    (32, OpenShoeCapability.QUALITY, "bit 5: a shoe that reports `quality`"),
    (64, OpenShoeCapability.ORDER, "bit 6: a shuffler that reports the order of a set by CARDS"),
)


class Items(Adapter):
    """A tuple instead of the list type of construct."""

    def _decode(self, obj: Any, _context: Any, _path: str) -> tuple[Any, ...]:  # noqa: ANN401 -- construct's own
        return tuple(obj)

    def _encode(self, obj: tuple[Any, ...], _context: Any, _path: str) -> list[Any]:  # noqa: ANN401 -- as above
        return list(obj)


def _coded(codes: tuple[Code[Name], ...]) -> Construct:
    return Mapping(Int8ub, {each.name: each.number for each in codes})


def _fits(text: str, _context: object) -> bool:
    return len(text.encode()) <= TEXT_MAX and (not text or text.isprintable())


CARD_CODES: Final[dict[OpenShoeFace | None, int]] = {
    None: 0,
    **{OpenShoeFace(suit.name, rank): suit.number << 4 | rank for suit in SUITS for rank in range(1, 14)},
}
# The counts of an inventory are in this order.
FACES: Final = tuple(face for face in CARD_CODES if face)
CARD: Final = Mapping(Int8ub, CARD_CODES)
BOOL: Final = Mapping(Int8ub, {False: 0, True: 1})
TEXT: Final = ExprValidator(PascalString(Int8ub, "utf-8"), _fits)
PASSAGE: Final = Mapping(Int8ub, {OpenShoePassage(bits): bits for bits in range(4)})
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
    decoder=lambda bits, _context: OpenShoeCapability(bits & sum(each.number for each in CAPABILITIES)),
    encoder=lambda each, _context: each.value,
)
EXIT: Final = Mapping(Int8ub, {False: 0, True: 1, None: 2})
FAULTS_STANDING: Final = ExprAdapter(
    PrefixedArray(Int8ub, Struct("code" / Int8ub, "blocking" / BOOL)),
    decoder=lambda faults, _context: tuple(OpenShoeStandingFault(each.code, each.blocking) for each in faults),
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
    """One field of a payload: its name in the message and its layout, and the texts of the page for both."""

    name: str
    layout: Construct
    form: str
    meaning: str


class Body(NamedTuple):
    """One message: the code of its type, its meaning, and its fields in order."""

    code: int
    title: str
    message: type[ReportBody | Noticed | Requested]
    meaning: str
    fields: tuple[Field, ...] = ()

    @property
    def layout(self) -> Construct:
        return Struct(*(each.name / each.layout for each in self.fields), Terminated)


SET: Final = Field("set_id", TEXT, "text", "the name of the set; empty if the set has no name")
STREAM: Final = Field("stream", Int32ub, "u32", "the id of the stream")

NOTICES: Final = (
    Body(
        0x01,
        "HELLO",
        Hello,
        "identifies the device and the reports that it keeps",
        (
            Field("stream", Int32ub, "u32", "the id of the present stream"),
            Field("role", _coded(ROLES), "u8", "see [roles](#notices)"),
            Field("next", NUMBER, "u16", "the number of the next new report"),
            Field("oldest", NUMBER, "u16", "the number of the oldest kept report; equal to `next` if there is none"),
            Field("vendor", TEXT, "text", "the maker"),
            Field("model", TEXT, "text", "the model"),
            Field("serial", TEXT, "text", "the serial number"),
            Field("firmware", TEXT, "text", "the version of the firmware, for people"),
        ),
    ),
    Body(
        0x02,
        "ALIVE",
        Alive,
        "the device has no other message to send",
        (STREAM, Field("next", NUMBER, "u16", "as in HELLO")),
    ),
    Body(
        0x03,
        "DONE",
        Done,
        "the result of an order",
        (
            Field("order", ORDER, "u8", "the order that DONE answers; see [ORDER](#messages-of-a-host)"),
            Field("number", Int8ub, "u8", "the `number` of that order"),
            Field("result", _coded(RESULTS), "u8", "see [results](#messages-of-a-host)"),
        ),
    ),
)
CARD_BODY: Final = Body(
    0x20,
    "CARD",
    OpenShoeCard,
    "shoe: a card left the shoe; the clock is the moment of the leading edge",
    (
        Field("card", CARD, "u8", "suit * 16 + rank (1 ace, 11 jack, 12 queen, 13 king); 0: not read"),
        Field("place", _coded(PLACES), "u8", "see [places](#places)"),
        Field("position", Int8ub, "u8", "see [places](#places)"),
        Field("passage_us", Int32ub, "u32", "trailing edge minus leading edge, in microseconds; 0: not measured"),
        Field("odd", PASSAGE, "u8", "see [bits of `odd`](#bits-of-odd); bits 7 to 2 are 0"),
    ),
)
REPORTS: Final = (
    CARD_BODY,
    Body(0x21, "CUT", OpenShoeCutCard, "shoe: the cut card left the shoe"),
    Body(0x22, "LOADED", Loaded, "shoe: a new set was inserted into the shoe", (SET,)),
    Body(0x23, "EMPTY", Empty, "shoe: no card is left in the shoe"),
    Body(
        0x24,
        "LOCK",
        Lock,
        "shoe: the exit was locked or unlocked",
        (Field("locked", BOOL, "u8", "1 locked, 0 unlocked"),),
    ),
    Body(
        0x30,
        "FAULT",
        FaultChanged,
        "both: a fault began or ended",
        (
            Field("code", Int8ub, "u8", "see [faults](#faults); any other number is a fault without a name"),
            Field("raised", BOOL, "u8", "1 raised, 0 cleared"),
            Field("blocking", BOOL, "u8", "1 if no card can be dealt until the fault is cleared"),
        ),
    ),
    Body(0x40, "RECOGNISED", Recognised, "shuffler: a set was inserted into the shuffler and recognised", (SET,)),
    Body(0x41, "SHUFFLING", Shuffling, "shuffler: the shuffle began"),
    Body(0x42, "SHUFFLED", Shuffled, "shuffler: the set is shuffled"),
    Body(
        0x43,
        "FAILED",
        OpenShoeFailed,
        "shuffler: the set is not shuffled",
        (Field("reason", Int8ub, "u8", "see [failures](#failures); any other number is a reason without a name"),),
    ),
    Body(
        0x44,
        "INVENTORY",
        Inventory,
        "shuffler: the counted cards of the set",
        (
            SET,
            Field("counts", COUNTS, "52 u8", "spades, hearts, diamonds, clubs; each suit from ace to king"),
            Field("unread", Int8ub, "u8", "the number of cards that were not read"),
        ),
    ),
    Body(0x45, "DELIVERED", Delivered, "shuffler: the set was taken out of the shuffler", (SET,)),
)
REQUESTS: Final = (
    Body(0x80, "IDENTIFY", Identify, "request HELLO"),
    Body(
        0x81,
        "ACK",
        OpenShoeAcknowledge,
        "all reports up to this one are on the disk",
        (STREAM, Field("upto", NUMBER, "u16", "the last number that is on the disk")),
    ),
    Body(
        0x82,
        "RESEND",
        Resend,
        "request all reports from this one on again",
        (STREAM, Field("start", NUMBER, "u16", "the first missing number")),
    ),
    Body(
        0x83,
        "ORDER",
        OpenShoeOrder,
        "execute this order, and answer with DONE",
        (
            Field("order", _coded(ORDERS), "u8", "see [orders](#messages-of-a-host)"),
            Field("number", Int8ub, "u8", "see [orders](#messages-of-a-host)"),
        ),
    ),
)

# The bodies that version 2 replaces or adds.
ADDED: Final = (
    CARD_BODY._replace(
        fields=(
            *CARD_BODY.fields,
            Field("quality", PERCENT, "u8", "how well the card was read, in percent; 255: not known"),
            Field("code", Int16ub, "u16", "the code on a card without a face or on a foreign card; 0: no code"),
        )
    ),
    Body(
        0x46,
        "CARDS",
        CardOrder,
        "shuffler: a part of the order of the cards in the delivered set",
        (
            SET,
            Field("first", NUMBER, "u16", "the place of the first of these cards; the card at place 1 is dealt first"),
            Field("cards", CARDS, "u8, then u8 each", "the number of cards, then each card as in CARD"),
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
    Field("counter", Int32ub, "u32", "the number of this sealed frame of its sender in the session, from 1"),
    Field("content", GreedyBytes, "the rest", "the encrypted message, and 8 bytes that authenticate it"),
)

# The bodies that version 3 replaces or adds.
ADDED_3: Final = (
    _longer(
        "HELLO",
        BOOT,
        CLOCK,
        Field("drift_ppm", DRIFT, "u16", "the maximum error of the clock rate, in parts per million; 65535: not known"),
        Field("capabilities", ABILITIES, "u16", "see [capabilities](#capabilities); other bits have no meaning"),
    ),
    _longer("ALIVE", BOOT, CLOCK),
    _longer("SHUFFLING", SET),
    _longer("SHUFFLED", SET),
    _longer("FAILED", SET),
    Body(
        0x31,
        "STATUS",
        OpenShoeStatus,
        "both: the whole state of the device at this moment",
        (
            Field("locked", EXIT, "u8", "1 locked, 0 unlocked, 2 no lock"),
            Field("set_id", TEXT, "text", "the set in the device; empty if the set has no name, or if there is no set"),
            Field(
                "faults",
                FAULTS_STANDING,
                "u8, then 2 u8 each",
                "the number of active faults; for each, `code` and `blocking`",
            ),
        ),
    ),
    Body(0x84, "INQUIRE", Inquire, "request STATUS"),
)
CHANNEL: Final = (
    Body(0x90, "CHALLENGE", Challenge, "host: request a session", (Field("nonce", NONCE, "16 bytes", "random"),)),
    Body(
        0x10,
        "RESPONSE",
        Response,
        "device: the answer to CHALLENGE",
        (
            Field("nonce", NONCE, "16 bytes", "random"),
            Field("proof", PROOF, "16 bytes", "proves that the device has the key"),
        ),
    ),
    Body(0x11, "UNKEYED", Unkeyed, "device: it has a key and no session; the host must send CHALLENGE"),
    Body(0x12, "SEALED", Sealed, "device: a message, encrypted", SEALED),
    Body(0x92, "SEALED", HostSealed, "host: a message, encrypted", SEALED),
)
# The first version with power-ups, STATUS, capabilities, named sets, the secure channel and types for makers.
VERSION_3: Final = 3
MOST_STANDING: Final = 32  # faults in a STATUS
# Types that makers of devices may define.
VENDOR_REPORTS: Final = range(0x50, 0x60)
VENDOR_NOTICES: Final = range(0x18, 0x20)


def names(body: Body) -> tuple[str, ...]:
    return tuple(each.name for each in body.fields)


class ProtocolVersion(NamedTuple):
    """The bodies of one version, by their type byte and by their message."""

    by_type: MappingProxyType[int, Body]
    by_message: MappingProxyType[type, Body]


def _version(*bodies: Body) -> ProtocolVersion:
    by_type = {each.code: each for each in bodies}
    return ProtocolVersion(
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
NUMBERED: Final = frozenset(code for code, each in EVERY.items() if each in get_args(ReportBody)) | {*VENDOR_REPORTS}
NOTICED: Final = frozenset(code for code, each in EVERY.items() if each in get_args(Noticed)) | {*VENDOR_NOTICES}
REQUESTED: Final = frozenset(code for code, each in EVERY.items() if each in get_args(Requested))
TITLES: Final[MappingProxyType[type, str]] = MappingProxyType(
    {each.message: each.title for version in VERSIONS.values() for each in version.by_type.values()}
    | {OfVendor: "a message of the maker"}
)
FAULT_NAMES: Final = MappingProxyType({each.number: each.name for each in FAULTS})
FAILURE_NAMES: Final = MappingProxyType({each.number: each.name for each in FAILURES})
