"""The Markdown that the pages of all families share."""

from collections.abc import Iterable
from enum import Enum

from firmware_protocols.family import Setting, Settings, declared


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


def settings_table(settings: type[Settings]) -> str:
    return table(
        ("setting", "default", "allowed", "reason", "known"),
        (_setting(name, it) for name, it in declared(settings).items()),
    )


def _setting(name: str, it: Setting) -> tuple[str, ...]:
    allowed = ", ".join(f"`{each.value}`" for each in it.choices) or f"{it.low} to {it.high} {it.unit}".rstrip()
    default = it.default.value if isinstance(it.default, Enum) else it.default
    return f"`{name}`", f"`{default}`", allowed, it.reason, it.mark.value
