"""The physics of a shoe's window: what moves, moves as a card does, and none of it is the detector's."""

import ast
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from shoed.observations import FaultMeaning
from shoed.rig import window
from shoed.rig.window import BYTES_OF_ALL_COPIES, EdgeReader, Physics, SerialReader, deal

PHYSICS = Physics()
SURE = replace(PHYSICS, unread_share=0.0, thickness_error_share=0.0, stop_share=0.0, lag_mm=0.0)


def test_it_shares_nothing_with_the_detector() -> None:
    """Both cannot be wrong together: nothing of the watch is imported."""
    source = ast.parse(Path(window.__file__).read_text())
    named = [node.module for node in ast.walk(source) if isinstance(node, ast.ImportFrom)]
    assert [name for name in named if name and name.startswith("shoed")] == ["shoed.observations"]


def test_the_same_seed_draws_the_same_cards() -> None:
    """And another seed others."""
    first, again, other = (deal(PHYSICS, Random(seed), 20, 0.5) for seed in (1, 1, 2))
    assert first == again != other


def test_a_card_passes_as_a_hand_draws_it() -> None:
    """In 50 to 300 ms, unless the hand stops; and one after the other, as a hand comes back."""
    draws = deal(SURE, Random(1), 2000, 0.0)
    assert all(0.04 < passage.trailing_s - passage.leading_s < 0.3 for draw in draws for passage in draw.passages)
    assert all(second.passages[0].leading_s - first.passages[0].trailing_s > 0.1 for first, second in pairwise(draws))


@pytest.mark.parametrize("stroke_mm", [PHYSICS.stroke_mm, PHYSICS.stroke_mm / 2])
def test_the_second_of_two_cards_follows_the_first(stroke_mm: float) -> None:
    """The farther behind, the later; what the stroke leaves in the window goes with the next one, before any other."""
    draws = deal(replace(PHYSICS, stroke_mm=stroke_mm), Random(1), 2000, 1.0)
    for first, second in (draw.passages for draw in draws):
        assert first.leading_s < second.leading_s
        assert first.trailing_s < second.trailing_s
        assert all(passage.leading_s < passage.trailing_s for passage in (first, second))
    assert all(before.passages[1].trailing_s < after.passages[0].leading_s for before, after in pairwise(draws))


def test_a_stroke_begins_and_ends_at_rest() -> None:
    """It is slowest at its ends, and half of the way takes half of the time."""
    assert [window.moved(share) for share in (0.0, 0.5, 1.0)] == pytest.approx([0, 0.5, 1], abs=1e-9)
    tenths = [window.moved((n + 1) / 10) - window.moved(n / 10) for n in range(10)]
    assert min(tenths) == pytest.approx(tenths[4])
    assert tenths[0] == pytest.approx(tenths[9]) == max(tenths)


def test_two_cards_that_lie_on_one_another_are_one_passage_and_double() -> None:
    """The edge reader sees one leading edge, and the thickness of two; the face is that of either."""
    reader, (draw,) = EdgeReader(SURE, Random(1)), deal(SURE, Random(1), 1, 1.0)
    told = reader.tell([draw] * 20)
    assert len(told) == 20
    assert {each.card for each in told} == {0, 1}
    assert all(each.double for each in told)


def test_edges_are_told_nearly_when_they_pass() -> None:
    """On the ticks of the device's clock, with the jitter of its sensors."""
    (draw,) = deal(SURE, Random(1), 1, 0.0)
    (told,) = EdgeReader(SURE, Random(1)).tell([draw])
    assert told.edges is not None
    assert told.edges == pytest.approx(draw.passages[0], abs=0.002)
    assert told.at_s > draw.passages[0].trailing_s


def test_a_covered_card_is_a_fault_or_nothing() -> None:
    """The serial reader tells the upper one; of the other one of three faults, or nothing at all."""
    (draw,) = deal(SURE, Random(1), 1, 1.0)
    told = [SerialReader(SURE, Random(seed)).tell([draw]) for seed in range(100)]
    assert all(first.card == 0 for first, *_ in told)
    faults = {rest[0].fault if rest else None for _, *rest in told}
    assert faults == {None, FaultMeaning.UNREAD, FaultMeaning.BAD_CODE, FaultMeaning.SLOW}


def test_the_line_says_one_report_after_the_other() -> None:
    """Each of two cards so many times, at the line's pace."""
    physics = replace(SURE, lag_mm=25.0, code_mm=0.0)
    told = SerialReader(physics, Random(1)).tell(deal(physics, Random(1), 200, 1.0))
    assert [each.draw for each in told] == [draw for draw in range(200) for _ in range(2)]
    assert all(
        second.at_s - first.at_s >= BYTES_OF_ALL_COPIES * physics.byte_s - 1e-9 for first, second in pairwise(told)
    )


def test_a_hand_that_stops_in_the_window_is_told_as_slow() -> None:
    """Before its card, which is read when it has passed."""
    physics = replace(SURE, stop_share=1.0, stop_s=30.0)
    told = [SerialReader(physics, Random(1)).tell([draw]) for draw in deal(physics, Random(1), 100, 0.0)]
    slow = [each for each in told if len(each) > 1]
    assert slow
    assert all((first.fault, second.card) == (FaultMeaning.SLOW, 0) for first, second in slow)
