"""The watchdog of systemd, with parts of this test."""

import asyncio
import socket
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from shoed.service import watchdog

PERIOD_S: Final = 0.3


async def test_after_a_freeze_the_parts_have_time_until_the_next_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process stood still for longer than the period: no part could make progress, and none is stuck."""
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", f"{PERIOD_S * 1e6:.0f}")
    progress_at = monotonic()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.setblocking(False)  # noqa: FBT003  # setblocking has no keyword

        def stuck_parts(limit_s: float) -> list[str]:
            return ["the part"] if monotonic() - progress_at > limit_s else []

        task = asyncio.create_task(watchdog.run(watchdog.Systemd(), stuck_parts, lambda: "idle"))
        await notification(notified)
        while monotonic() - progress_at < 2 * PERIOD_S:  # nothing runs
            pass
        assert stuck_parts(PERIOD_S), "the condition of this test"
        assert "WATCHDOG=1" in await notification(notified)
        progress_at = monotonic()
        assert "WATCHDOG=1" in await notification(notified)
        progress_at -= 2 * PERIOD_S
        while (stated := await notification(notified)).startswith("WATCHDOG=1"):  # a slow machine is a frozen one
            pass
        assert stated == "STATUS=stuck: the part"
        task.cancel()


async def notification(notified: socket.socket) -> str:
    return (await asyncio.get_running_loop().sock_recv(notified, 4096)).decode()
