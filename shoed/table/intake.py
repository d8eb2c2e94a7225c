"""From reports to the record: cards, results, and what the watch found in them.

Theory of operation: a report is one more entry on the record of the round, and `report` publishes what has changed. The
cards and the Table of Play alone decide which card is due, the points of a hand and the winner; the device's hand,
position and result are only compared. A card that is not the due one is set aside: it waits, and the round with it.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from shoed import events
from shoed.cards import Card
from shoed.events import Measured, Result, Seen
from shoed.findings import AnyFinding, DrawnTogether, TooMany, TooOften, Unread
from shoed.now import Now, rfc3339
from shoed.observations import CardSeen, Outcome, Pair, Place, ResultSeen
from shoed.rules.irregular import Happened
from shoed.rules.questions import Ask
from shoed.table import floods
from shoed.table.context import AfterGap, Table
from shoed.table.customs import against_custom, suspicion
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, DRAWN, OPEN, OVER, Phase
from shoed.table.posing import ask
from shoed.table.questions import after_round
from shoed.table.readings import FIRST, fits, may_be_new_shoe, opens, place
from shoed.table.record import (
    CardEntry,
    EarlyResult,
    Record,
    Report,
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
    begin_dealing,
    between,
    lying,
    may_be_overtaken,
    of_no_round,
    open_round,
    over_empty,
    publish_found,
    start_spoken,
)
from shoed.table.sets import SUSPECTED
from shoed.table.state import LastCard
from shoed.words import Event as Kind

HANDS: Final = {Place.PLAYER: Pair.PLAYER, Place.BANKER: Pair.BANKER}
IN_NO_HAND: Final = {
    Place.BURN: Report.BURNT,
    Place.FIRST_CARD: Report.BURNT,
    Place.LOCKED: Report.LOCKED,
    Place.ERROR: Report.IN_ERROR,
    Place.UNKNOWN: Report.UNKNOWN,
}
KEPT: Final = {Place.OVERDRAW: Report.OVERDRAWN, Place.DEALT: Report.UNNAMED, Place.UNKNOWN: Report.UNKNOWN}
NOT_DUE: Final = ("not-due", Place.OVERDRAW.value, Place.UNKNOWN.value)


# --- cards


def card(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    if proves_new_shoe(table, seen):
        start_spoken(table, seen.at)
    if not table.state.shoe.number:  # joined midway: numbered at its first card, and partial
        table.state = replace(table.state, shoe=replace(table.state.shoe, number=1))
        table.set_record(replace(table.record, shoe=1))
        ask(table, seen.at)  # a question that is open is about this shoe
    shoe = table.state.shoe
    if table.state.phase not in OPEN and seen.place is not Place.SET_UP:
        over_empty(table, seen.at, "a card left the shoe")
    elif shoe.emptied:
        table.state = replace(table.state, shoe=replace(shoe, emptied=False))
    if seen.place not in HANDS and seen.place is not Place.DEALT:
        outside(table, seen, findings)
        return
    open_if_first(table, seen)
    if table.state.phase in (Phase.IDLE, Phase.ABANDONED):
        of_no_round_yet(table, seen, set_aside(table, seen, "no-round"))
        doubt(table, seen.at, findings)
    elif table.state.phase in OVER:
        if set_aside(table, seen, "not-due"):  # else it is only counted, and so is its matter
            too_many(table, seen)
        doubt(table, seen.at, findings)
    else:
        take(table, seen, findings)


def proves_new_shoe(table: Table, seen: CardSeen) -> bool:
    """After a start behind the cut card: a card of the beginning of a shoe, or a round behind one that has ended."""
    record = table.record
    forced = record.early is not None and record.early.result.outcome is Outcome.FORCED_END
    over = forced or table.state.phase not in OPEN
    begins = seen.place in (Place.BURN, Place.FIRST_CARD) or (over and place(reported(seen)) == FIRST)
    return begins and may_be_new_shoe(record)


def of_no_round_yet(table: Table, seen: CardSeen, sequence: int) -> None:
    """A card of a hand before the first round of a shoe, of which no card should be missing: a person is asked."""
    shoe = table.state.shoe
    if table.state.phase is not Phase.IDLE or not (shoe.whole or shoe.number > 1):  # else the shoe was joined midway
        return
    entry = entry_of(table, seen, Report.SLOT)
    table.set_record(with_card(table.record, replace(entry, sequence=sequence)))
    ask(table, seen.at)


def outside(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """A card that the device reports in no hand."""
    if seen.place is Place.OVERDRAW:
        overdrawn(table, seen)
        doubt(table, seen.at, findings)
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
        findings = [each for each in findings if not first_in_doubt(table, seen, each)]
        first = seen.card if seen.place is Place.FIRST_CARD else shoe.first_card
        table.state = replace(table.state, shoe=replace(shoe, burnt=shoe.burnt + 1, first_card=first))
    doubt(table, seen.at, findings)


def first_in_doubt(table: Table, seen: CardSeen, finding: AnyFinding) -> bool:
    """C 5.10: the first card of a shoe and a burnt one were drawn together, and a person rules which is which."""
    if not isinstance(finding, DrawnTogether) or finding.order_known:
        return False
    first = table.state.shoe.first_card
    doubted = seen.place is Place.FIRST_CARD or (first is not None and finding.cards[0] is first)
    if doubted:
        between(table, seen.at, of_no_round(Kind.DRAWN_TOGETHER, finding.evidence))
    return doubted


def left_the_shoe(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """C 5.7, 5.12: in the middle of a round, a person says what a card is that the device reports in no hand."""
    last, seen_as = table.state.last_card, reported(seen)
    again = last is not None and last.face is not None and last.face is seen.card
    sequence = set_aside(table, seen, seen.place.value)
    if table.record.play is Phase.BETTING:  # no card is due before the bets are closed
        how = reported_as(IN_NO_HAND[seen.place], seen_as)
        evidence = f"{seen.card or 'a card without a face'} was reported {how}, and bets are open"
        record = with_matter(table.record, suspicion(Kind.ORDER_ALTERED, evidence))
        report(table, seen.at, noticed(table, seen.at, record, 0, findings), seen_as)
        return
    record = begin_dealing(table, seen.at)
    entry = entry_of(table, seen, IN_NO_HAND[seen.place])
    record = with_card(record, replace(entry, sequence=sequence, repeated=again and bool(record.order)))
    report(table, seen.at, noticed(table, seen.at, record, record.last_drawn, findings), seen_as)


def open_if_first(table: Table, seen: CardSeen) -> None:
    """A first Player card opens a round; so does the card that follows those left over."""
    record, hand = table.record, HANDS.get(seen.place)
    begun = record.order or any(each.report not in IN_NO_HAND.values() for each in record.waiting)
    awaited = table.state.phase in OPEN and not begun
    waits = awaited or repeats_first(table, seen) or may_be_new_shoe(record)
    is_first = hand is Pair.PLAYER and seen.position == 1 and not waits
    unsure = record.continuity.beyond is not None
    left = lying(table) if table.state.phase in (Phase.IDLE, *DRAWN, *OVER) else ()
    if is_first or dealt_next(table, seen) or opens(len(left), reported(seen)):
        open_round(table, seen.at, "card")
        if unsure and (left or hand is None):  # that the shoe counts them, or that it is the first, is not proven
            last, asks = table.record.last_id, hand is None and table.settings.after_gap is AfterGap.ASK
            continuity = replace(table.record.continuity, gap=last, unasked=last if asks else None)
            table.set_record(replace(table.record, continuity=continuity))


def repeats_first(table: Table, seen: CardSeen) -> bool:
    """Contract: the same face, before any other card of Player, is a doubt about that card."""
    hands = [each.seen.hand for each in table.record.waiting if each.seen.position != 1]
    is_only = table.standing.course.hands.player == (seen.card,) and Pair.PLAYER.value not in hands
    return table.state.phase in OPEN and is_only


def dealt_next(table: Table, seen: CardSeen) -> bool:
    """If the device names no hand, a card after a round opens the next, unless each round is announced."""
    if seen.place is not Place.DEALT:
        return False
    over = table.state.phase in (*DRAWN, *OVER) or may_be_overtaken(table)
    return table.state.phase is Phase.IDLE or (over and not table.settings.custom.bets_close_by_command)


def take(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    """A card of this round: the due one, or one that waits until a person says what it is."""
    play, seen_as = table.record.play, reported(seen)
    record = begin_dealing(table, seen.at)
    record, after_loss = after_a_loss(record)
    empty = [each for each in record.having(Status.LATENT) if each.kind is Kind.TOO_FEW_CARDS]
    record = with_status(record, Status.WITHDRAWN, *empty)  # the shoe was not empty
    due = table.standing.due if not record.waiting else None
    kind = Report.UNNAMED if seen.place is Place.DEALT else Report.SLOT
    entry = replace(entry_of(table, seen, kind), after_loss=after_loss)
    if due is not None and seen.card is not None and fits(record, due, entry, table.standing.course):
        table.set_record(with_card(record, replace(entry, where=Where.PLACED)))
        publish_drawn(table, seen.at)
        record = table.record
        table.state = replace(table.state, last_card=LastCard(seen.card, table.state.sequence, aside=False))
    else:
        record = with_card(record, replace(entry, sequence=set_aside(table, seen, "not-due")))
    record = with_matter(record, *against_custom(table.settings.custom, table.state.shoe, record.number, play))
    report(table, seen.at, noticed(table, seen.at, record, record.last_drawn, findings), seen_as)


def after_a_loss(record: Record) -> tuple[Record, bool]:
    """Whether reports may be missing directly before the card that is now reported; it alone is asked about."""
    if record.continuity.unasked is None:
        return record, False
    return replace(record, continuity=replace(record.continuity, unasked=None)), True


def overdrawn(table: Table, seen: CardSeen) -> None:
    """The device says that no card was due; the meaning by the Table of Play is asked.

    assumed: it may have been reported before, and then it was the last one; the watch does not count it twice either.
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
    if (in_error := last_in_error(record, seen.card)) is not None:  # counted then; the device now says what it is
        if in_error.where is Where.WAITING:
            report(table, seen.at, changed(record, replace(in_error, report=Report.OVERDRAWN)))
        return
    there = record.at(Where.PLACED, Where.WAITING, Where.PUT_BY)
    before = next((each for each in there if same and last is not None and each.sequence == last.sequence), None)
    if before is not None and is_excess(record, before):
        table.state = replace(table.state, last_card=last)
        return
    record, after_loss = after_a_loss(record)
    entry = entry_of(table, seen, Report.OVERDRAWN)
    entry = replace(entry, sequence=sequence, repeated=before is not None, after_loss=after_loss)
    if (after := with_card(record, entry)) is not record:
        report(table, seen.at, after, entry.seen)


def last_in_error(record: Record, face: Card | None) -> CardEntry | None:
    """The card with this face that left the shoe in its error: an overdraw is reported again once that is cleared."""
    in_error = [each for each in record.cards if each.report is Report.IN_ERROR and face is not None]
    return next((each for each in reversed(in_error) if each.face is face), None)


def is_excess(record: Record, card: CardEntry) -> bool:
    """Whether this card was reported where none was due: the shoe reports it again once its error is cleared."""
    found = [each.cards[0] for each in record.counted if each.kind is Kind.CARD_IN_EXCESS]
    return card.report is not Report.OVERDRAWN and card.id in found


def too_many(table: Table, seen: CardSeen) -> None:
    """C 5.7: a card between two rounds may open the next."""
    entry = entry_of(table, seen, KEPT.get(seen.place, Report.SLOT))
    entry = replace(entry, where=Where.KEPT, sequence=table.state.sequence)
    if table.state.phase is Phase.SETTLED:
        table.set_standing(replace(table.standing, record=with_card(table.record, entry)))
        entry = replace(entry, id=table.record.last_id)
    when = "after the round was over" if table.record.number else "before the first round of the shoe"
    how = f"was reported {reported_as(entry.report, entry.seen)}, " if seen.place is Place.UNKNOWN else ""
    publish_found(table, seen.at, after_round(entry, f"{how}{when}"))
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


def entry_of(table: Table, seen: CardSeen, report: Report) -> CardEntry:
    """The card as the device reported it; its place is not known yet."""
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
    """None: the device measured nothing."""
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
    theirs, phase, record = Result(seen.outcome, seen.pairs), table.state.phase, table.record
    if phase is Phase.DEALING or (phase is Phase.SUSPENDED and not record.published.complete):
        # Before the last card due: it is compared once the round has its cards.
        after = record.early.after if record.early is not None and record.result_is_early else record.last_id
        early = EarlyResult(theirs, after)
        report(table, seen.at, replace(record, early=early), Seen(result=theirs))
    else:
        compare(table, seen.at, theirs)


# --- findings


def reconsider(table: Table, at: Now) -> None:
    """The settings may have changed: a round that waits is judged by those in force."""
    if table.state.phase is Phase.SUSPENDED or (table.state.phase in AT_THE_TABLE and table.standing.held):
        report(table, at, table.record)
    else:
        ask(table, at)


def noticed(table: Table, at: Now, record: Record, last: int, findings: Sequence[AnyFinding]) -> Record:
    """The record with what the watch found; `last` is the id of its last card, 0 without one."""
    for finding in findings:
        if isinstance(finding, DrawnTogether) and not last:  # none of the cards is on the record
            publish_noticed(table, at, together(finding))
        elif isinstance(finding, DrawnTogether):
            record = drawn_together(table, at, record, last, finding)
        elif isinstance(finding, Unread) or not proves(table, finding):
            pass  # the fault, or the card that was set aside, has published it; or it proves nothing
        else:
            about = finding.card if isinstance(finding, TooOften) else None
            kind = SUSPECTED[type(finding)]
            there = {each.kind for each in (*record.having(Status.SUSPECTED), *record.counted)}
            if kind not in there:
                cards = (last,) if last else ()
                what = Happened(kind)
                record = with_matter(
                    record, Matter(what, Status.SUSPECTED, str(finding), cards=cards, noticed_after=last, face=about)
                )
    return record


def drawn_together(table: Table, at: Now, record: Record, last: int, finding: DrawnTogether) -> Record:
    matter, asked = together(finding), table.standing.questions
    by_the_rules = finding.order_known and bool(asked) and isinstance(asked[0].ask, Ask)  # no doubt about the record
    drawn = record.drawn
    before = drawn[-2:-1] if drawn and drawn[-1].id == last else ()
    if finding.cards[0] is None and all(each.face is not None for each in before):  # it is not on the record yet
        matter = replace(matter, what=replace(matter.what, count=1))
    after = with_matter(record, replace(matter, cards=(last,)))
    matter = after.matters[-1]
    if record.card(last).where is Where.PLACED or by_the_rules:
        after = drawn_with(after, matter, last)
        matter = after.matter(matter.id)
    if matter.status is Status.LATENT:
        publish_noticed(table, at, replace(matter, cards=()))
    return after


def together(finding: DrawnTogether) -> Matter:
    what = Happened(Kind.DRAWN_TOGETHER, count=len(finding.cards), order_known=finding.order_known)
    return Matter(what, Status.LATENT, finding.evidence)


def doubt(table: Table, at: Now, findings: Sequence[AnyFinding]) -> None:
    """What the watch found in something else than a card of the round."""
    there = table.state.phase in AT_THE_TABLE
    of_cards = [each for each in findings if isinstance(each, DrawnTogether)]
    others = [each for each in findings if not isinstance(each, DrawnTogether)]
    passed_unread = any(isinstance(each, Unread) and each.meaning is not None for each in others)
    carried = table.record.having(Status.CARRIED_OVER)
    certain = table.record.continuity.unasked is None
    if there and of_cards and passed_unread and certain and not table.standing.held and not carried:
        take_unread(table, at, findings)
        return
    for finding in of_cards:
        publish_noticed(table, at, together(finding))
    if there and others:
        report(table, at, noticed(table, at, table.record, table.record.last_placed, others))
    for each in [] if there else others:
        if not isinstance(each, Unread) and proves(table, each):
            between(table, at, of_no_round(SUSPECTED[type(each)], str(each)))


def take_unread(table: Table, at: Now, findings: Sequence[AnyFinding]) -> None:
    """A card that passed unread is a card of the round as well."""
    play = table.record.play
    record = begin_dealing(table, at)
    record = with_card(record, CardEntry(None, Where.PLACED, utc_us=at.utc_us, row=table.row))
    record = with_matter(record, *against_custom(table.settings.custom, table.state.shoe, record.number, play))
    report(table, at, noticed(table, at, record, record.last_id, findings))


def proves(table: Table, finding: AnyFinding) -> bool:
    """More cards than a set has may be those of two sets, if the shoe was not seen from its start."""
    shoe = table.state.shoe
    return (shoe.whole and not shoe.gap) or not isinstance(finding, TooOften | TooMany)
