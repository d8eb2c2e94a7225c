"""The verification of the record in the background: it finds changes of old rows, and does not disturb the daemon."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from shoed.journal import Store
from shoed.journal.schema import DAMAGED, Use
from shoed.journal.verify import Verification
from shoed.service import verification
from shoed.service.doctor.examine import OF_JOURNAL
from shoed.service.verification import BackgroundVerification
from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.long_record import LongRecord
from tests.patience import PATIENCE_S
from tests.test_journal_replay import record
from tests.test_seed import shoes
from tests.world import World

UNREADABLE: Final = r"bac-901: the row after row \d+ cannot be read"


def altered(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.commit()


async def test_a_changed_row_of_the_past_is_found_after_the_start(world: World) -> None:
    """Play continues from rows that are verified. The change is in the log, in the status, and in its exit status."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        assert await daemon.stop() == 0
        altered(world.journal.path, "UPDATE event SET data = replace(data, '8S', '9S') WHERE type = 'card.drawn'")
        daemon = await world.start(shoe)
        await daemon.looking(lambda: "run: shoed journal verify" in str(daemon))
        assert "round.confirmed" in [each.type for each in world.journal.events()]
        status = await shoed("status", "--state-dir", world.state_dir)
        assert "the journal was changed: bac-901: row" in status.out
        assert status.status == 1
        assert await daemon.stop() == 0


async def test_a_correct_journal_is_verified_once(world: World) -> None:
    """The log has the number of rows, and states that their hashes were verified, not the heads. The thread ends."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        assert await daemon.stop() == 0
        ((rows,),) = world.journal.ask("SELECT count(*) FROM step")
        daemon = await world.start(shoe)
        await daemon.looking(lambda: "were verified: no change was found" in str(daemon))
        assert "shoed journal verify also compares the signed heads" in str(daemon)
        assert any(f"bac-901: the hashes of {count} rows and " in str(daemon) for count in range(rows, rows + 4))
        assert await daemon.stop() == 0


async def test_parts_have_the_findings_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is a short transaction, and the verification rests after it."""
    store, _ = await record(tmp_path, shoes(1)[:200])
    altered(store.path, "UPDATE event SET utc_us = utc_us + 1 WHERE sequence IN (3, 70)")
    altered(store.path, "DELETE FROM step WHERE row = 40")
    rests: list[int] = []
    with closing(store.read()) as reader:
        whole = list(Verification(reader, "t").row_findings())
        inside = reader.connection

        def rest() -> None:
            assert not inside.in_transaction
            rests.append(1)

        assert list(Verification(reader, "t", 7, rest).row_findings()) == whole
        ((rows,),) = reader.rows("SELECT count(*) FROM step")
    assert len(whole) == 3
    assert len(rests) >= rows // 7
    monkeypatch.setattr(verification, "MOST", 2)
    found = BackgroundVerification(store)
    found.run()
    assert found.problem == f"the journal was changed: {whole[0]}"


async def test_an_object_that_is_not_of_the_schema_is_found(tmp_path: Path) -> None:
    """A trigger could change events as they are written."""
    store, _ = await record(tmp_path, shoes(1)[:20])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE TRIGGER other AFTER INSERT ON event BEGIN SELECT 1; END")
    found = BackgroundVerification(store)
    found.run()
    assert "journal.db: the trigger other: inserted: the schema of shoed does not have it" in found.problem


async def test_the_end_of_the_daemon_ends_a_long_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread rests most of the time; it does not wait for the end of its rest."""
    caplog.set_level("INFO", "shoed.journal")
    store, _ = await record(tmp_path, shoes(1)[:200])
    monkeypatch.setattr(verification, "SHARE", 1e-9)
    resting = BackgroundVerification(store)
    resting.start()
    resting.stop()
    resting.thread.join(PATIENCE_S)
    assert not resting.thread.is_alive()
    assert "were verified" not in caplog.text


def test_a_journal_that_cannot_be_read_ends_the_verification(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The reason is in the log; the daemon continues."""
    store = Store(tmp_path)
    store.path.unlink()
    BackgroundVerification(store).run()
    assert "the verification of the journal ends" in caplog.text


async def test_a_page_that_play_does_not_need_is_reported_and_then_repaired(world: World) -> None:
    """Play continues. The page is in the log, the status, the doctor, and it is replaced between two shoes."""
    with LongRecord(world.state_dir) as record:
        record.deal(6, rounds=10)
    overwrite(world.journal.path, "SELECT pageno FROM dbstat WHERE name = 'step' ORDER BY path LIMIT 1 OFFSET 3")
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        found = await daemon.looking(lambda: re.search(UNREADABLE, str(daemon)))
        await daemon.until(lambda: any(found[0] in each for each in daemon.notified))
        await confirmed(world, shoe)
        status = await shoed("status", "--state-dir", world.state_dir)
        assert re.search(f"PROBLEM +{UNREADABLE}", status.out)
        assert status.status == 1
        doctor = await shoed("doctor", "--config", world.place / "c.toml", "--json")
        (of_file,) = [each for each in json.loads(doctor.out)["results"] if each["check"] == "journal"]
        assert of_file["level"] == "problem"
        assert of_file["remedy"] == DAMAGED[Use.READ]
        verified = await shoed("journal", "verify", "--state-dir", world.state_dir)
        assert verified.status == 1
        texts = (str(daemon), status.out, doctor.out, verified.out)
        assert [
            text for text in texts if "sets it aside" in text or "docs/backup.md" not in re.sub(r"\s+", " ", text)
        ] == []
        assert await daemon.stop() == 0
        salvaged = await shoed("journal", "salvage", world.journal.path, world.place / "salvaged")
        assert (salvaged.status, salvaged.err) == (1, "")
        assert (await shoed("journal", "restore", world.place / "salvaged", "--state-dir", world.state_dir)).status == 0
        daemon = await world.start(shoe)
        await daemon.looking(
            lambda: re.search(r"no change was found, except \d+ gaps that a salvage named", str(daemon))
        )
        await confirmed(world, shoe)
        assert (await shoed("status", "--state-dir", world.state_dir)).status == 0
        doctor = await shoed("doctor", "--config", world.place / "c.toml", "--json")
        remedies = {each["text"]: each["remedy"] for each in json.loads(doctor.out)["results"]}
        assert [each for text, each in remedies.items() if "have a new word, salvaged" in text] == [OF_JOURNAL]
        assert await daemon.stop() == 0


async def confirmed(world: World, shoe: TcpShoe) -> None:
    """Deal rounds until one more is confirmed."""
    before = len(world.recorder.of("round.confirmed"))
    await shoe.connected()
    await shoe.deal(*ROUNDS)
    await world.recorder.event("round.confirmed", number=before + 1)


async def test_damaged_recorded_commands_are_reported(world: World) -> None:
    """A command cannot be compared with the earlier ones, so it is refused. Play continues."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        assert await daemon.stop() == 0
        overwrite(world.journal.path, "SELECT rootpage FROM sqlite_schema WHERE name = 'step_command'")
        daemon = await world.start(shoe)
        answer = await shoed("tell", "bac-901", "open-bets", "--role", "dealer", "--state-dir", world.state_dir)
        assert "database disk image is malformed" in answer.err + answer.out
        status = await shoed("status", "--state-dir", world.state_dir)
        assert re.search(r"PROBLEM +bac-901: the recorded commands cannot be read", status.out), status.out
        assert status.status == 1
        await shoe.connected()
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        assert await daemon.stop() == 0


def overwrite(path: Path, query: str) -> None:
    """Overwrite a page of the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((page,),) = connection.execute(query)
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)
