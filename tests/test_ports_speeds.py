"""The description of received bytes, and the search for the speed of a line."""

import asyncio
import os
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

import pytest

from firmware_protocols import FAMILIES
from firmware_protocols.family import Line
from shoed.model.moments import Chunk, Now
from shoed.ports.address import SerialAddress
from shoed.ports.heard import Content, Heard, describe
from shoed.ports.holders import Holder, holders
from shoed.ports.speeds import candidates, hear, search
from tests.patience import PATIENCE_S

CARD = bytes.fromhex("05 31 44 81 B8 03 34 46")  # the eight of spades of an Angel Eye
LINE = b"[Game]<Card:8S>\r\n"  # and of a Bee-Tek
GARBAGE = bytes.fromhex("80 f8 00 e0 fe 80 c0 f8 fc 80 00 e0")
TRIAL_S = 0.3
STEP_S = 0.01
BAUDS = {termios.B4800: 4800, termios.B9600: 9600, termios.B19200: 19200, termios.B115200: 115200}


def heard(*data: bytes) -> Heard:
    return describe([Chunk(each, Now(0, 0)) for each in data], FAMILIES)


@pytest.mark.parametrize(
    ("data", "content", "words"),
    [
        (b"", Content.SILENCE, "no bytes"),
        (CARD * 3, Content.MESSAGES, "24 bytes, of which 24 are messages of angel-eye"),
        (LINE, Content.MESSAGES, "17 bytes, of which 17 are messages of bee-tek"),
        (CARD[3:] + CARD, Content.MESSAGES, "13 bytes, of which 8 are messages of angel-eye"),
        (GARBAGE * 3 + CARD, Content.DISTURBED, "44 bytes, of which 8 are messages of angel-eye"),
        (b"HTTP/1.1 400 Bad Request\r\n", Content.TEXT, 'not a message of a known family: "HTTP/1.1 400 Bad Request'),
        (GARBAGE, Content.GARBAGE, "as at a wrong speed or parity: 80 f8 00 e0"),
    ],
)
def test_received_bytes_are_described(data: bytes, content: Content, words: str) -> None:
    """The description names the family, or shows the first bytes. The division into chunks has no influence."""
    for cut in (0, len(data) // 2):
        found = heard(data[:cut], data[cut:])
        assert found.content is content
        assert words in str(found)


def test_random_bytes_are_never_most_bytes_of_a_family() -> None:
    """Otherwise a search could end at a wrong speed."""
    dice = Random(1)
    assert {heard(dice.randbytes(64)).content for _ in range(2000)} <= {Content.GARBAGE, Content.DISTURBED}


def test_the_search_begins_with_the_settings_of_the_line() -> None:
    """Then it tries the lines of the families and the usual speeds, each once."""
    own = Line(300, 7)
    lines = candidates(own, FAMILIES)
    assert lines[0] == own
    assert {each.baud for each in lines} >= {4800, 9600, 19200, 38400, 57600, 115200}
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(
    ("bytes_at", "tried"),
    [
        ({}, 1),  # silence
        ({9600: LINE}, 1),
        ({9600: b"OK\r\nREADY\r\n"}, 1),  # the text of another device arrives at the right speed
        ({9600: GARBAGE * 3 + CARD}, 1),  # a disturbed line
        ({9600: GARBAGE, 4800: CARD}, 2),
        ({9600: GARBAGE, 4800: GARBAGE, 19200: LINE}, 4),
        (dict.fromkeys(range(200_000), GARBAGE), 8),
    ],
)
async def test_only_garbage_starts_a_search(bytes_at: dict[int, bytes], tried: int) -> None:
    """The search ends at the first speed with messages."""
    lines = candidates(Line(9600), FAMILIES)

    async def read(line: Line, _: object) -> Sequence[Chunk]:
        return [Chunk(bytes_at[line.baud], Now(0, 0))] if line.baud in bytes_at else []

    assert len(await search(read, lines, FAMILIES)) == tried


@contextmanager
def sending(baud: int, data: bytes) -> Iterator[str]:
    """The node of a device that sends at this speed. At another speed of BAUDS, garbage arrives."""
    device, node = os.openpty()
    tty.setraw(node)
    os.set_blocking(device, False)  # the os module knows no other way
    loop = asyncio.get_running_loop()

    def speak() -> None:
        host = BAUDS.get(termios.tcgetattr(device)[5])  # None before the host sets a speed
        if data and host is not None:
            os.write(device, data if host == baud else GARBAGE)
        again[0] = loop.call_later(STEP_S, speak)

    again = [loop.call_soon(speak)]
    try:
        yield os.ttyname(node)
    finally:
        again[0].cancel()
        os.close(device)
        os.close(node)


async def test_the_speed_of_a_line_is_found() -> None:
    """A shoe sends with 19200 baud, and the configuration has 4800."""
    with sending(19200, LINE) as node:
        trials = await hear(SerialAddress(node), Line(4800), FAMILIES, TRIAL_S)
    assert trials[0].line == Line(4800)
    assert trials[0].heard.content is Content.GARBAGE
    assert trials[-1].line == Line(19200)
    assert trials[-1].heard.family == "bee-tek"


async def test_the_right_speed_is_read_only_until_the_first_message() -> None:
    """The time limit does not have to pass."""
    with sending(4800, CARD) as node:
        async with asyncio.timeout(PATIENCE_S):
            ((line, found),) = await hear(SerialAddress(node), Line(4800), FAMILIES, 3600)
    assert (line, found.family) == (Line(4800), "angel-eye")


async def test_a_program_that_has_a_node_open_is_named(tmp_path: os.PathLike[str]) -> None:
    """The list has its process and its name; a regular file has no holder."""
    device, node = os.openpty()
    path = os.ttyname(node)
    os.close(node)
    program = await asyncio.create_subprocess_exec("sleep", "60", stdin=os.open(path, os.O_RDWR | os.O_NOCTTY))
    try:
        assert Holder(program.pid, "sleep") in holders(path)
        assert str(Holder(program.pid, "sleep")) == f"sleep (process {program.pid})"
        assert holders(f"{os.fspath(tmp_path)}") == []
    finally:
        program.kill()
        await program.wait()
        os.close(device)
