"""Words that commands, rule books and records share: who decides, what can go wrong, when insurance is offered."""

from enum import Enum
from typing import Final


class Role(Enum):
    """Who decides: this one or anybody above, in this order."""

    DEALER = "dealer"
    PIT_SUPERVISOR = "pit-supervisor"
    PIT_MANAGER = "pit-manager"
    SHIFT_MANAGER = "shift-manager"

    def may_decide_for(self, needed: "Role") -> bool:
        order = tuple(Role)
        return order.index(self) >= order.index(needed)


class Event(Enum):
    """What can go wrong. No row of it in a book, and no OTHER either, is `no provision`."""

    FOREIGN_CARD = "foreign-card"
    DECK_COUNT = "deck-count"  # a shortage or an excess of cards in the deck
    NOT_SHUFFLED = "not-shuffled"
    WRONG_COUNT = "wrong-count"  # a hand has a wrong number of cards
    TOO_FEW_CARDS = "too-few-cards"  # the round cannot be completed
    DRAWN_TOGETHER = "drawn-together"
    SET_REPLACED = "set-replaced"  # the question whether the shoe gets a new set of cards after DRAWN_TOGETHER
    ORDER_ALTERED = "order-altered"
    CARD_IN_EXCESS = "card-in-excess"
    CARD_EXPOSED = "card-exposed"
    WRONG_SIDE = "wrong-side"
    FACE_UP = "face-up"  # on a table where cards are dealt face down
    DEALING_ERROR = "dealing-error"  # any other
    INSURANCE_NEGLECTED = "insurance-neglected"
    INTERRUPTION = "interruption"
    NOTICED_LATE = "noticed-late"  # any of these, noticed once the next round has begun
    OTHER = "other"  # nothing fits


class OverdrawnCard(Enum):
    """What becomes of the card of an overdraw."""

    USE = "use"
    DISCARD = "discard"


PLAYER: Final = "player"  # who speaks where nobody of the house does
FOLLOWS: Final = frozenset({Event.SET_REPLACED, Event.NOTICED_LATE})  # from another one; nobody tells these


class Stage(Enum):
    AFTER_FOUR = "after-four"
    AFTER_PLAYER_THIRD = "after-player-third"
