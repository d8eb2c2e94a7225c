"""The checks of the state directory, of the journal, and of the files with secrets."""

import os
import pwd
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from shoed.engine import ENGINE
from shoed.errors import JournalUnusable
from shoed.journal import Reader
from shoed.journal.damaged import set_aside_journals
from shoed.journal.head_log import NAME as HEAD_LOG
from shoed.journal.keys import KEY_FILE, read_private
from shoed.journal.schema import DAMAGED, SCHEMAS, Use
from shoed.journal.store import JOURNAL
from shoed.ports.key_file import TOO_OPEN, read_key
from shoed.service.config import Config
from shoed.service.doctor.catalogue import CheckName, CheckResult, Level, refused
from shoed.service.secret_files import CREDENTIAL

REMOVED: Final = "move it back; if it is lost, run: shoed journal restore BACKUP --state-dir DIRECTORY (docs/backup.md)"
CHECK_S: Final = 5.0  # for the check of the journal: about 1 GB
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
NEEDED: Final = stat.S_IRWXU


def name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"number {user}"


def check_directory(state_dir: Path, pid: int | None) -> list[CheckResult]:
    """The state directory; `pid` is the process of the running daemon."""
    where = str(state_dir)
    try:
        found = state_dir.stat()
    except FileNotFoundError:
        text = "the directory does not exist; the first start of the daemon makes it"
        remedy = f"start shoed, or run: install -d -m 700 -o shoed -g shoed {state_dir}"
        return [CheckResult(CheckName.STATE_DIRECTORY, Level.WARNING, where, text, remedy)]
    except OSError as error:
        remedy = "name a directory in site.state_dir; run doctor as the user of the daemon, or as root"
        return [CheckResult(CheckName.STATE_DIRECTORY, Level.PROBLEM, where, str(error.strerror), remedy)]
    problems = [
        CheckResult(CheckName.STATE_DIRECTORY, level, where, text, remedy)
        for level, text, remedy in directory_problems(state_dir, found, pid)
    ]
    mode = stat.S_IMODE(found.st_mode)
    text = f"owned by {name_of(found.st_uid)}, mode {mode:04o}"
    return problems or [CheckResult(CheckName.STATE_DIRECTORY, Level.OK, where, text)]


def directory_problems(state_dir: Path, found: os.stat_result, pid: int | None) -> Iterator[tuple[Level, str, str]]:
    if not stat.S_ISDIR(found.st_mode):
        yield Level.PROBLEM, "this is not a directory", "name a directory in site.state_dir"
        return
    mode, owner = stat.S_IMODE(found.st_mode), name_of(found.st_uid)
    if mode & NEEDED != NEEDED:
        yield Level.PROBLEM, f"the mode {mode:04o} denies the owner", f"run: chmod 0700 {state_dir}"
    elif mode & OTHERS:
        text = f"other users can enter the directory (mode {mode:04o})"
        yield Level.WARNING, text, f"run: chmod 0700 {state_dir}"
    user = user_of(pid)
    if user is not None and user not in (found.st_uid, 0):
        text = f"the daemon runs as {name_of(user)}, and the directory belongs to {owner}"
        yield Level.PROBLEM, text, f"run: chown -R {name_of(user)} {state_dir}"
    elif user is None and os.geteuid() not in (found.st_uid, 0):
        text = f"the directory belongs to {owner}, and doctor runs as {name_of(os.geteuid())}"
        yield Level.WARNING, text, "run doctor as the user of the daemon, or as root"
    if not os.access(state_dir, os.R_OK | os.X_OK):
        return
    with os.scandir(state_dir) as files:
        foreign = sorted(each.name for each in files if owner_of(each) not in (None, found.st_uid))
    if foreign:
        text = f"files in the directory do not belong to {owner}: {', '.join(foreign)}"
        yield Level.PROBLEM, text, f"run: chown -R {owner} {state_dir}"


def owner_of(file: os.DirEntry[str]) -> int | None:
    try:
        return file.stat(follow_symlinks=False).st_uid
    except FileNotFoundError:  # SQLite has removed it
        return None


def user_of(pid: int | None) -> int | None:
    try:
        return None if pid is None else Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def check_journal(state_dir: Path) -> Iterator[CheckResult]:
    path = state_dir / JOURNAL
    try:
        if not path.exists():
            yield absence(path)
            return
        for aside in set_aside_journals(state_dir):
            text = "the daemon set a damaged journal aside"
            remedy = f"run: shoed journal salvage {aside} DEST; then move the file to another directory"
            yield CheckResult(CheckName.JOURNAL, Level.WARNING, str(aside), text, remedy)
        with Reader(path) as reader:
            yield version(reader)
            yield damages(reader)
    except (JournalUnusable, OSError) as error:
        yield refused(CheckName.JOURNAL, str(path), str(error))


def absence(path: Path) -> CheckResult:
    if path.with_name(HEAD_LOG).exists():
        text = f"there is no journal, and {HEAD_LOG} names its rounds: it was moved or deleted"
        return CheckResult(CheckName.JOURNAL, Level.PROBLEM, str(path), text, REMOVED)
    text = "there is no journal; the first start of the daemon makes it"
    return CheckResult(CheckName.JOURNAL, Level.SKIPPED, str(path), text)


def version(reader: Reader) -> CheckResult:
    where, newest = str(reader.path), len(SCHEMAS)
    try:
        schema = reader.verified_schema(Use.DAEMON)
    except JournalUnusable as error:
        return refused(CheckName.JOURNAL_VERSION, where, error)
    engine = reader.engine or ENGINE
    if engine > ENGINE:
        text = f"a newer shoed wrote the journal (engine {engine}, and this shoed has {ENGINE})"
        return CheckResult(CheckName.JOURNAL_VERSION, Level.PROBLEM, where, text, "install the newer shoed")
    text = f"schema {schema} of {newest}, engine {engine} of {ENGINE}"
    if schema < newest or engine < ENGINE:
        text += "; the next start of the daemon updates it"
    return CheckResult(CheckName.JOURNAL_VERSION, Level.OK, where, text)


def damages(reader: Reader, limit_s: float = CHECK_S) -> CheckResult:
    where = str(reader.path)
    megabytes = reader.path.stat().st_size / 1e6
    found = reader.check(limit_s)
    if found is None:
        text = f"readable; the journal has {megabytes:.0f} MB, and its check did not end within {limit_s:g} s"
        remedy = f"check the whole file while the disk is idle: sqlite3 -readonly {where} 'PRAGMA quick_check'"
        return CheckResult(CheckName.JOURNAL, Level.SKIPPED, where, text, remedy)
    if found:
        text = f"the file is damaged: {'; '.join(found)}"
        return CheckResult(CheckName.JOURNAL, Level.PROBLEM, where, text, DAMAGED[Use.READ])
    return CheckResult(CheckName.JOURNAL, Level.OK, where, f"readable and without damage ({megabytes:.1f} MB)")


def check_secret_files(config: Config) -> list[CheckResult]:
    """The files of the broker, and the keys of the devices and of the journal."""
    broker = config.broker
    found = [secret_file(path) for path in (broker.password_file, broker.key) if path is not None]
    for table in config.tables:
        found += [device_key(of.key_file) for of in table.devices.values() if of.key_file is not None]
    return found + journal_key(config)


def secret_file(path: str) -> CheckResult:
    if path.startswith(CREDENTIAL):
        return credential(path)
    mode = stat.S_IMODE(Path(path).stat().st_mode)
    if mode & TOO_OPEN:
        text = f"the mode {mode:04o} allows other users to read or change the secret"
        remedy = f"run: chmod 0400 {path}; if root owns it and the daemon is in its group, 0440"
        return CheckResult(CheckName.SECRET_FILES, Level.WARNING, path, text, remedy)
    return CheckResult(CheckName.SECRET_FILES, Level.OK, path, f"mode {mode:04o}")


def credential(path: str) -> CheckResult:
    text = "the credential exists in the service only, and was not examined"
    remedy = f"verify LoadCredential={path.removeprefix(CREDENTIAL)}:FILE in the unit"
    return CheckResult(CheckName.SECRET_FILES, Level.SKIPPED, path, text, remedy)


def device_key(path: str) -> CheckResult:
    return key(path, read_key)


def journal_key(config: Config) -> list[CheckResult]:
    """The key of the journal. The first start makes it, unless the configuration names a file."""
    own = Path(config.state_dir, KEY_FILE)
    path = config.journal.key_file
    if path is None and not os.access(own, os.F_OK):
        return []
    return [key(path or str(own), lambda name: read_private(Path(name)))]


def key(path: str, read: Callable[[str], bytes]) -> CheckResult:
    if path.startswith(CREDENTIAL):
        return credential(path)
    try:
        read(path)
    except ValueError as error:
        problem, remedy = error.args
        return CheckResult(CheckName.SECRET_FILES, Level.PROBLEM, path, problem.removeprefix(f"{path} "), remedy)
    return CheckResult(CheckName.SECRET_FILES, Level.OK, path, f"mode {stat.S_IMODE(Path(path).stat().st_mode):04o}")
