"""The device's session of a barcode scanner: the counterpart of `scanner`.

Theory of operation: this session is a fold without state. `say` types a code and Enter, one key after the other, or
sends an error. The scanner ignores all bytes of the host.
"""

from typing import Final

import msgspec

from firmware_protocols import scanner as theirs
from firmware_protocols.scanner import ENTER, PLAIN, SHIFTED, HeldKeys, ScannerFailed
from shoed.model.moments import Chunk

STROKES: Final = {text: HeldKeys((usage,), shift=True) for usage, text in reversed(SHIFTED.items())} | {
    text: HeldKeys((usage,)) for usage, text in reversed(PLAIN.items())
}


class ScannerDeviceState(msgspec.Struct, frozen=True):
    pass


class Scanner:
    def begin(self) -> ScannerDeviceState:
        return ScannerDeviceState()

    def say(self, state: ScannerDeviceState, code: str | ScannerFailed) -> tuple[ScannerDeviceState, bytes]:
        """Return the reports of a code, each key up before the next key goes down; or of an error and its end."""
        reports = (
            (code,) if isinstance(code, ScannerFailed) else (*(STROKES[each] for each in code), HeldKeys((ENTER,)))
        )
        return state, b"".join(theirs.build(report) + theirs.build(HeldKeys()) for report in reports)

    def hear(self, state: ScannerDeviceState, chunk: Chunk) -> tuple[ScannerDeviceState, bytes]:  # noqa: ARG002 -- ignored
        return state, b""

    def wake_at(self, state: ScannerDeviceState) -> int | None:  # noqa: ARG002 -- no deadline
        return None
