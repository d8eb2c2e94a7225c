"""`shoed bundle`: the archive that support needs, without secrets (docs/doctor.md).

Theory of operation: each part is collected alone. A part that cannot be made does not stop the others: MANIFEST has the
reason. The traceback of an unexpected error takes the place of the part, as NAME.error. Every part passes the Redactor
before it enters the archive, also MANIFEST.
"""

import argparse
import asyncio
import errno
import io
import os
import platform
import shutil
import ssl
import subprocess
import tarfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shoed import VERSION
from shoed.cli import doctor
from shoed.cli.journal import show, shown_round, shown_rows
from shoed.cli.journal.opening import opened
from shoed.cli.options import CONFIG
from shoed.cli.parser import duration, path
from shoed.engine import ENGINE
from shoed.errors import BundleError, ShoedError, TellError
from shoed.journal import Reader
from shoed.journal.schema import SCHEMAS, SQLITE_VERSION
from shoed.model.requests import CaptureAnswer, CaptureRequest, StatusRequest
from shoed.service import config
from shoed.service.command_socket import query
from shoed.service.doctor.examine import examine
from shoed.service.redaction import Redactor, secrets_of
from shoed.service.status import DaemonStatus

MODE: Final = 0o600
PART_BYTES: Final = 2_000_000
TOTAL_BYTES: Final = 32_000_000
LOG_LINES: Final = 5000
NO_LINES: Final = b"-- No entries --"
LOG_S: Final = 20.0
ROUNDS: Final = 5
MOST_ROWS: Final = 5000
TRUNCATED: Final = b"[the beginning is left out]\n"
MANIFEST: Final = "MANIFEST"
CONTENTS: Final = (
    "Secrets and the names of bettors are replaced by [REDACTED]. The journal has no bets.",
    "",
)

PARTS: Final[Mapping[str, str]] = {
    "doctor.txt": "the output of `shoed doctor`",
    "doctor.json": "the output of `shoed doctor --json`",
    "status.json": "the output of `shoed status --json`",
    "versions.txt": "the versions of shoed, Python, the libraries, the kernel and the system",
    "shoed.toml": "the configuration",
    "log.txt": f"the last {LOG_LINES} lines of the service in the system's journal",
    "captures/TABLE-DEVICE.capture": "the recent traffic of each device, as `shoed capture save` writes it",
    "journal/TABLE.txt": f"the last {ROUNDS} rounds of each table, as `shoed journal show` prints them",
    "journal/TABLE-rows.txt": "the rows of these rounds, as `shoed journal show --rows` prints them",
}


class Part(Struct, frozen=True):
    """A part of the archive. `reason`: why it is missing. `is_record`: bytes of devices, in which digits are data."""

    name: str
    data: bytes = b""
    reason: str = ""
    is_record: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", default=CONFIG, type=path, metavar="FILE", help="(default: %(default)s)")
    parser.add_argument("--output", type=path, metavar="FILE", help="a new file (default: shoed-SITE-TIME.tar.gz)")
    parser.add_argument("--unit", default="shoed", metavar="UNIT", help="the systemd unit (default: %(default)s)")
    parser.add_argument(
        "--listen",
        type=duration,
        default=doctor.LISTEN_S,
        metavar="SECONDS",
        help="listen on each port for this time, if no daemon runs (default: %(default)g)",
    )
    parser.set_defaults(command=bundle)


def bundle(arguments: argparse.Namespace) -> int:
    began, file = datetime.now(UTC), arguments.config
    redactor = Redactor(secrets(file, arguments.unit))
    site, state_dir = config.place_of(str(file)) or (config.UNKNOWN, None)
    name = f"shoed-{site}-{began:%Y%m%dT%H%M%SZ}"
    output = arguments.output or Path(f"{name}.tar.gz")
    if output.exists():  # before the time of the checks
        raise exists(output)
    parts = [redacted(each, redactor) for each in collect(file, state_dir, arguments)]
    data, missing = archive(name, parts, began)
    write(output, data)
    print(f"{output}: {len(data)} bytes; the mode is {MODE:04o}")
    for each in missing:
        print(f"    without {each.name}: {each.reason}")
    return 0


def secrets(file: Path, unit: str) -> list[bytes]:
    """All secrets of the configuration: shoed removes only secrets that it can read."""
    try:
        return secrets_of(file, unit)
    except OSError as error:
        raise BundleError(
            f"{error.filename}: {error.strerror}; give the configuration of the daemon with --config, and run the"
            " command as the user of the daemon or as root: shoed removes only secrets that it can read"
        ) from error


# --- the parts


def collect(file: Path, state_dir: Path | None, arguments: argparse.Namespace) -> Iterator[Part]:
    yield from alone(lambda: of_doctor(file, arguments.listen), "doctor.txt", "doctor.json")
    yield from alone(lambda: [Part("versions.txt", "\n".join(versions()).encode())], "versions.txt")
    yield from alone(lambda: [Part("shoed.toml", file.read_bytes())], "shoed.toml")
    yield from alone(lambda: [log(arguments.unit)], "log.txt")
    if state_dir is None:
        reason = "the configuration names no state directory"
        yield from (Part(name, reason=reason) for name in ("status.json", "captures", "journal"))
        return
    yield from alone(partial(of_daemon, state_dir), "status.json", "captures")
    yield from alone(partial(of_journal, state_dir), "journal")


def alone(make: Callable[[], Iterable[Part]], *names: str) -> Iterator[Part]:
    """The parts that `make` makes; an error ends these parts only. `names`: the parts that are then missing."""
    made = set()
    try:
        for part in make():
            yield part
            made.add(part.name)
    except ShoedError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001  # the border of a part
        place, what = f"{names[0]}.error", " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"unexpected error: {what}; {place} has the traceback; report it"
        yield Part(place, traceback.format_exc().encode())
    else:
        return
    yield from (Part(name, reason=reason) for name in names if name not in made)


def of_doctor(file: Path, listen_s: float) -> Iterator[Part]:
    report = asyncio.run(examine(str(file), None, listen_s))
    yield Part("doctor.txt", doctor.text(report).encode())
    yield Part("doctor.json", msgspec.json.format(msgspec.json.encode(report)))


def versions() -> Iterator[str]:
    yield f"shoed {VERSION}, engine {ENGINE}, schema {len(SCHEMAS)}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"SQLite {SQLITE_VERSION}"
    yield ssl.OPENSSL_VERSION
    yield from sorted({f"{each.name} {each.version}" for each in distributions()})
    yield f"kernel {platform.release()} {platform.version()} {platform.machine()}"
    try:
        yield f"system {platform.freedesktop_os_release().get('PRETTY_NAME', 'without a name')}"
    except OSError:
        yield "system unknown: it has no os-release"


def log(unit: str) -> Part:
    name, program = "log.txt", shutil.which("journalctl")
    if program is None:
        return Part(name, reason="journalctl is not on this machine; add the log of the daemon by hand")
    command = (program, f"--unit={unit}", f"--lines={LOG_LINES}", "--no-pager", "--output=short-iso-precise")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LOG_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Part(name, reason=f"journalctl failed: {error}")
    if done.returncode:
        return Part(name, reason=f"journalctl failed: {done.stderr.decode(errors='replace').strip()}")
    if done.stdout.strip() in (b"", NO_LINES):
        return Part(name, reason=f"the system's journal has no line of the unit {unit}; add the log by hand")
    return Part(name, done.stdout)


def of_daemon(state_dir: Path) -> Iterator[Part]:
    try:
        status = query(state_dir, StatusRequest(os.urandom(8).hex(), None), DaemonStatus)
    except msgspec.DecodeError as error:
        raise TellError(f"the daemon is of another version than this program, {VERSION}: {error}") from error
    yield Part("status.json", msgspec.json.format(msgspec.json.encode(status)))
    for table in status.tables:
        for each in table.devices:
            name = f"captures/{table.name}-{each.device.value}.capture"
            request = CaptureRequest(table.name, os.urandom(8).hex(), each.device.value)
            yield from alone(partial(of_device, state_dir, name, request), name)


def of_device(state_dir: Path, name: str, request: CaptureRequest) -> Iterator[Part]:
    yield Part(name, query(state_dir, request, CaptureAnswer).capture.encode(), is_record=True)


def of_journal(state_dir: Path) -> Iterator[Part]:
    with opened(state_dir) as reader:
        for table in reader.tables:
            for name, make in ((f"journal/{table}.txt", of_rounds), (f"journal/{table}-rows.txt", of_rows)):
                yield from alone(partial(make, reader, table, name), name)


def of_rounds(reader: Reader, table: str, name: str) -> Iterator[Part]:
    views = show.last_rounds(reader, table, ROUNDS)
    lines = (line for view in views for line in shown_round.lines(reader, table, view))
    yield Part(name, "\n".join(lines).encode(), is_record=True)


def of_rows(reader: Reader, table: str, name: str) -> Iterator[Part]:
    rows = shown_rows.steps(reader, table, *reader.last_rows(table, ROUNDS, MOST_ROWS))
    lines = (line for step, events in rows for line in shown_rows.row_lines(table, step, events))
    yield Part(name, "\n".join(lines).encode(), is_record=True)


# --- the archive


def redacted(part: Part, redactor: Redactor) -> Part:
    data = redactor.record(part.data) if part.is_record else redactor.text(part.data)
    return replace(part, data=data, reason=redactor.text(part.reason.encode()).decode())


def archive(name: str, parts: Sequence[Part], began: datetime) -> tuple[bytes, list[Part]]:
    """The bytes of the archive, and the parts that it does not contain."""
    lines, missing, left = [f"{name}, made by shoed {VERSION}", *CONTENTS], [], TOTAL_BYTES
    members = []
    for part in parts:
        data, note = part.data, ""
        if len(data) > PART_BYTES:
            data, note = TRUNCATED + data[-PART_BYTES:], f"; its beginning is left out, limit {PART_BYTES} bytes"
        if not part.reason and len(data) > left:
            part = replace(part, reason=f"the archive has its limit of {TOTAL_BYTES} bytes")  # noqa: PLW2901
        if part.reason:
            lines.append(f"missing   {part.name}: {part.reason}")
            missing.append(part)
            continue
        left -= len(data)
        lines.append(f"included  {part.name}: {len(data)} bytes{note}")
        members.append((part.name, data))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member, data in ((MANIFEST, "\n".join((*lines, "")).encode()), *members):
            entry = tarfile.TarInfo(f"{name}/{member}")
            entry.size, entry.mode, entry.mtime = len(data), MODE, int(began.timestamp())
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue(), missing


def exists(output: Path) -> BundleError:
    return BundleError(f"{output}: the file exists, and is not changed; set --output to another name")


def write(output: Path, data: bytes) -> None:
    try:
        with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE), "wb") as file:
            try:
                file.write(data)
                file.flush()
            except OSError:
                output.unlink()
                raise
    except FileExistsError as error:
        raise exists(output) from error
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        room = f"free {len(data)} bytes, or set --output to a file on another disk; no file was made"
        remedy = room if is_full else "set --output to a file that can be written"
        raise BundleError(f"{output}: {error.strerror}; {remedy}") from error
