"""Fixtures of several test files: real brokers, a site on a broker, a topic, and the log of asyncio."""

import gc
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from shoed.bus.settings import BrokerSettings, MqttVersion
from shoed.rig.broker import APT_LINE, Broker, BrokerKind, find, running_broker
from tests.world import World

# A shell may start the tests with these signals ignored, and every process of a test would inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def broker() -> AsyncIterator[Broker]:
    """A mosquitto for all tests that do not stop it. They share its retained messages: use your own topics."""
    if find(BrokerKind.MOSQUITTO) is None:
        pytest.fail(f"the tests need a real mosquitto; run: {APT_LINE}")
    async with running_broker(BrokerKind.MOSQUITTO) as running:
        yield running


@pytest.fixture
async def world(tmp_path: Path, broker: Broker) -> AsyncIterator[World]:
    async with World(tmp_path, broker) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def nats() -> AsyncIterator[Broker]:
    async with running_broker(BrokerKind.NATS) as running:
        yield running


@pytest.fixture
def served(which: tuple[BrokerKind, MqttVersion], request: pytest.FixtureRequest) -> BrokerSettings:
    """The settings of the broker of the test."""
    kind, version = which
    running: Broker = request.getfixturevalue("broker" if kind is BrokerKind.MOSQUITTO else "nats")
    return running.settings(version)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which no process listens. It is bound, so no other process gets it."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place.getsockname()[1]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic that no other test uses."""
    return "test/" + "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


@pytest.fixture
def nothing_is_logged_by_asyncio(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Verify that asyncio logs no lost exception and no destroyed task."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if record.name == "asyncio"] == []


def pytest_collection_finish() -> None:
    """Exclude the collected tests and their modules from garbage collection.

    They live until the end of the run. A full collection takes half a second with them and some milliseconds without.
    """
    gc.collect()
    gc.freeze()
