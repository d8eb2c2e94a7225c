"""Every entry of a rule book has an effect: after any change the book does not load, or an answer changes."""

import copy
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from shoed.cli.rules import page
from shoed.errors import SettingsError
from shoed.model.cards import Card, Rank, Suit
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.rules import load
from shoed.rules.bets import PlacedBet, admit, refuse_late
from shoed.rules.book import BetAction, RuleBook
from shoed.rules.drawing import value
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.irregular import Irregularity, RoundBets, course
from shoed.rules.load import book, from_sheet
from shoed.rules.neglected_insurance import InsuranceState, neglected
from shoed.rules.questions import Inquiry
from shoed.rules.results import rows
from shoed.settings import Route, Sheet
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

VOCABULARY: Final = {
    "winner": ("player", "banker", "tie"),
    "pays": ("7:2", "push", "lose"),
    "odds": ("7:2",),
    "hand": ("player", "banker"),
    "pair": ("player", "banker"),
    "pays_on": ("player", "banker", "tie"),
    "stage": tuple(stage.value for stage in Stage),
    "act": tuple(act.value for act in BetAction),
    "then": (
        *("refused", "increase-refused", "stands"),
        *("void", "continue", "reconstruct", "reconstruct-or-carry", "order-cards", "return-original", "ask"),
    ),
    "event": tuple(kind.value for kind in IrregularityKind),
    "decides": tuple(role.value for role in Role),
    "options": ("never", "always", "unless-established"),
    "together": ("any", "one-hand"),
    "bet": ("player-insurance", "banker-insurance"),
    "points": ("half",),
    "name": ("renamed",),
    "id": ("renamed",),
    "letter": ("Z",),
}
ON_PAPER: Final = {"clause", "also", "options_clause", "reading", "title", "document", "rules", "clauses"}
Ask = Callable[[RuleBook], Iterator[object]]


def leaves(value: object, route: Route = ()) -> Iterator[tuple[Route, object]]:
    """Every value and every row of a file, with its route."""
    if route:
        yield route, value
    match value:
        case dict():
            for key, below in value.items():
                yield from leaves(below, (*route, key))
        case list():
            for at, below in enumerate(value):
                yield from leaves(below, (*route, at))
        case _:
            pass


def changes(route: Route, value: object) -> Iterator[object]:
    """Other contents of the same place; None: the entry is removed."""
    yield None
    key = next(part for part in reversed(route) if isinstance(part, str))
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
            yield value - 1
        case str() if key in VOCABULARY:
            yield from (word for word in VOCABULARY[key] if word != value)
        case str() if key in ON_PAPER or ON_PAPER & set(route):
            other = "5.1" if value == "4.1" else "4.1"
            yield other if re.fullmatch(r"[\d.]+", value) else "something else"
        case _:
            pass


def changed(values: dict[str, object], route: Route, to: object) -> dict[str, object]:
    found = copy.deepcopy(values)
    at: object = found
    for part in route[:-1]:
        at = at[part]  # type: ignore[index]
    if to is None:
        del at[route[-1]]  # type: ignore[attr-defined]
    else:
        at[route[-1]] = to  # type: ignore[index]
    return found


def values_of(game: str) -> dict[str, object]:
    return tomllib.loads((load.BOOKS / f"{game}.toml").read_text())


def rounds() -> list[tuple[Card, ...]]:
    """Rounds of six cards, with every two totals, every third card and every pair."""
    rank_of = {value: rank for rank, value in zip(Rank, (*range(1, 10), 0, 0, 0, 0), strict=True)}
    suits = [*Suit]

    def hand(total: int, at: int) -> tuple[Card, Card]:
        low = Card.of(rank_of[0], suits[at])
        return (Card.of(rank_of[total], suits[at]) if total else Card.of(Rank.QUEEN, suits[at])), low

    found = []
    for player in range(10):
        for banker in range(10):
            for third in range(10):
                for last in range(10):
                    (p1, p2), (b1, b2) = hand(player, 0), hand(banker, 1)
                    found.append((p1, b1, p2, b2, Card.of(rank_of[third], suits[2]), Card.of(rank_of[last], suits[3])))
    random.Random(3).shuffle(found)
    pairs = [
        tuple(Card.of(rank, suit) for rank, suit in zip(ranks, suits, strict=True))
        for one, other in zip(Rank, (*list(Rank)[1:], Rank.ACE), strict=True)
        for ranks in ((one, one, one, other), (one, one, other, one))  # Player's pair, Banker's pair
    ]
    return [*pairs, *found]


ROUNDS: Final = rounds()
DRAWN: Final = cards_in("4S KS KH 5H 4D 2D")


def irregularities() -> Iterator[Irregularity]:
    for kind in IrregularityKind:
        for at, seen in ((1, 4), (2, 4), (5, 5)):
            yield Irregularity(kind, at, seen)
            reversed_order = DRAWN[at - 1 : at + 1][::-1]
            yield Irregularity(kind, at, seen, reconstructable=True, order=reversed_order)
            yield Irregularity(kind, at, seen, order_known=True)
            yield Irregularity(kind, at, seen, reconstructable=False, order_known=True)
            yield Irregularity(kind, at, seen, reconstructable=False, of_the_dealing=False)
            yield Irregularity(kind, at, seen, reconstructable=True, of_the_dealing=False, order=reversed_order)
            yield Irregularity(kind, at, seen, noticed_late=True)


def opening_answers(of: RuleBook) -> Iterator[object]:
    """The answers before the first card."""
    yield of.id, of.letter, of.decks, of.seats
    yield [value(of, card) for card in Card]
    yield [refuse_late(of, act, 0) for act in BetAction]
    names = [bet.name for bet in of.bets]
    for those in (names, names[::-1]):
        yield admit(of, {at: PlacedBet(1, "a", name, 1) for at, name in enumerate(those)}, 1)


def irregularity_rulings(of: RuleBook) -> Iterator[object]:
    """The rulings on every kind of irregularity."""
    changed_places = [Irregularity(IrregularityKind.WRONG_SIDE, at, 4, reconstructable=False) for at in (1, 2)]
    # With all offered bets a pair bet is decided, so an outcome is established. With a bet on Player alone none is.
    all_bets, player_alone = None, frozenset({("a", "player", None)})
    for found_together in (changed_places, *([each] for each in irregularities())):
        for placed in (all_bets, player_alone):
            inquiry = Inquiry([])
            found = course(of, DRAWN, found_together, inquiry, RoundBets(("a",), placed=placed))
            yield found.rulings, found.hands, found.void, found.undecided, inquiry.open
        if found_together[0].kind is IrregularityKind.INSURANCE_NEGLECTED:
            yield from neglect(of, found_together[0])


def settled(of: RuleBook) -> Iterator[object]:
    """The courses of rounds and their pays."""
    yield from opening_answers(of)
    for sequence in ROUNDS:
        hands = dealt(of, sequence)
        made = [offer for stage in offers(of, hands).values() for offer in stage or ()]
        yield len(hands.player), rows(of, hands), [(offer, settle_offer(of, offer, hands)) for offer in made]


def printed(of: RuleBook) -> Iterator[object]:
    yield page.show(of)
    yield page.clauses(of)


def answers_for(route: Route) -> Ask:
    """The answers that must change: the printed book for clauses, titles and readings, else the engine."""
    if ON_PAPER & set(route):
        return printed
    return irregularity_rulings if route[0] == "irregularity" else settled


def neglect(of: RuleBook, irregularity: Irregularity) -> Iterator[object]:
    passed = [("a", stage, bet) for stage in Stage for bet in of.insurances]
    for text in ("3S 4S 4H KH KD 5C", "7S 2S KH 3H 3D"):  # Player on 7 loses to 8; Player does not lose
        for on in (True, False):
            inquiry = Inquiry([])
            found = course(of, cards_in(text), [], inquiry)
            yield neglected(of, found, [irregularity], InsuranceState(on, passed, {}), inquiry), inquiry.open


@pytest.mark.exhaustive
@pytest.mark.parametrize("game", GAMES)
def test_every_entry_of_a_book_has_an_effect(game: str) -> None:
    """After any change or removal the book does not load, or an answer changes."""
    values = values_of(game)
    asks: tuple[Ask, ...] = (printed, irregularity_rulings, settled)
    right = {ask: ask(book(game)) for ask in asks}
    known: dict[Ask, list[object]] = {ask: [] for ask in right}
    without_effect = []
    for route, now in leaves(values):
        ask = answers_for(route)
        for to in changes(route, now):
            try:
                other = from_sheet(Sheet(game, changed(values, route, to), ""))
            except SettingsError:
                continue
            for at, answer in enumerate(ask(other)):
                if at == len(known[ask]):
                    known[ask].append(next(right[ask]))
                if answer != known[ask][at]:
                    break
            else:
                without_effect.append((route, now, to))
    assert without_effect == []
