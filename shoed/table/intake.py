"""From reports to the record: cards, results, and the findings of the watch about them.

Theory of operation: a report is one more entry on the record of the round, and `report` publishes the changes. The
cards and the Table of Play alone decide which card is due, the points of a hand and the winner. The hand, position and
result of the device are only compared. A card that is not due is set aside: the card waits, and the round waits.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from shoed.model import events
from shoed.model.cards import Card
from shoed.model.events import Measured, RoundResult, Seen
from shoed.model.findings import AnyFinding, DrawnTogether, TooMany, TooOften, Unread
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.moments import Now, rfc3339
from shoed.model.observations import CardSeen, Outcome, Place, ResultSeen, Side
from shoed.rules.irregular import Irregularity
from shoed.rules.questions import Ask
from shoed.table import floods
from shoed.table.context import AfterGap, Table
from shoed.table.customs import custom_breaches, suspicion
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, DRAWN, OPEN, OVER, Phase
from shoed.table.question_events import ask
from shoed.table.questions import after_round
from shoed.table.readings import FIRST, fits, may_be_new_shoe, opens, place
from shoed.table.record import (
    CardEntry,
    EarlyResult,
    Record,
    ReportedPlace,
    Where,
    changed,
    drawn_with,
    reported_as,
    with_card,
    with_matter,
    with_status,
)
from shoed.table.report import compare, publish_drawn, publish_noticed, report
from shoed.table.rounds import (
    add_between_rounds,
    begin_dealing,
    end_empty_shoe,
    left_over_cards,
    matter_between_rounds,
    may_be_overtaken,
    open_round,
    publish_between_rounds,
    start_after_cut,
)
from shoed.table.sets import SUSPECTED
from shoed.table.state import LastCard

HANDS: Final = {Place.PLAYER: Side.PLAYER, Place.BANKER: Side.BANKER}
IN_NO_HAND: Final = {
    Place.BURN: ReportedPlace.BURNT,
    Place.FIRST_CARD: ReportedPlace.BURNT,
    Place.LOCKED: ReportedPlace.LOCKED,
    Place.ERROR: ReportedPlace.IN_ERROR,
    Place.UNKNOWN: ReportedPlace.UNKNOWN,
}
REPORTED_AFTER_ROUND: Final = {
    Place.OVERDRAW: ReportedPlace.OVERDRAWN,
    Place.DEALT: ReportedPlace.UNNAMED,
    Place.UNKNOWN: ReportedPlace.UNKNOWN,
}
NOT_DUE: Final = ("not-due", Place.OVERDRAW.value, Place.UNKNOWN.value)


# --- cards


def card(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    if proves_new_shoe(table, seen):
        start_after_cut(table, seen.at)
    if not table.state.shoe.number:  # joined midway: the shoe is numbered at its first card, and partial
        number = table.state.next_shoe
        table.state = replace(table.state, shoe=replace(table.state.shoe, number=number))
        table.set_record(replace(table.record, shoe=number))
        ask(table, seen.at)  # an open question is about this shoe
    shoe = table.state.shoe
    if table.state.phase not in OPEN and seen.place is not Place.SET_UP:
        end_empty_shoe(table, seen.at, "a card left the shoe")
    elif shoe.emptied:
        table.state = replace(table.state, shoe=replace(shoe, emptied=False))
    if seen.place not in HANDS and seen.place is not Place.DEALT:
        outside(table, seen, findings)
        return
    open_if_first(table, seen)
    if table.state.phase in (Phase.IDLE, Phase.ABANDONED):
        of_no_round_yet(table, seen, set_aside(table, seen, "no-round"))
        take_findings(table, seen.at, findings)
    elif table.state.phase in OVER:
        if set_aside(table, seen, "not-due"):  # a counted card has no matter
            too_many(table, seen)
        take_findings(table, seen.at, findings)
    else:
        add_card(table, seen, findings)


def proves_new_shoe(table: Table, seen: CardSeen) -> bool:
    """Whether, after a start of the shoe after its cut card, this card proves a new shoe.

    The proofs are a card of the beginning of a shoe, and Player's first card after a round that has ended.
    """
    record = table.record
    forced = record.early is not None and record.early.result.outcome is Outcome.FORCED_END
    over = forced or table.state.phase not in OPEN
    begins = seen.place in (Place.BURN, Place.FIRST_CARD) or (over and place(reported(seen)) == FIRST)
    return begins and may_be_new_shoe(record)


def of_no_round_yet(table: Table, seen: CardSeen, sequence: int) -> None:
    """Ask about a card of a hand before the first round of a shoe, unless the shoe was joined midway."""
    shoe = table.state.shoe
    midway = not shoe.whole and shoe.number <= table.state.journal.shoes_elsewhere + 1
    if table.state.phase is not Phase.IDLE or midway:
        return
    entry = entry_of(table, seen, ReportedPlace.SLOT)
    table.set_record(with_card(table.record, replace(entry, sequence=sequence)))
    ask(table, seen.at)


def outside(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """Take in a card that the device reports in no hand."""
    if seen.place is Place.OVERDRAW:
        overdrawn(table, seen)
        take_findings(table, seen.at, findings)
        return
    before_dealing = table.record.number <= 1 and table.record.play is not Phase.DEALING
    at_the_start = seen.place in (Place.BURN, Place.FIRST_CARD) and before_dealing
    phase, unknown = table.state.phase, seen.place is Place.UNKNOWN
    in_round = phase in OPEN and not table.record.published.complete
    asks = in_round or (unknown and phase in AT_THE_TABLE)
    if asks and not at_the_start and seen.place in IN_NO_HAND:
        left_the_shoe(table, seen, findings)
        return
    if set_aside(table, seen, seen.place.value) and unknown:
        too_many(table, seen)
    if at_the_start:
        shoe = table.state.shoe
        findings = [each for each in findings if not first_card_unsure(table, seen, each)]
        first = seen.card if seen.place is Place.FIRST_CARD else shoe.first_card
        table.state = replace(table.state, shoe=replace(shoe, burnt=shoe.burnt + 1, first_card=first))
    take_findings(table, seen.at, findings)


def first_card_unsure(table: Table, seen: CardSeen, finding: AnyFinding) -> bool:
    """C 5.10: whether the first card of a shoe and a burn card were drawn together. A person rules on their order."""
    if not isinstance(finding, DrawnTogether) or finding.order_known:
        return False
    first = table.state.shoe.first_card
    concerns_first = seen.place is Place.FIRST_CARD or (first is not None and finding.cards[0] is first)
    if concerns_first:
        add_between_rounds(table, seen.at, matter_between_rounds(Kind.DRAWN_TOGETHER, finding.evidence))
    return concerns_first


def left_the_shoe(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """C 5.7, 5.12: the device reports a card in no hand during a round. A person decides its meaning."""
    last, seen_as = table.state.last_card, reported(seen)
    again = last is not None and last.face is not None and last.face is seen.card
    sequence = set_aside(table, seen, seen.place.value)
    if table.record.play is Phase.BETTING:  # no card is due before the bets are closed
        how = reported_as(IN_NO_HAND[seen.place], seen_as)
        evidence = f"{seen.card or 'a card without a face'} was reported {how}, and bets are open"
        record = with_matter(table.record, suspicion(Kind.ORDER_ALTERED, evidence))
        report(table, seen.at, with_findings(table, seen.at, record, 0, findings), seen_as)
        return
    record = begin_dealing(table, seen.at)
    entry = entry_of(table, seen, IN_NO_HAND[seen.place])
    record = with_card(record, replace(entry, sequence=sequence, repeated=again and bool(record.order)))
    report(table, seen.at, with_findings(table, seen.at, record, record.last_drawn, findings), seen_as)


def open_if_first(table: Table, seen: CardSeen) -> None:
    """Open a round with Player's first card, or with the card after the left-over cards."""
    record, hand = table.record, HANDS.get(seen.place)
    is_first = hand is Side.PLAYER and seen.position == 1 and not waits(table, seen)
    unsure = record.continuity.beyond is not None
    left = left_over_cards(table) if table.state.phase in (Phase.IDLE, *DRAWN, *OVER) else ()
    if is_first or dealt_next(table, seen) or opens(len(left), reported(seen)):
        open_round(table, seen.at, "card")
        # Reports may be missing: neither the left-over cards nor the first card of the round are proven.
        if unsure and (left or hand is None):
            last, asks = table.record.last_id, hand is None and table.settings.after_gap is AfterGap.ASK
            continuity = replace(table.record.continuity, gap=last, unasked=last if asks else None)
            table.set_record(replace(table.record, continuity=continuity))


def waits(table: Table, seen: CardSeen) -> bool:
    """Whether Player's first card belongs to the open round, or waits for a person."""
    record = table.record
    begun = record.order or any(each.report not in IN_NO_HAND.values() for each in record.waiting)
    awaited = table.state.phase in OPEN and not begun
    return awaited or repeats_first(table, seen) or may_be_new_shoe(record)


def repeats_first(table: Table, seen: CardSeen) -> bool:
    """Whether the shoe repeats Player's first card, before any other card of Player. A person decides its meaning."""
    hands = [each.seen.hand for each in table.record.waiting if each.seen.position != 1]
    is_only = table.standing.course.hands.player == (seen.card,) and Side.PLAYER.value not in hands
    return table.state.phase in OPEN and is_only


def dealt_next(table: Table, seen: CardSeen) -> bool:
    """Whether the card opens the next round: the device names no hand, the round is over, none is announced."""
    if seen.place is not Place.DEALT:
        return False
    over = table.state.phase in (*DRAWN, *OVER) or may_be_overtaken(table)
    return table.state.phase is Phase.IDLE or (over and not table.settings.custom.bets_close_by_command)


def add_card(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """Take in a card of this round: the due card, or a card that waits for the decision of a person."""
    play, seen_as = table.record.play, reported(seen)
    record = begin_dealing(table, seen.at)
    record, after_loss = after_a_loss(record)
    empty = [each for each in record.having(Status.LATENT) if each.kind is Kind.TOO_FEW_CARDS]
    record = with_status(record, Status.WITHDRAWN, *empty)  # the card proves that the shoe was not empty
    due = table.standing.due if not record.waiting else None
    kind = ReportedPlace.UNNAMED if seen.place is Place.DEALT else ReportedPlace.SLOT
    entry = replace(entry_of(table, seen, kind), after_loss=after_loss)
    if due is not None and seen.card is not None and fits(record, due, entry, table.standing.course):
        table.set_record(with_card(record, replace(entry, where=Where.PLACED)))
        publish_drawn(table, seen.at)
        record = table.record
        table.state = replace(table.state, last_card=LastCard(seen.card, table.state.sequence, aside=False))
    else:
        record = with_card(record, replace(entry, sequence=set_aside(table, seen, "not-due")))
    record = with_matter(record, *custom_breaches(table.settings.custom, table.state.shoe, record.number, play))
    report(table, seen.at, with_findings(table, seen.at, record, record.last_drawn, findings), seen_as)


def after_a_loss(record: Record) -> tuple[Record, bool]:
    """The record, and whether reports may be missing directly before the present card. A person is asked once."""
    if record.continuity.unasked is None:
        return record, False
    return replace(record, continuity=replace(record.continuity, unasked=None)), True


def overdrawn(table: Table, seen: CardSeen) -> None:
    """Take in an overdraw: the device reports that no card was due. A person decides the meaning.

    assumed: a device that reported the card before reports it again directly after the first report. The watch counts
    the card once, too.
    """
    record, last = table.record, table.state.last_card
    same = last is not None and last.face is not None and last.face is seen.card
    sequence = set_aside(table, seen, seen.place.value)
    if table.state.phase in (Phase.IDLE, *OVER) or record.play is not Phase.DEALING:
        if same and last is not None and last.aside:
            table.state = replace(table.state, last_card=last)
        elif sequence:
            too_many(table, seen)
        return
    # The card was counted during the error. The device now reports that the card is an overdraw.
    if (in_error := last_in_error(record, seen.card)) is not None:
        if in_error.where is Where.WAITING:
            report(table, seen.at, changed(record, replace(in_error, report=ReportedPlace.OVERDRAWN)))
        return
    in_round = record.at(Where.PLACED, Where.WAITING, Where.DEFERRED)
    before = next((each for each in in_round if same and last is not None and each.sequence == last.sequence), None)
    if before is not None and is_excess(record, before):
        table.state = replace(table.state, last_card=last)
        return
    record, after_loss = after_a_loss(record)
    entry = entry_of(table, seen, ReportedPlace.OVERDRAWN)
    entry = replace(entry, sequence=sequence, repeated=before is not None, after_loss=after_loss)
    if (after := with_card(record, entry)) is not record:
        report(table, seen.at, after, entry.seen)


def last_in_error(record: Record, face: Card | None) -> CardEntry | None:
    """The last card with this face that left the shoe during an error.

    The shoe reports an overdraw again after its error was cleared.
    """
    in_error = [each for each in record.cards if each.report is ReportedPlace.IN_ERROR and face is not None]
    return next((each for each in reversed(in_error) if each.face is face), None)


def is_excess(record: Record, card: CardEntry) -> bool:
    """Whether this card was reported while no card was due. The shoe reports it again after its error was cleared."""
    found = [each.cards[0] for each in record.counted if each.kind is Kind.CARD_IN_EXCESS]
    return card.report is not ReportedPlace.OVERDRAWN and card.id in found


def too_many(table: Table, seen: CardSeen) -> None:
    """C 5.7: a card that left the shoe between two rounds may open the next round."""
    entry = entry_of(table, seen, REPORTED_AFTER_ROUND.get(seen.place, ReportedPlace.SLOT))
    entry = replace(entry, where=Where.AFTER_ROUND, sequence=table.state.sequence)
    if table.state.phase is Phase.SETTLED:
        table.set_standing(replace(table.standing, record=with_card(table.record, entry)))
        entry = replace(entry, id=table.record.last_id)
    when = "after the round was over" if table.record.number else "before the first round of the shoe"
    how = f"was reported {reported_as(entry.report, entry.seen)}," if seen.place is Place.UNKNOWN else "left the shoe"
    publish_between_rounds(table, seen.at, after_round(entry, f"{how} {when}"))
    ask(table, seen.at)


def set_aside(table: Table, seen: CardSeen, reason: str) -> int:
    sequence = floods.set_aside(
        table,
        seen.at,
        events.CardSetAside(
            shoe=table.state.shoe.number,
            round=table.record.number or None,
            card=seen.card,
            reason=reason,
            reported=reported(seen),
            provenance=table.row,
            measured=measured(seen) or UNSET,
        ),
    )
    table.state = replace(table.state, last_card=LastCard(seen.card, sequence, aside=reason in NOT_DUE))
    return sequence


def entry_of(table: Table, seen: CardSeen, report: ReportedPlace) -> CardEntry:
    """The card as the device reported it, without a place."""
    return CardEntry(
        seen.card,
        Where.WAITING,
        report=report,
        seen=reported(seen),
        utc_us=seen.at.utc_us,
        row=table.row,
        measured=measured(seen),
    )


def reported(seen: CardSeen) -> Seen:
    if seen.place in HANDS:
        return Seen(card=seen.card, hand=seen.place.value, position=seen.position)
    return Seen(card=seen.card, unknown=seen.unknown or UNSET, target=seen.target or UNSET)


def measured(seen: CardSeen) -> Measured | None:
    """The measurements of the card; None: the device measured nothing."""
    drawn, edges = seen.drawn, seen.edges
    found = Measured(
        drawn_at=None if drawn is None else rfc3339(drawn.utc_us),
        within_ms=None if drawn is None else -(-drawn.within_us // 1000),
        quality=seen.quality,
        code=seen.code or None,
        passage_us=None if edges is None else edges.trailing_us - edges.leading_us or None,
    )
    return None if found == Measured() else found


def result(table: Table, seen: ResultSeen) -> None:
    theirs, phase, record = RoundResult(seen.outcome, seen.pairs), table.state.phase, table.record
    if phase is Phase.DEALING or (phase is Phase.SUSPENDED and not record.published.complete):
        # A result before the last card due is compared once the round has its cards.
        after = record.early.after if record.early is not None and record.result_is_early else record.last_id
        early = EarlyResult(theirs, after)
        report(table, seen.at, replace(record, early=early), Seen(result=theirs))
    else:
        compare(table, seen.at, theirs)


# --- findings


def reconsider(table: Table, at: Now) -> None:
    """Judge a waiting round by the present settings, which may have changed."""
    if table.state.phase is Phase.SUSPENDED or (table.state.phase in AT_THE_TABLE and table.standing.held):
        report(table, at, table.record)
    else:
        ask(table, at)


def with_findings(table: Table, at: Now, record: Record, last: int, findings: Sequence[AnyFinding]) -> Record:
    """The record with the findings of the watch; `last` is the id of the last card concerned, 0 without one."""
    for finding in findings:
        if isinstance(finding, DrawnTogether) and not last:  # the cards are not on the record
            publish_noticed(table, at, together(finding))
        elif isinstance(finding, DrawnTogether):
            record = drawn_together(table, at, record, last, finding)
        elif isinstance(finding, Unread) or not proves(table, finding):
            pass  # published already with the fault or the card, or not a proof
        else:
            about = finding.card if isinstance(finding, TooOften) else None
            kind = SUSPECTED[type(finding)]
            known = {each.kind for each in (*record.having(Status.SUSPECTED), *record.counted)}
            if kind not in known:
                cards = (last,) if last else ()
                irregularity = Irregularity(kind)
                record = with_matter(
                    record,
                    Matter(irregularity, Status.SUSPECTED, str(finding), cards=cards, noticed_after=last, face=about),
                )
    return record


def drawn_together(table: Table, at: Now, record: Record, last: int, finding: DrawnTogether) -> Record:
    matter, asked = together(finding), table.standing.questions
    # A question of the rules is open: the record is not in question.
    by_the_rules = finding.order_known and bool(asked) and isinstance(asked[0].ask, Ask)
    drawn = record.drawn
    before = drawn[-2:-1] if drawn and drawn[-1].id == last else ()
    # The unread first card of the two is not on the record yet.
    if finding.cards[0] is None and all(each.face is not None for each in before):
        matter = replace(matter, irregularity=replace(matter.irregularity, count=1))
    after = with_matter(record, replace(matter, cards=(last,)))
    matter = after.matters[-1]
    if record.card(last).where is Where.PLACED or by_the_rules:
        after = drawn_with(after, matter, last)
        matter = after.matter(matter.id)
    if matter.status is Status.LATENT:
        publish_noticed(table, at, replace(matter, cards=()))
    return after


def together(finding: DrawnTogether) -> Matter:
    irregularity = Irregularity(Kind.DRAWN_TOGETHER, count=len(finding.cards), order_known=finding.order_known)
    return Matter(irregularity, Status.LATENT, finding.evidence)


def take_findings(table: Table, at: Now, findings: Sequence[AnyFinding]) -> None:
    """Take in findings that are not about a card just taken into the round."""
    at_the_table = table.state.phase in AT_THE_TABLE
    of_cards = [each for each in findings if isinstance(each, DrawnTogether)]
    others = [each for each in findings if not isinstance(each, DrawnTogether)]
    passed_unread = any(isinstance(each, Unread) and each.meaning is not None for each in others)
    carried = table.record.having(Status.CARRIED_OVER)
    certain = table.record.continuity.unasked is None
    if at_the_table and of_cards and passed_unread and certain and not table.standing.held and not carried:
        take_unread(table, at, findings)
        return
    for finding in of_cards:
        publish_noticed(table, at, together(finding))
    if at_the_table and others:
        report(table, at, with_findings(table, at, table.record, table.record.last_placed, others))
    for each in [] if at_the_table else others:
        if not isinstance(each, Unread) and proves(table, each):
            add_between_rounds(table, at, matter_between_rounds(SUSPECTED[type(each)], str(each)))


def take_unread(table: Table, at: Now, findings: Sequence[AnyFinding]) -> None:
    """Take in a card of the round that left the shoe unread."""
    play = table.record.play
    record = begin_dealing(table, at)
    record = with_card(record, CardEntry(None, Where.PLACED, utc_us=at.utc_us, row=table.row))
    record = with_matter(record, *custom_breaches(table.settings.custom, table.state.shoe, record.number, play))
    report(table, at, with_findings(table, at, record, record.last_id, findings))


def proves(table: Table, finding: AnyFinding) -> bool:
    """Whether the finding is a proof. In a shoe joined midway, too many cards may be the cards of two sets."""
    shoe = table.state.shoe
    return (shoe.whole and not shoe.gap) or not isinstance(finding, TooOften | TooMany)
