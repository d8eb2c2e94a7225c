"""The tables of the five documents, written a second time and by hand: the engine is compared with them.

Only the typing is from this project. Hands are tuples of card values. The result of a round is the winner, the
points, and the number of cards (0 in a tie).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

GAMES: Final = ("commission", "super-six-plus", "fortune-six", "easy-six", "tournament")
DECKS: Final = dict(zip(GAMES, ((4, 8), (4, 8), (4, 10), (4, 8), (4, 8)), strict=True))  # C, I, E, T 2.2.1, F 2.1

# C 3.12 as printed: by Banker's first two cards, "Banker draws when Player's 3rd card is".
# Each row is a string for third cards 0 to 9: D draws, s stands.
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
    """One row of I 4.1.2."""

    stage: str
    bet: str
    player: range
    banker: range
    odds: str
    on: str  # the outcome that wins it


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
    """Return the result of a finished round."""
    player_total, banker_total = total(player), total(banker)
    if player_total == banker_total:
        return Result("tie", player_total, 0)
    return (
        Result("player", player_total, len(player))
        if player_total > banker_total
        else Result("banker", banker_total, len(banker))
    )


def pays(game: str, of: Result) -> dict[str, str]:
    """Settle every bet except the pairs: C 4.1, I 4.1.1, F 4.1, E 4.1.1, T 4.1.1."""
    winner, six = of.winner, of.points == 6
    outcomes = {
        "player": {"player": "1:1", "banker": "lose", "tie": "push"}[winner],
        "banker": {"player": "lose", "banker": "1:1", "tie": "push"}[winner],
        "tie": {"player": "lose", "banker": "lose", "tie": "8:1"}[winner],
    }
    if winner == "banker":
        if game == "commission":
            outcomes["banker"] = "0.95:1"
        elif six:
            outcomes["banker"] = "1:2"
    if game == "easy-six" and six:
        outcomes |= {"player": {"player": "1.05:1"}, "banker": {}, "tie": {"tie": "10:1"}}[winner]
    if game == "easy-six":  # of the winning or the tied hands
        outcomes["easy-six"] = "6:1" if six else "lose"
    if game in ("super-six-plus", "fortune-six"):
        outcomes[game] = {2: "12:1", 3: "20:1"}[of.cards] if winner == "banker" and six else "lose"
    return outcomes


def pair_pays(game: str, first: str, second: str) -> str:
    """C 1.13 and 4.1.2, I 4.1.1, F 4.1, E 4.1.1, T 4.1.1: ranks, as written there."""
    if first != second:
        return "lose"
    return "13:1" if game == "easy-six" and first == "6" else "11:1"


def offered(stage: str, player: Sequence[int], banker: Sequence[int]) -> list[Row] | None:
    """I 3.12 and 4.1.2 for a round in progress: the rows of the hand whose draw was still open then."""
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
