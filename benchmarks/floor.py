"""The floor of the latency: eight bytes are received, committed with FULL synchronisation, and published."""

import asyncio
import sqlite3
import sys

import aiomqtt


async def main(shoe_port: int, broker_port: int, database: str) -> None:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE report (bytes BLOB)")
    async with aiomqtt.Client("127.0.0.1", broker_port, protocol=aiomqtt.ProtocolVersion.V5) as client:
        reader, _ = await asyncio.open_connection("127.0.0.1", shoe_port)
        while data := await reader.read(100):
            connection.execute("INSERT INTO report VALUES (?)", (data,))  # one transaction for each report
            await client.publish("shoed/v1/bench/floor/event/card/drawn", data.hex(), qos=1)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
