"""Nothing in a rule book is decoration: whatever is changed in one, it does not load, or an answer changes."""

import copy
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from shoed.cards import Card, Rank, Suit
from shoed.errors import SettingsError
from shoed.rules import load, page
from shoed.rules.bets import Placed, admit, late
from shoed.rules.book import Act, RuleBook
from shoed.rules.drawing import value
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.irregular import Happened, Layout, course
from shoed.rules.load import book, of_sheet
from shoed.rules.neglect import Cover, neglected
from shoed.rules.questions import Inquiry
from shoed.rules.results import rows
from shoed.settings import Route, Sheet
from shoed.words import Event, Role, Stage
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
    "act": tuple(act.value for act in Act),
    "then": (
        *("refused", "increase-refused", "stands"),
        *("void", "continue", "reconstruct", "reconstruct-or-carry", "order-cards", "return-original", "ask"),
    ),
    "event": tuple(event.value for event in Event),
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
    """Every value and every row of a file, and the way to it."""
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
    """What else could stand there; None: nothing at all."""
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
    """Six cards each, so that every pair of totals, every third card and every pair comes up."""
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


def happenings() -> Iterator[Happened]:
    for event in Event:
        for at, seen in ((1, 4), (2, 4), (5, 5)):
            yield Happened(event, at, seen)
            turned = DRAWN[at - 1 : at + 1][::-1]
            yield Happened(event, at, seen, reconstructable=True, order=turned)
            yield Happened(event, at, seen, order_known=True)
            yield Happened(event, at, seen, reconstructable=False, order_known=True)
            yield Happened(event, at, seen, reconstructable=False, of_the_dealing=False)
            yield Happened(event, at, seen, reconstructable=True, of_the_dealing=False, order=turned)
            yield Happened(event, at, seen, noticed_late=True)


def heads(of: RuleBook) -> Iterator[object]:
    """What is asked before a card is drawn."""
    yield of.id, of.letter, of.decks, of.seats
    yield [value(of, card) for card in Card]
    yield [late(of, act, 0) for act in Act]
    names = [bet.name for bet in of.bets]
    for those in (names, names[::-1]):
        yield admit(of, {at: Placed(1, "a", name, 1) for at, name in enumerate(those)}, 1)


def verdicts(of: RuleBook) -> Iterator[object]:
    """What follows from everything that can go wrong."""
    changed_places = [Happened(Event.WRONG_SIDE, at, 4, reconstructable=False) for at in (1, 2)]
    for happened in (changed_places, *([each] for each in happenings())):
        for placed in (None, frozenset({("a", "player", None)})):  # established by the pairs, and by Player's bet not
            inquiry = Inquiry([])
            found = course(of, DRAWN, happened, inquiry, Layout(("a",), placed=placed))
            yield found.rulings, found.hands, found.void, found.undecided, inquiry.open
        if happened[0].event is Event.INSURANCE_NEGLECTED:
            yield from neglect(of, happened[0])


def settled(of: RuleBook) -> Iterator[object]:
    """How rounds go, and what they pay."""
    yield from heads(of)
    for sequence in ROUNDS:
        hands = dealt(of, sequence)
        made = [offer for stage in offers(of, hands).values() for offer in stage or ()]
        yield len(hands.player), rows(of, hands), [(offer, settle_offer(of, offer, hands)) for offer in made]


def printed(of: RuleBook) -> Iterator[object]:
    yield page.show(of)
    yield page.clauses(of)


def asked(route: Route) -> Ask:
    """Whom a change there has to reach: of clauses, titles and readings the printed book, else the engine."""
    if ON_PAPER & set(route):
        return printed
    return verdicts if route[0] == "irregularity" else settled


def neglect(of: RuleBook, happened: Happened) -> Iterator[object]:
    passed = [("a", stage, bet) for stage in Stage for bet in of.insurances]
    for text in ("3S 4S 4H KH KD 5C", "7S 2S KH 3H 3D"):  # Player on 7 beaten by 8, and not
        for on in (True, False):
            inquiry = Inquiry([])
            found = course(of, cards_in(text), [], inquiry)
            yield neglected(of, found, [happened], Cover(on, passed, {}), inquiry), inquiry.open


@pytest.mark.exhaustive
@pytest.mark.parametrize("game", GAMES)
def test_nothing_in_a_book_is_decoration(game: str) -> None:
    """Whatever is changed or taken out of a book: either it does not load, or an answer changes."""
    values = values_of(game)
    asks: tuple[Ask, ...] = (printed, verdicts, settled)
    right = {ask: ask(book(game)) for ask in asks}
    known: dict[Ask, list[object]] = {ask: [] for ask in right}
    idle = []
    for route, now in leaves(values):
        ask = asked(route)
        for to in changes(route, now):
            try:
                other = of_sheet(Sheet(game, changed(values, route, to), ""))
            except SettingsError:
                continue
            for at, answer in enumerate(ask(other)):
                if at == len(known[ask]):
                    known[ask].append(next(right[ask]))
                if answer != known[ask][at]:
                    break
            else:
                idle.append((route, now, to))
    assert idle == []
