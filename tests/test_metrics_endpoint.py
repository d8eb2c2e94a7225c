"""The endpoint of the metrics: its place, its requests, and its bounds."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest

from shoed.service.command_socket import address
from shoed.service.metrics import endpoint as module
from shoed.service.metrics.endpoint import LONGEST_HEAD, MOST_CLIENTS, HttpPage, MetricsEndpoint
from shoed.service.metrics_settings import LoopbackPort, MetricsPlace, UnixSocket, parse_listen
from tests.brokers import left_open
from tests.http_client import SOCKET, HttpAnswer, exchanged, fetch, fetch_tcp, parsed
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")

PLACE: Final = UnixSocket(SOCKET)
BODY: Final = b"one 1\n"


async def metrics() -> HttpPage:
    return HttpPage(HTTPStatus.OK, "text/plain", BODY)


async def until(predicate: Callable[[], bool]) -> None:
    """Look at each turn of the event loop: there is no notification."""
    async with asyncio.timeout(PATIENCE_S):
        while not predicate():  # noqa: ASYNC110  # there is no notification
            await asyncio.sleep(0)


@asynccontextmanager
async def serving(state_dir: Path, place: MetricsPlace = PLACE) -> AsyncIterator[MetricsEndpoint]:
    endpoint = MetricsEndpoint(place, state_dir, {"/metrics": metrics})
    task = asyncio.create_task(endpoint.run())
    try:
        if isinstance(place, UnixSocket):
            await until((state_dir / SOCKET).exists)
        yield endpoint
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def sent(place: Path, data: bytes) -> HttpAnswer:
    with address(place, SOCKET) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    return parsed(await exchanged(reader, writer, data))


# ---------------------------------------------------------------------------------------------- requests


async def test_a_page_has_its_length_and_its_type(tmp_path: Path) -> None:
    """HEAD has the same head without the body."""
    async with serving(tmp_path):
        page, head = await fetch(tmp_path, "/metrics"), await fetch(tmp_path, "/metrics", "HEAD")
    assert (page.status, page.body) == (200, BODY)
    assert page.headers["Content-Length"] == str(len(BODY))
    assert page.headers["Connection"] == "close"
    assert (head.status, head.headers, head.body) == (200, page.headers, b"")


HOST: Final = b"Host: a\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET /metrics HTTP/1.0\r\n\r\n", 200),
        (b"GET /metrics?name=up HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET http://a:9101/metrics HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Accept: text/plain;q=0.5\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\nGET /metrics HTTP/1.1\r\n", 200),  # one request is answered
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"GET /metrics/ HTTP/1.1\r\n" + HOST + b"\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\n" + HOST + b"\r\n", 405),
        (b"GET /metrics HTTP/2.0\r\n" + HOST + b"\r\n", 505),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 400),  # without Host
        (b"GET /metrics HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\n\r\n1", 400),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b" folded\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: a\x00\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET /m\xc3\xa9trics HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),  # a client of TLS
        (b"GET /metrics HTTP/1.1\r\nHost: " + b"a" * LONGEST_HEAD + b"\r\n\r\n", 431),
        (b"a" * 20 * LONGEST_HEAD, 431),
    ],
)
async def test_only_a_correct_request_gets_a_page(tmp_path: Path, data: bytes, status: int) -> None:
    """Any other request gets a status and a text, and the next request is served."""
    async with serving(tmp_path):
        answer = await sent(tmp_path, data)
        assert answer.status == status
        assert answer.headers["Content-Length"] == str(len(answer.body))
        assert answer.body
        assert (await fetch(tmp_path, "/metrics")).status == 200


async def test_the_answer_to_another_method_names_the_allowed_methods(tmp_path: Path) -> None:
    """RFC 9110, 15.5.6."""
    async with serving(tmp_path):
        assert (await fetch(tmp_path, "/metrics", "DELETE")).headers["Allow"] == "GET, HEAD"


# ---------------------------------------------------------------------------------------------- bounds


async def test_a_slow_request_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An incomplete head is answered with 408 after the limit."""
    monkeypatch.setattr(module, "READ_S", 0.05)
    async with serving(tmp_path):
        assert (await sent(tmp_path, b"GET /metrics HTTP/1.1\r\n")).status == 408


async def test_a_client_that_does_not_close_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its answer it has a limit."""
    monkeypatch.setattr(module, "LINGER_S", 0.05)
    async with serving(tmp_path) as endpoint:
        with address(tmp_path, SOCKET) as path:
            reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            assert (await reader.read()).endswith(BODY)
        await until(lambda: not endpoint.clients)
        writer.close()


async def test_the_number_of_clients_is_limited(tmp_path: Path) -> None:
    """One more client gets 503; after a client has left, a client is served."""
    async with serving(tmp_path) as endpoint:
        waiting = []
        for _ in range(MOST_CLIENTS):
            with address(tmp_path, SOCKET) as path:
                waiting.append(await asyncio.open_unix_connection(path))
        assert (await fetch(tmp_path, "/metrics")).status == 503
        waiting[0][1].close()
        await until(lambda: endpoint.clients < MOST_CLIENTS)
        assert (await fetch(tmp_path, "/metrics")).status == 200
        for _, writer in waiting[1:]:
            writer.close()


async def test_nothing_stays_open(tmp_path: Path) -> None:
    """Requests of every kind leave no descriptor and no task."""
    async with serving(tmp_path):
        await fetch(tmp_path, "/metrics")
        before = left_open()
        for data in (b"GET /metrics HTTP/1.0\r\n\r\n", b"a" * 20 * LONGEST_HEAD, b"x\r\n\r\n"):
            await sent(tmp_path, data)
        await until(lambda: left_open() == before)


async def test_a_client_that_is_connected_does_not_delay_the_end(tmp_path: Path) -> None:
    """Its connection is closed, without a request and in the middle of one."""
    clients = []
    async with serving(tmp_path) as endpoint, asyncio.timeout(module.READ_S / 2):
        for begun in (b"", b"GET /metrics HTTP/1.1\r\n"):
            with address(tmp_path, SOCKET) as path:
                reader, writer = await asyncio.open_unix_connection(path)
            writer.write(begun)
            clients.append((reader, writer))
        await until(lambda: endpoint.clients == 2)
    for reader, writer in clients:
        async with asyncio.timeout(module.READ_S / 2):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()


async def test_a_defect_of_a_page_is_answered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The answer names the defect, the log has it, and the next client is served."""

    async def defective() -> HttpPage:
        raise KeyError(7)

    async with serving(tmp_path) as endpoint:
        endpoint.pages = {**endpoint.pages, "/health": defective}
        answer = await fetch(tmp_path, "/health")
        assert (answer.status, b"KeyError: 7" in answer.body) == (500, True)
        assert (await fetch(tmp_path, "/metrics")).status == 200
    assert "/health has no page" in caplog.text


# ---------------------------------------------------------------------------------------------- the place


async def test_a_port_in_use_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The reason is logged once. The endpoint serves when the other program has released the port."""
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port: int = other.getsockname()[1]
        async with serving(tmp_path, LoopbackPort("127.0.0.1", port)) as endpoint:
            await until(lambda: endpoint.problem is not None)
            problem = endpoint.problem or ""
            assert problem.startswith(f"metrics: http://127.0.0.1:{port}: Address already in use")
            assert "change listen in [metrics]" in problem
            other.close()
            await until(lambda: endpoint.problem is None)
            assert (await fetch_tcp(port, "/metrics")).body == BODY
    assert sum("Address already in use" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:9101", LoopbackPort("127.0.0.1", 9101)),
        ("127.8.0.1:1", LoopbackPort("127.8.0.1", 1)),
        ("[::1]:65535", LoopbackPort("::1", 65535)),
        ("unix:metrics.sock", UnixSocket("metrics.sock")),
    ],
)
def test_the_place_is_a_loopback_port_or_a_socket(text: str, place: MetricsPlace) -> None:
    """The state directory has the socket."""
    assert parse_listen(text) == place


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.0.0.0:9101", 'other machines can reach "0.0.0.0"; write 127.0.0.1 or [::1]'),
        ("[::]:9101", 'other machines can reach "::"; write 127.0.0.1 or [::1]'),
        ("10.0.0.7:9101", 'other machines can reach "10.0.0.7"; '),
        ("localhost:9101", '"localhost" is not an IP address; write for example "127.0.0.1:9101"'),
        (":9101", '"" is not an IP address; '),
        ("9101", '"9101" has no address and port; write for example "127.0.0.1:9101"'),
        ("::1:9101", '"::1:9101" has no address and port; '),
        ("127.0.0.1:0", "port 0 does not exist; write a number from 1 to 65535"),
        ("127.0.0.1:65536", "port 65536 does not exist; "),
        ("unix:", '"" is not the name of a socket in the state directory; '),
        ("unix:/run/metrics.sock", '"/run/metrics.sock" is not the name of a socket in the state directory; '),
        ("unix:../metrics.sock", '"../metrics.sock" is not the name of a socket in the state directory; '),
        ("unix:journal.db", '"journal.db" is not the name of a socket in the state directory; '),
        ("unix:tell.sock", "tell.sock is the command socket of shoed; write another name"),
    ],
)
def test_any_other_place_is_a_problem(text: str, problem: str) -> None:
    """The text has the problem and the remedy."""
    with pytest.raises(ValueError, match="; ") as error:
        parse_listen(text)
    assert str(error.value).startswith(problem)
