"""Every course of a round by values, for every game: the engine is compared with tables that were typed by hand.

Theory of operation: one walk follows the 339,400 paths of the printed table, card by card, together with the engine. A
complete round has one result. Each place before the end has the results of all its continuations, collected on the way
back as a set of bits. The set shows the decided and the open bets without the engine. Pairs depend on ranks alone and
have their own tests.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from math import perm

import pytest

from shoed.model.cards import RANK_NAMED, Rank
from shoed.model.irregularities import Stage
from shoed.rules.card_states import CardState, card_states
from shoed.rules.insurance import offers_at, settle_at
from shoed.rules.load import book
from shoed.rules.results import decide, pair_ranks, verdicts
from tests import printed

RESULTS = (
    *(
        printed.Result(winner, points, cards)
        for winner in ("player", "banker")
        for points in range(1, 10)
        for cards in (2, 3)
    ),
    *(printed.Result("tie", points, 0) for points in range(10)),
)
BIT = {result: 1 << number for number, result in enumerate(RESULTS)}
SHOE = (128, *[32] * 9)  # of eight decks, by value
UNKNOWN = pair_ranks(())
Answers = tuple[tuple[str, str | None], ...]


@cache
def among(bits: int) -> tuple[printed.Result, ...]:
    return tuple(result for result, bit in BIT.items() if bits & bit)


def common(pays: set[str]) -> str | None:
    return pays.pop() if len(pays) == 1 else None


@dataclass
class Walk:
    """The walk of one game, from the first card to the last card of every round."""

    game: str
    paths: int = 0
    places: int = 0
    wins: Counter[str] = field(default_factory=Counter)
    asked: dict[CardState, Answers] = field(default_factory=dict)
    expected: dict[int, Answers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.book = book(self.game)
        self.verdicts = verdicts(self.book)
        self.go((), (), card_states(self.book).start, list(SHOE), 1)

    def go(self, player: tuple[int, ...], banker: tuple[int, ...], at: CardState, left: list[int], ways: int) -> int:
        """The results that this place leads to."""
        hand = printed.due(player, banker)
        assert (at.due.value if at.due else None) == hand
        if hand is None:
            result = printed.result(player, banker)
            dealt = len(player) + len(banker)
            self.paths += 1
            self.wins[result.winner] += ways * perm(sum(SHOE) - dealt, 6 - dealt)
            reached = BIT[result]
        else:
            reached = 0
            for worth, many in enumerate(left):
                left[worth] -= 1
                onward = ((*player, worth), banker) if hand == "player" else (player, (*banker, worth))
                reached |= self.go(*onward, at.after(worth), left, ways * many)
                left[worth] += 1
        self.places += 1
        assert self.engine_pays(at) == self.right(reached)
        assert (at.player_points, at.banker_points) == (printed.total(player), printed.total(banker))
        if self.book.offers:
            self.insure(player, banker, at, reached)
        return reached

    def engine_pays(self, at: CardState) -> Answers:
        """The engine's pay of every bet but the pairs. Equal states share one object and are asked once."""
        if at not in self.asked:
            bets = self.verdicts.on(at, UNKNOWN, UNKNOWN).bets
            self.asked[at] = tuple(
                (name, each.row.pays.text if each.row else None) for name, each in bets.items() if "pair" not in name
            )
        return self.asked[at]

    def right(self, reached: int) -> Answers:
        if reached not in self.expected:
            each = [printed.pays(self.game, result) for result in among(reached)]
            self.expected[reached] = tuple((name, common({pays[name] for pays in each})) for name in each[0])
        return self.expected[reached]

    def insure(self, player: tuple[int, ...], banker: tuple[int, ...], at: CardState, reached: int) -> None:
        for stage in Stage:
            rows = printed.offered(stage.value, player, banker)
            offered = insurances(self.game, at, stage)
            assert offered == (None if rows is None else tuple((*row[1:5:3], insured(row, reached)) for row in rows))


@cache
def insurances(game: str, at: CardState, stage: Stage) -> tuple[tuple[str, str, str | None], ...] | None:
    offers = offers_at(book(game), at, stage)
    if offers is None:
        return None
    settled = [(offer, settle_at(offer, at)) for offer in offers]
    return tuple((offer.bet, offer.odds.text, pays.text if pays else None) for offer, pays in settled)


@cache
def insured(row: printed.Row, reached: int) -> str | None:
    return common({printed.insured(row, result) for result in among(reached)})


@pytest.mark.exhaustive
@pytest.mark.parametrize("game", printed.GAMES)
def test_every_path_of_values_pays_as_printed(game: str) -> None:
    """A complete round pays by its result. An incomplete round pays a bet if all continuations pay it alike.

    The wins of eight decks are the known counts.
    """
    walk = Walk(game)
    assert walk.paths == 339_400
    assert walk.places == 339_400 + (339_400 - 1) // 9  # wherever a card is due, ten values are possible
    assert walk.wins == {
        "banker": 2_292_252_566_437_888,
        "player": 2_230_518_282_592_256,
        "tie": 475_627_426_473_216,
    }
    assert walk.wins.total() == perm(416, 6) == 4_998_398_275_503_360


@pytest.mark.parametrize("game", printed.GAMES)
@pytest.mark.parametrize("hand", ["player", "banker"])
def test_every_two_ranks_pay_as_a_pair_is_printed(game: str, hand: str) -> None:
    """Of the 416 x 415 ways to draw two cards of eight decks, 13 x 32 x 31 are pairs."""
    (bet,) = (each for each in book(game).bets if each.name == f"{hand}-pair")
    assert bet.pair is not None
    assert bet.pair.value == hand
    ways = Counter[str]()
    for first, one in RANK_NAMED.items():
        for second, other in RANK_NAMED.items():
            row = decide(bet, pair_ranks((one, other))).row
            assert row is not None
            assert row.pays.text == printed.pair_pays(game, *(each.replace("T", "10") for each in (first, second)))
            if "T" not in (first, second):
                ways[row.pays.text] += 32 * (31 if one is other else 32)
    sixes = 32 * 31 if game == "easy-six" else 0
    assert ways == {"lose": 416 * 415 - 13 * 32 * 31, "11:1": 13 * 32 * 31 - sixes} | ({"13:1": sixes} if sixes else {})


@pytest.mark.parametrize("game", printed.GAMES)
@pytest.mark.parametrize("rank", Rank)
def test_a_pair_is_open_until_its_second_card(game: str, rank: Rank) -> None:
    """One card alone can become a pair or not."""
    for bet in book(game).bets:
        if bet.pair is not None:
            assert decide(bet, pair_ranks((rank,))).row is None
            assert decide(bet, pair_ranks(())).row is None
