"""What differs between Angel Eye sites or is not known for certain, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from firmware_protocols.family import Line, Mark, Settings, setting


class Span(Enum):
    """Which bytes the BCC covers. The BCC itself is never among them."""

    BODY = "body"  # from the byte after the start byte to ETX
    WHOLE = "whole"  # the start byte too


@dataclass(frozen=True, slots=True)
class AngelEyeSettings(Settings):
    bcc_span: Span = setting(
        Span.BODY,
        reason="every report known byte by byte checks out only without ENQ",
        mark=Mark.OBSERVED,
    )
    order_bcc_span: Span = setting(
        Span.WHOLE,
        reason="the one order known byte by byte checks out only with STX",
        mark=Mark.OBSERVED,
    )
    copies: int = setting(
        3,
        within=(1, 9),
        reason="the shoe sends each report three times; 1 where a device on the way has dropped the copies",
        mark=Mark.DOCUMENTED,
    )
    line_baud: int = setting(
        4800,
        within=(50, 115200),
        unit="baud",
        reason="speed of the shoe's own line where a device server hides it: nine reports take 338 ms at 4800 baud, "
        "and only after a shorter absence the next number proves that nothing was missed; "
        "a serial:// or rfc2217:// port has its own speed, and this setting has no effect",
        mark=Mark.DOCUMENTED,
    )
    repeat_window_ms: int = setting(
        2000,
        within=(100, 2250),
        unit="ms",
        reason="nine honest reports at 250 ms a card take 2250 ms, so equal bytes sooner than that are a copy; "
        "three copies of the longest report take 75 ms on the line",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="silence inside a frame after which what came of it is given up: "
        "the longest frame takes 42 ms on the line, and a device server may hold bytes back to pack them",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="an idle shoe says nothing between rounds, and a cut RS-232 cable sounds the same",
        mark=Mark.ASSUMED,
    )
    order_timeout_ms: int = setting(
        3000,
        within=(500, 60000),
        unit="ms",
        reason="hosts customarily wait 3 s for the answer to an order",
        mark=Mark.OBSERVED,
    )

    def on(self, line: Line) -> Self:
        return replace(self, line_baud=line.baud)
