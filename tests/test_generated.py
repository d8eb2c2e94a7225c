"""Generated files equal their generated text, and the check names a file that differs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from docs import generate
from firmware_protocols import FAMILIES

ROOT: Final = Path(__file__).resolve().parent.parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of every generated file, in another directory."""
    for name in generate.GENERATED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_tree_is_up_to_date_in_every_process(seed: str) -> None:
    """The generated text depends on the code only, and not on the hash seed of a process."""
    command: list[str | Path] = [sys.executable, ROOT / "docs/generate.py", "--check"]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True)


@pytest.mark.parametrize("name", generate.GENERATED)
def test_a_file_with_a_changed_byte_is_named(copy: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The check names the file and the command that corrects the file; this command corrects it."""
    file = copy / name
    right = file.read_text()
    at = right.index(generate.OPENED) + 40 if generate.OPENED in right else 40
    file.write_text(right[:at] + chr(ord(right[at]) ^ 1) + right[at + 1 :])
    assert generate.main(["--check"], copy) == 1
    printed = capsys.readouterr().err
    assert printed.splitlines() == [f"{file}: differs from the code; run: ./dev generate"]
    assert generate.main([], copy) == 0
    assert file.read_text() == right


def test_every_page_with_a_generated_block_is_generated() -> None:
    """Otherwise a block would not be updated."""
    pages = {page for folder in ("docs", "firmware_protocols") for page in (ROOT / folder).rglob("*.md")}
    marked = {page for page in pages if generate.OPENED in page.read_text()}
    assert {str(page.relative_to(ROOT)) for page in marked} <= set(generate.GENERATED)


def test_writing_again_changes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are up to date are not written."""
    assert generate.main([], copy) == 0
    assert capsys.readouterr().out == ""


def test_a_missing_file_is_out_of_date(copy: Path) -> None:
    """An absent file fails the check, and is written."""
    rules = copy / "udev/70-shoed.rules"
    rules.unlink()
    assert generate.main(["--check"], copy) == 1
    assert generate.main([], copy) == 0
    assert rules.read_text() == (ROOT / "udev/70-shoed.rules").read_text()


def test_only_the_text_between_the_marks_is_written() -> None:
    """The text around a block does not change."""
    page = "# Page\n<!-- generated: codes -->\nold\n<!-- end -->\nafter\n"
    fill = generate.blocks(lambda: {"codes": "| new |\n"})
    assert fill(page) == "# Page\n<!-- generated: codes -->\n| new |\n<!-- end -->\nafter\n"
    assert fill(fill(page)) == fill(page)


@pytest.mark.parametrize(
    "page",
    [
        "no block at all\n",
        "<!-- generated: cards -->\n<!-- end -->\n",
        "<!-- generated: codes -->\nnever closed\n",
        "<!-- generated: codes -->\n<!-- end -->\n" * 2,
    ],
)
def test_a_table_without_its_one_block_is_an_error(page: str) -> None:
    """A table without a block, and a block without a table, are errors."""
    with pytest.raises(generate.MarkError, match="codes"):
        generate.blocks(lambda: {"codes": "| new |"})(page)


def test_wrong_use_of_the_generator_is_status_2() -> None:
    """With an unknown argument nothing is written."""
    assert generate.main(["--chekc"]) == 2


def test_every_adapter_of_a_family_has_its_udev_rule() -> None:
    """The rules have the USB ids that the families declare."""
    rules = generate.udev_rules()
    for family in FAMILIES.values():
        for usb in family.usb_ids:
            kind = "raw" if usb.raw else "adapter"
            ids = f'ATTRS{{idVendor}}=="{usb.vendor:04x}", ATTRS{{idProduct}}=="{usb.product:04x}"'
            assert f'{ids}, ENV{{SHOED}}="{kind}"\n' in rules
