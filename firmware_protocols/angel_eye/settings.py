"""The properties of Angel Eye sites that differ or are uncertain, each with its default and its reason."""

# ruff: noqa: RUF009 -- `setting` makes a dataclass field, as `field` does

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from firmware_protocols.family import Line, Mark, Settings, setting


class Span(Enum):
    """The bytes that the BCC covers. The BCC never covers itself."""

    BODY = "body"  # from the byte after the start byte to ETX
    WHOLE = "whole"  # the start byte, too


@dataclass(frozen=True, slots=True)
class AngelEyeSettings(Settings):
    bcc_span: Span = setting(
        Span.BODY,
        reason="every report that is known byte by byte has a correct BCC only without ENQ",
        mark=Mark.OBSERVED,
    )
    order_bcc_span: Span = setting(
        Span.WHOLE,
        reason="the only order that is known byte by byte has a correct BCC only with STX",
        mark=Mark.OBSERVED,
    )
    copies: int = setting(
        3,
        within=(1, 9),
        reason="the shoe sends each report three times; 1 if a device on the way removes the copies",
        mark=Mark.DOCUMENTED,
    )
    line_baud: int = setting(
        4800,
        within=(50, 115200),
        unit="baud",
        reason="speed of the shoe's line at a device server in raw TCP mode; at 4800 baud, nine reports of three "
        "copies take at least 338 ms: after a longer absence, an expected sequence does not prove that no report was "
        "missed; no effect on serial:// and rfc2217:// ports, which have their own speed",
        mark=Mark.DOCUMENTED,
    )
    repeat_window_ms: int = setting(
        2000,
        within=(100, 2250),
        unit="ms",
        reason="a sequence repeats after nine reports, which take 2250 ms at 250 ms a card: equal bytes within 2000 ms "
        "are a copy; three copies of the longest report take 75 ms on the line",
        mark=Mark.ASSUMED,
    )
    torn_after_ms: int = setting(
        500,
        within=(50, 5000),
        unit="ms",
        reason="after this silence an incomplete frame is rejected: the longest frame takes 42 ms on the line, "
        "and a device server may delay bytes to pack them",
        mark=Mark.ASSUMED,
    )
    quiet_after_s: int = setting(
        300,
        within=(10, 86400),
        unit="s",
        reason="an idle shoe sends nothing between rounds, and a cut RS-232 cable cannot be distinguished from it",
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
