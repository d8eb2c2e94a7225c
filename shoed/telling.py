"""What people type or send, as a command for a table; and whatever is wrong with it, with what would be right.

Theory of operation: everything follows from the types of `shoed/commands.py`. Each type that a field
may have has its Kind here: how its value is written in JSON, and how as KEY=VALUE. A value that passes is
in bounds and can be recorded, so that nothing that somebody sends can fail the journal.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from types import NoneType
from typing import Final, get_args

import msgspec
from msgspec.structs import FieldInfo

from shoed.cards import Card
from shoed.commands import Answer, AnyCommand, Author, Command, Decide, Notice
from shoed.errors import UsageError
from shoed.settings import nearest, shown
from shoed.step import Told
from shoed.words import FOLLOWS, PLAYER, Event, Role

MOST: Final = 9999  # no ordinal of a card, and no round of a shoe, comes near it
LONGEST_TEXT: Final = 200
MOST_ITEMS: Final = 8  # more cards than a round has

COMMANDS: Final[Mapping[str, type[Command]]] = {str(each.__struct_config__.tag): each for each in get_args(AnyCommand)}
NOTICES: Final = tuple(each.value for each in Event if each not in FOLLOWS)  # for short: WORD is `notice kind=WORD`


class Kind(msgspec.Struct, frozen=True):
    of: object  # the type
    right: str  # how a value is written
    typed: Callable[[str], object]  # KEY=VALUE to JSON
    item: object = None  # the type of each, where it may be a list


def number(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() else text


def yes_or_no(text: str) -> object:
    return {"yes": True, "no": False}.get(text, text)


def card(text: str) -> str:
    """As everybody writes it; what is no card is left for the check."""
    try:
        return str(Card.parse(text.upper()))
    except (ValueError, IndexError):
        return text


def cards(text: str) -> object:
    return [card(each) for each in text.split(",")]


def words(text: str) -> object:
    return text.split(",") if "," in text else text


def one_of(values: type[Enum]) -> Kind:
    return Kind(values, "one of " + ", ".join(each.value for each in values), str)


TEXT: Final = Kind(str, f"text of 1 to {LONGEST_TEXT} characters", str)
KINDS: Final[Mapping[object, Kind]] = {
    int: Kind(int, f"a whole number from 1 to {MOST}", number),
    bool: Kind(bool, "yes or no", yes_or_no),
    str: TEXT,
    Card: Kind(Card, "a card, as 8S or 10H", card),
    tuple[Card, ...]: Kind(tuple[Card, ...], f"at most {MOST_ITEMS} cards, as 8S,10H", cards, Card),
    Event: Kind(Event, "one of " + ", ".join(NOTICES), str),
    str | tuple[str, ...]: Kind(
        str | tuple[str, ...], f"a word, or at most {MOST_ITEMS} of them, as 8S,10H", words, str
    ),
}


def kind_of(field: FieldInfo) -> Kind:
    types = [each for each in get_args(field.type) if each is not NoneType]
    plain = types[0] if NoneType in get_args(field.type) else field.type
    return KINDS[plain] if plain in KINDS else one_of(plain)


def fields_of(command: type[Command]) -> dict[str, FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(command)}


# --- a command


def command_of(word: str, given: Mapping[str, object]) -> AnyCommand:
    """The command, or a UsageError that says what would be right."""
    if word not in COMMANDS:
        raise UsageError(f"{shown(word)}: no such command; {meant(word, COMMANDS)}")
    fields = fields_of(COMMANDS[word])
    values = {}
    for key, value in given.items():
        if key not in fields:
            raise UsageError(f"{word}: {shown(key)}: no such key; {meant(key, fields)}")
        if value is not None or fields[key].default is not None:
            values[key] = checked(f"{word}: {key}", kind_of(fields[key]), value)
    for key, field in fields.items():
        if field.required and key not in values:
            raise UsageError(f"{word}: {key} is missing; give {kind_of(field).right}")
    made: AnyCommand = COMMANDS[word](**values)  # type: ignore[assignment]  # COMMANDS has these and no others
    return made


def checked(key: str, kind: Kind, value: object) -> object:
    if fits(value, kind.of):
        return msgspec.convert(value, kind.of)
    problem = f"{shown(value)} will not do"
    if kind.item is not None and isinstance(value, list):
        wrong = [each for each in value if not fits(each, kind.item)]
        problem = f"{shown(wrong[0])} will not do" if wrong else f"{len(value)} are too many"
    raise UsageError(f"{key}: {problem}; give {kind.right}")


def fits(value: object, of: object) -> bool:
    with suppress(msgspec.ValidationError):
        return in_bounds(msgspec.convert(value, of))
    return False


def in_bounds(value: object) -> bool:
    match value:
        case str():  # a control character spoils a log, half a character cannot be written at all
            return 0 < len(value) <= LONGEST_TEXT and value.isprintable()
        case int():
            return 1 <= value <= MOST or isinstance(value, bool)
        case tuple():
            return len(value) <= MOST_ITEMS and all(map(in_bounds, value))
        case _:
            return True


def meant(word: str, known: Iterable[str]) -> str:
    known = list(known)
    if not known:
        return "it has none"
    guess = nearest(word, known)
    return f"did you mean {guess}?" if guess else f"known: {', '.join(known)}"


def typed(word: str, pairs: Iterable[str]) -> AnyCommand:
    """`notice kind=foreign-card at=3`, or for short `foreign-card at=3`."""
    given: dict[str, object] = {}
    if word in NOTICES:
        word, given = "notice", {"kind": word}
    elif word not in COMMANDS:
        raise UsageError(f"{shown(word)}: no such command; {meant(word, (*COMMANDS, *NOTICES))}")
    fields = fields_of(COMMANDS[word])
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"{word}: {shown(pair)} is no KEY=VALUE; {meant(key, fields)}")
        if key in given:
            raise UsageError(f"{word}: {key} is given twice; give it once")
        given[key] = kind_of(fields[key]).typed(value) if key in fields else value
    return command_of(word, given)


# --- a request: one line of JSON


class Request(msgspec.Struct, frozen=True):
    table: str
    told: Told


class Save(msgspec.Struct, frozen=True):
    """What went over the line of a table's device lately is wanted."""

    table: str
    id: str
    device: str


class Saved(Answer, frozen=True):
    capture: str = ""  # its whole text


EXAMPLE: Final = Request("bac-901", Told(Notice(kind=Event.FOREIGN_CARD, at=3), Author("ann", Role.DEALER), "7f3a"))
KEYS: Final[Mapping[str, Kind]] = {
    "table": TEXT,
    "id": TEXT,
    "author": TEXT,
    "role": Kind(Role | None, f"{one_of(Role).right}; null or {PLAYER} for a player", str),
    "command": Kind(dict[str, object], 'an object, as {"command": "open-bets"}', str),
}
KEYS_OF_SAVE: Final = {"table": TEXT, "id": TEXT, "capture": Kind(str, "the device, as shoe", str)}


def request(table: str, command: AnyCommand, author: str, role: str | None, sender: str) -> Request:
    """Checked like one that came in as a line; the role as it is typed."""
    roles = [each.value for each in Role]
    if role is not None and role not in (*roles, PLAYER):
        raise UsageError(f"--role: {shown(role)} is not a role; give one of {', '.join(roles)}, or {PLAYER}")
    if role in (None, PLAYER) and not isinstance(command, Decide):
        word = command.__struct_config__.tag
        raise UsageError(f"{word}: a player cannot give this command; give --role, one of {', '.join(roles)}")
    given = msgspec.to_builtins(command)
    return request_of({"table": table, "id": sender, "author": author, "role": role, "command": given})


def line_of(request: Request) -> bytes:
    told = request.told
    fields = {
        "table": request.table,
        "id": told.id,
        "author": told.author.name,
        "role": told.author.role,
        "command": told.command,
    }
    return msgspec.json.encode(fields) + b"\n"


def line_of_save(save: Save) -> bytes:
    return msgspec.json.encode({"table": save.table, "id": save.id, "capture": save.device}) + b"\n"


def read(line: bytes) -> Request | Save | Answer:
    """What a line asks for, or the answer that refuses it."""
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer("", accepted=False, detail=f"no JSON: {error}; send one object on one line")
    if not isinstance(raw, dict):
        return Answer("", accepted=False, detail=f"{shown(raw)} is no request; send one object on one line")
    try:
        return save_of(raw) if "capture" in raw else request_of(raw)
    except UsageError as error:
        sender = raw.get("id")
        return Answer(sender if isinstance(sender, str) else "", accepted=False, detail=str(error))


def request_of(raw: Mapping[str, object]) -> Request:
    if raw.get("role") == PLAYER:  # the word of a question
        raw = {**raw, "role": None}
    table, sender, author, role, command = values_of(KEYS, raw)
    match command:
        case {"command": str(word), **given}:
            told = Told(command_of(word, given), Author(author, role), sender)  # type: ignore[arg-type]  # as checked
        case _:
            raise UsageError(f"command: which one is missing; give {KEYS['command'].right}")
    return Request(table, told)  # type: ignore[arg-type]  # as checked


def save_of(raw: Mapping[str, object]) -> Save:
    table, sender, device = values_of(KEYS_OF_SAVE, raw)
    return Save(table, sender, device)  # type: ignore[arg-type]  # as checked


def values_of(keys: Mapping[str, Kind], raw: Mapping[str, object]) -> list[object]:
    for key in raw:
        if key not in keys:
            raise UsageError(f"{shown(key)}: no such key; {meant(key, keys)}")
    for key, kind in keys.items():
        if key not in raw and key != "role":
            raise UsageError(f"{key} is missing; give {kind.right}")
    return [checked(key, kind, raw.get(key)) for key, kind in keys.items()]
