"""Errors of shoed, as a person reads them."""

from shoed.errors import cause


def test_the_cause_is_the_first_error_of_a_group() -> None:
    """A task group wraps the error of a table in a group, perhaps in several."""
    group = ExceptionGroup("a table", [ExceptionGroup("a device", [KeyError(7), ValueError("later")]), OSError("last")])
    assert cause(group) == "KeyError: 7"
    assert cause(OSError("alone")) == "OSError: alone"
