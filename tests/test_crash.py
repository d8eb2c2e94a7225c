"""The subscriber holds exactly the journal's events after crashes; and the harness reports each defect that is planted.

`./dev crash` runs hundreds of these trials.
"""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
import pytest_asyncio

from shoed.rig.broker import Broker
from tests.command_clients import Finished
from tests.crash import site as sites
from tests.crash.__main__ import kind, plan
from tests.crash.evidence import Incarnation, Journal, read
from tests.crash.laws import Audit, Witness
from tests.crash.site import EYE, OPEN, Site, names_a_change, site_on
from tests.crash.subscriber import Received
from tests.crash.trials import FAULTS, MOMENTS, Trial, fault

# A fixture of a whole module cannot skip a test. In CI the compiler is required.
pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None and not os.environ.get("HIL_REQUIRED"), reason="a C compiler (cc) is not installed"
)

SEED: Final = 1
KILL_IN_PLAY: Final = next(
    each for each in plan(SEED, 99) if each.kind == "kill" and each.dice.choice(MOMENTS) == "play"
)
DOUBLED: Final = """
    INSERT INTO event
    SELECT table_name, (SELECT max(sequence) + 1 FROM event WHERE table_name = 'bac-902'), row, type, utc_us, data
    FROM event WHERE table_name = 'bac-902' AND type = 'card.drawn' LIMIT 1
"""


class Evidence(NamedTuple):
    """The files of a killed daemon, and the other records of that moment."""

    state_dir: Path
    witness: Witness
    defects: list[str]  # of the whole run

    def audit(self) -> Audit:
        """An audit that has already read the journal and the received events."""
        audit = Audit(EYE, OPEN)
        assert audit.defects(read(self.state_dir), self.witness, "before") == []
        return audit

    def copy(self, place: Path) -> Path:
        return Path(shutil.copytree(self.state_dir, place / "state", ignore=shutil.ignore_patterns("*.sock")))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def evidence(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> Evidence:
    """A kill in play, a power cut, and a clean stop."""
    place = tmp_path_factory.mktemp("crash")
    async with site_on(place / "site", broker, KILL_IN_PLAY.dice) as site:
        await KILL_IN_PLAY.run(site)
        await Trial(SEED, KILL_IN_PLAY.number, "power cut").run(site)
        kept = place / "state"
        await asyncio.to_thread(shutil.copytree, site.state_dir, kept, ignore=shutil.ignore_patterns("*.sock"))
        witness = site.witness._replace(
            received=list(site.subscriber.events), open_shoe=list(site.shoe.cards), angel_eye=list(site.eye.cards)
        )
        await site.finish()
        return Evidence(kept, witness, site.defects)


def test_a_subscriber_that_is_connected_all_the_time_holds_exactly_the_events_of_the_journal(
    evidence: Evidence,
) -> None:
    """Also over a kill, a power cut and a clean stop: no event is lost, added, changed or in another order."""
    assert evidence.defects == []
    journal = read(evidence.state_dir)
    assert {table: len(events) > 9 for table, events in journal.events.items()} == {EYE: True, OPEN: True}
    assert evidence.witness.acknowledged


@pytest.mark.parametrize(
    ("statement", "law"),
    [
        ("UPDATE event SET data = replace(data, 'player', 'banker') WHERE type = 'card.drawn'", "contents"),
        ("UPDATE event SET type = 'card.set-aside' WHERE type = 'card.drawn'", "contents"),
        ("UPDATE event SET utc_us = utc_us + 1 WHERE sequence = 3", "contents"),
        ("UPDATE journal SET word = 'other'", "published"),
        ("DELETE FROM event WHERE sequence = 5", "gapless"),
        ("DELETE FROM step WHERE row = 5", "gapless"),
        ("UPDATE step SET utc_us = utc_us + 1 WHERE row = 5", "chain"),
        ("UPDATE checkpoint SET state = state || ' '", "chain"),
        ("DELETE FROM event WHERE table_name = 'bac-902' AND sequence > 9", "cards"),
        ("DELETE FROM event WHERE table_name = 'bac-901' AND sequence > 9", "published"),
        (DOUBLED, "chain"),  # the next card of the shoe may have the same face
        ("UPDATE event SET data = replace(data, '8', '9') WHERE table_name = 'bac-901'", "cards"),
    ],
)
def test_a_change_of_the_journal_between_two_starts_is_reported(
    evidence: Evidence, tmp_path: Path, statement: str, law: str
) -> None:
    """An edited, missing or doubled event; a missing row; a card that the device did not report."""
    state_dir = evidence.copy(tmp_path)
    with closing(sqlite3.connect(state_dir / "journal.db", isolation_level=None)) as connection:
        if (
            statement.startswith("UPDATE journal")
            and connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'incarnation'").fetchone()
        ):
            statement = statement.replace("journal", "incarnation")
        assert connection.execute(statement).rowcount
    assert law in laws_of(evidence.audit().defects(read(state_dir), evidence.witness, "after"))


def laws_of(defects: list[str]) -> set[str]:
    return {defect.partition(":")[0] for defect in defects}


def test_a_dropped_wal_is_reported(evidence: Evidence, tmp_path: Path) -> None:
    """Published events and acknowledged cards are missing."""
    state_dir = evidence.copy(tmp_path)
    (state_dir / "journal.db-wal").unlink()
    assert laws_of(evidence.audit().defects(read(state_dir), evidence.witness, "after")) >= {"cards", "published"}


def test_only_a_named_change_excuses_a_damaged_journal() -> None:
    """Another error of `verify` excuses no defect."""
    named = (
        Finished(1, "bac-901: row 5: missing: the next row is 6\n", ""),
        Finished(1, "bac-901: the seal of row 31: altered: it differs from the sealed rows\n", ""),
        Finished(1, "", "shoed: journal.db: database disk image is malformed; keep the file as evidence\n"),
    )
    others = (
        Finished(1, "", "shoed: journal.db: cannot start a transaction within a transaction; check the disk\n"),
        Finished(1, "bac-901: rows 1-9 and 4 events have their hashes\n", ""),
        Finished(0, named[0].out, ""),
    )
    assert [names_a_change(each) for each in (*named, *others)] == [True] * 3 + [False] * 3


def test_a_damaged_page_is_reported(evidence: Evidence, tmp_path: Path) -> None:
    """SQLite finds it, in a file without a WAL."""
    state_dir = evidence.copy(tmp_path)
    with closing(sqlite3.connect(state_dir / "journal.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = state_dir / "journal.db"
    content = bytearray(path.read_bytes())
    content[4096 : len(content) // 2] = bytes(len(content) // 2 - 4096)
    path.write_bytes(content)
    assert "intact" in laws_of(evidence.audit().defects(read(state_dir), evidence.witness, "after"))


def changed(received: Received, **fields: object) -> Received:
    return received._replace(event={**received.event, **fields})


DIFFERENCES: Final[dict[str, tuple[Callable[[list[Received]], list[Received]], str | None]]] = {
    "the last event is missing": (lambda events: events[:-1], "published"),
    "an event is missing": (lambda events: [*events[:9], *events[10:]], "published"),
    "the order differs": (lambda events: [*events[:5], events[6], events[5], *events[7:]], "published"),
    "other data": (lambda events: [*events, changed(events[3], data={"card": "forged"})], "contents"),
    "another type": (lambda events: [*events, changed(events[3], type="shoed.other")], "contents"),
    "an unknown id": (lambda events: [*events, changed(events[-1], id=f"w-{OPEN}-1", sequence="1")], "published"),
    "one repetition": (lambda events: [*events, changed(events[3], historical=True)], None),
    "a repeated backlog": (lambda events: [*events, *events[-9:]], None),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_a_difference_of_the_subscriber_is_reported(evidence: Evidence, difference: str) -> None:
    """A missing, exchanged, changed or unknown event. A repetition with the same content is not a defect."""
    change, law = DIFFERENCES[difference]
    journal, ids = read(evidence.state_dir), {each.event["id"] for each in evidence.witness.received}
    received = {table: [event for event in events if event.id in ids] for table, events in journal.events.items()}
    journal = journal._replace(events=received)  # the last PUBLISH may follow
    of_one_table = [each for each in evidence.witness.received if each.table == OPEN]
    others = [each for each in evidence.witness.received if each.table != OPEN]
    witness = evidence.witness._replace(received=[*others, *change(of_one_table)], acknowledged=0)
    found = laws_of(Audit(EYE, OPEN).defects(journal, witness, "journal", complete=True))
    assert found == (set() if law is None else {law})


def test_a_loss_at_the_disk_is_reported_unless_the_journal_names_it(evidence: Evidence) -> None:
    """A new incarnation with a reason names it. Its word begins after the last event that was kept."""

    def found(journal: Journal, *, damaged: bool = True) -> set[str]:
        return laws_of(evidence.audit().defects(journal, evidence.witness, "after", damaged=damaged))

    journal = read(evidence.state_dir)
    kept = {table: events[: len(events) // 2] for table, events in journal.events.items()}
    lost = journal._replace(events=kept)
    renewed = Incarnation(2, "new", "the tail is lost", {table: len(events) for table, events in kept.items()})
    silent = lost._replace(incarnations=[*journal.incarnations, renewed._replace(reason="")])
    named = lost._replace(incarnations=[*journal.incarnations, renewed])
    set_aside = Journal({}, {}, [renewed], [], [], ["journal-damaged-x.db"])
    assert [found(each) for each in (lost, silent)] == [{"cards", "published"}] * 2
    assert [found(each) for each in (named, set_aside)] == [set()] * 2
    assert found(named, damaged=False) == {"cards", "named", "published"}
    assert found(journal._replace(incarnations=named.incarnations), damaged=False) == {"named"}


def test_a_line_that_names_the_missed_reports_names_lost_cards(evidence: Evidence) -> None:
    """If data on the disk were damaged; otherwise the device would still have these cards."""
    journal = read(evidence.state_dir)
    events, *missed = journal.events[OPEN], journal.events[OPEN][-1]._replace(type="line.missed")
    cards = [each for each in events if each.type == "card.drawn"]
    lost = journal._replace(events={**journal.events, OPEN: [each for each in events if each != cards[2]]})
    named = lost._replace(events={**lost.events, OPEN: [*lost.events[OPEN], *missed]})
    audit, witness = Audit(EYE, OPEN), evidence.witness
    assert "cards" in laws_of(audit.defects(lost, witness, "after", damaged=True))
    assert "cards" in laws_of(audit.defects(named, witness, "after", damaged=False))
    assert "cards" not in laws_of(audit.defects(named, witness, "after", damaged=True))


@pytest_asyncio.fixture
async def site(tmp_path: Path, broker: Broker) -> AsyncIterator[Site]:
    async with site_on(tmp_path / "site", broker, KILL_IN_PLAY.dice) as site:
        yield site


async def test_a_daemon_that_ends_in_a_fault_is_reported(site: Site) -> None:
    """It must wait for the disk."""

    def end() -> None:
        site.world.daemons[-1].process.terminate()

    await fault(site, Random(1), end, lasting=True)
    assert laws_of(site.defects) == {"alive"}


async def test_a_daemon_that_does_not_continue_after_a_fault_is_reported(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk hangs for ever, as if the daemon did not notice the end of the fault."""
    monkeypatch.setattr(sites, "PATIENCE_S", 1.0)
    await fault(site, Random(1), site.disk.hang, lasting=False)
    assert laws_of(site.defects) == {"resume"}


async def test_a_daemon_that_does_not_start_again_is_reported(site: Site) -> None:
    """Its configuration is damaged."""
    site.path.write_text("[site]")
    with pytest.raises(AssertionError, match="shoed has ended"):
        await KILL_IN_PLAY.run(site)


async def test_a_traceback_in_the_log_is_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon is killed before it can report anything."""
    monkeypatch.setitem(FAULTS, "hang", log_a_traceback)
    await Trial(SEED, 1, "hang").run(site)
    assert laws_of(site.defects) == {"log"}
    site.world.daemons[-1].log.write_text("")


async def log_a_traceback(site: Site, _: Random) -> None:
    daemon = await site.launch()
    await site.end(daemon)
    daemon.log.write_text("Traceback (most recent call last):")


def test_a_trial_alone_has_the_kind_and_the_moments_of_the_whole_run() -> None:
    """Both depend on the seed and on the number of the trial only. One of six trials is a fault; all kinds occur."""
    trials = plan(5, 100)
    assert len(trials) == 120
    assert [each.kind for each in trials] == [kind(number) for number in range(120)]
    assert sum(each.kind == "kill" for each in trials) == 100
    assert {each.kind for each in trials} == {"kill", *FAULTS}
    assert Trial(5, 17, kind(17)).dice.random() == trials[17].dice.random()
    assert Trial(6, 17, kind(17)).dice.random() != trials[17].dice.random()
