"""Reports by people: one matter for one irregularity, and withdrawals."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import Author, ReportIrregularity, Withdraw
from shoed.model.findings import TooOften
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.step import Commanded
from tests.observed import CUT, NATURAL, START, STARTED, TableRun, after, card, cards

TOO_OFTEN = TooOften(at=START, card=Card.S8, times=9, decks=8)


def accepted_detail(table: TableRun, report: ReportIrregularity, role: Role) -> str:
    """The detail of the answer to an accepted report."""
    table.step(incoming=Commanded(report, Author("bob", role), "7f3b"))
    assert table.answers[-1].accepted
    return table.answers[-1].detail


def test_neglected_insurance_is_one_matter_for_each_stage() -> None:
    """I 5.13: a later index opens no other matter."""
    table = after(*NATURAL, game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, at=3))
    assert "no new matter" in accepted_detail(
        table, ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, at=4), Role.DEALER
    )


def test_a_second_notice_about_a_card_without_a_place_opens_no_other_matter() -> None:
    """The matter counts once the card has its place; until then it is on record."""
    table = after(*cards("P1 2S, B1 3S, P2 4S, B3 KS"))
    notice = ReportIrregularity(kind=IrregularityKind.FACE_UP, at=4)
    table.tell(notice)
    assert "no new matter" in accepted_detail(table, notice, Role.PIT_SUPERVISOR)


@pytest.mark.parametrize(("role", "phase"), [(Role.DEALER, "suspended"), (Role.PIT_SUPERVISOR, "voided")])
def test_a_report_of_a_finding_opens_no_other_matter(role: Role, phase: str) -> None:
    """C 5.5.2: the report of a pit supervisor confirms the finding, and the report of a dealer does not."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(NATURAL[2], found=[TOO_OFTEN])
    assert "on record" in accepted_detail(table, ReportIrregularity(kind=IrregularityKind.DECK_COUNT), role)
    assert table.phase == phase


def test_a_report_of_an_abandoned_round_cannot_be_withdrawn_by_its_number() -> None:
    """The next round numbers its own matters."""
    table = after(*NATURAL[:2])
    table.tell(ReportIrregularity(kind=IrregularityKind.FACE_UP, at=1))
    table.hear(card("P1", "9S"))
    refusal = "round 2 has no matter 1; `number` of irregularity.noticed names a matter"
    assert table.refuses(Withdraw(number=1)) == refusal
