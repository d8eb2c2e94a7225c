"""One Step of a table whose round has six irregularities, against a bar of 5 ms."""

from time import perf_counter
from typing import Final

from benchmarks.bench import TIMES, report
from shoed.model.cards import Card
from shoed.model.commands import AnyCommand, Author, CorrectCard, ReportIrregularity
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import CardSeen, Evidence, Place
from shoed.model.step import Commanded, Woken
from shoed.table import Table, TableSettings, TableState, fold

BAR_MS: Final = 5.0
SETTINGS: Final = TableSettings("super-six-plus", "tcp://127.0.0.1:1")
AUTHOR: Final = Author("bench", Role.SHIFT_MANAGER)
CARDS: Final = ((Place.PLAYER, 1, "QS"), (Place.BANKER, 1, "3H"), (Place.PLAYER, 2, "5D"), (Place.BANKER, 2, "JC"))
# Each irregularity leaves a question open, so all of them are assessed at each Step.
REPORTED: Final = (
    ReportIrregularity(kind=Kind.CARD_EXPOSED, at=1),
    ReportIrregularity(kind=Kind.FACE_UP, at=2),
    ReportIrregularity(kind=Kind.DEALING_ERROR, at=3),
    ReportIrregularity(kind=Kind.CARD_IN_EXCESS, at=4),
    ReportIrregularity(kind=Kind.DRAWN_TOGETHER, at=3, count=2),
    ReportIrregularity(kind=Kind.WRONG_SIDE, at=2),
)
LAST: Final = CorrectCard(index=1, card=Card.parse("KS"))


def step(state: TableState, incoming: CardSeen | AnyCommand, row: int) -> TableState:
    now = Now(row * 1_000_000, row * 1_000_000_000)
    table = Table(SETTINGS, state, row)
    if isinstance(incoming, CardSeen):
        return fold(table, [(incoming, ())], Woken(), (), now).state
    folded = fold(table, (), Commanded(incoming, AUTHOR, "bench"), (), now)
    if not folded.answers[0].accepted:
        raise ValueError(folded.answers[0].detail)
    return folded.state


def run() -> None:
    state = TableState()
    for row, (place, position, face) in enumerate(CARDS, 1):
        frame, at = Evidence("", 0, ""), Now(row * 1_000_000, row * 1_000_000_000)
        seen = CardSeen(at=at, frame=frame, place=place, position=position, card=Card.parse(face), code="")
        state = step(state, seen, row)
    for row, notice in enumerate(REPORTED, len(CARDS) + 1):
        state = step(state, notice, row)
    best = min(timed(state) for _ in range(10 * TIMES))
    report("(h) a step of a round with six irregularities / 5 ms", best * 1000, BAR_MS, 1.0, unit="ms")


def timed(state: TableState) -> float:
    began = perf_counter()
    step(state, LAST, len(CARDS) + len(REPORTED) + 1)
    return perf_counter() - began
