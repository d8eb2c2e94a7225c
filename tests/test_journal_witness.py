"""The witness: it keeps verified heads, and names a head that contradicts an earlier one."""

import asyncio
import base64
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from shoed.bus.client import MqttMessage, connect
from shoed.cli.journal.witness import show
from shoed.errors import WitnessError
from shoed.journal.heads import Head, in_base64
from shoed.journal.keys import PUBLIC, announcement_text, pem
from shoed.journal.witness import SEEN, Judgement, Witness, witnessed
from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.brokers import PATIENCE
from tests.patience import PATIENCE_S
from tests.test_journal_heads import HEAD, signed

KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))
AT: Final = "2026-01-01T00:00:00.000000Z"


def head(row: int, sequence: int | None = None, key: Ed25519PrivateKey = KEY, **fields: object) -> Head:
    hashed = f"{row:064x}"
    unsigned = replace(HEAD, row=row, sequence=row if sequence is None else sequence, hash=hashed)
    return signed(replace(unsigned, **fields), key)


def take(witness: Witness, given: Head, table: str = "bac-901") -> Judgement:
    return witness.take(table, msgspec.json.encode(given), AT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "heads.jsonl"


def rows(path: Path) -> list[tuple[int, bool]]:
    """The recorded rows, and whether they have a problem."""
    return [(each.row, bool(each.problem)) for each in witnessed(path)]


def test_heads_are_recorded_with_the_time_of_receipt(path: Path) -> None:
    """The first one is announced with its key; heads that continue it need no words."""
    with Witness(path) as witness:
        first = take(witness, head(10))
        assert not first.is_problem
        assert (
            f"row 10: the first head, of the journal k3v9x2mq and the key {head(10).key}; the witness acc" in first.note
        )
        assert [take(witness, head(row)) for row in (20, 30)] == [SEEN, SEEN]
        assert take(witness, head(40, sequence=30)) == SEEN  # rows without an event
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [line["row"] for line in lines] == [10, 20, 30, 40]
    assert lines[1] == msgspec.to_builtins(head(20)) | {"received": AT}


def test_a_repeated_head_is_recorded_once(path: Path) -> None:
    """The broker repeats the retained message at each connection; after its restart it may have an older one."""
    for _ in range(2):
        with Witness(path) as witness:
            for row in (10, 20, 20, 10, 20):
                assert not take(witness, head(row)).is_problem
    assert rows(path) == [(10, False), (20, False)]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            head(20, hash="ff" * 32),
            f"rewritten, or a copy of it is in use: the witness has this row, with the hash {20:064x}",
        ),
        (head(20, shoe=9), "rewritten"),
        (head(10, hash="ff" * 32), f"this row, with the hash {10:064x}"),
        (head(15), "rewritten, or a copy of it is in use: the witness has row 20, with the sequence 20"),
        (head(15, sequence=25), "rewritten"),
        (head(25, sequence=19), "rewritten"),
        (head(30, key=OTHER_KEY), "another key signed the head: "),
        (head(5, key=OTHER_KEY, journal="other", incarnation="other"), "another key signed the head: "),
    ],
)
def test_a_contradiction_is_marked(path: Path, given: Head, text: str) -> None:
    """The genuine heads continue after it, and a repetition is silent. A restarted witness finds the same."""
    with Witness(path) as witness:
        take(witness, head(10))
        take(witness, head(20))
        found = take(witness, given)
        assert found.is_problem
        assert f"bac-901: row {given.row}: " in found.note
        assert text in found.note
        assert take(witness, given) == SEEN
        assert take(witness, head(30)) == SEEN
    assert rows(path) == [(10, False), (20, False), (given.row, True), (30, False)]
    with Witness(path) as witness:
        assert take(witness, given).is_problem


def announced(given: Head, by: Ed25519PrivateKey, journal: str = HEAD.journal) -> Head:
    previous, key = by.public_key().public_bytes_raw(), base64.b64decode(given.key)
    announcement = by.sign(announcement_text(journal, previous, key))
    return replace(given, previous=in_base64(previous), announcement=in_base64(announcement))


@pytest.mark.parametrize("keys", [(), (head(1).key,)], ids=["the first key", "a given key"])
def test_a_key_that_the_accepted_key_announced_is_accepted(path: Path, keys: tuple[str, ...]) -> None:
    """Also by the next witness of the file, and for all later heads."""
    changed = announced(head(20, key=OTHER_KEY), KEY)
    with Witness(path, keys) as witness:
        take(witness, head(10))
        note = f"bac-901: row 20: another key signs the heads, and the key before announced it: {changed.key}"
        assert take(witness, changed) == Judgement(note)
        assert take(witness, announced(head(30, key=OTHER_KEY), KEY)) == SEEN
    with Witness(path, keys) as witness:
        assert take(witness, head(40, key=OTHER_KEY)) == SEEN
    assert rows(path) == [(10, False), (20, False), (30, False), (40, False)]


@pytest.mark.parametrize(
    "given",
    [
        announced(head(20, key=OTHER_KEY), OTHER_KEY),
        announced(head(20, key=OTHER_KEY), KEY, "other"),
        replace(announced(head(20, key=OTHER_KEY), OTHER_KEY), previous=head(1).key),
        replace(announced(head(20, key=OTHER_KEY), KEY), announcement="x"),
    ],
)
def test_a_false_announcement_is_a_problem(path: Path, given: Head) -> None:
    """It is of another key, of another journal, or not a signature."""
    with Witness(path) as witness:
        take(witness, head(10))
        assert take(witness, given).is_problem


def test_a_new_incarnation_may_begin_at_an_earlier_row(path: Path) -> None:
    """A restored backup lacks rows; its heads have another word, which is announced."""
    with Witness(path) as witness:
        take(witness, head(20))
        restored = take(witness, head(15, incarnation="restored"))
        assert restored == Judgement("bac-901: row 15: another incarnation begins: k3v9x2mq restored")
        assert take(witness, head(16, incarnation="restored")) == SEEN
        other = take(witness, head(1, journal="new", incarnation="new"))
        assert other == Judgement("bac-901: row 1: another journal begins: new new")
        assert take(witness, head(20, hash="ff" * 32)).is_problem


@pytest.mark.parametrize(
    "payload",
    [
        b"nonsense",
        b"\xff",
        b"{}",
        msgspec.json.encode(replace(head(1), signature=head(2).signature)),
        msgspec.json.encode(head(1, table="bac-902")),
        b" " * 5000 + msgspec.json.encode(head(1)),
    ],
)
def test_a_message_of_another_sender_is_named_and_not_recorded(path: Path, payload: bytes) -> None:
    """Any client that may write the topic can send it. An empty message removes the retained head."""
    with Witness(path) as witness:
        assert witness.take("bac-901", b"", AT) == SEEN
        found = witness.take("bac-901", payload, AT)
    assert found.is_problem
    assert "search for another sender on the broker" in found.note
    assert rows(path) == []


def test_only_the_given_keys_are_accepted(path: Path) -> None:
    """Also for the first head."""
    with Witness(path, [head(1).key]) as witness:
        assert take(witness, head(5, key=OTHER_KEY)).is_problem
        assert "accepts" not in take(witness, head(10)).note
    with Witness(path, [head(1).key, head(1, key=OTHER_KEY).key]) as witness:
        assert take(witness, head(20, key=OTHER_KEY)) == SEEN
    assert rows(path) == [(5, True), (10, False), (20, False)]


def test_a_received_name_does_not_begin_a_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A message with a line feed in a name prints one line."""
    with Witness(path) as witness:
        show(take(witness, head(10, table="x\nbac-901: genuine")).note)
    assert capsys.readouterr().out.count("\n") == 1


def test_two_witnesses_do_not_share_a_file(path: Path) -> None:
    """Their lines would mix."""
    with Witness(path), pytest.raises(WitnessError, match="another witness writes the file"), Witness(path):
        pass


@pytest.mark.parametrize("part", [b'{"journal":"k3', b'{"jo', bytes(20), b'{"journal":' + bytes(20)])
def test_a_part_of_a_line_is_left_out(path: Path, part: bytes) -> None:
    """A power cut can leave it. It stays in the file."""
    with Witness(path) as witness:
        take(witness, head(10))
    with path.open("ab") as file:
        file.write(part)
    for row in (20, 30):
        with Witness(path) as witness:
            take(witness, head(row))
    assert rows(path) == [(10, False), (20, False), (30, False)]
    assert part + b"\n" in path.read_bytes()


@pytest.mark.parametrize("text", [b'[[table]]\nname = "bac-901"\n', b'{"id":"k3v9x2mq-t1-1","table":"t1"}', b"\n \n"])
def test_a_file_that_is_not_of_a_witness_is_not_changed(path: Path, text: bytes) -> None:
    """The error names the line. The file can be used by another process."""
    with Witness(path) as witness:
        take(witness, head(10))
    with path.open("ab") as file:
        file.write(text)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(WitnessError, match=f"{path}:[23]: this line is not a signed head, and the file is not"):
            Witness(path).__enter__()
    assert path.read_bytes() == before


# ---------------------------------------------------------------------------------------------- the command


class Running:
    """`shoed journal witness` as a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def prints(self, text: str) -> str:
        """The next line with the text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while line := (await self.process.stdout.readline()).decode():
                self.lines.append(line)
                if text in line:
                    return line
        raise AssertionError(f"the witness ended without {text!r}: {self.lines}")

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def witnessing(path: Path, *words: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", "journal", "witness", str(path), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def publish(broker: Broker, *heads: Head, site: str = "rws") -> None:
    async with connect(broker.settings(), "publisher", None, PATIENCE) as connection:
        for each in heads:
            payload = msgspec.json.encode(each)
            await connection.publish(MqttMessage(f"shoed/v1/{site}/{each.table}/head", payload, retain=True))


async def test_the_command_keeps_heads_across_restarts_of_the_broker(tmp_path: Path, path: Path) -> None:
    """The retained head arrives again after each connection. The exit status is 0 without a problem."""
    public = tmp_path / "journal.pub"
    public.write_bytes(pem("PUBLIC KEY", PUBLIC + KEY.public_key().public_bytes_raw()))
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        words = ("--url", broker.settings().at, "--site", "rws", "--key", str(public))
        async with witnessing(path, *words) as witness:
            await witness.prints("connected; the heads of rws are appended to")
            await publish(broker, head(10), head(11, table="bac-902"))
            await witness.prints("bac-902: row 11: the first head")
            broker.kill()
            await witness.prints("check that the broker runs")
            await broker.start()
            await witness.prints("connected")
            await publish(broker, head(20), head(1, table="bac-903"))
            await witness.prints("bac-903: row 1")
            assert await witness.stop() == 0
    assert rows(path) == [(10, False), (11, False), (20, False), (1, False)]


async def test_the_command_names_a_rewritten_journal_and_ends_with_status_1(path: Path) -> None:
    """Another site on the same broker is not recorded."""
    async with (
        running_broker(BrokerKind.MOSQUITTO) as broker,
        witnessing(path, "--url", broker.settings().at, "--site", "rws") as witness,
    ):
        await witness.prints("connected")
        await publish(broker, head(10), head(10, hash="ff" * 32))
        line = await witness.prints("rewritten")
        assert re.fullmatch(r"\S+Z PROBLEM: bac-901: row 10: the journal was rewritten.*\n", line)
        assert await witness.stop() == 1
    assert [(each.row, bool(each.problem), bool(each.received)) for each in witnessed(path)] == [
        (10, False, True),
        (10, True, True),
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--url", "mqtt://a"), "--url requires --site"),
        (("--url", "mqtt://a", "--site", "RWS_1"), '--site: "RWS_1" is not the name of a site; use 1 to 32 of'),
        (("--site", "+"), '--site: "+" is not the name of a site'),
        (("--url", "http://a", "--site", "rws"), "--url: "),
        (("--url", "mqtt://a", "--config", "c.toml"), "--url and --config name two brokers"),
        (("--url", "mqtt://a", "--site", "rws", "--key", "absent.pub"), "absent.pub cannot be read: No such file"),
    ],
)
async def test_wrong_options_are_refused(path: Path, words: tuple[str, ...], text: str) -> None:
    """The status is 2, and no file is made."""
    async with witnessing(path, *words) as witness:
        await witness.prints(text)
        assert await witness.process.wait() == 2
    assert list(path.parent.iterdir()) == []
