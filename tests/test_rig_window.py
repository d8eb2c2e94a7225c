"""The physical model of a shoe's window: cards move as in a real shoe, and the model is independent of the detector."""

import ast
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from shoed.model.observations import FaultMeaning
from shoed.rig import window
from shoed.rig.window import BYTES_OF_ALL_COPIES, EdgeReader, Physics, SerialReader, deal

PHYSICS = Physics()
SURE = replace(PHYSICS, unread_share=0.0, thickness_error_share=0.0, stop_share=0.0, lag_mm=0.0)


def test_the_model_shares_nothing_with_the_detector() -> None:
    """The model imports nothing of the watch, so both cannot have the same error."""
    source = ast.parse(Path(window.__file__).read_text())
    named = [node.module for node in ast.walk(source) if isinstance(node, ast.ImportFrom)]
    assert [name for name in named if name and name.startswith("shoed")] == ["shoed.model.observations"]


def test_the_same_seed_draws_the_same_cards() -> None:
    """A different seed draws different cards."""
    first, again, other = (deal(PHYSICS, Random(seed), 20, 0.5) for seed in (1, 1, 2))
    assert first == again != other


def test_a_card_passes_at_the_speed_of_a_hand() -> None:
    """It takes 50 to 300 ms, unless the hand stops; the next card follows after the hand has returned."""
    draws = deal(SURE, Random(1), 2000, 0.0)
    assert all(0.04 < passage.trailing_s - passage.leading_s < 0.3 for draw in draws for passage in draw.passages)
    assert all(second.passages[0].leading_s - first.passages[0].trailing_s > 0.1 for first, second in pairwise(draws))


@pytest.mark.parametrize("stroke_mm", [PHYSICS.stroke_mm, PHYSICS.stroke_mm / 2])
def test_the_second_of_two_cards_follows_the_first(stroke_mm: float) -> None:
    """A larger distance makes it later; a card that the stroke leaves in the window moves with the next stroke."""
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


def test_two_cards_in_one_passage_are_double() -> None:
    """The edge reader measures one leading edge and the thickness of two cards; the face is the face of either."""
    reader, (draw,) = EdgeReader(SURE, Random(1)), deal(SURE, Random(1), 1, 1.0)
    reports = reader.reports([draw] * 20)
    assert len(reports) == 20
    assert {each.card for each in reports} == {0, 1}
    assert all(each.double for each in reports)


def test_edges_are_reported_nearly_at_their_times() -> None:
    """They have the resolution of the device's clock and the jitter of its sensors."""
    (draw,) = deal(SURE, Random(1), 1, 0.0)
    (report,) = EdgeReader(SURE, Random(1)).reports([draw])
    assert report.edges is not None
    assert report.edges == pytest.approx(draw.passages[0], abs=0.002)
    assert report.at_s > draw.passages[0].trailing_s


def test_a_covered_card_is_a_fault_or_nothing() -> None:
    """The serial reader reports the upper card; for the other card it reports one of three faults, or nothing."""
    (draw,) = deal(SURE, Random(1), 1, 1.0)
    reports = [SerialReader(SURE, Random(seed)).reports([draw]) for seed in range(100)]
    assert all(first.card == 0 for first, *_ in reports)
    faults = {rest[0].fault if rest else None for _, *rest in reports}
    assert faults == {None, FaultMeaning.UNREAD, FaultMeaning.BAD_CODE, FaultMeaning.SLOW}


def test_the_line_sends_one_report_after_the_other() -> None:
    """Each of two cards is sent in all its copies, at the pace of the line."""
    physics = replace(SURE, lag_mm=25.0, code_mm=0.0)
    reports = SerialReader(physics, Random(1)).reports(deal(physics, Random(1), 200, 1.0))
    assert [each.draw for each in reports] == [draw for draw in range(200) for _ in range(2)]
    assert all(
        second.at_s - first.at_s >= BYTES_OF_ALL_COPIES * physics.byte_s - 1e-9 for first, second in pairwise(reports)
    )


def test_a_hand_that_stops_in_the_window_is_reported_as_slow() -> None:
    """The fault is reported before its card, which is read after it has passed."""
    physics = replace(SURE, stop_share=1.0, stop_s=30.0)
    reports = [SerialReader(physics, Random(1)).reports([draw]) for draw in deal(physics, Random(1), 100, 0.0)]
    slow = [each for each in reports if len(each) > 1]
    assert slow
    assert all((first.fault, second.card) == (FaultMeaning.SLOW, 0) for first, second in slow)
