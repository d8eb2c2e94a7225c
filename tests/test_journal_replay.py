"""The recomputation of a journal: the events are equal byte for byte, and a changed journal is detected."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed import VERSION
from shoed.engine import ENGINE, Engine, EngineState
from shoed.errors import JournalUnusable
from shoed.journal import Store, Writer, replay
from shoed.journal.commit import CHECKPOINT_ROWS
from shoed.journal.reader import Reader
from shoed.journal.replay import Difference, decode_again, rebuild, rehearse
from shoed.journal.restore import Restored, restore
from shoed.journal.schema import SCHEMAS
from shoed.model.commands import Author, Decide, LockDevice
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import LinkOpened
from shoed.model.step import AnyInput, Commanded, Configured, LinkDown, LinkUp, Received, Woken
from shoed.session import Session, SessionOutput, SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, public_state
from shoed.watch import WatchSettings
from tests.altered import doctor, rewrite
from tests.angel_eye_line import CONFIGURED, PORT, Inputs, at, card_report, traffic
from tests.patience import PATIENCE_S

FROZEN: Final = Path(__file__).resolve().parent / "data" / "journal-v1.sql"


class Deaf:
    """A session of another family, which uses only the state of its link."""

    class State(SessionState, frozen=True):
        links: int = 0

    state_type = State

    def begin(self) -> State:
        return Deaf.State()

    def step(self, state: State, incoming: AnyInput, now: Now) -> tuple[State, SessionOutput]:
        if isinstance(incoming, LinkUp):
            return Deaf.State(state.links + 1), SessionOutput((LinkOpened(at=now, port=incoming.port),))
        return state, SessionOutput()

    def wake_at(self, _: State) -> int | None:
        return None


def engine_for(settings: str) -> Engine[SessionState]:
    """The recorded settings contain the port, and the family of the shoe."""
    in_force = msgspec.json.decode(settings, type=dict[str, str])
    session: Session[SessionState] = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=True)
    if in_force.get("family") == "deaf":
        session = Deaf()  # type: ignore[assignment]  # as a Driver has it: a session reads its own state only
    return Engine(session, WatchSettings(250), TableSettings("commission", in_force.get("port", PORT)))


def in_force(**settings: str) -> Configured:
    return Configured(msgspec.json.encode(settings).decode(), ENGINE, "0.0")


async def record(folder: Path, incoming: Inputs, table: str = "t") -> tuple[Store, EngineState[SessionState]]:
    """Step a table through the inputs under its settings, record the Steps, and return the last recorded state."""
    store = Store(folder)
    with closing(store.read()) as reader:
        before = rebuild(reader, table, engine_for)
    writer = Writer(store, ENGINE)
    engine = engine_for("{}")
    state = recorded = before or engine.begin()
    for each, now in incoming:
        if isinstance(each, Configured):
            engine = engine_for(each.settings)
            if not isinstance(state.session, engine.session.state_type):
                state = EngineState(state.row, engine.session.begin(), state.watch, state.table)
        state, step = engine.step(state, each, now)
        if step is not None:
            recorded = state
            writer.submit(table, step, state, None)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    return store, recorded


def rehearsed(store: Store, table: str = "t") -> list[Difference]:
    with closing(store.read()) as reader:
        return list(rehearse(reader, table, engine_for))


def decoded(store: Store, table: str = "t") -> list[Difference]:
    with closing(store.read()) as reader:
        return list(decode_again(reader, table, engine_for))


SHORT: Final[Inputs] = [
    (CONFIGURED, at(0)),
    (LinkUp(PORT), at(1)),
    (Received(card_report("1", "P1", "8S")), at(1000)),
    (Received(card_report("2", "B1", "3H")), at(2000)),
    (Received(card_report("3", "P2", "KS")), at(3000)),
    (Received(card_report("4", "B2", "4H")), at(4000)),
]


COMMAND: Final = Commanded(Decide(question="none", choice="void"), Author("ann", Role.PIT_SUPERVISOR), "7f3a")


@pytest.mark.parametrize("seed", range(4))
async def test_the_journal_is_recomputed_without_a_difference(tmp_path: Path, seed: int) -> None:
    """Observations produce the events, bytes produce the observations, and both end in the state of the checkpoint."""
    store, state = await record(tmp_path, traffic(seed))
    assert rehearsed(store) == []
    assert decoded(store) == []
    with closing(store.read()) as reader:
        again = rebuild(reader, "t", engine_for)
        assert again == state
        newest = next(reader.checkpoints("t"))
        assert restore(reader, "t", engine_for("{}"), engine_for) == Restored(state)
        assert newest.row == state.row or newest.row > state.row - CHECKPOINT_ROWS


async def test_a_daemon_writes_and_empties_its_log_during_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replayed rows are those of the first moment."""
    monkeypatch.setattr(replay, "PART", 7)
    store, state = await record(tmp_path, traffic(1))
    last = state.table.sequence
    found: list[replay.Row] = []
    with closing(store.read()) as reader, closing(store.connect()) as writer:
        for row in replay.rows(reader, "t"):
            found.append(row)
            new = ("t", last + row.number, state.row + row.number, "error", 1, "{}")
            writer.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", new)
            ((is_busy, pages, _),) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert (is_busy, pages) == (0, 0)
    assert [row.number for row in found] == list(range(1, state.row + 1))
    assert sum(len(row.events) for row in found) == last


async def test_rows_that_are_deleted_during_a_replay_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention cuts the table between two reads. The error names the first row that is needed."""
    monkeypatch.setattr(replay, "PART", 7)
    store, _ = await record(tmp_path, traffic(1))
    with closing(store.read()) as reader, closing(store.connect()) as writer:
        found = replay.rows(reader, "t")
        next(found)
        writer.execute("INSERT INTO anchor VALUES ('t', 9, 5, x'00', NULL, 'cut', 1, NULL)")
        with pytest.raises(JournalUnusable, match=r"row 8 is needed, and the rows up to 9 were deleted"):
            list(found)


async def test_tables_are_recomputed_separately(tmp_path: Path) -> None:
    """One file has the records of two tables."""
    await record(tmp_path, traffic(1), "a")
    store, _ = await record(tmp_path, traffic(2), "b")
    assert rehearsed(store, "a") == rehearsed(store, "b") == []
    doctor(store, "UPDATE event SET utc_us = 1 WHERE table_name = 'a' AND sequence = 3")
    assert len(rehearsed(store, "a")) == 1
    assert rehearsed(store, "b") == []


async def test_a_table_without_a_record_has_no_difference(tmp_path: Path) -> None:
    """Its state is None."""
    store, _ = await record(tmp_path, SHORT)
    assert rehearsed(store, "unknown") == decoded(store, "unknown") == []
    with closing(store.read()) as reader:
        assert rebuild(reader, "unknown", engine_for) is None


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
        (("3H", "4H"), 4),
        (("observations", "nothing"), 4),
        (('"observations"', '"findings":[{}],"observations"'), 4),
        (("false", "true"), 7),
        (("answers", "nothing"), 7),
        ("DELETE FROM step WHERE row = 4", 4),
    ],
)
async def test_a_changed_record_is_detected_with_its_row(
    tmp_path: Path, statement: str | tuple[str, str], row: int
) -> None:
    """The first difference is in the row that was changed, removed or inserted, and has both values."""
    store, _ = await record(tmp_path, [*SHORT, (COMMAND, at(5000))])
    assert rehearsed(store) == []
    if isinstance(statement, str):
        doctor(store, statement)
    else:
        rewrite(store, row, *statement)
    found = rehearsed(store)
    assert found
    assert found[0].row == row
    assert found[0].recorded != found[0].recomputed


@pytest.mark.parametrize(("version", "differs"), [("0.0", False), (VERSION, True)])
async def test_another_version_may_give_a_reason_in_other_words(tmp_path: Path, version: str, *, differs: bool) -> None:
    """A table refuses a command, and a session a device order. The words of one version are compared."""
    configured, lock = Configured("{}", ENGINE, version), Commanded(LockDevice(), COMMAND.author, "7f3b")
    store, _ = await record(tmp_path, [(configured, at(0)), (lock, at(1)), (COMMAND, at(2))])
    assert rehearsed(store) == decoded(store) == []
    rewrite(store, 3, "there is no question", "unknown:")
    assert [each.row for each in rehearsed(store)] == ([3] if differs else [])
    rewrite(store, 2, "closed", "cut")
    assert [each.row for each in decoded(store)] == ([2] if differs else [])


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM step WHERE row = 6",
        "INSERT INTO event SELECT table_name, 8, 99, type, utc_us, data FROM event WHERE sequence = 7",
    ],
)
async def test_an_event_without_its_step_is_detected(tmp_path: Path, statement: str) -> None:
    """It is detected at the end of the record, too."""
    store, _ = await record(tmp_path, SHORT)
    doctor(store, statement)
    assert rehearsed(store) != []


async def test_a_removed_step_without_events_is_detected(tmp_path: Path) -> None:
    """The row of the copies of a frame has no events."""
    copy = SHORT[-1][0]
    incoming: Inputs = [*SHORT, (copy, at(4017)), (Woken(), at(7017)), (LinkDown("cut"), at(8000))]
    store, _ = await record(tmp_path, incoming)
    doctor(store, "DELETE FROM step WHERE row = 7")
    assert [difference.row for difference in rehearsed(store)] == [7]


@pytest.mark.parametrize(
    "change",
    [
        {"data": bytes.fromhex("05314481b8033446")},
        {"data": b"\x00"},
        {"old": "3H", "new": "4H"},
        {"utc_us": at(2001).utc_us},
    ],
)
async def test_changed_bytes_are_detected(tmp_path: Path, change: dict[str, Any]) -> None:
    """The second check is independent of the first: it decodes the bytes again."""
    store, _ = await record(tmp_path, SHORT)
    rewrite(store, 4, **change)
    assert decoded(store)[0].row == 4


BYTEWISE: Final[Inputs] = [
    *SHORT[:3],
    *(
        (Received(bytes((byte,)), late_ns=byte), at(1500 + n * 2.083))
        for n, byte in enumerate(card_report("2", "B1", "3H"))
    ),
    (Received(card_report("2", "B1", "3H")), at(1600)),
    (LinkDown("cut"), at(1700)),
]


async def test_joined_bytes_are_decoded_again(tmp_path: Path) -> None:
    """Each part has its own moment. A changed part changes the observations."""
    store, state = await record(tmp_path, BYTEWISE)
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        assert rebuild(reader, "t", engine_for) == state
        (joined,) = reader.step("t", 4, 4)
    assert [(each.input, each.now) for each in joined.quiet] == BYTEWISE[3:10]
    frame = card_report("2", "B1", "3H")
    rewrite(store, 4, data=frame[:3] + b"\x90" + frame[4:])
    assert decoded(store)[0].row == 4
    rewrite(store, 4, data=frame)
    assert decoded(store) == []


async def test_a_card_among_quiet_inputs_is_a_difference(tmp_path: Path) -> None:
    """A report that is recorded as a copy, so that its card has no observation, is detected."""
    store, _ = await record(tmp_path, BYTEWISE)
    (row,) = (number for number, data in rows(store) if data == card_report("2", "B1", "3H") and number > 4)
    rewrite(store, row, data=card_report("3", "P2", "KS"))
    assert decoded(store)[0].row == row


def rows(store: Store) -> list[tuple[int, bytes]]:
    with closing(store.read()) as reader:
        return list(reader.rows("SELECT row, bytes FROM step WHERE bytes IS NOT NULL"))


async def test_a_removed_row_changes_the_observations_after_it(tmp_path: Path) -> None:
    """Without the row of the opened link, the bytes are of an unknown link."""
    store, _ = await record(tmp_path, SHORT)
    doctor(store, "DELETE FROM step WHERE row = 2")
    assert decoded(store)[0].row == 3


async def test_each_part_of_the_record_is_recomputed_under_its_own_settings(tmp_path: Path) -> None:
    """The settings are a recorded input: the events contain the port that was configured at their time."""
    incoming: Inputs = [(in_force(port="one"), at(0)), (LinkUp("one"), at(1)), (LinkDown("stopped"), at(2))]
    incoming += [(in_force(port="two"), at(3)), (LinkUp("two"), at(4))]
    store, _ = await record(tmp_path, incoming)
    with closing(store.read()) as reader:
        ports = [msgspec.json.decode(event.data, type=dict[str, str])["port"] for event in reader.events("t", 0, 9)]
    assert ports == ["one", "one", "two"]
    assert rehearsed(store) == decoded(store) == []


async def test_a_table_may_change_to_a_shoe_of_another_family(tmp_path: Path) -> None:
    """The session restarts; the numbers of shoe and round continue."""
    incoming: Inputs = [
        *SHORT,
        (LinkDown("stopped"), at(5000)),
        (in_force(family="deaf"), at(6000)),
        (LinkUp(PORT), at(6001)),
    ]
    store, state = await record(tmp_path, incoming)
    assert state.session == Deaf.State(1)
    assert state.table.record.number == 1
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        assert rebuild(reader, "t", engine_for) == state


async def test_a_row_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    """Shoed does not write such a row."""
    store, _ = await record(tmp_path, SHORT)
    rewrite(store, 4, "3H", "3X")
    with pytest.raises(JournalUnusable, match=r"t: row 4 cannot be read: .*3X"):
        rehearsed(store)


async def test_a_record_without_settings_is_not_complete(tmp_path: Path) -> None:
    """The settings of its rows are unknown."""
    store, _ = await record(tmp_path, SHORT[1:])
    with pytest.raises(JournalUnusable, match="row 1 has no settings before it"):
        rehearsed(store)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A journal of version 1, written when version 1 was new. It does not change."""
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.executescript(FROZEN.read_text())
    return tmp_path


def test_a_journal_of_version_1_can_be_read(old: Path) -> None:
    """It is migrated, its record has no difference, and its table has the same state."""
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


async def test_a_table_of_version_1_continues(old: Path) -> None:
    """The open round gets its next card, and a command gets its answer. Old and new rows are one record."""
    incoming: Inputs = [
        (CONFIGURED, at(10_000)),
        (LinkUp(PORT), at(10_001)),
        (Received(card_report("7", "B1", "3H")), at(11_000)),
        (COMMAND, at(12_000)),
    ]
    store, _ = await record(old, incoming)
    assert rehearsed(store) == decoded(store) == []
    with closing(store.read()) as reader:
        answer = reader.answer("t", COMMAND.id)
        aside = [event.data for event in reader.events("t", 11, 99) if event.type == "card.set-aside"]
    assert answer is not None
    assert msgspec.json.decode(answer.command, type=Commanded) == COMMAND
    # The length of the daemon's absence is unknown: a person confirms the cards on the table.
    assert [(each["round"], each["card"]) for each in map(msgspec.json.decode, aside)] == [(2, "3H")]


def test_a_copy_of_version_1_is_checked_without_migration(old: Path) -> None:
    """A reader does not change the file."""
    with closing(Reader(old / "journal.db")) as reader:
        assert list(rehearse(reader, "t", engine_for)) == []
        assert list(decode_again(reader, "t", engine_for)) == []
        assert reader.schema == 1
