"""Where a round stands, and every result that can still come of it.

Theory of operation: nothing in a book but the pair bets hangs on more than values: the totals of
two cards and the third cards. Rounds that agree in these stand at one `Standing`, which is made
once and looked up ever after. One that is finished has one result, another has all that its next
cards can lead to: what is decided and what is open follows from that, and no case is ever listed.
"""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Final, NamedTuple, TypeVar

from shoed.observations import Pair
from shoed.rules.book import RuleBook, Winner
from shoed.rules.drawing import INITIAL_HAND, TEN, Hands, Values, due_of, higher, points_of, values

T = TypeVar("T")

BOOKS_KEPT: Final = 64  # compiled: five are played, and a test tries many


class Result(NamedTuple):
    """How a round ended, as far as a bet can ask."""

    winner: Winner
    points: int  # of the winning or the tied hands
    cards: int  # of the winning hand; 0 in a tie


Results = frozenset[Result]


class Standing:
    """One for all rounds of the same totals and third cards."""

    def __init__(self, board: "Board", player: Values, banker: Values) -> None:
        self.board = board
        self.player = player
        self.banker = banker
        self.due: Final = due_of(board.book.play, player, banker)
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
        if self.due is not None:
            return frozenset().union(*(self.after(worth).results for worth in self.board.worths))
        winner = higher(self.player_points, self.banker_points)
        cards = {Winner.PLAYER: len(self.player), Winner.BANKER: len(self.banker), Winner.TIE: 0}
        return frozenset({Result(winner, max(self.player_points, self.banker_points), cards[winner])})


class Board:
    """All standings of one book."""

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        self.worths: Final = frozenset(worth % TEN for worth in book.values.values())
        self._standings: dict[tuple[Values, Values], Standing] = {}
        self.start: Final = self.at((), ())

    def at(self, player: Values, banker: Values) -> Standing:
        key = (reduced(player), reduced(banker))
        if key not in self._standings:
            self._standings[key] = Standing(self, *key)
        return self._standings[key]

    def of(self, hands: Hands) -> Standing:
        return self.at(values(self.book, hands.player), values(self.book, hands.banker))


def reduced(hand: Values) -> Values:
    """The same hand for the Table of Play: of the first two cards it looks at the total alone."""
    digits = tuple(worth % TEN for worth in hand)
    if len(digits) < INITIAL_HAND:
        return digits
    return (points_of(digits[:INITIAL_HAND]), 0, *digits[INITIAL_HAND:])


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
    return Board(book)
