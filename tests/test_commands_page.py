"""The help of `shoed tell` and docs/commands.md describe every command, key and kind of notice."""

from typing import Final

import pytest

from docs.commands_page import commands_page
from shoed.cli.tell import OPTIONS, help_on, overview
from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    Author,
    ClearFault,
    CloseBets,
    Command,
    CorrectCard,
    EmptyShoe,
    GrantSqueeze,
    LockDevice,
    OpenBets,
    PutAway,
    ReplaceSet,
    ReportIrregularity,
    ReportLate,
    SettleRound,
    StartShoe,
    UnlockDevice,
    VoidRound,
    Withdraw,
)
from shoed.model.irregularities import FOLLOWS, IrregularityKind, Role
from shoed.model.requests import COMMANDS, NOTICE_MEANINGS, NOTICES, fields_of, keys_of
from shoed.model.step import Commanded
from tests.observed import NATURAL, after, cards


def test_every_command_key_and_kind_has_a_meaning() -> None:
    """A command has a docstring of its own; a key has a description."""
    assert all(each.__doc__ and each.__doc__ != Command.__doc__ for each in COMMANDS.values())
    for command in COMMANDS.values():
        rows = keys_of(command)
        assert [name for name, *_ in rows] == list(fields_of(command))
        assert all(description and meaning for _, description, _, meaning in rows)
    assert list(NOTICE_MEANINGS) == [event for event in IrregularityKind if event not in FOLLOWS]


def test_the_overview_lists_all_words() -> None:
    """Each command, kind of notice and option has a line."""
    words = {line.split("  ")[1] for line in overview().splitlines() if line.startswith("  ")}
    assert {each for each in words if not each.startswith("shoed tell ")} == {*COMMANDS, *NOTICES, *OPTIONS}


@pytest.mark.parametrize("word", [*COMMANDS, *NOTICES])
def test_the_help_on_a_word_lists_its_keys(word: str) -> None:
    """A kind of notice has the keys of `notice` except `kind`."""
    keys = {line.split("=")[0].strip() for line in help_on(word).splitlines() if line.startswith("  ")}
    wanted = set(fields_of(COMMANDS["notice"])) - {"kind"} if word in NOTICES else set(fields_of(COMMANDS[word]))
    assert keys == (wanted or {"none"})


def test_help_on_an_unknown_word_is_the_overview() -> None:
    """The overview contains the correct word."""
    assert help_on("opn-bets") == overview()


def test_the_page_has_every_command_key_and_kind() -> None:
    """Each command has a section with its keys; the section on notices has every kind."""
    page = commands_page()
    for word, command in COMMANDS.items():
        section = page.split(f"\n### `{word}`\n")[1].split("\n#")[0]
        assert [row.split("`")[1] for row in section.splitlines() if row.startswith("| `")] == list(fields_of(command))
    kinds = page.split("\n## Kinds of notice\n")[1].split("\n## ")[0]
    assert [row.split("`")[1] for row in kinds.splitlines() if row.startswith("| `")] == list(NOTICES)


COMMANDS_WITHOUT_ROW: Final = (
    *(OpenBets(), CloseBets(), ReportIrregularity(kind=IrregularityKind.OTHER), ReportLate(act="bet"), GrantSqueeze()),
    *(SettleRound(), StartShoe(), EmptyShoe(), LockDevice(), UnlockDevice(), ClearFault()),
)
IN_TIME: Final = ReportIrregularity(kind=IrregularityKind.OTHER, round=1, in_time=True)


@pytest.mark.parametrize(
    ("command", "required"),
    [
        *((each, Role.DEALER) for each in COMMANDS_WITHOUT_ROW),
        *((each, Role.PIT_SUPERVISOR) for each in (IN_TIME, ReplaceSet(), CorrectCard(index=2, card=Card.H9))),
        (VoidRound(), Role.PIT_SUPERVISOR),
        (PutAway(index=3), Role.SHIFT_MANAGER),
    ],
)
def test_the_page_has_the_required_role_of_each_command(command: AnyCommand, required: Role) -> None:
    """Each lower role is refused because of the role, and the required role is not."""
    word = str(command.__struct_config__.tag)
    roles = commands_page().split("\n## Roles\n")[1]
    row = next(row for row in roles.splitlines() if row.startswith(f"| `{word}` |"))
    assert (f"`{required.value}`" if required is not Role.DEALER else "any role of the house") in row
    for role in Role:
        table = after(*NATURAL, *cards("P1 8S, B1 3H, B2 4C"))
        table.step(incoming=Commanded(command, Author("ann", role), "7f3a"))
        assert (required.value in table.answers[-1].detail) is not role.may_decide_for(required)


def test_a_notice_is_withdrawn_in_the_role_of_its_author() -> None:
    """The page states it, and a dealer cannot withdraw the notice of a pit supervisor."""
    assert "| `withdraw` | the role of the author of the notice, or a higher role |" in commands_page()
    table = after(*cards("P1 8S, B1 3H"))
    table.tell(ReportIrregularity(kind=IrregularityKind.OTHER), Role.PIT_SUPERVISOR)
    refusal = table.refuses(Withdraw(), Role.DEALER)
    assert refusal == "dealer may not withdraw this notice; the required role is pit-supervisor"
    table.tell(Withdraw(), Role.PIT_MANAGER)
