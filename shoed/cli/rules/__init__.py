"""`shoed rules`: print the rule books, and settle rounds by them."""

import argparse
import sys
from typing import Final

from shoed.cli.parser import Parser
from shoed.errors import UsageError
from shoed.rules.book import RuleBook
from shoed.rules.load import GAMES, book

DECKS: Final = 8


def add_arguments(parser: Parser) -> None:
    parser.add_commands("TASK")
    for name, command, purpose, example in (
        ("list", list_games, "print the games, one on each line", ""),
        ("show", show, "print a book on one page, each entry with its clause", "super-six-plus"),
        (
            "clauses",
            clauses,
            "print every numbered clause of the document, with the entries that implement it",
            "commission",
        ),
        ("settle", settle_rounds, "read rounds as JSON lines, write the pay of every bet", "commission < rounds.jsonl"),
        (
            "table",
            settle_tables,
            "read whole tables with bets and money as JSON lines, write their settlement",
            "commission < tables.jsonl",
        ),
    ):
        task = parser.add_command(name, purpose, f"shoed rules {name} {example}".rstrip())
        task.set_defaults(command=command)
        if name != "list":
            task.add_argument("game", metavar="GAME", help="the id of the rule book; shoed rules list prints all ids")
        if name == "settle":
            help_of_decks = "number of decks in the shoe (default: %(default)s)"
            task.add_argument("--decks", type=int, metavar="N", default=DECKS, help=help_of_decks)


def book_of(game: str) -> RuleBook:
    if game not in GAMES:
        raise UsageError(f"{game}: there is no such game; write one of {', '.join(GAMES)}")
    return book(game)


def list_games(_: argparse.Namespace) -> int:
    from shoed.cli.rules import page

    print(page.listed())
    return 0


def show(arguments: argparse.Namespace) -> int:
    from shoed.cli.rules import page

    print(page.show(book_of(arguments.game)))
    return 0


def clauses(arguments: argparse.Namespace) -> int:
    from shoed.cli.rules import page

    print(page.clauses(book_of(arguments.game)))
    return 0


def settle_rounds(arguments: argparse.Namespace) -> int:
    from shoed.cli.rules.settle import settle

    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        return settle(book_of(arguments.game), arguments.decks, source, sys.stdout.buffer)


def settle_tables(arguments: argparse.Namespace) -> int:
    from shoed.cli.rules.table import table

    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        return table(book_of(arguments.game), source, sys.stdout.buffer)
