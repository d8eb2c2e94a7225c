"""The setting `listen` of the section `[metrics]`: a port of the loopback interface, or a unix socket.

The metrics have no password and no TLS. Therefore only this machine can reach them.
"""

import ipaddress
import re
from typing import Final

from msgspec import Struct

from shoed.service.command_socket import NAME as COMMAND_SOCKET
from shoed.settings import shown

EXAMPLE: Final = "127.0.0.1:9101"
UNIX: Final = "unix:"
FORMS: Final = 'write for example "127.0.0.1:9101", "[::1]:9101", or "unix:metrics.sock"'
PORT_MOST: Final = 65535


class LoopbackPort(Struct, frozen=True):
    host: str  # IPv6 without its brackets
    port: int

    def __str__(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class UnixSocket(Struct, frozen=True):
    """A socket in the state directory."""

    name: str

    def __str__(self) -> str:
        return f"{UNIX}{self.name}"


MetricsPlace = LoopbackPort | UnixSocket


def parse_listen(text: str) -> MetricsPlace:
    """The ValueError is `PROBLEM; REMEDY`."""
    if text.startswith(UNIX):
        return _unix_socket(text)
    match = re.fullmatch(r"\[([^\[\]]*)\]:([0-9]{1,5})|([^\[\]:]*):([0-9]{1,5})", text)
    if match is None:
        raise ValueError(f"{shown(text)} has no address and port; {FORMS}")
    host, port = match[1] or match[3] or "", int(match[2] or match[4])
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ValueError(f"{shown(host)} is not an IP address; {FORMS}") from None
    if not is_loopback:
        remedy = "write 127.0.0.1 or [::1], and let a proxy on this machine serve other machines"
        raise ValueError(f"other machines can reach {shown(host)}; {remedy}")
    if not 1 <= port <= PORT_MOST:
        raise ValueError(f"port {port} does not exist; write a number from 1 to {PORT_MOST}")
    return LoopbackPort(host, port)


def _unix_socket(text: str) -> UnixSocket:
    name = text.removeprefix(UNIX)
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}\.sock", name):
        remedy = f'write a name without a directory that ends with .sock, as in "{UNIX}metrics.sock"'
        raise ValueError(f"{shown(name)} is not the name of a socket in the state directory; {remedy}")
    if name == COMMAND_SOCKET:
        raise ValueError(f'{name} is the command socket of shoed; write another name, as in "{UNIX}metrics.sock"')
    return UnixSocket(name)
