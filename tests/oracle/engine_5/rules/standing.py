"""Where a round stands, and every result that can still come of it.

Theory of operation: nothing in a book but the pair bets hangs on more than values: the totals of
two cards and the third cards. Rounds that agree in these stand at one `Standing`, which is made
once and looked up ever after, by all books of one Table of Play. One that is finished has one
result, another has all that its next cards can lead to: what is decided and what is open follows
from that, and no case is ever listed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, wraps
from itertools import product
from typing import Final, NamedTuple, TypeVar

from tests.oracle.engine_5.cards import Card, Rank
from tests.oracle.engine_5.observations import Pair
from tests.oracle.engine_5.rules.book import Play, RuleBook, Winner
from tests.oracle.engine_5.rules.drawing import FULL_HAND, INITIAL_CARDS, INITIAL_HAND, TEN, Hands, Values, due_of, higher, points_of

T = TypeVar("T")

DIGITS: Final = range(TEN)  # in every book there are cards of all these values, and so hands of all these totals
BOOKS_KEPT: Final = 64  # compiled: five are played, and a test tries many


class Result(NamedTuple):
    """How a round ended, as far as a bet can ask."""

    winner: Winner
    points: int  # of the winning or the tied hands
    cards: int  # of the winning hand; 0 in a tie

    def __str__(self) -> str:
        if self.winner is Winner.TIE:
            return f"a tie on {self.points}"
        return f"{self.winner.value} winning on {self.points} with {self.cards} cards"


Results = frozenset[Result]


class Standing:
    """One for all rounds of the same totals and third cards."""

    def __init__(self, board: "Board", player: Values, banker: Values) -> None:
        self.board = board
        self.player = player
        self.banker = banker
        self.due: Final = due_of(board.play, player, banker)
        self.player_points: Final = points_of(player)
        self.banker_points: Final = points_of(banker)
        self._after: dict[int, Standing] = {}

    def after(self, worth: int) -> "Standing":
        """One card on, where one is due."""
        if worth not in self._after:
            player, banker = self.player, self.banker
            if self.due is Pair.PLAYER:
                player = (*player, worth)
            else:
                banker = (*banker, worth)
            self._after[worth] = self.board.at(player, banker)
        return self._after[worth]

    @cached_property
    def results(self) -> Results:
        if len(self.player) + len(self.banker) < INITIAL_CARDS:
            return frozenset().union(*(self.after(worth).results for worth in DIGITS))
        return endings(self.board.play, self.player, self.banker)


def endings(play: Play, player: Values, banker: Values) -> Results:
    """All that can come of a round that has its first four cards; no standing is made for it."""
    match due_of(play, player, banker):
        case Pair.PLAYER:
            return frozenset().union(*[endings(play, (*player, worth), banker) for worth in DIGITS])
        case Pair.BANKER:
            return ends(points_of(player), len(player))
        case _:
            return end(points_of(player), points_of(banker), len(player), len(banker))


@cache
def ends(player: int, player_cards: int) -> Results:
    """Before a round's last card, which is Banker's and can bring any total."""
    return frozenset().union(*[end(player, banker, player_cards, FULL_HAND) for banker in DIGITS])


@cache
def end(player: int, banker: int, player_cards: int, banker_cards: int) -> Results:
    match higher(player, banker):
        case Winner.PLAYER:
            return frozenset({Result(Winner.PLAYER, player, player_cards)})
        case Winner.BANKER:
            return frozenset({Result(Winner.BANKER, banker, banker_cards)})
        case _:
            return frozenset({Result(Winner.TIE, player, 0)})


class Board:
    """All standings of one Table of Play, with cards that are worth so much."""

    def __init__(self, play: Play, worths: Values) -> None:
        self.play: Final = play
        self.worths: Final = worths  # from the ace to the king
        self._standings: dict[tuple[Values, Values], Standing] = {}
        self.start: Final = self.at((), ())

    def at(self, player: Values, banker: Values) -> Standing:
        key = (reduced(player), reduced(banker))
        if key not in self._standings:
            self._standings[key] = Standing(self, *key)
        return self._standings[key]

    @cached_property
    def fours(self) -> tuple[Standing, ...]:
        """Wherever a round can stand after four cards: any two totals can lie there."""
        return tuple(self.at((player, 0), (banker, 0)) for player, banker in product(DIGITS, repeat=2))

    @cached_property
    def results(self) -> Results:
        """Every result that a round can end in. Asked at every start, when few standings will ever be come by."""
        fours = product(DIGITS, repeat=2)
        return frozenset().union(*[endings(self.play, (player, 0), (banker, 0)) for player, banker in fours])

    def of(self, hands: Hands) -> Standing:
        return self.at(self._worth(hands.player), self._worth(hands.banker))

    def _worth(self, cards: Sequence[Card]) -> Values:
        return tuple([self.worths[card.rank - 1] for card in cards])


def reduced(hand: Values) -> Values:
    """The same hand for the Table of Play: of the first two cards it looks at the total alone."""
    if len(hand) < INITIAL_HAND:
        return hand
    return (points_of(hand[:INITIAL_HAND]), 0, *hand[INITIAL_HAND:])


def board_of(play: Play, values: Mapping[Rank, int]) -> Board:
    """One for all books that agree in these."""
    return _shared(play, tuple(values[rank] % TEN for rank in Rank))


_shared: Final = lru_cache(maxsize=BOOKS_KEPT)(Board)


def per_book(make: Callable[[RuleBook], T]) -> Callable[[RuleBook], T]:
    """Made once for each book, by its identity: a book is kept with what was made of it, so that no other takes its."""
    made: dict[int, tuple[RuleBook, T]] = {}

    @wraps(make)
    def kept(book: RuleBook) -> T:
        if id(book) not in made:
            if len(made) == BOOKS_KEPT:
                made.clear()
            made[id(book)] = book, make(book)
        return made[id(book)][1]

    return kept


@per_book
def board(book: RuleBook) -> Board:
    return board_of(book.play, book.values)
