"""JSON and plain values as typed values, in every thread.

Theory of operation: at the first use of a type, msgspec examines it and its parts, and keeps the result in their
classes. If another thread uses one of these classes during the examination, the process ends with a segmentation fault.
Therefore one lock covers the first use of each type, and no other module makes a decoder.
"""

import threading
from functools import cache
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")

FIRST_USE: Final = threading.Lock()


@overload
def decoder(of: type[T]) -> "msgspec.json.Decoder[T]": ...
@overload
def decoder(of: object) -> "msgspec.json.Decoder[Any]": ...
def decoder(of: Any) -> "msgspec.json.Decoder[Any]":
    """The decoder of a type."""
    return _decoder(of)


@cache
def _decoder(of: Any) -> "msgspec.json.Decoder[Any]":  # noqa: ANN401 -- a type or a union
    with FIRST_USE:
        return msgspec.json.Decoder(of)


@overload
def typed(value: object, of: type[T], *, strict: bool = True) -> T: ...
@overload
def typed(value: object, of: object, *, strict: bool = True) -> Any: ...  # noqa: ANN401 -- a union has no type
def typed(value: object, of: Any, *, strict: bool = True) -> Any:
    """A typed value from plain values."""
    with FIRST_USE:
        return msgspec.convert(value, of, strict=strict)
