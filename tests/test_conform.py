"""`shoed conform` in virtual time: our devices pass, and each broken device fails at the clause that it violates."""

from collections import Counter
from random import Random
from typing import Final

import pytest

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import OpenShoeSettings, build
from firmware_protocols.open_shoe.channel import DeviceEnd
from firmware_protocols.open_shoe.clauses import CLAUSES
from firmware_protocols.open_shoe.layout import FACES, VERSIONS
from firmware_protocols.open_shoe.messages import (
    CardOrder,
    Delivered,
    FaultChanged,
    FromDevice,
    Hello,
    Inventory,
    Lock,
    OpenShoeCard,
    OpenShoeNotice,
    OpenShoePlace,
    OpenShoeReport,
    OpenShoeRole,
    Recognised,
    ReportBody,
    Shuffled,
    Shuffling,
    Unreadable,
)
from shoed.model import cards
from shoed.ports.cipher import Aes
from shoed.rig.conform.checks import CHECKS, WATCHED, ClauseVerdict
from shoed.rig.conform.keyed_line import KeyedLine
from shoed.rig.conform.line import ConformTimeLimits, DeviceLine
from shoed.rig.conform.watch import Passed, ProtocolWatch
from shoed.rig.device import Burn, Cut, Deal, Deliver, FaultAction, Load, RunOut, Together, Turn
from shoed.rig.open_shoe import VirtualOpenShoe as RigDevice
from tests.broken_shoes import DEFECTS, Defect
from tests.broken_version_3 import DEFECTS as NEWER_DEFECTS
from tests.broken_version_3 import KEYED_DEFECTS
from tests.conforming import KEY, STREAM, WHOLE, KeyedDeviceLine, RigLine, VirtualLine, device, failed, results
from tests.foreign_conforming import ForeignLine

NEAR_THE_END: Final = 65_500  # close to the highest number
ALWAYS_UNTRIED: Final = {each.name for each in CLAUSES if each.untried}
EIGHT: Final = FACES[7]


def not_of(version: int) -> set[str]:
    """The clauses of other versions, and those of a device with a key."""
    return {each.name for each in CLAUSES if each.keyed or not each.since <= version <= each.until} - ALWAYS_UNTRIED


def untried(line: DeviceLine, limits: ConformTimeLimits | None = None) -> set[str]:
    outcomes = results(line) if limits is None else results(line, limits)
    assert failed(outcomes) == {}
    return {name for name, each in outcomes.items() if each.verdict is ClauseVerdict.NOT_TRIED} - ALWAYS_UNTRIED


# --- the table


def test_each_clause_has_a_check_or_the_reason_for_none() -> None:
    """A clause of the page without a check is visible."""
    names = {each.name for each in CLAUSES}
    assert set(CHECKS) | set(WATCHED) | ALWAYS_UNTRIED == names
    assert ALWAYS_UNTRIED & (set(CHECKS) | set(WATCHED)) == set()


@pytest.mark.parametrize("version", VERSIONS)
def test_our_own_shoe_passes_every_tested_clause(version: int) -> None:
    """The shoe has orders, a relay for its power, numbers that wrap and a memory that is filled."""
    of_others = {each.name for each in CLAUSES if each.role is OpenShoeRole.SHUFFLER}
    line = VirtualLine(device(version=version), first=NEAR_THE_END)
    of_cards = {"card.position", "card.burnt", "card.locked"}
    assert untried(line) == {*of_cards, "stream.kept", *of_others, *not_of(version)}


@pytest.mark.parametrize("version", VERSIONS)
def test_our_own_shuffler_passes_every_tested_clause(version: int) -> None:
    """It has no exit: a command causes its reports, and orders cannot fill its memory."""
    of_others = {each.name for each in CLAUSES if each.role is OpenShoeRole.SHOE} - ALWAYS_UNTRIED
    full = {"full.kept", "full.dropped", "full.stream"}
    line = VirtualLine(device(role=OpenShoeRole.SHUFFLER, version=version), first=NEAR_THE_END, command=True)
    of_sets = {"set.order", "set.cards"} | ({"set.named", "status.full"} if version >= 3 else set())
    assert untried(line) == {*of_sets, "order.report", "stream.kept", *full, *of_others, *not_of(version)}


def test_our_own_shoe_with_a_key_passes_every_tested_clause() -> None:
    """All checks without a key also pass in the secure channel."""
    line = KeyedLine(KeyedDeviceLine(device(version=3)), KEY, Aes(), Random(2).randbytes)
    line.establish()
    of_others = {each.name for each in CLAUSES if each.role is OpenShoeRole.SHUFFLER or each.until < 3}
    of_cards = {"card.position", "card.burnt", "card.locked"}
    assert untried(line) == {*of_cards, "hello.open", "number.wrap", "stream.kept", *of_others}


CARDS: Final = (cards.Card.parse("8S"), cards.Card.parse("4D"))
DEEDS: Final = {
    OpenShoeRole.SHOE: (
        *(Load("A7"), Burn(CARDS, 500), Deal(CARDS, 500), Together(CARDS), Cut(), Turn(locked=True), Deal(CARDS, 500)),
        *(FaultAction("jam", raised=True), Deal(CARDS, 500), Turn(locked=False), Deal(CARDS, 500)),
        *(FaultAction("jam", raised=False), RunOut()),
    ),
    OpenShoeRole.SHUFFLER: (
        Deliver(8, "A7", missing=CARDS[:1], extra=(), first=()),
        *(FaultAction("jam", raised=True), FaultAction("jam", raised=False)),
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("role", OpenShoeRole)
def test_a_device_of_the_rig_passes_during_its_actions(role: OpenShoeRole, version: int) -> None:
    """Cards, faults, the key and whole sets occur while the test withholds acknowledgements, cuts and floods."""
    outcomes = results(RigLine(RigDevice(OpenShoeSettings(role=role), STREAM, version=version), DEEDS[role]))
    assert failed(outcomes) == {}
    of_role = {each.name for each in CLAUSES if each.role is role} - not_of(version) - ALWAYS_UNTRIED
    passed = {name for name, each in outcomes.items() if each.verdict is ClauseVerdict.PASSED}
    assert of_role - passed <= {"full.state", "status.full"}  # orders are necessary to test them
    assert "fault.once" in passed


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", OpenShoeRole)
def test_a_foreign_device_passes_every_tested_clause(role: OpenShoeRole, version: int) -> None:
    """It shares no code with us: the test reads the page as another vendor does."""
    assert failed(results(ForeignLine(role, version))) == {}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.device.__name__)
def test_a_broken_device_fails_at_the_violated_clause(defect: Defect) -> None:
    """It fails at no other clause, unless the failure is a consequence of the defect."""
    outcomes = results(VirtualLine(device(defect.device)))
    assert set(failed(outcomes)) == {*defect.breaks, *defect.follow}
    for name in defect.breaks:
        assert any(passed.sent for passed in outcomes[name].trace) or name in WATCHED
        assert outcomes[name].trace


@pytest.mark.parametrize("defect", NEWER_DEFECTS, ids=lambda defect: defect.device.__name__)
def test_a_broken_device_of_version_3_fails_at_the_violated_clause(defect: Defect) -> None:
    """It fails at no other clause, unless the failure is a consequence of the defect."""
    outcomes = results(VirtualLine(device(defect.device, version=3)))
    assert set(failed(outcomes)) == {*defect.breaks, *defect.follow}


@pytest.mark.parametrize(("end", "breaks"), KEYED_DEFECTS, ids=lambda each: getattr(each, "__name__", None))
def test_a_broken_channel_fails_at_the_violated_clause(end: type[DeviceEnd], breaks: tuple[str, ...]) -> None:
    """Each defect would admit an attacker, or lock the host out."""
    line = KeyedLine(KeyedDeviceLine(device(version=3), end), KEY, Aes(), Random(2).randbytes)
    line.establish()
    only = [each.name for each in CLAUSES if each.keyed]
    assert set(failed(results(line, WHOLE, "hello.identify", *only))) == set(breaks)


# --- clauses that are not tested, and the reasons


def test_a_device_without_hello_gets_no_other_check() -> None:
    """One clause fails, and the other clauses have the reason."""
    line = VirtualLine(device(DEFECTS[[each.device.__name__ for each in DEFECTS].index("NeverSendsHello")].device))
    outcomes = results(line)
    reasons = Counter(outcomes[name].detail for name in CHECKS if name not in WATCHED and name != "hello.identify")
    assert reasons == {"the device sends no HELLO": sum(name not in WATCHED for name in CHECKS) - 1}


def test_a_check_above_the_limits_is_not_made() -> None:
    """Time, reports and the power need permission."""
    outcomes = results(VirtualLine(device(), power=False), ConformTimeLimits(longest_s=1, most_reports=2))
    assert outcomes["alive.due"].detail == "the check takes up to 12 s; use a higher --longest"
    outcomes = results(VirtualLine(device(), power=False), ConformTimeLimits(most_reports=2))
    assert outcomes["window.size"].detail == "the check needs 40 reports; use --most-reports 40"
    assert "--power COMMAND" in outcomes["stream.lost"].detail
    assert "--sees-line" not in outcomes["hello.open"].detail
    assert outcomes["hello.open"].verdict is ClauseVerdict.PASSED


def test_a_person_is_asked_once_for_reports_without_an_order() -> None:
    """If no report arrives, the test does not wait for reports again."""
    line = VirtualLine(device(role=OpenShoeRole.SHUFFLER))
    outcomes = results(line)
    assert line.asked == ["Let the device report 2 facts, for example by drawing cards."]
    assert outcomes["window.size"].detail == "the device reported nothing within 60 s"


def test_only_the_selected_clauses_are_tested() -> None:
    """A vendor can repeat the test of one clause."""
    line = VirtualLine(device())
    assert set(results(line, ConformTimeLimits(), "window.size", "frame.crc")) == {"window.size", "frame.crc"}


def test_a_full_memory_can_be_tested_alone() -> None:
    """The check itself finds out whether a shoe executes orders."""
    outcomes = results(VirtualLine(device()), ConformTimeLimits(most_reports=2100), "full.kept", "full.state")
    assert {each.verdict for each in outcomes.values()} == {ClauseVerdict.PASSED}


def test_an_exit_that_the_test_has_locked_is_unlocked_at_the_end() -> None:
    """The shoe is ready for use after the test."""
    line = VirtualLine(device())
    results(line, ConformTimeLimits(), "hello.next", "hello.identify", "ack.other-stream", "resend.other-stream")
    assert line.state.store.next > 1
    assert not line.state.locked
    assert not line.state.store.kept


# --- the clauses of every frame


def watching(
    *bodies: ReportBody | FromDevice, version: int = 1, role: OpenShoeRole = OpenShoeRole.SHOE
) -> ProtocolWatch:
    watch = ProtocolWatch(lambda: (Passed(sent=False, data=b""),))
    watch.heard(b"", OpenShoeNotice(version, Hello(STREAM, role, 1, 1, "", "", "", "")))
    for number, each in enumerate(bodies, start=1):
        message = (
            each
            if isinstance(each, OpenShoeReport | OpenShoeNotice)
            else OpenShoeReport(version, number, STREAM, number, each)
        )
        watch.heard(build(message) if isinstance(message, OpenShoeReport) else b"", message)
    return watch


JAM: Final = FaultChanged(2, raised=True, blocking=True)
JAM_OVER: Final = FaultChanged(2, raised=False, blocking=False)
COUNTS: Final = (8,) * 52


def card(place: OpenShoePlace, position: int) -> OpenShoeCard:
    return OpenShoeCard(EIGHT, place, position, 0)


SET: Final = (Recognised("A"), Shuffling(), Shuffled(), Inventory("A", COUNTS, 0))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("card.position", (card(OpenShoePlace.PLAYER, 3),), (card(OpenShoePlace.PLAYER, 4),)),
        ("card.position", (card(OpenShoePlace.DEALT, 0),), (card(OpenShoePlace.DEALT, 1),)),
        ("card.position", (card(OpenShoePlace.BURNT, 4),), (card(OpenShoePlace.BURNT, 0),)),
        ("fault.once", (JAM, JAM_OVER), (JAM, JAM)),
        ("fault.once", (JAM,), (FaultChanged(2, raised=False, blocking=True),)),
        (
            "card.locked",
            (Lock(locked=True), card(OpenShoePlace.LOCKED, 0)),
            (Lock(locked=True), card(OpenShoePlace.DEALT, 0)),
        ),
        ("role.messages", (Lock(locked=True),), (Shuffling(),)),
        ("number.unbroken", (Shuffling(),), (Shuffling(), OpenShoeReport(1, 3, STREAM, 9, Shuffling()))),
        ("clock.forward", (Shuffling(),), (Shuffling(), OpenShoeReport(1, 2, STREAM, 0, Shuffling()))),
        ("hello.stream", (), (OpenShoeReport(1, 1, STREAM + 1, 0, Shuffling()),)),
        ("keep.most", (), (OpenShoeNotice(1, Hello(STREAM, OpenShoeRole.SHOE, 16386, 1, "", "", "", "")),)),
        ("number.first", (), (OpenShoeNotice(1, Hello(STREAM + 1, OpenShoeRole.SHOE, 9, 9, "", "", "", "")),)),
    ],
)  # fmt: skip
def test_a_report_is_judged_by_the_earlier_reports(
    name: str, right: tuple[ReportBody, ...], wrong: tuple[ReportBody | FromDevice, ...]
) -> None:
    """The first report that violates a clause is its evidence."""
    assert name not in watching(*right).breaches
    assert name in watching(*wrong).breaches


def test_a_set_is_judged_at_its_delivery() -> None:
    """It needs all its steps, and in version 2 all its parts from the first place on."""
    part, second = CardOrder("A", 1, (EIGHT,) * 3), CardOrder("A", 4, (EIGHT,))
    whole = watching(*SET, part, second, Delivered("A"), version=2, role=OpenShoeRole.SHUFFLER)
    assert {"set.order", "set.cards"} <= whole.tried
    assert whole.breaches == {}
    assert "set.order" in watching(*SET[:1], Delivered("A"), role=OpenShoeRole.SHUFFLER).breaches
    assert "set.cards" in watching(*SET, second, version=2, role=OpenShoeRole.SHUFFLER).breaches
    assert "set.cards" in watching(*SET, Delivered("A"), part, version=2, role=OpenShoeRole.SHUFFLER).breaches


def test_a_report_that_its_version_does_not_declare_violates_the_table_of_fields() -> None:
    """Its CRC is right, and its number counts."""
    why = Malformed(Reason.MALFORMED, "LOCK: the data are not valid: 02")
    watch = watching()
    watch.heard(b"", OpenShoeReport(1, 1, STREAM, 0, Unreadable(0x24, b"\x02", why)))
    assert watch.breaches["report.fields"].detail == why.detail
