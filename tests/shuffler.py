"""A shuffler that sends its observations in JSON, one in each chunk: for engines without a family."""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Device, LinkClosed, LinkOpened
from shoed.model.step import AnyInput, Configured, LinkDown, LinkUp, Ordered, Received, Woken
from shoed.session import Session, SessionOutput, SessionState

PORT: Final = "tcp://127.0.0.1:4002"
ALIVE_NS: Final = 5_000_000_000


class State(SessionState, frozen=True):
    open: bool = False
    count: int = 0
    alive_at: int | None = None  # when the session asks for a sign of life


class JsonSession:
    """It acknowledges each observation, asks for a sign of life every five seconds, and passes orders on."""

    state_type = State

    def begin(self) -> State:
        return State()

    def step(self, state: State, incoming: AnyInput, now: Now) -> tuple[State, SessionOutput]:
        match incoming:
            case LinkUp(port=port):
                return State(open=True, count=state.count), SessionOutput((LinkOpened(at=now, port=port),))
            case LinkDown() | Configured() if state.open:
                reason = incoming.reason if isinstance(incoming, LinkDown) else "the daemon was away"
                return State(count=state.count), SessionOutput((LinkClosed(at=now, reason=reason),))
            case Received(data=data) if state.open:
                seen: AnyObservation = msgspec.json.decode(data, type=AnyObservation)
                count = state.count + 1
                return State(open=True, count=count, alive_at=now.mono_ns + ALIVE_NS), SessionOutput(
                    (replace(seen, at=now),), (b"heard %d" % count,)
                )
            case Woken() if state.alive_at is not None and now.mono_ns >= state.alive_at:
                return replace(state, alive_at=now.mono_ns + ALIVE_NS), SessionOutput(sends=(b"there?",))
            case Ordered(order=order) if state.open:
                return state, SessionOutput(sends=(order.kind.value.encode(),))
            case _:
                return state, SessionOutput()

    def wake_at(self, state: State) -> int | None:
        return state.alive_at


def shuffler() -> Session[SessionState]:
    return JsonSession()  # type: ignore[return-value]  # the type of a Driver: a session reads only its own state


def says(seen: AnyObservation) -> Received:
    return Received(msgspec.json.encode(seen), device=Device.SHUFFLER)


UP: Final = LinkUp(PORT, device=Device.SHUFFLER)
DOWN: Final = LinkDown("the shuffler's cable is out", device=Device.SHUFFLER)
