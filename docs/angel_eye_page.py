"""Renders the tables of PROTOCOL.md from the declared data. `docs/generate.py` writes them into the page."""

from collections.abc import Mapping

from docs.protocol_page import settings_table, table
from firmware_protocols.angel_eye import FAMILY
from firmware_protocols.angel_eye.layout import (
    COMMANDS,
    ERRORS,
    FORMS,
    FROM_SHOE,
    ORDERS,
    OUTCOMES,
    REFUSALS,
    SITUATIONS,
    SUITS,
    TARGETS,
)
from firmware_protocols.family import Code, FrameKind, Name


def tables() -> Mapping[str, str]:
    """Return each block of the page by its name, as Markdown."""
    return {
        "frames": table(("kind", "on the line", "maximum bytes of the body"), map(_frame, FROM_SHOE.kinds)),
        "commands": table(
            ("command", "meaning", "data", "bytes", "known"),
            ((f"`{it.letter}`", it.title, it.payload, str(it.size), it.mark.value) for it in COMMANDS),
        ),
        "forms": table(
            ("form", "on the line", "meaning", "known"),
            ((f"`{it.name.value}`", it.shown, it.meaning, it.mark.value) for it in FORMS),
        ),
        "targets": _codes(TARGETS),
        "situations": _codes(SITUATIONS),
        "suits": _codes(SUITS),
        "outcomes": _codes(OUTCOMES),
        "errors": _codes(ERRORS),
        "orders": table(
            ("type", "numbers", "meaning", "known"),
            ((f"`{it.type.value}`", _numbers(it.numbers), it.meaning, it.mark.value) for it in ORDERS),
        ),
        "refusals": _codes(REFUSALS, "02X"),
        "settings": settings_table(FAMILY.settings),
        "adapters": table(
            ("USB id", "adapter", "note", "known"),
            ((f"`{it.vendor:04x}:{it.product:04x}`", it.name, it.note, it.mark.value) for it in FAMILY.usb_ids),
        ),
    }


def _codes(codes: tuple[Code[Name], ...], form: str = "d") -> str:
    return table(
        ("code", "name", "meaning", "known"),
        ((f"{it.number:{form}}", f"`{it.name.value}`", it.meaning, it.mark.value) for it in codes),
    )


def _frame(kind: FrameKind) -> tuple[str, ...]:
    body = "body" if kind.body_max else ""
    end = "" if kind.end is None else f"{kind.end:02X}"
    check = f"{kind.trailer} bytes BCC" if kind.trailer else ""
    return (
        kind.name,
        " ".join(filter(None, (f"`{kind.start:02X}`", body, end and f"`{end}`", check))),
        str(kind.body_max),
    )


def _numbers(numbers: range) -> str:
    return f"{numbers[0]:02}" if len(numbers) == 1 else f"{numbers[0]:02}-{numbers[-1]:02}"
