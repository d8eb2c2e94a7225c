"""The settings of the broker and of the client: the section `[mqtt]` of the configuration.

This module opens no file and no socket, so a configuration can be checked on any machine.
"""

import re
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from shoed.ports.address import faults_of_ipv6, without_user
from shoed.settings import SeveralProblems, shown

MqttVersion = Literal["5", "3.1.1"]

PORTS: Final = {"mqtt": 1883, "mqtts": 8883}  # IANA
FORMS: Final = "write mqtt://HOST[:PORT], or mqtts://HOST[:PORT] for TLS"


class BrokerSettings(Struct, frozen=True):
    host: str  # a name or a number; IPv6 without its brackets
    port: int
    tls: bool = False
    version: MqttVersion = "5"
    user: str | None = None
    password_file: str | None = None  # read at every connect: a changed password needs no restart
    ca: str | None = None  # PEM file of trusted authorities; None: the authorities of the system
    cert: str | None = None  # PEM files of the client's certificate and its key
    key: str | None = None

    @property
    def at(self) -> str:
        """The url in canonical form."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.place}"

    @property
    def place(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class BrokerTimeLimits(Struct, frozen=True):
    """The time limits of a connection. Only tests use other values."""

    connect_s: float = 5.0  # for name lookup, TCP, TLS and CONNACK; a distant broker needs about one second
    puback_s: float = 10.0  # longer than a cluster needs to change its leader
    probe_s: float = 3.0  # for subscribe, publish and echo; only a refused probe waits this long
    close_s: float = 1.0  # for the broker to close the connection after our DISCONNECT
    # An idle connection sends two packets of two bytes in this time. The broker publishes the will after 1.5 times
    # this time without a packet. The client gives up a silent broker after twice this time.
    keepalive_s: int = 15


LIMITS: Final = BrokerTimeLimits()


def shown_url(text: str) -> str:
    """The url for a message, without the parts that may contain a password."""
    bare = re.sub(r"(?s)[?#].*", "?...", without_user(text))
    scheme = "".join(re.findall(r"^[A-Za-z0-9+]+:/+", bare))
    place, slash, path = bare.removeprefix(scheme).partition("/")
    host, bracket, port = place.rpartition("]")
    return shown("".join((scheme, host, bracket, re.sub(r":[^:]*[^:0-9][^:]*", ":...", port), slash, path)))


def parse_url(text: str) -> tuple[str, int, bool]:
    """Host, port and whether to use TLS. The ValueError has one text `PROBLEM; REMEDY` for each problem."""
    named = shown_url(text)
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:  # its text may quote a password
        raise ValueError(
            f"{named} is not the address of a broker: its host or its port is not valid; {FORMS}"
        ) from None
    wrong = []
    if url.scheme not in PORTS:
        wrong.append(f"{named} does not begin with mqtt:// or mqtts://; {FORMS}")
    if "@" in url.netloc:
        wrong.append("the url contains a user or a password; remove them, and set user and password_file")
    if url.netloc or not wrong:
        if not host or port == 0 or not host.isprintable() or " " in host:
            wrong.append(f"{named} does not contain a host and a port; {FORMS}")
        elif ":" in host:
            wrong += faults_of_ipv6(host, "mqtt://[fd00::7]:1883")
        if url.path.strip("/") or url.query or url.fragment:
            wrong.append(f"{named} has text after the port; {FORMS}")
    if wrong or not host:
        raise SeveralProblems(*wrong)
    return host, port or PORTS[url.scheme], url.scheme == "mqtts"
