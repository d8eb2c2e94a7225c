"""The bytes that a fuzzer sends to a family: random bytes, frames with a correct check, and bytes of captures.

Random bytes almost never have a correct check, so the code after the check would stay untested. Each family with a
check therefore has an entry in SEALS.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import xor
from typing import Any, Final

from firmware_protocols.angel_eye import Span
from firmware_protocols.angel_eye.layout import ENQ
from firmware_protocols.family import Codec, FrameKind, Setting, Settings, declared
from firmware_protocols.open_shoe.codec import seal
from shoed.rig.family_kit.subject import Subject, received
from shoed.session.families import AnyDriver
from tests.fuzz.source import Source

Seal = Callable[[Any, FrameKind, bytes], bytes]  # with the family's own settings
RAW, FRAME, SHOWN = range(3)
LONGEST_SEED: Final = 1024  # bytes: short inputs run more often
# The first seeds, for families without captures.
FIRST: Final = (
    [(FRAME, b"1S")],
    [(FRAME, b"2D\x81\xb8"), (FRAME, b"2D\x81\xb8"), (FRAME, b"3G\x91")],
    [(RAW, b"[Game]<Card:4S>\r\n")],
)


def bare(_: Settings, kind: FrameKind, inside: bytes) -> bytes:
    """A kind without a check, or with an unknown check: correct only by chance."""
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
        """Return the defaults, or an extreme of each setting; a setting without bounds keeps its default."""
        values = {}
        for name, setting in declared(self.family.settings).items():
            values[name] = source.among([setting.default, *extremes(setting)])
        return self.family.settings(**values)

    def piece_of(self, source: Source, direction: Codec[object], settings: Settings) -> bytes:
        """Return the next bytes on the line."""
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

    def seeds(self, prefix: bytes, wrap: Callable[[bytes], bytes], *, captured: bool = True) -> list[bytes]:
        """Return the seed inputs in the form that `piece_of` reads: the first bytes of each capture, and FIRST."""
        captures = [[(RAW, each.data) for each in received(played.inputs)] for played in self.played if captured]
        start = bytes(len(declared(self.family.settings))) + prefix
        return [
            (start + b"".join(wrap(written(*each)) for each in line))[:LONGEST_SEED] for line in (*captures, *FIRST)
        ]


def written(form: int, data: bytes) -> bytes:
    first_kind = b"\0" if form == FRAME else b""
    return bytes((form,)) + first_kind + bytes((len(data[:255]),)) + data[:255]


def extremes(setting: Setting) -> list[object]:
    return [*setting.choices, *(bound for bound in (setting.low, setting.high) if bound is not None)]
