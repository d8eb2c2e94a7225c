"""The checks of the broker, by a connection and one message for each table. The sessions of the daemon continue."""

import asyncio
import os
from typing import Final

from shoed.bus.client import Connection, MqttMessage, connect
from shoed.errors import BusError
from shoed.service.config import Config
from shoed.service.doctor.catalogue import CheckName, CheckResult, Level, refused
from shoed.service.secret_files import CREDENTIAL
from shoed.service.status import DaemonStatus

TOPIC: Final = "doctor"  # below the topic of a table


async def check_broker(config: Config, status: DaemonStatus | None) -> list[CheckResult]:
    where = config.broker.at
    found = [] if status is None else of_daemon(status, where)
    served = {each.where for each in found if each.level is Level.OK}
    files = (config.broker.password_file, config.broker.ca, config.broker.cert, config.broker.key)
    if any(each is not None and each.startswith(CREDENTIAL) for each in files):
        text = "the credentials of the broker exist in the service only, so doctor does not connect"
        return [*found, CheckResult(CheckName.BROKER, Level.SKIPPED, where, text)]
    word, site = os.urandom(4).hex(), config.site if status is None else status.site  # a restart applies a changed site
    try:
        async with connect(config.broker, f"shoed-{site}-doctor-{word}", None) as connection:
            found.append(CheckResult(CheckName.BROKER, Level.OK, where, f"accepts MQTT {config.broker.version}"))
            for table in config.tables:
                topic = f"shoed/v1/{site}/{table.name}/{TOPIC}"
                denial = Level.WARNING if table.name in served else Level.PROBLEM
                found.append(await access(connection, where, MqttMessage(topic, word.encode()), denial))
    except BusError as error:
        found.append(refused(CheckName.BROKER, where, error))
    return found


async def access(connection: Connection, where: str, message: MqttMessage, denial: Level) -> CheckResult:
    """Whether the broker publishes a message of ours; BusError if the connection ends.

    `denial`: the level of a denial. If the daemon publishes, the access list denies only the topic of doctor.
    """
    ended = connection.lost()
    try:
        await connection.probe(message)
    except BusError as error:
        await asyncio.sleep(0)  # a lost connection reports its end
        if ended.done():
            raise
        return refused(CheckName.BROKER_ACCESS, message.topic, error, denial)
    finally:
        ended.cancel()
    return CheckResult(CheckName.BROKER_ACCESS, Level.OK, message.topic, f"{where} publishes the message of doctor")


def of_daemon(status: DaemonStatus, where: str) -> list[CheckResult]:
    """The connections of the daemon. Events that wait for the broker are shown with the reason."""
    found = []
    for table in status.tables:
        if table.broker.online:
            text = f"the daemon is connected; events without acknowledgement: {table.broker.backlog}"
            found.append(CheckResult(CheckName.BROKER, Level.OK, table.name, text))
        else:
            reason = f"the daemon is not connected to {where}: {table.broker.reason}"
            found.append(refused(CheckName.BROKER, table.name, reason))
    return found
