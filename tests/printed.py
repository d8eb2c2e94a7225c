"""The five documents' tables, written out a second time and by hand: what the engine is held against.

Nothing here is ours but the typing. Hands are tuples of card values; a round's result is who won,
on which points, with how many cards (0 in a tie).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

GAMES: Final = ("commission", "super-six-plus", "fortune-six", "easy-six", "tournament")
DECKS: Final = dict(zip(GAMES, ((4, 8), (4, 8), (4, 10), (4, 8), (4, 8)), strict=True))  # C, I, E, T 2.2.1, F 2.1

# C 3.12 as printed: by Banker's first two cards, "Banker draws when Player's 3rd card is".
# A row as a row of ticks, third card 0 to 9: D draws, s stands.
BANKER_AFTER_PLAYERS_THIRD: Final = {
    0: "DDDDDDDDDD",
    1: "DDDDDDDDDD",
    2: "DDDDDDDDDD",
    3: "DDDDDDDDsD",
    4: "ssDDDDDDss",
    5: "ssssDDDDss",
    6: "ssssssDDss",
    7: "ssssssssss",
}
# C 3.12, the Player's rows: 0-5 draws, 6-7 stands, 8-9 natural.
PLAYER: Final = "DDDDDDssNN"
# C 3.11: "if Player Hand does not draw a third card, Banker Hand shall stand on 6, 7, 8 or 9
# and draw on 0, 1, 2, 3, 4 or 5".
BANKER_AFTER_PLAYER_STOOD: Final = "DDDDDDssss"


class Result(NamedTuple):
    winner: str
    points: int
    cards: int


class Row(NamedTuple):
    """Of I 4.1.2."""

    stage: str
    bet: str
    player: range
    banker: range
    odds: str
    on: str  # who has to win for it


def only(points: int) -> range:
    return range(points, points + 1)


FOUR: Final = "after-four"
THIRD: Final = "after-player-third"
INSURANCE: Final = (
    Row(FOUR, "banker-insurance", range(5), only(5), "2:1", "player"),
    Row(FOUR, "banker-insurance", range(6), only(6), "3:1", "player"),
    Row(FOUR, "banker-insurance", range(6), only(7), "4:1", "player"),
    Row(FOUR, "player-insurance", only(5), only(4), "2:1", "banker"),
    Row(FOUR, "player-insurance", only(6), range(6), "3:1", "banker"),
    Row(FOUR, "player-insurance", only(7), range(6), "4:1", "banker"),
    Row(THIRD, "banker-insurance", only(1), only(1), "6:1", "player"),
    Row(THIRD, "banker-insurance", only(1), range(2, 7), "7:1", "player"),
    Row(THIRD, "banker-insurance", only(2), range(3, 7), "4:1", "player"),
    Row(THIRD, "banker-insurance", only(3), only(4), "1.5:1", "player"),
    Row(THIRD, "player-insurance", only(5), range(5), "2:1", "banker"),
    Row(THIRD, "player-insurance", only(6), range(6), "3:1", "banker"),
    Row(THIRD, "player-insurance", only(7), range(7), "4:1", "banker"),
    Row(THIRD, "player-insurance", only(8), range(7), "7:1", "banker"),
    Row(THIRD, "player-insurance", only(9), range(7), "8:1", "tie"),  # 9*
)


def total(hand: Sequence[int]) -> int:
    return sum(hand) % 10


def due(player: Sequence[int], banker: Sequence[int]) -> str | None:
    """The printed table, read literally."""
    if len(player) + len(banker) < 4:
        return "player" if len(player) == len(banker) else "banker"
    players, bankers = total(player[:2]), total(banker[:2])
    if PLAYER[players] == "N" or bankers in (8, 9) or len(banker) == 3:
        return None
    if len(player) == 2 and PLAYER[players] == "D":
        return "player"
    row = BANKER_AFTER_PLAYER_STOOD if len(player) == 2 else BANKER_AFTER_PLAYERS_THIRD[bankers]
    column = bankers if len(player) == 2 else player[2]
    return "banker" if row[column] == "D" else None


def result(player: Sequence[int], banker: Sequence[int]) -> Result:
    """Of a finished round."""
    ours, theirs = total(player), total(banker)
    if ours == theirs:
        return Result("tie", ours, 0)
    return Result("player", ours, len(player)) if ours > theirs else Result("banker", theirs, len(banker))


def pays(game: str, of: Result) -> dict[str, str]:
    """Every bet but the pairs: C 4.1, I 4.1.1, F 4.1, E 4.1.1, T 4.1.1."""
    winner, six = of.winner, of.points == 6
    told = {
        "player": {"player": "1:1", "banker": "lose", "tie": "push"}[winner],
        "banker": {"player": "lose", "banker": "1:1", "tie": "push"}[winner],
        "tie": {"player": "lose", "banker": "lose", "tie": "8:1"}[winner],
    }
    if winner == "banker":
        if game == "commission":
            told["banker"] = "0.95:1"
        elif six:
            told["banker"] = "1:2"
    if game == "easy-six" and six:
        told |= {"player": {"player": "1.05:1"}, "banker": {}, "tie": {"tie": "10:1"}}[winner]
    if game == "easy-six":  # of the winning or the tied hands
        told["easy-six"] = "6:1" if six else "lose"
    if game in ("super-six-plus", "fortune-six"):
        told[game] = {2: "12:1", 3: "20:1"}[of.cards] if winner == "banker" and six else "lose"
    return told


def pair_pays(game: str, first: str, second: str) -> str:
    """C 1.13 and 4.1.2, I 4.1.1, F 4.1, E 4.1.1, T 4.1.1: ranks as they are written."""
    if first != second:
        return "lose"
    return "13:1" if game == "easy-six" and first == "6" else "11:1"


def offered(stage: str, player: Sequence[int], banker: Sequence[int]) -> list[Row] | None:
    """I 3.12 and 4.1.2 for a round that has got so far: the rows whose hand's fate was open then."""
    if len(player) + len(banker) < 4 or (stage == THIRD and len(player) < 3):
        return None
    player, banker = player[:2] if stage == FOUR else player, banker[:2]
    if due(player, banker) is None:
        return []
    return [
        row for row in INSURANCE if row.stage == stage and total(player) in row.player and total(banker) in row.banker
    ]


def insured(row: Row, of: Result) -> str:
    """I 3.17, 4.2.1."""
    if of.winner == row.on:
        return row.odds
    return "push" if of.winner == "tie" and row.on != "tie" else "lose"
