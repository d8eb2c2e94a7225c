"""An MQTT subscriber like any other: what is retained, then what comes."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiomqtt

from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost

LOG: Final = logging.getLogger("shoed.display.library")
LOG.setLevel(logging.CRITICAL)  # what the library has to report is in our error already


class Received(NamedTuple):
    topic: str
    payload: bytes


@asynccontextmanager
async def subscription(broker: BrokerSettings, topics: str) -> AsyncIterator[AsyncIterator[Received]]:
    """All under the topics. BrokerLost where the broker cannot be had, and from the iterator once it is gone."""
    version = aiomqtt.ProtocolVersion.V5 if broker.version == "5" else aiomqtt.ProtocolVersion.V311
    try:
        async with aiomqtt.Client(broker.host, broker.port, protocol=version, logger=LOG) as client:
            await client.subscribe(topics, qos=1)
            yield _received(client, broker)
    except aiomqtt.MqttError as error:
        raise _lost(broker, error) from error


async def _received(client: aiomqtt.Client, broker: BrokerSettings) -> AsyncIterator[Received]:
    try:
        async for message in client.messages:
            if isinstance(message.payload, bytes):
                yield Received(str(message.topic), message.payload)
    except aiomqtt.MqttError as error:
        raise _lost(broker, error) from error


def _lost(broker: BrokerSettings, error: aiomqtt.MqttError) -> BrokerLost:
    return BrokerLost(f"{broker.at}: {error}; see whether the broker runs")
