"""Which session speaks with which family."""

from collections.abc import Mapping
from typing import Final, Protocol, cast

from firmware_protocols.family import Settings
from shoed.session import Session, SessionState
from shoed.session.angel_eye import AngelEyeSession
from shoed.session.bee_tek import BeeTekSession
from shoed.session.open_shoe import OpenShoeSession


class Maker(Protocol):
    def __call__(self, settings: Settings, *, allow_orders: bool) -> Session[SessionState]: ...


# A session reads only its own family's settings and state; a mapping of many families cannot say so.
SESSIONS: Final[Mapping[str, Maker]] = {
    "angel-eye": cast("Maker", AngelEyeSession),
    "bee-tek": cast("Maker", BeeTekSession),
    "open-shoe": cast("Maker", OpenShoeSession),
}
