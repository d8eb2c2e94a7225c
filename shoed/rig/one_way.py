"""Virtual devices that read nothing: a Bee-Tek shoe and a barcode scanner.

Their protocols have no message for a new set, the cut card, the key and the last card. These actions have no report.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from firmware_protocols import bee_tek
from firmware_protocols.bee_tek import BeeTekSettings
from firmware_protocols.scanner import ScannerFailed, ScannerFailure
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.rig.device import Action, Burn, Deal, Deliver, DeviceOutput, FaultAction, Load, Together, known
from shoed.session.bee_tek_shoe import FACES, BeeTekShoe
from shoed.session.scanner_device import Scanner

NOT_READ: Final = bee_tek.Alarm("E3 Card Not Read", bee_tek.NOT_READ)
BEE_TEK_FAULTS: Final = {"not-read": NOT_READ, "failed-read": bee_tek.FailedRead()}
SCANNER_FAULTS: Final = {each.value: ScannerFailed(each) for each in ScannerFailure}
TOGETHER_S: Final = 0.1  # a dealer cannot draw two single cards in this time


class OneWayDevice:
    """The common part of both devices."""

    locked = False

    def __init__(self, role: BeeTekShoe | Scanner) -> None:
        self.role: Any = role
        self.state: msgspec.Struct = role.begin()

    def opened(self, at: Now) -> bytes:  # noqa: ARG002 -- the hosts make no difference
        return b""

    def say(self, report: object, at: Now) -> bytes:  # noqa: ARG002 -- reports have no time
        data: bytes
        self.state, data = self.role.say(self.state, report)
        return data

    def hear(self, chunk: Chunk) -> bytes:  # noqa: ARG002 -- ignored
        return b""

    def wake_at(self) -> int | None:
        return None


class BeeTekDevice(OneWayDevice):
    def __init__(self, settings: BeeTekSettings) -> None:
        super().__init__(BeeTekShoe(settings))

    def perform(self, action: Action) -> Iterator[DeviceOutput]:
        for pause_s, card, burnt in passing("a Bee-Tek shoe", action):
            yield DeviceOutput(pause_s, bee_tek.BurnCard(FACES[card]) if burnt else bee_tek.GameCard(FACES[card]))
        if isinstance(action, FaultAction):
            yield DeviceOutput(0, known("a Bee-Tek shoe", "fault", action.name, BEE_TEK_FAULTS))


class ScannerDevice(OneWayDevice):
    def __init__(self) -> None:
        super().__init__(Scanner())

    def perform(self, action: Action) -> Iterator[DeviceOutput]:
        for pause_s, card, _ in passing("a scanner", action):
            yield DeviceOutput(pause_s, str(card))
        if isinstance(action, FaultAction):
            yield DeviceOutput(0, known("a scanner", "fault", action.name, SCANNER_FAULTS))


def passing(owner: str, action: Action) -> Iterator[tuple[float, Card, bool]]:
    """Yield the cards of an action, and whether each is burnt. An action that has no meaning here is refused."""
    gap_s, burnt = TOGETHER_S, isinstance(action, Burn)
    match action:
        case Load(set_id) if set_id:
            raise ValueError(f'{owner} does not know which set it deals; write load = ""')
        case Deal(result=result) if result:
            raise ValueError(f"{owner} does not report results; remove the key")
        case FaultAction(raised=False):
            raise ValueError(f"{owner} does not report that a fault is cleared; remove the step")
        case Deliver():
            raise ValueError(f"{owner} does not deliver a set; use a shuffler for this step")
        case Deal(gap_ms=gap_ms) | Burn(gap_ms=gap_ms):
            gap_s = gap_ms / 1000
        case _:
            pass
    for number, card in enumerate(action.cards if isinstance(action, Deal | Together | Burn) else ()):
        yield gap_s if number else 0, card, burnt
