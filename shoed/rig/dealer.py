"""A dealer at a virtual Angel Eye shoe: whole shoes of legal rounds, from a seed.

Theory of operation: `deal` shuffles the decks, lays the cutting card and yields, one by one and for
ever, what the shoe reports and how long after the report before it. The Table of Play says which
card is due; nothing here knows what carries the reports, or looks at a clock.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from firmware_protocols.angel_eye import (
    CardInGame,
    CuttingCard,
    Outcome,
    Report,
    Result,
    StandBy,
    StartOfCommunication,
    Target,
)
from shoed.cards import Card, Rank
from shoed.observations import Pair
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED

TARGETS: Final = {Pair.PLAYER: Target.PLAYER, Pair.BANKER: Target.BANKER}
NO_INDEX: Final = 0  # outside the hands: assumed

# Custom, and no rule book's: one deck stays behind the cutting card, more or less, as a hand lays it.
CUT_FROM_END: Final = range(46, 59)


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds before a report, the least and the most."""

    card: tuple[float, float] = (0.35, 0.6)  # a brisk hand; closer than 0.25 would be two cards drawn together
    result: tuple[float, float] = (0.1, 0.2)  # the shoe itself says it, behind the last card's copies
    round: tuple[float, float] = (0.5, 0.9)  # a real table pays and takes bets for half a minute
    shoe: tuple[float, float] = (2.0, 3.0)  # and takes several to shuffle
    start: tuple[float, float] = (0.1, 0.2)


PACE: Final = Pace()


class Dealt(NamedTuple):
    pause_s: float  # from the report before it
    report: Report  # unnumbered


def deal(rng: Random, decks: int, pace: Pace = PACE) -> Iterator[Dealt]:
    """Shoe after shoe, without end."""
    dealer = Dealer(rng, decks, pace)
    yield dealer.after(pace.start, StartOfCommunication(UNNUMBERED))
    while True:
        yield from dealer.shoe()
        yield dealer.after(pace.round, StandBy(UNNUMBERED))
        yield dealer.after(pace.shoe, StartOfCommunication(UNNUMBERED))


class Dealer:
    def __init__(self, rng: Random, decks: int, pace: Pace) -> None:
        self.rng = rng
        self.decks = decks
        self.pace = pace
        self.book = book("commission")  # all games draw alike
        self.cards: list[Card] = []  # in the shoe; the last one is the next
        self.behind_cut = 0  # so many of them

    def shoe(self) -> Iterator[Dealt]:
        """One whole shoe. After the round in which the cutting card comes, one more is dealt."""
        self.cards = [*Card] * self.decks
        self.rng.shuffle(self.cards)
        self.behind_cut = self.rng.choice(CUT_FROM_END)
        yield from self.burn()
        while not (yield from self.round()):
            pass
        yield from self.round()

    def burn(self) -> Iterator[Dealt]:
        """Custom: as many cards are burnt as the first one counts, ten for tens and pictures."""
        first = self.cards.pop()
        yield self.after(self.pace.round, CardInGame(UNNUMBERED, Target.FIRST_CARD, NO_INDEX, FACES[first]))
        for _ in range(min(first.rank, Rank.TEN)):
            yield self.after(self.pace.card, CardInGame(UNNUMBERED, Target.BURN, NO_INDEX, FACES[self.cards.pop()]))

    def round(self) -> Generator[Dealt, None, bool]:
        """One round; whether the cutting card came in it, or instead of its first card."""
        hands, pause, cut = Hands(), self.pace.round, False
        while (hand := drawing.due(self.book, hands)) is not None:
            if len(self.cards) == self.behind_cut:
                yield self.after(pause, CuttingCard(UNNUMBERED))
                pause, cut = self.pace.card, True
            card = self.cards.pop()
            hands = hands.with_card(hand, card)
            yield self.after(pause, CardInGame(UNNUMBERED, TARGETS[hand], len(hands.of(hand)), FACES[card]))
            pause = self.pace.card
        yield self.after(self.pace.result, result_of(hands, Outcome[drawing.winner(self.book, hands).name]))
        return cut

    def after(self, pause: tuple[float, float], report: Report) -> Dealt:
        return Dealt(self.rng.uniform(*pause), report)


def result_of(hands: Hands, outcome: Outcome) -> Result:
    pairs = drawing.pairs(hands)
    return Result(UNNUMBERED, outcome, Pair.PLAYER in pairs, Pair.BANKER in pairs)


def rounds_of(dealt: Iterator[Dealt], rounds: int | None) -> Iterator[Dealt]:
    """No more than so many rounds."""
    for each in dealt:
        yield each
        if isinstance(each.report, Result) and rounds is not None:
            rounds -= 1
            if not rounds:
                return
