"""Log lines that a bad line repeats: a few are written, the others are counted, and the count is written."""

import logging

import pytest

from shoed.brief import SAID, WINDOW_S, Brief


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "shoed"]


async def test_the_first_lines_of_a_minute_are_written_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    """The count names the table and the kind of line."""
    brief = Brief("bac-901")
    for number in range(SAID + 3):
        brief.say(logging.WARNING, "refused", f"no port {number}")
    assert lines(caplog) == [f"bac-901: no port {number}" for number in range(SAID)]
    brief.end("refused")
    assert lines(caplog)[SAID:] == [f"bac-901: refused: 3 more in {WINDOW_S:.0f} s"]


async def test_while_lines_go_on_each_minute_has_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """A minute without any ends that."""
    brief = Brief("bac-901")
    for _ in range(SAID + 1):
        brief.say(logging.WARNING, "refused", "no port")
    brief.end("refused")
    brief.say(logging.WARNING, "refused", "no port")
    brief.end("refused")
    assert lines(caplog)[SAID:] == [f"bac-901: refused: 1 more in {WINDOW_S:.0f} s"] * 2
    brief.end("refused")
    brief.say(logging.WARNING, "refused", "no port again")
    assert lines(caplog)[-1] == "bac-901: no port again"


async def test_each_kind_is_counted_alone(caplog: pytest.LogCaptureFixture) -> None:
    """A flood of one kind hides no line of another."""
    brief = Brief("bac-901")
    for _ in range(SAID + 1):
        brief.say(logging.WARNING, "refused", "no port")
    brief.say(logging.ERROR, "closed", "hung up")
    assert lines(caplog)[-1] == "bac-901: hung up"
    assert caplog.records[-1].levelno == logging.ERROR
