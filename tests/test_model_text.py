"""Times and received names as text."""

import pytest

from shoed.model.moments import rfc3339
from shoed.model.printable import printable


@pytest.mark.parametrize(
    ("utc_us", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000_000_001, "2023-11-14T22:13:20.000001Z"),
        (9_000_000_000_000_000_000, "9000000000000000000 us"),  # after the year 9999
        (-9_000_000_000_000_000_000, "-9000000000000000000 us"),
    ],
)
def test_a_time_is_in_utc_with_six_decimals(utc_us: int, text: str) -> None:
    """A time that no calendar has is a number."""
    assert rfc3339(utc_us) == text


@pytest.mark.parametrize(
    ("name", "line"),
    [("bac-901", "bac-901"), ("a\nb", "a\\nb"), ("\x1b[2J", "\\x1b[2J"), ("Café 百", "Café 百")],
)
def test_a_received_name_has_no_control_character(name: str, line: str) -> None:
    """It cannot begin a line, or command a terminal."""
    assert printable(name) == line
