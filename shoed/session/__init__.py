"""Sessions: frames and deadlines in, observations out; one module per device family.

A session is a fold over all that concerns one device: its link, its bytes, its deadlines and the
orders for it. It ends where the device's own words end: what comes out belongs to no family.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from shoed.now import Now
from shoed.observations import AnyObservation
from shoed.step import AnyInput


class SessionState(msgspec.Struct, frozen=True):
    """The base of what a session keeps between two inputs."""


S = TypeVar("S", bound=SessionState)


class Heard(msgspec.Struct, frozen=True):
    """What a session made of one input."""

    observations: tuple[AnyObservation, ...] = ()
    sends: tuple[bytes, ...] = ()
    counted: Mapping[str, int] = {}  # bytes that were rejected and only counted, by their reason


class Session(Protocol[S]):
    state_type: type[S]

    def begin(self) -> S: ...

    def step(self, state: S, came: AnyInput, now: Now) -> tuple[S, Heard]: ...

    def wake_at(self, state: S) -> int | None: ...
