"""Find the words and phrases that the text of the project avoids; `docs/words.toml` lists them with what to write.

`--check` reads every file that git tracks or would track, and its name. FILES reads these files alone.
`--count` prints the number of places for each word and top folder.

Theory of operation: a file is one text, whatever its format: comments, docstrings, string literals, identifiers and
values are read alike. An identifier is split at underscores and capitals. A phrase may cross the end of a line, the
mark of a comment, and the quotes between two adjacent string literals. `str.find` finds the first word of a phrase,
because it is fast; a regular expression then matches the phrase at this position. An exception hides every phrase
that begins in it. A place is allowed if it lies within an allowed text of its file. An allowed text that allows no
place is an error.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parent.parent
WORDS: Final = "docs/words.toml"
WRONG_USE: Final = 2

SEPARATOR: Final = r"[ \t_-]+"
# The end of a line within a phrase: a closing quote, the end, the mark of a comment or quotation, an opening quote.
LINE_END: Final = r"""[ \t]*["']?[ \t]*\\?\r?\n[ \t]*(?:[#>*]+|//+|--+)?[ \t]*(?:[fFrRbB]{0,2}["'])?[ \t]*"""
GAP: Final = rf"(?:{SEPARATOR}|{LINE_END})"
ANY: Final = "*"
SMALL: Final = str.maketrans(ascii_uppercase, ascii_lowercase)  # str.lower() may change the length of a text

KEYS: Final = {  # of each kind of entry: the keys, and the keys that may be absent
    "avoid": ({"words", "write"}, {"except"}),
    "allow": ({"files", "text", "reason"}, set[str]()),
    "exclude": ({"files", "reason"}, set[str]()),
}

Entry: TypeAlias = Mapping[str, object]


class ListError(Exception):
    """The list of words is wrong; the text says where, and what to do."""


@dataclass(frozen=True)
class Avoided:
    """A word or phrase, and the advice for it."""

    words: str
    write: str


@dataclass(frozen=True)
class Allowed:
    """A text in which the words are correct, in the files of a pattern."""

    files: str
    text: str
    reason: str

    def spans(self, text: str) -> Iterator[range]:
        at = text.find(self.text)
        while at >= 0:
            yield range(at, at + len(self.text))
            at = text.find(self.text, at + 1)


@dataclass(frozen=True)
class Excluded:
    """Files that are not read."""

    files: str
    reason: str


@dataclass(frozen=True)
class Place:
    """Where an avoided word is; line 0 is the file's name."""

    file: str
    line: int
    found: Avoided

    def __str__(self) -> str:
        kind = "phrase" if " " in self.found.words else "word"
        where = f"{self.file}:{self.line}" if self.line else f"{self.file}: the file's name"
        return f'{where}: {kind} "{self.found.words}": write {self.found.write}'


@dataclass(frozen=True)
class Rules:
    """The list of words as it is loaded."""

    avoided: tuple[Avoided, ...]
    exceptions: tuple[str, ...]
    allowed: tuple[Allowed, ...]
    excluded: tuple[Excluded, ...]

    @cached_property
    def expressions(self) -> Mapping[str, Sequence[tuple[re.Pattern[str], Avoided | None]]]:
        """By first word: the expressions, the longest phrase first; an exception has no advice."""
        phrases = [*((phrase, None) for phrase in self.exceptions), *((each.words, each) for each in self.avoided)]
        made: dict[str, list[tuple[re.Pattern[str], Avoided | None]]] = {}
        for phrase, advice in sorted(phrases, key=lambda each: len(each[0]), reverse=True):
            made.setdefault(phrase.split(" ")[0], []).append((re.compile(expression_of(phrase)), advice))
        return made

    def found(self, text: str) -> Iterator[tuple[range, Avoided]]:
        """Every avoided word of a text, in order; of two that overlap, the first."""
        small = text.translate(SMALL)
        matches = (match for first in self.expressions for match in self._matches(first, small, text))
        end = 0
        for span, advice in sorted(matches, key=lambda each: (each[0].start, -each[0].stop)):
            if span.start >= end:
                end = span.stop
                if advice is not None:
                    yield span, advice

    def _matches(self, first: str, small: str, text: str) -> Iterator[tuple[range, Avoided | None]]:
        at = small.find(first)
        while at >= 0:
            for expression, advice in self.expressions[first]:
                if match := expression.match(text, at):
                    yield range(*match.span()), advice
                    break
            at = small.find(first, at + 1)

    def excludes(self, file: str) -> bool:
        return any(fnmatchcase(file, each.files) for each in self.excluded)


def expression_of(phrase: str) -> str:
    """Match a phrase in prose, snake_case, CamelCase and CAPITALS. A `*` is any word; a last one is not consumed."""
    first, *others = phrase.split(" ")
    # "\n" and "\t" in a string literal are not letters of the word after them.
    made = rf"(?:(?:(?<![A-Za-z])|(?<=\\[nt]))(?:{first}|{first.upper()}(?![A-Z]))|{first.capitalize()})(?![a-z])"
    for index, word in enumerate(others):
        if word == ANY and index == len(others) - 1:
            made += rf"(?={GAP}[A-Za-z]|[A-Z])"
        elif word == ANY:
            made += rf"{GAP}[A-Za-z]+"
        else:
            made += rf"(?:{GAP}(?:{word}|{word.upper()}(?![A-Z])|{word.capitalize()})|{word.capitalize()})(?![a-z])"
    return made


# ---------------------------------------------------------------------------------------------- the list


def entries(table: Mapping[str, object], kind: str) -> Iterator[tuple[str, Entry]]:
    required, optional = KEYS[kind]
    listed = table.get(kind, [])
    for number, entry in enumerate(listed if isinstance(listed, list) else [listed], 1):
        where = f"{WORDS}: {kind} {number}"
        if not isinstance(entry, dict) or not required <= entry.keys() <= required | optional:
            raise ListError(f"{where}: it must have {sorted(required)} and may have {sorted(optional)}")
        yield where, entry


def text_of(where: str, entry: Entry, key: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        raise ListError(f"{where}: {key}: it must be a text that is not empty")
    return value


def phrases_of(where: str, entry: Entry, key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise ListError(f"{where}: {key}: it must be a list")
    for phrase in value:
        if not isinstance(phrase, str) or not re.fullmatch(r"[a-z]+(?: (?:[a-z]+|\*))*", phrase):
            raise ListError(f'{where}: {key}: {phrase!r}: write small letters, single blanks, and "*" for any word')
    return tuple(value)


def load(text: str) -> Rules:
    table = tomllib.loads(text)
    if unknown := sorted(table.keys() - KEYS.keys()):
        raise ListError(f"{WORDS}: {unknown}: the list has the tables {sorted(KEYS)} only")
    avoided: list[Avoided] = []
    exceptions: list[str] = []
    for where, entry in entries(table, "avoid"):
        write = text_of(where, entry, "write")
        avoided += [Avoided(words, write) for words in phrases_of(where, entry, "words")]
        exceptions += phrases_of(where, entry, "except")
    twice = [words for words, times in Counter(each.words for each in avoided).items() if times > 1]
    if twice:
        raise ListError(f"{WORDS}: {twice}: listed twice; remove one of the two")
    return Rules(
        avoided=tuple(avoided),
        exceptions=tuple(exceptions),
        allowed=tuple(
            Allowed(text_of(where, entry, "files"), text_of(where, entry, "text"), text_of(where, entry, "reason"))
            for where, entry in entries(table, "allow")
        ),
        excluded=tuple(
            Excluded(text_of(where, entry, "files"), text_of(where, entry, "reason"))
            for where, entry in entries(table, "exclude")
        ),
    )


# ---------------------------------------------------------------------------------------------- the files


def tracked(root: Path) -> list[str]:
    """Files that git tracks, and new files that it does not ignore."""
    command = [shutil.which("git") or "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(file for file in set(listed.split("\0")) if file and (root / file).is_file())


def search(rules: Rules, root: Path, files: Iterable[str]) -> tuple[list[Place], set[Allowed]]:
    """Give the places that are not allowed, and the allowances that allow a place."""
    places: list[Place] = []
    used: set[Allowed] = set()
    for file in files:
        text = (root / file).read_text(encoding="utf-8", errors="replace")
        if "\0" in text:
            continue  # not a text
        allowed = [each for each in rules.allowed if fnmatchcase(file, each.files)]
        named = {each for each in allowed if each.text == file}
        for _, advice in rules.found(file):
            used |= named
            if not named:
                places.append(Place(file, 0, advice))
        spans = [(each, span) for each in allowed for span in each.spans(text)]
        for at, advice in rules.found(text):
            by = {each for each, span in spans if span.start <= at.start and at.stop <= span.stop}
            used |= by
            if not by:
                places.append(Place(file, text.count("\n", 0, at.start) + 1, advice))
    return places, used


def stale(rules: Rules, files: Sequence[str], used: set[Allowed], *, whole: bool) -> Iterator[str]:
    """Allowances and exclusions without effect. A pattern of several files is judged with all files only."""
    for each in rules.allowed:
        if each not in used and (whole or each.files in files):
            yield f"{WORDS}: allow {each.text!r} in {each.files}: no avoided word is there; remove the entry"
    for excluded in rules.excluded:
        if whole and not any(fnmatchcase(file, excluded.files) for file in files):
            yield f"{WORDS}: exclude {excluded.files}: there is no such file; remove the entry"


def counted(rules: Rules, places: Sequence[Place]) -> Iterator[str]:
    """One line for each word that is found, one column for each top folder; `.` is the root."""
    by = Counter((place.found.words, top(place.file)) for place in places)
    folders = sorted({folder for _, folder in by})
    yield " ".join([f"{'':18}", *(f"{folder:>{width(folder)}}" for folder in folders), f"{'all':>6}"])
    for words in sorted({each.words for each in rules.avoided}):
        row = [by[words, folder] for folder in folders]
        if any(row):
            yield " ".join([f"{words:18}", *_columns(folders, row), f"{sum(row):6}"])
    sums = [sum(times for (_, of), times in by.items() if of == folder) for folder in folders]
    yield " ".join([f"{'all':18}", *_columns(folders, sums), f"{sum(sums):6}"])


def _columns(folders: Sequence[str], row: Sequence[int]) -> Iterator[str]:
    return (f"{times:{width(folder)}}" for folder, times in zip(folders, row, strict=True))


def top(file: str) -> str:
    return file.split("/", maxsplit=1)[0] if "/" in file else "."


def width(folder: str) -> int:
    return max(5, len(folder))


# ---------------------------------------------------------------------------------------------- the command


def named(root: Path, given: Sequence[str], files: Sequence[str]) -> list[str]:
    """The files of the project that the arguments name; a folder names all files below it."""
    chosen: list[str] = []
    for argument in given:
        path = Path(argument).resolve()
        inside = path.relative_to(root).as_posix() if path.is_relative_to(root) else argument
        below = [file for file in files if inside in {file, "."} or file.startswith(f"{inside}/")]
        if not below:
            raise ListError(f"{argument}: the project has no such file; name a file that git does not ignore")
        chosen += below
    return sorted(set(chosen))


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="words.py", description="Find the words of docs/words.toml.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="print every place; fail if there is one (the default)")
    mode.add_argument("--count", action="store_true", help="print the number of places by word and top folder")
    parser.add_argument("files", nargs="*", metavar="FILE", help="a file or folder to read, instead of all")
    options = parser.parse_args(arguments)
    try:
        rules = load((root / WORDS).read_text(encoding="utf-8"))
        files = tracked(root)
        chosen = named(root, options.files, files) if options.files else files
    except (ListError, OSError, tomllib.TOMLDecodeError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return WRONG_USE
    places, used = search(rules, root, [file for file in chosen if not rules.excludes(file)])
    if options.count:
        print(*counted(rules, places), sep="\n")
        return 0
    problems = [*map(str, places), *stale(rules, chosen, used, whole=not options.files)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
