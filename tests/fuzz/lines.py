"""What a fuzzer puts on the line of a family: any bytes, frames with a right check, and what captures hold.

A check lets next to nothing through that was made by chance: what lies behind it would never be tried. Each
family that has one stands in SEALS.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import xor
from typing import Any, Final

from firmware_protocols.angel_eye import Span
from firmware_protocols.angel_eye.layout import ENQ
from firmware_protocols.family import Direction, FrameKind, Setting, Settings, declared
from firmware_protocols.open_shoe.codec import seal
from shoed.rig.conformance.subject import Subject, received
from shoed.session.families import AnyDriver
from tests.fuzz.source import Source

Seal = Callable[[Any, FrameKind, bytes], bytes]  # of the family's own settings
RAW, FRAME, SHOWN = range(3)
LONGEST_SEED: Final = 1024  # bytes: short ones are tried more often
# For families whose captures are not there: something to begin with.
FIRST: Final = (
    [(FRAME, b"1S")],
    [(FRAME, b"2D\x81\xb8"), (FRAME, b"2D\x81\xb8"), (FRAME, b"3G\x91")],
    [(RAW, b"[Game]<Card:4S>\r\n")],
)


def bare(_: Settings, kind: FrameKind, inside: bytes) -> bytes:
    """A kind without a check, or with one that nobody told us of: right by chance only."""
    end = b"" if kind.end is None else bytes((kind.end,))
    body, trailer = (inside, b"") if kind.end is None else (inside[: kind.body_max], inside[-kind.trailer :])
    return bytes((kind.start,)) + body[: kind.body_max] + end + trailer[: kind.trailer]


def angel_eye(settings: Any, kind: FrameKind, inside: bytes) -> bytes:  # noqa: ANN401 -- as Seal has it
    if not kind.trailer:
        return bare(settings, kind, inside)
    span = settings.bcc_span if kind.start == ENQ else settings.order_bcc_span
    checked = bare(settings, kind._replace(trailer=0), inside)
    return checked + b"%02X" % reduce(xor, checked if span is Span.WHOLE else checked[1:])


def open_shoe(_: Settings, __: FrameKind, inside: bytes) -> bytes:
    return seal(inside)


SEALS: Final[Mapping[str, Seal]] = {"angel-eye": angel_eye, "open-shoe": open_shoe}


class Line:
    def __init__(self, driver: AnyDriver) -> None:
        self.family = driver.family
        self.seal = SEALS.get(driver.family.name, bare)
        subject = Subject(driver)
        self.played = subject.played if subject.files else []
        self.shown = [one.raw for one in subject.specimens] if self.played else []

    def settings(self, source: Source) -> Settings:
        """The defaults, or an extreme of each setting; what has no bounds stays as it is."""
        values = {}
        for name, setting in declared(self.family.settings).items():
            values[name] = source.among([setting.default, *extremes(setting)])
        return self.family.settings(**values)

    def said(self, source: Source, direction: Direction[object], settings: Settings) -> bytes:
        """What comes next on the line."""
        form = source.byte() % 3
        if form == SHOWN and self.shown:
            frame = bytearray(source.among(self.shown))
            for _ in range(source.byte() % 4):
                frame[source.byte() % len(frame)] = source.byte()
            return bytes(frame)
        if form == FRAME:
            kind = source.among(direction.framing.kinds)
            return self.seal(settings, kind, source.piece().translate(None, direction.framing.never_inside))
        return source.piece()

    def seeds(self, before: bytes, around: Callable[[bytes], bytes], *, captured: bool = True) -> list[bytes]:
        """The beginnings of the captures, and FIRST; each piece in the form that `said` reads."""
        captures = [[(RAW, each.data) for each in received(played.inputs)] for played in self.played if captured]
        start = bytes(len(declared(self.family.settings))) + before
        return [
            (start + b"".join(around(written(*each)) for each in line))[:LONGEST_SEED] for line in (*captures, *FIRST)
        ]


def written(form: int, data: bytes) -> bytes:
    first_kind = b"\0" if form == FRAME else b""
    return bytes((form,)) + first_kind + bytes((len(data[:255]),)) + data[:255]


def extremes(setting: Setting) -> list[object]:
    return [*setting.choices, *(bound for bound in (setting.low, setting.high) if bound is not None)]
