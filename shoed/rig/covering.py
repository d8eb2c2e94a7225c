"""What the golden captures of a family have to hold, by its own tables, and what each of them holds.

Theory of operation: a family names its messages. Of each message there must be one, and one for each choice
that it has: a member of an enum, yes and no, the kinds of a union; and for each number that the family's
page gives a name to. All of it follows from the types, so that a new code without a capture is noticed.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum, Flag
from typing import get_args, get_type_hints

from firmware_protocols.family import Family, Settings
from shoed import drivers, wire
from shoed.now import Chunk, Now
from shoed.ports.capture import Capture, Direction
from shoed.rig.golden import settings_of
from shoed.wire import Frame, LineState


def required(family: Family[Settings]) -> list[str]:
    """All of it, each in one line, as in `ErrorRaised code=3`."""
    return [*dict.fromkeys(line for message in family.messages for line in _of_type(message)), *named(family)]


def named(family: Family[Settings]) -> list[str]:
    """The numbers to which the family's page gives a name: its faults among them."""
    return [f"{each.message.__name__} {each.field}={number}" for each in family.codes for number in each.numbers]


def _of_type(message: type) -> Iterator[str]:
    yield message.__name__
    for name, hint in get_type_hints(message).items():
        for kind in get_args(hint) or (hint,):
            if kind is bool:
                yield from (f"{message.__name__} {name}={value}" for value in ("no", "yes"))
            elif isinstance(kind, type) and is_dataclass(kind):
                yield f"{message.__name__} {name}={kind.__name__}"
                yield from _of_type(kind)
            elif isinstance(kind, type) and issubclass(kind, Enum):
                yield from (f"{message.__name__} {name}={each.value}" for each in kind)


def held(capture: Capture, family: Family[Settings] | None = None) -> set[str]:
    """What the device said in it, in the same lines."""
    family = family or drivers.find(capture.header.family).family
    reports, line, lines = family.reports(settings_of(capture.header, family)), LineState(), set[str]()
    for record in capture.records:
        if record.direction is Direction.FROM_DEVICE:
            chunk = Chunk(record.data, Now(record.at_us, record.at_us * 1000))
            line, found = wire.receive(reports, line, chunk)
            lines.update(each for frame in found if isinstance(frame, Frame) for each in _of_value(frame.message))
    return lines


def _of_value(message: object) -> Iterator[str]:
    name = type(message).__name__
    yield name
    for field in fields(message):  # type: ignore[arg-type]  # every message of a family is a dataclass
        value = getattr(message, field.name)
        match value:
            case bool():
                yield f"{name} {field.name}={'yes' if value else 'no'}"
            case Flag():
                yield from (f"{name} {field.name}={each.value}" for each in value)
            case Enum():
                yield f"{name} {field.name}={value.value}"
            case tuple():
                yield from (line for each in value if is_dataclass(each) for line in _member(name, field.name, each))
            case int():
                yield f"{name} {field.name}={value}"
            case _:
                if is_dataclass(value):
                    yield from _member(name, field.name, value)


def _member(name: str, field: str, value: object) -> Iterator[str]:
    yield f"{name} {field}={type(value).__name__}"
    yield from _of_value(value)
