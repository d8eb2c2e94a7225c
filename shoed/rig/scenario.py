"""Scenario files: the actions of a virtual device, step by step; docs/rig.md describes the format.

Theory of operation: each `[[step]]` has one action and, for some actions, further keys. While the file is read, its
actions are rehearsed on a separate device, without a line and without waiting. An action that this device cannot
perform is therefore refused with its line before the scenario begins.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from shoed import settings
from shoed.model.cards import Card
from shoed.model.moments import Now
from shoed.rig.device import (
    Action,
    AnyAction,
    Burn,
    Cut,
    Deal,
    Deliver,
    FaultAction,
    Load,
    Nak,
    Pull,
    RigDevice,
    RunOut,
    ScenarioStep,
    Stall,
    Together,
    Turn,
)
from shoed.settings import Kind, Node, TomlTable, converted, integer, listing, text

AFTER_MS: Final = 500  # a fast dealer; cards closer than 250 ms are drawn together
DAY_MS: Final = 86_400_000
MILLISECONDS: Final = integer(0, DAY_MS)


CARD: Final = converted(Card.parse, "8S")
CARDS: Final = listing(CARD)
WORD: Final = text('write a word, as in "jam"', r"[a-z0-9-]+")
SET: Final = text("write a name of at most 64 characters", r".{0,64}")
DECKS: Final = integer(1, 16)
STALLS: Final = integer(1, 100)


def _true(node: Node) -> bool:
    if node.value is not True:
        raise ValueError(f"{settings.shown(node.value)} is not true")
    return True


TRUE: Final = Kind("write true, or remove the key", stand_in=True, read=_true)


class ActionForm(NamedTuple):
    """How an action is written: its meaning, an example, and the function that reads its keys."""

    meaning: str
    example: str
    read: Callable[[TomlTable], AnyAction]


def _deal(table: TomlTable) -> Deal:
    return Deal(
        table.require("deal", CARDS), table.get("gap_ms", MILLISECONDS, AFTER_MS), table.get("result", WORD, "")
    )


def _burn(table: TomlTable) -> Burn:
    return Burn(table.require("burn", CARDS), table.get("gap_ms", MILLISECONDS, AFTER_MS))


def _deliver(table: TomlTable) -> Deliver:
    return Deliver(
        table.get("decks", DECKS, 8),
        table.require("deliver", SET),
        table.get("missing", CARDS, ()),
        table.get("extra", CARDS, ()),
        table.get("first", CARDS, ()),
    )


def _flag(action: Action, key: str) -> Callable[[TomlTable], Action]:
    def read(table: TomlTable) -> Action:
        table.require(key, TRUE)
        return action

    return read


FORMS: Final[Mapping[str, ActionForm]] = {
    "load": ActionForm(
        'load a new set; the value is its id, or `""` if the protocol has no ids',
        'load = ""',
        lambda table: Load(table.require("load", SET)),
    ),
    "deal": ActionForm(
        "deal cards, one every `gap_ms`. Each card goes to the hand that the Table of Play names. The shoe reports "
        "`result` in place of the true result of the last round",
        'deal = ["8S", "4D", "QH", "2C"]',
        _deal,
    ),
    "together": ActionForm(
        "draw several cards together",
        'together = ["8S", "4D"]',
        lambda table: Together(table.require("together", CARDS)),
    ),
    "burn": ActionForm("burn cards, one every `gap_ms`", 'burn = ["8S"]', _burn),
    "cut": ActionForm("draw the cut card", "cut = true", _flag(Cut(), "cut")),
    "run_out": ActionForm(
        "the shoe is empty; use `load` before the next card", "run_out = true", _flag(RunOut(), "run_out")
    ),
    "lock": ActionForm("lock the shoe with the key", "lock = true", _flag(Turn(locked=True), "lock")),
    "unlock": ActionForm("unlock the shoe with the key", "unlock = true", _flag(Turn(locked=False), "unlock")),
    "fault": ActionForm(
        "raise a fault, by its name in the protocol page",
        'fault = "cannot-read"',
        lambda table: FaultAction(table.require("fault", WORD), raised=True),
    ),
    "clear": ActionForm(
        "clear the fault",
        'clear = "cannot-read"',
        lambda table: FaultAction(table.require("clear", WORD), raised=False),
    ),
    "deliver": ActionForm(
        "a shuffler counts, shuffles and delivers a set; the value is the id of the set. The options `decks`, "
        "`missing`, `extra` and `first` describe its cards",
        'deliver = "set-7"',
        _deliver,
    ),
    "pull_ms": ActionForm(
        "disconnect the cable for this time; the following steps run during this time",
        "pull_ms = 3000",
        lambda table: Pull(table.require("pull_ms", MILLISECONDS)),
    ),
    "stall": ActionForm(
        "on a USB bus: the endpoint of the reports stalls; it works after the host has cleared it this many times",
        "stall = 1",
        lambda table: Stall(table.require("stall", STALLS)),
    ),
    "nak_ms": ActionForm(
        "on a USB bus: answer each read of the host with NAK for this time; the reports of this time arrive after it",
        "nak_ms = 3000",
        lambda table: Nak(table.require("nak_ms", MILLISECONDS)),
    ),
}


def load(path: str, rehearsal: RigDevice, *, on_usb: bool = False) -> tuple[ScenarioStep, ...]:
    """Return the steps, or raise a SettingsError with all errors of the file."""
    return of(settings.read(path), rehearsal, on_usb=on_usb)


def of(sheet: settings.Sheet, rehearsal: RigDevice, *, on_usb: bool = False) -> tuple[ScenarioStep, ...]:
    tables = sheet.root.tables("step", at_least=1)
    steps = []
    empty = False
    for table in tables:
        key = action_of(table)
        if key is None:
            continue
        step = ScenarioStep(table.get("after_ms", MILLISECONDS, AFTER_MS), FORMS[key].read(table))
        steps.append(step)
        if empty and isinstance(step.action, Deal | Together | Burn) and step.action.cards:
            table.fault(key, "the shoe is empty", 'write a step with load = "" before it')
        empty = isinstance(step.action, RunOut) or (empty and not isinstance(step.action, Load))
        match step.action:
            case Pull():
                pass
            case Stall() | Nak():
                if not on_usb:
                    table.fault(key, "is for a USB bus", "run the device with --usbredir, or remove the step")
            case action:
                rehearse(table, key, action, rehearsal)
    sheet.finish()
    return tuple(steps)


def action_of(table: TomlTable) -> str | None:
    found = [key for key in table if key in FORMS]
    if len(found) == 1:
        return found[0]
    table.allow(table)
    if found:
        table.fault(found[1], f"is in the same step as {found[0]}", "write one action in each step")
    else:
        key = next((each for each in table if settings.nearest(each, FORMS)), None)
        if key is not None:
            table.fault(key, "is not an action", f"the nearest action is {settings.nearest(key, FORMS)}")
        else:
            table.fault("action", "is missing", f"write one of {', '.join(FORMS)}")
    return None


def rehearse(table: TomlTable, key: str, action: Action, device: RigDevice) -> None:
    try:
        for output in device.perform(action):
            device.say(output.report, Now(0, 0))
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        table.fault(key, problem, remedy)
