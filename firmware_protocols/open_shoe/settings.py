"""The settings of an Open Shoe device, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from firmware_protocols.family import Mark, Settings, setting
from firmware_protocols.open_shoe.messages import OpenShoeRole


class Acknowledging(Enum):
    """Whether this host acknowledges the reports on its disk."""

    YES = "yes"
    NO = "no"  # another host acknowledges; this host only listens


@dataclass(frozen=True, slots=True)
class OpenShoeSettings(Settings):
    role: OpenShoeRole = setting(
        OpenShoeRole.SHOE,
        reason="the role of the device at the table: a device with another role is refused, and keeps its reports",
        mark=Mark.DOCUMENTED,
    )
    acknowledge: Acknowledging = setting(
        Acknowledging.YES,
        reason="a device deletes acknowledged reports, so only one host may acknowledge: a second host only listens",
        mark=Mark.DOCUMENTED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="silence inside a frame after which the frame is discarded: "
        "a frame of the maximum length takes 90 ms on the line, and a device server may delay bytes to pack them",
        mark=Mark.DOCUMENTED,
    )
    quiet_after_s: int = setting(
        30,
        within=(10, 86400),
        unit="s",
        reason="a device sends ALIVE every 10 s: three ALIVEs are missing",
        mark=Mark.DOCUMENTED,
    )
    resend_ms: int = setting(
        1000,
        within=(100, 60000),
        unit="ms",
        reason="the interval of requests for a missing report: twice the time after which the device repeats by itself",
        mark=Mark.DOCUMENTED,
    )
    order_timeout_ms: int = setting(
        3000,
        within=(500, 60000),
        unit="ms",
        reason="the lock of an exit moves in less than a second; an order without an answer for 3 s was lost",
        mark=Mark.DOCUMENTED,
    )

    def for_role(self, role: str) -> Self:
        return replace(self, role=OpenShoeRole(role))

    def listening(self) -> Self:
        return replace(self, acknowledge=Acknowledging.NO)
