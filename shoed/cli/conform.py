"""`shoed conform ADDRESS`: the line to a real device, and the results as lines of text."""

import argparse
import asyncio
import shlex
import subprocess
import sys
from collections.abc import Iterator
from math import inf
from types import TracebackType
from typing import Final, Self

from firmware_protocols.open_shoe import FAMILY
from firmware_protocols.open_shoe.clauses import CLAUSES
from firmware_protocols.open_shoe.messages import Unkeyed
from shoed.cli import ExitStatus
from shoed.cli.options import address_of
from shoed.cli.parser import duration, positive, sentence
from shoed.errors import LinkLost, PortError, PortRefused, UsageError
from shoed.model.moments import Chunk
from shoed.ports.address import Address, HidrawAddress, ReplayAddress
from shoed.ports.clock import now
from shoed.ports.keyed import key_in
from shoed.ports.link import Link, open_link
from shoed.rig.conform.checks import ClauseResult, ClauseVerdict, release_device, run
from shoed.rig.conform.host import Host
from shoed.rig.conform.keyed_line import KeyedLine
from shoed.rig.conform.line import NS_PER_S, ConformTimeLimits, LineGone
from shoed.rig.conform.watch import Passed

SHOWN_BYTES: Final = 128  # of one piece of evidence
WIDTH: Final = max(len(each.value) for each in ClauseVerdict)
POWER: Final = "Switch the device off and on again, then press Enter (or type n, if this is not possible): "


class RealLine:
    """A port of this machine. The event loop runs only during a call; other bytes wait in the kernel."""

    def __init__(self, address: Address, power: str | None, report: str | None) -> None:
        self.address = address
        self.power_command = power
        self.report_command = report
        self.runner = asyncio.Runner()
        self.link: Link | None = None
        self.received_bytes = 0

    def __enter__(self) -> Self:
        self.runner.__enter__()
        try:
            self.link = self.runner.run(open_link(self.address, FAMILY.line))
        except BaseException:
            self.runner.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self.runner.close()

    def now_ns(self) -> int:
        return now().mono_ns

    def send(self, data: bytes) -> None:
        try:
            self.runner.run(self.sent(data))
        except PortError as error:
            raise LineGone(str(error)) from error

    async def sent(self, data: bytes) -> None:
        if self.link is None:
            raise LinkLost(f"{self.address}: closed")
        self.link.send(data)
        await asyncio.sleep(0)  # the event loop writes the bytes that the kernel did not accept immediately

    def receive(self, until_ns: int) -> Chunk | None:
        try:
            chunk = self.runner.run(self.received((until_ns - self.now_ns()) / NS_PER_S))
        except PortError as error:
            raise LineGone(str(error)) from error
        self.received_bytes += 0 if chunk is None else len(chunk.data)
        return chunk

    async def received(self, seconds: float) -> Chunk | None:
        if self.link is None:
            await asyncio.sleep(seconds)
            return None
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                return await self.link.receive()
        except TimeoutError:
            return None

    def cut(self) -> None:
        if self.link is not None:
            self.runner.run(self.link.close())
            self.link = None

    def open(self) -> None:
        self.cut()
        try:
            self.link = self.runner.run(open_link(self.address, FAMILY.line))
        except PortRefused as refusal:
            raise LineGone(str(refusal)) from refusal

    def power(self) -> bool:
        if self.power_command is not None:
            command(self.power_command, "--power")
            return True
        if not sys.stdin.isatty():
            return False
        sys.stderr.write(POWER)
        sys.stderr.flush()
        return not sys.stdin.readline().lower().startswith("n")

    def cause(self, count: int) -> bool:
        if self.report_command is None:
            return False
        for _ in range(count):
            command(self.report_command, "--report")
        return True

    def ask(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def command(text: str, option: str) -> None:
    try:
        status = subprocess.run(shlex.split(text), stdin=subprocess.DEVNULL, check=False).returncode
    except (OSError, ValueError) as error:
        raise UsageError(f"{option}: {text}: {error}; use a command that can be run") from error
    if status:
        raise UsageError(f"{option}: {text}: exit status {status}; use a command that succeeds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    limits = ConformTimeLimits()
    parser.description = sentence(
        "test an Open Shoe device, shoe or shuffler: one line for each clause of the protocol page. The test "
        "acknowledges reports that no journal has: do not run it at a table in play. The test locks and unlocks a shoe "
        "that executes orders. Exit status: 0 all tested clauses passed, 1 a clause failed, 2 wrong use or no "
        "device"
    )
    parser.add_argument("address", metavar="ADDRESS", help="serial:///dev/NODE, tcp://HOST:PORT, usb://VENDOR:PRODUCT")
    parser.add_argument(
        "--power", metavar="COMMAND", help="cut the power and restore it, by a relay (default: ask at the terminal)"
    )
    parser.add_argument(
        "--report",
        metavar="COMMAND",
        help="make the device report one fact (default: lock and unlock a shoe; otherwise ask a person)",
    )
    parser.add_argument(
        "--most-reports",
        metavar="N",
        type=positive,
        default=limits.most_reports,
        help="for one clause (default: %(default)s; 1024 for the room, 2100 or more for a full memory)",
    )
    parser.add_argument(
        "--answer",
        metavar="SECONDS",
        type=duration,
        default=limits.answer_s,
        help="for an answer (default: %(default)g)",
    )
    parser.add_argument(
        "--slack", metavar="SECONDS", type=duration, default=limits.slack_s, help="for a delay (default: %(default)g)"
    )
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=duration,
        default=limits.patience_s,
        help="for a person, a command or a start of the device (default: %(default)g)",
    )
    parser.add_argument(
        "--longest", metavar="SECONDS", type=duration, default=inf, help="omit checks with a longer duration"
    )
    parser.add_argument(
        "--key-file", metavar="FILE", help="the file with the key of the device: test in the secure channel"
    )
    parser.add_argument("--sees-line", action="store_true", help="the device can detect that a host opens the line")
    parser.add_argument("--only", metavar="CLAUSE", action="append", default=[], help="may be used several times")
    parser.set_defaults(command=conform_command)


def conform_command(arguments: argparse.Namespace) -> int:
    names = {each.name for each in CLAUSES}
    for name in arguments.only:
        if name not in names:
            raise UsageError(f"--only {name}: is not a clause; use one of {', '.join(sorted(names))}")
    address = address_of(arguments.address)
    if isinstance(address, ReplayAddress | HidrawAddress):
        raise UsageError(f"{address}: accepts no requests; use a serial, TCP or USB address")
    limits = ConformTimeLimits(
        answer_s=arguments.answer,
        slack_s=arguments.slack,
        patience_s=arguments.patience,
        longest_s=arguments.longest,
        most_reports=arguments.most_reports,
        sees_line=arguments.sees_line,
    )
    key = None if arguments.key_file is None else key_in(arguments.key_file, "--key-file")
    try:
        with RealLine(address, arguments.power, arguments.report) as line:
            tested = line if key is None else in_session(line, key)
            status = print_results(line, Host(tested, limits), frozenset(arguments.only))
    except (PortRefused, LineGone) as refusal:
        raise UsageError(str(refusal)) from refusal
    return status


def in_session(line: RealLine, key: bytes) -> KeyedLine:
    from shoed.ports.cipher import Aes, draw

    keyed = KeyedLine(line, key, Aes(), draw)
    keyed.establish()
    return keyed


def print_results(line: RealLine, host: Host, only: frozenset[str]) -> int:
    """Print each result immediately."""
    counts = dict.fromkeys(ClauseVerdict, 0)
    try:
        for outcome in run(host, only):
            counts[outcome.verdict] += 1
            for text in lines(outcome):
                print(text, flush=True)
    except (KeyboardInterrupt, UsageError):
        release_device(host)
        raise
    if not line.received_bytes:
        raise UsageError(f"{line.address}: no byte arrived; check the power, the cable and the speed of the device")
    print(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))
    if any(isinstance(each.message.body, Unkeyed) for each in host.heard):
        print("the device sends UNKEYED: it has a key; use --key-file with the file of the key")
    if host.watch.junk:
        print(f"{host.watch.junk} bytes were not in a whole frame: if a clause failed, check the line")
    return ExitStatus.WRONG if counts[ClauseVerdict.FAILED] else ExitStatus.GOOD


def lines(outcome: ClauseResult) -> Iterator[str]:
    rule = outcome.clause.rule if outcome.verdict is not ClauseVerdict.NOT_TRIED else outcome.detail
    yield f"{outcome.verdict.value:{WIDTH}}  {outcome.clause.name}: {rule}"
    if outcome.verdict is ClauseVerdict.FAILED:
        yield f"    {outcome.detail}"
        yield from map(shown, outcome.trace)


def shown(passed: Passed) -> str:
    """`>` to the device, `<` from it, as in a capture."""
    more = f" and {len(passed.data) - SHOWN_BYTES} bytes more" if len(passed.data) > SHOWN_BYTES else ""
    return f"    {'>' if passed.sent else '<'} {passed.data[:SHOWN_BYTES].hex(' ').upper()}{more}"
