"""Words of commands, rule books and records: roles, kinds of irregularity, stages of insurance."""

from enum import Enum
from typing import Final


class Role(Enum):
    """A role of the house, from the lowest to the highest. A higher role may decide for a lower one."""

    DEALER = "dealer"
    PIT_SUPERVISOR = "pit-supervisor"
    PIT_MANAGER = "pit-manager"
    SHIFT_MANAGER = "shift-manager"

    def may_decide_for(self, needed: "Role") -> bool:
        order = tuple(Role)
        return order.index(self) >= order.index(needed)


class IrregularityKind(Enum):
    """The kinds of irregularity. A book without a row for a kind and for OTHER makes no provision for the kind."""

    FOREIGN_CARD = "foreign-card"
    DECK_COUNT = "deck-count"  # a shortage or an excess of cards in the deck
    NOT_SHUFFLED = "not-shuffled"
    WRONG_COUNT = "wrong-count"  # a hand has a wrong number of cards
    TOO_FEW_CARDS = "too-few-cards"  # the round cannot be completed
    DRAWN_TOGETHER = "drawn-together"
    SET_REPLACED = "set-replaced"  # after DRAWN_TOGETHER: a person decides whether the shoe gets a new set
    ORDER_ALTERED = "order-altered"
    CARD_IN_EXCESS = "card-in-excess"
    CARD_EXPOSED = "card-exposed"
    WRONG_SIDE = "wrong-side"
    FACE_UP = "face-up"  # on a table where cards are dealt face down
    DEALING_ERROR = "dealing-error"  # any other
    INSURANCE_NEGLECTED = "insurance-neglected"
    INTERRUPTION = "interruption"
    NOTICED_LATE = "noticed-late"  # any other kind, noticed after the start of the next round
    OTHER = "other"  # any other irregularity


class OverdrawnCard(Enum):
    """The use of an overdrawn card."""

    USE = "use"
    DISCARD = "discard"


PLAYER: Final = "player"  # the word for a person without a role of the house
# Kinds that follow from another kind: no notice reports them.
FOLLOWS: Final = frozenset({IrregularityKind.SET_REPLACED, IrregularityKind.NOTICED_LATE})


class Stage(Enum):
    AFTER_FOUR = "after-four"
    AFTER_PLAYER_THIRD = "after-player-third"
