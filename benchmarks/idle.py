"""Eight idle tables: the wake-ups of each thread, the shortest regular interval of wake-ups, and the processor time.

The broker is part of the benchmark. The shoes are silent: over TCP, over a pseudo-terminal, over RFC 2217, and over USB
if umockdev is installed (Debian: umockdev libusb-1.0-0). The keepalives of the broker connections count as processor
time, but their wake-ups are not intervals: a wake-up within NEAR_S of a ping belongs to the ping. An interval is
regular if it occurs at least REGULAR times.

`python -m benchmarks.idle SECONDS` measures for another time than SECONDS.
"""

import ctypes.util
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.bench import Threads, report
from benchmarks.footprint import configured
from benchmarks.latency import PINGREQ, packets
from tests.test_ports_rfc2217 import Server

SECONDS: Final = 60.0
SETTLE_S: Final = 5.0  # after the start: the tables connect
SAMPLE_S: Final = 0.01
NEAR_S: Final = 0.5  # on a busy machine, the broker may read a ping late
BURST_S: Final = 0.02  # wake-ups closer than this are one wake-up
REGULAR: Final = 3
TABLES: Final = 8
LEAST_INTERVAL_S: Final = 1.0
SHARE: Final = 0.003  # of one core
USB: Final = "usb://1209:0001"
UMOCKDEV: Final = "libumockdev-preload.so.0"

# The process of the emulated kernel prints the root of its tree.
KERNEL: Final = """
import sys
from tests.usb_kernel import Kernel
kernel = Kernel()
kernel.plug()
print(kernel.root, flush=True)
sys.stdin.read()
"""


class QuietBroker:
    """A broker for several connections. It answers, and records the times of the pings."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.pings: list[float] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):  # the benchmark ends
            while True:
                line, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(line,), daemon=True).start()

    def serve(self, line: socket.socket) -> None:
        data = b""
        with line, suppress(OSError):
            while piece := line.recv(65536):
                if piece[0] >> 4 == PINGREQ:
                    self.pings.append(time.monotonic())
                data, answers, _ = packets(data + piece)
                line.sendall(answers)


@contextmanager
def silent_usb_shoe() -> Iterator[Mapping[str, str] | None]:
    """The environment in which the daemon finds a USB device in an emulated kernel; None without umockdev."""
    if ctypes.util.find_library("umockdev-preload") is None:
        sys.stdout.write("(i) without USB; to include it: sudo apt-get install -y umockdev libusb-1.0-0\n")
        yield None
        return
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL],
        env=os.environ | {"LD_PRELOAD": UMOCKDEV},
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with kernel:
        yield {"LD_PRELOAD": UMOCKDEV, "UMOCKDEV_DIR": (kernel.stdout or sys.stdin).readline().strip()}
        kernel.kill()


@contextmanager
def idle_daemon(broker: QuietBroker) -> Iterator[int]:
    """The process number of a daemon whose tables are connected."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoed-idle-")))
        usb = stack.enter_context(silent_usb_shoe())
        far, near = pty.openpty()
        stack.callback(os.close, far)
        ports = [] if usb is None else [USB]
        ports.append(f"serial://{os.ttyname(near)}")
        os.close(near)
        server = Server()
        stack.callback(server.close)
        ports.append(str(server.address))
        while len(ports) < TABLES:
            shoe = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            ports.append(f"tcp://127.0.0.1:{shoe.getsockname()[1]}")
        config = configured(folder, ports, broker.port)
        log = stack.enter_context((folder / "log").open("w+"))
        command = [str(Path(sys.executable).with_name("shoed")), "run", "--config", str(config)]
        child = subprocess.Popen(command, env=os.environ | (usb or {}), stderr=log)
        stack.callback(child.wait)
        stack.callback(child.send_signal, signal.SIGKILL)
        time.sleep(SETTLE_S)
        text = (folder / "log").read_text()
        if text.count(" is open") < TABLES or text.count(" started at ") < TABLES:
            raise RuntimeError(f"not every table connected within {SETTLE_S:g} s:\n{text}")
        yield child.pid


def moments(threads: Threads, seconds: float) -> dict[str, list[float]]:
    """The times of the wake-ups, by thread."""
    found: dict[str, list[float]] = defaultdict(list)
    before, until = threads.wake_ups(), time.monotonic() + seconds
    while (at := time.monotonic()) < until:
        time.sleep(SAMPLE_S)
        after = threads.wake_ups()
        for thread, count in after.items():
            found[thread] += [at] * (count - before.get(thread, 0))
        before = after
    return found


def shortest_interval(times: list[float], pings: list[float], seconds: float) -> float:
    """The shortest regular interval between two wake-ups that are not near a ping."""
    own = sorted({at for at in times if all(abs(at - ping) > NEAR_S for ping in pings)})
    intervals = sorted(later - at for at, later in pairwise(own) if later - at > BURST_S)
    return intervals[REGULAR - 1] if len(intervals) >= REGULAR else seconds


def run(seconds: float = SECONDS) -> None:
    broker = QuietBroker()
    with idle_daemon(broker) as pid:
        threads = Threads(pid)
        began_s = threads.processor_s()
        found = moments(threads, seconds)
        processor_s = threads.processor_s() - began_s
    shortest = {thread: shortest_interval(times, broker.pings, seconds) for thread, times in found.items()}
    for number, thread in enumerate(sorted(found, key=int), 1):
        name = "event loop" if thread == str(pid) else f"thread {number} of {len(found)}"
        rate = len(found[thread]) / seconds
        sys.stdout.write(f"(i) {name}: {rate:.2f} wake-ups per second\n")
    sys.stdout.write(f"(i) keepalives of {TABLES} broker connections: {len(broker.pings) / seconds:.2f} per second\n")
    interval = min(shortest.values(), default=seconds)
    name = f"(i) {TABLES} idle tables"
    report(f"{name}: 1 s / shortest regular interval", LEAST_INTERVAL_S, interval, 1.0, unit="s")
    report(f"{name}: processor time / {SHARE:.1%} of a core", processor_s * 1e3, SHARE * seconds * 1e3, 1.0, unit="ms")


if __name__ == "__main__":
    run(float([*sys.argv, str(SECONDS)][1]))
