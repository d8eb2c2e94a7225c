"""Log lines for the journal of systemd, in its native protocol: one datagram for each line, with fields.

A field is `NAME=value` and a line end. A value with a line end has its length in front: `NAME`, a line end, the length
in 8 bytes (little endian), the value, a line end. https://systemd.io/JOURNAL_NATIVE_PROTOCOL/ defines it.
"""

import logging
import socket
from collections.abc import Callable
from typing import Final

from shoed.service.log import ABOUT

LONGEST: Final = 32_768  # characters of a message: a datagram must fit into the buffer of the socket, 208 KiB

# The levels of syslog, as PRIORITY= and as the prefix `<N>`.
CRITICAL, ERROR, WARNING, INFO, DEBUG = 2, 3, 4, 6, 7
PRIORITIES: Final = {
    logging.CRITICAL: CRITICAL,
    logging.ERROR: ERROR,
    logging.WARNING: WARNING,
    logging.INFO: INFO,
    logging.DEBUG: DEBUG,
}

FORMATTER: Final = logging.Formatter()


def with_fields(record: logging.LogRecord) -> tuple[bytes, str]:
    """The datagram of a line, and its text for the standard error."""
    priority, text = PRIORITIES.get(record.levelno, INFO), FORMATTER.format(record)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} [cut: the first {LONGEST} of {len(text)} characters]"
    fields = {"MESSAGE": text, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": "shoed", "LOGGER": record.name}
    events: tuple[str, ...] = getattr(record, "event_ids", ())
    several = [*fields.items(), *ABOUT.get()().items(), *(("EVENT_ID", each) for each in events)]
    prefixed = "\n".join(f"<{priority}>{line}" for line in f"{record.name}: {text}".split("\n"))
    return b"".join(encoded(name, value) for name, value in several), prefixed


def encoded(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"


class JournalSocket:
    """Sends datagrams to the journal. A line that the journal does not accept is written by `otherwise`."""

    def __init__(self, address: str, otherwise: Callable[[str], None]) -> None:
        self.address = address
        self.otherwise = otherwise
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def write(self, line: tuple[bytes, str]) -> None:
        datagram, text = line
        try:
            self.line.sendto(datagram, self.address)  # not connected: the journal may restart
        except OSError:
            self.otherwise(text)
