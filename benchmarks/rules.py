"""One round audited from its line to every clause, against an empty loop; `rules settle`, against json alone."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from benchmarks.bench import interleaved, report
from shoed.cli.rules.settle import read
from shoed.model.cards import Card
from shoed.model.irregularities import Stage
from shoed.rules.book import RuleBook
from shoed.rules.card_states import card_states
from shoed.rules.drawing import Hands, due
from shoed.rules.insurance import offers_at, settle_at
from shoed.rules.load import book
from shoed.rules.results import verdict

GAME: Final = "super-six-plus"  # the game with the most rules for a round
ROUNDS: Final = 2_000
ITERATIONS: Final = 2_500  # iterations of an empty loop in the time of one round
LINES: Final = 20_000
TIMES_JSON: Final = 5.0


def lines(rules: RuleBook, count: int) -> Iterator[bytes]:
    rng, shoe = Random(1), [*Card] * rules.decks[1]
    for number in range(count):
        rest, hands, order = rng.sample(shoe, 6), Hands(), []
        while (hand := due(rules, hands)) is not None:
            order.append(rest.pop())
            hands = hands.with_card(hand, order[-1])
        yield json.dumps({"id": number, "cards": [card.value for card in order]}).encode() + b"\n"


def audited(rules: RuleBook, line: bytes) -> tuple[object, ...]:
    """Parse and draw a round card by card; settle every bet and every offer with its payment and its clause."""
    _, cards = read(line, 1)
    hands = Hands()
    for text in cards:
        hand = due(rules, hands)
        assert hand is not None  # noqa: S101  # these are whole rounds
        hands = hands.with_card(hand, Card.parse(str(text)))
    state, known = card_states(rules).of(hands), verdict(rules, hands)
    bets = [(name, each.row.pays, each.row.clause) for name, each in known.bets.items() if each.row]
    insured = [
        (offer.bet, settle_at(offer, state), offer.clause)
        for stage in Stage
        for offer in offers_at(rules, state, stage) or ()
    ]
    return bets, insured, known.established


def run() -> None:
    rules = book(GAME)
    rounds = list(lines(rules, ROUNDS))

    def empty() -> float:
        began = perf_counter()
        for _ in range(ITERATIONS * 100):
            pass
        return (perf_counter() - began) / 100

    def audit() -> float:
        began = perf_counter()
        for line in rounds:
            audited(rules, line)
        return (perf_counter() - began) / ROUNDS

    loop, one = interleaved(empty, audit)
    report(f"(d) one audited round / {ITERATIONS:,} empty iterations", one * 1e6, loop * 1e6, 1.0, unit="us")

    with tempfile.TemporaryDirectory(prefix="shoed-bench-") as name:
        source = Path(name) / "lines"
        source.write_bytes(b"".join(lines(rules, LINES)))
        command = [sys.executable, "-m", "shoed", "rules", "settle", GAME]
        answers = [json.loads(line) for line in output_of(command, source).splitlines()]

        def plain() -> float:
            """The work of the standard library alone, with all results known."""
            began = perf_counter()
            with source.open() as lines_in, Path(os.devnull).open("w") as lines_out:
                for line, answer in zip(lines_in, answers, strict=True):
                    json.loads(line)
                    print(json.dumps(answer), file=lines_out)
            return perf_counter() - began

        def settle() -> float:
            """Run the complete process, with its start and its end."""
            began = perf_counter()
            output_of(command, source)
            return perf_counter() - began

        json_alone, ours = interleaved(plain, settle)
    report(f"(e) rules settle, {LINES:,} lines / json alone", ours * 1e3, json_alone * 1e3, TIMES_JSON, unit="ms")


def output_of(command: list[str], source: Path) -> bytes:
    with source.open("rb") as lines_in:
        return subprocess.run(command, stdin=lines_in, capture_output=True, check=True).stdout
