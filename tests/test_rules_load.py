"""A rule book is read whole or refused with the line, and a new game is a new file."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from shoed.errors import SettingsError
from shoed.rules import load, page
from shoed.rules.bets import Placed, admit
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.irregular import Happened, course
from shoed.rules.load import parse
from shoed.rules.questions import Inquiry
from shoed.rules.results import rows
from shoed.words import Event, Stage
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

FILES: Final = {game: load.BOOKS / f"{game}.toml" for game in GAMES}


def problems(toml: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        parse("book.toml", toml.encode())
    return [str(problem) for problem in caught.value.problems]


# ----------------------------------------------------------------------------------------- what is refused, and where

# (game, what stands in its book, what stands there instead, the complaint); it is about that very line.
BROKEN: Final = [
    # words
    ("commission", 'winner = "player", pays = "1:1"', 'winner = "punter", pays = "1:1"', '"punter" is unknown'),
    ("commission", 'event = "face-up"', 'event = "faceup"', 'the nearest known is "face-up"'),
    ("commission", 'then = "continue"\nclause = "5.9"', 'then = "go-on"\nclause = "5.9"', '"go-on" is unknown'),
    ("commission", "seated-first =", "sitting-first =", "rules.sitting-first: is no known key"),
    ("commission", 'options = "unless-established"', 'options = "mostly"', '"mostly" is unknown'),
    ("commission", 'together = "any"', 'together = "some"', '"some" is unknown'),
    ("commission", 'points = "face"', 'points = "half"', '"half" is unknown'),
    ("commission", 'letter = "C"', 'letter = "c"', '"c" is not allowed'),
    ("fortune-six", "any = true", "any = 1", "1 is neither true nor false"),
    ("commission", 'title = "Commission', 'title = "Com|mission', "is not allowed; write a few words, without |"),
    ("commission", '"5.9" = "A card', '"5.9" = "A | card', "is not allowed; write a few words, without |"),
    ("commission", "bean-9 = 9", '"Bean 9" = 9', "is no name of a layout; use a to z, 0 to 9 and -"),
    # pays
    ("commission", '"8:1"', '"\u0668:1"', "are no odds"),
    ("commission", '"0.95:1"', '"0.95"', '"0.95" are no odds'),
    ("commission", '"8:1"', '"0:1"', '"0:1" are no odds'),
    ("commission", '"8:1"', '"8:0"', '"8:0" are no odds'),
    ("super-six-plus", '"1.5:1"', '"push"', '"push" are no odds'),
    ("fortune-six", "cards = [2]", "cards = [2, 3]", "overlaps row 1: both are for banker winning on 6 with 3 cards"),
    ("fortune-six", "points = [6], pays", "points = [5, 6], pays", "overlaps row 1"),
    ("fortune-six", "points = [6], pays", "points = [], pays", "is empty"),
    ("fortune-six", "points = [6], pays", "points = [6, 6], pays", "names something twice"),
    ("fortune-six", "points = [6], pays", "points = [0, 6], pays", "no round ends with points 0 here"),
    ("fortune-six", 'winner = "player", pays = "1:1"', 'winner = "player", cards = [4], pays = "1:1"', "out of range"),
    (
        "fortune-six",
        'winner = "tie", pays = "8:1"',
        'winner = "tie", cards = [2], pays = "8:1"',
        "no round ends with cards 2",
    ),
    ("easy-six", 'ranks = ["6"]', 'ranks = ["6", "7"]', "overlaps row 1: both are for a pair of 7"),
    ("easy-six", 'ranks = ["6"]', 'ranks = ["6", "11"]', '"11" is unknown'),
    ("easy-six", 'ranks = ["6"], ', 'winner = "tie", ', "is no known key"),
    ("tournament", 'hand = "player"', 'hand = "player"\npair = "player"', "and hand exclude each other"),
    # the Table of Play
    ("commission", "{ total = 6,", "{ total = 5,", "5 has a row already"),
    ("commission", "{ total = 6,", "{ total = 8,", "8, which is a natural"),
    ("commission", "player = { totals = [0, 1, 2, 3, 4, 5]", "player = { totals = [0, 1, 8]", "8, which is a natural"),
    ("commission", "player = { totals = [0, 1, 2, 3, 4, 5]", "player = { totals = []", "is empty"),
    # clauses
    ("commission", 'clause = "5.9"', 'clause = "5.99"', "clause 5.99 is not in [clauses]; the nearest is 5.9"),
    ("commission", 'clause = "5.9"', 'clause = "9"', '"9" is not allowed'),
    ("commission", 'clause = "5.9"', 'clause = "5.\u0669"', "is not allowed; write a clause"),
    ("commission", '"5.14" = ["Displays', '"5.\u0661" = ["Displays', "is no clause number"),
    ("commission", 'also = ["1.9"]', 'also = ["7.7"]', "clause 7.7 is not in [clauses]"),
    ("commission", 'seated-first = ["5.1", "1.17"', 'seated-first = ["5.1", "1.77"', "clause 1.77 is not in [clauses]"),
    ("commission", '"5.14" = ["Displays', '"5.14.x" = ["Displays', "is no clause number"),
    ("commission", '"5.9" = "A card', '"5.9" = ["A card", "Not seen."] #', "is kept by irregularity face-up"),
    ("commission", '"1.2" = ["A bet is a wager", "', '"1.2" = "A bet is a wager" #', "is cited by no entry"),
    ("commission", '"1.2" = ["A bet is a wager"', '"1.2" = [""', "is not allowed"),
    # ranges and doubles
    ("commission", "most = 8", "most = 3", "3 is less than fewest, 4"),
    ("commission", "most = 8", "most = 11", "11 is out of range"),
    ("commission", "big-12 = 12", "big-12 = 0", "0 is out of range"),
    ("commission", "layouts = { bean-9 = 9, bean-7 = 7, mini-7 = 7, big-12 = 12 }", "layouts = {}", "names no layout"),
    ("commission", "ace = { points = 1", "ace = { points = 11", "11 is out of range"),
    ("commission", 'name = "banker"', 'name = "player"', '"player" is declared twice'),
    ("commission", 'hand = "banker"', 'hand = "player"', "is the Original Bet of player already"),
    ("commission", 'act = "increase"', 'act = "bet"', "bet has a row already"),
    ("fortune-six", 'act = "bet", then = "refused"', 'act = "bet", then = "stands"', "stands does not fit a late bet"),
    # insurance
    ("super-six-plus", 'bet = "player-insurance", stage', 'bet = "tie-insurance", stage', '"tie-insurance" is unknown'),
    ("super-six-plus", "banker-insurance =", "tie =", "is a bet of the game already"),
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
        "Player 5, Banker 8, where no more",
    ),
    ("super-six-plus", 'pays_on = "tie"', 'pays_on = "banker"', "can never pay at Player 9, Banker 0"),
    ("super-six-plus", 'pays_on = "tie"', 'pays_on = "player"', "pays when the insured hand wins"),
    ("super-six-plus", "tie_returned = false", "tie_returned = true", "both pays and is returned on a tie"),
    # irregularities
    ("commission", "when = { established = true }", "when = { established = false }", "can apply together with row"),
    ("commission", "when = { established = true }", "when = { won = true }", "is no known key"),
    ("commission", "when = { established = true }", "when = { insurance-on = true }", "is no known key"),
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
        "hang on established",
    ),
    ("commission", 'event = "not-shuffled"', 'event = "deck-count"', "can apply together with row"),
    (
        "commission",
        'event = "not-shuffled"\nthen = "void"',
        'event = "not-shuffled"\nthen = "void"\ndecides = "dealer"',
        "decides: is of no use with void",
    ),
    (
        "commission",
        'event = "noticed-late"\nthen = "stands"',
        'event = "noticed-late"\nthen = "stands"\noptions = "always"\noptions_clause = "5.12"',
        "options: is of no use with stands",
    ),
]


@pytest.mark.parametrize(("game", "right", "wrong", "complaint"), BROKEN)
def test_what_is_wrong_is_refused_with_its_line(game: str, right: str, wrong: str, complaint: str) -> None:
    """An unknown word, an overlap, a result that nothing pays, a foreign clause: told with file, line and remedy."""
    before, stood, after = FILES[game].read_text().partition(right)
    assert stood
    found = [problem for problem in problems(before + wrong + after) if complaint in problem]
    assert found
    first = before.count("\n") + 1
    # Of two rows that clash the second is named, and it says which the first is.
    last = first + (60 if "overlaps" in complaint or "together" in complaint else wrong.count("\n"))
    assert all(first <= int(problem.split(":")[1]) <= last for problem in found)
    assert all(re.fullmatch(r"book\.toml:\d+: [^:]+: .+; .+", problem) for problem in found)


MISSING: Final = [
    (
        "commission",
        '  { total = 6, third = [6, 7], clause = "3.12" },\n',
        "draw.banker: has no row for Banker's total 6",
    ),
    ("commission", '  { winner = "tie", pays = "push", clause = "3.14" },\n', "bet.pays: pays nothing for a tie on 0"),
    ("easy-six", '  { ranks = ["6"], pays = "13:1", clause = "4.1.1" },\n', "bet.pays: pays nothing for a pair of 6"),
    ("easy-six", '  { ranks = [], pays = "lose", clause = "3.4" },\n', "bet.pays: pays nothing for no pair"),
    ("commission", 'clause = "2.2.1"\n', "decks.clause: is missing"),
    ("commission", 'first-four-alternate = ["3.10", "1.7"]\n', "rules.first-four-alternate: is missing: every game"),
    ("commission", 'option-return = "5.12.3"\n', "rules.option-return: is missing: the options of irregularities"),
    ("super-six-plus", 'passed-is-forgone = "5.3"\n', "rules.passed-is-forgone: is missing: the insurance needs it"),
    ("commission", 'minimum = ["3.4", "3.5"]\n', "rules.minimum: is missing: the limits hang together"),
    (
        "commission",
        '  { act = "increase", then = "refused", clause = "5.6" },\n',
        "betting.late: has no row for increase",
    ),
    ("commission", 'clause = "5.17"\ndecides = "shift-manager"\n', "irregularity.clause: is missing"),
    ("commission", 'decides = "pit-supervisor"\noptions = "always"\n', "irregularity.decides: is missing"),
    ("commission", '"5.9" = "A card face up changes nothing, with options"\n', "clause 5.9 is not in [clauses]"),
    ("tournament", 'hand = "banker"\n', 'bet: none has hand = "banker"'),
]


@pytest.mark.parametrize(("game", "taken", "complaint"), MISSING)
def test_what_is_missing_is_refused(game: str, taken: str, complaint: str) -> None:
    """A row, a pay, a rule or a clause that was forgotten is named; the book does not load without it."""
    toml = FILES[game].read_text()
    assert taken in toml
    assert any(complaint in problem for problem in problems(toml.replace(taken, "", 1)))


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
        *((rule, "the limits hang together") for rule in LIMITS),
        *((rule, "the insurance needs it") for rule in OF_AN_INSURANCE),
        *((rule, "the options of irregularities need it") for rule in OF_THE_OPTIONS),
    ],
)
def test_each_rule_of_a_group_is_needed(rule: str, reason: str) -> None:
    """A book that has the others of the group and not this one is refused."""
    toml, taken = re.subn(rf"(?m)^{rule} = .*\n", "", FILES["super-six-plus"].read_text())
    assert taken == 1
    assert any(f"rules.{rule}: is missing: {reason}" in problem for problem in problems(toml))


@pytest.mark.parametrize("rule", OF_AN_INSURANCE)
def test_a_game_without_insurance_has_no_rules_of_it(rule: str) -> None:
    """A rule that nothing could ever use is refused."""
    toml = FILES["commission"].read_text().replace("[rules]\n", f'[rules]\n{rule} = "5.3"\n')
    assert any(f"rules.{rule}: needs an insurance" in problem for problem in problems(toml))


def test_cards_have_all_values() -> None:
    """Where no card is worth 1 the Table of Play has rows that nothing reaches."""
    toml = FILES["commission"].read_text().replace("ace = { points = 1,", "ace = { points = 2,")
    assert any("leaves no card worth 1" in problem for problem in problems(toml))


def test_an_insurance_without_bets_is_told_at_each_row() -> None:
    """No bet of that name is known, whatever the row says."""
    toml = FILES["super-six-plus"].read_text()
    toml = toml.replace('bets = { player-insurance = "player", banker-insurance = "banker" }', "bets = {}")
    assert sum("is unknown" in problem for problem in problems(toml)) == 15


def test_a_book_needs_irregularities() -> None:
    """A game for which nothing can go wrong is a book that is not complete."""
    toml, _, _ = FILES["commission"].read_text().partition("[[irregularity]]")
    assert any("irregularity: is missing; write [[irregularity]]" in problem for problem in problems(toml))


def test_the_first_of_several_results_without_a_row_is_named() -> None:
    """By its name, in the order of the alphabet, whatever wins."""
    toml = FILES["commission"].read_text()
    for winner in ("banker", "tie"):
        row = next(line for line in toml.splitlines() if f'winner = "{winner}"' in line)
        toml = toml.replace(f"{row}\n", "", 1)
    (problem,) = [each for each in problems(toml) if "pays nothing" in each]
    assert "pays nothing for a tie on 0" in problem


def test_everything_wrong_is_told_at_once() -> None:
    """A compliance officer corrects a book in one go: all problems, in the order of their lines."""
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
"1.1" = "What is on the table"
"1.2" = "How it is dealt"
"1.3" = "Who bets"
"1.4" = "What it pays"
"1.5" = "Umbrellas"
"1.6" = "Cards seen"
"""


def test_a_sixth_game_needs_no_python() -> None:
    """A file that recombines the words is drawn, paid, insured and judged as it says."""
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
    ruling = course(night, cards_in("4S KS KH 8H 4D"), [Happened(Event.FACE_UP, 1, 1)], Inquiry([])).rulings[0]
    assert (ruling.then.value, ruling.clause) == ("void", "1.6")
    both = {0: Placed(1, "a", "moon", 5), 1: Placed(1, "a", "sun", 5)}
    assert [refusal.code.value for refusal in admit(night, both, None)[1]] == ["both-hands"]
    assert "umbrella" in page.show(night)


def test_books_are_listed_by_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The five in their order, then whatever else lies there by its name; each is to have its file's name as its id."""
    for name in ("zeta", "night-six", *sorted(GAMES)):
        (tmp_path / f"{name}.toml").write_text(SIXTH.replace('"1" = ["A chapter", "a heading"]\n', ""))
    (tmp_path / "notes.txt").touch()
    assert load.games(tmp_path) == (*GAMES, "night-six", "zeta")
    monkeypatch.setattr(load, "BOOKS", tmp_path)
    assert load.book.__wrapped__("night-six").id == "night-six"
    with pytest.raises(
        SettingsError, match=r'zeta\.toml:2: book\.id: "night-six" is not the file\'s name, "zeta"; let'
    ):
        load.book.__wrapped__("zeta")


def test_no_two_books_have_one_letter() -> None:
    """Clauses are named by it, as in I 3.12.2, on the page and on the tests."""
    letters = Counter(load.book(game).letter for game in load.GAMES)
    assert letters.total() == len(letters)


def test_a_chapter_is_no_clause() -> None:
    """The list is of clauses as 1.1 or 3.12.2; a chapter has no entry."""
    assert any(
        'clauses."1": is no clause number' in problem or "clauses.1: is no clause number" in problem
        for problem in problems(SIXTH)
    )
