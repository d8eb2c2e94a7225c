"""A dealer at a virtual Angel Eye shoe: complete shoes of legal rounds, from a seed.

Theory of operation: `deal` shuffles the decks, inserts the cut card and then yields reports without end, each with
its pause after the previous report. The Table of Play names the card that is due. This module uses no clock and does
not depend on the line.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from firmware_protocols.angel_eye import (
    AngelEyeCutCard,
    AngelEyeOutcome,
    AngelEyeReport,
    AngelEyeResult,
    CardInGame,
    StandBy,
    StartOfCommunication,
    Target,
)
from shoed.model.cards import Card, Rank
from shoed.model.observations import Pair, Side
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED

TARGETS: Final = {Side.PLAYER: Target.PLAYER, Side.BANKER: Target.BANKER}
NO_INDEX: Final = 0  # of a card that belongs to no hand: assumed

# Custom, not a rule: about one deck remains after the cut card.
CUT_FROM_END: Final = range(46, 59)


@dataclass(frozen=True, slots=True)
class Pace:
    """The least and the most seconds before a report."""

    card: tuple[float, float] = (0.35, 0.6)  # a fast dealer; less than 0.25 means two cards drawn together
    result: tuple[float, float] = (0.1, 0.2)  # the shoe reports it after the copies of the last card
    round: tuple[float, float] = (0.5, 0.9)  # a real table needs half a minute for payments and bets
    shoe: tuple[float, float] = (2.0, 3.0)  # a real table needs several minutes for the shuffle
    start: tuple[float, float] = (0.1, 0.2)


PACE: Final = Pace()


class Dealt(NamedTuple):
    pause_s: float  # since the previous report
    report: AngelEyeReport  # unnumbered


def deal(rng: Random, decks: int, pace: Pace = PACE) -> Iterator[Dealt]:
    """Deal one shoe after another, without end."""
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
        self.book = book("commission")  # all games have the same drawing rules
        self.cards: list[Card] = []  # in the shoe; the last one is the next
        self.after_cut = 0  # the number of cards after the cut card

    def shoe(self) -> Iterator[Dealt]:
        """Deal one complete shoe. One more round follows the round with the cut card."""
        self.cards = [*Card] * self.decks
        self.rng.shuffle(self.cards)
        self.after_cut = self.rng.choice(CUT_FROM_END)
        yield from self.burn()
        while not (yield from self.round()):
            pass
        yield from self.round()

    def burn(self) -> Iterator[Dealt]:
        """Burn cards by custom: as many as the first card counts, ten for a ten or a picture."""
        first = self.cards.pop()
        yield self.after(self.pace.round, CardInGame(UNNUMBERED, Target.FIRST_CARD, NO_INDEX, FACES[first]))
        for _ in range(min(first.rank, Rank.TEN)):
            yield self.after(self.pace.card, CardInGame(UNNUMBERED, Target.BURN, NO_INDEX, FACES[self.cards.pop()]))

    def round(self) -> Generator[Dealt, None, bool]:
        """Deal one round; return whether the cut card was drawn in it, or instead of its first card."""
        hands, pause, cut = Hands(), self.pace.round, False
        while (hand := drawing.due(self.book, hands)) is not None:
            if len(self.cards) == self.after_cut:
                yield self.after(pause, AngelEyeCutCard(UNNUMBERED))
                pause, cut = self.pace.card, True
            card = self.cards.pop()
            hands = hands.with_card(hand, card)
            yield self.after(pause, CardInGame(UNNUMBERED, TARGETS[hand], len(hands.of(hand)), FACES[card]))
            pause = self.pace.card
        yield self.after(self.pace.result, result_of(hands, AngelEyeOutcome[drawing.winner(self.book, hands).name]))
        return cut

    def after(self, pause: tuple[float, float], report: AngelEyeReport) -> Dealt:
        return Dealt(self.rng.uniform(*pause), report)


def result_of(hands: Hands, outcome: AngelEyeOutcome) -> AngelEyeResult:
    pairs = drawing.pairs(hands)
    return AngelEyeResult(UNNUMBERED, outcome, Pair.PLAYER in pairs, Pair.BANKER in pairs)


def rounds_of(dealt: Iterator[Dealt], rounds: int | None) -> Iterator[Dealt]:
    """Stop after this number of rounds."""
    for each in dealt:
        yield each
        if isinstance(each.report, AngelEyeResult) and rounds is not None:
            rounds -= 1
            if not rounds:
                return
