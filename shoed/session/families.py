"""Which session speaks with which family."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol, cast

from firmware_protocols.family import Settings
from shoed.session import Session, SessionState
from shoed.session.angel_eye import AngelEyeSession
from shoed.session.bee_tek import BeeTekSession

if TYPE_CHECKING:
    from firmware_protocols.open_shoe import OpenShoeSettings


class Maker(Protocol):
    def __call__(self, settings: Settings, *, allow_orders: bool) -> Session[SessionState]: ...


def _open_shoe(settings: "OpenShoeSettings", *, allow_orders: bool) -> object:
    from shoed.session.open_shoe import OpenShoeSession  # 10 ms, which a start without one need not spend

    return OpenShoeSession(settings, allow_orders=allow_orders)


# A session reads only its own family's settings and state; a mapping of many families cannot say so.
SESSIONS: Final[Mapping[str, Maker]] = {
    "angel-eye": cast("Maker", AngelEyeSession),
    "bee-tek": cast("Maker", BeeTekSession),
    "open-shoe": cast("Maker", _open_shoe),
}
