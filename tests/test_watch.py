"""The watch: two cards closer than a dealer draws them are a finding, with its evidence."""

import msgspec
import pytest
from msgspec.structs import replace

from shoed.cards import Card
from shoed.findings import AnyFinding, DrawnTogether
from shoed.now import Now
from shoed.observations import AnyObservation
from shoed.watch import WatchSettings, WatchState, watch
from tests.observed import COPY, CUT, OPENED, START, STOOD_BY, card, closed, fault, result

LIMIT_MS = 250


def at(ms: float) -> Now:
    return Now(START.utc_us + int(ms * 1000), START.mono_ns + int(ms * 1e6))


def watched(*seen: tuple[float, AnyObservation], limit_ms: int = LIMIT_MS) -> list[AnyFinding]:
    """What is found in these, each at its millisecond; the state goes through JSON in between, as a checkpoint does."""
    state, found = WatchState(), list[AnyFinding]()
    for ms, each in seen:
        state = msgspec.json.decode(msgspec.json.encode(state), type=WatchState)
        state, findings = watch(WatchSettings(limit_ms), state, [replace(each, at=at(ms))])
        found += findings
    return found


def test_two_cards_closer_than_the_limit_were_drawn_together() -> None:
    """The finding names both cards, how far apart they came, and the limit."""
    assert watched((0, card("P1", "8S")), (249, card("B1", "3H"))) == [
        DrawnTogether(at=at(249), cards=(Card.S8, Card.H3), gap_ms=249.0, limit_ms=LIMIT_MS)
    ]


def test_cards_that_are_as_far_apart_as_the_limit_are_two_draws() -> None:
    """The setting is the closest that a dealer draws on purpose; that much is still on purpose."""
    assert watched((0, card("P1", "8S")), (250, card("B1", "3H"))) == []


def test_the_first_card_has_none_before_it() -> None:
    """Nothing is measured from the start of the table."""
    assert watched((0, card("P1", "8S"))) == []


def test_each_two_neighbours_are_judged_by_themselves() -> None:
    """Three cards in a heap are two findings; a slow one before them is none."""
    heap = watched((0, card("P1", "8S")), (900, card("B1", "3H")), (1000, card("P2", "2C")), (1100, card("B2", "KD")))
    assert [finding.cards for finding in heap] == [(Card.H3, Card.C2), (Card.C2, Card.DK)]


@pytest.mark.parametrize("place", ["burn", "first-card", "locked", "error", "set-up"])
def test_a_card_outside_the_hands_leaves_the_shoe_all_the_same(place: str) -> None:
    """Spacing is physics: it does not matter where the card was going."""
    assert len(watched((0, card(place, "8S")), (100, card("P1", "3H")))) == 1


def test_a_card_that_could_not_be_read_was_drawn_too() -> None:
    """It stands in the finding without a face."""
    (finding,) = watched((0, card("P1", "?")), (100, card("B1", "3H")))
    assert finding.cards == (None, Card.H3)


def test_what_is_no_card_says_nothing_about_spacing() -> None:
    """Copies, results, faults and the cutting card between two cards neither make nor hide a finding."""
    others: list[tuple[float, AnyObservation]] = [(1, COPY), (2, STOOD_BY), (3, CUT), (4, fault()), (5, result("tie"))]
    assert watched(*others) == []
    assert len(watched((0, card("P1", "8S")), *others, (100, card("B1", "3H")))) == 1


def test_a_line_that_was_away_delivers_in_a_heap_and_proves_nothing() -> None:
    """Across a closed link spacing is no evidence; from the next card on it is again."""
    away: list[tuple[float, AnyObservation]] = [
        (0, card("P1", "8S")),
        (1, closed()),
        (2, OPENED),
        (3, card("B1", "3H")),
    ]
    assert watched(*away) == []
    assert len(watched(*away, (4, card("P2", "2C")))) == 1


def test_the_card_of_an_overdraw_proves_nothing() -> None:
    """It is told when its error is cleared, whenever it was drawn."""
    overdrawn = card("overdraw", "4D")
    assert watched((0, overdrawn), (1, card("P1", "8S")), (300, overdrawn), (301, card("B1", "3H"))) == []


def test_a_limit_of_zero_finds_nothing() -> None:
    """0: spacing is no evidence, not even of two cards at one moment."""
    assert watched((0, card("P1", "8S")), (0, card("B1", "3H")), limit_ms=0) == []


def test_several_observations_of_one_step_are_taken_in_order() -> None:
    """Chunks make no difference: two cards of one Step are two cards."""
    seen = [replace(card("P1", "8S"), at=at(0)), replace(card("B1", "3H"), at=at(100))]
    state, found = watch(WatchSettings(LIMIT_MS), WatchState(), seen)
    assert [finding.gap_ms for finding in found] == [100.0]
    assert state == WatchState(Card.H3, at(100).mono_ns)


def test_a_finding_reads_as_a_sentence() -> None:
    """For the log: both cards, how close, and what it may mean."""
    (finding,) = watched((0, card("P1", "?")), (100.25, card("B1", "10H")))
    assert str(finding) == ("an unread card and 10H were reported 100.2 ms apart, closer than 250 ms: drawn together?")
