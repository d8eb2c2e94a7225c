"""A link to a device with a key: it opens when the device has proved its key, and then carries plain frames.

Theory of operation: the handshake repeats CHALLENGE until a right RESPONSE arrives. Until then the port is not open:
each second the handshake judges the evidence and reports the reason. A wrong answer ends nothing, because any attacker
on the line can send one. The open link returns the messages of the device as plain frames, with the moments of their
bytes. All other bytes go to `Keyed.dropped`, in the order of the line. A timer repeats each request without an answer.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe.channel import WRONG_PROOF, HostEnd
from shoed.errors import LinkLost, PortError, PortRefused, PortUnsecured
from shoed.model.moments import Chunk, Now
from shoed.ports.address import Address
from shoed.ports.channel import HostChannel
from shoed.ports.cipher import Aes, draw
from shoed.ports.clock import now
from shoed.ports.inbox import Take
from shoed.ports.keyed import Dropped, Keyed
from shoed.ports.link import Link

JUDGED_S: Final = 1.0
# An answer takes less than a second: after two seconds, CHALLENGE was sent twice.
SILENT_AFTER: Final = 2
# The minimum time between two reasons on a line with two alternating kinds of evidence: each reason is an event.
OTHER_REASON_S: Final = 10.0

OTHER_KEY: Final = (
    "the key of the device is not the key in key_file; write the key of this device into the file, then restart shoed"
)
PLAIN: Final = (
    "the device sends frames outside the secure channel ({}); give the device its key, or remove key_file from the "
    "table"
)
NOTHING: Final = "no byte arrived from the device within 2 s; check its power and the cable"
NO_ANSWER: Final = (
    "bytes arrived, and no answer to CHALLENGE; check both directions of the cable, the speed of the line, and "
    "that the device uses version 3 of Open Shoe with a key"
)


async def secured(
    link: Link, address: Address, keyed: Keyed, refused: Callable[[PortRefused], Awaitable[None]]
) -> "SecureLink":
    """The link, after the device has proved its key; `refused` receives the reason while it is not open."""
    secure = SecureLink(link, keyed)
    try:
        await Handshake(secure, address, refused).run()
    except BaseException:
        await secure.close()
        raise
    return secure


class SecureLink:
    """A link in the secure channel, created by `secured`."""

    def __init__(self, link: Link, keyed: Keyed) -> None:
        self.link = link
        self._dropped = keyed.dropped
        self.channel = HostChannel(HostEnd(Aes(), keyed.key, draw, now().mono_ns), keyed.torn_after_ms)
        self.found: deque[Chunk | Dropped] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.follow()

    async def receive(self, take: Take | None = None) -> Chunk:
        while True:
            while self.found:
                each = self.found.popleft()
                if isinstance(each, Chunk):
                    if take is not None:
                        take(each)
                    return each
                await self._dropped(each)
            try:
                await self.hear()
            except LinkLost:
                for each in self.channel.close(now()):
                    await self._dropped(each)
                raise

    async def hear(self) -> None:
        """Read the next bytes of the line."""
        await self.link.receive(self._heard)

    def _heard(self, chunk: Chunk) -> None:
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
        """Send the frames of the channel itself, and set the timer for the next ones."""
        end = self.channel.end
        if data := end.data_to_send():
            with contextlib.suppress(PortError):  # the channel repeats it; `receive` raises if the line is lost
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
    """The time until the device has proved its key."""

    def __init__(self, secure: SecureLink, address: Address, refused: Callable[[PortRefused], Awaitable[None]]) -> None:
        self.secure = secure
        self.address = address
        self.refused = refused
        self.evidence = ""  # the last evidence of a wrong device
        self.has_bytes = False
        self.judged = 0
        self.reason = ""  # the last reported reason
        self.reported_s = 0.0

    async def run(self) -> None:
        clock = asyncio.get_running_loop().time
        judge_s = clock() + JUDGED_S
        while not self.secure.channel.end.is_open:
            try:
                async with asyncio.timeout_at(judge_s):
                    await self.secure.hear()
                self.has_bytes = True
            except TimeoutError:
                judge_s += JUDGED_S
                await self.judge(clock())
            except LinkLost as loss:
                raise PortUnsecured(str(self.refusal(self.reason) if self.reason else loss)) from loss
            self.take()

    def take(self) -> None:
        """Use all frames before the link is open as evidence only."""
        for each in self.secure.found:
            if isinstance(each, Dropped):
                self.evidence = evident(each) or self.evidence
        self.secure.found.clear()

    async def judge(self, at_s: float) -> None:
        self.judged += 1
        reason = self.evidence
        if not reason and self.judged >= SILENT_AFTER:
            reason = NO_ANSWER if self.has_bytes else NOTHING
        may_change = self.reason in {"", NOTHING, NO_ANSWER} or at_s - self.reported_s >= OTHER_REASON_S
        if reason != self.reason and may_change:
            self.reason, self.reported_s = reason, at_s
            await self.refused(self.refusal(reason))

    def refusal(self, reason: str) -> PortRefused:
        return PortRefused(f"{self.address}: {reason}")


def evident(dropped: Dropped) -> str:
    """The fault of the device; empty if noise or another session explains the bytes."""
    if dropped.detail == WRONG_PROOF:
        return OTHER_KEY
    return PLAIN.format(dropped.detail.partition(";")[0]) if dropped.reason is Reason.UNSEALED else ""
