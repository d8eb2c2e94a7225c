"""Cards drawn together: two neighbours, and one of three verdicts with its evidence.

Theory of operation: where the device tells when each card passed its window, the edges decide. Where it
does not, reports that come closer than a dealer draws were drawn together; the reader saw which came first,
unless a fault fell between them or one of them could not be read. An unread card that is told as a fault,
close to a card that was read, makes two as well. A line that was away delivers in a heap; so does whoever held
reports back and gives them on faster than the line carries them; and a host that stood still reads in a heap.
Until that is over the spacing of reports is no evidence. The card of an overdraw is told late, and is none either.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import DrawnTogether
from shoed.now import Now
from shoed.observations import CardSeen, Edges, FaultMeaning, FaultRaised, Place, Reported
from shoed.watch.settings import WatchSettings

LONGEST: Final = 6  # cards that one finding names: no round has more, and a state is not to grow
DOUBTFUL: Final = {FaultMeaning.UNREAD, FaultMeaning.BAD_CODE, FaultMeaning.SLOW}


class Verdict(Enum):
    APART = auto()
    TOGETHER_IN_ORDER = auto()
    TOGETHER_IN_NO_ORDER = auto()


class Judged(NamedTuple):
    verdict: Verdict
    evidence: str = ""


class Drawn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last card, after those that were drawn together with it."""

    cards: tuple[Card | None, ...]
    at_ns: int
    edges: Edges | None = None
    order_known: bool = True


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault since the last card."""

    name: str
    at_ns: int
    card: bool  # it stands for a card of its own, that no finding has named yet


class Spacing(msgspec.Struct, frozen=True, omit_defaults=True):
    last: Drawn | None = None
    fault: Fault | None = None
    heap_ns: int | None = None  # the link opened then, or the last card of the heap behind it came


def opened(at: Now) -> Spacing:
    return Spacing(heap_ns=at.mono_ns)


def card(settings: WatchSettings, state: Spacing, seen: CardSeen) -> tuple[Spacing, DrawnTogether | None]:
    if seen.place is Place.OVERDRAW:
        return state, None
    at_ns, heaped = seen.at.mono_ns, in_heap(settings, state, seen)
    judged = (
        Judged(Verdict.APART) if state.last is None else beside_card(settings, state, state.last, seen, heaped=heaped)
    )
    told: tuple[Card | None, ...] = (seen.card,)
    if state.last is not None and judged.verdict is not Verdict.APART:
        told = chain = (*state.last.cards, seen.card)[-LONGEST:]
        known = judged.verdict is Verdict.TOGETHER_IN_ORDER and state.last.order_known
    else:
        chain, known = told, True
        if seen.edges is not None and seen.edges.double:  # the other card may still be told: it is not in the chain
            told, judged = (None, seen.card), Judged(Verdict.TOGETHER_IN_NO_ORDER, "two cards thick")
        elif seen.card is not None and not heaped and state.fault is not None and state.fault.card:
            judged = beside_fault(settings, seen.at, state.fault)
            if judged.verdict is not Verdict.APART:
                told = chain = (None, seen.card)
                known = False
    after = Spacing(Drawn(chain, at_ns, seen.edges, known), heap_ns=at_ns if heaped else None)
    if judged.verdict is Verdict.APART:
        return after, None
    order_known = known and judged.verdict is Verdict.TOGETHER_IN_ORDER
    return after, DrawnTogether(at=seen.at, cards=told, order_known=order_known, evidence=judged.evidence)


def fault(settings: WatchSettings, state: Spacing, seen: FaultRaised) -> tuple[Spacing, DrawnTogether | None]:
    """A slow draw is one card, perhaps; one that could not be read, close to a card that was, makes two."""
    if seen.meaning not in DOUBTFUL:
        return state, None
    unread = seen.meaning is not FaultMeaning.SLOW
    told = Fault(seen.name, seen.at.mono_ns, card=unread)
    last = state.last
    # assumed: a fault beside a card without a face is about that card
    if unread and last is not None and last.cards[-1] is not None and not in_heap(settings, state, seen):
        judged = beside_fault(settings, seen.at, replace(told, at_ns=last.at_ns))
        if judged.verdict is not Verdict.APART:
            cards = (*last.cards, None)[-LONGEST:]
            finding = DrawnTogether(at=seen.at, cards=cards, order_known=False, evidence=judged.evidence)
            return replace(state, fault=replace(told, card=False)), finding
    return replace(state, fault=told), None


def in_heap(settings: WatchSettings, state: Spacing, seen: Reported) -> bool:
    if seen.late_ns:
        return True
    if state.heap_ns is not None and gap_ms(state.heap_ns, seen.at) < settings.min_draw_gap_ms:
        return True
    on_the_line_ms = len(bytes.fromhex(seen.frame.raw)) * settings.byte_us / 1000
    return state.last is not None and gap_ms(state.last.at_ns, seen.at) < on_the_line_ms


def gap_ms(since_ns: int, at: Now) -> float:
    return (at.mono_ns - since_ns) / 1e6


def beside_card(settings: WatchSettings, state: Spacing, last: Drawn, seen: CardSeen, *, heaped: bool) -> Judged:
    judged = None if last.edges is None or seen.edges is None else by_edges(settings, last.edges, seen.edges)
    if judged is None:
        clean = None not in (last.cards[-1], seen.card)
        judged = Judged(Verdict.APART) if heaped else by_reports(settings, gap_ms(last.at_ns, seen.at), clean=clean)
    if judged.verdict is Verdict.TOGETHER_IN_ORDER and state.fault is not None:
        evidence = f"{judged.evidence}, with the fault {state.fault.name} between them"
        return Judged(Verdict.TOGETHER_IN_NO_ORDER, evidence)
    return judged


def beside_fault(settings: WatchSettings, at: Now, beside: Fault) -> Judged:
    gap = gap_ms(beside.at_ns, at)
    if gap >= settings.min_draw_gap_ms:
        return Judged(Verdict.APART)
    evidence = f"the fault {beside.name} {gap:.1f} ms beside a card, closer than {settings.min_draw_gap_ms} ms"
    return Judged(Verdict.TOGETHER_IN_NO_ORDER, evidence)


def by_reports(settings: WatchSettings, gap: float, *, clean: bool) -> Judged:
    if gap >= settings.min_draw_gap_ms:
        return Judged(Verdict.APART)
    evidence = f"reported {gap:.1f} ms apart, closer than {settings.min_draw_gap_ms} ms"
    if clean:
        return Judged(Verdict.TOGETHER_IN_ORDER, evidence)
    return Judged(Verdict.TOGETHER_IN_NO_ORDER, f"{evidence}, and one of them could not be read")


def by_edges(settings: WatchSettings, first: Edges, second: Edges) -> Judged | None:
    """None: the device's clock began anew between them, and compares nothing."""
    if second.trailing_us < first.leading_us:
        return None
    gap, lag = (second.leading_us - first.trailing_us) / 1000, (second.leading_us - first.leading_us) / 1000
    if gap >= settings.min_edge_gap_ms:
        return Judged(Verdict.APART)
    evidence = f"{gap:.1f} ms between them at the window, less than {settings.min_edge_gap_ms} ms"
    if gap < 0:
        evidence = f"they overlap by {-gap:.1f} ms at the window"
    if first.double or second.double:
        return Judged(Verdict.TOGETHER_IN_NO_ORDER, f"{evidence}, two cards thick")
    resolution = settings.edge_resolution_us / 1000
    if lag < resolution:  # also where the second one began before the first
        return Judged(
            Verdict.TOGETHER_IN_NO_ORDER, f"{evidence}, their leading edges {lag:.1f} ms apart, under {resolution:g} ms"
        )
    return Judged(Verdict.TOGETHER_IN_ORDER, evidence)
