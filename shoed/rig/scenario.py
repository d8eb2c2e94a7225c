"""Scenario files: what is to happen to a virtual device, step by step; docs/rig.md has the page.

Theory of operation: each `[[step]]` has one deed and, where the deed takes them, further keys. The file is played
once on a device of its own while it is read, without a line and without waiting, so that whatever this device cannot
do is refused with its line before anything begins.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from shoed import settings
from shoed.cards import Card
from shoed.now import Now
from shoed.rig.device import (
    Burn,
    Cut,
    Deal,
    Deed,
    Deliver,
    Device,
    Fault,
    Load,
    Pull,
    RunOut,
    Step,
    Together,
    Turn,
)
from shoed.settings import Kind, Node, Table, converted, integer, listing, text

AFTER_MS: Final = 500  # a brisk hand; what comes closer than 250 ms was drawn together
DAY_MS: Final = 86_400_000
MILLISECONDS: Final = integer(0, DAY_MS)


CARD: Final = converted(Card.parse, "8S")
CARDS: Final = listing(CARD)
WORD: Final = text('write a word, as in "jam"', r"[a-z0-9-]+")
SET: Final = text("write a name of at most 64 characters", r".{0,64}")
DECKS: Final = integer(1, 16)


def _true(node: Node) -> bool:
    if node.value is not True:
        raise ValueError(f"{settings.shown(node.value)} is not true")
    return True


TRUE: Final = Kind("write true, or leave the key out", stand_in=True, read=_true)


class Form(NamedTuple):
    """How a deed is written: what it means, and how its keys are read."""

    meaning: str
    example: str
    read: Callable[[Table], Deed | Pull]


def _deal(table: Table) -> Deal:
    return Deal(
        table.require("deal", CARDS), table.get("gap_ms", MILLISECONDS, AFTER_MS), table.get("result", WORD, "")
    )


def _burn(table: Table) -> Burn:
    return Burn(table.require("burn", CARDS), table.get("gap_ms", MILLISECONDS, AFTER_MS))


def _deliver(table: Table) -> Deliver:
    return Deliver(
        table.get("decks", DECKS, 8),
        table.require("deliver", SET),
        table.get("missing", CARDS, ()),
        table.get("extra", CARDS, ()),
        table.get("first", CARDS, ()),
    )


def _flag(deed: Deed, key: str) -> Callable[[Table], Deed]:
    def read(table: Table) -> Deed:
        table.require(key, TRUE)
        return deed

    return read


FORMS: Final[Mapping[str, Form]] = {
    "load": Form(
        'a new set is in the shoe: its id, `""` where the line carries none',
        'load = ""',
        lambda table: Load(table.require("load", SET)),
    ),
    "deal": Form(
        "cards of rounds, one every `gap_ms`, each to the hand that the Table of Play names; `result` is what the shoe "
        "says of the last round instead of the truth",
        'deal = ["8S", "4D", "QH", "2C"]',
        _deal,
    ),
    "together": Form(
        "cards that leave the shoe in one draw",
        'together = ["8S", "4D"]',
        lambda table: Together(table.require("together", CARDS)),
    ),
    "burn": Form("cards that are burnt, one every `gap_ms`", 'burn = ["8S"]', _burn),
    "cut": Form("the cutting card", "cut = true", _flag(Cut(), "cut")),
    "run_out": Form(
        "no card is left; a `load` has to follow before others are dealt", "run_out = true", _flag(RunOut(), "run_out")
    ),
    "lock": Form("the key locks the shoe", "lock = true", _flag(Turn(locked=True), "lock")),
    "unlock": Form("the key unlocks it", "unlock = true", _flag(Turn(locked=False), "unlock")),
    "fault": Form(
        "a fault, by its name in the family's page",
        'fault = "cannot-read"',
        lambda table: Fault(table.require("fault", WORD), raised=True),
    ),
    "clear": Form(
        "the fault is gone", 'clear = "cannot-read"', lambda table: Fault(table.require("clear", WORD), raised=False)
    ),
    "deliver": Form(
        "a shuffler counts, shuffles and delivers a set of `decks` (8), of which cards are `missing`, or `extra`; "
        "the cards `first` lie uppermost, where the firmware tells the order",
        'deliver = "set-7"',
        _deliver,
    ),
    "pull_ms": Form(
        "the cable is out for so long; the steps behind it happen meanwhile",
        "pull_ms = 3000",
        lambda table: Pull(table.require("pull_ms", MILLISECONDS)),
    ),
}


def load(path: str, rehearsal: Device) -> tuple[Step, ...]:
    """The steps, or a SettingsError with all that is wrong with them."""
    return of(settings.read(path), rehearsal)


def of(sheet: settings.Sheet, rehearsal: Device) -> tuple[Step, ...]:
    tables = sheet.root.tables("step", at_least=1)
    steps = []
    empty = False
    for table in tables:
        key = deed_of(table)
        if key is None:
            continue
        step = Step(table.get("after_ms", MILLISECONDS, AFTER_MS), FORMS[key].read(table))
        steps.append(step)
        if empty and isinstance(step.deed, Deal | Together | Burn) and step.deed.cards:
            table.fault(key, "the shoe has run out", 'write a step with load = "" before it')
        empty = isinstance(step.deed, RunOut) or (empty and not isinstance(step.deed, Load))
        if not isinstance(step.deed, Pull):
            rehearse(table, key, step.deed, rehearsal)
    sheet.finish()
    return tuple(steps)


def deed_of(table: Table) -> str | None:
    found = [key for key in table if key in FORMS]
    if len(found) == 1:
        return found[0]
    table.allow(table)
    if found:
        table.fault(found[1], f"stands beside {found[0]}", "write one deed in each step")
    else:
        key = next((each for each in table if settings.nearest(each, FORMS)), None)
        if key is not None:
            table.fault(key, "is no deed", f"the nearest known is {settings.nearest(key, FORMS)}")
        else:
            table.fault("deed", "is missing", f"write one of {', '.join(FORMS)}")
    return None


def rehearse(table: Table, key: str, deed: Deed, device: Device) -> None:
    try:
        for said in device.does(deed):
            device.say(said.report, Now(0, 0))
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        table.fault(key, problem, remedy)
