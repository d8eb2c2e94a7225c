"""The built-in families. Each family has protocol data, a host session and a device session, joined in a `Driver`."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, Generic, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from firmware_protocols.family import Family, Settings
from shoed.session import Session, SessionState

F = TypeVar("F", bound=Settings)
F_contra = TypeVar("F_contra", bound=Settings, contravariant=True)
S = TypeVar("S", bound=SessionState)


class Maker(Protocol[F_contra, S]):
    def __call__(self, settings: F_contra, *, allow_orders: bool) -> Session[S]: ...


class Driver(Struct, Generic[F, S], frozen=True):
    """All that shoed needs of one family. An entry point of `shoed.protocols` refers to a Driver."""

    family: Family[F]
    session: Maker[F, S]
    device: Callable[[F], object] | None = None  # the device's session (say, hear, wake_at), if one exists
    unchecked: tuple[str, ...] = ()  # kinds of frame without a check: a flipped bit may produce a different message


AnyDriver: TypeAlias = Driver[Settings, SessionState]


@cache
def _angel_eye() -> AnyDriver:
    from firmware_protocols.angel_eye import FAMILY, AngelEyeSettings
    from shoed.session.angel_eye import AngelEyeSession

    def device(settings: AngelEyeSettings) -> object:
        from shoed.session.angel_eye_shoe import AngelEyeShoe

        return AngelEyeShoe(settings)

    return any_driver(Driver(FAMILY, AngelEyeSession, device, unchecked=("acknowledge", "refuse")))


@cache
def _bee_tek() -> AnyDriver:
    from firmware_protocols.bee_tek import FAMILY, BeeTekSettings
    from shoed.session.bee_tek import BeeTekSession

    def device(settings: BeeTekSettings) -> object:
        from shoed.session.bee_tek_shoe import BeeTekShoe

        return BeeTekShoe(settings)

    return any_driver(Driver(FAMILY, BeeTekSession, device, unchecked=("line",)))


@cache
def _open_shoe() -> AnyDriver:
    from firmware_protocols.open_shoe import FAMILY, OpenShoeSettings
    from shoed.session.open_shoe import OpenShoeSession

    def device(settings: OpenShoeSettings) -> object:
        from shoed.session.open_shoe_device import OpenShoeDeviceSession

        return OpenShoeDeviceSession(settings)

    return any_driver(Driver(FAMILY, OpenShoeSession, device))


@cache
def _scanner() -> AnyDriver:
    from firmware_protocols.scanner import FAMILY, ScannerSettings
    from shoed.session.scanner import ScannerSession

    def device(_: ScannerSettings) -> object:
        from shoed.session.scanner_device import Scanner

        return Scanner()

    return any_driver(Driver(FAMILY, ScannerSession, device, unchecked=("report",)))


def any_driver(driver: Driver[F, S]) -> AnyDriver:
    """Widen the types. A session reads only its own family's settings and state; a common mapping cannot state that."""
    return cast("AnyDriver", driver)


BUILT_IN: Final[Mapping[str, Callable[[], AnyDriver]]] = {
    "angel-eye": _angel_eye,
    "bee-tek": _bee_tek,
    "open-shoe": _open_shoe,
    "scanner": _scanner,
}


class Drivers(Mapping[str, AnyDriver]):
    """The built-in drivers by family name. A driver's modules are imported on first access, to keep the start short."""

    def __getitem__(self, name: str) -> AnyDriver:
        return BUILT_IN[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(BUILT_IN)

    def __len__(self) -> int:
        return len(BUILT_IN)


DRIVERS: Final = Drivers()
