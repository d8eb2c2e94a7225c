"""The conventions of all commands: help, examples, suggestions, the configuration, the output and the exit status."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shoed.cli import COMMANDS, ExitStatus, main, top_parser
from shoed.cli.options import CONFIG
from shoed.cli.parser import Parser, sentence
from tests.command_clients import shoed
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent
GOOD: Final = """
[site]
name = "rws"
state_dir = "state"
[[table]]
name = "bac-901"
game = "commission"
[table.shoe]
protocol = "angel-eye"
port = "tcp://127.0.0.1:1"
"""


def below(command: Parser, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Parser]]:
    yield words, command
    for name, each in command.commands.items():
        yield from below(each, (*words, name))


EVERY: Final = [found for name in COMMANDS for found in below(top_parser(name).commands[name], (name,))]


def written(folder: Path, text: str = GOOD) -> Path:
    path = folder / "shoed.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path)


# ---------------------------------------------------------------------------------------------- help and examples


@pytest.mark.parametrize(("words", "command"), EVERY, ids=lambda each: "-".join(each) if type(each) is tuple else "")
def test_every_help_has_the_purpose_and_an_example(
    words: tuple[str, ...], command: Parser, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every word of an example has a meaning, and the example is of this command."""
    assert main([*words, "--help"]) == ExitStatus.GOOD
    text = capsys.readouterr().out
    if words not in (("tell",), ("conform",)):
        assert sentence(command.purpose) in text
    assert command.examples
    for example in command.examples:
        assert f"  {example}\n" in text
        typed = shlex.split(example.partition(" <")[0])
        assert typed[: len(words) + 1] == ["shoed", *words]
        top = top_parser(typed[1])
        assert top.command_of(typed[1:]) is not top
        parsed, unknown = top.parse_known_args(typed[1:])
        assert "command" in parsed
        assert words == ("tell",) or unknown == []


async def test_the_list_of_commands_has_every_purpose() -> None:
    """The help of `shoed` itself."""
    done = await shoed("--help")
    listed = " ".join(done.out.split())
    assert all(f"{name} {about.purpose}" in listed for name, about in COMMANDS.items())


# ---------------------------------------------------------------------------------------------- mistyped words


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("chekc", "did you mean shoed check?"),
        ("rules setle", "did you mean shoed rules settle?"),
        ("journal shwo bac-901", "did you mean shoed journal show?"),
        ("rig angle-eye", "did you mean shoed rig angel-eye?"),
        ("zzz", "shoed --help lists the commands"),
        ("run --confg shoed.toml", '"--confg" is not known; did you mean --config?'),
        ("ports --lisen 3", '"--lisen" is not known; did you mean --listen?'),
        ("rules list --quiet", "shoed rules list --help lists the options"),
        ("tell bac-901 open-bets --rolle=dealer", "did you mean --role?"),
        ("log inf", '"inf" is not a valid value; did you mean info?'),
        ("log loud", "write one of debug, info, warning, error"),
        ("rig angel-eye --pty x --firmware ii-ez", "did you mean ii-ex?"),
        ("rig angel-eye --pty x --decks 3", "write one of 4, 5, 6, 7, 8, 9, 10"),
        ("rig angel-eye --pty x --seed x", '"x" is not a number; write a whole number, such as 7'),
        ("demo --seed 1.5", '"1.5" is not a number'),
        ("conform foo", "or replay:FILE; connected: "),
        ("tell bac-901 open-bets --role dealer --id=", 'id: "" is not valid; give text of 1 to 200 characters'),
        ("tell bac-901 open-bets --role dealer --author=", 'author: "" is not valid; give text of 1 to'),
    ],
)
def test_a_mistyped_word_has_a_suggestion(words: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is that of wrong use."""
    assert main(words.split()) == ExitStatus.WRONG_USE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert remedy in shown.err


@pytest.mark.parametrize("value", ["-1", "0", "x", "nan", "inf", "1e3"])
@pytest.mark.parametrize("words", ["ports --listen", "capture tcp://127.0.0.1:1 --protocol angel-eye --seconds"])
def test_a_time_is_more_than_zero_seconds(words: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other texts are wrong use."""
    assert main([*words.split(), value]) == ExitStatus.WRONG_USE
    assert f'"{value}" is not a time; write seconds' in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- the configuration


@pytest.mark.skipif(Path(CONFIG).exists(), reason="this machine has a configuration of its own")
@pytest.mark.parametrize(
    "words",
    [
        *("check", "status", "tell bac-901 open-bets --role dealer", "journal replay", "capture save bac-901"),
        *("journal show bac-901", "replay one.capture --table bac-901"),
    ],
)
def test_without_config_every_command_uses_the_file_of_the_service(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file is named without a line."""
    assert main(words.split()) == ExitStatus.WRONG
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{CONFIG}: cannot be read: No such file or directory; name a file that exists" in shown.err


def test_check_takes_the_file_with_or_without_the_option(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two different files are wrong use."""
    assert main(["check", str(config)]) == main(["check", "--config", str(config)]) == ExitStatus.GOOD
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert main(["check", str(config), "--config", f"{config}.old"]) == ExitStatus.WRONG_USE
    assert "are two files; write one of them" in capsys.readouterr().err


URLS: Final = [
    *("mqtt:/ann:s3cret@host", "ann:s3cret@host", "mqtt://ann:s3cret@host:99999", "mqtt://ann:s3cret@host:x"),
    *("mqtt://ann:s3cret", "mqtt://ann:s3cret/x@host", "mqtt://ann:s3cret#x@host", "mqtt://ann:s3cret@[::1"),
    *("MQTT:ann:s3cret@host", "//ann:s3cret@host", "mqtt://host/?password=s3cret", "mqtt://ann:\u2100s3cret@host"),
]


@pytest.mark.parametrize("url", URLS)
def test_no_message_contains_the_password_of_a_url(config: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also if the url of the broker is written as the port of a device."""
    of_broker = GOOD.replace("[[table]]", f'[mqtt]\nurl = "{url}"\n[[table]]')
    of_device = GOOD.replace("tcp://127.0.0.1:1", url)
    for text in (of_broker, of_device) if "@" in url else (of_broker,):
        config.write_text(text, encoding="utf-8")
        assert main(["check", str(config)]) == ExitStatus.WRONG
        shown = capsys.readouterr().err
        assert "s3cret" not in shown
        assert ": mqtt.url: " in shown or ": table.shoe.port: " in shown


async def test_the_log_of_the_daemon_does_not_contain_a_password(tmp_path: Path) -> None:
    """The daemon does not start, because the url is wrong."""
    config = written(tmp_path, GOOD.replace("[[table]]", '[mqtt]\nurl = "mqtt://ann:s3cret/x@host"\n[[table]]'))
    done = await shoed("run", "--config", config)
    assert (done.status, "s3cret" in done.err, "mqtt.url" in done.err) == (ExitStatus.WRONG, False, True)


# ---------------------------------------------------------------------------------------------- the output

PRINTING: Final = [
    *("--help", "--version", "rules settle --help", "tell --help", "rules list"),
    *("rules clauses commission", "check CONFIG", "decode --protocol angel-eye CONFIG"),
]


async def run_with(stdout: int, words: str, config: Path) -> tuple[int | None, str]:
    """The status and the errors, with Python's buffered output as in a service."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", *words.replace("CONFIG", str(config)).split()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        cwd=ROOT,
    )
    async with asyncio.timeout(PATIENCE_S):
        _, err = await process.communicate()
    return process.returncode, err.decode()


async def test_a_full_disk_is_an_error(config: Path) -> None:
    """The output is lost, and the message has a remedy."""
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        results = await asyncio.gather(*(run_with(full, words, config) for words in PRINTING))
    finally:
        os.close(full)
    message = "the output: No space left on device; free the disk, or use another file\n"
    assert dict(zip(PRINTING, results, strict=True)) == dict.fromkeys(PRINTING, (ExitStatus.WRONG, message))


async def test_a_closed_pipe_is_quiet(config: Path) -> None:
    """The status is that of a program which SIGPIPE ended."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        results = await asyncio.gather(*(run_with(writer, words, config) for words in PRINTING))
    finally:
        os.close(writer)
    assert dict(zip(PRINTING, results, strict=True)) == dict.fromkeys(PRINTING, (ExitStatus.PIPE_CLOSED, ""))


async def test_an_error_that_cannot_be_written_keeps_its_status(config: Path) -> None:
    """The standard error is a full disk."""
    for words, wanted in (("chekc", ExitStatus.WRONG_USE), (f"check {config}.none", ExitStatus.WRONG)):
        with Path("/dev/full").open("w") as full:  # noqa: ASYNC230 -- a device
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "shoed", *words.split()), stderr=full, stdout=asyncio.subprocess.DEVNULL
            )
            assert await process.wait() == wanted


# ---------------------------------------------------------------------------------------------- JSON


def test_check_reports_problems_as_json(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are stable; the status is the same as without --json."""
    assert main(["check", "--json", str(config)]) == ExitStatus.GOOD
    report = json.loads(capsys.readouterr().out)
    assert (report["file"], report["good"], report["site"], report["tables"]) == (str(config), True, "rws", ["bac-901"])
    config.write_text(GOOD.replace("name = ", "nmae = ", 1))
    assert main(["check", "--json", str(config)]) == ExitStatus.WRONG
    report = json.loads(capsys.readouterr().out)
    assert report["problems"][1] == {
        "file": str(config),
        "line": 3,
        "key": "site.nmae",
        "problem": "is not a known key",
        "remedy": "write name, or remove the key",
    }


async def test_ports_are_listed_as_json() -> None:
    """Without a port, the list is empty, and the status is 1."""
    done = await shoed("ports", "--json")
    listed = json.loads(done.out)
    assert done.status == (ExitStatus.GOOD if listed else ExitStatus.WRONG)
    assert all({"address", "stable", "device", "usb", "description", "families"} <= each.keys() for each in listed)
