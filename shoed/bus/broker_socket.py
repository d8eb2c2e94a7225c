"""Reads the password of the broker, and connects the socket to the broker, with TLS if configured.

The event loop, not a thread, waits for the connection, so a cancelled `dial` closes its socket. The lookup of a name
and the reading of certificates run in threads. A cancelled caller does not wait for these threads.
"""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost, BrokerRefused, BusError
from shoed.ports.threads import off_loop

ALERT: Final = "ALERT"  # in OpenSSL's name of an error that the other side reports: it speaks TLS


def password(settings: BrokerSettings) -> str | None:
    if settings.password_file is None:
        return None
    try:
        return Path(settings.password_file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise BrokerRefused(
            f"the password for {settings.at} cannot be read from {settings.password_file}: {_reason(fault)}; "
            "set password_file in [mqtt] to a text file that shoed may read"
        ) from fault


def tls_context(settings: BrokerSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca)
    except OSError as fault:
        raise BrokerRefused(
            f"{settings.ca} cannot be used: {_reason(fault)}; set ca in [mqtt] to a PEM file of certificate authorities"
        ) from fault
    if settings.cert is not None:
        try:
            # Without a password argument, OpenSSL would ask at the terminal for the password of an encrypted key.
            context.load_cert_chain(settings.cert, settings.key, password="")
        except OSError as fault:
            raise BrokerRefused(
                f"{settings.cert} and {settings.key} cannot be used: {_reason(fault)}; "
                "set cert and key in [mqtt] to the PEM files of a certificate and of its key, without a password"
            ) from fault
    return context


async def dial(settings: BrokerSettings, limit_s: float) -> socket.socket:
    """A socket to the first of the broker's addresses that answers. The time limit is divided among the addresses."""
    # In a thread: the system's authorities need 15 ms to load, which would delay the cards of other tables.
    context = await off_loop(lambda: tls_context(settings)) if settings.tls else None
    return await _connected(settings, context, limit_s)


async def speaks_tls(settings: BrokerSettings, limit_s: float) -> bool:
    """Whether the port of the broker answers in TLS. The certificate is not verified, and no data are sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        (await _connected(settings, context, limit_s)).close()
    except BusError:
        return False
    return True


async def _connected(settings: BrokerSettings, context: ssl.SSLContext | None, limit_s: float) -> socket.socket:
    loop = asyncio.get_running_loop()
    try:
        places = await off_loop(lambda: socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as fault:
        raise BrokerLost(
            f"{settings.at} cannot be found: {_reason(fault)}; check url in [mqtt] and the name service"
        ) from fault
    faults = []
    for family, kind, protocol, _, address in places:
        plain = socket.socket(family, kind, protocol)
        try:
            plain.setblocking(False)  # noqa: FBT003  # its only parameter
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # without a delay for small messages
            async with asyncio.timeout(limit_s / len(places)):
                await loop.sock_connect(plain, address)
                return await _encrypted(context, plain, settings) if context else plain
        except OSError as fault:
            plain.close()
            faults.append(f"{address[0]}: {_reason(fault)}")
        except BaseException:
            plain.close()
            raise
    raise BrokerLost(
        f"{settings.at} cannot be reached ({', '.join(faults)}); check that the broker runs, and check url in [mqtt]"
    )


async def _encrypted(context: ssl.SSLContext, plain: socket.socket, settings: BrokerSettings) -> ssl.SSLSocket:
    loop = asyncio.get_running_loop()
    inner = context.wrap_socket(plain, server_hostname=settings.host, do_handshake_on_connect=False)
    try:
        while True:
            # Never SSLWantWriteError: our handshake fits into the empty buffer of the socket.
            try:
                inner.do_handshake()
            except ssl.SSLWantReadError:
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
            f"the certificate of {settings.at} is not valid: {fault.verify_message}; set ca in [mqtt] to the PEM "
            "file of the authority that signed it, and the host in url to a name in the certificate"
        ) from fault
    except ssl.SSLError as fault:
        inner.close()
        raise (_refused_handshake if ALERT in (fault.reason or "") else _no_tls)(settings, fault) from fault
    except ConnectionError as fault:
        inner.close()
        raise _no_tls(settings, fault) from fault
    except BaseException:
        inner.close()
        raise


def _no_tls(settings: BrokerSettings, fault: OSError) -> BrokerLost:
    return BrokerLost(
        f"the broker at {settings.place} does not speak TLS ({_reason(fault)}); set url in [mqtt] to"
        f" {replace(settings, tls=False).at}, or to the TLS port of the broker"
    )


def _refused_handshake(settings: BrokerSettings, fault: OSError) -> BrokerLost:
    return BrokerLost(
        f"{settings.at} refused the TLS connection: {_reason(fault)}; check the broker's log: it may require cert and"
        " key, or another version of TLS"
    )


def _reason(fault: Exception) -> str:
    return getattr(fault, "strerror", None) or str(fault) or "no answer in time"  # a TimeoutError has no text
