"""Matters: the irregularities and suspicions of a table, on one ledger.

A matter keeps its id across rounds and shoes. The field `status` is the status of the matter, and `MOVES` lists every
legal change of a status. A matter is published under a number. It gets the number when it first counts in a round.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author
from shoed.model.events import Measured
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.irregular import Irregularity, Ruling


class Status(Enum):
    LATENT = "latent"  # counts once its card has a place, a card is due of an empty shoe, or its set is in the shoe
    SUSPECTED = "suspected"  # inferred by the watch or reported by a dealer: a person confirms or denies it
    OPEN = "open"  # counts in its round
    RULED = "ruled"  # its ruling is published
    CARRIED_OVER = "carried-over"  # found between two rounds: the next round waits for a decision
    HOLDING = "holding"  # found between two rounds: the open round waits for a decision
    DECIDED = "decided"  # a person decided that play continues
    WITHDRAWN = "withdrawn"  # the irregularity did not happen


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
    NEEDED = "needed"  # before the matter voids the round
    GIVEN = "given"
    DENIED = "denied"


class Aside(msgspec.Struct, frozen=True, omit_defaults=True):
    """A card that was set aside."""

    sequence: int  # of the event that published it
    row: int  # the journal row with the bytes of the card
    measured: Measured | None = None


class Matter(msgspec.Struct, frozen=True, omit_defaults=True):
    irregularity: Irregularity = msgspec.field(name="what")  # its positions are derived from `cards`, if it has any
    status: Status
    evidence: str
    by: Author | None = None  # None: the watch, or the table itself
    id: int = 0  # 0: not on the record yet
    number: int = 0  # the published number in its round; 0: none yet
    cards: tuple[int, ...] = ()  # the ids of the cards concerned
    noticed_after: int = 0  # the id of the last card that had left the shoe; 0: no card had left it
    meant: tuple[int, ...] = ()  # of an altered order: the ids in the intended order
    face: Card | None = None  # a card drawn in excess between two rounds, or a card that the set has too often
    aside: Aside | None = None  # how the card `face` was set aside
    ruling: Ruling | None = None  # the last published ruling
    confirmation: Confirmation = Confirmation.UNNEEDED
    set_id: str = ""  # of the set of cards concerned, if the shuffler names it

    @property
    def kind(self) -> Kind:
        return self.irregularity.kind


def moved(matter: Matter, status: Status) -> Matter:
    if status not in MOVES[matter.status]:
        raise KeyError((matter.status, status))
    return replace(matter, status=status)
