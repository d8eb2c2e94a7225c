"""The retained state and the retained head of a table, as the broker has them before a birth."""

from contextlib import suppress
from typing import Final

import msgspec

from shoed.journal.heads import Head
from shoed.journal.incarnations import Outside
from shoed.typed_json import decoder

LARGEST: Final = 2**53  # that JSON has exactly


class RetainedState(msgspec.Struct, frozen=True):
    """The part of a retained state that names its last event."""

    sequence: str
    journal: str | None = None  # absent in the state of an earlier version, as the next two
    incarnation: str | None = None
    time: str | None = None
    shoe: int | None = None
    round: int | None = None


def outside_of(payload: bytes | None) -> Outside | None:
    """The last event of a retained state; None if the state does not name it."""
    with suppress(msgspec.DecodeError, ValueError):
        state = decoder(RetainedState).decode(payload or b"")
        if state.journal and state.incarnation:
            return possible(
                Outside(
                    state.journal, state.incarnation, int(state.sequence), state.time, state.shoe or 0, state.round or 0
                )
            )
    return None


def outside_of_head(payload: bytes | None) -> Outside | None:
    """The last event of a retained head. Its signature is not verified: the journal may lack its key."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return possible(decoder(Head).decode(payload or b"").outside)
    return None


def possible(outside: Outside) -> Outside | None:
    """None if another program wrote numbers that no table reaches."""
    numbers = (outside.sequence, outside.shoe, outside.round, outside.row)
    return outside if all(0 <= each <= LARGEST for each in numbers) else None
