"""What a retained message of the broker states about the last event. Any program can write one."""

import json

import pytest

from shoed.bus.retained import outside_of

STATE = {"journal": "1a2b3c4d", "incarnation": "5e6f7a8b", "sequence": "17", "shoe": 2, "round": 9}


def test_the_last_event_of_a_state() -> None:
    """With the last round. A state of an earlier version does not name its journal."""
    found = outside_of(json.dumps(STATE).encode())
    assert found is not None
    assert (found.journal, found.word, found.sequence, found.shoe, found.round) == ("1a2b3c4d", "5e6f7a8b", 17, 2, 9)
    assert outside_of(json.dumps({"sequence": "17"}).encode()) is None


@pytest.mark.parametrize(
    "change",
    [
        *({"sequence": each} for each in ("99999999999999999999999", "-1", "", "x", 17, None)),
        *({key: each} for key in ("shoe", "round") for each in (2**63, -1, "2", 1.5)),
    ],
    ids=str,
)
def test_a_state_with_an_impossible_number_names_nothing(change: dict[str, object]) -> None:
    """The journal could not record it."""
    assert outside_of(json.dumps({**STATE, **change}).encode()) is None


@pytest.mark.parametrize("payload", [None, b"", b"\xff", b"[]", b"17", b'{"sequence": '])
def test_a_message_of_another_form_names_nothing(payload: bytes | None) -> None:
    """The birth replaces it."""
    assert outside_of(payload) is None
