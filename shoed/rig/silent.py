"""Virtual devices that tell little and heed nothing: a Bee-Tek shoe, and a barcode scanner.

What their lines have no known word for happens unsaid: a new set, the cutting card, the key, the last card.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from firmware_protocols import bee_tek
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.scanner import Failed, Failure
from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.rig.device import Burn, Deal, Deed, Deliver, Fault, Load, Said, Together, known
from shoed.session.bee_tek_shoe import FACES, BeeTekShoe
from shoed.session.scanner_device import Scanner

NOT_READ: Final = bee_tek.Alarm("E3 Card Not Read", bee_tek.NOT_READ)
BEE_TEK_FAULTS: Final = {"not-read": NOT_READ, "failed-read": bee_tek.FailedRead()}
SCANNER_FAULTS: Final = {each.value: Failed(each) for each in Failure}
TOGETHER_S: Final = 0.1  # no hand draws two cards one by one in so short a time


class Teller:
    """What both do alike."""

    locked = False

    def __init__(self, role: BeeTekShoe | Scanner) -> None:
        self.role: Any = role
        self.state: msgspec.Struct = role.begin()

    def opened(self, at: Now) -> bytes:  # noqa: ARG002 -- it does not know who listens
        return b""

    def say(self, report: object, at: Now) -> bytes:  # noqa: ARG002 -- it tells no time
        said: bytes
        self.state, said = self.role.say(self.state, report)
        return said

    def hear(self, chunk: Chunk) -> bytes:  # noqa: ARG002 -- it heeds nothing
        return b""

    def wake_at(self) -> int | None:
        return None


class BeeTekDevice(Teller):
    def __init__(self, settings: BeeTekSettings) -> None:
        super().__init__(BeeTekShoe(settings))

    def does(self, deed: Deed) -> Iterator[Said]:
        for pause_s, card, burnt in passing("a Bee-Tek shoe", deed):
            yield Said(pause_s, bee_tek.BurnCard(FACES[card]) if burnt else bee_tek.GameCard(FACES[card]))
        if isinstance(deed, Fault):
            yield Said(0, known("a Bee-Tek shoe", "fault", deed.name, BEE_TEK_FAULTS))


class ScannerDevice(Teller):
    def __init__(self) -> None:
        super().__init__(Scanner())

    def does(self, deed: Deed) -> Iterator[Said]:
        for pause_s, card, _ in passing("a scanner", deed):
            yield Said(pause_s, str(card))
        if isinstance(deed, Fault):
            yield Said(0, known("a scanner", "fault", deed.name, SCANNER_FAULTS))


def passing(whose: str, deed: Deed) -> Iterator[tuple[float, Card, bool]]:
    """The cards of a deed, and whether each is burnt; what the line cannot be about is refused."""
    gap_s, burnt = TOGETHER_S, isinstance(deed, Burn)
    match deed:
        case Load(set_id) if set_id:
            raise ValueError(f'{whose} does not know which set it deals; write load = ""')
        case Deal(result=result) if result:
            raise ValueError(f"{whose} tells no results; leave it out")
        case Fault(raised=False):
            raise ValueError(f"{whose} does not tell that a fault is gone; leave it out")
        case Deliver():
            raise ValueError(f"{whose} delivers no set; leave it to a shuffler")
        case Deal(gap_ms=gap_ms) | Burn(gap_ms=gap_ms):
            gap_s = gap_ms / 1000
        case _:
            pass
    for number, card in enumerate(deed.cards if isinstance(deed, Deal | Together | Burn) else ()):
        yield gap_s if number else 0, card, burnt
