"""`shoed conform` in virtual time: our devices pass, and each broken device fails at the clause that it breaks."""

from collections import Counter
from typing import Final

import pytest

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build
from firmware_protocols.open_shoe.clauses import CLAUSES
from firmware_protocols.open_shoe.layout import FACES, VERSIONS
from firmware_protocols.open_shoe.messages import (
    Card,
    CardOrder,
    Delivered,
    FaultChanged,
    FromDevice,
    Hello,
    Inventory,
    Lock,
    Notice,
    Place,
    Recognised,
    Report,
    Reported,
    Role,
    Shuffled,
    Shuffling,
    Unreadable,
)
from shoed import cards
from shoed.conform.checks import CHECKS, WATCHED, Verdict
from shoed.conform.line import Limits
from shoed.conform.watch import Passed, Watch
from shoed.rig.device import Burn, Cut, Deal, Deliver, Fault, Load, RunOut, Together, Turn
from shoed.rig.open_shoe import OpenShoeDevice as RigDevice
from tests.broken_shoes import DEFECTS, Defect
from tests.conforming import STREAM, RigLine, VirtualLine, device, failed, results
from tests.foreign_conforming import ForeignLine

NEAR_THE_END: Final = 65_500  # of the numbers
ALWAYS_UNTRIED: Final = {each.name for each in CLAUSES if each.untried}
EIGHT: Final = FACES[7]


def untried(line: VirtualLine, limits: Limits | None = None) -> set[str]:
    outcomes = results(line) if limits is None else results(line, limits)
    assert failed(outcomes) == {}
    return {name for name, each in outcomes.items() if each.verdict is Verdict.NOT_TRIED} - ALWAYS_UNTRIED


# --- the table


def test_each_clause_has_a_check_or_says_why_it_has_none() -> None:
    """A clause of the page that nothing tries is visible."""
    names = {each.name for each in CLAUSES}
    assert set(CHECKS) | set(WATCHED) | ALWAYS_UNTRIED == names
    assert ALWAYS_UNTRIED & (set(CHECKS) | set(WATCHED)) == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_our_own_shoe_passes_every_clause_that_is_tried(version: int) -> None:
    """With orders, a relay for its power, numbers that wrap and a memory that is filled."""
    of_others = {each.name for each in CLAUSES if each.role is Role.SHUFFLER}
    line = VirtualLine(device(version=version), first=NEAR_THE_END)
    assert untried(line) == {"card.position", "card.locked", "fault.once", "stream.kept", *of_others} - {
        "fault.once"  # a full memory raises one
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_our_own_shuffler_passes_every_clause_that_is_tried(version: int) -> None:
    """It has no exit: a command makes it report, and its memory cannot be filled by orders."""
    of_others = {each.name for each in CLAUSES if each.role is Role.SHOE} - ALWAYS_UNTRIED
    full = {"full.kept", "full.dropped", "full.stream"}
    line = VirtualLine(device(role=Role.SHUFFLER, version=version), first=NEAR_THE_END, command=True)
    assert untried(line) == {"set.order", "set.cards", "order.report", "stream.kept", *full, *of_others}


CARDS: Final = (cards.Card.parse("8S"), cards.Card.parse("4D"))
DEEDS: Final = {
    Role.SHOE: (
        *(Load("A7"), Burn(CARDS, 500), Deal(CARDS, 500), Together(CARDS), Cut(), Turn(locked=True), Deal(CARDS, 500)),
        *(Fault("jam", raised=True), Deal(CARDS, 500), Turn(locked=False), Deal(CARDS, 500)),
        *(Fault("jam", raised=False), RunOut()),
    ),
    Role.SHUFFLER: (
        Deliver(8, "A7", missing=CARDS[:1], extra=(), first=()),
        *(Fault("jam", raised=True), Fault("jam", raised=False)),
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("role", Role)
def test_a_device_of_the_rig_passes_with_all_that_happens_to_it(role: Role, version: int) -> None:
    """Cards, faults, the key and whole sets, while the test withholds, cuts and floods."""
    outcomes = results(RigLine(RigDevice(OpenShoeSettings(role=role), STREAM, version=version), DEEDS[role]))
    assert failed(outcomes) == {}
    of_role = {each.name for each in CLAUSES if each.role is role and each.since <= version} - ALWAYS_UNTRIED
    passed = {name for name, each in outcomes.items() if each.verdict is Verdict.PASSED}
    assert of_role - passed <= {"full.state"}  # it is tried with orders
    assert "fault.once" in passed


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", Role)
def test_a_device_by_the_page_passes_every_clause_that_is_tried(role: Role, version: int) -> None:
    """It shares no code with us: the test reads the page as another person does."""
    assert failed(results(ForeignLine(role, version))) == {}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.device.__name__)
def test_a_broken_device_fails_at_the_clause_that_it_breaks(defect: Defect) -> None:
    """And at no other clause, unless that follows from it."""
    outcomes = results(VirtualLine(device(defect.device)))
    assert set(failed(outcomes)) == {*defect.breaks, *defect.follow}
    for name in defect.breaks:
        assert any(passed.sent for passed in outcomes[name].trace) or name in WATCHED
        assert outcomes[name].trace


# --- what is not tried, and why


def test_a_device_that_says_no_hello_is_asked_nothing_else() -> None:
    """One clause fails, and the others name the reason."""
    line = VirtualLine(device(DEFECTS[[each.device.__name__ for each in DEFECTS].index("NeverSaysHello")].device))
    outcomes = results(line)
    reasons = Counter(outcomes[name].detail for name in CHECKS if name not in WATCHED and name != "hello.identify")
    assert reasons == {"the device says no HELLO": sum(name not in WATCHED for name in CHECKS) - 1}


def test_a_check_that_costs_too_much_is_not_made() -> None:
    """Neither time, nor reports, nor the power are taken without leave."""
    outcomes = results(VirtualLine(device(), power=False), Limits(longest_s=1, most_reports=2))
    assert outcomes["alive.due"].detail == "it takes up to 12 s; give a higher --longest"
    outcomes = results(VirtualLine(device(), power=False), Limits(most_reports=2))
    assert outcomes["window.size"].detail == "it takes 40 reports; give --most-reports 40"
    assert "--power COMMAND" in outcomes["stream.lost"].detail
    assert "--sees-line" not in outcomes["hello.open"].detail
    assert outcomes["hello.open"].verdict is Verdict.PASSED


def test_a_person_is_asked_once_for_reports_that_no_order_makes() -> None:
    """Where nothing comes, the reports are not waited for again."""
    line = VirtualLine(device(role=Role.SHUFFLER))
    outcomes = results(line)
    assert line.asked == ["Let the device report: 2 things, for example cards that are drawn."]
    assert outcomes["window.size"].detail == "the device reported nothing within 60 s"


def test_only_the_clauses_that_are_asked_for_are_tried() -> None:
    """A manufacturer works at one clause."""
    line = VirtualLine(device())
    assert set(results(line, Limits(), "window.size", "frame.crc")) == {"window.size", "frame.crc"}


def test_a_memory_can_be_filled_alone() -> None:
    """Whether a shoe obeys orders is found out by the check that needs it."""
    outcomes = results(VirtualLine(device()), Limits(most_reports=2100), "full.kept", "full.state")
    assert {each.verdict for each in outcomes.values()} == {Verdict.PASSED}


def test_an_exit_that_the_test_has_locked_is_unlocked_at_the_end() -> None:
    """A shoe is left as it can be used."""
    line = VirtualLine(device())
    results(line, Limits(), "hello.next", "hello.identify", "ack.other-stream", "resend.other-stream")
    assert line.state.store.next > 1
    assert not line.state.locked
    assert not line.state.store.kept


# --- what every frame is measured by


def watching(*said: Reported | FromDevice, version: int = 1, role: Role = Role.SHOE) -> Watch:
    watch = Watch(lambda: (Passed(sent=False, data=b""),))
    watch.heard(b"", Notice(version, Hello(STREAM, role, 1, 1, "", "", "", "")))
    for number, each in enumerate(said, start=1):
        message = each if isinstance(each, Report | Notice) else Report(version, number, STREAM, number, each)
        watch.heard(build(message) if isinstance(message, Report) else b"", message)
    return watch


JAM: Final = FaultChanged(2, raised=True, blocking=True)
JAM_OVER: Final = FaultChanged(2, raised=False, blocking=False)
COUNTS: Final = (8,) * 52
SET: Final = (Recognised("A"), Shuffling(), Shuffled(), Inventory("A", COUNTS, 0))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("card.position", (Card(EIGHT, Place.PLAYER, 3, 0),), (Card(EIGHT, Place.PLAYER, 4, 0),)),
        ("card.position", (Card(EIGHT, Place.DEALT, 0, 0),), (Card(EIGHT, Place.DEALT, 1, 0),)),
        ("card.position", (Card(EIGHT, Place.BURNT, 4, 0),), (Card(EIGHT, Place.BURNT, 0, 0),)),
        ("fault.once", (JAM, JAM_OVER), (JAM, JAM)),
        ("fault.once", (JAM,), (FaultChanged(2, raised=False, blocking=True),)),
        (
            "card.locked",
            (Lock(locked=True), Card(EIGHT, Place.LOCKED, 0, 0)),
            (Lock(locked=True), Card(EIGHT, Place.DEALT, 0, 0)),
        ),
        ("role.messages", (Lock(locked=True),), (Shuffling(),)),
        ("number.unbroken", (Shuffling(),), (Shuffling(), Report(1, 3, STREAM, 9, Shuffling()))),
        ("clock.forward", (Shuffling(),), (Shuffling(), Report(1, 2, STREAM, 0, Shuffling()))),
        ("hello.stream", (), (Report(1, 1, STREAM + 1, 0, Shuffling()),)),
        ("keep.most", (), (Notice(1, Hello(STREAM, Role.SHOE, 16386, 1, "", "", "", "")),)),
        ("number.first", (), (Notice(1, Hello(STREAM + 1, Role.SHOE, 9, 9, "", "", "", "")),)),
    ],
)  # fmt: skip
def test_a_report_is_judged_by_what_came_before_it(
    name: str, right: tuple[Reported, ...], wrong: tuple[Reported | FromDevice, ...]
) -> None:
    """The first report that breaks a clause is its evidence."""
    assert name not in watching(*right).breaches
    assert name in watching(*wrong).breaches


def test_a_set_is_judged_when_it_is_delivered() -> None:
    """All its steps, and in version 2 all its parts from the first place on."""
    part, behind = CardOrder("A", 1, (EIGHT,) * 3), CardOrder("A", 4, (EIGHT,))
    whole = watching(*SET, part, behind, Delivered("A"), version=2, role=Role.SHUFFLER)
    assert {"set.order", "set.cards"} <= whole.tried
    assert whole.breaches == {}
    assert "set.order" in watching(*SET[:1], Delivered("A"), role=Role.SHUFFLER).breaches
    assert "set.cards" in watching(*SET, behind, version=2, role=Role.SHUFFLER).breaches
    assert "set.cards" in watching(*SET, Delivered("A"), part, version=2, role=Role.SHUFFLER).breaches


def test_a_report_that_its_version_does_not_declare_breaks_the_table_of_fields() -> None:
    """Its CRC is right, and its number counts."""
    why = Malformed(Reason.MALFORMED, "LOCK: data that cannot be: 02")
    watch = watching()
    watch.heard(b"", Report(1, 1, STREAM, 0, Unreadable(0x24, b"\x02", why)))
    assert watch.breaches["report.fields"].detail == why.detail
