"""The socket for commands: who may open it, what it bears, and how its clients are kept from each other."""

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

from shoed.commands import Answer
from shoed.errors import TellError
from shoed.ports import tell
from shoed.ports.tell import LONGEST, MOST_CLIENTS, NAME, Counter, ask, listening
from shoed.telling import EXAMPLE, Request, Save, line_of
from tests.brokers import left_open
from tests.tellers import PATIENCE_S, Client, client

LINE: Final = line_of(EXAMPLE)
YES: Final = Answer(EXAMPLE.told.id, accepted=True)

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")


async def yes(request: Request | Save) -> Answer:
    assert isinstance(request, Request)
    return Answer(request.told.id, accepted=True)


@asynccontextmanager
async def serving(place: Path, answer: Callable[[Request | Save], Awaitable[Answer]] = yes) -> AsyncIterator[Counter]:
    """A counter that leaves in good order when the test is through."""
    with listening(place) as door:
        counter = Counter(answer)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(counter.run(door))
            try:
                yield counter
            finally:
                counter.leaving.set()


# --- the file


def test_only_its_user_can_open_it(tmp_path: Path) -> None:
    """0600 from the first moment on, whatever the mask is; it is gone when nobody listens any more."""
    mask = os.umask(0)
    try:
        with listening(tmp_path):
            found = (tmp_path / NAME).stat()
            assert stat.S_ISSOCK(found.st_mode)
            assert stat.S_IMODE(found.st_mode) == 0o600
    finally:
        os.umask(mask)
    assert list(tmp_path.iterdir()) == []


async def test_what_a_dead_daemon_left_is_replaced(tmp_path: Path) -> None:
    """A socket that nobody listens on, or a file of that name."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / NAME))
    async with serving(tmp_path), client(tmp_path) as someone:
        assert await someone.say(LINE) == YES
    (tmp_path / NAME).write_text("a file")
    async with serving(tmp_path), client(tmp_path) as someone:
        assert await someone.say(LINE) == YES


def test_a_directory_in_its_place_is_said(tmp_path: Path) -> None:
    """It is not removed: somebody put it there."""
    (tmp_path / NAME).mkdir()
    with pytest.raises(TellError, match=f"{tmp_path / NAME}: .*move away what is there"), listening(tmp_path):
        pass
    assert (tmp_path / NAME).is_dir()


async def test_a_directory_may_have_a_long_name(tmp_path: Path) -> None:
    """Longer than the 107 bytes that a socket's address holds, on both ends."""
    place = tmp_path / ("d" * 120) / ("e" * 120)
    place.mkdir(parents=True)
    async with serving(place):
        assert await asyncio.to_thread(ask, place, EXAMPLE) == YES


# --- lines


async def test_one_line_gives_one_line_and_the_connection_stays(tmp_path: Path) -> None:
    """After a refusal too, and whether lines come in pieces or together."""
    async with serving(tmp_path), client(tmp_path) as someone:
        for line in (b"{\n", b"\n", b"\xff\xfe\n", b"[" * 2000 + b"\n", b'{"id": "5"}\n'):
            answer = await someone.say(line)
            assert answer is not None
            assert (answer.accepted, bool(answer.detail)) == (False, True)
        someone.writer.write(LINE[:10])
        await someone.writer.drain()
        assert await someone.say(LINE[10:] + LINE + LINE[:5]) == YES
        assert await someone.hear() == YES
        assert await someone.say(LINE[5:]) == YES


async def test_a_line_may_have_so_many_bytes_and_no_more(tmp_path: Path) -> None:
    """One too long is refused, and ends the connection: where the next one begins is anybody's guess."""
    async with serving(tmp_path), client(tmp_path) as someone:
        assert await someone.say(LINE[:-1] + b" " * (LONGEST - len(LINE)) + b"\n") == YES
        answer = await someone.say(b" " * (2 * LONGEST) + LINE)
        assert answer is not None
        assert str(LONGEST) in answer.detail
        assert await someone.hear() is None


async def test_half_a_line_asks_for_nothing(tmp_path: Path) -> None:
    """Whoever wrote it is gone, even if what there is would make sense."""
    taken = []

    async def take(request: Request | Save) -> Answer:
        taken.append(request)
        return await yes(request)

    async with serving(tmp_path, take), client(tmp_path) as someone:
        assert await someone.say(LINE) == YES
        someone.writer.write(LINE[:-1])
        someone.writer.write_eof()
        assert await someone.hear() is None
    assert len(taken) == 1


# --- clients


async def test_one_who_waits_holds_up_nobody_but_himself(tmp_path: Path) -> None:
    """His second line is read after his first was answered; another client is served meanwhile."""
    hold = asyncio.Event()
    taken: list[str] = []

    async def slowly(request: Request | Save) -> Answer:
        assert isinstance(request, Request)
        taken.append(request.told.id)
        if request.told.id == EXAMPLE.told.id:
            await hold.wait()
        return await yes(request)

    async with serving(tmp_path, slowly), client(tmp_path) as one, client(tmp_path) as other:
        one.writer.write(LINE + LINE.replace(b"7f3a", b"1000"))
        assert await other.say(LINE.replace(b"7f3a", b"2000")) == Answer("2000", accepted=True)
        assert await other.say(LINE.replace(b"7f3a", b"2001")) == Answer("2001", accepted=True)
        assert "1000" not in taken
        hold.set()
        assert await one.hear() == YES
        assert await one.hear() == Answer("1000", accepted=True)


async def test_one_who_never_listens_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """His answers fill the line, and then a time limit passes; others never notice."""
    monkeypatch.setattr(tell, "WRITE_S", 0.2)
    async with serving(tmp_path) as counter, client(tmp_path) as deaf, client(tmp_path) as other:
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a reading transport as well
        deaf.writer.write(LINE * 20_000)

        async def go_on() -> None:
            while True:
                await deaf.writer.drain()
                assert await other.say(LINE) == YES

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(go_on(), PATIENCE_S)
        assert len(counter.clients) == 1


async def test_of_a_burst_as_many_are_served_as_there_is_room(tmp_path: Path) -> None:
    """Those who come with the last place are refused, and nobody before them."""
    async with serving(tmp_path):
        places = await asyncio.gather(*(asyncio.open_unix_connection(tmp_path / NAME) for _ in range(MOST_CLIENTS + 8)))
        answers = await asyncio.gather(*(Client(*place).say(LINE) for place in places), return_exceptions=True)
        assert answers.count(YES) == MOST_CLIENTS
        for _, writer in places:
            writer.close()


async def test_there_is_room_for_so_many(tmp_path: Path) -> None:
    """One more is told so; when somebody leaves there is room again."""
    async with serving(tmp_path):
        places = [await asyncio.open_unix_connection(tmp_path / NAME) for _ in range(MOST_CLIENTS)]
        first = Client(*places[0])
        assert await first.say(LINE) == YES
        async with client(tmp_path) as late:
            answer = await late.hear()
            assert answer is not None
            assert f"{MOST_CLIENTS} clients" in answer.detail
            assert await late.hear() is None
        for _, writer in places[1:]:
            writer.close()
            await writer.wait_closed()
        await first.say(LINE)
        async with client(tmp_path) as late:
            assert await late.say(LINE) == YES
        places[0][1].close()


async def test_one_who_goes_away_is_served_to_the_end(tmp_path: Path) -> None:
    """What he asked for is done; that nobody hears the answer does not matter."""
    asked, hold, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slowly(request: Request | Save) -> Answer:
        asked.set()
        await hold.wait()
        done.set()
        return await yes(request)

    async with serving(tmp_path, slowly), client(tmp_path) as other:
        async with client(tmp_path) as gone:
            gone.writer.write(LINE)
            await asked.wait()
        hold.set()
        assert await other.say(LINE) == YES
        assert done.is_set()


async def test_leaving_lets_answers_out_and_takes_no_further_line(tmp_path: Path) -> None:
    """Whoever waits gets his answer; then every connection ends, and nobody comes in."""
    asked, hold = asyncio.Event(), asyncio.Event()

    async def slowly(request: Request | Save) -> Answer:
        asked.set()
        await hold.wait()
        return await yes(request)

    with listening(tmp_path) as door:
        counter = Counter(slowly)
        run = asyncio.create_task(counter.run(door))
        async with client(tmp_path) as idle, client(tmp_path) as busy:
            busy.writer.write(LINE + LINE)
            await asked.wait()
            counter.leaving.set()
            assert await idle.hear() is None
            hold.set()
            assert await busy.hear() == YES
            assert await busy.hear() is None
        async with asyncio.timeout(PATIENCE_S):
            await run
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(tmp_path / NAME)


async def test_it_may_be_cancelled_anywhere(tmp_path: Path) -> None:
    """Some turns of the loop later each time, with two clients at work: nothing stays open."""

    async def live() -> None:
        async with serving(tmp_path), client(tmp_path) as one, client(tmp_path) as other:
            assert await one.say(LINE) == YES
            assert await other.say(LINE + LINE) == YES

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
        await asyncio.sleep(0)  # a transport closes its socket a turn later
        assert left_open() == before
        turns += 1
    assert turns > 10


# --- the other end


def test_without_a_daemon_it_says_what_to_do(tmp_path: Path) -> None:
    """No socket, a socket that nobody listens on, or no such directory."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / NAME))
    (tmp_path / "empty").mkdir()
    for place in (tmp_path, tmp_path / "empty", tmp_path / "none"):
        with pytest.raises(TellError, match=f"{place}: no shoed is there to be told .*; start it"):
            ask(place, EXAMPLE)


@pytest.mark.parametrize(
    ("answer", "said"),
    [(b"", "ended before it answered"), (b'{"id"', "ended before it answered"), (None, "no answer within")],
)
def test_an_answer_that_is_lost_may_be_asked_for_again(tmp_path: Path, answer: bytes | None, said: str) -> None:
    """The daemon died, in the middle of its answer or before it, or does not say anything: the id is the way back."""
    with listening(tmp_path) as door:

        def once() -> None:
            line, _ = door.accept()
            with closing(line):
                line.recv(LONGEST)
                if answer is None:
                    line.recv(LONGEST)  # until the other end has given up
                else:
                    line.sendall(answer)

        serve = threading.Thread(target=once)
        serve.start()
        with pytest.raises(TellError, match=f"{said}.*--id {EXAMPLE.told.id}"):
            ask(tmp_path, EXAMPLE, PATIENCE_S if answer is not None else 0.1)
        serve.join(PATIENCE_S)
