"""The table, clause by clause as the contract has it: result, shoe, line and device, and what is shown of it all."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed import observations
from shoed.cards import Card
from shoed.commands import CloseBets, OpenBets
from shoed.device_events import (
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
from shoed.events import (
    BetsClosed,
    CardDrawn,
    CardSetAside,
    QuestionAnswered,
    Result,
    RoundAbandoned,
    RoundCompleted,
    RoundConfirmed,
    RoundDisputed,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundUnconfirmed,
    Seen,
    ShoeCut,
    ShoeStarted,
    Slot,
)
from shoed.findings import DrawnTogether
from shoed.now import Now
from shoed.observations import (
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
)
from shoed.table import wake_at
from shoed.table.context import Custom
from shoed.table.state import Link
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
    Sitting,
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


def test_a_result_like_ours_confirms() -> None:
    """Outcome and pairs; both results are told."""
    table = after(*dealt("8S 8H", "KH KD 5C"))
    same = Result(Outcome.PLAYER, (Pair.PLAYER, Pair.BANKER))
    assert table.hear(result("player", "player", "banker")) == [RoundConfirmed(shoe=1, round=1, ours=same, theirs=same)]


@pytest.mark.parametrize(
    "theirs",
    [result("banker"), result("tie"), result("player", "player"), result("player", "banker"), result("forced-end")],
)
def test_any_other_result_disputes(theirs: AnyObservation) -> None:
    """Another outcome, a pair that is none, or a forced end: ours stays as it is."""
    table = after(*NATURAL)
    (told,) = table.hear(theirs)
    assert isinstance(told, RoundDisputed)
    assert told.ours == Result(Outcome.PLAYER, ())
    assert told.theirs != told.ours
    assert table.shown.last_round is not None
    assert table.shown.last_round.result == told.ours


def test_the_same_answer_is_told_once() -> None:
    """A result that is sent again says nothing new; another one does."""
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
        (1, Slot(Pair.BANKER, 1, 2)),
        (2, Slot(Pair.PLAYER, 2, 3)),
        (3, Slot(Pair.BANKER, 2, 4)),
        (4, Slot(Pair.PLAYER, 3, 5)),
        (5, Slot(Pair.BANKER, 3, 6)),
    ],
)
def test_a_result_before_the_last_card_due_suspends(outcome: str, seen: int, due: Slot) -> None:
    """The card that is due is named beside what came instead; no result is answered."""
    table = after(*SIX_CARDS[:seen])
    theirs = Seen(result=Result(Outcome(outcome), ()))
    assert table.hear(result(outcome)) == [RoundSuspended(shoe=1, round=1, due=due, seen=theirs, gap=False)]
    assert table.shown.phase.value == "suspended"


def test_a_result_for_a_suspended_round_changes_nothing() -> None:
    """There is nothing of ours to compare it with."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.hear(result("banker")) == []
    assert table.shown.phase.value == "suspended"


def test_a_completed_round_is_answered_even_if_a_card_too_many_came_first() -> None:
    """Its result is known; the excess card does not take it back."""
    table = after(*NATURAL, card("B3", "2C"))
    assert kinds(table.hear(result("player"))) == [RoundConfirmed]
    assert table.shown.phase.value == "suspended"
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_result_without_a_round_is_of_no_round() -> None:
    """Before the first round of a shoe it answers nothing."""
    assert after(OPENED).hear(result("tie")) == []


def test_a_round_without_a_result_is_unconfirmed_when_the_next_opens() -> None:
    """Told before the next round's start, and only where no result came."""
    table = after(*NATURAL)
    assert table.hear(card("P1", "5D"))[0] == RoundUnconfirmed(shoe=1, round=1)
    table = after(*NATURAL, result("banker"))
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_round_without_a_result_is_unconfirmed_across_a_change_of_shoe_too() -> None:
    """The last round of a shoe is one like any other: the next round opens in the next shoe."""
    table = after(*NATURAL)
    told = table.hear_each([CUT, STARTED, card("P1", "5D")])
    assert [each for each in told if isinstance(each, RoundUnconfirmed)] == [RoundUnconfirmed(shoe=1, round=1)]


@pytest.mark.parametrize("missed", [JUMPED, UNPROVEN])
@pytest.mark.parametrize("answered", [(), (result("player"),)])
def test_a_result_after_missed_reports_is_no_round_s_that_we_know(
    missed: AnyObservation, answered: tuple[AnyObservation, ...]
) -> None:
    """A whole round may have been missed: it neither confirms nor disputes, and the next round begins afresh."""
    table = after(*NATURAL, *answered)
    told = table.hear_each([missed, result("banker"), result("player")])
    assert not [each for each in told if isinstance(each, RoundConfirmed | RoundDisputed)]
    table.hear_each(NATURAL)
    assert kinds(table.hear(result("player"))) == [RoundConfirmed]


def test_a_card_too_many_after_the_last_round_does_not_hide_the_next_shoe() -> None:
    """All cards of that round are drawn, so it is not open; what it waited on is answered by the change of shoe."""
    table = after(*NATURAL, result("player"), CUT, card("B3", "5D"))
    assert table.shown.phase.value == "suspended"
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]
    assert table.state.suspended is None


def test_a_shoe_that_may_have_begun_unseen_is_partial() -> None:
    """After the cut reports were missed: nobody saw this shoe from its start."""
    earlier = replace(UNPROVEN, frame=Evidence("05 34 50 03 36 37", 80, "4"))
    assert after(*NATURAL, CUT, earlier, *NATURAL).hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="partial")]


def test_a_result_that_comes_after_the_change_of_shoe_is_still_that_of_the_last_round() -> None:
    """No round has opened since: it is answered, under the shoe and round that it had, and once."""
    table = after(*NATURAL, CUT, STARTED)
    (told,) = table.hear(result("player"))
    assert isinstance(told, RoundConfirmed)
    assert (told.shoe, told.round) == (1, 1)
    assert kinds(table.hear(card("P1", "5D"))) == [RoundStarted, CardDrawn]


def test_a_result_in_the_next_shoe_is_of_no_round_that_was_answered() -> None:
    """What was answered before the change of shoe stays as it was."""
    assert after(*NATURAL, result("player"), CUT, STARTED).hear(result("tie")) == []


# --- the shoe


def test_the_cutting_card_is_told_once_each_time_it_comes() -> None:
    """With shoe and round where there are any."""
    assert Sitting().hear(CUT) == [ShoeCut(shoe=None, round=None)]
    assert after(card("burn", "QC")).hear(CUT) == [ShoeCut(shoe=1, round=None)]
    assert after(*NATURAL).hear_each([CUT, COPY, COPY]) == [ShoeCut(shoe=1, round=1)]


def test_start_of_communication_after_a_cut_is_a_new_shoe() -> None:
    """With no round open; what was cut is cut once: the next start alone is a reconnection."""
    table = after(*NATURAL, result("player"), CUT)
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]
    assert table.hear(STARTED) == []
    assert (table.shown.shoe, table.shown.round, table.shown.phase.value) == (2, None, "idle")


@pytest.mark.parametrize("before", [[], NATURAL[:2], NATURAL, [*NATURAL[:2], card("B3", "2C")]])
def test_start_of_communication_alone_is_a_reconnection(before: list[AnyObservation]) -> None:
    """Nothing of shoe and round changes."""
    table = after(*before)
    shown = table.shown
    assert table.hear(STARTED) == []
    assert (table.shown.shoe, table.shown.round, table.shown.phase) == (shown.shoe, shown.round, shown.phase)


@pytest.mark.parametrize("before", [NATURAL[:2], [*NATURAL[:2], card("B3", "2C")]])
def test_a_start_with_a_round_open_is_a_reconnection_even_after_a_cut(before: list[AnyObservation]) -> None:
    """The cutting card comes in the middle of a round; the shoe is played on until that round is over."""
    table = after(*before, CUT)
    assert table.hear(STARTED) == []
    assert table.shown.shoe == 1


def test_a_cut_is_remembered_over_the_rounds_that_follow_it() -> None:
    """One more round is dealt after the cutting card, and then the shoe changes."""
    table = after(*NATURAL[:2], CUT, *NATURAL[2:], result("player"), *TIE, result("tie"))
    assert table.hear(STARTED) == [ShoeStarted(shoe=2, shoe_integrity="complete")]


def test_a_shoe_first_seen_midway_is_partial_until_the_next_one() -> None:
    """Every round of it says so, and every round of the next that it is complete."""
    table = after(*NATURAL, result("player"), *TIE, result("tie"), CUT, STARTED, *NATURAL)
    integrity = [it.data.shoe_integrity for it in table.told if isinstance(it.data, RoundStarted)]
    assert integrity == ["partial", "partial", "complete"]
    assert table.shown.shoe_integrity == "complete"


# --- the link and the device


def test_the_link_is_told_as_it_comes_and_goes() -> None:
    """Online, quiet, heard again, offline with its reason."""
    assert Sitting().hear_each([OPENED, QUIET, AGAIN, closed("the cable is out")]) == [
        DeviceOnline(port=PORT),
        DeviceQuiet(port=PORT, since="2023-11-14T22:13:20.000000Z"),
        DeviceOnline(port=PORT),
        DeviceOffline(port=PORT, reason="the cable is out"),
    ]


def doubted(reason: DeviceDoubt, detail: str) -> AnyObservation:
    return observations.DeviceDoubted(at=START, reason=reason, detail=detail)


def trusted(reason: DeviceDoubt) -> AnyObservation:
    return observations.DeviceTrusted(at=START, reason=reason)


def test_doubts_about_a_device_are_told_and_shown_until_they_end() -> None:
    """Each with its reason; a link that is heard again or quiet changes nothing about them."""
    table = after(OPENED)
    assert table.hear(doubted(DeviceDoubt.WRONG_ROLE, "a shuffler")) == [
        DeviceDoubted(reason=DeviceDoubt.WRONG_ROLE, detail="a shuffler")
    ]
    table.hear(doubted(DeviceDoubt.CLOCK_JUMPS, "back"))
    table.hear_each([QUIET, AGAIN])
    assert table.shown.device.link is Link.ONLINE
    assert table.shown.device.reason == "wrong-role: a shuffler; clock-jumps: back"
    table.hear(doubted(DeviceDoubt.CLOCK_JUMPS, "ahead"))
    assert table.hear(trusted(DeviceDoubt.WRONG_ROLE)) == [DeviceTrusted(reason=DeviceDoubt.WRONG_ROLE)]
    assert table.shown.device.reason == "clock-jumps: ahead"
    table.hear(trusted(DeviceDoubt.CLOCK_JUMPS))
    assert table.shown.device.reason is None


@pytest.mark.parametrize("end", [closed("pulled"), OPENED], ids=["closed", "opened"])
def test_a_link_ends_the_doubts_about_its_device(end: LinkClosed | LinkOpened) -> None:
    """They are trusted before the link is told: what is on the line next is another device, perhaps."""
    table = after(OPENED, doubted(DeviceDoubt.NO_HELLO, "none"), doubted(DeviceDoubt.CLOCK_JUMPS, "back"))
    told = table.hear(end)
    assert told[:2] == [DeviceTrusted(reason=DeviceDoubt.NO_HELLO), DeviceTrusted(reason=DeviceDoubt.CLOCK_JUMPS)]
    assert len(told) == 3
    assert table.shown.device.reason == ("pulled" if isinstance(end, LinkClosed) else None)


def test_a_port_that_stays_away_is_told_once_for_each_reason() -> None:
    """Trying again and again is no news; another reason is, and so is going again after it was there."""
    table = after(closed("refused"))
    assert table.hear(closed("refused")) == []
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]
    table.hear(OPENED)
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]


WHO: Final = Identified(at=START, frame=FRAME, vendor="V", model="M", serial="1", firmware="2.0", protocol="2")
WHO_TOLD: Final = DeviceIdentified(vendor="V", model="M", serial="1", firmware="2.0", protocol="2")


def of_a_device_that_identifies_itself() -> Sitting:
    table = Sitting()
    table.settings = msgspec.structs.replace(table.settings, identify=(Device.SHOE,))
    return table


def test_a_device_that_identifies_itself_is_online_once_it_has() -> None:
    """An open line proves nothing of it: until then its state is what the last event gave."""
    table = of_a_device_that_identifies_itself()
    table.hear(closed("no such host"))
    assert table.hear(OPENED) == []
    assert (table.shown.device.link, table.shown.device.reason) == (Link.OFFLINE, "no such host")
    assert table.hear(WHO) == [DeviceOnline(port=PORT), WHO_TOLD]
    assert (table.shown.device.link, table.shown.device.reason) == (Link.ONLINE, None)
    assert table.hear(WHO) == [WHO_TOLD]
    assert table.hear(closed("no such host")) == [DeviceOffline(port=PORT, reason="no such host")]


def test_a_line_that_opens_and_closes_without_a_word_is_told_once() -> None:
    """It was never online: only another reason is news."""
    table = of_a_device_that_identifies_itself()
    assert table.hear_each([OPENED, closed("hung up"), OPENED, closed("hung up"), OPENED, closed("busy")]) == [
        DeviceOffline(port=PORT, reason="hung up"),
        DeviceOffline(port=PORT, reason="busy"),
    ]


def test_a_good_report_is_as_good_as_a_name() -> None:
    """A host that only listens may never hear one: the first report it takes says that the device is there."""
    table = of_a_device_that_identifies_itself()
    first, *_ = table.hear_each([OPENED, NATURAL[0]])
    assert first == DeviceOnline(port=PORT)


def test_a_device_that_has_not_identified_itself_is_quiet_once_and_not_online_for_noise() -> None:
    """Bytes that are no frames do not make it online; its name does, and from then on it is as any other."""
    table = of_a_device_that_identifies_itself()
    quiet = DeviceQuiet(port=PORT, since="2023-11-14T22:13:20.000000Z")
    assert table.hear_each([OPENED, QUIET, AGAIN, QUIET]) == [quiet]
    assert table.hear_each([WHO, QUIET, AGAIN]) == [DeviceOnline(port=PORT), WHO_TOLD, quiet, DeviceOnline(port=PORT)]


def test_faults_and_their_clearing_are_told_and_shown() -> None:
    """The last fault stands in the state until it is cleared."""
    table = Sitting()
    assert table.hear(fault(6, "card-code", blocking=False)) == [DeviceFault(code=6, name="card-code", blocking=False)]
    assert msgspec.to_builtins(table.shown.device.fault) == {"code": 6, "name": "card-code", "blocking": False}
    assert table.hear(CLEARED) == [DeviceCleared(code=1, name="cannot-read")]
    assert table.shown.device.fault is None


def test_locking_and_presets_are_told() -> None:
    """A lock is shown as well."""
    table = Sitting()
    shown = []
    assert table.hear(lock(locked=True)) == [DeviceLocked()]
    shown.append(table.shown.device.locked)
    assert table.hear(lock(locked=False)) == [DeviceUnlocked()]
    shown.append(table.shown.device.locked)
    assert shown == [True, False]
    assert table.hear(PRESET) == [DeviceChanged(address="01", value="0005")]


@pytest.mark.parametrize("nothing", [COPY, STOOD_BY, OrderAnswered(at=START, order="lock", accepted=True, detail="")])
def test_what_changes_nothing_for_anybody_is_not_told(nothing: AnyObservation) -> None:
    """Copies, stand-by and answers to orders are on record, and no event."""
    for before in ([], NATURAL[:2], NATURAL):
        table = after(*before)
        phase = table.shown.phase
        assert table.hear(nothing) == []
        assert table.shown.phase is phase


# --- the line


def test_reports_lost_on_an_open_line_are_told_and_leave_the_round_unproven() -> None:
    """The jump is told with what was expected; a round under way is no longer proven whole."""
    table = after(*NATURAL[:2])
    assert table.hear(JUMPED) == [LineMissed(expected="2", seen="4")]
    table.hear_each(NATURAL[2:])
    assert completed(table.answer("cards-shown")).integrity == "partial"


def test_a_clash_is_told_and_its_report_is_taken() -> None:
    """Same sequence, other bytes: a new report, and a warning with both."""
    table = after(*NATURAL[:2])
    told = table.hear(CLASHED, NATURAL[2])
    assert told[0] == LineClashed(sequence="4", bytes=FRAME.raw, previous="05 34 50 03 36 37")
    assert kinds(told[1:]) == [CardDrawn]


def test_a_clash_is_a_warning_and_takes_nothing_from_the_round() -> None:
    """The line was never away: a shoe that does not advance on its start of communication loses no card by it."""
    table = after(*NATURAL[:2], STARTED, CLASHED)
    assert completed(table.hear_each(NATURAL[2:])).integrity == "complete"


def test_the_first_rejected_bytes_are_told_at_once() -> None:
    """With the bytes, their offset and the reason."""
    assert Sitting().hear(rejected("05 05", 7, "torn", "report broken off")) == [
        LineRejected(bytes="05 05", offset=7, reason="torn", detail="report broken off", count=1, size=2)
    ]


def test_further_rejected_bytes_are_counted_and_told_every_ten_seconds() -> None:
    """The last of them with the count, by a waking that the table asked for; then the next ten seconds begin."""
    table = after(rejected(offset=1))
    first_at = table.now.mono_ns
    assert table.hear_each([rejected(offset=2), rejected(offset=3)]) == []
    assert wake_at(table.state) == first_at + 10 * SECOND_NS
    assert table.hear(after_s=7.999) == []
    table.pass_time(0.001)
    told = table.hear(after_s=0)
    assert [(each.offset, each.count) for each in told if isinstance(each, LineRejected)] == [(3, 2)]
    assert table.hear(rejected(offset=4)) == []
    told = table.hear(after_s=9)
    assert [(each.offset, each.count) for each in told if isinstance(each, LineRejected)] == [(4, 1)]


def test_ten_seconds_without_any_end_the_counting() -> None:
    """After that the next one is told at once again, and nothing is waited for in between."""
    table = after(rejected(offset=1))
    assert table.hear(after_s=10) == []
    assert wake_at(table.state) is None
    assert kinds(table.hear(rejected(offset=2), after_s=0)) == [LineRejected]


def test_many_at_one_moment_are_one_event_and_a_count() -> None:
    """A line gone mad does not make an event of each, nor of each Step."""
    table = Sitting()
    assert len(table.hear(*(rejected(offset=n) for n in range(1000)))) == 1
    assert table.hear(rejected(offset=1000), after_s=0) == []
    told = table.hear(after_s=10)
    assert [(each.offset, each.count) for each in told if isinstance(each, LineRejected)] == [(1000, 1000)]


@pytest.mark.parametrize("boot_ns", [0, 100_000 * SECOND_NS])
def test_a_line_that_opens_again_ends_the_counting_whatever_the_clock_says(boot_ns: int) -> None:
    """What was counted is told first; the monotonic clock may be that of another boot, and the next is told at once."""
    table = after(rejected(offset=1), rejected(offset=2))
    table.now = Now(table.now.utc_us, boot_ns)
    told = table.hear(OPENED, after_s=0)
    assert [(each.offset, each.count) for each in told if isinstance(each, LineRejected)] == [(2, 1)]
    assert wake_at(table.state) is None
    assert kinds(table.hear(rejected(offset=3), after_s=0)) == [LineRejected]


def test_a_chunk_that_waited_while_the_ten_seconds_ended_begins_no_new_ones() -> None:
    """Its stamp is a little older than the waking before it: it is counted like the others."""
    table = after(rejected(offset=1), rejected(offset=2))
    table.hear(after_s=10)
    assert table.hear(rejected(offset=3), after_s=-0.001) == []


# --- what is shown of it


def test_a_table_that_has_heard_nothing_shows_so() -> None:
    """Every field is there from the start; `null` is what is not known."""
    assert Sitting().message == {
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
    }


def test_a_late_joiner_can_draw_the_table() -> None:
    """In the middle of a round: the last round with its answer, this one's hands, the device and when it was heard."""
    table = after(OPENED, *NATURAL, result("player"), *cards("P1 2S, B1 KH"), closed("the cable is out"))
    assert table.message == {
        "sequence": str(len(table.told)),
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
def test_the_last_round_shows_what_the_shoe_made_of_it(then: list[AnyObservation], answer: str) -> None:
    """From the card that completed it on."""
    last = after(*NATURAL, *then).shown.last_round
    assert last is not None
    assert last.answer.value == answer


# --- a start after the cut card, before the first card of a round


def test_a_round_that_waits_still_waits_after_the_shoe_starts() -> None:
    """The suspicion of the house keeps its question, and its number, while the first card waits for the answer."""
    table = Sitting(custom=Custom(rounds_after_cut=0))
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
    assert (table.shown.shoe, table.shown.round, table.lies) == (1, 2, "2D /")


@pytest.mark.parametrize("order", [[CUT, OpenBets()], [OpenBets(), CUT]])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("answer", ["reconnection", "new-shoe"])
def test_a_person_answers_before_the_first_card(order: list[object], answer: str, *, closed: bool) -> None:
    """The answer is taken at once; until then no shoe begins and no round ends."""
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
    told = kinds(table.answer(answer))
    if answer == "new-shoe":
        assert told == [QuestionAnswered, RoundAbandoned, ShoeStarted]
        assert kinds(table.hear(card("P1", "2D"))) == [RoundStarted, CardDrawn]
        return
    assert told == [QuestionAnswered]
    assert kinds(table.hear(card("P1", "2D")))[-1] is CardDrawn
    assert (table.shown.shoe, table.shown.round) == (1, 2)


def test_cards_before_the_answer_belong_to_the_open_round() -> None:
    """A whole round waits for the answer; then each card has its place, and the round is complete."""
    table = after(*NATURAL, CUT)
    table.tell(OpenBets())
    table.hear_each([STARTED, *NATURAL])
    assert (table.question.question, table.phase) == ("restart", "suspended")
    assert kinds(table.answer("reconnection"))[-2:] == [RoundResumed, RoundCompleted]
    assert (table.shown.shoe, table.shown.round) == (1, 2)


def test_a_card_in_no_hand_is_asked_about_and_does_not_prove_the_shoe() -> None:
    """The first card of a hand waits for the answer, also after a card that had no hand."""
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
    assert table.lies == "9C / KH"


ABANDONED: Final = "The round is abandoned and has no result."


def test_an_answer_states_that_it_abandons_the_round() -> None:
    """Player's first card is of another round: neither answer plays the open one on."""
    table = after(*NATURAL[:2], CUT, STARTED, card("P1", "2D"))
    assert [each.effect for each in table.question.consequences] == [
        f"The shoe that was cut only started again. {ABANDONED} Banker's first card is next.",
        f"A new shoe begins. {ABANDONED}",
    ]
    assert RoundAbandoned in kinds(table.answer("reconnection"))


def test_an_answer_that_completes_the_round_does_not_state_that_it_is_abandoned() -> None:
    """The round has its cards, and waits only for the choice of the players."""
    table = after(*NATURAL[:3])
    table.step(NATURAL[3], found=[DrawnTogether(at=START, cards=(Card.DJ, Card.C4), order_known=True, evidence="")])
    assert table.question.question == "option"
    table.hear_each([CUT, STARTED, card("P1", "2D")])
    assert table.question.question == "restart"
    assert table.question.consequences[0].effect == (
        "The shoe that was cut only started again. Banker's first card is next."
    )
    told = kinds(table.answer("reconnection"))
    assert RoundCompleted in told
    assert RoundAbandoned not in told


@pytest.mark.parametrize("lost", [JUMPED, UNPROVEN])
def test_a_round_that_is_abandoned_after_a_gap_names_the_gap(lost: AnyObservation) -> None:
    """Whatever begins over it; without a gap, the reason is what began."""
    plain = "the next round began"
    for before, reason in (
        ([], plain),
        ([lost], f"{plain}, and reports of this round were lost, or may have been lost"),
    ):
        told = after(*NATURAL[:2], *before).hear(card("P1", "2D"))
        assert [each.reason for each in told if isinstance(each, RoundAbandoned)] == [reason]
