"""Requests: typed words or a line of JSON become a command for a table, or an error with its remedy.

Theory of operation: the fields of `shoed/model/commands.py` decide what is valid. NOTATIONS has one row for each type
of a field: its description for people, and its parser for KEY=VALUE. `msgspec.convert` checks the type of a value,
`in_bounds` its size. The journal can store every accepted value, so a request cannot cause a journal error.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Annotated, Final, TypeVar, get_args

import msgspec
from msgspec.structs import FieldInfo

from shoed.errors import UsageError
from shoed.model.cards import Card
from shoed.model.commands import Answer, AnyCommand, Author, Command, Decide, ReportIrregularity
from shoed.model.irregularities import FOLLOWS, PLAYER, IrregularityKind, OverdrawnCard, Role, Stage
from shoed.model.observations import Device
from shoed.model.step import Commanded
from shoed.settings import nearest, shown
from shoed.typed_json import typed

S = TypeVar("S", bound=msgspec.Struct)

LARGEST_NUMBER: Final = 9999  # more than the cards of any round, and than the rounds of any shoe
LONGEST_TEXT: Final = 200
MOST_ITEMS: Final = 8  # more than the cards of a round

COMMANDS: Final[Mapping[str, type[Command]]] = {str(each.__struct_config__.tag): each for each in get_args(AnyCommand)}
# Each word is short for `notice kind=WORD`.
NOTICES: Final = tuple(each.value for each in IrregularityKind if each not in FOLLOWS)


# --- requests, and their lines of JSON


class Request(msgspec.Struct, frozen=True):
    """A command for a table."""

    table: str
    input: Commanded


class RequestLine(msgspec.Struct, frozen=True):
    """The keys of a Request as a line of JSON."""

    table: str
    id: str
    author: str
    role: Role | None  # None: a player
    command: dict[str, object]


DeviceName = Annotated[str, "of a table"]


class CaptureRequest(msgspec.Struct, frozen=True, rename={"device": "capture"}):
    """A request for a capture of the bytes that a device of a table sent lately; the struct is its own line."""

    table: str
    id: str
    device: DeviceName


TableName = Annotated[str | None, "that the request selects"]


class StatusRequest(msgspec.Struct, frozen=True, rename={"table": "status"}):
    """A request for the status of the daemon, and of one table or of all tables; the struct is its own line."""

    id: str
    table: TableName  # None: all tables


class RestartMoment(Enum):
    BETWEEN_ROUNDS = "between-rounds"


class RestartRequest(msgspec.Struct, frozen=True):
    """A request to end the daemon, if every table is between two rounds. Its supervisor then starts it."""

    id: str
    restart: RestartMoment = RestartMoment.BETWEEN_ROUNDS


class CaptureAnswer(Answer, frozen=True):
    capture: str = ""  # the text of the whole capture


class RestartAnswer(Answer, frozen=True):
    waits_for: tuple[str, ...] = ()  # the reason of each table that is not between two rounds


class LogLevel(Enum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogLevelRequest(msgspec.Struct, frozen=True, rename={"level": "log_level"}):
    """A request for another log level, until the next reload or start; the struct is its own line."""

    id: str
    level: LogLevel


Query = CaptureRequest | StatusRequest | LogLevelRequest | RestartRequest
AnyRequest = Request | Query

# A line with one of these keys is a query; any other line is a command.
QUERIES: Final[Mapping[str, type[Query]]] = {
    "capture": CaptureRequest,
    "status": StatusRequest,
    "log_level": LogLevelRequest,
    "restart": RestartRequest,
}

EXAMPLE: Final = Request(
    "bac-901",
    Commanded(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=3), Author("ann", Role.DEALER), "7f3a"),
)


# --- the notation of values


class Notation(msgspec.Struct, frozen=True):
    description: str
    parse: Callable[[str], object] = str  # from KEY=VALUE to JSON; returns invalid text unchanged, for the check


def parse_number(text: str) -> object:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else text


def parse_card(text: str) -> str:
    try:
        return str(Card.parse(text.upper()))
    except (ValueError, IndexError):
        return text


def one_of(values: Iterable[str]) -> str:
    return "one of " + ", ".join(values)


ROLES: Final = one_of(each.value for each in Role)
NOTATIONS: Final[Mapping[object, Notation]] = {
    int: Notation(f"a whole number from 1 to {LARGEST_NUMBER}", parse_number),
    bool: Notation("yes or no", lambda text: {"yes": True, "no": False}.get(text, text)),
    str: Notation(f"text of 1 to {LONGEST_TEXT} characters"),
    DeviceName: Notation("the name of a device, such as shoe"),
    TableName: Notation("the name of a table, or null for all tables"),
    Card: Notation("a card, such as 8S or 10H", parse_card),
    tuple[Card, ...]: Notation(
        f"at most {MOST_ITEMS} cards, such as 8S,10H", lambda text: [parse_card(each) for each in text.split(",")]
    ),
    str | tuple[str, ...]: Notation(
        f"a word, or at most {MOST_ITEMS} words, such as 8S,10H", lambda text: text.split(",") if "," in text else text
    ),
    **{
        choices: Notation(one_of(each.value for each in choices))
        for choices in (Stage, Device, OverdrawnCard, LogLevel, RestartMoment)
    },
    IrregularityKind: Notation(one_of(NOTICES)),
    Role | None: Notation(f"{ROLES}; null or {PLAYER} for a player"),
    dict[str, object]: Notation('an object, such as {"command": "open-bets"}'),
}


def notation_of(of: object) -> Notation:
    """The notation of a field's type; of T, for the types `T | None` and `Annotated[T, ...]`."""
    return NOTATIONS[of] if of in NOTATIONS else notation_of(get_args(of)[0])


# --- checks


def fields_of(struct: type[msgspec.Struct]) -> dict[str, FieldInfo]:
    """The fields by their keys in JSON."""
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


def checked(struct: type[S], values: Mapping[str, object], place: str = "") -> S:
    """The struct of these values from JSON; UsageError names the first faulty key, and its remedy."""
    fields = fields_of(struct)
    for key in values:
        if key not in fields:
            raise UsageError(f"{place}{shown(key)} is not a key; {suggestion(key, fields)}")
    for key, field in fields.items():
        if field.required and key not in values:
            raise UsageError(f"{place}{key} is missing; give {notation_of(field.type).description}")
        if key in values and (problem := problem_of(values[key], field.type)):
            raise UsageError(f"{place}{key}: {problem}; give {notation_of(field.type).description}")
    return typed(values, struct)


def problem_of(value: object, of: object) -> str | None:
    if fits(value, of):
        return None
    if isinstance(value, list) and fits([], of):  # a list is valid here: its items or its length are not
        wrong = [each for each in value if not fits([each], of)]
        return f"{shown(wrong[0])} is not valid" if wrong else f"{len(value)} items are too many"
    return f"{shown(value)} is not valid"


def fits(value: object, of: object) -> bool:
    with suppress(msgspec.ValidationError):
        return in_bounds(typed(value, of))
    return False


def in_bounds(value: object) -> bool:
    """Not as constraints of the fields' types: journals are decoded with these types, and must stay readable."""
    match value:
        case str():  # a control character spoils a log; a lone surrogate cannot be written as UTF-8
            return 0 < len(value) <= LONGEST_TEXT and value.isprintable()
        case int():
            return 1 <= value <= LARGEST_NUMBER or isinstance(value, bool)
        case tuple():
            return len(value) <= MOST_ITEMS and all(map(in_bounds, value))
        case _:
            return True


def suggestion(word: str, known: Iterable[str]) -> str:
    known = list(known)
    if not known:
        return f"remove {shown(word)}: there are no keys here"
    guess = nearest(word, known)
    return f"did you mean {guess}?" if guess else f"give {one_of(known)}"


def command_of(word: str, values: Mapping[str, object]) -> AnyCommand:
    if word not in COMMANDS:
        raise UsageError(f"{shown(word)} is not a command; {suggestion(word, COMMANDS)}")
    command: AnyCommand = checked(COMMANDS[word], values, f"{word}: ")  # type: ignore[assignment]  # no other in COMMANDS
    return command


# --- from typed words


def typed_command(word: str, pairs: Iterable[str]) -> AnyCommand:
    """The command of `notice kind=foreign-card at=3`, or of the short form `foreign-card at=3`."""
    values: dict[str, object] = {}
    if word in NOTICES:
        word, values = "notice", {"kind": word}
    elif word not in COMMANDS:
        raise UsageError(f"{shown(word)} is not a command; {suggestion(word, (*COMMANDS, *NOTICES))}")
    fields = fields_of(COMMANDS[word])
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"{word}: {shown(pair)} is not KEY=VALUE; {suggestion(key, fields)}")
        if key in values:
            raise UsageError(f"{word}: {key} is given twice; give {key} once")
        values[key] = notation_of(fields[key].type).parse(value) if key in fields else value
    return command_of(word, values)


def typed_request(table: str, command: AnyCommand, author: str, role: str | None, request_id: str) -> Request:
    """The request of a command line, with the same checks as a line of JSON."""
    if role is not None and role not in (*(each.value for each in Role), PLAYER):
        raise UsageError(f"--role: {shown(role)} is not a role; give {ROLES}, or {PLAYER}")
    if role in (None, PLAYER) and not isinstance(command, Decide):
        word = command.__struct_config__.tag
        raise UsageError(f"{word}: a player cannot give this command; give --role, {ROLES}")
    values = msgspec.to_builtins(command)
    return request_of({"table": table, "id": request_id, "author": author, "role": role, "command": values})


# --- from and to lines of JSON


def read(line: bytes) -> AnyRequest | Answer:
    """The request of a line, or the answer that refuses the line."""
    try:
        values = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer("", accepted=False, detail=f"the line is not JSON: {error}; send one JSON object on one line")
    if not isinstance(values, dict):
        return Answer("", accepted=False, detail=f"{shown(values)} is not a request; send one JSON object on one line")
    try:
        query = next((QUERIES[key] for key in QUERIES if key in values), None)
        return request_of(values) if query is None else checked(query, values)
    except UsageError as error:
        request_id = values.get("id")
        return Answer(request_id if isinstance(request_id, str) else "", accepted=False, detail=str(error))


def request_of(values: Mapping[str, object]) -> Request:
    if values.get("role", PLAYER) == PLAYER:
        values = {**values, "role": None}
    line = checked(RequestLine, values)
    match line.command:
        case {"command": str(word), **fields}:
            return Request(line.table, Commanded(command_of(word, fields), Author(line.author, line.role), line.id))
        case _:
            right = NOTATIONS[dict[str, object]].description
            raise UsageError(f"command: the name of the command is missing, or is not text; give {right}")


def json_line(request: AnyRequest) -> bytes:
    if not isinstance(request, Request):
        return msgspec.json.encode(request) + b"\n"
    given = request.input
    command = msgspec.to_builtins(given.command)
    line = RequestLine(request.table, given.id, given.author.name, given.author.role, command)
    return msgspec.json.encode(line) + b"\n"


# --- descriptions, for `shoed tell --help` and docs/commands.md


NOTICE_MEANINGS: Final[Mapping[IrregularityKind, str]] = {
    IrregularityKind.FOREIGN_CARD: "a card does not belong to the set",
    IrregularityKind.DECK_COUNT: "the set has too many or too few cards",
    IrregularityKind.NOT_SHUFFLED: "the set was not shuffled",
    IrregularityKind.WRONG_COUNT: "a hand has a wrong number of cards",
    IrregularityKind.TOO_FEW_CARDS: "the shoe has too few cards to complete the round",
    IrregularityKind.DRAWN_TOGETHER: "two or more cards were drawn at once",
    IrregularityKind.ORDER_ALTERED: "the cards are not in the order in which the shoe was loaded",
    IrregularityKind.CARD_IN_EXCESS: "a card was drawn that was not due",
    IrregularityKind.CARD_EXPOSED: "the face of a card was visible before the card was due to be turned",
    IrregularityKind.WRONG_SIDE: "a card was dealt to the wrong side",
    IrregularityKind.FACE_UP: "a card was dealt face up at a table where cards are dealt face down",
    IrregularityKind.DEALING_ERROR: "any other dealing error",
    IrregularityKind.INSURANCE_NEGLECTED: "insurance was due and was not offered",
    IrregularityKind.INTERRUPTION: "a power failure or another technical fault interrupted the game",
    IrregularityKind.OTHER: "any other irregularity",
}


def keys_of(command: type[Command]) -> list[tuple[str, str, str, str]]:
    """Of each key of a command: the name, the description of a value, the default, the meaning."""
    return [
        (name, notation_of(field.type).description, default_of(field), field.type.__metadata__[0].description)
        for name, field in fields_of(command).items()
    ]


def default_of(field: FieldInfo) -> str:
    match field.default:
        case msgspec.NODEFAULT:
            return "required"
        case None | ():
            return ""
        case bool(default):
            return "yes" if default else "no"
        case default:
            return str(msgspec.to_builtins(default))
