"""Open Shoe frames. The payloads were written by hand from the page; this module frames them without our builder."""

from collections.abc import Callable
from dataclasses import fields
from random import Random
from struct import error as StructError  # noqa: N812 -- it is a class
from typing import get_args

import pytest
from construct import ConstructError
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols.family import Codec, Malformed, Reason
from firmware_protocols.open_shoe import FAMILY, OpenShoeSettings, build, orders, reports
from firmware_protocols.open_shoe.layout import FACES, FAILURE_NAMES, FAULT_NAMES, FIXED, LAYOUTS
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
    OpenShoeMessage,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoePassage,
    OpenShoePlace,
    OpenShoeReport,
    OpenShoeRequest,
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
    Unreadable,
    following,
)
from shoed import wire
from shoed.model.moments import Chunk, Now
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
    """CRC-32 as the page defines it, bit by bit."""
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


def card(
    place: OpenShoePlace, position: int, face: OpenShoeFace | None, odd: OpenShoePassage = OpenShoePassage.CLEAN
) -> OpenShoeCard:
    return OpenShoeCard(face, place, position, 125_000, odd)


EIGHT = OpenShoeFace(OpenShoeSuit.SPADES, 8)
ABLE = OpenShoeCapability.PASSAGE | OpenShoeCapability.LOCK | OpenShoeCapability.CLEAR
ALL = (
    ABLE | OpenShoeCapability.HANDS | OpenShoeCapability.MEMORY | OpenShoeCapability.QUALITY | OpenShoeCapability.ORDER
)
NONCE, PROOF = bytes(range(0x10, 0x20)), bytes(range(0x70, 0x80))
COUNTS = tuple(range(52))
REPORTED: list[tuple[int, str, ReportBody]] = [
    (1, "20 18 01 01 0001E848 00", card(OpenShoePlace.PLAYER, 1, EIGHT)),
    (
        1,
        "20 2A 02 03 0001E848 01",
        card(OpenShoePlace.BANKER, 3, OpenShoeFace(OpenShoeSuit.HEARTS, 10), OpenShoePassage.DOUBLE),
    ),
    (1, "20 00 00 00 0001E848 02", card(OpenShoePlace.DEALT, 0, None, OpenShoePassage.FOREIGN)),
    (
        1,
        "20 31 03 09 0001E848 03",
        card(
            OpenShoePlace.BURNT,
            9,
            OpenShoeFace(OpenShoeSuit.DIAMONDS, 1),
            OpenShoePassage.DOUBLE | OpenShoePassage.FOREIGN,
        ),
    ),
    (1, "20 4D 04 00 0001E848 00", card(OpenShoePlace.LOCKED, 0, OpenShoeFace(OpenShoeSuit.CLUBS, 13))),
    (1, "20 11 05 00 00000000 00", OpenShoeCard(OpenShoeFace(OpenShoeSuit.SPADES, 1), OpenShoePlace.ERROR, 0, 0)),
    (2, "20 18 00 00 0001E848 00 61 0000", OpenShoeCard(EIGHT, OpenShoePlace.DEALT, 0, 125_000, quality=97)),
    (
        2,
        "20 00 00 00 0001E848 02 FF BEEF",
        OpenShoeCard(None, OpenShoePlace.DEALT, 0, 125_000, OpenShoePassage.FOREIGN, None, 0xBEEF),
    ),
    (1, "21", OpenShoeCutCard()),
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
    (1, "43 01", OpenShoeFailed(1)),
    (2, "43 63", OpenShoeFailed(99)),
    (1, "44 02 4137" + bytes(range(52)).hex() + "05", Inventory("A7", COUNTS, 5)),
    (2, "45 00", Delivered("")),
    (2, "46 02 4137 019F 03 18 00 2A", CardOrder("A7", 415, (EIGHT, None, OpenShoeFace(OpenShoeSuit.HEARTS, 10)))),
    (3, "20 18 00 00 0001E848 00 61 0000", OpenShoeCard(EIGHT, OpenShoePlace.DEALT, 0, 125_000, quality=97)),
    (3, "46 00 0001 00", CardOrder("", 1, ())),
    (3, "21", OpenShoeCutCard()),
    (3, "41 02 4137", Shuffling("A7")),
    (3, "42 00", Shuffled("")),
    (3, "43 02 02 4138", OpenShoeFailed(2, "A8")),
    (
        3,
        "31 00 03 4E6F37 01 04 01",
        OpenShoeStatus(locked=False, set_id="No7", faults=(OpenShoeStandingFault(4, blocking=True),)),
    ),
    (3, "31 01 00 00", OpenShoeStatus(locked=True, set_id="", faults=())),
    (
        3,
        "31 02 00 02 02 00 63 01",
        OpenShoeStatus(
            locked=None,
            set_id="",
            faults=(OpenShoeStandingFault(2, blocking=False), OpenShoeStandingFault(99, blocking=True)),
        ),
    ),
    (3, "50 0102", OfVendor(0x50, b"\x01\x02")),
    (3, "5F", OfVendor(0x5F, b"")),
]
NOTICED: list[tuple[int, str, Noticed]] = [
    (
        1,
        "01 0000 A1B2C3D4 01 0003 0001 04 41636D65 02 5331 04 30303432 05 312E302E30",
        Hello(STREAM, OpenShoeRole.SHOE, 3, 1, "Acme", "S1", "0042", "1.0.0"),
    ),
    (
        2,
        "01 0000 A1B2C3D4 02 FFFF FFFF 00 00 00 00",
        Hello(STREAM, OpenShoeRole.SHUFFLER, 0xFFFF, 0xFFFF, "", "", "", ""),
    ),
    (1, "02 0000 A1B2C3D4 0003", Alive(STREAM, 3)),
    (1, "03 0000 01 00 00", Done(OrderKind.LOCK, 0, OpenShoeResult.DONE)),
    (1, "03 0000 02 00 01", Done(OrderKind.UNLOCK, 0, OpenShoeResult.NOT_NOW)),
    (2, "03 0000 03 02 02", Done(OrderKind.CLEAR, 2, OpenShoeResult.UNABLE)),
    (2, "03 0000 03 02 03", Done(OrderKind.CLEAR, 2, OpenShoeResult.FAILED)),
    (
        3,
        "01 0000 A1B2C3D4 01 0003 0001 04 41636D65 00 00 00 0007 000000000007A120 0032 000D",
        Hello(STREAM, OpenShoeRole.SHOE, 3, 1, "Acme", "", "", "", 7, 500_000, 50, ABLE),
    ),
    (
        3,
        "01 0000 A1B2C3D4 02 0001 0001 00 00 00 00 FFFF 0000000000000000 FFFF 007F",
        Hello(STREAM, OpenShoeRole.SHUFFLER, 1, 1, "", "", "", "", 0xFFFF, 0, None, ALL),
    ),
    (3, "02 0000 A1B2C3D4 0003 0007 0000000000B71B00", Alive(STREAM, 3, 7, 12_000_000)),
    (3, "03 0000 01 00 00", Done(OrderKind.LOCK, 0, OpenShoeResult.DONE)),
    (3, f"10 0000 {NONCE.hex()} {PROOF.hex()}", Response(NONCE, PROOF)),
    (3, "11 0000", Unkeyed()),
    (3, "12 0000 00000001 85F13E", Sealed(1, b"\x85\xf1\x3e")),
    (3, "18 0000 01", OfVendor(0x18, b"\x01")),
    (3, "1F 0000", OfVendor(0x1F, b"")),
]
REQUESTED: list[tuple[int, str, Requested]] = [
    (1, "80 0000", Identify()),
    (2, "81 0000 A1B2C3D4 0002", OpenShoeAcknowledge(STREAM, 2)),
    (1, "82 0000 A1B2C3D4 1113", Resend(STREAM, 0x1113)),
    (1, "83 0000 01 00", OpenShoeOrder(OrderKind.LOCK)),
    (2, "83 0000 03 7E", OpenShoeOrder(OrderKind.CLEAR, 0x7E)),
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


CASES: list[tuple[bytes, OpenShoeMessage]] = [
    *(
        (stamped(version, literal), OpenShoeReport(version, 0x107, STREAM, CLOCK, message, boot_of(version)))
        for version, literal, message in REPORTED
    ),
    *((framed(f"{version:02X} {literal}"), OpenShoeNotice(version, message)) for version, literal, message in NOTICED),
    *(
        (framed(f"{version:02X} {literal}"), OpenShoeRequest(version, message))
        for version, literal, message in REQUESTED
    ),
]


class Case:
    def __init__(self, raw: bytes, message: OpenShoeMessage) -> None:
        self.direction: Codec[OpenShoeMessage] = ORDERS if isinstance(message, OpenShoeRequest) else REPORTS
        self.raw = raw
        self.message = message

    def hear(self, *pieces: bytes) -> list[Frame[OpenShoeMessage] | Rejected]:
        """All frames and rejections of these pieces, with the link closed after them."""
        state, heard = LineState(), list[Frame[OpenShoeMessage] | Rejected]()
        for piece in pieces:
            state, found = wire.receive(self.direction, state, Chunk(piece, AT))
            heard += found
        return heard + list(wire.end(self.direction, state, AT)[1])


every_case = pytest.mark.parametrize("case", [pytest.param(Case(*each), id=each[0].hex(" ")) for each in CASES])


def test_every_message_has_a_literal_case() -> None:
    """Every message, place, role, result and order is tested, in all versions."""
    bodies = [each.body for _, each in CASES]
    assert {type(each) for each in bodies} == {*get_args(ReportBody), *get_args(Noticed), *get_args(Requested)}
    values = {str(getattr(each, it.name)) for each in bodies for it in fields(each)}
    assert values >= {
        str(each) for kind in (OpenShoePlace, OpenShoeRole, OpenShoeResult, OrderKind, OpenShoePassage) for each in kind
    }
    assert {each.version for _, each in CASES} == {1, 2, 3}


@every_case
def test_a_frame_is_read_as_its_message(case: Case) -> None:
    """A whole frame has its message, its bytes, its offset and its moment."""
    assert case.hear(case.raw) == [Frame(case.raw, 0, AT, case.message)]


@every_case
def test_a_message_is_built_as_its_frame(case: Case) -> None:
    """The built frame is the literal frame."""
    assert build(case.message) == case.raw


@every_case
def test_a_flipped_bit_is_always_rejected(case: Case) -> None:
    """Each bit is flipped, and the frame is rejected. The next frame is read."""
    for at in range(len(case.raw)):
        for bit in range(8):
            flipped = bytearray(case.raw)
            flipped[at] ^= 1 << bit
            assert all(isinstance(each, Rejected) for each in case.hear(bytes(flipped))), flipped.hex(" ")
            frames = [each for each in case.hear(bytes(flipped) + case.raw) if isinstance(each, Frame)]
            assert frames == [Frame(case.raw, len(case.raw), AT, case.message)]


@pytest.mark.parametrize("read", [REPORTS.read, ORDERS.read], ids=["device", "host"])
@pytest.mark.parametrize("version", [0, 4, 9, 255])
def test_an_unknown_version_is_refused(version: int, read: Callable[[bytes], OpenShoeMessage | Malformed]) -> None:
    """Neither end guesses the layout of a version; the operator reads its number and the remedy."""
    assert read(framed(f"{version:02X} 02 0000 A1B2C3D4 0003")) == Malformed(
        Reason.UNKNOWN_VERSION,
        f"the other end uses version {version} of Open Shoe; this release knows versions 1, 2, 3; "
        "set the device to one of them, or install a release that knows its version",
    )


def test_a_damaged_version_is_a_damaged_frame() -> None:
    """The CRC is checked before the version: noise does not make the device look too new."""
    wrong = REPORTS.read(b"\x7e\x09" + framed("01 02 0000 A1B2C3D4 0003")[2:])
    assert isinstance(wrong, Malformed)
    assert wrong.reason is Reason.BAD_CHECK


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"\x7e\x7f", Reason.MALFORMED, id="nothing"),
        pytest.param(framed("01 02 00"), Reason.MALFORMED, id="half a number"),
        pytest.param(framed(b"\x01\x02" + bytes(600)), Reason.OVER_LONG, id="600 bytes"),
        pytest.param(framed("01 82 0000 A1B2C3D4 0011").replace(b"\x7d\x31", b"\x11"), Reason.MALFORMED, id="XON"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003")[:-1] + b"\x7d\x7f", Reason.MALFORMED, id="half an escape"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003").replace(b"\xa1", b"\x7d\x81"), Reason.MALFORMED, id="needless"),
        pytest.param(framed("01 80 0000"), Reason.ECHO, id="a request of a host"),
        pytest.param(framed("01 04 0000"), Reason.UNKNOWN_COMMAND, id="type 04"),
        pytest.param(framed("01 02 0001 A1B2C3D4 0003"), Reason.MALFORMED, id="a notice with a number"),
        pytest.param(framed(f"01 21 0000 {STAMP}"), Reason.MALFORMED, id="a report without a number"),
        pytest.param(framed("01 21 0001 A1B2C3D4"), Reason.MALFORMED, id="a report without clock"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0000"), Reason.MALFORMED, id="a next of 0"),
        pytest.param(framed("01 02 0000 A1B2C3D4 0003 00"), Reason.MALFORMED, id="a byte too many"),
        pytest.param(framed("03 02 0000 A1B2C3D4 0003"), Reason.MALFORMED, id="an ALIVE of version 2 in version 3"),
        pytest.param(framed("02 18 0000"), Reason.UNKNOWN_COMMAND, id="a notice of a maker in version 2"),
        pytest.param(framed("03 50 0000"), Reason.MALFORMED, id="a report of a maker without a number"),
        pytest.param(framed("03 18 0001"), Reason.MALFORMED, id="a notice of a maker with a number"),
        pytest.param(framed("03 84 0000"), Reason.ECHO, id="INQUIRE of a host"),
        pytest.param(framed("03 21 0001 A1B2C3D4 0102030405060708"), Reason.MALFORMED, id="a report without boot"),
    ],
)
def test_an_invalid_frame_of_a_device_is_rejected(raw: bytes, reason: Reason) -> None:
    """The whole frame is rejected, with its own reason."""
    wrong = REPORTS.read(raw)
    assert isinstance(wrong, Malformed)
    assert wrong.reason is reason


def test_a_capability_that_the_page_does_not_name_means_nothing() -> None:
    """Future devices may have more capabilities."""
    message = REPORTS.read(framed("03 01 0000 A1B2C3D4 01 0001 0001 00 00 00 00 0007 0000000000000000 0032 FF84"))
    assert isinstance(message, OpenShoeNotice)
    assert isinstance(message.body, Hello)
    assert message.body.capabilities == OpenShoeCapability.LOCK


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        pytest.param("01 02 0000 A1B2C3D4 0003", Reason.UNKNOWN_COMMAND, id="a notice of a device"),
        pytest.param("01 80 0001", Reason.MALFORMED, id="a number"),
        pytest.param("01 83 0000 04 00", Reason.UNDECLARED_CODE, id="order 4"),
        pytest.param("01 80 0000 00", Reason.MALFORMED, id="a byte after IDENTIFY"),
        pytest.param("03 83 0000 01 00 00", Reason.MALFORMED, id="a byte after ORDER"),
        pytest.param("03 84 0000 00", Reason.MALFORMED, id="a byte after INQUIRE"),
        pytest.param("02 84 0000", Reason.UNKNOWN_COMMAND, id="INQUIRE in version 2"),
    ],
)
def test_an_invalid_request_of_a_host_is_rejected(literal: str, reason: Reason) -> None:
    """The request is rejected, with its own reason."""
    wrong = ORDERS.read(framed(literal))
    assert isinstance(wrong, Malformed)
    assert wrong.reason is reason


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
        pytest.param(1, "24 02", Reason.UNDECLARED_CODE, id="a lock that is neither locked nor unlocked"),
        pytest.param(1, "22 02 C328", Reason.MALFORMED, id="no UTF-8"),
        pytest.param(1, "22 02 410A", Reason.MALFORMED, id="an end of line in a text"),
        pytest.param(1, "22 41" + "41" * 65, Reason.MALFORMED, id="65 bytes of text"),
        pytest.param(2, "31 00 00 00", Reason.UNKNOWN_COMMAND, id="STATUS in version 2"),
        pytest.param(2, "50", Reason.UNKNOWN_COMMAND, id="a report of a maker in version 2"),
        pytest.param(3, "41", Reason.MALFORMED, id="SHUFFLING of version 2 in version 3"),
        pytest.param(3, "31 03 00 00", Reason.UNDECLARED_CODE, id="a third state of the exit"),
        pytest.param(3, "31 00 00 02 04 01", Reason.MALFORMED, id="one of two faults"),
        pytest.param(3, "31 00 00 01 04 02", Reason.UNDECLARED_CODE, id="a fault that is neither blocking nor not"),
        pytest.param(3, "60", Reason.UNKNOWN_COMMAND, id="a type above the types of makers"),
    ],
)
def test_an_unreadable_report_keeps_its_number(version: int, literal: str, reason: Reason) -> None:
    """A repetition would be identical, so that the host must accept and record it."""
    message = REPORTS.read(stamped(version, literal))
    assert isinstance(message, OpenShoeReport)
    assert (message.sequence, message.stream, message.clock_us) == (0x107, STREAM, CLOCK)
    assert isinstance(message.body, Unreadable)
    assert (message.body.type, message.body.payload) == (int(literal[:2], 16), bytes.fromhex(literal[2:]))
    assert message.body.why.reason is reason
    assert message.body.why.detail


@pytest.mark.parametrize(
    "message",
    [
        OpenShoeReport(1, 1, STREAM, CLOCK, OpenShoeCard(EIGHT, OpenShoePlace.DEALT, 0, 0, quality=97)),
        OpenShoeReport(1, 1, STREAM, CLOCK, CardOrder("", 1, ())),
        OpenShoeReport(9, 1, STREAM, CLOCK, Empty()),
        OpenShoeReport(1, 1, STREAM, CLOCK, Empty(), BOOT),
        OpenShoeReport(2, 1, STREAM, CLOCK, Shuffling("A7")),
        OpenShoeReport(2, 1, STREAM, CLOCK, OpenShoeStatus(locked=None, set_id="", faults=())),
        OpenShoeReport(3, 1, STREAM, CLOCK, Empty(), 0x10000),
        OpenShoeNotice(2, Alive(STREAM, 1, 7)),
        OpenShoeRequest(2, Inquire()),
        OpenShoeReport(1, 0, STREAM, CLOCK, Empty()),
        OpenShoeReport(1, 65536, STREAM, CLOCK, Empty()),
        OpenShoeReport(1, 1, STREAM, CLOCK, Unreadable(0x25, b"", Malformed(Reason.UNKNOWN_COMMAND, ""))),
        OpenShoeReport(1, 1, STREAM, CLOCK, Loaded("x" * 65)),
        OpenShoeReport(1, 1, STREAM, CLOCK, Inventory("", (1, 2), 0)),
        OpenShoeReport(
            1, 1, STREAM, CLOCK, OpenShoeCard(OpenShoeFace(OpenShoeSuit.SPADES, 14), OpenShoePlace.DEALT, 0, 0)
        ),
        OpenShoeRequest(1, OpenShoeAcknowledge(STREAM, 0)),
    ],
    ids=str,
)
def test_a_message_that_does_not_fit_is_not_built(message: OpenShoeMessage) -> None:
    """The builder refuses a frame that a receiver would read differently, or that its version does not have."""
    with pytest.raises(ValueError, match="does not fit its frame"):
        build(message)


def test_the_number_after_the_last_is_one() -> None:
    """0 is never the number of a report."""
    assert [following(1), following(65534), following(65535)] == [2, 65535, 1]


def test_an_inventory_counts_in_a_declared_order() -> None:
    """Spades, hearts, diamonds, clubs; each suit from ace to king."""
    assert tuple(OpenShoeFace(suit, rank) for suit in OpenShoeSuit for rank in range(1, 14)) == FACES


def test_faults_and_failures_have_names() -> None:
    """Each named fault and failure has its number; any other number has no name."""
    assert [FAULT_NAMES[code] for code in range(1, 9)] == list(OpenShoeFault)
    assert [FAILURE_NAMES[code] for code in range(6)] == list(ShuffleFailure)
    assert FAULT_NAMES.get(99) is None


@pytest.mark.parametrize("key", FIXED, ids=str)
def test_payloads_of_one_size_are_read_as_construct_reads_them(key: tuple[int, int]) -> None:
    """Both readers return the same messages and refuse the same payloads, whatever the bytes."""
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
            message = quick.read(payload)
            assert message == quick.message(**{name: parsed[name] for name in quick.names})
            assert quick.build(message) == payload


@given(st.binary(max_size=80), st.sampled_from((1, 2, 3)))
def test_every_body_can_be_read(rest: bytes, version: int) -> None:
    """A frame with a right CRC is malformed, unreadable, or a message whose built frame is the same."""
    raw = framed(bytes((version,)) + rest)
    for message in (REPORTS.read(raw), ORDERS.read(raw)):
        if not isinstance(message, Malformed) and not isinstance(message.body, Unreadable):
            assert build(message) == raw


def test_the_family_is_declared() -> None:
    """The family has both roles, all versions, and its line."""
    assert FAMILY.roles == ("shoe", "shuffler")
    assert FAMILY.firmware == ("1", "2", "3")
    assert str(FAMILY.line) == "115200 8N1"
