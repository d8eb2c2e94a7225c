"""Which broker, and as whom: what a person writes into `[mqtt]`.

Nothing here opens a file or a socket, so a configuration can be checked on any machine.
"""

import re
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from shoed.ports.address import faults_of_ipv6
from shoed.settings import Wrong, shown

Version = Literal["5", "3.1.1"]

PORTS: Final = {"mqtt": 1883, "mqtts": 8883}  # IANA
FORMS: Final = "write mqtt://HOST[:PORT], or mqtts://HOST[:PORT] for TLS"
USER: Final = r"(?s)^([a-z]+://)?.*@"  # a password is not repeated in a message


class BrokerSettings(Struct, frozen=True):
    host: str  # a name or a number; IPv6 without its brackets
    port: int
    tls: bool = False
    version: Version = "5"
    user: str | None = None
    password_file: str | None = None  # read at every connecting, so that a password can be changed under way
    ca: str | None = None  # PEM file of the authorities to trust instead of the system's
    cert: str | None = None  # PEM files of our own certificate and its key
    key: str | None = None

    @property
    def at(self) -> str:
        """As people write it."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Limits(Struct, frozen=True):
    """How long to wait, in seconds. All but the tests take these."""

    connect_s: float = 5.0  # name, line, TLS and greeting; a broker on the other side of the world needs one
    puback_s: float = 10.0  # longer than a cluster takes to change its leader, so as not to knock on it meanwhile
    probe_s: float = 3.0  # three ways through the broker; waited out only if the answer is no
    close_s: float = 1.0  # for the broker to hang up on our DISCONNECT
    # An idle line costs two packets of two bytes in this time. The broker publishes our will after one and a half of
    # it, and we give up a silent broker after two.
    keepalive_s: int = 15


LIMITS: Final = Limits()


def parse_url(text: str) -> tuple[str, int, bool]:
    """Host, port and whether TLS is meant; a ValueError says `PROBLEM; WHAT WOULD BE RIGHT`, once for each problem."""
    named = shown(re.sub(USER, r"\1", text))
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError as error:  # a port out of range, brackets that do not match
        raise ValueError(f"{named} is not the address of a broker ({error}); {FORMS}") from None
    wrong = []
    if url.scheme not in PORTS:
        wrong.append(f"{named} does not begin with mqtt:// or mqtts://; {FORMS}")
    if "@" in url.netloc:
        wrong.append("the url holds a user or a password; remove them, set user and password_file")
    if url.netloc or not wrong:
        if not host or port == 0 or not host.isprintable() or " " in host:
            wrong.append(f"{named} names no host and port; {FORMS}")
        elif ":" in host:
            wrong += faults_of_ipv6(host, "mqtt://[fd00::7]:1883")
        if url.path.strip("/") or url.query or url.fragment:
            wrong.append(f"{named} goes on after the port; {FORMS}")
    if wrong or not host:
        raise Wrong(*wrong)
    return host, port or PORTS[url.scheme], url.scheme == "mqtts"
