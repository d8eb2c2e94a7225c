"""Money: insurance as it is placed, and the settlement of a whole table, exact to the smallest unit.

`insure` takes the insurance bets of a round in order: after four cards, then after Player's third. It needs an open
offer, an Original Bet of the same bettor on that hand, and room under the cap: over both stages, stake times odds is at
most what that Original Bet plays for (I 3.12.2). Who let an offer pass that was theirs to take has forgone the rest
(I 5.3), and so has who wanted more than the cap and took nothing; a squeeze ends the later stage for everybody
(I 3.14); a table may have none at all (I 4.2.2). A bet whose stage hangs on cards of unknown order waits for them.

`settle` reckons with rationals and rounds once for each bet, at the end, on the magnitude: what is won, or what is lost
of a stake that plays in part. The remainder is exact less rounded. The house has what all bettors lack.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from shoed.rules.bets import Code, Placed, Positioned, Refusal
from shoed.rules.book import Hand, Offer, Pays, Rule, RuleBook
from shoed.rules.drawing import INITIAL_CARDS, due
from shoed.rules.house import Forgone, Rounding
from shoed.rules.insurance import CARDS_AT, back_to, offers, settle_offer, waived
from shoed.rules.irregular import Course
from shoed.rules.limits import Held, original_bets
from shoed.rules.neglect import Neglect, Policy
from shoed.rules.results import rows
from shoed.rules.standing import board
from shoed.words import Stage


class Terms(msgspec.Struct, frozen=True):
    """On which insurance is sold in this round."""

    on: bool = True
    squeeze: bool = False  # granted
    forgone: Forgone = Forgone.ROUND
    neglected: frozenset[Stage] = frozenset()  # the dealer did not offer it
    left: Mapping[str, int] = {}  # who walked away, and how many cards had been drawn
    minimums: Mapping[str, int] = {}  # noticed ones


class Insured(msgspec.Struct, frozen=True):
    placed: Placed
    offer: Offer | None  # None: how the cards lie is still to be told


class Insurance(msgspec.Struct, frozen=True):
    """What became of the insurance of a round."""

    insured: Mapping[int, Insured]  # by position; always whole
    refused: tuple[Refusal, ...]
    passed: Sequence[Policy]  # what bettors could have taken and did not
    waived: Mapping[Stage, str]  # where nobody could, and by which clause


def insure(book: RuleBook, bets: Positioned, course: Course, held: Mapping[int, Held], terms: Terms) -> Insurance:
    """The insurance bets that are taken, those that are refused, and the offers that were let pass."""
    desk = _Desk(book, held, course, terms)
    passed: list[Policy] = []
    for stage in Stage:
        could = desk.could_take(stage)
        for position, bet in bets.items():
            if bet.stage is stage:
                desk.take(position, bet, stage)
        taken = {(each.placed.bettor, each.placed.stage, each.placed.bet) for each in desk.insured.values()}
        let_pass = [each for each in could if each not in taken]
        if terms.forgone is Forgone.ROUND and stage not in terms.neglected:
            desk.forgone |= {bettor for bettor, _, _ in let_pass}
        passed += let_pass
    return Insurance(desk.insured, tuple(desk.refused), passed, desk.waived)


class _Desk:
    """Where insurance is taken, stage by stage."""

    def __init__(self, book: RuleBook, held: Mapping[int, Held], course: Course, terms: Terms) -> None:
        self.book = book
        self.hands = course.hands
        self.cut_short = course.suspended or course.void is not None
        self.terms = terms
        self.offers = offers(book, course.hands)
        self.insured: dict[int, Insured] = {}
        self.refused: list[Refusal] = []
        hand_of = original_bets(book)
        self.room: dict[tuple[str, Hand], Fraction] = defaultdict(Fraction)  # what insurance may still pay
        for each in held.values():
            if each.placed.bet in hand_of:
                self.room[each.placed.bettor, hand_of[each.placed.bet]] += each.effective
        self.forgone: set[str] = set()
        self.waived = waived(book, squeeze=terms.on and terms.squeeze)

    def has_forgone(self, bettor: str, stage: Stage) -> bool:
        return bettor in self.forgone or self.terms.left.get(bettor, CARDS_AT[stage]) < CARDS_AT[stage]

    def least(self, bet: str) -> int:
        noticed = Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN in self.book.rules
        return max(1, self.terms.minimums.get(bet, 0) if noticed else 0)

    def could_take(self, stage: Stage) -> list[Policy]:
        """The offers of a stage, each with those who may take it and whose cap leaves room for the least stake."""
        if not self.terms.on or stage in self.waived:
            return []
        return [
            (bettor, stage, offer.bet)
            for (bettor, hand), room in self.room.items()
            for offer in self.offers.get(stage) or ()
            if hand is offer.hand
            and not self.has_forgone(bettor, stage)
            and self.least(offer.bet) * odds_of(offer.odds) <= room
        ]

    def to_come(self, stage: Stage) -> bool:
        drawn = len(self.hands)
        return drawn < INITIAL_CARDS or (drawn < CARDS_AT[stage] and due(self.book, self.hands) is Hand.PLAYER)

    def take(self, position: int, bet: Placed, stage: Stage) -> None:
        rules, insures = self.book.rules, self.book.insurances[bet.bet]
        offer = next((each for each in self.offers.get(stage) or () if each.bet == bet.bet), None)
        least = self.least(bet.bet)
        if not self.terms.on:
            self._refuse(position, Code.INSURANCE_OFF, Rule.INSURANCE_CAN_BE_SWITCHED_OFF, "no insurance at this table")
        elif stage in self.waived:
            message = "the squeeze that was granted waives insurance after Player's third card"
            self._refuse(position, Code.WAIVED, Rule.SQUEEZE_WAIVES_INSURANCE, message)
        elif offer is None and not (self.cut_short and self.to_come(stage)):
            self.refused.append(self._no_offer(position, bet, stage))
        elif (bet.bettor, insures) not in self.room:
            message = f"{bet.bettor} has no bet on {insures.value} to insure"
            self._refuse(position, Code.NO_ORIGINAL_BET, Rule.INSURES_OWN_ORIGINAL_BET, message)
        elif self.has_forgone(bet.bettor, stage):
            message = f"{bet.bettor} has forgone insurance for this round"
            self._refuse(position, Code.FORGONE, Rule.PASSED_IS_FORGONE, message)
        elif bet.stake < least:
            message = f"{bet.stake} is below the minimum of {least}"
            self._refuse(position, Code.BELOW_MINIMUM, Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN, message)
        elif offer is None:
            self.insured[position] = Insured(bet, None)
        else:
            odds = odds_of(offer.odds)
            room = self.room[bet.bettor, insures]
            if bet.stake * odds <= room:
                self.room[bet.bettor, insures] = room - bet.stake * odds
                self.insured[position] = Insured(bet, offer)
                return
            largest = Rounding.DOWN.whole(room / odds)
            message = (
                f"{bet.stake} at {offer.odds.text} would pay more than the bet that it insures; "
                f"the largest stake is {largest}"
            )
            clause = rules[Rule.INSURED_UP_TO_ORIGINAL_BET].clause
            self.refused.append(Refusal(position, Code.OVER_CAP, clause, message, largest))

    def _no_offer(self, position: int, bet: Placed, stage: Stage) -> Refusal:
        then = back_to(board(self.book).of(self.hands), stage)
        if self.to_come(stage):
            message = f"nothing is offered {stage.value.replace('-', ' ')} before those cards are drawn"
            clause = self.book.rules[Rule.INSURED_WHILE_OPEN].clause
        elif then is None or then.due is None:
            message = f"nothing is left to insure {stage.value.replace('-', ' ')}: no card is due that could change it"
            clause = self.book.rules[Rule.INSURED_WHILE_OPEN].clause
        else:
            message = f"no row offers {bet.bet} {stage.value.replace('-', ' ')} on these points"
            clause = self.book.sources["insurance"]
        return Refusal(position, Code.NO_OFFER, clause, message)

    def _refuse(self, position: int, code: Code, rule: Rule, message: str) -> None:
        self.refused.append(Refusal(position, code, self.book.rules[rule].clause, message))


def odds_of(pays: Pays) -> Fraction:
    return Fraction(0) if pays.odds is None else pays.odds


class Line(msgspec.Struct, frozen=True):
    """The settlement of one bet."""

    bet: int  # its position in the list
    placed: Placed
    effective: Fraction
    pays: Pays | None = None  # None: open, or given back without a result
    winnings: int = 0  # the bettor's net
    returned: int = 0  # what of the stake goes back
    remainder: Fraction = Fraction(0)  # exact less rounded, of the magnitude
    clause: str | None = None  # None: open, or the document is silent


class Fate(msgspec.Struct, frozen=True):
    """What the irregularities of the round left of it."""

    course: Course
    neglect: Neglect


def settle(
    book: RuleBook, held: Mapping[int, Held], insured: Mapping[int, Insured], fate: Fate, rounding: Rounding
) -> list[Line]:
    """Every bet that was taken, in order of time."""
    hands = fate.course.hands
    pay_rows = rows(book, hands)
    lines = []
    for position, each in held.items():
        row = pay_rows[each.placed.bet]
        played = Line(position, each.placed, each.effective)
        if row is not None:
            played = msgspec.structs.replace(played, pays=row.pays, clause=row.clause)
        lines.append(_fallen(book, fate, played) or _paid(played, rounding))
    for position, policy in insured.items():
        played = Line(position, policy.placed, Fraction(policy.placed.stake))
        if policy.offer is not None:
            pays = settle_offer(book, policy.offer, hands)
            tie = pays is not None and pays.odds is None and not pays.loses
            clause = book.rules[Rule.EQUAL_POINTS_TIE].clause if tie else policy.offer.clause
            played = msgspec.structs.replace(played, pays=pays, clause=clause)
        lines.append(_fallen(book, fate, played) or _paid(played, rounding))
    return sorted(lines, key=lambda line: line.bet)


def _fallen(book: RuleBook, fate: Fate, line: Line) -> Line | None:
    """A bet that an irregularity gives back or leaves open; None: it plays."""
    course, neglect = fate.course, fate.neglect
    bettor, original = line.placed.bettor, (line.placed.bettor, line.placed.bet)
    open_still = course.suspended or bettor in course.undecided or original in neglect.undecided
    if course.void is not None:
        clause = book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or course.void.clause
    elif bettor in course.returned:
        clause = course.returned[bettor]
    elif open_still:
        return _unpaid(line)
    elif original in neglect.returned:
        clause = neglect.returned[original]
    else:
        return None
    return msgspec.structs.replace(line, pays=None, returned=line.placed.stake, clause=clause or None)


def _unpaid(line: Line) -> Line:
    return msgspec.structs.replace(line, pays=None, clause=None)


def _paid(line: Line, rounding: Rounding) -> Line:
    if line.pays is None:
        return _unpaid(line)
    stake = line.placed.stake
    exact = line.effective if line.pays.loses else line.effective * odds_of(line.pays)
    whole = rounding.whole(exact)
    lost = whole if line.pays.loses else 0
    return msgspec.structs.replace(
        line, winnings=-lost if line.pays.loses else whole, returned=stake - lost, remainder=exact - whole
    )


def house(lines: Iterable[Line]) -> int:
    return -sum(line.winnings for line in lines)
