"""What a site may set of an Open Shoe, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from firmware_protocols.family import Mark, Settings, setting
from firmware_protocols.open_shoe.messages import Role


class Acknowledging(Enum):
    """Whether this host acknowledges what is on its disk."""

    YES = "yes"
    NO = "no"  # another host does, and this one only listens


@dataclass(frozen=True, slots=True)
class OpenShoeSettings(Settings):
    role: Role = setting(
        Role.SHOE,
        reason="what the device is at the table: one that says otherwise is refused, and keeps its reports",
        mark=Mark.DOCUMENTED,
    )
    acknowledge: Acknowledging = setting(
        Acknowledging.YES,
        reason="a device forgets what is acknowledged, so exactly one host may do it: a second one only listens",
        mark=Mark.DOCUMENTED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="silence inside a frame after which what came of it is given up: "
        "a frame of the greatest length takes 90 ms on the line, and a device server may hold bytes back to pack them",
        mark=Mark.DOCUMENTED,
    )
    quiet_after_s: int = setting(
        30,
        within=(10, 86400),
        unit="s",
        reason="a device says ALIVE every 10 s: three of them are missing",
        mark=Mark.DOCUMENTED,
    )
    resend_ms: int = setting(
        1000,
        within=(100, 60000),
        unit="ms",
        reason="how often a missing report is asked for: twice as long as the device waits before it repeats by itself",
        mark=Mark.DOCUMENTED,
    )
    order_timeout_ms: int = setting(
        3000,
        within=(500, 60000),
        unit="ms",
        reason="an exit's lock moves in less than a second; what is silent for 3 s has not heard the order",
        mark=Mark.DOCUMENTED,
    )

    def standing(self, role: str) -> Self:
        return replace(self, role=Role(role))

    def listening(self) -> Self:
        return replace(self, acknowledge=Acknowledging.NO)
