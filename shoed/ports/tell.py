"""The way in for commands: a unix stream socket in the state directory, one line of JSON each way.

Theory of operation. Whoever may enter the directory (0700) and open the socket (0600) may tell. Each client is a
task that takes one line, waits for its answer and only then reads on, so that what a client may have on its way is one
request and what the kernel holds. At the end no further line is read; answers that are due still leave.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from shoed.commands import Answer
from shoed.errors import TellError
from shoed.telling import Request, Save, Saved, line_of, line_of_save, read

NAME: Final = "tell.sock"
LONGEST: Final = 4096  # bytes of a line: ten times what any command takes
MOST_CLIENTS: Final = 32
WRITE_S: Final = 5.0  # a client that takes no answer for so long is gone
LEAVE_S: Final = 1.0
ANSWER_S: Final = 10.0  # how long whoever tells waits: a disk may be slow
MODE: Final = 0o600

Tell = Callable[[Request | Save], Awaitable[Answer]]


@contextmanager
def address(state_dir: Path) -> Iterator[str]:
    """The socket's path in few characters: a socket's address holds 107, and a directory's name may be longer."""
    folder = os.open(state_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{NAME}"
    finally:
        os.close(folder)


# --- the daemon's end


@contextmanager
def listening(state_dir: Path) -> Iterator[socket.socket]:
    """The socket, for whoever holds the directory's lock: what lies there is a dead daemon's, and is replaced."""
    with address(state_dir) as path, socket.socket(socket.AF_UNIX) as server:
        try:
            Path(path).unlink(missing_ok=True)
            os.fchmod(server.fileno(), MODE)  # before there is a file that others might open
            server.bind(path)
            server.listen()
        except OSError as error:
            raise TellError(
                f"{state_dir / NAME}: {error.strerror}; move away what is there, or free the disk"
            ) from error
        try:
            yield server
        finally:
            Path(path).unlink(missing_ok=True)


class Counter:
    """Serves all who come to tell."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.leaving = asyncio.Event()
        self.clients: set[asyncio.Task[None]] = set()
        self.reading: set[asyncio.Timeout] = set()  # of those that wait for a line

    async def run(self, server: socket.socket) -> None:
        """Until `leaving`; then every answer that is due leaves, within a time limit."""
        async with asyncio.TaskGroup() as tasks:

            def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if self.leaving.is_set():
                    writer.transport.abort()
                    return
                writer.transport.set_write_buffer_limits(0)  # said is what the kernel has
                client = tasks.create_task(self.serve(reader, writer, welcome=len(self.clients) < MOST_CLIENTS))
                self.clients.add(client)
                client.add_done_callback(self.clients.discard)

            door = await asyncio.start_unix_server(met, sock=server, limit=LONGEST)
            try:
                await self.leaving.wait()
            finally:
                door.close()  # and nobody waits for it: it would wait for those who only listen
            for patience in self.reading:
                patience.reschedule(0)
            if self.clients:
                await asyncio.wait(self.clients, timeout=LEAVE_S)
            for client in self.clients:
                client.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, welcome: bool) -> None:
        try:
            if not welcome:
                await say(writer, refusal(f"{MOST_CLIENTS} clients are here already; close one of them"))
                return
            while not self.leaving.is_set() and (answer := await self.answer(reader)) is not None:
                await say(writer, answer)
        except asyncio.LimitOverrunError:
            with suppress(OSError):
                await say(writer, refusal(f"a line is longer than {LONGEST} bytes; say it in fewer"))
        except OSError:  # gone, or asleep: nobody is there to be told
            pass
        finally:
            writer.transport.abort()  # what was said is the kernel's, or nobody takes it

    async def answer(self, reader: asyncio.StreamReader) -> Answer | None:
        """The answer to the next line; None: there is no further whole line."""
        async with asyncio.timeout(None) as patience:  # without an end until it is time to leave
            self.reading.add(patience)
            try:
                line = await reader.readuntil()
            except asyncio.IncompleteReadError:  # half a line was meant by nobody
                return None
            finally:
                self.reading.discard(patience)
        request = read(line)
        return request if isinstance(request, Answer) else await self.tell(request)


def refusal(detail: str) -> Answer:
    return Answer("", accepted=False, detail=detail)


async def say(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    async with asyncio.timeout(WRITE_S):  # a TimeoutError is an OSError
        await writer.drain()


# --- the other end


def ask(state_dir: Path, request: Request, limit_s: float = ANSWER_S) -> Answer:
    """Tell the daemon of this directory, and wait for its answer."""
    again = f"it may have been carried out or not: ask again with --id {request.told.id}, and it is done once at most"
    return msgspec.json.decode(said_to(state_dir, line_of(request), limit_s, again), type=Answer)


def ask_for_capture(state_dir: Path, save: Save, limit_s: float = ANSWER_S) -> Saved:
    return msgspec.json.decode(said_to(state_dir, line_of_save(save), limit_s, "ask again"), type=Saved)


def said_to(state_dir: Path, asked: bytes, limit_s: float, again: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(limit_s)
        try:
            with address(state_dir) as path:
                line.connect(path)
        except PermissionError as error:
            raise TellError(f"{state_dir}: {error.strerror}; ask as the user that shoed runs as") from error
        except OSError as error:
            raise TellError(
                f"{state_dir}: no shoed is there to be told ({error.strerror}); start it,"
                " or give its --config or --state-dir"
            ) from error
        try:
            with suppress(BrokenPipeError):  # refused before it was asked: the reason is there
                line.sendall(asked)
            with line.makefile("rb") as answers:
                said = answers.readline()
        except TimeoutError as error:
            raise TellError(f"{state_dir}: no answer within {limit_s:g} s; {again}") from error
        except OSError as error:
            raise TellError(f"{state_dir}: {error.strerror}; {again}") from error
    if not said.endswith(b"\n"):
        raise TellError(f"{state_dir}: shoed ended before it answered; {again}")
    return said
