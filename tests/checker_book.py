"""The Table of Play and the pays of the five games, from the documents alone, for the checker of published messages.

This module imports nothing of the project, and copies no function or table of its rules.
A card is its text, as in `10H`. Clauses: the Table of Play is C 3.10 to 3.14, I 3.10 to 3.17, E 3.4 to 3.8; F and T
draw alike. The pays are C 4.1.2, I 4.1.1, E 4.1.1, T 4.1.1 and the pay table of F.
"""

from collections.abc import Sequence
from typing import Final

Cards = Sequence[str]

VALUE: Final = {"A": 1, **{str(pip): pip for pip in range(2, 10)}, **dict.fromkeys(("10", "J", "Q", "K"), 0)}
# Player's third cards on which Banker draws, by Banker's points.
DRAWS_ON: Final = {3: (0, 1, 2, 3, 4, 5, 6, 7, 9), 4: (2, 3, 4, 5, 6, 7), 5: (4, 5, 6, 7), 6: (6, 7)}
SIDE_ON_SIX: Final = {"super-six-plus": "super-six-plus", "fortune-six": "fortune-six"}
GAMES: Final = ("commission", "super-six-plus", "fortune-six", "easy-six", "tournament")

# I 4.1.2: cards on the table, insured hand, Player's points (least, most), Banker's points (least, most), odds.
INSURANCE: Final = (
    (4, "banker", (0, 4), (5, 5), "2:1"),
    (4, "banker", (0, 5), (6, 6), "3:1"),
    (4, "banker", (0, 5), (7, 7), "4:1"),
    (4, "player", (5, 5), (4, 4), "2:1"),
    (4, "player", (6, 6), (0, 5), "3:1"),
    (4, "player", (7, 7), (0, 5), "4:1"),
    (5, "banker", (1, 1), (1, 1), "6:1"),
    (5, "banker", (1, 1), (2, 6), "7:1"),
    (5, "banker", (2, 2), (3, 6), "4:1"),
    (5, "banker", (3, 3), (4, 4), "1.5:1"),
    (5, "player", (5, 5), (0, 4), "2:1"),
    (5, "player", (6, 6), (0, 5), "3:1"),
    (5, "player", (7, 7), (0, 6), "4:1"),
    (5, "player", (8, 8), (0, 6), "7:1"),
    (5, "player", (9, 9), (0, 6), "8:1"),
)


def points(hand: Cards) -> int:
    return sum(VALUE[card[:-1]] for card in hand) % 10


def due(player: Cards, banker: Cards) -> str | None:
    """The hand of the next card; None if the round has all its cards."""
    if len(player) + len(banker) < 4:
        return "player" if len(player) == len(banker) else "banker"
    two, other = points(player[:2]), points(banker[:2])
    if two > 7 or other > 7 or len(banker) > 2:
        return None
    if len(player) == 2:
        return "player" if two < 6 else "banker" if other < 6 else None
    third = VALUE[player[2][:-1]]
    return "banker" if other < 3 or third in DRAWS_ON.get(other, ()) else None


def slot(player: Cards, banker: Cards) -> dict[str, object] | None:
    """The slot of the next card, in its published form."""
    hand = due(player, banker)
    if hand is None:
        return None
    position = len(player if hand == "player" else banker) + 1
    return {"hand": hand, "position": position, "index": len(player) + len(banker) + 1}


def outcome(player: Cards, banker: Cards) -> str:
    lead = points(player) - points(banker)
    return "tie" if lead == 0 else "player" if lead > 0 else "banker"


def pairs(player: Cards, banker: Cards) -> list[str]:
    hands = (("player", player), ("banker", banker))
    return [name for name, hand in hands if len(hand) > 1 and hand[0][:-1] == hand[1][:-1]]


def pays(game: str, player: Cards, banker: Cards) -> dict[str, str]:
    """The pay of each bet of the game in a complete round."""
    won, total = outcome(player, banker), max(points(player), points(banker))
    six = total == 6
    even = {"player": "1.05:1" if game == "easy-six" and six else "1:1"}
    even["banker"] = "0.95:1" if game == "commission" else "1:2" if six else "1:1"
    got = {bet: "push" if won == "tie" else odds if won == bet else "lose" for bet, odds in even.items()}
    tie = "10:1" if game == "easy-six" and six else "8:1"
    got["tie"] = tie if won == "tie" else "lose"
    for name, hand in (("player", player), ("banker", banker)):
        odds = "13:1" if game == "easy-six" and hand[0][:-1] == "6" else "11:1"
        got[f"{name}-pair"] = odds if name in pairs(player, banker) else "lose"
    if game in SIDE_ON_SIX:
        odds = "12:1" if len(banker) == 2 else "20:1"
        got[SIDE_ON_SIX[game]] = odds if won == "banker" and six else "lose"
    if game == "easy-six":
        got["easy-six"] = "6:1" if six else "lose"
    return got


def insurance(player: Cards, banker: Cards) -> dict[str, str]:
    """The insurance bets that are offered before the next card, each with its odds (I 3.12)."""
    cards, ours, theirs = len(player) + len(banker), points(player), points(banker)
    if due(player, banker) is None:
        return {}
    return {
        f"{hand}-insurance": odds
        for at, hand, (least, most), (lowest, highest), odds in INSURANCE
        if at == cards and least <= ours <= most and lowest <= theirs <= highest
    }
