"""The input of `shoed rules table`: one line as values, or its first error with place and remedy.

Theory of operation: msgspec converts a line. A line that msgspec refuses is compared with the types of its fields, to
write a message with place and remedy. `docs/rules-table.md` documents every field and word.
"""

import json
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Annotated, Final

import msgspec
from msgspec import inspect

from shoed.cli.rules.settle import LineError, bad_json, refuse_constant
from shoed.model.irregularities import Stage
from shoed.rules.book import LIMIT_RULES, Fact, RuleBook
from shoed.rules.house_rules import ForgoneFor, OutcomeBasis, Rounding, TableLimits
from shoed.rules.questions import Ask
from shoed.settings import BARE_KEY, shown
from shoed.typed_json import typed

DECKS: Final = 8
DIGITS: Final = 100
MOST: Final = 10**DIGITS  # Python converts sums and fractions of such amounts to text

Ordinal = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class BetInput(msgspec.Struct, frozen=True):
    seat: Ordinal
    bettor: str
    bet: str
    stake: Ordinal
    standing: bool = False
    stage: Stage | None = None
    behalf: bool = False


class IrregularityInput(msgspec.Struct, frozen=True):
    kind: str
    at: Count | None = None
    noticed_at: Count | None = None
    count: Annotated[int, msgspec.Meta(ge=2)] = 2
    order_known: bool = False
    reconstructable: bool | None = None
    order: tuple[str, ...] = ()
    of_the_dealing: bool = True
    between_rounds: bool = False
    noticed_late: bool = False
    stage: Stage = Stage.AFTER_FOUR
    bet: Count | None = None
    bettor: str | None = None


class DecisionInput(msgspec.Struct, frozen=True):
    question: Ask
    choice: str | tuple[str, ...]
    role: str
    irregularity: Count | None = None
    bettor: str | None = None


class Switch(Enum):
    ON = "on"
    OFF = "off"


class TableInput(msgspec.Struct, frozen=True):
    """One line."""

    cards: tuple[object, ...]
    bets: tuple[BetInput, ...]
    decks: int = DECKS
    layout: str | None = None
    seats: Ordinal | None = None
    rounding: Rounding = Rounding.DOWN
    limits: TableLimits = TableLimits()
    noticed: bool = False
    squeeze: bool = False
    insurance: Switch = Switch.ON
    insurance_forgone: ForgoneFor = ForgoneFor.ROUND
    outcome_basis: OutcomeBasis = OutcomeBasis.OFFERED
    irregularities: tuple[IrregularityInput, ...] = ()
    decisions: tuple[DecisionInput, ...] = ()


TABLE: Final = inspect.type_info(TableInput)


def ignored_fields(book: RuleBook) -> frozenset[str]:
    """The fields without a rule in the game. They are ignored, whatever their values are."""
    names = {"layout" if book.seats is None else "seats"}
    if not book.insurances:
        names |= {"squeeze", "insurance", "insurance_forgone"}
    if not LIMIT_RULES & book.rules.keys():
        names |= {"limits", "noticed"}
    if not any(Fact.ESTABLISHED in row.when for row in book.irregularities):
        names.add("outcome_basis")
    return frozenset(names)


def read(line: bytes, number: int, ignored: AbstractSet[str] = frozenset()) -> tuple[str, TableInput]:
    """The id as JSON, and the other fields as values. `number`: of the line in the input, from 1."""
    try:
        value = json.loads(line.decode(), parse_constant=refuse_constant)
        id_json = json.dumps(value.get("id"), allow_nan=False) if isinstance(value, dict) else "null"
    except (ValueError, RecursionError) as error:
        raise bad_json(error, line, number) from None
    if isinstance(value, dict):
        value = {key: value_of_key for key, value_of_key in value.items() if key not in ignored}
    try:
        table = typed(value, TableInput)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise LineError("bad-line", first_fault(TABLE, value, "") or str(error), id_json) from None
    limits = table.limits
    amounts = (*(bet.stake for bet in table.bets), *limits.minimums.values())
    if max(*amounts, limits.minimum, limits.maximum or 0, limits.differential or 0) > MOST:
        places = {f"bets[{position}].stake": bet.stake for position, bet in enumerate(table.bets)}
        places |= {path_of("limits.minimums", bet): least for bet, least in limits.minimums.items()}
        places |= {
            "limits.minimum": limits.minimum,
            "limits.maximum": limits.maximum or 0,
            "limits.differential": limits.differential or 0,
        }
        where = next(place for place, amount in places.items() if amount > MOST)
        raise LineError("bad-line", f"{where}: the amount is too large; write at most {DIGITS} digits", id_json)
    return id_json, table


# --- the first error of a line


def first_fault(of: inspect.Type, value: object, at: str) -> str | None:  # noqa: C901 -- a line for each type
    """The first error of a value that must have this type; None: it has no error."""
    match of:
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            return next(filter(None, (fault_of_field(field, value, at) for field in fields)), None)
        case inspect.DictType(value_type=item) if isinstance(value, dict):
            return next(filter(None, (first_fault(item, each, path_of(at, key)) for key, each in value.items())), None)
        case inspect.VarTupleType(item_type=item) if isinstance(value, list):
            return next(filter(None, (first_fault(item, each, f"{at}[{nth}]") for nth, each in enumerate(value))), None)
        case inspect.UnionType(types=types):
            faults = [first_fault(each, value, at) for each in types]
            if None in faults:
                return None
            of_items = (found for found in faults if found and not found.startswith(f"{at}: "))
            return next(of_items, None) or refused(of, value, at)
        case inspect.EnumType(cls=cls):
            fits = isinstance(value, str) and value in {each.value for each in cls}
        case inspect.IntType(ge=least):
            fits = isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)
        case inspect.StrType():
            fits = isinstance(value, str)
        case inspect.BoolType():
            fits = isinstance(value, bool)
        case inspect.NoneType():
            fits = value is None
        case inspect.CustomType():  # verified later
            fits = True
        case _:  # not the list or the object that is required
            fits = False
    return None if fits else refused(of, value, at)


def fault_of_field(field: inspect.Field, given: Mapping[str, object], at: str) -> str | None:
    where = path_of(at, field.encode_name)
    if field.encode_name in given:
        return first_fault(field.type, given[field.encode_name], where)
    return f"{where}: is missing; write {allowed(field.type)}" if field.required else None


def refused(of: inspect.Type, value: object, at: str) -> str:
    given = "an object" if isinstance(value, dict) else shown(value)
    return f"{at or 'the line'}: {given} is not allowed; write {allowed(of)}"


def path_of(at: str, key: str) -> str:
    return ".".join(filter(None, (at, key if re.fullmatch(BARE_KEY, key) else shown(key))))


def allowed(of: inspect.Type) -> str:
    match of:
        case inspect.UnionType(types=types):
            return " or ".join(allowed(each) for each in types)
        case inspect.EnumType(cls=cls):
            return either(each.value for each in cls)
        case inspect.IntType(ge=least):
            return "a whole number" if least is None else f"a whole number from {least}"
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
        case inspect.VarTupleType():
            return "a list"
        case inspect.StructType(fields=fields):
            required = ", ".join(f"{shown(field.encode_name)}: ..." for field in fields if field.required)
            return f"an object{required and f', {{{required}}}'}"
        case inspect.DictType():
            return "an object"
        case _:
            return "text between double quotes"


def either(words: Iterable[str]) -> str:
    return " or ".join(map(shown, words))
