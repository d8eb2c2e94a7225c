"""Money: acceptance of insurance bets, and the settlement of a whole table, exact to the smallest unit.

`insure` accepts the insurance bets of a round in order: after four cards, then after Player's third card. An insurance
bet requires an open offer, an Original Bet of the same bettor on that hand, and room under the cap: over both stages,
the sum of stake times odds is at most the effective Original Bet (I 3.12.2). A bettor who does not accept an available
offer forgoes later offers (I 5.3). A bettor whose only bet is over the cap forgoes them too. A squeeze ends the second
stage for all bettors (I 3.14). A table may have no insurance (I 4.2.2). A bet of a stage that depends on cards of
unknown order stays open until the order is known.

`settle` computes with rationals. It rounds once for each bet, at the end: the magnitude of the win, or of the loss of a
stake that plays in part. The remainder is the exact magnitude less the rounded one. The house wins the sum of all
losses less the sum of all wins.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from shoed.model.irregularities import Stage
from shoed.model.observations import Side
from shoed.rules.bets import BetRefusal, BetsByPosition, PlacedBet, RefusalCode
from shoed.rules.book import Offer, Pays, Rule, RuleBook
from shoed.rules.card_states import card_states
from shoed.rules.drawing import INITIAL_CARDS, due
from shoed.rules.house_rules import ForgoneFor, Rounding
from shoed.rules.insurance import CARDS_AT, at_stage, offers, settle_offer, waived
from shoed.rules.irregular import Course
from shoed.rules.limits import EffectiveBet, original_bets
from shoed.rules.neglected_insurance import BettorOffer, NeglectResult
from shoed.rules.results import rows


class InsuranceTerms(msgspec.Struct, frozen=True):
    """The conditions of insurance in this round."""

    on: bool = True
    squeeze: bool = False  # granted
    forgone: ForgoneFor = ForgoneFor.ROUND
    neglected: frozenset[Stage] = frozenset()  # stages that the dealer did not offer
    left: Mapping[str, int] = {}  # bettors who walked away, each with the number of cards drawn before
    minimums: Mapping[str, int] = {}  # by bet, if the dealer enforces them


class InsuranceBet(msgspec.Struct, frozen=True):
    placed: PlacedBet
    offer: Offer | None  # None: the order of the cards is not known yet


class InsuranceResult(msgspec.Struct, frozen=True):
    """The insurance of a round."""

    insured: Mapping[int, InsuranceBet]  # by position, with their whole stakes
    refused: tuple[BetRefusal, ...]
    passed: Sequence[BettorOffer]  # offers that bettors could accept and did not
    waived: Mapping[Stage, str]  # stages without insurance, each with the clause


def insure(
    book: RuleBook, bets: BetsByPosition, course: Course, at_close: Mapping[int, EffectiveBet], terms: InsuranceTerms
) -> InsuranceResult:
    """The accepted and the refused insurance bets, and the offers that were not accepted."""
    sale = _InsuranceSale(book, at_close, course, terms)
    passed: list[BettorOffer] = []
    for stage in Stage:
        available = sale.available_offers(stage)
        for position, bet in bets.items():
            if bet.stage is stage:
                sale.add(position, bet, stage)
        taken = {(each.placed.bettor, each.placed.stage, each.placed.bet) for each in sale.insured.values()}
        not_taken = [each for each in available if each not in taken]
        if terms.forgone is ForgoneFor.ROUND and stage not in terms.neglected:
            sale.forgone |= {bettor for bettor, _, _ in not_taken}
        passed += not_taken
    return InsuranceResult(sale.insured, tuple(sale.refused), passed, sale.waived)


class _InsuranceSale:
    """Accepts the insurance bets of a round, stage by stage."""

    def __init__(
        self, book: RuleBook, at_close: Mapping[int, EffectiveBet], course: Course, terms: InsuranceTerms
    ) -> None:
        self.book = book
        self.hands = course.hands
        self.interrupted = course.suspended or course.void is not None
        self.terms = terms
        self.offers = offers(book, course.hands)
        self.insured: dict[int, InsuranceBet] = {}
        self.refused: list[BetRefusal] = []
        side_of = original_bets(book)
        self.room: dict[tuple[str, Side], Fraction] = defaultdict(Fraction)  # the rest of the cap
        for each in at_close.values():
            if each.placed.bet in side_of:
                self.room[each.placed.bettor, side_of[each.placed.bet]] += each.effective
        self.forgone: set[str] = set()
        self.waived = waived(book, squeeze=terms.on and terms.squeeze)

    def has_forgone(self, bettor: str, stage: Stage) -> bool:
        return bettor in self.forgone or self.terms.left.get(bettor, CARDS_AT[stage]) < CARDS_AT[stage]

    def minimum_of(self, bet: str) -> int:
        noticed = Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN in self.book.rules
        return max(1, self.terms.minimums.get(bet, 0) if noticed else 0)

    def available_offers(self, stage: Stage) -> list[BettorOffer]:
        """The offers of a stage, for each bettor who may accept them and whose cap has room for the smallest stake."""
        if not self.terms.on or stage in self.waived:
            return []
        return [
            (bettor, stage, offer.bet)
            for (bettor, side), room in self.room.items()
            for offer in self.offers.get(stage) or ()
            if side is offer.side
            and not self.has_forgone(bettor, stage)
            and self.minimum_of(offer.bet) * odds_of(offer.odds) <= room
        ]

    def is_ahead(self, stage: Stage) -> bool:
        drawn = len(self.hands)
        return drawn < INITIAL_CARDS or (drawn < CARDS_AT[stage] and due(self.book, self.hands) is Side.PLAYER)

    def add(self, position: int, bet: PlacedBet, stage: Stage) -> None:
        rules, insures = self.book.rules, self.book.insurances[bet.bet]
        offer = next((each for each in self.offers.get(stage) or () if each.bet == bet.bet), None)
        least = self.minimum_of(bet.bet)
        if not self.terms.on:
            self._refuse(
                position, RefusalCode.INSURANCE_OFF, Rule.INSURANCE_CAN_BE_SWITCHED_OFF, "no insurance at this table"
            )
        elif stage in self.waived:
            message = "the granted squeeze waives insurance after Player's third card"
            self._refuse(position, RefusalCode.WAIVED, Rule.SQUEEZE_WAIVES_INSURANCE, message)
        elif offer is None and not (self.interrupted and self.is_ahead(stage)):
            self.refused.append(self._no_offer(position, bet, stage))
        elif (bet.bettor, insures) not in self.room:
            message = f"{bet.bettor} has no bet on {insures.value} to insure"
            self._refuse(position, RefusalCode.NO_ORIGINAL_BET, Rule.INSURES_OWN_ORIGINAL_BET, message)
        elif self.has_forgone(bet.bettor, stage):
            message = f"{bet.bettor} has forgone insurance for this round"
            self._refuse(position, RefusalCode.FORGONE, Rule.PASSED_IS_FORGONE, message)
        elif bet.stake < least:
            message = f"{bet.stake} is below the minimum of {least}"
            self._refuse(position, RefusalCode.BELOW_MINIMUM, Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN, message)
        elif offer is None:
            self.insured[position] = InsuranceBet(bet, None)
        else:
            odds = odds_of(offer.odds)
            room = self.room[bet.bettor, insures]
            if bet.stake * odds <= room:
                self.room[bet.bettor, insures] = room - bet.stake * odds
                self.insured[position] = InsuranceBet(bet, offer)
                return
            largest = Rounding.DOWN.whole(room / odds)
            message = (
                f"{bet.stake} at {offer.odds.text} could pay more than the insured bet; the largest stake is {largest}"
            )
            clause = rules[Rule.INSURED_UP_TO_ORIGINAL_BET].clause
            self.refused.append(BetRefusal(position, RefusalCode.OVER_CAP, clause, message, largest))

    def _no_offer(self, position: int, bet: PlacedBet, stage: Stage) -> BetRefusal:
        state = at_stage(card_states(self.book).of(self.hands), stage)
        if self.is_ahead(stage):
            message = f"insurance {stage.value.replace('-', ' ')} is not offered before those cards are drawn"
            clause = self.book.rules[Rule.INSURED_WHILE_OPEN].clause
        elif state is None or state.due is None:
            message = f"insurance {stage.value.replace('-', ' ')} is not offered, because no card is due"
            clause = self.book.rules[Rule.INSURED_WHILE_OPEN].clause
        else:
            message = f"the pay table has no row for {bet.bet} {stage.value.replace('-', ' ')} on these points"
            clause = self.book.sources["insurance"]
        return BetRefusal(position, RefusalCode.NO_OFFER, clause, message)

    def _refuse(self, position: int, code: RefusalCode, rule: Rule, message: str) -> None:
        self.refused.append(BetRefusal(position, code, self.book.rules[rule].clause, message))


def odds_of(pays: Pays) -> Fraction:
    return Fraction(0) if pays.odds is None else pays.odds


class SettledBet(msgspec.Struct, frozen=True):
    """The settlement of one bet."""

    bet: int  # its position in the list
    placed: PlacedBet
    effective: Fraction
    pays: Pays | None = None  # None: open, or returned without a result
    winnings: int = 0  # the bettor's net result
    returned: int = 0  # the part of the stake that is returned
    remainder: Fraction = Fraction(0)  # the exact magnitude less the rounded one
    clause: str | None = None  # None: open, or the document is silent


class RoundRulings(msgspec.Struct, frozen=True):
    """The rulings on all irregularities of a round."""

    course: Course
    neglect: NeglectResult


def settle(
    book: RuleBook,
    at_close: Mapping[int, EffectiveBet],
    insured: Mapping[int, InsuranceBet],
    rulings: RoundRulings,
    rounding: Rounding,
) -> list[SettledBet]:
    """All accepted bets, in order of time."""
    hands = rulings.course.hands
    pay_rows = rows(book, hands)
    settled = []
    for position, each in at_close.items():
        row = pay_rows[each.placed.bet]
        played = SettledBet(position, each.placed, each.effective)
        if row is not None:
            played = msgspec.structs.replace(played, pays=row.pays, clause=row.clause)
        settled.append(_returned_or_open(book, rulings, played) or _paid(played, rounding))
    for position, insurance_bet in insured.items():
        played = SettledBet(position, insurance_bet.placed, Fraction(insurance_bet.placed.stake))
        if insurance_bet.offer is not None:
            pays = settle_offer(book, insurance_bet.offer, hands)
            tie = pays is not None and pays.odds is None and not pays.loses
            clause = book.rules[Rule.EQUAL_POINTS_TIE].clause if tie else insurance_bet.offer.clause
            played = msgspec.structs.replace(played, pays=pays, clause=clause)
        settled.append(_returned_or_open(book, rulings, played) or _paid(played, rounding))
    return sorted(settled, key=lambda bet: bet.bet)


def _returned_or_open(book: RuleBook, rulings: RoundRulings, bet: SettledBet) -> SettledBet | None:
    """A bet that an irregularity returns or leaves open; None: the bet plays."""
    course, neglect = rulings.course, rulings.neglect
    bettor, original = bet.placed.bettor, (bet.placed.bettor, bet.placed.bet)
    open_still = course.suspended or bettor in course.undecided or original in neglect.undecided
    if course.void is not None:
        clause = book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or course.void.clause
    elif bettor in course.returned:
        clause = course.returned[bettor]
    elif open_still:
        return _unpaid(bet)
    elif original in neglect.returned:
        clause = neglect.returned[original]
    else:
        return None
    return msgspec.structs.replace(bet, pays=None, returned=bet.placed.stake, clause=clause or None)


def _unpaid(bet: SettledBet) -> SettledBet:
    return msgspec.structs.replace(bet, pays=None, clause=None)


def _paid(bet: SettledBet, rounding: Rounding) -> SettledBet:
    if bet.pays is None:
        return _unpaid(bet)
    stake = bet.placed.stake
    exact = bet.effective if bet.pays.loses else bet.effective * odds_of(bet.pays)
    whole = rounding.whole(exact)
    lost = whole if bet.pays.loses else 0
    return msgspec.structs.replace(
        bet, winnings=-lost if bet.pays.loses else whole, returned=stake - lost, remainder=exact - whole
    )


def house_winnings(settled: Iterable[SettledBet]) -> int:
    return -sum(bet.winnings for bet in settled)
