"""Commands through a real daemon: `shoed tell`, the socket, the journal, and the answer."""

import asyncio
import re
import shlex
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random as Dice
from typing import Final

import msgspec
import pytest

from shoed.model.commands import Answer
from shoed.model.requests import StatusRequest, json_line
from shoed.service.command_socket import NAME
from tests.command_clients import Client, Finished, client, line, recorded_commands, shoed
from tests.foreign_shoe import NATURAL, TcpShoe
from tests.patience import PATIENCE_S
from tests.witnesses import TABLE
from tests.world import Daemon, World

PAGE: Final = (Path(__file__).resolve().parent.parent / "docs" / "commands.md").read_text()
KILLS: Final = 12
REFUSED: Final = ("decide", "question=none", "choice=void")  # there is no question of this id


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def tell(world: World, *words: str) -> Finished:
    return await shoed("tell", "--state-dir", world.state_dir, *words)


async def fence(world: World) -> None:
    """Return when the daemon has read everything: it has answered another client."""
    async with client(world.state_dir) as another:
        answer = await another.request(line("fence", table="none"))
        assert answer is not None
        assert "no such table; known: bac-901" in answer.detail


def recorded(world: World, request_id: str) -> list[Answer]:
    """The recorded answers with an id."""
    answers = [
        answer
        for _, entry, answers in recorded_commands(world.journal)
        if entry["id"] == request_id
        for answer in answers
    ]
    return msgspec.convert(answers, list[Answer])


# ---------------------------------------------------------------------------------------------- shoed tell


async def test_a_command_is_recorded_with_its_answer(world: World, shoe: TcpShoe) -> None:
    """It is recorded in its order among the cards. The exit status is the answer; a refusal has a reason."""
    await world.serve(shoe)
    done = await tell(world, TABLE, "open-bets", "--role", "dealer", "--author", "ann", "--id", "7f3a")
    assert done == Finished(0, "bac-901: bets are open\n", "")
    await shoe.say(NATURAL[0])
    await world.recorder.event("card.drawn")
    done = await tell(world, TABLE, *REFUSED, "--role=pit-supervisor", "--author=bob")
    assert (done.status, done.out) == (1, "")
    (first, opening, (yes,)), (second, decision, (no,)) = recorded_commands(world.journal)
    assert opening["command"] == {"command": "open-bets"}
    assert opening["author"] == {"name": "ann", "role": "dealer"}
    assert yes == {"id": "7f3a", "accepted": True, "detail": ""}
    assert decision["command"] == {"command": "decide", "question": "none", "choice": "void"}
    assert decision["author"] == {"name": "bob", "role": "pit-supervisor"}
    assert no["detail"] == done.err.strip() != ""
    drawn = next(row.row for row in world.journal.events() if row.type == "card.drawn")
    assert first < drawn < second


async def test_programs_get_the_answer_as_json(world: World, shoe: TcpShoe) -> None:
    """It is on stdout if accepted or refused; the exit status is the same as without --json."""
    await world.start(shoe)
    done = await tell(world, "--json", TABLE, "open-bets", "--id=1", "--role=dealer")
    assert (done.status, done.err) == (0, "")
    assert msgspec.json.decode(done.out) == {"id": "1", "accepted": True, "detail": ""}
    done = await tell(world, TABLE, REFUSED[0], "--json", *REFUSED[1:], "--id=2")
    assert (done.status, done.err) == (1, "")
    answer = msgspec.json.decode(done.out)
    assert (answer["id"], answer["accepted"]) == ("2", False)
    assert answer["detail"]


async def test_the_configuration_names_the_state_directory(world: World, shoe: TcpShoe) -> None:
    """Without --author, the author is the login name."""
    await world.start(shoe)
    assert (await shoed("tell", "--config", world.place / "c.toml", TABLE, "open-bets", "--role=dealer")).status == 0
    assert recorded_commands(world.journal)[0][1]["author"]["name"]


async def test_an_unknown_table_is_refused_with_the_known_tables(world: World, shoe: TcpShoe) -> None:
    """The daemon refuses the command."""
    await world.start(shoe)
    done = await tell(world, "bac-999", "open-bets", "--role=dealer")
    assert (done.status, done.err) == (1, "bac-999: no such table; known: bac-901\n")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("", "shoed tell --help"),
        (TABLE, "shoed tell --help"),
        (f"{TABLE} opn-bets", "did you mean open-bets?"),
        (f"{TABLE} open-bets --rolle=dealer", "--rolle=dealer: no such option"),
        (f"{TABLE} open-bets --role=king", "give one of dealer, "),
        (f"{TABLE} open-bets", "give --role, one of dealer, "),
        (f"{TABLE} void round=none", "give a whole number"),
        (f"{TABLE} open-bets --config x --state-dir y", "not allowed with"),
    ],
)
async def test_wrong_use_is_status_2_and_nothing_is_sent(words: str, wanted: str) -> None:
    """The error does not depend on a daemon."""
    done = await shoed("tell", *words.split())
    assert (done.status, done.out) == (2, "")
    assert wanted in done.err


async def test_help_requires_no_daemon() -> None:
    """There is a help on all commands, and a help on one command."""
    done = await shoed("tell", "--help")
    assert (done.status, done.err) == (0, "")
    assert "foreign-card" in done.out
    done = await shoed("tell", TABLE, "correct", "-h")
    assert (done.status, done.err) == (0, "")
    assert "index=" in done.out


async def test_without_a_daemon_it_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    """The exit status is 3."""
    done = await shoed("tell", "--state-dir", tmp_path, TABLE, "open-bets", "--role=dealer")
    assert (done.status, done.out) == (3, "")
    assert f"{tmp_path}: shoed does not run in this state directory" in done.err
    assert "start shoed" in done.err


async def test_the_examples_of_the_page_are_valid(world: World, shoe: TcpShoe) -> None:
    """Every command line of docs/commands.md, and its line for the socket, reaches the table."""
    await world.start(shoe)
    lines = re.findall(r"^\$ shoed tell (.*)$", PAGE, re.MULTILINE)
    for words in lines:
        assert (await tell(world, *shlex.split(words))).status in (0, 1)
    request, answer = re.findall(r"```json\n(.*?\n)```", PAGE, re.DOTALL)
    async with client(world.state_dir) as one_client:
        received = await one_client.request(request.encode())
    assert received is not None
    assert received.id == msgspec.json.decode(answer, type=Answer).id
    assert len(recorded_commands(world.journal)) == len(lines) + 1 > 1


# ---------------------------------------------------------------------------------------------- the socket


async def test_only_the_user_of_the_daemon_can_open_the_socket(world: World, shoe: TcpShoe) -> None:
    """A stop removes the socket. After a kill the socket remains, and the next daemon replaces it."""
    daemon = await world.start(shoe)
    place = world.state_dir / NAME
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.state_dir.stat().st_mode) == 0o700
    await daemon.kill()
    assert place.is_socket()
    daemon = await world.start(shoe)
    assert (await tell(world, TABLE, "open-bets", "--role=dealer")).status == 0
    assert await daemon.stop() == 0
    assert not place.exists()


async def test_the_state_directory_may_have_a_long_name(world: World, shoe: TcpShoe) -> None:
    """The name is longer than a socket address."""
    world.state_dir = world.place / ("d" * 108)
    await world.start(shoe)
    assert (await tell(world, TABLE, "open-bets", "--role=dealer")).status == 0


async def test_a_second_daemon_does_not_replace_the_socket(world: World, shoe: TcpShoe) -> None:
    """The second daemon does not get the lock, and the first daemon still executes commands."""
    await world.start(shoe)
    second = await world.launch(world.configure(shoe))
    assert await second.ended() == 1
    assert (await tell(world, TABLE, "open-bets", "--role=dealer")).status == 0


# ---------------------------------------------------------------------------------------------- commit before answer


async def test_an_answer_waits_for_its_commit(world: World, shoe: TcpShoe) -> None:
    """While another process locks the journal, no answer is sent; an unknown table is refused at once."""
    await world.start(shoe)
    async with client(world.state_dir) as one_client:
        with world.journal.locked():
            pending = asyncio.ensure_future(one_client.request(line("1")))
            await fence(world)
            assert not pending.done()
            assert recorded_commands(world.journal) == []
        answer = await pending
        assert answer is not None
        assert answer.accepted
        assert recorded(world, "1") == [answer]


async def taken(world: World) -> None:
    """Wait until a Step waits for its commit."""
    async with client(world.state_dir) as one_client:
        waiting = 0
        while not waiting:
            one_client.writer.write(json_line(StatusRequest("s", None)))
            async with asyncio.timeout(PATIENCE_S):
                waiting = msgspec.json.decode(await one_client.reader.readline())["journal"]["waiting"]


async def test_a_stop_sends_the_due_answer(world: World, shoe: TcpShoe) -> None:
    """A taken command is recorded and answered; then the daemon ends with status 0."""
    daemon = await world.start(shoe)
    await world.recorder.event("device.online")
    async with client(world.state_dir) as one_client:
        with world.journal.locked():
            pending = asyncio.ensure_future(one_client.request(line("1")))
            await taken(world)
            ending = asyncio.ensure_future(daemon.stop())
            await daemon.until(lambda: "STOPPING=1" in daemon.notified)
            assert not pending.done()
        answer = await pending
        assert answer is not None
        assert await one_client.receive() is None
        assert await ending == 0
    assert recorded(world, "1") == [answer]


async def test_after_a_journal_failure_commands_are_refused(world: World, shoe: TcpShoe) -> None:
    """The disk is full: the refusal has the reason and is not on record. A stop of the daemon has status 1."""
    daemon = await world.start(shoe, port=1)  # without a broker, whose acknowledgements are recorded, too
    await daemon.looking(lambda: world.journal.count("device.online"))
    answers = await until_full(world, daemon)
    assert await daemon.stop() == 1
    failed = answers[-1]
    assert not failed.accepted
    assert "journal failed: " in failed.detail
    assert recorded(world, failed.id) == []
    assert all(recorded(world, answer.id) == [answer] for answer in answers[:-1])


async def until_full(world: World, daemon: Daemon) -> list[Answer]:
    """Send commands until the write-ahead log is full."""
    world.fill_disk(daemon)
    answers: list[Answer] = []
    async with client(world.state_dir) as one_client:
        while not answers or "journal failed" not in answers[-1].detail:
            answer = await one_client.request(line(str(len(answers))))
            assert answer is not None
            answers.append(answer)
    return answers


# ---------------------------------------------------------------------------------------------- the same id again


async def test_a_command_with_one_id_is_executed_once(world: World, shoe: TcpShoe) -> None:
    """Two clients, and the next daemon, get the recorded answer; there is one row."""
    daemon = await world.start(shoe)
    async with client(world.state_dir) as one, client(world.state_dir) as other:
        with world.journal.locked():
            pending = [asyncio.ensure_future(each.request(line("1"))) for each in (one, other)]
            await fence(world)
            assert not any(each.done() for each in pending)
        answers = [await each for each in pending]
        answers.append(await other.request(line("1")))
    assert await daemon.stop() == 0
    await world.start(shoe)
    async with client(world.state_dir) as one_client:
        answers.append(await one_client.request(line("1")))
    assert len(recorded_commands(world.journal)) == 1
    assert answers == recorded(world, "1") * 4


async def test_an_id_belongs_to_one_command(world: World, shoe: TcpShoe) -> None:
    """A different command with the id is refused, before and after the commit. Each table has its own ids."""
    async with TcpShoe() as second:
        await world.start(shoe, second)
        async with client(world.state_dir) as one, client(world.state_dir) as other:
            with world.journal.locked():
                pending = asyncio.ensure_future(one.request(line("1")))
                await fence(world)
                early = await other.request(line("1", "close-bets"))
            assert await pending is not None
            late = await other.request(line("1", "close-bets"))
            detail = "another command has this id; give each command its own id"
            assert early == late == Answer("1", accepted=False, detail=detail)
            assert await other.request(line("1", table="bac-902")) == Answer("1", accepted=True)
        assert len(recorded_commands(world.journal)) == len(recorded_commands(world.journal, "bac-902")) == 1


@pytest.mark.parametrize("seed", range(2))
async def test_a_kill_between_request_and_answer_leaves_all_or_nothing(world: World, shoe: TcpShoe, seed: int) -> None:
    """A command is recorded with its answer, or not at all. The repeated command gets this answer."""
    dice = Dice(seed)
    places = [before_the_commit, after_the_commit, anywhere] * (KILLS // 3)
    daemon = await world.start(shoe)
    for number, place in enumerate(places):
        request_id = str(number)
        async with client(world.state_dir) as one_client:
            received = await place(world, daemon, one_client, request_id, dice)
        found = recorded(world, request_id)
        if received is not None:
            assert found == [received]
        daemon = await world.start(shoe)
        async with client(world.state_dir) as one_client:
            again = await one_client.request(line(request_id))
        assert recorded(world, request_id) == [again]
        if found:
            assert found == [again]


async def before_the_commit(
    world: World, daemon: Daemon, one_client: Client, request_id: str, _: Dice
) -> Answer | None:
    with world.journal.locked():
        one_client.writer.write(line(request_id))
        await fence(world)
        await daemon.kill()
    assert recorded(world, request_id) == []
    return await one_client.receive()


async def after_the_commit(world: World, daemon: Daemon, one_client: Client, request_id: str, _: Dice) -> Answer | None:
    one_client.writer.write(line(request_id))
    await daemon.looking(lambda: recorded(world, request_id))
    await daemon.kill()
    return await one_client.receive()


async def anywhere(_: World, daemon: Daemon, one_client: Client, request_id: str, dice: Dice) -> Answer | None:
    one_client.writer.write(line(request_id))
    for __ in range(dice.randrange(200)):
        await asyncio.sleep(0)
    await daemon.kill()
    return await one_client.receive()
