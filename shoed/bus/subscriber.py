"""An ordinary MQTT subscriber: it receives the retained messages, then the new ones."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiomqtt

from shoed.bus.broker_socket import password, tls_context
from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost

LOG: Final = logging.getLogger("shoed.bus.subscriber")
LOG.setLevel(logging.CRITICAL)  # our error contains the same information


class ReceivedMessage(NamedTuple):
    topic: str
    payload: bytes


@asynccontextmanager
async def subscription(broker: BrokerSettings, topics: str) -> AsyncIterator[AsyncIterator[ReceivedMessage]]:
    """Yield an iterator of the messages of the topics.

    Entering raises BrokerLost if the broker cannot be reached. The iterator raises it after a loss of the connection.
    """
    client = aiomqtt.Client(
        broker.host,
        broker.port,
        username=broker.user,
        password=password(broker),
        tls_context=tls_context(broker) if broker.tls else None,
        protocol=aiomqtt.ProtocolVersion.V5 if broker.version == "5" else aiomqtt.ProtocolVersion.V311,
        logger=LOG,
    )
    try:
        async with client:
            await client.subscribe(topics, qos=1)
            yield _received(client, broker)
    except aiomqtt.MqttError as error:
        raise _lost(broker, error) from error


async def _received(client: aiomqtt.Client, broker: BrokerSettings) -> AsyncIterator[ReceivedMessage]:
    try:
        async for message in client.messages:
            if isinstance(message.payload, bytes):
                yield ReceivedMessage(str(message.topic), message.payload)
    except aiomqtt.MqttError as error:
        raise _lost(broker, error) from error


def _lost(broker: BrokerSettings, error: aiomqtt.MqttError) -> BrokerLost:
    return BrokerLost(f"{broker.at}: {error}; check that the broker runs")
