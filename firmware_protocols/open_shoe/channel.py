"""The secure channel of Open Shoe: both ends as state machines without IO, which seal and open the bodies of frames.

Theory of operation: a body is the part of a frame from its version to its payload. Each end has two inputs: the
bodies from the line (`hear`), and the bodies to send (`say`). `hear` returns the body that the other end sealed, and
`data_to_send` returns the frames for the line. The caller supplies the moments, the cipher and the random bytes.

A session is one pair of nonces. A host may have several sessions: the previous session continues until the first frame
of the newest session arrives. That frame ends the older sessions. A new line and a new power-up begin without a
session.
"""

from collections.abc import Callable
from hmac import compare_digest
from struct import Struct
from typing import Final, NamedTuple, Protocol

from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe.codec import HEAD, seal
from firmware_protocols.open_shoe.layout import CHANNEL, REQUESTED, VERSION_3, VERSIONS
from firmware_protocols.open_shoe.messages import (
    Challenge,
    HostSealed,
    Identify,
    Noticed,
    Requested,
    Response,
    Sealed,
    Unkeyed,
)

NS_PER_S: Final = 1_000_000_000
KEY_BYTES: Final = 16
NONCE_BYTES: Final = 16
PROOF_BYTES: Final = 16
COUNTER: Final = Struct(">I")
LAST_COUNTER: Final = 0xFFFFFFFF
RENEWED_FROM: Final = 0x80000000  # the host begins a new session
MOST_INSIDE: Final = 492  # bytes of an inner body

AGAIN_NS: Final = NS_PER_S  # between two CHALLENGEs, between two sessions, and between two UNKEYEDs
# A device sends ALIVE every 10 s. A device that lost its power and whose UNKEYED was lost waits for a CHALLENGE.
SILENT_NS: Final = 30 * NS_PER_S
# Without a session, UNKEYED replaces ALIVE.
UNKEYED_NS: Final = 10 * NS_PER_S
SESSIONS: Final = 3  # the maximum number of sessions in which a host opens frames

RandomBytes = Callable[[int], bytes]  # returns this number of random bytes


def _head(message: type[Noticed | Requested]) -> bytes:
    return HEAD.pack(VERSION_3, VERSIONS[VERSION_3].by_message[message].code, 0)


CHALLENGE: Final = _head(Challenge)
RESPONSE: Final = _head(Response)
UNKEYED: Final = _head(Unkeyed)
OF_DEVICE: Final = _head(Sealed)
OF_HOST: Final = _head(HostSealed)
IDENTIFY: Final = _head(Identify)
TYPES: Final = frozenset(each.code for each in CHANNEL)

WRONG_PROOF: Final = "RESPONSE with a wrong proof: the device has another key, or another device answered"
NOT_OURS: Final = "sealed in another session or with another key, or changed on the line"


class Cipher(Protocol):
    def cmac(self, key: bytes, data: bytes) -> bytes:
        """AES-CMAC, RFC 4493."""

    def seal(self, key: bytes, nonce: bytes, plain: bytes, additional: bytes) -> bytes:
        """AES-128-CCM, RFC 3610, with a tag of 8 bytes after the encrypted text."""

    def open(self, key: bytes, nonce: bytes, content: bytes, additional: bytes) -> bytes | None:
        """The plain text; None if the tag is wrong."""


class Keys(NamedTuple):
    """The values computed from the key and the two nonces of a session."""

    device: bytes
    host: bytes
    proof: bytes


def keys_of(cipher: Cipher, key: bytes, host_nonce: bytes, device_nonce: bytes) -> Keys:
    return Keys(*(cipher.cmac(key, bytes((use,)) + host_nonce + device_nonce) for use in (1, 2, 3)))


def ccm_nonce(counter: int) -> bytes:
    return bytes(9) + COUNTER.pack(counter)


class ChannelDirection:
    """The frames of one end in one session."""

    def __init__(self, cipher: Cipher, key: bytes, head: bytes) -> None:
        self.cipher = cipher
        self.key = key
        self.head = head
        self.counter = 0  # of the last sealed or opened frame

    def seal(self, body: bytes) -> bytes | None:
        """The outer body; None after the last counter."""
        if self.counter == LAST_COUNTER:
            return None
        self.counter += 1
        content = self.cipher.seal(self.key, ccm_nonce(self.counter), body, self.head)
        return self.head + COUNTER.pack(self.counter) + content

    def inside(self, outer: bytes) -> tuple[int, bytes | None]:
        """The counter and the sealed body; None: the tag is wrong."""
        (counter,) = COUNTER.unpack_from(outer, HEAD.size)
        content = outer[HEAD.size + COUNTER.size :]
        return counter, self.cipher.open(self.key, ccm_nonce(counter), content, self.head)

    def is_copy(self, outer: bytes) -> bool:
        """Whether a frame that was not opened was sealed in this session."""
        return len(outer) >= HEAD.size + COUNTER.size and self.inside(outer)[1] is not None

    def open(self, outer: bytes) -> bytes | Malformed:
        if len(outer) < HEAD.size + COUNTER.size:
            return Malformed(Reason.NOT_AUTHENTIC, "SEALED has no counter")
        counter, body = self.inside(outer)
        if body is None:
            return Malformed(Reason.NOT_AUTHENTIC, f"SEALED {counter}: {NOT_OURS}")
        if counter <= self.counter:
            return Malformed(
                Reason.NOT_AUTHENTIC,
                f"SEALED {counter}: a copy, or out of order; the last opened frame is {self.counter}",
            )
        self.counter = counter
        return body


def inside(body: bytes) -> bytes | Malformed:
    """An opened body, if the page allows its type inside SEALED."""
    if len(body) < HEAD.size or body[0] != VERSION_3:
        return Malformed(Reason.NOT_AUTHENTIC, f"SEALED does not contain version {VERSION_3}: {body[:4].hex(' ')}")
    if body[1] in TYPES:
        return Malformed(Reason.NOT_AUTHENTIC, f"SEALED contains type {body[1]:02X} of the channel itself")
    return body


class ChannelSession:
    """One secure session, as seen from one end."""

    def __init__(
        self, host_nonce: bytes, device_nonce: bytes, proof: bytes, ours: ChannelDirection, theirs: ChannelDirection
    ) -> None:
        self.host_nonce = host_nonce
        self.response = RESPONSE + device_nonce + proof
        self.ours = ours
        self.theirs = theirs

    @property
    def is_old(self) -> bool:
        return max(self.ours.counter, self.theirs.counter) >= RENEWED_FROM


class End:
    """The common part of both ends."""

    def __init__(self, cipher: Cipher, key: bytes, draw: RandomBytes) -> None:
        self.cipher = cipher
        self.key = key
        self.draw = draw
        self._out: list[bytes] = []

    def data_to_send(self) -> bytes:
        """The frames that wait to be sent. Each frame is returned once."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def put(self, body: bytes) -> None:
        self._out.append(seal(body))

    def directions(self, keys: Keys) -> tuple[ChannelDirection, ChannelDirection]:
        return ChannelDirection(self.cipher, keys.device, OF_DEVICE), ChannelDirection(self.cipher, keys.host, OF_HOST)


class HostEnd(End):
    """The end of the host on one open line."""

    def __init__(self, cipher: Cipher, key: bytes, draw: RandomBytes, now_ns: int) -> None:
        super().__init__(cipher, key, draw)
        self.sessions: list[ChannelSession] = []  # the newest first
        self.nonce: bytes | None = None  # of the CHALLENGE that has no answer yet
        self.began_ns = now_ns  # the beginning of the last session
        self.asked_ns = now_ns  # the last CHALLENGE or IDENTIFY
        self.heard_ns = now_ns  # the last frame of the device in a session
        self.unheard = False  # the device has sent no frame in the newest session
        self.is_due = False  # a new session must begin
        self.begin(now_ns)

    @property
    def is_open(self) -> bool:
        return bool(self.sessions)

    def begin(self, now_ns: int) -> None:
        self.is_due = False
        self.nonce = self.draw(NONCE_BYTES)
        self.began_ns = now_ns
        self.ask(now_ns)

    def ask(self, now_ns: int) -> None:
        """Send the request that has no answer yet: CHALLENGE, or IDENTIFY in the new session."""
        self.asked_ns = now_ns
        if self.nonce is not None:
            self.put(CHALLENGE + self.nonce)
        elif self.unheard:
            self.say(IDENTIFY, now_ns)

    def say(self, body: bytes, now_ns: int) -> None:
        """Seal a body of the host. A request is identical in all versions; the inner body has version 3."""
        if body[0] in VERSIONS:
            body = bytes((VERSION_3,)) + body[1:]
        if not self.sessions:
            return
        newest = self.sessions[0]
        if (outer := newest.ours.seal(body)) is None:
            self.sessions.clear()
        else:
            self.put(outer)
        self.renew(now_ns)

    def renew(self, now_ns: int) -> None:
        """Begin a session if one is due, at most one in a second."""
        self.is_due = self.is_due or not self.sessions or self.sessions[0].is_old
        if self.nonce is None and self.is_due and now_ns - self.began_ns >= AGAIN_NS:
            self.begin(now_ns)

    def hear(self, body: bytes, now_ns: int) -> bytes | Malformed | None:
        """The body that the device sealed; `Malformed`: why the body is dropped; None: nothing to pass on."""
        head, payload = body[: HEAD.size], body[HEAD.size :]
        if head == OF_DEVICE:
            return self.opened(body, now_ns)
        if head == RESPONSE and len(payload) == NONCE_BYTES + PROOF_BYTES:
            return self.answered(body, payload[:NONCE_BYTES], now_ns)
        if body == UNKEYED:
            self.is_due = self.nonce is None
            self.renew(now_ns)
            return None
        if body[1] in REQUESTED:
            return Malformed(Reason.ECHO, f"a message of a host was echoed: {body.hex(' ')}")
        return Malformed(
            Reason.UNSEALED,
            f"type {body[1]:02X} of version {body[0]} outside the secure channel; "
            "the device has no key, or another device is on the line",
        )

    def answered(self, body: bytes, device_nonce: bytes, now_ns: int) -> Malformed | None:
        if any(body == each.response for each in self.sessions):
            return None  # the answer to a repeated CHALLENGE: this session exists already
        if self.nonce is None:
            return Malformed(Reason.NOT_AUTHENTIC, "RESPONSE without a CHALLENGE")
        keys = keys_of(self.cipher, self.key, self.nonce, device_nonce)
        if not compare_digest(keys.proof, body[-PROOF_BYTES:]):
            return Malformed(Reason.NOT_AUTHENTIC, WRONG_PROOF)
        theirs, ours = self.directions(keys)
        is_first = not self.sessions
        self.sessions = [ChannelSession(self.nonce, device_nonce, keys.proof, ours, theirs), *self.sessions][:SESSIONS]
        self.nonce, self.is_due, self.unheard = None, False, True
        self.heard_ns = self.asked_ns = now_ns
        if not is_first:  # IDENTIFY of the first secure session: see shoed/session/open_shoe.py
            self.ask(now_ns)
        return None

    def opened(self, outer: bytes, now_ns: int) -> bytes | Malformed:
        wrong: Malformed | None = None
        for place, session in enumerate(self.sessions):
            body = session.theirs.open(outer)
            if isinstance(body, bytes):
                del self.sessions[place + 1 :]
                self.heard_ns = now_ns
                if not place:  # the device has the newest session
                    self.unheard = self.is_due = False
                self.renew(now_ns)
                return inside(body)
            wrong = wrong or body
        return wrong or Malformed(Reason.NOT_AUTHENTIC, "SEALED without a session")

    def wake_at(self) -> int:
        if self.nonce is not None or self.unheard:
            return self.asked_ns + AGAIN_NS
        if self.is_due:
            return self.began_ns + AGAIN_NS
        return self.heard_ns + SILENT_NS

    def pass_time(self, now_ns: int) -> None:
        if now_ns < self.wake_at():
            return
        if self.nonce is not None or self.unheard:
            if self.nonce is None and now_ns - self.heard_ns >= SILENT_NS:
                self.begin(now_ns)
            else:
                self.ask(now_ns)
        else:
            self.is_due = True
            self.renew(now_ns)


class DeviceEnd(End):
    """The end of the device on its line."""

    def __init__(self, cipher: Cipher, key: bytes, draw: RandomBytes) -> None:
        super().__init__(cipher, key, draw)
        self.standing: ChannelSession | None = None
        self.offered: ChannelSession | None = None  # answered; no frame of it was opened yet
        self.unkeyed_ns: int | None = None  # the last UNKEYED

    def opened(self, now_ns: int) -> None:
        """The line opens, or the power returns."""
        self.standing = self.offered = None
        self.unkeyed(now_ns)

    def unkeyed(self, now_ns: int) -> None:
        if self.unkeyed_ns is None or now_ns - self.unkeyed_ns >= AGAIN_NS:
            self.unkeyed_ns = now_ns
            self.put(UNKEYED)

    def say(self, body: bytes, now_ns: int) -> None:
        """Seal a body; without a session, send nothing."""
        if self.standing is None:
            return
        if (outer := self.standing.ours.seal(body)) is None:
            self.standing = None
            self.unkeyed(now_ns)
        else:
            self.put(outer)

    def hear(self, body: bytes, now_ns: int) -> tuple[bytes | None, bool]:
        """The body that the host sealed, and whether this frame establishes its session."""
        head, payload = body[: HEAD.size], body[HEAD.size :]
        if head == CHALLENGE and len(payload) == NONCE_BYTES:
            self.answer(payload)
            return None, False
        if head == OF_HOST:
            for session in (self.offered, self.standing):
                opened = None if session is None else session.theirs.open(body)
                if isinstance(opened, bytes):
                    begins = session is self.offered
                    if begins:
                        self.standing, self.offered = session, None
                    opened = inside(opened)
                    return opened if isinstance(opened, bytes) else None, begins
            if self.standing is None or not self.standing.theirs.is_copy(body):
                self.unkeyed(now_ns)
        elif self.standing is None:
            self.unkeyed(now_ns)
        return None, False

    def answer(self, host_nonce: bytes) -> None:
        known = [each for each in (self.offered, self.standing) if each is not None and each.host_nonce == host_nonce]
        if not known:
            device_nonce = self.draw(NONCE_BYTES)
            keys = keys_of(self.cipher, self.key, host_nonce, device_nonce)
            ours, theirs = self.directions(keys)
            known = [ChannelSession(host_nonce, device_nonce, keys.proof, ours, theirs)]
            self.offered = known[0]
        self.put(known[0].response)

    def wake_at(self) -> int | None:
        if self.standing is not None or self.unkeyed_ns is None:
            return None
        return self.unkeyed_ns + UNKEYED_NS

    def pass_time(self, now_ns: int) -> None:
        due = self.wake_at()
        if due is not None and now_ns >= due:
            self.unkeyed(now_ns)
