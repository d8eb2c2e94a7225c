"""The limits of a table: what is refused at the close, and what plays for less than its stake.

    minimum       of each kind of bet: noticed, a bet below it is refused (C 5.2); unnoticed, it plays (C 5.2.1)
    maximum       of a box, that is seat and bet: noticed, the excess is refused; what is left others may take (C 3.6)
    differential  D of Banker against Player (C 1.5). H is the heavy side, L the light one.
                    reading "side": H may hold L + D; the factor is (L + D) / H
                    reading "box":  each box of Player or Banker may hold D by itself; the factor is D / box
                  noticed, the excess is refused (C 5.1); unnoticed, the heavy side plays at the factor (C 5.1.1)

What may be held is filled by seated players first, then in order of time. Pro rata stops at the minimum; a bet that is
below the minimum is never scaled (C 5.1.2); what either keeps is taken from nobody else. Side bets and insurance are
outside the differential. A limit binds only where the book has its rule: a game without limits ignores them.
"""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, assert_never

import msgspec

from shoed.rules.bets import Code, Note, Placed, Positioned, Refusal, Remark
from shoed.rules.book import Hand, Rule, RuleBook
from shoed.rules.house import Limits, Reading

Box = Hand | tuple[int, str]  # what a limit binds as one: all bets on a hand, or those on a seat's box


class Held(msgspec.Struct, frozen=True):
    """A bet as it lies when the bets are closed."""

    placed: Placed  # with the stake that was accepted
    effective: Fraction  # what of it plays
    notes: tuple[Note, ...] = ()


REMARKS: Final[Mapping[Rule, Remark]] = {
    Rule.EXCESS_PRO_RATED: Remark.PRO_RATED,
    Rule.PRO_RATA_STOPS_AT_MINIMUM: Remark.AT_MINIMUM,
    Rule.UNDER_MINIMUM_NOT_PRO_RATED: Remark.NOT_PRO_RATED,
}


def close(book: RuleBook, bets: Positioned, limits: Limits, *, noticed: bool) -> tuple[dict[int, Held], list[Refusal]]:
    """The layout when the bets are closed, by position, and what was refused of it. Without insurance."""
    if Rule.MINIMUM not in book.rules:
        limits = msgspec.structs.replace(limits, minimum=0, minimums={})
    refused: dict[int, Refusal] = {}
    if noticed:
        for limit in (_at_least, _at_most, _within_differential):
            bets, excess = limit(book, bets, limits)
            refused |= excess
    held = {
        position: Held(bet, Fraction(bet.stake), () if noticed else _plays_small(book, position, bet, limits))
        for position, bet in bets.items()
    }
    if not noticed and Rule.EXCESS_PRO_RATED in book.rules:
        held.update(_pro_rated(book, bets, limits))
    return held, list(refused.values())


def _plays_small(book: RuleBook, position: int, bet: Placed, limits: Limits) -> tuple[Note, ...]:
    ground = book.rules.get(Rule.UNDER_MINIMUM_PLAYS)
    if ground is None or bet.stake >= limits.minimum_of(bet.bet):
        return ()
    return (Note(position, Remark.BELOW_MINIMUM_PLAYS, ground.clause),)


Accepted = tuple[Positioned, dict[int, Refusal]]  # what lies after a limit, and what it refused


def _at_least(book: RuleBook, bets: Positioned, limits: Limits) -> Accepted:
    refused: dict[int, Refusal] = {}
    ground = book.rules.get(Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN)
    if ground is None:
        return bets, refused
    for position, bet in bets.items():
        least = limits.minimum_of(bet.bet)
        if bet.stake < least:
            message = f"{bet.stake} is below the minimum of {least}; the player may increase or withdraw it"
            refused[position] = Refusal(position, Code.BELOW_MINIMUM, ground.clause, message)
    return {position: bet for position, bet in bets.items() if position not in refused}, refused


def _at_most(book: RuleBook, bets: Positioned, limits: Limits) -> Accepted:
    ground = book.rules.get(Rule.BALANCE_OPEN_TO_OTHERS)
    if ground is None or limits.maximum is None:
        return bets, {}
    boxes: dict[int, Box] = {position: box(bet) for position, bet in bets.items()}
    room: dict[Box, int] = dict.fromkeys(boxes.values(), limits.maximum)
    why = Refusal(0, Code.OVER_MAXIMUM, ground.clause, "over the maximum of the box")
    return _filled(book, bets, boxes, room, why)


def _within_differential(book: RuleBook, bets: Positioned, limits: Limits) -> Accepted:
    ground = book.rules.get(Rule.EXCESS_REFUSED)
    boxes = _bound_together(book, bets, limits)
    if ground is None:
        return bets, {}
    why = Refusal(0, Code.OVER_DIFFERENTIAL, ground.clause, "over the differential")
    return _filled(book, bets, boxes, _allowed(_totals(bets, boxes), limits), why)


def _filled(
    book: RuleBook, bets: Positioned, boxes: Mapping[int, Box], room: Mapping[Box, int], why: Refusal
) -> Accepted:
    """Seated players first, then in order of time, until the room is full. The bet that crosses keeps a part."""
    left = dict(room)
    accepted = dict(bets)
    refused: dict[int, Refusal] = {}
    seated_first = Rule.SEATED_FIRST in book.rules
    for position in sorted(boxes, key=lambda each: (seated_first and bets[each].standing, each)):
        stake = bets[position].stake
        taken = min(stake, left[boxes[position]])
        left[boxes[position]] -= taken
        if taken < stake:
            message = f"{stake} is {why.message}; {taken} is accepted"
            refused[position] = msgspec.structs.replace(why, bet=position, message=message, largest=taken)
            accepted[position] = msgspec.structs.replace(bets[position], stake=taken)
    return {position: bet for position, bet in accepted.items() if bet.stake > 0}, refused


def _pro_rated(book: RuleBook, bets: Positioned, limits: Limits) -> dict[int, Held]:
    boxes = _bound_together(book, bets, limits)
    totals = _totals(bets, boxes)
    allowed = _allowed(totals, limits)
    scaled: dict[int, Held] = {}
    for position, where in boxes.items():
        if totals[where] <= allowed[where]:
            continue
        bet = bets[position]
        least = limits.minimum_of(bet.bet)
        effective = Fraction(bet.stake) * Fraction(allowed[where], totals[where])
        rule = Rule.EXCESS_PRO_RATED
        if bet.stake < least and Rule.UNDER_MINIMUM_NOT_PRO_RATED in book.rules:
            rule, effective = Rule.UNDER_MINIMUM_NOT_PRO_RATED, Fraction(bet.stake)
        elif effective < least <= bet.stake and Rule.PRO_RATA_STOPS_AT_MINIMUM in book.rules:
            rule, effective = Rule.PRO_RATA_STOPS_AT_MINIMUM, Fraction(least)
        scaled[position] = Held(bet, effective, (Note(position, REMARKS[rule], book.rules[rule].clause),))
    return scaled


def _bound_together(book: RuleBook, bets: Positioned, limits: Limits) -> dict[int, Box]:
    """Which Player and Banker bets the differential binds together: all of a hand, or those of one box."""
    if Rule.DIFFERENTIAL not in book.rules or limits.differential is None:
        return {}
    hands = original_bets(book)
    originals = {position: bet for position, bet in bets.items() if bet.bet in hands}
    match limits.reading:
        case Reading.SIDE:
            return {position: hands[bet.bet] for position, bet in originals.items()}
        case Reading.BOX:
            return {position: box(bet) for position, bet in originals.items()}
        case _:
            assert_never(limits.reading)


def _totals(bets: Positioned, boxes: Mapping[int, Box]) -> dict[Box, int]:
    totals: dict[Box, int] = defaultdict(int)
    for position, where in boxes.items():
        totals[where] += bets[position].stake
    return dict(totals)


def _allowed(totals: Mapping[Box, int], limits: Limits) -> dict[Box, int]:
    differential = limits.differential or 0
    match limits.reading:
        case Reading.SIDE:  # the light side and the differential; for the light side itself that is no bound
            return {side: sum(totals.values()) - total + differential for side, total in totals.items()}
        case Reading.BOX:
            return dict.fromkeys(totals, differential)
        case _:
            assert_never(limits.reading)


def box(bet: Placed) -> tuple[int, str]:
    """Seat and kind of bet: everybody's chips on it lie in one box."""
    return bet.seat, bet.bet


def original_bets(book: RuleBook) -> dict[str, Hand]:
    """The bets on a hand, by name."""
    return {bet.name: bet.hand for bet in book.bets if bet.hand is not None}
