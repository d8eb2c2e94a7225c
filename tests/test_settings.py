"""Files that people write: where everything stands, and every problem at once."""

import json
import tomllib
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.errors import Problem, SettingsError
from shoed.settings import (
    BOOLEAN,
    Kind,
    Route,
    Scan,
    Sheet,
    choice,
    converted,
    dotted,
    integer,
    listing,
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


def refusals(data: bytes) -> tuple[Problem, ...]:
    """Why a file is not read at all; nothing for one that is."""
    try:
        parse("book.toml", data)
    except SettingsError as error:
        return error.problems
    return ()


def refusal(data: bytes) -> str:
    (problem,) = refusals(data)
    return str(problem)


# ------------------------------------------------------------------------------------- where everything stands

RULE_BOOK = '''\
title = "a # that is no comment"   # one that is
note = """
[not.a.header]
not_a_key = 1
""""
raw = \'\'\'
["x]\'\'\'
site.name = "rws"
"quoted # key" = 1
'literal key' = 2

[[row]]
player = 0
cells = [
    [1, 2], # a comment with "a quote, and a ]
    [
        3,
    ],
]
pay = { odds = "1:1", side.bet = """
two lines""", when = 1979-05-27 07:32:00.5 }

[row.sub]
x = 1.5

[[row]]

[row.sub]
x = 2.5
[[row.sub.deep]]
[other.table]
[other]
'''

RULE_BOOK_LINES: dict[Route, int] = {
    (): 1,
    ("title",): 1,
    ("note",): 2,
    ("raw",): 6,
    ("site",): 8,
    ("site", "name"): 8,
    ("quoted # key",): 9,
    ("literal key",): 10,
    ("row",): 12,
    ("row", 0): 12,
    ("row", 0, "player"): 13,
    ("row", 0, "cells"): 14,
    ("row", 0, "cells", 0): 15,
    ("row", 0, "cells", 0, 0): 15,
    ("row", 0, "cells", 0, 1): 15,
    ("row", 0, "cells", 1): 16,
    ("row", 0, "cells", 1, 0): 17,
    ("row", 0, "pay"): 20,
    ("row", 0, "pay", "odds"): 20,
    ("row", 0, "pay", "side"): 20,
    ("row", 0, "pay", "side", "bet"): 20,
    ("row", 0, "pay", "when"): 21,
    ("row", 0, "sub"): 23,
    ("row", 0, "sub", "x"): 24,
    ("row", 1): 26,
    ("row", 1, "sub"): 28,
    ("row", 1, "sub", "x"): 29,
    ("row", 1, "sub", "deep"): 30,
    ("row", 1, "sub", "deep", 0): 30,
    ("other", "table"): 31,
    ("other",): 32,
}


def test_every_key_header_and_element_has_its_line() -> None:
    """Multi-line strings and lists, dotted and quoted keys, inline tables, headers before their parents."""
    tomllib.loads(RULE_BOOK)
    assert Scan(RULE_BOOK).lines == RULE_BOOK_LINES


class Writer:
    """Writes TOML from drawn choices and keeps account of the lines as it goes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.toml = ""
        self.lines: dict[Route, int] = {(): 1}

    @property
    def line(self) -> int:
        return self.toml.count("\n") + 1

    def one_of(self, *texts: str) -> str:
        return self.draw(st.sampled_from(texts))

    def put(self, text: str) -> None:
        self.toml += text

    def gap(self) -> None:
        """Where TOML lets lines end: none, some, comments with traps in them."""
        self.put(self.one_of("", "", " ", "\n", ' # "\n', "\t#]}'''\n\n", "  \n # a.b = [\n "))

    def end(self) -> None:
        self.put(self.one_of("\n", "\n\n", ' # the " end\n', "#[x]\n  # y = 1\n"))

    def key(self, key: str) -> str:
        escaped = "".join(f"\\u{ord(each):04X}" if ord(each) < 0x10000 else each for each in key)
        quoted = [json.dumps(key, ensure_ascii=False), f'"{escaped}"']
        if key.isascii() and key.replace("_", "").replace("-", "").isalnum():
            quoted.append(key)
        if key.isprintable() and "'" not in key:
            quoted.append(f"'{key}'")
        return self.draw(st.sampled_from(quoted))

    def fresh_keys(self, most: int) -> list[str]:
        strange = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=4)
        names = st.sampled_from(["a", "b", "1", "-", "true", "key_1", "x.y", "a b", "", "#", '"', "=", "[[a]]", "ö"])
        return self.draw(st.lists(names | strange, max_size=most, unique=True))

    def pair(self, base: Route, key: str, depth: int) -> None:
        """`key = value`, or `key.further.on = value`."""
        keys = [key, *self.fresh_keys(2)] if self.draw(st.booleans()) else [key]
        route = base
        for part in keys:
            route = (*route, part)
            self.lines[route] = self.line
        self.put(self.one_of(".", " . ").join(self.key(part) for part in keys))
        self.put(self.one_of("=", " = ", "\t="))
        self.value(route, depth)

    def value(self, route: Route, depth: int) -> None:
        match self.draw(st.integers(0, 3 if depth else 1)):
            case 0:
                self.put(
                    self.one_of("1", "-1_000", "0xFF", "6.5e-3", "+inf", "true", "07:32:00.5", "1979-05-27 07:32:00Z")
                )
            case 1:
                self.put(
                    self.one_of(
                        '""',
                        "''",
                        '"\\"#]}\\\\"', "'\\'", '"a = [1"', '""""""', "''''''", '"""\n"""', "'''\n\n[x]\n'''",
                        '"""a""\n\\""" # b\n\\\\"""', "'''''a'\n'''''", '""""x\n"""""', '"""\\\n  folded"""',
                    )
                )  # fmt: skip
            case 2:
                self.put("[")
                for index in range(self.draw(st.integers(0, 3))):
                    self.gap()
                    self.lines[*route, index] = self.line
                    self.value((*route, index), depth - 1)
                    self.gap()
                    self.put(",")
                self.gap()
                self.put("]")
            case _:
                self.put("{")
                for index, key in enumerate(self.fresh_keys(3)):
                    self.put(", " if index else " ")
                    self.pair(route, key, depth - 1)
                self.put(" }")

    def header(self, route: Route, brackets: int) -> None:
        self.put(self.one_of("", "  "))
        names = [part for part in route if isinstance(part, str)]
        for length in range(1, len(route)):
            self.lines.setdefault(route[:length], self.line)
        self.lines[route] = self.line
        self.put("[" * brackets + self.one_of(".", " . ").join(map(self.key, names)) + "]" * brackets)
        self.end()

    def body(self, route: Route, keys: list[str]) -> None:
        for key in keys:
            self.pair(route, key, 2)
            self.end()

    def table(self, route: Route, depth: int) -> None:
        """A table with its pairs, and those below it; its header may be absent, or come last."""
        keys = self.fresh_keys(6)
        own, below = keys[: len(keys) // 2], keys[len(keys) // 2 :] if depth else []
        place = self.one_of("first", "last", "nowhere") if route and isinstance(route[-1], str) else "first"
        if place == "first":
            if route:
                self.header(route, 1 if isinstance(route[-1], str) else 2)
            self.body(route, own)
        for key in below:
            if self.draw(st.booleans()):
                self.table((*route, key), depth - 1)
            else:
                for index in range(self.draw(st.integers(1, 3))):
                    self.table((*route, key, index), depth - 1)
        if place == "last":
            self.header(route, 1)
            self.body(route, own)


@st.composite
def documents(draw: st.DrawFn) -> Writer:
    writer = Writer(draw)
    writer.gap()
    writer.table((), 2)
    return writer


def routes_of(value: object, route: Route = ()) -> Iterator[Route]:
    yield route
    match value:
        case dict():
            for key, each in value.items():
                yield from routes_of(each, (*route, key))
        case list():
            for index, each in enumerate(value):
                yield from routes_of(each, (*route, index))
        case _:
            pass


@given(documents())
def test_the_lines_of_any_document_are_the_ones_its_writer_knows(written: Writer) -> None:
    """Exactly those routes that tomllib has values for, each with the line on which it was written."""
    assert set(Scan(written.toml).lines) == set(routes_of(tomllib.loads(written.toml)))
    assert Scan(written.toml).lines == written.lines


@given(documents(), st.data())
def test_a_damaged_document_is_one_problem_within_the_file(written: Writer, data: st.DataObject) -> None:
    """Whatever is cut out or put in: a sheet with a line for each value, or one problem on a line that exists."""
    start = data.draw(st.integers(0, len(written.toml)))
    end = data.draw(st.integers(start, min(len(written.toml), start + 3)))
    inserted = data.draw(st.sampled_from(["", '"', "'''", "[", "]]", "{", "=", "\n", ".", "a = 1\n", "\\", "\0"]))
    damaged = written.toml[:start] + inserted + written.toml[end:]
    problems = refusals(damaged.encode())
    assert all(1 <= problem.line <= damaged.count("\n") + 1 for problem in problems)
    assert len("\n".join(map(str, problems)).splitlines()) == len(problems) <= 1
    assert problems or set(routes_of(tomllib.loads(damaged))) == set(Scan(damaged).lines)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_settings_error(data: bytes) -> None:
    """A file may hold anything."""
    assert len(refusals(data)) <= 1


# --------------------------------------------------------------------------------------- files that are no TOML


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("a = 1\nb = rws\n", "2: b: is not TOML: invalid value at column 5"),
        ("[site]\nname = \n", "2: site.name: is not TOML: invalid value at column 8"),
        ('[site]\nname = "rws\n', "2: site.name: is not TOML: illegal character '\\n' at column 12"),
        ("a = 1 b = 2\n", "1: a: is not TOML: expected newline or end of document after a statement at column 7"),
        ("[site\nname = 1\n", "1: site: is not TOML: expected ']' at the end of a table declaration at column 6"),
        ("x = [1,\n  2\n[site]\n", "3: x: is not TOML: unclosed array at column 1"),
        ("[site]\n= 3\n", "2: file: is not TOML: invalid statement at column 1"),
        ("\n?", "2: file: is not TOML: invalid statement at column 1"),
        ("a = {b = 1, b = 2}\n", "1: a: is not TOML: duplicate inline table key 'b' at column 18"),
        ("a = 1\n[[a]]\n", "2: a[1]: is not TOML: cannot overwrite a value at column 4"),
    ],
)
def test_what_tomllib_refuses_is_one_problem_with_its_line_and_key(toml: str, complaint: str) -> None:
    """The words are those of tomllib; the key is ours."""
    right = 'write key = value, and text between double quotes, as in name = "rws"'
    assert refusal(toml.encode()) == f"book.toml:{complaint}; {right}"


@pytest.mark.parametrize("torn", ['"""\nb = 1\n[c]\n', "'''\nb\n", "[\n  1,\n\n", "[[", "{ b = [\n\n", "[" * 5000])
def test_what_never_closes_is_a_problem_where_it_opens(torn: str) -> None:
    """The end of the file, where tomllib notices it, helps nobody."""
    assert refusal(f'[site]\nname = "rws"\nseats = {torn}'.encode()).startswith(
        "book.toml:3: site.seats: is not TOML: "
    )


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("[mqtt]\nurl = 1\n[site]\n[mqtt]\n", "4: mqtt: is given twice, first in line 1"),
        ("[mqtt]\nurl = 1\n\nurl = [\n1\n]\n", "4: mqtt.url: is given twice, first in line 2"),
        ('a.b = 1\n"a".b = 1\n', "2: a.b: is given twice, first in line 1"),
        ("[[t]]\nx = 1\n[[t]]\nx = 1\nx = 2\n", "5: t.x: is given twice, first in line 4"),
    ],
)
def test_a_key_given_twice_names_both_lines(toml: str, complaint: str) -> None:
    """The line is the second key's, not the one where its value ends."""
    assert refusal(toml.encode()) == f"book.toml:{complaint}; write it once"


def test_a_number_too_long_for_python_is_refused() -> None:
    """The ValueError is no TOMLDecodeError and has no position."""
    assert refusal(b"a = " + b"9" * 5000).startswith("book.toml:1: a: is not TOML: exceeds the limit")


def test_a_byte_that_is_not_utf8_is_a_problem_on_its_line() -> None:
    """As an editor with another encoding leaves it."""
    right = "save the file with the encoding UTF-8"
    assert refusal(b"a = 1\n# Pr\xe4sident\n") == f"book.toml:2: file: byte 0xE4 is not UTF-8; {right}"
    assert refusal("a = 1".encode("utf-16")) == f"book.toml:1: file: byte 0xFF is not UTF-8; {right}"


def test_a_file_that_cannot_be_read_is_a_problem_of_its_first_line(tmp_path: Path) -> None:
    """Absent, or a directory."""
    for name, reason in (("absent.toml", "No such file or directory"), (".", "Is a directory")):
        file = str(tmp_path / name)
        with pytest.raises(SettingsError) as caught:
            read(file)
        right = "name a file that is there and may be read"
        assert str(caught.value) == f"{file}:1: file: cannot be read: {reason}; {right}"


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """Values and lines are those of the plain file."""
    file = tmp_path / "book.toml"
    file.write_bytes(b'\xef\xbb\xbfa = """x\r\ny"""\r\nb = true\r\n')
    sheet = read(str(file))
    assert sheet.root.require("a", text()) == "x\ny"
    assert sheet.root.require("b", integer()) == 0
    assert complaints(sheet) == [f"{file}:3: b: true is no whole number; write a whole number"]


# ------------------------------------------------------------------------------------------- what a reader asks


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
