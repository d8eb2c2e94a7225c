"""The key of a table's state: states with one key have the same future.

Reductions, and why they are sound:
- All moments and all journal rows of the exploration are equal, so that none of them makes two states differ.
- Sequences of events are replaced by their ranks: the table compares them with each other, or publishes them.
  That of the last event is left out: the next one is greater than all others.
- Ids of questions are replaced by their ranks, and their count by zero: the table compares an id with the one that an
  answer names, and the explorer answers the open question.
- Revisions of questions are left out, but for whether there is one: the table compares them with the one that an answer
  names, and no answer of the explorer names one.
- Numbers of shoes and rounds, and ids of cards and matters, stay: rules depend on the first round of a shoe, and the
  depth of the exploration bounds them.
"""

from hashlib import blake2b
from typing import Any, Final

import msgspec

from shoed.table import TableState

SEQUENCES: Final = frozenset({"sequence", "accounted"})
COUNTS: Final = frozenset({"questions", "revision", "since"})  # of questions
ENCODER: Final = msgspec.json.Encoder()


def key_of(state: TableState) -> bytes:
    plain = {**msgspec.to_builtins(state), "sequence": 0}
    numbers: set[int] = set()
    ids: set[int] = set()
    collect(plain, numbers, ids)
    ranks = {number: rank for rank, number in enumerate(sorted(numbers | {0}))}
    names = {number: rank for rank, number in enumerate(sorted(ids))}
    return blake2b(ENCODER.encode(reduced(plain, ranks, names)), digest_size=16).digest()


def is_sequence(name: str, value: object) -> bool:
    return name in SEQUENCES and isinstance(value, int)  # that of a frame is a text


def is_question_id(name: str, value: object) -> bool:
    return name == "id" and isinstance(value, str)


def collect(value: Any, numbers: set[int], ids: set[int]) -> None:  # noqa: ANN401 -- JSON has any shape
    if isinstance(value, dict):
        for name, each in value.items():
            if is_sequence(name, each):
                numbers.add(each)
            elif is_question_id(name, each):
                ids.add(int(each))
            elif isinstance(each, dict | list | tuple):
                collect(each, numbers, ids)
    elif isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, dict | list | tuple):
                collect(each, numbers, ids)


def reduced(value: Any, ranks: dict[int, int], names: dict[int, int]) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        after = {}
        for name, each in value.items():
            if is_sequence(name, each):
                after[name] = ranks[each]
            elif is_question_id(name, each):
                after[name] = names[int(each)]
            elif name in COUNTS and isinstance(each, int):
                after[name] = name == "revision" and each > 0
            else:
                after[name] = reduced(each, ranks, names) if isinstance(each, dict | list | tuple) else each
        return after
    if isinstance(value, list | tuple):
        return [reduced(each, ranks, names) for each in value]
    return value
