"""Bets: who may place which, where and when.

An entry is a whole bet: one bettor, one box (a seat and a kind of bet), one stake; its place in the list is
its time. `act` answers what somebody does to the layout in each phase (C 3.3, 3.8, 5.6). `admit` goes through
a layout as it is placed and refuses what the game does not have: an unknown bet, a seat that the layout does not
have, and in a tournament a second hand or a side bet without a hand (T 3.3, 3.4). What the limits of the table
say comes after it, in `limits`; insurance is placed during the round and has its own rules, in `money`.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, assert_never

import msgspec

from shoed.rules.book import Act, LateThen, PlaceRule, Rule, RuleBook
from shoed.settings import shown
from shoed.words import Stage


class Phase(Enum):
    BEFORE = "before"  # "Place your bets" has not been said
    OPEN = "open"
    CLOSED = "closed"  # "No more bets" has


class Placed(msgspec.Struct, frozen=True):
    """One bet as it lies, or as somebody wants it to lie."""

    seat: int
    bettor: str
    bet: str
    stake: int
    standing: bool = False
    stage: Stage | None = None  # of an insurance bet
    behalf: bool = False  # a pit employee put it down for the bettor, whose bet it is all the same


class Code(Enum):
    """Why a bet is refused, whole or in part."""

    NOT_OFFERED = "not-offered"  # the game has no such bet
    NO_SUCH_SEAT = "no-such-seat"
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
    NO_OFFER = "no-offer"  # no row of the insurance table is open
    WAIVED = "waived"  # by a squeeze
    NO_ORIGINAL_BET = "no-original-bet"  # of the bettor's on the hand
    FORGONE = "forgone"
    OVER_CAP = "over-cap"


class Refusal(msgspec.Struct, frozen=True):
    bet: int  # its position in the list
    code: Code
    clause: str
    message: str
    largest: int | None = None  # stake that would have been taken, or was


class Remark(Enum):
    """What is said of a bet that plays."""

    PRO_RATED = "pro-rated"
    AT_MINIMUM = "at-minimum"  # pro rata stops there
    NOT_PRO_RATED = "not-pro-rated"  # a bet below the minimum
    BELOW_MINIMUM_PLAYS = "below-minimum-plays"
    ON_BEHALF = "on-behalf"  # put down by a pit employee: the player answers for it
    LIES_AS_IT_LIES = "lies-as-it-lies"  # in error, and it plays all the same
    WALKED_AWAY = "walked-away"  # the house settles the bet


class Note(msgspec.Struct, frozen=True):
    bet: int
    remark: Remark
    clause: str


LATE: Final[Mapping[Act, Code]] = {
    Act.BET: Code.LATE_BET,
    Act.INCREASE: Code.LATE_INCREASE,
    Act.WITHDRAWAL: Code.LATE_WITHDRAWAL,
}


class Change(msgspec.Struct, frozen=True):
    """What somebody wants to lie at a position; at the end of the list, a new bet."""

    position: int
    deed: Act
    bet: Placed | None = None  # None: nothing


def act(
    book: RuleBook, phase: Phase, layout: Sequence[Placed], change: Change
) -> tuple[tuple[Placed, ...], Refusal | None]:
    """The layout afterwards, and the refusal if it stays as it was."""
    at = change.position
    match phase:
        case Phase.OPEN:
            wanted = () if change.bet is None else (change.bet,)
            return (*layout[:at], *wanted, *layout[at + 1 :]), None
        case Phase.BEFORE:
            clause = book.rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].clause
            return tuple(layout), Refusal(at, Code.TOO_EARLY, clause, "bets are not open yet")
        case Phase.CLOSED:
            return tuple(layout), late(book, change.deed, at, layout[at].stake if at < len(layout) else None)
        case _:
            assert_never(phase)


def late(book: RuleBook, deed: Act, position: int, largest: int | None = None) -> Refusal:
    """The bets are closed: whatever is tried, the layout stays as it was."""
    then = book.late[deed]
    closed = book.rules[Rule.BETS_CLOSE_WHEN_ANNOUNCED].clause
    over = f"no more bets ({closed})" if closed else "no more bets"
    match then.then:
        case LateThen.REFUSED:
            message = f"{over}: the {deed.value} is refused"
        case LateThen.INCREASE_REFUSED:
            message = f"{over}: what was added is refused, the rest plays"
        case LateThen.STANDS:
            message = f"{over}: the bet wins or loses as if it had not been withdrawn"
        case _:
            assert_never(then.then)
    return Refusal(position, LATE[deed], then.clause, message, None if deed is Act.BET else largest)


Positioned = Mapping[int, Placed]  # bets by their position in the list as it was given


def admit(book: RuleBook, bets: Positioned, seats: int | None) -> tuple[dict[int, Placed], list[Refusal]]:
    """What of these may lie on the layout at all. `seats`: how many there are, None if any number."""
    kinds = {each.name: each for each in book.bets}
    hand_of: dict[str, str] = {}  # bettor -> the Original Bet, for tournaments
    admitted: dict[int, Placed] = {}
    refused: list[Refusal] = []
    for position, placed in bets.items():
        kind = kinds.get(placed.bet)
        if kind is None:
            message = f"{book.id} has no bet {placed.bet}; it has {', '.join(kinds)}"
            refused.append(Refusal(position, Code.NOT_OFFERED, book.sources["betting"], message))
        elif seats is not None and placed.seat > seats:
            refused.append(no_such_seat(book, position, placed, seats))
        elif book.place is PlaceRule.ONE_HAND and kind.hand is not None:
            first = hand_of.setdefault(placed.bettor, placed.bet)
            if first == placed.bet:
                admitted[position] = placed
            else:
                message = f"{placed.bettor} has bet on {first}; nobody may bet on both hands"
                refused.append(Refusal(position, Code.BOTH_HANDS, kind.clause, message))
        elif book.place is PlaceRule.ONE_HAND and placed.bettor not in hand_of:
            message = f"{placed.bettor} has no bet on player or banker yet; a side bet comes on top of one"
            refused.append(Refusal(position, Code.NO_HAND, kind.clause, message))
        else:
            admitted[position] = placed
    return admitted, refused


def no_such_seat(book: RuleBook, position: int, placed: Placed, seats: int) -> Refusal:
    message = f"there is no seat {placed.seat}; the layout has {seats}"
    return Refusal(position, Code.NO_SUCH_SEAT, book.sources["seats"], message)


def seats_of(book: RuleBook, layout: str | None, seats: int | None) -> int | None:
    """How many seats there are: of a named layout, or as the table says where layouts have no names."""
    if book.seats is None:
        return seats
    if layout is None:
        return None
    if layout not in book.seats:
        raise ValueError(f"{shown(layout)} is not a layout of {book.id}; write {' or '.join(map(shown, book.seats))}")
    return book.seats[layout]


def notes_on(book: RuleBook, bets: Positioned, rule: Rule, remark: Remark) -> list[Note]:
    """The same remark on each of these bets, if the book has the rule: where it is silent there is nothing to say."""
    ground = book.rules.get(rule)
    return [] if ground is None else [Note(position, remark, ground.clause) for position in bets]
