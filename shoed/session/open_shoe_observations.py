"""Conversion of the messages of an Open Shoe to observations."""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import asdict

from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES, FAILURE_NAMES, FAULT_NAMES
from shoed.model.cards import Card, Rank, Suit
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    Capability,
    CardSeen,
    CutCardSeen,
    DeviceStatus,
    DrawTime,
    Edges,
    Evidence,
    FaultCleared,
    FaultMeaning,
    FaultRaised,
    FaultStanding,
    LockChanged,
    Place,
    SetDeliverySeen,
    SetRecognitionSeen,
    ShoeEmptySeen,
    ShoeLoaded,
    ShuffleEnded,
    ShuffleStarted,
)

SUITS: Final[Mapping[theirs.OpenShoeSuit, Suit]] = {
    theirs.OpenShoeSuit.SPADES: Suit.SPADES,
    theirs.OpenShoeSuit.HEARTS: Suit.HEARTS,
    theirs.OpenShoeSuit.DIAMONDS: Suit.DIAMONDS,
    theirs.OpenShoeSuit.CLUBS: Suit.CLUBS,
}
CARDS: Final = {face: Card.of(Rank(face.rank), SUITS[face.suit]) for face in FACES}
PLACES: Final[Mapping[theirs.OpenShoePlace, Place]] = {
    theirs.OpenShoePlace.DEALT: Place.DEALT,
    theirs.OpenShoePlace.PLAYER: Place.PLAYER,
    theirs.OpenShoePlace.BANKER: Place.BANKER,
    theirs.OpenShoePlace.BURNT: Place.BURN,
    theirs.OpenShoePlace.LOCKED: Place.LOCKED,
    theirs.OpenShoePlace.ERROR: Place.ERROR,
}
ODD: Final = {
    odd: (theirs.OpenShoePassage.DOUBLE in odd, theirs.OpenShoePassage.FOREIGN in odd)
    for odd in map(theirs.OpenShoePassage, range(4))
}
# UNREADABLE has no meaning here: the CARD without a face already reports the unread card.
MEANINGS: Final[Mapping[theirs.OpenShoeFault | None, FaultMeaning]] = {
    theirs.OpenShoeFault.OVERDRAW: FaultMeaning.OVERDRAW,
    theirs.OpenShoeFault.REVERSE_RUN: FaultMeaning.REVERSED,
}
CAPABILITIES: Final[Mapping[theirs.OpenShoeCapability, Capability]] = {
    theirs.OpenShoeCapability.PASSAGE: Capability.PASSAGE,
    theirs.OpenShoeCapability.HANDS: Capability.HANDS,
    theirs.OpenShoeCapability.LOCK: Capability.LOCK,
    theirs.OpenShoeCapability.CLEAR: Capability.CLEAR,
    theirs.OpenShoeCapability.MEMORY: Capability.MEMORY,
    theirs.OpenShoeCapability.QUALITY: Capability.QUALITY,
    theirs.OpenShoeCapability.ORDER: Capability.ORDER,
}
SET_CARDS: Final = 1040  # twice ten decks, so that a state stays small


class CountedSet(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reports of a shuffler about a set that is not delivered yet."""

    counts: tuple[int, ...] = ()  # of the faces, in the order of the page; empty: not reported
    unread: int = 0
    order: tuple[Card | None, ...] = ()


def observation(  # noqa: C901 -- one line for each kind of report
    message: theirs.OpenShoeCard
    | theirs.OpenShoeCutCard
    | theirs.Loaded
    | theirs.Empty
    | theirs.Lock
    | theirs.FaultChanged
    | theirs.Recognised
    | theirs.Shuffling
    | theirs.Shuffled
    | theirs.OpenShoeFailed,
    at: Now,
    evidence: Evidence,
    clock_us: int,
    drawn: DrawTime | None = None,
) -> AnyObservation:
    match message:
        case theirs.OpenShoeCard():
            return card_seen(message, at, evidence, clock_us, drawn)
        case theirs.OpenShoeCutCard():
            return CutCardSeen(at=at, frame=evidence)
        case theirs.Loaded(set_id=name):
            return ShoeLoaded(at=at, frame=evidence, set_id=name)
        case theirs.Empty():
            return ShoeEmptySeen(at=at, frame=evidence)
        case theirs.Lock(locked=locked):
            return LockChanged(at=at, frame=evidence, locked=locked)
        case theirs.FaultChanged(code=code, raised=False):
            return FaultCleared(at=at, frame=evidence, code=code, name=fault_name(code))
        case theirs.FaultChanged(code=code, blocking=blocking):
            fault = standing(code, blocking=blocking)
            return FaultRaised(at=at, frame=evidence, **asdict(fault))
        case theirs.Recognised(set_id=name):
            return SetRecognitionSeen(at=at, frame=evidence, set_id=name)
        case theirs.Shuffling(set_id=name):
            return ShuffleStarted(at=at, frame=evidence, set_id=name)
        case theirs.Shuffled(set_id=name):
            return ShuffleEnded(at=at, frame=evidence, set_id=name)
        case theirs.OpenShoeFailed(reason=reason, set_id=name):
            failed = FAILURE_NAMES[reason].value if reason in FAILURE_NAMES else f"reason {reason}"
            return ShuffleEnded(at=at, frame=evidence, failed=failed, set_id=name)
        case _:
            assert_never(message)


def card_seen(
    message: theirs.OpenShoeCard, at: Now, evidence: Evidence, clock_us: int, drawn: DrawTime | None
) -> CardSeen:
    """A foreign card has no face here. `code` has the face that the shoe read. A person decides about the card."""
    face = None if message.card is None else CARDS[message.card]
    double, foreign = ODD[message.odd]
    code = f"{message.code:04x}" if message.code else ""
    if foreign:
        label = ("foreign", "" if face is None else str(face), code)
        face, code = None, " ".join(filter(None, label))
    return CardSeen(
        at=at,
        frame=evidence,
        place=PLACES[message.place],
        position=message.position,
        card=face,
        code=code,
        edges=Edges(clock_us, clock_us + message.passage_us, double),
        quality=message.quality,
        drawn=drawn,
    )


def status(message: theirs.OpenShoeStatus, at: Now, evidence: Evidence) -> DeviceStatus:
    faults = tuple(standing(each.code, blocking=each.blocking) for each in message.faults)
    return DeviceStatus(at=at, frame=evidence, locked=message.locked, faults=faults, set_id=message.set_id)


def standing(code: int, *, blocking: bool) -> FaultStanding:
    return FaultStanding(code, fault_name(code), blocking, MEANINGS.get(FAULT_NAMES.get(code)))


def fault_name(code: int) -> str:
    return FAULT_NAMES[code].value if code in FAULT_NAMES else "unnamed"


def continued(order: tuple[Card | None, ...], part: theirs.CardOrder) -> tuple[Card | None, ...]:
    """Return the order with its next part. If a part is missing, the order is not known and is empty."""
    if part.first not in (1, len(order) + 1):
        return ()
    cards = (None if face is None else CARDS[face] for face in part.cards)
    return (*order[: part.first - 1], *cards)[:SET_CARDS]


def delivered(at: Now, evidence: Evidence, name: str, counted: CountedSet) -> SetDeliverySeen:
    counts = {CARDS[face]: count for face, count in zip(FACES, counted.counts, strict=False) if count}
    order = tuple(card for card in counted.order if card is not None)
    whole = len(order) == len(counted.order) and (not counts or len(order) == sum(counts.values()))
    return SetDeliverySeen(
        at=at, frame=evidence, counts=counts, order=order if whole else (), set_id=name, unread=counted.unread
    )
