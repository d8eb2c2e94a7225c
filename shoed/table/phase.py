"""The visible state of a round, and every legal move between its phases."""

from collections.abc import Mapping
from typing import Final

from shoed.model.identity_enum import IdentityEnum


class Phase(IdentityEnum):
    IDLE = "idle"  # no round in this shoe yet
    BETTING = "betting"  # "Place your bets"
    CLOSED = "closed"  # "No more bets", and no card yet
    DEALING = "dealing"
    SUSPENDED = "suspended"  # waits for a person
    COMPLETE = "complete"  # every card due is drawn
    CORRECTED = "corrected"  # complete, and its first published result was corrected
    SETTLED = "settled"
    VOIDED = "voided"
    ABANDONED = "abandoned"  # ended without a result


class Move(IdentityEnum):
    ANNOUNCED = "announced"  # bets were opened
    BETS_CLOSED = "bets-closed"
    OPENING_CARD = "opening-card"  # the first card of the round
    DUE_CARD = "due-card"
    LAST_CARD = "last-card"  # the due card that completes the round
    DOUBT = "doubt"  # a person has to answer a question
    RESUMED = "resumed"  # the question is closed, and a card is due
    STILL_BETTING = "still-betting"  # the question is closed, and bets are open
    STILL_CLOSED = "still-closed"  # the question is closed; bets are closed, and no card is drawn
    COMPLETED = "completed"  # the question is closed, and no card is due
    VOID = "void"
    CORRECTION = "correction"
    SETTLEMENT = "settlement"
    GIVEN_UP = "given-up"  # a new round or a new shoe began before the round had its cards
    REOPENED = "reopened"  # by a correction: a card is due
    NEXT = "next"  # a new round or a new shoe begins


OPEN: Final = (Phase.BETTING, Phase.CLOSED, Phase.DEALING, Phase.SUSPENDED)
DRAWN: Final = (Phase.COMPLETE, Phase.CORRECTED)
OVER: Final = (Phase.SETTLED, Phase.VOIDED, Phase.ABANDONED)
AT_THE_TABLE: Final = (*OPEN, *DRAWN)
CORRECTABLE: Final = (*AT_THE_TABLE, Phase.SETTLED)  # until the next round begins

# Every legal move is in this table. A move that is absent is a bug: the table raises KeyError.
MOVES: Final[Mapping[tuple[Phase, Move], Phase]] = {
    (Phase.IDLE, Move.ANNOUNCED): Phase.BETTING,
    (Phase.IDLE, Move.OPENING_CARD): Phase.DEALING,
    (Phase.BETTING, Move.BETS_CLOSED): Phase.CLOSED,
    (Phase.SUSPENDED, Move.BETS_CLOSED): Phase.SUSPENDED,
    (Phase.CLOSED, Move.OPENING_CARD): Phase.DEALING,
    (Phase.DEALING, Move.DUE_CARD): Phase.DEALING,
    (Phase.DEALING, Move.LAST_CARD): Phase.COMPLETE,
    **{(phase, Move.DOUBT): Phase.SUSPENDED for phase in CORRECTABLE if phase is not Phase.SUSPENDED},
    (Phase.SUSPENDED, Move.RESUMED): Phase.DEALING,
    (Phase.SUSPENDED, Move.STILL_BETTING): Phase.BETTING,
    (Phase.SUSPENDED, Move.STILL_CLOSED): Phase.CLOSED,
    (Phase.SUSPENDED, Move.COMPLETED): Phase.COMPLETE,
    **{(phase, Move.VOID): Phase.VOIDED for phase in CORRECTABLE},
    **{(phase, Move.CORRECTION): Phase.CORRECTED for phase in (*DRAWN, Phase.SUSPENDED, Phase.SETTLED)},
    **{(phase, Move.REOPENED): Phase.DEALING for phase in (*DRAWN, Phase.SUSPENDED, Phase.SETTLED)},
    **{(phase, Move.SETTLEMENT): Phase.SETTLED for phase in (*DRAWN, Phase.SUSPENDED)},
    **{(phase, Move.GIVEN_UP): Phase.ABANDONED for phase in OPEN},
    **{(phase, Move.NEXT): Phase.IDLE for phase in (Phase.IDLE, *OVER)},
}
