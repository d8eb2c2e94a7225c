"""The search for the speed of a line. Nothing is written to the device.

Theory of operation: the line is read at its own settings first. Only if bytes arrive that are not messages, the line is
read at each other usual speed, until messages appear. A silent line is silent at every speed, so there is no search.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from firmware_protocols.family import Line
from shoed.model.moments import Chunk
from shoed.ports.address import Address, Rfc2217Address, SerialAddress
from shoed.ports.discover import KnownFamilies
from shoed.ports.heard import Content, Heard, describe
from shoed.ports.listen import received

SPEEDS: Final = (4800, 9600, 19200, 38400, 57600, 115200, 2400, 1200)  # the usual ones first

ENOUGH_BYTES: Final = 2048  # without most bytes in messages, more bytes give no other result

IsEnough = Callable[[Sequence[Chunk]], bool]
Read = Callable[[Line, IsEnough], Awaitable[Sequence[Chunk]]]


class Trial(NamedTuple):
    """The bytes that were received at one setting of the line."""

    line: Line
    heard: Heard


def candidates(own: Line, families: KnownFamilies) -> list[Line]:
    """The settings to try, in order: the line's own, those of the families, the usual speeds."""
    customs = (family.line for family in families.values() if family.line is not None)
    return list(dict.fromkeys((own, *customs, *(own._replace(baud=baud) for baud in SPEEDS))))


async def search(read: Read, lines: Sequence[Line], families: KnownFamilies) -> list[Trial]:
    """Read the line at each setting, until one gives messages. The last trial is the result."""

    def is_enough(chunks: Sequence[Chunk]) -> bool:
        is_long = sum(len(chunk.data) for chunk in chunks) >= ENOUGH_BYTES
        return is_long or describe(chunks, families).content is Content.MESSAGES

    trials: list[Trial] = []
    for line in lines:
        trials.append(Trial(line, describe(await read(line, is_enough), families)))
        if trials[-1].heard.content is Content.MESSAGES or trials[0].heard.content is not Content.GARBAGE:
            break
    return trials


async def hear(address: Address, own: Line, families: KnownFamilies, seconds: float) -> list[Trial]:
    """Listen to a port for this time, and to a serial line at other speeds if its bytes are garbage."""

    async def read(line: Line, is_enough: IsEnough) -> Sequence[Chunk]:
        at = address.at(line) if isinstance(address, SerialAddress | Rfc2217Address) and line != own else address
        return await received(at, line, seconds, is_enough)

    has_speed = isinstance(address, SerialAddress | Rfc2217Address)
    return await search(read, candidates(own, families) if has_speed else [own], families)
