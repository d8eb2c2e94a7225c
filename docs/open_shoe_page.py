"""The tables of PROTOCOL.md, rendered from the declared data. `docs/generate.py` puts them in their places."""

from collections.abc import Iterable, Mapping
from enum import Enum

from docs.protocol_page import settings_table, table
from firmware_protocols.family import Code, Name
from firmware_protocols.open_shoe.clauses import CLAUSES, ProtocolClause
from firmware_protocols.open_shoe.layout import (
    ADDED,
    ADDED_3,
    CAPABILITIES,
    CHANNEL,
    FAILURES,
    FAULTS,
    NOTICES,
    ORDERS,
    PASSAGES,
    PLACES,
    REPORTS,
    REQUESTS,
    RESULTS,
    ROLES,
    SUITS,
    VERSIONS,
    Body,
)
from firmware_protocols.open_shoe.settings import OpenShoeSettings


def tables() -> Mapping[str, str]:
    """Each block of the page by its name, as Markdown."""
    return {
        "notices": _bodies(NOTICES),
        "reports": _bodies(REPORTS),
        "version-2": _bodies(ADDED),
        "version-3": _bodies(ADDED_3),
        "capabilities": _codes(CAPABILITIES),
        "channel": _bodies(CHANNEL),
        "requests": _bodies(REQUESTS),
        "suits": _codes(SUITS),
        "places": _codes(PLACES),
        "bits": _codes(PASSAGES),
        "roles": _codes(ROLES),
        "faults": _codes(FAULTS),
        "failures": _codes(FAILURES),
        "orders": _codes(ORDERS),
        "results": _codes(RESULTS),
        "settings": settings_table(OpenShoeSettings),
        "clauses": _clauses(),
    }


def _bodies(bodies: tuple[Body, ...]) -> str:
    return table(("type", "message", "field", "form", "meaning"), (row for body in bodies for row in _rows(body)))


def _rows(body: Body) -> Iterable[tuple[str, ...]]:
    yield f"`{body.code:02X}`", f"**{body.title}**", "", "", body.meaning
    for each in body.fields:
        yield "", "", f"`{each.name}`", each.form, each.meaning


def _codes(codes: tuple[Code[Name], ...]) -> str:
    rows = ((str(it.number), _name(it.name), it.meaning) for it in codes)
    return table(("code", "name", "meaning"), rows)


def _clauses() -> str:
    rows = (
        (f"`{it.name}`", it.rule, it.role.value if it.role else "both", versions(it), it.untried or "yes")
        for it in CLAUSES
    )
    return table(("clause", "rule", "role", "version", "tried"), rows)


def versions(clause: ProtocolClause) -> str:
    return f"from {clause.since}" if clause.until > max(VERSIONS) else f"{clause.since} to {clause.until}"


def _name(name: Enum) -> str:
    return f"`{name.value if isinstance(name.value, str) else (name.name or '').lower()}`"
