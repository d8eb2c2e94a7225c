"""What several test files want: a real broker."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shoed.rig.broker import APT_LINE, Broker, Kind, find, running_broker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def broker() -> AsyncIterator[Broker]:
    """A mosquitto for all tests that do it no harm. They share its retained messages: use topics of your own."""
    if find(Kind.MOSQUITTO) is None:
        pytest.fail(f"the tests need a real mosquitto; run: {APT_LINE}")
    async with running_broker(Kind.MOSQUITTO) as running:
        yield running
