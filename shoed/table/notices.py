"""Notices of people: one matter for each thing, and how a notice is withdrawn.

Two reports of the same thing are one matter: the second one is recorded with the first. Its author is named in the
evidence, and a Pit Supervisor or above who reports what a dealer reported has confirmed it.
"""

from typing import Final

from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Author, Notice, Withdraw
from shoed.now import Now
from shoed.rules.book import Then
from shoed.rules.irregular import OF_A_CARD, Happened, Ruling
from shoed.table.answers import report_past
from shoed.table.asking import RECORD
from shoed.table.assess import withdrawal
from shoed.table.context import Table
from shoed.table.matters import IN_A_ROUND, Confirmation, Matter, Status
from shoed.table.phase import Phase
from shoed.table.posing import ask
from shoed.table.record import CardEntry, Record, Source, Where, with_card, with_changed, with_status
from shoed.table.report import publish_ruled, report
from shoed.table.rounds import begin_dealing, publish_found
from shoed.table.state import Past
from shoed.words import Event as Kind

OF_THE_SET: Final = frozenset({Kind.DECK_COUNT, Kind.NOT_SHUFFLED})
# Once a person has decided on one, a second one of the same cards is another matter.
MAY_RECUR: Final = frozenset({Kind.DEALING_ERROR, Kind.INTERRUPTION, Kind.OTHER})


def subject(matter: Matter) -> object:
    """What a matter is about: of one kind and one subject there is one matter."""
    if matter.kind in OF_THE_SET:
        return None
    return matter.what.stage if matter.kind is Kind.INSURANCE_NEGLECTED else frozenset(matter.cards)


def same_thing(record: Record, matter: Matter) -> Matter | None:
    decided = {each.matter for each in record.decisions}
    for each in record.having(Status.LATENT, Status.SUSPECTED, *IN_A_ROUND):
        over = each.what.between_rounds or (each.kind in MAY_RECUR and each.id in decided)
        if each.kind is matter.kind and subject(each) == subject(matter) and not over:
            return each
    return None


def reported_again(record: Record, first: Matter, again: Matter) -> Record:
    """The record once a person reports what is a matter already."""
    authors = first.evidence.split("; ")
    evidence = first.evidence if again.evidence in authors else f"{first.evidence}; {again.evidence}"
    back = first.what.reconstructable
    back = again.what.reconstructable if back is None else back
    what = replace(first.what, reconstructable=back, order_known=again.what.order_known)
    after = replace(first, evidence=evidence, what=what)
    confirmed = again.confirmation is Confirmation.UNNEEDED
    if first.confirmation is Confirmation.NEEDED and confirmed:
        after = replace(after, by=again.by, confirmation=Confirmation.GIVEN)
    if first.status is not Status.SUSPECTED and what == first.what:
        return with_changed(record, after)
    if first.by is None:
        confirmation = Confirmation.GIVEN if confirmed else Confirmation.NEEDED
        after = replace(after, by=again.by, confirmation=confirmation)
    return with_status(record, Status.OPEN, after) if first.status is Status.SUSPECTED else with_changed(record, after)


def is_known(record: Record, first: Matter) -> str:
    """The answer to the author of the second report."""
    name = f"matter {first.number} of round {record.number}" if first.number else f"on record in round {record.number}"
    return f"this is {name} already ({first.evidence}): no new matter"


def exposed(table: Table, notice: Notice, face: Card, at: Now) -> Record | str:
    """The record with the next card of the shoe, which a person saw before it was drawn; else why not."""
    record = table.record
    if notice.kind is not Kind.CARD_EXPOSED or notice.at is not None:
        return f"card is said of {Kind.CARD_EXPOSED.value} alone, without at"
    if record.play not in (Phase.CLOSED, Phase.DEALING) or table.standing.due is None or record.waiting:
        return "no card of this round is due now: give the notice once the card is drawn"
    record = begin_dealing(table, at)
    return with_card(record, CardEntry(face, Where.PLACED, source=Source.PERSON))


def waits(record: Record, matter: Matter) -> bool:
    """Whether the matter is about a card that has no place yet: it counts once the card has one."""
    return matter.kind in OF_A_CARD and any(record.card(each).where is Where.WAITING for each in matter.cards)


# --- the set of cards


def replace_set(table: Table, by: Author, at: Now) -> str | None:
    """C 5.10.2: None if the set is to be replaced, else why not."""
    if by.role is None or not by.role.may_decide_for(RECORD):
        return f"{RECORD.value} or a higher role decides that the set is replaced"
    if any(each.kind is Kind.SET_REPLACED for each in table.record.having(Status.CARRIED_OVER, Status.HOLDING)):
        return "the set is to be replaced already: put in the new one, then give new-shoe"
    what, evidence = Happened(Kind.SET_REPLACED, between_rounds=True), f"{by.name} has the set replaced"
    publish_found(table, at, Matter(what, Status.CARRIED_OVER, evidence, by))
    ask(table, at)
    return None


# --- withdrawing


def withdraw(table: Table, command: Withdraw, by: Author, at: Now) -> str | None:
    """None if the notice is withdrawn, else why not."""
    listed = meant(table, command.number)
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


def meant(table: Table, number: int | None) -> tuple[Matter, Past | None] | str:
    """The matter with this number, that of the open question, or the last notice of a waiting card; else the fault."""
    if number is not None:
        numbered = [each for each in table.record.counted if each.number == number]
        return (numbered[0], None) if numbered else f"round {table.record.number} has no matter {number}"
    asked = next((each for each in table.listed() if each.matter is not None), None)
    latent = [each for each in table.record.having(Status.LATENT) if each.by is not None and each.cards]
    if latent and (asked is None or asked.past is not None):
        return latent[-1], None
    if asked is None or asked.matter is None:
        return "no open question is about a notice: give the number of its matter"
    return asked.matter, asked.past


def irrevocable(record: Record, matter: Matter, by: Author) -> str | None:
    """Why this matter cannot be withdrawn, or not by this author."""
    author = matter.by
    if author is None or author.role is None:
        return f"{matter.kind.value} is not a notice of a person: answer the question about it"
    if matter.status is Status.WITHDRAWN:
        return f"{matter.kind.value} is withdrawn already"
    if matter.status in IN_A_ROUND and record.published.voided is not None:
        return f"round {record.number} is void, which is final"
    decided = matter.status is Status.DECIDED or any(each.matter == matter.id for each in record.decisions)
    if decided or matter.confirmation is Confirmation.GIVEN:
        return f"a person has decided on {matter.kind.value}, which is final"
    if by.role is None or not by.role.may_decide_for(author.role):
        return f"{author.role.value} or a higher role may withdraw this notice"
    return None
