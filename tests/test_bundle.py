"""`shoed bundle`: the archive for support. It has every part that can be made, and no secret."""

import asyncio
import base64
import os
import re
import shlex
import stat
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest

from firmware_protocols.family import Settings
from shoed.cli import main
from shoed.model.commands import Answer, Author, Decide
from shoed.model.events import ReturnedBets
from shoed.model.irregularities import Role
from shoed.model.step import Commanded
from shoed.service.redaction import MARK, Redactor, notations, secrets_of
from shoed.session import SessionState
from shoed.session.families import BUILT_IN, Driver
from tests.command_clients import Finished, client, line, shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.test_doctor import configure
from tests.witnesses import TABLE
from tests.world import World

PASSWORD: Final = 'sw0rd/f"ish+ß#42'  # noqa: S105
DEVICE_KEY: Final = "5f1d7c2e9a804b63d2c19e7705ab34fe"
PEM_LINES: Final = [base64.b64encode(bytes(range(begin, begin + 48))).decode() for begin in (0, 48, 96)]
PEM: Final = "\n".join(("-----BEGIN PRIVATE KEY-----", *PEM_LINES, "-----END PRIVATE KEY-----", ""))


def unpacked(archive: Path) -> dict[str, bytes]:
    """The members by their names, without the folder of the archive."""
    with tarfile.open(archive) as tar:
        assert {member.mode for member in tar.getmembers()} == {0o600}
        found = {}
        for member in tar.getmembers():
            file = tar.extractfile(member)
            assert file is not None
            found[member.name.partition("/")[2]] = file.read()
        return found


async def bundled(place: Path, *words: str | Path) -> tuple[Finished, dict[str, bytes]]:
    output = place / "b.tar.gz"
    done = await shoed("bundle", "--output", output, "--listen", "0.1", *words)
    assert (done.status, done.err) == (0, "")
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    return done, unpacked(output)


@contextmanager
def journalctl(place: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program of this name that prints the text; the machine of the tests may have no systemd."""
    (place / "bin").mkdir()
    (place / "bin/text").write_text(text)
    program = place / "bin/journalctl"
    program.write_text(f'#!/bin/sh\ncat "{place}/bin/text"\n')
    program.chmod(0o755)
    with monkeypatch.context() as context:
        context.setenv("PATH", f"{place}/bin", prepend=os.pathsep)
        yield


def contains(data: bytes, secret: bytes) -> bool:
    """Whether the data have the secret as text, as hexadecimal digits, or within base64."""
    digits = re.sub(rb"[\s:]", b"", data).lower()
    encodings = [base64.b64encode(b"." * shift + secret)[(0, 2, 3)[shift] : -4] for shift in range(3)]
    urlsafe = [each.replace(b"+", b"-").replace(b"/", b"_") for each in encodings]
    return secret in data or secret.hex().encode() in digits or any(each in data for each in (*encodings, *urlsafe))


def test_the_search_of_these_tests_finds_each_notation() -> None:
    """Otherwise an archive with a secret would pass."""
    secret = PASSWORD.encode()
    for text in (
        *(secret, secret.hex().encode(), secret.hex(" ").upper().encode()),
        *(base64.b64encode(b"x" * shift + secret + b"yz") for shift in range(3)),
        *(base64.urlsafe_b64encode(b"x" * shift + secret + b"yz") for shift in range(3)),
    ):
        assert contains(b"<" + text + b">", secret), text
        assert not contains(Redactor([secret]).text(b"<" + text + b">"), secret)
    assert not contains(b"nothing", secret)


# ---------------------------------------------------------------------------------------------- the parts


async def test_the_archive_of_a_running_daemon_has_every_part(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """MANIFEST lists each part. The captures and the journal have the bytes of the shoe."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.deal(*ROUNDS)
        await world.settled(shoe)
        with journalctl(world.place, "a line of the log\n", monkeypatch):
            done, parts = await bundled(world.place, "--config", world.place / "c.toml")
    names = {"doctor.txt", "doctor.json", "status.json", "versions.txt", "shoed.toml", "log.txt"}
    names |= {f"captures/{TABLE}-shoe.capture", f"journal/{TABLE}.txt", f"journal/{TABLE}-rows.txt"}
    assert set(parts) == {"MANIFEST", *names}
    manifest = parts["MANIFEST"].decode()
    assert {row.split()[1].rstrip(":") for row in manifest.splitlines() if row.startswith("included")} == names
    assert "missing" not in manifest
    assert "the names of bettors are replaced" in manifest
    assert "without" not in done.out
    assert msgspec.json.decode(parts["status.json"])["pid"] == world.daemons[0].pid
    assert msgspec.json.decode(parts["doctor.json"])["level"] != "problem"
    assert parts["log.txt"] == b"a line of the log\n"
    assert b"mqtt://" in parts["shoed.toml"]
    assert re.search(rb"(?m)^aiomqtt \d", parts["versions.txt"])
    assert b"kernel " in parts["versions.txt"]
    assert parts[f"captures/{TABLE}-shoe.capture"].startswith(b"shoed-capture 1\n")
    rows = parts[f"journal/{TABLE}-rows.txt"]
    assert f"{TABLE} row 1 at".encode() not in rows  # the row before the first round
    assert b"received: " in rows
    played = re.findall(rf"(?m)^{TABLE} round 1\.(\d+): ", parts[f"journal/{TABLE}.txt"].decode())
    assert list(map(int, played)) == list(range(len(ROUNDS) - 4, len(ROUNDS) + 1))


async def test_a_missing_part_is_listed_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no daemon, no journal and no systemd; the configuration has an error."""
    (tmp_path / "c.toml").write_text("[site]\nname = 'UPPER'\n")
    with monkeypatch.context() as context:
        context.setenv("PATH", str(tmp_path))
        done, parts = await bundled(tmp_path, "--config", tmp_path / "c.toml")
    assert set(parts) == {"MANIFEST", "doctor.txt", "doctor.json", "versions.txt", "shoed.toml"}
    missing = [row for row in parts["MANIFEST"].decode().splitlines() if row.startswith("missing")]
    assert [row.split()[1] for row in missing] == ["log.txt:", "status.json:", "captures:", "journal:"]
    assert "journalctl is not on this machine" in missing[0]
    assert b"UPPER" in parts["doctor.txt"]
    assert done.out.count("without") == len(missing)


def test_an_unexpected_error_takes_the_place_of_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examination has a defect: a driver raises. The archive has the other parts, and the traceback."""
    config = configure(tmp_path)
    config.write_text(config.read_text().replace('"angel-eye"', '"jammed"') + '\n# password = "sesame-secret"\n')

    def jammed() -> Driver[Settings, SessionState]:
        raise KeyError("password=sesame-secret")

    monkeypatch.setattr("shoed.session.families.BUILT_IN", {**BUILT_IN, "jammed": jammed})
    assert main(["bundle", "--config", str(config), "--output", f"{tmp_path}/b.tar.gz"]) == 0
    parts = unpacked(tmp_path / "b.tar.gz")
    assert set(parts) >= {"MANIFEST", "doctor.txt.error", "versions.txt", "shoed.toml"}
    assert parts["doctor.txt.error"].startswith(b"Traceback")
    assert b"KeyError" in parts["doctor.txt.error"]
    manifest = parts["MANIFEST"].decode()
    for name in ("doctor.txt", "doctor.json"):
        assert f"missing   {name}: unexpected error: KeyError: " in manifest
    assert "    without doctor.json: unexpected error: KeyError: " in capsys.readouterr().out
    assert not any(contains(each, b"sesame-secret") for each in parts.values())


async def test_an_existing_file_is_not_changed(tmp_path: Path) -> None:
    """The default name has the site and the time; a directory that cannot be written is an error."""
    output = tmp_path / "b.tar.gz"
    output.write_text("mine")
    configure(tmp_path)
    words: tuple[str | Path, ...] = ("bundle", "--config", tmp_path / "c.toml", "--listen", "0.1", "--output")
    done = await shoed(*words, output)
    assert done.status == 1
    assert done.err.startswith(f"{output}: the file exists")
    assert output.read_text() == "mine"
    done = await shoed(*words, tmp_path / "absent/b.tar.gz")
    assert (done.status, done.err.count("; set --output to")) == (1, 1)


async def test_a_full_disk_has_no_partial_archive(tmp_path: Path) -> None:
    """The error has the size that is necessary."""
    configure(tmp_path)
    output = tmp_path / "b.tar.gz"
    words = ("bundle", "--config", tmp_path / "c.toml", "--listen", "0.1", "--output", output)
    command = shlex.join((sys.executable, "-m", "shoed", *map(str, words)))
    child = await asyncio.create_subprocess_shell(f"ulimit -f 1; exec {command}", stderr=asyncio.subprocess.PIPE)
    _, error = await child.communicate()
    assert child.returncode == 1
    assert re.search(rb"b\.tar\.gz: File too large; free \d+ bytes, or set --output to a file on another disk", error)
    assert not output.exists()


def test_without_the_secrets_there_is_no_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A secret that is not known cannot be removed."""
    assert main(["bundle", "--config", f"{tmp_path}/absent.toml", "--output", f"{tmp_path}/b.tar.gz"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{tmp_path}/absent.toml: No such file or directory; give the configuration")
    assert list(tmp_path.iterdir()) == []


def test_the_default_name_has_the_site_and_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is UTC."""
    monkeypatch.chdir(tmp_path)
    configure(tmp_path)
    assert main(["bundle", "--config", "c.toml"]) == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    assert re.fullmatch(r"shoed-rws-\d{8}T\d{6}Z\.tar\.gz", archive.name)


# ---------------------------------------------------------------------------------------------- secrets


def planted(secrets: Mapping[str, str]) -> str:
    """Log lines with each secret in several notations, and with secrets that no file has."""
    known = [
        text
        for each in secrets.values()
        for text in (each, each.encode().hex(), base64.b64encode(b"x" + each.encode()).decode(), repr(each))
    ]
    return "\n".join((*known, "connect mqtt://ann:log-url-secret@10.0.0.9:1883", "password=log-word-secret", PEM))


async def test_no_secret_is_in_the_archive(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place has its own secret: the configuration, the files that it names, the log, the journal and the line.

    The journal has the password, because a person typed it as the author of a command. The line has it as bytes.
    """
    place = world.place
    files = {"password": PASSWORD, "device.key": DEVICE_KEY, "tls.key": PEM}
    for name, text in files.items():
        (place / name).write_text(text)
        (place / name).chmod(0o600)
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.deal(ROUNDS[0])
        await shoe.send(PASSWORD.encode())
        async with client(world.state_dir) as one_client:
            request = msgspec.json.decode(line("1")) | {"author": PASSWORD}
            answer = await one_client.request(msgspec.json.encode(request) + b"\n")
            assert answer is not None
        await world.settled(shoe)
        config = place / "c.toml"
        config.write_text(
            config.read_text().replace('url = "mqtt://', 'url = "mqtt://ann:config-url-secret@')
            + """
            [mqtt_old]
            password = "config-word-secret"
            token = '''config-token-secret'''
            key = "tls.key"
            password_file = "password"
            [table_old]
            key_file = "device.key"
            [another]
            key_file = "config-in-place-of-a-file"
            """
        )
        with journalctl(place, planted(files), monkeypatch):
            _, parts = await bundled(place, "--config", config)
    secrets = [
        *(PASSWORD, DEVICE_KEY, *PEM_LINES, "log-url-secret", "log-word-secret"),
        *("config-url-secret", "config-word-secret", "config-token-secret", "config-in-place-of-a-file"),
    ]
    assert f"captures/{TABLE}-shoe.capture" in parts
    assert f"journal/{TABLE}.txt" in parts
    for name, data in parts.items():
        for secret in map(str.encode, secrets):
            assert not contains(data, secret), (name, secret)
        assert not contains(data, bytes.fromhex(DEVICE_KEY)), name
    for name in ("shoed.toml", "log.txt", f"journal/{TABLE}-rows.txt", f"captures/{TABLE}-shoe.capture"):
        assert MARK.encode() in parts[name], name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mqtt://a:b@h:1", "mqtt://[REDACTED]@h:1"),
        ("mqtt://a:b@c/d@h:1 next@x", "mqtt://[REDACTED]@h:1 next@x"),
        ("mqtt://token@h", "mqtt://[REDACTED]@h"),
        ("mqtt://h:1", "mqtt://h:1"),
        ('password = "a b"', "password = [REDACTED]"),
        ('"api_token": "x", "n": 1', '"api_token": [REDACTED], "n": 1'),
        ('password_file = "/etc/p"', 'password_file = "/etc/p"'),
        (f"key {'0f' * 16}.", "key [REDACTED]."),
        (f"a\n{PEM}b", "a\n[REDACTED]\nb"),
        ("-----BEGIN EC PRIVATE KEY-----\nabc", "[REDACTED]"),
    ],
)
def test_text_that_looks_like_a_secret_is_replaced(text: str, wanted: str) -> None:
    """No file has this secret: a person wrote it in a wrong place."""
    assert Redactor([]).text(text.encode()).decode() == wanted


@pytest.mark.parametrize(
    "recorded",
    [
        Commanded(Decide(question="1", choice="stand", bettor="ann-bettor"), Author("ann-bettor", None), "7"),
        ReturnedBets("ann-bettor", "4.2.2"),
        Answer("7", accepted=False, detail="ann-bettor has chosen already"),
        Answer("7", accepted=False, detail="the question is for ann-bettor, not for the ann-bettor"),
        {"author": "ann-bettor", "role": None},
        {"bettor": 'ann-"bettor"'},
    ],
)
def test_the_name_of_a_bettor_is_replaced(recorded: object) -> None:
    """In each form in which the journal has it, also in JSON for people. The names of the staff remain."""
    line_of_json = msgspec.json.encode(recorded)
    for data in (line_of_json, msgspec.json.format(line_of_json)):
        for replaced in (Redactor([]).record(data), Redactor([]).text(data)):
            assert b"ann-" not in replaced
            msgspec.json.decode(replaced)
    staff = msgspec.json.encode(Commanded(Decide(question="1", choice="stand"), Author("bob", Role.DEALER), "7"))
    assert Redactor([]).record(staff) == staff
    assert Redactor([]).record(b'{"bettor":"others"}') == b'{"bettor":"others"}'


def test_a_short_password_is_replaced_as_a_word_only() -> None:
    """It may be a part of any other word."""
    assert Redactor([b"ab"]).text(b"ab cab ab.") == b"[REDACTED] cab [REDACTED]."
    assert Redactor([b"a"]).text(b"a cab, a.") == b"[REDACTED] cab, [REDACTED]."


def test_a_long_line_without_a_secret_needs_little_time() -> None:
    """Each pattern looks at a limited number of characters from each place."""
    for long in (b"a" * 300_000, b"a:" * 50_000, b"password " * 30_000, b"x://y" * 20_000):
        assert Redactor([b"swordfish"]).text(long) == long


def test_the_bytes_of_a_device_are_not_taken_for_a_key() -> None:
    """A frame of 16 bytes has as many digits as a key."""
    frame = b"<" + b"0f" * 16 + b">"
    assert Redactor([]).record(frame) == frame
    assert Redactor([bytes([15]) * 16]).record(frame) == b"<[REDACTED]>"
    assert list(notations(b"")) == []


def test_the_secret_of_a_credential_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that shoed cannot read could stay in the archive. Therefore shoed makes no archive without it."""
    file = tmp_path / "shoed.toml"
    file.write_text('[mqtt]\nurl = "mqtt://h"\nuser = "u"\npassword_file = "credential:mqtt"\n')
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="mqtt"):
        secrets_of(file)
    (tmp_path / "mqtt").write_text("planted-secret\n")
    assert b"planted-secret" in secrets_of(file)
