"""Matters: what went wrong at a table, or may have, on one ledger.

A matter keeps its id as long as the table knows it, across rounds and shoes. Its status is one field, and `MOVES` has
every legal change of it. A matter gets its number, under which it is published, when it first counts in a round.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Author
from shoed.rules.irregular import Happened, Ruling
from shoed.words import Event as Kind


class Status(Enum):
    LATENT = "latent"  # counts once its card has a place, a card is due of the empty shoe, or its set is dealt
    SUSPECTED = "suspected"  # the watch infers it, or a dealer reports it: a person confirms or denies it
    OPEN = "open"  # counts in its round
    RULED = "ruled"  # its ruling is published
    CARRIED_OVER = "carried-over"  # found between two rounds: it holds the next one
    HOLDING = "holding"  # found between two rounds: it holds the round that is open
    DECIDED = "decided"  # a person decided how play goes on after it
    WITHDRAWN = "withdrawn"  # it did not happen


# Every legal change of a status. A change that is absent is a bug: `moved` raises KeyError.
MOVES: Final[Mapping[Status, frozenset[Status]]] = {
    Status.LATENT: frozenset({Status.OPEN, Status.SUSPECTED, Status.CARRIED_OVER, Status.WITHDRAWN}),
    Status.SUSPECTED: frozenset({Status.OPEN, Status.WITHDRAWN}),
    Status.OPEN: frozenset({Status.RULED, Status.SUSPECTED, Status.DECIDED, Status.WITHDRAWN}),
    Status.RULED: frozenset({Status.RULED, Status.DECIDED, Status.WITHDRAWN}),
    Status.CARRIED_OVER: frozenset({Status.HOLDING, Status.DECIDED, Status.WITHDRAWN}),
    Status.HOLDING: frozenset({Status.DECIDED, Status.WITHDRAWN}),
    Status.DECIDED: frozenset(),
    Status.WITHDRAWN: frozenset({Status.OPEN}),
}
IN_A_ROUND: Final = (Status.OPEN, Status.RULED)


class Confirmation(Enum):
    """Whether a Pit Supervisor or above has confirmed the matter."""

    UNNEEDED = "unneeded"
    NEEDED = "needed"  # before it voids the round
    GIVEN = "given"
    DENIED = "denied"


class Matter(msgspec.Struct, frozen=True, omit_defaults=True):
    what: Happened  # its positions are derived from the cards, if it names some
    status: Status
    evidence: str
    by: Author | None = None  # None: the watch, or the table itself
    id: int = 0  # 0: not on the record yet
    number: int = 0  # in its round, as published; 0: none yet
    cards: tuple[int, ...] = ()  # ids of the cards that it is about
    noticed_after: int = 0  # the id of the last card that had left the shoe; 0: none had
    meant: tuple[int, ...] = ()  # the ids in the order that was meant, if the order was altered
    face: Card | None = None  # a card drawn in excess between two rounds, or the card that the shoe holds too often
    aside: int = 0  # the event that set this card aside
    row: int = 0  # of the journal, with the bytes of this card
    ruling: Ruling | None = None  # the last one that was published
    confirmation: Confirmation = Confirmation.UNNEEDED
    set_id: str = ""  # of the set that it is about, where that has a name

    @property
    def kind(self) -> Kind:
        return self.what.event


def moved(matter: Matter, status: Status) -> Matter:
    if status not in MOVES[matter.status]:
        raise KeyError((matter.status, status))
    return replace(matter, status=status)
