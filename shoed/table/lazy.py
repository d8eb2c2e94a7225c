"""A property that is computed once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """As `functools.cached_property`, without its lock. Python 3.12 has removed the lock."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name = compute.__name__

    def __get__(self, owner: Any, _: type | None = None) -> T:  # noqa: ANN401 -- of any class
        value = owner.__dict__[self.name] = self.compute(owner)
        return value
