"""Open Shoe's numbering, both ends played against each other over bad lines: each report once, in order."""

from random import Random
from typing import Final, TypeVar, assert_never

import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Empty,
    Hello,
    Identify,
    Loaded,
    Report,
    Requested,
    Resend,
    Role,
    following,
)
from shoed.session import open_shoe_stream as stream
from shoed.session.open_shoe_stream import HALF, WINDOW, Intake, Repeat, Store, preceding, steps

T = TypeVar("T")
MS: Final = 1_000_000
A, B = 0xA, 0xB


def hello(store: Store) -> Hello:
    return Hello(store.stream, Role.SHOE, store.next, store.oldest, "", "", "", "")


def report(sequence: int, of: int = A, clock_us: int = 0, boot: int = 0) -> Report:
    return Report(1, sequence, of, clock_us, Empty(), boot, check=clock_us)


def booted(boot: int, next_: int = 7, oldest: int = 7) -> Hello:
    return Hello(A, Role.SHOE, next_, oldest, "", "", "", "", boot)


def greeted(boot: int, *, clock_us: int = 100) -> Intake:
    """The host took report 7 of this power-up, and heard its HELLO."""
    intake, _, _ = stream.greet(Intake(A, 7), booted(boot), 0)
    intake, _, verdict = stream.receive(intake, report(7, clock_us=clock_us, boot=boot), 1)
    assert verdict is Repeat.DUE
    return intake


def full(reports: int, room: int = 1024, first: int = 1) -> Store:
    store = Store(A, room=room, next=first)
    for at in range(reports):
        store, _ = stream.keep(store, Loaded(str(at)), at, 0)
    return store


class Play:
    """A device and a host, and a line between them that loses, doubles and swaps by a seed."""

    def __init__(self, seed: int, bad: float, first: int = 1) -> None:
        self.dice = Random(seed)
        self.bad = bad
        self.store = Store(A, next=first)
        self.intake = Intake(A, first)
        self.now = 0
        self.up: list[Report | Hello | Alive] = []
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

    def carried(self, said: list[T]) -> list[T]:
        arrived: list[T] = []
        for each in said if self.plugged else ():
            arrived += [each] * self.dice.choices((1, 0, 2), (1 - self.bad, self.bad * 0.7, self.bad * 0.3))[0]
        for at in range(len(arrived) - 1):
            if self.dice.random() < self.bad / 2:
                arrived[at : at + 2] = reversed(arrived[at : at + 2])
        said.clear()
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

    def host(self, said: Report | Hello | Alive) -> None:
        before = self.intake
        match said:
            case Hello():
                self.intake, asked, proven = stream.greet(self.intake, said, self.now)
                self.proven.append(proven)
            case Report():
                self.intake, asked, verdict = stream.receive(self.intake, said, self.now)
                if verdict is Repeat.DUE:
                    assert isinstance(said.said, Loaded)
                    # Killed before the commit: nothing of the Step is there. Killed after it: only its sends are not.
                    if self.dice.random() < self.bad / 10:
                        self.intake = before
                        self.open()
                        return
                    self.taken.append(said.said.set_id)
                    if self.dice.random() < self.bad / 10:
                        self.open()
                        return
            case Alive():
                self.intake, asked = stream.alive(self.intake, said, self.now)
            case _:
                assert_never(said)
        self.down += asked

    def device(self, said: Requested) -> None:
        match said:
            case Acknowledge():
                answer = stream.forget(self.store, said, self.now)
            case Resend():
                answer = stream.again(self.store, said, self.now)
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
def test_each_report_comes_out_once_and_in_order(seed: int, first: int) -> None:
    """Lost, doubled and swapped messages, a pulled cable and a killed host leave no trace in what is taken."""
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
def test_a_device_that_lost_its_memory_is_never_taken_for_the_old_one(seed: int) -> None:
    """Though its HELLO is lost and its numbers are those of copies, nothing of the new stream is missed."""
    play = Play(seed, bad=0.3)
    for at in range(40):
        play.say(f"a{at}")
        play.tick()
    play.store = Store(B)
    for at in range(40):
        play.say(f"b{at}")
        play.tick()
    play.settle()
    old = [each for each in play.taken if each.startswith("a")]
    assert old == [f"a{at}" for at in range(len(old))]
    assert play.taken[len(old) :] == [f"b{at}" for at in range(40)]
    assert play.proven.count(False) == 1


def test_numbers_are_compared_across_their_end() -> None:
    """1 follows 65535; what is less than half the numbers ahead is later, the rest is earlier."""
    assert (steps(65535, 1), steps(2, 65535), steps(7, 7)) == (1, 65533, 0)
    assert (preceding(1), preceding(2), preceding(3, by=5)) == (65535, 1, 65533)
    assert all(preceding(following(number)) == number for number in (1, 2, 65534, 65535))
    intake = Intake(A, 65535, greeted=True)
    assert [stream.weigh(intake, A, number) for number in (65535, 1, 65534)] == [Repeat.DUE, Repeat.LATER, Repeat.COPY]
    assert stream.weigh(Intake(A, 1, greeted=True), A, HALF) is Repeat.LATER
    assert stream.weigh(Intake(A, 1, greeted=True), A, HALF + 1) is Repeat.COPY


def test_a_missing_report_is_asked_for_once_a_second() -> None:
    """At once for the first later one, not for those behind it, and again when it has not come."""
    intake = Intake(A, 7, greeted=True)
    intake, asked, verdict = stream.receive(intake, report(8), 0)
    assert (verdict, asked) == (Repeat.LATER, (Resend(A, 7),))
    intake, asked, verdict = stream.receive(intake, report(9), 1)
    assert (verdict, asked) == (Repeat.LATER, ())
    assert stream.wake(intake, 999 * MS, 1000) == (intake, ())
    intake, asked = stream.wake(intake, 1000 * MS, 1000)
    assert asked == (Resend(A, 7),)
    intake, asked, verdict = stream.receive(intake, report(7), 1001 * MS)
    assert (verdict, asked) == (Repeat.DUE, (Acknowledge(A, 7),))
    assert stream.wake_at(intake, 1000) is None


def test_another_stream_is_asked_who_it_is() -> None:
    """Its report is dropped, its ALIVE counts for nothing; HELLO alone begins it."""
    intake, asked, verdict = stream.receive(Intake(A, 7, greeted=True), report(7, of=B), 0)
    assert (verdict, asked, intake.due) == (Repeat.STRANGE, (Identify(),), 7)
    assert stream.alive(Intake(A, 7, greeted=True), Alive(B, 7), 0)[1] == (Identify(),)
    assert stream.alive(intake, Alive(B, 7), 0) == (intake, ())


def test_an_idle_device_betrays_what_was_lost() -> None:
    """ALIVE names the number that comes next: one beyond the due one is missing, the due one is not."""
    intake = Intake(A, 7, greeted=True)
    assert stream.alive(intake, Alive(A, 7), 0) == (intake, ())
    assert stream.alive(intake, Alive(A, 8), 0)[1] == (Resend(A, 7),)


@pytest.mark.parametrize(
    ("said", "proven", "due"),
    [
        pytest.param((A, 7, 7), True, 7, id="nothing new"),
        pytest.param((A, 9, 5), True, 5, id="two new, two to compare"),
        pytest.param((A, 9, 8), False, 8, id="forgotten before it was taken"),
        pytest.param((B, 7, 7), False, 7, id="another stream"),
    ],
)
def test_a_hello_proves_that_nothing_was_missed_or_does_not(said: tuple[int, int, int], proven: bool, due: int) -> None:  # noqa: FBT001 -- a column of the table
    """Only the same stream, with the due number among those it keeps or next, proves it."""
    of, upcoming, oldest = said
    intake, asked, says = stream.greet(Intake(A, 7), Hello(of, Role.SHOE, upcoming, oldest, "", "", "", ""), 0)
    assert (says, intake.stream, intake.due, intake.greeted) == (proven, of, due, True)
    assert asked == (() if due == upcoming else (Resend(of, due),))


def test_a_hello_that_goes_back_counts_where_nothing_was_taken_since_it_was_asked_for() -> None:
    """On an open line it may be one of before: it is asked for again."""
    old = Hello(A, Role.SHOE, 7, 7, "", "", "", "")
    intake, asked, proven = stream.greet(Intake(A, 9, greeted=True), old, 6)
    assert (intake, asked, proven) == (Intake(A, 9, asked_ns=6), (Identify(),), True)
    intake, asked, proven = stream.greet(intake, old, 7)
    assert (intake.due, intake.end, intake.gap, asked, proven) == (7, 7, True, (), False)


def test_a_hello_that_dropped_what_was_due_is_no_new_numbering() -> None:
    """So many reports are lost, and what the device keeps goes on from there."""
    intake, asked, proven = stream.greet(Intake(A, 9, greeted=True), Hello(A, Role.SHOE, 12, 11, "", "", "", ""), 0)
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
    """After 65535 comes 0; what is less than half of them ahead is later."""
    assert stream.later_boot(boot, than) is later


@pytest.mark.parametrize("boot", [7, 65535])
def test_a_report_of_a_power_up_without_its_hello_is_dropped(boot: int) -> None:
    """The host asks who it is; after that HELLO the same report is taken, though its clock began again."""
    after = (boot + 1) % 0x10000
    intake, asked, verdict = stream.receive(greeted(boot), report(8, clock_us=5, boot=after), 2)
    assert (verdict, asked, intake.due) == (Repeat.STRANGE, (Identify(),), 8)
    intake, asked, proven = stream.greet(intake, booted(after, 9, 8), 3)
    assert (asked, proven) == ((Resend(A, 8),), True)
    intake, asked, verdict = stream.receive(intake, report(8, clock_us=5, boot=after), 4)
    assert (verdict, asked) == (Repeat.DUE, (Acknowledge(A, 8),))
    assert stream.receive(intake, report(9, clock_us=6, boot=after), 5)[2] is Repeat.DUE


def test_clocks_are_compared_within_one_power_up() -> None:
    """A later power-up has a lower clock and goes on; a clock that goes back in it does not."""
    intake, _, _ = stream.greet(greeted(7, clock_us=1000), booted(8, 8, 8), 2)
    intake, _, verdict = stream.receive(intake, report(8, clock_us=10, boot=8), 3)
    assert verdict is Repeat.DUE
    assert stream.receive(intake, report(9, clock_us=9, boot=8), 4)[1:] == ((Identify(),), Repeat.STRANGE)
    assert stream.receive(intake, report(9, clock_us=2000, boot=7), 4)[1:] == ((Identify(),), Repeat.STRANGE)


def test_an_earlier_power_up_is_as_a_clock_that_goes_back() -> None:
    """HELLO decides: the first report behind it may be of any power-up that is not later than its own."""
    intake, asked, verdict = stream.receive(greeted(7), report(8, clock_us=500, boot=6), 2)
    assert (verdict, asked, intake.due) == (Repeat.STRANGE, (Identify(),), 8)
    intake, _, _ = stream.greet(intake, booted(7, 9, 8), 3)
    intake, _, verdict = stream.receive(intake, report(8, clock_us=500, boot=6), 4)
    assert verdict is Repeat.DUE
    assert stream.receive(intake, report(9, clock_us=1, boot=7), 5)[2] is Repeat.DUE


def test_a_copy_of_an_earlier_power_up_is_a_copy() -> None:
    """The device kept it over its restart."""
    intake, _, _ = stream.greet(greeted(7), booted(8, 8, 7), 2)
    assert stream.receive(intake, report(7, clock_us=100, boot=7), 3)[1:] == ((Acknowledge(A, 7),), Repeat.COPY)


@pytest.mark.parametrize("boot", [6, 8])
def test_alive_of_another_power_up_asks_who_it_is(boot: int) -> None:
    """Its HELLO was lost; of the same power-up it says nothing new."""
    intake = greeted(7)
    assert stream.alive(intake, Alive(A, 8, 7), 2) == (intake, ())
    after, asked = stream.alive(intake, Alive(A, 8, boot), 2)
    assert (after.greeted, asked) == (False, (Identify(),))


def test_a_listener_takes_a_later_power_up_and_doubts_an_earlier_one() -> None:
    """It can ask for nothing; the number proves the first, and the second is another numbering."""
    intake, verdict = stream.overhear(greeted(7), report(8, clock_us=5, boot=8))
    assert verdict is Repeat.DUE
    assert stream.overhear(intake, report(9, clock_us=500, boot=7))[1] is Repeat.RENUMBERED


def test_a_request_outside_the_window_is_answered_by_hello() -> None:
    """Also for a report that is kept: behind the window nothing was ever said."""
    store = full(40)
    assert stream.again(store, Resend(A, 33), 0) is None
    answer = stream.again(store, Resend(A, 32), 0)
    assert answer is not None
    assert [each.sequence for each in answer[1]] == [*range(32, 41)]


def test_what_is_kept_names_the_power_up_in_which_it_was_made() -> None:
    """Also after the next one: it is said again byte for byte."""
    store, _ = stream.keep(Store(A, version=3, boot=7), Empty(), 5, 0)
    store, _ = stream.keep(replace(store, boot=8), Empty(), 1, 0)
    assert [(each.boot, each.clock_us) for each in store.kept] == [(7, 5), (8, 1)]


def test_no_more_than_the_window_is_on_its_way() -> None:
    """The 33rd report waits until an acknowledgement makes room."""
    store = full(WINDOW)
    store, sent = stream.keep(store, Empty(), 0, 0)
    assert sent == ()
    answer = stream.forget(store, Acknowledge(A, 1), 0)
    assert answer is not None
    assert [each.sequence for each in answer[1]] == [33]


def test_what_is_not_acknowledged_is_said_again() -> None:
    """After 500 ms, from the oldest on; with nothing kept, never."""
    store = full(40)
    assert stream.repeat(store, 499 * MS) == (store, ())
    store, sent = stream.repeat(store, 500 * MS)
    assert [each.sequence for each in sent] == [*range(1, WINDOW + 1)]
    assert stream.repeat(Store(A), 500 * MS) == (Store(A), ())


def test_requests_that_fit_nothing() -> None:
    """Of another stream, or for a report that is not kept: HELLO. An ACK of nothing kept changes nothing."""
    store = full(3)
    assert stream.forget(store, Acknowledge(B, 2), 0) is None
    assert stream.again(store, Resend(B, 2), 0) is None
    assert stream.again(store, Resend(A, 4), 0) is None
    assert stream.forget(store, Acknowledge(A, 4), 0) == (store, ())


def test_a_full_memory_keeps_what_it_has_and_ends_the_stream() -> None:
    """New ones are dropped, even where room comes, until the kept ones are acknowledged; then the stream is over."""
    store = full(5, room=3)
    assert ([each.sequence for each in store.kept], store.full, store.ended) == ([1, 2, 3], True, False)
    answer = stream.forget(store, Acknowledge(A, 2), 0)
    assert answer is not None
    store, sent = stream.keep(answer[0], Empty(), 0, 0)
    assert (len(store.kept), sent) == (1, ())
    answer = stream.forget(store, Acknowledge(A, 3), 0)
    assert answer is not None
    assert answer[0].ended
