"""Commands on a damaged journal: SQLite returns values that no writer wrote, and no command ends with a traceback."""

from pathlib import Path
from random import Random
from typing import Final

import pytest

from shoed.cli import main
from shoed.journal.store import JOURNAL
from tests.test_salvage import PAGE, flipped, intact, pages_of

__all__ = ["intact"]

COMMANDS: Final = ("verify", "stats", "export", "replay", "backup")
SEEDS: Final = 12


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ["step", "event", "checkpoint"])
def test_two_exchanged_pages_are_a_change(
    intact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, seed: int
) -> None:
    """Two misdirected writes: each page is whole, and in a wrong place."""
    dice, data = Random(f"{name} {seed}"), intact.read_bytes()
    whole, pages = bytearray(data), len(data) // PAGE
    first, second = dice.choice(pages_of(intact, name)), dice.randrange(2, pages + 1)
    for here, there in ((first, second), (second, first)):
        whole[(here - 1) * PAGE : here * PAGE] = data[(there - 1) * PAGE : there * PAGE]
    require_an_answer(tmp_path, bytes(whole), capsys, dice)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_flipped_bits_are_a_change(intact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """In the schema, or in any page."""
    dice, data = Random(seed), bytearray(intact.read_bytes())
    flipped(data, 1 if seed % 2 else dice.randrange(1, len(data) // PAGE + 1), dice)
    require_an_answer(tmp_path, bytes(data), capsys, dice)


def require_an_answer(place: Path, data: bytes, capsys: pytest.CaptureFixture[str], dice: Random) -> None:
    (place / JOURNAL).write_bytes(data)
    for command in ("verify", dice.choice(COMMANDS[1:])):
        words = [str(place / "copy")] if command == "backup" else []
        status = main(["journal", command, *words, "--state-dir", str(place)])
        printed = capsys.readouterr()
        assert status in {0, 1}
        assert "Traceback" not in printed.err
        assert status == 0 or printed.out or printed.err
