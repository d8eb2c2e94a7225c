"""A rule book as values: what `load` makes of `books/*.toml`, in a closed vocabulary.

Every entry carries the clause that it comes from; an entry of ours, where the document is silent,
carries a reading instead and an empty clause. Money is whole numbers of the smallest unit, odds are
rationals; nothing here is a float.

For those who read it: a `Rule` is a rule that the engine knows by name. It is in force in a game
where `rule in book.rules`, and `book.rules[rule].clause` is what to cite. Whatever follows from
an irregularity is a row of `book.irregularities`: see Irregularity.
"""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Final, TypeAlias

import msgspec

from tests.oracle.engine_5.cards import Rank
from tests.oracle.engine_5.observations import Pair
from tests.oracle.engine_5.words import Event, Role, Stage

Hand: TypeAlias = Pair  # the two hands are the places of the two pairs


class Ground(msgspec.Struct, frozen=True):
    """What an entry stands on: a clause and those that say it again, or a reading of ours."""

    clause: str  # "" where the document is silent
    also: tuple[str, ...] = ()
    reading: str = ""


class Winner(Enum):
    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"


class Pays(msgspec.Struct, frozen=True):
    """What a bet gets: `lose`, `push`, or odds as the document prints them."""

    text: str
    odds: Fraction | None  # None: lose or push

    @property
    def loses(self) -> bool:
        return self.text == "lose"


class PayRow(msgspec.Struct, frozen=True):
    """One row of a bet: the results that it is for. An empty condition is for all of them."""

    pays: Pays
    clause: str
    winner: Winner | None = None  # None in the rows of a pair only
    points: frozenset[int] = frozenset()  # of the winning or tied hands
    cards: frozenset[int] = frozenset()  # of the winning hand
    ranks: frozenset[Rank] | None = None  # of a pair; empty: no pair


class Bet(msgspec.Struct, frozen=True):
    name: str
    clause: str  # who may place it
    rows: tuple[PayRow, ...]
    hand: Hand | None = None  # an Original Bet on this hand
    pair: Hand | None = None  # a bet on this hand's first two cards


class Offer(msgspec.Struct, frozen=True):
    """One row of the insurance pay table."""

    bet: str  # player-insurance, banker-insurance
    hand: Hand  # that it insures
    stage: Stage
    player: frozenset[int]
    banker: frozenset[int]
    odds: Pays
    clause: str
    pays_on: Winner  # the result that it pays on: the other hand, or a tie in the row of nine
    tie_returned: bool


class PlaceRule(Enum):
    """Who may place which bets together."""

    ANY = "any"  # any bet alone or together
    ONE_HAND = "one-hand"  # exactly one of Player and Banker, and side bets only on top of it


class Play(msgspec.Struct, frozen=True):
    """The Table of Play."""

    natural: frozenset[int]
    player: frozenset[int]  # totals on which Player draws
    banker_alone: frozenset[int]  # and Banker, when Player stands
    banker: Mapping[int, frozenset[int]]  # by Banker's total: values of Player's third card on which Banker draws

    def __hash__(self) -> int:
        return hash((self.natural, self.player, self.banker_alone, frozenset(self.banker.items())))


class Rule(Enum):
    """What the engine can do at a book's word, by name: in force where the book has the word."""

    # Of every game: a book without one of these is refused.
    FIRST_FOUR_ALTERNATE = "first-four-alternate"  # Player, Banker, Player, Banker
    LAST_DIGIT_COUNTS = "last-digit-counts"
    HIGHER_POINTS_WIN = "higher-points-win"
    EQUAL_POINTS_TIE = "equal-points-tie"
    BETS_OPEN_WHEN_ANNOUNCED = "bets-open-when-announced"
    BETS_CLOSE_WHEN_ANNOUNCED = "bets-close-when-announced"
    VOID_RETURNS_EVERY_STAKE = "void-returns-every-stake"
    # Bets and people.
    BETS_LIE_AS_AT_THE_CLOSE = "bets-lie-as-at-the-close"
    PLACED_ON_BEHALF = "placed-on-behalf"  # by a pit employee, and still the player's own responsibility
    WALKED_AWAY_IS_SETTLED = "walked-away-is-settled"
    # Limits.
    MINIMUM = "minimum"  # each kind of bet has one
    DIFFERENTIAL = "differential"  # binds the difference of all Banker and all Player bets
    BALANCE_OPEN_TO_OTHERS = "balance-open-to-others"  # what a box leaves of its maximum
    EXCESS_REFUSED = "excess-refused"  # noticed before the bets close
    SEATED_FIRST = "seated-first"
    EXCESS_PRO_RATED = "excess-pro-rated"  # not noticed
    PRO_RATA_STOPS_AT_MINIMUM = "pro-rata-stops-at-minimum"
    UNDER_MINIMUM_NOT_PRO_RATED = "under-minimum-not-pro-rated"
    UNDER_MINIMUM_RAISED_OR_WITHDRAWN = "under-minimum-raised-or-withdrawn"  # noticed
    UNDER_MINIMUM_PLAYS = "under-minimum-plays"  # not noticed
    # Insurance: a book that has rows of it needs all of these, and one without rows has none.
    INSURES_OWN_ORIGINAL_BET = "insures-own-original-bet"
    INSURED_WHILE_OPEN = "insured-while-open"  # only while the insured hand's fate is open
    INSURED_UP_TO_ORIGINAL_BET = "insured-up-to-original-bet"  # the cap, over both stages
    PASSED_IS_FORGONE = "passed-is-forgone"
    SQUEEZE_WAIVES_INSURANCE = "squeeze-waives-insurance"
    INSURANCE_CAN_BE_SWITCHED_OFF = "insurance-can-be-switched-off"
    # The options of each player: a book whose irregularities give options needs all three.
    OPTION_CONTINUE = "option-continue"  # not reconstructable
    OPTION_RECONSTRUCTED = "option-reconstructed"
    OPTION_RETURN = "option-return"  # all bets of that player's round


OF_LIMITS: Final = frozenset(
    {
        *(Rule.MINIMUM, Rule.DIFFERENTIAL, Rule.BALANCE_OPEN_TO_OTHERS, Rule.EXCESS_REFUSED, Rule.SEATED_FIRST),
        *(Rule.EXCESS_PRO_RATED, Rule.PRO_RATA_STOPS_AT_MINIMUM, Rule.UNDER_MINIMUM_NOT_PRO_RATED),
        *(Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN, Rule.UNDER_MINIMUM_PLAYS),
    }
)


class Act(Enum):
    """What somebody does to a bet after the bets are closed. Every book says something of all three."""

    BET = "bet"
    INCREASE = "increase"
    WITHDRAWAL = "withdrawal"


class LateThen(Enum):
    REFUSED = "refused"  # the act has no effect; the bet stays what it was
    INCREASE_REFUSED = "increase-refused"  # what was added is refused, the rest plays
    STANDS = "stands"  # the bet wins or loses as if it had not been withdrawn


class Late(msgspec.Struct, frozen=True):
    act: Act
    then: LateThen
    clause: str


class Fact(Enum):
    """What a row of an irregularity may hang on."""

    RECONSTRUCTABLE = "reconstructable"
    ORDER_KNOWN = "order-known"
    INITIAL_DEAL = "initial-deal"  # among the first four cards
    ESTABLISHED = "established"  # an outcome, see results.established
    OF_THE_DEALING = "of-the-dealing"  # it came from dealing, not from elsewhere
    INSURANCE_ON = "insurance-on"
    WOULD_HAVE_WON = "would-have-won"


OF_NEGLECT: Final = frozenset({Fact.INSURANCE_ON, Fact.WOULD_HAVE_WON})


class Then(Enum):
    """What becomes of the round."""

    VOID = "void"
    CONTINUE = "continue"
    RECONSTRUCT = "reconstruct"  # put the cards where they belong, then go on by the Table of Play
    RECONSTRUCT_OR_CARRY = "reconstruct-or-carry"  # the card serves this round if it is due, or opens the next
    ORDER_CARDS = "order-cards"  # a person says which card is first
    RETURN_ORIGINAL = "return-original"  # the Original Bet of those who had meant to insure it
    STANDS = "stands"  # nothing follows
    ASK = "ask"  # a person decides what follows


@cache
def facts_of(event: Event) -> frozenset[Fact]:
    """What is known when it happens, so that a row may hang on it."""
    match event:
        case Event.NOTICED_LATE | Event.SET_REPLACED:
            return frozenset()
        case Event.INSURANCE_NEGLECTED:
            return OF_NEGLECT
        case _:
            return frozenset(Fact) - OF_NEGLECT


@cache
def thens_of(event: Event) -> frozenset[Then]:
    """What may follow from it."""
    match event:
        case Event.NOTICED_LATE:
            return frozenset({Then.STANDS})
        case Event.SET_REPLACED:
            return frozenset({Then.ASK})
        case Event.INSURANCE_NEGLECTED:
            return frozenset({Then.RETURN_ORIGINAL, Then.STANDS})
        case Event.DRAWN_TOGETHER:
            return frozenset(Then) - {Then.RETURN_ORIGINAL}
        case _:
            return frozenset(Then) - {Then.RETURN_ORIGINAL, Then.ORDER_CARDS}


class Options(Enum):
    """When every player at the table may go on or take the bets back."""

    NEVER = "never"
    ALWAYS = "always"
    UNLESS_ESTABLISHED = "unless-established"


class Irregularity(msgspec.Struct, frozen=True):
    """What the book demands when `event` happens and every fact of `when` is as it says.

    The rows of an event exclude each other, so that at most one applies: take the one row of the event
    for which all(facts[f] is wanted for f, wanted in row.when.items()). No row: Event.OTHER's row if the
    book has it, else no provision: the round is suspended, a person decides, the record says `silent`.
    """

    event: Event
    then: Then
    clause: str  # "" if it is a reading of ours
    when: Mapping[Fact, bool]
    decides: Role | None = None  # this role or above; None: nobody has to
    options: Options = Options.NEVER
    options_clause: str = ""
    reading: str = ""


class Clause(msgspec.Struct, frozen=True):
    """One numbered clause of the document, with a title in our words."""

    number: str
    title: str
    lives: str  # the entries of the book that cite it, or "" if no device can see it
    operator: str = ""  # then: what the operator is asked instead, or why nothing is to be done


class RuleBook(msgspec.Struct, frozen=True):
    id: str
    letter: str
    title: str
    document: str
    decks: tuple[int, int]
    seats: Mapping[str, int] | None  # by layout; None: any count
    values: Mapping[Rank, int]  # as the document prints them: a ten may be worth 10 or 0
    play: Play
    place: PlaceRule
    bets: tuple[Bet, ...]
    insurances: Mapping[str, Hand]  # the insurance bets, and the hand that each insures
    offers: tuple[Offer, ...]
    rules: Mapping[Rule, Ground]
    late: Mapping[Act, Late]
    irregularities: tuple[Irregularity, ...]
    clauses: tuple[Clause, ...]
    sources: Mapping[str, str]  # of single entries: decks, seats, place, ace, natural, banker 3 ... -> their clause
