"""The README is true: every command in it runs, its configuration loads, its links lead somewhere."""

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

from shoed import config
from shoed.audit import Auditor
from shoed.rules.load import GAMES, book

ROOT: Final = Path(__file__).resolve().parent.parent
README: Final = (ROOT / "README.md").read_text()
COMMANDS: Final = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]
PATIENCE_S: Final = 30.0


def said(words: list[str], tmp_path: Path, told: str = "") -> str:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment,
        input=told,
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
    """For what runs for ever: it says that it works, and a SIGTERM ends it with status 0."""
    with subprocess.Popen(
        shoed(words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout
            line = ""
            while wanted not in line:
                line = process.stdout.readline()
                assert line, f"it ended before it said {wanted!r}"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0


def dev_demo(words: list[str], tmp_path: Path) -> None:
    """As `./dev demo` hands it on, fast and bounded."""
    assert re.search(r"^  demo\b", said([str(ROOT / "dev"), "--help"], tmp_path), re.MULTILINE)
    assert said(shoed(["demo", *words, "--rounds", "3", "--fast"]), tmp_path).count("result: ") == 3


def dev_test(words: list[str], tmp_path: Path) -> None:
    """It is what runs this; here it only has to exist."""
    assert words == []
    assert re.search(r"^  test\b", said([str(ROOT / "dev"), "--help"], tmp_path), re.MULTILINE)


def ports(words: list[str], tmp_path: Path) -> None:
    said(shoed(["ports", *words]), tmp_path)


def check(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    assert "good: bac-901" in said(shoed(["check", *words]), tmp_path)


def run(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    until_stopped(["run", *words], "ready: bac-901", tmp_path)


def rig(words: list[str], tmp_path: Path) -> None:
    """At a free port, and with the link in our own directory."""
    mine = [word.replace(":4001", ":0").replace("/tmp/", f"{tmp_path}/") for word in words]  # noqa: S108  # the README's
    until_stopped(["rig", *mine], "in [table.shoe] write: port = ", tmp_path)


def tell(words: list[str], tmp_path: Path) -> None:
    """To a daemon that has heard all that the page tells before."""
    settings(tmp_path)
    page = [shlex.split(command)[2:] for command in COMMANDS if shlex.split(command)[1] == "tell"]
    with serving(tmp_path):
        for each in page[: page.index(words) + 1]:
            said(shoed(["tell", *each]), tmp_path)


def journal(words: list[str], tmp_path: Path) -> None:
    settings(tmp_path)
    with serving(tmp_path):
        said(shoed(["tell", "bac-901", "open-bets", "--role", "dealer", "--config", "shoed.toml"]), tmp_path)
        assert "bac-901" in said(shoed(["journal", *words]), tmp_path)


@contextmanager
def serving(tmp_path: Path) -> Iterator[None]:
    words = shoed(["run", "--config", "shoed.toml"])
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            assert any("ready: bac-901" in line for line in process.stdout)
            yield
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)


LINES: Final = {
    "rounds.jsonl": '{"id": 7, "cards": ["QS", "3H", "7D", "JC", "JH"]}\n',
    "tables.jsonl": '{"id": 7, "cards": ["QS", "3H", "7D", "JC", "JH"], "bets": []}\n',
}


def rules(words: list[str], tmp_path: Path) -> None:
    """Pages say something; what reads lines answers each."""
    if "<" not in words:
        assert len(said(shoed(["rules", *words]), tmp_path).splitlines()) >= len(GAMES)
        return
    *words, _, file = words
    answer = json.loads(said(shoed(["rules", *words]), tmp_path, LINES[file]))
    assert (answer["id"], answer["outcome"]) == (7, "player")


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
    """The README's, with devices and directories that do no harm here."""
    text = example().replace('name = "rws"', f'name = "rws"\nstate_dir = "{tmp_path}/state"')
    text = text.replace("127.0.0.1:1883", "127.0.0.1:1").replace("10.0.0.7:4001", "127.0.0.1:1")
    (tmp_path / "shoed.toml").write_text(text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str, tmp_path: Path) -> None:
    """As it stands there, but bounded, and elsewhere than on a machine's own ports and directories."""
    program, verb, *words = shlex.split(command)
    RUNS[program, verb](words, tmp_path)


def test_the_two_commands_that_matter_are_there() -> None:
    """Whoever reads no further has these."""
    assert COMMANDS[:2] == ["./dev demo", "./dev test"]


def test_the_example_is_a_whole_configuration(tmp_path: Path) -> None:
    """It loads as it stands."""
    file = tmp_path / "shoed.toml"
    file.write_text(example())
    loaded = config.load(str(file))
    assert (loaded.site, [table.name for table in loaded.tables]) == ("rws", ["bac-901"])


def test_the_page_of_settle_says_what_settle_says() -> None:
    """Its example is answered as it stands there, and every field and code has its row."""
    page = (ROOT / "docs" / "rules-settle.md").read_text()
    line, answer = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    auditor = Auditor(book("super-six-plus"), 8)
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
    few = Auditor(book("super-six-plus"), 4).answer(json.dumps({"cards": ["AS"] * 6}).encode())
    codes.add(json.loads(few)["error"]["code"])
    assert named == {"cards", *answer, *codes}


def test_a_book_more_is_a_game_more(tmp_path: Path) -> None:
    """A file beside the five is all it takes to list, show, settle and configure a game."""
    for room in ("shoed", "firmware_protocols"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    books = tmp_path / "shoed" / "rules" / "books"
    sixth = (
        (books / "easy-six.toml").read_text().replace('id = "easy-six"\nletter = "E"', 'id = "lazy-six"\nletter = "L"')
    )
    (books / "lazy-six.toml").write_text(sixth.replace('"6:1"', '"7:1"'))
    (tmp_path / "shoed.toml").write_text(example().replace("commission", "lazy-six"))
    listed = said(shoed(["rules", "list"]), tmp_path).splitlines()
    assert {line.split()[0] for line in listed} == {*GAMES, "lazy-six"}
    assert "7:1" in said(shoed(["rules", "show", "lazy-six"]), tmp_path).split()
    line = '{"cards": ["10S", "3H", "6D", "3C"]}\n'  # both on 6, and nobody draws
    assert json.loads(said(shoed(["rules", "settle", "lazy-six"]), tmp_path, line))["pays"]["easy-six"] == "7:1"
    assert "good: bac-901" in said(shoed(["check", "shoed.toml"]), tmp_path)


def test_every_link_leads_somewhere() -> None:
    """To a file of the project."""
    links = re.findall(r"\]\(([^)#]+)", README)
    assert "docs/demo.svg" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
