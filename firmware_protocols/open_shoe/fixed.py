"""Payloads whose fields all have one size, read and made without construct, from the declared fields themselves.

A card takes construct 8 us, and this 1; at 115200 baud a line carries one every 3 ms, over USB they
follow at once. What does not fit raises, and construct is asked again to say what is wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any, Final

from construct import Adapter, Construct, FormatField, Int16ub, Mapping, Validator


class Number(Validator):
    """A report's number, which is never 0."""

    def _validate(self, obj: int, _context: object, _path: str) -> bool:
        return obj > 0


NUMBER: Final = Number(Int16ub)


class Fixed:
    """The values of the fields, in their order."""

    def __init__(self, layouts: Sequence[Construct], sizes: Iterable[str]) -> None:
        self.struct: Final = Struct(">" + "".join(sizes))
        self.decoders: Final = tuple(map(_decoder, layouts))
        self.encoders: Final = tuple(map(_encoder, layouts))

    def parse(self, payload: bytes) -> list[Any]:
        """`struct.error` or `KeyError`, if it cannot be read."""
        values = self.struct.unpack(payload)
        return [value if code is None else code(value) for code, value in zip(self.decoders, values, strict=True)]

    def build(self, values: Iterable[object]) -> bytes:
        """`struct.error` or `KeyError`, if they do not fit."""
        codes = zip(self.encoders, values, strict=True)
        return self.struct.pack(*[value if code is None else code(value) for code, value in codes])


def fixed(layouts: Sequence[Construct]) -> Fixed | None:
    """None: one of them has no size of its own."""
    sizes = [_size(each) for each in layouts]
    return None if None in sizes else Fixed(layouts, filter(None, sizes))


def _size(layout: Construct) -> str | None:
    while isinstance(layout, Adapter):
        layout = layout.subcon
    return layout.fmtstr[1:] if isinstance(layout, FormatField) else None


def _decoder(layout: Construct) -> Callable[[Any], object] | None:
    if isinstance(layout, Mapping):
        decode: Callable[[Any], object] = layout.decmapping.__getitem__
        return decode
    return _counted if isinstance(layout, Number) else None


def _encoder(layout: Construct) -> Callable[[Any], object] | None:
    if isinstance(layout, Mapping):
        encode: Callable[[Any], object] = layout.encmapping.__getitem__
        return encode
    return _counted if isinstance(layout, Number) else None


def _counted(number: int) -> int:
    if number < 1:
        raise KeyError(number)
    return number
