"""Texts of people and programs under a fuzzer: they are accepted, or refused with a problem and a remedy."""

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from shoed import settings
from shoed.errors import CaptureError, Problem, SettingsError
from shoed.model import requests
from shoed.model.commands import Answer
from shoed.model.moments import Now
from shoed.ports import capture
from shoed.ports.address import parse_address
from shoed.rig import scenario
from shoed.rig.device import DeviceOutput, timeline
from shoed.rig.devices import DEVICES
from shoed.service import config

ROOT: Final = Path(__file__).resolve().parent.parent.parent
REFUSAL: Final = re.compile(r".+; .+", re.DOTALL)  # PROBLEM; REMEDY


def helpful(message: str) -> None:
    assert REFUSAL.fullmatch(message), f"the message has no remedy: {message}"


def placed(line: int, lines: int, message: str) -> None:
    assert 1 <= line <= lines + 1, f"no such line: {message}"


def read_capture(data: bytes) -> None:
    text = data.decode(errors="replace")
    try:
        read = capture.parse(text, "file")
    except CaptureError as error:
        message = str(error)
        helpful(message)
        placed(int(message.split(":")[1]), text.count("\n"), message)
    else:
        assert capture.parse(capture.write(read), "written") == read


def read_address(data: bytes) -> None:
    try:
        address = parse_address(data.decode(errors="replace"))
    except ValueError as error:
        helpful(str(error))
    else:
        assert parse_address(str(address)) == address


def read_request(data: bytes) -> None:
    match requests.read(data):
        case Answer(accepted=accepted, detail=detail):
            assert not accepted, "refused, and accepted"
            helpful(detail)
        case request:
            assert requests.read(requests.json_line(request)) == request


def read_configuration(data: bytes) -> None:
    with NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(data)
        file.flush()
        try:
            read = config.load(file.name)
        except SettingsError as error:
            faulty(error.problems, data.count(b"\n"))
        else:
            for table in read.tables:
                assert config.recall(config.describe(table).decode()) == table


def read_scenario(data: bytes) -> None:
    try:
        sheet = settings.parse("file", data)
        steps = scenario.of(sheet, DEVICES["angel-eye"].make())
    except SettingsError as error:
        faulty(error.problems, data.count(b"\n"))
    else:
        device = DEVICES["angel-eye"].make()
        for entry in timeline(device, steps):
            if isinstance(entry, DeviceOutput):
                device.say(entry.report, Now(0, 0))


def faulty(problems: tuple[Problem, ...], lines: int) -> None:
    assert problems, "refused without a reason"
    for problem in problems:
        placed(problem.line or 0, lines, str(problem))
        assert problem.problem, f"no problem: {problem}"
        assert problem.remedy, f"no remedy: {problem}"
        assert "\n" not in str(problem), f"more than a line: {problem}"


ONE: Final = (
    b"shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\nstarted 2025-03-01T18:00:00.000000Z\n"
    b"note one card\norigin synthetic\n\n0.000000 < 05 31 44 81 B8 03 34 46\n1.000000 > 06 # accepted\n"
)


def captures() -> list[bytes]:
    return [file.read_bytes() for file in sorted(ROOT.glob("firmware_protocols/*/captures/*.capture"))] or [ONE]


def configurations() -> list[bytes]:
    pages = [file.read_text() for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]
    return [block.encode() for page in pages for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]


ADDRESSES: Final = [
    *(b"serial:///dev/ttyUSB0?baud=4800&bytesize=7&parity=E&stopbits=2", b"tcp://[::1]:4001?keepalive_s=5"),
    *(b"rfc2217://shoe.example:4001?baud=9600", b"replay:one.capture?speed=fast", b"/dev/ttyS0", b"10.0.0.7:4001"),
    *(b"usb://1209:0001/A1?interface=2", b"hidraw:///dev/hidraw0", b"tcp://h:0", b"serial://x?baud=1&baud=2"),
]
REQUESTS: Final = [
    b'{"table":"bac-901","id":"1","author":"a","role":"dealer","command":{"command":"open-bets"}}',
    b'{"table":"t","id":"1","author":"a","role":"pit-supervisor","command":{"command":"late","act":"bet"}}',
    b'{"table":"t","id":"2","author":"","role":"player","command":{"command":"answer","question":"q-1","choice":"yes"}}',
]


def scenarios() -> list[str]:
    each = [f"[[step]]\n{form.example}\n" for form in scenario.FORMS.values()]
    return [
        *each,
        "".join(each).replace('deliver = "set-7"', "cut = true"),
        '[[step]]\ndeal = []\nresult = "tie"\ngap_ms = 1\n',
    ]


class Text:
    def __init__(self, read: Callable[[bytes], None], seeds: list[bytes]) -> None:
        self.read = read
        self.text_seeds = seeds

    def seeds(self) -> list[bytes]:
        return self.text_seeds

    def __call__(self, data: bytes) -> None:
        self.read(data)


TEXTS: Final = {
    "capture": Text(read_capture, captures()),
    "address": Text(read_address, ADDRESSES),
    "telling": Text(read_request, REQUESTS),
    "scenario": Text(read_scenario, [each.encode() for each in scenarios()]),
    "configuration": Text(read_configuration, configurations()),
}
