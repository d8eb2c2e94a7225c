"""promtool of Prometheus, which verifies metrics and alert rules. Without promtool its tests are skipped."""

import asyncio
import shutil
import subprocess
from typing import Final

import pytest

PROMTOOL: Final = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is absent; run: apt-get install -y prometheus")


async def promtool(*words: str, text: str = "") -> str:
    """Run promtool with the text as its input. Return what it prints if it finds a problem."""
    assert PROMTOOL is not None
    process = await asyncio.create_subprocess_exec(
        PROMTOOL, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    printed, _ = await process.communicate(text.encode())
    return printed.decode() if process.returncode else ""
