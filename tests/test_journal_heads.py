"""A signed head: its bytes, its signature, and the file `heads.jsonl`."""

import base64
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from shoed.journal.head_log import LONGEST, NAME, HeadLog, logged_heads, newest_heads
from shoed.journal.heads import Head, is_genuine
from shoed.journal.keys import PUBLIC_FILE, daemon_key
from tests.test_journal_keys import needs_openssl

HEAD = Head(
    journal="k3v9x2mq",
    incarnation="k3v9x2mq",
    table="bac-901",
    row=812,
    sequence=96,
    shoe=2,
    round=17,
    time="2023-11-14T22:13:20.123456Z",
    hash="00ff" * 16,
    key="",
    signature="",
)
SIGNED_BYTES = b"""\
shoed head 1
journal k3v9x2mq
incarnation k3v9x2mq
table bac-901
row 812
sequence 96
shoe 2
round 17
time 2023-11-14T22:13:20.123456Z
hash 00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff
"""


def signed(head: Head, key: Ed25519PrivateKey) -> Head:
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    return replace(head, key=public, signature=base64.b64encode(key.sign(head.text)).decode())


@pytest.fixture(scope="module")
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def heads(count: int, table: str = "bac-901") -> Iterator[Head]:
    return (replace(HEAD, table=table, row=row) for row in range(1, count + 1))


def test_the_signed_bytes_are_ten_lines_of_text() -> None:
    """docs/journal.md defines them."""
    assert HEAD.text == SIGNED_BYTES


def test_every_field_is_signed(key: Ed25519PrivateKey) -> None:
    """A changed field, another key and another signature are noticed. An announcement has its own signature."""
    head = signed(HEAD, key)
    assert is_genuine(head)
    other = signed(HEAD, Ed25519PrivateKey.from_private_bytes(bytes(32)))
    changed = {
        "journal": "k3v9x2mr",
        "incarnation": "a",
        "table": "bac-902",
        "row": 813,
        "sequence": 97,
        "shoe": 3,
        "round": 18,
        "time": "2023-11-14T22:13:20.123457Z",
        "hash": "00fe" * 16,
        "key": other.key,
        "signature": other.signature,
    }
    assert {*changed, "previous", "announcement"} == set(Head.__struct_fields__)
    assert [name for name, value in changed.items() if is_genuine(replace(head, **{name: value}))] == []
    assert is_genuine(other)


@pytest.mark.parametrize(("field", "value"), [("key", ""), ("key", "AAAA"), ("key", "?"), ("signature", "é")])
def test_a_head_without_a_key_is_not_genuine(key: Ed25519PrivateKey, field: str, value: str) -> None:
    """Such a head is data of an unknown sender, not an error of the program."""
    assert not is_genuine(replace(signed(HEAD, key), **{field: value}))


@needs_openssl
def test_openssl_verifies_a_head(tmp_path: Path) -> None:
    """The example of docs/journal.md: the public file, the signed bytes and the signature suffice."""
    key = daemon_key(tmp_path, None)
    key.prepare(tmp_path)
    (tmp_path / "signature").write_bytes(key.sign(HEAD.text))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", PUBLIC_FILE, "-rawin", "-in", "text"]
    for text, status in ((SIGNED_BYTES, 0), (SIGNED_BYTES.replace(b"812", b"813"), 1)):
        (tmp_path / "text").write_bytes(text)
        done = subprocess.run([*command, "-sigfile", "signature"], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == status, done.stderr


def test_the_log_has_one_line_of_json_for_each_head(tmp_path: Path) -> None:
    """The line is the payload of the retained message."""
    log = HeadLog(tmp_path)
    log.append(list(heads(2)))
    log.append([replace(HEAD, row=3)])
    lines = (tmp_path / NAME).read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Head) for line in lines] == list(heads(3)) == list(logged_heads(tmp_path))


def test_a_part_of_a_line_does_not_damage_the_next_one(tmp_path: Path) -> None:
    """A power cut can leave it. Other lines that are not heads are left out, too."""
    log = HeadLog(tmp_path)
    log.append([HEAD])
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'\xff\n{}\n[]\n{"journal":"k3')
    log.append([replace(HEAD, row=900)])
    assert [head.row for head in logged_heads(tmp_path)] == [812, 900]


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Verify would report a changed line."""
    log = HeadLog(tmp_path)
    log.append([HEAD])
    written = (tmp_path / NAME).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(written) + 20, hard))
    try:
        log.append([replace(HEAD, row=900)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / NAME).read_bytes() == written
    assert "the heads are not written: No space left on device" in caplog.text
    log.append([replace(HEAD, row=901)])
    assert [head.row for head in logged_heads(tmp_path)] == [812, 901]


def rows(state_dir: Path) -> dict[str, list[int]]:
    return {table: [head.row for head in heads] for table, heads in newest_heads(state_dir).items()}


def test_the_size_of_the_log_is_limited(tmp_path: Path) -> None:
    """The new file begins with the newest head of each table and word, also of a table without recent heads."""
    log = HeadLog(tmp_path, longest=10_000)
    log.append([replace(HEAD, table="bac-902", row=row, incarnation="older") for row in (6, 7)])
    log.append([replace(HEAD, table="bac-902")])
    for head in heads(200):
        log.append([head])
    sizes = {each.name: each.stat().st_size for each in tmp_path.iterdir()}
    assert set(sizes) == {NAME, f"{NAME}.1"}
    line = len(msgspec.json.encode(HEAD)) + 1
    assert max(sizes.values()) <= 10_000 + line
    assert rows(tmp_path) == {"bac-901": [200], "bac-902": [7, 812]}
    assert LONGEST >= 1_000_000


def test_an_interrupted_rotation_loses_no_newest_head(tmp_path: Path) -> None:
    """The process can end between the two renamings."""
    log = HeadLog(tmp_path)
    log.append(list(heads(5)))
    (tmp_path / NAME).rename(tmp_path / f"{NAME}.1")
    assert rows(tmp_path) == {"bac-901": [5]}
    log.append([replace(HEAD, row=6)])
    assert rows(tmp_path) == {"bac-901": [6]}


def test_a_log_that_cannot_be_written_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The tables do not stop: the journal has the heads."""
    log = HeadLog(tmp_path / "absent")
    log.append([HEAD])
    log.append([HEAD])
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'absent' / NAME}: the heads are not written: No such file or directory; check the state directory"
    ]


def test_no_log_has_no_heads(tmp_path: Path) -> None:
    """Before the first head there is no file."""
    assert newest_heads(tmp_path) == {}


def test_an_independent_program_verifies_a_head_from_its_json(key: Ed25519PrivateKey) -> None:
    """The program uses only docs/journal.md and the library."""
    message = msgspec.json.decode(msgspec.json.encode(signed(HEAD, key)))
    names = ("journal", "incarnation", "table", "row", "sequence", "shoe", "round", "time", "hash")
    text = "shoed head 1\n" + "".join(f"{name} {message[name]}\n" for name in names)
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(message["key"]))
    public.verify(base64.b64decode(message["signature"]), text.encode())
