"""The secure channel of Open Shoe: both ends as machines without IO, between plain bodies and bodies on the line.

Theory of operation: a body is what a frame carries from its version to its payload. Each end takes the bodies that
came (`hear`) and those to be said (`say`), gives what the other end said in this session, and has the frames to send
in `data_to_send`. The caller gives the moments, the cipher and the random bytes. A session is one pair of nonces. The
host may have several: one that goes on, and a newer one of which nothing was heard yet; the first frame of the newer
one ends the older ones. Nothing of a session outlives its end: a new line and a new power-up begin without any.
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

AGAIN_NS: Final = NS_PER_S  # CHALLENGE, and between two sessions, and between two UNKEYED
# ALIVE comes every 10 s. A device that lost its power and whose UNKEYED was lost waits for a CHALLENGE.
SILENT_NS: Final = 30 * NS_PER_S
# UNKEYED stands in the place of ALIVE while there is no session.
UNKEYED_NS: Final = 10 * NS_PER_S
SESSIONS: Final = 3  # of which a host opens frames

Draw = Callable[[int], bytes]  # random bytes, so many


def _head(said: type[Noticed | Requested]) -> bytes:
    return HEAD.pack(VERSION_3, VERSIONS[VERSION_3].by_message[said].code, 0)


CHALLENGE: Final = _head(Challenge)
RESPONSE: Final = _head(Response)
UNKEYED: Final = _head(Unkeyed)
OF_DEVICE: Final = _head(Sealed)
OF_HOST: Final = _head(HostSealed)
IDENTIFY: Final = _head(Identify)
TYPES: Final = frozenset(each.code for each in CHANNEL)

WRONG_PROOF: Final = "RESPONSE with a wrong proof: the device has another key, or another device answered"
NOT_OURS: Final = "of another session or of another key, or changed on its way"


class Cipher(Protocol):
    def cmac(self, key: bytes, data: bytes) -> bytes:
        """AES-CMAC, RFC 4493."""

    def seal(self, key: bytes, nonce: bytes, plain: bytes, additional: bytes) -> bytes:
        """AES-128-CCM, RFC 3610, with a tag of 8 bytes behind the encrypted text."""

    def open(self, key: bytes, nonce: bytes, content: bytes, additional: bytes) -> bytes | None:
        """The plain text; None if the tag is wrong."""


class Keys(NamedTuple):
    """What follows from the key and the two nonces of a session."""

    device: bytes
    host: bytes
    proof: bytes


def keys_of(cipher: Cipher, key: bytes, host_nonce: bytes, device_nonce: bytes) -> Keys:
    return Keys(*(cipher.cmac(key, bytes((use,)) + host_nonce + device_nonce) for use in (1, 2, 3)))


def ccm_nonce(counter: int) -> bytes:
    return bytes(9) + COUNTER.pack(counter)


class Direction:
    """What one end says in one session."""

    def __init__(self, cipher: Cipher, key: bytes, head: bytes) -> None:
        self.cipher = cipher
        self.key = key
        self.head = head
        self.counter = 0  # of the last frame that was sealed or opened

    def seal(self, body: bytes) -> bytes | None:
        """The outer body; None once the counters are used up."""
        if self.counter == LAST_COUNTER:
            return None
        self.counter += 1
        content = self.cipher.seal(self.key, ccm_nonce(self.counter), body, self.head)
        return self.head + COUNTER.pack(self.counter) + content

    def inside(self, outer: bytes) -> tuple[int, bytes | None]:
        """The counter, and what was sealed; None: the tag is wrong."""
        (counter,) = COUNTER.unpack_from(outer, HEAD.size)
        content = outer[HEAD.size + COUNTER.size :]
        return counter, self.cipher.open(self.key, ccm_nonce(counter), content, self.head)

    def is_copy(self, outer: bytes) -> bool:
        """Whether it was sealed in this session, after it was not opened."""
        return len(outer) >= HEAD.size + COUNTER.size and self.inside(outer)[1] is not None

    def open(self, outer: bytes) -> bytes | Malformed:
        if len(outer) < HEAD.size + COUNTER.size:
            return Malformed(Reason.NOT_AUTHENTIC, "SEALED without a counter")
        counter, body = self.inside(outer)
        if body is None:
            return Malformed(Reason.NOT_AUTHENTIC, f"SEALED {counter}: {NOT_OURS}")
        if counter <= self.counter:
            return Malformed(
                Reason.NOT_AUTHENTIC, f"SEALED {counter}: a copy, or out of order; {self.counter} was opened before"
            )
        self.counter = counter
        return body


def inside(body: bytes) -> bytes | Malformed:
    """A body that was opened, if the page lets it be sealed."""
    if len(body) < HEAD.size or body[0] != VERSION_3:
        return Malformed(Reason.NOT_AUTHENTIC, f"SEALED, and inside is not version {VERSION_3}: {body[:4].hex(' ')}")
    if body[1] in TYPES:
        return Malformed(Reason.NOT_AUTHENTIC, f"SEALED, and inside is type {body[1]:02X} of the channel itself")
    return body


class Session:
    """One session, as one of its ends has it."""

    def __init__(
        self, host_nonce: bytes, device_nonce: bytes, proof: bytes, ours: Direction, theirs: Direction
    ) -> None:
        self.host_nonce = host_nonce
        self.response = RESPONSE + device_nonce + proof
        self.ours = ours
        self.theirs = theirs

    @property
    def is_old(self) -> bool:
        return max(self.ours.counter, self.theirs.counter) >= RENEWED_FROM


class End:
    """What both ends have."""

    def __init__(self, cipher: Cipher, key: bytes, draw: Draw) -> None:
        self.cipher = cipher
        self.key = key
        self.draw = draw
        self._out: list[bytes] = []

    def data_to_send(self) -> bytes:
        """The frames that wait to be sent, each once."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def put(self, body: bytes) -> None:
        self._out.append(seal(body))

    def directions(self, keys: Keys) -> tuple[Direction, Direction]:
        return Direction(self.cipher, keys.device, OF_DEVICE), Direction(self.cipher, keys.host, OF_HOST)


class HostEnd(End):
    """The host's end of one open line."""

    def __init__(self, cipher: Cipher, key: bytes, draw: Draw, now_ns: int) -> None:
        super().__init__(cipher, key, draw)
        self.sessions: list[Session] = []  # the newest first
        self.nonce: bytes | None = None  # of the CHALLENGE that waits for its answer
        self.began_ns = now_ns  # the last session
        self.asked_ns = now_ns  # CHALLENGE or IDENTIFY, said last
        self.heard_ns = now_ns  # what the device said in a session, last
        self.unheard = False  # nothing was heard in the newest session
        self.is_due = False  # a new session
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
        """Say what waits for an answer: CHALLENGE, or IDENTIFY in the new session."""
        self.asked_ns = now_ns
        if self.nonce is not None:
            self.put(CHALLENGE + self.nonce)
        elif self.unheard:
            self.say(IDENTIFY, now_ns)

    def say(self, body: bytes, now_ns: int) -> None:
        """Seal a body of the host. Requests are the same in all versions; inside, they have this one."""
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
        """Begin a session that is due, at most one in a second."""
        self.is_due = self.is_due or not self.sessions or self.sessions[0].is_old
        if self.nonce is None and self.is_due and now_ns - self.began_ns >= AGAIN_NS:
            self.begin(now_ns)

    def hear(self, body: bytes, now_ns: int) -> bytes | Malformed | None:
        """What the device said in a session; or why the body is dropped; or nothing."""
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
            return Malformed(Reason.ECHO, f"a message of a host came back: {body.hex(' ')}")
        return Malformed(
            Reason.UNSEALED,
            f"type {body[1]:02X} of version {body[0]} outside the secure channel; "
            "the device has no key, or another device is on the line",
        )

    def answered(self, body: bytes, device_nonce: bytes, now_ns: int) -> Malformed | None:
        if any(body == each.response for each in self.sessions):
            return None  # CHALLENGE was said twice
        if self.nonce is None:
            return Malformed(Reason.NOT_AUTHENTIC, "RESPONSE to no CHALLENGE")
        keys = keys_of(self.cipher, self.key, self.nonce, device_nonce)
        if not compare_digest(keys.proof, body[-PROOF_BYTES:]):
            return Malformed(Reason.NOT_AUTHENTIC, WRONG_PROOF)
        theirs, ours = self.directions(keys)
        is_first = not self.sessions
        self.sessions = [Session(self.nonce, device_nonce, keys.proof, ours, theirs), *self.sessions][:SESSIONS]
        self.nonce, self.is_due, self.unheard = None, False, True
        self.heard_ns = self.asked_ns = now_ns
        if not is_first:  # in the first one the host itself says IDENTIFY
            self.ask(now_ns)
        return None

    def opened(self, outer: bytes, now_ns: int) -> bytes | Malformed:
        wrong: Malformed | None = None
        for place, session in enumerate(self.sessions):
            body = session.theirs.open(outer)
            if isinstance(body, bytes):
                del self.sessions[place + 1 :]
                self.heard_ns = now_ns
                if not place:  # so the device has it
                    self.unheard = self.is_due = False
                self.renew(now_ns)
                return inside(body)
            wrong = wrong or body
        return wrong or Malformed(Reason.NOT_AUTHENTIC, "SEALED, and no session stands")

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
    """The device's end of its line."""

    def __init__(self, cipher: Cipher, key: bytes, draw: Draw) -> None:
        super().__init__(cipher, key, draw)
        self.standing: Session | None = None
        self.offered: Session | None = None  # answered, and nothing was opened in it yet
        self.unkeyed_ns: int | None = None  # said last

    def opened(self, now_ns: int) -> None:
        """The line opens, or the power is there."""
        self.standing = self.offered = None
        self.unkeyed(now_ns)

    def unkeyed(self, now_ns: int) -> None:
        if self.unkeyed_ns is None or now_ns - self.unkeyed_ns >= AGAIN_NS:
            self.unkeyed_ns = now_ns
            self.put(UNKEYED)

    def say(self, body: bytes, now_ns: int) -> None:
        """Seal a body; without a session nothing is said."""
        if self.standing is None:
            return
        if (outer := self.standing.ours.seal(body)) is None:
            self.standing = None
            self.unkeyed(now_ns)
        else:
            self.put(outer)

    def hear(self, body: bytes, now_ns: int) -> tuple[bytes | None, bool]:
        """What the host said in a session, and whether this session begins to stand."""
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
            known = [Session(host_nonce, device_nonce, keys.proof, ours, theirs)]
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
