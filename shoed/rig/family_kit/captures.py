"""The laws of a family's captures: they are readable, their output is as expected, and they show every message."""

from itertools import zip_longest
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.rig import capture_coverage, golden
from shoed.rig.family_kit.subject import Subject

ORIGINS: Final = {"synthetic", "observed"}


def readable(subject: Subject) -> None:
    """A capture exists. Each capture is of this family, states its origin, and names existing settings."""
    for played in subject.played:
        header = played.capture.header
        subject.given = played.name
        if header.family != subject.family.name or header.firmware not in subject.family.firmware:
            raise subject.broken(f"the capture is of {header.family} {header.firmware}")
        if (origin := dict(header.others).get("origin")) not in ORIGINS:
            raise subject.broken(f"its origin is {origin}; write origin synthetic, or origin observed")


def expected(subject: Subject) -> None:
    """The observations of NAME.capture are exactly those of NAME.expect."""
    for played in subject.played:
        file = subject.folder / played.name.replace(".capture", ".expect")
        subject.given = file.name
        if not file.is_file():
            raise subject.broken("the file is missing")
        expectation = golden.expected(file.read_text(encoding="utf-8"), file.name)
        due = [line for line in expectation.lines if line.startswith('{"saw"')]  # the table makes the events
        device = golden.device_of(played.capture.header)
        seen = [msgspec.json.encode(replace(each, device=device)).decode() for each in subject.observed_in(played)]
        for number, (incoming, wanted) in enumerate(zip_longest(seen, due), start=1):
            if incoming != wanted:
                subject.given = played.name
                raise subject.broken(f"observation {number} is {incoming}, not {wanted}")


def coverage(subject: Subject) -> None:
    """The captures show every message of the family, with every choice and code."""
    held = {line for played in subject.played for line in capture_coverage.held(played.capture, subject.family)}
    subject.given = f"{len(subject.played)} captures"
    if missing := [line for line in capture_coverage.required(subject.family) if line not in held]:
        raise subject.broken(f"no capture has {', '.join(missing)}")
    if not subject.family.messages:
        raise subject.broken("the family names no messages")
