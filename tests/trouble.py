"""What may come to a table, likely and unlikely: reports, findings, commands and answers, in any order.

`anything` draws them for Hypothesis; `troubled_rounds` deals from a seed what goes right for the most part, so that
rounds complete, follow each other and are mended.
"""

import random
from typing import Final

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import (
    AnyCommand,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    Notice,
    OpenBets,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.findings import (
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
from shoed.observations import (
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
    SetDelivered,
    SetRecognised,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.rules.load import GAMES
from shoed.table import PublicQuestion
from shoed.words import Event, Role, Stage
from tests.listener import next_hand, reckoned
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


class Heard(msgspec.Struct, frozen=True):
    """A Step of the line: what it observed, what the watch found in the last of it, and the seconds before it."""

    seen: tuple[AnyObservation, ...]
    found: tuple[AnyFinding, ...] = ()
    after_s: float = 1.0


class Said(msgspec.Struct, frozen=True):
    """A Step of a person."""

    command: AnyCommand
    role: Role | None = Role.PIT_SUPERVISOR


class Answered(msgspec.Struct, frozen=True):
    """One of the answers to the question that is open then, by who may give it."""

    pick: int
    bettor: str | None = None


class Restarted(msgspec.Struct, frozen=True):
    """The daemon begins anew, under another game, with insurance switched on or off."""

    game: str
    insurance: bool


Played = Heard | Said | Answered | Restarted

SAID_OF_THE_SET: Final[list[AnyObservation]] = [
    LOADED,
    EMPTIED,
    Identified(at=START, frame=FRAME, vendor="", model="", serial="", firmware="", protocol="1"),
    SetRecognised(at=START, frame=FRAME, set_id="A7"),
    ShuffleStarted(at=START, frame=FRAME),
    ShuffleEnded(at=START, frame=FRAME),
    ShuffleEnded(at=START, frame=FRAME, failed="a card jammed"),
    SetDelivered(at=START, frame=FRAME, counts=dict.fromkeys(Card, 8), set_id="A7"),
]
STAND: Final = (
    FaultStanding(2, "jam", blocking=True),
    FaultStanding(3, "reverse-run", blocking=False, meaning=FaultMeaning.REVERSED),
)
# What no engine before number 8 knows.
NEW: Final[list[AnyObservation]] = [
    DeviceStatus(at=START, frame=FRAME, locked=True, faults=(), set_id=""),
    DeviceStatus(at=START, frame=FRAME, locked=None, faults=STAND, set_id="A7"),
    DeviceStatus(at=START, device=Device.SHUFFLER, frame=FRAME, locked=None, faults=STAND, set_id="A7"),
    ShuffleStarted(at=START, device=Device.SHUFFLER, frame=FRAME, set_id="B2"),
    ShuffleEnded(at=START, device=Device.SHUFFLER, frame=FRAME, failed="a card jammed", set_id="B2"),
    ShuffleEnded(at=START, device=Device.SHUFFLER, frame=FRAME, set_id="B2"),
]
NEW_FINDING: Final = ShuffleFailed(at=START, reason="a card jammed", set_id="B2")
REPORTS: Final[list[AnyObservation]] = [
    *(OPENED, QUIET, AGAIN, PROVEN, UNPROVEN, JUMPED, CLASHED, CUT, STARTED, STOOD_BY, COPY, PRESET, CLEARED, fault()),
    *(lock(locked=True), lock(locked=False), closed("cable"), closed("power"), rejected(), rejected(offset=9)),
]
OF_THE_SHUFFLER: Final[list[AnyObservation]] = [
    replace(seen, device=Device.SHUFFLER) for seen in (*REPORTS, *SAID_OF_THE_SET, card("P1", "8S"))
]
FINDINGS: Final[list[AnyFinding]] = [
    *(together("8S 9H"), together("8S 9H", order_known=True), together("8S 9H KD"), together("? 8S"), together("8S ?")),
    Unread(at=START, meaning=None, code="00", evidence="a code that is no card's"),
    Unread(at=START, meaning=FaultMeaning.UNREAD, code="", evidence="the device said fault 1"),
    TooOften(at=START, card=Card.S8, times=9, decks=8),
    TooMany(at=START, cards=417, whole=416),
    SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416"),
    OrderAltered(at=START, card=Card.S8, expected=Card.H9, evidence="one card behind"),
    NotShuffled(at=START, cards=60, evidence="in suits"),
]
FOUND_IN_SETS: Final[list[AnyFinding]] = [
    SetWrong(at=START, missing={Card.S8: 1}, extra={}, evidence="415 of 416", coming=True),
    OtherSet(at=START, delivered="A7", loaded="B2"),
    ShuffleFailed(at=START, reason="a card jammed"),
]


def answers(asked: PublicQuestion) -> list[str | tuple[str, ...]]:
    """All that are of the right shape, or a few where there are many."""
    match asked.question:
        case "face":
            return ["KC", "8S", "9H", "2D", "6C", "foreign-card"]
        case "card-order":
            return [asked.choices, asked.choices[::-1]]
        case _:
            return list(asked.choices)


def deciding(asked: PublicQuestion, pick: int, bettor: str | None = None) -> Said:
    choices = answers(asked)
    own = bettor if asked.question == "option" else None
    return Said(Decide(question=asked.id, choice=choices[pick % len(choices)], bettor=own), who_may(asked))


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
    anywhere, in_hands, in_hands, results, st.sampled_from([*REPORTS, *SAID_OF_THE_SET, *OF_THE_SHUFFLER, *NEW])
)
heard = st.builds(
    Heard,
    st.lists(report, max_size=4).map(tuple),
    st.just(()) | st.lists(st.sampled_from([*FINDINGS, *FOUND_IN_SETS, NEW_FINDING]), max_size=2).map(tuple),
    st.sampled_from((0.0, 0.3, 4.0, 11.0)),
)
ordinals = st.integers(1, 8)
rounds = st.none() | st.integers(1, 4)
some_cards = st.lists(st.sampled_from(Card), max_size=3).map(tuple)
notices = st.builds(
    Notice,
    kind=st.sampled_from(Event),
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
said = st.builds(Said, commands, st.sampled_from((Role.PIT_SUPERVISOR, Role.SHIFT_MANAGER, Role.DEALER, None)))
answered = st.builds(Answered, st.integers(0, 23), st.sampled_from((None, None, "bob", "eve", "others")))
restarted = st.builds(Restarted, st.sampled_from(GAMES), st.booleans())
anything: st.SearchStrategy[Played] = st.one_of(heard, heard, heard, said, said, answered, answered, restarted)

# --- from a seed


def honest_round(dice: random.Random) -> list[AnyObservation]:
    """One round as it is dealt, with its result."""
    hands: dict[Pair, list[Card]] = {Pair.PLAYER: [], Pair.BANKER: []}
    seen: list[AnyObservation] = []
    while (hand := next_hand(hands[Pair.PLAYER], hands[Pair.BANKER])) is not None:
        hands[hand].append(dice.choice(list(Card)))
        place, position = Place(hand.value), len(hands[hand])
        seen.append(CardSeen(at=START, frame=FRAME, place=place, position=position, card=hands[hand][-1]))
    outcome, pairs = reckoned(hands[Pair.PLAYER], hands[Pair.BANKER])
    return [*seen, ResultSeen(at=START, frame=FRAME, outcome=outcome, pairs=pairs)]


def something_said(dice: random.Random) -> Said:
    card, at = dice.choice(list(Card)), dice.randint(1, 6)
    kind = dice.choice(list(Event))
    commands: list[AnyCommand] = [
        *(OpenBets(), CloseBets(), SettleRound(), GrantSqueeze(), EmptyShoe(), StartShoe(), VoidRound()),
        *(CorrectCard(index=at, card=card), CorrectCard(index=1, card=card), CorrectCard(index=2, card=card)),
        Notice(kind=kind),
        Notice(kind=kind, at=at, order_known=dice.random() < 0.5, reconstructable=dice.choice((None, True, False))),
    ]
    return Said(dice.choice(commands))


def opening(dice: random.Random) -> list[Played]:
    """Bets are opened, and perhaps closed; perhaps somebody says more."""
    said: list[Played] = [Said(OpenBets())]
    for _ in range(2):
        said += [something_said(dice)] if dice.random() < 0.1 else []
        said += [Said(CloseBets())] if dice.random() < 0.5 else []
    return said


def mending(dice: random.Random) -> list[Played]:
    """The round is complete, and its record is looked at again."""
    played: list[Played] = []
    for _ in range(dice.choices((0, 1, 4), (7, 2, 1))[0]):
        played += [Heard((STOOD_BY,), (dice.choice(FINDINGS),))] if dice.random() < 0.3 else []
        played.append(Said(CorrectCard(index=dice.randint(1, 4), card=dice.choice(list(Card)))))
        played += [something_said(dice)] if dice.random() < 0.5 else []
        played += [Answered(dice.randrange(24))] if dice.random() < 0.5 else []
    return played


def afterwards(seed: int, dice: random.Random) -> list[Played]:
    """Mending once the round is settled, or while something else is asked about it."""
    if seed % 5 == 4:
        return [Said(SettleRound()), Said(VoidRound())]
    if seed % 5 == 3:
        face = dice.choice(list(Card))
        asked = Heard((STOOD_BY,), (dice.choice(FINDINGS),))
        return [
            asked,
            Said(CorrectCard(index=dice.randint(1, 4), card=face)),
            Answered(dice.randrange(24)),
            Answered(0),
        ]
    if seed % 5 == 2:
        said: list[Played] = [Said(Notice(kind=dice.choice(list(Event)))) for _ in range(3)]
        said.append(Said(CorrectCard(index=dice.randint(1, 4), card=dice.choice(list(Card)))))
        said += [Answered(dice.randrange(24), dice.choice((None, "bob"))) for _ in range(dice.randint(0, 5))]
        dice.shuffle(said)
        return [Said(SettleRound()), *said, Restarted(dice.choice(GAMES), dice.random() < 0.5)]
    return []


def shuffling(dice: random.Random) -> list[Played]:
    """What a shuffler says meanwhile, and what may be found in it."""
    said: list[Played] = []
    for _ in range(dice.choice((0, 0, 1, 3))):
        found = (dice.choice(FOUND_IN_SETS),) if dice.random() < 0.3 else ()
        said.append(Heard((dice.choice(OF_THE_SHUFFLER),), found))
    return said


def troubled_rounds(seed: int) -> list[Played]:
    """Rounds nearly as they are dealt: now and then a report is lost, doubled or false, or something comes between.

    People open bets or not, notice this and that, answer most questions at once and mend what they may.
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
            played.append(Heard((*between, *reports), found, dice.choice((0.3, 1.0, 2.5))))
            played += [something_said(dice)] if dice.random() < 0.06 else []
            if dice.random() < 0.5:
                played += [Answered(dice.randrange(24)) for _ in range(dice.randint(1, 5))]
        played += shuffling(sets)
        played += mending(dice)
        played += afterwards(seed, random.Random(-seed))
    return played
