"""The help and the page of commands say all that there is to tell."""

import pytest

from shoed.commands import Command
from shoed.telling import COMMANDS, NOTICES, fields_of
from shoed.telling_page import KINDS_OF_TROUBLE, MEANINGS, OPTIONS, commands_page, help_on, overview
from shoed.words import FOLLOWS, Event


def test_every_command_says_what_it_means() -> None:
    """In its docstring, of its own; and so does every key."""
    assert all(each.__doc__ and each.__doc__ != Command.__doc__ for each in COMMANDS.values())
    assert set(MEANINGS) == {(each, name) for each in COMMANDS.values() for name in fields_of(each)}
    assert list(KINDS_OF_TROUBLE) == [event for event in Event if event not in FOLLOWS]


def test_the_overview_lists_all_words() -> None:
    """Commands, kinds of trouble and options, one a line."""
    words = {line.split("  ")[1] for line in overview().splitlines() if line.startswith("  ")}
    assert words == {*COMMANDS, *NOTICES, *OPTIONS}


@pytest.mark.parametrize("word", [*COMMANDS, *NOTICES])
def test_the_help_on_a_word_lists_its_keys(word: str) -> None:
    """Those of a notice, but its kind, for a kind of trouble."""
    keys = {line.split("=")[0].strip() for line in help_on(word).splitlines() if line.startswith("  ")}
    wanted = set(fields_of(COMMANDS["notice"])) - {"kind"} if word in NOTICES else set(fields_of(COMMANDS[word]))
    assert keys == (wanted or {"none"})


def test_help_on_an_unknown_word_is_the_overview() -> None:
    """It has the word that was meant."""
    assert help_on("opn-bets") == overview()


def test_the_page_has_every_command_key_and_kind() -> None:
    """Each in the place where it is looked for."""
    page = commands_page()
    for word, command in COMMANDS.items():
        section = page.split(f"\n### `{word}`\n")[1].split("\n#")[0]
        assert [row.split("`")[1] for row in section.splitlines() if row.startswith("| `")] == list(fields_of(command))
    kinds = page.split("\n## What can go wrong\n")[1].split("\n## ")[0]
    assert [row.split("`")[1] for row in kinds.splitlines() if row.startswith("| `")] == list(NOTICES)
