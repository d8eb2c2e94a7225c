"""The README is correct: its commands run, its configuration loads, and its links exist."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from shoed.cli.rules.settle import RoundSettler
from shoed.rules.load import GAMES, book
from shoed.service import config
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = (ROOT / "README.md").read_text()
COMMANDS: Final = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]


def output_of(words: list[str], tmp_path: Path, text_input: str = "") -> str:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment,
        input=text_input,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shoed(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "shoed", *words]


def until_stopped(words: list[str], wanted: str, tmp_path: Path) -> None:
    """Run a command that does not end: it prints the wanted text, and SIGTERM ends it with status 0."""
    with subprocess.Popen(
        shoed(words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout
            line = ""
            while wanted not in line:
                line = process.stdout.readline()
                assert line, f"the command ended before it printed {wanted!r}"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0


def dev_demo(words: list[str], tmp_path: Path) -> None:
    """Run the same `shoed demo` as `./dev demo`, with a limit of rounds."""
    assert re.search(r"^  demo\b", output_of([str(ROOT / "dev"), "--help"], tmp_path), re.MULTILINE)
    assert output_of(shoed(["demo", *words, "--rounds", "3", "--fast"]), tmp_path).count("result: ") == 3


def dev_test(words: list[str], tmp_path: Path) -> None:
    """`./dev test` runs this test; here it must exist."""
    assert words == []
    assert re.search(r"^  test\b", output_of([str(ROOT / "dev"), "--help"], tmp_path), re.MULTILINE)


def ports(words: list[str], tmp_path: Path) -> None:
    output_of(shoed(["ports", *words]), tmp_path)


def check(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    assert "good: bac-901" in output_of(shoed(["check", *words]), tmp_path)


def run(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    until_stopped(["run", *words], "ready: 1 table; bac-901", tmp_path)


def rig(words: list[str], tmp_path: Path) -> None:
    """Use a free port, and a link in the directory of the test."""
    adapted = [word.replace(":4001", ":0").replace("/tmp/", f"{tmp_path}/") for word in words]  # noqa: S108  # the path of the README
    until_stopped(["rig", *adapted], "in [table.shoe] write: port = ", tmp_path)


def tell(words: list[str], tmp_path: Path) -> None:
    """Send the command after the earlier commands of the page."""
    settings(tmp_path)
    page = [shlex.split(command)[2:] for command in COMMANDS if shlex.split(command)[1] == "tell"]
    with serving(tmp_path):
        for each in page[: page.index(words) + 1]:
            output_of(shoed(["tell", *each]), tmp_path)


def journal(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    with serving(tmp_path):
        output_of(shoed(["tell", "bac-901", "open-bets", "--role", "dealer", "--config", "shoed.toml"]), tmp_path)
        assert "bac-901" in output_of(shoed(["journal", *words]), tmp_path)


@contextmanager
def serving(tmp_path: Path) -> Iterator[None]:
    words = shoed(["run", "--config", "shoed.toml"])
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            assert any("ready: 1 table; bac-901" in line for line in process.stdout)
            yield
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)


def rules(words: list[str], tmp_path: Path) -> None:
    """A page has lines; a command with an input answers each line."""
    if "<" not in words:
        assert len(output_of(shoed(["rules", *words]), tmp_path).splitlines()) >= len(GAMES)
        return
    *words, _, file = words
    rounds = (ROOT / file).read_text()
    answers = [json.loads(line) for line in output_of(shoed(["rules", *words]), tmp_path, rounds).splitlines()]
    assert [answer["id"] for answer in answers] == [json.loads(line)["id"] for line in rounds.splitlines()]
    assert all(answer["complete"] for answer in answers)


RUNS: Final[Mapping[tuple[str, str], Callable[[list[str], Path], None]]] = {
    ("./dev", "demo"): dev_demo,
    ("./dev", "test"): dev_test,
    (".venv/bin/shoed", "ports"): ports,
    (".venv/bin/shoed", "check"): check,
    (".venv/bin/shoed", "run"): run,
    (".venv/bin/shoed", "rig"): rig,
    (".venv/bin/shoed", "rules"): rules,
    (".venv/bin/shoed", "tell"): tell,
    (".venv/bin/shoed", "journal"): journal,
}


def example() -> str:
    (toml,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    return str(toml)


def settings(tmp_path: Path) -> None:
    """Write the configuration of the README, with a broker and a device that do not exist."""
    text = example().replace("127.0.0.1:1883", "127.0.0.1:1").replace("10.0.0.7:4001", "127.0.0.1:1")
    (tmp_path / "shoed.toml").write_text(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str, tmp_path: Path) -> None:
    """Each command runs with limits, and without the ports and directories of the machine."""
    program, verb, *words = shlex.split(command)
    RUNS[program, verb](words, tmp_path)


def test_the_two_main_commands_are_the_first() -> None:
    """They are `./dev demo` and `./dev test`."""
    assert COMMANDS[:2] == ["./dev demo", "./dev test"]


def test_the_example_is_a_complete_configuration(tmp_path: Path) -> None:
    """It loads without a change."""
    file = tmp_path / "shoed.toml"
    file.write_text(example())
    loaded = config.load(str(file))
    assert (loaded.site, [table.name for table in loaded.tables]) == ("rws", ["bac-901"])


def test_the_page_of_settle_is_correct() -> None:
    """Its example has the printed answer, and every field and code has a row."""
    page = (ROOT / "docs" / "rules-settle.md").read_text()
    line, answer = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    auditor = RoundSettler(book("super-six-plus"), 8)
    assert json.loads(auditor.answer(json.dumps(line).encode())) == answer
    named = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(.*?)`", row)}
    codes = {
        json.loads(auditor.answer(wrong.encode()))["error"]["code"]
        for wrong in (
            "{",
            "{}",
            '{"cards": ["1S"]}',
            '{"cards": ["4S", "5S", "5S", "4S", "AH"]}',
        )
    }
    few = RoundSettler(book("super-six-plus"), 4).answer(json.dumps({"cards": ["AS"] * 6}).encode())
    codes.add(json.loads(few)["error"]["code"])
    assert named == {"cards", *answer, *codes}


def test_a_further_book_is_a_further_game(tmp_path: Path) -> None:
    """With one more file, the game can be listed, shown, settled and configured."""
    for room in ("shoed", "firmware_protocols"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    books = tmp_path / "shoed" / "rules" / "books"
    sixth = (
        (books / "easy-six.toml").read_text().replace('id = "easy-six"\nletter = "E"', 'id = "lazy-six"\nletter = "L"')
    )
    (books / "lazy-six.toml").write_text(sixth.replace('"6:1"', '"7:1"'))
    (tmp_path / "shoed.toml").write_text(example().replace("commission", "lazy-six"))
    listed = output_of(shoed(["rules", "list"]), tmp_path).splitlines()
    assert {line.split()[0] for line in listed} == {*GAMES, "lazy-six"}
    assert "7:1" in output_of(shoed(["rules", "show", "lazy-six"]), tmp_path).split()
    line = '{"cards": ["10S", "3H", "6D", "3C"]}\n'  # both hands have 6 points, and no third card is drawn
    assert json.loads(output_of(shoed(["rules", "settle", "lazy-six"]), tmp_path, line))["pays"]["easy-six"] == "7:1"
    assert "good: bac-901" in output_of(shoed(["check", "shoed.toml"]), tmp_path)


def test_every_link_exists() -> None:
    """It names a file of the project."""
    links = re.findall(r"\]\(([^)#]+)", README)
    assert "docs/demo.svg" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
