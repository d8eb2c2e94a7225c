"""`./dev explore [--minutes M] [--depth D] [--game G]`: explore every sequence of inputs, up to a depth.

The inputs are those of `inputs.py`. The time limit is divided among the games; a game uses the time that earlier games
left. Without a depth, each game is explored as deep as its time allows, and the last depth is printed as incomplete.
The exit status is 1 if a law of the table is broken, or if depth 0 (honest play) is incomplete. With `--faults` the
explorer explores copies of the engine, each with a known fault. The exit status is then 1 if it misses a fault.
"""

import argparse
import sys
from time import monotonic
from typing import Final

from shoed.rules.load import GAMES
from tests.explore.faults import find_all
from tests.explore.search import Explorer

DEEPEST: Final = 99
HEADER: Final = f"{'game':<18}{'depth':>6}{'states':>10}{'transitions':>13}{'seconds':>9}"


def explore(game: str, ends: float, deepest: int, *, stops: bool) -> bool:
    """Explore a game and print a line for each complete depth. False: a law is broken, or depth 0 is incomplete."""
    began = monotonic()
    explorer = Explorer(game, lambda: monotonic() > ends, stops=stops)
    reached = -1
    for level in explorer.explore(deepest):
        reached = level.depth
        seconds = monotonic() - began
        print(f"{game:<18}{reached:>6}{level.states:>10}{level.transitions:>13}{seconds:>9.1f}", flush=True)
    if reached < deepest:
        seconds, states = monotonic() - began, len(explorer.parents)
        beyond = f"{reached + 1}, incomplete"
        print(f"{game:<18}{beyond}: {states} states, {explorer.transitions} transitions, {seconds:.1f} s", flush=True)
    for found in explorer.found.values():
        print(f"  {found.law}: {found.message}\n    after: {', '.join(found.path) or 'nothing'}", flush=True)
    return reached >= 0 and not explorer.found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev explore", description="Explore the table exhaustively.")
    parser.add_argument("--minutes", type=float, default=10.0, help="time limit (default: %(default)g)")
    deepest = "maximum number of abnormal inputs in a sequence (default: as many as the time allows)"
    parser.add_argument("--depth", type=int, default=DEEPEST, help=deepest)
    parser.add_argument("--game", choices=GAMES, help="explore one game (default: all)")
    parser.add_argument("--stop", action="store_true", help="stop at the first broken law")
    parser.add_argument(
        "--faults", action="store_true", help="test the explorer with copies of the engine that have a known fault"
    )
    asked = parser.parse_args(arguments)
    if asked.faults:
        return 0 if find_all() else 1
    games = [asked.game] if asked.game else list(GAMES)
    ends, good = monotonic() + asked.minutes * 60, True
    print(HEADER, flush=True)
    for at, game in enumerate(games):
        share = (ends - monotonic()) / (len(games) - at)
        good &= explore(game, monotonic() + share, asked.depth, stops=asked.stop)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
