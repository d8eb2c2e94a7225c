"""The table of all checks of `shoed doctor`. docs/doctor.md is generated from it.

A check makes results. Each result has a level, its place, and its own remedy, which is more exact than the remedy of
the table.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from shoed.errors import ShoedError


class CheckName(Enum):
    CONFIGURATION = "configuration"
    DAEMON = "daemon"
    STATE_DIRECTORY = "state-directory"
    DISK_SPACE = "disk-space"
    DISK_SPEED = "disk-speed"
    DISK_HEALTH = "disk-health"
    JOURNAL = "journal"
    JOURNAL_VERSION = "journal-version"
    CLOCK = "clock"
    SECRET_FILES = "secret-files"  # noqa: S105 -- a name
    PORT = "port"
    PORT_HOLDER = "port-holder"
    PORT_NAME = "port-name"
    PORT_LATENCY = "port-latency"
    PORT_BYTES = "port-bytes"
    FIRMWARE = "firmware"
    BROKER = "broker"
    BROKER_ACCESS = "broker-access"


class Level(Enum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    SKIPPED = "skipped"


class DoctorCheck(Struct, frozen=True):
    """A check. `meaning`: of a problem or a warning. `without`: the reason if there is nothing to examine."""

    verifies: str
    meaning: str
    remedy: str
    without: str


class CheckResult(Struct, frozen=True):
    """One result of a check. `where`: the file, the port, the table or the broker. `remedy`: may be empty."""

    check: CheckName
    level: Level
    where: str
    text: str
    remedy: str = ""


def refused(check: CheckName, where: str, error: ShoedError | str, level: Level = Level.PROBLEM) -> CheckResult:
    """The result of an error. The text of an error ends with its remedy, after a semicolon."""
    text, _, remedy = str(error).removeprefix(where).removeprefix(":").lstrip().partition("; ")
    return CheckResult(check, level, where, text, remedy)


CHECKS: Final[Mapping[CheckName, DoctorCheck]] = {
    CheckName.CONFIGURATION: DoctorCheck(
        "The configuration can be read and has no error.",
        "The daemon does not start with this configuration. Without it, doctor examines the machine only.",
        "Correct each named line. `shoed check FILE` verifies the file again.",
        "no configuration was given",
    ),
    CheckName.DAEMON: DoctorCheck(
        "The daemon runs, answers on its command socket, and has the version of this program.",
        "Without a daemon no card is recorded. A daemon of another version was not restarted after an update.",
        "`systemctl status shoed` and `journalctl -u shoed` show the reason. Restart the service between two rounds.",
        "no state directory was given",
    ),
    CheckName.STATE_DIRECTORY: DoctorCheck(
        "The state directory exists, only its owner can enter it, and the daemon can write it and its files.",
        "The daemon cannot write its journal, or other users can read the record.",
        "Give the directory and its files to the user of the daemon, with the mode 0700.",
        "no state directory was given",
    ),
    CheckName.DISK_SPACE: DoctorCheck(
        "The disk of the state directory has free space and free inodes.",
        "On a full disk the tables stop, because no card may be published before it is recorded.",
        "Free space on the disk, or move the state directory to a larger disk.",
        "the state directory cannot be read",
    ),
    CheckName.DISK_SPEED: DoctorCheck(
        "The disk completes small durable writes fast. Doctor writes a scratch file in the state directory and removes"
        " it.",
        "Each card is published after one durable write. A slow disk delays the cards of all tables.",
        "Use a solid-state disk for the state directory, and stop programs that write much. An SD card that becomes"
        " slow is worn out: replace it.",
        "the state directory cannot be read",
    ),
    CheckName.DISK_HEALTH: DoctorCheck(
        "The file system is writable, and the kernel counted no errors of the disk.",
        "The disk fails or has failed. After an error the kernel can make a file system read-only.",
        "Make a copy of the state directory, then replace the disk. `dmesg` shows the errors.",
        "the state directory cannot be read",
    ),
    CheckName.JOURNAL: DoctorCheck(
        "The journal can be read, and SQLite finds no damage in it within a time limit.",
        "The record is damaged, or another program locks it.",
        'The daemon sets aside a file that play cannot use. Otherwise follow "A damaged journal" in docs/backup.md.',
        "the state directory cannot be read",
    ),
    CheckName.JOURNAL_VERSION: DoctorCheck(
        "This program can read the journal: neither its schema nor its engine is newer.",
        "A newer shoed wrote the journal. An older shoed refuses a newer schema, and recomputes the state of a newer"
        " engine.",
        "Install the newer shoed again.",
        "there is no journal that can be read",
    ),
    CheckName.CLOCK: DoctorCheck(
        "The clock of the machine is synchronised.",
        "The times of cards and rounds are wrong, and do not fit the times of cameras and other systems.",
        "Switch on a time service: `timedatectl set-ntp true`, or chrony with a reachable server.",
        "the kernel does not answer",
    ),
    CheckName.SECRET_FILES: DoctorCheck(
        "Only the user of the daemon can read `password_file`, `key`, `key_file` and the key of the journal.",
        "Another user can read the password of the broker, the key of a device, or the key of the journal. The daemon"
        " refuses such a key of a device or of the journal.",
        "`chmod 0400 FILE`; if root owns the file and the daemon is in its group, `chmod 0440 FILE`.",
        "the configuration names no file with a secret",
    ),
    CheckName.PORT: DoctorCheck(
        "The port of each device can be opened. While the daemon runs, the daemon reports the state of its ports.",
        "The device is absent, another program uses it, or the permission is missing.",
        "The result names the cause. `shoed ports` lists the connected devices.",
        "every device has a key: only the daemon opens its port",
    ),
    CheckName.PORT_HOLDER: DoctorCheck(
        "No program except the daemon has the port open.",
        "Two programs that read one port each receive a part of the bytes: cards are lost.",
        "Stop the named program. Without root rights doctor sees only programs of its own user.",
        "no device is on a node that exists on this machine",
    ),
    CheckName.PORT_NAME: DoctorCheck(
        "The name of the port stays with its device.",
        "After the next start the name may belong to the device of another table.",
        "Write the stable name that `shoed ports` lists.",
        "no device is on a node of this machine",
    ),
    CheckName.PORT_LATENCY: DoctorCheck(
        "An FTDI adapter delivers bytes without a delay (`latency_timer` in sysfs).",
        "The adapter delays short reports, 16 ms by default. Their arrival times are inexact.",
        "Install shoed's udev rules, which set 1 ms, and reconnect the adapter.",
        "no device is on an FTDI adapter",
    ),
    CheckName.PORT_BYTES: DoctorCheck(
        "The received bytes are messages of the configured family. Without a daemon, doctor listens on the port; if"
        " garbage arrives on a serial line, doctor listens at the other usual speeds. While the daemon runs, doctor"
        " reads the recent traffic in the daemon.",
        "No bytes: the device is off, the cable is cut, or no card was drawn. Garbage: the speed, the parity or the"
        " wiring is wrong. Messages of another family: the configuration names the wrong protocol.",
        "Draw a card while doctor listens (`--listen 30`). Write the speed or the protocol that the result names.",
        "no port was opened",
    ),
    CheckName.FIRMWARE: DoctorCheck(
        "A device that states its version has the configured one.",
        "The device uses another version of its protocol than the configuration states, or a version that this shoed"
        " does not know.",
        "Write the stated version as `firmware` in the section of the device, or update shoed.",
        "no device of the configuration states its version",
    ),
    CheckName.BROKER: DoctorCheck(
        "The broker accepts a connection with the configured address, TLS, user and version of MQTT. The client id of"
        " doctor is `shoed-SITE-doctor-` and a random word, so the sessions of the daemon continue.",
        "The events remain in the journal and are not published.",
        "The result names the cause: the broker does not run, the url has the wrong kind of TLS, a certificate is not"
        " valid, or the broker refuses the user.",
        "the configuration has no broker",
    ),
    CheckName.BROKER_ACCESS: DoctorCheck(
        "The broker publishes what shoed sends for each table. Doctor publishes one message that is not retained to"
        " `shoed/v1/SITE/TABLE/doctor`, a topic that subscribers of `event/#`, `status`, `state`, `question` and `head`"
        " do not receive. Under MQTT 3.1.1 a denial is invisible; therefore doctor also subscribes to this topic and"
        " waits for its own message.",
        "The broker's access list denies the topics of the table.",
        "Allow the user of shoed to write and to read `shoed/v1/SITE/#`.",
        "the broker did not accept a connection",
    ),
}
