"""A virtual device with a key: the device's end of the secure channel around any Open Shoe of version 3.

Theory of operation: the inner device sends and receives plain frames, as if it had no key. Without a session its frames
are lost, and it repeats its reports by itself. It sends HELLO when a session is established.
"""

from collections.abc import Iterator

import msgspec

from firmware_protocols.open_shoe.channel import Cipher, DeviceEnd, RandomBytes
from shoed.model.moments import Chunk, Now
from shoed.ports.channel import DeviceChannel
from shoed.rig.device import Action, DeviceOutput, RigDevice


class SecuredDevice:
    def __init__(self, device: RigDevice, key: bytes, cipher: Cipher, draw: RandomBytes) -> None:
        self.device = device
        self.channel = DeviceChannel(DeviceEnd(cipher, key, draw))

    @property
    def state(self) -> msgspec.Struct:
        return self.device.state

    @property
    def locked(self) -> bool:
        return self.device.locked

    def opened(self, at: Now) -> bytes:
        """The line opens. This ends the session of the previous line."""
        self.channel.end.opened(at.mono_ns)
        return self.channel.end.data_to_send()

    def say(self, report: object, at: Now) -> bytes:
        return self.sealed(self.device.say(report, at), at)

    def hear(self, chunk: Chunk) -> bytes:
        out = b""
        for frame, begins in self.channel.hear(chunk):
            out += self.channel.end.data_to_send()
            if begins:
                out += self.sealed(self.device.opened(chunk.at), chunk.at)
            if frame:
                out += self.sealed(self.device.hear(Chunk(frame, chunk.at)), chunk.at)
        return out + self.sealed(self.device.hear(Chunk(b"", chunk.at)), chunk.at)

    def sealed(self, data: bytes, at: Now) -> bytes:
        self.channel.say(data, at)
        return self.channel.end.data_to_send()

    def wake_at(self) -> int | None:
        moments = (self.device.wake_at(), self.channel.end.wake_at())
        return min((moment for moment in moments if moment is not None), default=None)

    def perform(self, deed: Action) -> Iterator[DeviceOutput]:
        return self.device.perform(deed)
