"""The Markdown that the protocol pages of all families share."""

from collections.abc import Iterable, Sequence
from enum import Enum

from firmware_protocols.family import Setting, Settings, declared


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


def settings_table(settings: type[Settings]) -> str:
    return table(
        ("setting", "default", "allowed", "reason", "known"),
        (_setting(name, it) for name, it in declared(settings).items()),
    )


def _setting(name: str, it: Setting) -> tuple[str, ...]:
    allowed = ", ".join(f"`{each.value}`" for each in it.choices) or f"{it.low} to {it.high} {it.unit}".rstrip()
    default = f"`{it.default.value if isinstance(it.default, Enum) else it.default}`"
    if it.codes:
        allowed, default = f"codes and their cards; a code has {it.unit}", "none"
    return f"`{name}`", default, allowed, it.reason, it.mark.value
