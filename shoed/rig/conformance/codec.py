"""The laws of a family's data: what it declares, and what becomes of bytes."""

from collections.abc import Iterator
from random import Random
from typing import Final

from firmware_protocols.family import DECLARED, Direction, Framing, Setting, Settings, declared
from shoed import wire
from shoed.config import ShoeConfig
from shoed.drivers import NAME
from shoed.now import Chunk
from shoed.rig.conformance.subject import Result, Specimen, Subject, moment, told
from shoed.settings import shown
from shoed.wire import Frame, LineState, Rejected

ROLES: Final = {"shoe", "shuffler"}
LARGEST_PENDING: Final = 64 * 1024
PIECE: Final = 4096
STREAMS: Final = 50
STREAM: Final = 2000  # bytes
JUNK: Final = 8  # bytes


def declarations(subject: Subject) -> None:
    """Name, versions, roles and settings are such that a configuration can hold them."""
    family = subject.family
    subject.given = f"family {shown(family.name)}"
    if not NAME.fullmatch(family.name):
        raise subject.broken("its name is not 1 to 32 of a-z, 0-9 and -")
    if not family.firmware or not family.roles or set(family.roles) - ROLES:
        raise subject.broken(f"firmware {family.firmware}, roles {family.roles}: name at least one known one of each")
    if bare := [name for name, it in family.settings.__dataclass_fields__.items() if DECLARED not in it.metadata]:
        raise subject.broken(f"{', '.join(bare)}: settings that are not made by `setting`")
    for name, setting in declared(family.settings).items():
        subject.given = f"setting {name}"
        if name in ShoeConfig.__struct_fields__:
            raise subject.broken("a key of this name is every shoe's")
        if not setting.reason or not within(setting):
            raise subject.broken("it has no reason, or its default is not one of the values that it allows")


def within(setting: Setting) -> bool:
    if not isinstance(setting.default, int) or setting.choices:
        return True  # a choice is one by its type
    low, high = setting.low, setting.high
    return (low is None or low <= setting.default) and (high is None or setting.default <= high)


def framing(subject: Subject) -> None:
    """Each byte begins one kind of frame at the most, and no body holds the end of any."""
    for settings in each_settings(subject):
        for direction in (subject.family.reports(settings), subject.family.orders(settings)):
            kinds = direction.framing.kinds
            starts = [kind.start for kind in kinds]
            subject.given = f"kinds {sorted({kind.name for kind in kinds})}"
            if not kinds or len(set(starts)) < len(starts):
                raise subject.broken("no kind of frame, or two that begin with the same byte")
            if loose := [kind.name for kind in kinds if kind.end is not None and not ends(direction.framing, kind.end)]:
                raise subject.broken(f"the end of {loose[0]} is not in `never_inside`: a frame could run over it")
            if direction.torn_after_ms <= 0:
                raise subject.broken(f"torn_after_ms is {direction.torn_after_ms}: no frame would live")


def ends(framing: Framing, end: int) -> bool:
    return end in framing.never_inside


def each_settings(subject: Subject) -> list[Settings]:
    return [subject.family.settings(), *(played.settings for played in subject.played)]


# --- good frames


def whole(subject: Subject) -> None:
    """A frame alone, and frames back to back, are read each time as in the capture."""
    for one in subject.specimens:
        expect(subject, subject.hear(one.reports, [one.raw]), [one])
    for two in pairs(subject):
        expect(subject, subject.hear(two[0].reports, [two[0].raw + two[1].raw]), two)


def bytewise(subject: Subject) -> None:
    """Frames that come byte by byte are read the same."""
    for two in pairs(subject):
        expect(subject, subject.hear(two[0].reports, [bytes((byte,)) for one in two for byte in one.raw]), two)


def split(subject: Subject) -> None:
    """Frames that come in two pieces, split at any point, are read the same."""
    for two in pairs(subject):
        data = two[0].raw + two[1].raw
        for at in range(1, len(data)):
            expect(subject, subject.hear(two[0].reports, [data[:at], data[at:]]), two)


def paced(subject: Subject) -> None:
    """As slowly as the family's own line carries it: no frame is given up meanwhile."""
    for line in filter(None, (subject.family.line,)):  # a family may have none
        gap_us = int(line.seconds_per_byte * 1_000_000) + 1
        for one in subject.specimens:
            expect(subject, subject.hear(one.reports, [bytes((byte,)) for byte in one.raw], gap_us), [one])


def pairs(subject: Subject) -> Iterator[list[Specimen]]:
    """Each frame with the next one that is read in the same way."""
    found = subject.specimens
    for one, other in zip(found, [*found[1:], found[0]], strict=True):
        yield [one, other if other.reports == one.reports else one]


def expect(subject: Subject, results: list[Result], due: list[Specimen]) -> None:
    came = [(each.raw, each.message) if isinstance(each, Frame) else each for each in results]
    if came != [(each.raw, each.message) for each in due]:
        raise subject.broken(f"{told(results)}, and not {[each.message for each in due]}")


# --- bad bytes


def junk(subject: Subject) -> None:
    """Bytes that begin no frame, before a good one and behind it, come out as junk and take nothing with them."""
    rng = subject.random()
    for one in subject.specimens:
        starts = {kind.start for kind in one.reports.framing.kinds}
        if not (others := bytes(set(range(0x100)) - starts)):
            continue  # whatever comes here begins a frame
        before, behind = (bytes(rng.choices(others, k=JUNK)) for _ in range(2))
        results = subject.hear(one.reports, [before + one.raw + behind])
        if [each.raw for each in results] != [before, one.raw, behind] or results[1:2] != framed(results):
            raise subject.broken(told(results))


def recovers(subject: Subject) -> None:
    """Behind a frame that was broken off anywhere, and a silence, the next one is read."""
    for one in subject.specimens:
        silence_us = one.reports.torn_after_ms * 1000
        for at in range(1, len(one.raw)):
            results = subject.hear(one.reports, [one.raw[:at], one.raw], silence_us)
            expect(subject, results[-1:], [one])
            if b"".join(each.raw for each in results) != one.raw[:at] + one.raw:
                raise subject.broken(f"not every byte came out once: {told(results)}")


def flip(subject: Subject) -> None:
    """A frame with one flipped bit never says anything else, where its kind bears a check."""
    for one in subject.specimens:
        names = {kind.start: kind.name for kind in one.reports.framing.kinds}
        if names[one.raw[0]] in subject.driver.unchecked:
            continue
        for bit in range(len(one.raw) * 8):
            flipped = bytearray(one.raw)
            flipped[bit // 8] ^= 1 << bit % 8
            for frame in framed(subject.hear(one.reports, [bytes(flipped)])):
                if names[frame.raw[0]] not in subject.driver.unchecked and frame.message != one.message:
                    raise subject.broken(f"it says {frame.message}, and was {one.message}")


def arbitrary(subject: Subject) -> None:
    """Whatever the bytes: a declared message, or a Malformed with its reason, and the same each time."""
    rng = subject.random()
    for settings in each_settings(subject)[:3]:
        reports, orders = subject.family.reports(settings), subject.family.orders(settings)
        for direction, messages in ((reports, subject.family.messages), (orders, (object,))):
            for _ in range(STREAMS):
                for each in subject.hear(direction, [stream(direction, rng)]):
                    judge(subject, direction, each, messages)
    for one in subject.specimens:
        for _ in range(STREAMS):
            changed = bytearray(one.raw)
            for _ in range(rng.randint(1, 3)):
                changed[rng.randrange(len(changed))] = rng.randrange(0x100)
            for each in subject.hear(one.reports, [bytes(changed)]):
                judge(subject, one.reports, each, subject.family.messages)


def stream(direction: Direction[object], rng: Random) -> bytes:
    """Random bytes, of which many lie in frames that are whole."""
    shape = direction.framing
    inside = bytes(set(range(0x100)) - set(shape.never_inside))
    data = bytearray()
    while len(data) < STREAM:
        kind = rng.choice(shape.kinds)
        size = kind.body_max if kind.end is None else rng.randint(0, min(kind.body_max, STREAM))
        body = bytes((kind.start, *rng.choices(inside, k=size)))
        data += body + (b"" if kind.end is None else bytes((kind.end,))) + bytes(rng.choices(inside, k=kind.trailer))
        data += rng.randbytes(rng.randint(0, 3))
    return bytes(data)


def judge(subject: Subject, direction: Direction[object], each: Result, messages: tuple[type, ...]) -> None:
    subject.given = each.raw.hex(" ")
    if isinstance(each, Rejected):
        if not each.detail:
            raise subject.broken(f"it is rejected as {each.reason.value}, and nobody is told why")
    elif not isinstance(each.message, messages):
        raise subject.broken(f"{each.message!r} is of no declared kind of message")
    elif direction.read(each.raw) != each.message:
        raise subject.broken("read twice, it says two things")


def bounded(subject: Subject) -> None:
    """However long a line goes on without a whole frame, little of it is kept."""
    rng = subject.random()
    reports = subject.family.reports(subject.family.settings())
    inside = bytes(set(range(0x100)) - set(reports.framing.never_inside))
    for kind in reports.framing.kinds[:8]:
        for filler in (inside[:1], inside[-1:], bytes(rng.choices(inside, k=PIECE))):
            state = LineState()
            for piece in (bytes((kind.start,)), *([filler * (PIECE // len(filler))] * 32)):
                subject.given = f"{kind.start:02X}, and {filler[:8].hex(' ')} ... for ever"
                state, _ = wire.receive(reports, state, Chunk(piece, moment(0)))
                if len(state.pending) > LARGEST_PENDING:
                    raise subject.broken(f"{len(state.pending)} bytes are kept; declare a smaller body_max")


def framed(results: list[Result]) -> list[Frame[object]]:
    return [each for each in results if isinstance(each, Frame)]
