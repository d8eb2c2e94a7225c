"""A rule book as values. `load` reads them from `books/*.toml`, in a closed vocabulary.

Every entry has the clause of its document. Where the document is silent, the entry has an empty clause and a reading
of ours. Money is a whole number of the smallest unit, odds are rationals, and no value is a float.

A `Rule` is a rule that the engine knows by name. It is in force in a game if `rule in book.rules`; its clause is
`book.rules[rule].clause`. The consequences of an irregularity are rows of `book.irregularities`: see IrregularityRow.
"""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Final

import msgspec

from shoed.model.cards import Rank
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import Pair, Side


class Ground(msgspec.Struct, frozen=True):
    """The source of an entry: a clause of the document, or our interpretation."""

    clause: str  # "" where the document is silent
    also: tuple[str, ...] = ()  # clauses that repeat it or define a word of it
    reading: str = ""


class Winner(Enum):
    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class Pays(msgspec.Struct, frozen=True):
    """The pay of a bet: `lose`, `push`, or odds as the document prints them."""

    text: str
    odds: Fraction | None  # None: lose or push

    @property
    def loses(self) -> bool:
        return self.text == "lose"


class PayRow(msgspec.Struct, frozen=True):
    """One row of a bet's pay table, with the results that it applies to. An empty condition matches every result."""

    pays: Pays
    clause: str
    winner: Winner | None = None  # None in the rows of a pair only
    points: frozenset[int] = frozenset()  # of the winning hand, or of both in a tie
    cards: frozenset[int] = frozenset()  # of the winning hand
    ranks: frozenset[Rank] | None = None  # of a pair; empty: the hand has no pair


class Bet(msgspec.Struct, frozen=True):
    name: str
    clause: str  # permission to place it
    rows: tuple[PayRow, ...]
    side: Side | None = None  # of an Original Bet
    pair: Pair | None = None  # of a bet on the first two cards of a hand


class Offer(msgspec.Struct, frozen=True):
    """One row of the insurance pay table."""

    bet: str  # player-insurance, banker-insurance
    side: Side  # the insured hand
    stage: Stage
    player: frozenset[int]
    banker: frozenset[int]
    odds: Pays
    clause: str
    pays_on: Winner  # the other hand; a tie in the row of nine
    tie_returned: bool


class CombinationRule(Enum):
    """The combinations of bets that one bettor may place."""

    ANY = "any"
    ONE_HAND = "one-hand"  # exactly one of Player and Banker; side bets only together with it


class Play(msgspec.Struct, frozen=True):
    """The Table of Play."""

    natural: frozenset[int]
    player: frozenset[int]  # totals on which Player draws
    banker_alone: frozenset[int]  # totals on which Banker draws after Player stands
    banker: Mapping[int, frozenset[int]]  # by Banker's total: values of Player's third card on which Banker draws

    def __hash__(self) -> int:
        return hash((self.natural, self.player, self.banker_alone, frozenset(self.banker.items())))


class Rule(Enum):
    """The rules that the engine knows by name. A rule is in force in a game whose book has the name."""

    # Every game: a book without one of these rules is refused.
    FIRST_FOUR_ALTERNATE = "first-four-alternate"  # Player, Banker, Player, Banker
    LAST_DIGIT_COUNTS = "last-digit-counts"
    HIGHER_POINTS_WIN = "higher-points-win"
    EQUAL_POINTS_TIE = "equal-points-tie"
    BETS_OPEN_WHEN_ANNOUNCED = "bets-open-when-announced"
    BETS_CLOSE_WHEN_ANNOUNCED = "bets-close-when-announced"
    VOID_RETURNS_EVERY_STAKE = "void-returns-every-stake"
    # Bets and people.
    BETS_LIE_AS_AT_THE_CLOSE = "bets-lie-as-at-the-close"
    PLACED_ON_BEHALF = "placed-on-behalf"  # placed by a pit employee; the player is responsible
    WALKED_AWAY_IS_SETTLED = "walked-away-is-settled"
    # Limits.
    MINIMUM = "minimum"  # each kind of bet has one
    DIFFERENTIAL = "differential"  # limits the difference between all Banker and all Player bets
    BALANCE_OPEN_TO_OTHERS = "balance-open-to-others"  # the unused part of a box's maximum
    EXCESS_REFUSED = "excess-refused"  # noticed before the bets close
    SEATED_FIRST = "seated-first"
    EXCESS_PRO_RATED = "excess-pro-rated"  # not noticed
    PRO_RATA_STOPS_AT_MINIMUM = "pro-rata-stops-at-minimum"
    UNDER_MINIMUM_NOT_PRO_RATED = "under-minimum-not-pro-rated"
    UNDER_MINIMUM_RAISED_OR_WITHDRAWN = "under-minimum-raised-or-withdrawn"  # noticed
    UNDER_MINIMUM_PLAYS = "under-minimum-plays"  # not noticed
    # Insurance: a book with insurance rows has all of these rules, a book without them has none.
    INSURES_OWN_ORIGINAL_BET = "insures-own-original-bet"
    INSURED_WHILE_OPEN = "insured-while-open"  # only while a card can still change the insured hand's result
    INSURED_UP_TO_ORIGINAL_BET = "insured-up-to-original-bet"  # the cap, over both stages
    PASSED_IS_FORGONE = "passed-is-forgone"
    SQUEEZE_WAIVES_INSURANCE = "squeeze-waives-insurance"
    INSURANCE_CAN_BE_SWITCHED_OFF = "insurance-can-be-switched-off"
    # The options of each player: a book whose irregularities give options has all three.
    OPTION_CONTINUE = "option-continue"  # the hand, where it cannot be reconstructed
    OPTION_RECONSTRUCTED = "option-reconstructed"  # the reconstructed hand
    OPTION_RETURN = "option-return"  # all bets of that player in the round


LIMIT_RULES: Final = frozenset(
    {
        *(Rule.MINIMUM, Rule.DIFFERENTIAL, Rule.BALANCE_OPEN_TO_OTHERS, Rule.EXCESS_REFUSED, Rule.SEATED_FIRST),
        *(Rule.EXCESS_PRO_RATED, Rule.PRO_RATA_STOPS_AT_MINIMUM, Rule.UNDER_MINIMUM_NOT_PRO_RATED),
        *(Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN, Rule.UNDER_MINIMUM_PLAYS),
    }
)


class BetAction(Enum):
    """A change of a bet after the close. Every book has a row for each."""

    BET = "bet"
    INCREASE = "increase"
    WITHDRAWAL = "withdrawal"


class LateEffect(Enum):
    REFUSED = "refused"  # the change has no effect
    INCREASE_REFUSED = "increase-refused"  # the increase has no effect, the original stake plays
    STANDS = "stands"  # the withdrawal has no effect, the bet wins or loses


class LateRule(msgspec.Struct, frozen=True):
    action: BetAction
    then: LateEffect
    clause: str


class Fact(Enum):
    """A condition in a row of an irregularity."""

    RECONSTRUCTABLE = "reconstructable"
    ORDER_KNOWN = "order-known"
    INITIAL_DEAL = "initial-deal"  # among the first four cards
    ESTABLISHED = "established"  # an outcome is established: see results.established
    OF_THE_DEALING = "of-the-dealing"  # dealing caused it
    INSURANCE_ON = "insurance-on"
    WOULD_HAVE_WON = "would-have-won"


NEGLECT_FACTS: Final = frozenset({Fact.INSURANCE_ON, Fact.WOULD_HAVE_WON})


class Then(Enum):
    """The consequence for the round."""

    VOID = "void"
    CONTINUE = "continue"
    RECONSTRUCT = "reconstruct"  # put the cards in their right order, then continue by the Table of Play
    RECONSTRUCT_OR_CARRY = "reconstruct-or-carry"  # use the card in this round if it is due, else in the next round
    ORDER_CARDS = "order-cards"  # a person decides the order of the cards
    RETURN_ORIGINAL = "return-original"  # return the Original Bet of players who intended to insure it
    STANDS = "stands"  # no consequence
    ASK = "ask"  # a person decides


@cache
def facts_of(kind: IrregularityKind) -> frozenset[Fact]:
    """The facts that a row of this kind may depend on."""
    match kind:
        case IrregularityKind.NOTICED_LATE | IrregularityKind.SET_REPLACED:
            return frozenset()
        case IrregularityKind.INSURANCE_NEGLECTED:
            return NEGLECT_FACTS
        case _:
            return frozenset(Fact) - NEGLECT_FACTS


@cache
def thens_of(kind: IrregularityKind) -> frozenset[Then]:
    """The possible consequences of this kind."""
    match kind:
        case IrregularityKind.NOTICED_LATE:
            return frozenset({Then.STANDS})
        case IrregularityKind.SET_REPLACED:
            return frozenset({Then.ASK})
        case IrregularityKind.INSURANCE_NEGLECTED:
            return frozenset({Then.RETURN_ORIGINAL, Then.STANDS})
        case IrregularityKind.DRAWN_TOGETHER:
            return frozenset(Then) - {Then.RETURN_ORIGINAL}
        case _:
            return frozenset(Then) - {Then.RETURN_ORIGINAL, Then.ORDER_CARDS}


class Options(Enum):
    """The cases in which each player may continue or withdraw all bets of the round."""

    NEVER = "never"
    ALWAYS = "always"
    UNLESS_ESTABLISHED = "unless-established"


class IrregularityRow(msgspec.Struct, frozen=True):
    """The provision of the book for one kind of irregularity, if every fact has its value in `when`.

    The rows of one kind exclude each other: at most one row applies. Without such a row the row of
    IrregularityKind.OTHER applies. Without that row too the document has no provision: the round is suspended, a person
    decides, and the ruling is marked `silent`.
    """

    kind: IrregularityKind
    then: Then
    clause: str  # "" if it is our interpretation
    when: Mapping[Fact, bool]
    decides: Role | None = None  # the lowest role that may decide; None: no decision is required
    options: Options = Options.NEVER
    options_clause: str = ""
    reading: str = ""


class Clause(msgspec.Struct, frozen=True):
    """One numbered clause of the document, with a title in our words."""

    number: str
    title: str
    entries: str  # the entries of the book that cite it; "" if no entry does
    reason: str = ""  # for a clause without entries: the operator's part, or why the clause requires no action


class RuleBook(msgspec.Struct, frozen=True):
    id: str
    letter: str
    title: str
    document: str
    decks: tuple[int, int]
    seats: Mapping[str, int] | None  # by layout; None: any number
    values: Mapping[Rank, int]  # as the document prints them: a ten is 10 or 0
    play: Play
    combination: CombinationRule
    bets: tuple[Bet, ...]
    insurances: Mapping[str, Side]  # the insured hand of each insurance bet
    offers: tuple[Offer, ...]
    rules: Mapping[Rule, Ground]
    late: Mapping[BetAction, LateRule]
    irregularities: tuple[IrregularityRow, ...]
    clauses: tuple[Clause, ...]
    sources: Mapping[str, str]  # the clauses of single entries: decks, seats, ace, natural, banker 3 ...
