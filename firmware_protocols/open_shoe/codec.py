"""Converts complete Open Shoe frames to messages, and back.

A frame is `7E | escaped body | 7F`. The body is version, type, sequence, payload and a CRC-32.
A frame without a valid message is a `Malformed`. A message that does not fit into a frame is a `ValueError`,
because only a defect of shoed makes such a message.
"""

import re
from struct import Struct
from struct import error as StructError  # noqa: N812 -- it is a class
from typing import Any, Final, assert_never
from zlib import crc32

from construct import ConstructError, MappingError

from firmware_protocols.family import Codec, Malformed, Reason
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
    Noticed,
    OfVendor,
    OpenShoeMessage,
    OpenShoeNotice,
    OpenShoeReport,
    OpenShoeRequest,
    ReportBody,
    Requested,
    Unreadable,
)
from firmware_protocols.open_shoe.settings import OpenShoeSettings

HEAD: Final = Struct(">BBH")  # version, type, sequence
STAMP: Final = Struct(">IQ")  # stream and clock, at the beginning of every numbered payload
STAMP_3: Final = Struct(">IHQ")  # stream, boot and clock, in version 3
CHECK: Final = Struct(">I")
TO_ESCAPE: Final = bytes((START, END, ESCAPE)) + FLOW_CONTROL
PLAIN: Final = re.compile(b"[%b]" % re.escape(TO_ESCAPE))
ESCAPED: Final = re.compile(b"%c([%b])" % (ESCAPE, re.escape(bytes(byte ^ FLIP for byte in TO_ESCAPE))))
KNOWN: Final = ", ".join(map(str, VERSIONS))


def reports(settings: OpenShoeSettings) -> Codec[FromDevice]:
    """The codec for the messages of a device."""

    def read(raw: bytes) -> FromDevice | Malformed:
        body = _body(raw)
        return body if isinstance(body, Malformed) else _read_report(body)

    return Codec(FRAMING, settings.torn_after_ms, read)


def orders(settings: OpenShoeSettings) -> Codec[OpenShoeRequest]:
    """The codec for the requests of a host."""

    def read(raw: bytes) -> OpenShoeRequest | Malformed:
        body = _body(raw)
        return body if isinstance(body, Malformed) else _read_request(body)

    return Codec(FRAMING, settings.torn_after_ms, read)


def build(message: OpenShoeMessage) -> bytes:
    """Return the complete frame of the message."""
    try:
        match message:
            case OpenShoeReport(version, sequence, stream, clock_us, content, boot):
                body = _built(version, sequence, _stamp(version, stream, boot, clock_us), content)
                read: object = _read_report(body)
            case OpenShoeNotice(version, content):
                body = _built(version, 0, b"", content)
                read = _read_report(body)
            case OpenShoeRequest(version, content):
                body = _built(version, 0, b"", content)
                read = message  # the layout of a request has one size and is not read back
            case _:
                assert_never(message)
    except (ConstructError, KeyError, StructError) as error:
        raise ValueError(f"{message} does not fit its frame: {error}") from error
    if read != message:
        raise ValueError(f"{message} does not fit its frame: the frame decodes as {read}")
    return seal(body)


def seal(body: bytes) -> bytes:
    """Return the frame of a body: add the CRC, the escapes, the start byte and the end byte."""
    checked = body + CHECK.pack(crc32(body))
    inside = PLAIN.sub(lambda match: bytes((ESCAPE, match[0][0] ^ FLIP)), checked)
    return bytes((START,)) + inside + bytes((END,))


def _stamp(version: int, stream: int, boot: int, clock_us: int) -> bytes:
    return STAMP.pack(stream, clock_us) if version < VERSION_3 else STAMP_3.pack(stream, boot, clock_us)


def _built(version: int, sequence: int, stamp: bytes, content: ReportBody | Unreadable | Noticed | Requested) -> bytes:
    if isinstance(content, OfVendor):
        return HEAD.pack(version, content.type, sequence) + stamp + content.payload
    body = VERSIONS[version].by_message[type(content)]
    quick = FIXED.get((version, body.code))
    payload: bytes = _built_by_construct(version, body, content) if quick is None else quick.build(content)
    return HEAD.pack(version, body.code, sequence) + stamp + payload


def _built_by_construct(version: int, body: Body, content: object) -> bytes:
    built: bytes = LAYOUTS[version, body.code].build({name: getattr(content, name) for name in names(body)})
    return built


def unwrap(raw: bytes) -> bytes | Malformed:
    """Return the body of a frame with a correct CRC, from the version to the payload."""
    body = bare = raw[1:-1]
    if ESCAPE in bare:
        body = ESCAPED.sub(lambda match: bytes((match[1][0] ^ FLIP,)), bare)
        bare = ESCAPED.sub(b"", bare)
    if wrong := PLAIN.search(bare):
        return Malformed(Reason.MALFORMED, f"{wrong[0].hex().upper()} is in the frame without its escape")
    if len(body) > BODY_MAX:
        return Malformed(Reason.OVER_LONG, f"{len(body)} bytes without escapes; the maximum is {BODY_MAX}")
    if len(body) < HEAD.size + CHECK.size:
        return Malformed(Reason.MALFORMED, "version, type, sequence and CRC are not complete")
    body, check = body[: -CHECK.size], body[-CHECK.size :]
    due = CHECK.pack(crc32(body))
    if check != due:
        return Malformed(Reason.BAD_CHECK, f"the CRC is {check.hex(' ')}, the right CRC is {due.hex(' ')}")
    return body


def _body(raw: bytes) -> bytes | Malformed:
    """Return the body of a frame with a correct CRC and a known version."""
    body = unwrap(raw)
    if isinstance(body, Malformed):
        return body
    if body[0] not in VERSIONS:
        return Malformed(
            Reason.UNKNOWN_VERSION,
            f"the other end uses version {body[0]} of Open Shoe; this release knows versions {KNOWN}; "
            "set the device to one of them, or install a release that knows its version",
        )
    return body


def _read_report(body: bytes) -> FromDevice | Malformed:
    version, type_, sequence = HEAD.unpack_from(body)
    payload = body[HEAD.size :]
    if type_ in REQUESTED:
        return Malformed(Reason.ECHO, f"a message of a host was echoed: {body.hex(' ')}")
    if not sequence:
        if type_ in NUMBERED:
            return Malformed(Reason.MALFORMED, f"type {type_:02X} needs a number, and this one has none")
        content = _read_payload(version, type_, payload)
        return content if isinstance(content, Malformed) else OpenShoeNotice(version, content)
    if type_ in NOTICED:
        return Malformed(Reason.MALFORMED, f"type {type_:02X} must not have a number, and this one has {sequence}")
    stamp = STAMP if version < VERSION_3 else STAMP_3
    if len(payload) < stamp.size:
        return Malformed(Reason.MALFORMED, "a numbered report without stream and clock")
    stream, *boot, clock_us = stamp.unpack_from(payload)
    payload = payload[stamp.size :]
    content = _read_payload(version, type_, payload)
    # The host must accept the number of this report. Otherwise the device never sends the later reports.
    content = Unreadable(type_, payload, content) if isinstance(content, Malformed) else content
    return OpenShoeReport(version, sequence, stream, clock_us, content, sum(boot), crc32(body))


def _read_request(body: bytes) -> OpenShoeRequest | Malformed:
    version, type_, sequence = HEAD.unpack_from(body)
    if type_ not in REQUESTED:
        return Malformed(Reason.UNKNOWN_COMMAND, f"type {type_:02X} is not a request of a host")
    if sequence:
        return Malformed(Reason.MALFORMED, f"type {type_:02X} must not have a number, and this one has {sequence}")
    content = _read_payload(version, type_, body[HEAD.size :])
    return content if isinstance(content, Malformed) else OpenShoeRequest(version, content)


def _read_payload(version: int, type_: int, payload: bytes) -> Any:  # noqa: ANN401 -- the layout decides which
    """Return the message by the layout of its version, or `Malformed`."""
    if version >= VERSION_3 and (type_ in VENDOR_REPORTS or type_ in VENDOR_NOTICES):
        return OfVendor(type_, payload)
    try:
        return FIXED[version, type_].read(payload)
    except (KeyError, StructError):  # the layout has no fixed size, or the payload is wrong
        return _read_by_construct(version, type_, payload)


def _read_by_construct(version: int, type_: int, payload: bytes) -> Any:  # noqa: ANN401 -- as above
    declared = VERSIONS[version].by_type.get(type_)
    if declared is None:
        return Malformed(Reason.UNKNOWN_COMMAND, f"version {version} has no type {type_:02X}")
    try:
        content = LAYOUTS[version, type_].parse(payload)
    except MappingError as error:
        where = str(error.path).rpartition(" -> ")[2]
        return Malformed(Reason.UNDECLARED_CODE, f"{declared.title}: the code in {where} is not known")
    except ConstructError:
        return Malformed(Reason.MALFORMED, f"{declared.title}: the data are not valid: {payload.hex(' ')}")
    return declared.message(**{name: content[name] for name in names(declared)})
