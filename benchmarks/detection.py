"""The reliability of the detection of simultaneous draws and unshuffled sets: the watch against the physical model.

`./dev bench` prints the rates and compares them with their bars; docs/generate.py writes the same tables.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from enum import Enum
from functools import cache
from random import Random
from typing import Final, NamedTuple, TypeAlias

from docs.protocol_page import table
from shoed.model.cards import Card
from shoed.model.findings import DrawnTogether
from shoed.model.moments import Now
from shoed.model.observations import CardSeen, Edges, Evidence, FaultRaised, Place
from shoed.rig.shuffling import cut, new_decks, riffled
from shoed.rig.window import Draw, EdgeReader, Physics, ReaderReport, SerialReader, deal
from shoed.watch import WatchSettings
from shoed.watch import spacing as detector
from shoed.watch.counts import FACES
from shoed.watch.shuffle import BEGINNING, FALSE_ALARMS, bet, capital

DRAWS: Final = 100_000
AROUND: Final = 1_200  # at each point other than the nominal one
ANYWHERE: Final = 200  # points at which all constants are changed together
AT_EACH: Final = 16
TOGETHER: Final = 0.25  # the share of draws of two cards
SEED: Final = 4
SETTINGS: Final = WatchSettings(min_draw_gap_ms=250)  # the default configuration
FALSE_ALARM_BAR: Final = 1e-4

NOWHERE: Final = Evidence("", 0, "1")
CARDS: Final = (Card.S8, Card.H3)

Reader: TypeAlias = Callable[[Physics, Random], EdgeReader | SerialReader]
READERS: Final[Mapping[str, Reader]] = {"with edges": EdgeReader, "without edges": SerialReader}


class Fate(Enum):
    """The result of a draw of two cards, or of one card."""

    IN_ORDER = "together, in order"
    WRONG = "together, in a wrong order"
    NO_ORDER = "together, in no order"
    FAULT = "a fault alone"
    AS_ONE = "as one clean draw"
    AS_TWO = "as two clean draws"
    ALARM = "false alarms"
    QUIET = "quiet"


OF_ONE: Final = (Fate.ALARM, Fate.QUIET)
OF_TWO: Final = tuple(fate for fate in Fate if fate not in OF_ONE)


class Row(NamedTuple):
    point: str
    draws: int
    fates: Mapping[str, Counter[Fate]]  # by reader

    def rate(self, reader: str, fate: Fate) -> float:
        counted = self.fates[reader]
        return counted[fate] / sum(counted[each] for each in (OF_TWO if fate in OF_TWO else OF_ONE))


# ------------------------------------------------------------------------------------------------ drawn together


def observed(report: ReaderReport) -> CardSeen | FaultRaised:
    at = Now(0, round(report.at_s * 1e9))
    if report.fault is not None:
        return FaultRaised(at=at, frame=NOWHERE, code=0, name=report.fault.value, blocking=True, meaning=report.fault)
    card = None if report.card is None else CARDS[report.card]
    edges = None
    if report.edges is not None:
        edges = Edges(round(report.edges.leading_s * 1e6), round(report.edges.trailing_s * 1e6), report.double)
    return CardSeen(at=at, frame=NOWHERE, place=Place.PLAYER, position=1, card=card, edges=edges)


def fate(draw: Draw, reports: Sequence[ReaderReport], found: Sequence[DrawnTogether]) -> Fate:
    if len(draw.passages) == 1:
        return Fate.ALARM if found else Fate.QUIET
    if found:
        if not found[-1].order_known:
            return Fate.NO_ORDER
        return Fate.WRONG if found[-1].cards[-1] is CARDS[0] else Fate.IN_ORDER
    if any(each.card is None for each in reports):
        return Fate.FAULT
    return Fate.AS_ONE if len(reports) == 1 else Fate.AS_TWO


def fates(draws: Sequence[Draw], reader: EdgeReader | SerialReader) -> Counter[Fate]:
    reports: list[list[ReaderReport]] = [[] for _ in draws]
    found: list[list[DrawnTogether]] = [[] for _ in draws]
    state = detector.Spacing()
    for each in reader.reports(draws):
        seen = observed(each)
        if isinstance(seen, CardSeen):
            state, finding = detector.card(SETTINGS, state, seen)
        else:
            state, finding = detector.fault(SETTINGS, state, seen)
        reports[each.draw].append(each)
        found[each.draw] += [] if finding is None else [finding]
    return Counter(map(fate, draws, reports, found))


def row(point: str, physics: Sequence[Physics], draws: int) -> Row:
    """Make draws under each of these constants. All rows have the same seed, so they differ only by their constants."""
    counted: dict[str, Counter[Fate]] = {name: Counter() for name in READERS}
    dice = Random(SEED)
    for each in physics:
        dealt = deal(each, dice, draws, TOGETHER)
        for name, reader in READERS.items():
            counted[name] += fates(dealt, reader(each, Random(SEED)))
    return Row(point, draws * len(physics), counted)


def moved(factor: Callable[[], float], *names: str) -> Physics:
    nominal = Physics()
    return replace(nominal, **{name: factor() * getattr(nominal, name) for name in names})


@cache
def rows() -> tuple[Row, ...]:
    """The nominal point, each constant reduced and increased by half, and all constants at random in these limits."""
    names = [field.name for field in fields(Physics)]
    around = [
        row(f"`{name}` {sign}", [moved(lambda: factor, name)], AROUND)  # noqa: B023 -- called at once
        for name in names
        for sign, factor in (("-50 %", 0.5), ("+50 %", 1.5))
    ]
    dice = Random(SEED)
    anywhere = [moved(lambda: dice.uniform(0.5, 1.5), *names) for _ in range(ANYWHERE)]
    around.append(row("all constants at random", anywhere, AT_EACH))
    return row("nominal", [Physics()], DRAWS - sum(each.draws for each in around)), *around


# ------------------------------------------------------------------------------------------------ not shuffled


class Power(NamedTuple):
    riffles: int
    recognised: float
    median: int | None  # cards until half of the sets are recognised; None: fewer are recognised
    percentile_95: int | None  # cards until 95 % of the sets are recognised; None: fewer are recognised


SETS: Final = 60
RIFFLES: Final = range(6)
DECKS: Final = 8


def recognised_after(decks: int, cards: Sequence[Card], false_alarms: float) -> int | None:
    stakes, faces, numbers = BEGINNING, [0] * len(FACES), [FACES[card] for card in cards]
    for at in range(1, len(numbers)):
        faces[numbers[at - 1]] += 1
        stakes = bet(decks, stakes, faces, numbers[at - 1], numbers[at])
        if capital(stakes) * false_alarms >= 1:
            return at + 1
    return None


@cache
def powers() -> tuple[Power, ...]:
    return tuple(map(power, RIFFLES))


def power(riffles: int) -> Power:
    dice = Random(SEED)
    after = []
    for _ in range(SETS):
        cards = new_decks(DECKS)
        for _ in range(riffles):
            cards = riffled(cards, dice)
        after.append(recognised_after(DECKS, cut(cards, dice), FALSE_ALARMS))
    known = sorted(each for each in after if each is not None) + [None] * after.count(None)
    return Power(riffles, 1 - after.count(None) / SETS, known[SETS // 2], known[SETS * 95 // 100])


# ------------------------------------------------------------------------------------------------ as tables


def share(of: float) -> str:
    return "0" if of == 0 else f"{of * 100:.3g} %"


def reader_table(reader: str) -> str:
    columns = [*OF_TWO, Fate.ALARM]
    lines = [[each.point, f"{each.draws:,}", *(share(each.rate(reader, fate)) for fate in columns)] for each in rows()]
    return table(["point", "draws", *(each.value for each in columns)], lines)


def power_table() -> str:
    lines = [
        [str(each.riffles), share(each.recognised), str(each.median or "-"), str(each.percentile_95 or "-")]
        for each in powers()
    ]
    return table(["riffles", "recognised", "cards, median", "cards, 95th percentile"], lines)


def tables() -> dict[str, str]:
    return {
        "edges": reader_table("with edges"),
        "reports": reader_table("without edges"),
        "shuffling": power_table(),
    }


def run() -> None:
    for reader in READERS:
        print(f"(f) cards drawn together, {reader}\n{reader_table(reader)}")
    print(f"(f) new decks, riffled and cut\n{power_table()}")
    nominal = rows()[0].fates["with edges"]
    missed, alarms, single = nominal[Fate.AS_TWO], nominal[Fate.ALARM], nominal[Fate.ALARM] + nominal[Fate.QUIET]
    check("two cards that passed as two clean draws, with edges", missed, nominal.total() - single, 0)
    check("false alarms at a dealer's pace, with edges", alarms, single, FALSE_ALARM_BAR)


def check(name: str, count: int, of: int, bar: float) -> None:
    print(f"(f) {name:<54} {count:6} of {of:6,}  bar {bar:g}  {'ok' if count / of <= bar else 'over'}")
