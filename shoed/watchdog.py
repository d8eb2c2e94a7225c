"""What systemd is told: that we are ready, how we are, and, while everything moves, that we live.

Theory of operation: `run` asks at a fraction of the watchdog's time whether each part still makes
progress, and feeds the watchdog only if all do. A part that waits for a device or a broker is well;
a part that began something and never ends it is not.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Final, Never

LOG: Final = logging.getLogger("shoed.watchdog")

USUAL_S: Final = 30.0  # where nobody feeds on us, the same look after ourselves, for the log
FRACTION: Final = 3


class Systemd:
    """The notification socket; without one, words go nowhere."""

    def __init__(self) -> None:
        self.address = os.environ.get("NOTIFY_SOCKET", "")
        for_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        usec = os.environ.get("WATCHDOG_USEC", "") if for_us else ""
        self.watchdog_s = int(usec) / 1e6 if usec.isdecimal() and int(usec) else USUAL_S

    def say(self, *lines: str) -> None:
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            LOG.warning("systemd does not hear us at %s: %s", self.address, error)


async def run(systemd: Systemd, stuck: Callable[[float], list[str]], condition: Callable[[], str]) -> Never:
    """`stuck` names the parts that make no progress for so many seconds; `condition` is one line for people."""
    told: list[str] = []
    while True:
        parts = stuck(systemd.watchdog_s)
        if parts:
            if parts != told:
                LOG.error("no progress for %.0f s: %s", systemd.watchdog_s, ", ".join(parts))
            systemd.say(f"STATUS=stuck: {', '.join(parts)}")
        else:
            systemd.say("WATCHDOG=1", f"STATUS={condition()}")
        told = parts
        await asyncio.sleep(systemd.watchdog_s / FRACTION)
