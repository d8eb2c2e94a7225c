"""What an Open Shoe says, in the words of the house."""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import asdict

from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES, FAILURE_NAMES, FAULT_NAMES
from shoed.cards import Card, Rank, Suit
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    Capability,
    CardSeen,
    CutCardSeen,
    DeviceStatus,
    Edges,
    Evidence,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    FaultStanding,
    LockChanged,
    Place,
    SetDelivered,
    SetRecognised,
    ShoeEmptied,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)

SUITS: Final[Mapping[theirs.Suit, Suit]] = {
    theirs.Suit.SPADES: Suit.SPADES,
    theirs.Suit.HEARTS: Suit.HEARTS,
    theirs.Suit.DIAMONDS: Suit.DIAMONDS,
    theirs.Suit.CLUBS: Suit.CLUBS,
}
CARDS: Final = {face: Card.of(Rank(face.rank), SUITS[face.suit]) for face in FACES}
PLACES: Final[Mapping[theirs.Place, Place]] = {
    theirs.Place.DEALT: Place.DEALT,
    theirs.Place.PLAYER: Place.PLAYER,
    theirs.Place.BANKER: Place.BANKER,
    theirs.Place.BURNT: Place.BURN,
    theirs.Place.LOCKED: Place.LOCKED,
    theirs.Place.ERROR: Place.ERROR,
}
ODD: Final = {
    odd: (theirs.Passage.DOUBLE in odd, theirs.Passage.FOREIGN in odd) for odd in map(theirs.Passage, range(4))
}
# A fault of reading says nothing of a card: the card itself is told, without a face.
MEANINGS: Final[Mapping[theirs.Fault | None, FaultMeaning]] = {
    theirs.Fault.OVERDRAW: FaultMeaning.OVERDRAW,
    theirs.Fault.REVERSE_RUN: FaultMeaning.REVERSED,
}
CAPABILITIES: Final[Mapping[theirs.Capability, Capability]] = {
    theirs.Capability.PASSAGE: Capability.PASSAGE,
    theirs.Capability.HANDS: Capability.HANDS,
    theirs.Capability.LOCK: Capability.LOCK,
    theirs.Capability.CLEAR: Capability.CLEAR,
    theirs.Capability.MEMORY: Capability.MEMORY,
    theirs.Capability.QUALITY: Capability.QUALITY,
    theirs.Capability.ORDER: Capability.ORDER,
}
SET_CARDS: Final = 1040  # twice ten decks: a state is not to grow


class Counted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a shuffler told of a set that it has not handed out yet."""

    counts: tuple[int, ...] = ()  # of the faces, in the page's order; empty: not told
    unread: int = 0
    order: tuple[Card | None, ...] = ()


def observation(  # noqa: C901 -- one line a report
    said: theirs.Card
    | theirs.CuttingCard
    | theirs.Loaded
    | theirs.Empty
    | theirs.Lock
    | theirs.FaultChanged
    | theirs.Recognised
    | theirs.Shuffling
    | theirs.Shuffled
    | theirs.Failed,
    at: Now,
    evidence: Evidence,
    clock_us: int,
) -> AnyObservation:
    match said:
        case theirs.Card():
            return card_seen(said, at, evidence, clock_us)
        case theirs.CuttingCard():
            return CutCardSeen(at=at, frame=evidence)
        case theirs.Loaded(set_id=name):
            return ShoeLoaded(at=at, frame=evidence, set_id=name)
        case theirs.Empty():
            return ShoeEmptied(at=at, frame=evidence)
        case theirs.Lock(locked=locked):
            return LockChanged(at=at, frame=evidence, locked=locked)
        case theirs.FaultChanged(code=code, raised=False):
            return FaultCleared(at=at, frame=evidence, code=code, name=fault_name(code))
        case theirs.FaultChanged(code=code, blocking=blocking):
            fault = standing(code, blocking=blocking)
            return FaultRaised(at=at, frame=evidence, **asdict(fault))
        case theirs.Recognised(set_id=name):
            return SetRecognised(at=at, frame=evidence, set_id=name)
        case theirs.Shuffling(set_id=name):
            return ShuffleStarted(at=at, frame=evidence, set_id=name)
        case theirs.Shuffled(set_id=name):
            return ShuffleEnded(at=at, frame=evidence, set_id=name)
        case theirs.Failed(reason=reason, set_id=name):
            failed = FAILURE_NAMES[reason].value if reason in FAILURE_NAMES else f"reason {reason}"
            return ShuffleEnded(at=at, frame=evidence, failed=failed, set_id=name)
        case _:
            assert_never(said)


def card_seen(said: theirs.Card, at: Now, evidence: Evidence, clock_us: int) -> CardSeen:
    """A foreign card has no face for us, whatever is printed on it: which card it stands for, a person says."""
    face = None if said.card is None else CARDS[said.card]
    double, foreign = ODD[said.odd]
    code = f"{said.code:04x}" if said.code else ""
    if foreign:
        words = ("foreign", "" if face is None else str(face), code)
        face, code = None, " ".join(filter(None, words))
    return CardSeen(
        at=at,
        frame=evidence,
        place=PLACES[said.place],
        position=said.position,
        card=face,
        code=code,
        edges=Edges(clock_us, clock_us + said.passage_us, double),
        quality=said.quality,
    )


def status(said: theirs.Status, at: Now, evidence: Evidence) -> DeviceStatus:
    faults = tuple(standing(each.code, blocking=each.blocking) for each in said.faults)
    return DeviceStatus(at=at, frame=evidence, locked=said.locked, faults=faults, set_id=said.set_id)


def standing(code: int, *, blocking: bool) -> FaultStanding:
    return FaultStanding(code, fault_name(code), blocking, MEANINGS.get(FAULT_NAMES.get(code)))


def fault_name(code: int) -> str:
    return FAULT_NAMES[code].value if code in FAULT_NAMES else "unnamed"


def continued(order: tuple[Card | None, ...], part: theirs.CardOrder) -> tuple[Card | None, ...]:
    """An order and its next part; without one on the way, all of it is worth nothing."""
    if part.first not in (1, len(order) + 1):
        return ()
    cards = (None if face is None else CARDS[face] for face in part.cards)
    return (*order[: part.first - 1], *cards)[:SET_CARDS]


def delivered(at: Now, evidence: Evidence, name: str, counted: Counted) -> SetDelivered:
    counts = {CARDS[face]: count for face, count in zip(FACES, counted.counts, strict=False) if count}
    order = tuple(card for card in counted.order if card is not None)
    whole = len(order) == len(counted.order) and (not counts or len(order) == sum(counts.values()))
    return SetDelivered(
        at=at, frame=evidence, counts=counts, order=order if whole else (), set_id=name, unread=counted.unread
    )
