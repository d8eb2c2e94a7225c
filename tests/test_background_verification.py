"""The verification of the record in the background: it finds changes of old rows, and does not disturb the daemon."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shoed.journal import Store
from shoed.journal.verify import Verification
from shoed.service import verification
from shoed.service.verification import BackgroundVerification
from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.patience import PATIENCE_S
from tests.test_journal_replay import record
from tests.test_seed import shoes
from tests.world import World


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
    """The log has the number of rows. The thread ends."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(*ROUNDS)
        await world.recorder.event("round.confirmed", round=len(ROUNDS))
        assert await daemon.stop() == 0
        ((rows,),) = world.journal.ask("SELECT count(*) FROM step")
        daemon = await world.start(shoe)
        await daemon.looking(lambda: "were verified: no change was found" in str(daemon))
        assert any(f"bac-901: {count} rows and " in str(daemon) for count in range(rows, rows + 4))
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
