"""Result, shoe, line and device: the events of a table and its state."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.model import observations
from shoed.model.cards import Card
from shoed.model.commands import CloseBets, OpenBets
from shoed.model.device_events import (
    DeviceChanged,
    DeviceCleared,
    DeviceDoubted,
    DeviceFault,
    DeviceIdentified,
    DeviceLocked,
    DeviceOffline,
    DeviceOnline,
    DeviceQuiet,
    DeviceTrusted,
    DeviceUnlocked,
    LineClashed,
    LineMissed,
    LineRejected,
)
from shoed.model.events import (
    BetsClosed,
    CardDrawn,
    CardSetAside,
    QuestionAnswered,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundDisputed,
    RoundResult,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundUnconfirmed,
    Seen,
    ShoeCut,
    ShoeStarted,
    Slot,
)
from shoed.model.findings import DrawnTogether
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    Device,
    DeviceDoubt,
    Evidence,
    Identified,
    LinkClosed,
    LinkOpened,
    OrderAnswered,
    Outcome,
    Pair,
    Side,
)
from shoed.table import wake_at
from shoed.table.context import Custom
from shoed.table.state import LinkStatus
from tests.observed import (
    AGAIN,
    CLASHED,
    CLEARED,
    COPY,
    CUT,
    FRAME,
    JUMPED,
    NATURAL,
    OPENED,
    PORT,
    PRESET,
    QUIET,
    SECOND_NS,
    SIX_CARDS,
    START,
    STARTED,
    STOOD_BY,
    TIE,
    UNPROVEN,
    TableRun,
    after,
    card,
    cards,
    closed,
    completed,
    dealt,
    fault,
    kinds,
    lock,
    rejected,
    result,
)

# --- the shoe's result


def test_an_equal_result_confirms_the_round() -> None:
    """The event contains both results with outcome and pairs."""
    table = after(*dealt("8S 8H", "KH KD 5C"))
    same = RoundResult(Outcome.PLAYER, (Pair.PLAYER, Pair.BANKER))
    assert table.hear(result("player", "player", "banker")) == [RoundConfirmed(shoe=1, round=1, ours=same, theirs=same)]


@pytest.mark.parametrize(
    "theirs",
    [result("banker"), result("tie"), result("player", "player"), result("player", "banker"), result("forced-end")],
)
def test_a_different_result_disputes_the_round(theirs: AnyObservation) -> None:
    """Another outcome, another pair or a forced end leaves our result unchanged."""
    table = after(*NATURAL)
    (published,) = table.hear(theirs)
    assert isinstance(published, RoundDisputed)
    assert published.ours == RoundResult(Outcome.PLAYER, ())
    assert published.theirs != published.ours
    assert table.shown.last_round is not None
    assert table.shown.last_round.result == published.ours


def test_an_equal_result_is_published_once() -> None:
    """A repeated result publishes no event, and a different result does."""
    table = after(*NATURAL, result("player"))
    assert table.hear(result("player")) == []
    assert kinds(table.hear(result("forced-end"))) == [RoundDisputed]
    assert table.hear(result("forced-end")) == []
    assert kinds(table.hear(result("tie"))) == [RoundDisputed]
    assert kinds(table.hear(result("player"))) == [RoundConfirmed]


@pytest.mark.parametrize("outcome", ["player", "banker", "tie", "forced-end"])
@pytest.mark.parametrize(
    ("seen", "due"),
    [
        (1, Slot(Side.BANKER, 1, 2)),
        (2, Slot(Side.PLAYER, 2, 3)),
        (3, Slot(Side.BANKER, 2, 4)),
        (4, Slot(Side.PLAYER, 3, 5)),
        (5, Slot(Side.BANKER, 3, 6)),
    ],
)
def test_a_result_before_the_last_card_suspends_the_round(outcome: str, seen: int, due: Slot) -> None:
    """The event names the due card and the result; no comparison is published."""
    table = after(*SIX_CARDS[:seen])
    theirs = Seen(result=RoundResult(Outcome(outcome), ()))
    assert table.hear(result(outcome)) == [RoundSuspended(shoe=1, round=1, due=due, seen=theirs, gap=False)]
    assert table.shown.phase.value == "suspended"


def test_a_result_for_a_suspended_round_publishes_no_event() -> None:
    """The round has no result to compare."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.hear(result("banker")) == []
    assert table.shown.phase.value == "suspended"


def test_a_completed_round_is_confirmed_after_a_card_in_excess() -> None:
    """The card in excess does not change the result of the round."""
    table = after(*NATURAL, card("B3", "2C"))
    assert kinds(table.hear(result("player"))) == [RoundConfirmed]
    assert table.shown.phase.value == "suspended"
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_result_before_the_first_round_publishes_no_event() -> None:
    """No round of the shoe has begun."""
    assert after(OPENED).hear(result("tie")) == []


def test_a_round_without_a_result_is_unconfirmed_when_the_next_begins() -> None:
    """The event precedes the start of the next round."""
    table = after(*NATURAL)
    assert table.hear(card("P1", "5D"))[0] == RoundUnconfirmed(shoe=1, round=1)
    table = after(*NATURAL, result("banker"))
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_round_without_a_result_is_unconfirmed_after_a_change_of_shoe() -> None:
    """The next round begins in the next shoe."""
    table = after(*NATURAL)
    published = table.hear_each([CUT, STARTED, card("P1", "5D")])
    assert [each for each in published if isinstance(each, RoundUnconfirmed)] == [RoundUnconfirmed(shoe=1, round=1)]


@pytest.mark.parametrize("missed", [JUMPED, UNPROVEN])
@pytest.mark.parametrize("answered", [(), (result("player"),)])
def test_a_result_after_missed_reports_belongs_to_no_known_round(
    missed: AnyObservation, answered: tuple[AnyObservation, ...]
) -> None:
    """A whole round may be missing: the result is not compared, and the next round starts normally."""
    table = after(*NATURAL, *answered)
    published = table.hear_each([missed, result("banker"), result("player")])
    assert not [each for each in published if isinstance(each, RoundConfirmed | RoundDisputed)]
    table.hear_each(NATURAL)
    assert kinds(table.hear(result("player"))) == [RoundConfirmed]


def test_a_card_in_excess_after_the_last_round_does_not_delay_the_next_shoe() -> None:
    """All cards of that round are drawn, and the change of shoe ends its question."""
    table = after(*NATURAL, result("player"), CUT, card("B3", "5D"))
    assert table.shown.phase.value == "suspended"
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]
    assert table.state.suspended is None


def test_a_shoe_that_may_have_begun_in_a_gap_is_partial() -> None:
    """Reports were missed after the cut card."""
    earlier = replace(UNPROVEN, frame=Evidence("05 34 50 03 36 37", 80, "4"))
    assert after(*NATURAL, CUT, earlier, *NATURAL).hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="partial")]


def test_a_result_after_the_change_of_shoe_belongs_to_the_last_round() -> None:
    """No round has begun since; the event names the old shoe and round once."""
    table = after(*NATURAL, CUT, STARTED)
    (published,) = table.hear(result("player"))
    assert isinstance(published, RoundConfirmed)
    assert (published.shoe, published.round) == (1, 1)
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_second_result_after_the_change_of_shoe_publishes_no_event() -> None:
    """The confirmed round stays confirmed."""
    assert after(*NATURAL, result("player"), CUT, STARTED).hear(result("tie")) == []


# --- the shoe


def test_the_cut_card_is_published_once() -> None:
    """The event names the shoe and the round, if they exist."""
    assert TableRun().hear(CUT) == [ShoeCut(shoe=None, round=None)]
    assert after(card("burn", "QC")).hear(CUT) == [ShoeCut(shoe=1, round=None)]
    assert after(*NATURAL).hear_each([CUT, COPY, COPY]) == [ShoeCut(shoe=1, round=1)]


def test_a_start_after_a_cut_without_an_open_round_is_a_new_shoe() -> None:
    """A second start without a second cut is a reconnection."""
    table = after(*NATURAL, result("player"), CUT)
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]
    assert table.hear(STARTED) == []
    assert (table.shown.shoe, table.shown.round, table.shown.phase.value) == (2, None, "idle")


@pytest.mark.parametrize("before", [[], NATURAL[:2], NATURAL, [*NATURAL[:2], card("B3", "2C")]])
def test_a_start_without_a_cut_is_a_reconnection(before: list[AnyObservation]) -> None:
    """Shoe, round and phase stay the same."""
    table = after(*before)
    shown = table.shown
    assert table.hear(STARTED) == []
    assert (table.shown.shoe, table.shown.round, table.shown.phase) == (shown.shoe, shown.round, shown.phase)


@pytest.mark.parametrize("before", [NATURAL[:2], [*NATURAL[:2], card("B3", "2C")]])
def test_a_start_after_a_cut_during_a_round_starts_no_shoe_by_itself(before: list[AnyObservation]) -> None:
    """The round with the cut card is dealt to its end."""
    table = after(*before, CUT)
    assert table.hear(STARTED) == []
    assert table.shown.shoe == 1


def test_a_cut_is_remembered_over_later_rounds() -> None:
    """One more round is dealt after the cut card, and then the shoe changes."""
    table = after(*NATURAL[:2], CUT, *NATURAL[2:], result("player"), *TIE, result("tie"))
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]


def test_a_shoe_that_is_joined_midway_is_partial() -> None:
    """Each round of it is in a partial shoe, and each round of the next in a complete shoe."""
    table = after(*NATURAL, result("player"), *TIE, result("tie"), CUT, STARTED, *NATURAL)
    integrity = [it.data.shoe_integrity for it in table.events if isinstance(it.data, RoundStarted)]
    assert integrity == ["partial", "partial", "complete"]
    assert table.shown.shoe_integrity == "complete"


# --- the link and the device


def test_each_change_of_the_link_is_published() -> None:
    """The events are online, quiet, online and offline with a reason."""
    assert TableRun().hear_each([OPENED, QUIET, AGAIN, closed("the cable is out")]) == [
        DeviceOnline(port=PORT),
        DeviceQuiet(port=PORT, since="2023-11-14T22:13:20.000000Z"),
        DeviceOnline(port=PORT),
        DeviceOffline(port=PORT, reason="the cable is out"),
    ]


def doubted(reason: DeviceDoubt, detail: str) -> AnyObservation:
    return observations.DoubtRaised(at=START, reason=reason, detail=detail)


def trusted(reason: DeviceDoubt) -> AnyObservation:
    return observations.DoubtEnded(at=START, reason=reason)


def test_doubts_about_a_device_are_published_and_shown_until_they_end() -> None:
    """Each has its reason, and a quiet or active link does not change them."""
    table = after(OPENED)
    assert table.hear(doubted(DeviceDoubt.WRONG_ROLE, "a shuffler")) == [
        DeviceDoubted(reason=DeviceDoubt.WRONG_ROLE, detail="a shuffler")
    ]
    table.hear(doubted(DeviceDoubt.CLOCK_JUMPS, "back"))
    table.hear_each([QUIET, AGAIN])
    assert table.shown.device.link is LinkStatus.ONLINE
    assert table.shown.device.reason == "wrong-role: a shuffler; clock-jumps: back"
    table.hear(doubted(DeviceDoubt.CLOCK_JUMPS, "ahead"))
    assert table.hear(trusted(DeviceDoubt.WRONG_ROLE)) == [DeviceTrusted(reason=DeviceDoubt.WRONG_ROLE)]
    assert table.shown.device.reason == "clock-jumps: ahead"
    table.hear(trusted(DeviceDoubt.CLOCK_JUMPS))
    assert table.shown.device.reason is None


@pytest.mark.parametrize("end", [closed("pulled"), OPENED], ids=["closed", "opened"])
def test_a_change_of_the_link_ends_the_doubts_about_its_device(end: LinkClosed | LinkOpened) -> None:
    """The trust is published before the link: the next device on the line may be another one."""
    table = after(OPENED, doubted(DeviceDoubt.NO_HELLO, "none"), doubted(DeviceDoubt.CLOCK_JUMPS, "back"))
    published = table.hear(end)
    assert published[:2] == [DeviceTrusted(reason=DeviceDoubt.NO_HELLO), DeviceTrusted(reason=DeviceDoubt.CLOCK_JUMPS)]
    assert len(published) == 3
    assert table.shown.device.reason == ("pulled" if isinstance(end, LinkClosed) else None)


def test_an_absent_port_is_published_once_for_each_reason() -> None:
    """A retry with the same reason publishes no event; a retry after a success does."""
    table = after(closed("refused"))
    assert table.hear(closed("refused")) == []
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]
    table.hear(OPENED)
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]


IDENTITY: Final = Identified(at=START, frame=FRAME, vendor="V", model="M", serial="1", firmware="2.0", protocol="2")
IDENTITY_PUBLISHED: Final = DeviceIdentified(vendor="V", model="M", serial="1", firmware="2.0", protocol="2")


def with_identifying_shoe() -> TableRun:
    table = TableRun()
    table.settings = msgspec.structs.replace(table.settings, identify=(Device.SHOE,))
    return table


def test_a_device_that_identifies_itself_is_online_after_its_identity() -> None:
    """An open line is not enough; until then the state stays the same."""
    table = with_identifying_shoe()
    table.hear(closed("no such host"))
    assert table.hear(OPENED) == []
    assert (table.shown.device.link, table.shown.device.reason) == (LinkStatus.OFFLINE, "no such host")
    assert table.hear(IDENTITY) == [DeviceOnline(port=PORT), IDENTITY_PUBLISHED]
    assert (table.shown.device.link, table.shown.device.reason) == (LinkStatus.ONLINE, None)
    assert table.hear(IDENTITY) == [IDENTITY_PUBLISHED]
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]


def test_a_line_that_opens_and_closes_without_a_report_is_published_once() -> None:
    """The device was never online, and only another reason is published."""
    table = with_identifying_shoe()
    assert table.hear_each([OPENED, closed("hung up"), OPENED, closed("hung up"), OPENED, closed("busy")]) == [
        DeviceOffline(port=PORT, reason="hung up"),
        DeviceOffline(port=PORT, reason="busy"),
    ]


def test_a_valid_report_replaces_the_identity() -> None:
    """A host that only listens may never receive an identity."""
    table = with_identifying_shoe()
    first, *_ = table.hear_each([OPENED, NATURAL[0]])
    assert first == DeviceOnline(port=PORT)


def test_noise_does_not_bring_an_unidentified_device_online() -> None:
    """The quiet event is published once; after the identity the device behaves as any other."""
    table = with_identifying_shoe()
    quiet = DeviceQuiet(port=PORT, since="2023-11-14T22:13:20.000000Z")
    assert table.hear_each([OPENED, QUIET, AGAIN, QUIET]) == [quiet]
    assert table.hear_each([IDENTITY, QUIET, AGAIN]) == [
        DeviceOnline(port=PORT),
        IDENTITY_PUBLISHED,
        quiet,
        DeviceOnline(port=PORT),
    ]


def test_faults_and_their_clearing_are_published_and_shown() -> None:
    """The state shows the last fault until it is cleared."""
    table = TableRun()
    assert table.hear(fault(6, "card-code", blocking=False)) == [DeviceFault(code=6, name="card-code", blocking=False)]
    assert msgspec.to_builtins(table.shown.device.fault) == {"code": 6, "name": "card-code", "blocking": False}
    assert table.hear(CLEARED) == [DeviceCleared(code=1, name="cannot-read")]
    assert table.shown.device.fault is None


def test_locks_and_presets_are_published() -> None:
    """The state shows the lock."""
    table = TableRun()
    shown = []
    assert table.hear(lock(locked=True)) == [DeviceLocked()]
    shown.append(table.shown.device.locked)
    assert table.hear(lock(locked=False)) == [DeviceUnlocked()]
    shown.append(table.shown.device.locked)
    assert shown == [True, False]
    assert table.hear(PRESET) == [DeviceChanged(address="01", value="0005")]


@pytest.mark.parametrize("nothing", [COPY, STOOD_BY, OrderAnswered(at=START, order="lock", accepted=True, detail="")])
def test_observations_without_an_effect_publish_no_event(nothing: AnyObservation) -> None:
    """Copies, stand-by and answers to device orders are recorded only."""
    for before in ([], NATURAL[:2], NATURAL):
        table = after(*before)
        phase = table.shown.phase
        assert table.hear(nothing) == []
        assert table.shown.phase is phase


# --- the line


def test_reports_lost_on_an_open_line_are_published_and_make_the_round_partial() -> None:
    """The event contains the expected sequence number."""
    table = after(*NATURAL[:2])
    assert table.hear(JUMPED) == [LineMissed(expected="2", seen="4")]
    table.hear_each(NATURAL[2:])
    assert completed(table.answer("cards-shown")).integrity == "partial"


def test_a_clash_is_published_and_its_report_is_accepted() -> None:
    """Equal sequence number and different bytes: a new report, and a warning with both."""
    table = after(*NATURAL[:2])
    published = table.hear(CLASHED, NATURAL[2])
    assert published[0] == LineClashed(sequence="4", bytes=FRAME.raw, previous="05 34 50 03 36 37")
    assert kinds(published[1:]) == [CardDrawn]


def test_a_clash_leaves_the_round_complete() -> None:
    """Some shoes do not advance their sequence number at a start, and no card is lost."""
    table = after(*NATURAL[:2], STARTED, CLASHED)
    assert completed(table.hear_each(NATURAL[2:])).integrity == "complete"


def test_the_first_rejected_bytes_are_published_at_once() -> None:
    """The event contains the bytes, their offset and the reason."""
    assert TableRun().hear(rejected("05 05", 7, "torn", "incomplete report")) == [
        LineRejected(bytes="05 05", offset=7, reason="torn", detail="incomplete report", count=1, size=2)
    ]


def test_further_rejected_bytes_are_counted_and_published_every_ten_seconds() -> None:
    """The last of them is published with the count at a moment that the table requests."""
    table = after(rejected(offset=1))
    first_at = table.now.mono_ns
    assert table.hear_each([rejected(offset=2), rejected(offset=3)]) == []
    assert wake_at(table.state) == first_at + 10 * SECOND_NS
    assert table.hear(after_s=7.999) == []
    table.pass_time(0.001)
    published = table.hear(after_s=0)
    assert [(each.offset, each.count) for each in published if isinstance(each, LineRejected)] == [(3, 2)]
    assert table.hear(rejected(offset=4)) == []
    published = table.hear(after_s=9)
    assert [(each.offset, each.count) for each in published if isinstance(each, LineRejected)] == [(4, 1)]


def test_ten_seconds_without_rejected_bytes_end_the_count() -> None:
    """The next rejected bytes are published at once."""
    table = after(rejected(offset=1))
    assert table.hear(after_s=10) == []
    assert wake_at(table.state) is None
    assert kinds(table.hear(rejected(offset=2), after_s=0)) == [LineRejected]


def test_many_rejected_bytes_are_one_event_with_a_count() -> None:
    """A faulty line does not cause one event for each frame or Step."""
    table = TableRun()
    assert len(table.hear(*(rejected(offset=n) for n in range(1000)))) == 1
    assert table.hear(rejected(offset=1000), after_s=0) == []
    published = table.hear(after_s=10)
    assert [(each.offset, each.count) for each in published if isinstance(each, LineRejected)] == [(1000, 1000)]


@pytest.mark.parametrize("boot_ns", [0, 100_000 * SECOND_NS])
def test_a_line_that_opens_again_ends_the_count_on_any_clock(boot_ns: int) -> None:
    """The count is published first; the monotonic clock may be the clock of another boot."""
    table = after(rejected(offset=1), rejected(offset=2))
    table.now = Now(table.now.utc_us, boot_ns)
    published = table.hear(OPENED, after_s=0)
    assert [(each.offset, each.count) for each in published if isinstance(each, LineRejected)] == [(2, 1)]
    assert wake_at(table.state) is None
    assert kinds(table.hear(rejected(offset=3), after_s=0)) == [LineRejected]


def test_a_late_chunk_starts_no_new_count() -> None:
    """Its timestamp precedes the end of the ten seconds, and it belongs to the current count."""
    table = after(rejected(offset=1), rejected(offset=2))
    table.hear(after_s=10)
    assert table.hear(rejected(offset=3), after_s=-0.001) == []


# --- the state


def test_the_state_without_any_input_has_every_field() -> None:
    """An unknown value is `null`."""
    assert TableRun().message == {
        "sequence": "0",
        "phase": "idle",
        "game": "commission",
        "shoe": None,
        "shoe_integrity": "partial",
        "round": None,
        "hands": {"player": {"cards": [], "points": 0}, "banker": {"cards": [], "points": 0}},
        "last_round": None,
        "device": {"link": "offline", "reason": None, "heard_at": None, "fault": None, "locked": False},
        "insurance": [],
        "shuffler": None,
        "questions": [],
        "journal": None,
        "incarnation": None,
        "time": None,
    }


def test_a_late_subscriber_can_draw_the_table() -> None:
    """The state contains the last round, the current hands, the device and the time of its last report."""
    table = after(OPENED, *NATURAL, result("player"), *cards("P1 2S, B1 KH"), closed("the cable is out"))
    assert table.message == {
        "sequence": str(len(table.events)),
        "phase": "dealing",
        "game": "commission",
        "shoe": 1,
        "shoe_integrity": "partial",
        "round": 2,
        "hands": {"player": {"cards": ["2S"], "points": 2}, "banker": {"cards": ["KH"], "points": 0}},
        "last_round": {
            "shoe": 1,
            "round": 1,
            "hands": {
                "player": {"cards": ["8S", "KS"], "points": 8},
                "banker": {"cards": ["3H", "4H"], "points": 7},
            },
            "result": {"outcome": "player", "pairs": []},
            "integrity": "complete",
            "answer": "confirmed",
            "void": False,
            "pays": {
                "player": {"pays": "1:1", "clause": "4.1.2"},
                "banker": {"pays": "lose", "clause": "3.13"},
                "tie": {"pays": "lose", "clause": "1.19"},
                "player-pair": {"pays": "lose", "clause": "1.13"},
                "banker-pair": {"pays": "lose", "clause": "1.13"},
            },
        },
        "device": {
            "link": "offline",
            "reason": "the cable is out",
            "heard_at": "2023-11-14T22:13:28.000000Z",
            "fault": None,
            "locked": False,
        },
        "insurance": [],
        "shuffler": None,
        "questions": [],
        "journal": None,
        "incarnation": None,
        "time": "2023-11-14T22:13:29.000000Z",
    }


@pytest.mark.parametrize(
    ("then", "answer"),
    [
        ([], "awaited"),
        ([result("player")], "confirmed"),
        ([result("tie")], "disputed"),
        ([card("P1", "5D")], "unconfirmed"),
    ],
)
def test_the_last_round_shows_the_answer_of_the_shoe(then: list[AnyObservation], answer: str) -> None:
    """It is shown from the completing card on."""
    last = after(*NATURAL, *then).shown.last_round
    assert last is not None
    assert last.answer.value == answer


# --- a start after the cut card, before the first card of a round


def test_a_suspended_round_stays_suspended_after_the_shoe_starts() -> None:
    """The question about the house rules keeps its id, and the first card waits for the answer."""
    table = TableRun(custom=Custom(rounds_after_cut=0))
    table.hear_each([*NATURAL, CUT])
    table.tell(OpenBets())
    asked = table.question
    assert (asked.question, table.phase) == ("confirm", "suspended")
    assert table.hear(STARTED) == []
    assert kinds(table.hear(card("P1", "2D"))) == [BetsClosed, CardSetAside]
    assert (table.question.question, table.question.optional) == ("restart", False)
    assert [each.then_asks for each in table.question.consequences] == ["confirm", None]
    assert kinds(table.answer("reconnection")) == [QuestionAnswered]
    assert (table.question.question, table.question.id, table.phase) == ("confirm", asked.id, "suspended")
    table.answer("no")
    assert (table.shown.shoe, table.shown.round, table.hands) == (1, 2, "2D /")


@pytest.mark.parametrize("order", [[CUT, OpenBets()], [OpenBets(), CUT]])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("answer", ["reconnection", "new-shoe"])
def test_the_answer_to_a_restart_may_precede_the_first_card(order: list[object], answer: str, *, closed: bool) -> None:
    """The answer has its effect at once; until then no shoe begins and no round ends."""
    table = after(*NATURAL)
    for each in order:
        table.tell(each) if isinstance(each, OpenBets) else table.hear(CUT)
    if closed:
        table.tell(CloseBets())
    assert kinds(table.hear(STARTED)) == []
    assert (table.question.question, table.question.proposed, table.phase) == (
        "restart",
        "reconnection",
        "closed" if closed else "betting",
    )
    published = kinds(table.answer(answer))
    if answer == "new-shoe":
        assert published == [QuestionAnswered, RoundAbandoned, ShoeStarted]
        assert kinds(table.hear(card("P1", "2D"))) == [RoundStarted, CardDrawn]
        return
    assert published == [QuestionAnswered]
    assert kinds(table.hear(card("P1", "2D")))[-1] is CardDrawn
    assert (table.shown.shoe, table.shown.round) == (1, 2)


def test_cards_before_the_answer_belong_to_the_open_round() -> None:
    """A whole round waits for the answer, and then the round is complete."""
    table = after(*NATURAL, CUT)
    table.tell(OpenBets())
    table.hear_each([STARTED, *NATURAL])
    assert (table.question.question, table.phase) == ("restart", "suspended")
    assert kinds(table.answer("reconnection"))[-2:] == [RoundResumed, RoundCompleted]
    assert (table.shown.shoe, table.shown.round) == (1, 2)


def test_a_card_in_no_hand_does_not_prove_the_shoe() -> None:
    """The card is in question, and the next card of a hand waits for the answer to the restart."""
    table = after(*NATURAL, CUT)
    table.tell(OpenBets())
    table.tell(CloseBets())
    table.hear_each([STARTED, card("locked", "9C")])
    assert table.question.question == "reading"
    table.answer("due")
    assert (table.question.question, table.question.optional) == ("restart", True)
    table.hear(card("B1", "KH"))
    assert (table.question.question, table.question.optional, table.question.proposed) == (
        "restart",
        False,
        "reconnection",
    )
    table.answer("reconnection")
    assert table.hands == "9C / KH"


ABANDONED: Final = "The present round is abandoned and has no result."


def test_an_answer_states_that_it_abandons_the_round() -> None:
    """Player's first card belongs to another round: both answers abandon the open one."""
    table = after(*NATURAL[:2], CUT, STARTED, card("P1", "2D"))
    assert [each.effect for each in table.question.consequences] == [
        f"The same shoe restarted. {ABANDONED} Banker's first card is next.",
        f"A new shoe begins. {ABANDONED}",
    ]
    assert RoundAbandoned in kinds(table.answer("reconnection"))


def test_an_answer_that_completes_the_round_does_not_state_an_abandonment() -> None:
    """The round has its cards and waits only for the choice of the players."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[DrawnTogether(at=START, cards=(Card.DJ, Card.C4), order_known=True, evidence="")])
    assert table.question.question == "option"
    table.hear_each([CUT, STARTED, card("P1", "2D")])
    assert table.question.question == "restart"
    assert table.question.consequences[0].effect == ("The same shoe restarted. Banker's first card is next.")
    published = kinds(table.answer("reconnection"))
    assert RoundCompleted in published
    assert RoundAbandoned not in published


@pytest.mark.parametrize("lost", [JUMPED, UNPROVEN])
def test_the_reason_of_an_abandoned_round_names_the_gap(lost: AnyObservation) -> None:
    """Without a gap the reason is the start of the next round."""
    plain = "the next round began"
    for before, reason in (
        ([], plain),
        ([lost], f"{plain}, and reports of this round were lost, or may have been lost"),
    ):
        published = after(*NATURAL[:2], *before).hear(card("P1", "2D"))
        assert [each.reason for each in published if isinstance(each, RoundAbandoned)] == [reason]
