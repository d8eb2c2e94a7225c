"""A shoe or a shuffler that uses Open Shoe (version 1 or 2), written only from the page of the protocol.

foreign_open_shoe.py shoe|shuffler --version 1|2 (--node PATH | --listen PORT) [--script FILE] [--linger S]

`Device` is the firmware: it has no IO, and time is a parameter, in seconds. `Player` connects it to a node or a TCP
port, and to a script (FILE, or stdin) with one action per line. The player exits with 0 when all reports are
acknowledged:

card 8S player 1 (hands: player, banker, burnt, dealt; face ? is not read), cut, loaded SET, empty, lock, unlock
recognised SET, shuffling, shuffled, failed N, inventory SET [missing 8S ...], delivered SET
fault NAME, clear NAME, restart, pause MS (the script waits), settled (it waits until all is acknowledged)
silence MS (the device sends and receives nothing for this time; the script continues)
"""

import argparse
import math
import os
import random
import select
import signal
import socket
import struct
import sys
import termios
import time
import tty
import zlib
from dataclasses import dataclass, field

BEGIN, END, ESCAPE = b"\x7e", b"\x7f", b"\x7d"
ESCAPES = {bytes((byte,)): bytes((byte ^ 0x20,)) for byte in b"\x7d\x7e\x7f\x11\x13"}  # the last two are XON and XOFF
UNESCAPES = {escaped: byte for byte, escaped in ESCAPES.items()}
SHORTEST_BODY, LONGEST_BODY, LONGEST_TEXT, NUMBERS = 8, 512, 64, 65535  # numbers: 1 to 65535, then 1
WINDOW, MOST_ROOM, NEARLY_FULL = 32, 16384, 16
TORN_AFTER, REPEAT_AFTER, ALIVE_AFTER = 0.5, 0.5, 10.0
NAP = 0.2  # the interval of checks for a missing node
MOST_PENDING = 4096  # bytes without a reader; later bytes are lost, as on any wire
SERIAL_RATE = 115200 / 10  # bytes per second: with 8N1 a byte has ten bits

HELLO, ALIVE, DONE, IDENTIFY, ACK, RESEND, ORDER = 0x01, 0x02, 0x03, 0x80, 0x81, 0x82, 0x83
CARD, LOCK, FAULT, FAILED, INVENTORY, DELIVERED, CARDS = 0x20, 0x24, 0x30, 0x43, 0x44, 0x45, 0x46
PLAIN = {"shoe": {"cut": 0x21, "empty": 0x23}, "shuffler": {"shuffling": 0x41, "shuffled": 0x42}}
NAMED = {"shoe": {"loaded": 0x22}, "shuffler": {"recognised": 0x40}}  # reports with the name of a set
ORDER_LOCK, ORDER_UNLOCK, ORDER_CLEAR, RESULT_DONE, RESULT_NOT_NOW, RESULT_UNABLE = 1, 2, 3, 0, 1, 2
ROLES = {"shoe": 1, "shuffler": 2}
PLACES = {"dealt": 0, "player": 1, "banker": 2, "burnt": 3, "locked": 4, "error": 5}
POSITIONS = {"player": range(1, 4), "banker": range(1, 4), "burnt": range(1, 256)}  # 0 for other places
FAULTS = {
    "unreadable": 1,
    "jam": 2,
    "reverse-run": 3,
    "lid-open": 4,
    "door-open": 5,
    "sensor": 6,
    "overdraw": 7,
    "memory-full": 8,
}
BLOCKING = {FAULTS[name] for name in ("jam", "lid-open", "door-open", "sensor")}  # our choice: the page defines none
RANKS = {"A": 1, **{str(rank): rank for rank in range(2, 11)}, "J": 11, "Q": 12, "K": 13}
CARD_CODES = {rank + suit: place * 16 + RANKS[rank] for place, suit in enumerate("SHDC", 1) for rank in RANKS}
DECKS, MOST_CARDS, PASSAGE_US, QUALITY, QUALITY_UNKNOWN = 8, 255, 125_000, 97, 255  # MOST_CARDS: in a part of an order


def frame(version: int, kind: int, number: int, payload: bytes) -> bytes:
    """The bytes of one message on the line."""
    body = struct.pack(">BBH", version, kind, number) + payload
    body += struct.pack(">I", zlib.crc32(body))
    singles = (body[place : place + 1] for place in range(len(body)))
    return BEGIN + b"".join(ESCAPE + ESCAPES[byte] if byte in ESCAPES else byte for byte in singles) + END


def unframe(escaped: bytes) -> bytes | None:
    """The bytes between the marks, without escapes and CRC; None if they are damaged."""
    first, *rest = escaped.split(ESCAPE)
    if any(part[:1] not in UNESCAPES for part in rest) or any(byte in escaped for byte in (b"\x11", b"\x13")):
        return None
    body = first + b"".join(UNESCAPES[part[:1]] + part[1:] for part in rest)
    whole = SHORTEST_BODY <= len(body) <= LONGEST_BODY and zlib.crc32(body[:-4]) == int.from_bytes(body[-4:], "big")
    return body[:-4] if whole else None


def text(words: str) -> bytes:
    """A text in the form of a payload."""
    coded = words.encode()
    if len(coded) > LONGEST_TEXT or not words.isprintable():
        raise ValueError(f"not a printable text of at most {LONGEST_TEXT} bytes: {words!r}")
    return bytes((len(coded),)) + coded


@dataclass
class Memory:
    """The memory of a device, which is lost with its power."""

    stream: int
    switched_on: float
    clock_us: int = 0
    next_number: int = 1
    kept: list[bytes] = field(default_factory=list)  # frames, the oldest first
    sent: int = 0  # how many of them were sent; at most a window
    losing: bool = False  # a report was dropped: the stream accepts no new report
    locked: bool | None = None  # None: unchanged since power-up
    faults: set[int] = field(default_factory=set)
    counted: dict[str, list[int]] = field(default_factory=dict)  # the cards of each set in the shuffler

    @property
    def oldest(self) -> int:
        """The number of the oldest kept report; the next number, if none is kept."""
        return (self.next_number - 1 - len(self.kept)) % NUMBERS + 1


class Device:
    """The firmware: messages, received bytes and time return the bytes to send. Call `start` first."""

    def __init__(
        self,
        role: str,
        version: int,
        *,
        room: int = MOST_ROOM,
        rate: float = math.inf,
        identity: tuple[str, str, str, str] = ("Foreign", "Page One", "0001", "1.0"),
    ) -> None:
        self.role, self.version, self.identity = role, version, identity
        self.room, self.rate = room, rate  # 1,024 to 16,384 reports; the speed of the line in bytes per second
        self.memory = Memory(0, 0.0)
        self._raw, self._heard_at = b"", 0.0  # the bytes since the end of the last frame, and their moment
        self._out_by = self._repeat_at = 0.0  # when the last byte has left; when the kept reports are repeated

    @property
    def settled(self) -> bool:
        return not self.memory.kept

    @property
    def due(self) -> float:
        """When `tick` must be called next."""
        return self._out_by + ALIVE_AFTER if self.settled else max(self._repeat_at, self._out_by)

    def start(self, now: float, stream: int | None = None) -> bytes:
        """Power-up: the memory is empty."""
        self.memory = Memory(random.SystemRandom().getrandbits(32) if stream is None else stream, now)
        return self.opened(now)

    def opened(self, now: float) -> bytes:
        """A line opened: the incomplete frames of the previous line are dropped."""
        self._raw, self._out_by = b"", now
        return self._hello(now)

    def tick(self, now: float) -> bytes:
        """The frames that are due: the window again, or ALIVE."""
        if now < self.due:
            return b""
        alive = struct.pack(">IH", self.memory.stream, self.memory.next_number)
        return self._notice(ALIVE, alive, now) if self.settled else self._send(now, 0)

    def hear(self, data: bytes, now: float) -> bytes:
        """The answers to the bytes of a host. Another version is dropped, and any frame that is not a request."""
        *ended, self._raw = ((self._raw if now - self._heard_at < TORN_AFTER else b"") + data).split(END)
        self._heard_at = now if data else self._heard_at
        self._raw = self._raw[-2 * LONGEST_BODY - 1 :]  # a frame that is too long loses its beginning and becomes junk
        answers = b""
        for some in ended:
            _, begun, escaped = some.rpartition(BEGIN)
            body = unframe(escaped) if begun else None
            if body and body[0] in (1, self.version) and body[2:4] == b"\0\0":
                answers += self._answer(body[1], body[4:], now)
        return answers

    def _answer(self, kind: int, payload: bytes, now: float) -> bytes:
        if kind == IDENTIFY and not payload:
            return self._hello(now)
        if kind in (ACK, RESEND) and len(payload) == 6:
            stream, number = struct.unpack(">IH", payload)
            place = (number - self.memory.oldest) % NUMBERS
            kept = number > 0 and place < len(self.memory.kept)  # 0 is not a number: here it would count as 65535
            if stream != self.memory.stream or (kind == RESEND and not kept):
                return self._hello(now)
            return self._send(now, place) if kind == RESEND else self._forget(place + 1, now) if kept else b""
        if kind == ORDER and len(payload) == 2:
            out, result = self._obey(payload[0], payload[1], now)
            return out + self._notice(DONE, payload + bytes((result,)), now)
        return b""

    def _obey(self, order: int, number: int, now: float) -> tuple[bytes, int]:
        """The report of a change precedes the answer. An order that changes nothing causes no report."""
        if order == ORDER_CLEAR:
            return self._fault(number, raised=False, now=now), RESULT_DONE
        locked = order == ORDER_LOCK
        if order not in (ORDER_LOCK, ORDER_UNLOCK) or number or self.role != "shoe":
            return b"", RESULT_UNABLE
        if not locked and self.room - len(self.memory.kept) <= NEARLY_FULL:
            return b"", RESULT_NOT_NOW  # the device locked itself, and the reason is still present
        return b"" if self.memory.locked is locked else self._lock(locked=locked, now=now), RESULT_DONE

    def say(self, line: str, now: float) -> bytes:
        """Execute one line of a script; ValueError or KeyError if it is not possible."""
        match [self.role, *line.split()]:
            case [role, word] if word in PLAIN[role]:
                return self.report(PLAIN[role][word], b"", now)
            case [role, word, *name] if word in NAMED[role]:
                return self.report(NAMED[role][word], text(" ".join(name)), now)
            case ["shoe", "card", face, hand, *position] if len(position) <= 1:
                return self._card(face, hand, int(position[0]) if position else 0, now)
            case ["shoe", "lock" | "unlock" as move]:
                return self._lock(locked=move == "lock", now=now)
            case ["shuffler", "failed", reason]:
                return self.report(FAILED, bytes((int(reason),)), now)
            case ["shuffler", "inventory", *words]:
                return self._inventory(" ".join(words), now)
            case ["shuffler", "delivered", *name]:
                return self._delivered(" ".join(name), now)
            case [_, "fault" | "clear" as change, name]:
                code = FAULTS[name] if name in FAULTS else int(name)
                return self._fault(code, raised=change == "fault", now=now)
            case [_, "restart"]:
                return self.start(now)
            case _:
                raise ValueError(f"a {self.role} cannot execute: {line}")

    def _card(self, face: str, hand: str, position: int, now: float) -> bytes:
        """A card whose trailing edge passes now. A locked or blocked shoe names no hand, whatever the script states."""
        if hand not in PLACES or position not in POSITIONS.get(hand, range(1)) or face not in {"?", *CARD_CODES}:
            raise ValueError(f"not a card, or not a place for it: {face} {hand} {position}")
        if self.memory.locked or self.memory.faults & BLOCKING:
            hand, position = "locked" if self.memory.locked else "error", 0
        payload = struct.pack(">BBBIB", CARD_CODES.get(face, 0), PLACES[hand], position, PASSAGE_US, 0)
        payload += struct.pack(">BH", QUALITY_UNKNOWN if face == "?" else QUALITY, 0) if self.version == 2 else b""
        return self.report(CARD, payload, now, since_us=PASSAGE_US)

    def _inventory(self, words: str, now: float) -> bytes:
        set_id, _, missing = (part.strip() for part in words.partition("missing"))
        counts = dict.fromkeys(CARD_CODES.values(), DECKS)  # in the order of the page
        for face in missing.split():
            counts[CARD_CODES[face]] -= 1
        self.memory.counted[set_id] = [code for code, count in counts.items() for _ in range(count)]
        return self.report(INVENTORY, text(set_id) + bytes(counts.values()) + b"\0", now)

    def _delivered(self, set_id: str, now: float) -> bytes:
        """A set is removed. In version 2 its order precedes DELIVERED, if the set was counted."""
        cards, out = self.memory.counted.pop(set_id, []), b""
        random.shuffle(cards)
        for first in range(0, len(cards) if self.version == 2 else 0, MOST_CARDS):
            part = bytes(cards[first : first + MOST_CARDS])
            out += self.report(CARDS, text(set_id) + struct.pack(">HB", first + 1, len(part)) + part, now)
        return out + self.report(DELIVERED, text(set_id), now)

    def report(self, kind: int, payload: bytes, now: float, *, since_us: int = 0) -> bytes:
        """Keep a report of a fact that began `since_us` ago, and send it if the window has room."""
        memory = self.memory
        memory.losing = memory.losing or len(memory.kept) >= self.room
        if memory.losing:  # until all is acknowledged: a gap inside a stream would not be visible
            return b""
        # A card may begin before a report that was made during its passage; then the clock does not go back.
        memory.clock_us = max(memory.clock_us, round((now - memory.switched_on) * 1e6) - since_us)
        payload = struct.pack(">IQ", memory.stream, memory.clock_us) + payload
        memory.kept.append(frame(self.version, kind, memory.next_number, payload))
        memory.next_number = memory.next_number % NUMBERS + 1
        out = self._send(now)
        if self.role == "shoe" and not memory.locked and self.room - len(memory.kept) == NEARLY_FULL:
            out += self._lock(locked=True, now=now)
        return out

    def _lock(self, *, locked: bool, now: float) -> bytes:
        self.memory.locked = locked
        return self.report(LOCK, bytes((locked,)), now)

    def _fault(self, code: int, *, raised: bool, now: float) -> bytes:
        """An active fault is not raised again, and a fault that is not active is not cleared."""
        if raised is (code in self.memory.faults):
            return b""
        self.memory.faults ^= {code}
        return self.report(FAULT, bytes((code, raised, raised and code in BLOCKING)), now)

    def _forget(self, count: int, now: float) -> bytes:
        memory = self.memory
        memory.kept, memory.sent = memory.kept[count:], max(0, memory.sent - count)
        self._repeat_at = now + REPEAT_AFTER
        if memory.kept or not memory.losing:
            return self._send(now)
        memory.stream, memory.next_number, memory.losing = random.SystemRandom().getrandbits(32), 1, False
        memory.faults.discard(FAULTS["memory-full"])
        full = FAULTS["memory-full"]
        out = self._hello(now) + b"".join(self._fault(full, raised=raised, now=now) for raised in (True, False))
        if self.role == "shoe" and memory.locked is not None:  # the changes of state in the meantime were lost, too
            out += self._lock(locked=memory.locked, now=now)
        standing, memory.faults = sorted(memory.faults), set()
        return out + b"".join(self._fault(code, raised=True, now=now) for code in standing)

    def _send(self, now: float, again_from: int | None = None) -> bytes:
        """Send the window again from this place on, or its unsent part; later reports wait."""
        kept, place = self.memory.kept, self.memory.sent if again_from is None else again_from
        out = self._timed(b"".join(kept[place:WINDOW]), now)
        if out and (
            place == 0 or again_from is not None
        ):  # a newer report does not delay the repetition of an older one
            self._repeat_at = self._out_by + REPEAT_AFTER
        self.memory.sent = min(WINDOW, len(kept))
        return out

    def _hello(self, now: float) -> bytes:
        numbers = (self.memory.stream, ROLES[self.role], self.memory.next_number, self.memory.oldest)
        return self._notice(HELLO, struct.pack(">IBHH", *numbers) + b"".join(map(text, self.identity)), now)

    def _notice(self, kind: int, payload: bytes, now: float) -> bytes:
        return self._timed(frame(self.version, kind, 0, payload), now)

    def _timed(self, data: bytes, now: float) -> bytes:
        self._out_by = max(self._out_by, now) + len(data) / self.rate if data else self._out_by
        return data


class Player:
    """Plays a script on a device, over a node or a TCP port (one connection at a time). Without one, bytes are lost."""

    def __init__(self, device: Device, node: str | None, port: int, script: int) -> None:
        self._device, self._node = device, node or ""
        self._door = None if node else socket.create_server(("127.0.0.1", port), backlog=1)
        self._line: int | None = None
        self._script: int | None = script  # None: it was read to its end
        self._pending, self._text = bytearray(), b""  # bytes that are not written yet; text that is not played yet
        self._paused_until, self._silent_until, self._settling = 0.0, 0.0, False
        if self._door:
            self._door.setblocking(False)  # noqa: FBT003  # the interface of the socket module
            sys.stderr.write(f"listening on 127.0.0.1:{self._door.getsockname()[1]}\n")

    def play(self, linger: float) -> None:
        """Run until the script has ended, all is acknowledged, and the linger time is over."""
        leave_at = math.inf
        self._device.start(time.monotonic())  # the line, which opens next, causes HELLO
        while (now := time.monotonic()) < leave_at or not self._device.settled:
            if self._line is None and self._connect():
                self._queue(self._device.opened(now))
            self._queue(self._device.tick(now))
            self._settling = self._settling and not self._device.settled
            waiting = self._settling or now < self._paused_until
            line, ended, rest = self._text.partition(b"\n")
            if ended and not waiting:
                self._text = rest
                self._perform(line.decode().partition("#")[0].strip(), now)
            elif not waiting and self._script is None and self._device.settled:
                leave_at = min(leave_at, now + linger)
            moments = (self._device.due, self._paused_until, leave_at, now + NAP)
            self._wait(0.0 if ended and not waiting else min(moment - now for moment in moments if moment > now))

    def _perform(self, line: str, now: float) -> None:
        match line.split():
            case ["pause", ms]:
                self._paused_until = now + int(ms) / 1000
            case ["silence", ms]:
                self._silent_until = now + int(ms) / 1000
                self._pending.clear()  # the cable is out: bytes on their way are lost
            case ["settled"]:
                self._settling = True
            case []:
                pass
            case _:
                self._queue(self._device.say(line, now))

    def _connect(self) -> bool:
        try:
            if self._door:
                self._line = self._door.accept()[0].detach()
                os.set_blocking(self._line, False)
            else:
                self._line = os.open(self._node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                tty.setraw(self._line)
                mode = termios.tcgetattr(self._line)
                mode[0], mode[2] = 0, termios.CS8 | termios.CLOCAL | termios.CREAD  # 8N1, no flow control
                mode[4] = mode[5] = termios.B115200
                termios.tcsetattr(self._line, termios.TCSANOW, mode)
        except (OSError, termios.error):
            self._hang_up()
        return self._line is not None

    def _hang_up(self) -> None:
        if self._line is not None:
            os.close(self._line)
        self._line, self._pending = None, bytearray()

    def _queue(self, data: bytes) -> None:
        heard = self._line is not None and time.monotonic() >= self._silent_until
        self._pending += data if heard and len(self._pending) < MOST_PENDING else b""

    def _wait(self, seconds: float) -> None:
        """Wait until bytes arrive, can be written, or the time is over."""
        line, door = self._line, self._door if self._line is None else None
        readable = [each for each in (line, door, self._script) if each is not None]
        ready, free, _ = select.select(readable, [line] if line is not None and self._pending else [], [], seconds)
        if self._script is not None and self._script in ready:
            read = os.read(self._script, 65536)
            self._text, self._script = self._text + (read or b"\n"), self._script if read else None
        try:
            if line is not None and line in free:
                del self._pending[: os.write(line, self._pending)]
            if line is not None and line in ready:
                incoming, now = os.read(line, 4096), time.monotonic()
                self._queue(self._device.hear(incoming, now) if now >= self._silent_until else b"")
                if not incoming:
                    self._hang_up()
        except OSError as error:  # EIO of a pty without its other end, ECONNRESET
            if not isinstance(error, BlockingIOError):
                self._hang_up()


def main() -> None:
    """Read the command line and play the script."""
    parser = argparse.ArgumentParser(description="plays an Open Shoe device")
    parser.add_argument("role", choices=tuple(ROLES))
    parser.add_argument("--version", type=int, choices=(1, 2), required=True, help="of the firmware")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--node", metavar="PATH", help="a serial port or a pty")
    way.add_argument("--listen", metavar="PORT", type=int, help="a TCP port of this machine; 0: any free one")
    parser.add_argument("--script", metavar="FILE", help="the script; default: stdin")
    parser.add_argument("--linger", metavar="S", type=float, default=0.0, help="stay for this number of seconds")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        device = Device(given.role, given.version, rate=SERIAL_RATE if given.node else math.inf)
        script = os.open(given.script, os.O_RDONLY) if given.script else sys.stdin.fileno()
        Player(device, given.node, given.listen or 0, script).play(given.linger)
    except (ValueError, KeyError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
