"""Seeded sessions at a table, for the comparison of two engines: the acts of devices, of people and of settings.

Theory of operation: a session is a list of acts, made from its seed alone. An answer is a number; when the session is
played, this number selects a choice of the open question. Each seed selects a style: a mix of probabilities of the
disturbances. The seeds cover all games and all styles.
"""

import random
from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    CorrectCard,
    Decide,
    ReportIrregularity,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import AnyObservation, CardSeen, Edges, Outcome, Pair, Place, ResultSeen, ShoeLoaded
from shoed.rules.load import GAMES
from shoed.table import Custom, TableSettings
from tests import observed, trouble
from tests.oracle_engines import Settings
from tests.trouble import AnswerStep, DeviceStep, PersonStep

PORT: Final = "tcp://127.0.0.1:4001"
SHUFFLER_PORT: Final = "tcp://127.0.0.1:4002"
HOUSE: Final = partial(Custom, confirm_void=False)  # the oracle voids a round without confirmation
CUSTOMS: Final = (
    *(Custom(), HOUSE(), HOUSE(bets_close_by_command=True), HOUSE(burn_cards=3), HOUSE(burn_cards=-1)),
    *(HOUSE(rounds_after_cut=1), HOUSE(bets_close_by_command=True, burn_cards=1, rounds_after_cut=2)),
)
ROUNDS: Final = 12


class Restart(msgspec.Struct, frozen=True):
    """The daemon restarts from its checkpoint, perhaps under other settings."""

    settings: Settings


Act = DeviceStep | PersonStep | AnswerStep | Restart


class Session(msgspec.Struct, frozen=True):
    seed: int
    style: str
    settings: Settings
    acts: tuple[Act, ...]

    @property
    def name(self) -> str:
        return f"seed {self.seed} ({self.style}, {self.settings.table.game})"


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """The probability of each disturbance: for a report, or for a round where the comment names the round."""

    dealt: bool = False  # the device reports neither hands nor results
    edges: bool = False  # the device reports when a card passed its window
    lost: float = 0.01
    doubled: float = 0.01
    unread: float = 0.01
    elsewhere: float = 0.01  # reported in another slot than the due one
    extra: float = 0.03  # of a round: one or two cards after its last card
    away: float = 0.0  # the link closes and opens again
    between: float = 0.03  # another report precedes the report
    found: float = 0.02  # a finding that the watch did not make
    hasty: float = 0.02  # the report arrives directly after the one before
    commands: float = 0.03
    answered: float = 0.5
    opened: float = 0.3  # of a round: bets are opened by a command
    late_commands: float = 0.1  # of a round: corrections of the complete round
    settled: float = 0.2  # of a round
    shoe: float = 0.05  # of a round: a new shoe begins before it
    shuffler: float = 0.1  # of a round
    restart: float = 0.0  # of a round; for a report, a tenth of this


STYLES: Final = {
    "dealt": Style(dealt=True, extra=0.1),
    "dealt-away": Style(dealt=True, away=0.04, lost=0.03, unread=0.03, shoe=0.1),
    "carried": Style(extra=0.6, settled=0.4, late_commands=0.2, answered=0.6),
    "dealt-carried": Style(dealt=True, extra=0.5, opened=0.7, settled=0.4, answered=0.6),
    "line": Style(away=0.05, lost=0.05, doubled=0.03, between=0.1),
    "corrected": Style(late_commands=0.9, settled=0.4, commands=0.05, extra=0.1),
    "restart": Style(restart=0.4, away=0.01, extra=0.1, unread=0.02, late_commands=0.2),
    "together": Style(edges=True, hasty=0.1, unread=0.03, found=0.05),
    "people": Style(commands=0.3, answered=0.3, opened=0.6),
    "set": Style(shoe=0.4, shuffler=0.8, unread=0.02),
    "mixed": Style(
        away=0.02, lost=0.03, extra=0.3, commands=0.1, found=0.05, late_commands=0.4, restart=0.1, unread=0.03
    ),
}


def sessions(count: int, first: int = 0) -> Iterator[Session]:
    """The sessions of `count` seeds, from the seed `first`."""
    return map(session, range(first, first + count))


def session(seed: int) -> Session:
    """The session of a seed. It is the same on any machine."""
    dice = random.Random(f"session {seed}")
    game = GAMES[seed % len(GAMES)]
    styles = ("disturbed", "random-inputs", *STYLES)
    name = styles[seed // len(GAMES) % len(styles)]
    first_settings = settings(game, dice)
    match name:
        case "disturbed":
            acts = list(disturbed(seed, first_settings, dice))
        case "random-inputs":
            acts = list(random_inputs(first_settings, dice))
        case _:
            acts = played(STYLES[name], first_settings, dice)
    return Session(seed, name, first_settings, tuple(acts))


def settings(game: str, dice: random.Random) -> Settings:
    decks = dice.choice((8, 8, 8, 6, 2))
    return Settings(
        TableSettings(
            game,
            PORT,
            "word-bac-901",
            insurance=dice.random() < 0.8,
            custom=dice.choice(CUSTOMS),
            decks=decks,
            shuffler_port=SHUFFLER_PORT if dice.random() < 0.7 else None,
        ),
        min_draw_gap_ms=dice.choice((0, 250, 250, 400)),
        decks=decks,
    )


def restart(first_settings: Settings, dice: random.Random) -> Restart:
    """A restart with the same settings, or with other settings."""
    if dice.random() < 0.5:
        return Restart(first_settings)
    return Restart(settings(dice.choice((first_settings.table.game, dice.choice(GAMES))), dice))


# --- nearly honest play


def disturbed(seed: int, first_settings: Settings, dice: random.Random) -> Iterator[Act]:
    """`troubled_rounds`. In every third session the device names no hand."""
    unnamed = dice.random() < 0.33
    for each in trouble.troubled_rounds(seed):
        match each:
            case trouble.Restarted(game=game, insurance=insurance):
                yield Restart(
                    replace(first_settings, table=replace(first_settings.table, game=game, insurance=insurance))
                )
            case DeviceStep(seen=seen) if unnamed:
                yield replace(each, seen=tuple(map(unplaced, seen)))
            case _:
                yield each


def unplaced(seen: AnyObservation) -> AnyObservation:
    """The same report of a device that names no hand."""
    if isinstance(seen, CardSeen) and seen.place in (Place.PLAYER, Place.BANKER):
        return replace(seen, place=Place.DEALT, position=0)
    return seen


def played(style: Style, first_settings: Settings, dice: random.Random) -> list[Act]:
    """The acts of `ROUNDS` rounds of this style."""
    acts: list[Act] = []
    skipped = 0
    for number in range(ROUNDS):
        if dice.random() < style.shoe or (number == 0 and dice.random() < 0.5):
            acts += new_shoe(dice)
        if dice.random() < style.shuffler:
            acts += only(trouble.shuffling(dice))
        acts += only(trouble.opening(dice)) if dice.random() < style.opened else []
        extra = extra_cards(dice) if dice.random() < style.extra else []
        acts += one_round(style, first_settings, dice, trouble.honest_round(dice)[skipped:], extra)
        skipped = dice.choice((0, len(extra)))  # the device may count the extra cards as cards of the next round
        if dice.random() < style.late_commands:
            acts += late_commands(dice, number + 1)
        if dice.random() < style.settled:
            acts.append(PersonStep(SettleRound()))
            acts += late_commands(dice, number + 1) if dice.random() < 0.4 else []
        if dice.random() < style.restart:
            acts.append(restart(first_settings, dice))
    return acts


def only(acts: list[trouble.Played]) -> list[Act]:
    return [each for each in acts if not isinstance(each, trouble.Restarted)]


def new_shoe(dice: random.Random) -> list[Act]:
    """A new shoe: cut card and start of communication, a report of the shoe, or a command; perhaps burn cards."""
    loaded = ShoeLoaded(at=observed.START, frame=observed.FRAME, set_id=dice.choice(("", "A7", "B2")))
    ways: tuple[tuple[Act, ...], ...] = (
        (DeviceStep((observed.CUT,)), DeviceStep((observed.STARTED,))),
        (DeviceStep((observed.CUT, observed.STARTED)),),
        (DeviceStep((observed.EMPTIED,)), DeviceStep((loaded,))),
        (DeviceStep((loaded,)),),
        (PersonStep(StartShoe()),),
    )
    first = CardSeen(
        at=observed.START, frame=observed.FRAME, place=Place.FIRST_CARD, position=0, card=dice.choice(list(Card))
    )
    burnt = [replace(first, place=Place.BURN, card=dice.choice((None, Card.S8))) for _ in range(dice.randint(0, 4))]
    return [*dice.choice(ways), *(DeviceStep((each,)) for each in ([first, *burnt] if dice.random() < 0.5 else []))]


def extra_cards(dice: random.Random) -> list[AnyObservation]:
    """Reports of one or two cards that are not due."""
    places = ((Place.BANKER, 3), (Place.PLAYER, 3), (Place.BANKER, 4), (Place.OVERDRAW, 0), (Place.PLAYER, 1))
    return [
        CardSeen(at=observed.START, frame=observed.FRAME, place=place, position=position, card=dice.choice(list(Card)))
        for place, position in dice.choices(places, k=dice.choice((1, 1, 2)))
    ]


def one_round(
    style: Style,
    first_settings: Settings,
    dice: random.Random,
    reports: list[AnyObservation],
    extra: list[AnyObservation],
) -> list[Act]:
    if style.dealt or dice.random() < 0.1:
        reports = [each for each in reports if not isinstance(each, ResultSeen)]
    elif reports and dice.random() < 0.05:
        pairs = dice.choice(((), (Pair.BANKER,)))
        reports[-1] = ResultSeen(
            at=observed.START, frame=observed.FRAME, outcome=dice.choice(list(Outcome)), pairs=pairs
        )
    end = len(reports) - dice.choice((0, 1, 1)) if reports and isinstance(reports[-1], ResultSeen) else len(reports)
    reports = [*reports[:end], *extra, *reports[end:]]
    acts: list[Act] = []
    while reports:
        if dice.random() < style.away:
            gone = dice.choices((0, 1, 2, 5), (5, 3, 2, 1))[0]
            reports = reports[gone:]
            acts += away(dice, lost=gone > 0)
        if not reports:
            break
        first, *reports = reports
        acts += reported(style, dice, altered(style, dice, first))
        if dice.random() < style.commands:
            acts.append(PersonStep(any_command(dice), a_role(dice)))
        if dice.random() < style.answered:
            acts += some_answers(dice)
        if dice.random() < style.restart / 10:
            acts.append(restart(first_settings, dice))
    return acts


def altered(style: Style, dice: random.Random, seen: AnyObservation) -> AnyObservation:
    """The report with the disturbances of this style."""
    if not isinstance(seen, CardSeen):
        return seen
    if dice.random() < style.unread:
        seen = replace(seen, card=None, code="00")
    if dice.random() < style.elsewhere:
        place = dice.choice((Place.PLAYER, Place.BANKER, Place.OVERDRAW, Place.ERROR, Place.LOCKED, Place.SET_UP))
        seen = replace(seen, place=place, position=dice.randint(1, 3))
    if style.edges:
        leading_us = dice.randrange(10_000_000)
        seen = replace(seen, edges=Edges(leading_us, leading_us + 80_000, double=dice.random() < 0.05))
    return unplaced(seen) if style.dealt else seen


def reported(style: Style, dice: random.Random, seen: AnyObservation) -> list[Act]:
    """The Step of this report, or nothing if the report is lost."""
    if dice.random() < style.lost:
        if dice.random() < 0.5:
            return []
        return [DeviceStep((observed.JUMPED,))]
    reports = [seen, seen] if dice.random() < style.doubled else [seen]
    if dice.random() < style.between:
        reports = [dice.choice(trouble.REPORTS), *reports]
    found = (dice.choice(trouble.FINDINGS),) if dice.random() < style.found else ()
    after_s = dice.choice((0.01, 0.1, 0.3)) if dice.random() < style.hasty else dice.choice((0.6, 1.0, 2.5, 11.0))
    return [DeviceStep(tuple(reports), found, after_s)]


def away(dice: random.Random, *, lost: bool) -> list[Act]:
    """The link closes and opens, or the sequence number of a report jumps."""
    if dice.random() < 0.3:
        return [DeviceStep((observed.JUMPED,), (), 1.0)]
    resumed = dice.choice((observed.UNPROVEN, observed.UNPROVEN if lost else observed.PROVEN))
    again: list[Act] = [DeviceStep((observed.OPENED,), (), dice.choice((1.0, 20.0)))]
    return [DeviceStep((observed.closed("cable"),)), *again, *([DeviceStep((resumed,))] if dice.random() < 0.8 else [])]


def some_answers(dice: random.Random) -> list[Act]:
    bettor = dice.choice((None, None, "bob", "others"))
    return [AnswerStep(dice.randrange(24), bettor) for _ in range(dice.choice((1, 1, 2, 5)))]


def late_commands(dice: random.Random, last: int) -> list[Act]:
    """One to three commands about the present round or an earlier round: corrections, voids and notices."""
    acts = only(trouble.corrections(dice))
    for _ in range(dice.randint(1, 3)):
        number = dice.choice((None, None, last, last, max(1, last - 1)))
        face = dice.choice(list(Card))
        commands: tuple[AnyCommand, ...] = (
            CorrectCard(index=dice.randint(1, 6), card=face, round=number),
            CorrectCard(index=dice.randint(1, 6), card=face, round=number),
            VoidRound(round=number),
            ReportIrregularity(kind=dice.choice(list(IrregularityKind)), at=dice.choice((None, 1, 4, 5)), round=number),
        )
        acts.append(PersonStep(dice.choice(commands), a_role(dice)))
        acts += some_answers(dice) if dice.random() < 0.6 else []
    return acts


# --- any input


def a_role(dice: random.Random) -> Role | None:
    return dice.choices((Role.PIT_SUPERVISOR, Role.SHIFT_MANAGER, Role.DEALER, None), (6, 3, 2, 1))[0]


def any_command(dice: random.Random) -> AnyCommand:
    """A command of `trouble`, or one with random fields."""
    if dice.random() < 0.5:
        return trouble.some_command(dice).command
    number = dice.choice((None, None, 1, 2, 3, 4))
    some = tuple(dice.choices(list(Card), k=dice.randint(0, 3)))
    notice = ReportIrregularity(
        kind=dice.choice(list(IrregularityKind)),
        at=dice.choice((None, *range(1, 9))),
        count=dice.randint(1, 4),
        order_known=dice.random() < 0.5,
        reconstructable=dice.choice((None, True, False)),
        order=some,
        of_the_dealing=dice.random() < 0.5,
        other=dice.choice((None, None, 1, 2, 3)),
        stage=dice.choice(list(Stage)),
        round=number,
        in_time=dice.random() < 0.5,
    )
    decided = dice.choice(("yes", "no", "continue", "void", "return", "go-on", "missed", "8S", tuple(map(str, some))))
    commands: tuple[AnyCommand, ...] = (
        *(notice, notice, notice),
        Decide(
            question=str(dice.randrange(10)),
            choice=decided,
            bettor=dice.choice((None, "bob", "others")),
        ),
        ReportLate(act=dice.choice(("bet", "increase", "withdrawal", "nonsense"))),
        CorrectCard(index=dice.randint(1, 8), card=dice.choice(list(Card)), round=number),
        VoidRound(round=number),
    )
    return dice.choice(commands)


def any_report(dice: random.Random) -> AnyObservation:
    card = CardSeen(
        at=observed.START,
        frame=observed.FRAME,
        place=dice.choice((Place.PLAYER, Place.BANKER)),
        position=dice.randint(1, 3),
        card=dice.choice(list(Card)),
    )
    pairs = dice.choice(((), (Pair.PLAYER,), (Pair.BANKER,), (Pair.PLAYER, Pair.BANKER)))
    return dice.choice(
        (
            *(card, card, card),
            replace(card, place=dice.choice(list(Place)), position=dice.randint(0, 15)),
            replace(card, place=dice.choice(list(Place)), card=None),
            ResultSeen(at=observed.START, frame=observed.FRAME, outcome=dice.choice(list(Outcome)), pairs=pairs),
            dice.choice([*trouble.REPORTS, *trouble.SET_REPORTS, *trouble.SHUFFLER_REPORTS]),
        )
    )


def random_inputs(first_settings: Settings, dice: random.Random) -> Iterator[Act]:
    """Reports, findings, commands, answers and restarts in any order."""
    findings = [*trouble.FINDINGS, *trouble.SET_FINDINGS]
    for _ in range(dice.randint(20, 120)):
        match dice.choices(("heard", "command", "answered", "restart"), (4, 2, 2, 0.3))[0]:
            case "heard":
                seen = tuple(any_report(dice) for _ in range(dice.randint(0, 4)))
                found = tuple(dice.choices(findings, k=dice.choice((0, 0, 1, 2))))
                yield DeviceStep(seen, found, dice.choice((0.0, 0.3, 4.0, 11.0)))
            case "command":
                yield PersonStep(any_command(dice), a_role(dice))
            case "answered":
                yield AnswerStep(dice.randrange(24), dice.choice((None, None, "bob", "eve", "others")))
            case _:
                yield restart(first_settings, dice)
