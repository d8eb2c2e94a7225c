"""The check of words: it finds words in any text, and every allowance must have an effect."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from docs import words

# The words of the project's own list are not written here: the check reads this file too.
LIST: Final = """
[[avoid]]
words = ["gizmo"]
write = '"device"'

[[avoid]]
words = ["odd bird", "bird cage"]
write = "the name"

[[avoid]]
words = ["makes much *"]
write = "a figure"
except = ["it makes much", "makes much more"]

[[exclude]]
files = "docs/words.toml"
reason = "it holds the words"
"""
ALLOWED: Final = """
[[allow]]
files = "{files}"
text = "{text}"
reason = "a published name"
"""
SHIPPED: Final = words.load((words.ROOT / words.WORDS).read_text(encoding="utf-8"))

Run: TypeAlias = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program on a new repository of these files; give its status and its lines."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)  # noqa: S607 -- any git will do

    def run(files: Mapping[str, str], *arguments: str, listed: str = LIST) -> tuple[int, list[str]]:
        for name, text in {**files, words.WORDS: listed}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        status = words.main([str(tmp_path / each) if each in files else each for each in arguments], tmp_path)
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).splitlines()

    return run


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "# A gizmo.\n"),
        ("a.py", '"""A gizmo."""\n'),
        ("a.py", 'SHOWN = "one\\ngizmo"\n'),
        ("a.py", "def all_gizmo_rows() -> None: ...\n"),
        ("a.py", "class NewGizmo: ...\n"),
        ("a.py", "LAST_GIZMO = 1\n"),
        ("a.py", "gizmo2 = 1\n"),
        ("a.js", "oneGizmoRow = 1\n"),
        ("a.toml", 'title = "A gizmo"\n'),
        ("a.toml", "gizmo = 1\n"),
        ("a.md", "The *Gizmo*.\n"),
        ("a.md", "```\na gizmo\n```\n"),
        ("a.c", "/* gizmo */\n"),
        ("a.service", "# gizmo\n"),
        ("run", "echo gizmo\n"),
    ],
)
def test_a_word_is_found_in_all_text(run: Run, name: str, text: str) -> None:
    """Comments, docstrings, strings, identifiers, keys, values, prose, code blocks, and files of any other format."""
    line = 1 + text[: text.lower().index("gizmo")].count("\n")
    assert run({name: text}) == (1, [f'{name}:{line}: word "gizmo": write "device"'])


@pytest.mark.parametrize("text", ["gizmos", "agizmo", "AGIZMO", "GIZMOS", "Gizmology", "ungizmo", "gi zmo", "giz\nmo"])
def test_a_part_of_a_longer_word_is_not_found(run: Run, text: str) -> None:
    """A word ends where its letters end."""
    assert run({"a.md": text}) == (0, [])


@pytest.mark.parametrize(
    "text",
    [
        "An odd bird.\n",
        "an odd\nbird\n",
        "    # an odd\n    # bird\n",
        "    // an odd\n    // bird\n",
        "/* an odd\n * bird */\n",
        "-- odd\n-- bird\n",
        "> odd\n> bird\n",
        'write("an odd "\n      f"bird")\n',
        "def an_odd_bird() -> None: ...\n",
        "class OddBird: ...\n",
        "ODD_BIRD = 1\n",
        "odd-bird.toml\n",
    ],
)
def test_a_phrase_is_found_across_the_end_of_a_line_and_in_an_identifier(run: Run, text: str) -> None:
    """The marks of comments and quotations, and the quotes of adjacent strings, do not divide a phrase."""
    assert run({"a.txt": text}) == (1, ['a.txt:1: phrase "odd bird": write the name'])


@pytest.mark.parametrize("text", ["odd\n\nbird", "odd. bird", "odd, bird", "odd birds", "(odd) bird", "odd: bird"])
def test_two_words_that_are_apart_are_not_a_phrase(run: Run, text: str) -> None:
    """A blank line or a punctuation mark divides a phrase."""
    assert run({"a.md": text}) == (0, [])


def test_two_phrases_that_overlap_are_one_place(run: Run) -> None:
    """The first one is reported."""
    assert run({"a.md": "an odd bird cage"}) == (1, ['a.md:1: phrase "odd bird": write the name'])


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("this makes much noise", 1),
        ("test_this_makes_much_noise", 1),
        ("this makes much\n# noise", 1),
        ("this makes much.", 0),
        ("this makes much", 0),
        ("it makes much noise", 0),
        ("this makes much more", 0),
        ("it\nmakes much noise", 0),
        ("it makes much noise; this makes much noise", 1),
    ],
)
def test_a_phrase_with_any_word_has_exceptions(run: Run, text: str, status: int) -> None:
    """The phrase requires a further word. An exception hides only the phrase that begins within it."""
    assert run({"a.md": text})[0] == status


def test_the_name_of_a_file_is_read(run: Run) -> None:
    """The folders of the file are a part of its name."""
    assert run({"b/new-gizmo.md": "text"}) == (1, ['b/new-gizmo.md: the file\'s name: word "gizmo": write "device"'])


def test_an_allowed_text_allows_its_words_and_no_others(run: Run) -> None:
    """The text is exact, and belongs to its files."""
    listed = LIST + ALLOWED.format(files="a.py", text="'gizmo'")
    found = run({"a.py": "key = 'gizmo'\nother = 'gizmo key'\n", "b.py": "key = 'gizmo'\n"}, listed=listed)
    assert found == (1, [f'{where}: word "gizmo": write "device"' for where in ("a.py:2", "b.py:1")])


def test_the_path_of_a_file_allows_its_name(run: Run) -> None:
    """The allowed text is the whole path."""
    listed = LIST + ALLOWED.format(files="b/*", text="b/gizmo.md")
    assert run({"b/gizmo.md": "text"}, listed=listed) == (0, [])


@pytest.mark.parametrize(("files", "text"), [("a.py", "the gizmo"), ("a.py", "is a"), ("c.py", "gizmo")])
def test_an_allowance_without_effect_is_an_error(run: Run, files: str, text: str) -> None:
    """The text is absent, no word is in it, or the file is absent."""
    listed = LIST + ALLOWED.format(files="a.py", text="a gizmo") + ALLOWED.format(files=files, text=text)
    status, lines = run({"a.py": "# It is a gizmo.\n"}, listed=listed)
    assert status == 1
    assert lines == [f"docs/words.toml: allow {text!r} in {files}: no avoided word is there; remove the entry"]


def test_an_exclusion_without_effect_is_an_error(run: Run) -> None:
    """A pattern without a file is reported; a file that matches is not read."""
    listed = f'{LIST}[[exclude]]\nfiles = "old/*"\nreason = "frozen"\n'
    stale = "docs/words.toml: exclude old/*: there is no such file; remove the entry"
    assert run({"a.md": "text"}, listed=listed) == (1, [stale])
    assert run({"old/a.md": "gizmo"}, listed=listed) == (0, [])


def test_some_files_are_judged_alone(run: Run) -> None:
    """An allowance for other files has no effect then, and is not an error."""
    listed = LIST + ALLOWED.format(files="*.py", text="x gizmo") + ALLOWED.format(files="b.py", text="gizmo")
    files = {"a.md": "gizmo", "b.py": "gizmo", "c.md": "gizmo"}
    assert run(files, "a.md", listed=listed) == (1, ['a.md:1: word "gizmo": write "device"'])
    assert run(files, "b.py", listed=listed) == (0, [])
    assert run(files | {"b.py": "text"}, "b.py", listed=listed)[0] == 1


def test_a_file_that_git_ignores_is_not_read(run: Run) -> None:
    """If an argument names such a file, the program refuses the argument."""
    assert run({".gitignore": "made.md\n", "made.md": "gizmo"}) == (0, [])
    status, [line] = run({"made.md": "gizmo"}, "made.md")
    assert status == words.WRONG_USE
    assert line.endswith("made.md: the project has no such file; name a file that git does not ignore")


def test_places_are_counted_by_word_and_top_folder(run: Run) -> None:
    """Each row and each column has its sum; the status is 0."""
    files = {"a.md": "gizmo", "one/a.md": "gizmo gizmo", "one/two/b.md": "gizmo odd bird"}
    status, (head, *rows) = run(files, "--count")
    assert status == 0
    assert head.split() == [".", "one", "all"]
    assert [row.split() for row in rows] == [
        ["gizmo", "1", "3", "4"],
        ["odd", "bird", "0", "1", "1"],
        ["all", "1", "4", "5"],
    ]


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ('[[avoid]]\nwords = ["Gizmo"]\nwrite = "x"', "avoid 1: words: 'Gizmo': write small letters, single blanks"),
        ('[[avoid]]\nwords = "gizmo"\nwrite = "x"', "avoid 1: words: it must be a list"),
        ('[[avoid]]\nwords = ["gizmo"]\nwrite = " "', "avoid 1: write: it must be a text that is not empty"),
        ('[[avoid]]\nwords = ["gizmo"]', "avoid 1: it must have ['words', 'write'] and may have ['except']"),
        ('[[avoid]]\nwords = ["gizmo", "gizmo"]\nwrite = "x"', "['gizmo']: listed twice; remove one of the two"),
        ('[[allow]]\nfiles = "a"\ntext = "x"', "allow 1: it must have ['files', 'reason', 'text'] and may have []"),
        ('[[deny]]\nfiles = "a"', "['deny']: the list has the tables ['allow', 'avoid', 'exclude'] only"),
    ],
)
def test_a_wrong_list_is_refused(run: Run, listed: str, problem: str) -> None:
    """The message names the entry and the rule."""
    status, [line] = run({"a.md": "text"}, listed=listed)
    assert status == words.WRONG_USE
    assert line.startswith(f"docs/words.toml: {problem}")


@pytest.mark.parametrize("phrase", [each.words for each in SHIPPED.avoided])
def test_each_word_of_the_list_is_found(phrase: str) -> None:
    """The word is found in prose, in snake_case, in capitals and in CamelCase."""
    text = phrase.replace("*", "card")
    for written in (f"# which {text}.", text.replace(" ", "_"), text.upper(), text.title().replace(" ", "")):
        assert [found.words for _, found in SHIPPED.found(written)] == [phrase]


@pytest.mark.parametrize("phrase", SHIPPED.exceptions)
def test_each_exception_of_the_list_has_an_effect(phrase: str) -> None:
    """An exception holds an avoided phrase and hides it."""
    text = f"{phrase.replace('*', 'may')} card"
    without = words.Rules(avoided=SHIPPED.avoided, exceptions=(), allowed=(), excluded=())
    assert list(without.found(text))
    assert not list(SHIPPED.found(text))
