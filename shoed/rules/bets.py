"""Bets: which bets a bettor may place, on which seats, and in which phase.

One entry is a whole bet: one bettor, one box (a seat and a kind of bet) and one stake. The position in the list is
the order in time. `apply_change` applies a change to the list of placed bets, or refuses it in the wrong phase (C 3.3,
3.8, 5.6). `admit` refuses bets that the game does not offer: an unknown bet, a seat that the layout does not have, and
in a tournament bets on both hands, or a side bet without a bet on a hand (T 3.3, 3.4). `limits` applies the limits of
the table after `admit`. Insurance is placed during the round; its rules are in `money`.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, assert_never

import msgspec

from shoed.model.irregularities import Stage
from shoed.rules.book import BetAction, CombinationRule, LateEffect, Rule, RuleBook
from shoed.settings import shown


class BettingPhase(Enum):
    BEFORE = "before"  # "Place your bets" is not announced yet
    OPEN = "open"
    CLOSED = "closed"  # "No more bets" is announced


class PlacedBet(msgspec.Struct, frozen=True):
    """A bet that is placed, or a bet that a bettor wants to place."""

    seat: int
    bettor: str
    bet: str
    stake: int
    standing: bool = False
    stage: Stage | None = None  # of an insurance bet
    behalf: bool = False  # placed by a pit employee for the bettor, who owns the bet


class RefusalCode(Enum):
    """Why a bet is refused, whole or in part."""

    NOT_OFFERED = "not-offered"  # the game has no such bet
    NO_SUCH_SEAT = "no-such-seat"  # the layout has fewer seats
    BOTH_HANDS = "both-hands"
    NO_HAND = "no-hand"  # a side bet without Player or Banker
    TOO_EARLY = "too-early"  # before "Place your bets"
    LATE_BET = "late-bet"
    LATE_INCREASE = "late-increase"
    LATE_WITHDRAWAL = "late-withdrawal"
    BELOW_MINIMUM = "below-minimum"
    OVER_MAXIMUM = "over-maximum"
    OVER_DIFFERENTIAL = "over-differential"
    INSURANCE_OFF = "insurance-off"
    NO_OFFER = "no-offer"  # no row of the insurance pay table is open
    WAIVED = "waived"  # by a squeeze
    NO_ORIGINAL_BET = "no-original-bet"  # the bettor has no Original Bet on the hand
    FORGONE = "forgone"
    OVER_CAP = "over-cap"


class BetRefusal(msgspec.Struct, frozen=True):
    bet: int  # its position in the list
    code: RefusalCode
    clause: str
    message: str
    largest: int | None = None  # the largest stake that is accepted


class BetRemark(Enum):
    """A remark on a bet that plays."""

    PRO_RATED = "pro-rated"
    AT_MINIMUM = "at-minimum"  # pro-rated, but not below the minimum
    NOT_PRO_RATED = "not-pro-rated"  # below the minimum: never pro-rated
    BELOW_MINIMUM_PLAYS = "below-minimum-plays"
    ON_BEHALF = "on-behalf"  # placed by a pit employee; the player is responsible for it
    LIES_AS_IT_LIES = "lies-as-it-lies"  # placed in error; it plays where it is
    WALKED_AWAY = "walked-away"  # the bettor left; the house settles the bet


class BetNote(msgspec.Struct, frozen=True):
    bet: int
    remark: BetRemark
    clause: str


LATE_CODES: Final[Mapping[BetAction, RefusalCode]] = {
    BetAction.BET: RefusalCode.LATE_BET,
    BetAction.INCREASE: RefusalCode.LATE_INCREASE,
    BetAction.WITHDRAWAL: RefusalCode.LATE_WITHDRAWAL,
}


class Change(msgspec.Struct, frozen=True):
    """A new bet at one position of the list of placed bets. The position after the last bet adds a bet."""

    position: int
    action: BetAction
    bet: PlacedBet | None = None  # None: remove the bet


def apply_change(
    book: RuleBook, phase: BettingPhase, placed: Sequence[PlacedBet], change: Change
) -> tuple[tuple[PlacedBet, ...], BetRefusal | None]:
    """Return the placed bets after the change, and the refusal. A refused change changes no bet."""
    at = change.position
    match phase:
        case BettingPhase.OPEN:
            wanted = () if change.bet is None else (change.bet,)
            return (*placed[:at], *wanted, *placed[at + 1 :]), None
        case BettingPhase.BEFORE:
            clause = book.rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].clause
            return tuple(placed), BetRefusal(at, RefusalCode.TOO_EARLY, clause, "bets are not open yet")
        case BettingPhase.CLOSED:
            return tuple(placed), refuse_late(book, change.action, at, placed[at].stake if at < len(placed) else None)
        case _:
            assert_never(phase)


def refuse_late(book: RuleBook, action: BetAction, position: int, largest: int | None = None) -> BetRefusal:
    """Return the refusal of a bet, an increase or a withdrawal after the close of bets."""
    then = book.late[action]
    closed = book.rules[Rule.BETS_CLOSE_WHEN_ANNOUNCED].clause
    over = f"no more bets ({closed})" if closed else "no more bets"
    match then.then:
        case LateEffect.REFUSED:
            message = f"{over}: the {action.value} is refused"
        case LateEffect.INCREASE_REFUSED:
            message = f"{over}: the increase is refused; the original stake stays in play"
        case LateEffect.STANDS:
            message = f"{over}: the withdrawal is refused; the bet stays in play"
        case _:
            assert_never(then.then)
    return BetRefusal(position, LATE_CODES[action], then.clause, message, None if action is BetAction.BET else largest)


BetsByPosition = Mapping[int, PlacedBet]  # by the position in the given list


def admit(book: RuleBook, bets: BetsByPosition, seats: int | None) -> tuple[dict[int, PlacedBet], list[BetRefusal]]:
    """The bets that the game accepts, and the refusals. `seats`: the number of seats; None: any number."""
    kinds = {each.name: each for each in book.bets}
    original_of: dict[str, str] = {}  # bettor -> the Original Bet, for tournaments
    admitted: dict[int, PlacedBet] = {}
    refused: list[BetRefusal] = []
    for position, placed in bets.items():
        kind = kinds.get(placed.bet)
        if kind is None:
            message = f"{book.id} has no bet {placed.bet}; its bets are {', '.join(kinds)}"
            refused.append(BetRefusal(position, RefusalCode.NOT_OFFERED, book.sources["betting"], message))
        elif seats is not None and placed.seat > seats:
            refused.append(no_such_seat(book, position, placed, seats))
        elif book.combination is CombinationRule.ONE_HAND and kind.side is not None:
            first = original_of.setdefault(placed.bettor, placed.bet)
            if first == placed.bet:
                admitted[position] = placed
            else:
                message = f"{placed.bettor} has a bet on {first}; a bettor may bet on one hand only"
                refused.append(BetRefusal(position, RefusalCode.BOTH_HANDS, kind.clause, message))
        elif book.combination is CombinationRule.ONE_HAND and placed.bettor not in original_of:
            message = f"{placed.bettor} has no bet on player or banker; place one of them before a side bet"
            refused.append(BetRefusal(position, RefusalCode.NO_HAND, kind.clause, message))
        else:
            admitted[position] = placed
    return admitted, refused


def no_such_seat(book: RuleBook, position: int, placed: PlacedBet, seats: int) -> BetRefusal:
    message = f"there is no seat {placed.seat}; the layout has {seats} seats"
    return BetRefusal(position, RefusalCode.NO_SUCH_SEAT, book.sources["seats"], message)


def seats_of(book: RuleBook, layout: str | None, seats: int | None) -> int | None:
    """The number of seats: of the named layout, or the table's own number in a game without named layouts."""
    if book.seats is None:
        return seats
    if layout is None:
        return None
    if layout not in book.seats:
        raise ValueError(f"{shown(layout)} is not a layout of {book.id}; write {' or '.join(map(shown, book.seats))}")
    return book.seats[layout]


def notes_on(book: RuleBook, bets: BetsByPosition, rule: Rule, remark: BetRemark) -> list[BetNote]:
    """The remark on each of these bets, if the book has the rule."""
    ground = book.rules.get(rule)
    return [] if ground is None else [BetNote(position, remark, ground.clause) for position in bets]
