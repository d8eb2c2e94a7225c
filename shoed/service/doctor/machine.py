"""The checks of the machine: the clock, and the disk of the state directory."""

import ctypes
import os
import statistics
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from shoed.journal.growth import FEW_BYTES, FEWEST_BYTES
from shoed.ports.identity import SYS, sysfs_value
from shoed.service.doctor.catalogue import CheckName, CheckResult, Level

MB: Final = 1_000_000
FEW_INODES: Final = 1000

WRITES: Final = 12
WRITE_BYTES: Final = 8192  # the pages of a commit
SLOW_S, SLOWEST_S = 0.05, 0.5  # the median that a dealer does not notice, and one that delays every card

MOST_ERROR_US: Final = 16_000_000  # the kernel's estimate of an unsynchronised clock; timedatectl has the same limit
TIMEX: Final = struct.Struct("@Illl")  # the begin of the kernel's timex: modes, offset, frequency, largest error
TIMEX_BYTES: Final = 512  # more than the structure has on any machine

WORN: Final = 2  # of eMMC's PRE_EOL_INFO: 80 % of the reserve are used (JEDEC JESD84-B51, 7.4.18)


def clock(largest_error_us: int) -> CheckResult:
    """The result for the largest error of the clock, as the kernel estimates it."""
    if largest_error_us < MOST_ERROR_US:
        text = f"synchronised; the largest error is {largest_error_us / 1000:.0f} ms"
        return CheckResult(CheckName.CLOCK, Level.OK, "", text)
    remedy = "run `timedatectl set-ntp true`, or start chrony with a server that the machine can reach"
    return CheckResult(CheckName.CLOCK, Level.WARNING, "", "the clock is not synchronised", remedy)


def clock_error_us() -> int:
    """The largest error of the clock. adjtimex without a mode only reads; it requires no rights and no D-Bus."""
    timex = ctypes.create_string_buffer(TIMEX_BYTES)
    if ctypes.CDLL(None, use_errno=True).adjtimex(timex) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "adjtimex")
    return int(TIMEX.unpack_from(timex)[3])


def check_clock() -> CheckResult:
    try:
        return clock(clock_error_us())
    except OSError as error:  # a sandbox without this system call
        return CheckResult(CheckName.CLOCK, Level.SKIPPED, "", f"the kernel does not answer: {error.strerror}")


def check_disk(state_dir: Path) -> Iterator[CheckResult]:
    """The checks of the disk of an existing state directory."""
    system, where = os.statvfs(state_dir), str(state_dir)
    yield space(where, system.f_bavail * system.f_frsize, system.f_favail if system.f_files else None)
    if system.f_flag & os.ST_RDONLY:
        remedy = "run `dmesg` for the cause, repair or replace the disk, and mount it for writing"
        yield CheckResult(CheckName.DISK_HEALTH, Level.PROBLEM, where, "the file system is read-only", remedy)
    else:
        yield health(where, state_dir.stat().st_dev)
    yield check_speed(state_dir)


def space(where: str, free_bytes: int, free_inodes: int | None) -> CheckResult:
    """`free_inodes`: None for a file system without a limit."""
    text = f"{free_bytes / MB:.0f} MB are free"
    remedy = "free space on the disk, or move the state directory"
    if free_inodes is not None and free_inodes < FEW_INODES:
        text, remedy = f"{free_inodes} files can still be made", "remove files that are not needed from the disk"
        return CheckResult(CheckName.DISK_SPACE, Level.PROBLEM, where, text, remedy)
    if free_bytes >= FEW_BYTES:
        return CheckResult(CheckName.DISK_SPACE, Level.OK, where, text)
    level = Level.PROBLEM if free_bytes < FEWEST_BYTES else Level.WARNING
    return CheckResult(CheckName.DISK_SPACE, level, where, f"{text}; a table needs about 30 MB each day", remedy)


def check_speed(state_dir: Path) -> CheckResult:
    scratch = state_dir / f".doctor-{os.getpid()}"
    try:
        return speed(str(state_dir), write_times(scratch))
    except OSError as error:
        level = Level.SKIPPED if isinstance(error, PermissionError) else Level.PROBLEM
        text = f"the scratch file cannot be written: {error.strerror}"
        remedy = "run doctor as the user of the daemon" if level is Level.SKIPPED else "free space, and check the disk"
        return CheckResult(CheckName.DISK_SPEED, level, str(state_dir), text, remedy)


def write_times(scratch: Path) -> list[float]:
    """The seconds of each durable write. The scratch file is removed."""
    file = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        times = []
        for _ in range(WRITES):
            began = time.monotonic()
            os.write(file, bytes(WRITE_BYTES))
            os.fsync(file)
            times.append(time.monotonic() - began)
        return times
    finally:
        os.close(file)
        scratch.unlink()


def speed(where: str, times: list[float]) -> CheckResult:
    median = statistics.median(times)
    text = f"a durable write needs {median * 1000:.1f} ms (median of {len(times)}; longest {max(times) * 1000:.0f} ms)"
    if median < SLOW_S and max(times) < SLOWEST_S:
        return CheckResult(CheckName.DISK_SPEED, Level.OK, where, text)
    level = Level.PROBLEM if median >= SLOWEST_S else Level.WARNING
    remedy = "stop programs that write much, use a solid-state disk, and replace a worn SD card"
    return CheckResult(CheckName.DISK_SPEED, level, where, text, remedy)


def health(where: str, device: int, sys: Path = SYS) -> CheckResult:
    """The kernel's counts of errors of the disk with this number. Not every disk has each count."""
    folder = sys / f"dev/block/{os.major(device)}:{os.minor(device)}"
    try:
        disk = folder.resolve(strict=True)
    except OSError:
        text = "the file system has no disk of its own in sysfs: a container, a network or memory"
        return CheckResult(CheckName.DISK_HEALTH, Level.SKIPPED, where, text)
    counts = dict(error_counts(disk, sys))
    found = [f"{what}: {count}" for what, count in counts.items() if count]
    if not found:
        what = f"{disk.name} has no error in its counts: {', '.join(counts)}"
        text = f"writable; {what if counts else f'the kernel has no counts of errors for {disk.name}'}"
        return CheckResult(CheckName.DISK_HEALTH, Level.OK, where, text)
    level = Level.PROBLEM if counts.get(FILE_SYSTEM) or counts.get(RESERVE) else Level.WARNING
    remedy = "run `dmesg` for the errors, make a copy of the state directory, and replace the disk"
    return CheckResult(CheckName.DISK_HEALTH, level, where, f"{disk.name}: {', '.join(found)}", remedy)


FILE_SYSTEM: Final = "errors of the file system"
RESERVE: Final = "level of wear"


def error_counts(disk: Path, sys: Path) -> Iterator[tuple[str, int]]:
    """The counts of a disk or a partition; the counts of the device are in a folder above it."""
    yield from _count(FILE_SYSTEM, sys / "fs/ext4" / disk.name / "errors_count")
    for folder in (disk, disk.parent):
        yield from _count("failed commands", folder / "device/ioerr_cnt")
        yield from _count("commands without an answer", folder / "device/iotmo_cnt")
        for what, level in _count(RESERVE, folder / "device/pre_eol_info"):
            yield what, level if level >= WORN else 0


def _count(what: str, file: Path) -> Iterator[tuple[str, int]]:
    with suppress(ValueError):  # no such file
        yield what, int(sysfs_value(file), 0)
