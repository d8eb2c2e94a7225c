"""Bytes to observation, against the time that the shoe's own line needs to carry the bytes."""

from time import perf_counter
from typing import Final

from benchmarks.bench import TIMES, report
from firmware_protocols.angel_eye import (
    FOLLOWING,
    AngelEyeSettings,
    CardInGame,
    Face,
    Suit,
    Target,
    build,
)
from firmware_protocols.family import Line
from shoed.now import Now
from shoed.session.angel_eye import AngelEyeSession
from shoed.step import LinkUp, Received

SHARE: Final = 0.002  # of the line's time
REPORTS: Final = 400


def transmissions(settings: AngelEyeSettings) -> list[bytes]:
    """Card reports of a long shoe, each as often as the shoe says it."""
    sequence = "1"
    frames = []
    for number in range(REPORTS):
        face = Face(tuple(Suit)[number % 4], 1 + number % 13)
        frames += [build(CardInGame(sequence, Target.BURN, 0, face), settings)] * settings.copies
        sequence = FOLLOWING[sequence]
    return frames


def run() -> None:
    settings = AngelEyeSettings()
    session = AngelEyeSession(settings, allow_orders=False)
    frames = transmissions(settings)
    line_s = sum(map(len, frames)) * Line(4800).seconds_per_byte
    best = min(observe(session, frames) for _ in range(TIMES))
    report("(b) angel-eye: bytes to observation / line time", best * 1e3, line_s * 1e3, SHARE, unit="ms")


def observe(session: AngelEyeSession, frames: list[bytes]) -> float:
    state, _ = session.step(session.begin(), LinkUp("bench"), Now(0, 0))
    began = perf_counter()
    for number, frame in enumerate(frames):
        state, _ = session.step(state, Received(frame), Now(0, number * 17_000_000))
    return perf_counter() - began
