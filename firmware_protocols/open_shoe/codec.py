"""Whole Open Shoe frames to messages and back.

A frame is `7E | escaped body | 7F`, the body being version, type, sequence, payload and a CRC-32.
What a frame cannot mean is a `Malformed`; a message that the line cannot carry is a `ValueError`,
because only a defect of ours makes one.
"""

import re
from struct import Struct
from struct import error as StructError  # noqa: N812 -- it is a class
from typing import Any, Final, assert_never
from zlib import crc32

from construct import ConstructError, MappingError

from firmware_protocols.family import Direction, Malformed, Reason
from firmware_protocols.open_shoe.layout import (
    BODY_MAX,
    END,
    ESCAPE,
    FIXED,
    FLIP,
    FLOW_CONTROL,
    FRAMING,
    LAYOUTS,
    NOTICED,
    NUMBERED,
    REQUESTED,
    START,
    VENDOR_NOTICES,
    VENDOR_REPORTS,
    VERSION_3,
    VERSIONS,
    Body,
    names,
)
from firmware_protocols.open_shoe.messages import (
    FromDevice,
    Message,
    Notice,
    Noticed,
    OfVendor,
    Report,
    Reported,
    Request,
    Requested,
    Unreadable,
)
from firmware_protocols.open_shoe.settings import OpenShoeSettings

HEAD: Final = Struct(">BBH")  # version, type, sequence
STAMP: Final = Struct(">IQ")  # stream and clock, at the head of every numbered payload
STAMP_3: Final = Struct(">IHQ")  # stream, boot and clock, in version 3
CHECK: Final = Struct(">I")
TO_ESCAPE: Final = bytes((START, END, ESCAPE)) + FLOW_CONTROL
PLAIN: Final = re.compile(b"[%b]" % re.escape(TO_ESCAPE))
ESCAPED: Final = re.compile(b"%c([%b])" % (ESCAPE, re.escape(bytes(byte ^ FLIP for byte in TO_ESCAPE))))
KNOWN: Final = ", ".join(map(str, VERSIONS))


def reports(settings: OpenShoeSettings) -> Direction[FromDevice]:
    """What a device says."""

    def read(raw: bytes) -> FromDevice | Malformed:
        body = _body(raw)
        return body if isinstance(body, Malformed) else _read_report(body)

    return Direction(FRAMING, settings.torn_after_ms, read)


def orders(settings: OpenShoeSettings) -> Direction[Request]:
    """What a host says, as the device hears it."""

    def read(raw: bytes) -> Request | Malformed:
        body = _body(raw)
        return body if isinstance(body, Malformed) else _read_request(body)

    return Direction(FRAMING, settings.torn_after_ms, read)


def build(message: Message) -> bytes:
    """The whole frame that carries the message."""
    try:
        match message:
            case Report(version, sequence, stream, clock_us, said, boot):
                body = _built(version, sequence, _stamp(version, stream, boot, clock_us), said)
                read: object = _read_report(body)
            case Notice(version, said):
                body = _built(version, 0, b"", said)
                read = _read_report(body)
            case Request(version, said):
                body = _built(version, 0, b"", said)
                read = message  # each has one size: it is read by what it is made by
            case _:
                assert_never(message)
    except (ConstructError, KeyError, StructError) as error:
        raise ValueError(f"{message} does not fit its frame: {error}") from error
    if read != message:
        raise ValueError(f"{message} does not fit its frame: it would be read as {read}")
    return seal(body)


def seal(body: bytes) -> bytes:
    """The frame around a body: its check, its escapes, its ends."""
    checked = body + CHECK.pack(crc32(body))
    inside = PLAIN.sub(lambda match: bytes((ESCAPE, match[0][0] ^ FLIP)), checked)
    return bytes((START,)) + inside + bytes((END,))


def _stamp(version: int, stream: int, boot: int, clock_us: int) -> bytes:
    return STAMP.pack(stream, clock_us) if version < VERSION_3 else STAMP_3.pack(stream, boot, clock_us)


def _built(version: int, sequence: int, stamp: bytes, said: Reported | Unreadable | Noticed | Requested) -> bytes:
    if isinstance(said, OfVendor):
        return HEAD.pack(version, said.type, sequence) + stamp + said.payload
    body = VERSIONS[version].by_message[type(said)]
    quick = FIXED.get((version, body.code))
    payload: bytes = _built_by_construct(version, body, said) if quick is None else quick.build(said)
    return HEAD.pack(version, body.code, sequence) + stamp + payload


def _built_by_construct(version: int, body: Body, said: object) -> bytes:
    built: bytes = LAYOUTS[version, body.code].build({name: getattr(said, name) for name in names(body)})
    return built


def unwrap(raw: bytes) -> bytes | Malformed:
    """Version to payload of a frame whose check is right."""
    body = bare = raw[1:-1]
    if ESCAPE in bare:
        body = ESCAPED.sub(lambda match: bytes((match[1][0] ^ FLIP,)), bare)
        bare = ESCAPED.sub(b"", bare)
    if wrong := PLAIN.search(bare):
        return Malformed(Reason.MALFORMED, f"{wrong[0].hex().upper()} stands in the frame without its escape")
    if len(body) > BODY_MAX:
        return Malformed(Reason.OVER_LONG, f"{len(body)} bytes without escapes; at most {BODY_MAX} are allowed")
    if len(body) < HEAD.size + CHECK.size:
        return Malformed(Reason.MALFORMED, "no version, type, sequence and check")
    body, said = body[: -CHECK.size], body[-CHECK.size :]
    due = CHECK.pack(crc32(body))
    if said != due:
        return Malformed(Reason.BAD_CHECK, f"the CRC is {said.hex(' ')}, {due.hex(' ')} is due")
    return body


def _body(raw: bytes) -> bytes | Malformed:
    """The same of a frame whose version is known."""
    body = unwrap(raw)
    if isinstance(body, Malformed):
        return body
    if body[0] not in VERSIONS:
        return Malformed(
            Reason.UNKNOWN_VERSION,
            f"the other end speaks version {body[0]} of Open Shoe, and {KNOWN} are known here; "
            "set the device to one of them, or install a release that knows its version",
        )
    return body


def _read_report(body: bytes) -> FromDevice | Malformed:
    version, type_, sequence = HEAD.unpack_from(body)
    payload = body[HEAD.size :]
    if type_ in REQUESTED:
        return Malformed(Reason.ECHO, f"a message of a host came back: {body.hex(' ')}")
    if not sequence:
        if type_ in NUMBERED:
            return Malformed(Reason.MALFORMED, f"type {type_:02X} is numbered, and this one has no number")
        said = _read_payload(version, type_, payload)
        return said if isinstance(said, Malformed) else Notice(version, said)
    if type_ in NOTICED:
        return Malformed(Reason.MALFORMED, f"type {type_:02X} has no number, and this one has {sequence}")
    stamp = STAMP if version < VERSION_3 else STAMP_3
    if len(payload) < stamp.size:
        return Malformed(Reason.MALFORMED, "a numbered report without stream and clock")
    stream, *boot, clock_us = stamp.unpack_from(payload)
    payload = payload[stamp.size :]
    said = _read_payload(version, type_, payload)
    # Its number must be taken, or everything behind it would wait for ever.
    said = Unreadable(type_, payload, said) if isinstance(said, Malformed) else said
    return Report(version, sequence, stream, clock_us, said, sum(boot), crc32(body))


def _read_request(body: bytes) -> Request | Malformed:
    version, type_, sequence = HEAD.unpack_from(body)
    if type_ not in REQUESTED:
        return Malformed(Reason.UNKNOWN_COMMAND, f"type {type_:02X} is nothing that a host says")
    if sequence:
        return Malformed(Reason.MALFORMED, f"type {type_:02X} has no number, and this one has {sequence}")
    said = _read_payload(version, type_, body[HEAD.size :])
    return said if isinstance(said, Malformed) else Request(version, said)


def _read_payload(version: int, type_: int, payload: bytes) -> Any:  # noqa: ANN401 -- the layout decides which
    """A message by the layout that its version declares, or `Malformed`."""
    if version >= VERSION_3 and (type_ in VENDOR_REPORTS or type_ in VENDOR_NOTICES):
        return OfVendor(type_, payload)
    try:
        return FIXED[version, type_].read(payload)
    except (KeyError, StructError):  # of another kind, or wrong
        return _read_by_construct(version, type_, payload)


def _read_by_construct(version: int, type_: int, payload: bytes) -> Any:  # noqa: ANN401 -- as above
    declared = VERSIONS[version].by_type.get(type_)
    if declared is None:
        return Malformed(Reason.UNKNOWN_COMMAND, f"version {version} has no type {type_:02X}")
    try:
        said = LAYOUTS[version, type_].parse(payload)
    except MappingError as error:
        where = str(error.path).rpartition(" -> ")[2]
        return Malformed(Reason.UNDECLARED_CODE, f"{declared.title}: {where} is a code that is not known")
    except ConstructError:
        return Malformed(Reason.MALFORMED, f"{declared.title}: data that cannot be: {payload.hex(' ')}")
    return declared.message(**{name: said[name] for name in names(declared)})
