"""What there is to tell a table, from the commands' types: the help of `shoed tell`, and `docs/commands.md`.

What a type cannot say (what a key is about) stands here as data beside it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from shoed.commands import (
    Answer,
    ClearFault,
    Command,
    CorrectCard,
    Decide,
    LockDevice,
    Notice,
    PutAway,
    ReportLate,
    UnlockDevice,
    VoidRound,
    Withdraw,
)
from shoed.contract import table
from shoed.ports.tell import LONGEST, MODE, MOST_CLIENTS, NAME
from shoed.telling import COMMANDS, EXAMPLE, KEYS, KINDS, NOTICES, fields_of, kind_of, line_of
from shoed.words import Event

THIS_ROUND: Final = "which round of this shoe; without it the present one"
THE_DEVICE: Final = "the device that receives the order"
MEANINGS: Final[Mapping[tuple[type[Command], str], str]] = {
    (Notice, "kind"): "what went wrong",
    (Notice, "at"): "the card of the round that it begins with, from 1; without it the last one",
    (Notice, "count"): "how many cards were drawn together",
    (Notice, "order_known"): "whether everybody saw which of them came first",
    (Notice, "reconstructable"): "whether the hands can be laid as they were meant to be",
    (Notice, "order"): "the cards from `at` on, as they were meant to come",
    (Notice, "of_the_dealing"): "whether the order was altered by the dealing, and not elsewhere",
    (Notice, "other"): "of `wrong-side`: the card that it changed places with, in one matter",
    (Notice, "stage"): "which offer of insurance was left out",
    (Notice, "round"): THIS_ROUND,
    (Notice, "card"): "of `card-exposed`: the card that is next in the shoe, and was not drawn yet",
    (Notice, "in_time"): (
        "of a past round: whether it was noticed before the next round commenced; needs a pit supervisor or above"
    ),
    (Withdraw, "number"): "the number of its matter in this round; without it that of the open question",
    (PutAway, "index"): "which card, by the index that the question shows",
    (ReportLate, "act"): "`bet`, `increase` or `withdrawal`",
    (Decide, "question"): "the id of the open question",
    (Decide, "choice"): "one of its options; where cards are asked for, a card or cards in order",
    (Decide, "bettor"): "whose choice it is, where each has their own",
    (
        Decide,
        "revision",
    ): "of the question, as its author read it: refused if the consequence of the choice has changed",
    (CorrectCard, "index"): "which card of the round, from 1",
    (CorrectCard, "card"): "what it really is",
    (CorrectCard, "round"): THIS_ROUND,
    (VoidRound, "round"): THIS_ROUND,
    (LockDevice, "device"): THE_DEVICE,
    (UnlockDevice, "device"): THE_DEVICE,
    (ClearFault, "device"): THE_DEVICE,
    (ClearFault, "card"): "needed for an overdraw, and refused for any other fault: what becomes of its card",
}
KINDS_OF_TROUBLE: Final[Mapping[Event, str]] = {
    Event.FOREIGN_CARD: "a card that does not belong to the set",
    Event.DECK_COUNT: "the set has too many or too few cards",
    Event.NOT_SHUFFLED: "the set was not shuffled",
    Event.WRONG_COUNT: "a hand has a wrong number of cards",
    Event.TOO_FEW_CARDS: "the shoe cannot complete the round",
    Event.DRAWN_TOGETHER: "two or more cards came out at once",
    Event.ORDER_ALTERED: "cards lie in another order than they were shuffled into",
    Event.CARD_IN_EXCESS: "one card too many was drawn",
    Event.CARD_EXPOSED: "a card was seen before its time",
    Event.WRONG_SIDE: "a card was laid to the other hand",
    Event.FACE_UP: "a card lay face up on a table that deals face down",
    Event.DEALING_ERROR: "any other error in dealing",
    Event.INSURANCE_NEGLECTED: "insurance was due and not offered",
    Event.INTERRUPTION: "the game was interrupted by a technical fault",
    Event.OTHER: "anything else",
}

USAGE: Final = "usage: shoed tell TABLE COMMAND [KEY=VALUE ...] [OPTIONS]"
OPTIONS: Final[Mapping[str, str]] = {
    "--role ROLE": "dealer, pit-supervisor, pit-manager or shift-manager; a player, or no role, may only decide",
    "--author NAME": "who says it; without it the login name",
    "--id ID": "of a command whose answer was lost: it is carried out once at most",
    "--config FILE": "whose state_dir it is; without it /etc/shoed/shoed.toml",
    "--state-dir DIR": "the same, without a configuration",
    "--json": "print the answer as it came",
}
INDENT: Final = max(map(len, NOTICES))


# --- help


def overview() -> str:
    parts = [
        USAGE,
        listed("options", OPTIONS),
        listed("commands", {word: str(COMMANDS[word].__doc__) for word in COMMANDS}),
        listed("short for notice kind=...", {event.value: text for event, text in KINDS_OF_TROUBLE.items()}),
        "shoed tell TABLE COMMAND --help lists the keys of a command.",
    ]
    return "\n\n".join(parts)


def help_on(word: str) -> str:
    short = word in NOTICES
    command = Notice if short else COMMANDS.get(word)
    if command is None:
        return overview()
    keys = {
        f"{name}=": f"{meaning} ({right})"
        for name, right, _, meaning in keys_of(command)
        if not short or name != "kind"
    }
    about = KINDS_OF_TROUBLE[Event(word)] if short else str(command.__doc__)
    return f"usage: shoed tell TABLE {word} [KEY=VALUE ...] [OPTIONS]\n\n{about}\n\n{listed('keys', keys)}"


def listed(title: str, lines: Mapping[str, str]) -> str:
    rows = (f"  {name:{INDENT}}  {text}".rstrip() for name, text in (lines or {"none": ""}).items())
    return "\n".join((f"{title}:", *rows))


def keys_of(command: type[Command]) -> list[tuple[str, str, str, str]]:
    """Name, how it is written, what holds without it, and meaning."""
    rows = []
    for name, field in fields_of(command).items():
        default = "" if field.required or field.default in (None, ()) else str(msgspec.to_builtins(field.default))
        without = "needed" if field.required else {"True": "yes", "False": "no"}.get(default, default)
        rows.append((name, kind_of(field).right, without, MEANINGS[command, name]))
    return rows


# --- the page


def commands_page() -> str:
    parts = [INTRODUCTION]
    for word, command in COMMANDS.items():
        rows = [(f"`{name}`", BELOW.get(right, right), *rest) for name, right, *rest in keys_of(command)]
        keys = table(("key", "value", "default", "meaning"), rows) if rows else "No keys.\n"
        parts.append(f"\n### `{word}`\n\n{command.__doc__}\n\n{keys}")
    parts.append(DECIDING)
    parts.append(ORDERING)
    parts.append(NOTICING)
    parts.append(table(("kind", "meaning"), ((f"`{event.value}`", text) for event, text in KINDS_OF_TROUBLE.items())))
    parts.append(SOCKET)
    parts.append(table(("key", "value"), ((f"`{key}`", kind.right) for key, kind in KEYS.items())))
    answer = msgspec.json.encode(Answer(EXAMPLE.told.id, accepted=True)).decode()
    parts.append(f"\n```json\n{line_of(EXAMPLE).decode()}```\n\nand one line back:\n\n```json\n{answer}\n```\n")
    return "".join(parts) + ANSWERS


BELOW: Final = {KINDS[Event].right: "a kind, [below](#what-can-go-wrong)"}  # a list too long for a cell

INTRODUCTION: Final = """\
<!-- Written by docs/generate.py from shoed/telling_page.py; do not edit: run ./dev generate. -->

# What people tell shoed

What no shoe sees, and what people decide, is told to a table by its name. It is taken in its order among the cards,
answered by the table, and is on record with its answer before the answer leaves.

```console
$ shoed tell bac-901 open-bets --role dealer
$ shoed tell bac-901 foreign-card at=3 --role dealer
$ shoed tell bac-901 correct index=2 card=10H --role pit-supervisor
$ shoed tell bac-901 lock --role dealer
```

Exit status 0: accepted. 1: refused, with the reason, or no daemon is there. 2: wrong use; nothing was sent.
`shoed tell --help` lists the commands, `shoed tell TABLE COMMAND --help` the keys of one. Only the user that shoed runs
as, and root, can tell; author and role are what that user says they are.

## Commands
"""
DECIDING: Final = """
## Who tells what

`correct` and `void` mend the record: a pit supervisor or above. `decide` takes the role that the question names, or one
above it; a player's own choice is told without a role, or as `player`. `clear-fault` with `card` takes a pit
supervisor or above. Everything else anybody of the house tells.

The open question, its id, its options and what each would make of the round are in the retained topic `question`
([events](events.md)); a refused `decide` names the id, too. Where each bettor has a choice, name those who choose
otherwise first (`bettor=ann`): an answer without `bettor` holds for all others, and closes the question.

A card that was read wrongly is mended by `correct`. A card that was read rightly and lay, or came, where it should not
is told as what went wrong, such as `wrong-side` or `card-exposed`: then the book of the game says what follows.

"""
ORDERING: Final = """
## Device orders

`lock`, `unlock` and `clear-fault` are orders of the daemon to a device. A device receives orders only with
`allow_orders = true` in its section of the configuration. The answer to the command says that the order was sent, or
why not:

- orders to the device are not allowed, or its link is closed;
- an earlier order still waits for its answer;
- the device family has no such order: a Bee-Tek shoe and a scanner execute none.

The event `device/order-answered` has the answer of the device ([events](events.md)). `clear-fault` without a known
fault is sent, because a fault may be older than the daemon; an Open Shoe needs the code of the fault and is an
exception.

"""
NOTICING: Final = """
## What can go wrong

The kinds of `notice`. Each is also a word by itself: `foreign-card at=3` is `notice kind=foreign-card at=3`.

"""
SOCKET: Final = f"""
## The socket

`{NAME}` in the state directory is a unix stream socket (mode {MODE:04o}). One line of JSON each way, UTF-8, of at
most {LONGEST} bytes. `role` may be left out. In a command numbers are numbers, yes and no are `true` and `false`, and
several cards or words are a list:

"""
ANSWERS: Final = f"""
A refusal has a `detail` that says why and what to do; `id` is empty where none could be read. A line that is refused
does no harm to the connection; one that is too long ends it. Each connection is served one line after the other, and
{MOST_CLIENTS} connections are served at a time.

An `id` is the sender's, and new for each command. Whoever lost an answer sends the same line again: what is on record
is not done again, and gets the answer that it got, however long ago. The same id with another command is refused.
"""
