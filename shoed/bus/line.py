"""The line to the broker: a connected, perhaps encrypted socket, and what is shown at the door.

No thread waits for the line, so a cancelled connect leaves no socket behind. Only the lookup of a name or the
reading of certificates under way ends by itself, in the loop's own pool of threads.
"""

import asyncio
import socket
import ssl
from pathlib import Path

from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost, BrokerRefused
from shoed.ports.threads import off_loop


def password(settings: BrokerSettings) -> str | None:
    if settings.password_file is None:
        return None
    try:
        return Path(settings.password_file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise BrokerRefused(
            f"the password for {settings.at} cannot be read from {settings.password_file}: {_said(fault)}; "
            "name a text file in password_file that shoed may read"
        ) from fault


def tls_context(settings: BrokerSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca)
    except OSError as fault:
        raise BrokerRefused(
            f"{settings.ca} cannot be used: {_said(fault)}; name a PEM file of authorities in ca"
        ) from fault
    if settings.cert is not None:
        try:
            # The empty password: OpenSSL would ask for that of an encrypted key at the terminal.
            context.load_cert_chain(settings.cert, settings.key, password="")
        except OSError as fault:
            raise BrokerRefused(
                f"{settings.cert} and {settings.key} cannot be used: {_said(fault)}; "
                "name the PEM files of a certificate and of its key, without a password, in cert and key"
            ) from fault
    return context


async def dial(settings: BrokerSettings, limit_s: float) -> socket.socket:
    """To the first of the broker's addresses that answers; each has its share of the time."""
    loop = asyncio.get_running_loop()
    # Beside the loop: the system's authorities take 15 ms to load, and other tables are dealing.
    context = await off_loop(lambda: tls_context(settings)) if settings.tls else None
    try:
        places = await off_loop(lambda: socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as fault:
        raise BrokerLost(
            f"{settings.at} cannot be found: {_said(fault)}; check url in [mqtt] and the name service"
        ) from fault
    faults = []
    for family, kind, protocol, _, address in places:
        line = socket.socket(family, kind, protocol)
        try:
            line.setblocking(False)  # noqa: FBT003  # its only parameter
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a card does not wait for the next one
            async with asyncio.timeout(limit_s / len(places)):
                await loop.sock_connect(line, address)
                return await _encrypted(context, line, settings) if context else line
        except OSError as fault:
            line.close()
            faults.append(f"{address[0]}: {_said(fault)}")
        except BaseException:
            line.close()
            raise
    raise BrokerLost(
        f"{settings.at} cannot be reached ({', '.join(faults)}); see whether the broker runs and url in [mqtt] is right"
    )


async def _encrypted(context: ssl.SSLContext, line: socket.socket, settings: BrokerSettings) -> ssl.SSLSocket:
    loop = asyncio.get_running_loop()
    inner = context.wrap_socket(line, server_hostname=settings.host, do_handshake_on_connect=False)
    try:
        while True:
            try:
                inner.do_handshake()
            except ssl.SSLWantReadError:  # never SSLWantWriteError: all we say fits into the empty buffer of the socket
                readable = asyncio.Event()
                loop.add_reader(inner, readable.set)
                try:
                    await readable.wait()
                finally:
                    loop.remove_reader(inner)
            else:
                return inner
    except ssl.SSLCertVerificationError as fault:
        inner.close()
        raise BrokerRefused(
            f"{settings.at} shows a certificate that cannot be trusted: {fault.verify_message}; set ca in [mqtt] to "
            "the PEM file of the authority that signed it, and the host in url to a name the certificate holds"
        ) from fault
    except BaseException:
        inner.close()
        raise


def _said(fault: Exception) -> str:
    """A time-out has no text of its own."""
    return getattr(fault, "strerror", None) or str(fault) or "it does not answer in time"
