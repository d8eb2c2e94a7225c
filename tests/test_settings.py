"""Files that people write, key by key: the values of a reader, and all problems together."""

from enum import Enum
from fractions import Fraction
from pathlib import Path

import pytest

from shoed.errors import SettingsError
from shoed.settings import (
    BOOLEAN,
    Kind,
    SeveralProblems,
    Sheet,
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
    """The lines of the error of finish()."""
    with pytest.raises(SettingsError) as caught:
        sheet.finish()
    return str(caught.value).splitlines()


def whole_book(toml: str) -> tuple[str, int, bool, tuple[tuple[int, ...], ...], dict[str, Fraction], list[str]]:
    """Read a small rule book as a loader of rule books does."""
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


def test_a_valid_file_has_typed_values() -> None:
    """Tables, lists of lists, tables whose keys are data, arrays of tables and defaults are read."""
    assert whole_book(
        '[book]\nid = "c"\nshuffled = false\ncells = [[1, 2], []]\npays = { tie = "8", banker = "19/20" }\n'
        '[[clause]]\ntext = "one"\n[[clause]]\ntext = ""\n'
    ) == ("c", 8, False, ((1, 2), ()), {"tie": Fraction(8), "banker": Fraction(19, 20)}, ["one", ""])


def test_all_problems_are_raised_together_in_line_order() -> None:
    """Missing and unknown keys, types, ranges, patterns and conversions are verified at every depth."""
    with pytest.raises(SettingsError) as caught:
        whole_book(
            'bok = 1\n[[clause]]\ntxt = "one"\n[book]\nid = "C1"\ndecks = true\nshuffled = "yes"\n'
            'cells = [\n  [1, 10],\n  7,\n  ["x"],\n]\n'
            'pays.tie = 8\npays.banker = "x"\n[nowhere.near]\n[[clause]]\ntext = 1.5\n'
        )
    assert str(caught.value).splitlines() == [
        "book.toml:1: bok: is not a known key; write book, or remove the key",
        "book.toml:2: clause.text: is missing; write text between double quotes",
        "book.toml:3: clause.txt: is not a known key; write text, or remove the key",
        'book.toml:5: book.id: "C1" is not allowed; use a to z',
        "book.toml:6: book.decks: true is not a whole number; write a whole number from 4 up to 8",
        'book.toml:7: book.shuffled: "yes" is neither true nor false; write true or false, without quotes',
        "book.toml:9: book.cells[1][2]: 10 is out of range; write a whole number from 0 up to 9",
        "book.toml:10: book.cells[2]: 7 is not a list; write [ ] with the values between, separated by commas",
        'book.toml:11: book.cells[3][1]: "x" is not a whole number; write a whole number from 0 up to 9',
        'book.toml:13: book.pays.tie: 8 is not text; write for example "1/2"',
        "book.toml:14: book.pays.banker: Invalid literal for Fraction: 'x'; write for example \"1/2\"",
        "book.toml:15: nowhere: is not a known key; write one of book, clause, or remove the key",
        "book.toml:17: clause.text: 1.5 is not text; write text between double quotes",
    ]


def test_a_missing_key_is_a_problem_of_its_table() -> None:
    """If the table is absent, the problem is in the line of the nearest table above it, or in line 1."""
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


def test_another_value_in_place_of_a_table_is_a_problem() -> None:
    """Single brackets in place of double brackets are the usual mistake: the keys below are verified, too."""
    sheet = sheet_of("a = 1\nb = 2\nc = [3, {}]\n[d]\ny = 1\n")
    sheet.root.table("a")
    assert sheet.root.tables("b") == ()
    for name in ("c", "d"):
        for table in sheet.root.tables(name):
            table.get("x", text(), "")
    assert complaints(sheet) == [
        "book.toml:1: a: 1 is not a table; write [a] and its keys below",
        "book.toml:2: b: is not a list of tables; write [[b]], with double brackets",
        "book.toml:3: c[1]: 3 is not a table; write [[c]] and its keys below",
        "book.toml:4: d: is not a list of tables; write [[d]], with double brackets",
        "book.toml:5: d.y: is not a known key; write one of x, or remove the key",
    ]


def test_a_list_of_tables_may_be_required() -> None:
    """If there are too few, the problem is in the line of the first one, or of the table above."""
    sheet = sheet_of("\n[[a]]\n")
    assert [len(sheet.root.tables(key, at_least=number)) for key, number in (("a", 1), ("a", 2), ("b", 1))] == [1, 1, 0]
    assert complaints(sheet) == [
        "book.toml:1: b: is missing; write [[b]] and its keys below",
        "book.toml:2: a: is missing; write [[a]] and its keys below",
    ]


class Suit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"


def test_a_choice_has_the_value_of_its_word() -> None:
    """The remedy of an unknown word is the most similar word, or the complete list."""
    sheet = sheet_of('a = "hearts"\nb = "Spade"\nc = "x"\nd = 5\n')
    suit = choice({each.value: each for each in Suit})
    assert [sheet.root.require(key, suit) for key in "abcd"] == [Suit.HEARTS, *[Suit.SPADES] * 3]
    assert complaints(sheet) == [
        'book.toml:2: b: "Spade" is unknown; the nearest known is "spades"',
        'book.toml:3: c: "x" is unknown; write "spades" or "hearts"',
        'book.toml:4: d: 5 is not text; write "spades" or "hearts"',
    ]


def test_a_conversion_reports_all_problems_of_a_text() -> None:
    """Each problem has its own remedy."""

    def place(written: str) -> str:
        if written != "a:1":
            raise SeveralProblems("the host is wrong; write a", "the port is wrong; write 1")
        return written

    sheet = sheet_of('a = "b:2"\n')
    assert sheet.root.get("a", converted(place, "a:1"), "") == "a:1"
    assert complaints(sheet) == [
        "book.toml:1: a: the host is wrong; write a",
        "book.toml:1: a: the port is wrong; write 1",
    ]


def test_one_of_some_words_is_its_own_value() -> None:
    """Any other word is a problem."""
    sheet = sheet_of('a = "hearts"\nb = "x"\n')
    suit = one_of(["spades", "hearts"])
    assert [sheet.root.require(key, suit) for key in "ab"] == ["hearts", "spades"]
    assert complaints(sheet) == ['book.toml:2: b: "x" is unknown; write "spades" or "hearts"']


def test_a_conversion_may_have_its_own_remedy() -> None:
    """`PROBLEM; REMEDY` of the converter replaces the example."""

    def odds(written: str) -> Fraction:
        if ":" not in written:
            raise ValueError(f"{written} has no colon; write it as {written}:1")
        return Fraction(written.replace(":", "/"))

    sheet = sheet_of('a = "8"\nb = "19:20"\n')
    assert sheet.root.require("a", converted(odds, "1:2")) == Fraction(1, 2)  # the stand-in
    assert sheet.root.require("b", converted(odds, "1:2")) == Fraction(19, 20)
    assert complaints(sheet) == ["book.toml:1: a: 8 has no colon; write it as 8:1"]


def test_semicolons_and_line_ends_in_a_value_do_not_divide_its_problem() -> None:
    """A converter may quote the value in its message."""
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
    """A number with a fraction is not a whole number, even 8.0."""
    sheet = sheet_of("a = 8.0\nb = 8")
    sheet.root.require("a", kind)
    assert sheet.root.require("b", kind) == 8
    assert complaints(sheet) == [f"book.toml:1: a: 8.0 is not a whole number; {right}"]


def test_the_same_table_may_be_read_in_parts() -> None:
    """A key that one reader requests is known; an absent table is empty."""
    sheet = sheet_of("[a]\nx = 1\ny = 2\n")
    assert sheet.root.table("a").require("x", integer()) == 1
    assert sheet.root.table("a").require("y", integer()) == 2
    assert list(sheet.root.table("b")) == []
    sheet.finish()


def test_keys_that_depend_on_a_wrong_value_may_be_allowed() -> None:
    """The wrong value is one problem; an unknown key is another problem."""
    sheet = sheet_of('protocol = "angle-eye"\nbcc_span = "x"\nbc_span = 1\n')
    assert sheet.root.require("protocol", or_none(choice({"angel-eye": 1}))) is None
    sheet.root.allow(("bcc_span",))
    assert complaints(sheet) == [
        'book.toml:1: protocol: "angle-eye" is unknown; the nearest known is "angel-eye"',
        "book.toml:3: bc_span: is not a known key; write bcc_span, or remove the key",
    ]


def test_a_reader_may_add_a_problem() -> None:
    """A check that compares two keys is an example."""
    sheet = sheet_of("a = 1\nb = 2\n")
    assert sheet.root.require("b", integer()) > sheet.root.require("a", integer())
    sheet.root.fault("b", f"is more than a in line {sheet.root.line('a')}", "write less")
    assert complaints(sheet) == ["book.toml:2: b: is more than a in line 1; write less"]


def test_a_warning_is_not_a_problem() -> None:
    """A warning has its line, and finish() does not raise."""
    sheet = sheet_of("a = 1\nb = 2\n")
    sheet.root.require("a", integer())
    sheet.root.require("b", integer())
    sheet.root.warn("b", "is 2", "write 3")
    sheet.finish()
    assert [str(each) for each in sheet.warnings] == ["book.toml:2: b: is 2; write 3"]


def test_a_problem_stays_on_one_line() -> None:
    """Line ends in keys and values are escaped; long values are cut."""
    sheet = sheet_of(f'"a\\nb \\u2028" = "x\\ny"\nlong = "{"y" * 100}"\nüber = 1\n'.replace("ü", "u"))
    for key in sheet.root:
        sheet.root.require(key, integer())
    lines = complaints(sheet)
    assert lines[0] == r'book.toml:1: "a\nb \u2028": "x\ny" is not a whole number; write a whole number'
    assert lines[1] == f'book.toml:2: long: "{"y" * 60}..." is not a whole number; write a whole number'


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
    """The writer of the file can find the value."""
    sheet = sheet_of(f"a = {value}")
    sheet.root.require("a", integer())
    assert complaints(sheet) == [f"book.toml:1: a: {shown_as} is not a whole number; write a whole number"]


def test_an_empty_file_is_an_empty_table() -> None:
    """Comments and blank lines add nothing."""
    for toml in ("", "\n\n", "# nothing\n", "\ufeff"):
        sheet = sheet_of(toml)
        assert list(sheet.root) == []
        sheet.finish()


def test_keys_are_named_as_toml_names_them() -> None:
    """A table in a list has the name of the list; other elements have their number, from 1."""
    assert dotted(("table", 1, "shoe", "port")) == "table.shoe.port"
    assert dotted(("row", 0, 1)) == "row[1][2]"
    assert dotted(("a b", "", "c")) == '"a b"."".c'


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """The values and the line numbers are the same as in the plain file."""
    file = tmp_path / "book.toml"
    file.write_bytes(b'\xef\xbb\xbfa = """x\r\ny"""\r\nb = true\r\n')
    sheet = read(str(file))
    assert sheet.root.require("a", text()) == "x\ny"
    assert sheet.root.require("b", integer()) == 0
    assert complaints(sheet) == [f"{file}:3: b: true is not a whole number; write a whole number"]
