"""Every numbered clause of the five documents has its one row, and whoever takes it out of a book is found out."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from docs.generate import clauses, marked
from shoed.cards import Card, Rank
from shoed.errors import SettingsError
from shoed.observations import Pair
from shoed.rules import load, page
from shoed.rules.book import Act, Event, Fact, Hand, Irregularity, Rule, RuleBook
from shoed.rules.drawing import Hands, due
from shoed.rules.load import GAMES, book, parse
from shoed.rules.page import MODULE_OF_RULE, OF_RULES, module_of

ROOT: Final = Path(__file__).resolve().parent.parent

# The numbers as they stand in the documents, headings as 2.1 among them, written down by hand.
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
    """Of the generated page: heading -> its rows."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in clauses("").splitlines():
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
    """None missing, none invented, in the document's order, each with a title."""
    assert [clause.number for clause in book(game).clauses] == NUMBERS[game].split()
    assert all(clause.title for clause in book(game).clauses)


def test_the_page_has_one_section_for_each_game_and_one_row_for_each_clause() -> None:
    """The heading carries the game's id; there are no headings inside."""
    introduction, *games = sections().items()
    assert introduction[1] == []
    for game, (heading, rows) in zip(GAMES, games, strict=True):
        assert f"`{game}`" in heading
        assert [cells(row)[0] for row in rows] == NUMBERS[game].split()
        assert all(len(cells(row)) == 3 and all(cells(row)) for row in rows)


def test_every_clause_that_lives_is_tried_and_the_others_say_why_not() -> None:
    """Where it lives are files that are there; its tests are tests that are there."""
    tests = {
        f"{file.stem}.{node.name}"
        for file in (ROOT / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    untried = []
    for game, rows in zip(GAMES, list(sections().values())[1:], strict=True):
        for clause, row in zip(book(game).clauses, rows, strict=True):
            said = cells(row)[2]
            where, arrow, named = said.partition(" -> ")
            if not clause.lives:
                assert said == clause.operator
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
    """A mark as in I 3.12.2 is of a clause that stands in that book."""
    known = {f"{of.letter} {clause.number}" for of in map(book, GAMES) for clause in of.clauses}
    assert set(marked(ROOT / "tests")) <= known


@pytest.mark.parametrize(("game", "number"), EVERY)
def test_a_book_without_a_clause_that_lives_does_not_load(game: str, number: str) -> None:
    """So every test that plays this game fails, those that the page names for the clause among them."""
    (clause,) = (clause for clause in book(game).clauses if clause.number == number)
    toml = (load.BOOKS / f"{game}.toml").read_text()
    taken = re.sub(rf'^"{re.escape(number)}" = .*\n', "", toml, flags=re.MULTILINE)
    assert taken != toml
    if clause.lives:
        with pytest.raises(SettingsError, match=rf"clause {re.escape(number)} is not in"):
            parse("book.toml", taken.encode())
    else:
        assert number not in {clause.number for clause in parse("book.toml", taken.encode()).clauses}


def test_every_rule_lives_where_the_page_says() -> None:
    """The module that is named reads the rule, or is the one whose whole business it is."""
    assert set(MODULE_OF_RULE) == {rule.value for rule in Rule}
    whole = {"rules/drawing", "rules/insurance"}
    for module, rules in OF_RULES.items():
        text = (ROOT / "shoed" / f"{module}.py").read_text()
        unread = {rule for rule in rules if f"Rule.{rule.name}" not in text} - {Rule.BETS_CLOSE_WHEN_ANNOUNCED}
        assert module in whole or not unread
    assert module_of("rules seated-first") == "rules/limits"
    assert module_of("bet banker") == "rules/results"


# ------------------------------------------------------------------------------------------- the books, read by hand


@pytest.mark.clause("C 2.2.1", "I 2.2.1", "F 2.1", "E 2.2.1", "T 2.2.1")
def test_how_many_decks_a_game_is_played_with() -> None:
    """Four to eight; Fortune Six goes up to ten."""
    assert [book(game).decks for game in GAMES] == [(4, 8), (4, 8), (4, 10), (4, 8), (4, 8)]


@pytest.mark.clause("C 2.1.1", "I 2.1.1", "F 2.2", "E 2.1.1", "E 2.1.2", "T 2.1.1", "T 2.1.2")
def test_the_layouts_and_their_seats() -> None:
    """As the appendices have them; the diagrams of Fortune Six name no number."""
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
def test_what_cards_are_worth(game: str) -> None:
    """A ten is worth its face in two documents and nothing in three."""
    ten = 10 if game in {"commission", "super-six-plus"} else 0
    assert [book(game).values[rank] for rank in Rank] == [1, 2, 3, 4, 5, 6, 7, 8, 9, ten, 0, 0, 0]


@pytest.mark.clause("C 1.7", "I 1.7", "F 1.1.2", "F 3.6", "F 3.7", "F 3.7.1", "F 3.7.2", "F 1.1.3")
@pytest.mark.parametrize("game", GAMES)
def test_a_hand_is_what_was_dealt_to_it(game: str) -> None:
    """Two hands, filled in turn from Player on; the first four cards are the initial deal."""
    hands, order = Hands(), []
    for card in map(Card.parse, ("AS", "2S", "3S", "4S")):
        hand = due(book(game), hands)
        assert hand is not None
        order.append(hand)
        hands = hands.with_card(hand, card)
    assert order == [Pair.PLAYER, Pair.BANKER] * 2
    assert [str(card) for card in (*hands.player, *hands.banker)] == ["AS", "3S", "2S", "4S"]
    assert book(game).rules[Rule.FIRST_FOUR_ALTERNATE].clause in {"3.10", "3.7", "3.4", "3.5"}


@pytest.mark.clause("C 1.10", "I 1.12")
@pytest.mark.parametrize("game", GAMES)
def test_an_original_bet_stands_on_a_hand(game: str) -> None:
    """There is one on each; every other bet is none."""
    assert {bet.name: bet.hand for bet in book(game).bets if bet.hand} == {"player": Hand.PLAYER, "banker": Hand.BANKER}


# What the documents say by number: rule -> where, in C and in I.
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
def test_rules_by_name_stand_on_their_clauses() -> None:
    """The two documents with definitions number them differently, and both are cited."""
    numbered = {
        rule: tuple(book(game).rules[rule].clause for game in ("commission", "super-six-plus")) for rule in NAMED
    }
    assert numbered == NAMED
    assert book("super-six-plus").rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].also == ("1.18",)
    assert book("super-six-plus").rules[Rule.PLACED_ON_BEHALF].also == ("1.13",)
    assert book("commission").rules[Rule.PLACED_ON_BEHALF].also == ("1.11",)


@pytest.mark.clause("F 1.1.6", "F 1.1.7", "F 3.4", "F 3.4.1", "F 3.4.2", "F 3.1", "E 3.7", "T 3.8")
def test_documents_without_limits_have_none_and_count_alike() -> None:
    """Only C and I know limits and options; the last digit counts in all."""
    for game in ("fortune-six", "easy-six", "tournament"):
        rules = book(game).rules
        assert not any(MODULE_OF_RULE[rule.value] in {"rules/limits", "rules/irregular"} for rule in rules)
        assert rules[Rule.VOID_RETURNS_EVERY_STAKE].clause == ""
        assert rules[Rule.VOID_RETURNS_EVERY_STAKE].reading
    assert book("fortune-six").rules[Rule.LAST_DIGIT_COUNTS].also == ("3.4.1", "3.4.2", "1.1.6")
    assert book("fortune-six").rules[Rule.BETS_OPEN_WHEN_ANNOUNCED].also == ("1.1.7",)
    assert [book(game).rules[Rule.LAST_DIGIT_COUNTS].clause for game in ("easy-six", "tournament")] == ["3.7", "3.8"]


@pytest.mark.clause("C 5.6", "I 5.6", "F 5.6", "F 5.7", "E 5.2", "E 5.3", "T 5.2", "T 5.3")
def test_what_becomes_of_late_bets() -> None:
    """Refused in C and I, whatever is tried; elsewhere an increase falls away and a withdrawn bet stands."""
    for game in GAMES:
        strict = game in {"commission", "super-six-plus"}
        thens = [late.then.value for late in map(book(game).late.__getitem__, Act)]
        assert thens == (["refused"] * 3 if strict else ["refused", "increase-refused", "stands"])


# By event: what is known, what follows, who decides, who has options, and where it stands.
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
wrong-side reconstruct unless-established-and-reconstructable 5.8 5.8
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
        foreign-card void 5.1.1
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


def typed(row: Irregularity) -> str:
    words = [row.event.value]
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
def test_what_each_document_says_of_irregularities(game: str) -> None:
    """Row by row, and no row where a document is silent."""
    rows = IRREGULARITIES.get(game, IRREGULARITIES["easy-six"])  # T says what E says
    assert of_events(game) == [" ".join(line.split()) for line in rows.strip().splitlines() if line.strip()]
    silent = [row for row in book(game).irregularities if not row.clause]
    assert all(row.reading for row in silent)


@pytest.mark.clause("F 5.1.2", "C 5.5", "I 5.5")
def test_earlier_rounds_stand_when_one_is_void() -> None:
    """What says so is cited beside what is void."""
    for game, number in (("fortune-six", "5.1.2"), ("commission", "5.5"), ("super-six-plus", "5.5")):
        (lives,) = (clause.lives for clause in book(game).clauses if clause.number == number)
        assert f"irregularity {Event.FOREIGN_CARD.value}" in lives.split("; ")


# -------------------------------------------------------------------------------------------------- for people


def paid(of: RuleBook) -> list[tuple[str, str, str]]:
    return [(bet.name, row.pays.text, row.clause) for bet in of.bets for row in bet.rows]


@pytest.mark.parametrize("game", GAMES)
def test_a_book_is_shown_whole(game: str) -> None:
    """Every pay, insurance row, irregularity and clause has its line, with the clause beside it."""
    shown = page.show(book(game)).splitlines()
    for name, pays, clause in paid(book(game)):
        assert any(line.startswith(f"{name} ") and pays in line.split() and line.endswith(clause) for line in shown)
    for offer in book(game).offers:
        assert any(offer.bet in line and offer.odds.text in line.split() for line in shown)
    for row in book(game).irregularities:
        assert any(line.startswith(row.event.value) and line.endswith(row.clause or row.reading) for line in shown)
    for numbered in book(game).clauses:
        assert any(line.split(maxsplit=1)[:2] == [numbered.number, numbered.title] for line in shown)
    assert "Insurance" in shown if book(game).offers else "Insurance" not in shown


def test_the_games_are_listed_by_id_and_title() -> None:
    """One line each, in the order of the settings."""
    assert [line.split()[0] for line in page.listed().splitlines()] == list(GAMES)
    assert all(book(game).title in page.listed() for game in GAMES)


@pytest.mark.parametrize("game", GAMES)
def test_clauses_are_listed_with_where_they_are_kept(game: str) -> None:
    """One line for each clause."""
    assert [line.split()[0] for line in page.clauses(book(game)).splitlines()] == NUMBERS[game].split()
