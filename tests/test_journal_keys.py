"""The key of the journal: its file, its errors, and its changes."""

import logging
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from shoed.errors import JournalUnusable
from shoed.journal.keys import (
    KEY_FILE,
    PREVIOUS_FILE,
    PUBLIC_FILE,
    SigningKey,
    announcement_text,
    daemon_key,
    read_public,
)

TABLE = "CREATE TABLE key (number INTEGER PRIMARY KEY, public BLOB, utc_us INTEGER, reason TEXT, announced BLOB)"
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl program is missing")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def enrolled(*keys: SigningKey) -> list[tuple[object, ...]]:
    """The table `key` after heads of these keys."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(TABLE)
        for moment, key in enumerate(keys):
            key.enroll(connection, "word", moment)
        return connection.execute("SELECT * FROM key ORDER BY number").fetchall()


def test_the_first_start_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    """The next start reads the same key. Both files are PEM files that other programs can read."""
    before = os.umask(0)
    try:
        key = daemon_key(tmp_path, None)
        key.prepare(tmp_path)
    finally:
        os.umask(before)
    assert (mode(tmp_path / KEY_FILE), mode(tmp_path / PUBLIC_FILE)) == (0o600, 0o644)
    assert sorted(each.name for each in tmp_path.iterdir()) == [KEY_FILE, PUBLIC_FILE]
    assert daemon_key(tmp_path, None).public == key.public == read_public(tmp_path / PUBLIC_FILE)
    private = load_pem_private_key((tmp_path / KEY_FILE).read_bytes(), None)
    public = load_pem_public_key((tmp_path / PUBLIC_FILE).read_bytes())
    assert isinstance(private, Ed25519PrivateKey)
    assert isinstance(public, Ed25519PublicKey)
    public.verify(key.sign(b"text"), b"text")
    assert private.sign(b"text") == key.sign(b"text")


def test_two_installations_have_different_keys(tmp_path: Path) -> None:
    """The key is random."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert daemon_key(tmp_path / "a", None).public != daemon_key(tmp_path / "b", None).public


@needs_openssl
def test_a_key_of_openssl_can_be_configured(tmp_path: Path) -> None:
    """The configuration names the file; no key is made in the state directory."""
    path = tmp_path / "site.key"
    command = ("openssl", "genpkey", "-algorithm", "ed25519", "-out", str(path))
    subprocess.run(command, check=True)
    path.chmod(0o440)
    key = daemon_key(tmp_path, str(path))
    private = load_pem_private_key(path.read_bytes(), None)
    assert isinstance(private, Ed25519PrivateKey)
    assert key.public == private.public_key().public_bytes_raw()
    assert not (tmp_path / KEY_FILE).exists()


def test_a_start_reads_and_makes_the_key_without_the_library(tmp_path: Path) -> None:
    """The library costs 32 ms and 8 MB: the daemon imports it after READY."""
    script = (
        "import sys; from pathlib import Path; from shoed.journal.keys import daemon_key;"
        " key = daemon_key(Path(sys.argv[1]), None); before = 'cryptography' in sys.modules;"
        " key.prepare(Path(sys.argv[1])); print(before, 'cryptography' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False True\n"


@pytest.mark.parametrize("bits", [0o604, 0o620, 0o602, 0o644, 0o601])
def test_a_key_that_others_can_use_is_refused(tmp_path: Path, bits: int) -> None:
    """The error names the mode and the command that corrects it."""
    daemon_key(tmp_path, None)
    (tmp_path / KEY_FILE).chmod(bits)
    with pytest.raises(JournalUnusable, match=f"has the mode {bits:04o}.*run: chmod 0600 {tmp_path / KEY_FILE}"):
        daemon_key(tmp_path, None)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
def test_a_damaged_key_is_set_aside_and_replaced(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The tables do not stop; the log and the record have the reason, and the damaged file is kept."""
    first = daemon_key(tmp_path, None)
    first.prepare(tmp_path)
    (tmp_path / KEY_FILE).write_bytes(content)
    second = daemon_key(tmp_path, None)
    second.prepare(tmp_path)
    (aside,) = tmp_path.glob(f"{KEY_FILE}.damaged-*")
    assert aside.read_bytes() == content
    assert second.public != first.public
    assert mode(tmp_path / KEY_FILE) == 0o600
    (_, (number, public, _, reason, announced)) = enrolled(first, second)
    assert (number, public, announced) == (2, second.public, None)
    assert f"does not contain a private key of Ed25519; it is now {aside.name}, and shoed made a new key" in str(reason)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert str(reason) in caplog.text
    assert f"{tmp_path / PUBLIC_FILE}: the key of the journal has changed" in caplog.text


def test_a_lost_key_is_replaced_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The public file proves that there was a key."""
    first = daemon_key(tmp_path, None)
    assert caplog.text == ""
    first.prepare(tmp_path)
    (tmp_path / KEY_FILE).unlink()
    second = daemon_key(tmp_path, None)
    assert f"{tmp_path / KEY_FILE} did not exist, and shoed made a new key; restore the file" in caplog.text
    assert [row[3] for row in enrolled(first, second)] == ["the first key of the journal", second.reason]


@pytest.mark.parametrize("content", [None, b"nonsense"])
def test_a_configured_key_that_cannot_be_used_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    """No other key is made in its place, and does not move the file."""
    path = tmp_path / "site.key"
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    with pytest.raises(JournalUnusable, match=re.escape(str(path))):
        daemon_key(tmp_path, str(path))
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([] if content is None else [content])


def test_a_key_whose_writing_was_interrupted_is_made_again(tmp_path: Path) -> None:
    """A complete file replaces the rest of the interrupted start."""
    (tmp_path / f"{KEY_FILE}.new").write_bytes(b"-----BEGIN")
    daemon_key(tmp_path, None)
    assert [each.name for each in tmp_path.iterdir()] == [KEY_FILE]


def test_a_state_directory_without_space_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    """The key must be on the disk before the tables begin."""
    with pytest.raises(JournalUnusable, match="the key of the journal cannot be written: No such file or directory"):
        daemon_key(tmp_path / "absent", None)


def test_the_previous_key_announces_the_next_one(tmp_path: Path) -> None:
    """The operator renames the key to `journal.key.old`. Without that file the change is not announced."""
    first = daemon_key(tmp_path, None)
    (tmp_path / KEY_FILE).rename(tmp_path / PREVIOUS_FILE)
    second = daemon_key(tmp_path, None)
    (_, (_, _, _, _, announced)) = enrolled(first, second)
    assert isinstance(announced, bytes)
    verify = Ed25519PublicKey.from_public_bytes(first.public).verify
    verify(announced, announcement_text("word", first.public, second.public))
    with pytest.raises(InvalidSignature):
        verify(announced, announcement_text("other", first.public, second.public))
    (tmp_path / PREVIOUS_FILE).unlink()
    assert enrolled(first, daemon_key(tmp_path, None))[1][4] is None


def test_an_announced_change_of_the_key_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not a lost key: nothing is restored from a copy. The old key must be the key of the journal."""
    first = daemon_key(tmp_path, None)
    first.prepare(tmp_path)
    (tmp_path / KEY_FILE).rename(tmp_path / PREVIOUS_FILE)
    second = daemon_key(tmp_path, None, first.public)
    second.prepare(tmp_path)
    renamed = (
        f"{tmp_path / KEY_FILE} was renamed to {PREVIOUS_FILE}, and shoed made a new key, which the old key announces"
    )
    assert second.reason == renamed
    assert second.note == f"the key of the journal has changed: {renamed}"
    assert "restore the file" not in caplog.text
    (tmp_path / KEY_FILE).unlink()
    assert "did not exist" in daemon_key(tmp_path, None, bytes(32)).reason


def test_a_journal_of_another_key_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It was restored on another machine, which has no key, or its own."""
    for start in ("makes the key", "reads the key"):
        caplog.clear()
        key = daemon_key(tmp_path, None, bytes(32))
        key.prepare(tmp_path)
        assert key.note == f"the key of the journal has changed: {key.reason}", start
        assert key.note in caplog.text
        assert ("did not exist, and shoed made a new key; restore the file" in caplog.text) is (
            start == "makes the key"
        )
    key = daemon_key(tmp_path, None, key.public)
    key.prepare(tmp_path)
    assert key.note == ""


def test_the_first_key_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not a warning."""
    caplog.set_level(logging.INFO)
    daemon_key(tmp_path, None).prepare(tmp_path)
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    assert f"{tmp_path / KEY_FILE} did not exist, and shoed made a new key" in caplog.text


def test_the_own_key_announces_a_configured_one(tmp_path: Path) -> None:
    """`key_file` is written into the configuration of an installation that has a key already."""
    first = daemon_key(tmp_path, None)
    (tmp_path / "site").mkdir()
    daemon_key(tmp_path / "site", None)
    second = daemon_key(tmp_path, str(tmp_path / "site" / KEY_FILE))
    (_, (_, public, _, reason, announced)) = enrolled(first, second)
    assert (public, reason) == (second.public, f"{tmp_path / 'site' / KEY_FILE} has another key")
    assert isinstance(announced, bytes)


def test_a_key_is_on_record_once(tmp_path: Path) -> None:
    """Later heads of the same key add no row; a key that returns does."""
    first = daemon_key(tmp_path, None)
    (tmp_path / KEY_FILE).unlink()
    second = daemon_key(tmp_path, None)
    rows = enrolled(first, first, second, second, first)
    assert [(row[0], row[1]) for row in rows] == [(1, first.public), (2, second.public), (3, first.public)]
