"""The numbering of Open Shoe, both ends on bad lines: each report once, in order."""

from random import Random
from typing import Final, TypeVar, assert_never

import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import (
    Alive,
    Empty,
    Hello,
    Identify,
    Loaded,
    OpenShoeAcknowledge,
    OpenShoeReport,
    OpenShoeRole,
    Requested,
    Resend,
    following,
)
from shoed.session import open_shoe_stream as stream
from shoed.session.open_shoe_stream import HALF, WINDOW, DeviceStore, Intake, OpenShoeRepeat, preceding, steps

T = TypeVar("T")
MS: Final = 1_000_000
A, B = 0xA, 0xB


def hello(store: DeviceStore) -> Hello:
    return Hello(store.stream, OpenShoeRole.SHOE, store.next, store.oldest, "", "", "", "")


def report(sequence: int, of: int = A, clock_us: int = 0, boot: int = 0) -> OpenShoeReport:
    return OpenShoeReport(1, sequence, of, clock_us, Empty(), boot, check=clock_us)


def booted(boot: int, next_: int = 7, oldest: int = 7) -> Hello:
    return Hello(A, OpenShoeRole.SHOE, next_, oldest, "", "", "", "", boot)


def greeted(boot: int, *, clock_us: int = 100) -> Intake:
    """The host received HELLO of this power-up and accepted report 7."""
    intake, _, _ = stream.greet(Intake(A, 7), booted(boot), 0)
    intake, _, verdict = stream.receive(intake, report(7, clock_us=clock_us, boot=boot), 1)
    assert verdict is OpenShoeRepeat.DUE
    return intake


def full(reports: int, room: int = 1024, first: int = 1) -> DeviceStore:
    store = DeviceStore(A, room=room, next=first)
    for at in range(reports):
        store, _ = stream.keep(store, Loaded(str(at)), at, 0)
    return store


class Play:
    """A device, a host, and a line that loses, doubles and swaps messages by a seed."""

    def __init__(self, seed: int, bad: float, first: int = 1) -> None:
        self.dice = Random(seed)
        self.bad = bad
        self.store = DeviceStore(A, next=first)
        self.intake = Intake(A, first)
        self.now = 0
        self.up: list[OpenShoeReport | Hello | Alive] = []
        self.down: list[Requested] = []
        self.taken: list[str] = []
        self.proven: list[bool] = []
        self.plugged = True
        self.open()

    def open(self) -> None:
        self.intake, asked = stream.opened(self.intake, self.now)
        self.down = [*asked]

    def say(self, text: str) -> None:
        self.store, sent = stream.keep(self.store, Loaded(text), self.now, self.now)
        self.up += sent

    def carried(self, messages: list[T]) -> list[T]:
        arrived: list[T] = []
        for each in messages if self.plugged else ():
            arrived += [each] * self.dice.choices((1, 0, 2), (1 - self.bad, self.bad * 0.7, self.bad * 0.3))[0]
        for at in range(len(arrived) - 1):
            if self.dice.random() < self.bad / 2:
                arrived[at : at + 2] = reversed(arrived[at : at + 2])
        messages.clear()
        return arrived

    def tick(self, ms: int = 50) -> None:
        self.now += ms * MS
        self.store, sent = stream.repeat(self.store, self.now)
        self.up += sent
        for each in self.carried(self.up):
            self.host(each)
        self.intake, asked = stream.wake(self.intake, self.now, 1000)
        self.down += asked
        for request in self.carried(self.down):
            self.device(request)

    def host(self, message: OpenShoeReport | Hello | Alive) -> None:
        before = self.intake
        match message:
            case Hello():
                self.intake, asked, proven = stream.greet(self.intake, message, self.now)
                self.proven.append(proven)
            case OpenShoeReport():
                self.intake, asked, verdict = stream.receive(self.intake, message, self.now)
                if verdict is OpenShoeRepeat.DUE:
                    assert isinstance(message.body, Loaded)
                    # A host killed before the commit has nothing of the Step. A host killed after the commit lost only
                    # its sends.
                    if self.dice.random() < self.bad / 10:
                        self.intake = before
                        self.open()
                        return
                    self.taken.append(message.body.set_id)
                    if self.dice.random() < self.bad / 10:
                        self.open()
                        return
            case Alive():
                self.intake, asked = stream.alive(self.intake, message, self.now)
            case _:
                assert_never(message)
        self.down += asked

    def device(self, request: Requested) -> None:
        match request:
            case OpenShoeAcknowledge():
                answer = stream.drop_acknowledged(self.store, request, self.now)
            case Resend():
                answer = stream.repeat_reports(self.store, request, self.now)
            case _:
                answer = None
        if answer is None:
            self.up.append(hello(self.store))
        else:
            self.store, sent = answer
            self.up += sent

    def settle(self) -> None:
        self.bad, self.plugged = 0, True
        for _ in range(400):
            self.tick()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("first", [1, 65_500], ids=["from 1", "wrapping"])
def test_each_report_is_accepted_once_and_in_order(seed: int, first: int) -> None:
    """Lost, doubled and swapped messages, a pulled cable and a killed host do not change the accepted reports."""
    play = Play(seed, bad=0.3, first=first)
    for at in range(120):
        play.say(str(at))
        if play.dice.random() < 0.05:
            play.plugged = not play.plugged
            if play.plugged:
                play.open()
        play.tick()
    play.settle()
    assert play.taken == [str(at) for at in range(120)]
    assert all(play.proven)
    assert play.store.kept == ()


@pytest.mark.parametrize("seed", range(20))
def test_a_device_that_lost_its_memory_has_a_new_stream(seed: int) -> None:
    """No report of the new stream is missed, although its HELLO is lost and its numbers are those of copies."""
    play = Play(seed, bad=0.3)
    for at in range(40):
        play.say(f"a{at}")
        play.tick()
    play.store = DeviceStore(B)
    for at in range(40):
        play.say(f"b{at}")
        play.tick()
    play.settle()
    old = [each for each in play.taken if each.startswith("a")]
    assert old == [f"a{at}" for at in range(len(old))]
    assert play.taken[len(old) :] == [f"b{at}" for at in range(40)]
    assert play.proven.count(False) == 1


def test_numbers_are_compared_across_their_end() -> None:
    """1 follows 65535. A number is later if it is less than half of the numbers ahead, and earlier otherwise."""
    assert (steps(65535, 1), steps(2, 65535), steps(7, 7)) == (1, 65533, 0)
    assert (preceding(1), preceding(2), preceding(3, by=5)) == (65535, 1, 65533)
    assert all(preceding(following(number)) == number for number in (1, 2, 65534, 65535))
    intake = Intake(A, 65535, greeted=True)
    assert [stream.weigh(intake, A, number) for number in (65535, 1, 65534)] == [
        OpenShoeRepeat.DUE,
        OpenShoeRepeat.LATER,
        OpenShoeRepeat.COPY,
    ]
    assert stream.weigh(Intake(A, 1, greeted=True), A, HALF) is OpenShoeRepeat.LATER
    assert stream.weigh(Intake(A, 1, greeted=True), A, HALF + 1) is OpenShoeRepeat.COPY


def test_a_missing_report_is_requested_once_a_second() -> None:
    """The first later report causes the request immediately, the next ones do not. The request is repeated."""
    intake = Intake(A, 7, greeted=True)
    intake, asked, verdict = stream.receive(intake, report(8), 0)
    assert (verdict, asked) == (OpenShoeRepeat.LATER, (Resend(A, 7),))
    intake, asked, verdict = stream.receive(intake, report(9), 1)
    assert (verdict, asked) == (OpenShoeRepeat.LATER, ())
    assert stream.wake(intake, 999 * MS, 1000) == (intake, ())
    intake, asked = stream.wake(intake, 1000 * MS, 1000)
    assert asked == (Resend(A, 7),)
    intake, asked, verdict = stream.receive(intake, report(7), 1001 * MS)
    assert (verdict, asked) == (OpenShoeRepeat.DUE, (OpenShoeAcknowledge(A, 7),))
    assert stream.wake_at(intake, 1000) is None


def test_another_stream_makes_the_host_request_hello() -> None:
    """Its report is dropped, its ALIVE has no effect; only HELLO begins it."""
    intake, asked, verdict = stream.receive(Intake(A, 7, greeted=True), report(7, of=B), 0)
    assert (verdict, asked, intake.due) == (OpenShoeRepeat.STRANGE, (Identify(),), 7)
    assert stream.alive(Intake(A, 7, greeted=True), Alive(B, 7), 0)[1] == (Identify(),)
    assert stream.alive(intake, Alive(B, 7), 0) == (intake, ())


def test_alive_of_an_idle_device_shows_a_lost_report() -> None:
    """ALIVE has the next number: a number after the due one shows a lost report, the due number does not."""
    intake = Intake(A, 7, greeted=True)
    assert stream.alive(intake, Alive(A, 7), 0) == (intake, ())
    assert stream.alive(intake, Alive(A, 8), 0)[1] == (Resend(A, 7),)


@pytest.mark.parametrize(
    ("hello", "proven", "due"),
    [
        pytest.param((A, 7, 7), True, 7, id="no new report"),
        pytest.param((A, 9, 5), True, 5, id="two new, two to compare"),
        pytest.param((A, 9, 8), False, 8, id="deleted before it was accepted"),
        pytest.param((B, 7, 7), False, 7, id="another stream"),
    ],
)
def test_a_hello_proves_continuity_or_does_not(hello: tuple[int, int, int], proven: bool, due: int) -> None:  # noqa: FBT001 -- a column of the table
    """Only HELLO of the same stream proves it, with the due number among its kept reports or as `next`."""
    of, upcoming, oldest = hello
    intake, asked, says = stream.greet(Intake(A, 7), Hello(of, OpenShoeRole.SHOE, upcoming, oldest, "", "", "", ""), 0)
    assert (says, intake.stream, intake.due, intake.greeted) == (proven, of, due, True)
    assert asked == (() if due == upcoming else (Resend(of, due),))


def test_a_hello_that_goes_back_counts_if_no_report_was_accepted_since_the_request() -> None:
    """On an open line, HELLO may be an old one: the host requests it again."""
    old = Hello(A, OpenShoeRole.SHOE, 7, 7, "", "", "", "")
    intake, asked, proven = stream.greet(Intake(A, 9, greeted=True), old, 6)
    assert (intake, asked, proven) == (Intake(A, 9, asked_ns=6), (Identify(),), True)
    intake, asked, proven = stream.greet(intake, old, 7)
    assert (intake.due, intake.end, intake.gap, asked, proven) == (7, 7, True, (), False)


def test_a_hello_without_the_due_report_is_not_a_new_numbering() -> None:
    """The number of lost reports is known, and the kept reports continue the numbering."""
    intake, asked, proven = stream.greet(
        Intake(A, 9, greeted=True), Hello(A, OpenShoeRole.SHOE, 12, 11, "", "", "", ""), 0
    )
    assert (intake.due, intake.gap, asked, proven) == (11, False, (Resend(A, 11),), False)


@pytest.mark.parametrize(
    ("boot", "than", "later"),
    [
        (1, 0, True),
        (0, 0, False),
        (0, 1, False),
        (0, 65535, True),
        (65535, 0, False),
        (32767, 0, True),
        (32768, 0, False),
    ],
)
def test_power_ups_are_compared_across_their_end(boot: int, than: int, later: bool) -> None:  # noqa: FBT001 -- a column
    """0 follows 65535. A power-up is later if it is less than half of the power-ups ahead."""
    assert stream.later_boot(boot, than) is later


@pytest.mark.parametrize("boot", [7, 65535])
def test_a_report_of_a_power_up_without_its_hello_is_dropped(boot: int) -> None:
    """The host requests HELLO; after HELLO it accepts the same report, although the clock restarted."""
    after = (boot + 1) % 0x10000
    intake, asked, verdict = stream.receive(greeted(boot), report(8, clock_us=5, boot=after), 2)
    assert (verdict, asked, intake.due) == (OpenShoeRepeat.STRANGE, (Identify(),), 8)
    intake, asked, proven = stream.greet(intake, booted(after, 9, 8), 3)
    assert (asked, proven) == ((Resend(A, 8),), True)
    intake, asked, verdict = stream.receive(intake, report(8, clock_us=5, boot=after), 4)
    assert (verdict, asked) == (OpenShoeRepeat.DUE, (OpenShoeAcknowledge(A, 8),))
    assert stream.receive(intake, report(9, clock_us=6, boot=after), 5)[2] is OpenShoeRepeat.DUE


def test_clocks_are_compared_within_one_power_up() -> None:
    """A later power-up may have a lower clock; a clock that goes back within a power-up is not accepted."""
    intake, _, _ = stream.greet(greeted(7, clock_us=1000), booted(8, 8, 8), 2)
    intake, _, verdict = stream.receive(intake, report(8, clock_us=10, boot=8), 3)
    assert verdict is OpenShoeRepeat.DUE
    assert stream.receive(intake, report(9, clock_us=9, boot=8), 4)[1:] == ((Identify(),), OpenShoeRepeat.STRANGE)
    assert stream.receive(intake, report(9, clock_us=2000, boot=7), 4)[1:] == ((Identify(),), OpenShoeRepeat.STRANGE)


def test_an_earlier_power_up_counts_as_a_clock_that_goes_back() -> None:
    """HELLO decides: the first report after it may be of any power-up that is not later than that of HELLO."""
    intake, asked, verdict = stream.receive(greeted(7), report(8, clock_us=500, boot=6), 2)
    assert (verdict, asked, intake.due) == (OpenShoeRepeat.STRANGE, (Identify(),), 8)
    intake, _, _ = stream.greet(intake, booted(7, 9, 8), 3)
    intake, _, verdict = stream.receive(intake, report(8, clock_us=500, boot=6), 4)
    assert verdict is OpenShoeRepeat.DUE
    assert stream.receive(intake, report(9, clock_us=1, boot=7), 5)[2] is OpenShoeRepeat.DUE


def test_a_copy_of_an_earlier_power_up_is_a_copy() -> None:
    """The device kept it across its restart."""
    intake, _, _ = stream.greet(greeted(7), booted(8, 8, 7), 2)
    assert stream.receive(intake, report(7, clock_us=100, boot=7), 3)[1:] == (
        (OpenShoeAcknowledge(A, 7),),
        OpenShoeRepeat.COPY,
    )


@pytest.mark.parametrize("boot", [6, 8])
def test_alive_of_another_power_up_makes_the_host_request_hello(boot: int) -> None:
    """The HELLO of that power-up was lost; ALIVE of the same power-up has no effect."""
    intake = greeted(7)
    assert stream.alive(intake, Alive(A, 8, 7), 2) == (intake, ())
    after, asked = stream.alive(intake, Alive(A, 8, boot), 2)
    assert (after.greeted, asked) == (False, (Identify(),))


def test_a_listener_accepts_a_later_power_up_and_records_a_gap_at_an_earlier_one() -> None:
    """It cannot send requests; the number proves the first, and the second is another numbering."""
    intake, verdict = stream.overhear(greeted(7), report(8, clock_us=5, boot=8))
    assert verdict is OpenShoeRepeat.DUE
    assert stream.overhear(intake, report(9, clock_us=500, boot=7))[1] is OpenShoeRepeat.RENUMBERED


def test_resend_outside_the_window_is_answered_by_hello() -> None:
    """The rule includes a kept report: reports after the window were never sent."""
    store = full(40)
    assert stream.repeat_reports(store, Resend(A, 33), 0) is None
    answer = stream.repeat_reports(store, Resend(A, 32), 0)
    assert answer is not None
    assert [each.sequence for each in answer[1]] == [*range(32, 41)]


def test_a_kept_report_has_the_power_up_in_which_it_was_made() -> None:
    """The next power-up does not change it: it is repeated byte for byte."""
    store, _ = stream.keep(DeviceStore(A, version=3, boot=7), Empty(), 5, 0)
    store, _ = stream.keep(replace(store, boot=8), Empty(), 1, 0)
    assert [(each.boot, each.clock_us) for each in store.kept] == [(7, 5), (8, 1)]


def test_no_more_than_the_window_is_sent() -> None:
    """The 33rd report waits until an acknowledgement makes room."""
    store = full(WINDOW)
    store, sent = stream.keep(store, Empty(), 0, 0)
    assert sent == ()
    answer = stream.drop_acknowledged(store, OpenShoeAcknowledge(A, 1), 0)
    assert answer is not None
    assert [each.sequence for each in answer[1]] == [33]


def test_a_report_that_is_not_acknowledged_is_repeated() -> None:
    """It is repeated after 500 ms, from the oldest report on; without a kept report, nothing is repeated."""
    store = full(40)
    assert stream.repeat(store, 499 * MS) == (store, ())
    store, sent = stream.repeat(store, 500 * MS)
    assert [each.sequence for each in sent] == [*range(1, WINDOW + 1)]
    assert stream.repeat(DeviceStore(A), 500 * MS) == (DeviceStore(A), ())


def test_requests_that_do_not_fit() -> None:
    """HELLO answers another stream and a report that is not kept. An ACK without kept reports changes nothing."""
    store = full(3)
    assert stream.drop_acknowledged(store, OpenShoeAcknowledge(B, 2), 0) is None
    assert stream.repeat_reports(store, Resend(B, 2), 0) is None
    assert stream.repeat_reports(store, Resend(A, 4), 0) is None
    assert stream.drop_acknowledged(store, OpenShoeAcknowledge(A, 4), 0) == (store, ())


def test_a_full_memory_keeps_its_reports_and_ends_the_stream() -> None:
    """New reports are dropped until all kept ones are acknowledged, also after room is free; then the stream ends."""
    store = full(5, room=3)
    assert ([each.sequence for each in store.kept], store.full, store.ended) == ([1, 2, 3], True, False)
    answer = stream.drop_acknowledged(store, OpenShoeAcknowledge(A, 2), 0)
    assert answer is not None
    store, sent = stream.keep(answer[0], Empty(), 0, 0)
    assert (len(store.kept), sent) == (1, ())
    answer = stream.drop_acknowledged(store, OpenShoeAcknowledge(A, 3), 0)
    assert answer is not None
    assert answer[0].ended
