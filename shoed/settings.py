"""Files that people write, in TOML: the configuration and the rule books.

Theory of operation: tomllib reads the values and verifies the syntax, but gives no positions. Scan reads the same text
again when a line number is needed, and records the line of each key, header and list element. A Sheet holds the values
and the lines. A reader requests each key with a Kind. A wrong value makes a Problem, and the reader continues with the
stand-in of the Kind. finish() raises all problems together, in line order. A key that no reader requests is a problem,
too.

    sheet = read("shoed.toml")
    site = sheet.root.table("site")
    name = site.require("name", text("use a to z", r"[a-z]+"))
    floor = site.get("floor", integer(0, 90), 0)
    sheet.finish()
"""

import json
import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct

from shoed.errors import Problem, SettingsError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")
Route = tuple[str | int, ...]  # from the root of the file to a value: keys, and positions in lists from 0

# Blanks match nothing; comments are dropped. A multi-line string without its closing quotes extends to the end of the
# text: otherwise its lines would be read as keys.
TOKENS: Final = (
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'  # up to two quotes may precede the closing three
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[\[\]{}=,.\n]"
    r"|[^\s\[\]{}=,.\"'#]+"
    r"|#[^\n]*"
)
LONGEST_SHOWN: Final = 60  # characters: the value of a wrong key may be a whole certificate
BARE_KEY: Final = r"[A-Za-z0-9_-]+"
POSITION: Final = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"  # at the end of the messages of tomllib


class Scan:
    """The line of each key, header and element; of an invalid text, up to the first error."""

    def __init__(self, toml: str) -> None:
        self.lines: dict[Route, int] = {(): 1}
        self.statements: list[tuple[int, Route]] = []
        self._tokens: list[tuple[str, int]] = []
        self._at = 0
        self._headers: dict[Route, int] = {}  # the number of [[headers]] of each array of tables so far
        line = 1
        for token in re.findall(TOKENS, toml, re.DOTALL):
            if not token.startswith("#"):
                self._tokens.append((token, line))
            line += token.count("\n")
        self._tokens.append(("\n", line))
        # An invalid text may end too early (IndexError) or lack a key (ValueError).
        with suppress(IndexError, ValueError, RecursionError):
            self._document()

    def _document(self) -> None:
        base: Route = ()
        while self._at < len(self._tokens):
            opening, line = self._tokens[self._at]
            if opening == "\n":
                self._at += 1
                continue
            self.statements.append((line, ()))  # if the key is invalid
            route = self._header(line) if opening == "[" else self._keys_below(base, line)
            self.statements[-1] = (line, route)
            if opening == "[":
                base = route
            else:
                self._value(route)

    def _header(self, line: int) -> Route:
        array = self._tokens[self._at + 1][0] == "["
        self._at += 1 + array
        *above, last = self._key()
        self._at += 1 + array
        route: Route = ()
        for key in above:
            route = (*route, key)
            self.lines.setdefault(route, line)
            if route in self._headers:
                route = (*route, self._headers[route] - 1)
        route = (*route, last)
        if array:
            self.lines.setdefault(route, line)
            count = self._headers.get(route, 0)
            self._headers[route] = count + 1
            route = (*route, count)
        self.lines[route] = line  # [a] may follow [a.b], which has set a line for `a`
        return route

    def _keys_below(self, base: Route, line: int) -> Route:
        """The route of `a.b =` below base."""
        route = base
        for key in self._key():
            route = (*route, key)
            self.lines.setdefault(route, line)
        self._at += 1  # the equals sign
        return route

    def _key(self) -> list[str]:
        keys = []
        while True:
            keys.append(_unquoted(self._tokens[self._at][0]))
            self._at += 1
            if self._tokens[self._at][0] != ".":
                return keys
            self._at += 1

    def _value(self, route: Route) -> None:
        opening = self._tokens[self._at][0]
        self._at += 1
        if opening == "[":
            index = 0
            while (line := self._line_before("]")) is not None:
                self.lines[*route, index] = line
                self._value((*route, index))
                index += 1
        elif opening == "{":
            while (line := self._line_before("}")) is not None:
                self._value(self._keys_below(route, line))
        else:  # 1979-05-27 07:32:00.5 is four tokens
            while self._tokens[self._at][0] not in {",", "]", "}", "\n"}:
                self._at += 1

    def _line_before(self, closing: str) -> int | None:
        """The line of the next element; None after the closing bracket."""
        while self._tokens[self._at][0] in {",", "\n"}:
            self._at += 1
        token, line = self._tokens[self._at]
        if token != closing:
            return line
        self._at += 1
        return None


def _unquoted(key: str) -> str:
    return key if re.fullmatch(BARE_KEY, key) else next(iter(tomllib.loads(f"{key}=0")))


class SeveralProblems(ValueError):
    """Several problems of one text; each is `PROBLEM; REMEDY`."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def problems_of(error: ValueError) -> tuple[str, ...]:
    return error.problems if isinstance(error, SeveralProblems) else (str(error),)


class Sheet:
    """One file: its values, their lines, and the problems so far."""

    def __init__(self, file: str, values: Mapping[str, object], toml: str) -> None:
        self.file = file
        self._toml = toml
        self._problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._tables: dict[Route, TomlTable] = {}
        self.root = self.table((), values)

    def table(self, route: Route, value: object) -> "TomlTable":
        """The table of a route. Every caller gets the same TomlTable, which collects the requested keys."""
        if route not in self._tables:
            if not isinstance(value, dict):
                header = f"[{dotted(route)}]" if isinstance(route[-1], str) else f"[[{dotted(route[:-1])}]]"
                self.fault(route, f"{shown(value)} is not a table", f"write {header} and its keys below")
                value = {}
            self._tables[route] = TomlTable(self, route, value)
        return self._tables[route]

    @cached_property
    def _lines(self) -> Mapping[Route, int]:
        """Scanned when a line is needed: a start without problems needs none."""
        return Scan(self._toml).lines

    def line(self, route: Route) -> int:
        """The line of the key; the line of the nearest table above it if the key is absent."""
        while route not in self._lines:
            route = route[:-1]
        return self._lines[route]

    def fault(self, route: Route, problem: str, remedy: str) -> None:
        self._problems.append(Problem(self.file, self.line(route), dotted(route), problem, remedy))

    def warn(self, route: Route, problem: str, remedy: str) -> None:
        """A value that is valid, and probably a mistake."""
        self.warnings.append(Problem(self.file, self.line(route), dotted(route), problem, remedy))

    def finish(self) -> None:
        """Raise all problems, in line order. Call it after the last key."""
        for table in self._tables.values():
            table.fault_unknown_keys()
        if self._problems:
            raise SettingsError(tuple(sorted(self._problems, key=lambda problem: problem.line or 0)))


class Node(Struct, frozen=True):
    """A value and its place."""

    sheet: Sheet
    route: Route
    value: object

    def read(self, kind: "Kind[T]") -> T:
        try:
            return kind.read(self)
        except ValueError as error:
            problem, remedy = error.args if len(error.args) == 2 else (str(error), kind.right)  # noqa: PLR2004
            self.sheet.fault(self.route, problem, remedy)
            return kind.stand_in


class Kind(Struct, Generic[T_co], frozen=True):
    """A type of value, with its check.

    `read` returns the typed value, or raises ValueError(problem) or ValueError(problem, remedy). `right` is the remedy
    of the first form. `stand_in` replaces a wrong value until finish() raises.
    """

    right: str
    stand_in: T_co
    read: Callable[[Node], T_co]


class TomlTable:
    """One table of a file. An absent table is empty: its required keys are missing."""

    def __init__(self, sheet: Sheet, route: Route, values: Mapping[str, object]) -> None:
        self.sheet = sheet
        self.route = route
        self._values = values
        self._known: dict[str, None] = {}  # an ordered set: the requested keys

    def __iter__(self) -> Iterator[str]:
        """The keys of the file, for tables whose keys are data."""
        return iter(self._values)

    def require(self, key: str, kind: Kind[T]) -> T:
        if key not in self._values:
            self.fault(key, "is missing", kind.right)
        return self.get(key, kind, kind.stand_in)

    def get(self, key: str, kind: Kind[T], default: D) -> T | D:
        self._known[key] = None
        if key not in self._values:
            return default
        return Node(self.sheet, (*self.route, key), self._values[key]).read(kind)

    def table(self, key: str) -> "TomlTable":
        self._known[key] = None
        return self.sheet.table((*self.route, key), self._values.get(key, {}))

    def tables(self, key: str, at_least: int = 0) -> tuple["TomlTable", ...]:
        """The tables of [[key]], or of key = [{...}, {...}]."""
        self._known[key] = None
        route, found = (*self.route, key), self._values.get(key, [])
        if isinstance(found, list):
            if len(found) < at_least:
                self.fault(key, "is missing", f"write [[{dotted(route)}]] and its keys below")
            return tuple(self.sheet.table((*route, index), value) for index, value in enumerate(found))
        self.sheet.fault(route, "is not a list of tables", f"write [[{dotted(route)}]], with double brackets")
        return (self.sheet.table(route, found),) if isinstance(found, dict) else ()

    def line(self, key: str) -> int:
        return self.sheet.line((*self.route, key))

    def fault(self, key: str, problem: str, remedy: str) -> None:
        """Add a problem that no Kind detects."""
        self.sheet.fault((*self.route, key), problem, remedy)

    def warn(self, key: str, problem: str, remedy: str) -> None:
        self.sheet.warn((*self.route, key), problem, remedy)

    def allow(self, keys: Iterable[str]) -> None:
        """Accept keys without reading them: their meaning depends on another value, which is wrong."""
        self._known |= dict.fromkeys(keys)

    def fault_unknown_keys(self) -> None:
        for key in self._values:
            if key not in self._known:
                near = nearest(key, self._known)
                right = near or f"one of {', '.join(self._known)}"
                remedy = f"write {right}, or remove the key"
                self.fault(key, "is not a known key", remedy)


def read(file: str) -> Sheet:
    try:
        return parse(file, Path(file).read_bytes())
    except OSError as error:
        raise _refusal(
            file, None, f"cannot be read: {error.strerror}", "name a file that exists and can be read"
        ) from error


def parse(file: str, data: bytes) -> Sheet:
    data = data.removeprefix(BOM_UTF8)  # editors on Windows write it, and CR LF
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refusal(
            file, line, f"byte 0x{data[error.start]:02X} is not UTF-8", "save the file with the encoding UTF-8"
        ) from error
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError; ValueError for a number of 5000 digits
        raise _not_toml(file, str(error), Scan(text)) from error
    return Sheet(file, values, text)


def _refusal(file: str, line: int | None, problem: str, remedy: str) -> SettingsError:
    return SettingsError((Problem(file, line, "file", problem, remedy),))


def _not_toml(file: str, message: str, scan: Scan) -> SettingsError:
    """The message of tomllib, with the key at its position."""
    where = re.search(POSITION, message)
    at = int(where[1]) if where and where[1] else None  # None: not closed, or too long
    begun = [statement for statement in scan.statements if at is None or statement[0] <= at]
    line, route = begun[-1] if begun else (at or 1, ())
    first = next((line for line, earlier in begun if earlier == route), line)
    if first < line:
        problem, remedy = f"is given twice, first in line {first}", "write it once"
    else:
        line = at or line
        reason = re.sub(POSITION, "", message)
        column = f" at column {where[2]}" if where and where[2] else ""
        problem = f"is not TOML: {reason[0].lower()}{reason[1:]}{column}"
        remedy = 'write key = value, and text between double quotes, as in name = "rws"'
    return SettingsError((Problem(file, line, dotted(route) or "file", problem, remedy),))


def text(right: str = "write text between double quotes", pattern: str = r"(?s).*") -> Kind[str]:
    def convert(value: str) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(f"{shown(value)} is not allowed")
        return value

    return Kind(right, "", lambda node: convert(_text(node)))


def integer(minimum: int | None = None, maximum: int | None = None) -> Kind[int]:
    def convert(node: Node) -> int:
        match node.value:
            case bool():
                raise ValueError(f"{shown(node.value)} is not a whole number")
            case int(value):
                if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
                    raise ValueError(f"{value} is out of range")
                return value
            case value:
                raise ValueError(f"{shown(value)} is not a whole number")

    lowest = "" if minimum is None else f" from {minimum}"
    highest = "" if maximum is None else f" up to {maximum}"
    return Kind(f"write a whole number{lowest}{highest}", minimum or 0, convert)


def _boolean(node: Node) -> bool:
    match node.value:
        case bool(value):
            return value
        case value:
            raise ValueError(f"{shown(value)} is neither true nor false")


BOOLEAN: Final = Kind("write true or false, without quotes", stand_in=False, read=_boolean)


def choice(options: Mapping[str, T]) -> Kind[T]:
    """One of a few words; each has its value."""

    def convert(node: Node) -> T:
        word = _text(node)
        if word in options:
            return options[word]
        near = nearest(word, options)
        raise ValueError(f"{shown(word)} is unknown", f"the nearest known is {shown(near)}" if near else right)

    right = f"write {' or '.join(map(shown, options))}"
    return Kind(right, next(iter(options.values())), convert)


def one_of(words: Iterable[str]) -> Kind[str]:
    return choice({each: each for each in words})


def converted(convert: Callable[[str], T], example: str) -> Kind[T]:
    """Text that `convert` accepts, as it accepts the example. For any other text `convert` raises ValueError.

    The message is `PROBLEM; REMEDY`, or the problem alone. SeveralProblems has several messages.
    """

    def split(message: str, written: str) -> tuple[str, str]:
        message = " ".join(message.split())  # a message may quote the value, with its line ends
        problem, _, remedy = message.partition("; ")
        return (message, right) if not remedy or "; " in written else (problem, remedy)

    def read_text(node: Node) -> T:
        written = _text(node)
        try:
            return convert(written)
        except ValueError as error:
            *others, last = (split(message, written) for message in problems_of(error))
            for other in others:
                node.sheet.fault(node.route, *other)
            raise ValueError(*last) from error

    right = f"write for example {shown(example)}"
    return Kind(right, convert(example), read_text)


def listing(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """A list of values of one kind, each with its own line."""

    def convert(node: Node) -> tuple[T, ...]:
        match node.value:
            case list(found):
                return tuple(Node(node.sheet, (*node.route, at), each).read(kind) for at, each in enumerate(found))
            case value:
                raise ValueError(f"{shown(value)} is not a list")

    return Kind("write [ ] with the values between, separated by commas", (), convert)


def or_none(kind: Kind[T]) -> Kind[T | None]:
    """The same kind with None as its stand-in: the reader then knows that the value is wrong."""
    return Kind(kind.right, None, kind.read)


def _text(node: Node) -> str:
    match node.value:
        case str(value):
            return value
        case value:
            raise ValueError(f"{shown(value)} is not text")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most similar, if one is similar."""
    return next(iter(get_close_matches(word.lower(), known, 1)), None)


def dotted(route: Route) -> str:
    """`table.shoe.port`, without the index of a table in a list; other list elements count from 1, as in `row[2]`."""
    name = ""
    for part, after in zip_longest(route, route[1:]):
        match part:
            case str():
                name += ("." if name else "") + (part if re.fullmatch(BARE_KEY, part) else shown(part))
            case int() if not isinstance(after, str):
                name += f"[{part + 1}]"
    return name


def shown(value: object) -> str:
    """A value as in the file, on one line."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            short = value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}..."
            return json.dumps(short, ensure_ascii=not short.isprintable())
        case None:
            return "null"
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return str(value)
