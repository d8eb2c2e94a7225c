"""What people report at a table: one matter for one thing, and notices that are withdrawn."""

import pytest

from shoed.cards import Card
from shoed.commands import Author, Notice, Withdraw
from shoed.findings import TooOften
from shoed.step import Told
from shoed.words import Event, Role
from tests.observed import CUT, NATURAL, START, STARTED, Sitting, after, card

TOO_OFTEN = TooOften(at=START, card=Card.S8, times=9, decks=8)


def detail(table: Sitting, notice: Notice, role: Role) -> str:
    """The detail of the answer to a notice that is accepted."""
    table.step(came=Told(notice, Author("bob", role), "7f3b"))
    assert table.answers[-1].accepted
    return table.answers[-1].detail


def test_insurance_that_was_neglected_is_one_matter_for_each_stage() -> None:
    """I 5.13: a card that was drawn meanwhile makes no other matter."""
    table = after(*NATURAL, game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED, at=3))
    assert "no new matter" in detail(table, Notice(kind=Event.INSURANCE_NEGLECTED, at=4), Role.DEALER)


@pytest.mark.parametrize(("role", "phase"), [(Role.DEALER, "suspended"), (Role.PIT_SUPERVISOR, "voided")])
def test_a_report_of_what_the_watch_infers_is_no_other_matter(role: Role, phase: str) -> None:
    """C 5.5.2: a pit supervisor confirms it by the report, a dealer does not."""
    table = after(CUT, STARTED, *NATURAL[:2])
    table.step(NATURAL[2], found=[TOO_OFTEN])
    assert "on record" in detail(table, Notice(kind=Event.DECK_COUNT), role)
    assert table.phase == phase


def test_a_round_that_was_given_up_has_no_notice_to_withdraw() -> None:
    """The next one has other matters."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.FACE_UP, at=1))
    table.hear(card("P1", "9S"))
    assert table.refuses(Withdraw(number=1)) == "round 2 has no matter 1"
