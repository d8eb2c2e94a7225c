"""Checks of a family: its declarations, and the frames that its codec finds in bytes."""

from collections.abc import Iterator
from random import Random
from typing import Final

from firmware_protocols.family import DECLARED, Codec, Framing, Setting, Settings, declared
from shoed import wire
from shoed.model.moments import Chunk
from shoed.rig.family_kit.subject import FrameOrRejection, Specimen, Subject, described, moment
from shoed.session.drivers import NAME, SHOE_KEYS
from shoed.settings import shown
from shoed.wire import Frame, LineState, Rejected

ROLES: Final = {"shoe", "shuffler"}
LARGEST_PENDING: Final = 64 * 1024
PIECE: Final = 4096
STREAMS: Final = 50
STREAM: Final = 2000  # bytes
JUNK: Final = 8  # bytes


def declarations(subject: Subject) -> None:
    """A configuration can hold the name, the versions, the roles and the settings."""
    family = subject.family
    subject.given = f"family {shown(family.name)}"
    if not NAME.fullmatch(family.name):
        raise subject.broken("its name is not 1 to 32 of a-z, 0-9 and -")
    if not family.firmware or not family.roles or set(family.roles) - ROLES:
        raise subject.broken(f"firmware {family.firmware}, roles {family.roles}: name at least one known value of each")
    if bare := [name for name, it in family.settings.__dataclass_fields__.items() if DECLARED not in it.metadata]:
        raise subject.broken(f"{', '.join(bare)}: these settings are not made by `setting`")
    for name, setting in declared(family.settings).items():
        subject.given = f"setting {name}"
        if name in SHOE_KEYS:
            raise subject.broken("every shoe has a key of this name; choose another")
        if not setting.reason or not within(setting):
            raise subject.broken("it has no reason, or its default is not one of the values that it allows")


def within(setting: Setting) -> bool:
    if not isinstance(setting.default, int) or setting.choices:
        return True  # the type allows only the choices
    low, high = setting.low, setting.high
    return (low is None or low <= setting.default) and (high is None or setting.default <= high)


def framing(subject: Subject) -> None:
    """Each byte begins at most one kind of frame, and no body contains an end byte."""
    for settings in each_settings(subject):
        for direction in (subject.family.reports(settings), subject.family.orders(settings)):
            kinds = direction.framing.kinds
            starts = [kind.start for kind in kinds]
            subject.given = f"kinds {sorted({kind.name for kind in kinds})}"
            if not kinds or len(set(starts)) < len(starts):
                raise subject.broken("there is no kind of frame, or two kinds begin with the same byte")
            if loose := [kind.name for kind in kinds if kind.end is not None and not ends(direction.framing, kind.end)]:
                raise subject.broken(f"the end of {loose[0]} is not in `never_inside`: a frame could continue after it")
            if direction.torn_after_ms <= 0:
                raise subject.broken(f"torn_after_ms is {direction.torn_after_ms}: every frame would be torn")


def ends(framing: Framing, end: int) -> bool:
    return end in framing.never_inside


def each_settings(subject: Subject) -> list[Settings]:
    return [subject.family.settings(), *(played.settings for played in subject.played)]


# --- good frames


def whole(subject: Subject) -> None:
    """A single frame, and consecutive frames, are read as in the capture."""
    for one in subject.specimens:
        expect(subject, subject.hear(one.reports, [one.raw]), [one])
    for two in pairs(subject):
        expect(subject, subject.hear(two[0].reports, [two[0].raw + two[1].raw]), two)


def bytewise(subject: Subject) -> None:
    """Frames that arrive byte by byte give the same messages."""
    for two in pairs(subject):
        expect(subject, subject.hear(two[0].reports, [bytes((byte,)) for one in two for byte in one.raw]), two)


def split(subject: Subject) -> None:
    """Frames that arrive in two pieces, split at any point, give the same messages."""
    for two in pairs(subject):
        data = two[0].raw + two[1].raw
        for at in range(1, len(data)):
            expect(subject, subject.hear(two[0].reports, [data[:at], data[at:]]), two)


def paced(subject: Subject) -> None:
    """At the speed of the family's own line, no frame is given up."""
    for line in filter(None, (subject.family.line,)):  # a family may have none
        gap_us = int(line.seconds_per_byte * 1_000_000) + 1
        for one in subject.specimens:
            expect(subject, subject.hear(one.reports, [bytes((byte,)) for byte in one.raw], gap_us), [one])


def pairs(subject: Subject) -> Iterator[list[Specimen]]:
    """Pair each frame with the next frame of the same codec."""
    found = subject.specimens
    for one, other in zip(found, [*found[1:], found[0]], strict=True):
        yield [one, other if other.reports == one.reports else one]


def expect(subject: Subject, results: list[FrameOrRejection], due: list[Specimen]) -> None:
    incoming = [(each.raw, each.message) if isinstance(each, Frame) else each for each in results]
    if incoming != [(each.raw, each.message) for each in due]:
        raise subject.broken(f"{described(results)}, not {[each.message for each in due]}")


# --- bad bytes


def junk(subject: Subject) -> None:
    """Bytes that begin no frame, before and after a good frame, are rejected as junk, and the frame is read."""
    rng = subject.random()
    for one in subject.specimens:
        starts = {kind.start for kind in one.reports.framing.kinds}
        if not (others := bytes(set(range(0x100)) - starts)):
            continue  # every byte begins a frame
        before, after = (bytes(rng.choices(others, k=JUNK)) for _ in range(2))
        results = subject.hear(one.reports, [before + one.raw + after])
        if [each.raw for each in results] != [before, one.raw, after] or results[1:2] != framed(results):
            raise subject.broken(described(results))


def recovers(subject: Subject) -> None:
    """After an incomplete frame of any length, and a silence, the next frame is read."""
    for one in subject.specimens:
        silence_us = one.reports.torn_after_ms * 1000
        for at in range(1, len(one.raw)):
            results = subject.hear(one.reports, [one.raw[:at], one.raw], silence_us)
            expect(subject, results[-1:], [one])
            if b"".join(each.raw for each in results) != one.raw[:at] + one.raw:
                raise subject.broken(f"not every byte has exactly one place: {described(results)}")


def flip(subject: Subject) -> None:
    """A frame with one flipped bit never gives a different message, if its kind has a check."""
    for one in subject.specimens:
        names = {kind.start: kind.name for kind in one.reports.framing.kinds}
        if names[one.raw[0]] in subject.driver.unchecked:
            continue
        for bit in range(len(one.raw) * 8):
            flipped = bytearray(one.raw)
            flipped[bit // 8] ^= 1 << bit % 8
            for frame in framed(subject.hear(one.reports, [bytes(flipped)])):
                if names[frame.raw[0]] not in subject.driver.unchecked and frame.message != one.message:
                    raise subject.broken(f"the message is {frame.message}, not {one.message}")


def arbitrary(subject: Subject) -> None:
    """Any bytes give a declared message or a Malformed with a reason, and the same result each time."""
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


def stream(direction: Codec[object], rng: Random) -> bytes:
    """Return random bytes, mostly as frames of a correct form. The trailer is random, so a check is rarely correct."""
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


def judge(subject: Subject, direction: Codec[object], each: FrameOrRejection, messages: tuple[type, ...]) -> None:
    subject.given = each.raw.hex(" ")
    if isinstance(each, Rejected):
        if not each.detail:
            raise subject.broken(f"the bytes are rejected as {each.reason.value} without a detail")
    elif not isinstance(each.message, messages):
        raise subject.broken(f"{each.message!r} is not of a declared message type")
    elif direction.read(each.raw) != each.message:
        raise subject.broken("reading it twice gives two different messages")


def bounded(subject: Subject) -> None:
    """A line without any complete frame occupies bounded memory, however long it continues."""
    rng = subject.random()
    reports = subject.family.reports(subject.family.settings())
    inside = bytes(set(range(0x100)) - set(reports.framing.never_inside))
    for kind in reports.framing.kinds[:8]:
        for filler in (inside[:1], inside[-1:], bytes(rng.choices(inside, k=PIECE))):
            state = LineState()
            for piece in (bytes((kind.start,)), *([filler * (PIECE // len(filler))] * 32)):
                subject.given = f"{kind.start:02X}, and {filler[:8].hex(' ')} ... without end"
                state, _ = wire.receive(reports, state, Chunk(piece, moment(0)))
                if len(state.pending) > LARGEST_PENDING:
                    raise subject.broken(f"{len(state.pending)} bytes are kept; declare a smaller body_max")


def framed(results: list[FrameOrRejection]) -> list[Frame[object]]:
    return [each for each in results if isinstance(each, Frame)]
