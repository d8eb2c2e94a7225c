"""The agent in the guest: it runs commands for the tests. It uses the standard library only.

Theory of operation: a virtio-serial port carries one JSON object in each line. A request has an `id` and either `run`
(a command) or `write` (a path, with its `text`). The output of a command is sent line by line, as `{"id", "line"}`. The
last answer of a request has its `status`. While no host is connected, a read of the port returns no bytes.
"""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

PORT: Final = "/dev/virtio-ports/hil"
RETRY_S: Final = 0.05


class Agent:
    def __init__(self, path: str) -> None:
        self.port = os.open(path, os.O_RDWR)
        self.sending = threading.Lock()
        self.pause = threading.Event()

    def serve(self) -> None:
        self.send({"ready": True})
        rest = b""
        while True:
            data = os.read(self.port, 65536)
            if not data:
                self.pause.wait(RETRY_S)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                threading.Thread(target=self.perform, args=(json.loads(line),), daemon=True).start()

    def perform(self, request: dict[str, Any]) -> None:
        number = request["id"]
        try:
            status = self.write(request) if "write" in request else self.run(number, request)
        except OSError as error:
            self.send({"id": number, "line": str(error)})
            status = -1
        self.send({"id": number, "status": status})

    def write(self, request: dict[str, Any]) -> int:
        Path(request["write"]).write_text(request["text"], encoding="utf-8")
        return 0

    def run(self, number: int, request: dict[str, Any]) -> int:
        with subprocess.Popen(
            request["run"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                self.send({"id": number, "line": line.rstrip("\n")})
        return child.returncode

    def send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode() + b"\n"
        with self.sending:
            while data:
                data = data[os.write(self.port, data) :]


if __name__ == "__main__":
    Agent(sys.argv[1] if len(sys.argv) > 1 else PORT).serve()
