"""Cards drawn together: by their edges where there are any, by the spacing of reports and by faults where not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import AnyFinding, DrawnTogether
from shoed.observations import AnyObservation, Edges, FaultRaised
from shoed.watch import WatchSettings
from shoed.watch.spacing import LONGEST, Verdict, by_edges, by_reports
from tests.observed import COPY, CUT, OPENED, STOOD_BY, card, closed, result
from tests.watching import BAD_CODE, BUTTON, LIMIT_MS, OVERDRAWN, SETTINGS, SLOW, UNREAD, at, passed, watched

EIGHT, THREE, TWO = card("P1", "8S"), card("B1", "3H"), card("P2", "2C")


def together(found: list[AnyFinding]) -> list[tuple[tuple[Card | None, ...], bool]]:
    """Cards and whether their order is known, of each finding of cards drawn together."""
    return [(each.cards, each.order_known) for each in found if isinstance(each, DrawnTogether)]


# --- the deciders


@pytest.mark.parametrize(
    ("gap_ms", "clean", "verdict", "evidence"),
    [
        (250.0, True, Verdict.APART, ""),
        (250.0, False, Verdict.APART, ""),
        (249.9, True, Verdict.TOGETHER_IN_ORDER, "reported 249.9 ms apart, closer than 250 ms"),
        (
            0.0,
            False,
            Verdict.TOGETHER_IN_NO_ORDER,
            "reported 0.0 ms apart, closer than 250 ms, and one of them could not be read",
        ),
    ],
)
def test_two_reports(gap_ms: float, clean: bool, verdict: Verdict, evidence: str) -> None:  # noqa: FBT001 -- a table
    """The setting is as close as a dealer draws on purpose; that much is still on purpose."""
    assert by_reports(SETTINGS, gap_ms, clean=clean) == (verdict, evidence)


@pytest.mark.parametrize(
    ("second", "verdict", "evidence"),
    [
        (Edges(160_000, 260_000), Verdict.APART, ""),
        (
            Edges(159_900, 260_000),
            Verdict.TOGETHER_IN_ORDER,
            "59.9 ms between them at the window, less than 60 ms",
        ),
        (Edges(70_000, 170_000), Verdict.TOGETHER_IN_ORDER, "they overlap by 30.0 ms at the window"),
        (
            Edges(70_000, 170_000, double=True),
            Verdict.TOGETHER_IN_NO_ORDER,
            "they overlap by 30.0 ms at the window, two cards thick",
        ),
        (Edges(2_000, 102_000), Verdict.TOGETHER_IN_ORDER, "they overlap by 98.0 ms at the window"),
        (
            Edges(1_900, 101_900),
            Verdict.TOGETHER_IN_NO_ORDER,
            "they overlap by 98.1 ms at the window, their leading edges 1.9 ms apart, under 2 ms",
        ),
        (
            Edges(-10_000, 90_000),
            Verdict.TOGETHER_IN_NO_ORDER,
            "they overlap by 110.0 ms at the window, their leading edges -10.0 ms apart, under 2 ms",
        ),
    ],
)
def test_two_passages(second: Edges, verdict: Verdict, evidence: str) -> None:
    """After a card that passed from 0 to 100 ms: the first edge tells the order, if the clock can tell edges apart."""
    assert by_edges(SETTINGS, Edges(0, 100_000), second) == (verdict, evidence)


def test_a_double_before_tells_no_order_either() -> None:
    """Two thick: one lay on the other, and which one comes out on top is chance."""
    assert by_edges(SETTINGS, Edges(0, 100_000, double=True), Edges(50_000, 150_000)) == (
        Verdict.TOGETHER_IN_NO_ORDER,
        "they overlap by 50.0 ms at the window, two cards thick",
    )


def test_a_clock_that_began_anew_compares_nothing() -> None:
    """The second card was gone before the first one came: that is another clock."""
    assert by_edges(SETTINGS, Edges(1000, 2000), Edges(0, 999)) is None


@given(
    st.integers(0, 400_000), st.integers(20_000, 400_000), st.integers(20_000, 400_000), st.integers(-10_000, 10_000)
)
def test_only_differences_count(lag: int, first: int, second: int, start: int) -> None:
    """Whatever the clock shows, the same passages get the same verdict; later ones are never closer."""
    verdicts = [
        by_edges(SETTINGS, Edges(base, base + first), Edges(base + lag + more, base + lag + more + second))
        for base, more in ((0, 0), (start, 0), (0, 50_000))
    ]
    assert verdicts[0] == verdicts[1]
    none, _, later = (each is not None and each.verdict is Verdict.APART for each in verdicts)
    assert later or not none


# --- reports without edges


def test_two_cards_closer_than_the_limit_were_drawn_together() -> None:
    """The finding names both cards, how far apart they came, and the limit; the reader saw which came first."""
    assert watched((0, EIGHT), (249, THREE)) == [
        DrawnTogether(
            at=at(249),
            cards=(Card.S8, Card.H3),
            order_known=True,
            evidence="reported 249.0 ms apart, closer than 250 ms",
        )
    ]


def test_cards_that_are_as_far_apart_as_the_limit_are_two_draws() -> None:
    """And nothing is measured from the start of the table."""
    assert watched((0, EIGHT), (250, THREE)) == []


def test_a_chain_of_cards_is_named_whole() -> None:
    """Three in a heap are two findings, the second with all of them; a slow one before them is no part of it."""
    heap = watched((0, EIGHT), (900, THREE), (1000, TWO), (1100, card("B2", "KD")))
    assert together(heap) == [((Card.H3, Card.C2), True), ((Card.H3, Card.C2, Card.DK), True)]


def test_an_order_once_lost_is_not_known_again_in_the_same_chain() -> None:
    """What nobody knows of the first two, nobody knows of all three."""
    heap = watched((0, EIGHT), (50, BAD_CODE), (100, THREE), (200, TWO))
    assert together(heap)[1:] == [((Card.S8, Card.H3), False), ((Card.S8, Card.H3, Card.C2), False)]


def test_a_chain_has_an_end() -> None:
    """A line that delivers without end does not make the state grow."""
    found = together(watched(*((float(n), EIGHT) for n in range(2 * LONGEST))))
    assert {len(cards) for cards, _ in found[LONGEST:]} == {LONGEST}


@pytest.mark.parametrize("place", ["burn", "first-card", "locked", "error", "set-up"])
def test_a_card_outside_the_hands_leaves_the_shoe_all_the_same(place: str) -> None:
    """Spacing is physics: it does not matter where the card was going."""
    assert len(together(watched((0, card(place, "8S")), (100, THREE)))) == 1


def test_a_card_that_could_not_be_read_was_drawn_too() -> None:
    """It stands in the finding without a face, and what the reader saw first is in doubt."""
    assert together(watched((0, card("P1", "?")), (100, THREE))) == [((None, Card.H3), False)]
    assert together(watched((0, EIGHT), (100, card("B1", "?")))) == [((Card.S8, None), False)]


def test_what_is_no_card_says_nothing_about_spacing() -> None:
    """Copies, results, other faults and the cutting card between two cards neither make nor hide a finding."""
    others: list[tuple[float, AnyObservation]] = [(1, COPY), (2, STOOD_BY), (3, CUT), (4, BUTTON), (5, result("tie"))]
    assert together(watched(*others)) == []
    assert together(watched((0, EIGHT), *others, (100, THREE))) == [((Card.S8, Card.H3), True)]


def test_the_card_of_an_overdraw_proves_nothing() -> None:
    """It is told when its error is cleared, whenever it was drawn: it neither makes a finding nor hides one."""
    overdrawn = card("overdraw", "4D")
    assert together(watched((0, overdrawn), (1, EIGHT), (300, overdrawn), (301, THREE))) == []
    assert together(watched((0, EIGHT), (50, overdrawn), (100, THREE))) == [((Card.S8, Card.H3), True)]


def test_a_limit_of_zero_finds_nothing() -> None:
    """0: spacing is no evidence, not even of two cards at one moment, or of a fault beside a card."""
    found = watched((0, EIGHT), (0, THREE), (0, UNREAD), (0, TWO), settings=WatchSettings(0))
    assert together(found) == []


# --- faults


@pytest.mark.parametrize("fault", [UNREAD, BAD_CODE, SLOW])
def test_a_fault_between_two_close_cards_leaves_no_order(fault: FaultRaised) -> None:
    """Two cards at the window at once are what makes a reader stumble; what it read first, nobody knows."""
    *_, last = watched((0, EIGHT), (100, fault), (200, THREE))
    assert isinstance(last, DrawnTogether)
    assert (last.cards, last.order_known) == ((Card.S8, Card.H3), False)
    assert last.evidence == f"reported 200.0 ms apart, closer than 250 ms, with the fault {fault.name} between them"


@pytest.mark.parametrize("fault", [UNREAD, BAD_CODE])
def test_an_unread_card_close_to_one_that_was_read_makes_two(fault: FaultRaised) -> None:
    """Before it or after it; the unread one has no face."""
    assert together(watched((0, EIGHT), (249, fault))) == [((Card.S8, None), False)]
    assert together(watched((0, fault), (249, EIGHT))) == [((None, Card.S8), False)]
    assert together(watched((0, EIGHT), (250, fault), (500, THREE))) == []


def test_an_unread_card_is_counted_once() -> None:
    """Between two cards that are apart it went with the first; with the third one a chain goes on."""
    assert together(watched((0, EIGHT), (200, UNREAD), (400, THREE))) == [((Card.S8, None), False)]
    assert together(watched((0, UNREAD), (200, THREE), (400, TWO)))[1:] == [((None, Card.H3, Card.C2), False)]


def test_a_slow_draw_is_one_card() -> None:
    """By itself it is a hand that hesitates."""
    assert together(watched((0, EIGHT), (200, SLOW), (400, THREE))) == []


def test_a_fault_beside_a_card_without_a_face_is_about_that_card() -> None:
    """One card, told twice: as a card and as a fault."""
    assert together(watched((0, card("P1", "?")), (20, BAD_CODE))) == []
    assert together(watched((0, BAD_CODE), (20, card("P1", "?")))) == []


@pytest.mark.parametrize("fault", [OVERDRAWN, BUTTON])
def test_other_faults_are_no_cards(fault: FaultRaised) -> None:
    """An overdraw has its own report; a button has none."""
    assert together(watched((0, EIGHT), (20, fault), (260, THREE))) == []


# --- a line that was away


def test_a_line_that_was_away_delivers_in_a_heap_and_proves_nothing() -> None:
    """All that comes at once behind the opening was held back, cards and faults; after a pause spacing counts again."""
    away: list[tuple[float, AnyObservation]] = [(0, EIGHT), (1, closed()), (2, OPENED), (3, THREE), (4, TWO)]
    assert together(watched(*away)) == []
    assert together(watched(*away, (5, UNREAD), (200, EIGHT))) == []
    assert together(watched(*away, (254, EIGHT), (300, THREE))) == [((Card.S8, Card.H3), True)]


def test_edges_count_in_a_heap_too() -> None:
    """The device's clock does not care when the line delivers."""
    edged: list[tuple[float, AnyObservation]] = [(1, passed("8S", 0, 100)), (2, passed("3H", 700, 800))]
    assert together(watched((0, OPENED), *edged)) == []
    assert together(watched((0, OPENED), *edged, (3, passed("2C", 750, 850)))) == [((Card.H3, Card.C2), True)]


# --- edges


def test_edges_go_before_spacing() -> None:
    """Reports may be close where cards were not, and far apart where cards were close."""
    assert together(watched((0, passed("8S", 0, 100)), (10, passed("3H", 500, 600)))) == []
    assert together(watched((0, passed("8S", 0, 100)), (900, passed("3H", 50, 150)))) == [((Card.S8, Card.H3), True)]


def test_where_edges_cannot_be_compared_the_reports_are() -> None:
    """One card without edges, or a clock that began anew."""
    close: list[AnyObservation] = [THREE, passed("3H", 0, 90)]
    for second in close:
        assert together(watched((0, passed("8S", 100, 200)), (100, second))) == [((Card.S8, Card.H3), True)]


def test_a_double_thickness_is_two_cards_even_where_one_is_told() -> None:
    """The other one has no face; if it is told after all, both are named, and no third."""
    alone = (0.0, passed("8S", 0, 120, double=True))
    assert watched(alone) == [
        DrawnTogether(at=at(0), cards=(None, Card.S8), order_known=False, evidence="two cards thick")
    ]
    assert together(watched(alone, (5, passed("3H", 20, 140))))[1:] == [((Card.S8, Card.H3), False)]
    assert together(watched(alone, (900, passed("3H", 900, 999))))[1:] == []


def test_an_unread_card_with_edges_has_its_place_in_the_order() -> None:
    """The window saw which came first, whatever the reader made of them."""
    unread = replace(passed("8S", 0, 100), card=None)
    assert together(watched((0, unread), (10, passed("3H", 120, 220)))) == [((None, Card.H3), True)]


def test_a_finding_reads_as_a_sentence() -> None:
    """For the log: the cards, what is known of their order, and why."""
    first, last = watched((0, card("P1", "?")), (100.25, card("B1", "10H")))[1], watched((0, EIGHT), (99, THREE))[0]
    assert str(first) == (
        "an unread card and 10H were drawn together, in an order that nobody knows: reported 100.2 ms apart, closer"
        " than 250 ms, and one of them could not be read"
    )
    assert str(last) == (
        f"8S and 3H were drawn together, in this order: reported 99.0 ms apart, closer than {LIMIT_MS} ms"
    )


# --- reports that were held back


BY_THE_LINE = replace(SETTINGS, byte_us=2083.3)  # 8 bytes at 4800 8N1 take 16.7 ms


@pytest.mark.parametrize("gap_ms", [0.0, 16.6])
def test_reports_that_come_faster_than_their_line_are_no_evidence(gap_ms: float) -> None:
    """Somebody held them back: nor is the next one that follows them sooner than a dealer draws."""
    found = watched((1000, EIGHT), (1000 + gap_ms, THREE), (1000 + gap_ms + 100, TWO), settings=BY_THE_LINE)
    assert found == []


def test_reports_that_the_line_can_carry_are_evidence() -> None:
    """And so are those behind a heap, once it is over."""
    assert together(watched((1000, EIGHT), (1017, THREE), settings=BY_THE_LINE)) == [((Card.S8, Card.H3), True)]
    behind = watched((1000, EIGHT), (1000, THREE), (1300, TWO), (1400, card("B2", "4D")), settings=BY_THE_LINE)
    assert together(behind) == [((Card.C2, Card.D4), True)]


def test_a_report_that_comes_exactly_as_late_as_the_line_needs_is_evidence() -> None:
    """8 bytes of 2 ms each take 16 ms: this report was not held back."""
    line = replace(SETTINGS, byte_us=2000)
    assert together(watched((1000, EIGHT), (1016, THREE), settings=line)) == [((Card.S8, Card.H3), True)]


def test_a_fault_in_a_heap_is_beside_no_card() -> None:
    """It came later, or sooner, than it seems."""
    assert watched((1000, EIGHT), (1000, UNREAD), settings=BY_THE_LINE)[:1] != []
    assert together(watched((1000, EIGHT), (1000, UNREAD), settings=BY_THE_LINE)) == []
