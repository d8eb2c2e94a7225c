"""Fixtures of the tests with a guest. Without the rig they are skipped, or fail if HIL_REQUIRED is set."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hil.guest import Guest, Saved, resumed, saved
from tests.hil.image import Image, Missing, image


@pytest.fixture(scope="session")
def disk() -> Image:
    try:
        return image()
    except Missing as missing:
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)(str(missing))


@pytest.fixture
async def state(disk: Image) -> Saved:
    return await saved(disk)


@pytest.fixture
async def guest(disk: Image, state: Saved, tmp_path: Path) -> AsyncIterator[Guest]:
    """A fresh guest in which shoed waits for its devices."""
    async with resumed(disk, state, tmp_path) as guest:
        yield guest
        assert not [line for line in guest.log if "Traceback" in line], str(guest)
