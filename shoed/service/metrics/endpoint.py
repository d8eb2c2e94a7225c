"""The HTTP server of /metrics and /health: a strict subset of HTTP/1.1, for GET and HEAD without a body.

Theory of operation: a connection carries one request and its answer. Each bound below protects the tables from a client
that is slow, wrong or too frequent. If the place cannot be used, as when another program has the port, the endpoint
logs the reason and tries again: metrics never end the daemon.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple, Never

from shoed.errors import TellError
from shoed.service.command_socket import listening
from shoed.service.metrics_settings import LoopbackPort, MetricsPlace

LOG: Final = logging.getLogger("shoed.service.metrics")

MOST_CLIENTS: Final = 16  # at once
LONGEST_HEAD: Final = 8192  # bytes of the request line and the headers
READ_S: Final = 5.0  # for the whole head
WRITE_S: Final = 5.0
LINGER_S: Final = 1.0  # for the client to read the answer: unread bytes of a request would reset the connection
RETRY_S: Final = 5.0

TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST_LINE: Final = re.compile(rb"(%s) ([!-~]+) HTTP/([0-9])\.([0-9])" % TOKEN)
FIELD: Final = re.compile(rb"(%s):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)" % TOKEN)
ORIGIN: Final = re.compile(r"^https?://[^/?#]*", re.IGNORECASE)  # a server accepts the absolute form (RFC 9112, 3.2.2)


class HttpPage(NamedTuple):
    status: HTTPStatus
    content_type: str
    body: bytes
    headers: str = ""  # further headers, each with its line end


def refusal(status: HTTPStatus, text: str, headers: str = "") -> HttpPage:
    return HttpPage(status, "text/plain; charset=utf-8", f"{text}\n".encode(), headers)


class MetricsEndpoint:
    """The server of the pages, by their paths."""

    def __init__(
        self, place: MetricsPlace, state_dir: Path, pages: Mapping[str, Callable[[], Awaitable[HttpPage]]]
    ) -> None:
        self.place = place
        self.state_dir = state_dir
        self.pages = pages
        self.clients = 0
        self.problem: str | None = None  # the reason while the place cannot be used

    async def run(self) -> Never:
        """Serve until cancelled. On error: log each new reason once, try again."""
        while True:
            try:
                with self.listening() as line:
                    await self.serve_clients(line)
            except TellError as error:
                self.report(str(error))
            except Exception as error:  # the border of a task
                LOG.exception("the endpoint of the metrics has failed")
                self.report(f"{type(error).__name__}: {error}")
            await asyncio.sleep(RETRY_S)

    async def serve_clients(self, line: socket.socket) -> None:
        """Serve until cancelled. The end closes every connection."""
        async with asyncio.TaskGroup() as clients:

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                clients.create_task(self.serve(reader, writer))

            server = await asyncio.start_server(connected, sock=line, limit=LONGEST_HEAD)
            try:
                self.problem = None
                LOG.info("metrics at %s", self.place)
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()  # without wait_closed(), which waits for idle clients

    def report(self, reason: str) -> None:
        problem = f"metrics: {reason}"
        if problem != self.problem:
            LOG.warning("%s; shoed tries again every %g s", problem, RETRY_S)
        self.problem = problem

    @contextmanager
    def listening(self) -> Iterator[socket.socket]:
        match self.place:
            case LoopbackPort(host=host, port=port):
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                try:
                    line = socket.create_server((host, port), family=family)
                except OSError as error:
                    reason = error.strerror or str(error)
                    remedy = "stop the other program, or change listen in [metrics]"
                    raise TellError(f"{self.place}: {reason}; {remedy}") from error
                with line:
                    yield line
            case unix:
                with listening(self.state_dir, unix.name) as line:
                    yield line

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients += 1
        try:
            if self.clients > MOST_CLIENTS:
                page, is_head = refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_CLIENTS} clients are connected"), False
            else:
                page, is_head = await self.requested(reader)
            await answer(reader, writer, page, is_head=is_head)
        except (OSError, asyncio.IncompleteReadError):  # the client has closed the connection, or does not read
            pass
        finally:
            self.clients -= 1
            writer.transport.abort()

    async def requested(self, reader: asyncio.StreamReader) -> tuple[HttpPage, bool]:
        """Read a request. Return its page, and whether only the head of the page is requested."""
        try:
            async with asyncio.timeout(READ_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            return refusal(HTTPStatus.REQUEST_TIMEOUT, f"the request is not complete after {READ_S:g} s"), False
        except asyncio.LimitOverrunError:
            text = f"the request is longer than {LONGEST_HEAD} bytes"
            return refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text), False
        return await self.page(head)

    async def page(self, head: bytes) -> tuple[HttpPage, bool]:
        first, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        request, fields = REQUEST_LINE.fullmatch(first), [FIELD.fullmatch(each) for each in rest]
        if request is None or None in fields:
            return refusal(HTTPStatus.BAD_REQUEST, "the request is not HTTP; send GET /metrics or GET /health"), False
        method, target, major, minor = (part.decode() for part in request.groups())
        names = [each[1].lower() for each in fields if each is not None]
        is_head = method == "HEAD"
        if major != "1":
            return refusal(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "send the request in HTTP/1.1"), is_head
        if minor != "0" and names.count(b"host") != 1:
            return refusal(HTTPStatus.BAD_REQUEST, "the request must have one Host header"), is_head
        if b"content-length" in names or b"transfer-encoding" in names:
            return refusal(HTTPStatus.BAD_REQUEST, "the request has a body; send it without a body"), is_head
        make = self.pages.get(ORIGIN.sub("", target).partition("?")[0])
        if make is None:
            return refusal(HTTPStatus.NOT_FOUND, f"the pages are {' and '.join(self.pages)}"), is_head
        if method not in ("GET", "HEAD"):
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "send GET or HEAD", "Allow: GET, HEAD\r\n"), is_head
        try:
            return await make(), is_head
        except Exception as error:  # the border of a task: a defect of one page does not end the other clients
            LOG.exception("%s has no page", target)
            text = f"shoed has a defect ({type(error).__name__}: {error}); report it, with the log of shoed"
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, text), is_head


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, page: HttpPage, *, is_head: bool) -> None:
    """Send the page; then wait, within a limit, until the client closes the connection."""
    status = f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
    length = f"Content-Type: {page.content_type}\r\nContent-Length: {len(page.body)}\r\n"
    head = f"{status}{length}{page.headers}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + (b"" if is_head else page.body))
    async with asyncio.timeout(WRITE_S):  # a TimeoutError is an OSError
        await writer.drain()
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await reader.read(LONGEST_HEAD):
                pass
