"""The adapter over aiomqtt with TLS: trusted, required, wrong and missing certificates."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from shoed.bus.client import WINDOW, MqttMessage, connect
from shoed.bus.settings import BrokerSettings, MqttVersion
from shoed.errors import BrokerLost, BrokerRefused
from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.brokers import PATIENCE, both_versions, cancel_at_every_await, refused
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")


@dataclass
class Certificates:
    """A CA, the certificates that it signed, and a broker for each way of using them."""

    folder: Path
    settings: BrokerSettings  # with the right CA
    strict: BrokerSettings  # requires a client certificate, too


def make_certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)  # noqa: S607

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    use = "keyUsage=critical,keyCertSign"
    openssl("req", "-x509", *key, "-nodes", "-keyout", "ca.key", "-out", "ca", "-subj", "/CN=test-ca", "-addext", use)
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
    for name in ("broker", "shoed"):
        openssl("req", *key, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.request", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.request", "-CA", "ca", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-out", f"{name}.pem", "-extfile", "extensions"),
        )
    openssl("ec", "-in", "shoed.key", "-out", "locked.key", "-aes256", "-passout", "pass:secret")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def certificates(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Certificates]:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl program, which makes the certificates, is missing")
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    lines = [f"cafile {folder}/ca", f"certfile {folder}/broker.pem", f"keyfile {folder}/broker.key"]
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=lines) as lenient,
        running_broker(BrokerKind.MOSQUITTO, lines=[*lines, "require_certificate true"]) as strict,
    ):
        settings, strictly = (replace(it.settings(), tls=True, ca=f"{folder}/ca") for it in (lenient, strict))
        yield Certificates(folder, settings, strictly)


@both_versions
async def test_tls_transfers_every_message(certificates: Certificates, version: MqttVersion) -> None:
    """The test sends small messages, a full window of large messages, and DISCONNECT."""
    async with connect(replace(certificates.settings, version=version), "a", None, PATIENCE) as connection:
        await connection.probe(MqttMessage("t", b"online"))
        await asyncio.gather(*(connection.publish(MqttMessage("t", b"x" * 1_000_000)) for _ in range(WINDOW)))


async def test_a_cancellation_at_any_await_with_tls_leaves_nothing_open(certificates: Certificates, topic: str) -> None:
    """The handshake runs on the event loop, not in a thread."""
    await cancel_at_every_await(certificates.settings, topic)


async def test_tls_with_a_client_certificate(certificates: Certificates) -> None:
    """The broker that requires a certificate accepts ours, and closes the connection without it."""
    folder = certificates.folder
    async with connect(
        replace(certificates.strict, cert=f"{folder}/shoed.pem", key=f"{folder}/shoed.key"), "a", None, PATIENCE
    ) as connection:
        await connection.publish(MqttMessage("t", b""))
    error = await refused(certificates.strict)
    assert isinstance(error, BrokerLost)
    assert "cert and key" in str(error)


async def test_a_certificate_that_cannot_be_trusted_is_refused(certificates: Certificates) -> None:
    """An unknown authority signed it, or it is for another name. Both errors name the setting."""
    for settings in (replace(certificates.settings, ca=None), replace(certificates.settings, host="localhost")):
        error = await refused(settings)
        assert isinstance(error, BrokerRefused)
        assert "is not valid" in str(error)
        assert "set ca in [mqtt]" in str(error)


async def test_the_error_names_tls_files_that_cannot_be_used(certificates: Certificates) -> None:
    """The files are missing, not PEM, or a key with a password."""
    folder = certificates.folder
    for change, named in (
        ({"ca": f"{folder}/absent"}, "absent"),
        ({"ca": f"{folder}/extensions"}, "extensions"),
        ({"cert": f"{folder}/absent", "key": f"{folder}/shoed.key"}, "absent"),
        ({"cert": f"{folder}/shoed.pem", "key": f"{folder}/locked.key"}, "locked.key"),
    ):
        error = await refused(replace(certificates.settings, **change))
        assert isinstance(error, BrokerRefused)
        assert f"{folder}/{named}" in str(error)


@both_versions
async def test_a_port_without_tls_is_named(broker: Broker, version: MqttVersion) -> None:
    """The error has the url that fits the port, without a wait."""
    async with asyncio.timeout(PATIENCE_S):
        error = await refused(replace(broker.settings(version), tls=True))
    assert str(error).startswith(f"the broker at {broker.host}:{broker.port} does not speak TLS")
    assert f"set url in [mqtt] to mqtt://{broker.host}:{broker.port}" in str(error)


@both_versions
async def test_a_port_with_tls_is_named(certificates: Certificates, version: MqttVersion) -> None:
    """A second connection proves that the port speaks TLS; the error has the url that fits the port."""
    for settings in (certificates.settings, certificates.strict):
        async with asyncio.timeout(PATIENCE_S):
            error = await refused(replace(settings, version=version, tls=False))
        assert isinstance(error, BrokerRefused)
        assert str(error).startswith(f"the broker at {settings.place} speaks TLS")
        assert f"set url in [mqtt] to mqtts://{settings.place}" in str(error)
