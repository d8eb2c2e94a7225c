"""The secure channel of Open Shoe: the page's vectors, and both ends between a worn line and an attacker on it."""

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
    DeviceEnd,
    Direction,
    HostEnd,
    ccm_nonce,
    keys_of,
)
from firmware_protocols.open_shoe.codec import seal, unwrap
from firmware_protocols.open_shoe.layout import BODY_MAX
from shoed.now import Chunk, Now
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
    """The bytes of a row of the page, and those that it says are inside."""
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
    """Both ends, in a session that stands."""
    ours, theirs = host(), device()
    theirs.hear(bare(ours.data_to_send()), 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) is None
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, True)
    return ours, theirs


# --- the page


def test_the_page_has_all_its_vectors() -> None:
    """None is passed over here."""
    assert len(VECTORS) == 9


def test_the_cipher_makes_the_vectors_of_the_page() -> None:
    """Keys and proof, and each sealed frame both ways."""
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


def test_both_ends_say_the_frames_of_the_page() -> None:
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
    """492 bytes inside are 512 outside, with the check."""
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
    """With a key the host takes nothing that is outside the channel."""
    ours, _ = joined()
    dropped = ours.hear(bytes((version, 0x20, 0, 1)) + bytes(25), 0)
    assert isinstance(dropped, Malformed)
    assert dropped.reason is Reason.UNSEALED


def test_a_frame_that_was_opened_is_not_opened_again() -> None:
    """Nor is one that was sealed before it."""
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


def test_every_altered_bit_is_noticed() -> None:
    """Of the head, the counter, the text and the tag."""
    ours, theirs = joined()
    theirs.say(HELLO, 0)
    outer = bare(theirs.data_to_send())
    for bit in range(8 * len(outer)):
        altered = bytearray(outer)
        altered[bit // 8] ^= 1 << bit % 8
        assert isinstance(ours.hear(bytes(altered), 0), Malformed)
    assert ours.hear(outer, 0) == HELLO


def test_a_reflected_frame_is_not_of_the_device() -> None:
    """Neither as it is, nor under the type of the other end."""
    ours, _ = joined()
    ours.say(channel.IDENTIFY, 0)
    outer = bare(ours.data_to_send())
    dropped = ours.hear(outer, 0), ours.hear(channel.OF_DEVICE + outer[4:], 0)
    assert [each.reason for each in dropped if isinstance(each, Malformed)] == [Reason.ECHO, Reason.NOT_AUTHENTIC]


@pytest.mark.parametrize("inside", ["01 01 00 00", "02 01 00 00", "04 01 00 00", "03 12 00 00", "03"])
def test_only_version_3_is_inside_and_not_the_channel_itself(inside: str) -> None:
    """A device that seals anything else is not believed."""
    ours, theirs = joined()
    theirs.say(bytes.fromhex(inside), 0)
    assert isinstance(ours.hear(bare(theirs.data_to_send()), 0), Malformed)
    ours.sessions[0].ours.counter, outer = 1, ours.sessions[0].ours.seal(bytes.fromhex(inside))
    assert outer is not None
    assert theirs.hear(outer, 0) == (None, False)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_request_of_any_version_is_sealed_in_version_3(version: int) -> None:
    """A host that has not heard the device yet speaks version 1."""
    ours, theirs = joined()
    ours.say(bytes((version, 0x80, 0, 0)), 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_a_wrong_key_gives_a_wrong_proof() -> None:
    """The RESPONSE is dropped, and CHALLENGE is said again with the same nonce."""
    ours, theirs = host(), device(key=bytes(16))
    theirs.hear(bare(ours.data_to_send()), 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) == Malformed(Reason.NOT_AUTHENTIC, channel.WRONG_PROOF)
    assert not ours.is_open
    ours.pass_time(SECOND)
    assert ours.data_to_send() == VECTORS["CHALLENGE"]


# --- sessions


def test_the_same_challenge_has_the_same_answer() -> None:
    """Also once its session stands: its counters do not begin again."""
    ours, theirs = joined()
    theirs.hear(channel.CHALLENGE + HOST_NONCE, 0)
    assert theirs.data_to_send() == VECTORS["RESPONSE"]
    assert ours.hear(bare(VECTORS["RESPONSE"]), 0) is None
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_a_false_challenge_ends_nothing() -> None:
    """The session goes on until a frame of the new one can be opened."""
    ours, theirs = joined()
    theirs.hear(channel.CHALLENGE + bytes(16), 0)
    dropped = ours.hear(bare(theirs.data_to_send()), 0)
    assert dropped == Malformed(Reason.NOT_AUTHENTIC, "RESPONSE to no CHALLENGE")
    theirs.say(HELLO, 0)
    assert ours.hear(bare(theirs.data_to_send()), 0) == HELLO
    ours.say(channel.IDENTIFY, 0)
    assert theirs.hear(bare(ours.data_to_send()), 0) == (channel.IDENTIFY, False)


def test_unkeyed_begins_a_session_at_most_once_in_a_second() -> None:
    """The session before goes on until the first frame of the new one."""
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
    theirs.say(HELLO, SECOND)  # still in the old one
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    assert theirs.hear(bare(ours.data_to_send()), SECOND) == (channel.IDENTIFY, True)
    theirs.say(HELLO, SECOND)
    assert ours.hear(bare(theirs.data_to_send()), SECOND) == HELLO
    assert old not in ours.sessions


def exchange(ours: HostEnd, theirs: DeviceEnd, now_ns: int) -> None:
    """Until neither end has anything to say."""
    while (up := theirs.data_to_send()) + (down := ours.data_to_send()):
        HostChannel(ours).hear(Chunk(up, Now(0, now_ns)))
        DeviceChannel(theirs).hear(Chunk(down, Now(0, now_ns)))


def test_a_frame_of_the_session_disproves_unkeyed() -> None:
    """A false UNKEYED costs nothing while the device speaks."""
    ours, theirs = joined()
    ours.hear(channel.UNKEYED, SECOND // 2)
    theirs.say(HELLO, 0)
    ours.hear(bare(theirs.data_to_send()), SECOND // 2)
    ours.pass_time(2 * SECOND)
    assert ours.data_to_send() == b""


def test_a_device_that_restarted_unheard_is_challenged() -> None:
    """Its UNKEYED was lost: after 30 s without a frame a session begins."""
    ours, _ = joined()
    ours.unheard = False
    ours.pass_time(30 * SECOND)
    assert bare(ours.data_to_send())[:4] == channel.CHALLENGE


def test_a_device_without_a_session_says_so_again_and_again() -> None:
    """Every 10 s, in the place of ALIVE; and at most once in a second to frames that it drops."""
    theirs = device()
    theirs.opened(0)
    said = []
    for now_ns in range(0, 21 * SECOND, SECOND // 2):
        if now_ns == SECOND // 2:
            theirs.hear(bytes.fromhex("01 80 00 00"), now_ns)
        theirs.pass_time(now_ns)
        if theirs.data_to_send():
            said.append(now_ns // SECOND)
    assert said == [0, 10, 20]


def test_counters_are_renewed_and_never_repeated() -> None:
    """The host begins a session halfway; an end whose counters are used up says nothing more in it."""
    ours, theirs = joined()
    theirs.standing.ours.counter = RENEWED_FROM - 1  # type: ignore[union-attr]  # it stands
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


def test_a_direction_says_nothing_after_its_last_counter() -> None:
    """A counter that comes twice would betray the text."""
    direction = Direction(AES, KEY, channel.OF_HOST)
    direction.counter = LAST_COUNTER - 1
    assert direction.seal(HELLO) is not None
    assert direction.seal(HELLO) is None


# --- both ends, and whoever is between them


class Middle:
    """A line with an attacker on it, and two ends that restart at any moment. Time is advanced by hand."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.now = Now(1_700_000_000_000_000, 5 * SECOND)
        self.worn = 0.5
        self.recorded: list[bytes] = []  # every frame that was ever on the line
        self.said_up: set[bytes] = set()  # in the life of the present sessions
        self.said_down: set[bytes] = set()
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
        self.said_up.clear()

    def restart_device(self) -> None:
        self.device = DeviceChannel(DeviceEnd(AES, KEY, self.dice.randbytes))
        self.device.end.opened(self.now.mono_ns)
        self.said_down.clear()

    def say(self) -> None:
        """Both ends say something that was never said before."""
        self.number += 1
        text = self.number.to_bytes(4, "big")
        for said, head in ((self.said_up, "03 02 00 00"), (self.said_down, "03 81 00 00")):
            said.add(bytes.fromhex(head) + text)
        self.device.say(seal(bytes.fromhex("03 02 00 00") + text), self.now)
        self.down += split(self.host.say(seal(bytes.fromhex("03 81 00 00") + text), self.now))

    def tick(self, seconds: float = 0.2) -> None:
        late = round(seconds * SECOND)
        self.now = Now(self.now.utc_us + late // 1000, self.now.mono_ns + late)
        self.host.end.pass_time(self.now.mono_ns)
        self.device.end.pass_time(self.now.mono_ns)
        self.up += split(self.device.end.data_to_send())
        self.down += split(self.host.end.data_to_send())
        up, down = self.carried(self.up), self.carried(self.down)
        self.up, self.down = [], []
        for chunk in up:
            for each in self.host.hear(Chunk(chunk, self.now)):
                if isinstance(each, Chunk):
                    self.take(each.data, self.said_up, self.heard_up)
        for chunk in down:
            for frame, _ in self.device.hear(Chunk(chunk, self.now)):
                if frame != seal(channel.IDENTIFY) and frame:
                    self.take(frame, self.said_down, self.heard_down)

    def take(self, data: bytes, said: set[bytes], heard: list[bytes]) -> None:
        for frame in split(data):
            body = bare(frame)
            assert body in said, f"{body.hex(' ')} was not said in this session"
            assert body not in heard, f"{body.hex(' ')} was heard before"
            heard.append(body)

    def carried(self, frames: list[bytes]) -> list[bytes]:
        """What of them arrives, in which order, and what else."""
        self.recorded += frames
        if not self.worn:
            return frames
        arrives = []
        for frame in frames:
            fate = self.dice.random() / self.worn
            if fate < 0.3:  # lost
                continue
            if fate < 0.5:  # altered, with a right check
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
        """From recorded frames of both directions, or made up."""
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
        """Whether what is said now is heard, both ways."""
        self.tick()
        self.say()
        self.tick()
        up, down = bytes.fromhex("03 02 00 00"), bytes.fromhex("03 81 00 00")
        text = self.number.to_bytes(4, "big")
        return up + text in self.heard_up and down + text in self.heard_down


def split(data: bytes) -> list[bytes]:
    return [each + b"\x7f" for each in data.split(b"\x7f") if each]


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_accepted_that_was_not_said_in_this_session(seed: int) -> None:
    """Nor twice; and both ends find together again within 20 s once the line is whole, wherever they stood."""
    middle = Middle(seed)
    dice = Random(f"moments {seed}")
    for _ in range(6):
        middle.worn = dice.choice((0.2, 0.5, 1.0))
        for _ in range(dice.randrange(40)):
            if dice.random() < 0.03:
                middle.restart_host()
            if dice.random() < 0.03:
                middle.restart_device()
            if dice.random() < 0.5:
                middle.say()
            middle.tick(dice.choice((0.01, 0.2, 1.1)))
        middle.worn = 0
        for _ in range(100):
            middle.tick()
        assert middle.are_together
    assert len(middle.heard_up) > 5
    assert len(middle.heard_down) > 5


# --- bytes with their moments


def test_plain_frames_have_the_moment_of_their_last_byte() -> None:
    """And noise between them comes out in its place."""
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


def test_what_is_pending_when_the_line_closes_is_named() -> None:
    """As on a line without a key."""
    ours, _ = joined()
    line = HostChannel(ours)
    assert line.hear(Chunk(b"\x7e\x03", Now(1, 1000))) == []
    assert [each.reason for each in line.close(Now(2, 2000))] == [Reason.TORN]
