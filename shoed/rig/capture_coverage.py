"""The messages that the golden captures of a family must contain, and the messages that a capture contains.

Theory of operation: a family names its messages. The captures must contain each message, each value of each field
with a choice (a member of an enum, yes or no, a type of a union), and each number that the family's protocol page
names. The requirements follow from the types, so a new code without a capture is detected.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum, Flag
from typing import get_args, get_type_hints

from firmware_protocols.family import Family, Settings
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.ports.capture import Capture, Direction
from shoed.rig.golden import settings_of
from shoed.session import drivers
from shoed.wire import Frame, LineState


def required(family: Family[Settings]) -> list[str]:
    """Return all requirements, one line each, such as `ErrorRaised code=3`."""
    return [*dict.fromkeys(line for message in family.messages for line in _of_type(message)), *named(family)]


def named(family: Family[Settings]) -> list[str]:
    """Return the numbers that the family's protocol page names, faults included."""
    return [f"{_name(each.message)} {each.field}={number}" for each in family.codes for number in each.numbers]


def _name(kind: type) -> str:
    """The name of a class without the prefix of its family: `OpenShoeCard` of the package `open_shoe` is `Card`."""
    name = kind.__name__
    for part in kind.__module__.split("."):
        name = name.removeprefix(part.title().replace("_", "")) or name
    return name


def _of_type(message: type) -> Iterator[str]:
    yield _name(message)
    for name, hint in get_type_hints(message).items():
        for kind in get_args(hint) or (hint,):
            if kind is bool:
                yield from (f"{_name(message)} {name}={value}" for value in ("no", "yes"))
            elif isinstance(kind, type) and is_dataclass(kind):
                yield f"{_name(message)} {name}={_name(kind)}"
                yield from _of_type(kind)
            elif isinstance(kind, type) and issubclass(kind, Enum):
                yield from (f"{_name(message)} {name}={each.value}" for each in kind)


def held(capture: Capture, family: Family[Settings] | None = None) -> set[str]:
    """Return the contents of a capture, in the same form as the requirements."""
    family = family or drivers.find(capture.header.family).family
    reports, line, lines = family.reports(settings_of(capture.header, family)), LineState(), set[str]()
    for record in capture.records:
        if record.direction is Direction.FROM_DEVICE:
            chunk = Chunk(record.data, Now(record.at_us, record.at_us * 1000))
            line, found = wire.receive(reports, line, chunk)
            lines.update(each for frame in found if isinstance(frame, Frame) for each in _of_value(frame.message))
    return lines


def _of_value(message: object) -> Iterator[str]:
    name = _name(type(message))
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
    yield f"{name} {field}={_name(type(value))}"
    yield from _of_value(value)
