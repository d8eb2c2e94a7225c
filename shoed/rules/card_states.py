"""The states of a round's cards, each with the results that are still possible.

Theory of operation: only pair bets depend on ranks. All other rules depend on values: the two-card total and the third
card of each hand. Rounds with the same two-card totals of both hands and the same third cards share one `CardState`. It
is computed once for all books with the same Table of Play. A state without a due card has one result. Any other state
has all results that its next cards can lead to. A bet is decided if it pays the same for every possible result.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, wraps
from itertools import product
from typing import Final, NamedTuple, TypeVar

from shoed.model.cards import Card, Rank
from shoed.model.observations import Side
from shoed.rules.book import Play, RuleBook, Winner
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, INITIAL_HAND, TEN, Hands, Values, due_of, higher, points_of

T = TypeVar("T")

DIGITS: Final = range(TEN)  # every book has cards of all these values, and therefore hands of all these totals
BOOKS_KEPT: Final = 64  # in each cache: the package has five books, tests read many


class RoundEnd(NamedTuple):
    """The result of a round, as far as a bet depends on it."""

    winner: Winner
    points: int  # of the winning hand, or of both in a tie
    cards: int  # of the winning hand; 0 in a tie

    def __str__(self) -> str:
        if self.winner is Winner.TIE:
            return f"a tie on {self.points}"
        return f"{self.winner.value} winning on {self.points} with {self.cards} cards"


Results = frozenset[RoundEnd]


class CardState:
    """One object for all rounds with the same two-card totals of both hands and the same third cards."""

    def __init__(self, states: "CardStates", player: Values, banker: Values) -> None:
        self.states = states
        self.player = player
        self.banker = banker
        self.due: Final = due_of(states.play, player, banker)
        self.player_points: Final = points_of(player)
        self.banker_points: Final = points_of(banker)
        self._after: dict[int, CardState] = {}

    def after(self, value: int) -> "CardState":
        """The state with one more card of this value. A card must be due."""
        if value not in self._after:
            player, banker = self.player, self.banker
            if self.due is Side.PLAYER:
                player = (*player, value)
            else:
                banker = (*banker, value)
            self._after[value] = self.states.at(player, banker)
        return self._after[value]

    @cached_property
    def results(self) -> Results:
        if len(self.player) + len(self.banker) < INITIAL_CARDS:
            return frozenset().union(*(self.after(value).results for value in DIGITS))
        return results_after_four(self.states.play, self.player, self.banker)


def results_after_four(play: Play, player: Values, banker: Values) -> Results:
    """All possible results of a round with its first four cards, without a `CardState` for each."""
    match due_of(play, player, banker):
        case Side.PLAYER:
            return frozenset().union(*[results_after_four(play, (*player, value), banker) for value in DIGITS])
        case Side.BANKER:
            return results_before_last_card(points_of(player), len(player))
        case _:
            return result_of(points_of(player), points_of(banker), len(player), len(banker))


@cache
def results_before_last_card(player: int, player_cards: int) -> Results:
    """All possible results before the last card: Banker's third card leads to any total."""
    return frozenset().union(*[result_of(player, banker, player_cards, FULL_HAND) for banker in DIGITS])


@cache
def result_of(player: int, banker: int, player_cards: int, banker_cards: int) -> Results:
    match higher(player, banker):
        case Winner.PLAYER:
            return frozenset({RoundEnd(Winner.PLAYER, player, player_cards)})
        case Winner.BANKER:
            return frozenset({RoundEnd(Winner.BANKER, banker, banker_cards)})
        case _:
            return frozenset({RoundEnd(Winner.TIE, player, 0)})


class CardStates:
    """All states under one Table of Play and one set of card values."""

    def __init__(self, play: Play, values: Values) -> None:
        self.play: Final = play
        self.values: Final = values  # from ace to king
        self._states: dict[tuple[Values, Values], CardState] = {}
        self.start: Final = self.at((), ())

    def at(self, player: Values, banker: Values) -> CardState:
        key = (reduced(player), reduced(banker))
        if key not in self._states:
            self._states[key] = CardState(self, *key)
        return self._states[key]

    @cached_property
    def after_four(self) -> tuple[CardState, ...]:
        """The states after four cards: every combination of two totals."""
        return tuple(self.at((player, 0), (banker, 0)) for player, banker in product(DIGITS, repeat=2))

    @cached_property
    def results(self) -> Results:
        """All results of a round. No `CardState` is made: every start computes the results, and needs few states."""
        after_four = product(DIGITS, repeat=2)
        return frozenset().union(
            *[results_after_four(self.play, (player, 0), (banker, 0)) for player, banker in after_four]
        )

    def of(self, hands: Hands) -> CardState:
        return self.at(self._values(hands.player), self._values(hands.banker))

    def _values(self, cards: Sequence[Card]) -> Values:
        return tuple([self.values[card.rank - 1] for card in cards])


def reduced(hand: Values) -> Values:
    """An equivalent hand for the Table of Play, which depends on the total of the first two cards alone."""
    if len(hand) < INITIAL_HAND:
        return hand
    return (points_of(hand[:INITIAL_HAND]), 0, *hand[INITIAL_HAND:])


def card_states_of(play: Play, values: Mapping[Rank, int]) -> CardStates:
    """The states of all books with this Table of Play and these values."""
    return _shared(play, tuple(values[rank] % TEN for rank in Rank))


_shared: Final = lru_cache(maxsize=BOOKS_KEPT)(CardStates)


def per_book(make: Callable[[RuleBook], T]) -> Callable[[RuleBook], T]:
    """A cache by the identity of the book. An entry keeps its book, so that no other book gets the same identity."""
    entries: dict[int, tuple[RuleBook, T]] = {}

    @wraps(make)
    def kept(book: RuleBook) -> T:
        if id(book) not in entries:
            if len(entries) == BOOKS_KEPT:
                entries.clear()
            entries[id(book)] = book, make(book)
        return entries[id(book)][1]

    return kept


@per_book
def card_states(book: RuleBook) -> CardStates:
    return card_states_of(book.play, book.values)
