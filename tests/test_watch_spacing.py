"""Cards drawn together: found by their edges, or without edges by the spacing of reports and by faults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding, DrawnTogether
from shoed.model.observations import AnyObservation, Edges, FaultRaised
from shoed.watch import WatchSettings
from shoed.watch.spacing import LONGEST, DrawSpacing, judge_edges, judge_reports
from tests.observed import COPY, CUT, OPENED, STOOD_BY, card, closed, result
from tests.watching import BAD_CODE, BUTTON, LIMIT_MS, OVERDRAWN, SETTINGS, SLOW, UNREAD, at, passed, watched

EIGHT, THREE, TWO = card("P1", "8S"), card("B1", "3H"), card("P2", "2C")


def together(found: list[AnyFinding]) -> list[tuple[tuple[Card | None, ...], bool]]:
    """Return the cards of each finding of cards drawn together, and whether their order is known."""
    return [(each.cards, each.order_known) for each in found if isinstance(each, DrawnTogether)]


# --- the judging functions


@pytest.mark.parametrize(
    ("gap_ms", "clean", "verdict", "evidence"),
    [
        (250.0, True, DrawSpacing.APART, ""),
        (250.0, False, DrawSpacing.APART, ""),
        (249.9, True, DrawSpacing.TOGETHER_IN_ORDER, "reported 249.9 ms apart, closer than 250 ms"),
        (
            0.0,
            False,
            DrawSpacing.TOGETHER_IN_NO_ORDER,
            "reported 0.0 ms apart, closer than 250 ms, and one of them could not be read",
        ),
    ],
)
def test_two_reports(gap_ms: float, clean: bool, verdict: DrawSpacing, evidence: str) -> None:  # noqa: FBT001 -- a table
    """The setting is the shortest gap of an intended draw; a gap of exactly this length is intended."""
    assert judge_reports(SETTINGS, gap_ms, clean=clean) == (verdict, evidence)


@pytest.mark.parametrize(
    ("second", "verdict", "evidence"),
    [
        (Edges(160_000, 260_000), DrawSpacing.APART, ""),
        (
            Edges(159_900, 260_000),
            DrawSpacing.TOGETHER_IN_ORDER,
            "59.9 ms between them at the window, less than 60 ms",
        ),
        (Edges(70_000, 170_000), DrawSpacing.TOGETHER_IN_ORDER, "they overlap by 30.0 ms at the window"),
        (
            Edges(70_000, 170_000, double=True),
            DrawSpacing.TOGETHER_IN_NO_ORDER,
            "they overlap by 30.0 ms at the window, two cards thick",
        ),
        (Edges(2_000, 102_000), DrawSpacing.TOGETHER_IN_ORDER, "they overlap by 98.0 ms at the window"),
        (
            Edges(1_900, 101_900),
            DrawSpacing.TOGETHER_IN_NO_ORDER,
            "they overlap by 98.1 ms at the window, their leading edges 1.9 ms apart, under 2 ms",
        ),
        (
            Edges(-10_000, 90_000),
            DrawSpacing.TOGETHER_IN_NO_ORDER,
            "they overlap by 110.0 ms at the window, their leading edges -10.0 ms apart, under 2 ms",
        ),
    ],
)
def test_two_passages(second: Edges, verdict: DrawSpacing, evidence: str) -> None:
    """The first card passed from 0 to 100 ms: the first edge shows the order if the clock can separate the edges."""
    assert judge_edges(SETTINGS, Edges(0, 100_000), second) == (verdict, evidence)


def test_a_double_card_before_it_has_no_order_either() -> None:
    """Two cards in one passage lay on each other, and chance decides which face is read."""
    assert judge_edges(SETTINGS, Edges(0, 100_000, double=True), Edges(50_000, 150_000)) == (
        DrawSpacing.TOGETHER_IN_NO_ORDER,
        "they overlap by 50.0 ms at the window, two cards thick",
    )


def test_the_edges_of_a_restarted_clock_are_not_compared() -> None:
    """The second card left before the first arrived: the clocks differ."""
    assert judge_edges(SETTINGS, Edges(1000, 2000), Edges(0, 999)) is None


@given(
    st.integers(0, 400_000), st.integers(20_000, 400_000), st.integers(20_000, 400_000), st.integers(-10_000, 10_000)
)
def test_only_differences_count(lag: int, first: int, second: int, start: int) -> None:
    """The start of the clock makes no difference to the verdict, and later cards are never closer."""
    verdicts = [
        judge_edges(SETTINGS, Edges(base, base + first), Edges(base + lag + more, base + lag + more + second))
        for base, more in ((0, 0), (start, 0), (0, 50_000))
    ]
    assert verdicts[0] == verdicts[1]
    none, _, later = (each is not None and each.verdict is DrawSpacing.APART for each in verdicts)
    assert later or not none


# --- reports without edges


def test_two_cards_closer_than_the_limit_were_drawn_together() -> None:
    """The finding names both cards, their distance in time, and the limit; the reader knows which was first."""
    assert watched((0, EIGHT), (249, THREE)) == [
        DrawnTogether(
            at=at(249),
            cards=(Card.S8, Card.H3),
            order_known=True,
            evidence="reported 249.0 ms apart, closer than 250 ms",
        )
    ]


def test_cards_exactly_at_the_limit_are_two_draws() -> None:
    """No time is measured from the start of the table."""
    assert watched((0, EIGHT), (250, THREE)) == []


def test_a_chain_of_cards_is_named_completely() -> None:
    """Three close cards make two findings, the second with all of them; an earlier card is not part of it."""
    heap = watched((0, EIGHT), (900, THREE), (1000, TWO), (1100, card("B2", "KD")))
    assert together(heap) == [((Card.H3, Card.C2), True), ((Card.H3, Card.C2, Card.DK), True)]


def test_an_unknown_order_stays_unknown_in_the_same_chain() -> None:
    """The order of the first two cards is unknown, so the order of all three is unknown."""
    heap = watched((0, EIGHT), (50, BAD_CODE), (100, THREE), (200, TWO))
    assert together(heap)[1:] == [((Card.S8, Card.H3), False), ((Card.S8, Card.H3, Card.C2), False)]


def test_a_chain_is_bounded() -> None:
    """A line that delivers without end does not enlarge the state."""
    found = together(watched(*((float(n), EIGHT) for n in range(2 * LONGEST))))
    assert {len(cards) for cards, _ in found[LONGEST:]} == {LONGEST}


@pytest.mark.parametrize("place", ["burn", "first-card", "locked", "error", "set-up"])
def test_a_card_outside_the_hands_counts_for_spacing(place: str) -> None:
    """Spacing is physical: the destination of the card makes no difference."""
    assert len(together(watched((0, card(place, "8S")), (100, THREE)))) == 1


def test_an_unread_card_counts_for_spacing() -> None:
    """The finding contains it without a face, and the order is in doubt."""
    assert together(watched((0, card("P1", "?")), (100, THREE))) == [((None, Card.H3), False)]
    assert together(watched((0, EIGHT), (100, card("B1", "?")))) == [((Card.S8, None), False)]


def test_other_observations_do_not_concern_spacing() -> None:
    """Copies, results, other faults and the cut card between two cards neither make nor hide a finding."""
    others: list[tuple[float, AnyObservation]] = [(1, COPY), (2, STOOD_BY), (3, CUT), (4, BUTTON), (5, result("tie"))]
    assert together(watched(*others)) == []
    assert together(watched((0, EIGHT), *others, (100, THREE))) == [((Card.S8, Card.H3), True)]


def test_the_card_of_an_overdraw_proves_nothing() -> None:
    """It is reported when its error is cleared, at any time after the draw: it neither makes nor hides a finding."""
    overdrawn = card("overdraw", "4D")
    assert together(watched((0, overdrawn), (1, EIGHT), (300, overdrawn), (301, THREE))) == []
    assert together(watched((0, EIGHT), (50, overdrawn), (100, THREE))) == [((Card.S8, Card.H3), True)]


def test_a_limit_of_zero_finds_nothing() -> None:
    """0 means that spacing is not evidence, not even of two cards at one moment, or of a fault close to a card."""
    found = watched((0, EIGHT), (0, THREE), (0, UNREAD), (0, TWO), settings=WatchSettings(0))
    assert together(found) == []


# --- faults


@pytest.mark.parametrize("fault", [UNREAD, BAD_CODE, SLOW])
def test_a_fault_between_two_close_cards_leaves_no_order(fault: FaultRaised) -> None:
    """Two cards at the window at the same time disturb a reader; it is unknown which card it read first."""
    *_, last = watched((0, EIGHT), (100, fault), (200, THREE))
    assert isinstance(last, DrawnTogether)
    assert (last.cards, last.order_known) == ((Card.S8, Card.H3), False)
    assert last.evidence == f"reported 200.0 ms apart, closer than 250 ms, with the fault {fault.name} between them"


@pytest.mark.parametrize("fault", [UNREAD, BAD_CODE])
def test_an_unread_card_close_to_a_read_card_makes_two(fault: FaultRaised) -> None:
    """It is before or after the read card, and has no face."""
    assert together(watched((0, EIGHT), (249, fault))) == [((Card.S8, None), False)]
    assert together(watched((0, fault), (249, EIGHT))) == [((None, Card.S8), False)]
    assert together(watched((0, EIGHT), (250, fault), (500, THREE))) == []


def test_an_unread_card_is_counted_once() -> None:
    """Between two cards that are apart it belongs to the first; the third card continues the chain."""
    assert together(watched((0, EIGHT), (200, UNREAD), (400, THREE))) == [((Card.S8, None), False)]
    assert together(watched((0, UNREAD), (200, THREE), (400, TWO)))[1:] == [((None, Card.H3, Card.C2), False)]


def test_a_slow_draw_is_one_card() -> None:
    """Alone it means a hand that hesitates."""
    assert together(watched((0, EIGHT), (200, SLOW), (400, THREE))) == []


def test_a_fault_close_to_a_card_without_a_face_is_about_that_card() -> None:
    """One card is reported twice: as a card and as a fault."""
    assert together(watched((0, card("P1", "?")), (20, BAD_CODE))) == []
    assert together(watched((0, BAD_CODE), (20, card("P1", "?")))) == []


@pytest.mark.parametrize("fault", [OVERDRAWN, BUTTON])
def test_other_faults_are_not_cards(fault: FaultRaised) -> None:
    """An overdraw has its own report; a button has none."""
    assert together(watched((0, EIGHT), (20, fault), (260, THREE))) == []


# --- a line that was away


def test_a_burst_after_an_absence_proves_nothing() -> None:
    """All reports directly after the opening were buffered, cards and faults; after a pause spacing counts again."""
    away: list[tuple[float, AnyObservation]] = [(0, EIGHT), (1, closed()), (2, OPENED), (3, THREE), (4, TWO)]
    assert together(watched(*away)) == []
    assert together(watched(*away, (5, UNREAD), (200, EIGHT))) == []
    assert together(watched(*away, (254, EIGHT), (300, THREE))) == [((Card.S8, Card.H3), True)]


def test_edges_count_in_a_burst_too() -> None:
    """The device's clock does not depend on the time of delivery."""
    edged: list[tuple[float, AnyObservation]] = [(1, passed("8S", 0, 100)), (2, passed("3H", 700, 800))]
    assert together(watched((0, OPENED), *edged)) == []
    assert together(watched((0, OPENED), *edged, (3, passed("2C", 750, 850)))) == [((Card.H3, Card.C2), True)]


# --- edges


def test_edges_have_priority_over_spacing() -> None:
    """Reports may be close for distant cards, and distant for close cards."""
    assert together(watched((0, passed("8S", 0, 100)), (10, passed("3H", 500, 600)))) == []
    assert together(watched((0, passed("8S", 0, 100)), (900, passed("3H", 50, 150)))) == [((Card.S8, Card.H3), True)]


def test_without_comparable_edges_the_reports_decide() -> None:
    """One card has no edges, or the clock restarted."""
    close: list[AnyObservation] = [THREE, passed("3H", 0, 90)]
    for second in close:
        assert together(watched((0, passed("8S", 100, 200)), (100, second))) == [((Card.S8, Card.H3), True)]


def test_a_double_thickness_is_two_cards_even_if_one_is_reported() -> None:
    """The other card has no face; if it is reported after all, both are named, and no third card."""
    alone = (0.0, passed("8S", 0, 120, double=True))
    assert watched(alone) == [
        DrawnTogether(at=at(0), cards=(None, Card.S8), order_known=False, evidence="two cards thick")
    ]
    assert together(watched(alone, (5, passed("3H", 20, 140))))[1:] == [((Card.S8, Card.H3), False)]
    assert together(watched(alone, (900, passed("3H", 900, 999))))[1:] == []


def test_an_unread_card_with_edges_has_its_place_in_the_order() -> None:
    """The window shows which card was first, even if the card is unread."""
    unread = replace(passed("8S", 0, 100), card=None)
    assert together(watched((0, unread), (10, passed("3H", 120, 220)))) == [((None, Card.H3), True)]


def test_a_finding_reads_as_a_sentence() -> None:
    """The log shows the cards, the knowledge of their order, and the reason."""
    first, last = watched((0, card("P1", "?")), (100.25, card("B1", "10H")))[1], watched((0, EIGHT), (99, THREE))[0]
    assert str(first) == (
        "an unread card and 10H were drawn together, in an unknown order: reported 100.2 ms apart, closer"
        " than 250 ms, and one of them could not be read"
    )
    assert str(last) == (
        f"8S and 3H were drawn together, in this order: reported 99.0 ms apart, closer than {LIMIT_MS} ms"
    )


# --- buffered reports


BY_THE_LINE = replace(SETTINGS, byte_us=2083.3)  # 8 bytes at 4800 8N1 take 16.7 ms


@pytest.mark.parametrize("gap_ms", [0.0, 16.6])
def test_reports_that_are_faster_than_their_line_are_not_evidence(gap_ms: float) -> None:
    """They were buffered; the next report, sooner than a dealer draws, is not evidence either."""
    found = watched((1000, EIGHT), (1000 + gap_ms, THREE), (1000 + gap_ms + 100, TWO), settings=BY_THE_LINE)
    assert found == []


def test_reports_at_the_speed_of_the_line_are_evidence() -> None:
    """Reports after a burst are evidence as well."""
    assert together(watched((1000, EIGHT), (1017, THREE), settings=BY_THE_LINE)) == [((Card.S8, Card.H3), True)]
    later = watched((1000, EIGHT), (1000, THREE), (1300, TWO), (1400, card("B2", "4D")), settings=BY_THE_LINE)
    assert together(later) == [((Card.C2, Card.D4), True)]


def test_a_report_exactly_as_late_as_the_line_requires_is_evidence() -> None:
    """8 bytes of 2 ms each take 16 ms: this report was not buffered."""
    line = replace(SETTINGS, byte_us=2000)
    assert together(watched((1000, EIGHT), (1016, THREE), settings=line)) == [((Card.S8, Card.H3), True)]


def test_a_fault_in_a_burst_is_close_to_no_card() -> None:
    """Its true time is unknown."""
    assert watched((1000, EIGHT), (1000, UNREAD), settings=BY_THE_LINE)[:1] != []
    assert together(watched((1000, EIGHT), (1000, UNREAD), settings=BY_THE_LINE)) == []
