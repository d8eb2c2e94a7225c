"""The checks of `shoed doctor` that depend on the machine: the clock, the disk, the adapter, the permissions."""

import os
import stat
from pathlib import Path

import pytest

from firmware_protocols.family import Settings
from shoed.model.observations import Device
from shoed.ports.address import SerialAddress
from shoed.service.config import ShoeConfig
from shoed.service.doctor.catalogue import CheckName, Level
from shoed.service.doctor.devices import ConfiguredDevice, latency, may_use, stable
from shoed.service.doctor.machine import check_clock, check_disk, clock, health, space, speed
from shoed.service.doctor.state import device_key, secret_file
from tests.sysfs import facts, link

DISK = os.makedev(8, 1)
SHOE = ConfiguredDevice(
    "bac-901",
    Device.SHOE,
    ShoeConfig(
        "angel-eye", "ii-ex", "serial:///dev/ttyUSB0", allow_orders=False, min_draw_gap_ms=250, settings=Settings()
    ),
)


def test_an_unsynchronised_clock_is_a_warning() -> None:
    """The kernel's largest error is then 16 s; a synchronised clock has less."""
    assert clock(16_000_000).level is Level.WARNING
    assert "timedatectl set-ntp true" in clock(16_000_000).remedy
    assert clock(20_000).level is Level.OK
    assert "20 ms" in clock(20_000).text


def test_the_kernel_answers_about_the_clock_without_rights() -> None:
    """The answer is a synchronised clock or not."""
    assert check_clock().level in (Level.OK, Level.WARNING)


@pytest.mark.parametrize(
    ("free_bytes", "inodes", "level"),
    [
        (50_000_000_000, None, Level.OK),
        (50_000_000_000, 10**6, Level.OK),
        (500_000_000, None, Level.WARNING),
        (50_000_000, None, Level.PROBLEM),
        (50_000_000_000, 10, Level.PROBLEM),
    ],
)
def test_a_nearly_full_disk_is_reported(free_bytes: int, inodes: int | None, level: Level) -> None:
    """By its free bytes, and by the number of files that can still be made."""
    found = space("/state", free_bytes, inodes)
    assert found.level is level
    assert bool(found.remedy) is (level is not Level.OK)


@pytest.mark.parametrize(
    ("times", "level"),
    [
        ([0.002] * 12, Level.OK),
        ([0.1] * 12, Level.WARNING),
        ([*[0.002] * 11, 2.0], Level.WARNING),
        ([1.0] * 12, Level.PROBLEM),
    ],
)
def test_a_slow_disk_is_reported(times: list[float], level: Level) -> None:
    """By the median of the durable writes, and by the longest one."""
    assert speed("/state", times).level is level


def test_the_disk_is_measured_with_a_scratch_file_that_is_removed(tmp_path: Path) -> None:
    """The results are of the real disk: its space, its health and its speed."""
    found = list(check_disk(tmp_path))
    assert [each.check for each in found] == [CheckName.DISK_SPACE, CheckName.DISK_HEALTH, CheckName.DISK_SPEED]
    assert "durable write" in found[2].text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "count", "level", "words"),
    [
        ("fs/ext4/sda1", {"errors_count": "3"}, Level.PROBLEM, "errors of the file system: 3"),
        ("devices/ata1/sda/device", {"ioerr_cnt": "0x1c"}, Level.WARNING, "failed commands: 28"),
        ("devices/ata1/sda/device", {"iotmo_cnt": "0x2"}, Level.WARNING, "commands without an answer: 2"),
        ("devices/ata1/sda/device", {"pre_eol_info": "0x03"}, Level.PROBLEM, "level of wear: 3"),
        (
            "devices/ata1/sda/device",
            {"pre_eol_info": "0x01"},
            Level.OK,
            "sda1 has no error in its counts: level of wear",
        ),
        ("fs/ext4/sda1", {"errors_count": "0"}, Level.OK, "sda1 has no error in its counts: errors of the file system"),
    ],
)
def test_errors_that_the_kernel_counted_are_reported(
    tmp_path: Path, folder: str, count: dict[str, str], level: Level, words: str
) -> None:
    """The counts are of the file system, of the disk of a partition, and of the wear of a memory card."""
    facts(tmp_path / "devices/ata1/sda/sda1", partition="1")
    link(tmp_path / "dev/block/8:1", tmp_path / "devices/ata1/sda/sda1")
    facts(tmp_path / folder, **count)
    found = health("/state", DISK, tmp_path)
    assert found.level is level
    assert words in found.text


def test_a_file_system_without_a_disk_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """A container, a network or a memory file system has no counts."""
    assert health("/state", DISK, tmp_path).level is Level.SKIPPED


@pytest.mark.parametrize(("timer", "level"), [("1", Level.OK), ("16", Level.WARNING)])
def test_the_latency_timer_of_an_ftdi_adapter_is_reported(tmp_path: Path, timer: str, level: Level) -> None:
    """Its default is 16 ms. Another adapter has no such timer."""
    facts(tmp_path / "class/tty/ttyUSB0/device", latency_timer=timer)
    (found,) = latency(SHOE, "/dev/ttyUSB0", tmp_path)
    assert found.level is level
    assert f"{timer} ms" in found.text
    assert list(latency(SHOE, "/dev/ttyACM0", tmp_path)) == []


def test_a_name_that_depends_on_the_order_of_connection_is_a_warning(tmp_path: Path) -> None:
    """A name from the serial number stays with its device."""
    assert stable(SHOE, SerialAddress("/dev/ttyUSB0"), tmp_path).level is Level.WARNING
    assert stable(SHOE, SerialAddress("/dev/shoed/A7"), tmp_path).level is Level.OK


@pytest.mark.parametrize(
    ("mode", "owner", "group", "may"),
    [
        (0o660, 0, 500, True),
        (0o660, 0, 501, False),
        (0o640, 0, 500, False),
        (0o666, 0, 501, True),
        (0o600, 1000, 501, True),
        (0o600, 0, 500, False),
    ],
)
def test_the_permission_of_the_daemon_follows_from_the_mode(mode: int, owner: int, group: int, may: bool) -> None:  # noqa: FBT001
    """For the user 1000, a member of the group 500."""
    node = os.stat_result((stat.S_IFCHR | mode, 0, 0, 1, owner, group, 0, 0, 0, 0))
    assert may_use(node, 1000, [500]) is may


def test_a_credential_is_not_examined() -> None:
    """It exists in the service only. The remedy names the key of the unit."""
    for found in (secret_file("credential:mqtt"), device_key("credential:mqtt")):
        assert found.level is Level.SKIPPED
        assert "LoadCredential=mqtt:FILE" in found.remedy
