"""The deframer of all families: bytes in; complete, checked frames and rejected bytes out.

A family's `Framing` defines the byte that begins a frame and the bytes that may follow. The deframer searches for a
start byte; bytes before it are junk. A byte that no frame may contain ends the frame in progress as incomplete. That
byte may begin the next frame, so the line always recovers at the next frame. Every byte has exactly one place: in a
frame, in a rejection, or pending. The division of the bytes into chunks has no influence. The deframer rejects pending
bytes if no byte follows for `torn_after_ms`.
"""

from functools import cache
from re import Pattern
from re import compile as compiled
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from firmware_protocols.family import Codec, FrameKind, Framing, Malformed, Reason
from shoed.model.moments import Chunk, Now

M = TypeVar("M")
NS_PER_MS: Final = 1_000_000


class Frame(msgspec.Struct, Generic[M], frozen=True):
    """A complete frame with a correct check, and its message."""

    raw: bytes
    offset: int  # of its first byte, since the link opened
    at: Now  # when its last byte was received
    message: M


class Rejected(msgspec.Struct, frozen=True):
    """Bytes that are not a frame, and the reason."""

    raw: bytes
    offset: int
    at: Now  # when the bytes were rejected
    reason: Reason
    detail: str


class LineState(msgspec.Struct, frozen=True):
    """The pending bytes of a line: none, one incomplete frame, or junk that may continue."""

    pending: bytes = b""
    offset: int = 0  # of the first pending byte, since the link opened
    heard_ns: int = 0  # when the last byte was received, monotonic


class _Shape(NamedTuple):
    """A framing as patterns. `re` scans the bytes, because a loop over single bytes is slow."""

    whole: Pattern[bytes]
    begun: Pattern[bytes]  # the beginning of a frame
    fixed_begun: Pattern[bytes] | None  # the beginning of a frame with a fixed body, if a kind has one
    start: Pattern[bytes]
    kinds: dict[int, FrameKind]
    never_inside: bytes
    breaking_in: bytes
    longest: int  # the longest frame; junk is rejected in pieces of this size


def receive(direction: Codec[M], state: LineState, chunk: Chunk) -> tuple[LineState, tuple[Frame[M] | Rejected, ...]]:
    """Add a chunk; return the frames and rejections that it completes."""
    results: list[Frame[M] | Rejected] = []
    if state.pending:
        state, silent = expire(direction, state, chunk.earliest)
        results += silent
    shape = _shape(direction.framing)
    data = state.pending + chunk.data
    here = 0
    while here < len(data):
        offset = state.offset + here
        if whole := shape.whole.match(data, here):
            raw = whole[0]
            message = direction.read(raw)
            if isinstance(message, Malformed):
                results.append(Rejected(raw, offset, chunk.at, message.reason, message.detail))
            else:
                results.append(Frame(raw, offset, chunk.at, message))
            here = whole.end()
            continue
        end, reason, detail = _unframed(shape, data, here)
        if reason is None:
            break
        results.append(Rejected(data[here:end], offset, chunk.at, reason, detail))
        here = end
    return LineState(data[here:], state.offset + here, chunk.at.mono_ns), tuple(results)


def wake_at(direction: Codec[object], state: LineState) -> int | None:
    """When the pending bytes are rejected if no byte follows, on the monotonic clock."""
    return state.heard_ns + direction.torn_after_ms * NS_PER_MS if state.pending else None


def expire(direction: Codec[object], state: LineState, now: Now) -> tuple[LineState, tuple[Rejected, ...]]:
    """Reject the pending bytes if no byte followed in time."""
    due = wake_at(direction, state)
    if due is None or now.mono_ns < due:
        return state, ()
    return _reject_pending(direction, state, now, f"no byte followed for {direction.torn_after_ms} ms")


def end(direction: Codec[object], state: LineState, now: Now) -> tuple[LineState, tuple[Rejected, ...]]:
    """Reject the pending bytes, because the link has closed."""
    if not state.pending:
        return state, ()
    return _reject_pending(direction, state, now, "the link closed")


def _reject_pending(
    direction: Codec[object], state: LineState, now: Now, cause: str
) -> tuple[LineState, tuple[Rejected, ...]]:
    kind = _shape(direction.framing).kinds.get(state.pending[0])
    reason, description = (
        (Reason.JUNK, "outside any frame") if kind is None else (Reason.TORN, f"incomplete {kind.name}")
    )
    rejected = Rejected(state.pending, state.offset, now, reason, f"{description}: {cause}")
    return LineState(b"", state.offset + len(state.pending), state.heard_ns), (rejected,)


def _unframed(shape: _Shape, data: bytes, here: int) -> tuple[int, Reason | None, str]:
    """Return the end of the bytes that are not a frame, and the reason. No reason: more bytes may complete a frame."""
    begun = shape.begun.match(data, here)
    if begun is None:
        start = shape.start.search(data, here)
        end = min(start.start() if start else len(data), here + shape.longest)
        open_ = start is None and end - here < shape.longest
        return end, None if open_ else Reason.JUNK, "outside any frame"
    end = begun.end()
    if end == len(data) or (shape.fixed_begun is not None and shape.fixed_begun.fullmatch(data, here)):
        return end, None, ""
    kind, byte = shape.kinds[data[here]], data[end]
    if byte not in shape.never_inside:
        return end, Reason.OVER_LONG, f"{kind.name} with more than {kind.body_max} bytes before its end"
    # The byte that ends the incomplete frame begins the next frame, or it belongs to the incomplete frame.
    return end + (byte not in shape.breaking_in), Reason.TORN, f"incomplete {kind.name}: the next byte is {byte:02X}"


@cache
def _shape(framing: Framing) -> _Shape:
    kinds = framing.kinds
    alike: dict[
        FrameKind, list[int]
    ] = {}  # one pattern for each kind of keyboard report would take half a second to compile
    for kind in kinds:
        alike.setdefault(kind._replace(name="", start=0, breaks_in=True), []).append(kind.start)
    fixed = [_fixed_begun(kind, bytes(starts), framing.never_inside) for kind, starts in alike.items() if kind.fixed]
    return _Shape(
        fixed_begun=compiled(b"|".join(fixed)) if fixed else None,
        whole=compiled(b"|".join(_whole(kind, bytes(starts), framing.never_inside) for kind, starts in alike.items())),
        begun=compiled(b"|".join(_begun(kind, bytes(starts), framing.never_inside) for kind, starts in alike.items())),
        start=compiled(_one_of(bytes(kind.start for kind in kinds))),
        kinds={kind.start: kind for kind in kinds},
        never_inside=framing.never_inside,
        breaking_in=bytes(kind.start for kind in kinds if kind.breaks_in),
        longest=max(1 + kind.body_max + (kind.end is not None) + kind.trailer for kind in kinds),
    )


def _whole(kind: FrameKind, starts: bytes, never_inside: bytes) -> bytes:
    start, inside, end = _parts(kind, starts, never_inside)
    least = 0 if end else kind.body_max
    body = b"%s{%d,%d}" % (inside, least, kind.body_max)
    others = [*([_one_of(kind.alone)] if kind.alone else []), *(b"".join(map(_one_of, each)) for each in kind.fixed)]
    if others:
        body = b"(?:%s)" % b"|".join([*others, body])
    return b"%s%s%s%s{%d}" % (start, body, end, inside, kind.trailer)


def _begun(kind: FrameKind, starts: bytes, never_inside: bytes) -> bytes:
    start, inside, end = _parts(kind, starts, never_inside)
    return b"%s%s{0,%d}(?:%s%s{0,%d})?" % (start, inside, kind.body_max, end, inside, kind.trailer)


def _fixed_begun(kind: FrameKind, starts: bytes, never_inside: bytes) -> bytes:
    start, inside, end = _parts(kind, starts, never_inside)
    patterns = []
    for body in kind.fixed:
        pattern = b""
        for part in reversed([*map(_one_of, body), *([end] if end else []), *[inside] * kind.trailer]):
            pattern = b"(?:%s%s)?" % (part, pattern)
        patterns.append(start + pattern)
    return b"|".join(patterns)


def _parts(kind: FrameKind, starts: bytes, never_inside: bytes) -> tuple[bytes, bytes, bytes]:
    inside = bytes(set(range(0x100)) - set(never_inside))
    end = b"" if kind.end is None else _one_of(bytes((kind.end,)))
    return _one_of(starts), _one_of(inside), end


def _one_of(values: bytes) -> bytes:
    return b"[%s]" % b"".join(b"\\x%02x" % value for value in sorted(values))
