"""The host's session of a scanner: codes, their cards, and broken codes."""

from random import Random
from typing import Final

import pytest

from firmware_protocols.scanner import ScannerSettings
from shoed.model.cards import Card
from shoed.model.commands import Author, StartShoe
from shoed.model.observations import (
    AnsweredBy,
    AnyObservation,
    CardSeen,
    CopyHeard,
    Evidence,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    OrderAnswered,
    Place,
    Resumed,
    WentQuiet,
)
from shoed.model.step import Commanded, Configured, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered
from shoed.session.scanner import ScannerSession, ScannerState
from tests.angel_eye_line import at, kinds
from tests.listening import Listening
from tests.scanner_line import ENTER, STROKES, UP, down, scan, typing

PORT: Final = "tcp://10.0.0.7:4001"
CONFIGURED: Final = Configured("{}", 1, "0.0")
PHANTOM: Final = bytes.fromhex("00 00 01 01 01 01 01 01")
SELF_TEST: Final = bytes.fromhex("00 00 02 02 02 02 02 02")
SILENCE_MS: Final = 150


class Host(Listening[ScannerState]):
    def __init__(self, settings: ScannerSettings | None = None) -> None:
        super().__init__(ScannerSession(settings or ScannerSettings(), allow_orders=True), PORT)


def unread(data: bytes, code: str, ms: float = 5, offset: int = 0) -> CardSeen:
    frame = Evidence(data.hex(" "), offset, "")
    return CardSeen(at=at(ms), frame=frame, place=Place.DEALT, position=0, card=None, code=code)


def read(seen: list[AnyObservation]) -> list[tuple[Card | None, str]]:
    return [(each.card, each.code) for each in seen if isinstance(each, CardSeen)]


# --- codes and cards


@pytest.mark.parametrize("text", ["8S", "10H", "TH", "AC", "KD"])
def test_a_code_may_be_the_cards_own_text(text: str) -> None:
    """No table of codes is set; all reports up to Enter are the evidence."""
    frame = Evidence((typing(text) + ENTER).hex(" "), 0, "")
    card = CardSeen(at=at(5), frame=frame, place=Place.DEALT, position=0, card=Card.parse(text))
    assert Host().hear(scan(text), 5) == [card]


def test_every_card_has_its_text() -> None:
    """All 52 cards are read, with any division of the reports."""
    host, seen = Host(), list[AnyObservation]()
    for place, byte in enumerate(b"".join(scan(str(card)) for card in Card)):
        seen += host.hear(bytes((byte,)), place)
    assert read(seen) == [(card, "") for card in Card]


@pytest.mark.parametrize("text", ["8s", "1H", "8S8S", "0401", "S8", "Z"])
def test_an_unknown_code_is_a_card_without_a_face(text: str) -> None:
    """It has its code and its reports."""
    assert Host().hear(scan(text), 5) == [unread(typing(text) + ENTER, text)]


def test_a_table_maps_codes_to_cards() -> None:
    """With a table, a card's own text is a code like any other."""
    host = Host(ScannerSettings(cards={"0401": "8S", "0402": "10H", "1401": "8S"}))
    codes = ("0401", "0402", "1401", "8S")
    seen = [each for place, code in enumerate(codes) for each in host.hear(scan(code), place * 1000)]
    assert read(seen) == [(Card.S8, ""), (Card.H10, ""), (Card.S8, ""), (None, "8S")]


def test_codes_have_separate_evidence() -> None:
    """Each code has its own reports, at their offset."""
    host = Host()
    (first, second) = host.hear(scan("8S") + scan("9H"), 5)
    assert isinstance(first, CardSeen)
    assert isinstance(second, CardSeen)
    assert second.frame == Evidence((typing("9H") + ENTER).hex(" "), len(scan("8S")), "")


@pytest.mark.parametrize("enters", [ENTER + UP, ENTER + UP + ENTER + UP, down(0x58) + UP, UP + UP])
def test_an_enter_without_a_code_has_no_effect(enters: bytes) -> None:
    """Keys that go up have no effect either."""
    host = Host()
    assert host.hear(enters, 5) == []
    assert read(host.hear(scan("8S") + enters, 1000)) == [(Card.S8, "")]


# --- keys


def test_the_keypad_types_and_ends_codes() -> None:
    """The keypad types `401` and its own Enter."""
    data = b"".join(down(key) + UP for key in (0x5C, 0x62, 0x59, 0x58))
    assert read(Host(ScannerSettings(cards={"401": "2C"})).hear(data, 5)) == [(Card.C2, "")]


def test_a_key_that_stays_down_is_one_key() -> None:
    """Its report may be repeated, and another key may join it in any order."""
    eight, spade = STROKES["8"][1], STROKES["S"][1]
    data = down(eight) * 3 + down(spade, eight, modifiers=0x02) + down(spade) + ENTER + UP
    assert read(Host().hear(data, 5)) == [(Card.S8, "")]


def test_a_key_counts_again_after_it_was_up() -> None:
    """A code may have the same character twice in a row."""
    assert read(Host(ScannerSettings(cards={"0011": "QD"})).hear(scan("0011"), 5)) == [(Card.DQ, "")]


def test_shift_may_go_down_first_and_up_last() -> None:
    """Reports of Shift alone have no effect; the left and the right Shift both count."""
    shift = down(modifiers=0x20)
    data = typing("8") + shift + down(0x16, modifiers=0x20) + shift + UP + ENTER + UP
    assert read(Host().hear(data, 5)) == [(Card.S8, "")]


@pytest.mark.parametrize(
    ("reports", "shown"),
    [
        (down(0x25, 0x16), "8s"),  # two keys at once: their order is unknown
        (typing("8") + down(0x16, modifiers=0x03) + UP, "8?"),  # with Ctrl
        (typing("8") + down(0x3A) + UP + typing("S"), "8?S"),  # F1
        (typing("8") + PHANTOM + typing("S"), "8S"),
        (down(0x25, 0x16, 0x28), "8s"),
        (typing("8") + bytes.fromhex("00 16 00 00 00 00 00 00") + typing("S"), "8S"),
    ],
)
def test_an_unclear_code_is_not_a_card(reports: bytes, shown: str) -> None:
    """Even if the rest of the code names a card, it is a card without a face, with the typed text."""
    assert read(Host(ScannerSettings(cards={shown.replace("?", ""): "8S", shown: "8S"})).hear(reports + ENTER, 5)) == [
        (None, shown)
    ]


def test_a_code_of_any_length_occupies_bounded_memory() -> None:
    """One character too many breaks the code; its evidence is its beginning."""
    fits, too_long = "7" * 64, "7" * 65
    cards = {fits: "8S", too_long: "9S"}
    assert read(Host(ScannerSettings(cards=cards)).hear(scan(fits), 5)) == [(Card.S8, "")]
    assert read(Host(ScannerSettings(cards=cards)).hear(scan(too_long), 5)) == [(None, fits)]
    repeated = typing("7") + UP * 300 + ENTER
    assert Host(ScannerSettings(cards={"7": "8S"})).hear(repeated, 5) == [unread(repeated[:2048], "7")]
    assert read(Host().hear(typing("x" * 5000) + ENTER, 5)) == [(None, "x" * 64)]


# --- errors


def test_an_error_is_observed_at_its_start_and_its_end() -> None:
    """Without a code in progress the error is not a card."""
    host = Host()
    frame = Evidence(PHANTOM.hex(" "), 0, "")
    raised = FaultRaised(at=at(5), frame=frame, code=1, name="roll-over", blocking=False)
    assert host.hear(PHANTOM * 2, 5) == [raised]
    cleared, failed = host.hear(SELF_TEST, 10)
    assert cleared == FaultCleared(at=at(10), frame=Evidence(SELF_TEST.hex(" "), 16, ""), code=1, name="roll-over")
    assert failed == FaultRaised(
        at=at(10), frame=Evidence(SELF_TEST.hex(" "), 16, ""), code=2, name="self-test-failed", blocking=False
    )
    assert kinds(host.hear(UP, 20)) == [FaultCleared]
    assert host.wake(1000) == []
    assert read(host.hear(scan("8S"), 2000)) == [(Card.S8, "")]


def test_rejected_bytes_alone_are_not_a_card() -> None:
    """They are on the record; an Enter shortly after them shows that a code was typed."""
    bad = bytes.fromhex("00 16 00 00 00 00 00 00")
    host = Host()
    assert kinds(host.hear(bad, 5)) == [FrameRejected]
    assert host.wake(5 + SILENCE_MS) == []
    rejected, card = host.hear(bad + ENTER + UP, 1000)
    assert isinstance(rejected, FrameRejected)
    assert card == unread(ENTER, "", ms=1000, offset=8)


# --- codes without Enter


def test_a_code_without_enter_is_an_unread_card() -> None:
    """It is observed after the silence of the setting, with the time of its last byte; the session is woken for it."""
    host = Host()
    assert host.hear(typing("8S"), 1000) == []
    assert host.wake_ms == 1000 + SILENCE_MS
    assert host.wake(1000 + SILENCE_MS - 1) == []
    assert host.wake(1000 + SILENCE_MS) == [unread(typing("8S"), "8S", ms=1000)]
    assert read(host.hear(scan("9H"), 2000)) == [(Card.H9, "")]


def test_keys_after_the_silence_are_another_code() -> None:
    """No waking in between is necessary."""
    host = Host()
    assert host.hear(typing("1"), 1000) == []
    assert read(host.hear(scan("0H"), 1000 + SILENCE_MS)) == [(None, "1"), (None, "0H")]


def test_a_scanner_may_pause_between_two_keys() -> None:
    """A code that continues within the silence is one code, and a report in two pieces is one report."""
    host, seen = Host(), list[AnyObservation]()
    data = scan("10H")
    for place in range(0, len(data), 4):
        seen += host.hear(data[place : place + 4], place * 30)
    assert read(seen) == [(Card.H10, "")]


def test_a_link_that_closes_within_a_code_leaves_an_unread_card() -> None:
    """All keys are up when the link opens again."""
    host = Host()
    assert host.hear(typing("1") + down(0x27) + b"\x00", 1000) == []
    rejected, card, closed = host.take(LinkDown("unplugged"), 1020).observations
    assert isinstance(rejected, FrameRejected)
    assert card == unread(typing("1") + down(0x27), "10", ms=1000)
    assert closed == LinkClosed(at=at(1020), reason="unplugged")
    host.take(LinkUp(PORT), 2000)
    assert read(host.hear(down(0x27) + UP + typing("H") + ENTER, 2001)) == [(None, "0H")]


def test_lost_bytes_cost_one_code() -> None:
    """Reports that are shifted by a byte are rejected until the silence; the next code is read correctly."""
    host = Host()
    data = scan("10H")
    seen = host.hear(data[:20] + data[21:], 1000)
    assert FrameRejected in kinds(seen)
    seen += host.hear(scan("9H"), 1300)
    assert read(seen) == [(None, "10"), (Card.H9, "")]


# --- a card that is read twice


@pytest.mark.parametrize(("after_ms", "again"), [(0, CopyHeard), (199, CopyHeard), (200, CardSeen)])
def test_the_same_code_soon_after_is_the_same_card(after_ms: int, again: type[AnyObservation]) -> None:
    """Within the window it is the same card; after the window a second card of the same face is not lost."""
    host = Host()
    assert kinds(host.hear(scan("8S"), 1000)) == [CardSeen]
    assert kinds(host.hear(scan("8S"), 1000 + after_ms)) == [again]


def test_the_window_counts_from_the_first_code() -> None:
    """A card that is read repeatedly hides no card for longer than the window."""
    host = Host()
    seen = [each for ms in (1000, 1150, 1300) for each in host.hear(scan("8S"), ms)]
    assert kinds(seen) == [CardSeen, CopyHeard, CardSeen]


def test_neither_a_code_after_another_card_nor_a_broken_code_is_a_copy() -> None:
    """Only a complete code directly before it counts."""
    host = Host()
    assert kinds(host.hear(scan("8S") + scan("9H") + scan("8S"), 1000)) == [CardSeen] * 3
    host.hear(typing("7C"), 2000)
    assert kinds(host.take(LinkDown("unplugged"), 2001).observations) == [CardSeen, LinkClosed]
    host.take(LinkUp(PORT), 2002)
    assert kinds(host.hear(typing("7C") + PHANTOM + ENTER, 2003)) == [FaultRaised, FaultCleared, Resumed, CardSeen]


def test_the_window_may_be_switched_off() -> None:
    """Each code is then a card."""
    assert kinds(Host(ScannerSettings(repeat_window_ms=0)).hear(scan("8S") * 3, 1000)) == [CardSeen] * 3


def test_the_clock_of_another_boot_proves_no_copy() -> None:
    """A time that decreases measures nothing."""
    host = Host()
    host.hear(scan("8S"), 1000)
    assert kinds(host.hear(scan("8S"), 10)) == [CardSeen]


# --- link, silence, orders


def test_nothing_proves_what_was_missed_while_the_link_was_away() -> None:
    """The first card after the absence observes it, once; before any card there is nothing to resume."""
    host = Host()
    host.take(LinkDown("unplugged"), 100)
    host.take(LinkUp(PORT), 200)
    assert kinds(host.hear(scan("8S"), 1000)) == [CardSeen]
    host.take(LinkDown("unplugged"), 2000)
    host.take(LinkUp(PORT), 3000)
    resumed, *cards = host.hear(scan("8S") + scan("9H"), 4000)
    assert resumed == Resumed(at=at(4000), frame=Evidence((typing("8S") + ENTER).hex(" "), 0, ""))
    assert kinds(cards) == [CardSeen, CardSeen]


def test_a_restarted_daemon_closes_its_open_link() -> None:
    """A code in progress is then an unread card."""
    host = Host()
    host.hear(scan("8S") + typing("9"), 1000)
    assert kinds(host.take(CONFIGURED, 9000).observations) == [CardSeen, LinkClosed]
    assert kinds(host.take(CONFIGURED, 9001).observations) == []
    host.take(LinkUp(PORT), 9002)
    assert kinds(host.hear(scan("9H"), 9100)) == [Resumed, CardSeen]


def test_bytes_of_a_closed_link_are_ignored() -> None:
    """The session names no moment."""
    host = Host()
    host.take(LinkDown("unplugged"), 1000)
    assert host.hear(scan("8S"), 1001) == []
    assert host.wake(400_000) == []
    assert host.wake_ms is None


def test_a_quiet_scanner_is_observed_once() -> None:
    """It is quiet after the silence of the setting; the next card ends it."""
    host = Host()
    assert host.wake_ms == 300_000
    assert host.wake(300_000) == [WentQuiet(at=at(300_000), since=at(0))]
    assert host.session.wake_at(host.state) is None
    assert kinds(host.hear(scan("8S"), 900_001)) == [HeardAgain, CardSeen]


def test_no_order_is_executed() -> None:
    """No order is known. Allowed or not, it is refused with that reason, and nothing is written."""
    (answer,) = Host().take(Ordered(DeviceOrder(DeviceOrderKind.LOCK)), 1000).observations
    assert answer == OrderAnswered(
        at=at(1000),
        order="lock",
        accepted=False,
        detail="a scanner executes no orders; operate it by hand",
        answered_by=AnsweredBy.HOST,
    )


def test_a_command_to_the_table_does_not_concern_the_session() -> None:
    """There is no observation, and nothing changes."""
    host = Host()
    before = host.state
    assert kinds(host.take(Commanded(StartShoe(), Author("ann", None), "7f3a"), 1000).observations) == []
    assert host.state == before


@pytest.mark.parametrize("seed", range(20))
def test_no_card_is_added_or_lost_without_a_trace_on_a_bad_line(seed: int) -> None:
    """Codes arrive in any chunks, some with lost bytes: each is its card, a card without a face, or rejected bytes."""
    dice, host = Random(seed), Host()
    ms = 0.0
    for _ in range(200):
        ms += dice.choice((250, 6000, 6000, 6000))  # further rejections within ten seconds are only counted
        card, data, seen = dice.choice(list(Card)), b"", list[AnyObservation]()
        data = scan(str(card))
        if dice.random() < 0.5:
            place = dice.randrange(len(data))
            data = data[:place] + data[place + dice.randrange(1, 8) :]
        cut = dice.randrange(len(data))
        seen += host.hear(data[:cut], ms) + host.hear(data[cut:], ms + 15) + host.wake(ms + 15 + SILENCE_MS)
        cards = [each.card for each in seen if isinstance(each, CardSeen)]
        assert cards in ([card], [None]) or (cards == [] and FrameRejected in kinds(seen))
