"""Golden captures of every family: the bytes of a device and the expected output, on a good line and on worse lines.

The tests find the captures in the folders of the families: a new capture needs no change here.
"""

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest

from firmware_protocols import FAMILIES
from firmware_protocols.family import Family, Settings
from shoed.errors import CaptureError, UsageError
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CopyHeard,
    FrameRejected,
    LinkClosed,
    Place,
    Reported,
    Resumed,
    SequenceClashed,
    SequenceJumped,
)
from shoed.model.step import Received
from shoed.ports.capture import Capture, write
from shoed.rig import capture_coverage, disturbances, golden
from shoed.rig.golden import GoldenOutput, Player, Script
from tests import foreign_shoe

EVERY: Final = golden.captures()
SEEDS: Final = 6

each_capture: Final = pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parts[-3]}/{path.stem}")


@cache
def capture(path: Path) -> Capture:
    return golden.load(path)


@cache
def undisturbed(path: Path) -> GoldenOutput:
    return golden.play(capture(path).header, golden.script(capture(path)))


# ---------------------------------------------------------------------------------------------- expected output


@each_capture
def test_a_capture_gives_its_expected_output(path: Path) -> None:
    """Every observation and every event is equal, character by character; ./dev bless REASON FILE changes them."""
    expected = golden.expected(path.with_suffix(".expect").read_text(encoding="utf-8"), path.stem)
    assert tuple(golden.lines(undisturbed(path))) == expected.lines


@each_capture
def test_a_capture_states_its_origin(path: Path) -> None:
    """It was written from the protocol page or recorded on a device; its folder and version are those of a family."""
    header = capture(path).header
    assert dict(header.others)["origin"] in {"synthetic", "observed"}
    assert header.family.replace("-", "_") == path.parts[-3]
    assert header.firmware in FAMILIES[header.family].firmware
    assert header.line == FAMILIES[header.family].line
    assert header.note


def test_every_expected_output_has_its_capture() -> None:
    """No `.expect` file is without its capture."""
    here = golden.FAMILIES_HERE.glob("*/captures/*")
    assert {file.with_suffix(".capture") for file in here} == set(EVERY)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_family_has_a_capture_of_every_message(family: Family[Settings]) -> None:
    """The captures have every message, every choice and every fault of the tables; each version has the faults."""
    own = [capture(path) for path in EVERY if capture(path).header.family == family.name]
    held = {line for each in own for line in capture_coverage.held(each)}
    assert family.messages
    assert [line for line in capture_coverage.required(family) if line not in held] == []
    for firmware in family.firmware:
        of_it = {line for each in own if each.header.firmware == firmware for line in capture_coverage.held(each)}
        assert [line for line in capture_coverage.named(family) if line not in of_it] == []


def test_a_missing_message_is_detected() -> None:
    """Without the capture of an error, the requirements name its code."""
    angel_eye = [path for path in EVERY if path.parts[-3] == "angel_eye" and path.stem != "error-5-reverse-midway"]
    held = {line for path in angel_eye for line in capture_coverage.held(capture(path))}
    missing = [line for line in capture_coverage.required(FAMILIES["angel-eye"]) if line not in held]
    assert missing == ["ErrorRaised code=5", "ErrorCleared code=5"]


@pytest.mark.parametrize("path", [path for path in EVERY if path.parts[-3] == "angel_eye"], ids=lambda path: path.stem)
def test_the_checks_of_angel_eye_do_not_come_from_the_codec_under_test(path: Path) -> None:
    """Each accepted report has the BCC of a few lines of XOR, which share no code with the codec."""
    whole = "bcc_span=whole" in dict(capture(path).header.others).get("settings", "")
    for seen in undisturbed(path).observations:
        if isinstance(seen, Reported):
            raw = bytes.fromhex(seen.frame.raw)
            by_hand = foreign_shoe.report(chr(raw[1]), f"{chr(raw[2])} {raw[3:-3].hex()}")
            assert raw[:-2] == by_hand[:-2]
            assert int(raw[-2:], 16) == int(by_hand[-2:], 16) ^ (raw[0] if whole else 0)


@pytest.mark.parametrize("path", [path for path in EVERY if path.parts[-3] == "open_shoe"], ids=lambda path: path.stem)
def test_the_checks_of_open_shoe_do_not_come_from_the_codec_under_test(path: Path) -> None:
    """Each accepted report ends with the CRC-32 of its unescaped body, computed by the standard library."""
    for seen in undisturbed(path).observations:
        if isinstance(seen, Reported):
            inside = bytes.fromhex(seen.frame.raw)[1:-1]
            body = re.sub(rb"\x7d(.)", lambda escape: bytes((escape[1][0] ^ 0x20,)), inside, flags=re.DOTALL)
            assert zlib.crc32(body[:-4]).to_bytes(4) == body[-4:]


# ---------------------------------------------------------------------------------------------- blessing


def test_an_expected_output_is_written_again_with_a_reason_that_stays(tmp_path: Path) -> None:
    """Each writing leaves its reason; without a change nothing is written."""
    path = tmp_path / "one.capture"
    path.write_text(write(capture(EVERY[0])))
    assert golden.bless("Written first", path)
    first = path.with_suffix(".expect").read_text()
    assert not golden.bless("Nothing changed", path)
    assert path.with_suffix(".expect").read_text() == first
    changed = capture(EVERY[0])
    path.write_text(write(Capture(changed.header, changed.records[:-1])))
    assert golden.bless("The last record was in doubt", path)
    again = golden.expected(path.with_suffix(".expect").read_text(), "one.expect")
    assert again.reasons == ("Written first", "The last record was in doubt")
    assert len(again.lines) < len(first.splitlines())


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "one.expect:1: .* is a wrong first line; write shoed-expect 1"),
        ("shoed-expect 2\nbecause so\n\n", "one.expect:1: "),
        ("shoed-expect 1\n\n", "one.expect:2: the reason is missing"),
        ("shoed-expect 1\nbecause \n\n", "one.expect:2: .*is not a reason"),
        ("shoed-expect 1\nbecause so\nsince then\n\n", "one.expect:3: .*is not a reason"),
    ],
)
def test_an_expected_output_without_a_reason_is_refused(head: str, message: str) -> None:
    """A reader can verify every expectation by its reason."""
    with pytest.raises(CaptureError, match=message):
        golden.expected(head, "one.expect")


@pytest.mark.parametrize("words", [(), ("why",), ("", "1.capture"), ("1.capture", "2.capture"), ("a\nb", "3.expect")])
def test_no_output_is_blessed_without_a_reason(words: tuple[str, ...]) -> None:
    """Wrong use prints the usage, and writes nothing."""
    with pytest.raises(UsageError, match="REASON FILE"):
        golden.main(words)


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    """The message names the known settings; an impossible value is refused as well."""
    header = capture(EVERY[0]).header
    for settings, message in (
        ("copis=1", "no setting copis; choose one of bcc_span"),
        ("copies=many", "write KEY=VALUE"),
    ):
        path = tmp_path / "one.capture"
        path.write_text(write(Capture(replace(header, others=(("settings", settings),)), ())))
        with pytest.raises(CaptureError, match=message):
            golden.settings_of(golden.load(path).header)


# ---------------------------------------------------------------------------------------------- worse lines

DOUBTS: Final = (SequenceJumped, SequenceClashed, Resumed, FrameRejected, LinkClosed)


def cards(seen: Sequence[AnyObservation]) -> Counter[tuple[object, ...]]:
    return Counter(face(each) for each in seen if isinstance(each, CardSeen))


def face(card: CardSeen) -> tuple[object, ...]:
    return card.place, card.position, card.card, card.code


def numbered(path: Path) -> bool:
    """Whether the device numbers its reports: otherwise a lost or a late repeated report cannot be detected."""
    return any(isinstance(each, Reported) and each.frame.sequence for each in undisturbed(path).observations)


def events(played: GoldenOutput) -> list[object]:
    """Return the events without the row and the offset of their bytes, which depend on the chunks."""
    events = [(each.type, each.utc_us, msgspec.to_builtins(each.data)) for each in played.events]
    for _, _, data in events:
        data.pop("provenance", None)
        data.pop("offset", None)
    return list(events)


@each_capture
@pytest.mark.parametrize("name", disturbances.EVERY)
def test_no_card_counts_twice_and_losses_are_on_record(path: Path, name: str) -> None:
    """A disturbed line causes no crash, and the record shows every doubt.

    A doubt is between a card and its repetition, and after a lost card, unless no numbered report follows. If reports
    have no numbers a lost card cannot be detected, but a loss never makes a different face. Without a check a flipped
    bit makes at most one different face.
    """
    before = undisturbed(path).observations
    if name == "flip" and any(isinstance(each, FrameRejected) for each in before):
        return  # a second flipped bit may restore the damage of the first one
    for seed in range(SEEDS):
        worse = disturbances.EVERY[name](golden.script(capture(path)), Random(f"{path.stem} {seed}"))
        after = golden.play(capture(path).header, worse).observations
        more, lost = cards(after) - cards(before), cards(before) - cards(after)
        if numbered(path):
            for card in more:
                incoming = [at for at, each in enumerate(after) if isinstance(each, CardSeen) and face(each) == card]
                assert doubts(after[incoming[0] : incoming[-1]])
            for gone in [each for each in before if isinstance(each, CardSeen) and lost[face(each)]]:
                later = [each for each in after if each.at.mono_ns >= gone.at.mono_ns]
                assert doubts(later) or not any(map(is_news, later))
        elif name in ("drop", "split", "unplug"):
            assert [card for _, _, card, _ in more if card is not None] == []
        elif name == "flip":
            assert len([card for _, _, card, _ in more.elements() if card is not None]) <= 1


def doubts(seen: Sequence[AnyObservation]) -> bool:
    return any(isinstance(each, DOUBTS) for each in seen)


def is_news(seen: AnyObservation) -> bool:
    return isinstance(seen, Reported) and not isinstance(seen, CopyHeard)


@each_capture
def test_the_division_into_chunks_changes_nothing(path: Path) -> None:
    """Byte by byte, the observations have the same moments, and the events are the same."""
    played = golden.play(capture(path).header, disturbances.split(golden.script(capture(path)), Random()))
    assert played.observations == undisturbed(path).observations
    assert events(played) == events(undisturbed(path))


@each_capture
def test_a_disconnected_cable_is_on_record(path: Path) -> None:
    """The record shows the disconnection and, after the next report, that reports may be missing."""
    for seed in range(SEEDS):
        worse = disturbances.unplug(golden.script(capture(path)), Random(f"{path.stem} {seed}"))
        after = golden.play(capture(path).header, worse).observations
        out = next(at for at, each in enumerate(after) if isinstance(each, LinkClosed))
        assert after[out].at.utc_us + disturbances.AWAY_US <= after[out + 1].at.utc_us
        news = [each for each in after[out:] if is_news(each)]
        if news and any(map(is_news, after[:out])):
            assert isinstance(news[0], Resumed)


def heard(path: Path, script: Script) -> list[tuple[int, tuple[AnyObservation, ...]]]:
    """Return for each record of a script its index and its observations."""
    player, found = Player(capture(path).header), []
    for at, (at_us, incoming) in enumerate(script):
        player.pass_time(at_us)
        before = len(player.observations)
        player.take(incoming, Now(at_us, at_us * 1000))
        if isinstance(incoming, Received):
            found.append((at, tuple(player.observations[before:])))
    return found


def without_copies(path: Path) -> Script:
    """The script without redundant copies."""
    script = golden.script(capture(path))
    copies = {at for at, seen in heard(path, script) if seen and all(isinstance(each, CopyHeard) for each in seen)}
    return tuple(each for at, each in enumerate(script) if at not in copies)


def may_be_copied(path: Path, seen: Sequence[AnyObservation]) -> bool:
    """Whether the device may repeat this card: it has a number, or it was dealt and arrived complete."""
    card = next((each for each in seen if isinstance(each, CardSeen)), None)
    if card is None or not all(isinstance(each, Reported) for each in seen):
        return False
    return numbered(path) or (card.place is Place.DEALT and (card.card is not None or card.code.isalnum()))


@each_capture
def test_a_repeated_card_changes_nothing(path: Path) -> None:
    """Each card that the device reported once is repeated, if the family repeats cards."""
    if getattr(golden.settings_of(capture(path).header), "copies", 2) == 1:
        return  # every report is then new
    script = without_copies(path)
    plain = golden.play(capture(path).header, script)
    for at, seen in heard(path, script):
        if may_be_copied(path, seen) and script[at + 1].input != script[at].input:
            again = (*script[: at + 1], script[at], *script[at + 1 :])
            played = golden.play(capture(path).header, again)
            assert cards(played.observations) == cards(plain.observations)
            assert events(played) == events(plain)
