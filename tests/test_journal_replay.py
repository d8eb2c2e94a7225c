"""The record folded again: it gives the same events byte for byte, and whoever doctored it is found."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.commands import Author, Decide
from shoed.engine import ENGINE, Engine, EngineState
from shoed.errors import JournalUnusable
from shoed.journal import Store, Writer
from shoed.journal.replay import Difference, decode_again, rebuild, rehearse
from shoed.journal.store import SCHEMAS, Reader
from shoed.now import Now
from shoed.observations import LinkOpened
from shoed.session import Heard, Session, SessionState
from shoed.session.families import DRIVERS
from shoed.step import AnyInput, Configured, LinkDown, LinkUp, Received, Told
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from shoed.words import Role
from tests.angel_eye_line import CONFIGURED, PORT, Came, at, card_report, traffic

FROZEN: Final = Path(__file__).resolve().parent / "data" / "journal-v1.sql"
PATIENCE_S: Final = 30


class Deaf:
    """A session of another family, which hears nothing but its link."""

    class State(SessionState, frozen=True):
        links: int = 0

    state_type = State

    def begin(self) -> State:
        return Deaf.State()

    def step(self, state: State, came: AnyInput, now: Now) -> tuple[State, Heard]:
        if isinstance(came, LinkUp):
            return Deaf.State(state.links + 1), Heard((LinkOpened(at=now, port=came.port),))
        return state, Heard()

    def wake_at(self, _: State) -> int | None:
        return None


def engine_for(settings: str) -> Engine[SessionState]:
    """The settings on record say the port, and whether the shoe is of the other family."""
    in_force = msgspec.json.decode(settings, type=dict[str, str])
    session: Session[SessionState] = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    if in_force.get("family") == "deaf":
        session = Deaf()  # type: ignore[assignment]  # as a Driver has it: a session reads its own state only
    return Engine(session, WatchSettings(250), TableSettings("commission", in_force.get("port", PORT)))


def in_force(**settings: str) -> Configured:
    return Configured(msgspec.json.encode(settings).decode(), ENGINE, "0.0")


async def record(folder: Path, came: Came, table: str = "t") -> tuple[Store, EngineState[SessionState]]:
    """Let a table hear all this, under the settings that it brings, and write it down; give what it left behind."""
    store = Store(folder)
    with closing(store.read()) as reader:
        before = rebuild(reader, table, engine_for)
    writer = Writer(store, ENGINE)
    engine = engine_for("{}")
    state = before or engine.begin()
    for each, now in came:
        if isinstance(each, Configured):
            engine = engine_for(each.settings)
            if not isinstance(state.session, engine.session.state_type):
                state = EngineState(state.row, engine.session.begin(), state.watch, state.table)
        state, step = engine.step(state, each, now)
        if step is not None:
            writer.submit(table, step, state, None)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    return store, state


def rehearsed(store: Store, table: str = "t") -> list[Difference]:
    with closing(store.read()) as reader:
        return list(rehearse(reader, table, engine_for))


def decoded(store: Store, table: str = "t") -> list[Difference]:
    with closing(store.read()) as reader:
        return list(decode_again(reader, table, engine_for))


def doctor(store: Store, statement: str) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


SHORT: Final[Came] = [
    (CONFIGURED, at(0)),
    (LinkUp(PORT), at(1)),
    (Received(card_report("1", "P1", "8S")), at(1000)),
    (Received(card_report("2", "B1", "3H")), at(2000)),
    (Received(card_report("3", "P2", "KS")), at(3000)),
    (Received(card_report("4", "B2", "4H")), at(4000)),
]


TOLD: Final = Told(Decide(question="none", choice="void"), Author("ann", Role.PIT_SUPERVISOR), "7f3a")


@pytest.mark.parametrize("seed", range(4))
async def test_the_record_gives_the_same_again(tmp_path: Path, seed: int) -> None:
    """Observations give the events, bytes give the observations, and both end in the state of the checkpoint."""
    store, state = await record(tmp_path, traffic(seed))
    assert rehearsed(store) == []
    assert decoded(store) == []
    with closing(store.read()) as reader:
        checkpoint = reader.checkpoint("t")
        again = rebuild(reader, "t", engine_for)
        assert again == state
        assert checkpoint is not None
        assert checkpoint.state == msgspec.json.encode(again).decode()


async def test_tables_are_rehearsed_by_themselves(tmp_path: Path) -> None:
    """One file, two tables, and each has its own record."""
    await record(tmp_path, traffic(1), "a")
    store, _ = await record(tmp_path, traffic(2), "b")
    assert rehearsed(store, "a") == rehearsed(store, "b") == []
    doctor(store, "UPDATE event SET utc_us = 1 WHERE table_name = 'a' AND sequence = 3")
    assert len(rehearsed(store, "a")) == 1
    assert rehearsed(store, "b") == []


async def test_a_table_that_was_never_served_has_nothing_to_rehearse(tmp_path: Path) -> None:
    """No record, no difference, and no state."""
    store, _ = await record(tmp_path, SHORT)
    assert rehearsed(store, "nobody") == decoded(store, "nobody") == []
    with closing(store.read()) as reader:
        assert rebuild(reader, "nobody", engine_for) is None


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE event SET data = replace(data, '3H', '4H') WHERE sequence = 4", 4),
        ("UPDATE event SET utc_us = utc_us + 1 WHERE sequence = 4", 4),
        ("UPDATE event SET type = 'card.set-aside' WHERE sequence = 4", 4),
        ("UPDATE event SET row = 5 WHERE sequence = 4", 4),
        ("DELETE FROM event WHERE sequence = 4", 4),
        ("DELETE FROM event WHERE sequence = 7", 6),
        ("INSERT INTO event SELECT table_name, 8, 6, type, utc_us, data FROM event WHERE sequence = 7", 6),
        ("UPDATE step SET observations = replace(observations, '3H', '4H') WHERE row = 4", 4),
        ("UPDATE step SET observations = '[]' WHERE row = 4", 4),
        ("UPDATE step SET findings = '[{}]' WHERE row = 4", 4),
        ("UPDATE step SET answers = replace(answers, 'false', 'true') WHERE row = 7", 7),
        ("UPDATE step SET answers = '[]' WHERE row = 7", 7),
        ("DELETE FROM step WHERE row = 4", 4),
    ],
)
async def test_a_doctored_record_is_found_by_its_row(tmp_path: Path, statement: str, row: int) -> None:
    """Whatever was changed, taken out or put in: the first row that does not come out names it, both ways told."""
    store, _ = await record(tmp_path, [*SHORT, (TOLD, at(5000))])
    assert rehearsed(store) == []
    doctor(store, statement)
    found = rehearsed(store)
    assert found
    assert found[0].row == row
    assert found[0].recorded != found[0].again


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM step WHERE row = 6",
        "INSERT INTO event SELECT table_name, 8, 99, type, utc_us, data FROM event WHERE sequence = 7",
    ],
)
async def test_an_event_without_its_step_is_found(tmp_path: Path, statement: str) -> None:
    """At the end of the record too: nothing was told to the world that the record does not account for."""
    store, _ = await record(tmp_path, SHORT)
    doctor(store, statement)
    assert rehearsed(store) != []


async def test_a_step_that_told_nothing_cannot_be_taken_out_unseen(tmp_path: Path) -> None:
    """A copy changes nothing for anybody, but its row is missing."""
    copy = SHORT[-1][0]
    store, _ = await record(tmp_path, [*SHORT, (copy, at(4017)), (copy, at(4034))])
    doctor(store, "DELETE FROM step WHERE row = 7")
    assert [difference.row for difference in rehearsed(store)] == [7]


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE step SET bytes = x'05314481b8033446' WHERE row = 4", 4),
        ("UPDATE step SET bytes = x'00' WHERE row = 4", 4),
        ("UPDATE step SET observations = replace(observations, '3H', '4H') WHERE row = 4", 4),
        ("UPDATE step SET utc_us = utc_us + 1 WHERE row = 4", 4),
        ("DELETE FROM step WHERE row = 2", 3),
    ],
)
async def test_bytes_that_say_something_else_are_found(tmp_path: Path, statement: str, row: int) -> None:
    """The second check shares nothing with the first but the record: the bytes are decoded again."""
    store, _ = await record(tmp_path, SHORT)
    doctor(store, statement)
    assert decoded(store)[0].row == row


async def test_each_part_of_the_record_is_folded_under_its_own_settings(tmp_path: Path) -> None:
    """The settings in force are an input like any other: a port that was changed is told as it was then."""
    came: Came = [(in_force(port="one"), at(0)), (LinkUp("one"), at(1)), (LinkDown("stopped"), at(2))]
    came += [(in_force(port="two"), at(3)), (LinkUp("two"), at(4))]
    store, _ = await record(tmp_path, came)
    with closing(store.read()) as reader:
        ports = [msgspec.json.decode(event.data, type=dict[str, str])["port"] for event in reader.events("t", 0, 9)]
    assert ports == ["one", "one", "two"]
    assert rehearsed(store) == decoded(store) == []


async def test_a_table_may_get_a_shoe_of_another_family(tmp_path: Path) -> None:
    """Its session begins anew, its shoe and round go on."""
    came: Came = [
        *SHORT,
        (LinkDown("stopped"), at(5000)),
        (in_force(family="deaf"), at(6000)),
        (LinkUp(PORT), at(6001)),
    ]
    store, state = await record(tmp_path, came)
    assert state.session == Deaf.State(1)
    assert state.table.record.number == 1
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        assert rebuild(reader, "t", engine_for) == state


async def test_a_row_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """What stands there is not what this program writes."""
    store, _ = await record(tmp_path, SHORT)
    doctor(store, "UPDATE step SET observations = replace(observations, '3H', '3X') WHERE row = 4")
    with pytest.raises(JournalUnusable, match=r"t: row 4 cannot be read: .*3X"):
        rehearsed(store)


async def test_a_record_without_settings_is_not_whole(tmp_path: Path) -> None:
    """Under which settings it was made cannot be guessed."""
    store, _ = await record(tmp_path, SHORT[1:])
    with pytest.raises(JournalUnusable, match="row 1 stands before any settings"):
        rehearsed(store)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A journal of version 1. It was frozen when that was new, and is never made anew."""
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.executescript(FROZEN.read_text())
    return tmp_path


def test_a_journal_of_version_1_is_still_read(old: Path) -> None:
    """It opens and is brought up, its record holds, and its table is where it was."""
    store = Store(old)
    assert store.word == "k3v9x2mq"
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        assert reader.schema == len(SCHEMAS)
        assert (reader.cursor("t"), reader.last_sequence("t")) == (8, 11)
        assert [event.type for event in reader.events("t", 8, 9)] == ["round.started", "card.drawn", "device.offline"]
        state = rebuild(reader, "t", engine_for)
    assert state is not None
    shown = public_state("commission", state.table)
    assert (shown.sequence, shown.phase.value, shown.shoe, shown.round) == ("11", "dealing", 1, 2)
    assert shown.last_round is not None
    assert shown.last_round.answer.value == "confirmed"


async def test_a_table_of_version_1_goes_on(old: Path) -> None:
    """The round that was open waits with its next card, a command gets its answer; old and new rows make one record."""
    came: Came = [
        (CONFIGURED, at(10_000)),
        (LinkUp(PORT), at(10_001)),
        (Received(card_report("7", "B1", "3H")), at(11_000)),
        (TOLD, at(12_000)),
    ]
    store, _ = await record(old, came)
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        told = reader.answer("t", TOLD.id)
        aside = [event.data for event in reader.events("t", 11, 99) if event.type == "card.set-aside"]
    assert told is not None
    assert msgspec.json.decode(told.told, type=Told) == TOLD
    # How long the daemon was away is not known: a person says whether the cards shown are those on the table.
    assert [(each["round"], each["card"]) for each in map(msgspec.json.decode, aside)] == [(2, "3H")]


def test_a_copy_of_version_1_is_checked_as_it_is(old: Path) -> None:
    """Whoever only reads brings nothing up."""
    with closing(Reader(old / "journal.db")) as reader:
        assert list(rehearse(reader, "t", engine_for)) == []
        assert list(decode_again(reader, "t", engine_for)) == []
        assert reader.schema == 1
