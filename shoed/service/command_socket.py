"""The command socket: a unix stream socket in the state directory. A request and its answer are one line of JSON each.

Theory of operation: the permissions of the directory (0700) and of the socket (0600) decide which users can send
commands. Each client has a task. The task reads one line, sends its answer, and then reads the next line. A client
therefore occupies memory for one request only. At the end, no further line is read; every due answer is sent.
"""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from shoed.errors import AnswerRefused, NotRunning, TellError
from shoed.model.commands import Answer
from shoed.model.requests import AnyRequest, Query, Request, RestartAnswer, RestartRequest, json_line, read
from shoed.typed_json import decoder

A = TypeVar("A", bound=Answer)

NAME: Final = "tell.sock"
LONGEST: Final = 4096  # bytes of a line: ten times the longest command
MOST_CLIENTS: Final = 32
WRITE_S: Final = 5.0  # a client that does not read its answer for so long is disconnected
LEAVE_S: Final = 1.0  # at the end, for the due answers
ANSWER_S: Final = 10.0  # the time limit of a client: a disk may be slow
MODE: Final = 0o600

LOG: Final = logging.getLogger("shoed")

Execute = Callable[[AnyRequest], Awaitable[Answer]]


@contextmanager
def address(state_dir: Path, name: str = NAME) -> Iterator[str]:
    """A short path of a socket. The address of a unix socket has at most 107 bytes; the directory may need more."""
    folder = os.open(state_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{name}"
    finally:
        os.close(folder)


# --- server


@contextmanager
def listening(state_dir: Path, name: str = NAME) -> Iterator[socket.socket]:
    """A socket of the daemon that has locked the directory. A socket that an earlier daemon left is replaced."""
    with address(state_dir, name) as path, socket.socket(socket.AF_UNIX) as server:
        try:
            Path(path).unlink(missing_ok=True)
            os.fchmod(server.fileno(), MODE)  # before `bind` makes a file that other users can open
            server.bind(path)
            server.listen()
        except OSError as error:
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            remedy = (
                f"free space on the disk of {state_dir}" if is_full else "remove the file or directory of this name"
            )
            raise TellError(f"{state_dir / name}: {error.strerror}; {remedy}, or set another site.state_dir") from error
        try:
            yield server
        finally:
            Path(path).unlink(missing_ok=True)


class CommandServer:
    """Serves the clients of the command socket."""

    def __init__(self, execute: Execute) -> None:
        self.execute = execute
        self.stopping = asyncio.Event()
        self.clients: set[asyncio.Task[None]] = set()
        self.reading: set[asyncio.Timeout] = set()  # of the clients that wait for a line

    async def run(self, server: socket.socket) -> None:
        """Serve until `stopping`; then send every due answer, within a time limit."""
        async with asyncio.TaskGroup() as tasks:

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if self.stopping.is_set():
                    writer.transport.abort()
                    return
                writer.transport.set_write_buffer_limits(0)  # `drain` waits until the kernel has the whole answer
                client = tasks.create_task(self.serve(reader, writer, is_admitted=len(self.clients) < MOST_CLIENTS))
                self.clients.add(client)
                client.add_done_callback(self.clients.discard)

            listener = await asyncio.start_unix_server(connected, sock=server, limit=LONGEST)
            try:
                await self.stopping.wait()
            finally:
                listener.close()  # without wait_closed(), which waits for idle clients
            for timeout in self.reading:
                timeout.reschedule(0)
            if self.clients:
                await asyncio.wait(self.clients, timeout=LEAVE_S)
            for client in self.clients:
                client.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_admitted: bool) -> None:
        try:
            if not is_admitted:
                await send(writer, refusal(f"{MOST_CLIENTS} clients are connected; close one of them"))
                return
            while not self.stopping.is_set() and (answer := await self.answer(reader)) is not None:
                await send(writer, answer)
        except asyncio.LimitOverrunError:
            with suppress(OSError):
                await send(writer, refusal(f"the line is longer than {LONGEST} bytes; send a shorter line"))
        except OSError:  # the client has closed the connection, or does not read
            pass
        finally:
            writer.transport.abort()  # the kernel has every answer that the client can still read

    async def answer(self, reader: asyncio.StreamReader) -> Answer | None:
        """The answer to the next line; None: there is no further complete line."""
        async with asyncio.timeout(None) as timeout:  # `run` sets the limit at the end
            self.reading.add(timeout)
            try:
                line = await reader.readuntil()
            except asyncio.IncompleteReadError:  # an incomplete line is not a request
                return None
            finally:
                self.reading.discard(timeout)
        request = read(line)
        if isinstance(request, Answer):
            return request
        try:
            return await self.execute(request)
        except Exception as error:  # the border of a task: a defect of one answer does not end the tables
            LOG.exception("a request has no answer: %s", line.decode(errors="replace").strip())
            return refusal(f"shoed has a defect ({type(error).__name__}: {error}); report it, with the log of shoed")


def refusal(detail: str) -> Answer:
    return Answer("", accepted=False, detail=detail)


async def send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    async with asyncio.timeout(WRITE_S):  # a TimeoutError is an OSError
        await writer.drain()


# --- client


def send_command(state_dir: Path, request: Request, limit_s: float = ANSWER_S) -> Answer:
    """Send a command to the daemon of this directory; return the answer."""
    remedy = (
        f"it is not known whether the command was executed: repeat it with --id {request.input.id};"
        " shoed executes it at most once"
    )
    return decoder(Answer).decode(exchange(state_dir, json_line(request), limit_s, remedy))


def query(state_dir: Path, request: Query, answer: type[A], limit_s: float = ANSWER_S) -> A:
    """The answer to a query; AnswerRefused has the reason of a refusal."""
    received = exchange(state_dir, json_line(request), limit_s, "repeat the command; see the log of shoed")
    refused = decoder(Answer).decode(received)
    if not refused.accepted:
        raise AnswerRefused(refused.detail)
    return decoder(answer).decode(received)


def request_restart(state_dir: Path, request: RestartRequest, limit_s: float = ANSWER_S) -> RestartAnswer:
    return decoder(RestartAnswer).decode(
        exchange(state_dir, json_line(request), limit_s, "shoed status shows whether it runs again")
    )


def exchange(state_dir: Path, request: bytes, limit_s: float, remedy: str) -> bytes:
    """Send the line of a request; return the line of the answer."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(limit_s)
        try:
            with address(state_dir) as path:
                line.connect(path)
        except PermissionError as error:
            raise TellError(
                f"{state_dir}: {error.strerror}; run the command as the user of the daemon, or as root"
            ) from error
        except OSError as error:
            raise NotRunning(
                f"{state_dir}: shoed does not run in this state directory ({error.strerror}); start shoed,"
                " or give its --config or --state-dir"
            ) from error
        try:
            with suppress(BrokenPipeError):  # the daemon refused the connection: its answer has the reason
                line.sendall(request)
            with line.makefile("rb") as answers:
                answer = answers.readline()
        except TimeoutError as error:
            raise TellError(f"{state_dir}: no answer within {limit_s:g} s; {remedy}") from error
        except OSError as error:
            raise TellError(f"{state_dir}: {error.strerror}; {remedy}") from error
    if not answer.endswith(b"\n"):
        raise TellError(f"{state_dir}: shoed ended before it answered; {remedy}")
    return answer
