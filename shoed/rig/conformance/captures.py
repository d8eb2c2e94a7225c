"""The laws of a family's captures: they can be read, what must follow from them does, and they show every message."""

from itertools import zip_longest
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.rig import covering, golden
from shoed.rig.conformance.subject import Subject

ORIGINS: Final = {"synthetic", "observed"}


def readable(subject: Subject) -> None:
    """There is one, and each is of this family, says where it comes from and names settings that there are."""
    for played in subject.played:
        header = played.capture.header
        subject.given = played.name
        if header.family != subject.family.name or header.firmware not in subject.family.firmware:
            raise subject.broken(f"it is of {header.family} {header.firmware}")
        if (origin := dict(header.others).get("origin")) not in ORIGINS:
            raise subject.broken(f"its origin is {origin}; write origin synthetic, or origin observed")


def expected(subject: Subject) -> None:
    """What NAME.expect says is observed in NAME.capture, and nothing else is."""
    for played in subject.played:
        file = subject.folder / played.name.replace(".capture", ".expect")
        subject.given = file.name
        if not file.is_file():
            raise subject.broken("it is missing")
        expectation = golden.expected(file.read_text(encoding="utf-8"), file.name)
        due = [line for line in expectation.lines if line.startswith('{"saw"')]  # events are the table's
        device = golden.device_of(played.capture.header)
        seen = [msgspec.json.encode(replace(each, device=device)).decode() for each in subject.observed_in(played)]
        for number, (came, wanted) in enumerate(zip_longest(seen, due), start=1):
            if came != wanted:
                subject.given = played.name
                raise subject.broken(f"observation {number} is {came}, and not {wanted}")


def coverage(subject: Subject) -> None:
    """Every message that the family names is in one, with every choice and code that it has."""
    held = {line for played in subject.played for line in covering.held(played.capture, subject.family)}
    subject.given = f"{len(subject.played)} captures"
    if missing := [line for line in covering.required(subject.family) if line not in held]:
        raise subject.broken(f"none has {', '.join(missing)}")
    if not subject.family.messages:
        raise subject.broken("the family names no messages")
