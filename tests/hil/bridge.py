"""Connect a virtual device to a real line: `python -m tests.hil.bridge NODE PORT [SIZE]`.

The device listens on the TCP port PORT of this machine (`shoed rig --listen`). NODE is a serial line, or the node of a
USB gadget. With SIZE, each write to NODE has this number of bytes: a HID gadget sends one report for each write.
"""

import asyncio
import os
import sys
import termios
import tty
from contextlib import suppress
from typing import Final

READ_BYTES: Final = 4096
BAUD: Final = termios.B4800  # of an Angel Eye shoe; a gadget has no speed


async def bridge(node: str, port: int, size: int | None = None) -> None:
    """Copy bytes in both directions until the device ends."""
    line = os.open(node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        with suppress(termios.error):  # a HID gadget is not a tty
            tty.setraw(line, termios.TCSANOW)
            settings = termios.tcgetattr(line)
            settings[4] = settings[5] = BAUD
            termios.tcsetattr(line, termios.TCSANOW, settings)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        loop = asyncio.get_running_loop()
        loop.add_reader(line, lambda: writer.write(received(line)))
        try:
            with suppress(asyncio.IncompleteReadError):
                while data := await (reader.readexactly(size) if size else reader.read(READ_BYTES)):
                    await sent(line, data)
        finally:
            loop.remove_reader(line)
            writer.close()
    finally:
        os.close(line)


def received(line: int) -> bytes:
    with suppress(OSError):  # nothing to read, or no host
        return os.read(line, READ_BYTES)
    return b""


async def sent(line: int, data: bytes) -> None:
    loop = asyncio.get_running_loop()
    while data:
        writable = asyncio.Event()
        loop.add_writer(line, writable.set)
        await writable.wait()
        loop.remove_writer(line)
        data = data[os.write(line, data) :]


if __name__ == "__main__":
    asyncio.run(bridge(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None))
