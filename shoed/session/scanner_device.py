"""A barcode scanner, in the role of the device: the other end of `scanner`.

Theory of operation: a fold like the host's, with nothing to keep. `say` types a code and Enter,
one key after the other; an error is said as it is. The scanner heeds nothing that a host says.
"""

from typing import Final

import msgspec

from firmware_protocols import scanner as theirs
from firmware_protocols.scanner import ENTER, PLAIN, SHIFTED, Failed, Held
from shoed.now import Chunk

STROKES: Final = {text: Held((usage,), shift=True) for usage, text in reversed(SHIFTED.items())} | {
    text: Held((usage,)) for usage, text in reversed(PLAIN.items())
}


class ScannerState(msgspec.Struct, frozen=True):
    pass


class Scanner:
    def begin(self) -> ScannerState:
        return ScannerState()

    def say(self, state: ScannerState, said: str | Failed) -> tuple[ScannerState, bytes]:
        """A code, character by character and each key let go of before the next; or an error, and its end."""
        reports = (said,) if isinstance(said, Failed) else (*(STROKES[each] for each in said), Held((ENTER,)))
        return state, b"".join(theirs.build(report) + theirs.build(Held()) for report in reports)

    def hear(self, state: ScannerState, chunk: Chunk) -> tuple[ScannerState, bytes]:  # noqa: ARG002 -- it heeds nothing
        return state, b""

    def wake_at(self, state: ScannerState) -> int | None:  # noqa: ARG002 -- it waits for nothing
        return None
