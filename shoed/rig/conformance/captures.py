"""The laws of a family's captures: they can be read, what must follow from them does, and they show every message."""

import json
from typing import Final

import msgspec

from shoed.rig.conformance.subject import Played, Subject, received

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
    """What NAME.expect says, and nothing else, is observed in NAME.capture."""
    for played in subject.played:
        file = subject.folder / played.name.replace(".capture", ".expect")
        if not file.is_file():
            raise subject.broken(f"{file.name} is missing")
        lines = (line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{"))
        due = [line for line in map(json.loads, lines) if "saw" in line]
        for number, (seen, wanted) in enumerate(zip(observations(subject, played), [*due, None], strict=False)):
            if seen != wanted:
                subject.given = played.name
                raise subject.broken(f"observation {number + 1} is {seen}, and not {wanted}")
        if not due or len(due) != len(observations(subject, played)):
            subject.given = played.name
            raise subject.broken(f"{len(due)} observations are expected")


def observations(subject: Subject, played: Played) -> list[object]:
    seen = subject.observed(subject.session(played.settings), played.inputs)
    return [json.loads(msgspec.json.encode(each)) for each in seen]


def coverage(subject: Subject) -> None:
    """Every kind of message that the device can say is shown once at least, and none that is not declared."""
    said: set[type] = set()
    for played in subject.played:
        reports = subject.family.reports(played.settings)
        pieces = [each.data for each in received(played.inputs)]
        said |= {type(frame.message) for frame in subject.frames(reports, pieces)}
    declared = set(subject.driver.messages)
    subject.given = f"{len(subject.played)} captures"
    for kinds, what in ((declared - said, "is in none of them"), (said - declared, "is not declared")):
        if kinds:
            raise subject.broken(f"{', '.join(sorted(kind.__name__ for kind in kinds))} {what}")
