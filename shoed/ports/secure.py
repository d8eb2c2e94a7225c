"""A link to a device that has a key: open once the device has shown the key, and plain frames from there on.

Theory of operation: the handshake repeats CHALLENGE until a right RESPONSE comes. Until then the port is not open: each
second the evidence is judged, and the reason is told. A wrong answer ends nothing, because anybody on the line can give
one. On the open link the device's messages come out as plain frames, with the moments of their bytes; what the device
did not say goes to `Keyed.dropped`, in the order of the line. A timer repeats what waits for an answer.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe.channel import WRONG_PROOF, HostEnd
from shoed.errors import LinkLost, PortError, PortRefused, PortUnsecured
from shoed.now import Chunk, Now
from shoed.ports.address import Address
from shoed.ports.channel import HostChannel
from shoed.ports.cipher import Aes, draw
from shoed.ports.clock import now
from shoed.ports.keyed import Dropped, Keyed
from shoed.ports.link import Link

JUDGED_S: Final = 1.0
# An answer takes less than a second: without one, CHALLENGE was said twice.
SILENT_AFTER: Final = 2
# On a line where evidence of two kinds comes in turn, each of them an event.
OTHER_REASON_S: Final = 10.0

OTHER_KEY: Final = (
    "the device has another key than key_file; write the key of this device into the file, then restart shoed"
)
PLAIN: Final = (
    "the device speaks outside the secure channel ({}); give the device its key, or remove key_file from the table"
)
NOTHING: Final = "nothing came from the device within 2 s; check its power and the cable"
NO_ANSWER: Final = (
    "bytes came, and none of them answers CHALLENGE; check both directions of the cable, the speed of the line, and "
    "that the device speaks version 3 of Open Shoe with a key"
)


async def secured(
    link: Link, address: Address, keyed: Keyed, refused: Callable[[PortRefused], Awaitable[None]]
) -> "SecureLink":
    """The link, once the device has shown its key; `refused` is told why it is not open yet."""
    secure = SecureLink(link, keyed)
    try:
        await Handshake(secure, address, refused).run()
    except BaseException:
        await secure.close()
        raise
    return secure


class SecureLink:
    """Made by `secured`."""

    def __init__(self, link: Link, keyed: Keyed) -> None:
        self.link = link
        self._dropped = keyed.dropped
        self.channel = HostChannel(HostEnd(Aes(), keyed.key, draw, now().mono_ns), keyed.torn_after_ms)
        self.found: deque[Chunk | Dropped] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.follow()

    async def receive(self) -> Chunk:
        while True:
            while self.found:
                each = self.found.popleft()
                if isinstance(each, Chunk):
                    return each
                await self._dropped(each)
            try:
                await self.hear()
            except LinkLost:
                for each in self.channel.close(now()):
                    await self._dropped(each)
                raise

    async def hear(self) -> None:
        """The next bytes of the line."""
        chunk = await self.link.receive()
        self.found += self.channel.hear(chunk)
        self.follow()

    def heard_until(self) -> Now:
        if self.found:
            first = self.found[0]
            return first.earliest if isinstance(first, Chunk) else first.at
        return self.link.heard_until()

    def send(self, data: bytes) -> None:
        if sealed := self.channel.say(data, now()):
            self.link.send(sealed)
        self.follow()

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        await self.link.close()

    def follow(self) -> None:
        """Send what the channel itself says, and be woken when it wants to."""
        end = self.channel.end
        if data := end.data_to_send():
            with contextlib.suppress(PortError):  # it is said again; a line that is lost says so to the receiver
                self.link.send(data)
        if self._timer is not None:
            self._timer.cancel()
        if not self._closed:
            delay_s = max(0.0, (end.wake_at() - now().mono_ns) / 1e9)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)

    def _wake(self) -> None:
        self.channel.end.pass_time(now().mono_ns)
        self.follow()


class Handshake:
    """The time until the device has shown its key."""

    def __init__(self, secure: SecureLink, address: Address, refused: Callable[[PortRefused], Awaitable[None]]) -> None:
        self.secure = secure
        self.address = address
        self.refused = refused
        self.evidence = ""  # of what is wrong: the last that came
        self.is_heard = False
        self.judged = 0
        self.reason = ""  # told last
        self.told_s = 0.0

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        judge_s = clock() + JUDGED_S
        while not self.secure.channel.end.is_open:
            try:
                async with asyncio.timeout_at(judge_s):
                    await self.secure.hear()
                self.is_heard = True
            except TimeoutError:
                judge_s += JUDGED_S
                await self.judge(clock())
            except LinkLost as loss:
                raise PortUnsecured(str(self.refusal(self.reason) if self.reason else loss)) from loss
            self.take()

    def take(self) -> None:
        """All that came before the link is open is evidence, and nothing else."""
        for each in self.secure.found:
            if isinstance(each, Dropped):
                self.evidence = evident(each) or self.evidence
        self.secure.found.clear()

    async def judge(self, at_s: float) -> None:
        self.judged += 1
        reason = self.evidence
        if not reason and self.judged >= SILENT_AFTER:
            reason = NO_ANSWER if self.is_heard else NOTHING
        may_change = self.reason in {"", NOTHING, NO_ANSWER} or at_s - self.told_s >= OTHER_REASON_S
        if reason != self.reason and may_change:
            self.reason, self.told_s = reason, at_s
            await self.refused(self.refusal(reason))

    def refusal(self, reason: str) -> PortRefused:
        return PortRefused(f"{self.address}: {reason}")


def evident(dropped: Dropped) -> str:
    """What is wrong with the device; empty, if noise or another session explains it."""
    if dropped.detail == WRONG_PROOF:
        return OTHER_KEY
    return PLAIN.format(dropped.detail.partition(";")[0]) if dropped.reason is Reason.UNSEALED else ""
