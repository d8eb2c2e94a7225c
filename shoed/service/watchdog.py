"""Notifications to systemd: ready, status, and the signal of the watchdog.

Theory of operation: `run` looks for stuck parts several times in each watchdog period. It sends the watchdog signal
only if every part makes progress. A part that waits for a device or a broker is not stuck. A part that began an
operation and does not complete it within the period is stuck. After a freeze of the process or of the machine, every
age includes the freeze: the parts are judged at the next check.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from typing import Final, Never

LOG: Final = logging.getLogger("shoed.service.watchdog")

DEFAULT_PERIOD_S: Final = 30.0  # without a watchdog of systemd: a stuck part is in the log and in the status
CHECKS_PER_PERIOD: Final = 3


class Systemd:
    """The notification socket of systemd. Without one, nothing is sent."""

    def __init__(self) -> None:
        self.address = os.environ.get("NOTIFY_SOCKET", "")
        is_ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        usec = os.environ.get("WATCHDOG_USEC", "") if is_ours else ""
        self.watchdog_s = int(usec) / 1e6 if usec.isdecimal() and int(usec) else DEFAULT_PERIOD_S

    def notify(self, *lines: str) -> None:
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            LOG.warning("%s: systemd cannot be notified: %s; check NOTIFY_SOCKET", self.address, error)


async def run(systemd: Systemd, stuck_parts: Callable[[float], list[str]], status: Callable[[], str]) -> Never:
    """`stuck_parts` has a limit in seconds as its argument; `status` is one line for people."""
    reported: list[str] = []
    loop, interval_s, was_frozen = asyncio.get_running_loop(), systemd.watchdog_s / CHECKS_PER_PERIOD, False
    while True:
        parts = [] if was_frozen else stuck_parts(systemd.watchdog_s)
        if parts:
            if parts != reported:
                LOG.error("no progress for %.0f s: %s", systemd.watchdog_s, ", ".join(parts))
            systemd.notify(f"STATUS=stuck: {', '.join(parts)}")
        else:
            systemd.notify("WATCHDOG=1", f"STATUS={status()}")
        reported = parts
        began = loop.time()
        await asyncio.sleep(interval_s)
        was_frozen = loop.time() - began > 2 * interval_s
