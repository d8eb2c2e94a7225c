"""The key of a table's state: states with the same key have the same behaviour.

The reductions, each with its reason:
- All moments and all journal rows of the exploration are equal: they cannot distinguish two states.
- Sequence numbers of events are replaced by their ranks: the table compares them with each other, or publishes them.
  The number of the last event is omitted: the next number is greater than all others.
- Ids of questions are replaced by their ranks, and their count by zero: the table compares an id with the id in an
  answer, and the explorer answers the open question.
- Of a revision of a question only its presence is kept: the table compares it with the revision in an answer, and no
  answer of the explorer has a revision.
- Numbers of shoes and rounds, and ids of cards and matters, are kept: rules depend on the first round of a shoe, and
  the depth of the exploration limits these numbers.
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
    return name in SEQUENCES and isinstance(value, int)  # the sequence of a frame is a text


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
