"""Renders the tables of PROTOCOL.md from the declared data. `docs/generate.py` writes them into the page."""

from collections.abc import Mapping

from docs.protocol_page import settings_table, table
from firmware_protocols.scanner import FAMILY
from firmware_protocols.scanner.layout import FAILURES, KEYPAD, MAIN_KEYS, Key


def tables() -> Mapping[str, str]:
    """Return each block of the page by its name, as Markdown."""
    return {
        "keys": table(("usage", "writes", "with shift"), map(_key, MAIN_KEYS)),
        "keypad": table(("usage", "writes"), (_key(it)[:2] for it in KEYPAD)),
        "failures": table(
            ("all six places", "meaning", "known"),
            ((f"`{it.number:02X}`", it.meaning, it.mark.value) for it in FAILURES),
        ),
        "devices": table(
            ("USB id", "scanner", "note", "known"),
            ((f"`{it.vendor:04x}:{it.product:04x}`", it.name, it.note, it.mark.value) for it in FAMILY.usb_ids),
        ),
        "settings": settings_table(FAMILY.settings),
    }


def _key(it: Key) -> tuple[str, str, str]:
    return f"`{it.usage:02X}`", _code(it.plain), _code(it.shifted)


def _code(text: str) -> str:
    return {" ": "blank", "|": "`\\|`", "`": "`` ` ``"}.get(text, f"`{text}`")
