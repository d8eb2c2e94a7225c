"""Every numbered clause of the five documents has exactly one row, and its removal from a book is noticed."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from docs.generate import clauses, marked
from shoed.cli.rules import page
from shoed.cli.rules.page import MODULE_OF_RULE, OF_RULES, module_of
from shoed.errors import SettingsError
from shoed.model.cards import Card, Rank
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import Side
from shoed.rules import load
from shoed.rules.book import BetAction, Fact, IrregularityRow, Rule, RuleBook, Then
from shoed.rules.drawing import Hands, due
from shoed.rules.irregular import Irregularity, course
from shoed.rules.load import book, parse
from shoed.rules.questions import Inquiry
from tests.printed import GAMES

ROOT: Final = Path(__file__).resolve().parent.parent

# The numbers of the documents, with headings such as 2.1, typed by hand.
NUMBERS: Final = {
    "commission": """
        1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 1.12 1.13 1.14 1.15 1.16 1.17 1.18 1.19 1.20 2.1 2.1.1 2.2
        2.2.1 3.1 3.2 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14 4.1 4.1.1 4.1.2 5.1
        5.1.1 5.1.2 5.2 5.2.1 5.3 5.4 5.4.1 5.4.2 5.5 5.5.1 5.5.2 5.5.3 5.5.4 5.5.5 5.6 5.7 5.7.1 5.8 5.8.1 5.8.2
        5.9 5.10 5.10.1 5.10.2 5.11 5.12 5.12.1 5.12.2 5.12.3 5.13 5.14 5.15 5.16 5.17
    """,
    "super-six-plus": """
        1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 1.12 1.13 1.14 1.15 1.16 1.17 1.18 1.19 1.20 1.21 1.22 1.23
        2.1 2.1.1 2.2 2.2.1 3.1 3.2 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.12.1 3.12.2
        3.13 3.14 3.15 3.16 3.17 4.1 4.1.1 4.1.2 4.2 4.2.1 4.2.2 5.1 5.1.1 5.1.2 5.2 5.2.1 5.3 5.3.1 5.4 5.4.1
        5.4.2 5.5 5.5.1 5.5.2 5.5.3 5.5.4 5.5.5 5.6 5.7 5.7.1 5.8 5.8.1 5.8.2 5.9 5.10 5.10.1 5.10.2 5.11 5.12
        5.12.1 5.12.2 5.12.3 5.13 5.14 5.15 5.16 5.17 5.18
    """,
    "fortune-six": """
        1.1 1.1.1 1.1.2 1.1.3 1.1.4 1.1.5 1.1.6 1.1.7 1.1.8 2.1 2.2 2.2.1 2.2.2 2.2.3 2.2.4 2.2.5 3.1 3.2 3.3
        3.3.1 3.3.2 3.4 3.4.1 3.4.2 3.5 3.6 3.7 3.7.1 3.7.2 3.8 3.8.1 3.8.2 3.9 3.9.1 3.9.2 3.9.3 3.9.4 3.10
        3.10.1 3.11 4.1 5.1 5.1.1 5.1.2 5.2 5.3 5.4 5.5 5.6 5.7
    """,
    "easy-six": """
        2.1 2.1.1 2.1.2 2.1.3 2.2 2.2.1 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 4.1 4.1.1 5.1 5.1.1 5.1.2 5.1.3 5.2 5.3
    """,
    "tournament": """
        2.1 2.1.1 2.1.2 2.1.3 2.2 2.2.1 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 3.9 4.1 4.1.1 5.1 5.1.1 5.1.2 5.1.3 5.2
        5.3
    """,
}
EVERY: Final = [(game, number) for game in GAMES for number in NUMBERS[game].split()]


def sections() -> dict[str, list[str]]:
    """The rows of the generated page, by heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in clauses().splitlines():
        if line.startswith("#"):
            heading = line
            found[heading] = []
        elif re.match(r"\| \d", line):
            found[heading].append(line)
    return found


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize("game", GAMES)
def test_a_book_lists_the_clauses_of_its_document(game: str) -> None:
    """No clause is missing or invented; they are in the document's order, each with a title."""
    assert [clause.number for clause in book(game).clauses] == NUMBERS[game].split()
    assert all(clause.title for clause in book(game).clauses)


def test_the_page_has_one_section_for_each_game_and_one_row_for_each_clause() -> None:
    """The heading has the id of the game, and a section has no other headings."""
    introduction, *games = sections().items()
    assert introduction[1] == []
    for game, (heading, rows) in zip(load.GAMES, games, strict=True):
        assert f"`{game}`" in heading
        assert [cells(row)[0] for row in rows] == [clause.number for clause in book(game).clauses]
        assert all(len(cells(row)) == 3 and all(cells(row)) for row in rows)


def test_every_cited_clause_has_tests_and_the_others_have_a_reason() -> None:
    """The named files and tests exist."""
    tests = {
        f"{file.stem}.{name}"
        for file in (ROOT / "tests").glob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    untried = []
    _, *sections_of_games = sections().values()
    for game, rows in zip(GAMES, sections_of_games, strict=False):  # without further documents
        for clause, row in zip(book(game).clauses, rows, strict=True):
            cell = cells(row)[2]
            where, arrow, named = cell.partition(" -> ")
            if not clause.entries:
                assert cell == clause.reason
                continue
            assert arrow
            files = re.findall(r"`(shoed/[\w/]+\.py)`", where)
            assert files
            assert all((ROOT / file).exists() for file in files)
            if not named.strip():
                untried.append(f"{game} {clause.number}")
            assert {test.strip("`") for test in named.split(", ") if test} <= tests
    assert untried == []


def test_tests_name_clauses_that_exist() -> None:
    """A mark such as I 3.12.2 names a clause of that book."""
    known = {f"{of.letter} {clause.number}" for of in map(book, load.GAMES) for clause in of.clauses}
    assert set(marked(ROOT / "tests")) <= known


# Each entry of the book with the clauses that it cites: its own and its further clauses.
PLACES: Final = {
    "commission": """
        draw player 1.1 3.12 | rules differential 1.5 3.4 | rules first-four-alternate 1.7 3.10 |
        draw natural 1.9 3.12 | bet player 1.10 3.7 3.13 3.14 4.1.2 | bet banker 1.10 3.7 3.13 3.14 4.1.1 4.1.2 |
        rules placed-on-behalf 1.11 5.16 | bet player-pair 1.13 3.7 4.1.2 | bet banker-pair 1.13 3.7 4.1.2 |
        rules last-digit-counts 1.14 | irregularity wrong-side 1.15 5.8 5.8.1 5.8.2 |
        rules bets-open-when-announced 1.16 3.3 | rules seated-first 1.17 1.18 5.1 | bet tie 1.19 3.7 4.1.2 |
        rules equal-points-tie 1.19 3.14 | rules void-returns-every-stake 1.20 5.15 | seats 2.1.1 | decks 2.2.1 |
        cards ace 3.2 3.2.1 | cards ten 3.2.2 | cards number 3.2.2 | cards picture 3.2.3 | rules minimum 3.4 3.5 |
        rules balance-open-to-others 3.6 | betting 3.7 | rules bets-close-when-announced 3.8 |
        draw banker_alone 3.11 | draw banker 3.12 | rules higher-points-win 3.13 | rules excess-refused 5.1 |
        rules excess-pro-rated 5.1.1 | rules pro-rata-stops-at-minimum 5.1.1 |
        rules under-minimum-not-pro-rated 5.1.2 | rules under-minimum-raised-or-withdrawn 5.2 |
        rules under-minimum-plays 5.2.1 | rules walked-away-is-settled 5.3 |
        irregularity interruption 5.4 5.4.1 5.4.2 | irregularity foreign-card 5.5 5.5.1 |
        irregularity deck-count 5.5 5.5.2 | irregularity wrong-count 5.5 5.5.3 5.12 |
        irregularity too-few-cards 5.5 5.5.4 | irregularity not-shuffled 5.5 5.5.5 | betting late bet 5.6 |
        betting late increase 5.6 | betting late withdrawal 5.6 | irregularity card-in-excess 5.7 5.7.1 |
        irregularity card-exposed 5.7 5.7.1 | irregularity face-up 5.9 | irregularity drawn-together 5.10 5.10.1 |
        irregularity set-replaced 5.10.2 | irregularity noticed-late 5.11 | irregularity order-altered 5.12 |
        irregularity dealing-error 5.12 | rules option-continue 5.12.1 | rules option-reconstructed 5.12.2 |
        rules option-return 5.12.3 | rules bets-lie-as-at-the-close 5.13 | irregularity other 5.17
    """,
    "super-six-plus": """
        draw player 1.1 3.15 | rules differential 1.5 3.4 | rules first-four-alternate 1.7 3.10 |
        insurance 1.9 4.1.2 | draw natural 1.10 3.15 | bet banker 1.11 1.12 3.7 3.16 3.17 4.1.1 |
        bet player 1.12 3.7 3.16 3.17 4.1.1 | rules placed-on-behalf 1.13 5.17 | bet player-pair 1.15 3.7 4.1.1 |
        bet banker-pair 1.15 3.7 4.1.1 | rules last-digit-counts 1.16 | irregularity wrong-side 1.17 5.8 5.8.1 5.8.2 |
        rules bets-open-when-announced 1.18 3.3 | rules seated-first 1.19 1.20 5.1 |
        bet super-six-plus 1.21 3.7 4.1.1 | bet tie 1.22 3.7 4.1.1 | rules equal-points-tie 1.22 3.17 |
        rules void-returns-every-stake 1.23 5.16 | seats 2.1.1 | decks 2.2.1 | cards ace 3.2 3.2.1 | cards ten 3.2.2 |
        cards number 3.2.2 | cards picture 3.2.3 | rules minimum 3.4 3.5 | rules balance-open-to-others 3.6 |
        betting 3.7 | rules bets-close-when-announced 3.8 | rules insures-own-original-bet 3.11 |
        rules insured-while-open 3.12 3.12.1 | rules insured-up-to-original-bet 3.12.2 | draw banker_alone 3.13 |
        rules squeeze-waives-insurance 3.14 | draw banker 3.15 | rules higher-points-win 3.16 |
        insurance banker-insurance 4.1.2 | insurance player-insurance 4.1.2 4.2.1 |
        irregularity insurance-neglected 4.2.2 5.13 | rules insurance-can-be-switched-off 4.2.2 |
        rules excess-refused 5.1 | rules excess-pro-rated 5.1.1 | rules pro-rata-stops-at-minimum 5.1.1 |
        rules under-minimum-not-pro-rated 5.1.2 | rules under-minimum-raised-or-withdrawn 5.2 |
        rules under-minimum-plays 5.2.1 | rules passed-is-forgone 5.3 | rules walked-away-is-settled 5.3.1 |
        irregularity interruption 5.4 5.4.1 5.4.2 | irregularity foreign-card 5.5 5.5.1 |
        irregularity deck-count 5.5 5.5.2 | irregularity wrong-count 5.5 5.5.3 5.12 |
        irregularity too-few-cards 5.5 5.5.4 | irregularity not-shuffled 5.5 5.5.5 | betting late bet 5.6 |
        betting late increase 5.6 | betting late withdrawal 5.6 | irregularity card-in-excess 5.7 5.7.1 |
        irregularity card-exposed 5.7 5.7.1 | irregularity face-up 5.9 | irregularity drawn-together 5.10 5.10.1 |
        irregularity set-replaced 5.10.2 | irregularity noticed-late 5.11 | irregularity order-altered 5.12 |
        irregularity dealing-error 5.12 | rules option-continue 5.12.1 | rules option-reconstructed 5.12.2 |
        rules option-return 5.12.3 | rules bets-lie-as-at-the-close 5.14 | irregularity other 5.18
    """,
    "fortune-six": """
        bet fortune-six 1.1.1 2.2.5 3.5 3.11 4.1 | rules first-four-alternate 1.1.2 1.1.3 3.6 3.7 3.7.1 3.7.2 |
        draw natural 1.1.4 3.9 3.9.1 | bet player-pair 1.1.5 2.2.4 3.5 3.8 3.8.1 4.1 |
        bet banker-pair 1.1.5 2.2.4 3.5 3.8 3.8.2 4.1 | rules last-digit-counts 1.1.6 3.4 3.4.1 3.4.2 |
        rules bets-open-when-announced 1.1.7 3.1 | bet tie 1.1.8 2.2.3 3.5 3.10.1 4.1 |
        rules equal-points-tie 1.1.8 3.10.1 | decks 2.1 | seats 2.2 | bet banker 2.2.1 3.5 3.10 3.10.1 4.1 |
        bet player 2.2.2 3.5 3.10 3.10.1 4.1 | rules bets-close-when-announced 3.2 | cards ace 3.3 3.3.1 |
        cards number 3.3.1 | cards ten 3.3.2 | cards picture 3.3.2 | betting 3.5 | draw player 3.9.2 |
        draw banker_alone 3.9.3 | draw banker 3.9.4 | rules higher-points-win 3.10 |
        irregularity foreign-card 5.1 5.1.1 5.1.2 | irregularity wrong-count 5.2 | irregularity drawn-together 5.3 |
        irregularity order-altered 5.4 | irregularity too-few-cards 5.5 | betting late bet 5.6 |
        betting late increase 5.6 | betting late withdrawal 5.7
    """,
    "easy-six": """
        seats 2.1.1 2.1.2 | bet player 2.1.3 3.3 3.7 3.8 4.1.1 | bet banker 2.1.3 3.3 3.7 3.8 4.1.1 |
        bet tie 2.1.3 3.3 3.8 4.1.1 | bet player-pair 2.1.3 3.3 3.4 4.1.1 | bet banker-pair 2.1.3 3.3 3.4 4.1.1 |
        bet easy-six 2.1.3 3.3 4.1.1 | decks 2.2.1 | rules bets-open-when-announced 3.1 |
        rules bets-close-when-announced 3.2 | betting 3.3 | rules first-four-alternate 3.4 | draw banker_alone 3.5 |
        draw natural 3.6 | draw banker 3.6 | draw player 3.6 | cards ace 3.7 | cards ten 3.7 | cards picture 3.7 |
        cards number 3.7 | rules last-digit-counts 3.7 | rules higher-points-win 3.7 | rules equal-points-tie 3.8 |
        irregularity foreign-card 5.1 5.1.1 | irregularity wrong-count 5.1 5.1.2 |
        irregularity too-few-cards 5.1 5.1.3 | betting late bet 5.2 | betting late increase 5.2 |
        betting late withdrawal 5.3
    """,
    "tournament": """
        seats 2.1.1 2.1.2 | bet player 2.1.3 3.3 3.8 3.9 4.1.1 | bet banker 2.1.3 3.3 3.8 3.9 4.1.1 |
        bet tie 2.1.3 3.4 3.9 4.1.1 | bet player-pair 2.1.3 3.4 3.5 4.1.1 | bet banker-pair 2.1.3 3.4 3.5 4.1.1 |
        decks 2.2.1 | rules bets-open-when-announced 3.1 | rules bets-close-when-announced 3.2 | betting 3.3 3.4 |
        rules first-four-alternate 3.5 | draw banker_alone 3.6 | draw natural 3.7 | draw banker 3.7 |
        draw player 3.7 | cards ace 3.8 | cards ten 3.8 | cards picture 3.8 | cards number 3.8 |
        rules last-digit-counts 3.8 | rules higher-points-win 3.8 | rules equal-points-tie 3.9 |
        irregularity foreign-card 5.1 5.1.1 | irregularity wrong-count 5.1 5.1.2 |
        irregularity too-few-cards 5.1 5.1.3 | betting late bet 5.2 | betting late increase 5.2 |
        betting late withdrawal 5.3
    """,
}


def places(game: str, number: str) -> set[str]:
    """The entries that cite a clause, as listed here."""
    entries = [entry.split() for entry in PLACES[game].split("|")]
    return {" ".join(word for word in words if word[0].isalpha()) for words in entries if number in words}


@pytest.mark.clause("C 1.1", "C 1.5", "C 1.7", "C 1.9", "C 1.10", "C 1.11", "C 1.15", "C 1.16", "C 1.17", "C 1.18")
@pytest.mark.clause("C 1.19", "C 1.20", "C 3.2", "C 3.4", "C 3.5", "C 3.10", "C 3.14", "C 4.1.1", "C 5.1", "C 5.4")
@pytest.mark.clause("C 5.5", "C 5.8.1", "C 5.8.2")
@pytest.mark.clause("I 1.1", "I 1.5", "I 1.7", "I 1.9", "I 1.10", "I 1.11", "I 1.12", "I 1.13", "I 1.17", "I 1.18")
@pytest.mark.clause("I 1.19", "I 1.20", "I 1.23", "I 3.2", "I 3.5", "I 3.12", "I 4.2.1", "I 5.4", "I 5.5", "I 5.8.1")
@pytest.mark.clause("I 1.22", "I 3.4", "I 3.10", "I 4.2.2", "I 5.1", "I 5.8.2")
@pytest.mark.clause("F 1.1.2", "F 1.1.3", "F 1.1.4", "F 1.1.6", "F 1.1.7", "F 2.2.1", "F 2.2.2", "F 2.2.3", "F 2.2.4")
@pytest.mark.clause("F 2.2.5", "F 3.3", "F 3.4.1", "F 3.4.2", "F 3.6", "F 3.7.1", "F 3.7.2", "F 3.8", "F 3.8.1")
@pytest.mark.clause("F 1.1.8", "F 3.8.2", "F 3.9", "F 3.10.1", "F 3.11", "F 5.1", "F 5.1.1", "F 5.1.2")
@pytest.mark.clause("E 2.1.2", "E 2.1.3", "E 5.1", "T 2.1.2", "T 2.1.3", "T 3.4", "T 5.1")
@pytest.mark.parametrize(("game", "number"), EVERY)
def test_a_clause_is_cited_by_its_entries(game: str, number: str) -> None:
    """Exactly these entries cite it: removing an entry is noticed, also for its further clauses."""
    (lives,) = (clause.entries for clause in book(game).clauses if clause.number == number)
    assert {place for place in lives.split("; ") if place} == places(game, number)


@pytest.mark.parametrize(("game", "number"), EVERY)
def test_a_book_without_a_cited_clause_does_not_load(game: str, number: str) -> None:
    """Every test that plays the game fails then, including the tests that the page names."""
    (clause,) = (clause for clause in book(game).clauses if clause.number == number)
    toml = (load.BOOKS / f"{game}.toml").read_text()
    taken = re.sub(rf'^"{re.escape(number)}" = .*\n', "", toml, flags=re.MULTILINE)
    assert taken != toml
    if clause.entries:
        with pytest.raises(SettingsError, match=rf"clause {re.escape(number)} is not in"):
            parse("book.toml", taken.encode())
    else:
        assert number not in {clause.number for clause in parse("book.toml", taken.encode()).clauses}


def test_every_rule_is_implemented_in_the_named_module() -> None:
    """The module reads the rule by its name, or implements it for all games."""
    assert set(MODULE_OF_RULE) == {rule.value for rule in Rule}
    whole = {"rules/drawing", "rules/insurance"}
    for module, rules in OF_RULES.items():
        text = (ROOT / "shoed" / f"{module}.py").read_text()
        unread = {rule for rule in rules if f"Rule.{rule.name}" not in text}
        assert module in whole or not unread
    assert module_of("rules seated-first") == "rules/limits"
    assert module_of("bet banker") == "rules/results"


# ------------------------------------------------------------------------------------------- the books, typed by hand


@pytest.mark.clause("C 2.2.1", "I 2.2.1", "F 2.1", "E 2.2.1", "T 2.2.1")
def test_the_number_of_decks_of_each_game() -> None:
    """Four to eight; Fortune Six has up to ten."""
    assert [book(game).decks for game in GAMES] == [(4, 8), (4, 8), (4, 10), (4, 8), (4, 8)]


@pytest.mark.clause("C 2.1.1", "I 2.1.1", "F 2.2", "E 2.1.1", "E 2.1.2", "T 2.1.1", "T 2.1.2")
def test_the_layouts_and_their_seats() -> None:
    """They are those of the appendices; the diagrams of Fortune Six have no number of seats."""
    assert [book(game).seats for game in GAMES] == [
        {"bean-9": 9, "bean-7": 7, "mini-7": 7, "big-12": 12},
        {"bean-9": 9, "bean-8": 8, "bean-7": 7, "mini-7": 7, "mini-6": 6, "mini-5": 5},
        None,
        {"bean-9": 9, "bean-7": 7, "mini-7": 7},
        {"bean-9": 9, "bean-7": 7, "mini-7": 7, "big-12": 12},
    ]


@pytest.mark.clause("C 3.2", "C 3.2.1", "C 3.2.2", "C 3.2.3", "I 3.2", "I 3.2.1", "I 3.2.2", "I 3.2.3")
@pytest.mark.clause("F 3.3", "F 3.3.1", "F 3.3.2", "E 3.7", "T 3.8")
@pytest.mark.parametrize("game", GAMES)
def test_the_values_of_cards(game: str) -> None:
    """A ten is 10 in two documents and 0 in three."""
    ten = 10 if game in {"commission", "super-six-plus"} else 0
    assert [book(game).values[rank] for rank in Rank] == [1, 2, 3, 4, 5, 6, 7, 8, 9, ten, 0, 0, 0]


@pytest.mark.clause("C 1.7", "I 1.7", "F 1.1.2", "F 3.6", "F 3.7", "F 3.7.1", "F 3.7.2", "F 1.1.3")
@pytest.mark.parametrize("game", GAMES)
def test_a_hand_has_the_cards_dealt_to_it(game: str) -> None:
    """Two hands are dealt in turn from Player on; the first four cards are the initial deal."""
    hands, order = Hands(), []
    for card in map(Card.parse, ("AS", "2S", "3S", "4S")):
        hand = due(book(game), hands)
        assert hand is not None
        order.append(hand)
        hands = hands.with_card(hand, card)
    assert order == [Side.PLAYER, Side.BANKER] * 2
    assert [str(card) for card in (*hands.player, *hands.banker)] == ["AS", "3S", "2S", "4S"]
    assert book(game).rules[Rule.FIRST_FOUR_ALTERNATE].clause in {"3.10", "3.7", "3.4", "3.5"}


@pytest.mark.clause("C 1.10", "I 1.12")
@pytest.mark.parametrize("game", GAMES)
def test_an_original_bet_is_on_a_hand(game: str) -> None:
    """Each hand has one; no other bet is an Original Bet."""
    assert {bet.name: bet.side for bet in book(game).bets if bet.side} == {"player": Side.PLAYER, "banker": Side.BANKER}


# The clauses of named rules in C and in I.
NAMED: Final = {
    Rule.LAST_DIGIT_COUNTS: ("1.14", "1.16"),
    Rule.HIGHER_POINTS_WIN: ("3.13", "3.16"),
    Rule.EQUAL_POINTS_TIE: ("3.14", "3.17"),
    Rule.BETS_OPEN_WHEN_ANNOUNCED: ("3.3", "3.3"),
    Rule.BETS_CLOSE_WHEN_ANNOUNCED: ("3.8", "3.8"),
    Rule.VOID_RETURNS_EVERY_STAKE: ("5.15", "5.16"),
    Rule.BETS_LIE_AS_AT_THE_CLOSE: ("5.13", "5.14"),
    Rule.PLACED_ON_BEHALF: ("5.16", "5.17"),
    Rule.WALKED_AWAY_IS_SETTLED: ("5.3", "5.3.1"),
}


@pytest.mark.clause("C 1.14", "C 1.16", "C 1.11", "C 5.13", "C 5.16", "C 5.3", "I 1.16", "I 1.13", "I 1.18", "I 5.3.1")
def test_named_rules_have_their_clauses() -> None:
    """The two documents with definitions have different numbers, and both are cited."""
    numbered = {
        rule: tuple(book(game).rules[rule].clause for game in ("commission", "super-six-plus")) for rule in NAMED
    }
    assert numbered == NAMED
    assert book("super-six-plus").rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].also == ("1.18",)
    assert book("super-six-plus").rules[Rule.PLACED_ON_BEHALF].also == ("1.13",)
    assert book("commission").rules[Rule.PLACED_ON_BEHALF].also == ("1.11",)


@pytest.mark.clause("F 1.1.6", "F 1.1.7", "F 3.4", "F 3.4.1", "F 3.4.2", "F 3.1", "E 3.7", "T 3.8")
def test_only_two_documents_have_limits_and_options() -> None:
    """These are C and I; the last digit counts in all games."""
    for game in ("fortune-six", "easy-six", "tournament"):
        rules = book(game).rules
        assert not any(MODULE_OF_RULE[rule.value] in {"rules/limits", "rules/irregular"} for rule in rules)
        assert rules[Rule.VOID_RETURNS_EVERY_STAKE].clause == ""
        assert rules[Rule.VOID_RETURNS_EVERY_STAKE].reading
    assert book("fortune-six").rules[Rule.LAST_DIGIT_COUNTS].also == ("3.4.1", "3.4.2", "1.1.6")
    assert book("fortune-six").rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].also == ("1.1.7",)
    assert [book(game).rules[Rule.LAST_DIGIT_COUNTS].clause for game in ("easy-six", "tournament")] == ["3.7", "3.8"]


@pytest.mark.clause("C 5.6", "I 5.6", "F 5.6", "F 5.7", "E 5.2", "E 5.3", "T 5.2", "T 5.3")
def test_the_effect_of_late_bets() -> None:
    """C and I refuse every late change; elsewhere an increase has no effect and a withdrawn bet plays."""
    for game in GAMES:
        strict = game in {"commission", "super-six-plus"}
        thens = [late.then.value for late in map(book(game).late.__getitem__, BetAction)]
        assert thens == (["refused"] * 3 if strict else ["refused", "increase-refused", "stands"])


# Each kind with its facts, consequence, deciding role, options and clause.
IN_C: Final = """
foreign-card void 5.5.1
deck-count void 5.5.2
wrong-count !reconstructable void 5.5.3
wrong-count reconstructable reconstruct always 5.12 5.12
too-few-cards void 5.5.4
not-shuffled void 5.5.5
interruption established continue 5.4.1
interruption !established void 5.4.2
card-in-excess reconstruct-or-carry pit-supervisor unless-established 5.7.1 5.7
card-exposed reconstruct-or-carry pit-supervisor unless-established 5.7.1 5.7
wrong-side reconstructable reconstruct unless-established 5.8 5.8
wrong-side !reconstructable continue always 5.8 5.8
face-up continue unless-established 5.9 5.9
drawn-together !order-known order-cards pit-supervisor always 5.10.1 5.10
drawn-together order-known continue always 5.10.1 5.10.1
set-replaced ask pit-supervisor 5.10.2
order-altered reconstructable of-the-dealing reconstruct always 5.12 5.12
order-altered !reconstructable of-the-dealing continue always 5.12 5.12
dealing-error reconstructable reconstruct always 5.12 5.12
dealing-error !reconstructable continue always 5.12 5.12
"""
NEGLECT: Final = """
insurance-neglected insurance-on would-have-won return-original pit-manager 5.13
insurance-neglected insurance-on !would-have-won stands 5.13
insurance-neglected !insurance-on stands 5.13
"""
IRREGULARITIES: Final = {
    "commission": IN_C + "noticed-late stands 5.11\nother ask shift-manager 5.17",
    "super-six-plus": IN_C + NEGLECT + "noticed-late stands 5.11\nother ask shift-manager 5.18",
    "fortune-six": """
        foreign-card void 5.1
        wrong-count !reconstructable void 5.2
        drawn-together !order-known initial-deal void 5.3
        drawn-together !order-known !initial-deal ask -
        drawn-together order-known continue -
        order-altered !reconstructable void 5.4
        too-few-cards void 5.5
        noticed-late stands -""",
    "easy-six": """
        foreign-card void 5.1.1
        wrong-count !reconstructable void 5.1.2
        too-few-cards void 5.1.3
        drawn-together order-known continue -
        noticed-late stands -""",
}


def typed(row: IrregularityRow) -> str:
    words = [row.kind.value]
    words += [fact.value if row.when[fact] else f"!{fact.value}" for fact in Fact if fact in row.when]
    words.append(row.then.value)
    words += [row.decides.value] if row.decides else []
    words += [row.options.value, row.options_clause] if row.options_clause else []
    return " ".join((*words, row.clause or "-"))


def of_events(game: str) -> list[str]:
    return [typed(row) for row in book(game).irregularities]


@pytest.mark.clause(
    "C 5.4", "C 5.5", "C 5.5.2", "C 5.5.3", "C 5.5.5", "C 5.8.1", "C 5.8.2", "C 5.10.2", "C 5.11", "C 5.17"
)
@pytest.mark.clause(
    "I 5.4", "I 5.5", "I 5.5.2", "I 5.5.3", "I 5.5.5", "I 5.8.1", "I 5.8.2", "I 5.10.2", "I 5.11", "I 5.13"
)
@pytest.mark.clause("F 5.1", "F 5.1.1", "F 5.1.2", "F 5.2", "F 5.3", "F 5.4", "F 5.5")
@pytest.mark.clause("E 5.1", "E 5.1.1", "E 5.1.2", "E 5.1.3", "T 5.1", "T 5.1.1", "T 5.1.2", "T 5.1.3")
@pytest.mark.parametrize("game", GAMES)
def test_the_rows_of_irregularities_of_each_document(game: str) -> None:
    """A silent document has no row."""
    rows = IRREGULARITIES.get(game, IRREGULARITIES["easy-six"])  # T has the rows of E
    assert of_events(game) == [" ".join(line.split()) for line in rows.strip().splitlines() if line.strip()]
    silent = [row for row in book(game).irregularities if not row.clause]
    assert all(row.reading for row in silent)


@pytest.mark.clause("F 5.1.2", "C 5.5", "I 5.5")
def test_a_void_round_does_not_void_earlier_rounds() -> None:
    """The clause is cited beside the causes of a void."""
    for game, number in (("fortune-six", "5.1.2"), ("commission", "5.5"), ("super-six-plus", "5.5")):
        (lives,) = (clause.entries for clause in book(game).clauses if clause.number == number)
        assert f"irregularity {IrregularityKind.FOREIGN_CARD.value}" in lives.split("; ")


@pytest.mark.clause("C 1.15", "I 1.17")
@pytest.mark.parametrize("game", ["commission", "super-six-plus"])
def test_a_card_on_the_wrong_side_is_reconstructed_in_its_order(game: str) -> None:
    """Cards keep the order from the shoe: the second is Banker's, in whatever place it was dealt."""
    cards = tuple(map(Card.parse, ("QS", "3H", "7D", "JC")))
    irregularities = [Irregularity(IrregularityKind.WRONG_SIDE, at=2, noticed_at=2)]
    found = course(book(game), cards, irregularities, Inquiry([]))
    assert [(ruling.then, ruling.clause) for ruling in found.rulings] == [(Then.RECONSTRUCT, "5.8")]
    assert found.hands == Hands((cards[0], cards[2]), (cards[1], cards[3]))


# -------------------------------------------------------------------------------------------------- printed books


def paid(of: RuleBook) -> list[tuple[str, str, str]]:
    return [(bet.name, row.pays.text, row.clause) for bet in of.bets for row in bet.rows]


def cited(line: str) -> list[str]:
    """The clauses at the end of a line of a page, or in its brackets."""
    return re.findall(r"(?<![\d.])\d+(?:\.\d+)+(?![\d.:])", line)


@pytest.mark.parametrize("game", GAMES)
def test_the_printed_book_is_complete(game: str) -> None:
    """Every pay, insurance row, irregularity and clause has its line, with its clause."""
    shown = page.show(book(game)).splitlines()
    for name, pays, clause in paid(book(game)):
        assert any(line.startswith(f"{name} ") and pays in line.split() and clause in cited(line) for line in shown)
    for offer in book(game).offers:
        assert any(offer.bet in line and offer.odds.text in line.split() for line in shown)
    for row in book(game).irregularities:
        lines = [line for line in shown if line.startswith(row.kind.value)]
        assert any(row.clause in cited(line) if row.clause else line.endswith(row.reading) for line in lines)
    for numbered in book(game).clauses:
        assert any(line.split(maxsplit=1)[:2] == [numbered.number, numbered.title] for line in shown)
    assert "Insurance" in shown if book(game).offers else "Insurance" not in shown


@pytest.mark.parametrize("game", GAMES)
def test_the_printed_book_has_every_cited_clause(game: str) -> None:
    """Further clauses of an entry are printed too, as often as the file has them."""
    toml = (load.BOOKS / f"{game}.toml").read_text().partition("[clauses]")[0]
    written = re.findall(r'"(\d+(?:\.\d+)+)"', toml)
    shown = page.show(book(game)).partition("\nClauses\n")[0]
    named = cited(re.sub(r"our interpretation: .*", "", shown))
    assert Counter(written) - Counter(named) == Counter()


def test_the_printed_book_names_the_hand_of_each_bet() -> None:
    """Original Bets, pair bets and insurance bets have their hands and clauses."""
    shown = [" ".join(line.split()) for line in page.show(book("super-six-plus")).splitlines()]
    for line in (
        "player Original Bet on player 3.7, 1.12",
        "tie on the result 3.7",
        "banker-pair on the first two cards of banker 3.7",
        "banker-insurance insures banker 4.1.2, 1.9",
    ):
        assert line in shown


def test_the_games_are_listed_by_id_and_title() -> None:
    """One line for each, in the order of the settings."""
    assert [line.split()[0] for line in page.listed().splitlines()] == list(load.GAMES)
    assert all(book(game).title in page.listed() for game in load.GAMES)


@pytest.mark.parametrize("game", GAMES)
def test_clauses_are_listed_with_their_entries(game: str) -> None:
    """One line for each clause."""
    assert [line.split()[0] for line in page.clauses(book(game)).splitlines()] == NUMBERS[game].split()
