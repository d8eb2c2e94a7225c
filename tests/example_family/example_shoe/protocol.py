"""The messages of an Example shoe: `!`, the event, `*`, a check of two hex digits, and a line feed."""

from dataclasses import dataclass
from typing import TypeAlias, get_args

from firmware_protocols.family import (
    Codec,
    Family,
    FrameKind,
    Framing,
    Line,
    Malformed,
    Mark,
    Reason,
    Settings,
    setting,
)


@dataclass(frozen=True, slots=True)
class Drawn:
    card: str  # "8S"


@dataclass(frozen=True, slots=True)
class CutCard:
    pass


@dataclass(frozen=True, slots=True)
class Jam:
    cleared: bool


Report: TypeAlias = Drawn | CutCard | Jam
CARDS = [rank + suit for rank in ("A", *"23456789", "10", *"JQK") for suit in "SHDC"]
MESSAGES: dict[bytes, Report] = {f"C{card}".encode(): Drawn(card) for card in CARDS}
MESSAGES |= {b"X": CutCard(), b"J1": Jam(cleared=False), b"J0": Jam(cleared=True)}
LINES = Framing((FrameKind("line", start=ord("!"), end=ord("\n"), body_max=16),), never_inside=b"!\n")


@dataclass(frozen=True, slots=True)
class ExampleSettings(Settings):
    torn_after_ms: int = setting(
        500, within=(50, 5000), unit="ms", mark=Mark.ASSUMED, reason="the longest line takes 8 ms"
    )
    quiet_after_s: int = setting(
        300, within=(10, 86400), unit="s", mark=Mark.ASSUMED, reason="the shoe sends nothing between two cards"
    )


def read(raw: bytes) -> Report | Malformed:
    text, _, check = raw[1:-1].partition(b"*")
    if check != (due := b"%02X" % (sum(text) % 0x100)):
        return Malformed(Reason.BAD_CHECK, f"the check is {check!r}, not {due!r}")
    return MESSAGES.get(text) or Malformed(Reason.UNKNOWN_COMMAND, f"{text!r} is unknown")


def reports(settings: ExampleSettings) -> Codec[Report]:
    return Codec(LINES, settings.torn_after_ms, read)


def orders(settings: ExampleSettings) -> Codec[object]:
    return Codec(LINES, settings.torn_after_ms, lambda _: Malformed(Reason.UNKNOWN_COMMAND, "no order is known"))


FAMILY = Family(
    "example", "Example shoe", ("1",), Line(9600), (), ExampleSettings, reports, orders, messages=get_args(Report)
)
