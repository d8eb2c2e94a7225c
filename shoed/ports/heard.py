"""The content of received bytes: nothing, messages of a family, readable text, or garbage.

Theory of operation: the decoders of all families read the same bytes. A family is recognised if its messages contain
most of the bytes. A UART at a wrong speed delivers bytes that no family accepts. A device of another kind often sends
readable text.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from firmware_protocols.family import Family, Settings
from shoed import wire
from shoed.model.moments import Chunk
from shoed.ports.discover import KnownFamilies
from shoed.settings import shown
from shoed.wire import Frame, LineState

MOST: Final = 0.5  # the part of the bytes from which a family is certain: the first message may be cut
READABLE: Final = 0.9  # the part of printable characters in a text
PRINTABLE: Final = bytes((*range(0x20, 0x7F), *b"\r\n\t"))
SHOWN: Final = 24  # bytes


class Content(Enum):
    """What received bytes are."""

    SILENCE = auto()
    MESSAGES = auto()  # of one family, in most of the bytes
    DISTURBED = auto()  # a few messages of one family between other bytes
    TEXT = auto()
    GARBAGE = auto()


class Heard(Struct, frozen=True):
    """The received bytes, the family with the most bytes in messages, and the number of these bytes."""

    data: bytes = b""
    family: str | None = None
    spoken: int = 0

    @property
    def content(self) -> Content:
        size = len(self.data)
        if not size:
            return Content.SILENCE
        if self.spoken:
            return Content.MESSAGES if self.spoken >= MOST * size else Content.DISTURBED
        readable = sum(each in PRINTABLE for each in self.data)
        return Content.TEXT if readable >= READABLE * size else Content.GARBAGE

    def __str__(self) -> str:
        size = len(self.data)
        match self.content:
            case Content.SILENCE:
                return "no bytes"
            case Content.MESSAGES | Content.DISTURBED:
                return f"{size} bytes, of which {self.spoken} are messages of {self.family}"
            case Content.TEXT:
                text = shown(self.data[:SHOWN].decode("ascii", "replace").strip())
                return f"{size} bytes of text that is not a message of a known family: {text}"
            case Content.GARBAGE:
                return (
                    f"{size} bytes without a message of a known family, as at a wrong speed or parity:"
                    f" {self.data[:SHOWN].hex(' ')}"
                )


def describe(chunks: Sequence[Chunk], families: KnownFamilies) -> Heard:
    """The content of these bytes. The first of several equal families counts."""
    spoken = {name: _spoken(chunks, family) for name, family in families.items()}
    best = max(spoken, key=spoken.__getitem__, default=None)
    data = b"".join(chunk.data for chunk in chunks)
    return Heard(data, best, spoken[best]) if best is not None and spoken[best] else Heard(data)


def _spoken(chunks: Iterable[Chunk], family: Family[Settings]) -> int:
    """The number of bytes in complete messages."""
    reports = family.reports(family.settings())
    state, spoken = LineState(), 0
    for chunk in chunks:
        state, found = wire.receive(reports, state, chunk)
        spoken += sum(len(each.raw) for each in found if isinstance(each, Frame))
    return spoken
