"""The Bee-Tek shoe of US Playing Card. PROTOCOL.md holds all known facts of its protocol, and how they are known."""

from typing import Final, get_args

from firmware_protocols.bee_tek.codec import build, orders, reports
from firmware_protocols.bee_tek.layout import NOT_READ
from firmware_protocols.bee_tek.messages import (
    Alarm,
    BeeTekFace,
    BeeTekNoFace,
    BeeTekReport,
    BeeTekSuit,
    BurnCard,
    CardText,
    Caution,
    FailedRead,
    GameCard,
    Mode,
)
from firmware_protocols.bee_tek.settings import BeeTekSettings, ManualBurn
from firmware_protocols.family import Codes, Family, Line

__all__ = [
    "FAMILY",
    "NOT_READ",
    "Alarm",
    "BeeTekFace",
    "BeeTekNoFace",
    "BeeTekReport",
    "BeeTekSettings",
    "BeeTekSuit",
    "BurnCard",
    "CardText",
    "Caution",
    "FailedRead",
    "GameCard",
    "ManualBurn",
    "Mode",
    "build",
    "orders",
    "reports",
]

FAMILY: Final = Family(
    name="bee-tek",
    title="Bee-Tek",
    firmware=("any",),  # neither the line nor another source names a version: one layout is known
    line=Line(9600),
    usb_ids=(),  # no USB id of the shoe is known, and a generic adapter does not identify the connected device
    settings=BeeTekSettings,
    reports=reports,
    orders=orders,
    messages=get_args(BeeTekReport),
    codes=(Codes(Alarm, "number", (NOT_READ,)),),
)
