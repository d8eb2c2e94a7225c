"""Renders the tables of PROTOCOL.md from the declared data. `docs/generate.py` writes them into the page."""

from collections.abc import Mapping

from docs.protocol_page import settings_table, table
from firmware_protocols.bee_tek import FAMILY
from firmware_protocols.bee_tek.layout import ALARMS, FORMS, SUITS


def tables() -> Mapping[str, str]:
    """Return each block of the page by its name, as Markdown."""
    return {
        "lines": table(("line", "meaning", "known"), ((f"`{it.shown}`", it.meaning, it.mark.value) for it in FORMS)),
        "suits": table(("letter", "suit", "known"), ((f"`{it.letter}`", it.suit.value, it.mark.value) for it in SUITS)),
        "alarms": table(
            ("alarm", "meaning", "known"), ((f"`E{it.number}`", it.meaning, it.mark.value) for it in ALARMS)
        ),
        "settings": settings_table(FAMILY.settings),
    }
