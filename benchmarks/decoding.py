"""Bytes to observation, against the time that the device's own line needs, or against a decoder written by hand."""

from re import DOTALL
from re import compile as compiled
from struct import Struct
from time import perf_counter
from typing import Final
from zlib import crc32

from benchmarks.bench import TIMES, interleaved, report
from firmware_protocols import FAMILIES, angel_eye, open_shoe
from firmware_protocols.open_shoe import messages
from firmware_protocols.open_shoe.layout import FACES
from shoed.now import Now
from shoed.session import S, Session
from shoed.session.angel_eye import AngelEyeSession
from shoed.session.open_shoe import OpenShoeSession
from shoed.step import LinkUp, Received

SHARE: Final = 0.002  # of the line's time
FAST_SHARE: Final = 0.02  # above 9,600 baud
TIMES_BY_HAND: Final = 15
REPORTS: Final = 400
PACKET: Final = 64  # bytes that a full-speed bulk endpoint gives at once
STREAM: Final = 0xA1B2C3D4


def transmissions(settings: angel_eye.AngelEyeSettings) -> list[bytes]:
    """Card reports of a long shoe, each as often as the shoe says it."""
    sequence = "1"
    frames = []
    for number in range(REPORTS):
        face = angel_eye.Face(tuple(angel_eye.Suit)[number % 4], 1 + number % 13)
        card = angel_eye.CardInGame(sequence, angel_eye.Target.BURN, 0, face)
        frames += [angel_eye.build(card, settings)] * settings.copies
        sequence = angel_eye.FOLLOWING[sequence]
    return frames


def open_shoe_frames() -> list[bytes]:
    """Who it is, and the cards of a long shoe, a second apart and of odd lengths."""
    hello = messages.Hello(STREAM, messages.Role.SHOE, 1, 1, "", "", "", "")
    cards = (
        messages.Card(FACES[number % len(FACES)], messages.Place.DEALT, 0, 125_000 + 77 * number, quality=97)
        for number in range(REPORTS)
    )
    reports = [messages.Report(2, at, STREAM, 1_000_077 * at, card) for at, card in enumerate(cards, start=1)]
    return [open_shoe.build(messages.Notice(2, hello)), *map(open_shoe.build, reports)]


def run() -> None:
    settings = angel_eye.AngelEyeSettings()
    against_line("angel-eye", AngelEyeSession(settings, allow_orders=False), transmissions(settings), SHARE)
    session, frames = OpenShoeSession(open_shoe.OpenShoeSettings(), allow_orders=False), open_shoe_frames()
    against_line("open-shoe", session, frames, FAST_SHARE)
    whole = b"".join(frames)
    packets = [whole[at : at + PACKET] for at in range(0, len(whole), PACKET)]
    by_hand, ours = interleaved(lambda: decode_by_hand(packets), lambda: observe(session, packets))
    name = "(b) open-shoe over USB: bytes to observation / by hand"
    report(name, ours * 1e3, by_hand * 1e3, TIMES_BY_HAND, unit="ms")


def against_line(name: str, session: Session[S], frames: list[bytes], bar: float) -> None:
    line = FAMILIES[name].line
    if line is None:
        raise RuntimeError(f"{name} has no line to be held against")
    line_s = sum(map(len, frames)) * line.seconds_per_byte
    best = min(observe(session, frames) for _ in range(TIMES))
    report(f"(b) {name}: bytes to observation / line time", best * 1e3, line_s * 1e3, bar, unit="ms")


def observe(session: Session[S], chunks: list[bytes]) -> float:
    state, _ = session.step(session.begin(), LinkUp("bench"), Now(0, 0))
    observations = 0
    began = perf_counter()
    for number, chunk in enumerate(chunks):
        state, heard = session.step(state, Received(chunk), Now(0, number * 17_000_000))
        observations += len(heard.observations)
    taken = perf_counter() - began
    if observations < REPORTS:
        raise RuntimeError(f"{observations} observations of {REPORTS} reports")
    return taken


CARD: Final = Struct(">BBHIQBBBIBBH")
CARD_TYPE: Final = 0x20
CHECK: Final = Struct(">I")
ESCAPED: Final = compiled(rb"\x7d(.)", DOTALL)


def decode_by_hand(chunks: list[bytes]) -> float:
    """What somebody would write who has this one kind of report to read, and nothing to record."""
    pending, cards = b"", []
    began = perf_counter()
    for chunk in chunks:
        *bodies, pending = (pending + chunk).split(b"\x7f")
        for each in bodies:
            body = each[each.find(b"\x7e") + 1 :]
            if b"\x7d" in body:
                body = ESCAPED.sub(lambda match: bytes((match[1][0] ^ 0x20,)), body)
            if CHECK.unpack(body[-4:])[0] == crc32(body[:-4]) and body[1] == CARD_TYPE:
                cards.append(CARD.unpack(body[:-4]))
    taken = perf_counter() - began
    if len(cards) != REPORTS:
        raise RuntimeError(f"{len(cards)} cards of {REPORTS} reports")
    return taken
