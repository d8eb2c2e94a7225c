"""Sessions turn frames and deadlines into observations. Each device family has one session module.

A session is a fold. Its inputs concern one device: link changes, bytes, deadlines and device orders.
Observations are the same for every family. Words of one device protocol stay inside its session.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from shoed.model.moments import Now
from shoed.model.observations import AnyObservation
from shoed.model.step import AnyInput


class SessionState(msgspec.Struct, frozen=True):
    """Base class of the state that a session keeps between two inputs."""


S = TypeVar("S", bound=SessionState)


class SessionOutput(msgspec.Struct, frozen=True):
    """The result of one input."""

    observations: tuple[AnyObservation, ...] = ()
    sends: tuple[bytes, ...] = ()
    counted: Mapping[str, int] = {}  # rejected bytes that have no observation of their own, by reason


class Session(Protocol[S]):
    state_type: type[S]

    def begin(self) -> S: ...

    def step(self, state: S, incoming: AnyInput, now: Now) -> tuple[S, SessionOutput]: ...

    def wake_at(self, state: S) -> int | None: ...
