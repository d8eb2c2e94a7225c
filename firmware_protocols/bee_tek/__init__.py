"""The Bee-Tek shoe of US Playing Card. What is known of its protocol, and how well, is in PROTOCOL.md."""

from typing import Final, get_args

from firmware_protocols.bee_tek.codec import build, orders, reports
from firmware_protocols.bee_tek.layout import NOT_READ
from firmware_protocols.bee_tek.messages import (
    Alarm,
    BurnCard,
    CardText,
    Caution,
    Face,
    FailedRead,
    GameCard,
    Mode,
    NoFace,
    Report,
    Suit,
)
from firmware_protocols.bee_tek.settings import BeeTekSettings, ManualBurn
from firmware_protocols.family import Codes, Family, Line

__all__ = [
    "FAMILY",
    "NOT_READ",
    "Alarm",
    "BeeTekSettings",
    "BurnCard",
    "CardText",
    "Caution",
    "Face",
    "FailedRead",
    "GameCard",
    "ManualBurn",
    "Mode",
    "NoFace",
    "Report",
    "Suit",
    "build",
    "orders",
    "reports",
]

FAMILY: Final = Family(
    name="bee-tek",
    title="Bee-Tek",
    firmware=("any",),  # no version is named, on the line or elsewhere: one layout is known
    line=Line(9600),
    usb_ids=(),  # no USB of its own is known, and a generic adapter says nothing of what is behind it
    settings=BeeTekSettings,
    reports=reports,
    orders=orders,
    messages=get_args(Report),
    codes=(Codes(Alarm, "number", (NOT_READ,)),),
)
