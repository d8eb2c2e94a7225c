"""Notices: irregularities that people report, and their withdrawal.

Two notices of one kind and one `subject` are one matter. The evidence of the matter names both authors. A second
notice about the same matter by a Pit Supervisor or above confirms the notice of a dealer.
"""

from typing import Final

from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author, ReportIrregularity, Withdraw
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.moments import Now
from shoed.rules.book import Then
from shoed.rules.irregular import ABOUT_A_CARD, Irregularity, Ruling
from shoed.table.answers import report_past
from shoed.table.asking import RECORD
from shoed.table.assess import withdrawal
from shoed.table.context import Table
from shoed.table.corrections import role_refusal
from shoed.table.matters import IN_A_ROUND, Confirmation, Matter, Status
from shoed.table.phase import Phase
from shoed.table.question_events import ask
from shoed.table.record import CardEntry, Record, Source, Where, with_card, with_changed, with_status
from shoed.table.report import publish_ruled, report
from shoed.table.rounds import begin_dealing, publish_between_rounds
from shoed.table.state import Past

OF_THE_SET: Final = frozenset({Kind.DECK_COUNT, Kind.NOT_SHUFFLED})
# After a decision on such a matter, a second notice about the same cards is another matter.
MAY_RECUR: Final = frozenset({Kind.DEALING_ERROR, Kind.INTERRUPTION, Kind.OTHER})


def subject(matter: Matter) -> object:
    """The subject of a matter. Notices of one kind about one subject are one matter."""
    if matter.kind in OF_THE_SET:
        return None
    return matter.irregularity.stage if matter.kind is Kind.INSURANCE_NEGLECTED else frozenset(matter.cards)


def known_matter(record: Record, matter: Matter) -> Matter | None:
    decided = {each.matter for each in record.decisions}
    for each in record.having(Status.LATENT, Status.SUSPECTED, *IN_A_ROUND):
        over = each.irregularity.between_rounds or (each.kind in MAY_RECUR and each.id in decided)
        if each.kind is matter.kind and subject(each) == subject(matter) and not over:
            return each
    return None


def reported_again(record: Record, first: Matter, again: Matter) -> Record:
    """The record after a notice about a matter that is on record."""
    authors = first.evidence.split("; ")
    evidence = first.evidence if again.evidence in authors else f"{first.evidence}; {again.evidence}"
    back = first.irregularity.reconstructable
    back = again.irregularity.reconstructable if back is None else back
    irregularity = replace(first.irregularity, reconstructable=back, order_known=again.irregularity.order_known)
    after = replace(first, evidence=evidence, irregularity=irregularity)
    confirmed = again.confirmation is Confirmation.UNNEEDED
    if first.confirmation is Confirmation.NEEDED and confirmed:
        after = replace(after, by=again.by, confirmation=Confirmation.GIVEN)
    if first.status is not Status.SUSPECTED and irregularity == first.irregularity:
        return with_changed(record, after)
    if first.by is None:
        confirmation = Confirmation.GIVEN if confirmed else Confirmation.NEEDED
        after = replace(after, by=again.by, confirmation=confirmation)
    return with_status(record, Status.OPEN, after) if first.status is Status.SUSPECTED else with_changed(record, after)


def is_known(record: Record, first: Matter) -> str:
    """The answer to the author of the second notice."""
    if first.number:
        return f"the notice is about matter {first.number} of round {record.number} ({first.evidence}): no new matter"
    return f"the notice is on record in round {record.number} already ({first.evidence}): no new matter"


def with_exposed_card(table: Table, notice: ReportIrregularity, face: Card, at: Now) -> Record | str:
    """The record with the next card of the shoe, which a person saw before it was drawn; or the refusal."""
    record = table.record
    if notice.kind is not Kind.CARD_EXPOSED or notice.at is not None:
        return (
            f"the field card belongs to a notice of {Kind.CARD_EXPOSED.value} without the field at; remove one of them"
        )
    if record.play not in (Phase.CLOSED, Phase.DEALING) or table.standing.due is None or record.waiting:
        return "no card of this round is due now; give the notice after the card is drawn"
    record = begin_dealing(table, at)
    return with_card(record, CardEntry(face, Where.PLACED, source=Source.PERSON))


def waits(record: Record, matter: Matter) -> bool:
    """Whether the matter is about a card without a place. The matter counts once the card has its place."""
    return matter.kind in ABOUT_A_CARD and any(record.card(each).where is Where.WAITING for each in matter.cards)


# --- the set of cards


def replace_set(table: Table, by: Author, at: Now) -> str | None:
    """C 5.10.2: replace the set of cards after this round; return the refusal, or None."""
    if by.role is None or not by.role.may_decide_for(RECORD):
        return role_refusal(by, "replace the set", RECORD)
    if any(each.kind is Kind.SET_REPLACED for each in table.record.having(Status.CARRIED_OVER, Status.HOLDING)):
        return "a person has decided already that the set is replaced; put the new set in the shoe, then give new-shoe"
    irregularity, evidence = Irregularity(Kind.SET_REPLACED, between_rounds=True), f"{by.name} requested a new set"
    publish_between_rounds(table, at, Matter(irregularity, Status.CARRIED_OVER, evidence, by))
    ask(table, at)
    return None


# --- withdrawing


def withdraw(table: Table, command: Withdraw, by: Author, at: Now) -> str | None:
    """Withdraw the notice; return the refusal, or None."""
    listed = matter_to_withdraw(table, command.number)
    if isinstance(listed, str):
        return listed
    found, past = listed
    record = table.record if past is None else past.record
    if (reason := irrevocable(record, found, by)) is not None:
        return reason
    after = with_status(record, Status.WITHDRAWN, found)
    if past is not None:
        report_past(table, at, past, after)
    elif not found.number:
        reading = withdrawal(after.matter(found.id))
        publish_ruled(table, at, found, Ruling(found.id, Then.STANDS, "", reading=reading))
    if past is None and found.status is not Status.CARRIED_OVER:
        report(table, at, after)
        return None
    if past is None:
        table.set_standing(replace(table.standing, record=after))
    ask(table, at)
    return None


def matter_to_withdraw(table: Table, number: int | None) -> tuple[Matter, Past | None] | str:
    """The matter to withdraw, with its past round; or the refusal.

    Without a number it is the matter of the first open question, if this matter is of the present round. Otherwise it
    is the last notice about a card whose place is in question. Without such a notice it is the matter of the past
    round.
    """
    if number is not None:
        numbered = [each for each in table.record.counted if each.number == number]
        if numbered:
            return numbered[0], None
        remedy = "`number` of irregularity.noticed names a matter"
        return f"round {table.record.number} has no matter {number}; {remedy}"
    asked = next((each for each in table.listed() if each.matter is not None), None)
    latent = [each for each in table.record.having(Status.LATENT) if each.by is not None and each.cards]
    if latent and (asked is None or asked.past is not None):
        return latent[-1], None
    if asked is None or asked.matter is None:
        return "no open question is about a notice; add number=N with the `number` of irregularity.noticed"
    return asked.matter, asked.past


def irrevocable(record: Record, matter: Matter, by: Author) -> str | None:
    """The refusal if this author cannot withdraw this matter."""
    author = matter.by
    if author is None or author.role is None:
        return f"{matter.kind.value} is not a notice of a person; answer the question about it"
    if matter.status is Status.WITHDRAWN:
        return f"{matter.kind.value} is withdrawn already"
    if matter.status in IN_A_ROUND and record.published.voided is not None:
        return f"round {record.number} is void, and a void is final"
    decided = matter.status is Status.DECIDED or any(each.matter == matter.id for each in record.decisions)
    if decided or matter.confirmation is Confirmation.GIVEN:
        return f"a person has decided on {matter.kind.value}, and the decision is final"
    if by.role is None or not by.role.may_decide_for(author.role):
        return role_refusal(by, "withdraw this notice", author.role)
    return None
