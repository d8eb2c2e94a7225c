"""`shoed journal report`, compared with an independent count over raw SQL; the page is valid and contains no markup."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

from shoed.cli import main
from shoed.cli.journal.page import in_style
from shoed.journal import Writer
from shoed.journal.heads import HeadWriter
from shoed.journal.keys import daemon_key
from shoed.model.step import LinkUp
from tests.angel_eye_line import PORT
from tests.recorded import Play, Player, Raw, raw, record
from tests.recorded import written as written_journal

Capture = pytest.CaptureFixture[str]

VOID_ELEMENTS = {"meta", "br"}
ENDS = {"round.completed", "round.corrected", "round.voided", "round.abandoned"}
Table = list[list[str]]


class Page(HTMLParser):
    """The tables of each section, by the name of the table and the heading; an error if an element is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.title = self.heading = ""
        self.tables: dict[tuple[str, str], Table] = {}
        self.paragraphs: dict[tuple[str, str], list[str]] = {}
        self.elements: Counter[str] = Counter()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        assert {name for name, _ in attrs} <= {"charset", "class", "content", "lang", "name", "scope"}
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)
        if tag in ("h1", "h2"):
            self.heading = ""
        if tag == "h1":
            self.title = ""
        if tag == "tr":
            self.tables.setdefault(self.place, []).append([])
        if tag in ("td", "th"):
            self.tables[self.place][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inner = self.open[-1] if self.open else ""
        if inner == "h1":
            self.title += data
        elif inner == "h2":
            self.heading += data
        elif inner in ("td", "th"):
            self.tables[self.place][-1][-1] += data
        elif inner == "p":
            self.paragraphs.setdefault(self.place, []).append(data)

    @property
    def place(self) -> tuple[str, str]:
        return self.title.partition(":")[0], self.heading


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables with three shoes each, in troubled play; an author and a reason are markup."""
    play = Play(("t1", "t2"), shoes=3, rounds=10, trouble=0.25)
    return record(tmp_path_factory.mktemp("journal"), play, seed=5)


def written(capsys: Capture, folder: Path, *words: str, status: int = 0) -> str:
    assert main(["journal", "report", *words, "--state-dir", str(folder)]) == status
    done = capsys.readouterr()
    assert ("run: shoed journal verify" in done.err) == bool(status)
    return done.out


def figures(page: Page, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in page.tables[table, "Summary"]}


def check(page: Page, table: str, events: list[Raw], rounds: list[tuple[int, int]]) -> None:
    """The page of a table has these rounds, and these events in the right sections."""
    ends = {place(each): each for each in events if each.type in ENDS and place(each) in rounds}
    header, *rows = page.tables[table, "Rounds"]
    assert header[0] == "Round"
    assert [row[0] for row in rows] == [f"{shoe}.{number}" for shoe, number in rounds]
    for row, key in zip(rows, rounds, strict=True):
        end = ends.get(key)
        if end is None or end.type == "round.abandoned":
            assert row[4] in ("open", "abandoned")
        elif end.type == "round.voided":
            assert row[4] == f"void: {end.data['kind']}"
        else:
            winner = {"tie": "tie", "player": "Player wins", "banker": "Banker wins", None: "open"}
            assert row[4].startswith(winner[end.data["outcome"]])
            assert row[2].startswith(" ".join(end.data["player"]["cards"]))
    outcomes = Counter(each.data["outcome"] for each in ends.values() if each.data.get("outcome"))
    shown = figures(page, table)
    assert f"{len(rounds)} started; complete" in shown["rounds"].replace(f"{outcomes.total()} complete", "complete")
    assert dict(re.findall(r"(\w+) (\d+) \(", shown["outcomes"])) == {key: str(each) for key, each in outcomes.items()}
    for section, selected in {
        "Irregularities": [each for each in events if each.type.startswith("irregularity.")],
        "Questions and decisions": [each for each in events if is_decision(each)],
        "Device faults": [each for each in events if each.type in ("device.fault", "line.rejected")],
        "Gaps": [each for each in events if is_gap(each)],
    }.items():
        _, *found = page.tables.get((table, section), [[]])
        assert [row[2] for row in found] == [each.type for each in selected], section
        for row, each in zip(found, selected, strict=True):
            if each.data.get("author"):
                assert f"by {each.data['author']} (" in row[3]
        assert bool(selected) or page.paragraphs[table, section] == ["none"]


def place(each: Raw) -> tuple[int, int]:
    return each.data.get("shoe"), each.data.get("round")


def is_decision(each: Raw) -> bool:
    if each.type in ("question.asked", "question.answered", "question.lapsed"):
        return True
    return bool(each.data.get("author")) and not each.type.startswith("irregularity.")


def is_gap(each: Raw) -> bool:
    links = ("device.online", "device.offline", "device.quiet", "line.missed")
    return each.type in links or (each.type == "round.suspended" and each.data["gap"])


def of_shoe(folder: Path, table: str, shoe: int) -> list[Raw]:
    """The events of a shoe by raw SQL: its own, and those of its time that name no shoe; then its late events."""
    present, found, late = 1, [], []
    for each in raw(folder, table):
        if each.type == "shoe.started":
            present = each.data["shoe"]
        own = each.data.get("shoe")
        if present == shoe and own in (None, shoe):
            found.append(each)
        elif own == shoe:
            late.append(each)
    return found + late


@pytest.mark.parametrize("shoe", [1, 2, 3])
def test_a_shoe_has_its_rounds_matters_and_decisions(folder: Path, capsys: Capture, shoe: int) -> None:
    """All numbers are those of raw SQL."""
    page = Page(written(capsys, folder, "--shoe", str(shoe)))
    assert page.elements["section"] == 2
    for table in ("t1", "t2"):
        events = of_shoe(folder, table, shoe)
        rounds = [place(each) for each in events if each.type == "round.started"]
        check(page, table, events, rounds)
        assert rounds


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 0), ("+08:00", 8), ("-05:00", -5)])
def test_a_day_has_the_rounds_that_began_on_it(folder: Path, capsys: Capture, zone: str, hours: int) -> None:
    """A table without an event of the day has no section."""
    page = Page(written(capsys, folder, "--day", "2023-11-15", "--zone", zone))
    midnight = 1_700_006_400_000_000 - hours * 3_600_000_000
    for table in ("t1", "t2"):
        own = [each for each in raw(folder, table) if midnight <= each.utc_us < midnight + 86_400_000_000]
        rounds = [place(each) for each in own if each.type == "round.started"]
        late = [each for each in raw(folder, table) if each.sequence > own[-1].sequence and place(each) in rounds]
        check(page, table, own + late, rounds)
        assert rounds
    assert main(["journal", "report", "--day", "2023-11-20", "--state-dir", str(folder)]) == 1
    assert "the journal does not have an event of 2023-11-20 UTC; t1: rounds 1.1 to" in capsys.readouterr().err


def test_the_last_shoe_is_the_default(folder: Path, capsys: Capture) -> None:
    """Of each table."""
    page = written(capsys, folder)
    assert re.findall("<h1>(.*?)</h1>", page) == ["t1: shoe 3", "t2: shoe 3"]


def test_a_table_without_the_shoe_has_no_section(tmp_path: Path, capsys: Capture) -> None:
    """The other tables have theirs. A table without any shoe does not prevent the report of the last shoes."""

    def play(writer: Writer) -> None:
        Player(writer, "t1", Random(1)).play(2, 1, 0)
        Player(writer, "t2", Random(2)).play(1, 1, 0)
        Player(writer, "t3", Random(3)).take(LinkUp(PORT))

    folder = written_journal(tmp_path, play)
    assert re.findall("<h1>(.*?)</h1>", written(capsys, folder, "--shoe", "2")) == ["t1: shoe 2"]
    assert re.findall("<h1>(.*?)</h1>", written(capsys, folder)) == ["t1: shoe 2", "t2: shoe 1"]
    assert main(["journal", "report", "t3", "--state-dir", str(folder)]) == 1
    assert "the journal does not have a shoe; t3: no round, " in capsys.readouterr().err


def test_the_page_needs_no_other_file_and_contains_no_markup(folder: Path, capsys: Capture) -> None:
    """Names and reasons of the journal are text. The page is for printing, with a header, a footer and page numbers."""
    text = written(capsys, folder, "t1", "--shoe", "1")
    assert text.startswith("<!DOCTYPE html>\n<html lang=")
    assert "ann &lt;b&gt; (shift-manager)" in text
    assert "&lt;disconnected&gt;" in text
    assert "<b>" not in text
    assert "<disconnected>" not in text
    assert re.search(r"https?:|src=|href=|url\(|@import|<script", text) is None
    for rule in ("@page", "@top-left", "@bottom-right", 'counter(page) " of " counter(pages)', "table-header-group"):
        assert rule in text
    assert "bob" not in text


def test_a_text_in_a_style_cannot_end_it() -> None:
    """Neither the text nor the element."""
    assert in_style('a"</style>;}') == r'"a\000022\00003c\00002fstyle\00003e\00003b\00007d"'


def test_a_missing_event_is_named(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """In the section of the integrity, also if a shoe has several gaps."""
    with closing(sqlite3.connect(folder / "journal.db")) as ours, closing(sqlite3.connect(tmp_path / "a.db")) as copy:
        ours.backup(copy)
        copy.execute("DELETE FROM event WHERE table_name = 't1' AND sequence IN (7, 8, 20)")
        copy.commit()
    intact = written(capsys, folder, "t1", "--shoe", "1")
    damaged = written(capsys, tmp_path / "a.db", "t1", "--shoe", "1", status=1)
    assert "every sequence number is present" in intact
    assert '<p class="bad">' not in intact
    assert re.search('<p class="bad">Events 1-[0-9]+: missing: events 7-8, event 20.</p>', damaged)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT 1", r"Signed head: row {row}, signed at [0-9TZ:.-]+ with the key [A-Za-z0-9+/]{{43}}=\."),
        ("UPDATE event SET data = data || ' ' WHERE table_name = 't1' AND sequence = 30", "the journal was changed"),
        ("UPDATE step SET utc_us = utc_us + 1 WHERE table_name = 't1' AND row = 20", "row 20 or its events differ"),
        ("DELETE FROM step WHERE table_name = 't1' AND row = 20", "row 20 is missing"),
        ("DELETE FROM step WHERE table_name = 't1' AND row = {row}", "row {row} is missing"),
        (
            "DELETE FROM step WHERE row = 20; INSERT INTO loss VALUES ('t1', 20, 20, 'missing', NULL, NULL)",
            "row 20: missing: not found by the salvage; shoed journal verify lists the gaps",
        ),
        ("UPDATE head SET signature = zeroblob(64)", "the head of row {row} is not genuine"),
        ("UPDATE head SET hash = zeroblob(32)", "the head of row {row} is not genuine"),
        ("UPDATE head SET utc_us = 9000000000000000000", "the head of row {row} is not genuine"),
        ("DELETE FROM key", "the head of row {row} is not genuine"),
        ("DELETE FROM head", "Signed head: no signed head covers row {row}; the table has none"),
    ],
)
def test_the_chain_of_the_shoe_is_verified_up_to_a_signed_head(
    folder: Path, capsys: Capture, tmp_path: Path, statement: str, wanted: str
) -> None:
    """An altered row, event or head is named, also as an error. A shoe without a later head has no signature."""
    last = of_shoe(folder, "t1", 1)[-1].row
    with closing(sqlite3.connect(folder / "journal.db")) as ours, closing(sqlite3.connect(tmp_path / "a.db")) as copy:
        ours.backup(copy)
        copy.execute("DELETE FROM head")
        ((word, utc_us, hashed),) = copy.execute(
            "SELECT word, utc_us, hash FROM step JOIN journal WHERE table_name = 't1' AND row = ?", (last,)
        )
        key = daemon_key(tmp_path, None)
        key.prepare(tmp_path)
        HeadWriter(copy, key, word).write("t1", last, utc_us, hashed)
        copy.executescript(statement.format(row=last))
        copy.commit()
    is_changed = "Signed head" not in wanted
    page = written(capsys, tmp_path / "a.db", "t1", "--shoe", "1", status=int(is_changed))
    assert re.search(wanted.format(row=last), page)
    assert ('<p class="bad">' in page) == is_changed


@pytest.mark.parametrize("task", ["report t1", "show t1", "query t1", "stats t1", "status", "export --format csv"])
def test_a_time_that_no_calendar_has_is_shown(folder: Path, capsys: Capture, tmp_path: Path, task: str) -> None:
    """The journal was changed; every task still reads it. The exit status is 1 if it shows changed rows."""
    with closing(sqlite3.connect(folder / "journal.db")) as ours, closing(sqlite3.connect(tmp_path / "a.db")) as copy:
        ours.backup(copy)
        copy.execute("UPDATE event SET utc_us = 9000000000000000000")
        copy.execute("UPDATE step SET utc_us = 9000000000000000000 WHERE row = 1")
        copy.commit()
    assert main(["journal", *task.split(), "--state-dir", str(tmp_path / "a.db")]) == (task != "status")
    done = capsys.readouterr()
    assert ("9000000000000000000" in done.out) == ("stats" not in task and "status" not in task)


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ("--shoe 9", 1, "the journal does not have shoe 9; t1: rounds 1.1 to "),
        ("--day 2023-11", 2, '--day: "2023-11" is not a date; write a date, as 2026-11-19'),
        ("--day 2023-11-31", 2, '--day: "2023-11-31" is not a date; write a date, as 2026-11-19'),
        ("--day 9999-12-31", 1, "the journal does not have an event of 9999-12-31 UTC"),
        ("--day 2023-11-14 --zone x", 2, '--zone: "x" is not a zone'),
        ("--day 2023-11-14 --shoe 1", 2, "not allowed with argument"),
    ],
)
def test_a_wrong_value_has_a_remedy(folder: Path, capsys: Capture, words: str, status: int, wanted: str) -> None:
    """There is no output, and no file."""
    file = folder / "new.html"
    assert main(["journal", "report", *words.split(), "--out", str(file), "--state-dir", str(folder)]) == status
    done = capsys.readouterr()
    assert done.out == ""
    assert wanted in done.err
    assert not file.exists()
