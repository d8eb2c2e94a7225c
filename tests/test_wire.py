"""The deframer: the results of bytes, however they arrive."""

from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols import angel_eye
from firmware_protocols.angel_eye import (
    AngelEyeAcknowledge,
    AngelEyeCutCard,
    AngelEyeFace,
    AngelEyeRefusal,
    AngelEyeSettings,
    AngelEyeSuit,
    CardInGame,
    FromShoe,
    Refuse,
    Target,
)
from firmware_protocols.family import Codec, FrameKind, Framing, Malformed
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.wire import Frame, LineState, Reason, Rejected

MS: Final = 1_000_000
AT: Final = Now(1_700_000_000_000_000, 5_000 * MS)
SHOE: Final = angel_eye.reports(AngelEyeSettings())
CARD: Final = bytes.fromhex("05 31 44 81 B8 03 34 46")
CUT: Final = bytes.fromhex("05 33 43 03 37 33")
CARD_SAYS: Final = CardInGame("1", Target.PLAYER, 1, AngelEyeFace(AngelEyeSuit.SPADES, 8))
CUT_SAYS: Final = AngelEyeCutCard("3")
LONGEST: Final = 20

Heard = Frame[FromShoe] | Rejected


def later(ms: float) -> Now:
    return Now(AT.utc_us + int(ms * 1000), AT.mono_ns + int(ms * MS))


def hear(*pieces: bytes, state: LineState | None = None) -> tuple[LineState, list[Heard]]:
    """Return all results of these pieces, at one moment."""
    state = state or LineState()
    heard: list[Heard] = []
    for piece in pieces:
        state, found = wire.receive(SHOE, state, Chunk(piece, AT))
        heard += found
    return state, heard


def summary(heard: list[Heard]) -> list[tuple[bytes, object]]:
    """Return the bytes of each result, with its message or its reason."""
    return [(each.raw, each.message if isinstance(each, Frame) else each.reason) for each in heard]


def bytewise(data: bytes) -> list[bytes]:
    return [bytes((byte,)) for byte in data]


def test_three_copies_are_three_frames() -> None:
    """The wire does not interpret copies: each is a frame with its own offset."""
    state, heard = hear(CARD * 3)
    assert heard == [Frame(CARD, offset, AT, CARD_SAYS) for offset in (0, 8, 16)]
    assert state == LineState(b"", 24, AT.mono_ns)


def test_a_frame_has_the_time_of_its_last_byte() -> None:
    """A frame in several pieces has the time of its last byte."""
    state, heard = wire.receive(SHOE, LineState(), Chunk(CARD[:3], AT))
    assert heard == ()
    _, heard = wire.receive(SHOE, state, Chunk(CARD[3:], later(8)))
    assert heard == (Frame(CARD, 0, later(8), CARD_SAYS),)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"A" * 5 + CUT, [(b"A" * 5, Reason.JUNK), (CUT, CUT_SAYS)], id="junk"),
        pytest.param(CARD[:5] + CUT, [(CARD[:5], Reason.TORN), (CUT, CUT_SAYS)], id="torn by the next start"),
        pytest.param(CARD[:7] + CUT, [(CARD[:7], Reason.TORN), (CUT, CUT_SAYS)], id="torn in the BCC"),
        pytest.param(b"\x051D\x00" + CUT, [(b"\x051D\x00", Reason.TORN), (CUT, CUT_SAYS)], id="torn by a control byte"),
        pytest.param(
            b"\x051D\x03\xb8\x034F" + CUT,
            [(b"\x051D\x03\xb8\x03", Reason.TORN), (b"4F", Reason.JUNK), (CUT, CUT_SAYS)],
            id="torn by a second end",
        ),
        pytest.param(
            b"\x05" + b"1" * 18 + CUT,
            [(b"\x05" + b"1" * 16, Reason.OVER_LONG), (b"11", Reason.JUNK), (CUT, CUT_SAYS)],
            id="over-long",
        ),
        pytest.param(
            b"\x05" + b"1" * 16 + b"\x0303" + CUT,
            [(b"\x05" + b"1" * 16 + b"\x0303", Reason.UNKNOWN_COMMAND), (CUT, CUT_SAYS)],
            id="as long as may be",
        ),
        pytest.param(b"\x053C\x0337" + CUT, [(b"\x053C\x0337", Reason.BAD_CHECK), (CUT, CUT_SAYS)], id="a bad check"),
        pytest.param(b"\x06\x06", [(b"\x06", AngelEyeAcknowledge())] * 2, id="two answers"),
        pytest.param(
            b"\x1521\x06", [(b"\x1521", Refuse(AngelEyeRefusal.BUSY)), (b"\x06", AngelEyeAcknowledge())], id="a refusal"
        ),
        pytest.param(b"\x152" + CUT, [(b"\x152", Reason.TORN), (CUT, CUT_SAYS)], id="a refusal torn"),
        pytest.param(
            CUT + b"\x06" + CUT, [(CUT, CUT_SAYS), (b"\x06", AngelEyeAcknowledge()), (CUT, CUT_SAYS)], id="between"
        ),
    ],
)
def test_the_line_recovers(data: bytes, expected: list[tuple[bytes, object]]) -> None:
    """Bytes that are not a frame are rejected with a reason. The next frame is read, whole or byte by byte."""
    state, heard = hear(data)
    assert summary(heard) == expected
    assert state.pending == b""
    assert hear(*bytewise(data)) == (state, heard)


def test_an_answer_is_not_accepted_where_a_frame_is_torn() -> None:
    """One flipped bit turns the last digit of this card's BCC into ACK: it belongs to the torn frame."""
    _, heard = hear(CARD[:-1] + b"\x06" + CARD)
    assert summary(heard) == [(CARD[:-1] + b"\x06", Reason.TORN), (CARD, CARD_SAYS)]


def test_an_answer_is_accepted_after_a_torn_frame_was_given_up() -> None:
    """Silence ends a torn frame; an ACK after it is an answer."""
    state, _ = hear(CARD[:4])
    _, heard = wire.receive(SHOE, state, Chunk(b"\x06", later(600)))
    assert summary(list(heard)) == [(CARD[:4], Reason.TORN), (b"\x06", AngelEyeAcknowledge())]


def test_a_rejection_names_the_error() -> None:
    """The detail names the torn kind of frame, and the byte that tore it."""
    _, (torn, long, _) = hear(CARD[:4] + b"\x05" + b"1" * 17 + CUT[:1])
    assert isinstance(torn, Rejected)
    assert isinstance(long, Rejected)
    assert torn.detail == "incomplete report: the next byte is 05"
    assert long.detail == "report with more than 16 bytes before its end"


def test_junk_waits_for_its_end() -> None:
    """A run of junk is one rejection, in any number of pieces."""
    state, heard = hear(b"abc", b"de", b"f")
    assert (heard, state.pending, state.offset) == ([], b"abcdef", 0)
    _, heard = hear(CUT, state=state)
    assert [(each.raw, each.offset) for each in heard] == [(b"abcdef", 0), (CUT, 6)]


def test_endless_junk_occupies_bounded_memory() -> None:
    """Junk is rejected in pieces of the longest frame's size, so few bytes are pending."""
    data = b"x" * (5 * LONGEST + 3)
    state, heard = hear(data)
    assert [(len(each.raw), each.offset) for each in heard] == [(LONGEST, LONGEST * n) for n in range(5)]
    assert state.pending == b"xxx"
    assert hear(*bytewise(data)) == (state, heard)


def test_a_clean_line_has_no_deadline() -> None:
    """A line without pending bytes needs no waking."""
    state, _ = hear(CARD)
    assert wire.wake_at(SHOE, state) is None
    assert wire.expire(SHOE, state, later(1_000_000)) == (state, ())


@pytest.mark.parametrize(
    ("pending", "reason"), [(CARD[:4], Reason.TORN), (b"\x15", Reason.TORN), (b"junk", Reason.JUNK)]
)
def test_silence_gives_up_pending_bytes(pending: bytes, reason: Reason) -> None:
    """Half a second after its last byte, and not earlier, an incomplete frame is torn and junk is rejected."""
    state, _ = hear(pending)
    due = wire.wake_at(SHOE, state)
    assert due == AT.mono_ns + 500 * MS
    assert wire.expire(SHOE, state, later(499.9)) == (state, ())
    state, (rejected,) = wire.expire(SHOE, state, later(500))
    assert (rejected.raw, rejected.offset, rejected.at, rejected.reason) == (pending, 0, later(500), reason)
    assert rejected.detail.endswith("no byte followed for 500 ms")
    assert (state.pending, state.offset) == (b"", len(pending))


def test_each_byte_extends_the_deadline() -> None:
    """The silence counts, not the age of the frame."""
    state, heard = LineState(), list[Heard]()
    for nth, byte in enumerate(bytewise(CARD)):
        state, found = wire.receive(SHOE, state, Chunk(byte, later(nth * 400)))
        heard += found
    assert heard == [Frame(CARD, 0, later(7 * 400), CARD_SAYS)]


def test_a_late_waking_changes_nothing() -> None:
    """Bytes after the silence give the same results, with and without a waking in time."""
    torn, _ = hear(CARD[:4])
    woken, given_up = wire.expire(SHOE, torn, later(500))
    in_time = wire.receive(SHOE, woken, Chunk(CARD[4:] + CUT, later(700)))
    late = wire.receive(SHOE, torn, Chunk(CARD[4:] + CUT, later(700)))
    assert late[0] == in_time[0]
    assert summary(list(late[1])) == summary([*given_up, *in_time[1]])
    assert summary(list(late[1])) == [(CARD[:4], Reason.TORN), (CARD[4:], Reason.JUNK), (CUT, CUT_SAYS)]


@pytest.mark.parametrize(("pending", "reason"), [(CARD[:4], Reason.TORN), (b"junk", Reason.JUNK)])
def test_the_end_of_a_link_rejects_pending_bytes(pending: bytes, reason: Reason) -> None:
    """An incomplete frame is rejected when the link closes."""
    state, _ = hear(CUT + pending)
    state, (rejected,) = wire.end(SHOE, state, later(1))
    assert (rejected.raw, rejected.offset, rejected.at, rejected.reason) == (pending, 6, later(1), reason)
    assert rejected.detail.endswith("the link closed")
    assert wire.end(SHOE, state, later(2)) == (state, ())


def read_line(raw: bytes) -> str | Malformed:
    return raw[:-2].decode() if raw.endswith(b"\r\n") else Malformed(Reason.MALFORMED, "no CR before LF")


def test_framing_data_alone_define_lines_of_text() -> None:
    """A family of text lines needs no other deframer: a line begins with a bracket, ends with CR LF, has no check."""
    kinds = (
        FrameKind("line", start=ord("["), end=ord("\n"), body_max=30),
        FrameKind("warning", start=ord("<"), end=ord("\n"), body_max=30),
    )
    never_inside = bytes(set(range(0x20)) - set(b"\r"))
    lines: Codec[str] = Codec(Framing(kinds, never_inside), 500, read_line)
    data = b"\r\n[Game]<Card:4S>\r\n<W0x01>\r\n[Game]\n"
    state, heard = wire.receive(lines, LineState(), Chunk(data, AT))
    assert [each.message if isinstance(each, Frame) else each.reason for each in heard] == [
        Reason.JUNK,
        "[Game]<Card:4S>",
        "<W0x01>",
        Reason.MALFORMED,
    ]
    assert state.pending == b""


# The bytes of a bad line: frames, parts of frames, bytes that begin or end a frame, and any other bytes.
pieces = st.one_of(
    st.sampled_from((CARD, CUT, CARD[:4], CARD[3:], b"\x06", b"\x1502", b"\x15", b"\x02OPLK02\x031B")),
    st.sampled_from(bytewise(b"\x02\x03\x05\x06\x151F")),
    st.binary(max_size=30),
)
streams = st.lists(pieces, max_size=12).map(b"".join)
cuts = st.lists(st.integers(0, 400), max_size=12)


def cut_up(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(place for place in at if place < len(data))})
    return [data[begin:end] for begin, end in pairwise(places)]


@given(streams, cuts)
def test_chunks_make_no_difference(data: bytes, at: list[int]) -> None:
    """The same bytes give the same results: whole, byte by byte or cut anywhere."""
    whole = hear(data)
    if data:
        assert hear(*cut_up(data, at)) == whole
        assert hear(*bytewise(data)) == whole


@given(st.lists(st.tuples(st.binary(max_size=40) | streams, st.integers(0, 700)), max_size=8))
def test_every_byte_has_exactly_one_place(arrivals: list[tuple[bytes, int]]) -> None:
    """At any time, frames, rejections and pending bytes are the input, in order, at their offsets."""
    state, heard, elapsed_ms = LineState(), list[Heard](), 0
    for data, gap_ms in arrivals:
        elapsed_ms += gap_ms
        state, found = wire.receive(SHOE, state, Chunk(data, later(elapsed_ms)))
        heard += found
        assert len(state.pending) < LONGEST
    incoming = b"".join(data for data, _ in arrivals)
    assert b"".join(each.raw for each in heard) + state.pending == incoming
    assert state.offset == len(incoming) - len(state.pending)
    for each in heard:
        assert each.raw
        assert incoming[each.offset : each.offset + len(each.raw)] == each.raw


@given(streams)
def test_a_report_is_read_after_any_bytes(noise: bytes) -> None:
    """No noise before it hides a report with correct bytes."""
    state, heard = hear(noise + CARD)
    assert heard[-1] == Frame(CARD, len(noise), AT, CARD_SAYS)
    assert state.pending == b""
