"""The checks of the bytes on the lines. Doctor writes nothing to a device.

A port has one reader. Without a daemon, doctor opens the ports itself, and searches for the speed of a serial line that
delivers garbage. While the daemon runs, doctor reads the recent traffic that the daemon keeps.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from firmware_protocols.family import Line
from shoed.errors import CaptureError, DriverError, PortRefused, TellError
from shoed.model.moments import Chunk, Now
from shoed.model.requests import CaptureAnswer, CaptureRequest
from shoed.ports.address import Rfc2217Address, SerialAddress, parse_address
from shoed.ports.capture import Direction, parse
from shoed.ports.discover import KnownFamilies
from shoed.ports.heard import Content, Heard, describe
from shoed.ports.speeds import Trial, hear
from shoed.service.command_socket import query
from shoed.service.doctor.catalogue import CheckName, CheckResult, Level, refused
from shoed.service.doctor.devices import ConfiguredDevice
from shoed.service.engines import line_of
from shoed.session import drivers

ANY_LINE: Final = Line(9600)  # of a port without a speed
WIRING: Final = "check the speed, the parity and the wiring of the line"


def known_families() -> KnownFamilies:
    families = {}
    for name in drivers.names():
        try:
            families[name] = drivers.find(name).family
        except DriverError:  # a defective package: the configuration reports it if a device uses it
            continue
    return families


# --- without a daemon


async def check_ports(devices: Sequence[ConfiguredDevice], seconds: float) -> list[CheckResult]:
    """Open all ports at the same time, and listen."""
    families = known_families()
    found = await asyncio.gather(*(check_port(of, families, seconds) for of in devices))
    return [result for each in found for result in each]


async def check_port(of: ConfiguredDevice, families: KnownFamilies, seconds: float) -> list[CheckResult]:
    if of.config.key_file is not None:
        text = "the device has a key, so only the daemon can read its line: start the daemon, and run doctor again"
        return [CheckResult(CheckName.PORT_BYTES, Level.SKIPPED, of.where, text)]
    address = parse_address(of.config.port)
    try:
        trials = await hear(address, line_of(of.config) or ANY_LINE, families, seconds)
    except PortRefused as error:
        return [refused(CheckName.PORT, of.where, error)]
    return [CheckResult(CheckName.PORT, Level.OK, of.where, f"{address} can be opened"), speech(of, trials, seconds)]


def speech(of: ConfiguredDevice, trials: Sequence[Trial], seconds: float) -> CheckResult:
    """The result for the bytes at the configured settings, or at the settings that the search found."""
    first, last = trials[0], trials[-1]
    address = parse_address(of.config.port)
    if not isinstance(address, SerialAddress | Rfc2217Address):
        return bytes_result(of, first.heard, f"in {seconds:g} s", WIRING)
    if len(trials) == 1 or last.heard.content is not Content.MESSAGES:
        result = bytes_result(of, first.heard, f"in {seconds:g} s at {first.line}", WIRING)
        others = ", ".join(str(each.line) for each in trials[1:])
        return replace(result, text=f"{result.text}; no messages at {others} either") if others else result
    remedy = f'write port = "{address.at(last.line)}"'
    if last.heard.family != of.config.protocol:
        remedy += f' and protocol = "{last.heard.family}"'
    text = f"at {first.line}: {first.heard}; at {last.line}: {last.heard}"
    return CheckResult(CheckName.PORT_BYTES, Level.PROBLEM, of.where, text, remedy)


# --- while the daemon runs


def check_traffic(state_dir: Path, of: ConfiguredDevice, families: KnownFamilies) -> CheckResult:
    """The result for the recent traffic in the daemon."""
    request = CaptureRequest(of.table, os.urandom(8).hex(), of.device.value)
    try:
        capture = parse(query(state_dir, request, CaptureAnswer).capture, of.where)
    except (TellError, CaptureError) as error:
        return refused(CheckName.PORT_BYTES, of.where, error, Level.SKIPPED)
    heard = describe(
        [
            Chunk(each.data, Now(each.at_us, each.at_us * 1000))
            for each in capture.records
            if each.direction is Direction.FROM_DEVICE
        ],
        families,
    )
    remedy = f"{WIRING}; stop the daemon and run doctor again, which tries the usual speeds"
    return bytes_result(of, heard, "in the recent traffic of the daemon", remedy)


# --- the bytes


def bytes_result(of: ConfiguredDevice, heard: Heard, when: str, garbage_remedy: str) -> CheckResult:
    found = CheckResult(CheckName.PORT_BYTES, Level.PROBLEM, of.where, f"{when}: {heard}")
    is_foreign = heard.family != of.config.protocol
    match heard.content:
        case Content.SILENCE:
            remedy = "draw a card while doctor listens (--listen 30); check that the device is on, and its cable"
            return replace(found, level=Level.WARNING, remedy=remedy)
        case Content.MESSAGES if not is_foreign:
            return replace(found, level=Level.OK)
        case Content.DISTURBED if not is_foreign:
            return replace(found, level=Level.WARNING, remedy="check the cable, its shield and its ground")
        case Content.MESSAGES | Content.DISTURBED:
            return replace(found, remedy=f'write protocol = "{heard.family}", or connect the right device')
        case Content.TEXT:
            return replace(found, remedy="connect the right device, or write the address of the right port")
        case Content.GARBAGE:
            return replace(found, remedy=garbage_remedy)
