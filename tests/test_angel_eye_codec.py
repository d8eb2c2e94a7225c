"""Angel Eye frames. The literal bytes are known reports or were computed by hand, never by the builder under test."""

import re
from dataclasses import fields
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs import angel_eye_page
from firmware_protocols import FAMILIES, angel_eye
from firmware_protocols.angel_eye import (
    CLEAR_ERROR,
    CONFIRM_PROCESS,
    DISCARD_OVERDRAWN,
    FAULTS,
    FOLLOWING,
    LOCK,
    UNLOCK,
    USE_OVERDRAWN,
    AngelEyeAcknowledge,
    AngelEyeCutCard,
    AngelEyeFace,
    AngelEyeFault,
    AngelEyeMessage,
    AngelEyeNoFace,
    AngelEyeOrder,
    AngelEyeOutcome,
    AngelEyePresetChanged,
    AngelEyeRefusal,
    AngelEyeResult,
    AngelEyeSettings,
    AngelEyeSituation,
    AngelEyeSuit,
    CardInGame,
    CardOutside,
    ErrorCleared,
    ErrorRaised,
    FormName,
    FromShoe,
    KeyLock,
    OrderType,
    OverdrawCard,
    Refuse,
    Reply,
    Span,
    StandBy,
    StartOfCommunication,
    Target,
    UnknownSituation,
    UnknownTarget,
    build,
    form_of,
    orders,
    reports,
)
from firmware_protocols.family import Codec, Line, Malformed, Mark, Parity, Reason
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.wire import Frame, LineState, Rejected
from tests import angel_eye_line

AT = Now(1_700_000_000_000_000, 5_000_000_000)
SETTINGS = AngelEyeSettings()
REPORTS = reports(SETTINGS)
ORDERS = orders(SETTINGS)

FROM_SHOE: list[tuple[str, FromShoe]] = [
    ("05 31 53 03 36 31", StartOfCommunication("1")),
    ("05 32 50 03 36 31", StandBy("2")),
    ("05 33 43 03 37 33", AngelEyeCutCard("3")),
    ("05 31 44 81 B8 03 34 46", CardInGame("1", Target.PLAYER, 1, AngelEyeFace(AngelEyeSuit.SPADES, 8))),
    ("05 35 44 92 CA 03 32 41", CardInGame("5", Target.BANKER, 2, AngelEyeFace(AngelEyeSuit.HEARTS, 10))),
    ("05 34 44 83 91 03 36 31", CardInGame("4", Target.PLAYER, 3, AngelEyeFace(AngelEyeSuit.DIAMONDS, 1))),
    ("05 39 44 A1 AC 03 37 33", CardInGame("9", Target.BURN, 1, AngelEyeFace(AngelEyeSuit.CLUBS, 12))),
    ("05 38 44 C0 9B 03 32 34", CardInGame("8", Target.FIRST_CARD, 0, AngelEyeFace(AngelEyeSuit.DIAMONDS, 11))),
    ("05 37 44 DF C2 03 36 44", CardInGame("7", Target.BURN_COUNT, 15, AngelEyeFace(AngelEyeSuit.HEARTS, 2))),
    ("05 31 44 81 80 03 37 37", CardInGame("1", Target.PLAYER, 1, AngelEyeNoFace(0))),
    ("05 31 44 B1 B8 03 37 46", CardInGame("1", UnknownTarget(3), 1, AngelEyeFace(AngelEyeSuit.SPADES, 8))),
    ("05 36 64 80 91 03 34 30", CardOutside("6", AngelEyeSituation.LOCKED, AngelEyeFace(AngelEyeSuit.DIAMONDS, 1))),
    ("05 36 64 90 91 03 35 30", CardOutside("6", AngelEyeSituation.ERROR, AngelEyeFace(AngelEyeSuit.DIAMONDS, 1))),
    ("05 36 64 A0 91 03 36 30", CardOutside("6", AngelEyeSituation.SET_UP, AngelEyeFace(AngelEyeSuit.DIAMONDS, 1))),
    ("05 36 64 B0 91 03 37 30", CardOutside("6", UnknownSituation(3), AngelEyeFace(AngelEyeSuit.DIAMONDS, 1))),
    ("05 37 52 83 AD 03 34 38", OverdrawCard("7", Target.PLAYER, 3, AngelEyeFace(AngelEyeSuit.CLUBS, 13))),
    ("05 37 52 E3 AD 03 32 38", OverdrawCard("7", UnknownTarget(6), 3, AngelEyeFace(AngelEyeSuit.CLUBS, 13))),
    ("05 32 47 91 03 45 37", AngelEyeResult("2", AngelEyeOutcome.PLAYER, player_pair=True, banker_pair=False)),
    ("05 32 47 A3 03 44 35", AngelEyeResult("2", AngelEyeOutcome.TIE, player_pair=True, banker_pair=True)),
    ("05 32 47 C2 03 42 34", AngelEyeResult("2", AngelEyeOutcome.BANKER, player_pair=False, banker_pair=True)),
    ("05 32 47 F0 03 38 36", AngelEyeResult("2", AngelEyeOutcome.FORCED_END, player_pair=False, banker_pair=False)),
    ("05 34 45 C1 03 42 33", ErrorRaised("4", in_error_mode=True, code=1)),
    ("05 38 45 86 03 46 38", ErrorRaised("8", in_error_mode=False, code=6)),
    ("05 39 65 81 03 44 45", ErrorCleared("9", code=1)),
    ("05 31 4C 81 03 46 46", KeyLock("1", locked=True)),
    ("05 31 4C 80 03 46 45", KeyLock("1", locked=False)),
    ("05 32 4D 30 31 30 30 30 35 03 37 38", AngelEyePresetChanged("2", "01", "0005")),
    ("06", AngelEyeAcknowledge()),
    ("15 30 31", Refuse(AngelEyeRefusal.LINE)),
    ("15 30 32", Refuse(AngelEyeRefusal.BCC)),
    ("15 30 33", Refuse(AngelEyeRefusal.NO_ETX)),
    ("15 31 31", Refuse(AngelEyeRefusal.FORMAT)),
    ("15 31 32", Refuse(AngelEyeRefusal.ADDRESS)),
    ("15 31 33", Refuse(AngelEyeRefusal.COMMAND)),
    ("15 31 34", Refuse(AngelEyeRefusal.TYPE)),
    ("15 32 31", Refuse(AngelEyeRefusal.BUSY)),
    ("15 32 32", Refuse(AngelEyeRefusal.WRITING)),
    ("15 46 46", Refuse(AngelEyeRefusal.OTHER)),
    ("02 30 30 30 35 03 30 36", Reply("0005")),
]
TO_SHOE: list[tuple[str, AngelEyeOrder]] = [
    ("02 4F 50 4C 4B 30 32 03 31 42", LOCK),
    ("02 4F 50 4C 4B 30 31 03 31 38", UNLOCK),
    ("02 4F 50 45 43 30 30 03 31 38", CLEAR_ERROR),
    ("02 4F 50 45 43 30 31 03 31 39", USE_OVERDRAWN),
    ("02 4F 50 45 43 30 32 03 31 41", DISCARD_OVERDRAWN),
    ("02 4F 50 47 50 30 30 03 30 39", CONFIRM_PROCESS),
]


class Case:
    def __init__(self, literal: str, message: AngelEyeMessage) -> None:
        self.direction: Codec[AngelEyeMessage] = ORDERS if isinstance(message, AngelEyeOrder) else REPORTS
        self.raw = bytes.fromhex(literal)
        self.message = message

    def hear(self, *pieces: bytes) -> list[Frame[AngelEyeMessage] | Rejected]:
        """Return all results of these pieces, with the link closed after them."""
        state, heard = LineState(), list[Frame[AngelEyeMessage] | Rejected]()
        for piece in pieces:
            state, found = wire.receive(self.direction, state, Chunk(piece, AT))
            heard += found
        return heard + list(wire.end(self.direction, state, AT)[1])


every_case = pytest.mark.parametrize(
    "case", [pytest.param(Case(literal, message), id=literal) for literal, message in [*FROM_SHOE, *TO_SHOE]]
)


def test_every_message_has_a_literal_case() -> None:
    """The cases have every report, answer, target, situation, outcome, refusal and order type."""
    messages = [message for _, message in [*FROM_SHOE, *TO_SHOE]]
    assert {type(message) for message in messages} == set(get_args(AngelEyeMessage))
    result = {value for message in messages for value in (getattr(message, it.name) for it in fields(message))}
    assert result >= {*Target, *AngelEyeSituation, *AngelEyeOutcome, *AngelEyeRefusal, *OrderType}


@every_case
def test_a_frame_gives_its_message(case: Case) -> None:
    """The result is the message, with its bytes, its offset and its time."""
    assert case.hear(case.raw) == [Frame(case.raw, 0, AT, case.message)]


@every_case
def test_a_message_is_built_as_its_frame(case: Case) -> None:
    """The built frame is the literal frame."""
    assert build(case.message, SETTINGS) == case.raw


@pytest.mark.parametrize(("literal", "order"), TO_SHOE)
def test_a_shoe_rejects_an_order_with_a_flipped_bit(literal: str, order: AngelEyeOrder) -> None:
    """Each bit is flipped. The next order is read."""
    case = Case(literal, order)
    for bit in range(len(case.raw) * 8):
        flipped = bytearray(case.raw)
        flipped[bit // 8] ^= 1 << bit % 8
        assert all(isinstance(each, Rejected) for each in case.hear(bytes(flipped))), flipped.hex(" ")
        frames = [each for each in case.hear(bytes(flipped) + case.raw) if isinstance(each, Frame)]
        assert frames == [Frame(case.raw, len(case.raw), AT, order)]


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        pytest.param("05 31 44 81 B8 03 34 47", Reason.BAD_CHECK, id="a wrong BCC"),
        pytest.param("05 31 44 81 B8 03 34 66", Reason.BAD_CHECK, id="a BCC in lower case"),
        pytest.param("05 31 44 81 B8 03 34 41", Reason.BAD_CHECK, id="a BCC over ENQ too"),
        pytest.param("05 03 30 33", Reason.MALFORMED, id="no sequence"),
        pytest.param("05 31 03 33 32", Reason.MALFORMED, id="no command"),
        pytest.param("05 B1 53 03 45 31", Reason.MALFORMED, id="a sequence outside ASCII"),
        pytest.param("05 7F 53 03 32 46", Reason.MALFORMED, id="a sequence that cannot be printed"),
        pytest.param("05 31 5A 03 36 38", Reason.UNKNOWN_COMMAND, id="command Z"),
        pytest.param("05 31 53 81 03 45 30", Reason.MALFORMED, id="data where none is due"),
        pytest.param("05 31 44 81 03 46 37", Reason.MALFORMED, id="a card too short"),
        pytest.param("05 31 44 81 B8 80 03 43 46", Reason.MALFORMED, id="a card too long"),
        pytest.param("05 31 44 21 B8 03 45 46", Reason.MALFORMED, id="bit 7 of the place clear"),
        pytest.param("05 31 44 81 38 03 43 46", Reason.MALFORMED, id="bit 7 of the card clear"),
        pytest.param("05 32 47 B0 03 43 36", Reason.UNDECLARED_CODE, id="outcome 3"),
        pytest.param("05 32 4D B0 31 30 30 30 35 03 46 38", Reason.MALFORMED, id="an address outside ASCII"),
        pytest.param("15 30 34", Reason.UNDECLARED_CODE, id="refusal 04"),
        pytest.param("15 66 66", Reason.UNDECLARED_CODE, id="a refusal in lower case"),
        pytest.param("02 4F 50 4C 4B 30 32 03 31 42", Reason.ECHO, id="an order"),
        pytest.param("02 4F 50 4C 4B 30 32 03 31 39", Reason.BAD_CHECK, id="an order with a wrong BCC"),
        pytest.param("02 4D 50 4C 4B 30 32 03 31 42", Reason.BAD_CHECK, id="an order with a flipped bit in O"),
        pytest.param("02 30 30 30 35 03 30 37", Reason.BAD_CHECK, id="a reply with a wrong BCC"),
        pytest.param("02 30 30 30 35 03 30 34", Reason.ECHO, id="a host's text with the BCC of an order"),
        pytest.param("02 03 30 33", Reason.BAD_CHECK, id="a reply without text"),
        pytest.param("02 B0 03 42 33", Reason.BAD_CHECK, id="a reply outside ASCII"),
        pytest.param("05 31 44 01 38 03 34 47", Reason.BAD_CHECK, id="bit 7 clear and a wrong BCC"),
    ],
)
def test_an_impossible_frame_of_the_shoe_is_rejected(literal: str, reason: Reason) -> None:
    """The frame is rejected completely, with its own reason."""
    result = REPORTS.read(bytes.fromhex(literal))
    assert isinstance(result, Malformed)
    assert result.reason is reason
    (heard,) = wire.receive(REPORTS, LineState(), Chunk(bytes.fromhex(literal), AT))[1]
    assert heard == Rejected(bytes.fromhex(literal), 0, AT, reason, result.detail)


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        pytest.param("02 4F 50 4C 4B 30 32 03 31 39", Reason.BAD_CHECK, id="a BCC without STX"),
        pytest.param("02 4F 51 4C 4B 30 32 03 31 41", Reason.UNKNOWN_COMMAND, id="OQ"),
        pytest.param("02 4F 50 4C 4B 30 03 32 39", Reason.MALFORMED, id="one digit"),
        pytest.param("02 4F 50 4C 4C 30 32 03 31 43", Reason.UNDECLARED_CODE, id="LL"),
        pytest.param("02 4F 50 4C 4B 30 33 03 31 41", Reason.UNDECLARED_CODE, id="LK 03"),
        pytest.param("02 4F 50 4C 4B 30 41 03 36 38", Reason.UNDECLARED_CODE, id="LK 0A"),
    ],
)
def test_an_impossible_order_is_rejected(literal: str, reason: Reason) -> None:
    """The order is rejected with its own reason."""
    result = ORDERS.read(bytes.fromhex(literal))
    assert isinstance(result, Malformed)
    assert result.reason is reason


BINARY_COMMANDS: Final = {"D": 2, "d": 2, "R": 2, "G": 1, "E": 1, "e": 1, "L": 1}


def with_bcc(inside: bytes) -> bytes:
    """Return a report by a few lines of XOR, which share no code with the codec."""
    body = inside + b"\x03"
    return b"\x05" + body + f"{reduce(xor, body):02X}".encode()


@pytest.mark.parametrize(
    ("literal", "documented"),
    [
        ("05 31 44 01 38 03 34 46", "05 31 44 81 B8 03 34 46"),  # the data looks like a control character
        ("05 34 44 03 11 03 36 31", "05 34 44 83 91 03 36 31"),  # like an ETX
        ("05 35 44 12 15 03 37 35", "05 35 44 92 95 03 37 35"),  # like a NAK
        ("05 36 64 00 11 03 34 30", "05 36 64 80 91 03 34 30"),
        ("05 37 52 03 2D 03 34 38", "05 37 52 83 AD 03 34 38"),
        ("05 32 47 11 03 36 37", "05 32 47 91 03 45 37"),
        ("05 34 45 41 03 33 33", "05 34 45 C1 03 42 33"),
        ("05 38 45 06 03 37 38", "05 38 45 86 03 46 38"),  # like an ACK
        ("05 38 45 05 03 37 42", "05 38 45 85 03 46 42"),  # like an ENQ
        ("05 39 65 03 03 35 43", "05 39 65 83 03 44 43"),
        ("05 31 4C 01 03 37 46", "05 31 4C 81 03 46 46"),
    ],
)
def test_a_report_without_bit_7_is_the_same_report(literal: str, documented: str) -> None:
    """It is read whole, byte by byte, cut in two, and between other reports; its form has a name."""
    raw, other = bytes.fromhex(literal), bytes.fromhex(documented)
    message = REPORTS.read(other)
    assert not isinstance(message, Malformed)
    expected = [Frame(raw, 0, AT, message)]
    case = Case(literal, message)
    assert case.hear(raw) == case.hear(*(bytes((byte,)) for byte in raw)) == expected
    assert all(case.hear(raw[:cut], raw[cut:]) == expected for cut in range(len(raw)))
    assert [each.raw for each in case.hear(raw * 3 + other + raw)] == [raw, raw, raw, other, raw]
    assert (form_of(raw), form_of(other)) == (FormName.BIT_7_CLEAR, FormName.DOCUMENTED)


@pytest.mark.parametrize("letter", BINARY_COMMANDS)
def test_each_byte_of_data_has_one_meaning(letter: str) -> None:
    """The message is the same with bit 7 set or clear in all of the data; a report that mixes them is rejected."""
    for byte in range(0x100):
        others = [b""] if BINARY_COMMANDS[letter] == 1 else [bytes((0x15,)), bytes((0x95,)), bytes((0x03,))]
        for other in others:
            data = bytes((byte,)) + other
            raw = with_bcc(b"1" + letter.encode() + data)
            heard = Case(raw.hex(), AngelEyeAcknowledge()).hear(raw)
            clear, filled = max(data) < 0x80, bytes(each | 0x80 for each in data)
            if clear or filled == data:
                result = REPORTS.read(with_bcc(b"1" + letter.encode() + filled))
                assert [each.message if isinstance(each, Frame) else each.reason for each in heard] == [
                    result.reason if isinstance(result, Malformed) else result
                ]
                assert (form_of(raw) is FormName.BIT_7_CLEAR) == clear
            else:
                assert all(isinstance(each, Rejected) for each in heard)


def test_each_byte_after_nak_has_one_meaning() -> None:
    """A declared code is a complete answer; a hex digit waits for the second digit; any other byte is rejected."""
    codes = {0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0xFF}
    for byte in range(0x100):
        raw = bytes((0x15, byte))
        heard = Case(raw.hex(), AngelEyeAcknowledge()).hear(raw)
        frames = [each for each in heard if isinstance(each, Frame)]
        if byte in codes:
            (frame,) = frames
            assert frame == Frame(raw, 0, AT, REPORTS.read(b"\x15" + f"{byte:02X}".encode()))
            assert form_of(raw) is FormName.ONE_BYTE
        else:
            assert frames == []
    assert not any(chr(code) in "0123456789ABCDEF" for code in codes)
    assert form_of(b"\x1501") is FormName.DOCUMENTED


def test_replies_and_orders_are_never_confused() -> None:
    """The BCC covers the text alone, or STX as well; an echoed order with any damaged byte is not a reply."""
    reply = bytes.fromhex("02 30 30 30 35 03 30 36")
    assert (REPORTS.read(reply), form_of(reply)) == (Reply("0005"), FormName.STX)
    assert isinstance(ORDERS.read(reply), Malformed)
    for literal, _ in TO_SHOE:
        order = bytes.fromhex(literal)
        assert isinstance(REPORTS.read(order), Malformed)
        for at in range(1, len(order)):
            for byte in range(0x20, 0x100):
                assert isinstance(REPORTS.read(order[:at] + bytes((byte,)) + order[at + 1 :]), Malformed)


def test_with_equal_spans_no_reply_is_read() -> None:
    """A reply cannot be distinguished from the echo of another host's order."""
    same = reports(AngelEyeSettings(order_bcc_span=Span.BODY))
    assert same.read(bytes.fromhex("02 30 30 30 35 03 30 36")) == Malformed(
        Reason.ECHO, "the line echoed an order of a host: 0005"
    )


def test_an_unknown_code_is_named() -> None:
    """The detail names the part of the report that the page does not know."""
    result = REPORTS.read(bytes.fromhex("05 32 47 B0 03 43 36"))
    assert result == Malformed(Reason.UNDECLARED_CODE, "result: the code of outcome is unknown")


def test_every_card_byte_is_a_card() -> None:
    """52 codes have faces, and the other 76 codes are cards without a face: none is lost."""
    cards = []
    for code in range(0x80):
        body = bytes((0x31, 0x44, 0x81, 0x80 | code))
        bcc = 0x31 ^ 0x44 ^ 0x81 ^ (0x80 | code) ^ 0x03
        result = REPORTS.read(b"\x05" + body + b"\x03" + f"{bcc:02X}".encode())
        assert isinstance(result, CardInGame)
        cards.append(result.card)
    faces = [card for card in cards if isinstance(card, AngelEyeFace)]
    assert set(faces) == {AngelEyeFace(suit, rank) for suit in AngelEyeSuit for rank in range(1, 14)}
    assert len(faces) == 52
    assert all(card == AngelEyeNoFace(code) for code, card in enumerate(cards) if not isinstance(card, AngelEyeFace))


def test_every_target_and_situation_is_a_place() -> None:
    """A value that the page does not name keeps its number, and its card keeps its face: none is lost."""
    player, banker, burn, first, count = Target
    targets: list[Target | UnknownTarget]
    targets = [player, banker, burn, UnknownTarget(3), first, count, UnknownTarget(6), UnknownTarget(7)]
    for code, target in enumerate(targets):
        result = REPORTS.read(angel_eye_line.report("1", "D", 0x01 | code << 4, 0x38))
        assert result == CardInGame("1", target, 1, AngelEyeFace(AngelEyeSuit.SPADES, 8))
    for code, situation in enumerate((*AngelEyeSituation, *map(UnknownSituation, range(3, 8)))):
        result = REPORTS.read(angel_eye_line.report("1", "d", 0x01 | code << 4, 0x38))
        assert result == CardOutside("1", situation, AngelEyeFace(AngelEyeSuit.SPADES, 8))


def test_a_fault_without_a_name_is_a_fault() -> None:
    """An error code that the page does not name keeps its number."""
    assert REPORTS.read(bytes.fromhex("05 34 45 FF 03 38 44")) == ErrorRaised("4", in_error_mode=True, code=63)
    assert FAULTS.get(63) is None
    assert [FAULTS[code] for code in range(1, 8)] == list(AngelEyeFault)


def test_bits_without_a_meaning_are_ignored() -> None:
    """A result, a card outside the game and the key keep their meaning with any unnamed bits."""
    assert REPORTS.read(bytes.fromhex("05 32 47 9D 03 45 42")) == AngelEyeResult(
        "2", AngelEyeOutcome.PLAYER, player_pair=True, banker_pair=False
    )
    assert REPORTS.read(bytes.fromhex("05 36 64 9F 91 03 35 46")) == CardOutside(
        "6", AngelEyeSituation.ERROR, AngelEyeFace(AngelEyeSuit.DIAMONDS, 1)
    )
    assert REPORTS.read(bytes.fromhex("05 31 4C FF 03 38 31")) == KeyLock("1", locked=True)


def test_any_printable_sequence_is_accepted() -> None:
    """Some emulators number their reports differently."""
    for character in map(chr, range(0x20, 0x7F)):
        assert REPORTS.read(build(StandBy(character), SETTINGS)) == StandBy(character)


def test_the_sequence_repeats_after_nine() -> None:
    """1 follows 9, and no other character has a known successor."""
    assert [FOLLOWING[character] for character in "123456789"] == list("234567891")
    assert FOLLOWING.get("0") is None


def test_the_span_of_the_bcc_is_a_setting() -> None:
    """The BCC of each direction may cover its start byte or not."""
    other = AngelEyeSettings(bcc_span=Span.WHOLE, order_bcc_span=Span.BODY)
    card = CardInGame("1", Target.PLAYER, 1, AngelEyeFace(AngelEyeSuit.SPADES, 8))
    assert build(card, other) == bytes.fromhex("05 31 44 81 B8 03 34 41")
    assert reports(other).read(bytes.fromhex("05 31 44 81 B8 03 34 41")) == card
    assert build(LOCK, other) == bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 39")
    assert orders(other).read(bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 39")) == LOCK


@pytest.mark.parametrize(
    "message",
    [
        CardInGame("1", Target.PLAYER, 16, AngelEyeFace(AngelEyeSuit.SPADES, 8)),
        CardInGame("1", UnknownTarget(0), 1, AngelEyeFace(AngelEyeSuit.SPADES, 8)),
        CardInGame("1", UnknownTarget(8), 1, AngelEyeFace(AngelEyeSuit.SPADES, 8)),
        CardOutside("1", UnknownSituation(2), AngelEyeFace(AngelEyeSuit.SPADES, 8)),
        CardInGame("1", Target.PLAYER, 1, AngelEyeNoFace(0x38)),
        CardInGame("1", Target.PLAYER, 1, AngelEyeNoFace(0x80)),
        CardInGame("1", Target.PLAYER, 1, AngelEyeFace(AngelEyeSuit.SPADES, 14)),
        ErrorRaised("1", in_error_mode=True, code=64),
        ErrorCleared("1", code=-1),
        StandBy(""),
        StandBy("12"),
        StandBy("\x05"),
        StandBy("é"),
        AngelEyePresetChanged("1", "1", "0005"),
        AngelEyePresetChanged("1", "01", "5 €"),
        Reply(""),
        Reply("OPLK02"),
        AngelEyeOrder(OrderType.LOCK, 3),
        AngelEyeOrder(OrderType.ERROR_CLEAR, 3),
    ],
    ids=str,
)
def test_a_message_that_does_not_fit_is_not_built(message: AngelEyeMessage) -> None:
    """The builder refuses a message that would be read differently."""
    with pytest.raises(ValueError, match="does not fit its frame"):
        build(message, SETTINGS)


sequences = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
indices = st.integers(0, 15)
ascii_text = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
cards = st.builds(AngelEyeFace, st.sampled_from(AngelEyeSuit), st.integers(1, 13)) | st.builds(
    AngelEyeNoFace, st.sampled_from(range(0x80))
).filter(lambda card: not (1 <= card.code >> 4 <= 4 and 1 <= card.code & 0xF <= 13))
targets = st.sampled_from((*Target, *map(UnknownTarget, (3, 6, 7))))
situations = st.sampled_from((*AngelEyeSituation, *map(UnknownSituation, range(3, 8))))
messages_of_a_shoe: st.SearchStrategy[FromShoe] = st.one_of(
    st.builds(StartOfCommunication, sequences),
    st.builds(StandBy, sequences),
    st.builds(AngelEyeCutCard, sequences),
    st.builds(CardInGame, sequences, targets, indices, cards),
    st.builds(CardOutside, sequences, situations, cards),
    st.builds(OverdrawCard, sequences, targets, indices, cards),
    st.builds(AngelEyeResult, sequences, st.sampled_from(AngelEyeOutcome), st.booleans(), st.booleans()),
    st.builds(ErrorRaised, sequences, st.booleans(), st.integers(0, 63)),
    st.builds(ErrorCleared, sequences, st.integers(0, 127)),
    st.builds(KeyLock, sequences, st.booleans()),
    st.builds(
        AngelEyePresetChanged,
        sequences,
        st.text(ascii_text, min_size=2, max_size=2),
        st.text(ascii_text, min_size=4, max_size=4),
    ),
    st.builds(AngelEyeAcknowledge),
    st.builds(Refuse, st.sampled_from(AngelEyeRefusal)),
)
replies = st.builds(Reply, st.text(ascii_text, min_size=1, max_size=16)).filter(
    lambda reply: not (reply.text.startswith("OP") or re.fullmatch(r"..(LK|EC|GP)\d\d", reply.text))
)
orders_of_a_host = st.one_of(
    st.sampled_from((LOCK, UNLOCK, CONFIRM_PROCESS)),
    st.builds(AngelEyeOrder, st.just(OrderType.ERROR_CLEAR), st.integers(0, 2)),
)
any_settings = st.builds(AngelEyeSettings, bcc_span=st.sampled_from(Span), order_bcc_span=st.sampled_from(Span))


@given(messages_of_a_shoe, any_settings)
def test_a_built_message_of_a_shoe_is_read_back(message: FromShoe, settings: AngelEyeSettings) -> None:
    """Building and reading are inverse, with any span."""
    assert reports(settings).read(build(message, settings)) == message


@given(replies)
def test_a_reply_is_read_back(reply: Reply) -> None:
    """The text is any text that cannot be an order."""
    assert REPORTS.read(build(reply, SETTINGS)) == reply


@given(orders_of_a_host, any_settings)
def test_a_built_order_is_read_back(order: AngelEyeOrder, settings: AngelEyeSettings) -> None:
    """Building and reading an order are inverse."""
    assert orders(settings).read(build(order, settings)) == order


inside_a_frame = st.sampled_from(range(0x20, 0x100))
# Known letters with data of about the right length, and any other bytes.
odd_bodies = st.binary(max_size=8) | st.builds(
    lambda sequence, letter, data: bytes((sequence, letter, *data)),
    inside_a_frame,
    st.sampled_from(b"SPCDdRGEeLM"),
    st.lists(inside_a_frame, max_size=6),
)


@given(odd_bodies)
def test_every_body_can_be_read(body: bytes) -> None:
    """A frame with a correct check is malformed, or a message that can be built."""
    raw = b"\x05" + body + b"\x03" + f"{reduce(xor, body, 0x03):02X}".encode()
    result = REPORTS.read(raw)
    if not isinstance(result, Malformed):
        assert REPORTS.read(build(result, SETTINGS)) == result


def test_the_family_is_declared() -> None:
    """The family has its name, its line and its possible adapters."""
    family = FAMILIES["angel-eye"]
    assert family is angel_eye.FAMILY
    assert family.line == Line(4800)
    assert str(family.line) == "4800 8N1"
    assert Line(4800).seconds_per_byte == pytest.approx(1 / 480)
    assert {usb.mark for usb in family.usb_ids} == {Mark.ASSUMED}
    assert family.reports(SETTINGS).read(b"\x06") == AngelEyeAcknowledge()
    assert family.orders(SETTINGS).read(bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")) == LOCK


def test_a_parity_bit_takes_time() -> None:
    """The time of a byte counts start, parity and stop bits."""
    line = Line(9600, parity=Parity.EVEN)
    assert str(line) == "9600 8E1"
    assert line.seconds_per_byte == pytest.approx(11 / 9600)


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md contains each table of the data once, without a difference."""
    text = Path(angel_eye.__file__).with_name("PROTOCOL.md").read_text()
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert dict(blocks) == angel_eye_page.tables()
