"""From the last byte of a report to the PUBLISH at the broker's end of the socket.

This process is both the shoe and the broker. The subject is a complete `shoed run`. The floor is `floor.py`: one FULL
commit of the same bytes and one publish. The shoe deals legal rounds. A series measures the reports of the second and
the third card of each round, because each makes exactly one event. The retained state is published after a pause and is
not counted.
"""

import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from time import perf_counter, sleep
from typing import Final

from benchmarks.bench import TIMES, report
from benchmarks.footprint import configuration
from firmware_protocols.angel_eye import AngelEyeSettings, CardInGame, Target
from shoed.rig.dealer import deal
from shoed.session.angel_eye_shoe import AngelEyeShoe

SAMPLES: Final = 250
WARM_UP: Final = 20
PAUSE_S: Final = 0.004  # between two reports: the daemon completes the previous report
LIMIT_S: Final = 20.0
EVENT: Final = b"/event/card/drawn"
MEASURED: Final = {(Target.BANKER, 1), (Target.PLAYER, 2)}
DECKS: Final = 8
SEED: Final = 5

HEAD: Final = re.compile(rb"[\x00-\xff]([\x80-\xff]*[\x00-\x7f])")
PUBLISH: Final = 3
PINGREQ: Final = 12
SUBACK: Final = b"\x90\x04"
UNSUBACK: Final = b"\xb0\x04"
PUBACK: Final = b"\x40\x02"
CONNACK: Final = b"\x20\x03\x00\x00\x00"
PINGRESP: Final = b"\xd0\x00"


class Sink:
    """A broker that answers immediately and records the time of each card event."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.arrived = threading.Event()
        self.moment = 0.0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        line, _ = self.listener.accept()
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        with suppress(ConnectionError):  # the program is killed at the end
            while piece := line.recv(65536):
                moment = perf_counter()
                data, answers, events = packets(data + piece)
                if events:
                    self.moment = moment
                    self.arrived.set()
                line.sendall(answers)


def packets(data: bytes) -> tuple[bytes, bytes, int]:
    """Return the remaining bytes, the answers to the complete packets, and the number of card events among them."""
    answers, events = b"", 0
    while (head := HEAD.match(data)) and len(data) >= head.end() + remaining(head[1]):
        end = head.end() + remaining(head[1])
        body, kind = data[head.end() : end], data[0] >> 4
        if kind == PUBLISH:
            topic = int.from_bytes(body[:2])
            events += body[2 : 2 + topic].endswith(EVENT)
        answers += answer(kind, body)
        data = data[end:]
    return data, answers, events


def answer(kind: int, body: bytes) -> bytes:
    match kind:
        case 1:  # CONNECT
            return CONNACK
        case 3:  # PUBLISH
            topic = int.from_bytes(body[:2])
            return PUBACK + body[2 + topic : 4 + topic]
        case 8:  # SUBSCRIBE to one topic
            return SUBACK + body[:2] + b"\x00\x01"
        case 10:  # UNSUBSCRIBE from one topic
            return UNSUBACK + body[:2] + b"\x00\x00"
        case 12:  # PINGREQ
            return PINGRESP
        case _:
            return b""


def remaining(length: bytes) -> int:
    """MQTT 5, 1.5.5: seven bits per byte, least significant first."""
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(length))


class Subject:
    """A program that reads reports from this shoe and publishes to this broker."""

    def __init__(self, shoe: socket.socket, sink: Sink) -> None:
        self.shoe = shoe
        self.sink = sink
        self.reports = reports()

    def sample(self) -> tuple[float, float]:
        """Return p50 and p99 of one series, in milliseconds."""
        times = sorted(self.once() for _ in range(SAMPLES))
        return times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3

    def once(self) -> float:
        for frame, is_measured in self.reports:
            sleep(PAUSE_S)
            if is_measured:
                break
            self.shoe.sendall(frame)
        self.sink.arrived.clear()
        began = perf_counter()
        self.shoe.sendall(frame)
        if not self.sink.arrived.wait(LIMIT_S):
            raise RuntimeError(f"no event within {LIMIT_S} s of a report")
        return self.sink.moment - began


@contextmanager
def running(command: list[str], shoes: socket.socket, sink: Sink) -> Iterator[Subject]:
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        shoes.settimeout(LIMIT_S)
        shoe, _ = shoes.accept()
        with shoe:
            shoe.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            subject = Subject(shoe, sink)
            for _ in range(WARM_UP):
                subject.once()
            yield subject
    finally:
        child.kill()
        child.wait()


def reports() -> Iterator[tuple[bytes, bool]]:
    """The first copy of each report, and whether it makes exactly one event, of a drawn card."""
    settings = AngelEyeSettings()
    device = AngelEyeShoe(settings)
    state = device.begin()
    for _, due in deal(Random(SEED), DECKS):
        state, frames = device.say(state, due)
        is_measured = isinstance(due, CardInGame) and (due.target, due.index) in MEASURED
        yield frames[: len(frames) // settings.copies], is_measured


def run() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoed-bench-")))
        subjects = []
        for name in ("floor", "shoed"):
            sink = Sink()
            shoes = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = shoes.getsockname()[1]
            program = Path(sys.executable)
            command = {
                "floor": [
                    str(program),
                    str(Path(__file__).with_name("floor.py")),
                    *map(str, (port, sink.port, folder / "floor.db")),
                ],
                "shoed": [
                    str(program.with_name("shoed")),
                    "run",
                    "--config",
                    str(configuration(folder, 1, sink.port, port)),
                ],
            }[name]
            subjects.append(stack.enter_context(running(command, shoes, sink)))
        floor, shoed = subjects
        series = [(floor.sample(), shoed.sample()) for _ in range(TIMES)]
    for position, name, bar in ((0, "p50", 1.5), (1, "p99", 3.0)):
        best = [min(each[who][position] for each in series) for who in (0, 1)]
        report(f"(a) last byte to PUBLISH, {name} / one commit, one publish", best[1], best[0], bar, unit="ms")
