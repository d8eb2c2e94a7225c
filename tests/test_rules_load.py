"""A rule book is read completely or refused with the lines of its errors, and a new game is a new file."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from shoed.cli.rules import page
from shoed.errors import SettingsError
from shoed.model.irregularities import IrregularityKind, Stage
from shoed.rules import load
from shoed.rules.bets import PlacedBet, admit
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.irregular import Irregularity, course
from shoed.rules.load import parse
from shoed.rules.questions import Inquiry
from shoed.rules.results import rows
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

FILES: Final = {game: load.BOOKS / f"{game}.toml" for game in GAMES}


def problems(toml: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        parse("book.toml", toml.encode())
    return [str(problem) for problem in caught.value.problems]


# --------------------------------------------------------------------------------------------------- refused books

# (game, text in its book, replacement, problem). The problem names the line of the replacement.
BROKEN: Final = [
    # words
    ("commission", 'winner = "player", pays = "1:1"', 'winner = "punter", pays = "1:1"', '"punter" is unknown'),
    ("commission", 'event = "face-up"', 'event = "faceup"', 'the nearest known is "face-up"'),
    ("commission", 'then = "continue"\nclause = "5.9"', 'then = "go-on"\nclause = "5.9"', '"go-on" is unknown'),
    ("commission", "seated-first =", "sitting-first =", "rules.sitting-first: is not a known key"),
    ("commission", 'options = "unless-established"', 'options = "mostly"', '"mostly" is unknown'),
    ("commission", 'together = "any"', 'together = "some"', '"some" is unknown'),
    ("commission", 'points = "face"', 'points = "half"', '"half" is unknown'),
    ("commission", 'letter = "C"', 'letter = "c"', '"c" is not allowed'),
    ("fortune-six", "any = true", "any = 1", "1 is neither true nor false"),
    ("commission", 'title = "Commission', 'title = "Com|mission', "is not allowed; write a few words, without |"),
    ("commission", '"5.9" = "The round', '"5.9" = "The | round', "is not allowed; write a few words, without |"),
    ("commission", "bean-9 = 9", '"Bean 9" = 9', "is not a valid name of a layout; use a to z, 0 to 9 and -"),
    # pays
    ("commission", '"8:1"', '"\u0668:1"', "is not odds"),
    ("commission", '"0.95:1"', '"0.95"', '"0.95" is not odds'),
    ("commission", '"8:1"', '"0:1"', '"0:1" is not odds'),
    ("commission", '"8:1"', '"8:0"', '"8:0" is not odds'),
    ("super-six-plus", '"1.5:1"', '"push"', '"push" is not odds'),
    ("fortune-six", "cards = [2]", "cards = [2, 3]", "overlaps row 1: both are for banker winning on 6 with 3 cards"),
    ("fortune-six", "points = [6], pays", "points = [5, 6], pays", "overlaps row 1"),
    ("fortune-six", "points = [6], pays", "points = [], pays", "is empty"),
    ("fortune-six", "points = [6], pays", "points = [6, 6], pays", "has a duplicate"),
    ("fortune-six", "points = [6], pays", "points = [0, 6], pays", "no round of this row ends with points 0"),
    ("fortune-six", 'winner = "player", pays = "1:1"', 'winner = "player", cards = [4], pays = "1:1"', "out of range"),
    (
        "fortune-six",
        'winner = "tie", pays = "8:1"',
        'winner = "tie", cards = [2], pays = "8:1"',
        "no round of this row ends with cards 2",
    ),
    ("easy-six", 'ranks = ["6"]', 'ranks = ["6", "7"]', "overlaps row 1: both are for a pair of 7"),
    ("easy-six", 'ranks = ["6"]', 'ranks = ["6", "11"]', '"11" is unknown'),
    ("easy-six", 'ranks = ["6"], ', 'winner = "tie", ', "is not a known key"),
    ("tournament", 'hand = "player"', 'hand = "player"\npair = "player"', "and hand exclude each other"),
    # the Table of Play
    ("commission", "{ total = 6,", "{ total = 5,", "5 has two rows"),
    ("commission", "{ total = 6,", "{ total = 8,", "8 is a natural"),
    ("commission", "player = { totals = [0, 1, 2, 3, 4, 5]", "player = { totals = [0, 1, 8]", "8, which is a natural"),
    ("commission", "player = { totals = [0, 1, 2, 3, 4, 5]", "player = { totals = []", "is empty"),
    # clauses
    ("commission", 'clause = "5.9"', 'clause = "5.99"', "clause 5.99 is not in [clauses]; the nearest is 5.9"),
    ("commission", 'clause = "5.9"', 'clause = "9"', '"9" is not allowed'),
    ("commission", 'clause = "5.9"', 'clause = "5.\u0669"', "is not allowed; write a clause"),
    ("commission", '"5.14" = ["A display', '"5.\u0661" = ["A display', "is not a clause number"),
    ("commission", 'also = ["1.9"]', 'also = ["7.7"]', "clause 7.7 is not in [clauses]"),
    ("commission", 'seated-first = ["5.1", "1.17"', 'seated-first = ["5.1", "1.77"', "clause 1.77 is not in [clauses]"),
    ("commission", '"5.14" = ["A display', '"5.14.x" = ["A display', "is not a clause number"),
    (
        "commission",
        '"5.9" = "The',
        '"5.9" = ["A card", "Not seen."] #',
        "has a reason, and irregularity face-up cites it",
    ),
    ("commission", '"1.2" = ["A bet is a wager", "', '"1.2" = "A bet is a wager" #', "is cited by no entry"),
    ("commission", '"1.2" = ["A bet is a wager"', '"1.2" = [""', "is not allowed"),
    # ranges and duplicates
    ("commission", "most = 8", "most = 3", "3 is less than fewest, 4"),
    ("commission", "most = 8", "most = 11", "11 is out of range"),
    ("commission", "big-12 = 12", "big-12 = 0", "0 is out of range"),
    (
        "commission",
        "layouts = { bean-9 = 9, bean-7 = 7, mini-7 = 7, big-12 = 12 }",
        "layouts = {}",
        "layouts: is empty",
    ),
    ("commission", "ace = { points = 1", "ace = { points = 11", "11 is out of range"),
    ("commission", 'name = "banker"', 'name = "player"', '"player" is the name of another bet'),
    ("commission", 'hand = "banker"', 'hand = "player"', "player is the Original Bet on this hand"),
    ("commission", 'act = "increase"', 'act = "bet"', "bet has two rows"),
    ("fortune-six", 'act = "bet", then = "refused"', 'act = "bet", then = "stands"', "stands does not fit a late bet"),
    # insurance
    ("super-six-plus", 'bet = "player-insurance", stage', 'bet = "tie-insurance", stage', '"tie-insurance" is unknown'),
    ("super-six-plus", "banker-insurance =", "tie =", "is the name of another bet"),
    ("super-six-plus", "bets = { ", 'bets = { third = "player", ', "insurance.bets.third: has no row"),
    (
        "super-six-plus",
        "banker = [6], player = [0,",
        "banker = [5, 6], player = [0,",
        "overlaps row 1: both are for Player 0",
    ),
    (
        "super-six-plus",
        'banker = [4], odds = "2:1"',
        'banker = [4, 8], odds = "2:1"',
        "Player 5, Banker 8, where no card is due",
    ),
    ("super-six-plus", 'pays_on = "tie"', 'pays_on = "banker"', "cannot pay at Player 9, Banker 0"),
    ("super-six-plus", 'pays_on = "tie"', 'pays_on = "player"', "pays when the insured hand wins"),
    ("super-six-plus", "tie_returned = false", "tie_returned = true", "pays on a tie and is returned on a tie"),
    # irregularities
    ("commission", "when = { established = true }", "when = { established = false }", "can apply together with row"),
    ("commission", "when = { established = true }", "when = { won = true }", "is not a known key"),
    ("commission", "when = { established = true }", "when = { insurance-on = true }", "is not a known key"),
    (
        "commission",
        'event = "noticed-late"\nthen = "stands"',
        'event = "noticed-late"\nthen = "void"',
        "void does not fit",
    ),
    (
        "commission",
        'when = { order-known = false }\nthen = "order-cards"',
        'then = "return-original"',
        "does not fit drawn",
    ),
    (
        "commission",
        'options = "unless-established"',
        'options = "unless-established"\nwhen = { established = true }',
        "depends on established",
    ),
    ("commission", 'event = "not-shuffled"', 'event = "deck-count"', "can apply together with row"),
    (
        "commission",
        'event = "not-shuffled"\nthen = "void"',
        'event = "not-shuffled"\nthen = "void"\ndecides = "dealer"',
        "decides: has no effect with void",
    ),
    (
        "commission",
        'event = "noticed-late"\nthen = "stands"',
        'event = "noticed-late"\nthen = "stands"\noptions = "always"\noptions_clause = "5.12"',
        "options: has no effect with stands",
    ),
]


@pytest.mark.parametrize(("game", "right", "wrong", "message"), BROKEN)
def test_an_error_is_refused_with_its_line(game: str, right: str, wrong: str, message: str) -> None:
    """An unknown word, an overlap, a result without a pay or a foreign clause has file, line and remedy."""
    before, found_text, after = FILES[game].read_text().partition(right)
    assert found_text
    found = [problem for problem in problems(before + wrong + after) if message in problem]
    assert found
    first = before.count("\n") + 1
    # The problem names the later of two overlapping rows, and mentions the earlier one.
    last = first + (60 if "overlaps" in message or "together" in message else wrong.count("\n"))
    assert all(first <= int(problem.split(":")[1]) <= last for problem in found)
    assert all(re.fullmatch(r"book\.toml:\d+: [^:]+: .+; .+", problem) for problem in found)


MISSING: Final = [
    (
        "commission",
        '  { total = 6, third = [6, 7], clause = "3.12" },\n',
        "draw.banker: has no row for Banker's total 6",
    ),
    ("commission", '  { winner = "tie", pays = "push", clause = "3.14" },\n', "bet.pays: has no row for a tie on 0"),
    ("easy-six", '  { ranks = ["6"], pays = "13:1", clause = "4.1.1" },\n', "bet.pays: has no row for a pair of 6"),
    ("easy-six", '  { ranks = [], pays = "lose", clause = "3.4" },\n', "bet.pays: has no row for no pair"),
    ("commission", 'clause = "2.2.1"\n', "decks.clause: is missing"),
    ("commission", 'first-four-alternate = ["3.10", "1.7"]\n', "rules.first-four-alternate: is missing: every game"),
    ("commission", 'option-return = "5.12.3"\n', "rules.option-return: is missing: the options of irregularities"),
    ("super-six-plus", 'passed-is-forgone = "5.3"\n', "rules.passed-is-forgone: is missing: the insurance requires it"),
    ("commission", 'minimum = ["3.4", "3.5"]\n', "rules.minimum: is missing: a book has all rules of limits or none"),
    (
        "commission",
        '  { act = "increase", then = "refused", clause = "5.6" },\n',
        "betting.late: has no row for increase",
    ),
    ("commission", 'clause = "5.17"\ndecides = "shift-manager"\n', "irregularity.clause: is missing"),
    ("commission", 'decides = "pit-supervisor"\noptions = "always"\n', "irregularity.decides: is missing"),
    (
        "commission",
        '"5.9" = "The round continues with a card face up, with options"\n',
        "clause 5.9 is not in [clauses]",
    ),
    ("tournament", 'hand = "banker"\n', 'bet: no bet has hand = "banker"'),
]


@pytest.mark.parametrize(("game", "removed", "message"), MISSING)
def test_a_missing_entry_is_refused(game: str, removed: str, message: str) -> None:
    """A book without a row, a pay, a rule or a clause does not load, and the message names the entry."""
    toml = FILES[game].read_text()
    assert removed in toml
    assert any(message in problem for problem in problems(toml.replace(removed, "", 1)))


LIMITS: Final = (
    *("minimum", "differential", "balance-open-to-others", "excess-refused", "seated-first", "excess-pro-rated"),
    *("pro-rata-stops-at-minimum", "under-minimum-not-pro-rated", "under-minimum-raised-or-withdrawn"),
    "under-minimum-plays",
)
OF_EVERY_GAME: Final = (
    *("first-four-alternate", "last-digit-counts", "higher-points-win", "equal-points-tie"),
    *("bets-open-when-announced", "bets-close-when-announced", "void-returns-every-stake"),
)
OF_AN_INSURANCE: Final = (
    *("insures-own-original-bet", "insured-while-open", "insured-up-to-original-bet", "passed-is-forgone"),
    *("squeeze-waives-insurance", "insurance-can-be-switched-off"),
)
OF_THE_OPTIONS: Final = ("option-continue", "option-reconstructed", "option-return")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        *((rule, "every game") for rule in OF_EVERY_GAME),
        *((rule, "a book has all rules of limits or none") for rule in LIMITS),
        *((rule, "the insurance requires it") for rule in OF_AN_INSURANCE),
        *((rule, "the options of irregularities require it") for rule in OF_THE_OPTIONS),
    ],
)
def test_each_rule_of_a_group_is_required(rule: str, reason: str) -> None:
    """A book with the other rules of the group and without this one is refused."""
    toml, removed = re.subn(rf"(?m)^{rule} = .*\n", "", FILES["super-six-plus"].read_text())
    assert removed == 1
    assert any(f"rules.{rule}: is missing: {reason}" in problem for problem in problems(toml))


@pytest.mark.parametrize("rule", OF_AN_INSURANCE)
def test_a_game_without_insurance_has_no_insurance_rules(rule: str) -> None:
    """A rule without any use is refused."""
    toml = FILES["commission"].read_text().replace("[rules]\n", f'[rules]\n{rule} = "5.3"\n')
    assert any(f"rules.{rule}: requires insurance" in problem for problem in problems(toml))


def test_cards_have_all_values() -> None:
    """Without a card of the value 1 the Table of Play has rows that no round reaches."""
    toml = FILES["commission"].read_text().replace("ace = { points = 1,", "ace = { points = 2,")
    assert any("no card has the value 1" in problem for problem in problems(toml))


def test_insurance_without_bets_is_an_error_in_each_row() -> None:
    """The bet of every row is unknown."""
    toml = FILES["super-six-plus"].read_text()
    toml = toml.replace('bets = { player-insurance = "player", banker-insurance = "banker" }', "bets = {}")
    assert sum("is unknown" in problem for problem in problems(toml)) == 15


def test_a_book_requires_irregularities() -> None:
    """A book without any irregularity is not complete."""
    toml, _, _ = FILES["commission"].read_text().partition("[[irregularity]]")
    assert any("irregularity: is missing; write [[irregularity]]" in problem for problem in problems(toml))


def test_the_first_result_without_a_row_is_named() -> None:
    """Results are in the order of the alphabet."""
    toml = FILES["commission"].read_text()
    for winner in ("banker", "tie"):
        row = next(line for line in toml.splitlines() if f'winner = "{winner}"' in line)
        toml = toml.replace(f"{row}\n", "", 1)
    (problem,) = [each for each in problems(toml) if "has no row" in each]
    assert "has no row for a tie on 0" in problem


def test_all_errors_are_reported_at_once() -> None:
    """They are in the order of their lines."""
    toml = FILES["easy-six"].read_text().replace("most = 8", "most = 80").replace('"6:1"', '"6"').replace("tie", "tee")
    found = [int(problem.split(":")[1]) for problem in problems(toml)]
    assert len(found) > 5
    assert found == sorted(found)


# ------------------------------------------------------------------------------------------------------ a sixth game

SIXTH: Final = """\
[book]
id = "night-six"
letter = "N"
title = "Night Six"
document = "A book made for a test"
[decks]
fewest = 1
most = 2
clause = "1.1"
[seats]
layouts = { round-3 = 3 }
clause = "1.1"
[cards]
ace = { points = 1, clause = "1.1" }
number = { points = "face", clause = "1.1" }
ten = { points = 10, clause = "1.1" }
picture = { points = 0, clause = "1.1" }
[draw]
natural = { totals = [9], clause = "1.2" }
player = { totals = [0, 1, 2, 3, 4], clause = "1.2" }
banker_alone = { totals = [0, 1, 2, 3, 4, 5, 6], clause = "1.2" }
banker = [
  { total = 0, third = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], clause = "1.2" },
  { total = 1, third = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], clause = "1.2" },
  { total = 2, third = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], clause = "1.2" },
  { total = 3, third = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], clause = "1.2" },
  { total = 4, third = [0], clause = "1.2" },
  { total = 5, third = [], clause = "1.2" },
  { total = 6, third = [], clause = "1.2" },
  { total = 7, third = [], clause = "1.2" },
  { total = 8, third = [], clause = "1.2" },
]
[betting]
together = "one-hand"
clause = "1.3"
late = [
  { act = "bet", then = "refused", clause = "1.3" },
  { act = "increase", then = "increase-refused", clause = "1.3" },
  { act = "withdrawal", then = "refused", clause = "1.3" },
]
[[bet]]
name = "moon"
hand = "player"
clause = "1.3"
pays = [
  { winner = "player", cards = [2], pays = "2:1", clause = "1.4" },
  { winner = "player", cards = [3], pays = "0.5:1", clause = "1.4" },
  { winner = "banker", pays = "lose", clause = "1.4" },
  { winner = "tie", pays = "lose", clause = "1.4" },
]
[[bet]]
name = "sun"
hand = "banker"
clause = "1.3"
pays = [
  { winner = "banker", pays = "1:1", clause = "1.4" },
  { winner = "player", pays = "lose", clause = "1.4" },
  { winner = "tie", points = [0, 1, 2, 3, 4, 5, 6, 7, 8], pays = "push", clause = "1.4" },
  { winner = "tie", points = [9], pays = "3:1", clause = "1.4" },
]
[[bet]]
name = "royal-pair"
pair = "banker"
clause = "1.3"
pays = [
  { ranks = ["J", "Q", "K"], pays = "25:1", clause = "1.4" },
  { ranks = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10"], pays = "push", clause = "1.4" },
  { ranks = [], pays = "lose", clause = "1.4" },
]
[insurance]
bets = { umbrella = "banker" }
clause = "1.5"
[[insurance.rows]]
bet = "umbrella"
stage = "after-four"
banker = [8]
player = [4]
odds = "9:1"
pays_on = "tie"
tie_returned = false
clause = "1.5"
[rules]
first-four-alternate = "1.2"
last-digit-counts = "1.2"
higher-points-win = "1.2"
equal-points-tie = "1.2"
bets-open-when-announced = "1.3"
bets-close-when-announced = "1.3"
void-returns-every-stake = { reading = "it does not say" }
insures-own-original-bet = "1.5"
insured-while-open = "1.5"
insured-up-to-original-bet = "1.5"
passed-is-forgone = "1.5"
squeeze-waives-insurance = "1.5"
insurance-can-be-switched-off = "1.5"
[[irregularity]]
event = "face-up"
then = "void"
clause = "1.6"
[clauses]
"1" = ["A chapter", "a heading"]
"1.1" = "The table"
"1.2" = "The deal"
"1.3" = "The bettors"
"1.4" = "The pays"
"1.5" = "Umbrellas"
"1.6" = "Cards seen"
"""


def test_a_sixth_game_requires_no_code() -> None:
    """A file with a new combination of the words is dealt, paid, insured and ruled on by its rows."""
    night = parse("night-six.toml", SIXTH.replace('"1" = ["A chapter", "a heading"]\n', "").encode())
    hands = dealt(night, cards_in("4S KS KH 8H 4D"))  # 4 against 8: Player draws, and Banker stands on 8
    assert len(hands) == 5
    assert {name: row and row.pays.text for name, row in rows(night, hands).items()} == {
        "moon": "lose",
        "sun": "push",
        "royal-pair": "lose",
    }
    (offer,) = offers(night, hands)[Stage.AFTER_FOUR] or ()
    assert (offer.bet, offer.odds.text) == ("umbrella", "9:1")
    assert settle_offer(night, offer, hands) == offer.odds
    face_up = [Irregularity(IrregularityKind.FACE_UP, 1, 1)]
    ruling = course(night, cards_in("4S KS KH 8H 4D"), face_up, Inquiry([])).rulings[0]
    assert (ruling.then.value, ruling.clause) == ("void", "1.6")
    both = {0: PlacedBet(1, "a", "moon", 5), 1: PlacedBet(1, "a", "sun", 5)}
    assert [refusal.code.value for refusal in admit(night, both, None)[1]] == ["both-hands"]
    assert "umbrella" in page.show(night)


def test_books_are_listed_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The five games keep their order, other books follow by name, and a book's id is the name of its file."""
    for name in ("zeta", "night-six", *sorted(GAMES)):
        (tmp_path / f"{name}.toml").write_text(SIXTH.replace('"1" = ["A chapter", "a heading"]\n', ""))
    (tmp_path / "notes.txt").touch()
    assert load.games(tmp_path) == (*GAMES, "night-six", "zeta")
    monkeypatch.setattr(load, "BOOKS", tmp_path)
    assert load.book.__wrapped__("night-six").id == "night-six"
    with pytest.raises(
        SettingsError, match=r'zeta\.toml:2: book\.id: "night-six" differs from the file\'s name, "zeta"; write'
    ):
        load.book.__wrapped__("zeta")


def test_every_book_has_its_own_letter() -> None:
    """The letter names clauses, as in I 3.12.2, in documents and tests."""
    letters = Counter(load.book(game).letter for game in load.GAMES)
    assert letters.total() == len(letters)


def test_a_chapter_is_not_a_clause() -> None:
    """Clauses have numbers such as 1.1 or 3.12.2."""
    assert any(
        'clauses."1": is not a clause number' in problem or "clauses.1: is not a clause number" in problem
        for problem in problems(SIXTH)
    )
