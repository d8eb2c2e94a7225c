"""Golden captures of every family: what a device said, and what must follow from it, on its line and on worse ones.

The captures are found where the families keep them: one that somebody adds is tried without a word here.
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
from shoed.now import Now
from shoed.observations import (
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
from shoed.ports.capture import Capture, write
from shoed.rig import covering, disturbing, golden
from shoed.rig.golden import Played, Player, Script
from shoed.step import Received
from tests import foreign_shoe

EVERY: Final = golden.captures()
SEEDS: Final = 6

each_capture: Final = pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parts[-3]}/{path.stem}")


@cache
def capture(path: Path) -> Capture:
    return golden.load(path)


@cache
def undisturbed(path: Path) -> Played:
    return golden.play(capture(path).header, golden.script(capture(path)))


# ---------------------------------------------------------------------------------------------- what must follow


@each_capture
def test_what_follows_is_what_must_follow(path: Path) -> None:
    """Every observation and every event, to the last character; what is right to change: ./dev bless REASON FILE."""
    expected = golden.expected(path.with_suffix(".expect").read_text(encoding="utf-8"), path.stem)
    assert tuple(golden.lines(undisturbed(path))) == expected.lines


@each_capture
def test_a_capture_says_where_it_comes_from(path: Path) -> None:
    """Written from the page or seen on a device; it lies with its family, and speaks a version that is known."""
    header = capture(path).header
    assert dict(header.others)["origin"] in {"synthetic", "observed"}
    assert header.family.replace("-", "_") == path.parts[-3]
    assert header.firmware in FAMILIES[header.family].firmware
    assert header.line == FAMILIES[header.family].line
    assert header.note


def test_nothing_is_expected_of_a_capture_that_is_gone() -> None:
    """Each expectation has its capture."""
    here = golden.FAMILIES_HERE.glob("*/captures/*")
    assert {file.with_suffix(".capture") for file in here} == set(EVERY)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_family_has_a_capture_of_all_that_it_can_say(family: Family[Settings]) -> None:
    """Every message, every choice in it and every fault of the family's own tables, and the faults in each version."""
    own = [capture(path) for path in EVERY if capture(path).header.family == family.name]
    held = {line for each in own for line in covering.held(each)}
    assert family.messages
    assert [line for line in covering.required(family) if line not in held] == []
    for firmware in family.firmware:
        of_it = {line for each in own if each.header.firmware == firmware for line in covering.held(each)}
        assert [line for line in covering.named(family) if line not in of_it] == []


def test_what_no_capture_holds_is_missed() -> None:
    """Without the capture of an error, its code is what a family lacks."""
    angel_eye = [path for path in EVERY if path.parts[-3] == "angel_eye" and path.stem != "error-5-reverse-midway"]
    held = {line for path in angel_eye for line in covering.held(capture(path))}
    missing = [line for line in covering.required(FAMILIES["angel-eye"]) if line not in held]
    assert missing == ["ErrorRaised code=5", "ErrorCleared code=5"]


@pytest.mark.parametrize("path", [path for path in EVERY if path.parts[-3] == "angel_eye"], ids=lambda path: path.stem)
def test_the_checks_of_angel_eye_were_not_reckoned_by_our_codec(path: Path) -> None:
    """Each report that is taken has the BCC that a few lines of XOR give it, which share nothing with our codec."""
    whole = "bcc_span=whole" in dict(capture(path).header.others).get("settings", "")
    for seen in undisturbed(path).observations:
        if isinstance(seen, Reported):
            raw = bytes.fromhex(seen.frame.raw)
            by_hand = foreign_shoe.report(chr(raw[1]), f"{chr(raw[2])} {raw[3:-3].hex()}")
            assert raw[:-2] == by_hand[:-2]
            assert int(raw[-2:], 16) == int(by_hand[-2:], 16) ^ (raw[0] if whole else 0)


@pytest.mark.parametrize("path", [path for path in EVERY if path.parts[-3] == "open_shoe"], ids=lambda path: path.stem)
def test_the_checks_of_open_shoe_were_not_reckoned_by_our_codec(path: Path) -> None:
    """Each report that is taken ends with the CRC-32 that the standard library gives its unescaped body."""
    for seen in undisturbed(path).observations:
        if isinstance(seen, Reported):
            inside = bytes.fromhex(seen.frame.raw)[1:-1]
            body = re.sub(rb"\x7d(.)", lambda escape: bytes((escape[1][0] ^ 0x20,)), inside, flags=re.DOTALL)
            assert zlib.crc32(body[:-4]).to_bytes(4) == body[-4:]


# ---------------------------------------------------------------------------------------------- blessing


def test_an_expectation_is_written_anew_with_a_reason_that_stays(tmp_path: Path) -> None:
    """Each writing leaves its reason; where nothing changed nothing is written."""
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
    ("head", "said"),
    [
        ("", "one.expect:1: .*the first line must be shoed-expect 1"),
        ("shoed-expect 2\nbecause so\n\n", "one.expect:1: "),
        ("shoed-expect 1\n\n", "one.expect:2: nobody says why"),
        ("shoed-expect 1\nbecause \n\n", "one.expect:2: .*gives no reason"),
        ("shoed-expect 1\nbecause so\nsince then\n\n", "one.expect:3: .*gives no reason"),
    ],
)
def test_an_expectation_without_a_reason_is_refused(head: str, said: str) -> None:
    """Nobody has to believe what nobody stands for."""
    with pytest.raises(CaptureError, match=said):
        golden.expected(head, "one.expect")


@pytest.mark.parametrize("words", [(), ("why",), ("", "1.capture"), ("1.capture", "2.capture"), ("a\nb", "3.expect")])
def test_nothing_is_blessed_without_a_reason(words: tuple[str, ...]) -> None:
    """Wrong use says how it is used, and writes nothing."""
    with pytest.raises(UsageError, match="REASON FILE"):
        golden.main(words)


def test_settings_that_a_family_has_not_are_refused(tmp_path: Path) -> None:
    """With those that it has; and so is a value that cannot be."""
    header = capture(EVERY[0]).header
    for settings, said in (("copis=1", "no setting copis; known: bcc_span"), ("copies=many", "write KEY=VALUE")):
        path = tmp_path / "one.capture"
        path.write_text(write(Capture(replace(header, others=(("settings", settings),)), ())))
        with pytest.raises(CaptureError, match=said):
            golden.settings_of(golden.load(path).header)


# ---------------------------------------------------------------------------------------------- worse lines

DOUBTS: Final = (SequenceJumped, SequenceClashed, Resumed, FrameRejected, LinkClosed)


def cards(seen: Sequence[AnyObservation]) -> Counter[tuple[object, ...]]:
    return Counter(face(each) for each in seen if isinstance(each, CardSeen))


def face(card: CardSeen) -> tuple[object, ...]:
    return card.place, card.position, card.card, card.code


def numbered(path: Path) -> bool:
    """Whether the device numbers its reports: else nobody can know that one is lost, or came again too late."""
    return any(isinstance(each, Reported) and each.frame.sequence for each in undisturbed(path).observations)


def events(played: Played) -> list[object]:
    """Without the row and the offset of their bytes, which depend on how these were cut and what came before."""
    told = [(each.type, each.utc_us, msgspec.to_builtins(each.data)) for each in played.events]
    for _, _, data in told:
        data.pop("provenance", None)
        data.pop("offset", None)
    return list(told)


@each_capture
@pytest.mark.parametrize("name", disturbing.EVERY)
def test_no_card_comes_twice_and_what_is_lost_is_on_record(path: Path, name: str) -> None:
    """On a line that does this to it: nothing crashes, and whoever reads the record sees where to doubt it.

    Between a card and itself once more stands a doubt, and behind a card that is lost, unless nothing that bears a
    number follows. Where no report is numbered a lost card cannot be known, but no loss makes another face; without a
    check a flipped bit makes one other face, and no more.
    """
    before = undisturbed(path).observations
    if name == "flip" and any(isinstance(each, FrameRejected) for each in before):
        return  # a second flipped bit may mend what the first one damaged
    for seed in range(SEEDS):
        worse = disturbing.EVERY[name](golden.script(capture(path)), Random(f"{path.stem} {seed}"))
        after = golden.play(capture(path).header, worse).observations
        more, lost = cards(after) - cards(before), cards(before) - cards(after)
        if numbered(path):
            for card in more:
                came = [at for at, each in enumerate(after) if isinstance(each, CardSeen) and face(each) == card]
                assert doubts(after[came[0] : came[-1]])
            for gone in [each for each in before if isinstance(each, CardSeen) and lost[face(each)]]:
                behind = [each for each in after if each.at.mono_ns >= gone.at.mono_ns]
                assert doubts(behind) or not any(map(is_news, behind))
        elif name in ("drop", "split", "unplug"):
            assert [card for _, _, card, _ in more if card is not None] == []
        elif name == "flip":
            assert len([card for _, _, card, _ in more.elements() if card is not None]) <= 1


def doubts(seen: Sequence[AnyObservation]) -> bool:
    return any(isinstance(each, DOUBTS) for each in seen)


def is_news(seen: AnyObservation) -> bool:
    return isinstance(seen, Reported) and not isinstance(seen, CopyHeard)


@each_capture
def test_how_the_bytes_are_cut_changes_nothing(path: Path) -> None:
    """Byte by byte: the same observations at the same moments, and the same events."""
    played = golden.play(capture(path).header, disturbing.split(golden.script(capture(path)), Random()))
    assert played.observations == undisturbed(path).observations
    assert events(played) == events(undisturbed(path))


@each_capture
def test_an_unplugged_cable_is_on_record(path: Path) -> None:
    """That it was out, and, once the device is heard again, that reports may be missing."""
    for seed in range(SEEDS):
        worse = disturbing.unplug(golden.script(capture(path)), Random(f"{path.stem} {seed}"))
        after = golden.play(capture(path).header, worse).observations
        out = next(at for at, each in enumerate(after) if isinstance(each, LinkClosed))
        assert after[out].at.utc_us + disturbing.AWAY_US <= after[out + 1].at.utc_us
        news = [each for each in after[out:] if is_news(each)]
        if news and any(map(is_news, after[:out])):
            assert isinstance(news[0], Resumed)


def heard(path: Path, script: Script) -> list[tuple[int, tuple[AnyObservation, ...]]]:
    """What each record of a script gave: its place in the script, and what was observed."""
    player, found = Player(capture(path).header), []
    for at, (at_us, came) in enumerate(script):
        player.pass_time(at_us)
        before = len(player.observations)
        player.take(came, Now(at_us, at_us * 1000))
        if isinstance(came, Received):
            found.append((at, tuple(player.observations[before:])))
    return found


def told_once(path: Path) -> Script:
    """The script without the copies that are no news."""
    script = golden.script(capture(path))
    copies = {at for at, seen in heard(path, script) if seen and all(isinstance(each, CopyHeard) for each in seen)}
    return tuple(each for at, each in enumerate(script) if at not in copies)


def may_be_copied(path: Path, seen: Sequence[AnyObservation]) -> bool:
    """A card that the device may tell again: any that has a number, or one that was dealt and came whole."""
    card = next((each for each in seen if isinstance(each, CardSeen)), None)
    if card is None or not all(isinstance(each, Reported) for each in seen):
        return False
    return numbered(path) or (card.place is Place.DEALT and (card.card is not None or card.code.isalnum()))


@each_capture
def test_a_card_told_again_changes_nothing(path: Path) -> None:
    """Each card that the device told once, once more, where the family's custom is to tell it again."""
    if getattr(golden.settings_of(capture(path).header), "copies", 2) == 1:
        return  # every one of them is news then
    script = told_once(path)
    plain = golden.play(capture(path).header, script)
    for at, seen in heard(path, script):
        if may_be_copied(path, seen) and script[at + 1].came != script[at].came:
            again = (*script[: at + 1], script[at], *script[at + 1 :])
            played = golden.play(capture(path).header, again)
            assert cards(played.observations) == cards(plain.observations)
            assert events(played) == events(plain)
