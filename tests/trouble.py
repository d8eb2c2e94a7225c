"""Random inputs of a table: reports, findings, commands and answers.

`anything` is a strategy of Hypothesis: any input in any order. `troubled_rounds` deals rounds from a seed. Most of its
inputs are those of honest play, so that rounds are completed and corrected, and more rounds begin after them.
"""

import random
from typing import Final

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    OpenBets,
    ReportIrregularity,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.model.findings import (
    AnyFinding,
    NotShuffled,
    OrderAltered,
    OtherSet,
    SetWrong,
    ShuffleFailed,
    TooMany,
    TooOften,
    Unread,
)
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    Device,
    DeviceStatus,
    FaultMeaning,
    FaultStanding,
    Identified,
    Outcome,
    Pair,
    Place,
    ResultSeen,
    SetDeliverySeen,
    SetRecognitionSeen,
    ShuffleEnded,
    ShuffleStarted,
    Side,
)
from shoed.rules.load import GAMES
from shoed.table import PublicQuestion
from tests.listener import expected_result, next_hand
from tests.observed import (
    AGAIN,
    CLASHED,
    CLEARED,
    COPY,
    CUT,
    EMPTIED,
    FRAME,
    JUMPED,
    LOADED,
    OPENED,
    PRESET,
    PROVEN,
    QUIET,
    START,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    card,
    closed,
    fault,
    lock,
    rejected,
    together,
    who_may,
)


class DeviceStep(msgspec.Struct, frozen=True):
    """A Step of a device: its observations, the findings in the last observation, and the seconds before the Step."""

    seen: tuple[AnyObservation, ...]
    found: tuple[AnyFinding, ...] = ()
    after_s: float = 1.0


class PersonStep(msgspec.Struct, frozen=True):
    """A Step of a person."""

    command: AnyCommand
    role: Role | None = Role.PIT_SUPERVISOR


class AnswerStep(msgspec.Struct, frozen=True):
    """An answer to the open question, by the lowest role that may answer. `pick` selects the choice."""

    pick: int
    bettor: str | None = None


class Restarted(msgspec.Struct, frozen=True):
    """The daemon restarts with another game, and with insurance on or off."""

    game: str
    insurance: bool


Played = DeviceStep | PersonStep | AnswerStep | Restarted

SET_REPORTS: Final[list[AnyObservation]] = [
    LOADED,
    EMPTIED,
    Identified(at=START, frame=FRAME, vendor="", model="", serial="", firmware="", protocol="1"),
    SetRecognitionSeen(at=START, frame=FRAME, set_id="A7"),
    ShuffleStarted(at=START, frame=FRAME),
    ShuffleEnded(at=START, frame=FRAME),
    ShuffleEnded(at=START, frame=FRAME, failed="a card jammed"),
    SetDeliverySeen(at=START, frame=FRAME, counts=dict.fromkeys(Card, 8), set_id="A7"),
]
STANDING_FAULTS: Final = (
    FaultStanding(2, "jam", blocking=True),
    FaultStanding(3, "reverse-run", blocking=False, meaning=FaultMeaning.REVERSED),
)
# Observations and findings since engine 8.
NEW_REPORTS: Final[list[AnyObservation]] = [
    DeviceStatus(at=START, frame=FRAME, locked=True, faults=(), set_id=""),
    DeviceStatus(at=START, frame=FRAME, locked=None, faults=STANDING_FAULTS, set_id="A7"),
    DeviceStatus(at=START, device=Device.SHUFFLER, frame=FRAME, locked=None, faults=STANDING_FAULTS, set_id="A7"),
    ShuffleStarted(at=START, device=Device.SHUFFLER, frame=FRAME, set_id="B2"),
    ShuffleEnded(at=START, device=Device.SHUFFLER, frame=FRAME, failed="a card jammed", set_id="B2"),
    ShuffleEnded(at=START, device=Device.SHUFFLER, frame=FRAME, set_id="B2"),
]
NEW_FINDING: Final = ShuffleFailed(at=START, reason="a card jammed", set_id="B2")
REPORTS: Final[list[AnyObservation]] = [
    *(OPENED, QUIET, AGAIN, PROVEN, UNPROVEN, JUMPED, CLASHED, CUT, STARTED, STOOD_BY, COPY, PRESET, CLEARED, fault()),
    *(lock(locked=True), lock(locked=False), closed("cable"), closed("power"), rejected(), rejected(offset=9)),
]
SHUFFLER_REPORTS: Final[list[AnyObservation]] = [
    replace(seen, device=Device.SHUFFLER) for seen in (*REPORTS, *SET_REPORTS, card("P1", "8S"))
]
FINDINGS: Final[list[AnyFinding]] = [
    *(together("8S 9H"), together("8S 9H", order_known=True), together("8S 9H KD"), together("? 8S"), together("8S ?")),
    Unread(at=START, meaning=None, code="00", evidence="a code without a card"),
    Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="the device reported fault 1"),
    TooOften(at=START, card=Card.S8, times=9, decks=8),
    TooMany(at=START, cards=417, whole=416),
    SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416"),
    OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card late"),
    NotShuffled(at=START, cards=60, evidence="in suits"),
]
SET_FINDINGS: Final[list[AnyFinding]] = [
    SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416", of_next_shoe=True),
    OtherSet(at=START, delivered="A7", loaded="B2"),
    ShuffleFailed(at=START, reason="a card jammed"),
]


def answers(asked: PublicQuestion) -> list[str | tuple[str, ...]]:
    """The answers of the right form, or some of them if there are many."""
    match asked.question:
        case "face":
            return ["KC", "8S", "9H", "2D", "6C", "foreign-card"]
        case "card-order":
            return [asked.choices, asked.choices[::-1]]
        case _:
            return list(asked.choices)


def deciding(asked: PublicQuestion, pick: int, bettor: str | None = None) -> PersonStep:
    choices = answers(asked)
    own = bettor if asked.question == "option" else None
    return PersonStep(Decide(question=asked.id, choice=choices[pick % len(choices)], bettor=own), who_may(asked))


# --- for Hypothesis

anywhere = st.builds(
    CardSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    place=st.sampled_from(Place),
    position=st.integers(0, 15),
    card=st.none() | st.sampled_from(Card),
)
in_hands = st.builds(
    CardSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    place=st.sampled_from((Place.PLAYER, Place.BANKER)),
    position=st.integers(1, 3),
    card=st.sampled_from(Card),
)
results = st.builds(
    ResultSeen,
    at=st.just(START),
    frame=st.just(FRAME),
    outcome=st.sampled_from(Outcome),
    pairs=st.sampled_from(((), (Pair.PLAYER,), (Pair.BANKER,), (Pair.PLAYER, Pair.BANKER))),
)
report = st.one_of(
    anywhere, in_hands, in_hands, results, st.sampled_from([*REPORTS, *SET_REPORTS, *SHUFFLER_REPORTS, *NEW_REPORTS])
)
heard = st.builds(
    DeviceStep,
    st.lists(report, max_size=4).map(tuple),
    st.just(()) | st.lists(st.sampled_from([*FINDINGS, *SET_FINDINGS, NEW_FINDING]), max_size=2).map(tuple),
    st.sampled_from((0.0, 0.3, 4.0, 11.0)),
)
ordinals = st.integers(1, 8)
rounds = st.none() | st.integers(1, 4)
some_cards = st.lists(st.sampled_from(Card), max_size=3).map(tuple)
notices = st.builds(
    ReportIrregularity,
    kind=st.sampled_from(IrregularityKind),
    at=st.none() | ordinals,
    count=st.integers(1, 4),
    order_known=st.booleans(),
    reconstructable=st.sampled_from((None, True, False)),
    order=some_cards,
    of_the_dealing=st.booleans(),
    stage=st.sampled_from(Stage),
    round=rounds,
)
decisions = st.builds(
    Decide,
    question=st.integers(0, 9).map(str),
    choice=st.sampled_from(("yes", "no", "continue", "void", "return", "go-on", "missed", "8S", "nonsense"))
    | some_cards.map(lambda cards: tuple(map(str, cards))),
    bettor=st.sampled_from((None, "bob", "others")),
)
commands = st.one_of(
    st.sampled_from([OpenBets(), CloseBets(), GrantSqueeze(), SettleRound(), StartShoe(), EmptyShoe()]),
    notices,
    notices,
    decisions,
    st.builds(ReportLate, act=st.sampled_from(("bet", "increase", "withdrawal", "nonsense"))),
    st.builds(CorrectCard, index=ordinals, card=st.sampled_from(Card), round=rounds),
    st.builds(VoidRound, round=rounds),
)
roles = st.sampled_from((Role.PIT_SUPERVISOR, Role.SHIFT_MANAGER, Role.DEALER, None))
commanded = st.builds(PersonStep, commands, roles)
answered = st.builds(AnswerStep, st.integers(0, 23), st.sampled_from((None, None, "bob", "eve", "others")))
restarted = st.builds(Restarted, st.sampled_from(GAMES), st.booleans())
anything: st.SearchStrategy[Played] = st.one_of(
    *(heard, heard, heard, commanded, commanded, answered, answered, restarted)
)

# --- from a seed


def honest_round(dice: random.Random) -> list[AnyObservation]:
    """The reports of one round of honest play, with the result."""
    hands: dict[Side, list[Card]] = {Side.PLAYER: [], Side.BANKER: []}
    seen: list[AnyObservation] = []
    while (hand := next_hand(hands[Side.PLAYER], hands[Side.BANKER])) is not None:
        hands[hand].append(dice.choice(list(Card)))
        place, position = Place(hand.value), len(hands[hand])
        seen.append(CardSeen(at=START, frame=FRAME, place=place, position=position, card=hands[hand][-1]))
    outcome, pairs = expected_result(hands[Side.PLAYER], hands[Side.BANKER])
    return [*seen, ResultSeen(at=START, frame=FRAME, outcome=outcome, pairs=pairs)]


def some_command(dice: random.Random) -> PersonStep:
    card, at = dice.choice(list(Card)), dice.randint(1, 6)
    kind = dice.choice(list(IrregularityKind))
    commands: list[AnyCommand] = [
        *(OpenBets(), CloseBets(), SettleRound(), GrantSqueeze(), EmptyShoe(), StartShoe(), VoidRound()),
        *(CorrectCard(index=at, card=card), CorrectCard(index=1, card=card), CorrectCard(index=2, card=card)),
        ReportIrregularity(kind=kind),
        ReportIrregularity(
            kind=kind, at=at, order_known=dice.random() < 0.5, reconstructable=dice.choice((None, True, False))
        ),
    ]
    return PersonStep(dice.choice(commands))


def opening(dice: random.Random) -> list[Played]:
    """Bets are opened, perhaps closed, and perhaps other commands are given."""
    acts: list[Played] = [PersonStep(OpenBets())]
    for _ in range(2):
        acts += [some_command(dice)] if dice.random() < 0.1 else []
        acts += [PersonStep(CloseBets())] if dice.random() < 0.5 else []
    return acts


def corrections(dice: random.Random) -> list[Played]:
    """Corrections of a complete round, with findings, commands and answers between them."""
    played: list[Played] = []
    for _ in range(dice.choices((0, 1, 4), (7, 2, 1))[0]):
        played += [DeviceStep((STOOD_BY,), (dice.choice(FINDINGS),))] if dice.random() < 0.3 else []
        played.append(PersonStep(CorrectCard(index=dice.randint(1, 4), card=dice.choice(list(Card)))))
        played += [some_command(dice)] if dice.random() < 0.5 else []
        played += [AnswerStep(dice.randrange(24))] if dice.random() < 0.5 else []
    return played


def afterwards(seed: int, dice: random.Random) -> list[Played]:
    """Corrections after the settlement, or while a question about the round is open."""
    if seed % 5 == 4:
        return [PersonStep(SettleRound()), PersonStep(VoidRound())]
    if seed % 5 == 3:
        face = dice.choice(list(Card))
        asked = DeviceStep((STOOD_BY,), (dice.choice(FINDINGS),))
        return [
            asked,
            PersonStep(CorrectCard(index=dice.randint(1, 4), card=face)),
            AnswerStep(dice.randrange(24)),
            AnswerStep(0),
        ]
    if seed % 5 == 2:
        acts: list[Played] = [
            PersonStep(ReportIrregularity(kind=dice.choice(list(IrregularityKind)))) for _ in range(3)
        ]
        acts.append(PersonStep(CorrectCard(index=dice.randint(1, 4), card=dice.choice(list(Card)))))
        acts += [AnswerStep(dice.randrange(24), dice.choice((None, "bob"))) for _ in range(dice.randint(0, 5))]
        dice.shuffle(acts)
        return [PersonStep(SettleRound()), *acts, Restarted(dice.choice(GAMES), dice.random() < 0.5)]
    return []


def shuffling(dice: random.Random) -> list[Played]:
    """Reports of the shuffler, some of them with a finding."""
    acts: list[Played] = []
    for _ in range(dice.choice((0, 0, 1, 3))):
        found = (dice.choice(SET_FINDINGS),) if dice.random() < 0.3 else ()
        acts.append(DeviceStep((dice.choice(SHUFFLER_REPORTS),), found))
    return acts


def troubled_rounds(seed: int) -> list[Played]:
    """Twelve rounds of nearly honest play: some reports are lost, doubled, wrong, or preceded by another report.

    The staff opens bets in some rounds, reports irregularities, answers most questions at once and makes corrections.
    """
    dice, sets = random.Random(seed), random.Random(-seed)
    played: list[Played] = []
    for _ in range(12):
        seen = honest_round(dice)
        if dice.random() < 0.1:
            seen[-1] = ResultSeen(at=START, frame=FRAME, outcome=dice.choice(list(Outcome)), pairs=())
        if dice.random() < 0.2:
            seen = [CUT, STARTED, *seen]
        played += opening(dice) if dice.random() < 0.4 else []
        for each in seen:
            between = [dice.choice(REPORTS)] if dice.random() < 0.07 else []
            reports = dice.choices([[], [each], [each, each]], [3, 95, 2])[0]
            found = (dice.choice(FINDINGS),) if dice.random() < 0.04 else ()
            played.append(DeviceStep((*between, *reports), found, dice.choice((0.3, 1.0, 2.5))))
            played += [some_command(dice)] if dice.random() < 0.06 else []
            if dice.random() < 0.5:
                played += [AnswerStep(dice.randrange(24)) for _ in range(dice.randint(1, 5))]
        played += shuffling(sets)
        played += corrections(dice)
        played += afterwards(seed, random.Random(-seed))
    return played
