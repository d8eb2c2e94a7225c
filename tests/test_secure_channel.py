"""The secure channel of Open Shoe: the vectors of the page, and both ends over a hostile line.

The line loses and alters frames, and an attacker inserts frames.
"""

import re
from pathlib import Path
from random import Random
from typing import Final

import pytest

from firmware_protocols import open_shoe
from firmware_protocols.family import Malformed, Reason
from firmware_protocols.open_shoe import channel
from firmware_protocols.open_shoe.channel import (
    LAST_COUNTER,
    MOST_INSIDE,
    NS_PER_S,
    RENEWED_FROM,
    ChannelDirection,
    DeviceEnd,
    HostEnd,
    ccm_nonce,
    keys_of,
)
from firmware_protocols.open_shoe.codec import seal, unwrap
from firmware_protocols.open_shoe.layout import BODY_MAX
from shoed.model.moments import Chunk, Now
from shoed.ports.channel import DeviceChannel, HostChannel
from shoed.ports.cipher import Aes
from shoed.ports.keyed import Dropped

TEXT: Final = Path(open_shoe.__file__).with_name("PROTOCOL.md").read_text().partition("### Test vectors")[2]
ROW: Final = re.compile(r"^\| (.+?) \| `([0-9A-F ]+)` \|$", re.MULTILINE)
VECTORS: Final = {what: bytes.fromhex(hexed) for what, hexed in ROW.findall(TEXT.partition("\n## ")[0])}
INSIDE: Final = re.compile(r"inside `([0-9A-F ]+)`")
KEY: Final = bytes(range(0x10))
HOST_NONCE: Final = bytes(range(0x20, 0x30))
DEVICE_NONCE: Final = bytes(range(0x40, 0x50))
AES: Final = Aes()
SECOND: Final = NS_PER_S
HELLO: Final = bytes.fromhex("03 01 00 00") + b"who I am"


def vector(start: str) -> tuple[bytes, bytes]:
    """The bytes of a row of the page, and the inner bytes that the row states."""
    (what,) = [each for each in VECTORS if each.startswith(start)]
    inside = INSIDE.search(what)
    return VECTORS[what], bytes.fromhex(inside[1]) if inside else b""


def bare(frame: bytes) -> bytes:
    body = unwrap(frame)
    assert isinstance(body, bytes)
    return body


def host(now_ns: int = 0, nonce: bytes = HOST_NONCE, key: bytes = KEY) -> HostEnd:
    return HostEnd(AES, key, lambda _: nonce, now_ns)


def device(nonce: bytes = DEVICE_NONCE, key: bytes = KEY) -> DeviceEnd:
    return DeviceEnd(AES, key, lambda _: nonce)


def joined() -> tuple[HostEnd, DeviceEnd]:
    """Both ends, in an established session."""
    ours, theirs = host(), device()
    theirs.hear(bare(ours.data_to_send()), 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) is None
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, True)
    return ours, theirs


# --- the page


def test_the_page_has_all_its_vectors() -> None:
    """No row of the table is skipped."""
    assert len(VECTORS) == 9


def test_the_cipher_computes_the_vectors_of_the_page() -> None:
    """Keys, proof, and the sealed frames of both directions."""
    keys = keys_of(AES, KEY, HOST_NONCE, DEVICE_NONCE)
    assert keys == (VECTORS["device key"], VECTORS["host key"], VECTORS["proof"])
    for start, key, counter in (
        ("host, counter 1", keys.host, 1),
        ("device, counter 1", keys.device, 1),
        ("host, counter 2", keys.host, 2),
    ):
        frame, inside = vector(start)
        body = bare(frame)
        assert AES.seal(key, ccm_nonce(counter), inside, body[:4]) == body[8:]
        assert AES.open(key, ccm_nonce(counter), body[8:], body[:4]) == inside


def test_both_ends_send_the_frames_of_the_page() -> None:
    """From CHALLENGE to ORDER, byte for byte."""
    ours, theirs = host(), device()
    theirs.opened(0)
    assert theirs.data_to_send() == VECTORS["UNKEYED"]
    challenge = ours.data_to_send()
    assert challenge == VECTORS["CHALLENGE"]
    theirs.hear(bare(challenge), 0)
    response = theirs.data_to_send()
    assert response == VECTORS["RESPONSE"]
    assert ours.hear(bare(response), 0) is None
    identify, inside = vector("host, counter 1")
    ours.say(inside, 0)
    assert ours.data_to_send() == identify
    assert theirs.hear(bare(identify), 0) == (inside, True)
    alive, inside = vector("device, counter 1")
    theirs.say(inside, 0)
    assert theirs.data_to_send() == alive
    assert ours.hear(bare(alive), 0) == inside
    order, inside = vector("host, counter 2")
    ours.say(inside, 0)
    assert ours.data_to_send() == order
    assert theirs.hear(bare(order), 0) == (inside, False)


def test_the_longest_inner_body_fits_into_a_frame() -> None:
    """492 bytes inside are 512 bytes outside, with the CRC."""
    ours, theirs = joined()
    theirs.say(HELLO + bytes(MOST_INSIDE - len(HELLO)), 0)
    outer = bare(theirs.data_to_send())
    assert len(outer) + 4 == BODY_MAX
    heard = ours.hear(outer, 0)
    assert isinstance(heard, bytes)
    assert len(heard) == MOST_INSIDE


# --- what is dropped


@pytest.mark.parametrize("version", [1, 2, 3, 9])
def test_a_plain_frame_is_unsealed_in_every_version(version: int) -> None:
    """With a key, the host accepts no frame outside the channel."""
    ours, _ = joined()
    dropped = ours.hear(bytes((version, 0x20, 0, 1)) + bytes(25), 0)
    assert isinstance(dropped, Malformed)
    assert dropped.reason is Reason.UNSEALED


def test_an_opened_frame_is_not_opened_again() -> None:
    """A frame that was sealed earlier is not opened, either."""
    ours, theirs = joined()
    theirs.say(HELLO, 0)
    early = bare(theirs.data_to_send())
    theirs.say(HELLO, 0)
    late = bare(theirs.data_to_send())
    assert ours.hear(late, 0) == HELLO
    for again in (late, early):
        dropped = ours.hear(again, 0)
        assert isinstance(dropped, Malformed)
        assert dropped.reason is Reason.NOT_AUTHENTIC


def test_every_altered_bit_is_detected() -> None:
    """The bits are those of the head, the counter, the text and the tag."""
    ours, theirs = joined()
    theirs.say(HELLO, 0)
    outer = bare(theirs.data_to_send())
    for bit in range(8 * len(outer)):
        altered = bytearray(outer)
        altered[bit // 8] ^= 1 << bit % 8
        assert isinstance(ours.hear(bytes(altered), 0), Malformed)
    assert ours.hear(outer, 0) == HELLO


def test_a_reflected_frame_is_not_a_frame_of_the_device() -> None:
    """It is rejected unchanged, and with the type of the other end."""
    ours, _ = joined()
    ours.say(channel.IDENTIFY, 0)
    outer = bare(ours.data_to_send())
    dropped = ours.hear(outer, 0), ours.hear(channel.OF_DEVICE + outer[4:], 0)
    assert [each.reason for each in dropped if isinstance(each, Malformed)] == [Reason.ECHO, Reason.NOT_AUTHENTIC]


@pytest.mark.parametrize("inside", ["01 01 00 00", "02 01 00 00", "04 01 00 00", "03 12 00 00", "03"])
def test_only_version_3_is_accepted_inside_and_not_the_channel_itself(inside: str) -> None:
    """Any other sealed body is rejected."""
    ours, theirs = joined()
    theirs.say(bytes.fromhex(inside), 0)
    assert isinstance(ours.hear(bare(theirs.data_to_send()), 0), Malformed)
    ours.sessions[0].ours.counter, outer = 1, ours.sessions[0].ours.seal(bytes.fromhex(inside))
    assert outer is not None
    assert theirs.hear(outer, 0) == (None, False)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_request_of_any_version_is_sealed_in_version_3(version: int) -> None:
    """Before the first frame of the device, a host sends version 1."""
    ours, theirs = joined()
    ours.say(bytes((version, 0x80, 0, 0)), 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_another_key_gives_a_wrong_proof() -> None:
    """The RESPONSE is dropped, and CHALLENGE is repeated with the same nonce."""
    ours, theirs = host(), device(key=bytes(16))
    theirs.hear(bare(ours.data_to_send()), 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) == Malformed(Reason.NOT_AUTHENTIC, channel.WRONG_PROOF)
    assert not ours.is_open
    ours.pass_time(SECOND)
    assert ours.data_to_send() == VECTORS["CHALLENGE"]


# --- sessions


def test_the_same_challenge_has_the_same_answer() -> None:
    """The rule includes an established session: its counters do not restart."""
    ours, theirs = joined()
    theirs.hear(channel.CHALLENGE + HOST_NONCE, 0)
    assert theirs.data_to_send() == VECTORS["RESPONSE"]
    assert ours.hear(bare(VECTORS["RESPONSE"]), 0) is None
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_a_false_challenge_ends_nothing() -> None:
    """The session continues until a frame of the new session can be opened."""
    ours, theirs = joined()
    theirs.hear(channel.CHALLENGE + bytes(16), 0)
    dropped = ours.hear(bare(theirs.data_to_send()), 0)
    assert dropped == Malformed(Reason.NOT_AUTHENTIC, "RESPONSE without a CHALLENGE")
    theirs.say(HELLO, 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) == HELLO
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_unkeyed_begins_a_session_at_most_once_in_a_second() -> None:
    """The previous session continues until the first frame of the new session."""
    dice = Random(1)
    ours = HostEnd(AES, KEY, dice.randbytes, 0)
    theirs = DeviceEnd(AES, KEY, dice.randbytes)
    exchange(ours, theirs, 0)
    ours.say(channel.IDENTIFY, 0)
    exchange(ours, theirs, 0)
    theirs.say(HELLO, 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) == HELLO
    assert ours.hear(channel.UNKEYED, SECOND // 2) is None
    assert ours.data_to_send() == b""
    ours.pass_time(SECOND)
    challenge = ours.data_to_send()
    assert bare(challenge)[:4] == channel.CHALLENGE
    ours.hear(channel.UNKEYED, SECOND + 1)
    assert ours.data_to_send() == b""
    theirs.say(HELLO, SECOND)
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    theirs.hear(bare(challenge), SECOND)
    ours.hear(bare(theirs.data_to_send()), SECOND)
    old = ours.sessions[1]
    theirs.say(HELLO, SECOND)  # still in the previous session
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    assert theirs.hear(bare(ours.data_to_send()), SECOND) == (channel.IDENTIFY, True)
    theirs.say(HELLO, SECOND)
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    assert old not in ours.sessions


def exchange(ours: HostEnd, theirs: DeviceEnd, now_ns: int) -> None:
    """Pass frames until neither end has a frame to send."""
    while (up := theirs.data_to_send()) + (down := ours.data_to_send()):
        HostChannel(ours).hear(Chunk(up, Now(0, now_ns)))
        DeviceChannel(theirs).hear(Chunk(down, Now(0, now_ns)))


def test_a_frame_of_the_session_disproves_unkeyed() -> None:
    """A false UNKEYED has no effect while the device sends frames."""
    ours, theirs = joined()
    ours.hear(channel.UNKEYED, SECOND // 2)
    theirs.say(HELLO, 0)
    ours.hear(bare(theirs.data_to_send()), SECOND // 2)
    ours.pass_time(2 * SECOND)
    assert ours.data_to_send() == b""


def test_a_device_with_a_lost_unkeyed_is_challenged() -> None:
    """After 30 s without a frame, a session begins."""
    ours, _ = joined()
    ours.unheard = False
    ours.pass_time(30 * SECOND)
    assert bare(ours.data_to_send())[:4] == channel.CHALLENGE


def test_a_device_without_a_session_repeats_unkeyed() -> None:
    """Every 10 s instead of ALIVE; and at most once in a second in answer to dropped frames."""
    theirs = device()
    theirs.opened(0)
    sent = []
    for now_ns in range(0, 21 * SECOND, SECOND // 2):
        if now_ns == SECOND // 2:
            theirs.hear(bytes.fromhex("01 80 00 00"), now_ns)
        theirs.pass_time(now_ns)
        if theirs.data_to_send():
            sent.append(now_ns // SECOND)
    assert sent == [0, 10, 20]


def test_counters_are_renewed_and_never_repeated() -> None:
    """The host begins a session at half of the counters; after the last counter, an end seals no frame."""
    ours, theirs = joined()
    theirs.standing.ours.counter = RENEWED_FROM - 1  # type: ignore[union-attr]  # the session is established
    theirs.say(HELLO, SECOND)
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    assert bare(ours.data_to_send())[:4] == channel.CHALLENGE
    theirs.standing.ours.counter = LAST_COUNTER - 1  # type: ignore[union-attr]  # as above
    theirs.say(HELLO, SECOND)
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    theirs.say(HELLO, SECOND)
    assert theirs.data_to_send() == VECTORS["UNKEYED"]
    assert theirs.standing is None
    ours.sessions[0].ours.counter = LAST_COUNTER
    ours.say(channel.IDENTIFY, 2 * SECOND)
    assert not ours.is_open


def test_a_direction_seals_nothing_after_its_last_counter() -> None:
    """A repeated counter would reveal the text."""
    direction = ChannelDirection(AES, KEY, channel.OF_HOST)
    direction.counter = LAST_COUNTER - 1
    assert direction.seal(HELLO) is not None
    assert direction.seal(HELLO) is None


# --- both ends, and an attacker between them


class Middle:
    """A line with an attacker, and two ends that restart at any moment. The test advances the time."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.now = Now(1_700_000_000_000_000, 5 * SECOND)
        self.damage_rate = 0.5
        self.recorded: list[bytes] = []  # all frames that were on the line
        self.sent_up: set[bytes] = set()  # during the present sessions
        self.sent_down: set[bytes] = set()
        self.up: list[bytes] = []
        self.down: list[bytes] = []
        self.heard_up: list[bytes] = []
        self.heard_down: list[bytes] = []
        self.number = 0
        self.restart_host()
        self.restart_device()

    def restart_host(self) -> None:
        self.host = HostChannel(HostEnd(AES, KEY, self.dice.randbytes, self.now.mono_ns))
        self.up.clear()
        self.sent_up.clear()

    def restart_device(self) -> None:
        self.device = DeviceChannel(DeviceEnd(AES, KEY, self.dice.randbytes))
        self.device.end.opened(self.now.mono_ns)
        self.sent_down.clear()

    def say(self) -> None:
        """Both ends send a new body."""
        self.number += 1
        text = self.number.to_bytes(4, "big")
        for sent, head in ((self.sent_up, "03 02 00 00"), (self.sent_down, "03 81 00 00")):
            sent.add(bytes.fromhex(head) + text)
        self.device.say(seal(bytes.fromhex("03 02 00 00") + text), self.now)
        self.down += split(self.host.say(seal(bytes.fromhex("03 81 00 00") + text), self.now))

    def tick(self, seconds: float = 0.2) -> None:
        late = round(seconds * SECOND)
        self.now = Now(self.now.utc_us + late // 1000, self.now.mono_ns + late)
        self.host.end.pass_time(self.now.mono_ns)
        self.device.end.pass_time(self.now.mono_ns)
        self.up += split(self.device.end.data_to_send())
        self.down += split(self.host.end.data_to_send())
        up, down = self.transmitted(self.up), self.transmitted(self.down)
        self.up, self.down = [], []
        for chunk in up:
            for each in self.host.hear(Chunk(chunk, self.now)):
                if isinstance(each, Chunk):
                    self.take(each.data, self.sent_up, self.heard_up)
        for chunk in down:
            for frame, _ in self.device.hear(Chunk(chunk, self.now)):
                if frame != seal(channel.IDENTIFY) and frame:
                    self.take(frame, self.sent_down, self.heard_down)

    def take(self, data: bytes, sent: set[bytes], heard: list[bytes]) -> None:
        for frame in split(data):
            body = bare(frame)
            assert body in sent, f"{body.hex(' ')} was not sent in this session"
            assert body not in heard, f"{body.hex(' ')} was received before"
            heard.append(body)

    def transmitted(self, frames: list[bytes]) -> list[bytes]:
        """The frames that arrive, in their order, with the frames of the attacker."""
        self.recorded += frames
        if not self.damage_rate:
            return frames
        arrives = []
        for frame in frames:
            fate = self.dice.random() / self.damage_rate
            if fate < 0.3:
                continue
            if fate < 0.5:  # altered, with a correct CRC: only the channel can detect it
                body = bytearray(bare(frame))
                body[self.dice.randrange(len(body))] ^= 1 << self.dice.randrange(8)
                arrives.append(seal(bytes(body)))
            elif fate < 0.6:
                arrives += [frame, frame]
            else:
                arrives.append(frame)
        for _ in range(self.dice.randrange(3)):
            arrives.insert(self.dice.randrange(len(arrives) + 1), self.forged())
        if self.dice.random() < 0.2:
            self.dice.shuffle(arrives)
        return arrives

    def forged(self) -> bytes:
        """A frame made of recorded frames of both directions, or of random bytes."""
        made_up = [
            seal(channel.UNKEYED),
            seal(channel.CHALLENGE + self.dice.randbytes(16)),
            seal(channel.RESPONSE + self.dice.randbytes(32)),
            seal(channel.OF_DEVICE + self.dice.randbytes(30)),
            seal(bytes.fromhex("01 20 00 01") + self.dice.randbytes(25)),
            seal(bytes.fromhex("01 81 00 00 A1 B2 C3 D4 00 02")),
            self.dice.randbytes(9),
        ]
        return self.dice.choice(self.recorded if self.recorded and self.dice.random() < 0.6 else made_up)

    @property
    def are_together(self) -> bool:
        """Whether a new body arrives in both directions."""
        self.tick()
        self.say()
        self.tick()
        up, down = bytes.fromhex("03 02 00 00"), bytes.fromhex("03 81 00 00")
        text = self.number.to_bytes(4, "big")
        return up + text in self.heard_up and down + text in self.heard_down


def split(data: bytes) -> list[bytes]:
    return [each + b"\x7f" for each in data.split(b"\x7f") if each]


@pytest.mark.parametrize("seed", range(60))
def test_only_bodies_of_this_session_are_accepted(seed: int) -> None:
    """Each body is accepted once; both ends reconnect within 20 s on a good line, from any state."""
    middle = Middle(seed)
    dice = Random(f"moments {seed}")
    for _ in range(6):
        middle.damage_rate = dice.choice((0.2, 0.5, 1.0))
        for _ in range(dice.randrange(40)):
            if dice.random() < 0.03:
                middle.restart_host()
            if dice.random() < 0.03:
                middle.restart_device()
            if dice.random() < 0.5:
                middle.say()
            middle.tick(dice.choice((0.01, 0.2, 1.1)))
        middle.damage_rate = 0
        for _ in range(100):
            middle.tick()
        assert middle.are_together
    assert len(middle.heard_up) > 5
    assert len(middle.heard_down) > 5


# --- bytes with their moments


def test_plain_frames_have_the_moment_of_their_last_byte() -> None:
    """Noise between them is dropped in its place."""
    ours, theirs = joined()
    line = HostChannel(ours)
    theirs.say(HELLO, 0)
    one = theirs.data_to_send()
    theirs.say(HELLO, 0)
    two = theirs.data_to_send()
    first, second = Now(1, 1000), Now(2, 2000)
    assert line.hear(Chunk(one[:9], first)) == []
    found = line.hear(Chunk(one[9:] + b"noise" + two + two, second, late_ns=7))
    assert [each.data for each in found] == [seal(HELLO), b"noise", seal(HELLO), two]
    assert [each.reason.value for each in found if isinstance(each, Dropped)] == ["junk", "not-authentic"]
    assert [(each.at, each.late_ns) for each in found if isinstance(each, Chunk)] == [(second, 7)] * 2


def test_an_incomplete_frame_is_reported_when_the_line_closes() -> None:
    """The same rule applies to a line without a key."""
    ours, _ = joined()
    line = HostChannel(ours)
    assert line.hear(Chunk(b"\x7e\x03", Now(1, 1000))) == []
    assert [each.reason for each in line.close(Now(2, 2000))] == [Reason.TORN]
