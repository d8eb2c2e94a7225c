"""Commands, from a terminal to the record and back, through a real daemon that is stopped, killed and starved."""

import asyncio
import re
import resource
import shlex
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random as Dice
from typing import Final

import msgspec
import pytest

from shoed.commands import Answer
from shoed.ports.tell import NAME
from tests.foreign_shoe import NATURAL, TcpShoe
from tests.tellers import Client, Said, client, line, shoed, told
from tests.witnesses import TABLE
from tests.world import Daemon, World

PAGE: Final = (Path(__file__).resolve().parent.parent / "docs" / "commands.md").read_text()
KILLS: Final = 12
REFUSED: Final = ("decide", "question=none", "choice=void")  # no such question is open


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def tell(world: World, *words: str) -> Said:
    return await shoed("tell", "--state-dir", world.state_dir, *words)


async def fence(world: World) -> None:
    """What was sent before has been read: another client was answered since."""
    async with client(world.state_dir) as another:
        answer = await another.say(line("fence", table="none"))
        assert answer is not None
        assert "no such table; known: bac-901" in answer.detail


def recorded(world: World, sender: str) -> list[Answer]:
    """The answers on record under an id."""
    answers = [answer for _, came, answers in told(world.journal) if came["id"] == sender for answer in answers]
    return msgspec.convert(answers, list[Answer])


# ---------------------------------------------------------------------------------------------- shoed tell


async def test_what_is_told_is_on_record_with_its_answer(world: World, shoe: TcpShoe) -> None:
    """In its order among the cards; the answer is a status, and words where there are any."""
    await world.serve(shoe)
    await shoe.connected()
    said = await tell(world, TABLE, "open-bets", "--role", "dealer", "--author", "ann", "--id", "7f3a")
    assert said == Said(0, "", "")
    await shoe.say(NATURAL[0])
    await world.recorder.event("card.drawn")
    said = await tell(world, TABLE, *REFUSED, "--role=pit-supervisor", "--author=bob")
    assert (said.status, said.out) == (1, "")
    (first, opening, (yes,)), (second, decision, (no,)) = told(world.journal)
    assert opening["command"] == {"command": "open-bets"}
    assert opening["author"] == {"name": "ann", "role": "dealer"}
    assert yes == {"id": "7f3a", "accepted": True, "detail": ""}
    assert decision["command"] == {"command": "decide", "question": "none", "choice": "void"}
    assert decision["author"] == {"name": "bob", "role": "pit-supervisor"}
    assert no["detail"] == said.err.strip() != ""
    drawn = next(row.row for row in world.journal.events() if row.type == "card.drawn")
    assert first < drawn < second


async def test_programs_get_the_answer_as_json(world: World, shoe: TcpShoe) -> None:
    """On stdout, accepted or not, with the same status."""
    await world.start(shoe)
    said = await tell(world, "--json", TABLE, "open-bets", "--id=1", "--role=dealer")
    assert (said.status, said.err) == (0, "")
    assert msgspec.json.decode(said.out) == {"id": "1", "accepted": True, "detail": ""}
    said = await tell(world, TABLE, REFUSED[0], "--json", *REFUSED[1:], "--id=2")
    assert (said.status, said.err) == (1, "")
    answer = msgspec.json.decode(said.out)
    assert (answer["id"], answer["accepted"]) == ("2", False)
    assert answer["detail"]


async def test_the_configuration_says_where(world: World, shoe: TcpShoe) -> None:
    """The file that the daemon runs with; without an author it is whoever sits there."""
    await world.start(shoe)
    assert (await shoed("tell", "--config", world.place / "c.toml", TABLE, "open-bets", "--role=dealer")).status == 0
    assert told(world.journal)[0][1]["author"]["name"]


async def test_a_table_that_is_not_there_is_refused_with_those_that_are(world: World, shoe: TcpShoe) -> None:
    """By the daemon, which knows."""
    await world.start(shoe)
    said = await tell(world, "bac-999", "open-bets", "--role=dealer")
    assert (said.status, said.err) == (1, "bac-999: no such table; known: bac-901\n")


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
    """No daemon is even looked for."""
    said = await shoed("tell", *words.split())
    assert (said.status, said.out) == (2, "")
    assert wanted in said.err


async def test_help_is_there_without_a_daemon() -> None:
    """Of all commands, and of one."""
    said = await shoed("tell", "--help")
    assert (said.status, said.err) == (0, "")
    assert "foreign-card" in said.out
    said = await shoed("tell", TABLE, "correct", "-h")
    assert (said.status, said.err) == (0, "")
    assert "index=" in said.out


async def test_without_a_daemon_it_says_so(tmp_path: Path) -> None:
    """And what to do: exit status 1."""
    said = await shoed("tell", "--state-dir", tmp_path, TABLE, "open-bets", "--role=dealer")
    assert (said.status, said.out) == (1, "")
    assert f"{tmp_path}: no shoed is there to be told" in said.err
    assert "start it" in said.err


async def test_the_page_shows_what_runs(world: World, shoe: TcpShoe) -> None:
    """Every command line of it is understood and gets to the table, and so does its line for the socket."""
    await world.start(shoe)
    lines = re.findall(r"^\$ shoed tell (.*)$", PAGE, re.MULTILINE)
    for words in lines:
        assert (await tell(world, *shlex.split(words))).status in (0, 1)
    request, answer = re.findall(r"```json\n(.*?\n)```", PAGE, re.DOTALL)
    async with client(world.state_dir) as someone:
        said = await someone.say(request.encode())
    assert said is not None
    assert said.id == msgspec.json.decode(answer, type=Answer).id
    assert len(told(world.journal)) == len(lines) + 1 > 1


# ---------------------------------------------------------------------------------------------- the socket


async def test_the_socket_is_for_its_user_alone_and_ends_with_the_daemon(world: World, shoe: TcpShoe) -> None:
    """Gone after a stop; left behind by a kill, and replaced by the next daemon."""
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
    """Longer than a socket's address."""
    world.state_dir = world.place / ("d" * 108)
    await world.start(shoe)
    assert (await tell(world, TABLE, "open-bets", "--role=dealer")).status == 0


async def test_a_second_daemon_leaves_the_socket_alone(world: World, shoe: TcpShoe) -> None:
    """It has not got the lock: the first one is told as before."""
    await world.start(shoe)
    second = await world.launch(world.configure(shoe))
    assert await second.ended() == 1
    assert (await tell(world, TABLE, "open-bets", "--role=dealer")).status == 0


# ---------------------------------------------------------------------------------------------- commit before answer


async def test_an_answer_waits_for_its_commit(world: World, shoe: TcpShoe) -> None:
    """While the record is somebody else's nobody is told; a table that is not concerned answers."""
    await world.start(shoe)
    async with client(world.state_dir) as someone:
        with world.journal.locked():
            hearing = asyncio.ensure_future(someone.say(line("1")))
            await fence(world)
            assert not hearing.done()
            assert told(world.journal) == []
        answer = await hearing
        assert answer is not None
        assert answer.accepted
        assert recorded(world, "1") == [answer]


async def test_a_stop_lets_the_answer_out(world: World, shoe: TcpShoe) -> None:
    """What was taken is recorded and answered; then the daemon ends, with status 0."""
    daemon = await world.start(shoe)
    async with client(world.state_dir) as someone:
        with world.journal.locked():
            hearing = asyncio.ensure_future(someone.say(line("1")))
            await fence(world)
            ending = asyncio.ensure_future(daemon.stop())
            await daemon.until(lambda: "STOPPING=1" in daemon.told)
            assert not hearing.done()
        answer = await hearing
        assert answer is not None
        assert await someone.hear() is None
        assert await ending == 0
    assert recorded(world, "1") == [answer]


async def test_a_failed_journal_answers_so(world: World, shoe: TcpShoe) -> None:
    """The disk takes no more: the answers say it, none of those is on record, and the daemon ends with 1."""
    daemon = await world.start(shoe, port=1)  # no broker there: else an acknowledgement may be what cannot be recorded
    await daemon.looking(lambda: world.journal.count("device.online"))
    answers = await until_full(world, daemon)
    assert await daemon.ended() == 1
    failed = answers[-1]
    assert not failed.accepted
    assert "journal failed: " in failed.detail
    assert recorded(world, failed.id) == []
    assert all(recorded(world, answer.id) == [answer] for answer in answers[:-1])


async def until_full(world: World, daemon: Daemon) -> list[Answer]:
    """Tell until the last page of the log is full, for no file of the daemon's may grow any more."""
    size = max(path.stat().st_size for path in world.state_dir.iterdir())
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size, size))
    answers: list[Answer] = []
    async with client(world.state_dir) as someone:
        while not answers or "journal failed" not in answers[-1].detail:
            answer = await someone.say(line(str(len(answers))))
            assert answer is not None
            answers.append(answer)
    return answers


# ---------------------------------------------------------------------------------------------- the same id again


async def test_an_id_is_carried_out_once(world: World, shoe: TcpShoe) -> None:
    """Told again, at once or by two at a time or by the next daemon: one row on record, and every answer is its own."""
    daemon = await world.start(shoe)
    async with client(world.state_dir) as one, client(world.state_dir) as other:
        with world.journal.locked():
            hearing = [asyncio.ensure_future(each.say(line("1"))) for each in (one, other)]
            await fence(world)
            assert not any(each.done() for each in hearing)
        answers = [await each for each in hearing]
        answers.append(await other.say(line("1")))
    assert await daemon.stop() == 0
    await world.start(shoe)
    async with client(world.state_dir) as someone:
        answers.append(await someone.say(line("1")))
    assert len(told(world.journal)) == 1
    assert answers == recorded(world, "1") * 4


async def test_an_id_belongs_to_one_command(world: World, shoe: TcpShoe) -> None:
    """With another one it is refused, before the first is committed and after; another table has ids of its own."""
    async with TcpShoe() as second:
        await world.start(shoe, second)
        async with client(world.state_dir) as one, client(world.state_dir) as other:
            with world.journal.locked():
                hearing = asyncio.ensure_future(one.say(line("1")))
                await fence(world)
                early = await other.say(line("1", "close-bets"))
            assert await hearing is not None
            late = await other.say(line("1", "close-bets"))
            assert early == late == Answer("1", accepted=False, detail="another command had this id; give each its own")
            assert await other.say(line("1", table="bac-902")) == Answer("1", accepted=True)
        assert len(told(world.journal)) == len(told(world.journal, "bac-902")) == 1


@pytest.mark.parametrize("seed", range(2))
async def test_a_kill_between_request_and_answer_leaves_all_or_nothing(world: World, shoe: TcpShoe, seed: int) -> None:
    """It is on record with its answer or not at all; asked again it is there once, and the answer is that one."""
    dice = Dice(seed)
    places = [before_the_commit, after_the_commit, anywhere] * (KILLS // 3)
    daemon = await world.start(shoe)
    for number, place in enumerate(places):
        sender = str(number)
        async with client(world.state_dir) as someone:
            heard = await place(world, daemon, someone, sender, dice)
        found = recorded(world, sender)
        if heard is not None:
            assert found == [heard]
        daemon = await world.start(shoe)
        async with client(world.state_dir) as someone:
            again = await someone.say(line(sender))
        assert recorded(world, sender) == [again]
        if found:
            assert found == [again]


async def before_the_commit(world: World, daemon: Daemon, someone: Client, sender: str, _: Dice) -> Answer | None:
    with world.journal.locked():
        someone.writer.write(line(sender))
        await fence(world)
        await daemon.kill()
    assert recorded(world, sender) == []
    return await someone.hear()


async def after_the_commit(world: World, daemon: Daemon, someone: Client, sender: str, _: Dice) -> Answer | None:
    someone.writer.write(line(sender))
    await daemon.looking(lambda: recorded(world, sender))
    await daemon.kill()
    return await someone.hear()


async def anywhere(_: World, daemon: Daemon, someone: Client, sender: str, dice: Dice) -> Answer | None:
    someone.writer.write(line(sender))
    for __ in range(dice.randrange(200)):
        await asyncio.sleep(0)
    await daemon.kill()
    return await someone.hear()
