"""Files that people write, as TOML: the line of every value, and the files that cannot be read."""

import json
import tomllib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.errors import Problem, SettingsError
from shoed.settings import Route, Scan, parse, read


def refusals(data: bytes) -> tuple[Problem, ...]:
    """The problems of a file that cannot be read; none for a valid file."""
    try:
        parse("book.toml", data)
    except SettingsError as error:
        return error.problems
    return ()


def refusal(data: bytes) -> str:
    (problem,) = refusals(data)
    return str(problem)


# ------------------------------------------------------------------------------------- lines

RULE_BOOK = '''\
title = "a # within quotes"   # a comment
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
    """The example has multi-line strings and lists, dotted and quoted keys, inline tables, and late parents."""
    tomllib.loads(RULE_BOOK)
    assert Scan(RULE_BOOK).lines == RULE_BOOK_LINES


class Writer:
    """Writes TOML from random choices and records the line of each value."""

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
        """Write a gap in which TOML allows line ends: nothing, line ends, or comments with brackets and quotes."""
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
        """Write `key = value`, or `key.other.key = value`."""
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
        """Write a table with its pairs and its subtables; its header may be absent, or the last line."""
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
def test_every_value_of_any_document_has_its_line(written: Writer) -> None:
    """The routes are those of tomllib, and the lines are those of the writer."""
    assert set(Scan(written.toml).lines) == set(routes_of(tomllib.loads(written.toml)))
    assert Scan(written.toml).lines == written.lines


@given(documents(), st.data())
def test_a_damaged_document_is_one_problem_within_the_file(written: Writer, data: st.DataObject) -> None:
    """After any small change, every value has a line, or there is one problem on an existing line."""
    start = data.draw(st.integers(0, len(written.toml)))
    end = data.draw(st.integers(start, min(len(written.toml), start + 3)))
    inserted = data.draw(st.sampled_from(["", '"', "'''", "[", "]]", "{", "=", "\n", ".", "a = 1\n", "\\", "\0"]))
    damaged = written.toml[:start] + inserted + written.toml[end:]
    problems = refusals(damaged.encode())
    assert all(1 <= (problem.line or 0) <= damaged.count("\n") + 1 for problem in problems)
    assert len("\n".join(map(str, problems)).splitlines()) == len(problems) <= 1
    assert problems or set(routes_of(tomllib.loads(damaged))) == set(Scan(damaged).lines)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_settings_error(data: bytes) -> None:
    """A file may hold any bytes."""
    assert len(refusals(data)) <= 1


# --------------------------------------------------------------------------------------- files that are not TOML


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
def test_an_error_of_tomllib_is_one_problem_with_its_line_and_key(toml: str, complaint: str) -> None:
    """The text is the message of tomllib, with the key."""
    right = 'write key = value, and text between double quotes, as in name = "rws"'
    assert refusal(toml.encode()) == f"book.toml:{complaint}; {right}"


@pytest.mark.parametrize("torn", ['"""\nb = 1\n[c]\n', "'''\nb\n", "[\n  1,\n\n", "[[", "{ b = [\n\n", "[" * 5000])
def test_an_unclosed_value_is_a_problem_of_its_first_line(torn: str) -> None:
    """The position of tomllib is the end of the file, which does not help the writer."""
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
    """The line is the line of the second key, not the last line of its value."""
    assert refusal(toml.encode()) == f"book.toml:{complaint}; write it once"


def test_a_number_too_long_for_python_is_refused() -> None:
    """The ValueError of Python has no position."""
    assert refusal(b"a = " + b"9" * 5000).startswith("book.toml:1: a: is not TOML: exceeds the limit")


def test_a_byte_that_is_not_utf8_is_a_problem_on_its_line() -> None:
    """An editor with another encoding writes such a byte."""
    right = "save the file with the encoding UTF-8"
    assert refusal(b"a = 1\n# Pr\xe4sident\n") == f"book.toml:2: file: byte 0xE4 is not UTF-8; {right}"
    assert refusal(BOM_UTF8 + b"a = 1\n\xe4") == f"book.toml:2: file: byte 0xE4 is not UTF-8; {right}"
    assert refusal("a = 1".encode("utf-16")) == f"book.toml:1: file: byte 0xFF is not UTF-8; {right}"


def test_a_file_that_cannot_be_read_is_a_problem_of_its_first_line(tmp_path: Path) -> None:
    """The file is absent, or is a directory."""
    for name, reason in (("absent.toml", "No such file or directory"), (".", "Is a directory")):
        file = str(tmp_path / name)
        with pytest.raises(SettingsError) as caught:
            read(file)
        right = "name a file that exists and can be read"
        assert str(caught.value) == f"{file}: cannot be read: {reason}; {right}"
