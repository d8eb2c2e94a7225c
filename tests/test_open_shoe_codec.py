"""Open Shoe frames. The payloads were written by hand from the page, and are framed here, never by our builder."""

from collections.abc import Callable
from dataclasses import fields
from random import Random
from struct import error as StructError  # noqa: N812 -- it is a class
from typing import get_args

import pytest
from construct import ConstructError
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols.family import Direction, Malformed, Reason, declared
from firmware_protocols.open_shoe import FAMILY, OpenShoeSettings, build, orders, reports
from firmware_protocols.open_shoe.layout import FACES, FAILURE_NAMES, FAULT_NAMES, FIXED, LAYOUTS
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
    Message,
    Notice,
    Noticed,
    OfVendor,
    Order,
    OrderKind,
    Passage,
    Place,
    Recognised,
    Report,
    Reported,
    Request,
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
    Unreadable,
    following,
)
from shoed import wire
from shoed.now import Chunk, Now
from shoed.wire import Frame, LineState, Rejected

AT = Now(1_700_000_000_000_000, 5_000_000_000)
SETTINGS = OpenShoeSettings()
REPORTS = reports(SETTINGS)
ORDERS = orders(SETTINGS)
STREAM, CLOCK = 0xA1B2C3D4, 0x0102030405060708
STAMP = "A1B2C3D4 0102030405060708"
BOOT = 0xFF7E
STAMP_3 = "A1B2C3D4 FF7E 0102030405060708"


def crc(data: bytes) -> int:
    """CRC-32 as the page words it, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xEDB88320 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


def framed(body: str | bytes) -> bytes:
    data = body if isinstance(body, bytes) else bytes.fromhex(body)
    raw = bytearray([0x7E])
    for byte in data + crc(data).to_bytes(4, "big"):
        raw += bytes((0x7D, byte ^ 0x20)) if byte in b"\x7d\x7e\x7f\x11\x13" else bytes((byte,))
    return bytes(raw) + b"\x7f"


def card(place: Place, position: int, face: Face | None, odd: Passage = Passage.CLEAN) -> Card:
    return Card(face, place, position, 125_000, odd)


EIGHT = Face(Suit.SPADES, 8)
ABLE = Capability.PASSAGE | Capability.LOCK | Capability.CLEAR
ALL = ABLE | Capability.HANDS | Capability.MEMORY | Capability.QUALITY | Capability.ORDER
NONCE, PROOF = bytes(range(0x10, 0x20)), bytes(range(0x70, 0x80))
COUNTS = tuple(range(52))
REPORTED: list[tuple[int, str, Reported]] = [
    (1, "20 18 01 01 0001E848 00", card(Place.PLAYER, 1, EIGHT)),
    (1, "20 2A 02 03 0001E848 01", card(Place.BANKER, 3, Face(Suit.HEARTS, 10), Passage.DOUBLE)),
    (1, "20 00 00 00 0001E848 02", card(Place.DEALT, 0, None, Passage.FOREIGN)),
    (1, "20 31 03 09 0001E848 03", card(Place.BURNT, 9, Face(Suit.DIAMONDS, 1), Passage.DOUBLE | Passage.FOREIGN)),
    (1, "20 4D 04 00 0001E848 00", card(Place.LOCKED, 0, Face(Suit.CLUBS, 13))),
    (1, "20 11 05 00 00000000 00", Card(Face(Suit.SPADES, 1), Place.ERROR, 0, 0)),
    (2, "20 18 00 00 0001E848 00 61 0000", Card(EIGHT, Place.DEALT, 0, 125_000, quality=97)),
    (2, "20 00 00 00 0001E848 02 FF BEEF", Card(None, Place.DEALT, 0, 125_000, Passage.FOREIGN, None, 0xBEEF)),
    (1, "21", CuttingCard()),
    (1, "22 04 4E6F2E37", Loaded("No.7")),
    (2, "22 00", Loaded("")),
    (1, "23", Empty()),
    (1, "24 01", Lock(locked=True)),
    (2, "24 00", Lock(locked=False)),
    (1, "30 02 01 01", FaultChanged(2, raised=True, blocking=True)),
    (2, "30 63 00 00", FaultChanged(99, raised=False, blocking=False)),
    (1, "40 03 C3A937", Recognised("é7")),
    (1, "41", Shuffling()),
    (1, "42", Shuffled()),
    (1, "43 01", Failed(1)),
    (2, "43 63", Failed(99)),
    (1, "44 02 4137" + bytes(range(52)).hex() + "05", Inventory("A7", COUNTS, 5)),
    (2, "45 00", Delivered("")),
    (2, "46 02 4137 019F 03 18 00 2A", CardOrder("A7", 415, (EIGHT, None, Face(Suit.HEARTS, 10)))),
    (3, "20 18 00 00 0001E848 00 61 0000", Card(EIGHT, Place.DEALT, 0, 125_000, quality=97)),
    (3, "46 00 0001 00", CardOrder("", 1, ())),
    (3, "21", CuttingCard()),
    (3, "41 02 4137", Shuffling("A7")),
    (3, "42 00", Shuffled("")),
    (3, "43 02 02 4138", Failed(2, "A8")),
    (3, "31 00 03 4E6F37 01 04 01", Status(locked=False, set_id="No7", faults=(Standing(4, blocking=True),))),
    (3, "31 01 00 00", Status(locked=True, set_id="", faults=())),
    (
        3,
        "31 02 00 02 02 00 63 01",
        Status(locked=None, set_id="", faults=(Standing(2, blocking=False), Standing(99, blocking=True))),
    ),
    (3, "50 0102", OfVendor(0x50, b"\x01\x02")),
    (3, "5F", OfVendor(0x5F, b"")),
]
NOTICED: list[tuple[int, str, Noticed]] = [
    (
        1,
        "01 0000 A1B2C3D4 01 0003 0001 04 41636D65 02 5331 04 30303432 05 312E302E30",
        Hello(STREAM, Role.SHOE, 3, 1, "Acme", "S1", "0042", "1.0.0"),
    ),
    (2, "01 0000 A1B2C3D4 02 FFFF FFFF 00 00 00 00", Hello(STREAM, Role.SHUFFLER, 0xFFFF, 0xFFFF, "", "", "", "")),
    (1, "02 0000 A1B2C3D4 0003", Alive(STREAM, 3)),
    (1, "03 0000 01 00 00", Done(OrderKind.LOCK, 0, Result.DONE)),
    (1, "03 0000 02 00 01", Done(OrderKind.UNLOCK, 0, Result.NOT_NOW)),
    (2, "03 0000 03 02 02", Done(OrderKind.CLEAR, 2, Result.UNABLE)),
    (2, "03 0000 03 02 03", Done(OrderKind.CLEAR, 2, Result.FAILED)),
    (
        3,
        "01 0000 A1B2C3D4 01 0003 0001 04 41636D65 00 00 00 0007 000000000007A120 0032 000D",
        Hello(STREAM, Role.SHOE, 3, 1, "Acme", "", "", "", 7, 500_000, 50, ABLE),
    ),
    (
        3,
        "01 0000 A1B2C3D4 02 0001 0001 00 00 00 00 FFFF 0000000000000000 FFFF 007F",
        Hello(STREAM, Role.SHUFFLER, 1, 1, "", "", "", "", 0xFFFF, 0, None, ALL),
    ),
    (3, "02 0000 A1B2C3D4 0003 0007 0000000000B71B00", Alive(STREAM, 3, 7, 12_000_000)),
    (3, "03 0000 01 00 00", Done(OrderKind.LOCK, 0, Result.DONE)),
    (3, f"10 0000 {NONCE.hex()} {PROOF.hex()}", Response(NONCE, PROOF)),
    (3, "11 0000", Unkeyed()),
    (3, "12 0000 00000001 85F13E", Sealed(1, b"\x85\xf1\x3e")),
    (3, "18 0000 01", OfVendor(0x18, b"\x01")),
    (3, "1F 0000", OfVendor(0x1F, b"")),
]
REQUESTED: list[tuple[int, str, Requested]] = [
    (1, "80 0000", Identify()),
    (2, "81 0000 A1B2C3D4 0002", Acknowledge(STREAM, 2)),
    (1, "82 0000 A1B2C3D4 1113", Resend(STREAM, 0x1113)),
    (1, "83 0000 01 00", Order(OrderKind.LOCK)),
    (2, "83 0000 03 7E", Order(OrderKind.CLEAR, 0x7E)),
    (3, "80 0000", Identify()),
    (3, "84 0000", Inquire()),
    (3, f"90 0000 {NONCE.hex()}", Challenge(NONCE)),
    (3, "92 0000 FFFFFFFF 00", HostSealed(0xFFFFFFFF, b"\x00")),
]


def stamped(version: int, literal: str, sequence: str = "0107") -> bytes:
    kind, _, payload = literal.partition(" ")
    stamp = STAMP if version < 3 else STAMP_3
    return framed(f"{version:02X} {kind} {sequence} {stamp} {payload}")


def boot_of(version: int) -> int:
    return 0 if version < 3 else BOOT


CASES: list[tuple[bytes, Message]] = [
    *(
        (stamped(version, literal), Report(version, 0x107, STREAM, CLOCK, said, boot_of(version)))
        for version, literal, said in REPORTED
    ),
    *((framed(f"{version:02X} {literal}"), Notice(version, said)) for version, literal, said in NOTICED),
    *((framed(f"{version:02X} {literal}"), Request(version, said)) for version, literal, said in REQUESTED),
]
# Nothing in it begins a frame, and an end is as lost as anything.
JUNK = b"\xb8\x11F\x7f\x00."


class Case:
    def __init__(self, raw: bytes, message: Message) -> None:
        self.direction: Direction[Message] = ORDERS if isinstance(message, Request) else REPORTS
        self.raw = raw
        self.message = message

    def hear(self, *pieces: bytes) -> list[Frame[Message] | Rejected]:
        """All that comes of these pieces, the link closed after them."""
        state, heard = LineState(), list[Frame[Message] | Rejected]()
        for piece in pieces:
            state, found = wire.receive(self.direction, state, Chunk(piece, AT))
            heard += found
        return heard + list(wire.end(self.direction, state, AT)[1])


every_case = pytest.mark.parametrize("case", [pytest.param(Case(*each), id=each[0].hex(" ")) for each in CASES])


def test_every_message_has_a_literal_case() -> None:
    """No message, place, role, result or order goes untried, and all versions are tried."""
    said = [each.said for _, each in CASES]
    assert {type(each) for each in said} == {*get_args(Reported), *get_args(Noticed), *get_args(Requested)}
    values = {str(getattr(each, it.name)) for each in said for it in fields(each)}
    assert values >= {str(each) for kind in (Place, Role, Result, OrderKind, Passage) for each in kind}
    assert {each.version for _, each in CASES} == {1, 2, 3}


@every_case
def test_a_frame_says_its_message(case: Case) -> None:
    """A whole frame is its message, with its bytes, its place and its time."""
    assert case.hear(case.raw) == [Frame(case.raw, 0, AT, case.message)]


@every_case
def test_a_message_is_built_as_its_frame(case: Case) -> None:
    """What we build is the literal frame."""
    assert build(case.message) == case.raw


@every_case
def test_a_frame_may_come_byte_by_byte(case: Case) -> None:
    """Single bytes make the same frame."""
    assert case.hear(*(bytes((byte,)) for byte in case.raw)) == [Frame(case.raw, 0, AT, case.message)]


@every_case
def test_a_frame_stands_out_from_junk(case: Case) -> None:
    """Junk before and after a frame is rejected, and the frame is heard at its place."""
    before, frame, after = case.hear(JUNK + case.raw + JUNK)
    assert frame == Frame(case.raw, len(JUNK), AT, case.message)
    for junk, offset in ((before, 0), (after, len(JUNK) + len(case.raw))):
        assert isinstance(junk, Rejected)
        assert (junk.raw, junk.offset, junk.reason) == (JUNK, offset, Reason.JUNK)


@every_case
def test_a_flipped_bit_is_never_believed(case: Case) -> None:
    """Whichever bit flips, the frame is rejected and nothing else is heard in it; the next one is heard."""
    for at in range(len(case.raw)):
        for bit in range(8):
            flipped = bytearray(case.raw)
            flipped[at] ^= 1 << bit
            assert all(isinstance(each, Rejected) for each in case.hear(bytes(flipped))), flipped.hex(" ")
            frames = [each for each in case.hear(bytes(flipped) + case.raw) if isinstance(each, Frame)]
            assert frames == [Frame(case.raw, len(case.raw), AT, case.message)]


@pytest.mark.parametrize("read", [REPORTS.read, ORDERS.read], ids=["device", "host"])
@pytest.mark.parametrize("version", [0, 4, 9, 255])
def test_an_unknown_version_is_refused(version: int, read: Callable[[bytes], Message | Malformed]) -> None:
    """Neither end guesses at the layout of a version; the operator reads which one it was and what to do."""
    assert read(framed(f"{version:02X} 02 0000 A1B2C3D4 0003")) == Malformed(
        Reason.UNKNOWN_VERSION,
        f"the other end speaks version {version} of Open Shoe, and 1, 2, 3 are known here; "
        "set the device to one of them, or install a release that knows its version",
    )


def test_a_damaged_version_is_a_damaged_frame() -> None:
    """The check comes before the version: noise does not make the device look too new."""
    said = REPORTS.read(b"\x7e\x09" + framed("01 02 0000 A1B2C3D4 0003")[2:])
    assert isinstance(said, Malformed)
    assert said.reason is Reason.BAD_CHECK


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"\x7e\x7f", Reason.MALFORMED, id="nothing"),
        pytest.param(framed("01 02 00"), Reason.MALFORMED, id="half a sequence"),
        pytest.param(framed(b"\x01\x02" + bytes(600)), Reason.OVER_LONG, id="600 bytes"),
        pytest.param(framed("01 82 0000 A1B2C3D4 0011").replace(b"\x7d\x31", b"\x11"), Reason.MALFORMED, id="XON"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003")[:-1] + b"\x7d\x7f", Reason.MALFORMED, id="half an escape"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003").replace(b"\xa1", b"\x7d\x81"), Reason.MALFORMED, id="needless"),
        pytest.param(framed("01 80 0000"), Reason.ECHO, id="a host's own"),
        pytest.param(framed("01 04 0000"), Reason.UNKNOWN_COMMAND, id="type 04"),
        pytest.param(framed("01 02 0001 A1B2C3D4 0003"), Reason.MALFORMED, id="a notice with a number"),
        pytest.param(framed(f"01 21 0000 {STAMP}"), Reason.MALFORMED, id="a report without one"),
        pytest.param(framed("01 21 0001 A1B2C3D4"), Reason.MALFORMED, id="a report without clock"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0000"), Reason.MALFORMED, id="a next of 0"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003 00"), Reason.MALFORMED, id="a byte too many"),
        pytest.param(framed("01 03 0000 04 00 00"), Reason.UNDECLARED_CODE, id="order 4"),
        pytest.param(framed("03 02 0000 A1B2C3D4 0003"), Reason.MALFORMED, id="an ALIVE of version 2 in version 3"),
        pytest.param(framed("02 18 0000"), Reason.UNKNOWN_COMMAND, id="a maker's notice in version 2"),
        pytest.param(framed("03 50 0000"), Reason.MALFORMED, id="a maker's report without a number"),
        pytest.param(framed("03 18 0001"), Reason.MALFORMED, id="a maker's notice with a number"),
        pytest.param(framed("03 84 0000"), Reason.ECHO, id="a host's INQUIRE"),
        pytest.param(framed("03 21 0001 A1B2C3D4 0102030405060708"), Reason.MALFORMED, id="a report without boot"),
    ],
)
def test_the_device_cannot_have_said(raw: bytes, reason: Reason) -> None:
    """What makes no sense is rejected whole, for its own reason."""
    said = REPORTS.read(raw)
    assert isinstance(said, Malformed)
    assert said.reason is reason


def test_a_capability_that_the_page_does_not_name_means_nothing() -> None:
    """A device of tomorrow may have more of them."""
    said = REPORTS.read(framed("03 01 0000 A1B2C3D4 01 0001 0001 00 00 00 00 0007 0000000000000000 0032 FF84"))
    assert isinstance(said, Notice)
    assert isinstance(said.said, Hello)
    assert said.said.capabilities == Capability.LOCK


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        pytest.param("01 02 0000 A1B2C3D4 0003", Reason.UNKNOWN_COMMAND, id="a device's own"),
        pytest.param("01 80 0001", Reason.MALFORMED, id="a number"),
        pytest.param("01 83 0000 04 00", Reason.UNDECLARED_CODE, id="order 4"),
        pytest.param("01 80 0000 00", Reason.MALFORMED, id="a byte behind IDENTIFY"),
        pytest.param("03 83 0000 01 00 00", Reason.MALFORMED, id="a byte behind ORDER"),
        pytest.param("03 84 0000 00", Reason.MALFORMED, id="a byte behind INQUIRE"),
        pytest.param("02 84 0000", Reason.UNKNOWN_COMMAND, id="INQUIRE in version 2"),
    ],
)
def test_a_host_cannot_have_said(literal: str, reason: Reason) -> None:
    """A request that makes no sense is rejected, for its own reason."""
    said = ORDERS.read(framed(literal))
    assert isinstance(said, Malformed)
    assert said.reason is reason


@pytest.mark.parametrize(
    ("version", "literal", "reason"),
    [
        pytest.param(1, "25 0102", Reason.UNKNOWN_COMMAND, id="a type that is not declared"),
        pytest.param(1, "46 00 0001 00", Reason.UNKNOWN_COMMAND, id="a type of version 2 in version 1"),
        pytest.param(1, "20 18 00 00 0001E848 00 61 0000", Reason.MALFORMED, id="a card of version 2 in version 1"),
        pytest.param(2, "20 18 00 00 0001E848 00", Reason.MALFORMED, id="a card of version 1 in version 2"),
        pytest.param(1, "20 1E 00 00 0001E848 00", Reason.UNDECLARED_CODE, id="rank 14"),
        pytest.param(1, "20 18 06 00 0001E848 00", Reason.UNDECLARED_CODE, id="place 6"),
        pytest.param(1, "20 18 00 00 0001E848 04", Reason.UNDECLARED_CODE, id="bit 2"),
        pytest.param(1, "24 02", Reason.UNDECLARED_CODE, id="half locked"),
        pytest.param(1, "22 02 C328", Reason.MALFORMED, id="no UTF-8"),
        pytest.param(1, "22 02 410A", Reason.MALFORMED, id="a line end in a text"),
        pytest.param(1, "22 41" + "41" * 65, Reason.MALFORMED, id="65 bytes of text"),
        pytest.param(2, "31 00 00 00", Reason.UNKNOWN_COMMAND, id="STATUS in version 2"),
        pytest.param(2, "50", Reason.UNKNOWN_COMMAND, id="a maker's report in version 2"),
        pytest.param(3, "41", Reason.MALFORMED, id="SHUFFLING of version 2 in version 3"),
        pytest.param(3, "31 03 00 00", Reason.UNDECLARED_CODE, id="a third state of the exit"),
        pytest.param(3, "31 00 00 02 04 01", Reason.MALFORMED, id="one fault of two"),
        pytest.param(3, "31 00 00 01 04 02", Reason.UNDECLARED_CODE, id="half blocking"),
        pytest.param(3, "60", Reason.UNKNOWN_COMMAND, id="a type above those of makers"),
    ],
)
def test_a_report_that_says_nothing_keeps_its_number(version: int, literal: str, reason: Reason) -> None:
    """Asked for again it would come the same, so that it must be taken and recorded."""
    said = REPORTS.read(stamped(version, literal))
    assert isinstance(said, Report)
    assert (said.sequence, said.stream, said.clock_us) == (0x107, STREAM, CLOCK)
    assert isinstance(said.said, Unreadable)
    assert (said.said.type, said.said.payload) == (int(literal[:2], 16), bytes.fromhex(literal[2:]))
    assert said.said.why.reason is reason
    assert said.said.why.detail


@pytest.mark.parametrize(
    "message",
    [
        Report(1, 1, STREAM, CLOCK, Card(EIGHT, Place.DEALT, 0, 0, quality=97)),
        Report(1, 1, STREAM, CLOCK, CardOrder("", 1, ())),
        Report(9, 1, STREAM, CLOCK, Empty()),
        Report(1, 1, STREAM, CLOCK, Empty(), BOOT),
        Report(2, 1, STREAM, CLOCK, Shuffling("A7")),
        Report(2, 1, STREAM, CLOCK, Status(locked=None, set_id="", faults=())),
        Report(3, 1, STREAM, CLOCK, Empty(), 0x10000),
        Notice(2, Alive(STREAM, 1, 7)),
        Request(2, Inquire()),
        Report(1, 0, STREAM, CLOCK, Empty()),
        Report(1, 65536, STREAM, CLOCK, Empty()),
        Report(1, 1, STREAM, CLOCK, Unreadable(0x25, b"", Malformed(Reason.UNKNOWN_COMMAND, ""))),
        Report(1, 1, STREAM, CLOCK, Loaded("x" * 65)),
        Report(1, 1, STREAM, CLOCK, Inventory("", (1, 2), 0)),
        Report(1, 1, STREAM, CLOCK, Card(Face(Suit.SPADES, 14), Place.DEALT, 0, 0)),
        Request(1, Acknowledge(STREAM, 0)),
    ],
    ids=str,
)
def test_a_message_that_does_not_fit_is_not_built(message: Message) -> None:
    """Nothing is put on the line that would be read otherwise, or that its version does not have."""
    with pytest.raises(ValueError, match="does not fit its frame"):
        build(message)


def test_the_number_after_the_last_is_one() -> None:
    """0 is never a report's number."""
    assert [following(1), following(65534), following(65535)] == [2, 65535, 1]


def test_an_inventory_counts_in_a_declared_order() -> None:
    """Spades, hearts, diamonds, clubs; of each, ace to king."""
    assert tuple(Face(suit, rank) for suit in Suit for rank in range(1, 14)) == FACES


def test_faults_and_failures_have_names() -> None:
    """Each named one has its number; another number has no name."""
    assert [FAULT_NAMES[code] for code in range(1, 9)] == list(Fault)
    assert [FAILURE_NAMES[code] for code in range(6)] == list(Failure)
    assert FAULT_NAMES.get(99) is None


@pytest.mark.parametrize("key", FIXED, ids=str)
def test_what_has_one_size_is_read_without_construct_as_with_it(key: tuple[int, int]) -> None:
    """The same messages, and the same payloads refused, whatever the bytes."""
    dice, quick, layout = Random(str(key)), FIXED[key], LAYOUTS[key]
    size = quick.struct.size
    few = bytes((0, 1, 2, 3, 0x18, 0xFF))
    for number in range(2000):
        length = size if number % 4 else dice.randrange(size + 3)
        payload = bytes(dice.choice(few) if number % 2 else dice.randrange(256) for _ in range(length))
        try:
            parsed = layout.parse(payload)
        except ConstructError:
            with pytest.raises((KeyError, StructError)):
                quick.read(payload)
        else:
            said = quick.read(payload)
            assert said == quick.message(**{name: parsed[name] for name in quick.names})
            assert quick.build(said) == payload


@given(st.binary(max_size=80), st.sampled_from((1, 2, 3)))
def test_no_body_is_too_odd_to_be_read(rest: bytes, version: int) -> None:
    """Whatever stands in a frame with a right check is malformed, unreadable, or a message that is built the same."""
    raw = framed(bytes((version,)) + rest)
    for said in (REPORTS.read(raw), ORDERS.read(raw)):
        if not isinstance(said, Malformed) and not isinstance(said.said, Unreadable):
            assert build(said) == raw


def test_the_family_is_declared() -> None:
    """Both roles, all versions, its line, and a reason with every setting."""
    assert FAMILY.roles == ("shoe", "shuffler")
    assert FAMILY.firmware == ("1", "2", "3")
    assert str(FAMILY.line) == "115200 8N1"
    for name, it in declared(OpenShoeSettings).items():
        assert it.default == getattr(SETTINGS, name)
        assert it.reason
