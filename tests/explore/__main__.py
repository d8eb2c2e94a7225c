"""`./dev explore [--minutes M] [--depth D] [--game G]`: every sequence of a small alphabet of inputs, to a depth.

Each game has its share of the minutes; what one leaves, the next ones have. Without a depth each game goes as deep as
its time allows. The status is 1 if a law of the table is broken, or if not even honest play was explored whole; a depth
that the time did not allow is printed as incomplete. With `--faults` it explores copies of the engine, each with a
seeded fault, and the status is 1 if it misses one.
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
    """Whether every law holds; a line for each depth that is complete."""
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
    parser.add_argument("--minutes", type=float, default=10.0, help="in all (default: %(default)g)")
    parser.add_argument("--depth", type=int, default=DEEPEST, help="of costly inputs in a sequence")
    parser.add_argument("--game", choices=GAMES, help="without it all games")
    parser.add_argument("--stop", action="store_true", help="at the first broken law")
    parser.add_argument("--faults", action="store_true", help="find the seeded faults")
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
