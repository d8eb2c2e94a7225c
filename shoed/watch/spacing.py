"""Finds cards that were drawn together. Each pair of consecutive cards gets one of three verdicts, with its evidence.

Theory of operation: if the device reports the edges of each card at its window, the edges decide. Otherwise two
cards were drawn together if their reports are closer than a dealer draws. The reader knows which card was first,
unless a fault was reported between them or one of them is unread. An unread card that is reported as a fault close to
a read card also makes two cards.

The spacing of reports is not evidence during a burst. A burst occurs after an absence of the line, when a buffer
delivers reports faster than the line transmits them, and when a stalled host reads them late. The card of an
overdraw is reported late and is not evidence either.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

import msgspec
from msgspec import field
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import DrawnTogether
from shoed.model.moments import Now
from shoed.model.observations import CardSeen, Edges, FaultMeaning, FaultRaised, Place, Reported
from shoed.watch.settings import WatchSettings

LONGEST: Final = 6  # the most cards of one finding: a round has at most six, and the state stays bounded
DOUBTFUL: Final = {FaultMeaning.UNREAD, FaultMeaning.BAD_CODE, FaultMeaning.SLOW}


class DrawSpacing(Enum):
    APART = auto()
    TOGETHER_IN_ORDER = auto()
    TOGETHER_IN_NO_ORDER = auto()


class Judged(NamedTuple):
    verdict: DrawSpacing
    evidence: str = ""


class LastDraw(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last card, preceded by the cards that were drawn together with it."""

    cards: tuple[Card | None, ...]
    at_ns: int
    edges: Edges | None = None
    order_known: bool = True


class RecentFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault since the last card."""

    name: str
    at_ns: int
    card: bool  # the fault is an unread card that no finding has named yet


class Spacing(msgspec.Struct, frozen=True, omit_defaults=True):
    last: LastDraw | None = None
    fault: RecentFault | None = None
    burst_ns: int | None = field(default=None, name="heap_ns")  # when the link opened, or the last card of a burst


def opened(at: Now) -> Spacing:
    return Spacing(burst_ns=at.mono_ns)


def card(settings: WatchSettings, state: Spacing, seen: CardSeen) -> tuple[Spacing, DrawnTogether | None]:
    if seen.place is Place.OVERDRAW:
        return state, None
    at_ns, in_burst = seen.at.mono_ns, is_in_burst(settings, state, seen)
    judged = (
        Judged(DrawSpacing.APART)
        if state.last is None
        else judge_cards(settings, state, state.last, seen, in_burst=in_burst)
    )
    drawn: tuple[Card | None, ...] = (seen.card,)
    if state.last is not None and judged.verdict is not DrawSpacing.APART:
        drawn = chain = (*state.last.cards, seen.card)[-LONGEST:]
        known = judged.verdict is DrawSpacing.TOGETHER_IN_ORDER and state.last.order_known
    else:
        chain, known = drawn, True
        if seen.edges is not None and seen.edges.double:  # the other card may still be reported: it is not in the chain
            drawn, judged = (None, seen.card), Judged(DrawSpacing.TOGETHER_IN_NO_ORDER, "two cards thick")
        elif seen.card is not None and not in_burst and state.fault is not None and state.fault.card:
            judged = judge_fault(settings, seen.at, state.fault)
            if judged.verdict is not DrawSpacing.APART:
                drawn = chain = (None, seen.card)
                known = False
    after = Spacing(LastDraw(chain, at_ns, seen.edges, known), burst_ns=at_ns if in_burst else None)
    if judged.verdict is DrawSpacing.APART:
        return after, None
    order_known = known and judged.verdict is DrawSpacing.TOGETHER_IN_ORDER
    return after, DrawnTogether(at=seen.at, cards=drawn, order_known=order_known, evidence=judged.evidence)


def fault(settings: WatchSettings, state: Spacing, seen: FaultRaised) -> tuple[Spacing, DrawnTogether | None]:
    """Add a fault. A slow draw is possibly one card; an unread card close to a read card makes two cards."""
    if seen.meaning not in DOUBTFUL:
        return state, None
    unread = seen.meaning is not FaultMeaning.SLOW
    drawn = RecentFault(seen.name, seen.at.mono_ns, card=unread)
    last = state.last
    # assumed: a fault close to a card without a face is about that card
    if unread and last is not None and last.cards[-1] is not None and not is_in_burst(settings, state, seen):
        judged = judge_fault(settings, seen.at, replace(drawn, at_ns=last.at_ns))
        if judged.verdict is not DrawSpacing.APART:
            cards = (*last.cards, None)[-LONGEST:]
            finding = DrawnTogether(at=seen.at, cards=cards, order_known=False, evidence=judged.evidence)
            return replace(state, fault=replace(drawn, card=False)), finding
    return replace(state, fault=drawn), None


def is_in_burst(settings: WatchSettings, state: Spacing, seen: Reported) -> bool:
    if seen.late_ns:
        return True
    if state.burst_ns is not None and gap_ms(state.burst_ns, seen.at) < settings.min_draw_gap_ms:
        return True
    on_the_line_ms = len(bytes.fromhex(seen.frame.raw)) * settings.byte_us / 1000
    return state.last is not None and gap_ms(state.last.at_ns, seen.at) < on_the_line_ms


def gap_ms(since_ns: int, at: Now) -> float:
    return (at.mono_ns - since_ns) / 1e6


def judge_cards(settings: WatchSettings, state: Spacing, last: LastDraw, seen: CardSeen, *, in_burst: bool) -> Judged:
    judged = None if last.edges is None or seen.edges is None else judge_edges(settings, last.edges, seen.edges)
    if judged is None:
        clean = None not in (last.cards[-1], seen.card)
        judged = (
            Judged(DrawSpacing.APART) if in_burst else judge_reports(settings, gap_ms(last.at_ns, seen.at), clean=clean)
        )
    if judged.verdict is DrawSpacing.TOGETHER_IN_ORDER and state.fault is not None:
        evidence = f"{judged.evidence}, with the fault {state.fault.name} between them"
        return Judged(DrawSpacing.TOGETHER_IN_NO_ORDER, evidence)
    return judged


def judge_fault(settings: WatchSettings, at: Now, beside: RecentFault) -> Judged:
    gap = gap_ms(beside.at_ns, at)
    if gap >= settings.min_draw_gap_ms:
        return Judged(DrawSpacing.APART)
    evidence = f"the fault {beside.name} {gap:.1f} ms from a card, closer than {settings.min_draw_gap_ms} ms"
    return Judged(DrawSpacing.TOGETHER_IN_NO_ORDER, evidence)


def judge_reports(settings: WatchSettings, gap: float, *, clean: bool) -> Judged:
    if gap >= settings.min_draw_gap_ms:
        return Judged(DrawSpacing.APART)
    evidence = f"reported {gap:.1f} ms apart, closer than {settings.min_draw_gap_ms} ms"
    if clean:
        return Judged(DrawSpacing.TOGETHER_IN_ORDER, evidence)
    return Judged(DrawSpacing.TOGETHER_IN_NO_ORDER, f"{evidence}, and one of them could not be read")


def judge_edges(settings: WatchSettings, first: Edges, second: Edges) -> Judged | None:
    """Judge two cards by their edges; None: the device's clock restarted between them."""
    if second.trailing_us < first.leading_us:
        return None
    gap, lag = (second.leading_us - first.trailing_us) / 1000, (second.leading_us - first.leading_us) / 1000
    if gap >= settings.min_edge_gap_ms:
        return Judged(DrawSpacing.APART)
    evidence = f"{gap:.1f} ms between them at the window, less than {settings.min_edge_gap_ms} ms"
    if gap < 0:
        evidence = f"they overlap by {-gap:.1f} ms at the window"
    if first.double or second.double:
        return Judged(DrawSpacing.TOGETHER_IN_NO_ORDER, f"{evidence}, two cards thick")
    resolution = settings.edge_resolution_us / 1000
    if lag < resolution:  # also if the second card began before the first
        return Judged(
            DrawSpacing.TOGETHER_IN_NO_ORDER,
            f"{evidence}, their leading edges {lag:.1f} ms apart, under {resolution:g} ms",
        )
    return Judged(DrawSpacing.TOGETHER_IN_ORDER, evidence)
