"""Files that people write, key by key: what a reader asks for and is given, and every problem at once."""

from enum import Enum
from fractions import Fraction
from pathlib import Path

import pytest

from shoed.errors import SettingsError
from shoed.settings import (
    BOOLEAN,
    Kind,
    Sheet,
    Wrong,
    choice,
    converted,
    dotted,
    integer,
    listing,
    one_of,
    or_none,
    parse,
    read,
    text,
)


def sheet_of(toml: str) -> Sheet:
    return parse("book.toml", toml.encode())


def complaints(sheet: Sheet) -> list[str]:
    """What finish() raises, line by line."""
    with pytest.raises(SettingsError) as caught:
        sheet.finish()
    return str(caught.value).splitlines()


def whole_book(toml: str) -> tuple[str, int, bool, tuple[tuple[int, ...], ...], dict[str, Fraction], list[str]]:
    """A rule book in small, read as a rule-book loader would read one."""
    sheet = sheet_of(toml)
    book = sheet.root.table("book")
    head = book.require("id", text("use a to z", r"[a-z]+")), book.get("decks", integer(4, 8), 8)
    shuffled = book.get("shuffled", BOOLEAN, default=True)
    cells = book.get("cells", listing(listing(integer(0, 9))), ())
    pays = book.table("pays")
    odds = {bet: pays.require(bet, converted(Fraction, "1/2")) for bet in pays}
    clauses = [clause.require("text", text()) for clause in sheet.root.tables("clause")]
    sheet.finish()
    return *head, shuffled, cells, odds, clauses


def test_a_right_file_gives_typed_values() -> None:
    """Tables, lists of lists, tables whose keys are data, arrays of tables, defaults."""
    assert whole_book(
        '[book]\nid = "c"\nshuffled = false\ncells = [[1, 2], []]\npays = { tie = "8", banker = "19/20" }\n'
        '[[clause]]\ntext = "one"\n[[clause]]\ntext = ""\n'
    ) == ("c", 8, False, ((1, 2), ()), {"tie": Fraction(8), "banker": Fraction(19, 20)}, ["one", ""])


def test_all_problems_come_at_once_and_in_line_order() -> None:
    """Missing and unknown keys, types, ranges, patterns, conversions, at every depth."""
    with pytest.raises(SettingsError) as caught:
        whole_book(
            'bok = 1\n[[clause]]\ntxt = "one"\n[book]\nid = "C1"\ndecks = true\nshuffled = "yes"\n'
            'cells = [\n  [1, 10],\n  7,\n  ["x"],\n]\n'
            'pays.tie = 8\npays.banker = "x"\n[nowhere.near]\n[[clause]]\ntext = 1.5\n'
        )
    assert str(caught.value).splitlines() == [
        "book.toml:1: bok: is no known key; the nearest known is book",
        "book.toml:2: clause.text: is missing; write text between double quotes",
        "book.toml:3: clause.txt: is no known key; the nearest known is text",
        'book.toml:5: book.id: "C1" is not allowed; use a to z',
        "book.toml:6: book.decks: true is no whole number; write a whole number from 4 up to 8",
        'book.toml:7: book.shuffled: "yes" is neither true nor false; write true or false, without quotes',
        "book.toml:9: book.cells[1][2]: 10 is out of range; write a whole number from 0 up to 9",
        "book.toml:10: book.cells[2]: 7 is no list; write [ ] with the values between, separated by commas",
        'book.toml:11: book.cells[3][1]: "x" is no whole number; write a whole number from 0 up to 9',
        'book.toml:13: book.pays.tie: 8 is no text; write for example "1/2"',
        "book.toml:14: book.pays.banker: Invalid literal for Fraction: 'x'; write for example \"1/2\"",
        "book.toml:15: nowhere: is no known key; known here: book, clause",
        "book.toml:17: clause.text: 1.5 is no text; write text between double quotes",
    ]


def test_a_missing_key_is_a_problem_of_its_table() -> None:
    """Of the nearest one that is there: an absent [site] sends its keys to the file's first line."""
    sheet = sheet_of("\n[[table]]\n[table.shoe]\n[[table]]\n")
    sheet.root.table("site").require("name", text())
    for table in sheet.root.tables("table"):
        table.table("shoe").require("port", text())
    right = "is missing; write text between double quotes"
    assert complaints(sheet) == [
        f"book.toml:1: site.name: {right}",
        f"book.toml:3: table.shoe.port: {right}",
        f"book.toml:4: table.shoe.port: {right}",
    ]


def test_what_should_be_a_table_and_is_none_is_said_so() -> None:
    """Single brackets in place of double ones are the usual case: the keys below are judged all the same."""
    sheet = sheet_of("a = 1\nb = 2\nc = [3, {}]\n[d]\ny = 1\n")
    sheet.root.table("a")
    assert sheet.root.tables("b") == ()
    for name in ("c", "d"):
        for table in sheet.root.tables(name):
            table.get("x", text(), "")
    assert complaints(sheet) == [
        "book.toml:1: a: 1 is no table; write [a] and its keys below",
        "book.toml:2: b: is no list of tables; write [[b]], with double brackets",
        "book.toml:3: c[1]: 3 is no table; write [[c]] and its keys below",
        "book.toml:4: d: is no list of tables; write [[d]], with double brackets",
        "book.toml:5: d.y: is no known key; known here: x",
    ]


def test_a_list_of_tables_may_be_required() -> None:
    """Too few of them are a problem of the first, or of the table they are missing from."""
    sheet = sheet_of("\n[[a]]\n")
    assert [len(sheet.root.tables(key, at_least=number)) for key, number in (("a", 1), ("a", 2), ("b", 1))] == [1, 1, 0]
    assert complaints(sheet) == [
        "book.toml:1: b: is missing; write [[b]] and its keys below",
        "book.toml:2: a: is missing; write [[a]] and its keys below",
    ]


class Suit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"


def test_a_choice_gives_what_its_word_stands_for() -> None:
    """A word unlike all others is answered with the whole list, one that is like another with that."""
    sheet = sheet_of('a = "hearts"\nb = "Spade"\nc = "x"\nd = 5\n')
    suit = choice({each.value: each for each in Suit})
    assert [sheet.root.require(key, suit) for key in "abcd"] == [Suit.HEARTS, *[Suit.SPADES] * 3]
    assert complaints(sheet) == [
        'book.toml:2: b: "Spade" is unknown; the nearest known is "spades"',
        'book.toml:3: c: "x" is unknown; write "spades" or "hearts"',
        'book.toml:4: d: 5 is no text; write "spades" or "hearts"',
    ]


def test_a_conversion_reports_all_that_is_wrong_with_a_text() -> None:
    """Each problem is one of the key, with its own remedy."""

    def place(written: str) -> str:
        if written != "a:1":
            raise Wrong("the host is wrong; write a", "the port is wrong; write 1")
        return written

    sheet = sheet_of('a = "b:2"\n')
    assert sheet.root.get("a", converted(place, "a:1"), "") == "a:1"
    assert complaints(sheet) == [
        "book.toml:1: a: the host is wrong; write a",
        "book.toml:1: a: the port is wrong; write 1",
    ]


def test_one_of_some_words_stands_for_itself() -> None:
    """Any other word is a problem."""
    sheet = sheet_of('a = "hearts"\nb = "x"\n')
    suit = one_of(["spades", "hearts"])
    assert [sheet.root.require(key, suit) for key in "ab"] == ["hearts", "spades"]
    assert complaints(sheet) == ['book.toml:2: b: "x" is unknown; write "spades" or "hearts"']


def test_a_conversion_may_bring_its_own_remedy() -> None:
    """`PROBLEM; REMEDY` from the converter stands before the example."""

    def odds(written: str) -> Fraction:
        if ":" not in written:
            raise ValueError(f"{written} has no colon; write it as {written}:1")
        return Fraction(written.replace(":", "/"))

    sheet = sheet_of('a = "8"\nb = "19:20"\n')
    assert sheet.root.require("a", converted(odds, "1:2")) == Fraction(1, 2)  # the stand-in
    assert sheet.root.require("b", converted(odds, "1:2")) == Fraction(19, 20)
    assert complaints(sheet) == ["book.toml:1: a: 8 has no colon; write it as 8:1"]


def test_semicolons_and_line_ends_in_a_value_do_not_tear_its_problem() -> None:
    """Converters quote the value as it stands."""
    sheet = sheet_of('a = "x; y"\nb = "x\\ny"\nc = "x; y"\n')
    sheet.root.require("a", converted(Fraction, "1/2"))
    sheet.root.require("b", converted(Fraction, "1/2"))
    sheet.root.require("c", text("use a to z", "[a-z]+"))
    assert complaints(sheet) == [
        "book.toml:1: a: Invalid literal for Fraction: 'x; y'; write for example \"1/2\"",
        "book.toml:2: b: Invalid literal for Fraction: 'x\\ny'; write for example \"1/2\"",
        'book.toml:3: c: "x; y" is not allowed; use a to z',
    ]


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        (integer(), "write a whole number"),
        (integer(1), "write a whole number from 1"),
        (integer(maximum=9), "write a whole number up to 9"),
    ],
)
def test_bounds_are_named_where_they_exist(kind: Kind[int], right: str) -> None:
    """And numbers that are not whole are none, whatever their value."""
    sheet = sheet_of("a = 8.0\nb = 8")
    sheet.root.require("a", kind)
    assert sheet.root.require("b", kind) == 8
    assert complaints(sheet) == [f"book.toml:1: a: 8.0 is no whole number; {right}"]


def test_the_same_table_may_be_read_in_parts() -> None:
    """Keys known to one reader are known; an absent table stays empty."""
    sheet = sheet_of("[a]\nx = 1\ny = 2\n")
    assert sheet.root.table("a").require("x", integer()) == 1
    assert sheet.root.table("a").require("y", integer()) == 2
    assert list(sheet.root.table("b")) == []
    sheet.finish()


def test_keys_that_hang_on_a_wrong_value_may_be_allowed() -> None:
    """One mistake is one problem, and a key that nobody knows is another one."""
    sheet = sheet_of('protocol = "angle-eye"\nbcc_span = "x"\nbc_span = 1\n')
    assert sheet.root.require("protocol", or_none(choice({"angel-eye": 1}))) is None
    sheet.root.allow(("bcc_span",))
    assert complaints(sheet) == [
        'book.toml:1: protocol: "angle-eye" is unknown; the nearest known is "angel-eye"',
        "book.toml:3: bc_span: is no known key; the nearest known is bcc_span",
    ]


def test_problems_of_a_readers_own_join_the_others() -> None:
    """For checks across keys."""
    sheet = sheet_of("a = 1\nb = 2\n")
    assert sheet.root.require("b", integer()) > sheet.root.require("a", integer())
    sheet.root.fault("b", f"is more than a in line {sheet.root.line('a')}", "write less")
    assert complaints(sheet) == ["book.toml:2: b: is more than a in line 1; write less"]


def test_a_warning_is_no_problem() -> None:
    """What may be meant so is said with its line, and the sheet is finished all the same."""
    sheet = sheet_of("a = 1\nb = 2\n")
    sheet.root.require("a", integer())
    sheet.root.require("b", integer())
    sheet.root.warn("b", "is 2", "write 3")
    sheet.finish()
    assert [str(each) for each in sheet.warnings] == ["book.toml:2: b: is 2; write 3"]


def test_a_problem_stays_on_one_line() -> None:
    """Whatever the key or the value holds; long values are cut."""
    sheet = sheet_of(f'"a\\nb \\u2028" = "x\\ny"\nlong = "{"y" * 100}"\nüber = 1\n'.replace("ü", "u"))
    for key in sheet.root:
        sheet.root.require(key, integer())
    lines = complaints(sheet)
    assert lines[0] == r'book.toml:1: "a\nb \u2028": "x\ny" is no whole number; write a whole number'
    assert lines[1] == f'book.toml:2: long: "{"y" * 60}..." is no whole number; write a whole number'


@pytest.mark.parametrize(
    ("value", "shown_as"),
    [
        ("1979-05-27 07:32:00", "1979-05-27 07:32:00"),
        ("[1]", "a list"),
        ("{a = 1}", "a table"),
        ("false", "false"),
        ("inf", "inf"),
        ('"ö\\""', '"ö\\""'),
    ],
)
def test_values_are_shown_as_they_are_written(value: str, shown_as: str) -> None:
    """So that their writer finds them."""
    sheet = sheet_of(f"a = {value}")
    sheet.root.require("a", integer())
    assert complaints(sheet) == [f"book.toml:1: a: {shown_as} is no whole number; write a whole number"]


def test_an_empty_file_is_an_empty_table() -> None:
    """Comments and blank lines are nothing either."""
    for toml in ("", "\n\n", "# nothing\n", "\ufeff"):
        sheet = sheet_of(toml)
        assert list(sheet.root) == []
        sheet.finish()


def test_keys_are_named_as_toml_names_them() -> None:
    """Tables in lists go by the list's name, other elements by their number from 1."""
    assert dotted(("table", 1, "shoe", "port")) == "table.shoe.port"
    assert dotted(("row", 0, 1)) == "row[1][2]"
    assert dotted(("a b", "", "c")) == '"a b"."".c'


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """Values and lines are those of the plain file."""
    file = tmp_path / "book.toml"
    file.write_bytes(b'\xef\xbb\xbfa = """x\r\ny"""\r\nb = true\r\n')
    sheet = read(str(file))
    assert sheet.root.require("a", text()) == "x\ny"
    assert sheet.root.require("b", integer()) == 0
    assert complaints(sheet) == [f"{file}:3: b: true is no whole number; write a whole number"]
