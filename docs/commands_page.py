"""Make docs/commands.md from the types of the commands and the notations of their fields."""

from collections.abc import Iterator
from textwrap import fill
from typing import Final

import msgspec

from docs.events_page import table
from shoed.model.commands import Answer
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.requests import (
    COMMANDS,
    EXAMPLE,
    NOTATIONS,
    NOTICE_MEANINGS,
    RequestLine,
    fields_of,
    json_line,
    keys_of,
    notation_of,
    one_of,
)
from shoed.rules.book import BetAction
from shoed.rules.irregular import clause_and_role
from shoed.rules.load import GAMES, book
from shoed.service.command_socket import LONGEST, MODE, MOST_CLIENTS, NAME
from shoed.table.asking import RECORD
from shoed.table.device_orders import CARD_DECIDES


def commands_page() -> str:
    parts = [INTRODUCTION, f"{letters()}\n\n## List of commands\n"]
    for word, command in COMMANDS.items():
        rows = [
            (f"`{name}`", VALUES.get(name, BELOW.get(value, value)), *default_and_meaning(default, meaning))
            for name, value, default, meaning in keys_of(command)
        ]
        keys = table(("key", "value", "default", "meaning"), rows) if rows else "No keys.\n"
        parts.append(f"\n### `{word}`\n\n{command.__doc__}\n\n{keys}{NOTES.get(word, '')}")
    parts += (ROLES, table(("command", "required role"), required_roles()), ANSWERING, ORDERS, NOTICES)
    parts.append(table(("kind", "meaning"), ((f"`{event.value}`", text) for event, text in NOTICE_MEANINGS.items())))
    parts.append(SOCKET)
    keys_of_line = ((f"`{key}`", notation_of(field.type).description) for key, field in fields_of(RequestLine).items())
    parts.append(table(("key", "value"), keys_of_line))
    answer = msgspec.json.encode(Answer(EXAMPLE.input.id, accepted=True)).decode()
    parts.append(f"\n```json\n{json_line(EXAMPLE).decode()}```\n\nThe answer is one line:\n\n```json\n{answer}\n```\n")
    return "".join(parts) + ANSWERS + RESTART


LINE: Final = 120
ALL_ROLES: Final = ", ".join(f"`{each.value}`" for each in Role)
BELOW: Final = {
    NOTATIONS[IrregularityKind].description: "a kind, [below](#kinds-of-notice)"
}  # the list is too long for a cell
VALUES: Final = {"act": one_of(each.value for each in BetAction)}  # the journal stores the text
NOTES: Final = {
    "withdraw": """
Without `number`, shoed takes the matter of the first open question that is about a matter. Exception: if this matter
is of a past round, or if there is no such question, shoed takes the last notice about a card whose place in the round
is in question.

A notice cannot be withdrawn after a person has decided on it or confirmed it, or after the round is void.
""",
    "correct": """
Use `correct` for a misread face only. If the card was read correctly and was dealt to a wrong place or at a wrong time,
report the irregularity, such as `wrong-side` or `card-exposed`. The rule book then decides the consequence.
""",
}


def default_and_meaning(default: str, meaning: str) -> tuple[str, str]:
    """A default that is not a value is a part of the description of the key."""
    meaning, _, words = meaning.partition("; default: ")
    return default or words, meaning


def letters() -> str:
    """The letters of the games in citations of clauses."""
    games = ", ".join(f"{book(game).letter} `{game}`" for game in GAMES)
    text = f"A letter before a clause names the document of a game: {games}. [Clauses](clauses.md) lists the clauses."
    return f"\n{fill(text, LINE, break_on_hyphens=False)}"


def above(role: Role) -> str:
    return f"`{role.value}`" if role is tuple(Role)[-1] else f"`{role.value}` or a higher role"


def required_roles() -> Iterator[tuple[str, str]]:
    """The required role of each command, in the order of the commands."""
    for word in COMMANDS:
        yield f"`{word}`", REQUIRED.get(word, "any role of the house")


def to_put_away() -> str:
    clauses = {game: clause_and_role(book(game), IrregularityKind.OTHER) for game in GAMES}
    named = [f"{game} {clause}: {above(role)}" for game, (clause, role) in clauses.items() if role is not None]
    return f"{'; '.join(named)}; refused in all other games"


REQUIRED: Final = {
    "notice": f"any role of the house; with `in_time=yes` {above(RECORD)}",
    "withdraw": "the role of the author of the notice, or a higher role",
    "replace-set": above(RECORD),
    "put-away": to_put_away(),
    "decide": "the role of the question, or a higher role",
    "correct": above(RECORD),
    "void": above(RECORD),
    "clear-fault": f"any role of the house; with `card` {above(CARD_DECIDES)}",
}

INTRODUCTION: Final = """\
<!-- Written by docs/generate.py from docs/commands_page.py; do not edit: run ./dev generate. -->

# Commands

A command transmits a fact, a decision or a device order of a person to shoed. Each command names its table. The table
processes commands and cards in their order of arrival, and answers each command. The command and its answer are in the
journal before the answer is sent.

```console
$ shoed tell bac-901 open-bets --role dealer
$ shoed tell bac-901 foreign-card at=3 --role dealer
$ shoed tell bac-901 correct index=2 card=10H --role pit-supervisor
$ shoed tell bac-901 lock --role dealer
```

| exit status | meaning |
|---|---|
| 0 | accepted: the effect is printed |
| 1 | refused: the reason is printed |
| 2 | the command line is wrong; no command was sent |
| 3 | the daemon does not run; no command was sent |

`shoed tell --help` lists the commands. `shoed tell TABLE COMMAND --help` lists the keys of one command. Only root and
the user of the daemon can send commands. shoed does not verify the author and the role of a command: the program that
sends the command must verify them. shoed compares only the stated role with the [required role](#roles).
"""
ROLES: Final = f"""
## Roles

The roles of the house are, from the lowest to the highest: {ALL_ROLES}.
A higher role may give every command that a lower role may give. A player gives no command except `decide`.

"""
ANSWERING: Final = """
If `confirm_void` is true ([configuration](configuration.md)), a notice of a dealer that would void the round suspends
the round until a pit supervisor or a higher role confirms the notice.

## Answering questions

The retained topic `question` ([events](events.md)) has the first open question: its id, its choices, and the effect of
each choice on the round. [Questions](questions.md) lists all questions and their roles.

- If the question is for a player, send no `role`, or send `role=player`.
- If the question is for each bettor, first send the answers of the bettors who differ from the others, each with
  `bettor=NAME`. Then send one answer without `bettor`. It is the answer of all other bettors, and closes the question.
- If the id of the question is wrong, or if the question is closed, `decide` is refused, and `detail` lists the ids of
  all open questions.

"""
ORDERS: Final = """
## Device orders

`lock`, `unlock` and `clear-fault` are orders of the daemon to a device. A device receives orders only with
`allow_orders = true` in its section of the configuration. If the order was sent, `accepted` is true. Reasons for a
refusal:

- The table has no shuffler, or the role is too low.
- Orders to the device are not allowed, or the link to the device is closed.
- The device has not answered an earlier order yet.
- The device cannot execute the order. A Bee-Tek shoe and a scanner execute no orders.
- The fault is an overdraw and `card` is missing, or the fault is not an overdraw and `card` is given.
- The device is an Open Shoe, and no fault of it is known.

The event `device/order-answered` has the answer of the device ([events](events.md)). The order `clear-fault` is sent
even if no fault is known, because a fault may be older than the daemon. The exception is an Open Shoe: its order
contains the code of the fault, so shoed sends `clear-fault` only for a known fault.

The result `silent` means that the device has not answered within `order_timeout_ms`, or that its link was closed or
replaced. It is not known whether the device has executed the order. shoed never repeats an order by itself: look at the
device, then decide. If a transfer to a USB device fails, the log has the bytes that are in doubt.

"""
NOTICES: Final = """
## Kinds of notice

Each kind of `notice` is also a command of `shoed tell`: `foreign-card at=3` is short for `notice kind=foreign-card
at=3`. [Questions](questions.md) and [rules-table](rules-table.md#irregularities) use the same kinds.

"""
SOCKET: Final = f"""
## The socket

`{NAME}` in the state directory is a unix stream socket (mode {MODE:04o}).

- A request is one line of JSON in UTF-8, with at most {LONGEST} bytes. The answer is one line of JSON.
- `role` is optional. All other keys are required.
- In a command, numbers are JSON numbers, yes and no are `true` and `false`, and several cards or words are a list.

"""
ANSWERS: Final = f"""
- The `detail` of a refusal has the reason and the remedy.
- If shoed cannot read the `id` of a request, the `id` of the answer is empty.
- The connection stays open after a refused line. shoed closes the connection after a line of more than {LONGEST} bytes.
- The daemon answers the lines of a connection in their order. It serves {MOST_CLIENTS} connections at the same time.

The sender chooses a new `id` for each command. If an answer is lost, send the same line again, at any later time. shoed
does not execute the command a second time. It sends the recorded answer again. shoed refuses a different command with
the same `id`.
"""
RESTART: Final = """
### Restart
`shoed restart --between-rounds` sends this line. The daemon ends if every table is between two rounds, and no open
question holds play. Its supervisor, such as systemd, then starts the installed version. Otherwise, the answer names
the tables in `waits_for`, and the daemon continues:

    {"id": "7f3a", "restart": "between-rounds"}
    {"id": "7f3a", "accepted": false, "detail": "waits for bac-901: ...", "waits_for": ["bac-901: ..."]}

The command repeats the request, and prints each change of `waits_for`. After the limit `--within MINUTES`, the daemon
continues without a restart, and the exit status is 1. An older daemon refuses the request as an unknown key, and
continues.
"""
