"""What several test files want: real brokers, a site on one of them, a topic, and an eye on what asyncio logs."""

import gc
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from shoed.bus.settings import BrokerSettings, Version
from shoed.rig.broker import APT_LINE, Broker, Kind, find, running_broker
from tests.world import World

# A shell may start the suite with these ignored, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def broker() -> AsyncIterator[Broker]:
    """A mosquitto for all tests that do it no harm. They share its retained messages: use topics of your own."""
    if find(Kind.MOSQUITTO) is None:
        pytest.fail(f"the tests need a real mosquitto; run: {APT_LINE}")
    async with running_broker(Kind.MOSQUITTO) as running:
        yield running


@pytest.fixture
async def world(tmp_path: Path, broker: Broker) -> AsyncIterator[World]:
    async with World(tmp_path, broker) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def nats() -> AsyncIterator[Broker]:
    async with running_broker(Kind.NATS) as running:
        yield running


@pytest.fixture
def served(which: tuple[Kind, Version], request: pytest.FixtureRequest) -> BrokerSettings:
    """How to reach the broker the test is run with."""
    kind, version = which
    running: Broker = request.getfixturevalue("broker" if kind is Kind.MOSQUITTO else "nats")
    return running.settings(version)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """One that no other test uses."""
    return "test/" + "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


@pytest.fixture
def nothing_is_logged_by_asyncio(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No exception is forgotten and no task destroyed, whatever a test does to its connections."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if record.name == "asyncio"] == []
