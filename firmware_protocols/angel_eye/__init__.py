"""Angel Eye II-EX, a baccarat shoe. What is known of its protocol, and how well, is in PROTOCOL.md."""

from typing import Final, get_args

from firmware_protocols.angel_eye.codec import build, orders, reports
from firmware_protocols.angel_eye.layout import FAULTS
from firmware_protocols.angel_eye.messages import (
    CLEAR_ERROR,
    CONFIRM_PROCESS,
    DISCARD_OVERDRAWN,
    FOLLOWING,
    LOCK,
    UNLOCK,
    USE_OVERDRAWN,
    Acknowledge,
    CardCode,
    CardInGame,
    CardOutside,
    CuttingCard,
    ErrorCleared,
    ErrorRaised,
    Face,
    Fault,
    FromShoe,
    KeyLock,
    Message,
    NoFace,
    Order,
    OrderType,
    Outcome,
    OverdrawCard,
    PresetChanged,
    Refusal,
    Refuse,
    Report,
    Result,
    Situation,
    StandBy,
    StartOfCommunication,
    Suit,
    Target,
)
from firmware_protocols.angel_eye.settings import AngelEyeSettings, Span
from firmware_protocols.family import Codes, Family, Line, Mark, UsbId

__all__ = [
    "CLEAR_ERROR",
    "CONFIRM_PROCESS",
    "DISCARD_OVERDRAWN",
    "FAMILY",
    "FAULTS",
    "FOLLOWING",
    "LOCK",
    "UNLOCK",
    "USE_OVERDRAWN",
    "Acknowledge",
    "AngelEyeSettings",
    "CardCode",
    "CardInGame",
    "CardOutside",
    "CuttingCard",
    "ErrorCleared",
    "ErrorRaised",
    "Face",
    "Fault",
    "FromShoe",
    "KeyLock",
    "Message",
    "NoFace",
    "Order",
    "OrderType",
    "Outcome",
    "OverdrawCard",
    "PresetChanged",
    "Refusal",
    "Refuse",
    "Report",
    "Result",
    "Situation",
    "Span",
    "StandBy",
    "StartOfCommunication",
    "Suit",
    "Target",
    "build",
    "orders",
    "reports",
]

# The shoe has no USB of its own: an RS-232 adapter says that a shoe may be behind it, never that one is.
ADAPTER_NOTE: Final = "a generic RS-232 adapter: anything may be behind it"

FAMILY: Final = Family(
    name="angel-eye",
    title="Angel Eye II-EX",
    firmware=("ii-ex",),  # the line names no firmware: the one layout known is that of the II-EX
    line=Line(4800),
    usb_ids=(
        UsbId(0x0403, 0x6001, "FTDI FT232", Mark.ASSUMED, ADAPTER_NOTE),
        UsbId(0x067B, 0x2303, "Prolific PL2303", Mark.ASSUMED, ADAPTER_NOTE),
        UsbId(0x1A86, 0x7523, "QinHeng CH340", Mark.ASSUMED, ADAPTER_NOTE),
        UsbId(0x10C4, 0xEA60, "Silicon Labs CP210x", Mark.ASSUMED, ADAPTER_NOTE),
    ),
    settings=AngelEyeSettings,
    reports=reports,
    orders=orders,
    messages=get_args(FromShoe),
    codes=(Codes(ErrorRaised, "code", tuple(FAULTS)), Codes(ErrorCleared, "code", tuple(FAULTS))),
)
