"""A session that only receives, driven by hand: bytes and times in, observations out."""

from typing import Generic

import msgspec

from shoed.model.observations import AnyObservation, LinkOpened
from shoed.model.step import AnyInput, LinkUp, Received, Woken
from shoed.session import S, Session, SessionOutput
from tests.angel_eye_line import MS, START, at


class Listening(Generic[S]):
    """A session whose link was opened at time 0. Its state is encoded as JSON before each input, as in a checkpoint."""

    def __init__(self, session: Session[S], port: str) -> None:
        self.session = session
        self.state = session.begin()
        assert self.take(LinkUp(port), 0).observations == (LinkOpened(at=at(0), port=port),)

    def take(self, incoming: AnyInput, ms: float) -> SessionOutput:
        state = msgspec.json.decode(msgspec.json.encode(self.state), type=self.session.state_type)
        self.state, heard = self.session.step(state, incoming, at(ms))
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
