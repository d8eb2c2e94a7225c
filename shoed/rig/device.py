"""The interface of a virtual device of any family, and the actions of a scenario.

A device reports an action as far as its protocol allows; some actions have no report. An action that the device
cannot perform is a ValueError of the form `PROBLEM; REMEDY`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.settings import nearest

W = TypeVar("W")

# --- actions


class Load(NamedTuple):
    """Load a new set into the shoe."""

    set_id: str


class Deal(NamedTuple):
    """Deal cards of rounds, each to the hand that it is due to."""

    cards: tuple[Card, ...]
    gap_ms: int
    result: str = ""  # a result that the shoe reports instead of the true one


class Together(NamedTuple):
    """Draw several cards together."""

    cards: tuple[Card, ...]


class Burn(NamedTuple):
    cards: tuple[Card, ...]
    gap_ms: int


class Cut(NamedTuple):
    """Draw the cut card."""


class RunOut(NamedTuple):
    """The last card was drawn: the shoe is empty."""


class Turn(NamedTuple):
    """Turn the key."""

    locked: bool


class FaultAction(NamedTuple):
    name: str
    raised: bool


class Deliver(NamedTuple):
    """A shuffler counts, shuffles and delivers a set of decks.

    Some cards may be missing or extra. A device that reports the order reports the cards `first` at its beginning.
    """

    decks: int
    set_id: str
    missing: tuple[Card, ...]
    extra: tuple[Card, ...]
    first: tuple[Card, ...]


class Pull(NamedTuple):
    """Disconnect the cable and connect it again. Everything that the device sends meanwhile is lost."""

    out_ms: int


class Stall(NamedTuple):
    """The IN endpoint of a USB device stalls; the host clears it this many times until it works again."""

    times: int


class Nak(NamedTuple):
    """A USB device answers each read of the host with NAK. The reports of this time arrive after it."""

    for_ms: int


Action = Load | Deal | Together | Burn | Cut | RunOut | Turn | FaultAction | Deliver
AnyAction = Action | Pull | Stall | Nak


class ScenarioStep(NamedTuple):
    after_ms: int
    action: AnyAction


# --- answers to orders


class Manner(NamedTuple):
    """The answers of the device: one answer to every order, in a word of the family, and whether reports follow."""

    answer: str = ""  # empty: the answer depends on the state of the device
    reports: bool = True


SILENCE: Final = "silence"
DEFAULT_MANNER: Final = Manner()


# --- the output of actions


class DeviceOutput(NamedTuple):
    pause_s: float  # since the previous output
    report: object  # a message of the device's family


class Pulled(NamedTuple):
    pause_s: float
    out_s: float


class Disturbed(NamedTuple):
    pause_s: float
    action: Stall | Nak


TimelineEntry = DeviceOutput | Pulled | Disturbed


class RigDevice(Protocol):
    @property
    def state(self) -> msgspec.Struct:
        """The whole state of the device's session."""

    @property
    def locked(self) -> bool: ...

    def opened(self, at: Now) -> bytes:
        """Return the bytes that the device sends to a new host."""

    def say(self, report: object, at: Now) -> bytes: ...

    def hear(self, chunk: Chunk) -> bytes:
        """Return the answer to the bytes of a host; an empty chunk only passes time."""

    def wake_at(self) -> int | None:
        """When the device needs an empty chunk, on the monotonic clock."""

    def perform(self, action: Action) -> Iterator[DeviceOutput]:
        """Return the reports of an action."""


def known(owner: str, kind: str, word: str, words: Mapping[str, W]) -> W:
    if word not in words:
        near = nearest(word, words)
        remedy = f"the nearest known word is {near}" if near else f"choose one of {', '.join(words)}"
        raise ValueError(f"{owner} has no {kind} {word}; {remedy}")
    return words[word]


def timeline(device: RigDevice, steps: tuple[ScenarioStep, ...]) -> Iterator[TimelineEntry]:
    """Play each step after the step before it. The reports follow the state of the device, locked or in error."""
    pause_s = 0.0
    for step in steps:
        pause_s += step.after_ms / 1000
        match step.action:
            case Pull(out_ms):
                yield Pulled(pause_s, out_ms / 1000)
                pause_s = 0.0
            case Stall() | Nak():
                yield Disturbed(pause_s, step.action)
                pause_s = 0.0
            case action:
                for output in device.perform(action):
                    yield DeviceOutput(pause_s + output.pause_s, output.report)
                    pause_s = 0.0
