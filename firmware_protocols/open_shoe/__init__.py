"""Open Shoe, an open protocol for shoes and shufflers. PROTOCOL.md is its definition."""

from typing import Final, get_args

from firmware_protocols.family import Codes, Family, Line, Mark, UsbId
from firmware_protocols.open_shoe.codec import build, orders, reports
from firmware_protocols.open_shoe.layout import FAILURE_NAMES, FAULT_NAMES
from firmware_protocols.open_shoe.messages import FaultChanged, FromDevice, OpenShoeFailed
from firmware_protocols.open_shoe.settings import OpenShoeSettings

__all__ = ["FAMILY", "OpenShoeSettings", "build", "orders", "reports"]

FAMILY: Final = Family(
    name="open-shoe",
    title="Open Shoe",
    firmware=("1", "2", "3"),
    line=Line(115200),
    usb_ids=(
        UsbId(
            0x1209,
            0x0001,
            "Open Shoe on a test id",
            Mark.DOCUMENTED,
            "a test id of pid.codes, for experiments only: any device may use it",
            raw=True,
        ),
    ),
    settings=OpenShoeSettings,
    reports=reports,
    orders=orders,
    roles=("shoe", "shuffler"),
    keyed=True,
    identifies=True,
    messages=get_args(FromDevice),
    codes=(Codes(FaultChanged, "code", tuple(FAULT_NAMES)), Codes(OpenShoeFailed, "reason", tuple(FAILURE_NAMES))),
)
