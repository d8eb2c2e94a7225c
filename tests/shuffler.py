"""A shuffler that says its observations in JSON, one in each chunk: for engines, whatever families there are."""

from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.now import Now
from shoed.observations import AnyObservation, Device, LinkClosed, LinkOpened
from shoed.session import Heard, Session, SessionState
from shoed.step import AnyInput, Configured, LinkDown, LinkUp, Ordered, Received, Woken

PORT: Final = "tcp://127.0.0.1:4002"
ALIVE_NS: Final = 5_000_000_000


class State(SessionState, frozen=True):
    open: bool = False
    said: int = 0
    alive_at: int | None = None  # it is asked then whether it is there


class Telling:
    """It acknowledges what it hears, asks after it every five seconds, and passes orders on."""

    state_type = State

    def begin(self) -> State:
        return State()

    def step(self, state: State, came: AnyInput, now: Now) -> tuple[State, Heard]:
        match came:
            case LinkUp(port=port):
                return State(open=True, said=state.said), Heard((LinkOpened(at=now, port=port),))
            case LinkDown() | Configured() if state.open:
                reason = came.reason if isinstance(came, LinkDown) else "the daemon was away"
                return State(said=state.said), Heard((LinkClosed(at=now, reason=reason),))
            case Received(data=data) if state.open:
                seen: AnyObservation = msgspec.json.decode(data, type=AnyObservation)
                said = state.said + 1
                return State(True, said, now.mono_ns + ALIVE_NS), Heard((replace(seen, at=now),), (b"heard %d" % said,))  # noqa: FBT003 -- open
            case Woken() if state.alive_at is not None and now.mono_ns >= state.alive_at:
                return replace(state, alive_at=now.mono_ns + ALIVE_NS), Heard(sends=(b"there?",))
            case Ordered(order=order) if state.open:
                return state, Heard(sends=(order.kind.value.encode(),))
            case _:
                return state, Heard()

    def wake_at(self, state: State) -> int | None:
        return state.alive_at


def shuffler() -> Session[SessionState]:
    return Telling()  # type: ignore[return-value]  # as a Driver has it: a session reads its own state only


def says(seen: AnyObservation) -> Received:
    return Received(msgspec.json.encode(seen), device=Device.SHUFFLER)


UP: Final = LinkUp(PORT, device=Device.SHUFFLER)
DOWN: Final = LinkDown("the shuffler's cable is out", device=Device.SHUFFLER)
