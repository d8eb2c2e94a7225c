"""What the rig asks of a virtual device, whatever its family; and the deeds that happen to one.

A device says what its line lets it say: of some deeds nothing. A deed that it cannot be about at all is a
ValueError, `PROBLEM; WHAT WOULD BE RIGHT`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec

from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.settings import nearest

W = TypeVar("W")

# --- deeds


class Load(NamedTuple):
    """A new set is in the shoe."""

    set_id: str


class Deal(NamedTuple):
    """Cards of rounds, each to the hand that it is due to; the shoe's own result, where it lies."""

    cards: tuple[Card, ...]
    gap_ms: int
    result: str = ""  # instead of the true one


class Together(NamedTuple):
    """Cards that leave the shoe in one draw."""

    cards: tuple[Card, ...]


class Burn(NamedTuple):
    cards: tuple[Card, ...]
    gap_ms: int


class Cut(NamedTuple):
    """The cutting card."""


class RunOut(NamedTuple):
    """No card is left."""


class Turn(NamedTuple):
    """The key."""

    locked: bool


class Fault(NamedTuple):
    name: str
    raised: bool


class Deliver(NamedTuple):
    """A shuffler counts, shuffles and delivers so many decks, less and more of some cards than there should be.

    A device that tells the order tells these cards first.
    """

    decks: int
    set_id: str
    missing: tuple[Card, ...]
    extra: tuple[Card, ...]
    first: tuple[Card, ...]


class Pull(NamedTuple):
    """The cable comes out, and goes back in; what happens meanwhile nobody hears."""

    out_ms: int


Deed = Load | Deal | Together | Burn | Cut | RunOut | Turn | Fault | Deliver
AnyDeed = Deed | Pull


class Step(NamedTuple):
    after_ms: int
    deed: AnyDeed


# --- how it answers orders


class Manner(NamedTuple):
    """What a person asked for: an answer to every order, in a word of the family, and whether reports follow."""

    answer: str = ""  # empty: as the state of the device demands
    reports: bool = True


SILENCE: Final = "silence"
AS_IT_IS: Final = Manner()


# --- what comes of them


class Said(NamedTuple):
    pause_s: float  # from what happened before it
    report: object  # in the words of the device's family


class Pulled(NamedTuple):
    pause_s: float
    out_s: float


Happening = Said | Pulled


class Device(Protocol):
    @property
    def state(self) -> msgspec.Struct:
        """All that its half of the line keeps."""

    @property
    def locked(self) -> bool: ...

    def opened(self, at: Now) -> bytes:
        """What it says to a host that has just come."""

    def say(self, report: object, at: Now) -> bytes: ...

    def hear(self, chunk: Chunk) -> bytes:
        """What it says to the bytes of a host; an empty chunk only lets time pass."""

    def wake_at(self) -> int | None:
        """When it wants an empty chunk, on the monotonic clock."""

    def does(self, deed: Deed) -> Iterator[Said]:
        """What it has to say of a deed."""


def known(whose: str, what: str, word: str, words: Mapping[str, W]) -> W:
    if word not in words:
        near = nearest(word, words)
        remedy = f"the nearest known is {near}" if near else f"known: {', '.join(words)}"
        raise ValueError(f"{whose} has no {what} {word}; {remedy}")
    return words[word]


def happenings(device: Device, steps: tuple[Step, ...]) -> Iterator[Happening]:
    """Each step when the one before it has happened; a device says what it then is, locked or in error."""
    pause_s = 0.0
    for step in steps:
        pause_s += step.after_ms / 1000
        if isinstance(step.deed, Pull):
            yield Pulled(pause_s, step.deed.out_ms / 1000)
            pause_s = 0.0
            continue
        for said in device.does(step.deed):
            yield Said(pause_s + said.pause_s, said.report)
            pause_s = 0.0
