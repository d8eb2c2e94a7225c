"""`shoed journal stats`, compared with an independent count over raw SQL."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shoed.cli import main
from shoed.cli.journal.counts import Tally
from shoed.cli.journal.stats import figures
from shoed.journal import Writer
from shoed.model.commands import OpenBets, StartShoe
from shoed.model.step import LinkDown, LinkUp, Received
from tests.angel_eye_line import PORT
from tests.recorded import CONFIGURED, Play, Player, Raw, raw, record, written

Capture = pytest.CaptureFixture[str]

VALUES = {"A": 1, "J": 0, "Q": 0, "K": 0, "10": 0}


@pytest.fixture(scope="module", params=[2, 4])
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    play = Play(("t1", "t2"), shoes=3, rounds=15, trouble=0.35)
    return record(tmp_path_factory.mktemp("journal"), play, seed=request.param)


def counted(capsys: Capture, folder: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["journal", "stats", "--json", *words, "--state-dir", str(folder)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def plain(group: dict[str, Any]) -> dict[str, Any]:
    """The numbers without those that are 0."""
    numbers = {
        key: {name: each for name, each in value.items() if each} if isinstance(value, dict) else value
        for key, value in group.items()
        if key not in ("table", "shoe", "day")
    }
    return {key: value for key, value in numbers.items() if value}


def points(cards: list[str]) -> int:
    return sum(VALUES.get(card[:-1], int(card[:-1]) if card[:-1].isdigit() else 0) for card in cards) % 10


def independent(events: list[Raw]) -> dict[str, Any]:
    """The count of all these events. A round counts with the last of its ends."""
    ends: dict[tuple[int, int], Raw] = {}
    plain_types = Counter(each.type for each in events)
    found: dict[str, Any] = {"events": len(events), "rounds": plain_types["round.started"]}
    for each in events:
        if each.type in ("round.completed", "round.corrected", "round.voided", "round.abandoned"):
            ends[each.data["shoe"], each.data["round"]] = each
    results = [each.data for each in ends.values() if each.data.get("outcome")]
    found["complete"] = len(results)
    found["void"] = sum(each.type == "round.voided" for each in ends.values())
    found["abandoned"] = sum(each.type == "round.abandoned" for each in ends.values())
    found["open"] = found["rounds"] - found["complete"] - found["void"] - found["abandoned"]
    found["outcomes"] = Counter(data["outcome"] for data in results)
    found["pairs"] = Counter(pair for data in results for pair in data["pairs"])
    hands = [[data[side]["cards"][:2] for side in ("player", "banker")] for data in results]
    found["naturals"] = sum(any(points(hand) >= 8 for hand in both) for both in hands)
    found["partial"] = sum(data["integrity"] == "partial" for data in results)
    for name in ("confirmed", "disputed", "unconfirmed", "corrected"):
        found[name] = plain_types[f"round.{name}"]
    found["shoes"] = plain_types["shoe.started"]
    drawn = [each.data for each in events if each.type == "card.drawn"]
    found["cards"] = len(drawn)
    found["entered"] = sum(data.get("source") == "person" for data in drawn)
    found["set_aside"] = sum(each.data.get("count", 1) for each in events if each.type == "card.set-aside")
    found["noticed"] = Counter(each.data["kind"] for each in events if each.type == "irregularity.noticed")
    found["ruled"] = Counter(each.data["kind"] for each in events if each.type == "irregularity.ruled")
    answers = [each.data for each in events if each.type == "question.answered"]
    found["decisions"] = Counter(data["role"] or "player" for data in answers)
    found["faults"] = Counter(f"shoe: {each.data['name']}" for each in events if each.type == "device.fault")
    found["offline"] = Counter("shoe" for each in events if each.type == "device.offline")
    missed = [each.data["at_least"] for each in events if each.type == "line.missed"]
    found["missed"], found["missed_unknown"] = sum(each or 0 for each in missed), missed.count(None)
    found["rejected"] = sum(each.data["count"] for each in events if each.type == "line.rejected")
    closed, seconds = None, 0.0
    for each in events:
        if each.type == "device.offline" and closed is None:
            closed = each.utc_us
        elif each.type == "device.online" and closed is not None:
            seconds, closed = seconds + (each.utc_us - closed) / 1e6, None
    if closed is not None:
        seconds += (events[-1].utc_us - closed) / 1e6
    found["offline_s"] = {"shoe": round(seconds, 6)} if seconds else {}
    return {key: dict(value) if isinstance(value, Counter) else value for key, value in found.items() if value}


def test_the_numbers_of_a_table_are_those_of_a_plain_count(folder: Path, capsys: Capture) -> None:
    """Also with corrections, voids, abandoned rounds, answers and absences."""
    groups = counted(capsys, folder)
    assert [group["table"] for group in groups] == ["t1", "t2"]
    for group in groups:
        assert plain(group) == independent(raw(folder, group["table"]))
    assert sum(group["corrected"] for group in groups)
    assert sum(group["void"] for group in groups)


@pytest.mark.parametrize("by", ["shoe", "day"])
def test_the_parts_add_up_to_the_table(folder: Path, capsys: Capture, by: str) -> None:
    """Each event, round and second is in one shoe and in one day."""
    total = Counter[str]()
    for group in counted(capsys, folder, "t1", "--by", by):
        for key, value in plain(group).items():
            for name, each in value.items() if isinstance(value, dict) else [("", value)]:
                total[f"{key} {name}"] += each
    (whole,) = counted(capsys, folder, "t1")
    expected = Counter[str]()
    for key, value in plain(whole).items():
        for name, each in value.items() if isinstance(value, dict) else [("", value)]:
            expected[f"{key} {name}"] += each
    assert {key: pytest.approx(value) for key, value in total.items() if value} == expected


def test_a_shoe_has_the_numbers_of_its_rounds(folder: Path, capsys: Capture) -> None:
    """Rounds and results by their own shoe."""
    events = raw(folder, "t1")
    for group in counted(capsys, folder, "t1", "--by", "shoe"):
        own = independent([each for each in events if each.data.get("shoe") == group["shoe"]])
        for key in ("rounds", "complete", "void", "abandoned", "outcomes", "pairs", "naturals", "partial", "cards"):
            assert plain(group).get(key) == own.get(key), (group["shoe"], key)


def test_a_correction_of_an_earlier_round_is_not_counted(folder: Path, capsys: Capture) -> None:
    """A round whose first result is before the selected time is not a round of the selection."""
    events = raw(folder, "t1")
    corrected = [each for each in events if each.type == "round.corrected" and each.data["outcome"]]
    for each in corrected[:5]:
        moment = f"{datetime.fromtimestamp(0, UTC) + timedelta(microseconds=each.utc_us):%Y-%m-%dT%H:%M:%S.%f}"
        (group,) = counted(capsys, folder, "t1", "--from", moment)
        first: dict[tuple[int, int], Raw] = {}
        last: dict[tuple[int, int], Raw] = {}
        for one in events:
            key = (one.data.get("shoe"), one.data.get("round"))
            if one.type in ("round.completed", "round.corrected", "round.voided", "round.abandoned"):
                last[key] = one
            if one.type == "round.completed":
                first.setdefault(key, one)
        own = [last[key].data for key, one in first.items() if one.utc_us >= each.utc_us]
        assert group["complete"] == sum(data.get("outcome") is not None for data in own)
        assert plain(group).get("outcomes", {}) == Counter(data["outcome"] for data in own if data.get("outcome"))
    assert corrected


def test_a_day_has_its_own_events_and_seconds(tmp_path: Path, capsys: Capture) -> None:
    """In the zone that the option names. An absence over midnight is in both days."""
    folder = record(tmp_path, Play(shoes=3, rounds=5))
    events = raw(folder)
    for zone, hours in (("UTC", 0), ("+08:00", 8), ("-05:00", -5)):
        days = Counter(
            f"{datetime.fromtimestamp(each.utc_us / 1e6, UTC) + timedelta(hours=hours):%Y-%m-%d}" for each in events
        )
        groups = counted(capsys, folder, "--by", "day", "--zone", zone)
        assert {group["day"]: group["events"] for group in groups} == days


@pytest.mark.parametrize("task", ["stats --by day", "report --day 2023-11-15"])
@pytest.mark.parametrize("zone", ["Mars", "+24:00", "-25:00", "+08:75", "-5"])
def test_a_wrong_zone_is_refused(folder: Path, capsys: Capture, task: str, zone: str) -> None:
    """An offset has less than 24 hours, and less than 60 minutes."""
    assert main(["journal", *task.split(), "--zone", zone, "--state-dir", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f'--zone: "{zone}" is not a zone; write UTC, local, or an offset such as +08:00\n'
    )


@pytest.mark.parametrize(("task", "days"), [("stats --by shoe", "--by day"), ("report --shoe 1", "--day DATE")])
def test_a_zone_without_days_is_refused(folder: Path, capsys: Capture, task: str, days: str) -> None:
    """It would have no effect."""
    assert main(["journal", *task.split(), "--zone", "+08:00", "--state-dir", str(folder)]) == 2
    assert capsys.readouterr().err == f"--zone +08:00: it is the zone of days; add {days}\n"


def absent(writer: Writer) -> None:
    """An absence over two midnights, in which a shoe starts, and an absence until the end."""
    player = Player(writer, "t1", Random(1))
    player.take(CONFIGURED)
    player.take(LinkUp(PORT))
    player.round(0)
    player.take(LinkDown("the cable is disconnected"))
    player.take(Received(b""), 3_600_000)
    player.command(StartShoe())
    player.take(LinkUp(PORT), 40 * 3_600_000)
    player.round(0)
    player.take(LinkDown("the cable is disconnected"))
    player.command(StartShoe())
    player.command(OpenBets())


def test_an_absence_counts_in_each_part_with_its_own_seconds(tmp_path: Path, capsys: Capture) -> None:
    """A part has the same seconds as a group, as a selection and in its report, also without an event."""
    folder = written(tmp_path, absent)
    whole = counted(capsys, folder)[0]["offline_s"]["shoe"]
    assert whole == pytest.approx(41 * 3600 + 2.7)
    for by, options in (("day", ("--from", "--to")), ("shoe", ("--shoe",))):
        groups = counted(capsys, folder, "--by", by)
        assert [group[by] for group in groups] == sorted(group[by] for group in groups)
        assert sum(group["offline_s"].get("shoe", 0) for group in groups) == pytest.approx(whole)
        for group in groups:
            words = [word for option in options for word in (option, str(group[by]))]
            (selected,) = counted(capsys, folder, *words)
            assert selected["offline_s"] == group["offline_s"]
            if not group["events"]:
                assert group["offline_s"] == {"shoe": 86_400}
                continue
            assert main(["journal", "report", f"--{by}", str(group[by]), "--state-dir", str(folder)]) == 0
            page = capsys.readouterr().out
            assert all(f"<td>{device} {s:.1f} s, absences" in page for device, s in group["offline_s"].items())
    assert {"shoe": 86_400} in [group["offline_s"] for group in counted(capsys, folder, "--by", "day")]


def test_the_numbers_for_a_person_are_the_same(folder: Path, capsys: Capture) -> None:
    """Each figure on its own line."""
    assert main(["journal", "stats", "t2", "--state-dir", str(folder)]) == 0
    text = capsys.readouterr().out
    (group,) = counted(capsys, folder, "t2")
    assert f"{group['rounds']} started; {group['complete']} complete, {group['void']} void" in text
    for side, count in plain(group)["outcomes"].items():
        assert f"{side} {count} ({100 * count / group['complete']:.1f} %)" in text
    for kind, count in plain(group)["noticed"].items():
        assert f"{kind} {count}" in text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Tally(), "missed reports 0, rejections 0"),
        (Tally(missed=3, rejected=1), "missed reports at least 3, rejections 1"),
        (Tally(missed=3, missed_unknown=2), "missed reports at least 3, losses of unknown size 2, rejections 0"),
        (Tally(missed_unknown=1), "missed reports at least 0, losses of unknown size 1, rejections 0"),
    ],
)
def test_a_loss_of_unknown_size_is_not_a_number_of_reports(counts: Tally, text: str) -> None:
    """The number of lost reports is a minimum."""
    assert figures(counts)["line"] == text
