"""The limits of a table: the bets that are refused at the close, and the bets that play for less than their stake.

"Noticed" means that the dealer noticed the bets outside the limits before the close of betting.

    minimum       of each kind of bet. Noticed: a bet below it is refused (C 5.2). Unnoticed: the bet plays (C 5.2.1)
    maximum       of a box (seat and bet). Noticed: the excess is refused. Other players may use the rest (C 3.6)
    differential  D between Banker and Player bets (C 1.5). H is the heavy side, L the light side.
                    reading "side": H is limited to L + D; the factor is (L + D) / H
                    reading "box":  each box of Player or Banker is limited to D; the factor is D / box
                  Noticed: the excess is refused (C 5.1). Unnoticed: the heavy side plays at the factor (C 5.1.1)

Bets are accepted up to the limit, seated players first, then in order of time. A bet is not scaled below the minimum.
A bet placed below the minimum is never scaled (C 5.1.2). Neither case reduces another bet. Side bets and insurance are
outside the differential. A limit applies only if the book has its rule.
"""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Final, assert_never

import msgspec

from shoed.model.observations import Side
from shoed.rules.bets import BetNote, BetRefusal, BetRemark, BetsByPosition, PlacedBet, RefusalCode
from shoed.rules.book import Rule, RuleBook
from shoed.rules.house_rules import DifferentialReading, TableLimits

BetGroup = Side | tuple[int, str]  # the bets that one limit applies to: all bets on a side, or one box


class EffectiveBet(msgspec.Struct, frozen=True):
    """A bet on the layout after the close."""

    placed: PlacedBet  # with the accepted stake
    effective: Fraction  # the part of the stake that plays
    notes: tuple[BetNote, ...] = ()


REMARKS: Final[Mapping[Rule, BetRemark]] = {
    Rule.EXCESS_PRO_RATED: BetRemark.PRO_RATED,
    Rule.PRO_RATA_STOPS_AT_MINIMUM: BetRemark.AT_MINIMUM,
    Rule.UNDER_MINIMUM_NOT_PRO_RATED: BetRemark.NOT_PRO_RATED,
}


def close(
    book: RuleBook, bets: BetsByPosition, limits: TableLimits, *, noticed: bool
) -> tuple[dict[int, EffectiveBet], list[BetRefusal]]:
    """The bets on the layout after the close, by position, and the refusals. Insurance is not included."""
    if Rule.MINIMUM not in book.rules:
        limits = msgspec.structs.replace(limits, minimum=0, minimums={})
    refused: dict[int, BetRefusal] = {}
    if noticed:
        for limit in (_enforce_minimum, _enforce_maximum, _enforce_differential):
            bets, excess = limit(book, bets, limits)
            refused |= excess
    at_close = {
        position: EffectiveBet(
            bet, Fraction(bet.stake), () if noticed else _note_below_minimum(book, position, bet, limits)
        )
        for position, bet in bets.items()
    }
    if not noticed and Rule.EXCESS_PRO_RATED in book.rules:
        at_close.update(_pro_rated(book, bets, limits))
    return at_close, list(refused.values())


def _note_below_minimum(book: RuleBook, position: int, bet: PlacedBet, limits: TableLimits) -> tuple[BetNote, ...]:
    ground = book.rules.get(Rule.UNDER_MINIMUM_PLAYS)
    if ground is None or bet.stake >= limits.minimum_of(bet.bet):
        return ()
    return (BetNote(position, BetRemark.BELOW_MINIMUM_PLAYS, ground.clause),)


LimitedBets = tuple[BetsByPosition, dict[int, BetRefusal]]  # the accepted bets and the refusals of a limit


def _enforce_minimum(book: RuleBook, bets: BetsByPosition, limits: TableLimits) -> LimitedBets:
    refused: dict[int, BetRefusal] = {}
    ground = book.rules.get(Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN)
    if ground is None:
        return bets, refused
    for position, bet in bets.items():
        least = limits.minimum_of(bet.bet)
        if bet.stake < least:
            message = f"{bet.stake} is below the minimum of {least}; increase or withdraw the bet"
            refused[position] = BetRefusal(position, RefusalCode.BELOW_MINIMUM, ground.clause, message)
    return {position: bet for position, bet in bets.items() if position not in refused}, refused


def _enforce_maximum(book: RuleBook, bets: BetsByPosition, limits: TableLimits) -> LimitedBets:
    ground = book.rules.get(Rule.BALANCE_OPEN_TO_OTHERS)
    if ground is None or limits.maximum is None:
        return bets, {}
    boxes: dict[int, BetGroup] = {position: box(bet) for position, bet in bets.items()}
    room: dict[BetGroup, int] = dict.fromkeys(boxes.values(), limits.maximum)
    refusal = BetRefusal(0, RefusalCode.OVER_MAXIMUM, ground.clause, "over the maximum of the box")
    return _accept_up_to(book, bets, boxes, room, refusal)


def _enforce_differential(book: RuleBook, bets: BetsByPosition, limits: TableLimits) -> LimitedBets:
    ground = book.rules.get(Rule.EXCESS_REFUSED)
    boxes = _groups(book, bets, limits)
    if ground is None:
        return bets, {}
    refusal = BetRefusal(0, RefusalCode.OVER_DIFFERENTIAL, ground.clause, "over the differential")
    return _accept_up_to(book, bets, boxes, _allowed(_totals(bets, boxes), limits), refusal)


def _accept_up_to(
    book: RuleBook,
    bets: BetsByPosition,
    boxes: Mapping[int, BetGroup],
    room: Mapping[BetGroup, int],
    refusal: BetRefusal,
) -> LimitedBets:
    """Accept bets up to the limit: seated players first, then in order of time. The bet at the limit keeps a part."""
    left = dict(room)
    accepted = dict(bets)
    refused: dict[int, BetRefusal] = {}
    seated_first = Rule.SEATED_FIRST in book.rules
    for position in sorted(boxes, key=lambda each: (seated_first and bets[each].standing, each)):
        stake = bets[position].stake
        accepted_stake = min(stake, left[boxes[position]])
        left[boxes[position]] -= accepted_stake
        if accepted_stake < stake:
            message = f"{stake} is {refusal.message}; the accepted stake is {accepted_stake}"
            refused[position] = msgspec.structs.replace(refusal, bet=position, message=message, largest=accepted_stake)
            accepted[position] = msgspec.structs.replace(bets[position], stake=accepted_stake)
    return {position: bet for position, bet in accepted.items() if bet.stake > 0}, refused


def _pro_rated(book: RuleBook, bets: BetsByPosition, limits: TableLimits) -> dict[int, EffectiveBet]:
    boxes = _groups(book, bets, limits)
    totals = _totals(bets, boxes)
    allowed = _allowed(totals, limits)
    scaled: dict[int, EffectiveBet] = {}
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
        scaled[position] = EffectiveBet(bet, effective, (BetNote(position, REMARKS[rule], book.rules[rule].clause),))
    return scaled


def _groups(book: RuleBook, bets: BetsByPosition, limits: TableLimits) -> dict[int, BetGroup]:
    """Return the group of each Player or Banker bet for the differential, by position: its side, or its box."""
    if Rule.DIFFERENTIAL not in book.rules or limits.differential is None:
        return {}
    side_of = original_bets(book)
    originals = {position: bet for position, bet in bets.items() if bet.bet in side_of}
    match limits.reading:
        case DifferentialReading.SIDE:
            return {position: side_of[bet.bet] for position, bet in originals.items()}
        case DifferentialReading.BOX:
            return {position: box(bet) for position, bet in originals.items()}
        case _:
            assert_never(limits.reading)


def _totals(bets: BetsByPosition, boxes: Mapping[int, BetGroup]) -> dict[BetGroup, int]:
    totals: dict[BetGroup, int] = defaultdict(int)
    for position, where in boxes.items():
        totals[where] += bets[position].stake
    return dict(totals)


def _allowed(totals: Mapping[BetGroup, int], limits: TableLimits) -> dict[BetGroup, int]:
    differential = limits.differential or 0
    match limits.reading:
        case DifferentialReading.SIDE:  # the other side and the differential; the light side is never above it
            return {side: sum(totals.values()) - total + differential for side, total in totals.items()}
        case DifferentialReading.BOX:
            return dict.fromkeys(totals, differential)
        case _:
            assert_never(limits.reading)


def box(bet: PlacedBet) -> tuple[int, str]:
    """The seat and the kind of a bet. The chips of all bettors at a seat share one box for each kind of bet."""
    return bet.seat, bet.bet


def original_bets(book: RuleBook) -> dict[str, Side]:
    """The side of each Original Bet, by the name of the bet."""
    return {bet.name: bet.side for bet in book.bets if bet.side is not None}
