"""The time from bytes to observation, for each family.

It is compared with the time of the family's line, or over USB with a hand-written decoder.

The input is the cards of a long shoe if LONG_SHOES has them, otherwise the family's captures. The measure is processor
time, because a shared core would distort the time of the clock.
"""

from collections.abc import Callable, Mapping
from re import DOTALL
from re import compile as compiled
from string import ascii_lowercase
from struct import Struct
from time import process_time
from typing import Final
from zlib import crc32

from benchmarks.bench import TIMES, interleaved, report
from firmware_protocols import angel_eye, open_shoe
from firmware_protocols.family import Line, Settings
from firmware_protocols.open_shoe import messages
from firmware_protocols.open_shoe.layout import FACES
from shoed.model.cards import Card
from shoed.model.moments import Now
from shoed.model.step import LinkUp, Received
from shoed.rig.family_kit.subject import Subject, received
from shoed.session import Session, SessionState
from shoed.session.families import DRIVERS, AnyDriver

SLOW_BAUD: Final = 9600
SHARE: Final = 0.002  # the allowed share of the line's time, up to SLOW_BAUD
FAST_SHARE: Final = 0.02
REPORTS: Final = 400
PACKET: Final = 64  # the bytes of one packet of a full-speed bulk endpoint
APART_NS: Final = 400_000_000  # a fast dealer; an earlier report may be a copy


def run() -> None:
    for name, driver in DRIVERS.items():
        chunks = LONG_SHOES[name]() if name in LONG_SHOES else captured(driver)
        session = driver.session(driver.family.settings(), allow_orders=False)
        for line in filter(None, (driver.family.line,)):  # a family may have none
            against_line(f"(b) {name}: bytes to observation / line time", session, chunks, line)
        if name in BY_HAND:
            against_hand(f"(b) {name} over USB: bytes to observation / by hand", session, chunks, *BY_HAND[name])


def against_line(name: str, session: Session[SessionState], chunks: list[bytes], line: Line) -> None:
    line_s = sum(map(len, chunks)) * line.seconds_per_byte
    best = min(observe(session, chunks) for _ in range(TIMES))
    report(name, best * 1e3, line_s * 1e3, SHARE if line.baud <= SLOW_BAUD else FAST_SHARE, unit="ms")


def against_hand(
    name: str, session: Session[SessionState], chunks: list[bytes], decode: Callable[[list[bytes]], int], bar: float
) -> None:
    whole = b"".join(chunks)
    packets = [whole[at : at + PACKET] for at in range(0, len(whole), PACKET)]

    def by_hand() -> float:
        began = process_time()
        found = decode(packets)
        taken = process_time() - began
        if found != REPORTS:
            raise RuntimeError(f"{found} cards of {REPORTS} reports")
        return taken

    hand_s, ours_s = interleaved(by_hand, lambda: observe(session, packets))
    report(name, ours_s * 1e3, hand_s * 1e3, bar, unit="ms")


def observe(session: Session[SessionState], chunks: list[bytes]) -> float:
    state, _ = session.step(session.begin(), LinkUp("bench"), Now(0, 0))
    observations = 0
    began = process_time()
    for number, chunk in enumerate(chunks):
        state, heard = session.step(state, Received(chunk), Now(0, number * APART_NS // 8))
        observations += len(heard.observations)
    taken = process_time() - began
    if observations < REPORTS:
        raise RuntimeError(f"{observations} observations of {REPORTS} reports")
    return taken


# --- inputs


def captured(driver: AnyDriver) -> list[bytes]:
    """Repeat all captures that the default settings can read."""
    settings: Settings = driver.family.settings()
    once = [
        each.data
        for played in Subject(driver).played
        if played.settings == settings
        for each in received(played.inputs)
    ]
    return once * (1 + REPORTS // len(once))


def angel_eye_frames() -> list[bytes]:
    return transmissions(angel_eye.AngelEyeSettings())


def transmissions(settings: angel_eye.AngelEyeSettings) -> list[bytes]:
    """Card reports of a long shoe, each in the shoe's number of copies."""
    sequence = "1"
    frames = []
    for number in range(REPORTS):
        face = angel_eye.AngelEyeFace(tuple(angel_eye.AngelEyeSuit)[number % 4], 1 + number % 13)
        card = angel_eye.CardInGame(sequence, angel_eye.Target.BURN, 0, face)
        frames += [angel_eye.build(card, settings)] * settings.copies
        sequence = angel_eye.FOLLOWING[sequence]
    return frames


def cards() -> list[str]:
    return [str([*Card][number % 52]) for number in range(REPORTS)]


def bee_tek_lines() -> list[bytes]:
    return [f"[Game]<Card:{card}>\r\n".encode() for card in cards()]


STREAM: Final = 0xA1B2C3D4


def open_shoe_frames() -> list[bytes]:
    """The identification, and the cards of a long shoe, one second apart and with odd lengths."""
    hello = messages.Hello(STREAM, messages.OpenShoeRole.SHOE, 1, 1, "", "", "", "")
    dealt = (
        messages.OpenShoeCard(
            FACES[number % len(FACES)], messages.OpenShoePlace.DEALT, 0, 125_000 + 77 * number, quality=97
        )
        for number in range(REPORTS)
    )
    reports = [messages.OpenShoeReport(2, at, STREAM, 1_000_077 * at, card) for at, card in enumerate(dealt, start=1)]
    return [open_shoe.build(messages.OpenShoeNotice(2, hello)), *map(open_shoe.build, reports)]


KEYS: Final = dict(zip(ascii_lowercase + "1234567890\n", range(0x04, 0x29), strict=True))  # the HID usages
SHIFT: Final = 0x02
HELD: Final = Struct("BxB5x")


def scanner_reports() -> list[bytes]:
    """A key goes down and up."""
    typed = "".join(f"{card}\n" for card in cards())
    return [
        HELD.pack(*held) for each in typed for held in ((SHIFT if each.isupper() else 0, KEYS[each.lower()]), (0, 0))
    ]


LONG_SHOES: Final[Mapping[str, Callable[[], list[bytes]]]] = {
    "angel-eye": angel_eye_frames,
    "bee-tek": bee_tek_lines,
    "open-shoe": open_shoe_frames,
    "scanner": scanner_reports,
}


# --- a minimal host for one kind of report, without a record: it does what the protocol requires of every host

CARD: Final = Struct(">BBHIQBBBIBBH")
CARD_TYPE: Final = 0x20
CHECK: Final = Struct(">I")
ACKNOWLEDGE: Final = Struct(">BBHIH")
ACKNOWLEDGE_TYPE: Final = 0x81
ESCAPED: Final = compiled(rb"\x7d(.)", DOTALL)
SPECIAL: Final = compiled(rb"[\x7d-\x7f]")


def open_shoe_by_hand(chunks: list[bytes]) -> int:
    """Verify the check, the stream, the number and the clock of each card; acknowledge the cards of each packet."""
    pending, found, due, clock, answers = b"", [], 1, 0, []
    for chunk in chunks:
        *bodies, pending = (pending + chunk).split(b"\x7f")
        before = due
        for each in bodies:
            body = each[each.find(b"\x7e") + 1 :]
            if b"\x7d" in body:
                body = ESCAPED.sub(lambda match: bytes((match[1][0] ^ 0x20,)), body)
            if CHECK.unpack(body[-4:])[0] == crc32(body[:-4]) and body[1] == CARD_TYPE:
                card = CARD.unpack(body[:-4])
                if card[2] == due and card[3] == STREAM and card[4] >= clock:
                    found.append(card)
                    due, clock = due % 65535 + 1, card[4]
        if due != before:
            answer = ACKNOWLEDGE.pack(2, ACKNOWLEDGE_TYPE, 0, STREAM, due - 1)
            answer += CHECK.pack(crc32(answer))
            answers.append(b"\x7e" + SPECIAL.sub(lambda match: bytes((0x7D, match[0][0] ^ 0x20)), answer) + b"\x7f")
    return len(found)


HELD_KEYS: Final = Struct("Bx6B")
WRITTEN: Final = {usage: text for text, usage in KEYS.items()}


def scanner_by_hand(chunks: list[bytes]) -> int:
    text, found, before = "", [], (0,) * 6
    for chunk in chunks:
        for modifiers, *held in HELD_KEYS.iter_unpack(chunk):
            for key in held:
                if key and key not in before:
                    written = WRITTEN[key]
                    if written == "\n":
                        found.append(text)
                        text = ""
                    else:
                        text += written.upper() if modifiers else written
            before = tuple(held)
    return len(found)


# The decoder, and the bar of the ratio. docs/performance.md gives the reason for the bar of the Open Shoe.
BY_HAND: Final[Mapping[str, tuple[Callable[[list[bytes]], int], float]]] = {
    "open-shoe": (open_shoe_by_hand, 20.0),
    "scanner": (scanner_by_hand, 15.0),
}
