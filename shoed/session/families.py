"""The families that are built in, each as a whole driver: its data, its session, and its device's half."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from firmware_protocols import angel_eye, bee_tek
from firmware_protocols.family import Family, Settings
from shoed.session import Session, SessionState
from shoed.session.angel_eye import AngelEyeSession
from shoed.session.bee_tek import BeeTekSession

F = TypeVar("F", bound=Settings)
F_contra = TypeVar("F_contra", bound=Settings, contravariant=True)
S = TypeVar("S", bound=SessionState)


class Maker(Protocol[F_contra, S]):
    def __call__(self, settings: F_contra, *, allow_orders: bool) -> Session[S]: ...


class Driver(Struct, Generic[F, S], frozen=True):
    """All that shoed needs of one family; the object behind an entry point of `shoed.protocols`."""

    family: Family[F]
    session: Maker[F, S]
    device: Callable[[F], object] | None = None  # its half of the line (say, hear, wake_at), where there is one
    unchecked: tuple[str, ...] = ()  # kinds of frame without a check: a flipped bit may make another message
    speaks: bool = False  # whether the session sends without an order too, as to acknowledge


def angel_eye_shoe(settings: angel_eye.AngelEyeSettings) -> object:
    from shoed.session.angel_eye_shoe import AngelEyeShoe

    return AngelEyeShoe(settings)


AnyDriver: TypeAlias = Driver[Settings, SessionState]

# A session reads only its own family's settings and state; a mapping of many families cannot say so.
DRIVERS: Final[Mapping[str, AnyDriver]] = MappingProxyType(
    {
        driver.family.name: cast("AnyDriver", driver)
        for driver in (
            Driver(angel_eye.FAMILY, AngelEyeSession, angel_eye_shoe, unchecked=("acknowledge", "refuse")),
            Driver(bee_tek.FAMILY, BeeTekSession, unchecked=("line",)),
        )
    }
)
SESSIONS: Final = {name: driver.session for name, driver in DRIVERS.items()}
