"""A guest: QEMU with a real kernel, systemd, udev and shoed. Each guest begins from the same saved state.

Theory of operation: the guest is booted once for each disk. When shoed waits for its devices, the memory is saved with
`migrate exec:`, and the changes of the disk are in a qcow2 file. A test resumes a copy of both in less than a second.
QMP controls the machine; the agent runs commands in it. A subscriber and the log of shoed run in the guest, and each of
their lines is news for the test.
"""

import asyncio
import json
import re
import sys
from asyncio.subprocess import Process
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any, Final, NamedTuple, Self

from tests.hil.image import CACHE, Image, built, digest, run, tool
from tests.witnesses import Watched

PATIENCE_S: Final = 90.0  # an emulated processor is slow, and other programs use the real ones
BOOT_S: Final = 240.0
TABLES: Final = ("bulk", "ftdi", "acm", "scanner-a", "scanner-b", "socket-5", "socket-6")  # of shoed.toml
MEMORY_MB: Final = 384
SOCKETS: Final = 8  # of the USB bus
MACHINE: Final = (
    *("-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", str(MEMORY_MB)),
    *("-nodefaults", "-no-user-config", "-display", "none"),
    *("-append", "console=ttyS0 panic=-1 mitigations=off tsc=reliable quiet"),
    *("-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci"),
    *("-device", f"qemu-xhci,id=usb,addr=0x8,p2={SOCKETS},p3=1"),
    *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=hil"),
)
SUBSCRIBER, LOGGER = 1, 2  # the numbers of the commands that run from the start of the guest
SUBSCRIBE: Final = ("mosquitto_sub", "-V", "5", "-q", "1", "-t", "shoed/v1/hil/#", "-F", "%j")
LOG: Final = ("journalctl", "--unit=shoed", "--output=cat", "--follow", "--lines=all")


class Saved(NamedTuple):
    """The state of a booted guest."""

    memory: Path
    disk: Path


class Heard(NamedTuple):
    """A message of the broker."""

    table: str
    topic: str  # below the table
    payload: Any


class Guest(Watched):
    """One machine. `place` has its files; the machine is switched off at the end."""

    patience_s = PATIENCE_S

    def __init__(self, image: Image, place: Path, disk: Path) -> None:
        super().__init__()
        self.image = image
        self.place = place
        self.disk = disk
        self.lines: dict[int, list[str]] = {}  # the output of each command
        self.statuses: dict[int, int] = {}
        self.messages: list[Heard] = []
        self.log: list[str] = []
        self.qmp_events: list[str] = []
        self.devices: list[Process] = []
        self._number = LOGGER
        self._ready = False
        self._answers: deque[dict[str, Any]] = deque()
        self._tasks: list[asyncio.Task[None]] = []

    # --- the machine

    async def switch_on(self, *, resume: Path | None = None, cache: str = "writeback") -> Self:
        self._ready = resume is not None
        incoming = () if resume is None else ("-incoming", f"exec:cat {quote(str(resume))}")
        with (self.place / "qemu.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *("nice", "-n", "10", tool("qemu-system-x86_64"), *MACHINE, *incoming),
                *("-kernel", self.image.kernel, "-initrd", self.image.initrd),
                *("-drive", f"file={self.disk},if=none,id=disk,format=qcow2,cache={cache}"),
                *("-chardev", f"socket,id=agent,path={self.place}/agent,server=on,wait=on"),
                *("-qmp", f"unix:{self.place}/qmp,server=on,wait=off"),
                *("-serial", f"file:{self.place}/console"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
            )
        self._agent = await self._connect("agent", self._agent_sent)
        self._qmp = await self._connect("qmp", self._qmp_sent)
        await self.qmp("qmp_capabilities")
        is_running = (await self.qmp("query-status"))["running"]
        await self.until(lambda: self._ready and (is_running or "RESUME" in self.qmp_events), BOOT_S)
        return self

    async def _connect(self, name: str, hear: Callable[[dict[str, Any]], None]) -> asyncio.StreamWriter:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    reader, writer = await asyncio.open_unix_connection(self.place / name, limit=1 << 24)
                except OSError:
                    with suppress(TimeoutError):  # QEMU makes its sockets a moment later
                        await asyncio.wait_for(self.process.wait(), 0.02)
                        raise AssertionError(f"QEMU has ended: {(self.place / 'qemu.log').read_text()}") from None
                else:
                    break
        self._tasks.append(asyncio.create_task(self._hear(reader, hear)))
        return writer

    async def _hear(self, reader: asyncio.StreamReader, hear: Callable[[dict[str, Any]], None]) -> None:
        with suppress(ConnectionResetError):
            while line := await reader.readline():
                with suppress(json.JSONDecodeError):  # the rest of a line from before the resumption
                    hear(json.loads(line))
                self.news.set()

    def _qmp_sent(self, message: dict[str, Any]) -> None:
        if "return" in message or "error" in message:
            self._answers.append(message)
        elif "event" in message:
            self.qmp_events.append(message["event"])

    def _agent_sent(self, message: dict[str, Any]) -> None:
        match message:
            case {"ready": True}:
                self._ready = True
            case {"id": number, "status": status}:
                self.statuses[number] = status
            case {"id": number, "line": line}:
                if number == SUBSCRIBER:
                    self.messages.append(heard(line))
                elif number == LOGGER:
                    self.log.append(line)
                else:
                    self.lines[number].append(line)
            case _:
                raise AssertionError(f"the agent sent {message}")

    async def qmp(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 -- JSON has any shape
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}).encode())
        answer = await self.until(lambda: self._answers.popleft() if self._answers else None)
        assert "return" in answer, f"{command} {arguments}: {answer}"
        return answer["return"]

    async def switch_off(self) -> None:
        """End QEMU at once, as in a power cut. What the guest has not written to its disk is lost."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        for task in self._tasks:
            task.cancel()
        self._agent.close()
        self._qmp.close()

    # --- commands in the guest

    def _request(self, **request: object) -> int:
        self._number += 1
        self.lines[self._number] = []
        self._send(self._number, **request)
        return self._number

    def _send(self, number: int, **request: object) -> None:
        self._agent.write(json.dumps({"id": number, **request}).encode() + b"\n")

    async def _answered(self, number: int, what: str) -> str:
        await self.until(lambda: number in self.statuses)
        output = "\n".join(self.lines[number])
        assert self.statuses[number] == 0, f"{what}: status {self.statuses[number]}:\n{output}"
        return output

    async def run(self, *command: str) -> str:
        """Run a command in the guest, and return its output."""
        return await self._answered(self._request(run=command), " ".join(command))

    async def shell(self, script: str) -> str:
        return await self.run("sh", "-euc", script)

    async def write(self, path: str, text: str) -> None:
        await self._answered(self._request(write=path, text=text), path)

    def listen(self) -> None:
        """Subscribe to the messages of shoed, and follow its log. Both programs are part of a saved state."""
        self._send(SUBSCRIBER, run=SUBSCRIBE)
        self._send(LOGGER, run=LOG)

    # --- what shoed publishes

    def events(self, table: str, kind: str | None = None) -> list[Any]:
        """The events of a table, each once and in the order of their numbers; `kind` as in `card.drawn`."""
        by_number = {int(each.payload["sequence"]): each.payload for each in self.messages if is_event(each, table)}
        numbered = [by_number[number] for number in sorted(by_number)]
        return [each for each in numbered if kind is None or each["type"] == f"shoed.{kind}"]

    async def event(self, table: str, kind: str, count: int = 1) -> Any:  # noqa: ANN401 -- JSON has any shape
        """Wait for the event number `count` of this kind, and return its data."""
        found = await self.until(lambda: self.events(table, kind)[count - 1 :])
        return found[0]["data"]

    async def logged(self, part: str) -> str:
        return await self.until(lambda: next((line for line in self.log if part in line), None))

    def cards(self, table: str) -> list[str]:
        return [each["data"]["card"] for each in self.events(table, "card.drawn")]

    def story(self, table: str) -> list[str]:
        """The kinds of the events of a table, in their order; a card has its face."""
        found = ((each["type"].removeprefix("shoed."), each["data"].get("card")) for each in self.events(table))
        return [" ".join(filter(None, each)) for each in found]

    async def reason(self, table: str, part: str) -> str:
        """Wait until the device of a table is offline for a reason with these words."""
        return await self.until(lambda: next((each for each in self._reasons(table) if part in each), None))

    def _reasons(self, table: str) -> list[str]:
        states = [each.payload for each in self.messages if (each.table, each.topic) == (table, "state")]
        return [each["device"]["reason"] or "" for each in states[-1:]]

    # --- the bus

    async def socket(self, number: int) -> Path:
        """Make a USB socket for a device that is played from outside. The path is for `--usbredir`."""
        path = self.place / f"usb{number}"
        backend = {"addr": {"type": "unix", "data": {"path": str(path)}}, "server": True, "wait": False}
        await self.qmp("chardev-add", id=f"usb{number}", backend={"type": "socket", "data": backend})
        await self.qmp("device_add", driver="usb-redir", id=f"redir{number}", chardev=f"usb{number}", port=str(number))
        return path

    async def plug(self, number: int, *words: str, scenario: str) -> Process:
        """Start `shoed rig WORDS` as a device in a new USB socket."""
        return await self.play(await self.socket(number), *words, scenario=scenario)

    async def play(self, path: Path, *words: str, scenario: str) -> Process:
        """Start `shoed rig WORDS` as a device in a USB socket."""
        file = self.place / f"{len(self.devices)}.toml"
        file.write_text(scenario)
        return (await self._rig(*words, f"--usbredir={path}", f"--scenario={file}"))[0]

    async def adapter(self, serial: str, *words: str) -> Process:
        """Plug the FTDI adapter that QEMU emulates. Return `shoed rig WORDS`, the shoe on its line.

        QEMU detaches the adapter when the shoe ends. QEMU 7.2 crashed when an adapter that receives bytes was deleted.
        """
        shoe, line = await self._rig(*words, "--listen=tcp://127.0.0.1:0")
        found = re.search(r'"tcp://127.0.0.1:([0-9]+)"', line)
        assert found is not None
        name = f"line{len(self.devices)}"
        backend = {"addr": {"type": "inet", "data": {"host": "127.0.0.1", "port": found[1]}}, "server": False}
        await self.qmp("chardev-add", id=name, backend={"type": "socket", "data": backend})
        await self.qmp("device_add", driver="usb-serial", id="adapter", chardev=name, serial=serial)
        return shoe

    async def _rig(self, *words: str) -> tuple[Process, str]:
        command = (sys.executable, "-m", "shoed", "rig", *words)
        device = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        self.devices.append(device)
        assert device.stdout is not None
        assert device.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await device.stdout.readline()
            assert line, (await device.stderr.read()).decode()
        return device, line.decode()

    async def unplug(self, device: Process) -> None:
        """End the process of a device. The end of its connection is the unplug."""
        with suppress(ProcessLookupError):
            device.kill()
        await device.wait()

    def __str__(self) -> str:
        console = (self.place / "console").read_text(errors="replace").splitlines()[-15:]
        messages = [f"{each.table} {each.topic} {json.dumps(each.payload)[:300]}" for each in self.messages[-40:]]
        qemu = (
            f"status {self.process.returncode}",
            (self.place / "qemu.log").read_text(errors="replace"),
            *self.qmp_events,
        )
        return "\n".join(
            ("-- QEMU", *qemu, "-- console", *console, "-- log of shoed", *self.log[-30:], "-- messages", *messages)
        )


def heard(line: str) -> Heard:
    message = json.loads(line)
    _, _, _, table, topic = message["topic"].split("/", 4)
    payload = message.get("payload")
    return Heard(table, topic, json.loads(payload) if payload else None)


def is_event(message: Heard, table: str) -> bool:
    return message.table == table and message.topic.startswith("event/")


# ---------------------------------------------------------------------------------------------- the saved state


def delta(to: Path, of: Path, form: str) -> Path:
    run(tool("qemu-img"), "create", "-q", "-f", "qcow2", "-F", form, "-b", of.resolve(), to)
    return to


@asynccontextmanager
async def machine(image: Image, place: Path, disk: Path) -> AsyncIterator[Guest]:
    guest = Guest(image, place, disk)
    try:
        yield guest
    finally:
        for device in guest.devices:
            await guest.unplug(device)
        await guest.switch_off()


async def saved(image: Image) -> Saved:
    """The state of a guest in which shoed runs and waits for its devices; from the cache if nothing changed."""
    version = run(tool("qemu-system-x86_64"), "--version")
    key = digest(image.digest, version, *MACHINE, *SUBSCRIBE, *LOG, RECIPE)
    place = built("state", key)
    if place is None:
        print("hil: booting the guest", flush=True)
        place = CACHE / f"state-{key}"
        await boot(image, place)
    return Saved(place / "memory", place / "disk")


async def boot(image: Image, place: Path) -> None:
    temporary = CACHE / "state-new"
    run("rm", "-rf", temporary)
    temporary.mkdir()
    async with machine(image, temporary, delta(temporary / "disk", image.disk, "raw")) as guest:
        await guest.switch_on(cache="unsafe")
        guest.listen()
        await guest.until(lambda: all_present(guest) or refused(guest), BOOT_S)
        assert not refused(guest), guest
        await guest.run("sync")
        await guest.qmp("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        await guest.qmp("migrate", uri=f"exec:cat > {quote(str(temporary))}/memory")
        while (state := (await guest.qmp("query-migrate"))["status"]) != "completed":
            assert state != "failed", await guest.qmp("query-migrate")
        await guest.qmp("quit")
        await guest.process.wait()
    temporary.rename(place)


def all_present(guest: Guest) -> bool:
    """Whether each table has published that its device is absent. The tests receive later events only."""
    states = {each.table for each in guest.messages if each.topic == "state" and int(each.payload["sequence"])}
    return states >= {*TABLES} and all(guest.events(table, "device.offline") for table in TABLES)


def refused(guest: Guest) -> bool:
    return any("Failed to start" in line for line in guest.log)


RECIPE: Final = digest(Path(__file__))  # before a person edits this file during a run


@asynccontextmanager
async def resumed(image: Image, state: Saved, place: Path) -> AsyncIterator[Guest]:
    """A fresh guest."""
    async with machine(image, place, delta(place / "disk", state.disk, "qcow2")) as guest:
        await guest.switch_on(resume=state.memory)
        yield guest
