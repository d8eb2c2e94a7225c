"""The session of a host that only listens, by hand: bytes and moments in, observations out."""

from typing import Generic

import msgspec

from shoed.observations import AnyObservation, LinkOpened
from shoed.session import Heard, S, Session
from shoed.step import AnyInput, LinkUp, Received, Woken
from tests.angel_eye_line import MS, START, at


class Listening(Generic[S]):
    """A session whose link opened at 0. Its state goes through JSON before each input, as a checkpoint does."""

    def __init__(self, session: Session[S], port: str) -> None:
        self.session = session
        self.state = session.begin()
        assert self.take(LinkUp(port), 0).observations == (LinkOpened(at=at(0), port=port),)

    def take(self, came: AnyInput, ms: float) -> Heard:
        state = msgspec.json.decode(msgspec.json.encode(self.state), type=self.session.state_type)
        self.state, heard = self.session.step(state, came, at(ms))
        assert heard.sends == ()
        return heard

    def hear(self, data: bytes, ms: float) -> list[AnyObservation]:
        return list(self.take(Received(data), ms).observations)

    def wake(self, ms: float) -> list[AnyObservation]:
        return list(self.take(Woken(), ms).observations)

    @property
    def wake_ms(self) -> float | None:
        moment = self.session.wake_at(self.state)
        return None if moment is None else (moment - START.mono_ns) / MS
