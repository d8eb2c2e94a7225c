"""The command socket: its permissions, its lines, and its clients."""

import asyncio
import os
import socket
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

import pytest

from shoed.errors import TellError
from shoed.model.commands import Answer
from shoed.model.requests import EXAMPLE, AnyRequest, Request, json_line
from shoed.service import command_socket
from shoed.service.command_socket import LONGEST, MOST_CLIENTS, NAME, CommandServer, listening, send_command
from tests.brokers import left_open
from tests.command_clients import Client, client
from tests.patience import PATIENCE_S

LINE: Final = json_line(EXAMPLE)
YES: Final = Answer(EXAMPLE.input.id, accepted=True)

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")


async def yes(request: AnyRequest) -> Answer:
    assert isinstance(request, Request)
    return Answer(request.input.id, accepted=True)


@asynccontextmanager
async def serving(place: Path, answer: Callable[[AnyRequest], Awaitable[Answer]] = yes) -> AsyncIterator[CommandServer]:
    """A server that stops at the end of the test."""
    with listening(place) as listener:
        server = CommandServer(answer)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.run(listener))
            try:
                yield server
            finally:
                server.stopping.set()


# --- the file


def test_only_the_user_of_the_daemon_can_open_it(tmp_path: Path) -> None:
    """The mode is 0600 with any mask; the file is removed at the end."""
    mask = os.umask(0)
    try:
        with listening(tmp_path):
            found = (tmp_path / NAME).stat()
            assert stat.S_ISSOCK(found.st_mode)
            assert stat.S_IMODE(found.st_mode) == 0o600
    finally:
        os.umask(mask)
    assert list(tmp_path.iterdir()) == []


async def test_the_socket_of_an_earlier_daemon_is_replaced(tmp_path: Path) -> None:
    """A socket without a listener, and a file of this name, are replaced."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / NAME))
    async with serving(tmp_path), client(tmp_path) as one_client:
        assert await one_client.request(LINE) == YES
    (tmp_path / NAME).write_text("a file")
    async with serving(tmp_path), client(tmp_path) as one_client:
        assert await one_client.request(LINE) == YES


def test_a_directory_in_its_place_is_an_error(tmp_path: Path) -> None:
    """The directory is not removed: it is not of shoed."""
    (tmp_path / NAME).mkdir()
    with (
        pytest.raises(TellError, match=f"{tmp_path / NAME}: .*remove the file or directory of this name"),
        listening(tmp_path),
    ):
        pass
    assert (tmp_path / NAME).is_dir()


async def test_a_directory_may_have_a_long_name(tmp_path: Path) -> None:
    """The name is longer than the 107 bytes of a socket address."""
    place = tmp_path / ("d" * 120) / ("e" * 120)
    place.mkdir(parents=True)
    async with serving(place):
        assert await asyncio.to_thread(send_command, place, EXAMPLE) == YES


# --- lines


async def test_one_line_gives_one_line_and_the_connection_stays(tmp_path: Path) -> None:
    """The connection stays open after a refusal. Lines may arrive in pieces or together."""
    async with serving(tmp_path), client(tmp_path) as one_client:
        for line in (b"{\n", b"\n", b"\xff\xfe\n", b"[" * 2000 + b"\n", b'{"id": "5"}\n'):
            answer = await one_client.request(line)
            assert answer is not None
            assert (answer.accepted, bool(answer.detail)) == (False, True)
        one_client.writer.write(LINE[:10])
        await one_client.writer.drain()
        assert await one_client.request(LINE[10:] + LINE + LINE[:5]) == YES
        assert await one_client.receive() == YES
        assert await one_client.request(LINE[5:]) == YES


async def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """The connection is closed, because the begin of the next line is unknown."""
    async with serving(tmp_path), client(tmp_path) as one_client:
        assert await one_client.request(LINE[:-1] + b" " * (LONGEST - len(LINE)) + b"\n") == YES
        answer = await one_client.request(b" " * (2 * LONGEST) + LINE)
        assert answer is not None
        assert str(LONGEST) in answer.detail
        assert await one_client.receive() is None


async def test_an_incomplete_line_is_not_executed(tmp_path: Path) -> None:
    """The client has closed the connection, and the line is valid without its end."""
    taken = []

    async def take(request: AnyRequest) -> Answer:
        taken.append(request)
        return await yes(request)

    async with serving(tmp_path, take), client(tmp_path) as one_client:
        assert await one_client.request(LINE) == YES
        one_client.writer.write(LINE[:-1])
        one_client.writer.write_eof()
        assert await one_client.receive() is None
    assert len(taken) == 1


# --- clients


async def test_a_client_that_waits_does_not_delay_another_client(tmp_path: Path) -> None:
    """The second line of a client is read after the answer to the first line."""
    hold = asyncio.Event()
    taken: list[str] = []

    async def slowly(request: AnyRequest) -> Answer:
        assert isinstance(request, Request)
        taken.append(request.input.id)
        if request.input.id == EXAMPLE.input.id:
            await hold.wait()
        return await yes(request)

    async with serving(tmp_path, slowly), client(tmp_path) as one, client(tmp_path) as other:
        one.writer.write(LINE + LINE.replace(b"7f3a", b"1000"))
        assert await other.request(LINE.replace(b"7f3a", b"2000")) == Answer("2000", accepted=True)
        assert await other.request(LINE.replace(b"7f3a", b"2001")) == Answer("2001", accepted=True)
        assert "1000" not in taken
        hold.set()
        assert await one.receive() == YES
        assert await one.receive() == Answer("1000", accepted=True)


async def test_a_client_that_does_not_read_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers fill the buffers, and the time limit expires; another client is served."""
    monkeypatch.setattr(command_socket, "WRITE_S", 0.2)
    async with serving(tmp_path) as server, client(tmp_path) as blocked, client(tmp_path) as other:
        blocked.writer.transport.pause_reading()  # type: ignore[attr-defined]  # also a ReadTransport
        blocked.writer.write(LINE * 20_000)

        async def continue_writing() -> None:
            while True:
                await blocked.writer.drain()
                assert await other.request(LINE) == YES

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(continue_writing(), PATIENCE_S)
        assert len(server.clients) == 1


async def test_many_clients_at_once_are_served_up_to_the_limit(tmp_path: Path) -> None:
    """Only the clients above the limit are refused."""
    async with serving(tmp_path):
        places = await asyncio.gather(*(asyncio.open_unix_connection(tmp_path / NAME) for _ in range(MOST_CLIENTS + 8)))
        answers = await asyncio.gather(*(Client(*place).request(LINE) for place in places), return_exceptions=True)
        assert answers.count(YES) == MOST_CLIENTS
        for _, writer in places:
            writer.close()


async def test_the_number_of_clients_is_limited(tmp_path: Path) -> None:
    """A further client is refused with the reason. After a client has closed, another client is served."""
    async with serving(tmp_path):
        places = [await asyncio.open_unix_connection(tmp_path / NAME) for _ in range(MOST_CLIENTS)]
        first = Client(*places[0])
        assert await first.request(LINE) == YES
        async with client(tmp_path) as late:
            answer = await late.receive()
            assert answer is not None
            assert f"{MOST_CLIENTS} clients" in answer.detail
            assert await late.receive() is None
        for _, writer in places[1:]:
            writer.close()
            await writer.wait_closed()
        await first.request(LINE)
        async with client(tmp_path) as late:
            assert await late.request(LINE) == YES
        places[0][1].close()


async def test_the_request_of_a_closed_client_is_executed(tmp_path: Path) -> None:
    """A request is executed even if its answer cannot be sent."""
    asked, hold, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slowly(request: AnyRequest) -> Answer:
        asked.set()
        await hold.wait()
        done.set()
        return await yes(request)

    async with serving(tmp_path, slowly), client(tmp_path) as other:
        async with client(tmp_path) as gone:
            gone.writer.write(LINE)
            await asked.wait()
        hold.set()
        assert await other.request(LINE) == YES
        assert done.is_set()


async def test_at_the_end_due_answers_are_sent_and_no_line_is_read(tmp_path: Path) -> None:
    """Then every connection is closed, and no client can connect."""
    asked, hold = asyncio.Event(), asyncio.Event()

    async def slowly(request: AnyRequest) -> Answer:
        asked.set()
        await hold.wait()
        return await yes(request)

    with listening(tmp_path) as listener:
        server = CommandServer(slowly)
        run = asyncio.create_task(server.run(listener))
        async with client(tmp_path) as idle, client(tmp_path) as busy:
            busy.writer.write(LINE + LINE)
            await asked.wait()
            server.stopping.set()
            assert await idle.receive() is None
            hold.set()
            assert await busy.receive() == YES
            assert await busy.receive() is None
        async with asyncio.timeout(PATIENCE_S):
            await run
        with pytest.raises((ConnectionRefusedError, FileNotFoundError)):  # 3.13 removes the socket
            await asyncio.open_unix_connection(tmp_path / NAME)


async def test_it_may_be_cancelled_at_every_await(tmp_path: Path) -> None:
    """Each repetition cancels one turn of the loop later, with two clients; nothing stays open."""

    async def live() -> None:
        async with serving(tmp_path), client(tmp_path) as one, client(tmp_path) as other:
            assert await one.request(LINE) == YES
            assert await other.request(LINE + LINE) == YES

    await live()
    before = left_open()
    turns, complete = 0, False
    while not complete:
        task = asyncio.create_task(live())
        for _ in range(turns):
            await asyncio.sleep(0)
        complete = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)  # a transport closes its socket one turn later
        assert left_open() == before
        turns += 1
    assert turns > 10


# --- the client


def test_without_a_daemon_the_error_has_the_remedy(tmp_path: Path) -> None:
    """The socket has no listener, or the socket or the directory is absent."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / NAME))
    (tmp_path / "empty").mkdir()
    for place in (tmp_path, tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(TellError, match=f"{place}: shoed does not run in this state directory .*; start shoed"):
            send_command(place, EXAMPLE)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(b"", "ended before it answered"), (b'{"id"', "ended before it answered"), (None, "no answer within")],
)
def test_a_lost_answer_can_be_requested_again(tmp_path: Path, answer: bytes | None, error: str) -> None:
    """The daemon ends before its answer or within it, or does not answer. The error has the id for a repetition."""
    with listening(tmp_path) as listener:

        def once() -> None:
            line, _ = listener.accept()
            with closing(line):
                line.recv(LONGEST)
                if answer is None:
                    line.recv(LONGEST)  # until the client has closed
                else:
                    line.sendall(answer)

        serve = threading.Thread(target=once)
        serve.start()
        with pytest.raises(TellError, match=f"{error}.*--id {EXAMPLE.input.id}"):
            send_command(tmp_path, EXAMPLE, PATIENCE_S if answer is not None else 0.1)
        serve.join(PATIENCE_S)
