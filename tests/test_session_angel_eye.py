"""The host's session of an Angel Eye shoe: the meaning of each report, copies, and missed reports."""

import pytest

from shoed.model.cards import Card
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Evidence,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    LockChanged,
    OrderAnswered,
    Outcome,
    Pair,
    Place,
    PresetChanged,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    StoodBy,
    WentQuiet,
)
from shoed.model.step import AnyInput, LinkDown, LinkUp
from tests.angel_eye_line import (
    ACK,
    CARD,
    CONFIGURED,
    CUT,
    PORT,
    RANK_BITS,
    RESULT,
    START_1,
    SUIT_BITS,
    Host,
    at,
    card_report,
    connected,
    kinds,
    report,
)

EIGHT = CardSeen(
    at=at(0), frame=Evidence("05 31 44 81 b8 03 34 46", 0, "1"), place=Place.PLAYER, position=1, card=Card.S8
)


# --- the meaning of each report


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ("05 31 53 03 36 31", CommunicationStarted),
        ("05 32 50 03 36 31", StoodBy),
        ("05 33 43 03 37 33", CutCardSeen),
        ("05 31 44 81 B8 03 34 46", (Place.PLAYER, 1, "8S", "")),
        ("05 35 44 92 CA 03 32 41", (Place.BANKER, 2, "10H", "")),
        ("05 34 44 83 91 03 36 31", (Place.PLAYER, 3, "AD", "")),
        ("05 39 44 A1 AC 03 37 33", (Place.BURN, 1, "QC", "")),
        ("05 38 44 C0 9B 03 32 34", (Place.FIRST_CARD, 0, "JD", "")),
        ("05 37 44 DF C2 03 36 44", (Place.BURN, 15, "2H", "")),
        ("05 31 44 81 80 03 37 37", (Place.PLAYER, 1, None, "00")),
        ("05 36 64 80 91 03 34 30", (Place.LOCKED, 0, "AD", "")),
        ("05 36 64 90 91 03 35 30", (Place.ERROR, 0, "AD", "")),
        ("05 36 64 A0 91 03 36 30", (Place.SET_UP, 0, "AD", "")),
        ("05 37 52 83 AD 03 34 38", (Place.OVERDRAW, 3, "KC", "")),
        ("05 32 47 91 03 45 37", (Outcome.PLAYER, (Pair.PLAYER,))),
        ("05 32 47 A3 03 44 35", (Outcome.TIE, (Pair.PLAYER, Pair.BANKER))),
        ("05 32 47 C2 03 42 34", (Outcome.BANKER, (Pair.BANKER,))),
        ("05 32 47 F0 03 38 36", (Outcome.FORCED_END, ())),
        ("05 34 45 C1 03 42 33", (FaultRaised, 1, "cannot-read", True)),
        ("05 38 45 86 03 46 38", (FaultRaised, 6, "card-code", False)),
        ("05 39 65 81 03 44 45", (FaultCleared, 1, "cannot-read")),
        ("05 31 4C 81 03 46 46", (LockChanged, True)),
        ("05 31 4C 80 03 46 45", (LockChanged, False)),
        ("05 32 4D 30 31 30 30 30 35 03 37 38", (PresetChanged, "01", "0005")),
    ],
)
def test_every_report_is_one_observation(frame: str, expected: object) -> None:
    """The observation uses words of no device family, and its evidence is the frame: bytes, offset, sequence."""
    data = bytes.fromhex(frame)
    (seen,) = connected().hear(data, 5)
    assert summary(seen) == expected
    assert seen.at == at(5)
    assert getattr(seen, "frame", None) == Evidence(frame.lower(), 0, chr(data[1]))


def test_the_form_of_a_report_is_on_record() -> None:
    """The card is the same without bit 7, and the evidence names the form; its copies count as copies."""
    host = connected()
    card, copy = host.hear(bytes.fromhex("05 31 44 01 38 03 34 46") * 2)
    assert summary(card) == (Place.PLAYER, 1, "8S", "")
    assert isinstance(card, CardSeen)
    assert isinstance(copy, CopyHeard)
    assert card.frame == Evidence("05 31 44 01 38 03 34 46", 0, "1", "bit 7 clear")


def summary(seen: AnyObservation) -> object:
    match seen:
        case CardSeen():
            return seen.place, seen.position, None if seen.card is None else str(seen.card), seen.code
        case ResultSeen():
            return seen.outcome, seen.pairs
        case FaultRaised():
            return FaultRaised, seen.code, seen.name, seen.blocking
        case FaultCleared():
            return FaultCleared, seen.code, seen.name
        case LockChanged():
            return LockChanged, seen.locked
        case PresetChanged():
            return PresetChanged, seen.address, seen.value
        case _:
            return type(seen)


@pytest.mark.parametrize(
    ("command", "first", "expected"),
    [
        ("D", 0x31, (Place.UNKNOWN, 0, "target 3")),
        ("D", 0x6F, (Place.UNKNOWN, 0, "target 6")),
        ("D", 0x70, (Place.UNKNOWN, 0, "target 7")),
        *(("d", code << 4, (Place.UNKNOWN, 0, f"situation {code}")) for code in range(3, 8)),
        ("R", 0x63, (Place.OVERDRAW, 3, "target 6")),
        ("R", 0x13, (Place.OVERDRAW, 3, "")),
        ("D", 0x07, (Place.PLAYER, 7, "")),
        ("D", 0x10, (Place.BANKER, 0, "")),
    ],
)
@pytest.mark.parametrize(("code", "face"), [(0x38, Card.S8), (0x00, None)])
def test_a_card_with_an_unknown_place_is_kept(
    command: str, first: int, expected: tuple[Place, int, str], code: int, face: Card | None
) -> None:
    """The card is observed with the value that the page does not name, and the next number is not a jump."""
    host = connected()
    (seen,) = host.hear(report("1", command, first, code), 5)
    assert isinstance(seen, CardSeen)
    assert (seen.place, seen.position, seen.unknown) == expected
    assert (seen.card, seen.code) == (face, "" if face else "00")
    assert kinds(host.hear(report("1", command, first, code), 22)) == [CopyHeard]
    assert kinds(host.hear(report("2", "D", 0x11, 0x43), 500)) == [CardSeen]


def test_every_card_byte_is_its_card() -> None:
    """Bits 6-4 are the suit, bits 3-0 the rank: 52 bytes give 52 faces."""
    host = connected()
    for suit, high in SUIT_BITS.items():
        for rank, low in RANK_BITS.items():
            (*_, seen) = host.hear(report("1", "D", 0x01, high | low), host.ms + 10_000)
            assert summary(seen) == (Place.PLAYER, 1, f"{rank}{suit}", "")


@pytest.mark.parametrize("code", [0x00, 0x01, 0x0D, 0x10, 0x1E, 0x1F, 0x4F, 0x51, 0x68, 0x7F])
def test_a_code_that_names_no_card_is_a_card_without_a_face(code: int) -> None:
    """The suit is missing or unknown, or the rank is above the king: the card was drawn, and its code is kept."""
    (seen,) = connected().hear(report("1", "D", 0x01, code), 5)
    assert summary(seen) == (Place.PLAYER, 1, None, f"{code:02x}")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (1, "cannot-read"),
        (2, "overdraw"),
        (3, "button"),
        (4, "reverse-at-exit"),
        (5, "reverse-midway"),
        (6, "card-code"),
        (7, "draw-timed-out"),
        (0, "unnamed"),
        (63, "unnamed"),
    ],
)
def test_faults_have_the_names_of_the_protocol_page(code: int, name: str) -> None:
    """A code that the page does not name is also a fault, and keeps its number."""
    host = connected()
    assert summary(host.hear(report("1", "E", 0x40 | code), 5)[0]) == (FaultRaised, code, name, True)
    assert summary(host.hear(report("2", "e", code), 6)[0]) == (FaultCleared, code, name)


# --- copies


def test_the_first_good_copy_is_accepted_and_the_others_are_counted() -> None:
    """Three transmissions are one card, with the time and the offset of the first."""
    host = Host()
    host.up()
    seen = host.hear(CARD, 0) + host.hear(CARD, 17) + host.hear(CARD, 34)
    assert seen == [
        EIGHT,
        CopyHeard(at=at(17), frame=Evidence("05 31 44 81 b8 03 34 46", 8, "1")),
        CopyHeard(at=at(34), frame=Evidence("05 31 44 81 b8 03 34 46", 16, "1")),
    ]


def test_after_a_damaged_first_copy_the_second_is_accepted() -> None:
    """One flipped bit costs a copy, not the card."""
    seen = connected().hear(CARD[:4] + b"\xb9" + CARD[5:] + CARD + CARD, 40)
    assert kinds(seen) == [FrameRejected, CardSeen, CopyHeard]


def test_at_most_two_more_are_copies() -> None:
    """The shoe sends three: a fourth in the window is a separate report, and shows that other reports were missed."""
    seen = connected().hear(CARD * 4, 50)
    assert kinds(seen) == [CardSeen, CopyHeard, CopyHeard, SequenceJumped, CardSeen]
    assert kinds(connected().hear(CARD * 6, 50))[4:] == [CardSeen, CopyHeard, CopyHeard]


@pytest.mark.parametrize(("copies", "taken"), [(1, 3), (2, 2), (3, 1), (9, 1)])
def test_the_number_of_copies_is_a_setting(copies: int, taken: int) -> None:
    """It is 1 if a device on the way removes the copies."""
    host = Host(copies=copies)
    host.up()
    assert kinds(host.hear(CARD * 3, 50)).count(CardSeen) == taken


@pytest.mark.parametrize(("after_ms", "again"), [(1999, CopyHeard), (2000, CopyHeard), (2001, CardSeen)])
def test_a_copy_arrives_within_the_window(after_ms: int, again: type[AnyObservation]) -> None:
    """Sequences repeat, so equal reports recur in normal play: after the window the report is another card."""
    host = connected()
    host.hear(CARD, 100)
    assert kinds(host.hear(CARD, 100 + after_ms))[-1] is again


def test_the_window_begins_with_the_first_copy() -> None:
    """A copy does not extend it."""
    host = connected()
    assert kinds(host.hear(CARD, 0) + host.hear(CARD, 1500)) == [CardSeen, CopyHeard]
    assert kinds(host.hear(CARD, 2500)) == [SequenceJumped, CardSeen]


def test_equal_reports_recur_after_nine() -> None:
    """The tenth report has the bytes of the first. It is a separate card although all ten arrive within the window."""
    host = connected()
    seen = [each for n in "1234567891" for each in host.hear(card_report(n, "P1", "8S"), host.ms + 200)]
    assert kinds(seen) == [CardSeen] * 10


def test_the_same_sequence_with_different_bytes_is_accepted_with_a_warning() -> None:
    """The warning names both reports, and the later one is accepted."""
    host = connected(CARD)
    other = card_report("1", "P1", "9S")
    seen = host.hear(other)
    assert kinds(seen) == [SequenceClashed, CardSeen]
    assert isinstance(seen[0], SequenceClashed)
    assert (seen[0].previous, seen[0].frame.raw) == (CARD.hex(" "), other.hex(" "))
    assert summary(seen[1]) == (Place.PLAYER, 1, "9S", "")
    assert kinds(host.hear(other)) == [CopyHeard]


@pytest.mark.parametrize("away", [[LinkDown("lost"), LinkUp(PORT)], [CONFIGURED, LinkUp(PORT)]])
def test_a_copy_after_a_short_absence_is_still_a_copy(away: list[AnyInput]) -> None:
    """The line or the daemon returns within the window, between the three copies: no card is counted twice."""
    host = connected(CARD)
    for incoming in away:
        host.take(incoming, host.ms + 100)
    assert kinds(host.hear(CARD)) == [CopyHeard]
    assert [each.proven for each in host.hear(RESULT) if isinstance(each, Resumed)] == [True]


def test_buffered_copies_are_copies_however_late_they_arrive() -> None:
    """A device server kept the other two copies during the absence: they remain copies of one card."""
    host = connected(CARD)
    host.down()
    host.up(host.ms + 600_000)
    assert kinds(host.hear(CARD * 2 + RESULT)) == [CopyHeard, CopyHeard, Resumed, ResultSeen]


@pytest.mark.parametrize("away", [[LinkDown("lost"), LinkUp(PORT)], [CONFIGURED, LinkUp(PORT)]])
@pytest.mark.parametrize("away_ms", [100, 60_000])
def test_after_all_copies_an_equal_report_is_a_new_report(away: list[AnyInput], away_ms: int) -> None:
    """All three copies were received: the next report cannot be a fourth, and it does not prove what was missed."""
    host = connected(CARD * 3)
    for incoming in away:
        host.take(incoming, host.ms + away_ms)
    seen = host.hear(CARD)
    assert kinds(seen) == [Resumed, CardSeen]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [False]


def test_the_clock_of_another_boot_makes_no_copy() -> None:
    """A monotonic clock before that of the last report is the clock of another boot, and measures no window."""
    host = connected(CARD)
    host.take(CONFIGURED, 0)
    host.up(0)
    assert host.state.last is not None
    assert host.state.last.at.mono_ns > at(0).mono_ns
    assert kinds(host.hear(CARD, 1)) == [Resumed, CardSeen]


# --- missed reports


def test_the_first_report_of_a_session_has_no_predecessor() -> None:
    """The session may begin in the middle of a shoe: there is no earlier report to compare with."""
    assert kinds(connected().hear(card_report("7", "B2", "8S"))) == [CardSeen]


@pytest.mark.parametrize(("last", "following"), list(zip("123456789", "234567891", strict=True)))
def test_the_expected_number_proves_that_nothing_was_missed(last: str, following: str) -> None:
    """1 follows 9. On an open line no observation is needed; after an absence the session observes it."""
    host = connected(card_report(last, "P1", "8S"))
    assert kinds(host.hear(report(following, "P"))) == [StoodBy]
    host = connected(card_report(last, "P1", "8S"))
    host.down()
    host.up()
    assert [(type(each), getattr(each, "proven", None)) for each in host.hear(report(following, "P"))] == [
        (Resumed, True),
        (StoodBy, None),
    ]


@pytest.mark.parametrize(
    ("last", "then", "expected", "lost"),
    [("1", "3", "2", 1), ("9", "2", "1", 1), ("5", "4", "6", 7), ("9", "A", "1", 0), ("8", "0", "9", 0)],
)
def test_a_jump_on_an_open_line_shows_that_reports_are_lost(last: str, then: str, expected: str, lost: int) -> None:
    """The observation has the expected number and the least number of lost reports; the report is accepted."""
    host = connected(card_report(last, "P1", "8S"))
    seen = host.hear(report(then, "P"))
    assert kinds(seen) == [SequenceJumped, StoodBy]
    assert isinstance(seen[0], SequenceJumped)
    assert (seen[0].expected, seen[0].missed_at_least, seen[0].frame.sequence) == (expected, lost, then)


@pytest.mark.parametrize("then", ["1", "3", "9", "A"])
@pytest.mark.parametrize("away", [[LinkDown("lost"), LinkUp(PORT)], [CONFIGURED, LinkUp(PORT)]])
def test_after_an_absence_any_other_number_proves_nothing(away: list[AnyInput], then: str) -> None:
    """The line or the daemon was away, and the number of missed reports is unknown. It is observed once."""
    host = connected(CARD)
    for incoming in away:
        host.take(incoming, host.ms + 60_000)
    seen = host.hear(report(then, "P"))
    assert kinds(seen) == [Resumed, StoodBy]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [False]
    assert Resumed not in kinds(host.hear(report("5", "P")))


def test_a_number_without_a_known_successor_proves_nothing() -> None:
    """Other characters are accepted: they make no jump and no proof."""
    host = connected(report("A", "P"))
    assert kinds(host.hear(report("B", "P"))) == [StoodBy]
    host.down()
    host.up()
    assert [each.proven for each in host.hear(report("C", "P")) if isinstance(each, Resumed)] == [False]


def test_a_start_of_communication_may_restart_the_numbers() -> None:
    """The shoe itself was away: this is not a jump of the line, and nothing is proven across it."""
    host = connected(card_report("5", "P1", "8S"))
    seen = host.hear(START_1)
    assert kinds(seen) == [Resumed, CommunicationStarted]
    assert [each.proven for each in seen if isinstance(each, Resumed)] == [False]
    assert kinds(host.hear(RESULT)) == [ResultSeen]


def test_a_start_with_the_expected_number_is_a_normal_report() -> None:
    """It is a reconnection without a loss."""
    assert kinds(connected(card_report("9", "P1", "8S")).hear(START_1)) == [CommunicationStarted]


def test_a_start_that_does_not_advance_the_number_is_accepted_with_its_successor() -> None:
    """Some emulators keep the sequence on S: the same sequence with different data is new, with a warning."""
    host = connected(CARD)
    assert kinds(host.hear(START_1)) == [SequenceClashed, CommunicationStarted]
    host = connected(card_report("9", "P1", "8S"), START_1)
    assert kinds(host.hear(CARD)) == [SequenceClashed, CardSeen]


def test_answers_and_junk_neither_resume_nor_jump() -> None:
    """Only a report has a sequence."""
    host = connected(CARD)
    host.down()
    host.up()
    assert kinds(host.hear(b"junk" + ACK)) == [FrameRejected, OrderAnswered]
    assert kinds(host.hear(RESULT)) == [Resumed, ResultSeen]


# --- quiet


def test_a_silent_line_goes_quiet_once() -> None:
    """The family's setting counts from the last bytes; the observation is not repeated."""
    host = connected()
    host.hear(CARD, 1000)
    assert host.wake_ms == 301_000
    assert host.wake(300_999) == []
    assert host.wake(301_000) == [WentQuiet(at=at(301_000), since=at(1000))]
    assert host.wake_ms is None


def test_an_opened_line_goes_quiet_from_its_opening() -> None:
    """No byte was received on it."""
    host = connected()
    assert host.wake(300_000) == [WentQuiet(at=at(300_000), since=at(0))]


@pytest.mark.parametrize("data", [CARD, b"x", b"\x05", ACK])
def test_any_byte_is_a_sign_of_life(data: bytes) -> None:
    """A quiet line is heard again before its next report, and may go quiet again."""
    host = connected()
    host.wake(300_000)
    assert host.hear(data, 400_000)[0] == HeardAgain(at=at(400_000))
    host.wake(400_500)
    assert host.wake_ms == 700_000
    assert WentQuiet in kinds(host.wake(700_000))


def test_bytes_before_the_waking_still_report_the_quiet_line() -> None:
    """A late waking loses nothing: the line was quiet, and is heard again."""
    assert kinds(connected().hear(CARD, 300_001)) == [WentQuiet, HeardAgain, CardSeen]


def test_a_closed_line_is_not_quiet() -> None:
    """It waits for no bytes. A line that was quiet restarts when it is opened again."""
    host = connected()
    host.wake(300_000)
    host.down()
    assert kinds(host.wake(999_000)) == []
    host.up(1_000_000)
    assert host.wake_ms == 1_300_000
    assert kinds(host.hear(CARD, 1_000_001)) == [CardSeen]


# --- torn frames and the link


def test_an_incomplete_frame_is_given_up() -> None:
    """The session names the moment of the waking; the bytes are kept with the reason."""
    host = connected()
    assert host.hear(CARD[:5], 100) == []
    assert host.wake_ms == 600
    assert host.wake(599) == []
    (torn,) = host.wake(600)
    assert isinstance(torn, FrameRejected)
    assert (torn.at, torn.raw, torn.offset, torn.reason) == (at(600), "05 31 44 81 b8", 0, "torn")
    assert torn.last_byte == at(100)
    assert kinds(host.hear(CARD[5:] + CARD, 601)) == [FrameRejected, CardSeen]


def test_a_frame_that_is_rejected_as_it_arrives_has_one_moment() -> None:
    """The record has no second moment for it."""
    host = connected()
    host.hear(CARD[:5], 100)
    (torn, _) = host.hear(CARD, 300)
    assert isinstance(torn, FrameRejected)
    assert (torn.at, torn.last_byte, torn.heard) == (at(300), at(300), None)


def test_a_pause_inside_a_frame_does_not_end_it() -> None:
    """Bytes may arrive more slowly than the line sends them: the time counts from the last byte."""
    host = connected()
    seen = [each for n, byte in enumerate(CARD) for each in host.hear(bytes((byte,)), 400 * n)]
    assert kinds(seen) == [CardSeen]


def test_pending_bytes_are_rejected_before_the_link_closes() -> None:
    """Every byte is on the record."""
    host = connected()
    host.hear(CARD[:5], 100)
    seen = host.down(200)
    assert kinds(seen) == [FrameRejected, LinkClosed]
    assert isinstance(seen[0], FrameRejected)
    assert (seen[0].raw, seen[0].reason) == ("05 31 44 81 b8", "torn")
    assert (seen[0].at, seen[0].last_byte) == (at(200), at(100))
    host.up(300)
    assert kinds(host.hear(CARD, 400)) == [CardSeen]


def test_offsets_count_from_the_opening_of_the_link() -> None:
    """The count restarts with each link."""
    host = connected(CARD, b"x" + RESULT)
    host.down()
    host.up()
    assert [each.frame.offset for each in host.hear(CUT) if isinstance(each, CutCardSeen)] == [0]


def test_opening_and_closing_are_observed() -> None:
    """The observations have the port and the reason."""
    host = Host()
    assert host.up(1) == [LinkOpened(at=at(1), port=PORT)]
    assert host.down(2, "the cable is disconnected") == [LinkClosed(at=at(2), reason="the cable is disconnected")]
    assert host.down(3, "refused") == [LinkClosed(at=at(3), reason="refused")]


def test_a_daemon_that_was_killed_left_the_link_open() -> None:
    """A killed daemon did not close its link: the next start closes it. A stopped daemon has closed it."""
    host = connected()
    host.hear(CARD[:3], 1)
    assert kinds(host.hear(b"")) == []
    seen = list(host.take(CONFIGURED, 5000).observations)
    assert kinds(seen) == [FrameRejected, LinkClosed]
    assert host.take(CONFIGURED, 6000).observations == ()
    assert Host().take(CONFIGURED).observations == ()


def test_bytes_of_a_closed_link_are_ignored() -> None:
    """They may arrive late; they belong to no link."""
    host = connected()
    host.down()
    assert host.hear(CARD) == []
    assert host.up() != []
    assert kinds(host.hear(CARD)) == [CardSeen]
