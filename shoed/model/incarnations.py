"""The incarnations of a journal: which random word the id of an event contains.

An event id is `<word>-<table>-<sequence>`. If events that others have received may be missing from the journal, a new
incarnation begins: the journal continues its sequence numbers, and the ids of all later events contain a new word.
"""

import re
from collections.abc import Sequence
from enum import Enum

import msgspec

from shoed.model.device_events import EventData


class Because(Enum):
    """The reason of an incarnation."""

    RESTORED = "restored"
    SALVAGED = "salvaged"
    TAIL_LOST = "tail-lost"
    DAMAGED = "damaged"


class WordSince(msgspec.Struct, frozen=True, array_like=True):
    """The ids of the events after the sequence number `after` contain `word`, up to the next one in a list."""

    after: int
    word: str


class Continued(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new incarnation, for one table. `kept`: the last event that keeps an earlier word.

    `known`: the last event of `previous` that others have, as far as shoed knows; `shoe` and `round` are its shoe and
    its round. `previous` is None if the word of the damaged file cannot be read, or the table has no record.
    """

    number: int
    word: str
    reason: Because
    detail: str
    previous: str | None = None
    kept: int = 0
    known: int | None = None
    shoe: int = 0
    round: int = 0


class JournalContinued(EventData, frozen=True, kw_only=True):
    """The ids of the following events begin with another word, because events of the journal may be lost.

    shoed publishes this event once for each table and each word. `incarnation`: the new word. `previous`: the word
    before; null if it is not known. `kept`: the last sequence number with an earlier word. Events after `kept` with
    an earlier word are not in the journal, or the journal has other events with the same sequence numbers. `known`: the
    last sequence number with the word `previous` that was found outside the journal; null if none was found. `detail`:
    the evidence, for a person.
    """

    incarnation: str
    previous: str | None
    reason: Because
    detail: str
    kept: int
    known: int | None


def word_of(words: Sequence[WordSince], sequence: int) -> str:
    """The word in the id of an event; `words` are in order."""
    return next((each.word for each in reversed(words) if each.after < sequence), words[0].word if words else "")


def with_present_ids(data: str, table: str, words: Sequence[WordSince]) -> str:
    """The JSON of event data as it is published: an id in it has the word of its event.

    The table recorded the id. A tail that was lost may be noticed later, at the first connection to a broker; then the
    unpublished events before that moment have the new word, too.
    """
    if len(words) < 2:  # noqa: PLR2004 -- one word: no id can change
        return data
    reference = rf'"(set_aside|supersedes)":"[0-9a-z]+-{re.escape(table)}-([0-9]+)"'
    return re.sub(reference, lambda found: f'"{found[1]}":"{word_of(words, int(found[2]))}-{table}-{found[2]}"', data)
