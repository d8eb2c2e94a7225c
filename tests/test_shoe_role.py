"""The device's session of an Angel Eye shoe, alone and together with the host's session."""

from dataclasses import replace
from random import Random
from typing import Final

import pytest

from firmware_protocols.angel_eye import (
    CONFIRM_PROCESS,
    LOCK,
    UNLOCK,
    AngelEyeCutCard,
    AngelEyeOrder,
    AngelEyeOutcome,
    AngelEyePresetChanged,
    AngelEyeRefusal,
    AngelEyeReport,
    AngelEyeResult,
    AngelEyeSettings,
    AngelEyeSituation,
    CardInGame,
    CardOutside,
    ErrorCleared,
    ErrorRaised,
    KeyLock,
    OrderType,
    OverdrawCard,
    StandBy,
    StartOfCommunication,
    Target,
    build,
)
from firmware_protocols.family import Line, Reason
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CopyHeard,
    FrameRejected,
    LinkOpened,
    LockChanged,
    OrderAnswered,
    Reported,
    SequenceClashed,
    SequenceJumped,
)
from shoed.model.step import DeviceOrder, DeviceOrderKind, LinkUp, Ordered, Received
from shoed.session.angel_eye import AngelEyeSession, observation
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED, AngelEyeReplies, AngelEyeShoe, AngelEyeShoeState, refusal
from shoed.wire import Rejected

SETTINGS: Final = AngelEyeSettings()
ACK: Final = b"\x06"
FRAME_BYTES: Final = 8  # the length of a card report
BYTE_NS: Final = round(Line(4800).seconds_per_byte * 1e9)

REPORTS: Final = (
    StartOfCommunication(UNNUMBERED),
    StandBy(UNNUMBERED),
    AngelEyeCutCard(UNNUMBERED),
    CardInGame(UNNUMBERED, Target.BANKER, 2, FACES[Card.H10]),
    CardOutside(UNNUMBERED, AngelEyeSituation.SET_UP, FACES[Card.CA]),
    OverdrawCard(UNNUMBERED, Target.PLAYER, 3, FACES[Card.SK]),
    AngelEyeResult(UNNUMBERED, AngelEyeOutcome.TIE, player_pair=True, banker_pair=False),
    ErrorRaised(UNNUMBERED, in_error_mode=True, code=1),
    ErrorCleared(UNNUMBERED, 1),
    KeyLock(UNNUMBERED, locked=True),
    AngelEyePresetChanged(UNNUMBERED, "01", "0007"),
)


class Shoe:
    def __init__(self, settings: AngelEyeSettings = SETTINGS, *, start_advances: bool = True) -> None:
        self.role = AngelEyeShoe(settings, start_advances=start_advances)
        self.state = self.role.begin()
        self.clock_ns = 0

    def say(self, report: AngelEyeReport) -> bytes:
        self.state, data = self.role.say(self.state, report)
        return data

    def hear(self, data: bytes) -> bytes:
        self.state, answer = self.role.hear(self.state, Chunk(data, Now(0, self.clock_ns)))
        return answer


class Host:
    """The host's session, which receives every byte at the time of a 4800 baud line."""

    def __init__(self) -> None:
        self.role = AngelEyeSession(SETTINGS, allow_orders=True)
        self.state = self.role.begin()
        self.clock_ns = 0
        self.seen: list[AnyObservation] = []
        self.step(LinkUp("the shoe"))

    def step(self, incoming: LinkUp | Received | Ordered) -> bytes:
        self.state, heard = self.role.step(self.state, incoming, Now(0, self.clock_ns))
        self.seen += heard.observations
        return b"".join(heard.sends)

    def hear(self, data: bytes) -> None:
        for byte in data:
            self.clock_ns += BYTE_NS
            self.step(Received(bytes((byte,))))

    def pause(self, seconds: float) -> None:
        self.clock_ns += round(seconds * 1e9)

    def reported(self) -> list[AnyObservation]:
        """Return the observations of the shoe's reports, without copies."""
        return [each for each in self.seen if isinstance(each, Reported) and not isinstance(each, CopyHeard)]


def matches(seen: AnyObservation, report: AngelEyeReport) -> bool:
    """Whether an observation has the contents of this report, at any time."""
    assert isinstance(seen, Reported)
    return seen == observation(report, seen.at, seen.frame)


# --- the reports of the shoe


def test_a_report_has_the_bytes_of_the_protocol_page_three_times() -> None:
    """The first Player card of the page's examples is sent with its copies, without a gap."""
    first = CardInGame(UNNUMBERED, Target.PLAYER, 1, FACES[Card.S8])
    assert Shoe().say(first) == bytes.fromhex("05 31 44 81 B8 03 34 46") * 3


def test_the_number_of_copies_is_a_setting() -> None:
    """A device on the way may remove them."""
    assert Shoe(replace(SETTINGS, copies=1)).say(AngelEyeCutCard(UNNUMBERED)).count(b"\x05") == 1


def test_sequences_run_from_1_to_9_and_repeat() -> None:
    """Each report has the number after that of the previous report."""
    shoe = Shoe()
    assert "".join(chr(shoe.say(AngelEyeCutCard(UNNUMBERED))[1]) for _ in range(11)) == "12345678912"


@pytest.mark.parametrize(("start_advances", "numbers"), [(True, "123"), (False, "112")])
def test_a_start_may_leave_its_number_to_the_next_report(start_advances: bool, numbers: str) -> None:  # noqa: FBT001
    """Some emulators do not advance on S; the host also accepts the next report, as a clash."""
    shoe, host = Shoe(start_advances=start_advances), Host()
    reports: list[AngelEyeReport] = [StartOfCommunication(UNNUMBERED), AngelEyeCutCard(UNNUMBERED), StandBy(UNNUMBERED)]
    lines = [shoe.say(report) for report in reports]
    assert "".join(chr(line[1]) for line in lines) == numbers
    host.hear(b"".join(lines))
    assert any(isinstance(each, SequenceClashed) for each in host.seen) is not start_advances
    heard = [each for each in host.reported() if not isinstance(each, SequenceClashed)]
    assert all(map(matches, heard, reports))
    assert len(heard) == 3


@pytest.mark.parametrize("report", REPORTS, ids=[type(each).__name__ for each in REPORTS])
def test_every_report_reaches_the_host_once(report: AngelEyeReport) -> None:
    """Three copies make one observation of the report; two copies are counted."""
    host = Host()
    host.hear(Shoe().say(report))
    assert [type(each) for each in host.seen[1:]].count(CopyHeard) == 2
    (observed,) = host.reported()
    assert matches(observed, report)


# --- answers to orders


def test_an_order_to_lock_is_acknowledged_and_reported() -> None:
    """The bytes are those of the page; the second order changes nothing, so there is no report."""
    shoe, order = Shoe(), bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")
    assert shoe.hear(order) == ACK + build(KeyLock("1", locked=True), SETTINGS) * 3
    assert shoe.state.locked
    assert shoe.hear(order) == ACK
    assert shoe.hear(build(UNLOCK, SETTINGS)) == ACK + build(KeyLock("2", locked=False), SETTINGS) * 3
    assert not shoe.state.locked


def test_the_key_locks_too() -> None:
    """A lock that the shoe reports by itself is part of its state."""
    shoe = Shoe()
    shoe.say(KeyLock(UNNUMBERED, locked=True))
    assert shoe.hear(build(LOCK, SETTINGS)) == ACK


@pytest.mark.parametrize(
    ("code", "number", "cleared"), [(1, 0, True), (1, 1, False), (2, 0, False), (2, 1, True), (2, 2, True)]
)
def test_an_overdraw_is_cleared_with_the_decision_about_its_card(
    code: int,
    number: int,
    cleared: bool,  # noqa: FBT001
) -> None:
    """00 clears any other error. The shoe reports the code of the error; a wrong number clears nothing."""
    shoe = Shoe()
    shoe.say(ErrorRaised(UNNUMBERED, in_error_mode=True, code=code))
    effect = build(ErrorCleared("2", code), SETTINGS) * 3 if cleared else b""
    assert shoe.hear(build(AngelEyeOrder(OrderType.ERROR_CLEAR, number), SETTINGS)) == ACK + effect
    assert (shoe.state.error is None) is cleared


def test_an_error_outside_error_mode_does_not_need_clearing() -> None:
    """It has ended when it is reported."""
    shoe = Shoe()
    shoe.say(ErrorRaised(UNNUMBERED, in_error_mode=False, code=1))
    assert shoe.hear(build(AngelEyeOrder(OrderType.ERROR_CLEAR, 1), SETTINGS)) == ACK


def test_the_process_is_confirmed() -> None:
    """It is acknowledged; no other effect is known."""
    assert Shoe().hear(build(CONFIRM_PROCESS, SETTINGS)) == ACK


def test_a_shoe_in_stand_by_is_busy_until_it_starts() -> None:
    """Orders between P and S are refused, and have no effect."""
    shoe = Shoe()
    shoe.say(StandBy(UNNUMBERED))
    assert shoe.hear(build(LOCK, SETTINGS)) == b"\x1521"
    shoe.say(StartOfCommunication(UNNUMBERED))
    assert shoe.hear(build(LOCK, SETTINGS)).startswith(ACK)


@pytest.mark.parametrize(
    ("order", "answer"),
    [
        ("02 4F 50 4C 4B 30 32 03 31 43", b"\x1502"),  # BCC
        ("02 4F 50 4C 4B 02 4F 50 47 50 30 30 03 30 39", b"\x1503\x06"),  # no ETX, then a good order
        ("02" + 17 * "41", b"\x1511"),  # length
        ("02 4F 50 4C 4B 30 03 32 39", b"\x1511"),  # format
        ("02 58 59 4C 4B 30 32 03 30 35", b"\x1513"),  # command
        ("02 4F 50 58 59 30 32 03 31 44", b"\x1514"),  # type
        ("02 4F 50 4C 4B 30 33 03 31 41", b"\x1511"),  # a lock by number 3
        ("41 42 43 02 4F 50 47 50 30 30 03 30 39", b"\x06"),  # noise, then a good order
    ],
)
def test_a_wrong_order_is_refused_with_the_reason(order: str, answer: bytes) -> None:
    """The bytes are literal, and arrive whole and byte by byte."""
    data = bytes.fromhex(order)
    assert Shoe().hear(data) == answer
    shoe = Shoe()
    assert b"".join(shoe.hear(bytes((byte,))) for byte in data) == answer


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_code(reason: Reason) -> None:
    """Every reason of the deframer has a code of the shoe; a reason without its own code is `other`."""
    code = refusal(Rejected(build(LOCK, SETTINGS), 0, Now(0, 0), reason, ""))
    unnamed = (Reason.JUNK, Reason.ECHO, Reason.UNKNOWN_VERSION, Reason.WRONG_ROLE)
    assert (code is AngelEyeRefusal.OTHER) == (reason in (*unnamed, Reason.UNSEALED, Reason.NOT_AUTHENTIC))


def test_an_incomplete_order_is_refused_after_its_timeout() -> None:
    """The shoe names the moment of its waking; until then it sends nothing."""
    shoe = Shoe()
    assert shoe.role.wake_at(shoe.state) is None
    assert shoe.hear(build(LOCK, SETTINGS)[:4]) == b""
    due = shoe.role.wake_at(shoe.state)
    assert due == SETTINGS.torn_after_ms * 1_000_000
    shoe.clock_ns = due
    assert shoe.hear(b"") == b"\x1503"
    assert shoe.role.wake_at(shoe.state) is None


# --- both sessions together


def test_a_host_receives_the_answer_and_the_effect_of_its_order() -> None:
    """The host's session locks the shoe, and observes both."""
    shoe, host = Shoe(), Host()
    order = host.step(Ordered(DeviceOrder(DeviceOrderKind.LOCK)))
    host.hear(shoe.hear(order))
    answered, locked = [each for each in host.seen if isinstance(each, OrderAnswered | LockChanged)]
    assert isinstance(answered, OrderAnswered)
    assert isinstance(locked, LockChanged)
    assert (answered.accepted, locked.locked) == (True, True)


def test_a_host_receives_the_reason_of_a_refusal() -> None:
    """The code of NAK is the detail of the observation."""
    shoe, host = Shoe(), Host()
    shoe.say(StandBy(UNNUMBERED))
    host.hear(shoe.hear(host.step(Ordered(DeviceOrder(DeviceOrderKind.UNLOCK)))))
    (answered,) = [each for each in host.seen if isinstance(each, OrderAnswered)]
    assert (answered.accepted, answered.detail) == (False, "21: busy")


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        (AngelEyeReplies(), ACK),
        (AngelEyeReplies(silent=True), b""),
        (AngelEyeReplies(reports=False), ACK),
        (AngelEyeReplies(refuse=AngelEyeRefusal.BUSY), b"\x1521"),
        (AngelEyeReplies(refuse=AngelEyeRefusal.BUSY, in_a_byte=True), b"\x15\x21"),
        (AngelEyeReplies(refuse=AngelEyeRefusal.BUSY, silent=True), b""),
    ],
)
def test_the_answers_of_a_shoe_are_a_setting(replies: AngelEyeReplies, answer: bytes) -> None:
    """A refused order changes nothing; a report follows a change unless it is switched off."""
    role = AngelEyeShoe(SETTINGS, replies=replies)
    state, answers = role.hear(role.begin(), Chunk(build(LOCK, SETTINGS), Now(0, 0)))
    obeyed = replies.refuse is None
    report = build(KeyLock("1", locked=True), SETTINGS) * 3 if obeyed and replies.reports else b""
    assert (answers, state.locked) == (answer + report, obeyed)


def cards(rng: Random, count: int) -> list[CardInGame]:
    deck, targets = tuple(FACES.values()), (Target.PLAYER, Target.BANKER, Target.BURN)
    return [CardInGame(UNNUMBERED, rng.choice(targets), rng.randint(1, 3), rng.choice(deck)) for _ in range(count)]


class BadLine:
    """Bytes are lost, flipped and repeated at this rate, and never two within a frame's length: a BCC detects one."""

    def __init__(self, rng: Random, every: int) -> None:
        self.rng = rng
        self.every = every
        self.clean = 0

    def carry(self, data: bytes) -> bytes:
        if not self.rng.randrange(50):
            return b""  # the cable was disconnected for a moment
        return bytes(byte for each in data for byte in self.worn(each))

    def worn(self, byte: int) -> tuple[int, ...]:
        self.clean += 1
        if self.clean <= FRAME_BYTES or self.rng.randrange(self.every):
            return (byte,)
        self.clean = 0
        return self.rng.choice(((), (byte ^ 1 << self.rng.randrange(8),), (byte, byte)))


@pytest.mark.parametrize("every", [2, 3, 5, 10, 20, 40])
def test_over_a_bad_line_no_card_is_wrong_and_every_loss_is_on_record(
    every: int, request: pytest.FixtureRequest
) -> None:
    """The host accepts exactly the sent cards, in order; if some are missing, the numbers jumped."""
    rng, shoe, host = Random(request.node.name), Shoe(), Host()
    line, dealt = BadLine(rng, every), cards(rng, 400)
    for report in dealt:
        host.hear(line.carry(shoe.say(report)))
        host.pause(0.4)
    upcoming, jumped, lost = iter(dealt), False, 0
    for each in host.reported():
        if isinstance(each, SequenceJumped):
            jumped = True
            continue
        assert isinstance(each, CardSeen)
        skipped = 0
        while not matches(each, next(upcoming)):  # a card that was never sent is not found, and next() raises
            skipped += 1
        assert jumped == (skipped > 0)
        jumped = False
        lost += skipped
    assert lost
    assert any(isinstance(each, FrameRejected) for each in host.seen)


@pytest.mark.parametrize("seed", range(4))
def test_over_a_good_line_both_sessions_agree_on_every_card(seed: int) -> None:
    """No card is lost, repeated or rejected, and there is no warning."""
    rng, shoe, host = Random(seed), Shoe(), Host()
    dealt = cards(rng, 200)
    for report in dealt:
        host.hear(shoe.say(report))
        host.pause(0.3)
    assert all(map(matches, host.reported(), dealt))
    assert len(host.reported()) == 200
    assert {type(each) for each in host.seen} == {LinkOpened, CardSeen, CopyHeard}


def test_the_state_is_small_and_begins_unlocked() -> None:
    """The shoe was just switched on."""
    assert Shoe().state == AngelEyeShoeState(sequence="1", locked=False, busy=False, error=None)
