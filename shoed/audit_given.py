"""One line of `shoed rules table` as values, or what is wrong with it, where, and what would be right.

Theory of operation: msgspec converts a line. One that it refuses is gone through once more, beside the types that
a line has, for a message in our words. `docs/rules-table.md` has every field and word.
"""

import json
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Annotated, Final

import msgspec
from msgspec import inspect

from shoed.audit import NoRoundError, not_json, refuse
from shoed.rules.book import OF_LIMITS, Fact, RuleBook
from shoed.rules.house import Basis, Forgone, Limits, Rounding
from shoed.rules.questions import Ask
from shoed.settings import BARE_KEY, shown
from shoed.words import Stage

DECKS: Final = 8
DIGITS: Final = 100
MOST: Final = 10**DIGITS  # sums and fractions of such amounts can still be written out

Ordinal = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]


class BetGiven(msgspec.Struct, frozen=True):
    seat: Ordinal
    bettor: str
    bet: str
    stake: Ordinal
    standing: bool = False
    stage: Stage | None = None
    behalf: bool = False


class IrregularityGiven(msgspec.Struct, frozen=True):
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


class DecisionGiven(msgspec.Struct, frozen=True):
    question: Ask
    choice: str | tuple[str, ...]
    role: str
    irregularity: Count | None = None
    bettor: str | None = None


class Switch(Enum):
    ON = "on"
    OFF = "off"


class Table(msgspec.Struct, frozen=True):
    """One line."""

    cards: tuple[object, ...]
    bets: tuple[BetGiven, ...]
    decks: int = DECKS
    layout: str | None = None
    seats: Ordinal | None = None
    rounding: Rounding = Rounding.DOWN
    limits: Limits = Limits()
    noticed: bool = False
    squeeze: bool = False
    insurance: Switch = Switch.ON
    insurance_forgone: Forgone = Forgone.ROUND
    outcome_basis: Basis = Basis.OFFERED
    irregularities: tuple[IrregularityGiven, ...] = ()
    decisions: tuple[DecisionGiven, ...] = ()


TABLE: Final = inspect.type_info(Table)


def idle_fields(book: RuleBook) -> frozenset[str]:
    """What the game has no rule for, and so is ignored, whatever stands there."""
    names = {"layout" if book.seats is None else "seats"}
    if not book.insurances:
        names |= {"squeeze", "insurance", "insurance_forgone"}
    if not OF_LIMITS & book.rules.keys():
        names |= {"limits", "noticed"}
    if not any(Fact.ESTABLISHED in row.when for row in book.irregularities):
        names.add("outcome_basis")
    return frozenset(names)


def read(line: bytes, number: int, idle: AbstractSet[str] = frozenset()) -> tuple[str, Table]:
    """The id as JSON, and the rest as values. `number`: which line of the input it is, from 1."""
    try:
        value = json.loads(line.decode(), parse_constant=refuse)
        name = json.dumps(value.get("id"), allow_nan=False) if isinstance(value, dict) else "null"
    except (ValueError, RecursionError) as error:
        raise not_json(error, line, number) from None
    if isinstance(value, dict):
        value = {key: told for key, told in value.items() if key not in idle}
    try:
        table = msgspec.convert(value, Table)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise NoRoundError("bad-line", fault(TABLE, value, "") or str(error), name) from None
    limits = table.limits
    amounts = (*(bet.stake for bet in table.bets), *limits.minimums.values())
    if max(*amounts, limits.minimum, limits.maximum or 0, limits.differential or 0) > MOST:
        places = {f"bets[{position}].stake": bet.stake for position, bet in enumerate(table.bets)}
        places |= {inside("limits.minimums", bet): least for bet, least in limits.minimums.items()}
        places |= {
            "limits.minimum": limits.minimum,
            "limits.maximum": limits.maximum or 0,
            "limits.differential": limits.differential or 0,
        }
        where = next(place for place, amount in places.items() if amount > MOST)
        raise NoRoundError("bad-line", f"{where}: the amount is too large; write at most {DIGITS} digits", name)
    return name, table


# --- what is wrong with a line


def fault(of: inspect.Type, value: object, at: str) -> str | None:  # noqa: C901 -- a line for each type
    """The first thing that is wrong with a value that has to be of this type; None: nothing is."""
    match of:
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            return next(filter(None, (fault_of_field(field, value, at) for field in fields)), None)
        case inspect.DictType(value_type=item) if isinstance(value, dict):
            return next(filter(None, (fault(item, each, inside(at, key)) for key, each in value.items())), None)
        case inspect.VarTupleType(item_type=item) if isinstance(value, list):
            return next(filter(None, (fault(item, each, f"{at}[{nth}]") for nth, each in enumerate(value))), None)
        case inspect.UnionType(types=types):
            faults = [fault(each, value, at) for each in types]
            if None in faults:
                return None
            of_its_kind = (found for found in faults if found and not found.startswith(f"{at}: "))  # of an item
            return next(of_its_kind, None) or refused(of, value, at)
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
        case inspect.CustomType():  # judged later
            fits = True
        case _:  # a list or an object that is none
            fits = False
    return None if fits else refused(of, value, at)


def fault_of_field(field: inspect.Field, given: Mapping[str, object], at: str) -> str | None:
    where = inside(at, field.encode_name)
    if field.encode_name in given:
        return fault(field.type, given[field.encode_name], where)
    return f"{where}: is missing; write {right(field.type)}" if field.required else None


def refused(of: inspect.Type, value: object, at: str) -> str:
    given = "an object" if isinstance(value, dict) else shown(value)
    return f"{at or 'the line'}: {given} is not allowed; write {right(of)}"


def inside(at: str, key: str) -> str:
    return ".".join(filter(None, (at, key if re.fullmatch(BARE_KEY, key) else shown(key))))


def right(of: inspect.Type) -> str:
    match of:
        case inspect.UnionType(types=types):
            return " or ".join(right(each) for each in types)
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
